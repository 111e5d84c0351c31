/* SPDX-License-Identifier: MIT
 * Only the implementation. */
#define SPMV_IMPLEMENTATION
#include "spmv.h"
