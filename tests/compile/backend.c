/* SPDX-License-Identifier: MIT
 * A program with a back end of its own and without OpenCL includes spmv/device.h before spmv.h, which then compiles the bodies of both. */
#define SPMV_NO_DEVICES
#include "spmv/device.h"
#define SPMV_IMPLEMENTATION
#include "spmv.h"

int main(void)
{
    const spmv_backend *none[1] = { NULL };
    size_t count = 1;
    return spmv_backends_list(none, NULL, 0, &count, NULL) != SPMV_OK || count != 0;
}
