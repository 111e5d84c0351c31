/* SPDX-License-Identifier: MIT
 *
 * tools/gen/measure/other_text.h - programs from another text than the library's own kernel of a format. For programs that contain the
 * library's implementation.
 */
#ifndef SPMV_TOOLS_GEN_MEASURE_OTHER_TEXT_H
#define SPMV_TOOLS_GEN_MEASURE_OTHER_TEXT_H

#include "spmv/device.h"
#include <string.h>

/* Puts text in the place of the pieces of the second file of a source, which is the format's; each file is behind its #line. */
static void other_text(spmv_kernel_source *source, const char *text)
{
    unsigned i, files = 0, to = 0;
    for (i = 0; i < source->count; i++) {
        const int begins = source->size[i] < 64 && strstr(source->text[i], "#line 1 \"kernels/") != NULL;
        files += (unsigned)begins;
        if (files == 2 && !begins) continue;
        source->text[to] = source->text[i];
        source->size[to++] = source->size[i];
        if (files != 2) continue;
        source->text[to] = text;
        source->size[to++] = strlen(text);
    }
    source->count = to;
}

#endif
