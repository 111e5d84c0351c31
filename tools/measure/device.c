/* SPDX-License-Identifier: MIT */
#include "device.h"

#include "../cli/cli.h"
#include "spmv.h"
#include <stdlib.h>
#include <string.h>
#ifdef _OPENMP
#  include <omp.h>
#endif

int device_host_threads(void)
{
#ifdef _OPENMP
    return omp_get_max_threads();
#else
    return 1;
#endif
}

#ifdef SPMV_NO_DEVICES
int device_open(tool *t, const char *text, spmv_device **out)
{
    *out = NULL;
    if (!text || !strcmp(text, "host")) return DONE;
    return cli_complain(t, "--device %s: this program was built without OpenCL", text);
}

void device_close(spmv_device *d)
{
    (void)d;
}

const char *device_label(const spmv_device *d)
{
    (void)d;
    return "host";
}

spmv_target device_target(const spmv_device *d)
{
    spmv_target p = {NULL, SPMV_DEVICE_CLASS_HOST};
    (void)d;
    return p;
}
#else
int device_open(tool *t, const char *text, spmv_device **out)
{
    spmv_device_desc desc;
    *out = NULL;
    if (!text || !strcmp(text, "host")) return DONE;
    memset(&desc, 0, sizeof desc);
    desc.which = text;
    desc.profile = t->events;
    desc.hooks = t->hooks;
    *out = (spmv_device *)malloc(sizeof **out);
    if (!*out) return cli_no_memory(t);
    if (spmv_device_open(*out, &desc) == SPMV_OK) return DONE;
    free(*out);
    *out = NULL;
    return FAILED;
}

void device_close(spmv_device *d)
{
    if (!d) return;
    spmv_device_close(d);
    free(d);
}

const char *device_label(const spmv_device *d)
{
    return d ? d->info.name : "host";
}

spmv_target device_target(const spmv_device *d)
{
    return spmv_target_of(d);
}
#endif
