/* SPDX-License-Identifier: MIT
 * Messages that contain numbers, compared word for word. list.sh also compiles this for 32 bits, where an argument of the wrong width
 * would shift all arguments after it. */
#define SPMV_IMPLEMENTATION
#include "spmv.h"
#include "spmv_io.h"
#include <stdio.h>

static char heard[512];

static void hear(void *user, spmv_status s, const char *message) {
    (void)user;
    (void)s;
    spmv_print(heard, sizeof heard, "%s", message);
}

static int wrong(const char *what, spmv_status got, spmv_status want, const char *message) {
    if (got == want && !strcmp(heard, message)) return 0;
    printf("%s: %s, \"%s\"\n     not %s, \"%s\"\n", what, spmv_status_name(got), heard, spmv_status_name(want), message);
    return 1;
}

int main(void) {
    static const char table[] = "spmv tuning table 2\nclass gpu\ncache 1000 oops\n";
    static const char file[] = "%%MatrixMarket matrix coordinate real general\n3 3 1\n4 1 1.5\n";
    static const int32_t row[] = {0, 1}, col[] = {2, -7}, ptr[] = {0, 2, 1};
    spmv_hooks h = {0};
    spmv_tuning tuning;
    spmv_input in = {0};
    spmv_csr a;
    spmv_plan plan;
    int bad = 0;
    h.log = hear;
    bad |= wrong("tuning table", spmv_tuning_create(&tuning, table, sizeof table - 1, "t.tune", &h), SPMV_ERR_PARSE,
                 "t.tune, line 3: expected a number of up to 1e12");
    bad |= wrong("Matrix Market", spmv_mm_read_memory(&a, file, sizeof file - 1, "m.mtx", NULL, NULL, &h), SPMV_ERR_INDEX,
                 "m.mtx:3:1: expected a row index in 1 .. 3, found '4'");
    bad |= wrong("plan", spmv_plan_parse(&plan, "csr+ell:w=x", NULL, &h), SPMV_ERR_PLAN,
                 "plan \"csr+ell:w=x\", column 11, at \"x\": expected a whole number");
    in.form = SPMV_IN_COO;
    in.rows = in.cols = 3;
    in.nnz = 2;
    in.row = row;
    in.col = col;
    bad |= wrong("index", spmv_csr_create(&a, &in, SPMV_F64, &h), SPMV_ERR_INDEX, "entry 1: column index -7 is outside 0 .. 2");
    in.form = SPMV_IN_CSR;
    in.nnz = 0;
    in.rows = 2;
    in.ptr = ptr;
    bad |= wrong("pointer", spmv_csr_create(&a, &in, SPMV_F64, &h), SPMV_ERR_INDEX,
                 "pointer 2 is 1, but pointer 1 is 2");
    bad |= wrong("memory", spmv__no_memory(&h, UINT64_MAX, 8), SPMV_ERR_MEMORY, "no memory for 18446744073709551615 elements of 8 bytes");
#ifdef WRONG_CONVERSION /* must not compile */
    spmv_log(&h, SPMV_OK, "%u entries", (uint64_t)1);
#endif
    return bad;
}
