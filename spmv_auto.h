/* SPDX-License-Identifier: MIT
 *
 * spmv_auto.h - the library chooses the plan: "auto", which goes by estimates, and "cocktail", which goes by the policies of
 * spmv_cocktail.h.
 *
 * spmv_create of spmv.h calls spmv_choose, so most programs need neither function of this header. "auto" compares plans by the estimate of
 * spmv_cost.h, which goes by tuning tables (spmv_table.h) and by the features of the matrix (spmv_features.h).
 *
 * If you only want the interface, stop at "END OF THE INTERFACE".
 */
/* Above the guard: the bodies may be wanted although the interface was seen. What is complete is not read again. */
#if !defined(SPMV_COCKTAIL_H) || (defined(SPMV_IMPLEMENTATION) && !defined(SPMV_COCKTAIL_IMPLEMENTED))
#include "spmv_cocktail.h"
#endif
#if !defined(SPMV_COST_H) || (defined(SPMV_IMPLEMENTATION) && !defined(SPMV_COST_IMPLEMENTED))
#include "spmv_cost.h"
#endif
#ifndef SPMV_AUTO_H
#define SPMV_AUTO_H

#ifdef __cplusplus
extern "C" {
#endif

/* ---- the choice --------------------------------------------------------------------------------------------------- */

enum {
    SPMV_CHOICE_TEXT = 512, /* bytes of the text of an option's plan or variant, with its end; a plan with a longer one is no option.
                               Eight panels of any layout of a table fit: sell:h=32,rows=sorted,sigma=1024,idx=16,cols=4294967295 has
                               55 characters. */
    SPMV_CHOICE_MAX  = 24   /* the most options that a choice keeps */
};

/* Matrices of up to so many bytes as CSR are tiny: except on GPUs, "auto" takes csr without looking at them. Half of 32 KiB, the smallest
 * first-level cache in use, so that the matrix stays there together with x and y. On a host, with banded, blocked, scattered and uneven
 * matrices of 4 to 32 KiB, a choice took 400 us, as long as 700 products of csr, and found nothing that was more than 3% faster than csr.
 * On an H100 the best plans of such matrices were up to 1.5 times as fast as csr (arc130, lagraph_* in
 * bench/results/nvidia-h100-plans.txt), and csr waits for memory the longer, the longer a row is. On GPUs, small matrices therefore cost a
 * choice each, unless a plan is given. Where fewer products than SPMV_EXPECTED_CALLS are expected, the limit grows in proportion; below
 * SPMV_FEW_CALLS there is none, because even where a choice gained most, it and the conversion took as long as 40 products. */
enum { SPMV_TINY_BYTES = 16384, SPMV_FEW_CALLS = 20 };

/* A plan with the knobs of its kernels, and what it would cost. */
typedef struct spmv_option {
    char   plan[SPMV_CHOICE_TEXT], variant[SPMV_CHOICE_TEXT];
    double predicted;  /* seconds of a product by the tuning table; where base of spmv_choice is known, corrected by it */
    double measured;   /* seconds of a product by a clock (spmv_verify, refine); 0: not measured, negative: it cannot run */
    double convert;    /* seconds of preparing the matrix, without the choice and without building kernels, as the table says; where base
                          of spmv_choice is known, corrected by it */
    double cost;       /* seconds by which options are ranked: the predicted time; as much of it more for each part after the first as the
                          table's estimates err for structures that were left out (a table without fits: 15%, not on GPUs 50%); 10% more
                          for all but csr (on devices, csr without keys) where the table is of another processor (hosts: always); and the
                          share of convert that falls on each of hints->expected_calls products */
    int    sampled;    /* 1: its blocks or diagonals were estimated from a sample; 0: its slots were counted, as they are of an option
                          that ranks first, apart from blocks where csr was measured, or where an error of the sample would hardly
                          change the choice */
} spmv_option;

typedef struct spmv_choice {
    spmv_plan     plan;                      /* the plan that was chosen */
    char          variant[SPMV_CHOICE_TEXT]; /* its knobs, for spmv_desc.variant */
    int           count;                     /* options, the best first; 0 if the plan was given as text, by tiny, or without nonzeros */
    int           tiny;                      /* 1: the matrix takes up to SPMV_TINY_BYTES, 2: so few products are expected that the same
                                                holds (SPMV_FEW_CALLS), and the target is no GPU, so that the plan is csr and nothing was
                                                compared; a matrix without nonzeros is tiny on GPUs as well */
    spmv_option   option[SPMV_CHOICE_MAX];
    spmv_features features;                  /* cocktail: only the numbers of rows, columns and nonzeros */
    double        base;                      /* seconds of a product of csr by the clock, known before the choice: spmv_create measures
                                                them on hosts (spmv_verify); else 0 */
    double        csr;                       /* base, or else the predicted seconds of a product of the fastest csr with columns of
                                                32 bits */
    double        convert_csr;               /* seconds of preparing csr without keys, as convert of spmv_option */
    double        build;                     /* seconds of building the kernels of an option, as the table says; on the host 0 */
    double        call;                      /* seconds of the smallest product if the host launches each, as the table says; then a
                                                product may take longer than predicted. 0: not known, or predictions contain launches */
    double        slow;                      /* seconds by the clock of the first choice, if they were so many that csr was measured as
                                                well (spmv_verify); else 0 */
    double        error;                     /* of the predictions, as the table says: the standard deviation of log2 of predicted over
                                                measured times */
    double        alike[SPMV_ALIKE_COUNT];   /* the correlations of these errors, as the table says */
    double        convert_times;             /* how many times as long as expected conversions took that were timed on a host; 0: none */
    int           rivals;                    /* options that were measured beside the first or, on a host, beside csr (spmv_verify) */
    char          steps[SPMV_COCKTAIL_TEXT]; /* cocktail: every inequality that was evaluated; "": the plan is not by cocktail */
    char          table[SPMV_TUNE_NAME];     /* the device whose table was used */
    int           exact;                     /* 1: the table is the device's own or the caller's; 0: of another device or the general one */
} spmv_choice;

/* Chooses a plan and the knobs of its kernels.
 *   out     the choice, with all options and their estimates; on failure it is zeroed
 *   text    "auto" or NULL: every format competes; "cocktail": the policies of clSpMV (spmv_cocktail.h), by the table's rates of banded
 *           matrices, which make one plan; it may have keys. Any other text goes to spmv_plan_make
 *   a       the matrix
 *   how     how it will be stored: type, strict, reproducible and max_bytes count
 *   target  where products will run; NULL: on the host
 *   hints   may be NULL: nothing is measured, conversion costs nothing, the bundled table is used
 *   column  as in spmv_plan_make; may be NULL
 *   hooks   may be NULL
 * For a tiny matrix, or few products (SPMV_FEW_CALLS), "auto" is csr and no table is read, unless the target is a GPU or the hints have a
 * table or a clock with refine, or exclude csr.
 * SPMV_ERR_MEMORY; SPMV_ERR_PLAN for unknown keys of cocktail; for other texts the statuses of spmv_plan_make. */
SPMV_API spmv_status spmv_choose(spmv_choice *out, const char *text, const spmv_csr *a, const spmv_build *how, const spmv_target *target,
                                 const spmv_build_hints *hints, int *column, const spmv_hooks *hooks);
/* Writes why a plan was chosen: the features of the matrix, a table of the options with their estimates, the least cost first and the
 * chosen one marked, and a sentence with the reason; for "cocktail" every inequality with its numbers. As snprintf does, it returns the
 * length of the whole text without its end, of which at most size bytes, a 0 at the end included, are written. */
SPMV_API size_t spmv_explain(const spmv_choice *c, char *out, size_t size);

#ifdef __cplusplus
}
#endif
#endif /* SPMV_AUTO_H */
/* ============================================ END OF THE INTERFACE ============================================== */

#if defined(SPMV_IMPLEMENTATION) && !defined(SPMV_AUTO_IMPLEMENTED)
#define SPMV_AUTO_IMPLEMENTED

typedef struct spmv__chooser {
    spmv__estimator         e;
    const spmv_build_hints *hints;
    spmv_choice            *out;  /* its plan, which is large, is also the place for every plan that is looked at */
    double                  flat; /* the least predicted seconds of a flat format for the whole matrix */
    double                  least; /* the same if padded formats, with their rows in order, needed no padding: hardly any plan of several
                                      flat parts takes less */
} spmv__chooser;

/* ---- options -------------------------------------------------------------------------------------------------------- */

/* The most parts of a plan that is an option. Structures with SPMV_MAX_PARTS take 6 KB, and one is copied for every candidate. */
enum { SPMV__MIX_PARTS = 12 };

/* A plan that is being put together, with its variants and what it costs. */
typedef struct spmv__mix {
    int         count;
    spmv_spec   part[SPMV__MIX_PARTS];
    const char *variant[SPMV__MIX_PARTS];
    double      seconds, convert; /* of a product; of preparing the matrix */
    int         sampled;          /* 1: the size of a part was estimated from a sample */
    int         alike;            /* 1: all parts are panels that are stored alike */
} spmv__mix;

/* How many times as long a later part takes on a host for reading its row list and y again, which no table has (clspmv_webbase and
 * NotreDame_www, f64, three rounds of "spmv bench --plan csr:rows=nonempty --plan csr": 1.16 to 1.51). */
#define SPMV__ROW_LIST_TIMES 1.4

/* Appends a part that takes so many seconds and has so many slots and rows. */
static void spmv__mix_add(const spmv__chooser *c, spmv__mix *m, const spmv_spec *spec, const char *variant, double seconds, double slots,
                          double rows)
{
    m->part[m->count] = *spec;
    if (spmv__builder_from(spmv_format_name(spec->format)) != SPMV_BUILDER_COUNT) /* "cmrs" alone would name the builder */
        m->part[m->count].key[SPMV_KEY_H] = (int64_t)spmv__height(spec);
    m->variant[m->count++] = variant;
    if (m->count > 1 && spec->key[SPMV_KEY_ROWS] && c->e.t->device_class == SPMV_DEVICE_CLASS_HOST) seconds *= SPMV__ROW_LIST_TIMES;
    m->seconds += seconds;
    m->convert += c->e.scale * spmv__fill_seconds(c->e.t, c->e.how->type, spec, slots);
    if (m->count < 2) m->convert += c->e.scale * spmv__pass_seconds(c->e.t, c->e.how->type, (double)c->e.a->nnz);
    else m->convert += c->e.scale * spmv__part_seconds(c->e.t, (double)c->e.a->nnz);
    /* a later part reads y and writes it again */
    if (m->count > 1 && c->e.t->read > 0) m->seconds += 2e-9 * rows * (double)spmv_vector_size(c->e.how->type) / c->e.t->read;
}

/* Writes the plan and its variants into an option. 0: they are too long. */
static int spmv__mix_texts(const spmv__mix *m, spmv_option *o)
{
    spmv__text t;
    int i;
    if (spmv__print_parts(m->part, m->count, o->plan, sizeof o->plan) >= sizeof o->plan) return 0;
    spmv__text_open(&t, o->variant, sizeof o->variant);
    for (i = 0; i < m->count; i++) {
        if (i) spmv__put_char(&t, '+');
        spmv__put_text(&t, m->variant[i]);
    }
    return spmv__text_close(&t) < sizeof o->variant;
}

/* Has a part any keys? */
static int spmv__has_keys(const spmv_spec *s)
{
    int k;
    for (k = 0; k < SPMV_KEY_COUNT; k++)
        if (s->key[k]) return 1;
    return 0;
}

/* Do the texts of two plans begin with the same format? */
static int spmv__first_word_same(const char *a, const char *b)
{
    while (*a && *a == *b && *a != ':' && *a != '+') a++, b++;
    return (!*a || *a == ':' || *a == '+') && (!*b || *b == ':' || *b == '+');
}

/* By how much an estimate may be too low, as a share of it: what a plan must seem faster by to be preferred to one without that risk. That
 * of each part after the first is the error of the table's estimates, as the fits are of samples of one part: of 32 matrices on an H200,
 * none had a plan of several parts that was more than 1% faster than the fastest of one (bench/results/nvidia-h200.txt). */
#define SPMV__RISK_PART_GPU 0.15 /* of tables that do not say how far their estimates err */
#define SPMV__RISK_PART_CPU 0.5  /* the same on CPUs, where threads wait for each other between parts */
#define SPMV__RISK_DEVICE   0.1  /* of a table of another device, as that of every host but one is; not for csr */

static double spmv__risk_of_part(const spmv_tuning *t)
{
    if (t->left_out > 0) return spmv__exp2(t->left_out) - 1;
    return t->device_class == SPMV_DEVICE_CLASS_GPU ? SPMV__RISK_PART_GPU : SPMV__RISK_PART_CPU;
}

/* Products that are expected. */
static double spmv__calls(const spmv_build_hints *hints)
{
    return hints && hints->expected_calls ? (double)hints->expected_calls : (double)SPMV_EXPECTED_CALLS;
}

/* May the choice be checked by a clock, if there is one? host: 1: the products are those of the host. */
static int spmv__verifies(const spmv_build_hints *hints, int reproducible, int host)
{
    const int least = host && !(hints && hints->measure) ? SPMV_VERIFY_CALLS_HOST : SPMV_VERIFY_CALLS;
    spmv_verify verify = hints ? hints->verify : SPMV_VERIFY_DEFAULT;
    return verify == SPMV_VERIFY_ON || (verify == SPMV_VERIFY_DEFAULT && !reproducible && spmv__calls(hints) >= (double)least);
}

/* The parts of which each adds the risk that estimates err: panels that are stored alike err alike, and count as two parts. */
static int spmv__risky_parts(const spmv__mix *m) { return m->alike && m->count > 2 ? 2 : m->count; }

/* Is a plan what others are compared with, csr alone? On devices it has no keys: by the table of an H200, csr:run was chosen on an H100
 * where others were as fast by the estimate and 10 to 50% faster by the clock (six matrices of 3 to 5 us; bench/regret.sh, f64). */
static int spmv__is_safe(const spmv__chooser *c, const spmv__mix *m)
{
    if (m->count != 1 || m->part[0].format != SPMV_CSR) return 0;
    return c->e.t->device_class == SPMV_DEVICE_CLASS_HOST || !spmv__has_keys(&m->part[0]);
}

/* The cost of an option with so many parts; safe: others are compared with it. */
static double spmv__option_cost(const spmv__chooser *c, const spmv_option *o, int parts, int safe)
{
    double calls = spmv__calls(c->hints), cost;
    int host = c->e.t->device_class == SPMV_DEVICE_CLASS_HOST;
    cost = o->predicted * (1 + spmv__risk_of_part(c->e.t) * (parts - 1));
    if ((!c->e.exact || host) && !safe) cost *= 1 + SPMV__RISK_DEVICE;
    return cost + o->convert / calls;
}

/* Adds a plan to the options, which stay sorted by cost, unless they are full or six cheaper ones begin with the same format. */
static void spmv__offer(spmv__chooser *c, const spmv__mix *m)
{
    enum { ALIKE = 6 /* options that may begin with one format, so that others are kept as well */ };
    spmv_choice *out = c->out;
    spmv_option o;
    int i, at, alike = 0, last = -1;
    memset(&o, 0, sizeof o);
    if (m->seconds <= 0 || !spmv__mix_texts(m, &o)) return;
    o.predicted = m->seconds;
    if (c->out->base > 0 && !strcmp(o.plan, "csr")) o.predicted = o.measured = c->out->base;
    o.convert = m->convert;
    o.sampled = m->sampled;
    o.cost = spmv__option_cost(c, &o, spmv__risky_parts(m), spmv__is_safe(c, m));
    for (i = 0; i < out->count; i++) {
        if (!strcmp(out->option[i].plan, o.plan) && !strcmp(out->option[i].variant, o.variant)) return;
        if (!spmv__first_word_same(out->option[i].plan, o.plan)) continue;
        alike++;
        last = i;
    }
    if (alike < ALIKE) last = out->count < SPMV_CHOICE_MAX ? out->count++ : out->count - 1;
    else if (out->option[last].cost <= o.cost) return;
    if (last == SPMV_CHOICE_MAX - 1 && out->option[last].plan[0] && out->option[last].cost <= o.cost) return;
    for (at = last; at > 0 && out->option[at - 1].cost > o.cost; at--) out->option[at] = out->option[at - 1];
    out->option[at] = o;
}

/* Predicts the time of an option of one part anew, whose blocks or diagonals are counted. *seconds 0: it would be refused, too large, or
 * unknown to the table. */
static spmv_status spmv__count_option(spmv__chooser *c, const spmv__look *l, const spmv_spec *spec, const char *variant, double *seconds)
{
    spmv_features *f = &c->out->features;
    spmv_estimate counted;
    spmv__load load;
    spmv_status s;
    *seconds = 0;
    if (spmv__is_block(spec->format)) {
        s = spmv__part_counted(&c->e, spec, variant, l, f, &counted);
        *seconds = counted.seconds;
        return s;
    }
    s = spmv__look_more_diagonals(l, f);
    if (!s && !f->diagonals_sampled && spmv__load_of(&c->e, spec, l, f, &load, &s))
        spmv__candidate_for(&c->e, spec, variant, &load, seconds);
    return s;
}

/* Rows so many times as long as the mean are too long for a sample of blocks to be trusted, as slices with one of them are rare and wide:
 * an assumption. */
#define SPMV__SAMPLE_LONGEST 8

/* How many standard errors a sample of blocks is taken to be wrong by at most: 95 of 100 normally distributed ones are not. */
#define SPMV__SAMPLE_ERRORS 2

/* Does the best option, a part of blocks, stay the best even if the sample that it was estimated from errs by as much as is likely? The
 * same format with blocks of the same size errs alike, so that it needs no margin. Where the widest block row pads all others, a sample,
 * which may lack it, says nothing. */
static int spmv__sample_decides(spmv_choice *out, const spmv_spec *best)
{
    const spmv_features *f = &out->features;
    const spmv_block_features *b = spmv__features_of_block(f, best);
    double most;
    int i;
    if (!b || b->slots <= 0 || (double)f->longest > SPMV__SAMPLE_LONGEST * f->mean) return 0;
    if (spmv__trait[best->format]->pads == SPMV__PADS_ALL) return 0;
    most = out->option[0].cost * (1 + SPMV__SAMPLE_ERRORS * b->error);
    for (i = 1; i < out->count; i++) {
        const spmv_spec *other = &out->plan.part[0];
        if (out->option[i].cost >= most) return 1;
        if (spmv_plan_parse(&out->plan, out->option[i].plan, NULL, NULL)) return 0;
        if (out->plan.count > 1 || other->format != best->format || spmv__features_of_block(f, other) != b) return 0;
    }
    return 1;
}

/* Counts the blocks or diagonals of the best option if they were estimated from a sample, and puts it in its place by the new estimate,
 * until the best is one whose size is certain, or as certain as the choice needs. An option that cannot be used after all is dropped. Where
 * csr was measured, blocks are not counted, as the clock shows whether a sample was wrong; diagonals are, as a sample may lack many of
 * them. */
static spmv_status spmv__count_best(spmv__chooser *c, const spmv__look *l)
{
    spmv_choice *out = c->out;
    spmv_status s = SPMV_OK;
    while (!s && out->count && out->option[0].sampled) {
        spmv_option o = out->option[0];
        spmv_spec spec;
        int at;
        s = spmv_plan_parse(&out->plan, o.plan, NULL, c->e.h);
        if (s) return s;
        spec = out->plan.part[0];
        if (spmv__is_block(spec.format) && (out->base > 0 || spmv__sample_decides(out, &spec))) return SPMV_OK;
        s = spmv__count_option(c, l, &spec, o.variant, &o.predicted);
        if (s) return s;
        o.sampled = 0;
        o.cost = spmv__option_cost(c, &o, 1, 0);
        for (at = 0; at + 1 < out->count && (o.predicted <= 0 || out->option[at + 1].cost < o.cost); at++)
            out->option[at] = out->option[at + 1];
        if (o.predicted > 0) out->option[at] = o;
        else memset(&out->option[--out->count], 0, sizeof o);
    }
    return s;
}

/* ---- flat formats (clSpMV 3.3: ELL and SELL against CSR and COO; ELL and SELL widths) ------------------------------- */

/* Predicted seconds of a candidate that multiplies what rows keep after their first entries. longest: the most that a row keeps. */
static double spmv__rest_seconds(const spmv__chooser *c, const spmv__candidate *k, const spmv__beyond_w *b, const spmv_features *f,
                                 double longest)
{
    spmv__load load;
    memset(&load, 0, sizeof load);
    load.rows = b->rows;
    load.nnz = load.slots = b->nnz;
    load.gather = f->gather;
    load.spread = b->nnz > 0 ? spmv__beyond_deviation(b) * b->rows / b->nnz : 0;
    load.longest = longest;
    load.uneven = load.spread;
    return spmv__cost(&c->e, k, &load);
}

/* Is it a flat format without fill, which can take whatever other parts leave? */
static int spmv__is_flat(spmv_format f)
{
    return spmv_format_class_of(f) == SPMV_CLASS_FLAT && !(spmv_format_flags(f) & SPMV_HAS_FILL);
}

/* The candidate that is best for what rows keep after their first entries: CSR or COO, by load balance, which the rates on uneven
 * matrices show. NULL: none. */
static const spmv__candidate *spmv__policy_csr_or_coo(const spmv__chooser *c, const spmv__beyond_w *b, const spmv_features *f,
                                                      double longest)
{
    const spmv__candidate *best = NULL;
    double least = 0;
    size_t i;
    for (i = 0; i < c->e.cands; i++) {
        const spmv_spec *spec = c->e.cand[i].layout;
        double t;
        if (!spmv__is_flat(spec->format) || spmv__is_padded(spec->format) || spec->key[SPMV_KEY_IDX]) continue;
        t = spmv__rest_seconds(c, &c->e.cand[i], b, f, longest);
        if (t <= 0 || (best && t >= least)) continue;
        best = &c->e.cand[i];
        least = t;
    }
    return best;
}

/* Predicted seconds of a flat candidate if it stored no slot but the nonzeros of the view, which it hardly takes less than. 0: nothing is
 * known. */
static double spmv__least_seconds(const spmv__chooser *c, const spmv__candidate *k, const spmv__look *l, const spmv_features *f)
{
    spmv__load load;
    memset(&load, 0, sizeof load);
    load.rows = k->layout->key[SPMV_KEY_ROWS] ? (double)l->rows : (double)f->rows;
    load.nnz = load.slots = (double)f->nnz;
    load.gather = f->gather;
    load.spread = f->uneven;
    load.longest = f->mean;
    return spmv__cost(&c->e, k, &load);
}

/* Lowers *least to seconds if these are known (not 0) and fewer, or if *least is not known. */
static void spmv__lower(double *least, double seconds)
{
    if (seconds > 0 && (*least <= 0 || seconds < *least)) *least = seconds;
}

/* An option that is predicted to cost so many times as much as the best one is not estimated any closer. */
#define SPMV__CLEARLY 1.1

/* May the choice be checked by a clock? */
static int spmv__is_checkable(const spmv__chooser *c)
{
    return spmv__verifies(c->hints, c->e.how->reproducible, c->e.t->device_class == SPMV_DEVICE_CLASS_HOST);
}

/* Is an option of one part that takes so many seconds clearly behind the best one so far? Where the choice is checked by a clock, only if
 * it is behind by more than predictions err: until then it may be worth measuring. */
static int spmv__is_behind(const spmv__chooser *c, double seconds)
{
    const double error = spmv__is_checkable(c) ? spmv__exp2(c->out->error) : 1;
    const double clearly = spmv__longer(SPMV__CLEARLY, error);
    spmv_option o;
    if (!c->out->count) return 0;
    memset(&o, 0, sizeof o);
    o.predicted = seconds;
    return spmv__option_cost(c, &o, 1, 0) > clearly * c->out->option[0].cost;
}

/* May plans of several parts be left out, as none would be preferred to the best option so far even if it took only so many seconds? Not if
 * several options are measured, as then any may win. */
static int spmv__several_are_behind(const spmv__chooser *c, double seconds)
{
    if (!c->out->count || (c->hints && c->hints->measure && c->hints->refine > 1)) return 0;
    return seconds * (1 + spmv__risk_of_part(c->e.t)) >= c->out->option[0].cost;
}

/* The same of plans whose parts are flat, which hardly take less than the fastest of these formats without padding. */
static int spmv__parts_are_behind(const spmv__chooser *c) { return c->least > 0 && spmv__several_are_behind(c, c->least); }

/* The same of plans that begin with a part of another format, which would take so many seconds for all nonzeros if it had no fill. */
static int spmv__prefix_is_behind(const spmv__chooser *c, double seconds)
{
    return c->least > 0 && spmv__several_are_behind(c, seconds < c->least ? seconds : c->least);
}

enum { SPMV__REACH_SAMPLE = 1 << 13 /* slices */ };

/* Counts, for every w, the slices (ell: one of all rows) whose longest row has w entries or more. Free *reach. Of many slices only some are
 * read, of which one stands for several: if a slice is w wide at most, as where these counts are used, their slots err by less than
 * w / (2 sqrt(SPMV__REACH_SAMPLE)) a slice, half a percent of w. */
static spmv_status spmv__slices_reaching(const spmv__look *l, uint64_t h, double **reach)
{
    const uint64_t rows = l->v->a->rows, slices = spmv__ceil_div(rows, h), step = slices / SPMV__REACH_SAMPLE + 1;
    const double times = (double)slices / (double)spmv__ceil_div(slices, step);
    uint64_t i, t, k;
    void *block;
    spmv_status s = spmv__new(l->h, &block, l->longest + 2, sizeof **reach, 0);
    if (s) return s;
    *reach = (double *)block;
    for (i = 0; i < slices; i += step) {
        t = i + (uint64_t)(spmv__spread(i / step) * (double)spmv__smaller(step, slices - i));
        (*reach)[slices > 1 ? spmv__look_tallest(l, t * h, spmv__smaller((t + 1) * h, rows)) : l->longest] += times;
    }
    for (k = l->longest; k-- > 0;) (*reach)[k] += (*reach)[k + 1];
    return SPMV_OK;
}

/* The next width to be tried. The paper tries every one ("brute force"); here steps grow with the width. */
static uint64_t spmv__next_width(uint64_t w) { return w < 16 ? w + 1 : w + w / 8; }

typedef struct spmv__width {
    uint64_t               w;
    const spmv__candidate *rest;
    double                 first, tail, left; /* seconds of both parts; rows of the second */
    double                 slots, beyond;     /* of the first part; nonzeros of the second */
} spmv__width;

/* The paper's policies "extract ELL" and "extract SELL": finds the width with the least predicted time of both parts. The second part is
 * chosen again whenever the width has doubled. best->w 0: no width pays. */
static spmv_status spmv__policy_width(const spmv__chooser *c, const spmv__candidate *k, const spmv__look *l, const spmv_features *f,
                                      spmv__width *best)
{
    uint64_t rows = l->v->a->rows, h = spmv__padded_rows(k->layout, rows), w, at = 0, chosen_at = 0;
    const double few = 0.02; /* of the rows: a column that no more of them reach is padding for all others, so it never pays */
    double slots = 0, *reach = NULL;
    const spmv__candidate *rest = NULL;
    spmv__beyond_w b;
    spmv__load load;
    spmv_status s;
    memset(best, 0, sizeof *best);
    memset(&load, 0, sizeof load);
    if (k->layout->key[SPMV_KEY_ROWS]) return SPMV_OK; /* its row list would be a different one with a limited width */
    s = spmv__slices_reaching(l, h, &reach);
    if (s) return s;
    spmv__beyond_begin(l, &b);
    load.rows = (double)rows;
    load.gather = f->gather;
    for (w = 1; w < l->longest; w = spmv__next_width(w)) {
        double first, tail;
        if ((double)l->longer[w] < few * (double)l->rows) break;
        for (; at < w; at++) slots += reach[at + 1] * (double)h;
        spmv__beyond_go(l, &b, w);
        if (!rest || w >= 2 * chosen_at) {
            rest = spmv__policy_csr_or_coo(c, &b, f, (double)(l->longest - w));
            chosen_at = w;
        }
        load.slots = slots;
        load.nnz = (double)l->nnz - b.nnz;
        load.longest = (double)w;
        first = spmv__cost(&c->e, k, &load);
        tail = rest ? spmv__rest_seconds(c, rest, &b, f, (double)(l->longest - w)) : 0;
        if (first <= 0 || tail <= 0 || !spmv__fits(&c->e, slots)) continue;
        if (best->w && first + tail >= best->first + best->tail) continue;
        best->w = w;
        best->rest = rest;
        best->first = first;
        best->tail = tail;
        best->left = b.rows;
        best->slots = slots;
        best->beyond = b.nnz;
    }
    spmv_free(l->h, reach);
    return SPMV_OK;
}

/* Offers the prefix followed by the candidate with its best width, and CSR or COO for the rest. */
static spmv_status spmv__offer_width(spmv__chooser *c, const spmv__candidate *k, const spmv__look *l, const spmv_features *f,
                                     const spmv__mix *prefix)
{
    spmv__width best;
    spmv__mix m = *prefix;
    spmv_spec first = *k->layout, last;
    spmv_status s = spmv__policy_width(c, k, l, f, &best);
    if (s || !best.w || m.count + 2 > SPMV__MIX_PARTS) return s;
    last = *best.rest->layout;
    first.key[SPMV_KEY_W] = (int64_t)best.w;
    if (spmv_format_takes_key(last.format, SPMV_KEY_ROWS) && !last.key[SPMV_KEY_ROWS]) last.key[SPMV_KEY_ROWS] = SPMV_ROWS_NONEMPTY;
    spmv__mix_add(c, &m, &first, k->variant, best.first, best.slots, (double)f->rows);
    spmv__mix_add(c, &m, &last, best.rest->variant, best.tail, best.beyond, best.left);
    spmv__offer(c, &m);
    return SPMV_OK;
}

/* Is the format worth an estimate on this matrix? */
static int spmv__suits(spmv_format format, const spmv_features *f)
{
    return !spmv__trait[format]->suits || spmv__trait[format]->suits(f);
}

/* Does an estimate take a pass over the rows' first and last columns? That of tcsr samples them. */
static int spmv__reads_columns(const spmv_spec *spec) { return spec->key[SPMV_KEY_IDX] == 16 && spec->format != SPMV_TCSR; }

/* Is a candidate clearly behind even if its columns fit 16 bits? */
static int spmv__narrow_is_behind(const spmv__chooser *c, const spmv__candidate *k, const spmv__look *l, const spmv_features *f,
                                  spmv_status *s)
{
    spmv_spec wide = *k->layout;
    spmv__load load;
    wide.key[SPMV_KEY_IDX] = 0;
    return !spmv__load_of(&c->e, &wide, l, f, &load, s) || spmv__is_behind(c, spmv__cost(&c->e, k, &load));
}

/* Offers the prefix followed by each flat candidate for all of the rest, or by ELL or SELL for the columns that pay and CSR or COO for the
 * others. */
static spmv_status spmv__offer_flat(spmv__chooser *c, const spmv__look *l, const spmv_features *f, const spmv__mix *prefix)
{
    size_t i, n, best[SPMV_FORMAT_COUNT] = { 0 }; /* of each padded format: 1 + the candidate with the least time for a slot */
    double least[SPMV_FORMAT_COUNT] = { 0 }, flat = 0;
    spmv_status s = SPMV_OK;
    for (n = 0; n < 2 * c->e.cands && !s; n++) { /* the candidates whose columns would be read come last, as most are behind by then */
        const spmv__candidate *k = &c->e.cand[i = n % c->e.cands];
        spmv__load load;
        spmv__mix m = *prefix;
        double t;
        spmv_spec spec = *k->layout;
        int own = (int)spec.format;
        if (!spmv__is_flat(spec.format) || m.count >= SPMV__MIX_PARTS || (spmv__reads_columns(&spec) != (n >= c->e.cands))) continue;
        if (!spmv__suits(spec.format, f)) continue;
        if (!prefix->count) {
            t = spmv__least_seconds(c, k, l, f);
            if (spec.format != SPMV_CSR && spmv__is_behind(c, t)) continue; /* counting its slots takes a pass over the rows */
            if (spmv__is_padded(spec.format) && !spec.key[SPMV_KEY_ROWS]) spmv__lower(&c->least, t);
        }
        if (!prefix->count && spmv__reads_columns(&spec) && spmv__narrow_is_behind(c, k, l, f, &s)) continue;
        if (!spmv__load_of(&c->e, &spec, l, f, &load, &s)) {
            if (spmv__is_padded(spec.format) && !s && !spec.key[SPMV_KEY_IDX] && least[own] <= 0) best[own] = i + 1;
            continue;
        }
        t = spmv__cost(&c->e, k, &load);
        if (t <= 0) continue;
        if (spmv__is_padded(spec.format)) {
            double by_slot = t / (load.slots > 0 ? load.slots : 1); /* tells which knobs and heights are best */
            if (least[own] <= 0 || by_slot < least[own]) {
                least[own] = by_slot;
                best[own] = i + 1;
            }
        }
        spmv__lower(&flat, t);
        if (!prefix->count && !spmv__is_padded(spec.format)) spmv__lower(&c->least, t);
        if (m.count && spmv_format_takes_key(spec.format, SPMV_KEY_ROWS) && !spec.key[SPMV_KEY_ROWS] && l->rows * 2 < f->rows)
            spec.key[SPMV_KEY_ROWS] = SPMV_ROWS_NONEMPTY;
        spmv__mix_add(c, &m, &spec, k->variant, t, load.slots, (double)l->rows);
        spmv__offer(c, &m);
    }
    if (!prefix->count) c->flat = flat;
    for (i = 0; i < SPMV_FORMAT_COUNT && !s; i++)
        if (best[i] && (prefix->count || !spmv__parts_are_behind(c))) s = spmv__offer_width(c, &c->e.cand[best[i] - 1], l, f, prefix);
    return s;
}

/* ---- dense diagonals and dense blocks (clSpMV 3.3) ------------------------------------------------------------------ */

enum { SPMV__PREFIXES = 2 /* that are kept of the diagonals, and of the blocks */ };

/* Shares of the nonzeros between which a first part of blocks makes sense: fewer save less than a part more costs, and with more nothing is
 * left for a second part. */
#define SPMV__PREFIX_LEAST 0.02
#define SPMV__PREFIX_MOST  0.999

/* A first part that takes some of the matrix, found by the histograms. */
typedef struct spmv__prefix {
    spmv_spec   spec;
    const char *variant;
    double      seconds; /* predicted, of the part */
    double      guess;   /* seconds of a whole product if the rest took its share of the best flat format's time; 0: no part */
    double      rows, nnz;
} spmv__prefix;

/* Keeps p if it is among the best, of which no two have the same format; best is sorted by guess. */
static void spmv__keep_prefix(spmv__prefix *best, const spmv__prefix *p)
{
    int i = SPMV__PREFIXES, j;
    for (j = 0; j < SPMV__PREFIXES; j++) /* one of each format */
        if (best[j].guess > 0 && best[j].spec.format == p->spec.format) {
            if (best[j].guess <= p->guess) return;
            best[j] = *p;
            return;
        }
    while (i > 0 && (best[i - 1].guess <= 0 || best[i - 1].guess > p->guess)) i--;
    if (i == SPMV__PREFIXES) return;
    for (j = SPMV__PREFIXES - 1; j > i; j--) best[j] = best[j - 1];
    best[i] = *p;
}

static int64_t spmv__millionths(double v) { return v >= 1 ? 1000000 : v <= 0.01 ? 10000 : (int64_t)(v * 100 + 0.5) * 10000; }

/* Replaces *best by p if its guess is less. */
static void spmv__prefer_prefix(spmv__prefix *best, const spmv__prefix *p)
{
    if (p->seconds > 0 && (best->guess <= 0 || p->guess < best->guess)) *best = *p;
}

/* The lowest threshold to be tried, where the formula of clSpMV gives threshold. */
static double spmv__threshold_end(double threshold) { return 0.5 * threshold; }

/* Finds the best prefix of dense diagonals for a candidate: those filled beyond g_f / g_d (clSpMV: e_d > n_d g_f / g_d). DIA and BDIA
 * compete. */
static void spmv__policy_diagonals(spmv__chooser *c, const spmv_features *f, const spmv__candidate *k, spmv__prefix *best)
{
    double rows = (double)f->rows, nnz = 0, count = 0, threshold, flat_rate = 2e-9 * (double)f->nnz / c->flat, t;
    spmv__load load;
    spmv__prefix p, mine;
    int bin;
    memset(&load, 0, sizeof load);
    memset(&p, 0, sizeof p);
    memset(&mine, 0, sizeof mine);
    load.rows = rows;
    load.nnz = load.slots = rows * (f->mean > 1 ? f->mean : 1);
    t = spmv__cost(&c->e, k, &load);
    if (t <= 0 || spmv__prefix_is_behind(c, t)) return;
    threshold = flat_rate / (2e-9 * load.slots / t);
    if (threshold >= 1) return;
    p.spec = *k->layout;
    p.variant = k->variant;
    p.rows = rows;
    for (bin = SPMV_FILL_BINS; bin >= 0 && bin + 1 > spmv__threshold_end(threshold) * (double)SPMV_FILL_BINS; bin--) {
        nnz += f->diagonal_nnz[bin];
        count += f->diagonal_count[bin];
        if (f->diagonal_count[bin] <= 0 || nnz >= (double)f->nnz) continue;
        load.slots = load.nnz = rows * count;
        p.spec.key[SPMV_KEY_D] = spmv__millionths((double)bin / (double)SPMV_FILL_BINS);
        p.seconds = spmv__cost(&c->e, k, &load);
        p.nnz = nnz;
        p.guess = p.seconds + c->flat * (1 - nnz / (double)f->nnz);
        spmv__prefer_prefix(&mine, &p);
    }
    if (mine.guess > 0) spmv__keep_prefix(best, &mine);
}

/* Finds the best prefix of dense blocks for a candidate: those filled beyond g_f / g_b (clSpMV: e_b > n_b g_f / g_b). SBELL and BCSR in
 * every block size compete. */
static void spmv__policy_blocks(spmv__chooser *c, const spmv_features *f, const spmv__candidate *k, spmv__prefix *best)
{
    double flat_rate = 2e-9 * (double)f->nnz / c->flat, size, blocks = 0, nnz = 0, threshold, t;
    const spmv_block_features *b = spmv__features_of_block(f, k->layout);
    spmv__padding pads = spmv__trait[k->layout->format]->pads;
    spmv__load load;
    spmv__prefix p, mine;
    int n;
    if (!b || b->blocks <= 0 || pads == SPMV__PADS_ALL) return; /* how wide the widest block row of the part would be is not known */
    size = (double)(b->bh * b->bw);
    memset(&load, 0, sizeof load);
    memset(&p, 0, sizeof p);
    memset(&mine, 0, sizeof mine);
    load.rows = (double)f->rows;
    load.slots = load.nnz = (double)f->nnz;
    load.gather = f->gather / (double)b->bw;
    load.longest = b->widest * (double)b->bw;
    load.uneven = f->uneven;
    t = spmv__cost(&c->e, k, &load);
    if (t <= 0 || spmv__prefix_is_behind(c, t)) return;
    threshold = flat_rate / (2e-9 * load.slots / t);
    if (threshold >= 1) return;
    p.spec = *k->layout;
    p.variant = k->variant;
    p.rows = load.rows;
    for (n = b->bh * b->bw; n > 0 && n > spmv__threshold_end(threshold) * size; n--) {
        blocks += b->at[n];
        nnz += b->at[n] * n;
        if (b->at[n] <= 0 || nnz <= SPMV__PREFIX_LEAST * (double)f->nnz || nnz >= SPMV__PREFIX_MOST * (double)f->nnz) continue;
        load.slots = blocks * size * (pads == SPMV__PADS_SLICES ? b->slots / (b->blocks * size) : 1);
        load.skipped = load.slots - blocks * size;
        load.nnz = nnz;
        p.spec.key[SPMV_KEY_D] = spmv__millionths((double)n / size - 0.005);
        p.nnz = nnz;
        p.seconds = spmv__cost(&c->e, k, &load);
        p.guess = p.seconds + c->flat * (1 - nnz / (double)f->nnz);
        spmv__prefer_prefix(&mine, &p);
    }
    if (mine.guess > 0) spmv__keep_prefix(best, &mine);
}

/* Takes one or two prefixes out of the matrix and offers them together with every flat format for the rest. */
static spmv_status spmv__offer_prefix(spmv__chooser *c, const spmv__prefix *const *p, int count)
{
    spmv_plan *plan = &c->out->plan;
    spmv_split split;
    spmv_view rest;
    spmv__look l;
    spmv_features *f; /* large */
    spmv__mix m;
    void *block;
    int i, all_there = 1;
    spmv_status s = spmv__new(c->e.h, &block, 1, sizeof *f, 0);
    if (s) return s;
    f = (spmv_features *)block;
    memset(plan, 0, sizeof *plan);
    memset(&m, 0, sizeof m);
    for (i = 0; i < count; i++) plan->part[plan->count++] = p[i]->spec;
    plan->part[plan->count++].format = SPMV_CSR;
    s = spmv_split_make(&split, plan, c->e.a, c->e.h); /* on failure zeroed */
    rest = spmv_split_view(&split, c->e.a, count);
    for (i = 0; i < count && !s; i++) {
        spmv_estimate counted;
        spmv_view own = spmv_split_view(&split, c->e.a, i);
        s = spmv__part_estimate(&c->e, &p[i]->spec, p[i]->variant, &own, f, &counted);
        all_there = all_there && split.nnz[i] && counted.seconds > 0;
        spmv__mix_add(c, &m, &p[i]->spec, p[i]->variant, counted.seconds, (double)counted.slots, p[i]->rows);
    }
    if (!s && all_there && split.nnz[count]) {
        s = spmv__look_make(&l, &rest, c->e.h);
        if (!s) {
            s = spmv__look_features(&l, f, 0, spmv__class_bits(SPMV_CLASS_DIAGONAL) | spmv__class_bits(SPMV_CLASS_BLOCK));
            if (!s) s = spmv__offer_flat(c, &l, f, &m);
            spmv__look_free(&l);
        }
    }
    spmv_split_free(&split);
    spmv_free(c->e.h, f);
    return s;
}

/* ---- builders' plans: the cost of any plan -------------------------------------------------------------------------- */

/* Offers a plan of a builder: parts of ELL, each w wide and with a row list over the rows that still have entries, then one part that takes
 * the rest. What each part takes follows from the row lengths alone. */
static void spmv__offer_plan(spmv__chooser *c, const spmv_plan *plan, const spmv__look *l, const spmv_features *f)
{
    spmv__mix m;
    spmv__beyond_w b;
    spmv__load load;
    int i;
    if (plan->count > SPMV__MIX_PARTS) return;
    /* a list of most rows saves less than it costs, and without it spmv__offer_flat offers the part */
    if (plan->count == 1 && 2 * l->rows >= f->rows && plan->part[0].key[SPMV_KEY_ROWS] == SPMV_ROWS_NONEMPTY) return;
    memset(&m, 0, sizeof m);
    spmv__beyond_begin(l, &b);
    for (i = 0; i < plan->count; i++) {
        const spmv_spec *spec = &plan->part[i];
        const spmv__candidate *k;
        uint64_t w = spec->key[SPMV_KEY_W] ? (uint64_t)spec->key[SPMV_KEY_W] : l->longest;
        double t, before = b.nnz;
        if (!spmv__usable(&c->e, spec->format) || !spmv__is_flat(spec->format) || !spmv__suits(spec->format, f)) return;
        memset(&load, 0, sizeof load);
        load.rows = spec->key[SPMV_KEY_ROWS] ? b.rows : (double)f->rows;
        load.gather = f->gather;
        load.longest = (double)(spmv__is_padded(spec->format) ? spmv__smaller(w, l->longest - b.w) : l->longest - b.w);
        load.spread = b.nnz > 0 ? spmv__beyond_deviation(&b) * b.rows / b.nnz : 0;
        load.uneven = spmv__is_padded(spec->format) ? 0 : load.spread;
        if (spmv__is_padded(spec->format)) {
            w = spmv__smaller(w, l->longest - b.w);
            load.slots = load.rows * (double)w;
            spmv__beyond_go(l, &b, b.w + w);
            load.nnz = before - b.nnz;
        } else {
            load.slots = load.nnz = before;
            if (spmv_format_flags(spec->format) & SPMV_ADDS_ONLY) load.rows = b.rows; /* it does not touch other rows of y */
        }
        if (load.nnz <= 0 || !spmv__fits(&c->e, load.slots)) return;
        k = spmv__candidate_for(&c->e, spec, NULL, &load, &t);
        if (!k) return;
        spmv__mix_add(c, &m, spec, k->variant, t, load.slots, load.rows);
    }
    spmv__offer(c, &m);
}

/* Is every candidate of a flat format clearly behind the best option, whatever the rows are like? */
static int spmv__format_is_behind(const spmv__chooser *c, spmv_format format, const spmv__look *l, const spmv_features *f)
{
    size_t i;
    for (i = 0; i < c->e.cands; i++)
        if (c->e.cand[i].layout->format == format && !spmv__is_behind(c, spmv__least_seconds(c, &c->e.cand[i], l, f))) return 0;
    return 1;
}

/* Offers the plan of every builder that may become the best option, but not of panels, which spmv__offer_panels estimates. cmrs makes one
 * part, the others make several. */
static spmv_status spmv__offer_builders(spmv__chooser *c, const spmv__look *l, const spmv_features *f)
{
    spmv_build_hints none;
    int b;
    spmv_status s = SPMV_OK;
    memset(&none, 0, sizeof none);
    for (b = 0; b < SPMV_BUILDER_COUNT && !s; b++) {
        if (b == SPMV_BUILDER_PANELS || (b == SPMV_BUILDER_CMRS && !spmv__suits(SPMV_CMRS, f))) continue;
        if (b == SPMV_BUILDER_CMRS ? spmv__format_is_behind(c, SPMV_CMRS, l, f) : spmv__parts_are_behind(c)) continue;
        s = spmv__plan_of_builder(&c->out->plan, (spmv_builder)b, c->e.a, &none, l->longer, l->longest, c->e.h);
        if (!s) spmv__offer_plan(c, &c->out->plan, l, f);
    }
    return s;
}

/* ---- panels: x beyond the cache --------------------------------------------------------------------------------------- */

/* The least share of the reads of x that the cache does not serve for panels to be tried: what less of them costs is within the
 * error of estimates. */
#define SPMV__FAR_LEAST 0.02

/* The rows with nonzeros in one of n panels, if the nonzeros of a row are in any of them with equal probability. */
static double spmv__panel_reached(const spmv__look *l, uint64_t n)
{
    const double own = 1 / (double)n;
    double rows = 0, missed = 1; /* missed: the probability that the nonzeros of a row before k are in other panels */
    uint64_t k;
    for (k = 1; k <= l->longest && missed > 1e-9; k++, missed *= 1 - own) rows += (double)l->longer[k] * missed * own;
    return rows;
}

/* The candidate that is fastest for each of n panels of the whole matrix: of the flat formats without padding, as rows of a panel differ in
 * length more than whole rows do. spec: becomes its layout, *seconds the time of a panel. NULL: there is none. */
static const spmv__candidate *spmv__panel_candidate(const spmv__chooser *c, const spmv__look *l, const spmv_features *f, uint64_t n,
                                                    spmv_spec *spec, double *seconds, spmv_status *s)
{
    const double reached = spmv__panel_reached(l, n), own = 1 / (double)n;
    const spmv__candidate *best = NULL;
    size_t i;
    *s = SPMV_OK;
    *seconds = 0;
    for (i = 0; i < c->e.cands && !*s; i++) {
        const spmv__candidate *k = &c->e.cand[i];
        spmv_spec layout = *k->layout;
        spmv__load load;
        double t;
        if (!spmv__is_flat(layout.format) || spmv__is_padded(layout.format) || layout.key[SPMV_KEY_ROWS]) continue;
        if (!spmv__spec_even(&layout) || !spmv__load_of(&c->e, &layout, l, f, &load, s)) continue;
        if (2 * reached < (double)f->rows && spmv_format_takes_key(layout.format, SPMV_KEY_ROWS)) {
            layout.key[SPMV_KEY_ROWS] = SPMV_ROWS_NONEMPTY;
            load.rows = reached;
        }
        load.nnz *= own;
        load.slots *= own;
        load.extra *= own;
        load.longest *= own;
        t = spmv__cost(&c->e, k, &load);
        if (t <= 0 || (best && t >= *seconds)) continue;
        best = k;
        *spec = layout;
        *seconds = t;
    }
    return best;
}

/* Offers panels of columns, as the builder panels makes them, where x is so much larger than the cache that reads of it often go to memory.
 * Each panel needs less of x at once, but reads and writes y once more. More panels are not tried once the cache serves nearly all reads of
 * one. */
static spmv_status spmv__offer_panels(spmv__chooser *c, const spmv__look *l, const spmv_features *f)
{
    static const uint64_t counts[] = { 2, 3, 4, 6, 8 };
    const spmv_csr *whole = c->e.a;
    spmv_csr seen = *whole; /* with only the columns of a panel */
    size_t i;
    spmv_status s = SPMV_OK;
    for (i = 0; i < sizeof counts / sizeof *counts && !s && c->e.misses > SPMV__FAR_LEAST; i++) {
        const uint64_t width = spmv__ceil_div(whole->cols, counts[i]);
        const spmv__candidate *k;
        spmv_spec spec;
        spmv__mix m;
        double seconds = 0;
        uint64_t end;
        memset(&m, 0, sizeof m);
        m.alike = 1;
        seen.cols = width;
        c->e.a = &seen;
        spmv__set_far(&c->e);
        k = spmv__panel_candidate(c, l, f, counts[i], &spec, &seconds, &s);
        c->e.a = whole;
        if (!k || s) break;
        for (end = width; end < whole->cols + width; end += width) {
            spec.key[SPMV_KEY_COLS] = end < whole->cols ? (int64_t)end : 0;
            spmv__mix_add(c, &m, &spec, k->variant, seconds, (double)f->nnz / (double)counts[i], (double)f->rows);
        }
        spmv__offer(c, &m);
    }
    spmv__set_far(&c->e);
    return s;
}

/* ---- the whole choice ------------------------------------------------------------------------------------------------ */

/* Finds the time of csr, in which conversion is counted. Where it was measured, the other predictions are scaled by what it took over what
 * it was predicted to take: that is done on hosts, of which hardly any is the one that the table was measured on, so that only ratios of
 * its predictions count. */
static spmv_status spmv__find_csr(spmv__chooser *c, const spmv__look *l, const spmv_features *f)
{
    spmv__load load;
    size_t i;
    double t, plain = 0; /* seconds without keys, as the one that was measured */
    spmv_spec csr;
    spmv_status s = SPMV_OK;
    memset(&csr, 0, sizeof csr);
    csr.format = SPMV_CSR;
    for (i = 0; i < c->e.cands && !s; i++) {
        const spmv_spec *spec = c->e.cand[i].layout;
        if (spec->format != SPMV_CSR || spmv__reads_columns(spec) || !spmv__load_of(&c->e, spec, l, f, &load, &s)) continue;
        t = spmv__cost(&c->e, &c->e.cand[i], &load);
        spmv__lower(&c->out->csr, t);
        if (!spmv__has_keys(spec)) spmv__lower(&plain, t);
    }
    if (c->out->base > 0) {
        c->out->csr = c->out->base;
        if (plain > 0) c->e.scale = c->out->base / plain;
    }
    c->out->convert_csr = c->e.scale * (spmv__pass_seconds(c->e.t, c->e.how->type, (double)f->nnz) +
                                        spmv__fill_seconds(c->e.t, c->e.how->type, &csr, (double)f->nnz));
    return s;
}

/* Offers the formats that are not flat for the whole matrix. narrow: 1: those layouts whose columns must be read; 0: the others. */
static spmv_status spmv__offer_singles(spmv__chooser *c, const spmv__look *l, const spmv_features *f, int narrow)
{
    spmv__load load;
    spmv__mix m;
    size_t i;
    double t;
    spmv_status s = SPMV_OK;
    for (i = 0; i < c->e.cands && !s; i++) {
        const spmv_spec *spec = c->e.cand[i].layout;
        const spmv_format_class category = spmv_format_class_of(spec->format);
        if (spmv__is_flat(spec->format) || spmv__reads_columns(spec) != narrow) continue;
        if ((narrow && spmv__narrow_is_behind(c, &c->e.cand[i], l, f, &s)) || !spmv__load_of(&c->e, spec, l, f, &load, &s)) continue;
        t = spmv__cost(&c->e, &c->e.cand[i], &load);
        memset(&m, 0, sizeof m);
        if (category == SPMV_CLASS_BLOCK) m.sampled = spmv__features_of_block(f, spec)->sampled < 1;
        if (category == SPMV_CLASS_DIAGONAL) m.sampled = f->diagonals_sampled;
        if (t > 0) spmv__mix_add(c, &m, spec, c->e.cand[i].variant, t, load.slots, load.rows);
        spmv__offer(c, &m);
    }
    return s;
}

/* The least share of the time of the best option that a prefix must save before the matrix is divided for it: less is far within the error
 * of estimates. */
#define SPMV__PREFIX_GAIN 0.02

/* Predicted seconds of the fastest flat format without padding for a share of the nonzeros that is left by other parts, if these lie
 * anywhere in the rows. It is never less than the share of the time of the whole matrix. */
static double spmv__rest_at_least(const spmv__chooser *c, double share)
{
    const double per_row = share * c->out->features.mean, nats = 1.4426950408889634; /* log2 of e */
    double least = 0;
    spmv__load load;
    size_t i;
    memset(&load, 0, sizeof load);
    load.nnz = load.slots = share * (double)c->e.a->nnz;
    load.rows = (double)c->e.a->rows * (1 - spmv__exp2(-per_row * nats)); /* those that have any, by Poisson's distribution */
    load.gather = c->out->features.gather;
    load.longest = per_row;
    load.spread = c->out->features.uneven;
    for (i = 0; i < c->e.cands; i++) {
        const spmv_spec *spec = c->e.cand[i].layout;
        load.uneven = spmv__is_padded(spec->format) ? 0 : load.spread;
        if (spmv__is_flat(spec->format) && !spec->key[SPMV_KEY_ROWS]) spmv__lower(&least, spmv__cost(&c->e, &c->e.cand[i], &load));
    }
    if (c->e.t->device_class == SPMV_DEVICE_CLASS_HOST) least *= SPMV__ROW_LIST_TIMES;
    return spmv__longer(least, c->flat * share);
}

/* The share of each product in what dividing the matrix for an estimate takes. It counts only where csr was measured, as only there is it
 * known what a product takes. */
static double spmv__dividing_cost(const spmv__chooser *c)
{
    return c->out->base > 0 ? c->e.scale * spmv__divide_seconds(c->e.t, (double)c->e.a->nnz) / spmv__calls(c->hints) : 0;
}

/* Are prefixes worth dividing the matrix, so that they can be estimated exactly? Not if one of them alone is not predicted to be faster
 * than least, the seconds of the best option without prefixes. Nor if they could not become the best option although the rest takes as
 * little as it can and is converted as fast as csr; but if several options are measured, any may win. */
static int spmv__prefixes_pay(const spmv__chooser *c, const spmv__prefix *const *p, int count, double least)
{
    const double all = (double)c->e.a->nnz;
    double rest = 1; /* the share of the nonzeros that is left */
    spmv_option o;
    int i;
    memset(&o, 0, sizeof o);
    for (i = 0; i < count; i++) {
        if (p[i]->guess <= 0 || p[i]->guess >= least * (1 - SPMV__PREFIX_GAIN)) return 0;
        o.predicted += p[i]->seconds;
        o.convert += c->e.scale * (spmv__fill_seconds(c->e.t, c->e.how->type, &p[i]->spec, p[i]->nnz) +
                                   spmv__part_seconds(c->e.t, all));
        rest -= p[i]->nnz / all;
    }
    o.convert += c->out->convert_csr;
    if (c->hints && c->hints->measure && c->hints->refine > 1) return 1;
    if (rest > 0) o.predicted += spmv__rest_at_least(c, rest);
    return spmv__option_cost(c, &o, count + 1, 0) + spmv__dividing_cost(c) < c->out->option[0].cost;
}

/* Offers thick bands in BDIA and other dense diagonals in DIA: the third case of clSpMV. */
static spmv_status spmv__offer_both_diagonals(spmv__chooser *c, const spmv__prefix *diagonal)
{
    enum { THICK = 4 /* diagonals side by side that make a band thick */ };
    spmv__prefix bands = diagonal[0], lone = diagonal[1];
    const spmv__prefix *two[2];
    if (!spmv_format_takes_key(bands.spec.format, SPMV_KEY_W)) {
        bands = diagonal[1];
        lone = diagonal[0];
    }
    bands.spec.key[SPMV_KEY_W] = THICK;
    two[0] = &bands;
    two[1] = &lone;
    return spmv__offer_prefix(c, two, 2);
}

/* Finds the prefixes of one class that are predicted to be best. */
static void spmv__find_prefixes(spmv__chooser *c, const spmv_features *f, spmv_format_class category, spmv__prefix *best)
{
    size_t i;
    memset(best, 0, SPMV__PREFIXES * sizeof *best);
    for (i = 0; i < c->e.cands; i++) {
        if (spmv_format_class_of(c->e.cand[i].layout->format) != category) continue;
        if (category == SPMV_CLASS_DIAGONAL) spmv__policy_diagonals(c, f, &c->e.cand[i], best);
        else spmv__policy_blocks(c, f, &c->e.cand[i], best);
    }
}

/* The same for diagonals. If a sample of them shows that one pays, they are counted if possible. */
static spmv_status spmv__prefix_diagonals(spmv__chooser *c, const spmv__look *l, spmv_features *f, double least, spmv__prefix *best)
{
    const spmv__prefix *one;
    int j, pays = 0;
    spmv_status s = SPMV_OK;
    spmv__find_prefixes(c, f, SPMV_CLASS_DIAGONAL, best);
    for (j = 0; j < SPMV__PREFIXES && f->diagonals_sampled; j++) {
        one = &best[j];
        pays |= spmv__prefixes_pay(c, &one, 1, least);
    }
    if (pays) s = spmv__look_more_diagonals(l, f);
    if (pays && !s) spmv__find_prefixes(c, f, SPMV_CLASS_DIAGONAL, best);
    return s;
}

/* Offers the prefixes that may pay: each by itself, both kinds of diagonals, and diagonals before blocks. clSpMV takes the faster category
 * first, and a diagonal is never slower than a block that is as full. Its step of merging small parts is not needed, as the estimate of a
 * small part includes what it costs, so that the plan without it wins. */
static spmv_status spmv__offer_prefixes(spmv__chooser *c, const spmv__look *l, spmv_features *f)
{
    spmv__prefix diagonal[SPMV__PREFIXES], block[SPMV__PREFIXES];
    const spmv__prefix *two[2];
    double least = c->out->count ? c->out->option[0].predicted : 0;
    int j;
    spmv_status s = spmv__prefix_diagonals(c, l, f, least, diagonal);
    spmv__find_prefixes(c, f, SPMV_CLASS_BLOCK, block);
    for (j = 0; j < SPMV__PREFIXES && !s; j++) {
        two[0] = &diagonal[j];
        if (spmv__prefixes_pay(c, two, 1, least)) s = spmv__offer_prefix(c, two, 1);
        two[0] = &block[j];
        if (!s && spmv__prefixes_pay(c, two, 1, least)) s = spmv__offer_prefix(c, two, 1);
    }
    two[0] = &diagonal[0];
    two[1] = &diagonal[1];
    if (!s && spmv__prefixes_pay(c, two, 2, least)) s = spmv__offer_both_diagonals(c, diagonal);
    two[1] = &block[0];
    if (!s && spmv__prefixes_pay(c, two, 2, least)) s = spmv__offer_prefix(c, two, 2);
    return s;
}

/* ---- checked by the clock -------------------------------------------------------------------------------------------- */

static int spmv__is_csr_alone(const spmv_option *o)
{
    return spmv__first_word_same(o->plan, "csr") && !strchr(o->plan, '+');
}

/* How many times the predicted time of csr a product may take before csr is measured, too: smaller differences are within the error of
 * estimates. */
#define SPMV__SLOW 1.25

/* By calls, a product that is bound by its launch takes so many times as long as the smallest of all. Of 687 products that take up to
 * 2.6 us in CUDA graphs, the median took 3.2 us by calls on an H100 and 4.1 us on an H200 ("spmv bench" of the plans of
 * bench/results/nvidia-h100-plans.txt, with --graph and without), where "spmv tune" had found 2.24 us (3.0 on another H100) and 2.61 us for
 * the smallest: 1.07 to 1.56 times. The clock does not tell such products apart. */
#define SPMV__CALL_TIMES 1.5

/* Seconds that the clock shows of a product that is bound by its launch; 0: not known, or predictions contain launches. */
static double spmv__call_usual(const spmv_choice *c) { return SPMV__CALL_TIMES * c->call; }

/* Can the clock show that another plan is faster than one whose product takes so many seconds by it? */
static int spmv__can_be_beaten(const spmv_choice *c, double seconds) { return seconds > SPMV__SLOW * spmv__call_usual(c); }

/* Products that measuring an option is taken to cost. On a device it takes 50 or more, half of them by the plan that it is compared with,
 * but building the kernels takes longer than those, unless a product takes several milliseconds. On the host it takes one that fills the
 * caches and up to three rows of one or more. */
#define SPMV__RIVAL_PRODUCTS      7
#define SPMV__RIVAL_PRODUCTS_BASE 4 /* on the host with csr measured */

/* What the products are expected to save by measuring an option must be so many times what that costs. With csr measured, every option that
 * is not csr must pass this test, the first included. On two cores of a processor without a table of its own, preparing 45 matrices and
 * 2,000 products of each took 1.08 (f64) and 1.11 (f32) times as long as with the best plan by a limit of 1, 1.06 and 1.08 by 2, and 1.09
 * and 1.12 unchecked ("build/prepare -t" with other counts); by 4, 150 products of 20 matrices took 15 to 20% longer than by 1. */
#define SPMV__RIVAL_PAYS 2

/* How many times as high that limit becomes with each option that was measured: an assumption. Those that promise most come first, so what
 * the next one promises is the more likely to be an error, the more of them there are. */
#define SPMV__RIVAL_PAYS_MORE 1.5

/* The share of the table's error by which ratios of predictions to that of csr are taken to err, once csr is measured: in a simulation
 * with the measured times of preparing and multiplying by each option, for 32 matrices in f64 on two cores, preparing and 1,000 products
 * took 1.08, 1.09 and 1.11 times as long as with the best plan by shares of 0.4, 0.7 and 1. */
#define SPMV__ERROR_LEFT_BASE 0.4

/* The variance of an error that all predictions by a table of another device share, in units of the square of the table's: so large that
 * only ratios of predictions count. */
#define SPMV__ERROR_SHARED 1e4

/* The error of tables that do not say it, as log2: the bundled ones have 0.26 to 0.75. */
#define SPMV__ERROR_UNKNOWN 0.5

/* The correlations of tables that do not say them: between those of the bundled ones of GPUs and of CPUs. */
static const double spmv__alike_unknown[SPMV_ALIKE_COUNT] = { 0.24, 0.40, 0.75, 0.80 };

/* The scale of a logistic distribution over its standard deviation: the root of 3 over pi. */
#define SPMV__LOGISTIC 0.5513

/* The seconds of a product by an option with what uncertainty costs, but without conversion. */
static double spmv__risked_seconds(const spmv_option *o, double calls)
{
    return o->cost - o->convert / calls;
}

/* The seconds that so many products are expected to save if the faster of two is known, which take own and other seconds and whose ratio
 * errs by so many powers of two. With a logistic distribution the expectation has a closed form. */
static double spmv__expected_gain(double own, double other, double error, double calls)
{
    double scale = SPMV__LOGISTIC * error, later;
    if (!(own > 0) || !(other > 0)) return 0;
    if (!(scale > 0)) return other < own ? calls * (own - other) : 0;
    later = spmv__log2(other / own);
    return calls * own * (1 - spmv__exp2(-scale * spmv__log2(1 + spmv__exp2(-later / scale))));
}

/* What the options that were measured tell of the others. Errors of predictions, as log2, are taken to be normally distributed, with the
 * deviation and the correlations that the table says; where csr was measured first, the errors of their ratios to that of csr are. */
typedef struct spmv__outlook {
    const spmv_choice *c;
    spmv__likeness     likeness[SPMV_CHOICE_MAX], csr;
    int                count, at[SPMV_CHOICE_MAX]; /* the options that were measured, without csr if it was first */
    double             root[SPMV_CHOICE_MAX][SPMV_CHOICE_MAX]; /* of their covariances, by Cholesky: lower triangular */
    double             found[SPMV_CHOICE_MAX];     /* their errors, divided by the root */
    double             own;      /* seconds of the fastest option that was measured, csr included */
    double             error;    /* the deviation, as log2 */
    double             products; /* SPMV__RIVAL_PRODUCTS or SPMV__RIVAL_PRODUCTS_BASE */
} spmv__outlook;

/* What a plan has in common with others. room: becomes the plan. */
static spmv__likeness spmv__plan_likeness(const char *text, spmv_plan *room)
{
    spmv__likeness k;
    int i;
    memset(&k, 0, sizeof k);
    if (spmv_plan_parse(room, text, NULL, NULL)) return k;
    for (i = 0; i < room->count; i++) spmv__likeness_add(&k, &room->part[i]);
    return k;
}

/* The correlation of the errors of two predictions of different options. */
static double spmv__correlation(const spmv__outlook *k, const spmv__likeness *a, const spmv__likeness *b)
{
    return k->c->alike[spmv__how_alike(a, b)];
}

/* The covariance of the errors of two options, in units of the square of the deviation. */
static double spmv__covariance(const spmv__outlook *k, int i, int j)
{
    const double both = i == j ? 1 : spmv__correlation(k, &k->likeness[i], &k->likeness[j]);
    if (!(k->c->base > 0)) return both + (k->c->exact ? 0 : SPMV__ERROR_SHARED);
    return both + 1 - spmv__correlation(k, &k->likeness[i], &k->csr) - spmv__correlation(k, &k->likeness[j], &k->csr);
}

/* Divides the covariances of an option and those that were measured by the root. Returns what is left of its variance. */
static double spmv__divide_by_root(const spmv__outlook *k, int option, double out[SPMV_CHOICE_MAX])
{
    double left = spmv__covariance(k, option, option);
    int i, j;
    for (i = 0; i < k->count; i++) {
        out[i] = spmv__covariance(k, option, k->at[i]);
        for (j = 0; j < i; j++) out[i] -= k->root[i][j] * out[j];
        out[i] /= k->root[i][i];
        left -= out[i] * out[i];
    }
    return left;
}

/* Adds an option that was measured, unless those before it tell all of it. */
static void spmv__outlook_add(spmv__outlook *k, int option)
{
    const double least = 1e-6; /* of the variance: less is lost in rounding */
    const spmv_option *o = &k->c->option[option];
    double *row = k->root[k->count], left = spmv__divide_by_root(k, option, row);
    int j;
    if (!(left > least)) return;
    row[k->count] = spmv__square_root(left);
    k->found[k->count] = spmv__log2(o->measured / o->predicted);
    for (j = 0; j < k->count; j++) k->found[k->count] -= row[j] * k->found[j];
    k->found[k->count] /= row[k->count];
    k->at[k->count++] = option;
}

static void spmv__outlook_make(spmv__outlook *k, spmv_choice *c, const spmv_option *best)
{
    const int based = c->base > 0;
    int i;
    k->c = c;
    k->count = 0;
    k->csr = spmv__plan_likeness("csr", &c->plan);
    k->own = best->measured;
    k->error = based ? SPMV__ERROR_LEFT_BASE * c->error : c->error;
    k->products = based ? SPMV__RIVAL_PRODUCTS_BASE : SPMV__RIVAL_PRODUCTS;
    for (i = 0; i < c->count; i++) k->likeness[i] = spmv__plan_likeness(c->option[i].plan, &c->plan);
    for (i = 0; i < c->count; i++)
        if (c->option[i].measured > 0 && c->option[i].predicted > 0 && (!based || strcmp(c->option[i].plan, "csr") != 0))
            spmv__outlook_add(k, i);
}

/* Seconds that storing the matrix by an option and measuring it take, building its kernels included. */
static double spmv__rival_cost(const spmv_choice *c, const spmv_option *o, const spmv__outlook *k)
{
    const double times = c->convert_times > 0 ? c->convert_times : 1;
    return o->convert * times + k->products * o->predicted + c->build;
}

/* The fastest option that was measured; NULL: none was. */
static const spmv_option *spmv__fastest_option(const spmv_choice *c)
{
    const spmv_option *best = NULL;
    int i;
    for (i = 0; i < c->count; i++)
        if (c->option[i].measured > 0 && (!best || c->option[i].measured < best->measured)) best = &c->option[i];
    return best;
}

/* The seconds that the products are expected to save if an option is known beside the fastest that was measured. */
static double spmv__option_gain(const spmv__outlook *k, int option, double calls)
{
    const spmv_option *o = &k->c->option[option];
    double part[SPMV_CHOICE_MAX], left = spmv__divide_by_root(k, option, part), mean = 0, seconds;
    int i;
    for (i = 0; i < k->count; i++) mean += part[i] * k->found[i];
    seconds = spmv__longer(spmv__risked_seconds(o, calls) * spmv__exp2(mean), spmv__call_usual(k->c));
    return spmv__expected_gain(k->own, seconds, k->error * spmv__square_root(left), calls);
}

/* What the products must be expected to save by an option that costs so many seconds, after so many others. */
static double spmv__must_save(double cost, int before)
{
    while (before-- > 0) cost *= SPMV__RIVAL_PAYS_MORE;
    return SPMV__RIVAL_PAYS * cost;
}

/* The place of the next option to be measured beside those that were: of those for which it pays, the one that is expected to save most.
 * -1: there is none. */
static int spmv__next_rival(spmv_choice *c, const spmv_build_hints *hints)
{
    const spmv_option *best = spmv__fastest_option(c);
    const double calls = spmv__calls(hints);
    double most = 0;
    spmv__outlook k;
    int i, next = -1;
    if (!best || !(c->error > 0)) return -1;
    spmv__outlook_make(&k, c, best);
    for (i = 0; i < c->count; i++) {
        const spmv_option *o = &c->option[i];
        double cost = spmv__rival_cost(c, o, &k), gain;
        if (o->measured != 0 || !(o->predicted > 0)) continue;
        gain = spmv__option_gain(&k, i, calls);
        if (gain < spmv__must_save(cost, c->rivals) || gain - cost <= most) continue;
        most = gain - cost;
        next = i;
    }
    return next;
}

/* Is a product that takes so many seconds slow enough that csr is measured, too? */
static int spmv__is_slow(const spmv_choice *c, double seconds)
{
    return c->count && c->csr > 0 && seconds > SPMV__SLOW * spmv__longer(c->csr, spmv__call_usual(c));
}

/* Is csr worth being measured beside a product that takes so many seconds? The products must be expected to save what building
 * kernels takes, unless the check was requested. */
static int spmv__csr_pays(const spmv_choice *c, const spmv_build_hints *hints, double seconds)
{
    const int requested = hints && hints->verify == SPMV_VERIFY_ON;
    const double csr = spmv__longer(c->csr, spmv__call_usual(c));
    return spmv__is_slow(c, seconds) && (requested || spmv__calls(hints) * (seconds - csr) >= c->build);
}

/* Makes the last place csr without knobs, or the one before if the last is the fastest that was measured, and returns it. */
static int spmv__append_csr(spmv_choice *c)
{
    const spmv_option *best = spmv__fastest_option(c);
    int i = c->count < SPMV_CHOICE_MAX ? c->count++ : SPMV_CHOICE_MAX - 1;
    if (best == &c->option[i]) i--;
    memset(&c->option[i], 0, sizeof c->option[i]);
    spmv_print(c->option[i].plan, sizeof c->option[i].plan, "csr");
    c->option[i].predicted = c->option[i].cost = c->csr;
    c->option[i].convert = c->convert_csr;
    return i;
}

/* The place of the best option that is csr alone; the last place becomes csr without knobs if there is none. */
static int spmv__csr_option(spmv_choice *c)
{
    int i = 0;
    while (i < c->count && !spmv__is_csr_alone(&c->option[i])) i++;
    return i < c->count ? i : spmv__append_csr(c);
}

/* Sees to it that csr, which was measured first, is among the options. */
SPMV__SHARED void spmv__keep_base(spmv_choice *c)
{
    int i = 0;
    while (i < c->count && strcmp(c->option[i].plan, "csr")) i++;
    if (i == c->count) i = spmv__append_csr(c);
    c->option[i].measured = c->base;
}

/* Moves an option to the front. */
static void spmv__to_front(spmv_choice *c, int best)
{
    spmv_option first = c->option[best];
    int i;
    for (i = best; i > 0; i--) c->option[i] = c->option[i - 1];
    c->option[0] = first;
}

/* Measures an option by the caller's clock, unless that was done. */
static void spmv__measure_option(const spmv__chooser *c, spmv_option *o)
{
    spmv_plan *plan = &c->out->plan;
    if (o->measured != 0 || spmv_plan_parse(plan, o->plan, NULL, c->e.h)) return;
    o->measured = c->hints->measure(c->hints->measure_user, plan, o->variant);
}

/* Measures the best few options by the caller's clock and moves the fastest to the front. */
static void spmv__refine(spmv__chooser *c)
{
    spmv_choice *out = c->out;
    int n = c->hints && c->hints->measure ? c->hints->refine : 0, i, best = -1;
    for (i = 0; i < n && i < out->count; i++) {
        spmv__measure_option(c, &out->option[i]);
        if (out->option[i].measured > 0 && (best < 0 || out->option[i].measured < out->option[best].measured)) best = i;
    }
    if (best > 0) spmv__to_front(out, best);
}

/* If the first choice, which takes so many seconds, is slow, measures csr, unless that was done, and takes it if it is faster than the
 * best so far. */
static void spmv__verify_csr(spmv__chooser *c, double first)
{
    spmv_choice *out = c->out;
    int i = 0;
    while (i < out->count && !(spmv__is_csr_alone(&out->option[i]) && out->option[i].measured > 0)) i++;
    if (i == out->count) {
        if (!spmv__csr_pays(out, c->hints, out->option[0].measured)) return;
        i = spmv__csr_option(out);
        spmv__measure_option(c, &out->option[i]);
    }
    if (spmv__is_slow(out, first)) out->slow = first;
    if (out->option[i].measured > 0 && out->option[i].measured < out->option[0].measured) spmv__to_front(out, i);
}

/* Checks the choice by the caller's clock, as spmv_verify says. */
static void spmv__verify(spmv__chooser *c)
{
    spmv_choice *out = c->out;
    const spmv_option *best;
    double first;
    int csr, i;
    if (!c->hints || !c->hints->measure || !out->count || !spmv__is_checkable(c)) return;
    csr = !spmv_format_built(SPMV_CSR) || c->e.without >> SPMV_CSR & 1u || spmv__is_csr_alone(&out->option[0]);
    spmv__measure_option(c, &out->option[0]);
    first = out->option[0].measured;
    while (c->hints->refine < 1 && (best = spmv__fastest_option(out)) != NULL && spmv__can_be_beaten(out, best->measured) &&
           (i = spmv__next_rival(out, c->hints)) >= 0) {
        spmv__measure_option(c, &out->option[i]);
        out->rivals++;
        if (!(out->option[i].measured > 0)) out->option[i].measured = -1;
    }
    best = spmv__fastest_option(out);
    if (best) spmv__to_front(out, (int)(best - out->option));
    if (!csr) spmv__verify_csr(c, first);
}

/* Reads the matrix once and offers every kind of plan. */
static spmv_status spmv__choose_all(spmv__chooser *c)
{
    spmv_view v;
    spmv__look l;
    spmv__mix none;
    spmv_status s;
    /* half of the usual sample is enough where blocks that seem to pay are measured */
    const uint64_t sample = c->out->base > 0 ? spmv__smaller(1u << 14, 2048 + c->e.a->nnz / 256) : 0;
    memset(&v, 0, sizeof v);
    memset(&none, 0, sizeof none);
    v.a = c->e.a;
    v.rows = c->e.a->rows;
    s = spmv__look_make(&l, &v, c->e.h);
    if (s) return s;
    s = spmv__look_sampled(&l, &c->out->features, sample, c->e.without);
    if (!s) s = spmv__find_csr(c, &l, &c->out->features);
    if (!s) s = spmv__offer_singles(c, &l, &c->out->features, 0);
    if (!s) s = spmv__offer_flat(c, &l, &c->out->features, &none);
    if (!s) s = spmv__offer_singles(c, &l, &c->out->features, 1);
    if (!s && c->flat > 0) s = spmv__offer_prefixes(c, &l, &c->out->features);
    if (!s) s = spmv__offer_builders(c, &l, &c->out->features);
    if (!s) s = spmv__offer_panels(c, &l, &c->out->features);
    if (!s) s = spmv__count_best(c, &l);
    spmv__look_free(&l);
    if (!s) spmv__refine(c);
    if (!s) spmv__verify(c);
    return s;
}

/* The bits of the formats that may not be used. */
static unsigned spmv__unusable(const spmv__estimator *e)
{
    unsigned bits = 0;
    int f;
    for (f = 0; f < SPMV_FORMAT_COUNT; f++)
        if (!spmv__usable(e, (spmv_format)f)) bits |= 1u << f;
    return bits;
}

/* Makes the plan of the best option, or, if the table has nothing for any, of one part in a format that may be used. */
static spmv_status spmv__take_best(spmv__chooser *c)
{
    spmv_choice *out = c->out;
    spmv_format last;
    spmv_status s;
    if (out->count) {
        memcpy(out->variant, out->option[0].variant, sizeof out->variant);
        return spmv_plan_parse(&out->plan, out->option[0].plan, NULL, c->e.h);
    }
    s = spmv__last_format(&last, spmv__unusable(&c->e), c->e.h);
    return s ? s : spmv_plan_parse(&out->plan, spmv_format_name(last), NULL, c->e.h);
}

/* ---- cocktail ---------------------------------------------------------------------------------------------------------
 * spmv_cocktail.h has the policies; here are the rates by which they go. */

/* The row of the table that is the fastest for a layout of the cocktail: among those of its kernels' variants on banded matrices, which the
 * paper benchmarks (5.1), or on the next kind if a table has none on these. NULL: the table has none. */
static const spmv_tune_row *spmv__cocktail_row(const spmv__estimator *e, const spmv_spec *layout, double rows, double per_row, double *rate)
{
    const spmv_tune_row *best = NULL;
    size_t i;
    int kind;
    *rate = 0;
    for (kind = 0; kind < SPMV_TUNE_KIND_COUNT && !best; kind++)
        for (i = 0; i < e->t->count; i++) {
            const spmv_tune_row *r = &e->t->row[i];
            spmv_spec same = r->layout;
            double v;
            if (r->type != e->rates || (int)r->kind != kind || same.format != layout->format || spmv__height(&same) != spmv__height(layout))
                continue;
            if (spmv__is_block(same.format) && (spmv__block_height(&same) != spmv__block_height(layout) ||
                                                spmv__block_width(&same) != spmv__block_width(layout))) continue;
            same.key[SPMV_KEY_H] = same.key[SPMV_KEY_B] = 0;
            if (spmv__has_keys(&same)) continue; /* layouts that the paper does not have: csr:run, idx=16, sorted rows */
            v = spmv_tuning_rate(e->t, r, rows, per_row);
            if (v <= *rate) continue;
            *rate = v;
            best = r;
        }
    return best;
}

/* spmv_cocktail_rate: the highest rate of any variant, as the table has it. */
static double spmv__cocktail_rate_of(void *user, const spmv_spec *layout, double rows, double per_row)
{
    double rate;
    spmv__cocktail_row((const spmv__estimator *)user, layout, rows, per_row, &rate);
    return rate;
}

/* Copies the cocktail into the choice, as its one option, with the fastest variant of each part. */
static spmv_status spmv__take_cocktail(spmv__chooser *c, const spmv_cocktail *made)
{
    spmv_choice *out = c->out;
    spmv_option *o = out->option;
    double rows = (double)c->e.a->rows, rate;
    spmv__text t;
    int i;
    spmv_spec csr;
    memset(&csr, 0, sizeof csr);
    csr.format = SPMV_CSR;
    spmv__cocktail_row(&c->e, &csr, rows, (double)c->e.a->nnz / rows, &rate);
    out->csr = rate > 0 ? 2e-9 * (double)c->e.a->nnz / rate : 0;
    out->plan = made->plan;
    memcpy(out->steps, made->steps, sizeof out->steps);
    spmv__text_open(&t, o->variant, sizeof o->variant);
    for (i = 0; i < made->plan.count; i++) {
        const spmv_tune_row *r = spmv__cocktail_row(&c->e, &made->plan.part[i], rows, made->per_row[i], &rate);
        if (i) spmv__put_char(&t, '+');
        spmv__put_text(&t, r ? r->variant : "");
        o->convert += spmv__fill_seconds(c->e.t, c->e.how->type, &made->plan.part[i], made->per_row[i] * rows);
        if (i) o->convert += spmv__part_seconds(c->e.t, (double)c->e.a->nnz);
        else o->convert += spmv__pass_seconds(c->e.t, c->e.how->type, (double)c->e.a->nnz);
    }
    if (spmv__text_close(&t) >= sizeof o->variant || spmv_plan_print(&made->plan, o->plan, sizeof o->plan) >= sizeof o->plan)
        return spmv_log(c->e.h, SPMV_ERR_PLAN, "the text of the cocktail's plan is too long");
    memcpy(out->variant, o->variant, sizeof out->variant);
    o->predicted = o->cost = made->seconds > 0 ? made->seconds : 0;
    out->count = 1;
    return SPMV_OK;
}

/* Makes the plan by the policies of clSpMV. keys: what the text "cocktail" sets, else zero. */
static spmv_status spmv__choose_cocktail(spmv__chooser *c, const spmv_cocktail_desc *keys)
{
    const spmv_type *order = spmv__rates_order[c->e.how->type];
    spmv_cocktail_desc d;
    void *block;
    spmv_status s = spmv__new(c->e.h, &block, 1, sizeof(spmv_cocktail), 0);
    int i;
    size_t k;
    if (s) return s;
    for (i = SPMV__RATES - 1; i >= 0; i--) /* the first of these types that the table has */
        for (k = 0; k < c->e.t->count; k++)
            if (c->e.t->row[k].type == order[i]) c->e.rates = order[i];
    d = *keys;
    d.rate = spmv__cocktail_rate_of;
    d.user = &c->e;
    if (!d.groups) d.groups = c->e.t->units;
    d.most_slots = (uint64_t)c->e.limit / spmv_value_size(c->e.how->type) + 1;
    d.without |= spmv__unusable(&c->e);
    c->out->features.rows = c->e.a->rows;
    c->out->features.cols = c->e.a->cols;
    c->out->features.nnz = c->e.a->nnz;
    s = spmv_cocktail_make((spmv_cocktail *)block, c->e.a, &d, c->e.h);
    if (!s) s = spmv__take_cocktail(c, (const spmv_cocktail *)block);
    spmv_free(c->e.h, block);
    return s;
}

/* Is the matrix too small for "auto" to look at it (1), or too small for as few products as are expected (2)? Not on a GPU unless it is
 * empty, and not if the hints have a table or a clock to use, or exclude csr. */
static int spmv__is_tiny(const spmv_csr *a, spmv_device_class device_class, const spmv_build_hints *hints)
{
    const double calls = spmv__calls(hints), bytes = (double)spmv__csr_bytes(a), most = (double)SPMV_TINY_BYTES;
    const double usual = (double)SPMV_EXPECTED_CALLS;
    if (a->nnz && device_class == SPMV_DEVICE_CLASS_GPU) return 0;
    if (!spmv_format_built(SPMV_CSR)) return 0;
    if (hints && (hints->tuning || (hints->measure && hints->refine > 0) || (hints->without >> SPMV_CSR & 1u))) return 0;
    if (bytes <= most) return 1;
    return calls < (double)SPMV_FEW_CALLS || bytes * calls <= most * usual ? 2 : 0;
}

/* ---- a matrix on a device that is not worth a look ------------------------------------------------------------------- */

/* The shares that a look is expected to save: of the time beyond what the slots of padded rows take to be read, or at least of the time
 * itself. On an H200 in f32 (bench/results/nvidia-h200-plans.txt), the best plans of cantilever, protein, qcd, spheres and wind_tunnel,
 * whose rows are even, save 0.6 and more of the former; those of matrices with uneven rows save 0 to 0.1 of the time of tcsr. */
#define SPMV__LOOK_SAVES       0.8
#define SPMV__LOOK_SAVES_LEAST 0.1

/* How much a row of a table tells of its format without keys and knobs. 3: it is of that. 2: it has knobs. 1: it has keys, perhaps with
 * knobs. 0: nothing, because its columns have another width or its rows another order. */
static int spmv__tells_of_plain(const spmv_tune_row *r)
{
    if (r->layout.key[SPMV_KEY_IDX] || r->layout.key[SPMV_KEY_ROWS]) return 0;
    return spmv__has_keys(&r->layout) ? 1 : *r->variant ? 2 : 3;
}

/* Makes the candidate of a format without keys and knobs from the rows of a type; what a thinned table lacks of it is taken from the
 * format's other rows. 0: the table has nothing for the format in this type. */
static int spmv__plain_candidate(const spmv_tuning *t, spmv_format format, spmv_type type, spmv__candidate *k)
{
    int most = 0, tells[SPMV_TUNE_KIND_COUNT] = { 0 };
    size_t i;
    memset(k, 0, sizeof *k);
    for (i = 0; i < t->count; i++) {
        const spmv_tune_row *r = &t->row[i];
        const int told = spmv__tells_of_plain(r);
        if (r->layout.format != format || r->type != type || !r->curve || told <= tells[r->kind]) continue;
        tells[r->kind] = told;
        k->kind[r->kind] = r;
        k->times[r->kind] = 1;
        if (told <= most) continue;
        most = told;
        k->layout = &r->layout;
        k->variant = r->variant;
    }
    if (most) k->fit = spmv__fit_of(t, type, k);
    return most;
}

/* Predicted seconds of a product in a format without keys, with a matrix of which nothing is known but its size and the slots. 0: the table
 * has nothing for the format. */
static double spmv__seconds_by_size(const spmv_tuning *t, const spmv_csr *a, const spmv_build *how, spmv_format format, double slots)
{
    spmv__estimator e;
    spmv__candidate k;
    spmv__load l;
    int i, found = 0;
    memset(&e, 0, sizeof e);
    memset(&l, 0, sizeof l);
    e.a = a;
    e.how = how;
    e.t = t;
    for (i = 0; i < SPMV__RATES && !found; i++) {
        e.rates = spmv__rates_order[how->type][i];
        found = spmv__plain_candidate(t, format, e.rates, &k);
    }
    if (!found) return 0;
    e.scale = 1;
    e.cache = t->cache;
    e.read = t->read;
    l.rows = (double)a->rows;
    l.nnz = (double)a->nnz;
    l.slots = slots;
    l.longest = slots / l.rows;
    l.gather = 0.5; /* between banded and scattered */
    return spmv__cost(&e, &k, &l);
}

/* Finds out whether a matrix on a GPU is not worth a look by the host, as the products that are expected cannot save what it takes. Returns
 * the text of the plan to store it by, one for which the host needs neither columns nor row pointers, or NULL: it is worth a look.
 *   a       rows, columns and nonzeros of the matrix, none of them 0
 *   padded  the slots of sell for each nonzero */
SPMV__SHARED const char *spmv__plan_unseen(const spmv_tuning *t, const spmv_csr *a, const spmv_build *how, const spmv_build_hints *hints,
                                           double padded)
{
    const double nnz = (double)a->nnz, rows = (double)a->rows, value = (double)spmv_value_size(how->type);
    const double vectors = (rows + (double)a->cols) * (double)spmv_vector_size(how->type);
    const double tcsr = spmv__seconds_by_size(t, a, how, SPMV_TCSR, nnz), sell = spmv__seconds_by_size(t, a, how, SPMV_SELL, padded * nnz);
    const double least = t->launch + spmv__peak_seconds(t, padded * nnz * value + vectors), own = sell < tcsr ? sell : tcsr;
    const double saves = spmv__longer(SPMV__LOOK_SAVES * (own - least), SPMV__LOOK_SAVES_LEAST * own);
    const double look = spmv__look_seconds(t, 4 * nnz + 8 * rows);
    if (t->device_class != SPMV_DEVICE_CLASS_GPU || !(tcsr > 0) || !(sell > 0)) return NULL;
    return spmv__calls(hints) * saves > look ? NULL : sell < tcsr ? "sell" : "tcsr";
}

/* spmv_choose; base: that of the choice. */
static spmv_status spmv__choose(spmv_choice *out, const char *text, const spmv_csr *a, const spmv_build *how, const spmv_target *target,
                                const spmv_build_hints *hints, int *column, const spmv_hooks *hooks, double base)
{
    spmv__chooser c;
    spmv_cocktail_desc keys;
    spmv_status s;
    int cocktail = text && spmv__is_cocktail(text);
    memset(out, 0, sizeof *out);
    out->base = base;
    if (column) *column = 0;
    if (text && !cocktail && !spmv__is_auto(text)) return spmv_plan_make(&out->plan, text, a, hints, column, hooks);
    memset(&keys, 0, sizeof keys);
    if (cocktail) {
        s = spmv_cocktail_keys(&keys, text, column, hooks);
        if (s) return s;
    }
    out->tiny = cocktail ? 0 : spmv__is_tiny(a, target ? target->device_class : SPMV_DEVICE_CLASS_HOST, hints);
    if (out->tiny) return spmv_plan_parse(&out->plan, "csr", column, hooks);
    memset(&c, 0, sizeof c);
    c.hints = hints;
    c.out = out;
    s = spmv__estimator_make(&c.e, a, how, target, hints ? hints->tuning : NULL, hints ? hints->without : 0, hooks);
    if (!s) memcpy(out->table, c.e.t->device, sizeof out->table);
    if (!s) out->build = spmv__build_seconds(c.e.t);
    if (!s) out->call = c.e.t->call;
    out->exact = c.e.exact;
    if (!s) {
        out->error = c.e.t->left_out > 0 ? c.e.t->left_out : SPMV__ERROR_UNKNOWN;
        memcpy(out->alike, c.e.t->alike[SPMV_ALIKE_LAYOUT] > 0 ? c.e.t->alike : spmv__alike_unknown, sizeof out->alike);
    }
    if (!s && cocktail) s = spmv__choose_cocktail(&c, &keys);
    if (!s && !cocktail) s = spmv__find_candidates(&c.e);
    if (!s && !cocktail && a->nnz) s = spmv__choose_all(&c);
    if (!s && !cocktail) s = spmv__take_best(&c);
    spmv__estimator_free(&c.e);
    if (s) memset(out, 0, sizeof *out);
    return s;
}

SPMV_API spmv_status spmv_choose(spmv_choice *out, const char *text, const spmv_csr *a, const spmv_build *how, const spmv_target *target,
                                 const spmv_build_hints *hints, int *column, const spmv_hooks *hooks)
{
    if (out && a && how) return spmv__choose(out, text, a, how, target, hints, column, hooks, 0);
    if (column) *column = 0;
    return spmv__null(hooks, "spmv_choose", !out ? "out" : !a ? "a" : "how", out, sizeof *out);
}

/* ---- why ------------------------------------------------------------------------------------------------------------ */

#define SPMV__SAY(t, ...)                                   \
    do {                                                    \
        char said_[3 * SPMV_CHOICE_TEXT];                   \
        spmv_print(said_, sizeof said_, __VA_ARGS__);       \
        spmv__put_text(t, said_);                           \
    } while (0)

/* Writes the lines about the matrix. */
static void spmv__explain_features(spmv__text *t, const spmv_features *f)
{
    const double filled = (double)(f->rows - f->empty); /* rows, of which the deviation is */
    double dense = 0, fill;
    int i, bin, any = 0, sampled = 0;
    SPMV__SAY(t, "matrix    %llu x %llu, %llu nonzeros\n", (spmv__ull)f->rows, (spmv__ull)f->cols, (spmv__ull)f->nnz);
    SPMV__SAY(t, "rows      %.*f nonzeros in each that is not empty, deviation %.*f, longest %llu, %llu empty\n",
              SPMV__FIGURE(filled > 0 ? (double)f->nnz / filled : 0), SPMV__FIGURE(f->deviation), (spmv__ull)f->longest,
              (spmv__ull)f->empty);
    SPMV__SAY(t, "x         %.2f of the reads miss a cache of 16384 elements\n", f->gather);
    for (bin = SPMV_FILL_BINS / 2; bin <= SPMV_FILL_BINS; bin++) dense += f->diagonal_nnz[bin];
    if (f->diagonals)
        SPMV__SAY(t, "diagonals %llu%s; those at least half full hold %.2f of the nonzeros", (spmv__ull)f->diagonals,
            f->diagonals_sampled ? " in a sample" : "", f->nnz ? dense / (double)f->nnz : 0.0);
    if (f->diagonals && f->diagonals_sampled) SPMV__SAY(t, " (standard error of a diagonal's fill: up to %.2f)", f->diagonals_error);
    if (f->diagonals) spmv__put_char(t, '\n');
    for (i = 0; i < SPMV_BLOCK_SIZES; i++) {
        const spmv_block_features *b = &f->block[i];
        if (b->sampled <= 0 || b->blocks <= 0) continue;
        fill = (double)f->nnz / (b->blocks * (double)(b->bh * b->bw));
        SPMV__SAY(t, "%s%dx%d %.2f", any++ ? ", " : "blocks    filled to: ", b->bh, b->bw, fill);
        if (b->error > 0) SPMV__SAY(t, " +-%.2f", fill * b->error);
        sampled = sampled || b->error > 0;
    }
    if (sampled) spmv__put_text(t, " (the most that the standard errors are)");
    if (any) spmv__put_text(t, "\n");
}

/* X(IDENT, "head", "unit", width): the columns of numbers in the table of options; the plan and its variant follow them. */
#define SPMV__EXPLAIN_LIST(X)                      \
    X(COST,      "cost",       "us",           10) \
    X(PREDICTED, "predicted",  "us",           11) \
    X(MEASURED,  "measured",   "us",           11) \
    X(SPEED,     "vs csr",     "times",         8) \
    X(CONVERT,   "convert",    "csr products", 14) \
    X(PAYS,      "pays after", "products",     12)

enum {
#define X(ID, head, unit, width) SPMV__EXPLAIN_##ID,
    SPMV__EXPLAIN_LIST(X)
#undef X
    SPMV__EXPLAIN_COLUMNS
};

static const struct {
    const char *head, *unit;
    size_t width;
} spmv__explain_column[SPMV__EXPLAIN_COLUMNS] = {
#define X(ID, head, unit, width) { head, unit, width },
    SPMV__EXPLAIN_LIST(X)
#undef X
};

static void spmv__put_spaces(spmv__text *t, size_t n)
{
    while (n--) spmv__put_char(t, ' ');
}

/* Writes s at the right of its column. */
static void spmv__put_cell(spmv__text *t, int column, const char *s)
{
    size_t n = strlen(s), width = spmv__explain_column[column].width;
    spmv__put_spaces(t, n < width ? width - n : 1);
    spmv__put_text(t, s);
}

/* Writes a figure, or - if it is not known. */
static void spmv__put_figure_cell(spmv__text *t, int column, double v, int known)
{
    char s[32] = "-";
    if (known) spmv_print(s, sizeof s, "%.*f", SPMV__FIGURE(v));
    spmv__put_cell(t, column, s);
}

static const char *spmv__option_variant(const spmv_option *o) { return o->variant[strspn(o->variant, "+")] ? o->variant : ""; }

/* The least gain that counts, as a share of csr's time: below it the three printed digits do not differ. */
#define SPMV__GAIN_SHOWS 0.001

/* The number of products after which the gain over csr has paid for the longer conversion; own and csr in seconds. 0: it never does. */
static uint64_t spmv__pays_after(const spmv_choice *c, double convert, double own, double csr)
{
    double gain = csr - own, more = convert - c->convert_csr;
    if (gain <= csr * SPMV__GAIN_SHOWS) return 0;
    return more > 0 ? (uint64_t)(more / gain) + 1 : 1;
}

/* The length of the longest plan that has a variant; 0: none has. */
static size_t spmv__explain_plan_width(const spmv_choice *c)
{
    size_t widest = 0, n;
    int i;
    for (i = 0; i < c->count; i++) {
        n = strlen(c->option[i].plan);
        if (*spmv__option_variant(&c->option[i]) && n > widest) widest = n;
    }
    return widest;
}

/* Writes the two lines above the table: heads and units. */
static void spmv__explain_heading(spmv__text *t, size_t plan_width)
{
    int i;
    spmv__put_char(t, ' ');
    for (i = 0; i < SPMV__EXPLAIN_COLUMNS; i++) spmv__put_cell(t, i, spmv__explain_column[i].head);
    spmv__put_text(t, "  plan");
    if (plan_width) {
        spmv__put_spaces(t, plan_width > 4 ? plan_width - 4 : 0);
        spmv__put_text(t, "  variant");
    }
    spmv__put_text(t, "\n ");
    for (i = 0; i < SPMV__EXPLAIN_COLUMNS; i++) spmv__put_cell(t, i, spmv__explain_column[i].unit);
    spmv__put_char(t, '\n');
}

/* Writes the line of one option; * marks the chosen one. */
static void spmv__explain_option(spmv__text *t, const spmv_choice *c, const spmv_option *o, size_t plan_width)
{
    uint64_t pays = spmv__pays_after(c, o->convert, o->predicted, c->csr);
    size_t n = strlen(o->plan);
    char s[32] = "-";
    spmv__put_char(t, o == c->option ? '*' : ' ');
    spmv__put_figure_cell(t, SPMV__EXPLAIN_COST, o->cost * 1e6, 1);
    spmv__put_figure_cell(t, SPMV__EXPLAIN_PREDICTED, o->predicted * 1e6, 1);
    if (o->measured < 0) spmv__put_cell(t, SPMV__EXPLAIN_MEASURED, "cannot run");
    else spmv__put_figure_cell(t, SPMV__EXPLAIN_MEASURED, o->measured * 1e6, o->measured > 0);
    spmv__put_figure_cell(t, SPMV__EXPLAIN_SPEED, c->csr / o->predicted, c->csr > 0);
    spmv__put_figure_cell(t, SPMV__EXPLAIN_CONVERT, c->csr > 0 ? o->convert / c->csr : 0, c->csr > 0);
    if (pays) spmv_print(s, sizeof s, "%llu", (spmv__ull)pays);
    spmv__put_cell(t, SPMV__EXPLAIN_PAYS, s);
    spmv__put_text(t, "  ");
    spmv__put_text(t, o->plan);
    if (*spmv__option_variant(o)) {
        spmv__put_spaces(t, plan_width > n ? plan_width - n : 0);
        SPMV__SAY(t, "  %s", o->variant);
    }
    spmv__put_char(t, '\n');
}

/* Writes the table, the least cost first. The chosen option, which is first in c->option, may stand further down after refining. */
static void spmv__explain_table(spmv__text *t, const spmv_choice *c)
{
    const spmv_option *order[SPMV_CHOICE_MAX];
    size_t plan_width = spmv__explain_plan_width(c);
    int i, at;
    for (i = 0; i < c->count; i++) {
        for (at = i; at > 0 && order[at - 1]->cost > c->option[i].cost; at--) order[at] = order[at - 1];
        order[at] = &c->option[i];
    }
    spmv__explain_heading(t, plan_width);
    for (i = 0; i < c->count; i++) spmv__explain_option(t, c, order[i], plan_width);
}

/* The seconds that the sentence uses: measured if the choice was made by measuring, else predicted. */
static double spmv__option_seconds(const spmv_option *o, int measured) { return measured ? o->measured : o->predicted; }

/* The fastest measured option apart from the chosen one; with csr, the fastest that is csr alone. NULL: there is none. */
static const spmv_option *spmv__fastest_measured(const spmv_choice *c, int csr)
{
    const spmv_option *best = NULL;
    int i;
    for (i = 1; i < c->count; i++) {
        const spmv_option *o = &c->option[i];
        if (csr && !spmv__is_csr_alone(o)) continue;
        if (o->measured > 0 && (!best || o->measured < best->measured)) best = o;
    }
    return best;
}

static void spmv__say_option(spmv__text *t, const spmv_option *o)
{
    SPMV__SAY(t, "%s%s%s", o->plan, *spmv__option_variant(o) ? " / " : "", spmv__option_variant(o));
}

/* Writes " 1.25 times the speed of the second, dia (51.5 us)"; own: seconds of the chosen option. */
static void spmv__say_second(spmv__text *t, const spmv_option *second, double own, int measured)
{
    double other = spmv__option_seconds(second, measured);
    SPMV__SAY(t, " %.*f times the speed of the second, ", SPMV__FIGURE(other / own));
    spmv__say_option(t, second);
    SPMV__SAY(t, " (%.*f us)", SPMV__FIGURE(other * 1e6));
}

/* Writes one sentence: what the choice gains over csr and over the second option, what preparing costs and when that pays. */
static void spmv__explain_reason(spmv__text *t, const spmv_choice *c)
{
    const spmv_option *o = &c->option[0], *second = spmv__fastest_measured(c, 0), *timed_csr = spmv__fastest_measured(c, 1);
    int measured = o->measured > 0 && second, is_csr = spmv__is_csr_alone(o), beside_csr;
    double own = spmv__option_seconds(o, measured), csr = measured && timed_csr ? timed_csr->measured : c->csr;
    uint64_t pays = spmv__pays_after(c, o->convert, own, csr);
    if (!measured) second = c->count > 1 ? &c->option[1] : NULL;
    beside_csr = csr > 0 && !is_csr && !(second && spmv__is_csr_alone(second));
    spmv__put_char(t, '\n');
    spmv__say_option(t, o);
    spmv__put_text(t, " was chosen because ");
    if (second && spmv__option_seconds(second, measured) < own)
        SPMV__SAY(t, "it ranks at a cost of %.*f us and the second at %.*f us, though ", SPMV__FIGURE(o->cost * 1e6),
                  SPMV__FIGURE(second->cost * 1e6));
    SPMV__SAY(t, "a product is %s to take %.*f us", measured ? "measured" : "predicted", SPMV__FIGURE(own * 1e6));
    if (beside_csr)
        SPMV__SAY(t, ", %.*f times the speed of csr (%.*f us%s)", SPMV__FIGURE(csr / own), SPMV__FIGURE(csr * 1e6),
                  measured && !timed_csr ? " predicted" : "");
    if (second) spmv__put_text(t, beside_csr ? " and" : ",");
    if (second) spmv__say_second(t, second, own, measured);
    if (c->csr > 0) SPMV__SAY(t, "; preparing takes about %.*f products of csr", SPMV__FIGURE(o->convert / c->csr));
    else SPMV__SAY(t, "; preparing takes about %.*f us", SPMV__FIGURE(o->convert * 1e6));
    if (pays && !is_csr) SPMV__SAY(t, ", which pays after %llu products", (spmv__ull)pays);
    else if (csr > 0 && !is_csr) spmv__put_text(t, ", which does not pay, as csr is no slower");
    spmv__put_text(t, ".\n");
}

/* Says what the check by the clock found. */
static void spmv__explain_check(spmv__text *t, const spmv_choice *c)
{
    const spmv_option *o = &c->option[0];
    if (c->rivals)
        SPMV__SAY(t, "%d further option%s measured, as the products were expected to save more than that costs; the table errs by a factor "
                  "of %.2f.\n", c->rivals, c->rivals > 1 ? "s were" : " was", spmv__exp2(c->error));
    if (!(c->slow > 0)) return;
    if (spmv__is_csr_alone(o))
        SPMV__SAY(t, "The first choice took %.*f us, more than %.2f times what csr was predicted to take, so csr was measured, which is "
                  "faster.\n", SPMV__FIGURE(c->slow * 1e6), SPMV__SLOW);
    else SPMV__SAY(t, "It took %.*f us, more than %.2f times what csr was predicted to take, so csr was measured, which is no faster.\n",
                   SPMV__FIGURE(c->slow * 1e6), SPMV__SLOW);
}

/* Writes every inequality of the cocktail, and the plan. */
static void spmv__explain_cocktail(spmv__text *t, const spmv_choice *c)
{
    const spmv_option *o = c->option;
    SPMV__SAY(t, "matrix    %llu x %llu, %llu nonzeros\n", (spmv__ull)c->features.rows, (spmv__ull)c->features.cols,
              (spmv__ull)c->features.nnz);
    SPMV__SAY(t, "table     %s%s\n", c->table, c->exact ? "" : ", not the device's own");
    spmv__put_text(t, c->steps);
    spmv__put_char(t, '\n');
    spmv__say_option(t, o);
    spmv__put_text(t, " is the plan by the policies of clSpMV");
    if (o->predicted > 0) SPMV__SAY(t, "; by the table's rates a product takes %.*f us", SPMV__FIGURE(o->predicted * 1e6));
    if (o->predicted > 0 && c->csr > 0) SPMV__SAY(t, ", and with csr %.*f us", SPMV__FIGURE(c->csr * 1e6));
    spmv__put_text(t, ".\n");
}

SPMV_API size_t spmv_explain(const spmv_choice *c, char *out, size_t size)
{
    if (!c) return spmv_print(out, size, "%s", "");
    spmv__text t;
    spmv__text_open(&t, out, size);
    if (c->tiny > 1) return spmv_print(out, size, "plan      csr: the products that are expected cost less than a choice would\n");
    if (c->tiny)
        return spmv_print(out, size, "plan      csr: a matrix of up to %d bytes costs less than a choice would\n", (int)SPMV_TINY_BYTES);
    if (!c->count) return spmv_print(out, size, "plan      as it was given\n");
    if (c->steps[0]) {
        spmv__explain_cocktail(&t, c);
        return spmv__text_close(&t);
    }
    spmv__explain_features(&t, &c->features);
    SPMV__SAY(&t, "table     %s%s\n", c->table, c->exact ? "" : ", not the device's own");
    if (c->csr > 0) SPMV__SAY(&t, "csr       %.*f us %s\n", SPMV__FIGURE(c->csr * 1e6),
                              c->base > 0 ? "measured" : "predicted, with the keys that are best");
    if (c->call > c->option[0].predicted)
        SPMV__SAY(&t, "launch    at least %.*f us a product, unless products are recorded in a graph\n", SPMV__FIGURE(c->call * 1e6));
    spmv__put_char(&t, '\n');
    spmv__explain_table(&t, c);
    spmv__explain_reason(&t, c);
    spmv__explain_check(&t, c);
    return spmv__text_close(&t);
}
#endif /* SPMV_IMPLEMENTATION */
