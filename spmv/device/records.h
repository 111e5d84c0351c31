/* SPDX-License-Identifier: MIT
 *
 * spmv/device/records.h - what the runtime knows of each format: a record a format.
 */
#ifndef SPMV__DEVICE_RECORDS_H
#define SPMV__DEVICE_RECORDS_H

#include "knobs.h"

/* ---- what the sections of the formats share ----------------------------------------------------------------------- */

enum { SPMV__NVIDIA_VOLTA = 70 /* compute capability: the first with the loads, shuffles and memory order that kernels use */ };

/* The value of a knob in a resolved variant; 1 where the format does not take it. */
static uint64_t spmv__dev_knob(const spmv_variant *variant, spmv_knob knob)
{
    return spmv__dev_knob_set(variant, knob) ? (uint64_t)variant->value[knob] : 1;
}

/* Gives a knob that the caller did not set (wish) a default of the format's own, for CPUs or for all other devices. */
static void spmv__dev_default(const spmv_device *device, const spmv_variant *wish, spmv_variant *variant, spmv_knob knob, int gpu, int cpu)
{
    if (!spmv__dev_knob_set(wish, knob)) variant->value[knob] = device->info.type == SPMV_DEVICE_CPU ? cpu : gpu;
}

/* 1: a product of a part reads more than so many quarters of the cache that all compute units share; unknown: the result where the
 * device does not say how large that is. Each part of a plan is judged by itself. Loads with NT=1 seem to be the first to leave that cache:
 * of a matrix that it cannot hold a part stays, but one that would fit does not get in where other data are ([M11] of
 * docs/measurements.md). */
static int spmv__dev_streams(const spmv_device *device, const spmv_part *p, unsigned quarters, int unknown)
{
    const uint64_t width = spmv_vector_size(p->type), slots = p->a[SPMV_VAL].count, x = p->cols < slots ? p->cols : slots;
    const uint64_t vectors = spmv__sat_mul(spmv__sat_add(x, p->rows), width);
    if (!device->info.cache_bytes) return unknown;
    return spmv__sat_add(spmv__part_device_bytes(p), vectors) > device->info.cache_bytes / 4 * quarters;
}

/* Build options, which are appended one after another. The first is -w: PoCL tells stderr how many warnings there were. */
typedef struct spmv__dev_options {
    char   text[2048];
    size_t used;
} spmv__dev_options;

static void spmv__dev_option(spmv__dev_options *options, const char *name, const char *value)
{
    size_t room = options->used < sizeof options->text ? sizeof options->text - options->used : 0;
    options->used += spmv_print(room ? options->text + options->used : NULL, room, "%s-D%s=%s", options->used ? " " : "-w ", name, value);
}

static void spmv__dev_option_number(spmv__dev_options *options, const char *name, uint64_t value)
{
    char text[24];
    spmv_print(text, sizeof text, "%llu", (spmv__ull)value);
    spmv__dev_option(options, name, text);
}

/* An argument of a kernel: a buffer, where NULL stands for one without elements, or, if size is not 0, bytes. Lists of them
 * have their length, as tcc does not count elements that are calls. */
typedef struct spmv__dev_value {
    void         *mem;
    unsigned char bytes[8];
    size_t        size;
} spmv__dev_value;

static spmv__dev_value spmv__bytes(const void *from, size_t size)
{
    spmv__dev_value value;
    memset(&value, 0, sizeof value);
    memcpy(value.bytes, from, size);
    value.size = size;
    return value;
}

static spmv__dev_value spmv__mem(void *mem)
{
    spmv__dev_value value;
    memset(&value, 0, sizeof value);
    value.mem = mem;
    return value;
}

static spmv__dev_value spmv__number(uint64_t number) { return spmv__bytes(&number, sizeof number); }

/* A number in the vectors' type. */
static spmv__dev_value spmv__real(spmv_type type, double v)
{
    const float f = (float)v;
    return type == SPMV_F32 ? spmv__bytes(&f, sizeof f) : spmv__bytes(&v, sizeof v);
}

/* Sets arguments of a kernel, the first of which has that number. */
static spmv_status spmv__dev_set(const spmv_device *device, void *kernel, unsigned first, const spmv__dev_value *value, size_t count)
{
    spmv_status s = SPMV_OK;
    for (; !s && count; count--, first++, value++) {
        if (value->size) s = device->info.backend->argument(device, kernel, first, value->bytes, value->size);
        else s = device->info.backend->argument(device, kernel, first, value->mem ? &value->mem : &device->common->none, sizeof(void *));
    }
    return s;
}
#define SPMV__COUNT_OF(list) (sizeof(list) / sizeof *(list))

/* *out: how many groups of wg work-items process items, per_group each. SPMV_ERR_LIMIT beyond what one launch can number. */
static spmv_status spmv__dev_groups(const spmv_device *device, uint64_t items, uint64_t per_group, uint64_t wg, uint64_t *out)
{
    uint64_t most = device->info.address_bits < 64 ? 0xffffffffu / wg : 0x7fffffffu;
    *out = spmv__ceil_div(items, per_group);
    if (*out <= most) return SPMV_OK;
    return spmv_log(&device->hooks, SPMV_ERR_LIMIT, "%llu work-groups exceed the limit of one launch, %llu", (spmv__ull)*out,
                    (spmv__ull)most);
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

static void spmv__dev_cut_one(spmv__dev_cut *cut, uint64_t at, uint64_t count, uint64_t less)
{
    cut->at = at;
    cut->count = count;
    cut->less = less;
}

static void spmv__dev_cut_planes(spmv__dev_cut *cut, uint64_t at, uint64_t count, uint64_t planes, uint64_t stride)
{
    cut->at = at;
    cut->count = count;
    cut->planes = planes;
    cut->stride = stride;
}

/* The first arrays of formats whose entries follow a pointer array: sell, sbell, bcsr and cmrs have them where csr does. */
enum { SPMV__PTR = SPMV_CSR_PTR, SPMV__ENTRIES = SPMV_CSR_COL };
typedef char spmv__dev_same_arrays[(int)SPMV_SELL_PTR == (int)SPMV__PTR && (int)SPMV_SELL_COL == (int)SPMV__ENTRIES &&
                                   (int)SPMV_SBELL_PTR == (int)SPMV__PTR && (int)SPMV_SBELL_COL == (int)SPMV__ENTRIES &&
                                   (int)SPMV_BCSR_PTR == (int)SPMV__PTR && (int)SPMV_BCSR_COL == (int)SPMV__ENTRIES &&
                                   (int)SPMV_CMRS_PTR == (int)SPMV__PTR && (int)SPMV_CMRS_INDEX == (int)SPMV__ENTRIES ? 1 : -1];

/* Cuts the first three arrays of these formats from pointer first to pointer last; each entry has unit values. */
static void spmv__dev_cut_slots(const spmv_part *p, uint64_t first, uint64_t last, uint64_t unit, spmv__dev_cut *cut)
{
    uint64_t begin = spmv__at(&p->a[SPMV__PTR], first), n = spmv__at(&p->a[SPMV__PTR], last) - begin;
    spmv__dev_cut_one(&cut[SPMV_VAL], begin * unit, n * unit, 0);
    spmv__dev_cut_one(&cut[SPMV__PTR], first, last - first + 1, begin);
    spmv__dev_cut_one(&cut[SPMV__ENTRIES], begin, n, 0);
}

/* ---- what the runtime knows of each format ------------------------------------------------------------------------
 * One spmv__<name>_device in each section, collected by SPMV_FORMAT_LIST in spmv__dev_formats; formats that were left out of the build
 * keep theirs. How many arrays and which integers a kernel takes is known from SPMV_<NAME>_ARRAYS and _INTS. */
enum { SPMV__NO_ARRAY = -1 }; /* instead of an array's number */
enum { SPMV__STAGE_GROUP = 64 }; /* items of a group on a CPU, where they share local memory */

/* p is a stored part, v its variant, in which every knob of the format has a value (L is 1 where the kernel has no such knob). Members
 * that may be NULL come last; what NULL means is said with each. */
typedef struct spmv__dev_format {
    int walks_rows;     /* 1: kernels/shell.cl walks the rows; 0: the format's kernel file does */
    int offsets;        /* the array whose width (4 or 8 bytes) the kernel knows as OFF, or SPMV__NO_ARRAY */
    int columns, bases; /* the array of columns that may be of 16 bits and that of their bases; SPMV__NO_ARRAY: there are none */
    int repeat_lanes;   /* L of reproducible products (SPMV_REPEATS); 1 where there are none */
    int carry_rows;     /* 1: each carry has the number of its row beside it, in a second buffer */

    /* Elements in an average row or block row, fill included, by which L has its default; block_rows: how many there are. */
    uint64_t (*mean)(const spmv_part *p, const spmv_variant *variant, uint64_t block_rows);
    /* -- stretches: the number of grains; the row where grain g begins (the number of rows or more if g is the number of grains) -- */
    uint64_t (*grains)(const spmv_part *p);
    uint64_t (*grain_row)(const spmv_part *p, uint64_t g);
    /* Integers, rows and nonzeros of what span holds into stretch, which begins as a copy of p but for its number of rows, and where its
     * arrays come from into cuts. Array sizes in stretch follow from these. */
    void (*cut)(const spmv_part *p, const spmv__dev_span *span, spmv_part *stretch, spmv__dev_cut *cuts);

    /* Changes those defaults that are not those of SPMV_KNOB_LIST; knobs that the caller has set are set in wish. NULL: none */
    void (*defaults)(const spmv_device *device, const spmv_part *p, const spmv_variant *wish, spmv_variant *variant);
    /* 1: the knob makes a difference to the part, the other knobs being as in variant. Only asked for knobs of the format's kernel. NULL:
     * 1 */
    int (*matters)(const spmv_part *p, const spmv_variant *variant, spmv_knob knob);
    /* Adapts defaults of other knobs to the part; logs and returns SPMV_ERR_UNSUPPORTED if a knob in wish does not suit it. NULL: all do */
    spmv_status (*fit)(const spmv_device *device, const spmv_part *p, const spmv_variant *wish, spmv_variant *variant);
    /* Logs and returns SPMV_ERR_LIMIT if the device cannot run the variant, whose work-group size is final. NULL: it can */
    spmv_status (*allowed)(const spmv_device *device, const spmv_part *p, const spmv_variant *variant);
    /* Adds build options that follow from neither integers nor knobs. NULL: none */
    void (*options)(spmv__dev_options *out, const spmv_part *p);
    /* The value of the macro for integer number i of the part. NULL: the integer */
    uint64_t (*macro)(const spmv_part *p, int i);
    /* Rows of y that a work-item (or L of them together) computes at once. NULL: V rows, or V block rows */
    uint64_t (*height)(const spmv_part *p, const spmv_variant *variant);
    /* Bytes of local memory that the kernel declares. NULL: for the partial sums of lanes that share a row */
    uint64_t (*local)(const spmv_part *p, const spmv_variant *variant);
    /* Sets groups, finish, carries and counters of *out, whose variant is final. NULL: rows are shared out among groups */
    spmv_status (*deal)(spmv_device_part *out, const spmv_device *device, const spmv_part *p);
    /* Writes the arguments after arrays and integers, four at most, and returns how many: sizes, row list, carries. NULL: rows, columns,
     * row list */
    unsigned (*arguments)(spmv__dev_value *to, const spmv_device_matrix *matrix, const spmv_device_part *p, void *const *carry);
    /* 1: a stretch may begin at grain g. NULL: at each */
    int (*grain_free)(const spmv_part *p, uint64_t g);
} spmv__dev_format;

static const spmv__dev_format *spmv__dev_format_of(spmv_format format);

static int spmv__dev_has_blocks(spmv_format format) { return (spmv_format_flags(format) & SPMV_ROW_BLOCK) != 0; }

static uint64_t spmv__dev_height(const spmv_part *p, const spmv_variant *variant)
{
    const spmv__dev_format *record = spmv__dev_format_of(p->spec.format);
    if (record->height) return record->height(p, variant);
    return spmv__dev_knob(variant, SPMV_KNOB_V) * (spmv__dev_has_blocks(p->spec.format) ? p->n[SPMV_BLOCK_BH] : 1);
}

static uint64_t spmv__dev_block_rows(const spmv_part *p, const spmv_variant *variant)
{
    return spmv__ceil_div(p->rows, spmv__dev_height(p, variant));
}

/* Elements of a block; 1 where there are none. */
static uint64_t spmv__dev_block(const spmv_part *p)
{
    return spmv__dev_has_blocks(p->spec.format) ? (uint64_t)(spmv__block_height(&p->spec) * spmv__block_width(&p->spec)) : 1;
}

/* -- functions that several formats name in their records -- */

/* 1: kernels can be compiled for a number of registers (REGS); OpenCL on NVIDIA's devices takes 32 for groups of 64 items or more. */
static int spmv__dev_takes_registers(const spmv_device *device) { return !strcmp(device->info.backend->name, "CUDA"); }

static uint64_t spmv__dev_mean_slots(const spmv_part *p, const spmv_variant *variant, uint64_t block_rows)
{
    return p->a[SPMV_VAL].count / (spmv__dev_knob(variant, SPMV_KNOB_V) * block_rows);
}

static uint64_t spmv__dev_mean_nonzeros(const spmv_part *p, const spmv_variant *variant, uint64_t block_rows)
{
    (void)variant;
    return p->nnz / block_rows;
}

/* The default of L. */
static int spmv__dev_lanes(const spmv_device *device, const spmv_part *p, const spmv_variant *variant)
{
    uint64_t block_rows = spmv__dev_block_rows(p, variant);
    if (!block_rows) return 1;
    return (int)spmv__lanes_by_default(spmv__trait[p->spec.format]->lanes, block_rows,
                                       spmv__dev_format_of(p->spec.format)->mean(p, variant, block_rows), spmv__dev_block(p),
                                       (uint64_t)device->info.compute_units, (uint64_t)variant->value[SPMV_KNOB_WG]);
}

/* 1: there are enough rows for items that each take four of them to fill the device, so that each row has one lane all the same. */
static int spmv__dev_many_rows(const spmv_device *device, const spmv_part *p)
{
    return p->rows >= 4 * (uint64_t)device->info.compute_units * SPMV__UNIT_ITEMS;
}

/* The default of UNROLL for ell and sell on GPUs: entries are loaded several at once where the rows, with one lane each, fill at most half
 * of the device. Where more work-items run, they hide each other's waits, and the conditions of padding and of the last batch cost more
 * ([M12] of docs/measurements.md), unless each waits for a code first ([M23]). */
static int spmv__dev_unroll_default(const spmv_device *device, const spmv_part *p, const spmv_variant *variant)
{
    const int few = 2 * spmv__dev_block_rows(p, variant) <= (uint64_t)device->info.compute_units * SPMV__UNIT_ITEMS;
    return few || p->codes ? SPMV__LANE_BATCH : 1;
}

/* Defaults of csr, and of sell where spmv__dev_unroll_default is more than 1, on GPUs where all lanes of all rows run at once: a product
 * takes as long as its longest rows wait for memory, so that each lane loads more entries at once and has the registers for it, which a
 * compiler left to itself saves for more work-items ([M13] of docs/measurements.md). */
static void spmv__dev_deep_defaults(const spmv_device *device, const spmv_part *p, const spmv_variant *wish, spmv_variant *variant)
{
    const int given = variant->value[SPMV_KNOB_L], lanes = given ? given : spmv__dev_lanes(device, p, variant);
    const uint64_t items = spmv__sat_mul(spmv__dev_block_rows(p, variant), (uint64_t)lanes);
    if (device->info.type == SPMV_DEVICE_CPU || items > (uint64_t)device->info.compute_units * SPMV__UNIT_ITEMS) return;
    spmv__dev_default(device, wish, variant, SPMV_KNOB_UNROLL, 2 * SPMV__LANE_BATCH, 0);
    if (variant->value[SPMV_KNOB_UNROLL] != 2 * SPMV__LANE_BATCH) return; /* the caller's choice */
    spmv__dev_default(device, wish, variant, SPMV_KNOB_REGS, p->type == SPMV_F32 ? 40 : 64, 0);
}

/* The partial sums of lanes that share a row. */
static uint64_t spmv__dev_local_lanes(const spmv_part *p, const spmv_variant *variant)
{
    uint64_t sums = variant->value[SPMV_KNOB_L] > 1 ? spmv__dev_height(p, variant) * (uint64_t)variant->value[SPMV_KNOB_WG] : 0;
    return sums * spmv_vector_size(p->type);
}

/* Those sums or, where it is more, what STAGE=1 keeps, in elements of the vectors: the two share their memory. */
static uint64_t spmv__dev_local_staged(const spmv_part *p, const spmv_variant *variant, uint64_t elements)
{
    const uint64_t lanes = spmv__dev_local_lanes(p, variant);
    const uint64_t staged = variant->value[SPMV_KNOB_STAGE] ? elements * spmv_vector_size(p->type) : 0;
    return staged > lanes ? staged : lanes;
}

/* Rows of y that a work-group computes. */
static uint64_t spmv__dev_group_rows(const spmv_part *p, const spmv_variant *variant)
{
    return (uint64_t)variant->value[SPMV_KNOB_WG] / (uint64_t)variant->value[SPMV_KNOB_L] * spmv__dev_height(p, variant);
}

/* The block rows or runs, of so many, that a work-item takes one after another. With SEQ=0 these are so many that launching a group (8 ns
 * with PoCL and with Intel's runtime) does not count beside them, but so few that a thread which is late leaves groups to the others. */
static uint64_t spmv__dev_seq(const spmv_device *device, const spmv_part *p, const spmv_variant *variant, uint64_t count)
{
    enum { GROUP_SLOTS = 2048 /* at least, in a group */, UNIT_GROUPS = 128 /* at most, for each compute unit */ };
    const uint64_t seq = spmv__dev_knob(variant, SPMV_KNOB_SEQ);
    const uint64_t own = (uint64_t)variant->value[SPMV_KNOB_WG] / spmv__dev_knob(variant, SPMV_KNOB_L);
    const uint64_t most = UNIT_GROUPS * (uint64_t)(device->info.compute_units > 0 ? device->info.compute_units : 1);
    uint64_t groups = p->a[SPMV_VAL].count / GROUP_SLOTS + 1;
    if (groups > most) groups = most;
    return seq ? seq : count / (groups * own) + 1;
}

static spmv_status spmv__dev_deal_rows(spmv_device_part *out, const spmv_device *device, const spmv_part *p)
{
    const spmv_variant *variant = &out->variant;
    uint64_t wg = (uint64_t)variant->value[SPMV_KNOB_WG], l = (uint64_t)variant->value[SPMV_KNOB_L];
    uint64_t block_rows = spmv__dev_block_rows(p, variant);
    return spmv__dev_groups(device, block_rows, wg / l * spmv__dev_seq(device, p, variant, block_rows), wg, &out->groups);
}

static unsigned spmv__dev_arguments_rows(spmv__dev_value *to, const spmv_device_matrix *matrix, const spmv_device_part *p,
                                         void *const *carry)
{
    (void)carry;
    to[0] = spmv__number(p->rows);
    to[1] = spmv__number(matrix->cols);
    to[2] = spmv__mem(p->list);
    return p->list ? 3 : 2;
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

/* ---- dense ------------------------------------------------------------------------------------------------------- */

static void spmv__dense_defaults(const spmv_device *device, const spmv_part *p, const spmv_variant *wish, spmv_variant *variant)
{
    (void)p;
    spmv__dev_default(device, wish, variant, SPMV_KNOB_V, 1, 16);
}

/* V counts neighbours in a row in dense. */
static uint64_t spmv__one_row(const spmv_part *p, const spmv_variant *variant)
{
    (void)p;
    (void)variant;
    return 1;
}

static uint64_t spmv__dense_mean(const spmv_part *p, const spmv_variant *variant, uint64_t block_rows)
{
    (void)variant;
    (void)block_rows;
    return p->cols;
}

static void spmv__dense_cut(const spmv_part *p, const spmv__dev_span *span, spmv_part *stretch, spmv__dev_cut *cut)
{
    (void)stretch;
    spmv__dev_cut_one(&cut[SPMV_DENSE_VAL], span->row * p->cols, (span->last - span->row) * p->cols, 0);
}

static const spmv__dev_format spmv__dense_device = {
    1, SPMV__NO_ARRAY, SPMV__NO_ARRAY, SPMV__NO_ARRAY, 1, 0,
    spmv__dense_mean, spmv__dev_grains_rows, spmv__dev_grain_row_itself, spmv__dense_cut,
    spmv__dense_defaults, NULL, NULL, NULL, NULL, NULL, spmv__one_row, NULL, NULL, NULL, NULL
};

/* ---- coo --------------------------------------------------------------------------------------------------------- */

static int spmv__coo_matters(const spmv_part *p, const spmv_variant *variant, spmv_knob knob)
{
    (void)p;
    return knob != SPMV_KNOB_STAGE || !variant->value[SPMV_KNOB_ATOMIC];
}

static spmv_status spmv__coo_allowed(const spmv_device *device, const spmv_part *p, const spmv_variant *variant)
{
    if (!variant->value[SPMV_KNOB_ATOMIC] || p->type == SPMV_F32 || device->info.atomics64) return SPMV_OK;
    return spmv_log(&device->hooks, SPMV_ERR_LIMIT, "coo: ATOMIC=%d needs 64-bit atomics, which the device does not have",
                    variant->value[SPMV_KNOB_ATOMIC]);
}

/* The entries of a work-group, and the sums of each work-item. */
static uint64_t spmv__coo_local(const spmv_part *p, const spmv_variant *variant)
{
    uint64_t wg = (uint64_t)variant->value[SPMV_KNOB_WG], size = spmv_vector_size(p->type);
    uint64_t entries = (uint64_t)variant->value[SPMV_KNOB_PER] * (size + 4);
    switch (variant->value[SPMV_KNOB_ATOMIC]) {
    case 1: return 0;
    case 2: return wg * (entries + 2 * (size + 4));
    default: return wg * ((variant->value[SPMV_KNOB_STAGE] ? entries : 0) + 2 * size + 4);
    }
}

/* Each work-group of the first launch leaves two carries, which the second launch adds to y. */
static spmv_status spmv__coo_deal(spmv_device_part *out, const spmv_device *device, const spmv_part *p)
{
    int atomic = out->variant.value[SPMV_KNOB_ATOMIC];
    uint64_t wg = (uint64_t)out->variant.value[SPMV_KNOB_WG], per = (uint64_t)out->variant.value[SPMV_KNOB_PER];
    spmv_status s = spmv__dev_groups(device, p->nnz, wg * per, wg, &out->groups);
    out->carries = atomic ? 0 : 2 * out->groups;
    out->finish = atomic ? 0 : spmv__ceil_div(out->carries, wg);
    return s;
}

static unsigned spmv__coo_arguments(spmv__dev_value *to, const spmv_device_matrix *matrix, const spmv_device_part *p, void *const *carry)
{
    (void)matrix;
    to[0] = spmv__number(p->nnz);
    to[1] = spmv__mem(carry[1]);
    to[2] = spmv__mem(carry[0]);
    return 3;
}

static uint64_t spmv__coo_grains(const spmv_part *p) { return p->nnz; }
static uint64_t spmv__coo_grain_row(const spmv_part *p, uint64_t g) { (void)p; (void)g; return 0; }

static void spmv__coo_cut(const spmv_part *p, const spmv__dev_span *span, spmv_part *stretch, spmv__dev_cut *cut)
{
    stretch->rows = p->rows;
    stretch->nnz = span->end - span->begin;
    spmv__dev_cut_one(&cut[SPMV_COO_VAL], span->begin, stretch->nnz, 0);
    spmv__dev_cut_one(&cut[SPMV_COO_ROW], span->begin, stretch->nnz, 0);
    spmv__dev_cut_one(&cut[SPMV_COO_COL], span->begin, stretch->nnz, 0);
}

static const spmv__dev_format spmv__coo_device = {
    0, SPMV__NO_ARRAY, SPMV__NO_ARRAY, SPMV__NO_ARRAY, 1, 1,
    spmv__dev_mean_nonzeros, spmv__coo_grains, spmv__coo_grain_row, spmv__coo_cut,
    NULL, spmv__coo_matters, NULL, spmv__coo_allowed, NULL, NULL, NULL, spmv__coo_local, spmv__coo_deal, spmv__coo_arguments, NULL
};

/* ---- csr --------------------------------------------------------------------------------------------------------- */

/* 1: csr with key run, whose kernel walks runs instead of rows. */
static int spmv__csr_in_runs(const spmv_part *p) { return p->spec.key[SPMV_KEY_RUN] != 0; }

enum { SPMV__SHUFFLE_LANES = 32 /* the most lanes whose sums shuffles can add: LANES_BY_SHUFFLE of kernels/common.cl */ };

static int spmv__csr_matters(const spmv_part *p, const spmv_variant *variant, spmv_knob knob)
{
    int runs = spmv__csr_in_runs(p);
    switch (knob) {
    case SPMV_KNOB_L: return !runs;
    case SPMV_KNOB_STREAM: return runs;
    case SPMV_KNOB_SEQ: return !runs || !variant->value[SPMV_KNOB_STREAM];
    case SPMV_KNOB_FINISH: return runs && p->n[SPMV_CSR_LONGS] != 0;
    case SPMV_KNOB_SHUF:
        if (runs) return variant->value[SPMV_KNOB_STREAM];
        return variant->value[SPMV_KNOB_L] > 1 && variant->value[SPMV_KNOB_L] <= SPMV__SHUFFLE_LANES;
    default: return 1;
    }
}

/* In runs: products, partial sums, and the queue of waiting rows. */
static uint64_t spmv__csr_local(const spmv_part *p, const spmv_variant *variant)
{
    uint64_t wg = (uint64_t)variant->value[SPMV_KNOB_WG], run;
    if (!spmv__csr_in_runs(p)) return spmv__dev_local_lanes(p, variant);
    run = variant->value[SPMV_KNOB_STREAM] ? (uint64_t)p->spec.key[SPMV_KEY_RUN] : 0;
    return (wg + run) * spmv_vector_size(p->type) + (run ? (run / (wg < 32 ? wg : 32) + 2) * 4 : 0);
}

/* Entries that an item loads at once where a group takes a run on a GPU: the largest power of two that is not more than its share, so that
 * the group waits for memory as few times as it can, as loads beyond the run's end cost their conditions; but 2 to 8 ([M14] of
 * docs/measurements.md). */
static int spmv__csr_unroll_run(const spmv_part *p, const spmv_variant *variant)
{
    const int least = 2, most = 8, share = (int)(p->spec.key[SPMV_KEY_RUN] / variant->value[SPMV_KNOB_WG]);
    int unroll = least;
    while (unroll < most && 2 * unroll <= share) unroll *= 2;
    return unroll;
}

static void spmv__csr_defaults(const spmv_device *device, const spmv_part *p, const spmv_variant *wish, spmv_variant *variant)
{
    spmv__dev_default(device, wish, variant, SPMV_KNOB_UNROLL, SPMV__LANE_BATCH, 4);
    spmv__dev_default(device, wish, variant, SPMV_KNOB_NT, spmv__dev_streams(device, p, 3, 1), 0);
    spmv__dev_default(device, wish, variant, SPMV_KNOB_SHUF, 1, 0); /* [M15] of docs/measurements.md */
    /* FINISH=1, which is faster [M15], relies on the order in which work-groups see each other's writes */
    if (device->info.nvidia < SPMV__NVIDIA_VOLTA) spmv__dev_default(device, wish, variant, SPMV_KNOB_FINISH, 0, 0);
    if (!spmv__csr_in_runs(p)) {
        spmv__dev_deep_defaults(device, p, wish, variant);
        return;
    }
    spmv__dev_default(device, wish, variant, SPMV_KNOB_WG, SPMV__RUN_GROUP, variant->value[SPMV_KNOB_STREAM] ? 16 : 1);
    if (spmv__csr_local(p, variant) > device->info.local_bytes) spmv__dev_default(device, wish, variant, SPMV_KNOB_STREAM, 0, 0);
    if (variant->value[SPMV_KNOB_STREAM])
        spmv__dev_default(device, wish, variant, SPMV_KNOB_UNROLL, spmv__csr_unroll_run(p, variant), SPMV__LANE_BATCH);
}

static void spmv__csr_options(spmv__dev_options *options, const spmv_part *p)
{
    if (!spmv__csr_in_runs(p)) return;
    spmv__dev_option_number(options, "RUN", (uint64_t)p->spec.key[SPMV_KEY_RUN]);
    if (!p->n[SPMV_CSR_LONGS]) spmv__dev_option(options, "CUTS", "0");
}

/* Each piece of a long row leaves a carry. The work-group that finishes the row's last piece adds them up, or a second launch does. */
static spmv_status spmv__csr_deal(spmv_device_part *out, const spmv_device *device, const spmv_part *p)
{
    const spmv_variant *variant = &out->variant;
    uint64_t wg = (uint64_t)variant->value[SPMV_KNOB_WG], runs = p->n[SPMV_CSR_RUNS], longs = p->n[SPMV_CSR_LONGS], seq;
    spmv_status s;
    if (!spmv__csr_in_runs(p)) return spmv__dev_deal_rows(out, device, p);
    out->carries = longs ? runs : 0;
    seq = spmv__dev_seq(device, p, variant, runs);
    s = spmv__dev_groups(device, runs, variant->value[SPMV_KNOB_STREAM] ? 1 : wg * seq, wg, &out->groups);
    if (variant->value[SPMV_KNOB_FINISH]) out->counters = out->carries;
    else if (!s) s = spmv__dev_groups(device, longs, 1, wg, &out->finish);
    return s;
}

static unsigned spmv__csr_arguments(spmv__dev_value *to, const spmv_device_matrix *matrix, const spmv_device_part *p, void *const *carry)
{
    const unsigned n = spmv__dev_arguments_rows(to, matrix, p, carry);
    to[n] = spmv__mem(carry[0]);
    return p->n[SPMV_CSR_RUNS] ? n + 1 : n;
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
static void spmv__csr_cut(const spmv_part *p, const spmv__dev_span *span, spmv_part *stretch, spmv__dev_cut *cut)
{
    uint64_t longs, runs = span->end - span->begin;
    spmv__dev_cut_slots(p, span->row, span->last, 1, cut);
    stretch->nnz = cut[SPMV_CSR_VAL].count;
    if (!spmv__csr_in_runs(p)) return;
    longs = spmv__below(&p->a[SPMV_CSR_LONG_RUN], span->begin);
    stretch->n[SPMV_CSR_RUNS] = runs;
    stretch->n[SPMV_CSR_LONGS] = spmv__below(&p->a[SPMV_CSR_LONG_RUN], span->end) - longs;
    spmv__dev_cut_one(&cut[SPMV_CSR_RUN_ROW], span->begin, runs + 1, span->row);
    spmv__dev_cut_one(&cut[SPMV_CSR_RUN_AT], span->begin, runs + 1, cut[SPMV_CSR_VAL].at);
    spmv__dev_cut_one(&cut[SPMV_CSR_BASE], span->begin, runs, 0);
    spmv__dev_cut_one(&cut[SPMV_CSR_LONG_RUN], longs, stretch->n[SPMV_CSR_LONGS], span->begin);
}

static const spmv__dev_format spmv__csr_device = {
    1, SPMV_CSR_PTR, SPMV_CSR_COL, SPMV_CSR_BASE, SPMV__CSR_LANES, 0,
    spmv__dev_mean_nonzeros, spmv__csr_grains, spmv__csr_grain_row, spmv__csr_cut,
    spmv__csr_defaults, spmv__csr_matters, NULL, NULL, spmv__csr_options, NULL, NULL, spmv__csr_local, spmv__csr_deal,
    spmv__csr_arguments, spmv__csr_grain_free
};

/* ---- dia --------------------------------------------------------------------------------------------------------- */

/* On NVIDIA's devices items with four rows have more bytes in flight, where there are rows enough for all items that run at once and
 * elements are small. Where there are few rows, lanes share the diagonals of a row ([M16] of docs/measurements.md). */
static void spmv__dia_defaults(const spmv_device *device, const spmv_part *p, const spmv_variant *wish, spmv_variant *variant)
{
    const int many = spmv__dev_many_rows(device, p);
    spmv__dev_default(device, wish, variant, SPMV_KNOB_V, device->info.nvidia && many && p->type == SPMV_F32 ? 4 : 1, 16);
    if (p->codes) spmv__dev_default(device, wish, variant, SPMV_KNOB_UNROLL, 4, 1);
}

static void spmv__dia_cut(const spmv_part *p, const spmv__dev_span *span, spmv_part *stretch, spmv__dev_cut *cut)
{
    stretch->n[SPMV_DIA_LD] = span->ld;
    spmv__dev_cut_planes(&cut[SPMV_DIA_VAL], span->row, span->ld, p->n[SPMV_DIA_DIAGONALS], p->n[SPMV_DIA_LD]);
    spmv__dev_cut_one(&cut[SPMV_DIA_OFFSET], 0, p->n[SPMV_DIA_DIAGONALS], 0);
    cut[SPMV_DIA_OFFSET].more = span->row;
}

static const spmv__dev_format spmv__dia_device = {
    1, SPMV__NO_ARRAY, SPMV__NO_ARRAY, SPMV__NO_ARRAY, 1, 0,
    spmv__dev_mean_slots, spmv__dev_grains_padded, spmv__dev_grain_row_padded, spmv__dia_cut,
    spmv__dia_defaults, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
};

/* ---- bdia -------------------------------------------------------------------------------------------------------- */

/* STAGE=1 keeps the elements of x that the rows of a work-group need for WG neighbouring diagonals of a band. */
static uint64_t spmv__bdia_local(const spmv_part *p, const spmv_variant *variant)
{
    return spmv__dev_local_staged(p, variant, (uint64_t)variant->value[SPMV_KNOB_WG] + spmv__dev_group_rows(p, variant));
}

/* The mean number of diagonals in a band: lanes share the diagonals of a band, one band after another. */
static uint64_t spmv__bdia_mean(const spmv_part *p, const spmv_variant *variant, uint64_t block_rows)
{
    const uint64_t bands = p->n[SPMV_BDIA_BANDS], diagonals = p->a[SPMV_VAL].count / (p->n[SPMV_BDIA_LD] + !p->n[SPMV_BDIA_LD]);
    (void)variant;
    (void)block_rows;
    return bands ? diagonals / bands : 0;
}

/* What STAGE=1 keeps is for the rows of a group that are taken at once. */
static int spmv__bdia_matters(const spmv_part *p, const spmv_variant *variant, spmv_knob knob)
{
    (void)p;
    return knob != SPMV_KNOB_SEQ || !variant->value[SPMV_KNOB_STAGE];
}

/* Staging x pays where a band has many diagonals of large elements ([M17] of docs/measurements.md). */
static void spmv__bdia_defaults(const spmv_device *device, const spmv_part *p, const spmv_variant *wish, spmv_variant *variant)
{
    enum { WIDE_BAND = 64 };
    spmv__dev_default(device, wish, variant, SPMV_KNOB_V, 1, 16);
    spmv__dev_default(device, wish, variant, SPMV_KNOB_STAGE, p->type != SPMV_F32 && spmv__bdia_mean(p, variant, 1) >= WIDE_BAND, 0);
    spmv__dev_default(device, wish, variant, SPMV_KNOB_WG, 128, variant->value[SPMV_KNOB_STAGE] ? SPMV__STAGE_GROUP : 1);
}

static void spmv__bdia_cut(const spmv_part *p, const spmv__dev_span *span, spmv_part *stretch, spmv__dev_cut *cut)
{
    uint64_t bands = p->n[SPMV_BDIA_BANDS], diagonals = spmv__at(&p->a[SPMV_BDIA_BAND_PTR], bands);
    stretch->n[SPMV_BDIA_LD] = span->ld;
    spmv__dev_cut_planes(&cut[SPMV_BDIA_VAL], span->row, span->ld, diagonals, p->n[SPMV_BDIA_LD]);
    spmv__dev_cut_one(&cut[SPMV_BDIA_OFFSET], 0, bands, 0);
    cut[SPMV_BDIA_OFFSET].more = span->row;
    spmv__dev_cut_one(&cut[SPMV_BDIA_BAND_PTR], 0, bands + 1, 0);
}

static const spmv__dev_format spmv__bdia_device = {
    1, SPMV__NO_ARRAY, SPMV__NO_ARRAY, SPMV__NO_ARRAY, 1, 0,
    spmv__bdia_mean, spmv__dev_grains_padded, spmv__dev_grain_row_padded, spmv__bdia_cut,
    spmv__bdia_defaults, spmv__bdia_matters, NULL, NULL, NULL, NULL, NULL, spmv__bdia_local, NULL, NULL, NULL
};

/* ---- ell --------------------------------------------------------------------------------------------------------- */

static int spmv__ell_matters(const spmv_part *p, const spmv_variant *variant, spmv_knob knob)
{
    (void)p;
    return knob != SPMV_KNOB_UNROLL || variant->value[SPMV_KNOB_V] == 1;
}

static void spmv__ell_defaults(const spmv_device *device, const spmv_part *p, const spmv_variant *wish, spmv_variant *variant)
{
    const int rows = p->n[SPMV_ELL_LD] == 1 ? 1 : 8; /* CPUs: cache lines are used whole, sums are independent */
    const int four = device->info.nvidia && p->codes && rows > 1 && spmv__dev_many_rows(device, p); /* one load for their codes */
    spmv__dev_default(device, wish, variant, SPMV_KNOB_NT, spmv__dev_streams(device, p, 4, 0), 0);
    spmv__dev_default(device, wish, variant, SPMV_KNOB_V, four ? 4 : 1, rows);
    spmv__dev_default(device, wish, variant, SPMV_KNOB_UNROLL, spmv__dev_unroll_default(device, p, variant), 1);
}

static spmv_status spmv__ell_fit(const spmv_device *device, const spmv_part *p, const spmv_variant *wish, spmv_variant *variant)
{
    (void)wish;
    if (p->n[SPMV_ELL_LD] != 1 || variant->value[SPMV_KNOB_V] == 1) return SPMV_OK;
    return spmv_log(&device->hooks, SPMV_ERR_UNSUPPORTED, "ell: V=%d is not possible with rowmajor=1", variant->value[SPMV_KNOB_V]);
}

static void spmv__ell_cut(const spmv_part *p, const spmv__dev_span *span, spmv_part *stretch, spmv__dev_cut *cut)
{
    const uint64_t width = p->n[SPMV_ELL_WIDTH];
    if (p->n[SPMV_ELL_LD] == 1) spmv__dev_cut_one(&cut[SPMV_ELL_VAL], span->row * width, (span->last - span->row) * width, 0);
    else {
        stretch->n[SPMV_ELL_LD] = span->ld;
        spmv__dev_cut_planes(&cut[SPMV_ELL_VAL], span->row, span->ld, width, p->n[SPMV_ELL_LD]);
    }
    cut[SPMV_ELL_COL] = cut[SPMV_ELL_VAL];
    spmv__dev_cut_one(&cut[SPMV_ELL_BASE], span->begin, span->end - span->begin, 0);
}

static const spmv__dev_format spmv__ell_device = {
    1, SPMV__NO_ARRAY, SPMV_ELL_COL, SPMV_ELL_BASE, 1, 0,
    spmv__dev_mean_slots, spmv__dev_grains_padded, spmv__dev_grain_row_padded, spmv__ell_cut,
    spmv__ell_defaults, spmv__ell_matters, spmv__ell_fit, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
};

/* ---- sell -------------------------------------------------------------------------------------------------------- */

/* 1: the slices vary in height (key grow). */
static int spmv__sell_varies(const spmv_part *p) { return p->a[SPMV_SELL_SLICE_ROW].count != 0; }

/* H=0 tells the kernel that slices vary in height. */
static uint64_t spmv__sell_macro(const spmv_part *p, int i)
{
    return i == (int)SPMV_SELL_H && spmv__sell_varies(p) ? 0 : p->n[i];
}

static int spmv__sell_matters(const spmv_part *p, const spmv_variant *variant, spmv_knob knob)
{
    if (knob == SPMV_KNOB_UNROLL) return spmv__ell_matters(p, variant, knob);
    return knob != SPMV_KNOB_SEQ || !variant->value[SPMV_KNOB_STAGE]; /* which keeps the pointers for the rows that a group takes at once */
}

static void spmv__sell_defaults(const spmv_device *device, const spmv_part *p, const spmv_variant *wish, spmv_variant *variant)
{
    spmv__dev_default(device, wish, variant, SPMV_KNOB_STAGE, 0, 0);
    spmv__dev_default(device, wish, variant, SPMV_KNOB_NT, spmv__dev_streams(device, p, 4, 0), 0);
    /* as for ell; in f64, slices of 32 rows beyond the caches take 0.6 to 0.9 of the time with 16 rows (PoCL and Intel's runtime) */
    spmv__dev_default(device, wish, variant, SPMV_KNOB_V, 1, p->type == SPMV_F32 ? 8 : 16);
    spmv__dev_default(device, wish, variant, SPMV_KNOB_UNROLL, spmv__dev_unroll_default(device, p, variant), 1);
    spmv__dev_default(device, wish, variant, SPMV_KNOB_WG, 128, variant->value[SPMV_KNOB_STAGE] ? SPMV__STAGE_GROUP : 1);
    if (variant->value[SPMV_KNOB_V] == 1 && spmv__dev_unroll_default(device, p, variant) > 1)
        spmv__dev_deep_defaults(device, p, wish, variant);
}

/* The V rows of a work-item must lie in one slice: a default of V is lowered, a V that the caller set is refused. */
static spmv_status spmv__sell_fit(const spmv_device *device, const spmv_part *p, const spmv_variant *wish, spmv_variant *variant)
{
    uint64_t h = p->n[SPMV_SELL_H];
    int *rows = &variant->value[SPMV_KNOB_V];
    while (*rows > 1 && !spmv__dev_knob_set(wish, SPMV_KNOB_V) && (spmv__sell_varies(p) || h % (uint64_t)*rows))
        *rows = *rows == 4 ? 1 : *rows / 2;
    if (*rows > 1 && spmv__sell_varies(p))
        return spmv_log(&device->hooks, SPMV_ERR_UNSUPPORTED, "sell: V=%d is not possible with slices of varying height", *rows);
    if (*rows > 1 && h % (uint64_t)*rows)
        return spmv_log(&device->hooks, SPMV_ERR_UNSUPPORTED, "sell: V=%d does not divide the slice height %llu", *rows, (spmv__ull)h);
    return SPMV_OK;
}

/* STAGE=1 keeps the pointers of all slices that the rows of a work-group lie in; slices of varying height may have as little as one row. */
static uint64_t spmv__sell_local(const spmv_part *p, const spmv_variant *variant)
{
    const uint64_t rows = spmv__dev_group_rows(p, variant), h = spmv__sell_macro(p, SPMV_SELL_H);
    return spmv__dev_local_staged(p, variant, 4 * (h ? rows / h + 3 : rows + 2));
}

static uint64_t spmv__sell_grains(const spmv_part *p) { return p->n[SPMV_SELL_SLICES]; }
static uint64_t spmv__sell_grain_row(const spmv_part *p, uint64_t g)
{
    return spmv__sell_varies(p) ? spmv__at(&p->a[SPMV_SELL_SLICE_ROW], g) : g * p->n[SPMV_SELL_H];
}

static void spmv__sell_cut(const spmv_part *p, const spmv__dev_span *span, spmv_part *stretch, spmv__dev_cut *cut)
{
    uint64_t slices = stretch->n[SPMV_SELL_SLICES] = span->end - span->begin;
    spmv__dev_cut_slots(p, span->begin, span->end, 1, cut);
    spmv__dev_cut_one(&cut[SPMV_SELL_SLICE_ROW], span->begin, slices + 1, span->row);
    spmv__dev_cut_one(&cut[SPMV_SELL_BASE], span->begin, slices, 0);
}

static const spmv__dev_format spmv__sell_device = {
    1, SPMV_SELL_PTR, SPMV_SELL_COL, SPMV_SELL_BASE, 1, 0,
    spmv__dev_mean_slots, spmv__sell_grains, spmv__sell_grain_row, spmv__sell_cut,
    spmv__sell_defaults, spmv__sell_matters, spmv__sell_fit, NULL, NULL, spmv__sell_macro, NULL, spmv__sell_local, NULL, NULL, NULL
};

/* ---- bell -------------------------------------------------------------------------------------------------------- */

/* Blocks of 36 elements need more registers than the compiler takes by itself; small ones do not ([M18] of docs/measurements.md). */
static void spmv__bell_defaults(const spmv_device *device, const spmv_part *p, const spmv_variant *wish, spmv_variant *variant)
{
    spmv__dev_default(device, wish, variant, SPMV_KNOB_V, 1, 32);
    if (spmv__dev_block(p) == 36) spmv__dev_default(device, wish, variant, SPMV_KNOB_REGS, 96, 0);
}

static void spmv__bell_cut(const spmv_part *p, const spmv__dev_span *span, spmv_part *stretch, spmv__dev_cut *cut)
{
    uint64_t bh = p->n[SPMV_BELL_BH], uw = p->n[SPMV_BELL_UW], width = p->n[SPMV_BELL_WIDTH];
    uint64_t units = bh * p->n[SPMV_BELL_BW] / uw, first = span->begin * SPMV__GRAIN;
    uint64_t ld = spmv__round_up(spmv__ceil_div(stretch->rows, bh), SPMV__GRAIN);
    stretch->n[SPMV_BELL_LD] = ld;
    spmv__dev_cut_planes(&cut[SPMV_BELL_VAL], first * uw, ld * uw, width * units, p->n[SPMV_BELL_LD] * uw);
    spmv__dev_cut_planes(&cut[SPMV_BELL_COL], first, ld, width, p->n[SPMV_BELL_LD]);
    spmv__dev_cut_one(&cut[SPMV_BELL_BASE], span->begin, span->end - span->begin, 0);
}

static const spmv__dev_format spmv__bell_device = {
    1, SPMV__NO_ARRAY, SPMV_BELL_COL, SPMV_BELL_BASE, 1, 0,
    spmv__dev_mean_slots, spmv__dev_grains_blocks, spmv__dev_grain_row_blocks, spmv__bell_cut,
    spmv__bell_defaults, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
};

/* ---- sbell ------------------------------------------------------------------------------------------------------- */

static uint64_t spmv__sbell_grains(const spmv_part *p) { return p->n[SPMV_SBELL_SLICES]; }
static uint64_t spmv__sbell_grain_row(const spmv_part *p, uint64_t g) { return g * p->n[SPMV_SBELL_H] * p->n[SPMV_SBELL_BH]; }

static void spmv__sbell_cut(const spmv_part *p, const spmv__dev_span *span, spmv_part *stretch, spmv__dev_cut *cut)
{
    stretch->n[SPMV_SBELL_SLICES] = span->end - span->begin;
    spmv__dev_cut_slots(p, span->begin, span->end, p->n[SPMV_SBELL_BH] * p->n[SPMV_SBELL_BW], cut);
    spmv__dev_cut_one(&cut[SPMV_SBELL_BASE], span->begin, stretch->n[SPMV_SBELL_SLICES], 0);
}

/* Nine values of 8 bytes do not fit into the registers that the compiler takes by itself; of 4 bytes they do ([M18] of
 * docs/measurements.md). */
static void spmv__sbell_defaults(const spmv_device *device, const spmv_part *p, const spmv_variant *wish, spmv_variant *variant)
{
    if (p->type == SPMV_F64 && spmv__dev_block(p) == 9) spmv__dev_default(device, wish, variant, SPMV_KNOB_REGS, 64, 0);
}

static const spmv__dev_format spmv__sbell_device = {
    1, SPMV_SBELL_PTR, SPMV_SBELL_COL, SPMV_SBELL_BASE, 1, 0,
    spmv__dev_mean_slots, spmv__sbell_grains, spmv__sbell_grain_row, spmv__sbell_cut,
    spmv__sbell_defaults, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
};

/* ---- bcsr -------------------------------------------------------------------------------------------------------- */

enum { SPMV__BCSR_LARGE = 8 /* elements of a block */ };

/* In small work-groups fewer large blocks are in flight, which then stay in the caches ([M18] of docs/measurements.md). */
static void spmv__bcsr_defaults(const spmv_device *device, const spmv_part *p, const spmv_variant *wish, spmv_variant *variant)
{
    if (p->type == SPMV_F64 && device->info.type != SPMV_DEVICE_CPU && spmv__dev_block(p) > SPMV__BCSR_LARGE)
        spmv__dev_default(device, wish, variant, SPMV_KNOB_WG, 32, 32);
}

static void spmv__bcsr_cut(const spmv_part *p, const spmv__dev_span *span, spmv_part *stretch, spmv__dev_cut *cut)
{
    uint64_t bh = p->n[SPMV_BCSR_BH], uw = p->n[SPMV_BCSR_UW], block_rows = spmv__ceil_div(p->rows, bh), last = span->end * SPMV__GRAIN;
    spmv__dev_cut_slots(p, span->begin * SPMV__GRAIN, last < block_rows ? last : block_rows, uw, cut);
    stretch->n[SPMV_BCSR_BLOCKS] = cut[SPMV_BCSR_COL].count;
    cut[SPMV_BCSR_VAL].planes = bh * p->n[SPMV_BCSR_BW] / uw;
    cut[SPMV_BCSR_VAL].stride = p->n[SPMV_BCSR_BLOCKS] * uw;
    spmv__dev_cut_one(&cut[SPMV_BCSR_BASE], span->begin, span->end - span->begin, 0);
}

static const spmv__dev_format spmv__bcsr_device = {
    1, SPMV_BCSR_PTR, SPMV_BCSR_COL, SPMV_BCSR_BASE, SPMV__BCSR_LANES, 0,
    spmv__dev_mean_slots, spmv__dev_grains_blocks, spmv__dev_grain_row_blocks, spmv__bcsr_cut,
    spmv__bcsr_defaults, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
};

/* ---- cmrs -------------------------------------------------------------------------------------------------------- */

/* The entries of a strip sorted by column are not in the order of their rows, so that sums must be in local memory. */
static void spmv__cmrs_defaults(const spmv_device *device, const spmv_part *p, const spmv_variant *wish, spmv_variant *variant)
{
    if (p->spec.key[SPMV_KEY_SORT]) spmv__dev_default(device, wish, variant, SPMV_KNOB_STAGE, 1, 1);
}

static uint64_t spmv__cmrs_height(const spmv_part *p, const spmv_variant *variant)
{
    (void)variant;
    return p->n[SPMV_CMRS_HEIGHT];
}

/* STAGE=1 keeps a sum for each work-item and row of the strip. */
static uint64_t spmv__cmrs_local(const spmv_part *p, const spmv_variant *variant)
{
    return spmv__dev_local_staged(p, variant, p->n[SPMV_CMRS_HEIGHT] * (uint64_t)variant->value[SPMV_KNOB_WG]);
}

static uint64_t spmv__cmrs_grains(const spmv_part *p) { return spmv__ceil_div(p->rows, p->n[SPMV_CMRS_HEIGHT]); }
static uint64_t spmv__cmrs_grain_row(const spmv_part *p, uint64_t g) { return g * p->n[SPMV_CMRS_HEIGHT]; }

static void spmv__cmrs_cut(const spmv_part *p, const spmv__dev_span *span, spmv_part *stretch, spmv__dev_cut *cut)
{
    spmv__dev_cut_slots(p, span->begin, span->end, 1, cut);
    stretch->nnz = cut[SPMV_CMRS_INDEX].count;
    cut[SPMV_CMRS_ROW] = cut[SPMV_CMRS_INDEX];
}

static const spmv__dev_format spmv__cmrs_device = {
    1, SPMV_CMRS_PTR, SPMV__NO_ARRAY, SPMV__NO_ARRAY, 1, 0,
    spmv__dev_mean_nonzeros, spmv__cmrs_grains, spmv__cmrs_grain_row, spmv__cmrs_cut,
    spmv__cmrs_defaults, NULL, NULL, NULL, NULL, NULL, spmv__cmrs_height, spmv__cmrs_local, NULL, NULL, NULL
};

/* ---- tcsr -------------------------------------------------------------------------------------------------------- */

enum { SPMV__TCSR_EMPTY_EACH = 4 /* empty rows that an item writes; kernels/tcsr.cl has the same number */ };

/* Items of a group that takes a tile. */
static uint64_t spmv__tcsr_group(const spmv_part *p) { return p->n[SPMV_TCSR_TILE] / SPMV_TCSR_SLOTS; }

static int spmv__tcsr_matters(const spmv_part *p, const spmv_variant *variant, spmv_knob knob)
{
    switch (knob) {
    case SPMV_KNOB_FINISH: return p->n[SPMV_TCSR_CUTS] != 0;
    case SPMV_KNOB_UNROLL: return variant->value[SPMV_KNOB_STREAM];
    default: return 1;
    }
}

/* STREAM=1: the products with the gaps between them, and the open sums of the warps; without PTX also a vote for each warp and a sum for
 * each item, which are always counted. The finishing launch has a sum for each item. */
static uint64_t spmv__tcsr_local(const spmv_part *p, const spmv_variant *variant)
{
    uint64_t size = spmv_vector_size(p->type), wg = (uint64_t)variant->value[SPMV_KNOB_WG], warps, products;
    if (!variant->value[SPMV_KNOB_STREAM]) return wg * size;
    warps = p->n[SPMV_TCSR_TILE] / SPMV__TCSR_WARP;
    products = SPMV__TCSR_WARP + SPMV__TCSR_WARP * size / 128 * (16 / size); /* 16 bytes between each 128 */
    return warps * ((products + 1) * size + 8) + wg * size;
}

/* STREAM=1 unless the device cannot have a group of a tile's size, or the caller asks for another group. */
static void spmv__tcsr_defaults(const spmv_device *device, const spmv_part *p, const spmv_variant *wish, spmv_variant *variant)
{
    const int narrow = p->a[SPMV_TCSR_BASE].count != 0, doubles = p->type != SPMV_F32;
    spmv_variant whole = *variant;
    whole.value[SPMV_KNOB_STREAM] = 1;
    whole.value[SPMV_KNOB_WG] = (int)spmv__tcsr_group(p);
    if (device->info.group_size < spmv__tcsr_group(p) || spmv__tcsr_local(p, &whole) > device->info.local_bytes ||
        (spmv__dev_knob_set(wish, SPMV_KNOB_WG) && wish->value[SPMV_KNOB_WG] != whole.value[SPMV_KNOB_WG]))
        spmv__dev_default(device, wish, variant, SPMV_KNOB_STREAM, 0, 0);
    /* 16-bit columns take half of the registers of those of 32 bits ([M19] of docs/measurements.md) */
    spmv__dev_default(device, wish, variant, SPMV_KNOB_UNROLL, spmv__dev_takes_registers(device) && !(narrow && doubles) ? 16 : 8, 8);
    spmv__dev_default(device, wish, variant, SPMV_KNOB_REGS, doubles ? narrow ? 64 : 80 : narrow ? 40 : 48, 0);
    spmv__dev_default(device, wish, variant, SPMV_KNOB_NT, spmv__dev_streams(device, p, 3, 1), 0);
    if (device->info.nvidia < SPMV__NVIDIA_VOLTA) spmv__dev_default(device, wish, variant, SPMV_KNOB_FINISH, 0, 0); /* as for csr */
    spmv__dev_default(device, wish, variant, SPMV_KNOB_WG, 64, 1);
    if (variant->value[SPMV_KNOB_STREAM] && !spmv__dev_knob_set(wish, SPMV_KNOB_WG))
        variant->value[SPMV_KNOB_WG] = (int)spmv__tcsr_group(p);
}

/* With STREAM=1 the group has the size of a tile, whether the caller asked for another one or the kernel cannot have so large a one. */
static spmv_status spmv__tcsr_allowed(const spmv_device *device, const spmv_part *p, const spmv_variant *variant)
{
    if (!variant->value[SPMV_KNOB_STREAM] || (uint64_t)variant->value[SPMV_KNOB_WG] == spmv__tcsr_group(p)) return SPMV_OK;
    return spmv_log(&device->hooks, SPMV_ERR_LIMIT, "tcsr: STREAM=1 takes groups of %llu for tiles of %llu, not of %d",
                    (spmv__ull)spmv__tcsr_group(p), (spmv__ull)p->n[SPMV_TCSR_TILE], variant->value[SPMV_KNOB_WG]);
}

static void spmv__tcsr_options(spmv__dev_options *options, const spmv_part *p)
{
    if (!p->n[SPMV_TCSR_CUTS]) spmv__dev_option(options, "CUTS", "0");
    spmv__dev_option_number(options, "GAPS", p->a[SPMV_TCSR_ROW].count != 0);
    spmv__dev_option_number(options, "HIGH",
                            !p->a[SPMV_TCSR_HIGH].count ? 0 : p->a[SPMV_TCSR_HIGH].count < p->a[SPMV_TCSR_COL].count ? 1 : 2);
}

/* Groups for the tiles, then for the empty rows. Each tile has two carries. */
static spmv_status spmv__tcsr_deal(spmv_device_part *out, const spmv_device *device, const spmv_part *p)
{
    uint64_t wg = (uint64_t)out->variant.value[SPMV_KNOB_WG], tiles = p->n[SPMV_TCSR_TILES], cuts = p->n[SPMV_TCSR_CUTS];
    uint64_t items = out->variant.value[SPMV_KNOB_STREAM] ? tiles * wg : tiles;
    spmv_status s = spmv__dev_groups(device, items + spmv__ceil_div(p->n[SPMV_TCSR_EMPTIES], SPMV__TCSR_EMPTY_EACH), wg, wg, &out->groups);
    out->carries = cuts ? 2 * tiles : 0;
    if (cuts && out->variant.value[SPMV_KNOB_FINISH]) out->counters = tiles;
    else if (!s) s = spmv__dev_groups(device, cuts, 1, wg, &out->finish);
    return s;
}

static unsigned spmv__tcsr_arguments(spmv__dev_value *to, const spmv_device_matrix *matrix, const spmv_device_part *p, void *const *carry)
{
    (void)matrix;
    to[0] = spmv__mem(p->list);
    to[p->list != NULL] = spmv__mem(carry[0]);
    return p->list ? 2 : 1;
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

static void spmv__tcsr_cut(const spmv_part *p, const spmv__dev_span *span, spmv_part *stretch, spmv__dev_cut *cut)
{
    uint64_t tile = p->n[SPMV_TCSR_TILE], tiles = span->end - span->begin, warps = tile / SPMV__TCSR_WARP;
    uint64_t ends = spmv__tcsr_ends(p, span->begin), cuts = spmv__below(&p->a[SPMV_TCSR_CUT], span->begin);
    uint64_t empties = spmv__below(&p->a[SPMV_TCSR_EMPTY], span->row), wide;
    stretch->n[SPMV_TCSR_TILES] = tiles;
    stretch->n[SPMV_TCSR_CUTS] = spmv__below(&p->a[SPMV_TCSR_CUT], span->end) - cuts;
    stretch->n[SPMV_TCSR_EMPTIES] = spmv__below(&p->a[SPMV_TCSR_EMPTY], span->last) - empties;
    spmv__dev_cut_one(&cut[SPMV_TCSR_VAL], span->begin * tile, tiles * tile, 0);
    cut[SPMV_TCSR_COL] = cut[SPMV_TCSR_VAL];
    spmv__dev_cut_one(&cut[SPMV_TCSR_FLAG], span->begin * tile / SPMV_TCSR_SLOTS, tiles * tile / SPMV_TCSR_SLOTS, 0);
    spmv__dev_cut_one(&cut[SPMV_TCSR_END], span->begin * warps, tiles * warps + 1, ends);
    spmv__dev_cut_one(&cut[SPMV_TCSR_ROW], ends, spmv__tcsr_ends(p, span->end) - ends, span->row);
    spmv__dev_cut_one(&cut[SPMV_TCSR_PIECE], 2 * span->begin, 2 * tiles, span->begin);
    spmv__dev_cut_one(&cut[SPMV_TCSR_CUT], cuts, stretch->n[SPMV_TCSR_CUTS], span->begin);
    spmv__dev_cut_one(&cut[SPMV_TCSR_EMPTY], empties, stretch->n[SPMV_TCSR_EMPTIES], span->row);
    spmv__dev_cut_one(&cut[SPMV_TCSR_BASE], span->begin * warps, tiles * warps, 0);
    if (!p->a[SPMV_TCSR_HIGH].count) return;
    wide = spmv__at(&p->a[SPMV_TCSR_HIGH_AT], span->begin * warps);
    spmv__dev_cut_one(&cut[SPMV_TCSR_HIGH_AT], span->begin * warps, tiles * warps + 1, wide);
    spmv__dev_cut_one(&cut[SPMV_TCSR_HIGH], wide * SPMV__TCSR_WARP,
                      (spmv__at(&p->a[SPMV_TCSR_HIGH_AT], span->end * warps) - wide) * SPMV__TCSR_WARP, 0);
}

static const spmv__dev_format spmv__tcsr_device = {
    0, SPMV__NO_ARRAY, SPMV_TCSR_COL, SPMV_TCSR_BASE, 1, 0,
    spmv__dev_mean_nonzeros, spmv__tcsr_grains, spmv__tcsr_grain_row, spmv__tcsr_cut,
    spmv__tcsr_defaults, spmv__tcsr_matters, NULL, spmv__tcsr_allowed, spmv__tcsr_options, NULL, NULL, spmv__tcsr_local, spmv__tcsr_deal,
    spmv__tcsr_arguments, spmv__tcsr_grain_free
};

/* ---- formats of the user's own (SPMV_FORMATS_EXTRA) ---------------------------------------------------------------- */
#ifdef SPMV_FORMATS_EXTRA
/* A part cannot be cut: its first grain is all of it. */
static uint64_t spmv__extra_grains(const spmv_part *p)
{
    (void)p;
    return 1;
}
static uint64_t spmv__extra_grain_row(const spmv_part *p, uint64_t g) { return g * p->rows; }

static void spmv__extra_cut(const spmv_part *p, const spmv__dev_span *span, spmv_part *stretch, spmv__dev_cut *cut)
{
    int i;
    (void)span;
    (void)stretch;
    for (i = 0; i < SPMV_MAX_ARRAYS; i++) spmv__dev_cut_one(&cut[i], 0, p->a[i].count, 0);
}

#define SPMV__EXTRA_DEVICE(NAME, name, text)                                                                                  \
    static const spmv__dev_format spmv__##name##_device = {                                                                   \
        1, SPMV__OFFSETS_##NAME, SPMV__NO_ARRAY, SPMV__NO_ARRAY, 1, 0,                                                        \
        spmv__dev_mean_nonzeros, spmv__extra_grains, spmv__extra_grain_row, spmv__extra_cut,                                  \
        NULL, NULL, NULL, NULL, NULL, NULL, spmv__one_row, NULL, NULL, NULL, NULL                                             \
    };
SPMV_EXTRA_LIST(SPMV__EXTRA_DEVICE)
#endif

/* ---- the table of the records above ------------------------------------------------------------------------------ */

static const spmv__dev_format *const spmv__dev_formats[SPMV_FORMAT_COUNT] = {
#define X(NAME, name, text) &spmv__##name##_device,
    SPMV_FORMAT_LIST(X)
#undef X
};

static const spmv__dev_format *spmv__dev_format_of(spmv_format format) { return spmv__dev_formats[format]; }

#endif
