/* SPDX-License-Identifier: MIT
 *
 * tools/cmd/commands.h - the commands. Each does what its --help says with its parsed arguments and returns an exit status: DONE, or
 * FAILED or USAGE after a message.
 */
#ifndef SPMV_TOOLS_CMD_COMMANDS_H
#define SPMV_TOOLS_CMD_COMMANDS_H

#include "../cli/options.h"

int bench_command(tool *t, const arguments *args);
int check_command(tool *t, const arguments *args);
int convert_command(tool *t, const arguments *args);
int devices_command(tool *t, const arguments *args);
int gen_command(tool *t, const arguments *args);
int info_command(tool *t, const arguments *args);
int mul_command(tool *t, const arguments *args);
int plan_command(tool *t, const arguments *args);
int plot_command(tool *t, const arguments *args);
int tune_command(tool *t, const arguments *args);

#endif
