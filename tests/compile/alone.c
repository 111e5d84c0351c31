/* SPDX-License-Identifier: MIT
 * The header named by HEADER compiles by itself, first as an interface, then with its implementation. */
#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)
#include TEXT(HEADER)
#define SPMV_IMPLEMENTATION
#include TEXT(HEADER)

int main(void) { return spmv_format_name(SPMV_CSR)[0] == 'c' ? 0 : 1; }
