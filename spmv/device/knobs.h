/* SPDX-License-Identifier: MIT
 *
 * spmv/device/knobs.h - kernels and their sources; knobs and variants from and to text.
 */
#ifndef SPMV__DEVICE_KNOBS_H
#define SPMV__DEVICE_KNOBS_H

#include "open.h"
#include "../generated/kernels.h"

/* ---- kernels: sources, arrays and integers ------------------------------------------------------------------------ */

/* What the generated header kernels.h and the lists in spmv_formats.h tell about a format's kernel. */
typedef struct spmv__dev_kernel {
    const char          *file;
    const char          *source; /* pieces; NULL: left out of this build */
    size_t               size;
    const int           *knobs;  /* those that it declares, each with the number of its legal values and these; -1 at the end. Or NULL */
    int                  arrays; /* how many it takes */
    const char          *ints[SPMV_MAX_INTS + 1]; /* names in order, then NULL: capital letters make a macro, small ones an argument */
} spmv__dev_kernel;

#define X(NAME, name, text) static const int spmv__dev_##name##_knobs[] = { SPMV__KNOBS_##NAME SPMV__KNOBS_COMMON -1 };
SPMV_FORMAT_LIST(X)
#undef X

#define SPMV__DEV_INT(FORMAT, NAME, name) name,
static const spmv__dev_kernel spmv__dev_kernels[] = {
#define X(NAME, name, text) \
    { #name ".cl", SPMV__SRC_##NAME, spmv__dev_##name##_knobs, SPMV_##NAME##_ARRAY_COUNT, { SPMV_##NAME##_INTS(SPMV__DEV_INT) NULL } },
    SPMV_FORMAT_LIST(X)
#undef X
    { "scale.cl", spmv__src_scale[0], sizeof spmv__src_scale, NULL, 0, { NULL } },
    { "gather.cl", spmv__src_gather[0], sizeof spmv__src_gather, NULL, 0, { NULL } },
    { "convert.cl", spmv__src_convert[0], sizeof spmv__src_convert, NULL, 0, { NULL } },
    { "values.cl", spmv__src_values[0], sizeof spmv__src_values, NULL, 0, { NULL } },
    { "tail.cl", spmv__src_tail[0], sizeof spmv__src_tail, NULL, 0, { NULL } }
};
/* The pass that only scales y, the one that collects elements of x for other devices, those that fill the arrays of parts and encode
 * their values, and what follows a product are built like formats. */
enum {
    SPMV__KERNEL_SCALE = SPMV_FORMAT_COUNT, SPMV__KERNEL_GATHER, SPMV__KERNEL_CONVERT, SPMV__KERNEL_VALUES, SPMV__KERNEL_TAIL
};

/* 1: integer number i of the format becomes a macro; 0: an argument. */
static int spmv__dev_int_is_macro(spmv_format format, int i)
{
    const char *name = spmv__dev_kernels[format].ints[i];
    return *name >= 'A' && *name <= 'Z';
}

/* ---- knobs ------------------------------------------------------------------------------------------------------- */

/* "WG". */
SPMV__SHARED const char *spmv__knob_name(spmv_knob knob)
{
    static const char *const names[] = {
#define X(NAME, gpu, cpu, text) #NAME,
        SPMV_KNOB_LIST(X)
#undef X
    };
    return (unsigned)knob < SPMV_KNOB_COUNT ? names[knob] : "unknown";
}

static int spmv__dev_knob_default(spmv_knob knob, spmv_device_type type)
{
    static const int defaults[][2] = {
#define X(NAME, gpu, cpu, text) { gpu, cpu },
        SPMV_KNOB_LIST(X)
#undef X
    };
    return defaults[knob][type == SPMV_DEVICE_CPU];
}

/* The number of legal values of a knob of the format's kernel, which follow it; NULL: the kernel has no such knob. */
static const int *spmv__dev_knob_listed(spmv_format format, spmv_knob knob)
{
    const int *at = spmv__dev_kernels[format].source ? spmv__dev_kernels[format].knobs : NULL;
    while (at && *at != (int)knob) at = *at < 0 ? NULL : at + 2 + at[1];
    return at ? at + 1 : NULL;
}

SPMV_API size_t spmv_knob_values(spmv_format format, spmv_knob knob, int *out, size_t max)
{
    const int *listed = (unsigned)format < SPMV_FORMAT_COUNT &&
                        (unsigned)knob < SPMV_KNOB_COUNT ? spmv__dev_knob_listed(format, knob) : NULL;
    const size_t n = listed ? (size_t)*listed : 0;
    if (out && n) memcpy(out, listed + 1, (n < max ? n : max) * sizeof *out);
    return n;
}

static int spmv__dev_has_knob(spmv_format format, spmv_knob knob) { return spmv__dev_knob_listed(format, knob) != NULL; }

static void spmv__dev_knob_choose(spmv_variant *variant, spmv_knob knob, int value)
{
    variant->set |= (uint64_t)1 << knob;
    variant->value[knob] = value;
}

static int spmv__dev_knob_set(const spmv_variant *variant, spmv_knob knob) { return (int)(variant->set >> knob & 1u); }

SPMV_API size_t spmv_variant_print(const spmv_variant *variant, char *out, size_t size)
{
    size_t n = 0;
    int k;
    if (!out) size = 0;
    if (size) out[0] = 0;
    for (k = 0; variant && k < SPMV_KNOB_COUNT; k++)
        if (spmv__dev_knob_set(variant, (spmv_knob)k))
            n += spmv_print(n < size ? out + n : NULL, n < size ? size - n : 0, "%s%s=%d", n ? "," : "",
                            spmv__knob_name((spmv_knob)k), variant->value[k]);
    return n;
}

/* The bit of a format in sets of formats; 0 if there is no such format. */
static unsigned spmv__dev_format_bit(spmv_format format) { return (unsigned)format < SPMV_FORMAT_COUNT ? 1u << format : 0; }

/* Writes the names of the knobs that the kernel of one of these formats has, bits 1u << SPMV_CSR, with commas between them. */
static void spmv__dev_knob_names(unsigned formats, char *out, size_t size)
{
    size_t n = 0;
    int k, f;
    for (k = 0; k < SPMV_KNOB_COUNT && n < size; k++) {
        for (f = 0; f < SPMV_FORMAT_COUNT && !(formats >> f & 1u && spmv__dev_has_knob((spmv_format)f, (spmv_knob)k));) f++;
        if (f < SPMV_FORMAT_COUNT) n += spmv_print(out + n, size - n, "%s%s", n ? ", " : "", spmv__knob_name((spmv_knob)k));
    }
    if (!n) spmv_print(out, size, "%s", "none");
}

static spmv_status spmv__dev_knob_fault(spmv_format format, spmv_knob knob, int value, const spmv_hooks *hooks)
{
    int values[64];
    char text[512];
    size_t i, n = spmv_knob_values(format, knob, values, 64), used = 0;
    text[0] = 0;
    for (i = 0; i < n && i < 64; i++) {
        if (values[i] == value) return SPMV_OK;
        if (used < sizeof text) used += spmv_print(text + used, sizeof text - used, " %d", values[i]);
    }
    if (!n) {
        spmv__dev_knob_names(spmv__dev_format_bit(format), text, sizeof text);
        return spmv_log(hooks, SPMV_ERR_PLAN, "the kernel of %s has no knob %s; it has %s", spmv_format_name(format), spmv__knob_name(knob),
                        text);
    }
    return spmv_log(hooks, SPMV_ERR_PLAN, "%s=%d: the kernel of %s takes only%s", spmv__knob_name(knob), value, spmv_format_name(format),
                    text);
}

static spmv_status spmv__dev_variant_check(const spmv_variant *variant, spmv_format format, const spmv_hooks *hooks)
{
    spmv_status s = SPMV_OK;
    int k;
    for (k = 0; !s && k < SPMV_KNOB_COUNT; k++)
        if (spmv__dev_knob_set(variant, (spmv_knob)k)) s = spmv__dev_knob_fault(format, (spmv_knob)k, variant->value[k], hooks);
    return s;
}

/* The knob whose name the text up to an equals sign, a comma or the end is, and its length; SPMV_KNOB_COUNT if there is none. */
static int spmv__dev_knob_named(const char *p, size_t *length)
{
    const size_t n = *length = strcspn(p, "=,");
    int k;
    for (k = 0; k < SPMV_KNOB_COUNT; k++) {
        const char *name = spmv__knob_name((spmv_knob)k);
        if (strlen(name) == n && !strncmp(name, p, n)) break;
    }
    return k;
}

/* Reads one "NAME=value" at p into variant. Returns what follows it, or NULL if it is not one. */
static const char *spmv__dev_variant_item(spmv_variant *variant, const char *p)
{
    size_t n;
    int k = spmv__dev_knob_named(p, &n), value = 0;
    if (k == SPMV_KNOB_COUNT || p[n] != '=') return NULL;
    p += n + 1;
    if (*p < '0' || *p > '9') return NULL;
    while (*p >= '0' && *p <= '9' && value < 10000000) value = value * 10 + (*p++ - '0');
    spmv__dev_knob_choose(variant, (spmv_knob)k, value);
    return p;
}

/* Reports what stands at p in a variant instead of "NAME=value", with the names of knobs if it is none. */
static spmv_status spmv__dev_variant_fault(const char *text, const char *p, unsigned formats, const spmv_hooks *hooks)
{
    char names[256];
    size_t n;
    if (spmv__dev_knob_named(p, &n) != SPMV_KNOB_COUNT)
        return spmv_log(hooks, SPMV_ERR_PLAN, "variant '%s', column %llu: expected a knob, '=' and a number", text,
                        (spmv__ull)(p - text) + 1);
    spmv__dev_knob_names(formats, names, sizeof names);
    return spmv_log(hooks, SPMV_ERR_PLAN, "variant '%s', column %llu: expected the name of a knob: %s", text, (spmv__ull)(p - text) + 1,
                    names);
}

/* Reads knobs separated by commas into *variant, which it zeroes first. Does not check whether a format has them. formats: those whose
 * knobs a message lists, bits 1u << SPMV_CSR. */
static spmv_status spmv__dev_variant_read(spmv_variant *variant, unsigned formats, const char *text, const spmv_hooks *hooks)
{
    const char *p = text ? text : "";
    memset(variant, 0, sizeof *variant);
    while (*p) {
        const char *next = spmv__dev_variant_item(variant, p);
        if (!next || (*next && *next != ',') || (*next && !next[1])) return spmv__dev_variant_fault(text, p, formats, hooks);
        p = *next ? next + 1 : next;
    }
    return SPMV_OK;
}

/* Reads a text such as "L=8,WG=128" for a format; "" and NULL set nothing. On failure *variant is zeroed. SPMV_ERR_PLAN if the format
 * does not have a knob or a value; the message then lists its knobs or the legal values. */
SPMV__SHARED spmv_status spmv__variant_parse(spmv_variant *variant, spmv_format format, const char *text, const spmv_hooks *hooks)
{
    spmv_status s = spmv__dev_variant_read(variant, spmv__dev_format_bit(format), text, hooks);
    if (!s) s = spmv__dev_variant_check(variant, format, hooks);
    if (s) memset(variant, 0, sizeof *variant);
    return s;
}

/* Copies into variant the knobs that are set in from and that the kernel of format has. */
static void spmv__dev_variant_merge(spmv_variant *variant, spmv_format format, const spmv_variant *from)
{
    int k;
    for (k = 0; k < SPMV_KNOB_COUNT; k++)
        if (spmv__dev_knob_set(from, (spmv_knob)k) && spmv__dev_has_knob(format, (spmv_knob)k))
            spmv__dev_knob_choose(variant, (spmv_knob)k, from->value[k]);
}

/* The formats of a plan's parts, as bits. */
static unsigned spmv__dev_plan_formats(const spmv_store *store)
{
    unsigned formats = 0;
    int i;
    for (i = 0; i < store->plan_count; i++) formats |= spmv__dev_format_bit(store->plan[i].format);
    return formats;
}

/* SPMV_ERR_PLAN if no part's kernel has a knob that is set in all, or one has it but not with this value. */
static spmv_status spmv__dev_every_part_check(const spmv_variant *all, const spmv_store *store, const spmv_hooks *hooks)
{
    char names[256];
    spmv_status s = SPMV_OK;
    int i, k, has;
    for (k = 0; !s && k < SPMV_KNOB_COUNT; k++) {
        if (!spmv__dev_knob_set(all, (spmv_knob)k)) continue;
        for (has = i = 0; !s && i < store->plan_count; i++) {
            spmv_format format = store->plan[i].format;
            if (!spmv__dev_has_knob(format, (spmv_knob)k)) continue;
            has = 1;
            s = spmv__dev_knob_fault(format, (spmv_knob)k, all->value[k], hooks);
        }
        if (!s && !has) {
            spmv__dev_knob_names(spmv__dev_plan_formats(store), names, sizeof names);
            s = spmv_log(hooks, SPMV_ERR_PLAN, "*:%s: no part's kernel has this knob; they have %s", spmv__knob_name((spmv_knob)k), names);
        }
    }
    return s;
}

/* Copies the element of text that begins at p, up to the next '+', into one; SPMV_ERR_PLAN if it is too long. */
static spmv_status spmv__dev_variant_element(char *one, const char *text, const char *p, size_t *length, const spmv_hooks *hooks)
{
    size_t n = 0;
    while (p[n] && p[n] != '+') n++;
    *length = n;
    if (n >= SPMV_VARIANT_TEXT)
        return spmv_log(hooks, SPMV_ERR_PLAN, "variant '%s', column %llu: the element is too long", text, (spmv__ull)(p - text) + 1);
    memcpy(one, p, n);
    one[n] = 0;
    return SPMV_OK;
}

/* Applies the element one, which followed "*:", to every part. */
static spmv_status spmv__dev_every_part(spmv_variant *variant, const spmv_store *store, const char *one, const spmv_hooks *hooks)
{
    spmv_variant all;
    int k;
    spmv_status s = spmv__dev_variant_read(&all, spmv__dev_plan_formats(store), one, hooks);
    if (!s) s = spmv__dev_every_part_check(&all, store, hooks);
    for (k = 0; !s && k < store->count; k++) spmv__dev_variant_merge(&variant[k], store->part[k].spec.format, &all);
    return s;
}

SPMV_API spmv_status spmv_variants_parse(spmv_variant *variant, const spmv_store *store, const char *text, const spmv_hooks *hooks)
{
    if (!store || (!variant && store->count)) return spmv__null(hooks, "spmv_variants_parse", store ? "variant" : "store", NULL, 0);
    char one[SPMV_VARIANT_TEXT];
    const char *p = text ? text : "";
    spmv_variant of;
    size_t n;
    int i, k = 0;
    spmv_status s = SPMV_OK;
    for (i = 0; i < store->count; i++) memset(&variant[i], 0, sizeof variant[i]);
    if (p[0] == '*' && p[1] == ':') {
        s = spmv__dev_variant_element(one, text, p += 2, &n, hooks);
        if (!s) s = spmv__dev_every_part(variant, store, one, hooks);
        p += n + (p[n] == '+');
    }
    for (i = 0; !s && *p; i++) {
        if (i == store->plan_count)
            return spmv_log(hooks, SPMV_ERR_PLAN, "variant '%s', column %llu: the plan has no more parts", text, (spmv__ull)(p - text) + 1);
        s = spmv__dev_variant_element(one, text, p, &n, hooks);
        if (!s) s = spmv__variant_parse(&of, store->plan[i].format, one, hooks);
        if (!s && k < store->count && store->part[k].index == i) spmv__dev_variant_merge(&variant[k++], store->plan[i].format, &of);
        p += n + (p[n] == '+');
    }
    return s;
}

#endif
