/* SPDX-License-Identifier: MIT
 * Compiles kernels for CUDA by NVIDIA's NVRTC, through the back end, on a driver that computes nothing: every value of every knob, for
 * each type of values, in the modes that a kernel names, with and without what only newer GPUs have. Exit status 77: NVRTC is not
 * there. "compile FORMAT": that format alone. */
#define SPMV_NO_OPENCL
#define SPMV_IMPLEMENTATION
#include "../../spmv.h"

#include "fake.h"
#include <stdio.h>

enum { NO_COMPILER = 77, OPTIONS = 512 };
static const char *const types[] = { "-DVAL=float -DVEC=float", "-DVAL=double -DVEC=double -DF64=1", "-DVAL=float -DVEC=double -DF64=1" };
/* what parts differ in beside knobs; csr reads RUN and LIST, sell H, block formats the sizes of blocks, cmrs PACKED */
static const char *const modes[] = { "-DLIST=0", "-DLIST=1 -DRUN=96 -DFINISH=1 -DH=0 -DPACKED=0",
                                     "-DIDX16=1 -DOFF=ulong -DI64=1 -DREPEAT=1 -DRUN=96",
                                     "-DBH=3 -DBW=3 -DUW=1 -DHEIGHT=16", "-DBH=2 -DBW=8 -DUW=4 -DH=256", "-DBH=6 -DBW=2 -DUW=2" };
/* of the kernel that fills arrays, each of its macros at least once */
static const char *const conversions[] = { "-DPLACE=BY_ROW -DTILES=1", "-DFIND=1", "-DFIND=2",
                                           "-DPLACE=BY_ROW -DIDX16=1 -DOWNED=1 -DLIST=1",
                                           "-DPLACE=BY_COLUMN -DWORD=ulong", "-DPLACE=BY_SLICE -DIDX16=1",
                                           "-DPLACE=BY_GROWN -DOFF=ulong -DI64=1", "-DPLACE=BY_MATRIX -DCOLUMNS=0",
                                           "-DPLACE=BY_DIAGONAL -DCOLUMNS=0", "-DPLACE=BY_BAND -DCOLUMNS=0", "-DPLACE=BY_ROW -DNUMBER=1",
                                           "-DPLACE=BY_ROW -DNUMBER=2", "-DPLACE=BY_ROW -DNUMBER=3", "-DCHECK=3 -DOFF=ulong" };
static int done, failed;

static void compile(spmv_device *d, spmv_format f, const char *type, const char *mode, const char *knob, int value)
{
    char options[OPTIONS];
    void *program = NULL;
    snprintf(options, sizeof options, "%s %s -DNVIDIA=%u", type, mode, d->info.nvidia);
    if (knob) snprintf(options + strlen(options), sizeof options - strlen(options), " -D%s=%d", knob, value);
    done++;
    if (spmv__device_program(d, f, options, &program) == SPMV_OK) return;
    failed++;
    printf("%s: %s\n", spmv_format_name(f), options);
}

/* Pictures of x are not there. */
static void compile_format(spmv_device *d, spmv_format f)
{
    int values[32], i;
    size_t t, k, n;
    for (t = 0; t < sizeof types / sizeof *types; t++) {
        for (k = 0; k < sizeof modes / sizeof *modes; k++) compile(d, f, types[t], modes[k], NULL, 0);
        for (i = 0; i < SPMV_KNOB_COUNT; i++) {
            if (i == SPMV_KNOB_IMG) continue;
            n = spmv_knob_values(f, (spmv_knob)i, values, 32);
            for (k = 0; k < n; k++)
                compile(d, f, types[t], f == SPMV_CSR && i != SPMV_KNOB_L ? "-DRUN=96" : "",
                        spmv__knob_name((spmv_knob)i), values[k]);
        }
    }
}

int main(int argc, char **argv)
{
    spmv_device d;
    spmv_device_desc desc = { 0 };
    void *program;
    int f;
    desc.which = "cuda:1"; /* which the compiler does not know: PTX, as machine code takes far longer */
    if (spmv_device_create(&d, &desc) != SPMV_OK) return 1;
    if (!spmv__cuda_ready(1, &d.hooks)) return NO_COMPILER;
    for (f = 0; f < SPMV_FORMAT_COUNT; f++)
        if (argc < 2 || !strcmp(argv[1], spmv_format_name((spmv_format)f))) compile_format(&d, (spmv_format)f);
    if (spmv__dev_program_of(&d, SPMV__KERNEL_SCALE, "-DVAL=float -DVEC=float", &program) != SPMV_OK) failed++;
    if (spmv__dev_program_of(&d, SPMV__KERNEL_GATHER, "-DVAL=double -DVEC=double -DF64=1", &program) != SPMV_OK) failed++;
    for (f = 0; f < (int)(sizeof conversions / sizeof *conversions); f++, done++)
        if (spmv__dev_program_of(&d, SPMV__KERNEL_CONVERT, conversions[f], &program) != SPMV_OK) failed++;
    printf("%d programs, %d failed\n", done, failed);
    spmv_device_destroy(&d);
    return !done || failed || fake.bad;
}
