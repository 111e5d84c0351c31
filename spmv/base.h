/* SPDX-License-Identifier: MIT
 *
 * spmv/base.h - memory, messages, names, numbers that may overflow, sorting: what all other files stand on.
 */
#ifndef SPMV__BASE_H
#define SPMV__BASE_H

#if defined(SPMV_NO_F64) && !defined(SPMV_NO_MIXED)
#define SPMV_NO_MIXED
#endif
#include <stdarg.h>
#include <string.h>
#ifndef SPMV_NO_STDIO
#include <stdio.h>
#endif
#ifndef SPMV_ASSERT
#include <assert.h>
#define SPMV_ASSERT(x) assert(x)
#endif
#if !defined(SPMV_MALLOC) && !defined(SPMV_REALLOC) && !defined(SPMV_FREE)
#include <stdlib.h>
#define SPMV_MALLOC(n) malloc(n)
#define SPMV_REALLOC(p, n) realloc(p, n)
#define SPMV_FREE(p) free(p)
#elif !defined(SPMV_MALLOC) || !defined(SPMV_REALLOC) || !defined(SPMV_FREE)
#error "define all of SPMV_MALLOC, SPMV_REALLOC and SPMV_FREE, or none"
#else
#define SPMV__OWN_MALLOC
#endif

/* On Linux, large arrays are put into large pages where the system allows that: a fresh page of 4 KiB costs up to 3 us, which is more than
 * a product needs to read what fits into it. Allocators of the user's own are left alone. */
#if defined(__linux__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(SPMV__OWN_MALLOC)
#include <sys/mman.h>
#define SPMV__LARGE_PAGES
#if !defined(__cplusplus) && !defined(MADV_HUGEPAGE) /* strict C99 hides these; they are part of the system's binary interface */
extern int madvise(void *address, size_t bytes, int advice);
#define SPMV__HUGEPAGE 14
#else
#define SPMV__HUGEPAGE MADV_HUGEPAGE
#endif
#ifndef __cplusplus
extern int posix_memalign(void **out, size_t alignment, size_t bytes);
#endif
#endif

#if defined(SPMV_THREADS) != defined(SPMV_PARALLEL)
#error "define both SPMV_THREADS and SPMV_PARALLEL, or none"
#endif
#ifdef _OPENMP
#include <omp.h>
#endif
#if defined(__GNUC__) && (defined(__unix__) || defined(__APPLE__))
#define SPMV__POSIX
#include <pthread.h> /* mutexes, which no library is needed for, and where they need none, handlers of forks */
#include <unistd.h>  /* getpid */
#if defined(_OPENMP) || !defined(__GLIBC__) || __GLIBC__ * 100 + __GLIBC_MINOR__ >= 234
#define SPMV__ATFORK /* costs a product nothing, where getpid is a call of the system, for each one */
#endif
#elif defined(_WIN32)
#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#endif
#ifndef NOMINMAX
#define NOMINMAX
#endif
#include <windows.h> /* locks, libraries, the clock */
#endif

#define SPMV__CAT_(a, b) a##b
#define SPMV__CAT(a, b) SPMV__CAT_(a, b)

#ifdef __GNUC__
#define SPMV__SHARED static __attribute__((unused)) /* used only by formats that a cut may leave out, or by headers above */
/* For functions whose stack frame is large and must not become part of their caller's, and for those that many call and that need not be
 * fast: copies of them take long to compile. Not every cut uses all of them. */
#define SPMV__APART static __attribute__((noinline, unused))
/* Called with constants, for which it is compiled anew, unless the compiler does not optimise: then copies would only take longer. */
#ifdef __OPTIMIZE__
#define SPMV__INLINE static inline __attribute__((always_inline, unused))
#else
#define SPMV__INLINE static inline __attribute__((unused))
#endif
#else
#define SPMV__SHARED static
#define SPMV__APART static
#define SPMV__INLINE static
#endif
/* Levels of vector instructions need the ways of gcc and clang to compile single functions for other processors. */
#if !defined(SPMV_NO_SIMD) && defined(__GNUC__) && !defined(_MSC_VER)
#if defined(__x86_64__) && (defined(__clang__) ? __clang_major__ >= 8 : __GNUC__ >= 8)
#define SPMV__SIMD_X86
#elif defined(__aarch64__) && defined(__ARM_NEON)
#define SPMV__SIMD_NEON
#endif
#endif

/* ---- names ------------------------------------------------------------------------------------------------------- */

SPMV_API const char *spmv_status_text(spmv_status s)
{
    static const char *const text[] = {
#define X(name, refusal, words) words,
        SPMV_STATUS_LIST(X)
#undef X
    };
    return (unsigned)s < SPMV_STATUS_COUNT ? text[s] : "unknown status";
}

SPMV_API const char *spmv_status_name(spmv_status s)
{
    static const char *const names[] = {
#define X(name, refusal, words) "SPMV_" #name,
        SPMV_STATUS_LIST(X)
#undef X
    };
    return (unsigned)s < SPMV_STATUS_COUNT ? names[s] : "unknown";
}

SPMV_API int spmv_status_is_refusal(spmv_status s)
{
    static const unsigned char refusals[] = {
#define X(name, refusal, words) refusal,
        SPMV_STATUS_LIST(X)
#undef X
    };
    return (unsigned)s < SPMV_STATUS_COUNT && refusals[s];
}

static const char *const spmv__type_names[] = { "f64", "f64", "f32", "mixed" }; /* the first is of a type that was left out */

SPMV_API const char *spmv_type_name(spmv_type type)
{
    return (unsigned)type < SPMV_TYPE_COUNT ? spmv__type_names[type] : "unknown";
}

SPMV_API spmv_type spmv_type_from(const char *name)
{
    int t = SPMV_F64;
    while (name && t < SPMV_TYPE_COUNT && strcmp(name, spmv__type_names[t]) != 0) t++;
    return name ? (spmv_type)t : SPMV_TYPE_COUNT;
}

static const char *const spmv__device_class_names[] = {
#define X(NAME, name) name,
    SPMV_DEVICE_CLASS_LIST(X)
#undef X
};

SPMV_API const char *spmv_phase_name(spmv_phase phase)
{
    static const char *const names[] = {
#define X(NAME, name, text) name,
        SPMV_PHASE_LIST(X)
#undef X
    };
    return (unsigned)phase < SPMV_PHASE_COUNT ? names[phase] : "unknown";
}

/* Tells the caller that a phase begins. */
SPMV__SHARED void spmv__phase(const spmv_hooks *hooks, spmv_phase phase)
{
    if (hooks && hooks->phase) hooks->phase(hooks->user, phase);
}

SPMV_API const char *spmv_device_class_name(spmv_device_class kind)
{
    return (unsigned)kind < SPMV_DEVICE_CLASS_COUNT ? spmv__device_class_names[kind] : "unknown";
}

/* The class of that name; SPMV_DEVICE_CLASS_COUNT if there is none. */
SPMV__SHARED spmv_device_class spmv__device_class_from(const char *name)
{
    int c = 0;
    while (name && c < SPMV_DEVICE_CLASS_COUNT && strcmp(name, spmv__device_class_names[c]) != 0) c++;
    return name ? (spmv_device_class)c : SPMV_DEVICE_CLASS_COUNT;
}

/* 1 if products in the type are compiled in. */
static int spmv__type_built(spmv_type type)
{
#ifdef SPMV_NO_F64
    return type == SPMV_F32;
#elif defined(SPMV_NO_MIXED)
    return (unsigned)type < SPMV_MIXED;
#else
    return (unsigned)type < SPMV_TYPE_COUNT;
#endif
}

SPMV_API size_t spmv_value_size(spmv_type type) { return type && type != SPMV_F64 ? 4 : 8; }
SPMV_API size_t spmv_vector_size(spmv_type type) { return type == SPMV_F32 ? 4 : 8; }

/* What a type means that may have been left out. */
SPMV__SHARED spmv_type spmv__type(spmv_type type) { return type ? type : SPMV_F64; }

/* The type of the values that products in a type read. */
SPMV__SHARED spmv_type spmv__stored_type(spmv_type type) { return spmv_value_size(type) == sizeof(double) ? SPMV_F64 : SPMV_F32; }

static const char *const spmv__format_names[] = {
#define X(NAME, name, text) #name,
    SPMV_FORMAT_LIST(X)
#undef X
};

static const char *const spmv__simd_names[] = {
#define X(NAME, name, text) name,
    SPMV_SIMD_LIST(X)
#undef X
};

SPMV_API const char *spmv_simd_name(spmv_simd simd) { return (unsigned)simd < SPMV_SIMD_COUNT ? spmv__simd_names[simd] : "?"; }

SPMV_API spmv_simd spmv_simd_from(const char *name)
{
    int i;
    for (i = 0; name && i < SPMV_SIMD_COUNT; i++)
        if (!strcmp(name, spmv__simd_names[i])) return (spmv_simd)i;
    return SPMV_SIMD_COUNT;
}

/* The compiler's functions ask the processor, and for AVX also the operating system, once. */
SPMV_API int spmv_simd_usable(spmv_simd simd)
{
    switch (simd) {
    case SPMV_SIMD_BEST:
    case SPMV_SIMD_PLAIN: return 1;
#ifdef SPMV__SIMD_X86
    case SPMV_SIMD_AVX2: __builtin_cpu_init(); return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#endif
#ifdef SPMV__SIMD_NEON
    case SPMV_SIMD_NEON: return 1;
#endif
    default: return 0;
    }
}

SPMV_API const char *spmv_format_name(spmv_format format)
{
    return (unsigned)format < SPMV_FORMAT_COUNT ? spmv__format_names[format] : "unknown";
}

SPMV_API spmv_format spmv_format_from(const char *name)
{
    int f = 0;
    while (name && f < SPMV_FORMAT_COUNT && strcmp(name, spmv__format_names[f]) != 0) f++;
    return name ? (spmv_format)f : SPMV_FORMAT_COUNT;
}

/* ---- messages ---------------------------------------------------------------------------------------------------- */

typedef unsigned long long spmv__ull; /* the type of %llu */

typedef struct spmv__text {
    char  *out;
    size_t size, length;
} spmv__text;

SPMV__APART void spmv__put_char(spmv__text *text, int c)
{
    if (text->length + 1 < text->size) text->out[text->length] = (char)c;
    text->length++;
}

SPMV__APART void spmv__put_text(spmv__text *text, const char *p)
{
    while (*p) spmv__put_char(text, *p++);
}

static void spmv__put_count(spmv__text *text, uint64_t n)
{
    char digits[20];
    int used = 0;
    do {
        digits[used++] = (char)('0' + (int)(n % 10));
        n /= 10;
    } while (n);
    while (used) spmv__put_char(text, digits[--used]);
}

static void spmv__put_integer(spmv__text *text, long long v)
{
    if (v < 0) spmv__put_char(text, '-');
    spmv__put_count(text, v < 0 ? 0 - (uint64_t)v : (uint64_t)v);
}

/* Puts a number with up to 9 decimals, rounded half up. Above 1e18 only that it is larger. */
static void spmv__put_real(spmv__text *text, double v, int decimals)
{
    uint64_t unit = 1, whole, part;
    int i;
    for (i = 0; i < decimals && i < 9; i++) unit *= 10;
    if (v != v) { spmv__put_text(text, "nan"); return; }
    if (v < 0) { spmv__put_char(text, '-'); v = -v; }
    if (v > 1e18) { spmv__put_text(text, "over 1e18"); return; }
    whole = (uint64_t)v;
    part = (uint64_t)((v - (double)whole) * (double)unit + 0.5);
    spmv__put_count(text, whole + part / unit);
    if (unit > 1) spmv__put_char(text, '.');
    for (unit /= 10; unit; unit /= 10) spmv__put_char(text, '0' + (int)(part / unit % 10));
}

/* SPMV__FIGURE(v) gives "%.*f" its two arguments for three significant digits of v. */
SPMV__SHARED int spmv__decimals(double v) { return v < 9.995 && v > -9.995 ? 2 : v < 99.95 && v > -99.95 ? 1 : 0; }
#define SPMV__FIGURE(v) spmv__decimals(v), (v)

/* Puts the text of a format and its arguments, and terminates it. See spmv_log for the conversions. */
static void spmv__format_text(spmv__text *out, const char *p, va_list args)
{
    for (; *p; p++) {
        int longs = 0, decimals = 6;
        const char *begin = p, *text;
        if (*p != '%') { spmv__put_char(out, *p); continue; }
        if (*++p == '.') {
            decimals = 0;
            if (*++p == '*') { decimals = va_arg(args, int); p++; } /* of spmv__decimals: not negative */
            else for (; *p >= '0' && *p <= '9' && decimals < 10; p++) decimals = decimals * 10 + (*p - '0');
        }
        for (; *p == 'l' && longs < 2; p++) longs++;
        switch (*p) {
        case '%': spmv__put_char(out, '%'); break;
        case 'c': spmv__put_char(out, va_arg(args, int)); break;
        case 's':
            text = va_arg(args, const char *);
            spmv__put_text(out, text ? text : "(null)");
            break;
        case 'd': spmv__put_integer(out, longs == 2 ? va_arg(args, long long) : longs ? va_arg(args, long) : va_arg(args, int)); break;
        case 'u': spmv__put_count(out, longs == 2 ? va_arg(args, unsigned long long)
                                                : longs ? va_arg(args, unsigned long) : va_arg(args, unsigned)); break;
        case 'f': spmv__put_real(out, va_arg(args, double), decimals); break;
        default: /* the type of its argument is unknown, so the arguments after it cannot be found either */
            spmv__put_text(out, begin);
            p = begin + strlen(begin) - 1;
        }
    }
    if (out->size) out->out[out->length < out->size ? out->length : out->size - 1] = 0;
}

SPMV__SHARED void spmv__text_open(spmv__text *text, char *out, size_t size)
{
    text->out = out;
    text->size = out ? size : 0;
    text->length = 0;
}

/* Appends to a text. */
SPMV__PRINTF(2, 3) SPMV__SHARED void spmv__say(spmv__text *text, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    spmv__format_text(text, format, args);
    va_end(args);
}

SPMV_API size_t spmv_print(char *out, size_t size, const char *format, ...)
{
    spmv__text text;
    va_list args;
    text.out = out;
    text.size = out ? size : 0;
    text.length = 0;
    va_start(args, format);
    spmv__format_text(&text, format ? format : "", args);
    va_end(args);
    return text.length;
}

/* Writes a message, which begins with the part of a plan that it is about, and returns its length, which may be beyond size. */
static size_t spmv__message(const spmv_hooks *hooks, char *out, size_t size, const char *format, va_list args)
{
    spmv__text text;
    spmv__text_open(&text, out, size);
    if (hooks && hooks->transposed) spmv__put_text(&text, "transpose: ");
    if (hooks && hooks->part) spmv__say(&text, "part %d: ", hooks->part);
    spmv__format_text(&text, format ? format : "", args);
    return text.length;
}

/* A short message is on the stack, so that one about lack of memory needs none. */
SPMV_API spmv_status spmv_log(const spmv_hooks *hooks, spmv_status s, const char *format, ...)
{
    char brief[512], *whole = NULL;
    const char *line = brief;
    size_t size;
    va_list args;
    va_start(args, format);
    size = spmv__message(hooks, brief, sizeof brief, format, args) + 1;
    va_end(args);
    if (size > 4096) size = 4096;
    if (size > sizeof brief) whole = (char *)spmv_alloc(hooks, size, 1);
    if (whole) {
        va_start(args, format);
        spmv__message(hooks, whole, size, format, args);
        va_end(args);
        line = whole;
    }
    if (hooks && hooks->log) {
        hooks->log(hooks->user, s, line);
    } else {
#ifndef SPMV_NO_STDIO
        fprintf(stderr, "spmv: %s\n", line);
#endif
    }
    spmv_free(hooks, whole);
    return s;
}

/* The log of work whose faults are not to be reported. */
static void spmv__hush(void *user, spmv_status s, const char *message)
{
    (void)user;
    (void)s;
    (void)message;
}

/* Refuses a NULL pointer that a public function needs: logs the argument's name, zeroes out (unless that is NULL), and returns
 * SPMV_ERR_ARGUMENT. */
SPMV__APART spmv_status spmv__null(const spmv_hooks *hooks, const char *function, const char *argument, void *out, size_t size)
{
    if (out) memset(out, 0, size);
    spmv_log(hooks, SPMV_ERR_ARGUMENT, "%s: %s is NULL", function, argument);
    return SPMV_ERR_ARGUMENT; /* so that compilers see that what follows the check is not reached */
}

/* 1 if two ranges of at least one byte have one in common. */
SPMV__SHARED int spmv__overlap(uint64_t a, uint64_t a_bytes, uint64_t b, uint64_t b_bytes)
{
    return a < b ? b - a < a_bytes : a - b < b_bytes;
}

/* Refuses vectors that a product of this size needs but that are NULL, and y over an x that is read. */
SPMV__SHARED spmv_status spmv__check_vectors(const spmv_hooks *hooks, const char *function, spmv_type type, uint64_t rows, uint64_t cols,
                                             double alpha, const void *x, const void *y)
{
    const uint64_t size = spmv_vector_size(type);
    if (rows && !y) return spmv__null(hooks, function, "y", NULL, 0);
    if (!rows || !cols || alpha == 0.0) return SPMV_OK;
    if (!x) return spmv__null(hooks, function, "x", NULL, 0);
    if (!spmv__overlap((uintptr_t)x, cols * size, (uintptr_t)y, rows * size)) return SPMV_OK;
    return spmv_log(hooks, SPMV_ERR_ARGUMENT, "%s: x and y overlap", function);
}

/* Checks what takes no time: that the arrays of a CSR matrix are there, and that its row pointers go from 0 to nnz. A zeroed one has no
 * rows. name: of the matrix, for messages. */
SPMV__SHARED spmv_status spmv__csr_there(const spmv_hooks *hooks, const char *name, const spmv_csr *a)
{
    const int none = a->rows && !a->ptr;
    if (none || (a->nnz && (!a->col || !a->val))) return spmv__null(hooks, name, none ? "ptr" : !a->col ? "col" : "val", NULL, 0);
    if (a->ptr ? !a->ptr[0] && a->ptr[a->rows] == a->nnz : !a->nnz) return SPMV_OK;
    return spmv_log(hooks, SPMV_ERR_INDEX, "%s: expected row pointers from 0 to nnz, %llu, found %llu and %llu", name, (spmv__ull)a->nnz,
                    (spmv__ull)(a->ptr ? a->ptr[0] : 0), (spmv__ull)(a->ptr ? a->ptr[a->rows] : 0));
}

/* Checks also that row pointers never fall, and that columns are in range and rise within each row. */
SPMV__SHARED spmv_status spmv__check_csr(const spmv_hooks *hooks, const char *name, const spmv_csr *a)
{
    const char *expected = NULL;
    uint64_t r, i, next;
    spmv_status s = spmv__csr_there(hooks, name, a);
    if (s) return s;
    for (r = 0; r < a->rows && !expected; r++) {
        if (a->ptr[r] > a->ptr[r + 1] || a->ptr[r + 1] > a->nnz) expected = "row pointers that never fall and end at nnz";
        for (i = a->ptr[r], next = 0; !expected && i < a->ptr[r + 1]; i++) {
            if (a->col[i] < next || a->col[i] >= a->cols) expected = "rising columns below cols";
            next = (uint64_t)a->col[i] + 1;
        }
    }
    if (!expected) return SPMV_OK;
    return spmv_log(hooks, SPMV_ERR_INDEX, "%s: expected %s, found others in row %llu", name, expected, (spmv__ull)(r - 1));
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

SPMV__APART void *spmv__resize(const spmv_hooks *hooks, void *block, size_t bytes)
{
    if (hooks && hooks->resize) return hooks->resize(hooks->user, block, bytes);
    if (bytes) return block ? SPMV_REALLOC(block, bytes) : SPMV_MALLOC(bytes);
    SPMV_FREE(block);
    return NULL;
}

SPMV_API void *spmv_alloc(const spmv_hooks *hooks, uint64_t count, uint64_t size)
{
    if (!count || !size || count > (uint64_t)(SIZE_MAX / 2) / size) return NULL;
    return spmv__resize(hooks, NULL, (size_t)(count * size));
}

SPMV_API void spmv_free(const spmv_hooks *hooks, void *block)
{
    if (block) spmv__resize(hooks, block, 0);
}

SPMV__APART spmv_status spmv__no_memory(const spmv_hooks *hooks, uint64_t count, uint64_t size)
{
    return spmv_log(hooks, SPMV_ERR_MEMORY, "no memory for %llu elements of %llu bytes", (spmv__ull)count, (spmv__ull)size);
}

/* Allocates a block from the C library, which free and realloc accept. Where the system has large pages, a block that is large enough
 * begins at one, and asks for them. NULL: there is no memory. */
SPMV__SHARED void *spmv__large_block(size_t bytes)
{
#ifdef SPMV__LARGE_PAGES
    const size_t page = 1u << 21, tail = bytes % page; /* bytes: of a large page, and of the last one that are needed */
    void *block = NULL;
    if (bytes >= page / 2 && bytes <= SIZE_MAX / 2) {
        if (tail >= page / 2) bytes += page - tail; /* else single small pages at the end waste less */
        if (posix_memalign(&block, page, bytes) != 0) return NULL;
        (void)madvise(block, bytes, SPMV__HUGEPAGE); /* if it fails, pages stay small */
        return block;
    }
#endif
    return SPMV_MALLOC(bytes);
}

/* All memory of the headers is allocated here: *out becomes count * size uninitialised bytes, or NULL if that is 0. */
SPMV__APART spmv_status spmv__room(const spmv_hooks *hooks, void **out, uint64_t count, uint64_t size)
{
    *out = NULL;
    if (!count || !size) return SPMV_OK;
    if (count > (uint64_t)(SIZE_MAX / 2) / size) return spmv__no_memory(hooks, count, size);
    *out = hooks && hooks->resize ? spmv_alloc(hooks, count, size) : spmv__large_block((size_t)(count * size));
    return *out ? SPMV_OK : spmv__no_memory(hooks, count, size);
}

/* As spmv__room, with each byte set to fill. */
SPMV__APART spmv_status spmv__new(const spmv_hooks *hooks, void **out, uint64_t count, uint64_t size, int fill)
{
    spmv_status s = spmv__room(hooks, out, count, size);
    if (*out) memset(*out, fill, (size_t)(count * size));
    return s;
}

/* The number of the lowest bit that is set; one must be. */
SPMV__SHARED uint64_t spmv__low_bit(uint64_t bits)
{
#ifdef __GNUC__
    return (uint64_t)__builtin_ctzll(bits);
#else
    uint64_t n = 0;
    for (; !(bits & 1); bits >>= 1) n++;
    return n;
#endif
}

/* How many bits are set. Compilers know no faster way unless they may assume an instruction for it. */
SPMV__INLINE uint64_t spmv__bit_count(uint64_t bits)
{
    const uint64_t pairs = 0x5555555555555555u, fours = 0x3333333333333333u, bytes = 0x0f0f0f0f0f0f0f0fu, sum = 0x0101010101010101u;
    bits -= bits >> 1 & pairs;
    bits = (bits & fours) + (bits >> 2 & fours);
    return ((bits + (bits >> 4)) & bytes) * sum >> 56;
}

SPMV__APART uint64_t spmv__sat_mul(uint64_t a, uint64_t b) { return a && b > UINT64_MAX / a ? UINT64_MAX : a * b; }
SPMV__SHARED uint64_t spmv__sat_add(uint64_t a, uint64_t b) { return b > UINT64_MAX - a ? UINT64_MAX : a + b; }
SPMV__SHARED uint64_t spmv__smaller(uint64_t a, uint64_t b) { return a < b ? a : b; }
SPMV__SHARED uint64_t spmv__ceil_div(uint64_t a, uint64_t b) { return a / b + (a % b != 0); }
SPMV__SHARED uint64_t spmv__round_up(uint64_t a, uint64_t b) { return spmv__ceil_div(a, b) * b; }

#define SPMV__LONG_ENTRIES 4096 /* rows: shorter entries do not share so few sets of a cache that it shows */

/* Slots from one stored diagonal, or entry of a row, to the next, for so many rows: a multiple of 32, but of long ones an odd multiple.
 * Otherwise the same row of all entries would be in a few sets of a processor's L1 cache, each of which holds eight lines. */
SPMV__SHARED uint64_t spmv__leading(uint64_t rows)
{
    const uint64_t slots = spmv__round_up(rows, 32);
    return slots / 32 % 2 == 0 && rows >= SPMV__LONG_ENTRIES ? slots + 32 : slots;
}

/* Element i of an array of unsigned integers of any width. */
static uint64_t spmv__at(const spmv_array *array, uint64_t i)
{
    if (array->width == 4) return ((const uint32_t *)array->data)[i];
    if (array->width == 8) return ((const uint64_t *)array->data)[i];
    return array->width == 2 ? ((const uint16_t *)array->data)[i] : ((const uint8_t *)array->data)[i];
}

/* How many numbers of a rising array are below n. */
SPMV__SHARED uint64_t spmv__below(const spmv_array *array, uint64_t n)
{
    uint64_t low = 0, high = array->count;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (spmv__at(array, middle) < n) low = middle + 1;
        else high = middle;
    }
    return low;
}

/* The row in which nonzero k lies, that of the last nonzero if there are no more; first is a row that begins at k or before. */
SPMV__SHARED uint64_t spmv__row_of(const spmv_csr *a, uint64_t first, uint64_t k)
{
    uint64_t end = a->rows;
    while (end - first > 1) {
        uint64_t middle = first + (end - first) / 2;
        if (a->ptr[middle] <= k) first = middle;
        else end = middle;
    }
    return first;
}

/* Leading zeros of v, which is not 0. */
SPMV__SHARED int spmv__leading_zeros(uint64_t v)
{
#if defined(__GNUC__)
    return __builtin_clzll((spmv__ull)v);
#else
    int n = 0;
    for (; !(v >> 63); v <<= 1) n++;
    return n;
#endif
}

/* The square root by Newton's method; 0 for what is not positive. */
SPMV__SHARED double spmv__square_root(double v)
{
    double r = v > 1 ? v : 1;
    int i;
    for (i = 0; i < 60; i++) r = (r + v / r) / 2;
    return v > 0 ? r : 0;
}

/* 2 to the power of v, to the last few bits. */
SPMV__SHARED double spmv__exp2(double v)
{
    static const double inverse[] = { 1, 1.0 / 2, 1.0 / 3, 1.0 / 4, 1.0 / 5, 1.0 / 6, 1.0 / 7, 1.0 / 8, 1.0 / 9, 1.0 / 10, 1.0 / 11,
                                      1.0 / 12, 1.0 / 13 };
    double scale = 1, t, sum = 1;
    int i;
    if (v > 1000) v = 1000; /* near the ends of double; a table may say anything */
    if (v < -1000) v = -1000;
    while (v >= 1) v--, scale *= 2;
    while (v < 0) v++, scale /= 2;
    t = v * 0.6931471805599453;
    for (i = (int)(sizeof inverse / sizeof *inverse); i-- > 0;) sum = 1 + sum * t * inverse[i]; /* Horner's rule for the exponential */
    return scale * sum;
}

static void spmv__set(spmv_array *array, uint64_t i, uint64_t v)
{
    if (array->width == 4) ((uint32_t *)array->data)[i] = (uint32_t)v;
    else if (array->width == 8) ((uint64_t *)array->data)[i] = v;
    else if (array->width == 2) ((uint16_t *)array->data)[i] = (uint16_t)v;
    else ((uint8_t *)array->data)[i] = (uint8_t)v;
}

/* Sets each element of an array of offsets to so many times the sum of the numbers before it, of which there is one fewer. */
SPMV__SHARED void spmv__offsets_from(spmv_array *array, const uint32_t *number, uint64_t times)
{
    const uint64_t last = array->count - 1;
    uint64_t sum = 0, i;
    for (i = 0; array->width == 4 && i < last; i++) { /* as below, without a question for each */
        ((uint32_t *)array->data)[i] = (uint32_t)sum;
        sum += number[i] * times;
    }
    for (; i < last; i++) {
        spmv__set(array, i, sum);
        sum += number[i] * times;
    }
    spmv__set(array, last, sum);
}

/* ---- sorting ----------------------------------------------------------------------------------------------------- */

/* Pairs are sorted by key, then by load. */

typedef struct spmv__pair {
    uint64_t key, load;
} spmv__pair;

static int spmv__pair_less(const spmv__pair *a, const spmv__pair *b)
{
    return a->key < b->key || (a->key == b->key && a->load < b->load);
}

/* Moves the pair at root down until the heap of n pairs is in order below it. */
static void spmv__sift(spmv__pair *p, uint64_t root, uint64_t n)
{
    spmv__pair top = p[root];
    for (;;) {
        uint64_t child = 2 * root + 1;
        if (child >= n) break;
        if (child + 1 < n && spmv__pair_less(&p[child], &p[child + 1])) child++;
        if (!spmv__pair_less(&top, &p[child])) break;
        p[root] = p[child];
        root = child;
    }
    p[root] = top;
}

/* Sorts n pairs in O(n log n): few of them by insertion, which is faster there, more by a heap, unless they are in order already. */
SPMV__SHARED void spmv__sort(spmv__pair *p, uint64_t n)
{
    const uint64_t few = 24;
    uint64_t i, j;
    if (n <= few) {
        for (i = 1; i < n; i++) {
            spmv__pair v = p[i];
            for (j = i; j && spmv__pair_less(&v, &p[j - 1]); j--) p[j] = p[j - 1];
            p[j] = v;
        }
        return;
    }
    for (i = 1; i < n && !spmv__pair_less(&p[i], &p[i - 1]); i++) {}
    if (i == n) return;
    for (i = n / 2; i--;) spmv__sift(p, i, n);
    for (i = n - 1; i; i--) {
        spmv__pair t = p[0];
        p[0] = p[i];
        p[i] = t;
        spmv__sift(p, 0, i);
    }
}

/* The place of a key among n sorted pairs; the key must be one of theirs. */
SPMV__SHARED uint64_t spmv__find(const spmv__pair *p, uint64_t n, uint64_t key)
{
    uint64_t low = 0;
    while (n > 1) {
        uint64_t half = n / 2;
        if (p[low + half].key <= key) low += half;
        n -= half;
    }
    return low;
}

/* Sorts n pairs and merges those with equal keys into one, adding their loads; returns how many are left. */
SPMV__SHARED uint64_t spmv__sort_and_merge(spmv__pair *p, uint64_t n)
{
    uint64_t i, kept = 0;
    spmv__sort(p, n);
    for (i = 0; i < n; i++) {
        if (kept && p[kept - 1].key == p[i].key) p[kept - 1].load += p[i].load;
        else p[kept++] = p[i];
    }
    return kept;
}

/* ---- bytes that are kept ------------------------------------------------------------------------------------------ */

#define SPMV__BYTE_ORDER 0x01020304u /* reads as another number in the other byte order */

SPMV__SHARED uint64_t spmv__mix(uint64_t lane, const unsigned char *p)
{
    uint64_t word;
    memcpy(&word, p, sizeof word);
    lane = (lane ^ word) * 0x9e3779b97f4a7c15u;
    return lane << 29 | lane >> 35;
}

/* The checksum of a block, continuing from seed. Four independent lanes let it run as fast as memory. Every step is invertible, so that no
 * change within one word goes undetected. */
SPMV__SHARED uint64_t spmv__sum(uint64_t seed, const void *data, uint64_t bytes)
{
    const unsigned char *p = (const unsigned char *)data;
    unsigned char tail[32] = {0};
    uint64_t lane[4], i;
    for (i = 0; i < 4; i++) lane[i] = seed + i;
    for (i = 0; bytes - i >= 32; i += 32) {
        lane[0] = spmv__mix(lane[0], p + i);
        lane[1] = spmv__mix(lane[1], p + i + 8);
        lane[2] = spmv__mix(lane[2], p + i + 16);
        lane[3] = spmv__mix(lane[3], p + i + 24);
    }
    if (bytes > i) memcpy(tail, p + i, (size_t)(bytes - i));
    seed ^= bytes;
    for (i = 0; i < 4; i++) {
        seed = (seed ^ spmv__mix(lane[i], tail + 8 * i)) * 0xff51afd7ed558ccdu;
        seed ^= seed >> 32;
    }
    return seed;
}

#endif
