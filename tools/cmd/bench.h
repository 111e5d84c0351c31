/* SPDX-License-Identifier: MIT
 *
 * tools/cmd/bench.h - spmv bench: every plan timed and its product checked.
 */
#ifndef SPMV_TOOLS_CMD_BENCH_H
#define SPMV_TOOLS_CMD_BENCH_H

#include "bench_lines.h"
#include "../measure/runner.h"
#include "spmv.h"

/* Sets the time and the rates that follow from it; bytes are known. */
void bench_line_rates(line *out, uint64_t nnz, timing took);

/* What spmv_create takes for one plan of this file; variant may be NULL. */
spmv_desc bench_desc(const bench *b, const char *plan, const char *variant);

#endif
