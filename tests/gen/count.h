/* SPDX-License-Identifier: MIT
 * Counts what the programs of this folder test, and prints what fails. */
#ifndef SPMV_TESTS_GEN_COUNT_H
#define SPMV_TESTS_GEN_COUNT_H

#include <stdio.h>

static int tests_passed, tests_failed;

#define TEST(condition, ...)                                       \
    do {                                                           \
        if (condition) tests_passed++;                             \
        else {                                                     \
            tests_failed++;                                        \
            printf("%s:%d: %s: ", __FILE__, __LINE__, #condition); \
            printf(__VA_ARGS__);                                   \
            printf("\n");                                          \
        }                                                          \
    } while (0)

#endif
