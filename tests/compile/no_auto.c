/* SPDX-License-Identifier: MIT
 * With SPMV_NO_AUTO, csr is used if there is no plan, or the one format that there is; texts of plans and builders work, and "auto" and
 * "cocktail" are refused. */
#define SPMV_IMPLEMENTATION
#include "spmv.h"

static spmv_status made(const char *plan, spmv_format want) {
    static const int32_t ptr[] = {0, 2, 2, 4}, col[] = {0, 2, 1, 2};
    static const double val[] = {1, 2, 3, 4}, x[] = {1, 10, 100};
    double y[3];
    spmv_desc d = {0};
    spmv_matrix a;
    spmv_status s;
    d.matrix.rows = d.matrix.cols = 3;
    d.matrix.ptr = ptr;
    d.matrix.col = col;
    d.matrix.val = val;
    d.plan = plan;
    s = spmv_create(&a, &d);
    if (s) return s;
    s = spmv_mul(&a, 1, x, 0, y);
    if (!s && (a.store.plan[0].format != want || y[0] != 201 || y[1] != 0 || y[2] != 430)) s = SPMV_ERR_ARGUMENT;
    spmv_destroy(&a);
    return s;
}

int main(void) {
#ifdef SPMV_ONLY
    return made(NULL, SPMV_ELL) != SPMV_OK;
#endif
    if (made(NULL, SPMV_CSR) != SPMV_OK) return 1;
    if (made("sell:h=2", SPMV_SELL) != SPMV_OK) return 2;
    if (made("hyb", SPMV_COO) != SPMV_OK) return 3;
    if (made("auto", SPMV_CSR) != SPMV_ERR_UNSUPPORTED) return 4;
    if (made(" cocktail ", SPMV_CSR) != SPMV_ERR_UNSUPPORTED) return 5;
    if (made("automatic", SPMV_CSR) != SPMV_ERR_PLAN) return 6;
    return 0;
}
