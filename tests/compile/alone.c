/* SPDX-License-Identifier: MIT
 * One header by itself: as an interface, then with its implementation. HEADER names it. */
#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)
#include TEXT(HEADER)
#define SPMV_IMPLEMENTATION
#include TEXT(HEADER)

int main(void) { return spmv_format_name(SPMV_CSR)[0] == 'c' ? 0 : 1; }
