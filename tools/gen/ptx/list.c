/* SPDX-License-Identifier: MIT
 * list - writes the list of the programs that ship as PTX, kernels/ptx.list: those that "auto" needs on NVIDIA's GPUs by the tables of
 * tuning/, with conversion on the device.
 * "auto" chooses for matrices of many structures and sizes, which are made here. So that they can be small, the device is small, too: one
 * compute unit of that of a table, with its share of the cache and of the memory's rate. What few of the matrices need is left out. */
#define SPMV_NO_OPENCL
#define SPMV_NO_PTX
#define SPMV_IMPLEMENTATION
#include "spmv.h"

#include <stdio.h>
#include <stdlib.h>

enum { PROGRAMS = 4000, LINE = 1024, ENTRIES = 1 << 18, COLUMNS = 1 << 18 };

/* Values that need a key val come with matrices larger than the cache alone, whose preparing takes long beside compiling: they count
 * less. A program ships if those that need it count LEAST. */
enum { WEIGHT = 3, WEIGHT_CODED = 1, LEAST = 25 };

/* How long rows are: equal; different at random; in steps; a few long ones; a few long ones and many empty ones; a single long one. */
typedef enum lengths { EQUAL, VARYING, STEPS, UNEVEN, GRAPH, LONG, LENGTHS } lengths;
/* Where their blocks are: the first columns; beside the diagonal; on diagonals; near the diagonal; most of them there; anywhere. */
typedef enum places { DENSE, BAND, DIAGONALS, NEAR_BY, MIXED, ANYWHERE, PLACES } places;
typedef enum values { DIFFERENT, FLOATS, FEW, ONE, VALUES } values;

typedef struct pattern {
    int     height, width, mean, entries; /* blocks; mean: of them in a row */
    lengths length;
    places  place;
} pattern;

static struct {
    char text[LINE];
    int  weight;
} list[PROGRAMS];
static int count, weight;
static int ptr[ENTRIES + 1], col[ENTRIES];
static double val[ENTRIES];

static void stop(const char *what)
{
    fprintf(stderr, "list: %s\n", what);
    exit(1);
}

static int by_text(const void *a, const void *b) { return strcmp((const char *)a, (const char *)b); }

static void add(int kernel, const char *options)
{
    char line[LINE];
    int i;
    snprintf(line, sizeof line, "%s %s", spmv__dev_kernels[kernel].file, options);
    for (i = 0; i < count && strcmp(list[i].text, line) != 0;) i++;
    if (i == PROGRAMS) stop("too many programs");
    if (i == count) memcpy(list[count++].text, line, sizeof line);
    list[i].weight += weight;
}

/* ---- matrices ------------------------------------------------------------------------------------------------------ */

static int below(int n)
{
    static unsigned state = 1;
    state = state * 1664525u + 1013904223u;
    return (int)((state >> 8) % (unsigned)n);
}

/* Does a matrix look like that? */
static int makes_sense(const pattern *p)
{
    if (p->mean < 1 || p->mean * p->height * p->width > p->entries) return 0;
    if (p->length != EQUAL && p->place < NEAR_BY) return 0;
    if (p->width == 1) return 1;
    return p->mean <= 500 && p->length <= VARYING && (p->place == BAND || p->place == NEAR_BY || p->place == ANYWHERE);
}

static int length_of(const pattern *p, int row)
{
    switch (p->length) {
    case EQUAL: return p->mean;
    case VARYING: return p->mean / 2 + below(p->mean + 1);
    case STEPS: return p->mean / 2 + p->mean * (row / 256 % 4) / 3;
    case UNEVEN: return row % 64 == 40 ? 200 + 20 * p->mean : p->mean - p->mean / 3;
    case GRAPH: return row % 8 == 5 ? 0 : 1 + p->mean * 20 / (1 + below(97));
    default: return row ? p->mean - p->mean / 8 : p->entries / 8;
    }
}

/* Block column k of length, in a row of so many. */
static int column_of(const pattern *p, int row, int k, int length, int columns)
{
    const int gap = length < columns ? columns / length : 1;
    places place = p->place == MIXED ? row / 64 % 8 ? NEAR_BY : ANYWHERE : p->place;
    if (length > 2000) place = ANYWHERE;
    switch (place) {
    case DENSE: return k;
    case BAND: return row + k;
    case DIAGONALS: return row + 37 * k;
    case NEAR_BY: return row + 3 * k + below(3);
    default: return k * gap + below(gap);
    }
}

static spmv_input make(const pattern *p)
{
    const int rows = p->entries / (p->mean * p->height * p->width), most = COLUMNS / p->width;
    int columns = p->place == DENSE ? p->mean : rows + 40 * p->mean, row, n = 0, k, i, r;
    if (p->length == UNEVEN) columns += 600 + 60 * p->mean;
    if (columns > most || p->place >= MIXED || p->length == LONG) columns = most;
    for (row = 0; row < rows; row++) {
        const int length = length_of(p, row), begin = n, room = (ENTRIES - begin) / p->height - p->width;
        for (k = 0, i = -1; k < length && n - begin <= room; k++) {
            const int column = column_of(p, row, k, length, columns);
            if (column <= i || column >= columns) continue;
            for (i = column, r = 0; r < p->width; r++) col[n++] = column * p->width + r;
        }
        for (r = 0, k = n - begin; r < p->height; r++) {
            memmove(col + begin + r * k, col + begin, (size_t)k * sizeof *col);
            ptr[row * p->height + r] = begin + r * k;
        }
        n = ptr[(row + 1) * p->height] = begin + p->height * k;
    }
    return spmv_csr_f64(rows * p->height, columns * p->width, ptr, col, val);
}

static void make_values(values kind)
{
    int k;
    weight = kind == DIFFERENT ? WEIGHT : WEIGHT_CODED;
    for (k = 0; k < ENTRIES; k++) val[k] = kind == ONE ? 2 : kind == FEW ? 1 + k % 7 : kind == FLOATS ? 1 + k : 1 + k / 3.0;
}

/* ---- programs ------------------------------------------------------------------------------------------------------ */

static void add_by_type(int kernel, spmv_type type, const char *more)
{
    spmv__dev_options options;
    options.used = 0;
    spmv__dev_option_types(&options, type, 0);
    spmv_print(options.text + options.used, sizeof options.text - options.used, "%s", more);
    add(kernel, options.text);
}

/* What values, as numbers in a dictionary, need on the device: spmv__coder_create. */
static void add_coder(const spmv_device *device, const spmv_part *p)
{
    spmv__dev_options options;
    options.used = 0;
    spmv__dev_option(&options, "WORD", p->a[SPMV_VAL].width == 8 ? "ulong" : "uint");
    spmv__dev_option_number(&options, "WG", (uint64_t)spmv__dev_vector_group(device));
    if (p->spec.format == SPMV_TCSR) spmv__dev_option(&options, "BY_LANE", "1");
    add((int)SPMV__KERNEL_VALUES, options.text);
}

/* What fills the arrays of a part on the device. */
static void add_conversion(spmv_device *device, const spmv_csr *a, spmv_part *p, const spmv_view *view, const spmv_build *how)
{
    const spmv_part filled = *p;
    const int blocks = spmv__dev_has_blocks(p->spec.format);
    spmv__convert convert;
    spmv__convert_job job;
    spmv__source source;
    spmv__dev_options options;
    int which;
    memset(&convert, 0, sizeof convert);
    memset(&source, 0, sizeof source);
    convert.device = device;
    convert.a = a;
    convert.nnz = a->nnz;
    convert.width = spmv_value_size(a->type);
    source.view = view;
    if (!blocks && !spmv__convert_takes(&convert, p, &source)) return;
    spmv__convert_job_set(&job, &convert, p, &source);
    job.words = (uint64_t)blocks;
    if (p->spec.format == SPMV_TCSR && !view->owner && !view->list) {
        p->a[SPMV_VAL].count = 0; /* what is built before the tiles are counted */
        spmv__convert_options(&job, &options);
        add((int)SPMV__KERNEL_CONVERT, options.text);
        *p = filled;
        for (which = 0; which < SPMV__TILE_PROGRAMS; which++) {
            spmv__convert_tile_options(&job, which, &options);
            add((int)SPMV__KERNEL_CONVERT, options.text);
            job.tiler[which] = &job;
        }
    }
    if (spmv__convert_is_csr(&convert, p, &source, how)) return;
    spmv__convert_options(&job, &options);
    add((int)SPMV__KERNEL_CONVERT, options.text);
}

static void add_plan(spmv_device *device, const spmv_csr *a, const spmv_choice *choice, const spmv_build *how)
{
    spmv_variant variant[SPMV_CHOICE_PARTS];
    spmv__dev_options options;
    spmv_store store;
    spmv_split split;
    int k;
    if (spmv_split_create(&split, &choice->plan, a, NULL) || spmv_store_create(&store, &choice->plan, a, how, NULL) ||
        spmv_variants_parse(variant, &store, choice->variant, NULL)) stop("a plan of auto is refused");
    for (k = 0; k < store.count; k++) {
        spmv_part *p = &store.part[k];
        const spmv_view view = spmv_split_view(&split, a, p->index);
        if (spmv_variant_resolve(&variant[k], device, p) || spmv__dev_describe_part(&options, device, p, &variant[k]))
            stop("a variant of auto is refused");
        add((int)p->spec.format, options.text);
        add_conversion(device, a, p, &view, how);
        if (p->codes) add_coder(device, p);
    }
    spmv_store_destroy(&store);
    spmv_split_destroy(&split);
}

static void add_matrix(spmv_device *device, const spmv_tuning *tuning, const spmv_input *in, spmv_type type)
{
    spmv_build_hints hints;
    spmv_target target;
    spmv_build how;
    spmv_choice choice;
    spmv_csr a;
    memset(&how, 0, sizeof how);
    memset(&hints, 0, sizeof hints);
    memset(&target, 0, sizeof target);
    how.type = type;
    hints.tuning = tuning;
    target.device = tuning->device;
    target.device_class = SPMV_DEVICE_CLASS_GPU;
    if (spmv_csr_create(&a, in, type, NULL) || spmv_choose(&choice, "auto", &a, &how, &target, &hints, NULL, NULL)) stop("no choice");
    add_plan(device, &a, &choice, &how);
    spmv_csr_destroy(&a);
}

/* ---- the device ---------------------------------------------------------------------------------------------------- */

/* One compute unit of the device of a table, and the table of that. */
static void shrink(spmv_device *device, spmv_tuning *tuning)
{
    const double units = (double)tuning->units;
    size_t i;
    int k;
    memset(device, 0, sizeof *device);
    device->info.backend = spmv_cuda();
    device->info.type = SPMV_DEVICE_GPU;
    device->info.nvidia = SPMV__NVIDIA_VOLTA;
    device->info.compute_units = 1;
    device->info.address_bits = 64;
    device->info.local_bytes = 48 << 10;
    device->info.group_size = 1024;
    device->info.alloc_bytes = (uint64_t)1 << 40;
    device->info.cache_bytes = (uint64_t)(tuning->cache * 1048576 / units);
    tuning->units = 1;
    tuning->read /= units;
    tuning->cache /= units;
    tuning->cache_read /= units;
    tuning->part *= units;
    for (i = 0; i < tuning->count; i++) {
        tuning->line[i].slot *= units;
        for (k = 0; k < SPMV_COST_COUNT; k++)
            if (spmv_cost_unit((spmv_cost)k) < 1) tuning->line[i].cost[k] *= units;
    }
}

#define LENGTH(a) (sizeof(a) / sizeof *(a))

static void survey(spmv_device *device, const spmv_tuning *tuning)
{
    static const int blocks[][2] = { { 1, 1 }, { 3, 3 }, { 2, 2 }, { 1, 4 }, { 1, 8 }, { 2, 4 } };
    static const int means[] = { 2, 4, 9, 25, 70, 200, 500, 3000 }, sizes[] = { 500, 4000, 14000, 40000, 100000 };
    const size_t patterns = LENGTH(blocks) * LENGTH(means) * LENGTH(sizes) * (size_t)LENGTHS * (size_t)PLACES;
    size_t i, k;
    int v, type;
    for (v = 0; v < VALUES; v++)
        for (make_values((values)v), i = 0; i < patterns; i++) {
            const int *block = blocks[i % LENGTH(blocks)];
            pattern p;
            spmv_input in;
            k = i / LENGTH(blocks);
            p.height = block[0];
            p.width = block[1];
            p.mean = means[k % LENGTH(means)] / p.width;
            p.entries = sizes[k / LENGTH(means) % LENGTH(sizes)];
            k /= LENGTH(means) * LENGTH(sizes);
            p.length = (lengths)(k % LENGTHS);
            p.place = (places)(k / LENGTHS);
            if (!makes_sense(&p) || (v != DIFFERENT && p.entries < sizes[LENGTH(sizes) - 1])) continue;
            in = make(&p);
            for (type = 0; type < SPMV_TYPE_COUNT; type++) add_matrix(device, tuning, &in, (spmv_type)type);
        }
}

int main(void)
{
    spmv_device device;
    spmv_tuning tuning;
    size_t i;
    int type, k;
    for (i = 0; spmv__tuning[i].text; i++) {
        if (spmv_tuning_create(&tuning, spmv__tuning[i].text, spmv__tuning[i].length, NULL, NULL)) stop("a table cannot be read");
        if (!strncmp(tuning.device, "NVIDIA", 6)) {
            shrink(&device, &tuning);
            survey(&device, &tuning);
        }
        spmv_tuning_destroy(&tuning);
    }
    weight = LEAST;
    add((int)SPMV__KERNEL_CONVERT, "-w -DCHECK=3 -DOFF=uint -DPER=8 -DWG=128"); /* transposes of matrices in buffers */
    add((int)SPMV__KERNEL_CONVERT, "-w -DCHECK=3 -DOFF=ulong -DPER=8 -DWG=128");
    for (type = 0; type < SPMV_TYPE_COUNT; type++) {
        add_by_type((int)SPMV__KERNEL_SCALE, (spmv_type)type, " -DWG=128");
        add_by_type((int)SPMV__KERNEL_TAIL, (spmv_type)type, " -DNVIDIA=70 -DWG=256 -DFINISH=1 -DREPEAT=1");
    }
    qsort(list, (size_t)count, sizeof *list, by_text);
    puts("# The programs that ship as PTX (make ptx): a kernel's file and its options on a device of compute capability 7.0. Made by\n"
         "# tools/gen/ptx/list.c from the tables of NVIDIA's GPUs. Others are compiled by NVRTC where they are needed.");
    for (k = 0; k < count; k++)
        if (list[k].weight >= LEAST) puts(list[k].text);
    return 0;
}
