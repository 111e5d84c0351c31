/* SPDX-License-Identifier: MIT
 *
 * tools/spmv.c - the command line: the table of commands with their help, and main.
 *
 * Each folder beside this file covers one subject, and each .c file in it is a module whose header declares what other modules use:
 * cli/ (messages, options, files), cmd/ (the commands), measure/ (devices, times, references), tune/ (tuning tables), matrices/ (what
 * gen writes) and picture/ (what plot draws, by plot.py). Names with external linkage begin with the name of their module or of the
 * type that they act on. library.c compiles the library once. "make" builds everything; by hand:
 *
 *     make build/obj/plot.inc
 *     cc -std=c99 -D_POSIX_C_SOURCE=200809L -O2 -I. $(find tools -name '*.c' ! -path 'tools/gen*') -o build/spmv -lz -lm
 *
 * Add -fopenmp for products on all cores, -DSPMV_REPRODUCIBLE for --reproducible on the host, and -DSPMV_NO_DEVICES for a build without
 * OpenCL and CUDA.
 */
#include "cli/cli.h"
#include "cli/options.h"
#include "cmd/commands.h"
#include "spmv.h"
#include <stdio.h>
#include <string.h>

#define PLAN_TEXT                                                                                                    \
    "A plan is one part or several, joined by +. Each part is a format with its keys: ell:w=5+coo or sell:h=32. A builder,\n" \
    "such as hyb, makes a plan for the matrix. With auto the library chooses the plan by estimates, with measure it\n"     \
    "times the three cheapest as well, and with cocktail it goes by the policies of clSpMV. spmv plan --list prints the\n" \
    "names of formats and builders.\n"

#define VARIANT_TEXT                                                                                                     \
    "\nAfter a / a plan may set knobs of its OpenCL kernels, joined by + as the parts are: csr:run=1024/WG=256,NT=1 or\n"   \
    "ell:w=5+coo/WG=64+PER=3. Knobs after *: apply to every part whose kernel has them, however many parts the plan turns\n" \
    "out to have, and knobs of single parts may follow: hyb/*:IMG=1 or hyb/*:IMG=1+WG=64. The host has no knobs and ignores them.\n"

#define TEAM_TEXT                                                                                                        \
    "\n--device 0+1 or host+0 divides the rows among several devices: by --shares, or by the estimated time that each needs\n" \
    "for its rows. Unless all together are clearly faster than one alone, that one gets all rows.\n"

#define FILE_TEXT "FILE is a Matrix Market file, the binary form or a prepared matrix (spmv convert), plain or compressed by gzip, or a\n" \
    "tar archive with one; - is standard input.\n"

static const command commands[] = {
    {"devices", "", "list the devices that products can run on",
     "Lists the host and every device of OpenCL and CUDA with the number that --device takes.\n", "",
     "  spmv devices  # the numbers that --device takes\n",
     0, 0, 0, devices_command},
    {"info", "FILE [options]", "describe a matrix",
     "Prints the shape, the values and what the key val saves, the row lengths with a histogram, the bandwidth, the diagonals,\n"
     "and how full blocks of each size are.\n"
     FILE_TEXT,
     "JSON:\n"
     "  matrix, version     the file as named on the command line; the version of the library\n"
     "  rows, cols, nnz     the shape and the number of nonzeros\n"
     "  values              all 1, small integers or real\n"
     "  explicit_zeros      stored elements that are 0\n"
     "  distinct            values that differ in their bits; commonest: nonzeros of the 256 commonest; floats: nonzeros that are\n"
     "                      floats, as val=32 asks for\n"
     "  row_length          an object: mean, deviation (standard deviation), sigma (the deviation divided by the square root of\n"
     "                      the mean), shortest, longest\n"
     "  empty_rows          rows without nonzeros\n"
     "  empty_cols          columns without nonzeros\n"
     "  longest_col         nonzeros of the longest column\n"
     "  bandwidth           an object: the largest distance of a nonzero below and above the diagonal\n"
     "  diagonals           an object: used, half_full (at least 50%), nine_tenths_full (at least 90%), each with the count of\n"
     "                      diagonals and the number of nonzeros on them (nnz)\n"
     "  histogram           a list: the rows that have from at least from to at most to nonzeros, and their nonzeros (nnz)\n"
     "  blocks              a list: size (height x width), count, fill (0 to 1), and the bytes per nonzero when stored as bcsr, in\n"
     "                      f64 (bytes_f64) and in f32 (bytes_f32)\n",
     "  spmv info a.mtx         # as text\n"
     "  spmv info a.mtx --json  # as one JSON object\n",
     BIT(JSON) | BIT(MAX_DIM) | BIT(TRANSPOSE), 1, 1, info_command},
    {"mul", "FILE [options]", "compute y = alpha A x + beta y",
     "Writes y as a Matrix Market array with enough digits to read back the same values.\n" PLAN_TEXT VARIANT_TEXT TEAM_TEXT, "",
     "  spmv mul a.mtx --x x.mtx -o y.mtx                         # y = A x\n"
     "  spmv mul a.mtx --x x.mtx --alpha 2 --beta -1 --y y.mtx    # 2 A x - y, to standard output\n"
     "  spmv mul a.mtx --transposed -o y.mtx                      # y = A^T x\n"
     "  spmv mul a.mtx --x several.mtx -o y.mtx                   # each column of y is A times one of x\n"
     "  spmv mul a.mtx --plan 'ell:w=5+coo/*:WG=64' --device gpu  # (GPU) x is all ones; one knob for both parts\n"
     "  spmv mul a.mtx --device host+0 --shares 1,1 -o y.mtx      # (GPU) half of the nonzeros on each\n",
     BIT(PLAN) | BIT(DEVICE) | BIT(SHARES) | BIT(CACHE) | BIT(TYPE) | BIT(X) | BIT(Y) | BIT(ALPHA) | BIT(BETA) | BIT(OUT) | BIT(STRICT) |
         BIT(REPRODUCIBLE) | BIT(SIMD) | BIT(CONVERT) | BIT(MAX_BYTES) | BIT(MAX_DIM) | BIT(TRANSPOSE) | BIT(TRANSPOSED), 1, 1,
     mul_command},
    {"bench", "FILE... [options]", "time and check products",
     "Prints one line per plan. --plan may be given several times; --plan all, the default, stands for every format and builder.\n"
     PLAN_TEXT VARIANT_TEXT
     "\n"
     "--variants all prints a line for every combination of L, WG, V, PER and STREAM that the device supports, and one for each\n"
     "value of every other knob.\n"
     "\n"
     "The table of a file is printed once all its plans are done; a * marks the fastest, unless a plan's slowest sample took 100\n"
     "times its fastest, as other programs use the processors. A plan too long for its column stands above its figures; refused\n"
     "plans follow the table. With --json each line is printed as soon as it is known. After an interruption (Ctrl-C) the current\n"
     "plan is finished and the table of what was timed is printed.\n"
     "\n"
     "--again N: the N fastest plans of a file, and those that auto and cocktail chose, are prepared together and timed in\n"
     "turn, in five rounds of 20 ms each. Their new times follow as further lines (\"again\": true in JSON), whose samples are the\n"
     "medians of the rounds. Lines with the same plan and variant are the same product here and share one time.\n"
     "\n"
     "--total 100,1000 prints a second table: how long preparing took, by phases, and the time until the 100th and the 1000th\n"
     "product, in milliseconds; and the memory that preparing needed, in multiples of the CSR form (as in JSON).\n"
     "\n"
     "--both prepares the transpose by the same plan as well, or by what \"auto\" chooses for it. Its products have a line of their\n"
     "own, marked A^T, and the last line of a plan has the time of y = A x and z = A^T y in turn.\n"
     "\n"
     "With all, a plan that is refused for a matrix is not an error; a plan that was named is.\n"
     TEAM_TEXT "The plan is then that of most of each device's rows, with | between the devices. Vectors stay on the devices, and\n"
     "halos are exchanged in each product.\n",
     "Columns:\n"
     "  us          microseconds per product: the median of at least 20 samples after a warm-up. A sample is as many products in a\n"
     "              row as take 100 us (on a device 2 ms), by the wall clock; vectors stay on the device. With --graph they\n"
     "              are recorded, so that the host, which takes 2 to 4 us to launch a kernel, does not hold the device up. With\n"
     "              --events a sample is one product\n"
     "  min, max    the fastest and the slowest sample\n"
     "  vs csr      speed relative to csr: the time of csr (the fastest line that was requested as csr) divided by this time;\n"
     "              - if csr is not among the plans\n"
     "  GFLOP/s     10^9 operations per second, two per nonzero\n"
     "  GB/s        10^9 bytes per second, counting the bytes of the next column\n"
     "  MB          10^6 bytes that a product must move at least: the stored matrix, x once and y once\n"
     "  padding     stored slots / nonzeros - 1\n"
     "  err         the largest error of a row divided by its bound (n + 4) u (|alpha| |A||x| + |beta||y|); the reference is\n"
     "              computed in long double, with x and y random in [-1,1), alpha 1 and -2.5, beta 0 and 1.5. Matrices of small\n"
     "              integers are also multiplied with integer x and y and must come out exact; otherwise err is inf (in JSON\n"
     "              null). Results below the normal range may be flushed to zero\n"
     "\n"
     "JSON:\n"
     "  us, us_min, us_max        the columns us, min and max; samples: the number of samples\n"
     "  timed                     calls: many products in a row, each launched by the host; graph, events, cold: by the option of\n"
     "                            that name. With --graph, products that take more than 100 us are timed by calls\n"
     "  gflops, gbs, bytes        GFLOP/s, GB/s, and MB in single bytes; padding and err as in the table\n"
     "  matrix, rows, cols, nnz   the file's name without folders and suffixes, the shape, the number of nonzeros\n"
     "  device, threads           the device; the number of threads that the host uses, null if it takes no part\n"
     "  builder, plan, variant    the --plan argument if it is a single name; the plan, and the knobs of its kernels\n"
     "  type, version             as --type; the version of the library\n"
     "  prepare_us                time from CSR to the first product. It consists of input_us (checking and copying the matrix),\n"
     "                            analysis_us (with the choice of a plan), conversion_us and, on a device, upload_us and\n"
     "                            building_us (making the kernels' programs)\n"
     "  filled                    where the arrays were filled: host, device, or both in a plan of several parts; null on the host\n"
     "  read_us                   time for reading the file and making CSR of it, which is not in prepare_us\n"
     "  memory, device_memory     the most memory that the library held while preparing, and the most on the device (null on the\n"
     "                            host; on several devices what the matrix takes), in multiples of the CSR form, which memory\n"
     "                            contains. CUDA devices keep up to 32 MiB, or a 512th, of what earlier matrices left; it counts\n"
     "  total_us                  with --total: for each N, prepare_us + N us\n"
     "  transposed, both_us       with --both: whether the line is of the transpose; the time of both products in turn\n"
     "  vectors, columns_us, sides_us  with --vectors: how many, and the time of all, one after another and side by side\n"
     "  again                     true in the lines of --again\n"
     "  ok                        whether err < 1; null for a refused plan, whose reason is printed on standard error\n",
     "  spmv bench a.mtx                                        # every format and builder on the host\n"
     "  spmv bench a.mtx b.mtx --plan csr --plan auto --json    # two plans of two matrices, as JSON\n"
     "  spmv bench a.mtx --plan csr --plan auto --total 100,1000  # after how many products does the choice pay off?\n"
     "  spmv bench a.mtx --plan auto --both                     # the transpose as well\n"
     "  spmv bench a.mtx --plan csr --vectors 8                 # 8 vectors at once as well\n"
     "  spmv bench a.mtx --max-bytes 64M                        # only plans whose parts take at most 64 MiB\n"
     "  spmv bench a.mtx --plan csr --variants all --device 0   # (GPU) variants of the csr kernel\n"
     "  spmv bench a.mtx --plan auto --device host+0            # (GPU) the host and a device together\n",
     BIT(PLAN) | BIT(VARIANTS) | BIT(EVENTS) | BIT(GRAPH) | BIT(COLD) | BIT(DEVICE) | BIT(SHARES) | BIT(TYPE) | BIT(JSON) | BIT(STRICT) |
         BIT(REPRODUCIBLE) | BIT(SIMD) | BIT(CONVERT) | BIT(CALLS) | BIT(TABLE) | BIT(AGAIN) | BIT(TOTAL) | BIT(CACHE) |
         BIT(MAX_BYTES) | BIT(MAX_DIM) | BIT(TRANSPOSE) | BIT(BOTH) | BIT(VECTORS), 1, 1 << 30,
     bench_command},
    {"self-check", "[FORMAT...] [options]", "try every variant of every format on a device",
     "Multiplies small matrices with every legal value of every knob of every kernel, in every layout and type. Products of\n"
     "integers must be exact, products of reals within the bound of their row; repeated products must give the same bits, and\n"
     "nothing outside y may be written. Prints a line for each variant that cannot be used: refused (known beforehand to exceed\n"
     "the device's limits), FAILED (the driver did not compile or run it) or WRONG. With --json it prints a line for each variant,\n"
     "and the counts on standard error. The exit status is 1 if any variant was wrong or failed, or if none was usable.\n\n"
     "Without --device it takes the first GPU that spmv devices lists, or else the first device; the host has no variants. Without\n"
     "--type it tries all types.\n", "",
     "  spmv self-check --device gpu                      # (GPU) everything; takes minutes\n"
     "  spmv self-check csr sell --device gpu --type f32  # (GPU) two formats in one type\n"
     "  spmv self-check --device gpu --brief --json       # (GPU) a line of JSON for each variant\n",
     BIT(DEVICE) | BIT(TYPE) | BIT(JSON) | BIT(PAIRS) | BIT(BRIEF) | BIT(REPRODUCIBLE), 0, SPMV_FORMAT_COUNT,
     check_command},
    {"convert", "IN OUT [options]", "convert between Matrix Market and the binary form, or prepare a matrix",
     "OUT is written in the binary form if its name ends in .bin, otherwise as Matrix Market; a further suffix .gz compresses\n"
     "it; - is standard output. The form of IN is recognised by its first bytes, whether or not it is compressed. Values keep\n"
     "their type unless --type is given. OUT may be the same file as IN: spmv replaces a file only after all of the new one is\n"
     "written. This needs room for both, and leaves the old file as it was if anything fails.\n"
     "With --prepared, OUT gets the matrix as --plan (default: auto) stores it on the host; --c-array writes that as a C file\n"
     "for programs without files. spmv mul uses a prepared matrix as it is, other commands read it as any other.\n", "",
     "  spmv convert a.mtx a.bin               # to the binary form, which is faster to read\n"
     "  spmv convert a.mtx a.spmv --plan sell --prepared             # read in a fraction of that time, and not converted again\n"
     "  spmv convert a.mtx a.h --plan csr --type f32 --c-array       # for firmware\n"
     "  spmv convert a.mtx a32.mtx --type f32  # values rounded to single precision\n"
     "  spmv convert a.mtx a.mtx.gz            # compressed\n",
     BIT(PLAN) | BIT(PREPARED) | BIT(C_ARRAY) | BIT(TYPE) | BIT(MAX_DIM) | BIT(TRANSPOSE), 2, 2, convert_command},
    {"plan", "FILE [options]", "show the plan that the library or a builder makes",
     "Prints the plan, each part's share of the nonzeros in the notation of the papers, its bytes and its padding.\n"
     PLAN_TEXT "hybr:k=0 tries every width and takes the fastest.\n"
     "\n"
     "--explain also prints the features of the matrix, a table of the options, of what the time of the first consists, and the\n"
     "reason for the choice; for cocktail it\n"
     "prints every inequality of its policies with the numbers on both sides. Rates are in GFLOP/s; u, z, e, n and g are those\n"
     "of the paper, section 3.3.\n"
     "\n"
     "--list needs no FILE. It prints what this build supports, in lines for scripts: \"format\" with its name and properties\n"
     "(blocks; fill, which --strict refuses; reproducible), \"layout\" with a plan worth measuring, \"builder\" and \"choice\" with\n"
     "their names.\n"
     TEAM_TEXT "For each device its rows, its plan and its halo are printed, which is what it receives of x in a product, and with\n"
     "--explain the predicted times and what limits them.\n",
     "Columns:\n"
     "  cost        microseconds by which the options are ranked: the predicted time, plus an allowance for uncertain estimates\n"
     "              and the share of the conversion that each of --calls products bears. The * marks the chosen plan\n"
     "  predicted   microseconds per product by the tuning table\n"
     "  measured    microseconds per product as \"measure\" timed it; - if it did not\n"
     "  vs csr      predicted speed relative to the best csr\n"
     "  convert     time of preparing the matrix, without the choice, in products of csr\n"
     "  pays after  number of products after which the gain over csr has paid for the conversion; - if there is no gain\n"
     "\n"
     "JSON:\n"
     "  matrix, rows, cols, nnz, device, type, version  the file as named on the command line, the shape, the device and type, the\n"
     "                          version of the library\n"
     "  plan, variant, shares   as in the text; variant is null if every knob has its default\n"
     "  parts                   each part's plan, rows, nnz, share (0 to 1), bytes and padding; bytes is null for a part that\n"
     "                          was refused. predicted_us: microseconds by the tuning table; memory_us and chain_us: those that\n"
     "                          its bytes and its longest row (csr in runs on a GPU: run) alone take; null if the table does\n"
     "                          not say\n"
     "  choice                  with --explain, if the library chose, an object, else null: table (the device that was measured),\n"
     "                          exact (whether it is this device), csr_us (the best csr) and options, the chosen one first, with\n"
     "                          plan, variant, cost_us, predicted_us, measured_us, runs (false: it could not be run) and\n"
     "                          convert_us (of preparing the matrix, without the choice)\n",
     "  spmv plan a.mtx --explain             # what the library chooses on the host, and why\n"
     "  spmv plan a.mtx --builder hyb --json  # the parts of a hybrid plan as JSON\n"
     "  spmv plan a.mtx --calls 100           # for a hundred products, conversion included\n"
     "  spmv plan --list                      # formats, layouts and builders\n"
     "  spmv plan a.mtx --device gpu          # (GPU) what it chooses there\n"
     "  spmv plan a.mtx --device host+0 --explain  # (GPU) how the host and a device share it\n",
     BIT(BUILDER) | BIT(DEVICE) | BIT(SHARES) | BIT(TYPE) | BIT(STRICT) | BIT(EXPLAIN) | BIT(CALLS) | BIT(TABLE) | BIT(JSON) |
         BIT(MAX_BYTES) | BIT(MAX_DIM) | BIT(TRANSPOSE) | BIT(LIST), 1, 1, plan_command},
    {"tune", "[options]", "measure a device and write its tuning table",
     "Times products with generated matrices that are like real ones (grids, web graphs, power laws, blocks with fill, a few huge rows,\n"
     "wide and small matrices) on a device, checks every product, and fits the seven costs of each candidate of a tuning table to these\n"
     "samples; docs/tuning.md describes the table. A candidate is a layout with knobs. Those of the table to begin with are measured,\n"
     "which is the one that \"auto\" uses on the device so far, usually the bundled one of a similar device; with --all every layout, of\n"
     "which the table then gets the candidates that miss the best plan on each structure least. What fails or computes a wrong product\n"
     "is struck out with a message.\n\n"
     "It goes through the structures up to five times, because other work on a machine comes and goes, and of a product the median\n"
     "counts. Whenever the budget runs out, the table is made of what was measured so far: the fewer samples there are, the more the\n"
     "costs stay as they were in the first table, times one factor. --samples keeps every sample as soon as it is measured, and a run\n"
     "that finds samples in FILE goes on there. --fit repeats the fit to the table of --from without measuring. The head of the table\n"
     "says how good estimates and choices are for structures that are left out of the fit.\n\n"
     "On a CUDA device short products are recorded in CUDA graphs, so that the host's launches do not hold them up. The default of --type\n"
     "here is all: f64 and f32.\n", "",
     "  spmv tune --budget 2 --out a.tune             # two seconds on the host; without --budget some minutes\n"
     "  spmv tune --budget 2 --all --samples s.txt --out b.tune  # choose the candidates anew\n"
     "  spmv tune --fit s.txt --from b.tune --out c.tune         # the fit again\n"
     "  spmv tune --device gpu --out gpu.tune         # (GPU) a GPU\n",
     BIT(DEVICE) | BIT(TYPE) | BIT(BUDGET) | BIT(OUT) | BIT(SAMPLES) | BIT(CACHE) | BIT(FIT) | BIT(FROM) | BIT(ALL) | BIT(CANDIDATES), 0, 0,
     tune_command},
    {"plot", "[rows|bench|ratio|predicted] FILE... -o OUT [options]", "draw a matrix, measured times, or estimates",
     "With only a FILE it draws the matrix: a cell's colour shows which part of --plan (default csr) owns its nonzeros. plot rows\n"
     "FILE draws a histogram of the row lengths with logarithmic axes. plot bench LINES... draws a bar for the speed of each plan\n"
     "from the output of \"spmv bench --json\". plot ratio LINES... draws, for each matrix, a peer's best time divided by ours.\n"
     "plot predicted TABLE SAMPLES draws the estimates by a table over the times of the samples that spmv tune kept, and prints how\n"
     "many lie within 0.8 to 1.25, for each type and format.\n"
     "\n"
     "OUT ends in .png or .svg. Python draws, with matplotlib (Debian: python3-matplotlib). A peer's lines are JSON objects too:\n"
     "{\"matrix\": \"cage10\", \"dtype\": \"f64\", \"variant\": \"csr_alg1\", \"us\": 9.5}. The name of their file is taken as the\n"
     "peer's name. In plot bench and plot ratio, --plan selects the lines of one plan or builder, such as auto, and --caption is\n"
     "printed after the device.\n" PLAN_TEXT, "",
     "  spmv plot a.mtx -o a.png                     # where the nonzeros are\n"
     "  spmv plot a.mtx --plan ell:w=2+csr -o a.svg  # what each part takes\n"
     "  spmv plot rows a.mtx -o rows.png             # how long the rows are\n"
     "  spmv plot predicted b.tune s.txt -o p.png    # how good the estimates by a table are\n",
     BIT(PLAN) | BIT(OUT) | BIT(CAPTION) | BIT(MAX_DIM) | BIT(TRANSPOSE), 1, 1 << 30, plot_command},
    {"gen", "NAME [-o OUT]", "generate matrices, by formula or like those of the papers",
     "Writes the matrix in the form that OUT's suffix selects, as convert does. gen --list prints the names.\n", "",
     "  spmv gen poisson2d_100 -o p.mtx  # the five-point stencil on 100 x 100 points\n"
     "  spmv gen tridiag_5               # to standard output\n"
     "  spmv gen --list                  # every family and matrix\n",
     BIT(OUT) | BIT(LIST), 1, 1, gen_command},
};

enum { COMMANDS = sizeof commands / sizeof *commands };

/* The text of spmv --help. */
static void print_commands(FILE *out)
{
    int i;
    fputs("Usage: spmv COMMAND [FILE...] [options]\n\n"
          "Multiplies sparse matrices with vectors, y = alpha A x + beta y, on the host, on OpenCL devices and by CUDA.\n\n"
          "Commands:\n", out);
    for (i = 0; i < COMMANDS; i++) {
        char left[64];
        snprintf(left, sizeof left, "%s%s%s", commands[i].name, *commands[i].synopsis ? " " : "", commands[i].synopsis);
        fprintf(out, "  spmv %-32s  %s\n", left, commands[i].summary);
    }
    fputs("\nspmv COMMAND --help describes a command. Exit status: 0 done, 1 refused or failed, 2 usage error.\n\n"
          "Options:\n"
          "  --help     print this text (also -h)\n"
          "  --version  print the version of the library and the command line\n\n"
          "Examples:\n"
          "  spmv bench a.mtx           # time every format on the host\n"
          "  spmv plan a.mtx --explain  # which one the library chooses, and why\n", out);
}

/* Parses the arguments of a command and runs it; returns the exit status. */
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
        t.transpose = args.value[OPT_TRANSPOSE] != NULL;
        if (result == DONE) result = c->run(&t, &args);
    }
    arguments_free(&args);
    return cli_finish(&t, result);
}

/* Runs the command that the first argument names. */
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
