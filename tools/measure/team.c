/* SPDX-License-Identifier: MIT */
#include "team.h"

#include "../cli/cli.h"
#include "../cli/options.h"
#include "device.h"
#include "spmv.h"
#include "spmv_group.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How many pieces text has between separators. */
static size_t pieces_of(const char *text, char separator)
{
    size_t n = 1;
    for (; *text; text++) n += *text == separator;
    return n;
}

/* Opens the devices whose names stand between plus signs in text, which is overwritten. DONE or FAILED. */
static int devices_open(tool *t, char *text, team *m)
{
    char *end;
    for (; text; text = end) {
        end = strchr(text, '+');
        if (end) *end++ = 0;
        if (!*text) return cli_complain(t, "--device: a name is missing before or after a plus sign");
        if (device_open(t, text, &m->device[m->count]) != DONE) return FAILED;
        m->count++;
    }
    return DONE;
}

/* Reads as many numbers as there are devices. DONE, or USAGE after a message. */
static int shares_read(tool *t, const char *text, team *m)
{
    const char *at = text;
    char *end;
    size_t i;
    for (i = 0; i < m->count; i++) {
        m->shares[i] = strtod(at, &end);
        if (end == at || !(m->shares[i] >= 0) || *end != (i + 1 < m->count ? ',' : 0))
            return cli_misuse(t, "--shares %s: there must be %u numbers of at least 0, with commas between them", text, (unsigned)m->count);
        at = end + 1;
    }
    return DONE;
}

int team_open(tool *t, const arguments *args, team *out)
{
    const char *text = args->value[OPT_DEVICE], *shares = args->value[OPT_SHARES];
    size_t most = text ? pieces_of(text, '+') : 1;
    char *copy;
    int result;
    memset(out, 0, sizeof *out);
    if (most == 1) return shares ? cli_misuse(t, "--shares requires several devices, such as --device host+0") : DONE;
    if (shares && pieces_of(shares, ',') != most)
        return cli_misuse(t, "--shares %s: --device names %u devices", shares, (unsigned)most);
    out->device = (spmv_device **)calloc(most, sizeof *out->device);
    out->shares = shares ? (double *)calloc(most, sizeof *out->shares) : NULL;
    copy = (char *)malloc(strlen(text) + 1);
    if (!out->device || !copy || (shares && !out->shares)) {
        free(copy);
        return cli_no_memory(t);
    }
    memcpy(copy, text, strlen(text) + 1);
    result = devices_open(t, copy, out);
    free(copy);
    return result == DONE && shares ? shares_read(t, shares, out) : result;
}

void team_close(tool *t, team *m)
{
    size_t i;
    for (i = 0; i < m->count; i++) device_close(t, m->device[i]);
    free(m->device);
    free(m->shares);
    memset(m, 0, sizeof *m);
}

void team_label(const team *m, char *out, size_t size)
{
    size_t i, used = 0;
    *out = 0;
    for (i = 0; i < m->count && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, "%s%s", i ? " + " : "", device_label(m->device[i]));
}

spmv_group_desc team_desc(const team *m, const spmv_desc *desc)
{
    spmv_group_desc d;
    memset(&d, 0, sizeof d);
    d.desc = *desc;
    d.device = m->device;
    d.count = m->count;
    d.shares = m->shares;
    return d;
}
