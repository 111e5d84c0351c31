/* SPDX-License-Identifier: MIT
 *
 * tools/cli/numbers.h - small arithmetic for reports.
 */
#ifndef SPMV_TOOLS_CLI_NUMBERS_H
#define SPMV_TOOLS_CLI_NUMBERS_H

#include <stdint.h>

/* Without libm, which nothing else here needs. */
double number_root(double v);

/* Percent that part is of whole; 0 of nothing. */
double number_percent(uint64_t part, uint64_t whole);

#endif
