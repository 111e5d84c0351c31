/* SPDX-License-Identifier: MIT
 *
 * spmv/template.h - reads the templates of all products once more, for the level, type and width of columns that macros name (host.h).
 */
#include "products.h" /* again */
#include "format/dense.h" /* again */
#include "format/rows.h" /* again */
#include "format/coo.h" /* again */
#include "format/csr.h" /* again */
#include "format/dia.h" /* again */
#include "format/ell.h" /* again */
#include "format/block.h" /* again */
#include "format/cmrs.h" /* again */
#include "format/tcsr.h" /* again */
#include "format/own.h" /* again */
#include "host.h" /* again */
