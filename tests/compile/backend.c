/* SPDX-License-Identifier: MIT
 * A back end of one's own without OpenCL: spmv_device.h before spmv.h, and its bodies come with those of spmv.h. */
#define SPMV_NO_DEVICES
#include "spmv_device.h"
#define SPMV_IMPLEMENTATION
#include "spmv.h"

int main(void)
{
    const spmv_backend *none[1] = { NULL };
    size_t count = 1;
    return spmv_backends_list(none, NULL, 0, &count, NULL) != SPMV_OK || count != 0;
}
