/* SPDX-License-Identifier: MIT
 *
 * spmv_device.h - sparse matrix times vector on devices: what all back ends share.
 *
 * A back end (spmv_cl.h) is a table of functions that list devices, build programs, hold buffers and launch kernels. Everything
 * else is here: knobs and variants, kernel sources and their arguments, parts larger than a buffer, and products. Stored parts go
 *
 *     spmv_part[] --spmv_device_matrix_create--> spmv_device_matrix --spmv_exec_create--> spmv_exec --> y
 *
 *   spmv_device         the context, queue and compiled programs of one device
 *   spmv_device_matrix  the parts in device memory. Products do not change it: any number of threads and queues may multiply with
 *                       it at once, each through an exec of its own.
 *   spmv_exec           what one product in flight needs: kernels with their arguments and the carries of rows that work-groups
 *                       share. One for each thread and queue; a second thread that uses the same exec gets SPMV_ERR_BUSY.
 *
 * Close in reverse order: execs, then their matrix, then its device. Each holds pointers to the object it was made from, which
 * therefore must not move. All three are safe to destroy when zeroed or after their creation failed.
 *
 * What any threads may do at once, without a lock of the caller's ("matrix" is also an spmv_matrix of spmv.h):
 *
 *     to make, update or destroy a matrix           beside all that uses other matrices, also of the same device
 *     products, spmv_exec_create, spmv_exec_free    beside each other on one matrix as well, each thread with an exec of its own
 *     spmv_buffer_..., spmv_device_finish, _program, _programs_take, _programs_give    beside all but spmv_device_close
 *     spmv_self_check                               as making a matrix
 *     another call with an spmv_exec, an spmv_converter, an spmv_group (with all of its devices)    one thread
 *
 * While one thread compiles a program, others wait only if they need a program that is not compiled yet; uploads and downloads through
 * pinned memory take turns; products on buffers never wait. The hooks of a device are called in all of these threads; they must neither
 * use the device nor wait for a thread that does. One thread alone may use a device whose queue is another one in each thread
 * (CU_STREAM_PER_THREAD), or any device where there is neither Windows nor POSIX with gcc or clang.
 *
 * In a process that was forked off the one which opened a device, all calls but those that free are refused (SPMV_ERR_BACKEND), and those
 * free nothing of the driver's. No device can be opened there either, since drivers do not work in both.
 *
 * The same matrix, variant and device give the same bits in every product (except with the knob ATOMIC). Configuration macros:
 * spmv_formats.h. The self-check, which tries every variant on a device, is in spmv_check.h.
 *
 * The interface has three parts: "start here" has devices, matrices and products; "more" has knobs and variants; the third is for
 * authors of back ends and tools. If you only want the interface, stop at "END OF THE INTERFACE".
 */
/* Above the guard: the bodies may be wanted although the interface was seen. What is complete is not read again. */
#if !defined(SPMV_PLAN_H) || (defined(SPMV_IMPLEMENTATION) && !defined(SPMV_PLAN_IMPLEMENTED))
#include "spmv_plan.h"
#endif
#ifndef SPMV_DEVICE_H
#ifdef SPMV_H
#error "include spmv_device.h before spmv.h, which was compiled without devices (SPMV_NO_DEVICES)"
#endif
#define SPMV_DEVICE_H

#ifdef __cplusplus
extern "C" {
#endif

/* ================================================== start here =================================================== */

/* ---- devices ----------------------------------------------------------------------------------------------------- */

typedef enum spmv_device_type {
    SPMV_DEVICE_OTHER = 0,
    SPMV_DEVICE_GPU,
    SPMV_DEVICE_CPU,
    SPMV_DEVICE_ACCELERATOR
} spmv_device_type;

/* "gpu", "cpu", "accelerator" or "other". */
SPMV_API const char *spmv_device_type_name(spmv_device_type type);

/* Handles (void *) are the back end's own (OpenCL: cl_platform_id, cl_device_id). */
typedef struct spmv_device_info {
    char name[256], vendor[128], version[128], driver[128], platform[128]; /* longer texts are cut off */
    const struct spmv_backend *backend;
    void          *platform_id;
    void          *id;
    spmv_device_type type;
    unsigned       compute_units;
    unsigned       address_bits;
    uint64_t       global_bytes;  /* of device memory */
    uint64_t       alloc_bytes;   /* of the largest buffer */
    uint64_t       local_bytes;   /* of local memory that a work-group can have */
    uint64_t       group_size;    /* the most work-items in a work-group */
    uint64_t       cache_bytes;   /* of the cache that all compute units share; 0: unknown, as with OpenCL, whose drivers report another */
    double         memory_rate;   /* GB/s that its memory can deliver at most, by its clock and width; 0: unknown, as with OpenCL */
    uint64_t       image_texels;  /* of the largest image of a buffer; 0: the device has no images */
    int            f64;           /* 1: has double precision */
    int            profiling;     /* 1: its queues can measure time */
    int            out_of_order;  /* 1: its queues can be out of order */
    int            atomics64;     /* 1: has 64-bit compare and exchange */
    int            unified;       /* 1: its memory is that of the host */
    unsigned       nvidia;        /* compute capability (90: 9.0) if NVIDIA's own driver drives the device, else 0 */
} spmv_device_info;

/* Which device to open, or the caller's own context, device and queue. All zero: the default device. */
typedef struct spmv_device_desc {
    const char *which;   /* index in the list of devices ("0"), type ("gpu", "cpu", "accelerator": the first of that type), or part of
                            a name in any case; NULL or "": the first GPU, or the first device if there is none. After the name of a back
                            end and a colon ("cuda:0", "opencl:gpu", "cuda:"), only its devices count */
    void       *context; /* the caller's own, together with device; which is then ignored. Both are retained. OpenCL: cl_context */
    void       *device;  /* OpenCL: cl_device_id */
    void       *queue;   /* the caller's own, retained; it is enough by itself, as it knows its context and device. NULL: a queue is
                            created. OpenCL: cl_command_queue */
    const struct spmv_backend *backend; /* which back end the caller's handles belong to; NULL: the first, which is OpenCL in
                            spmv_device_open */
    int         profile; /* 1: the created queue measures time (spmv_exec_seconds) */
    spmv_hooks  hooks;   /* memory and messages of the device and everything made on it */
} spmv_device_desc;

typedef struct spmv__common spmv__common;

/* An open device; spmv_device_open (spmv.h) makes it. Handles may be used in calls of the back end's own interface. */
typedef struct spmv_device {
    spmv_device_info info;
    void            *context;  /* OpenCL: cl_context */
    void            *queue;    /* OpenCL: cl_command_queue */
    spmv__common    *common;   /* what its matrices share: compiled programs, pinned memory of the host (8 MiB) through which they are
                                  copied, and memory that one has used and the next may use again; kept until the device is closed */
    uint64_t         compiled; /* how many programs were compiled from source so far */
    spmv_hooks       hooks;
} spmv_device;

/* Releases programs, queue and context, and zeroes *d. */
SPMV_API void spmv_device_close(spmv_device *d);

/* All compiled programs that d has or was given, as one string of bytes, which saves the next process the compilation. The string begins
 * with the library's own header: a version, a checksum, a hash of the device and its driver, and for each program its options and a hash of
 * its source. Take it after the first product, since some drivers compile a kernel only then.
 *   out    becomes the string; free it by spmv_free with d's hooks. NULL on failure
 *   bytes  its length
 * SPMV_ERR_BACKEND if the driver does not hand a program out. Where a back end has no compiled form of a program, it is left out. */
SPMV_API spmv_status spmv_device_programs_take(const spmv_device *d, void **out, size_t *bytes);

/* Gives d programs that spmv_device_programs_take returned earlier, in this process or another. They are copied, and handed to the driver
 * only when they are needed. What is damaged, was made by another device, driver or version of the kernels, or is refused by the driver is
 * ignored without a message; those programs are compiled. So it is safe to pass any bytes that were once written by
 * spmv_device_programs_take; bytes from elsewhere must not be passed, since a driver runs what it is given.
 * With 0 bytes it says that d's programs will be kept: then d also compiles kernels that pay only in later processes (spmv_convert.h).
 *   from   NULL if bytes is 0 */
SPMV_API spmv_status spmv_device_programs_give(spmv_device *d, const void *from, size_t bytes);

/* ---- a matrix in device memory ----------------------------------------------------------------------------------- */

typedef struct spmv_variant spmv_variant;
typedef struct spmv_device_part spmv_device_part;

/* Read the members freely; change none. */
typedef struct spmv_device_matrix {
    spmv_device  *device;
    spmv_type     type;
    uint64_t      rows, cols;
    int           covers;              /* 1: part 0 sets every row of y */
    size_t        sources;             /* how many parts it was made from */
    size_t        count;               /* elements of part: more than sources where a part was cut into stretches */
    spmv_device_part *part;
    void         *scale;               /* a program with the kernel that only scales y; the device owns it */
    int           scale_group;         /* its work-group */
    void         *none;                /* a buffer of the device that stands for arrays without elements */
    spmv_hooks    hooks;
} spmv_device_matrix;

/* Copies parts to the device and builds their kernels. The parts are not needed afterwards. A part with an array larger than a buffer
 * of the device is cut into stretches of rows (coo: of entries), each with buffers and launches of its own.
 *   out         need not be initialised; zeroed on failure
 *   d           must outlive out and must not move
 *   rows, cols  of the whole matrix. A part without a row list must have this many rows, and every part this many columns
 *   type        what to compute in; every part must have this type
 *   parts       count of them, made by spmv_part_build; may be NULL if count is 0. SPMV_ERR_INDEX if a row list has a row beyond rows
 *   variants    one for each part; NULL: all defaults. Knobs that are not set get defaults that depend on the device and the part
 * SPMV_ERR_NO_F64; SPMV_ERR_BUILD (the message has the build log); SPMV_ERR_LIMIT if the device cannot hold the arrays, or has too
 * little local memory or too small work-groups for a variant. */
SPMV_API spmv_status spmv_device_matrix_create(spmv_device_matrix *out, spmv_device *d, uint64_t rows, uint64_t cols, spmv_type type,
                                    const spmv_part *parts, size_t count, const spmv_variant *variants);
/* Copies the values again, after spmv_part_update of the parts that the matrix was made from, but for parts that the device filled
 * (spmv_converter_update). No product may be running. */
SPMV_API spmv_status spmv_device_matrix_update(spmv_device_matrix *m, const spmv_part *parts, size_t count);
/* With CUDA, buffers that only products in the device's own queue have used are kept for the next matrix, 32 MiB or a 512th of the
 * device's memory at most, until memory runs out or the device is closed. */
SPMV_API void spmv_device_matrix_free(spmv_device_matrix *m);
/* The variant in use for part i of those the matrix was made from (if the part was cut, for its first stretch); NULL if there is no
 * such part. */
SPMV_API const spmv_variant *spmv_device_matrix_variant(const spmv_device_matrix *m, size_t i);

/* ---- products ---------------------------------------------------------------------------------------------------- */

typedef struct spmv__launch {
    void     *kernel;
    uint64_t  groups, wg; /* work-groups, and work-items in each */
    unsigned  arg;      /* the first of the arguments that change: x, its offset, y, its offset, alpha, beta, the image */
    int       first;    /* 1: belongs to the first part */
    uint64_t  row;      /* of y, where its rows begin */
    int       texel;    /* elements of x in a texel of the image that it reads; 0: it reads none */
    void     *carry[2]; /* buffers with sums and rows of split rows; the finishing launch reads those of the launch before it */
} spmv__launch;

/* All members are private. */
typedef struct spmv_exec {
    const spmv_device_matrix *matrix;
    void                 *queue;
    int                   chain;       /* 1: the queue is out of order, so that launches wait for each other by events */
    int                   profiles;    /* 1: the queue measures time */
    int                   timing;
    spmv__launch          scale;
    spmv__launch         *launch;
    size_t                count;
    void                 *x, *y;       /* buffers of spmv_exec_mul_host */
    void                 *seen;        /* the x that the images show */
    void                 *image[2];    /* with one and with four elements in a texel */
    uint64_t              texels[2];
    void                 *first, *last; /* events of the latest timed product */
    long                  busy;        /* 1: a thread is in one of the functions below */
    spmv_hooks            hooks;
} spmv_exec;

/* Makes what products on one queue need.
 *   out    need not be initialised; zeroed on failure
 *   m      must outlive out and must not move
 *   queue  of the device's context, in order or not; retained. NULL: the device's own. OpenCL: cl_command_queue */
SPMV_API spmv_status spmv_exec_create(spmv_exec *out, const spmv_device_matrix *m, void *queue);
SPMV_API void spmv_exec_free(spmv_exec *e);

/* y = alpha A x + beta y with host vectors of the type's vector elements, as spmv_mul; returns when y is done. The first call allocates
 * buffers, which e keeps. */
SPMV_API spmv_status spmv_exec_mul_host(spmv_exec *e, double alpha, const void *x, double beta, void *y);

/* Enqueues y = alpha A x + beta y for buffers of the device, after all that is in the queue. Its conditions are those of
 * spmv_exec_mul (spmv_cl.h), which in addition takes a wait list and returns an event. On an out-of-order queue call
 * spmv_device_finish between the product and what must come before or after it.
 *   x, y                buffers
 *   x_offset, y_offset  where the vectors begin in them, in elements */
SPMV_API spmv_status spmv_exec_mul_buffers(spmv_exec *e, double alpha, void *x, uint64_t x_offset, double beta, void *y,
                                           uint64_t y_offset);

/* Switches timing on (1) or off (0): with it, products keep their events for spmv_exec_seconds. SPMV_ERR_UNSUPPORTED if the queue
 * does not measure time. */
SPMV_API spmv_status spmv_exec_timing(spmv_exec *e, int on);
/* Waits for the latest timed product and returns the device's time from the start of its first launch to the end of its last. */
SPMV_API spmv_status spmv_exec_seconds(spmv_exec *e, double *seconds);

/* ---- vectors in device memory ------------------------------------------------------------------------------------
 * For programs that run on any back end; with OpenCL, a cl_mem of the caller's own works as well. All these functions use the
 * device's queue, and all but spmv_buffer_fill wait until their work is done. */

/* A buffer of uninitialised bytes; 0 bytes give a buffer that may be passed but not read. On failure *out is NULL. SPMV_ERR_LIMIT
 * beyond the device's largest buffer. Free it before closing the device. */
SPMV_API spmv_status spmv_buffer_create(const spmv_device *d, uint64_t bytes, void **out);
SPMV_API void spmv_buffer_free(const spmv_device *d, void *buffer);
/* Copy to and from the first bytes of a buffer. These and spmv_buffer_fill return SPMV_ERR_ARGUMENT for bytes beyond its end. */
SPMV_API spmv_status spmv_buffer_write(const spmv_device *d, void *buffer, uint64_t bytes, const void *from);
SPMV_API spmv_status spmv_buffer_read(const spmv_device *d, void *buffer, uint64_t bytes, void *to);
/* Fills the first bytes, a multiple of 4, with copies of word. */
SPMV_API spmv_status spmv_buffer_fill(const spmv_device *d, void *buffer, uint64_t bytes, uint32_t word);
/* Waits until everything in the device's queue is done. */
SPMV_API spmv_status spmv_device_finish(const spmv_device *d);

/* ===================================================== more ====================================================== */

/* ---- knobs and variants ------------------------------------------------------------------------------------------
 * X(NAME, GPU, CPU, "what it is"): the knobs of all kernels, with their defaults on GPUs and on CPUs. The legal values stand
 * beside each knob in the kernels ("tune:" lines), and a format has the knobs that its kernel names there. Defaults that depend on
 * the format, the part or the device are in the formats' sections below. */
#define SPMV_KNOB_LIST(X)                                                                                             \
    X(L,     0,   1,  "lanes: work-items that share a row or block row; default 0: by the mean row length and the "   \
                      "number of rows")                                                                               \
    X(WG,    128, 1,  "work-items in a work-group; default on CPUs with lanes 32, with SLICE or with STAGE of sell and bdia 64, " \
                      "for csr with run and STREAM=1: 16; "                                                           \
                      "on GPUs for csr with run: 256, tcsr: a 16th of the tile")                                     \
    X(PER,   7,  511, "coo: nonzeros for each work-item")                                                             \
    X(STREAM, 1,  0,  "csr with run, tcsr: 1 a work-group takes a run or a tile, through local memory; 0 a work-item" \
                      " does")                                                                                        \
    X(FINISH, 1,  0,  "csr with run, tcsr: the pieces of a long row are added 0 by a second launch, 1 by the "        \
                      "work-group that finishes last; default 1 on NVIDIA from compute capability 7.0")               \
    X(UNROLL, 1,  1,  "iterations of the inner loop unrolled; tcsr, ell and sell with V=1, csr on GPUs: entries that a "  \
                      "work-item loads at once, csr on CPUs: sums of a lane; default for csr 4, for tcsr 8 or 16, on " \
                      "GPUs 4 for ell and sell whose rows fill at most half of the device, 8 for such sell and csr whose " \
                      "lanes all run at once, for csr with run and STREAM=1 a work-item's share of a run, 2 to 8")    \
    X(SHUF,  0,   0,  "csr, L up to 32, and with run, STREAM=1: 1 sums lanes by shuffles (NVIDIA; ignored elsewhere)") \
    X(NT,    0,   0,  "1 keeps the matrix out of the first-level cache; default 1 for csr, tcsr and sell that the second cannot " \
                      "hold (NVIDIA; ignored elsewhere)")                                                             \
    X(REGS,  0,   0,  "the most registers of a work-item, 0: the compiler decides; default for tcsr 40 to 80, for some " \
                      "blocks 64 or 96, for sell, and csr without run, with UNROLL=8 by default 64, in f32 40 (CUDA; "     \
                      "ignored elsewhere)") \
    X(ATOMIC, 0,  0,  "coo: 1 adds products to y atomically, 2 sums of rows: the last bits of y vary from product to product") \
    X(STAGE, 1,   0,  "local memory: bdia 1 reads x through it, sell the slice pointers, cmrs its sums, coo all")     \
    X(I64,   0,   0,  "1 numbers slots with 64 bits; forced to 1 where 32 could overflow")                            \
    X(V,     1,   1,  "rows for each work-item of ell, sell, dia, bdia; block rows of bell; neighbours in a row of "  \
                      "dense")                                                                                        \
    X(SEQ,   1,   0,  "block rows (csr with run: runs) for each work-item, one after another; 0: its share of all")   \
    X(IMG,   0,   0,  "1 reads x through an image")                                                                   \
    X(ZERO,  0,   0,  "1 tests a value before it loads x for it; zeros then ignore an Inf or NaN in x")               \
    X(ALIGN, 0,   0,  "cmrs: 1 aligns the lanes' steps")                                                              \
    X(SLICE, 0,   0,  "sell: 1 gives a work-group to each slice")                                                     \
    X(GEN,   0,   0,  "csr without run: 0 the hand-written body; 2, 4 the one that spmvgen wrote, with vectors of so many " \
                      "slots")

typedef enum spmv_knob {
#define X(NAME, gpu, cpu, text) SPMV_KNOB_##NAME,
    SPMV_KNOB_LIST(X)
#undef X
    SPMV_KNOB_COUNT
} spmv_knob;

/* Knob values for the kernel of one part. All zero: every knob has its default. */
struct spmv_variant {
    uint64_t set; /* bit k: value[k] was chosen */
    int      value[SPMV_KNOB_COUNT];
};

enum { SPMV_VARIANT_TEXT = 512 /* bytes that hold any variant's text, including its end */ };

/* Its name ("WG") and its description; "unknown" if there is no such knob. */
SPMV_API const char *spmv_knob_name(spmv_knob k);
SPMV_API const char *spmv_knob_text(spmv_knob k);
/* The legal values of a knob in the kernel of format f.
 *   out, max  gets up to max values; may be NULL if max is 0
 * Returns how many values there are; 0 if the format does not have the knob or is not built. */
SPMV_API size_t spmv_knob_values(spmv_format f, spmv_knob k, int *out, size_t max);
/* Prints the knobs that are set: "L=8,WG=128". Size and result are as for snprintf. */
SPMV_API size_t spmv_variant_print(const spmv_variant *v, char *out, size_t size);
/* Reads such a text for format f; "" and NULL set nothing. On failure *v is zeroed. SPMV_ERR_PLAN if the format does not have a knob or
 * a value; the message then lists its knobs or the legal values. */
SPMV_API spmv_status spmv_variant_parse(spmv_variant *v, spmv_format f, const char *text, const spmv_hooks *hooks);

/* Reads variants for all parts of a store.
 *   v     gets one variant for each stored part; may be NULL if there is none. Elements for parts of the plan that are not stored are
 *         checked and dropped
 *   text  one element for each part of the store's plan, joined by '+' like the parts: "L=8+WG=128". Elements may be empty; where the
 *         text ends early, or is NULL, nothing is set. A first element that begins with "*:" sets its knobs in every part whose kernel
 *         has them; the elements after it set those of single parts: "*:WG=64+L=8" is L=8,WG=64 for the first part and WG=64 for the
 *         others
 * SPMV_ERR_PLAN if a part's kernel does not have a knob of its element, no kernel has one after "*:", or a value is not legal. */
SPMV_API spmv_status spmv_variants_parse(spmv_variant *v, const spmv_store *st, const char *text, const spmv_hooks *hooks);
/* Completes v to the variant that spmv_device_matrix_create would use: knobs that are not set get defaults that depend on device and
 * part; knobs that make no difference to the part are removed. SPMV_ERR_LIMIT if the device cannot run the variant; SPMV_ERR_UNSUPPORTED
 * or SPMV_ERR_ARGUMENT if the part cannot have it. The compiled kernel may still turn out to need more than the device has. */
SPMV_API spmv_status spmv_variant_resolve(spmv_variant *v, const spmv_device *d, const spmv_part *p);

/* ===================================== for authors of back ends and tools ======================================== */

/* A part in device memory, or one stretch of it. */
struct spmv_device_part {
    size_t       source;               /* the number of the part among those that the matrix was made from */
    spmv_format  format;
    uint64_t     begin, end;           /* the stretch, counted in what the format can be cut at: slices, runs, ... */
    uint64_t     row;                  /* of the matrix, where the stretch begins; 0 with a row list */
    uint64_t     rows, nnz;
    uint64_t     values;               /* slots of val */
    spmv_variant variant;              /* in use; every knob of the format that matters is set */
    void        *program;              /* the device owns it */
    void        *a[SPMV_MAX_ARRAYS];   /* buffers; NULL: no elements */
    void        *all;                  /* the buffer in which all of them lie; NULL: each is one by itself */
    void        *list;                 /* row list, or NULL */
    uint64_t     n[SPMV_MAX_INTS];
    uint64_t     groups;               /* work-groups of the launch; 0: there is nothing to do */
    uint64_t     finish;               /* work-groups of the finishing launch, which adds the carries to y; 0: there is none */
    uint64_t     carries;              /* how many carries an exec holds for it */
    uint64_t     counters;             /* after the carries: one for each group that has left its own; 0 between products */
    long         elsewhere;            /* of the first: 1: products may be in other queues than the device's */
};

/* The program of a format for build options ("-DVAL=double -DVEC=double -DF64 -DWG=64 ..."); built if the device object has none yet.
 * For tools and tests: spmv_device_matrix_create finds the options by itself.
 *   options  NULL: none
 *   out      the program, which the device owns; NULL on failure */
SPMV_API spmv_status spmv_device_program(spmv_device *d, spmv_format f, const char *options, void **out);

/* Lists and opens devices of the given back ends; spmv_device_list and spmv_device_open (spmv.h) do it with all that are compiled in.
 *   all    an array of back ends that ends with NULL
 *   out    list: gets up to max devices, in the order of their index; NULL if max is 0. open: need not be initialised; zeroed on
 *          failure
 *   count  gets how many devices there are
 *   desc   NULL: all defaults
 * Open returns SPMV_ERR_NO_DEVICE if no device fits desc->which. */
SPMV_API spmv_status spmv_backends_list(const struct spmv_backend *const *all, spmv_device_info *out, size_t max, size_t *count,
                                        const spmv_hooks *hooks);
SPMV_API spmv_status spmv_backends_open(const struct spmv_backend *const *all, spmv_device *out, const spmv_device_desc *desc);

/* ---- back ends ---------------------------------------------------------------------------------------------------
 * Handles (void *) are the back end's own. A function that fails logs the reason to d->hooks, returns a status, and leaves its output
 * untouched or NULL; handles that are returned are never NULL. Any thread may call any function, but only one thread at a time uses
 * one kernel, or the queue of one exec. Kernels come as OpenCL C 1.2 with -D options; a back end of another language translates them.
 * The option NVIDIA is given where info.nvidia is not 0; kernels then contain PTX. */

enum { SPMV_KERNEL_TEXTS = 8 }; /* four files, each behind a #line */

/* The source of a program: count strings, which are compiled as one. */
typedef struct spmv_kernel_source {
    const char *file;    /* the kernel's file, for messages */
    const char *options; /* "-DVAL=float -DWG=64" */
    unsigned    count;
    const char *text[SPMV_KERNEL_TEXTS];
    size_t      size[SPMV_KERNEL_TEXTS]; /* bytes of each */
} spmv_kernel_source;

/* Events that a launch waits for, in addition to the order of its queue. */
typedef struct spmv_order {
    unsigned    count;   /* events in wait */
    const void *wait;    /* an array in the form that the back end's own interface takes from the caller */
    void       *after;   /* a single event instead, or NULL; count is 0 if it is set */
} spmv_order;

/* What several devices that share a matrix (spmv_group.h) need of a back end beyond that. A point marks a place in a queue. */
typedef struct spmv_transfer {
    /* A further queue of the device, in order, whose work goes before that of the device's queue where a back end can say so; queue_end
     * waits for its work and frees it. */
    spmv_status (*queue)(const spmv_device *d, void **queue);
    void (*queue_end)(const spmv_device *d, void *queue);
    /* Host memory that copies reach without a detour; handle is for unpin. bytes: at least 1. */
    spmv_status (*pin)(const spmv_device *d, uint64_t bytes, void **at, void **handle);
    void (*unpin)(const spmv_device *d, void *at, void *handle);
    /* Enqueue a copy from (get) or to (put) offset bytes behind the beginning of a buffer, and return at once. */
    spmv_status (*get)(const spmv_device *d, void *queue, void *buffer, uint64_t offset, uint64_t bytes, void *to);
    spmv_status (*put)(const spmv_device *d, void *queue, void *buffer, uint64_t offset, uint64_t bytes, const void *from);
    /* Starts what is in a queue, and does not wait for it. NULL: work starts by itself. */
    spmv_status (*start)(const spmv_device *d, void *queue);
    /* set marks the place behind all that is in the queue, and starts that work; follow lets what comes later in a queue wait for the
     * latest place, wait lets the host. Neither waits for a point that was never set. follow: the point is one of the same device, or
     * of any other of the back end if peer is not NULL. */
    spmv_status (*point)(const spmv_device *d, void **point);
    void (*point_free)(const spmv_device *d, void *point);
    spmv_status (*set)(const spmv_device *d, void *queue, void *point);
    spmv_status (*follow)(const spmv_device *d, void *queue, void *point);
    spmv_status (*wait)(const spmv_device *d, void *point);
    /* Enqueues, in a queue of d, a copy from a buffer of another device of the back end, without the host. peer_open comes once before
     * the first. Both NULL: there is no good way. */
    spmv_status (*peer_open)(const spmv_device *d, const spmv_device *other);
    spmv_status (*peer)(const spmv_device *d, void *queue, void *to, uint64_t to_offset, const spmv_device *other, void *from,
                        uint64_t from_offset, uint64_t bytes);
} spmv_transfer;

typedef struct spmv_backend {
    const char *name; /* "OpenCL" */
    /* As spmv_backends_list. SPMV_OK and a count of 0 if the machine has no driver. */
    spmv_status (*list)(spmv_device_info *out, size_t max, size_t *count, const spmv_hooks *hooks);
    /* Sets context and queue of *d. Without handles in desc, d->info describes the chosen device; with them, open retains them and
     * sets d->info as list does. close is called after a failure, too. */
    spmv_status (*open)(spmv_device *d, const spmv_device_desc *desc);
    void (*close)(spmv_device *d);
    /* SPMV_ERR_BUILD with the compiler's output in the message. */
    spmv_status (*build)(const spmv_device *d, const spmv_kernel_source *source, void **program);
    void (*program_free)(const spmv_device *d, void *program);
    /* The compiled form of a program, *bytes long and allocated by spmv_alloc with d's hooks; NULL and 0 if there is none. load makes a
     * program of it, with the options of the build. */
    spmv_status (*image_of)(const spmv_device *d, void *program, void **image, size_t *bytes);
    spmv_status (*load)(const spmv_device *d, const char *options, const void *image, size_t bytes, void **program);
    spmv_status (*kernel)(const spmv_device *d, void *program, const char *name, void **kernel);
    void (*kernel_free)(const spmv_device *d, void *kernel);
    /* group: the largest work-group that the compiled kernel can run with; local: the bytes of local memory that it uses. */
    spmv_status (*kernel_limits)(const spmv_device *d, void *kernel, uint64_t *group, uint64_t *local);
    /* Sets argument number index to a copy of size bytes at value; it stays for all launches until it is set again. For a buffer,
     * value points to its handle and size is that of a handle. */
    spmv_status (*argument)(const spmv_device *d, void *kernel, unsigned index, const void *value, size_t size);
    /* bytes: at least 1. from: initial contents, or NULL: uninitialised. */
    spmv_status (*buffer)(const spmv_device *d, uint64_t bytes, int read_only, const void *from, void **buffer);
    void (*buffer_free)(const spmv_device *d, void *buffer);
    spmv_status (*buffer_bytes)(const spmv_device *d, void *buffer, uint64_t *bytes);
    /* Copy to and from the beginning of a buffer, and return when it is done. read waits for the event after unless it is NULL. */
    spmv_status (*write)(const spmv_device *d, void *queue, void *buffer, uint64_t bytes, const void *from);
    spmv_status (*read)(const spmv_device *d, void *queue, void *buffer, uint64_t bytes, void *to, void *after);
    /* Enqueues filling the first bytes, a multiple of 4, with copies of word. */
    spmv_status (*fill)(const spmv_device *d, void *queue, void *buffer, uint64_t bytes, uint32_t word);
    /* Retains a queue and finds out whether it is out of order and measures time. SPMV_ERR_ARGUMENT if it does not belong to d's
     * context and device. */
    spmv_status (*queue_keep)(const spmv_device *d, void *queue, int *out_of_order, int *profiles);
    void (*queue_free)(const spmv_device *d, void *queue);
    spmv_status (*finish)(const spmv_device *d, void *queue);
    /* Enqueues groups work-groups of wg work-items. event: gets an event that completes with the launch, unless it is NULL. */
    spmv_status (*launch)(const spmv_device *d, void *queue, void *kernel, uint64_t groups, uint64_t wg, const spmv_order *order,
                          void **event);
    /* event: gets one that completes when order and everything before it in the queue is done. */
    spmv_status (*marker)(const spmv_device *d, void *queue, const spmv_order *order, void **event);
    spmv_status (*event_keep)(const spmv_device *d, void *event);
    void (*event_free)(const spmv_device *d, void *event);
    /* Waits for last; seconds: device time from the start of first to the end of last. */
    spmv_status (*seconds)(const spmv_device *d, void *first, void *last, double *seconds);
    /* Images of buffers, for IMG=1; all three are NULL if info.image_texels is always 0. texel: elements of x in a texel, 1 or 4 (4 only
     * for SPMV_F32). image_check: SPMV_OK if the device can read such images. buffer_free frees images. */
    spmv_status (*image_check)(const spmv_device *d, spmv_type type, int texel);
    spmv_status (*image)(const spmv_device *d, void *buffer, spmv_type type, int texel, uint64_t texels, void **image);
    spmv_status (*buffer_keep)(const spmv_device *d, void *buffer);
    const spmv_transfer *transfer; /* for several devices that share a matrix; NULL: they cannot */
    /* Builds several programs, in threads at once, as build does one; programs, NULL before, are left so where it fails. NULL: the back end
     * cannot do that. */
    void (*build_all)(const spmv_device *d, const spmv_kernel_source *source, size_t count, void **programs);
    /* What stands for the rest of a buffer from an offset on, wherever a buffer is wanted but to free it, until the buffer is freed:
     * handles are addresses, and vectors are checked as such. NULL: they are not. */
    void *(*within)(void *buffer, uint64_t offset);
    const char *(*absent)(void); /* for messages, after list found no device: why; NULL: it does not say */
} spmv_backend;

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
#if defined(_WIN32) && !defined(SPMV__POSIX)
#  ifndef WIN32_LEAN_AND_MEAN
#    define WIN32_LEAN_AND_MEAN
#  endif
#  ifndef NOMINMAX
#    define NOMINMAX
#  endif
#  include <windows.h> /* SRWLOCK */
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

/* The index of the device that desc->which selects; count if there is no such device. */
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

/* Returns the back end whose name and a colon *which begins with, and skips them; NULL if there is none. */
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

/* Reports that none of the back ends has a device, and what each of them missed. */
static spmv_status spmv__dev_missing(const spmv_backend *const *all, const spmv_hooks *h)
{
    char why[400] = "";
    size_t n = 0;
    for (; *all && n < sizeof why; all++)
        n += spmv_print(why + n, sizeof why - n, "%s%s%s%s", n ? "; " : ": ", (*all)->name, (*all)->absent ? ": " : "",
                        (*all)->absent ? (*all)->absent() : "");
    return spmv_log(h, SPMV_ERR_NO_DEVICE, "no device was found%s", why);
}

/* Puts the device that which selects into *out. */
static spmv_status spmv__dev_find(const spmv_backend *const *all, spmv_device_info *out, const char *which, const spmv_hooks *h)
{
    size_t count = 0, room, i;
    spmv_device_info *info;
    const spmv_backend *one[2] = { spmv__dev_named(all, &which), NULL };
    spmv_status s;
    if (one[0]) all = one;
    s = spmv_backends_list(all, NULL, 0, &count, h);
    if (s) return s;
    if (!count) return spmv__dev_missing(all, h);
    room = count;
    info = (spmv_device_info *)spmv_alloc(h, room, sizeof *info);
    if (!info) return spmv__no_memory(h, room, sizeof *info);
    s = spmv_backends_list(all, info, room, &count, h);
    if (count > room) count = room;
    i = s ? count : spmv__dev_choose(info, count, which);
    if (i < count) *out = info[i];
    else if (!s)
        s = spmv_log(h, SPMV_ERR_NO_DEVICE, "no device matches '%s'; %llu found", which ? which : "", (spmv__ull)count);
    spmv_free(h, info);
    return s;
}

/* ---- what the matrices of a device share ----------------------------------------------------------------------------- */

/* A lock. Where there is neither POSIX nor Windows it does nothing, and threads must take turns. */
#if defined(SPMV__POSIX)
typedef pthread_mutex_t spmv__mutex;
static void spmv__mutex_make(spmv__mutex *m) { pthread_mutex_init(m, NULL); }
static void spmv__mutex_end(spmv__mutex *m) { pthread_mutex_destroy(m); }
static void spmv__lock(spmv__mutex *m) { pthread_mutex_lock(m); }
static void spmv__unlock(spmv__mutex *m) { pthread_mutex_unlock(m); }
#elif defined(_WIN32)
typedef SRWLOCK spmv__mutex;
static void spmv__mutex_make(spmv__mutex *m) { InitializeSRWLock(m); }
static void spmv__mutex_end(spmv__mutex *m) { (void)m; }
static void spmv__lock(spmv__mutex *m) { AcquireSRWLockExclusive(m); }
static void spmv__unlock(spmv__mutex *m) { ReleaseSRWLockExclusive(m); }
#else
typedef char spmv__mutex;
static void spmv__mutex_make(spmv__mutex *m) { (void)m; }
static void spmv__mutex_end(spmv__mutex *m) { (void)m; }
static void spmv__lock(spmv__mutex *m) { (void)m; }
static void spmv__unlock(spmv__mutex *m) { (void)m; }
#endif

typedef struct spmv__program {
    struct spmv__program *next;
    void                 *program;
    spmv_format           format;
    char                 *options;
} spmv__program;

/* A compiled program that was given to the device; the bytes of its options, with a zero at the end, and of the image follow. */
typedef struct spmv__image {
    struct spmv__image *next;
    uint64_t            source; /* hash of the source that it was compiled from */
    size_t              options, bytes;
} spmv__image;

/* Memory of the device that the device object keeps: what a matrix needed while it was prepared, and the arrays that it left when it was
 * destroyed, for the next one. An H200 takes 20 to 220 us to allocate or to free memory, as long as a kernel that converts millions of
 * nonzeros. All work on it is in the device's queue, one after another. */
#ifndef SPMV__SCRATCH_BYTES
#define SPMV__SCRATCH_BYTES (32u << 20) /* that are kept at most, an assumption: row pointers of 4 million rows take as many */
#endif
enum { SPMV__SCRATCH_PART = 512 /* or this part of the device's memory, if that is more: nobody misses 0.2% of it, an assumption */ };
enum { SPMV__SCRATCH_BUFFERS = 20 /* more than a matrix and a part need */ };
enum { SPMV__SCRATCH_TIMES = 4 /* as large as it must be, a buffer may be used, so that small matrices do not hold large buffers */ };
enum { SPMV__SCRATCH_CLOSE = 16 /* or larger by this part of that, if the matrix may keep the buffer: an assumption */ };
enum { SPMV__SCRATCH_LEAST = 4096 /* bytes: of smaller requests, sizes make no difference */ };

typedef struct spmv__scratch {
    uint64_t given; /* how many buffers were given back so far */
    struct {
        void    *at; /* NULL: this place is free */
        uint64_t bytes;
        uint64_t given;   /* the number of this one among those that were given back */
        int      used;
        int      running; /* 1: products in the device's queue may still use it: spmv__scratch_settle waits for them */
    } buffer[SPMV__SCRATCH_BUFFERS];
} spmv__scratch;

/* Large copies to and from a device go through pinned memory, which consists of chunks: while some are on their way, the next is filled or
 * emptied, in threads. A driver does the same with one thread: 52 MB took an H200 3.4 to 3.9 ms through the driver and 2.1 to 2.5 ms this
 * way, 216 MB an H100 22 and 9 ms. What is small shares a chunk and is not waited for either. Pinning takes 0.4 ms for 1 MB, so chunks are
 * made when as many bytes were copied, or are to be copied now, as pay for that, and kept. */
#ifndef SPMV__STAGE_CHUNK
#define SPMV__STAGE_CHUNK (4u << 20) /* bytes; with 1 MB, the copy above took 2.8 ms, with 8 MB 1.4 to 1.8, but pinning 6 */
#endif
#ifndef SPMV__STAGE_CHUNKS
#define SPMV__STAGE_CHUNKS 2
#endif
#ifndef SPMV__STAGE_PAYS
#define SPMV__STAGE_PAYS (48u << 20) /* bytes that pay: at 0.06 ms for 1 MB, they take the driver as much longer as pinning takes */
#endif
#ifndef SPMV__STAGE_LEAST
#define SPMV__STAGE_LEAST (1u << 20) /* bytes of a copy for which memory is pinned at all; for a download the first chunk is pinned only
                                        from SPMV__STAGE_CHUNK on */
#endif
#ifndef SPMV__STAGE_SHARE
#define SPMV__STAGE_SHARE (512u << 10) /* bytes that are worth a thread */
#endif
#ifndef SPMV__STAGE_ANYWHERE
#define SPMV__STAGE_ANYWHERE 0 /* 1: also for devices that share the memory of the host, for tests */
#endif
enum { SPMV__STAGE_MOST = 4 /* chunks */ };

typedef struct spmv__stage {
    void    *at[SPMV__STAGE_MOST], *handle[SPMV__STAGE_MOST]; /* pinned memory, made when it is first used */
    void    *point[SPMV__STAGE_MOST];                         /* where the queue has read or written it */
    unsigned now;                                             /* the chunk in use */
    uint64_t used;                                            /* bytes of it */
    int      busy;                                            /* 1: copies may be on their way */
    int      none;                                            /* 1: there is no such memory */
    uint64_t copied;                                          /* bytes that were copied without it */
} spmv__stage;

/* Threads that make, update and destroy different matrices at once meet here. A lock is of what stands behind it, up to the next one. */
struct spmv__common {
    long           process;  /* that opened the device */
    spmv__mutex    building; /* held while a program is compiled, so that no two threads compile the same one */
    spmv__mutex    copying;  /* held while a chunk is filled or waited for */
    spmv__stage    stage;
    spmv__mutex    lock;     /* never held for long, nor while a hook is called */
    spmv__program *programs; /* those built so far: new ones come in front, and none leaves before the device is closed */
    spmv__image   *images;   /* those of spmv_device_programs_give, from which programs are made instead of being compiled; likewise */
    int            keeps;    /* 1: programs will be kept for other processes (spmv_device_programs_give with 0 bytes) */
    double         rented;   /* seconds that the host has taken to fill parts because the kernels for it were not worth compiling yet */
    void          *none;     /* a buffer that stands for arrays without elements, or NULL */
    void          *kept;     /* what the choice of a plan keeps for the next matrix, or NULL; the next function frees it */
    void         (*kept_free)(void *kept);
    spmv__scratch  scratch;
};

static void spmv__dev_hush(void *user, spmv_status s, const char *message)
{
    (void)user;
    (void)s;
    (void)message;
}

/* The same device without messages. Other threads may be counting what they compile. */
static spmv_device spmv__dev_quiet(const spmv_device *d)
{
    spmv_device quiet;
    quiet.info = d->info;
    quiet.context = d->context;
    quiet.queue = d->queue;
    quiet.common = d->common;
    quiet.compiled = 0;
    quiet.hooks = d->hooks;
    quiet.hooks.log = spmv__dev_hush;
    return quiet;
}

static spmv_status spmv__common_make(spmv_device *d)
{
    void *block;
    spmv_status s = spmv__new(&d->hooks, &block, 1, sizeof *d->common, 0);
    d->common = (spmv__common *)block;
    if (s) return s;
    d->common->process = spmv__process();
    spmv__mutex_make(&d->common->building);
    spmv__mutex_make(&d->common->copying);
    spmv__mutex_make(&d->common->lock);
    return SPMV_OK;
}

/* 1: the device is open, and not only in the process that this one was forked off: a driver's threads, for example, have stayed there. */
static int spmv__dev_is_here(const spmv_device *d) { return d->common && d->common->process == spmv__process(); }

/* Refuses a device that is not; zeroes size bytes at out. */
static spmv_status spmv__dev_not_here(const spmv_device *d, const char *function, void *out, size_t size)
{
    if (out) memset(out, 0, size);
    if (!d->common) return spmv_log(&d->hooks, SPMV_ERR_ARGUMENT, "%s: the device is not open", function);
    return spmv_log(&d->hooks, SPMV_ERR_BACKEND, "%s: the device was opened by a process that this one was forked off: drivers do not work "
                    "in both", function);
}

/* The programs and the images that there are by now. */
static const spmv__program *spmv__dev_programs(const spmv_device *d)
{
    const spmv__program *p;
    spmv__lock(&d->common->lock);
    p = d->common->programs;
    spmv__unlock(&d->common->lock);
    return p;
}

static spmv__image *spmv__dev_images(const spmv_device *d)
{
    spmv__image *i;
    spmv__lock(&d->common->lock);
    i = d->common->images;
    spmv__unlock(&d->common->lock);
    return i;
}

SPMV_API spmv_status spmv_backends_open(const spmv_backend *const *all, spmv_device *out, const spmv_device_desc *desc)
{
    static long opened; /* the process that first opened a device */
    spmv_device_desc plain;
    spmv_status s = SPMV_OK;
    if (!all || !out) return spmv__null(desc ? &desc->hooks : NULL, "spmv_backends_open", !all ? "all" : "out", out, sizeof *out);
    memset(out, 0, sizeof *out);
    memset(&plain, 0, sizeof plain);
    if (!desc) desc = &plain;
    out->hooks = desc->hooks;
    if (spmv__left_by(&opened))
        return spmv_log(&out->hooks, SPMV_ERR_BACKEND, "spmv_device_open: a process that this one was forked off has opened a device");
    if (desc->context || desc->device || desc->queue) out->info.backend = desc->backend ? desc->backend : *all;
    else s = spmv__dev_find(all, &out->info, desc->which, &out->hooks);
    if (!s && !out->info.backend) s = spmv_log(&out->hooks, SPMV_ERR_NO_DEVICE, "no back end was given");
    if (!s) s = spmv__common_make(out);
    if (!s) s = out->info.backend->open(out, desc);
    if (s) spmv_device_close(out);
    return s;
}

static void spmv__program_free(spmv_device *d, spmv__program *p)
{
    if (p->program && spmv__dev_is_here(d)) d->info.backend->program_free(d, p->program);
    spmv_free(&d->hooks, p->options);
    spmv_free(&d->hooks, p);
}

static void spmv__stage_free(spmv_device *d);
static void spmv__scratch_free(spmv_device *d);
static int spmv__try_lock(long *busy);
static void spmv__set_free(long *busy);

static void spmv__programs_free(spmv_device *d)
{
    while (d->common->programs) {
        spmv__program *p = d->common->programs;
        d->common->programs = p->next;
        spmv__program_free(d, p);
    }
}

static void spmv__images_free(spmv_device *d)
{
    while (d->common->images) {
        spmv__image *i = d->common->images;
        d->common->images = i->next;
        spmv_free(&d->hooks, i);
    }
}

/* Frees what was made for the device while matrices were prepared. */
static void spmv__common_free(spmv_device *d)
{
    spmv__common *c = d->common;
    if (!c) return;
    spmv__programs_free(d);
    spmv__images_free(d);
    spmv__stage_free(d);
    spmv__scratch_free(d);
    if (c->kept_free) c->kept_free(c->kept);
    spmv__mutex_end(&c->building);
    spmv__mutex_end(&c->copying);
    spmv__mutex_end(&c->lock);
    spmv_free(&d->hooks, c);
}

SPMV_API void spmv_device_close(spmv_device *d)
{
    int here;
    if (!d) return;
    here = spmv__dev_is_here(d);
    spmv__common_free(d);
    if (here) d->info.backend->close(d);
    memset(d, 0, sizeof *d);
}

/* ---- kernels: sources, arrays and integers ------------------------------------------------------------------------ */

/* What the generated header spmv_kernels.h and the lists in spmv_formats.h tell about a format's kernel. */
typedef struct spmv__dev_kernel {
    const char          *file;
    const unsigned char *source; /* NULL: left out of this build */
    size_t               size;
    const char          *knobs;  /* the knobs that it declares, each with its legal values: "L 1 2 4;"; or NULL */
    int                  arrays; /* how many it takes */
    const char          *ints[SPMV_MAX_INTS + 1]; /* names in order, then NULL: capital letters make a macro, small ones an argument */
} spmv__dev_kernel;

#define SPMV__DEV_INT(FORMAT, NAME, name) name,
static const spmv__dev_kernel spmv__dev_kernels[] = {
#define X(NAME, name, text) { #name ".cl", SPMV__SRC_##NAME, SPMV_##NAME##_ARRAY_COUNT, { SPMV_##NAME##_INTS(SPMV__DEV_INT) NULL } },
    SPMV_FORMAT_LIST(X)
#undef X
    { "scale.cl", spmv__src_scale, sizeof spmv__src_scale, NULL, 0, { NULL } },
    { "gather.cl", spmv__src_gather, sizeof spmv__src_gather, NULL, 0, { NULL } },
    { "convert.cl", spmv__src_convert, sizeof spmv__src_convert, NULL, 0, { NULL } }
};
/* The pass that only scales y, the one that collects elements of x for other devices, and the one that fills the arrays of parts are built
 * like formats. */
#define SPMV__KERNEL_SCALE SPMV_FORMAT_COUNT
#define SPMV__KERNEL_GATHER (SPMV_FORMAT_COUNT + 1)
#define SPMV__KERNEL_CONVERT (SPMV_FORMAT_COUNT + 2)

/* 1: integer number i of the format becomes a macro; 0: an argument. */
static int spmv__dev_int_is_macro(spmv_format f, int i)
{
    const char *name = spmv__dev_kernels[f].ints[i];
    return *name >= 'A' && *name <= 'Z';
}

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

static int spmv__dev_knob_default(spmv_knob k, spmv_device_type type)
{
    static const int defaults[][2] = {
#define X(NAME, gpu, cpu, text) { gpu, cpu },
        SPMV_KNOB_LIST(X)
#undef X
    };
    return defaults[k][type == SPMV_DEVICE_CPU];
}

/* Reads the numbers behind the name of a knob in a list of knobs. Fills up to max of out; returns how many there are, 0 if it is not in
 * the list. */
static size_t spmv__dev_knob_listed(const char *list, const char *name, int *out, size_t max)
{
    const size_t length = strlen(name);
    size_t n = 0;
    while (*list && (strncmp(list, name, length) != 0 || list[length] != ' ')) {
        while (*list && *list++ != ';') {}
    }
    for (list += *list ? length : 0; *list == ' '; n++) {
        int v = 0;
        for (list++; *list >= '0' && *list <= '9'; list++) v = v * 10 + (*list - '0');
        if (n < max) out[n] = v;
    }
    return n;
}

SPMV_API size_t spmv_knob_values(spmv_format f, spmv_knob k, int *out, size_t max)
{
    size_t n;
    if ((unsigned)f >= SPMV_FORMAT_COUNT || (unsigned)k >= SPMV_KNOB_COUNT) return 0;
    if (!out) max = 0;
    if (!spmv__dev_kernels[f].source) return 0;
    n = spmv__dev_knob_listed(spmv__dev_kernels[f].knobs, spmv_knob_name(k), out, max);
    return n ? n : spmv__dev_knob_listed(SPMV__KNOBS_COMMON, spmv_knob_name(k), out, max);
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

/* The bit of a format in sets of formats; 0 if there is no such format. */
static unsigned spmv__dev_format_bit(spmv_format f) { return (unsigned)f < SPMV_FORMAT_COUNT ? 1u << f : 0; }

/* Writes the names of the knobs that the kernel of one of these formats has, bits 1u << SPMV_CSR, with commas between them. */
static void spmv__dev_knob_names(unsigned formats, char *out, size_t size)
{
    size_t n = 0;
    int k, f;
    for (k = 0; k < SPMV_KNOB_COUNT && n < size; k++) {
        for (f = 0; f < SPMV_FORMAT_COUNT && !(formats >> f & 1u && spmv__dev_knob_taken((spmv_format)f, (spmv_knob)k));) f++;
        if (f < SPMV_FORMAT_COUNT) n += spmv_print(out + n, size - n, "%s%s", n ? ", " : "", spmv_knob_name((spmv_knob)k));
    }
    if (!n) spmv_print(out, size, "%s", "none");
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
    if (!n) {
        spmv__dev_knob_names(spmv__dev_format_bit(f), text, sizeof text);
        return spmv_log(h, SPMV_ERR_PLAN, "the kernel of %s has no knob %s; it has %s", spmv_format_name(f), spmv_knob_name(k), text);
    }
    return spmv_log(h, SPMV_ERR_PLAN, "%s=%d: the kernel of %s takes only%s", spmv_knob_name(k), value, spmv_format_name(f), text);
}

static spmv_status spmv__dev_variant_check(const spmv_variant *v, spmv_format f, const spmv_hooks *h)
{
    spmv_status s = SPMV_OK;
    int k;
    for (k = 0; !s && k < SPMV_KNOB_COUNT; k++)
        if (spmv__dev_knob_set(v, (spmv_knob)k)) s = spmv__dev_knob_fault(f, (spmv_knob)k, v->value[k], h);
    return s;
}

/* The knob whose name the text up to an equals sign, a comma or the end is, and its length; SPMV_KNOB_COUNT if there is none. */
static int spmv__dev_knob_named(const char *p, size_t *length)
{
    const size_t n = *length = strcspn(p, "=,");
    int k;
    for (k = 0; k < SPMV_KNOB_COUNT; k++) {
        const char *name = spmv_knob_name((spmv_knob)k);
        if (strlen(name) == n && !strncmp(name, p, n)) break;
    }
    return k;
}

/* Reads one "NAME=value" at p into v. Returns what follows it, or NULL if it is not one. */
static const char *spmv__dev_variant_item(spmv_variant *v, const char *p)
{
    size_t n;
    int k = spmv__dev_knob_named(p, &n), value = 0;
    if (k == SPMV_KNOB_COUNT || p[n] != '=') return NULL;
    p += n + 1;
    if (*p < '0' || *p > '9') return NULL;
    while (*p >= '0' && *p <= '9' && value < 10000000) value = value * 10 + (*p++ - '0');
    spmv__dev_knob_choose(v, (spmv_knob)k, value);
    return p;
}

/* Reports what stands at p in a variant instead of "NAME=value", with the names of knobs if it is none. */
static spmv_status spmv__dev_variant_fault(const char *text, const char *p, unsigned formats, const spmv_hooks *h)
{
    char names[256];
    size_t n;
    if (spmv__dev_knob_named(p, &n) != SPMV_KNOB_COUNT)
        return spmv_log(h, SPMV_ERR_PLAN, "variant '%s', column %llu: expected a knob, '=' and a number", text, (spmv__ull)(p - text) + 1);
    spmv__dev_knob_names(formats, names, sizeof names);
    return spmv_log(h, SPMV_ERR_PLAN, "variant '%s', column %llu: expected the name of a knob: %s", text, (spmv__ull)(p - text) + 1, names);
}

/* Reads knobs separated by commas into *v, which it zeroes first. Does not check whether a format has them. formats: those whose knobs a
 * message lists, bits 1u << SPMV_CSR. */
static spmv_status spmv__dev_variant_read(spmv_variant *v, unsigned formats, const char *text, const spmv_hooks *h)
{
    const char *p = text ? text : "";
    memset(v, 0, sizeof *v);
    while (*p) {
        const char *next = spmv__dev_variant_item(v, p);
        if (!next || (*next && *next != ',') || (*next && !next[1])) return spmv__dev_variant_fault(text, p, formats, h);
        p = *next ? next + 1 : next;
    }
    return SPMV_OK;
}

SPMV_API spmv_status spmv_variant_parse(spmv_variant *v, spmv_format f, const char *text, const spmv_hooks *hooks)
{
    if (!v) return spmv__null(hooks, "spmv_variant_parse", "v", NULL, 0);
    spmv_status s = spmv__dev_variant_read(v, spmv__dev_format_bit(f), text, hooks);
    if (!s) s = spmv__dev_variant_check(v, f, hooks);
    if (s) memset(v, 0, sizeof *v);
    return s;
}

/* Copies into v the knobs that are set in from and that the kernel of f has. */
static void spmv__dev_variant_merge(spmv_variant *v, spmv_format f, const spmv_variant *from)
{
    int k;
    for (k = 0; k < SPMV_KNOB_COUNT; k++)
        if (spmv__dev_knob_set(from, (spmv_knob)k) && spmv__dev_knob_taken(f, (spmv_knob)k))
            spmv__dev_knob_choose(v, (spmv_knob)k, from->value[k]);
}

/* The formats of a plan's parts, as bits. */
static unsigned spmv__dev_plan_formats(const spmv_plan *plan)
{
    unsigned formats = 0;
    int i;
    for (i = 0; i < plan->count; i++) formats |= spmv__dev_format_bit(plan->part[i].format);
    return formats;
}

/* SPMV_ERR_PLAN if no part's kernel has a knob that is set in all, or one has it but not with this value. */
static spmv_status spmv__dev_every_part_check(const spmv_variant *all, const spmv_plan *plan, const spmv_hooks *h)
{
    char names[256];
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
        if (!s && !taken) {
            spmv__dev_knob_names(spmv__dev_plan_formats(plan), names, sizeof names);
            s = spmv_log(h, SPMV_ERR_PLAN, "*:%s: no part's kernel has this knob; they have %s", spmv_knob_name((spmv_knob)k), names);
        }
    }
    return s;
}

/* Copies the element of text that begins at p, up to the next '+', into one; SPMV_ERR_PLAN if it is too long. */
static spmv_status spmv__dev_variant_element(char *one, const char *text, const char *p, size_t *length, const spmv_hooks *h)
{
    size_t n = 0;
    while (p[n] && p[n] != '+') n++;
    *length = n;
    if (n >= SPMV_VARIANT_TEXT)
        return spmv_log(h, SPMV_ERR_PLAN, "variant '%s', column %llu: the element is too long", text, (spmv__ull)(p - text) + 1);
    memcpy(one, p, n);
    one[n] = 0;
    return SPMV_OK;
}

/* Applies the element one, which followed "*:", to every part. */
static spmv_status spmv__dev_every_part(spmv_variant *v, const spmv_store *st, const char *one, const spmv_hooks *h)
{
    spmv_variant all;
    int k;
    spmv_status s = spmv__dev_variant_read(&all, spmv__dev_plan_formats(&st->plan), one, h);
    if (!s) s = spmv__dev_every_part_check(&all, &st->plan, h);
    for (k = 0; !s && k < st->count; k++) spmv__dev_variant_merge(&v[k], st->plan.part[st->index[k]].format, &all);
    return s;
}

SPMV_API spmv_status spmv_variants_parse(spmv_variant *v, const spmv_store *st, const char *text, const spmv_hooks *hooks)
{
    if (!st || (!v && st->count)) return spmv__null(hooks, "spmv_variants_parse", st ? "v" : "st", NULL, 0);
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

/* ---- what the sections of the formats share ----------------------------------------------------------------------- */

enum { SPMV__NVIDIA_VOLTA = 70 /* compute capability: the first with the loads, shuffles and memory order that kernels use */ };

/* The value of a knob in a resolved variant; 1 where the format does not take it. */
static uint64_t spmv__dev_knob(const spmv_variant *v, spmv_knob k) { return spmv__dev_knob_set(v, k) ? (uint64_t)v->value[k] : 1; }

/* 1 if the format's kernel has STAGE and the variant switches it on. */
static int spmv__dev_staged(const spmv_variant *v) { return spmv__dev_knob_set(v, SPMV_KNOB_STAGE) && v->value[SPMV_KNOB_STAGE]; }

/* Gives a knob that the caller did not set (wish) a default of the format's own, for CPUs or for all other devices. */
static void spmv__dev_default(const spmv_device *d, const spmv_variant *wish, spmv_variant *v, spmv_knob k, int gpu, int cpu)
{
    if (!spmv__dev_knob_set(wish, k)) v->value[k] = d->info.type == SPMV_DEVICE_CPU ? cpu : gpu;
}

/* 1: a product of a part reads more than so many quarters of the cache that all compute units share; unknown: the result where the
 * device does not say how large that is. Each part of a plan is judged by itself. On an H100, with 50 MiB, products behave as if what
 * NT=1 loads were the first to leave that cache: of a matrix that it cannot hold a part stays, but one that would fit does not get in
 * where other data are. 14 matrices, f64 and f32, products of 4 us or more in a row after some with another matrix ("spmv bench --plan
 * tcsr/NT=0 --plan tcsr/NT=1 --again 4" times much the same): the time with NT=0 over that with NT=1 was, below three quarters of it and
 * above, for tcsr 0.92 and 1.13, with 16-bit columns 0.97 and 1.07, for csr:run 0.93 and 1.07, for csr 0.75 and 0.98; for sell 0.80
 * below the whole of it and 1.09 above. */
static int spmv__dev_streams(const spmv_device *d, const spmv_part *p, unsigned quarters, int unknown)
{
    const uint64_t width = spmv_vector_size(p->type), slots = p->a[SPMV_VAL].count, x = p->cols < slots ? p->cols : slots;
    const uint64_t vectors = spmv__sat_mul(spmv__sat_add(x, p->rows), width);
    if (!d->info.cache_bytes) return unknown;
    return spmv__sat_add(spmv_part_bytes(p), vectors) > d->info.cache_bytes / 4 * quarters;
}

/* Build options, which are appended one after another. The first is -w: PoCL tells stderr how many warnings there were. */
typedef struct spmv__dev_options {
    char   text[2048];
    size_t used;
} spmv__dev_options;

static void spmv__dev_option(spmv__dev_options *o, const char *name, const char *value)
{
    size_t room = o->used < sizeof o->text ? sizeof o->text - o->used : 0;
    o->used += spmv_print(room ? o->text + o->used : NULL, room, "%s-D%s=%s", o->used ? " " : "-w ", name, value);
}

static void spmv__dev_option_number(spmv__dev_options *o, const char *name, uint64_t value)
{
    char text[24];
    spmv_print(text, sizeof text, "%llu", (spmv__ull)value);
    spmv__dev_option(o, name, text);
}

/* Kernel arguments, which are set one after another; the first failure stays. */
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

/* *out: how many groups of wg work-items process items, per_group each. SPMV_ERR_LIMIT beyond what one launch can number. */
static spmv_status spmv__dev_groups(const spmv_device *d, uint64_t items, uint64_t per_group, uint64_t wg, uint64_t *out)
{
    uint64_t most = d->info.address_bits < 64 ? 0xffffffffu / wg : 0x7fffffffu;
    *out = spmv__ceil_div(items, per_group);
    if (*out <= most) return SPMV_OK;
    return spmv_log(&d->hooks, SPMV_ERR_LIMIT, "%llu work-groups exceed the limit of one launch, %llu", (spmv__ull)*out, (spmv__ull)most);
}

/* A part with an array larger than a buffer of the device is cut into stretches. It can be cut between grains g = 0, 1, ... up to
 * the number of grains; a stretch is a part again, whose pointers count from its own beginning, and y is offset by its first row.
 * Sums are the same as without cuts. coo, which adds to y entry by entry, is cut anywhere. */

/* Rows or block rows in a grain of those formats whose arrays are padded to, or have bases for, groups of that many. */
enum { SPMV__GRAIN = 32 };

/* What a stretch takes of one array: count elements from at on, in each of so many planes that lie stride apart. In the copy each
 * element is smaller by less (pointers) or larger by more (offsets of diagonals). */
typedef struct spmv__dev_cut {
    uint64_t at, count, planes, stride, less, more;
} spmv__dev_cut;

/* A stretch: grains begin up to end, which hold rows row up to last; ld is the number of those rows, rounded up to SPMV__GRAIN. */
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

/* The first arrays of formats whose entries follow a pointer array: sell, sbell, bcsr and cmrs have them where csr does. */
enum { SPMV__PTR = SPMV_CSR_PTR, SPMV__ENTRIES = SPMV_CSR_COL };
typedef char spmv__dev_same_arrays[(int)SPMV_SELL_PTR == (int)SPMV__PTR && (int)SPMV_SELL_COL == (int)SPMV__ENTRIES &&
                                   (int)SPMV_SBELL_PTR == (int)SPMV__PTR && (int)SPMV_SBELL_COL == (int)SPMV__ENTRIES &&
                                   (int)SPMV_BCSR_PTR == (int)SPMV__PTR && (int)SPMV_BCSR_COL == (int)SPMV__ENTRIES &&
                                   (int)SPMV_CMRS_PTR == (int)SPMV__PTR && (int)SPMV_CMRS_INDEX == (int)SPMV__ENTRIES ? 1 : -1];

/* Cuts the first three arrays of these formats from pointer first to pointer last; each entry has unit values. */
static void spmv__dev_cut_slots(const spmv_part *p, uint64_t first, uint64_t last, uint64_t unit, spmv__dev_cut *c)
{
    uint64_t begin = spmv__at(&p->a[SPMV__PTR], first), n = spmv__at(&p->a[SPMV__PTR], last) - begin;
    spmv__dev_cut_one(&c[SPMV_VAL], begin * unit, n * unit, 0);
    spmv__dev_cut_one(&c[SPMV__PTR], first, last - first + 1, begin);
    spmv__dev_cut_one(&c[SPMV__ENTRIES], begin, n, 0);
}

/* ---- what the runtime knows of each format ------------------------------------------------------------------------
 * One spmv__<name>_device in each section, collected by SPMV_FORMAT_LIST in spmv__dev_formats; formats that were left out of the build
 * keep theirs. How many arrays and which integers a kernel takes is known from SPMV_<NAME>_ARRAYS and _INTS. */
enum { SPMV__NO_ARRAY = -1 }; /* instead of an array's number */
enum { SPMV__STAGE_GROUP = 64 }; /* items of a group on a CPU, where they share local memory */

/* Each record gives every member: functions that several formats share are named in each of them. p is a stored part, v its
 * variant, in which every knob of the format has a value (L is 1 where the kernel has no such knob). */
typedef struct spmv__dev_format {
    int walks_rows;     /* 1: kernels/shell.cl walks the rows; 0: the format's kernel file does */
    int offsets;        /* the array whose width (4 or 8 bytes) the kernel knows as OFF, or SPMV__NO_ARRAY */
    int columns, bases; /* the array of columns that may be of 16 bits and that of their bases; SPMV__NO_ARRAY: there are none */
    int repeat_lanes;   /* L of reproducible products (SPMV_REPEATS); 1 where there are none */
    int carry_rows;     /* 1: each carry has the number of its row beside it, in a second buffer */
    const char *check;  /* plans that the self-check tries, separated by spaces */

    /* -- the variant -- */
    /* 1: the knob makes a difference to the part, the other knobs being as in v. Only asked for knobs of the format's kernel. */
    int (*matters)(const spmv_part *p, const spmv_variant *v, spmv_knob k);
    /* Changes those defaults that are not those of SPMV_KNOB_LIST; knobs that the caller has set are set in wish. */
    void (*defaults)(const spmv_device *d, const spmv_part *p, const spmv_variant *wish, spmv_variant *v);
    /* Elements in an average row or block row, fill included, by which L has its default; block_rows: how many there are. */
    uint64_t (*mean)(const spmv_part *p, const spmv_variant *v, uint64_t block_rows);
    /* Adapts defaults of other knobs to the part; logs and returns SPMV_ERR_UNSUPPORTED if a knob in wish does not suit it. */
    spmv_status (*fit)(const spmv_device *d, const spmv_part *p, const spmv_variant *wish, spmv_variant *v);
    /* Logs and returns SPMV_ERR_LIMIT if the device cannot run the variant, whose work-group size is final. */
    spmv_status (*allowed)(const spmv_device *d, const spmv_part *p, const spmv_variant *v);

    /* -- the kernel -- */
    /* Adds build options that follow from neither integers nor knobs. */
    void (*options)(spmv__dev_options *o, const spmv_part *p);
    /* The value of the macro for integer number i of the part. */
    uint64_t (*macro)(const spmv_part *p, int i);
    /* Rows of y that a work-item (or L of them together) computes at once. */
    uint64_t (*height)(const spmv_part *p, const spmv_variant *v);
    /* Bytes of local memory that the kernel declares. */
    uint64_t (*local)(const spmv_part *p, const spmv_variant *v);
    /* Sets groups, finish, carries and counters of *out, whose variant is final. */
    spmv_status (*deal)(spmv_device_part *out, const spmv_device *d, const spmv_part *p);
    /* Sets the arguments after arrays and integers: sizes, row list, carries. */
    void (*arguments)(spmv__dev_args *a, const spmv_device_part *p, void *const *carry);

    /* -- stretches -- */
    uint64_t (*grains)(const spmv_part *p);
    /* The row where grain g begins; the number of rows or more if g is the number of grains. */
    uint64_t (*grain_row)(const spmv_part *p, uint64_t g);
    /* 1: a stretch may begin at grain g. */
    int (*grain_free)(const spmv_part *p, uint64_t g);
    /* Integers, rows and nonzeros of the stretch t into q, which begins as a copy of p but for its number of rows, and where its
     * arrays come from into c. Array sizes in q follow from c. */
    void (*cut)(const spmv_part *p, const spmv__dev_span *t, spmv_part *q, spmv__dev_cut *c);
} spmv__dev_format;

static const spmv__dev_format *spmv__dev_format_of(spmv_format f);

static uint64_t spmv__dev_height(const spmv_part *p, const spmv_variant *v) { return spmv__dev_format_of(p->spec.format)->height(p, v); }
static uint64_t spmv__dev_block_rows(const spmv_part *p, const spmv_variant *v) { return spmv__ceil_div(p->rows, spmv__dev_height(p, v)); }

static int spmv__dev_has_blocks(spmv_format f) { return (spmv_format_flags(f) & SPMV_ROW_BLOCK) != 0; }

/* Elements of a block; 1 where there are none. */
static uint64_t spmv__dev_block(const spmv_part *p)
{
    return spmv__dev_has_blocks(p->spec.format) ? (uint64_t)(spmv__block_height(&p->spec) * spmv__block_width(&p->spec)) : 1;
}

/* -- functions that several formats name in their records -- */

/* 1: kernels can be compiled for a number of registers (REGS); OpenCL on NVIDIA's devices takes 32 for groups of 64 items or more. */
static int spmv__dev_takes_registers(const spmv_device *d) { return !strcmp(d->info.backend->name, "CUDA"); }

static int spmv__dev_matters_always(const spmv_part *p, const spmv_variant *v, spmv_knob k)
{
    (void)p;
    (void)v;
    (void)k;
    return 1;
}

static void spmv__dev_no_defaults(const spmv_device *d, const spmv_part *p, const spmv_variant *wish, spmv_variant *v)
{
    (void)d;
    (void)p;
    (void)wish;
    (void)v;
}

static spmv_status spmv__dev_fits_always(const spmv_device *d, const spmv_part *p, const spmv_variant *wish, spmv_variant *v)
{
    (void)d;
    (void)p;
    (void)wish;
    (void)v;
    return SPMV_OK;
}

static spmv_status spmv__dev_allowed_always(const spmv_device *d, const spmv_part *p, const spmv_variant *v)
{
    (void)d;
    (void)p;
    (void)v;
    return SPMV_OK;
}

static void spmv__dev_no_options(spmv__dev_options *o, const spmv_part *p)
{
    (void)o;
    (void)p;
}

static uint64_t spmv__dev_macro_stored(const spmv_part *p, int i) { return p->n[i]; }

static uint64_t spmv__dev_height_rows(const spmv_part *p, const spmv_variant *v)
{
    (void)p;
    return spmv__dev_knob(v, SPMV_KNOB_V);
}

static uint64_t spmv__dev_height_blocks(const spmv_part *p, const spmv_variant *v)
{
    return spmv__dev_knob(v, SPMV_KNOB_V) * p->n[SPMV_BLOCK_BH];
}

static uint64_t spmv__dev_mean_slots(const spmv_part *p, const spmv_variant *v, uint64_t block_rows)
{
    return p->a[SPMV_VAL].count / (spmv__dev_knob(v, SPMV_KNOB_V) * block_rows);
}

static uint64_t spmv__dev_mean_nonzeros(const spmv_part *p, const spmv_variant *v, uint64_t block_rows)
{
    (void)v;
    return p->nnz / block_rows;
}

/* The default of L. */
static int spmv__dev_lanes(const spmv_device *d, const spmv_part *p, const spmv_variant *v)
{
    uint64_t block_rows = spmv__dev_block_rows(p, v);
    if (!block_rows) return 1;
    return (int)spmv__lanes_by_default(spmv__trait[p->spec.format]->lanes, block_rows,
                                       spmv__dev_format_of(p->spec.format)->mean(p, v, block_rows), spmv__dev_block(p),
                                       (uint64_t)d->info.compute_units, (uint64_t)v->value[SPMV_KNOB_WG]);
}

/* The default of UNROLL for ell and sell on GPUs: entries are loaded several at once where the rows, with one lane each, fill at most half
 * of the device. Where more work-items run, they hide each other's waits, and the conditions of padding and of the last batch cost more.
 * On an H100, with the best L of 1 to 8, ell took with 4 on average 0.90 of the time that it took with 1 (16 matrices, f64; f32 0.92), and
 * sell 0.94 (18 matrices; f32 0.87), but up to 1.12 of it with L=1 and 180,000 to 380,000 rows of up to 6 entries. */
static int spmv__dev_unroll_default(const spmv_device *d, const spmv_part *p, const spmv_variant *v)
{
    return 2 * spmv__dev_block_rows(p, v) <= (uint64_t)d->info.compute_units * SPMV__UNIT_ITEMS ? SPMV__LANE_BATCH : 1;
}

/* Defaults of csr, and of sell where spmv__dev_unroll_default is more than 1, on GPUs where all lanes of all rows run at once: a product
 * takes as long as its longest rows wait for memory, so that each lane loads more entries at once and has the registers for it, which a
 * compiler left to itself saves for more work-items. On an H100 ("spmv bench --graph" of 19 matrices, 6 of them from "spmv gen clspmv_*",
 * --plan csr, sell and sell:idx=16 with /UNROLL=8,REGS=64 or 40 and with /UNROLL=4,REGS=0), the time with these defaults over that with the
 * others was, in f64 and f32, on average 0.89 and 0.92 for csr (9 matrices; at most 1.03), 0.91 and 0.99 for sell (15 matrices; at most
 * 1.13), 0.91 and 0.94 with 16-bit columns (at most 1.17). UNROLL=8 alone, as by OpenCL, which takes no REGS: 0.98 and 0.96, 0.94 and 0.99,
 * 0.92 and 0.95. On the other 10 matrices csr took 1.00 of the time, but up to 1.19. With REGS=64 a unit runs as few as 1,024 items at
 * once; where sell has more, up to 2,048, it still took 0.95 of the time in f64 (7 matrices, 0.67 to 1.09). */
static void spmv__dev_deep_defaults(const spmv_device *d, const spmv_part *p, const spmv_variant *wish, spmv_variant *v)
{
    const int given = v->value[SPMV_KNOB_L], lanes = given ? given : spmv__dev_lanes(d, p, v);
    const uint64_t items = spmv__sat_mul(spmv__dev_block_rows(p, v), (uint64_t)lanes);
    if (d->info.type == SPMV_DEVICE_CPU || items > (uint64_t)d->info.compute_units * SPMV__UNIT_ITEMS) return;
    spmv__dev_default(d, wish, v, SPMV_KNOB_UNROLL, 2 * SPMV__LANE_BATCH, 0);
    if (v->value[SPMV_KNOB_UNROLL] != 2 * SPMV__LANE_BATCH) return; /* the caller's choice */
    spmv__dev_default(d, wish, v, SPMV_KNOB_REGS, p->type == SPMV_F32 ? 40 : 64, 0);
}

/* The partial sums of lanes that share a row. */
static uint64_t spmv__dev_local_lanes(const spmv_part *p, const spmv_variant *v)
{
    uint64_t sums = v->value[SPMV_KNOB_L] > 1 ? spmv__dev_height(p, v) * (uint64_t)v->value[SPMV_KNOB_WG] : 0;
    return sums * spmv_vector_size(p->type);
}

/* Those sums or, where it is more, what STAGE=1 keeps, in elements of the vectors: the two share their memory. */
static uint64_t spmv__dev_local_staged(const spmv_part *p, const spmv_variant *v, uint64_t elements)
{
    uint64_t lanes = spmv__dev_local_lanes(p, v), staged = spmv__dev_staged(v) ? elements * spmv_vector_size(p->type) : 0;
    return staged > lanes ? staged : lanes;
}

/* Rows of y that a work-group computes. */
static uint64_t spmv__dev_group_rows(const spmv_part *p, const spmv_variant *v)
{
    return (uint64_t)v->value[SPMV_KNOB_WG] / (uint64_t)v->value[SPMV_KNOB_L] * spmv__dev_height(p, v);
}

/* The block rows or runs, of so many, that a work-item takes one after another. With SEQ=0 these are so many that launching a group (8 ns
 * with PoCL and with Intel's runtime) does not count beside them, but so few that a thread which is late leaves groups to the others. */
static uint64_t spmv__dev_seq(const spmv_device *d, const spmv_part *p, const spmv_variant *v, uint64_t count)
{
    enum { GROUP_SLOTS = 2048 /* at least, in a group */, UNIT_GROUPS = 128 /* at most, for each compute unit */ };
    const uint64_t seq = spmv__dev_knob(v, SPMV_KNOB_SEQ), own = (uint64_t)v->value[SPMV_KNOB_WG] / spmv__dev_knob(v, SPMV_KNOB_L);
    const uint64_t most = UNIT_GROUPS * (uint64_t)(d->info.compute_units > 0 ? d->info.compute_units : 1);
    uint64_t groups = p->a[SPMV_VAL].count / GROUP_SLOTS + 1;
    if (groups > most) groups = most;
    return seq ? seq : count / (groups * own) + 1;
}

static spmv_status spmv__dev_deal_rows(spmv_device_part *out, const spmv_device *d, const spmv_part *p)
{
    const spmv_variant *v = &out->variant;
    uint64_t wg = (uint64_t)v->value[SPMV_KNOB_WG], l = (uint64_t)v->value[SPMV_KNOB_L], block_rows = spmv__dev_block_rows(p, v);
    return spmv__dev_groups(d, block_rows, wg / l * spmv__dev_seq(d, p, v, block_rows), wg, &out->groups);
}

static void spmv__dev_arguments_rows(spmv__dev_args *a, const spmv_device_part *p, void *const *carry)
{
    (void)carry;
    spmv__dev_arg_count(a, p->rows);
    spmv__dev_arg_count(a, a->m->cols);
    if (p->list) spmv__dev_arg_mem(a, p->list);
}

static uint64_t spmv__dev_grains_rows(const spmv_part *p) { return p->rows; }
static uint64_t spmv__dev_grain_row_itself(const spmv_part *p, uint64_t g) { (void)p; return g; }

/* Of formats whose arrays are padded to, or have bases for, SPMV__GRAIN rows. */
static uint64_t spmv__dev_grains_padded(const spmv_part *p) { return spmv__ceil_div(p->rows, SPMV__GRAIN); }
static uint64_t spmv__dev_grain_row_padded(const spmv_part *p, uint64_t g) { (void)p; return g * SPMV__GRAIN; }

/* The same for block rows. */
static uint64_t spmv__dev_grains_blocks(const spmv_part *p)
{
    return spmv__ceil_div(spmv__ceil_div(p->rows, p->n[SPMV_BLOCK_BH]), SPMV__GRAIN);
}
static uint64_t spmv__dev_grain_row_blocks(const spmv_part *p, uint64_t g) { return g * SPMV__GRAIN * p->n[SPMV_BLOCK_BH]; }

static int spmv__dev_grain_free_always(const spmv_part *p, uint64_t g)
{
    (void)p;
    (void)g;
    return 1;
}

/* ---- dense ------------------------------------------------------------------------------------------------------- */

static void spmv__dense_defaults(const spmv_device *d, const spmv_part *p, const spmv_variant *wish, spmv_variant *v)
{
    (void)p;
    spmv__dev_default(d, wish, v, SPMV_KNOB_V, 1, 16);
}

/* V counts neighbours in a row here. */
static uint64_t spmv__dense_height(const spmv_part *p, const spmv_variant *v)
{
    (void)p;
    (void)v;
    return 1;
}

static uint64_t spmv__dense_mean(const spmv_part *p, const spmv_variant *v, uint64_t block_rows)
{
    (void)v;
    (void)block_rows;
    return p->cols;
}

static void spmv__dense_cut(const spmv_part *p, const spmv__dev_span *t, spmv_part *q, spmv__dev_cut *c)
{
    (void)q;
    spmv__dev_cut_one(&c[SPMV_DENSE_VAL], t->row * p->cols, (t->last - t->row) * p->cols, 0);
}

static const spmv__dev_format spmv__dense_device = {
    1, SPMV__NO_ARRAY, SPMV__NO_ARRAY, SPMV__NO_ARRAY, /* walks_rows, offsets, columns, bases */
    1, 0,                                              /* repeat_lanes, carry_rows */
    "dense dense:rows=nonempty",                       /* check */
    spmv__dev_matters_always, spmv__dense_defaults,    /* matters, defaults */
    spmv__dense_mean,                                  /* mean */
    spmv__dev_fits_always, spmv__dev_allowed_always,   /* fit, allowed */
    spmv__dev_no_options, spmv__dev_macro_stored,      /* options, macro */
    spmv__dense_height, spmv__dev_local_lanes,         /* height, local */
    spmv__dev_deal_rows, spmv__dev_arguments_rows,     /* deal, arguments */
    spmv__dev_grains_rows, spmv__dev_grain_row_itself, /* grains, grain_row */
    spmv__dev_grain_free_always, spmv__dense_cut       /* grain_free, cut */
};

/* ---- coo --------------------------------------------------------------------------------------------------------- */

static int spmv__coo_matters(const spmv_part *p, const spmv_variant *v, spmv_knob k)
{
    (void)p;
    return k != SPMV_KNOB_STAGE || !v->value[SPMV_KNOB_ATOMIC];
}

static spmv_status spmv__coo_allowed(const spmv_device *d, const spmv_part *p, const spmv_variant *v)
{
    if (!v->value[SPMV_KNOB_ATOMIC] || p->type == SPMV_F32 || d->info.atomics64) return SPMV_OK;
    return spmv_log(&d->hooks, SPMV_ERR_LIMIT, "coo: ATOMIC=%d needs 64-bit atomics, which the device does not have",
                    v->value[SPMV_KNOB_ATOMIC]);
}

/* The entries of a work-group, and the sums of each work-item. */
static uint64_t spmv__coo_local(const spmv_part *p, const spmv_variant *v)
{
    uint64_t wg = (uint64_t)v->value[SPMV_KNOB_WG], size = spmv_vector_size(p->type);
    uint64_t entries = (uint64_t)v->value[SPMV_KNOB_PER] * (size + 4);
    switch (v->value[SPMV_KNOB_ATOMIC]) {
    case 1: return 0;
    case 2: return wg * (entries + 2 * (size + 4));
    default: return wg * ((v->value[SPMV_KNOB_STAGE] ? entries : 0) + 2 * size + 4);
    }
}

/* Each work-group of the first launch leaves two carries, which the second launch adds to y. */
static spmv_status spmv__coo_deal(spmv_device_part *out, const spmv_device *d, const spmv_part *p)
{
    int atomic = out->variant.value[SPMV_KNOB_ATOMIC];
    uint64_t wg = (uint64_t)out->variant.value[SPMV_KNOB_WG], per = (uint64_t)out->variant.value[SPMV_KNOB_PER];
    spmv_status s = spmv__dev_groups(d, p->nnz, wg * per, wg, &out->groups);
    out->carries = atomic ? 0 : 2 * out->groups;
    out->finish = atomic ? 0 : spmv__ceil_div(out->carries, wg);
    return s;
}

static void spmv__coo_arguments(spmv__dev_args *a, const spmv_device_part *p, void *const *carry)
{
    spmv__dev_arg_count(a, p->nnz);
    spmv__dev_arg_mem(a, carry[1]);
    spmv__dev_arg_mem(a, carry[0]);
}

static uint64_t spmv__coo_grains(const spmv_part *p) { return p->nnz; }
static uint64_t spmv__coo_grain_row(const spmv_part *p, uint64_t g) { (void)p; (void)g; return 0; }

static void spmv__coo_cut(const spmv_part *p, const spmv__dev_span *t, spmv_part *q, spmv__dev_cut *c)
{
    q->rows = p->rows;
    q->nnz = t->end - t->begin;
    spmv__dev_cut_one(&c[SPMV_COO_VAL], t->begin, q->nnz, 0);
    spmv__dev_cut_one(&c[SPMV_COO_ROW], t->begin, q->nnz, 0);
    spmv__dev_cut_one(&c[SPMV_COO_COL], t->begin, q->nnz, 0);
}

static const spmv__dev_format spmv__coo_device = {
    0, SPMV__NO_ARRAY, SPMV__NO_ARRAY, SPMV__NO_ARRAY, /* walks_rows, offsets, columns, bases */
    1, 1,                                              /* repeat_lanes, carry_rows */
    "coo",                                             /* check */
    spmv__coo_matters, spmv__dev_no_defaults,          /* matters, defaults */
    spmv__dev_mean_nonzeros,                           /* mean */
    spmv__dev_fits_always, spmv__coo_allowed,          /* fit, allowed */
    spmv__dev_no_options, spmv__dev_macro_stored,      /* options, macro */
    spmv__dev_height_rows, spmv__coo_local,            /* height, local */
    spmv__coo_deal, spmv__coo_arguments,               /* deal, arguments */
    spmv__coo_grains, spmv__coo_grain_row,             /* grains, grain_row */
    spmv__dev_grain_free_always, spmv__coo_cut         /* grain_free, cut */
};

/* ---- csr --------------------------------------------------------------------------------------------------------- */

/* 1: csr with key run, whose kernel walks runs instead of rows. */
static int spmv__csr_in_runs(const spmv_part *p) { return p->spec.key[SPMV_KEY_RUN] != 0; }

enum { SPMV__SHUFFLE_LANES = 32 /* the most lanes whose sums shuffles can add: LANES_BY_SHUFFLE of kernels/common.cl */ };

static int spmv__csr_matters(const spmv_part *p, const spmv_variant *v, spmv_knob k)
{
    int runs = spmv__csr_in_runs(p);
    switch (k) {
    case SPMV_KNOB_L:
    case SPMV_KNOB_GEN: return !runs;
    case SPMV_KNOB_STREAM: return runs;
    case SPMV_KNOB_SEQ: return !runs || !v->value[SPMV_KNOB_STREAM];
    case SPMV_KNOB_FINISH: return runs && p->n[SPMV_CSR_LONGS] != 0;
    case SPMV_KNOB_UNROLL: return runs || !v->value[SPMV_KNOB_GEN];
    case SPMV_KNOB_SHUF:
        if (runs) return v->value[SPMV_KNOB_STREAM];
        return v->value[SPMV_KNOB_L] > 1 && v->value[SPMV_KNOB_L] <= SPMV__SHUFFLE_LANES;
    default: return 1;
    }
}

/* In runs: products, partial sums, and the queue of waiting rows. */
static uint64_t spmv__csr_local(const spmv_part *p, const spmv_variant *v)
{
    uint64_t wg = (uint64_t)v->value[SPMV_KNOB_WG], run;
    if (!spmv__csr_in_runs(p)) return spmv__dev_local_lanes(p, v);
    run = v->value[SPMV_KNOB_STREAM] ? (uint64_t)p->spec.key[SPMV_KEY_RUN] : 0;
    return (wg + run) * spmv_vector_size(p->type) + (run ? (run / (wg < 32 ? wg : 32) + 2) * 4 : 0);
}

/* Entries that an item loads at once where a group takes a run on a GPU: the largest power of two that is not more than its share, so that
 * the group waits for memory as few times as it can, as loads beyond the run's end cost their conditions; but 2 to 8 (for R 256, 1 and 2
 * took the same time). On an H100 ("spmv bench --graph" of 53 matrices, 13 of them from "spmv gen clspmv_*", --plan csr:run=R/UNROLL=U),
 * the time with this over that with 4 was, in f64 and f32, on average 0.95 and 0.95 for R 256 (at most 1.06), 0.94 and 0.96 for 512 (at
 * most 1.06), 0.89 and 0.96 for 2048 (at most 1.25), 0.97 and 0.96 for 2048 with 16-bit columns (at most 1.31). With REGS=64 as well, 2048
 * took 0.92 and 1.03 of that time. */
static int spmv__csr_unroll_run(const spmv_part *p, const spmv_variant *v)
{
    const int least = 2, most = 8, share = (int)(p->spec.key[SPMV_KEY_RUN] / v->value[SPMV_KNOB_WG]);
    int unroll = least;
    while (unroll < most && 2 * unroll <= share) unroll *= 2;
    return unroll;
}

static void spmv__csr_defaults(const spmv_device *d, const spmv_part *p, const spmv_variant *wish, spmv_variant *v)
{
    spmv__dev_default(d, wish, v, SPMV_KNOB_UNROLL, SPMV__LANE_BATCH, 4);
    spmv__dev_default(d, wish, v, SPMV_KNOB_NT, spmv__dev_streams(d, p, 3, 1), 0);
    /* H200, f64, without runs: clspmv_qcd 8.4 us without, 7.5 with; mdual 8.1, 7.7; kkt_cont_300 6.4, 6.15; none of 18 matrices slower */
    spmv__dev_default(d, wish, v, SPMV_KNOB_SHUF, 1, 0);
    /* FINISH=1 (H200: 0.81 of the time with 0, on seven matrices) relies on the order in which work-groups see each other's writes */
    if (d->info.nvidia < SPMV__NVIDIA_VOLTA) spmv__dev_default(d, wish, v, SPMV_KNOB_FINISH, 0, 0);
    if (!spmv__csr_in_runs(p)) {
        if (!v->value[SPMV_KNOB_GEN]) spmv__dev_deep_defaults(d, p, wish, v);
        return;
    }
    spmv__dev_default(d, wish, v, SPMV_KNOB_WG, SPMV__RUN_GROUP, v->value[SPMV_KNOB_STREAM] ? 16 : 1);
    if (spmv__csr_local(p, v) > d->info.local_bytes) spmv__dev_default(d, wish, v, SPMV_KNOB_STREAM, 0, 0);
    if (v->value[SPMV_KNOB_STREAM]) spmv__dev_default(d, wish, v, SPMV_KNOB_UNROLL, spmv__csr_unroll_run(p, v), SPMV__LANE_BATCH);
}

static void spmv__csr_options(spmv__dev_options *o, const spmv_part *p)
{
    if (!spmv__csr_in_runs(p)) return;
    spmv__dev_option_number(o, "RUN", (uint64_t)p->spec.key[SPMV_KEY_RUN]);
    if (!p->n[SPMV_CSR_LONGS]) spmv__dev_option(o, "CUTS", "0");
}

/* Each piece of a long row leaves a carry. The work-group that finishes the row's last piece adds them up, or a second launch does. */
static spmv_status spmv__csr_deal(spmv_device_part *out, const spmv_device *d, const spmv_part *p)
{
    const spmv_variant *v = &out->variant;
    uint64_t wg = (uint64_t)v->value[SPMV_KNOB_WG], runs = p->n[SPMV_CSR_RUNS], longs = p->n[SPMV_CSR_LONGS], seq;
    spmv_status s;
    if (!spmv__csr_in_runs(p)) return spmv__dev_deal_rows(out, d, p);
    out->carries = longs ? runs : 0;
    seq = spmv__dev_seq(d, p, v, runs);
    s = spmv__dev_groups(d, runs, v->value[SPMV_KNOB_STREAM] ? 1 : wg * seq, wg, &out->groups);
    if (v->value[SPMV_KNOB_FINISH]) out->counters = out->carries;
    else if (!s) s = spmv__dev_groups(d, longs, 1, wg, &out->finish);
    return s;
}

static void spmv__csr_arguments(spmv__dev_args *a, const spmv_device_part *p, void *const *carry)
{
    spmv__dev_arguments_rows(a, p, carry);
    if (p->n[SPMV_CSR_RUNS]) spmv__dev_arg_mem(a, carry[0]);
}

static uint64_t spmv__csr_grains(const spmv_part *p) { return spmv__csr_in_runs(p) ? p->n[SPMV_CSR_RUNS] : p->rows; }
static uint64_t spmv__csr_grain_row(const spmv_part *p, uint64_t g)
{
    return spmv__csr_in_runs(p) ? spmv__at(&p->a[SPMV_CSR_RUN_ROW], g) : g;
}

/* A stretch cannot begin within a row that is cut into pieces. */
static int spmv__csr_grain_free(const spmv_part *p, uint64_t g)
{
    if (!spmv__csr_in_runs(p) || g == p->n[SPMV_CSR_RUNS]) return 1;
    return spmv__at(&p->a[SPMV_CSR_RUN_AT], g) == spmv__at(&p->a[SPMV_CSR_PTR], spmv__at(&p->a[SPMV_CSR_RUN_ROW], g));
}

/* The run arrays are cut by runs, the others by rows. */
static void spmv__csr_cut(const spmv_part *p, const spmv__dev_span *t, spmv_part *q, spmv__dev_cut *c)
{
    uint64_t longs, runs = t->end - t->begin;
    spmv__dev_cut_slots(p, t->row, t->last, 1, c);
    q->nnz = c[SPMV_CSR_VAL].count;
    if (!spmv__csr_in_runs(p)) return;
    longs = spmv__dev_below(&p->a[SPMV_CSR_LONG_RUN], t->begin);
    q->n[SPMV_CSR_RUNS] = runs;
    q->n[SPMV_CSR_LONGS] = spmv__dev_below(&p->a[SPMV_CSR_LONG_RUN], t->end) - longs;
    spmv__dev_cut_one(&c[SPMV_CSR_RUN_ROW], t->begin, runs + 1, t->row);
    spmv__dev_cut_one(&c[SPMV_CSR_RUN_AT], t->begin, runs + 1, c[SPMV_CSR_VAL].at);
    spmv__dev_cut_one(&c[SPMV_CSR_BASE], t->begin, runs, 0);
    spmv__dev_cut_one(&c[SPMV_CSR_LONG_RUN], longs, q->n[SPMV_CSR_LONGS], t->begin);
}

static const spmv__dev_format spmv__csr_device = {
    1, SPMV_CSR_PTR, SPMV_CSR_COL, SPMV_CSR_BASE,          /* walks_rows, offsets, columns, bases */
    SPMV__CSR_LANES, 0,                                    /* repeat_lanes, carry_rows */
    "csr csr:rows=sorted csr:run=64 csr:rows=nonempty,run=1024,idx=16", /* check */
    spmv__csr_matters, spmv__csr_defaults,                 /* matters, defaults */
    spmv__dev_mean_nonzeros,                               /* mean */
    spmv__dev_fits_always, spmv__dev_allowed_always,       /* fit, allowed */
    spmv__csr_options, spmv__dev_macro_stored,             /* options, macro */
    spmv__dev_height_rows, spmv__csr_local,                /* height, local */
    spmv__csr_deal, spmv__csr_arguments,                   /* deal, arguments */
    spmv__csr_grains, spmv__csr_grain_row,                 /* grains, grain_row */
    spmv__csr_grain_free, spmv__csr_cut                    /* grain_free, cut */
};

/* ---- dia --------------------------------------------------------------------------------------------------------- */

/* On NVIDIA's devices items with four rows have more bytes in flight, where there are rows enough for all items that run at once and
 * elements are small (H200, f32: poisson2d_2048 30 us, 36 with V=1; one diagonal of 20 million rows 57, 97; f64 equal). Where there are
 * few rows, lanes share the diagonals of a row (f64, 2,000 rows, 101, 501 and 2,001 diagonals: 3.2, 10 and 35 us; L=1: 12, 53 and 204). */
static void spmv__dia_defaults(const spmv_device *d, const spmv_part *p, const spmv_variant *wish, spmv_variant *v)
{
    int many = p->rows >= 4 * (uint64_t)d->info.compute_units * SPMV__UNIT_ITEMS;
    spmv__dev_default(d, wish, v, SPMV_KNOB_V, d->info.nvidia && many && p->type == SPMV_F32 ? 4 : 1, 16);
}

static void spmv__dia_cut(const spmv_part *p, const spmv__dev_span *t, spmv_part *q, spmv__dev_cut *c)
{
    q->n[SPMV_DIA_LD] = t->ld;
    spmv__dev_cut_planes(&c[SPMV_DIA_VAL], t->row, t->ld, p->n[SPMV_DIA_DIAGONALS], p->n[SPMV_DIA_LD]);
    spmv__dev_cut_one(&c[SPMV_DIA_OFFSET], 0, p->n[SPMV_DIA_DIAGONALS], 0);
    c[SPMV_DIA_OFFSET].more = t->row;
}

static const spmv__dev_format spmv__dia_device = {
    1, SPMV__NO_ARRAY, SPMV__NO_ARRAY, SPMV__NO_ARRAY,   /* walks_rows, offsets, columns, bases */
    1, 0,                                                /* repeat_lanes, carry_rows */
    "dia",                                               /* check */
    spmv__dev_matters_always, spmv__dia_defaults,        /* matters, defaults */
    spmv__dev_mean_slots,                                /* mean */
    spmv__dev_fits_always, spmv__dev_allowed_always,     /* fit, allowed */
    spmv__dev_no_options, spmv__dev_macro_stored,        /* options, macro */
    spmv__dev_height_rows, spmv__dev_local_lanes,        /* height, local */
    spmv__dev_deal_rows, spmv__dev_arguments_rows,       /* deal, arguments */
    spmv__dev_grains_padded, spmv__dev_grain_row_padded, /* grains, grain_row */
    spmv__dev_grain_free_always, spmv__dia_cut           /* grain_free, cut */
};

/* ---- bdia -------------------------------------------------------------------------------------------------------- */

/* STAGE=1 keeps the elements of x that the rows of a work-group need for WG neighbouring diagonals of a band. */
static uint64_t spmv__bdia_local(const spmv_part *p, const spmv_variant *v)
{
    return spmv__dev_local_staged(p, v, (uint64_t)v->value[SPMV_KNOB_WG] + spmv__dev_group_rows(p, v));
}

/* The mean number of diagonals in a band: lanes share the diagonals of a band, one band after another. */
static uint64_t spmv__bdia_mean(const spmv_part *p, const spmv_variant *v, uint64_t block_rows)
{
    const uint64_t bands = p->n[SPMV_BDIA_BANDS], diagonals = p->a[SPMV_VAL].count / (p->n[SPMV_BDIA_LD] + !p->n[SPMV_BDIA_LD]);
    (void)v;
    (void)block_rows;
    return bands ? diagonals / bands : 0;
}

/* What STAGE=1 keeps is for the rows of a group that are taken at once. */
static int spmv__bdia_matters(const spmv_part *p, const spmv_variant *v, spmv_knob k)
{
    (void)p;
    return k != SPMV_KNOB_SEQ || !v->value[SPMV_KNOB_STAGE];
}

/* Staging x pays where a band has many diagonals of large elements (H200, f64: band of 2,001 diagonals 24 us, 36 without; of 201 or 101
 * equal; 27-point stencil, bands of three, 73 and 59; f32: 32 and 25, 62 and 46). */
static void spmv__bdia_defaults(const spmv_device *d, const spmv_part *p, const spmv_variant *wish, spmv_variant *v)
{
    enum { WIDE_BAND = 64 };
    spmv__dev_default(d, wish, v, SPMV_KNOB_V, 1, 16);
    spmv__dev_default(d, wish, v, SPMV_KNOB_STAGE, p->type != SPMV_F32 && spmv__bdia_mean(p, v, 1) >= WIDE_BAND, 0);
    spmv__dev_default(d, wish, v, SPMV_KNOB_WG, 128, v->value[SPMV_KNOB_STAGE] ? SPMV__STAGE_GROUP : 1);
}

static void spmv__bdia_cut(const spmv_part *p, const spmv__dev_span *t, spmv_part *q, spmv__dev_cut *c)
{
    uint64_t bands = p->n[SPMV_BDIA_BANDS], diagonals = spmv__at(&p->a[SPMV_BDIA_BAND_PTR], bands);
    q->n[SPMV_BDIA_LD] = t->ld;
    spmv__dev_cut_planes(&c[SPMV_BDIA_VAL], t->row, t->ld, diagonals, p->n[SPMV_BDIA_LD]);
    spmv__dev_cut_one(&c[SPMV_BDIA_OFFSET], 0, bands, 0);
    c[SPMV_BDIA_OFFSET].more = t->row;
    spmv__dev_cut_one(&c[SPMV_BDIA_BAND_PTR], 0, bands + 1, 0);
}

static const spmv__dev_format spmv__bdia_device = {
    1, SPMV__NO_ARRAY, SPMV__NO_ARRAY, SPMV__NO_ARRAY,   /* walks_rows, offsets, columns, bases */
    1, 0,                                                /* repeat_lanes, carry_rows */
    "bdia",                                              /* check */
    spmv__bdia_matters, spmv__bdia_defaults,             /* matters, defaults */
    spmv__bdia_mean,                                     /* mean */
    spmv__dev_fits_always, spmv__dev_allowed_always,     /* fit, allowed */
    spmv__dev_no_options, spmv__dev_macro_stored,        /* options, macro */
    spmv__dev_height_rows, spmv__bdia_local,             /* height, local */
    spmv__dev_deal_rows, spmv__dev_arguments_rows,       /* deal, arguments */
    spmv__dev_grains_padded, spmv__dev_grain_row_padded, /* grains, grain_row */
    spmv__dev_grain_free_always, spmv__bdia_cut          /* grain_free, cut */
};

/* ---- ell --------------------------------------------------------------------------------------------------------- */

static int spmv__ell_matters(const spmv_part *p, const spmv_variant *v, spmv_knob k)
{
    (void)p;
    return k != SPMV_KNOB_UNROLL || v->value[SPMV_KNOB_V] == 1;
}

static void spmv__ell_defaults(const spmv_device *d, const spmv_part *p, const spmv_variant *wish, spmv_variant *v)
{
    spmv__dev_default(d, wish, v, SPMV_KNOB_V, 1, 8); /* CPUs: cache lines are used whole, sums are independent */
    spmv__dev_default(d, wish, v, SPMV_KNOB_UNROLL, spmv__dev_unroll_default(d, p, v), 1);
}

static void spmv__ell_cut(const spmv_part *p, const spmv__dev_span *t, spmv_part *q, spmv__dev_cut *c)
{
    q->n[SPMV_ELL_LD] = t->ld;
    spmv__dev_cut_planes(&c[SPMV_ELL_VAL], t->row, t->ld, p->n[SPMV_ELL_WIDTH], p->n[SPMV_ELL_LD]);
    c[SPMV_ELL_COL] = c[SPMV_ELL_VAL];
    spmv__dev_cut_one(&c[SPMV_ELL_BASE], t->begin, t->end - t->begin, 0);
}

static const spmv__dev_format spmv__ell_device = {
    1, SPMV__NO_ARRAY, SPMV_ELL_COL, SPMV_ELL_BASE,      /* walks_rows, offsets, columns, bases */
    1, 0,                                                /* repeat_lanes, carry_rows */
    "ell ell:rows=sorted,idx=16",                        /* check */
    spmv__ell_matters, spmv__ell_defaults,               /* matters, defaults */
    spmv__dev_mean_slots,                                /* mean */
    spmv__dev_fits_always, spmv__dev_allowed_always,     /* fit, allowed */
    spmv__dev_no_options, spmv__dev_macro_stored,        /* options, macro */
    spmv__dev_height_rows, spmv__dev_local_lanes,        /* height, local */
    spmv__dev_deal_rows, spmv__dev_arguments_rows,       /* deal, arguments */
    spmv__dev_grains_padded, spmv__dev_grain_row_padded, /* grains, grain_row */
    spmv__dev_grain_free_always, spmv__ell_cut           /* grain_free, cut */
};

/* ---- sell -------------------------------------------------------------------------------------------------------- */

/* 1: the slices vary in height (key grow). */
static int spmv__sell_varies(const spmv_part *p) { return p->a[SPMV_SELL_SLICE_ROW].count != 0; }

/* H=0 tells the kernel that slices vary in height. */
static uint64_t spmv__sell_macro(const spmv_part *p, int i)
{
    return i == (int)SPMV_SELL_H && spmv__sell_varies(p) ? 0 : p->n[i];
}

static int spmv__sell_matters(const spmv_part *p, const spmv_variant *v, spmv_knob k)
{
    if (k == SPMV_KNOB_UNROLL) return v->value[SPMV_KNOB_SLICE] || spmv__ell_matters(p, v, k);
    if (v->value[SPMV_KNOB_SLICE] && (k == SPMV_KNOB_V || k == SPMV_KNOB_STAGE || k == SPMV_KNOB_SEQ)) return 0;
    return k != SPMV_KNOB_SEQ || !v->value[SPMV_KNOB_STAGE]; /* which keeps the pointers for the rows that a group takes at once */
}

static void spmv__sell_defaults(const spmv_device *d, const spmv_part *p, const spmv_variant *wish, spmv_variant *v)
{
    spmv__dev_default(d, wish, v, SPMV_KNOB_STAGE, 0, 0);
    spmv__dev_default(d, wish, v, SPMV_KNOB_NT, spmv__dev_streams(d, p, 4, 0), 0);
    /* as for ell; in f64, slices of 32 rows beyond the caches take 0.6 to 0.9 of the time with 16 rows (PoCL and Intel's runtime) */
    spmv__dev_default(d, wish, v, SPMV_KNOB_V, 1, p->type == SPMV_F32 ? 8 : 16);
    spmv__dev_default(d, wish, v, SPMV_KNOB_UNROLL, spmv__dev_unroll_default(d, p, v), 1);
    spmv__dev_default(d, wish, v, SPMV_KNOB_WG, 128, v->value[SPMV_KNOB_STAGE] || v->value[SPMV_KNOB_SLICE] ? SPMV__STAGE_GROUP : 1);
    if (!v->value[SPMV_KNOB_SLICE] && v->value[SPMV_KNOB_V] == 1 && spmv__dev_unroll_default(d, p, v) > 1)
        spmv__dev_deep_defaults(d, p, wish, v);
}

/* The V rows of a work-item must lie in one slice: a default of V is lowered, a V that the caller set is refused. With SLICE=1 a
 * default of WG is raised until there is a work-item for each row of a slice. */
static spmv_status spmv__sell_fit(const spmv_device *d, const spmv_part *p, const spmv_variant *wish, spmv_variant *v)
{
    uint64_t h = p->n[SPMV_SELL_H];
    int *rows = &v->value[SPMV_KNOB_V];
    while (*rows > 1 && !spmv__dev_knob_set(wish, SPMV_KNOB_V) && (spmv__sell_varies(p) || h % (uint64_t)*rows))
        *rows = *rows == 4 ? 1 : *rows / 2;
    if (*rows > 1 && spmv__sell_varies(p))
        return spmv_log(&d->hooks, SPMV_ERR_UNSUPPORTED, "sell: V=%d is not possible with slices of varying height", *rows);
    if (*rows > 1 && h % (uint64_t)*rows)
        return spmv_log(&d->hooks, SPMV_ERR_UNSUPPORTED, "sell: V=%d does not divide the slice height %llu", *rows, (spmv__ull)h);
    if (!v->value[SPMV_KNOB_SLICE] || spmv__dev_knob_set(wish, SPMV_KNOB_WG)) return SPMV_OK;
    while ((uint64_t)v->value[SPMV_KNOB_WG] < h && v->value[SPMV_KNOB_WG] < 512) v->value[SPMV_KNOB_WG] *= 2;
    return SPMV_OK;
}

static spmv_status spmv__sell_allowed(const spmv_device *d, const spmv_part *p, const spmv_variant *v)
{
    if (!v->value[SPMV_KNOB_SLICE] || p->n[SPMV_SELL_H] <= (uint64_t)v->value[SPMV_KNOB_WG]) return SPMV_OK;
    return spmv_log(&d->hooks, SPMV_ERR_LIMIT, "sell: SLICE=1: slice height %llu exceeds the work-group size %d",
                    (spmv__ull)p->n[SPMV_SELL_H], v->value[SPMV_KNOB_WG]);
}

/* With SLICE=1, a sum for each work-item. Else STAGE=1 keeps the pointers of all slices that the rows of a work-group lie in; slices of
 * varying height may have as little as one row. */
static uint64_t spmv__sell_local(const spmv_part *p, const spmv_variant *v)
{
    uint64_t rows, h = spmv__sell_macro(p, SPMV_SELL_H);
    if (v->value[SPMV_KNOB_SLICE]) return (uint64_t)v->value[SPMV_KNOB_WG] * spmv_vector_size(p->type);
    rows = spmv__dev_group_rows(p, v);
    return spmv__dev_local_staged(p, v, 4 * (h ? rows / h + 3 : rows + 2));
}

static spmv_status spmv__sell_deal(spmv_device_part *out, const spmv_device *d, const spmv_part *p)
{
    if (!out->variant.value[SPMV_KNOB_SLICE]) return spmv__dev_deal_rows(out, d, p);
    return spmv__dev_groups(d, p->n[SPMV_SELL_SLICES], 1, (uint64_t)out->variant.value[SPMV_KNOB_WG], &out->groups);
}

static uint64_t spmv__sell_grains(const spmv_part *p) { return p->n[SPMV_SELL_SLICES]; }
static uint64_t spmv__sell_grain_row(const spmv_part *p, uint64_t g)
{
    return spmv__sell_varies(p) ? spmv__at(&p->a[SPMV_SELL_SLICE_ROW], g) : g * p->n[SPMV_SELL_H];
}

static void spmv__sell_cut(const spmv_part *p, const spmv__dev_span *t, spmv_part *q, spmv__dev_cut *c)
{
    uint64_t slices = q->n[SPMV_SELL_SLICES] = t->end - t->begin;
    spmv__dev_cut_slots(p, t->begin, t->end, 1, c);
    spmv__dev_cut_one(&c[SPMV_SELL_SLICE_ROW], t->begin, slices + 1, t->row);
    spmv__dev_cut_one(&c[SPMV_SELL_BASE], t->begin, slices, 0);
}

static const spmv__dev_format spmv__sell_device = {
    1, SPMV_SELL_PTR, SPMV_SELL_COL, SPMV_SELL_BASE, /* walks_rows, offsets, columns, bases */
    1, 0,                                            /* repeat_lanes, carry_rows */
    "sell:h=8 sell:h=64,rows=sorted,idx=16 sell:h=64,grow=0.3", /* check */
    spmv__sell_matters, spmv__sell_defaults,         /* matters, defaults */
    spmv__dev_mean_slots,                            /* mean */
    spmv__sell_fit, spmv__sell_allowed,              /* fit, allowed */
    spmv__dev_no_options, spmv__sell_macro,          /* options, macro */
    spmv__dev_height_rows, spmv__sell_local,         /* height, local */
    spmv__sell_deal, spmv__dev_arguments_rows,       /* deal, arguments */
    spmv__sell_grains, spmv__sell_grain_row,         /* grains, grain_row */
    spmv__dev_grain_free_always, spmv__sell_cut      /* grain_free, cut */
};

/* ---- bell -------------------------------------------------------------------------------------------------------- */

/* REGS=96 for 36 elements in a block: bell:b=6x6,idx=16 on clspmv_wind_tunnel (H200) 13 us in f32, 24 with 0; 27 and 29 in f64. With blocks
 * of 2x2, 64 registers took 1.2 to 1.5 times as long as 0. */
static void spmv__bell_defaults(const spmv_device *d, const spmv_part *p, const spmv_variant *wish, spmv_variant *v)
{
    spmv__dev_default(d, wish, v, SPMV_KNOB_V, 1, 32);
    if (spmv__dev_block(p) == 36) spmv__dev_default(d, wish, v, SPMV_KNOB_REGS, 96, 0);
}

static void spmv__bell_cut(const spmv_part *p, const spmv__dev_span *t, spmv_part *q, spmv__dev_cut *c)
{
    uint64_t bh = p->n[SPMV_BELL_BH], uw = p->n[SPMV_BELL_UW], width = p->n[SPMV_BELL_WIDTH];
    uint64_t units = bh * p->n[SPMV_BELL_BW] / uw, first = t->begin * SPMV__GRAIN;
    uint64_t ld = spmv__round_up(spmv__ceil_div(q->rows, bh), SPMV__GRAIN);
    q->n[SPMV_BELL_LD] = ld;
    spmv__dev_cut_planes(&c[SPMV_BELL_VAL], first * uw, ld * uw, width * units, p->n[SPMV_BELL_LD] * uw);
    spmv__dev_cut_planes(&c[SPMV_BELL_COL], first, ld, width, p->n[SPMV_BELL_LD]);
    spmv__dev_cut_one(&c[SPMV_BELL_BASE], t->begin, t->end - t->begin, 0);
}

static const spmv__dev_format spmv__bell_device = {
    1, SPMV__NO_ARRAY, SPMV_BELL_COL, SPMV_BELL_BASE,    /* walks_rows, offsets, columns, bases */
    1, 0,                                                /* repeat_lanes, carry_rows */
    "bell:b=4x4 bell:b=3x3,idx=16",                      /* check */
    spmv__dev_matters_always, spmv__bell_defaults,       /* matters, defaults */
    spmv__dev_mean_slots,                                /* mean */
    spmv__dev_fits_always, spmv__dev_allowed_always,     /* fit, allowed */
    spmv__dev_no_options, spmv__dev_macro_stored,        /* options, macro */
    spmv__dev_height_blocks, spmv__dev_local_lanes,      /* height, local */
    spmv__dev_deal_rows, spmv__dev_arguments_rows,       /* deal, arguments */
    spmv__dev_grains_blocks, spmv__dev_grain_row_blocks, /* grains, grain_row */
    spmv__dev_grain_free_always, spmv__bell_cut          /* grain_free, cut */
};

/* ---- sbell ------------------------------------------------------------------------------------------------------- */

static uint64_t spmv__sbell_grains(const spmv_part *p) { return p->n[SPMV_SBELL_SLICES]; }
static uint64_t spmv__sbell_grain_row(const spmv_part *p, uint64_t g) { return g * p->n[SPMV_SBELL_H] * p->n[SPMV_SBELL_BH]; }

static void spmv__sbell_cut(const spmv_part *p, const spmv__dev_span *t, spmv_part *q, spmv__dev_cut *c)
{
    q->n[SPMV_SBELL_SLICES] = t->end - t->begin;
    spmv__dev_cut_slots(p, t->begin, t->end, p->n[SPMV_SBELL_BH] * p->n[SPMV_SBELL_BW], c);
    spmv__dev_cut_one(&c[SPMV_SBELL_BASE], t->begin, q->n[SPMV_SBELL_SLICES], 0);
}

/* Nine values of 8 bytes do not fit into the registers that the compiler takes by itself (H200, sbell:b=3x3: clspmv_cantilever 6.9 us, 13.6
 * with REGS=0; clspmv_protein 8.5, 10.5; clspmv_spheres 16.5, 24.3). In f32 they do. */
static void spmv__sbell_defaults(const spmv_device *d, const spmv_part *p, const spmv_variant *wish, spmv_variant *v)
{
    if (p->type == SPMV_F64 && spmv__dev_block(p) == 9) spmv__dev_default(d, wish, v, SPMV_KNOB_REGS, 64, 0);
}

static const spmv__dev_format spmv__sbell_device = {
    1, SPMV_SBELL_PTR, SPMV_SBELL_COL, SPMV_SBELL_BASE, /* walks_rows, offsets, columns, bases */
    1, 0,                                               /* repeat_lanes, carry_rows */
    "sbell:b=4x4,h=4 sbell:b=3x3,h=4,idx=16",           /* check */
    spmv__dev_matters_always, spmv__sbell_defaults,     /* matters, defaults */
    spmv__dev_mean_slots,                               /* mean */
    spmv__dev_fits_always, spmv__dev_allowed_always,    /* fit, allowed */
    spmv__dev_no_options, spmv__dev_macro_stored,       /* options, macro */
    spmv__dev_height_blocks, spmv__dev_local_lanes,     /* height, local */
    spmv__dev_deal_rows, spmv__dev_arguments_rows,      /* deal, arguments */
    spmv__sbell_grains, spmv__sbell_grain_row,          /* grains, grain_row */
    spmv__dev_grain_free_always, spmv__sbell_cut        /* grain_free, cut */
};

/* ---- bcsr -------------------------------------------------------------------------------------------------------- */

enum { SPMV__BCSR_LARGE = 8 /* elements of a block */ };

/* In small work-groups fewer large blocks are in flight, which then stay in the caches (H200, 3x3, clspmv_cantilever and
 * clspmv_spheres: 0.80 and 0.77 of the time). */
static void spmv__bcsr_defaults(const spmv_device *d, const spmv_part *p, const spmv_variant *wish, spmv_variant *v)
{
    if (p->type == SPMV_F64 && d->info.type != SPMV_DEVICE_CPU && spmv__dev_block(p) > SPMV__BCSR_LARGE)
        spmv__dev_default(d, wish, v, SPMV_KNOB_WG, 32, 32);
}

static void spmv__bcsr_cut(const spmv_part *p, const spmv__dev_span *t, spmv_part *q, spmv__dev_cut *c)
{
    uint64_t bh = p->n[SPMV_BCSR_BH], uw = p->n[SPMV_BCSR_UW], block_rows = spmv__ceil_div(p->rows, bh), last = t->end * SPMV__GRAIN;
    spmv__dev_cut_slots(p, t->begin * SPMV__GRAIN, last < block_rows ? last : block_rows, uw, c);
    q->n[SPMV_BCSR_BLOCKS] = c[SPMV_BCSR_COL].count;
    c[SPMV_BCSR_VAL].planes = bh * p->n[SPMV_BCSR_BW] / uw;
    c[SPMV_BCSR_VAL].stride = p->n[SPMV_BCSR_BLOCKS] * uw;
    spmv__dev_cut_one(&c[SPMV_BCSR_BASE], t->begin, t->end - t->begin, 0);
}

static const spmv__dev_format spmv__bcsr_device = {
    1, SPMV_BCSR_PTR, SPMV_BCSR_COL, SPMV_BCSR_BASE,     /* walks_rows, offsets, columns, bases */
    SPMV__BCSR_LANES, 0,                                 /* repeat_lanes, carry_rows */
    "bcsr:b=4x4 bcsr:b=3x3,idx=16",                      /* check */
    spmv__dev_matters_always, spmv__bcsr_defaults,       /* matters, defaults */
    spmv__dev_mean_slots,                                /* mean */
    spmv__dev_fits_always, spmv__dev_allowed_always,     /* fit, allowed */
    spmv__dev_no_options, spmv__dev_macro_stored,        /* options, macro */
    spmv__dev_height_blocks, spmv__dev_local_lanes,      /* height, local */
    spmv__dev_deal_rows, spmv__dev_arguments_rows,       /* deal, arguments */
    spmv__dev_grains_blocks, spmv__dev_grain_row_blocks, /* grains, grain_row */
    spmv__dev_grain_free_always, spmv__bcsr_cut          /* grain_free, cut */
};

/* ---- cmrs -------------------------------------------------------------------------------------------------------- */

/* The entries of a strip sorted by column are not in the order of their rows, so that sums must be in local memory. */
static void spmv__cmrs_defaults(const spmv_device *d, const spmv_part *p, const spmv_variant *wish, spmv_variant *v)
{
    if (p->spec.key[SPMV_KEY_SORT]) spmv__dev_default(d, wish, v, SPMV_KNOB_STAGE, 1, 1);
}

static uint64_t spmv__cmrs_height(const spmv_part *p, const spmv_variant *v)
{
    (void)v;
    return p->n[SPMV_CMRS_HEIGHT];
}

/* STAGE=1 keeps a sum for each work-item and row of the strip. */
static uint64_t spmv__cmrs_local(const spmv_part *p, const spmv_variant *v)
{
    return spmv__dev_local_staged(p, v, p->n[SPMV_CMRS_HEIGHT] * (uint64_t)v->value[SPMV_KNOB_WG]);
}

static uint64_t spmv__cmrs_grains(const spmv_part *p) { return spmv__ceil_div(p->rows, p->n[SPMV_CMRS_HEIGHT]); }
static uint64_t spmv__cmrs_grain_row(const spmv_part *p, uint64_t g) { return g * p->n[SPMV_CMRS_HEIGHT]; }

static void spmv__cmrs_cut(const spmv_part *p, const spmv__dev_span *t, spmv_part *q, spmv__dev_cut *c)
{
    spmv__dev_cut_slots(p, t->begin, t->end, 1, c);
    q->nnz = c[SPMV_CMRS_INDEX].count;
    c[SPMV_CMRS_ROW] = c[SPMV_CMRS_INDEX];
}

static const spmv__dev_format spmv__cmrs_device = {
    1, SPMV_CMRS_PTR, SPMV__NO_ARRAY, SPMV__NO_ARRAY,      /* walks_rows, offsets, columns, bases */
    1, 0,                                                  /* repeat_lanes, carry_rows */
    "cmrs cmrs:rows=nonempty,h=16,sort=1,wide=1",          /* check */
    spmv__dev_matters_always, spmv__cmrs_defaults,         /* matters, defaults */
    spmv__dev_mean_nonzeros,                               /* mean */
    spmv__dev_fits_always, spmv__dev_allowed_always,       /* fit, allowed */
    spmv__dev_no_options, spmv__dev_macro_stored,          /* options, macro */
    spmv__cmrs_height, spmv__cmrs_local,                   /* height, local */
    spmv__dev_deal_rows, spmv__dev_arguments_rows,         /* deal, arguments */
    spmv__cmrs_grains, spmv__cmrs_grain_row,               /* grains, grain_row */
    spmv__dev_grain_free_always, spmv__cmrs_cut            /* grain_free, cut */
};

/* ---- tcsr -------------------------------------------------------------------------------------------------------- */

enum { SPMV__TCSR_EMPTY_EACH = 4 /* empty rows that an item writes; kernels/tcsr.cl has the same number */ };

/* Items of a group that takes a tile. */
static uint64_t spmv__tcsr_group(const spmv_part *p) { return p->n[SPMV_TCSR_TILE] / SPMV_TCSR_SLOTS; }

static int spmv__tcsr_matters(const spmv_part *p, const spmv_variant *v, spmv_knob k)
{
    switch (k) {
    case SPMV_KNOB_FINISH: return p->n[SPMV_TCSR_CUTS] != 0;
    case SPMV_KNOB_UNROLL: return v->value[SPMV_KNOB_STREAM];
    default: return 1;
    }
}

/* STREAM=1: the products with the gaps between them, and the open sums of the warps; without PTX also a vote for each warp and a sum for
 * each item, which are always counted. The finishing launch has a sum for each item. */
static uint64_t spmv__tcsr_local(const spmv_part *p, const spmv_variant *v)
{
    uint64_t size = spmv_vector_size(p->type), wg = (uint64_t)v->value[SPMV_KNOB_WG], warps, products;
    if (!v->value[SPMV_KNOB_STREAM]) return wg * size;
    warps = p->n[SPMV_TCSR_TILE] / SPMV__TCSR_WARP;
    products = SPMV__TCSR_WARP + SPMV__TCSR_WARP * size / 128 * (16 / size); /* 16 bytes between each 128 */
    return warps * ((products + 1) * size + 8) + wg * size;
}

/* STREAM=1 unless the device cannot have a group of a tile's size, or the caller asks for another group. */
static void spmv__tcsr_defaults(const spmv_device *d, const spmv_part *p, const spmv_variant *wish, spmv_variant *v)
{
    const int narrow = p->a[SPMV_TCSR_BASE].count != 0, doubles = p->type != SPMV_F32;
    spmv_variant whole = *v;
    whole.value[SPMV_KNOB_STREAM] = 1;
    whole.value[SPMV_KNOB_WG] = (int)spmv__tcsr_group(p);
    if (d->info.group_size < spmv__tcsr_group(p) || spmv__tcsr_local(p, &whole) > d->info.local_bytes ||
        (spmv__dev_knob_set(wish, SPMV_KNOB_WG) && wish->value[SPMV_KNOB_WG] != whole.value[SPMV_KNOB_WG]))
        spmv__dev_default(d, wish, v, SPMV_KNOB_STREAM, 0, 0);
    /* H200, CUDA, geometric mean of two web graphs, a matrix of chemistry and, in f64, one of optimization. 32-bit columns: in f64 REGS=80
     * takes 0.98 of the time with 64; in f32, web graphs only, UNROLL=16 0.96 of UNROLL=8, and REGS=48 as long as 40. 16-bit columns,
     * which take half of the registers: in f64 REGS=64, UNROLL=8 0.98 of REGS=80, UNROLL=16; in f32 REGS=40, UNROLL=16 0.99 of 48 with
     * 8 or 16. */
    spmv__dev_default(d, wish, v, SPMV_KNOB_UNROLL, spmv__dev_takes_registers(d) && !(narrow && doubles) ? 16 : 8, 8);
    spmv__dev_default(d, wish, v, SPMV_KNOB_REGS, doubles ? narrow ? 64 : 80 : narrow ? 40 : 48, 0);
    spmv__dev_default(d, wish, v, SPMV_KNOB_NT, spmv__dev_streams(d, p, 3, 1), 0);
    if (d->info.nvidia < SPMV__NVIDIA_VOLTA) spmv__dev_default(d, wish, v, SPMV_KNOB_FINISH, 0, 0); /* as for csr */
    spmv__dev_default(d, wish, v, SPMV_KNOB_WG, 64, 1);
    if (v->value[SPMV_KNOB_STREAM] && !spmv__dev_knob_set(wish, SPMV_KNOB_WG)) v->value[SPMV_KNOB_WG] = (int)spmv__tcsr_group(p);
}

/* With STREAM=1 the group has the size of a tile, whether the caller asked for another one or the kernel cannot have so large a one. */
static spmv_status spmv__tcsr_allowed(const spmv_device *d, const spmv_part *p, const spmv_variant *v)
{
    if (!v->value[SPMV_KNOB_STREAM] || (uint64_t)v->value[SPMV_KNOB_WG] == spmv__tcsr_group(p)) return SPMV_OK;
    return spmv_log(&d->hooks, SPMV_ERR_LIMIT, "tcsr: STREAM=1 takes groups of %llu for tiles of %llu, not of %d",
                    (spmv__ull)spmv__tcsr_group(p), (spmv__ull)p->n[SPMV_TCSR_TILE], v->value[SPMV_KNOB_WG]);
}

static void spmv__tcsr_options(spmv__dev_options *o, const spmv_part *p)
{
    if (!p->n[SPMV_TCSR_CUTS]) spmv__dev_option(o, "CUTS", "0");
    spmv__dev_option_number(o, "GAPS", p->a[SPMV_TCSR_ROW].count != 0);
    spmv__dev_option_number(o, "HIGH", !p->a[SPMV_TCSR_HIGH].count ? 0 : p->a[SPMV_TCSR_HIGH].count < p->a[SPMV_TCSR_COL].count ? 1 : 2);
}

/* Groups for the tiles, then for the empty rows. Each tile has two carries. */
static spmv_status spmv__tcsr_deal(spmv_device_part *out, const spmv_device *d, const spmv_part *p)
{
    uint64_t wg = (uint64_t)out->variant.value[SPMV_KNOB_WG], tiles = p->n[SPMV_TCSR_TILES], cuts = p->n[SPMV_TCSR_CUTS];
    uint64_t items = out->variant.value[SPMV_KNOB_STREAM] ? tiles * wg : tiles;
    spmv_status s = spmv__dev_groups(d, items + spmv__ceil_div(p->n[SPMV_TCSR_EMPTIES], SPMV__TCSR_EMPTY_EACH), wg, wg, &out->groups);
    out->carries = cuts ? 2 * tiles : 0;
    if (cuts && out->variant.value[SPMV_KNOB_FINISH]) out->counters = tiles;
    else if (!s) s = spmv__dev_groups(d, cuts, 1, wg, &out->finish);
    return s;
}

static void spmv__tcsr_arguments(spmv__dev_args *a, const spmv_device_part *p, void *const *carry)
{
    if (p->list) spmv__dev_arg_mem(a, p->list);
    spmv__dev_arg_mem(a, carry[0]);
}

static uint64_t spmv__tcsr_grains(const spmv_part *p) { return p->n[SPMV_TCSR_TILES]; }

/* Empty rows belong to the tile of the row before them. The arrays are read between two tiles alone: those of a part that the device
 * filled are not here, and such a part is never cut. */
static uint64_t spmv__tcsr_grain_row(const spmv_part *p, uint64_t g)
{
    if (g == 0) return 0;
    return g < p->n[SPMV_TCSR_TILES] ? spmv__tcsr_row(p, spmv__tcsr_ends(p, g)) : p->rows;
}

/* Not where a row goes on. */
static int spmv__tcsr_grain_free(const spmv_part *p, uint64_t g)
{
    return g == p->n[SPMV_TCSR_TILES] || spmv__at(&p->a[SPMV_TCSR_PIECE], 2 * g) == g;
}

static void spmv__tcsr_cut(const spmv_part *p, const spmv__dev_span *t, spmv_part *q, spmv__dev_cut *c)
{
    uint64_t tile = p->n[SPMV_TCSR_TILE], tiles = t->end - t->begin, warps = tile / SPMV__TCSR_WARP;
    uint64_t ends = spmv__tcsr_ends(p, t->begin), cuts = spmv__dev_below(&p->a[SPMV_TCSR_CUT], t->begin);
    uint64_t empties = spmv__dev_below(&p->a[SPMV_TCSR_EMPTY], t->row), wide;
    q->n[SPMV_TCSR_TILES] = tiles;
    q->n[SPMV_TCSR_CUTS] = spmv__dev_below(&p->a[SPMV_TCSR_CUT], t->end) - cuts;
    q->n[SPMV_TCSR_EMPTIES] = spmv__dev_below(&p->a[SPMV_TCSR_EMPTY], t->last) - empties;
    spmv__dev_cut_one(&c[SPMV_TCSR_VAL], t->begin * tile, tiles * tile, 0);
    c[SPMV_TCSR_COL] = c[SPMV_TCSR_VAL];
    spmv__dev_cut_one(&c[SPMV_TCSR_FLAG], t->begin * tile / SPMV_TCSR_SLOTS, tiles * tile / SPMV_TCSR_SLOTS, 0);
    spmv__dev_cut_one(&c[SPMV_TCSR_END], t->begin * warps, tiles * warps + 1, ends);
    spmv__dev_cut_one(&c[SPMV_TCSR_ROW], ends, spmv__tcsr_ends(p, t->end) - ends, t->row);
    spmv__dev_cut_one(&c[SPMV_TCSR_PIECE], 2 * t->begin, 2 * tiles, t->begin);
    spmv__dev_cut_one(&c[SPMV_TCSR_CUT], cuts, q->n[SPMV_TCSR_CUTS], t->begin);
    spmv__dev_cut_one(&c[SPMV_TCSR_EMPTY], empties, q->n[SPMV_TCSR_EMPTIES], t->row);
    spmv__dev_cut_one(&c[SPMV_TCSR_BASE], t->begin * warps, tiles * warps, 0);
    if (!p->a[SPMV_TCSR_HIGH].count) return;
    wide = spmv__at(&p->a[SPMV_TCSR_HIGH_AT], t->begin * warps);
    spmv__dev_cut_one(&c[SPMV_TCSR_HIGH_AT], t->begin * warps, tiles * warps + 1, wide);
    spmv__dev_cut_one(&c[SPMV_TCSR_HIGH], wide * SPMV__TCSR_WARP,
                      (spmv__at(&p->a[SPMV_TCSR_HIGH_AT], t->end * warps) - wide) * SPMV__TCSR_WARP, 0);
}

static const spmv__dev_format spmv__tcsr_device = {
    0, SPMV__NO_ARRAY, SPMV_TCSR_COL, SPMV_TCSR_BASE,  /* walks_rows, offsets, columns, bases */
    1, 0,                                              /* repeat_lanes, carry_rows */
    "tcsr tcsr:tile=512 tcsr:rows=nonempty,tile=2048 tcsr:idx=16", /* check */
    spmv__tcsr_matters, spmv__tcsr_defaults,           /* matters, defaults */
    spmv__dev_mean_nonzeros,                           /* mean */
    spmv__dev_fits_always, spmv__tcsr_allowed,         /* fit, allowed */
    spmv__tcsr_options, spmv__dev_macro_stored,        /* options, macro */
    spmv__dev_height_rows, spmv__tcsr_local,           /* height, local */
    spmv__tcsr_deal, spmv__tcsr_arguments,             /* deal, arguments */
    spmv__tcsr_grains, spmv__tcsr_grain_row,           /* grains, grain_row */
    spmv__tcsr_grain_free, spmv__tcsr_cut              /* grain_free, cut */
};

/* ---- formats of the user's own (SPMV_FORMATS_EXTRA) ---------------------------------------------------------------- */
#ifdef SPMV_FORMATS_EXTRA
static uint64_t spmv__extra_height(const spmv_part *p, const spmv_variant *v)
{
    (void)p;
    (void)v;
    return 1;
}

/* A part cannot be cut: its first grain is all of it. */
static uint64_t spmv__extra_grains(const spmv_part *p)
{
    (void)p;
    return 1;
}
static uint64_t spmv__extra_grain_row(const spmv_part *p, uint64_t g) { return g * p->rows; }

static void spmv__extra_cut(const spmv_part *p, const spmv__dev_span *t, spmv_part *q, spmv__dev_cut *c)
{
    int i;
    (void)t;
    (void)q;
    for (i = 0; i < SPMV_MAX_ARRAYS; i++) spmv__dev_cut_one(&c[i], 0, p->a[i].count, 0);
}

static void spmv__extra_defaults(const spmv_device *d, const spmv_part *p, const spmv_variant *wish, spmv_variant *v)
{
    (void)d;
    (void)p;
    (void)wish;
    (void)v;
}

#define SPMV__EXTRA_DEVICE(NAME, name, text)                                                                      \
    static const spmv__dev_format spmv__##name##_device = {                                                       \
        1, SPMV__OFFSETS_##NAME, SPMV__NO_ARRAY, SPMV__NO_ARRAY,   /* walks_rows, offsets, columns, bases */      \
        1, 0,                                                      /* repeat_lanes, carry_rows */                 \
        #name,                                                     /* check */                                    \
        spmv__dev_matters_always, spmv__extra_defaults,            /* matters, defaults */                        \
        spmv__dev_mean_nonzeros,                                   /* mean */                                     \
        spmv__dev_fits_always, spmv__dev_allowed_always,           /* fit, allowed */                             \
        spmv__dev_no_options, spmv__dev_macro_stored,              /* options, macro */                           \
        spmv__extra_height, spmv__dev_local_lanes,                 /* height, local */                            \
        spmv__dev_deal_rows, spmv__dev_arguments_rows,             /* deal, arguments */                          \
        spmv__extra_grains, spmv__extra_grain_row,                 /* grains, grain_row */                        \
        spmv__dev_grain_free_always, spmv__extra_cut               /* grain_free, cut */                          \
    };
SPMV_EXTRA_LIST(SPMV__EXTRA_DEVICE)
#endif

/* ---- the table of the records above ------------------------------------------------------------------------------ */

static const spmv__dev_format *const spmv__dev_formats[SPMV_FORMAT_COUNT] = {
#define X(NAME, name, text) &spmv__##name##_device,
    SPMV_FORMAT_LIST(X)
#undef X
};

static const spmv__dev_format *spmv__dev_format_of(spmv_format f) { return spmv__dev_formats[f]; }

/* ---- programs ---------------------------------------------------------------------------------------------------- */

/* 1: the kernel needs shell.cl; 0: its own file is complete, as those that are not a format's are. */
static int spmv__dev_walks_rows(int f) { return f < (int)SPMV_FORMAT_COUNT && spmv__dev_formats[f]->walks_rows; }

/* Adds a file to the source of a program, behind a #line so that build logs name the file. */
static void spmv__dev_source_add(spmv_kernel_source *source, const char *line, const unsigned char *text, size_t size)
{
    source->text[source->count] = line;
    source->size[source->count++] = strlen(line);
    source->text[source->count] = (const char *)text;
    source->size[source->count++] = size;
}

/* The source of a program: common.cl, the kernel's file and, for formats, shell.cl and scale.cl. Every program of a format has the kernel
 * that only scales y, since a few lines more take a compiler far less time than a program of their own. */
static void spmv__dev_source(int f, const char *options, char line[64], spmv_kernel_source *source)
{
    const spmv__dev_kernel *t = &spmv__dev_kernels[f];
    spmv_print(line, 64, "\n#line 1 \"kernels/%s\"\n", t->file);
    source->file = t->file;
    source->options = options;
    source->count = 0;
    spmv__dev_source_add(source, "#line 1 \"kernels/common.cl\"\n", spmv__src_common, sizeof spmv__src_common);
    spmv__dev_source_add(source, line, t->source, t->size);
    if (spmv__dev_walks_rows(f))
        spmv__dev_source_add(source, "\n#line 1 \"kernels/shell.cl\"\n", spmv__src_shell, sizeof spmv__src_shell);
    if (f < (int)SPMV_FORMAT_COUNT)
        spmv__dev_source_add(source, "\n#line 1 \"kernels/scale.cl\"\n", spmv__src_scale, sizeof spmv__src_scale);
}

/* Continues a hash (FNV-1a, 64 bits) by some bytes. It finds accidents, not forgeries. */
static uint64_t spmv__hash(uint64_t hash, const void *bytes, size_t n)
{
    const unsigned char *at = (const unsigned char *)bytes;
    size_t i;
    for (i = 0; i < n; i++) hash = (hash ^ at[i]) * UINT64_C(1099511628211);
    return hash;
}

#define SPMV__HASH_BEGIN UINT64_C(14695981039346656037)

/* A hash of all that a program is compiled from but its options, with what a back end puts before it. */
static uint64_t spmv__dev_source_hash(int f)
{
    char line[64];
    spmv_kernel_source source;
    uint64_t hash = SPMV__HASH_BEGIN;
    unsigned i;
#ifndef SPMV_NO_CUDA
    hash = spmv__hash(hash, spmv__src_cuda, sizeof spmv__src_cuda);
#endif
    spmv__dev_source(f, "", line, &source);
    for (i = 0; i < source.count; i++) hash = spmv__hash(hash, source.text[i], source.size[i]);
    return hash;
}

/* The image of a program that was given to the device, or NULL. */
static const spmv__image *spmv__dev_image_of(const spmv_device *d, int f, const char *options)
{
    const spmv__image *i = spmv__dev_images(d);
    const uint64_t hash = i ? spmv__dev_source_hash(f) : 0;
    while (i && (i->source != hash || strcmp((const char *)(i + 1), options) != 0)) i = i->next;
    return i;
}

/* Makes the program from an image that was given to the device. 1, or 0 if there is none or the driver does not take it; nobody is told,
 * as it can be compiled. */
static int spmv__dev_load(const spmv_device *d, int f, const char *options, void **out)
{
    const spmv__image *i = spmv__dev_image_of(d, f, options);
    spmv_device quiet = spmv__dev_quiet(d);
    return i && d->info.backend->load(&quiet, options, (const char *)(i + 1) + i->options, i->bytes, out) == SPMV_OK;
}

/* Makes a program: from an image, or else from source. */
static spmv_status spmv__dev_build(spmv_device *d, int f, const char *options, void **out)
{
    char line[64];
    spmv_kernel_source source;
    spmv_status s;
    spmv__phase(&d->hooks, SPMV_PHASE_BUILD);
    if (spmv__dev_load(d, f, options, out)) s = SPMV_OK;
    else {
        spmv__dev_source(f, options, line, &source);
        s = d->info.backend->build(d, &source, out);
        d->compiled += s == SPMV_OK;
    }
    spmv__phase(&d->hooks, SPMV_PHASE_UPLOAD);
    return s;
}

/* Makes a program that is not built yet. */
static spmv_status spmv__dev_unbuilt(spmv_device *d, int f, const char *options, spmv__program **out)
{
    const size_t n = strlen(options) + 1;
    void *block = NULL, *own = NULL;
    spmv_status s = spmv__new(&d->hooks, &block, 1, sizeof **out, 0);
    if (!s) s = spmv__room(&d->hooks, &own, n, 1);
    if (s) {
        spmv_free(&d->hooks, block);
        return s;
    }
    *out = (spmv__program *)block;
    (*out)->format = (spmv_format)f;
    (*out)->options = (char *)own;
    memcpy(own, options, n);
    return SPMV_OK;
}

/* Adds a program to those that are built. */
static void spmv__dev_add_program(spmv_device *d, spmv__program *p)
{
    spmv__lock(&d->common->lock);
    p->next = d->common->programs;
    d->common->programs = p;
    spmv__unlock(&d->common->lock);
}

/* Builds a program and keeps it in d, which owns it. */
static spmv_status spmv__dev_new_program(spmv_device *d, int f, const char *options, const spmv__program **out)
{
    spmv__program *p = NULL;
    spmv_status s = spmv__dev_unbuilt(d, f, options, &p);
    if (s) return s;
    s = spmv__dev_build(d, f, options, &p->program);
    if (s) {
        spmv__program_free(d, p);
        return s;
    }
    spmv__dev_add_program(d, p);
    *out = p;
    return SPMV_OK;
}

/* The program that d has, or NULL. */
static const spmv__program *spmv__dev_built(const spmv_device *d, int f, const char *options)
{
    const spmv__program *p = spmv__dev_programs(d);
    while (p && ((int)p->format != f || strcmp(p->options, options) != 0)) p = p->next;
    return p;
}

static spmv_status spmv__dev_program_of(spmv_device *d, int f, const char *options, void **out)
{
    const spmv__program *p = spmv__dev_built(d, f, options);
    spmv_status s = SPMV_OK;
    if (!p) {
        spmv__lock(&d->common->building);
        p = spmv__dev_built(d, f, options); /* by now another thread may have built it */
        if (!p) s = spmv__dev_new_program(d, f, options, &p);
        spmv__unlock(&d->common->building);
    }
    if (!s) *out = p->program;
    return s;
}

/* ---- several programs at once ----------------------------------------------------------------------------------------
 * A compiler takes some 0.1 s for a program and uses one processor. Where there are threads and the back end can,
 * programs that are needed together are compiled at the same time. */

enum { SPMV__BATCH = 8 /* programs that are compiled at once; more are compiled later, one by one */ };

/* Programs that are compiled at once, their sources, and what becomes of them. */
typedef struct spmv__batch {
    size_t             count;
    spmv__program     *of[SPMV__BATCH];
    void              *program[SPMV__BATCH];
    spmv_kernel_source source[SPMV__BATCH];
    char               line[SPMV__BATCH][64];
} spmv__batch;

/* Makes an empty batch; NULL: programs are compiled one by one here, or there is no memory. */
static spmv__batch *spmv__batch_new(const spmv_device *d)
{
    spmv_hooks quiet = d->hooks;
    void *block = NULL;
    quiet.log = spmv__dev_hush;
    if (d->info.backend->build_all && spmv__share_threads(2, 2) > 1) spmv__new(&quiet, &block, 1, sizeof(spmv__batch), 0);
    return (spmv__batch *)block;
}

/* Adds a program to a batch, which may be NULL, unless it is in it, is built or is made from an image. What does not fit is left out:
 * whoever needs it builds it alone. */
static void spmv__batch_add(const spmv_device *d, spmv__batch *b, int f, const char *options)
{
    spmv_device quiet = spmv__dev_quiet(d);
    size_t i;
    if (!b || b->count == SPMV__BATCH || spmv__dev_built(d, f, options) || spmv__dev_image_of(d, f, options)) return;
    for (i = 0; i < b->count; i++)
        if ((int)b->of[i]->format == f && !strcmp(b->of[i]->options, options)) return;
    if (!spmv__dev_unbuilt(&quiet, f, options, &b->of[i])) b->count++;
}

/* Drops what another thread has built since. */
static void spmv__batch_thin(spmv_device *d, spmv__batch *b)
{
    size_t i, n = 0;
    for (i = 0; i < b->count; i++) {
        if (spmv__dev_built(d, (int)b->of[i]->format, b->of[i]->options)) spmv__program_free(d, b->of[i]);
        else b->of[n++] = b->of[i];
    }
    b->count = n;
}

/* Builds the programs of a batch, moves them to those that are built, and frees the batch, which may be NULL. One alone, and what fails, is
 * forgotten: whoever needs it builds it, and then the reason of a failure is reported. */
static void spmv__batch_build(spmv_device *d, spmv__batch *b)
{
    spmv_device quiet = spmv__dev_quiet(d);
    size_t i;
    if (!b) return;
    spmv__lock(&d->common->building);
    spmv__batch_thin(d, b);
    if (b->count > 1) {
        for (i = 0; i < b->count; i++) spmv__dev_source((int)b->of[i]->format, b->of[i]->options, b->line[i], &b->source[i]);
        spmv__phase(&d->hooks, SPMV_PHASE_BUILD);
        d->info.backend->build_all(&quiet, b->source, b->count, b->program);
        spmv__phase(&d->hooks, SPMV_PHASE_UPLOAD);
    }
    for (i = 0; i < b->count; i++) {
        spmv__program *p = b->of[i];
        p->program = b->program[i];
        d->compiled += p->program != NULL;
        if (p->program) spmv__dev_add_program(d, p);
        else spmv__program_free(d, p);
    }
    spmv__unlock(&d->common->building);
    spmv_free(&d->hooks, b);
}

SPMV_API spmv_status spmv_device_program(spmv_device *d, spmv_format f, const char *options, void **out)
{
    if (!out || !d) return spmv__null(d ? &d->hooks : NULL, "spmv_device_program", !out ? "out" : "d", out, sizeof *out);
    if (!spmv__dev_is_here(d)) return spmv__dev_not_here(d, "spmv_device_program", out, sizeof *out);
    *out = NULL;
    if ((unsigned)f >= SPMV_FORMAT_COUNT) return spmv_log(&d->hooks, SPMV_ERR_ARGUMENT, "no such format");
    if (!spmv__dev_kernels[f].source)
        return spmv_log(&d->hooks, SPMV_ERR_UNSUPPORTED, "%s was left out of this build", spmv_format_name(f));
    return spmv__dev_program_of(d, (int)f, options ? options : "", out);
}

/* ---- programs as a string of bytes ----------------------------------------------------------------------------------- */

/* Numbers of 8 bytes in the machine's own order, which the first of them shows: what it is, the length of the whole, a checksum of all that
 * follows, a hash that identifies the device, the number of programs. For each program: the hash of its source, the lengths of its options
 * (with a zero at the end) and of its image, and their bytes, without padding. */
enum { SPMV__PACK_MAGIC, SPMV__PACK_BYTES, SPMV__PACK_SUM, SPMV__PACK_DEVICE, SPMV__PACK_COUNT, SPMV__PACK_HEAD };
enum { SPMV__PACK_SOURCE, SPMV__PACK_OPTIONS, SPMV__PACK_IMAGE, SPMV__PACK_ENTRY };
#define SPMV__PACK_VERSION UINT64_C(0x31676b7076706d73) /* "smpvpkg1"; the last character is the version of this form */

/* A hash of what compiled programs depend on beside their source: the back end, the device and its driver. */
static uint64_t spmv__dev_identity(const spmv_device *d)
{
    const spmv_device_info *i = &d->info;
    const char *text[] = { i->backend->name, i->name, i->vendor, i->version, i->driver, i->platform };
    uint64_t hash = spmv__hash(SPMV__HASH_BEGIN, &i->address_bits, sizeof i->address_bits);
    size_t k;
    for (k = 0; k < sizeof text / sizeof *text; k++) hash = spmv__hash(hash, text[k], strlen(text[k]) + 1);
    return spmv__hash(hash, &i->nvidia, sizeof i->nvidia);
}

/* A program on its way into the string. */
typedef struct spmv__packed {
    const char *options;
    const void *image;
    void       *owned;  /* the image if it is to be freed, else NULL */
    uint64_t    source; /* hash of its source */
    size_t      bytes;  /* of the image; 0: there is none, and the program is left out */
} spmv__packed;

/* Writes a program at *at and moves *at behind it. */
static void spmv__pack_one(unsigned char **at, const spmv__packed *k)
{
    uint64_t head[SPMV__PACK_ENTRY];
    head[SPMV__PACK_SOURCE] = k->source;
    head[SPMV__PACK_OPTIONS] = strlen(k->options) + 1;
    head[SPMV__PACK_IMAGE] = k->bytes;
    memcpy(*at, head, sizeof head);
    memcpy(*at + sizeof head, k->options, (size_t)head[SPMV__PACK_OPTIONS]);
    memcpy(*at + sizeof head + head[SPMV__PACK_OPTIONS], k->image, k->bytes);
    *at += sizeof head + head[SPMV__PACK_OPTIONS] + k->bytes;
}

/* Writes the string of n programs. */
static spmv_status spmv__pack(const spmv_device *d, const spmv__packed *all, size_t n, void **out, size_t *bytes)
{
    uint64_t head[SPMV__PACK_HEAD], size = sizeof head;
    unsigned char *at;
    size_t i;
    spmv_status s;
    memset(head, 0, sizeof head);
    for (i = 0; i < n; i++) {
        if (!all[i].bytes) continue;
        size += SPMV__PACK_ENTRY * sizeof *head + strlen(all[i].options) + 1 + all[i].bytes;
        head[SPMV__PACK_COUNT]++;
    }
    s = spmv__room(&d->hooks, out, size, 1);
    if (s) return s;
    at = (unsigned char *)*out + sizeof head;
    for (i = 0; i < n; i++)
        if (all[i].bytes) spmv__pack_one(&at, &all[i]);
    head[SPMV__PACK_MAGIC] = SPMV__PACK_VERSION;
    head[SPMV__PACK_BYTES] = size;
    head[SPMV__PACK_DEVICE] = spmv__dev_identity(d);
    memcpy(*out, head, sizeof head);
    at = (unsigned char *)*out + (SPMV__PACK_SUM + 1) * sizeof *head;
    head[SPMV__PACK_SUM] = spmv__hash(SPMV__HASH_BEGIN, at, (size_t)size - (SPMV__PACK_SUM + 1) * sizeof *head);
    memcpy(*out, head, sizeof head);
    *bytes = (size_t)size;
    return SPMV_OK;
}

/* Collects programs, from p on, and after them the images from i on that are not among them. *n: how many there are. */
static spmv_status spmv__pack_collect(const spmv_device *d, const spmv__program *p, const spmv__image *i, spmv__packed *all, size_t *n)
{
    size_t k;
    spmv_status s = SPMV_OK;
    *n = 0;
    for (; p && !s; p = p->next, ++*n) {
        all[*n].options = p->options;
        all[*n].source = spmv__dev_source_hash((int)p->format);
        s = d->info.backend->image_of(d, p->program, &all[*n].owned, &all[*n].bytes);
        all[*n].image = all[*n].owned;
    }
    for (; i && !s; i = i->next) {
        const char *options = (const char *)(i + 1);
        for (k = 0; k < *n && (all[k].source != i->source || strcmp(all[k].options, options) != 0);) k++;
        if (k < *n) continue;
        all[*n].options = options;
        all[*n].source = i->source;
        all[*n].image = options + i->options;
        all[(*n)++].bytes = i->bytes;
    }
    return s;
}

SPMV_API spmv_status spmv_device_programs_take(const spmv_device *d, void **out, size_t *bytes)
{
    if (bytes) *bytes = 0;
    if (!d || !out || !bytes)
        return spmv__null(d ? &d->hooks : NULL, "spmv_device_programs_take", !d ? "d" : !out ? "out" : "bytes", out, sizeof *out);
    if (!spmv__dev_is_here(d)) return spmv__dev_not_here(d, "spmv_device_programs_take", out, sizeof *out);
    const spmv__program *programs = spmv__dev_programs(d), *p;
    const spmv__image *images = spmv__dev_images(d), *image;
    spmv__packed *all;
    void *block;
    size_t n = 1, i;
    spmv_status s;
    *out = NULL;
    for (p = programs; p; p = p->next) n++;
    for (image = images; image; image = image->next) n++;
    s = spmv__new(&d->hooks, &block, n, sizeof *all, 0);
    if (s) return s;
    all = (spmv__packed *)block;
    s = spmv__pack_collect(d, programs, images, all, &n);
    if (!s) s = spmv__pack(d, all, n, out, bytes);
    for (i = 0; i < n; i++) spmv_free(&d->hooks, all[i].owned);
    spmv_free(&d->hooks, all);
    return s;
}

/* 1 if these are all the bytes of a string that was taken from such a device. */
static int spmv__pack_is_whole(const spmv_device *d, const unsigned char *from, size_t bytes)
{
    const size_t summed = (SPMV__PACK_SUM + 1) * sizeof(uint64_t);
    uint64_t head[SPMV__PACK_HEAD];
    if (bytes < sizeof head) return 0;
    memcpy(head, from, sizeof head);
    return head[SPMV__PACK_MAGIC] == SPMV__PACK_VERSION && head[SPMV__PACK_BYTES] == bytes &&
           head[SPMV__PACK_DEVICE] == spmv__dev_identity(d) &&
           head[SPMV__PACK_SUM] == spmv__hash(SPMV__HASH_BEGIN, from + summed, bytes - summed);
}

/* Copies the program at from, of which at most left bytes are there, to the device's images. *used: its length, 0 if it does not fit in
 * them. */
static spmv_status spmv__unpack_one(spmv_device *d, const unsigned char *from, size_t left, size_t *used)
{
    uint64_t head[SPMV__PACK_ENTRY];
    spmv__image *i;
    void *block;
    spmv_status s;
    *used = 0;
    if (left < sizeof head) return SPMV_OK;
    memcpy(head, from, sizeof head);
    left -= sizeof head;
    if (!head[SPMV__PACK_OPTIONS] || head[SPMV__PACK_OPTIONS] > left || head[SPMV__PACK_IMAGE] > left - head[SPMV__PACK_OPTIONS])
        return SPMV_OK;
    if (from[sizeof head + head[SPMV__PACK_OPTIONS] - 1]) return SPMV_OK;
    left = (size_t)(head[SPMV__PACK_OPTIONS] + head[SPMV__PACK_IMAGE]);
    s = spmv__room(&d->hooks, &block, sizeof *i + left, 1);
    if (s) return s;
    i = (spmv__image *)block;
    i->source = head[SPMV__PACK_SOURCE];
    i->options = (size_t)head[SPMV__PACK_OPTIONS];
    i->bytes = (size_t)head[SPMV__PACK_IMAGE];
    memcpy(i + 1, from + sizeof head, left);
    spmv__lock(&d->common->lock);
    i->next = d->common->images;
    d->common->images = i;
    spmv__unlock(&d->common->lock);
    *used = sizeof head + left;
    return SPMV_OK;
}

SPMV_API spmv_status spmv_device_programs_give(spmv_device *d, const void *from, size_t bytes)
{
    if (!d || (bytes && !from))
        return spmv__null(d ? &d->hooks : NULL, "spmv_device_programs_give", d ? "from" : "d", NULL, 0);
    if (!spmv__dev_is_here(d)) return spmv__dev_not_here(d, "spmv_device_programs_give", NULL, 0);
    const unsigned char *at = (const unsigned char *)from;
    size_t used = SPMV__PACK_HEAD * sizeof(uint64_t);
    spmv_status s = SPMV_OK;
    if (!bytes) {
        spmv__lock(&d->common->lock);
        d->common->keeps = 1;
        spmv__unlock(&d->common->lock);
    }
    if (!spmv__pack_is_whole(d, at, bytes)) return SPMV_OK;
    for (at += used, bytes -= used; bytes && used && !s; at += used, bytes -= used) s = spmv__unpack_one(d, at, bytes, &used);
    return s;
}

/* ---- from a part to its program: options and variant ---------------------------------------------------------------- */

static void spmv__dev_option_types(spmv__dev_options *o, spmv_type t)
{
    spmv__dev_option(o, "VAL", spmv_value_size(t) == sizeof(double) ? "double" : "float");
    spmv__dev_option(o, "VEC", t == SPMV_F32 ? "float" : "double");
    if (t != SPMV_F32) spmv__dev_option(o, "F64", "1");
}

/* 1: columns of 16 bits. */
static int spmv__dev_narrow(const spmv_part *p)
{
    int columns = spmv__dev_format_of(p->spec.format)->columns;
    return columns != SPMV__NO_ARRAY && p->a[columns].width == 2;
}

/* 1: offsets of 64 bits. */
static int spmv__dev_wide_offsets(const spmv_part *p)
{
    int offsets = spmv__dev_format_of(p->spec.format)->offsets;
    return offsets != SPMV__NO_ARRAY && p->a[offsets].width == 8;
}

/* Writes the build options of a part's kernel: types, what follows from its arrays, keys and integers, then the knobs.
 * SPMV_ERR_OVERFLOW if they are too long. */
static spmv_status spmv__dev_describe_part(spmv__dev_options *o, const spmv_device *d, const spmv_part *p, const spmv_variant *v)
{
    spmv_format f = p->spec.format;
    const char *const *ints = spmv__dev_kernels[f].ints;
    int i, k;
    o->used = 0;
    spmv__dev_option_types(o, p->type);
    if (d->info.nvidia) spmv__dev_option_number(o, "NVIDIA", d->info.nvidia);
    if (d->info.type == SPMV_DEVICE_CPU) spmv__dev_option(o, "CPU", "1");
    spmv__dev_format_of(f)->options(o, p);
    spmv__dev_option(o, "OFF", spmv__dev_wide_offsets(p) ? "ulong" : "uint");
    spmv__dev_option_number(o, "LIST", p->list.count != 0);
    if (spmv__dev_narrow(p)) spmv__dev_option(o, "IDX16", "1");
    if (p->reproducible) spmv__dev_option(o, "REPEAT", "1");
    for (i = 0; ints[i]; i++)
        if (spmv__dev_int_is_macro(f, i)) spmv__dev_option_number(o, ints[i], spmv__dev_format_of(f)->macro(p, i));
    for (k = 0; k < SPMV_KNOB_COUNT; k++)
        if (spmv__dev_knob_set(v, (spmv_knob)k)) spmv__dev_option_number(o, spmv_knob_name((spmv_knob)k), (uint64_t)v->value[k]);
    if (o->used >= sizeof o->text)
        return spmv_log(&d->hooks, SPMV_ERR_OVERFLOW, "build options longer than %llu bytes", (spmv__ull)sizeof o->text);
    return SPMV_OK;
}

/* Local memory that a part's kernel declares. */
static uint64_t spmv__dev_local(const spmv_part *p, const spmv_variant *v) { return spmv__dev_format_of(p->spec.format)->local(p, v); }

/* 1: the knob makes a difference to the part on the device, the other knobs being as in v. */
static int spmv__dev_knob_matters(const spmv_device *d, const spmv_part *p, const spmv_variant *v, spmv_knob k)
{
    if (!spmv__dev_knob_taken(p->spec.format, k)) return 0;
    if (k == SPMV_KNOB_REGS && !spmv__dev_takes_registers(d)) return 0;
    if ((k == SPMV_KNOB_NT || k == SPMV_KNOB_SHUF) && d->info.nvidia < SPMV__NVIDIA_VOLTA) return 0;
    return spmv__dev_format_of(p->spec.format)->matters(p, v, k);
}

/* 1: slot numbers need 64 bits; lanes count up to 2^24 beyond the last slot. */
static int spmv__dev_wide(const spmv_part *p) { return p->a[SPMV_VAL].count > 0xffffffffu - (1u << 24); }

/* Elements of x in a texel of the image that a part's kernel reads; 0: it reads no image. 4 only if x begins at a multiple of 4. */
static int spmv__dev_texel(spmv_format f, spmv_type t, const uint64_t *n, const spmv_variant *v)
{
    if (!v->value[SPMV_KNOB_IMG]) return 0;
    return spmv__dev_has_blocks(f) && n[SPMV_BLOCK_BW] % 4 == 0 && t == SPMV_F32 && !v->value[SPMV_KNOB_ZERO] ? 4 : 1;
}

/* Checks that the device can read the image of x that the variant needs. */
static spmv_status spmv__dev_check_image(const spmv_device *d, const spmv_part *p, const spmv_variant *v)
{
    int texel = spmv__dev_texel(p->spec.format, p->type, p->n, v);
    if (!texel) return SPMV_OK;
    if (!d->info.image_texels) return spmv_log(&d->hooks, SPMV_ERR_UNSUPPORTED, "IMG=1: %s has no images", d->info.name);
    if (p->cols > d->info.image_texels)
        return spmv_log(&d->hooks, SPMV_ERR_LIMIT, "IMG=1: %llu columns exceed the device's limit of %llu texels in an image",
                        (spmv__ull)p->cols, (spmv__ull)d->info.image_texels);
    return d->info.backend->image_check(d, p->type, texel);
}

/* Gives defaults to the knobs that are not set in wish, then removes all knobs that make no difference. */
static void spmv__dev_fill_in(const spmv_device *d, const spmv_part *p, const spmv_variant *wish, spmv_variant *v)
{
    const spmv__dev_format *t = spmv__dev_format_of(p->spec.format);
    int k;
    for (k = 0; k < SPMV_KNOB_COUNT; k++)
        if (!spmv__dev_knob_set(wish, (spmv_knob)k) && spmv__dev_knob_taken(p->spec.format, (spmv_knob)k))
            spmv__dev_knob_choose(v, (spmv_knob)k, spmv__dev_knob_default((spmv_knob)k, d->info.type));
    t->defaults(d, p, wish, v);
    if (spmv__dev_knob_taken(p->spec.format, SPMV_KNOB_L) && !v->value[SPMV_KNOB_L]) v->value[SPMV_KNOB_L] = spmv__dev_lanes(d, p, v);
    if (spmv__dev_wide(p)) v->value[SPMV_KNOB_I64] = 1;
    if (!p->cols) v->value[SPMV_KNOB_IMG] = 0; /* there is no x */
    for (k = SPMV_KNOB_COUNT - 1; k >= 0; k--)
        if (!spmv__dev_knob_matters(d, p, v, (spmv_knob)k)) {
            v->set &= ~((uint64_t)1 << k);
            v->value[k] = k == SPMV_KNOB_L;
        }
}

/* Reproducible products add in the order of SPMV_REPEATS, so the knobs that would change it have only one legal value. */
static spmv_status spmv__dev_fix_order(const spmv_device *d, const spmv_part *p, spmv_variant *v)
{
    static const spmv_knob knobs[] = { SPMV_KNOB_L, SPMV_KNOB_STAGE, SPMV_KNOB_SLICE, SPMV_KNOB_GEN };
    int i, lanes = spmv__dev_format_of(p->spec.format)->repeat_lanes;
    for (i = 0; p->reproducible && i < (int)(sizeof knobs / sizeof *knobs); i++) {
        spmv_knob k = knobs[i];
        int value = k == SPMV_KNOB_L ? lanes : 0;
        if (!spmv__dev_knob_taken(p->spec.format, k)) continue;
        if (spmv__dev_knob_set(v, k) && v->value[k] != value)
            return spmv_log(&d->hooks, SPMV_ERR_UNSUPPORTED, "%s: reproducible products need %s=%d", spmv_format_name(p->spec.format),
                            spmv_knob_name(k), value);
        spmv__dev_knob_choose(v, k, value);
    }
    return SPMV_OK;
}

/* Lowers a default of WG until the device can run it, and makes L and WG fit each other by changing the one that is not set in wish. */
static void spmv__dev_fit_group(const spmv_device *d, const spmv_part *p, const spmv_variant *wish, spmv_variant *v)
{
    enum { LANES_GROUP = 32 /* a legal WG of every kernel with L */ };
    int fixed = spmv__dev_knob_set(wish, SPMV_KNOB_WG), fixed_l = spmv__dev_knob_set(wish, SPMV_KNOB_L);
    int *wg = &v->value[SPMV_KNOB_WG], *l = &v->value[SPMV_KNOB_L];
    while (!fixed && *wg > 1 && ((uint64_t)*wg > d->info.group_size || spmv__dev_local(p, v) > d->info.local_bytes)) *wg /= 2;
    if (!fixed && fixed_l && *l > *wg) *wg = *l < LANES_GROUP && LANES_GROUP <= d->info.group_size ? LANES_GROUP : *l;
    if (!fixed_l && *l > *wg) *l = *wg;
}

/* SPMV_ERR_ARGUMENT or SPMV_ERR_LIMIT if L, WG or the local memory of a complete variant is not possible. */
static spmv_status spmv__dev_check_group(const spmv_device *d, const spmv_part *p, const spmv_variant *v)
{
    const char *name = spmv_format_name(p->spec.format);
    int wg = v->value[SPMV_KNOB_WG], l = v->value[SPMV_KNOB_L];
    uint64_t local = spmv__dev_local(p, v);
    if (l > wg) return spmv_log(&d->hooks, SPMV_ERR_ARGUMENT, "%s: L=%d exceeds the work-group size %d", name, l, wg);
    if ((uint64_t)wg > d->info.group_size)
        return spmv_log(&d->hooks, SPMV_ERR_LIMIT, "%s: work-group size %d exceeds the device's limit of %llu", name, wg,
                        (spmv__ull)d->info.group_size);
    if (local > d->info.local_bytes)
        return spmv_log(&d->hooks, SPMV_ERR_LIMIT, "%s: %llu bytes of local memory exceed the device's limit of %llu", name,
                        (spmv__ull)local, (spmv__ull)d->info.local_bytes);
    return spmv__dev_format_of(p->spec.format)->allowed(d, p, v);
}

SPMV_API spmv_status spmv_variant_resolve(spmv_variant *v, const spmv_device *d, const spmv_part *p)
{
    if (!v || !d || !p) return spmv__null(d ? &d->hooks : NULL, "spmv_variant_resolve", !v ? "v" : !d ? "d" : "p", NULL, 0);
    spmv_variant wish;
    spmv_status s = spmv__dev_variant_check(v, p->spec.format, &d->hooks);
    if (!s) s = spmv__dev_fix_order(d, p, v);
    if (s) return s;
    wish = *v;
    spmv__dev_fill_in(d, p, &wish, v);
    s = spmv__dev_format_of(p->spec.format)->fit(d, p, &wish, v);
    if (!s) s = spmv__dev_check_image(d, p, v);
    if (s) return s;
    spmv__dev_fit_group(d, p, &wish, v);
    return spmv__dev_check_group(d, p, v);
}

/* *group: the largest work-group that the compiled kernel can run with. SPMV_ERR_LIMIT if it needs more local memory than the device
 * has. */
static spmv_status spmv__dev_inspect(const spmv_device *d, void *program, uint64_t *group)
{
    const spmv_backend *b = d->info.backend;
    uint64_t local = 0;
    void *kernel = NULL;
    spmv_status s = b->kernel(d, program, "spmv", &kernel);
    if (s) return s;
    s = b->kernel_limits(d, kernel, group, &local);
    if (!s && local > d->info.local_bytes)
        s = spmv_log(&d->hooks, SPMV_ERR_LIMIT, "the compiled kernel's %llu bytes of local memory exceed the device's limit of %llu",
                     (spmv__ull)local, (spmv__ull)d->info.local_bytes);
    b->kernel_free(d, kernel);
    return s;
}

/* Resolves the variant and builds its program. A default of WG is halved while the compiled kernel cannot run with it. */
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
            return spmv_log(&d->hooks, SPMV_ERR_LIMIT, "%s: work-group size %d exceeds the compiled kernel's limit of %llu",
                            spmv_format_name(p->spec.format), v.value[SPMV_KNOB_WG], (spmv__ull)group);
        v.value[SPMV_KNOB_WG] /= 2;
        s = spmv__dev_format_of(p->spec.format)->allowed(d, p, &v);
        if (s) return s;
    }
    out->variant = v;
    return s;
}

/* ---- upload ------------------------------------------------------------------------------------------------------ */

static int spmv__scratch_empty(const spmv_device *d);

/* Creates a buffer with a copy of the bytes at from (NULL: uninitialised). 0 bytes give a buffer of 16, as none can be empty. Where that
 * fails, it is tried again without what the device keeps for the next matrix. */
static spmv_status spmv__dev_new_filled(const spmv_device *d, uint64_t bytes, int read_only, const void *from, void **out)
{
    spmv_status s;
    if (bytes > d->info.alloc_bytes || bytes > (uint64_t)(size_t)-1)
        return spmv_log(&d->hooks, SPMV_ERR_LIMIT, "a buffer of %llu bytes exceeds the device's limit of %llu", (spmv__ull)bytes,
                        (spmv__ull)d->info.alloc_bytes);
    if (!bytes) bytes = 16;
    s = d->info.backend->buffer(d, bytes, read_only, from, out);
    if (s != SPMV_ERR_MEMORY || !spmv__scratch_empty(d)) return s;
    spmv_log(&d->hooks, SPMV_OK, "what was kept for the next matrix is freed, so that there may be memory");
    return d->info.backend->buffer(d, bytes, read_only, from, out);
}

static spmv_status spmv__dev_new_buffer(const spmv_device *d, uint64_t bytes, int read_only, void **out)
{
    return spmv__dev_new_filled(d, bytes, read_only, NULL, out);
}

static void spmv__dev_buffer_free(const spmv_device *d, void *buffer)
{
    if (buffer && spmv__dev_is_here(d)) d->info.backend->buffer_free(d, buffer);
}

static void spmv__dev_kernel_free(const spmv_device *d, void *kernel)
{
    if (kernel && spmv__dev_is_here(d)) d->info.backend->kernel_free(d, kernel);
}

/* Takes the smallest kept buffer of at least so many bytes and at most others that no product may still use; NULL: there is none. */
static void *spmv__scratch_find(const spmv_device *d, uint64_t bytes, uint64_t most)
{
    spmv__scratch *t = &d->common->scratch;
    int i, best = -1;
    spmv__lock(&d->common->lock);
    for (i = 0; i < SPMV__SCRATCH_BUFFERS; i++) {
        if (!t->buffer[i].at || t->buffer[i].used || t->buffer[i].running) continue;
        if (t->buffer[i].bytes < bytes || t->buffer[i].bytes > most) continue;
        if (best < 0 || t->buffer[i].bytes < t->buffer[best].bytes) best = i;
    }
    if (best >= 0) t->buffer[best].used = 1;
    spmv__unlock(&d->common->lock);
    return best < 0 ? NULL : t->buffer[best].at;
}

/* The place of the buffer that was given back longest ago, of those that are kept and not in use; -1: there is none. */
static int spmv__scratch_oldest(const spmv__scratch *t)
{
    int i, oldest = -1;
    for (i = 0; i < SPMV__SCRATCH_BUFFERS; i++) {
        if (!t->buffer[i].at || t->buffer[i].used) continue;
        if (oldest < 0 || t->buffer[i].given < t->buffer[oldest].given) oldest = i;
    }
    return oldest;
}

/* Frees the buffers that are kept. Returns how many there were. */
static int spmv__scratch_empty(const spmv_device *d)
{
    spmv__scratch *t = &d->common->scratch;
    int oldest = 0, freed = 0;
    while (oldest >= 0) {
        void *at = NULL;
        spmv__lock(&d->common->lock);
        oldest = spmv__scratch_oldest(t);
        if (oldest >= 0) {
            at = t->buffer[oldest].at;
            t->buffer[oldest].at = NULL;
            freed++;
        }
        spmv__unlock(&d->common->lock);
        spmv__dev_buffer_free(d, at);
    }
    return freed;
}

/* Notes a buffer that is in use, in a free place or that of the oldest one that is kept, which is returned; NULL: there is none to free. If
 * all are in use, the new one will not be kept. */
static void *spmv__scratch_note(const spmv_device *d, void *buffer, uint64_t bytes)
{
    spmv__scratch *t = &d->common->scratch;
    void *old = NULL;
    int i;
    spmv__lock(&d->common->lock);
    for (i = 0; i < SPMV__SCRATCH_BUFFERS && t->buffer[i].at;) i++;
    if (i == SPMV__SCRATCH_BUFFERS) i = spmv__scratch_oldest(t);
    if (i >= 0) {
        old = t->buffer[i].at;
        t->buffer[i].at = buffer;
        t->buffer[i].bytes = bytes;
        t->buffer[i].used = 1;
        t->buffer[i].running = 0;
    }
    spmv__unlock(&d->common->lock);
    return old;
}

/* Waits, if there are buffers that products in the device's queue may still use, so that they serve the next matrix. */
SPMV__SHARED spmv_status spmv__scratch_settle(const spmv_device *d)
{
    spmv__scratch *t = &d->common->scratch;
    uint64_t last;
    int i, any = 0;
    spmv_status s;
    spmv__lock(&d->common->lock);
    last = t->given;
    for (i = 0; i < SPMV__SCRATCH_BUFFERS; i++) any |= t->buffer[i].at && t->buffer[i].running;
    spmv__unlock(&d->common->lock);
    if (!any) return SPMV_OK;
    s = d->info.backend->finish(d, d->queue);
    if (s) return s;
    spmv__lock(&d->common->lock);
    for (i = 0; i < SPMV__SCRATCH_BUFFERS; i++)
        if (t->buffer[i].given <= last) t->buffer[i].running = 0;
    spmv__unlock(&d->common->lock);
    return s;
}

/* Makes a buffer of at least so many bytes and, if it is one that was kept, at most others. */
static spmv_status spmv__scratch_take_most(spmv_device *d, uint64_t bytes, uint64_t most, void **out)
{
    spmv_status s;
    *out = spmv__scratch_find(d, bytes, most);
    if (*out) return SPMV_OK;
    s = spmv__dev_new_buffer(d, bytes, 0, out);
    if (!s) spmv__dev_buffer_free(d, spmv__scratch_note(d, *out, bytes));
    return s;
}

/* Makes a buffer of at least so many bytes, with any contents, to be given back by spmv__scratch_give. */
SPMV__SHARED spmv_status spmv__scratch_take(spmv_device *d, uint64_t bytes, void **out)
{
    const uint64_t least = SPMV__SCRATCH_LEAST;
    return spmv__scratch_take_most(d, bytes, spmv__sat_mul(bytes > least ? bytes : least, SPMV__SCRATCH_TIMES), out);
}

/* The same for a buffer that a part may keep, which is not to be much larger than it must be. */
SPMV__SHARED spmv_status spmv__scratch_take_close(spmv_device *d, uint64_t bytes, void **out)
{
    return spmv__scratch_take_most(d, bytes, bytes + bytes / SPMV__SCRATCH_CLOSE + SPMV__SCRATCH_LEAST, out);
}

/* Keeps a buffer that was noted. Too many bytes are freed then, those first that were given back first; a buffer that is more than may be
 * kept is freed itself. */
static void spmv__scratch_keep(const spmv_device *d, void *buffer, int running)
{
    const uint64_t part = d->info.global_bytes / SPMV__SCRATCH_PART, most = part > SPMV__SCRATCH_BYTES ? part : SPMV__SCRATCH_BYTES;
    spmv__scratch *t = &d->common->scratch;
    void *gone[SPMV__SCRATCH_BUFFERS + 1];
    uint64_t kept = 0;
    int i, place = -1, n = 0;
    if (!spmv__dev_is_here(d)) return; /* nor may the lock ever be free */
    spmv__lock(&d->common->lock);
    for (i = 0; i < SPMV__SCRATCH_BUFFERS; i++) {
        if (t->buffer[i].at && !t->buffer[i].used) kept += t->buffer[i].bytes;
        if (t->buffer[i].at == buffer) place = i;
    }
    if (place < 0) gone[n++] = buffer; /* there was no place for it */
    else if (t->buffer[place].bytes > most) {
        gone[n++] = buffer;
        t->buffer[place].at = NULL;
    }
    else {
        t->buffer[place].used = 0;
        t->buffer[place].running = running;
        t->buffer[place].given = ++t->given;
        for (kept += t->buffer[place].bytes; kept > most; kept -= t->buffer[i].bytes) {
            i = spmv__scratch_oldest(t);
            gone[n++] = t->buffer[i].at;
            t->buffer[i].at = NULL;
        }
    }
    spmv__unlock(&d->common->lock);
    while (n--) spmv__dev_buffer_free(d, gone[n]);
}

/* Gives back a buffer of spmv__scratch_take, or NULL. */
SPMV__SHARED void spmv__scratch_give(const spmv_device *d, void *buffer)
{
    if (buffer) spmv__scratch_keep(d, buffer, 0);
}

/* Leaves a buffer of spmv__scratch_take to a matrix that needs it for as long as it lives: it is not kept when it is given back. */
SPMV__SHARED void spmv__scratch_leave(const spmv_device *d, void *buffer)
{
    spmv__scratch *t = &d->common->scratch;
    int i;
    if (!buffer) return;
    spmv__lock(&d->common->lock);
    for (i = 0; i < SPMV__SCRATCH_BUFFERS; i++) {
        if (t->buffer[i].at != buffer) continue;
        t->buffer[i].at = NULL;
        t->buffer[i].used = 0;
    }
    spmv__unlock(&d->common->lock);
}

/* 1: the device has memory of its own. */
static int spmv__dev_has_memory(const spmv_device *d) { return d->info.type != SPMV_DEVICE_CPU && !d->info.unified; }

/* 1: what a matrix leaves is kept: where allocations are known to take long, in the memory of GPUs by CUDA, whose buffers are addresses. */
static int spmv__dev_keeps(const spmv_device *d) { return spmv__dev_has_memory(d) && d->info.backend->within; }

/* Makes a buffer for what a matrix or an exec owns until it gives that to spmv__dev_left, with any contents. read_only: of a new one. */
SPMV__SHARED spmv_status spmv__dev_own(spmv_device *d, uint64_t bytes, int read_only, void **out)
{
    spmv_status s;
    if (!spmv__dev_keeps(d)) return spmv__dev_new_buffer(d, bytes, read_only, out);
    s = spmv__scratch_take_close(d, bytes, out);
    if (!s) spmv__scratch_leave(d, *out);
    return s;
}

/* Takes a buffer, or NULL, that a matrix or an exec leaves when it is destroyed. ordered: 1: nothing but the device's queue has used it, so
 * that it may serve the next matrix. */
static void spmv__dev_left(const spmv_device *d, void *buffer, int ordered)
{
    uint64_t bytes;
    if (!buffer) return;
    if (!ordered || !spmv__dev_is_here(d) || !spmv__dev_keeps(d) || d->info.backend->buffer_bytes(d, buffer, &bytes)) {
        spmv__dev_buffer_free(d, buffer);
        return;
    }
    spmv__dev_buffer_free(d, spmv__scratch_note(d, buffer, bytes));
    spmv__scratch_keep(d, buffer, 1);
}

static void spmv__scratch_free(spmv_device *d)
{
    int i;
    for (i = 0; i < SPMV__SCRATCH_BUFFERS; i++) spmv__dev_buffer_free(d, d->common->scratch.buffer[i].at);
    spmv__dev_buffer_free(d, d->common->none);
}

/* Sets *out to the buffer that stands for arrays without elements. */
static spmv_status spmv__dev_none(spmv_device *d, void **out)
{
    spmv__common *c = d->common;
    void *made = NULL;
    spmv_status s = SPMV_OK;
    spmv__lock(&c->lock);
    *out = c->none;
    spmv__unlock(&c->lock);
    if (!*out) s = spmv__dev_new_buffer(d, 0, 0, &made);
    if (s || *out) return s;
    spmv__lock(&c->lock);
    *out = c->none ? c->none : made; /* another thread may have made one */
    c->none = *out;
    spmv__unlock(&c->lock);
    if (*out != made) spmv__dev_buffer_free(d, made);
    return s;
}

static void spmv__stage_free(spmv_device *d)
{
    const spmv_transfer *t = d->info.backend ? d->info.backend->transfer : NULL;
    spmv__stage *stage = &d->common->stage;
    int i;
    if (!spmv__dev_is_here(d)) return;
    if (stage->busy) d->info.backend->finish(d, d->queue);
    for (i = 0; i < SPMV__STAGE_MOST; i++) {
        if (stage->point[i]) t->point_free(d, stage->point[i]);
        if (stage->at[i]) t->unpin(d, stage->at[i], stage->handle[i]);
    }
    memset(stage, 0, sizeof *stage);
}

/* Makes a chunk, unless it is there. Without a message, since a driver copies without it as well. After the first failure there is no
 * pinned memory any more. */
static spmv_status spmv__stage_make(spmv_device *d, unsigned chunk)
{
    const spmv_transfer *t = d->info.backend->transfer;
    spmv__stage *stage = &d->common->stage;
    spmv_device quiet = spmv__dev_quiet(d);
    spmv_status s = SPMV_OK;
    if (!stage->at[chunk]) s = t->pin(&quiet, SPMV__STAGE_CHUNK, &stage->at[chunk], &stage->handle[chunk]);
    if (!s && !stage->point[chunk]) s = t->point(&quiet, &stage->point[chunk]);
    if (!s) return s;
    spmv__stage_free(d);
    stage->none = 1;
    return s;
}

/* 1 if copies of so many bytes to the device or from it may go through pinned memory. */
static int spmv__stage_may(const spmv_device *d, uint64_t bytes)
{
    const int own = spmv__dev_has_memory(d) || SPMV__STAGE_ANYWHERE;
    const spmv__stage *stage = &d->common->stage;
    return own && !stage->none && d->info.backend->transfer && (stage->at[0] || stage->copied + bytes >= SPMV__STAGE_PAYS);
}

/* Makes chunks, as many as so many bytes need, if they may go through them. Returns whether they may. */
static int spmv__stage_ready(spmv_device *d, uint64_t bytes)
{
    unsigned i;
    for (i = 0; i < SPMV__STAGE_CHUNKS && (uint64_t)i * SPMV__STAGE_CHUNK < bytes && spmv__stage_may(d, bytes); i++) spmv__stage_make(d, i);
    return spmv__stage_may(d, bytes);
}

/* Finds a place for up to want bytes: *at, and how many bytes are free there; 0 if there is no pinned memory. *s: the status of waiting
 * until the place may be written to.
 *   pin  0: if there is none yet, none is made */
static uint64_t spmv__stage_place(spmv_device *d, uint64_t want, int pin, unsigned char **at, spmv_status *s)
{
    enum { ALIGNED = 64 /* bytes: copies of memory and of the bus are in such lines */ };
    spmv__stage *stage = &d->common->stage;
    if (!spmv__stage_may(d, want) || (!stage->at[0] && want < SPMV__STAGE_LEAST)) return 0;
    if (stage->used == SPMV__STAGE_CHUNK) {
        stage->now = (stage->now + 1) % SPMV__STAGE_CHUNKS;
        stage->used = 0;
    }
    if (!pin && !stage->point[stage->now]) return 0;
    if (spmv__stage_make(d, stage->now)) return 0;
    if (!stage->used) *s = d->info.backend->transfer->wait(d, stage->point[stage->now]);
    *at = (unsigned char *)stage->at[stage->now] + stage->used;
    want = spmv__smaller(want, SPMV__STAGE_CHUNK - stage->used);
    stage->used = spmv__smaller(spmv__round_up(stage->used + want, ALIGNED), SPMV__STAGE_CHUNK);
    return want;
}

/* Flags that one thread sets and another one reads. */
#ifdef __GNUC__
static int spmv__is_set(const long *flag) { return __atomic_load_n(flag, __ATOMIC_ACQUIRE) != 0; }
static void spmv__set_flag(long *flag) { __atomic_store_n(flag, 1L, __ATOMIC_RELEASE); }
#else
static int spmv__is_set(const long *flag) { return *(const volatile long *)flag != 0; }
static void spmv__set_flag(long *flag) { *(volatile long *)flag = 1; }
#endif

/* A copy in host memory, in shares. */
typedef struct spmv__stage_copy {
    unsigned char       *to;
    const unsigned char *from;
    uint64_t             bytes, shares;
} spmv__stage_copy;

static void spmv__stage_copy_share(void *job, uint64_t share)
{
    const spmv__stage_copy *c = (const spmv__stage_copy *)job;
    const uint64_t begin = c->bytes * share / c->shares, end = c->bytes * (share + 1) / c->shares;
    memcpy(c->to + begin, c->from + begin, (size_t)(end - begin));
}

/* Copies up to want bytes through a chunk to a buffer, from its byte at on. *count: how many; 0 if there is no pinned memory.
 *   alone  1: the calling thread copies alone and pins nothing */
static spmv_status spmv__stage_put(spmv_device *d, void *buffer, uint64_t at, uint64_t want, const unsigned char *from, int alone,
                                   uint64_t *count)
{
    const spmv_transfer *t = d->info.backend->transfer;
    spmv__stage *stage = &d->common->stage;
    spmv__stage_copy c;
    spmv_status s = SPMV_OK;
    c.from = from;
    *count = c.bytes = spmv__stage_place(d, want, !alone, &c.to, &s);
    if (s || !c.bytes) return s;
    c.shares = alone ? 1 : spmv__ceil_div(c.bytes, SPMV__STAGE_SHARE);
    spmv__share_out(spmv__stage_copy_share, &c, c.shares);
    stage->busy = 1;
    s = t->put(d, d->queue, buffer, at, c.bytes, c.to);
    return s ? s : t->set(d, d->queue, stage->point[stage->now]);
}

/* Copies the bytes from *at to the end to a buffer; those before are there or on their way. *at becomes how many are. The bytes at from may
 * change as soon as the call returns, but work in other queues than the device's may not start before spmv__dev_settle. After a failure, no
 * earlier copy reads the pinned memory any more: the next matrix overwrites it, and kernels of this one that are still in the queue would
 * use what it wrote there as indices.
 *   stop  NULL, or what another thread sets to end the copy early: then the calling thread copies alone, in small steps */
static spmv_status spmv__dev_copy_rest(spmv_device *d, void *buffer, uint64_t *at, uint64_t bytes, const void *from, const long *stop)
{
    const spmv_backend *b = d->info.backend;
    uint64_t count;
    spmv_status s = SPMV_OK;
    for (; *at < bytes && !(stop && spmv__is_set(stop)); *at += count) {
        const uint64_t left = bytes - *at, want = stop ? spmv__smaller(left, SPMV__STAGE_SHARE) : left;
        spmv__lock(&d->common->copying);
        s = spmv__stage_put(d, buffer, *at, want, (const unsigned char *)from + *at, stop != NULL, &count);
        if (!s && !count) d->common->stage.copied += left;
        if (s) b->finish(d, d->queue);
        spmv__unlock(&d->common->copying);
        if (s) break;
        if (count) continue;
        s = b->write(d, d->queue, buffer, bytes, from);
        count = left;
        if (s) b->finish(d, d->queue);
        if (s) break;
    }
    return s;
}

/* Copies to the beginning of a buffer, as spmv__dev_copy_rest does. */
static spmv_status spmv__dev_copy(spmv_device *d, void *buffer, uint64_t bytes, const void *from)
{
    uint64_t at = 0;
    return spmv__dev_copy_rest(d, buffer, &at, bytes, from, NULL);
}

/* Waits until no copy uses chunks. */
static spmv_status spmv__stage_settle(spmv_device *d)
{
    if (!d->common->stage.busy) return SPMV_OK;
    d->common->stage.busy = 0;
    return d->info.backend->finish(d, d->queue);
}

/* Waits for the copies of spmv__dev_copy, or until another thread has waited for them. */
static spmv_status spmv__dev_settle(spmv_device *d)
{
    spmv_status s;
    spmv__lock(&d->common->copying);
    s = spmv__stage_settle(d);
    spmv__unlock(&d->common->copying);
    return s;
}

/* Asks for the bytes of a buffer from asked on, as far as there are chunks for them behind the first done bytes, and returns how many were
 * asked for in all. */
static uint64_t spmv__stage_ask(spmv_device *d, void *buffer, uint64_t done, uint64_t asked, uint64_t bytes, spmv_status *s)
{
    const spmv_transfer *t = d->info.backend->transfer;
    const spmv__stage *stage = &d->common->stage;
    while (!*s && asked < bytes && asked < done + (uint64_t)SPMV__STAGE_CHUNKS * SPMV__STAGE_CHUNK) {
        const uint64_t chunk = asked / SPMV__STAGE_CHUNK % SPMV__STAGE_CHUNKS, count = spmv__smaller(SPMV__STAGE_CHUNK, bytes - asked);
        *s = t->get(d, d->queue, buffer, asked, count, stage->at[chunk]);
        if (!*s) *s = t->set(d, d->queue, stage->point[chunk]);
        asked += count;
    }
    return asked;
}

/* Copies from the beginning of a buffer through pinned memory, which is there: while a chunk is emptied in threads, the next is on its
 * way. */
static spmv_status spmv__stage_get(spmv_device *d, void *buffer, uint64_t bytes, unsigned char *to)
{
    const spmv_backend *b = d->info.backend;
    spmv__stage *stage = &d->common->stage;
    uint64_t asked = 0, done = 0;
    spmv__stage_copy c;
    spmv_status s = spmv__stage_settle(d);
    stage->used = stage->now = 0;
    while (!s && done < bytes) {
        const uint64_t chunk = done / SPMV__STAGE_CHUNK % SPMV__STAGE_CHUNKS;
        asked = spmv__stage_ask(d, buffer, done, asked, bytes, &s);
        if (!s) s = b->transfer->wait(d, stage->point[chunk]);
        if (s) break;
        c.from = (const unsigned char *)stage->at[chunk];
        c.to = to + done;
        c.bytes = spmv__smaller(SPMV__STAGE_CHUNK, bytes - done);
        c.shares = spmv__ceil_div(c.bytes, SPMV__STAGE_SHARE);
        spmv__share_out(spmv__stage_copy_share, &c, c.shares);
        done += c.bytes;
    }
    if (s) b->finish(d, d->queue);
    return s;
}

/* Copies from the beginning of a buffer, through pinned memory where that pays: pinning the first chunk takes longer than a driver takes to
 * copy as many bytes. Returns when all is there. */
SPMV__SHARED spmv_status spmv__dev_download(spmv_device *d, void *buffer, uint64_t bytes, void *to)
{
    spmv__stage *stage = &d->common->stage;
    spmv_status s = SPMV_OK;
    int staged;
    spmv__lock(&d->common->copying);
    staged = bytes >= (stage->at[0] ? SPMV__STAGE_LEAST : SPMV__STAGE_CHUNK) && spmv__stage_ready(d, bytes);
    if (staged) s = spmv__stage_get(d, buffer, bytes, (unsigned char *)to);
    else stage->copied += bytes;
    spmv__unlock(&d->common->copying);
    return staged ? s : d->info.backend->read(d, d->queue, buffer, bytes, to, NULL);
}

/* Copies count elements from the beginning of a buffer to a new block; *out is NULL if there are none, and on failure. */
SPMV__SHARED spmv_status spmv__dev_fetch(spmv_device *d, const spmv_hooks *h, void *buffer, uint64_t count, uint64_t width, void **out)
{
    spmv_status s = SPMV_OK;
    *out = NULL;
    if (!count) return s;
    s = spmv__room(h, out, count, width);
    if (!s) s = spmv__dev_download(d, buffer, count * width, *out);
    if (s) spmv_free(h, *out);
    if (s) *out = NULL;
    return s;
}

static spmv_status spmv__dev_upload(spmv_device *d, const spmv_array *a, void **out)
{
    spmv_status s;
    if (!a->count) return SPMV_OK;
    s = spmv__dev_own(d, a->count * a->width, 1, out);
    if (!s) s = spmv__dev_copy(d, *out, a->count * a->width, a->data);
    return s;
}

/* ---- vectors in device memory ------------------------------------------------------------------------------------ */

/* Reports which argument of function is NULL: d, buffer, or else other. */
static spmv_status spmv__buffer_null(const spmv_device *d, const char *function, const void *buffer, const char *other)
{
    return spmv__null(d ? &d->hooks : NULL, function, !d ? "d" : !buffer ? "buffer" : other, NULL, 0);
}

/* Checks that elements of width bytes may lie in a buffer of the caller's: a GPU ends the context where an address is misaligned. */
static spmv_status spmv__dev_aligned(const spmv_device *d, const spmv_hooks *h, const char *what, void *buffer, uint64_t width)
{
    if (!d->info.backend->within || (uintptr_t)buffer % width == 0) return SPMV_OK;
    return spmv_log(h, SPMV_ERR_ARGUMENT, "%s: its address is not a multiple of %llu", what, (spmv__ull)width);
}

/* Checks that a buffer of the caller's holds count elements of width bytes; where and what name the argument in the message. */
static spmv_status spmv__dev_holds(const spmv_device *d, const spmv_hooks *h, const char *where, const char *what, void *buffer,
                                   uint64_t count, uint64_t width)
{
    const uint64_t need = spmv__sat_mul(count, width);
    uint64_t bytes = 0;
    spmv_status s;
    if (!count) return SPMV_OK;
    if (!buffer) return spmv_log(h, SPMV_ERR_ARGUMENT, "%s: %s is NULL", where, what);
    s = spmv__dev_aligned(d, h, what, buffer, width);
    if (!s) s = d->info.backend->buffer_bytes(d, buffer, &bytes);
    if (s || bytes >= need) return s;
    return spmv_log(h, SPMV_ERR_ARGUMENT, "%s: %s needs %llu bytes, but has %llu", where, what, (spmv__ull)need, (spmv__ull)bytes);
}

SPMV_API spmv_status spmv_buffer_create(const spmv_device *d, uint64_t bytes, void **out)
{
    spmv_status s;
    if (!d || !out) return spmv__null(d ? &d->hooks : NULL, "spmv_buffer_create", !out ? "out" : "d", out, sizeof *out);
    if (!spmv__dev_is_here(d)) return spmv__dev_not_here(d, "spmv_buffer_create", out, sizeof *out);
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
    if (!spmv__dev_is_here(d)) return spmv__dev_not_here(d, "spmv_buffer_write", NULL, 0);
    spmv_status s = spmv__dev_holds(d, &d->hooks, "spmv_buffer_write", "buffer", buffer, bytes, 1);
    return s || !bytes ? s : d->info.backend->write(d, d->queue, buffer, bytes, from);
}

SPMV_API spmv_status spmv_buffer_read(const spmv_device *d, void *buffer, uint64_t bytes, void *to)
{
    if (!d || !buffer || (bytes && !to)) return spmv__buffer_null(d, "spmv_buffer_read", buffer, "to");
    if (!spmv__dev_is_here(d)) return spmv__dev_not_here(d, "spmv_buffer_read", NULL, 0);
    spmv_status s = spmv__dev_holds(d, &d->hooks, "spmv_buffer_read", "buffer", buffer, bytes, 1);
    return s || !bytes ? s : d->info.backend->read(d, d->queue, buffer, bytes, to, NULL);
}

SPMV_API spmv_status spmv_buffer_fill(const spmv_device *d, void *buffer, uint64_t bytes, uint32_t word)
{
    if (!d || !buffer) return spmv__buffer_null(d, "spmv_buffer_fill", buffer, "");
    if (!spmv__dev_is_here(d)) return spmv__dev_not_here(d, "spmv_buffer_fill", NULL, 0);
    if (bytes % 4) return spmv_log(&d->hooks, SPMV_ERR_ARGUMENT, "spmv_buffer_fill: %llu bytes are not a multiple of 4", (spmv__ull)bytes);
    spmv_status s = spmv__dev_holds(d, &d->hooks, "spmv_buffer_fill", "buffer", buffer, bytes, 1);
    return s || !bytes ? s : d->info.backend->fill(d, d->queue, buffer, bytes, word);
}

SPMV_API spmv_status spmv_device_finish(const spmv_device *d)
{
    if (!d) return spmv__null(NULL, "spmv_device_finish", "d", NULL, 0);
    if (!spmv__dev_is_here(d)) return spmv__dev_not_here(d, "spmv_device_finish", NULL, 0);
    return d->info.backend->finish(d, d->queue);
}

/* ---- stretches of parts whose arrays are larger than a buffer ----------------------------------------------------- */

static uint64_t spmv__dev_grains(const spmv_part *p) { return spmv__dev_format_of(p->spec.format)->grains(p); }

/* The row where grain g begins; the number of rows after the last grain. */
static uint64_t spmv__dev_grain_row(const spmv_part *p, uint64_t g)
{
    uint64_t r = spmv__dev_format_of(p->spec.format)->grain_row(p, g);
    return r < p->rows ? r : p->rows;
}

/* Describes the stretch of grains g up to end: integers and sizes go into q, and where its arrays come from into c (after the arrays:
 * the row list). */
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
    spmv__dev_format_of(p->spec.format)->cut(p, &t, q, c);
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

/* *end: the end of the longest stretch from grain g on whose arrays each fit into a buffer; i is the part's number, for the message.
 * SPMV_ERR_LIMIT if there is none. */
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
    while (low > g && !spmv__dev_format_of(p->spec.format)->grain_free(p, low)) low--;
    *end = low;
    if (low > g) return SPMV_OK;
    spmv__dev_cut_make(p, g, g + (g < spmv__dev_grains(p)), &q, c);
    return spmv_log(&d->hooks, SPMV_ERR_LIMIT,
                    "part %llu (%s): an array of %llu bytes, which cannot be cut further, exceeds the device's limit of %llu",
                    (spmv__ull)i, spmv_format_name(p->spec.format), (spmv__ull)spmv__dev_largest(&q), (spmv__ull)d->info.alloc_bytes);
}

/* What the stretch takes of one array: a pointer into the part's own memory if nothing changes, else a copy. */
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
        if (v > INT32_MAX) return spmv_log(h, SPMV_ERR_LIMIT, "a diagonal's offset %lld does not fit 32 bits", (long long)v);
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

/* Makes q the stretch of grains g up to end, with its first arrays arrays (1: the values alone). It borrows from p where it can. On
 * failure there is nothing to free. */
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

/* Compares the sizes of all arrays with the device's memory, and counts the stretches. This comes before the first allocation because
 * some OpenCL implementations abort when memory runs out. */
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
        return spmv_log(&d->hooks, SPMV_ERR_LIMIT, "a matrix of %llu bytes exceeds the device's memory of %llu", (spmv__ull)total,
                        (spmv__ull)d->info.global_bytes);
    return SPMV_OK;
}

/* 1: only the column array has 16-bit elements, and it has bases then. A kernel would misread anything else. */
static int spmv__dev_columns_fit(const spmv_part *p)
{
    const spmv__dev_format *t = spmv__dev_format_of(p->spec.format);
    int k, fit = 1;
#ifdef SPMV_FORMATS_EXTRA
    if (t->cut == spmv__extra_cut) return 1; /* a format of the user's own: its kernel reads the arrays that its description declares */
#endif
    for (k = 0; k < SPMV_MAX_ARRAYS; k++) fit &= p->a[k].width != 2 || !p->a[k].count || k == t->columns;
    if (t->columns != SPMV__NO_ARRAY && p->a[t->columns].count) fit &= (p->a[t->columns].width == 2) == (p->a[t->bases].count != 0);
    return fit;
}

/* 1: every array of the part is on the host or on the matrix's device. */
static int spmv__dev_arrays_there(const spmv_device_matrix *m, const spmv_part *p)
{
    const spmv_elsewhere *e = p->elsewhere && p->elsewhere->device == (const void *)m->device ? p->elsewhere : NULL;
    int k, there = 1;
    for (k = 0; k < SPMV_MAX_ARRAYS; k++) there &= !p->a[k].count || p->a[k].data || (e && e->a[k]);
    return there;
}

static spmv_status spmv__dev_check_part(const spmv_device_matrix *m, const spmv_part *p, size_t i)
{
    uint64_t r;
    if ((unsigned)p->spec.format >= SPMV_FORMAT_COUNT || p->type != m->type || p->cols != m->cols)
        return spmv_log(&m->hooks, SPMV_ERR_ARGUMENT, "part %llu: its type or number of columns is not the matrix's", (spmv__ull)i);
    if (!p->list.count && p->rows && p->rows != m->rows)
        return spmv_log(&m->hooks, SPMV_ERR_ARGUMENT, "part %llu: %llu rows without a row list, but the matrix has %llu", (spmv__ull)i,
                        (spmv__ull)p->rows, (spmv__ull)m->rows);
    if (p->list.count && !p->list.data)
        return spmv_log(&m->hooks, SPMV_ERR_ARGUMENT, "part %llu: its row list is NULL", (spmv__ull)i);
    for (r = 0; r < p->list.count; r++)
        if (((const uint32_t *)p->list.data)[r] >= m->rows)
            return spmv_log(&m->hooks, SPMV_ERR_INDEX, "part %llu: its row list has row %u, but the matrix has %llu rows", (spmv__ull)i,
                            (unsigned)((const uint32_t *)p->list.data)[r], (spmv__ull)m->rows);
    if (!spmv__dev_arrays_there(m, p))
        return spmv_log(&m->hooks, SPMV_ERR_ARGUMENT, "part %llu: arrays of it are on another device, or were taken over", (spmv__ull)i);
    if (!spmv__dev_columns_fit(p))
        return spmv_log(&m->hooks, SPMV_ERR_UNSUPPORTED, "part %llu: the kernel of %s cannot read its column array", (spmv__ull)i,
                        spmv_format_name(p->spec.format));
    return SPMV_OK;
}

/* Takes over all arrays of a part, if they lie in one buffer. */
static void spmv__dev_take_all(spmv_device_part *out, const spmv_part *p)
{
    spmv_elsewhere *e = p->elsewhere;
    int k;
    if (!e || !e->all) return;
    out->all = e->all;
    e->all = NULL;
    for (k = 0; k < SPMV_MAX_ARRAYS; k++) {
        out->a[k] = e->a[k];
        e->a[k] = NULL;
    }
}

/* Makes *out the buffer of array k of a part: takes it over if the device has filled it, else uploads it. */
static spmv_status spmv__dev_array(spmv_device *d, const spmv_part *p, int k, void **out)
{
    spmv_elsewhere *e = p->elsewhere;
    if (!e || !e->a[k]) return spmv__dev_upload(d, &p->a[k], out);
    *out = e->a[k];
    e->a[k] = NULL;
    return SPMV_OK;
}

/* Resolves the variant of a part or stretch, builds its program, uploads its arrays and counts its work-groups. */
static spmv_status spmv__dev_part_create(spmv_device_part *out, spmv_device *d, const spmv_part *p, const spmv_variant *wish)
{
    int k;
    spmv_status s = spmv__dev_prepare(d, p, wish, out);
    if (s) return s;
    out->format = p->spec.format;
    out->rows = p->rows;
    out->nnz = p->nnz;
    out->values = p->a[SPMV_VAL].count;
    for (k = 0; k < SPMV_MAX_INTS; k++) out->n[k] = p->n[k];
    spmv__dev_take_all(out, p);
    for (k = 0; !s && !out->all && k < spmv__dev_kernels[p->spec.format].arrays; k++) s = spmv__dev_array(d, p, k, &out->a[k]);
    if (!s) s = spmv__dev_upload(d, &p->list, &out->list);
    if (!s) s = spmv__dev_format_of(p->spec.format)->deal(out, d, p);
    return s;
}

/* Creates the stretch of p whose begin and end are set in *out. */
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

static int spmv__dev_vector_group(const spmv_device *d)
{
    int wg = spmv__dev_knob_default(SPMV_KNOB_WG, d->info.type);
    if (wg < SPMV__STAGE_GROUP) wg = SPMV__STAGE_GROUP;
    while (wg > 1 && (uint64_t)wg > d->info.group_size) wg /= 2;
    return wg;
}

/* The program of a kernel that walks over vectors alone: SPMV__KERNEL_SCALE or SPMV__KERNEL_GATHER. */
static spmv_status spmv__dev_vector_program(spmv_device *d, int kernel, spmv_type type, void **out)
{
    spmv__dev_options o;
    o.used = 0;
    spmv__dev_option_types(&o, type);
    spmv__dev_option_number(&o, "WG", (uint64_t)spmv__dev_vector_group(d));
    return spmv__dev_program_of(d, kernel, o.text, out);
}

/* Finds the program with the kernel that only scales y: that of the first part, or one by itself if there are no parts. */
static spmv_status spmv__dev_scale_program(spmv_device_matrix *m)
{
    m->scale = m->count ? m->part[0].program : NULL;
    m->scale_group = m->count ? m->part[0].variant.value[SPMV_KNOB_WG] : spmv__dev_vector_group(m->device);
    return m->scale ? SPMV_OK : spmv__dev_vector_program(m->device, (int)SPMV__KERNEL_SCALE, m->type, &m->scale);
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

/* Creates all stretches of the parts, for which out->part has room. */
static spmv_status spmv__dev_stretches_create(spmv_device_matrix *out, const spmv_part *parts, const spmv_variant *variants)
{
    spmv_device *d = out->device;
    spmv_variant plain;
    size_t i, k = 0;
    uint64_t g = 0;
    spmv_status s = SPMV_OK;
    memset(&plain, 0, sizeof plain);
    for (i = 0; !s && i < out->count; i++) {
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
    return s;
}

/* Builds the programs that all parts need at once. Failures are left to what comes later. */
static void spmv__dev_build_ahead(spmv_device *d, const spmv_part *parts, size_t count, const spmv_variant *variants)
{
    spmv__batch *b = count > 1 ? spmv__batch_new(d) : NULL;
    spmv_device quiet = spmv__dev_quiet(d);
    spmv__dev_options o;
    spmv_variant v;
    size_t i;
    for (i = 0; i < count && b; i++) {
        if (variants) v = variants[i];
        else memset(&v, 0, sizeof v);
        if (!spmv__dev_kernels[parts[i].spec.format].source || spmv_variant_resolve(&v, &quiet, &parts[i]) ||
            spmv__dev_describe_part(&o, &quiet, &parts[i], &v))
            continue;
        spmv__batch_add(d, b, (int)parts[i].spec.format, o.text);
    }
    spmv__batch_build(d, b);
}

SPMV_API spmv_status spmv_device_matrix_create(spmv_device_matrix *out, spmv_device *d, uint64_t rows, uint64_t cols, spmv_type type,
                                    const spmv_part *parts, size_t count, const spmv_variant *variants)
{
    if (!out || !d || (count && !parts))
        return spmv__null(d ? &d->hooks : NULL, "spmv_device_matrix_create", !out ? "out" : !d ? "d" : "parts", out, sizeof *out);
    if (!spmv__dev_is_here(d)) return spmv__dev_not_here(d, "spmv_device_matrix_create", out, sizeof *out);
    void *block = NULL;
    size_t i, n = 0;
    spmv_status s = spmv__dev_check_type(d, type);
    memset(out, 0, sizeof *out);
    out->device = d;
    out->type = spmv__type(type);
    out->rows = rows;
    out->cols = cols;
    out->hooks = d->hooks;
    for (i = 0; !s && i < count; i++) s = spmv__dev_check_part(out, &parts[i], i);
    if (!s) s = spmv__dev_check_bytes(d, parts, count, &n);
    if (!s) s = spmv__new(&d->hooks, &block, n, sizeof(spmv_device_part), 0);
    spmv__scratch_settle(d); /* if that fails, buffers that an earlier matrix has left are not used */
    out->part = (spmv_device_part *)block;
    out->sources = count;
    out->count = s ? 0 : n;
    if (!s && n == count) spmv__dev_build_ahead(d, parts, count, variants); /* stretches have options of their own */
    if (!s) s = spmv__dev_stretches_create(out, parts, variants);
    if (!s) s = spmv__dev_scale_program(out);
    if (!s) s = spmv__dev_none(d, &out->none);
    if (!s) s = spmv__dev_settle(d);
    out->covers = !s && count && spmv_part_covers(&parts[0], rows);
    if (s) spmv_device_matrix_free(out);
    return s;
}

/* 1: the parts can be those that m was made from: as many, of its type, with as many values. */
static int spmv__dev_same_parts(const spmv_device_matrix *m, const spmv_part *parts, size_t count)
{
    uint64_t values = 0;
    size_t i;
    int same = count == m->sources;
    for (i = 0; same && i < m->count; i++) {
        size_t k = m->part[i].source;
        values += m->part[i].values;
        if (i + 1 < m->count && m->part[i + 1].source == k) continue;
        same = parts[k].a[SPMV_VAL].count == values && parts[k].type == m->type;
        values = 0;
    }
    return same;
}

SPMV_API spmv_status spmv_device_matrix_update(spmv_device_matrix *m, const spmv_part *parts, size_t count)
{
    if (!m || (count && !parts)) return spmv__null(m ? &m->hooks : NULL, "spmv_device_matrix_update", !m ? "m" : "parts", NULL, 0);
    const spmv_hooks *h = &m->hooks;
    spmv_device *d = m->device;
    spmv_status s = SPMV_OK;
    size_t i;
    if (!spmv__dev_is_here(d)) return spmv__dev_not_here(d, "spmv_device_matrix_update", NULL, 0);
    if (!spmv__dev_same_parts(m, parts, count))
        return spmv_log(h, SPMV_ERR_ARGUMENT, "these are not the parts that the matrix was made from");
    for (i = 0; !s && i < m->count; i++) {
        const spmv_device_part *p = &m->part[i];
        const spmv_array *val;
        spmv_part q;
        if (!p->values || parts[p->source].elsewhere) continue;
        s = spmv__dev_cut_part(h, &parts[p->source], p->begin, p->end, 1, &q);
        if (s) return s;
        val = &q.a[SPMV_VAL];
        s = spmv__dev_copy(d, p->a[SPMV_VAL], val->count * val->width, val->data);
        spmv__dev_cut_free(h, &q);
    }
    return s ? s : spmv__dev_settle(d);
}

SPMV_API void spmv_device_matrix_free(spmv_device_matrix *m)
{
    spmv_hooks h;
    size_t i;
    int k;
    if (!m) return;
    h = m->hooks;
    for (i = 0; i < m->count; i++) {
        const spmv_device_part *p = &m->part[i];
        const int ordered = !spmv__is_set(&m->part[0].elsewhere);
        for (k = 0; k < SPMV_MAX_ARRAYS && !p->all; k++) spmv__dev_left(m->device, p->a[k], ordered);
        spmv__dev_left(m->device, p->all, ordered);
        spmv__dev_left(m->device, p->list, ordered);
    }
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

/* Makes the kernel called name of a part and sets the arguments that never change: arrays, integers, and what its format adds. Those of
 * the finishing launch are the same. */
static spmv_status spmv__dev_launch_part(spmv__launch *l, const spmv_device_matrix *m, const spmv_device_part *p, const char *name,
                                        uint64_t groups, void *const *carry)
{
    const spmv__dev_kernel *t = &spmv__dev_kernels[p->format];
    spmv__dev_args a;
    int i;
    spmv_status s = m->device->info.backend->kernel(m->device, p->program, name, &l->kernel);
    if (s) return s;
    a = spmv__dev_args_of(m, l->kernel);
    for (i = 0; i < t->arrays; i++) spmv__dev_arg_mem(&a, p->a[i]);
    for (i = 0; t->ints[i]; i++)
        if (!spmv__dev_int_is_macro(p->format, i)) spmv__dev_arg_count(&a, p->n[i]);
    spmv__dev_format_of(p->format)->arguments(&a, p, carry);
    l->arg = a.next;
    l->first = p->source == 0;
    l->row = p->row;
    l->texel = spmv__dev_texel(p->format, m->type, p->n, &p->variant);
    spmv__dev_launch_shape(l, groups, (uint64_t)p->variant.value[SPMV_KNOB_WG]);
    return a.s;
}

/* Makes a buffer that e owns until it is freed. One that the device keeps may still be in use by the preparation of a matrix in another
 * thread, and so only follows that in the device's queue, if it is in order. */
static spmv_status spmv__dev_exec_own(const spmv_exec *e, uint64_t bytes, int read_only, void **out)
{
    spmv_device *d = e->matrix->device;
    return e->queue == d->queue && !e->chain ? spmv__dev_own(d, bytes, read_only, out) : spmv__dev_new_buffer(d, bytes, read_only, out);
}

/* Creates the buffer of carries, followed by the counters, which begin at zero. It enqueues nothing, as the queue may be waiting for the
 * caller. */
static spmv_status spmv__dev_new_carries(const spmv_exec *e, const spmv_device_part *p, void **out)
{
    const spmv_device_matrix *m = e->matrix;
    const spmv_device *d = m->device;
    uint64_t bytes = p->carries * spmv_vector_size(m->type) + p->counters * 4;
    void *zeros = NULL;
    spmv_status s;
    if (!p->counters || bytes > d->info.alloc_bytes) return spmv__dev_exec_own(e, bytes, 0, out);
    s = spmv__new(&m->hooks, &zeros, bytes, 1, 0);
    if (s) return s;
    s = spmv__dev_new_filled(d, bytes, 0, zeros, out);
    spmv_free(&m->hooks, zeros);
    return s;
}

/* Adds the one or two launches of a part to e. */
static spmv_status spmv__dev_launch_all(spmv_exec *e, const spmv_device_matrix *m, const spmv_device_part *p)
{
    spmv__launch *l = &e->launch[e->count];
    spmv_status s = SPMV_OK;
    e->count += p->finish ? 2 : 1;
    if (p->carries) s = spmv__dev_new_carries(e, p, &l->carry[0]);
    if (!s && p->carries && spmv__dev_format_of(p->format)->carry_rows) s = spmv__dev_exec_own(e, p->carries * 4, 0, &l->carry[1]);
    if (!s) s = spmv__dev_launch_part(l, m, p, "spmv", p->groups, l->carry);
    if (!s && p->finish) s = spmv__dev_launch_part(l + 1, m, p, "finish", p->finish, l->carry);
    return s;
}

enum { SPMV__SCALE_EACH = 64 }; /* elements of y that an item of scale.cl takes in groups of one item */

static spmv_status spmv__dev_launch_scale(spmv__launch *l, const spmv_device_matrix *m)
{
    uint64_t wg = (uint64_t)m->scale_group, groups;
    spmv__dev_args a;
    spmv_status s = spmv__dev_groups(m->device, m->rows, wg > 1 ? wg : (uint64_t)SPMV__SCALE_EACH, wg, &groups);
    if (!s) s = m->device->info.backend->kernel(m->device, m->scale, "scale", &l->kernel);
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
    if (!spmv__dev_is_here(m->device)) return spmv__dev_not_here(m->device, "spmv_exec_create", out, sizeof *out);
    void *block = NULL;
    size_t i;
    spmv_status s;
    memset(out, 0, sizeof *out);
    out->matrix = m;
    out->hooks = m->hooks;
    s = spmv__dev_exec_queue(out, queue);
    if (!s) s = spmv__new(&m->hooks, &block, 2 * (uint64_t)m->count, sizeof(spmv__launch), 0);
    out->launch = (spmv__launch *)block;
    if (!s && m->count && out->queue != m->device->queue) spmv__set_flag(&m->part[0].elsewhere);
    if (!s && m->rows) s = spmv__dev_launch_scale(&out->scale, m);
    for (i = 0; !s && i < m->count; i++)
        if (m->part[i].groups) s = spmv__dev_launch_all(out, m, &m->part[i]);
    if (s) spmv_exec_free(out);
    return s;
}

/* ordered: as for spmv__dev_left */
static void spmv__dev_launch_free(const spmv_device *d, spmv__launch *l, int ordered)
{
    spmv__dev_kernel_free(d, l->kernel);
    spmv__dev_left(d, l->carry[0], ordered);
    spmv__dev_left(d, l->carry[1], ordered);
}

static void spmv__dev_event_free(const spmv_device *d, void *event)
{
    if (event && spmv__dev_is_here(d)) d->info.backend->event_free(d, event);
}

/* Replaces the event in *slot by event (NULL: none), which it retains; by none if that fails. */
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

/* Forgets the events of the latest timed product. */
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
    int ordered;
    if (!e || !e->matrix) return;
    d = e->matrix->device;
    ordered = e->queue == d->queue;
    h = e->hooks;
    spmv__dev_exec_forget(e);
    spmv__dev_exec_untimed(e);
    spmv__dev_launch_free(d, &e->scale, ordered);
    for (i = 0; i < e->count; i++) spmv__dev_launch_free(d, &e->launch[i], ordered);
    spmv__dev_left(d, e->x, ordered);
    spmv__dev_left(d, e->y, ordered);
    if (e->queue && spmv__dev_is_here(d)) d->info.backend->queue_free(d, e->queue);
    spmv_free(&h, e->launch);
    memset(e, 0, sizeof *e);
}

/* ---- one thread at a time ------------------------------------------------------------------------------------------- */

#if defined(__GNUC__)
static int spmv__try_lock(long *busy) { return !__atomic_exchange_n(busy, 1L, __ATOMIC_ACQUIRE); }
static void spmv__set_free(long *busy) { __atomic_store_n(busy, 0L, __ATOMIC_RELEASE); }
#elif defined(_MSC_VER)
static int spmv__try_lock(long *busy) { return !_InterlockedExchange((volatile long *)busy, 1); }
static void spmv__set_free(long *busy) { _InterlockedExchange((volatile long *)busy, 0); }
#else
static int spmv__try_lock(long *busy) { (void)busy; return 1; }
static void spmv__set_free(long *busy) { (void)busy; }
#endif

/* Locks e until spmv__set_free: a second thread would set arguments of the same kernels. function is the caller's name, for messages. */
static spmv_status spmv__dev_exec_take(spmv_exec *e, const char *function)
{
    if (!e || !e->matrix) return spmv__null(e ? &e->hooks : NULL, function, e ? "e->matrix" : "e", NULL, 0);
    if (!spmv__dev_is_here(e->matrix->device)) return spmv__dev_not_here(e->matrix->device, function, NULL, 0);
    if (spmv__try_lock(&e->busy)) return SPMV_OK;
    return spmv_log(&e->hooks, SPMV_ERR_BUSY, "another thread is using this exec (spmv_mul uses the matrix's own): create an spmv_exec for "
                    "each thread (spmv_exec_create)");
}

/* ---- products ---------------------------------------------------------------------------------------------------- */

/* A product that is being enqueued. */
typedef struct spmv__dev_run {
    spmv_exec  *e;
    double      alpha;
    void       *x, *y;
    uint64_t    x0, y0;
    unsigned    num_wait;
    const void *wait;
    size_t      left;      /* launches still to be enqueued */
    void       *previous;  /* event of the previous launch, if launches are chained or timed */
    int         begun;
    int         keep_last; /* 1: the caller wants the last launch's event */
} spmv__dev_run;

/* The first launch waits for the caller's events; each other one waits for the one before it if the queue is out of order. */
static spmv_order spmv__dev_order(const spmv__dev_run *r)
{
    spmv_order o;
    o.count = r->begun ? 0 : r->num_wait;
    o.wait = r->begun ? NULL : r->wait;
    o.after = r->begun && r->e->chain ? r->previous : NULL;
    return o;
}

/* Sets the changing arguments of a launch, enqueues it, and keeps its event as far as one is needed. */
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

/* Checks that a vector of n elements at an offset lies within its buffer; name is the argument's. */
static spmv_status spmv__dev_exec_check(const spmv_exec *e, void *mem, uint64_t offset, uint64_t n, const char *name)
{
    const spmv_device *d = e->matrix->device;
    const uint64_t size = spmv_vector_size(e->matrix->type);
    uint64_t have = 0;
    spmv_status s;
    if (!n) return SPMV_OK;
    if (!mem) return spmv_log(&e->hooks, SPMV_ERR_ARGUMENT, "%s is NULL", name);
    s = spmv__dev_aligned(d, &e->hooks, name, mem, size);
    if (!s) s = d->info.backend->buffer_bytes(d, mem, &have);
    if (s) return s;
    have /= size;
    if (offset <= have && n <= have - offset) return SPMV_OK;
    return spmv_log(&e->hooks, SPMV_ERR_ARGUMENT, "%s: %llu elements from offset %llu exceed the buffer's %llu", name, (spmv__ull)n,
                    (spmv__ull)offset, (spmv__ull)have);
}

/* Refuses y over x. Handles that differ are those of different buffers where the back end has no addresses. */
static spmv_status spmv__dev_exec_apart(const spmv__dev_run *r)
{
    const spmv_device_matrix *m = r->e->matrix;
    const uint64_t size = spmv_vector_size(m->type), x0 = r->x0 * size, y0 = r->y0 * size;
    const int addresses = m->device->info.backend->within != NULL;
    const uint64_t x = addresses ? (uintptr_t)r->x + x0 : x0, y = addresses ? (uintptr_t)r->y + y0 : y0;
    if ((r->x != r->y && !addresses) || !spmv__overlap(x, m->cols * size, y, m->rows * size)) return SPMV_OK;
    return spmv_log(&r->e->hooks, SPMV_ERR_ARGUMENT, "x and y overlap");
}

/* Makes an image of the buffer x with 1 or 4 elements in a texel, unless e has it already. The image covers as much of x as the device
 * allows; SPMV_ERR_LIMIT if that is less than the product reads. */
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
        else s = d->info.backend->image(d, x, m->type, 1, e->texels[i] = 1, &e->image[i]); /* x has fewer than 4 elements, so
                                                                                             no texel is read */
        if (s) return s;
    }
    if (need <= e->texels[i]) return SPMV_OK;
    return spmv_log(&e->hooks, SPMV_ERR_LIMIT, "x ends at element %llu of its buffer, but an image of it holds only %llu",
                    (spmv__ull)(x_offset + m->cols), (spmv__ull)(e->texels[i] * (uint64_t)texel));
}

/* Makes the images that the launches read. x and y must be different buffers then: reading an image is undefined while any part of its
 * buffer is written. */
static spmv_status spmv__dev_exec_images(spmv_exec *e, void *x, uint64_t x_offset, void *y)
{
    spmv_status s = SPMV_OK;
    size_t i;
    for (i = 0; !s && i < e->count; i++) {
        int texel = e->launch[i].texel;
        if (!texel) continue;
        if (x == y) return spmv_log(&e->hooks, SPMV_ERR_ARGUMENT, "IMG=1: x and y are in the same buffer");
        s = spmv__dev_exec_image(e, x, x_offset, x_offset % 4 ? 1 : texel);
    }
    return s;
}

/* Checks the vectors of a product and makes the images that it reads; launches: how many launches multiply. */
static spmv_status spmv__dev_exec_ready(const spmv__dev_run *r, size_t launches)
{
    spmv_exec *e = r->e;
    const spmv_device_matrix *m = e->matrix;
    const int reads = r->alpha != 0 && m->rows && m->cols;
    spmv_status s = r->num_wait && !r->wait ? spmv__null(&e->hooks, "spmv_exec_mul", "wait", NULL, 0) : SPMV_OK;
    if (!s) s = spmv__dev_exec_check(e, r->y, r->y0, m->rows, "y");
    if (!s && reads) s = spmv__dev_exec_check(e, r->x, r->x0, m->cols, "x");
    if (!s && reads) s = spmv__dev_exec_apart(r);
    if (!s && launches && m->cols) s = spmv__dev_exec_images(e, r->x, r->x0, r->y);
    return s;
}

/* After the launches: the event that stands for a product without any, and the events of its time. */
static spmv_status spmv__dev_exec_events(spmv__dev_run *r)
{
    spmv_exec *e = r->e;
    const spmv_device *d = e->matrix->device;
    spmv_status s = SPMV_OK;
    if (!r->begun && (r->keep_last || r->num_wait || e->timing)) {
        spmv_order order = spmv__dev_order(r);
        s = d->info.backend->marker(d, e->queue, &order, &r->previous);
        if (!s && e->timing) s = spmv__dev_event_keep(d, &e->first, r->previous);
    }
    if (!s && e->timing) s = spmv__dev_event_keep(d, &e->last, r->previous);
    return s;
}

/* Enqueues the pass that scales y (unless the first part covers it or beta is 1), then all launches. r has the vectors, alpha and what
 * to wait for. *event, if event is not NULL, gets one that completes with the product. */
static spmv_status spmv__dev_exec_mul(spmv__dev_run *r, double beta, void **event)
{
    spmv_exec *e = r->e;
    const spmv_device_matrix *m = e->matrix;
    size_t i, launches = r->alpha != 0 && m->rows ? e->count : 0;
    int covers = launches && m->covers && m->part[0].groups;
    int scale = m->rows && beta != 1 && !covers;
    spmv_status s = spmv__dev_exec_ready(r, launches);
    if (s) return s;
    if (!m->cols) r->x0 = 0;
    if (!r->num_wait) r->wait = NULL;
    r->left = launches + (size_t)scale;
    r->keep_last = event != NULL;
    if (scale) s = spmv__dev_enqueue(r, &e->scale, beta);
    for (i = 0; !s && i < launches; i++) s = spmv__dev_enqueue(r, &e->launch[i], covers && e->launch[i].first ? beta : 1);
    if (!s) s = spmv__dev_exec_events(r);
    if (s) spmv__dev_exec_untimed(e);
    if (!s && event) {
        *event = r->previous;
        r->previous = NULL;
    }
    spmv__dev_event_free(m->device, r->previous);
    return s;
}

/* A product that waits for nothing. */
static spmv__dev_run spmv__dev_run_of(spmv_exec *e, double alpha, void *x, uint64_t x_offset, void *y, uint64_t y_offset)
{
    spmv__dev_run r;
    memset(&r, 0, sizeof r);
    r.e = e;
    r.alpha = alpha;
    r.x = x;
    r.x0 = x_offset;
    r.y = y;
    r.y0 = y_offset;
    return r;
}

/* A product with the handles of any back end. Typed functions such as spmv_exec_mul call it with their own name. */
static spmv_status spmv__exec_mul(spmv_exec *e, const char *function, double alpha, void *x, uint64_t x_offset, double beta, void *y,
                                  uint64_t y_offset, unsigned num_wait, const void *wait, void **event)
{
    spmv__dev_run r = spmv__dev_run_of(e, alpha, x, x_offset, y, y_offset);
    spmv_status s = spmv__dev_exec_take(e, function);
    if (event) *event = NULL;
    if (s) return s;
    r.num_wait = num_wait;
    r.wait = wait;
    s = spmv__dev_exec_mul(&r, beta, event);
    spmv__set_free(&e->busy);
    return s;
}

SPMV_API spmv_status spmv_exec_mul_buffers(spmv_exec *e, double alpha, void *x, uint64_t x_offset, double beta, void *y,
                                           uint64_t y_offset)
{
    return spmv__exec_mul(e, "spmv_exec_mul_buffers", alpha, x, x_offset, beta, y, y_offset, 0, NULL, NULL);
}

/* Creates the buffers of products with host vectors, unless e has them. */
static spmv_status spmv__dev_exec_host_buffers(spmv_exec *e)
{
    const spmv_device_matrix *m = e->matrix;
    uint64_t size = spmv_vector_size(m->type);
    spmv_status s = SPMV_OK;
    if (!e->x) s = spmv__dev_exec_own(e, spmv__sat_mul(m->cols, size), 1, &e->x);
    if (!s && !e->y) s = spmv__dev_exec_own(e, spmv__sat_mul(m->rows, size), 0, &e->y);
    return s;
}

/* Copies x (and y, if beta is not 0) to the device, multiplies, and copies y back. */
static spmv_status spmv__dev_exec_mul_host(spmv_exec *e, double alpha, const void *x, double beta, void *y)
{
    const spmv_device_matrix *m = e->matrix;
    const spmv_device *d = m->device;
    const spmv_backend *b = d->info.backend;
    uint64_t size = spmv_vector_size(m->type), x_bytes = m->cols * size, y_bytes = m->rows * size;
    spmv__dev_run r;
    void *done = NULL;
    spmv_status s = spmv__check_vectors(&e->hooks, "spmv_exec_mul_host", m->type, m->rows, m->cols, alpha, x, y);
    if (s || !m->rows) return s;
    s = spmv__dev_exec_host_buffers(e);
    if (!s && alpha != 0 && m->cols) s = b->write(d, e->queue, e->x, x_bytes, x);
    if (!s && beta != 0) s = b->write(d, e->queue, e->y, y_bytes, y);
    r = spmv__dev_run_of(e, alpha, e->x, 0, e->y, 0);
    if (!s) s = spmv__dev_exec_mul(&r, beta, &done);
    if (!s) s = b->read(d, e->queue, e->y, y_bytes, y, done);
    spmv__dev_event_free(d, done);
    return s;
}

SPMV_API spmv_status spmv_exec_mul_host(spmv_exec *e, double alpha, const void *x, double beta, void *y)
{
    spmv_status s = spmv__dev_exec_take(e, "spmv_exec_mul_host");
    if (s) return s;
    s = spmv__dev_exec_mul_host(e, alpha, x, beta, y);
    spmv__set_free(&e->busy);
    return s;
}

static spmv_status spmv__dev_exec_timing(spmv_exec *e, int on)
{
    if (on && !e->profiles)
        return spmv_log(&e->hooks, SPMV_ERR_UNSUPPORTED, "the queue does not measure time (desc.profile; OpenCL: "
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
    spmv__set_free(&e->busy);
    return s;
}

static spmv_status spmv__dev_exec_seconds(spmv_exec *e, double *seconds)
{
    const spmv_device *d = e->matrix->device;
    if (!e->first || !e->last) return spmv_log(&e->hooks, SPMV_ERR_ARGUMENT, "no product has been timed (spmv_exec_timing)");
    return d->info.backend->seconds(d, e->first, e->last, seconds);
}

SPMV_API spmv_status spmv_exec_seconds(spmv_exec *e, double *seconds)
{
    spmv_status s = seconds ? spmv__dev_exec_take(e, "spmv_exec_seconds") : spmv__null(NULL, "spmv_exec_seconds", "seconds", NULL, 0);
    if (seconds) *seconds = 0;
    if (s) return s;
    s = spmv__dev_exec_seconds(e, seconds);
    spmv__set_free(&e->busy);
    return s;
}

#endif /* SPMV_IMPLEMENTATION */
