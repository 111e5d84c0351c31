/* SPDX-License-Identifier: MIT
 *
 * spmv/group/products.h - vectors and products of a group, and why it was divided as it is.
 */
#ifndef SPMV__GROUP_PRODUCTS_H
#define SPMV__GROUP_PRODUCTS_H

#include "blocks.h"

/* ---- vectors --------------------------------------------------------------------------------------------------------- */

/* Makes one piece of a vector, with room for halos where the vector may be x. */
static spmv_status spmv__group_part_create(const spmv_group *group, const spmv_group_block *block, const spmv_group_vector *vector,
                                           spmv_group_part *p)
{
    uint64_t all, size = spmv_vector_size(group->type);
    p->begin = vector->is_x ? block->col : block->row;
    p->count = vector->is_x ? block->cols : block->rows;
    p->offset = vector->is_x ? block->before : 0;
    all = p->count + (vector->is_x ? block->before + block->after : 0);
    if (block->device) return SPMV__ON_DEVICE(spmv_buffer_create(block->device, all * size, &p->at));
    return spmv__room(&group->hooks, &p->at, all, size);
}

SPMV_API spmv_status spmv_group_vector_create(spmv_group_vector *vector, spmv_group *group, spmv_group_side side)
{
    if (!vector || !group)
        return spmv__null(group ? &group->hooks : NULL, "spmv_group_vector_create", !vector ? "vector" : "group", vector, sizeof *vector);
    void *part;
    size_t i;
    spmv_status s = spmv__group_is_made(group, "spmv_group_vector_create");
    memset(vector, 0, sizeof *vector);
    if (s) return s;
    if (side != SPMV_GROUP_X && side != SPMV_GROUP_Y)
        return spmv_log(&group->hooks, SPMV_ERR_ARGUMENT, "spmv_group_vector_create: side %d is unknown", (int)side);
    s = spmv__new(&group->hooks, &part, group->count, sizeof *vector->part, 0);
    if (s) return s;
    vector->group = group;
    vector->part = (spmv_group_part *)part;
    vector->is_x = side == SPMV_GROUP_X || group->rows == group->cols;
    vector->is_y = side == SPMV_GROUP_Y || group->rows == group->cols;
    vector->length = vector->is_x ? group->cols : group->rows;
    for (i = 0; !s && i < group->count; i++)
        s = spmv__group_blame(group, &group->block[i], spmv__group_part_create(group, &group->block[i], vector, &vector->part[i]));
    if (s) spmv_group_vector_destroy(vector);
    return s;
}

SPMV_API void spmv_group_vector_destroy(spmv_group_vector *vector)
{
    spmv_group *group;
    size_t i;
    if (!vector || !vector->group) return;
    group = vector->group;
    spmv__group_finish(group);
    for (i = 0; i < group->count; i++) {
        if (!group->block[i].device) spmv_free(&group->hooks, vector->part[i].at);
#ifdef SPMV_DEVICE_H
        else spmv_buffer_destroy(group->block[i].device, vector->part[i].at);
#endif
    }
    spmv_free(&group->hooks, vector->part);
    memset(vector, 0, sizeof *vector);
}

/* Copies a vector to host memory or, if that is NULL, from it, for a function, of which from or to is called other. Devices work side by
 * side; waits for all. */
static spmv_status spmv__group_copy(const spmv_group_vector *vector, const char *function, const char *other, void *to, const void *from)
{
    if (!vector || !vector->group) return spmv__null(NULL, function, !vector ? "vector" : "vector->group", NULL, 0);
    spmv_group *group = vector->group;
    uint64_t size = spmv_vector_size(group->type);
    size_t i;
    spmv_status s = spmv__group_is_made(group, function), done;
    if (s || !vector->length) return s;
    if (!to && !from) return spmv__null(&group->hooks, function, other, NULL, 0);
    for (i = 0; !s && i < group->count; i++) {
        const spmv_group_part *p = &vector->part[i];
        unsigned char *out = to ? (unsigned char *)to + p->begin * size : NULL;
        const unsigned char *in = to ? NULL : (const unsigned char *)from + p->begin * size;
        if (!p->count) continue;
        if (group->block[i].device)
            s = spmv__group_blame(group, &group->block[i],
                                  SPMV__ON_DEVICE(spmv__group_copy_device(group->block[i].device, p, size, out, in)));
        else if (to) memcpy(out, (const unsigned char *)p->at + p->offset * size, (size_t)(p->count * size));
        else memcpy((unsigned char *)p->at + p->offset * size, in, (size_t)(p->count * size));
    }
    done = spmv_group_wait(group);
    return s ? s : done;
}

SPMV_API spmv_status spmv_group_vector_write(spmv_group_vector *vector, const void *from)
{
    return spmv__group_copy(vector, "spmv_group_vector_write", "from", NULL, from);
}

SPMV_API spmv_status spmv_group_vector_read(const spmv_group_vector *vector, void *to)
{
    return spmv__group_copy(vector, "spmv_group_vector_read", "to", to, NULL);
}

SPMV_API spmv_status spmv_group_wait(spmv_group *group)
{
    if (!group) return spmv__null(NULL, "spmv_group_wait", "group", NULL, 0);
    spmv_status s = group->count ? spmv__group_is_made(group, "spmv_group_wait") : SPMV_OK;
    return s ? s : spmv__group_finish(group);
}

/* ---- products -------------------------------------------------------------------------------------------------------- */

/* A product that is under way. */
typedef struct spmv__group_run {
    spmv_group            *group;
    double                 alpha, beta;
    const spmv_group_part *x, *y; /* one for each block */
    int                    exchange; /* 1: halos are needed */
} spmv__group_run;

/* Multiplies one matrix of block i. */
static spmv_status spmv__group_mul_piece(const spmv__group_run *run, size_t i, spmv_group_piece *piece)
{
    const spmv_group_block *block = &run->group->block[i];
    uint64_t size = spmv_vector_size(run->group->type), x0 = piece->own ? run->x[i].offset : 0;
    uint64_t y0 = run->y[i].offset + (piece->row - block->row);
    double beta = piece->adds ? 1 : run->beta;
    if (block->device) return SPMV__ON_DEVICE(spmv_exec_mul(piece->m.exec, run->alpha, run->x[i].at, x0, beta, run->y[i].at, y0));
    return spmv_mul(&piece->m, run->alpha, spmv__group_at(run->x[i].at, x0 * size), beta, spmv__group_at(run->y[i].at, y0 * size));
}

/* When a matrix is multiplied: before the exchange, or after it, because it reads the halo, or because nothing may write to the x that its
 * kernel reads through an image. */
typedef enum spmv__group_turn { SPMV__GROUP_EARLY, SPMV__GROUP_LATE } spmv__group_turn;

static spmv__group_turn spmv__group_turn_of(const spmv__group_run *run, const spmv_group_piece *piece)
{
    return !piece->own || (piece->image && run->exchange) ? SPMV__GROUP_LATE : SPMV__GROUP_EARLY;
}

/* Multiplies those matrices of block i whose turn it is. */
static spmv_status spmv__group_mul_block(const spmv__group_run *run, size_t i, spmv__group_turn turn)
{
    spmv_group_block *block = &run->group->block[i];
    int k;
    spmv_status s = SPMV_OK;
    for (k = 0; !s && k < block->pieces; k++)
        if (spmv__group_turn_of(run, &block->piece[k]) == turn) s = spmv__group_mul_piece(run, i, &block->piece[k]);
    return s;
}

/* Begins a product in the blocks' own queues. */
static spmv_status spmv__group_begin(const spmv__group_run *run)
{
    spmv_group *group = run->group;
    size_t i;
    spmv_status s = SPMV_OK;
    for (i = 0; !s && i < group->count; i++)
        if (spmv__group_is_aside(&group->block[i]))
            s = spmv__group_blame(group, &group->block[i], SPMV__ON_DEVICE(spmv__group_begin_device(&group->block[i])));
    return s;
}

/* Collects what a block on the host sends. */
static void spmv__group_pack(const spmv__group_run *run, size_t i)
{
    const spmv_group_block *block = &run->group->block[i];
    uint64_t e;
    if (spmv_vector_size(run->group->type) == sizeof(double)) {
        const double *x = (const double *)run->x[i].at + run->x[i].offset;
        double *to = (double *)block->stage_;
        for (e = 0; e < block->sends; e++) to[e] = x[block->index_[e]];
    } else {
        const float *x = (const float *)run->x[i].at + run->x[i].offset;
        float *to = (float *)block->stage_;
        for (e = 0; e < block->sends; e++) to[e] = x[block->index_[e]];
    }
}

/* Copies the halo of block number to on the host. */
static spmv_status spmv__group_receive_host(const spmv__group_run *run, size_t to)
{
    const spmv_group *group = run->group;
    uint64_t size = spmv_vector_size(group->type);
    size_t i;
    spmv_status s = SPMV_OK;
    for (i = 0; !s && i < group->messages; i++) {
        const spmv_group_message *message = &group->message[i];
        const spmv_group_block *from = &group->block[message->from];
        if (message->to != to) continue;
        if (from->device) s = SPMV__ON_DEVICE(spmv__group_transfer(from->device)->wait(from->device, from->sent_));
        s = spmv__group_blame(group, from, s);
        if (!s) memcpy((unsigned char *)run->x[to].at + message->into * size, (const unsigned char *)from->stage_ + message->at * size,
                       (size_t)(message->count * size));
    }
    return s;
}

/* Waits until the halos of the last product have left the host's memory, and begins to collect those of this one. */
static spmv_status spmv__group_send(const spmv__group_run *run)
{
    spmv_group *group = run->group;
    size_t i;
    spmv_status s = SPMV_OK;
    for (i = 0; !s && i < group->count; i++) {
        const spmv_group_block *block = &group->block[i];
        if (!block->device || !block->receives_) continue;
        s = SPMV__ON_DEVICE(spmv__group_transfer(block->device)->wait(block->device, block->arrived_));
        s = spmv__group_blame(group, block, s);
    }
    for (i = 0; !s && i < group->count; i++)
        if (group->block[i].device)
            s = spmv__group_blame(group, &group->block[i], SPMV__ON_DEVICE(spmv__group_send_device(group, &group->block[i], &run->x[i])));
    return s;
}

/* Multiplies what needs no halo, on the devices. */
static spmv_status spmv__group_early(const spmv__group_run *run)
{
    spmv_group *group = run->group;
    size_t i;
    spmv_status s = SPMV_OK;
    for (i = 0; !s && i < group->count; i++)
        if (group->block[i].device) s = spmv__group_blame(group, &group->block[i], spmv__group_mul_block(run, i, SPMV__GROUP_EARLY));
    for (i = 0; !s && i < group->count; i++) /* after all are enqueued: starting them takes time, too */
        if (group->block[i].device) s = spmv__group_blame(group, &group->block[i], SPMV__ON_DEVICE(spmv__group_go(&group->block[i])));
    return s;
}

/* Sends the halos on to a device, which multiplies the rest. */
static spmv_status spmv__group_rest_of(const spmv__group_run *run, size_t i)
{
    spmv_group *group = run->group;
    spmv_group_block *block = &group->block[i];
    spmv_status s = SPMV_OK;
    if (!spmv__group_is_aside(block)) return SPMV_OK;
    if (run->exchange && block->before + block->after) s = SPMV__ON_DEVICE(spmv__group_receive_device(group, block, run->x));
    if (!s) s = SPMV__ON_DEVICE(spmv__group_end_device(block));
    return s ? s : spmv__group_mul_block(run, i, SPMV__GROUP_LATE);
}

/* Sends the halos on to the devices, which multiply the rest. */
static spmv_status spmv__group_rest(const spmv__group_run *run)
{
    spmv_group *group = run->group;
    size_t i;
    spmv_status s = SPMV_OK;
    for (i = 0; run->exchange && i < group->count; i++)
        if (!group->block[i].device && group->block[i].staged_) spmv__group_pack(run, i);
    for (i = 0; !s && i < group->count; i++) s = spmv__group_blame(group, &group->block[i], spmv__group_rest_of(run, i));
    for (i = 0; !s && i < group->count; i++) {
        spmv_group_block *block = &group->block[i];
        if (!spmv__group_is_aside(block)) continue;
        /* one that sends from x itself waits until that has been fetched, so that x may be changed */
        if (run->exchange && block->direct_) s = SPMV__ON_DEVICE(spmv__group_fetched(group, block, block->device->queue));
        if (!s) s = SPMV__ON_DEVICE(spmv__group_go(block));
        s = spmv__group_blame(group, block, s);
    }
    return s;
}

/* The host's own blocks come last, when all devices are at work. */
static spmv_status spmv__group_on_host(const spmv__group_run *run)
{
    spmv_group *group = run->group;
    size_t i;
    spmv_status s = SPMV_OK;
    for (i = 0; !s && i < group->count; i++) {
        if (group->block[i].device) continue;
        if (run->exchange) s = spmv__group_receive_host(run, i);
        if (!s) s = spmv__group_mul_block(run, i, SPMV__GROUP_EARLY);
        if (!s) s = spmv__group_mul_block(run, i, SPMV__GROUP_LATE);
        s = spmv__group_blame(group, &group->block[i], s);
    }
    return s;
}

/* Refuses vectors that do not belong to a product with group. */
static spmv_status spmv__group_check_vectors(const spmv_group *group, double alpha, const spmv_group_vector *x, const spmv_group_vector *y)
{
    const char *wrong = x->group != group ? "x is of another group" : y->group != group ? "y is of another group"
                      : !x->is_x ? "x was made for SPMV_GROUP_Y" : !y->is_y ? "y was made for SPMV_GROUP_X"
                      : alpha != 0 && y->length && x->part == y->part ? "x and y overlap" : NULL;
    return wrong ? spmv_log(&group->hooks, SPMV_ERR_ARGUMENT, "spmv_group_mul_vectors: %s", wrong) : SPMV_OK;
}

SPMV_API spmv_status spmv_group_mul_vectors(spmv_group *group, double alpha, spmv_group_vector *x, double beta, spmv_group_vector *y)
{
    if (!group || !x || !y)
        return spmv__null(group ? &group->hooks : NULL, "spmv_group_mul_vectors", !group ? "group" : !x ? "x" : "y", NULL, 0);
    spmv__group_run run;
    spmv_status s = spmv__group_is_made(group, "spmv_group_mul_vectors");
    if (!s) s = spmv__group_check_vectors(group, alpha, x, y);
    if (s) return s;
    run.group = group;
    run.alpha = alpha;
    run.beta = beta;
    run.x = x->part;
    run.y = y->part;
    run.exchange = alpha != 0 && group->messages;
    s = spmv__group_begin(&run);
    if (!s && run.exchange) s = spmv__group_send(&run);
    if (!s) s = spmv__group_early(&run);
    if (!s) s = spmv__group_rest(&run);
    if (!s) s = spmv__group_on_host(&run);
    if (s) spmv_group_wait(group); /* nothing that was enqueued may use these vectors any more; the first failure is the one to tell */
    return s;
}

SPMV_API spmv_status spmv_group_mul(spmv_group *group, double alpha, const void *x, double beta, void *y)
{
    if (!group) return spmv__null(NULL, "spmv_group_mul", "group", NULL, 0);
    spmv_status s = spmv__group_is_made(group, "spmv_group_mul");
    if (!s) s = spmv__check_vectors(&group->hooks, "spmv_group_mul", group->type, group->rows, group->cols, alpha, x, y);
    if (s || !group->rows) return s;
    if (!group->x_.group) s = spmv_group_vector_create(&group->x_, group, SPMV_GROUP_X);
    if (!s && !group->y_.group) s = spmv_group_vector_create(&group->y_, group, SPMV_GROUP_Y);
    if (!s && alpha != 0) s = spmv_group_vector_write(&group->x_, group->cols ? x : NULL);
    if (!s && beta != 0) s = spmv_group_vector_write(&group->y_, y);
    if (!s) s = spmv_group_mul_vectors(group, alpha, &group->x_, beta, &group->y_);
    return s ? s : spmv_group_vector_read(&group->y_, y);
}

SPMV_API spmv_group *spmv_group_transposed(spmv_group *group)
{
    return !group || !group->both ? NULL : group->transposed_ ? group->transposed_ : group;
}

SPMV_API spmv_status spmv_group_mul_transposed(spmv_group *group, double alpha, const void *x, double beta, void *y)
{
    if (!group) return spmv__null(NULL, "spmv_group_mul_transposed", "group", NULL, 0);
    spmv_status s = spmv__group_is_made(group, "spmv_group_mul_transposed");
    if (s) return s;
    if (!group->both)
        return spmv_log(&group->hooks, SPMV_ERR_ARGUMENT, "spmv_group_mul_transposed: the group was not made with both = 1");
    return spmv_group_mul(spmv_group_transposed(group), alpha, x, beta, y);
}

/* ---- why ------------------------------------------------------------------------------------------------------------- */

/* Writes the plans of a block's matrices. */
static void spmv__group_explain_plans(spmv__text *text, const spmv_group_block *block)
{
    int k;
    for (k = 0; k < block->pieces; k++) {
        const spmv_group_piece *piece = &block->piece[k];
        char shares[256];
        spmv_shares(&piece->m, shares, sizeof shares);
        spmv__say(text, "    plan      %s, rows %llu to %llu%s%s\n", shares, (spmv__ull)piece->row,
                  (spmv__ull)(piece->row + spmv_rows(&piece->m)),
                  piece->adds ? ", halo columns" : block->split ? ", own columns" : "",
                  piece->own && block->split ? ", while halos are sent" : "");
    }
}

/* Writes what one device has and the time that it takes. */
static void spmv__group_explain_block(spmv__text *text, const spmv_group *group, size_t i)
{
    const spmv_group_block *block = &group->block[i];
    uint64_t size = spmv_vector_size(group->type), halo = block->before + block->after;
    spmv__say(text, "device %llu  %s\n", (spmv__ull)i, spmv__group_name(block));
    spmv__say(text, "    rows      %llu to %llu, %llu nonzeros (%.*f%%)\n", (spmv__ull)block->row,
              (spmv__ull)(block->row + block->rows),
              (spmv__ull)block->nnz, SPMV__FIGURE(group->nnz ? 100.0 * (double)block->nnz / (double)group->nnz : 0.0));
    spmv__group_explain_plans(text, block);
    spmv__say(text, "    halo      receives %llu elements (%llu bytes), sends %llu (%llu bytes)\n", (spmv__ull)halo,
              (spmv__ull)(halo * size), (spmv__ull)block->sends, (spmv__ull)(block->sends * size));
    if (block->predicted > 0)
        spmv__say(text, "    predicted %.*f us for the product, %.*f us for the exchange, of which %.*f us are hidden\n",
                  SPMV__FIGURE(block->predicted * 1e6), SPMV__FIGURE(block->exchange * 1e6),
                  SPMV__FIGURE(spmv__group_hidden(block) * 1e6));
}

/* Writes which device is the last to be done and why. */
static void spmv__group_explain_limit(spmv__text *text, const spmv_group *group)
{
    const spmv_group_block *last = NULL;
    double most = 0, time, open;
    size_t i;
    for (i = 0; i < group->count; i++) {
        const spmv_group_block *block = &group->block[i];
        time = block->predicted > 0 ? spmv__group_seconds(group, block) : 0;
        if (time > most) {
            most = time;
            last = block;
        }
    }
    if (!last) return;
    if (spmv__group_calls(group) > most) {
        spmv__say(text, "limit         %.*f us of the host's time to enqueue a product\n",
                  SPMV__FIGURE(spmv__group_calls(group) * 1e6));
        return;
    }
    open = last->exchange - spmv__group_hidden(last);
    spmv__say(text, "limit         device %llu, %.*f us: %s\n", (spmv__ull)(last - group->block), SPMV__FIGURE(most * 1e6),
              open > last->predicted ? "most of it waits for its halo"
              : open > 0.1 * most ? "its product and the wait for its halo" : "its product");
}

SPMV_API size_t spmv_group_explain(const spmv_group *group, char *out, size_t size)
{
    static const char *const by[] = { "rates", "nonzeros", "rows" };
    spmv__text text;
    size_t i;
    if (!group) return spmv_print(out, size, "%s", "");
    spmv__text_open(&text, out, size);
    spmv__say(&text, "matrix        %llu x %llu, %llu nonzeros, divided by %s\n", (spmv__ull)group->rows, (spmv__ull)group->cols,
              (spmv__ull)group->nnz, group->shares ? "given shares" : by[group->divided]);
    if (group->alone > 0)
        spmv__say(&text, "predicted     %.*f us on the fastest device alone, %.*f us divided%s\n", SPMV__FIGURE(group->alone * 1e6),
                  SPMV__FIGURE(group->together * 1e6), spmv__group_pays(group) ? "" : ", so it gets all rows");
    for (i = 0; i < group->count; i++) spmv__group_explain_block(&text, group, i);
    spmv__group_explain_limit(&text, group);
    return spmv__text_close(&text);
}

#endif
