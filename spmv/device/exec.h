/* SPDX-License-Identifier: MIT
 *
 * spmv/device/exec.h - products on a device.
 */
#ifndef SPMV__DEVICE_EXEC_H
#define SPMV__DEVICE_EXEC_H

#include "../tail.h"
#include "stretch.h"

/* ---- execs: kernels with their arguments ---------------------------------------------------------------------------- */

static void spmv__dev_launch_shape(spmv__launch *launch, uint64_t groups, uint64_t wg)
{
    launch->groups = groups;
    launch->wg = wg;
}

/* Makes the kernel called name of a part and sets the arguments that never change: arrays, integers, and what its format adds. Those of
 * the finishing launch are the same. */
static spmv_status spmv__dev_launch_part(spmv__launch *launch, const spmv_device_matrix *matrix, const spmv_device_part *p,
                                         const char *name, uint64_t groups, void *const *carry)
{
    const spmv__dev_format *record = spmv__dev_format_of(p->format);
    const spmv__dev_kernel *kernel = &spmv__dev_kernels[p->format];
    spmv__dev_value list[SPMV_MAX_ARRAYS + SPMV_MAX_INTS + 5];
    unsigned n = 0;
    int i;
    spmv_status s = matrix->device->info.backend->kernel(matrix->device, p->program, name, &launch->kernel);
    if (s) return s;
    for (i = 0; i < kernel->arrays; i++) list[n++] = spmv__mem(p->a[i]);
    for (i = 0; kernel->ints[i]; i++)
        if (!spmv__dev_int_is_macro(p->format, i)) list[n++] = spmv__number(p->n[i]);
    n += (record->arguments ? record->arguments : spmv__dev_arguments_rows)(list + n, matrix, p, carry);
    if (p->dictionary) list[n++] = spmv__mem(p->dictionary);
    launch->arg = n;
    launch->first = p->source == 0;
    launch->row = p->row;
    launch->image = p->variant.value[SPMV_KNOB_IMG];
    spmv__dev_launch_shape(launch, groups, (uint64_t)p->variant.value[SPMV_KNOB_WG]);
    return spmv__dev_set(matrix->device, launch->kernel, 0, list, n);
}

/* Makes a buffer that exec owns until it is freed. One that the device keeps may still be in use by the preparation of a matrix in another
 * thread, and so only follows that in the device's queue, if it is in order. */
static spmv_status spmv__dev_exec_own(const spmv_exec *exec, uint64_t bytes, int read_only, void **out)
{
    spmv_device *device = exec->matrix->device;
    return exec->queue == device->queue && !exec->chain ? spmv__dev_own(device, bytes, read_only, out)
                                                        : spmv__dev_new_buffer(device, bytes, read_only, out);
}

/* Creates the buffer of carries, followed by the counters, which begin at zero. It enqueues nothing, as the queue may be waiting for the
 * caller. */
static spmv_status spmv__dev_new_carries(const spmv_exec *exec, uint64_t carries, uint64_t counters, void **out)
{
    const spmv_device_matrix *matrix = exec->matrix;
    const spmv_device *device = matrix->device;
    uint64_t bytes = carries * spmv_vector_size(matrix->type) + counters * 4;
    void *zeros = NULL;
    spmv_status s;
    if (!counters || bytes > device->info.alloc_bytes) return spmv__dev_exec_own(exec, bytes, 0, out);
    s = spmv__new(&matrix->hooks, &zeros, bytes, 1, 0);
    if (s) return s;
    s = spmv__dev_new_filled(device, bytes, 0, zeros, out);
    spmv_free(&matrix->hooks, zeros);
    return s;
}

/* Adds the one or two launches of a part to exec. */
static spmv_status spmv__dev_launch_all(spmv_exec *exec, const spmv_device_matrix *matrix, const spmv_device_part *p)
{
    spmv__launch *launch = &exec->launch[exec->count];
    spmv_status s = SPMV_OK;
    exec->count += p->finish ? 2 : 1;
    if (p->carries) s = spmv__dev_new_carries(exec, p->carries, p->counters, &launch->carry[0]);
    if (!s && p->carries && spmv__dev_format_of(p->format)->carry_rows) s = spmv__dev_exec_own(exec, p->carries * 4, 0, &launch->carry[1]);
    if (!s) s = spmv__dev_launch_part(launch, matrix, p, "spmv", p->groups, launch->carry);
    if (!s && p->finish) s = spmv__dev_launch_part(launch + 1, matrix, p, "finish", p->finish, launch->carry);
    return s;
}

enum { SPMV__SCALE_EACH = 64 }; /* elements of y that an item of scale.cl takes in groups of one item */

static spmv_status spmv__dev_launch_scale(spmv__launch *launch, const spmv_device_matrix *matrix)
{
    uint64_t wg = (uint64_t)matrix->scale_group, groups;
    const spmv__dev_value rows = spmv__number(matrix->rows);
    spmv_status s = spmv__dev_groups(matrix->device, matrix->rows, wg > 1 ? wg : (uint64_t)SPMV__SCALE_EACH, wg, &groups);
    if (!s) s = matrix->device->info.backend->kernel(matrix->device, matrix->scale, "scale", &launch->kernel);
    if (s) return s;
    launch->arg = 1;
    spmv__dev_launch_shape(launch, groups, wg);
    return spmv__dev_set(matrix->device, launch->kernel, 0, &rows, 1);
}

/* Makes the kernel of what follows a product and the buffer with the sums of its groups, unless exec has them. */
static spmv_status spmv__dev_launch_tail(spmv_exec *exec)
{
    const spmv_device_matrix *matrix = exec->matrix;
    spmv_device *device = matrix->device;
    const uint64_t strips = spmv__tail_strips(matrix->rows), groups = spmv__ceil_div(matrix->rows, strips * SPMV__TAIL_LANES);
    spmv__launch *launch = &exec->tail;
    spmv__dev_options options;
    spmv__dev_value given[3] = { spmv__number(matrix->rows), spmv__number(strips), spmv__mem(NULL) };
    void *program = NULL;
    spmv_status s;
    if (launch->kernel) return SPMV_OK;
    spmv__dev_launch_shape(launch, groups ? groups : 1, device->info.type == SPMV_DEVICE_CPU ? 1 : SPMV__TAIL_LANES);
    while (launch->wg > device->info.group_size) launch->wg /= 2;
    options.used = 0;
    spmv__dev_option_types(&options, matrix->type, 0);
    if (device->info.nvidia) spmv__dev_option_number(&options, "NVIDIA", device->info.nvidia);
    spmv__dev_option_number(&options, "WG", launch->wg);
    spmv__dev_option(&options, "FINISH", "1");
    spmv__dev_option(&options, "REPEAT", "1");
    s = spmv__dev_program_of(device, (int)SPMV__KERNEL_TAIL, options.text, &program);
    if (!s && !launch->carry[0]) s = spmv__dev_new_carries(exec, SPMV_DOT_COUNT * launch->groups, 1, &launch->carry[0]);
    if (!s) s = device->info.backend->kernel(device, program, "tail", &launch->kernel);
    if (s) return s;
    given[2] = spmv__mem(launch->carry[0]);
    launch->arg = SPMV__COUNT_OF(given);
    s = spmv__dev_set(device, launch->kernel, 0, given, SPMV__COUNT_OF(given));
    if (!s) return SPMV_OK;
    spmv__dev_kernel_free(device, launch->kernel);
    launch->kernel = NULL;
    return s;
}

static spmv_status spmv__dev_exec_queue(spmv_exec *exec, void *queue)
{
    const spmv_device *device = exec->matrix->device;
    spmv_status s;
    if (!queue) queue = device->queue;
    s = device->info.backend->queue_keep(device, queue, &exec->chain, &exec->profiles);
    if (!s) exec->queue = queue;
    return s;
}

SPMV_API spmv_status spmv_exec_create(spmv_exec *out, const spmv_device_matrix *matrix, void *queue)
{
    if (!out || !matrix || !matrix->device)
        return spmv__null(matrix ? &matrix->hooks : NULL, "spmv_exec_create", !out ? "out" : !matrix ? "matrix" : "matrix->device", out,
                          sizeof *out);
    if (!spmv__dev_is_here(matrix->device)) return spmv__dev_not_here(matrix->device, "spmv_exec_create", out, sizeof *out);
    void *block = NULL;
    size_t i;
    spmv_status s;
    memset(out, 0, sizeof *out);
    out->matrix = matrix;
    out->hooks = matrix->hooks;
    s = spmv__dev_exec_queue(out, queue);
    if (!s) s = spmv__new(&matrix->hooks, &block, 2 * (uint64_t)matrix->count, sizeof(spmv__launch), 0);
    out->launch = (spmv__launch *)block;
    if (!s && matrix->count && out->queue != matrix->device->queue) spmv__set_flag(&matrix->part[0].elsewhere);
    if (!s && matrix->rows) s = spmv__dev_launch_scale(&out->scale, matrix);
    for (i = 0; !s && i < matrix->count; i++)
        if (matrix->part[i].groups) s = spmv__dev_launch_all(out, matrix, &matrix->part[i]);
    if (s) spmv_exec_destroy(out);
    return s;
}

/* ordered: as for spmv__dev_left */
static void spmv__dev_launch_free(const spmv_device *device, spmv__launch *launch, int ordered)
{
    spmv__dev_kernel_free(device, launch->kernel);
    spmv__dev_left(device, launch->carry[0], ordered);
    spmv__dev_left(device, launch->carry[1], ordered);
}

/* Releases the launches for so many vectors. */
static void spmv__dev_wide_free(spmv_exec *exec, int width)
{
    const spmv_device *device = exec->matrix->device;
    const int ordered = exec->queue == device->queue;
    spmv_exec *wide = exec->wide[width];
    size_t i;
    if (!wide) return;
    spmv__dev_launch_free(device, &wide->scale, ordered);
    for (i = 0; i < wide->count; i++) spmv__dev_launch_free(device, &wide->launch[i], ordered);
    spmv_free(&exec->hooks, wide->launch);
    spmv_free(&exec->hooks, wide);
    exec->wide[width] = NULL;
}

static void spmv__dev_event_free(const spmv_device *device, void *event)
{
    if (event && spmv__dev_is_here(device)) device->info.backend->event_free(device, event);
}

/* Replaces the event in *slot by event (NULL: none), which it retains; by none if that fails. */
static spmv_status spmv__dev_event_keep(const spmv_device *device, void **slot, void *event)
{
    spmv_status s = event ? device->info.backend->event_keep(device, event) : SPMV_OK;
    spmv__dev_event_free(device, *slot);
    *slot = s ? NULL : event;
    return s;
}

enum { SPMV__X, SPMV__Y, SPMV__W, SPMV__Z, SPMV__SUMS, SPMV__SEEN }; /* of spmv_exec.seen */

/* Releases the vector that exec has seen last, of x also the image. */
static void spmv__dev_exec_forget(spmv_exec *exec, int vector)
{
    const spmv_device *device = exec->matrix->device;
    if (vector == SPMV__X) {
        spmv__dev_buffer_free(device, exec->image);
        exec->image = NULL;
    }
    spmv__dev_buffer_free(device, exec->seen[vector].mem);
    exec->seen[vector].mem = NULL;
    exec->turn++;
}

/* Forgets the events of the latest timed product. */
static void spmv__dev_exec_untimed(spmv_exec *exec)
{
    spmv__dev_event_keep(exec->matrix->device, &exec->first, NULL);
    spmv__dev_event_keep(exec->matrix->device, &exec->last, NULL);
}

SPMV_API void spmv_exec_destroy(spmv_exec *exec)
{
    const spmv_device *device;
    spmv_hooks hooks;
    size_t i;
    int ordered, v;
    if (!exec || !exec->matrix) return;
    device = exec->matrix->device;
    ordered = exec->queue == device->queue;
    hooks = exec->hooks;
    for (v = 0; v < SPMV__SEEN; v++) spmv__dev_exec_forget(exec, v);
    spmv__dev_exec_untimed(exec);
    spmv__dev_launch_free(device, &exec->scale, ordered);
    spmv__dev_launch_free(device, &exec->tail, ordered);
    for (i = 0; i < exec->count; i++) spmv__dev_launch_free(device, &exec->launch[i], ordered);
    for (i = 0; i < SPMV__WIDTHS; i++) spmv__dev_wide_free(exec, (int)i);
    spmv__dev_launch_free(device, &exec->turning, ordered);
    spmv__dev_left(device, exec->turned[0], ordered);
    spmv__dev_left(device, exec->turned[1], ordered);
    spmv__dev_left(device, exec->x, ordered);
    spmv__dev_left(device, exec->y, ordered);
    if (exec->queue && spmv__dev_is_here(device)) device->info.backend->queue_free(device, exec->queue);
    spmv_free(&hooks, exec->launch);
    memset(exec, 0, sizeof *exec);
}

/* ---- one thread at a time ------------------------------------------------------------------------------------------- */

/* Locks exec until spmv__set_free: a second thread would set arguments of the same kernels. function is the caller's name, for messages. */
static spmv_status spmv__dev_exec_take(spmv_exec *exec, const char *function)
{
    if (!exec || !exec->matrix) return spmv__null(exec ? &exec->hooks : NULL, function, exec ? "exec->matrix" : "exec", NULL, 0);
    if (!spmv__dev_is_here(exec->matrix->device)) return spmv__dev_not_here(exec->matrix->device, function, NULL, 0);
    if (spmv__try_lock(&exec->busy)) return SPMV_OK;
    return spmv_log(&exec->hooks, SPMV_ERR_BUSY,
                    "another thread is using this exec (spmv_mul uses the matrix's own): create an spmv_exec for "
                    "each thread (spmv_exec_create)");
}

/* ---- products ---------------------------------------------------------------------------------------------------- */

/* A product that is being enqueued. */
typedef struct spmv__dev_run {
    spmv_exec  *exec, *of; /* of: has the launches; exec, or of several vectors one of exec->wide */
    double      alpha;
    void       *x, *y;
    uint64_t    x0, y0;
    const spmv_tail *tail; /* NULL: none */
    uint64_t    x_step, y_step; /* of several vectors: from one element to the next; else 0 */
    unsigned    num_wait;
    const void *wait;
    size_t      left;      /* launches still to be enqueued */
    void       *previous;  /* event of the previous launch, if launches are chained or timed */
    int         begun;
    int         keep_last; /* 1: the caller wants the last launch's event */
    int         more;      /* 1: more products of several vectors follow */
} spmv__dev_run;

/* The first launch waits for the caller's events; each other one waits for the one before it if the queue is out of order. */
static spmv_order spmv__dev_order(const spmv__dev_run *run)
{
    spmv_order order;
    order.count = run->begun ? 0 : run->num_wait;
    order.wait = run->begun || !run->num_wait ? NULL : run->wait;
    order.after = run->begun && run->exec->chain ? run->previous : NULL;
    return order;
}

/* Sets the changing arguments of a launch. */
static spmv_status spmv__dev_launch_give(const spmv_exec *exec, spmv__launch *launch, const spmv__given *given)
{
    const spmv_type type = exec->matrix->type;
    spmv__dev_value list[8] = {
        spmv__mem(given->x), spmv__number(given->x0), spmv__mem(given->y), spmv__number(given->y0), spmv__real(type, given->alpha),
        spmv__real(type, given->beta), spmv__number(given->x_step), spmv__number(given->y_step)
    };
    const size_t n = given->y_step ? 8 : launch->image ? 7 : 6;
    spmv_status s;
    if (launch->image) list[6] = spmv__mem(exec->image); /* there are none for several vectors */
    s = spmv__dev_set(exec->matrix->device, launch->kernel, launch->arg, list, n);
    launch->given = *given;
    if (s) memset(&launch->given, 0, sizeof launch->given);
    return s;
}

/* Enqueues a launch, with new arguments if they are not those that it has and it is of the product (set: they are set), and keeps its event
 * as far as one is needed. */
static spmv_status spmv__dev_enqueue(spmv__dev_run *run, spmv__launch *launch, double beta, int set)
{
    spmv_exec *exec = run->exec;
    const spmv_device *device = exec->matrix->device;
    spmv_order order = spmv__dev_order(run);
    spmv__given given;
    void *event = NULL;
    int want = exec->chain || exec->timing || (run->left == 1 && run->keep_last);
    spmv_status s = SPMV_OK;
    memset(&given, 0, sizeof given);
    given.x = run->x;
    given.x0 = run->x0;
    given.y = run->y;
    given.y0 = run->y0 + launch->row * (run->y_step ? run->y_step : 1);
    given.x_step = run->x_step;
    given.y_step = run->y_step;
    given.turn = exec->turn;
    given.alpha = run->alpha;
    given.beta = beta;
    if (!set && memcmp(&given, &launch->given, sizeof given) != 0) s = spmv__dev_launch_give(exec, launch, &given);
    if (!s) s = device->info.backend->launch(device, exec->queue, launch->kernel, launch->groups, launch->wg, &order, want ? &event : NULL);
    if (s) return s;
    if (exec->timing && !run->begun) s = spmv__dev_event_keep(device, &exec->first, event);
    if (run->previous) spmv__dev_event_free(device, run->previous);
    run->previous = event;
    run->begun = 1;
    run->left--;
    return s;
}

/* Enqueues what follows the product. */
static spmv_status spmv__dev_enqueue_tail(spmv__dev_run *run)
{
    const spmv_tail *tail = run->tail;
    spmv__launch *launch = &run->exec->tail;
    const spmv_device_matrix *matrix = run->exec->matrix;
    const spmv__dev_value given[12] = {
        spmv__mem(spmv__tail_reads_x(tail) ? run->x : NULL), spmv__number(run->x0), spmv__mem(run->y), spmv__number(run->y0),
        spmv__mem(spmv__tail_reads_w(tail) ? (void *)(uintptr_t)tail->w : NULL), spmv__number(tail->w_offset), spmv__mem(tail->z),
        spmv__number(tail->z_offset), spmv__mem(tail->dots ? tail->sums : NULL), spmv__number(tail->sums_offset),
        spmv__real(matrix->type, spmv__tail_gamma(tail)), spmv__number(tail->dots | (tail->z ? 1u << SPMV_DOT_COUNT : 0))
    };
    const spmv_status s = spmv__dev_set(matrix->device, launch->kernel, launch->arg, given, SPMV__COUNT_OF(given));
    return s ? s : spmv__dev_enqueue(run, launch, 0, 1);
}

/* Asks the driver how much a buffer holds that exec has not seen, and remembers it as x or y. name is the argument's. */
static spmv_status spmv__dev_exec_see(spmv_exec *exec, int vector, void *mem, const char *name)
{
    const spmv_device *device = exec->matrix->device;
    const spmv_backend *back = device->info.backend;
    const uint64_t size = spmv_vector_size(exec->matrix->type);
    uint64_t bytes = 0;
    spmv_status s = spmv__dev_aligned(device, &exec->hooks, name, mem, size);
    if (!s) s = back->buffer_bytes(device, mem, &bytes);
    if (!s && back->buffer_keep) s = back->buffer_keep(device, mem);
    if (s) return s;
    if (exec->seen[vector].mem) spmv__dev_exec_forget(exec, vector);
    if (back->buffer_keep) exec->seen[vector].mem = mem;
    exec->seen[vector].elements = bytes / size;
    return SPMV_OK;
}

/* Checks that a vector of n elements at an offset lies within its buffer; name is the argument's. */
static spmv_status spmv__dev_exec_check(spmv_exec *exec, int vector, void *mem, uint64_t offset, uint64_t n, const char *name)
{
    uint64_t have;
    spmv_status s = SPMV_OK;
    if (!n) return SPMV_OK;
    if (!mem) return spmv_log(&exec->hooks, SPMV_ERR_ARGUMENT, "%s is NULL", name);
    if (exec->seen[vector].mem != mem) s = spmv__dev_exec_see(exec, vector, mem, name);
    if (s) return s;
    have = exec->seen[vector].elements;
    if (offset <= have && n <= have - offset) return SPMV_OK;
    return spmv_log(&exec->hooks, SPMV_ERR_ARGUMENT, "%s: %llu elements from offset %llu exceed the buffer's %llu", name, (spmv__ull)n,
                    (spmv__ull)offset, (spmv__ull)have);
}

/* Refuses y over x, or one of several (many NULL: of one). Handles that differ are those of different buffers where the back end has no
 * addresses. */
static spmv_status spmv__dev_exec_apart(const spmv__dev_run *run, const spmv__many *many)
{
    const spmv_device_matrix *matrix = run->exec->matrix;
    const uint64_t size = spmv_vector_size(matrix->type), x0 = run->x0 * size, y0 = run->y0 * size;
    const int addresses = matrix->device->info.backend->within != NULL;
    const uint64_t x = addresses ? (uintptr_t)run->x + x0 : x0, y = addresses ? (uintptr_t)run->y + y0 : y0;
    if (run->x != run->y && !addresses) return SPMV_OK;
    if (many ? !spmv__many_overlap(many, size, x, y) : !spmv__overlap(x, matrix->cols * size, y, matrix->rows * size))
        return SPMV_OK;
    return spmv_log(&run->exec->hooks, SPMV_ERR_ARGUMENT, "x and y overlap");
}

/* Makes the image of x, which exec has seen, if launches read one and exec has none. It covers as much of x as the device allows:
 * SPMV_ERR_LIMIT if that is less than the product reads. x and y must be different buffers then: reading an image is undefined while any
 * part of its buffer is written. */
static spmv_status spmv__dev_exec_image(spmv_exec *exec, void *x, uint64_t x_offset, void *y)
{
    const spmv_device_matrix *matrix = exec->matrix;
    const spmv_device *device = matrix->device;
    uint64_t texels;
    spmv_status s = SPMV_OK;
    size_t i;
    for (i = 0; i < exec->count && !exec->launch[i].image;) i++;
    if (i == exec->count) return SPMV_OK;
    if (x == y) return spmv_log(&exec->hooks, SPMV_ERR_ARGUMENT, "IMG=1: x and y are in the same buffer");
    texels = spmv__smaller(exec->seen[SPMV__X].elements, device->info.image_texels);
    if (!exec->image) s = device->info.backend->image(device, x, matrix->type, texels, &exec->image);
    if (s || x_offset + matrix->cols <= texels) return s;
    return spmv_log(&exec->hooks, SPMV_ERR_LIMIT, "x ends at element %llu of its buffer, but an image of it holds only %llu",
                    (spmv__ull)(x_offset + matrix->cols), (spmv__ull)texels);
}

/* Checks what follows the product, and makes its kernel. */
static spmv_status spmv__dev_exec_tail(spmv__dev_run *run, const char *function)
{
    spmv_exec *exec = run->exec;
    const spmv_device_matrix *matrix = exec->matrix;
    const spmv_tail *tail = run->tail;
    const int addresses = matrix->device->info.backend->within != NULL;
    spmv_status s = spmv__tail_check(&exec->hooks, function, tail, matrix->type, matrix->rows, matrix->cols, run->x, run->x0, run->y,
                                     run->y0, addresses);
    if (!s && spmv__tail_reads_w(tail))
        s = spmv__dev_exec_check(exec, SPMV__W, (void *)(uintptr_t)tail->w, tail->w_offset, matrix->rows, "tail.w");
    if (!s && tail->z) s = spmv__dev_exec_check(exec, SPMV__Z, tail->z, tail->z_offset, matrix->rows, "tail.z");
    if (!s && tail->dots) s = spmv__dev_exec_check(exec, SPMV__SUMS, tail->sums, tail->sums_offset, SPMV_DOT_COUNT, "tail.sums");
    return s ? s : spmv__dev_launch_tail(exec);
}

/* Checks the vectors of a product and makes the image that it reads; launches: how many launches multiply. An x that is not read may be
 * no buffer. */
static spmv_status spmv__dev_exec_ready(spmv__dev_run *run, size_t launches)
{
    spmv_exec *exec = run->exec;
    const spmv_device_matrix *matrix = exec->matrix;
    const int multiplies = run->alpha != 0 && matrix->rows && matrix->cols;
    const int reads = multiplies || (run->tail && spmv__tail_reads_x(run->tail) && matrix->rows);
    spmv_status s = run->num_wait && !run->wait ? spmv__null(&exec->hooks, "spmv_cl_mul", "wait", NULL, 0) : SPMV_OK;
    if (!s) s = spmv__dev_exec_check(exec, SPMV__Y, run->y, run->y0, matrix->rows, "y");
    if (!s && reads) s = spmv__dev_exec_check(exec, SPMV__X, run->x, run->x0, matrix->cols, "x");
    if (!s && multiplies) s = spmv__dev_exec_apart(run, NULL);
    if (!s && launches && matrix->cols) s = spmv__dev_exec_image(exec, run->x, run->x0, run->y);
    if (reads) return s;
    run->x = NULL;
    run->x0 = 0;
    return s;
}

/* After the launches: the event that stands for a product without any, and the events of its time. */
static spmv_status spmv__dev_exec_events(spmv__dev_run *run)
{
    spmv_exec *exec = run->exec;
    const spmv_device *device = exec->matrix->device;
    spmv_status s = SPMV_OK;
    if (!run->begun && (run->keep_last || run->num_wait || exec->timing)) {
        spmv_order order = spmv__dev_order(run);
        s = device->info.backend->marker(device, exec->queue, &order, &run->previous);
        if (!s && exec->timing) s = spmv__dev_event_keep(device, &exec->first, run->previous);
    }
    if (!s && exec->timing) s = spmv__dev_event_keep(device, &exec->last, run->previous);
    return s;
}

/* Enqueues the pass that scales y (unless the first part covers it or beta is 1), then all launches of run->of, which may be NULL, and what
 * follows. run has the vectors, alpha and what to wait for. *event, if event is not NULL, gets one that completes with the product. */
static spmv_status spmv__dev_exec_mul(spmv__dev_run *run, double beta, void **event)
{
    spmv_exec *exec = run->exec, *of = run->of;
    const spmv_device_matrix *matrix = exec->matrix;
    size_t i, launches = of && run->alpha != 0 && matrix->rows ? of->count : 0;
    int covers = launches && matrix->covers && matrix->part[0].groups;
    int scale = of && matrix->rows && beta != 1 && !covers;
    spmv_status s = of == exec ? spmv__dev_exec_ready(run, launches) : SPMV_OK;
    run->left = launches + (size_t)scale + (run->tail != NULL);
    run->keep_last = event != NULL;
    if (!s && scale) s = spmv__dev_enqueue(run, &of->scale, beta, 0);
    for (i = 0; !s && i < launches; i++) s = spmv__dev_enqueue(run, &of->launch[i], covers && of->launch[i].first ? beta : 1, 0);
    if (!s && run->tail) s = spmv__dev_enqueue_tail(run);
    if (run->more) return s;
    if (!s) s = spmv__dev_exec_events(run);
    if (s) spmv__dev_exec_untimed(exec);
    if (!s && event) {
        *event = run->previous;
        run->previous = NULL;
    }
    if (run->previous) spmv__dev_event_free(matrix->device, run->previous);
    return s;
}

/* A product that waits for nothing. */
static spmv__dev_run spmv__dev_run_of(spmv_exec *exec, double alpha, void *x, uint64_t x_offset, void *y, uint64_t y_offset)
{
    spmv__dev_run run;
    memset(&run, 0, sizeof run);
    run.exec = run.of = exec;
    run.alpha = alpha;
    run.x = x;
    run.x0 = x_offset;
    run.y = y;
    run.y0 = y_offset;
    return run;
}

/* A product with the handles of any back end. Typed functions such as spmv_cl_mul call it with their own name. */
static spmv_status spmv__exec_mul(spmv_exec *exec, const char *function, double alpha, void *x, uint64_t x_offset, double beta, void *y,
                                  uint64_t y_offset, unsigned num_wait, const void *wait, void **event)
{
    spmv__dev_run run = spmv__dev_run_of(exec, alpha, x, x_offset, y, y_offset);
    spmv_status s = spmv__dev_exec_take(exec, function);
    if (event) *event = NULL;
    if (s) return s;
    run.num_wait = num_wait;
    run.wait = wait;
    s = spmv__dev_exec_mul(&run, beta, event);
    spmv__set_free(&exec->busy);
    return s;
}

SPMV_API spmv_status spmv_exec_mul(spmv_exec *exec, double alpha, void *x, uint64_t x_offset, double beta, void *y,
                                   uint64_t y_offset)
{
    return spmv__exec_mul(exec, "spmv_exec_mul", alpha, x, x_offset, beta, y, y_offset, 0, NULL, NULL);
}

SPMV_API spmv_status spmv_exec_mul_tail(spmv_exec *exec, double alpha, void *x, uint64_t x_offset, double beta, void *y,
                                        uint64_t y_offset, const spmv_tail *tail)
{
    spmv__dev_run run = spmv__dev_run_of(exec, alpha, x, x_offset, y, y_offset);
    spmv_status s = spmv__dev_exec_take(exec, "spmv_exec_mul_tail");
    if (s) return s;
    run.tail = tail;
    s = spmv__dev_exec_tail(&run, "spmv_exec_mul_tail");
    if (!s) s = spmv__dev_exec_mul(&run, beta, NULL);
    spmv__set_free(&exec->busy);
    return s;
}

/* Creates the buffers of products with host vectors, unless exec has them. */
static spmv_status spmv__dev_exec_host_buffers(spmv_exec *exec)
{
    const spmv_device_matrix *matrix = exec->matrix;
    uint64_t size = spmv_vector_size(matrix->type);
    spmv_status s = SPMV_OK;
    if (!exec->x) s = spmv__dev_exec_own(exec, spmv__sat_mul(matrix->cols, size), 1, &exec->x);
    if (!s && !exec->y) s = spmv__dev_exec_own(exec, spmv__sat_mul(matrix->rows, size), 0, &exec->y);
    return s;
}

/* Copies x (and y, if beta is not 0) to the device, multiplies, and copies y back. */
static spmv_status spmv__dev_exec_mul_host(spmv_exec *exec, double alpha, const void *x, double beta, void *y)
{
    const spmv_device_matrix *matrix = exec->matrix;
    const spmv_device *device = matrix->device;
    const spmv_backend *back = device->info.backend;
    uint64_t size = spmv_vector_size(matrix->type), x_bytes = matrix->cols * size, y_bytes = matrix->rows * size;
    spmv__dev_run run;
    void *done = NULL;
    spmv_status s = spmv__check_vectors(&exec->hooks, "spmv_exec_mul_host", matrix->type, matrix->rows, matrix->cols, alpha, x, y);
    if (s || !matrix->rows) return s;
    s = spmv__dev_exec_host_buffers(exec);
    if (!s && alpha != 0 && matrix->cols) s = back->write(device, exec->queue, exec->x, x_bytes, x);
    if (!s && beta != 0) s = back->write(device, exec->queue, exec->y, y_bytes, y);
    run = spmv__dev_run_of(exec, alpha, exec->x, 0, exec->y, 0);
    if (!s) s = spmv__dev_exec_mul(&run, beta, &done);
    if (!s) s = back->read(device, exec->queue, exec->y, y_bytes, y, done);
    spmv__dev_event_free(device, done);
    return s;
}

SPMV_API spmv_status spmv_exec_mul_host(spmv_exec *exec, double alpha, const void *x, double beta, void *y)
{
    spmv_status s = spmv__dev_exec_take(exec, "spmv_exec_mul_host");
    if (s) return s;
    s = spmv__dev_exec_mul_host(exec, alpha, x, beta, y);
    spmv__set_free(&exec->busy);
    return s;
}

/* Several vectors one after another on the host. */
SPMV__SHARED spmv_status spmv__exec_mul_many_host(spmv_exec *exec, const spmv__many *many, double alpha, const void *x, double beta,
                                                  void *y)
{
    const spmv_type type = exec->matrix->type;
    spmv_status s = spmv__dev_exec_take(exec, "spmv_mul_many");
    uint64_t j;
    if (s) return s;
    for (j = 0; j < many->count && !s; j++)
        s = spmv__dev_exec_mul_host(exec, alpha, spmv__many_x(many, type, x, j), beta, spmv__many_y(many, type, y, j));
    spmv__set_free(&exec->busy);
    return s;
}

SPMV_API spmv_status spmv_exec_timing(spmv_exec *exec, int on)
{
    spmv_status s = spmv__dev_exec_take(exec, "spmv_exec_timing");
    if (s) return s;
    if (on && !exec->profiles)
        s = spmv_log(&exec->hooks, SPMV_ERR_UNSUPPORTED, "the queue does not measure time (desc.profile; OpenCL: "
                     "CL_QUEUE_PROFILING_ENABLE)");
    else {
        exec->timing = on != 0;
        spmv__dev_exec_untimed(exec);
    }
    spmv__set_free(&exec->busy);
    return s;
}

SPMV_API spmv_status spmv_exec_seconds(spmv_exec *exec, double *seconds)
{
    const spmv_device *device;
    spmv_status s = seconds ? spmv__dev_exec_take(exec, "spmv_exec_seconds") : spmv__null(NULL, "spmv_exec_seconds", "seconds", NULL, 0);
    if (seconds) *seconds = 0;
    if (s) return s;
    device = exec->matrix->device;
    if (!exec->first || !exec->last) s = spmv_log(&exec->hooks, SPMV_ERR_ARGUMENT, "no product has been timed (spmv_exec_timing)");
    else s = device->info.backend->seconds(device, exec->first, exec->last, seconds);
    spmv__set_free(&exec->busy);
    return s;
}

#endif
