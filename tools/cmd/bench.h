/* SPDX-License-Identifier: MIT
 *
 * tools/cmd/bench.h - spmv bench: times every plan and checks its product.
 */
#ifndef SPMV_TOOLS_CMD_BENCH_H
#define SPMV_TOOLS_CMD_BENCH_H

#include "bench_lines.h"
#include "../measure/runner.h"
#include "spmv.h"

/* Sets the time of a line and the rates that follow from it; out->bytes must be set. */
void bench_line_rates(line *out, uint64_t nnz, timing took);

/* The description for spmv_create of one plan of the current file; variant may be NULL. */
spmv_desc bench_desc(const bench *b, const char *plan, const char *variant);

#endif
