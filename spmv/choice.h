/* SPDX-License-Identifier: MIT
 *
 * spmv/choice.h - the automatic choice of a plan: tuning tables, estimates, "auto", "measure" and "cocktail".
 */
#ifndef SPMV_CHOICE_H
#define SPMV_CHOICE_H

#include "plan.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ======================================== table ========================================
 * tuning tables: what products cost on a device, a line for each way to store and multiply a matrix.
 *
 * A table is text, written by "spmv tune", and short enough to be read and changed by hand. Its head says what the device is; then comes a
 * line for each candidate, which is a format with its keys and the knobs of its kernel, in a type:
 *
 *     spmv tuning table 2
 *     device NVIDIA H200          the name that the device reports; "host" for products on the host
 *     class gpu                   gpu, cpu (OpenCL) or host
 *     driver CUDA 13.0            or the compiler of the host products
 *     date 2026-11-27
 *     units 132                   compute units, or cores
 *     launch 0.86                 microseconds of the smallest product
 *     call 3.1                    the same if the host launches each product; without this line, launch is that time
 *     memory 4500                 GB/s
 *     cache 56 6866               MiB that are read faster when read again, and GB/s then; optional
 *     step 0.065 512 0.067        GPUs: microseconds of one step of the longest row where other rows do not hide it: in a row of up to 512
 *                                 steps, and in a longer one; optional
 *     prepare 1910 174000 1000 320  picoseconds for each nonzero by which a further part of a plan makes preparing longer; microseconds of
 *                                 building the kernels of a plan; of a look at a matrix in buffers of the device microseconds, and
 *                                 picoseconds for each byte of its pointers and columns; optional
 *     error 0.25 63 2900          of the fit: error of estimates for structures left out of it, as log2; structures; samples; optional
 *     regret f64 1.040 1.30       of the same: times as long as with the best candidate takes the one that is estimated to be the best:
 *                                 geometric mean, most; optional
 *     blocks f64 bcsr 1.03 1.03 0.74 1.08 1.27 0.94 0.81 1.02  cocktail: of each of clSpMV's block sizes, 1x4 2x4 4x4 8x4 1x8 2x8 4x8 8x8,
 *                                 how many times as long a product takes as the line says that is most like it; optional
 *     # type plan knobs  launch bytes reads slots rows uneven chain  prepare: us, ps a slot
 *     f64 csr -          0.47   0.97  4.53  0     2.63 1.86   0.98   65 750
 *
 * The seven costs of a line are factors of what SPMV_COST_LIST counts, and the estimate of a product is their sum:
 *
 *     seconds = launch * L + bytes / speed * B + (reads * R + slots * S + rows * W + uneven * U) ps + chain * C
 *
 * docs/tuning.md does this for a matrix. A line that begins with "#" is a comment.
 */

enum {
    SPMV_TUNE_VARIANT = 40, /* bytes of the text of a variant of one part, with its end */
    SPMV_TUNE_NAME    = 128, /* bytes of the name of a device, with its end */
    SPMV_TUNE_BLOCKS  = 8    /* block sizes of clSpMV: the first of SPMV_BLOCK_LIST */
};

/* X(IDENT, "name", seconds of a cost of 1): of what a product consists. The first, second and last are seconds already. */
#define SPMV_COST_LIST(X)                                                                                                    \
    X(LAUNCH, "launch", 1)     /* of the smallest product */                                                                 \
    X(BYTES,  "bytes",  1)     /* of the part, x and y at the speed of the cache or, if they do not fit, of memory */        \
    X(READS,  "reads",  1e-12) /* of x that need another line of the cache than the read before */                           \
    X(SLOTS,  "slots",  1e-12) /* of its arrays that a product multiplies */                                                 \
    X(ROWS,   "rows",   1e-12)                                                                                               \
    /* nonzeros times the deviation of row lengths over their mean, what waits for longer rows; on the host, rows that are */ \
    /* not as long as the row before, whose ends a processor mispredicts */                                                  \
    X(UNEVEN, "uneven", 1e-12)                                                                                               \
    X(CHAIN,  "chain",  1)     /* the longest row alone, step by step on a GPU, else by one core at its share of the speed */

typedef enum spmv_cost {
#define X(ID, name, unit) SPMV_COST_##ID,
    SPMV_COST_LIST(X)
#undef X
    SPMV_COST_COUNT
} spmv_cost;

/* A line of a table. */
typedef struct spmv_candidate {
    spmv_type type;
    spmv_spec layout;                     /* a format with the keys of its layout */
    char      variant[SPMV_TUNE_VARIANT]; /* knobs as text, "": the defaults */
    double    cost[SPMV_COST_COUNT];
    double    begin, slot;                /* seconds that preparing takes, and more for each slot */
} spmv_candidate;

typedef struct spmv_tuning {
    char            device[SPMV_TUNE_NAME], driver[SPMV_TUNE_NAME], date[16];
    spmv_device_class device_class;
    uint64_t        units;             /* compute units or cores */
    double          launch, call;      /* seconds of the smallest product; if the host launches each (0: the same) */
    double          read;              /* GB/s of memory */
    double          cache, cache_read; /* MiB, GB/s; 0: not known */
    double          step, long_step;   /* seconds of a step of a row of up to short_steps steps, and of a longer one; 0: not known */
    uint64_t        short_steps;
    double          part, build, look, look_byte; /* seconds that preparing takes: see "prepare" */
    double          error;             /* of estimates for structures that were left out of the fit, as log2; 0: not known */
    uint64_t        structures, samples;
    double          regret[SPMV_TYPE_COUNT], worst[SPMV_TYPE_COUNT]; /* 0: not known */
    float           blocks[SPMV_TYPE_COUNT][SPMV_FORMAT_COUNT][SPMV_TUNE_BLOCKS];   /* of block formats; 0: not known */
    size_t          count;
    spmv_candidate *line;
    spmv_hooks      hooks;
} spmv_tuning;

/* Reads a table. Nothing in the text is trusted.
 *   out     need not be initialised; on failure it is zeroed. Destroy it with spmv_tuning_destroy
 *   text    the table; need not end in a 0
 *   length  bytes of text
 *   name    for messages such as "name, line 3: ..."; NULL: "tuning table"
 *   hooks   may be NULL
 * SPMV_ERR_PARSE, SPMV_ERR_MEMORY. */
SPMV_API spmv_status spmv_tuning_create(spmv_tuning *out, const char *text, size_t length, const char *name, const spmv_hooks *hooks);
SPMV_API void spmv_tuning_destroy(spmv_tuning *tuning);
/* The text of the bundled table for a device, else of one for its class, of the same runtime if there is one; NULL if there is none of the
 * class.
 *   device        its name; NULL: unknown
 *   device_class  its class
 *   length        becomes the bytes of the text; may be NULL
 *   exact         becomes 1 if the table is for that very device, else 0; may be NULL */
SPMV_API const char *spmv_tuning_bundled(const char *device, spmv_device_class device_class, size_t *length, int *exact);

/* ---- for tools ---------------------------------------------------------------------------------------------------- */

/* Seconds of a cost of 1 for one of what it counts: 1e-12, or 1 for what takes seconds already. */
SPMV_API double spmv_cost_unit(spmv_cost cost);

/* ======================================== cost ========================================
 * the estimate: how long a product with a part takes, by the costs of a tuning table and the features of the matrix.
 */

/* What the choice needs to know of the device where products will run: its name and its class, as a tuning table has them. spmv_target_of
 * of spmv.h makes it from an open device. All zero: the host. */
typedef struct spmv_target {
    const char       *device;       /* NULL: unknown, so that no table counts as the device's own; on the host: "host" */
    spmv_device_class device_class; /* without a table of the device itself, one of its class is used */
    const spmv_tuning *table;       /* the bundled table for this device if it was read before, so that it need not be read again; NULL:
                                       it is read. spmv_create reads it once for each open device */
    int               exact;        /* 1: that table is the device's own */
    uint64_t          cache;        /* bytes of the cache that all compute units share, as the device says; 0: it has what the table has.
                                       Counts only beside a table of another device, as the next one does */
    double            read;         /* GB/s that its memory can deliver at most; 0: it is as fast as the table says */
    uint64_t          distinct;     /* different values of a matrix whose values are in device memory; 0: not known */
} spmv_target;

/* What a product with a part is predicted to take. */
typedef struct spmv_estimate {
    double   seconds;                /* predicted; 0: the part would be refused, and all else may be 0 */
    double   of[SPMV_COST_COUNT];    /* what the table's costs are multiplied by: seconds, or a number */
    double   share[SPMV_COST_COUNT]; /* the seconds that each cost makes up; on a GPU their sum may be less than seconds, which is at least
                                        that of the bytes and of the longest row */
    uint64_t slots, bytes;           /* of its arrays, counted, with rows that only fill them up */
    double   skipped;                /* of the slots: padding of which a product reads only the column; estimated if blocks were sampled */
} spmv_estimate;

/* Predicts the time of a product by a plan, part by part. The matrix is split, and the arrays of each part are counted, not built.
 *   out      an estimate for each part of the plan; zeroed on failure, unless the plan itself is invalid
 *   plan     the plan; builders' names are for spmv_plan_make
 *   variant  knobs, part by part as in the plan; NULL or parts that are empty: the defaults. A layout or knobs that the table lacks cost
 *            what the line of the table does that is most like them: of the same format if there is one, else of csr
 *   a, how   the matrix and how it would be stored
 *   target   where products would run; NULL: on the host
 *   tuning   the table to go by; NULL: the bundled one
 *   hooks    may be NULL
 * The statuses of spmv_split_create. */
SPMV_API spmv_status spmv_predict(spmv_estimate *out, const spmv_plan *plan, const char *variant, const spmv_csr *a, const spmv_build *how,
                                  const spmv_target *target, const spmv_tuning *tuning, const spmv_hooks *hooks);

/* ======================================== cocktail ========================================
 * the plan "cocktail": the greedy policies of clSpMV (Su, Keutzer 2012, section 3.3), rule by rule.
 *
 * All that the policies know of a device is the rate of each format at a number of rows and of nonzeros in a row, by the costs of a tuning
 * table with banded matrices (5.1). Where a table has no line for a format or block size, the line that is most like it says what its bytes
 * and slots cost. "spmv plan --builder cocktail --explain" prints every inequality.
 *
 * What the paper says, by the names of its policies, the functions that do it, and how they read it where it can be read in several ways:
 * - Formats (2, 4.4): nine, and eight block sizes: spmv__brew_layouts. A slice of SELL has 32, 64, 128 or 256 rows (4.3.2).
 * - Current matrix settings: the rows of the matrix, and the mean nonzeros in a row of what earlier parts left, so that features and rates
 *   are found again after each part: spmv__brew_settle. Of large matrices all policies look at a sample (end of 3.3), windows of 256 rows
 *   with some 2^17 nonzeros, unless single rows are long beside that: spmv__brew_take_windows.
 * - Inequalities are strict; sides that differ by rounding are equal: spmv__is_less.
 * - Priority of the categories: by their highest rate, decided once for the whole matrix: spmv__cocktail_categories.
 * - Dense Diagonals: e_d > n_d g_f / g_d for each diagonal: spmv__next_dense. n_d is the number of its places within the matrix;
 *   what it costs is a slot for each row, as DIA stores it.
 * - BDIA vs DIA: the fastest of only BDIA, only DIA, and BDIA for thick bands with DIA for the others: spmv__choose_diagonals. Thick bands
 *   are those of at least as many diagonals as make the third case the fastest.
 * - Dense Blocks: e_b > n_b g_f / g_b for each block of each size ("g_d" in the paper's text is a misprint), from a histogram of the dense
 *   blocks and one of all blocks in each block row: spmv__cocktail_block_size.
 * - SBELL vs BELL vs BCSR: the fastest: spmv__try_blocks. The formats are compared for each size, once with the dense blocks alone and
 *   once with all blocks, as there is a histogram for either; the rest counts as n / g_f, and all blocks must be faster than that. The
 *   size of the fastest case is taken.
 * - ELL and SELL vs CSR and COO: only CSR or COO if m_c = max(g_CSR, g_COO) > m_e = max(g_ELL, g_SELL): spmv__cocktail_ell. Where "CSR vs
 *   COO" takes COO, although CSR has m_c, the rate of COO is tried as m_c, too.
 * - Extract ELL: the greatest width w with (z + e) / g_ELL < e / m_c: spmv__extract_ell. It goes up to the longest row: beyond there is
 *   only padding. It bounds the mean gain over all columns; the last one by itself may cost more than it gains.
 * - Extract SELL: the same for each slice by itself. The last slice has the rows that there are.
 * - ELL vs SELL: the faster: spmv__try_ell.
 * - CSR vs COO: CSR if u max nnz(i) / g_CSR < n / g_COO: spmv__csr_is_less. The rows are divided among u work-groups in equal
 *   numbers of adjacent rows. u is what a launch of the paper's CSR has, a warp for each row (4.3.3) and four warps in a group; on
 *   processors there is a group for each compute unit.
 * - CSR and BCSR (4.3.3, 4.4.3) have a warp for each row; here they have the lanes that the table's lines have, so that parts run as they
 *   were rated.
 * - Merge small submatrices: spmv__cocktail_merge lets a submatrix go into larger ones: it drops a part, whose nonzeros then go to the
 *   parts behind it by their keys, or lets a part take all that is left, so that no part follows it. The best such change is made as long
 *   as the sum of the estimates falls. These are by rates too, but for the longest row, whose balance counts in every format.
 * Not of the paper is the last line of defence, as rates know neither uneven rows nor scattered reads of x: the plan is the one that takes
 * the least time by the estimate by which "auto" chooses, of those of several parts that were estimated and of each of these formats alone:
 * spmv__brew_defend. CSR alone must gain more than estimates err over several parts where "CSR vs COO" takes COO.
 * Where GFLOP/s of different cases are compared, a part counts with its fill and padding, at the rate of a matrix with as many slots in a
 * row.
 * The plan says which diagonals, blocks and columns of slices a part takes by the keys d and fill, in millionths, and the policies count by
 * these: what exceeds a bound by less than a millionth is left.
 */

enum {
    SPMV_COCKTAIL_PARTS = 5,    /* the most parts: bands, diagonals, blocks, ell or sell, and csr or coo */
    SPMV_COCKTAIL_TEXT  = 16384 /* bytes of the text of all inequalities, with its end */
};

/* ======================================== auto ========================================
 * the library chooses the plan: "auto" goes by estimates, "measure" times the best of these in spmv_create, and "cocktail" goes by the
 * policies above. spmv_create calls spmv_choose, so most programs need no function of this header. The same matrix, table and library make
 * the same choice, on every machine and with any number of threads.
 */

enum {
    SPMV_CHOICE_MAX   = 6, /* the most options that a choice keeps: the cheapest ones, and csr if it may be used */
    SPMV_CHOICE_PARTS = 2  /* the most parts of an option */
};

/* Matrices of up to so many bytes as CSR are tiny: except on GPUs, "auto" takes csr without looking at them. Half of 32 KiB, the smallest
 * first-level cache in use, so that the matrix stays there together with x and y: there a choice takes as long as hundreds of products and
 * finds nothing that is clearly faster. Where fewer products than SPMV_EXPECTED_CALLS are expected, the limit grows in proportion; below
 * SPMV_FEW_CALLS there is none, because even where a choice gains most, it and the conversion take as long as 40 products. */
enum { SPMV_TINY_BYTES = 16384, SPMV_FEW_CALLS = 20 };

/* A plan with the knobs of its kernels, and what it would cost. */
typedef struct spmv_option {
    int       count;   /* parts; 0: this is the first option, by cocktail: see spmv_choice.plan and variant */
    spmv_spec part[SPMV_CHOICE_PARTS];
    char      variant[(int)SPMV_CHOICE_PARTS * SPMV_TUNE_VARIANT];
    double    predicted; /* seconds of a product by the tuning table */
    double    measured;  /* seconds of a product by a clock ("measure"); 0: not measured, negative: it cannot run */
    double    convert;   /* seconds of preparing the matrix, without the choice and without building kernels, as the table says */
    double    cost;      /* seconds by which options are ranked: the time, measured or predicted; as much of a predicted one more for each
                            part after the first as the table's estimates err, and SPMV_RISK_DEVICE more for all but csr where the table is
                            of another device (hosts: always); and the share of convert that falls on each of hints->expected_calls
                            products */
    double    share[SPMV_COST_COUNT]; /* the seconds that each cost of the table makes up */
} spmv_option;

#define SPMV_RISK_DEVICE 0.1 /* by which an estimate by the table of another device may be too low, as a share of it */

typedef struct spmv_choice {
    spmv_plan     plan;                      /* the plan that was chosen */
    char          variant[(int)SPMV_COCKTAIL_PARTS * SPMV_TUNE_VARIANT]; /* its knobs, for spmv_desc.variant */
    int           count;                     /* options, the best first; 0 if the plan was given as text, by tiny, or without nonzeros */
    int           tiny;                      /* 1: the matrix takes up to SPMV_TINY_BYTES, 2: so few products are expected that the same
                                                holds (SPMV_FEW_CALLS), and the target is no GPU, so that the plan is csr and nothing was
                                                compared; a matrix without nonzeros is tiny on GPUs as well */
    spmv_option   option[SPMV_CHOICE_MAX];
    spmv_features features;                  /* cocktail: only the numbers of rows, columns and nonzeros */
    double        csr, convert_csr;          /* predicted seconds of a product of csr without keys, and of preparing it */
    double        build;                     /* seconds of building the kernels of an option, as the table says; on the host 0 */
    double        call;                      /* seconds of the smallest product if the host launches each, as the table says; then a
                                                product may take longer than predicted. 0: predictions contain launches */
    double        error;                     /* of the predictions, as the table says: the standard deviation of log2 of predicted over
                                                measured times; 0: not known */
    const char   *steps;                     /* cocktail: hints->steps */
    char          table[SPMV_TUNE_NAME];     /* the device whose table was used */
    int           exact;                     /* 1: the table is the device's own or the caller's; 0: of another device or the general one */
    unsigned      vectors;                   /* of the hints; 0 or 1: one */
    int           at_once;                   /* 1: the first option multiplies several of them at once; 0: one by one */
    int           val;                       /* if not 0, the key val of the parts of plan beside the keys of the option: the matrix as
                                                CSR is larger than the cache, and its values can be stored so; with 1, formats with fill
                                                have 8 */
} spmv_choice;

/* Chooses a plan and the knobs of its kernels.
 *   out     the choice, with all options and their estimates; on failure it is zeroed
 *   text    "auto", "measure" or NULL: every format competes (nothing is measured here; spmv_create does that for "measure"); "cocktail":
 *           the policies of clSpMV (spmv/choice.h), by the table's costs, which make one plan. Any
 *           other text goes to spmv_plan_make
 *   a       the matrix
 *   how     how it will be stored: type, strict, reproducible and max_bytes count
 *   target  where products will run; NULL: on the host
 *   hints   may be NULL: SPMV_EXPECTED_CALLS products, the bundled table
 *   column  as in spmv_plan_make; may be NULL
 *   hooks   may be NULL
 * For a tiny matrix, or few products (SPMV_FEW_CALLS), "auto" and "measure" are csr and no table is read, unless the target is a GPU or the
 * hints have a table or exclude csr.
 * SPMV_ERR_MEMORY; for other texts the statuses of spmv_plan_make. */
SPMV_API spmv_status spmv_choose(spmv_choice *out, const char *text, const spmv_csr *a, const spmv_build *how, const spmv_target *target,
                                 const spmv_build_hints *hints, int *column, const spmv_hooks *hooks);
/* Writes why a plan was chosen: the features of the matrix, a table of the options with their estimates, the least cost first, of what the
 * time of the first consists, and a sentence with the reason; for "cocktail" every inequality, if hints->steps kept them. As snprintf does,
 * it returns the length of the whole text without its end, of which at most size bytes, a 0 at the end included, are written. */
SPMV_API size_t spmv_explain(const spmv_choice *choice, char *out, size_t size);
/* Writes the plan of option i as spmv_plan_print does; nothing if there is no such option. */
SPMV_API size_t spmv_option_print(const spmv_choice *choice, int i, char *out, size_t size);

#ifdef __cplusplus
}
#endif
#endif
