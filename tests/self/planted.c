/* SPDX-License-Identifier: MIT
 * tests/run.sh must detect these faults: Criterion itself reports both as a success. */
#include <criterion/criterion.h>
#include <stdlib.h>

Test(planted, leak) {
    void *volatile p = malloc(77);
    p = NULL;
    cr_assert_null(p);
}

Test(planted, good) {
    void *volatile p = malloc(77);
    cr_assert_not_null(p);
    free(p);
}
