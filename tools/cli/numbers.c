/* SPDX-License-Identifier: MIT */
#include "numbers.h"

double number_root(double v)
{
    double root = v > 1 ? v : 1, next;
    int i;
    if (!(v > 0)) return 0;
    for (i = 0; i < 2000; i++) {
        next = 0.5 * (root + v / root);
        if (!(next < root)) break;
        root = next;
    }
    return root;
}

double number_percent(uint64_t part, uint64_t whole)
{
    return whole ? 100.0 * (double)part / (double)whole : 0;
}
