/* SPDX-License-Identifier: MIT
 *
 * spmv/device/convert.h - conversion on a device: fills the arrays of parts there, from CSR.
 */
#ifndef SPMV__DEVICE_CONVERT_H
#define SPMV__DEVICE_CONVERT_H

#include "exec.h"

/* ---- what is known of each format --------------------------------------------------------------------------------- */

enum { SPMV__CONVERT_PER = 8 /* nonzeros for each work-item of kernels/convert.cl */ };
enum { SPMV__CONVERT_WORD = 32 /* nonzeros of a word of bits that say which of them are the first of their blocks */ };
enum { SPMV__TILE_PROGRAMS = 2 /* that find tiles, beside the one that fills them: FIND of kernels/convert.cl */ };

/* The arrays of the CSR matrix, in the order in which they are uploaded: csr needs no row pointers. */
enum { SPMV__CONVERT_VAL, SPMV__CONVERT_COL, SPMV__CONVERT_PTR, SPMV__CONVERT_SENT /* how many they are */ };

/* Where the compiler has OpenMP and the system POSIX threads, a thread of its own uploads the matrix while the others analyse it. Nested
 * regions of OpenMP would not do: they start all their threads anew each time. With SPMV_PARALLEL, all threads are the caller's. */
#if defined(_OPENMP) && !defined(SPMV_PARALLEL) && defined(SPMV__POSIX)
#define SPMV__CONVERT_AHEAD
#endif

struct spmv__convert_job;

/* How a format's slots are found. Numbers of arrays and integers may be SPMV__NO_ARRAY. */
typedef struct spmv__convert_format {
    spmv_format format;
    const char *place;    /* PLACE of kernels/convert.cl */
    int columns, numbers; /* the arrays of columns and rows that the kernel fills */
    int start;            /* the array where rows, slices or bands start; SPMV__NO_ARRAY: rows start where starts says, if anywhere */
    int offset;           /* the array that is the kernel's offset */
    int ld, count;        /* the integers that are the kernel's ld and count; SPMV__NO_ARRAY: the columns of the matrix, and 0 */
    /* Fills what the host fills, behind the format's lay; NULL: lay has filled it. */
    void (*outline)(struct spmv__convert_job *job);
} spmv__convert_format;

/* The converter's state, whose first member is what spmv_build.converter points to. */
typedef struct spmv__convert {
    spmv_converter     base;
    spmv_device       *device;
    const spmv_csr    *a;
    uint64_t           nnz;          /* of a */
    size_t             width;        /* of its values */
    void              *ptr, *col, *val; /* buffers, or NULL */
    uint64_t           count;        /* parts that were filled */
    spmv_csr          *given;        /* a, if columns and values are the caller's buffers; else NULL */
    int                given_ptr;    /* 1: the row pointers are, too */
    void              *narrow;       /* the caller's buffer of row pointers if they have 32 bits and a has none, else NULL */
    struct spmv__convert_job *kept;  /* those that can be updated */
    struct spmv__convert_job *counted; /* of the part whose blocks, tiles or columns were counted last, while it is not filled; or NULL */
    int                off;          /* 1: the device has failed, the host fills the rest */
    int                lazy;         /* 1: kernels are compiled only if that pays */
    uint64_t           sent[SPMV__CONVERT_SENT]; /* bytes of val, col and ptr that are in their buffers or on their way */
#ifdef SPMV__CONVERT_AHEAD
    pthread_t          thread;       /* uploads the matrix while the host finds the plan */
    spmv_device        quiet;        /* the device, without messages, for that thread */
    long               stop;         /* 1: that thread is to end */
    int                running;      /* 1: that thread was started, and nobody has waited for it */
#endif
} spmv__convert;

/* What one part needs on the device while it is filled: buffers, or NULL. Of a job that is kept for updates, only what the kernel needs
 * stays. */
typedef struct spmv__convert_job {
    struct spmv__convert_job *next;
    spmv__convert *convert;
    spmv_part     *p;
    spmv__source  *source;
    const spmv__convert_format *format;
    spmv_elsewhere *elsewhere;
    uint64_t      *tile_at;                      /* on the host: the nonzero with which each tile begins, and the number of all */
    uint32_t      *inverse;                      /* the row of the part for each row of the matrix, if the part has a row list */
    void          *place, *owner, *before, *first, *start, *kernel;
    void          *run_at;                       /* tile_at */
    void          *tiler[SPMV__TILE_PROGRAMS];   /* the kernels that find tiles and fill what follows; NULL: the host does. Then: */
    void          *found, *passed, *segment, *spans;
    uint64_t       stride, segments, most;       /* nonzeros of a segment, how many there are, the most tiles that there can be */
    spmv__tile_counts counts;
    void          *begun, *blocks, *low, *high; /* of blocks; first and before have other contents for them: see kernels/convert.cl */
    uint64_t       groups, wg, words;           /* words: of first, for blocks; 0: the part has none */
    int            no_high;                     /* 1: before tiles are counted, no warp of tcsr is taken to need high bytes */
    uint64_t       across;                      /* groups that have the same rows, if the kernel goes through the slots; else 0 */
} spmv__convert_job;

/* Row pointers of csr and bases of ell and sell, as where the host fills the part. Without bases the row pointers may not be here. */
static void spmv__rows_outline(spmv__convert_job *job)
{
    const int bases = spmv__dev_format_of(job->p->spec.format)->bases;
    if (job->p->spec.format == SPMV_CSR || job->p->a[bases].count) spmv__part_outline(job->p, job->source);
}

#ifndef SPMV__NO_TCSR
/* The first nonzeros of tiles. */
static void spmv__tcsr_outline(spmv__convert_job *job)
{
    const uint64_t *ptr = job->source->ptr, rows = job->p->rows, tile = job->p->n[SPMV_TCSR_TILE];
    uint64_t at = 0, t = 0, i;
    job->tile_at[0] = 0;
    for (i = 0; rows && (i = spmv__tile_full(ptr, rows, tile, i, &at)) < rows; i++) {
        const uint64_t begin = spmv__tile_slot(tile, at, ptr[i + 1] - ptr[i]);
        at = begin + ptr[i + 1] - ptr[i];
        while ((t + 1) * tile <= at) {
            t++;
            job->tile_at[t] = ptr[i] + (t * tile > begin ? t * tile - begin : 0);
        }
    }
    job->tile_at[job->p->n[SPMV_TCSR_TILES]] = job->p->nnz;
}
#else
#define spmv__tcsr_outline NULL
#endif

#ifdef SPMV__ANY_BLOCK
/* The bases, from the lowest block columns. */
static void spmv__block_outline(spmv__convert_job *job)
{
    const spmv_part *p = job->p;
    const uint32_t *lowest = job->source->spans;
    const spmv_array *base = &p->a[spmv__block_base(p)];
    const uint64_t height = spmv__block_group_height(p), block_rows = spmv__block_rows(p);
    uint64_t t, i;
    for (t = 0; t < base->count; t++) {
        uint32_t low = SPMV__NO_BLOCK;
        for (i = t * height; i < (t + 1) * height && i < block_rows; i++)
            if (lowest[i] < low) low = lowest[i];
        ((uint32_t *)base->data)[t] = low == SPMV__NO_BLOCK ? 0 : low * (uint32_t)p->n[SPMV_BLOCK_BW];
    }
}
#else
#define spmv__block_outline NULL
#endif

/* NULL: the host fills the format. */
static const spmv__convert_format *spmv__convert_format_of(spmv_format format)
{
    enum { NO = SPMV__NO_ARRAY };
    static const spmv__convert_format all[] = {
        { SPMV_DENSE, "BY_MATRIX", NO, NO, NO, NO, NO, NO, NULL },
        { SPMV_COO, "BY_ROW", SPMV_COO_COL, SPMV_COO_ROW, NO, NO, NO, NO, NULL },
        { SPMV_CSR, "BY_ROW", SPMV_CSR_COL, NO, SPMV_CSR_PTR, NO, NO, SPMV_CSR_RUNS, spmv__rows_outline },
        { SPMV_DIA, "BY_DIAGONAL", NO, NO, NO, SPMV_DIA_OFFSET, SPMV_DIA_LD, SPMV_DIA_DIAGONALS, NULL },
        { SPMV_BDIA, "BY_BAND", NO, NO, SPMV_BDIA_BAND_PTR, SPMV_BDIA_OFFSET, SPMV_BDIA_LD, SPMV_BDIA_BANDS, NULL },
        { SPMV_ELL, "BY_COLUMN", SPMV_ELL_COL, NO, NO, NO, SPMV_ELL_LD, SPMV_ELL_WIDTH, spmv__rows_outline },
        { SPMV_SELL, "BY_SLICE", SPMV_SELL_COL, NO, SPMV_SELL_PTR, NO, SPMV_SELL_H, SPMV_SELL_SLICES, spmv__rows_outline },
        { SPMV_BELL, "BY_BLOCK", SPMV_BELL_COL, NO, NO, NO, SPMV_BELL_LD, NO, spmv__block_outline },
        { SPMV_SBELL, "BY_BLOCK", SPMV_SBELL_COL, NO, SPMV_SBELL_PTR, NO, SPMV_SBELL_H, NO, spmv__block_outline }, /* H: and of slices */
        { SPMV_BCSR, "BY_BLOCK", SPMV_BCSR_COL, NO, SPMV_BCSR_PTR, NO, SPMV_BCSR_BLOCKS, NO, spmv__block_outline },
        { SPMV_CMRS, "BY_ROW", SPMV_CMRS_INDEX, SPMV_CMRS_ROW, NO, NO, SPMV_CMRS_HEIGHT, NO, NULL },
        { SPMV_TCSR, "BY_ROW", SPMV_TCSR_COL, SPMV_TCSR_HIGH, NO, SPMV_TCSR_HIGH_AT, SPMV_TCSR_TILE, NO, spmv__tcsr_outline }
    };
    size_t k;
    for (k = 0; k < SPMV__COUNT_OF(all); k++)
        if (all[k].format == format) return &all[k];
    return NULL;
}

/* ---- the CSR matrix on the device --------------------------------------------------------------------------------- */

/* Uploads an array, unless its buffer is there. Give that back by spmv__scratch_give. */
static spmv_status spmv__convert_upload(spmv_device *device, const void *from, uint64_t count, size_t width, void **out)
{
    spmv_status s;
    if (*out || !count) return SPMV_OK;
    s = spmv__scratch_take(device, count * width, out);
    return s ? s : spmv__dev_copy(device, *out, count * width, from);
}

/* ---- kernels that scan row pointers and columns ------------------------------------------------------------------- */

/* Programs of such kernels: CHECK of kernels/convert.cl. */
enum { SPMV__CHECK_MATRIX = 1, SPMV__CHECK_PART, SPMV__CHECK_TRANSPOSE };

/* Launches a kernel of one of these programs, for elements of which each work-item takes some. One that scans or transposes the matrix
 * reads row pointers of ptr_bits bits, one that scans a part those of 64. */
static spmv_status spmv__convert_scan(spmv_device *device, int check, int ptr_bits, const char *name, const spmv__dev_value *given,
                                      size_t count, uint64_t elements, uint64_t each)
{
    void *program = NULL;
    spmv__dev_options options;
    spmv_status s;
    options.used = 0;
    spmv__dev_option_number(&options, "CHECK", (uint64_t)check);
    spmv__dev_option(&options, "OFF", ptr_bits == 64 ? "ulong" : "uint");
    spmv__dev_option_number(&options, "PER", SPMV__CONVERT_PER);
    spmv__dev_option_number(&options, "WG", (uint64_t)spmv__dev_vector_group(device));
    s = spmv__dev_program_of(device, (int)SPMV__KERNEL_CONVERT, options.text, &program);
    return s ? s : spmv__dev_once(device, program, name, given, count, elements, each);
}

/* The same for a kernel whose last argument becomes a buffer of zeros, of so many bytes, from which out is read then. */
static spmv_status spmv__convert_ask(spmv_device *device, int check, int ptr_bits, const char *name, spmv__dev_value *given, size_t count,
                                     uint64_t elements, uint64_t each, uint64_t bytes, void *out)
{
    const spmv_backend *back = device->info.backend;
    void *buffer = NULL;
    spmv_status s = spmv__scratch_take(device, bytes, &buffer);
    given[count - 1] = spmv__mem(buffer);
    if (!s) s = back->fill(device, device->queue, buffer, bytes, 0);
    if (!s) s = spmv__convert_scan(device, check, ptr_bits, name, given, count, elements, each);
    if (!s) s = spmv__dev_download(device, buffer, bytes, out);
    if (s) back->finish(device, device->queue); /* before the next matrix gets the buffer */
    spmv__scratch_give(device, buffer);
    return s;
}

/* What spmv__convert_check finds. */
typedef struct spmv__convert_found {
    int pointers, columns; /* 1: the row pointers rise from 0 to nnz; the columns of each row rise and lie in the matrix */
} spmv__convert_found;

/* Has the device check row pointers and columns.
 *   a         its rows, cols and nnz, none of which is 0
 *   ptr, col  buffers of the device with rows + 1 row pointers of ptr_bits bits, and nnz columns */
SPMV__SHARED spmv_status spmv__convert_check(spmv_device *device, const spmv_csr *a, void *ptr, int ptr_bits, void *col,
                                             spmv__convert_found *found)
{
    uint32_t sum[4] = { 1, 1, 1, 0 };
    spmv__dev_value given[6] = {
        spmv__number(a->rows), spmv__number(a->cols), spmv__number(a->nnz), spmv__mem(ptr), spmv__mem(col), spmv__mem(NULL)
    };
    const uint64_t elements = a->nnz > a->rows ? a->nnz : a->rows;
    const spmv_status s = spmv__convert_ask(device, SPMV__CHECK_MATRIX, ptr_bits, "check", given, SPMV__COUNT_OF(given), elements,
                                            SPMV__CONVERT_PER, sizeof sum, sum);
    found->pointers = !s && !sum[2];
    found->columns = found->pointers && !sum[0] && !sum[1];
    return s;
}

/* Makes a buffer with the caller's row pointers in 64 bits. */
static spmv_status spmv__convert_widen(spmv__convert *convert)
{
    const uint64_t rows = convert->a->rows;
    spmv__dev_value given[3] = { spmv__number(rows), spmv__mem(convert->narrow), spmv__mem(NULL) };
    spmv_status s = spmv__scratch_take(convert->device, (rows + 1) * 8, &convert->ptr);
    given[2] = spmv__mem(convert->ptr);
    return s ? s : spmv__convert_scan(convert->device, SPMV__CHECK_MATRIX, 32, "widen", given, SPMV__COUNT_OF(given), rows + 1, 1);
}

/* Checks the longest rows, from which the sizes of arrays follow: a device may compute wrongly. */
static spmv_status spmv__convert_check_longest(const spmv__convert *convert, const spmv__source *source, uint64_t slices)
{
    uint64_t t, all = 0;
    for (t = 0; t < slices; t++) all += source->longest[t];
    if (all <= convert->nnz && spmv__sat_mul(all, source->longest_of) >= convert->nnz) return SPMV_OK;
    return spmv_log(source->hooks, SPMV_ERR_BACKEND, "the device found longest rows of %llu nonzeros in all, of %llu", (spmv__ull)all,
                    (spmv__ull)convert->nnz);
}

/* Finds the nonzeros of the longest row of each slice of so many rows, of a matrix whose row pointers are on the device. */
static spmv_status spmv__convert_longest(const spmv__convert *convert, uint64_t height, spmv__source *source)
{
    const uint64_t slices = spmv__ceil_div(convert->a->rows, height);
    spmv__dev_value given[5] = {
        spmv__number(convert->a->rows), spmv__number(height), spmv__number(slices),
        spmv__mem(convert->narrow ? convert->narrow : convert->ptr), spmv__mem(NULL)
    };
    void *block;
    spmv_status status = spmv__room(source->hooks, &block, slices, sizeof *source->longest);
    source->longest = (uint32_t *)block;
    source->longest_of = (uint32_t)height;
    if (!status)
        status = spmv__convert_ask(convert->device, SPMV__CHECK_MATRIX, convert->narrow ? 32 : 64, "longest", given, SPMV__COUNT_OF(given),
                                   slices, 1, slices * sizeof *source->longest, source->longest);
    return status ? status : spmv__convert_check_longest(convert, source, slices);
}

/* The slots of sell for each nonzero, of a matrix whose row pointers of ptr_bits bits are in a buffer; 0: they could not be counted. */
#ifndef SPMV__NO_SELL
SPMV__SHARED double spmv__convert_padding(spmv_device *device, const spmv_csr *a, void *ptr, int ptr_bits, const spmv_hooks *hooks)
{
    spmv__convert convert;
    spmv__source from;
    spmv_spec sell;
    uint64_t height, t, slots = 0;
    spmv_status s;
    memset(&convert, 0, sizeof convert);
    memset(&from, 0, sizeof from);
    memset(&sell, 0, sizeof sell);
    sell.format = SPMV_SELL;
    height = spmv__sell_height(&sell, a->rows);
    convert.device = device;
    convert.a = a;
    convert.nnz = a->nnz;
    if (ptr_bits == 64) convert.ptr = ptr;
    else convert.narrow = ptr;
    from.hooks = hooks;
    s = spmv__convert_longest(&convert, height, &from);
    for (t = 0; !s && t < spmv__ceil_div(a->rows, height); t++) slots += from.longest[t];
    spmv_free(hooks, from.longest);
    return s ? 0 : (double)slots * (double)height / (double)a->nnz;
}
#endif

/* ---- the CSR matrix there and here -------------------------------------------------------------------------------- */

/* 1: the CSR matrix fits buffers of the device. */
static int spmv__convert_fits(const spmv__convert *convert)
{
    const uint64_t most = convert->device->info.alloc_bytes;
    return spmv__sat_mul(convert->nnz, 8) <= most && (convert->a->rows + 1) * 8 <= most;
}

/* Uploads what is not there yet of an array of the CSR matrix; with stop, as spmv__dev_copy_rest does. */
static spmv_status spmv__convert_array(spmv__convert *convert, spmv_device *device, int array, const long *stop)
{
    const spmv_csr *a = convert->a;
    void **buffer = array == SPMV__CONVERT_PTR ? &convert->ptr : array == SPMV__CONVERT_COL ? &convert->col : &convert->val;
    const void *from = array == SPMV__CONVERT_PTR ? (const void *)a->ptr : array == SPMV__CONVERT_COL ? (const void *)a->col : a->val;
    const uint64_t bytes = array == SPMV__CONVERT_PTR ? (a->rows + 1) * 8 : a->nnz * (array == SPMV__CONVERT_COL ? 4 : convert->width);
    spmv_status s = SPMV_OK;
    if (!bytes || (convert->given && (array != SPMV__CONVERT_PTR || convert->given_ptr))) return SPMV_OK;
    if (array == SPMV__CONVERT_PTR && convert->narrow) return convert->ptr ? SPMV_OK : spmv__convert_widen(convert);
    if (!*buffer) s = spmv__scratch_take_close(device, bytes, buffer);
    return s ? s : spmv__dev_copy_rest(device, *buffer, &convert->sent[array], bytes, from, stop);
}

#ifdef SPMV__CONVERT_AHEAD
/* The thread that uploads the matrix. It neither allocates by hooks nor logs. What fails is tried again by the one that waits for it, which
 * reports the failure. */
static void *spmv__convert_upload_ahead(void *job)
{
    spmv__convert *convert = (spmv__convert *)job;
    int k;
    for (k = 0; k < SPMV__CONVERT_SENT && !spmv__is_set(&convert->stop); k++)
        if (spmv__convert_array(convert, &convert->quiet, k, &convert->stop)) break;
    /* CU_STREAM_PER_THREAD is another stream in the next thread */
    convert->quiet.info.backend->finish(&convert->quiet, convert->quiet.queue);
    return NULL;
}

/* Ends that thread. Everything that uses the device comes behind this. */
static void spmv__convert_wait(spmv__convert *convert)
{
    if (!convert->running) return;
    spmv__set_flag(&convert->stop);
    pthread_join(convert->thread, NULL);
    convert->running = 0;
}

/* 1 if the device is likely to fill the first part: kernels for it are there, or they need not pay by themselves. */
static int spmv__convert_is_likely(const spmv__convert *convert)
{
    const spmv_device *device = convert->device;
    const spmv__program *program = spmv__dev_programs(device);
    while (program && (int)program->format != (int)SPMV__KERNEL_CONVERT) program = program->next;
    return !convert->lazy || program || spmv__dev_images(device) || spmv__is_set(&device->common->keeps);
}

/* Begins to upload the matrix in a thread of its own, if it is so large that this pays, and is likely to be needed. Until the first part
 * needs it or the converter is closed, the thread that called does not use the device. Without threads nothing happens. */
SPMV__SHARED void spmv__converter_begin(spmv_converter *base)
{
    spmv__convert *convert = (spmv__convert *)base;
    spmv_device *device = convert->device;
    if (convert->given || !convert->nnz || spmv__csr_bytes(convert->a) < SPMV__STAGE_CHUNK || !spmv__convert_fits(convert)) return;
    if (spmv__share_threads(2, 2) < 2 || !spmv__convert_is_likely(convert)) return;
    spmv__lock(&device->common->copying);
    spmv__stage_ready(device, spmv__csr_bytes(convert->a));
    spmv__unlock(&device->common->copying);
    convert->quiet = spmv__dev_quiet(device);
    convert->running = !pthread_create(&convert->thread, NULL, spmv__convert_upload_ahead, convert);
}
#else
static void spmv__convert_wait(spmv__convert *convert) { (void)convert; }
SPMV__SHARED void spmv__converter_begin(spmv_converter *converter) { (void)converter; }
#endif

/* Uploads what is not there yet of the CSR matrix. */
static spmv_status spmv__convert_matrix(spmv__convert *convert)
{
    int k;
    spmv_status s = SPMV_OK;
    spmv__convert_wait(convert);
    for (k = 0; k < SPMV__CONVERT_SENT && !s; k++) s = spmv__convert_array(convert, convert->device, k, NULL);
    return s;
}

static void spmv__convert_drop(spmv__convert *convert)
{
    spmv__convert_wait(convert);
    if (!convert->given_ptr) spmv__scratch_give(convert->device, convert->ptr);
    if (!convert->given) spmv__scratch_give(convert->device, convert->col);
    if (!convert->given) spmv__scratch_give(convert->device, convert->val);
    convert->ptr = convert->col = convert->val = NULL;
    memset(convert->sent, 0, sizeof convert->sent);
}

/* ---- one part ----------------------------------------------------------------------------------------------------- */

/* 1: the device fills array k. */
static int spmv__convert_fills(const spmv__convert_job *job, int k)
{
    return job->tiler[0] || k == SPMV_VAL || k == job->format->columns || k == job->format->numbers;
}

/* 1 if the part has the columns and values of the whole CSR matrix as they are, so that it can have their buffers. */
static int spmv__convert_is_csr(const spmv__convert *convert, const spmv_part *p, const spmv__source *source, const spmv_build *how)
{
    return p->spec.format == SPMV_CSR && !convert->given && !how->updatable && !source->view->owner && !source->view->list &&
           !p->a[SPMV_CSR_BASE].count && !spmv__stores_floats(p);
}

/* 1 if the device can fill the part. */
static int spmv__convert_takes(const spmv__convert *convert, const spmv_part *p, const spmv__source *source)
{
    const uint64_t most = convert->device->info.alloc_bytes;
    int k, fits = spmv__convert_fits(convert);
    if (convert->off || source->view->a != convert->a || !p->nnz || !spmv__convert_format_of(p->spec.format)) return 0;
    if (spmv__dev_has_blocks(p->spec.format) && !convert->counted) return 0;
    if (p->spec.key[SPMV_KEY_SORT] || p->spec.key[SPMV_KEY_ROWMAJOR]) return 0;
    for (k = 0; k < SPMV_MAX_ARRAYS; k++) fits &= spmv__sat_mul(p->a[k].count, p->a[k].width) <= most;
    return fits;
}

/* 1: kernels with these options are there, or need not pay. */
static int spmv__convert_is_free(const spmv__convert *convert, const char *options)
{
    spmv_device *device = convert->device;
    return !convert->lazy || spmv__is_set(&device->common->keeps) || spmv__dev_built(device, (int)SPMV__KERNEL_CONVERT, options) ||
           spmv__dev_image_of(device, (int)SPMV__KERNEL_CONVERT, options);
}

/* Is it worth compiling kernels with these options, if they are not there, to have the device fill a part? The host takes so many seconds
 * instead. It is when the host has taken as long as compiling for this part and those before it. In this way all takes at most about twice
 * as long as if it were known how many more parts there will be. What ships as PTX takes the driver a tenth of that, an assumption. */
static int spmv__convert_pays(const spmv__convert *convert, const char *options, double host, double compile)
{
    spmv__common *all = convert->device->common;
    int pays;
    if (spmv__convert_is_free(convert, options)) return 1;
    if (convert->device->info.nvidia && spmv__dev_ships(convert->device, (int)SPMV__KERNEL_CONVERT, options)) compile /= 10;
    spmv__lock(&all->lock);
    all->rented += host;
    pays = all->rented >= compile;
    if (pays) all->rented = 0;
    spmv__unlock(&all->lock);
    return pays;
}

/* 1: rows start where s->ptr says, and no array of the part has that. */
static int spmv__convert_starts_by_row(const spmv__convert_job *job)
{
    return job->format->start == SPMV__NO_ARRAY && !strcmp(job->format->place, "BY_ROW");
}

/* 1: the array of starts has 64 bits an element. */
static int spmv__convert_wide_starts(const spmv__convert_job *job)
{
    if (spmv__convert_starts_by_row(job)) return 1;
    return job->format->start != SPMV__NO_ARRAY ? job->p->a[job->format->start].width == 8 : job->p->a[SPMV_VAL].count > 0xffffffffu;
}

/* 1: the kernel goes through the slots: slices or columns that have the whole matrix, in the order of its rows. */
static int spmv__convert_slotwise(const spmv__convert_job *job)
{
    if (job->source->view->owner || job->source->view->list) return 0;
    return job->p->spec.format == SPMV_ELL || (job->p->spec.format == SPMV_SELL && !job->p->a[SPMV_SELL_SLICE_ROW].count);
}

/* Allocates and fills the arrays that the host fills, and what else follows from the rows alone. */
static spmv_status spmv__convert_host(spmv__convert_job *job)
{
    const spmv_hooks *hooks = job->source->hooks, *own = &job->convert->device->hooks;
    const spmv_view *view = job->source->view;
    spmv_part *p = job->p;
    void *at = NULL, *inverse = NULL;
    uint64_t i;
    int k;
    spmv_status s = SPMV_OK;
    if (job->tiler[0]) return s;
    for (k = 0; k < SPMV_MAX_ARRAYS && !s; k++)
        if (!spmv__convert_fills(job, k)) s = spmv__room(hooks, &p->a[k].data, p->a[k].count, p->a[k].width);
    if (!s && p->spec.format == SPMV_TCSR) s = spmv__room(own, &at, p->n[SPMV_TCSR_TILES] + 1, 8);
    if (!s && view->list) s = spmv__new(own, &inverse, view->a->rows, 4, 0xff);
    job->tile_at = (uint64_t *)at;
    job->inverse = (uint32_t *)inverse;
    if (s) return s;
    for (i = 0; view->list && i < view->rows; i++) job->inverse[view->list[i]] = (uint32_t)i;
    if (spmv__table[p->spec.format].lay) spmv__table[p->spec.format].lay(p, job->source);
    if (job->format->outline) job->format->outline(job);
    return s;
}

/* How many of nonzeros k .. end - 1 belong to the view. */
static uint64_t spmv__convert_owned(const spmv_view *view, uint64_t k, uint64_t end)
{
    uint64_t n = 0;
    for (; k < end; k++) n += view->owner[k] == view->part;
    return n;
}

/* Sets first, rows + 1 elements, to the view's nonzeros before each row of the matrix. They were counted by row of the part; only rows that
 * are not in the row list are scanned. */
static void spmv__convert_first(const spmv__convert_job *job, uint64_t *first)
{
    const spmv_view *view = job->source->view;
    const spmv_csr *a = view->a;
    uint64_t r, n = 0;
    for (r = 0; r < a->rows; r++) {
        const uint64_t i = job->inverse[r];
        first[r] = n;
        n += i != SPMV_PAD ? job->source->ptr[i + 1] - job->source->ptr[i] : spmv__convert_owned(view, a->ptr[r], a->ptr[r + 1]);
    }
    first[a->rows] = n;
}

/* What the shares of spmv__convert_before have in common. */
typedef struct spmv__convert_ahead {
    const spmv__convert_job *job;
    const uint64_t          *first;
    uint64_t                *before, shares;
} spmv__convert_ahead;

/* Fills in the groups of a share: the view's nonzeros before the row in which the group begins, and those in front of it in this row. */
static void spmv__convert_before_share(void *job, uint64_t share)
{
    const spmv__convert_ahead *ahead = (const spmv__convert_ahead *)job;
    const spmv__convert_job *convert = ahead->job;
    const spmv_view *view = convert->source->view;
    const spmv_csr *a = view->a;
    const uint64_t step = convert->wg * SPMV__CONVERT_PER, end = convert->groups * (share + 1) / ahead->shares;
    uint64_t g = convert->groups * share / ahead->shares, r = g < end ? spmv__row_of(a, 0, g * step) : 0, k = a->ptr[r];
    uint64_t n = ahead->first[r];
    for (; g < end; g++) {
        const uint64_t begin = g * step;
        while (a->ptr[r + 1] <= begin) r++;
        if (a->ptr[r] > k) {
            k = a->ptr[r];
            n = ahead->first[r];
        }
        n += spmv__convert_owned(view, k, begin);
        k = begin;
        ahead->before[g] = n;
    }
}

/* Sets before to the view's nonzeros before each group of the launch. */
static void spmv__convert_before(const spmv__convert_job *job, const uint64_t *first, uint64_t *before)
{
    spmv__convert_ahead ahead;
    ahead.job = job;
    ahead.first = first;
    ahead.before = before;
    ahead.shares = spmv__smaller(spmv__share_count(job->source->view->a->nnz), job->groups);
    spmv__share_out(spmv__convert_before_share, &ahead, ahead.shares);
}

/* Counts the view's nonzeros before each row of the matrix and before each group of the launch, and uploads both. */
static spmv_status spmv__convert_count(spmv__convert_job *job)
{
    const spmv_view *view = job->source->view;
    spmv_device *device = job->convert->device;
    const uint64_t rows = view->a->rows, *first = job->source->ptr; /* without a row list, rows of the part are those of the matrix */
    void *before = NULL, *block = NULL;
    spmv_status s = spmv__room(&device->hooks, &before, job->groups, 8);
    if (!s && view->list) s = spmv__room(&device->hooks, &block, rows + 1, 8);
    if (!s && view->list) {
        spmv__convert_first(job, (uint64_t *)block);
        first = (const uint64_t *)block;
    }
    if (!s) spmv__convert_before(job, first, (uint64_t *)before);
    if (!s) s = spmv__convert_upload(device, before, job->groups, 8, &job->before);
    if (!s) s = spmv__convert_upload(device, first, rows + 1, 8, &job->first);
    spmv_free(&device->hooks, before);
    spmv_free(&device->hooks, block);
    return s;
}

/* Where the back end can, one buffer for all arrays of a part: a driver takes as long for each as for all of them together. */
static spmv_status spmv__convert_make_all(spmv__convert_job *job)
{
    const uint64_t aligned = 256; /* bytes, as allocations are */
    spmv_device *device = job->convert->device;
    const spmv_part *p = job->p;
    uint64_t bytes = 0;
    int k;
    spmv_status s;
    for (k = 0; k < SPMV_MAX_ARRAYS; k++) bytes += spmv__round_up(p->a[k].count * p->a[k].width, aligned);
    if (p->codes) return SPMV_OK; /* the values make room for codes */
    if (!device->info.backend->within || bytes > device->info.alloc_bytes) return SPMV_OK;
    s = spmv__dev_own(device, bytes, 0, &job->elsewhere->all);
    for (bytes = 0, k = 0; k < SPMV_MAX_ARRAYS && !s; k++) {
        if (p->a[k].count) job->elsewhere->a[k] = device->info.backend->within(job->elsewhere->all, bytes);
        bytes += spmv__round_up(p->a[k].count * p->a[k].width, aligned);
    }
    return s;
}

/* Copies an array that the host has filled. */
static spmv_status spmv__convert_send_array(spmv__convert_job *job, int k)
{
    const spmv_array *array = &job->p->a[k];
    if (!job->elsewhere->a[k]) return spmv__dev_upload(job->convert->device, array, &job->elsewhere->a[k]);
    return spmv__dev_copy(job->convert->device, job->elsewhere->a[k], array->count * array->width, array->data);
}

/* A buffer for an array that the kernel fills. Unless the kernel fills all of it, with padding and fill in it: PAD in columns, zeros
 * elsewhere. Fills are of 4 bytes. */
static spmv_status spmv__convert_buffer(spmv__convert_job *job, int k)
{
    spmv_device *device = job->convert->device;
    const spmv_array *array = &job->p->a[k];
    const uint64_t bytes = spmv__round_up(array->count * array->width, 4);
    const int filled = job->p->nnz == job->p->a[SPMV_VAL].count || job->p->spec.format == SPMV_TCSR || spmv__convert_slotwise(job);
    spmv_status s = SPMV_OK;
    if (!array->count) return s;
    if (!job->elsewhere->a[k]) s = spmv__dev_own(device, bytes, 0, &job->elsewhere->a[k]);
    if (!s && !filled)
        s = device->info.backend->fill(device, device->queue, job->elsewhere->a[k], bytes, k == job->format->columns ? SPMV_PAD : 0);
    return s;
}

/* Uploads what the host has computed, and makes the buffers that the kernel fills. */
static spmv_status spmv__convert_send(spmv__convert_job *job)
{
    spmv_device *device = job->convert->device;
    const spmv_part *p = job->p;
    const spmv_view *view = job->source->view;
    int k;
    spmv_status s = spmv__convert_matrix(job->convert);
    if (!s) s = spmv__convert_make_all(job);
    for (k = 0; k < SPMV_MAX_ARRAYS && !s; k++)
        s = spmv__convert_fills(job, k) ? spmv__convert_buffer(job, k) : spmv__convert_send_array(job, k);
    if (!s && view->owner) s = spmv__convert_upload(device, view->owner, view->a->nnz, 1, &job->owner);
    if (!s && view->owner && !job->words) s = spmv__convert_count(job);
    if (!s && view->list) s = spmv__convert_upload(device, job->inverse, view->a->rows, 4, &job->place);
    if (!s && job->tile_at) s = spmv__convert_upload(device, job->tile_at, p->n[SPMV_TCSR_TILES] + 1, 8, &job->run_at);
    if (!s && spmv__convert_starts_by_row(job) && job->source->ptr != view->a->ptr)
        s = spmv__convert_upload(device, job->source->ptr, p->rows, 8, &job->start);
    return s;
}

/* Writes the options of the kernels for a part. Before tiles or blocks are counted, some are guesses, which are most often right, so that
 * there is only one program. */
static void spmv__convert_options(const spmv__convert_job *job, spmv__dev_options *options)
{
    const spmv_part *p = job->p;
    const spmv_format format = p->spec.format;
    const int guess = !p->a[SPMV_VAL].count; /* they are not counted yet */
    const int narrow = guess ? p->spec.key[SPMV_KEY_IDX] == 16 : job->format->columns != SPMV__NO_ARRAY &&
                       p->a[job->format->columns].width == 2;
    const int numbers = guess ? narrow && p->cols > 1u << 16 && !job->no_high : job->format->numbers != SPMV__NO_ARRAY &&
                        p->a[job->format->numbers].count;
    const int grown = format == SPMV_SELL && p->a[SPMV_SELL_SLICE_ROW].count;
    options->used = 0;
    spmv__dev_option(options, "PLACE", grown ? "BY_GROWN" : job->format->place);
    if (spmv__convert_slotwise(job)) spmv__dev_option(options, "SLOTWISE", "1");
    spmv__dev_option(options, "WORD", job->convert->width == 8 ? "ulong" : "uint");
    if (spmv__stores_floats(p)) spmv__dev_option(options, "FLOATS", "1");
    spmv__dev_option(options, "OFF", spmv__convert_wide_starts(job) ? "ulong" : "uint");
    if (spmv__dev_wide(p)) spmv__dev_option(options, "I64", "1");
    if (job->format->columns == SPMV__NO_ARRAY) spmv__dev_option(options, "COLUMNS", "0");
    else if (narrow) spmv__dev_option(options, "IDX16", "1");
    if (job->source->view->owner) spmv__dev_option(options, "OWNED", "1");
    if (job->source->view->list) spmv__dev_option(options, "LIST", "1");
    if (format == SPMV_CMRS) spmv__dev_option(options, "NUMBER", numbers ? "3" : "2");
    else if (format == SPMV_TCSR && numbers) spmv__dev_option(options, "NUMBER", "4");
    else if (format == SPMV_COO) spmv__dev_option(options, "NUMBER", "1");
    if (format == SPMV_TCSR) spmv__dev_option(options, "TILES", guess || job->tiler[0] ? "2" : "1");
    spmv__dev_option_number(options, "PER", SPMV__CONVERT_PER);
    spmv__dev_option_number(options, "WG", job->wg);
}

/* An array of the part on the device; NULL: it has none, perhaps not yet. */
static void *spmv__convert_there(const spmv__convert_job *job, int k)
{
    return job->elsewhere && k != SPMV__NO_ARRAY ? job->elsewhere->a[k] : NULL;
}

/* The kernel's ld: see there. */
static uint64_t spmv__convert_ld(const spmv__convert_job *job)
{
    return job->format->ld != SPMV__NO_ARRAY ? job->p->n[job->format->ld] : job->p->cols;
}

#ifdef SPMV__ANY_BLOCK
/* How many groups find the blocks. */
static uint64_t spmv__convert_find_groups(const spmv__convert_job *job)
{
    return spmv__ceil_div(job->words * SPMV__CONVERT_WORD, job->wg * SPMV__CONVERT_PER);
}

/* Sets all arguments of a kernel for blocks, in the order of its parameters. */
static spmv_status spmv__convert_block_arguments(const spmv__convert_job *job, void *kernel)
{
    const spmv__convert *from = job->convert;
    const spmv_part *p = job->p;
    const uint64_t ld = spmv__convert_ld(job);
    const spmv__dev_value given[25] = {
        spmv__number(from->a->rows), spmv__number(from->a->nnz), spmv__mem(from->ptr), spmv__mem(from->col), spmv__mem(from->val),
        spmv__mem(job->owner), spmv__number(job->source->view->part), spmv__mem(job->first), spmv__mem(job->before), spmv__mem(job->begun),
        spmv__number(job->words), spmv__number(spmv__convert_find_groups(job)),
        spmv__mem(job->blocks), spmv__mem(job->low), spmv__mem(job->high),
        spmv__number(p->n[SPMV_BLOCK_BH]), spmv__number(p->n[SPMV_BLOCK_BW]), spmv__number(p->n[SPMV_BLOCK_UW]),
        spmv__mem(spmv__convert_there(job, job->format->start)), spmv__number(p->spec.format == SPMV_BCSR ? 0 : ld), spmv__number(ld),
        spmv__number(spmv__block_group_height(p)), spmv__mem(spmv__convert_there(job, spmv__dev_format_of(p->spec.format)->bases)),
        spmv__mem(spmv__convert_there(job, SPMV_VAL)), spmv__mem(spmv__convert_there(job, job->format->columns))
    };
    return spmv__dev_set(from->device, kernel, 0, given, SPMV__COUNT_OF(given));
}

#else
#define spmv__convert_block_arguments(j, kernel) SPMV_OK /* without blocks, words is always 0 */
#endif

/* Sets all arguments of the kernel, in the order of its parameters. */
static spmv_status spmv__convert_arguments(const spmv__convert_job *job, void *kernel)
{
    const spmv__convert *from = job->convert;
    const spmv_part *p = job->p;
    const spmv_format format = p->spec.format;
    const int csr = format == SPMV_CSR, sell = format == SPMV_SELL, tcsr = format == SPMV_TCSR;
    void *const start = job->format->start != SPMV__NO_ARRAY ? spmv__convert_there(job, job->format->start) : job->start;
    if (job->words) return spmv__convert_block_arguments(job, kernel);
    const spmv__dev_value given[22] = {
        spmv__number(from->a->rows), spmv__number(from->a->nnz), spmv__mem(from->ptr), spmv__mem(from->col), spmv__mem(from->val),
        spmv__mem(job->tiler[0] ? job->found : job->place), spmv__mem(job->owner),
        spmv__number(job->across ? job->across : job->source->view->part), spmv__mem(job->before), spmv__mem(job->first),
        spmv__mem(start ? start : from->ptr), spmv__number(spmv__convert_ld(job)),
        spmv__mem(csr ? spmv__convert_there(job, SPMV_CSR_RUN_AT) : job->run_at),
        spmv__mem(sell ? spmv__convert_there(job, SPMV_SELL_SLICE_ROW) : NULL), spmv__mem(spmv__convert_there(job, job->format->offset)),
        spmv__number(job->format->count != SPMV__NO_ARRAY ? p->n[job->format->count] : 0),
        spmv__mem(spmv__convert_there(job, spmv__dev_format_of(format)->bases)), spmv__number(tcsr ? p->n[SPMV_TCSR_TILES] : 0),
        spmv__mem(spmv__convert_there(job, SPMV_VAL)), spmv__mem(spmv__convert_there(job, job->format->columns)),
        spmv__mem(spmv__convert_there(job, job->format->numbers)), spmv__mem(tcsr ? spmv__convert_there(job, SPMV_TCSR_FLAG) : NULL)
    };
    return spmv__dev_set(from->device, kernel, 0, given, SPMV__COUNT_OF(given));
}

/* Launches a kernel, whose arguments are set. Products wait for it: spmv__converter_finish finishes the queue. */
static spmv_status spmv__convert_launch(const spmv__convert_job *job, void *kernel, uint64_t groups)
{
    return spmv__dev_start(job->convert->device, kernel, groups, job->wg);
}

/* ---- tiles of a matrix in buffers ----------------------------------------------------------------------------------- */

#ifndef SPMV__NO_TCSR
/* Steps of the kernel tiles, groups of numbers that it finds, and the lanes by which it reads the columns of a warp. */
enum {
    SPMV__TILE_MARK, SPMV__TILE_PASS_SEGMENTS, SPMV__TILE_PASS_ALL, SPMV__TILE_PASS_TILES, SPMV__TILE_SPANS, SPMV__TILE_LISTS,
    SPMV__TILE_PIECES, SPMV__TILE_BASES
};
enum {
    SPMV__FOUND_TILES, SPMV__FOUND_ROWS, SPMV__FOUND_CUTS, SPMV__FOUND_WIDE, SPMV__FOUND_BEYOND,
    SPMV__FOUND = 8 /* words in front of the bits */
};
enum { SPMV__TILE_SUMS = 3 /* numbers of each segment */ };

/* Sets the arguments of the kernel, in the order of its parameters, and launches it in so many groups. */
static spmv_status spmv__convert_tile_step(const spmv__convert_job *job, uint64_t step, uint64_t groups)
{
    const spmv__convert *from = job->convert;
    const spmv_part *p = job->p;
    const uint64_t tile = spmv__tile_slots(&p->spec), high = p->a[SPMV_TCSR_HIGH].count;
    void *const kernel = job->tiler[step >= SPMV__TILE_LISTS];
    const spmv__dev_value given[23] = {
        spmv__number(step), spmv__number(from->a->rows), spmv__number(from->nnz), spmv__mem(from->ptr), spmv__mem(from->col),
        spmv__number(tile), spmv__number(job->stride), spmv__number(job->segments), spmv__number(job->most * (tile / SPMV__TCSR_WARP)),
        spmv__mem(job->found), spmv__mem(job->passed), spmv__mem(job->segment), spmv__mem(job->begun), spmv__mem(job->run_at),
        spmv__mem(job->spans), spmv__number(!high ? 0 : high < p->a[SPMV_TCSR_COL].count ? 1 : 2),
        spmv__mem(spmv__convert_there(job, SPMV_TCSR_ROW)), spmv__mem(spmv__convert_there(job, SPMV_TCSR_EMPTY)),
        spmv__mem(spmv__convert_there(job, SPMV_TCSR_PIECE)), spmv__mem(spmv__convert_there(job, SPMV_TCSR_CUT)),
        spmv__mem(spmv__convert_there(job, SPMV_TCSR_END)), spmv__mem(spmv__convert_there(job, SPMV_TCSR_BASE)),
        spmv__mem(spmv__convert_there(job, SPMV_TCSR_HIGH_AT))
    };
    const spmv_status s = spmv__dev_set(from->device, kernel, 0, given, SPMV__COUNT_OF(given));
    return s ? s : spmv__dev_start(from->device, kernel, groups, job->wg);
}

/* Nonzeros or rows of a group. */
static uint64_t spmv__convert_tile_each(const spmv__convert_job *job) { return job->wg * SPMV__CONVERT_PER; }

/* Groups that scan the columns of all warps, a warp in 32 lanes. */
static uint64_t spmv__convert_tile_spans(const spmv__convert_job *job, uint64_t warps)
{
    return spmv__ceil_div(warps * SPMV_TCSR_LANES, job->wg);
}

/* Cuts the matrix into segments. An item passes the tiles of a segment, twice, and one passes all segments, so that there are to be about
 * twice as many segments as tiles in each. */
static void spmv__convert_tile_segments(spmv__convert_job *job)
{
    const uint64_t tile = spmv__tile_slots(&job->p->spec);
    uint64_t each = 1;
    job->most = spmv__ceil_div(job->convert->nnz, tile - tile / SPMV__TILE_REST);
    while (2 * each * each < job->most) each *= 2;
    job->stride = each * tile;
    job->segments = spmv__ceil_div(job->convert->nnz, job->stride);
}

/* Uploads what is not in buffers, and makes the buffers in which tiles are found. */
static spmv_status spmv__convert_tile_send(spmv__convert_job *job)
{
    spmv_device *device = job->convert->device;
    const uint64_t tile = spmv__tile_slots(&job->p->spec), warps = job->most * (tile / SPMV__TCSR_WARP);
    const uint64_t bits = (SPMV__FOUND + job->convert->nnz / 32 + 1) * 4;
    const uint64_t rows = spmv__ceil_div(job->convert->a->rows, spmv__convert_tile_each(job));
    spmv_status s = spmv__convert_matrix(job->convert);
    if (!s) s = spmv__scratch_take(device, bits, &job->found);
    if (!s) s = spmv__scratch_take(device, job->segments * tile * 4, &job->passed);
    if (!s) s = spmv__scratch_take(device, job->segments * SPMV__TILE_SUMS * 8, &job->segment);
    if (!s) s = spmv__scratch_take(device, rows * 4, &job->begun);
    if (!s) s = spmv__scratch_take(device, (job->most + 1) * 8, &job->run_at);
    if (!s && job->p->spec.key[SPMV_KEY_IDX])
        s = spmv__scratch_take(device, (2 * warps + spmv__convert_tile_spans(job, warps)) * 4, &job->spans);
    return s ? s : device->info.backend->fill(device, device->queue, job->found, bits, 0);
}

/* Writes the options of one of the programs that find tiles, which are the same for every part. */
static void spmv__convert_tile_options(const spmv__convert_job *job, int which, spmv__dev_options *options)
{
    options->used = 0;
    spmv__dev_option_number(options, "FIND", (uint64_t)which + 1);
    spmv__dev_option_number(options, "PER", SPMV__CONVERT_PER);
    spmv__dev_option_number(options, "WG", job->wg);
}

/* Builds the programs, where possible at once with that which fills the tiles, and makes the kernels. */
static spmv_status spmv__convert_tile_kernels(spmv__convert_job *job)
{
    spmv_device *device = job->convert->device;
    spmv__batch *batch = spmv__batch_new(device);
    spmv__dev_options options;
    spmv_status s = SPMV_OK;
    int which;
    spmv__convert_options(job, &options);
    spmv__batch_add(device, batch, (int)SPMV__KERNEL_CONVERT, options.text);
    for (which = 0; which < SPMV__TILE_PROGRAMS; which++) {
        spmv__convert_tile_options(job, which, &options);
        spmv__batch_add(device, batch, (int)SPMV__KERNEL_CONVERT, options.text);
    }
    spmv__batch_build(device, batch);
    for (which = 0; which < SPMV__TILE_PROGRAMS && !s; which++) {
        void *program = NULL;
        spmv__convert_tile_options(job, which, &options);
        s = spmv__dev_program_of(device, (int)SPMV__KERNEL_CONVERT, options.text, &program);
        if (!s) s = device->info.backend->kernel(device, program, "tiles", &job->tiler[which]);
    }
    return s;
}

/* Has the kernel of the first program find the tiles, and reads what was found. */
static spmv_status spmv__convert_tile_find(spmv__convert_job *job, uint32_t *found)
{
    spmv_device *device = job->convert->device;
    const uint64_t tile = spmv__tile_slots(&job->p->spec), rows = spmv__ceil_div(job->convert->a->rows, spmv__convert_tile_each(job));
    spmv_status s = spmv__convert_tile_kernels(job);
    spmv__phase(job->source->hooks, SPMV_PHASE_CONVERT);
    if (!s) s = spmv__convert_tile_step(job, SPMV__TILE_MARK, rows);
    if (!s) s = spmv__convert_tile_step(job, SPMV__TILE_PASS_SEGMENTS, spmv__ceil_div(job->segments * tile, job->wg));
    if (!s) s = spmv__convert_tile_step(job, SPMV__TILE_PASS_ALL, 1);
    if (!s) s = spmv__convert_tile_step(job, SPMV__TILE_PASS_TILES, job->segments);
    if (!s && job->spans)
        s = spmv__convert_tile_step(job, SPMV__TILE_SPANS, spmv__convert_tile_spans(job, job->most * (tile / SPMV__TCSR_WARP)));
    return s ? s : device->info.backend->read(device, device->queue, job->found, SPMV__FOUND * sizeof *found, found, NULL);
}

/* Checks what was found, from which the sizes of arrays follow: a device may compute wrongly. */
static spmv_status spmv__convert_tile_check(const spmv__convert_job *job, const uint32_t *found, spmv__tile_counts *out)
{
    const uint64_t tile = spmv__tile_slots(&job->p->spec), tiles = found[SPMV__FOUND_TILES], warps = tiles * (tile / SPMV__TCSR_WARP);
    const uint64_t rows = found[SPMV__FOUND_ROWS], nnz = job->convert->nnz, all = job->convert->a->rows;
    out->tiles = tiles;
    out->cuts = found[SPMV__FOUND_CUTS];
    out->empties = all - rows;
    out->wide = found[SPMV__FOUND_WIDE];
    out->fits = !found[SPMV__FOUND_BEYOND];
    if (tiles <= job->most && tiles * tile >= nnz && rows && rows <= spmv__smaller(all, nnz) && out->cuts < tiles && out->wide <= warps)
        return SPMV_OK;
    return spmv_log(job->source->hooks, SPMV_ERR_BACKEND,
                    "tcsr: the device found %llu tiles, %llu cut rows and %llu rows for %llu nonzeros",
                    (spmv__ull)tiles, (spmv__ull)found[SPMV__FOUND_CUTS], (spmv__ull)rows, (spmv__ull)nnz);
}

/* Fills the arrays that follow from the tiles. */
static spmv_status spmv__convert_tile_arrays(const spmv__convert_job *job)
{
    const spmv_part *p = job->p;
    const uint64_t ends = spmv__ceil_div(p->a[SPMV_TCSR_END].count, job->wg);
    spmv_status s = SPMV_OK;
    if (p->n[SPMV_TCSR_EMPTIES])
        s = spmv__convert_tile_step(job, SPMV__TILE_LISTS, spmv__ceil_div(job->convert->a->rows, spmv__convert_tile_each(job)));
    if (!s) s = spmv__convert_tile_step(job, SPMV__TILE_PIECES, job->segments + ends);
    return s || !p->a[SPMV_TCSR_BASE].count ? s : spmv__convert_tile_step(job, SPMV__TILE_BASES, ends);
}
#else
#define spmv__convert_tile_arrays(j) SPMV_OK /* without tcsr, no tiles are found */
#endif

/* ---- the kernels of a part ------------------------------------------------------------------------------------------ */

/* Builds the program and launches its kernel. */
static spmv_status spmv__convert_run(spmv__convert_job *job)
{
    spmv_device *device = job->convert->device;
    spmv__dev_options options;
    void *program = NULL;
    spmv_status s;
    spmv__convert_options(job, &options);
    s = spmv__dev_program_of(device, (int)SPMV__KERNEL_CONVERT, options.text, &program);
    spmv__phase(job->source->hooks, SPMV_PHASE_CONVERT);
    if (!s && job->tiler[0]) s = spmv__convert_tile_arrays(job);
    if (!s) s = device->info.backend->kernel(device, program, "fill", &job->kernel);
    if (!s) s = spmv__convert_arguments(job, job->kernel);
    return s ? s : spmv__convert_launch(job, job->kernel, job->groups);
}

/* Frees what is on the host, and what only finding tiles needs. */
static void spmv__convert_job_trim(spmv__convert_job *job)
{
    const spmv_device *device = job->convert->device;
    void **const of_tiles[] = { &job->passed, &job->segment, &job->spans, &job->begun };
    size_t k;
    for (k = 0; job->tiler[0] && k < sizeof of_tiles / sizeof *of_tiles; k++) {
        spmv__scratch_give(device, *of_tiles[k]);
        *of_tiles[k] = NULL;
    }
    spmv_free(&device->hooks, job->tile_at);
    spmv_free(&device->hooks, job->inverse);
    for (k = 0; k < SPMV__TILE_PROGRAMS; k++) {
        spmv__dev_kernel_free(device, job->tiler[k]);
        job->tiler[k] = NULL;
    }
    job->tile_at = NULL;
    job->inverse = NULL;
    job->p = NULL;
    job->source = NULL;
}

static void spmv__convert_job_destroy(spmv__convert_job *job)
{
    const spmv_device *device = job->convert->device;
    void **const all[] = { &job->place, &job->owner, &job->before, &job->first, &job->start, &job->run_at, &job->found, &job->passed,
                           &job->segment, &job->spans, &job->begun, &job->blocks, &job->low, &job->high };
    size_t k;
    spmv__convert_job_trim(job);
    spmv__dev_kernel_free(device, job->kernel);
    for (k = 0; k < sizeof all / sizeof *all; k++) spmv__scratch_give(device, *all[k]);
    spmv_free(&device->hooks, job);
}

/* The arrays of a part that the device filled. */
typedef struct spmv__convert_arrays {
    spmv_elsewhere     base;
    spmv__convert_job *job; /* that is kept for updates, or NULL */
} spmv__convert_arrays;

/* Frees what was not taken over. The part is not updated any more. */
static void spmv__convert_arrays_drop(spmv_elsewhere *elsewhere)
{
    const spmv_device *device = (const spmv_device *)elsewhere->device;
    spmv__convert_job *job = ((spmv__convert_arrays *)elsewhere)->job, **at;
    int k;
    if (job) {
        for (at = &job->convert->kept; *at != job; at = &(*at)->next) {}
        *at = job->next;
        spmv__convert_job_destroy(job);
    }
    for (k = 0; k < SPMV_MAX_ARRAYS && !elsewhere->all; k++) spmv__dev_buffer_free(device, elsewhere->a[k]);
    spmv__dev_buffer_free(device, elsewhere->all);
    spmv_free(&device->hooks, elsewhere);
}

/* Gives the part of a job room for its arrays on the device. */
static spmv_status spmv__convert_elsewhere(spmv__convert_job *job)
{
    void *block;
    spmv_status s = spmv__new(&job->convert->device->hooks, &block, 1, sizeof(spmv__convert_arrays), 0);
    if (s) return s;
    job->elsewhere = job->p->elsewhere = (spmv_elsewhere *)block;
    job->elsewhere->device = job->convert->device;
    job->elsewhere->drop = spmv__convert_arrays_drop;
    return SPMV_OK;
}

/* The slots of the longest row of slices or columns. */
#ifdef SPMV__ANY_ELL
static uint64_t spmv__convert_widest(const spmv__convert_job *job)
{
    const spmv_part *p = job->p;
    const spmv_array *ptr = &p->a[SPMV_SELL_PTR];
    uint64_t most = 0, t;
    if (p->spec.format == SPMV_ELL) return p->n[SPMV_ELL_WIDTH];
    if (job->source->longest) return spmv__longest(job->source, 0, p->rows);
    for (t = 0; t < p->n[SPMV_SELL_SLICES]; t++)
        if (spmv__at(ptr, t + 1) - spmv__at(ptr, t) > most) most = spmv__at(ptr, t + 1) - spmv__at(ptr, t);
    return most / p->n[SPMV_SELL_H];
}
#else
#define spmv__convert_widest(j) 1 /* without ell and sell, no kernel goes through the slots */
#endif

/* The work-groups of the kernel that fills a part, which take nonzeros, slots of tiles, or as many slots as they have items of each of 32
 * rows of slices or columns. */
static spmv_status spmv__convert_groups(spmv__convert_job *job)
{
    const spmv_device *device = job->convert->device;
    const spmv_part *p = job->p;
    const uint64_t rows = p->spec.format == SPMV_ELL ? p->n[SPMV_ELL_LD] : p->n[SPMV_SELL_SLICES] * p->n[SPMV_SELL_H];
    if (job->tiler[0]) return spmv__dev_groups(device, p->a[SPMV_VAL].count, job->wg * SPMV_TCSR_SLOTS, job->wg, &job->groups);
    if (!spmv__convert_slotwise(job))
        return spmv__dev_groups(device, job->convert->a->nnz, job->wg * SPMV__CONVERT_PER, job->wg, &job->groups);
    job->across = spmv__ceil_div(spmv__convert_widest(job), job->wg);
    return spmv__dev_groups(device, spmv__sat_mul(spmv__ceil_div(rows, 32), job->across), 1, job->wg, &job->groups);
}

/* Makes the arrays of a part, all of whose sizes are set, and launches the kernel that fills them. */
static spmv_status spmv__convert_do(spmv__convert_job *job)
{
    const spmv_hooks *hooks = job->source->hooks;
    spmv_status s = spmv__convert_elsewhere(job);
    if (!s) s = spmv__convert_host(job);
    if (!s) s = spmv__convert_groups(job);
    if (!s) spmv__phase(hooks, SPMV_PHASE_UPLOAD);
    if (!s) s = spmv__convert_send(job);
    return s ? s : spmv__convert_run(job);
}

/* Sets all that a job has in the beginning. */
static void spmv__convert_job_set(spmv__convert_job *job, spmv__convert *convert, spmv_part *p, spmv__source *source)
{
    memset(job, 0, sizeof *job);
    job->convert = convert;
    job->p = p;
    job->source = source;
    job->format = spmv__convert_format_of(p->spec.format);
    job->wg = (uint64_t)spmv__dev_vector_group(convert->device);
}

/* Makes the job of a part. */
static spmv_status spmv__convert_job_create(spmv__convert *convert, spmv_part *p, spmv__source *source, spmv__convert_job **out)
{
    void *block;
    spmv_status status = spmv__room(&convert->device->hooks, &block, 1, sizeof **out);
    if (status) return status;
    *out = (spmv__convert_job *)block;
    spmv__convert_job_set(*out, convert, p, source);
    return SPMV_OK;
}

/* Should the device fill a part that it can fill? To compile the kernels beside that of the product would cost nothing where NVRTC really
 * compiles; but most often it finds them in its cache on the disk, one after another ([M10] of docs/measurements.md). */
static int spmv__convert_wants(spmv__convert *convert, spmv_part *p, spmv__source *source, const spmv_build *how)
{
    const double slot = 2e-9;    /* seconds for the host to fill and upload one [M10] */
    const double compile = 0.06; /* seconds for NVRTC [M10] */
    spmv__convert_job job;
    spmv__dev_options options;
    if (!convert->lazy || convert->counted || spmv__convert_is_csr(convert, p, source, how)) return 1;
    spmv__convert_job_set(&job, convert, p, source);
    spmv__convert_options(&job, &options);
    return spmv__convert_pays(convert, options.text, slot * (double)p->a[SPMV_VAL].count, compile);
}

/* Gives a part in csr the buffers of the CSR matrix. The host computes the rest. */
static spmv_status spmv__convert_hand_over(spmv__convert_job *job)
{
    spmv__convert *convert = job->convert;
    spmv_part *p = job->p;
    int k;
    spmv_status s = spmv__convert_elsewhere(job);
    if (!s) s = spmv__convert_host(job);
    if (s) return s;
    spmv__phase(job->source->hooks, SPMV_PHASE_UPLOAD);
    spmv__convert_wait(convert);
    s = spmv__convert_array(convert, convert->device, SPMV__CONVERT_COL, NULL);
    if (!s) s = spmv__convert_array(convert, convert->device, SPMV__CONVERT_VAL, NULL);
    for (k = 0; k < SPMV_MAX_ARRAYS && !s; k++)
        if (!spmv__convert_fills(job, k)) s = spmv__dev_upload(convert->device, &p->a[k], &job->elsewhere->a[k]);
    if (s) return s;
    job->elsewhere->a[SPMV_CSR_COL] = convert->col;
    job->elsewhere->a[SPMV_CSR_VAL] = convert->val;
    convert->col = convert->val = NULL;
    convert->sent[SPMV__CONVERT_COL] = convert->sent[SPMV__CONVERT_VAL] = 0;
    return SPMV_OK;
}

/* Fills a part, and keeps what updates need. */
static spmv_status spmv__convert_fill(spmv__convert *convert, spmv_part *p, spmv__source *source, const spmv_build *how)
{
    spmv__convert_job *job = convert->counted;
    const int updatable = how->updatable;
    spmv_status status = SPMV_OK;
    convert->counted = NULL;
    if (!job) status = spmv__convert_job_create(convert, p, source, &job);
    if (status) return status;
    status = spmv__convert_is_csr(convert, p, source, how) ? spmv__convert_hand_over(job) : spmv__convert_do(job);
    convert->count += status == SPMV_OK;
    if (status || !updatable) {
        spmv__convert_job_destroy(job);
        return status;
    }
    spmv__convert_job_trim(job);
    ((spmv__convert_arrays *)job->elsewhere)->job = job;
    job->next = convert->kept;
    convert->kept = job;
    return SPMV_OK;
}

/* Forgets the blocks or tiles that were counted for a part that was not filled. */
static void spmv__convert_forget(spmv__convert *convert)
{
    if (convert->counted) spmv__convert_job_destroy(convert->counted);
    convert->counted = NULL;
}

/* Leaves the rest to the host, and says so. */
static void spmv__convert_turn_off(spmv__convert *convert, spmv_format format, const spmv_hooks *hooks, spmv_status why)
{
    convert->off = 1;
    spmv__convert_wait(convert);
    /* what was given to the queue may write to buffers that are kept */
    convert->device->info.backend->finish(convert->device, convert->device->queue);
    spmv__convert_forget(convert);
    spmv_log(hooks, SPMV_OK, "%s could not be filled on the device (%s); the host converts instead", spmv_format_name(format),
             spmv_status_text(why));
}

/* Undoes what was done for a part, for the host to fill it, and gives back the device's memory. */
static void spmv__convert_give_up(spmv__convert *convert, spmv_part *p, const spmv_hooks *hooks, spmv_status why)
{
    int k;
    spmv__convert_turn_off(convert, p->spec.format, hooks, why);
    if (p->elsewhere) p->elsewhere->drop(p->elsewhere);
    p->elsewhere = NULL;
    for (k = 0; k < SPMV_MAX_ARRAYS; k++) {
        spmv_free(hooks, p->a[k].data);
        p->a[k].data = NULL;
    }
}

/* Reads an array of the matrix to the host if it is on the device only. */
static spmv_status spmv__convert_fetch_array(const spmv__convert *convert, int array)
{
    spmv_csr *a = convert->given;
    const int ptr = array == SPMV__CONVERT_PTR, col = array == SPMV__CONVERT_COL, narrow = ptr && convert->narrow;
    void *const from = narrow ? convert->narrow : ptr ? convert->ptr : col ? convert->col : convert->val;
    const uint64_t width = ptr ? (narrow ? 4 : 8) : col ? 4 : convert->width;
    void *raw, *block;
    uint64_t i;
    spmv_status s;
    if (!a || (ptr ? a->ptr != NULL : (col ? a->col != NULL : a->val != NULL) || !convert->nnz)) return SPMV_OK;
    s = spmv__dev_fetch(convert->device, &a->hooks, from, ptr ? a->rows + 1 : convert->nnz, width, &raw);
    if (s) return s;
    block = raw;
    if (narrow) s = spmv__room(&a->hooks, &block, a->rows + 1, 8);
    for (i = 0; narrow && !s && i <= a->rows; i++) ((uint64_t *)block)[i] = ((const uint32_t *)raw)[i];
    if (narrow) spmv_free(&a->hooks, raw);
    if (s) return s;
    if (ptr) a->ptr = (const uint64_t *)block;
    else if (col) a->col = (const uint32_t *)block;
    else a->val = block;
    a->owned |= ptr ? 1u : col ? 2u : 4u;
    return SPMV_OK;
}

static spmv_status spmv__convert_fetch_columns(const spmv__convert *convert)
{
    return spmv__convert_fetch_array(convert, SPMV__CONVERT_COL);
}

/* Reads row pointers for the part. */
static spmv_status spmv__convert_fetch_pointers(const spmv__convert *convert, spmv__source *source)
{
    const spmv_status s = spmv__convert_fetch_array(convert, SPMV__CONVERT_PTR);
    if (!source->ptr) source->ptr = convert->a->ptr;
    return s;
}

/* Reads all of the matrix that is on the device only to the host, which is to fill a part. */
static spmv_status spmv__convert_fetch(const spmv__convert *convert, spmv__source *source)
{
    spmv_status s = spmv__convert_fetch_pointers(convert, source);
    if (!s) s = spmv__convert_fetch_columns(convert);
    return s ? s : spmv__convert_fetch_array(convert, SPMV__CONVERT_VAL);
}

/* ---- counting blocks ---------------------------------------------------------------------------------------------- */

#ifdef SPMV__ANY_BLOCK
/* Makes the buffers of a count of blocks and uploads the matrix. With the key idx, the lowest and highest block columns are wanted. */
static spmv_status spmv__convert_block_send(spmv__convert_job *job)
{
    spmv_device *device = job->convert->device;
    const spmv_view *view = job->source->view;
    const uint64_t block_rows = spmv__block_rows(job->p) * 4;
    spmv_status s = spmv__convert_matrix(job->convert);
    if (!s && view->owner) s = spmv__convert_upload(device, view->owner, view->a->nnz, 1, &job->owner);
    if (!s) s = spmv__scratch_take(device, job->words * 4, &job->first);
    if (!s) s = spmv__scratch_take(device, job->words * 4, &job->before);
    if (!s) s = spmv__scratch_take(device, spmv__convert_find_groups(job) * 4, &job->begun);
    if (!s) s = spmv__scratch_take(device, block_rows, &job->blocks);
    if (!s) s = spmv__scratch_take(device, block_rows, &job->low);
    if (!s) s = spmv__scratch_take(device, block_rows, &job->high);
    return s;
}

/* Should the device count and fill the blocks of a part? */
static int spmv__convert_wants_blocks(spmv__convert *convert, spmv_part *p, spmv__source *source)
{
    const double nonzero = 4e-9; /* seconds for the host to count and fill it; measured there: 1.3 to 3.3 ns, in low blocks 20 */
    const double compile = 0.2;  /* seconds for NVRTC there: these are four kernels */
    spmv__convert_job job;
    spmv__dev_options options;
    spmv__convert_job_set(&job, convert, p, source);
    if (job.wg * SPMV__CONVERT_PER % SPMV__CONVERT_WORD) return 0; /* a device with very small groups */
    if (!convert->lazy) return 1;
    spmv__convert_options(&job, &options);
    return spmv__convert_pays(convert, options.text, nonzero * (double)p->nnz, compile);
}

/* Launches a kernel of the program, once. */
static spmv_status spmv__convert_once(const spmv__convert_job *job, void *program, const char *name, uint64_t groups)
{
    const spmv_device *device = job->convert->device;
    const spmv_backend *back = device->info.backend;
    void *kernel = NULL;
    spmv_status s = back->kernel(device, program, name, &kernel);
    if (s) return s;
    s = spmv__convert_arguments(job, kernel);
    if (!s) s = spmv__convert_launch(job, kernel, groups);
    spmv__dev_kernel_free(device, kernel);
    return s;
}

/* Builds the program and counts the blocks. */
static spmv_status spmv__convert_block_run(spmv__convert_job *job)
{
    const uint64_t block_rows = spmv__block_rows(job->p);
    spmv__dev_options options;
    void *program = NULL;
    spmv_status s;
    spmv__convert_options(job, &options);
    s = spmv__dev_program_of(job->convert->device, (int)SPMV__KERNEL_CONVERT, options.text, &program);
    spmv__phase(job->source->hooks, SPMV_PHASE_CONVERT);
    if (!s) s = spmv__convert_once(job, program, "find", spmv__convert_find_groups(job));
    if (!s) s = spmv__convert_once(job, program, "sum_up", 1);
    if (!s) s = spmv__convert_once(job, program, "count", spmv__ceil_div(block_rows, job->wg));
    return s;
}

/* Reads a number for each block row. */
static spmv_status spmv__convert_block_read(const spmv__convert_job *job, void *buffer, uint32_t *out)
{
    const spmv_device *device = job->convert->device;
    return device->info.backend->read(device, device->queue, buffer, spmv__block_rows(job->p) * sizeof *out, out, NULL);
}

/* Reads the lowest and the highest block column of each block row. */
static spmv_status spmv__convert_spans_read(const spmv__convert_job *job)
{
    const uint64_t block_rows = spmv__block_rows(job->p);
    void *spans;
    spmv_status s = spmv__room(job->source->hooks, &spans, 2 * block_rows, sizeof *job->source->spans);
    if (s) return s;
    job->source->spans = (uint32_t *)spans;
    s = spmv__convert_block_read(job, job->low, job->source->spans);
    return s ? s : spmv__convert_block_read(job, job->high, job->source->spans + block_rows);
}

/* Checks the numbers of blocks, from which the sizes of arrays follow: a device may compute wrongly. */
static spmv_status spmv__convert_block_check(const spmv__convert_job *job)
{
    const spmv_part *p = job->p;
    const uint64_t block_rows = spmv__block_rows(p), size = p->n[SPMV_BLOCK_BH] * p->n[SPMV_BLOCK_BW];
    uint64_t row, all = 0;
    for (row = 0; row < block_rows; row++) all += job->source->blocks[row];
    if (all <= p->nnz && spmv__sat_mul(all, size) >= p->nnz) return SPMV_OK;
    return spmv_log(job->source->hooks, SPMV_ERR_BACKEND, "%s: the device found %llu blocks for %llu nonzeros",
                    spmv_format_name(p->spec.format), (spmv__ull)all, (spmv__ull)p->nnz);
}

/* Frees the buffers that only the count needed. */
static void spmv__convert_block_trim(spmv__convert_job *job)
{
    spmv__scratch_give(job->convert->device, job->blocks);
    spmv__scratch_give(job->convert->device, job->low);
    spmv__scratch_give(job->convert->device, job->high);
    job->blocks = job->low = job->high = NULL;
}

/* Counts the blocks of a part on the device, if it can and should. A failure is no failure: then the host counts and fills this and all
 * later parts. */
static void spmv__convert_count_blocks(spmv__convert *convert, spmv_part *p, spmv__source *source)
{
    const int spans = p->spec.key[SPMV_KEY_IDX] == 16;
    spmv__convert_job *job = NULL;
    spmv_status status;
    spmv__convert_forget(convert);
    if (convert->off || source->view->a != convert->a || !p->nnz || !spmv__convert_fits(convert)) return;
    if (!spmv__convert_wants_blocks(convert, p, source)) return;
    status = spmv__convert_job_create(convert, p, source, &job);
    if (!status) {
        convert->counted = job;
        job->words = convert->a->nnz / SPMV__CONVERT_WORD + 1;
        spmv__phase(source->hooks, SPMV_PHASE_UPLOAD);
        status = spmv__convert_block_send(job);
    }
    if (!status) status = spmv__convert_block_run(job);
    if (!status) status = spmv__convert_block_read(job, job->blocks, source->blocks);
    if (!status) status = spmv__convert_block_check(job);
    if (!status && spans) status = spmv__convert_spans_read(job);
    source->counted = !status;
    if (!status) spmv__convert_block_trim(job);
    else spmv__convert_give_up(convert, p, source->hooks, status);
    spmv__phase(source->hooks, SPMV_PHASE_CONVERT);
}

/* spmv_converter.blocks */
static spmv_status spmv__convert_blocks(spmv_converter *base, spmv_part *p, spmv__source *source)
{
    spmv__convert *convert = (spmv__convert *)base;
    spmv_status status;
    spmv__convert_count_blocks(convert, p, source);
    if (source->counted) return SPMV_OK;
    status = spmv__convert_fetch_pointers(convert, source);
    return status ? status : spmv__convert_fetch_columns(convert);
}
#else
#define spmv__convert_blocks NULL
#endif

#ifndef SPMV__NO_TCSR
/* Should the device find the tiles of a part, and fill them? */
static int spmv__convert_wants_tiles(spmv__convert *convert, spmv_part *p, spmv__source *source)
{
    const double nonzero = 7e-10; /* seconds for the host to find its tile: clspmv_in-2004, "again" in nvidia-h200-prepare.txt */
    const double compile = 0.3;   /* seconds for NVRTC to compile these programs at once, an estimate: a product of tcsr takes it 0.14 to
                                     0.25 there, and the longest of these 1.2 times as long on another machine */
    spmv__convert_job job;
    spmv__dev_options options;
    int which;
    if (p->spec.format != SPMV_TCSR || convert->off || !convert->nnz || !spmv__convert_fits(convert)) return 0;
    if (source->view->owner || source->view->list) return 0;
    spmv__convert_job_set(&job, convert, p, source);
    spmv__convert_tile_segments(&job);
    if (job.wg % SPMV_TCSR_LANES || job.most > 0x7fffffffu) return 0;
    for (which = 0; which < SPMV__TILE_PROGRAMS; which++) {
        spmv__convert_tile_options(&job, which, &options);
        if (!spmv__convert_is_free(convert, options.text))
            return spmv__convert_pays(convert, options.text, nonzero * (double)convert->nnz, compile);
    }
    spmv__convert_options(&job, &options);
    if (spmv__convert_is_free(convert, options.text)) return 1;
    job.no_high = 1; /* the program that fills may also be there without high bytes */
    spmv__convert_options(&job, &options);
    return spmv__convert_pays(convert, options.text, nonzero * (double)convert->nnz, compile);
}

/* Finds the tiles of a part that takes the whole matrix, if the device should. A failure is no failure: then the host finds the tiles and
 * fills this and all later parts. */
static void spmv__convert_count_tiles(spmv__convert *convert, spmv_part *p, spmv__source *source)
{
    uint32_t found[SPMV__FOUND] = { 0 };
    spmv__convert_job *job = NULL;
    spmv_status status;
    if (!spmv__convert_wants_tiles(convert, p, source)) return;
    status = spmv__convert_job_create(convert, p, source, &job);
    if (!status) {
        convert->counted = job;
        spmv__phase(source->hooks, SPMV_PHASE_UPLOAD);
        spmv__convert_tile_segments(job);
        status = spmv__convert_tile_send(job);
    }
    if (!status) status = spmv__convert_tile_find(job, found);
    if (!status) status = spmv__convert_tile_check(job, found, &job->counts);
    if (!status) source->tiled = &job->counts;
    else spmv__convert_give_up(convert, p, source->hooks, status);
    spmv__phase(source->hooks, SPMV_PHASE_CONVERT);
}
#else
#define spmv__convert_count_tiles(c, p, s) ((void)0)
#endif

/* Finds the longest rows of a part in slices, all of whose row pointers are on the device. 0: the format needs more, or that failed. */
static int spmv__convert_finds_longest(const spmv__convert *convert, const spmv_part *p, spmv__source *source)
{
    uint64_t height = 0;
    if (p->spec.key[SPMV_KEY_IDX] == 16) return 0;
#ifndef SPMV__NO_ELL
    if (p->spec.format == SPMV_ELL) height = 32; /* rows for each work-item */
#endif
#ifndef SPMV__NO_SELL
    if (p->spec.format == SPMV_SELL && !p->spec.key[SPMV_KEY_GROW]) height = spmv__sell_height(&p->spec, p->rows);
#endif
    if (height && convert->nnz && !convert->off && !spmv__convert_longest(convert, height, source)) return 1;
    spmv_free(source->hooks, source->longest);
    source->longest = NULL;
    return 0;
}

/* 1 if the sizes of the part follow from columns: 16-bit columns are to fit, diagonals are to be found, or a format of the user's own is to
 * be packed. */
static int spmv__convert_reads_columns(const spmv_part *p)
{
    if (p->spec.key[SPMV_KEY_IDX] == 16 || !spmv__convert_format_of(p->spec.format)) return 1;
    return spmv__format_class_of(p->spec.format) == SPMV_CLASS_DIAGONAL;
}

/* Uploads what says which nonzeros the view has: the owners for the job, and the row list to *list, which the caller gives back. */
static spmv_status spmv__convert_send_list(spmv__convert_job *job, void **list)
{
    const spmv_view *view = job->source->view;
    spmv_status s = spmv__convert_matrix(job->convert);
    if (!s && view->owner) s = spmv__convert_upload(job->convert->device, view->owner, view->a->nnz, 1, &job->owner);
    return s || !view->list ? s : spmv__convert_upload(job->convert->device, view->list, view->rows, 4, list);
}

/* Checks the spans of rows: a device may compute wrongly. */
static spmv_status spmv__convert_check_spans(const spmv__source *source)
{
    const uint32_t *low = source->row_spans, *high = low + source->rows;
    uint64_t i, bad = 0;
    for (i = 0; i < source->rows; i++)
        bad += (uint64_t)(source->ptr[i] < source->ptr[i + 1] && (low[i] > high[i] || high[i] >= source->view->a->cols));
    if (!bad) return SPMV_OK;
    return spmv_log(source->hooks, SPMV_ERR_BACKEND, "the device found wrong columns in %llu rows", (spmv__ull)bad);
}

/* Has the device find the lowest and the highest column of each row of the part. list: the buffer of its row list, or NULL. */
static spmv_status spmv__convert_find_spans(const spmv__convert_job *job, void *list)
{
    spmv__source *source = job->source;
    const spmv_view *view = source->view;
    spmv__dev_value given[9] = {
        spmv__number(source->rows), spmv__mem(job->convert->ptr), spmv__mem(job->convert->col), spmv__mem(list),
        spmv__number(view->list != NULL), spmv__mem(job->owner), spmv__number(view->owner != NULL), spmv__number(view->part),
        spmv__mem(NULL)
    };
    void *block;
    spmv_status status = spmv__room(source->hooks, &block, 2 * source->rows, sizeof *source->row_spans);
    source->row_spans = (uint32_t *)block;
    if (!status)
        status = spmv__convert_ask(job->convert->device, SPMV__CHECK_PART, 64, "spans", given, SPMV__COUNT_OF(given), source->rows, 1,
                                   2 * source->rows * sizeof *source->row_spans, source->row_spans);
    return status ? status : spmv__convert_check_spans(source);
}

/* Checks the numbers of nonzeros of all diagonals: a device may compute wrongly. */
static spmv_status spmv__convert_check_diagonals(const spmv__diagonals *diagonals, uint64_t nnz, const spmv_hooks *hooks)
{
    uint64_t i, all = 0;
    for (i = 0; i < diagonals->end - diagonals->first; i++) all += diagonals->place[i];
    if (all == nnz) return SPMV_OK;
    return spmv_log(hooks, SPMV_ERR_BACKEND, "the device found %llu nonzeros on diagonals, of %llu", (spmv__ull)all, (spmv__ull)nnz);
}

/* Before the counts of all diagonals there is the number of those that hold nonzeros, and room for a list of so many of them, which is all
 * that the host reads of most matrices that have diagonals. */
enum { SPMV__DIAGONALS_LISTED = 255, SPMV__DIAGONALS_HEAD = 1 + 2 * SPMV__DIAGONALS_LISTED };

/* Makes diagonals of the list, in pairs of a number and the nonzeros; numbers is above each. */
static spmv_status spmv__convert_listed(const uint32_t *list, uint64_t count, uint64_t numbers, const spmv_hooks *hooks,
                                        spmv__diagonals *diagonals)
{
    uint64_t i;
    void *block;
    spmv_status s;
    for (i = 0, diagonals->first = numbers, diagonals->end = 0; i < count; i++) {
        diagonals->first = spmv__smaller(diagonals->first, list[2 * i]);
        diagonals->end = list[2 * i] < diagonals->end ? diagonals->end : (uint64_t)list[2 * i] + 1;
    }
    if (!count || diagonals->end > numbers) return spmv_log(hooks, SPMV_ERR_BACKEND, "the device found wrong diagonals");
    s = spmv__new(hooks, &block, diagonals->end - diagonals->first, sizeof *diagonals->place, 0);
    diagonals->place = (uint32_t *)block;
    for (i = 0; !s && i < count; i++) diagonals->place[list[2 * i] - diagonals->first] = list[2 * i + 1];
    return s;
}

/* Reads what the device has counted. */
SPMV__APART spmv_status spmv__convert_read_diagonals(spmv_device *device, void *buffer, uint64_t numbers, const spmv_hooks *hooks,
                                                     spmv__diagonals *out)
{
    uint32_t head[SPMV__DIAGONALS_HEAD];
    void *block;
    spmv_status s = spmv__dev_download(device, buffer, sizeof head, head);
    if (s) return s;
    if (head[0] <= SPMV__DIAGONALS_LISTED) return spmv__convert_listed(head + 1, head[0], numbers, hooks, out);
    s = spmv__dev_fetch(device, hooks, buffer, SPMV__DIAGONALS_HEAD + numbers, sizeof *out->place, &block);
    out->place = (uint32_t *)block;
    out->end = numbers;
    if (!s) memmove(out->place, out->place + SPMV__DIAGONALS_HEAD, (size_t)numbers * sizeof *out->place);
    return s;
}

/* Has the device count the nonzeros of each diagonal in out->place, as spmv__diagonals_count does with so few diagonals. The caller frees
 * out, also after a failure. view: nnz nonzeros; owner: the buffer of its owners, or NULL. */
static spmv_status spmv__convert_count_diagonals(spmv__convert *convert, const spmv_view *view, void *owner, uint64_t nnz,
                                                 const spmv_hooks *hooks, spmv__diagonals *out)
{
    spmv_device *device = convert->device;
    const uint64_t numbers = convert->a->rows + convert->a->cols, bytes = (SPMV__DIAGONALS_HEAD + numbers) * sizeof *out->place;
    void *buffer = NULL;
    spmv_status s = spmv__scratch_take(device, bytes, &buffer);
    const spmv__dev_value counted[9] = {
        spmv__number(convert->a->rows), spmv__number(convert->nnz), spmv__mem(convert->ptr), spmv__mem(convert->col), spmv__mem(owner),
        spmv__number(owner != NULL), spmv__number(view->part), spmv__number(SPMV__DIAGONALS_HEAD), spmv__mem(buffer)
    };
    const spmv__dev_value listed[3] = { spmv__number(numbers), spmv__number(SPMV__DIAGONALS_HEAD), spmv__mem(buffer) };
    if (!s) s = device->info.backend->fill(device, device->queue, buffer, bytes, 0);
    if (!s)
        s = spmv__convert_scan(device, SPMV__CHECK_PART, 64, "diagonals", counted, SPMV__COUNT_OF(counted), convert->nnz,
                               SPMV__CONVERT_PER);
    if (!s) s = spmv__convert_scan(device, SPMV__CHECK_PART, 64, "listed", listed, SPMV__COUNT_OF(listed), numbers, 1);
    if (!s) s = spmv__convert_read_diagonals(device, buffer, numbers, hooks, out);
    if (s) device->info.backend->finish(device, device->queue); /* before the next matrix gets the buffer */
    spmv__scratch_give(device, buffer);
    return s ? s : spmv__convert_check_diagonals(out, nnz, hooks);
}

/* 1 if the device can scan columns that the host does not have. */
static int spmv__convert_can_scan(const spmv__convert *convert)
{
    return !convert->a->col && !convert->off && convert->nnz && spmv__convert_fits(convert);
}

/* 1 if the device can count the nonzeros of all diagonals of the matrix, which are so few that there is a place for each. */
static int spmv__convert_few_diagonals(const spmv__convert *convert)
{
    const uint64_t numbers = convert->a->rows + convert->a->cols;
    return numbers <= UINT32_MAX && (SPMV__DIAGONALS_HEAD + numbers) * 4 <= convert->device->info.alloc_bytes &&
           spmv__keys_fit(convert->a, numbers);
}

/* 1 if the part's bases are those of whole rows: of 32, of slices, or of runs that cut no row. */
static int spmv__convert_bases_by_row(const spmv_part *p, const spmv__source *source)
{
    int by_row = p->spec.format == SPMV_ELL || p->spec.format == SPMV_SELL;
#ifndef SPMV__NO_CSR
    uint64_t i;
    if (p->spec.format == SPMV_CSR)
        for (by_row = 1, i = 0; i < source->rows && by_row; i++) by_row = !spmv__in_pieces(source, (uint64_t)p->spec.key[SPMV_KEY_RUN], i);
#endif
    (void)source;
    return by_row;
}

/* Has the device find what the sizes of a part follow from. */
static spmv_status spmv__convert_scan_part(spmv__convert_job *job)
{
    spmv__source *source = job->source;
    void *list = NULL;
    spmv_status status;
    spmv__phase(source->hooks, SPMV_PHASE_UPLOAD);
    status = spmv__convert_send_list(job, &list);
    spmv__phase(source->hooks, SPMV_PHASE_CONVERT);
    if (!status && spmv__format_class_of(job->p->spec.format) == SPMV_CLASS_DIAGONAL)
        status = spmv__convert_count_diagonals(job->convert, source->view, job->owner, spmv__source_nnz(source), source->hooks,
                                               &source->diagonals);
    else if (!status) status = spmv__convert_find_spans(job, list);
    spmv__scratch_give(job->convert->device, list);
    return status;
}

/* Has the device scan the columns of a part from which its sizes follow, if the host has none. 0: the host is to scan. After a failure,
 * it also fills this and all later parts. */
static int spmv__convert_scans(spmv__convert *convert, spmv_part *p, spmv__source *source)
{
    const int diagonals = spmv__format_class_of(p->spec.format) == SPMV_CLASS_DIAGONAL;
    spmv__convert_job *job = NULL;
    spmv_status status;
    if (!spmv__convert_can_scan(convert) || !spmv__source_nnz(source)) return 0;
    if (diagonals ? !spmv__convert_few_diagonals(convert) : p->spec.key[SPMV_KEY_IDX] != 16 || !spmv__convert_bases_by_row(p, source))
        return 0;
    status = spmv__convert_job_create(convert, p, source, &job);
    convert->counted = job;
    if (!status) status = spmv__convert_scan_part(job);
    if (!status) return 1;
    spmv_free(source->hooks, source->row_spans);
    source->row_spans = NULL;
    spmv__diagonals_free(&source->diagonals, source->hooks);
    spmv__convert_give_up(convert, p, source->hooks, status);
    return 0;
}

/* Counts the diagonals of what is left of a matrix, all of which is if it has nnz nonzeros. */
static spmv_status spmv__convert_left(spmv__convert *convert, const spmv_view *view, uint64_t nnz, const spmv_hooks *hooks,
                                      spmv__diagonals *diagonals)
{
    void *owner = NULL;
    spmv_status s = spmv__convert_matrix(convert);
    if (!s && nnz < convert->nnz) s = spmv__convert_upload(convert->device, view->owner, convert->nnz, 1, &owner);
    if (!s) s = spmv__convert_count_diagonals(convert, view, owner, nnz, hooks, diagonals);
    spmv__scratch_give(convert->device, owner);
    return s;
}

/* spmv_converter.diagonals */
static spmv_status spmv__convert_diagonals(spmv_converter *base, const spmv_view *view, uint64_t nnz, spmv_format format,
                                           const spmv_hooks *hooks, spmv__diagonals *diagonals)
{
    spmv__convert *convert = (spmv__convert *)base;
    spmv_status s;
    if (view->a != convert->a) return SPMV_OK;
    if (!spmv__convert_can_scan(convert) || !spmv__convert_few_diagonals(convert)) return spmv__convert_fetch_columns(convert);
    s = spmv__convert_left(convert, view, nnz, hooks, diagonals);
    if (!s) return s;
    spmv__diagonals_free(diagonals, hooks);
    spmv__convert_turn_off(convert, format, hooks, s);
    return spmv__convert_fetch_columns(convert);
}

/* Has the device take the nonzeros on diagonals that stay for a part. */
static spmv_status spmv__convert_take_there(spmv__convert *convert, const spmv_view *view, const spmv__diagonals *diagonals, unsigned part,
                                            uint8_t *owner)
{
    spmv_device *device = convert->device;
    void *owners = NULL, *place = NULL;
    spmv_status s = spmv__convert_upload(device, owner, convert->nnz, 1, &owners);
    if (!s) s = spmv__convert_upload(device, diagonals->place, diagonals->end - diagonals->first, sizeof *diagonals->place, &place);
    const spmv__dev_value given[9] = {
        spmv__number(convert->a->rows), spmv__number(convert->nnz), spmv__mem(convert->ptr), spmv__mem(convert->col), spmv__mem(owners),
        spmv__number(view->part), spmv__number(part), spmv__number(diagonals->first), spmv__mem(place)
    };
    if (!s)
        s = spmv__convert_scan(device, SPMV__CHECK_PART, 64, "take", given, SPMV__COUNT_OF(given), convert->nnz, SPMV__CONVERT_PER);
    if (!s) s = spmv__dev_download(device, owners, convert->nnz, owner);
    if (s) device->info.backend->finish(device, device->queue); /* before the next matrix gets the buffers */
    spmv__scratch_give(device, owners);
    spmv__scratch_give(device, place);
    return s;
}

/* spmv_converter.take. Owners that were read before a failure are undone, for the host to take these nonzeros. */
static spmv_status spmv__convert_take(spmv_converter *base, const spmv_view *view, const spmv__diagonals *diagonals, unsigned part,
                                      uint8_t *owner, spmv_format format, const spmv_hooks *hooks, int *taken)
{
    spmv__convert *convert = (spmv__convert *)base;
    uint64_t k;
    spmv_status s;
    if (!spmv__convert_can_scan(convert)) return spmv__convert_fetch_columns(convert);
    s = spmv__convert_take_there(convert, view, diagonals, part, owner);
    *taken = !s;
    if (!s) return s;
    for (k = 0; k < convert->nnz; k++)
        if (owner[k] == part) owner[k] = (uint8_t)view->part;
    spmv__convert_turn_off(convert, format, hooks, s);
    return spmv__convert_fetch_columns(convert);
}

/* spmv_converter.rows. What the device fails to scan is scanned by the host. */
static spmv_status spmv__convert_rows(spmv_converter *base, spmv_part *p, spmv__source *source)
{
    spmv__convert *convert = (spmv__convert *)base;
    spmv_status status;
    spmv__convert_forget(convert);
    if (spmv__dev_has_blocks(p->spec.format) || source->view->a != convert->a) return SPMV_OK;
    if (!source->ptr && spmv__convert_finds_longest(convert, p, source)) return SPMV_OK;
    spmv__convert_count_tiles(convert, p, source);
    if (source->tiled) return SPMV_OK;
    status = spmv__convert_fetch_pointers(convert, source);
    if (status || !spmv__convert_reads_columns(p) || spmv__convert_scans(convert, p, source)) return status;
    return spmv__convert_fetch_columns(convert);
}

/* Sets the width of the values that the device is to store. 0 if they are to be floats and the device cannot tell whether they are: it
 * never looks at a value, so the host has to have them all, and not only now. Updates encode what the host has filled. */
static int spmv__convert_values_fit(const spmv__convert *convert, spmv_part *p, const spmv_build *how)
{
    spmv__floats floats;
    if (!spmv__stores_floats(p)) return !how->updatable || !p->codes;
    if (how->updatable || !convert->a->val) return 0;
    floats.from = (const double *)convert->a->val;
    floats.map = NULL;
    floats.to = NULL;
    floats.count = convert->a->nnz;
    if (spmv__floats_make(&floats) < floats.count) return 0;
    p->a[SPMV_VAL].width = sizeof(float);
    return 1;
}

/* Fills a part on the device. If it does not take the part or fails, the part is left as it was, for the host to fill. */
static spmv_status spmv__convert_part(spmv_converter *base, spmv_part *p, spmv__source *source, const spmv_build *how)
{
    spmv__convert *convert = (spmv__convert *)base;
    spmv_status status;
    if (spmv__convert_takes(convert, p, source) && spmv__convert_wants(convert, p, source, how) &&
        spmv__convert_values_fit(convert, p, how)) {
        status = spmv__convert_fill(convert, p, source, how);
        if (!status) return SPMV_OK;
        p->a[SPMV_VAL].width = (uint32_t)convert->width;
        spmv__convert_give_up(convert, p, source->hooks, status);
    }
    spmv__convert_wait(convert);
    spmv__convert_forget(convert); /* the part may have arrays that are too large for the device */
    status = spmv__convert_fetch(convert, source);
    if ((convert->off || !convert->count) && !convert->kept && !convert->given) spmv__convert_drop(convert);
    spmv__phase(source->hooks, SPMV_PHASE_CONVERT);
    return status;
}

/* ---- converters --------------------------------------------------------------------------------------------------- */

SPMV_API int spmv_convert_here(const spmv_device *device)
{
    return device && device->info.backend && spmv__dev_has_memory(device);
}

/* Makes a converter for one CSR matrix and one device; nothing is copied to the device before the first part needs it. Give it to
 * spmv_part_create or spmv_store_create in spmv_build.converter, and the parts to spmv_device_matrix_create with the same device, which
 * takes over what was filled. Such parts have no data in their arrays of values and columns, so they cannot be multiplied on the host.
 *   out  NULL on failure. Destroy it with spmv__converter_destroy
 *   device must outlive the converter and all parts that were made with it, and must not move. A converter is for one thread at a time
 *   a    the matrix whose parts are to be made, and no other; it must outlive the last part's making
 * If the device runs out of memory, a message says so, and this and all later parts are filled on the host. */
SPMV__SHARED spmv_status spmv__converter_create(spmv_converter **out, spmv_device *device, const spmv_csr *a)
{
    void *block;
    spmv__convert *convert;
    spmv_status s = spmv__new(&device->hooks, &block, 1, sizeof *convert, 0);
    *out = NULL;
    if (s) return s;
    convert = (spmv__convert *)block;
    convert->base.rows = spmv__convert_rows;
    convert->base.part = spmv__convert_part;
    convert->base.blocks = spmv__convert_blocks;
    convert->base.diagonals = spmv__convert_diagonals;
    convert->base.take = spmv__convert_take;
    convert->device = device;
    convert->a = a;
    convert->nnz = a->nnz;
    convert->width = spmv_value_size(a->type);
    spmv__scratch_settle(device); /* if that fails, buffers that an earlier matrix has left are not used */
    *out = &convert->base;
    return SPMV_OK;
}

/* Tells a converter whether it may leave parts to the host because compiling kernels would take longer. */
static void spmv__converter_set_lazy(spmv_converter *base, int lazy) { ((spmv__convert *)base)->lazy = lazy; }

/* Tells the converter that the columns and values of its matrix, and perhaps the row pointers, are in buffers of the device already. They
 * are neither copied nor freed. Comes before the first part.
 *   a         the matrix of spmv__converter_create. Its ptr (if ptr is given), col and val may be NULL: where a part or spmv_store_create
 *             needs them on the host, they are read from the device and then belong to a. With ptr NULL, there may only be one part, with
 *             all nonzeros and rows. With col NULL, no part of the plan may have the key cols, and none in blocks the key d
 *   ptr       rows + 1 row pointers of ptr_bits bits; NULL: those of a are copied to the device
 *   col, val  nnz 32-bit columns and nnz values of the type of a; NULL only if nnz is 0. They must stay until spmv__converter_finish, and
 *             ptr and col until spmv__converter_destroy if parts are updatable
 * SPMV_ERR_ARGUMENT if a is another matrix, a buffer is missing or too small or a part was made before. */
SPMV__SHARED spmv_status spmv__converter_give(spmv_converter *base, spmv_csr *a, void *ptr, int ptr_bits, void *col, void *val)
{
    spmv__convert *convert = (spmv__convert *)base;
    static const char where[] = "spmv_create";
    const spmv_hooks *hooks = &convert->device->hooks;
    spmv_status s;
    if (a != convert->a || convert->count) return spmv_log(hooks, SPMV_ERR_ARGUMENT, "%s: another matrix, or too late", where);
    s = spmv__dev_holds(convert->device, hooks, where, "ptr", ptr, ptr ? a->rows + 1 : 0, (uint64_t)ptr_bits / 8);
    if (!s) s = spmv__dev_holds(convert->device, hooks, where, "col", col, convert->nnz, 4);
    if (!s) s = spmv__dev_holds(convert->device, hooks, where, "val", val, convert->nnz, convert->width);
    if (s) return s;
    convert->given = a;
    convert->given_ptr = ptr && ptr_bits == 64;
    if (ptr_bits == 64) convert->ptr = ptr;
    else convert->narrow = ptr;
    convert->col = col;
    convert->val = val;
    return SPMV_OK;
}

/* Waits for the kernels and frees the CSR matrix on the device; if parts were made with spmv_build.updatable, only its values. Returns the
 * status of the kernels. No product may be started before, and no part be made after it. */
SPMV__SHARED spmv_status spmv__converter_finish(spmv_converter *base)
{
    spmv__convert *convert = (spmv__convert *)base;
    spmv_status s = SPMV_OK;
    spmv__convert_wait(convert);
    if (!spmv__dev_is_here(convert->device)) s = spmv__dev_not_here(convert->device, "spmv_create", NULL, 0);
    else if (convert->count) s = convert->device->info.backend->finish(convert->device, convert->device->queue);
    if (!convert->kept) spmv__convert_drop(convert);
    if (!convert->given) spmv__scratch_give(convert->device, convert->val);
    convert->val = NULL;
    convert->sent[SPMV__CONVERT_VAL] = 0;
    convert->off = 1;
    return s;
}

/* Replaces the values of all parts that the device filled and that were made updatable, after spmv__converter_finish, and waits until that
 * is done. No product may be running.
 *   val     all values of the CSR matrix, in its order and type, on the host; or NULL
 *   buffer  the same in a buffer of the device, which is used if val is NULL */
SPMV__SHARED spmv_status spmv__converter_update(spmv_converter *base, const void *val, void *buffer)
{
    spmv__convert *convert = (spmv__convert *)base;
    enum { FROM_VAL = 4 }; /* the parameter of kernels/convert.cl */
    spmv_device *device = convert->device;
    const spmv_backend *back = device->info.backend;
    const spmv__convert_job *job;
    void *own = NULL;
    spmv_status s = SPMV_OK;
    if (!convert->kept) return s;
    if (!spmv__dev_is_here(device)) return spmv__dev_not_here(device, "spmv_update", NULL, 0);
    if (val) s = spmv__convert_upload(device, val, convert->nnz, convert->width, &own);
    else s = spmv__dev_holds(device, &device->hooks, "spmv_update_buffer", "val", buffer, convert->nnz, convert->width);
    if (val) buffer = own;
    for (job = convert->kept; job && !s; job = job->next) {
        s = back->argument(device, job->kernel, FROM_VAL, &buffer, sizeof buffer);
        if (!s) s = spmv__convert_launch(job, job->kernel, job->groups);
    }
    if (!s) s = back->finish(device, device->queue);
    spmv__scratch_give(device, own);
    return s;
}

/* Frees it; a matrix made of the parts stays. NULL is ignored. */
SPMV__SHARED void spmv__converter_destroy(spmv_converter *base)
{
    spmv__convert *convert = (spmv__convert *)base;
    if (!convert) return;
    spmv__convert_wait(convert);
    spmv__convert_forget(convert);
    while (convert->kept) {
        spmv__convert_job *job = convert->kept;
        convert->kept = job->next;
        ((spmv__convert_arrays *)job->elsewhere)->job = NULL;
        spmv__convert_job_destroy(job);
    }
    spmv__convert_drop(convert);
    spmv_free(&convert->device->hooks, convert);
}

/* How many parts it has filled. */
SPMV__SHARED uint64_t spmv__converter_count(const spmv_converter *converter) { return ((const spmv__convert *)converter)->count; }

#endif
