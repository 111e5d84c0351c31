/* SPDX-License-Identifier: MIT
 * tests/gen/codes.c - values by way of a dictionary (codes.fmt): the product is right, and a code that the dictionary lacks is found. */
#include <stdio.h>
#include <string.h>

#include "codes.h"

int main(void)
{
    static const double dictionary[] = { 2, -0.5 }, x[] = { 1, 10, 100 };
    static const uint8_t code[] = { 0, 1, 1, 0 };
    static const uint32_t ptr[] = { 0, 2, 2, 4 }, col[] = { 0, 2, 1, 2 };
    uint8_t wrong[sizeof code];
    double y[3];
    const int64_t n[codes_parameters] = { 3, 3, 4, 2 };
    const void *data[codes_arrays];
    int64_t count[codes_arrays] = { 2, 4, 4, 4 };
    codes_matrix m;
    char message[200];
    data[0] = dictionary;
    data[1] = code;
    data[2] = ptr;
    data[3] = col;
    codes_bind(&m, n, data, count);
    if (codes_check(&m, message, sizeof message)) return printf("refused: %s\n", message), 1;
    codes_multiply(&m, 1, x, 0, y);
    if (y[0] != 2 - 50 || y[1] != 0 || y[2] != -5 + 200) return printf("wrong: %g %g %g\n", y[0], y[1], y[2]), 1;
    memcpy(wrong, code, sizeof code);
    wrong[2] = 2;
    data[1] = wrong;
    codes_bind(&m, n, data, count);
    if (!codes_check(&m, message, sizeof message)) return puts("a code beyond the dictionary is accepted"), 1;
    return 0;
}
