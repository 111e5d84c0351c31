/* SPDX-License-Identifier: MIT
 *
 * spmv/io/number.h - numbers from and to text, rounded correctly.
 */
#ifndef SPMV__IO_NUMBER_H
#define SPMV__IO_NUMBER_H

#include "../build.h"

#define SPMV__IO_BODY

#ifndef SPMV_NO_STDIO
#include <errno.h>
#endif
#include <string.h>

/* ---- big integers -------------------------------------------------------------------------------------------------
 * For exact comparisons and digits, for which 64 bits are too few. The longest number is that of 801 digits, or of 5^1144 times 54 bits:
 * under 2800 bits. */
enum {
    SPMV__IO_WORDS  = 96, /* 32-bit words of a big integer: 3072 bits */
    SPMV__IO_DIGITS = 800 /* decimal digits that are kept: the middle of two doubles has at most 768, a double 767 */
};

typedef struct spmv__io_big {
    uint32_t w[SPMV__IO_WORDS]; /* lowest first */
    int n;                      /* words in use; the highest is not 0 */
} spmv__io_big;

static void spmv__io_big_from(spmv__io_big *b, uint64_t v)
{
    b->n = 0;
    for (; v; v >>= 32) b->w[b->n++] = (uint32_t)v;
}

static void spmv__io_big_push(spmv__io_big *b, uint32_t w)
{
    SPMV_ASSERT(b->n < SPMV__IO_WORDS);
    b->w[b->n++] = w;
}

/* b = b * mul + add */
static void spmv__io_big_mul(spmv__io_big *b, uint32_t mul, uint32_t add)
{
    uint64_t carry = add;
    int i;
    for (i = 0; i < b->n; i++) {
        carry += (uint64_t)b->w[i] * mul;
        b->w[i] = (uint32_t)carry;
        carry >>= 32;
    }
    if (carry) spmv__io_big_push(b, (uint32_t)carry);
}

/* b = b * 5^power, by steps of 5^13, the highest power that fits 32 bits */
static void spmv__io_big_pow5(spmv__io_big *b, int64_t power)
{
    for (; power >= 13; power -= 13) spmv__io_big_mul(b, 1220703125u, 0);
    for (; power > 0; power--) spmv__io_big_mul(b, 5, 0);
}

/* b = b * 2^bits */
static void spmv__io_big_shift(spmv__io_big *b, int64_t bits)
{
    int words = (int)(bits / 32), i;
    if (b->n == 0) return;
    spmv__io_big_mul(b, (uint32_t)1 << (bits % 32), 0);
    if (words == 0) return;
    SPMV_ASSERT(b->n + words <= SPMV__IO_WORDS);
    memmove(b->w + words, b->w, (size_t)b->n * sizeof b->w[0]);
    for (i = 0; i < words; i++) b->w[i] = 0;
    b->n += words;
}

static int spmv__io_big_compare(const spmv__io_big *a, const spmv__io_big *b)
{
    int i;
    if (a->n != b->n) return a->n < b->n ? -1 : 1;
    for (i = a->n; i-- > 0;) {
        if (a->w[i] != b->w[i]) return a->w[i] < b->w[i] ? -1 : 1;
    }
    return 0;
}

/* b = b / div; returns the remainder */
static uint32_t spmv__io_big_divide(spmv__io_big *b, uint32_t div)
{
    uint64_t rest = 0;
    int i;
    for (i = b->n; i-- > 0;) {
        rest = rest << 32 | b->w[i];
        b->w[i] = (uint32_t)(rest / div);
        rest %= div;
    }
    while (b->n > 0 && b->w[b->n - 1] == 0) b->n--;
    return (uint32_t)rest;
}

/* ---- text to number -----------------------------------------------------------------------------------------------
 * value = m * 10^e is first formed in 64 bits with a bound on its error. If that does not decide which of two doubles is nearer (about
 * once in a hundred for 17 digits), the decimal is compared exactly with the middle between them. */
enum {
    SPMV__IO_EXACT_DIGITS = 19,   /* decimal digits that always fit 64 bits */
    SPMV__IO_MOST_TEN     = 308,  /* m * 10^e is infinite for a higher e, m being at least 1 */
    SPMV__IO_LEAST_TEN    = -343, /* and rounds to 0 for a lower one, m being below 10^19 */
    SPMV__IO_TOP_EXPONENT = 1023, /* of two, of the largest doubles, and ... */
    SPMV__IO_LOW_EXPONENT = -1022,/* ... of the smallest normal ones */
    SPMV__IO_MANTISSA     = 52    /* bits of a double after the leading one */
};
typedef struct spmv__io_decimal {
    const char *digits, *stop; /* the significand as written, point and leading zeros included */
    int64_t exponent;          /* the exponent as written */
    uint64_t m;                /* the first significant digits, up to SPMV__IO_EXACT_DIGITS */
    int64_t e;                 /* power of ten of m */
    int more;                  /* 1: m leaves out digits that are not 0, so that the true m is up to 1 larger */
} spmv__io_decimal;

static int spmv__io_is_digit(char c)
{
    return (unsigned char)(c - '0') < 10;
}

/* Returns the upper half of a * b; *low becomes the lower. */
static uint64_t spmv__io_multiply(uint64_t a, uint64_t b, uint64_t *low)
{
    uint64_t a0 = a & 0xffffffffu, a1 = a >> 32, b0 = b & 0xffffffffu, b1 = b >> 32;
    uint64_t low0 = a0 * b0, mid = a1 * b0 + (low0 >> 32), mid2 = a0 * b1 + (mid & 0xffffffffu);
    *low = mid2 << 32 | (low0 & 0xffffffffu);
    return a1 * b1 + (mid >> 32) + (mid2 >> 32);
}

/* Powers of five: 5^(28 k) is about top * 2^exponent, for k from -13; top is rounded down, so that the true value is less than 1 above it.
 * 5^27 is the highest power that fits 64 bits. */
enum { SPMV__IO_POW5_STEP = 28, SPMV__IO_POW5_ONE = 13 /* place of 5^0 in the table */ };
static const struct { uint64_t top; int exponent; } spmv__io_pow5_28[] = {
    {0xe1afa13afbd14d6du, -909}, {0xe3e27a444d8d98b7u, -844}, {0xe61acf033d1a45dfu, -779},
    {0xe858ad248f5c22c9u, -714}, {0xea9c227723ee8bcbu, -649}, {0xece53cec4a314ebdu, -584},
    {0xef340a98172aace4u, -519}, {0xf18899b1bc3f8ca1u, -454}, {0xf3e2f893dec3f126u, -389},
    {0xf64335bcf065d37du, -324}, {0xf8a95fcf88747d94u, -259}, {0xfb158592be068d2eu, -194},
    {0xfd87b5f28300ca0du, -129}, {0x8000000000000000u, -63},  {0x813f3978f8940984u, 2},
    {0x82818f1281ed449fu, 67},   {0x83c7088e1aab65dbu, 132},  {0x850fadc09923329eu, 197},
    {0x865b86925b9bc5c2u, 262},  {0x87aa9aff79042286u, 327},  {0x88fcf317f22241e2u, 392},
    {0x8a5296ffe33cc92fu, 457},  {0x8bab8eefb6409c1au, 522},  {0x8d07e33455637eb2u, 587},
    {0x8e679c2f5e44ff8fu, 652}
};

static const uint64_t spmv__io_pow5[] = {
    1u, 5u, 25u, 125u, 625u, 3125u, 15625u, 78125u, 390625u, 1953125u, 9765625u, 48828125u, 244140625u, 1220703125u,
    6103515625u, 30517578125u, 152587890625u, 762939453125u, 3814697265625u, 19073486328125u, 95367431640625u,
    476837158203125u, 2384185791015625u, 11920928955078125u, 59604644775390625u, 298023223876953125u,
    1490116119384765625u, 7450580596923828125u
};

/* A value in [top, top + error] * 2^exponent, top with its highest bit set. */
typedef struct spmv__io_approx {
    uint64_t top, error;
    int exponent;
} spmv__io_approx;

/* Multiplies by a number in [factor, factor + error] * 2^exponent, factor with its highest bit set. */
static void spmv__io_approx_mul(spmv__io_approx *approx, uint64_t factor, uint64_t error, int exponent)
{
    uint64_t low, high = spmv__io_multiply(approx->top, factor, &low);
    approx->error += error + (low != 0);
    approx->exponent += exponent + 64;
    if (!(high >> 63)) {
        high = high << 1 | low >> 63;
        approx->error *= 2;
        approx->exponent--;
    }
    approx->top = high;
}

/* m * 10^e for m > 0 and SPMV__IO_LEAST_TEN <= e <= SPMV__IO_MOST_TEN. more: the true m is up to 1 larger. */
static spmv__io_approx spmv__io_approx_from(uint64_t m, int e, int more)
{
    int zeros = spmv__leading_zeros(m), from_first = e + SPMV__IO_POW5_ONE * SPMV__IO_POW5_STEP;
    int coarse = from_first / SPMV__IO_POW5_STEP, fine = from_first % SPMV__IO_POW5_STEP;
    spmv__io_approx approx;
    approx.top = m << zeros;
    approx.error = more ? (uint64_t)1 << zeros : 0;
    approx.exponent = e - zeros;
    if (fine) {
        zeros = spmv__leading_zeros(spmv__io_pow5[fine]);
        spmv__io_approx_mul(&approx, spmv__io_pow5[fine] << zeros, 0, -zeros);
    }
    if (coarse != SPMV__IO_POW5_ONE) spmv__io_approx_mul(&approx, spmv__io_pow5_28[coarse].top, 1, spmv__io_pow5_28[coarse].exponent);
    return approx;
}

/* The sign of the decimal minus odd * 2^exponent, found exactly. */
static int spmv__io_compare(const spmv__io_decimal *decimal, uint64_t odd, int64_t exponent)
{
    spmv__io_big left, right;
    const char *p;
    int64_t five = decimal->exponent;
    int digits = 0, fraction = 0, rest = 0;
    left.n = 0;
    /* no middle of two doubles has more digits than are kept: of the others it only matters whether any is not 0 */
    for (p = decimal->digits; p < decimal->stop; p++) {
        if (*p == '.') {
            fraction = 1;
        } else if (digits < SPMV__IO_DIGITS) {
            spmv__io_big_mul(&left, 10, (uint32_t)(*p - '0'));
            digits += left.n > 0;
            five -= fraction;
        } else {
            rest |= *p != '0';
            five += !fraction;
        }
    }
    if (rest) {
        spmv__io_big_mul(&left, 10, 1);
        five--;
    }
    spmv__io_big_from(&right, odd);
    spmv__io_big_pow5(five >= 0 ? &left : &right, five >= 0 ? five : -five);
    exponent -= five;
    spmv__io_big_shift(exponent >= 0 ? &right : &left, exponent >= 0 ? exponent : -exponent);
    return spmv__io_big_compare(&left, &right);
}

static double spmv__io_from_bits(uint64_t bits)
{
    double v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

static uint64_t spmv__io_bits(double v)
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}

#define SPMV__IO_INFINITY ((uint64_t)0x7ff << SPMV__IO_MANTISSA)

/* The double that is nearest to the decimal. */
static double spmv__io_round(const spmv__io_decimal *decimal)
{
    spmv__io_approx approx;
    uint64_t mant, rest, half;
    int exponent, shift, order, up;
    if (decimal->m == 0 || decimal->e < SPMV__IO_LEAST_TEN) return 0;
    if (decimal->e > SPMV__IO_MOST_TEN) return spmv__io_from_bits(SPMV__IO_INFINITY);
    if (decimal->e == 0 && !decimal->more && decimal->m >> (SPMV__IO_MANTISSA + 1) == 0) return (double)decimal->m;
    approx = spmv__io_approx_from(decimal->m, (int)decimal->e, decimal->more);
    exponent = approx.exponent + 63;
    if (exponent > SPMV__IO_TOP_EXPONENT) return spmv__io_from_bits(SPMV__IO_INFINITY);
    shift = 63 - SPMV__IO_MANTISSA;
    if (exponent < SPMV__IO_LOW_EXPONENT) shift += SPMV__IO_LOW_EXPONENT - exponent; /* subnormal doubles have fewer bits */
    if (shift > 65) return 0;
    mant = shift < 64 ? approx.top >> shift : 0;
    rest = shift < 64 ? approx.top & (((uint64_t)1 << shift) - 1) : approx.top;
    half = shift < 65 ? (uint64_t)1 << (shift - 1) : 0;
    if (shift < 65 && (rest > half || half - rest > approx.error)) {
        up = rest > half;
    } else {
        order = spmv__io_compare(decimal, 2 * mant + 1, (int64_t)approx.exponent + shift - 1);
        up = order > 0 || (order == 0 && (mant & 1));
    }
    /* the leading bit of a normal mantissa adds 1 to the exponent, and so does a carry out of it */
    if (exponent >= SPMV__IO_LOW_EXPONENT) mant += (uint64_t)(exponent - SPMV__IO_LOW_EXPONENT) << SPMV__IO_MANTISSA;
    return spmv__io_from_bits(mant + (uint64_t)up);
}

/* Sets m, e and more of a significand with more than SPMV__IO_EXACT_DIGITS digits. */
static void spmv__io_scan_long(spmv__io_decimal *decimal)
{
    const char *p;
    int digits = 0, fraction = 0;
    decimal->m = 0;
    decimal->e = decimal->exponent;
    for (p = decimal->digits; p < decimal->stop; p++) {
        if (*p == '.') {
            fraction = 1;
        } else if (digits < SPMV__IO_EXACT_DIGITS) {
            decimal->m = decimal->m * 10 + (uint64_t)(*p - '0');
            digits += decimal->m > 0;
            decimal->e -= fraction;
        } else {
            decimal->more |= *p != '0';
            decimal->e += !fraction;
        }
    }
}

/* Reads the exponent after its letter, limited to what cannot overflow later. Returns what follows it; NULL if there is none. */
static const char *spmv__io_scan_exponent(const char *p, int64_t *out)
{
    const int64_t limit = INT64_MAX / 16;
    const char *start;
    int negative = *p == '-';
    int64_t e = 0;
    p += *p == '-' || *p == '+';
    for (start = p; spmv__io_is_digit(*p); p++) e = e < limit / 16 ? e * 10 + (*p - '0') : limit;
    *out = negative ? -e : e;
    return p == start ? NULL : p;
}

/* Reads an unsigned decimal; returns what follows it, or NULL if there is none. */
static const char *spmv__io_scan(const char *p, spmv__io_decimal *decimal)
{
    const char *point = NULL;
    uint64_t m = 0;
    decimal->digits = p;
    decimal->exponent = 0;
    decimal->more = 0;
    for (; spmv__io_is_digit(*p); p++) m = m * 10 + (uint64_t)(*p - '0');
    if (*p == '.') {
        point = p++;
        for (; spmv__io_is_digit(*p); p++) m = m * 10 + (uint64_t)(*p - '0');
    }
    decimal->stop = p;
    if (p - decimal->digits == (point != NULL)) return NULL;
    if (*p == 'e' || *p == 'E' || *p == 'd' || *p == 'D') p = spmv__io_scan_exponent(p + 1, &decimal->exponent);
    decimal->m = m;
    decimal->e = decimal->exponent - (point ? decimal->stop - point - 1 : 0);
    if (decimal->stop - decimal->digits - (point != NULL) > SPMV__IO_EXACT_DIGITS) spmv__io_scan_long(decimal);
    return p;
}

/* Skips word, which is given in lower case; NULL if it is not there. */
static const char *spmv__io_word(const char *p, const char *word)
{
    for (; *word; p++, word++) {
        if ((*p >= 'A' && *p <= 'Z' ? *p - 'A' + 'a' : *p) != *word) return NULL;
    }
    return p;
}

/* Reads a number with its sign; returns what follows it, or NULL if there is none. The text must end in something that is not part of a
 * number. */
static const char *spmv__io_number(const char *p, int integer, double *out)
{
    spmv__io_decimal decimal;
    const char *after;
    int negative = *p == '-';
    double v;
    p += *p == '-' || *p == '+';
    if (spmv__io_is_digit(*p) || (*p == '.' && !integer)) {
        after = spmv__io_scan(p, &decimal);
        if (!after) return NULL;
        if (integer && (after != decimal.stop || memchr(p, '.', (size_t)(after - p)))) return NULL;
        v = spmv__io_round(&decimal);
    } else if (integer) {
        return NULL;
    } else if ((after = spmv__io_word(p, "nan")) != NULL) {
        v = spmv__io_from_bits(SPMV__IO_INFINITY | (uint64_t)1 << (SPMV__IO_MANTISSA - 1)); /* a quiet one */
    } else {
        after = spmv__io_word(p, "infinity");
        if (!after) after = spmv__io_word(p, "inf");
        v = spmv__io_from_bits(SPMV__IO_INFINITY);
    }
    *out = negative ? -v : v;
    return after;
}

SPMV_API int spmv_number_from(const char *text, double *out)
{
    if (!text || !out) return 0;
    double v;
    const char *after = spmv__io_number(text, 0, &v);
    if (!after || *after) return 0;
    *out = v;
    return 1;
}

/* ---- number to text ---------------------------------------------------------------------------------------------- */

static size_t spmv__io_count_text(char *out, uint64_t n)
{
    char digits[20];
    size_t length = 0, i;
    do digits[length++] = (char)('0' + (int)(n % 10));
    while (n /= 10);
    for (i = 0; i < length; i++) out[i] = digits[length - 1 - i];
    return length;
}

/* All decimal digits of m * 2^e, which are finitely many, at the end of a buffer of size bytes. Returns the place of
 * the first; the value is the digits times 10^*ten. */
static size_t spmv__io_all_digits(char *buffer, size_t size, uint64_t m, int e, int *ten)
{
    spmv__io_big b;
    size_t at = size;
    int i;
    for (; !(m & 1) && e < 0; e++) m >>= 1;
    spmv__io_big_from(&b, m);
    if (e >= 0) spmv__io_big_shift(&b, e);
    else spmv__io_big_pow5(&b, -e); /* m / 2^k = m * 5^k / 10^k */
    *ten = e < 0 ? e : 0;
    while (b.n) {
        uint32_t group = spmv__io_big_divide(&b, 1000000000u);
        for (i = 0; i < 9; i++, group /= 10) buffer[--at] = (char)('0' + (int)(group % 10));
    }
    while (buffer[at] == '0') at++;
    return at;
}

/* Rounds n digits to at most keep, ties to even, and takes zeros off the end. Returns how many are left; *carry is 1 if
 * they became 1 and the point moved. */
static size_t spmv__io_round_digits(char *digits, size_t n, size_t keep, int *carry)
{
    int up = 0;
    size_t i;
    *carry = 0;
    if (n > keep) {
        for (i = keep + 1; i < n && digits[i] == '0'; i++) { }
        up = digits[keep] > '5' || (digits[keep] == '5' && (i < n || digits[keep - 1] % 2));
        n = keep;
        while (up && n > 0 && digits[n - 1] == '9') n--;
        if (up && n > 0) digits[n - 1]++;
    }
    if (n == 0) {
        digits[0] = '1';
        *carry = 1;
        return 1;
    }
    while (n > 1 && digits[n - 1] == '0') n--;
    return n;
}

/* Writes 0.DIGITS * 10^point, without an exponent where that takes few zeros, and returns the length. limit: the most digits before the
 * point. */
static size_t spmv__io_lay_out(char *out, const char *digits, size_t n, int point, size_t limit)
{
    size_t length = 0, i;
    const int most_zeros = 3; /* between the point and the first digit, as %g of printf has */
    if (point >= -most_zeros && point <= (int)limit) {
        if (point <= 0) {
            out[length++] = '0';
            out[length++] = '.';
            for (; point < 0; point++) out[length++] = '0';
            point = -1;
        }
        for (i = 0; i < n || (int)i < point; i++) {
            if ((int)i == point) out[length++] = '.';
            out[length++] = i < n ? digits[i] : '0';
        }
        return length;
    }
    out[length++] = digits[0];
    if (n > 1) out[length++] = '.';
    for (i = 1; i < n; i++) out[length++] = digits[i];
    out[length++] = 'e';
    point--;
    out[length++] = point < 0 ? '-' : '+';
    return length + spmv__io_count_text(out + length, (uint64_t)(point < 0 ? -point : point));
}

enum { SPMV__NUMBER_TEXT = 32 };

/* Writes v with at most digits (1 to 17) significant digits, rounded correctly, ties to even, and a 0 at the end; returns the
 * length. Integers of up to digits digits have neither point nor exponent. */
SPMV__SHARED size_t spmv__number_text(char out[SPMV__NUMBER_TEXT], double v, int digits)
{
    char all[SPMV__IO_DIGITS];
    uint64_t bits = spmv__io_bits(v), mant = bits & (((uint64_t)1 << 52) - 1);
    int exponent = (int)(bits >> 52 & 0x7ff), ten, carry;
    size_t length = bits >> 63 ? 1 : 0, keep = (size_t)(digits < 1 ? 1 : digits > 17 ? 17 : digits), first, count;
    if (length) out[0] = '-';
    if (exponent == 0x7ff) {
        memcpy(out + length, mant ? "nan" : "inf", 3);
        length += 3;
    } else if ((bits << 1) == 0) {
        out[length++] = '0';
    } else {
        mant |= exponent ? (uint64_t)1 << 52 : 0;
        first = spmv__io_all_digits(all, sizeof all, mant, (exponent ? exponent : 1) - 1075, &ten);
        count = spmv__io_round_digits(all + first, sizeof all - first, keep, &carry);
        length += spmv__io_lay_out(out + length, all + first, count, (int)(sizeof all - first) + ten + carry, keep);
    }
    out[length] = 0;
    return length;
}

#endif
