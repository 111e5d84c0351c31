/* SPDX-License-Identifier: MIT
 *
 * tools/cmd/devices.c - spmv devices: lists the devices that products can run on.
 */
#include "../cli/cli.h"
#include "../cli/options.h"
#include "commands.h"
#include "spmv.h"
#include <stdio.h>
#include <stdlib.h>

#ifdef SPMV_NO_DEVICES
static int devices_print(tool *t)
{
    (void)t;
    puts("host");
    return DONE;
}
#else
/* Prints the host and every device. DONE or FAILED. */
static int devices_print(tool *t)
{
    size_t count = 0, i, got;
    spmv_device_info *info;
    puts("host  this machine's processors, without a back end");
    if (spmv_device_list(NULL, 0, &count, &t->hooks) != SPMV_OK) return FAILED;
    info = (spmv_device_info *)calloc(count + 1, sizeof *info);
    if (!info) return cli_no_memory(t);
    got = count;
    if (spmv_device_list(info, count, &got, &t->hooks) != SPMV_OK) got = 0;
    for (i = 0; i < got && i < count; i++) {
        const spmv_device_info *d = &info[i];
        printf("%-4u  %s\n      by %s: %s; platform %s; driver %s\n", (unsigned)i, d->name, d->backend->name, d->version,
               d->platform, d->driver);
        printf("      %s, %u compute units, %.1f GiB, buffers up to %.1f GiB, local %.0f KiB, groups up to %llu, "
               "f64 %s\n", spmv_device_type_name(d->type), d->compute_units, (double)d->global_bytes / 1073741824.0,
               (double)d->alloc_bytes / 1073741824.0, (double)d->local_bytes / 1024.0,
               (unsigned long long)d->group_size, d->f64 ? "yes" : "no");
    }
    free(info);
    return DONE;
}
#endif

int devices_command(tool *t, const arguments *args)
{
    (void)args;
    return devices_print(t);
}
