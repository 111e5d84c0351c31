/* SPDX-License-Identifier: MIT
 *
 * tools/measure/selfcheck.h - does every variant of every format compute the right products on a device?
 *
 * It is for devices and drivers that nobody has tried. Every layout of every format, with every legal value of every knob, multiplies
 * small matrices made here, and the results are compared with a plain loop: products of integers must be equal, those of reals within
 * the rounding error of their row, the same product twice must give the same bits (except with ATOMIC), and nothing may be written
 * outside y. A driver that hangs or ends the process cannot be survived; SELFCHECK_BEGINS tells at which variant it happened.
 */
#ifndef SPMV_TOOLS_MEASURE_SELFCHECK_H
#define SPMV_TOOLS_MEASURE_SELFCHECK_H

#include "spmv.h"

typedef enum selfcheck_result {
    SELFCHECK_BEGINS,  /* it is about to be tried */
    SELFCHECK_USABLE,
    SELFCHECK_REFUSED, /* the library knows that the device or this build cannot run it: see status */
    SELFCHECK_FAILED,  /* the driver could not compile or run it */
    SELFCHECK_WRONG    /* it ran, but a result is wrong */
} selfcheck_result;

/* What is known of one variant. Texts are valid only during the call of report. */
typedef struct selfcheck_variant {
    const char      *plan;    /* "sell:h=8": how the matrices are stored */
    selfcheck_result result;
    spmv_format      format;
    spmv_type        type;
    const char      *variant; /* "L=8": the knobs that were set; "": all have their defaults */
    spmv_status      status;  /* the reason for REFUSED and FAILED, else SPMV_OK */
    const char      *message; /* the reason as text; "" if usable */
    int              built;   /* 1: it compiled and ran with every matrix */
    int              exact;   /* 1: products of integers are equal to the loop's */
    int              bound;   /* 1: products of reals are within the rounding error, and the same again in a second product */
} selfcheck_variant;

/* What to try. All zero: every format and type, one knob at a time. */
typedef struct selfcheck_desc {
    unsigned formats, types; /* bits 1u << SPMV_CSR, 1u << SPMV_F32; 0: all */
    int      pairs;          /* 1: every pair of values of two knobs as well (ten times as many variants) */
    int      reproducible;   /* 1: reproducible products, of the formats that have them */
    int      brief;          /* 1: three small matrices and one product of integers with each: for simulators */
    void   (*report)(void *user, const selfcheck_variant *variant); /* called when a variant begins and when it ends; may be NULL */
    void    *user;
} selfcheck_desc;

typedef struct selfcheck_counts {
    uint64_t variants; /* tried: the sum of the next four */
    uint64_t usable, refused, failed, wrong;
    uint64_t products;
} selfcheck_counts;

#ifndef SPMV_NO_DEVICES
/* Tries the variants on device and counts what was found. It compiles about as many programs as there are variants and keeps none.
 * SPMV_OK if the check itself could run, whatever it found; messages about variants go to report only. */
spmv_status selfcheck_run(spmv_device *device, const selfcheck_desc *desc, selfcheck_counts *counts);
#endif

#endif
