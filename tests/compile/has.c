/* SPDX-License-Identifier: MIT
 * The implementation and nothing else. */
#define SPMV_IMPLEMENTATION
#include "spmv.h"
