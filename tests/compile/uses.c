/* SPDX-License-Identifier: MIT
 * A unit that only includes the interface and is linked with the implementation in another unit. */
#include "spmv.h"

int main(void) {
    spmv_plan plan;
    return spmv_plan_parse(&plan, "csr", NULL, NULL) == SPMV_OK ? 0 : 1;
}
