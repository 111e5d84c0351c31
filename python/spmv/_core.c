/* SPDX-License-Identifier: MIT
 *
 * _core.c - spmv._core.Operator: a handle of spmv_c.h and the products with it that need no conversion. All else is __init__.py.
 * Arrays come by the buffer protocol, so that NumPy's headers are not needed, and only Python's limited interface is used (abi3).
 */
#define Py_LIMITED_API 0x030B0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <string.h>

#include "spmv_c.h"

typedef struct operator_object {
    PyObject_HEAD
    spmv_handle            *handle; /* the owner's */
    struct operator_object *owner;  /* the matrix whose transpose this is, which is kept; NULL: a matrix itself */
    Py_ssize_t              rows, cols;
    Py_ssize_t              size;   /* bytes of an element of x and y */
    int                     users;  /* of a matrix: products in flight, without the lock of the interpreter; -1: an update is */
    PyObject               *dtype, *length; /* of x and y; rows as an object */
} operator_object;

static PyObject *spmv_error, *numpy_empty, *numpy_double, *numpy_single;

/* Raises what the library says. */
static PyObject *raise_last(void)
{
    const char *text = spmv_error_name(spmv_last_status());
    PyObject *error, *name;
    if (!strcmp(text, "SPMV_ERR_MEMORY")) {
        PyErr_SetString(PyExc_MemoryError, spmv_last_error());
        return NULL;
    }
    error = PyObject_CallFunction(spmv_error, "s", spmv_last_error());
    name = PyUnicode_FromString(text);
    if (error && name && !PyObject_SetAttrString(error, "name", name)) PyErr_SetObject(spmv_error, error);
    Py_XDECREF(name);
    Py_XDECREF(error);
    return NULL;
}

static PyObject *raise_busy(void)
{
    PyErr_SetString(spmv_error, "another thread uses the matrix: no update may run beside a product or another update");
    return NULL;
}

static operator_object *owner_of(operator_object *self) { return self->owner ? self->owner : self; }

/* ---- making one ---------------------------------------------------------------------------------------------------- */

/* The arrays of a matrix, as far as there are some: in memory of the host, or as (address, bits of an element) on a GPU. */
enum { PTR, ROW, COL, VAL, ARRAYS };

typedef struct array_of {
    const void *at;
    int         bits;
    Py_buffer   buffer;
} array_of;

/* The address in (address, bits). */
static int get_address(PyObject *from, array_of *out)
{
    unsigned long long address;
    if (!PyArg_ParseTuple(from, "Ki", &address, &out->bits)) return -1;
    out->at = (const void *)(uintptr_t)address;
    return 0;
}

static int get_array(PyObject *from, array_of *out)
{
    if (from == Py_None) return 0;
    if (PyTuple_Check(from)) return get_address(from, out);
    if (PyObject_GetBuffer(from, &out->buffer, PyBUF_C_CONTIGUOUS)) return -1;
    out->at = out->buffer.buf;
    out->bits = (int)(8 * out->buffer.itemsize);
    return 0;
}

static void release_arrays(array_of *array)
{
    int i;
    for (i = 0; i < ARRAYS; i++) PyBuffer_Release(&array[i].buffer);
}

static int get_arrays(array_of *out, PyObject **from)
{
    int i = 0;
    while (i < ARRAYS && !get_array(from[i], &out[i])) i++;
    if (i == ARRAYS) return 0;
    release_arrays(out);
    return -1;
}

/* Sets what products need to know of the matrix. */
static int describe(operator_object *self, const char *type)
{
    self->rows = (Py_ssize_t)spmv_handle_rows(self->handle);
    self->cols = (Py_ssize_t)spmv_handle_cols(self->handle);
    self->size = !strcmp(type, "f32") ? 4 : 8;
    self->dtype = self->size == 4 ? numpy_single : numpy_double;
    Py_INCREF(self->dtype);
    self->length = PyLong_FromSsize_t(self->rows);
    return self->length ? 0 : -1;
}

/* Operator(form, rows, cols, nnz, (ptr, row, col, val), (block_rows, block_cols), type, plan,
 * plan_transposed, calls, vectors, threads, device, flags) */
static int operator_init(PyObject *object, PyObject *args, PyObject *keywords)
{
    operator_object *self = (operator_object *)object;
    const char *form, *type, *plan, *plan_transposed, *device;
    long long rows, cols, nnz;
    unsigned long long calls;
    unsigned vectors, flags;
    int block_rows, block_cols, threads;
    PyObject *from[ARRAYS];
    array_of array[ARRAYS];
    (void)keywords;
    memset(array, 0, sizeof array);
    if (self->handle) {
        PyErr_SetString(PyExc_TypeError, "the matrix has been made already");
        return -1;
    }
    if (!PyArg_ParseTuple(args, "sLLL(OOOO)(ii)szzKIizI", &form, &rows, &cols, &nnz, &from[PTR], &from[ROW], &from[COL], &from[VAL],
                          &block_rows, &block_cols, &type, &plan, &plan_transposed, &calls, &vectors, &threads, &device, &flags) ||
        get_arrays(array, from))
        return -1;
    Py_BEGIN_ALLOW_THREADS
    self->handle = spmv_new(form, rows, cols, nnz, array[PTR].at, array[PTR].bits, array[ROW].at, array[COL].at,
                            array[array[ROW].bits ? ROW : COL].bits, array[VAL].at, array[VAL].bits, block_rows, block_cols, type, plan,
                            plan_transposed, calls, vectors, threads, device, flags);
    Py_END_ALLOW_THREADS
    release_arrays(array);
    if (!self->handle) {
        raise_last();
        return -1;
    }
    return describe(self, type);
}

static void operator_dealloc(PyObject *object)
{
    operator_object *self = (operator_object *)object;
    PyTypeObject *type = Py_TYPE(object);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    if (!self->owner && self->handle) {
        Py_BEGIN_ALLOW_THREADS
        spmv_delete(self->handle);
        Py_END_ALLOW_THREADS
    }
    Py_XDECREF((PyObject *)self->owner);
    Py_XDECREF(self->dtype);
    Py_XDECREF(self->length);
    release(object);
    Py_DECREF(type);
}

/* The transpose: it shares the handle. */
static PyObject *operator_T(PyObject *object, void *unused)
{
    operator_object *self = (operator_object *)object, *out;
    PyTypeObject *type = Py_TYPE(object);
    (void)unused;
    if (self->owner) {
        Py_INCREF((PyObject *)self->owner);
        return (PyObject *)self->owner;
    }
    out = (operator_object *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
    if (!out) return NULL;
    out->handle = self->handle;
    out->owner = self;
    Py_INCREF(object);
    out->rows = self->cols;
    out->cols = self->rows;
    out->size = self->size;
    out->dtype = self->dtype;
    Py_XINCREF(out->dtype);
    out->length = PyLong_FromSsize_t(out->rows);
    if (out->length) return (PyObject *)out;
    Py_DECREF((PyObject *)out);
    return NULL;
}

/* ---- products ------------------------------------------------------------------------------------------------------ */

/* How several vectors lie, and whether that is on a GPU, in a stream. */
typedef struct several {
    unsigned long long count, ldx, ldy;
    int                by_rows, there;
    void              *stream;
} several;

/* Multiplies by several vectors. */
static int multiply_many(const operator_object *self, const several *many, double alpha, const void *x, double beta, void *y)
{
    const int transposed = self->owner != NULL;
    if (many->there)
        return spmv_handle_mul_buffers(self->handle, transposed, many->count, many->by_rows, alpha, x, many->ldx, beta, y, many->ldy,
                                       many->stream);
    return spmv_handle_mul_many(self->handle, transposed, many->count, many->by_rows, alpha, x, many->ldx, beta, y, many->ldy);
}

/* Multiplies without the lock of the interpreter; NULL: a single vector. 0, or -1 with an exception set. */
static int multiply(operator_object *self, const several *many, double alpha, const void *x, double beta, void *y)
{
    operator_object *owner = owner_of(self);
    int status;
    if (owner->users < 0) {
        raise_busy();
        return -1;
    }
    owner->users++;
    Py_BEGIN_ALLOW_THREADS
    status = many ? multiply_many(self, many, alpha, x, beta, y) : spmv_handle_mul(self->handle, self->owner != NULL, alpha, x, beta, y);
    Py_END_ALLOW_THREADS
    owner->users--;
    if (!status) return 0;
    raise_last();
    return -1;
}

/* Gets a vector of so many elements of the matrix's type that lie one behind another. 0 without an exception: it is something else. */
static int get_vector(operator_object *self, PyObject *from, Py_ssize_t length, int flags, Py_buffer *out)
{
    if (PyObject_GetBuffer(from, out, PyBUF_ND | PyBUF_FORMAT | flags)) {
        PyErr_Clear();
        return 0;
    }
    if (out->ndim == 1 && out->shape[0] == length && out->itemsize == self->size && out->format &&
        out->format[0] == (self->size == 4 ? 'f' : 'd') && !out->format[1])
        return 1;
    PyBuffer_Release(out);
    return 0;
}

/* y = alpha A x + beta y for vectors that need no conversion; out NULL: a new one. NULL without an exception: they need some. */
static PyObject *multiply_vector(operator_object *self, PyObject *x, PyObject *out, double alpha, double beta)
{
    Py_buffer from, to;
    int failed = 1;
    if (!self->handle || !get_vector(self, x, self->cols, 0, &from)) return NULL;
    if (out) Py_INCREF(out);
    else out = PyObject_CallFunctionObjArgs(numpy_empty, self->length, self->dtype, NULL);
    if (out && get_vector(self, out, self->rows, PyBUF_WRITABLE, &to)) {
        failed = multiply(self, NULL, alpha, from.buf, beta, to.buf);
        PyBuffer_Release(&to);
    }
    PyBuffer_Release(&from);
    if (!failed) return out;
    Py_XDECREF(out);
    return NULL;
}

static PyObject *operator_matmul(PyObject *a, PyObject *b)
{
    PyObject *y;
    if (PyType_GetSlot(Py_TYPE(a), Py_nb_matrix_multiply) != (void *)operator_matmul) return PyObject_CallMethod(b, "_from_left", "O", a);
    y = multiply_vector((operator_object *)a, b, NULL, 1, 0);
    return y || PyErr_Occurred() ? y : PyObject_CallMethod(a, "_mul", "OOdd", b, Py_None, 1.0, 0.0);
}

/* Sets the arguments of mul behind x by name or place: out, alpha, beta. */
static int get_option(PyObject *name, Py_ssize_t place, PyObject *value, PyObject **out, double *number)
{
    static const char *const names[] = { "out", "alpha", "beta" };
    if (name)
        for (place = 0; place < 3 && PyUnicode_CompareWithASCIIString(name, names[place]) != 0;) place++;
    if (place > 2) {
        PyErr_Format(PyExc_TypeError, "mul(x, out=None, alpha=1.0, beta=0.0) has no argument %R", name ? name : value);
        return -1;
    }
    if (place) number[place] = PyFloat_AsDouble(value);
    else *out = value == Py_None ? NULL : value;
    return place && number[place] == -1 && PyErr_Occurred() ? -1 : 0;
}

static PyObject *operator_mul(PyObject *object, PyObject *const *args, Py_ssize_t count, PyObject *names)
{
    const Py_ssize_t named = names ? PyTuple_Size(names) : 0;
    double number[3] = { 0, 1, 0 };
    PyObject *out = NULL, *y;
    Py_ssize_t i;
    if (count < 1) {
        PyErr_SetString(PyExc_TypeError, "mul(x, out=None, alpha=1.0, beta=0.0) needs x");
        return NULL;
    }
    for (i = 1; i < count + named; i++)
        if (get_option(i < count ? NULL : PyTuple_GetItem(names, i - count), i - 1, args[i], &out, number)) return NULL;
    y = out || number[2] == 0 ? multiply_vector((operator_object *)object, args[0], out, number[1], number[2]) : NULL;
    if (y || PyErr_Occurred()) return y;
    return PyObject_CallMethod(object, "_mul", "OOdd", args[0], out ? out : Py_None, number[1], number[2]);
}

/* _many(x, y, count, by_rows, ldx, ldy, alpha, beta): for arrays whose layout the caller has checked */
static PyObject *operator_many(PyObject *object, PyObject *args)
{
    several m;
    double alpha, beta;
    PyObject *x, *y;
    Py_buffer from, to;
    int failed;
    memset(&m, 0, sizeof m);
    if (!PyArg_ParseTuple(args, "OOKpKKdd", &x, &y, &m.count, &m.by_rows, &m.ldx, &m.ldy, &alpha, &beta)) return NULL;
    if (PyObject_GetBuffer(x, &from, PyBUF_STRIDES)) return NULL;
    if (PyObject_GetBuffer(y, &to, PyBUF_STRIDES | PyBUF_WRITABLE)) {
        PyBuffer_Release(&from);
        return NULL;
    }
    failed = multiply((operator_object *)object, &m, alpha, from.buf, beta, to.buf);
    PyBuffer_Release(&from);
    PyBuffer_Release(&to);
    if (failed) return NULL;
    Py_RETURN_NONE;
}

/* _there(x, y, count, by_rows, ldx, ldy, alpha, beta, stream): the same for addresses on a GPU */
static PyObject *operator_there(PyObject *object, PyObject *args)
{
    several m;
    double alpha, beta;
    unsigned long long x, y, stream;
    if (!PyArg_ParseTuple(args, "KKKpKKddK", &x, &y, &m.count, &m.by_rows, &m.ldx, &m.ldy, &alpha, &beta, &stream)) return NULL;
    m.there = 1;
    m.stream = (void *)(uintptr_t)stream;
    if (multiply((operator_object *)object, &m, alpha, (const void *)(uintptr_t)x, beta, (void *)(uintptr_t)y)) return NULL;
    Py_RETURN_NONE;
}

/* ---- all else ------------------------------------------------------------------------------------------------------ */

/* _update(values): as many as were given, of the same type */
static PyObject *operator_update(PyObject *object, PyObject *values)
{
    operator_object *owner = owner_of((operator_object *)object);
    array_of from;
    int status;
    if (owner->users) return raise_busy();
    memset(&from, 0, sizeof from);
    if (get_array(values, &from)) return NULL;
    owner->users = -1;
    Py_BEGIN_ALLOW_THREADS
    status = PyTuple_Check(values) ? spmv_handle_update_buffer(owner->handle, (void *)(uintptr_t)from.at)
                                   : spmv_handle_update(owner->handle, from.at);
    Py_END_ALLOW_THREADS
    owner->users = 0;
    PyBuffer_Release(&from.buffer);
    if (status) return raise_last();
    Py_RETURN_NONE;
}

static PyObject *operator_set_threads(PyObject *object, PyObject *number)
{
    operator_object *owner = owner_of((operator_object *)object);
    const long threads = PyLong_AsLong(number);
    if (threads == -1 && PyErr_Occurred()) return NULL;
    if (owner->users) return raise_busy();
    if (spmv_handle_set_threads(owner->handle, (int)threads)) return raise_last();
    Py_RETURN_NONE;
}

/* The text that write puts. */
static PyObject *text_of(operator_object *self, size_t (*write)(const operator_object *self, char *out, size_t size))
{
    const size_t size = write(self, NULL, 0) + 1;
    char *text = (char *)PyMem_Malloc(size);
    PyObject *out;
    if (!text) return PyErr_NoMemory();
    write(self, text, size);
    out = PyUnicode_FromString(text);
    PyMem_Free(text);
    return out;
}

static size_t write_plan(const operator_object *self, char *out, size_t size)
{
    return spmv_handle_plan(self->handle, self->owner != NULL, out, size);
}

static size_t write_explanation(const operator_object *self, char *out, size_t size)
{
    return spmv_handle_explain(self->handle, out, size);
}

static PyObject *operator_plan(PyObject *object, void *unused)
{
    (void)unused;
    return text_of((operator_object *)object, write_plan);
}

static PyObject *operator_explanation(PyObject *object, void *unused)
{
    (void)unused;
    return text_of((operator_object *)object, write_explanation);
}

static PyObject *operator_nnz(PyObject *object, void *unused)
{
    (void)unused;
    return PyLong_FromUnsignedLongLong(spmv_handle_nnz(((operator_object *)object)->handle));
}

static PyObject *operator_nbytes(PyObject *object, void *unused)
{
    (void)unused;
    return PyLong_FromUnsignedLongLong(spmv_handle_bytes(((operator_object *)object)->handle));
}

static PyObject *operator_shape(PyObject *object, void *unused)
{
    const operator_object *self = (const operator_object *)object;
    (void)unused;
    return Py_BuildValue("(nn)", self->rows, self->cols);
}

static PyObject *operator_owner(PyObject *object, void *unused)
{
    PyObject *owner = (PyObject *)owner_of((operator_object *)object);
    (void)unused;
    Py_INCREF(owner);
    return owner;
}

static PyObject *operator_dtype(PyObject *object, void *unused)
{
    PyObject *dtype = ((operator_object *)object)->dtype;
    (void)unused;
    if (!dtype) dtype = Py_None;
    Py_INCREF(dtype);
    return dtype;
}

static PyMethodDef operator_methods[] = {
    { "mul", (PyCFunction)(void (*)(void))operator_mul, METH_FASTCALL | METH_KEYWORDS,
      "mul($self, x, out=None, alpha=1.0, beta=0.0)\n--\n\n"
      "y = alpha A x + beta y, in out if it is given: x (n,) or (n, k), y (m,) or (m, k).\n\n"
      "Arrays of the matrix's dtype are used where they lie. Without out, y is new, and beta must be 0." },
    { "_many", operator_many, METH_VARARGS, NULL },
    { "_there", operator_there, METH_VARARGS, NULL },
    { "_update", operator_update, METH_O, NULL },
    { "_set_threads", operator_set_threads, METH_O, NULL },
    { NULL, NULL, 0, NULL }
};

static PyGetSetDef operator_getset[] = {
    { "T", operator_T, NULL, "The transpose (n, m); products need a matrix made with both=True.", NULL },
    { "plan", operator_plan, NULL, "How the matrix is stored, as text that spmv.matrix takes.", NULL },
    { "shape", operator_shape, NULL, "(m, n)", NULL },
    { "dtype", operator_dtype, NULL, "Of x and y.", NULL },
    { "nnz", operator_nnz, NULL, "Stored entries, after duplicates are summed.", NULL },
    { "nbytes", operator_nbytes, NULL, "Bytes of the matrix that a product reads.", NULL },
    { "_explanation", operator_explanation, NULL, NULL, NULL },
    { "_owner", operator_owner, NULL, NULL, NULL },
    { NULL, NULL, NULL, NULL, NULL }
};

static PyType_Slot operator_slots[] = {
    { Py_tp_init, (void *)operator_init },
    { Py_tp_dealloc, (void *)operator_dealloc },
    { Py_tp_methods, operator_methods },
    { Py_tp_getset, operator_getset },
    { Py_nb_matrix_multiply, (void *)operator_matmul },
    { 0, NULL }
};

static PyType_Spec operator_spec = { "spmv._core.Operator", (int)sizeof(operator_object), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
                                     operator_slots };

static struct PyModuleDef core_module = { PyModuleDef_HEAD_INIT, "spmv._core", NULL, -1, NULL, NULL, NULL, NULL, NULL };

/* Takes what is needed of NumPy. */
static int get_numpy(void)
{
    PyObject *numpy = PyImport_ImportModule("numpy");
    if (!numpy) return -1;
    numpy_empty = PyObject_GetAttrString(numpy, "empty");
    numpy_double = PyObject_CallMethod(numpy, "dtype", "s", "d");
    numpy_single = PyObject_CallMethod(numpy, "dtype", "s", "f");
    Py_DECREF(numpy);
    return numpy_empty && numpy_double && numpy_single ? 0 : -1;
}

PyMODINIT_FUNC PyInit__core(void)
{
    PyObject *module = get_numpy() ? NULL : PyModule_Create(&core_module), *type;
    if (!module) return NULL;
    spmv_error = PyErr_NewExceptionWithDoc("spmv.Error", "What the library refuses, in its words; name is the error's, such as "
                                           "SPMV_ERR_INDEX, or None.", PyExc_ValueError, NULL);
    if (spmv_error && PyObject_SetAttrString(spmv_error, "name", Py_None)) Py_CLEAR(spmv_error);
    type = PyType_FromSpec(&operator_spec);
    if (spmv_error && type && !PyModule_AddObjectRef(module, "Error", spmv_error) && !PyModule_AddObjectRef(module, "Operator", type) &&
        !PyModule_AddStringConstant(module, "version", spmv_library_version())) {
        Py_DECREF(type);
        return module;
    }
    Py_XDECREF(type);
    Py_DECREF(module);
    return NULL;
}
