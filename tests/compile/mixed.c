/* SPDX-License-Identifier: MIT
 * A unit that uses matrices and is linked with an implementation (has.c) that was compiled with other macros. With HOST, the
 * implementation has no OpenCL. The bytes before and after the matrix must not change. */
#include "spmv.h"
#include <string.h>

#ifdef DEVICE /* the implementation has no devices, so the linker must name the missing function */
int main(void) {
    spmv_device d;
    spmv_device_desc which;
    memset(&which, 0, sizeof which);
    return spmv_device_create(&d, &which) != SPMV_OK;
}
#else
static struct {
    unsigned char before[4096];
    spmv_matrix a;
    unsigned char behind[4096];
} place;

static void hush(void *user, spmv_status s, const char *message) {
    *(spmv_status *)user = message ? s : SPMV_OK;
}

int main(void) {
    static const int32_t ptr[] = {0, 2, 2, 4}, col[] = {0, 2, 1, 2};
    static const double val[] = {1, 2, 3, 4}, x[] = {1, 10, 100};
    double y[3];
    int i;
    spmv_status heard = SPMV_OK;
    spmv_desc d;
    memset(&d, 0, sizeof d);
    memset(&place, 0x5a, sizeof place);
    d.matrix.rows = d.matrix.cols = 3;
    d.matrix.ptr = ptr;
    d.matrix.col = col;
    d.matrix.val = val;
    d.updatable = 1;
    d.hooks.log = hush;
    d.hooks.user = &heard;
    if (spmv_create(&place.a, &d) != SPMV_OK) return 1;
    if (spmv_mul(&place.a, 1, x, 0, y) != SPMV_OK || y[0] < 200.5 || y[0] > 201.5 || y[2] < 429.5 || y[2] > 430.5) return 2;
    if (spmv_update(&place.a, val) != SPMV_OK) return 3;
    spmv_destroy(&place.a);
#ifdef HOST
    d.device = (spmv_device *)(void *)&heard; /* any pointer will do: it must not be followed */
    if (spmv_create(&place.a, &d) != SPMV_ERR_UNSUPPORTED || heard != SPMV_ERR_UNSUPPORTED) return 4;
#endif
    for (i = 0; i < 4096; i++)
        if (place.before[i] != 0x5a || place.behind[i] != 0x5a) return 5;
    return 0;
}
#endif
