/* SPDX-License-Identifier: MIT
 *
 * spmv/device/program.h - programs: from a part to its kernels, compiled once for each device.
 */
#ifndef SPMV__DEVICE_PROGRAM_H
#define SPMV__DEVICE_PROGRAM_H

#include "records.h"

/* ---- programs ---------------------------------------------------------------------------------------------------- */

/* 1: the kernel needs shell.cl; 0: its own file is complete, as those that are not a format's are. */
static int spmv__dev_walks_rows(int f) { return f < (int)SPMV_FORMAT_COUNT && spmv__dev_formats[f]->walks_rows; }

static void spmv__dev_source_text(spmv_kernel_source *source, const char *text)
{
    source->text[source->count] = text;
    source->size[source->count++] = strlen(text);
}

/* Adds a file, of which size bytes of pieces are embedded, to the source of a program, behind a #line so that build logs name the file. */
static void spmv__dev_source_add(spmv_kernel_source *source, const char *line, const char *pieces, size_t size)
{
    size_t at;
    spmv__dev_source_text(source, line);
    for (at = 0; at < size; at += SPMV__PIECE_BYTES) spmv__dev_source_text(source, pieces + at);
}

/* The source of a program: common.cl, the kernel's file and, for formats, shell.cl and scale.cl. Every program of a format has the kernel
 * that only scales y, since a few lines more take a compiler far less time than a program of their own. */
static void spmv__dev_source(int f, const char *options, char line[64], spmv_kernel_source *source)
{
    const spmv__dev_kernel *t = &spmv__dev_kernels[f];
    spmv_print(line, 64, "\n#line 1 \"kernels/%s\"\n", t->file);
    source->file = t->file;
    source->options = options;
    source->count = 0;
    spmv__dev_source_add(source, "#line 1 \"kernels/common.cl\"\n", spmv__src_common[0], sizeof spmv__src_common);
    spmv__dev_source_add(source, line, t->source, t->size);
    if (spmv__dev_walks_rows(f))
        spmv__dev_source_add(source, "\n#line 1 \"kernels/shell.cl\"\n", spmv__src_shell[0], sizeof spmv__src_shell);
    if (f < (int)SPMV_FORMAT_COUNT)
        spmv__dev_source_add(source, "\n#line 1 \"kernels/scale.cl\"\n", spmv__src_scale[0], sizeof spmv__src_scale);
}

/* Continues a hash (FNV-1a, 64 bits) by some bytes. It finds accidents, not forgeries. */
static uint64_t spmv__hash(uint64_t hash, const void *bytes, size_t n)
{
    const unsigned char *at = (const unsigned char *)bytes;
    size_t i;
    for (i = 0; i < n; i++) hash = (hash ^ at[i]) * UINT64_C(1099511628211);
    return hash;
}

#define SPMV__HASH_BEGIN UINT64_C(14695981039346656037)

/* A hash of all that a program is compiled from but its options, with what a back end puts before it. */
static uint64_t spmv__dev_source_hash(int f)
{
    char line[64];
    spmv_kernel_source source;
    uint64_t hash = SPMV__HASH_BEGIN;
    unsigned i;
#ifndef SPMV_NO_CUDA
    hash = spmv__hash(hash, spmv__src_cuda[0], sizeof spmv__src_cuda);
#endif
    spmv__dev_source(f, "", line, &source);
    for (i = 0; i < source.count; i++) hash = spmv__hash(hash, source.text[i], source.size[i]);
    return hash;
}

/* The image of a program that was given to the device, or NULL. */
static const spmv__image *spmv__dev_image_of(const spmv_device *d, int f, const char *options)
{
    const spmv__image *i = spmv__dev_images(d);
    const uint64_t hash = i ? spmv__dev_source_hash(f) : 0;
    while (i && (i->source != hash || strcmp((const char *)(i + 1), options) != 0)) i = i->next;
    return i;
}

/* Makes the program from an image that was given to the device. 1, or 0 if there is none or the driver does not take it; nobody is told,
 * as it can be compiled. */
static int spmv__dev_load(const spmv_device *d, int f, const char *options, void **out)
{
    const spmv__image *i = spmv__dev_image_of(d, f, options);
    spmv_device quiet = spmv__dev_quiet(d);
    return i && d->info.backend->load(&quiet, options, (const char *)(i + 1) + i->options, i->bytes, out) == SPMV_OK;
}

/* Makes a program: from an image, or else from source. */
static spmv_status spmv__dev_build(spmv_device *d, int f, const char *options, void **out)
{
    char line[64];
    spmv_kernel_source source;
    spmv_status s;
    spmv__phase(&d->hooks, SPMV_PHASE_BUILD);
    if (spmv__dev_load(d, f, options, out)) s = SPMV_OK;
    else {
        spmv__dev_source(f, options, line, &source);
        s = d->info.backend->build(d, &source, out);
        d->compiled += s == SPMV_OK;
    }
    spmv__phase(&d->hooks, SPMV_PHASE_UPLOAD);
    return s;
}

/* Makes a program that is not built yet. */
static spmv_status spmv__dev_unbuilt(spmv_device *d, int f, const char *options, spmv__program **out)
{
    const size_t n = strlen(options) + 1;
    void *block = NULL, *own = NULL;
    spmv_status s = spmv__new(&d->hooks, &block, 1, sizeof **out, 0);
    if (!s) s = spmv__room(&d->hooks, &own, n, 1);
    if (s) {
        spmv_free(&d->hooks, block);
        return s;
    }
    *out = (spmv__program *)block;
    (*out)->format = (spmv_format)f;
    (*out)->options = (char *)own;
    memcpy(own, options, n);
    return SPMV_OK;
}

/* Adds a program to those that are built. */
static void spmv__dev_add_program(spmv_device *d, spmv__program *p)
{
    spmv__lock(&d->common->lock);
    p->next = d->common->programs;
    d->common->programs = p;
    spmv__unlock(&d->common->lock);
}

/* Builds a program and keeps it in d, which owns it. */
static spmv_status spmv__dev_new_program(spmv_device *d, int f, const char *options, const spmv__program **out)
{
    spmv__program *p = NULL;
    spmv_status s = spmv__dev_unbuilt(d, f, options, &p);
    if (s) return s;
    s = spmv__dev_build(d, f, options, &p->program);
    if (s) {
        spmv__program_free(d, p);
        return s;
    }
    spmv__dev_add_program(d, p);
    *out = p;
    return SPMV_OK;
}

/* The program that d has, or NULL. */
static const spmv__program *spmv__dev_built(const spmv_device *d, int f, const char *options)
{
    const spmv__program *p = spmv__dev_programs(d);
    while (p && ((int)p->format != f || strcmp(p->options, options) != 0)) p = p->next;
    return p;
}

static spmv_status spmv__dev_program_of(spmv_device *d, int f, const char *options, void **out)
{
    const spmv__program *p = spmv__dev_built(d, f, options);
    spmv_status s = SPMV_OK;
    if (!p) {
        spmv__lock(&d->common->building);
        p = spmv__dev_built(d, f, options); /* by now another thread may have built it */
        if (!p) s = spmv__dev_new_program(d, f, options, &p);
        spmv__unlock(&d->common->building);
    }
    if (!s) *out = p->program;
    return s;
}

/* ---- several programs at once ----------------------------------------------------------------------------------------
 * A compiler takes some 0.1 s for a program and uses one processor. Where there are threads and the back end can,
 * programs that are needed together are compiled at the same time. */

enum { SPMV__BATCH = 8 /* programs that are compiled at once; more are compiled later, one by one */ };

/* Programs that are compiled at once, their sources, and what becomes of them. */
typedef struct spmv__batch {
    size_t             count;
    spmv__program     *of[SPMV__BATCH];
    void              *program[SPMV__BATCH];
    spmv_kernel_source source[SPMV__BATCH];
    char               line[SPMV__BATCH][64];
} spmv__batch;

/* Makes an empty batch; NULL: programs are compiled one by one here, or there is no memory. */
static spmv__batch *spmv__batch_new(const spmv_device *d)
{
    spmv_hooks quiet = d->hooks;
    void *block = NULL;
    quiet.log = spmv__dev_hush;
    if (d->info.backend->build_all && spmv__share_threads(2, 2) > 1) spmv__new(&quiet, &block, 1, sizeof(spmv__batch), 0);
    return (spmv__batch *)block;
}

/* Adds a program to a batch, which may be NULL, unless it is in it, is built or is made from an image. What does not fit is left out:
 * whoever needs it builds it alone. */
static void spmv__batch_add(const spmv_device *d, spmv__batch *b, int f, const char *options)
{
    spmv_device quiet = spmv__dev_quiet(d);
    size_t i;
    if (!b || b->count == SPMV__BATCH || spmv__dev_built(d, f, options) || spmv__dev_image_of(d, f, options)) return;
    for (i = 0; i < b->count; i++)
        if ((int)b->of[i]->format == f && !strcmp(b->of[i]->options, options)) return;
    if (!spmv__dev_unbuilt(&quiet, f, options, &b->of[i])) b->count++;
}

/* Drops what another thread has built since. */
static void spmv__batch_thin(spmv_device *d, spmv__batch *b)
{
    size_t i, n = 0;
    for (i = 0; i < b->count; i++) {
        if (spmv__dev_built(d, (int)b->of[i]->format, b->of[i]->options)) spmv__program_free(d, b->of[i]);
        else b->of[n++] = b->of[i];
    }
    b->count = n;
}

/* Builds the programs of a batch, moves them to those that are built, and frees the batch, which may be NULL. One alone, and what fails, is
 * forgotten: whoever needs it builds it, and then the reason of a failure is reported. */
static void spmv__batch_build(spmv_device *d, spmv__batch *b)
{
    spmv_device quiet = spmv__dev_quiet(d);
    size_t i;
    if (!b) return;
    spmv__lock(&d->common->building);
    spmv__batch_thin(d, b);
    if (b->count > 1) {
        for (i = 0; i < b->count; i++) spmv__dev_source((int)b->of[i]->format, b->of[i]->options, b->line[i], &b->source[i]);
        spmv__phase(&d->hooks, SPMV_PHASE_BUILD);
        d->info.backend->build_all(&quiet, b->source, b->count, b->program);
        spmv__phase(&d->hooks, SPMV_PHASE_UPLOAD);
    }
    for (i = 0; i < b->count; i++) {
        spmv__program *p = b->of[i];
        p->program = b->program[i];
        d->compiled += p->program != NULL;
        if (p->program) spmv__dev_add_program(d, p);
        else spmv__program_free(d, p);
    }
    spmv__unlock(&d->common->building);
    spmv_free(&d->hooks, b);
}

/* The program of a format for build options ("-DVAL=double -DVEC=double -DF64 -DWG=64 ..."); built if the device object has none yet.
 * For tools and tests: spmv_device_matrix_create finds the options by itself.
 *   options  NULL: none
 *   out      the program, which the device owns; NULL on failure */
SPMV__SHARED spmv_status spmv__device_program(spmv_device *d, spmv_format f, const char *options, void **out)
{
    if (!spmv__dev_is_here(d)) return spmv__dev_not_here(d, "spmv__device_program", out, sizeof *out);
    *out = NULL;
    if ((unsigned)f >= SPMV_FORMAT_COUNT) return spmv_log(&d->hooks, SPMV_ERR_ARGUMENT, "no such format");
    if (!spmv__dev_kernels[f].source)
        return spmv_log(&d->hooks, SPMV_ERR_UNSUPPORTED, "%s was left out of this build", spmv_format_name(f));
    return spmv__dev_program_of(d, (int)f, options ? options : "", out);
}

/* ---- programs as a string of bytes ----------------------------------------------------------------------------------- */

/* Numbers of 8 bytes in the machine's own order, which the first of them shows: what it is, the length of the whole, a checksum of all that
 * follows, a hash that identifies the device, the number of programs. For each program: the hash of its source, the lengths of its options
 * (with a zero at the end) and of its image, and their bytes, without padding. */
enum { SPMV__PACK_MAGIC, SPMV__PACK_BYTES, SPMV__PACK_SUM, SPMV__PACK_DEVICE, SPMV__PACK_COUNT, SPMV__PACK_HEAD };
enum { SPMV__PACK_SOURCE, SPMV__PACK_OPTIONS, SPMV__PACK_IMAGE, SPMV__PACK_ENTRY };
#define SPMV__PACK_VERSION UINT64_C(0x31676b7076706d73) /* "smpvpkg1"; the last character is the version of this form */

/* A hash of what compiled programs depend on beside their source: the back end, the device and its driver. */
static uint64_t spmv__dev_identity(const spmv_device *d)
{
    const spmv_device_info *i = &d->info;
    const char *text[] = { i->backend->name, i->name, i->vendor, i->version, i->driver, i->platform };
    uint64_t hash = spmv__hash(SPMV__HASH_BEGIN, &i->address_bits, sizeof i->address_bits);
    size_t k;
    for (k = 0; k < sizeof text / sizeof *text; k++) hash = spmv__hash(hash, text[k], strlen(text[k]) + 1);
    return spmv__hash(hash, &i->nvidia, sizeof i->nvidia);
}

/* A program on its way into the string. */
typedef struct spmv__packed {
    const char *options;
    const void *image;
    void       *owned;  /* the image if it is to be freed, else NULL */
    uint64_t    source; /* hash of its source */
    size_t      bytes;  /* of the image; 0: there is none, and the program is left out */
} spmv__packed;

/* Writes a program at *at and moves *at behind it. */
static void spmv__pack_one(unsigned char **at, const spmv__packed *k)
{
    uint64_t head[SPMV__PACK_ENTRY];
    head[SPMV__PACK_SOURCE] = k->source;
    head[SPMV__PACK_OPTIONS] = strlen(k->options) + 1;
    head[SPMV__PACK_IMAGE] = k->bytes;
    memcpy(*at, head, sizeof head);
    memcpy(*at + sizeof head, k->options, (size_t)head[SPMV__PACK_OPTIONS]);
    memcpy(*at + sizeof head + head[SPMV__PACK_OPTIONS], k->image, k->bytes);
    *at += sizeof head + head[SPMV__PACK_OPTIONS] + k->bytes;
}

/* Writes the string of n programs. */
static spmv_status spmv__pack(const spmv_device *d, const spmv__packed *all, size_t n, void **out, size_t *bytes)
{
    uint64_t head[SPMV__PACK_HEAD], size = sizeof head;
    unsigned char *at;
    size_t i;
    spmv_status s;
    memset(head, 0, sizeof head);
    for (i = 0; i < n; i++) {
        if (!all[i].bytes) continue;
        size += SPMV__PACK_ENTRY * sizeof *head + strlen(all[i].options) + 1 + all[i].bytes;
        head[SPMV__PACK_COUNT]++;
    }
    s = spmv__room(&d->hooks, out, size, 1);
    if (s) return s;
    at = (unsigned char *)*out + sizeof head;
    for (i = 0; i < n; i++)
        if (all[i].bytes) spmv__pack_one(&at, &all[i]);
    head[SPMV__PACK_MAGIC] = SPMV__PACK_VERSION;
    head[SPMV__PACK_BYTES] = size;
    head[SPMV__PACK_DEVICE] = spmv__dev_identity(d);
    memcpy(*out, head, sizeof head);
    at = (unsigned char *)*out + (SPMV__PACK_SUM + 1) * sizeof *head;
    head[SPMV__PACK_SUM] = spmv__hash(SPMV__HASH_BEGIN, at, (size_t)size - (SPMV__PACK_SUM + 1) * sizeof *head);
    memcpy(*out, head, sizeof head);
    *bytes = (size_t)size;
    return SPMV_OK;
}

/* Collects programs, from p on, and after them the images from i on that are not among them. *n: how many there are. */
static spmv_status spmv__pack_collect(const spmv_device *d, const spmv__program *p, const spmv__image *i, spmv__packed *all, size_t *n)
{
    size_t k;
    spmv_status s = SPMV_OK;
    *n = 0;
    for (; p && !s; p = p->next, ++*n) {
        all[*n].options = p->options;
        all[*n].source = spmv__dev_source_hash((int)p->format);
        s = d->info.backend->image_of(d, p->program, &all[*n].owned, &all[*n].bytes);
        all[*n].image = all[*n].owned;
    }
    for (; i && !s; i = i->next) {
        const char *options = (const char *)(i + 1);
        for (k = 0; k < *n && (all[k].source != i->source || strcmp(all[k].options, options) != 0);) k++;
        if (k < *n) continue;
        all[*n].options = options;
        all[*n].source = i->source;
        all[*n].image = options + i->options;
        all[(*n)++].bytes = i->bytes;
    }
    return s;
}

SPMV_API spmv_status spmv_device_programs_take(const spmv_device *d, void **out, size_t *bytes)
{
    if (bytes) *bytes = 0;
    if (!d || !out || !bytes)
        return spmv__null(d ? &d->hooks : NULL, "spmv_device_programs_take", !d ? "d" : !out ? "out" : "bytes", out, sizeof *out);
    if (!spmv__dev_is_here(d)) return spmv__dev_not_here(d, "spmv_device_programs_take", out, sizeof *out);
    const spmv__program *programs = spmv__dev_programs(d), *p;
    const spmv__image *images = spmv__dev_images(d), *image;
    spmv__packed *all;
    void *block;
    size_t n = 1, i;
    spmv_status s;
    *out = NULL;
    for (p = programs; p; p = p->next) n++;
    for (image = images; image; image = image->next) n++;
    s = spmv__new(&d->hooks, &block, n, sizeof *all, 0);
    if (s) return s;
    all = (spmv__packed *)block;
    s = spmv__pack_collect(d, programs, images, all, &n);
    if (!s) s = spmv__pack(d, all, n, out, bytes);
    for (i = 0; i < n; i++) spmv_free(&d->hooks, all[i].owned);
    spmv_free(&d->hooks, all);
    return s;
}

/* 1 if these are all the bytes of a string that was taken from such a device. */
static int spmv__pack_is_whole(const spmv_device *d, const unsigned char *from, size_t bytes)
{
    const size_t summed = (SPMV__PACK_SUM + 1) * sizeof(uint64_t);
    uint64_t head[SPMV__PACK_HEAD];
    if (bytes < sizeof head) return 0;
    memcpy(head, from, sizeof head);
    return head[SPMV__PACK_MAGIC] == SPMV__PACK_VERSION && head[SPMV__PACK_BYTES] == bytes &&
           head[SPMV__PACK_DEVICE] == spmv__dev_identity(d) &&
           head[SPMV__PACK_SUM] == spmv__hash(SPMV__HASH_BEGIN, from + summed, bytes - summed);
}

/* Copies the program at from, of which at most left bytes are there, to the device's images. *used: its length, 0 if it does not fit in
 * them. */
static spmv_status spmv__unpack_one(spmv_device *d, const unsigned char *from, size_t left, size_t *used)
{
    uint64_t head[SPMV__PACK_ENTRY];
    spmv__image *i;
    void *block;
    spmv_status s;
    *used = 0;
    if (left < sizeof head) return SPMV_OK;
    memcpy(head, from, sizeof head);
    left -= sizeof head;
    if (!head[SPMV__PACK_OPTIONS] || head[SPMV__PACK_OPTIONS] > left || head[SPMV__PACK_IMAGE] > left - head[SPMV__PACK_OPTIONS])
        return SPMV_OK;
    if (from[sizeof head + head[SPMV__PACK_OPTIONS] - 1]) return SPMV_OK;
    left = (size_t)(head[SPMV__PACK_OPTIONS] + head[SPMV__PACK_IMAGE]);
    s = spmv__room(&d->hooks, &block, sizeof *i + left, 1);
    if (s) return s;
    i = (spmv__image *)block;
    i->source = head[SPMV__PACK_SOURCE];
    i->options = (size_t)head[SPMV__PACK_OPTIONS];
    i->bytes = (size_t)head[SPMV__PACK_IMAGE];
    memcpy(i + 1, from + sizeof head, left);
    spmv__lock(&d->common->lock);
    i->next = d->common->images;
    d->common->images = i;
    spmv__unlock(&d->common->lock);
    *used = sizeof head + left;
    return SPMV_OK;
}

SPMV_API spmv_status spmv_device_programs_give(spmv_device *d, const void *from, size_t bytes)
{
    if (!d || (bytes && !from))
        return spmv__null(d ? &d->hooks : NULL, "spmv_device_programs_give", d ? "from" : "d", NULL, 0);
    if (!spmv__dev_is_here(d)) return spmv__dev_not_here(d, "spmv_device_programs_give", NULL, 0);
    const unsigned char *at = (const unsigned char *)from;
    size_t used = SPMV__PACK_HEAD * sizeof(uint64_t);
    spmv_status s = SPMV_OK;
    if (!bytes) {
        spmv__lock(&d->common->lock);
        d->common->keeps = 1;
        spmv__unlock(&d->common->lock);
    }
    if (!spmv__pack_is_whole(d, at, bytes)) return SPMV_OK;
    for (at += used, bytes -= used; bytes && used && !s; at += used, bytes -= used) s = spmv__unpack_one(d, at, bytes, &used);
    return s;
}

/* ---- from a part to its program: options and variant ---------------------------------------------------------------- */

static void spmv__dev_option_types(spmv__dev_options *o, spmv_type t)
{
    spmv__dev_option(o, "VAL", spmv_value_size(t) == sizeof(double) ? "double" : "float");
    spmv__dev_option(o, "VEC", t == SPMV_F32 ? "float" : "double");
    if (t != SPMV_F32) spmv__dev_option(o, "F64", "1");
}

/* 1: columns of 16 bits. */
static int spmv__dev_narrow(const spmv_part *p)
{
    int columns = spmv__dev_format_of(p->spec.format)->columns;
    return columns != SPMV__NO_ARRAY && p->a[columns].width == 2;
}

/* 1: offsets of 64 bits. */
static int spmv__dev_wide_offsets(const spmv_part *p)
{
    int offsets = spmv__dev_format_of(p->spec.format)->offsets;
    return offsets != SPMV__NO_ARRAY && p->a[offsets].width == 8;
}

/* Writes the build options of a part's kernel: types, what follows from its arrays, keys and integers, then the knobs.
 * SPMV_ERR_OVERFLOW if they are too long. */
static spmv_status spmv__dev_describe_part(spmv__dev_options *o, const spmv_device *d, const spmv_part *p, const spmv_variant *v)
{
    spmv_format f = p->spec.format;
    const spmv__dev_format *t = spmv__dev_format_of(f);
    const char *const *ints = spmv__dev_kernels[f].ints;
    int i, k;
    o->used = 0;
    spmv__dev_option_types(o, p->type);
    if (d->info.nvidia) spmv__dev_option_number(o, "NVIDIA", d->info.nvidia);
    if (d->info.type == SPMV_DEVICE_CPU) spmv__dev_option(o, "CPU", "1");
    if (t->options) t->options(o, p);
    spmv__dev_option(o, "OFF", spmv__dev_wide_offsets(p) ? "ulong" : "uint");
    spmv__dev_option_number(o, "LIST", p->list.count != 0);
    if (spmv__dev_narrow(p)) spmv__dev_option(o, "IDX16", "1");
    if (p->reproducible) spmv__dev_option(o, "REPEAT", "1");
    for (i = 0; ints[i]; i++)
        if (spmv__dev_int_is_macro(f, i)) spmv__dev_option_number(o, ints[i], t->macro ? t->macro(p, i) : p->n[i]);
    for (k = 0; k < SPMV_KNOB_COUNT; k++)
        if (spmv__dev_knob_set(v, (spmv_knob)k)) spmv__dev_option_number(o, spmv__knob_name((spmv_knob)k), (uint64_t)v->value[k]);
    if (o->used >= sizeof o->text)
        return spmv_log(&d->hooks, SPMV_ERR_OVERFLOW, "build options longer than %llu bytes", (spmv__ull)sizeof o->text);
    return SPMV_OK;
}

/* Local memory that a part's kernel declares. */
static uint64_t spmv__dev_local(const spmv_part *p, const spmv_variant *v)
{
    const spmv__dev_format *t = spmv__dev_format_of(p->spec.format);
    return t->local ? t->local(p, v) : spmv__dev_local_lanes(p, v);
}

/* SPMV_ERR_LIMIT if the device cannot run the variant, whose work-group size is final. */
static spmv_status spmv__dev_allowed(const spmv_device *d, const spmv_part *p, const spmv_variant *v)
{
    const spmv__dev_format *t = spmv__dev_format_of(p->spec.format);
    return t->allowed ? t->allowed(d, p, v) : SPMV_OK;
}

/* 1: the knob, which is set in v, makes a difference to the part on the device, the other knobs being as in v. */
static int spmv__dev_knob_matters(const spmv_device *d, const spmv_part *p, const spmv_variant *v, spmv_knob k)
{
    const spmv__dev_format *t = spmv__dev_format_of(p->spec.format);
    if (k == SPMV_KNOB_REGS && !spmv__dev_takes_registers(d)) return 0;
    if ((k == SPMV_KNOB_NT || k == SPMV_KNOB_SHUF) && d->info.nvidia < SPMV__NVIDIA_VOLTA) return 0;
    return !t->matters || t->matters(p, v, k);
}

/* 1: slot numbers need 64 bits; lanes count up to 2^24 beyond the last slot. */
static int spmv__dev_wide(const spmv_part *p) { return p->a[SPMV_VAL].count > 0xffffffffu - (1u << 24); }

/* Elements of x in a texel of the image that a part's kernel reads; 0: it reads no image. 4 only if x begins at a multiple of 4. */
static int spmv__dev_texel(spmv_format f, spmv_type t, const uint64_t *n, const spmv_variant *v)
{
    if (!v->value[SPMV_KNOB_IMG]) return 0;
    return spmv__dev_has_blocks(f) && n[SPMV_BLOCK_BW] % 4 == 0 && t == SPMV_F32 && !v->value[SPMV_KNOB_ZERO] ? 4 : 1;
}

/* Checks that the device can read the image of x that the variant needs. */
static spmv_status spmv__dev_check_image(const spmv_device *d, const spmv_part *p, const spmv_variant *v)
{
    int texel = spmv__dev_texel(p->spec.format, p->type, p->n, v);
    if (!texel) return SPMV_OK;
    if (!d->info.image_texels) return spmv_log(&d->hooks, SPMV_ERR_UNSUPPORTED, "IMG=1: %s has no images", d->info.name);
    if (p->cols > d->info.image_texels)
        return spmv_log(&d->hooks, SPMV_ERR_LIMIT, "IMG=1: %llu columns exceed the device's limit of %llu texels in an image",
                        (spmv__ull)p->cols, (spmv__ull)d->info.image_texels);
    return d->info.backend->image_check(d, p->type, texel);
}

/* Gives defaults to the knobs that are not set in wish, then removes all knobs that make no difference. */
static void spmv__dev_fill_in(const spmv_device *d, const spmv_part *p, const spmv_variant *wish, spmv_variant *v)
{
    const spmv__dev_format *t = spmv__dev_format_of(p->spec.format);
    int k;
    for (k = 0; k < SPMV_KNOB_COUNT; k++)
        if (!spmv__dev_knob_set(wish, (spmv_knob)k) && spmv__dev_knob_taken(p->spec.format, (spmv_knob)k))
            spmv__dev_knob_choose(v, (spmv_knob)k, spmv__dev_knob_default((spmv_knob)k, d->info.type));
    if (t->defaults) t->defaults(d, p, wish, v);
    if (spmv__dev_knob_taken(p->spec.format, SPMV_KNOB_L) && !v->value[SPMV_KNOB_L]) v->value[SPMV_KNOB_L] = spmv__dev_lanes(d, p, v);
    if (spmv__dev_wide(p)) v->value[SPMV_KNOB_I64] = 1;
    if (!p->cols) v->value[SPMV_KNOB_IMG] = 0; /* there is no x */
    for (k = SPMV_KNOB_COUNT - 1; k >= 0; k--)
        if (!spmv__dev_knob_set(v, (spmv_knob)k) || !spmv__dev_knob_matters(d, p, v, (spmv_knob)k)) {
            v->set &= ~((uint64_t)1 << k);
            v->value[k] = k == SPMV_KNOB_L;
        }
}

/* Reproducible products add in the order of SPMV_REPEATS, so the knobs that would change it have only one legal value. */
static spmv_status spmv__dev_fix_order(const spmv_device *d, const spmv_part *p, spmv_variant *v)
{
    static const spmv_knob knobs[] = { SPMV_KNOB_L, SPMV_KNOB_STAGE, SPMV_KNOB_SLICE, SPMV_KNOB_GEN };
    int i, lanes = spmv__dev_format_of(p->spec.format)->repeat_lanes;
    for (i = 0; p->reproducible && i < (int)(sizeof knobs / sizeof *knobs); i++) {
        spmv_knob k = knobs[i];
        int value = k == SPMV_KNOB_L ? lanes : 0;
        if (!spmv__dev_knob_taken(p->spec.format, k)) continue;
        if (spmv__dev_knob_set(v, k) && v->value[k] != value)
            return spmv_log(&d->hooks, SPMV_ERR_UNSUPPORTED, "%s: reproducible products need %s=%d", spmv_format_name(p->spec.format),
                            spmv__knob_name(k), value);
        spmv__dev_knob_choose(v, k, value);
    }
    return SPMV_OK;
}

/* Lowers a default of WG until the device can run it, and makes L and WG fit each other by changing the one that is not set in wish. */
static void spmv__dev_fit_group(const spmv_device *d, const spmv_part *p, const spmv_variant *wish, spmv_variant *v)
{
    enum { LANES_GROUP = 32 /* a legal WG of every kernel with L */ };
    int fixed = spmv__dev_knob_set(wish, SPMV_KNOB_WG), fixed_l = spmv__dev_knob_set(wish, SPMV_KNOB_L);
    int *wg = &v->value[SPMV_KNOB_WG], *l = &v->value[SPMV_KNOB_L];
    while (!fixed && *wg > 1 && ((uint64_t)*wg > d->info.group_size || spmv__dev_local(p, v) > d->info.local_bytes)) *wg /= 2;
    if (!fixed && fixed_l && *l > *wg) *wg = *l < LANES_GROUP && LANES_GROUP <= d->info.group_size ? LANES_GROUP : *l;
    if (!fixed_l && *l > *wg) *l = *wg;
}

/* SPMV_ERR_ARGUMENT or SPMV_ERR_LIMIT if L, WG or the local memory of a complete variant is not possible. */
static spmv_status spmv__dev_check_group(const spmv_device *d, const spmv_part *p, const spmv_variant *v)
{
    const char *name = spmv_format_name(p->spec.format);
    int wg = v->value[SPMV_KNOB_WG], l = v->value[SPMV_KNOB_L];
    uint64_t local = spmv__dev_local(p, v);
    if (l > wg) return spmv_log(&d->hooks, SPMV_ERR_ARGUMENT, "%s: L=%d exceeds the work-group size %d", name, l, wg);
    if ((uint64_t)wg > d->info.group_size)
        return spmv_log(&d->hooks, SPMV_ERR_LIMIT, "%s: work-group size %d exceeds the device's limit of %llu", name, wg,
                        (spmv__ull)d->info.group_size);
    if (local > d->info.local_bytes)
        return spmv_log(&d->hooks, SPMV_ERR_LIMIT, "%s: %llu bytes of local memory exceed the device's limit of %llu", name,
                        (spmv__ull)local, (spmv__ull)d->info.local_bytes);
    return spmv__dev_allowed(d, p, v);
}

SPMV_API spmv_status spmv_variant_resolve(spmv_variant *v, const spmv_device *d, const spmv_part *p)
{
    if (!v || !d || !p) return spmv__null(d ? &d->hooks : NULL, "spmv_variant_resolve", !v ? "v" : !d ? "d" : "p", NULL, 0);
    const spmv__dev_format *t = spmv__dev_format_of(p->spec.format);
    spmv_variant wish;
    spmv_status s = spmv__dev_variant_check(v, p->spec.format, &d->hooks);
    if (!s) s = spmv__dev_fix_order(d, p, v);
    if (s) return s;
    wish = *v;
    spmv__dev_fill_in(d, p, &wish, v);
    if (t->fit) s = t->fit(d, p, &wish, v);
    if (!s) s = spmv__dev_check_image(d, p, v);
    if (s) return s;
    spmv__dev_fit_group(d, p, &wish, v);
    return spmv__dev_check_group(d, p, v);
}

/* *group: the largest work-group that the compiled kernel can run with. SPMV_ERR_LIMIT if it needs more local memory than the device
 * has. */
static spmv_status spmv__dev_inspect(const spmv_device *d, void *program, uint64_t *group)
{
    const spmv_backend *b = d->info.backend;
    uint64_t local = 0;
    void *kernel = NULL;
    spmv_status s = b->kernel(d, program, "spmv", &kernel);
    if (s) return s;
    s = b->kernel_limits(d, kernel, group, &local);
    if (!s && local > d->info.local_bytes)
        s = spmv_log(&d->hooks, SPMV_ERR_LIMIT, "the compiled kernel's %llu bytes of local memory exceed the device's limit of %llu",
                     (spmv__ull)local, (spmv__ull)d->info.local_bytes);
    b->kernel_free(d, kernel);
    return s;
}

/* Resolves the variant and builds its program. A default of WG is halved while the compiled kernel cannot run with it. */
static spmv_status spmv__dev_prepare(spmv_device *d, const spmv_part *p, const spmv_variant *wish, spmv_device_part *out)
{
    spmv__dev_options o;
    uint64_t group = 0;
    spmv_variant v = *wish;
    spmv_status s = spmv_variant_resolve(&v, d, p);
    if (s) return s;
    for (;;) {
        s = spmv__dev_describe_part(&o, d, p, &v);
        if (!s) s = spmv__device_program(d, p->spec.format, o.text, &out->program);
        if (!s) s = spmv__dev_inspect(d, out->program, &group);
        if (s || group >= (uint64_t)v.value[SPMV_KNOB_WG]) break;
        if (spmv__dev_knob_set(wish, SPMV_KNOB_WG) || v.value[SPMV_KNOB_WG] <= v.value[SPMV_KNOB_L] || v.value[SPMV_KNOB_WG] <= 1)
            return spmv_log(&d->hooks, SPMV_ERR_LIMIT, "%s: work-group size %d exceeds the compiled kernel's limit of %llu",
                            spmv_format_name(p->spec.format), v.value[SPMV_KNOB_WG], (spmv__ull)group);
        v.value[SPMV_KNOB_WG] /= 2;
        s = spmv__dev_allowed(d, p, &v);
        if (s) return s;
    }
    out->variant = v;
    return s;
}

#endif
