/* SPDX-License-Identifier: MIT
 *
 * spmv/format/block.h - bell, sbell and bcsr: small dense blocks.
 */
#ifndef SPMV__FORMAT_BLOCK_H
#define SPMV__FORMAT_BLOCK_H

#include "../products.h"

/* ---- bell, sbell and bcsr ---------------------------------------------------------------------------------------- */
#if !(SPMV__ONLY & SPMV_BIT_BELL)
#define SPMV__NO_BELL
#define SPMV__BUILT_BELL 0
#else
#define SPMV__BUILT_BELL 1
#endif

#if !(SPMV__ONLY & SPMV_BIT_SBELL)
#define SPMV__NO_SBELL
#define SPMV__BUILT_SBELL 0
#else
#define SPMV__BUILT_SBELL 1
#endif

#if !(SPMV__ONLY & SPMV_BIT_BCSR)
#define SPMV__NO_BCSR
#define SPMV__BUILT_BCSR 0
#else
#define SPMV__BUILT_BCSR 1
#endif

#if SPMV__BUILT_BELL || SPMV__BUILT_SBELL || SPMV__BUILT_BCSR
#define SPMV__ANY_BLOCK
#endif

/* Division of columns by the width of blocks, for loops over many of them: column * times >> shift. */
typedef struct spmv__block_division {
    uint64_t times;
    uint32_t shift;
} spmv__block_division;

SPMV__SHARED spmv__block_division spmv__block_divisor(uint64_t bw)
{
    spmv__block_division division;
    division.times = bw % 3 ? 1 : 0xaaaaaaabu; /* a third of 2^33, rounded up: exact for every column of 32 bits */
    division.shift = bw % 3 ? bw == 2 ? 1 : bw == 4 ? 2 : 3 : bw == 3 ? 33 : 34;
    return division;
}

SPMV__INLINE uint32_t spmv__divide_by(spmv__block_division division, uint32_t c)
{
    return (uint32_t)(c * division.times >> division.shift);
}

enum { SPMV__BLOCK_SIDE = 8 /* the most rows of a block, and the most columns */ };
#define SPMV__NO_BLOCK UINT32_MAX /* above every column and every block column */

/* Walks the blocks of one block row by rising column. As the columns of each row rise, it only merges the rows, and needs no memory that
 * depends on the matrix. */
typedef struct spmv__blocks {
    const spmv_view *view;
    uint64_t         bw;
    spmv__block_division by;                     /* a column by bw */
    uint64_t         rows;                       /* of the block row, fewer at the end of the matrix */
    uint64_t         from[SPMV__BLOCK_SIDE];     /* the entries of each row in the current block, with those of other parts among them */
    uint64_t         at[SPMV__BLOCK_SIDE];       /* ... up to this one, the first nonzero of the view after the block */
    uint64_t         end[SPMV__BLOCK_SIDE];
    uint32_t         next[SPMV__BLOCK_SIDE];     /* the column of entry at, or SPMV__NO_BLOCK */
} spmv__blocks;

/* Moves row i to its first nonzero of the view from entry k on. */
static void spmv__blocks_move(spmv__blocks *blocks, uint64_t i, uint64_t k)
{
    while (k < blocks->end[i] && !spmv__mine(blocks->view, k)) k++;
    blocks->at[i] = k;
    blocks->next[i] = k < blocks->end[i] ? blocks->view->a->col[k] : SPMV__NO_BLOCK;
}

/* Begins a walk over the blocks of the rows from first on, at most bh of them. */
SPMV__SHARED void spmv__blocks_begin(spmv__blocks *blocks, const spmv_view *view, uint64_t first, uint64_t bh, uint64_t bw)
{
    uint64_t i;
    blocks->view = view;
    blocks->bw = bw;
    blocks->by = spmv__block_divisor(bw);
    blocks->rows = first < view->a->rows ? spmv__smaller(view->a->rows - first, bh) : 0;
    for (i = 0; i < blocks->rows; i++) {
        blocks->end[i] = view->a->ptr[first + i + 1];
        spmv__blocks_move(blocks, i, view->a->ptr[first + i]);
    }
}

/* Goes to the next block that holds nonzeros of the view and returns its block column; SPMV__NO_BLOCK if there is none. */
SPMV__SHARED uint32_t spmv__blocks_next(spmv__blocks *blocks)
{
    const uint32_t *col = blocks->view->a->col;
    uint32_t c = SPMV__NO_BLOCK, limit;
    uint64_t i, k;
    for (i = 0; i < blocks->rows; i++)
        if (blocks->next[i] < c) c = blocks->next[i];
    if (c == SPMV__NO_BLOCK) return c;
    c = spmv__divide_by(blocks->by, c);
    limit = (uint32_t)spmv__smaller(((uint64_t)c + 1) * blocks->bw, SPMV__NO_BLOCK);
    for (i = 0; i < blocks->rows; i++) {
        blocks->from[i] = blocks->at[i];
        if (blocks->next[i] >= limit) continue;
        for (k = blocks->at[i] + 1; k < blocks->end[i] && col[k] < limit; k++) {}
        if (blocks->view->owner) {
            spmv__blocks_move(blocks, i, k);
            continue;
        }
        blocks->at[i] = k; /* as spmv__blocks_move, without the test of each entry: most of the time of blocks is spent here */
        blocks->next[i] = k < blocks->end[i] ? col[k] : SPMV__NO_BLOCK;
    }
    return c;
}

/* The nonzeros of the view in the current block. */
SPMV__SHARED uint64_t spmv__blocks_load(const spmv__blocks *blocks)
{
    uint64_t i, k, n = 0;
    for (i = 0; i < blocks->rows; i++) {
        if (!blocks->view->owner) n += blocks->at[i] - blocks->from[i];
        else
            for (k = blocks->from[i]; k < blocks->at[i]; k++) n += (uint64_t)spmv__mine(blocks->view, k);
    }
    return n;
}

/* 64 adjacent block columns: which of them hold nonzeros of a block row, and how many blocks of that block row lie before them. */
typedef struct spmv__block_word {
    uint64_t bits, before;
} spmv__block_word;

/* The blocks of one block row. A bit for each block column sorts them and drops duplicates without a branch that depends on the columns,
 * which merging the rows takes for most blocks, and counting bits says which block a nonzero belongs to. The words take a
 * quarter of a byte for each block column, a 16th of a table of 32-bit numbers, so that they stay in a near cache. */
typedef struct spmv__block_set {
    spmv__block_word *word;   /* by block column / 64. All bits are 0 between block rows. NULL: the matrix has too many columns for its
                                 nonzeros; rows are merged, and the place of a block in col is found by bisection */
    uint64_t         *upper;  /* a bit for each word, 0 between block rows */
    uint32_t         *col;    /* the block columns, rising */
    uint64_t          count;  /* blocks */
    spmv__block_division by;  /* a column by the width of a block */
    int               alike;  /* 1: all rows of the block row have the same columns, and no bits are set */
} spmv__block_set;

enum { SPMV__WORD_BITS = 6, SPMV__UPPER_BITS = 12 /* of block columns: the bits that number them within a word, and a word of upper */ };

/* The most nonzeros of the matrix in bh adjacent rows from a multiple of bh on. */
SPMV__SHARED uint64_t spmv__longest_block_row(const spmv_csr *a, uint64_t bh)
{
    uint64_t r, most = 0;
    for (r = 0; r < a->rows; r += bh) {
        uint64_t n = a->ptr[spmv__smaller(r + bh, a->rows)] - a->ptr[r];
        if (n > most) most = n;
    }
    return most;
}

/* Makes *out, an array of sets for *threads threads, or for fewer, so that the sets take no more than a quarter of the CSR form unless one
 * does. They are one block of memory, which the caller frees. Blocks have bh rows and bw columns. */
SPMV__SHARED spmv_status spmv__sets_make(spmv__block_set **out, const spmv_csr *a, uint64_t bh, uint64_t bw, uint64_t *threads,
                                         const spmv_hooks *hooks)
{
    const uint64_t all = spmv__ceil_div(a->cols, bw), most = spmv__smaller(spmv__longest_block_row(a, bh), all);
    const uint64_t room = (a->nnz * 12 + a->rows * 8) / 4; /* bytes, for all threads */
    const uint64_t distant = 16; /* times the nonzeros of a block row: so many words of upper may lie between its first and last block */
    uint64_t words = spmv__ceil_div(all, 64), uppers = spmv__ceil_div(words, 64), i, bytes, fit;
    unsigned char *at;
    void *block;
    spmv_status s;
    if (words * sizeof(spmv__block_word) + uppers * 8 > room || uppers * spmv__ceil_div(a->rows, bh) > distant * (a->nnz + a->rows))
        words = uppers = 0;
    bytes = spmv__round_up(words * sizeof(spmv__block_word) + uppers * 8 + most * 4, 64);
    fit = room / (bytes + 1);
    if (*threads > fit) *threads = fit ? fit : 1;
    s = spmv__room(hooks, &block, *threads, sizeof **out + bytes);
    *out = (spmv__block_set *)block;
    if (s) return s;
    at = (unsigned char *)(*out + *threads);
    memset(block, 0, (size_t)(*threads * (sizeof **out + bytes)));
    for (i = 0; i < *threads; i++, at += bytes) {
        spmv__block_set *set = &(*out)[i];
        if (words) set->word = (spmv__block_word *)(void *)at;
        set->upper = (uint64_t *)(void *)(at + words * sizeof *set->word);
        set->col = (uint32_t *)(void *)(set->upper + uppers);
        set->by = spmv__block_divisor(bw);
    }
    return SPMV_OK;
}

SPMV__INLINE uint32_t spmv__set_block(const spmv__block_set *set, uint32_t c) { return spmv__divide_by(set->by, c); }

/* The number of a block that is in the set, whose rows are not alike. */
SPMV__INLINE uint64_t spmv__number_by_bits(const spmv__block_set *set, uint32_t block)
{
    const spmv__block_word *word = &set->word[block >> SPMV__WORD_BITS];
    return word->before + spmv__bit_count(word->bits & (((uint64_t)1 << block % 64) - 1));
}

/* The same by bisection, where there are no bits. */
SPMV__SHARED uint64_t spmv__number_by_column(const spmv__block_set *set, uint32_t block)
{
    uint64_t low = 0, n = set->count;
    while (n > 1) {
        uint64_t half = n / 2;
        if (set->col[low + half] <= block) low += half;
        n -= half;
    }
    return low;
}

/* Sets the bits of the blocks of entries k .. end - 1 and counts those that are new. listed: 1: they will be listed. */
SPMV__INLINE void spmv__set_add(spmv__block_set *set, const spmv_view *view, uint64_t k, uint64_t end, int owned, int listed)
{
    const uint32_t *col = view->a->col;
    const spmv__block_division by = set->by;
    spmv__block_word *word = set->word;
    uint64_t *upper = set->upper, n = 0;
    for (; k < end; k++) {
        const uint32_t block = spmv__divide_by(by, col[k]);
        spmv__block_word *at = &word[block >> SPMV__WORD_BITS];
        const uint64_t was = at->bits;
        if (owned && !spmv__mine(view, k)) continue;
        at->bits = was | (uint64_t)1 << block % 64;
        n += ~(was >> block % 64) & 1;
        if (listed) upper[block >> SPMV__UPPER_BITS] |= (uint64_t)1 << (block >> SPMV__WORD_BITS) % 64;
    }
    set->count += n;
}

/* 1 if some rows of the matrix from first on have nonzeros in the same columns, as the rows of a node have in finite elements with several
 * unknowns a node. */
SPMV__SHARED int spmv__rows_alike(const spmv_csr *a, uint64_t first, uint64_t rows)
{
    uint64_t i, n = a->ptr[first + 1] - a->ptr[first];
    for (i = 1; i < rows; i++)
        if (a->ptr[first + i + 1] - a->ptr[first + i] != n) return 0;
    for (i = 1; n && i < rows; i++)
        if (memcmp(a->col + a->ptr[first], a->col + a->ptr[first + i], (size_t)n * sizeof *a->col)) return 0;
    return 1;
}

/* Counts the blocks of one row, which rise; listed: 1: lists them in col as well. The last block stays in a register: reading it back from
 * col would have every nonzero wait for the one before. */
SPMV__INLINE void spmv__set_row(spmv__block_set *set, const spmv_csr *a, uint64_t row, int listed)
{
    const uint64_t end = a->ptr[row + 1];
    const spmv__block_division by = set->by;
    uint32_t *col = set->col, last = SPMV__NO_BLOCK;
    uint64_t k, n = 0;
    for (k = a->ptr[row]; k < end; k++) {
        const uint32_t block = spmv__divide_by(by, a->col[k]);
        n += (uint64_t)(block != last);
        if (listed) col[n - 1] = block;
        last = block;
    }
    set->count = n;
}

/* Collects the blocks of some rows by merging these. */
SPMV__SHARED void spmv__set_merge(spmv__block_set *set, const spmv_view *view, uint64_t first, uint64_t rows, uint64_t bw)
{
    spmv__blocks blocks;
    uint32_t c;
    spmv__blocks_begin(&blocks, view, first, rows, bw);
    for (set->count = 0; (c = spmv__blocks_next(&blocks)) != SPMV__NO_BLOCK;) set->col[set->count++] = c;
}

/* Lists the blocks whose bits are set, those of some rows of the matrix, in col, and notes how many lie before each word. */
SPMV__SHARED void spmv__set_list(spmv__block_set *set, const spmv_csr *a, uint64_t first, uint64_t rows)
{
    uint64_t r, u, end, words, bits, n = 0;
    uint32_t low = UINT32_MAX, high = 0; /* the columns between which all nonzeros of the rows lie */
    for (r = first; r < first + rows; r++) {
        if (a->ptr[r] == a->ptr[r + 1]) continue;
        if (a->col[a->ptr[r]] < low) low = a->col[a->ptr[r]];
        if (a->col[a->ptr[r + 1] - 1] > high) high = a->col[a->ptr[r + 1] - 1];
    }
    end = low > high ? 0 : (spmv__set_block(set, high) >> SPMV__UPPER_BITS) + 1;
    for (u = spmv__set_block(set, low) >> SPMV__UPPER_BITS; u < end; u++)
        for (words = set->upper[u]; words; words &= words - 1) {
            const uint64_t at = u * 64 + spmv__low_bit(words);
            set->word[at].before = n;
            for (bits = set->word[at].bits; bits; bits &= bits - 1) set->col[n++] = (uint32_t)(at * 64 + spmv__low_bit(bits));
        }
}

/* Counts the blocks of so many rows from first on. */
SPMV__SHARED uint64_t spmv__set_count(spmv__block_set *set, const spmv_view *view, uint64_t first, uint64_t rows, uint64_t bw)
{
    const spmv_csr *a = view->a;
    uint64_t k, begin, end;
    set->count = 0;
    if (!rows) return 0; /* padding behind the last row */
    if (!set->word) {
        spmv__set_merge(set, view, first, rows, bw);
        return set->count;
    }
    begin = a->ptr[first];
    end = a->ptr[first + rows];
    if (!view->owner && spmv__rows_alike(a, first, rows)) {
        spmv__set_row(set, a, first, 0);
        return set->count;
    }
    if (view->owner) spmv__set_add(set, view, begin, end, 1, 0);
    else spmv__set_add(set, view, begin, end, 0, 0);
    for (k = begin; k < end; k++) set->word[spmv__set_block(set, a->col[k]) >> SPMV__WORD_BITS].bits = 0;
    return set->count;
}

/* Lists the blocks of so many rows from first on. Until spmv__set_clear, spmv__set_number finds them. */
SPMV__SHARED void spmv__set_collect(spmv__block_set *set, const spmv_view *view, uint64_t first, uint64_t rows, uint64_t bw)
{
    const spmv_csr *a = view->a;
    set->count = 0;
    set->alike = rows && !view->owner && spmv__rows_alike(a, first, rows);
    if (!rows) return; /* padding behind the last row */
    if (set->alike) spmv__set_row(set, a, first, 1);
    else if (!set->word) spmv__set_merge(set, view, first, rows, bw);
    else {
        if (view->owner) spmv__set_add(set, view, a->ptr[first], a->ptr[first + rows], 1, 1);
        else spmv__set_add(set, view, a->ptr[first], a->ptr[first + rows], 0, 1);
        spmv__set_list(set, a, first, rows);
    }
}

/* Takes the blocks out again. */
SPMV__SHARED void spmv__set_clear(spmv__block_set *set)
{
    uint64_t i;
    for (i = 0; set->word && !set->alike && i < set->count; i++) {
        set->word[set->col[i] >> SPMV__WORD_BITS].bits = 0;
        set->upper[set->col[i] >> SPMV__UPPER_BITS] = 0;
    }
}

/* The number of a block that is in the set. */
SPMV__SHARED uint64_t spmv__set_number(const spmv__block_set *set, uint32_t block)
{
    return set->word && !set->alike ? spmv__number_by_bits(set, block) : spmv__number_by_column(set, block);
}

/* With the key d, every block is counted before the conversion. */
static const spmv__traits spmv__bell_traits = {
    SPMV__KEY(B) | SPMV__KEY(D) | SPMV__KEY(IDX),  /* keys */
    SPMV_HAS_FILL | SPMV_ROW_BLOCK | SPMV_REPEATS, /* flags */
    SPMV_CLASS_BLOCK,                              /* class */
    1,                                             /* indices */
    0,                                             /* even */
    SPMV__PADS_ALL, SPMV__LANES_BY_ROWS            /* pads, lanes */
};
static const spmv__traits spmv__sbell_traits = {
    SPMV__KEY(B) | SPMV__KEY(D) | SPMV__KEY(IDX) | SPMV__KEY(H), /* keys */
    SPMV_HAS_FILL | SPMV_ROW_BLOCK | SPMV_REPEATS,               /* flags */
    SPMV_CLASS_BLOCK,                                            /* class */
    1,                                                           /* indices */
    0,                                                           /* even */
    SPMV__PADS_SLICES, SPMV__LANES_BY_ROWS                       /* pads, lanes */
};
static const spmv__traits spmv__bcsr_traits = {
    SPMV__KEY(B) | SPMV__KEY(D) | SPMV__KEY(IDX),                   /* keys */
    SPMV_HAS_FILL | SPMV_ROW_BLOCK | SPMV_REPEATS | SPMV_LONG_ROWS, /* flags */
    SPMV_CLASS_BLOCK,                                               /* class */
    1,                                                              /* indices */
    0,                                                              /* even */
    SPMV__PADS_NONE, SPMV__LANES_BY_LENGTH                          /* pads, lanes */
};

static const char *const spmv__bell_layouts[] = {
#define X(bh, bw, uw) "bell:b=" #bh "x" #bw, "bell:b=" #bh "x" #bw ",idx=16",
    SPMV_BLOCK_LIST(X)
#undef X
};

static const char *const spmv__sbell_layouts[] = {
#define X(bh, bw, uw) "sbell:b=" #bh "x" #bw, "sbell:b=" #bh "x" #bw ",idx=16",
    SPMV_BLOCK_LIST(X)
#undef X
};

static const char *const spmv__bcsr_layouts[] = {
#define X(bh, bw, uw) "bcsr:b=" #bh "x" #bw, "bcsr:b=" #bh "x" #bw ",idx=16",
    SPMV_BLOCK_LIST(X)
#undef X
};

/* The features of the blocks that a specification names; NULL if there are none. */
SPMV__SHARED const spmv_block_features *spmv__features_of_block(const spmv_features *features, const spmv_spec *spec)
{
    int i;
    for (i = 0; i < SPMV_BLOCK_SIZES; i++)
        if (features->block[i].bh == (int)spmv__block_height(spec) && features->block[i].bw == (int)spmv__block_width(spec))
            return &features->block[i];
    return NULL;
}

#ifdef SPMV__ANY_BLOCK
/* Where a block lies: the slot of its column, the slot of its first value, and the distance in values from unit to unit. */
typedef struct spmv__block {
    uint64_t col, val, step;
} spmv__block;

/* Checked when compiling: the integers of all three formats begin with those that describe a block, as SPMV_BLOCK_BH says, and bases
 * follow columns. */
enum {
#define SPMV__BLOCK_AGREES(NAME) \
    ((int)SPMV_##NAME##_BH == (int)SPMV_BLOCK_BH && (int)SPMV_##NAME##_BW == (int)SPMV_BLOCK_BW && \
     (int)SPMV_##NAME##_UW == (int)SPMV_BLOCK_UW && (int)SPMV_##NAME##_BASE == (int)SPMV_##NAME##_COL + 1)
    SPMV__BLOCKS_AGREE = 1 / (SPMV__BLOCK_AGREES(BELL) && SPMV__BLOCK_AGREES(SBELL) && SPMV__BLOCK_AGREES(BCSR))
#undef SPMV__BLOCK_AGREES
};

/* The array of a format that holds the first columns of its blocks. */
static int spmv__block_col(const spmv_part *p)
{
    if (p->spec.format == SPMV_BELL) return SPMV_BELL_COL;
    return p->spec.format == SPMV_SBELL ? (int)SPMV_SBELL_COL : (int)SPMV_BCSR_COL;
}

/* The array that holds the bases of 16-bit columns. */
static int spmv__block_base(const spmv_part *p) { return spmv__block_col(p) + 1; }

/* The array that holds pointers, to slices in sbell and to block rows in bcsr. bell has none. */
static int spmv__block_ptr(const spmv_part *p) { return p->spec.format == SPMV_SBELL ? (int)SPMV_SBELL_PTR : (int)SPMV_BCSR_PTR; }

/* Block rows that share a base: those of a slice in sbell, 32 in the others. */
static uint64_t spmv__block_group_height(const spmv_part *p) { return p->spec.format == SPMV_SBELL ? p->n[SPMV_SBELL_H] : 32; }
static uint64_t spmv__block_group(const spmv_part *p, uint64_t block_row) { return block_row / spmv__block_group_height(p); }

/* Slots from the column of a block to that of the next block in the same block row. */
SPMV__SHARED uint64_t spmv__block_distance(const spmv_part *p)
{
    if (p->spec.format == SPMV_BELL) return p->n[SPMV_BELL_LD];
    return p->spec.format == SPMV_SBELL ? p->n[SPMV_SBELL_H] : 1;
}

/* Elements of a unit of blocks that are so wide. */
static uint64_t spmv__block_unit(uint64_t bw) { return bw % 4 == 0 ? 4 : bw % 2 == 0 ? 2 : 3; }

/* Units in a block. */
static uint64_t spmv__block_units(const spmv_part *p) { return p->n[SPMV_BLOCK_BH] * p->n[SPMV_BLOCK_BW] / p->n[SPMV_BLOCK_UW]; }

/* Where the k-th block of a block row lies. */
static spmv__block spmv__block_at(const spmv_part *p, uint64_t block_row, uint64_t k)
{
    spmv__block b;
    uint64_t uw = p->n[SPMV_BLOCK_UW], units = spmv__block_units(p), h, first, i;
    switch (p->spec.format) {
    case SPMV_BELL:
        b.col = k * p->n[SPMV_BELL_LD] + block_row;
        b.val = (k * units * p->n[SPMV_BELL_LD] + block_row) * uw;
        b.step = p->n[SPMV_BELL_LD] * uw;
        break;
    case SPMV_SBELL:
        h = p->n[SPMV_SBELL_H];
        first = spmv__at(&p->a[SPMV_SBELL_PTR], block_row / h);
        i = block_row % h;
        b.col = first + k * h + i;
        b.val = (first * units + k * units * h + i) * uw;
        b.step = h * uw;
        break;
    default:
        b.col = spmv__at(&p->a[SPMV_BCSR_PTR], block_row) + k;
        b.val = b.col * uw;
        b.step = p->n[SPMV_BCSR_BLOCKS] * uw;
    }
    return b;
}

/* The first column of the block in a slot of the block row, SPMV_PAD for padding. */
static uint32_t spmv__block_column(const spmv_part *p, uint64_t block_row, uint64_t slot)
{
    const spmv_array *col = &p->a[spmv__block_col(p)], *base = &p->a[spmv__block_base(p)];
    return spmv__column_at(col, base, slot, spmv__block_group(p, block_row), p->n[SPMV_BLOCK_BW]);
}

/* The blocks that are stored for a block row, including padding. */
static uint64_t spmv__block_count(const spmv_part *p, uint64_t block_row)
{
    const spmv_array *ptr = &p->a[spmv__block_ptr(p)];
    uint64_t t;
    if (p->spec.format == SPMV_BELL) return p->n[SPMV_BELL_WIDTH];
    if (p->spec.format == SPMV_BCSR) return spmv__at(ptr, block_row + 1) - spmv__at(ptr, block_row);
    t = block_row / p->n[SPMV_SBELL_H];
    return (spmv__at(ptr, t + 1) - spmv__at(ptr, t)) / p->n[SPMV_SBELL_H];
}

static uint64_t spmv__block_rows(const spmv_part *p) { return spmv__ceil_div(p->rows, p->n[SPMV_BLOCK_BH]); }

/* What the shares of spmv__block_size find. */
typedef struct spmv__block_counts {
    const spmv_part    *p;
    const spmv__source *source;
    uint64_t            shares, most[SPMV__MOST_SHARES], all[SPMV__MOST_SHARES], sliced[SPMV__MOST_SHARES];
    int                 fits[SPMV__MOST_SHARES];
} spmv__block_counts;

/* The rows of the matrix in a block row, fewer at its end. */
static uint64_t spmv__block_row_height(const spmv_part *p, uint64_t block_row)
{
    const uint64_t bh = p->n[SPMV_BLOCK_BH], first = block_row * bh;
    return first < p->rows ? spmv__smaller(p->rows - first, bh) : 0;
}

/* Counts the blocks of one block row. */
static uint64_t spmv__block_row_count(const spmv_part *p, const spmv__source *source, spmv__block_set *set, uint64_t block_row)
{
    const uint64_t bh = p->n[SPMV_BLOCK_BH];
    return spmv__set_count(set, source->view, block_row * bh, spmv__block_row_height(p, block_row), p->n[SPMV_BLOCK_BW]);
}

/* 1 if the block columns of block rows first .. end - 1 fit 16 bits. */
static int spmv__block_rows_fit(const spmv_part *p, const spmv__source *source, uint64_t first, uint64_t end)
{
    const uint64_t bh = p->n[SPMV_BLOCK_BH], bw = p->n[SPMV_BLOCK_BW];
    uint64_t low = UINT64_MAX, high = 0, i;
    if (!source->counted) {
        spmv__span(source, first * bh, spmv__smaller(end * bh, p->rows), &low, &high);
        return low > high || spmv__span_fits(low / bw, high / bw);
    }
    for (i = first; i < end; i++) {
        if (source->spans[i] < low) low = source->spans[i];
        if (source->spans[spmv__block_rows(p) + i] > high) high = source->spans[spmv__block_rows(p) + i];
    }
    return spmv__span_fits(low, high);
}

/* Counts the blocks of a share as all three formats need them: of each block row, in total, the most in a block row, and for sbell, summed
 * over the slices, the most in a block row times the height. */
static void spmv__block_count_share(void *job, uint64_t share, size_t thread)
{
    spmv__block_counts *counts = (spmv__block_counts *)job;
    const spmv_part *p = counts->p;
    const uint64_t bh = p->n[SPMV_BLOCK_BH], per = spmv__block_group_height(p);
    const uint64_t stop = spmv__ceil_div(spmv__share_first(counts->source, share + 1, counts->shares), bh);
    const uint64_t first = spmv__share_first(counts->source, share, counts->shares);
    spmv__block_set set;
    uint64_t row = spmv__ceil_div(first, bh), end, i, most = 0, all = 0, sliced = 0;
    int fits = p->spec.key[SPMV_KEY_IDX] == 16;
    memset(&set, 0, sizeof set);
    if (!counts->source->counted) set = counts->source->sets[thread]; /* a copy: no two threads write to one cache line */
    for (; row < stop; row = end) {
        uint64_t group = 0; /* the most in a block row of the group */
        end = spmv__smaller(row + per, stop);
        for (i = row; i < end; i++) {
            const uint64_t n = counts->source->counted ? counts->source->blocks[i] : spmv__block_row_count(p, counts->source, &set, i);
            counts->source->blocks[i] = (uint32_t)n;
            all += n;
            if (n > group) group = n;
        }
        if (group > most) most = group;
        fits = fits && spmv__block_rows_fit(p, counts->source, row, end);
        sliced = spmv__sat_add(sliced, spmv__sat_mul(group, per));
    }
    counts->most[share] = most;
    counts->all[share] = all;
    counts->sliced[share] = sliced;
    counts->fits[share] = fits;
}

/* Makes what the host counts and fills blocks with. */
static spmv_status spmv__block_sets(const spmv_part *p, spmv__source *source)
{
    uint64_t threads = source->threads;
    const spmv_status status = spmv__sets_make(&source->sets, source->view->a, p->n[SPMV_BLOCK_BH], p->n[SPMV_BLOCK_BW], &threads,
                                               source->hooks);
    source->threads = (uint8_t)threads;
    return status;
}

/* Sets what describes a block, where shares may begin, and room for the number of blocks of each block row. A converter may count them. */
static spmv_status spmv__block_begin(spmv_part *p, spmv__source *source)
{
    void *blocks;
    spmv_status status;
    uint64_t bw = (uint64_t)spmv__block_width(&p->spec);
    p->n[SPMV_BLOCK_BH] = (uint64_t)spmv__block_height(&p->spec);
    p->n[SPMV_BLOCK_BW] = bw;
    p->n[SPMV_BLOCK_UW] = spmv__block_unit(bw);
    if (p->spec.format == SPMV_SBELL) p->n[SPMV_SBELL_H] = spmv__height(&p->spec);
    source->grain = p->n[SPMV_BLOCK_BH] * spmv__block_group_height(p);
    status = spmv__room(source->hooks, &blocks, spmv__block_rows(p), sizeof *source->blocks);
    source->blocks = (uint32_t *)blocks;
    source->threads = (uint8_t)spmv__share_threads(spmv__source_shares(source), SPMV__MOST_SHARES);
    if (!status && source->converter && source->converter->blocks) status = source->converter->blocks(source->converter, p, source);
    return status || source->counted ? status : spmv__block_sets(p, source);
}

/* Counts the blocks and sets the sizes of the arrays. */
static spmv_status spmv__block_size(spmv_part *p, spmv__source *source)
{
    spmv__block_counts counts;
    uint64_t block_rows, most = 0, all = 0, sliced = 0, blocks, bases, i;
    int fits = 1;
    spmv_status status = spmv__block_begin(p, source);
    if (status) return status;
    block_rows = spmv__block_rows(p);
    counts.p = p;
    counts.source = source;
    counts.shares = spmv__source_shares(source);
    spmv__share_among(spmv__block_count_share, &counts, counts.shares, source->threads);
    for (i = 0; i < counts.shares; i++) {
        if (counts.most[i] > most) most = counts.most[i];
        all += counts.all[i];
        sliced = spmv__sat_add(sliced, counts.sliced[i]);
        fits = fits && counts.fits[i];
    }
    if (p->spec.format == SPMV_BELL) {
        p->n[SPMV_BELL_WIDTH] = most;
        p->n[SPMV_BELL_LD] = spmv__leading(block_rows);
        blocks = spmv__sat_mul(most, p->n[SPMV_BELL_LD]);
        bases = p->n[SPMV_BELL_LD] / 32;
    } else if (p->spec.format == SPMV_SBELL) {
        p->n[SPMV_SBELL_SLICES] = spmv__ceil_div(block_rows, p->n[SPMV_SBELL_H]);
        blocks = sliced;
        bases = p->n[SPMV_SBELL_SLICES];
        spmv__want_offsets(&p->a[SPMV_SBELL_PTR], p->n[SPMV_SBELL_SLICES] + 1, blocks);
    } else {
        p->n[SPMV_BCSR_BLOCKS] = blocks = all;
        bases = spmv__ceil_div(block_rows, 32);
        spmv__want_offsets(&p->a[SPMV_BCSR_PTR], block_rows + 1, blocks);
    }
    spmv__want_columns(p, &p->a[spmv__block_col(p)], &p->a[spmv__block_base(p)], blocks, bases, fits);
    spmv__want(&p->a[SPMV_VAL], spmv__sat_mul(blocks, p->n[SPMV_BLOCK_BH] * p->n[SPMV_BLOCK_BW]), p->a[SPMV_VAL].width);
    return SPMV_OK;
}

/* Counts the slots that hold no blocks as padding. */
SPMV__SHARED void spmv__block_padding(const spmv_block_features *block, spmv__load *out)
{
    double held = block->blocks * (double)(block->bh * block->bw);
    out->skipped = out->slots > held ? out->slots - held : 0;
}

/* The estimate of bcsr, which has no padding; the other two start from it. */
static spmv_status spmv__block_estimate(const spmv_spec *spec, const spmv__analysis *analysis, const spmv_features *features,
                                        spmv__load *out)
{
    const spmv_block_features *block = spmv__features_of_block(features, spec);
    if (!block || block->sampled <= 0) return SPMV_ERR_UNSUPPORTED;
    out->slots = block->blocks * (double)(block->bh * block->bw);
    out->longest = block->widest * (double)block->bw;
    out->gather /= (double)block->bw;
    out->uneven = features->uneven;
    return spmv__estimate_columns(spec, analysis, 32 * (uint64_t)block->bh);
}

#ifndef SPMV__NO_BELL
static spmv_status spmv__bell_estimate(const spmv_spec *spec, const spmv__analysis *analysis, const spmv_features *features,
                                       spmv__load *out)
{
    spmv_status s = spmv__block_estimate(spec, analysis, features, out);
    if (s) return s;
    out->slots = out->longest * (double)features->rows;
    spmv__block_padding(spmv__features_of_block(features, spec), out);
    return SPMV_OK;
}
#endif

#ifndef SPMV__NO_SBELL
static spmv_status spmv__sbell_estimate(const spmv_spec *spec, const spmv__analysis *analysis, const spmv_features *features,
                                        spmv__load *out)
{
    const spmv_block_features *block = spmv__features_of_block(features, spec);
    spmv_status s = spmv__block_estimate(spec, analysis, features, out);
    if (s) return s;
    out->slots = block->slots;
    spmv__block_padding(block, out);
    return SPMV_OK;
}
#endif

#ifndef SPMV__NO_BCSR
static spmv_status spmv__bcsr_estimate(const spmv_spec *spec, const spmv__analysis *analysis, const spmv_features *features,
                                       spmv__load *out)
{
    return spmv__block_estimate(spec, analysis, features, out);
}
#endif

/* Makes the slots of a slice of sbell, or those of as many block rows of bell, hold no nonzeros. */
static void spmv__block_clear_slice(const spmv_part *p, const spmv__sink *to, uint64_t block_row)
{
    const uint64_t uw = p->n[SPMV_BLOCK_UW], units = spmv__block_units(p), h = spmv__block_group_height(p);
    const uint64_t blocks = spmv__block_count(p, block_row), ld = p->n[SPMV_BELL_LD];
    uint64_t u;
    if (p->spec.format == SPMV_SBELL) spmv__clear(to, spmv__block_at(p, block_row, 0).val, blocks * units * h * uw);
    else
        for (u = 0; u < blocks * units; u++) spmv__clear(to, (u * ld + block_row) * uw, h * uw);
}

/* Makes the slots of a block row of bcsr hold no nonzeros: each unit of its blocks has a stretch of them. */
static void spmv__block_clear_row(const spmv_part *p, const spmv__sink *to, uint64_t block_row)
{
    const uint64_t uw = p->n[SPMV_BLOCK_UW], units = spmv__block_units(p), blocks = spmv__block_count(p, block_row);
    const spmv__block b = spmv__block_at(p, block_row, 0);
    uint64_t u;
    for (u = 0; u < units; u++) spmv__clear(to, b.val + u * b.step, blocks * uw);
}

/* Where the values of a block row go: a value of block number n, row i and column j of the block goes to slot
 * val + n * apart + i * row + unit[j]. */
typedef struct spmv__block_places {
    uint64_t val, apart, row, unit[SPMV__BLOCK_SIDE];
    uint64_t step; /* slots from one unit of a row to the next */
} spmv__block_places;

/* 1 if some bytes, 4 or 8 of them, are a zero value with either sign. */
SPMV__INLINE uint64_t spmv__zero_at(const unsigned char *value, size_t bytes)
{
    uint64_t d;
    uint32_t f;
    if (bytes == 8) {
        memcpy(&d, value, 8);
        return (uint64_t)(d << 1 == 0);
    }
    memcpy(&f, value, 4);
    return (uint64_t)(f << 1 == 0);
}

/* Lists the slots of the explicit zeros of a block row with so many rows, from row first on, whose values are in place. */
static void spmv__block_list_zeros(const spmv__source *source, spmv__sink *to, const spmv__block_set *set, uint64_t first, uint64_t rows,
                                   uint64_t bw, const spmv__block_places *at)
{
    const spmv_csr *a = source->view->a;
    const uint32_t width = to->dst->width;
    uint64_t i, k;
    for (i = 0; i < rows; i++)
        for (k = a->ptr[first + i]; k < a->ptr[first + i + 1]; k++) {
            uint32_t block = spmv__set_block(set, a->col[k]);
            uint64_t slot;
            if (!spmv__is_zero(to->src + k * width, width) || !spmv__mine(source->view, k)) continue;
            slot = at->val + i * at->row + spmv__set_number(set, block) * at->apart + at->unit[a->col[k] - block * bw];
            to->zeros[to->zero_count++] = slot;
        }
}

/* Is any value of so many rows of the matrix, from row first on, an explicit zero? */
static int spmv__block_has_zeros(const spmv__source *source, const spmv__sink *to, uint64_t first, uint64_t rows)
{
    const uint64_t *ptr = source->view->a->ptr;
    uint64_t k, any = 0, end = ptr[first + rows];
    if (to->dst->width == 8)
        for (k = ptr[first]; k < end; k++) any |= spmv__zero_at(to->src + k * 8, 8);
    else
        for (k = ptr[first]; k < end; k++) any |= spmv__zero_at(to->src + k * 4, 4);
    return any != 0;
}

/* Puts the nonzeros of a row into the blocks of their set, and counts the zeros among them. They have so many bytes each; first: the slot
 * of the row in the first block. */
SPMV__INLINE void spmv__block_store(spmv__sink *to, const spmv__source *source, const spmv__block_set *set, uint64_t row, uint64_t bw,
                                    uint64_t first, const spmv__block_places *at, size_t bytes)
{
    const spmv_csr *a = source->view->a;
    const spmv__block_division by = set->by;
    const unsigned char *src = to->src;
    const uint64_t apart = at->apart, end = a->ptr[row + 1];
    unsigned char *out = (unsigned char *)to->dst->data + first * bytes;
    uint64_t k, zeros = 0;
    for (k = a->ptr[row]; k < end; k++) {
        uint32_t block = spmv__divide_by(by, a->col[k]);
        uint64_t slot = spmv__number_by_bits(set, block) * apart + at->unit[a->col[k] - block * bw];
        memcpy(out + slot * bytes, src + k * bytes, bytes);
        zeros += spmv__zero_at(src + k * bytes, bytes);
    }
    to->zero_count += zeros;
}

/* Puts the nonzeros of so many rows with the same columns, from row first on, into their blocks, which need not be looked up. */
SPMV__INLINE void spmv__block_store_alike(spmv__sink *to, const spmv__source *source, const spmv__block_set *set, uint64_t first,
                                          uint64_t rows, uint64_t bw, const spmv__block_places *at, size_t bytes)
{
    const spmv_csr *a = source->view->a;
    const spmv__block_division by = set->by;
    const uint32_t *col = a->col + a->ptr[first];
    const uint64_t n = a->ptr[first + 1] - a->ptr[first];
    const unsigned char *src = to->src + a->ptr[first] * bytes;
    uint64_t e, i, number = 0, zeros = 0;
    for (e = 0; e < n; e++) {
        uint32_t block = spmv__divide_by(by, col[e]);
        unsigned char *out;
        number += (uint64_t)(block != set->col[number]);
        out = (unsigned char *)to->dst->data + (at->val + number * at->apart + at->unit[col[e] - block * bw]) * bytes;
        for (i = 0; i < rows; i++) {
            memcpy(out + i * at->row * bytes, src + (i * n + e) * bytes, bytes);
            zeros += spmv__zero_at(src + (i * n + e) * bytes, bytes);
        }
    }
    to->zero_count += zeros;
}

/* As spmv__block_store_alike, where the rows fill all blocks of their set: copies whole units, which have so many bytes. */
SPMV__INLINE void spmv__block_store_full(spmv__sink *to, const spmv__source *source, const spmv__block_set *set, uint64_t first,
                                         uint64_t rows, uint64_t units, const spmv__block_places *at, size_t unit, size_t bytes)
{
    const spmv_csr *a = source->view->a;
    const unsigned char *src = to->src + a->ptr[first] * bytes;
    const uint64_t values = set->count * units * rows * (unit / bytes);
    uint64_t i, n, u, zeros = 0;
    for (n = 0; n < values; n++) zeros += spmv__zero_at(src + n * bytes, bytes);
    for (i = 0; i < rows; i++) {
        unsigned char *out = (unsigned char *)to->dst->data + (at->val + i * at->row) * bytes;
        for (n = 0; n < set->count; n++, out += at->apart * bytes)
            for (u = 0; u < units; u++, src += unit) memcpy(out + u * at->step * bytes, src, unit);
    }
    to->zero_count += zeros;
}

/* As spmv__block_store, for what that cannot do: views of some nonzeros, and maps. */
static void spmv__block_put(spmv__sink *to, const spmv__source *source, const spmv__block_set *set, uint64_t row, uint64_t bw,
                            uint64_t first, const spmv__block_places *at)
{
    const spmv_csr *a = source->view->a;
    uint64_t k;
    for (k = a->ptr[row]; k < a->ptr[row + 1]; k++) {
        uint32_t block = spmv__set_block(set, a->col[k]);
        if (spmv__mine(source->view, k))
            spmv__put(to, first + spmv__set_number(set, block) * at->apart + at->unit[a->col[k] - block * bw], k);
    }
}

/* 1 if the rows of the set have the same columns, which fill every block. */
static int spmv__block_is_full(const spmv__block_set *set, const spmv_csr *a, uint64_t first, uint64_t bw)
{
    return set->alike && a->ptr[first + 1] - a->ptr[first] == set->count * bw;
}

/* Puts the nonzeros of so many rows, from row first on, which fill every block of their set, into these blocks. */
static void spmv__block_copy(spmv__sink *to, const spmv__source *source, const spmv__block_set *set, uint64_t first, uint64_t rows,
                             uint64_t bw, uint64_t uw, const spmv__block_places *at)
{
    const uint64_t units = bw / uw;
    if (to->dst->width == 8) {
        if (uw == 2) spmv__block_store_full(to, source, set, first, rows, units, at, 16, 8);
        else if (uw == 3) spmv__block_store_full(to, source, set, first, rows, units, at, 24, 8);
        else spmv__block_store_full(to, source, set, first, rows, units, at, 32, 8);
    } else {
        if (uw == 2) spmv__block_store_full(to, source, set, first, rows, units, at, 8, 4);
        else if (uw == 3) spmv__block_store_full(to, source, set, first, rows, units, at, 12, 4);
        else spmv__block_store_full(to, source, set, first, rows, units, at, 16, 4);
    }
}

/* Puts the nonzeros of a block row with so many rows, from row first on, into its blocks. */
static void spmv__block_values(spmv__sink *to, const spmv__source *source, const spmv__block_set *set, uint64_t first, uint64_t rows,
                               uint64_t bw, const spmv__block_places *at)
{
    const int plain = to->src && !source->view->owner, wide = to->dst->width == 8;
    uint64_t i;
    if (plain && set->alike) {
        if (wide) spmv__block_store_alike(to, source, set, first, rows, bw, at, 8);
        else spmv__block_store_alike(to, source, set, first, rows, bw, at, 4);
        return;
    }
    for (i = 0; i < rows; i++) {
        uint64_t val = at->val + i * at->row;
        if (!plain || !set->word) spmv__block_put(to, source, set, first + i, bw, val, at);
        else if (wide) spmv__block_store(to, source, set, first + i, bw, val, at, 8);
        else spmv__block_store(to, source, set, first + i, bw, val, at, 4);
    }
}

/* Fills the columns of block row block_row, with their padding. */
static void spmv__block_columns(spmv_part *p, const spmv__block_set *set, uint64_t block_row, uint64_t slot)
{
    spmv_array *col = &p->a[spmv__block_col(p)];
    const spmv_array *base = &p->a[spmv__block_base(p)];
    const uint64_t distance = spmv__block_distance(p), stored = spmv__block_count(p, block_row), count = set->count;
    const uint32_t *from = set->col, bw = (uint32_t)p->n[SPMV_BLOCK_BW];
    uint64_t i;
    if (base->count) {
        const uint32_t lowest = ((const uint32_t *)base->data)[spmv__block_group(p, block_row)] / bw;
        uint16_t *to = (uint16_t *)col->data + slot;
        for (i = 0; i < count; i++) to[i * distance] = (uint16_t)(from[i] - lowest);
        for (; i < stored; i++) to[i * distance] = SPMV_PAD16;
    } else {
        uint32_t *to = (uint32_t *)col->data + slot;
        for (i = 0; i < count; i++) to[i * distance] = from[i] * bw;
        for (; i < stored; i++) to[i * distance] = SPMV_PAD;
    }
}

/* Sets what the places of all block rows have in common. */
static void spmv__block_places_of(spmv__block_places *at, const spmv_part *p)
{
    const uint64_t bw = p->n[SPMV_BLOCK_BW], uw = p->n[SPMV_BLOCK_UW];
    uint64_t i;
    memset(at, 0, sizeof *at);
    if (!p->a[SPMV_VAL].count) return; /* no blocks, and so no places */
    at->step = spmv__block_at(p, 0, 0).step;
    at->apart = spmv__block_at(p, 0, 1).val - spmv__block_at(p, 0, 0).val;
    at->row = bw / uw * at->step;
    for (i = 0; i < bw; i++) at->unit[i] = i / uw * at->step + i % uw;
}

/* Fills block row block_row: the columns of its blocks, and their values. In bell and sbell the slots of its slice hold no nonzeros so
 * far. In the second pass over formats with fill, which lists explicit zeros, only these are looked for. at->val is changed. */
static void spmv__block_fill_row(spmv_part *p, const spmv__source *source, spmv__sink *to, spmv__block_set *set, spmv__block_places *at,
                                 uint64_t block_row)
{
    const uint64_t bh = p->n[SPMV_BLOCK_BH], bw = p->n[SPMV_BLOCK_BW], first = block_row * bh;
    const uint64_t rows = spmv__block_row_height(p, block_row);
    const spmv__block begin = spmv__block_at(p, block_row, 0);
    int full;
    if (to->zeros && !(rows && spmv__block_has_zeros(source, to, first, rows))) return;
    spmv__set_collect(set, source->view, first, rows, bw);
    at->val = begin.val;
    if (to->zeros) spmv__block_list_zeros(source, to, set, first, rows, bw, at);
    else {
        full = to->src && spmv__block_is_full(set, source->view->a, first, bw);
        spmv__block_columns(p, set, block_row, begin.col);
        if (p->spec.format == SPMV_BCSR && !(full && rows == bh)) spmv__block_clear_row(p, to, block_row);
        if (full) spmv__block_copy(to, source, set, first, rows, bw, p->n[SPMV_BLOCK_UW], at);
        else spmv__block_values(to, source, set, first, rows, bw, at);
    }
    spmv__set_clear(set);
}

/* Fills the base of a group of block rows: its lowest column, rounded down to a whole block. */
static void spmv__block_fill_base(spmv_part *p, const spmv__source *source, uint64_t group)
{
    uint64_t low, high, rows = p->n[SPMV_BLOCK_BH] * spmv__block_group_height(p);
    spmv__span(source, spmv__smaller(group * rows, p->rows), spmv__smaller((group + 1) * rows, p->rows), &low, &high);
    ((uint32_t *)p->a[spmv__block_base(p)].data)[group] = low > high ? 0 : (uint32_t)(low - low % p->n[SPMV_BLOCK_BW]);
}

/* Fills the pointers, to slices in sbell and to block rows in bcsr, from the numbers of blocks. */
static void spmv__block_lay(spmv_part *p, spmv__source *source)
{
    const uint64_t block_rows = spmv__block_rows(p);
    uint64_t row = 0, t, sum = 0;
    spmv_array *ptr = &p->a[spmv__block_ptr(p)];
    if (p->spec.format == SPMV_BCSR) spmv__offsets_from(ptr, source->blocks, 1);
    if (p->spec.format != SPMV_SBELL) return;
    for (t = 0; t < p->n[SPMV_SBELL_SLICES]; t++) {
        const uint64_t end = spmv__smaller(row + p->n[SPMV_SBELL_H], block_rows);
        uint64_t most = 0;
        for (; row < end; row++)
            if (source->blocks[row] > most) most = source->blocks[row];
        spmv__set(ptr, t, sum);
        sum += most * p->n[SPMV_SBELL_H];
    }
    spmv__set(ptr, t, sum);
}

/* Fills the block rows of rows first .. end - 1, which begin with a group that shares a base, and after the last one the padding that
 * bell and sbell have in the place of further block rows. */
static void spmv__block_fill(spmv_part *p, const spmv__source *source, spmv__sink *to, uint64_t first, uint64_t end)
{
    const uint64_t bh = p->n[SPMV_BLOCK_BH], h = spmv__block_group_height(p), bases = p->a[spmv__block_base(p)].count;
    spmv__block_set set = source->sets[to->thread]; /* a copy: no two threads write to one cache line */
    uint64_t row, stop = spmv__ceil_div(end, bh);
    spmv__block_places at;
    spmv__block_places_of(&at, p);
    if (end == p->rows && p->spec.format == SPMV_SBELL) stop = spmv__round_up(stop, h);
    if (end == p->rows && p->spec.format == SPMV_BELL) stop = p->n[SPMV_BELL_LD];
    for (row = first / bh; row < stop; row++) {
        if (row % h == 0 && row / h < bases && !to->zeros) spmv__block_fill_base(p, source, row / h);
        if (row % h == 0 && p->spec.format != SPMV_BCSR && !to->zeros) spmv__block_clear_slice(p, to, row);
        spmv__block_fill_row(p, source, to, &set, &at, row);
    }
}

/* Visits the elements of all blocks that lie within the matrix. */
static void spmv__block_each(const spmv_part *p, spmv__visit visit, void *user)
{
    uint64_t block_row, k, i, j, bh = p->n[SPMV_BLOCK_BH], bw = p->n[SPMV_BLOCK_BW], uw = p->n[SPMV_BLOCK_UW];
    for (block_row = 0; block_row < spmv__block_rows(p); block_row++)
        for (k = 0; k < spmv__block_count(p, block_row); k++) {
            spmv__block b = spmv__block_at(p, block_row, k);
            uint32_t c = spmv__block_column(p, block_row, b.col);
            if (c == SPMV_PAD) continue;
            for (i = 0; i < bh && block_row * bh + i < p->rows; i++)
                for (j = 0; j < bw && c + j < p->cols; j++)
                    visit(user, block_row * bh + i, c + j, b.val + (i * bw + j) / uw * b.step + j % uw);
        }
}

/* Are there so many blocks, in columns of which bases groups have bases, and is a block what the keys say? */
static int spmv__blocks_sized(const spmv_part *p, uint64_t blocks, uint64_t bases)
{
    const uint64_t bh = (uint64_t)spmv__block_height(&p->spec), bw = (uint64_t)spmv__block_width(&p->spec);
    return p->n[SPMV_BLOCK_BH] == bh && p->n[SPMV_BLOCK_BW] == bw && p->n[SPMV_BLOCK_UW] == spmv__block_unit(bw) &&
           p->a[SPMV_VAL].count == spmv__sat_mul(blocks, bh * bw) &&
           spmv__columns_sized(&p->a[spmv__block_col(p)], &p->a[spmv__block_base(p)], blocks, bases);
}

SPMV__SHARED int spmv__block_sound(const spmv_part *p)
{
    const spmv_array *col = &p->a[spmv__block_col(p)], *base = &p->a[spmv__block_base(p)], *ptr = &p->a[spmv__block_ptr(p)];
    const uint64_t bw = (uint64_t)spmv__block_width(&p->spec), h = spmv__height(&p->spec);
    const uint64_t rows = spmv__ceil_div(p->rows, (uint64_t)spmv__block_height(&p->spec)), ld = spmv__leading(rows);
    const uint64_t slices = spmv__ceil_div(rows, h);
    uint64_t t;
    if (p->spec.format == SPMV_BELL)
        return p->n[SPMV_BELL_LD] == ld && spmv__blocks_sized(p, spmv__sat_mul(p->n[SPMV_BELL_WIDTH], ld), ld / 32) &&
               spmv__columns_across(p, col, base, 32, col->count, ld / 32, bw);
    if (p->spec.format == SPMV_BCSR)
        return p->n[SPMV_BCSR_BLOCKS] == col->count && spmv__blocks_sized(p, col->count, spmv__ceil_div(rows, 32)) &&
               spmv__offsets_sound(ptr, rows + 1, col->count) && spmv__columns_by(p, col, base, ptr, 32, bw, 0);
    if (p->n[SPMV_SBELL_H] != h || p->n[SPMV_SBELL_SLICES] != slices || !spmv__blocks_sized(p, col->count, slices) ||
        !spmv__offsets_sound(ptr, slices + 1, col->count))
        return 0;
    for (t = 0; t < slices; t++)
        if ((spmv__at(ptr, t + 1) - spmv__at(ptr, t)) % h) return 0;
    return spmv__columns_by(p, col, base, ptr, 1, bw, 1);
}

/* The three formats share these functions; the table needs each under the format's own name. */
#define spmv__bell_size  spmv__block_size
#define spmv__bell_lay   spmv__block_lay
#define spmv__bell_fill  spmv__block_fill
#define spmv__bell_each  spmv__block_each
#define spmv__bell_sound spmv__block_sound
#define spmv__sbell_size spmv__block_size
#define spmv__sbell_lay  spmv__block_lay
#define spmv__sbell_fill spmv__block_fill
#define spmv__sbell_each spmv__block_each
#define spmv__sbell_sound spmv__block_sound
#define spmv__bcsr_size  spmv__block_size
#define spmv__bcsr_lay   spmv__block_lay
#define spmv__bcsr_fill  spmv__block_fill
#define spmv__bcsr_each  spmv__block_each
#define spmv__bcsr_sound spmv__block_sound
#endif

/* -- products on the host -- */

#define SPMV__EDGE 8 /* columns of the widest block, and its rows */
#define SPMV__SLAB 32 /* block rows that are summed together, at most; they have the same base */
#ifdef SPMV__ANY_BLOCK
/* Neighbouring block rows of bell, sbell or bcsr. */
typedef struct spmv__block_slab {
    uint64_t        count, cols;           /* block rows; columns of the matrix */
    const uint32_t *col;                   /* of the first block; NULL: narrow has its column, from base on */
    const uint16_t *narrow;
    uint64_t        base, step;            /* step: slots from one unit of a block to the next */
    int             is_bcsr, is_last;      /* is_last: the last blocks may be in this slab */
    uint64_t        blocks;                /* bell, sbell: blocks of a block row */
    uint64_t        next_col, next_val;    /* and columns and slots from one to the next */
    uint64_t        ahead;                 /* and slots in advance of which memory is prefetched */
    uint64_t        ptr[SPMV__SLAB + 1];   /* bcsr: where the blocks of each block row begin, counted from the first */
} spmv__block_slab;

/* Finds the slab that begins with block row s and goes on to block row end at most. Returns the slot of its first block. */
SPMV__SHARED uint64_t spmv__block_slab_make(spmv__block_slab *slab, const spmv_part *p, uint64_t s, uint64_t end)
{
    const uint64_t height = spmv__block_group_height(p);
    const spmv__block first = spmv__block_at(p, s, 0), second = spmv__block_at(p, s, 1);
    const spmv_array *col = &p->a[spmv__block_col(p)], *base = &p->a[spmv__block_base(p)], *ptr = &p->a[SPMV_BCSR_PTR];
    uint64_t i;
    slab->count = spmv__smaller(spmv__smaller(height - s % height, SPMV__SLAB), end - s);
    slab->cols = p->cols;
    slab->col = base->count ? NULL : (const uint32_t *)col->data + first.col;
    slab->narrow = base->count ? (const uint16_t *)col->data + first.col : NULL;
    slab->base = base->count ? spmv__at(base, s / height) : 0;
    slab->step = first.step;
    slab->is_bcsr = p->spec.format == SPMV_BCSR;
    slab->blocks = spmv__block_count(p, s);
    slab->next_col = second.col - first.col;
    slab->next_val = second.val - first.val;
    /* where the same unit of the next slab begins: the processor does not follow so many units by itself */
    slab->ahead = p->spec.format == SPMV_BELL || slab->count < height ? SPMV__SLAB * p->n[SPMV_BLOCK_UW] : slab->blocks * slab->next_val;
    slab->is_last = s + slab->count == spmv__block_rows(p);
    if (p->spec.format == SPMV_SBELL) { /* behind its slice, all may be empty */
        const spmv_array *slice = &p->a[SPMV_SBELL_PTR];
        slab->is_last = spmv__at(slice, s / height + 1) == spmv__at(slice, p->n[SPMV_SBELL_SLICES]);
    }
    if (!slab->is_bcsr) return first.val;
    if (ptr->width == 4)
        for (i = 0; i <= slab->count; i++) slab->ptr[i] = ((const uint32_t *)ptr->data)[s + i] - first.col;
    else
        for (i = 0; i <= slab->count; i++) slab->ptr[i] = spmv__at(ptr, s + i) - first.col;
    slab->is_last = first.col + slab->ptr[slab->count] == p->n[SPMV_BCSR_BLOCKS];
    return first.val;
}
#endif

#define SPMV__BLOCK_NAME(bh, bw) block_##bh##x##bw
#ifndef SPMV__NO_BCSR
#define SPMV__IF_BCSR(text) text
#else
#define SPMV__IF_BCSR(text)
#endif
#if !defined(SPMV__NO_BELL) || !defined(SPMV__NO_SBELL)
#define SPMV__IF_BELL(text) text
#else
#define SPMV__IF_BELL(text)
#endif

#endif

/* ---- products on the host, for each level and type (products.h) -------------------------------------------------- */
#define SPMV__HOST_BELL { SPMV__PRODUCTS(block), SPMV__REPEAT(block) }
#define SPMV__HOST_SBELL { SPMV__PRODUCTS(block), SPMV__REPEAT(block) }
#define SPMV__HOST_BCSR { SPMV__PRODUCTS(block), SPMV__REPEAT(block) }
#if defined(SPMV__TYPE) && !defined(SPMV__COLUMN_BITS) /* again */
#if defined(SPMV__SIMPLE) || defined(SPMV__REPEATED)
#ifdef SPMV__ANY_BLOCK
/* Adds the products of a block to the sums of its bh rows; its next unit of uw values is step behind the one before. */
SPMV__FORCE_INLINE void SPMV__N(block_products)(const SPMV__V *val, uint64_t step, const SPMV__T *x, SPMV__T *sum, int bh, int bw, int uw)
{
    int i, j, u;
    for (i = 0; i < bh; i++) {
        SPMV__T one = sum[i * SPMV__BLOCK_LANES];
        for (j = 0; j < bw; j += uw, val += step)
            for (u = 0; u < uw; u++) one = SPMV__PLUS(val[u], x[j + u], one);
        sum[i * SPMV__BLOCK_LANES] = one;
    }
}

/* The common sizes are constants, so that the compiler unrolls. */
static void SPMV__N(block_sums)(const spmv_part *p, const SPMV__V *val, uint64_t step, const SPMV__T *x, SPMV__T *sum)
{
    const int bh = (int)p->n[SPMV_BLOCK_BH], bw = (int)p->n[SPMV_BLOCK_BW];
    if (bh == 2 && bw == 2) SPMV__N(block_products)(val, step, x, sum, 2, 2, 2);
    else if (bh == 3 && bw == 3) SPMV__N(block_products)(val, step, x, sum, 3, 3, 3);
    else if (bh == 4 && bw == 4) SPMV__N(block_products)(val, step, x, sum, 4, 4, 4);
    else SPMV__N(block_products)(val, step, x, sum, bh, bw, (int)p->n[SPMV_BLOCK_UW]);
}

/* Block by block; columns beyond the matrix count as 0, as in the kernels. */
static void SPMV__N(block)(const spmv__job *job, uint64_t share, uint64_t shares)
{
    SPMV__ENTER;
    const uint64_t bh = p->n[SPMV_BLOCK_BH], bw = p->n[SPMV_BLOCK_BW], rows = spmv__block_rows(p);
    const uint64_t lanes = p->spec.format == SPMV_BCSR ? SPMV__BLOCK_LANES : 1, end = spmv__even(rows, 1, share + 1, shares);
    const spmv_array *col = &p->a[spmv__block_col(p)], *base = &p->a[spmv__block_base(p)];
    SPMV__T last[SPMV__EDGE];
    uint64_t s = spmv__even(rows, 1, share, shares), i, j, k;
    for (; s < end; s++) {
        SPMV__T sum[SPMV__EDGE * SPMV__BLOCK_LANES] = { 0 };
        const uint64_t count = spmv__block_count(p, s), group = spmv__block_group(p, s);
        const spmv__block first = spmv__block_at(p, s, 0), second = spmv__block_at(p, s, 1);
        for (k = 0; k < count; k++) {
            const uint64_t c = spmv__column_at(col, base, first.col + k * (second.col - first.col), group, bw);
            const int edge = c + bw > p->cols;
            if (c == SPMV_PAD) continue;
            for (j = 0; edge && j < bw; j++) last[j] = c + j < p->cols ? x[c + j] : 0;
            SPMV__N(block_sums)(p, val + first.val + k * (second.val - first.val), first.step, edge ? last : x + c, sum + k % lanes);
        }
        for (i = 0; i < bh && s * bh + i < p->rows; i++)
            SPMV__N(set)(p, s * bh + i, alpha, SPMV__N(tree)(sum + i * SPMV__BLOCK_LANES, (int)lanes), beta, y);
    }
}
#endif
#else /* in vectors */
#ifdef SPMV__ANY_BLOCK

/* Fills edge with what the last block of a row of blocks reads instead of x, if x ends within or right behind it: the rest of x, and
 * zeros. */
static void SPMV__F(block_edge)(const spmv_part *p, const SPMV__T *x, SPMV__T *edge)
{
    uint64_t bw = p->n[SPMV_BLOCK_BW], first = (p->cols - 1) / bw * bw, j;
    for (j = 0; j < SPMV__EDGE; j++) edge[j] = first + j < p->cols ? x[first + j] : 0;
}

/* What is done with the sum of each row of a block, one by one: a loop would leave the sums in memory. */
#define SPMV__EACH_SUM(what) what(0) what(1) what(2) what(3) what(4) what(5) what(6) what(7)
#define SPMV__PUT(i) if (bh > i) sum[i] = load > uw ? SPMV__O(qfirst)(part[i], (uint64_t)uw) : part[i];

/* Adds the units of row i of a block, each as SPMV__UNIT says. */
#define SPMV__ADD(i)                                                                                                               \
    if (bh > i) {                                                                                                                  \
        SPMV__UNIT(i, 0, x0)                                                                                                       \
        if (units > 1) { SPMV__UNIT(i, 1, x1) }                                                                                    \
        if (units > 2) { SPMV__UNIT(i, 2, x2) }                                                                                    \
    }

/* Adds a block to the sums of its rows. Its units lie step slots apart, and memory is prefetched ahead slots in advance, unless that is 0.
 * Each load is of so many elements of a unit and of x: of units of three, that is one more, whose product is in the lane that qfirst
 * drops. All sizes are constants, so that sums stay in registers. */
SPMV__FORCE_INLINE void SPMV__F(block_add)(const SPMV__V *val, uint64_t step, uint64_t ahead, const SPMV__T *x, SPMV__O(quad) *sum, int bh,
                                           int bw, int uw, int load)
{
    const int units = bw / uw; /* of a row */
    const SPMV__O(quad) x0 = SPMV__O(qfrom)(x, load), x1 = units > 1 ? SPMV__O(qfrom)(x + uw, load) : x0;
    const SPMV__O(quad) x2 = units > 2 ? SPMV__O(qfrom)(x + 2 * uw, load) : x0;
#define SPMV__UNIT(i, u, x)                                                                                                        \
    if (ahead) SPMV__AHEAD(val + (uint64_t)(i * units + u) * step + ahead);                                                        \
    sum[i] = SPMV__O(qfma)(SPMV__F(qload)(val + (uint64_t)(i * units + u) * step, load), x, sum[i]);
    SPMV__EACH_SUM(SPMV__ADD)
#undef SPMV__UNIT
}

/* Adds two blocks of bcsr with units of two to the sums of their rows: a quad holds the same unit of both, one behind the other, as they
 * are stored. x and next: the elements of x for each block. */
SPMV__FORCE_INLINE void SPMV__F(block_add_two)(const SPMV__V *val, uint64_t step, const SPMV__T *x, const SPMV__T *next,
                                               SPMV__O(quad) *sum, int bh, int bw)
{
    const int units = bw / 2; /* of a row */
    const SPMV__O(quad) x0 = SPMV__O(qtwo)(x, next), x1 = units > 1 ? SPMV__O(qtwo)(x + 2, next + 2) : x0;
    const SPMV__O(quad) x2 = units > 2 ? SPMV__O(qtwo)(x + 4, next + 4) : x0;
#define SPMV__UNIT(i, u, x) sum[i] = SPMV__O(qfma)(SPMV__F(qload)(val + (uint64_t)(i * units + u) * step, 4), x, sum[i]);
    SPMV__EACH_SUM(SPMV__ADD)
#undef SPMV__UNIT
#undef SPMV__ADD
}

/* Prefetches a cache line of each of so many units, which lie step slots apart, SPMV__LINES_AHEAD lines in advance. */
SPMV__FORCE_INLINE void SPMV__F(block_ahead)(const SPMV__V *val, uint64_t step, int units)
{
    int i;
    for (i = 0; i < units; i++) SPMV__AHEAD(val + (uint64_t)i * step + SPMV__LINES_AHEAD * SPMV__CACHE_LINE / sizeof *val);
}

/* Sums the block rows of a slab one after another, in registers. Those of bell and sbell read the same cache lines, because the same unit
 * of all lies side by side. Padding comes last in a block row. */
SPMV__FORCE_INLINE void SPMV__F(slab_rows)(const spmv__block_slab *slab, const SPMV__V *val, const SPMV__T *x, const SPMV__T *edge,
                                           SPMV__O(quad) *sum, int bh, int bw, int uw, int load, int is_bcsr)
{
    const SPMV__O(quad) zero = SPMV__O(qzero)();
    const uint32_t *col = slab->col;
    const uint16_t *narrow = slab->narrow;
    const uint64_t step = slab->step, base = slab->base, cols = slab->cols, count = slab->count, reads = (uint64_t)(bw + load - uw);
    const uint64_t next_col = is_bcsr ? 1 : slab->next_col, next_val = is_bcsr ? (uint64_t)uw : slab->next_val;
    const uint64_t ahead = is_bcsr ? 0 : slab->ahead;
    const uint64_t per_line = SPMV__CACHE_LINE / (sizeof *val * (uint64_t)uw); /* units */
    const int many = is_bcsr && bh * bw / uw >= SPMV__MANY_UNITS;
    uint64_t i;
    for (i = 0; i < count; i++, sum += bh) {
        SPMV__O(quad) part[8] = { zero, zero, zero, zero, zero, zero, zero, zero };
        uint64_t k = is_bcsr ? slab->ptr[i] : i;
        const uint64_t end = is_bcsr ? slab->ptr[i + 1] : i + slab->blocks * next_col;
        const SPMV__V *at = val + k * (uint64_t)uw;
        for (; is_bcsr && uw == 2 && k + 2 <= end; k += 2, at += 4) {
            if (many && k % per_line < 2) SPMV__F(block_ahead)(at, step, bh * bw / uw);
            const uint64_t c = col ? col[k] : base + narrow[k] * (uint64_t)bw;
            const uint64_t next = col ? col[k + 1] : base + narrow[k + 1] * (uint64_t)bw;
            SPMV__F(block_add_two)(at, step, c + reads > cols ? edge : x + c, next + reads > cols ? edge : x + next, part, bh, bw);
        }
        for (; k < end; k += next_col, at += next_val) {
            if (many && k % per_line == 0) SPMV__F(block_ahead)(at, step, bh * bw / uw);
            const uint64_t c = col ? col[k] : !is_bcsr && narrow[k] == SPMV_PAD16 ? SPMV_PAD : base + narrow[k] * (uint64_t)bw;
            const SPMV__T *from = x + c;
            if (c + reads > cols) {
                if (!is_bcsr && c == SPMV_PAD) break;
                from = edge;
            }
            SPMV__F(block_add)(at, step, ahead, from, part, bh, bw, uw, load);
        }
        SPMV__EACH_SUM(SPMV__PUT)
    }
}

/* With the block size a constant, a function of its own for each. */
#define X(bh, bw, uw)                                                                                                              \
    SPMV__APART void SPMV__F(SPMV__BLOCK_NAME(bh, bw))(const spmv__block_slab *slab, const SPMV__V *val, const SPMV__T *x,         \
                                                       const SPMV__T *edge, SPMV__O(quad) *sum)                                    \
    {                                                                                                                              \
        const int more = uw == 3 && !slab->is_last; /* the element behind the last unit is outside of the matrix */                \
        SPMV__IF_BCSR(if (slab->is_bcsr && more) SPMV__F(slab_rows)(slab, val, x, edge, sum, bh, bw, uw, 4, 1);)                   \
        SPMV__IF_BCSR(if (slab->is_bcsr && !more) SPMV__F(slab_rows)(slab, val, x, edge, sum, bh, bw, uw, uw, 1);)                 \
        SPMV__IF_BELL(if (!slab->is_bcsr && more) SPMV__F(slab_rows)(slab, val, x, edge, sum, bh, bw, uw, 4, 0);)                  \
        SPMV__IF_BELL(if (!slab->is_bcsr && !more) SPMV__F(slab_rows)(slab, val, x, edge, sum, bh, bw, uw, uw, 0);)                \
    }
SPMV_BLOCK_LIST(X)
#undef X
#undef SPMV__PUT
#undef SPMV__EACH_SUM

/* Block rows s .. end - 1, slab by slab. */
static void SPMV__F(block_rows)(const spmv_part *p, uint64_t s, uint64_t end, SPMV__T alpha, const SPMV__T *x, SPMV__T beta, SPMV__T *y)
{
    const uint64_t bh = p->n[SPMV_BLOCK_BH];
    SPMV__T edge[SPMV__EDGE], sum[SPMV__SLAB * SPMV__EDGE];
    SPMV__O(quad) lanes[SPMV__SLAB * SPMV__EDGE];
    spmv__block_slab slab;
    uint64_t i, n;
    SPMV__F(block_edge)(p, x, edge);
    for (; s < end; s += slab.count) {
        const SPMV__V *val = (const SPMV__V *)p->a[SPMV_VAL].data + spmv__block_slab_make(&slab, p, s, end);
        for (i = slab.count * bh; i % 4; i++) lanes[i] = SPMV__O(qzero)();
        switch (bh << 8 | p->n[SPMV_BLOCK_BW]) {
#define X(bh, bw, uw) case bh << 8 | bw: SPMV__F(SPMV__BLOCK_NAME(bh, bw))(&slab, val, x, edge, lanes); break;
            SPMV_BLOCK_LIST(X)
#undef X
        }
        n = spmv__smaller(slab.count * bh, p->rows - s * bh);
        for (i = 0; i < n; i += 4) SPMV__O(qsums)(sum + i, lanes[i], lanes[i + 1], lanes[i + 2], lanes[i + 3]);
        SPMV__F(set_rows)(p, s * bh, n, alpha, sum, beta, y);
    }
}

/* The product of bell, sbell and bcsr. Shares begin where a group of block rows does that has a base or a slice of its own. */
static void SPMV__F(block)(const spmv__job *job, uint64_t share, uint64_t shares)
{
    SPMV__ENTER;
    const uint64_t block_rows = spmv__block_rows(p), height = spmv__block_group_height(p);
    uint64_t s, end;
    (void)val;
    if (p->spec.format == SPMV_BELL) {
        s = spmv__even(block_rows, height, share, shares);
        end = spmv__even(block_rows, height, share + 1, shares);
    } else if (p->spec.format == SPMV_BCSR) {
        s = spmv__weighted(&p->a[SPMV_BCSR_PTR], block_rows, share, shares);
        end = spmv__weighted(&p->a[SPMV_BCSR_PTR], block_rows, share + 1, shares);
    } else {
        const uint64_t slices = p->n[SPMV_SBELL_SLICES];
        s = spmv__smaller(block_rows, spmv__weighted(&p->a[SPMV_SBELL_PTR], slices, share, shares) * height);
        end = spmv__smaller(block_rows, spmv__weighted(&p->a[SPMV_SBELL_PTR], slices, share + 1, shares) * height);
    }
    if (s < end) SPMV__F(block_rows)(p, s, end, alpha, x, beta, y);
}
#endif
#endif
#endif /* again */
