/* SPDX-License-Identifier: MIT
 * ptx - compiles by NVRTC the programs that ship as PTX, and writes spmv/generated/ptx.h. No GPU and no driver is needed.
 *     ptx LIST OUT
 * A line of LIST names a kernel's file and the options of a program, as the library builds it for a device of compute capability 7.0;
 * lines of a file stand together. What spmv/device/shipped.h unpacks is packed here: the programs of a file, one behind the other, without
 * comments and blanks, with registers numbered from the one of the same kind before. The output depends on LIST, the kernels and the
 * version of NVRTC alone. Where OUT has all programs of LIST, and the kernels and this file (PTX_SOURCE, a checksum) are those that it was
 * made from, nothing is done.
 * Exit status 77: NVRTC is not there. */
#define SPMV_NO_OPENCL
#define SPMV_NO_PTX
#define SPMV_IMPLEMENTATION
#include "spmv.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#define BY "tools/gen/ptx/ptx.c of checksum %u"

enum { NO_COMPILER = 77, PROGRAMS = 2000, LINE = 1024, ROOM = 1 << 26, TRIES = 300, HASHES = 1 << 18 };

typedef struct program {
    char     file[32], options[LINE];
    int      format;
    uint64_t hash;
    unsigned at, size, bytes;
} program;

static program all[PROGRAMS];
static int count;

static void stop(const char *what, const char *about)
{
    fprintf(stderr, "ptx: %s%s\n", what, about);
    exit(1);
}

static void *room(size_t bytes)
{
    void *block = calloc(bytes, 1);
    if (!block) stop("no memory", "");
    return block;
}

/* ---- what there is to compile ------------------------------------------------------------------------------------------ */

static void read_list(const char *name)
{
    char line[LINE];
    FILE *from = fopen(name, "r");
    if (!from) stop("cannot read ", name);
    while (fgets(line, sizeof line, from)) {
        program *p = &all[count];
        char *blank = strchr(line, ' ');
        if (*line == '#') continue;
        line[strcspn(line, "\n")] = 0;
        if (!blank || count == PROGRAMS) stop("too many programs, or not a file and options: ", line);
        *blank = 0;
        snprintf(p->file, sizeof p->file, "%.31s", line);
        snprintf(p->options, sizeof p->options, "%s", blank + 1);
        while (p->format < (int)(sizeof spmv__dev_kernels / sizeof *spmv__dev_kernels) &&
               strcmp(spmv__dev_kernels[p->format].file, p->file) != 0)
            p->format++;
        if (p->format == (int)(sizeof spmv__dev_kernels / sizeof *spmv__dev_kernels)) stop("no such kernel: ", line);
        p->hash = spmv__shipped_hash(spmv__dev_source_hash(p->format), p->options);
        count++;
    }
    fclose(from);
}

/* 1: the header has these programs in this order, and was made by this file. */
static int is_current(const char *name)
{
    static const char begin[] = "{ UINT64_C(0x";
    char line[LINE], by[64];
    int found = 0, good = 1, same = 0;
    FILE *from = fopen(name, "r");
    if (!from) return 0;
    snprintf(by, sizeof by, BY, PTX_SOURCE);
    while (good && fgets(line, sizeof line, from)) {
        const char *at = strstr(line, begin);
        same |= strstr(line, by) != NULL;
        if (at) good = found < count && strtoull(at + sizeof begin - 1, NULL, 16) == all[found++].hash;
    }
    fclose(from);
    return good && same && found == count;
}

/* ---- compiling ----------------------------------------------------------------------------------------------------------- */

static char *compile(const spmv_device *device, const program *p)
{
    const struct spmv__cuda_loaded *api = &spmv__cuda_api;
    const int repeat = strstr(p->options, "-DREPEAT=1") != NULL; /* as spmv__cuda_compile */
    /* SHIPPED is for cuda.cuh, which stands before the program's own options */
    const char *options[] = { "--gpu-architecture=compute_75", repeat ? "--fmad=false" : "--fmad=true", "--minimal", "-DSHIPPED" };
    char line[64], *text, *ptx;
    spmv_kernel_source source;
    void *made = NULL;
    size_t bytes = 0;
    spmv__dev_source(p->format, p->options, line, &source);
    text = spmv__cuda_text(device, &source);
    if (!text || api->p_nvrtcCreateProgram(&made, text, p->file, 0, NULL, NULL)) stop("cannot compile ", p->file);
    if (api->p_nvrtcCompileProgram(made, 4, options)) stop("does not compile: ", p->options);
    if (api->p_nvrtcGetPTXSize(made, &bytes)) stop("no PTX of ", p->file);
    ptx = (char *)room(bytes + 1);
    if (api->p_nvrtcGetPTX(made, ptx)) stop("no PTX of ", p->file);
    api->p_nvrtcDestroyProgram(&made);
    free(text);
    return ptx;
}

/* Removes comments, blanks that separate nothing, and empty lines; sets the oldest version and architecture that have all that is used. */
static void thin(char *ptx)
{
    static const char version[] = ".version 7.8", target[] = ".target sm_70";
    char *to = ptx, *at;
    const char *from = ptx;
    while (*from) {
        char c = *from++;
        if (c == '/' && *from == '/') from += strcspn(from, "\n");
        else if (c == ' ' || c == '\t') {
            if (to > ptx && !strchr("\n,:; ", to[-1])) *to++ = ' ';
        } else if (c == '\n') {
            while (to > ptx && to[-1] == ' ') to--;
            if (to > ptx && to[-1] != '\n') *to++ = c;
        } else *to++ = c;
    }
    *to = 0;
    at = strstr(ptx, ".version ");
    if (!at || strcspn(at, "\n") != sizeof version - 1) stop("no version: ", ptx);
    memcpy(at, version, sizeof version - 1);
    at = strstr(ptx, ".target ");
    if (!at || strcspn(at, "\n") != sizeof target - 1) stop("no target: ", ptx);
    memcpy(at, target, sizeof target - 1);
    if (strpbrk(ptx, "~^`")) stop("a character that packing needs: ", ptx);
}

/* What spmv__shipped_write makes the PTX of. */
static size_t relate(const char *ptx, char *to)
{
    char *const begin = to;
    unsigned last[128] = { 0 };
    while (*ptx) {
        unsigned kind = 0;
        char *end;
        *to++ = *ptx == '\n' ? '~' : *ptx;
        if (*ptx++ != '%') continue;
        while (isalpha((unsigned char)*ptx)) {
            kind = (kind + (unsigned char)*ptx) % 128;
            *to++ = *ptx++;
        }
        if (isdigit((unsigned char)*ptx)) {
            const unsigned n = (unsigned)strtoul(ptx, &end, 10);
            to += n < last[kind] ? sprintf(to, "`%u", last[kind] - n) : sprintf(to, "^%u", n - last[kind]);
            last[kind] = n;
            ptx = end;
        }
    }
    return (size_t)(to - begin);
}

/* ---- packing ------------------------------------------------------------------------------------------------------------- */

static int number(char *to, size_t n)
{
    int length = 0;
    do {
        if (to) to[length] = (char)('#' + (n & 31u) + (n > 31 ? 32 : 0));
        length++;
        n >>= 5;
    } while (n);
    return length;
}

typedef struct packer {
    const char *text;
    size_t      size, indexed;
    unsigned   *head, *before; /* positions plus 1 where the same five characters were seen */
    size_t      last;          /* distance */
} packer;

typedef struct match {
    size_t length, distance;
    long   gain; /* characters that it spares */
} match;

static unsigned slot(const char *at)
{
    return (unsigned)(spmv__hash(SPMV__HASH_BEGIN, at, 5) >> 20) % HASHES;
}

static void index_to(packer *p, size_t end)
{
    for (; p->indexed < end && p->indexed + 5 < p->size; p->indexed++) {
        unsigned *head = &p->head[slot(p->text + p->indexed)];
        p->before[p->indexed] = *head;
        *head = (unsigned)p->indexed + 1;
    }
}

static void try_match(const packer *p, size_t at, size_t distance, match *best)
{
    match m;
    m.length = 0;
    m.distance = distance;
    while (at + m.length < p->size && p->text[at + m.length] == p->text[at + m.length - distance]) m.length++;
    m.gain = (long)m.length - number(NULL, m.length) - (distance == p->last ? 1 : number(NULL, distance)) - 1;
    if (m.gain > best->gain) *best = m;
}

static match find(packer *p, size_t at)
{
    match best = { 0, 0, 0 };
    unsigned k, next;
    index_to(p, at);
    if (p->last && p->last <= at) try_match(p, at, p->last, &best);
    if (at + 5 >= p->size) return best;
    for (k = 0, next = p->head[slot(p->text + at)]; next && k < TRIES; k++, next = p->before[next - 1]) {
        const size_t distance = at - (next - 1);
        if (at + best.length < p->size && p->text[at + best.length] == p->text[at + best.length - distance])
            try_match(p, at, distance, &best);
    }
    return best;
}

/* Packs size characters; a match one character later that spares more comes first. Returns the length. */
static size_t pack(const char *text, size_t size, char *to)
{
    packer p;
    size_t at = 0, plain = 0, n = 0;
    memset(&p, 0, sizeof p);
    p.text = text;
    p.size = size;
    p.head = (unsigned *)room(HASHES * sizeof *p.head);
    p.before = (unsigned *)room(size * sizeof *p.before);
    while (at < size) {
        match m = find(&p, at);
        if (m.gain <= 0 || find(&p, at + 1).gain > m.gain + 1) {
            at++;
            plain++;
            if (at < size) continue;
            m.length = 0;
        }
        n += (size_t)number(to + n, plain);
        memcpy(to + n, text + at - plain, plain);
        n += plain;
        plain = 0;
        if (!m.length) break;
        n += (size_t)number(to + n, m.length);
        n += (size_t)number(to + n, m.distance == p.last ? 0 : m.distance);
        p.last = m.distance;
        at += m.length;
    }
    free(p.head);
    free(p.before);
    return n;
}

/* ---- the header ---------------------------------------------------------------------------------------------------------- */

/* NAME in capitals for csr.cl, whose program may be left out; NULL for those that are not of formats. */
static const char *format_of(const program *p)
{
    static char name[32];
    int i;
    if (p->format >= (int)SPMV_FORMAT_COUNT) return NULL;
    for (i = 0; p->file[i] != '.'; i++) name[i] = (char)toupper((unsigned char)p->file[i]);
    name[i] = 0;
    return name;
}

/* As rows of SPMV__PIECE_BYTES characters, the last of which is zero, in lines of at most 120. */
static void write_pieces(FILE *out, const program *p, const char *packed, size_t size)
{
    size_t i;
    fprintf(out, "static const char spmv__ptx_%.*s[][SPMV__PIECE_BYTES] = {", (int)strcspn(p->file, "."), p->file);
    for (i = 0; i < size; i++) {
        const size_t column = i % (SPMV__PIECE_BYTES - 1);
        if (!column) fprintf(out, "%s\n    \"", i ? "\"," : "");
        else if (column % 110 == 0) fprintf(out, "\"\n    \"");
        if (packed[i] == '"' || packed[i] == '\\' || packed[i] == '?') fputc('\\', out);
        fputc(packed[i], out);
    }
    fprintf(out, "\"\n    \"\" \"\"\n};\n");
}

/* Compiles and packs the programs of a file, from number first on; returns the number behind the last. */
static int write_file(FILE *out, const spmv_device *device, int first)
{
    char *text = (char *)room(ROOM), *packed = (char *)room(ROOM);
    const char *format = format_of(&all[first]);
    size_t size = 0;
    int i;
    for (i = first; i < count && all[i].format == all[first].format; i++) {
        char *ptx = compile(device, &all[i]);
        thin(ptx);
        all[i].at = (unsigned)size;
        all[i].bytes = (unsigned)strlen(ptx);
        all[i].size = (unsigned)relate(ptx, text + size);
        size += all[i].size;
        free(ptx);
        if (size > ROOM / 2) stop("too long: ", all[i].file);
    }
    if (format) fprintf(out, "#ifndef SPMV__NO_%s\n", format);
    write_pieces(out, &all[first], packed, pack(text, size, packed));
    if (format) fprintf(out, "#endif\n");
    free(text);
    free(packed);
    return i;
}

static void write_table(FILE *out)
{
    int i;
    fprintf(out, "static const spmv__shipped spmv__shipped_all[] = {\n");
    for (i = 0; i < count; i++) {
        const program *p = &all[i];
        const char *format = format_of(p);
        const int begins = !i || p[-1].format != p->format, ends = i + 1 == count || p[1].format != p->format;
        if (begins && format) fprintf(out, "#ifndef SPMV__NO_%s\n", format);
        fprintf(out, "    { UINT64_C(0x%016llx), spmv__ptx_%.*s[0], %u, %u, %u },\n", (unsigned long long)p->hash,
                (int)strcspn(p->file, "."), p->file, p->at, p->size, p->bytes);
        if (ends && format) fprintf(out, "#endif\n");
    }
    fprintf(out, "    { 0, NULL, 0, 0, 0 }\n};\n");
}

int main(int argc, char **argv)
{
    spmv_device device;
    char name[256];
    int first = 0;
    FILE *out;
    if (argc != 3) stop("usage: ptx LIST OUT", "");
    memset(&device, 0, sizeof device);
    read_list(argv[1]);
    if (is_current(argv[2])) return 0;
    spmv__cuda_api.version = 13000; /* NVRTC of this version or an older one; the driver is not needed */
    if (!spmv__load_once(&spmv__cuda_api.compiler, spmv__cuda_load_compiler, &device.hooks)) {
        fprintf(stderr, "ptx: NVRTC, which compiles kernels, was not found: libnvrtc of a CUDA toolkit\n");
        return NO_COMPILER;
    }
    snprintf(name, sizeof name, "%s.new", argv[2]);
    out = fopen(name, "w");
    if (!out) stop("cannot write ", name);
    fprintf(out, "/* SPDX-License-Identifier: MIT\n"
                 " * GENERATED by make ptx, do not edit. The programs of %s as PTX, as spmv/device/shipped.h unpacks them, by\n"
                 " * " BY ". */\n"
                 "#ifndef SPMV__PTX_H\n#define SPMV__PTX_H\n\n", argv[1], PTX_SOURCE);
    while (first < count) first = write_file(out, &device, first);
    write_table(out);
    fprintf(out, "#endif\n");
    if (fclose(out) || rename(name, argv[2])) stop("cannot write ", argv[2]);
    return 0;
}
