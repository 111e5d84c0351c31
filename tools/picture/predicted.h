/* SPDX-License-Identifier: MIT
 *
 * tools/picture/predicted.h - how good a table's estimates are: predicted over measured times of the samples that its costs were fitted to.
 */
#ifndef SPMV_TOOLS_PICTURE_PREDICTED_H
#define SPMV_TOOLS_PICTURE_PREDICTED_H

#include "picture.h"
#include "../cli/options.h"

/* spmv plot predicted: draws a dot for each sample, one panel for each type, and prints the shares of good predictions. The structures
 * are generated for this. DONE, or FAILED or USAGE after a message. */
int plot_predicted(picture *p, const arguments *args);

#endif
