/* SPDX-License-Identifier: MIT
 *
 * spmv/device/stretch.h - a matrix in device memory, whose parts are cut into stretches where a buffer cannot hold them.
 */
#ifndef SPMV__DEVICE_STRETCH_H
#define SPMV__DEVICE_STRETCH_H

#include "codes.h"

/* ---- stretches of parts whose arrays are larger than a buffer ----------------------------------------------------- */

static uint64_t spmv__dev_grains(const spmv_part *p) { return spmv__dev_format_of(p->spec.format)->grains(p); }

/* The row where grain g begins; the number of rows after the last grain. */
static uint64_t spmv__dev_grain_row(const spmv_part *p, uint64_t g)
{
    uint64_t r = spmv__dev_format_of(p->spec.format)->grain_row(p, g);
    return r < p->rows ? r : p->rows;
}

/* Describes the stretch of grains g up to end: integers and sizes go into stretch, and where its arrays come from into cut (after the
 * arrays: the row list). */
static void spmv__dev_cut_make(const spmv_part *p, uint64_t g, uint64_t end, spmv_part *stretch, spmv__dev_cut *cut)
{
    spmv__dev_span span;
    int k;
    span.begin = g;
    span.end = end;
    span.row = spmv__dev_grain_row(p, g);
    span.last = spmv__dev_grain_row(p, end);
    span.ld = spmv__round_up(span.last - span.row, SPMV__GRAIN);
    *stretch = *p;
    memset(cut, 0, (SPMV_MAX_ARRAYS + 1) * sizeof *cut);
    for (k = 0; k <= SPMV_MAX_ARRAYS; k++) cut[k].planes = 1;
    stretch->rows = span.last - span.row;
    spmv__dev_cut_one(&cut[SPMV_MAX_ARRAYS], span.row, stretch->rows, 0);
    spmv__dev_format_of(p->spec.format)->cut(p, &span, stretch, cut);
    for (k = 0; k <= SPMV_MAX_ARRAYS; k++) {
        const spmv_array *from = k < SPMV_MAX_ARRAYS ? &p->a[k] : &p->list;
        if (!from->count) cut[k].count = 0;
        (k < SPMV_MAX_ARRAYS ? &stretch->a[k] : &stretch->list)->count = cut[k].planes * cut[k].count;
    }
}

/* The bytes of a part's largest array. */
static uint64_t spmv__dev_largest(const spmv_part *p)
{
    uint64_t most = p->list.count * 4, bytes;
    int k;
    for (k = 0; k < SPMV_MAX_ARRAYS; k++) {
        bytes = spmv__sat_mul(p->a[k].count, p->a[k].width);
        if (bytes > most) most = bytes;
    }
    return most;
}

/* *end: the end of the longest stretch from grain g on, of so many grains, whose arrays each fit into a buffer; i is the part's number, for
 * the message. SPMV_ERR_LIMIT if there is none. */
static spmv_status spmv__dev_stretch(const spmv_device *device, const spmv_part *p, size_t i, uint64_t g, uint64_t grains, uint64_t *end)
{
    const spmv__dev_format *record = spmv__dev_format_of(p->spec.format);
    spmv__dev_cut cut[SPMV_MAX_ARRAYS + 1];
    spmv_part stretch;
    uint64_t low = g, high = grains;
    *end = high;
    if (!g && spmv__dev_largest(p) <= device->info.alloc_bytes) return SPMV_OK;
    while (low < high) {
        uint64_t middle = high - (high - low) / 2;
        spmv__dev_cut_make(p, g, middle, &stretch, cut);
        if (spmv__dev_largest(&stretch) <= device->info.alloc_bytes) low = middle;
        else high = middle - 1;
    }
    while (record->grain_free && low > g && !record->grain_free(p, low)) low--;
    *end = low;
    if (low > g) return SPMV_OK;
    spmv__dev_cut_make(p, g, g + (g < grains), &stretch, cut);
    return spmv_log(&device->hooks, SPMV_ERR_LIMIT,
                    "part %llu (%s): an array of %llu bytes, which cannot be cut further, exceeds the device's limit of %llu",
                    (spmv__ull)i, spmv_format_name(p->spec.format), (spmv__ull)spmv__dev_largest(&stretch),
                    (spmv__ull)device->info.alloc_bytes);
}

/* What the stretch takes of one array: a pointer into the part's own memory if nothing changes, else a copy. */
static spmv_status spmv__dev_cut_array(const spmv_hooks *hooks, const spmv_array *from, const spmv__dev_cut *cut, spmv_array *out)
{
    uint64_t i, plane;
    void *block;
    spmv_status s;
    out->borrowed = 1;
    out->data = from->data && cut->count ? (unsigned char *)from->data + cut->at * from->width : NULL;
    if (!cut->count || (cut->planes == 1 && !cut->less && !cut->more)) return SPMV_OK;
    out->data = NULL;
    s = spmv__new(hooks, &block, out->count, from->width, 0);
    if (s) return s;
    out->data = block;
    out->borrowed = 0;
    for (plane = 0; plane < cut->planes; plane++)
        memcpy((unsigned char *)block + plane * cut->count * from->width,
               (const unsigned char *)from->data + (cut->at + plane * cut->stride) * from->width, (size_t)(cut->count * from->width));
    for (i = 0; cut->less && i < cut->count; i++) spmv__set(out, i, spmv__at(out, i) - cut->less);
    for (i = 0; cut->more && i < cut->count; i++) {
        int64_t v = ((const int32_t *)out->data)[i] + (int64_t)cut->more;
        if (v > INT32_MAX) return spmv_log(hooks, SPMV_ERR_LIMIT, "a diagonal's offset %lld does not fit 32 bits", (long long)v);
        ((int32_t *)out->data)[i] = (int32_t)v;
    }
    return SPMV_OK;
}

static void spmv__dev_cut_free(const spmv_hooks *hooks, spmv_part *stretch)
{
    int k;
    for (k = 0; k < SPMV_MAX_ARRAYS; k++)
        if (!stretch->a[k].borrowed) spmv_free(hooks, stretch->a[k].data);
    if (!stretch->list.borrowed) spmv_free(hooks, stretch->list.data);
}

/* Makes *stretch of grains g up to end, with its first arrays arrays (1: the values alone). It borrows from p where it can. On
 * failure there is nothing to free. */
static spmv_status spmv__dev_cut_part(const spmv_hooks *hooks, const spmv_part *p, uint64_t g, uint64_t end, int arrays, spmv_part *stretch)
{
    spmv__dev_cut cut[SPMV_MAX_ARRAYS + 1];
    spmv_status s = SPMV_OK;
    int k, whole = !g && end == spmv__dev_grains(p);
    if (whole) *stretch = *p;
    else spmv__dev_cut_make(p, g, end, stretch, cut);
    for (k = 0; k < SPMV_MAX_ARRAYS; k++) stretch->a[k].borrowed = 1;
    stretch->list.borrowed = 1;
    if (whole) return SPMV_OK;
    for (k = 0; !s && k < arrays; k++) s = spmv__dev_cut_array(hooks, &p->a[k], &cut[k], &stretch->a[k]);
    if (!s && arrays > 1) s = spmv__dev_cut_array(hooks, &p->list, &cut[SPMV_MAX_ARRAYS], &stretch->list);
    if (s) spmv__dev_cut_free(hooks, stretch);
    return s;
}

/* Compares the sizes of all arrays with the device's memory, and counts the stretches. This comes before the first allocation because
 * some OpenCL implementations abort when memory runs out. */
static spmv_status spmv__dev_check_bytes(const spmv_device *device, const spmv_part *parts, size_t count, size_t *stretches)
{
    uint64_t total = 0, bytes, g, grains;
    spmv_status s = SPMV_OK;
    size_t i;
    int k;
    *stretches = 0;
    for (i = 0; !s && i < count; i++) {
        for (k = 0; k <= SPMV_MAX_ARRAYS; k++) {
            const spmv_array *array = k < SPMV_MAX_ARRAYS ? &parts[i].a[k] : &parts[i].list;
            bytes = spmv__sat_mul(array->count, array->width);
            total = spmv__sat_add(total, bytes);
        }
        g = 0;
        grains = spmv__dev_grains(&parts[i]);
        do {
            s = spmv__dev_stretch(device, &parts[i], i, g, grains, &g);
            ++*stretches;
        } while (!s && g < grains);
    }
    if (s) return s;
    if (total > device->info.global_bytes)
        return spmv_log(&device->hooks, SPMV_ERR_LIMIT, "a matrix of %llu bytes exceeds the device's memory of %llu", (spmv__ull)total,
                        (spmv__ull)device->info.global_bytes);
    return SPMV_OK;
}

/* 1: every array of the part is on the host or on the matrix's device. */
static int spmv__dev_arrays_there(const spmv_device_matrix *matrix, const spmv_part *p)
{
    const spmv_elsewhere *elsewhere = p->elsewhere && p->elsewhere->device == (const void *)matrix->device ? p->elsewhere : NULL;
    int k, there = 1;
    for (k = 0; k < SPMV_MAX_ARRAYS; k++) there &= !p->a[k].count || p->a[k].data || (elsewhere && elsewhere->a[k]);
    return there;
}

static spmv_status spmv__dev_check_part(const spmv_device_matrix *matrix, const spmv_part *p, size_t i)
{
    uint64_t r;
    if ((unsigned)p->spec.format >= SPMV_FORMAT_COUNT || p->type != matrix->type || p->cols != matrix->cols)
        return spmv_log(&matrix->hooks, SPMV_ERR_ARGUMENT, "part %llu: its type or number of columns is not the matrix's", (spmv__ull)i);
    if (!p->list.count && p->rows && p->rows != matrix->rows)
        return spmv_log(&matrix->hooks, SPMV_ERR_ARGUMENT, "part %llu: %llu rows without a row list, but the matrix has %llu", (spmv__ull)i,
                        (spmv__ull)p->rows, (spmv__ull)matrix->rows);
    if (p->list.count && !p->list.data)
        return spmv_log(&matrix->hooks, SPMV_ERR_ARGUMENT, "part %llu: its row list is NULL", (spmv__ull)i);
    for (r = 0; r < p->list.count; r++)
        if (((const uint32_t *)p->list.data)[r] >= matrix->rows)
            return spmv_log(&matrix->hooks, SPMV_ERR_INDEX, "part %llu: its row list has row %u, but the matrix has %llu rows",
                            (spmv__ull)i, (unsigned)((const uint32_t *)p->list.data)[r], (spmv__ull)matrix->rows);
    if (!spmv__dev_arrays_there(matrix, p))
        return spmv_log(&matrix->hooks, SPMV_ERR_ARGUMENT, "part %llu: arrays of it are on another device, or were taken over",
                        (spmv__ull)i);
    return SPMV_OK;
}

/* Makes *out the buffer of array k of a part: takes it over if the device has filled it, else uploads it. */
static spmv_status spmv__dev_array(spmv_device *device, const spmv_part *p, int k, void **out)
{
    spmv_elsewhere *elsewhere = p->elsewhere;
    if (!elsewhere || !elsewhere->a[k]) return spmv__dev_upload(device, &p->a[k], out);
    *out = elsewhere->a[k];
    elsewhere->a[k] = NULL;
    return SPMV_OK;
}

/* Resolves the variant of a part or stretch, builds its program, uploads its arrays and counts its work-groups. */
static spmv_status spmv__dev_part_create(spmv_device_part *out, spmv_device *device, const spmv_part *p, const spmv_variant *wish)
{
    const spmv__dev_format *record = spmv__dev_format_of(p->spec.format);
    int k;
    spmv_status s = spmv__dev_prepare(device, p, wish, out);
    if (s) return s;
    out->format = p->spec.format;
    out->rows = p->rows;
    out->nnz = p->nnz;
    out->values = p->a[SPMV_VAL].count;
    for (k = 0; k < SPMV_MAX_INTS; k++) out->n[k] = p->n[k];
    if (p->elsewhere) out->all = p->elsewhere->all; /* with all arrays, which are taken over next */
    if (p->elsewhere) p->elsewhere->all = NULL;
    for (k = 0; !s && k < spmv__dev_kernels[p->spec.format].arrays; k++) s = spmv__dev_array(device, p, k, &out->a[k]);
    if (!s && p->codes) s = spmv__dev_encode(device, p, &out->a[SPMV_VAL], &out->dictionary);
    if (!s) s = spmv__dev_upload(device, &p->list, &out->list);
    if (!s) s = (record->deal ? record->deal : spmv__dev_deal_rows)(out, device, p);
    return s;
}

/* Creates the stretch of p whose begin and end are set in *out. */
static spmv_status spmv__dev_stretch_create(spmv_device_part *out, spmv_device *device, const spmv_part *p, const spmv_variant *wish)
{
    spmv_part stretch;
    spmv_status s = spmv__dev_cut_part(&device->hooks, p, out->begin, out->end, SPMV_MAX_ARRAYS, &stretch);
    if (s) return s;
    out->row = p->list.count ? 0 : spmv__dev_grain_row(p, out->begin);
    s = spmv__dev_part_create(out, device, &stretch, wish);
    spmv__dev_cut_free(&device->hooks, &stretch);
    return s;
}

/* The program of a kernel that walks over vectors alone: SPMV__KERNEL_SCALE or SPMV__KERNEL_GATHER. */
static spmv_status spmv__dev_vector_program(spmv_device *device, int kernel, spmv_type type, void **out)
{
    spmv__dev_options options;
    options.used = 0;
    spmv__dev_option_types(&options, type, 0);
    spmv__dev_option_number(&options, "WG", (uint64_t)spmv__dev_vector_group(device));
    return spmv__dev_program_of(device, kernel, options.text, out);
}

/* Finds the program with the kernel that only scales y: that of the first part, or one by itself if there are no parts. */
static spmv_status spmv__dev_scale_program(spmv_device_matrix *matrix)
{
    matrix->scale = matrix->count ? matrix->part[0].program : NULL;
    matrix->scale_group = matrix->count ? matrix->part[0].variant.value[SPMV_KNOB_WG] : spmv__dev_vector_group(matrix->device);
    return matrix->scale ? SPMV_OK : spmv__dev_vector_program(matrix->device, (int)SPMV__KERNEL_SCALE, matrix->type, &matrix->scale);
}

static spmv_status spmv__dev_check_type(const spmv_device *device, spmv_type type)
{
    if ((unsigned)type >= SPMV_TYPE_COUNT) return spmv_log(&device->hooks, SPMV_ERR_ARGUMENT, "no such type");
#ifdef SPMV_NO_F64
    if (type != SPMV_F32) return spmv_log(&device->hooks, SPMV_ERR_UNSUPPORTED, "%s was left out of this build", spmv_type_name(type));
#endif
    if (type != SPMV_F32 && !device->info.f64)
        return spmv_log(&device->hooks, SPMV_ERR_NO_F64, "%s has no double precision", device->info.name);
    return SPMV_OK;
}

/* Creates all stretches of the parts, for which out->part has room. */
static spmv_status spmv__dev_stretches_create(spmv_device_matrix *out, const spmv_part *parts, const spmv_variant *variants)
{
    spmv_device *device = out->device;
    spmv_variant plain;
    size_t i, k = 0;
    uint64_t g = 0, grains = 0;
    spmv_status s = SPMV_OK;
    memset(&plain, 0, sizeof plain);
    for (i = 0; !s && i < out->count; i++) {
        spmv_device_part *part = &out->part[i];
        part->source = k;
        part->begin = g;
        if (!g) grains = spmv__dev_grains(&parts[k]);
        s = spmv__dev_stretch(device, &parts[k], k, g, grains, &part->end);
        if (!s) s = spmv__dev_stretch_create(part, device, &parts[k], variants ? &variants[k] : &plain);
        g = part->end;
        if (g < grains) continue;
        k++;
        g = 0;
    }
    return s;
}

/* Builds the programs that all parts need at once. Failures are left to what comes later. */
static void spmv__dev_build_ahead(spmv_device *device, const spmv_part *parts, size_t count, const spmv_variant *variants)
{
    spmv__batch *batch = count > 1 ? spmv__batch_new(device) : NULL;
    spmv_device quiet = spmv__dev_quiet(device);
    spmv__dev_options options;
    spmv_variant variant;
    size_t i;
    for (i = 0; i < count && batch; i++) {
        if (variants) variant = variants[i];
        else memset(&variant, 0, sizeof variant);
        if (!spmv__dev_kernels[parts[i].spec.format].source || spmv_variant_resolve(&variant, &quiet, &parts[i]) ||
            spmv__dev_describe_part(&options, &quiet, &parts[i], &variant))
            continue;
        spmv__batch_add(device, batch, (int)parts[i].spec.format, options.text);
    }
    spmv__batch_build(device, batch);
}

SPMV_API spmv_status spmv_device_matrix_create(spmv_device_matrix *out, spmv_device *device, uint64_t rows, uint64_t cols, spmv_type type,
                                    const spmv_part *parts, size_t count, const spmv_variant *variants)
{
    if (!out || !device || (count && !parts))
        return spmv__null(device ? &device->hooks : NULL, "spmv_device_matrix_create", !out ? "out" : !device ? "device" : "parts", out,
                          sizeof *out);
    if (!spmv__dev_is_here(device)) return spmv__dev_not_here(device, "spmv_device_matrix_create", out, sizeof *out);
    void *block = NULL;
    size_t i, n = 0;
    spmv_status s = spmv__dev_check_type(device, type);
    memset(out, 0, sizeof *out);
    out->device = device;
    out->type = spmv__type(type);
    out->rows = rows;
    out->cols = cols;
    out->hooks = device->hooks;
    for (i = 0; !s && i < count; i++) s = spmv__dev_check_part(out, &parts[i], i);
    if (!s) s = spmv__dev_check_bytes(device, parts, count, &n);
    if (!s) s = spmv__new(&device->hooks, &block, n, sizeof(spmv_device_part), 0);
    spmv__scratch_settle(device); /* if that fails, buffers that an earlier matrix has left are not used */
    out->part = (spmv_device_part *)block;
    out->sources = count;
    out->count = s ? 0 : n;
    if (!s && n == count) spmv__dev_build_ahead(device, parts, count, variants); /* stretches have options of their own */
    if (!s) s = spmv__dev_stretches_create(out, parts, variants);
    if (!s) s = spmv__dev_scale_program(out);
    if (!s) s = spmv__dev_settle(device);
    out->covers = !s && count && spmv__part_covers(&parts[0], rows);
    if (s) spmv_device_matrix_destroy(out);
    return s;
}

/* 1: the parts can be those that matrix was made from: as many, of its type, with as many values. */
static int spmv__dev_same_parts(const spmv_device_matrix *matrix, const spmv_part *parts, size_t count)
{
    uint64_t values = 0;
    size_t i;
    int same = count == matrix->sources;
    for (i = 0; same && i < matrix->count; i++) {
        size_t k = matrix->part[i].source;
        values += matrix->part[i].values;
        if (i + 1 < matrix->count && matrix->part[i + 1].source == k) continue;
        same = parts[k].a[SPMV_VAL].count == values && parts[k].type == matrix->type;
        values = 0;
    }
    return same;
}

SPMV_API spmv_status spmv_device_matrix_update(spmv_device_matrix *matrix, const spmv_part *parts, size_t count)
{
    if (!matrix || (count && !parts))
        return spmv__null(matrix ? &matrix->hooks : NULL, "spmv_device_matrix_update", !matrix ? "matrix" : "parts", NULL, 0);
    const spmv_hooks *hooks = &matrix->hooks;
    spmv_device *device = matrix->device;
    spmv_status s = SPMV_OK;
    size_t i;
    if (!spmv__dev_is_here(device)) return spmv__dev_not_here(device, "spmv_device_matrix_update", NULL, 0);
    if (!spmv__dev_same_parts(matrix, parts, count))
        return spmv_log(hooks, SPMV_ERR_ARGUMENT, "these are not the parts that the matrix was made from");
    for (i = 0; !s && i < matrix->count; i++) {
        const spmv_device_part *p = &matrix->part[i];
        const spmv_array *val;
        spmv_part stretch;
        if (!p->values || parts[p->source].elsewhere) continue;
        s = spmv__dev_cut_part(hooks, &parts[p->source], p->begin, p->end, 1, &stretch);
        if (s) return s;
        val = &stretch.a[SPMV_VAL];
        if (p->dictionary) s = spmv__dev_encode_again(device, &stretch, p->a[SPMV_VAL], p->dictionary);
        else s = spmv__dev_copy(device, p->a[SPMV_VAL], val->count * val->width, val->data);
        spmv__dev_cut_free(hooks, &stretch);
    }
    return s ? s : spmv__dev_settle(device);
}

SPMV_API void spmv_device_matrix_destroy(spmv_device_matrix *matrix)
{
    spmv_hooks hooks;
    size_t i;
    int k;
    if (!matrix) return;
    hooks = matrix->hooks;
    for (i = 0; i < matrix->count; i++) {
        const spmv_device_part *p = &matrix->part[i];
        const int ordered = !spmv__is_set(&matrix->part[0].elsewhere);
        for (k = 0; k < SPMV_MAX_ARRAYS && !p->all; k++) spmv__dev_left(matrix->device, p->a[k], ordered);
        spmv__dev_left(matrix->device, p->all, ordered);
        spmv__dev_left(matrix->device, p->list, ordered);
        spmv__dev_left(matrix->device, p->dictionary, ordered);
    }
    spmv_free(&hooks, matrix->part);
    memset(matrix, 0, sizeof *matrix);
}

SPMV_API const spmv_variant *spmv_device_matrix_variant(const spmv_device_matrix *matrix, size_t i)
{
    size_t k;
    for (k = 0; matrix && k < matrix->count; k++)
        if (matrix->part[k].source == i) return &matrix->part[k].variant;
    return NULL;
}

#endif
