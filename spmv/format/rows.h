/* SPDX-License-Identifier: MIT
 *
 * spmv/format/rows.h - how rows of csr, coo and formats like them are filled.
 */
#ifndef SPMV__FORMAT_ROWS_H
#define SPMV__FORMAT_ROWS_H

#include "../shape.h"

/* ---- rows of csr and coo ------------------------------------------------------------------------------------------ */

/* How the host sums rows of csr, and those of formats that share its code. */
/* Nonzeros: rows with fewer have a loop for their length where most are alike, and blocks with at most so many in a row on average are
 * summed without branches. */
#define SPMV__SHORT 8
#define SPMV__BLOCK_ROWS 64 /* of which all are short or the block is not */
#define SPMV__FOUR 4 /* nonzeros that a row of a short block has at most, which are multiplied at once */
#define SPMV__ALIKE_ROWS 5 /* rows are alike if fewer than one in so many is not as long as the row before */
/* Of x, bytes: more than these will not stay in the caches beside the matrix. If at least one nonzero in SPMV__FAR_ONE is far from those
 * before it, x is fetched in advance, by SPMV__FAR nonzeros. With 1 to 2 MB this made products up to 1.4 times slower unless most nonzeros
 * are far and rows are long (0.75 to 1.0 of the time); from 5 MB on it left 0.4 to 1.0 of the time. */
#define SPMV__FAR_BYTES 5000000
#define SPMV__FAR_LESS 1000000
#define SPMV__FAR_ONE 16
#define SPMV__FAR 96
#define SPMV__CACHE_LINE 64 /* bytes */
/* Of spmv__csr_is_uneven: so many rows are looked at in so many places; fewer rows are learnt by heart in repeated products; see there
 * for the others. */
enum { SPMV__GUESS_ROWS = 8192, SPMV__GUESS_PLACES = 8, SPMV__GUESS_LEAST = 2000, SPMV__GUESS_BITS = 13 };
enum { SPMV__MISSED_F32 = 11, SPMV__MISSED_F64 = 8 };
/* The sample that tells whether columns are scattered: so many rows at each of so many places, of each so many nonzeros. */
enum { SPMV__FAR_PLACES = 32, SPMV__FAR_ROWS = 32, SPMV__FAR_LONGEST = 256 };

#if SPMV__ONLY & (SPMV_BIT_CSR | SPMV_BIT_COO)
/* Counts the nonzeros of row i, and those in none of whose cache lines of x, nor beside them, the row before or the nonzero before has one.
 * line is the number of elements in a cache line. */
static void spmv__csr_look(const spmv__source *s, uint64_t i, uint64_t line, uint64_t *all, uint64_t *apart)
{
    const spmv_csr *a = s->v->a;
    uint64_t before = spmv__source_row(s, i - 1), r = spmv__source_row(s, i), k = a->ptr[r], last = 0;
    uint64_t j = a->ptr[before];
    const uint64_t stop = a->ptr[before + 1], end = spmv__smaller(a->ptr[r + 1], k + SPMV__FAR_LONGEST);
    for (; k < end; k++) {
        const uint64_t c = a->col[k];
        if (!spmv__mine(s->v, k)) continue;
        while (j < stop && a->col[j] + line < c) j++;
        *apart += (j == stop || a->col[j] > c + line) && (!last || c > last + line);
        last = c;
        ++*all;
    }
}

/* 1 if in a sample of rows many nonzeros are far from all near them. */
SPMV__APART int spmv__csr_looks_far(const spmv_part *p, const spmv__source *s)
{
    const uint64_t size = spmv_vector_size(p->type), step = p->rows / SPMV__FAR_PLACES;
    uint64_t place, i, all = 0, apart = 0;
    for (place = 0; place < SPMV__FAR_PLACES; place++)
        for (i = place * step + 1; i < place * step + SPMV__FAR_ROWS; i++) spmv__csr_look(s, i, SPMV__CACHE_LINE / size, &all, &apart);
    if (p->cols >= SPMV__FAR_BYTES / size) return apart * SPMV__FAR_ONE > all;
    return apart * 2 > all && p->nnz / SPMV__SHORT >= p->rows;
}

/* 1 if a product will mostly wait for elements of x: x is large, and many nonzeros are far from all near them. 0 if the columns stay on a
 * device, where nobody asks. */
static int spmv__csr_is_far(const spmv_part *p, const spmv__source *s)
{
    if (!s->v->a->col || p->cols < SPMV__FAR_LESS / spmv_vector_size(p->type)) return 0;
    return p->rows / SPMV__FAR_PLACES > SPMV__FAR_ROWS && spmv__csr_looks_far(p, s);
}

/* What rows are like: the longest row, rows whose length, if it is short, is not that of the row before, and blocks of rows that all are
 * short. */
typedef struct spmv__csr_found {
    uint64_t longest, changes, fits;
} spmv__csr_found;

/* Looks at rows first .. end - 1, which are whole blocks but at the end of the matrix. */
SPMV__APART void spmv__csr_lengths_rows(const uint64_t *ptr, uint64_t first, uint64_t end, spmv__csr_found *found)
{
    uint64_t i, n, before = first ? spmv__smaller(ptr[first] - ptr[first - 1], SPMV__SHORT) : 0;
    uint64_t longest = 0, changes = 0, fits = 0, in_block = 0; /* in_block: the longest row of the block so far */
    for (i = first; i < end; i++) {
        n = ptr[i + 1] - ptr[i];
        in_block = n > in_block ? n : in_block;
        n = n < SPMV__SHORT ? n : SPMV__SHORT;
        changes += (uint64_t)(n != before);
        before = n;
        if ((i + 1) % SPMV__BLOCK_ROWS && i + 1 < end) continue;
        longest = in_block > longest ? in_block : longest;
        fits += (uint64_t)(in_block <= SPMV__FOUR && (i + 1) % SPMV__BLOCK_ROWS == 0);
        in_block = 0;
    }
    found->longest = longest;
    found->changes = changes;
    found->fits = fits;
}

/* The rows in shares, and what each finds. */
typedef struct spmv__csr_shares {
    const uint64_t *ptr;
    uint64_t        rows, shares;
    spmv__csr_found found[SPMV__MOST_SHARES];
} spmv__csr_shares;

static void spmv__csr_lengths_share(void *job, uint64_t share)
{
    spmv__csr_shares *c = (spmv__csr_shares *)job;
    const uint64_t blocks = spmv__ceil_div(c->rows, SPMV__BLOCK_ROWS), first = blocks * share / c->shares * SPMV__BLOCK_ROWS;
    const uint64_t end = spmv__smaller(blocks * (share + 1) / c->shares * SPMV__BLOCK_ROWS, c->rows);
    spmv__csr_lengths_rows(c->ptr, first, end, &c->found[share]);
}

/* Looks at all rows in shares, whose results would take too much of the stack of a small matrix. */
SPMV__APART void spmv__csr_lengths_among(const uint64_t *ptr, uint64_t rows, uint64_t shares, spmv__csr_found *all)
{
    spmv__csr_shares c;
    uint64_t share;
    c.ptr = ptr;
    c.rows = rows;
    c.shares = shares;
    spmv__share_out(spmv__csr_lengths_share, &c, shares);
    all->longest = all->changes = all->fits = 0;
    for (share = 0; share < shares; share++) {
        if (c.found[share].longest > all->longest) all->longest = c.found[share].longest;
        all->changes += c.found[share].changes;
        all->fits += c.found[share].fits;
    }
}

/* 1 if a processor will often mispredict how long the next row is, so often that it pays to sum rows without branches. What it learns is
 * imitated: the length that followed the last four the last time, in rows from several places. The limit is from products with
 * 12 matrices: a mispredicted row costs as much as so many nonzeros more in an uneven block do. */
SPMV__APART int spmv__csr_is_uneven(const spmv_part *p, const uint64_t *ptr)
{
    uint8_t next[1 << (SPMV__GUESS_BITS - 1)]; /* two guesses of 4 bits in a byte */
    const uint64_t count = spmv__smaller(p->rows / SPMV__GUESS_PLACES, SPMV__GUESS_ROWS);
    uint64_t place, i, missed = 0, nonzeros = 0;
    uint32_t last = 0;
    memset(next, 0, sizeof next);
    for (place = 0; place < SPMV__GUESS_PLACES; place++) {
        const uint64_t first = p->rows / SPMV__GUESS_PLACES * place;
        for (i = first; i < first + count; i++) {
            const uint32_t n = (uint32_t)spmv__smaller(ptr[i + 1] - ptr[i], 15);
            const uint32_t slot = (uint32_t)(last * 0x9e3779b1u) >> (32 - SPMV__GUESS_BITS), shift = slot % 2 * 4;
            uint8_t *guess = &next[slot / 2];
            missed += (*guess >> shift & 15) != n;
            *guess = (uint8_t)((*guess & 0xf0 >> shift) | n << shift);
            last = (last << 4 | n) & 0xffff;
        }
        nonzeros += ptr[first + count] - ptr[first];
    }
    return missed * (p->type == SPMV_F32 ? SPMV__MISSED_F32 : SPMV__MISSED_F64) > nonzeros;
}

/* Sets what the host's product of csr or coo should know about the lengths of the rows, and about its columns. Rows are taken in
 * blocks if half of them are in short ones, or if their lengths are uneven. */
static void spmv__csr_lengths(spmv_part *p, const spmv__source *s)
{
    const uint64_t shares = spmv__share_count(p->rows);
    spmv__csr_found all;
    if (shares == 1) spmv__csr_lengths_rows(s->ptr, 0, p->rows, &all);
    else spmv__csr_lengths_among(s->ptr, p->rows, shares, &all);
    if (all.longest > p->longest) p->longest = all.longest;
    p->lengths = spmv__csr_is_far(p, s) ? SPMV__LENGTHS_FAR : SPMV__LENGTHS_MIXED;
    if (p->lengths == SPMV__LENGTHS_FAR || p->nnz / SPMV__SHORT >= p->rows) return;
    if (all.changes * SPMV__ALIKE_ROWS < p->rows) p->lengths = SPMV__LENGTHS_ALIKE;
    else if (all.fits * 2 * SPMV__BLOCK_ROWS > p->rows || (p->rows >= SPMV__GUESS_LEAST && spmv__csr_is_uneven(p, s->ptr)))
        p->lengths = SPMV__LENGTHS_BLOCKS;
}
#endif

#endif
