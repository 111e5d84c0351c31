/* SPDX-License-Identifier: MIT
 *
 * spmv/simd.h - vectors of the host's levels of instructions, as products use them.
 *
 * For each level (spmv_simd of spmv_formats.h) and each type of x and y: a vector of SPMV__LANES elements, and a quad of four. Names
 * are spmv__<operation>_<type>_<level>. There is no interface here.
 *
 *   vec                      a vector
 *   vload(values)            so many values of the matrix; also for mixed, which widens them
 *   vfrom(elements)          so many elements of x or of sums
 *   vput(to, v)              stores them
 *   vzero(), vall(e)         zeros; one element in every lane
 *   vfma(a, b, c)            a * b + c
 *   vmul(a, b)               a * b
 *   vadd(a, b)               a + b
 *   vsum(v)                  the sum of its lanes, always in the same order
 *   vgather(x, c)            the elements of x at so many columns (vgather16: columns of 16 bits)
 *   vpick(x, c, pads)        the same with 0 for padding, if pads is not 0 (vpick16)
 *   vrun(c)                  1 if each of these columns is one more than the column before, and none is padding (vrun16)
 *   vpads(c)                 is there padding among these columns? 0: none, 1: some, 2: nothing else (vpads16)
 *   quad, qload(values, n), qfrom(elements, n), qzero(), qfma(a, b, c), qadd(a, b), qsum(q), qgather(x, c) (qgather16)
 *                            the same for four lanes; the first n (2, 3 or 4) are loaded, and the others are 0
 *   qset(a, b, c, d)         a quad of these elements
 *   qtwo(p, q)               two elements from p on, then two from q on
 *   efma(a, b, c)            a * b + c of single elements, rounded once where vfma is
 *   qfirst(q, n)             q with only its first n lanes (0 to 4), the others 0
 *   qlast(q, n)              q with only its last n lanes (0 to 4), the others 0
 *   qeight(p, n)             of eight elements, of which those from n on (0 to 8) count as 0 and may be anything: each of the first four
 *                            added to that four behind it
 *   qsums(to, a, b, c, d)    stores the sums of the lanes of four quads, all formed in the same order
 *   halves_qsum, halves_qsums  constants: 1: lanes 0 and 2, 1 and 3 are added first; 0: 0 and 1, 2 and 3
 *
 * and for each level:
 *   spmv__short_<level>(ptr) 1 if each of the eight rows has at most four nonzeros
 *   spmv__ends_<level>(p, m) 32 bits: bit i is 1 if p[i] and p[i + 1] differ in a bit of m; reads p[0] to p[32]
 *
 * Gathers are put together from scalar loads: the gather instructions of AVX2 and AVX-512 take columns as signed numbers, and made a csr
 * product with long rows 5 to 30% slower on the processor that was measured (Zen 4).
 */
#ifndef SPMV__SIMD_H
#define SPMV__SIMD_H

#include "base.h"

/* Not forced where the compiler does not optimise: copies would only take longer to compile. */
#if defined(__GNUC__) && defined(__OPTIMIZE__)
#define SPMV__FORCE_INLINE static inline __attribute__((always_inline, unused))
#elif defined(__GNUC__)
#define SPMV__FORCE_INLINE static inline __attribute__((unused))
#else
#define SPMV__FORCE_INLINE static inline
#endif

/* Prefetches memory into the L2 cache, or into the L1 cache (near). */
#ifdef __GNUC__
#define SPMV__AHEAD(p) __builtin_prefetch(p, 0, 2)
#define SPMV__NEAR(p) __builtin_prefetch(p, 0, 3)
#else
#define SPMV__AHEAD(p) ((void)(p))
#define SPMV__NEAR(p) ((void)(p))
#endif

/* Lets the loop that follows begin at a multiple of 32 bytes: a loop of a few instructions that crosses a boundary of the cache of decoded
 * instructions takes up to 1.5 times as long (Zen 4, both threads of a core busy). */
#if defined(__GNUC__) && (defined(__x86_64__) || defined(__aarch64__))
#define SPMV__ALIGN_LOOP __asm__ volatile(".p2align 5")
#else
#define SPMV__ALIGN_LOOP ((void)0)
#endif

/* ---- what levels have in common ------------------------------------------------------------------------------------- */

#if defined(SPMV__SIMD_X86) || defined(SPMV__SIMD_NEON)
/* Two columns, the first in the low half, by one load: what products in caches wait for most is loads. From the sums, clang makes two. */
SPMV__FORCE_INLINE uint64_t spmv__next_two(const uint32_t *c)
{
    uint64_t two = c[0] | (uint64_t)c[1] << 32;
#ifdef SPMV__SIMD_X86
    memcpy(&two, c, sizeof two);
#endif
    return two;
}
SPMV__FORCE_INLINE uint32_t spmv__next_two16(const uint16_t *c)
{
    uint32_t two = c[0] | (uint32_t)c[1] << 16;
#ifdef SPMV__SIMD_X86
    memcpy(&two, c, sizeof two);
#endif
    return two;
}
#endif

/* ---- AVX2 with FMA -------------------------------------------------------------------------------------------------- */

#ifdef SPMV__SIMD_X86
#include <immintrin.h>
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#endif
SPMV__FORCE_INLINE __m256i spmv__lengths_avx2(const uint32_t *ptr)
{
    return _mm256_sub_epi32(_mm256_loadu_si256((const __m256i *)(ptr + 1)), _mm256_loadu_si256((const __m256i *)ptr));
}
/* 1 if none of eight lengths is above most. */
SPMV__FORCE_INLINE int spmv__below_avx2(__m256i n, int most)
{
    return _mm256_movemask_epi8(_mm256_cmpeq_epi32(_mm256_max_epu32(n, _mm256_set1_epi32(most)), _mm256_set1_epi32(most))) == -1;
}
SPMV__FORCE_INLINE int spmv__short_avx2(const uint32_t *ptr) { return spmv__below_avx2(spmv__lengths_avx2(ptr), 4); }
SPMV__FORCE_INLINE uint32_t spmv__ends_avx2(const uint32_t *p, uint32_t m)
{
    const __m256i mask = _mm256_set1_epi32((int)m), zero = _mm256_setzero_si256();
    uint32_t i, same = 0;
    for (i = 0; i < 32; i += 8) {
        const __m256i a = _mm256_loadu_si256((const __m256i *)(p + i)), b = _mm256_loadu_si256((const __m256i *)(p + i + 1));
        const __m256i equal = _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_xor_si256(a, b), mask), zero);
        same |= (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(equal)) << i;
    }
    return ~same;
}
typedef __m256 spmv__vec_f32_avx2;
typedef __m128 spmv__quad_f32_avx2;
SPMV__FORCE_INLINE __m256 spmv__vload_f32_avx2(const float *p) { return _mm256_loadu_ps(p); }
SPMV__FORCE_INLINE __m256 spmv__vfrom_f32_avx2(const float *p) { return _mm256_loadu_ps(p); }
SPMV__FORCE_INLINE void spmv__vput_f32_avx2(float *p, __m256 v) { _mm256_storeu_ps(p, v); }
SPMV__FORCE_INLINE __m256 spmv__vzero_f32_avx2(void) { return _mm256_setzero_ps(); }
SPMV__FORCE_INLINE __m256 spmv__vall_f32_avx2(float e) { return _mm256_set1_ps(e); }
SPMV__FORCE_INLINE __m256 spmv__vfma_f32_avx2(__m256 a, __m256 b, __m256 c) { return _mm256_fmadd_ps(a, b, c); }
SPMV__FORCE_INLINE float spmv__efma_f32_avx2(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
SPMV__FORCE_INLINE __m256 spmv__vmul_f32_avx2(__m256 a, __m256 b) { return _mm256_mul_ps(a, b); }
SPMV__FORCE_INLINE __m256 spmv__vadd_f32_avx2(__m256 a, __m256 b) { return _mm256_add_ps(a, b); }
enum { spmv__halves_qsum_f32_avx2 = 1, spmv__halves_qsums_f32_avx2 = 0, spmv__halves_qsum_f64_avx2 = 1, spmv__halves_qsums_f64_avx2 = 0 };
SPMV__FORCE_INLINE float spmv__qsum_f32_avx2(__m128 q)
{
    q = _mm_add_ps(q, _mm_movehl_ps(q, q));
    return _mm_cvtss_f32(_mm_add_ss(q, _mm_shuffle_ps(q, q, 1)));
}
SPMV__FORCE_INLINE float spmv__vsum_f32_avx2(__m256 v)
{
    return spmv__qsum_f32_avx2(_mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1)));
}
/* Gathers of 4 and 8 lanes; qtwos: of the columns that two words hold. */
#define SPMV__AVX2_GATHERS(S, T, quad, join)                                                                                       \
    SPMV__FORCE_INLINE quad spmv__qtwos_##S(const T *x, uint64_t a, uint64_t b)                                                    \
    {                                                                                                                              \
        return spmv__qset_##S(x[(uint32_t)a], x[a >> 32], x[(uint32_t)b], x[b >> 32]);                                             \
    }                                                                                                                              \
    SPMV__FORCE_INLINE quad spmv__qgather_##S(const T *x, const uint32_t *c)                                                       \
    {                                                                                                                              \
        return spmv__qtwos_##S(x, spmv__next_two(c), spmv__next_two(c + 2));                                                       \
    }                                                                                                                              \
    SPMV__FORCE_INLINE quad spmv__qgather16_##S(const T *x, const uint16_t *c)                                                     \
    {                                                                                                                              \
        const uint32_t a = spmv__next_two16(c), b = spmv__next_two16(c + 2);                                                       \
        return spmv__qset_##S(x[(uint16_t)a], x[a >> 16], x[(uint16_t)b], x[b >> 16]);                                             \
    }                                                                                                                              \
    SPMV__FORCE_INLINE spmv__vec_##S spmv__vgather_##S(const T *x, const uint32_t *c)                                              \
    {                                                                                                                              \
        return join(spmv__qgather_##S(x, c), spmv__qgather_##S(x, c + 4));                                                         \
    }                                                                                                                              \
    SPMV__FORCE_INLINE spmv__vec_##S spmv__vgather16_##S(const T *x, const uint16_t *c)                                            \
    {                                                                                                                              \
        return join(spmv__qgather16_##S(x, c), spmv__qgather16_##S(x, c + 4));                                                     \
    }
#define SPMV__JOIN(low, high) _mm256_insertf128_ps(_mm256_castps128_ps256(low), high, 1)
#define spmv__qset_f32_avx2 _mm_setr_ps
SPMV__AVX2_GATHERS(f32_avx2, float, __m128, SPMV__JOIN)
/* Eight columns; *none: -1 for each that is padding. */
SPMV__FORCE_INLINE __m256i spmv__eight_avx2(const uint32_t *c, __m256i *none)
{
    const __m256i columns = _mm256_loadu_si256((const __m256i *)c);
    *none = _mm256_cmpeq_epi32(columns, _mm256_set1_epi32(-1));
    return columns;
}
SPMV__FORCE_INLINE __m256i spmv__eight16_avx2(const uint16_t *c, __m256i *none)
{
    const __m128i columns = _mm_loadu_si128((const __m128i *)c);
    *none = _mm256_cvtepi16_epi32(_mm_cmpeq_epi16(columns, _mm_set1_epi16(-1)));
    return _mm256_cvtepu16_epi32(columns);
}
/* Columns without padding stay in registers: loads of them would wait for the store. */
#define SPMV__AVX2_PICK(w, T, C, vec, S, join)                                                                                     \
    SPMV__FORCE_INLINE vec spmv__vpick##w##_##S(const T *x, const C *c, int pads)                                                  \
    {                                                                                                                              \
        __m256i none, columns;                                                                                                     \
        __m128i low, high;                                                                                                         \
        if (!pads) return spmv__vgather##w##_##S(x, c);                                                                            \
        columns = spmv__eight##w##_avx2(c, &none);                                                                                 \
        columns = _mm256_andnot_si256(none, columns);                                                                              \
        low = _mm256_castsi256_si128(columns);                                                                                     \
        high = _mm256_extracti128_si256(columns, 1);                                                                               \
        return spmv__clear_##S(join(spmv__qtwos_##S(x, (uint64_t)_mm_cvtsi128_si64(low), (uint64_t)_mm_extract_epi64(low, 1)),     \
                                    spmv__qtwos_##S(x, (uint64_t)_mm_cvtsi128_si64(high), (uint64_t)_mm_extract_epi64(high, 1))),  \
                               none);                                                                                              \
    }
SPMV__FORCE_INLINE __m256 spmv__clear_f32_avx2(__m256 v, __m256i none) { return _mm256_andnot_ps(_mm256_castsi256_ps(none), v); }
SPMV__AVX2_PICK(, float, uint32_t, __m256, f32_avx2, SPMV__JOIN)
SPMV__AVX2_PICK(16, float, uint16_t, __m256, f32_avx2, SPMV__JOIN)
#undef SPMV__JOIN
SPMV__FORCE_INLINE int spmv__vrun_f32_avx2(const uint32_t *c)
{
    const __m256i run = _mm256_add_epi32(_mm256_set1_epi32((int)*c), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
    return *c < SPMV_PAD - 7 && _mm256_movemask_epi8(_mm256_cmpeq_epi32(_mm256_loadu_si256((const __m256i *)c), run)) == -1;
}
SPMV__FORCE_INLINE int spmv__vrun16_f32_avx2(const uint16_t *c)
{
    const __m128i run = _mm_add_epi16(_mm_set1_epi16((short)*c), _mm_setr_epi16(0, 1, 2, 3, 4, 5, 6, 7));
    return *c < SPMV_PAD16 - 7 && _mm_movemask_epi8(_mm_cmpeq_epi16(_mm_loadu_si128((const __m128i *)c), run)) == 65535;
}
SPMV__FORCE_INLINE int spmv__vpads_f32_avx2(const uint32_t *c)
{
    __m256i same = _mm256_cmpeq_epi32(_mm256_loadu_si256((const __m256i *)c), _mm256_set1_epi32(-1));
    int bits = _mm256_movemask_ps(_mm256_castsi256_ps(same));
    return bits == 255 ? 2 : bits != 0;
}
SPMV__FORCE_INLINE int spmv__vpads16_f32_avx2(const uint16_t *c)
{
    int bits = _mm_movemask_epi8(_mm_cmpeq_epi16(_mm_loadu_si128((const __m128i *)c), _mm_set1_epi16(-1)));
    return bits == 65535 ? 2 : bits != 0;
}
SPMV__FORCE_INLINE __m128 spmv__qload_f32_avx2(const float *p, int n)
{
    if (n == 4) return _mm_loadu_ps(p);
    if (n == 2) return _mm_castsi128_ps(_mm_loadl_epi64((const __m128i *)p));
    return _mm_movelh_ps(_mm_castsi128_ps(_mm_loadl_epi64((const __m128i *)p)), _mm_load_ss(p + 2));
}
SPMV__FORCE_INLINE __m128 spmv__qfirst_f32_avx2(__m128 q, uint64_t n)
{
    static const int32_t first[8] = { -1, -1, -1, -1, 0, 0, 0, 0 };
    return _mm_and_ps(q, _mm_castsi128_ps(_mm_loadu_si128((const __m128i *)(first + 4 - n))));
}
SPMV__FORCE_INLINE __m128 spmv__qlast_f32_avx2(__m128 q, uint64_t n)
{
    static const int32_t last[8] = { 0, 0, 0, 0, -1, -1, -1, -1 };
    return _mm_and_ps(q, _mm_castsi128_ps(_mm_loadu_si128((const __m128i *)(last + n))));
}
SPMV__FORCE_INLINE __m256i spmv__mask_avx2(uint64_t n) /* of eight words, the first n */
{
    static const int32_t first[16] = { -1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0 };
    return _mm256_loadu_si256((const __m256i *)(first + 8 - n));
}
SPMV__FORCE_INLINE __m128 spmv__qeight_f32_avx2(const float *p, uint64_t n)
{
    const __m256 v = _mm256_and_ps(_mm256_loadu_ps(p), _mm256_castsi256_ps(spmv__mask_avx2(n)));
    return _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
}
SPMV__FORCE_INLINE void spmv__qsums_f32_avx2(float *to, __m128 a, __m128 b, __m128 c, __m128 d)
{
    _mm_storeu_ps(to, _mm_hadd_ps(_mm_hadd_ps(a, b), _mm_hadd_ps(c, d)));
}
SPMV__FORCE_INLINE __m128 spmv__qtwo_f32_avx2(const float *p, const float *q)
{
    return _mm_loadh_pi(_mm_loadl_pi(_mm_setzero_ps(), (const __m64 *)(const void *)p), (const __m64 *)(const void *)q);
}
SPMV__FORCE_INLINE __m128 spmv__qfrom_f32_avx2(const float *p, int n) { return spmv__qload_f32_avx2(p, n); }
SPMV__FORCE_INLINE __m128 spmv__qzero_f32_avx2(void) { return _mm_setzero_ps(); }
SPMV__FORCE_INLINE __m128 spmv__qadd_f32_avx2(__m128 a, __m128 b) { return _mm_add_ps(a, b); }
SPMV__FORCE_INLINE __m128 spmv__qfma_f32_avx2(__m128 a, __m128 b, __m128 c) { return _mm_fmadd_ps(a, b, c); }

#ifndef SPMV_NO_F64
typedef struct { __m256d low, high; } spmv__vec_f64_avx2; /* as many lanes as f32, so that columns are tested eight at a time */
typedef __m256d spmv__quad_f64_avx2;
SPMV__FORCE_INLINE spmv__vec_f64_avx2 spmv__pair_f64_avx2(__m256d low, __m256d high)
{
    spmv__vec_f64_avx2 v;
    v.low = low;
    v.high = high;
    return v;
}
SPMV__FORCE_INLINE spmv__vec_f64_avx2 spmv__vload_f64_avx2(const double *p)
{
    return spmv__pair_f64_avx2(_mm256_loadu_pd(p), _mm256_loadu_pd(p + 4));
}
SPMV__FORCE_INLINE spmv__vec_f64_avx2 spmv__vload_mixed_avx2(const float *p)
{
    return spmv__pair_f64_avx2(_mm256_cvtps_pd(_mm_loadu_ps(p)), _mm256_cvtps_pd(_mm_loadu_ps(p + 4)));
}
#define spmv__vfrom_f64_avx2 spmv__vload_f64_avx2
SPMV__FORCE_INLINE void spmv__vput_f64_avx2(double *p, spmv__vec_f64_avx2 v)
{
    _mm256_storeu_pd(p, v.low);
    _mm256_storeu_pd(p + 4, v.high);
}
SPMV__FORCE_INLINE spmv__vec_f64_avx2 spmv__vall_f64_avx2(double e) { return spmv__pair_f64_avx2(_mm256_set1_pd(e), _mm256_set1_pd(e)); }
SPMV__FORCE_INLINE spmv__vec_f64_avx2 spmv__vzero_f64_avx2(void) { return spmv__vall_f64_avx2(0); }
SPMV__FORCE_INLINE spmv__vec_f64_avx2 spmv__vfma_f64_avx2(spmv__vec_f64_avx2 a, spmv__vec_f64_avx2 b, spmv__vec_f64_avx2 c)
{
    return spmv__pair_f64_avx2(_mm256_fmadd_pd(a.low, b.low, c.low), _mm256_fmadd_pd(a.high, b.high, c.high));
}
SPMV__FORCE_INLINE double spmv__efma_f64_avx2(double a, double b, double c) { return __builtin_fma(a, b, c); }
SPMV__FORCE_INLINE spmv__vec_f64_avx2 spmv__vmul_f64_avx2(spmv__vec_f64_avx2 a, spmv__vec_f64_avx2 b)
{
    return spmv__pair_f64_avx2(_mm256_mul_pd(a.low, b.low), _mm256_mul_pd(a.high, b.high));
}
SPMV__FORCE_INLINE spmv__vec_f64_avx2 spmv__vadd_f64_avx2(spmv__vec_f64_avx2 a, spmv__vec_f64_avx2 b)
{
    return spmv__pair_f64_avx2(_mm256_add_pd(a.low, b.low), _mm256_add_pd(a.high, b.high));
}
SPMV__FORCE_INLINE double spmv__qsum_f64_avx2(__m256d q)
{
    __m128d h = _mm_add_pd(_mm256_castpd256_pd128(q), _mm256_extractf128_pd(q, 1));
    return _mm_cvtsd_f64(_mm_add_sd(h, _mm_unpackhi_pd(h, h)));
}
SPMV__FORCE_INLINE double spmv__vsum_f64_avx2(spmv__vec_f64_avx2 v) { return spmv__qsum_f64_avx2(_mm256_add_pd(v.low, v.high)); }
#define spmv__qset_f64_avx2 _mm256_setr_pd
SPMV__AVX2_GATHERS(f64_avx2, double, __m256d, spmv__pair_f64_avx2)
SPMV__FORCE_INLINE spmv__vec_f64_avx2 spmv__clear_f64_avx2(spmv__vec_f64_avx2 v, __m256i none)
{
    const __m256i low = _mm256_cvtepi32_epi64(_mm256_castsi256_si128(none));
    const __m256i high = _mm256_cvtepi32_epi64(_mm256_extracti128_si256(none, 1));
    return spmv__pair_f64_avx2(_mm256_andnot_pd(_mm256_castsi256_pd(low), v.low), _mm256_andnot_pd(_mm256_castsi256_pd(high), v.high));
}
SPMV__AVX2_PICK(, double, uint32_t, spmv__vec_f64_avx2, f64_avx2, spmv__pair_f64_avx2)
SPMV__AVX2_PICK(16, double, uint16_t, spmv__vec_f64_avx2, f64_avx2, spmv__pair_f64_avx2)
#define spmv__vrun_f64_avx2 spmv__vrun_f32_avx2 /* as many columns */
#define spmv__vrun16_f64_avx2 spmv__vrun16_f32_avx2
#define spmv__vpads_f64_avx2 spmv__vpads_f32_avx2
#define spmv__vpads16_f64_avx2 spmv__vpads16_f32_avx2
SPMV__FORCE_INLINE __m256d spmv__qload_f64_avx2(const double *p, int n)
{
    if (n == 4) return _mm256_loadu_pd(p);
    return _mm256_insertf128_pd(_mm256_castpd128_pd256(_mm_loadu_pd(p)), n == 2 ? _mm_setzero_pd() : _mm_load_sd(p + 2), 1);
}
SPMV__FORCE_INLINE __m256d spmv__qload_mixed_avx2(const float *p, int n) { return _mm256_cvtps_pd(spmv__qload_f32_avx2(p, n)); }
SPMV__FORCE_INLINE __m256d spmv__qfirst_f64_avx2(__m256d q, uint64_t n)
{
    static const int64_t first[8] = { -1, -1, -1, -1, 0, 0, 0, 0 };
    return _mm256_and_pd(q, _mm256_castsi256_pd(_mm256_loadu_si256((const __m256i *)(first + 4 - n))));
}
SPMV__FORCE_INLINE __m256d spmv__qlast_f64_avx2(__m256d q, uint64_t n)
{
    static const int64_t last[8] = { 0, 0, 0, 0, -1, -1, -1, -1 };
    return _mm256_and_pd(q, _mm256_castsi256_pd(_mm256_loadu_si256((const __m256i *)(last + n))));
}
SPMV__FORCE_INLINE __m256d spmv__qeight_f64_avx2(const double *p, uint64_t n)
{
    const __m256i mask = spmv__mask_avx2(n);
    const __m256i low = _mm256_cvtepi32_epi64(_mm256_castsi256_si128(mask));
    const __m256i high = _mm256_cvtepi32_epi64(_mm256_extracti128_si256(mask, 1));
    return _mm256_add_pd(_mm256_and_pd(_mm256_loadu_pd(p), _mm256_castsi256_pd(low)),
                         _mm256_and_pd(_mm256_loadu_pd(p + 4), _mm256_castsi256_pd(high)));
}
SPMV__FORCE_INLINE void spmv__qsums_f64_avx2(double *to, __m256d a, __m256d b, __m256d c, __m256d d)
{
    const __m256d ab = _mm256_hadd_pd(a, b), cd = _mm256_hadd_pd(c, d);
    _mm256_storeu_pd(to, _mm256_add_pd(_mm256_permute2f128_pd(ab, cd, 0x20), _mm256_permute2f128_pd(ab, cd, 0x31)));
}
SPMV__FORCE_INLINE __m256d spmv__qtwo_f64_avx2(const double *p, const double *q)
{
    return _mm256_insertf128_pd(_mm256_castpd128_pd256(_mm_loadu_pd(p)), _mm_loadu_pd(q), 1);
}
SPMV__FORCE_INLINE __m256d spmv__qfrom_f64_avx2(const double *p, int n) { return spmv__qload_f64_avx2(p, n); }
SPMV__FORCE_INLINE __m256d spmv__qzero_f64_avx2(void) { return _mm256_setzero_pd(); }
SPMV__FORCE_INLINE __m256d spmv__qadd_f64_avx2(__m256d a, __m256d b) { return _mm256_add_pd(a, b); }
SPMV__FORCE_INLINE __m256d spmv__qfma_f64_avx2(__m256d a, __m256d b, __m256d c) { return _mm256_fmadd_pd(a, b, c); }
#endif
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

#endif /* SPMV__SIMD_X86 */

/* ---- NEON ----------------------------------------------------------------------------------------------------------- */

#ifdef SPMV__SIMD_NEON
#include <arm_neon.h>
#define SPMV__GET2(G) G(0), G(1)
#define SPMV__GET4(G) SPMV__GET2(G), G(2), G(3)
#define SPMV__AT(k) x[c[k]]
#define SPMV__AT_OR_0(k) *(c[k] == pad ? &none : x + c[k])
/* Gathers of n lanes. */
#define SPMV__GATHERS(S, T, n)                                                                                                     \
    SPMV__FORCE_INLINE spmv__vec_##S spmv__vgather_##S(const T *x, const uint32_t *c)                                              \
    {                                                                                                                              \
        spmv__vec_##S v = { SPMV__GET##n(SPMV__AT) };                                                                              \
        return v;                                                                                                                  \
    }                                                                                                                              \
    SPMV__FORCE_INLINE spmv__vec_##S spmv__vgather16_##S(const T *x, const uint16_t *c)                                            \
    {                                                                                                                              \
        spmv__vec_##S v = { SPMV__GET##n(SPMV__AT) };                                                                              \
        return v;                                                                                                                  \
    }
/* Picks of n lanes. */
#define SPMV__PICKS(S, T, n)                                                                                                       \
    SPMV__FORCE_INLINE spmv__vec_##S spmv__vpick_##S(const T *x, const uint32_t *c, int pads)                                      \
    {                                                                                                                              \
        static const T none = 0;                                                                                                   \
        const uint32_t pad = SPMV_PAD;                                                                                             \
        spmv__vec_##S v = { SPMV__GET##n(SPMV__AT_OR_0) };                                                                         \
        return pads ? v : spmv__vgather_##S(x, c);                                                                                 \
    }                                                                                                                              \
    SPMV__FORCE_INLINE spmv__vec_##S spmv__vpick16_##S(const T *x, const uint16_t *c, int pads)                                    \
    {                                                                                                                              \
        static const T none = 0;                                                                                                   \
        const uint16_t pad = SPMV_PAD16;                                                                                           \
        spmv__vec_##S v = { SPMV__GET##n(SPMV__AT_OR_0) };                                                                         \
        return pads ? v : spmv__vgather16_##S(x, c);                                                                               \
    }
SPMV__FORCE_INLINE int spmv__short_neon(const uint32_t *ptr)
{
    int i = 0;
    while (i < 8 && ptr[i + 1] - ptr[i] <= 4) i++;
    return i == 8;
}

SPMV__FORCE_INLINE uint32_t spmv__ends_neon(const uint32_t *p, uint32_t m)
{
    uint32_t i, bits = 0;
    for (i = 0; i < 32; i++) bits |= (uint32_t)(((p[i] ^ p[i + 1]) & m) != 0) << i;
    return bits;
}
typedef float32x4_t spmv__vec_f32_neon, spmv__quad_f32_neon;
SPMV__FORCE_INLINE float32x4_t spmv__vload_f32_neon(const float *p) { return vld1q_f32(p); }
SPMV__FORCE_INLINE float32x4_t spmv__vfrom_f32_neon(const float *p) { return vld1q_f32(p); }
SPMV__FORCE_INLINE void spmv__vput_f32_neon(float *p, float32x4_t v) { vst1q_f32(p, v); }
SPMV__FORCE_INLINE float32x4_t spmv__vzero_f32_neon(void) { return vdupq_n_f32(0); }
SPMV__FORCE_INLINE float32x4_t spmv__vall_f32_neon(float e) { return vdupq_n_f32(e); }
SPMV__FORCE_INLINE float32x4_t spmv__vfma_f32_neon(float32x4_t a, float32x4_t b, float32x4_t c) { return vfmaq_f32(c, a, b); }
SPMV__FORCE_INLINE float spmv__efma_f32_neon(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
SPMV__FORCE_INLINE float32x4_t spmv__vmul_f32_neon(float32x4_t a, float32x4_t b) { return vmulq_f32(a, b); }
SPMV__FORCE_INLINE float32x4_t spmv__vadd_f32_neon(float32x4_t a, float32x4_t b) { return vaddq_f32(a, b); }
SPMV__FORCE_INLINE float spmv__vsum_f32_neon(float32x4_t v) { return vaddvq_f32(v); }
SPMV__GATHERS(f32_neon, float, 4)
SPMV__PICKS(f32_neon, float, 4)
SPMV__FORCE_INLINE int spmv__vrun_f32_neon(const uint32_t *c)
{
    static const uint32_t rise[4] = { 0, 1, 2, 3 };
    return *c < SPMV_PAD - 3 && vminvq_u32(vceqq_u32(vld1q_u32(c), vaddq_u32(vdupq_n_u32(*c), vld1q_u32(rise)))) != 0;
}
SPMV__FORCE_INLINE int spmv__vrun16_f32_neon(const uint16_t *c)
{
    static const uint16_t rise[4] = { 0, 1, 2, 3 };
    return *c < SPMV_PAD16 - 3 && vminv_u16(vceq_u16(vld1_u16(c), vadd_u16(vdup_n_u16(*c), vld1_u16(rise)))) != 0;
}
SPMV__FORCE_INLINE int spmv__vpads_f32_neon(const uint32_t *c)
{
    const uint32x4_t columns = vld1q_u32(c);
    return vminvq_u32(columns) == SPMV_PAD ? 2 : vmaxvq_u32(columns) == SPMV_PAD;
}
SPMV__FORCE_INLINE int spmv__vpads16_f32_neon(const uint16_t *c)
{
    const uint16x4_t columns = vld1_u16(c);
    return vminv_u16(columns) == SPMV_PAD16 ? 2 : vmaxv_u16(columns) == SPMV_PAD16;
}
SPMV__FORCE_INLINE float32x4_t spmv__qload_f32_neon(const float *p, int n)
{
    if (n == 4) return vld1q_f32(p);
    return vcombine_f32(vld1_f32(p), n == 2 ? vdup_n_f32(0) : vset_lane_f32(p[2], vdup_n_f32(0), 0));
}
SPMV__FORCE_INLINE float32x4_t spmv__qtwo_f32_neon(const float *p, const float *q) { return vcombine_f32(vld1_f32(p), vld1_f32(q)); }
SPMV__FORCE_INLINE float32x4_t spmv__qfrom_f32_neon(const float *p, int n) { return spmv__qload_f32_neon(p, n); }
SPMV__FORCE_INLINE float32x4_t spmv__qset_f32_neon(float a, float b, float c, float d)
{
    const float32x4_t q = { a, b, c, d };
    return q;
}
SPMV__FORCE_INLINE float32x4_t spmv__qzero_f32_neon(void) { return vdupq_n_f32(0); }
SPMV__FORCE_INLINE float32x4_t spmv__qadd_f32_neon(float32x4_t a, float32x4_t b) { return vaddq_f32(a, b); }
SPMV__FORCE_INLINE float32x4_t spmv__qfma_f32_neon(float32x4_t a, float32x4_t b, float32x4_t c) { return vfmaq_f32(c, a, b); }
enum { spmv__halves_qsum_f32_neon = 0, spmv__halves_qsums_f32_neon = 0, spmv__halves_qsum_f64_neon = 1, spmv__halves_qsums_f64_neon = 1 };
SPMV__FORCE_INLINE float spmv__qsum_f32_neon(float32x4_t q) { return vaddvq_f32(q); }
#define spmv__qgather_f32_neon spmv__vgather_f32_neon
#define spmv__qgather16_f32_neon spmv__vgather16_f32_neon
SPMV__FORCE_INLINE float32x4_t spmv__qfirst_f32_neon(float32x4_t q, uint64_t n)
{
    static const uint32_t first[8] = { UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX, 0, 0, 0, 0 };
    return vreinterpretq_f32_u32(vandq_u32(vreinterpretq_u32_f32(q), vld1q_u32(first + 4 - n)));
}
SPMV__FORCE_INLINE float32x4_t spmv__qlast_f32_neon(float32x4_t q, uint64_t n)
{
    static const uint32_t last[8] = { 0, 0, 0, 0, UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX };
    return vreinterpretq_f32_u32(vandq_u32(vreinterpretq_u32_f32(q), vld1q_u32(last + n)));
}
SPMV__FORCE_INLINE float32x4_t spmv__qeight_f32_neon(const float *p, uint64_t n)
{
    return vaddq_f32(spmv__qfirst_f32_neon(vld1q_f32(p), n < 4 ? n : 4), spmv__qfirst_f32_neon(vld1q_f32(p + 4), n < 4 ? 0 : n - 4));
}
SPMV__FORCE_INLINE void spmv__qsums_f32_neon(float *to, float32x4_t a, float32x4_t b, float32x4_t c, float32x4_t d)
{
    vst1q_f32(to, vpaddq_f32(vpaddq_f32(a, b), vpaddq_f32(c, d)));
}

#ifndef SPMV_NO_F64
typedef float64x2_t spmv__vec_f64_neon;
typedef struct { float64x2_t low, high; } spmv__quad_f64_neon;
SPMV__FORCE_INLINE float64x2_t spmv__vload_f64_neon(const double *p) { return vld1q_f64(p); }
SPMV__FORCE_INLINE float64x2_t spmv__vload_mixed_neon(const float *p) { return vcvt_f64_f32(vld1_f32(p)); }
SPMV__FORCE_INLINE float64x2_t spmv__vfrom_f64_neon(const double *p) { return vld1q_f64(p); }
SPMV__FORCE_INLINE void spmv__vput_f64_neon(double *p, float64x2_t v) { vst1q_f64(p, v); }
SPMV__FORCE_INLINE float64x2_t spmv__vzero_f64_neon(void) { return vdupq_n_f64(0); }
SPMV__FORCE_INLINE float64x2_t spmv__vall_f64_neon(double e) { return vdupq_n_f64(e); }
SPMV__FORCE_INLINE float64x2_t spmv__vfma_f64_neon(float64x2_t a, float64x2_t b, float64x2_t c) { return vfmaq_f64(c, a, b); }
SPMV__FORCE_INLINE double spmv__efma_f64_neon(double a, double b, double c) { return __builtin_fma(a, b, c); }
SPMV__FORCE_INLINE float64x2_t spmv__vmul_f64_neon(float64x2_t a, float64x2_t b) { return vmulq_f64(a, b); }
SPMV__FORCE_INLINE float64x2_t spmv__vadd_f64_neon(float64x2_t a, float64x2_t b) { return vaddq_f64(a, b); }
SPMV__FORCE_INLINE double spmv__vsum_f64_neon(float64x2_t v) { return vaddvq_f64(v); }
SPMV__GATHERS(f64_neon, double, 2)
SPMV__PICKS(f64_neon, double, 2)
SPMV__FORCE_INLINE int spmv__vrun_f64_neon(const uint32_t *c) { return *c < SPMV_PAD - 1 && c[1] == *c + 1; }
SPMV__FORCE_INLINE int spmv__vrun16_f64_neon(const uint16_t *c) { return *c < SPMV_PAD16 - 1 && c[1] == *c + 1; }
SPMV__FORCE_INLINE int spmv__vpads_f64_neon(const uint32_t *c) { return (*c == SPMV_PAD) + (c[1] == SPMV_PAD); }
SPMV__FORCE_INLINE int spmv__vpads16_f64_neon(const uint16_t *c) { return (*c == SPMV_PAD16) + (c[1] == SPMV_PAD16); }
SPMV__FORCE_INLINE spmv__quad_f64_neon spmv__qload_f64_neon(const double *p, int n)
{
    spmv__quad_f64_neon q;
    q.low = vld1q_f64(p);
    q.high = n == 4 ? vld1q_f64(p + 2) : n == 3 ? vsetq_lane_f64(p[2], vdupq_n_f64(0), 0) : vdupq_n_f64(0);
    return q;
}
SPMV__FORCE_INLINE spmv__quad_f64_neon spmv__qload_mixed_neon(const float *p, int n)
{
    const float32x4_t values = spmv__qload_f32_neon(p, n);
    spmv__quad_f64_neon q;
    q.low = vcvt_f64_f32(vget_low_f32(values));
    q.high = vcvt_high_f64_f32(values);
    return q;
}
SPMV__FORCE_INLINE spmv__quad_f64_neon spmv__qtwo_f64_neon(const double *p, const double *q)
{
    spmv__quad_f64_neon v;
    v.low = vld1q_f64(p);
    v.high = vld1q_f64(q);
    return v;
}
SPMV__FORCE_INLINE spmv__quad_f64_neon spmv__qfrom_f64_neon(const double *p, int n) { return spmv__qload_f64_neon(p, n); }
SPMV__FORCE_INLINE spmv__quad_f64_neon spmv__qzero_f64_neon(void)
{
    spmv__quad_f64_neon q;
    q.low = q.high = vdupq_n_f64(0);
    return q;
}
SPMV__FORCE_INLINE spmv__quad_f64_neon spmv__qset_f64_neon(double a, double b, double c, double d)
{
    const spmv__quad_f64_neon q = { { a, b }, { c, d } };
    return q;
}
SPMV__FORCE_INLINE spmv__quad_f64_neon spmv__qadd_f64_neon(spmv__quad_f64_neon a, spmv__quad_f64_neon b)
{
    a.low = vaddq_f64(a.low, b.low);
    a.high = vaddq_f64(a.high, b.high);
    return a;
}
SPMV__FORCE_INLINE spmv__quad_f64_neon spmv__qfma_f64_neon(spmv__quad_f64_neon a, spmv__quad_f64_neon b, spmv__quad_f64_neon c)
{
    c.low = vfmaq_f64(c.low, a.low, b.low);
    c.high = vfmaq_f64(c.high, a.high, b.high);
    return c;
}
SPMV__FORCE_INLINE double spmv__qsum_f64_neon(spmv__quad_f64_neon q) { return vaddvq_f64(vaddq_f64(q.low, q.high)); }
SPMV__FORCE_INLINE spmv__quad_f64_neon spmv__qgather_f64_neon(const double *x, const uint32_t *c)
{
    spmv__quad_f64_neon q;
    q.low = spmv__vgather_f64_neon(x, c);
    q.high = spmv__vgather_f64_neon(x, c + 2);
    return q;
}
SPMV__FORCE_INLINE spmv__quad_f64_neon spmv__qgather16_f64_neon(const double *x, const uint16_t *c)
{
    spmv__quad_f64_neon q;
    q.low = spmv__vgather16_f64_neon(x, c);
    q.high = spmv__vgather16_f64_neon(x, c + 2);
    return q;
}
SPMV__FORCE_INLINE spmv__quad_f64_neon spmv__qfirst_f64_neon(spmv__quad_f64_neon q, uint64_t n)
{
    static const uint64_t first[8] = { UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, 0, 0, 0, 0 };
    q.low = vreinterpretq_f64_u64(vandq_u64(vreinterpretq_u64_f64(q.low), vld1q_u64(first + 4 - n)));
    q.high = vreinterpretq_f64_u64(vandq_u64(vreinterpretq_u64_f64(q.high), vld1q_u64(first + 6 - n)));
    return q;
}
SPMV__FORCE_INLINE spmv__quad_f64_neon spmv__qlast_f64_neon(spmv__quad_f64_neon q, uint64_t n)
{
    static const uint64_t last[8] = { 0, 0, 0, 0, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX };
    q.low = vreinterpretq_f64_u64(vandq_u64(vreinterpretq_u64_f64(q.low), vld1q_u64(last + n)));
    q.high = vreinterpretq_f64_u64(vandq_u64(vreinterpretq_u64_f64(q.high), vld1q_u64(last + 2 + n)));
    return q;
}
SPMV__FORCE_INLINE spmv__quad_f64_neon spmv__qeight_f64_neon(const double *p, uint64_t n)
{
    return spmv__qadd_f64_neon(spmv__qfirst_f64_neon(spmv__qload_f64_neon(p, 4), n < 4 ? n : 4),
                               spmv__qfirst_f64_neon(spmv__qload_f64_neon(p + 4, 4), n < 4 ? 0 : n - 4));
}
SPMV__FORCE_INLINE void spmv__qsums_f64_neon(double *to, spmv__quad_f64_neon a, spmv__quad_f64_neon b, spmv__quad_f64_neon c,
                                             spmv__quad_f64_neon d)
{
    vst1q_f64(to, vpaddq_f64(vaddq_f64(a.low, a.high), vaddq_f64(b.low, b.high)));
    vst1q_f64(to + 2, vpaddq_f64(vaddq_f64(c.low, c.high), vaddq_f64(d.low, d.high)));
}
#endif
#endif /* SPMV__SIMD_NEON */

#endif
