/* SPDX-License-Identifier: MIT
 *
 * The PETSc matrix type "spmv". matspmv.h says how to use it, README.md how to compile it.
 *
 * A matrix of this type is an AIJ matrix with a few operations replaced. PETSc's MPIAIJ keeps two sequential matrices on each process:
 * the diagonal block, whose columns belong to the process, and the off-diagonal block, which has all other columns, renumbered. Its
 * product starts to exchange x, multiplies by the diagonal block, waits for the exchange, and adds the product with the off-diagonal
 * block. Here both blocks have the type seqaijspmv, so PETSc's own product calls MultSequential and MultAddSequential between its steps.
 *
 * A sequential matrix carries a Prepared, made in the first product; later changes of the matrix are noticed by the state that PETSc
 * counts for each object. Apart from PetscObjectStateGet, whose declaration is there, nothing from PETSc's private headers is used.
 */
#define SPMV_STATIC
#define SPMV_IMPLEMENTATION
#include "spmv.h"
#include <string.h>

#include "matspmv.h"
#include <petsc/private/petscimpl.h>

#if defined(PETSC_USE_COMPLEX)
#  error "spmv.h multiplies real matrices; this PETSc is configured for complex numbers"
#elif !defined(PETSC_USE_REAL_DOUBLE) && !defined(PETSC_USE_REAL_SINGLE)
#  error "spmv.h needs a PETSc for double or single precision"
#endif
#if PETSC_VERSION_LT(3, 19, 0)
#  define PETSC_SUCCESS 0
#endif

#define ATTACHED "MatSpmv" /* the name under which a Prepared or a Watch is attached to a matrix */

enum { MESSAGE = 1024 /* bytes kept of the library's last message */ };

typedef enum { DIAGONAL = 0, OFF_DIAGONAL = 1 } Block;

static const char *const plan_option[]   = { "-spmv_plan", "-spmv_off_plan" };
static const char *const device_option[] = { "-spmv_device", "-spmv_off_device" };

/* How a block is stored and multiplied: the options, with the list of devices replaced by this process's device. */
typedef struct {
    Block    block;
    char     plan[SPMV_PLAN_TEXT]; /* with the knobs of kernels behind a slash, if there are any */
    char     device[PETSC_MAX_OPTION_NAME];
    PetscInt calls;
} Settings;

/* The stored form of a sequential matrix, and what it was made from. */
typedef struct {
    Settings           how;
    spmv_matrix        matrix;
    PetscBool          ready;     /* matrix holds something */
    PetscBool          updatable; /* matrix was made for spmv_update */
    PetscBool          both;      /* matrix was made for products with the transpose as well */
    PetscBool          stale;     /* values may have changed in a way that the object's state does not show */
    PetscObjectState   state, nonzero_state;
    const PetscInt    *ptr, *col;
    const PetscScalar *val;
    PetscInt           rows, cols, nnz;
} Prepared;

/* What a parallel matrix knows of its blocks. */
typedef struct {
    Settings         how[2];
    PetscBool        followed; /* state is valid */
    PetscObjectState state;    /* of the parallel matrix when its blocks were last looked at */
} Watch;

/* The operations that differ from AIJ's: those of this file, and AIJ's own, which these call. */
typedef struct {
    PetscErrorCode (*mult)(Mat, Vec, Vec);
    PetscErrorCode (*multadd)(Mat, Vec, Vec, Vec);
    PetscErrorCode (*multtranspose)(Mat, Vec, Vec);
    PetscErrorCode (*multtransposeadd)(Mat, Vec, Vec, Vec);
    PetscErrorCode (*view)(Mat, PetscViewer);
} Operations;

static Operations    inherited[2]; /* of SEQAIJ, of MPIAIJ */
static PetscMPIInt   node_rank;    /* this process's number on its node */
static PetscLogEvent prepare_event;
static char          message[MESSAGE];

/* ---- the library's memory, messages and errors --------------------------------------------------------------------- */

/* Takes memory from PETSc, so that -malloc_dump and -malloc_view know of it. */
static void *Resize(void *user, void *block, size_t bytes)
{
    (void)user;
    if (!bytes) {
        (void)PetscFree(block);
        return NULL;
    }
    return PetscRealloc(bytes, &block) ? NULL : block;
}

/* Keeps the message of an error for the PETSc error that follows; -info prints warnings. */
static void Log(void *user, spmv_status s, const char *text)
{
    (void)user;
    if (s) (void)PetscStrncpy(message, text, sizeof message);
    else (void)PetscInfo(NULL, "spmv: %s\n", text);
}

static spmv_hooks Hooks(void)
{
    spmv_hooks h;
    memset(&h, 0, sizeof h);
    h.resize = Resize;
    h.log = Log;
    message[0] = 0;
    return h;
}

static PetscErrorCode CodeOf(spmv_status s)
{
    switch (s) {
    case SPMV_ERR_MEMORY: return PETSC_ERR_MEM;
    case SPMV_ERR_PLAN:
    case SPMV_ERR_NO_DEVICE: return PETSC_ERR_USER_INPUT;
    case SPMV_ERR_UNSUPPORTED: return PETSC_ERR_SUP;
    default: return PETSC_ERR_LIB;
    }
}

/* Turns a failure of the library into a PETSC error; what and text say what was tried. */
#define CheckSpmv(s, what, text) \
    PetscCheck(!(s), PETSC_COMM_SELF, CodeOf(s), "%s %s: %s", what, text, message[0] ? message : spmv_status_text(s))

/* ---- options ------------------------------------------------------------------------------------------------------- */

/* Copies the element of a list that belongs to this process. */
static PetscErrorCode OwnDevice(const char *option, const char *list, char out[], size_t size)
{
    int    count = 0;
    char **words;
    PetscFunctionBegin;
    PetscCall(PetscStrToArray(list, ',', &count, &words));
    PetscCheck(count > 0, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "%s \"%s\" names no device", option, list);
    PetscCall(PetscStrncpy(out, words[node_rank % count], size));
    PetscCall(PetscStrToArrayDestroy(count, words));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Reads the options of a block of matrix A, under A's prefix. */
static PetscErrorCode ReadSettings(Mat A, Block block, Settings *how)
{
    PetscOptions options;
    const char  *prefix;
    char         list[PETSC_MAX_PATH_LEN] = "host";
    PetscFunctionBegin;
    PetscCall(PetscMemzero(how, sizeof *how));
    how->block = block;
    PetscCall(PetscStrncpy(how->plan, "auto", sizeof how->plan));
    PetscCall(PetscObjectGetOptions((PetscObject)A, &options));
    PetscCall(PetscObjectGetOptionsPrefix((PetscObject)A, &prefix));
    PetscCall(PetscOptionsGetString(options, prefix, plan_option[block], how->plan, sizeof how->plan, NULL));
    PetscCall(PetscOptionsGetString(options, prefix, device_option[block], list, sizeof list, NULL));
    PetscCall(PetscOptionsGetInt(options, prefix, "-spmv_calls", &how->calls, NULL));
    PetscCheck(how->calls >= 0, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "-spmv_calls %" PetscInt_FMT " is negative", how->calls);
    PetscCall(OwnDevice(device_option[block], list, how->device, sizeof how->device));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- devices ------------------------------------------------------------------------------------------------------- */

#ifdef SPMV_DEVICE_H
typedef struct Opened {
    struct Opened *next;
    char           name[PETSC_MAX_OPTION_NAME];
    spmv_device    device;
} Opened;

static Opened *opened; /* every device that a matrix of this process has used; PetscFinalize closes them */

static PetscErrorCode CloseDevices(void)
{
    PetscFunctionBegin;
    while (opened) {
        Opened *o = opened;
        opened = o->next;
        spmv_device_destroy(&o->device);
        PetscCall(PetscFree(o));
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Opens a device, or finds it among the open ones. *device becomes NULL for the host. */
static PetscErrorCode OpenDevice(const Settings *how, spmv_device **device)
{
    spmv_device_desc desc = {0};
    spmv_status      s;
    PetscBool        same;
    Opened          *o;
    PetscFunctionBegin;
    *device = NULL;
    PetscCall(PetscStrcmp(how->device, "host", &same));
    if (same) PetscFunctionReturn(PETSC_SUCCESS);
    for (o = opened; o; o = o->next) {
        PetscCall(PetscStrcmp(o->name, how->device, &same));
        if (!same) continue;
        *device = &o->device;
        PetscFunctionReturn(PETSC_SUCCESS);
    }
    PetscCall(PetscNew(&o));
    PetscCall(PetscStrncpy(o->name, how->device, sizeof o->name));
    desc.which = how->device;
    desc.hooks = Hooks();
    s = spmv_device_create(&o->device, &desc);
    if (s) PetscCall(PetscFree(o));
    CheckSpmv(s, device_option[how->block], how->device);
    if (!opened) PetscCall(PetscRegisterFinalize(CloseDevices));
    o->next = opened;
    opened = o;
    *device = &o->device;
    PetscFunctionReturn(PETSC_SUCCESS);
}
#else
static PetscErrorCode OpenDevice(const Settings *how, spmv_device **device)
{
    PetscBool host;
    PetscFunctionBegin;
    *device = NULL;
    PetscCall(PetscStrcmp(how->device, "host", &host));
    PetscCheck(host, PETSC_COMM_SELF, PETSC_ERR_SUP, "%s %s: matspmv.c was compiled for the host alone (SPMV_NO_DEVICES)",
               device_option[how->block], how->device);
    PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

/* ---- sequential matrices ------------------------------------------------------------------------------------------- */

static PetscErrorCode FreePrepared(void *block)
{
    Prepared *p = (Prepared *)block;
    PetscFunctionBegin;
    spmv_destroy(&p->matrix);
    PetscCall(PetscFree(p));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FreeWatch(void *block)
{
    PetscFunctionBegin;
    PetscCall(PetscFree(block));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Attaches memory to a matrix, which frees it in the end. */
static PetscErrorCode Attach(Mat A, void *block, PetscErrorCode (*release)(void *))
{
    PetscContainer holder;
    PetscFunctionBegin;
    PetscCall(PetscContainerCreate(PETSC_COMM_SELF, &holder));
    PetscCall(PetscContainerSetPointer(holder, block));
    PetscCall(PetscContainerSetUserDestroy(holder, release));
    PetscCall(PetscObjectCompose((PetscObject)A, ATTACHED, (PetscObject)holder));
    PetscCall(PetscContainerDestroy(&holder));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* What is attached to a matrix, or NULL. */
static PetscErrorCode Attached(Mat A, void **block)
{
    PetscObject holder;
    PetscFunctionBegin;
    *block = NULL;
    PetscCall(PetscObjectQuery((PetscObject)A, ATTACHED, &holder));
    if (holder) PetscCall(PetscContainerGetPointer((PetscContainer)holder, block));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* The Prepared of a sequential matrix, which is made if it has none. how is NULL for a matrix that is not a block of another. */
static PetscErrorCode GetPrepared(Mat A, const Settings *how, Prepared **out)
{
    void *block;
    PetscFunctionBegin;
    PetscCall(Attached(A, &block));
    *out = (Prepared *)block;
    if (*out) PetscFunctionReturn(PETSC_SUCCESS);
    PetscCall(PetscNew(out));
    PetscCall(Attach(A, *out, FreePrepared));
    if (how) (*out)->how = *how;
    else PetscCall(ReadSettings(A, DIAGONAL, &(*out)->how));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Stores the matrix by the plan in p->how. An updatable matrix keeps copies of AIJ's arrays besides, so a matrix is made updatable only
 * once its values have changed, and its transpose is stored only once it is multiplied. */
static PetscErrorCode Build(Mat A, Prepared *p)
{
    static const PetscInt no_rows[1] = {0};
    const char      *plan = plan_option[p->how.block];
    spmv_build_hints hints = {0};
    spmv_desc        desc = {0};
    char             text[SPMV_PLAN_TEXT], shares[256];
    char            *knobs;
    spmv_status      s;
    PetscFunctionBegin;
    spmv_destroy(&p->matrix);
    p->ready = PETSC_FALSE;
    PetscCall(OpenDevice(&p->how, &desc.device));
    PetscCall(PetscStrncpy(text, p->how.plan, sizeof text));
    PetscCall(PetscStrchr(text, '/', &knobs));
    if (knobs) *knobs++ = 0;
    hints.expected_calls = (uint64_t)p->how.calls;
    desc.matrix.rows = p->rows;
    desc.matrix.cols = p->cols;
    desc.matrix.nnz = p->nnz;
    desc.matrix.ptr = p->rows ? p->ptr : no_rows;
    desc.matrix.col = p->col;
    desc.matrix.val = p->val;
    desc.matrix.ptr_bits = desc.matrix.index_bits = (int)(8 * sizeof(PetscInt));
    desc.type = sizeof(PetscScalar) == sizeof(double) ? SPMV_F64 : SPMV_F32;
    desc.matrix.borrow = 1;
    desc.plan = text;
    desc.variant = knobs;
    desc.updatable = p->updatable;
    desc.both = p->both;
    desc.plan_transposed = "auto"; /* the other may not fit the transpose */
    desc.hints = &hints;
    desc.hooks = Hooks();
    s = spmv_create(&p->matrix, &desc);
    CheckSpmv(s, plan, p->how.plan);
    p->ready = PETSC_TRUE;
    spmv_shares(&p->matrix, shares, sizeof shares);
    PetscCall(PetscInfo(A, "spmv: prepared %" PetscInt_FMT " x %" PetscInt_FMT ", %" PetscInt_FMT " nonzeros, as %s, on %s%s%s\n", p->rows,
                        p->cols, p->nnz, shares, p->how.device, p->updatable ? ", updatable" : "", p->both ? ", with its transpose" : ""));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Brings the stored form up to date with the matrix: builds it if there is none or the pattern is another, or passes on new values. */
static PetscErrorCode Prepare(Mat A, Prepared *p)
{
    PetscObjectState   state, nonzero_state;
    const PetscInt    *ptr, *col;
    const PetscScalar *val;
    PetscInt           rows, cols, n, nnz;
    PetscBool          there, same;
    spmv_status        s;
    PetscFunctionBegin;
    PetscCall(PetscObjectStateGet((PetscObject)A, &state));
    if (p->ready && !p->stale && p->state == state) PetscFunctionReturn(PETSC_SUCCESS);

    PetscCall(PetscLogEventBegin(prepare_event, A, 0, 0, 0));
    PetscCall(MatGetNonzeroState(A, &nonzero_state));
    PetscCall(MatGetLocalSize(A, &rows, &cols));
    PetscCall(MatGetRowIJ(A, 0, PETSC_FALSE, PETSC_FALSE, &n, &ptr, &col, &there));
    PetscCheck(there, PETSC_COMM_SELF, PETSC_ERR_PLIB, "an AIJ matrix without compressed rows");
    PetscCall(MatSeqAIJGetArrayRead(A, &val));
    nnz = rows ? ptr[rows] : 0;
    same = (PetscBool)(p->ready && p->nonzero_state == nonzero_state && p->rows == rows && p->cols == cols && p->nnz == nnz &&
                       p->ptr == ptr && p->col == col);
    p->rows = rows;
    p->cols = cols;
    p->nnz = nnz;
    p->ptr = ptr;
    p->col = col;
    p->val = val;
    if (same && p->updatable) {
        message[0] = 0;
        s = spmv_update(&p->matrix, val);
        CheckSpmv(s, "new values for", p->how.plan);
        PetscCall(PetscInfo(A, "spmv: took over new values\n"));
    } else {
        if (same) p->updatable = PETSC_TRUE;
        PetscCall(Build(A, p));
    }
    PetscCall(MatSeqAIJRestoreArrayRead(A, &val));
    PetscCall(MatRestoreRowIJ(A, 0, PETSC_FALSE, PETSC_FALSE, &n, &ptr, &col, &there));
    p->state = state;
    p->nonzero_state = nonzero_state;
    p->stale = PETSC_FALSE;
    PetscCall(PetscLogEventEnd(prepare_event, A, 0, 0, 0));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* spmv_mul or spmv_mul_transposed. */
typedef spmv_status (*Product)(const spmv_matrix *, double, const void *, double, void *);

/* The Prepared of a sequential matrix, up to date, and with the transpose if that is to be multiplied. */
static PetscErrorCode Ready(Mat A, Product mul, Prepared **p)
{
    PetscFunctionBegin;
    PetscCall(GetPrepared(A, NULL, p));
    if (mul == spmv_mul_transposed && !(*p)->both) {
        (*p)->both = PETSC_TRUE;
        (*p)->ready = PETSC_FALSE;
    }
    PetscCall(Prepare(A, *p));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* y = A x, or the same with the transpose. */
static PetscErrorCode Multiply(Mat A, Product mul, Vec x, Vec y)
{
    const PetscScalar *from;
    PetscScalar       *to;
    Prepared          *p;
    spmv_status        s;
    PetscFunctionBegin;
    PetscCall(Ready(A, mul, &p));
    PetscCall(VecGetArrayRead(x, &from));
    PetscCall(VecGetArrayWrite(y, &to));
    message[0] = 0;
    s = (*mul)(&p->matrix, 1.0, from, 0.0, to);
    PetscCall(VecRestoreArrayWrite(y, &to));
    PetscCall(VecRestoreArrayRead(x, &from));
    CheckSpmv(s, "a product with", p->how.plan);
    PetscCall(PetscLogFlops(2.0 * p->nnz));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* z = A x + y, where y may be z, or the same with the transpose. */
static PetscErrorCode MultiplyAdd(Mat A, Product mul, Vec x, Vec y, Vec z)
{
    const PetscScalar *from, *add;
    PetscScalar       *to;
    Prepared          *p;
    spmv_status        s;
    PetscFunctionBegin;
    PetscCall(Ready(A, mul, &p));
    if (y != z) {
        PetscCall(VecGetArrayRead(y, &add));
        PetscCall(VecGetArrayWrite(z, &to));
        PetscCall(PetscArraycpy(to, add, mul == spmv_mul ? p->rows : p->cols));
        PetscCall(VecRestoreArrayWrite(z, &to));
        PetscCall(VecRestoreArrayRead(y, &add));
    }
    if (!p->nnz) PetscFunctionReturn(PETSC_SUCCESS);
    PetscCall(VecGetArrayRead(x, &from));
    PetscCall(VecGetArray(z, &to));
    message[0] = 0;
    s = (*mul)(&p->matrix, 1.0, from, 1.0, to);
    PetscCall(VecRestoreArray(z, &to));
    PetscCall(VecRestoreArrayRead(x, &from));
    CheckSpmv(s, "a product with", p->how.plan);
    PetscCall(PetscLogFlops(2.0 * p->nnz));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MultSequential(Mat A, Vec x, Vec y) { return Multiply(A, spmv_mul, x, y); }
static PetscErrorCode MultAddSequential(Mat A, Vec x, Vec y, Vec z) { return MultiplyAdd(A, spmv_mul, x, y, z); }
static PetscErrorCode MultTransposeSequential(Mat A, Vec x, Vec y) { return Multiply(A, spmv_mul_transposed, x, y); }
static PetscErrorCode MultTransposeAddSequential(Mat A, Vec x, Vec y, Vec z) { return MultiplyAdd(A, spmv_mul_transposed, x, y, z); }

/* ---- parallel matrices --------------------------------------------------------------------------------------------- */

static PetscErrorCode Become(Mat A);

/* Gives the blocks the type seqaijspmv and the settings of the whole, and tells them that their values may have changed. Does nothing
 * if the matrix is as it was. PETSc makes new blocks when the pattern changes. */
static PetscErrorCode Follow(Mat A)
{
    PetscObjectState state;
    void            *attached;
    Watch           *w;
    Mat              block[2];
    int              i;
    PetscFunctionBegin;
    PetscCall(Attached(A, &attached));
    w = (Watch *)attached;
    if (!w) {
        PetscCall(PetscNew(&w));
        PetscCall(Attach(A, w, FreeWatch));
        for (i = 0; i < 2; i++) PetscCall(ReadSettings(A, (Block)i, &w->how[i]));
    }
    PetscCall(PetscObjectStateGet((PetscObject)A, &state));
    if (w->followed && w->state == state) PetscFunctionReturn(PETSC_SUCCESS);

    PetscCall(MatMPIAIJGetSeqAIJ(A, &block[DIAGONAL], &block[OFF_DIAGONAL], NULL));
    for (i = 0; i < 2; i++) {
        Prepared *p;
        PetscCall(Become(block[i]));
        PetscCall(GetPrepared(block[i], &w->how[i], &p));
        p->stale = PETSC_TRUE;
    }
    w->state = state;
    w->followed = PETSC_TRUE;
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MultParallel(Mat A, Vec x, Vec y)
{
    PetscFunctionBegin;
    PetscCall(Follow(A));
    PetscCall((*inherited[1].mult)(A, x, y));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MultAddParallel(Mat A, Vec x, Vec y, Vec z)
{
    PetscFunctionBegin;
    PetscCall(Follow(A));
    PetscCall((*inherited[1].multadd)(A, x, y, z));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MultTransposeParallel(Mat A, Vec x, Vec y)
{
    PetscFunctionBegin;
    PetscCall(Follow(A));
    PetscCall((*inherited[1].multtranspose)(A, x, y));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MultTransposeAddParallel(Mat A, Vec x, Vec y, Vec z)
{
    PetscFunctionBegin;
    PetscCall(Follow(A));
    PetscCall((*inherited[1].multtransposeadd)(A, x, y, z));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- the type ------------------------------------------------------------------------------------------------------ */

static PetscErrorCode IsParallel(Mat A, PetscBool *parallel)
{
    MatType type;
    PetscFunctionBegin;
    PetscCall(MatGetType(A, &type));
    PetscCall(PetscStrbeginswith(type, MATMPIAIJ, parallel));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Prints how a sequential matrix is stored; on the first process only, if it is a block of a parallel one. */
static PetscErrorCode ViewBlock(Mat block, const char *name, PetscViewer viewer)
{
    void *attached;
    PetscFunctionBegin;
    PetscCall(Attached(block, &attached));
    if (attached && ((Prepared *)attached)->ready) {
        const Prepared *p = (const Prepared *)attached;
        char            plan[SPMV_PLAN_TEXT];
        spmv_plan_of(&p->matrix, plan, sizeof plan);
        PetscCall(PetscViewerASCIIPrintf(viewer, "  spmv: %s stored as %s, -spmv_device %s\n", name, plan, p->how.device));
    } else PetscCall(PetscViewerASCIIPrintf(viewer, "  spmv: %s not multiplied yet\n", name));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* AIJ's view; -ksp_view and -mat_view ::ascii_info also say how the matrix, or the part on the first process, is stored. */
static PetscErrorCode View(Mat A, PetscViewer viewer)
{
    PetscViewerFormat format;
    PetscBool         parallel, ascii;
    PetscFunctionBegin;
    PetscCall(IsParallel(A, &parallel));
    PetscCall((*inherited[parallel].view)(A, viewer));
    PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &ascii));
    PetscCall(PetscViewerGetFormat(viewer, &format));
    if (!ascii || (format != PETSC_VIEWER_ASCII_INFO && format != PETSC_VIEWER_ASCII_INFO_DETAIL)) PetscFunctionReturn(PETSC_SUCCESS);
    if (parallel) {
        Mat block[2];
        PetscCall(MatMPIAIJGetSeqAIJ(A, &block[DIAGONAL], &block[OFF_DIAGONAL], NULL));
        PetscCall(ViewBlock(block[DIAGONAL], "diagonal block of the first process", viewer));
        PetscCall(ViewBlock(block[OFF_DIAGONAL], "off-diagonal block of the first process", viewer));
    } else PetscCall(ViewBlock(A, "matrix", viewer));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Names of conversions for which PETSc looks on a matrix of the one or the other type; each begins with the type that it has. */
static const char *const to_spmv[] = { "MatConvert_seqaij_seqaijspmv_C", "MatConvert_mpiaij_mpiaijspmv_C",
                                       "MatConvert_seqaij_spmv_C",       "MatConvert_mpiaij_spmv_C",
                                       "MatConvert_seqaijspmv_spmv_C",   "MatConvert_mpiaijspmv_spmv_C" };
static const char *const to_aij[] = { "MatConvert_seqaijspmv_seqaij_C", "MatConvert_mpiaijspmv_mpiaij_C" };

static PetscErrorCode ToSpmv(Mat A, MatType type, MatReuse reuse, Mat *out);
static PetscErrorCode ToAIJ(Mat A, MatType type, MatReuse reuse, Mat *out);

/* Sets the functions by which PETSc converts to this type and back; all NULL takes them off. */
static PetscErrorCode ComposeConversions(Mat A, PetscErrorCode (*there)(Mat, MatType, MatReuse, Mat *),
                                         PetscErrorCode (*back)(Mat, MatType, MatReuse, Mat *))
{
    size_t i;
    PetscFunctionBegin;
    for (i = 0; i < sizeof to_spmv / sizeof *to_spmv; i++) PetscCall(PetscObjectComposeFunction((PetscObject)A, to_spmv[i], there));
    for (i = 0; i < sizeof to_aij / sizeof *to_aij; i++) PetscCall(PetscObjectComposeFunction((PetscObject)A, to_aij[i], back));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* The operations that AIJ has for products and for viewing. */
static PetscErrorCode Inherit(Mat A, Operations *of)
{
    void (*f)(void);
    PetscFunctionBegin;
    PetscCall(MatGetOperation(A, MATOP_MULT, &f));
    of->mult = (PetscErrorCode(*)(Mat, Vec, Vec))f;
    PetscCall(MatGetOperation(A, MATOP_MULT_ADD, &f));
    of->multadd = (PetscErrorCode(*)(Mat, Vec, Vec, Vec))f;
    PetscCall(MatGetOperation(A, MATOP_MULT_TRANSPOSE, &f));
    of->multtranspose = (PetscErrorCode(*)(Mat, Vec, Vec))f;
    PetscCall(MatGetOperation(A, MATOP_MULT_TRANSPOSE_ADD, &f));
    of->multtransposeadd = (PetscErrorCode(*)(Mat, Vec, Vec, Vec))f;
    PetscCall(MatGetOperation(A, MATOP_VIEW, &f));
    of->view = (PetscErrorCode(*)(Mat, PetscViewer))f;
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetOperations(Mat A, const Operations *to)
{
    PetscFunctionBegin;
    PetscCall(MatSetOperation(A, MATOP_MULT, (void (*)(void))to->mult));
    PetscCall(MatSetOperation(A, MATOP_MULT_ADD, (void (*)(void))to->multadd));
    PetscCall(MatSetOperation(A, MATOP_MULT_TRANSPOSE, (void (*)(void))to->multtranspose));
    PetscCall(MatSetOperation(A, MATOP_MULT_TRANSPOSE_ADD, (void (*)(void))to->multtransposeadd));
    PetscCall(MatSetOperation(A, MATOP_VIEW, (void (*)(void))to->view));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Makes an AIJ matrix one of this type. Nothing is copied. */
static PetscErrorCode Become(Mat A)
{
    static const Operations ours[2] = {
        { MultSequential, MultAddSequential, MultTransposeSequential, MultTransposeAddSequential, View },
        { MultParallel, MultAddParallel, MultTransposeParallel, MultTransposeAddParallel, View }
    };
    PetscBool parallel, already;
    PetscFunctionBegin;
    PetscCall(PetscObjectTypeCompareAny((PetscObject)A, &already, MATSEQSPMV, MATMPISPMV, ""));
    if (already) PetscFunctionReturn(PETSC_SUCCESS);
    PetscCall(IsParallel(A, &parallel));
    PetscCall(Inherit(A, &inherited[parallel]));
    PetscCall(SetOperations(A, &ours[parallel]));
    PetscCall(ComposeConversions(A, ToSpmv, ToAIJ));
    PetscCall(PetscObjectChangeTypeName((PetscObject)A, parallel ? MATMPISPMV : MATSEQSPMV));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Makes a matrix of this type, and its blocks, AIJ again. */
static PetscErrorCode BecomeAIJ(Mat A)
{
    PetscBool parallel, ours;
    PetscFunctionBegin;
    PetscCall(PetscObjectTypeCompareAny((PetscObject)A, &ours, MATSEQSPMV, MATMPISPMV, ""));
    if (!ours) PetscFunctionReturn(PETSC_SUCCESS);
    PetscCall(IsParallel(A, &parallel));
    if (parallel) {
        Mat block[2];
        PetscCall(MatMPIAIJGetSeqAIJ(A, &block[0], &block[1], NULL));
        PetscCall(BecomeAIJ(block[0]));
        PetscCall(BecomeAIJ(block[1]));
    }
    PetscCall(SetOperations(A, &inherited[parallel]));
    PetscCall(ComposeConversions(A, NULL, NULL));
    PetscCall(PetscObjectCompose((PetscObject)A, ATTACHED, NULL));
    PetscCall(PetscObjectChangeTypeName((PetscObject)A, parallel ? MATMPIAIJ : MATSEQAIJ));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* The matrix in which a conversion has to put its result, with the values of A. */
static PetscErrorCode Target(Mat A, MatReuse reuse, Mat *out)
{
    PetscFunctionBegin;
    if (reuse == MAT_INITIAL_MATRIX) PetscCall(MatDuplicate(A, MAT_COPY_VALUES, out));
    else if (reuse == MAT_REUSE_MATRIX) PetscCall(MatCopy(A, *out, SAME_NONZERO_PATTERN));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ToSpmv(Mat A, MatType type, MatReuse reuse, Mat *out)
{
    PetscFunctionBegin;
    (void)type;
    PetscCall(Target(A, reuse, out));
    PetscCall(Become(*out));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ToAIJ(Mat A, MatType type, MatReuse reuse, Mat *out)
{
    PetscFunctionBegin;
    (void)type;
    PetscCall(Target(A, reuse, out));
    PetscCall(BecomeAIJ(*out));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateSequential(Mat A)
{
    PetscFunctionBegin;
    PetscCall(MatSetType(A, MATSEQAIJ));
    PetscCall(Become(A));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateParallel(Mat A)
{
    PetscFunctionBegin;
    PetscCall(MatSetType(A, MATMPIAIJ));
    PetscCall(Become(A));
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatRegisterSpmv(void)
{
    MPI_Comm node;
    PetscFunctionBegin;
    PetscCallMPI(MPI_Comm_split_type(PETSC_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
    PetscCallMPI(MPI_Comm_rank(node, &node_rank));
    PetscCallMPI(MPI_Comm_free(&node));
    PetscCall(MatRegister(MATSEQSPMV, CreateSequential));
    PetscCall(MatRegister(MATMPISPMV, CreateParallel));
    PetscCall(MatRegisterRootName(MATSPMV, MATSEQSPMV, MATMPISPMV));
    PetscCall(PetscLogEventRegister("MatSpmvPrepare", MAT_CLASSID, &prepare_event));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* The function that the option -dll_append libmatspmv.so calls. */
PETSC_EXTERN PetscErrorCode PetscDLLibraryRegister_matspmv(void);
PetscErrorCode PetscDLLibraryRegister_matspmv(void)
{
    PetscFunctionBegin;
    PetscCall(MatRegisterSpmv());
    PetscFunctionReturn(PETSC_SUCCESS);
}
