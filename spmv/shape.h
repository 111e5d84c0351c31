/* SPDX-License-Identifier: MIT
 *
 * spmv/shape.h - keys of a part, the nonzeros that it is filled from, estimates of its size: what every format shares.
 */
#ifndef SPMV__SHAPE_H
#define SPMV__SHAPE_H

#include "input.h"
#include "threads.h"

/* ---- keys and cuts ----------------------------------------------------------------------------------------------- */

/* SPMV_ONLY is a sum of SPMV_BIT_<NAME>; for a format that it leaves out, SPMV__NO_<NAME> is defined. */
#if defined(SPMV_NO_DENSE) || defined(SPMV_NO_COO) || defined(SPMV_NO_CSR) || defined(SPMV_NO_DIA) || defined(SPMV_NO_BDIA) || \
    defined(SPMV_NO_ELL) || defined(SPMV_NO_SELL) || defined(SPMV_NO_BELL) || defined(SPMV_NO_SBELL) || defined(SPMV_NO_BCSR) || \
    defined(SPMV_NO_CMRS) || defined(SPMV_NO_TCSR)
#error "SPMV_ONLY leaves formats out: -DSPMV_ONLY=~SPMV_BIT_ELL is all but ell"
#endif
#ifdef SPMV_ONLY
#define SPMV__ONLY (SPMV_ONLY)
#else
#define SPMV__ONLY (~0)
#endif

SPMV__SHARED int64_t spmv__block_height(const spmv_spec *spec) { return spec->key[SPMV_KEY_B] ? spec->key[SPMV_KEY_B] >> 8 : 4; }
SPMV__SHARED int64_t spmv__block_width(const spmv_spec *spec) { return spec->key[SPMV_KEY_B] ? spec->key[SPMV_KEY_B] & 255 : 4; }

/* The height of a slice or strip, or the default of the key. */
SPMV__SHARED uint64_t spmv__height(const spmv_spec *spec)
{
    if (spec->key[SPMV_KEY_H]) return (uint64_t)spec->key[SPMV_KEY_H];
    return spec->format == SPMV_CMRS ? 4 : 32;
}

static int spmv__block_known(int64_t b)
{
#define X(bh, bw, uw) if (b == ((bh) << 8 | (bw))) return 1;
    SPMV_BLOCK_LIST(X)
#undef X
    return b == 0;
}

SPMV__SHARED int spmv__format_takes_key(spmv_format format, spmv_key key); /* it has the table of formats, which come later */

/* The first key of a specification that is not valid, as a sentence for the user; NULL if all are. */
static const char *spmv__spec_fault(const spmv_spec *spec)
{
    const int64_t *k = spec->key;
    int i, h_ok = k[SPMV_KEY_H] >= 0 && k[SPMV_KEY_H] <= 65536;
    for (i = 0; i < SPMV_KEY_COUNT; i++)
        if (k[i] && !spmv__format_takes_key(spec->format, (spmv_key)i)) return "the format has no such key";
    if (k[SPMV_KEY_W] < 0 || k[SPMV_KEY_W] > 0xffffffff) return "w must be 0 .. 4294967295";
    if (k[SPMV_KEY_FILL] < 0 || k[SPMV_KEY_FILL] > 1000000) return "fill must be 0 .. 1";
    if (k[SPMV_KEY_D] < 0 || k[SPMV_KEY_D] > 1000000) return "d must be 0 .. 1";
    if (!spmv__block_known(k[SPMV_KEY_B])) return
#define X(bh, bw, uw) " " #bh "x" #bw
        "b must be one of" SPMV_BLOCK_LIST(X);
#undef X
    if (spec->format == SPMV_CMRS)
        h_ok = k[SPMV_KEY_H] >= 0 && k[SPMV_KEY_H] <= 16 && !(k[SPMV_KEY_H] & (k[SPMV_KEY_H] - 1));
    if (!h_ok) return spec->format == SPMV_CMRS ? "h must be 1 2 4 8 or 16" : "h must be 1 .. 65536";
    if (k[SPMV_KEY_GROW] < 0 || k[SPMV_KEY_GROW] >= 1000000) return "grow must be below 1";
    if (k[SPMV_KEY_ROWS] < 0 || k[SPMV_KEY_ROWS] > SPMV_ROWS_SORTED) return "rows must be all, nonempty or sorted";
    if (k[SPMV_KEY_SIGMA] < 0 || k[SPMV_KEY_SIGMA] > 0xffffffff) return "sigma must be 0 .. 4294967295";
    if (k[SPMV_KEY_SIGMA] && k[SPMV_KEY_ROWS] != SPMV_ROWS_SORTED) return "sigma needs rows=sorted";
    if ((k[SPMV_KEY_SORT] | k[SPMV_KEY_WIDE] | k[SPMV_KEY_ROWMAJOR]) & ~(int64_t)1) return "sort, wide and rowmajor must be 0 or 1";
    if (k[SPMV_KEY_RUN] && (k[SPMV_KEY_RUN] < 32 || k[SPMV_KEY_RUN] > 65536)) return "run must be 32 .. 65536";
    if (k[SPMV_KEY_IDX] && k[SPMV_KEY_IDX] != 16 && k[SPMV_KEY_IDX] != 32) return "idx must be 16 or 32";
    if (k[SPMV_KEY_IDX] == 16 && spec->format == SPMV_CSR && !k[SPMV_KEY_RUN]) return "idx=16 needs run";
    if (k[SPMV_KEY_TILE] && (k[SPMV_KEY_TILE] < 512 || k[SPMV_KEY_TILE] > 4096 || (k[SPMV_KEY_TILE] & (k[SPMV_KEY_TILE] - 1))))
        return "tile must be 512 1024 2048 or 4096";
    if (k[SPMV_KEY_VAL] && k[SPMV_KEY_VAL] != 1 && k[SPMV_KEY_VAL] != 8 && k[SPMV_KEY_VAL] != 32 && k[SPMV_KEY_VAL] != 64)
        return "val must be 1 8 32 or 64";
    return NULL;
}

/* Checks the format, its keys, and then whether the format is compiled in. Returns SPMV_ERR_ARGUMENT or SPMV_ERR_UNSUPPORTED with the
 * reason in *why, a string that lives as long as the program; *why is NULL on success. */
static spmv_status spmv__spec_check(const spmv_spec *spec, const char **why)
{
    const char *fault = "there is no such format";
    spmv_status s = SPMV_ERR_ARGUMENT;
    if ((unsigned)spec->format < SPMV_FORMAT_COUNT) {
        fault = spmv__spec_fault(spec);
        if (!fault && !spmv_format_built(spec->format)) {
            fault = "the format was left out of this build";
            s = SPMV_ERR_UNSUPPORTED;
        }
    }
    *why = fault;
    return fault ? s : SPMV_OK;
}

/* ---- building a part: what every format shares ------------------------------------------------------------------- */

/* Bytes of the arrays of a CSR matrix. */
SPMV__SHARED uint64_t spmv__csr_bytes(const spmv_csr *a)
{
    return spmv__sat_add(spmv__sat_mul(a->nnz, 4 + spmv_value_size(a->type)), (a->rows + 1) * 8);
}

/* 1 if an array of one 32-bit number per key is no larger than the matrix. Keys are block columns or diagonals, which can be many
 * even if the nonzeros are few. 3 nnz + 2 rows numbers take as many bytes as the CSR form in f64. */
SPMV__SHARED int spmv__keys_fit(const spmv_csr *a, uint64_t keys)
{
    return keys <= spmv__sat_add(spmv__sat_mul(3, a->nnz), 2 * a->rows);
}

/* The diagonals that hold nonzeros, numbered by column - row + rows - 1. */
typedef struct spmv__diagonals {
    uint64_t    first, end; /* numbers are from first on and below end */
    uint64_t    count;      /* entries of list */
    spmv__pair *list;       /* by rising number. key: the number; load: how many nonzeros, 0 if the diagonal was dropped */
    uint32_t   *place;      /* by number - first: place in the list + 1; 0: no nonzeros, or dropped. NULL if there are too many numbers:
                               then the list is searched by bisection */
} spmv__diagonals;

/* What the sizes of tcsr follow from. */
typedef struct spmv__tile_counts {
    uint64_t tiles, cuts, empties; /* tiles, rows that are cut, empty rows */
    uint64_t wide;                 /* with the key idx: warps whose columns need a high byte */
    int      fits;                 /* then: 1 if the columns of each warp span less than 2^23 */
} spmv__tile_counts;

/* The input of size and fill: the part's nonzeros, counted by row, and scratch memory that both use. */
typedef struct spmv__source {
    const spmv_view  *view;
    const uint64_t   *ptr;     /* part rows + 1: running counts of the part's nonzeros; NULL: they are on a device */
    uint32_t         *longest; /* then, if the format asks: the nonzeros of the longest of each longest_of rows */
    uint32_t          longest_of;
    uint8_t           counted; /* 1: a device has counted blocks, and set spans if the part has the key idx */
    uint8_t           weighed; /* 1: only sizes are wanted, nothing will be filled */
    uint8_t           threads; /* that fill the part, at most SPMV__MOST_SHARES; 0: any number */
    const spmv__tile_counts *tiled; /* then, of tcsr; NULL: the host counts */
    spmv__diagonals   diagonals;
    spmv__pair       *seen;    /* cmrs: room for the entries of a strip, for each thread; tcsr: where shares begin, rows and slots */
    uint32_t         *blocks;  /* how many blocks each block row has */
    uint32_t         *spans;   /* the lowest block column of each block row, then the highest of each; only if a device has counted */
    uint32_t         *row_spans; /* if a device has found them: the lowest column of each row of the part, then the highest of each;
                                    low > high: it is empty. Else NULL */
    spmv_converter   *converter; /* that may count blocks; NULL: the host does */
    uint64_t          strip;   /* cmrs: the most entries of a strip */
    struct spmv__block_set *sets; /* one for each thread that counts or fills blocks */
    uint64_t          rows;    /* of the part */
    void             *packed;  /* formats of the user's own: what their packer made; see spmv__extra_size */
    uint64_t          grain;   /* shares begin at multiples of so many rows; 0: anywhere */
    const spmv_array *cuts;    /* if not NULL, shares begin at one of these rows, which rise from 0 to all rows */
    const spmv_hooks *hooks;
} spmv__source;

/* Arrays of a part that a device holds. The creator of a matrix on that device may take them over, by setting them to NULL. */
typedef struct spmv_elsewhere {
    const void *device;       /* the spmv_device */
    void *a[SPMV_MAX_ARRAYS]; /* buffers; NULL: the array is on the host, or was taken over */
    void *all;                /* the buffer in which all of them lie; NULL: each is one by itself */
    void (*drop)(struct spmv_elsewhere *elsewhere); /* frees them and elsewhere */
} spmv_elsewhere;

/* What fills the arrays of a part instead of the host. rows comes first and sees to it that what the part's sizes follow from is on the
 * host: columns, or in their place source->row_spans or source->diagonals, counted in place, which it allocates, and of a part that takes
 * the whole matrix the row pointers, source->ptr; or it sets source->longest, which it allocates, or source->tiled, which is its own, if
 * the format needs no more than that. part sets p->elsewhere and all arrays that remain on the host if it takes the part; else it leaves p
 * as it was. It has failed if the host would fail as well. blocks, for formats of blocks, comes before it and sets source->blocks and, with
 * the key idx, source->spans, which it allocates; it sets source->counted unless the host has to count.
 * The others serve a split of a matrix whose columns are on a device only, and have them on the host unless they do their work. diagonals
 * counts the nnz nonzeros of a view by diagonal, in diagonals->place, which it allocates; diagonals is zero before. take gives part the
 * nonzeros of a view that lie on diagonals that stay, by writing to owner, which is that of the view, and then sets *taken. format: for
 * messages. */
struct spmv_converter {
    spmv_status (*rows)(spmv_converter *converter, spmv_part *p, spmv__source *source);
    spmv_status (*part)(spmv_converter *converter, spmv_part *p, spmv__source *source, const spmv_build *how);
    spmv_status (*blocks)(spmv_converter *converter, spmv_part *p, spmv__source *source);
    spmv_status (*diagonals)(spmv_converter *converter, const spmv_view *view, uint64_t nnz, spmv_format format, const spmv_hooks *hooks,
                             spmv__diagonals *diagonals);
    spmv_status (*take)(spmv_converter *converter, const spmv_view *view, const spmv__diagonals *diagonals, unsigned part, uint8_t *owner,
                        spmv_format format, const spmv_hooks *hooks, int *taken);
};

/* Where fill puts values. If src is NULL, it puts the number of the nonzero + 1 instead, which gives the map for updates. */
typedef struct spmv__sink {
    const unsigned char *src;
    spmv_array          *dst;
    int                  fill;       /* 1: the format has fill, so explicit zeros are counted */
    int                  bare;       /* 1: neither columns nor values are filled; csr, ell and sell */
    unsigned             thread;     /* the number of the thread that fills, which may have tables of its own in the source */
    uint64_t            *zeros, zero_count; /* their slots, unless NULL; how many there were so far */
} spmv__sink;

typedef void (*spmv__visit)(void *user, uint64_t row, uint64_t col, uint64_t slot);

/* ---- estimates of a part that is not built ------------------------------------------------------------------------ */

/* A view, and what was found out about its rows. */
typedef struct spmv__analysis {
    const spmv_view  *view;
    const spmv_hooks *hooks;
    spmv_device_class device_class; /* of the device that multiplies, by which uneven and gather of spmv_features differ */
    uint32_t         *len;    /* the nonzeros of each row of the matrix; NULL: the view shows all, so that its row pointers say it */
    uint64_t         *longer; /* longer[k]: number of rows with k or more nonzeros, k up to longest + 1 */
    uint64_t          longest, nnz, rows; /* rows: those that are not empty */
    uint64_t          longest_row;        /* the first row that is the longest */
    uint32_t         *tallest;            /* the longest row of each SPMV__ANALYSIS_FEW rows */
    struct spmv__analysis_known *known;       /* what estimates have found out so far */
} spmv__analysis;

enum {
    SPMV__ANALYSIS_KNOWN = 12, /* more heights, and more tiles, than layouts have */
    SPMV__ANALYSIS_FEW   = 8,  /* rows whose longest is known: every usual height is a multiple */
    SPMV__ANALYSIS_GROUP = 32  /* rows whose columns are known together: every height for which they are asked often is a multiple */
};

/* Results that estimates share because each takes a pass over the rows, by the height of slices or the slots of a tile. */
typedef struct spmv__analysis_results {
    int      count;
    uint64_t key[SPMV__ANALYSIS_KNOWN];
    double   result[SPMV__ANALYSIS_KNOWN];
} spmv__analysis_results;

/* What several estimates need. */
typedef struct spmv__analysis_known {
    spmv__analysis_results in_order, sorted, tiles; /* slots of sell, of sell with sorted rows, and of tcsr */
    int                spanned, spans_fit;      /* 1: the spans are there; each of them fits 16 bits */
    int                warps;                   /* sampled warps of tcsr; 0: none yet */
    int                wide, wider;             /* those whose columns span 2^16 or more, and 2^23 or more */
    uint32_t          *low, *high; /* of each group of SPMV__ANALYSIS_GROUP rows: first and last column; low > high: no nonzeros */
} spmv__analysis_known;

/* The work of a product with a part. */
typedef struct spmv__load {
    double rows, slots, nnz;
    double skipped; /* of the slots: padding that a product skips */
    double gather;  /* as in spmv_features */
    double uneven;  /* as in spmv_features; 0 if the layout pads rows to one length, on the host if rows are sorted */
    double longest; /* slots of the longest row (block formats: of one row of the longest block row) */
    double extra;   /* bytes of the matrix besides values, columns of the width that the keys say, and one element of y a row */
} spmv__load;

/* Estimates the work of a product with a part that takes all of a view. The caller sets in out what holds for most formats: rows,
 * nonzeros, as many slots, gather and the longest row; a format's function changes what differs. SPMV_ERR_UNSUPPORTED, without
 * a message, if such a part makes no sense for the matrix. */
typedef spmv_status (*spmv__estimate)(const spmv_spec *spec, const spmv__analysis *analysis, const spmv_features *features,
                                      spmv__load *out);

/* Which rows a format (a block format: which block rows) stores with one width, that of the longest among them. */
typedef enum spmv__padding { SPMV__PADS_NONE = 0, SPMV__PADS_SLICES, SPMV__PADS_ALL } spmv__padding;

/* How many lanes a row has on a device where knob L does not set them (spmv__lanes_by_default of spmv/plan.h). */
typedef enum spmv__lane_rule {
    SPMV__LANES_ONE = 0,   /* one */
    SPMV__LANES_BY_ROWS,   /* several only where the rows alone do not fill the device */
    SPMV__LANES_BY_LENGTH, /* more, the longer the mean row is (cmrs: strip), as they read its entries side by side */
    SPMV__LANES_BY_BATCH   /* as many as load the mean row at once, as each loads several entries at once */
} spmv__lane_rule;

/* The properties of a format that the library needs even where the format is left out; at the head of the format's section. */
typedef struct spmv__traits {
    unsigned          keys;     /* bits SPMV__KEY(W) of the keys that it understands */
    unsigned          flags;    /* see spmv_format_flags */
    spmv_format_class category;
    double            indices;  /* column and row indices stored for each slot (block formats: for each block) */
    unsigned          even;     /* bits of the keys with which a long row does not slow down a product, because it is shared out in
                                   pieces; SPMV__EVEN: with any keys */
    spmv__padding     pads;
    spmv__lane_rule   lanes;
} spmv__traits;

#define SPMV__KEY(NAME) (1u << SPMV_KEY_##NAME)
#define SPMV__LISTS (SPMV__KEY(ROWS) | SPMV__KEY(SIGMA))
enum { SPMV__EVEN = 1u << SPMV_KEY_COUNT /* see spmv__traits */ };

/* The functions of a format; all are NULL if it is left out. */
typedef struct spmv__ops {
    spmv_status (*size)(spmv_part *p, spmv__source *source); /* integers, array counts and widths, and where shares may begin */
    /* Fills what later rows need to know of earlier ones, such as pointers; NULL: nothing. Arrays are allocated, not initialised. */
    void (*lay)(spmv_part *p, spmv__source *source);
    /* Fills the slots of rows first .. end - 1, with their padding; those of the last row also what follows it. Several threads call it
     * at once for different rows. */
    void (*fill)(spmv_part *p, const spmv__source *source, spmv__sink *to, uint64_t first, uint64_t end);
    void (*each)(const spmv_part *p, spmv__visit visit, void *user); /* every slot that may hold a nonzero */
    spmv__estimate estimate;
} spmv__ops;

static uint64_t spmv__source_row(const spmv__source *source, uint64_t i) { return source->view->list ? source->view->list[i] : i; }

static int spmv__mine(const spmv_view *view, uint64_t k) { return !view->owner || view->owner[k] == view->part; }

/* 1 if a value of 4 or 8 bytes is zero, with either sign. */
static int spmv__is_zero(const unsigned char *value, uint32_t width)
{
    uint64_t d;
    uint32_t f;
    if (width == 8) {
        memcpy(&d, value, 8);
        return !(d << 1);
    }
    memcpy(&f, value, 4);
    return !(f << 1);
}

/* Puts nonzero k into a slot. */
static void spmv__put(spmv__sink *to, uint64_t slot, uint64_t k)
{
    uint32_t width = to->dst->width;
    if (!to->src) {
        spmv__set(to->dst, slot, k + 1);
        return;
    }
    if (width == 8) memcpy((unsigned char *)to->dst->data + slot * 8, to->src + k * 8, 8);
    else memcpy((unsigned char *)to->dst->data + slot * 4, to->src + k * 4, 4);
    if (to->fill && spmv__is_zero(to->src + k * width, width)) {
        if (to->zeros) to->zeros[to->zero_count] = slot;
        to->zero_count++;
    }
}

/* Makes count slots from slot on hold no nonzero: padding or fill. */
SPMV__SHARED void spmv__clear(const spmv__sink *to, uint64_t slot, uint64_t count)
{
    if (count) memset((unsigned char *)to->dst->data + slot * to->dst->width, 0, (size_t)(count * to->dst->width));
}

/* Puts nonzeros k .. k + count - 1 into as many slots from slot on, for formats without fill. */
SPMV__SHARED void spmv__put_all(spmv__sink *to, uint64_t slot, uint64_t k, uint64_t count)
{
    uint32_t width = to->dst->width;
    uint64_t i;
    if (to->src && count) memcpy((unsigned char *)to->dst->data + slot * width, to->src + k * width, (size_t)(count * width));
    for (i = 0; !to->src && i < count; i++) spmv__put(to, slot + i, k + i);
}

/* The first row of a share of the part. */
static uint64_t spmv__share_first(const spmv__source *source, uint64_t share, uint64_t shares)
{
    uint64_t row;
    row = source->ptr ? spmv__share_row(source->ptr, source->rows, share, shares)
                      : source->rows / shares * share + source->rows % shares * share / shares;
    if (source->grain) row = spmv__smaller(spmv__round_up(row, source->grain), source->rows);
    if (!source->cuts || !source->cuts->count) return row;
    return spmv__at(source->cuts, spmv__smaller(spmv__below(source->cuts, row), source->cuts->count - 1));
}

/* The part's nonzeros. */
static uint64_t spmv__source_nnz(const spmv__source *source)
{
    return !source->rows ? 0 : source->ptr ? source->ptr[source->rows] : source->view->a->nnz;
}

static uint64_t spmv__source_shares(const spmv__source *source)
{
    return spmv__share_count(source->rows ? spmv__source_nnz(source) + source->rows : 0);
}

/* Sets how large an array is to be; spmv__part_arrays allocates it. */
static void spmv__want(spmv_array *array, uint64_t count, uint32_t width)
{
    array->count = count;
    array->width = width;
}

/* As spmv__want, with 4 bytes for each offset if the largest fits, else 8. */
SPMV__SHARED void spmv__want_offsets(spmv_array *array, uint64_t count, uint64_t largest)
{
    spmv__want(array, count, largest <= 0xffffffffu ? 4 : 8);
}

static uint32_t spmv__part_row(const spmv_part *p, uint64_t i)
{
    return p->list.count ? ((const uint32_t *)p->list.data)[i] : (uint32_t)i;
}

/* ---- columns of 32 bits, or of 16 bits from a base ---------------------------------------------------------------- */

/* Sets how large the arrays of columns and bases are to be: 16-bit columns with bases if the key idx says so and they fit, else 32-bit
 * columns without bases.
 *   count   columns
 *   bases   groups of rows, each of which has a base
 *   fits    1 if the columns of every group span less than 2^16 - 1 */
SPMV__SHARED void spmv__want_columns(const spmv_part *p, spmv_array *col, spmv_array *base, uint64_t count, uint64_t bases, int fits)
{
    int narrow = p->spec.key[SPMV_KEY_IDX] == 16 && fits;
    spmv__want(col, count, narrow ? 2 : 4);
    spmv__want(base, narrow ? bases : 0, 4);
}

/* Stores column c in a slot, relative to the base of its group if there are bases; scale is the width of a block, else 1. */
SPMV__SHARED void spmv__set_column(spmv_array *col, const spmv_array *base, uint64_t slot, uint64_t group, uint64_t c, uint64_t scale)
{
    if (base->count) ((uint16_t *)col->data)[slot] = (uint16_t)((c - ((const uint32_t *)base->data)[group]) / scale);
    else ((uint32_t *)col->data)[slot] = (uint32_t)c;
}

/* The column that spmv__set_column stored in a slot; SPMV_PAD for padding. */
SPMV__SHARED uint32_t spmv__column_at(const spmv_array *col, const spmv_array *base, uint64_t slot, uint64_t group, uint64_t scale)
{
    uint32_t c;
    if (!base->count) return ((const uint32_t *)col->data)[slot];
    c = ((const uint16_t *)col->data)[slot];
    return c == SPMV_PAD16 ? SPMV_PAD : ((const uint32_t *)base->data)[group] + c * (uint32_t)scale;
}

/* ---- parts that were not built here --------------------------------------------------------------------------------
 * What a part holds that comes from a file may be anything. With what the function sound of its format accepts, no product on the host or
 * on a device reads or writes outside of the part, of x or of y, whatever the values are; y may be wrong. Counts are less than 2^60. */

SPMV__APART int spmv__sized(const spmv_array *array, uint64_t count, uint32_t width)
{
    return array->count == count && (!count || array->width == width);
}

/* Do offsets begin with 0, never fall and end with end? */
SPMV__SHARED int spmv__offsets_sound(const spmv_array *array, uint64_t count, uint64_t end)
{
    uint64_t i, wrong = 0;
    if (!spmv__sized(array, count, end <= 0xffffffffu ? 4 : 8) || spmv__at(array, 0) || spmv__at(array, count - 1) != end) return 0;
    if (array->width == 4)
        for (i = 1; i < count; i++) wrong |= ((const uint32_t *)array->data)[i] < ((const uint32_t *)array->data)[i - 1];
    else
        for (i = 1; i < count; i++) wrong |= ((const uint64_t *)array->data)[i] < ((const uint64_t *)array->data)[i - 1];
    return !wrong;
}

/* Are there so many columns, of 32 bits without bases or of 16 bits with so many? */
SPMV__SHARED int spmv__columns_sized(const spmv_array *col, const spmv_array *base, uint64_t count, uint64_t bases)
{
    return spmv__sized(col, count, base->count ? 2 : 4) && (!base->count || spmv__sized(base, bases, 4));
}

/* Columns, of 32 bits without bases or of 16 bits with so many, that should be below limit, each at a multiple of scale, or padding if
 * pads is 1. Group i uses base i % bases.
 *   ptr     a group has the slots between every per-th pointer and the next such; NULL: per adjacent slots */
typedef struct spmv__columns {
    const spmv_array *col, *base, *ptr;
    uint64_t          limit, per, bases, scale, shares;
    int               pads;
    unsigned char     sound[SPMV__MOST_SHARES];
} spmv__columns;

/* Are the columns in slots first .. end - 1, which share a base, as they should be? */
static int spmv__slots_sound(const spmv__columns *all, uint64_t first, uint64_t end, uint64_t low)
{
    const uint32_t *wide = (const uint32_t *)all->col->data, scale = (uint32_t)all->scale, pads = (uint32_t)all->pads;
    const uint32_t limit = (uint32_t)spmv__smaller(all->limit, UINT32_MAX - 1u);
    const uint16_t *narrow = (const uint16_t *)all->col->data;
    uint32_t wrong = 0, any = 0, high = 0;
    uint64_t i;
    if (!limit) return first == end;
    if (all->bases) {
        for (i = first; i < end; i++) {
            const uint32_t c = narrow[i], there = c != SPMV_PAD16;
            any |= there;
            wrong |= !there;
            high = there && c > high ? c : high;
        }
        return (pads || !wrong) && low % scale == 0 && low + (any ? (uint64_t)high * scale : 0) < limit;
    }
    for (i = first; i < end; i++) wrong |= (uint32_t)(wide[i] + pads >= limit + pads); /* of padding, the sum is 0 */
    for (i = first; i < end && scale > 1; i++) wrong |= (uint32_t)(wide[i] + pads != 0) & (uint32_t)(wide[i] % scale != 0);
    return !wrong;
}

static uint64_t spmv__columns_groups(const spmv__columns *all)
{
    if (!all->bases || !all->col->count) return all->col->count;
    return all->ptr ? all->bases : spmv__ceil_div(all->col->count, all->per);
}

static void spmv__columns_share(void *job, uint64_t share)
{
    spmv__columns *all = (spmv__columns *)job;
    const uint64_t groups = spmv__columns_groups(all), end = spmv__even(groups, 1, share + 1, all->shares);
    const uint64_t count = all->ptr ? all->ptr->count - 1 : all->col->count;
    uint64_t i = spmv__even(groups, 1, share, all->shares);
    int sound = all->bases || spmv__slots_sound(all, i, end, 0);
    for (; i < end && sound && all->bases; i++) {
        const uint64_t from = i * all->per, to = spmv__smaller(from + all->per, count);
        sound = spmv__slots_sound(all, all->ptr ? spmv__at(all->ptr, from) : from, all->ptr ? spmv__at(all->ptr, to) : to,
                                  ((const uint32_t *)all->base->data)[i % all->bases]);
    }
    all->sound[share] = (unsigned char)sound;
}

/* Are there count columns, with so many bases if there are any, which are as they should be? Other members are set. */
static int spmv__columns_sound(spmv__columns *all, uint64_t count, uint64_t bases)
{
    uint64_t i, sound = 1;
    if (!spmv__columns_sized(all->col, all->base, count, bases)) return 0;
    all->bases = all->base->count ? bases : 0;
    all->shares = spmv__share_count(count);
    spmv__share_out(spmv__columns_share, all, all->shares);
    for (i = 0; i < all->shares; i++) sound &= all->sound[i];
    return (int)sound;
}

/* Are so many numbers of 32 bits below limit? */
SPMV__SHARED int spmv__numbers_sound(const spmv_array *array, uint64_t count, uint64_t limit)
{
    static const spmv_array none = { NULL, 0, 0, 0 };
    spmv__columns all;
    memset(&all, 0, sizeof all);
    all.col = array;
    all.base = &none;
    all.limit = limit;
    all.scale = 1;
    return spmv__columns_sound(&all, count, 0);
}

/* Are the columns of a part sound, of which ptr, where it is given, is sound, too? */
SPMV__SHARED int spmv__columns_by(const spmv_part *p, const spmv_array *col, const spmv_array *base, const spmv_array *ptr, uint64_t per,
                                  uint64_t scale, int pads)
{
    const uint64_t last = ptr->count - 1;
    spmv__columns all;
    memset(&all, 0, sizeof all);
    all.col = col;
    all.base = base;
    all.ptr = ptr;
    all.limit = p->cols;
    all.per = per;
    all.scale = scale;
    all.pads = pads;
    return spmv__columns_sound(&all, spmv__at(ptr, last), spmv__ceil_div(last, per));
}

/* The same where a group has per adjacent slots of count, and padding is allowed. */
SPMV__SHARED int spmv__columns_across(const spmv_part *p, const spmv_array *col, const spmv_array *base, uint64_t per, uint64_t count,
                                      uint64_t bases, uint64_t scale)
{
    spmv__columns all;
    memset(&all, 0, sizeof all);
    all.col = col;
    all.base = base;
    all.limit = p->cols;
    all.per = per;
    all.scale = scale;
    all.pads = 1;
    return spmv__columns_sound(&all, count, bases);
}

/* Widens low .. high by the columns of the part's nonzeros among entries k .. end - 1 of one row: as columns rise, by the first and the
 * last of them. */
static void spmv__span_entries(const spmv_view *view, uint64_t k, uint64_t end, uint64_t *low, uint64_t *high)
{
    while (k < end && !spmv__mine(view, k)) k++;
    if (k == end) return;
    while (!spmv__mine(view, end - 1)) end--;
    if (view->a->col[k] < *low) *low = view->a->col[k];
    if (view->a->col[end - 1] > *high) *high = view->a->col[end - 1];
}

/* The lowest and the highest column of rows first .. end - 1 of the part; low > high if they are empty. */
SPMV__SHARED void spmv__span(const spmv__source *source, uint64_t first, uint64_t end, uint64_t *low, uint64_t *high)
{
    const spmv_csr *a = source->view->a;
    uint64_t i;
    *low = UINT64_MAX;
    *high = 0;
    for (i = first; source->row_spans && i < end; i++) {
        if (source->row_spans[i] < *low && source->row_spans[i] != UINT32_MAX) *low = source->row_spans[i];
        if (source->row_spans[source->rows + i] > *high) *high = source->row_spans[source->rows + i];
    }
    for (; i < end; i++) {
        uint64_t r = spmv__source_row(source, i);
        spmv__span_entries(source->view, a->ptr[r], a->ptr[r + 1], low, high);
    }
}

SPMV__SHARED int spmv__span_fits(uint64_t low, uint64_t high) { return low > high || high - low < SPMV_PAD16; }

/* ---- estimates that several formats share -------------------------------------------------------------------------- */

/* The nonzeros of a row of the view. */
SPMV__SHARED uint64_t spmv__analysis_len(const spmv__analysis *analysis, uint64_t r)
{
    return analysis->len ? analysis->len[r] : analysis->view->a->ptr[r + 1] - analysis->view->a->ptr[r];
}

/* The nonzeros of the longest of rows first .. end - 1 of the matrix. */
SPMV__SHARED uint64_t spmv__analysis_tallest(const spmv__analysis *analysis, uint64_t first, uint64_t end)
{
    const int whole = first % SPMV__ANALYSIS_FEW == 0 && (end % SPMV__ANALYSIS_FEW == 0 || end == analysis->view->a->rows);
    uint64_t most = 0, i;
    for (i = first / SPMV__ANALYSIS_FEW; whole && i * SPMV__ANALYSIS_FEW < end; i++)
        if (analysis->tallest[i] > most) most = analysis->tallest[i];
    for (i = first; !whole && i < end; i++)
        if (spmv__analysis_len(analysis, i) > most) most = spmv__analysis_len(analysis, i);
    return most;
}

/* Finds the result for a key. 0: it is not known. */
SPMV__SHARED int spmv__analysis_has(const spmv__analysis_results *results, uint64_t key, double *result)
{
    int i;
    for (i = 0; i < results->count; i++)
        if (results->key[i] == key) {
            *result = results->result[i];
            return 1;
        }
    return 0;
}

/* Remembers the result for a key, as long as there is room. */
SPMV__SHARED void spmv__analysis_keep(spmv__analysis_results *results, uint64_t key, double result)
{
    if (results->count == SPMV__ANALYSIS_KNOWN) return;
    results->key[results->count] = key;
    results->result[results->count++] = result;
}

/* A pass over all rows of an analysis in shares of whole slices of h rows. */
typedef struct spmv__analysis_pass {
    const spmv__analysis *analysis;
    uint64_t          height, shares;
    uint64_t          result[SPMV__MOST_SHARES];
} spmv__analysis_pass;

/* The row at which a share of a pass begins. */
static uint64_t spmv__analysis_first(const spmv__analysis_pass *pass, uint64_t share)
{
    uint64_t rows = pass->analysis->view->a->rows, slices = spmv__ceil_div(rows, pass->height);
    return spmv__smaller(slices / pass->shares * share * pass->height + slices % pass->shares * share / pass->shares * pass->height, rows);
}

/* Begins a pass and calls work for each share. Each row counts for steps, so that short passes stay in one thread. */
SPMV__SHARED void spmv__analysis_run(spmv__analysis_pass *pass, const spmv__analysis *analysis, uint64_t h, uint64_t steps, spmv__work work)
{
    uint64_t rows = analysis->view->a->rows;
    pass->analysis = analysis;
    pass->height = rows && h > rows ? rows : h;
    pass->shares = spmv__share_count(rows * steps);
    spmv__share_out(work, pass, pass->shares);
}

/* Finds the first and the last column of each group of rows of a share, up to a group that does not fit 16 bits: then the share's result
 * is 0, else 1. */
SPMV__SHARED void spmv__analysis_spans_share(void *job, uint64_t share)
{
    spmv__analysis_pass *pass = (spmv__analysis_pass *)job;
    const spmv_csr *a = pass->analysis->view->a;
    spmv__analysis_known *known = pass->analysis->known;
    uint64_t first, r, end, stop = spmv__analysis_first(pass, share + 1);
    pass->result[share] = 0;
    for (first = spmv__analysis_first(pass, share); first < stop; first = end) {
        uint64_t low = UINT64_MAX, high = 0, group = first / SPMV__ANALYSIS_GROUP;
        end = spmv__smaller(first + SPMV__ANALYSIS_GROUP, stop);
        for (r = first; r < end; r++)
            if (spmv__analysis_len(pass->analysis, r)) spmv__span_entries(pass->analysis->view, a->ptr[r], a->ptr[r + 1], &low, &high);
        if (!spmv__span_fits(low, high)) return;
        known->low[group] = low > high ? 1 : (uint32_t)low;
        known->high[group] = (uint32_t)high;
    }
    pass->result[share] = 1;
}

/* 1 if, of some groups of SPMV__ANALYSIS_GROUP rows that are spread evenly, at least one does not fit 16 bits. */
SPMV__SHARED int spmv__analysis_spans_sample(const spmv__analysis *analysis)
{
    const uint64_t samples = 64, groups = analysis->view->a->rows / SPMV__ANALYSIS_GROUP; /* samples: groups, few beside a pass over all */
    uint64_t i, r;
    for (i = 0; i < samples && samples < groups; i++) {
        const uint64_t first = groups / samples * i * SPMV__ANALYSIS_GROUP;
        uint64_t low = UINT64_MAX, high = 0;
        for (r = first; r < first + SPMV__ANALYSIS_GROUP; r++)
            spmv__span_entries(analysis->view, analysis->view->a->ptr[r], analysis->view->a->ptr[r + 1], &low, &high);
        if (!spmv__span_fits(low, high)) return 1;
    }
    return 0;
}

/* Finds the spans of all groups of rows, unless a sample shows that not all fit 16 bits. */
SPMV__SHARED void spmv__analysis_spans(const spmv__analysis *analysis)
{
    const uint64_t steps = 8; /* most rows cause a miss of the cache */
    spmv__analysis_known *known = analysis->known;
    spmv__analysis_pass pass;
    uint64_t i;
    known->spanned = 1;
    if (spmv__analysis_spans_sample(analysis)) return;
    spmv__analysis_run(&pass, analysis, SPMV__ANALYSIS_GROUP, steps, spmv__analysis_spans_share);
    known->spans_fit = 1;
    for (i = 0; i < pass.shares; i++) known->spans_fit = known->spans_fit && pass.result[i];
}

/* Widens low .. high to the columns of a group of rows, whose spans are known. */
static void spmv__span_group(const spmv__analysis_known *known, uint64_t group, uint64_t *low, uint64_t *high)
{
    if (known->low[group] > known->high[group]) return;
    *low = spmv__smaller(*low, known->low[group]);
    if (known->high[group] > *high) *high = known->high[group];
}

/* Sets the share's result to 1 if the columns of each of its slices fit 16 bits. Slices of whole groups need no columns. */
static void spmv__narrow_share(void *job, uint64_t share)
{
    spmv__analysis_pass *pass = (spmv__analysis_pass *)job;
    const uint64_t *ptr = pass->analysis->view->a->ptr, end = spmv__analysis_first(pass, share + 1);
    const uint64_t step = pass->height % SPMV__ANALYSIS_GROUP ? 1 : SPMV__ANALYSIS_GROUP;
    uint64_t r = spmv__analysis_first(pass, share);
    for (pass->result[share] = 1; r < end && pass->result[share];) {
        uint64_t low = UINT64_MAX, high = 0, stop = spmv__smaller(r + pass->height, end);
        for (; r < stop; r += step)
            if (step > 1) spmv__span_group(pass->analysis->known, r / SPMV__ANALYSIS_GROUP, &low, &high);
            else spmv__span_entries(pass->analysis->view, ptr[r], ptr[r + 1], &low, &high);
        pass->result[share] = (uint64_t)spmv__span_fits(low, high);
    }
}

/* 1 if the columns of every h adjacent rows fit 16 bits. */
SPMV__SHARED int spmv__narrow_fits(const spmv__analysis *analysis, uint64_t h)
{
    spmv__analysis_pass pass;
    uint64_t i, fit = 1;
    if (analysis->view->a->cols < SPMV_PAD16) return 1;
    if (!analysis->known->spanned) spmv__analysis_spans(analysis);
    if (!analysis->known->spans_fit && h % SPMV__ANALYSIS_GROUP == 0) return 0;
    if (analysis->known->spans_fit && SPMV__ANALYSIS_GROUP % h == 0) return 1; /* all lie within groups */
    spmv__analysis_run(&pass, analysis, h, 1, spmv__narrow_share);
    for (i = 0; i < pass.shares; i++) fit &= pass.result[i];
    return (int)fit;
}

/* SPMV_ERR_UNSUPPORTED if the key idx wants 16-bit columns but those of some h adjacent rows do not fit. */
SPMV__SHARED spmv_status spmv__estimate_columns(const spmv_spec *spec, const spmv__analysis *analysis, uint64_t h)
{
    return spec->key[SPMV_KEY_IDX] == 16 && !spmv__narrow_fits(analysis, h) ? SPMV_ERR_UNSUPPORTED : SPMV_OK;
}

/* For formats without padding: the slots are the nonzeros, and the rows stay uneven. */
SPMV__SHARED spmv_status spmv__estimate_entries(const spmv_features *features, spmv__load *out)
{
    out->uneven = features->uneven;
    return SPMV_OK;
}

#endif
