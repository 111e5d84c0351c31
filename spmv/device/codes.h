/* SPDX-License-Identifier: MIT
 *
 * spmv/device/codes.h - values of a part as their numbers in a dictionary (keys val=8 and val=1), made on the device from the values.
 */
#ifndef SPMV__DEVICE_CODES_H
#define SPMV__DEVICE_CODES_H

#include "upload.h"

enum { SPMV__CODES_EACH = 16 /* slots of a work-item, so that groups are few enough to have tables of their own */ };

/* The kernels of kernels/values.cl for one part. */
typedef struct spmv__coder {
    const spmv_part *p;
    spmv_device     *device;
    void            *program, *val;
} spmv__coder;

static int spmv__dev_vector_group(const spmv_device *device)
{
    int wg = spmv__dev_knob_default(SPMV_KNOB_WG, device->info.type);
    if (wg < SPMV__STAGE_GROUP) wg = SPMV__STAGE_GROUP;
    while (wg > 1 && (uint64_t)wg > device->info.group_size) wg /= 2;
    return wg;
}

/* Launches a kernel, whose arguments are set, and waits where the queue is out of order, also for what filled its buffers. */
static spmv_status spmv__dev_start(const spmv_device *device, void *kernel, uint64_t groups, uint64_t wg)
{
    static const spmv_order none = { 0, NULL, NULL };
    const spmv_backend *back = device->info.backend;
    const int chain = device->common->chain;
    spmv_status s = chain ? back->finish(device, device->queue) : SPMV_OK;
    if (!s) s = back->launch(device, device->queue, kernel, groups, wg, &none, NULL);
    return s || !chain ? s : back->finish(device, device->queue);
}

/* Launches a kernel of a program, for elements of which each work-item takes some. */
static spmv_status spmv__dev_once(spmv_device *device, void *program, const char *name, const spmv__dev_value *value, size_t count,
                                  uint64_t elements, uint64_t each)
{
    const spmv_backend *back = device->info.backend;
    const uint64_t wg = (uint64_t)spmv__dev_vector_group(device);
    void *kernel = NULL;
    uint64_t groups = 0;
    spmv_status s = back->kernel(device, program, name, &kernel);
    if (!s) s = spmv__dev_set(device, kernel, 0, value, count);
    if (!s) s = spmv__dev_groups(device, elements, wg * each, wg, &groups);
    if (!s) s = spmv__dev_start(device, kernel, groups, wg);
    spmv__dev_kernel_free(device, kernel);
    return s;
}

static spmv_status spmv__coder_create(spmv__coder *coder, spmv_device *device, const spmv_part *p, void *val)
{
    spmv__dev_options options;
    memset(coder, 0, sizeof *coder);
    coder->p = p;
    coder->device = device;
    coder->val = val;
    options.used = 0;
    spmv__dev_option(&options, "WORD", p->a[SPMV_VAL].width == 8 ? "ulong" : "uint");
    spmv__dev_option_number(&options, "WG", (uint64_t)spmv__dev_vector_group(device));
    if (p->spec.format == SPMV_TCSR) spmv__dev_option(&options, "BY_LANE", "1");
    return spmv__dev_program_of(device, (int)SPMV__KERNEL_VALUES, options.text, &coder->program);
}

/* Finds the different values, in a table of zeros. */
static spmv_status spmv__coder_collect(const spmv__coder *coder, void *table)
{
    const uint64_t count = coder->p->a[SPMV_VAL].count;
    const spmv__dev_value given[3] = { spmv__mem(coder->val), spmv__number(count), spmv__mem(table) };
    spmv_device *device = coder->device;
    spmv_status s = device->info.backend->fill(device, device->queue, table, (SPMV__DISTINCT_TABLE + 2) * sizeof(uint32_t), 0);
    return s ? s : spmv__dev_once(device, coder->program, "collect", given, SPMV__COUNT_OF(given), count, SPMV__CODES_EACH);
}

/* Refuses a part with so many values, of which zeros slots are zero. One value, val=1, may have zeros beside it that are padding, which no
 * product reads; fill is read. */
static spmv_status spmv__codes_fit(const spmv_part *p, uint64_t values, uint64_t zeros, const spmv_hooks *hooks)
{
    const int one = p->codes == 2;
    const uint64_t padding = p->a[SPMV_VAL].count - p->nnz;
    const int padded = padding && zeros == padding && !(spmv_format_flags(p->spec.format) & SPMV_HAS_FILL);
    if (one ? values == 1 || (values == 2 && padded) : values <= SPMV__DISTINCT_MOST) return SPMV_OK;
    return spmv_log(hooks, SPMV_ERR_UNSUPPORTED, "%s: val=%d: there are %s%llu values", spmv_format_name(p->spec.format), one ? 1 : 8,
                    values > SPMV__DISTINCT_MOST ? "more than " : "", (spmv__ull)spmv__smaller(values, SPMV__DISTINCT_MOST));
}

/* The values of a part as words, in rising order; for val=1 the only one that is not padding: at most SPMV__DISTINCT_MOST, *values. */
static void spmv__codes_sort(const spmv_part *p, const uint32_t *table, const unsigned char *found, uint64_t *values, uint64_t *word)
{
    const uint32_t width = p->a[SPMV_VAL].width;
    uint64_t n = 0, i, k;
    for (i = 0; i < SPMV__DISTINCT_TABLE; i++) {
        uint64_t v = 0;
        uint32_t narrow;
        if (!table[i]) continue;
        memcpy(&narrow, found + i * width, sizeof narrow);
        if (width == 8) memcpy(&v, found + i * width, sizeof v);
        else v = narrow;
        if (p->codes == 2 && *values == 2 && !v) continue;
        for (k = n++; k && word[k - 1] > v; k--) word[k] = word[k - 1];
        word[k] = v;
    }
    *values = n;
}

/* Finds the different values of a part. found: SPMV__DISTINCT_TABLE words. */
static spmv_status spmv__codes_collect(const spmv__coder *coder, void *table, void *found, uint32_t *counts, unsigned char *words)
{
    spmv_device *device = coder->device;
    const spmv_part *p = coder->p;
    const spmv__dev_value given[3] = { spmv__mem(coder->val), spmv__mem(table), spmv__mem(found) };
    spmv_status s = spmv__coder_collect(coder, table);
    if (!s) s = spmv__dev_once(device, coder->program, "look_up", given, SPMV__COUNT_OF(given), SPMV__DISTINCT_TABLE, 1);
    if (!s) s = spmv__dev_download(device, table, (SPMV__DISTINCT_TABLE + 2) * sizeof *counts, counts);
    if (!s) s = spmv__codes_fit(p, counts[SPMV__DISTINCT_TABLE], counts[SPMV__DISTINCT_TABLE + 1], &device->hooks);
    return s ? s : spmv__dev_download(device, found, (uint64_t)SPMV__DISTINCT_TABLE * p->a[SPMV_VAL].width, words);
}

/* Counts the different values in a buffer of count values, of width bytes each; more than SPMV__DISTINCT_MOST count as one more. */
SPMV__APART spmv_status spmv__codes_count(spmv_device *device, void *val, uint64_t count, uint32_t width, uint64_t *distinct)
{
    uint32_t counts[SPMV__DISTINCT_TABLE + 2];
    void *table = NULL;
    spmv_part p;
    spmv__coder coder;
    spmv_status s;
    memset(&p, 0, sizeof p);
    p.a[SPMV_VAL].count = count;
    p.a[SPMV_VAL].width = width;
    s = spmv__coder_create(&coder, device, &p, val);
    if (!s) s = spmv__scratch_take(device, sizeof counts, &table);
    if (!s) s = spmv__coder_collect(&coder, table);
    if (!s) s = spmv__dev_download(device, table, sizeof counts, counts);
    if (!s) *distinct = counts[SPMV__DISTINCT_TABLE];
    else device->info.backend->finish(device, device->queue); /* before the next matrix gets the buffer */
    spmv__scratch_give(device, table);
    return s;
}

/* Writes the dictionary of a part, with *values values. */
static spmv_status spmv__codes_dictionary(const spmv__coder *coder, uint64_t *values, void *dictionary)
{
    spmv_device *device = coder->device;
    const uint32_t width = coder->p->a[SPMV_VAL].width;
    uint64_t word[SPMV__DISTINCT_MOST + 1] = { 0 }, i;
    uint32_t counts[SPMV__DISTINCT_TABLE + 2], narrow;
    unsigned char words[SPMV__DISTINCT_TABLE * sizeof *word];
    void *table = NULL, *found = NULL;
    spmv_status s = spmv__scratch_take(device, sizeof counts, &table);
    if (!s) s = spmv__scratch_take(device, sizeof words, &found);
    if (!s) s = spmv__codes_collect(coder, table, found, counts, words);
    if (!s) {
        *values = counts[SPMV__DISTINCT_TABLE];
        spmv__codes_sort(coder->p, counts, words, values, word);
        for (i = 0; i < *values && width == 4; i++) {
            narrow = (uint32_t)word[i];
            memcpy((unsigned char *)word + 4 * i, &narrow, sizeof narrow);
        }
        s = device->info.backend->write(device, device->queue, dictionary, *values * width, word);
    }
    if (s) device->info.backend->finish(device, device->queue); /* before the next matrix gets the buffers */
    spmv__scratch_give(device, table);
    spmv__scratch_give(device, found);
    return s;
}

/* Writes the codes of the values of a part at val (codes NULL, as with val=1: none), and their dictionary. */
static spmv_status spmv__codes_write(spmv_device *device, const spmv_part *p, void *val, void *codes, void *dictionary)
{
    const uint64_t count = p->a[SPMV_VAL].count;
    spmv__dev_value given[5] = { spmv__mem(val), spmv__number(count), spmv__mem(dictionary), spmv__number(0), spmv__mem(codes) };
    uint64_t values = 0;
    spmv__coder coder;
    spmv_status s = spmv__coder_create(&coder, device, p, val);
    if (!s) s = spmv__codes_dictionary(&coder, &values, dictionary);
    if (s || !codes) return s;
    given[3] = spmv__number(values);
    return spmv__dev_once(device, coder.program, "encode", given, SPMV__COUNT_OF(given), count, SPMV__CODES_EACH);
}

/* Replaces the values of a part in device memory, *val, by codes, or by nothing with val=1, and makes its dictionary. */
SPMV__APART spmv_status spmv__dev_encode(spmv_device *device, const spmv_part *p, void **val, void **dictionary)
{
    const uint64_t count = p->a[SPMV_VAL].count;
    void *codes = NULL;
    spmv_status s;
    if (count > UINT32_MAX - 1)
        return spmv_log(&device->hooks, SPMV_ERR_LIMIT, "%s: val=8 numbers at most 2^32 - 2 slots", spmv_format_name(p->spec.format));
    s = spmv__dev_own(device, SPMV__DISTINCT_MOST * sizeof(double), 1, dictionary);
    if (s || !count) return s;
    if (p->codes == 1) s = spmv__dev_own(device, spmv__round_up(count, 16), 0, &codes);
    if (!s) s = spmv__codes_write(device, p, *val, codes, *dictionary);
    spmv__dev_left(device, s ? codes : *val, 1);
    if (!s) *val = codes;
    return s;
}

/* The same for new values on the host, in the buffers that are there. */
static spmv_status spmv__dev_encode_again(spmv_device *device, const spmv_part *p, void *codes, void *dictionary)
{
    const spmv_array *array = &p->a[SPMV_VAL];
    void *val = NULL;
    spmv_status s = spmv__scratch_take(device, array->count * array->width, &val);
    if (!s) s = spmv__dev_copy(device, val, array->count * array->width, array->data);
    if (!s) s = spmv__codes_write(device, p, val, codes, dictionary);
    if (!s) s = device->info.backend->finish(device, device->queue);
    spmv__scratch_give(device, val);
    return s;
}

#endif
