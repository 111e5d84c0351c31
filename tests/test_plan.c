/* SPDX-License-Identifier: MIT
 *
 * Plans on the host: grammar, the nonzeros that each part takes (compared with a simulation), builders, all parts together. */
#include <criterion/criterion.h>

#include "spmv.h"
#include "common.h"
#include "library.h"

static void say_nothing(void *user, spmv_status s, const char *message)
{
    (void)user;
    (void)s;
    (void)message;
}
static const spmv_hooks quiet = { NULL, NULL, say_nothing, NULL, 0, 0 };

static spmv_plan plan_of(const char *text)
{
    spmv_plan p;
    spmv_status s = spmv_plan_parse(&p, text, NULL, NULL);
    if (s) cr_assert_fail("%s: %s", text, spmv_status_name(s));
    return p;
}

/* ---- grammar ------------------------------------------------------------------------------------------------------ */

static int64_t random_key(spmv_format f, int k)
{
    static const int64_t blocks[] = { 0x104, 0x204, 0x404, 0x804, 0x108, 0x208, 0x408, 0x808, 0x202, 0x303, 0x606 };
    switch (k) {
    case SPMV_KEY_W: return rng() & 1 ? 1 + (int64_t)rng_below(6) : rng() & 1 ? 0xffffffff : 1 + (int64_t)rng_below(100000);
    case SPMV_KEY_FILL: case SPMV_KEY_D: return rng() & 1 ? 1 + (int64_t)rng_below(1000000) : 50000 * (1 + (int64_t)rng_below(20));
    case SPMV_KEY_GROW: return 1 + (int64_t)rng_below(999999);
    case SPMV_KEY_B: return blocks[rng_below(11)];
    case SPMV_KEY_H:
        if (f == SPMV_CMRS) return (int64_t)1 << rng_below(5);
        return 1 + (int64_t)rng_below(rng() & 1 ? 9 : 500);
    case SPMV_KEY_ROWS: return (int64_t)rng_below(3);
    case SPMV_KEY_SIGMA: return 1 + (int64_t)rng_below(70);
    case SPMV_KEY_RUN: return 32 + (int64_t)rng_below(100);
    case SPMV_KEY_IDX: return rng() & 1 ? 16 : 32;
    case SPMV_KEY_VAL: return rng() & 1 ? (rng() & 1 ? 1 : 8) : rng() & 1 ? 32 : 64;
    case SPMV_KEY_TILE: return (int64_t)512 << rng_below(4);
    default: return (int64_t)(rng() & 1);
    }
}

static spmv_spec random_spec(void)
{
    spmv_spec s;
    int k;
    memset(&s, 0, sizeof s);
    s.format = (spmv_format)rng_below(SPMV_FORMAT_COUNT);
    for (k = 0; k < SPMV_KEY_COUNT; k++)
        if (library_format_takes_key(s.format, (spmv_key)k) && rng() & 1) s.key[k] = random_key(s.format, k);
    if (s.key[SPMV_KEY_ROWS] != SPMV_ROWS_SORTED) s.key[SPMV_KEY_SIGMA] = 0;
    if (s.format == SPMV_CSR && !s.key[SPMV_KEY_RUN]) s.key[SPMV_KEY_IDX] = 0;
    return s;
}

/* The last part takes everything. */
static spmv_plan random_plan(int most)
{
    static const spmv_format all[] = { SPMV_CSR, SPMV_COO, SPMV_CMRS, SPMV_SELL, SPMV_BCSR, SPMV_DENSE, SPMV_ELL, SPMV_SBELL, SPMV_TCSR };
    spmv_plan p;
    spmv_spec *last;
    int i;
    memset(&p, 0, sizeof p);
    p.count = 1 + (int)rng_below((uint64_t)most);
    for (i = 0; i < p.count; i++) p.part[i] = random_spec();
    last = &p.part[p.count - 1];
    do *last = random_spec();
    while (last->format != all[rng_below(9)]);
    last->key[SPMV_KEY_W] = last->key[SPMV_KEY_FILL] = last->key[SPMV_KEY_D] = 0;
    return p;
}

Test(grammar, printed_plans_parse_back)
{
    char text[SPMV_PLAN_TEXT], again[SPMV_PLAN_TEXT], small[8];
    int i;
    for (i = 0; i < 20000; i++) {
        spmv_plan p = random_plan(i % 50 ? 6 : SPMV_MAX_PARTS), q;
        size_t n = spmv_plan_print(&p, text, sizeof text);
        int column = 77;
        CHECK(n < sizeof text && strlen(text) == n, "length %d", (int)n);
        CHECK(spmv_plan_parse(&q, text, &column, NULL) == SPMV_OK && column == 0, "%s", text);
        CHECK(!memcmp(&p, &q, sizeof p), "%s", text);
        spmv_plan_print(&q, again, sizeof again);
        CHECK(!strcmp(text, again), "%s", text);
        CHECK(spmv_plan_print(&p, small, sizeof small) == n, "length of a cut text");
        CHECK(!strncmp(small, text, strlen(small)) && strlen(small) == (n < 7 ? n : 7), "cut");
        CHECK(spmv_plan_print(&p, NULL, 0) == n, "length only");
        CHECK(library_plan_check(&p, 0, NULL) == SPMV_OK, "%s", text);
    }
    cr_assert(checks_done >= 100000);
}

/* The longest possible text fits the size that the header promises. */
Test(grammar, longest_plan_fits)
{
    static const char part[] = "sell:w=4294967295,fill=0.999999,h=65536,grow=0.999999,rows=sorted,sigma=4294967295,idx=16";
    char text[SPMV_PLAN_TEXT], out[SPMV_PLAN_TEXT];
    spmv_plan p;
    int i;
    text[0] = 0;
    for (i = 0; i < SPMV_MAX_PARTS; i++) {
        strcat(text, i ? "+" : "");
        strcat(text, part);
    }
    cr_assert(spmv_plan_parse(&p, text, NULL, NULL) == SPMV_OK && p.count == SPMV_MAX_PARTS);
    cr_assert(spmv_plan_print(&p, out, sizeof out) == strlen(text) && !strcmp(out, text));
}

Test(grammar, other_spellings)
{
    static const char *const pairs[][2] = {
        { "ell", "ell" }, { "  ell  ", "ell" }, { "\tell:w=5\t+\tcoo ", "ell:w=5+coo" },
        { " sell : h = 4 , rows = sorted , sigma = 8 + csr : rows = nonempty ", "sell:h=4,rows=sorted,sigma=8+csr:rows=nonempty" },
        { "ell:w=0", "ell" }, { "ell:rows=all", "ell" }, { "ell:w=007", "ell:w=7" }, { "dia:d=1", "dia:d=1" }, { "dia:d=1.0", "dia:d=1" },
        { "dia:d=0.500000", "dia:d=0.5" }, { "dia:d=0.000001", "dia:d=0.000001" }, { "dia:d=0.010", "dia:d=0.01" }, { "dia:d=0", "dia" },
        { "sell:sigma=4,rows=sorted", "sell:rows=sorted,sigma=4" }, { "bcsr:b=4x4", "bcsr:b=4x4" },
        { "bcsr:d=0.5,b=02x02", "bcsr:d=0.5,b=2x2" },
        { "cmrs:wide=1,sort=1,h=16", "cmrs:h=16,sort=1,wide=1" }, { "ell:rowmajor=1,w=2", "ell:w=2,rowmajor=1" },
        { "sell:fill=0.75", "sell:fill=0.75" },
    };
    char out[SPMV_PLAN_TEXT];
    size_t i;
    for (i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        spmv_plan p = plan_of(pairs[i][0]);
        spmv_plan_print(&p, out, sizeof out);
        cr_assert(!strcmp(out, pairs[i][1]), "\"%s\" became \"%s\"", pairs[i][0], out);
    }
}

typedef struct bad_text {
    const char *text;
    int column;
    const char *words;
} bad_text;

static const bad_text bad_texts[] = {
    { "", 1, "format" }, { " ", 2, "format" }, { "+", 1, "format" }, { "ell+", 5, "format" },
    { "ell + ", 7, "format" }, { "+ell", 1, "format" },
    { "ell++coo", 5, "format" }, { "ELL", 1, "format: dense, coo, csr," }, { "el", 1, "cmrs, tcsr" }, { "ellp", 1, "format" },
    { "ell coo", 5, "\"+\"" },
    { "ell,coo", 4, "\"+\"" }, { "ell;coo", 4, "\"+\"" }, { "hyb", 1, "format" }, { "=", 1, "format" }, { ":w=5", 1, "format" },
    { "ell:", 5, "key" }, { "ell:+coo", 5, "key" }, { "ell:w", 6, "\"=\"" }, { "ell:w+coo", 6, "\"=\"" }, { "ell:w=", 7, "whole number" },
    { "ell:w=+coo", 7, "whole number" }, { "ell:w=x", 7, "whole number" }, { "ell:w=-1", 7, "whole number" },
    { "ell:w=5x", 7, "whole number" },
    { "ell:w=5.5", 7, "whole number" }, { "ell: w = 1e3", 10, "whole number" }, { "ell:w=99999999999999999999", 7, "whole number" },
    { "ell:w=5,", 9, "key" }, { "ell:w=5,,", 9, "key" }, { "ell:w=5,w=6", 9, "twice" },
    { "ell:w=5:fill=1", 8, "\"+\"" }, { "ell:W=5", 5, "key" },
    { "ell:q=5", 5, "no such key; ell has w, fill, rows, sigma, idx" },
    { "ell:h=5", 5, "format has no such key" }, { "coo:w=5", 5, "format has no such key; coo has val" },
    { "csr:d=0.5", 5, "format has no such key" }, { "csr+dia:w=5", 9, "format has no such key" }, { "ell:fill=.5", 10, "fraction" },
    { "ell:fill=0.5000000", 10, "fraction" }, { "ell:fill=0,5", 12, "no such key" },
    { "ell:fill=x", 10, "fraction" }, { "ell:fill=0.5%", 13, "\"+\"" },
    { "bell:b=4", 8, "block size" }, { "bell:b=x4", 8, "block size" }, { "bell:b=4x", 8, "block size" },
    { "bell:b=4x4x4", 8, "block size" },
    { "bell:b=256x4", 8, "block size" }, { "bell:b=4*4", 8, "block size" }, { "csr:rows=some", 10, "nonempty" },
    { "csr:rows=1", 10, "nonempty" },
    { "csr:rows=", 10, "nonempty" }, { "csr:rows=Sorted", 10, "nonempty" }, { "csr\n", 4, "the end" }, { "csr \x01", 5, "the end" },
    { "csr\xc3\xa4", 4, "the end" }, { "ell:w=5+coo extra", 13, "the end" },
    /* words longer than the reader holds are refused, not cut */
    { "ell:w=00000000000000000000000000000000000000012", 7, "whole number" },
    { "csrcsrcsrcsrcsrcsrcsrcsrcsrcsrcsrcsrcsrcsr", 1, "format" },
    { "dia:d=0.00000000000000000000000000000000000000", 7, "fraction" },
    /* well formed, but not a value of the key: the column is that of the value */
    { "ell:w=4294967296", 7, "w must be" }, { "csr+ell:fill=1.000001", 14, "fill must be" }, { "dia:d=2", 7, "d must be" },
    { "bell:b=5x5", 8, "b must be" }, { "sell:h=65537", 8, "h must be" }, { "cmrs:h=3", 8, "h must be 1 2 4 8 or 16" },
    { "cmrs:h=32", 8, "h must be 1 2 4 8 or 16" }, { "sell:w=3, grow=1", 16, "grow must be" }, { "cmrs:sort=2", 11, "sort, wide and" },
    { "cmrs:wide=9", 11, "sort, wide and" }, { "tcsr:tile=256", 11, "tile must be" }, { "tcsr:tile=1536", 11, "tile must be" },
    { "tcsr:tile=8192", 11, "tile must be" }, { "sell:rows=sorted,sigma=4294967296", 24, "sigma must be" },
    /* the whole part is wrong */
    { "csr+sell:sigma=4", 5, "sigma needs" }, { "coo/ATOMIC=1", 4, "spmv_desc.variant" }, { "csr:rows=nonempty,sigma=4", 1, "sigma needs" },
};

Test(grammar, faults_point_at_their_column)
{
    size_t i, n = sizeof bad_texts / sizeof *bad_texts;
    for (i = 0; i < n; i++) {
        const bad_text *b = &bad_texts[i];
        ledger l;
        spmv_hooks h = ledger_hooks(&l);
        spmv_plan p;
        int column = -1;
        char place[32];
        spmv_status s;
        memset(&p, 0x55, sizeof p);
        s = spmv_plan_parse(&p, b->text, &column, &h);
        CHECK(s == SPMV_ERR_PLAN && l.last == s && l.messages == 1, "\"%s\": %s", b->text, spmv_status_name(s));
        CHECK(column == b->column, "\"%s\": column %d, not %d (%s)", b->text, column, b->column, l.text);
        CHECK(strstr(l.text, b->words), "\"%s\": \"%s\" lacks \"%s\"", b->text, l.text, b->words);
        snprintf(place, sizeof place, "column %d,", b->column);
        CHECK(strstr(l.text, place), "\"%s\": \"%s\" lacks the column", b->text, l.text);
        CHECK(p.count == 0 && p.part[0].format == 0, "\"%s\": not zeroed", b->text);
        CHECK(spmv_plan_parse(&p, b->text, NULL, &h) == SPMV_ERR_PLAN, "\"%s\" without column", b->text);
    }
    cr_assert(n >= 50);
}

Test(grammar, too_many_parts)
{
    char text[512];
    int i, column;
    spmv_plan p;
    text[0] = 0;
    for (i = 0; i < SPMV_MAX_PARTS; i++) strcat(text, i ? "+csr" : "csr");
    cr_assert(spmv_plan_parse(&p, text, &column, &quiet) == SPMV_OK);
    strcat(text, "+coo");
    cr_assert(spmv_plan_parse(&p, text, &column, &quiet) == SPMV_ERR_PLAN && column == SPMV_MAX_PARTS * 4 + 1, "column %d", column);
}

/* Random bytes and good texts cut at random give a status and a column within the text, and never a crash. */
Test(grammar, noise)
{
    static const char letters[] = "elscodiabmrwhf:=,+.0123456789x -\t";
    char text[80];
    int i, good = 0;
    for (i = 0; i < 100000; i++) {
        spmv_plan p = random_plan(2);
        int column = -1;
        size_t n, k;
        if (i & 1) {
            spmv_plan_print(&p, text, sizeof text);
            n = strlen(text);
            if (n) text[rng_below(n)] = letters[rng_below(sizeof letters)];
        } else {
            n = rng_below(sizeof text - 1);
            for (k = 0; k < n; k++) text[k] = letters[rng_below(sizeof letters - 1)];
            text[n] = 0;
        }
        if (spmv_plan_parse(&p, text, &column, &quiet))
            CHECK(column >= 1 && column <= (int)strlen(text) + 1, "\"%s\": column %d", text, column);
        else CHECK(column == 0 && ++good, "\"%s\": column %d", text, column);
    }
    cr_assert(good > 100);
}

Test(grammar, plans_made_by_hand_are_checked)
{
    spmv_plan p;
    memset(&p, 0, sizeof p);
    cr_assert(library_plan_check(&p, 0, &quiet) == SPMV_ERR_PLAN, "no parts");
    p.count = SPMV_MAX_PARTS + 1;
    cr_assert(library_plan_check(&p, 0, &quiet) == SPMV_ERR_PLAN, "too many");
    p = plan_of("csr+dia");
    cr_assert(library_plan_check(&p, 0, &quiet) == SPMV_OK);
    cr_assert(library_plan_check(&p, 1, &quiet) == SPMV_ERR_STRICT);
    p.part[0].format = SPMV_FORMAT_COUNT;
    cr_assert(library_plan_check(&p, 0, &quiet) == SPMV_ERR_ARGUMENT);
    p = plan_of("csr");
    p.part[0].key[SPMV_KEY_W] = 3;
    cr_assert(library_plan_check(&p, 0, &quiet) == SPMV_ERR_ARGUMENT);
}

/* ---- what parts take: a simulation that follows the definitions ----------------------------------------------------- */

typedef struct taking {
    const matrix *m;
    int      *owner; /* of each nonzero; -1: nobody yet */
    uint64_t *left;  /* of each row */
    uint64_t *list, rows;
} taking;

static void sim_take(taking *t, uint64_t r, uint64_t k, int part)
{
    t->owner[k] = part;
    t->left[r]--;
}

static void sim_list(taking *t, const spmv_spec *s)
{
    uint64_t r, i, sigma = (uint64_t)s->key[SPMV_KEY_SIGMA];
    t->rows = 0;
    for (r = 0; r < t->m->rows; r++)
        if (s->key[SPMV_KEY_ROWS] == SPMV_ROWS_ALL || t->left[r]) t->list[t->rows++] = r;
    if (s->key[SPMV_KEY_ROWS] != SPMV_ROWS_SORTED) return;
    for (r = 1; r < t->rows; r++) /* insertion keeps equal rows in order */
        for (i = r; i; i--) {
            uint64_t a = t->list[i - 1], b = t->list[i];
            if (t->left[a] >= t->left[b] || (sigma && a / sigma != b / sigma)) break;
            t->list[i - 1] = b;
            t->list[i] = a;
        }
}

/* The greatest w for which the first w entries of these rows fill at least the required share. */
static uint64_t sim_width(const taking *t, uint64_t first, uint64_t end, const spmv_spec *s)
{
    uint64_t w, i, longest = 0, best = 0, limit = s->key[SPMV_KEY_W] ? (uint64_t)s->key[SPMV_KEY_W] : UINT64_MAX;
    for (i = first; i < end; i++)
        if (t->left[t->list[i]] > longest) longest = t->left[t->list[i]];
    if (limit > longest) limit = longest;
    if (!s->key[SPMV_KEY_FILL]) return limit;
    for (w = 1; w <= limit; w++) {
        uint64_t held = 0;
        for (i = first; i < end; i++) held += t->left[t->list[i]] < w ? t->left[t->list[i]] : w;
        if (held * 1000000 >= (uint64_t)s->key[SPMV_KEY_FILL] * (end - first) * w) best = w;
    }
    return best;
}

static void sim_ell(taking *t, const spmv_spec *s, int part)
{
    const uint64_t slice = s->key[SPMV_KEY_H] ? (uint64_t)s->key[SPMV_KEY_H] : 32;
    uint64_t h = library_format_takes_key(s->format, SPMV_KEY_H) ? slice : t->rows, first, end, i, k;
    for (first = 0; first < t->rows; first = end) {
        uint64_t w;
        end = first + h < t->rows ? first + h : t->rows;
        w = sim_width(t, first, end, s);
        for (i = first; i < end; i++) {
            uint64_t r = t->list[i], n = 0;
            for (k = t->m->ptr[r]; k < t->m->ptr[r + 1]; k++)
                if (t->owner[k] < 0 && n < w) {
                    sim_take(t, r, k, part);
                    n++;
                }
        }
    }
}

/* Counts the nonzeros without an owner on the diagonal (or in the block) of place (r, c), and the places that it has. */
static void sim_count(const taking *t, const spmv_spec *s, uint64_t r, uint64_t c, uint64_t *held, uint64_t *places)
{
    uint64_t b = s->key[SPMV_KEY_B] ? (uint64_t)s->key[SPMV_KEY_B] : 0x404, bh = b >> 8, bw = b & 255, i, k;
    int diagonal = s->format == SPMV_DIA || s->format == SPMV_BDIA;
    *held = 0;
    *places = diagonal ? 0 : bh * bw;
    for (i = 0; i < t->m->rows; i++) {
        if (diagonal) *places += i + c >= r && i + c - r < t->m->cols;
        else if (i / bh != r / bh) continue;
        for (k = t->m->ptr[i]; k < t->m->ptr[i + 1]; k++)
            *held += t->owner[k] < 0 && (diagonal ? t->m->col[k] + r == c + i : t->m->col[k] / bw == c / bw);
    }
}

/* The number of adjacent diagonals around that of (r, c), in both directions, that are to be taken. */
static uint64_t sim_band(const taking *t, const char *wanted, uint64_t r, uint64_t c)
{
    int64_t offset = (int64_t)c - (int64_t)r, at;
    uint64_t width = 0, i, k;
    int way, found;
    for (way = -1; way < 2; way += 2)
        for (found = 1, at = offset + (way > 0); found; at += way) {
            for (found = 0, i = 0; i < t->m->rows && !found; i++)
                for (k = t->m->ptr[i]; k < t->m->ptr[i + 1] && !found; k++)
                    found = wanted[k] && (int64_t)t->m->col[k] - (int64_t)i == at;
            width += (uint64_t)found;
        }
    return width;
}

static void sim_filled(taking *t, const spmv_spec *s, int part)
{
    char *wanted = (char *)need(t->m->nnz, 1);
    uint64_t r, k, held, places;
    for (r = 0; r < t->m->rows; r++)
        for (k = t->m->ptr[r]; k < t->m->ptr[r + 1]; k++) {
            if (t->owner[k] >= 0) continue;
            sim_count(t, s, r, t->m->col[k], &held, &places);
            wanted[k] = held * 1000000 >= (uint64_t)s->key[SPMV_KEY_D] * places;
        }
    for (r = 0; r < t->m->rows; r++)
        for (k = t->m->ptr[r]; k < t->m->ptr[r + 1]; k++)
            if (wanted[k] && (!s->key[SPMV_KEY_W] || sim_band(t, wanted, r, t->m->col[k]) >= (uint64_t)s->key[SPMV_KEY_W]))
                sim_take(t, r, k, part);
    free(wanted);
}

static void sim_part(taking *t, const spmv_spec *s, int part)
{
    uint64_t r, k;
    if (library_format_takes_key(s->format, SPMV_KEY_FILL)) sim_ell(t, s, part);
    else if (s->key[SPMV_KEY_D] || s->key[SPMV_KEY_W]) sim_filled(t, s, part);
    else
        for (r = 0; r < t->m->rows; r++)
            for (k = t->m->ptr[r]; k < t->m->ptr[r + 1]; k++)
                if (t->owner[k] < 0) sim_take(t, r, k, part);
}

static void sim_open(taking *t, const matrix *m)
{
    uint64_t i;
    t->m = m;
    t->owner = (int *)need(m->nnz, sizeof(int));
    t->left = (uint64_t *)need(m->rows, 8);
    t->list = (uint64_t *)need(m->rows, 8);
    for (i = 0; i < m->nnz; i++) t->owner[i] = -1;
    for (i = 0; i < m->rows; i++) t->left[i] = m->ptr[i + 1] - m->ptr[i];
}

static void sim_close(taking *t)
{
    free(t->owner);
    free(t->left);
    free(t->list);
}

/* The library splits m by this plan as the simulation does: owners, counts and lists of each part. */
static void same_split(const matrix *m, const spmv_csr *a, const spmv_plan *plan)
{
    char text[SPMV_PLAN_TEXT];
    spmv_split split;
    ledger l;
    spmv_hooks h = ledger_hooks(&l);
    taking t;
    uint64_t k, i, left = 0;
    int part;
    spmv_status s;
    spmv_plan_print(plan, text, sizeof text);
    sim_open(&t, m);
    s = spmv_split_create(&split, plan, a, &h);
    for (part = 0; part < plan->count; part++) {
        uint64_t before = 0, after = 0;
        for (i = 0; i < m->rows; i++) before += t.left[i];
        sim_list(&t, &plan->part[part]);
        sim_part(&t, &plan->part[part], part);
        for (i = 0; i < m->rows; i++) after += t.left[i];
        left = after;
        if (s) continue;
        CHECK(split.nnz[part] == before - after, "%s, %s: part %d has %d", m->name, text, part + 1, (int)split.nnz[part]);
        CHECK(split.rows[part] == t.rows, "%s, %s: part %d has %d rows", m->name, text, part + 1, (int)split.rows[part]);
        CHECK(!split.list[part] == (plan->part[part].key[SPMV_KEY_ROWS] == SPMV_ROWS_ALL), "%s, %s: a list", m->name, text);
        for (i = 0; split.list[part] && i < t.rows; i++)
            CHECK(split.list[part][i] == t.list[i], "%s, %s: part %d, row %d of its list", m->name, text, part + 1, (int)i);
    }
    CHECK(s == (left ? SPMV_ERR_INCOMPLETE : SPMV_OK), "%s, %s: %s with %d left", m->name, text, spmv_status_name(s), (int)left);
    if (s) {
        char words[80];
        snprintf(words, sizeof words, "leaves %d of %d nonzeros", (int)left, (int)m->nnz);
        CHECK(strstr(l.text, words) && strstr(l.text, text), "%s: \"%s\"", text, l.text);
    } else {
        for (k = 0; k < m->nnz; k++) {
            int owner = split.owner ? split.owner[k] : 0;
            CHECK(owner == t.owner[k], "%s, %s: nonzero %d is part %d's, not %d's", m->name, text, (int)k, owner + 1, t.owner[k] + 1);
        }
    }
    CHECK(!s || (!split.owner && !split.count), "%s: not zeroed", text);
    spmv_split_destroy(&split);
    CHECK(l.live == 0, "%s: %d blocks left", text, (int)l.live);
    sim_close(&t);
}

static const char *const fixed_plans[] = {
    "csr", "ell:w=3+coo", "ell:fill=0.5+coo", "sell:h=8,fill=0.8+csr:rows=nonempty", "dia:d=0.6+csr", "bdia:d=0.07+coo",
    "dia:d=0.29+csr", "bdia:d=0.57+sell:fill=1+coo", "bell:b=3x3,d=0.777777+csr", "bcsr:b=2x2,d=0.75+bcsr:b=2x2,d=0.25+bcsr:b=2x2",
    "sbell:b=6x6,d=0.25+cmrs:rows=nonempty", "ell:w=1,rows=sorted+ell:w=2,rows=sorted+ell:w=4,rows=sorted,sigma=16+coo",
    "ell:w=2", "dia:d=0.9",
    "sell:h=5,w=2,fill=0.4,rows=sorted,sigma=10+dia:d=0.1+bcsr:d=0.1+csr:rows=sorted,sigma=3",
    "coo+csr", "dia+bdia+ell", "sell:h=3,fill=1", "dia:d=0.3+bcsr:b=2x2,d=0.5+ell:w=2+sell:h=4,fill=0.5+bcsr+coo",
};

/* Diagonals and blocks in which a round share of the places is filled exactly. */
static void matrix_shares(matrix *m, uint64_t n)
{
    uint64_t r, c;
    matrix_open(m, "shares", n, n);
    for (r = 0; r < n; r++) {
        for (c = 0; c < n; c++) {
            uint64_t d = c >= r ? c - r : r - c, i = r < c ? r : c;
            if (i * 100 < (n - d) * (d * 7 % 101)) matrix_add(m, c);
        }
        m->ptr[r + 1] = m->nnz;
    }
    matrix_close(m, INTEGERS);
}

Test(split, follows_the_definitions)
{
    matrix m;
    int i, n, all = 0;
    for (i = 0; matrix_awkward(&m, i, INTEGERS); i++, matrix_free(&m)) {
        spmv_csr a = matrix_csr(&m, SPMV_F64);
        if (m.nnz <= 4000) {
            for (n = 0; n < (int)(sizeof fixed_plans / sizeof *fixed_plans); n++) {
                spmv_plan p = plan_of(fixed_plans[n]);
                same_split(&m, &a, &p);
            }
            for (n = 0; n < (m.nnz < 1500 ? 60 : 10); n++, all++) {
                spmv_plan p = random_plan(5);
                if (n % 10 == 0) p.part[p.count - 1] = random_spec(); /* may leave some nonzeros */
                same_split(&m, &a, &p);
            }
        }
        spmv_csr_destroy(&a);
    }
    cr_assert(all > 500);
}

/* Every share in hundredths, on diagonals of about 100 places: a share that is met exactly suffices. */
Test(split, thresholds_are_exact)
{
    matrix m;
    spmv_csr a;
    int i, share;
    for (i = 0; i < 3; i++) {
        if (i == 0) matrix_shares(&m, 40);
        else matrix_bands(&m, "bands", i == 1 ? 50 : 110, i == 1 ? 100 : 100, -3, 0, 4, 5);
        if (i) matrix_close(&m, INTEGERS);
        a = matrix_csr(&m, SPMV_F64);
        for (share = 1; share <= 100; share += i ? 7 : 9) {
            char text[64];
            spmv_plan p;
            snprintf(text, sizeof text, "%s:d=%d.%02d+csr", share & 1 ? "dia" : "bdia", share / 100, share % 100);
            p = plan_of(text);
            same_split(&m, &a, &p);
        }
        spmv_csr_destroy(&a);
        matrix_free(&m);
    }
    /* a diagonal of 100 places with n entries is taken if d is n / 100, and left if d is a millionth more */
    for (i = 1; i <= 100; i++) {
        uint64_t r;
        char text[64];
        int over;
        matrix_open(&m, "one diagonal", 100, 100);
        for (r = 0; r < 100; r++) {
            if (r < (uint64_t)i) matrix_add(&m, r);
            m.ptr[r + 1] = m.nnz;
        }
        matrix_close(&m, INTEGERS);
        a = matrix_csr(&m, SPMV_F64);
        for (over = 0; over < 2 && i + over <= 100; over++) {
            spmv_plan p;
            spmv_split split;
            snprintf(text, sizeof text, "dia:d=%d.%02d000%d+csr", i / 100, i % 100, over);
            p = plan_of(text);
            CHECK(spmv_split_create(&split, &p, &a, NULL) == SPMV_OK, "%s", text);
            CHECK(split.nnz[0] == (over ? 0 : (uint64_t)i), "%s of %d entries", text, i);
            spmv_split_destroy(&split);
        }
        spmv_csr_destroy(&a);
        matrix_free(&m);
    }
    cr_assert(checks_done > 1000);
}

/* bdia:w= takes bands of at least that many diagonals, whatever diagonals there are at the corners. */
Test(split, thin_bands_are_left)
{
    static const struct { const char *plan; uint64_t taken; } want[] = {
        { "bdia:w=1+csr", 99 + 98 + 100 + 95 + 1 }, { "bdia:w=2+csr", 99 + 98 + 100 }, { "bdia:w=3+csr", 99 + 98 + 100 },
        { "bdia:w=4+csr", 0 }, { "bdia:d=1,w=3+dia:d=1+csr", 99 + 98 + 100 }, { "dia:d=1+bdia:w=1+csr", 99 + 98 + 100 + 95 + 1 } };
    matrix m;
    spmv_csr a;
    uint64_t r;
    size_t i;
    matrix_open(&m, "three side by side, one, a corner", 100, 100);
    for (r = 0; r < 100; r++) { /* offsets -5; 0 to 2; 99 */
        if (r >= 5) matrix_add(&m, r - 5);
        matrix_add(&m, r);
        if (r + 1 < 100) matrix_add(&m, r + 1);
        if (r + 2 < 100) matrix_add(&m, r + 2);
        if (r == 0) matrix_add(&m, 99);
        m.ptr[r + 1] = m.nnz;
    }
    matrix_close(&m, INTEGERS);
    a = matrix_csr(&m, SPMV_F64);
    for (i = 0; i < sizeof want / sizeof *want; i++) {
        spmv_plan p = plan_of(want[i].plan);
        spmv_split s;
        cr_assert_eq(spmv_split_create(&s, &p, &a, NULL), SPMV_OK, "%s", want[i].plan);
        cr_assert_eq(s.nnz[0], want[i].taken, "%s took %u", want[i].plan, (unsigned)s.nnz[0]);
        cr_assert_eq(s.nnz[0] + s.nnz[1] + (p.count > 2 ? s.nnz[2] : 0), m.nnz, "%s", want[i].plan);
        spmv_split_destroy(&s);
    }
    spmv_csr_destroy(&a);
    matrix_free(&m);
}

/* ---- all parts together --------------------------------------------------------------------------------------------- */

static const double factors[] = { 0, 1, -2.5 };

static void store_products(const matrix *m, const spmv_csr *a, const spmv_store *st, const char *text)
{
    spmv_type t = st->type;
    void *x = vector_new(t, m->cols), *y0 = vector_new(t, m->rows);
    unsigned char *block = guarded_new(t, m->rows);
    void *y = block + CANARY;
    uint64_t r;
    int i, j;
    for (r = 0; r < m->cols; r++) vector_set(t, x, r, rng_int());
    for (r = 0; r < m->rows; r++) vector_set(t, y0, r, rng_int());
    for (i = 0; i < 3; i++)
        for (j = 0; j < 3; j++) {
            for (r = 0; r < m->rows; r++) vector_set(t, y, r, factors[j] == 0 ? NAN : vector_get(t, y0, r));
            spmv_store_mul(st, factors[i], x, factors[j], y);
            CHECK(guarded_intact(block, t, m->rows), "%s, %s: canary", m->name, text);
            for (r = 0; r < m->rows; r++) {
                double want = factors[i] * row_product(a, r, t, x) + (factors[j] == 0 ? 0 : factors[j] * vector_get(t, y0, r));
                CHECK(vector_get(t, y, r) == want, "%s, %s, alpha %g, beta %g: y[%d] is %g, not %g", m->name, text,
                      factors[i], factors[j], (int)r, vector_get(t, y, r), want);
            }
        }
    free(x);
    free(y0);
    free(block);
}

/* Parts partition the matrix: together they give the matrix again, and its product. */
static void whole_store(const matrix *m, const spmv_csr *a, const spmv_plan *plan, spmv_type t)
{
    char text[SPMV_PLAN_TEXT];
    spmv_store st;
    spmv_build how;
    spmv_csr back;
    ledger l;
    spmv_hooks h = ledger_hooks(&l);
    uint64_t nnz = 0, bytes = 0, slots = 0;
    const char *diff;
    spmv_status s;
    int i;
    spmv_plan_print(plan, text, sizeof text);
    memset(&how, 0, sizeof how);
    how.type = t;
    how.updatable = (int)(rng() & 1);
    how.max_bytes = 1u << 28;
    s = spmv_store_create(&st, plan, a, &how, &h);
    CHECK(s == SPMV_OK, "%s, %s: %s", m->name, text, l.text);
    for (i = 0; i < st.count; i++) {
        nnz += st.part[i].nnz;
        bytes += spmv_part_bytes(&st.part[i]);
        slots += spmv_part_slots(&st.part[i]);
        CHECK(st.part[i].nnz && (!i || st.part[i].index > st.part[i - 1].index), "%s, %s: part %d", m->name, text, i);
        CHECK(!memcmp(&st.part[i].spec, &plan->part[st.part[i].index], sizeof(spmv_spec)), "%s, %s: spec of part %d", m->name, text, i);
    }
    CHECK(nnz == m->nnz && slots >= nnz, "%s, %s: sums", m->name, text);
    CHECK(bytes == spmv_store_bytes(&st) && slots == spmv_store_slots(&st), "%s, %s: sizes", m->name, text);
    if (st.count) {
        CHECK(spmv_parts_to_csr(&back, m->rows, st.part, (size_t)st.count, &h) == SPMV_OK, "%s, %s: %s", m->name, text, l.text);
        diff = csr_difference(a, &back);
        CHECK(!diff, "%s, %s: %s", m->name, text, diff);
        spmv_csr_destroy(&back);
    }
    store_products(m, a, &st, text);
    CHECK(how.updatable || !m->nnz || spmv_store_update(&st, a) == SPMV_ERR_FIXED, "%s, %s: updated", m->name, text);
    spmv_store_destroy(&st);
    CHECK(l.live == 0, "%s, %s: %d blocks left", m->name, text, (int)l.live);
}

Test(store, parts_partition_and_multiply)
{
    static const char *const plans[] = { "csr:rows=nonempty", "coo", "ell:w=1,rows=sorted+coo", "coo+csr", "dia:d=0.3+coo",
                                         "sell:h=4,w=1,rows=nonempty+csr" };
    static const spmv_type types[] = { SPMV_F64, SPMV_F32, SPMV_MIXED };
    matrix m;
    int i, n;
    for (i = 0; matrix_awkward(&m, i, WITH_ZEROS); i++, matrix_free(&m)) {
        for (n = 0; n < 45 && m.nnz < 9000; n++) {
            spmv_plan p = n < 6 ? plan_of(plans[n]) : random_plan(6);
            spmv_csr a = matrix_csr(&m, types[n % 3]);
            int k;
            for (k = 0; k < p.count; k++) /* slices of 500 rows are only for tests of the grammar */
                if (p.part[k].key[SPMV_KEY_H] > 64) p.part[k].key[SPMV_KEY_H] = 64;
            whole_store(&m, &a, &p, types[n % 3]);
            spmv_csr_destroy(&a);
        }
    }
    cr_assert(checks_done > 50000);
}

Test(store, refusals_name_the_part)
{
    matrix m;
    spmv_csr a;
    spmv_store st;
    spmv_build how;
    ledger l;
    spmv_hooks h = ledger_hooks(&l);
    spmv_plan p = plan_of("ell:w=1+dense");
    CHECK(matrix_awkward(&m, 29, INTEGERS), "matrix");
    a = matrix_csr(&m, SPMV_F64);
    memset(&how, 0, sizeof how);
    how.max_bytes = 20000;
    cr_assert(spmv_store_create(&st, &p, &a, &how, &h) == SPMV_ERR_TOO_LARGE);
    cr_assert(l.messages == 1 && strstr(l.text, "part 2: dense would take "), "%d messages, %s", l.messages, l.text);
    cr_assert(strstr(l.text, "the limit is 20000 bytes") && !st.part && !st.count && l.live == 0, "%s", l.text);
    how.strict = 1;
    h = ledger_hooks(&l);
    cr_assert(spmv_store_create(&st, &p, &a, &how, &h) == SPMV_ERR_STRICT && strstr(l.text, "part 2"), "%s", l.text);
    spmv_csr_destroy(&a);
    matrix_free(&m);
}

Test(store, shares_in_the_papers_notation)
{
    static const uint64_t lengths[] = { 1, 1, 1, 1, 1, 1, 1, 1, 6, 6 };
    static const struct { const char *plan, *shares; } want[] = {
        { "csr", "CSR" }, { "ell:w=1+coo", "ELL(50%)COO(50%)" }, { "ell:w=2+coo", "ELL(60%)COO(40%)" }, { "ell:w=6+coo", "ELL" },
        { "dia:d=1+sell:w=4+csr:rows=nonempty", "DIA(5%)SELL(80%)CSR(15%)" }, { "ell:w=5+cmrs", "ELL(90%)CMRS(10%)" },
    };
    matrix m;
    spmv_csr a;
    size_t i;
    uint64_t r, c;
    matrix_open(&m, "lengths", 10, 10);
    for (r = 0; r < 10; r++) { /* the diagonal in the lower left corner, with a single place, is the only full one */
        for (c = 0; c < lengths[r]; c++) matrix_add(&m, r == 9 ? c : c + 2);
        m.ptr[r + 1] = m.nnz;
    }
    matrix_close(&m, INTEGERS);
    a = matrix_csr(&m, SPMV_F64);
    for (i = 0; i < sizeof want / sizeof *want; i++) {
        char text[64], small[6];
        spmv_plan p = plan_of(want[i].plan);
        spmv_split s;
        CHECK(spmv_split_create(&s, &p, &a, NULL) == SPMV_OK, "%s", want[i].plan);
        CHECK(spmv_split_print(&s, &p, text, sizeof text) == strlen(want[i].shares), "%s: %s", want[i].plan, text);
        CHECK(!strcmp(text, want[i].shares), "%s: %s, not %s", want[i].plan, text, want[i].shares);
        CHECK(spmv_split_print(&s, &p, small, sizeof small) == strlen(text) && !strncmp(small, text, strlen(small)), "cut");
        spmv_split_destroy(&s);
    }
    spmv_csr_destroy(&a);
    matrix_free(&m);
    cr_assert(checks_done >= 20);
}

/* ---- builders ------------------------------------------------------------------------------------------------------ */

/* A matrix with given row lengths; for builders it does not matter where the entries are. */
static void matrix_lengths(matrix *m, uint64_t rows, int shape)
{
    uint64_t r, c, longest = 1 + rng_below(40);
    matrix_open(m, "lengths", rows, 64);
    for (r = 0; r < rows; r++) {
        uint64_t n = 0;
        double u = rng_unit();
        switch (shape) {
        case 0: n = rng_below(longest + 1); break;
        case 1: n = (uint64_t)((double)longest * u * u * u * u); break;
        case 2: n = rng_below(20) ? 3 : longest; break;
        case 3: n = longest; break;
        case 4: n = rng_below(3) == 0 ? 1 + rng_below(4) : 0; break;
        case 5: n = (uint64_t)(1 / (u * 1.2 + 0.02)); break;
        default: n = r * longest / rows; break;
        }
        for (c = 0; c < n && c < 64; c++) matrix_add(m, c);
        m->ptr[r + 1] = m->nnz;
    }
    matrix_close(m, INTEGERS);
}

static uint64_t *lengths_of(const matrix *m)
{
    uint64_t *left = (uint64_t *)need(m->rows, 8), r;
    for (r = 0; r < m->rows; r++) left[r] = m->ptr[r + 1] - m->ptr[r];
    return left;
}

static uint64_t rows_with(const uint64_t *left, uint64_t rows, uint64_t k)
{
    uint64_t r, n = 0;
    for (r = 0; r < rows; r++) n += left[r] >= k;
    return n;
}

static uint64_t total(const uint64_t *left, uint64_t rows, uint64_t most)
{
    uint64_t r, n = 0;
    for (r = 0; r < rows; r++) n += left[r] < most ? left[r] : most;
    return n;
}

/* The width K that Xu's method gives when M rows are left, with the key rows=. */
static uint64_t choose_k(const uint64_t *left, uint64_t rows, uint64_t m_rows, int method, uint64_t key)
{
    uint64_t k = 0, all = total(left, rows, UINT64_MAX);
    switch (method) {
    case 1:
        for (;; k++) {
            uint64_t reach = rows_with(left, rows, k + 1);
            if (!reach || reach < key || reach * 3 < m_rows) return k;
        }
    case 2: return all / m_rows;
    case 4: return all / m_rows + 1;
    default:
        while (rows_with(left, rows, k + 1) && total(left, rows, k + 1) * 3 > m_rows * (k + 1)) k++;
        return k;
    }
}

static void append(char *out, size_t size, const char *part)
{
    size_t n = strlen(out);
    snprintf(out + n, size - n, "%s%s", n ? "+" : "", part);
}

static void expect_plan(const matrix *m, const char *text, const spmv_build_hints *hints, const char *want)
{
    spmv_csr a = matrix_csr(m, SPMV_F64);
    spmv_plan p;
    char got[SPMV_PLAN_TEXT];
    int column = 5;
    ledger l;
    spmv_hooks h = ledger_hooks(&l);
    spmv_status s = spmv_plan_make(&p, text, &a, hints, &column, &h);
    CHECK(s == SPMV_OK && column == 0, "%s: %s, %s", text, spmv_status_name(s), l.text);
    spmv_plan_print(&p, got, sizeof got);
    CHECK(!strcmp(got, want), "%s on %d rows, %d nonzeros: %s, not %s", text, (int)m->rows, (int)m->nnz, got, want);
    CHECK(library_plan_check(&p, 0, &h) == SPMV_OK && l.live == 0, "%s", got);
    if (m->rows < 3000) {
        spmv_split split;
        CHECK(spmv_split_create(&split, &p, &a, &h) == SPMV_OK, "%s does not cover", got);
        spmv_split_destroy(&split);
    }
    spmv_csr_destroy(&a);
}

static void check_hyb(const matrix *m, uint64_t key, int preset)
{
    uint64_t *left = lengths_of(m), k = choose_k(left, m->rows, m->rows, 1, key), longest = 0, r;
    char want[64] = "", text[64], with_csr[64];
    for (r = 0; r < m->rows; r++)
        if (left[r] > longest) longest = left[r];
    if (k && k < longest) snprintf(want, sizeof want, "ell:w=%d", (int)k);
    else if (k) snprintf(want, sizeof want, "ell");
    memcpy(with_csr, want, sizeof want);
    if (!k || k < longest) append(want, sizeof want, "coo");
    if (!k || k < longest) append(with_csr, sizeof with_csr, "csr:rows=nonempty");
    snprintf(text, sizeof text, preset ? "hyb" : "hyb:rows=%d", (int)key);
    expect_plan(m, text, NULL, want);
    snprintf(text, sizeof text, preset ? "hyb-csr" : "hyb-csr : rows = %d", (int)key);
    expect_plan(m, text, NULL, with_csr);
    free(left);
}

Test(builder, hyb_follows_bell_and_garland)
{
    static const uint64_t rows[] = { 4000, 4096, 4097, 9000, 12288, 12289, 20000 };
    matrix m;
    int i, shape;
    for (i = 0; i < 7; i++)
        for (shape = 0; shape < 7; shape++) {
            matrix_lengths(&m, rows[i], shape);
            check_hyb(&m, 4096, 1);
            check_hyb(&m, 1000, 0);
            matrix_free(&m);
        }
    for (i = 0; i < 300; i++) {
        matrix_lengths(&m, rng_below(200), i % 7);
        check_hyb(&m, rng_below(4) ? rng_below(60) : 0, 0);
        matrix_free(&m);
    }
    for (i = 0; matrix_awkward(&m, i, INTEGERS); i++, matrix_free(&m)) check_hyb(&m, rng_below(10), 0);
    cr_assert(checks_done > 2000);
}

/* Exactly 4096 rows, and exactly a third of the rows, are enough; one row less is not. */
Test(builder, hyb_at_its_thresholds)
{
    static const struct { uint64_t rows, reach; const char *want; } cases[] = {
        { 5000, 4096, "ell:w=1+coo" }, { 5000, 4095, "coo" }, { 15000, 5000, "ell:w=1+coo" }, { 15000, 4999, "coo" },
        { 15001, 5000, "coo" }, { 15001, 5001, "ell:w=1+coo" }, { 4095, 4095, "coo" }, { 4096, 4096, "ell:w=1+coo" },
    };
    size_t i;
    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        matrix m;
        uint64_t r;
        matrix_open(&m, "threshold", cases[i].rows, 4);
        for (r = 0; r < cases[i].rows; r++) {
            if (r < cases[i].reach) matrix_add(&m, 0);
            if (r < 10) matrix_add(&m, 1);
            m.ptr[r + 1] = m.nnz;
        }
        matrix_close(&m, INTEGERS);
        expect_plan(&m, "hyb", NULL, cases[i].want);
        matrix_free(&m);
    }
    cr_assert(checks_done > 20);
}

/* Xu's loop on the row lengths. x is in millionths of a percent; with most 0, the number of levels is not limited. */
static void simulate_hybr(const matrix *m, int method, uint64_t x, uint64_t key, int most, const uint64_t *given, char *want, size_t size)
{
    uint64_t *left = lengths_of(m), k[SPMV_MAX_PARTS], rows = m->rows, r;
    int levels = 0, i;
    if (!most || most > SPMV_MAX_PARTS - 1) most = SPMV_MAX_PARTS - 1;
    while (levels < most && total(left, m->rows, UINT64_MAX)) {
        uint64_t rest = total(left, m->rows, UINT64_MAX), longest = 0;
        if (levels && (rest * 100000000 < x * m->nnz || rows < key)) break;
        for (r = 0; r < m->rows; r++)
            if (left[r] > longest) longest = left[r];
        k[levels] = given ? (given[levels] < longest ? given[levels] : longest) : choose_k(left, m->rows, rows, method, key);
        if (!k[levels]) break;
        for (r = 0; r < m->rows; r++) left[r] -= left[r] < k[levels] ? left[r] : k[levels];
        rows = rows_with(left, m->rows, 1);
        levels++;
    }
    want[0] = 0;
    for (i = 0; i < levels; i++) {
        char part[48], width[24] = "";
        int last = i + 1 == levels && !rows;
        if (!last) snprintf(width, sizeof width, "w=%d", (int)k[i]);
        snprintf(part, sizeof part, "ell%s%s%s%s", last && !i ? "" : ":", width, i && !last ? "," : "", i ? "rows=nonempty" : "");
        append(want, size, part);
    }
    if (rows_with(left, m->rows, 1) || !levels) append(want, size, "coo");
    free(left);
}

static void check_hybr(const matrix *m, int method, int hundredths, uint64_t key, int most)
{
    char want[SPMV_PLAN_TEXT], text[96];
    simulate_hybr(m, method, (uint64_t)hundredths * 10000, key, most, NULL, want, sizeof want);
    snprintf(text, sizeof text, "hybr:k=%d,x=%d.%02d,rows=%d,levels=%d", method, hundredths / 100, hundredths % 100, (int)key, most);
    expect_plan(m, text, NULL, want);
    if (method == 1 && hundredths == 50 && key == 4096 && !most) expect_plan(m, "hybr", NULL, want);
}

Test(builder, hybr_follows_xu)
{
    static const int methods[] = { 1, 2, 3, 4 };
    matrix m;
    int i, j, shape;
    for (shape = 0; shape < 7; shape++) {
        matrix_lengths(&m, 14000, shape);
        for (j = 0; j < 4; j++) {
            check_hybr(&m, methods[j], 50, 4096, 0);
            check_hybr(&m, methods[j], 0, 100, 0);
            check_hybr(&m, methods[j], 1000, 1, 2);
        }
        matrix_free(&m);
    }
    for (i = 0; i < 600; i++) {
        matrix_lengths(&m, rng_below(150), i % 7);
        for (j = 0; j < 4; j++)
            check_hybr(&m, methods[j], (int)rng_below(rng() & 1 ? 3000 : 30), rng_below(20), (int)rng_below(5));
        matrix_free(&m);
    }
    for (i = 0; matrix_awkward(&m, i, INTEGERS); i++, matrix_free(&m))
        for (j = 0; j < 4; j++) check_hybr(&m, methods[j], 50, 1 + rng_below(5), 0);
    cr_assert(checks_done > 5000);
}

/* The first level is always tried; the second only while X percent of the nonzeros and enough rows are left. */
Test(builder, hybr_stops)
{
    matrix m;
    uint64_t r, c;
    matrix_open(&m, "stops", 1000, 10);
    for (r = 0; r < 1000; r++) { /* 1000 rows of at least 7, 7 of them of 8: 7007 nonzeros */
        for (c = 0; c < (r < 7 ? 8u : 7u); c++) matrix_add(&m, c);
        m.ptr[r + 1] = m.nnz;
    }
    matrix_close(&m, INTEGERS);
    expect_plan(&m, "hybr:rows=7,x=0.1", NULL, "ell:w=7+coo");            /* 7 < 7.007 */
    expect_plan(&m, "hybr:rows=7,x=0.0999", NULL, "ell:w=7+ell:rows=nonempty"); /* 7 >= 7.0000 - */
    expect_plan(&m, "hybr:rows=8,x=0.0999", NULL, "ell:w=7+coo");
    expect_plan(&m, "hybr:rows=7,x=0", NULL, "ell:w=7+ell:rows=nonempty");
    expect_plan(&m, "hybr:rows=7,x=0,levels=1", NULL, "ell:w=7+coo");
    expect_plan(&m, "hybr:rows=1001", NULL, "coo");
    expect_plan(&m, "hybr:rows=1001,k=2", NULL, "ell:w=7+coo");
    expect_plan(&m, "hybr:rows=0,k=4", NULL, "ell");
    expect_plan(&m, "hybr:rows=7,x=0,levels=4294967296", NULL, "ell:w=7+ell:rows=nonempty");
    expect_plan(&m, "hybr:rows=7,x=0,levels=2147483648", NULL, "ell:w=7+ell:rows=nonempty");
    expect_plan(&m, "hybr:rows=7,x=100", NULL, "ell:w=7+coo");
    matrix_free(&m);
    cr_assert(checks_done > 20);
}

/* Xu's second method tries two widths: of rows of 39 nonzeros, as QCD has them, 39 and 40. Here the mean is 3. */
Test(builder, hybr_above_an_integral_mean)
{
    matrix m;
    uint64_t r, c;
    matrix_open(&m, "2 and 4", 100, 10);
    for (r = 0; r < 100; r++) {
        for (c = 0; c < (r % 2 ? 2u : r % 4 ? 3u : 5u); c++) matrix_add(&m, c);
        m.ptr[r + 1] = m.nnz;
    }
    matrix_close(&m, INTEGERS);
    expect_plan(&m, "hybr:rows=0,x=50,k=2", NULL, "ell:w=3+coo");
    expect_plan(&m, "hybr:rows=0,x=50,k=4", NULL, "ell:w=4+coo");
    matrix_free(&m);
}

/* Exactly X percent are left: that is not less than X, so the split goes on. */
Test(builder, hybr_percent_is_exact)
{
    int percent;
    for (percent = 1; percent < 50; percent++) {
        matrix m;
        uint64_t r;
        char text[64];
        matrix_open(&m, "percent", 100 - (uint64_t)percent, 2);
        for (r = 0; r < m.rows; r++) {
            matrix_add(&m, 0);
            if (r < (uint64_t)percent) matrix_add(&m, 1);
            m.ptr[r + 1] = m.nnz;
        }
        matrix_close(&m, INTEGERS);
        snprintf(text, sizeof text, "hybr:k=2,rows=0,x=%d", percent);
        expect_plan(&m, text, NULL, "ell:w=1+ell:rows=nonempty");
        snprintf(text, sizeof text, "hybr:k=2,rows=0,x=%d.000001", percent);
        expect_plan(&m, text, NULL, "ell:w=1+coo");
        matrix_free(&m);
    }
    cr_assert(checks_done > 50);
}

/* A clock with a known optimum: the nearer the width of the last level is to its target, the faster is the plan. */
typedef struct fake_clock {
    uint64_t target[SPMV_MAX_PARTS], longest;
    int calls, broken_above; /* widths above this cannot run; 0: all can */
    int faults;
} fake_clock;

static double fake_time(void *user, const spmv_plan *plan, const char *variant)
{
    fake_clock *c = (fake_clock *)user;
    uint64_t before = 0, w;
    int level = 0, i;
    c->calls++;
    c->faults += library_plan_check(plan, 0, NULL) != SPMV_OK || variant[0];
    for (i = 0; i < plan->count; i++)
        if (plan->part[i].format == SPMV_ELL) level = i;
    for (i = 0; i < level; i++) before += (uint64_t)plan->part[i].key[SPMV_KEY_W];
    w = (uint64_t)plan->part[level].key[SPMV_KEY_W];
    if (!w) w = c->longest - before; /* the last level takes all that is left */
    if (c->broken_above && w > (uint64_t)c->broken_above) return -1;
    return 1 + (w > c->target[level] ? (double)(w - c->target[level]) : (double)(c->target[level] - w));
}

Test(builder, hybr_by_measurement)
{
    matrix m;
    int i, j, two = 0;
    for (i = 0; i < 200; i++) {
        char want[SPMV_PLAN_TEXT];
        spmv_build_hints hints;
        fake_clock clock;
        uint64_t r;
        memset(&clock, 0, sizeof clock);
        matrix_lengths(&m, 1 + rng_below(150), i % 7);
        for (j = 0; j < SPMV_MAX_PARTS; j++) clock.target[j] = 1 + rng_below(12);
        for (r = 0; r < m.rows; r++)
            if (m.ptr[r + 1] - m.ptr[r] > clock.longest) clock.longest = m.ptr[r + 1] - m.ptr[r];
        hints.measure = fake_time;
        hints.measure_user = &clock;
        simulate_hybr(&m, 0, 0, 1, 5, clock.target, want, sizeof want);
        expect_plan(&m, "hybr:k=0,x=0,rows=1,levels=5", &hints, want);
        two += strstr(want, "+ell") != NULL;
        CHECK(!clock.faults && (!m.nnz || clock.calls >= (int)clock.longest), "%d calls", clock.calls);
        clock.broken_above = 2;
        for (j = 0; j < SPMV_MAX_PARTS; j++) clock.target[j] = 2;
        simulate_hybr(&m, 0, 0, 1, 3, clock.target, want, sizeof want);
        expect_plan(&m, "hybr:k=0,x=0,rows=1,levels=3", &hints, want);
        matrix_free(&m);
    }
    cr_assert(two > 50);
}

static double cannot_run(void *user, const spmv_plan *plan, const char *variant)
{
    (void)user;
    (void)plan;
    (void)variant;
    return -1;
}

Test(builder, hybr_measurement_needs_a_clock)
{
    matrix m;
    spmv_csr a;
    spmv_plan p;
    spmv_build_hints none, never;
    int column = 9;
    memset(&none, 0, sizeof none);
    memset(&never, 0, sizeof never);
    never.measure = cannot_run;
    CHECK(matrix_awkward(&m, 29, INTEGERS), "matrix");
    a = matrix_csr(&m, SPMV_F64);
    cr_assert(spmv_plan_make(&p, "hybr:k=0", &a, NULL, &column, &quiet) == SPMV_ERR_ARGUMENT && column == 0);
    cr_assert(spmv_plan_make(&p, "hybr:k=0", &a, &none, &column, &quiet) == SPMV_ERR_ARGUMENT && p.count == 0);
    expect_plan(&m, "hybr:k=0", &never, "coo");
    spmv_csr_destroy(&a);
    matrix_free(&m);
}

/* A matrix with n nonzeros in each of 48 rows. */
static void even_rows(matrix *m, uint64_t n)
{
    uint64_t r, c;
    matrix_open(m, "even", 48, 300);
    for (r = 0; r < 48; r++) {
        for (c = 0; c < n; c++) matrix_add(m, c);
        m->ptr[r + 1] = m->nnz;
    }
    matrix_close(m, INTEGERS);
}

/* The strip height that needs the fewest bytes, in sectors of 8 columns; a greater height must save 5%. */
Test(builder, cmrs_height_by_bytes)
{
    static const struct {
        uint64_t n;
        const char *want;
    } cases[] = {
        { 0, "cmrs:h=16" }, { 1, "cmrs:h=8" }, { 2, "cmrs:h=4" }, { 4, "cmrs:h=2" }, { 8, "cmrs:h=2" }, { 12, "cmrs:h=2" },
        { 64, "cmrs:h=2" }, { 288, "cmrs:h=2" },
        { 3, "cmrs:h=8" },  /* slots of 2, 4, 8 and 16 rows: 8, 16, 24, 48 */
        { 5, "cmrs:h=8" },  /* 16, 24, 40, 80 */
        { 6, "cmrs:h=4" },  /* 16, 24, 48, 96 */
        { 9, "cmrs:h=8" },  /* 24, 40, 72, 144 */
        { 33, "cmrs:h=4" }, /* 72, 136, 264, 528 */
        { 39, "cmrs:h=2" }, /* 80, 160, 312, 624 */
    };
    size_t i;
    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        matrix m;
        even_rows(&m, cases[i].n);
        expect_plan(&m, "cmrs", NULL, cases[i].want);
        expect_plan(&m, " cmrs ", NULL, cases[i].want);
        expect_plan(&m, "cmrs:h=8", NULL, "cmrs:h=8"); /* with keys, the name is that of the format */
        expect_plan(&m, "cmrs:sort=1", NULL, "cmrs:sort=1");
        expect_plan(&m, "cmrs+coo", NULL, "cmrs+coo");
        expect_plan(&m, "coo+cmrs", NULL, "coo+cmrs");
        matrix_free(&m);
    }
    cr_assert(checks_done > 60);
}

/* A clock for which one height is the fastest, and which records the heights that it was given. */
typedef struct height_clock {
    int64_t best;
    int     asked, seen; /* bits of heights */
} height_clock;

static double height_time(void *user, const spmv_plan *plan, const char *variant)
{
    height_clock *c = (height_clock *)user;
    int64_t h = plan->part[0].key[SPMV_KEY_H];
    c->asked++;
    if (plan->count == 1 && plan->part[0].format == SPMV_CMRS && !*variant) c->seen |= (int)h;
    return c->best ? h == c->best ? 1e-6 : 2e-6 : -1;
}

/* Koza et al. 5.2: heights 2, 4, 8 and 16 are measured. If none of them can run, bytes decide. */
Test(builder, cmrs_height_by_clock)
{
    int64_t best;
    matrix m;
    even_rows(&m, 33);
    for (best = 0; best <= 16; best = best ? 2 * best : 2) {
        char want[16];
        height_clock c = { best, 0, 0 };
        spmv_build_hints hints;
        memset(&hints, 0, sizeof hints);
        hints.measure = height_time;
        hints.measure_user = &c;
        snprintf(want, sizeof want, "cmrs:h=%d", best ? (int)best : 4);
        expect_plan(&m, "cmrs", &hints, want);
        cr_assert(c.asked == 4 && c.seen == (2 | 4 | 8 | 16), "asked %d times, of heights %x", c.asked, (unsigned)c.seen);
    }
    matrix_free(&m);
}

Test(builder, faults_point_at_their_column)
{
    static const bad_text bad[] = {
        { "hyb:", 5, "key" }, { "hyb:w=5", 5, "no such key; hyb has rows" }, { "hyb:rows", 9, "\"=\"" },
        { "hyb:rows=", 10, "whole number" },
        { "hyb:rows=x", 10, "whole number" }, { "hyb:rows=4,", 12, "key" }, { "hyb+coo", 4, "end" }, { "hyb coo", 5, "end" },
        { "hyb:x=0.5", 5, "no such key" }, { "hyb-csr:k=1", 9, "no such key" },
        { "hybr:z=1", 6, "no such key; hybr has rows, x, k, levels" }, { "hybr:k=5", 8, "0 .. 4" },
        { "hybr:x=101", 8, "100 percent" },
        { "hybr:x=0.5%", 11, "end" }, { "hybr:k=1,x=", 12, "fraction" }, { "hybr:levels=-1", 13, "whole number" },
        { "hybrid", 1, "format: dense, coo," }, { " hybrid", 2, "builder: hyb, hyb-csr, hybr, cmrs" },
        { "HYB", 1, "format" }, { "coo+hyb", 5, "format" }, { "", 1, "format" }, { "cmrs:k=1", 6, "key" }, { "cmrs hyb", 6, "end" },
        { "hybr:k=1,k=2", 10, "twice" }, { "hyb:rows=00000000000000000000000000000000000000000001", 10, "whole number" },
    };
    matrix m;
    spmv_csr a;
    size_t i;
    CHECK(matrix_awkward(&m, 20, INTEGERS), "matrix");
    a = matrix_csr(&m, SPMV_F64);
    for (i = 0; i < sizeof bad / sizeof *bad; i++) {
        ledger l;
        spmv_hooks h = ledger_hooks(&l);
        spmv_plan p;
        int column = -1;
        spmv_status s;
        memset(&p, 0x55, sizeof p);
        s = spmv_plan_make(&p, bad[i].text, &a, NULL, &column, &h);
        CHECK(s == SPMV_ERR_PLAN && l.messages == 1, "\"%s\": %s", bad[i].text, spmv_status_name(s));
        CHECK(column == bad[i].column, "\"%s\": column %d, not %d (%s)", bad[i].text, column, bad[i].column, l.text);
        CHECK(strstr(l.text, bad[i].words), "\"%s\": \"%s\" lacks \"%s\"", bad[i].text, l.text, bad[i].words);
        CHECK(p.count == 0, "\"%s\": not zeroed", bad[i].text);
    }
    spmv_csr_destroy(&a);
    matrix_free(&m);
    cr_assert(checks_done > 80);
}

Test(builder, names)
{
    int i;
    for (i = 0; i < SPMV_BUILDER_COUNT; i++) cr_assert(*spmv_builder_name((spmv_builder)i));
    cr_assert(!strcmp(spmv_builder_name(SPMV_BUILDER_HYB_CSR), "hyb-csr"));
    cr_assert(!strcmp(spmv_builder_name((spmv_builder)99), "unknown"));
}

/* ---- every allocation fails once ----------------------------------------------------------------------------------- */

static long faults;

static spmv_status try_plan(const spmv_csr *a, const char *text, int step, const spmv_hooks *h)
{
    spmv_plan p;
    spmv_split split;
    spmv_store st;
    spmv_build how;
    spmv_status s;
    memset(&how, 0, sizeof how);
    how.max_bytes = 1u << 28;
    how.updatable = step == 3;
    if (step == 0) {
        s = spmv_plan_make(&p, text, a, NULL, NULL, h);
        CHECK(!s || !p.count, "%s: not zeroed", text);
        return s;
    }
    CHECK(spmv_plan_make(&p, text, a, NULL, NULL, &quiet) == SPMV_OK, "%s", text);
    if (step == 1) {
        s = spmv_split_create(&split, &p, a, h);
        CHECK(!s || (!split.count && !split.owner), "%s: not zeroed", text);
        spmv_split_destroy(&split);
    } else {
        s = spmv_store_create(&st, &p, a, &how, h);
        CHECK(!s || (!st.count && !st.part && !st.rows), "%s: not zeroed", text);
        spmv_store_destroy(&st);
    }
    return s;
}

Test(memory, every_request_fails)
{
    static const char *const builders[] = { "hyb:rows=1", "hyb-csr:rows=1", "hybr:rows=1,x=0", "cmrs" };
    matrix m;
    spmv_csr a;
    int i, step, ever;
    CHECK(matrix_awkward(&m, 20, WITH_ZEROS), "matrix");
    a = matrix_csr(&m, SPMV_F64);
    for (i = 0; i < 60; i++) {
        char text[SPMV_PLAN_TEXT];
        spmv_plan p = random_plan(5);
        spmv_plan_print(&p, text, sizeof text);
        if (i < 4) snprintf(text, sizeof text, "%s", builders[i]);
        for (step = 0; step < 4; step++)
            for (ever = 0; ever < 2; ever++) {
                long n;
                for (n = 1; n < 1000; n++) {
                    ledger l;
                    spmv_hooks h = ledger_hooks(&l);
                    spmv_status s;
                    l.fail_at = n;
                    l.fail_for_ever = ever;
                    s = try_plan(&a, text, step, &h);
                    CHECK(l.live == 0, "%s, step %d, request %d: %d blocks left", text, step, (int)n, (int)l.live);
                    if (!s) {
                        CHECK(l.calls < n, "%s: request %d failed unnoticed", text, (int)n);
                        break;
                    }
                    CHECK(s == SPMV_ERR_MEMORY && l.last == s, "%s, request %d: %s", text, (int)n, spmv_status_name(s));
                    faults++;
                }
                CHECK(n < 1000, "%s never succeeds", text);
            }
    }
    spmv_csr_destroy(&a);
    matrix_free(&m);
    cr_assert(faults > 1000, "%ld faults", faults);
}
