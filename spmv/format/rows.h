/* SPDX-License-Identifier: MIT
 *
 * spmv/format/rows.h - how rows of csr, coo and formats like them are filled.
 */
#ifndef SPMV__FORMAT_ROWS_H
#define SPMV__FORMAT_ROWS_H

#include "../products.h"

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
/* Of spmv__csr_is_uneven: so many rows are looked at in so many places; fewer rows are learnt by heart in repeated products; see there
 * for the others. */
enum { SPMV__GUESS_ROWS = 8192, SPMV__GUESS_PLACES = 8, SPMV__GUESS_LEAST = 2000, SPMV__GUESS_BITS = 13 };
enum { SPMV__MISSED_F32 = 11, SPMV__MISSED_F64 = 8 };
/* The sample that tells whether columns are scattered: so many rows at each of so many places, of each so many nonzeros. */
enum { SPMV__FAR_PLACES = 32, SPMV__FAR_ROWS = 32, SPMV__FAR_LONGEST = 256 };

#if SPMV__ONLY & (SPMV_BIT_CSR | SPMV_BIT_COO)
/* Counts the nonzeros of row i, and those in none of whose cache lines of x, nor beside them, the row before or the nonzero before has one.
 * line is the number of elements in a cache line. */
static void spmv__csr_count_apart(const spmv__source *source, uint64_t i, uint64_t line, uint64_t *all, uint64_t *apart)
{
    const spmv_csr *a = source->view->a;
    uint64_t before = spmv__source_row(source, i - 1), r = spmv__source_row(source, i), k = a->ptr[r], last = 0;
    uint64_t j = a->ptr[before];
    const uint64_t stop = a->ptr[before + 1], end = spmv__smaller(a->ptr[r + 1], k + SPMV__FAR_LONGEST);
    for (; k < end; k++) {
        const uint64_t c = a->col[k];
        if (!spmv__mine(source->view, k)) continue;
        while (j < stop && a->col[j] + line < c) j++;
        *apart += (j == stop || a->col[j] > c + line) && (!last || c > last + line);
        last = c;
        ++*all;
    }
}

/* 1 if in a sample of rows many nonzeros are far from all near them. */
SPMV__APART int spmv__csr_sample_is_far(const spmv_part *p, const spmv__source *source)
{
    const uint64_t size = spmv_vector_size(p->type), step = p->rows / SPMV__FAR_PLACES;
    uint64_t place, i, all = 0, apart = 0;
    for (place = 0; place < SPMV__FAR_PLACES; place++)
        for (i = place * step + 1; i < place * step + SPMV__FAR_ROWS; i++)
            spmv__csr_count_apart(source, i, SPMV__CACHE_LINE / size, &all, &apart);
    if (p->cols >= SPMV__FAR_BYTES / size) return apart * SPMV__FAR_ONE > all;
    return apart * 2 > all && p->nnz / SPMV__SHORT >= p->rows;
}

/* 1 if a product will mostly wait for elements of x: x is large, and many nonzeros are far from all near them. 0 if the columns stay on a
 * device, where nobody asks. */
static int spmv__csr_is_far(const spmv_part *p, const spmv__source *source)
{
    if (!source->view->a->col || p->cols < SPMV__FAR_LESS / spmv_vector_size(p->type)) return 0;
    return p->rows / SPMV__FAR_PLACES > SPMV__FAR_ROWS && spmv__csr_sample_is_far(p, source);
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
    spmv__csr_shares *sharing = (spmv__csr_shares *)job;
    const uint64_t blocks = spmv__ceil_div(sharing->rows, SPMV__BLOCK_ROWS), first = blocks * share / sharing->shares * SPMV__BLOCK_ROWS;
    const uint64_t end = spmv__smaller(blocks * (share + 1) / sharing->shares * SPMV__BLOCK_ROWS, sharing->rows);
    spmv__csr_lengths_rows(sharing->ptr, first, end, &sharing->found[share]);
}

/* Looks at all rows in shares, whose results would take too much of the stack of a small matrix. */
SPMV__APART void spmv__csr_lengths_among(const uint64_t *ptr, uint64_t rows, uint64_t shares, spmv__csr_found *all)
{
    spmv__csr_shares sharing;
    uint64_t share;
    sharing.ptr = ptr;
    sharing.rows = rows;
    sharing.shares = shares;
    spmv__share_out(spmv__csr_lengths_share, &sharing, shares);
    all->longest = all->changes = all->fits = 0;
    for (share = 0; share < shares; share++) {
        if (sharing.found[share].longest > all->longest) all->longest = sharing.found[share].longest;
        all->changes += sharing.found[share].changes;
        all->fits += sharing.found[share].fits;
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
static void spmv__csr_lengths(spmv_part *p, const spmv__source *source)
{
    const uint64_t shares = spmv__share_count(p->rows);
    spmv__csr_found all;
    if (shares == 1) spmv__csr_lengths_rows(source->ptr, 0, p->rows, &all);
    else spmv__csr_lengths_among(source->ptr, p->rows, shares, &all);
    if (all.longest > p->longest) p->longest = all.longest;
    p->lengths = spmv__csr_is_far(p, source) ? SPMV__LENGTHS_FAR : SPMV__LENGTHS_MIXED;
    if (p->lengths == SPMV__LENGTHS_FAR || p->nnz / SPMV__SHORT >= p->rows) return;
    if (all.changes * SPMV__ALIKE_ROWS < p->rows) p->lengths = SPMV__LENGTHS_ALIKE;
    else if (all.fits * 2 * SPMV__BLOCK_ROWS > p->rows || (p->rows >= SPMV__GUESS_LEAST && spmv__csr_is_uneven(p, source->ptr)))
        p->lengths = SPMV__LENGTHS_BLOCKS;
}
#endif

#endif

/* ---- products on the host, for each level and type (products.h) -------------------------------------------------- */
#if defined(SPMV__COLUMN_BITS) /* again */
/* Of the products of the four values before val, the last n, the others being 0. */
SPMV__FORCE_INLINE SPMV__O(quad) SPMV__FC(last_four)(const SPMV__V *SPMV__RESTRICT val, const SPMV__C *SPMV__RESTRICT col, uint64_t n,
                                                     const SPMV__T *SPMV__RESTRICT x)
{
    return SPMV__O(qlast)(SPMV__O(qfma)(SPMV__F(qload)(val - 4, 4), SPMV__OC(qgather)(x, col - 4), SPMV__O(qzero)()), n);
}

/* The sum of values k to end - 1 times the elements of x that their columns name. The last four products of a row are formed together,
 * whether or not some of them are already added: a loop over what is left would often be mispredicted. That left 0.6 to 1.05 of the time.
 * Prefetching values and columns changed nothing, prefetching x made products with 1 to 4 MB of x 1.05 to 1.7 times slower, and so did a
 * jump by the length of a row (Zen 4, two threads of a core). */
SPMV__FORCE_INLINE SPMV__T SPMV__FC(row)(const SPMV__V *SPMV__RESTRICT val, const SPMV__C *SPMV__RESTRICT col, uint64_t k, uint64_t end,
                                         const SPMV__T *SPMV__RESTRICT x)
{
    SPMV__T sum = 0;
    if (k + 4 <= end) {
        SPMV__O(quad) s0 = SPMV__O(qzero)(), s1 = s0;
        for (; k + 4 < end; k += 4) {
            const SPMV__O(quad) next = SPMV__O(qfma)(SPMV__F(qload)(val + k, 4), SPMV__OC(qgather)(x, col + k), s0);
            s0 = s1;
            s1 = next;
        }
        return SPMV__O(qsum)(SPMV__O(qadd)(SPMV__O(qadd)(s0, SPMV__FC(last_four)(val + end, col + end, end - k, x)), s1));
    }
    if (k < end) {
        SPMV__ALIGN_LOOP;
        do sum = SPMV__O(efma)((SPMV__T)val[k], x[col[k]], sum); while (++k < end);
    }
    return sum;
}

/* The sum of a row of n values, as a call. */
SPMV__APART SPMV__T SPMV__FC(far_dot)(const SPMV__V *SPMV__RESTRICT val, const SPMV__C *SPMV__RESTRICT col, uint64_t n,
                                      const SPMV__T *SPMV__RESTRICT x)
{
    return SPMV__FC(row)(val, col, 0, n, x);
}

/* The products of the first n of four values, the others being 0. */
SPMV__FORCE_INLINE SPMV__O(quad) SPMV__FC(row_end)(const SPMV__V *SPMV__RESTRICT val, const SPMV__C *SPMV__RESTRICT col, uint64_t n,
                                                   const SPMV__T *SPMV__RESTRICT x)
{
    return SPMV__O(qfirst)(SPMV__O(qfma)(SPMV__F(qload)(val, 4), SPMV__OC(qgather)(x, col), SPMV__O(qzero)()), n);
}

/* sum plus the products of two values. */
SPMV__FORCE_INLINE SPMV__T SPMV__FC(plus_two)(const SPMV__V *SPMV__RESTRICT val, const SPMV__C *SPMV__RESTRICT col,
                                              const SPMV__T *SPMV__RESTRICT x, SPMV__T sum)
{
    const uint64_t two = SPMV__NEXT_TWO(col);
    sum = SPMV__O(efma)((SPMV__T)val[0], x[(SPMV__C)two], sum);
    return SPMV__O(efma)((SPMV__T)val[1], x[two >> SPMV__COLUMN_BITS], sum);
}

/* The sum of a row of n nonzeros, 1 to 7, n being a constant. */
SPMV__FORCE_INLINE SPMV__T SPMV__FC(fixed)(const SPMV__V *SPMV__RESTRICT val, const SPMV__C *SPMV__RESTRICT col, int n,
                                           const SPMV__T *SPMV__RESTRICT x)
{
    const uint64_t two = n % 2 ? *col : SPMV__NEXT_TWO(col);
    SPMV__T s = val[0] * x[(SPMV__C)two];
    if (n % 2 == 0) s = SPMV__O(efma)((SPMV__T)val[1], x[two >> SPMV__COLUMN_BITS], s);
    if (n > 2) s = SPMV__FC(plus_two)(val + 2 - n % 2, col + 2 - n % 2, x, s);
    if (n > 4) s = SPMV__FC(plus_two)(val + 4 - n % 2, col + 4 - n % 2, x, s);
    if (n > 6) s = SPMV__FC(plus_two)(val + 6 - n % 2, col + 6 - n % 2, x, s);
    return s;
}

/* The sums of four rows with at most four nonzeros each. Short rows of changing length that are summed one after another cost more in
 * mispredicted branches than in arithmetic. Four nonzeros are multiplied for each, those behind it are not added. */
SPMV__FORCE_INLINE void SPMV__FC(four_short)(const SPMV__V *SPMV__RESTRICT val, const SPMV__C *SPMV__RESTRICT col,
                                             const uint32_t *SPMV__RESTRICT ptr, const SPMV__T *SPMV__RESTRICT x,
                                             SPMV__T *SPMV__RESTRICT sum)
{
    SPMV__O(qsums)(sum, SPMV__FC(row_end)(val + ptr[0], col + ptr[0], ptr[1] - ptr[0], x),
                   SPMV__FC(row_end)(val + ptr[1], col + ptr[1], ptr[2] - ptr[1], x),
                   SPMV__FC(row_end)(val + ptr[2], col + ptr[2], ptr[3] - ptr[2], x),
                   SPMV__FC(row_end)(val + ptr[3], col + ptr[3], ptr[4] - ptr[3], x));
}

/* The products of four values. */
SPMV__FORCE_INLINE SPMV__O(quad) SPMV__FC(products)(const SPMV__V *SPMV__RESTRICT val, const SPMV__C *SPMV__RESTRICT col,
                                                    const SPMV__T *SPMV__RESTRICT x)
{
    return SPMV__O(qfma)(SPMV__F(qload)(val, 4), SPMV__OC(qgather)(x, col), SPMV__O(qzero)());
}

/* The sums of rows from i on that have four nonzeros each, as far as they follow one another; returns the row behind them. Four rows are
 * summed at once; the sum of a row that is left is formed in the same order. */
SPMV__FORCE_INLINE uint64_t SPMV__FC(fours)(const SPMV__V *SPMV__RESTRICT val, const SPMV__C *SPMV__RESTRICT col,
                                            const uint32_t *SPMV__RESTRICT ptr, const uint32_t *SPMV__RESTRICT to, uint64_t i,
                                            uint64_t count, const SPMV__T *SPMV__RESTRICT x, SPMV__T *SPMV__RESTRICT sum)
{
    uint64_t k = ptr[i];
    SPMV__T all[4];
    for (; i + 4 <= count && ptr[i + 4] - k == 16 && ptr[i + 1] - k == 4 && ptr[i + 2] - k == 8 && ptr[i + 3] - k == 12;
         i += 4, k += 16) {
        SPMV__O(qsums)(to ? all : sum + i, SPMV__FC(products)(val + k, col + k, x),
                       SPMV__FC(products)(val + k + 4, col + k + 4, x), SPMV__FC(products)(val + k + 8, col + k + 8, x),
                       SPMV__FC(products)(val + k + 12, col + k + 12, x));
        if (to) {
            sum[to[i]] = all[0];
            sum[to[i + 1]] = all[1];
            sum[to[i + 2]] = all[2];
            sum[to[i + 3]] = all[3];
        }
    }
    for (; i < count && ptr[i + 1] - k == 4; i++, k += 4) {
        const SPMV__O(quad) one = SPMV__FC(products)(val + k, col + k, x);
        SPMV__O(qsums)(all, one, one, one, one);
        sum[to ? to[i] : i] = all[0];
    }
    return i;
}

/* Rows of n nonzeros, as far as they follow one another. */
#define SPMV__LENGTH(n) \
    case n: \
        do { \
            sum[to ? to[i] : i] = SPMV__FC(fixed)(val + k, col + k, n, x); \
            k += n; \
        } while (++i < count && ptr[i + 1] - k == n); \
        break;
/* The sums of count rows, whose nonzeros begin where ptr says, where most rows are as long as the row before: one loop for each length.
 * to: the places of the sums, or NULL. */
SPMV__APART void SPMV__FC(rows_alike)(const SPMV__V *SPMV__RESTRICT val, const SPMV__C *SPMV__RESTRICT col,
                                      const uint32_t *SPMV__RESTRICT ptr, const uint32_t *SPMV__RESTRICT to, uint64_t count,
                                      const SPMV__T *SPMV__RESTRICT x, SPMV__T *SPMV__RESTRICT sum)
{
    uint64_t i = 0, k = ptr[0];
    while (i < count) {
        switch (ptr[i + 1] - k) {
        case 0: do sum[to ? to[i] : i] = 0; while (++i < count && ptr[i + 1] == k); break;
        SPMV__LENGTH(1)
        SPMV__LENGTH(2)
        SPMV__LENGTH(3)
        case 4: i = SPMV__FC(fours)(val, col, ptr, to, i, count, x, sum); k = ptr[i]; break;
        SPMV__LENGTH(5)
        SPMV__LENGTH(6)
        SPMV__LENGTH(7)
        default: sum[to ? to[i] : i] = SPMV__FC(row)(val, col, k, ptr[i + 1], x); k = ptr[i + 1]; i++;
        }
    }
}
#undef SPMV__LENGTH

/* The sums of SPMV__BLOCK_ROWS rows with at most SPMV__SHORT nonzeros each on average: first all products, then for each row, without
 * branches, the sum of the first eight, and at last the others of the rows that have more. */
SPMV__APART void SPMV__FC(uneven_block)(const SPMV__V *SPMV__RESTRICT val, const SPMV__C *SPMV__RESTRICT col,
                                        const uint32_t *SPMV__RESTRICT ptr, uint64_t stop, const SPMV__T *SPMV__RESTRICT x,
                                        SPMV__T *SPMV__RESTRICT sum)
{
    const uint64_t first = ptr[0], n = ptr[SPMV__BLOCK_ROWS] - first, L = SPMV__LANES;
    const uint64_t end = first + n + L - 1 <= stop ? n + L - 1 : n;
    SPMV__T product[SPMV__BLOCK_ROWS * SPMV__SHORT + SPMV__LANES_MOST];
    uint8_t longer[SPMV__BLOCK_ROWS];
    uint64_t r, k = 0, longs = 0;
    val += first;
    col += first;
    for (; k + L <= end; k += L) SPMV__O(vput)(product + k, SPMV__O(vmul)(SPMV__F(vload)(val + k), SPMV__OC(vgather)(x, col + k)));
    for (; k < n; k++) product[k] = val[k] * x[col[k]];
    for (r = 0; r < SPMV__BLOCK_ROWS; r += 4)
        SPMV__O(qsums)(sum + r, SPMV__F(first_eight)(product, ptr, r), SPMV__F(first_eight)(product, ptr, r + 1),
                       SPMV__F(first_eight)(product, ptr, r + 2), SPMV__F(first_eight)(product, ptr, r + 3));
    for (r = 0; r < SPMV__BLOCK_ROWS; r++) {
        longer[longs] = (uint8_t)r;
        longs += ptr[r + 1] - ptr[r] > 8;
    }
    while (longs--) {
        SPMV__O(quad) part = SPMV__O(qzero)();
        r = longer[longs];
        for (k = ptr[r] - first + 8; k < ptr[r + 1] - first; k += 8)
            part = SPMV__O(qadd)(part, SPMV__O(qeight)(product + k, spmv__smaller(ptr[r + 1] - first - k, 8)));
        sum[r] += SPMV__O(qsum)(part);
    }
}

/* The sums of count rows, whose nonzeros begin where ptr says; stop: where all nonzeros end that may be read. Rows from head on are taken
 * SPMV__BLOCK_ROWS at a time: by fours if all are short, else as an uneven block unless they have too many. */
SPMV__APART void SPMV__FC(rows)(const SPMV__V *SPMV__RESTRICT val, const SPMV__C *SPMV__RESTRICT col, const uint32_t *SPMV__RESTRICT ptr,
                                uint64_t head, uint64_t count, uint64_t stop, const SPMV__T *SPMV__RESTRICT x, SPMV__T *SPMV__RESTRICT sum)
{
    uint64_t i = 0, k;
    while (i < count) {
        const uint64_t end = i < head ? spmv__smaller(head, count) : spmv__smaller(i + SPMV__BLOCK_ROWS, count);
        const int whole = i >= head && end - i == SPMV__BLOCK_ROWS;
        if (whole && SPMV__F(block_short)(ptr + i, stop))
            for (; i < end; i += 4) SPMV__FC(four_short)(val, col, ptr + i, x, sum + i);
        else if (whole && ptr[end] - ptr[i] <= SPMV__BLOCK_ROWS * SPMV__SHORT) {
            SPMV__FC(uneven_block)(val, col, ptr + i, stop, x, sum + i);
            i = end;
        } else for (k = ptr[i]; i < end; i++) {
            const uint64_t next = ptr[i + 1];
            sum[i] = SPMV__FC(row)(val, col, k, next, x);
            k = next;
        }
    }
}
#endif /* again */
