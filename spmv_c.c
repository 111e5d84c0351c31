/* SPDX-License-Identifier: MIT
 *
 * spmv_c.c - the functions of spmv_c.h, compiled with the library. "make lib" shows how; any macro of the library may be set.
 */
#if defined(SPMV_C_API) /* by the caller */
#elif defined(_WIN32)
#define SPMV_C_API __declspec(dllexport)
#elif defined(__GNUC__)
#define SPMV_C_API __attribute__((visibility("default")))
#endif
#include "spmv_c.h"

#define SPMV_STATIC /* structs and functions of the other headers are not for other languages */
#define SPMV_IMPLEMENTATION
#include "spmv.h"

/* ---- errors ------------------------------------------------------------------------------------------------------- */

#ifdef _MSC_VER
#define SPMV__OF_THREAD __declspec(thread)
#else
#define SPMV__OF_THREAD __thread
#endif
static SPMV__OF_THREAD char spmv__last_error[1024];
static SPMV__OF_THREAD spmv_status spmv__last_status;

static void spmv__keep_message(void *user, spmv_status s, const char *message)
{
    (void)user;
    if (!s) {
        spmv_log(NULL, s, "%s", message); /* a warning */
        return;
    }
    spmv__last_status = s;
    spmv_print(spmv__last_error, sizeof spmv__last_error, "%s", message);
}

static const spmv_hooks spmv__c_hooks = { NULL, NULL, spmv__keep_message, NULL, 0, 0 };

const char *spmv_last_error(void) { return spmv__last_error; }
int spmv_last_status(void) { return (int)spmv__last_status; }
const char *spmv_library_version(void) { return SPMV_VERSION; }
const char *spmv_error_name(int status) { return spmv_status_name((spmv_status)status); }

/* ---- devices ------------------------------------------------------------------------------------------------------- */

#ifdef SPMV_DEVICE_H
/* An open device. Programs that it has compiled are there for the next matrix, so all with the same text share it. */
typedef struct spmv__open_device {
    struct spmv__open_device *next;
    spmv_device               device;
    size_t                    users;
    long                      process; /* a child that was forked off may not use it */
    char                     *which;
} spmv__open_device;

static spmv__open_device *spmv__open_devices; /* of this process, and under this lock: */
#if defined(SPMV__POSIX)
static spmv__mutex spmv__devices_lock = PTHREAD_MUTEX_INITIALIZER;
#elif defined(_WIN32)
static spmv__mutex spmv__devices_lock = SRWLOCK_INIT;
#else
static spmv__mutex spmv__devices_lock;
#endif

static spmv__open_device *spmv__find_device(const char *which)
{
    spmv__open_device *p = spmv__open_devices;
    while (p && (p->process != spmv__process() || strcmp(p->which, which) != 0)) p = p->next;
    return p;
}

static spmv_status spmv__add_device(spmv__open_device **out, const char *which)
{
    const size_t length = strlen(which) + 1;
    spmv_device_desc desc;
    void *block;
    spmv__open_device *p;
    spmv_status s = spmv__new(&spmv__c_hooks, &block, 1, sizeof *p + length, 0);
    if (s) return s;
    *out = p = (spmv__open_device *)block;
    p->which = (char *)memcpy(p + 1, which, length);
    p->process = spmv__process();
    memset(&desc, 0, sizeof desc);
    desc.which = which;
    desc.hooks = spmv__c_hooks;
    s = spmv_device_create(&p->device, &desc);
    if (s) {
        spmv_free(&spmv__c_hooks, p);
        return s;
    }
    p->next = spmv__open_devices;
    spmv__open_devices = p;
    return SPMV_OK;
}

static spmv_status spmv__use_device(spmv_device **out, const char *which)
{
    spmv__open_device *p;
    spmv_status s = SPMV_OK;
    spmv__lock(&spmv__devices_lock);
    p = spmv__find_device(which);
    if (!p) s = spmv__add_device(&p, which);
    if (!s) {
        p->users++;
        *out = &p->device;
    }
    spmv__unlock(&spmv__devices_lock);
    return s;
}

static void spmv__leave_device(const spmv_device *device)
{
    spmv__open_device **link = &spmv__open_devices, *p;
    spmv__lock(&spmv__devices_lock);
    while (*link && &(*link)->device != device) link = &(*link)->next;
    p = *link;
    if (p && !--p->users) {
        *link = p->next;
        spmv_device_destroy(&p->device);
        spmv_free(&spmv__c_hooks, p);
    }
    spmv__unlock(&spmv__devices_lock);
}
#else
static spmv_status spmv__use_device(spmv_device **out, const char *which)
{
    (void)out;
    return spmv_log(&spmv__c_hooks, SPMV_ERR_UNSUPPORTED, "device \"%s\": this build has no devices", which);
}

static void spmv__leave_device(const spmv_device *device) { (void)device; }
#endif

/* ---- arrays on a GPU ------------------------------------------------------------------------------------------------- */

typedef struct spmv__queued spmv__queued;

static spmv_status spmv__not_cuda(const char *function)
{
    return spmv_log(&spmv__c_hooks, SPMV_ERR_ARGUMENT, "%s: the matrix is not on a CUDA device", function);
}

#ifdef SPMV_NO_CUDA
#define spmv__is_there(device, function, name, buffer) ((void)(device), (void)(buffer), spmv__not_cuda(function))
#define spmv__settle(device) ((void)(device), (spmv_status)SPMV_OK)
#define spmv__mul_there(all, stream, matrix, count, by_rows, alpha, x, ldx, beta, y, ldy)                                     \
    ((void)(stream), (void)(matrix), (void)(count), (void)(by_rows), (void)(alpha), (void)(ldx), (void)(beta), (void)(ldy), \
     (spmv_status)SPMV_OK)
#define spmv__update_there(matrix, val) (spmv_status)SPMV_OK

static void spmv__leave_streams(spmv__queued *all) { (void)all; }
#else
static int spmv__is_cuda(const spmv_device *device) { return device && device->info.backend == spmv_cuda(); }

/* Refuses memory of another GPU, since a kernel that cannot reach it ends all work of the process there. */
static spmv_status spmv__is_there(const spmv_device *device, const char *function, const char *name, const void *buffer)
{
    enum { DEVICE_ORDINAL = 9 }; /* CU_POINTER_ATTRIBUTE_... */
    int number = -1;
    if (!spmv__is_cuda(device)) return spmv__not_cuda(function);
    if (!buffer || !spmv__dev_is_here(device)) return SPMV_OK;
    if (spmv__cuda_api.p_cuPointerGetAttribute(&number, DEVICE_ORDINAL, spmv__cuda_address(buffer)) || number < 0) return SPMV_OK;
    if (number == spmv__cuda_device(device)) return SPMV_OK;
    return spmv_log(&spmv__c_hooks, SPMV_ERR_ARGUMENT, "%s: %s lies on GPU %d, the matrix on GPU %d", function, name, number,
                    spmv__cuda_device(device));
}

/* Waits for what may still use or write arrays there, in whatever stream. */
static spmv_status spmv__settle(const spmv_device *device)
{
    spmv_status s = SPMV_OK;
    if (spmv__is_cuda(device) && spmv__dev_is_here(device)) SPMV__CUDA_IN(s, device, cuCtxSynchronize, ());
    return s;
}

/* What products of a matrix in one stream need. */
struct spmv__queued {
    spmv__queued *next;
    void         *stream;
    const void   *thread; /* whose stream it is, if each has its own */
    spmv_exec     exec;
};

static spmv_status spmv__exec_for(spmv__queued **all, const spmv_device_matrix *matrix, void *stream, spmv_exec **out)
{
    enum { PER_THREAD = 2 }; /* CU_STREAM_PER_THREAD */
    const void *thread = (uintptr_t)stream == PER_THREAD ? &spmv__last_status : NULL; /* each thread has one */
    void *block;
    spmv__queued *p;
    spmv_status s = SPMV_OK;
    spmv__lock(&spmv__devices_lock);
    p = *all;
    while (p && (p->exec.matrix != matrix || p->stream != stream || p->thread != thread)) p = p->next;
    if (!p) {
        s = spmv__new(&spmv__c_hooks, &block, 1, sizeof *p, 0);
        p = (spmv__queued *)block;
        if (!s) s = spmv_exec_create(&p->exec, matrix, stream);
        if (!s) {
            p->stream = stream;
            p->thread = thread;
            p->next = *all;
            *all = p;
        } else {
            spmv_free(&spmv__c_hooks, p);
        }
    }
    if (!s) *out = &p->exec;
    spmv__unlock(&spmv__devices_lock);
    return s;
}

static spmv_status spmv__mul_there(spmv__queued **all, void *stream, const spmv_matrix *matrix, uint64_t count, int by_rows, double alpha,
                                   void *x, uint64_t ldx, double beta, void *y, uint64_t ldy)
{
    spmv_exec *exec = NULL;
    const spmv_status s = spmv__exec_for(all, matrix->on_device, stream, &exec);
    if (s) return s;
    if (count == 1 && (!by_rows || (ldx <= 1 && ldy <= 1))) return spmv_exec_mul(exec, alpha, x, 0, beta, y, 0);
    return spmv_exec_mul_many(exec, count, by_rows ? SPMV_SIDE_BY_SIDE : SPMV_ONE_AFTER_ANOTHER, alpha, x, 0, ldx, beta, y, 0, ldy);
}

#define spmv__update_there(matrix, val) spmv_update_buffer((matrix), (val))

static void spmv__leave_streams(spmv__queued *all)
{
    while (all) {
        spmv__queued *next = all->next;
        spmv_exec_destroy(&all->exec);
        spmv_free(&spmv__c_hooks, all);
        all = next;
    }
}
#endif

/* ---- threads ------------------------------------------------------------------------------------------------------- */

/* Has what the calling thread does next use so many threads, unless that is 0. Returns how many it would have used. */
static int spmv__set_threads(int threads)
{
#ifdef _OPENMP
    const int before = omp_get_max_threads();
    if (threads && threads != before) omp_set_num_threads(threads);
    return before;
#else
    (void)threads;
    return 1;
#endif
}

static spmv_status spmv__check_threads(const char *function, int threads)
{
    if (threads >= 0) return SPMV_OK;
    return spmv_log(&spmv__c_hooks, SPMV_ERR_ARGUMENT, "%s: %d threads", function, threads);
}

/* ---- matrices ------------------------------------------------------------------------------------------------------ */

struct spmv_handle {
    spmv_matrix   matrix;
    spmv_device  *device;
    spmv__queued *queued;
    char         *explanation;
    int           threads;
};

static spmv_status spmv__unknown(const char *what, const char *text, const char *known)
{
    return spmv_log(&spmv__c_hooks, SPMV_ERR_ARGUMENT, "%s \"%s\": there are %s", what, text, known);
}

static spmv_status spmv__form_of(spmv_input_form *out, const char *text)
{
    static const char *const names[] = { "csr", "csc", "coo", "bsr" };
    int i = 0;
    if (!text) text = "csr";
    while (i < 4 && strcmp(names[i], text) != 0) i++;
    if (i == 4) return spmv__unknown("form", text, "csr, csc, coo and bsr");
    *out = (spmv_input_form)i;
    return SPMV_OK;
}

/* Sets the members of desc that are texts or flags; what belongs to the arrays is set already. */
static spmv_status spmv__describe(spmv_desc *desc, const char *type, const char *plan, int val_bits, unsigned flags)
{
    if (type) desc->type = spmv_type_from(type);
    if (desc->type == SPMV_TYPE_COUNT) return spmv__unknown("type", type, "f64, f32 and mixed");
    if (val_bits && val_bits != 32 && val_bits != 64)
        return spmv_log(&spmv__c_hooks, SPMV_ERR_ARGUMENT, "values of %d bits", val_bits);
    if (flags >= 2 * SPMV_ON_DEVICE) return spmv_log(&spmv__c_hooks, SPMV_ERR_ARGUMENT, "flags %u are unknown", flags);
    desc->matrix.val_type = val_bits == 32 ? SPMV_F32 : val_bits ? SPMV_F64 : (spmv_type)0;
    desc->matrix.base = flags & SPMV_FROM_ONE ? 1 : 0;
    desc->matrix.transpose = flags & SPMV_TRANSPOSE ? 1 : 0;
    desc->matrix.block_by_columns = flags & SPMV_BY_COLUMNS ? 1 : 0;
    desc->matrix.symmetry = flags & SPMV_HALF_SKEW ? SPMV_SKEW : flags & SPMV_HALF_SYMMETRIC ? SPMV_SYMMETRIC : SPMV_GENERAL;
    desc->both = flags & SPMV_WITH_BOTH ? 1 : 0;
    desc->updatable = flags & SPMV_WITH_UPDATE ? 1 : 0;
    desc->buffers = flags & SPMV_ON_DEVICE ? 1 : 0;
    desc->strict = flags & SPMV_STRICT ? 1 : 0;
    desc->reproducible = flags & SPMV_REPRODUCE ? 1 : 0;
    desc->plan = plan;
    desc->hooks = spmv__c_hooks;
    return SPMV_OK;
}

#ifdef SPMV_NO_AUTO
static spmv_status spmv__create_explained(spmv_handle *handle, const spmv_desc *desc, spmv_build_hints *hints)
{
    (void)hints;
    return spmv_create(&handle->matrix, desc);
}
#else
/* Creates the matrix and keeps why its plan was chosen. */
static spmv_status spmv__create_explained(spmv_handle *handle, const spmv_desc *desc, spmv_build_hints *hints)
{
    size_t size;
    void *choice = NULL, *steps = NULL, *text = NULL;
    spmv_status s = spmv__new(&desc->hooks, &choice, 1, sizeof(spmv_choice), 0);
    if (!s) s = spmv__new(&desc->hooks, &steps, 1, SPMV_COCKTAIL_TEXT, 0);
    hints->choice = (spmv_choice *)choice;
    hints->steps = (char *)steps;
    if (!s) s = spmv_create(&handle->matrix, desc);
    size = s ? 0 : spmv_explain(hints->choice, NULL, 0) + 1;
    if (!s) s = spmv__new(&desc->hooks, &text, 1, size, 0);
    if (!s) spmv_explain(hints->choice, (char *)text, size);
    handle->explanation = (char *)text;
    spmv_free(&desc->hooks, choice);
    spmv_free(&desc->hooks, steps);
    return s;
}
#endif

/* Sees to it that arrays on a GPU can be used there. */
static spmv_status spmv__are_there(const spmv_desc *desc)
{
    spmv_status s = spmv__is_there(desc->device, "spmv_new", "ptr", desc->matrix.ptr);
    if (!s) s = spmv__is_there(desc->device, "spmv_new", "col", desc->matrix.col);
    if (!s) s = spmv__is_there(desc->device, "spmv_new", "val", desc->matrix.val);
    return s ? s : spmv__settle(desc->device);
}

/* Makes the handle, for which there is memory, what desc and the other arguments say. */
static spmv_status spmv__handle_create(spmv_handle *handle, spmv_desc *desc, uint64_t calls, unsigned vectors, const char *device,
                                       unsigned flags)
{
    spmv_build_hints hints;
    spmv_status s = SPMV_OK;
    int before;
    memset(&hints, 0, sizeof hints);
    hints.expected_calls = calls;
    hints.vectors = vectors;
    desc->hints = &hints;
    if (device && strcmp(device, "host") != 0) s = spmv__use_device(&handle->device, device);
    desc->device = handle->device;
    if (!s && desc->buffers) s = spmv__are_there(desc);
    if (s) return s;
    before = spmv__set_threads(handle->threads);
    s = flags & SPMV_WITH_EXPLAIN ? spmv__create_explained(handle, desc, &hints) : spmv_create(&handle->matrix, desc);
    spmv__set_threads(before);
    return s;
}

spmv_handle *spmv_new(const char *form, int64_t rows, int64_t cols, int64_t nnz, const void *ptr, int ptr_bits, const void *row,
                      const void *col, int index_bits, const void *val, int val_bits, int block_rows, int block_cols, const char *type,
                      const char *plan, const char *plan_transposed, uint64_t calls, unsigned vectors, int threads, const char *device,
                      unsigned flags)
{
    spmv_handle *handle;
    void *block = NULL;
    spmv_desc desc;
    spmv_status s;
    memset(&desc, 0, sizeof desc);
    desc.matrix.rows = rows;
    desc.matrix.cols = cols;
    desc.matrix.nnz = nnz;
    desc.matrix.ptr = ptr;
    desc.matrix.row = row;
    desc.matrix.col = col;
    desc.matrix.val = val;
    desc.matrix.ptr_bits = ptr_bits;
    desc.matrix.index_bits = index_bits;
    desc.matrix.block_rows = block_rows;
    desc.matrix.block_cols = block_cols;
    desc.plan_transposed = plan_transposed;
    s = spmv__form_of(&desc.matrix.form, form);
    if (!s) s = spmv__describe(&desc, type, plan, val_bits, flags);
    if (!s) s = spmv__check_threads("spmv_new", threads);
    if (!s) s = spmv__new(&desc.hooks, &block, 1, sizeof *handle, 0);
    if (s) return NULL;
    handle = (spmv_handle *)block;
    handle->threads = threads;
    if (!spmv__handle_create(handle, &desc, calls, vectors, device, flags)) return handle;
    spmv_delete(handle);
    return NULL;
}

spmv_handle *spmv_new_csr(int64_t rows, int64_t cols, const void *ptr, int ptr_bits, const void *col, int col_bits, const void *val,
                          const char *type, const char *plan, int threads, const char *device, unsigned flags)
{
    return spmv_new("csr", rows, cols, 0, ptr, ptr_bits, NULL, col, col_bits, val, 0, 0, 0, type, plan, NULL, 0, 0, threads, device,
                    flags);
}

void spmv_delete(spmv_handle *handle)
{
    if (!handle) return;
    spmv__leave_streams(handle->queued);
    spmv_destroy(&handle->matrix);
    if (handle->device) spmv__leave_device(handle->device);
    spmv_free(&spmv__c_hooks, handle->explanation);
    spmv_free(&spmv__c_hooks, handle);
}

/* Sets *out to the matrix or its transpose. */
static spmv_status spmv__matrix_of(const spmv_matrix **out, const spmv_handle *handle, int transposed, const char *function)
{
    if (!handle) return spmv__null(&spmv__c_hooks, function, "handle", NULL, 0);
    *out = transposed ? spmv_transposed(&handle->matrix) : &handle->matrix;
    if (*out) return SPMV_OK;
    return spmv_log(&spmv__c_hooks, SPMV_ERR_ARGUMENT, "%s: the matrix was not made with both directions", function);
}

int spmv_handle_mul(const spmv_handle *handle, int transposed, double alpha, const void *x, double beta, void *y)
{
    const spmv_matrix *matrix;
    spmv_status s = spmv__matrix_of(&matrix, handle, transposed, "spmv_handle_mul");
    int before;
    if (s) return (int)s;
    before = spmv__set_threads(handle->threads);
    s = spmv_mul(matrix, alpha, x, beta, y);
    spmv__set_threads(before);
    return (int)s;
}

int spmv_handle_mul_many(const spmv_handle *handle, int transposed, uint64_t count, int by_rows, double alpha, const void *x, uint64_t ldx,
                         double beta, void *y, uint64_t ldy)
{
    const spmv_matrix *matrix;
    spmv_status s = spmv__matrix_of(&matrix, handle, transposed, "spmv_handle_mul_many");
    int before;
    if (s) return (int)s;
    before = spmv__set_threads(handle->threads);
    s = spmv_mul_many(matrix, count, by_rows ? SPMV_SIDE_BY_SIDE : SPMV_ONE_AFTER_ANOTHER, alpha, x, ldx, beta, y, ldy);
    spmv__set_threads(before);
    return (int)s;
}

int spmv_handle_mul_buffers(spmv_handle *handle, int transposed, uint64_t count, int by_rows, double alpha, const void *x, uint64_t ldx,
                            double beta, void *y, uint64_t ldy, void *stream)
{
    static const char function[] = "spmv_handle_mul_buffers";
    const spmv_matrix *matrix;
    spmv_status s = spmv__matrix_of(&matrix, handle, transposed, function);
    if (!s) s = spmv__is_there(handle->device, function, "x", x);
    if (!s) s = spmv__is_there(handle->device, function, "y", y);
    if (!s) s = spmv__mul_there(&handle->queued, stream, matrix, count, by_rows, alpha, (void *)(uintptr_t)x, ldx, beta, y, ldy);
    return (int)s;
}

/* New values from the host or, with there 1, from a GPU. */
static int spmv__handle_update(spmv_handle *handle, const char *function, int there, void *val)
{
    spmv_status s = handle ? spmv__settle(handle->device) : spmv__null(&spmv__c_hooks, function, "handle", NULL, 0);
    int before;
    if (!s && there) s = spmv__is_there(handle->device, function, "val", val);
    if (s) return (int)s;
    before = spmv__set_threads(handle->threads);
    s = there ? spmv__update_there(&handle->matrix, val) : spmv_update(&handle->matrix, val);
    spmv__set_threads(before);
    return (int)s;
}

int spmv_handle_update(spmv_handle *handle, const void *val)
{
    return spmv__handle_update(handle, "spmv_handle_update", 0, (void *)(uintptr_t)val);
}

int spmv_handle_update_buffer(spmv_handle *handle, void *val)
{
    return spmv__handle_update(handle, "spmv_handle_update_buffer", 1, val);
}

int spmv_handle_set_threads(spmv_handle *handle, int threads)
{
    spmv_status s = handle ? spmv__check_threads("spmv_handle_set_threads", threads)
                           : spmv__null(&spmv__c_hooks, "spmv_handle_set_threads", "handle", NULL, 0);
    if (!s) handle->threads = threads;
    return (int)s;
}

uint64_t spmv_handle_rows(const spmv_handle *handle) { return handle ? spmv_rows(&handle->matrix) : 0; }
uint64_t spmv_handle_cols(const spmv_handle *handle) { return handle ? spmv_cols(&handle->matrix) : 0; }
uint64_t spmv_handle_nnz(const spmv_handle *handle) { return handle ? spmv_nnz(&handle->matrix) : 0; }
uint64_t spmv_handle_bytes(const spmv_handle *handle) { return handle ? spmv_bytes(&handle->matrix) : 0; }

size_t spmv_handle_plan(const spmv_handle *handle, int transposed, char *out, size_t size)
{
    const spmv_matrix *matrix = handle ? &handle->matrix : NULL;
    return spmv_plan_of(transposed ? spmv_transposed(matrix) : matrix, out, size);
}

size_t spmv_handle_explain(const spmv_handle *handle, char *out, size_t size)
{
    return spmv_print(out, size, "%s", handle && handle->explanation ? handle->explanation : "");
}
