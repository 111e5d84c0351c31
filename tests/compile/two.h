/* SPDX-License-Identifier: MIT
 * Two units with different formats left out compare their numbers and the sizes of their structs. */
#include <stddef.h>
size_t two_a(int number);
size_t two_b(int number);
#define TWO(name)                                                                                             \
    size_t name(int number) {                                                                                 \
        const size_t numbers[] = {SPMV_FORMAT_LIST(TWO_FORMAT) SPMV_FORMAT_COUNT, SPMV_STATUS_COUNT,          \
                                  SPMV_KEY_COUNT, SPMV_BUILDER_COUNT, SPMV_TYPE_COUNT, sizeof(spmv_spec),     \
                                  sizeof(spmv_csr), sizeof(spmv_part), sizeof(spmv_plan), sizeof(spmv_store), \
                                  sizeof(spmv_matrix), sizeof(spmv_desc), offsetof(spmv_matrix, exec),        \
                                  offsetof(spmv_desc, hooks), sizeof(spmv_build), sizeof(spmv_build_hints),   \
                                  sizeof(spmv_input), sizeof(spmv_choice), sizeof(spmv_tuning),               \
                                  sizeof(spmv_hooks), sizeof(spmv_features)};                                 \
        const int count = (int)(sizeof numbers / sizeof *numbers);                                            \
        return number < count ? numbers[number] : (size_t)-1;                                                 \
    }
#define TWO_FORMAT(NAME, name, text) SPMV_##NAME,
