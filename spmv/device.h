/* SPDX-License-Identifier: MIT
 *
 * spmv/device.h - sparse matrix times vector on devices: what all back ends share.
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
 * Destroy in reverse order: execs, then their matrix, then its device. Each holds pointers to the object it was made from, which
 * therefore must not move. All three are safe to destroy when zeroed or after their creation failed.
 *
 * What any threads may do at once, without a lock of the caller's ("matrix" is also an spmv_matrix of spmv.h):
 *
 *     to make, update or destroy a matrix           beside all that uses other matrices, also of the same device
 *     products, spmv_exec_create, spmv_exec_destroy    beside each other on one matrix as well, each thread with an exec of its own
 *     spmv_buffer_..., spmv_device_finish, _programs_take, _programs_give    beside all but spmv_device_destroy
 *     another call with an spmv_exec, an spmv_group (with all of its devices)    one thread
 *
 * While one thread compiles a program, others wait only if they need a program that is not compiled yet; uploads and downloads through
 * pinned memory take turns; products on buffers never wait. The hooks of a device are called in all of these threads; they must neither
 * use the device nor wait for a thread that does. One thread alone may use a device whose queue is another one in each thread
 * (CU_STREAM_PER_THREAD), or any device where there is neither Windows nor POSIX with gcc or clang.
 *
 * In a process that was forked off the one which made a device, all calls but those that free are refused (SPMV_ERR_BACKEND), and those
 * free nothing of the driver's. No device can be made there either, since drivers do not work in both.
 *
 * The same matrix, variant and device give the same bits in every product (except with the knob ATOMIC). Configuration macros:
 * spmv_formats.h.
 *
 * The interface has three parts: "start here" has devices, matrices and products; "more" has knobs and variants; the third is for
 * authors of back ends and tools.
 */
#ifndef SPMV_DEVICE_H
#define SPMV_DEVICE_H

#include "plan.h"

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

/* Which device it is to be, or the caller's own context, device and queue. All zero: the default device. */
typedef struct spmv_device_desc {
    const char *which;   /* index in the list of devices ("0"), type ("gpu", "cpu", "accelerator": the first of that type), or part of
                            a name in any case; NULL or "": the first GPU, or the first device if there is none. After the name of a back
                            end and a colon ("cuda:0", "opencl:gpu"), only its devices count, as with that name alone ("cuda") */
    void       *context; /* the caller's own, together with id; which is then ignored. Both are retained. OpenCL: cl_context */
    void       *id;      /* of the device, as in spmv_device_info. OpenCL: cl_device_id */
    void       *queue;   /* the caller's own, retained; it is enough by itself, as it knows its context and device. NULL: a queue is
                            created. OpenCL: cl_command_queue */
    const struct spmv_backend *backend; /* which back end the caller's handles belong to; NULL: the first, which is OpenCL in
                            spmv_device_create */
    int         profile; /* 1: the created queue measures time (spmv_exec_seconds) */
    const char *cache;   /* a folder, which exists, where compiled programs are kept: spmv_device_create reads a file there, which
                            spmv_device_destroy replaces if some were compiled, from source or from PTX that ships. What does not fit
                            is ignored, as by spmv_device_programs_give, and a failure to write is only logged. NULL: nothing is read or
                            written */
    spmv_hooks  hooks;   /* memory and messages of the device and everything made on it */
} spmv_device_desc;

typedef struct spmv__common spmv__common;

/* A device, from spmv_device_create (spmv.h). Handles may be used in calls of the back end's own interface. */
typedef struct spmv_device {
    spmv_device_info info;
    void            *context;  /* OpenCL: cl_context */
    void            *queue;    /* OpenCL: cl_command_queue */
    spmv__common    *common;   /* what its matrices share: compiled programs, pinned memory of the host (8 MiB) through which they are
                                  copied, and memory that one has used and the next may use again; kept until the device is destroyed */
    uint64_t         compiled; /* how many programs were compiled from source so far */
    spmv_hooks       hooks;
} spmv_device;

/* Releases programs, queue and context, and zeroes *device. */
SPMV_API void spmv_device_destroy(spmv_device *device);

/* All compiled programs that the device has or was given, as one string of bytes, which saves the next process the compilation. The string
 * begins with the library's own header: a version, a checksum, a hash of the device and its driver, and for each program its options and a
 * hash of its source. Take it after the first product, since some drivers compile a kernel only then.
 *   out    becomes the string; free it by spmv_free with the device's hooks. NULL on failure
 *   bytes  its length
 * SPMV_ERR_BACKEND if the driver does not hand a program out. Where a back end has no compiled form of a program, it is left out. */
SPMV_API spmv_status spmv_device_programs_take(const spmv_device *device, void **out, size_t *bytes);

/* Gives a device programs that spmv_device_programs_take returned earlier, in this process or another. They are copied, and handed to the
 * driver only when they are needed. What is damaged, was made by another device, driver or version of the kernels, or is refused by the
 * driver is ignored without a message; those programs are compiled. So it is safe to pass any bytes that were once written by
 * spmv_device_programs_take; bytes from elsewhere must not be passed, since a driver runs what it is given.
 * With 0 bytes it says that the device's programs will be kept: then it also compiles kernels that pay only in later processes
 * (spmv/device.h).
 *   from   NULL if bytes is 0 */
SPMV_API spmv_status spmv_device_programs_give(spmv_device *device, const void *from, size_t bytes);

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
    spmv_hooks    hooks;
} spmv_device_matrix;

/* Copies parts to the device and builds their kernels. The parts are not needed afterwards. A part with an array larger than a buffer
 * of the device is cut into stretches of rows (coo: of entries), each with buffers and launches of its own.
 *   out         need not be initialised; zeroed on failure
 *   device      must outlive out and must not move
 *   rows, cols  of the whole matrix. A part without a row list must have this many rows, and every part this many columns
 *   type        what to compute in; every part must have this type
 *   parts       count of them, made by spmv_part_create; may be NULL if count is 0. SPMV_ERR_INDEX if a row list has a row beyond rows
 *   variants    one for each part; NULL: all defaults. Knobs that are not set get defaults that depend on the device and the part
 * SPMV_ERR_NO_F64; SPMV_ERR_BUILD (the message has the build log); SPMV_ERR_LIMIT if the device cannot hold the arrays, or has too
 * little local memory or too small work-groups for a variant. */
SPMV_API spmv_status spmv_device_matrix_create(spmv_device_matrix *out, spmv_device *device, uint64_t rows, uint64_t cols, spmv_type type,
                                    const spmv_part *parts, size_t count, const spmv_variant *variants);
/* Copies the values again, after spmv_part_update of the parts that the matrix was made from, but for parts that the device filled.
 * No product may be running. */
SPMV_API spmv_status spmv_device_matrix_update(spmv_device_matrix *matrix, const spmv_part *parts, size_t count);
/* With CUDA, buffers that only products in the device's own queue have used are kept for the next matrix, 32 MiB or a 512th of the
 * device's memory at most, until memory runs out or the device is destroyed. */
SPMV_API void spmv_device_matrix_destroy(spmv_device_matrix *matrix);
/* The variant in use for part i of those the matrix was made from (if the part was cut, for its first stretch); NULL if there is no
 * such part. */
SPMV_API const spmv_variant *spmv_device_matrix_variant(const spmv_device_matrix *matrix, size_t i);

/* ---- products ---------------------------------------------------------------------------------------------------- */

/* The arguments of a launch that change: x, its offset, y, its offset, alpha, beta. The image follows from x and its offset. */
typedef struct spmv__given {
    void    *x, *y;
    uint64_t x0, y0, turn; /* turn: of the exec */
    uint64_t x_step, y_step; /* of several vectors, else 0 */
    double   alpha, beta;
} spmv__given;

typedef struct spmv__launch {
    void     *kernel;
    uint64_t  groups, wg; /* work-groups, and work-items in each */
    unsigned  arg;      /* the first of the arguments that change */
    spmv__given given;  /* what these were set to last */
    int       first;    /* 1: belongs to the first part */
    uint64_t  row;      /* of y, where its rows begin */
    int       image;    /* 1: it reads x through the image of exec */
    void     *carry[2]; /* buffers with sums and rows of split rows; the finishing launch reads those of the launch before it */
} spmv__launch;

enum { SPMV__WIDTHS = 3 /* 2, 4 or 8 vectors that kernels multiply at once */ };

/* All members are private. */
typedef struct spmv_exec {
    const spmv_device_matrix *matrix;
    void                 *queue;
    int                   chain;       /* 1: the queue is out of order, so that launches wait for each other by events */
    int                   profiles;    /* 1: the queue measures time */
    int                   timing;
    spmv__launch          scale, tail; /* tail.kernel: NULL before the first product with one */
    spmv__launch         *launch;
    size_t                count;
    void                 *x, *y;       /* buffers of spmv_exec_mul_host */
    struct spmv_exec     *wide[SPMV__WIDTHS]; /* the same launches for 2, 4 and 8 vectors side by side, made when first needed */
    int                   narrow[SPMV__WIDTHS]; /* 1: they cannot be made */
    uint64_t              sum;         /* of one in wide: the vectors that an item multiplies */
    spmv__launch          turning;     /* of the kernel that makes vectors lie side by side, and back */
    void                 *turned[2];   /* X and Y side by side */
    struct {
        void    *mem;
        uint64_t elements;
    }                     seen[5];     /* x and y of the latest product, w, z and sums of the latest tail: retained, so that no other
                                          buffer can have the same handle; NULL where the back end cannot do that */
    uint64_t              turn;        /* how often that was changed */
    void                 *image;       /* of x, or NULL */
    void                 *first, *last; /* events of the latest timed product */
    long                  busy;        /* 1: a thread is in one of the functions below */
    spmv_hooks            hooks;
} spmv_exec;

/* Makes what products on one queue need.
 *   out     need not be initialised; zeroed on failure
 *   matrix  must outlive out and must not move
 *   queue   of the device's context, in order or not; retained. NULL: the device's own. OpenCL: cl_command_queue */
SPMV_API spmv_status spmv_exec_create(spmv_exec *out, const spmv_device_matrix *matrix, void *queue);
SPMV_API void spmv_exec_destroy(spmv_exec *exec);

/* y = alpha A x + beta y with host vectors of the type's vector elements, as spmv_mul; returns when y is done. The first call allocates
 * buffers, which exec keeps. */
SPMV_API spmv_status spmv_exec_mul_host(spmv_exec *exec, double alpha, const void *x, double beta, void *y);

/* Enqueues y = alpha A x + beta y for buffers of the device, after all that is in the queue. Its conditions are those of
 * spmv_cl_mul (spmv_cl.h), which in addition takes a wait list and returns an event. On an out-of-order queue call
 * spmv_device_finish between the product and what must come before or after it.
 *   x, y                buffers
 *   x_offset, y_offset  where the vectors begin in them, in elements */
SPMV_API spmv_status spmv_exec_mul(spmv_exec *exec, double alpha, void *x, uint64_t x_offset, double beta, void *y,
                                   uint64_t y_offset);

/* The same for several vectors, which lie as for spmv_mul_many, from the offsets on: Y = alpha A X + beta Y, each with the bits that
 * spmv_exec_mul gives it. All formats but coo and tcsr multiply up to 8 at once; the first such product
 * builds their kernels and may allocate, so make it before a capture. These take vectors side by side whose offsets and ld are
 * multiples of 16 bytes; others are turned first. spmv_exec_seconds has the time of them all. */
SPMV_API spmv_status spmv_exec_mul_many(spmv_exec *exec, uint64_t count, spmv_arrangement order, double alpha, void *x, uint64_t x_offset,
                                        uint64_t ldx, double beta, void *y, uint64_t y_offset, uint64_t ldy);

/* spmv_exec_mul, then what tail says (spmv_formats.h), whose w, z and sums are buffers, too. The first such call with exec builds a kernel
 * and allocates, so that it must come before products are captured into a graph; later ones do neither. SPMV_ERR_ARGUMENT, before anything
 * is enqueued, if the tail cannot be done. With alpha 0 x is still read where a sum needs it. */
SPMV_API spmv_status spmv_exec_mul_tail(spmv_exec *exec, double alpha, void *x, uint64_t x_offset, double beta, void *y,
                                        uint64_t y_offset, const spmv_tail *tail);

/* Switches timing on (1) or off (0): with it, products keep their events for spmv_exec_seconds. SPMV_ERR_UNSUPPORTED if the queue
 * does not measure time. */
SPMV_API spmv_status spmv_exec_timing(spmv_exec *exec, int on);
/* Waits for the latest timed product and returns the device's time from the start of its first launch to the end of its last. */
SPMV_API spmv_status spmv_exec_seconds(spmv_exec *exec, double *seconds);

/* ---- vectors in device memory ------------------------------------------------------------------------------------
 * For programs that run on any back end; with OpenCL, a cl_mem of the caller's own works as well. All these functions use the
 * device's queue, and all but spmv_buffer_fill wait until their work is done. */

/* A buffer of uninitialised bytes; 0 bytes give a buffer that may be passed but not read. On failure *out is NULL. SPMV_ERR_LIMIT
 * beyond the device's largest buffer. Free it before closing the device. */
SPMV_API spmv_status spmv_buffer_create(const spmv_device *device, uint64_t bytes, void **out);
SPMV_API void spmv_buffer_destroy(const spmv_device *device, void *buffer);
/* Copy to and from the first bytes of a buffer. These and spmv_buffer_fill return SPMV_ERR_ARGUMENT for bytes beyond its end. */
SPMV_API spmv_status spmv_buffer_write(const spmv_device *device, void *buffer, uint64_t bytes, const void *from);
SPMV_API spmv_status spmv_buffer_read(const spmv_device *device, void *buffer, uint64_t bytes, void *to);
/* Fills the first bytes, a multiple of 4, with copies of word. */
SPMV_API spmv_status spmv_buffer_fill(const spmv_device *device, void *buffer, uint64_t bytes, uint32_t word);
/* Waits until everything in the device's queue is done. */
SPMV_API spmv_status spmv_device_finish(const spmv_device *device);

/* ===================================================== more ====================================================== */

/* ---- knobs and variants ------------------------------------------------------------------------------------------
 * X(NAME, GPU, CPU, "what it is"): the knobs of all kernels, with their defaults on GPUs and on CPUs. The legal values stand
 * beside each knob in the kernels ("tune:" lines), and a format has the knobs that its kernel names there. Defaults that depend on
 * the format, the part or the device are in the formats' sections below. */
#define SPMV_KNOB_LIST(X)                                                                                             \
    X(L,     0,   1,  "lanes: work-items that share a row or block row; default 0: by the mean row length and the "   \
                      "number of rows")                                                                               \
    X(WG,    128, 1,  "work-items in a work-group; default on CPUs with lanes 32, with STAGE of sell and bdia 64, " \
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
    X(ALIGN, 0,   0,  "cmrs: 1 aligns the lanes' steps")

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

/* The legal values of a knob in the kernel of a format.
 *   out, max  gets up to max values; may be NULL if max is 0
 * Returns how many values there are; 0 if the format does not have the knob or is not built. */
SPMV_API size_t spmv_knob_values(spmv_format format, spmv_knob knob, int *out, size_t max);
/* Prints the knobs that are set: "L=8,WG=128". Size and result are as for snprintf. */
SPMV_API size_t spmv_variant_print(const spmv_variant *variant, char *out, size_t size);

/* Reads variants for all parts of a store.
 *   variant  gets one variant for each stored part; may be NULL if there is none. Elements for parts of the plan that are not stored are
 *            checked and dropped
 *   text     one element for each part of the store's plan, joined by '+' like the parts: "L=8+WG=128". Elements may be empty; where the
 *            text ends early, or is NULL, nothing is set. A first element that begins with "*:" sets its knobs in every part whose kernel
 *            has them; the elements after it set those of single parts: "*:WG=64+L=8" is L=8,WG=64 for the first part and WG=64 for the
 *            others
 * SPMV_ERR_PLAN if a part's kernel does not have a knob of its element, no kernel has one after "*:", or a value is not legal. */
SPMV_API spmv_status spmv_variants_parse(spmv_variant *variant, const spmv_store *store, const char *text, const spmv_hooks *hooks);
/* Completes a variant to the one that spmv_device_matrix_create would use: knobs that are not set get defaults that depend on device and
 * part; knobs that make no difference to the part are removed. SPMV_ERR_LIMIT if the device cannot run the variant; SPMV_ERR_UNSUPPORTED
 * or SPMV_ERR_ARGUMENT if the part cannot have it. The compiled kernel may still turn out to need more than the device has. */
SPMV_API spmv_status spmv_variant_resolve(spmv_variant *variant, const spmv_device *device, const spmv_part *p);

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
    void        *dictionary;           /* the values that codes in a[SPMV_VAL] stand for; NULL: values stand there themselves */
    uint64_t     n[SPMV_MAX_INTS];
    uint64_t     groups;               /* work-groups of the launch; 0: there is nothing to do */
    uint64_t     finish;               /* work-groups of the finishing launch, which adds the carries to y; 0: there is none */
    uint64_t     carries;              /* how many carries an exec holds for it */
    uint64_t     counters;             /* after the carries: one for each group that has left its own; 0 between products */
    long         elsewhere;            /* of the first: 1: products may be in other queues than the device's */
};


/* Lists and creates devices of the given back ends; spmv_device_list and spmv_device_create (spmv.h) do it with all that are compiled in.
 *   all    an array of back ends that ends with NULL
 *   out    list: gets up to max devices, in the order of their index; NULL if max is 0. create: need not be initialised; zeroed on
 *          failure
 *   count  gets how many devices there are
 *   desc   NULL: all defaults
 * Create returns SPMV_ERR_NO_DEVICE if no device fits desc->which. */
SPMV_API spmv_status spmv_backends_list(const struct spmv_backend *const *all, spmv_device_info *out, size_t max, size_t *count,
                                        const spmv_hooks *hooks);
SPMV_API spmv_status spmv_backends_create(const struct spmv_backend *const *all, spmv_device *out, const spmv_device_desc *desc);

/* ---- back ends ---------------------------------------------------------------------------------------------------
 * Handles (void *) are the back end's own. A function that fails logs the reason to d->hooks, returns a status, and leaves its output
 * untouched or NULL; handles that are returned are never NULL. Any thread may call any function, but only one thread at a time uses
 * one kernel, or the queue of one exec. Kernels come as OpenCL C 1.2 with -D options; a back end of another language translates them.
 * The option NVIDIA is given where info.nvidia is not 0; kernels then contain PTX. */

enum { SPMV_KERNEL_TEXTS = 64 }; /* pieces of four files, each behind a #line */

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
    spmv_status (*queue)(const spmv_device *device, void **queue);
    void (*queue_end)(const spmv_device *device, void *queue);
    /* Host memory that copies reach without a detour; handle is for unpin. bytes: at least 1. */
    spmv_status (*pin)(const spmv_device *device, uint64_t bytes, void **at, void **handle);
    void (*unpin)(const spmv_device *device, void *at, void *handle);
    /* Enqueue a copy from (get) or to (put) offset bytes behind the beginning of a buffer, and return at once. */
    spmv_status (*get)(const spmv_device *device, void *queue, void *buffer, uint64_t offset, uint64_t bytes, void *to);
    spmv_status (*put)(const spmv_device *device, void *queue, void *buffer, uint64_t offset, uint64_t bytes, const void *from);
    /* Starts what is in a queue, and does not wait for it. NULL: work starts by itself. */
    spmv_status (*start)(const spmv_device *device, void *queue);
    /* set marks the place behind all that is in the queue, and starts that work; follow lets what comes later in a queue wait for the
     * latest place, wait lets the host. Neither waits for a point that was never set. follow: the point is one of the same device, or
     * of any other of the back end if peer is not NULL. */
    spmv_status (*point)(const spmv_device *device, void **point);
    void (*point_free)(const spmv_device *device, void *point);
    spmv_status (*set)(const spmv_device *device, void *queue, void *point);
    spmv_status (*follow)(const spmv_device *device, void *queue, void *point);
    spmv_status (*wait)(const spmv_device *device, void *point);
    /* Enqueues, in a queue of device, a copy from a buffer of another device of the back end, without the host. peer_open comes once before
     * the first. Both NULL: there is no good way. */
    spmv_status (*peer_open)(const spmv_device *device, const spmv_device *other);
    spmv_status (*peer)(const spmv_device *device, void *queue, void *to, uint64_t to_offset, const spmv_device *other, void *from,
                        uint64_t from_offset, uint64_t bytes);
} spmv_transfer;

typedef struct spmv_backend {
    const char *name; /* "OpenCL" */
    /* As spmv_backends_list. SPMV_OK and a count of 0 if the machine has no driver. NULL: there are no devices, nor any other function but
     * absent. */
    spmv_status (*list)(spmv_device_info *out, size_t max, size_t *count, const spmv_hooks *hooks);
    /* Sets context and queue of *device. Without handles in desc, device->info describes the chosen device; with them, open retains them
     * and sets device->info as list does. close is called after a failure, too. */
    spmv_status (*open)(spmv_device *device, const spmv_device_desc *desc);
    void (*close)(spmv_device *device);
    /* SPMV_ERR_BUILD with the compiler's output in the message. */
    spmv_status (*build)(const spmv_device *device, const spmv_kernel_source *source, void **program);
    void (*program_free)(const spmv_device *device, void *program);
    /* The compiled form of a program, *bytes long and allocated by spmv_alloc with the device's hooks; NULL and 0 if there is none. load
     * makes a program of it, with the options of the build. */
    spmv_status (*image_of)(const spmv_device *device, void *program, void **image, size_t *bytes);
    spmv_status (*load)(const spmv_device *device, const char *options, const void *image, size_t bytes, void **program);
    spmv_status (*kernel)(const spmv_device *device, void *program, const char *name, void **kernel);
    void (*kernel_free)(const spmv_device *device, void *kernel);
    /* group: the largest work-group that the compiled kernel can run with; local: the bytes of local memory that it uses. */
    spmv_status (*kernel_limits)(const spmv_device *device, void *kernel, uint64_t *group, uint64_t *local);
    /* Sets argument number index to a copy of size bytes at value; it stays for all launches until it is set again. For a buffer,
     * value points to its handle and size is that of a handle. */
    spmv_status (*argument)(const spmv_device *device, void *kernel, unsigned index, const void *value, size_t size);
    /* bytes: at least 1. from: initial contents, or NULL: uninitialised. */
    spmv_status (*buffer)(const spmv_device *device, uint64_t bytes, int read_only, const void *from, void **buffer);
    void (*buffer_free)(const spmv_device *device, void *buffer);
    spmv_status (*buffer_bytes)(const spmv_device *device, void *buffer, uint64_t *bytes);
    /* Copy to and from the beginning of a buffer, and return when it is done. read waits for the event after unless it is NULL. */
    spmv_status (*write)(const spmv_device *device, void *queue, void *buffer, uint64_t bytes, const void *from);
    spmv_status (*read)(const spmv_device *device, void *queue, void *buffer, uint64_t bytes, void *to, void *after);
    /* Enqueues filling the first bytes, a multiple of 4, with copies of word. */
    spmv_status (*fill)(const spmv_device *device, void *queue, void *buffer, uint64_t bytes, uint32_t word);
    /* Retains a queue and finds out whether it is out of order and measures time. SPMV_ERR_ARGUMENT if it does not belong to the device's
     * context and device. */
    spmv_status (*queue_keep)(const spmv_device *device, void *queue, int *out_of_order, int *profiles);
    void (*queue_free)(const spmv_device *device, void *queue);
    spmv_status (*finish)(const spmv_device *device, void *queue);
    /* Enqueues groups work-groups of wg work-items. event: gets an event that completes with the launch, unless it is NULL. */
    spmv_status (*launch)(const spmv_device *device, void *queue, void *kernel, uint64_t groups, uint64_t wg, const spmv_order *order,
                          void **event);
    /* event: gets one that completes when order and everything before it in the queue is done. */
    spmv_status (*marker)(const spmv_device *device, void *queue, const spmv_order *order, void **event);
    spmv_status (*event_keep)(const spmv_device *device, void *event);
    void (*event_free)(const spmv_device *device, void *event);
    /* Waits for last; seconds: device time from the start of first to the end of last. */
    spmv_status (*seconds)(const spmv_device *device, void *first, void *last, double *seconds);
    /* Images of buffers, for IMG=1, with an element in each texel; NULL if info.image_texels is always 0. image_check: SPMV_OK if the
     * device can read such images. buffer_free frees images. */
    spmv_status (*image_check)(const spmv_device *device, spmv_type type);
    spmv_status (*image)(const spmv_device *device, void *buffer, spmv_type type, uint64_t texels, void **image);
    /* Retains a buffer: its handle means no other one until buffer_free was called once more. NULL: handles cannot be retained. */
    spmv_status (*buffer_keep)(const spmv_device *device, void *buffer);
    const spmv_transfer *transfer; /* for several devices that share a matrix; NULL: they cannot */
    /* Builds several programs, in threads at once, as build does one; programs, NULL before, are left so where it fails. NULL: the back end
     * cannot do that. */
    void (*build_all)(const spmv_device *device, const spmv_kernel_source *source, size_t count, void **programs);
    /* What stands for the rest of a buffer from an offset on, wherever a buffer is wanted but to free it, until the buffer is freed:
     * handles are addresses, and vectors are checked as such. NULL: they are not. */
    void *(*within)(void *buffer, uint64_t offset);
    const char *(*absent)(void); /* for messages, after list found no device: why; NULL: it does not say */
} spmv_backend;

/* ======================================== convert ========================================
 * conversion on a device: fills the arrays of parts there, from CSR.
 *
 * The host converts with a few threads and then copies every array to the device. This is slower than copying the CSR matrix once and
 * letting the device fill the arrays. The host still computes what takes time in proportion to rows, slices or tiles: row pointers, slice
 * widths, runs, bases, row lists. Kernels (kernels/convert.cl) put the nonzeros into their slots. They also find the tiles of tcsr,
 * with its bases and row lists, if it takes the whole matrix, and slice widths of a matrix whose row pointers are in buffers of the device.
 * If its columns are, too, kernels find the first and last column of each row, from which bases follow, count the nonzeros of diagonals,
 * and say which nonzeros the diagonals of a split take. All arrays have the same bytes as those that the host fills.
 *
 * spmv_create does this by itself where it pays (spmv_convert_here); spmv_desc.convert says otherwise. Compiling the kernels takes longer
 * than the host takes to fill a matrix of tens of millions of slots ([M10] of docs/measurements.md). Therefore the
 * host fills such matrices until it has spent as long on them as compiling would have taken, unless the kernels are there, the matrix is
 * updatable or in buffers, or the device's programs will be kept for other processes (spmv_device_programs_give). With threads, CUDA
 * compiles these kernels, but those of blocks, beside those of the first product, so that they are there for the second matrix of a plan.
 * With OpenMP and POSIX threads, but not with SPMV_PARALLEL, spmv_create has one thread upload the CSR matrix, through pinned memory, while
 * the others find the plan and count rows, if the matrix takes 4 MiB or more and the kernels are there or need not pay. The phase "upload"
 * is then what is left.
 * What the device does not fill is filled by the host: parts of cmrs with the key sort, and arrays larger than a buffer of the device. csr
 * without runs takes over the buffers of the matrix.
 */

/* 1 if converting on the device is expected to be faster than on the host: it is neither a CPU nor a device that shares the memory of the
 * host. 0 for NULL. */
SPMV_API int spmv_convert_here(const spmv_device *device);

#ifdef __cplusplus
}
#endif
#endif
