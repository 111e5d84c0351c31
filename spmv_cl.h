/* SPDX-License-Identifier: MIT
 *
 * spmv_cl.h - sparse matrix times vector on OpenCL 1.2 devices: devices, kernels, upload, products.
 *
 * Needs an OpenCL header (<CL/cl.h>, <OpenCL/opencl.h> on Apple) and library (-lOpenCL). Stored parts (spmv_formats.h)
 * go   spmv_part[] --spmv_cl_create--> spmv_cl_matrix --spmv_exec_create--> spmv_exec --spmv_exec_mul--> y.
 *
 *   spmv_device     context, queue and compiled programs of one device. Making matrices on one device object from two
 *                   threads at once needs the caller's lock, for the programs; products need none.
 *   spmv_cl_matrix  the parts in device memory; immutable during products, so that any number of threads and queues
 *                   may multiply with it at once, each through an exec of its own.
 *   spmv_exec       what one product in flight needs: kernels with their arguments set, carries of split rows. One for
 *                   each thread and queue; a second thread in the same one gets SPMV_ERR_BUSY.
 *
 * Close in reverse order: execs, then their matrix, then its device; each holds pointers to what it was made from, so
 * that those may not move either. All three are safe to destroy when zeroed or when their making failed.
 *
 * Same matrix, variant and device give the same bits in every product. Configuration macros: spmv_formats.h, and
 * CL_TARGET_OPENCL_VERSION, which is set to 120 unless the user has set it.
 *
 * If you only want the interface, stop at "END OF THE INTERFACE".
 */
#include "spmv_plan.h" /* above the guard: its implementation may be wanted although this interface was seen */
#ifndef SPMV_CL_H
#define SPMV_CL_H

#ifndef CL_TARGET_OPENCL_VERSION
#  define CL_TARGET_OPENCL_VERSION 120
#endif
#ifndef CL_USE_DEPRECATED_OPENCL_1_2_APIS
#  define CL_USE_DEPRECATED_OPENCL_1_2_APIS /* clCreateCommandQueue: all that a 1.2 platform has */
#endif
#ifdef __APPLE__
#  include <OpenCL/opencl.h>
#else
#  ifdef __has_include
#    if !__has_include(<CL/cl.h>)
#      error "spmv: the OpenCL header CL/cl.h is not there: define SPMV_NO_OPENCL (host only), or install it (Debian: opencl-headers)"
#    endif
#  endif
#  include <CL/cl.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- devices ----------------------------------------------------------------------------------------------------- */

typedef struct spmv_device_info {
    char name[256], vendor[128], version[128], driver[128], platform[128]; /* cut where longer */
    cl_platform_id platform_id;
    cl_device_id   id;
    cl_device_type type;          /* CL_DEVICE_TYPE_GPU, ... */
    unsigned       compute_units;
    unsigned       address_bits;
    uint64_t       global_bytes;
    uint64_t       alloc_bytes;   /* the largest buffer */
    uint64_t       local_bytes;
    uint64_t       group_size;    /* the largest work-group */
    uint64_t       image_texels;  /* the largest image1d_buffer, 0: no images */
    int            f64;           /* 1: has double precision */
    int            profiling;     /* 1: queues can profile (OpenCL demands it) */
    int            out_of_order;  /* 1: queues can be out of order */
    int            atomics64;     /* 1: 64-bit compare and exchange */
    unsigned       nvidia;        /* compute capability (90: 9.0) if the device is driven by NVIDIA's own OpenCL, else 0 */
} spmv_device_info;

/* All devices of all platforms, in the order of their index: fills up to max of out (NULL if max is 0) and sets *count to how
 * many there are. Platforms without devices are normal, a platform that fails is skipped with a message. No platform at all is
 * SPMV_OK with a count of 0. */
SPMV_API spmv_status spmv_device_list(spmv_device_info *out, size_t max, size_t *count, const spmv_hooks *hooks);
/* "gpu", "cpu", "accelerator" or "other". */
SPMV_API const char *spmv_device_type_name(cl_device_type type);

/* Which device, or the caller's own. Zero means default. */
typedef struct spmv_device_desc {
    const char      *which;   /* index in spmv_device_list ("0"), type ("gpu", "cpu", "accelerator": the first such), or part of a
                                 name in any case; NULL or "": the first GPU, else the first device */
    cl_context       context; /* the caller's, with device: which is not looked at. Both are retained */
    cl_device_id     device;
    cl_command_queue queue;   /* the caller's, retained; alone it also says context and device. NULL: one is made */
    int              profile; /* 1: the queue that is made measures time (spmv_exec_seconds) */
    spmv_hooks       hooks;   /* memory and messages of the device and all that is made on it */
} spmv_device_desc;

typedef struct spmv__cl_program spmv__cl_program;

typedef struct spmv_device {
    spmv_device_info info;
    cl_context       context;
    cl_command_queue queue;
    spmv__cl_program   *programs; /* what was built, kept until the device is closed */
    spmv_hooks       hooks;
} spmv_device;

/* out need not be initialised; on failure it is zeroed. desc NULL: all of it zero. SPMV_ERR_NO_DEVICE if there is none of that kind. */
SPMV_API spmv_status spmv_device_open(spmv_device *out, const spmv_device_desc *desc);
/* Releases programs, queue and context. */
SPMV_API void spmv_device_close(spmv_device *d);

/* ---- variants ----------------------------------------------------------------------------------------------------
 * X(NAME, GPU, CPU, "what it is"): the knobs of all kernels with their defaults. Legal values stand beside each knob in
 * the kernels ("tune:" lines); a format takes those knobs that its kernel names there. A new knob is a row here and an #ifndef
 * in the kernels that know it. */
#define SPMV_KNOB_LIST(X)                                                                                            \
    X(L,     0,   1, "lanes: work-items a row or super-row; default 0: by the mean row length and the number of "    \
                     "rows; dia, bdia: 1")                                                                           \
    X(WG,    128, 64, "work-items a group; on a CPU: coo and csr with run 16; "                          \
                     "csr with run on a GPU: 256")                                                         \
    X(PER,   7,  255, "coo: nonzeros a work-item")                                                                   \
    X(STREAM, 1,  0, "csr with run: 1 a group takes a run, through local memory; 0 a work-item does")                \
    X(FINISH, 1,  0, "csr with run: pieces of a long row are added 0 by a second launch, 1 by who finishes the last; " \
                     "default 1 on NVIDIA from compute capability 7.0")                                              \
    X(UNROLL, 1,  1, "turns of the inner loop unrolled; csr with run, STREAM=1: loads in flight a work-item")        \
    X(SHUF,  0,   0, "csr with run, STREAM=1: 1 sums lanes by shuffles (NVIDIA; elsewhere left out)")                   \
    X(NT,    0,   0, "1 keeps the matrix out of the first cache (NVIDIA; elsewhere left out)")                         \
    X(ATOMIC, 0,  0, "coo: 1 adds to y atomically: the last bits of y vary from product to product")                 \
    X(STAGE, 1,   0, "local memory: bdia 1 takes x through it, sell the slice pointers, cmrs its sums, coo all")     \
    X(I64,   0,   0, "slot numbers of 64 bits; 1 is forced where 32 could overflow")                                 \
    X(V,     1,   1, "rows an item of ell, sell, dia, bdia, super-rows of bell; neighbours in a row of dense")       \
    X(SEQ,   1,   1, "super-rows an item, one after another")                                                        \
    X(IMG,   0,   0, "1 reads x through an image")                                                                   \
    X(ZERO,  0,   0, "1 tests a value before x is loaded for it; zeros then ignore an Inf or NaN in x")              \
    X(ALIGN, 0,   0, "cmrs: 1 aligns the lanes' steps")                                                              \
    X(SLICE, 0,   0, "sell: 1 gives a group to each slice")

/* X(FORMAT, KNOB, GPU, CPU): where a format's default is another one. */
#define SPMV_KNOB_FORMAT_LIST(X)                                                                                     \
    X(COO,   WG,    128, 16) /* few, as barriers cost a CPU more than lanes bring */                                 \
    X(CSR,   UNROLL, 4,  1)                                                                                          \
    X(CSR,   NT,    1,   0)  /* H200: cnr-2000 streamed 21.3 us, 22.5 without */                                      \
    X(CSR,   SHUF,  1,   0)                                                                                          \
    X(SELL,  STAGE, 0,   0)                                                                                          \
    X(ELL,   V,     1,   8)  /* CPUs: lines of memory are used whole, sums are independent */                        \
    X(SELL,  V,     1,   8)                                                                                          \
    X(DIA,   V,     1,   16)                                                                                         \
    X(BDIA,  V,     1,   16)                                                                                         \
    X(BELL,  V,     1,   32)                                                                                         \
    X(DENSE, V,     1,   16)

typedef enum spmv_knob {
#define X(NAME, gpu, cpu, text) SPMV_KNOB_##NAME,
    SPMV_KNOB_LIST(X)
#undef X
    SPMV_KNOB_COUNT
} spmv_knob;

/* Knob values for one part's kernel. All zero: every knob at its default. */
typedef struct spmv_variant {
    uint64_t set; /* bit k: value[k] was chosen */
    int      value[SPMV_KNOB_COUNT];
} spmv_variant;

enum { SPMV_VARIANT_TEXT = 512 /* bytes that hold any variant's text, its end included */ };

SPMV_API const char *spmv_knob_name(spmv_knob k);
SPMV_API const char *spmv_knob_text(spmv_knob k);
/* The legal values of a knob in a format's kernel: fills up to max and returns how many there are, 0 if the format does not take
 * the knob or is not built. */
SPMV_API size_t spmv_knob_values(spmv_format f, spmv_knob k, int *out, size_t max);
/* "L=8,WG=128": the knobs that are set. Like snprintf. */
SPMV_API size_t spmv_variant_print(const spmv_variant *v, char *out, size_t size);
/* Reads that text for a format ("" and NULL set nothing); SPMV_ERR_PLAN if a knob or a value is not the format's, with the list of values
 * in the message. On failure *v is zeroed. */
SPMV_API spmv_status spmv_variant_parse(spmv_variant *v, spmv_format f, const char *text, const spmv_hooks *hooks);

/* Variants for a store's parts from a text with one for each part of its plan, joined by '+' as those are: "L=8+WG=128". A
 * part may have an empty text; NULL, "" and parts behind the text's end: nothing is set. A first element "*:IMG=1,WG=64" sets its
 * knobs in every part whose kernel has them, before the elements behind it set those of single parts: "*:WG=64+L=8" is L=8,WG=64
 * for the first part and WG=64 for the others. SPMV_ERR_PLAN if no part's kernel has a knob, or one that has it does not take the
 * value. v takes one variant for each part stored, those of the others are checked all the same. */
SPMV_API spmv_status spmv_variants_parse(spmv_variant *v, const spmv_store *st, const char *text, const spmv_hooks *hooks);
/* Turns v into the variant that spmv_cl_create would use: what is not set gets defaults by device and part, knobs that make no
 * difference to the part are taken out. SPMV_ERR_LIMIT if the device cannot take it (a compiled kernel may still turn out to
 * need more than the device has). */
SPMV_API spmv_status spmv_variant_resolve(spmv_variant *v, const spmv_device *d, const spmv_part *p);

/* ---- a matrix in device memory ----------------------------------------------------------------------------------- */

typedef struct spmv_cl_part {
    size_t       source;               /* which of the parts given it is, or is a stretch of */
    spmv_format  format;
    uint64_t     begin, end;           /* the stretch, in what that format is cut at: slices, runs, ... */
    uint64_t     row;                  /* of the matrix where it begins; 0 with a row list */
    uint64_t     rows, nnz;
    uint64_t     values;               /* slots of val */
    spmv_variant variant;              /* every knob of the format is set: what is in use */
    cl_program   program;              /* the device's */
    cl_mem       a[SPMV_MAX_ARRAYS];
    cl_mem       list;                 /* row list, or NULL */
    uint64_t     n[SPMV_MAX_INTS];
    int          runs;                 /* 1: csr in runs */
    uint64_t     groups;               /* of the kernel; 0: nothing to do */
    uint64_t     finish;               /* of the finishing launch, that adds what groups left in the carries; 0: none */
    uint64_t     carries;              /* how many of those an exec holds */
    uint64_t     counters;             /* of groups that have left theirs: behind the carries, 0 between products */
} spmv_cl_part;

typedef struct spmv_cl_matrix {
    spmv_device  *device;
    spmv_type     type;
    uint64_t      rows, cols;
    int           covers;              /* 1: part 0 sets every row of y */
    size_t        sources;             /* parts given */
    size_t        count;               /* those in device memory: more where arrays were larger than a buffer */
    spmv_cl_part *part;
    cl_program    scale;               /* the device's */
    cl_mem        none;                /* stands for arrays without elements */
    spmv_hooks    hooks;
} spmv_cl_matrix;

/* Copies the parts to the device and builds their kernels. All must have the type and cols given here; without a row
 * list a part must have that many rows. variants: one for each part, or NULL: defaults; knobs that are not set get
 * defaults by device and part. A part with an array larger than a buffer of the device is cut into stretches of rows (coo: of
 * entries), each with buffers and launches of its own. The parts are not needed any more afterwards.
 * out need not be initialised; on failure it is zeroed. SPMV_ERR_NO_F64, SPMV_ERR_BUILD (the build log is in the message),
 * SPMV_ERR_LIMIT if a buffer that cannot be cut further, all buffers together, local memory or a work-group is beyond the
 * device. */
SPMV_API spmv_status spmv_cl_create(spmv_cl_matrix *out, spmv_device *d, uint64_t rows, uint64_t cols, spmv_type type,
                                    const spmv_part *parts, size_t count, const spmv_variant *variants);
/* Copies the values again, after spmv_part_update of the parts it was made from. No product may be running. */
SPMV_API spmv_status spmv_cl_update(spmv_cl_matrix *m, const spmv_part *parts, size_t count);
SPMV_API void spmv_cl_free(spmv_cl_matrix *m);
/* The variant in use for the i-th of the parts given; of its first stretch, if it was cut. */
SPMV_API const spmv_variant *spmv_cl_variant(const spmv_cl_matrix *m, size_t i);

/* The program of a format for build options ("-DVAL=double -DVEC=double -DF64 -DWG=64 ..."), built if the device object has none
 * yet. It stays the device's. options NULL: none. For the tuner and for tests; spmv_cl_create finds the options by itself. */
SPMV_API spmv_status spmv_cl_program(spmv_device *d, spmv_format f, const char *options, cl_program *out);

/* ---- products ---------------------------------------------------------------------------------------------------- */

typedef struct spmv__cl_launch {
    cl_kernel kernel;
    size_t    global, local;
    cl_uint   arg;      /* the first of the arguments that change: x, its offset, y, its offset, alpha, beta, the image */
    int       first;    /* 1: of the first part given */
    uint64_t  row;      /* of y, where its rows begin */
    int       texel;    /* elements of x in a texel of the image that it wants; 0: it wants none */
    cl_mem    carry[2]; /* sums and rows of split rows; the finishing launch reads those of the launch before */
} spmv__cl_launch;

typedef struct spmv_exec {
    const spmv_cl_matrix *matrix;
    cl_command_queue      queue;
    int                   chain;       /* 1: the queue is out of order, launches wait for each other by events */
    int                   timing;
    spmv__cl_launch          scale;
    spmv__cl_launch         *launch;
    size_t                count;
    cl_mem                x, y;        /* of spmv_exec_mul_host */
    cl_mem                seen;        /* the x that the images are of */
    cl_mem                image[2];    /* one, four elements a texel */
    uint64_t              texels[2];
    cl_event              first, last; /* timing: of the latest product */
    long                  busy;        /* 1: a thread is in one of the functions below */
    spmv_hooks            hooks;
} spmv_exec;

/* Makes what products on a queue need. queue NULL: the device's; else one of the same context and device, retained, in
 * order or not. out need not be initialised; on failure it is zeroed. */
SPMV_API spmv_status spmv_exec_create(spmv_exec *out, const spmv_cl_matrix *m, cl_command_queue queue);
SPMV_API void spmv_exec_free(spmv_exec *e);

/* Enqueues y = alpha A x + beta y. x and y are vectors of the type's vector elements (cols and rows of them) that begin
 * at an offset, in elements, of a buffer; they may lie in one buffer but not overlap. With beta 0 y is not read; with alpha 0
 * neither the matrix nor x is, and x may be NULL. Allocates nothing, waits for nothing; but where a part has IMG=1, x and y
 * may not lie in one buffer, and the first product on an x creates an image of it, which e keeps, with x retained, until
 * another x comes (SPMV_ERR_LIMIT if x ends beyond the device's images). Starts after the num_wait events of
 * wait. event (may be NULL) gets an event that completes with the product, also where nothing is to be done.
 * One thread at a time: where another is in this or one of the next three functions with e, SPMV_ERR_BUSY, and nothing is
 * done (by atomic operations of GCC, clang or MSVC; other compilers do not check). On an out-of-order queue a product must wait
 * for the exec's product before it. */
SPMV_API spmv_status spmv_exec_mul(spmv_exec *e, double alpha, cl_mem x, uint64_t x_offset, double beta, cl_mem y,
                                   uint64_t y_offset, cl_uint num_wait, const cl_event *wait, cl_event *event);
/* The same with host vectors; returns with y done. Buffers are allocated at the first call and kept in e. */
SPMV_API spmv_status spmv_exec_mul_host(spmv_exec *e, double alpha, const void *x, double beta, void *y);
/* Switches timing on (1) or off: products then keep their events for spmv_exec_seconds. The queue must profile. */
SPMV_API spmv_status spmv_exec_timing(spmv_exec *e, int on);
/* Waits for the latest product and tells the device's time from the start of its first launch to the end of its last. */
SPMV_API spmv_status spmv_exec_seconds(spmv_exec *e, double *seconds);

/* ---- self-check --------------------------------------------------------------------------------------------------
 * For a device nobody has tried: every layout of every format with every legal value of every knob multiplies small
 * matrices made here and is held against the plain loop: integers must come out equal, reals within the bound of their
 * row, the same product twice with the same bits (but for ATOMIC=1), and nothing may be written beside y. A driver that
 * hangs or ends the process cannot be survived; SPMV_CHECK_BEGINS tells at which variant. */
typedef enum spmv_check_result {
    SPMV_CHECK_BEGINS,  /* about to be tried */
    SPMV_CHECK_USABLE,
    SPMV_CHECK_REFUSED, /* known beforehand to be beyond the device or this build: see status */
    SPMV_CHECK_FAILED,  /* the driver did not compile or run it */
    SPMV_CHECK_WRONG    /* it ran and computed something else */
} spmv_check_result;

/* Texts live during the call of report only. */
typedef struct spmv_check {
    const char *plan;           /* "sell:h=8": how the matrices are stored */
    spmv_check_result result;
    spmv_format format;
    spmv_type   type;
    const char *variant;        /* "L=8": the knobs that were chosen; "": none, all at their defaults */
    spmv_status status;         /* of REFUSED and FAILED */
    const char *message;        /* why; "" if usable */
    int         built;          /* 1: compiled and launched on every matrix */
    int         exact, bound;   /* 1: integers equal; reals within the bound, and the same again */
} spmv_check;

typedef struct spmv_check_desc {
    unsigned formats, types;    /* bits 1u << SPMV_CSR, 1u << SPMV_F32; 0: all */
    int      pairs;             /* 1: every two values of two knobs together as well (ten times as many) */
    int      reproducible;      /* 1: the reproducible products of the formats that have them */
    int      brief;             /* 1: three small matrices, one product of integers each: for simulators */
    void   (*report)(void *user, const spmv_check *c); /* called when a variant begins and when it ends; may be NULL */
    void    *user;
} spmv_check_desc;

typedef struct spmv_check_counts {
    uint64_t variants;          /* tried: the sum of the next four */
    uint64_t usable, refused, failed, wrong;
    uint64_t products;
} spmv_check_counts;

/* desc may be NULL: everything. Compiles about as many programs as there are variants and keeps none. SPMV_OK if the
 * check itself could run, whatever it found (see counts); messages about variants go to report only. */
SPMV_API spmv_status spmv_self_check(spmv_device *d, const spmv_check_desc *desc, spmv_check_counts *counts);

#ifdef __cplusplus
}
#endif
#endif /* SPMV_CL_H */
/* ============================================ END OF THE INTERFACE ============================================== */

#if defined(SPMV_IMPLEMENTATION) && !defined(SPMV_CL_IMPLEMENTED)
#define SPMV_CL_IMPLEMENTED

#include <string.h>
#if defined(_MSC_VER) && !defined(__GNUC__)
#include <intrin.h> /* _InterlockedExchange */
#endif
#include "spmv_kernels.h"

/* ---- the choke point of OpenCL calls ------------------------------------------------------------------------------ */

static const char *spmv__cl_error_name(cl_int e)
{
    static const char *const low[] = {
        "SUCCESS", "DEVICE_NOT_FOUND", "DEVICE_NOT_AVAILABLE", "COMPILER_NOT_AVAILABLE", "MEM_OBJECT_ALLOCATION_FAILURE",
        "OUT_OF_RESOURCES", "OUT_OF_HOST_MEMORY", "PROFILING_INFO_NOT_AVAILABLE", "MEM_COPY_OVERLAP", "IMAGE_FORMAT_MISMATCH",
        "IMAGE_FORMAT_NOT_SUPPORTED", "BUILD_PROGRAM_FAILURE", "MAP_FAILURE", "MISALIGNED_SUB_BUFFER_OFFSET",
        "EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST", "COMPILE_PROGRAM_FAILURE", "LINKER_NOT_AVAILABLE", "LINK_PROGRAM_FAILURE",
        "DEVICE_PARTITION_FAILED", "KERNEL_ARG_INFO_NOT_AVAILABLE" };
    static const char *const high[] = {
        "INVALID_VALUE", "INVALID_DEVICE_TYPE", "INVALID_PLATFORM", "INVALID_DEVICE", "INVALID_CONTEXT",
        "INVALID_QUEUE_PROPERTIES", "INVALID_COMMAND_QUEUE", "INVALID_HOST_PTR", "INVALID_MEM_OBJECT",
        "INVALID_IMAGE_FORMAT_DESCRIPTOR", "INVALID_IMAGE_SIZE", "INVALID_SAMPLER", "INVALID_BINARY", "INVALID_BUILD_OPTIONS",
        "INVALID_PROGRAM", "INVALID_PROGRAM_EXECUTABLE", "INVALID_KERNEL_NAME", "INVALID_KERNEL_DEFINITION", "INVALID_KERNEL",
        "INVALID_ARG_INDEX", "INVALID_ARG_VALUE", "INVALID_ARG_SIZE", "INVALID_KERNEL_ARGS", "INVALID_WORK_DIMENSION",
        "INVALID_WORK_GROUP_SIZE", "INVALID_WORK_ITEM_SIZE", "INVALID_GLOBAL_OFFSET", "INVALID_EVENT_WAIT_LIST",
        "INVALID_EVENT", "INVALID_OPERATION", "INVALID_GL_OBJECT", "INVALID_BUFFER_SIZE", "INVALID_MIP_LEVEL",
        "INVALID_GLOBAL_WORK_SIZE", "INVALID_PROPERTY", "INVALID_IMAGE_DESCRIPTOR", "INVALID_COMPILER_OPTIONS",
        "INVALID_LINKER_OPTIONS", "INVALID_DEVICE_PARTITION_COUNT" };
    if (e <= 0 && e > -(cl_int)(sizeof low / sizeof *low)) return low[-e];
    if (e <= -30 && e > -30 - (cl_int)(sizeof high / sizeof *high)) return high[-30 - e];
    return e == -1001 ? "PLATFORM_NOT_FOUND_KHR" : "unknown error";
}

static spmv_status spmv__cl_status(cl_int e)
{
    switch (e) {
    case CL_SUCCESS: return SPMV_OK;
    case CL_OUT_OF_HOST_MEMORY:
    case CL_MEM_OBJECT_ALLOCATION_FAILURE: return SPMV_ERR_MEMORY;
    case CL_INVALID_BUFFER_SIZE: return SPMV_ERR_LIMIT;
    case CL_DEVICE_NOT_FOUND:
    case -1001: return SPMV_ERR_NO_DEVICE;
    default: return SPMV_ERR_OPENCL;
    }
}

/* Every OpenCL call's result comes through here; call is the call's text, of which the name is shown. */
static spmv_status spmv__cl(const spmv_hooks *h, const char *call, cl_int e)
{
    char name[64];
    size_t n = 0;
    if (e == CL_SUCCESS) return SPMV_OK;
    while (call[n] && call[n] != '(' && n < sizeof name - 1) {
        name[n] = call[n];
        n++;
    }
    name[n] = 0;
    return spmv_log(h, spmv__cl_status(e), "%s: CL_%s (%d)", name, spmv__cl_error_name(e), (int)e);
}
#define SPMV__CL(h, call) spmv__cl((h), #call, (call))

/* ---- devices ----------------------------------------------------------------------------------------------------- */

/* Text of a device or platform, cut to size; empty where the query fails. */
static void spmv__cl_text(cl_device_id id, cl_platform_id platform, cl_uint what, char *out, size_t size, const spmv_hooks *h)
{
    size_t n = 0;
    char *text;
    cl_int e = id ? clGetDeviceInfo(id, what, 0, NULL, &n) : clGetPlatformInfo(platform, what, 0, NULL, &n);
    out[0] = 0;
    if (e != CL_SUCCESS || !n) return;
    text = (char *)spmv_alloc(h, n + 1, 1);
    if (!text) return;
    e = id ? clGetDeviceInfo(id, what, n, text, NULL) : clGetPlatformInfo(platform, what, n, text, NULL);
    text[n] = 0;
    if (e == CL_SUCCESS) spmv_print(out, size, "%s", text);
    spmv_free(h, text);
}

static cl_int spmv__cl_uint(cl_device_id id, cl_device_info what, unsigned *out)
{
    cl_uint v = 0;
    cl_int e = clGetDeviceInfo(id, what, sizeof v, &v, NULL);
    *out = (unsigned)v;
    return e;
}

static cl_int spmv__cl_ulong(cl_device_id id, cl_device_info what, uint64_t *out)
{
    cl_ulong v = 0;
    cl_int e = clGetDeviceInfo(id, what, sizeof v, &v, NULL);
    *out = v;
    return e;
}

static cl_int spmv__cl_size(cl_device_id id, cl_device_info what, uint64_t *out)
{
    size_t v = 0;
    cl_int e = clGetDeviceInfo(id, what, sizeof v, &v, NULL);
    *out = v;
    return e;
}

static int spmv__cl_has_f64(cl_device_id id)
{
    cl_device_fp_config config = 0;
    return clGetDeviceInfo(id, CL_DEVICE_DOUBLE_FP_CONFIG, sizeof config, &config, NULL) == CL_SUCCESS && config != 0;
}

static char spmv__cl_lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c; }

/* 1 if text begins with word, in any case. */
static int spmv__cl_begins(const char *text, const char *word)
{
    while (*word && spmv__cl_lower(*text) == spmv__cl_lower(*word)) {
        text++;
        word++;
    }
    return !*word;
}

static int spmv__cl_contains(const char *text, const char *word)
{
    for (; *text; text++)
        if (spmv__cl_begins(text, word)) return 1;
    return 0;
}

#ifndef CL_DEVICE_COMPUTE_CAPABILITY_MAJOR_NV
#define CL_DEVICE_COMPUTE_CAPABILITY_MAJOR_NV 0x4000
#define CL_DEVICE_COMPUTE_CAPABILITY_MINOR_NV 0x4001
#endif

/* What hangs on extensions. */
static void spmv__cl_describe_vendor(spmv_device_info *out, const spmv_hooks *h)
{
    char text[4096]; /* of extensions; NVIDIA's and PoCL's take about 1000 */
    unsigned major = 0, minor = 0;
    spmv__cl_text(out->id, NULL, CL_DEVICE_EXTENSIONS, text, sizeof text, h);
    out->atomics64 = spmv__cl_contains(text, "cl_khr_int64_base_atomics");
    if (!spmv__cl_contains(text, "cl_nv_device_attribute_query") || out->address_bits != 64) return;
    spmv__cl_text(NULL, out->platform_id, CL_PLATFORM_NAME, text, sizeof text, h);
    if (!spmv__cl_contains(text, "NVIDIA")) return;
    if (spmv__cl_uint(out->id, CL_DEVICE_COMPUTE_CAPABILITY_MAJOR_NV, &major) == CL_SUCCESS &&
        spmv__cl_uint(out->id, CL_DEVICE_COMPUTE_CAPABILITY_MINOR_NV, &minor) == CL_SUCCESS)
        out->nvidia = 10 * major + minor;
}

static spmv_status spmv__cl_describe(spmv_device_info *out, cl_device_id id, const spmv_hooks *h)
{
    cl_command_queue_properties queue = 0;
    cl_bool images = CL_FALSE;
    spmv_status s;
    memset(out, 0, sizeof *out);
    out->id = id;
    s = SPMV__CL(h, clGetDeviceInfo(id, CL_DEVICE_PLATFORM, sizeof out->platform_id, &out->platform_id, NULL));
    if (!s) s = SPMV__CL(h, clGetDeviceInfo(id, CL_DEVICE_TYPE, sizeof out->type, &out->type, NULL));
    if (!s) s = SPMV__CL(h, clGetDeviceInfo(id, CL_DEVICE_QUEUE_PROPERTIES, sizeof queue, &queue, NULL));
    if (!s) s = SPMV__CL(h, clGetDeviceInfo(id, CL_DEVICE_IMAGE_SUPPORT, sizeof images, &images, NULL));
    if (!s) s = spmv__cl(h, "clGetDeviceInfo", spmv__cl_uint(id, CL_DEVICE_MAX_COMPUTE_UNITS, &out->compute_units));
    if (!s) s = spmv__cl(h, "clGetDeviceInfo", spmv__cl_uint(id, CL_DEVICE_ADDRESS_BITS, &out->address_bits));
    if (!s) s = spmv__cl(h, "clGetDeviceInfo", spmv__cl_ulong(id, CL_DEVICE_GLOBAL_MEM_SIZE, &out->global_bytes));
    if (!s) s = spmv__cl(h, "clGetDeviceInfo", spmv__cl_ulong(id, CL_DEVICE_MAX_MEM_ALLOC_SIZE, &out->alloc_bytes));
    if (!s) s = spmv__cl(h, "clGetDeviceInfo", spmv__cl_ulong(id, CL_DEVICE_LOCAL_MEM_SIZE, &out->local_bytes));
    if (!s) s = spmv__cl(h, "clGetDeviceInfo", spmv__cl_size(id, CL_DEVICE_MAX_WORK_GROUP_SIZE, &out->group_size));
    if (!s && images) spmv__cl_size(id, CL_DEVICE_IMAGE_MAX_BUFFER_SIZE, &out->image_texels);
    out->profiling = (queue & CL_QUEUE_PROFILING_ENABLE) != 0;
    out->out_of_order = (queue & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) != 0;
    out->f64 = spmv__cl_has_f64(id);
    spmv__cl_describe_vendor(out, h);
    spmv__cl_text(id, NULL, CL_DEVICE_NAME, out->name, sizeof out->name, h);
    spmv__cl_text(id, NULL, CL_DEVICE_VENDOR, out->vendor, sizeof out->vendor, h);
    spmv__cl_text(id, NULL, CL_DEVICE_VERSION, out->version, sizeof out->version, h);
    spmv__cl_text(id, NULL, CL_DRIVER_VERSION, out->driver, sizeof out->driver, h);
    if (!s) spmv__cl_text(NULL, out->platform_id, CL_PLATFORM_NAME, out->platform, sizeof out->platform, h);
    return s;
}

/* The devices of one platform behind the *count that are known. */
static spmv_status spmv__cl_list_platform(cl_platform_id platform, spmv_device_info *out, size_t max, size_t *count,
                                          const spmv_hooks *h)
{
    cl_uint i, n = 0;
    cl_device_id *ids;
    cl_int e = clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, NULL, &n);
    spmv_status s;
    if (e == CL_DEVICE_NOT_FOUND || (e == CL_SUCCESS && !n)) return SPMV_OK;
    s = spmv__cl(h, "clGetDeviceIDs", e);
    if (s) return s;
    ids = (cl_device_id *)spmv_alloc(h, n, sizeof *ids);
    if (!ids) return spmv__no_memory(h, n, sizeof *ids);
    s = SPMV__CL(h, clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, n, ids, NULL));
    for (i = 0; !s && i < n; i++) {
        spmv_device_info info;
        if (spmv__cl_describe(&info, ids[i], h)) continue;
        if (*count < max) out[*count] = info;
        ++*count;
    }
    spmv_free(h, ids);
    return s;
}

SPMV_API spmv_status spmv_device_list(spmv_device_info *out, size_t max, size_t *count, const spmv_hooks *hooks)
{
    if (!count || (max && !out)) return spmv__null(hooks, "spmv_device_list", !count ? "count" : "out", NULL, 0);
    cl_uint i, n = 0;
    cl_platform_id *ids;
    cl_int e = clGetPlatformIDs(0, NULL, &n);
    spmv_status s;
    *count = 0;
    if (e == -1001 || (e == CL_SUCCESS && !n)) return SPMV_OK;
    s = spmv__cl(hooks, "clGetPlatformIDs", e);
    if (s) return s;
    ids = (cl_platform_id *)spmv_alloc(hooks, n, sizeof *ids);
    if (!ids) return spmv__no_memory(hooks, n, sizeof *ids);
    s = SPMV__CL(hooks, clGetPlatformIDs(n, ids, NULL));
    for (i = 0; !s && i < n; i++)
        if (spmv__cl_list_platform(ids[i], out, max, count, hooks) == SPMV_ERR_MEMORY) s = SPMV_ERR_MEMORY;
    spmv_free(hooks, ids);
    return s;
}

SPMV_API const char *spmv_device_type_name(cl_device_type type)
{
    if (type & CL_DEVICE_TYPE_GPU) return "gpu";
    if (type & CL_DEVICE_TYPE_CPU) return "cpu";
    if (type & CL_DEVICE_TYPE_ACCELERATOR) return "accelerator";
    return "other";
}

static int spmv__cl_is_type(const char *which, cl_device_type type)
{
    const char *name = spmv_device_type_name(type);
    return spmv__cl_begins(which, name) && !which[strlen(name)];
}

/* The index that which means, or count. */
static size_t spmv__cl_choose(const spmv_device_info *info, size_t count, const char *which)
{
    size_t i, number = 0;
    const char *p = which;
    if (!which || !*which) {
        for (i = 0; i < count && !(info[i].type & CL_DEVICE_TYPE_GPU); i++) {}
        return i < count ? i : 0;
    }
    while (*p >= '0' && *p <= '9' && number < count) number = number * 10 + (size_t)(*p++ - '0');
    if (!*p) return number < count ? number : count;
    for (i = 0; i < count; i++)
        if (spmv__cl_is_type(which, info[i].type)) return i;
    if (spmv__cl_is_type(which, CL_DEVICE_TYPE_GPU) || spmv__cl_is_type(which, CL_DEVICE_TYPE_CPU) ||
        spmv__cl_is_type(which, CL_DEVICE_TYPE_ACCELERATOR)) return count;
    for (i = 0; i < count; i++)
        if (spmv__cl_contains(info[i].name, which)) return i;
    return count;
}

static spmv_status spmv__cl_find(spmv_device_info *out, const char *which, const spmv_hooks *h)
{
    size_t count = 0, room, i;
    spmv_device_info *info;
    spmv_status s = spmv_device_list(NULL, 0, &count, h);
    if (s) return s;
    if (!count) return spmv_log(h, SPMV_ERR_NO_DEVICE, "no OpenCL device was found");
    room = count;
    info = (spmv_device_info *)spmv_alloc(h, room, sizeof *info);
    if (!info) return spmv__no_memory(h, room, sizeof *info);
    s = spmv_device_list(info, room, &count, h);
    if (count > room) count = room;
    i = s ? count : spmv__cl_choose(info, count, which);
    if (i < count) *out = info[i];
    else if (!s) s = spmv_log(h, SPMV_ERR_NO_DEVICE, "none of the %llu OpenCL devices is '%s'", (spmv__ull)count, which ? which : "");
    spmv_free(h, info);
    return s;
}

/* The caller's objects, retained. */
static spmv_status spmv__cl_adopt(spmv_device *d, const spmv_device_desc *desc)
{
    const spmv_hooks *h = &d->hooks;
    cl_context context = desc->context;
    cl_device_id id = desc->device;
    spmv_status s = SPMV_OK;
    if (desc->queue) {
        s = SPMV__CL(h, clGetCommandQueueInfo(desc->queue, CL_QUEUE_CONTEXT, sizeof context, &context, NULL));
        if (!s) s = SPMV__CL(h, clGetCommandQueueInfo(desc->queue, CL_QUEUE_DEVICE, sizeof id, &id, NULL));
    }
    if (s) return s;
    if (!context || !id || (desc->context && desc->context != context) || (desc->device && desc->device != id))
        return spmv_log(h, SPMV_ERR_ARGUMENT, "context and device must be given together, and be those of the queue");
    s = spmv__cl_describe(&d->info, id, h);
    if (!s) s = SPMV__CL(h, clRetainContext(context));
    if (!s) d->context = context;
    if (!s && desc->queue) s = SPMV__CL(h, clRetainCommandQueue(desc->queue));
    if (!s) d->queue = desc->queue;
    return s;
}

static spmv_status spmv__cl_new_context(spmv_device *d)
{
    cl_context_properties properties[3];
    cl_int e;
    properties[0] = CL_CONTEXT_PLATFORM;
    properties[1] = (cl_context_properties)d->info.platform_id;
    properties[2] = 0;
    d->context = clCreateContext(properties, 1, &d->info.id, NULL, NULL, &e);
    return spmv__cl(&d->hooks, "clCreateContext", e);
}

SPMV_API spmv_status spmv_device_open(spmv_device *out, const spmv_device_desc *desc)
{
    spmv_device_desc plain;
    spmv_status s;
    cl_int e;
    if (!out) return spmv__null(desc ? &desc->hooks : NULL, "spmv_device_open", "out", NULL, 0);
    memset(out, 0, sizeof *out);
    memset(&plain, 0, sizeof plain);
    if (!desc) desc = &plain;
    out->hooks = desc->hooks;
    if (desc->context || desc->device || desc->queue) {
        s = spmv__cl_adopt(out, desc);
    } else {
        s = spmv__cl_find(&out->info, desc->which, &out->hooks);
        if (!s) s = spmv__cl_new_context(out);
    }
    if (!s && !out->queue) {
        out->queue = clCreateCommandQueue(out->context, out->info.id,
                                          desc->profile ? (cl_command_queue_properties)CL_QUEUE_PROFILING_ENABLE : 0, &e);
        s = spmv__cl(&out->hooks, "clCreateCommandQueue", e);
    }
    if (s) spmv_device_close(out);
    return s;
}

struct spmv__cl_program {
    spmv__cl_program *next;
    cl_program     program;
    spmv_format    format;
    char          *options;
};

static void spmv__cl_programs_free(spmv_device *d)
{
    while (d->programs) {
        spmv__cl_program *p = d->programs;
        d->programs = p->next;
        if (p->program) clReleaseProgram(p->program);
        spmv_free(&d->hooks, p->options);
        spmv_free(&d->hooks, p);
    }
}

SPMV_API void spmv_device_close(spmv_device *d)
{
    if (!d) return;
    spmv__cl_programs_free(d);
    if (d->queue) clReleaseCommandQueue(d->queue);
    if (d->context) clReleaseContext(d->context);
    memset(d, 0, sizeof *d);
}

/* ---- what the runtime knows of each format ------------------------------------------------------------------------
 * X(NAME, ...) of the format table looks up SPMV__CL_<NAME>: number of arrays; names of its integers in order, those in upper case
 * go into the kernel as macros, the others as arguments; 1 if the first integer is the number of rows of a super-row;
 * 1 if lanes of a row are neighbours (they read its entries side by side, so that their number follows the row length);
 * which array holds columns that may be of 16 bits, and which the bases of those (0, 0: none). */
#define SPMV__CL_DENSE 1, "", 0, 1, 0, 0
#define SPMV__CL_COO   3, "", 0, 0, 0, 0
#define SPMV__CL_CSR   7, "runs longs", 0, 1, 2, 5
#define SPMV__CL_DIA   2, "diagonals ld", 0, 0, 0, 0
#define SPMV__CL_BDIA  3, "bands ld", 0, 0, 0, 0
#define SPMV__CL_ELL   3, "width ld", 0, 0, 1, 2
#define SPMV__CL_SELL  5, "H slices", 0, 0, 2, 4
#define SPMV__CL_BELL  3, "BH BW UW width ld", 1, 0, 1, 2
#define SPMV__CL_SBELL 4, "BH BW UW H slices", 1, 0, 2, 3
#define SPMV__CL_BCSR  4, "BH BW UW blocks", 1, 1, 2, 3
#define SPMV__CL_CMRS  4, "HEIGHT PACKED", 1, 1, 0, 0

typedef struct spmv__cl_format {
    const char          *file;
    const unsigned char *source; /* NULL: left out of this build */
    size_t               size;
    int                  arrays;
    const char          *ints;
    int                  supers, neighbours, columns, bases;
} spmv__cl_format;

static const spmv__cl_format spmv__cl_formats[] = {
#define X(NAME, name, text) { #name ".cl", SPMV__SRC_##NAME, SPMV__CL_##NAME },
    SPMV_FORMAT_LIST(X)
#undef X
    { "scale.cl", spmv__src_scale, sizeof spmv__src_scale, 0, "", 0, 0, 0, 0 }
};
/* The pass that only scales y is built like a format. */
#define SPMV__CL_SCALE SPMV_FORMAT_COUNT

/* Formats that do not walk rows bring their own shell (and csr does where it has runs). */
static int spmv__cl_walks_rows(int f) { return f != SPMV_COO && f != (int)SPMV__CL_SCALE; }

/* ---- knobs ------------------------------------------------------------------------------------------------------- */

SPMV_API const char *spmv_knob_name(spmv_knob k)
{
    static const char *const names[] = {
#define X(NAME, gpu, cpu, text) #NAME,
        SPMV_KNOB_LIST(X)
#undef X
    };
    return (unsigned)k < SPMV_KNOB_COUNT ? names[k] : "unknown";
}

SPMV_API const char *spmv_knob_text(spmv_knob k)
{
    static const char *const texts[] = {
#define X(NAME, gpu, cpu, text) text,
        SPMV_KNOB_LIST(X)
#undef X
    };
    return (unsigned)k < SPMV_KNOB_COUNT ? texts[k] : "unknown";
}

/* 1: csr in runs. */
static int spmv__cl_in_runs(const spmv_part *p) { return p->spec.format == SPMV_CSR && p->spec.key[SPMV_KEY_RUN] != 0; }

static int spmv__cl_knob_default(int f, spmv_knob k, cl_device_type type)
{
    static const int defaults[][2] = {
#define X(NAME, gpu, cpu, text) { gpu, cpu },
        SPMV_KNOB_LIST(X)
#undef X
    };
    static const int special[][4] = {
#define X(NAME, KNOB, gpu, cpu) { SPMV_##NAME, SPMV_KNOB_##KNOB, gpu, cpu },
        SPMV_KNOB_FORMAT_LIST(X)
#undef X
    };
    int cpu = (type & CL_DEVICE_TYPE_CPU) != 0;
    size_t i;
    for (i = 0; i < sizeof special / sizeof *special; i++)
        if (special[i][0] == f && special[i][1] == (int)k) return special[i][2 + cpu];
    return defaults[k][cpu];
}

static const unsigned char *spmv__cl_skip(const unsigned char *p, const unsigned char *end, const char *word)
{
    for (; *word; word++, p++)
        if (p == end || *p != (unsigned char)*word) return NULL;
    return p;
}

/* The numbers behind "#define NAME <default> // tune:" of one kernel file. */
static size_t spmv__cl_tune_line(const unsigned char *p, const unsigned char *end, const char *name, int *out, size_t max)
{
    size_t n = 0;
    while (p < end) {
        const unsigned char *q = spmv__cl_skip(p, end, "#define ");
        while (p < end && *p != '\n') p++;
        if (q) q = spmv__cl_skip(q, p, name);
        if (q) q = spmv__cl_skip(q, p, " ");
        while (q && q < p && *q != '/') q++;
        if (q) q = spmv__cl_skip(q, p, "// tune:");
        while (q && q < p) {
            int v = 0;
            while (q < p && *q == ' ') q++;
            if (q == p || *q < '0' || *q > '9') break;
            while (q < p && *q >= '0' && *q <= '9') v = v * 10 + (*q++ - '0');
            if (n < max) out[n] = v;
            n++;
        }
        if (n) return n;
        if (p < end) p++;
    }
    return 0;
}

SPMV_API size_t spmv_knob_values(spmv_format f, spmv_knob k, int *out, size_t max)
{
    const spmv__cl_format *t;
    size_t n;
    if ((unsigned)f >= SPMV_FORMAT_COUNT || (unsigned)k >= SPMV_KNOB_COUNT) return 0;
    if (!out) max = 0;
    t = &spmv__cl_formats[f];
    if (!t->source) return 0;
    n = spmv__cl_tune_line(t->source, t->source + t->size, spmv_knob_name(k), out, max);
    if (!n) n = spmv__cl_tune_line(spmv__src_common, spmv__src_common + sizeof spmv__src_common, spmv_knob_name(k), out, max);
    return n;
}

static int spmv__cl_knob_taken(spmv_format f, spmv_knob k) { return spmv_knob_values(f, k, NULL, 0) != 0; }

static void spmv__cl_knob_choose(spmv_variant *v, spmv_knob k, int value)
{
    v->set |= (uint64_t)1 << k;
    v->value[k] = value;
}

static int spmv__cl_knob_set(const spmv_variant *v, spmv_knob k) { return (int)(v->set >> k & 1u); }

SPMV_API size_t spmv_variant_print(const spmv_variant *v, char *out, size_t size)
{
    size_t n = 0;
    int k;
    if (!out) size = 0;
    if (size) out[0] = 0;
    for (k = 0; v && k < SPMV_KNOB_COUNT; k++)
        if (spmv__cl_knob_set(v, (spmv_knob)k))
            n += spmv_print(n < size ? out + n : NULL, n < size ? size - n : 0, "%s%s=%d", n ? "," : "",
                            spmv_knob_name((spmv_knob)k), v->value[k]);
    return n;
}

static spmv_status spmv__cl_knob_fault(spmv_format f, spmv_knob k, int value, const spmv_hooks *h)
{
    int values[64];
    char text[512];
    size_t i, n = spmv_knob_values(f, k, values, 64), used = 0;
    text[0] = 0;
    for (i = 0; i < n && i < 64; i++) {
        if (values[i] == value) return SPMV_OK;
        if (used < sizeof text) used += spmv_print(text + used, sizeof text - used, " %d", values[i]);
    }
    if (!n) return spmv_log(h, SPMV_ERR_PLAN, "the kernel of %s has no knob %s", spmv_format_name(f), spmv_knob_name(k));
    return spmv_log(h, SPMV_ERR_PLAN, "%s=%d: the kernel of %s takes%s", spmv_knob_name(k), value, spmv_format_name(f), text);
}

static spmv_status spmv__cl_variant_check(const spmv_variant *v, spmv_format f, const spmv_hooks *h)
{
    spmv_status s = SPMV_OK;
    int k;
    for (k = 0; !s && k < SPMV_KNOB_COUNT; k++)
        if (spmv__cl_knob_set(v, (spmv_knob)k)) s = spmv__cl_knob_fault(f, (spmv_knob)k, v->value[k], h);
    return s;
}

/* One "NAME=value"; returns what follows it, or NULL. */
static const char *spmv__cl_variant_item(spmv_variant *v, const char *p)
{
    int k, value = 0;
    size_t n = 0;
    while (p[n] && p[n] != '=') n++;
    for (k = 0; k < SPMV_KNOB_COUNT; k++) {
        const char *name = spmv_knob_name((spmv_knob)k);
        if (strlen(name) == n && !strncmp(name, p, n)) break;
    }
    if (k == SPMV_KNOB_COUNT || p[n] != '=') return NULL;
    p += n + 1;
    if (*p < '0' || *p > '9') return NULL;
    while (*p >= '0' && *p <= '9' && value < 10000000) value = value * 10 + (*p++ - '0');
    spmv__cl_knob_choose(v, (spmv_knob)k, value);
    return p;
}

/* Knobs separated by commas, whatever format they are for; *v is zeroed first. */
static spmv_status spmv__cl_variant_read(spmv_variant *v, const char *text, const spmv_hooks *h)
{
    const char *p = text ? text : "";
    memset(v, 0, sizeof *v);
    while (*p) {
        const char *next = spmv__cl_variant_item(v, p);
        if (!next || (*next && *next != ',') || (*next && !next[1]))
            return spmv_log(h, SPMV_ERR_PLAN, "variant '%s', column %llu: a knob, '=' and a number were expected", text,
                            (spmv__ull)(p - text) + 1);
        p = *next ? next + 1 : next;
    }
    return SPMV_OK;
}

SPMV_API spmv_status spmv_variant_parse(spmv_variant *v, spmv_format f, const char *text, const spmv_hooks *hooks)
{
    spmv_status s = v ? spmv__cl_variant_read(v, text, hooks) : spmv__null(hooks, "spmv_variant_parse", "v", NULL, 0);
    if (!v) return s;
    if (!s) s = spmv__cl_variant_check(v, f, hooks);
    if (s) memset(v, 0, sizeof *v);
    return s;
}

/* Sets those knobs of from that the kernel of f has. */
static void spmv__cl_variant_merge(spmv_variant *v, spmv_format f, const spmv_variant *from)
{
    int k;
    for (k = 0; k < SPMV_KNOB_COUNT; k++)
        if (spmv__cl_knob_set(from, (spmv_knob)k) && spmv__cl_knob_taken(f, (spmv_knob)k))
            spmv__cl_knob_choose(v, (spmv_knob)k, from->value[k]);
}

/* SPMV_ERR_PLAN if a knob of all is that of no part, or if a part has it but not with this value. */
static spmv_status spmv__cl_every_part_check(const spmv_variant *all, const spmv_plan *plan, const spmv_hooks *h)
{
    spmv_status s = SPMV_OK;
    int i, k, taken;
    for (k = 0; !s && k < SPMV_KNOB_COUNT; k++) {
        if (!spmv__cl_knob_set(all, (spmv_knob)k)) continue;
        for (taken = i = 0; !s && i < plan->count; i++) {
            spmv_format f = plan->part[i].format;
            if (!spmv__cl_knob_taken(f, (spmv_knob)k)) continue;
            taken = 1;
            s = spmv__cl_knob_fault(f, (spmv_knob)k, all->value[k], h);
        }
        if (!s && !taken) s = spmv_log(h, SPMV_ERR_PLAN, "*:%s: the kernel of no part has this knob", spmv_knob_name((spmv_knob)k));
    }
    return s;
}

/* Copies the element of text that begins at p, up to the next '+', into one; SPMV_ERR_PLAN if it is too long. */
static spmv_status spmv__cl_variant_element(char *one, const char *text, const char *p, size_t *length, const spmv_hooks *h)
{
    size_t n = 0;
    while (p[n] && p[n] != '+') n++;
    *length = n;
    if (n >= SPMV_VARIANT_TEXT) return spmv_log(h, SPMV_ERR_PLAN, "variant '%s', column %llu: too long", text, (spmv__ull)(p - text) + 1);
    memcpy(one, p, n);
    one[n] = 0;
    return SPMV_OK;
}

/* The element behind "*:", for every part. */
static spmv_status spmv__cl_every_part(spmv_variant *v, const spmv_store *st, const char *one, const spmv_hooks *h)
{
    spmv_variant all;
    int k;
    spmv_status s = spmv__cl_variant_read(&all, one, h);
    if (!s) s = spmv__cl_every_part_check(&all, &st->plan, h);
    for (k = 0; !s && k < st->count; k++) spmv__cl_variant_merge(&v[k], st->plan.part[st->index[k]].format, &all);
    return s;
}

SPMV_API spmv_status spmv_variants_parse(spmv_variant *v, const spmv_store *st, const char *text, const spmv_hooks *hooks)
{
    if (!v || !st) return spmv__null(hooks, "spmv_variants_parse", !v ? "v" : "st", NULL, 0);
    char one[SPMV_VARIANT_TEXT];
    const char *p = text ? text : "";
    spmv_variant of;
    size_t n;
    int i, k = 0;
    spmv_status s = SPMV_OK;
    for (i = 0; i < st->count; i++) memset(&v[i], 0, sizeof v[i]);
    if (p[0] == '*' && p[1] == ':') {
        s = spmv__cl_variant_element(one, text, p += 2, &n, hooks);
        if (!s) s = spmv__cl_every_part(v, st, one, hooks);
        p += n + (p[n] == '+');
    }
    for (i = 0; !s && *p; i++) {
        if (i == st->plan.count)
            return spmv_log(hooks, SPMV_ERR_PLAN, "variant '%s', column %llu: the plan has no more parts", text, (spmv__ull)(p - text) + 1);
        s = spmv__cl_variant_element(one, text, p, &n, hooks);
        if (!s) s = spmv_variant_parse(&of, st->plan.part[i].format, one, hooks);
        if (!s && k < st->count && st->index[k] == i) spmv__cl_variant_merge(&v[k++], st->plan.part[i].format, &of);
        p += n + (p[n] == '+');
    }
    return s;
}

/* ---- programs ---------------------------------------------------------------------------------------------------- */

static spmv_status spmv__cl_build(spmv_device *d, cl_program program, const char *file, const char *options)
{
    size_t size = 0;
    char *text = NULL;
    cl_int e = clBuildProgram(program, 1, &d->info.id, options, NULL, NULL);
    if (e == CL_SUCCESS) return SPMV_OK;
    if (e != CL_BUILD_PROGRAM_FAILURE && e != CL_INVALID_BUILD_OPTIONS) return spmv__cl(&d->hooks, "clBuildProgram", e);
    if (clGetProgramBuildInfo(program, d->info.id, CL_PROGRAM_BUILD_LOG, 0, NULL, &size) == CL_SUCCESS)
        text = (char *)spmv_alloc(&d->hooks, (uint64_t)size + 1, 1);
    if (text && clGetProgramBuildInfo(program, d->info.id, CL_PROGRAM_BUILD_LOG, size, text, NULL) != CL_SUCCESS) size = 0;
    if (text) text[size] = 0;
    spmv_log(&d->hooks, SPMV_ERR_BUILD, "kernels/%s did not build with %s: CL_%s\n%s", file, options, spmv__cl_error_name(e),
             text ? text : "");
    spmv_free(&d->hooks, text);
    return SPMV_ERR_BUILD;
}

/* Several strings, each behind a #line, so that build logs name the file. */
static spmv_status spmv__cl_source(spmv_device *d, int f, cl_program *out)
{
    const spmv__cl_format *t = &spmv__cl_formats[f];
    char line[64];
    const char *text[6];
    size_t size[6];
    cl_int e;
    spmv_print(line, sizeof line, "\n#line 1 \"kernels/%s\"\n", t->file);
    text[0] = "#line 1 \"kernels/common.cl\"\n";
    text[1] = (const char *)spmv__src_common;
    text[2] = line;
    text[3] = (const char *)t->source;
    text[4] = "\n#line 1 \"kernels/shell.cl\"\n";
    text[5] = (const char *)spmv__src_shell;
    size[0] = strlen(text[0]);
    size[1] = sizeof spmv__src_common;
    size[2] = strlen(text[2]);
    size[3] = t->size;
    size[4] = strlen(text[4]);
    size[5] = sizeof spmv__src_shell;
    *out = clCreateProgramWithSource(d->context, spmv__cl_walks_rows(f) ? 6 : 4, text, size, &e);
    return spmv__cl(&d->hooks, "clCreateProgramWithSource", e);
}

static spmv_status spmv__cl_new_program(spmv_device *d, int f, const char *options, cl_program *out)
{
    size_t n = strlen(options) + 1;
    spmv__cl_program *p = (spmv__cl_program *)spmv_alloc(&d->hooks, 1, sizeof *p);
    spmv_status s;
    if (!p) return spmv__no_memory(&d->hooks, 1, sizeof *p);
    memset(p, 0, sizeof *p);
    p->format = (spmv_format)f;
    p->options = (char *)spmv_alloc(&d->hooks, n, 1);
    s = p->options ? spmv__cl_source(d, f, &p->program) : spmv__no_memory(&d->hooks, n, 1);
    if (!s) s = spmv__cl_build(d, p->program, spmv__cl_formats[f].file, options);
    if (s) {
        if (p->program) clReleaseProgram(p->program);
        spmv_free(&d->hooks, p->options);
        spmv_free(&d->hooks, p);
        return s;
    }
    memcpy(p->options, options, n);
    p->next = d->programs;
    d->programs = p;
    *out = p->program;
    return SPMV_OK;
}

static spmv_status spmv__cl_program_of(spmv_device *d, int f, const char *options, cl_program *out)
{
    spmv__cl_program *p;
    for (p = d->programs; p; p = p->next)
        if ((int)p->format == f && !strcmp(p->options, options)) {
            *out = p->program;
            return SPMV_OK;
        }
    return spmv__cl_new_program(d, f, options, out);
}

SPMV_API spmv_status spmv_cl_program(spmv_device *d, spmv_format f, const char *options, cl_program *out)
{
    if (!out || !d) return spmv__null(d ? &d->hooks : NULL, "spmv_cl_program", !out ? "out" : "d", out, sizeof *out);
    *out = NULL;
    if ((unsigned)f >= SPMV_FORMAT_COUNT) return spmv_log(&d->hooks, SPMV_ERR_ARGUMENT, "no such format");
    if (!spmv__cl_formats[f].source)
        return spmv_log(&d->hooks, SPMV_ERR_UNSUPPORTED, "%s was left out of this build", spmv_format_name(f));
    return spmv__cl_program_of(d, (int)f, options ? options : "", out);
}

/* ---- from a part to its program: options and variant ---------------------------------------------------------------- */

/* The value of a knob in a resolved variant; 1 where the format does not take it. */
static uint64_t spmv__cl_knob(const spmv_variant *v, spmv_knob k) { return spmv__cl_knob_set(v, k) ? (uint64_t)v->value[k] : 1; }

/* Rows of a super-row: those of a block or strip, times how many an item takes at once; and super-rows. */
static uint64_t spmv__cl_height(const spmv_part *p, const spmv_variant *v)
{
    if (p->spec.format == SPMV_DENSE) return 1;
    return spmv__cl_knob(v, SPMV_KNOB_V) * (spmv__cl_formats[p->spec.format].supers ? p->n[0] : 1);
}
static uint64_t spmv__cl_supers(const spmv_part *p, const spmv_variant *v) { return spmv__ceil_div(p->rows, spmv__cl_height(p, v)); }

/* The integer i of a part as the kernel wants it: slices of varying height have no height in common. */
static uint64_t spmv__cl_int(const spmv_part *p, int i)
{
    return p->spec.format == SPMV_SELL && i == 0 && p->a[3].count ? 0 : p->n[i];
}

/* Appends to the options. */
typedef struct spmv__cl_options {
    char   text[2048];
    size_t used;
} spmv__cl_options;

static void spmv__cl_option(spmv__cl_options *o, const char *name, const char *value)
{
    size_t room = o->used < sizeof o->text ? sizeof o->text - o->used : 0;
    o->used += spmv_print(room ? o->text + o->used : NULL, room, "%s-D%s=%s", o->used ? " " : "", name, value);
}

static void spmv__cl_option_number(spmv__cl_options *o, const char *name, uint64_t value)
{
    char text[24];
    spmv_print(text, sizeof text, "%llu", (spmv__ull)value);
    spmv__cl_option(o, name, text);
}

static void spmv__cl_option_types(spmv__cl_options *o, spmv_type t)
{
    spmv__cl_option(o, "VAL", t == SPMV_F64 ? "double" : "float");
    spmv__cl_option(o, "VEC", t == SPMV_F32 ? "float" : "double");
    if (t != SPMV_F32) spmv__cl_option(o, "F64", "1");
}

/* 1: columns of 16 bits. */
static int spmv__cl_narrow(const spmv_part *p)
{
    int columns = spmv__cl_formats[p->spec.format].columns;
    return columns && p->a[columns].width == 2;
}

/* The n-th word of a list; its length, 0 behind the last. */
static size_t spmv__cl_word(const char **list)
{
    size_t n = 0;
    while (**list == ' ') ++*list;
    while ((*list)[n] && (*list)[n] != ' ') n++;
    return n;
}

static spmv_status spmv__cl_describe_part(spmv__cl_options *o, const spmv_device *d, const spmv_part *p, const spmv_variant *v)
{
    const char *ints = spmv__cl_formats[p->spec.format].ints;
    size_t n;
    int i, k;
    o->used = 0;
    spmv__cl_option_types(o, p->type);
    if (d->info.nvidia) spmv__cl_option_number(o, "NVIDIA", d->info.nvidia);
    if (spmv__cl_in_runs(p)) spmv__cl_option_number(o, "RUN", (uint64_t)p->spec.key[SPMV_KEY_RUN]);
    spmv__cl_option(o, "OFF", p->a[1].width == 8 ? "ulong" : "uint");
    spmv__cl_option_number(o, "LIST", p->list.count != 0);
    if (spmv__cl_narrow(p)) spmv__cl_option(o, "IDX16", "1");
    if (p->reproducible) spmv__cl_option(o, "REPEAT", "1");
    for (i = 0; (n = spmv__cl_word(&ints)) != 0; i++, ints += n)
        if (*ints >= 'A' && *ints <= 'Z') {
            char name[16];
            spmv_print(name, n + 1, "%s", ints);
            spmv__cl_option_number(o, name, spmv__cl_int(p, i));
        }
    for (k = 0; k < SPMV_KNOB_COUNT; k++)
        if (spmv__cl_knob_set(v, (spmv_knob)k)) spmv__cl_option_number(o, spmv_knob_name((spmv_knob)k), (uint64_t)v->value[k]);
    if (o->used >= sizeof o->text) 
        return spmv_log(&d->hooks, SPMV_ERR_OVERFLOW, "build options longer than %llu bytes", (spmv__ull)sizeof o->text);
    return SPMV_OK;
}

static int spmv__cl_has_blocks(spmv_format f) { return f == SPMV_BELL || f == SPMV_SBELL || f == SPMV_BCSR; }

/* Elements of a block; 1 where there are none. */
static uint64_t spmv__cl_block(const spmv_part *p)
{
    return spmv__cl_has_blocks(p->spec.format) ? (uint64_t)(spmv__block_rows(&p->spec) * spmv__block_cols(&p->spec)) : 1;
}

/* Elements of a row or super-row in the mean, with fill. */
static uint64_t spmv__cl_mean(const spmv_part *p, const spmv_variant *v, uint64_t supers)
{
    uint64_t slots = p->spec.format == SPMV_CSR || p->spec.format == SPMV_CMRS ? p->nnz : p->a[0].count;
    return p->spec.format == SPMV_DENSE ? p->cols : slots / (spmv__cl_knob(v, SPMV_KNOB_V) * supers);
}

/* Neighbouring lanes by the mean length of a super-row: the smallest power of two with 2 L^2 >= mean (H200: means of 5 and 78 run
 * best with 2 and 8), in blocks, which count as so many times 9 elements where they are larger. Then, for all formats that spread a row
 * over lanes, as many as one wave of groups takes, while each has 4 entries: half as many in groups of 32, of which a device holds too
 * few to be full. (H200, f64: ell:idx=16 on clspmv_harbor L=1 25 us, 4 11; bcsr:b=3x3 on clspmv_spheres L=4 14.6 us, 8 17.2;
 * bcsr:b=6x6 on clspmv_wind_tunnel L=4 49 us, 8 36.) */
static int spmv__cl_lanes(const spmv_device *d, const spmv_part *p, const spmv_variant *v)
{
    spmv_format f = p->spec.format;
    int neighbours = spmv__cl_formats[f].neighbours;
    uint64_t supers = spmv__cl_supers(p, v), fill = (uint64_t)d->info.compute_units * 2048, most = neighbours ? 32 : 8, l = 1;
    uint64_t block = spmv__cl_block(p), mean;
    if (!supers || f == SPMV_DIA || f == SPMV_BDIA) return 1;
    if (v->value[SPMV_KNOB_WG] < 64) fill /= 2;
    mean = spmv__cl_mean(p, v, supers);
    while (neighbours && l < most && 2 * l * l * (block < 9 ? block : 9) < mean) l *= 2;
    while (l < most && 4 * l * block <= mean && 2 * l * supers <= fill) l *= 2;
    return (int)l;
}

/* 1: a group a slice. */
static int spmv__cl_sliced(const spmv_part *p, const spmv_variant *v)
{
    return p->spec.format == SPMV_SELL && v->value[SPMV_KNOB_SLICE];
}

/* Local memory that a kernel declares. */
static uint64_t spmv__cl_local(const spmv_part *p, const spmv_variant *v)
{
    uint64_t wg = (uint64_t)v->value[SPMV_KNOB_WG], size = spmv_vector_size(p->type), l = (uint64_t)v->value[SPMV_KNOB_L];
    uint64_t lanes = l > 1 ? spmv__cl_height(p, v) * wg : 0, own = 0, group, h;
    if (p->spec.format == SPMV_COO && v->value[SPMV_KNOB_ATOMIC]) return 0;
    if (p->spec.format == SPMV_COO) { /* entries on their way through, and each item's sums */
        uint64_t staged = v->value[SPMV_KNOB_STAGE] ? (uint64_t)v->value[SPMV_KNOB_PER] * (size + 4) : 0;
        return wg * (staged + 2 * size + 4);
    }
    if (spmv__cl_in_runs(p)) { /* products, partial sums, and the queue of rows that wait */
        uint64_t run = v->value[SPMV_KNOB_STREAM] ? (uint64_t)p->spec.key[SPMV_KEY_RUN] : 0;
        return (wg + run) * size + (run ? (run / (wg < 32 ? wg : 32) + 2) * 4 : 0);
    }
    if (spmv__cl_sliced(p, v)) return wg * size;
    group = wg / l * spmv__cl_height(p, v); /* rows */
    h = p->spec.format == SPMV_SELL ? spmv__cl_int(p, 0) : 0;
    if (spmv__cl_knob_set(v, SPMV_KNOB_STAGE) && v->value[SPMV_KNOB_STAGE]) {
        if (p->spec.format == SPMV_CMRS) own = p->n[0] * wg;
        if (p->spec.format == SPMV_BDIA) own = wg + group;
        if (p->spec.format == SPMV_SELL) own = 4 * (h ? group / h + 3 : group + 2);
    }
    return (own > lanes ? own : lanes) * size;
}

/* 1: the knob makes a difference to the part on the device, the others being as v says. */
static int spmv__cl_knob_matters(const spmv_device *d, const spmv_part *p, const spmv_variant *v, spmv_knob k)
{
    int runs = spmv__cl_in_runs(p), atomic = p->spec.format == SPMV_COO && v->value[SPMV_KNOB_ATOMIC];
    if (!spmv__cl_knob_taken(p->spec.format, k)) return 0;
    if ((k == SPMV_KNOB_NT || k == SPMV_KNOB_SHUF) && d->info.nvidia < 70) return 0;
    if (k == SPMV_KNOB_L) return !runs;
    if (k == SPMV_KNOB_STREAM) return runs;
    if (k == SPMV_KNOB_FINISH) return runs && p->n[1] != 0;
    if (p->spec.format == SPMV_CSR && (k == SPMV_KNOB_UNROLL || k == SPMV_KNOB_SHUF)) return runs && v->value[SPMV_KNOB_STREAM];
    if (spmv__cl_sliced(p, v)) return k != SPMV_KNOB_V && k != SPMV_KNOB_L && k != SPMV_KNOB_STAGE;
    if (k == SPMV_KNOB_PER || (k == SPMV_KNOB_STAGE && p->spec.format == SPMV_COO)) return !atomic;
    return 1;
}

/* Slot numbers fit 32 bits with room for a last step of all lanes. */
static int spmv__cl_wide(const spmv_part *p) { return p->a[0].count > 0xffffffffu - (1u << 24); }

/* How a part's kernel wants x: 0 no image, 1 an element a texel, 4 four where x begins at a multiple of four. */
static int spmv__cl_texel(spmv_format f, spmv_type t, const uint64_t *n, const spmv_variant *v)
{
    if (!v->value[SPMV_KNOB_IMG]) return 0;
    return spmv__cl_has_blocks(f) && n[1] % 4 == 0 && t == SPMV_F32 && !v->value[SPMV_KNOB_ZERO] ? 4 : 1;
}

static cl_image_format spmv__cl_image_format(spmv_type t, int texel)
{
    cl_image_format f;
    f.image_channel_order = t != SPMV_F32 ? CL_RG : texel == 4 ? CL_RGBA : CL_R;
    f.image_channel_data_type = t != SPMV_F32 ? CL_UNSIGNED_INT32 : CL_FLOAT;
    return f;
}

/* The device reads images of x of that form. */
static spmv_status spmv__cl_check_image(const spmv_device *d, const spmv_part *p, const spmv_variant *v)
{
    int texel = spmv__cl_texel(p->spec.format, p->type, p->n, v), one = !texel, four = texel != 4;
    cl_image_format want = spmv__cl_image_format(p->type, 1), wide = spmv__cl_image_format(p->type, 4), *list;
    cl_uint i, n = 0;
    spmv_status s;
    if (!texel) return SPMV_OK;
    if (!d->info.image_texels) return spmv_log(&d->hooks, SPMV_ERR_UNSUPPORTED, "IMG=1: %s has no images", d->info.name);
    if (p->cols > d->info.image_texels)
        return spmv_log(&d->hooks, SPMV_ERR_LIMIT, "IMG=1: %llu columns, an image of the device has %llu texels", (spmv__ull)p->cols,
                        (spmv__ull)d->info.image_texels);
    s = SPMV__CL(&d->hooks, clGetSupportedImageFormats(d->context, CL_MEM_READ_ONLY, CL_MEM_OBJECT_IMAGE1D_BUFFER, 0, NULL, &n));
    if (s) return s;
    list = (cl_image_format *)spmv_alloc(&d->hooks, n, sizeof *list);
    if (n && !list) return spmv__no_memory(&d->hooks, n, sizeof *list);
    if (n) s = SPMV__CL(&d->hooks, clGetSupportedImageFormats(d->context, CL_MEM_READ_ONLY, CL_MEM_OBJECT_IMAGE1D_BUFFER, n, list, NULL));
    for (i = 0; !s && i < n; i++) {
        one |= list[i].image_channel_order == want.image_channel_order && list[i].image_channel_data_type == want.image_channel_data_type;
        four |= list[i].image_channel_order == wide.image_channel_order && list[i].image_channel_data_type == wide.image_channel_data_type;
    }
    spmv_free(&d->hooks, list);
    if (!s && !(one && four))
        s = spmv_log(&d->hooks, SPMV_ERR_UNSUPPORTED, "IMG=1: %s has no images of %s", d->info.name,
                     p->type == SPMV_F32 ? "float" : "pairs of 32-bit words");
    return s;
}

/* V and SLICE against the part: defaults give way, the caller's word does not. */
static spmv_status spmv__cl_fit_slices(const spmv_device *d, const spmv_part *p, spmv_variant *v, const spmv_variant *wish)
{
    uint64_t h = p->n[0];
    int *rows = &v->value[SPMV_KNOB_V];
    if (p->spec.format != SPMV_SELL) return SPMV_OK;
    while (*rows > 1 && !spmv__cl_knob_set(wish, SPMV_KNOB_V) && (p->a[3].count || h % (uint64_t)*rows))
        *rows = *rows == 4 ? 1 : *rows / 2;
    if (*rows > 1 && p->a[3].count) return spmv_log(&d->hooks, SPMV_ERR_UNSUPPORTED, "V=%d: the slices vary in height", *rows);
    if (*rows > 1 && h % (uint64_t)*rows)
        return spmv_log(&d->hooks, SPMV_ERR_UNSUPPORTED, "V=%d: slices are %llu high", *rows, (spmv__ull)h);
    if (!v->value[SPMV_KNOB_SLICE]) return SPMV_OK;
    while (!spmv__cl_knob_set(wish, SPMV_KNOB_WG) && (uint64_t)v->value[SPMV_KNOB_WG] < h && v->value[SPMV_KNOB_WG] < 512)
        v->value[SPMV_KNOB_WG] *= 2;
    return SPMV_OK;
}

/* A group has an item for each row of a slice that it takes. */
static spmv_status spmv__cl_check_slice(const spmv_device *d, const spmv_part *p, const spmv_variant *v)
{
    if (!spmv__cl_sliced(p, v) || p->n[0] <= (uint64_t)v->value[SPMV_KNOB_WG]) return SPMV_OK;
    return spmv_log(&d->hooks, SPMV_ERR_LIMIT, "SLICE=1: slices up to %llu high, a group of %d", (spmv__ull)p->n[0],
                    v->value[SPMV_KNOB_WG]);
}

/* Knobs that were not set get defaults, those that make no difference are taken out again. */
static void spmv__cl_fill_in(const spmv_device *d, const spmv_part *p, spmv_variant *v)
{
    int k, cpu = (d->info.type & CL_DEVICE_TYPE_CPU) != 0, fixed = spmv__cl_knob_set(v, SPMV_KNOB_WG);
    int fixed_stream = spmv__cl_knob_set(v, SPMV_KNOB_STREAM), fixed_stage = spmv__cl_knob_set(v, SPMV_KNOB_STAGE);
    int fixed_finish = spmv__cl_knob_set(v, SPMV_KNOB_FINISH);
    for (k = 0; k < SPMV_KNOB_COUNT; k++)
        if (!spmv__cl_knob_set(v, (spmv_knob)k) && spmv__cl_knob_taken(p->spec.format, (spmv_knob)k))
            spmv__cl_knob_choose(v, (spmv_knob)k, spmv__cl_knob_default((int)p->spec.format, (spmv_knob)k, d->info.type));
    if (spmv__cl_in_runs(p) && !fixed) v->value[SPMV_KNOB_WG] = cpu ? 16 : 256;
    /* fewer large blocks under way, which the caches then hold; H200, 3x3, clspmv_cantilever and _spheres: 0.80 and 0.77 of the time */
    if (p->spec.format == SPMV_BCSR && p->type == SPMV_F64 && !cpu && !fixed &&
        spmv__cl_block(p) > 8) v->value[SPMV_KNOB_WG] = 32;
    /* where the order of memory between groups is the hardware's own; H200: 0.81 of the second launch's time on seven matrices */
    if (!fixed_finish && d->info.nvidia < 70) v->value[SPMV_KNOB_FINISH] = 0;
    /* in strips sorted by column rows do not follow each other */
    if (p->spec.format == SPMV_CMRS && p->spec.key[SPMV_KEY_SORT] && !fixed_stage) v->value[SPMV_KNOB_STAGE] = 1;
    if (spmv__cl_in_runs(p) && !fixed_stream && spmv__cl_local(p, v) > d->info.local_bytes) v->value[SPMV_KNOB_STREAM] = 0;
    if (spmv__cl_knob_taken(p->spec.format, SPMV_KNOB_L) && !v->value[SPMV_KNOB_L]) v->value[SPMV_KNOB_L] = spmv__cl_lanes(d, p, v);
    if (spmv__cl_wide(p)) v->value[SPMV_KNOB_I64] = 1;
    if (!p->cols) v->value[SPMV_KNOB_IMG] = 0; /* there is no x */
    for (k = SPMV_KNOB_COUNT - 1; k >= 0; k--)
        if (!spmv__cl_knob_matters(d, p, v, (spmv_knob)k)) {
            v->set &= ~((uint64_t)1 << k);
            v->value[k] = k == SPMV_KNOB_L;
        }
}

/* Reproducible products have the order of SPMV_REPEATS: knobs that would change it have one value only. */
static spmv_status spmv__cl_fix_order(const spmv_device *d, const spmv_part *p, spmv_variant *v)
{
    static const spmv_knob knobs[] = { SPMV_KNOB_L, SPMV_KNOB_STAGE, SPMV_KNOB_SLICE };
    int i, lanes = p->spec.format == SPMV_CSR ? SPMV__CSR_LANES : p->spec.format == SPMV_BCSR ? SPMV__BCSR_LANES : 1;
    for (i = 0; p->reproducible && i < 3; i++) {
        spmv_knob k = knobs[i];
        int value = k == SPMV_KNOB_L ? lanes : 0;
        if (!spmv__cl_knob_taken(p->spec.format, k)) continue;
        if (spmv__cl_knob_set(v, k) && v->value[k] != value)
            return spmv_log(&d->hooks, SPMV_ERR_UNSUPPORTED, "%s: reproducible products have %s=%d", spmv_format_name(p->spec.format),
                            spmv_knob_name(k), value);
        spmv__cl_knob_choose(v, k, value);
    }
    return SPMV_OK;
}

/* Knobs that were set are the caller's word. */
SPMV_API spmv_status spmv_variant_resolve(spmv_variant *v, const spmv_device *d, const spmv_part *p)
{
    if (!v || !d || !p) return spmv__null(d ? &d->hooks : NULL, "spmv_variant_resolve", !v ? "v" : !d ? "d" : "p", NULL, 0);
    spmv_format f = p->spec.format;
    spmv_variant wish = *v;
    int fixed = spmv__cl_knob_set(v, SPMV_KNOB_WG), fixed_l = spmv__cl_knob_set(v, SPMV_KNOB_L) || p->reproducible;
    spmv_status s = spmv__cl_variant_check(v, f, &d->hooks);
    if (!s) s = spmv__cl_fix_order(d, p, v);
    if (s) return s;
    spmv__cl_fill_in(d, p, v);
    s = spmv__cl_fit_slices(d, p, v, &wish);
    if (!s) s = spmv__cl_check_image(d, p, v);
    if (s) return s;
    while (!fixed && v->value[SPMV_KNOB_WG] > 1 &&
           ((uint64_t)v->value[SPMV_KNOB_WG] > d->info.group_size || spmv__cl_local(p, v) > d->info.local_bytes))
        v->value[SPMV_KNOB_WG] /= 2;
    if (!fixed && fixed_l && v->value[SPMV_KNOB_L] > v->value[SPMV_KNOB_WG]) v->value[SPMV_KNOB_WG] = v->value[SPMV_KNOB_L];
    if (!fixed_l && v->value[SPMV_KNOB_L] > v->value[SPMV_KNOB_WG]) v->value[SPMV_KNOB_L] = v->value[SPMV_KNOB_WG];
    if (v->value[SPMV_KNOB_L] > v->value[SPMV_KNOB_WG])
        return spmv_log(&d->hooks, SPMV_ERR_ARGUMENT, "%s: %d lanes do not fit a group of %d", spmv_format_name(f),
                        v->value[SPMV_KNOB_L], v->value[SPMV_KNOB_WG]);
    if ((uint64_t)v->value[SPMV_KNOB_WG] > d->info.group_size)
        return spmv_log(&d->hooks, SPMV_ERR_LIMIT, "%s: a group of %d, the device takes %llu", spmv_format_name(f),
                        v->value[SPMV_KNOB_WG], (spmv__ull)d->info.group_size);
    if (spmv__cl_local(p, v) > d->info.local_bytes)
        return spmv_log(&d->hooks, SPMV_ERR_LIMIT, "%s: %llu bytes of local memory, the device has %llu", spmv_format_name(f),
                        (spmv__ull)spmv__cl_local(p, v), (spmv__ull)d->info.local_bytes);
    if (v->value[SPMV_KNOB_ATOMIC] && p->type != SPMV_F32 && !d->info.atomics64)
        return spmv_log(&d->hooks, SPMV_ERR_LIMIT, "%s: ATOMIC=1 needs atomics of 64 bits, the device has those of 32",
                        spmv_format_name(f));
    return spmv__cl_check_slice(d, p, v);
}

static spmv_status spmv__cl_kernel(const spmv_hooks *h, cl_program program, const char *name, cl_kernel *out)
{
    cl_int e;
    *out = clCreateKernel(program, name, &e);
    return spmv__cl(h, "clCreateKernel", e);
}

/* What the compiled kernel can run with: the largest group; SPMV_ERR_LIMIT if its local memory is beyond the device. NVIDIA's
 * driver was seen to answer 256 for a kernel compiled for groups of 512 alone (reqd_work_group_size, which bounds the
 * registers that the compiler may use), so there the size compiled for counts. */
static spmv_status spmv__cl_inspect(const spmv_device *d, cl_program program, size_t *group)
{
    const spmv_hooks *h = &d->hooks;
    cl_ulong local = 0;
    size_t compiled[3] = { 0, 0, 0 };
    cl_kernel kernel;
    spmv_status s = spmv__cl_kernel(h, program, "spmv", &kernel);
    if (s) return s;
    s = SPMV__CL(h, clGetKernelWorkGroupInfo(kernel, d->info.id, CL_KERNEL_WORK_GROUP_SIZE, sizeof *group, group, NULL));
    if (!s && d->info.nvidia)
        s = SPMV__CL(h, clGetKernelWorkGroupInfo(kernel, d->info.id, CL_KERNEL_COMPILE_WORK_GROUP_SIZE, sizeof compiled,
                                                 compiled, NULL));
    if (*group < compiled[0] && compiled[0] <= d->info.group_size) *group = compiled[0];
    if (!s) s = SPMV__CL(h, clGetKernelWorkGroupInfo(kernel, d->info.id, CL_KERNEL_LOCAL_MEM_SIZE, sizeof local, &local, NULL));
    if (!s && local > d->info.local_bytes)
        s = spmv_log(h, SPMV_ERR_LIMIT, "a kernel with %llu bytes of local memory, the device has %llu", (spmv__ull)local,
                     (spmv__ull)d->info.local_bytes);
    clReleaseKernel(kernel);
    return s;
}

/* Resolves the variant and builds its program; a default group that the compiled kernel cannot have is halved. */
static spmv_status spmv__cl_prepare(spmv_device *d, const spmv_part *p, const spmv_variant *wish, spmv_cl_part *out)
{
    spmv__cl_options o;
    size_t group = 0;
    spmv_variant v = *wish;
    spmv_status s = spmv_variant_resolve(&v, d, p);
    if (s) return s;
    for (;;) {
        s = spmv__cl_describe_part(&o, d, p, &v);
        if (!s) s = spmv_cl_program(d, p->spec.format, o.text, &out->program);
        if (!s) s = spmv__cl_inspect(d, out->program, &group);
        if (s || group >= (size_t)v.value[SPMV_KNOB_WG]) break;
        if (spmv__cl_knob_set(wish, SPMV_KNOB_WG) || v.value[SPMV_KNOB_WG] <= v.value[SPMV_KNOB_L] || v.value[SPMV_KNOB_WG] <= 1)
            return spmv_log(&d->hooks, SPMV_ERR_LIMIT, "%s: a group of %d, the kernel can have %llu",
                            spmv_format_name(p->spec.format), v.value[SPMV_KNOB_WG], (spmv__ull)group);
        v.value[SPMV_KNOB_WG] /= 2;
        s = spmv__cl_check_slice(d, p, &v);
        if (s) return s;
    }
    out->variant = v;
    return s;
}

/* ---- upload ------------------------------------------------------------------------------------------------------ */

static spmv_status spmv__cl_new_buffer(const spmv_device *d, uint64_t bytes, cl_mem_flags flags, cl_mem *out)
{
    cl_int e;
    if (bytes > d->info.alloc_bytes || bytes > (uint64_t)(size_t)-1)
        return spmv_log(&d->hooks, SPMV_ERR_LIMIT, "a buffer of %llu bytes, the device takes %llu", (spmv__ull)bytes,
                        (spmv__ull)d->info.alloc_bytes);
    *out = clCreateBuffer(d->context, flags, bytes ? (size_t)bytes : 16, NULL, &e);
    return spmv__cl(&d->hooks, "clCreateBuffer", e);
}

static spmv_status spmv__cl_upload(const spmv_device *d, const spmv_array *a, cl_mem *out)
{
    size_t bytes = (size_t)(a->count * a->width);
    spmv_status s;
    if (!a->count) return SPMV_OK;
    s = spmv__cl_new_buffer(d, a->count * a->width, CL_MEM_READ_ONLY, out);
    if (!s) s = SPMV__CL(&d->hooks, clEnqueueWriteBuffer(d->queue, *out, CL_TRUE, 0, bytes, a->data, 0, NULL, NULL));
    return s;
}

/* ---- stretches of parts whose arrays are larger than a buffer -------------------------------------------------------
 * A part is cut between rows where its format can begin anew: at grains g = 0, 1, ... up to spmv__cl_grains. What lies from one grain
 * to another is a part again, with pointers that count from its own beginning; y is offset by its first row. Sums are the
 * same as without cuts. coo, which adds entries to y one way or the other, is cut anywhere. */

static uint64_t spmv__cl_grains(const spmv_part *p)
{
    switch (p->spec.format) {
    case SPMV_COO: return p->nnz;
    case SPMV_CSR: return spmv__cl_in_runs(p) ? p->n[0] : p->rows;
    case SPMV_SELL: return p->n[1];
    case SPMV_SBELL: return p->n[4];
    case SPMV_CMRS: return spmv__ceil_div(p->rows, p->n[0]);
    case SPMV_BELL:
    case SPMV_BCSR: return spmv__ceil_div(spmv__ceil_div(p->rows, p->n[0]), 32); /* bases are for 32 super-rows, and ld is a multiple */
    case SPMV_ELL:
    case SPMV_DIA:
    case SPMV_BDIA: return spmv__ceil_div(p->rows, 32);
    default: return p->rows;
    }
}

/* The row where grain g begins; that of the last one's end is the number of rows. */
static uint64_t spmv__cl_grain_row(const spmv_part *p, uint64_t g)
{
    uint64_t r = g;
    switch (p->spec.format) {
    case SPMV_COO: return 0;
    case SPMV_CSR: if (spmv__cl_in_runs(p)) r = spmv__at(&p->a[3], g); break;
    case SPMV_SELL: r = p->a[3].count ? spmv__at(&p->a[3], g) : g * p->n[0]; break;
    case SPMV_SBELL: r = g * p->n[3] * p->n[0]; break;
    case SPMV_CMRS: r = g * p->n[0]; break;
    case SPMV_BELL:
    case SPMV_BCSR: r = g * 32 * p->n[0]; break;
    case SPMV_ELL:
    case SPMV_DIA:
    case SPMV_BDIA: r = g * 32; break;
    default: break;
    }
    return r < p->rows ? r : p->rows;
}

/* What a stretch takes of one array: count elements from at on, in each of so many planes that lie stride apart. The elements of
 * the copy are less by some number, for pointers, or more, for the offsets of diagonals. */
typedef struct spmv__cl_cut {
    uint64_t at, count, planes, stride, less, more;
} spmv__cl_cut;

static void spmv__cl_cut_one(spmv__cl_cut *c, uint64_t at, uint64_t count, uint64_t less)
{
    c->at = at;
    c->count = count;
    c->less = less;
}

static void spmv__cl_cut_planes(spmv__cl_cut *c, uint64_t at, uint64_t count, uint64_t planes, uint64_t stride)
{
    c->at = at;
    c->count = count;
    c->planes = planes;
    c->stride = stride;
}

/* How many of the rising numbers in a are below n. */
static uint64_t spmv__cl_below(const spmv_array *a, uint64_t n)
{
    uint64_t low = 0, high = a->count;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (spmv__at(a, middle) < n) low = middle + 1;
        else high = middle;
    }
    return low;
}

/* From one pointer to another of a format whose entries lie in their order; a slot of them is so many values. */
static void spmv__cl_cut_slots(const spmv_part *p, uint64_t first, uint64_t last, uint64_t unit, spmv__cl_cut *c)
{
    uint64_t begin = spmv__at(&p->a[1], first), n = spmv__at(&p->a[1], last) - begin;
    spmv__cl_cut_one(&c[0], begin * unit, n * unit, 0);
    spmv__cl_cut_one(&c[1], first, last - first + 1, begin);
    spmv__cl_cut_one(&c[2], begin, n, 0);
}

static void spmv__cl_cut_csr(const spmv_part *p, uint64_t g, uint64_t end, uint64_t row, uint64_t last, spmv_part *q, spmv__cl_cut *c)
{
    uint64_t longs;
    spmv__cl_cut_slots(p, row, last, 1, c);
    q->nnz = c[0].count;
    if (!spmv__cl_in_runs(p)) return;
    longs = spmv__cl_below(&p->a[6], g);
    q->n[0] = end - g;
    q->n[1] = spmv__cl_below(&p->a[6], end) - longs;
    spmv__cl_cut_one(&c[3], g, end - g + 1, row);
    spmv__cl_cut_one(&c[4], g, end - g + 1, c[0].at);
    spmv__cl_cut_one(&c[5], g, end - g, 0);
    spmv__cl_cut_one(&c[6], longs, q->n[1], g);
}

/* The stretch of grains g up to end: integers and sizes into q, where its arrays come from into c (the last: the row list). */
static void spmv__cl_cut_make(const spmv_part *p, uint64_t g, uint64_t end, spmv_part *q, spmv__cl_cut *c)
{
    uint64_t row = spmv__cl_grain_row(p, g), last = spmv__cl_grain_row(p, end), ld = spmv__round_up(last - row, 32), units, supers;
    int k;
    *q = *p;
    memset(c, 0, (SPMV_MAX_ARRAYS + 1) * sizeof *c);
    for (k = 0; k <= SPMV_MAX_ARRAYS; k++) c[k].planes = 1;
    q->rows = last - row;
    spmv__cl_cut_one(&c[SPMV_MAX_ARRAYS], row, last - row, 0);
    switch (p->spec.format) {
    case SPMV_COO:
        q->rows = p->rows;
        q->nnz = end - g;
        for (k = 0; k < 3; k++) spmv__cl_cut_one(&c[k], g, end - g, 0);
        break;
    case SPMV_CSR: spmv__cl_cut_csr(p, g, end, row, last, q, c); break;
    case SPMV_DIA:
    case SPMV_BDIA:
        q->n[1] = ld;
        units = p->spec.format == SPMV_DIA ? p->n[0] : spmv__at(&p->a[2], p->n[0]);
        spmv__cl_cut_planes(&c[0], row, ld, units, p->n[1]);
        spmv__cl_cut_one(&c[1], 0, p->n[0], 0);
        c[1].more = row;
        spmv__cl_cut_one(&c[2], 0, p->a[2].count, 0);
        break;
    case SPMV_ELL:
        q->n[1] = ld;
        spmv__cl_cut_planes(&c[0], row, ld, p->n[0], p->n[1]);
        c[1] = c[0];
        spmv__cl_cut_one(&c[2], g, end - g, 0);
        break;
    case SPMV_SELL:
        q->n[1] = end - g;
        spmv__cl_cut_slots(p, g, end, 1, c);
        spmv__cl_cut_one(&c[3], g, end - g + 1, row);
        spmv__cl_cut_one(&c[4], g, end - g, 0);
        break;
    case SPMV_BELL:
        units = p->n[0] * p->n[1] / p->n[2];
        q->n[4] = spmv__round_up(spmv__ceil_div(q->rows, p->n[0]), 32);
        spmv__cl_cut_planes(&c[0], g * 32 * p->n[2], q->n[4] * p->n[2], p->n[3] * units, p->n[4] * p->n[2]);
        spmv__cl_cut_planes(&c[1], g * 32, q->n[4], p->n[3], p->n[4]);
        spmv__cl_cut_one(&c[2], g, end - g, 0);
        break;
    case SPMV_SBELL:
        q->n[4] = end - g;
        spmv__cl_cut_slots(p, g, end, p->n[0] * p->n[1], c);
        spmv__cl_cut_one(&c[3], g, end - g, 0);
        break;
    case SPMV_BCSR:
        units = p->n[0] * p->n[1] / p->n[2];
        supers = spmv__ceil_div(p->rows, p->n[0]);
        spmv__cl_cut_slots(p, g * 32, end * 32 < supers ? end * 32 : supers, p->n[2], c);
        q->n[3] = c[2].count;
        c[0].planes = units;
        c[0].stride = p->n[3] * p->n[2];
        spmv__cl_cut_one(&c[3], g, end - g, 0);
        break;
    case SPMV_CMRS:
        spmv__cl_cut_slots(p, g, end, 1, c);
        q->nnz = c[0].count;
        c[3] = c[2];
        break;
    default: spmv__cl_cut_one(&c[0], row * p->cols, (last - row) * p->cols, 0);
    }
    for (k = 0; k <= SPMV_MAX_ARRAYS; k++) {
        const spmv_array *from = k < SPMV_MAX_ARRAYS ? &p->a[k] : &p->list;
        if (!from->count) c[k].count = 0;
        (k < SPMV_MAX_ARRAYS ? &q->a[k] : &q->list)->count = c[k].planes * c[k].count;
    }
}

/* The bytes of a part's largest array. */
static uint64_t spmv__cl_largest(const spmv_part *p)
{
    uint64_t most = p->list.count * 4, bytes;
    int k;
    for (k = 0; k < SPMV_MAX_ARRAYS; k++) {
        bytes = spmv__sat_mul(p->a[k].count, p->a[k].width);
        if (bytes > most) most = bytes;
    }
    return most;
}

/* A grain may begin a stretch: of csr's runs one that begins a row. */
static int spmv__cl_grain_free(const spmv_part *p, uint64_t g)
{
    if (!spmv__cl_in_runs(p) || g == p->n[0]) return 1;
    return spmv__at(&p->a[4], g) == spmv__at(&p->a[1], spmv__at(&p->a[3], g));
}

/* *end: where the longest stretch from grain g on ends of which each array fits a buffer. */
static spmv_status spmv__cl_stretch(const spmv_device *d, const spmv_part *p, size_t i, uint64_t g, uint64_t *end)
{
    spmv__cl_cut c[SPMV_MAX_ARRAYS + 1];
    spmv_part q;
    uint64_t low = g, high = spmv__cl_grains(p);
    *end = high;
    if (!g && spmv__cl_largest(p) <= d->info.alloc_bytes) return SPMV_OK;
    while (low < high) {
        uint64_t middle = high - (high - low) / 2;
        spmv__cl_cut_make(p, g, middle, &q, c);
        if (spmv__cl_largest(&q) <= d->info.alloc_bytes) low = middle;
        else high = middle - 1;
    }
    while (low > g && !spmv__cl_grain_free(p, low)) low--;
    *end = low;
    if (low > g) return SPMV_OK;
    spmv__cl_cut_make(p, g, g + (g < spmv__cl_grains(p)), &q, c);
    return spmv_log(&d->hooks, SPMV_ERR_LIMIT, "part %llu (%s): an array of %llu bytes that cannot be cut further, the device takes %llu",
                    (spmv__ull)i, spmv_format_name(p->spec.format), (spmv__ull)spmv__cl_largest(&q), (spmv__ull)d->info.alloc_bytes);
}

/* The stretch's part of one array: the part's own memory where that will do, else a copy. */
static spmv_status spmv__cl_cut_array(const spmv_hooks *h, const spmv_array *from, const spmv__cl_cut *c, spmv_array *out)
{
    uint64_t i, plane;
    void *block;
    spmv_status s;
    out->borrowed = 1;
    out->data = from->data && c->count ? (unsigned char *)from->data + c->at * from->width : NULL;
    if (!c->count || (c->planes == 1 && !c->less && !c->more)) return SPMV_OK;
    out->data = NULL;
    s = spmv__new(h, &block, out->count, from->width, 0);
    if (s) return s;
    out->data = block;
    out->borrowed = 0;
    for (plane = 0; plane < c->planes; plane++)
        memcpy((unsigned char *)block + plane * c->count * from->width,
               (const unsigned char *)from->data + (c->at + plane * c->stride) * from->width, (size_t)(c->count * from->width));
    for (i = 0; c->less && i < c->count; i++) spmv__set(out, i, spmv__at(out, i) - c->less);
    for (i = 0; c->more && i < c->count; i++) {
        int64_t v = ((const int32_t *)out->data)[i] + (int64_t)c->more;
        if (v > INT32_MAX) return spmv_log(h, SPMV_ERR_LIMIT, "the offset %lld of a diagonal, 32 bits were expected", (long long)v);
        ((int32_t *)out->data)[i] = (int32_t)v;
    }
    return SPMV_OK;
}

static void spmv__cl_cut_free(const spmv_hooks *h, spmv_part *q)
{
    int k;
    for (k = 0; k < SPMV_MAX_ARRAYS; k++)
        if (!q->a[k].borrowed) spmv_free(h, q->a[k].data);
    if (!q->list.borrowed) spmv_free(h, q->list.data);
}

/* The stretch as a part, or its values alone; a whole part is the part itself. On failure q holds nothing. */
static spmv_status spmv__cl_cut_part(const spmv_hooks *h, const spmv_part *p, uint64_t g, uint64_t end, int arrays, spmv_part *q)
{
    spmv__cl_cut c[SPMV_MAX_ARRAYS + 1];
    spmv_status s = SPMV_OK;
    int k, whole = !g && end == spmv__cl_grains(p);
    if (whole) *q = *p;
    else spmv__cl_cut_make(p, g, end, q, c);
    for (k = 0; k < SPMV_MAX_ARRAYS; k++) q->a[k].borrowed = 1;
    q->list.borrowed = 1;
    if (whole) return SPMV_OK;
    for (k = 0; !s && k < arrays; k++) s = spmv__cl_cut_array(h, &p->a[k], &c[k], &q->a[k]);
    if (!s && arrays > 1) s = spmv__cl_cut_array(h, &p->list, &c[SPMV_MAX_ARRAYS], &q->list);
    if (s) spmv__cl_cut_free(h, q);
    return s;
}

/* All arrays against the device's memory, and how many stretches they come in, before anything is allocated: some
 * implementations abort instead. */
static spmv_status spmv__cl_check_bytes(const spmv_device *d, const spmv_part *parts, size_t count, size_t *stretches)
{
    uint64_t total = 0, bytes, g;
    spmv_status s = SPMV_OK;
    size_t i;
    int k;
    *stretches = 0;
    for (i = 0; !s && i < count; i++) {
        for (k = 0; k <= SPMV_MAX_ARRAYS; k++) {
            const spmv_array *a = k < SPMV_MAX_ARRAYS ? &parts[i].a[k] : &parts[i].list;
            bytes = spmv__sat_mul(a->count, a->width);
            total = spmv__sat_add(total, bytes);
        }
        g = 0;
        do {
            s = spmv__cl_stretch(d, &parts[i], i, g, &g);
            ++*stretches;
        } while (!s && g < spmv__cl_grains(&parts[i]));
    }
    if (s) return s;
    if (total > d->info.global_bytes)
        return spmv_log(&d->hooks, SPMV_ERR_LIMIT, "a matrix of %llu bytes, the device has %llu", (spmv__ull)total,
                        (spmv__ull)d->info.global_bytes);
    return SPMV_OK;
}

/* Arrays of 16 bits are columns, and those have bases; anything else would be read wrong. */
static int spmv__cl_columns_fit(const spmv_part *p)
{
    const spmv__cl_format *t = &spmv__cl_formats[p->spec.format];
    int k, fit = 1;
    for (k = 0; k < SPMV_MAX_ARRAYS; k++) fit &= p->a[k].width != 2 || !p->a[k].count || (t->columns && k == t->columns);
    if (t->columns && p->a[t->columns].count) fit &= (p->a[t->columns].width == 2) == (p->a[t->bases].count != 0);
    return fit;
}

static spmv_status spmv__cl_check_part(const spmv_cl_matrix *m, const spmv_part *p, size_t i)
{
    if ((unsigned)p->spec.format >= SPMV_FORMAT_COUNT || p->type != m->type || p->cols != m->cols)
        return spmv_log(&m->hooks, SPMV_ERR_ARGUMENT, "part %llu: another type or number of columns than the matrix", (spmv__ull)i);
    if (!p->list.count && p->rows && p->rows != m->rows)
        return spmv_log(&m->hooks, SPMV_ERR_ARGUMENT, "part %llu: %llu rows without a row list, the matrix has %llu", (spmv__ull)i,
                        (spmv__ull)p->rows, (spmv__ull)m->rows);
    if (!spmv__cl_columns_fit(p))
        return spmv_log(&m->hooks, SPMV_ERR_UNSUPPORTED, "part %llu: no kernel of %s takes its columns", (spmv__ull)i,
                        spmv_format_name(p->spec.format));
    return SPMV_OK;
}

/* Groups of the kernel, within what one launch can number. */
static spmv_status spmv__cl_groups(const spmv_device *d, uint64_t items, uint64_t per_group, uint64_t wg, uint64_t *out)
{
    uint64_t most = d->info.address_bits < 64 ? 0xffffffffu / wg : 0x7fffffffu;
    *out = spmv__ceil_div(items, per_group);
    if (*out <= most) return SPMV_OK;
    return spmv_log(&d->hooks, SPMV_ERR_LIMIT, "%llu work-groups, one launch takes %llu", (spmv__ull)*out, (spmv__ull)most);
}

/* The groups of the first launch leave two carries each, which the second adds. */
static spmv_status spmv__cl_coo_groups(spmv_cl_part *out, const spmv_device *d, const spmv_part *p, uint64_t wg)
{
    int atomic = out->variant.value[SPMV_KNOB_ATOMIC];
    uint64_t per = atomic ? 1 : (uint64_t)out->variant.value[SPMV_KNOB_PER];
    spmv_status s = spmv__cl_groups(d, p->nnz, wg * per, wg, &out->groups);
    out->carries = atomic ? 0 : 2 * out->groups;
    out->finish = atomic ? 0 : spmv__ceil_div(out->carries, wg);
    return s;
}

static spmv_status spmv__cl_part_create(spmv_cl_part *out, spmv_device *d, const spmv_part *p, const spmv_variant *wish)
{
    int k;
    uint64_t wg;
    spmv_status s = spmv__cl_prepare(d, p, wish, out);
    if (s) return s;
    out->format = p->spec.format;
    out->rows = p->rows;
    out->nnz = p->nnz;
    out->values = p->a[0].count;
    out->runs = spmv__cl_in_runs(p);
    for (k = 0; k < SPMV_MAX_INTS; k++) out->n[k] = p->n[k];
    for (k = 0; !s && k < spmv__cl_formats[p->spec.format].arrays; k++) s = spmv__cl_upload(d, &p->a[k], &out->a[k]);
    if (!s) s = spmv__cl_upload(d, &p->list, &out->list);
    if (s) return s;
    wg = (uint64_t)out->variant.value[SPMV_KNOB_WG];
    if (p->spec.format == SPMV_COO) return spmv__cl_coo_groups(out, d, p, wg);
    if (spmv__cl_in_runs(p)) {
        out->carries = p->n[1] ? p->n[0] : 0;
        s = spmv__cl_groups(d, p->n[0], out->variant.value[SPMV_KNOB_STREAM] ? 1 : wg, wg, &out->groups);
        if (out->variant.value[SPMV_KNOB_FINISH]) out->counters = out->carries;
        else if (!s) s = spmv__cl_groups(d, p->n[1], 1, wg, &out->finish);
        return s;
    }
    if (spmv__cl_sliced(p, &out->variant)) return spmv__cl_groups(d, p->n[1], 1, wg, &out->groups);
    return spmv__cl_groups(d, spmv__cl_supers(p, &out->variant),
                           wg / (uint64_t)out->variant.value[SPMV_KNOB_L] * spmv__cl_knob(&out->variant, SPMV_KNOB_SEQ), wg,
                           &out->groups);
}

/* The stretch of a part that out names. */
static spmv_status spmv__cl_stretch_create(spmv_cl_part *out, spmv_device *d, const spmv_part *p, const spmv_variant *wish)
{
    spmv_part q;
    spmv_status s = spmv__cl_cut_part(&d->hooks, p, out->begin, out->end, SPMV_MAX_ARRAYS, &q);
    if (s) return s;
    out->row = p->list.count ? 0 : spmv__cl_grain_row(p, out->begin);
    s = spmv__cl_part_create(out, d, &q, wish);
    spmv__cl_cut_free(&d->hooks, &q);
    return s;
}

static int spmv__cl_scale_group(const spmv_device *d)
{
    int wg = spmv__cl_knob_default((int)SPMV__CL_SCALE, SPMV_KNOB_WG, d->info.type);
    while (wg > 1 && (uint64_t)wg > d->info.group_size) wg /= 2;
    return wg;
}

static spmv_status spmv__cl_scale_create(spmv_cl_matrix *m)
{
    spmv__cl_options o;
    o.used = 0;
    spmv__cl_option_types(&o, m->type);
    spmv__cl_option_number(&o, "WG", (uint64_t)spmv__cl_scale_group(m->device));
    return spmv__cl_program_of(m->device, (int)SPMV__CL_SCALE, o.text, &m->scale);
}

static spmv_status spmv__cl_check_type(const spmv_device *d, spmv_type t)
{
    if ((unsigned)t >= SPMV_TYPE_COUNT) return spmv_log(&d->hooks, SPMV_ERR_ARGUMENT, "no such type");
#ifdef SPMV_NO_F64
    if (t != SPMV_F32) return spmv_log(&d->hooks, SPMV_ERR_UNSUPPORTED, "%s was left out of this build", spmv_type_name(t));
#endif
    if (t != SPMV_F32 && !d->info.f64)
        return spmv_log(&d->hooks, SPMV_ERR_NO_F64, "%s has no double precision", d->info.name);
    return SPMV_OK;
}

SPMV_API spmv_status spmv_cl_create(spmv_cl_matrix *out, spmv_device *d, uint64_t rows, uint64_t cols, spmv_type type,
                                    const spmv_part *parts, size_t count, const spmv_variant *variants)
{
    if (!out || !d || (count && !parts))
        return spmv__null(d ? &d->hooks : NULL, "spmv_cl_create", !out ? "out" : !d ? "d" : "parts", out, sizeof *out);
    spmv_variant plain;
    void *block = NULL;
    size_t i, n = 0, k = 0;
    uint64_t g = 0;
    spmv_status s = spmv__cl_check_type(d, type);
    memset(out, 0, sizeof *out);
    memset(&plain, 0, sizeof plain);
    out->device = d;
    out->type = type;
    out->rows = rows;
    out->cols = cols;
    out->hooks = d->hooks;
    for (i = 0; !s && i < count; i++) s = spmv__cl_check_part(out, &parts[i], i);
    if (!s) s = spmv__cl_check_bytes(d, parts, count, &n);
    if (!s) s = spmv__new(&d->hooks, &block, n, sizeof(spmv_cl_part), 0);
    out->part = (spmv_cl_part *)block;
    out->sources = count;
    out->count = s ? 0 : n;
    for (i = 0; !s && i < n; i++) {
        spmv_cl_part *part = &out->part[i];
        part->source = k;
        part->begin = g;
        s = spmv__cl_stretch(d, &parts[k], k, g, &part->end);
        if (!s) s = spmv__cl_stretch_create(part, d, &parts[k], variants ? &variants[k] : &plain);
        g = part->end;
        if (g < spmv__cl_grains(&parts[k])) continue;
        k++;
        g = 0;
    }
    if (!s) s = spmv__cl_scale_create(out);
    if (!s) s = spmv__cl_new_buffer(d, 0, CL_MEM_READ_WRITE, &out->none);
    out->covers = !s && count && spmv_part_covers(&parts[0], rows);
    if (s) spmv_cl_free(out);
    return s;
}

SPMV_API spmv_status spmv_cl_update(spmv_cl_matrix *m, const spmv_part *parts, size_t count)
{
    if (!m || (count && !parts)) return spmv__null(m ? &m->hooks : NULL, "spmv_cl_update", !m ? "m" : "parts", NULL, 0);
    const spmv_hooks *h = &m->hooks;
    spmv_status s = SPMV_OK;
    uint64_t values = 0;
    size_t i;
    int same = count == m->sources;
    for (i = 0; same && i < m->count; i++) {
        size_t k = m->part[i].source;
        values += m->part[i].values;
        if (i + 1 < m->count && m->part[i + 1].source == k) continue;
        same = parts[k].a[0].count == values && parts[k].type == m->type;
        values = 0;
    }
    if (!same) return spmv_log(h, SPMV_ERR_ARGUMENT, "these are not the parts that the matrix was made from");
    for (i = 0; !s && i < m->count; i++) {
        const spmv_cl_part *p = &m->part[i];
        spmv_part q;
        if (!p->values) continue;
        s = spmv__cl_cut_part(h, &parts[p->source], p->begin, p->end, 1, &q);
        if (s) return s;
        s = SPMV__CL(h, clEnqueueWriteBuffer(m->device->queue, p->a[0], CL_TRUE, 0, (size_t)(q.a[0].count * q.a[0].width),
                                             q.a[0].data, 0, NULL, NULL));
        spmv__cl_cut_free(h, &q);
    }
    return s;
}

SPMV_API void spmv_cl_free(spmv_cl_matrix *m)
{
    spmv_hooks h;
    size_t i;
    int k;
    if (!m) return;
    h = m->hooks;
    for (i = 0; i < m->count; i++) {
        for (k = 0; k < SPMV_MAX_ARRAYS; k++)
            if (m->part[i].a[k]) clReleaseMemObject(m->part[i].a[k]);
        if (m->part[i].list) clReleaseMemObject(m->part[i].list);
    }
    if (m->none) clReleaseMemObject(m->none);
    spmv_free(&h, m->part);
    memset(m, 0, sizeof *m);
}

SPMV_API const spmv_variant *spmv_cl_variant(const spmv_cl_matrix *m, size_t i)
{
    size_t k;
    for (k = 0; m && k < m->count; k++)
        if (m->part[k].source == i) return &m->part[k].variant;
    return NULL;
}

/* ---- execs: kernels with their arguments ---------------------------------------------------------------------------- */

/* Sets arguments one after another; the first failure stays. */
typedef struct spmv__cl_args {
    const spmv_cl_matrix *m;
    cl_kernel   kernel;
    cl_uint     next;
    spmv_status s;
} spmv__cl_args;

static void spmv__cl_arg(spmv__cl_args *a, const void *value, size_t size)
{
    if (!a->s) a->s = SPMV__CL(&a->m->hooks, clSetKernelArg(a->kernel, a->next++, size, value));
}

static void spmv__cl_arg_mem(spmv__cl_args *a, cl_mem mem)
{
    spmv__cl_arg(a, mem ? &mem : &a->m->none, sizeof mem);
}

static void spmv__cl_arg_count(spmv__cl_args *a, uint64_t n)
{
    cl_ulong v = n;
    spmv__cl_arg(a, &v, sizeof v);
}

/* A number in the vectors' type. */
static void spmv__cl_arg_real(spmv__cl_args *a, double v)
{
    float f = (float)v;
    if (a->m->type == SPMV_F32) spmv__cl_arg(a, &f, sizeof f);
    else spmv__cl_arg(a, &v, sizeof v);
}

static spmv__cl_args spmv__cl_args_of(const spmv_cl_matrix *m, cl_kernel kernel)
{
    spmv__cl_args a;
    a.m = m;
    a.kernel = kernel;
    a.next = 0;
    a.s = SPMV_OK;
    return a;
}

static void spmv__cl_launch_shape(spmv__cl_launch *l, uint64_t groups, uint64_t wg)
{
    l->local = (size_t)wg;
    l->global = (size_t)(groups * wg);
}

/* A part's kernel takes its arrays, its integers, rows, columns and the row list (coo: its nonzeros), and the carries if its
 * format has any. The kernel of its finishing launch takes the same. */
static spmv_status spmv__cl_launch_part(spmv__cl_launch *l, const spmv_cl_matrix *m, const spmv_cl_part *p, const char *name,
                                        uint64_t groups, const cl_mem *carry)
{
    const spmv__cl_format *t = &spmv__cl_formats[p->format];
    const char *ints = t->ints;
    spmv__cl_args a;
    size_t n;
    int i;
    spmv_status s = spmv__cl_kernel(&m->hooks, p->program, name, &l->kernel);
    if (s) return s;
    a = spmv__cl_args_of(m, l->kernel);
    for (i = 0; i < t->arrays; i++) spmv__cl_arg_mem(&a, p->a[i]);
    for (i = 0; (n = spmv__cl_word(&ints)) != 0; i++, ints += n)
        if (*ints >= 'a') spmv__cl_arg_count(&a, p->n[i]);
    if (p->format == SPMV_COO) {
        spmv__cl_arg_count(&a, p->nnz);
        spmv__cl_arg_mem(&a, carry[1]);
    } else {
        spmv__cl_arg_count(&a, p->rows);
        spmv__cl_arg_count(&a, m->cols);
        if (p->list) spmv__cl_arg_mem(&a, p->list);
    }
    if (p->format == SPMV_COO || p->runs) spmv__cl_arg_mem(&a, carry[0]);
    l->arg = a.next;
    l->first = p->source == 0;
    l->row = p->row;
    l->texel = spmv__cl_texel(p->format, m->type, p->n, &p->variant);
    spmv__cl_launch_shape(l, groups, (uint64_t)p->variant.value[SPMV_KNOB_WG]);
    return a.s;
}

/* Carries and, all zero, the counters behind them. No queue is needed for that: one may be waiting for the caller. */
static spmv_status spmv__cl_new_carries(const spmv_cl_matrix *m, const spmv_cl_part *p, cl_mem *out)
{
    const spmv_device *d = m->device;
    uint64_t bytes = p->carries * spmv_vector_size(m->type) + p->counters * 4;
    void *zeros = NULL;
    cl_int e;
    spmv_status s;
    if (!p->counters || bytes > d->info.alloc_bytes) return spmv__cl_new_buffer(d, bytes, CL_MEM_READ_WRITE, out);
    s = spmv__new(&m->hooks, &zeros, bytes, 1, 0);
    if (s) return s;
    *out = clCreateBuffer(d->context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, (size_t)bytes, zeros, &e);
    spmv_free(&m->hooks, zeros);
    return spmv__cl(&d->hooks, "clCreateBuffer", e);
}

/* The one or two launches of a part. */
static spmv_status spmv__cl_launch_all(spmv_exec *e, const spmv_cl_matrix *m, const spmv_cl_part *p)
{
    spmv__cl_launch *l = &e->launch[e->count];
    spmv_status s = SPMV_OK;
    e->count += p->finish ? 2 : 1;
    if (p->carries) s = spmv__cl_new_carries(m, p, &l->carry[0]);
    if (!s && p->carries && p->format == SPMV_COO)
        s = spmv__cl_new_buffer(m->device, p->carries * 4, CL_MEM_READ_WRITE, &l->carry[1]);
    if (!s) s = spmv__cl_launch_part(l, m, p, "spmv", p->groups, l->carry);
    if (!s && p->finish) s = spmv__cl_launch_part(l + 1, m, p, "finish", p->finish, l->carry);
    return s;
}

static spmv_status spmv__cl_launch_scale(spmv__cl_launch *l, const spmv_cl_matrix *m)
{
    uint64_t wg = (uint64_t)spmv__cl_scale_group(m->device), groups;
    spmv__cl_args a;
    spmv_status s = spmv__cl_groups(m->device, m->rows, wg, wg, &groups);
    if (!s) s = spmv__cl_kernel(&m->hooks, m->scale, "spmv", &l->kernel);
    if (s) return s;
    a = spmv__cl_args_of(m, l->kernel);
    spmv__cl_arg_count(&a, m->rows);
    l->arg = a.next;
    spmv__cl_launch_shape(l, groups, wg);
    return a.s;
}

static spmv_status spmv__cl_exec_queue(spmv_exec *e, cl_command_queue queue)
{
    const spmv_device *d = e->matrix->device;
    cl_context context = NULL;
    cl_device_id id = NULL;
    cl_command_queue_properties properties = 0;
    spmv_status s = SPMV_OK;
    if (!queue) queue = d->queue;
    s = SPMV__CL(&e->hooks, clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof context, &context, NULL));
    if (!s) s = SPMV__CL(&e->hooks, clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof id, &id, NULL));
    if (!s) s = SPMV__CL(&e->hooks, clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, sizeof properties, &properties, NULL));
    if (!s && (context != d->context || id != d->info.id))
        s = spmv_log(&e->hooks, SPMV_ERR_ARGUMENT, "the queue is of another context or device than the matrix");
    if (!s) s = SPMV__CL(&e->hooks, clRetainCommandQueue(queue));
    if (s) return s;
    e->queue = queue;
    e->chain = (properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) != 0;
    return SPMV_OK;
}

SPMV_API spmv_status spmv_exec_create(spmv_exec *out, const spmv_cl_matrix *m, cl_command_queue queue)
{
    if (!out || !m || !m->device)
        return spmv__null(m ? &m->hooks : NULL, "spmv_exec_create", !out ? "out" : !m ? "m" : "m->device", out, sizeof *out);
    void *block = NULL;
    size_t i;
    spmv_status s;
    memset(out, 0, sizeof *out);
    out->matrix = m;
    out->hooks = m->hooks;
    s = spmv__cl_exec_queue(out, queue);
    if (!s) s = spmv__new(&m->hooks, &block, 2 * (uint64_t)m->count, sizeof(spmv__cl_launch), 0);
    out->launch = (spmv__cl_launch *)block;
    if (!s && m->rows) s = spmv__cl_launch_scale(&out->scale, m);
    for (i = 0; !s && i < m->count; i++)
        if (m->part[i].groups) s = spmv__cl_launch_all(out, m, &m->part[i]);
    if (s) spmv_exec_free(out);
    return s;
}

static void spmv__cl_launch_free(spmv__cl_launch *l)
{
    if (l->kernel) clReleaseKernel(l->kernel);
    if (l->carry[0]) clReleaseMemObject(l->carry[0]);
    if (l->carry[1]) clReleaseMemObject(l->carry[1]);
}

/* Puts e (NULL: none) in the place of what slot holds; none where it cannot be retained. */
static spmv_status spmv__cl_event_keep(const spmv_hooks *h, cl_event *slot, cl_event e)
{
    spmv_status s = e ? SPMV__CL(h, clRetainEvent(e)) : SPMV_OK;
    if (*slot) clReleaseEvent(*slot);
    *slot = s ? NULL : e;
    return s;
}

static void spmv__cl_exec_forget(spmv_exec *e)
{
    int i;
    for (i = 0; i < 2; i++) {
        if (e->image[i]) clReleaseMemObject(e->image[i]);
        e->image[i] = NULL;
    }
    if (e->seen) clReleaseMemObject(e->seen);
    e->seen = NULL;
}

/* No product's time is known. */
static void spmv__cl_exec_untimed(spmv_exec *e)
{
    spmv__cl_event_keep(&e->hooks, &e->first, NULL);
    spmv__cl_event_keep(&e->hooks, &e->last, NULL);
}

SPMV_API void spmv_exec_free(spmv_exec *e)
{
    spmv_hooks h;
    size_t i;
    if (!e) return;
    h = e->hooks;
    spmv__cl_exec_forget(e);
    spmv__cl_exec_untimed(e);
    spmv__cl_launch_free(&e->scale);
    for (i = 0; i < e->count; i++) spmv__cl_launch_free(&e->launch[i]);
    if (e->x) clReleaseMemObject(e->x);
    if (e->y) clReleaseMemObject(e->y);
    if (e->queue) clReleaseCommandQueue(e->queue);
    spmv_free(&h, e->launch);
    memset(e, 0, sizeof *e);
}

/* ---- one thread at a time ------------------------------------------------------------------------------------------- */

#if defined(__GNUC__)
static int spmv__try_lock(long *busy) { return !__atomic_exchange_n(busy, 1L, __ATOMIC_ACQUIRE); }
static void spmv__unlock(long *busy) { __atomic_store_n(busy, 0L, __ATOMIC_RELEASE); }
#elif defined(_MSC_VER)
static int spmv__try_lock(long *busy) { return !_InterlockedExchange((volatile long *)busy, 1); }
static void spmv__unlock(long *busy) { _InterlockedExchange((volatile long *)busy, 0); }
#else
static int spmv__try_lock(long *busy) { (void)busy; return 1; }
static void spmv__unlock(long *busy) { (void)busy; }
#endif

/* The exec is the caller's until spmv__unlock. A second thread would set arguments of the same kernels. */
static spmv_status spmv__cl_exec_take(spmv_exec *e, const char *function)
{
    if (!e || !e->matrix) return spmv__null(e ? &e->hooks : NULL, function, e ? "e->matrix" : "e", NULL, 0);
    if (spmv__try_lock(&e->busy)) return SPMV_OK;
    return spmv_log(&e->hooks, SPMV_ERR_BUSY, "another thread multiplies with the same exec, which is a matrix's own in spmv_mul: make "
                    "an spmv_exec for each thread (spmv_exec_create)");
}

/* ---- products ---------------------------------------------------------------------------------------------------- */

/* A product on its way into the queue. */
typedef struct spmv__cl_run {
    spmv_exec      *e;
    double          alpha;
    cl_mem          x, y;
    uint64_t        x0, y0;
    cl_uint         num_wait;
    const cl_event *wait;
    size_t          left;      /* launches to come, the current one included */
    cl_event        previous;  /* of the launch before, where launches are chained or timed */
    int             begun;
    int             keep_last; /* the last launch's event is wanted */
} spmv__cl_run;

static spmv_status spmv__cl_enqueue(spmv__cl_run *r, const spmv__cl_launch *l, double beta)
{
    spmv_exec *e = r->e;
    spmv__cl_args a = spmv__cl_args_of(e->matrix, l->kernel);
    cl_event event = NULL;
    int chained = r->begun && e->chain;
    int want = e->chain || e->timing || (r->left == 1 && r->keep_last);
    a.next = l->arg;
    spmv__cl_arg_mem(&a, r->x);
    spmv__cl_arg_count(&a, r->x0);
    spmv__cl_arg_mem(&a, r->y);
    spmv__cl_arg_count(&a, r->y0 + l->row);
    spmv__cl_arg_real(&a, r->alpha);
    spmv__cl_arg_real(&a, beta);
    if (l->texel) spmv__cl_arg_mem(&a, e->image[l->texel == 4 && r->x0 % 4 == 0]);
    if (a.s) return a.s;
    a.s = SPMV__CL(&e->hooks, clEnqueueNDRangeKernel(e->queue, l->kernel, 1, NULL, &l->global, &l->local,
                                                     r->begun ? (cl_uint)chained : r->num_wait,
                                                     r->begun ? (chained ? &r->previous : NULL) : r->wait, want ? &event : NULL));
    if (a.s) return a.s;
    if (e->timing && !r->begun) a.s = spmv__cl_event_keep(&e->hooks, &e->first, event);
    if (r->previous) clReleaseEvent(r->previous);
    r->previous = event;
    r->begun = 1;
    r->left--;
    return a.s;
}

/* A vector of n elements from an offset lies within its buffer. */
static spmv_status spmv__cl_exec_check(const spmv_exec *e, cl_mem mem, uint64_t offset, uint64_t n, const char *name)
{
    size_t bytes = 0;
    uint64_t have;
    spmv_status s;
    if (!n) return SPMV_OK;
    if (!mem) return spmv_log(&e->hooks, SPMV_ERR_ARGUMENT, "%s is NULL", name);
    s = SPMV__CL(&e->hooks, clGetMemObjectInfo(mem, CL_MEM_SIZE, sizeof bytes, &bytes, NULL));
    if (s) return s;
    have = (uint64_t)bytes / spmv_vector_size(e->matrix->type);
    if (offset <= have && n <= have - offset) return SPMV_OK;
    return spmv_log(&e->hooks, SPMV_ERR_ARGUMENT, "%s: %llu elements from %llu on, the buffer has %llu", name, (spmv__ull)n,
                    (spmv__ull)offset, (spmv__ull)have);
}

/* An image of the buffer x, as far as images go, with four elements a texel or one; kept while x is the same. */
static spmv_status spmv__cl_exec_image(spmv_exec *e, cl_mem x, uint64_t x_offset, int texel)
{
    const spmv_cl_matrix *m = e->matrix;
    const spmv_hooks *h = &e->hooks;
    uint64_t size = spmv_vector_size(m->type) * (uint64_t)texel, need = (x_offset + m->cols) / (uint64_t)texel;
    int i = texel == 4;
    spmv_status s;
    if (e->seen != x) {
        spmv__cl_exec_forget(e);
        s = SPMV__CL(h, clRetainMemObject(x));
        if (s) return s;
        e->seen = x;
    }
    if (!e->image[i]) {
        cl_image_format format = spmv__cl_image_format(m->type, texel), one = spmv__cl_image_format(m->type, 1);
        cl_image_desc desc;
        size_t bytes = 0;
        cl_int error;
        s = SPMV__CL(h, clGetMemObjectInfo(x, CL_MEM_SIZE, sizeof bytes, &bytes, NULL));
        if (s) return s;
        e->texels[i] = (uint64_t)bytes / size;
        if (e->texels[i] > m->device->info.image_texels) e->texels[i] = m->device->info.image_texels;
        if (!e->texels[i]) { /* x has fewer than four elements: no texel is read */
            e->texels[i] = 1;
            format = one;
        }
        memset(&desc, 0, sizeof desc);
        desc.image_type = CL_MEM_OBJECT_IMAGE1D_BUFFER;
        desc.image_width = (size_t)e->texels[i];
        desc.buffer = x;
        e->image[i] = clCreateImage(m->device->context, CL_MEM_READ_ONLY, &format, &desc, NULL, &error);
        s = spmv__cl(h, "clCreateImage", error);
        if (s) return s;
    }
    if (need <= e->texels[i]) return SPMV_OK;
    return spmv_log(h, SPMV_ERR_LIMIT, "x ends at element %llu of its buffer, an image of it at %llu", (spmv__ull)(x_offset + m->cols),
                    (spmv__ull)(e->texels[i] * (uint64_t)texel));
}

/* The images that the launches want. Reading an image while its buffer is written is undefined, even elsewhere in it. */
static spmv_status spmv__cl_exec_images(spmv_exec *e, cl_mem x, uint64_t x_offset, cl_mem y)
{
    spmv_status s = SPMV_OK;
    size_t i;
    for (i = 0; !s && i < e->count; i++) {
        int texel = e->launch[i].texel;
        if (!texel) continue;
        if (x == y) return spmv_log(&e->hooks, SPMV_ERR_ARGUMENT, "IMG=1: x and y lie in one buffer");
        s = spmv__cl_exec_image(e, x, x_offset, x_offset % 4 ? 1 : texel);
    }
    return s;
}

static spmv_status spmv__cl_exec_mul(spmv_exec *e, double alpha, cl_mem x, uint64_t x_offset, double beta, cl_mem y,
                                     uint64_t y_offset, cl_uint num_wait, const cl_event *wait, cl_event *event)
{
    const spmv_cl_matrix *m = e->matrix;
    size_t i, launches = alpha != 0 && m->rows ? e->count : 0;
    int covers = launches && m->covers && m->part[0].groups;
    int scale = m->rows && beta != 1 && !covers;
    spmv__cl_run r;
    spmv_status s = num_wait && !wait ? spmv__null(&e->hooks, "spmv_exec_mul", "wait", NULL, 0) : SPMV_OK;
    if (!s) s = spmv__cl_exec_check(e, y, y_offset, m->rows, "y");
    if (!s && alpha != 0 && m->rows) s = spmv__cl_exec_check(e, x, x_offset, m->cols, "x");
    if (!s && launches && m->cols) s = spmv__cl_exec_images(e, x, x_offset, y);
    if (s) return s;
    memset(&r, 0, sizeof r);
    r.e = e;
    r.alpha = alpha;
    r.x = x;
    r.y = y;
    r.x0 = m->cols ? x_offset : 0;
    r.y0 = y_offset;
    r.num_wait = num_wait;
    r.wait = num_wait ? wait : NULL;
    r.left = launches + (size_t)scale;
    r.keep_last = event != NULL;
    if (scale) s = spmv__cl_enqueue(&r, &e->scale, beta);
    for (i = 0; !s && i < launches; i++) s = spmv__cl_enqueue(&r, &e->launch[i], covers && e->launch[i].first ? beta : 1);
    if (!s && !r.begun && (event || num_wait || e->timing)) {
        s = SPMV__CL(&e->hooks, clEnqueueMarkerWithWaitList(e->queue, r.num_wait, r.wait, &r.previous));
        if (!s && e->timing) s = spmv__cl_event_keep(&e->hooks, &e->first, r.previous);
    }
    if (!s && e->timing) s = spmv__cl_event_keep(&e->hooks, &e->last, r.previous);
    if (s) spmv__cl_exec_untimed(e);
    if (!s && event) {
        *event = r.previous;
        r.previous = NULL;
    }
    if (r.previous) clReleaseEvent(r.previous);
    return s;
}

SPMV_API spmv_status spmv_exec_mul(spmv_exec *e, double alpha, cl_mem x, uint64_t x_offset, double beta, cl_mem y,
                                   uint64_t y_offset, cl_uint num_wait, const cl_event *wait, cl_event *event)
{
    spmv_status s = spmv__cl_exec_take(e, "spmv_exec_mul");
    if (event) *event = NULL;
    if (s) return s;
    s = spmv__cl_exec_mul(e, alpha, x, x_offset, beta, y, y_offset, num_wait, wait, event);
    spmv__unlock(&e->busy);
    return s;
}

/* The buffers of products with host vectors. */
static spmv_status spmv__cl_exec_host_buffers(spmv_exec *e)
{
    const spmv_cl_matrix *m = e->matrix;
    uint64_t size = spmv_vector_size(m->type);
    spmv_status s = SPMV_OK;
    if (!e->x) s = spmv__cl_new_buffer(m->device, spmv__sat_mul(m->cols, size), CL_MEM_READ_ONLY, &e->x);
    if (!s && !e->y) s = spmv__cl_new_buffer(m->device, spmv__sat_mul(m->rows, size), CL_MEM_READ_WRITE, &e->y);
    return s;
}

static spmv_status spmv__cl_exec_mul_host(spmv_exec *e, double alpha, const void *x, double beta, void *y)
{
    const spmv_cl_matrix *m = e->matrix;
    const spmv_hooks *h = &e->hooks;
    size_t size = spmv_vector_size(m->type), x_bytes = (size_t)m->cols * size, y_bytes = (size_t)m->rows * size;
    const char *missing = spmv__vector_missing(m->rows, m->cols, alpha, x, y);
    cl_event done = NULL;
    spmv_status s;
    if (missing) return spmv__null(h, "spmv_exec_mul_host", missing, NULL, 0);
    if (!m->rows) return SPMV_OK;
    s = spmv__cl_exec_host_buffers(e);
    if (!s && alpha != 0 && m->cols) s = SPMV__CL(h, clEnqueueWriteBuffer(e->queue, e->x, CL_TRUE, 0, x_bytes, x, 0, NULL, NULL));
    if (!s && beta != 0) s = SPMV__CL(h, clEnqueueWriteBuffer(e->queue, e->y, CL_TRUE, 0, y_bytes, y, 0, NULL, NULL));
    if (!s) s = spmv__cl_exec_mul(e, alpha, e->x, 0, beta, e->y, 0, 0, NULL, &done);
    if (!s) s = SPMV__CL(h, clEnqueueReadBuffer(e->queue, e->y, CL_TRUE, 0, y_bytes, y, 1, &done, NULL));
    if (done) clReleaseEvent(done);
    return s;
}

SPMV_API spmv_status spmv_exec_mul_host(spmv_exec *e, double alpha, const void *x, double beta, void *y)
{
    spmv_status s = spmv__cl_exec_take(e, "spmv_exec_mul_host");
    if (s) return s;
    s = spmv__cl_exec_mul_host(e, alpha, x, beta, y);
    spmv__unlock(&e->busy);
    return s;
}

static spmv_status spmv__cl_exec_timing(spmv_exec *e, int on)
{
    cl_command_queue_properties properties = 0;
    spmv_status s = SPMV__CL(&e->hooks, clGetCommandQueueInfo(e->queue, CL_QUEUE_PROPERTIES, sizeof properties, &properties, NULL));
    if (!s && on && !(properties & CL_QUEUE_PROFILING_ENABLE))
        s = spmv_log(&e->hooks, SPMV_ERR_UNSUPPORTED, "the queue was made without CL_QUEUE_PROFILING_ENABLE");
    if (s) return s;
    e->timing = on != 0;
    spmv__cl_exec_untimed(e);
    return SPMV_OK;
}

SPMV_API spmv_status spmv_exec_timing(spmv_exec *e, int on)
{
    spmv_status s = spmv__cl_exec_take(e, "spmv_exec_timing");
    if (s) return s;
    s = spmv__cl_exec_timing(e, on);
    spmv__unlock(&e->busy);
    return s;
}

static spmv_status spmv__cl_exec_seconds(spmv_exec *e, double *seconds)
{
    cl_ulong begin = 0, end = 0;
    spmv_status s;
    if (!e->first || !e->last) return spmv_log(&e->hooks, SPMV_ERR_ARGUMENT, "no product was made with timing on");
    s = SPMV__CL(&e->hooks, clWaitForEvents(1, &e->last));
    if (!s) s = SPMV__CL(&e->hooks, clGetEventProfilingInfo(e->first, CL_PROFILING_COMMAND_START, sizeof begin, &begin, NULL));
    if (!s) s = SPMV__CL(&e->hooks, clGetEventProfilingInfo(e->last, CL_PROFILING_COMMAND_END, sizeof end, &end, NULL));
    if (!s && end > begin) *seconds = (double)(end - begin) * 1e-9;
    return s;
}

SPMV_API spmv_status spmv_exec_seconds(spmv_exec *e, double *seconds)
{
    spmv_status s = seconds ? spmv__cl_exec_take(e, "spmv_exec_seconds") : spmv__null(NULL, "spmv_exec_seconds", "seconds", NULL, 0);
    if (seconds) *seconds = 0;
    if (s) return s;
    s = spmv__cl_exec_seconds(e, seconds);
    spmv__unlock(&e->busy);
    return s;
}

/* ---- self-check -------------------------------------------------------------------------------------------------- */

/* The layouts of each format that are tried, separated by spaces. */
#define SPMV__CHECK_DENSE "dense dense:rows=nonempty"
#define SPMV__CHECK_COO   "coo"
#define SPMV__CHECK_CSR   "csr csr:rows=sorted csr:run=64 csr:rows=nonempty,run=1024,idx=16"
#define SPMV__CHECK_DIA   "dia"
#define SPMV__CHECK_BDIA  "bdia"
#define SPMV__CHECK_ELL   "ell ell:rows=sorted,idx=16"
#define SPMV__CHECK_SELL  "sell:h=8 sell:h=64,rows=sorted,idx=16 sell:h=64,grow=0.3"
#define SPMV__CHECK_BELL  "bell:b=4x4 bell:b=3x3,idx=16"
#define SPMV__CHECK_SBELL "sbell:b=4x4,h=4 sbell:b=3x3,h=4,idx=16"
#define SPMV__CHECK_BCSR  "bcsr:b=4x4 bcsr:b=3x3,idx=16"
#define SPMV__CHECK_CMRS  "cmrs cmrs:rows=nonempty,h=16,sort=1,wide=1"

/* x twice, integers from an aligned element on and reals from an odd one; y between canaries. */
enum {
    SPMV__CHECK_MATRICES = 4, SPMV__CHECK_LONGEST = 2, /* which has the most nonzeros */
    SPMV__CHECK_X0 = 8, SPMV__CHECK_Y0 = 5, SPMV__CHECK_BEHIND = 9, SPMV__CHECK_CANARY = 1234
};

typedef struct spmv__check_case {
    uint32_t     rows, cols;
    uint64_t    *ptr;
    uint32_t    *col;
    double      *val, *x, *y;   /* whole numbers; x and y: those, then reals */
    cl_mem       xd, yd;
    void        *ys, *again;    /* y as it comes back */
    spmv_store   store;         /* of the present layout */
    int          stored;        /* 0: the layout is not for this matrix */
    spmv_variant plain;         /* what knobs the store gets by default */
} spmv__check_case;

typedef struct spmv__checker {
    const spmv_check_desc *desc;
    spmv_check_counts     *counts;
    spmv_hooks  outer, hooks;
    spmv_device device;         /* on the caller's context and queue, with programs of its own */
    spmv_check  now;
    char        message[1024];
    spmv__check_case c[SPMV__CHECK_MATRICES];
} spmv__checker;

static void *spmv__check_resize(void *user, void *block, size_t bytes)
{
    const spmv__checker *k = (const spmv__checker *)user;
    return spmv__resize(&k->outer, block, bytes);
}

/* The first message of a variant is the one that tells. */
static void spmv__check_hear(void *user, spmv_status s, const char *message)
{
    spmv__checker *k = (spmv__checker *)user;
    (void)s;
    if (!k->message[0]) spmv_print(k->message, sizeof k->message, "%s", message);
}

static uint32_t spmv__check_noise(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static double spmv__check_whole(uint32_t *state)
{
    double v = 1 + (double)(spmv__check_noise(state) % 3);
    return spmv__check_noise(state) % 2 ? v : -v;
}

/* Diagonals and blocks; scattered, with empty rows, a full one and a column in all others; rows of 0 to 62; few rows, some
 * long enough to be cut in pieces. */
static int spmv__check_filled(int which, uint32_t r, uint32_t c)
{
    switch (which) {
    case 0: return c == r || c == r + 1 || c + 3 == r || (r / 6 == 4 && c / 6 == 2) || (r > 30 && c == 0);
    case 1: return r % 5 != 2 ? c == 50 || (r * 31 + c * 17 + r * c % 7) % 23 == 0 : r == 17;
    case 2: return c < r * 7 % 71 && (r + c) % 9 != 5;
    default: return r != 3 && (c + r) % 9 != 0;
    }
}

static void *spmv__check_new(spmv__checker *k, uint64_t count, uint64_t size, spmv_status *s)
{
    void *block = *s ? NULL : spmv_alloc(&k->hooks, count, size);
    if (!*s && !block) *s = spmv__no_memory(&k->hooks, count, size);
    if (block) memset(block, 0, (size_t)(count * size));
    return block;
}

static spmv_status spmv__check_make(spmv__checker *k, int which)
{
    static const uint32_t shape[SPMV__CHECK_MATRICES][2] = { { 45, 41 }, { 33, 70 }, { 142, 71 }, { 5, 300 } };
    spmv__check_case *c = &k->c[which];
    uint32_t r, j, state = 7u + (uint32_t)which;
    uint64_t n = 0;
    spmv_status s = SPMV_OK;
    c->rows = shape[which][0];
    c->cols = shape[which][1];
    c->ptr = (uint64_t *)spmv__check_new(k, c->rows + 1, sizeof *c->ptr, &s);
    for (r = 0; !s && r < c->rows; r++) {
        for (j = 0; j < c->cols; j++) n += (uint64_t)spmv__check_filled(which, r, j);
        c->ptr[r + 1] = n;
    }
    c->col = (uint32_t *)spmv__check_new(k, n, sizeof *c->col, &s);
    c->val = (double *)spmv__check_new(k, n, sizeof *c->val, &s);
    c->x = (double *)spmv__check_new(k, 2 * (uint64_t)c->cols, sizeof *c->x, &s);
    c->y = (double *)spmv__check_new(k, 2 * (uint64_t)c->rows, sizeof *c->y, &s);
    c->ys = spmv__check_new(k, c->rows + SPMV__CHECK_Y0 + SPMV__CHECK_BEHIND, sizeof(double), &s);
    c->again = spmv__check_new(k, c->rows + SPMV__CHECK_Y0 + SPMV__CHECK_BEHIND, sizeof(double), &s);
    if (s) return s;
    for (n = 0, r = 0; r < c->rows; r++)
        for (j = 0; j < c->cols; j++)
            if (spmv__check_filled(which, r, j)) {
                c->col[n] = j;
                c->val[n++] = spmv__check_whole(&state);
            }
    /* reals that a float holds, so that every type begins with the same */
    for (j = 0; j < 2 * c->cols; j++)
        c->x[j] = j < c->cols ? spmv__check_whole(&state) : (double)spmv__check_noise(&state) / 8388608.0 - 1;
    for (j = 0; j < 2 * c->rows; j++)
        c->y[j] = j < c->rows ? spmv__check_whole(&state) : (double)spmv__check_noise(&state) / 8388608.0 - 1;
    return SPMV_OK;
}

static void spmv__check_set(spmv_type t, void *v, uint64_t i, double x)
{
    if (t == SPMV_F32) ((float *)v)[i] = (float)x;
    else ((double *)v)[i] = x;
}

static double spmv__check_get(spmv_type t, const void *v, uint64_t i)
{
    return t == SPMV_F32 ? (double)((const float *)v)[i] : ((const double *)v)[i];
}

/* Where the reals of x begin: an odd element, behind the integers. */
static uint64_t spmv__check_x_reals(const spmv__check_case *c)
{
    return ((uint64_t)SPMV__CHECK_X0 + c->cols + SPMV__CHECK_BEHIND) | 1;
}

static uint64_t spmv__check_x_size(const spmv__check_case *c)
{
    return spmv__check_x_reals(c) + c->cols + SPMV__CHECK_BEHIND;
}

static uint64_t spmv__check_y_size(const spmv__check_case *c)
{
    return (uint64_t)SPMV__CHECK_Y0 + c->rows + SPMV__CHECK_BEHIND;
}

/* Buffers of the type at hand; what is around x is not a number. */
static spmv_status spmv__check_buffers(spmv__checker *k, spmv__check_case *c, spmv_type type)
{
    uint64_t i, size = spmv_vector_size(type), bytes = spmv__check_x_size(c) * size, reals = spmv__check_x_reals(c);
    spmv_status s = SPMV_OK;
    void *x = spmv__check_new(k, spmv__check_x_size(c), size, &s);
    if (!s) {
        memset(x, 0xff, (size_t)bytes);
        for (i = 0; i < c->cols; i++) {
            spmv__check_set(type, x, SPMV__CHECK_X0 + i, c->x[i]);
            spmv__check_set(type, x, reals + i, c->x[c->cols + i]);
        }
        s = spmv__cl_new_buffer(&k->device, bytes, CL_MEM_READ_ONLY, &c->xd);
    }
    if (!s) s = spmv__cl_new_buffer(&k->device, spmv__check_y_size(c) * size, CL_MEM_READ_WRITE, &c->yd);
    if (!s) s = SPMV__CL(&k->hooks, clEnqueueWriteBuffer(k->device.queue, c->xd, CL_TRUE, 0, (size_t)bytes, x, 0, NULL,
                                                         NULL));
    spmv_free(&k->hooks, x);
    return s;
}

static void spmv__check_buffers_free(spmv__check_case *c)
{
    if (c->xd) clReleaseMemObject(c->xd);
    if (c->yd) clReleaseMemObject(c->yd);
    c->xd = c->yd = NULL;
}

/* One product into out, which begins as y, not a number where beta is 0. */
static spmv_status spmv__check_product(spmv__checker *k, spmv__check_case *c, spmv_exec *e, int real, double alpha,
                                       double beta, void *out)
{
    spmv_type t = k->now.type;
    uint64_t i, n = spmv__check_y_size(c);
    size_t bytes = (size_t)(n * spmv_vector_size(t));
    spmv_status s;
    memset(out, 0xff, bytes);
    for (i = 0; i < n; i++) {
        int inside = i >= SPMV__CHECK_Y0 && i < SPMV__CHECK_Y0 + (uint64_t)c->rows;
        if (!inside) spmv__check_set(t, out, i, SPMV__CHECK_CANARY);
        else if (beta != 0) spmv__check_set(t, out, i, c->y[i - SPMV__CHECK_Y0 + (real ? c->rows : 0)]);
    }
    k->counts->products++;
    s = SPMV__CL(&k->hooks, clEnqueueWriteBuffer(k->device.queue, c->yd, CL_TRUE, 0, bytes, out, 0, NULL, NULL));
    if (!s) s = spmv_exec_mul(e, alpha, c->xd, real ? spmv__check_x_reals(c) : (uint64_t)SPMV__CHECK_X0, beta, c->yd,
                              SPMV__CHECK_Y0, 0, NULL, NULL);
    if (!s) s = SPMV__CL(&k->hooks, clEnqueueReadBuffer(k->device.queue, c->yd, CL_TRUE, 0, bytes, out, 0, NULL, NULL));
    return s;
}

static long double spmv__check_abs(long double v) { return v < 0 ? -v : v; }

/* 1 if out is right; else the message says what is not. */
static int spmv__check_right(spmv__checker *k, const spmv__check_case *c, int real, double alpha, double beta)
{
    spmv_type t = k->now.type;
    const double *x = c->x + (real ? c->cols : 0), *y = c->y + (real ? c->rows : 0);
    long double u = t == SPMV_F32 ? 1.0L / 16777216 : 1.0L / 9007199254740992.0L;
    uint64_t i, j, n = spmv__check_y_size(c);
    for (i = 0; i < n; i++) {
        double got = spmv__check_get(t, c->ys, i);
        long double sum = 0, size = 0, want, far;
        uint64_t r = i - SPMV__CHECK_Y0;
        if (i < SPMV__CHECK_Y0 || r >= c->rows) {
            if (got == (double)SPMV__CHECK_CANARY) continue;
            spmv__check_hear(k, SPMV_OK, i < SPMV__CHECK_Y0 ? "it writes before y" : "it writes behind y");
            return 0;
        }
        for (j = c->ptr[r]; j < c->ptr[r + 1]; j++) {
            long double term = (long double)c->val[j] * x[c->col[j]];
            sum += term;
            size += spmv__check_abs(term);
        }
        want = alpha * sum + (beta != 0 ? (long double)beta * y[r] : 0);
        size = spmv__check_abs(alpha) * size + spmv__check_abs((long double)beta * y[r]);
        far = real ? (long double)(c->ptr[r + 1] - c->ptr[r] + 4) * u * size : 0;
        if (spmv__check_abs(got - want) <= far) continue;
        spmv_log(&k->hooks, SPMV_OK, "%ux%u, %s, alpha %f, beta %f: row %llu is %f, not %f", (unsigned)c->rows, (unsigned)c->cols,
                  real ? "reals" : "integers", alpha, beta, (spmv__ull)r, got, (double)want);
        return 0;
    }
    return 1;
}

/* All products of one matrix. *exact and *bound fall to 0 where one is wrong. */
static spmv_status spmv__check_products(spmv__checker *k, spmv__check_case *c, spmv_exec *e, int atomic)
{
    static const double alpha[2][2] = { { 1, -2 }, { 1, -2.5 } }, beta[2][2] = { { 0, 3 }, { 0, 1.5 } };
    size_t bytes = (size_t)(spmv__check_y_size(c) * spmv_vector_size(k->now.type));
    spmv_status s = SPMV_OK;
    int brief = k->desc->brief, first = brief && c != k->c, last = brief ? first : 1, real, i;
    for (real = 0; real < 2 - brief; real++)
        for (i = first; !s && i <= last; i++) {
            s = spmv__check_product(k, c, e, real, alpha[real][i], beta[real][i], c->ys);
            if (!s && !spmv__check_right(k, c, real, alpha[real][i], beta[real][i]))
                *(real ? &k->now.bound : &k->now.exact) = 0;
        }
    if (atomic || brief) return s;
    if (!s) s = spmv__check_product(k, c, e, 1, alpha[1][1], beta[1][1], c->again);
    if (!s && memcmp(c->ys, c->again, bytes) != 0) {
        k->now.bound = 0;
        spmv__check_hear(k, SPMV_OK, "the same product again gave other bits");
    }
    return s;
}

/* One variant with one matrix; *own becomes 1 if the knobs make a difference there. wish NULL: defaults. */
static spmv_status spmv__check_matrix(spmv__checker *k, spmv__check_case *c, const spmv_variant *wish, int *own)
{
    spmv_cl_matrix m;
    spmv_exec e;
    const spmv_variant *v;
    spmv_status s = spmv_cl_create(&m, &k->device, c->rows, c->cols, k->now.type, c->store.part,
                                   (size_t)c->store.count, wish);
    if (s) return s;
    v = spmv_cl_variant(&m, 0);
    if (!wish) c->plain = *v;
    if (!wish || v->set != c->plain.set || memcmp(v->value, c->plain.value, sizeof v->value) != 0) {
        *own = 1;
        s = spmv_exec_create(&e, &m, NULL);
        if (!s) s = spmv__check_products(k, c, &e, v->value[SPMV_KNOB_ATOMIC] != 0);
        spmv_exec_free(&e);
    }
    spmv_cl_free(&m);
    return s;
}

static spmv_check_result spmv__check_judge(spmv_status s, const spmv_check *c)
{
    if (s == SPMV_ERR_LIMIT || s == SPMV_ERR_NO_F64 || s == SPMV_ERR_UNSUPPORTED || s == SPMV_ERR_OVERFLOW)
        return SPMV_CHECK_REFUSED;
    if (s) return SPMV_CHECK_FAILED;
    return c->exact && c->bound ? SPMV_CHECK_USABLE : SPMV_CHECK_WRONG;
}

static void spmv__check_report(spmv__checker *k, spmv_check_result result, spmv_status s)
{
    k->now.result = result;
    k->now.status = s;
    k->now.message = k->message;
    if (s && !k->message[0]) k->now.message = spmv_status_text(s);
    if (k->desc->report) k->desc->report(k->desc->user, &k->now);
}

/* One variant with all matrices. *out gets what came of it; SPMV_ERR_MEMORY ends the check. */
static spmv_status spmv__check_variant(spmv__checker *k, const spmv_variant *wish, spmv_status *out)
{
    char text[SPMV_VARIANT_TEXT];
    spmv_check_result result;
    spmv_status s = SPMV_OK;
    int i, own = 0;
    text[0] = 0;
    if (wish) spmv_variant_print(wish, text, sizeof text);
    k->now.variant = text;
    k->now.exact = k->now.bound = 1;
    k->now.built = 0;
    k->message[0] = 0;
    spmv__check_report(k, SPMV_CHECK_BEGINS, SPMV_OK);
    for (i = 0; !s && i < SPMV__CHECK_MATRICES; i++)
        if (k->c[i].stored) s = spmv__check_matrix(k, &k->c[i], wish, &own);
    *out = s;
    if (s == SPMV_ERR_MEMORY) return s;
    /* such a combination does not exist; such a value changes nothing here */
    if (s == SPMV_ERR_ARGUMENT || s == SPMV_ERR_PLAN || (!s && !own)) return SPMV_OK;
    k->now.built = s == SPMV_OK;
    if (s) k->now.exact = k->now.bound = 0;
    result = spmv__check_judge(s, &k->now);
    k->counts->variants++;
    k->counts->usable += result == SPMV_CHECK_USABLE;
    k->counts->refused += result == SPMV_CHECK_REFUSED;
    k->counts->failed += result == SPMV_CHECK_FAILED;
    k->counts->wrong += result == SPMV_CHECK_WRONG;
    spmv__check_report(k, result, s);
    return SPMV_OK;
}

/* Every value of each knob from first on beside those in v; two knobs deep for pairs. */
static spmv_status spmv__check_knobs(spmv__checker *k, const spmv_variant *v, int first, int deep)
{
    spmv_status s = SPMV_OK, what;
    int knob;
    for (knob = first; !s && knob < SPMV_KNOB_COUNT; knob++) {
        int values[64];
        size_t i, n = spmv_knob_values(k->now.format, (spmv_knob)knob, values, 64);
        for (i = 0; !s && i < n && i < 64; i++) {
            spmv_variant next = *v;
            spmv__cl_knob_choose(&next, (spmv_knob)knob, values[i]);
            s = spmv__check_variant(k, &next, &what);
            if (!s && deep) s = spmv__check_knobs(k, &next, knob + 1, 0);
        }
    }
    return s;
}

/* The matrices in the present layout; those that it cannot hold are left out. */
static spmv_status spmv__check_store(spmv__checker *k, spmv__check_case *c)
{
    spmv_plan plan;
    spmv_input in;
    spmv_build how;
    spmv_csr csr;
    spmv_status s;
    memset(&in, 0, sizeof in);
    memset(&how, 0, sizeof how);
    in.rows = c->rows;
    in.cols = c->cols;
    in.ptr = c->ptr;
    in.ptr_bits = 64;
    in.col = c->col;
    in.val = c->val;
    how.type = k->now.type;
    how.reproducible = k->desc->reproducible;
    s = spmv_plan_parse(&plan, k->now.plan, NULL, &k->hooks);
    if (!s) s = spmv_csr_from(&csr, &in, how.type, &k->hooks);
    if (s) return s;
    s = spmv_store_make(&c->store, &plan, &csr, &how, &k->hooks);
    spmv_csr_free(&csr);
    c->stored = !s;
    return s == SPMV_ERR_TOO_LARGE || s == SPMV_ERR_INCOMPLETE || s == SPMV_ERR_UNSUPPORTED ? SPMV_OK : s;
}

static spmv_status spmv__check_layout(spmv__checker *k, const char *plan)
{
    spmv_variant none;
    spmv_status s = SPMV_OK, what = SPMV_OK;
    int i, any = 0;
    memset(&none, 0, sizeof none);
    k->now.plan = plan;
    k->message[0] = 0;
    for (i = 0; !s && i < SPMV__CHECK_MATRICES; i++) {
        if (i == SPMV__CHECK_LONGEST && k->desc->brief) continue;
        s = spmv__check_store(k, &k->c[i]);
        any |= k->c[i].stored;
    }
    if (!s && any) s = spmv__check_variant(k, NULL, &what);
    if (!s && any && what != SPMV_ERR_NO_F64) s = spmv__check_knobs(k, &none, 0, k->desc->pairs);
    for (i = 0; i < SPMV__CHECK_MATRICES; i++) {
        if (k->c[i].stored) spmv_store_free(&k->c[i].store);
        k->c[i].stored = 0;
    }
    spmv__cl_programs_free(&k->device);
    return s;
}

static spmv_status spmv__check_format(spmv__checker *k, spmv_format f)
{
    static const char *const layouts[] = {
#define X(NAME, name, text) SPMV__CHECK_##NAME,
        SPMV_FORMAT_LIST(X)
#undef X
    };
    const char *p = layouts[f];
    char plan[128];
    size_t n;
    spmv_status s = SPMV_OK;
    k->now.format = f;
    for (; !s && (n = spmv__cl_word(&p)) != 0; p += n) {
        spmv_print(plan, n + 1 < sizeof plan ? n + 1 : sizeof plan, "%s", p);
        s = spmv__check_layout(k, plan);
    }
    return s;
}

static spmv_status spmv__check_type(spmv__checker *k, spmv_type t)
{
    spmv_status s = SPMV_OK;
    int f, i;
    k->now.type = t;
    for (i = 0; !s && i < SPMV__CHECK_MATRICES; i++) s = spmv__check_buffers(k, &k->c[i], t);
    for (f = 0; !s && f < SPMV_FORMAT_COUNT; f++) {
        if (!spmv_format_built((spmv_format)f) || (k->desc->formats && !(k->desc->formats >> f & 1u))) continue;
        if (k->desc->reproducible && !(spmv_format_flags((spmv_format)f) & SPMV_REPEATS)) continue;
        s = spmv__check_format(k, (spmv_format)f);
    }
    for (i = 0; i < SPMV__CHECK_MATRICES; i++) spmv__check_buffers_free(&k->c[i]);
    return s;
}

static void spmv__check_free(spmv__checker *k)
{
    int i;
    for (i = 0; i < SPMV__CHECK_MATRICES; i++) {
        spmv__check_case *c = &k->c[i];
        spmv_free(&k->hooks, c->ptr);
        spmv_free(&k->hooks, c->col);
        spmv_free(&k->hooks, c->val);
        spmv_free(&k->hooks, c->x);
        spmv_free(&k->hooks, c->y);
        spmv_free(&k->hooks, c->ys);
        spmv_free(&k->hooks, c->again);
    }
    spmv_device_close(&k->device);
}

SPMV_API spmv_status spmv_self_check(spmv_device *d, const spmv_check_desc *desc, spmv_check_counts *counts)
{
    if (!d || !counts) return spmv__null(d ? &d->hooks : NULL, "spmv_self_check", !d ? "d" : "counts", counts, sizeof *counts);
    spmv_check_desc all;
    spmv_hooks h = d->hooks;
    spmv__checker *k = (spmv__checker *)spmv_alloc(&h, 1, sizeof *k);
    spmv_device_desc own;
    spmv_status s;
    int i;
    memset(counts, 0, sizeof *counts);
    memset(&all, 0, sizeof all);
    memset(&own, 0, sizeof own);
    if (!k) return spmv__no_memory(&h, 1, sizeof *k);
    memset(k, 0, sizeof *k);
    k->desc = desc ? desc : &all;
    k->counts = counts;
    k->outer = h;
    k->hooks.user = k;
    k->hooks.resize = spmv__check_resize;
    k->hooks.log = spmv__check_hear;
    own.context = d->context;
    own.device = d->info.id;
    own.queue = d->queue;
    own.hooks = k->hooks;
    s = spmv_device_open(&k->device, &own);
    if (!s) k->device.info = d->info;
    for (i = 0; !s && i < SPMV__CHECK_MATRICES; i++) s = spmv__check_make(k, i);
    for (i = 0; !s && i < SPMV_TYPE_COUNT; i++)
        if (!k->desc->types || k->desc->types >> i & 1u) s = spmv__check_type(k, (spmv_type)i);
    if (s) spmv_log(&h, s, "self-check: %s", k->message);
    spmv__check_free(k);
    spmv_free(&h, k);
    return s;
}

#endif /* SPMV_IMPLEMENTATION */
