/* SPDX-License-Identifier: MIT
 *
 * spmv/plan/saved.h - stored parts as bytes, which are checked and used in place.
 *
 * A head, the plan, a record for each part, and the arrays, each at a multiple of SPMV__SAVED_ALIGN bytes. All numbers have 8 bytes but
 * those of the head, in the byte order of the machine; nothing is an address.
 */
#ifndef SPMV__PLAN_SAVED_H
#define SPMV__PLAN_SAVED_H

#include "store.h"

/* A new version: also where an array or an integer of a format gets another meaning. */
enum {
    SPMV__SAVED_VERSION = 1, SPMV__SAVED_ALIGN = 64,
    SPMV__SAVED_SHARE = 8 * SPMV__SHARE, /* bytes that are worth a share of the checksum */
    SPMV__SAVED_ARRAYS = SPMV_MAX_ARRAYS + 2, /* with the row list and the slots of explicit zeros */
    SPMV__SAVED_LAYOUT = (int)SPMV_KEY_COUNT | (int)SPMV__OWN_FIRST << 8 | (int)SPMV_MAX_INTS << 16 | (int)SPMV_MAX_ARRAYS << 24
};

typedef struct spmv__saved_head {
    unsigned char magic[8];
    uint32_t version, order, layout, align, type, reproducible;
    uint32_t count, plan_count; /* as in spmv_store */
    uint64_t rows, cols, nnz;
    uint64_t bytes, sum;        /* of everything, with sum 0 */
} spmv__saved_head;

typedef struct spmv__saved_spec {
    int64_t  key[SPMV_KEY_COUNT];
    uint64_t format;
} spmv__saved_spec;

typedef struct spmv__saved_part {
    uint64_t index, rows, nnz, longest, lengths, n[SPMV_MAX_INTS];
    struct { uint64_t at, count, width; } a[SPMV__SAVED_ARRAYS];
} spmv__saved_part;

static const unsigned char spmv__saved_magic[8] = { 0x89, 'S', 'P', 'M', 'P', 0x0d, 0x0a, 0x1a };

SPMV__SHARED int spmv__saved_is(const void *bytes, size_t n)
{
    return bytes && n >= sizeof spmv__saved_magic && memcmp(bytes, spmv__saved_magic, sizeof spmv__saved_magic) == 0;
}

static const spmv_array *spmv__saved_array(const spmv_part *p, int i)
{
    return i < SPMV_MAX_ARRAYS ? &p->a[i] : i == SPMV_MAX_ARRAYS ? &p->list : &p->zeros;
}

static uint64_t spmv__saved_align(uint64_t at) { return spmv__round_up(at, SPMV__SAVED_ALIGN); }

/* Where the arrays begin. */
static uint64_t spmv__saved_front(uint64_t plan_count, uint64_t count)
{
    return spmv__saved_align(sizeof(spmv__saved_head) + plan_count * sizeof(spmv__saved_spec) + count * sizeof(spmv__saved_part));
}

/* The sums of shares of the bytes, which are as many on every machine. */
typedef struct spmv__saved_sums {
    const unsigned char *bytes;
    uint64_t             count, shares, sum[SPMV__MOST_SHARES];
} spmv__saved_sums;

static void spmv__saved_sum_share(void *job, uint64_t share)
{
    spmv__saved_sums *sums = (spmv__saved_sums *)job;
    const uint64_t first = spmv__even(sums->count, SPMV__SAVED_ALIGN, share, sums->shares);
    sums->sum[share] = spmv__sum(share, sums->bytes + first, spmv__even(sums->count, SPMV__SAVED_ALIGN, share + 1, sums->shares) - first);
}

static uint64_t spmv__saved_sum(spmv__saved_head head, const void *bytes)
{
    spmv__saved_sums sums;
    head.sum = 0;
    sums.bytes = (const unsigned char *)bytes + sizeof head;
    sums.count = head.bytes - sizeof head;
    sums.shares = spmv__smaller(sums.count / SPMV__SAVED_SHARE + 1, SPMV__MOST_SHARES);
    spmv__share_out(spmv__saved_sum_share, &sums, sums.shares);
    return spmv__sum(spmv__sum(0, &head, sizeof head), sums.sum, sums.shares * 8);
}

/* ---- saving ------------------------------------------------------------------------------------------------------ */

/* Sets where the arrays of a part are; *at moves on behind them. */
static void spmv__saved_place(const spmv_part *p, spmv__saved_part *to, uint64_t *at)
{
    int i;
    memset(to, 0, sizeof *to);
    to->index = (uint64_t)p->index;
    to->rows = p->rows;
    to->nnz = p->nnz;
    to->longest = p->longest;
    to->lengths = (uint64_t)p->lengths;
    memcpy(to->n, p->n, sizeof to->n);
    for (i = 0; i < SPMV__SAVED_ARRAYS; i++) {
        const spmv_array *array = spmv__saved_array(p, i);
        if (!array->count) continue;
        to->a[i].at = *at;
        to->a[i].count = array->count;
        to->a[i].width = array->width;
        *at = spmv__saved_align(*at + array->count * array->width);
    }
}

/* Bytes that a store takes. */
SPMV__SHARED uint64_t spmv__saved_bytes(const spmv_store *store)
{
    uint64_t at = spmv__saved_front((uint64_t)store->plan_count, (uint64_t)store->count);
    spmv__saved_part part;
    int i;
    for (i = 0; i < store->count; i++) spmv__saved_place(&store->part[i], &part, &at);
    return at;
}

/* Writes so many bytes of a store. */
SPMV__SHARED void spmv__saved_write(const spmv_store *store, unsigned char *out, uint64_t bytes)
{
    uint64_t at = spmv__saved_front((uint64_t)store->plan_count, (uint64_t)store->count);
    unsigned char *to = out + sizeof(spmv__saved_head);
    spmv__saved_head head;
    spmv__saved_spec spec;
    spmv__saved_part part;
    int i, j;
    memset(out, 0, (size_t)at);
    for (i = 0; i < store->plan_count; i++, to += sizeof spec) {
        memcpy(spec.key, store->plan[i].key, sizeof spec.key);
        spec.format = (uint64_t)store->plan[i].format;
        memcpy(to, &spec, sizeof spec);
    }
    for (i = 0; i < store->count; i++, to += sizeof part) {
        spmv__saved_place(&store->part[i], &part, &at);
        memcpy(to, &part, sizeof part);
        for (j = 0; j < SPMV__SAVED_ARRAYS; j++) {
            const size_t n = (size_t)(part.a[j].count * part.a[j].width);
            if (!n) continue;
            memcpy(out + part.a[j].at, spmv__saved_array(&store->part[i], j)->data, n);
            memset(out + part.a[j].at + n, 0, (size_t)(spmv__saved_align(n) - n));
        }
    }
    memset(&head, 0, sizeof head);
    memcpy(head.magic, spmv__saved_magic, sizeof head.magic);
    head.version = SPMV__SAVED_VERSION;
    head.order = SPMV__BYTE_ORDER;
    head.layout = SPMV__SAVED_LAYOUT;
    head.align = SPMV__SAVED_ALIGN;
    head.type = (uint32_t)store->type;
    head.reproducible = store->count && store->part[0].reproducible;
    head.count = (uint32_t)store->count;
    head.plan_count = (uint32_t)store->plan_count;
    head.rows = store->rows;
    head.cols = store->cols;
    head.nnz = store->nnz;
    head.bytes = bytes;
    head.sum = spmv__saved_sum(head, out);
    memcpy(out, &head, sizeof head);
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

/* What is read, and for messages who reads. */
typedef struct spmv__saved {
    const char          *function;
    const unsigned char *bytes;
    spmv__saved_head     head;
    spmv_simd            simd;
    const spmv_hooks    *hooks;
} spmv__saved;

SPMV__APART spmv_status spmv__saved_refuse(const spmv__saved *saved, spmv_status s, const char *expected, uint64_t found)
{
    return spmv_log(saved->hooks, s, "%s: expected %s, found %llu", saved->function, expected, (spmv__ull)found);
}

/* Checks the head and the checksum. n: bytes that there are. */
static spmv_status spmv__saved_check(spmv__saved *saved, const void *bytes, size_t n)
{
    spmv__saved_head *head = &saved->head;
    const uint64_t most = UINT32_MAX - 1u; /* rows and columns */
    if (n < sizeof *head || !spmv__saved_is(bytes, n))
        return spmv__saved_refuse(saved, SPMV_ERR_PARSE, "byte 137 and SPMP at the start of a saved matrix", n ? *saved->bytes : 0);
    if ((uintptr_t)bytes % 8) return spmv__saved_refuse(saved, SPMV_ERR_ARGUMENT, "bytes at a multiple of 8", (uintptr_t)bytes % 8);
    memcpy(head, bytes, sizeof *head);
    if (head->order != SPMV__BYTE_ORDER)
        return spmv__saved_refuse(saved, SPMV_ERR_UNSUPPORTED, "this machine's byte order 16909060", head->order);
    if (head->version != SPMV__SAVED_VERSION) return spmv__saved_refuse(saved, SPMV_ERR_UNSUPPORTED, "version 1", head->version);
    if (head->layout != SPMV__SAVED_LAYOUT || head->align != SPMV__SAVED_ALIGN)
        return spmv__saved_refuse(saved, SPMV_ERR_UNSUPPORTED, "the layout of this version of the library", head->layout);
    if (head->bytes != n) return spmv__saved_refuse(saved, SPMV_ERR_PARSE, "as many bytes as the head says", n);
    if (spmv__saved_sum(*head, bytes) != head->sum)
        return spmv__saved_refuse(saved, SPMV_ERR_PARSE, "contents that match the checksum in the head", head->sum);
    if (!head->type || head->type >= SPMV_TYPE_COUNT) return spmv__saved_refuse(saved, SPMV_ERR_PARSE, "a type", head->type);
    if (head->reproducible > 1) return spmv__saved_refuse(saved, SPMV_ERR_PARSE, "reproducible 0 or 1", head->reproducible);
    if (!spmv__type_built((spmv_type)head->type))
        return spmv__saved_refuse(saved, SPMV_ERR_UNSUPPORTED, "a type that was not left out of this build", head->type);
    if (!head->plan_count || head->plan_count > SPMV_MAX_PARTS || head->count > head->plan_count ||
        spmv__saved_front(head->plan_count, head->count) > n)
        return spmv__saved_refuse(saved, SPMV_ERR_PARSE, "a plan and its parts", head->plan_count);
    if (head->rows > most || head->cols > most)
        return spmv__saved_refuse(saved, SPMV_ERR_OVERFLOW, "at most 4294967294 rows and columns",
                                  head->rows > most ? head->rows : head->cols);
    return SPMV_OK;
}

/* Takes part number i of the plan. */
static spmv_status spmv__saved_spec_of(const spmv__saved *saved, uint64_t i, spmv_spec *out)
{
    const spmv__saved_spec *spec = (const spmv__saved_spec *)(const void *)(saved->bytes + sizeof saved->head) + i;
    const char *why;
    spmv_status s;
    if (spec->format >= SPMV__OWN_FIRST) return spmv__saved_refuse(saved, SPMV_ERR_PARSE, "a format of the library", spec->format);
    memset(out, 0, sizeof *out);
    memcpy(out->key, spec->key, sizeof out->key);
    out->format = (spmv_format)spec->format;
    s = spmv__spec_check(out, &why);
    return s ? spmv_log(saved->hooks, s, "%s: %s: %s", saved->function, spmv_format_name(out->format), why) : SPMV_OK;
}

/* Points the arrays of a part to those that lie within the bytes; 0 if one does not. */
static int spmv__saved_arrays(const spmv__saved *saved, const spmv__saved_part *from, spmv_part *p)
{
    int i;
    for (i = 0; i < SPMV__SAVED_ARRAYS; i++) {
        const uint64_t at = from->a[i].at, count = from->a[i].count, width = from->a[i].width;
        spmv_array *array = (spmv_array *)(uintptr_t)spmv__saved_array(p, i);
        if (!count) continue;
        if ((width != 1 && width != 2 && width != 4 && width != 8) || at % SPMV__SAVED_ALIGN || at > saved->head.bytes ||
            count > (saved->head.bytes - at) / width)
            return 0;
        array->data = (void *)(uintptr_t)(saved->bytes + at);
        array->count = count;
        array->width = (uint32_t)width;
        array->borrowed = 1;
    }
    return 1;
}

/* Are explicit zeros where they may be, in rising order? */
static int spmv__zeros_sound(const spmv_part *p)
{
    uint64_t i;
    if (!p->zeros.count) return 1;
    if (!(spmv_format_flags(p->spec.format) & SPMV_HAS_FILL) || p->zeros.width != 8) return 0;
    for (i = 0; i < p->zeros.count; i++)
        if (spmv__at(&p->zeros, i) >= (i + 1 < p->zeros.count ? spmv__at(&p->zeros, i + 1) : p->a[SPMV_VAL].count)) return 0;
    return 1;
}

/* Is a part in a format sound (spmv/shape.h)? By SPMV__BUILT_<NAME>. */
#define SPMV__SOUND_1(name) spmv__##name##_sound
#define SPMV__SOUND_0(name) NULL
static int (*const spmv__sound[SPMV_FORMAT_COUNT])(const spmv_part *p) = {
#define X(NAME, name, text) SPMV__CAT(SPMV__SOUND_, SPMV__BUILT_##NAME)(name),
    SPMV_FORMAT_LIST(X)
#undef X
};

/* Can no product with the part, of a matrix with so many rows, read or write what is not its own? */
static int spmv__part_sound(const spmv_part *p, uint64_t rows)
{
    const unsigned flags = spmv_format_flags(p->spec.format);
    const int summed = p->spec.format == SPMV_CSR || p->spec.format == SPMV_COO;
    int i;
    for (i = 0; i < SPMV_MAX_INTS; i++)
        if (p->n[i] >> 60) return 0;
    if (!p->rows || !p->nnz || p->nnz > p->a[SPMV_VAL].count || p->a[SPMV_VAL].width != spmv_value_size(p->product)) return 0;
    if (p->lengths > (summed ? SPMV__LENGTHS_FAR : 0) || (p->longest && !summed)) return 0;
    if (p->list.count ? !(flags & SPMV_CAN_LIST) || !spmv__numbers_sound(&p->list, p->rows, rows) : p->rows != rows) return 0;
    return spmv__zeros_sound(p) && spmv__sound[p->spec.format](p);
}

/* Takes stored part number i, where one whose number in the plan is least at least is to come. */
static spmv_status spmv__saved_part_of(const spmv__saved *saved, const spmv_store *store, uint64_t i, uint64_t least, spmv_part *p)
{
    const unsigned char *records = saved->bytes + sizeof saved->head + saved->head.plan_count * sizeof(spmv__saved_spec);
    const spmv__saved_part *from = (const spmv__saved_part *)(const void *)records + i;
    memset(p, 0, sizeof *p);
    if (from->index < least || from->index >= saved->head.plan_count || from->lengths > SPMV__LENGTHS_FAR)
        return spmv__saved_refuse(saved, SPMV_ERR_PARSE, "the number of a part", from->index);
    spmv__part_kind(p, &store->plan[from->index], store->type, saved->simd);
    p->hooks = *saved->hooks;
    p->index = (int)from->index;
    p->reproducible = (int)saved->head.reproducible;
    p->rows = from->rows;
    p->cols = store->cols;
    p->nnz = from->nnz;
    p->longest = from->longest;
    p->lengths = (int)from->lengths;
    memcpy(p->n, from->n, sizeof p->n);
    if (!spmv__type_built(p->product))
        return spmv__saved_refuse(saved, SPMV_ERR_UNSUPPORTED, "a type that was not left out of this build", (uint64_t)p->product);
    if (p->reproducible && !spmv__part_repeats(&p->spec))
        return spmv__saved_refuse(saved, SPMV_ERR_PARSE, "formats with a reproducible product", i);
    if (!spmv__saved_arrays(saved, from, p) || !spmv__part_sound(p, store->rows))
        return spmv_log(saved->hooks, SPMV_ERR_INDEX, "%s: part %llu, %s: sizes or indices that do not fit the matrix", saved->function,
                        (spmv__ull)i, spmv_format_name(p->spec.format));
    return SPMV_OK;
}

/* Gives out a block for as many parts and a plan as the head says: room, of so many bytes, unless it is NULL. */
static spmv_status spmv__saved_room(const spmv__saved *saved, spmv_store *out, void *room, size_t size)
{
    const uint64_t count = saved->head.count, plan = saved->head.plan_count;
    if (!room) return spmv__store_room(out, (int)plan, (int)count);
    if ((uintptr_t)room % 8 || size < count * sizeof *out->part + plan * sizeof *out->plan)
        return spmv_log(saved->hooks, SPMV_ERR_ARGUMENT, "%s: room for %llu parts is needed, at a multiple of 8", saved->function,
                        (spmv__ull)plan);
    out->part = (spmv_part *)room;
    out->plan = (spmv_spec *)(void *)(out->part + count);
    out->plan_count = (int)plan;
    return SPMV_OK;
}

/* Makes a store that uses the bytes in place; on failure, out is to be destroyed. out has hooks and is zero else.
 *   function  for messages */
SPMV__SHARED spmv_status spmv__saved_use(spmv_store *out, const char *function, const void *bytes, size_t n, spmv_simd simd, void *room,
                                         size_t size)
{
    spmv__saved saved;
    uint64_t i, least = 0, nnz = 0;
    spmv_status s;
    saved.function = function;
    saved.bytes = (const unsigned char *)bytes;
    saved.simd = simd;
    saved.hooks = &out->hooks;
    s = spmv__saved_check(&saved, bytes, n);
    if (!s) s = spmv__saved_room(&saved, out, room, size);
    if (s) return s;
    out->type = (spmv_type)saved.head.type;
    out->rows = saved.head.rows;
    out->cols = saved.head.cols;
    out->nnz = saved.head.nnz;
    for (i = 0; i < saved.head.plan_count && !s; i++) s = spmv__saved_spec_of(&saved, i, &out->plan[i]);
    for (i = 0; i < saved.head.count && !s; i++) {
        s = spmv__saved_part_of(&saved, out, i, least, &out->part[i]);
        if (s) break;
        least = (uint64_t)out->part[out->count++].index + 1;
        nnz = spmv__sat_add(nnz, out->part[i].nnz);
    }
    return s || nnz == out->nnz ? s : spmv__saved_refuse(&saved, SPMV_ERR_PARSE, "parts with the nonzeros of the matrix", nnz);
}

/* Copies an array that lies in the bytes. */
static spmv_status spmv__saved_copy(const spmv_hooks *hooks, spmv_array *array)
{
    const void *from = array->data;
    spmv_status s;
    if (!array->count) return SPMV_OK;
    array->borrowed = 0;
    s = spmv__room(hooks, &array->data, array->count, array->width);
    if (!s) memcpy(array->data, from, (size_t)(array->count * array->width));
    return s;
}

/* Makes copies of all arrays, or of those alone that are not uploaded, so that the bytes are not needed any longer. */
SPMV__SHARED spmv_status spmv__saved_keep(spmv_store *store, int all)
{
    spmv_status s = SPMV_OK;
    int i, j;
    for (i = 0; i < store->count; i++)
        for (j = all ? 0 : SPMV_MAX_ARRAYS; j < SPMV__SAVED_ARRAYS && !s; j++)
            s = spmv__saved_copy(&store->hooks, (spmv_array *)(uintptr_t)spmv__saved_array(&store->part[i], j));
    return s;
}

/* The memory of what is to take none. */
static void *spmv__saved_none(void *user, void *block, size_t bytes)
{
    (void)user;
    (void)block;
    (void)bytes;
    return NULL;
}

#endif
