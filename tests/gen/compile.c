/* SPDX-License-Identifier: MIT
 * compile LIST - compiles generated kernels for CUDA by NVIDIA's NVRTC, through the back end, on a driver that computes nothing. LIST is
 * as for multiply.c. Exit status 77: NVRTC is not there. */
#define SPMV_NO_OPENCL
#define SPMV_IMPLEMENTATION
#include "../../spmv.h"

#include "../cuda/fake.h"
#include "../../tools/gen/measure/other_text.h"
#include <stdio.h>

enum { NO_COMPILER = 77, TEXT = 1 << 18, WORD = 512 };
static const char *const modes[] = {"-DVAL=float -DVEC=float -DOFF=uint", "-DVAL=double -DVEC=double -DF64=1 -DOFF=ulong -DI64=1 -DNT=1",
                                    "-DVAL=float -DVEC=double -DF64=1 -DOFF=uint -DLIST=1 -DZERO=1 -DWG=64 -DSHUF=1"};
static char text[TEXT];
static int done, failed;

static spmv_status build(const spmv_device *d, const spmv_kernel_source *source, void **program)
{
    spmv_kernel_source own = *source;
    other_text(&own, text);
    return spmv_cuda()->build(d, &own, program);
}

static int read_text(const char *path)
{
    FILE *in = fopen(path, "r");
    size_t n = in ? fread(text, 1, sizeof text - 1, in) : 0;
    text[n] = 0;
    if (in) fclose(in);
    return n > 0 && n < sizeof text - 1;
}

/* Compiles the text in every mode, in place of the kernel of the plan's format. */
static int compile(const char *plan, const char *path)
{
    spmv_device d;
    spmv_device_desc desc = {0};
    spmv_backend own = *spmv_cuda();
    spmv_plan parsed;
    size_t i;
    void *program;
    desc.which = "cuda:1";
    if (spmv_device_create(&d, &desc) != SPMV_OK) return 0;
    own.build = build;
    d.info.backend = &own;
    for (i = 0; i < sizeof modes / sizeof *modes; i++) {
        char options[WORD];
        snprintf(options, sizeof options, "%s -DNVIDIA=%u", modes[i], d.info.nvidia);
        done++;
        if (read_text(path) && !spmv_plan_parse(&parsed, plan, NULL, &d.hooks) &&
            !spmv__device_program(&d, parsed.part[0].format, options, &program))
            continue;
        failed++;
        printf("%s %s: %s\n", plan, path, options);
    }
    d.info.backend = spmv_cuda();
    spmv_device_destroy(&d);
    return 1;
}

int main(int argc, char **argv)
{
    char plan[WORD], knobs[WORD], types[WORD], path[WORD];
    int within;
    spmv_hooks hooks = {0};
    FILE *list = argc == 2 ? fopen(argv[1], "r") : NULL;
    if (!list) {
        fprintf(stderr, "usage: compile LIST\n");
        return 2;
    }
    if (!spmv__cuda_ready(1, &hooks)) return NO_COMPILER;
    while (fscanf(list, "%511s %511s %511s %d %511s", plan, knobs, types, &within, path) == 5)
        if (!compile(plan, path)) failed++;
    fclose(list);
    printf("%d programs for CUDA, %d failed\n", done, failed);
    return !done || failed || fake.bad;
}
