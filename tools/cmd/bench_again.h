/* SPDX-License-Identifier: MIT
 *
 * tools/cmd/bench_again.h - the fastest plans of spmv bench timed once more, side by side.
 */
#ifndef SPMV_TOOLS_CMD_BENCH_AGAIN_H
#define SPMV_TOOLS_CMD_BENCH_AGAIN_H

#include "bench_lines.h"

enum { AGAIN_MOST = 64, AGAIN_ROUNDS = 5 };

/* Times the fastest plans of the file once more, in turn, and prints them. */
void bench_again(bench *b);

#endif
