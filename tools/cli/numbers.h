/* SPDX-License-Identifier: MIT
 *
 * tools/cli/numbers.h - small arithmetic for reports.
 */
#ifndef SPMV_TOOLS_CLI_NUMBERS_H
#define SPMV_TOOLS_CLI_NUMBERS_H

#include <stdint.h>

/* The square root, by Newton's method, so that matrices do not depend on libm; 0 unless v > 0. */
double number_root(double v);

/* What percentage of whole part is; 0 if whole is 0. */
double number_percent(uint64_t part, uint64_t whole);

#endif
