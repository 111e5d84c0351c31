/* SPDX-License-Identifier: MIT */
#define SPMV_IMPLEMENTATION
#include "spmv.h"
#include "spmv_group.h"
#include "spmv_io.h"

#include "library.h"

double library_log2(double v)
{
    return spmv__log2(v);
}

double library_exp2(double v)
{
    return spmv__exp2(v);
}

double library_model_rate(const spmv_tuning *t, spmv_type type, const spmv_spec *layout, double rows, double per_row)
{
    return spmv__model_rate(t, type, layout, rows, per_row);
}

void library_large_pages(void *block, uint64_t bytes)
{
    spmv__large_pages(block, bytes);
}
