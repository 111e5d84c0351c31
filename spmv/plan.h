/* SPDX-License-Identifier: MIT
 *
 * spmv/plan.h - plans: how a matrix is divided into parts, and in which format each part is stored.
 *
 * A plan is an ordered list of parts; each takes its nonzeros from those that the earlier parts left. Its text form is
 *
 *     plan := part ("+" part)*        part := name [":" key "=" value ("," key "=" value)*]
 *
 * with the format names and keys of spmv_formats.h: "ell:w=5+coo", "bdia:d=0.6+sbell:b=4x4,d=0.5+csr:rows=nonempty".
 * Blanks are allowed around every word. The text and the matrix alone determine which part takes which nonzero.
 *
 * A builder makes a plan for a matrix: hyb, hyb-csr, hybr, cmrs. Functions that take a plan as text accept the name of a builder
 * as well, with keys of its own: "hybr:k=3,x=1".
 *
 * The interface comes in three tiers:
 *     start here   spmv_plan and its text, spmv_plan_make
 *     more         the stored parts of a matrix on the host (spmv_store), builders
 *     for tools    which part owns which nonzero (spmv_split)
 */
#ifndef SPMV_PLAN_H
#define SPMV_PLAN_H

#include "../spmv_formats.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- start here --------------------------------------------------------------------------------------------------- */

enum { SPMV_MAX_PARTS = 64, SPMV_PLAN_TEXT = 8192 /* bytes that hold the text of any plan and the 0 at its end */ };

typedef struct spmv_plan {
    int       count; /* parts, 1 .. SPMV_MAX_PARTS */
    spmv_spec part[SPMV_MAX_PARTS];
} spmv_plan;

/* Seconds that one product by this plan takes, for builders that try several; negative if it cannot run.
 *   user     measure_user of spmv_build_hints
 *   plan     the plan to be measured
 *   variant  knobs of its kernels as text, part by part ("L=8+WG=128", "" for the defaults; spmv/device.h); ignore it on the host */
typedef double (*spmv_measure)(void *user, const spmv_plan *plan, const char *variant);

/* Monotonic time in seconds. user: clock_user of spmv_build_hints. */
typedef double (*spmv_clock)(void *user);

/* Products that are expected if the hints do not say how many: an iterative solver, or a few of them. */
enum { SPMV_EXPECTED_CALLS = 1000 };

/* What builders and the choice of spmv/choice.h may use. Zero-initialise; zero is the default of every member. */
typedef struct spmv_build_hints {
    spmv_measure measure; /* hybr:k=0 needs it, and cmrs then takes the height that is fastest; NULL: nothing is measured */
    void        *measure_user;   /* handed to measure */
    spmv_clock   clock;          /* plan "measure" on the host: NULL: the clock of OpenMP or of the system. The latter needs POSIX or
                                    Windows; strict C99 hides it in programs of 32 bits */
    void        *clock_user;     /* handed to clock */
    uint64_t     expected_calls; /* auto, measure: the number of products in which analysis and conversion must pay off; 0:
                                    SPMV_EXPECTED_CALLS */
    unsigned     without;        /* auto, measure, cocktail: bits such as 1u << SPMV_DIA of formats that must not be used;
                                    SPMV_ERR_UNSUPPORTED if no other may be. A plan or builder that is named is used as it is */
    unsigned     vectors;        /* auto: how many vectors products have most often (spmv_mul_many); 0: one */
    const struct spmv_tuning *tuning; /* auto, measure, cocktail: the caller's table (spmv/choice.h). NULL: the bundled one for the device,
                                         which is read once for each device, and on the host again for each matrix, in less than 0.1 ms */
    struct spmv_choice *choice;  /* spmv_create writes here how it chose, for spmv_explain, where there was a choice; NULL: it
                                    is not kept */
    char        *steps;          /* cocktail: SPMV_COCKTAIL_TEXT bytes, where every inequality is written, for spmv_explain; NULL: they
                                    are not kept */
} spmv_build_hints;

/* Makes a plan for a matrix from text.
 *   plan    becomes the plan; on failure it is zeroed
 *   text    the text of a plan, which is only parsed, or the name of a builder with its keys:
 *             hyb, hyb-csr  rows=N    column k is taken while at least max(rows, M/3) of the M rows reach it; default 4096
 *             hybr          x=P       split until COO holds under P percent of the nonzeros; default 0.5
 *                           k=0..4    how the width K of a level is chosen: 1 (default) as hyb does; 2 the mean row length, rounded
 *                                     down, 4 one more; 3 while nonzeros fill over a third of the ELL part; 0 by measuring every K
 *                           rows=N    stop as well where fewer rows are left; default 4096
 *                           levels=N  at most N levels of ELL; default 0: no limit but SPMV_MAX_PARTS
 *             cmrs          (no keys) of the strip heights 2, 4, 8 and 16, the one that hints->measure finds fastest; without it the
 *                                     one with which the fewest bytes are read, where columns come in sectors of 32 bytes and a
 *                                     greater height must save 5%
 *   a       the matrix; may be NULL for the text of a plan
 *   hints   what the builder may use; may be NULL
 *   column  the 1-based column of the fault in text; 0 if the text is not at fault. May be NULL
 *   hooks   may be NULL
 * SPMV_ERR_PLAN, SPMV_ERR_UNSUPPORTED, SPMV_ERR_MEMORY; SPMV_ERR_ARGUMENT where hybr:k=0 has no measure. */
SPMV_API spmv_status spmv_plan_make(spmv_plan *plan, const char *text, const spmv_csr *a, const spmv_build_hints *hints,
                                    int *column, const spmv_hooks *hooks);
/* Parses the text of a plan; names of builders are not accepted here. The message names the column of a fault.
 *   plan    becomes the plan; on failure it is zeroed
 *   text    the text
 *   column  as in spmv_plan_make
 *   hooks   may be NULL */
SPMV_API spmv_status spmv_plan_parse(spmv_plan *plan, const char *text, int *column, const spmv_hooks *hooks);
/* Writes the text form, which parses to the same plan again; keys with their default value are left out. As snprintf does, it ends
 * the text with a 0 if size > 0 and returns the length of the whole text. */
SPMV_API size_t spmv_plan_print(const spmv_plan *plan, char *out, size_t size);

/* ---- more: builders -----------------------------------------------------------------------------------------------
 * X(IDENT, "name", "what it makes"). */
#define SPMV_BUILDER_LIST(X)                                                                                      \
    X(HYB,     "hyb",     "ELL for the columns that enough rows reach, COO for the rest (Bell, Garland 2009)")    \
    X(HYB_CSR, "hyb-csr", "as hyb, but the rest as CSR over non-empty rows (Grewe, Lokhmotov 2011, 5.1)")         \
    X(HYBR,    "hybr",    "several levels of ELL, each of the rows that are left, then COO (Xu et al. 2012, IV)") \
    X(CMRS,    "cmrs",    "CMRS with the strip height that suits the row lengths (Koza et al. 2013)")

typedef enum spmv_builder {
#define X(ID, name, text) SPMV_BUILDER_##ID,
    SPMV_BUILDER_LIST(X)
#undef X
    SPMV_BUILDER_COUNT
} spmv_builder;

/* The name and the description of a builder; "unknown" if there is no such builder. */
SPMV_API const char *spmv_builder_name(spmv_builder builder);

/* ---- more: all parts of a matrix ---------------------------------------------------------------------------------- */

typedef struct spmv_store {
    uint64_t   rows, cols, nnz;
    spmv_type  type;
    int        count;      /* parts stored: those of the plan that hold nonzeros */
    int        plan_count; /* parts of the plan */
    spmv_part *part;       /* count */
    spmv_spec *plan;       /* plan_count; behind the parts, in the same block */
    spmv_hooks hooks;
} spmv_store;

/* Splits a matrix by a plan and stores every part.
 *   out    need not be initialised; on failure it is zeroed. Destroy it with spmv_store_destroy
 *   plan   the plan, which is copied
 *   a      the matrix; must outlive the store only if how->borrow is 1
 *   how    as in spmv_part_create; max_bytes is for each part
 *   hooks  may be NULL
 * The message of a failure names the part. Statuses are those of spmv_split_create and spmv_part_create. */
SPMV_API spmv_status spmv_store_create(spmv_store *out, const spmv_plan *plan, const spmv_csr *a, const spmv_build *how,
                                       const spmv_hooks *hooks);
/* y = alpha A x + beta y on the host.
 *   store        the store; any number of threads may use it at the same time, each with its own y
 *   alpha, beta  with beta 0, y is not read; with alpha 0, neither is x
 *   x            store->cols elements of the vector type; may be NULL if there are none, or if alpha is 0
 *   y            store->rows elements; may be NULL if there are none. Where x is read and overlaps y: SPMV_ERR_ARGUMENT
 * Uses threads as spmv_part_mul does. Fails only where a needed pointer is NULL (SPMV_ERR_ARGUMENT). */
SPMV_API spmv_status spmv_store_mul(const spmv_store *store, double alpha, const void *x, double beta, void *y);
/* Takes the values of a, which spmv_csr_update changed. The store must have been made updatable, else SPMV_ERR_FIXED. */
SPMV_API spmv_status spmv_store_update(spmv_store *store, const spmv_csr *a);
SPMV_API void spmv_store_destroy(spmv_store *store);
/* Bytes that a product reads of all parts, and their slots: stored elements, padding and fill included. */
SPMV_API uint64_t spmv_store_bytes(const spmv_store *store);
SPMV_API uint64_t spmv_store_slots(const spmv_store *store);

/* ---- for tools: splitting -----------------------------------------------------------------------------------------
 * Which part owns which nonzero, and the row list of each part: the meaning of a plan for one matrix. */
typedef struct spmv_split {
    int        count;                 /* parts */
    uint8_t   *owner;                 /* one byte for each nonzero, the number of its part; NULL: all belong to part 0 */
    uint32_t  *list[SPMV_MAX_PARTS];  /* row lists; NULL: all rows in order */
    uint64_t   rows[SPMV_MAX_PARTS];  /* rows of each part: of its list, or of the matrix */
    uint64_t   nnz[SPMV_MAX_PARTS];   /* nonzeros of each part */
    spmv_hooks hooks;
} spmv_split;

/* Assigns every nonzero to a part.
 *   out    need not be initialised; on failure it is zeroed. Destroy it with spmv_split_destroy
 *   plan   the plan
 *   a      the matrix
 *   hooks  may be NULL
 * SPMV_ERR_INCOMPLETE if the last part leaves nonzeros; SPMV_ERR_PLAN, SPMV_ERR_ARGUMENT or SPMV_ERR_UNSUPPORTED where the plan is
 * not valid; SPMV_ERR_MEMORY. */
SPMV_API spmv_status spmv_split_create(spmv_split *out, const spmv_plan *plan, const spmv_csr *a, const spmv_hooks *hooks);
SPMV_API void spmv_split_destroy(spmv_split *split);
/* The view of part i, for spmv_part_create; it points into split and a. Zeroed if there is no part i. */
SPMV_API spmv_view spmv_split_view(const spmv_split *split, const spmv_csr *a, int i);
/* Writes the shares of the nonzeros in the papers' notation, "ELL(81%)COO(19%)", without parts that hold none.
 *   split, plan    a split and the plan it was made by
 *   out, size  as in spmv_plan_print */
SPMV_API size_t spmv_split_print(const spmv_split *split, const spmv_plan *plan, char *out, size_t size);

#ifdef __cplusplus
}
#endif
#endif
