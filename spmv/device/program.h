/* SPDX-License-Identifier: MIT
 *
 * spmv/device/program.h - programs: from a part to its kernels, compiled once for each device.
 */
#ifndef SPMV__DEVICE_PROGRAM_H
#define SPMV__DEVICE_PROGRAM_H

#include "shipped.h"

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
    const spmv__dev_kernel *kernel = &spmv__dev_kernels[f];
    spmv_print(line, 64, "\n#line 1 \"kernels/%s\"\n", kernel->file);
    source->file = kernel->file;
    source->options = options;
    source->count = 0;
    spmv__dev_source_add(source, "#line 1 \"kernels/common.cl\"\n", spmv__src_common[0], sizeof spmv__src_common);
    spmv__dev_source_add(source, line, kernel->source, kernel->size);
    if (spmv__dev_walks_rows(f))
        spmv__dev_source_add(source, "\n#line 1 \"kernels/shell.cl\"\n", spmv__src_shell[0], sizeof spmv__src_shell);
    if (f < (int)SPMV_FORMAT_COUNT)
        spmv__dev_source_add(source, "\n#line 1 \"kernels/scale.cl\"\n", spmv__src_scale[0], sizeof spmv__src_scale);
}

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

/* The image of such source and options in a list, or NULL. */
static const spmv__image *spmv__image_among(const spmv__image *image, uint64_t source, const char *options)
{
    while (image && (image->source != source || strcmp((const char *)(image + 1), options) != 0)) image = image->next;
    return image;
}

/* The image of a program that was given to the device, or NULL. */
static const spmv__image *spmv__dev_image_of(const spmv_device *device, int f, const char *options)
{
    const spmv__image *images = spmv__dev_images(device);
    return images ? spmv__image_among(images, spmv__dev_source_hash(f), options) : NULL;
}

/* 1: the program ships for the device as PTX. */
static int spmv__dev_ships(const spmv_device *device, int f, const char *options)
{
    return spmv__ships(device) && spmv__shipped_of(spmv__dev_source_hash(f), options);
}

/* Makes a program from an image, which may be NULL. 1, or 0 if the driver does not take it; nobody is told, as it can be compiled. */
static int spmv__dev_load(const spmv_device *device, const spmv__image *image, void **out)
{
    spmv_device quiet = spmv__dev_quiet(device);
    const char *options = (const char *)(image + 1);
    return image && device->info.backend->load(&quiet, options, options + image->options, image->bytes, out) == SPMV_OK;
}

/* Makes a program from what ships. 1 or 0 as above. */
static int spmv__dev_load_shipped(const spmv_device *device, int f, const char *options, void **out)
{
    spmv__image *image = spmv__ships(device) ? spmv__shipped_take(device, spmv__dev_source_hash(f), options) : NULL;
    const int loaded = spmv__dev_load(device, image, out);
    spmv_free(&device->hooks, image);
    device->common->fresh |= loaded;
    return loaded;
}

/* Makes a program: from an image that was given, from what ships, or else from source. */
static spmv_status spmv__dev_build(spmv_device *device, int f, const char *options, void **out)
{
    char line[64];
    spmv_kernel_source source;
    spmv_status s;
    spmv__phase(&device->hooks, SPMV_PHASE_BUILD);
    if (spmv__dev_load(device, spmv__dev_image_of(device, f, options), out) ||
        (device->info.nvidia && spmv__dev_load_shipped(device, f, options, out)))
        s = SPMV_OK;
    else {
        spmv__dev_source(f, options, line, &source);
        s = device->info.backend->build(device, &source, out);
        device->compiled += s == SPMV_OK;
        device->common->fresh |= s == SPMV_OK;
    }
    spmv__phase(&device->hooks, SPMV_PHASE_UPLOAD);
    return s;
}

/* Makes a program that is not built yet. */
static spmv_status spmv__dev_unbuilt(spmv_device *device, int f, const char *options, spmv__program **out)
{
    const size_t n = strlen(options) + 1;
    void *block;
    spmv_status s = spmv__new(&device->hooks, &block, 1, sizeof **out + n, 0);
    if (s) return s;
    *out = (spmv__program *)block;
    (*out)->format = (spmv_format)f;
    (*out)->options = (const char *)memcpy(*out + 1, options, n);
    return SPMV_OK;
}

/* Adds a program to those that are built. */
static void spmv__dev_add_program(spmv_device *device, spmv__program *program)
{
    spmv__lock(&device->common->lock);
    program->next = device->common->programs;
    device->common->programs = program;
    spmv__unlock(&device->common->lock);
}

/* Builds a program and keeps it in device, which owns it. */
static spmv_status spmv__dev_new_program(spmv_device *device, int f, const char *options, const spmv__program **out)
{
    spmv__program *program = NULL;
    spmv_status s = spmv__dev_unbuilt(device, f, options, &program);
    if (s) return s;
    s = spmv__dev_build(device, f, options, &program->program);
    if (s) {
        spmv__program_free(device, program);
        return s;
    }
    spmv__dev_add_program(device, program);
    *out = program;
    return SPMV_OK;
}

/* The program that device has, or NULL. */
static const spmv__program *spmv__dev_built(const spmv_device *device, int f, const char *options)
{
    const spmv__program *program = spmv__dev_programs(device);
    while (program && ((int)program->format != f || strcmp(program->options, options) != 0)) program = program->next;
    return program;
}

static spmv_status spmv__dev_program_of(spmv_device *device, int f, const char *options, void **out)
{
    const spmv__program *program = spmv__dev_built(device, f, options);
    spmv_status s = SPMV_OK;
    if (!program) {
        spmv__lock(&device->common->building);
        program = spmv__dev_built(device, f, options); /* by now another thread may have built it */
        if (!program) s = spmv__dev_new_program(device, f, options, &program);
        spmv__unlock(&device->common->building);
    }
    if (!s) *out = program->program;
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
static spmv__batch *spmv__batch_new(const spmv_device *device)
{
    spmv_hooks quiet = device->hooks;
    void *block = NULL;
    quiet.log = spmv__dev_hush;
    if (device->info.backend->build_all && spmv__share_threads(2, 2) > 1) spmv__new(&quiet, &block, 1, sizeof(spmv__batch), 0);
    return (spmv__batch *)block;
}

/* Adds a program to a batch, which may be NULL, unless it is in it, is built, was given or ships. What does not fit is left out:
 * whoever needs it builds it alone. */
static void spmv__batch_add(const spmv_device *device, spmv__batch *batch, int f, const char *options)
{
    spmv_device quiet = spmv__dev_quiet(device);
    size_t i;
    if (!batch || batch->count == SPMV__BATCH || spmv__dev_built(device, f, options)) return;
    if (spmv__dev_image_of(device, f, options) || (device->info.nvidia && spmv__dev_ships(device, f, options))) return;
    for (i = 0; i < batch->count; i++)
        if ((int)batch->of[i]->format == f && !strcmp(batch->of[i]->options, options)) return;
    if (!spmv__dev_unbuilt(&quiet, f, options, &batch->of[i])) batch->count++;
}

/* Drops what another thread has built since. */
static void spmv__batch_thin(spmv_device *device, spmv__batch *batch)
{
    size_t i, n = 0;
    for (i = 0; i < batch->count; i++) {
        if (spmv__dev_built(device, (int)batch->of[i]->format, batch->of[i]->options)) spmv__program_free(device, batch->of[i]);
        else batch->of[n++] = batch->of[i];
    }
    batch->count = n;
}

/* Builds the programs of a batch, moves them to those that are built, and frees the batch, which may be NULL. One alone, and what fails, is
 * forgotten: whoever needs it builds it, and then the reason of a failure is reported. */
static void spmv__batch_build(spmv_device *device, spmv__batch *batch)
{
    spmv_device quiet = spmv__dev_quiet(device);
    size_t i;
    if (!batch) return;
    spmv__lock(&device->common->building);
    spmv__batch_thin(device, batch);
    if (batch->count > 1) {
        for (i = 0; i < batch->count; i++)
            spmv__dev_source((int)batch->of[i]->format, batch->of[i]->options, batch->line[i], &batch->source[i]);
        spmv__phase(&device->hooks, SPMV_PHASE_BUILD);
        device->info.backend->build_all(&quiet, batch->source, batch->count, batch->program);
        spmv__phase(&device->hooks, SPMV_PHASE_UPLOAD);
    }
    for (i = 0; i < batch->count; i++) {
        spmv__program *program = batch->of[i];
        program->program = batch->program[i];
        device->compiled += program->program != NULL;
        device->common->fresh |= program->program != NULL;
        if (program->program) spmv__dev_add_program(device, program);
        else spmv__program_free(device, program);
    }
    spmv__unlock(&device->common->building);
    spmv_free(&device->hooks, batch);
}

/* The program of a format for build options ("-DVAL=double -DVEC=double -DF64 -DWG=64 ..."); built if the device object has none yet.
 * For tools and tests: spmv_device_matrix_create finds the options by itself.
 *   options  NULL: none
 *   out      the program, which the device owns; NULL on failure */
SPMV__SHARED spmv_status spmv__device_program(spmv_device *device, spmv_format format, const char *options, void **out)
{
    if (!spmv__dev_is_here(device)) return spmv__dev_not_here(device, "spmv__device_program", out, sizeof *out);
    *out = NULL;
    if ((unsigned)format >= SPMV_FORMAT_COUNT) return spmv_log(&device->hooks, SPMV_ERR_ARGUMENT, "no such format");
    if (!spmv__dev_kernels[format].source)
        return spmv_log(&device->hooks, SPMV_ERR_UNSUPPORTED, "%s was left out of this build", spmv_format_name(format));
    return spmv__dev_program_of(device, (int)format, options ? options : "", out);
}

/* ---- programs as a string of bytes ----------------------------------------------------------------------------------- */

/* Numbers of 8 bytes in the machine's own order, which the first of them shows: what it is, the length of the whole, a checksum of all that
 * follows, a hash that identifies the device, the number of programs. For each program: the hash of its source, the lengths of its options
 * (with a zero at the end) and of its image, and their bytes, without padding. */
enum { SPMV__PACK_MAGIC, SPMV__PACK_BYTES, SPMV__PACK_SUM, SPMV__PACK_DEVICE, SPMV__PACK_COUNT, SPMV__PACK_HEAD };
enum { SPMV__PACK_SOURCE, SPMV__PACK_OPTIONS, SPMV__PACK_IMAGE, SPMV__PACK_ENTRY };
#define SPMV__PACK_VERSION UINT64_C(0x31676b7076706d73) /* "smpvpkg1"; the last character is the version of this form */

/* A hash of what compiled programs depend on beside their source: the back end, the device and its driver. */
static uint64_t spmv__dev_identity(const spmv_device *device)
{
    const spmv_device_info *info = &device->info;
    const char *text[] = { info->backend->name, info->name, info->vendor, info->version, info->driver, info->platform };
    uint64_t hash = spmv__hash(SPMV__HASH_BEGIN, &info->address_bits, sizeof info->address_bits);
    size_t k;
    for (k = 0; k < sizeof text / sizeof *text; k++) hash = spmv__hash(hash, text[k], strlen(text[k]) + 1);
    return spmv__hash(hash, &info->nvidia, sizeof info->nvidia);
}

/* Writes a program at *at and moves *at behind it. */
static void spmv__pack_one(unsigned char **at, const spmv__image *image)
{
    uint64_t head[SPMV__PACK_ENTRY];
    head[SPMV__PACK_SOURCE] = image->source;
    head[SPMV__PACK_OPTIONS] = image->options;
    head[SPMV__PACK_IMAGE] = image->bytes;
    memcpy(*at, head, sizeof head);
    memcpy(*at + sizeof head, image + 1, image->options + image->bytes);
    *at += sizeof head + image->options + image->bytes;
}

/* Writes the string of the programs in two lists, of which those in the second one count that are not in the first. */
static spmv_status spmv__pack(const spmv_device *device, const spmv__image *const list[2], void **out, size_t *bytes)
{
    uint64_t head[SPMV__PACK_HEAD], size = sizeof head;
    const spmv__image *image;
    unsigned char *at;
    int k;
    spmv_status s;
    memset(head, 0, sizeof head);
    for (k = 0; k < 2; k++)
        for (image = list[k]; image; image = image->next)
            if (!k || !spmv__image_among(list[0], image->source, (const char *)(image + 1))) {
                size += SPMV__PACK_ENTRY * sizeof *head + image->options + image->bytes;
                head[SPMV__PACK_COUNT]++;
            }
    s = spmv__room(&device->hooks, out, size, 1);
    if (s) return s;
    at = (unsigned char *)*out + sizeof head;
    for (k = 0; k < 2; k++)
        for (image = list[k]; image; image = image->next)
            if (!k || !spmv__image_among(list[0], image->source, (const char *)(image + 1))) spmv__pack_one(&at, image);
    head[SPMV__PACK_MAGIC] = SPMV__PACK_VERSION;
    head[SPMV__PACK_BYTES] = size;
    head[SPMV__PACK_DEVICE] = spmv__dev_identity(device);
    memcpy(*out, head, sizeof head);
    at = (unsigned char *)*out + (SPMV__PACK_SUM + 1) * sizeof *head;
    head[SPMV__PACK_SUM] = spmv__hash(SPMV__HASH_BEGIN, at, (size_t)size - (SPMV__PACK_SUM + 1) * sizeof *head);
    memcpy(*out, head, sizeof head);
    *bytes = (size_t)size;
    return SPMV_OK;
}

/* Makes an image of a program and puts it before *list, unless the back end has none. */
static spmv_status spmv__pack_image(const spmv_device *device, const spmv__program *program, spmv__image **list)
{
    void *from = NULL;
    size_t bytes = 0;
    spmv__image *image = NULL;
    spmv_status s = device->info.backend->image_of(device, program->program, &from, &bytes);
    if (!s && bytes) image = spmv__image_new(device, spmv__dev_source_hash((int)program->format), program->options, bytes);
    if (!s && bytes && !image) s = SPMV_ERR_MEMORY;
    if (image) {
        memcpy((char *)(image + 1) + image->options, from, bytes);
        image->next = *list;
        *list = image;
    }
    spmv_free(&device->hooks, from);
    return s;
}

SPMV_API spmv_status spmv_device_programs_take(const spmv_device *device, void **out, size_t *bytes)
{
    if (bytes) *bytes = 0;
    if (!device || !out || !bytes)
        return spmv__null(device ? &device->hooks : NULL, "spmv_device_programs_take", !device ? "device" : !out ? "out" : "bytes", out,
                          sizeof *out);
    if (!spmv__dev_is_here(device)) return spmv__dev_not_here(device, "spmv_device_programs_take", out, sizeof *out);
    const spmv__program *program = spmv__dev_programs(device);
    const spmv__image *list[2];
    spmv__image *made = NULL;
    spmv_status s = SPMV_OK;
    *out = NULL;
    for (; program && !s; program = program->next) s = spmv__pack_image(device, program, &made);
    list[0] = made;
    list[1] = spmv__dev_images(device);
    if (!s) s = spmv__pack(device, list, out, bytes);
    spmv__images_free(device, made);
    return s;
}

/* 1 if these are all the bytes of a string that was taken from such a device. */
static int spmv__pack_is_whole(const spmv_device *device, const unsigned char *from, size_t bytes)
{
    const size_t summed = (SPMV__PACK_SUM + 1) * sizeof(uint64_t);
    uint64_t head[SPMV__PACK_HEAD];
    if (bytes < sizeof head) return 0;
    memcpy(head, from, sizeof head);
    return head[SPMV__PACK_MAGIC] == SPMV__PACK_VERSION && head[SPMV__PACK_BYTES] == bytes &&
           head[SPMV__PACK_DEVICE] == spmv__dev_identity(device) &&
           head[SPMV__PACK_SUM] == spmv__hash(SPMV__HASH_BEGIN, from + summed, bytes - summed);
}

/* Copies the program at from, of which at most left bytes are there, to the device's images. *used: its length, 0 if it does not fit in
 * them. */
static spmv_status spmv__unpack_one(spmv_device *device, const unsigned char *from, size_t left, size_t *used)
{
    uint64_t head[SPMV__PACK_ENTRY];
    spmv__image *image;
    *used = 0;
    if (left < sizeof head) return SPMV_OK;
    memcpy(head, from, sizeof head);
    left -= sizeof head;
    if (!head[SPMV__PACK_OPTIONS] || head[SPMV__PACK_OPTIONS] > left || head[SPMV__PACK_IMAGE] > left - head[SPMV__PACK_OPTIONS])
        return SPMV_OK;
    if (from[sizeof head + head[SPMV__PACK_OPTIONS] - 1]) return SPMV_OK;
    left = (size_t)(head[SPMV__PACK_OPTIONS] + head[SPMV__PACK_IMAGE]);
    image = spmv__image_new(device, head[SPMV__PACK_SOURCE], (const char *)from + sizeof head, (size_t)head[SPMV__PACK_IMAGE]);
    if (!image) return SPMV_ERR_MEMORY;
    memcpy((char *)(image + 1) + image->options, from + sizeof head + image->options, image->bytes);
    spmv__image_add(device, image);
    *used = sizeof head + left;
    return SPMV_OK;
}

SPMV_API spmv_status spmv_device_programs_give(spmv_device *device, const void *from, size_t bytes)
{
    if (!device || (bytes && !from))
        return spmv__null(device ? &device->hooks : NULL, "spmv_device_programs_give", device ? "from" : "device", NULL, 0);
    if (!spmv__dev_is_here(device)) return spmv__dev_not_here(device, "spmv_device_programs_give", NULL, 0);
    const unsigned char *at = (const unsigned char *)from;
    size_t used = SPMV__PACK_HEAD * sizeof(uint64_t);
    spmv_status s = SPMV_OK;
    if (!bytes) spmv__set_flag(&device->common->keeps);
    if (!spmv__pack_is_whole(device, at, bytes)) return SPMV_OK;
    for (at += used, bytes -= used; bytes && used && !s; at += used, bytes -= used) s = spmv__unpack_one(device, at, bytes, &used);
    return s;
}

/* ---- from a part to its program: options and variant ---------------------------------------------------------------- */

/*   codes  as of a part */
static void spmv__dev_option_types(spmv__dev_options *options, spmv_type type, int codes)
{
    spmv__dev_option(options, "VAL", spmv_value_size(type) == sizeof(double) ? "double" : "float");
    if (codes) spmv__dev_option_number(options, "CODES", (uint64_t)codes);
    spmv__dev_option(options, "VEC", type == SPMV_F32 ? "float" : "double");
    if (type != SPMV_F32) spmv__dev_option(options, "F64", "1");
}

/* 1: an array that a part may have, or SPMV__NO_ARRAY, has elements of width bytes. */
static int spmv__dev_width_is(const spmv_part *p, int array, uint32_t width)
{
    return array != SPMV__NO_ARRAY && p->a[array].width == width;
}

/* Writes the build options of a part's kernel: types, what follows from its arrays, keys and integers, then the knobs.
 * SPMV_ERR_OVERFLOW if they are too long. */
static spmv_status spmv__dev_describe_part(spmv__dev_options *options, const spmv_device *device, const spmv_part *p,
                                           const spmv_variant *variant)
{
    spmv_format format = p->spec.format;
    const spmv__dev_format *record = spmv__dev_format_of(format);
    const char *const *ints = spmv__dev_kernels[format].ints;
    int i, k;
    options->used = 0;
    spmv__dev_option_types(options, p->product, p->codes);
    if (device->info.nvidia) spmv__dev_option_number(options, "NVIDIA", device->info.nvidia);
    if (device->info.type == SPMV_DEVICE_CPU) spmv__dev_option(options, "CPU", "1");
    if (record->options) record->options(options, p);
    spmv__dev_option(options, "OFF", spmv__dev_width_is(p, record->offsets, 8) ? "ulong" : "uint");
    spmv__dev_option_number(options, "LIST", p->list.count != 0);
    if (spmv__dev_width_is(p, record->columns, 2)) spmv__dev_option(options, "IDX16", "1");
    if (p->reproducible) spmv__dev_option(options, "REPEAT", "1");
    for (i = 0; ints[i]; i++)
        if (spmv__dev_int_is_macro(format, i)) spmv__dev_option_number(options, ints[i], record->macro ? record->macro(p, i) : p->n[i]);
    for (k = 0; k < SPMV_KNOB_COUNT; k++)
        if (spmv__dev_knob_set(variant, (spmv_knob)k))
            spmv__dev_option_number(options, spmv__knob_name((spmv_knob)k), (uint64_t)variant->value[k]);
    if (options->used >= sizeof options->text)
        return spmv_log(&device->hooks, SPMV_ERR_OVERFLOW, "build options longer than %llu bytes", (spmv__ull)sizeof options->text);
    return SPMV_OK;
}

/* Local memory that a part's kernel declares. */
static uint64_t spmv__dev_local(const spmv_part *p, const spmv_variant *variant)
{
    const spmv__dev_format *record = spmv__dev_format_of(p->spec.format);
    return record->local ? record->local(p, variant) : spmv__dev_local_lanes(p, variant);
}

/* SPMV_ERR_LIMIT if the device cannot run the variant, whose work-group size is final. */
static spmv_status spmv__dev_allowed(const spmv_device *device, const spmv_part *p, const spmv_variant *variant)
{
    const spmv__dev_format *record = spmv__dev_format_of(p->spec.format);
    return record->allowed ? record->allowed(device, p, variant) : SPMV_OK;
}

/* 1: the knob, which is set in variant, makes a difference to the part on the device, the other knobs being as in variant. */
static int spmv__dev_knob_matters(const spmv_device *device, const spmv_part *p, const spmv_variant *variant, spmv_knob knob)
{
    const spmv__dev_format *record = spmv__dev_format_of(p->spec.format);
    if (knob == SPMV_KNOB_REGS && !spmv__dev_takes_registers(device)) return 0;
    if ((knob == SPMV_KNOB_NT || knob == SPMV_KNOB_SHUF) && device->info.nvidia < SPMV__NVIDIA_VOLTA) return 0;
    return !record->matters || record->matters(p, variant, knob);
}

/* 1: slot numbers need 64 bits; lanes count up to 2^24 beyond the last slot. */
static int spmv__dev_wide(const spmv_part *p) { return p->a[SPMV_VAL].count > 0xffffffffu - (1u << 24); }

/* Checks that the device can read the image of x that the variant needs. */
static spmv_status spmv__dev_check_image(const spmv_device *device, const spmv_part *p, const spmv_variant *variant)
{
    if (!variant->value[SPMV_KNOB_IMG]) return SPMV_OK;
    if (!device->info.image_texels) return spmv_log(&device->hooks, SPMV_ERR_UNSUPPORTED, "IMG=1: %s has no images", device->info.name);
    if (p->cols > device->info.image_texels)
        return spmv_log(&device->hooks, SPMV_ERR_LIMIT, "IMG=1: %llu columns exceed the device's limit of %llu texels in an image",
                        (spmv__ull)p->cols, (spmv__ull)device->info.image_texels);
    return device->info.backend->image_check(device, p->type);
}

/* Gives defaults to the knobs that are not set in wish, then removes all knobs that make no difference. */
static void spmv__dev_fill_in(const spmv_device *device, const spmv_part *p, const spmv_variant *wish, spmv_variant *variant)
{
    const spmv__dev_format *record = spmv__dev_format_of(p->spec.format);
    int k;
    for (k = 0; k < SPMV_KNOB_COUNT; k++)
        if (!spmv__dev_knob_set(wish, (spmv_knob)k) && spmv__dev_has_knob(p->spec.format, (spmv_knob)k))
            spmv__dev_knob_choose(variant, (spmv_knob)k, spmv__dev_knob_default((spmv_knob)k, device->info.type));
    if (record->defaults) record->defaults(device, p, wish, variant);
    if (spmv__dev_has_knob(p->spec.format, SPMV_KNOB_L) && !variant->value[SPMV_KNOB_L])
        variant->value[SPMV_KNOB_L] = spmv__dev_lanes(device, p, variant);
    if (spmv__dev_wide(p)) variant->value[SPMV_KNOB_I64] = 1;
    if (!p->cols) variant->value[SPMV_KNOB_IMG] = 0; /* there is no x */
    for (k = SPMV_KNOB_COUNT - 1; k >= 0; k--)
        if (!spmv__dev_knob_set(variant, (spmv_knob)k) || !spmv__dev_knob_matters(device, p, variant, (spmv_knob)k)) {
            variant->set &= ~((uint64_t)1 << k);
            variant->value[k] = k == SPMV_KNOB_L;
        }
}

/* Reproducible products add in the order of SPMV_REPEATS, so the knobs that would change it have only one legal value. */
static spmv_status spmv__dev_fix_order(const spmv_device *device, const spmv_part *p, spmv_variant *variant)
{
    static const spmv_knob knobs[] = { SPMV_KNOB_L, SPMV_KNOB_STAGE };
    int i, lanes = spmv__dev_format_of(p->spec.format)->repeat_lanes;
    for (i = 0; p->reproducible && i < (int)(sizeof knobs / sizeof *knobs); i++) {
        spmv_knob knob = knobs[i];
        int value = knob == SPMV_KNOB_L ? lanes : 0;
        if (!spmv__dev_has_knob(p->spec.format, knob)) continue;
        if (spmv__dev_knob_set(variant, knob) && variant->value[knob] != value)
            return spmv_log(&device->hooks, SPMV_ERR_UNSUPPORTED, "%s: reproducible products need %s=%d", spmv_format_name(p->spec.format),
                            spmv__knob_name(knob), value);
        spmv__dev_knob_choose(variant, knob, value);
    }
    return SPMV_OK;
}

/* Lowers a default of WG until the device can run it, and makes L and WG fit each other by changing the one that is not set in wish. */
static void spmv__dev_fit_group(const spmv_device *device, const spmv_part *p, const spmv_variant *wish, spmv_variant *variant)
{
    enum { LANES_GROUP = 32 /* a legal WG of every kernel with L */ };
    int fixed = spmv__dev_knob_set(wish, SPMV_KNOB_WG), fixed_l = spmv__dev_knob_set(wish, SPMV_KNOB_L);
    int *wg = &variant->value[SPMV_KNOB_WG], *l = &variant->value[SPMV_KNOB_L];
    while (!fixed && *wg > 1 && ((uint64_t)*wg > device->info.group_size || spmv__dev_local(p, variant) > device->info.local_bytes))
        *wg /= 2;
    if (!fixed && fixed_l && *l > *wg) *wg = *l < LANES_GROUP && LANES_GROUP <= device->info.group_size ? LANES_GROUP : *l;
    if (!fixed_l && *l > *wg) *l = *wg;
}

/* SPMV_ERR_ARGUMENT or SPMV_ERR_LIMIT if L, WG or the local memory of a complete variant is not possible. */
static spmv_status spmv__dev_check_group(const spmv_device *device, const spmv_part *p, const spmv_variant *variant)
{
    const char *name = spmv_format_name(p->spec.format);
    int wg = variant->value[SPMV_KNOB_WG], l = variant->value[SPMV_KNOB_L];
    uint64_t local = spmv__dev_local(p, variant);
    if (l > wg) return spmv_log(&device->hooks, SPMV_ERR_ARGUMENT, "%s: L=%d exceeds the work-group size %d", name, l, wg);
    if ((uint64_t)wg > device->info.group_size)
        return spmv_log(&device->hooks, SPMV_ERR_LIMIT, "%s: work-group size %d exceeds the device's limit of %llu", name, wg,
                        (spmv__ull)device->info.group_size);
    if (local > device->info.local_bytes)
        return spmv_log(&device->hooks, SPMV_ERR_LIMIT, "%s: %llu bytes of local memory exceed the device's limit of %llu", name,
                        (spmv__ull)local, (spmv__ull)device->info.local_bytes);
    return spmv__dev_allowed(device, p, variant);
}

SPMV_API spmv_status spmv_variant_resolve(spmv_variant *variant, const spmv_device *device, const spmv_part *p)
{
    if (!variant || !device || !p)
        return spmv__null(device ? &device->hooks : NULL, "spmv_variant_resolve", !variant ? "variant" : !device ? "device" : "p", NULL, 0);
    const spmv__dev_format *record = spmv__dev_format_of(p->spec.format);
    spmv_variant wish;
    spmv_status s = spmv__dev_variant_check(variant, p->spec.format, &device->hooks);
    if (!s) s = spmv__dev_fix_order(device, p, variant);
    if (s) return s;
    wish = *variant;
    spmv__dev_fill_in(device, p, &wish, variant);
    if (record->fit) s = record->fit(device, p, &wish, variant);
    if (!s) s = spmv__dev_check_image(device, p, variant);
    if (s) return s;
    spmv__dev_fit_group(device, p, &wish, variant);
    return spmv__dev_check_group(device, p, variant);
}

/* *group: the largest work-group that the compiled kernel can run with. SPMV_ERR_LIMIT if it needs more local memory than the device
 * has. */
static spmv_status spmv__dev_inspect(const spmv_device *device, void *program, uint64_t *group)
{
    const spmv_backend *back = device->info.backend;
    uint64_t local = 0;
    void *kernel = NULL;
    spmv_status s = back->kernel(device, program, "spmv", &kernel);
    if (s) return s;
    s = back->kernel_limits(device, kernel, group, &local);
    if (!s && local > device->info.local_bytes)
        s = spmv_log(&device->hooks, SPMV_ERR_LIMIT, "the compiled kernel's %llu bytes of local memory exceed the device's limit of %llu",
                     (spmv__ull)local, (spmv__ull)device->info.local_bytes);
    back->kernel_free(device, kernel);
    return s;
}

/* Resolves the variant and builds its program. A default of WG is halved while the compiled kernel cannot run with it. */
static spmv_status spmv__dev_prepare(spmv_device *device, const spmv_part *p, const spmv_variant *wish, spmv_device_part *out)
{
    spmv__dev_options options;
    uint64_t group = 0;
    spmv_variant variant = *wish;
    spmv_status s = spmv_variant_resolve(&variant, device, p);
    if (s) return s;
    for (;;) {
        s = spmv__dev_describe_part(&options, device, p, &variant);
        if (!s) s = spmv__device_program(device, p->spec.format, options.text, &out->program);
        if (!s) s = spmv__dev_inspect(device, out->program, &group);
        if (s || group >= (uint64_t)variant.value[SPMV_KNOB_WG]) break;
        if (spmv__dev_knob_set(wish, SPMV_KNOB_WG) || variant.value[SPMV_KNOB_WG] <= variant.value[SPMV_KNOB_L] ||
            variant.value[SPMV_KNOB_WG] <= 1)
            return spmv_log(&device->hooks, SPMV_ERR_LIMIT, "%s: work-group size %d exceeds the compiled kernel's limit of %llu",
                            spmv_format_name(p->spec.format), variant.value[SPMV_KNOB_WG], (spmv__ull)group);
        variant.value[SPMV_KNOB_WG] /= 2;
        s = spmv__dev_allowed(device, p, &variant);
        if (s) return s;
    }
    out->variant = variant;
    return s;
}

#endif
