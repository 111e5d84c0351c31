/* SPDX-License-Identifier: MIT
 *
 * tools/spmv.c - the command line: its commands with their help, and main.
 *
 * Each folder beside this file is a subject, and each .c file in it is a module whose header declares what other modules use: cli/
 * (messages, options, files), cmd/ (the commands), measure/ (devices, times, references), tune/ (tuning tables), matrices/ (what gen
 * makes) and picture/ (what plot draws; only with cairo). Names with external linkage begin with the name of their module or of the
 * type they act on. library.c compiles the library once. "make" builds all of it; by hand, without pictures:
 *
 *     cc -std=c99 -D_POSIX_C_SOURCE=200809L -O2 -I. $(find tools -name '*.c' ! -path '*picture*') -o build/spmv -lOpenCL -lz -lm
 *
 * Add -fopenmp for products on all cores; -DSPMV_REPRODUCIBLE for --reproducible on the host; -DSPMV_NO_DEVICES, without -lOpenCL,
 * for a build without OpenCL. For pictures compile picture/ as well, with -DSPMV_CAIRO and what "pkg-config --cflags --libs cairo"
 * prints.
 */
#include "cli/cli.h"
#include "cli/options.h"
#include "cmd/commands.h"
#include "spmv.h"
#include <stdio.h>
#include <string.h>

#define PLAN_TEXT                                                                                                      \
    "A plan is one part or several, joined by +: a format with keys, for example ell:w=5+coo or sell:h=32.\n"          \
    "A builder makes a plan for the matrix: hyb, hyb-csr, hybr, cmrs. The library chooses: auto, or by the policies of\n" \
    "clSpMV: cocktail.\n"

#define VARIANT_TEXT                                                                                                   \
    "\nBehind / may follow the knobs of each part's OpenCL kernel, joined by + as the parts are:\n"                    \
    "csr:run=1024/WG=256,NT=1 or ell:w=5+coo/WG=64+PER=3. Knobs behind *: are for every part whose kernel has them,\n" \
    "however many parts there will be; those of single parts may follow: hyb/*:IMG=1 or hyb/*:IMG=1+WG=64.\n"

#define FILE_TEXT "FILE is Matrix Market or the binary form, plain or gzip; - is standard input.\n"

static const command commands[] = {
    {"devices", "", "name the devices that products can run on",
     "Names the host and every device of OpenCL and CUDA with its number for --device.\n", "",
     "  spmv devices  # the numbers that --device takes\n",
     0, 0, 0, devices_command},
    {"info", "FILE [options]", "what a matrix looks like",
     "Shape, values, row lengths with histogram, bandwidth, diagonals, and how well blocks of each size are filled.\n"
     FILE_TEXT,
     "JSON:\n"
     "  matrix, version     the file as it was named, and the version of the library\n"
     "  rows, cols, nnz     the shape and the number of nonzeros\n"
     "  values              all 1, small integers or real\n"
     "  explicit_zeros      stored elements that are 0\n"
     "  row_length          an object: mean, deviation (standard deviation), shortest, longest\n"
     "  empty_rows          rows without nonzeros\n"
     "  empty_cols          columns without nonzeros\n"
     "  longest_col         nonzeros of the longest column\n"
     "  bandwidth           an object: how far nonzeros lie below and above the diagonal at most\n"
     "  diagonals           an object: used, half_full (50% or more), nine_tenths_full (90% or more), each with the count of\n"
     "                      diagonals and the nonzeros (nnz) on them\n"
     "  histogram           a list: rows that have at least from and at most to nonzeros, and the nonzeros (nnz) in them\n"
     "  blocks              a list: size (height x width), count, fill (0 to 1), and the bytes that each nonzero takes as bcsr, in\n"
     "                      f64 (bytes_f64) and in f32 (bytes_f32)\n",
     "  spmv info a.mtx         # as text\n"
     "  spmv info a.mtx --json  # one JSON object\n",
     BIT(JSON) | BIT(MAX_DIM), 1, 1, info_command},
    {"mul", "FILE [options]", "y = alpha A x + beta y",
     "Writes y as a Matrix Market array with all its digits.\n" PLAN_TEXT VARIANT_TEXT, "",
     "  spmv mul a.mtx --x x.mtx -o y.mtx                         # y = A x\n"
     "  spmv mul a.mtx --x x.mtx --alpha 2 --beta -1 --y y.mtx    # 2 A x - y, to standard output\n"
     "  spmv mul a.mtx --plan 'ell:w=5+coo/*:WG=64' --device gpu  # (GPU) x is ones; a knob for both parts\n",
     BIT(PLAN) | BIT(DEVICE) | BIT(TYPE) | BIT(X) | BIT(Y) | BIT(ALPHA) | BIT(BETA) | BIT(OUT) | BIT(STRICT) |
         BIT(REPRODUCIBLE) | BIT(MAX_BYTES) | BIT(MAX_DIM), 1, 1, mul_command},
    {"bench", "FILE... [options]", "time and check products",
     "One line a plan. --plan may be given more than once; all (the default) is every format and builder.\n" PLAN_TEXT VARIANT_TEXT
     "\n"
     "--variants all makes a line for every combination of L, WG, V, PER and STREAM (csr: of all but IMG) that the device\n"
     "can take, and one for each value of another knob.\n"
     "\n"
     "The table of a file is printed when all its plans are done, with a * before the fastest; with --json each line is\n"
     "printed at once. An interruption (Ctrl-C) ends the work after the plan at hand: the table has what was timed until then.\n"
     "\n"
     "--again N: the N fastest plans of a file, and those that auto and cocktail chose, are prepared together and timed in\n"
     "turn, five rounds of 20 ms each; further lines (\"again\": true in JSON) have the medians of those rounds as their\n"
     "samples. Lines of the same plan and variant are the same product there, and have the same time.\n"
     "\n"
     "With all, a plan that cannot work for a matrix is no failure; one that was asked for by name is.\n",
     "Columns:\n"
     "  us          median microseconds of a product over at least 20 warm samples, of 100 us each, on a device of 2 ms: as many\n"
     "              products in a row as take that long, by the wall clock; vectors stay on the device. --events: a sample\n"
     "              is one product\n"
     "  min, max    the fastest and the slowest sample\n"
     "  vs csr      speed compared with csr: its time (us, the fastest of the lines asked for as csr) over this one's; - if csr is\n"
     "              not among the plans\n"
     "  GFLOP/s     10^9 operations a second, two a nonzero\n"
     "  GB/s        10^9 bytes a second, of the bytes in the next column\n"
     "  MB          10^6 bytes that a product must move: the stored matrix as the format has it, x once and y once\n"
     "  padding     stored slots / nonzeros - 1\n"
     "  err         the largest error of a row over its bound (n + 4) u (|alpha| |A||x| + |beta||y|), against a reference\n"
     "              in long double, x and y random in [-1,1), alpha 1 and -2.5, beta 0 and 1.5. Matrices of small integers\n"
     "              are multiplied with integer x and y as well and must come out exact (err: inf, in JSON null, if not).\n"
     "              Results below the normal range may be flushed to zero\n"
     "\n"
     "JSON:\n"
     "  us, us_min, us_max        as in the table, where us is the median; samples: how many there were\n"
     "  gflops, gbs, bytes        as GFLOP/s, GB/s and, not in millions, MB; padding and err as in the table\n"
     "  matrix, rows, cols, nnz   the file's name without folders and endings, the shape, the number of nonzeros\n"
     "  device, threads           where; threads that host products may use, null on an OpenCL device\n"
     "  builder, plan, variant    what was asked for if it is a name; the plan and the kernels' knobs in use\n"
     "  type, version             as --type; the version of the library\n"
     "  prepare_us                from CSR to the first product: choice, conversion, on a device upload and building kernels\n"
     "  again                     true in the lines of --again\n"
     "  ok                        err < 1; null for a plan that was refused, its reason on standard error\n",
     "  spmv bench a.mtx                                        # every format and builder on the host\n"
     "  spmv bench a.mtx b.mtx --plan csr --plan auto --json    # two plans of two matrices, as JSON\n"
     "  spmv bench a.mtx --max-bytes 64M                        # nothing that takes more than 64 MiB\n"
     "  spmv bench a.mtx --plan csr --variants all --device 0   # (GPU) every variant of the csr kernel\n",
     BIT(PLAN) | BIT(VARIANTS) | BIT(EVENTS) | BIT(COLD) | BIT(DEVICE) | BIT(TYPE) | BIT(JSON) | BIT(STRICT) |
         BIT(REPRODUCIBLE) | BIT(REFINE) | BIT(CALLS) | BIT(TABLE) | BIT(AGAIN) | BIT(MAX_BYTES) | BIT(MAX_DIM), 1, 1 << 30, bench_command},
    {"self-check", "[FORMAT...] [options]", "try every variant of every format on an OpenCL device",
     "Multiplies small matrices with every legal value of every knob of every kernel, in every layout and type, and\n"
     "checks: integers exact, reals within the bound of their row, the same bits twice, nothing written beside y.\n"
     "A line for each variant that cannot be used: refused (known beforehand to be beyond the device), FAILED (the\n"
     "driver did not compile or run it) or WRONG; with --json a line for each variant, the counts on standard error.\n"
     "The default device is the first GPU, or else the first device. Exit status 1 if any was wrong or failed.\n", "",
     "  spmv self-check --device gpu                      # (GPU) everything; minutes\n"
     "  spmv self-check csr sell --device gpu --type f32  # (GPU) two formats in one type\n"
     "  spmv self-check --device gpu --brief --json       # (GPU) a line of JSON for each variant\n",
     BIT(DEVICE) | BIT(TYPE) | BIT(JSON) | BIT(PAIRS) | BIT(BRIEF) | BIT(REPRODUCIBLE), 0, SPMV_FORMAT_COUNT,
     check_command},
    {"convert", "IN OUT [options]", "Matrix Market to binary and back",
     "OUT is binary if its name ends in .bin, else Matrix Market; a further .gz compresses it; - is standard output.\n"
     "IN is recognised by its first bytes, plain or gzip. Values keep their type unless --type is given. OUT may be IN: like\n"
     "every file that spmv writes, it is replaced when all of the new one is written, so that there must be room for both,\n"
     "and stays as it is if that fails.\n", "",
     "  spmv convert a.mtx a.bin               # to binary, which is read faster\n"
     "  spmv convert a.mtx a32.mtx --type f32  # values rounded to single precision\n"
     "  spmv convert a.mtx a.mtx.gz            # compressed\n",
     BIT(TYPE) | BIT(MAX_DIM), 2, 2, convert_command},
    {"plan", "FILE [options]", "the plan that the library or a builder makes, part by part",
     "Prints the plan's text, each part's share in the notation of the papers, bytes and padding; with --explain also why.\n"
     PLAN_TEXT "hybr:k=0 measures every width.\n"
     "\n"
     "--explain prints what the choice saw of the matrix, a table of the options and a sentence with the reason.\n",
     "Columns:\n"
     "  cost        what the options are ranked by, microseconds: the predicted time, raised where estimates are less certain and\n"
     "              by the share of the conversion that --calls leaves for each product. The * is the plan that was chosen\n"
     "  predicted   microseconds of a product by the tuning table\n"
     "  measured    microseconds as --refine timed them; - if it did not\n"
     "  vs csr      speed compared with the best csr, by the predictions\n"
     "  convert     analysis and conversion, in products of csr\n"
     "  pays after  products after which the gain over csr has paid for the conversion; - if there is no gain\n"
     "\n"
     "JSON:\n"
     "  matrix, rows, cols, nnz, device, type, version  the file as it was named, the shape, where and how, the library's version\n"
     "  plan, variant, shares   as the text has them; variant is null where every knob has its default\n"
     "  parts                   each part's plan, rows, nnz, share (0 to 1), bytes, padding; bytes are null for a part that\n"
     "                          was refused\n"
     "  choice                  with --explain, where the library chose: table (the device it is of), exact (whether that is\n"
     "                          this one), csr_us (the best csr) and options, the chosen one first: plan, variant, cost_us,\n"
     "                          predicted_us, measured_us, runs (false: --refine could not run it), convert_csr. Else null\n",
     "  spmv plan a.mtx --explain             # what the library chooses on the host, and why\n"
     "  spmv plan a.mtx --builder hyb --json  # the parts of a hybrid plan as JSON\n"
     "  spmv plan a.mtx --calls 100           # for a hundred products, conversion included\n"
     "  spmv plan a.mtx --device gpu          # (GPU) what it chooses there\n",
     BIT(BUILDER) | BIT(DEVICE) | BIT(TYPE) | BIT(STRICT) | BIT(EXPLAIN) | BIT(REFINE) | BIT(CALLS) | BIT(TABLE) | BIT(JSON) |
         BIT(MAX_BYTES) | BIT(MAX_DIM), 1, 1, plan_command},
    {"tune", "[TABLE...] [options]", "measure this device: a tuning table",
     "Multiplies generated matrices of 2^10 to 2^21 rows and 1 to 1024 nonzeros a row (banded, scattered, of uneven rows) in\n"
     "every layout, on a device with other knobs as well, checks every product, and writes how fast each was where: a\n"
     "table as spmv_auto.h describes, at most 24 KB. What cannot win is dropped early; what fails or computes something\n"
     "else is struck out and named. Whenever the budget ends, the table holds the best of what was seen.\n\n"
     "--type all (the default here) is f64, then f32. While it runs, every sample goes to FILE.journal beside the table;\n"
     "--resume goes on from there after an interruption or with a further budget. Without --resume a journal that holds\n"
     "samples is left alone and nothing is measured: remove it to begin anew.\n", "",
     "  spmv tune --budget 2 --rows-max 1024 --out a.tune   # two seconds on the host: coarse; without --budget half an hour\n"
     "  spmv tune --merge a.tune a.tune --out c.tune        # one table from several of one device\n"
     "  spmv tune --compare a.tune c.tune                   # how two differ\n"
     "  spmv tune --device gpu --out gpu.tune               # (GPU) everything on a GPU\n",
     BIT(DEVICE) | BIT(TYPE) | BIT(BUDGET) | BIT(OUT) | BIT(RESUME) | BIT(ROWS_MAX) | BIT(MERGE) | BIT(COMPARE), 0, 1 << 30,
     tune_command},
    {"plot", "[rows|bench|ratio|tune] FILE... -o OUT [options]", "pictures of a matrix, of measured times, or of a tuning table",
     "With FILE alone, the matrix: the colour of a cell tells which part of --plan (default csr) owns its nonzeros. plot rows FILE:\n"
     "its row lengths, a histogram with logarithmic axes. plot bench LINES...: bars of how fast each plan was, from what\n"
     "\"spmv bench --json\" printed. plot ratio LINES...: bars of a peer's best time over ours for each matrix. plot tune TABLE:\n"
     "heat maps of a tuning table, what is fastest at which size and how near each format is.\n"
     "\n"
     "OUT ends in .png or .svg. A peer's lines are JSON objects as well: {\"matrix\": \"cage10\", \"dtype\": \"f64\", \"variant\":\n"
     "\"csr_alg1\", \"us\": 9.5}. Their file's name is the peer's. In plot bench and ratio --plan keeps the lines of one plan or\n"
     "builder, such as auto; --caption is printed behind the device.\n" PLAN_TEXT, "",
     "  spmv plot a.mtx -o a.png                     # where the nonzeros are\n"
     "  spmv plot a.mtx --plan ell:w=2+csr -o a.svg  # what each part takes\n"
     "  spmv plot rows a.mtx -o rows.png             # how long the rows are\n"
     "  spmv plot tune a.tune -o tune.png            # a tuning table\n",
     BIT(PLAN) | BIT(OUT) | BIT(CAPTION) | BIT(MAX_DIM), 1, 1 << 30, plot_command},
    {"gen", "NAME [-o OUT]", "matrices by formula, and those of the papers",
     "Writes the matrix as convert does. gen --list names the families.\n", "",
     "  spmv gen poisson2d_100 -o p.mtx  # the five-point stencil on 100 x 100 points\n"
     "  spmv gen tridiag_5               # to standard output\n"
     "  spmv gen --list                  # what there is\n",
     BIT(OUT) | BIT(LIST), 1, 1, gen_command},
};

enum { COMMANDS = sizeof commands / sizeof *commands };

static void print_commands(FILE *out)
{
    int i;
    fputs("Usage: spmv COMMAND [FILE...] [options]\n\n"
          "Sparse matrix times vector, y = alpha A x + beta y, on the host, on OpenCL devices and by CUDA.\n\n"
          "Commands:\n", out);
    for (i = 0; i < COMMANDS; i++) {
        char left[64];
        snprintf(left, sizeof left, "%s%s%s", commands[i].name, *commands[i].synopsis ? " " : "", commands[i].synopsis);
        fprintf(out, "  spmv %-32s  %s\n", left, commands[i].summary);
    }
    fputs("\nspmv COMMAND --help tells more. Exit status: 0 done, 1 refused or failed, 2 usage error.\n\n"
          "Options:\n"
          "  --help     this text (also -h)\n"
          "  --version  the version of the library and the command line\n\n"
          "Examples:\n"
          "  spmv bench a.mtx           # time every format on the host\n"
          "  spmv plan a.mtx --explain  # which one the library chooses, and why\n", out);
}

static int run_command(const command *c, int argc, char **argv)
{
    arguments args;
    tool t;
    int result;
    cli_init(&t, c->name);
    result = arguments_parse(&t, c, argc, argv, &args);
    if (result == DONE && args.value[OPT_HELP]) command_help(c);
    else if (result == DONE) {
        t.max_dim = option_count(&t, &args, OPT_MAX_DIM, 0, 1, 4294967294u, &result);
        if (result == DONE) result = c->run(&t, &args);
    }
    arguments_free(&args);
    return cli_finish(&t, result);
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
