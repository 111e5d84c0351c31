/* SPDX-License-Identifier: MIT
 *
 * tools/cmd/bench_again.h - spmv bench --again: times the fastest plans again, side by side.
 */
#ifndef SPMV_TOOLS_CMD_BENCH_AGAIN_H
#define SPMV_TOOLS_CMD_BENCH_AGAIN_H

#include "bench_lines.h"

/* The most products that can take part, and the rounds in which each is timed. */
enum { AGAIN_MOST = 64, AGAIN_ROUNDS = 5 };

/* Times the fastest plans of the current file again, in turn, and prints their lines. */
void bench_again(bench *b);

#endif
