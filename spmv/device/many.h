/* SPDX-License-Identifier: MIT
 *
 * spmv/device/many.h - products with several vectors on a device.
 *
 * The kernels of all formats but coo and tcsr exist for 2, 4 and 8 vectors that lie side by side (VECTORS of kernels/common.cl). So many
 * are multiplied at once; vectors that lie otherwise are turned first. With those two, and with knobs that these kernels lack, vectors are
 * multiplied one by one.
 */
#ifndef SPMV__DEVICE_MANY_H
#define SPMV__DEVICE_MANY_H

#include "exec.h"

/* ---- launches for several vectors ------------------------------------------------------------------------------------ */

/* Does the kernel of a part exist for several vectors? Where an item walks a run, FINISH adds the pieces of a row in another order. */
static int spmv__dev_is_wide(const spmv_device_part *p)
{
    const spmv_variant *v = &p->variant;
    if (!spmv__dev_walks_rows((int)p->format) || (p->counters && !v->value[SPMV_KNOB_STREAM])) return 0;
    return !v->value[SPMV_KNOB_IMG];
}

/* How many of so many vectors an item multiplies: all of them on a CPU, else as many as one load brings. */
static uint64_t spmv__dev_sum(const spmv_device *device, spmv_type type, uint64_t vectors)
{
    enum { LOAD = 16 /* bytes */ };
    return device->info.type == SPMV_DEVICE_CPU ? vectors : spmv__smaller(vectors, LOAD / spmv_vector_size(type));
}

/* Builds the program of a part for so many vectors, of which an item multiplies sum: with the options of the program that it has.
 * SPMV_ERR_LIMIT if the device cannot run it. */
static spmv_status spmv__dev_wide_program(spmv_device *device, const spmv_device_part *p, uint64_t vectors, uint64_t sum, void **out)
{
    const spmv__program *own = spmv__dev_programs(device);
    const uint64_t wg = (uint64_t)p->variant.value[SPMV_KNOB_WG] * (vectors / sum);
    spmv__dev_options options;
    uint64_t group = 0;
    spmv_status s;
    if (wg > device->info.group_size) return SPMV_ERR_LIMIT;
    while (own && own->program != p->program) own = own->next;
    if (!own || strlen(own->options) >= sizeof options.text) return SPMV_ERR_LIMIT;
    options.used = strlen(own->options);
    memcpy(options.text, own->options, options.used + 1);
    spmv__dev_option_number(&options, "VECTORS", sum);
    spmv__dev_option_number(&options, "SUBS", vectors / sum);
    if (options.used >= sizeof options.text) return SPMV_ERR_LIMIT;
    s = spmv__dev_program_of(device, (int)p->format, options.text, out);
    if (!s) s = spmv__dev_inspect(device, *out, &group);
    return s ? s : group < wg ? SPMV_ERR_LIMIT : SPMV_OK;
}

/* The carries of a part for so many vectors. Its kernels have FINISH=0. */
static void spmv__dev_wide_carries(spmv_device_part *p, uint64_t vectors)
{
    if (!p->carries) return;
    p->carries *= vectors;
    p->counters = 0;
    p->finish = p->n[SPMV_CSR_LONGS];
}

/* Adds all launches for so many vectors to wide, which is zeroed but for what it shares with the exec. */
static spmv_status spmv__dev_wide_launches(spmv_exec *wide, spmv_device *device, uint64_t vectors)
{
    spmv_device_matrix scaled = *wide->matrix;
    void *block = NULL;
    size_t i;
    spmv_status s = spmv__new(&wide->hooks, &block, 2 * (uint64_t)wide->matrix->count, sizeof(spmv__launch), 0);
    wide->launch = (spmv__launch *)block;
    wide->sum = spmv__dev_sum(device, wide->matrix->type, vectors);
    for (i = 0; !s && i < wide->matrix->count; i++) {
        spmv_device_part p = wide->matrix->part[i];
        s = spmv__dev_is_wide(&p) ? spmv__dev_wide_program(device, &p, vectors, wide->sum, &p.program) : SPMV_ERR_LIMIT;
        spmv__dev_wide_carries(&p, vectors);
        if (!s && p.groups) s = spmv__dev_launch_all(wide, wide->matrix, &p);
        if (!i) scaled.scale = p.program;
    }
    if (!s) s = spmv__dev_launch_scale(&wide->scale, &scaled);
    for (i = 0; i < wide->count; i++) wide->launch[i].wg *= vectors / wide->sum;
    wide->scale.wg *= vectors / wide->sum;
    return s;
}

/* Makes the launches for 2 << width vectors; only lack of memory is told. exec->narrow says where there are none. */
static spmv_status spmv__dev_wide_create(spmv_exec *exec, int width)
{
    spmv_device quiet = spmv__dev_quiet(exec->matrix->device);
    spmv_exec *wide;
    void *block = NULL;
    spmv_status s = spmv__new(&exec->hooks, &block, 1, sizeof *wide, 0);
    if (s) return s;
    wide = exec->wide[width] = (spmv_exec *)block;
    wide->matrix = exec->matrix;
    wide->queue = exec->queue;
    wide->chain = exec->chain;
    wide->hooks = exec->hooks;
    s = exec->matrix->count ? spmv__dev_wide_launches(wide, &quiet, UINT64_C(2) << width) : SPMV_ERR_LIMIT;
    exec->matrix->device->compiled = quiet.compiled;
    if (!s) return SPMV_OK;
    spmv__dev_wide_free(exec, width);
    exec->narrow[width] = 1;
    return s == SPMV_ERR_MEMORY ? s : SPMV_OK;
}

/* The width with which at most count vectors are multiplied at once, whose launches are made then; -1: one by one. */
static spmv_status spmv__dev_width(spmv_exec *exec, uint64_t count, int *width)
{
    spmv_status s = SPMV_OK;
    for (*width = SPMV__WIDTHS - 1; *width >= 0; --*width) {
        if (count < UINT64_C(2) << *width || exec->narrow[*width]) continue;
        if (!exec->wide[*width]) s = spmv__dev_wide_create(exec, *width);
        if (s || exec->wide[*width]) break;
    }
    return s;
}

/* ---- vectors side by side -------------------------------------------------------------------------------------------- */

enum { SPMV__TURNED = 1 << SPMV__WIDTHS /* vectors that are turned at once */ };

/* Vectors in a buffer: element i of vector j is element at + i * step + j * next. */
typedef struct spmv__lie {
    void    *mem;
    uint64_t at, step, next;
} spmv__lie;

/* The vectors from number j on. */
static spmv__lie spmv__dev_lie(const spmv__many *many, uint64_t j, void *mem, uint64_t offset, uint64_t ld)
{
    const int sides = many->order == SPMV_SIDE_BY_SIDE;
    spmv__lie lie;
    lie.mem = mem;
    lie.step = sides ? ld : 1;
    lie.next = sides ? 1 : ld;
    lie.at = offset + j * lie.next;
    return lie;
}

/* Can vectors be multiplied where they are, sum of them by an item? */
static int spmv__dev_lies_wide(const spmv_exec *exec, const spmv__lie *lie, uint64_t sum)
{
    const uint64_t bytes = sum * spmv_vector_size(exec->matrix->type);
    if (sum == 1) return lie->step == 1;
    if (exec->matrix->device->info.backend->within && (uintptr_t)lie->mem % bytes) return 0;
    return lie->next == 1 && lie->at % sum == 0 && lie->step % sum == 0;
}

/* Copies count vectors of n elements. */
static spmv_status spmv__dev_turn(spmv__dev_run *run, const spmv__lie *from, const spmv__lie *to, uint64_t n, uint64_t count)
{
    spmv_exec *exec = run->exec;
    spmv_device *device = exec->matrix->device;
    const uint64_t wg = (uint64_t)spmv__dev_vector_group(device);
    void *program = NULL;
    uint64_t groups = 0;
    const spmv__dev_value given[10] = {
        spmv__mem(from->mem), spmv__number(from->at), spmv__number(from->step), spmv__number(from->next), spmv__mem(to->mem),
        spmv__number(to->at), spmv__number(to->step), spmv__number(to->next), spmv__number(n), spmv__number(count)
    };
    spmv_status s = spmv__dev_groups(device, n, wg, wg, &groups);
    if (s || !n) return s;
    if (!exec->turning.kernel) s = spmv__dev_vector_program(device, (int)SPMV__KERNEL_GATHER, exec->matrix->type, &program);
    if (!s && !exec->turning.kernel) s = device->info.backend->kernel(device, program, "turn", &exec->turning.kernel);
    if (s) return s;
    spmv__dev_launch_shape(&exec->turning, groups, wg);
    s = spmv__dev_set(device, exec->turning.kernel, 0, given, SPMV__COUNT_OF(given));
    return s ? s : spmv__dev_enqueue(run, &exec->turning, 0, 1);
}

/* Room for turned vectors of n elements: side by side, or where an item multiplies one, one after another. */
static spmv_status spmv__dev_turned(spmv_exec *exec, int vector, uint64_t n, uint64_t vectors, uint64_t sum, spmv__lie *out)
{
    const uint64_t bytes = spmv__sat_mul(spmv__sat_mul(n, SPMV__TURNED), spmv_vector_size(exec->matrix->type));
    spmv_status s = SPMV_OK;
    if (!exec->turned[vector]) s = spmv__dev_exec_own(exec, bytes, 0, &exec->turned[vector]);
    out->mem = exec->turned[vector];
    out->at = 0;
    out->step = sum > 1 ? vectors : 1;
    out->next = sum > 1 ? 1 : n;
    return s;
}

/* Multiplies vectors that lie as the launches of run->of want them, sum of them by an item. */
static spmv_status spmv__dev_mul_lying(spmv__dev_run *run, const spmv__lie *x, const spmv__lie *y, uint64_t vectors, uint64_t sum,
                                       double beta)
{
    spmv_status s = SPMV_OK;
    uint64_t j;
    run->x_step = sum > 1 ? x->step / sum : 0;
    run->y_step = sum > 1 ? y->step / sum : 0;
    for (j = 0; j < (sum > 1 ? 1 : vectors) && !s; j++) {
        run->x = x->mem;
        run->y = y->mem;
        run->x0 = (x->at + j * x->next) / sum;
        run->y0 = (y->at + j * y->next) / sum;
        s = spmv__dev_exec_mul(run, beta, NULL);
    }
    return s;
}

/* Multiplies so many vectors, turned if they do not lie as the kernels want them. */
static spmv_status spmv__dev_mul_turned(spmv__dev_run *run, spmv__lie x, const spmv__lie *y, uint64_t vectors, double beta)
{
    spmv_exec *exec = run->exec;
    const spmv_device_matrix *matrix = exec->matrix;
    const spmv__lie from = x;
    spmv__lie to = *y;
    const uint64_t sum = run->of == exec ? 1 : run->of->sum;
    const int y_lies = spmv__dev_lies_wide(exec, y, sum);
    spmv_status s = SPMV_OK;
    if (run->alpha != 0 && !spmv__dev_lies_wide(exec, &x, sum)) {
        s = spmv__dev_turned(exec, 0, matrix->cols, vectors, sum, &x);
        if (!s) s = spmv__dev_turn(run, &from, &x, matrix->cols, vectors);
    }
    if (!s && !y_lies) {
        s = spmv__dev_turned(exec, 1, matrix->rows, vectors, sum, &to);
        if (!s && beta != 0) s = spmv__dev_turn(run, y, &to, matrix->rows, vectors);
    }
    if (!s) s = spmv__dev_mul_lying(run, &x, &to, vectors, sum, beta);
    return s || y_lies ? s : spmv__dev_turn(run, &to, y, matrix->rows, vectors);
}

/* ---- products ---------------------------------------------------------------------------------------------------- */

/* Checks where several vectors lie in their buffers, and multiplies as many at a time as the kernels can. */
static spmv_status spmv__dev_exec_mul_many(spmv_exec *exec, const spmv__many *many, double alpha, void *x, uint64_t x_offset, double beta,
                                           void *y, uint64_t y_offset)
{
    const int reads = alpha != 0 && many->rows && many->cols;
    spmv__dev_run run = spmv__dev_run_of(exec, reads ? alpha : 0, x, x_offset, y, y_offset);
    spmv_status s = spmv__check_lie(&exec->hooks, "spmv_exec_mul_many", exec->matrix->type, many);
    uint64_t j = 0, vectors;
    int width = -1;
    if (s || !many->count) return s;
    run.more = 1;
    if (many->rows) s = spmv__dev_exec_check(exec, SPMV__Y, y, y_offset, spmv__many_extent(many, many->ldy, many->rows), "y");
    if (!s && reads) s = spmv__dev_exec_check(exec, SPMV__X, x, x_offset, spmv__many_extent(many, many->ldx, many->cols), "x");
    if (!s && reads) s = spmv__dev_exec_apart(&run, many);
    while (j < many->count && many->rows && !s) {
        const spmv__lie from = spmv__dev_lie(many, j, reads ? x : NULL, reads ? x_offset : 0, many->ldx);
        const spmv__lie to = spmv__dev_lie(many, j, y, y_offset, many->ldy);
        s = spmv__dev_width(exec, many->count - j, &width);
        run.of = width < 0 ? exec : exec->wide[width];
        vectors = width < 0 ? spmv__smaller(many->count - j, SPMV__TURNED) : UINT64_C(2) << width;
        if (!s) s = spmv__dev_mul_turned(&run, from, &to, vectors, beta);
        j += vectors;
    }
    run.of = NULL;
    run.more = 0;
    if (!s) return spmv__dev_exec_mul(&run, 1, NULL);
    spmv__dev_exec_untimed(exec);
    spmv__dev_event_free(exec->matrix->device, run.previous);
    return s;
}

SPMV_API spmv_status spmv_exec_mul_many(spmv_exec *exec, uint64_t count, spmv_arrangement order, double alpha, void *x, uint64_t x_offset,
                                        uint64_t ldx, double beta, void *y, uint64_t y_offset, uint64_t ldy)
{
    spmv_status s = spmv__dev_exec_take(exec, "spmv_exec_mul_many");
    spmv__many many;
    if (s) return s;
    many = spmv__many_of(count, order, ldx, ldy, exec->matrix->rows, exec->matrix->cols);
    s = spmv__dev_exec_mul_many(exec, &many, alpha, x, x_offset, beta, y, y_offset);
    spmv__set_free(&exec->busy);
    return s;
}

#endif
