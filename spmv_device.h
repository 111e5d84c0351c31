/* SPDX-License-Identifier: MIT
 *
 * spmv_device.h - sparse matrix times vector on devices: what all back ends share.
 *
 * A back end (spmv_cl.h) is a table of functions that list devices, build programs, hold buffers and launch kernels. Everything
 * else is here: knobs and variants, kernel sources and their arguments, parts larger than a buffer, products, and the self-check.
 * Stored parts go   spmv_part[] --spmv_device_matrix_create--> spmv_device_matrix --spmv_exec_create--> spmv_exec --> y.
 *
 *   spmv_device         context, queue and compiled programs of one device. Making matrices on one device object from two
 *                       threads at once needs the caller's lock, for the programs; products need none.
 *   spmv_device_matrix  the parts in device memory; immutable during products, so that any number of threads and queues
 *                       may multiply with it at once, each through an exec of its own.
 *   spmv_exec           what one product in flight needs: kernels with their arguments set, carries of split rows. One for
 *                       each thread and queue; a second thread in the same one gets SPMV_ERR_BUSY.
 *
 * Close in reverse order: execs, then their matrix, then its device; each holds pointers to what it was made from, so
 * that those may not move either. All three are safe to destroy when zeroed or when their making failed.
 *
 * Same matrix, variant and device give the same bits in every product. Configuration macros: spmv_formats.h.
 *
 * If you only want the interface, stop at "END OF THE INTERFACE".
 */
#include "spmv_plan.h" /* above the guard: its implementation may be wanted although this interface was seen */
#ifndef SPMV_DEVICE_H
#ifdef SPMV_H
#error "include spmv_device.h before spmv.h, which was compiled without devices (SPMV_NO_DEVICES)"
#endif
#define SPMV_DEVICE_H

#ifdef __cplusplus
extern "C" {
#endif

/* ---- devices ----------------------------------------------------------------------------------------------------- */

typedef enum spmv_device_type {
    SPMV_DEVICE_OTHER = 0,
    SPMV_DEVICE_GPU,
    SPMV_DEVICE_CPU,
    SPMV_DEVICE_ACCELERATOR
} spmv_device_type;

/* "gpu", "cpu", "accelerator" or "other". */
SPMV_API const char *spmv_device_type_name(spmv_device_type type);

/* What runs on a device is named by handles that only its back end understands (OpenCL: cl_platform_id, cl_device_id, ...). */
typedef struct spmv_device_info {
    char name[256], vendor[128], version[128], driver[128], platform[128]; /* cut where longer */
    const struct spmv_backend *backend;
    void          *platform_id;
    void          *id;
    spmv_device_type type;
    unsigned       compute_units;
    unsigned       address_bits;
    uint64_t       global_bytes;
    uint64_t       alloc_bytes;   /* the largest buffer */
    uint64_t       local_bytes;
    uint64_t       group_size;    /* the largest work-group */
    uint64_t       image_texels;  /* the largest image of a buffer, 0: no images */
    int            f64;           /* 1: has double precision */
    int            profiling;     /* 1: queues can measure time */
    int            out_of_order;  /* 1: queues can be out of order */
    int            atomics64;     /* 1: 64-bit compare and exchange */
    unsigned       nvidia;        /* compute capability (90: 9.0) if the device is driven by NVIDIA's own driver, else 0 */
} spmv_device_info;

/* Selects a device, or supplies the caller's own context, device and queue. Zero means default. */
typedef struct spmv_device_desc {
    const char *which;   /* index in the list of devices ("0"), type ("gpu", "cpu", "accelerator": the first such), or part of a
                            name in any case; NULL or "": the first GPU, else the first device. Behind the name of a back end and
                            a colon ("cuda:0", "opencl:gpu", "cuda:") only its devices count, from 0 on */
    void       *context; /* the caller's, with device: which is ignored then. Both are retained. OpenCL: a cl_context */
    void       *device;  /* OpenCL: a cl_device_id */
    void       *queue;   /* the caller's, retained; alone it also says context and device. NULL: one is made. OpenCL: a
                            cl_command_queue */
    const struct spmv_backend *backend; /* the back end that the caller's handles belong to; NULL: the first, which is OpenCL in
                            spmv_device_open */
    int         profile; /* 1: the queue that is made measures time (spmv_exec_seconds) */
    spmv_hooks  hooks;   /* memory and messages of the device and all that is made on it */
} spmv_device_desc;

typedef struct spmv__program spmv__program;

typedef struct spmv_device {
    spmv_device_info info;     /* info.backend: whose functions are called */
    void            *context;  /* the back end's; OpenCL: a cl_context */
    void            *queue;    /* OpenCL: a cl_command_queue */
    spmv__program   *programs; /* what was built, kept until the device is closed */
    spmv_hooks       hooks;
} spmv_device;

/* Releases programs, queue and context. */
SPMV_API void spmv_device_close(spmv_device *d);

/* The devices of several back ends, all being an array of them with NULL at its end; spmv_device_list and spmv_device_open of
 * spmv.h are these two with all that are compiled in.
 * List: in the order of their index; fills up to max of out (NULL if max is 0) and sets *count to how many there are.
 * Open: out need not be initialised; on failure it is zeroed. desc NULL: all of it zero. SPMV_ERR_NO_DEVICE if there is none
 * of that kind. */
SPMV_API spmv_status spmv_backends_list(const struct spmv_backend *const *all, spmv_device_info *out, size_t max, size_t *count,
                                        const spmv_hooks *hooks);
SPMV_API spmv_status spmv_backends_open(const struct spmv_backend *const *all, spmv_device *out, const spmv_device_desc *desc);

/* ---- back ends ---------------------------------------------------------------------------------------------------
 * For back-end authors. Handles (void *) are the back end's own: programs, kernels, buffers, queues, events. A function that fails logs
 * the reason to d->hooks, returns a status and leaves its output untouched or NULL; handles returned are never NULL. Any thread may call
 * any function, but only one thread at a time uses one kernel or one exec's queue. Kernels come as OpenCL C 1.2 with -D options; a
 * back end of another language translates them. The option NVIDIA is given where info.nvidia says so, and allows PTX in them. */

/* A program: strings to be compiled one behind the other, and what for. */
typedef struct spmv_kernel_source {
    const char *file;    /* of the kernels, for the message where it does not build */
    const char *options; /* "-DVAL=float -DWG=64" */
    unsigned    count;
    const char *text[6];
    size_t      size[6];
} spmv_kernel_source;

/* Events that a launch waits for, in addition to the order of its queue. */
typedef struct spmv_order {
    unsigned    count;   /* of events in wait */
    const void *wait;    /* an array in the form in which the back end's own call takes it from the caller */
    void       *after;   /* one event more, or NULL; then count is 0 */
} spmv_order;

typedef struct spmv_backend {
    const char *name; /* "OpenCL" */
    /* As spmv_backends_list; SPMV_OK and a count of 0 where the machine has no driver. */
    spmv_status (*list)(spmv_device_info *out, size_t max, size_t *count, const spmv_hooks *hooks);
    /* Sets context and queue of *d, whose info is that of the device chosen; or, where the caller's own are in desc, retains them
     * and describes the device in info as list does. close is called also after a failure. */
    spmv_status (*open)(spmv_device *d, const spmv_device_desc *desc);
    void (*close)(spmv_device *d);
    /* SPMV_ERR_BUILD with the compiler's words in the message. */
    spmv_status (*build)(const spmv_device *d, const spmv_kernel_source *source, void **program);
    void (*program_free)(const spmv_device *d, void *program);
    spmv_status (*kernel)(const spmv_device *d, void *program, const char *name, void **kernel);
    void (*kernel_free)(const spmv_device *d, void *kernel);
    /* The largest group that the compiled kernel can run with, and the bytes of local memory that it takes. */
    spmv_status (*kernel_limits)(const spmv_device *d, void *kernel, uint64_t *group, uint64_t *local);
    /* Argument number index, copied; it stays for all launches until it is set again. A buffer: value is where its handle stands,
     * size that of a handle. */
    spmv_status (*argument)(const spmv_device *d, void *kernel, unsigned index, const void *value, size_t size);
    /* bytes is at least 1. from: what it begins with, NULL: not set to anything. */
    spmv_status (*buffer)(const spmv_device *d, uint64_t bytes, int read_only, const void *from, void **buffer);
    void (*buffer_free)(const spmv_device *d, void *buffer);
    spmv_status (*buffer_bytes)(const spmv_device *d, void *buffer, uint64_t *bytes);
    /* Copies from and to the beginning of a buffer, done on return. Reading waits for the event after, if it is not NULL. */
    spmv_status (*write)(const spmv_device *d, void *queue, void *buffer, uint64_t bytes, const void *from);
    spmv_status (*read)(const spmv_device *d, void *queue, void *buffer, uint64_t bytes, void *to, void *after);
    /* Enqueues that the first bytes, a multiple of 4, become copies of word. */
    spmv_status (*fill)(const spmv_device *d, void *queue, void *buffer, uint64_t bytes, uint32_t word);
    /* Retains a queue (SPMV_ERR_ARGUMENT: it is not of d's context and device) and tells what it is. */
    spmv_status (*queue_keep)(const spmv_device *d, void *queue, int *out_of_order, int *profiles);
    void (*queue_free)(const spmv_device *d, void *queue);
    spmv_status (*finish)(const spmv_device *d, void *queue);
    /* groups of wg work-items. event, if not NULL, gets an event that completes with the launch. */
    spmv_status (*launch)(const spmv_device *d, void *queue, void *kernel, uint64_t groups, uint64_t wg, const spmv_order *order,
                          void **event);
    /* An event that completes once order and all before it in the queue is done. */
    spmv_status (*marker)(const spmv_device *d, void *queue, const spmv_order *order, void **event);
    spmv_status (*event_keep)(const spmv_device *d, void *event);
    void (*event_free)(const spmv_device *d, void *event);
    /* Waits for last; device time from first's begin to last's end. */
    spmv_status (*seconds)(const spmv_device *d, void *first, void *last, double *seconds);
    /* Images of buffers, for IMG=1; all three NULL where info.image_texels is 0. texel: elements of x in one, 1 or 4 (f32 only).
     * Images are freed by buffer_free. */
    spmv_status (*image_check)(const spmv_device *d, spmv_type type, int texel);
    spmv_status (*image)(const spmv_device *d, void *buffer, spmv_type type, int texel, uint64_t texels, void **image);
    spmv_status (*buffer_keep)(const spmv_device *d, void *buffer);
} spmv_backend;

/* ---- vectors in device memory ------------------------------------------------------------------------------------
 * For programs that run on any back end; those of one may use its own buffers as well (OpenCL: a cl_mem). All work on the device's
 * queue and, but for fill, are done on return. */

/* SPMV_ERR_LIMIT beyond the largest buffer of the device. bytes 0: a buffer that nothing is read of. On failure *out is NULL. To be
 * freed before the device is closed. */
SPMV_API spmv_status spmv_buffer_create(const spmv_device *d, uint64_t bytes, void **out);
SPMV_API void spmv_buffer_free(const spmv_device *d, void *buffer);
/* The first bytes of a buffer, which must have as many. */
SPMV_API spmv_status spmv_buffer_write(const spmv_device *d, void *buffer, uint64_t bytes, const void *from);
SPMV_API spmv_status spmv_buffer_read(const spmv_device *d, void *buffer, uint64_t bytes, void *to);
/* Copies of word; bytes is a multiple of 4. */
SPMV_API spmv_status spmv_buffer_fill(const spmv_device *d, void *buffer, uint64_t bytes, uint32_t word);
/* Waits until everything in the device's queue is done. */
SPMV_API spmv_status spmv_device_finish(const spmv_device *d);

/* ---- variants ----------------------------------------------------------------------------------------------------
 * X(NAME, GPU, CPU, "what it is"): the knobs of all kernels with their defaults. Legal values stand beside each knob in
 * the kernels ("tune:" lines); a format takes those knobs that its kernel names there. A new knob is a row here and an #ifndef
 * in the kernels that know it. */
#define SPMV_KNOB_LIST(X)                                                                                            \
    X(L,     0,   1, "lanes: work-items a row or block row; default 0: by the mean row length and the number of "    \
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
    X(V,     1,   1, "rows an item of ell, sell, dia, bdia, block rows of bell; neighbours in a row of dense")       \
    X(SEQ,   1,   1, "block rows an item, one after another")                                                        \
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
/* Turns v into the variant that spmv_device_matrix_create would use: what is not set gets defaults by device and part, knobs that make no
 * difference to the part are taken out. SPMV_ERR_LIMIT if the device cannot take it (a compiled kernel may still turn out to
 * need more than the device has). */
SPMV_API spmv_status spmv_variant_resolve(spmv_variant *v, const spmv_device *d, const spmv_part *p);

/* ---- a matrix in device memory ----------------------------------------------------------------------------------- */

typedef struct spmv_device_part {
    size_t       source;               /* which of the parts given it is, or is a stretch of */
    spmv_format  format;
    uint64_t     begin, end;           /* the stretch, in what that format is cut at: slices, runs, ... */
    uint64_t     row;                  /* of the matrix where it begins; 0 with a row list */
    uint64_t     rows, nnz;
    uint64_t     values;               /* slots of val */
    spmv_variant variant;              /* every knob of the format is set: what is in use */
    void        *program;              /* the device's */
    void        *a[SPMV_MAX_ARRAYS];   /* buffers; NULL: no elements */
    void        *list;                 /* row list, or NULL */
    uint64_t     n[SPMV_MAX_INTS];
    int          runs;                 /* 1: csr in runs */
    uint64_t     groups;               /* of the kernel; 0: nothing to do */
    uint64_t     finish;               /* of the finishing launch, that adds what groups left in the carries; 0: none */
    uint64_t     carries;              /* how many of those an exec holds */
    uint64_t     counters;             /* of groups that have left theirs: behind the carries, 0 between products */
} spmv_device_part;

typedef struct spmv_device_matrix {
    spmv_device  *device;
    spmv_type     type;
    uint64_t      rows, cols;
    int           covers;              /* 1: part 0 sets every row of y */
    size_t        sources;             /* parts given */
    size_t        count;               /* those in device memory: more where arrays were larger than a buffer */
    spmv_device_part *part;
    void         *scale;               /* the device's program that only scales y */
    void         *none;                /* a buffer: stands for arrays without elements */
    spmv_hooks    hooks;
} spmv_device_matrix;

/* Copies the parts to the device and builds their kernels. All must have the type and cols given here; without a row
 * list a part must have that many rows. variants: one for each part, or NULL: defaults; knobs that are not set get
 * defaults by device and part. A part with an array larger than a buffer of the device is cut into stretches of rows (coo: of
 * entries), each with buffers and launches of its own. The parts are not needed any more afterwards.
 * out need not be initialised; on failure it is zeroed. SPMV_ERR_NO_F64, SPMV_ERR_BUILD (the build log is in the message),
 * SPMV_ERR_LIMIT if a buffer that cannot be cut further, all buffers together, local memory or a work-group is beyond the
 * device. */
SPMV_API spmv_status spmv_device_matrix_create(spmv_device_matrix *out, spmv_device *d, uint64_t rows, uint64_t cols, spmv_type type,
                                    const spmv_part *parts, size_t count, const spmv_variant *variants);
/* Copies the values again, after spmv_part_update of the parts it was made from. No product may be running. */
SPMV_API spmv_status spmv_device_matrix_update(spmv_device_matrix *m, const spmv_part *parts, size_t count);
SPMV_API void spmv_device_matrix_free(spmv_device_matrix *m);
/* The variant in use for the i-th of the parts given; of its first stretch, if it was cut. */
SPMV_API const spmv_variant *spmv_device_matrix_variant(const spmv_device_matrix *m, size_t i);

/* The program of a format for build options ("-DVAL=double -DVEC=double -DF64 -DWG=64 ..."), built if the device object has none
 * yet. It stays the device's. options NULL: none. For the tuner and for tests; spmv_device_matrix_create finds the options by itself. */
SPMV_API spmv_status spmv_device_program(spmv_device *d, spmv_format f, const char *options, void **out);

/* ---- products ---------------------------------------------------------------------------------------------------- */

typedef struct spmv__launch {
    void     *kernel;
    uint64_t  groups, wg;
    unsigned  arg;      /* the first of the arguments that change: x, its offset, y, its offset, alpha, beta, the image */
    int       first;    /* 1: of the first part given */
    uint64_t  row;      /* of y, where its rows begin */
    int       texel;    /* elements of x in a texel of the image that it wants; 0: it wants none */
    void     *carry[2]; /* sums and rows of split rows; the finishing launch reads those of the launch before */
} spmv__launch;

typedef struct spmv_exec {
    const spmv_device_matrix *matrix;
    void                 *queue;       /* the back end's */
    int                   chain;       /* 1: the queue is out of order, launches wait for each other by events */
    int                   profiles;    /* 1: the queue measures time */
    int                   timing;
    spmv__launch          scale;
    spmv__launch         *launch;
    size_t                count;
    void                 *x, *y;       /* buffers of spmv_exec_mul_host */
    void                 *seen;        /* the x that the images are of */
    void                 *image[2];    /* one, four elements a texel */
    uint64_t              texels[2];
    void                 *first, *last; /* events, timing: of the latest product */
    long                  busy;        /* 1: a thread is in one of the functions below */
    spmv_hooks            hooks;
} spmv_exec;

/* Makes what products on a queue need. queue (OpenCL: a cl_command_queue) NULL: the device's; else one of the same context and
 * device, retained, in order or not. out need not be initialised; on failure it is zeroed. */
SPMV_API spmv_status spmv_exec_create(spmv_exec *out, const spmv_device_matrix *m, void *queue);
SPMV_API void spmv_exec_free(spmv_exec *e);

/* Enqueues y = alpha A x + beta y for buffers of the device, behind what is in the queue; where the queue is out of order, call
 * spmv_device_finish between a product and what must come before or after it. What holds for spmv_exec_mul (spmv_cl.h), which takes a
 * wait list and returns an event, holds here as well. */
SPMV_API spmv_status spmv_exec_mul_buffers(spmv_exec *e, double alpha, void *x, uint64_t x_offset, double beta, void *y,
                                           uint64_t y_offset);
/* The same with host vectors; returns with y done. Buffers are allocated at the first call and kept in e. */
SPMV_API spmv_status spmv_exec_mul_host(spmv_exec *e, double alpha, const void *x, double beta, void *y);
/* Switches timing on (1) or off: products then keep their events for spmv_exec_seconds. The queue must profile. */
SPMV_API spmv_status spmv_exec_timing(spmv_exec *e, int on);
/* Waits for the latest product and tells the device's time from the start of its first launch to the end of its last. */
SPMV_API spmv_status spmv_exec_seconds(spmv_exec *e, double *seconds);

/* ---- self-check --------------------------------------------------------------------------------------------------
 * For a device nobody has tried: every layout of every format with every legal value of every knob multiplies small
 * matrices made here and is held against the plain loop: integers must come out equal, reals within the bound of their
 * row, the same product twice with the same bits (but for ATOMIC=1), and nothing may be written outside y. A driver that
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
#endif /* SPMV_DEVICE_H */
/* ============================================ END OF THE INTERFACE ============================================== */

#if defined(SPMV_IMPLEMENTATION) && !defined(SPMV_DEVICE_IMPLEMENTED)
#define SPMV_DEVICE_IMPLEMENTED

#include <string.h>
#if defined(_MSC_VER) && !defined(__GNUC__)
#include <intrin.h> /* _InterlockedExchange */
#endif
#include "spmv_kernels.h"

/* ---- devices ----------------------------------------------------------------------------------------------------- */

SPMV_API const char *spmv_device_type_name(spmv_device_type type)
{
    switch (type) {
    case SPMV_DEVICE_GPU: return "gpu";
    case SPMV_DEVICE_CPU: return "cpu";
    case SPMV_DEVICE_ACCELERATOR: return "accelerator";
    default: return "other";
    }
}

static char spmv__dev_lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c; }

/* 1 if text begins with word, in any case. */
static int spmv__dev_begins(const char *text, const char *word)
{
    while (*word && spmv__dev_lower(*text) == spmv__dev_lower(*word)) {
        text++;
        word++;
    }
    return !*word;
}

static int spmv__dev_contains(const char *text, const char *word)
{
    for (; *text; text++)
        if (spmv__dev_begins(text, word)) return 1;
    return 0;
}

static int spmv__dev_is_type(const char *which, spmv_device_type type)
{
    const char *name = spmv_device_type_name(type);
    return spmv__dev_begins(which, name) && !which[strlen(name)];
}

/* The index that which means, or count. */
static size_t spmv__dev_choose(const spmv_device_info *info, size_t count, const char *which)
{
    size_t i, number = 0;
    const char *p = which;
    if (!which || !*which) {
        for (i = 0; i < count && info[i].type != SPMV_DEVICE_GPU; i++) {}
        return i < count ? i : 0;
    }
    while (*p >= '0' && *p <= '9' && number < count) number = number * 10 + (size_t)(*p++ - '0');
    if (!*p) return number < count ? number : count;
    for (i = 0; i < count; i++)
        if (spmv__dev_is_type(which, info[i].type)) return i;
    if (spmv__dev_is_type(which, SPMV_DEVICE_GPU) || spmv__dev_is_type(which, SPMV_DEVICE_CPU) ||
        spmv__dev_is_type(which, SPMV_DEVICE_ACCELERATOR)) return count;
    for (i = 0; i < count; i++)
        if (spmv__dev_contains(info[i].name, which)) return i;
    return count;
}

SPMV_API spmv_status spmv_backends_list(const spmv_backend *const *all, spmv_device_info *out, size_t max, size_t *count,
                                        const spmv_hooks *hooks)
{
    if (!all || !count || (max && !out))
        return spmv__null(hooks, "spmv_backends_list", !all ? "all" : !count ? "count" : "out", NULL, 0);
    size_t n, i;
    spmv_status s = SPMV_OK;
    for (*count = 0; !s && *all; all++) {
        size_t room = *count < max ? max - *count : 0;
        s = (*all)->list(room ? out + *count : NULL, room, &n, hooks);
        for (i = 0; !s && i < n && i < room; i++) out[*count + i].backend = *all;
        if (!s) *count += n;
    }
    return s;
}

/* The back end whose name and a colon *which begins with, which it skips; NULL: none. */
static const spmv_backend *spmv__dev_named(const spmv_backend *const *all, const char **which)
{
    size_t n;
    for (; *which && *all; all++) {
        n = strlen((*all)->name);
        if (!spmv__dev_begins(*which, (*all)->name) || (*which)[n] != ':') continue;
        *which += n + 1;
        return *all;
    }
    return NULL;
}

static spmv_status spmv__dev_find(const spmv_backend *const *all, spmv_device_info *out, const char *which, const spmv_hooks *h)
{
    size_t count = 0, room, i;
    spmv_device_info *info;
    const spmv_backend *one[2] = { spmv__dev_named(all, &which), NULL };
    spmv_status s;
    if (one[0]) all = one;
    s = spmv_backends_list(all, NULL, 0, &count, h);
    if (s) return s;
    if (!count) return spmv_log(h, SPMV_ERR_NO_DEVICE, "no device was found");
    room = count;
    info = (spmv_device_info *)spmv_alloc(h, room, sizeof *info);
    if (!info) return spmv__no_memory(h, room, sizeof *info);
    s = spmv_backends_list(all, info, room, &count, h);
    if (count > room) count = room;
    i = s ? count : spmv__dev_choose(info, count, which);
    if (i < count) *out = info[i];
    else if (!s) s = spmv_log(h, SPMV_ERR_NO_DEVICE, "none of the %llu devices is '%s'", (spmv__ull)count, which ? which : "");
    spmv_free(h, info);
    return s;
}

SPMV_API spmv_status spmv_backends_open(const spmv_backend *const *all, spmv_device *out, const spmv_device_desc *desc)
{
    spmv_device_desc plain;
    spmv_status s = SPMV_OK;
    if (!all || !out) return spmv__null(desc ? &desc->hooks : NULL, "spmv_backends_open", !all ? "all" : "out", out, sizeof *out);
    memset(out, 0, sizeof *out);
    memset(&plain, 0, sizeof plain);
    if (!desc) desc = &plain;
    out->hooks = desc->hooks;
    if (desc->context || desc->device || desc->queue) out->info.backend = desc->backend ? desc->backend : *all;
    else s = spmv__dev_find(all, &out->info, desc->which, &out->hooks);
    if (!s && !out->info.backend) s = spmv_log(&out->hooks, SPMV_ERR_NO_DEVICE, "no back end was given");
    if (!s) s = out->info.backend->open(out, desc);
    if (s) spmv_device_close(out);
    return s;
}

struct spmv__program {
    spmv__program *next;
    void          *program;
    spmv_format    format;
    char          *options;
};

static void spmv__programs_free(spmv_device *d)
{
    while (d->programs) {
        spmv__program *p = d->programs;
        d->programs = p->next;
        d->info.backend->program_free(d, p->program);
        spmv_free(&d->hooks, p->options);
        spmv_free(&d->hooks, p);
    }
}

SPMV_API void spmv_device_close(spmv_device *d)
{
    if (!d) return;
    spmv__programs_free(d);
    if (d->info.backend) d->info.backend->close(d);
    memset(d, 0, sizeof *d);
}

/* ---- what the runtime knows of each format ------------------------------------------------------------------------
 * X(NAME, ...) of the format table looks up SPMV__KERNEL_<NAME>: number of arrays; names of its integers in order, those in upper case
 * go into the kernel as macros, the others as arguments; 1 if the first integer is the number of rows of a block row;
 * 1 if lanes of a row are neighbours (they read its entries side by side, so that their number follows the row length);
 * which array holds columns that may be of 16 bits, and which the bases of those (0, 0: none). */
#define SPMV__KERNEL_DENSE 1, "", 0, 1, 0, 0
#define SPMV__KERNEL_COO   3, "", 0, 0, 0, 0
#define SPMV__KERNEL_CSR   7, "runs longs", 0, 1, 2, 5
#define SPMV__KERNEL_DIA   2, "diagonals ld", 0, 0, 0, 0
#define SPMV__KERNEL_BDIA  3, "bands ld", 0, 0, 0, 0
#define SPMV__KERNEL_ELL   3, "width ld", 0, 0, 1, 2
#define SPMV__KERNEL_SELL  5, "H slices", 0, 0, 2, 4
#define SPMV__KERNEL_BELL  3, "BH BW UW width ld", 1, 0, 1, 2
#define SPMV__KERNEL_SBELL 4, "BH BW UW H slices", 1, 0, 2, 3
#define SPMV__KERNEL_BCSR  4, "BH BW UW blocks", 1, 1, 2, 3
#define SPMV__KERNEL_CMRS  4, "HEIGHT PACKED", 1, 1, 0, 0

typedef struct spmv__dev_format {
    const char          *file;
    const unsigned char *source; /* NULL: left out of this build */
    size_t               size;
    int                  arrays;
    const char          *ints;
    int                  block_rows, neighbours, columns, bases;
} spmv__dev_format;

static const spmv__dev_format spmv__dev_formats[] = {
#define X(NAME, name, text) { #name ".cl", SPMV__SRC_##NAME, SPMV__KERNEL_##NAME },
    SPMV_FORMAT_LIST(X)
#undef X
    { "scale.cl", spmv__src_scale, sizeof spmv__src_scale, 0, "", 0, 0, 0, 0 }
};
/* The pass that only scales y is built like a format. */
#define SPMV__KERNEL_SCALE SPMV_FORMAT_COUNT

/* Formats that do not walk rows bring their own shell (and csr does where it has runs). */
static int spmv__dev_walks_rows(int f) { return f != SPMV_COO && f != (int)SPMV__KERNEL_SCALE; }

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
static int spmv__dev_in_runs(const spmv_part *p) { return p->spec.format == SPMV_CSR && p->spec.key[SPMV_KEY_RUN] != 0; }

static int spmv__dev_knob_default(int f, spmv_knob k, spmv_device_type type)
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
    int cpu = type == SPMV_DEVICE_CPU;
    size_t i;
    for (i = 0; i < sizeof special / sizeof *special; i++)
        if (special[i][0] == f && special[i][1] == (int)k) return special[i][2 + cpu];
    return defaults[k][cpu];
}

static const unsigned char *spmv__dev_skip(const unsigned char *p, const unsigned char *end, const char *word)
{
    for (; *word; word++, p++)
        if (p == end || *p != (unsigned char)*word) return NULL;
    return p;
}

/* The numbers behind "#define NAME <default> // tune:" of one kernel file. */
static size_t spmv__dev_tune_line(const unsigned char *p, const unsigned char *end, const char *name, int *out, size_t max)
{
    size_t n = 0;
    while (p < end) {
        const unsigned char *q = spmv__dev_skip(p, end, "#define ");
        while (p < end && *p != '\n') p++;
        if (q) q = spmv__dev_skip(q, p, name);
        if (q) q = spmv__dev_skip(q, p, " ");
        while (q && q < p && *q != '/') q++;
        if (q) q = spmv__dev_skip(q, p, "// tune:");
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
    const spmv__dev_format *t;
    size_t n;
    if ((unsigned)f >= SPMV_FORMAT_COUNT || (unsigned)k >= SPMV_KNOB_COUNT) return 0;
    if (!out) max = 0;
    t = &spmv__dev_formats[f];
    if (!t->source) return 0;
    n = spmv__dev_tune_line(t->source, t->source + t->size, spmv_knob_name(k), out, max);
    if (!n) n = spmv__dev_tune_line(spmv__src_common, spmv__src_common + sizeof spmv__src_common, spmv_knob_name(k), out, max);
    return n;
}

static int spmv__dev_knob_taken(spmv_format f, spmv_knob k) { return spmv_knob_values(f, k, NULL, 0) != 0; }

static void spmv__dev_knob_choose(spmv_variant *v, spmv_knob k, int value)
{
    v->set |= (uint64_t)1 << k;
    v->value[k] = value;
}

static int spmv__dev_knob_set(const spmv_variant *v, spmv_knob k) { return (int)(v->set >> k & 1u); }

SPMV_API size_t spmv_variant_print(const spmv_variant *v, char *out, size_t size)
{
    size_t n = 0;
    int k;
    if (!out) size = 0;
    if (size) out[0] = 0;
    for (k = 0; v && k < SPMV_KNOB_COUNT; k++)
        if (spmv__dev_knob_set(v, (spmv_knob)k))
            n += spmv_print(n < size ? out + n : NULL, n < size ? size - n : 0, "%s%s=%d", n ? "," : "",
                            spmv_knob_name((spmv_knob)k), v->value[k]);
    return n;
}

static spmv_status spmv__dev_knob_fault(spmv_format f, spmv_knob k, int value, const spmv_hooks *h)
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

static spmv_status spmv__dev_variant_check(const spmv_variant *v, spmv_format f, const spmv_hooks *h)
{
    spmv_status s = SPMV_OK;
    int k;
    for (k = 0; !s && k < SPMV_KNOB_COUNT; k++)
        if (spmv__dev_knob_set(v, (spmv_knob)k)) s = spmv__dev_knob_fault(f, (spmv_knob)k, v->value[k], h);
    return s;
}

/* One "NAME=value"; returns what follows it, or NULL. */
static const char *spmv__dev_variant_item(spmv_variant *v, const char *p)
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
    spmv__dev_knob_choose(v, (spmv_knob)k, value);
    return p;
}

/* Knobs separated by commas, whatever format they are for; *v is zeroed first. */
static spmv_status spmv__dev_variant_read(spmv_variant *v, const char *text, const spmv_hooks *h)
{
    const char *p = text ? text : "";
    memset(v, 0, sizeof *v);
    while (*p) {
        const char *next = spmv__dev_variant_item(v, p);
        if (!next || (*next && *next != ',') || (*next && !next[1]))
            return spmv_log(h, SPMV_ERR_PLAN, "variant '%s', column %llu: a knob, '=' and a number were expected", text,
                            (spmv__ull)(p - text) + 1);
        p = *next ? next + 1 : next;
    }
    return SPMV_OK;
}

SPMV_API spmv_status spmv_variant_parse(spmv_variant *v, spmv_format f, const char *text, const spmv_hooks *hooks)
{
    spmv_status s = v ? spmv__dev_variant_read(v, text, hooks) : spmv__null(hooks, "spmv_variant_parse", "v", NULL, 0);
    if (!v) return s;
    if (!s) s = spmv__dev_variant_check(v, f, hooks);
    if (s) memset(v, 0, sizeof *v);
    return s;
}

/* Sets those knobs of from that the kernel of f has. */
static void spmv__dev_variant_merge(spmv_variant *v, spmv_format f, const spmv_variant *from)
{
    int k;
    for (k = 0; k < SPMV_KNOB_COUNT; k++)
        if (spmv__dev_knob_set(from, (spmv_knob)k) && spmv__dev_knob_taken(f, (spmv_knob)k))
            spmv__dev_knob_choose(v, (spmv_knob)k, from->value[k]);
}

/* SPMV_ERR_PLAN if a knob of all is that of no part, or if a part has it but not with this value. */
static spmv_status spmv__dev_every_part_check(const spmv_variant *all, const spmv_plan *plan, const spmv_hooks *h)
{
    spmv_status s = SPMV_OK;
    int i, k, taken;
    for (k = 0; !s && k < SPMV_KNOB_COUNT; k++) {
        if (!spmv__dev_knob_set(all, (spmv_knob)k)) continue;
        for (taken = i = 0; !s && i < plan->count; i++) {
            spmv_format f = plan->part[i].format;
            if (!spmv__dev_knob_taken(f, (spmv_knob)k)) continue;
            taken = 1;
            s = spmv__dev_knob_fault(f, (spmv_knob)k, all->value[k], h);
        }
        if (!s && !taken) s = spmv_log(h, SPMV_ERR_PLAN, "*:%s: the kernel of no part has this knob", spmv_knob_name((spmv_knob)k));
    }
    return s;
}

/* Copies the element of text that begins at p, up to the next '+', into one; SPMV_ERR_PLAN if it is too long. */
static spmv_status spmv__dev_variant_element(char *one, const char *text, const char *p, size_t *length, const spmv_hooks *h)
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
static spmv_status spmv__dev_every_part(spmv_variant *v, const spmv_store *st, const char *one, const spmv_hooks *h)
{
    spmv_variant all;
    int k;
    spmv_status s = spmv__dev_variant_read(&all, one, h);
    if (!s) s = spmv__dev_every_part_check(&all, &st->plan, h);
    for (k = 0; !s && k < st->count; k++) spmv__dev_variant_merge(&v[k], st->plan.part[st->index[k]].format, &all);
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
        s = spmv__dev_variant_element(one, text, p += 2, &n, hooks);
        if (!s) s = spmv__dev_every_part(v, st, one, hooks);
        p += n + (p[n] == '+');
    }
    for (i = 0; !s && *p; i++) {
        if (i == st->plan.count)
            return spmv_log(hooks, SPMV_ERR_PLAN, "variant '%s', column %llu: the plan has no more parts", text, (spmv__ull)(p - text) + 1);
        s = spmv__dev_variant_element(one, text, p, &n, hooks);
        if (!s) s = spmv_variant_parse(&of, st->plan.part[i].format, one, hooks);
        if (!s && k < st->count && st->index[k] == i) spmv__dev_variant_merge(&v[k++], st->plan.part[i].format, &of);
        p += n + (p[n] == '+');
    }
    return s;
}

/* ---- programs ---------------------------------------------------------------------------------------------------- */

/* Several strings, each behind a #line, so that build logs name the file. */
static spmv_status spmv__dev_build(const spmv_device *d, int f, const char *options, void **out)
{
    const spmv__dev_format *t = &spmv__dev_formats[f];
    char line[64];
    spmv_kernel_source source;
    spmv_print(line, sizeof line, "\n#line 1 \"kernels/%s\"\n", t->file);
    source.file = t->file;
    source.options = options;
    source.count = spmv__dev_walks_rows(f) ? 6 : 4;
    source.text[0] = "#line 1 \"kernels/common.cl\"\n";
    source.text[1] = (const char *)spmv__src_common;
    source.text[2] = line;
    source.text[3] = (const char *)t->source;
    source.text[4] = "\n#line 1 \"kernels/shell.cl\"\n";
    source.text[5] = (const char *)spmv__src_shell;
    source.size[0] = strlen(source.text[0]);
    source.size[1] = sizeof spmv__src_common;
    source.size[2] = strlen(source.text[2]);
    source.size[3] = t->size;
    source.size[4] = strlen(source.text[4]);
    source.size[5] = sizeof spmv__src_shell;
    return d->info.backend->build(d, &source, out);
}

static spmv_status spmv__dev_new_program(spmv_device *d, int f, const char *options, void **out)
{
    size_t n = strlen(options) + 1;
    spmv__program *p = (spmv__program *)spmv_alloc(&d->hooks, 1, sizeof *p);
    spmv_status s;
    if (!p) return spmv__no_memory(&d->hooks, 1, sizeof *p);
    memset(p, 0, sizeof *p);
    p->format = (spmv_format)f;
    p->options = (char *)spmv_alloc(&d->hooks, n, 1);
    s = p->options ? spmv__dev_build(d, f, options, &p->program) : spmv__no_memory(&d->hooks, n, 1);
    if (s) {
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

static spmv_status spmv__dev_program_of(spmv_device *d, int f, const char *options, void **out)
{
    spmv__program *p;
    for (p = d->programs; p; p = p->next)
        if ((int)p->format == f && !strcmp(p->options, options)) {
            *out = p->program;
            return SPMV_OK;
        }
    return spmv__dev_new_program(d, f, options, out);
}

/* What a public function says to a device that spmv_device_open has not made, or that was closed. */
static spmv_status spmv__dev_not_open(const spmv_device *d, const char *function, void *out, size_t size)
{
    if (out) memset(out, 0, size);
    return spmv_log(&d->hooks, SPMV_ERR_ARGUMENT, "%s: the device is not open", function);
}

SPMV_API spmv_status spmv_device_program(spmv_device *d, spmv_format f, const char *options, void **out)
{
    if (!out || !d) return spmv__null(d ? &d->hooks : NULL, "spmv_device_program", !out ? "out" : "d", out, sizeof *out);
    if (!d->info.backend) return spmv__dev_not_open(d, "spmv_device_program", out, sizeof *out);
    *out = NULL;
    if ((unsigned)f >= SPMV_FORMAT_COUNT) return spmv_log(&d->hooks, SPMV_ERR_ARGUMENT, "no such format");
    if (!spmv__dev_formats[f].source)
        return spmv_log(&d->hooks, SPMV_ERR_UNSUPPORTED, "%s was left out of this build", spmv_format_name(f));
    return spmv__dev_program_of(d, (int)f, options ? options : "", out);
}

/* ---- from a part to its program: options and variant ---------------------------------------------------------------- */

/* The value of a knob in a resolved variant; 1 where the format does not take it. */
static uint64_t spmv__dev_knob(const spmv_variant *v, spmv_knob k) { return spmv__dev_knob_set(v, k) ? (uint64_t)v->value[k] : 1; }

/* Rows of a block row: those of a block or strip, times how many an item takes at once; and block rows. */
static uint64_t spmv__dev_height(const spmv_part *p, const spmv_variant *v)
{
    if (p->spec.format == SPMV_DENSE) return 1;
    return spmv__dev_knob(v, SPMV_KNOB_V) * (spmv__dev_formats[p->spec.format].block_rows ? p->n[0] : 1);
}
static uint64_t spmv__dev_block_rows(const spmv_part *p, const spmv_variant *v) { return spmv__ceil_div(p->rows, spmv__dev_height(p, v)); }

/* The integer i of a part as the kernel wants it: slices of varying height have no height in common. */
static uint64_t spmv__dev_int(const spmv_part *p, int i)
{
    return p->spec.format == SPMV_SELL && i == 0 && p->a[3].count ? 0 : p->n[i];
}

/* Appends to the options. */
typedef struct spmv__dev_options {
    char   text[2048];
    size_t used;
} spmv__dev_options;

static void spmv__dev_option(spmv__dev_options *o, const char *name, const char *value)
{
    size_t room = o->used < sizeof o->text ? sizeof o->text - o->used : 0;
    o->used += spmv_print(room ? o->text + o->used : NULL, room, "%s-D%s=%s", o->used ? " " : "", name, value);
}

static void spmv__dev_option_number(spmv__dev_options *o, const char *name, uint64_t value)
{
    char text[24];
    spmv_print(text, sizeof text, "%llu", (spmv__ull)value);
    spmv__dev_option(o, name, text);
}

static void spmv__dev_option_types(spmv__dev_options *o, spmv_type t)
{
    spmv__dev_option(o, "VAL", t == SPMV_F64 ? "double" : "float");
    spmv__dev_option(o, "VEC", t == SPMV_F32 ? "float" : "double");
    if (t != SPMV_F32) spmv__dev_option(o, "F64", "1");
}

/* 1: columns of 16 bits. */
static int spmv__dev_narrow(const spmv_part *p)
{
    int columns = spmv__dev_formats[p->spec.format].columns;
    return columns && p->a[columns].width == 2;
}

/* The n-th word of a list; its length, 0 behind the last. */
static size_t spmv__dev_word(const char **list)
{
    size_t n = 0;
    while (**list == ' ') ++*list;
    while ((*list)[n] && (*list)[n] != ' ') n++;
    return n;
}

static spmv_status spmv__dev_describe_part(spmv__dev_options *o, const spmv_device *d, const spmv_part *p, const spmv_variant *v)
{
    const char *ints = spmv__dev_formats[p->spec.format].ints;
    size_t n;
    int i, k;
    o->used = 0;
    spmv__dev_option_types(o, p->type);
    if (d->info.nvidia) spmv__dev_option_number(o, "NVIDIA", d->info.nvidia);
    if (spmv__dev_in_runs(p)) spmv__dev_option_number(o, "RUN", (uint64_t)p->spec.key[SPMV_KEY_RUN]);
    spmv__dev_option(o, "OFF", p->a[1].width == 8 ? "ulong" : "uint");
    spmv__dev_option_number(o, "LIST", p->list.count != 0);
    if (spmv__dev_narrow(p)) spmv__dev_option(o, "IDX16", "1");
    if (p->reproducible) spmv__dev_option(o, "REPEAT", "1");
    for (i = 0; (n = spmv__dev_word(&ints)) != 0; i++, ints += n)
        if (*ints >= 'A' && *ints <= 'Z') {
            char name[16];
            spmv_print(name, n + 1, "%s", ints);
            spmv__dev_option_number(o, name, spmv__dev_int(p, i));
        }
    for (k = 0; k < SPMV_KNOB_COUNT; k++)
        if (spmv__dev_knob_set(v, (spmv_knob)k)) spmv__dev_option_number(o, spmv_knob_name((spmv_knob)k), (uint64_t)v->value[k]);
    if (o->used >= sizeof o->text) 
        return spmv_log(&d->hooks, SPMV_ERR_OVERFLOW, "build options longer than %llu bytes", (spmv__ull)sizeof o->text);
    return SPMV_OK;
}

static int spmv__dev_has_blocks(spmv_format f) { return f == SPMV_BELL || f == SPMV_SBELL || f == SPMV_BCSR; }

/* Elements of a block; 1 where there are none. */
static uint64_t spmv__dev_block(const spmv_part *p)
{
    return spmv__dev_has_blocks(p->spec.format) ? (uint64_t)(spmv__block_height(&p->spec) * spmv__block_width(&p->spec)) : 1;
}

/* Elements of a row or block row in the mean, with fill. */
static uint64_t spmv__dev_mean(const spmv_part *p, const spmv_variant *v, uint64_t block_rows)
{
    uint64_t slots = p->spec.format == SPMV_CSR || p->spec.format == SPMV_CMRS ? p->nnz : p->a[0].count;
    return p->spec.format == SPMV_DENSE ? p->cols : slots / (spmv__dev_knob(v, SPMV_KNOB_V) * block_rows);
}

/* Neighbouring lanes by the mean length of a block row: the smallest power of two with 2 L^2 >= mean (H200: means of 5 and 78 run
 * best with 2 and 8), in blocks, which count as so many times 9 elements where they are larger. Then, for all formats that spread a row
 * over lanes, as many as one wave of groups takes, while each has 4 entries: half as many in groups of 32, of which a device holds too
 * few to be full. (H200, f64: ell:idx=16 on clspmv_harbor L=1 25 us, 4 11; bcsr:b=3x3 on clspmv_spheres L=4 14.6 us, 8 17.2;
 * bcsr:b=6x6 on clspmv_wind_tunnel L=4 49 us, 8 36.) */
static int spmv__dev_lanes(const spmv_device *d, const spmv_part *p, const spmv_variant *v)
{
    spmv_format f = p->spec.format;
    int neighbours = spmv__dev_formats[f].neighbours;
    uint64_t block_rows = spmv__dev_block_rows(p, v), fill = (uint64_t)d->info.compute_units * 2048, most = neighbours ? 32 : 8, l = 1;
    uint64_t block = spmv__dev_block(p), mean;
    if (!block_rows || f == SPMV_DIA || f == SPMV_BDIA) return 1;
    if (v->value[SPMV_KNOB_WG] < 64) fill /= 2;
    mean = spmv__dev_mean(p, v, block_rows);
    while (neighbours && l < most && 2 * l * l * (block < 9 ? block : 9) < mean) l *= 2;
    while (l < most && 4 * l * block <= mean && 2 * l * block_rows <= fill) l *= 2;
    return (int)l;
}

/* 1: a group a slice. */
static int spmv__dev_sliced(const spmv_part *p, const spmv_variant *v)
{
    return p->spec.format == SPMV_SELL && v->value[SPMV_KNOB_SLICE];
}

/* Local memory that a kernel declares. */
static uint64_t spmv__dev_local(const spmv_part *p, const spmv_variant *v)
{
    uint64_t wg = (uint64_t)v->value[SPMV_KNOB_WG], size = spmv_vector_size(p->type), l = (uint64_t)v->value[SPMV_KNOB_L];
    uint64_t lanes = l > 1 ? spmv__dev_height(p, v) * wg : 0, own = 0, group, h;
    if (p->spec.format == SPMV_COO && v->value[SPMV_KNOB_ATOMIC]) return 0;
    if (p->spec.format == SPMV_COO) { /* entries on their way through, and each item's sums */
        uint64_t staged = v->value[SPMV_KNOB_STAGE] ? (uint64_t)v->value[SPMV_KNOB_PER] * (size + 4) : 0;
        return wg * (staged + 2 * size + 4);
    }
    if (spmv__dev_in_runs(p)) { /* products, partial sums, and the queue of rows that wait */
        uint64_t run = v->value[SPMV_KNOB_STREAM] ? (uint64_t)p->spec.key[SPMV_KEY_RUN] : 0;
        return (wg + run) * size + (run ? (run / (wg < 32 ? wg : 32) + 2) * 4 : 0);
    }
    if (spmv__dev_sliced(p, v)) return wg * size;
    group = wg / l * spmv__dev_height(p, v); /* rows */
    h = p->spec.format == SPMV_SELL ? spmv__dev_int(p, 0) : 0;
    if (spmv__dev_knob_set(v, SPMV_KNOB_STAGE) && v->value[SPMV_KNOB_STAGE]) {
        if (p->spec.format == SPMV_CMRS) own = p->n[0] * wg;
        if (p->spec.format == SPMV_BDIA) own = wg + group;
        if (p->spec.format == SPMV_SELL) own = 4 * (h ? group / h + 3 : group + 2);
    }
    return (own > lanes ? own : lanes) * size;
}

/* 1: the knob makes a difference to the part on the device, the others being as v says. */
static int spmv__dev_knob_matters(const spmv_device *d, const spmv_part *p, const spmv_variant *v, spmv_knob k)
{
    int runs = spmv__dev_in_runs(p), atomic = p->spec.format == SPMV_COO && v->value[SPMV_KNOB_ATOMIC];
    if (!spmv__dev_knob_taken(p->spec.format, k)) return 0;
    if ((k == SPMV_KNOB_NT || k == SPMV_KNOB_SHUF) && d->info.nvidia < 70) return 0;
    if (k == SPMV_KNOB_L) return !runs;
    if (k == SPMV_KNOB_STREAM) return runs;
    if (k == SPMV_KNOB_FINISH) return runs && p->n[1] != 0;
    if (p->spec.format == SPMV_CSR && (k == SPMV_KNOB_UNROLL || k == SPMV_KNOB_SHUF)) return runs && v->value[SPMV_KNOB_STREAM];
    if (spmv__dev_sliced(p, v)) return k != SPMV_KNOB_V && k != SPMV_KNOB_L && k != SPMV_KNOB_STAGE;
    if (k == SPMV_KNOB_PER || (k == SPMV_KNOB_STAGE && p->spec.format == SPMV_COO)) return !atomic;
    return 1;
}

/* Slot numbers fit 32 bits with room for a last step of all lanes. */
static int spmv__dev_wide(const spmv_part *p) { return p->a[0].count > 0xffffffffu - (1u << 24); }

/* How a part's kernel wants x: 0 no image, 1 an element a texel, 4 four where x begins at a multiple of four. */
static int spmv__dev_texel(spmv_format f, spmv_type t, const uint64_t *n, const spmv_variant *v)
{
    if (!v->value[SPMV_KNOB_IMG]) return 0;
    return spmv__dev_has_blocks(f) && n[1] % 4 == 0 && t == SPMV_F32 && !v->value[SPMV_KNOB_ZERO] ? 4 : 1;
}

/* The device reads images of x of that form. */
static spmv_status spmv__dev_check_image(const spmv_device *d, const spmv_part *p, const spmv_variant *v)
{
    int texel = spmv__dev_texel(p->spec.format, p->type, p->n, v);
    if (!texel) return SPMV_OK;
    if (!d->info.image_texels) return spmv_log(&d->hooks, SPMV_ERR_UNSUPPORTED, "IMG=1: %s has no images", d->info.name);
    if (p->cols > d->info.image_texels)
        return spmv_log(&d->hooks, SPMV_ERR_LIMIT, "IMG=1: %llu columns, an image of the device has %llu texels", (spmv__ull)p->cols,
                        (spmv__ull)d->info.image_texels);
    return d->info.backend->image_check(d, p->type, texel);
}

/* V and SLICE against the part: defaults give way, the caller's word does not. */
static spmv_status spmv__dev_fit_slices(const spmv_device *d, const spmv_part *p, spmv_variant *v, const spmv_variant *wish)
{
    uint64_t h = p->n[0];
    int *rows = &v->value[SPMV_KNOB_V];
    if (p->spec.format != SPMV_SELL) return SPMV_OK;
    while (*rows > 1 && !spmv__dev_knob_set(wish, SPMV_KNOB_V) && (p->a[3].count || h % (uint64_t)*rows))
        *rows = *rows == 4 ? 1 : *rows / 2;
    if (*rows > 1 && p->a[3].count) return spmv_log(&d->hooks, SPMV_ERR_UNSUPPORTED, "V=%d: the slices vary in height", *rows);
    if (*rows > 1 && h % (uint64_t)*rows)
        return spmv_log(&d->hooks, SPMV_ERR_UNSUPPORTED, "V=%d: slices are %llu high", *rows, (spmv__ull)h);
    if (!v->value[SPMV_KNOB_SLICE]) return SPMV_OK;
    while (!spmv__dev_knob_set(wish, SPMV_KNOB_WG) && (uint64_t)v->value[SPMV_KNOB_WG] < h && v->value[SPMV_KNOB_WG] < 512)
        v->value[SPMV_KNOB_WG] *= 2;
    return SPMV_OK;
}

/* A group has an item for each row of a slice that it takes. */
static spmv_status spmv__dev_check_slice(const spmv_device *d, const spmv_part *p, const spmv_variant *v)
{
    if (!spmv__dev_sliced(p, v) || p->n[0] <= (uint64_t)v->value[SPMV_KNOB_WG]) return SPMV_OK;
    return spmv_log(&d->hooks, SPMV_ERR_LIMIT, "SLICE=1: slices up to %llu high, a group of %d", (spmv__ull)p->n[0],
                    v->value[SPMV_KNOB_WG]);
}

/* Knobs that were not set get defaults, those that make no difference are taken out again. */
static void spmv__dev_fill_in(const spmv_device *d, const spmv_part *p, spmv_variant *v)
{
    int k, cpu = d->info.type == SPMV_DEVICE_CPU, fixed = spmv__dev_knob_set(v, SPMV_KNOB_WG);
    int fixed_stream = spmv__dev_knob_set(v, SPMV_KNOB_STREAM), fixed_stage = spmv__dev_knob_set(v, SPMV_KNOB_STAGE);
    int fixed_finish = spmv__dev_knob_set(v, SPMV_KNOB_FINISH);
    for (k = 0; k < SPMV_KNOB_COUNT; k++)
        if (!spmv__dev_knob_set(v, (spmv_knob)k) && spmv__dev_knob_taken(p->spec.format, (spmv_knob)k))
            spmv__dev_knob_choose(v, (spmv_knob)k, spmv__dev_knob_default((int)p->spec.format, (spmv_knob)k, d->info.type));
    if (spmv__dev_in_runs(p) && !fixed) v->value[SPMV_KNOB_WG] = cpu ? 16 : 256;
    /* fewer large blocks under way, which the caches then hold; H200, 3x3, clspmv_cantilever and _spheres: 0.80 and 0.77 of the time */
    if (p->spec.format == SPMV_BCSR && p->type == SPMV_F64 && !cpu && !fixed &&
        spmv__dev_block(p) > 8) v->value[SPMV_KNOB_WG] = 32;
    /* where the order of memory between groups is the hardware's own; H200: 0.81 of the second launch's time on seven matrices */
    if (!fixed_finish && d->info.nvidia < 70) v->value[SPMV_KNOB_FINISH] = 0;
    /* in strips sorted by column rows do not follow each other */
    if (p->spec.format == SPMV_CMRS && p->spec.key[SPMV_KEY_SORT] && !fixed_stage) v->value[SPMV_KNOB_STAGE] = 1;
    if (spmv__dev_in_runs(p) && !fixed_stream && spmv__dev_local(p, v) > d->info.local_bytes) v->value[SPMV_KNOB_STREAM] = 0;
    if (spmv__dev_knob_taken(p->spec.format, SPMV_KNOB_L) && !v->value[SPMV_KNOB_L]) v->value[SPMV_KNOB_L] = spmv__dev_lanes(d, p, v);
    if (spmv__dev_wide(p)) v->value[SPMV_KNOB_I64] = 1;
    if (!p->cols) v->value[SPMV_KNOB_IMG] = 0; /* there is no x */
    for (k = SPMV_KNOB_COUNT - 1; k >= 0; k--)
        if (!spmv__dev_knob_matters(d, p, v, (spmv_knob)k)) {
            v->set &= ~((uint64_t)1 << k);
            v->value[k] = k == SPMV_KNOB_L;
        }
}

/* Reproducible products have the order of SPMV_REPEATS: knobs that would change it have one value only. */
static spmv_status spmv__dev_fix_order(const spmv_device *d, const spmv_part *p, spmv_variant *v)
{
    static const spmv_knob knobs[] = { SPMV_KNOB_L, SPMV_KNOB_STAGE, SPMV_KNOB_SLICE };
    int i, lanes = p->spec.format == SPMV_CSR ? SPMV__CSR_LANES : p->spec.format == SPMV_BCSR ? SPMV__BCSR_LANES : 1;
    for (i = 0; p->reproducible && i < 3; i++) {
        spmv_knob k = knobs[i];
        int value = k == SPMV_KNOB_L ? lanes : 0;
        if (!spmv__dev_knob_taken(p->spec.format, k)) continue;
        if (spmv__dev_knob_set(v, k) && v->value[k] != value)
            return spmv_log(&d->hooks, SPMV_ERR_UNSUPPORTED, "%s: reproducible products have %s=%d", spmv_format_name(p->spec.format),
                            spmv_knob_name(k), value);
        spmv__dev_knob_choose(v, k, value);
    }
    return SPMV_OK;
}

/* Knobs that were set are the caller's word. */
SPMV_API spmv_status spmv_variant_resolve(spmv_variant *v, const spmv_device *d, const spmv_part *p)
{
    if (!v || !d || !p) return spmv__null(d ? &d->hooks : NULL, "spmv_variant_resolve", !v ? "v" : !d ? "d" : "p", NULL, 0);
    spmv_format f = p->spec.format;
    spmv_variant wish = *v;
    int fixed = spmv__dev_knob_set(v, SPMV_KNOB_WG), fixed_l = spmv__dev_knob_set(v, SPMV_KNOB_L) || p->reproducible;
    spmv_status s = spmv__dev_variant_check(v, f, &d->hooks);
    if (!s) s = spmv__dev_fix_order(d, p, v);
    if (s) return s;
    spmv__dev_fill_in(d, p, v);
    s = spmv__dev_fit_slices(d, p, v, &wish);
    if (!s) s = spmv__dev_check_image(d, p, v);
    if (s) return s;
    while (!fixed && v->value[SPMV_KNOB_WG] > 1 &&
           ((uint64_t)v->value[SPMV_KNOB_WG] > d->info.group_size || spmv__dev_local(p, v) > d->info.local_bytes))
        v->value[SPMV_KNOB_WG] /= 2;
    if (!fixed && fixed_l && v->value[SPMV_KNOB_L] > v->value[SPMV_KNOB_WG]) v->value[SPMV_KNOB_WG] = v->value[SPMV_KNOB_L];
    if (!fixed_l && v->value[SPMV_KNOB_L] > v->value[SPMV_KNOB_WG]) v->value[SPMV_KNOB_L] = v->value[SPMV_KNOB_WG];
    if (v->value[SPMV_KNOB_L] > v->value[SPMV_KNOB_WG])
        return spmv_log(&d->hooks, SPMV_ERR_ARGUMENT, "%s: %d lanes do not fit a group of %d", spmv_format_name(f),
                        v->value[SPMV_KNOB_L], v->value[SPMV_KNOB_WG]);
    if ((uint64_t)v->value[SPMV_KNOB_WG] > d->info.group_size)
        return spmv_log(&d->hooks, SPMV_ERR_LIMIT, "%s: a group of %d, the device takes %llu", spmv_format_name(f),
                        v->value[SPMV_KNOB_WG], (spmv__ull)d->info.group_size);
    if (spmv__dev_local(p, v) > d->info.local_bytes)
        return spmv_log(&d->hooks, SPMV_ERR_LIMIT, "%s: %llu bytes of local memory, the device has %llu", spmv_format_name(f),
                        (spmv__ull)spmv__dev_local(p, v), (spmv__ull)d->info.local_bytes);
    if (v->value[SPMV_KNOB_ATOMIC] && p->type != SPMV_F32 && !d->info.atomics64)
        return spmv_log(&d->hooks, SPMV_ERR_LIMIT, "%s: ATOMIC=1 needs atomics of 64 bits, the device has those of 32",
                        spmv_format_name(f));
    return spmv__dev_check_slice(d, p, v);
}

/* What the compiled kernel can run with: the largest group; SPMV_ERR_LIMIT if its local memory is beyond the device. */
static spmv_status spmv__dev_inspect(const spmv_device *d, void *program, uint64_t *group)
{
    const spmv_backend *b = d->info.backend;
    uint64_t local = 0;
    void *kernel = NULL;
    spmv_status s = b->kernel(d, program, "spmv", &kernel);
    if (s) return s;
    s = b->kernel_limits(d, kernel, group, &local);
    if (!s && local > d->info.local_bytes)
        s = spmv_log(&d->hooks, SPMV_ERR_LIMIT, "a kernel with %llu bytes of local memory, the device has %llu", (spmv__ull)local,
                     (spmv__ull)d->info.local_bytes);
    b->kernel_free(d, kernel);
    return s;
}

/* Resolves the variant and builds its program; a default group that the compiled kernel cannot have is halved. */
static spmv_status spmv__dev_prepare(spmv_device *d, const spmv_part *p, const spmv_variant *wish, spmv_device_part *out)
{
    spmv__dev_options o;
    uint64_t group = 0;
    spmv_variant v = *wish;
    spmv_status s = spmv_variant_resolve(&v, d, p);
    if (s) return s;
    for (;;) {
        s = spmv__dev_describe_part(&o, d, p, &v);
        if (!s) s = spmv_device_program(d, p->spec.format, o.text, &out->program);
        if (!s) s = spmv__dev_inspect(d, out->program, &group);
        if (s || group >= (uint64_t)v.value[SPMV_KNOB_WG]) break;
        if (spmv__dev_knob_set(wish, SPMV_KNOB_WG) || v.value[SPMV_KNOB_WG] <= v.value[SPMV_KNOB_L] || v.value[SPMV_KNOB_WG] <= 1)
            return spmv_log(&d->hooks, SPMV_ERR_LIMIT, "%s: a group of %d, the kernel can have %llu",
                            spmv_format_name(p->spec.format), v.value[SPMV_KNOB_WG], (spmv__ull)group);
        v.value[SPMV_KNOB_WG] /= 2;
        s = spmv__dev_check_slice(d, p, &v);
        if (s) return s;
    }
    out->variant = v;
    return s;
}

/* ---- upload ------------------------------------------------------------------------------------------------------ */

/* A buffer, of 16 bytes where none are wanted, with the bytes at from, or not set to anything. */
static spmv_status spmv__dev_new_filled(const spmv_device *d, uint64_t bytes, int read_only, const void *from, void **out)
{
    if (bytes > d->info.alloc_bytes || bytes > (uint64_t)(size_t)-1)
        return spmv_log(&d->hooks, SPMV_ERR_LIMIT, "a buffer of %llu bytes, the device takes %llu", (spmv__ull)bytes,
                        (spmv__ull)d->info.alloc_bytes);
    return d->info.backend->buffer(d, bytes ? bytes : 16, read_only, from, out);
}

static spmv_status spmv__dev_new_buffer(const spmv_device *d, uint64_t bytes, int read_only, void **out)
{
    return spmv__dev_new_filled(d, bytes, read_only, NULL, out);
}

static void spmv__dev_buffer_free(const spmv_device *d, void *buffer)
{
    if (buffer) d->info.backend->buffer_free(d, buffer);
}

static spmv_status spmv__dev_upload(const spmv_device *d, const spmv_array *a, void **out)
{
    spmv_status s;
    if (!a->count) return SPMV_OK;
    s = spmv__dev_new_buffer(d, a->count * a->width, 1, out);
    if (!s) s = d->info.backend->write(d, d->queue, *out, a->count * a->width, a->data);
    return s;
}

/* ---- vectors in device memory ------------------------------------------------------------------------------------ */

/* Which of the pointers of function is NULL. */
static spmv_status spmv__buffer_null(const spmv_device *d, const char *function, const void *buffer, const char *other)
{
    return spmv__null(d ? &d->hooks : NULL, function, !d ? "d" : !buffer ? "buffer" : other, NULL, 0);
}

SPMV_API spmv_status spmv_buffer_create(const spmv_device *d, uint64_t bytes, void **out)
{
    spmv_status s;
    if (!d || !out) return spmv__null(d ? &d->hooks : NULL, "spmv_buffer_create", !out ? "out" : "d", out, sizeof *out);
    if (!d->info.backend) return spmv__dev_not_open(d, "spmv_buffer_create", out, sizeof *out);
    *out = NULL;
    s = spmv__dev_new_buffer(d, bytes, 0, out);
    if (s) *out = NULL;
    return s;
}

SPMV_API void spmv_buffer_free(const spmv_device *d, void *buffer)
{
    if (d) spmv__dev_buffer_free(d, buffer);
}

SPMV_API spmv_status spmv_buffer_write(const spmv_device *d, void *buffer, uint64_t bytes, const void *from)
{
    if (!d || !buffer || (bytes && !from)) return spmv__buffer_null(d, "spmv_buffer_write", buffer, "from");
    if (!d->info.backend) return spmv__dev_not_open(d, "spmv_buffer_write", NULL, 0);
    return bytes ? d->info.backend->write(d, d->queue, buffer, bytes, from) : SPMV_OK;
}

SPMV_API spmv_status spmv_buffer_read(const spmv_device *d, void *buffer, uint64_t bytes, void *to)
{
    if (!d || !buffer || (bytes && !to)) return spmv__buffer_null(d, "spmv_buffer_read", buffer, "to");
    if (!d->info.backend) return spmv__dev_not_open(d, "spmv_buffer_read", NULL, 0);
    return bytes ? d->info.backend->read(d, d->queue, buffer, bytes, to, NULL) : SPMV_OK;
}

SPMV_API spmv_status spmv_buffer_fill(const spmv_device *d, void *buffer, uint64_t bytes, uint32_t word)
{
    if (!d || !buffer) return spmv__buffer_null(d, "spmv_buffer_fill", buffer, "");
    if (!d->info.backend) return spmv__dev_not_open(d, "spmv_buffer_fill", NULL, 0);
    if (bytes % 4) return spmv_log(&d->hooks, SPMV_ERR_ARGUMENT, "spmv_buffer_fill: %llu bytes are no multiple of 4", (spmv__ull)bytes);
    return bytes ? d->info.backend->fill(d, d->queue, buffer, bytes, word) : SPMV_OK;
}

SPMV_API spmv_status spmv_device_finish(const spmv_device *d)
{
    if (!d) return spmv__null(NULL, "spmv_device_finish", "d", NULL, 0);
    if (!d->info.backend) return spmv__dev_not_open(d, "spmv_device_finish", NULL, 0);
    return d->info.backend->finish(d, d->queue);
}

/* ---- stretches of parts whose arrays are larger than a buffer -------------------------------------------------------
 * A part is cut between rows where its format can begin anew: at grains g = 0, 1, ... up to spmv__dev_grains. What lies from one grain
 * to another is a part again, with pointers that count from its own beginning; y is offset by its first row. Sums are the
 * same as without cuts. coo, which adds entries to y one way or the other, is cut anywhere.
 *
 * Each format says in three functions how many grains a part has (spmv__<name>_grains), in which row grain g begins (_grain_row; at or
 * beyond the last row means its end), and what the stretch of grains g up to end, which holds rows row up to last, takes of each array
 * (_cut: integers and sizes into q, which begins as a copy of p, and where its arrays come from into c). */

/* Grains of formats whose arrays or bases are padded to, or made for, groups of that many rows or block rows. */
enum { SPMV__GRAIN = 32 };

/* What a stretch takes of one array: count elements from at on, in each of so many planes that lie stride apart. The elements of
 * the copy are less by some number, for pointers, or more, for the offsets of diagonals. */
typedef struct spmv__dev_cut {
    uint64_t at, count, planes, stride, less, more;
} spmv__dev_cut;

/* Grains begin up to end, rows row up to last, and those rounded up as arrays by columns are. */
typedef struct spmv__dev_span {
    uint64_t begin, end, row, last, ld;
} spmv__dev_span;

static void spmv__dev_cut_one(spmv__dev_cut *c, uint64_t at, uint64_t count, uint64_t less)
{
    c->at = at;
    c->count = count;
    c->less = less;
}

static void spmv__dev_cut_planes(spmv__dev_cut *c, uint64_t at, uint64_t count, uint64_t planes, uint64_t stride)
{
    c->at = at;
    c->count = count;
    c->planes = planes;
    c->stride = stride;
}

/* How many of the rising numbers in a are below n. */
static uint64_t spmv__dev_below(const spmv_array *a, uint64_t n)
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
static void spmv__dev_cut_slots(const spmv_part *p, uint64_t first, uint64_t last, uint64_t unit, spmv__dev_cut *c)
{
    uint64_t begin = spmv__at(&p->a[1], first), n = spmv__at(&p->a[1], last) - begin;
    spmv__dev_cut_one(&c[0], begin * unit, n * unit, 0);
    spmv__dev_cut_one(&c[1], first, last - first + 1, begin);
    spmv__dev_cut_one(&c[2], begin, n, 0);
}

static uint64_t spmv__dense_grains(const spmv_part *p) { return p->rows; }
static uint64_t spmv__dense_grain_row(const spmv_part *p, uint64_t g) { (void)p; return g; }
static void spmv__dense_cut(const spmv_part *p, const spmv__dev_span *t, spmv_part *q, spmv__dev_cut *c)
{
    (void)q;
    spmv__dev_cut_one(&c[0], t->row * p->cols, (t->last - t->row) * p->cols, 0);
}

static uint64_t spmv__coo_grains(const spmv_part *p) { return p->nnz; }
static uint64_t spmv__coo_grain_row(const spmv_part *p, uint64_t g) { (void)p; (void)g; return 0; }
static void spmv__coo_cut(const spmv_part *p, const spmv__dev_span *t, spmv_part *q, spmv__dev_cut *c)
{
    int k;
    q->rows = p->rows;
    q->nnz = t->end - t->begin;
    for (k = 0; k < 3; k++) spmv__dev_cut_one(&c[k], t->begin, q->nnz, 0);
}

static uint64_t spmv__csr_grains(const spmv_part *p) { return spmv__dev_in_runs(p) ? p->n[0] : p->rows; }
static uint64_t spmv__csr_grain_row(const spmv_part *p, uint64_t g) { return spmv__dev_in_runs(p) ? spmv__at(&p->a[3], g) : g; }
static void spmv__csr_cut(const spmv_part *p, const spmv__dev_span *t, spmv_part *q, spmv__dev_cut *c)
{
    uint64_t longs, runs = t->end - t->begin;
    spmv__dev_cut_slots(p, t->row, t->last, 1, c);
    q->nnz = c[0].count;
    if (!spmv__dev_in_runs(p)) return;
    longs = spmv__dev_below(&p->a[6], t->begin);
    q->n[0] = runs;
    q->n[1] = spmv__dev_below(&p->a[6], t->end) - longs;
    spmv__dev_cut_one(&c[3], t->begin, runs + 1, t->row);
    spmv__dev_cut_one(&c[4], t->begin, runs + 1, c[0].at);
    spmv__dev_cut_one(&c[5], t->begin, runs, 0);
    spmv__dev_cut_one(&c[6], longs, q->n[1], t->begin);
}

static uint64_t spmv__dia_grains(const spmv_part *p) { return spmv__ceil_div(p->rows, SPMV__GRAIN); }
static uint64_t spmv__dia_grain_row(const spmv_part *p, uint64_t g) { (void)p; return g * SPMV__GRAIN; }
static void spmv__dev_cut_diagonals(const spmv_part *p, const spmv__dev_span *t, uint64_t diagonals, spmv_part *q, spmv__dev_cut *c)
{
    q->n[1] = t->ld;
    spmv__dev_cut_planes(&c[0], t->row, t->ld, diagonals, p->n[1]);
    spmv__dev_cut_one(&c[1], 0, p->n[0], 0);
    c[1].more = t->row;
    spmv__dev_cut_one(&c[2], 0, p->a[2].count, 0);
}
static void spmv__dia_cut(const spmv_part *p, const spmv__dev_span *t, spmv_part *q, spmv__dev_cut *c)
{
    spmv__dev_cut_diagonals(p, t, p->n[0], q, c);
}

static uint64_t spmv__bdia_grains(const spmv_part *p) { return spmv__dia_grains(p); }
static uint64_t spmv__bdia_grain_row(const spmv_part *p, uint64_t g) { return spmv__dia_grain_row(p, g); }
static void spmv__bdia_cut(const spmv_part *p, const spmv__dev_span *t, spmv_part *q, spmv__dev_cut *c)
{
    spmv__dev_cut_diagonals(p, t, spmv__at(&p->a[2], p->n[0]), q, c);
}

static uint64_t spmv__ell_grains(const spmv_part *p) { return spmv__ceil_div(p->rows, SPMV__GRAIN); }
static uint64_t spmv__ell_grain_row(const spmv_part *p, uint64_t g) { (void)p; return g * SPMV__GRAIN; }
static void spmv__ell_cut(const spmv_part *p, const spmv__dev_span *t, spmv_part *q, spmv__dev_cut *c)
{
    q->n[1] = t->ld;
    spmv__dev_cut_planes(&c[0], t->row, t->ld, p->n[0], p->n[1]);
    c[1] = c[0];
    spmv__dev_cut_one(&c[2], t->begin, t->end - t->begin, 0);
}

static uint64_t spmv__sell_grains(const spmv_part *p) { return p->n[1]; }
static uint64_t spmv__sell_grain_row(const spmv_part *p, uint64_t g) { return p->a[3].count ? spmv__at(&p->a[3], g) : g * p->n[0]; }
static void spmv__sell_cut(const spmv_part *p, const spmv__dev_span *t, spmv_part *q, spmv__dev_cut *c)
{
    q->n[1] = t->end - t->begin;
    spmv__dev_cut_slots(p, t->begin, t->end, 1, c);
    spmv__dev_cut_one(&c[3], t->begin, q->n[1] + 1, t->row);
    spmv__dev_cut_one(&c[4], t->begin, q->n[1], 0);
}

static uint64_t spmv__bell_grains(const spmv_part *p) { return spmv__ceil_div(spmv__ceil_div(p->rows, p->n[0]), SPMV__GRAIN); }
static uint64_t spmv__bell_grain_row(const spmv_part *p, uint64_t g) { return g * SPMV__GRAIN * p->n[0]; }
static void spmv__bell_cut(const spmv_part *p, const spmv__dev_span *t, spmv_part *q, spmv__dev_cut *c)
{
    uint64_t units = p->n[0] * p->n[1] / p->n[2];
    q->n[4] = spmv__round_up(spmv__ceil_div(q->rows, p->n[0]), SPMV__GRAIN);
    spmv__dev_cut_planes(&c[0], t->begin * SPMV__GRAIN * p->n[2], q->n[4] * p->n[2], p->n[3] * units, p->n[4] * p->n[2]);
    spmv__dev_cut_planes(&c[1], t->begin * SPMV__GRAIN, q->n[4], p->n[3], p->n[4]);
    spmv__dev_cut_one(&c[2], t->begin, t->end - t->begin, 0);
}

static uint64_t spmv__sbell_grains(const spmv_part *p) { return p->n[4]; }
static uint64_t spmv__sbell_grain_row(const spmv_part *p, uint64_t g) { return g * p->n[3] * p->n[0]; }
static void spmv__sbell_cut(const spmv_part *p, const spmv__dev_span *t, spmv_part *q, spmv__dev_cut *c)
{
    q->n[4] = t->end - t->begin;
    spmv__dev_cut_slots(p, t->begin, t->end, p->n[0] * p->n[1], c);
    spmv__dev_cut_one(&c[3], t->begin, q->n[4], 0);
}

static uint64_t spmv__bcsr_grains(const spmv_part *p) { return spmv__bell_grains(p); }
static uint64_t spmv__bcsr_grain_row(const spmv_part *p, uint64_t g) { return spmv__bell_grain_row(p, g); }
static void spmv__bcsr_cut(const spmv_part *p, const spmv__dev_span *t, spmv_part *q, spmv__dev_cut *c)
{
    uint64_t block_rows = spmv__ceil_div(p->rows, p->n[0]), last = t->end * SPMV__GRAIN;
    spmv__dev_cut_slots(p, t->begin * SPMV__GRAIN, last < block_rows ? last : block_rows, p->n[2], c);
    q->n[3] = c[2].count;
    c[0].planes = p->n[0] * p->n[1] / p->n[2];
    c[0].stride = p->n[3] * p->n[2];
    spmv__dev_cut_one(&c[3], t->begin, t->end - t->begin, 0);
}

static uint64_t spmv__cmrs_grains(const spmv_part *p) { return spmv__ceil_div(p->rows, p->n[0]); }
static uint64_t spmv__cmrs_grain_row(const spmv_part *p, uint64_t g) { return g * p->n[0]; }
static void spmv__cmrs_cut(const spmv_part *p, const spmv__dev_span *t, spmv_part *q, spmv__dev_cut *c)
{
    spmv__dev_cut_slots(p, t->begin, t->end, 1, c);
    q->nnz = c[0].count;
    c[3] = c[2];
}

static const struct {
    uint64_t (*grains)(const spmv_part *p);
    uint64_t (*row)(const spmv_part *p, uint64_t g);
    void (*cut)(const spmv_part *p, const spmv__dev_span *t, spmv_part *q, spmv__dev_cut *c);
} spmv__dev_cutting[] = {
#define X(NAME, name, text) { spmv__##name##_grains, spmv__##name##_grain_row, spmv__##name##_cut },
    SPMV_FORMAT_LIST(X)
#undef X
};

static uint64_t spmv__dev_grains(const spmv_part *p) { return spmv__dev_cutting[p->spec.format].grains(p); }

/* The row where grain g begins; that of the last one's end is the number of rows. */
static uint64_t spmv__dev_grain_row(const spmv_part *p, uint64_t g)
{
    uint64_t r = spmv__dev_cutting[p->spec.format].row(p, g);
    return r < p->rows ? r : p->rows;
}

/* The stretch of grains g up to end: integers and sizes into q, where its arrays come from into c (the last: the row list). */
static void spmv__dev_cut_make(const spmv_part *p, uint64_t g, uint64_t end, spmv_part *q, spmv__dev_cut *c)
{
    spmv__dev_span t;
    int k;
    t.begin = g;
    t.end = end;
    t.row = spmv__dev_grain_row(p, g);
    t.last = spmv__dev_grain_row(p, end);
    t.ld = spmv__round_up(t.last - t.row, SPMV__GRAIN);
    *q = *p;
    memset(c, 0, (SPMV_MAX_ARRAYS + 1) * sizeof *c);
    for (k = 0; k <= SPMV_MAX_ARRAYS; k++) c[k].planes = 1;
    q->rows = t.last - t.row;
    spmv__dev_cut_one(&c[SPMV_MAX_ARRAYS], t.row, q->rows, 0);
    spmv__dev_cutting[p->spec.format].cut(p, &t, q, c);
    for (k = 0; k <= SPMV_MAX_ARRAYS; k++) {
        const spmv_array *from = k < SPMV_MAX_ARRAYS ? &p->a[k] : &p->list;
        if (!from->count) c[k].count = 0;
        (k < SPMV_MAX_ARRAYS ? &q->a[k] : &q->list)->count = c[k].planes * c[k].count;
    }
}

/* The bytes of a part's largest array. */
static uint64_t spmv__dev_largest(const spmv_part *p)
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
static int spmv__dev_grain_free(const spmv_part *p, uint64_t g)
{
    if (!spmv__dev_in_runs(p) || g == p->n[0]) return 1;
    return spmv__at(&p->a[4], g) == spmv__at(&p->a[1], spmv__at(&p->a[3], g));
}

/* *end: where the longest stretch from grain g on ends of which each array fits a buffer. */
static spmv_status spmv__dev_stretch(const spmv_device *d, const spmv_part *p, size_t i, uint64_t g, uint64_t *end)
{
    spmv__dev_cut c[SPMV_MAX_ARRAYS + 1];
    spmv_part q;
    uint64_t low = g, high = spmv__dev_grains(p);
    *end = high;
    if (!g && spmv__dev_largest(p) <= d->info.alloc_bytes) return SPMV_OK;
    while (low < high) {
        uint64_t middle = high - (high - low) / 2;
        spmv__dev_cut_make(p, g, middle, &q, c);
        if (spmv__dev_largest(&q) <= d->info.alloc_bytes) low = middle;
        else high = middle - 1;
    }
    while (low > g && !spmv__dev_grain_free(p, low)) low--;
    *end = low;
    if (low > g) return SPMV_OK;
    spmv__dev_cut_make(p, g, g + (g < spmv__dev_grains(p)), &q, c);
    return spmv_log(&d->hooks, SPMV_ERR_LIMIT, "part %llu (%s): an array of %llu bytes that cannot be cut further, the device takes %llu",
                    (spmv__ull)i, spmv_format_name(p->spec.format), (spmv__ull)spmv__dev_largest(&q), (spmv__ull)d->info.alloc_bytes);
}

/* The stretch's part of one array: the part's own memory where that will do, else a copy. */
static spmv_status spmv__dev_cut_array(const spmv_hooks *h, const spmv_array *from, const spmv__dev_cut *c, spmv_array *out)
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

static void spmv__dev_cut_free(const spmv_hooks *h, spmv_part *q)
{
    int k;
    for (k = 0; k < SPMV_MAX_ARRAYS; k++)
        if (!q->a[k].borrowed) spmv_free(h, q->a[k].data);
    if (!q->list.borrowed) spmv_free(h, q->list.data);
}

/* The stretch as a part, or its values alone; a whole part is the part itself. On failure q holds nothing. */
static spmv_status spmv__dev_cut_part(const spmv_hooks *h, const spmv_part *p, uint64_t g, uint64_t end, int arrays, spmv_part *q)
{
    spmv__dev_cut c[SPMV_MAX_ARRAYS + 1];
    spmv_status s = SPMV_OK;
    int k, whole = !g && end == spmv__dev_grains(p);
    if (whole) *q = *p;
    else spmv__dev_cut_make(p, g, end, q, c);
    for (k = 0; k < SPMV_MAX_ARRAYS; k++) q->a[k].borrowed = 1;
    q->list.borrowed = 1;
    if (whole) return SPMV_OK;
    for (k = 0; !s && k < arrays; k++) s = spmv__dev_cut_array(h, &p->a[k], &c[k], &q->a[k]);
    if (!s && arrays > 1) s = spmv__dev_cut_array(h, &p->list, &c[SPMV_MAX_ARRAYS], &q->list);
    if (s) spmv__dev_cut_free(h, q);
    return s;
}

/* All arrays against the device's memory, and how many stretches they come in, before anything is allocated: some
 * implementations abort instead. */
static spmv_status spmv__dev_check_bytes(const spmv_device *d, const spmv_part *parts, size_t count, size_t *stretches)
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
            s = spmv__dev_stretch(d, &parts[i], i, g, &g);
            ++*stretches;
        } while (!s && g < spmv__dev_grains(&parts[i]));
    }
    if (s) return s;
    if (total > d->info.global_bytes)
        return spmv_log(&d->hooks, SPMV_ERR_LIMIT, "a matrix of %llu bytes, the device has %llu", (spmv__ull)total,
                        (spmv__ull)d->info.global_bytes);
    return SPMV_OK;
}

/* Arrays of 16 bits are columns, and those have bases; anything else would be read wrong. */
static int spmv__dev_columns_fit(const spmv_part *p)
{
    const spmv__dev_format *t = &spmv__dev_formats[p->spec.format];
    int k, fit = 1;
    for (k = 0; k < SPMV_MAX_ARRAYS; k++) fit &= p->a[k].width != 2 || !p->a[k].count || (t->columns && k == t->columns);
    if (t->columns && p->a[t->columns].count) fit &= (p->a[t->columns].width == 2) == (p->a[t->bases].count != 0);
    return fit;
}

static spmv_status spmv__dev_check_part(const spmv_device_matrix *m, const spmv_part *p, size_t i)
{
    if ((unsigned)p->spec.format >= SPMV_FORMAT_COUNT || p->type != m->type || p->cols != m->cols)
        return spmv_log(&m->hooks, SPMV_ERR_ARGUMENT, "part %llu: another type or number of columns than the matrix", (spmv__ull)i);
    if (!p->list.count && p->rows && p->rows != m->rows)
        return spmv_log(&m->hooks, SPMV_ERR_ARGUMENT, "part %llu: %llu rows without a row list, the matrix has %llu", (spmv__ull)i,
                        (spmv__ull)p->rows, (spmv__ull)m->rows);
    if (!spmv__dev_columns_fit(p))
        return spmv_log(&m->hooks, SPMV_ERR_UNSUPPORTED, "part %llu: no kernel of %s takes its columns", (spmv__ull)i,
                        spmv_format_name(p->spec.format));
    return SPMV_OK;
}

/* Groups of the kernel, within what one launch can number. */
static spmv_status spmv__dev_groups(const spmv_device *d, uint64_t items, uint64_t per_group, uint64_t wg, uint64_t *out)
{
    uint64_t most = d->info.address_bits < 64 ? 0xffffffffu / wg : 0x7fffffffu;
    *out = spmv__ceil_div(items, per_group);
    if (*out <= most) return SPMV_OK;
    return spmv_log(&d->hooks, SPMV_ERR_LIMIT, "%llu work-groups, one launch takes %llu", (spmv__ull)*out, (spmv__ull)most);
}

/* The groups of the first launch leave two carries each, which the second adds. */
static spmv_status spmv__dev_coo_groups(spmv_device_part *out, const spmv_device *d, const spmv_part *p, uint64_t wg)
{
    int atomic = out->variant.value[SPMV_KNOB_ATOMIC];
    uint64_t per = atomic ? 1 : (uint64_t)out->variant.value[SPMV_KNOB_PER];
    spmv_status s = spmv__dev_groups(d, p->nnz, wg * per, wg, &out->groups);
    out->carries = atomic ? 0 : 2 * out->groups;
    out->finish = atomic ? 0 : spmv__ceil_div(out->carries, wg);
    return s;
}

static spmv_status spmv__dev_part_create(spmv_device_part *out, spmv_device *d, const spmv_part *p, const spmv_variant *wish)
{
    int k;
    uint64_t wg;
    spmv_status s = spmv__dev_prepare(d, p, wish, out);
    if (s) return s;
    out->format = p->spec.format;
    out->rows = p->rows;
    out->nnz = p->nnz;
    out->values = p->a[0].count;
    out->runs = spmv__dev_in_runs(p);
    for (k = 0; k < SPMV_MAX_INTS; k++) out->n[k] = p->n[k];
    for (k = 0; !s && k < spmv__dev_formats[p->spec.format].arrays; k++) s = spmv__dev_upload(d, &p->a[k], &out->a[k]);
    if (!s) s = spmv__dev_upload(d, &p->list, &out->list);
    if (s) return s;
    wg = (uint64_t)out->variant.value[SPMV_KNOB_WG];
    if (p->spec.format == SPMV_COO) return spmv__dev_coo_groups(out, d, p, wg);
    if (spmv__dev_in_runs(p)) {
        out->carries = p->n[1] ? p->n[0] : 0;
        s = spmv__dev_groups(d, p->n[0], out->variant.value[SPMV_KNOB_STREAM] ? 1 : wg, wg, &out->groups);
        if (out->variant.value[SPMV_KNOB_FINISH]) out->counters = out->carries;
        else if (!s) s = spmv__dev_groups(d, p->n[1], 1, wg, &out->finish);
        return s;
    }
    if (spmv__dev_sliced(p, &out->variant)) return spmv__dev_groups(d, p->n[1], 1, wg, &out->groups);
    return spmv__dev_groups(d, spmv__dev_block_rows(p, &out->variant),
                           wg / (uint64_t)out->variant.value[SPMV_KNOB_L] * spmv__dev_knob(&out->variant, SPMV_KNOB_SEQ), wg,
                           &out->groups);
}

/* The stretch of a part that out names. */
static spmv_status spmv__dev_stretch_create(spmv_device_part *out, spmv_device *d, const spmv_part *p, const spmv_variant *wish)
{
    spmv_part q;
    spmv_status s = spmv__dev_cut_part(&d->hooks, p, out->begin, out->end, SPMV_MAX_ARRAYS, &q);
    if (s) return s;
    out->row = p->list.count ? 0 : spmv__dev_grain_row(p, out->begin);
    s = spmv__dev_part_create(out, d, &q, wish);
    spmv__dev_cut_free(&d->hooks, &q);
    return s;
}

static int spmv__dev_scale_group(const spmv_device *d)
{
    int wg = spmv__dev_knob_default((int)SPMV__KERNEL_SCALE, SPMV_KNOB_WG, d->info.type);
    while (wg > 1 && (uint64_t)wg > d->info.group_size) wg /= 2;
    return wg;
}

static spmv_status spmv__dev_scale_create(spmv_device_matrix *m)
{
    spmv__dev_options o;
    o.used = 0;
    spmv__dev_option_types(&o, m->type);
    spmv__dev_option_number(&o, "WG", (uint64_t)spmv__dev_scale_group(m->device));
    return spmv__dev_program_of(m->device, (int)SPMV__KERNEL_SCALE, o.text, &m->scale);
}

static spmv_status spmv__dev_check_type(const spmv_device *d, spmv_type t)
{
    if ((unsigned)t >= SPMV_TYPE_COUNT) return spmv_log(&d->hooks, SPMV_ERR_ARGUMENT, "no such type");
#ifdef SPMV_NO_F64
    if (t != SPMV_F32) return spmv_log(&d->hooks, SPMV_ERR_UNSUPPORTED, "%s was left out of this build", spmv_type_name(t));
#endif
    if (t != SPMV_F32 && !d->info.f64)
        return spmv_log(&d->hooks, SPMV_ERR_NO_F64, "%s has no double precision", d->info.name);
    return SPMV_OK;
}

SPMV_API spmv_status spmv_device_matrix_create(spmv_device_matrix *out, spmv_device *d, uint64_t rows, uint64_t cols, spmv_type type,
                                    const spmv_part *parts, size_t count, const spmv_variant *variants)
{
    if (!out || !d || (count && !parts))
        return spmv__null(d ? &d->hooks : NULL, "spmv_device_matrix_create", !out ? "out" : !d ? "d" : "parts", out, sizeof *out);
    if (!d->info.backend) return spmv__dev_not_open(d, "spmv_device_matrix_create", out, sizeof *out);
    spmv_variant plain;
    void *block = NULL;
    size_t i, n = 0, k = 0;
    uint64_t g = 0;
    spmv_status s = spmv__dev_check_type(d, type);
    memset(out, 0, sizeof *out);
    memset(&plain, 0, sizeof plain);
    out->device = d;
    out->type = type;
    out->rows = rows;
    out->cols = cols;
    out->hooks = d->hooks;
    for (i = 0; !s && i < count; i++) s = spmv__dev_check_part(out, &parts[i], i);
    if (!s) s = spmv__dev_check_bytes(d, parts, count, &n);
    if (!s) s = spmv__new(&d->hooks, &block, n, sizeof(spmv_device_part), 0);
    out->part = (spmv_device_part *)block;
    out->sources = count;
    out->count = s ? 0 : n;
    for (i = 0; !s && i < n; i++) {
        spmv_device_part *part = &out->part[i];
        part->source = k;
        part->begin = g;
        s = spmv__dev_stretch(d, &parts[k], k, g, &part->end);
        if (!s) s = spmv__dev_stretch_create(part, d, &parts[k], variants ? &variants[k] : &plain);
        g = part->end;
        if (g < spmv__dev_grains(&parts[k])) continue;
        k++;
        g = 0;
    }
    if (!s) s = spmv__dev_scale_create(out);
    if (!s) s = spmv__dev_new_buffer(d, 0, 0, &out->none);
    out->covers = !s && count && spmv_part_covers(&parts[0], rows);
    if (s) spmv_device_matrix_free(out);
    return s;
}

SPMV_API spmv_status spmv_device_matrix_update(spmv_device_matrix *m, const spmv_part *parts, size_t count)
{
    if (!m || (count && !parts)) return spmv__null(m ? &m->hooks : NULL, "spmv_device_matrix_update", !m ? "m" : "parts", NULL, 0);
    const spmv_hooks *h = &m->hooks;
    const spmv_device *d = m->device;
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
        const spmv_device_part *p = &m->part[i];
        spmv_part q;
        if (!p->values) continue;
        s = spmv__dev_cut_part(h, &parts[p->source], p->begin, p->end, 1, &q);
        if (s) return s;
        s = d->info.backend->write(d, d->queue, p->a[0], q.a[0].count * q.a[0].width, q.a[0].data);
        spmv__dev_cut_free(h, &q);
    }
    return s;
}

SPMV_API void spmv_device_matrix_free(spmv_device_matrix *m)
{
    spmv_hooks h;
    size_t i;
    int k;
    if (!m) return;
    h = m->hooks;
    for (i = 0; i < m->count; i++) {
        for (k = 0; k < SPMV_MAX_ARRAYS; k++)
            spmv__dev_buffer_free(m->device, m->part[i].a[k]);
        spmv__dev_buffer_free(m->device, m->part[i].list);
    }
    spmv__dev_buffer_free(m->device, m->none);
    spmv_free(&h, m->part);
    memset(m, 0, sizeof *m);
}

SPMV_API const spmv_variant *spmv_device_matrix_variant(const spmv_device_matrix *m, size_t i)
{
    size_t k;
    for (k = 0; m && k < m->count; k++)
        if (m->part[k].source == i) return &m->part[k].variant;
    return NULL;
}

/* ---- execs: kernels with their arguments ---------------------------------------------------------------------------- */

/* Sets arguments one after another; the first failure stays. */
typedef struct spmv__dev_args {
    const spmv_device_matrix *m;
    void       *kernel;
    unsigned    next;
    spmv_status s;
} spmv__dev_args;

static void spmv__dev_arg(spmv__dev_args *a, const void *value, size_t size)
{
    const spmv_device *d = a->m->device;
    if (!a->s) a->s = d->info.backend->argument(d, a->kernel, a->next++, value, size);
}

static void spmv__dev_arg_mem(spmv__dev_args *a, void *mem)
{
    spmv__dev_arg(a, mem ? &mem : &a->m->none, sizeof mem);
}

static void spmv__dev_arg_count(spmv__dev_args *a, uint64_t n)
{
    spmv__dev_arg(a, &n, sizeof n);
}

/* A number in the vectors' type. */
static void spmv__dev_arg_real(spmv__dev_args *a, double v)
{
    float f = (float)v;
    if (a->m->type == SPMV_F32) spmv__dev_arg(a, &f, sizeof f);
    else spmv__dev_arg(a, &v, sizeof v);
}

static spmv__dev_args spmv__dev_args_of(const spmv_device_matrix *m, void *kernel)
{
    spmv__dev_args a;
    a.m = m;
    a.kernel = kernel;
    a.next = 0;
    a.s = SPMV_OK;
    return a;
}

static void spmv__dev_launch_shape(spmv__launch *l, uint64_t groups, uint64_t wg)
{
    l->groups = groups;
    l->wg = wg;
}

/* A part's kernel takes its arrays, its integers, rows, columns and the row list (coo: its nonzeros), and the carries if its
 * format has any. The kernel of its finishing launch takes the same. */
static spmv_status spmv__dev_launch_part(spmv__launch *l, const spmv_device_matrix *m, const spmv_device_part *p, const char *name,
                                        uint64_t groups, void *const *carry)
{
    const spmv__dev_format *t = &spmv__dev_formats[p->format];
    const char *ints = t->ints;
    spmv__dev_args a;
    size_t n;
    int i;
    spmv_status s = m->device->info.backend->kernel(m->device, p->program, name, &l->kernel);
    if (s) return s;
    a = spmv__dev_args_of(m, l->kernel);
    for (i = 0; i < t->arrays; i++) spmv__dev_arg_mem(&a, p->a[i]);
    for (i = 0; (n = spmv__dev_word(&ints)) != 0; i++, ints += n)
        if (*ints >= 'a') spmv__dev_arg_count(&a, p->n[i]);
    if (p->format == SPMV_COO) {
        spmv__dev_arg_count(&a, p->nnz);
        spmv__dev_arg_mem(&a, carry[1]);
    } else {
        spmv__dev_arg_count(&a, p->rows);
        spmv__dev_arg_count(&a, m->cols);
        if (p->list) spmv__dev_arg_mem(&a, p->list);
    }
    if (p->format == SPMV_COO || p->runs) spmv__dev_arg_mem(&a, carry[0]);
    l->arg = a.next;
    l->first = p->source == 0;
    l->row = p->row;
    l->texel = spmv__dev_texel(p->format, m->type, p->n, &p->variant);
    spmv__dev_launch_shape(l, groups, (uint64_t)p->variant.value[SPMV_KNOB_WG]);
    return a.s;
}

/* Carries and, all zero, the counters behind them. No queue is needed for that: one may be waiting for the caller. */
static spmv_status spmv__dev_new_carries(const spmv_device_matrix *m, const spmv_device_part *p, void **out)
{
    const spmv_device *d = m->device;
    uint64_t bytes = p->carries * spmv_vector_size(m->type) + p->counters * 4;
    void *zeros = NULL;
    spmv_status s;
    if (!p->counters || bytes > d->info.alloc_bytes) return spmv__dev_new_buffer(d, bytes, 0, out);
    s = spmv__new(&m->hooks, &zeros, bytes, 1, 0);
    if (s) return s;
    s = spmv__dev_new_filled(d, bytes, 0, zeros, out);
    spmv_free(&m->hooks, zeros);
    return s;
}

/* The one or two launches of a part. */
static spmv_status spmv__dev_launch_all(spmv_exec *e, const spmv_device_matrix *m, const spmv_device_part *p)
{
    spmv__launch *l = &e->launch[e->count];
    spmv_status s = SPMV_OK;
    e->count += p->finish ? 2 : 1;
    if (p->carries) s = spmv__dev_new_carries(m, p, &l->carry[0]);
    if (!s && p->carries && p->format == SPMV_COO)
        s = spmv__dev_new_buffer(m->device, p->carries * 4, 0, &l->carry[1]);
    if (!s) s = spmv__dev_launch_part(l, m, p, "spmv", p->groups, l->carry);
    if (!s && p->finish) s = spmv__dev_launch_part(l + 1, m, p, "finish", p->finish, l->carry);
    return s;
}

static spmv_status spmv__dev_launch_scale(spmv__launch *l, const spmv_device_matrix *m)
{
    uint64_t wg = (uint64_t)spmv__dev_scale_group(m->device), groups;
    spmv__dev_args a;
    spmv_status s = spmv__dev_groups(m->device, m->rows, wg, wg, &groups);
    if (!s) s = m->device->info.backend->kernel(m->device, m->scale, "spmv", &l->kernel);
    if (s) return s;
    a = spmv__dev_args_of(m, l->kernel);
    spmv__dev_arg_count(&a, m->rows);
    l->arg = a.next;
    spmv__dev_launch_shape(l, groups, wg);
    return a.s;
}

static spmv_status spmv__dev_exec_queue(spmv_exec *e, void *queue)
{
    const spmv_device *d = e->matrix->device;
    spmv_status s;
    if (!queue) queue = d->queue;
    s = d->info.backend->queue_keep(d, queue, &e->chain, &e->profiles);
    if (!s) e->queue = queue;
    return s;
}

SPMV_API spmv_status spmv_exec_create(spmv_exec *out, const spmv_device_matrix *m, void *queue)
{
    if (!out || !m || !m->device)
        return spmv__null(m ? &m->hooks : NULL, "spmv_exec_create", !out ? "out" : !m ? "m" : "m->device", out, sizeof *out);
    void *block = NULL;
    size_t i;
    spmv_status s;
    memset(out, 0, sizeof *out);
    out->matrix = m;
    out->hooks = m->hooks;
    s = spmv__dev_exec_queue(out, queue);
    if (!s) s = spmv__new(&m->hooks, &block, 2 * (uint64_t)m->count, sizeof(spmv__launch), 0);
    out->launch = (spmv__launch *)block;
    if (!s && m->rows) s = spmv__dev_launch_scale(&out->scale, m);
    for (i = 0; !s && i < m->count; i++)
        if (m->part[i].groups) s = spmv__dev_launch_all(out, m, &m->part[i]);
    if (s) spmv_exec_free(out);
    return s;
}

static void spmv__dev_launch_free(const spmv_device *d, spmv__launch *l)
{
    if (l->kernel) d->info.backend->kernel_free(d, l->kernel);
    spmv__dev_buffer_free(d, l->carry[0]);
    spmv__dev_buffer_free(d, l->carry[1]);
}

static void spmv__dev_event_free(const spmv_device *d, void *event)
{
    if (event) d->info.backend->event_free(d, event);
}

/* Puts event (NULL: none) in the place of what slot holds; none where it cannot be retained. */
static spmv_status spmv__dev_event_keep(const spmv_device *d, void **slot, void *event)
{
    spmv_status s = event ? d->info.backend->event_keep(d, event) : SPMV_OK;
    spmv__dev_event_free(d, *slot);
    *slot = s ? NULL : event;
    return s;
}

static void spmv__dev_exec_forget(spmv_exec *e)
{
    const spmv_device *d = e->matrix->device;
    int i;
    for (i = 0; i < 2; i++) {
        spmv__dev_buffer_free(d, e->image[i]);
        e->image[i] = NULL;
    }
    spmv__dev_buffer_free(d, e->seen);
    e->seen = NULL;
}

/* No product's time is known. */
static void spmv__dev_exec_untimed(spmv_exec *e)
{
    spmv__dev_event_keep(e->matrix->device, &e->first, NULL);
    spmv__dev_event_keep(e->matrix->device, &e->last, NULL);
}

SPMV_API void spmv_exec_free(spmv_exec *e)
{
    const spmv_device *d;
    spmv_hooks h;
    size_t i;
    if (!e || !e->matrix) return;
    d = e->matrix->device;
    h = e->hooks;
    spmv__dev_exec_forget(e);
    spmv__dev_exec_untimed(e);
    spmv__dev_launch_free(d, &e->scale);
    for (i = 0; i < e->count; i++) spmv__dev_launch_free(d, &e->launch[i]);
    spmv__dev_buffer_free(d, e->x);
    spmv__dev_buffer_free(d, e->y);
    if (e->queue) d->info.backend->queue_free(d, e->queue);
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
static spmv_status spmv__dev_exec_take(spmv_exec *e, const char *function)
{
    if (!e || !e->matrix) return spmv__null(e ? &e->hooks : NULL, function, e ? "e->matrix" : "e", NULL, 0);
    if (spmv__try_lock(&e->busy)) return SPMV_OK;
    return spmv_log(&e->hooks, SPMV_ERR_BUSY, "another thread multiplies with the same exec, which is a matrix's own in spmv_mul: make "
                    "an spmv_exec for each thread (spmv_exec_create)");
}

/* ---- products ---------------------------------------------------------------------------------------------------- */

/* A product on its way into the queue. */
typedef struct spmv__dev_run {
    spmv_exec  *e;
    double      alpha;
    void       *x, *y;
    uint64_t    x0, y0;
    unsigned    num_wait;
    const void *wait;
    size_t      left;      /* launches to come, the current one included */
    void       *previous;  /* event of the launch before, where launches are chained or timed */
    int         begun;
    int         keep_last; /* the last launch's event is wanted */
} spmv__dev_run;

/* The first launch waits for what the caller says, the others for the one before where the queue does not see to that. */
static spmv_order spmv__dev_order(const spmv__dev_run *r)
{
    spmv_order o;
    o.count = r->begun ? 0 : r->num_wait;
    o.wait = r->begun ? NULL : r->wait;
    o.after = r->begun && r->e->chain ? r->previous : NULL;
    return o;
}

static spmv_status spmv__dev_enqueue(spmv__dev_run *r, const spmv__launch *l, double beta)
{
    spmv_exec *e = r->e;
    const spmv_device *d = e->matrix->device;
    spmv__dev_args a = spmv__dev_args_of(e->matrix, l->kernel);
    spmv_order order = spmv__dev_order(r);
    void *event = NULL;
    int want = e->chain || e->timing || (r->left == 1 && r->keep_last);
    a.next = l->arg;
    spmv__dev_arg_mem(&a, r->x);
    spmv__dev_arg_count(&a, r->x0);
    spmv__dev_arg_mem(&a, r->y);
    spmv__dev_arg_count(&a, r->y0 + l->row);
    spmv__dev_arg_real(&a, r->alpha);
    spmv__dev_arg_real(&a, beta);
    if (l->texel) spmv__dev_arg_mem(&a, e->image[l->texel == 4 && r->x0 % 4 == 0]);
    if (!a.s) a.s = d->info.backend->launch(d, e->queue, l->kernel, l->groups, l->wg, &order, want ? &event : NULL);
    if (a.s) return a.s;
    if (e->timing && !r->begun) a.s = spmv__dev_event_keep(d, &e->first, event);
    spmv__dev_event_free(d, r->previous);
    r->previous = event;
    r->begun = 1;
    r->left--;
    return a.s;
}

/* A vector of n elements from an offset lies within its buffer. */
static spmv_status spmv__dev_exec_check(const spmv_exec *e, void *mem, uint64_t offset, uint64_t n, const char *name)
{
    const spmv_device *d = e->matrix->device;
    uint64_t have = 0;
    spmv_status s;
    if (!n) return SPMV_OK;
    if (!mem) return spmv_log(&e->hooks, SPMV_ERR_ARGUMENT, "%s is NULL", name);
    s = d->info.backend->buffer_bytes(d, mem, &have);
    if (s) return s;
    have /= spmv_vector_size(e->matrix->type);
    if (offset <= have && n <= have - offset) return SPMV_OK;
    return spmv_log(&e->hooks, SPMV_ERR_ARGUMENT, "%s: %llu elements from %llu on, the buffer has %llu", name, (spmv__ull)n,
                    (spmv__ull)offset, (spmv__ull)have);
}

/* An image of the buffer x, as far as images go, with four elements a texel or one; kept while x is the same. */
static spmv_status spmv__dev_exec_image(spmv_exec *e, void *x, uint64_t x_offset, int texel)
{
    const spmv_device_matrix *m = e->matrix;
    const spmv_device *d = m->device;
    uint64_t size = spmv_vector_size(m->type) * (uint64_t)texel, need = (x_offset + m->cols) / (uint64_t)texel, bytes = 0;
    int i = texel == 4;
    spmv_status s;
    if (e->seen != x) {
        spmv__dev_exec_forget(e);
        s = d->info.backend->buffer_keep(d, x);
        if (s) return s;
        e->seen = x;
    }
    if (!e->image[i]) {
        s = d->info.backend->buffer_bytes(d, x, &bytes);
        if (s) return s;
        e->texels[i] = bytes / size;
        if (e->texels[i] > d->info.image_texels) e->texels[i] = d->info.image_texels;
        if (e->texels[i]) s = d->info.backend->image(d, x, m->type, texel, e->texels[i], &e->image[i]);
        else s = d->info.backend->image(d, x, m->type, 1, e->texels[i] = 1, &e->image[i]); /* x has fewer than four elements: no
                                                                                             texel is read */
        if (s) return s;
    }
    if (need <= e->texels[i]) return SPMV_OK;
    return spmv_log(&e->hooks, SPMV_ERR_LIMIT, "x ends at element %llu of its buffer, an image of it at %llu",
                    (spmv__ull)(x_offset + m->cols), (spmv__ull)(e->texels[i] * (uint64_t)texel));
}

/* The images that the launches want. Reading an image while its buffer is written is undefined, even elsewhere in it. */
static spmv_status spmv__dev_exec_images(spmv_exec *e, void *x, uint64_t x_offset, void *y)
{
    spmv_status s = SPMV_OK;
    size_t i;
    for (i = 0; !s && i < e->count; i++) {
        int texel = e->launch[i].texel;
        if (!texel) continue;
        if (x == y) return spmv_log(&e->hooks, SPMV_ERR_ARGUMENT, "IMG=1: x and y lie in one buffer");
        s = spmv__dev_exec_image(e, x, x_offset, x_offset % 4 ? 1 : texel);
    }
    return s;
}

static spmv_status spmv__dev_exec_mul(spmv_exec *e, double alpha, void *x, uint64_t x_offset, double beta, void *y,
                                      uint64_t y_offset, unsigned num_wait, const void *wait, void **event)
{
    const spmv_device_matrix *m = e->matrix;
    const spmv_device *d = m->device;
    size_t i, launches = alpha != 0 && m->rows ? e->count : 0;
    int covers = launches && m->covers && m->part[0].groups;
    int scale = m->rows && beta != 1 && !covers;
    spmv__dev_run r;
    spmv_status s = num_wait && !wait ? spmv__null(&e->hooks, "spmv_exec_mul", "wait", NULL, 0) : SPMV_OK;
    if (!s) s = spmv__dev_exec_check(e, y, y_offset, m->rows, "y");
    if (!s && alpha != 0 && m->rows) s = spmv__dev_exec_check(e, x, x_offset, m->cols, "x");
    if (!s && launches && m->cols) s = spmv__dev_exec_images(e, x, x_offset, y);
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
    if (scale) s = spmv__dev_enqueue(&r, &e->scale, beta);
    for (i = 0; !s && i < launches; i++) s = spmv__dev_enqueue(&r, &e->launch[i], covers && e->launch[i].first ? beta : 1);
    if (!s && !r.begun && (event || num_wait || e->timing)) {
        spmv_order order = spmv__dev_order(&r);
        s = d->info.backend->marker(d, e->queue, &order, &r.previous);
        if (!s && e->timing) s = spmv__dev_event_keep(d, &e->first, r.previous);
    }
    if (!s && e->timing) s = spmv__dev_event_keep(d, &e->last, r.previous);
    if (s) spmv__dev_exec_untimed(e);
    if (!s && event) {
        *event = r.previous;
        r.previous = NULL;
    }
    spmv__dev_event_free(d, r.previous);
    return s;
}

/* The call of any back end, which has its own types for buffers and events; function is its name. */
static spmv_status spmv__exec_mul(spmv_exec *e, const char *function, double alpha, void *x, uint64_t x_offset, double beta, void *y,
                                  uint64_t y_offset, unsigned num_wait, const void *wait, void **event)
{
    spmv_status s = spmv__dev_exec_take(e, function);
    if (event) *event = NULL;
    if (s) return s;
    s = spmv__dev_exec_mul(e, alpha, x, x_offset, beta, y, y_offset, num_wait, wait, event);
    spmv__unlock(&e->busy);
    return s;
}

SPMV_API spmv_status spmv_exec_mul_buffers(spmv_exec *e, double alpha, void *x, uint64_t x_offset, double beta, void *y,
                                           uint64_t y_offset)
{
    return spmv__exec_mul(e, "spmv_exec_mul_buffers", alpha, x, x_offset, beta, y, y_offset, 0, NULL, NULL);
}

/* The buffers of products with host vectors. */
static spmv_status spmv__dev_exec_host_buffers(spmv_exec *e)
{
    const spmv_device_matrix *m = e->matrix;
    uint64_t size = spmv_vector_size(m->type);
    spmv_status s = SPMV_OK;
    if (!e->x) s = spmv__dev_new_buffer(m->device, spmv__sat_mul(m->cols, size), 1, &e->x);
    if (!s && !e->y) s = spmv__dev_new_buffer(m->device, spmv__sat_mul(m->rows, size), 0, &e->y);
    return s;
}

static spmv_status spmv__dev_exec_mul_host(spmv_exec *e, double alpha, const void *x, double beta, void *y)
{
    const spmv_device_matrix *m = e->matrix;
    const spmv_device *d = m->device;
    const spmv_backend *b = d->info.backend;
    uint64_t size = spmv_vector_size(m->type), x_bytes = m->cols * size, y_bytes = m->rows * size;
    const char *missing = spmv__vector_missing(m->rows, m->cols, alpha, x, y);
    void *done = NULL;
    spmv_status s;
    if (missing) return spmv__null(&e->hooks, "spmv_exec_mul_host", missing, NULL, 0);
    if (!m->rows) return SPMV_OK;
    s = spmv__dev_exec_host_buffers(e);
    if (!s && alpha != 0 && m->cols) s = b->write(d, e->queue, e->x, x_bytes, x);
    if (!s && beta != 0) s = b->write(d, e->queue, e->y, y_bytes, y);
    if (!s) s = spmv__dev_exec_mul(e, alpha, e->x, 0, beta, e->y, 0, 0, NULL, &done);
    if (!s) s = b->read(d, e->queue, e->y, y_bytes, y, done);
    spmv__dev_event_free(d, done);
    return s;
}

SPMV_API spmv_status spmv_exec_mul_host(spmv_exec *e, double alpha, const void *x, double beta, void *y)
{
    spmv_status s = spmv__dev_exec_take(e, "spmv_exec_mul_host");
    if (s) return s;
    s = spmv__dev_exec_mul_host(e, alpha, x, beta, y);
    spmv__unlock(&e->busy);
    return s;
}

static spmv_status spmv__dev_exec_timing(spmv_exec *e, int on)
{
    if (on && !e->profiles)
        return spmv_log(&e->hooks, SPMV_ERR_UNSUPPORTED, "the queue was made without profiling (desc.profile; OpenCL: "
                        "CL_QUEUE_PROFILING_ENABLE)");
    e->timing = on != 0;
    spmv__dev_exec_untimed(e);
    return SPMV_OK;
}

SPMV_API spmv_status spmv_exec_timing(spmv_exec *e, int on)
{
    spmv_status s = spmv__dev_exec_take(e, "spmv_exec_timing");
    if (s) return s;
    s = spmv__dev_exec_timing(e, on);
    spmv__unlock(&e->busy);
    return s;
}

static spmv_status spmv__dev_exec_seconds(spmv_exec *e, double *seconds)
{
    const spmv_device *d = e->matrix->device;
    if (!e->first || !e->last) return spmv_log(&e->hooks, SPMV_ERR_ARGUMENT, "no product was made with timing on");
    return d->info.backend->seconds(d, e->first, e->last, seconds);
}

SPMV_API spmv_status spmv_exec_seconds(spmv_exec *e, double *seconds)
{
    spmv_status s = seconds ? spmv__dev_exec_take(e, "spmv_exec_seconds") : spmv__null(NULL, "spmv_exec_seconds", "seconds", NULL, 0);
    if (seconds) *seconds = 0;
    if (s) return s;
    s = spmv__dev_exec_seconds(e, seconds);
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
    void        *xd, *yd;       /* buffers */
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
        s = spmv__dev_new_buffer(&k->device, bytes, 1, &c->xd);
    }
    if (!s) s = spmv__dev_new_buffer(&k->device, spmv__check_y_size(c) * size, 0, &c->yd);
    if (!s) s = k->device.info.backend->write(&k->device, k->device.queue, c->xd, bytes, x);
    spmv_free(&k->hooks, x);
    return s;
}

static void spmv__check_buffers_free(const spmv__checker *k, spmv__check_case *c)
{
    spmv__dev_buffer_free(&k->device, c->xd);
    spmv__dev_buffer_free(&k->device, c->yd);
    c->xd = c->yd = NULL;
}

/* One product into out, which begins as y, not a number where beta is 0. */
static spmv_status spmv__check_product(spmv__checker *k, spmv__check_case *c, spmv_exec *e, int real, double alpha,
                                       double beta, void *out)
{
    const spmv_device *d = &k->device;
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
    s = d->info.backend->write(d, d->queue, c->yd, bytes, out);
    if (!s) s = spmv_exec_mul_buffers(e, alpha, c->xd, real ? spmv__check_x_reals(c) : (uint64_t)SPMV__CHECK_X0, beta, c->yd,
                                      SPMV__CHECK_Y0);
    if (!s) s = d->info.backend->read(d, d->queue, c->yd, bytes, out, NULL);
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
    spmv_device_matrix m;
    spmv_exec e;
    const spmv_variant *v;
    spmv_status s = spmv_device_matrix_create(&m, &k->device, c->rows, c->cols, k->now.type, c->store.part,
                                   (size_t)c->store.count, wish);
    if (s) return s;
    v = spmv_device_matrix_variant(&m, 0);
    if (!wish) c->plain = *v;
    if (!wish || v->set != c->plain.set || memcmp(v->value, c->plain.value, sizeof v->value) != 0) {
        *own = 1;
        s = spmv_exec_create(&e, &m, NULL);
        if (!s) s = spmv__check_products(k, c, &e, v->value[SPMV_KNOB_ATOMIC] != 0);
        spmv_exec_free(&e);
    }
    spmv_device_matrix_free(&m);
    return s;
}

static spmv_check_result spmv__check_judge(spmv_status s, const spmv_check *c)
{
    if (spmv_status_is_refusal(s) || s == SPMV_ERR_NO_F64) return SPMV_CHECK_REFUSED;
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
            spmv__dev_knob_choose(&next, (spmv_knob)knob, values[i]);
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
    return spmv_status_is_refusal(s) && s != SPMV_ERR_MEMORY ? SPMV_OK : s; /* without memory the check ends */
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
    spmv__programs_free(&k->device);
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
    for (; !s && (n = spmv__dev_word(&p)) != 0; p += n) {
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
    for (i = 0; i < SPMV__CHECK_MATRICES; i++) spmv__check_buffers_free(k, &k->c[i]);
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
    spmv__programs_free(&k->device);
}

SPMV_API spmv_status spmv_self_check(spmv_device *d, const spmv_check_desc *desc, spmv_check_counts *counts)
{
    if (!d || !counts) return spmv__null(d ? &d->hooks : NULL, "spmv_self_check", !d ? "d" : "counts", counts, sizeof *counts);
    if (!d->info.backend) return spmv__dev_not_open(d, "spmv_self_check", counts, sizeof *counts);
    spmv_check_desc all;
    spmv_hooks h = d->hooks;
    spmv__checker *k = (spmv__checker *)spmv_alloc(&h, 1, sizeof *k);
    spmv_status s = SPMV_OK;
    int i;
    memset(counts, 0, sizeof *counts);
    memset(&all, 0, sizeof all);
    if (!k) return spmv__no_memory(&h, 1, sizeof *k);
    memset(k, 0, sizeof *k);
    k->desc = desc ? desc : &all;
    k->counts = counts;
    k->outer = h;
    k->hooks.user = k;
    k->hooks.resize = spmv__check_resize;
    k->hooks.log = spmv__check_hear;
    k->device = *d;
    k->device.programs = NULL;
    k->device.hooks = k->hooks;
    for (i = 0; !s && i < SPMV__CHECK_MATRICES; i++) s = spmv__check_make(k, i);
    for (i = 0; !s && i < SPMV_TYPE_COUNT; i++)
        if (!k->desc->types || k->desc->types >> i & 1u) s = spmv__check_type(k, (spmv_type)i);
    if (s) spmv_log(&h, s, "self-check: %s", k->message);
    spmv__check_free(k);
    spmv_free(&h, k);
    return s;
}

#endif /* SPMV_IMPLEMENTATION */
