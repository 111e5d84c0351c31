/* SPDX-License-Identifier: MIT
 *
 * spmv/device/stretch.h - a matrix in device memory, whose parts are cut into stretches where a buffer cannot hold them.
 */
#ifndef SPMV__DEVICE_STRETCH_H
#define SPMV__DEVICE_STRETCH_H

#include "upload.h"

/* ---- stretches of parts whose arrays are larger than a buffer ----------------------------------------------------- */

static uint64_t spmv__dev_grains(const spmv_part *p) { return spmv__dev_format_of(p->spec.format)->grains(p); }

/* The row where grain g begins; the number of rows after the last grain. */
static uint64_t spmv__dev_grain_row(const spmv_part *p, uint64_t g)
{
    uint64_t r = spmv__dev_format_of(p->spec.format)->grain_row(p, g);
    return r < p->rows ? r : p->rows;
}

/* Describes the stretch of grains g up to end: integers and sizes go into q, and where its arrays come from into c (after the arrays:
 * the row list). */
static void spmv__dev_cut_make(const spmv_part *p, uint64_t g, uint64_t end, spmv_part *q, spmv__dev_cut *c)
{
    spmv__dev_span t;
    int k;
    t.begin = g;
    t.end = end;
    t.row = spmv__dev_grain_row(p, g);
    t.last = spmv__dev_grain_row(p, end);
    t.ld = spmv__round_up(t.last - t.row, SPMV__GRAIN);
    *q = *p;
    memset(c, 0, (SPMV_MAX_ARRAYS + 1) * sizeof *c);
    for (k = 0; k <= SPMV_MAX_ARRAYS; k++) c[k].planes = 1;
    q->rows = t.last - t.row;
    spmv__dev_cut_one(&c[SPMV_MAX_ARRAYS], t.row, q->rows, 0);
    spmv__dev_format_of(p->spec.format)->cut(p, &t, q, c);
    for (k = 0; k <= SPMV_MAX_ARRAYS; k++) {
        const spmv_array *from = k < SPMV_MAX_ARRAYS ? &p->a[k] : &p->list;
        if (!from->count) c[k].count = 0;
        (k < SPMV_MAX_ARRAYS ? &q->a[k] : &q->list)->count = c[k].planes * c[k].count;
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
static spmv_status spmv__dev_stretch(const spmv_device *d, const spmv_part *p, size_t i, uint64_t g, uint64_t grains, uint64_t *end)
{
    const spmv__dev_format *t = spmv__dev_format_of(p->spec.format);
    spmv__dev_cut c[SPMV_MAX_ARRAYS + 1];
    spmv_part q;
    uint64_t low = g, high = grains;
    *end = high;
    if (!g && spmv__dev_largest(p) <= d->info.alloc_bytes) return SPMV_OK;
    while (low < high) {
        uint64_t middle = high - (high - low) / 2;
        spmv__dev_cut_make(p, g, middle, &q, c);
        if (spmv__dev_largest(&q) <= d->info.alloc_bytes) low = middle;
        else high = middle - 1;
    }
    while (t->grain_free && low > g && !t->grain_free(p, low)) low--;
    *end = low;
    if (low > g) return SPMV_OK;
    spmv__dev_cut_make(p, g, g + (g < grains), &q, c);
    return spmv_log(&d->hooks, SPMV_ERR_LIMIT,
                    "part %llu (%s): an array of %llu bytes, which cannot be cut further, exceeds the device's limit of %llu",
                    (spmv__ull)i, spmv_format_name(p->spec.format), (spmv__ull)spmv__dev_largest(&q), (spmv__ull)d->info.alloc_bytes);
}

/* What the stretch takes of one array: a pointer into the part's own memory if nothing changes, else a copy. */
static spmv_status spmv__dev_cut_array(const spmv_hooks *h, const spmv_array *from, const spmv__dev_cut *c, spmv_array *out)
{
    uint64_t i, plane;
    void *block;
    spmv_status s;
    out->borrowed = 1;
    out->data = from->data && c->count ? (unsigned char *)from->data + c->at * from->width : NULL;
    if (!c->count || (c->planes == 1 && !c->less && !c->more)) return SPMV_OK;
    out->data = NULL;
    s = spmv__new(h, &block, out->count, from->width, 0);
    if (s) return s;
    out->data = block;
    out->borrowed = 0;
    for (plane = 0; plane < c->planes; plane++)
        memcpy((unsigned char *)block + plane * c->count * from->width,
               (const unsigned char *)from->data + (c->at + plane * c->stride) * from->width, (size_t)(c->count * from->width));
    for (i = 0; c->less && i < c->count; i++) spmv__set(out, i, spmv__at(out, i) - c->less);
    for (i = 0; c->more && i < c->count; i++) {
        int64_t v = ((const int32_t *)out->data)[i] + (int64_t)c->more;
        if (v > INT32_MAX) return spmv_log(h, SPMV_ERR_LIMIT, "a diagonal's offset %lld does not fit 32 bits", (long long)v);
        ((int32_t *)out->data)[i] = (int32_t)v;
    }
    return SPMV_OK;
}

static void spmv__dev_cut_free(const spmv_hooks *h, spmv_part *q)
{
    int k;
    for (k = 0; k < SPMV_MAX_ARRAYS; k++)
        if (!q->a[k].borrowed) spmv_free(h, q->a[k].data);
    if (!q->list.borrowed) spmv_free(h, q->list.data);
}

/* Makes q the stretch of grains g up to end, with its first arrays arrays (1: the values alone). It borrows from p where it can. On
 * failure there is nothing to free. */
static spmv_status spmv__dev_cut_part(const spmv_hooks *h, const spmv_part *p, uint64_t g, uint64_t end, int arrays, spmv_part *q)
{
    spmv__dev_cut c[SPMV_MAX_ARRAYS + 1];
    spmv_status s = SPMV_OK;
    int k, whole = !g && end == spmv__dev_grains(p);
    if (whole) *q = *p;
    else spmv__dev_cut_make(p, g, end, q, c);
    for (k = 0; k < SPMV_MAX_ARRAYS; k++) q->a[k].borrowed = 1;
    q->list.borrowed = 1;
    if (whole) return SPMV_OK;
    for (k = 0; !s && k < arrays; k++) s = spmv__dev_cut_array(h, &p->a[k], &c[k], &q->a[k]);
    if (!s && arrays > 1) s = spmv__dev_cut_array(h, &p->list, &c[SPMV_MAX_ARRAYS], &q->list);
    if (s) spmv__dev_cut_free(h, q);
    return s;
}

/* Compares the sizes of all arrays with the device's memory, and counts the stretches. This comes before the first allocation because
 * some OpenCL implementations abort when memory runs out. */
static spmv_status spmv__dev_check_bytes(const spmv_device *d, const spmv_part *parts, size_t count, size_t *stretches)
{
    uint64_t total = 0, bytes, g, grains;
    spmv_status s = SPMV_OK;
    size_t i;
    int k;
    *stretches = 0;
    for (i = 0; !s && i < count; i++) {
        for (k = 0; k <= SPMV_MAX_ARRAYS; k++) {
            const spmv_array *a = k < SPMV_MAX_ARRAYS ? &parts[i].a[k] : &parts[i].list;
            bytes = spmv__sat_mul(a->count, a->width);
            total = spmv__sat_add(total, bytes);
        }
        g = 0;
        grains = spmv__dev_grains(&parts[i]);
        do {
            s = spmv__dev_stretch(d, &parts[i], i, g, grains, &g);
            ++*stretches;
        } while (!s && g < grains);
    }
    if (s) return s;
    if (total > d->info.global_bytes)
        return spmv_log(&d->hooks, SPMV_ERR_LIMIT, "a matrix of %llu bytes exceeds the device's memory of %llu", (spmv__ull)total,
                        (spmv__ull)d->info.global_bytes);
    return SPMV_OK;
}

/* 1: only the column array has 16-bit elements, and it has bases then. A kernel would misread anything else. */
static int spmv__dev_columns_fit(const spmv_part *p)
{
    const spmv__dev_format *t = spmv__dev_format_of(p->spec.format);
    int k, fit = 1;
#ifdef SPMV_FORMATS_EXTRA
    if (t->cut == spmv__extra_cut) return 1; /* a format of the user's own: its kernel reads the arrays that its description declares */
#endif
    for (k = 0; k < SPMV_MAX_ARRAYS; k++) fit &= p->a[k].width != 2 || !p->a[k].count || k == t->columns;
    if (t->columns != SPMV__NO_ARRAY && p->a[t->columns].count) fit &= (p->a[t->columns].width == 2) == (p->a[t->bases].count != 0);
    return fit;
}

/* 1: every array of the part is on the host or on the matrix's device. */
static int spmv__dev_arrays_there(const spmv_device_matrix *m, const spmv_part *p)
{
    const spmv_elsewhere *e = p->elsewhere && p->elsewhere->device == (const void *)m->device ? p->elsewhere : NULL;
    int k, there = 1;
    for (k = 0; k < SPMV_MAX_ARRAYS; k++) there &= !p->a[k].count || p->a[k].data || (e && e->a[k]);
    return there;
}

static spmv_status spmv__dev_check_part(const spmv_device_matrix *m, const spmv_part *p, size_t i)
{
    uint64_t r;
    if ((unsigned)p->spec.format >= SPMV_FORMAT_COUNT || p->type != m->type || p->cols != m->cols)
        return spmv_log(&m->hooks, SPMV_ERR_ARGUMENT, "part %llu: its type or number of columns is not the matrix's", (spmv__ull)i);
    if (!p->list.count && p->rows && p->rows != m->rows)
        return spmv_log(&m->hooks, SPMV_ERR_ARGUMENT, "part %llu: %llu rows without a row list, but the matrix has %llu", (spmv__ull)i,
                        (spmv__ull)p->rows, (spmv__ull)m->rows);
    if (p->list.count && !p->list.data)
        return spmv_log(&m->hooks, SPMV_ERR_ARGUMENT, "part %llu: its row list is NULL", (spmv__ull)i);
    for (r = 0; r < p->list.count; r++)
        if (((const uint32_t *)p->list.data)[r] >= m->rows)
            return spmv_log(&m->hooks, SPMV_ERR_INDEX, "part %llu: its row list has row %u, but the matrix has %llu rows", (spmv__ull)i,
                            (unsigned)((const uint32_t *)p->list.data)[r], (spmv__ull)m->rows);
    if (!spmv__dev_arrays_there(m, p))
        return spmv_log(&m->hooks, SPMV_ERR_ARGUMENT, "part %llu: arrays of it are on another device, or were taken over", (spmv__ull)i);
    if (!spmv__dev_columns_fit(p))
        return spmv_log(&m->hooks, SPMV_ERR_UNSUPPORTED, "part %llu: the kernel of %s cannot read its column array", (spmv__ull)i,
                        spmv_format_name(p->spec.format));
    return SPMV_OK;
}

/* Takes over all arrays of a part, if they lie in one buffer. */
static void spmv__dev_take_all(spmv_device_part *out, const spmv_part *p)
{
    spmv_elsewhere *e = p->elsewhere;
    int k;
    if (!e || !e->all) return;
    out->all = e->all;
    e->all = NULL;
    for (k = 0; k < SPMV_MAX_ARRAYS; k++) {
        out->a[k] = e->a[k];
        e->a[k] = NULL;
    }
}

/* Makes *out the buffer of array k of a part: takes it over if the device has filled it, else uploads it. */
static spmv_status spmv__dev_array(spmv_device *d, const spmv_part *p, int k, void **out)
{
    spmv_elsewhere *e = p->elsewhere;
    if (!e || !e->a[k]) return spmv__dev_upload(d, &p->a[k], out);
    *out = e->a[k];
    e->a[k] = NULL;
    return SPMV_OK;
}

/* Resolves the variant of a part or stretch, builds its program, uploads its arrays and counts its work-groups. */
static spmv_status spmv__dev_part_create(spmv_device_part *out, spmv_device *d, const spmv_part *p, const spmv_variant *wish)
{
    const spmv__dev_format *t = spmv__dev_format_of(p->spec.format);
    int k;
    spmv_status s = spmv__dev_prepare(d, p, wish, out);
    if (s) return s;
    out->format = p->spec.format;
    out->rows = p->rows;
    out->nnz = p->nnz;
    out->values = p->a[SPMV_VAL].count;
    for (k = 0; k < SPMV_MAX_INTS; k++) out->n[k] = p->n[k];
    spmv__dev_take_all(out, p);
    for (k = 0; !s && !out->all && k < spmv__dev_kernels[p->spec.format].arrays; k++) s = spmv__dev_array(d, p, k, &out->a[k]);
    if (!s) s = spmv__dev_upload(d, &p->list, &out->list);
    if (!s) s = (t->deal ? t->deal : spmv__dev_deal_rows)(out, d, p);
    return s;
}

/* Creates the stretch of p whose begin and end are set in *out. */
static spmv_status spmv__dev_stretch_create(spmv_device_part *out, spmv_device *d, const spmv_part *p, const spmv_variant *wish)
{
    spmv_part q;
    spmv_status s = spmv__dev_cut_part(&d->hooks, p, out->begin, out->end, SPMV_MAX_ARRAYS, &q);
    if (s) return s;
    out->row = p->list.count ? 0 : spmv__dev_grain_row(p, out->begin);
    s = spmv__dev_part_create(out, d, &q, wish);
    spmv__dev_cut_free(&d->hooks, &q);
    return s;
}

static int spmv__dev_vector_group(const spmv_device *d)
{
    int wg = spmv__dev_knob_default(SPMV_KNOB_WG, d->info.type);
    if (wg < SPMV__STAGE_GROUP) wg = SPMV__STAGE_GROUP;
    while (wg > 1 && (uint64_t)wg > d->info.group_size) wg /= 2;
    return wg;
}

/* The program of a kernel that walks over vectors alone: SPMV__KERNEL_SCALE or SPMV__KERNEL_GATHER. */
static spmv_status spmv__dev_vector_program(spmv_device *d, int kernel, spmv_type type, void **out)
{
    spmv__dev_options o;
    o.used = 0;
    spmv__dev_option_types(&o, type);
    spmv__dev_option_number(&o, "WG", (uint64_t)spmv__dev_vector_group(d));
    return spmv__dev_program_of(d, kernel, o.text, out);
}

/* Finds the program with the kernel that only scales y: that of the first part, or one by itself if there are no parts. */
static spmv_status spmv__dev_scale_program(spmv_device_matrix *m)
{
    m->scale = m->count ? m->part[0].program : NULL;
    m->scale_group = m->count ? m->part[0].variant.value[SPMV_KNOB_WG] : spmv__dev_vector_group(m->device);
    return m->scale ? SPMV_OK : spmv__dev_vector_program(m->device, (int)SPMV__KERNEL_SCALE, m->type, &m->scale);
}

static spmv_status spmv__dev_check_type(const spmv_device *d, spmv_type t)
{
    if ((unsigned)t >= SPMV_TYPE_COUNT) return spmv_log(&d->hooks, SPMV_ERR_ARGUMENT, "no such type");
#ifdef SPMV_NO_F64
    if (t != SPMV_F32) return spmv_log(&d->hooks, SPMV_ERR_UNSUPPORTED, "%s was left out of this build", spmv_type_name(t));
#endif
    if (t != SPMV_F32 && !d->info.f64)
        return spmv_log(&d->hooks, SPMV_ERR_NO_F64, "%s has no double precision", d->info.name);
    return SPMV_OK;
}

/* Creates all stretches of the parts, for which out->part has room. */
static spmv_status spmv__dev_stretches_create(spmv_device_matrix *out, const spmv_part *parts, const spmv_variant *variants)
{
    spmv_device *d = out->device;
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
        s = spmv__dev_stretch(d, &parts[k], k, g, grains, &part->end);
        if (!s) s = spmv__dev_stretch_create(part, d, &parts[k], variants ? &variants[k] : &plain);
        g = part->end;
        if (g < grains) continue;
        k++;
        g = 0;
    }
    return s;
}

/* Builds the programs that all parts need at once. Failures are left to what comes later. */
static void spmv__dev_build_ahead(spmv_device *d, const spmv_part *parts, size_t count, const spmv_variant *variants)
{
    spmv__batch *b = count > 1 ? spmv__batch_new(d) : NULL;
    spmv_device quiet = spmv__dev_quiet(d);
    spmv__dev_options o;
    spmv_variant v;
    size_t i;
    for (i = 0; i < count && b; i++) {
        if (variants) v = variants[i];
        else memset(&v, 0, sizeof v);
        if (!spmv__dev_kernels[parts[i].spec.format].source || spmv_variant_resolve(&v, &quiet, &parts[i]) ||
            spmv__dev_describe_part(&o, &quiet, &parts[i], &v))
            continue;
        spmv__batch_add(d, b, (int)parts[i].spec.format, o.text);
    }
    spmv__batch_build(d, b);
}

SPMV_API spmv_status spmv_device_matrix_create(spmv_device_matrix *out, spmv_device *d, uint64_t rows, uint64_t cols, spmv_type type,
                                    const spmv_part *parts, size_t count, const spmv_variant *variants)
{
    if (!out || !d || (count && !parts))
        return spmv__null(d ? &d->hooks : NULL, "spmv_device_matrix_create", !out ? "out" : !d ? "d" : "parts", out, sizeof *out);
    if (!spmv__dev_is_here(d)) return spmv__dev_not_here(d, "spmv_device_matrix_create", out, sizeof *out);
    void *block = NULL;
    size_t i, n = 0;
    spmv_status s = spmv__dev_check_type(d, type);
    memset(out, 0, sizeof *out);
    out->device = d;
    out->type = spmv__type(type);
    out->rows = rows;
    out->cols = cols;
    out->hooks = d->hooks;
    for (i = 0; !s && i < count; i++) s = spmv__dev_check_part(out, &parts[i], i);
    if (!s) s = spmv__dev_check_bytes(d, parts, count, &n);
    if (!s) s = spmv__new(&d->hooks, &block, n, sizeof(spmv_device_part), 0);
    spmv__scratch_settle(d); /* if that fails, buffers that an earlier matrix has left are not used */
    out->part = (spmv_device_part *)block;
    out->sources = count;
    out->count = s ? 0 : n;
    if (!s && n == count) spmv__dev_build_ahead(d, parts, count, variants); /* stretches have options of their own */
    if (!s) s = spmv__dev_stretches_create(out, parts, variants);
    if (!s) s = spmv__dev_scale_program(out);
    if (!s) s = spmv__dev_none(d, &out->none);
    if (!s) s = spmv__dev_settle(d);
    out->covers = !s && count && spmv__part_covers(&parts[0], rows);
    if (s) spmv_device_matrix_destroy(out);
    return s;
}

/* 1: the parts can be those that m was made from: as many, of its type, with as many values. */
static int spmv__dev_same_parts(const spmv_device_matrix *m, const spmv_part *parts, size_t count)
{
    uint64_t values = 0;
    size_t i;
    int same = count == m->sources;
    for (i = 0; same && i < m->count; i++) {
        size_t k = m->part[i].source;
        values += m->part[i].values;
        if (i + 1 < m->count && m->part[i + 1].source == k) continue;
        same = parts[k].a[SPMV_VAL].count == values && parts[k].type == m->type;
        values = 0;
    }
    return same;
}

SPMV_API spmv_status spmv_device_matrix_update(spmv_device_matrix *m, const spmv_part *parts, size_t count)
{
    if (!m || (count && !parts)) return spmv__null(m ? &m->hooks : NULL, "spmv_device_matrix_update", !m ? "m" : "parts", NULL, 0);
    const spmv_hooks *h = &m->hooks;
    spmv_device *d = m->device;
    spmv_status s = SPMV_OK;
    size_t i;
    if (!spmv__dev_is_here(d)) return spmv__dev_not_here(d, "spmv_device_matrix_update", NULL, 0);
    if (!spmv__dev_same_parts(m, parts, count))
        return spmv_log(h, SPMV_ERR_ARGUMENT, "these are not the parts that the matrix was made from");
    for (i = 0; !s && i < m->count; i++) {
        const spmv_device_part *p = &m->part[i];
        const spmv_array *val;
        spmv_part q;
        if (!p->values || parts[p->source].elsewhere) continue;
        s = spmv__dev_cut_part(h, &parts[p->source], p->begin, p->end, 1, &q);
        if (s) return s;
        val = &q.a[SPMV_VAL];
        s = spmv__dev_copy(d, p->a[SPMV_VAL], val->count * val->width, val->data);
        spmv__dev_cut_free(h, &q);
    }
    return s ? s : spmv__dev_settle(d);
}

SPMV_API void spmv_device_matrix_destroy(spmv_device_matrix *m)
{
    spmv_hooks h;
    size_t i;
    int k;
    if (!m) return;
    h = m->hooks;
    for (i = 0; i < m->count; i++) {
        const spmv_device_part *p = &m->part[i];
        const int ordered = !spmv__is_set(&m->part[0].elsewhere);
        for (k = 0; k < SPMV_MAX_ARRAYS && !p->all; k++) spmv__dev_left(m->device, p->a[k], ordered);
        spmv__dev_left(m->device, p->all, ordered);
        spmv__dev_left(m->device, p->list, ordered);
    }
    spmv_free(&h, m->part);
    memset(m, 0, sizeof *m);
}

SPMV_API const spmv_variant *spmv_device_matrix_variant(const spmv_device_matrix *m, size_t i)
{
    size_t k;
    for (k = 0; m && k < m->count; k++)
        if (m->part[k].source == i) return &m->part[k].variant;
    return NULL;
}

#endif
