/* SPDX-License-Identifier: MIT
 *
 * tools/spmv.c - the command line. One unit:
 *
 *     cc -std=c99 -D_POSIX_C_SOURCE=200809L -O2 -I. tools/spmv.c -o build/spmv -lOpenCL -lz
 *
 * (add -fopenmp for products on all cores; -DSPMV_REPRODUCIBLE, with -lm, for --reproducible on the host;
 * -DSPMV_NO_OPENCL, without -lOpenCL, for a build without OpenCL; -DSPMV_CAIRO and what "pkg-config --cflags --libs cairo" prints,
 * with -lm, for pictures).
 */
#if !defined(_POSIX_C_SOURCE)
#  define _POSIX_C_SOURCE 200809L
#endif
#ifndef SPMV_STATIC
#  define SPMV_STATIC
#endif
#define SPMV_IMPLEMENTATION
#include "spmv.h"
#include "spmv_auto.h"
#include "spmv_io.h"

#include "cli.h"
#include "files.h"
#include "suite.h"
#include "info.h"
#include "run.h"
#include "bench.h"
#include "check.h"
#include "tune.h"
#include "pictures.h"

/* ---- info, convert, gen ---------------------------------------------------------------------------------------- */

static int info_command(tool *t, const arguments *args)
{
    spmv_csr a;
    int result;
    if (load_matrix(t, args->file[0], SPMV_TYPE_COUNT, &a) != DONE) return FAILED;
    t->about = args->file[0];
    result = info_print(t, &a, args->file[0]);
    spmv_csr_free(&a);
    return result;
}

static int convert_command(tool *t, const arguments *args)
{
    int result = DONE;
    spmv_type type = args->value[OPT_TYPE] ? option_type(t, args, &result) : SPMV_TYPE_COUNT;
    spmv_csr a;
    if (result != DONE) return result;
    if (load_matrix(t, args->file[0], type, &a) != DONE) return FAILED;
    result = save_matrix(t, args->file[1], &a);
    spmv_csr_free(&a);
    return result;
}

static int gen_command(tool *t, const arguments *args)
{
    spmv_csr a;
    int result;
    if (args->value[OPT_LIST]) {
        list_families();
        return DONE;
    }
    result = generate(t, args->file[0], &a);
    if (result != DONE) return result;
    result = save_matrix(t, args->value[OPT_OUT], &a);
    spmv_csr_free(&a);
    return result;
}

/* ---- plan ------------------------------------------------------------------------------------------------------ */

/* One line: what the part takes and, if it can be stored, its bytes and padding. */
static int print_part(tool *t, const spmv_split *split, const spmv_plan *plan, const spmv_csr *a, int i,
                      const spmv_build *how)
{
    spmv_plan *one = (spmv_plan *)calloc(1, sizeof *one);
    spmv_view view = spmv_split_view(split, a, i);
    spmv_part part;
    char text[256];
    if (!one) return no_memory(t);
    one->count = 1;
    one->part[0] = plan->part[i];
    spmv_plan_print(one, text, sizeof text);
    free(one);
    printf("%-32s %12llu %14llu %7.2f%%", text, (unsigned long long)split->rows[i], (unsigned long long)split->nnz[i],
           share(split->nnz[i], a->nnz));
    t->about = text;
    fflush(stdout);
    if (spmv_part_build(&part, &plan->part[i], &view, how, &t->hooks) != SPMV_OK) {
        puts("         refused");
        return FAILED;
    }
    printf(" %15llu", (unsigned long long)spmv_part_bytes(&part));
    if (split->nnz[i]) printf(" %9.4f\n", (double)spmv_part_slots(&part) / (double)split->nnz[i] - 1);
    else puts("         -");
    spmv_part_free(&part);
    return DONE;
}

static void explain(const spmv_choice *c)
{
    static char text[SPMV_CHOICE_MAX * 2 * SPMV_CHOICE_TEXT];
    spmv_explain(c, text, sizeof text);
    puts(text);
}

static int print_plan(tool *t, const char *variant, const spmv_plan *plan, const spmv_csr *a, const spmv_build *how)
{
    static char text[SPMV_PLAN_TEXT];
    spmv_split split;
    int i, result = DONE;
    if (spmv_split_make(&split, plan, a, &t->hooks) != SPMV_OK) return FAILED;
    spmv_plan_print(plan, text, sizeof text);
    printf("plan    %s%s%s\n", text, variant[strspn(variant, "+")] ? "/" : "", variant[strspn(variant, "+")] ? variant : "");
    spmv_split_print(&split, plan, text, sizeof text);
    printf("shares  %s\n\n", text);
    printf("%-32s %12s %14s %8s %15s %9s\n", "part", "rows", "nonzeros", "share", "bytes", "padding");
    for (i = 0; i < split.count; i++)
        if (print_part(t, &split, plan, a, i, how) != DONE) result = FAILED;
    spmv_split_free(&split);
    return result;
}

static int plan_command(tool *t, const arguments *args)
{
    const char *text = args->value[OPT_BUILDER] ? args->value[OPT_BUILDER] : "auto";
    int result = DONE;
    spmv_choice *choice;
    spmv_build_hints hints;
    spmv_tuning table;
    measurer me;
    spmv_desc desc;
    spmv_build how;
    spmv_place place;
    spmv_csr a;
    memset(&desc, 0, sizeof desc);
    memset(&how, 0, sizeof how);
    desc.type = how.type = option_type(t, args, &result);
    how.strict = args->value[OPT_STRICT] != NULL;
    if (result == DONE) result = plan_is_text(t, "builder", text);
    if (result == DONE) result = choice_options(t, args, &hints, &table);
    if (result != DONE) return result;
    memset(&a, 0, sizeof a);
    choice = (spmv_choice *)malloc(sizeof *choice);
    result = choice ? device_open(t, args->value[OPT_DEVICE], &desc.device) : no_memory(t);
    if (result == DONE) result = load_matrix(t, args->file[0], desc.type, &a);
    desc.csr = &a;
    desc.hooks = t->hooks;
    t->about = text;
    if (result == DONE) {
        place = device_place(desc.device);
        progress_name(t, "planning", text);
        result = measurer_make(&me, t, &desc, &hints);
        if (result == DONE && spmv_choose(choice, text, &a, &how, &place, &me.hints, NULL, &t->hooks) != SPMV_OK) result = FAILED;
        progress_clear(t);
        if (result == DONE && args->value[OPT_EXPLAIN]) explain(choice);
        if (result == DONE) result = print_plan(t, choice->variant, &choice->plan, &a, &how);
        measurer_free(&me);
    }
    free(choice);
    device_close(desc.device);
    spmv_tuning_free(&table);
    spmv_csr_free(&a);
    return result;
}

/* ---- mul ------------------------------------------------------------------------------------------------------- */

typedef struct product {
    spmv_desc    desc;
    spmv_csr     a;
    spmv_device *device;
    void        *x, *y;
    double       alpha, beta;
} product;

static void product_free(tool *t, product *p)
{
    spmv_free(&t->hooks, p->x);
    spmv_free(&t->hooks, p->y);
    spmv_csr_free(&p->a);
    device_close(p->device);
}

/* What can be known to be wrong without reading a file. */
static int product_options(tool *t, const arguments *args, product *p)
{
    int result = DONE;
    memset(p, 0, sizeof *p);
    p->desc.type = option_type(t, args, &result);
    p->alpha = option_real(t, args, OPT_ALPHA, 1, &result);
    p->beta = option_real(t, args, OPT_BETA, 0, &result);
    p->desc.plan = args->plans ? args->plan[0] : "csr";
    p->desc.variant = args->plans ? args->variant[0] : NULL;
    p->desc.strict = args->value[OPT_STRICT] != NULL;
    p->desc.reproducible = args->value[OPT_REPRODUCIBLE] != NULL;
    p->desc.hooks = t->hooks;
    if (result != DONE) return result;
    if (args->plans > 1) return misuse(t, "one --plan is enough");
    if (p->beta != 0 && !args->value[OPT_Y]) return misuse(t, "--beta needs the vector that it multiplies, --y FILE");
    if (args->value[OPT_Y] && !args->value[OPT_BETA]) return misuse(t, "--y needs --beta");
    return plan_is_text(t, "plan", p->desc.plan);
}

static int product_vectors(tool *t, const arguments *args, product *p)
{
    spmv_type type = p->desc.type;
    uint64_t i;
    if (args->value[OPT_X]) {
        if (load_vector(t, args->value[OPT_X], type, p->a.cols, "x", &p->x) != DONE) return FAILED;
    } else {
        p->x = spmv_alloc(&t->hooks, p->a.cols + 1, spmv_vector_size(type));
        if (!p->x) return no_memory(t);
        for (i = 0; i < p->a.cols; i++) put(type, p->x, i, 1);
    }
    if (args->value[OPT_Y]) return load_vector(t, args->value[OPT_Y], type, p->a.rows, "y", &p->y);
    p->y = spmv_alloc(&t->hooks, p->a.rows + 1, spmv_vector_size(type));
    return p->y ? DONE : no_memory(t);
}

static int product_run(tool *t, const arguments *args, product *p)
{
    spmv_matrix m;
    spmv_status s;
    measurer me;
    int result = FAILED;
    if (load_matrix(t, args->file[0], p->desc.type, &p->a) != DONE) return FAILED;
    if (product_vectors(t, args, p) != DONE) return FAILED;
    p->desc.csr = &p->a;
    p->desc.device = p->device;
    t->about = p->desc.plan;
    if (measurer_make(&me, t, &p->desc, NULL) == DONE) {
        p->desc.hints = &me.hints;
        progress_name(t, "preparing", p->desc.plan);
        s = spmv_create(&m, &p->desc);
        progress_clear(t);
        if (s == SPMV_OK) {
            s = spmv_mul(&m, p->alpha, p->x, p->beta, p->y);
            spmv_destroy(&m);
        }
        if (s == SPMV_OK) result = save_vector(t, args->value[OPT_OUT], p->desc.type, p->a.rows, p->y);
    }
    measurer_free(&me);
    return result;
}

static int mul_command(tool *t, const arguments *args)
{
    product p;
    int result = product_options(t, args, &p);
    if (result == DONE) result = device_open(t, args->value[OPT_DEVICE], &p.device);
    if (result == DONE) result = product_run(t, args, &p);
    product_free(t, &p);
    return result;
}

/* ---- devices --------------------------------------------------------------------------------------------------- */

static int devices_command(tool *t, const arguments *args)
{
    (void)args;
    return devices_print(t);
}

/* ---- the list of commands -------------------------------------------------------------------------------------- */

#define PLAN_TEXT                                                                                                      \
    "A plan is one part or several, joined by +: a format with keys, for example ell:w=5+coo or sell:h=32.\n"          \
    "A builder makes a plan for the matrix: hyb, hyb-csr, hybr, cmrs. The library chooses: auto, or by the policies of\n" \
    "clSpMV: cocktail.\n"                                                                                             \
    "Behind / may follow the variant of each part's OpenCL kernel: csr:run=1024/WG=256,NT=1, ell:w=5+coo/WG=64+PER=3.\n"

static const command commands[] = {
    {"devices", "", "name the devices that products can run on",
     "Names the host and every OpenCL device with its number for --device.\n", 0, 0, 0, devices_command},
    {"info", "FILE", "what a matrix looks like",
     "Shape, values, row lengths with histogram, bandwidth, diagonals, and how well blocks of each size are filled.\n"
     "FILE is Matrix Market or the binary form, plain or gzip; - is standard input.\n", 0, 1, 1, info_command},
    {"mul", "FILE [options]", "y = alpha A x + beta y",
     "Writes y as a Matrix Market array with all its digits.\n" PLAN_TEXT,
     BIT(PLAN) | BIT(DEVICE) | BIT(TYPE) | BIT(X) | BIT(Y) | BIT(ALPHA) | BIT(BETA) | BIT(OUT) | BIT(STRICT) |
         BIT(REPRODUCIBLE), 1, 1, mul_command},
    {"bench", "FILE... [options]", "time and check products",
     "One line a plan. --plan may be given more than once; all (the default) is every format and builder.\n" PLAN_TEXT
     "\n"
     "--variants all makes a line for every combination of L, WG, V, PER and STREAM (csr: of all but IMG) that the device\n"
     "can take, and one for each value of another knob.\n\n"
     "us       median microseconds of a product: at least 20 warm runs by the wall clock, each as many products in a row\n"
     "         as take 100 us, on a device 2 ms; vectors stay on the device. --events: of a product by itself\n"
     "gflops   10^9 operations a second, two a nonzero\n"
     "gbs      10^9 bytes a second, of these:\n"
     "bytes    what a product must move: the stored matrix as the format has it, x once and y once (in the table: MB)\n"
     "padding  stored slots / nonzeros - 1\n"
     "err      the largest error of a row over its bound (n + 4) u (|alpha| |A||x| + |beta||y|), against a reference\n"
     "         in long double, x and y random in [-1,1), alpha 1 and -2.5, beta 0 and 1.5. Matrices of small integers\n"
     "         are multiplied with integer x and y as well and must come out exact (err: inf, in JSON null, if not).\n"
     "         Results below the normal range may be flushed to zero\n"
     "prepare_us  (in JSON) from CSR to the first product: choice, conversion, on a device upload and building kernels\n"
     "ok       err < 1; in JSON null for a plan that was refused, its reason on standard error\n"
     "\n"
     "--again N: the N fastest plans of a file, and those that auto and cocktail chose, are prepared together and timed in\n"
     "turn, five rounds of 20 ms each; further lines (\"again\": true in JSON) have the medians of those. Lines of the\n"
     "same plan and variant are the same product there, and have the same time.\n"
     "\n"
     "Under all, a plan that cannot work for a matrix is no failure; one that was asked for by name is.\n",
     BIT(PLAN) | BIT(VARIANTS) | BIT(EVENTS) | BIT(COLD) | BIT(DEVICE) | BIT(TYPE) | BIT(JSON) | BIT(STRICT) |
         BIT(REPRODUCIBLE) | BIT(REFINE) | BIT(CALLS) | BIT(TABLE) | BIT(AGAIN), 1, 1 << 30, bench_command},
    {"self-check", "[FORMAT...] [options]", "try every variant of every format on an OpenCL device",
     "Multiplies small matrices with every legal value of every knob of every kernel, in every layout and type, and\n"
     "checks: integers exact, reals within the bound of their row, the same bits twice, nothing written beside y.\n"
     "A line for each variant that cannot be used: refused (known beforehand to be beyond the device), FAILED (the\n"
     "driver did not compile or run it) or WRONG; with --json a line for each variant, the counts on standard error.\n"
     "The default device is the first GPU, or else the first device. Exit status 1 if any was wrong or failed.\n",
     BIT(DEVICE) | BIT(TYPE) | BIT(JSON) | BIT(PAIRS) | BIT(BRIEF) | BIT(REPRODUCIBLE), 0, SPMV_FORMAT_COUNT,
     check_command},
    {"convert", "IN OUT", "Matrix Market to binary and back",
     "OUT is binary if its name ends in .bin, else Matrix Market; a further .gz compresses it; - is standard output.\n"
     "IN is recognised by its first bytes, plain or gzip. Values keep their type unless --type is given.\n",
     BIT(TYPE), 2, 2, convert_command},
    {"plan", "FILE [options]", "the plan that the library or a builder makes, part by part",
     "Prints the plan's text, each part's share in the notation of the papers, bytes and padding; with --explain also why.\n"
     PLAN_TEXT "hybr:k=0 measures every width.\n",
     BIT(BUILDER) | BIT(DEVICE) | BIT(TYPE) | BIT(STRICT) | BIT(EXPLAIN) | BIT(REFINE) | BIT(CALLS) | BIT(TABLE), 1, 1, plan_command},
    {"tune", "[TABLE...] [options]", "measure this device: a tuning table",
     "Multiplies generated matrices of 2^10 to 2^21 rows and 1 to 1024 nonzeros a row (banded, scattered, of uneven rows) in\n"
     "every layout, on a device with other knobs as well, checks every product, and writes how fast each was where: a\n"
     "table as spmv_auto.h describes, at most 24 KB. What cannot win is dropped early; what fails or computes something\n"
     "else is struck out and named. Whenever the budget ends, the table holds the best of what was seen.\n\n"
     "--type all (the default here) is f64, then f32. While it runs, every sample goes to FILE.journal beside the table;\n"
     "--resume goes on from there after an interruption or with a further budget.\n\n"
     "spmv tune --merge A B ... --out C     one table from several of one device\n"
     "spmv tune --compare A B               how two differ\n",
     BIT(DEVICE) | BIT(TYPE) | BIT(BUDGET) | BIT(OUT) | BIT(RESUME) | BIT(ROWS_MAX) | BIT(MERGE) | BIT(COMPARE), 0, 1 << 30,
     tune_command},
    {"plot", "FILE -o OUT", "pictures of a matrix, of measured times, or of a tuning table",
     "spmv plot FILE -o OUT [--plan P]      the matrix; the colour of a cell tells which part owns its nonzeros (default csr)\n"
     "spmv plot rows FILE -o OUT            its row lengths: a histogram with logarithmic axes\n"
     "spmv plot bench LINES... -o OUT       bars: how fast each plan was, from lines of \"spmv bench --json\"\n"
     "spmv plot ratio LINES... -o OUT       bars: a peer's best time over ours for each matrix\n"
     "spmv plot tune TABLE -o OUT           heat maps of a tuning table: what is fastest at which size, and how near each format is\n\n"
     "OUT ends in .png or .svg. A peer's lines are JSON objects as well: {\"matrix\": \"cage10\", \"dtype\": \"f64\", \"variant\":\n"
     "\"csr_alg1\", \"us\": 9.5}; where they have \"pipe_us\" (products in a row), that counts. Their file's name is the peer's. In\n"
     "plot bench and ratio --plan keeps the lines of one plan or builder, such as auto; --caption is printed behind the device.\n"
     PLAN_TEXT, BIT(PLAN) | BIT(OUT) | BIT(CAPTION), 1, 1 << 30, plot_command},
    {"gen", "NAME [-o OUT]", "matrices by formula, and those of the papers",
     "Writes the matrix as convert does. gen --list names the families.\n", BIT(OUT) | BIT(LIST), 1, 1, gen_command},
};

enum { COMMANDS = sizeof commands / sizeof *commands };

static void print_commands(FILE *out)
{
    int i;
    fputs("spmv " SPMV_VERSION " - sparse matrix times vector\n\n", out);
    for (i = 0; i < COMMANDS; i++) {
        char left[64];
        snprintf(left, sizeof left, "%s %s", commands[i].name, commands[i].synopsis);
        fprintf(out, "  spmv %-24s %s\n", left, commands[i].summary);
    }
    fputs("\nspmv COMMAND --help tells more. Exit status: 0 done, 1 refused or failed, 2 usage error.\n", out);
}

static int run_command(const command *c, int argc, char **argv)
{
    arguments args;
    tool t;
    int result;
    tool_init(&t, c->name);
    result = arguments_parse(&t, c, argc, argv, &args);
    if (result == DONE && args.value[OPT_HELP]) print_help(c);
    else if (result == DONE) result = c->run(&t, &args);
    arguments_free(&args);
    return finish_output(&t, result);
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    int i;
    for (i = 0; i < COMMANDS; i++)
        if (!strcmp(name, commands[i].name)) return run_command(&commands[i], argc - 2, argv + 2);
    if (!strcmp(name, "--help") || !strcmp(name, "-h") || !strcmp(name, "help")) {
        print_commands(stdout);
        return fflush(stdout) == 0 ? DONE : FAILED;
    }
    if (!strcmp(name, "--version")) {
        puts("spmv " SPMV_VERSION);
        return fflush(stdout) == 0 ? DONE : FAILED;
    }
    if (*name) fprintf(stderr, "spmv: unknown command '%s'; see spmv --help\n", name);
    else print_commands(stderr);
    return USAGE;
}
