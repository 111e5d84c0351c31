/* SPDX-License-Identifier: MIT
 *
 * Makes assertions count that fail behind a test, in what its suite does at the end (.fini). Criterion prints them, but takes the test for
 * passed. Include it in one unit of a test program, after <criterion/criterion.h>. */
#ifndef SPMV_TESTS_FINAL_H
#define SPMV_TESTS_FINAL_H

#include <criterion/hooks.h>
#include <stdio.h>
#include <stdlib.h>

ReportHook(POST_ALL)(struct criterion_global_stats *all)
{
    fflush(NULL);
    if (!all->asserts_failed || all->tests_failed || all->tests_crashed) return;
    fputs("an assertion failed at the end of a test\n", stderr);
    _Exit(EXIT_FAILURE);
}

#endif
