/* SPDX-License-Identifier: MIT
 *
 * spmv/group/products.h - vectors and products of a group, and why it was divided as it is.
 */
#ifndef SPMV__GROUP_PRODUCTS_H
#define SPMV__GROUP_PRODUCTS_H

#include "blocks.h"

/* ---- vectors --------------------------------------------------------------------------------------------------------- */

/* Makes one piece of a vector, with room for halos where the vector may be x. */
static spmv_status spmv__group_part_make(const spmv_group *g, const spmv_group_block *b, const spmv_group_vector *v, spmv_group_part *p)
{
    uint64_t all, size = spmv_vector_size(g->type);
    p->begin = v->is_x ? b->col : b->row;
    p->count = v->is_x ? b->cols : b->rows;
    p->offset = v->is_x ? b->before : 0;
    all = p->count + (v->is_x ? b->before + b->after : 0);
    if (b->device) return spmv__group_room_device(b->device, all * size, &p->at);
    return spmv__room(&g->hooks, &p->at, all, size);
}

SPMV_API spmv_status spmv_group_vector_create(spmv_group_vector *v, spmv_group *g, spmv_group_side side)
{
    if (!v || !g) return spmv__null(g ? &g->hooks : NULL, "spmv_group_vector_create", !v ? "v" : "g", v, sizeof *v);
    void *part;
    size_t i;
    spmv_status s = spmv__group_is_made(g, "spmv_group_vector_create");
    memset(v, 0, sizeof *v);
    if (s) return s;
    if (side != SPMV_GROUP_X && side != SPMV_GROUP_Y)
        return spmv_log(&g->hooks, SPMV_ERR_ARGUMENT, "spmv_group_vector_create: side %d is unknown", (int)side);
    s = spmv__new(&g->hooks, &part, g->count, sizeof *v->part, 0);
    if (s) return s;
    v->group = g;
    v->part = (spmv_group_part *)part;
    v->is_x = side == SPMV_GROUP_X || g->rows == g->cols;
    v->is_y = side == SPMV_GROUP_Y || g->rows == g->cols;
    v->length = v->is_x ? g->cols : g->rows;
    for (i = 0; !s && i < g->count; i++) s = spmv__group_blame(g, &g->block[i], spmv__group_part_make(g, &g->block[i], v, &v->part[i]));
    if (s) spmv_group_vector_destroy(v);
    return s;
}

SPMV_API void spmv_group_vector_destroy(spmv_group_vector *v)
{
    spmv_group *g;
    size_t i;
    if (!v || !v->group) return;
    g = v->group;
    spmv__group_finish(g);
    for (i = 0; i < g->count; i++) {
        if (!g->block[i].device) spmv_free(&g->hooks, v->part[i].at);
        else if (v->part[i].at) spmv__group_room_free_device(g->block[i].device, v->part[i].at);
    }
    spmv_free(&g->hooks, v->part);
    memset(v, 0, sizeof *v);
}

/* Copies a vector to host memory or, if that is NULL, from it. Devices work side by side; waits for all. */
static spmv_status spmv__group_copy(const spmv_group_vector *v, void *to, const void *from)
{
    spmv_group *g = v->group;
    uint64_t size = spmv_vector_size(g->type);
    size_t i;
    spmv_status s = SPMV_OK, done;
    for (i = 0; !s && i < g->count; i++) {
        const spmv_group_part *p = &v->part[i];
        unsigned char *out = to ? (unsigned char *)to + p->begin * size : NULL;
        const unsigned char *in = to ? NULL : (const unsigned char *)from + p->begin * size;
        if (!p->count) continue;
        if (g->block[i].device) s = spmv__group_blame(g, &g->block[i], spmv__group_copy_device(g->block[i].device, p, size, out, in));
        else if (to) memcpy(out, (const unsigned char *)p->at + p->offset * size, (size_t)(p->count * size));
        else memcpy((unsigned char *)p->at + p->offset * size, in, (size_t)(p->count * size));
    }
    done = spmv_group_wait(g);
    return s ? s : done;
}

SPMV_API spmv_status spmv_group_vector_write(spmv_group_vector *v, const void *from)
{
    if (!v || !v->group) return spmv__null(NULL, "spmv_group_vector_write", !v ? "v" : "v->group", NULL, 0);
    spmv_status s = spmv__group_is_made(v->group, "spmv_group_vector_write");
    if (s || !v->length) return s;
    if (!from) return spmv__null(&v->group->hooks, "spmv_group_vector_write", "from", NULL, 0);
    return spmv__group_copy(v, NULL, from);
}

SPMV_API spmv_status spmv_group_vector_read(const spmv_group_vector *v, void *to)
{
    if (!v || !v->group) return spmv__null(NULL, "spmv_group_vector_read", !v ? "v" : "v->group", NULL, 0);
    spmv_status s = spmv__group_is_made(v->group, "spmv_group_vector_read");
    if (s || !v->length) return s;
    if (!to) return spmv__null(&v->group->hooks, "spmv_group_vector_read", "to", NULL, 0);
    return spmv__group_copy(v, to, NULL);
}

SPMV_API spmv_status spmv_group_wait(spmv_group *g)
{
    if (!g) return spmv__null(NULL, "spmv_group_wait", "g", NULL, 0);
    spmv_status s = g->count ? spmv__group_is_made(g, "spmv_group_wait") : SPMV_OK;
    return s ? s : spmv__group_finish(g);
}

/* ---- products -------------------------------------------------------------------------------------------------------- */

/* A product that is under way. */
typedef struct spmv__group_run {
    spmv_group            *g;
    double                 alpha, beta;
    const spmv_group_part *x, *y; /* one for each block */
    int                    exchange; /* 1: halos are needed */
} spmv__group_run;

/* Multiplies one matrix of block i. */
static spmv_status spmv__group_mul_piece(const spmv__group_run *r, size_t i, spmv_group_piece *p)
{
    const spmv_group_block *b = &r->g->block[i];
    uint64_t size = spmv_vector_size(r->g->type), x0 = p->own ? r->x[i].offset : 0, y0 = r->y[i].offset + (p->row - b->row);
    double beta = p->adds ? 1 : r->beta;
    if (b->device) return spmv__group_piece_device(p, r->alpha, r->x[i].at, x0, beta, r->y[i].at, y0);
    return spmv_mul(&p->m, r->alpha, spmv__group_at(r->x[i].at, x0 * size), beta, spmv__group_at(r->y[i].at, y0 * size));
}

/* When a matrix is multiplied: before the exchange, or after it, because it reads the halo, or because nothing may write to the x that its
 * kernel reads through an image. */
typedef enum spmv__group_turn { SPMV__GROUP_EARLY, SPMV__GROUP_LATE } spmv__group_turn;

static spmv__group_turn spmv__group_turn_of(const spmv__group_run *r, const spmv_group_piece *p)
{
    return !p->own || (p->image && r->exchange) ? SPMV__GROUP_LATE : SPMV__GROUP_EARLY;
}

/* Multiplies those matrices of block i whose turn it is. */
static spmv_status spmv__group_mul_block(const spmv__group_run *r, size_t i, spmv__group_turn turn)
{
    spmv_group_block *b = &r->g->block[i];
    int k;
    spmv_status s = SPMV_OK;
    for (k = 0; !s && k < b->pieces; k++)
        if (spmv__group_turn_of(r, &b->piece[k]) == turn) s = spmv__group_mul_piece(r, i, &b->piece[k]);
    return s;
}

/* Begins a product in the blocks' own queues. */
static spmv_status spmv__group_begin(const spmv__group_run *r)
{
    spmv_group *g = r->g;
    size_t i;
    spmv_status s = SPMV_OK;
    for (i = 0; !s && i < g->count; i++)
        if (spmv__group_is_aside(&g->block[i])) s = spmv__group_blame(g, &g->block[i], spmv__group_begin_device(&g->block[i]));
    return s;
}

/* Collects what a block on the host sends. */
static void spmv__group_pack(const spmv__group_run *r, size_t i)
{
    const spmv_group_block *b = &r->g->block[i];
    uint64_t e;
    if (spmv_vector_size(r->g->type) == sizeof(double)) {
        const double *x = (const double *)r->x[i].at + r->x[i].offset;
        double *to = (double *)b->stage_;
        for (e = 0; e < b->sends; e++) to[e] = x[b->index_[e]];
    } else {
        const float *x = (const float *)r->x[i].at + r->x[i].offset;
        float *to = (float *)b->stage_;
        for (e = 0; e < b->sends; e++) to[e] = x[b->index_[e]];
    }
}

/* Copies the halo of block number to on the host. */
static spmv_status spmv__group_receive_host(const spmv__group_run *r, size_t to)
{
    const spmv_group *g = r->g;
    uint64_t size = spmv_vector_size(g->type);
    size_t i;
    spmv_status s = SPMV_OK;
    for (i = 0; !s && i < g->messages; i++) {
        const spmv_group_message *m = &g->message[i];
        const spmv_group_block *from = &g->block[m->from];
        if (m->to != to) continue;
        if (from->device) s = spmv__group_blame(g, from, spmv__group_wait_sent(from));
        if (!s) memcpy((unsigned char *)r->x[to].at + m->into * size, (const unsigned char *)from->stage_ + m->at * size,
                       (size_t)(m->count * size));
    }
    return s;
}

/* Waits until the halos of the last product have left the host's memory, and begins to collect those of this one. */
static spmv_status spmv__group_send(const spmv__group_run *r)
{
    spmv_group *g = r->g;
    size_t i;
    spmv_status s = SPMV_OK;
    for (i = 0; !s && i < g->count; i++)
        if (g->block[i].device && g->block[i].receives_) s = spmv__group_blame(g, &g->block[i], spmv__group_wait_arrived(&g->block[i]));
    for (i = 0; !s && i < g->count; i++)
        if (g->block[i].device) s = spmv__group_blame(g, &g->block[i], spmv__group_send_device(g, &g->block[i], &r->x[i]));
    return s;
}

/* Multiplies what needs no halo, on the devices. */
static spmv_status spmv__group_early(const spmv__group_run *r)
{
    spmv_group *g = r->g;
    size_t i;
    spmv_status s = SPMV_OK;
    for (i = 0; !s && i < g->count; i++)
        if (g->block[i].device) s = spmv__group_blame(g, &g->block[i], spmv__group_mul_block(r, i, SPMV__GROUP_EARLY));
    for (i = 0; !s && i < g->count; i++) /* after all are enqueued: starting them takes time, too */
        if (g->block[i].device) s = spmv__group_blame(g, &g->block[i], spmv__group_go(&g->block[i]));
    return s;
}

/* Sends the halos on to a device, which multiplies the rest. */
static spmv_status spmv__group_rest_of(const spmv__group_run *r, size_t i)
{
    spmv_group *g = r->g;
    spmv_group_block *b = &g->block[i];
    spmv_status s = SPMV_OK;
    if (!spmv__group_is_aside(b)) return SPMV_OK;
    if (r->exchange && b->before + b->after) s = spmv__group_receive_device(g, b, r->x);
    if (!s) s = spmv__group_end_device(b);
    return s ? s : spmv__group_mul_block(r, i, SPMV__GROUP_LATE);
}

/* Sends the halos on to the devices, which multiply the rest. */
static spmv_status spmv__group_rest(const spmv__group_run *r)
{
    spmv_group *g = r->g;
    size_t i;
    spmv_status s = SPMV_OK;
    for (i = 0; r->exchange && i < g->count; i++)
        if (!g->block[i].device && g->block[i].staged_) spmv__group_pack(r, i);
    for (i = 0; !s && i < g->count; i++) s = spmv__group_blame(g, &g->block[i], spmv__group_rest_of(r, i));
    for (i = 0; !s && i < g->count; i++) {
        spmv_group_block *b = &g->block[i];
        if (!spmv__group_is_aside(b)) continue;
        if (r->exchange) s = spmv__group_release_device(g, b);
        if (!s) s = spmv__group_go(b);
        s = spmv__group_blame(g, b, s);
    }
    return s;
}

/* The host's own blocks come last, when all devices are at work. */
static spmv_status spmv__group_on_host(const spmv__group_run *r)
{
    spmv_group *g = r->g;
    size_t i;
    spmv_status s = SPMV_OK;
    for (i = 0; !s && i < g->count; i++) {
        if (g->block[i].device) continue;
        if (r->exchange) s = spmv__group_receive_host(r, i);
        if (!s) s = spmv__group_mul_block(r, i, SPMV__GROUP_EARLY);
        if (!s) s = spmv__group_mul_block(r, i, SPMV__GROUP_LATE);
        s = spmv__group_blame(g, &g->block[i], s);
    }
    return s;
}

/* Refuses vectors that do not belong to a product with g. */
static spmv_status spmv__group_check_vectors(const spmv_group *g, double alpha, const spmv_group_vector *x, const spmv_group_vector *y)
{
    const char *wrong = x->group != g ? "x is of another group" : y->group != g ? "y is of another group"
                      : !x->is_x ? "x was made for SPMV_GROUP_Y" : !y->is_y ? "y was made for SPMV_GROUP_X"
                      : alpha != 0 && y->length && x->part == y->part ? "x and y overlap" : NULL;
    return wrong ? spmv_log(&g->hooks, SPMV_ERR_ARGUMENT, "spmv_group_mul_vectors: %s", wrong) : SPMV_OK;
}

SPMV_API spmv_status spmv_group_mul_vectors(spmv_group *g, double alpha, spmv_group_vector *x, double beta, spmv_group_vector *y)
{
    if (!g || !x || !y)
        return spmv__null(g ? &g->hooks : NULL, "spmv_group_mul_vectors", !g ? "g" : !x ? "x" : "y", NULL, 0);
    spmv__group_run r;
    spmv_status s = spmv__group_is_made(g, "spmv_group_mul_vectors");
    if (!s) s = spmv__group_check_vectors(g, alpha, x, y);
    if (s) return s;
    r.g = g;
    r.alpha = alpha;
    r.beta = beta;
    r.x = x->part;
    r.y = y->part;
    r.exchange = alpha != 0 && g->messages;
    s = spmv__group_begin(&r);
    if (!s && r.exchange) s = spmv__group_send(&r);
    if (!s) s = spmv__group_early(&r);
    if (!s) s = spmv__group_rest(&r);
    if (!s) s = spmv__group_on_host(&r);
    if (s) spmv_group_wait(g); /* nothing that was enqueued may use these vectors any more; the first failure is the one to tell */
    return s;
}

SPMV_API spmv_status spmv_group_mul(spmv_group *g, double alpha, const void *x, double beta, void *y)
{
    if (!g) return spmv__null(NULL, "spmv_group_mul", "g", NULL, 0);
    spmv_status s = spmv__group_is_made(g, "spmv_group_mul");
    if (!s) s = spmv__check_vectors(&g->hooks, "spmv_group_mul", g->type, g->rows, g->cols, alpha, x, y);
    if (s || !g->rows) return s;
    if (!g->x_.group) s = spmv_group_vector_create(&g->x_, g, SPMV_GROUP_X);
    if (!s && !g->y_.group) s = spmv_group_vector_create(&g->y_, g, SPMV_GROUP_Y);
    if (!s && alpha != 0) s = spmv_group_vector_write(&g->x_, g->cols ? x : NULL);
    if (!s && beta != 0) s = spmv_group_vector_write(&g->y_, y);
    if (!s) s = spmv_group_mul_vectors(g, alpha, &g->x_, beta, &g->y_);
    return s ? s : spmv_group_vector_read(&g->y_, y);
}

/* ---- why ------------------------------------------------------------------------------------------------------------- */

#define SPMV__GROUP_SAY(t, ...)                       \
    do {                                              \
        char said_[512];                              \
        spmv_print(said_, sizeof said_, __VA_ARGS__); \
        spmv__put_text(t, said_);                     \
    } while (0)

/* Writes the plans of a block's matrices. */
static void spmv__group_explain_plans(spmv__text *t, const spmv_group_block *b)
{
    int k;
    for (k = 0; k < b->pieces; k++) {
        const spmv_group_piece *p = &b->piece[k];
        char shares[256];
        spmv_shares(&p->m, shares, sizeof shares);
        SPMV__GROUP_SAY(t, "    plan      %s, rows %llu to %llu%s%s\n", shares, (spmv__ull)p->row,
                        (spmv__ull)(p->row + spmv_rows(&p->m)), p->adds ? ", halo columns" : b->split ? ", own columns" : "",
                        p->own && b->split ? ", while halos are sent" : "");
    }
}

/* Writes what one device has and the time that it takes. */
static void spmv__group_explain_block(spmv__text *t, const spmv_group *g, size_t i)
{
    const spmv_group_block *b = &g->block[i];
    uint64_t size = spmv_vector_size(g->type), halo = b->before + b->after;
    SPMV__GROUP_SAY(t, "device %llu  %s\n", (spmv__ull)i, spmv__group_name(b));
    SPMV__GROUP_SAY(t, "    rows      %llu to %llu, %llu nonzeros (%.*f%%)\n", (spmv__ull)b->row, (spmv__ull)(b->row + b->rows),
                    (spmv__ull)b->nnz, SPMV__FIGURE(g->nnz ? 100.0 * (double)b->nnz / (double)g->nnz : 0.0));
    spmv__group_explain_plans(t, b);
    SPMV__GROUP_SAY(t, "    halo      receives %llu elements (%llu bytes), sends %llu (%llu bytes)\n", (spmv__ull)halo,
                    (spmv__ull)(halo * size), (spmv__ull)b->sends, (spmv__ull)(b->sends * size));
    if (b->predicted > 0)
        SPMV__GROUP_SAY(t, "    predicted %.*f us for the product, %.*f us for the exchange, of which %.*f us are hidden\n",
                        SPMV__FIGURE(b->predicted * 1e6), SPMV__FIGURE(b->exchange * 1e6), SPMV__FIGURE(spmv__group_hidden(b) * 1e6));
}

/* Writes which device is the last to be done and why. */
static void spmv__group_explain_limit(spmv__text *t, const spmv_group *g)
{
    const spmv_group_block *last = NULL;
    double most = 0, time, open;
    size_t i;
    for (i = 0; i < g->count; i++) {
        const spmv_group_block *b = &g->block[i];
        time = b->predicted > 0 ? spmv__group_seconds(g, b) : 0;
        if (time > most) {
            most = time;
            last = b;
        }
    }
    if (!last) return;
    if (spmv__group_calls(g) > most) {
        SPMV__GROUP_SAY(t, "limit         %.*f us of the host's time to enqueue a product\n", SPMV__FIGURE(spmv__group_calls(g) * 1e6));
        return;
    }
    open = last->exchange - spmv__group_hidden(last);
    SPMV__GROUP_SAY(t, "limit         device %llu, %.*f us: %s\n", (spmv__ull)(last - g->block), SPMV__FIGURE(most * 1e6),
                    open > last->predicted ? "most of it waits for its halo"
                    : open > 0.1 * most ? "its product and the wait for its halo" : "its product");
}

SPMV_API size_t spmv_group_explain(const spmv_group *g, char *out, size_t size)
{
    static const char *const by[] = { "rates", "nonzeros", "rows" };
    spmv__text t;
    size_t i;
    if (!g) return spmv_print(out, size, "%s", "");
    spmv__text_open(&t, out, size);
    SPMV__GROUP_SAY(&t, "matrix        %llu x %llu, %llu nonzeros, divided by %s\n", (spmv__ull)g->rows, (spmv__ull)g->cols,
                    (spmv__ull)g->nnz, g->shares ? "given shares" : by[g->divided]);
    if (g->alone > 0)
        SPMV__GROUP_SAY(&t, "predicted     %.*f us on the fastest device alone, %.*f us divided%s\n", SPMV__FIGURE(g->alone * 1e6),
                        SPMV__FIGURE(g->together * 1e6), spmv__group_pays(g) ? "" : ", so it gets all rows");
    for (i = 0; i < g->count; i++) spmv__group_explain_block(&t, g, i);
    spmv__group_explain_limit(&t, g);
    return spmv__text_close(&t);
}

#endif
