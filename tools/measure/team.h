/* SPDX-License-Identifier: MIT
 *
 * tools/measure/team.h - several devices that share a matrix, as --device 0+1 and --shares 3,1 name them.
 */
#ifndef SPMV_TOOLS_MEASURE_TEAM_H
#define SPMV_TOOLS_MEASURE_TEAM_H

#include "../cli/cli.h"
#include "../cli/options.h"
#include "spmv.h"
#include "spmv_group.h"

typedef struct team {
    spmv_device **device; /* count of them; NULL is the host */
    double       *shares; /* as many, or NULL if none were given */
    size_t        count;  /* 0: --device names one device, which is not opened */
} team;

/* Opens the devices of --device if it names several, and reads --shares. DONE, or USAGE or FAILED after a message. The caller calls
 * team_close in either case. */
int team_open(tool *t, const arguments *args, team *out);

/* Closes the devices as device_close does and zeroes *m. A zeroed team is allowed. */
void team_close(tool *t, team *m);

/* Writes the names of the devices, with plus signs between them. */
void team_label(const team *m, char *out, size_t size);

/* The description of a group of the team: desc, on its devices, by its shares or their estimated rates. */
spmv_group_desc team_desc(const team *m, const spmv_desc *desc);

#endif
