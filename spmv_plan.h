/* SPDX-License-Identifier: MIT
 *
 * spmv_plan.h - plans: how a matrix is divided into parts, and each part's format.
 *
 * A plan is an ordered list of parts; each takes its nonzeros out of what the earlier parts left. Its text form is
 *
 *     plan := part ("+" part)*        part := name [":" key "=" value ("," key "=" value)*]
 *
 * with the format names and keys of spmv_formats.h: "ell:w=5+coo", "bdia:d=0.6+sbell:b=4x4,d=0.5+csr:rows=nonempty".
 * Spaces are allowed around every word. The text and the matrix alone determine the split.
 *
 * A builder makes a plan for a matrix: hyb, hyb-csr, hybr, cmrs. Where a plan's text is asked for, a builder's name
 * (with its own keys, "hybr:k=3,x=1") is accepted as well.
 *
 * If you only want the interface, stop at "END OF THE INTERFACE".
 */
#include "spmv_formats.h" /* above the guard: its implementation may be wanted although this interface was seen */
#ifndef SPMV_PLAN_H
#define SPMV_PLAN_H

#ifdef __cplusplus
extern "C" {
#endif

enum { SPMV_MAX_PARTS = 64, SPMV_PLAN_TEXT = 4096 /* bytes that hold any plan's text, its end included */ };

typedef struct spmv_plan {
    int       count; /* parts, 1 .. SPMV_MAX_PARTS */
    spmv_spec part[SPMV_MAX_PARTS];
} spmv_plan;

/* Reads a plan's text; builders' names are not accepted here. On failure the message names the column, *column
 * (may be NULL) is the 1-based column of the fault, and *plan is zeroed. */
SPMV_API spmv_status spmv_plan_parse(spmv_plan *plan, const char *text, int *column, const spmv_hooks *hooks);
/* Writes the text form, which parses back to the same plan; keys at their default are left out. Like snprintf: always
 * terminated if size > 0, returns the length of the whole text. */
SPMV_API size_t spmv_plan_print(const spmv_plan *plan, char *out, size_t size);
/* Checks every part by spmv_spec_check, and strict mode if strict is 1. */
SPMV_API spmv_status spmv_plan_check(const spmv_plan *plan, int strict, const spmv_hooks *hooks);

/* ---- builders ----------------------------------------------------------------------------------------------------
 * X(IDENT, "name", "what it makes"). */
#define SPMV_BUILDER_LIST(X)                                                                                      \
    X(HYB,     "hyb",     "ELL for the columns enough rows reach, COO for the rest (Bell, Garland 2009)")         \
    X(HYB_CSR, "hyb-csr", "the same, the rest as CSR over non-empty rows (Grewe, Lokhmotov 2011, 5.1)")           \
    X(HYBR,    "hybr",    "ELL again and again, rows by falling length, then COO (Xu et al. 2012, IV)")           \
    X(CMRS,    "cmrs",    "CMRS with a strip height by the mean row length (Koza et al. 2013)")

typedef enum spmv_builder {
#define X(ID, name, text) SPMV_BUILDER_##ID,
    SPMV_BUILDER_LIST(X)
#undef X
    SPMV_BUILDER_COUNT
} spmv_builder;

SPMV_API const char *spmv_builder_name(spmv_builder b);
SPMV_API const char *spmv_builder_text(spmv_builder b);

/* Seconds (any unit, less is better) that one product by this plan takes; negative if it cannot run. The library has no clock:
 * whatever times is the caller's. */
typedef double (*spmv_measure)(void *user, const spmv_plan *plan);

/* What builders may use; zero means default. */
typedef struct spmv_build_hints {
    spmv_measure measure; /* needed by hybr:k=0 (exhaustive choice of every K) only */
    void        *measure_user;
} spmv_build_hints;

/* Makes a plan for a matrix from text: a builder's name with its keys, or a plan's text, which is only parsed.
 *   hyb, hyb-csr   rows=N   a k-th column is taken while at least max(rows, M/3) of the M rows reach it; default 4096
 *   hybr           x=P      split until COO holds under P percent of the nonzeros; default 0.5
 *                  k=1|2|3|4|0 how a level's width K is chosen: 1 (default) as hyb; 2 the floor, 4 the ceiling of the
 *                           mean row length; 3 while nonzeros fill over a third of the ELL part; 0 by measuring every K
 *                  rows=N   also stop where fewer rows are left; default 4096
 *                  levels=N at most N levels of ELL; default 0: no limit but SPMV_MAX_PARTS
 *   cmrs           (no keys)
 * On failure *plan is zeroed and *column (may be NULL) is the 1-based column of the fault, 0 if the text is not at fault. */
SPMV_API spmv_status spmv_plan_make(spmv_plan *plan, const char *text, const spmv_csr *a, const spmv_build_hints *hints,
                                    int *column, const spmv_hooks *hooks);

/* ---- splitting ---------------------------------------------------------------------------------------------------
 * Which part owns which nonzero, and each part's row list: the plan's meaning for one matrix. */
typedef struct spmv_split {
    int        count;                 /* parts */
    uint8_t   *owner;                 /* one byte a nonzero; NULL: all belong to part 0 */
    uint32_t  *list[SPMV_MAX_PARTS];  /* row lists, or NULL */
    uint64_t   rows[SPMV_MAX_PARTS];  /* rows of each part: of its list, or of the matrix */
    uint64_t   nnz[SPMV_MAX_PARTS];   /* nonzeros of each part */
    spmv_hooks hooks;
} spmv_split;

/* out need not be initialised; on failure it is zeroed. SPMV_ERR_INCOMPLETE if the last part leaves nonzeros. */
SPMV_API spmv_status spmv_split_make(spmv_split *out, const spmv_plan *plan, const spmv_csr *a, const spmv_hooks *hooks);
SPMV_API void spmv_split_free(spmv_split *s);
/* The view of part i for spmv_part_build. */
SPMV_API spmv_view spmv_split_view(const spmv_split *s, const spmv_csr *a, int i);
/* The shares in the papers' notation, "ELL(81%)COO(19%)"; parts without nonzeros are left out. Like snprintf. */
SPMV_API size_t spmv_split_print(const spmv_split *s, const spmv_plan *plan, char *out, size_t size);

/* ---- all parts together ------------------------------------------------------------------------------------------ */
typedef struct spmv_store {
    spmv_plan  plan;
    spmv_type  type;
    uint64_t   rows, cols, nnz;
    int        count;               /* parts stored: those of the plan that hold nonzeros (at least one if the matrix
                                       has rows and the plan's first part covers them all, else maybe none) */
    spmv_part *part;                /* count */
    int        index[SPMV_MAX_PARTS]; /* part i of the store is part index[i] of the plan */
    char       shares[256];         /* spmv_split_print */
    spmv_hooks hooks;
} spmv_store;

/* Splits a by plan and stores every part. how as in spmv_part_build (max_bytes: for each part). On failure *out is zeroed
 * and the message names the part. */
SPMV_API spmv_status spmv_store_make(spmv_store *out, const spmv_plan *plan, const spmv_csr *a, const spmv_build *how,
                                     const spmv_hooks *hooks);
/* New values, those of a after spmv_csr_update; the store must have been made updatable. */
SPMV_API spmv_status spmv_store_update(spmv_store *s, const spmv_csr *a);
SPMV_API void spmv_store_free(spmv_store *s);
SPMV_API uint64_t spmv_store_bytes(const spmv_store *s);
SPMV_API uint64_t spmv_store_slots(const spmv_store *s);
/* y = alpha A x + beta y on the host. Threads as in spmv_part_mul. */
SPMV_API void spmv_store_mul(const spmv_store *s, double alpha, const void *x, double beta, void *y);
/* 1 if part i, multiplied first, sets every row of y, so that beta need no pass of its own. */
SPMV_API int spmv_part_covers(const spmv_part *p, uint64_t matrix_rows);

#ifdef __cplusplus
}
#endif
#endif /* SPMV_PLAN_H */
/* ============================================ END OF THE INTERFACE ============================================== */
