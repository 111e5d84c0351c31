/* SPDX-License-Identifier: MIT
 *
 * tools/gen/spmvgen.c - the command line of the generator: reads a format description and writes code for it.
 */
#include "tools/gen/backend.h"
#include "tools/gen/check.h"
#include "tools/gen/front.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DONE = 0, FAILED = 1, USAGE = 2 }; /* exit statuses, as in tools/cli/cli.h */

static const backend *const backends[] = { &emit_c_backend, &emit_cl_backend, &emit_cuda_backend, &emit_library_backend };
enum { BACKENDS = sizeof backends / sizeof backends[0] };

/* What the command line says. */
typedef struct request {
    const char *file, *out;
    const backend *target;
    int list, explain;
    backend_settings set;
} request;

/* Prints what --help says, with the options of every target. */
static void help(FILE *to)
{
    int i;
    fputs("usage: spmvgen FILE.fmt --target TARGET [--set OPTION=VALUE]... -o OUT\n"
          "       spmvgen FILE.fmt --list [--target TARGET]\n"
          "       spmvgen FILE.fmt --explain [--target TARGET] [--set OPTION=VALUE]...\n"
          "       spmvgen tune FILE.fmt [--device DEVICE] [--type f32|f64] [--set CONSTANT=VALUE]... [-o OUT] MATRIX...\n"
          "\n"
          "Writes code that multiplies sparse matrices of the format that FILE.fmt describes (formats/README.md).\n"
          "\n"
          "  --target TARGET     the language of the code, see below\n"
          "  --set OPTION=VALUE  sets an option of the target, or a constant of the description: BH=2, in one part only: ell.BH=2\n"
          "  -o OUT              the file to write; - is the standard output\n"
          "  --list              prints the constants and options of the description, and which combinations of options are legal\n"
          "  --explain           prints how the description is understood, and what the generated code reads\n"
          "  --help              prints this text\n"
          "\n"
          "tune compiles and times all kernels of a description on a device, prints the best, and writes it to OUT.\n", to);
    for (i = 0; i < (int)BACKENDS; i++) {
        const backend_option *o;
        fprintf(to, "\n--target %s: %s. Options:\n", backends[i]->name, backends[i]->what);
        for (o = backends[i]->options; o->name; o++)
            fprintf(to, "  %-10s %s; one of: %s (%s)\n", o->name, o->what, strcmp(o->values, "*") ? o->values : "any name", o->usual);
    }
    fputs("\nExit status: 0 done; 1 an error in the description or with a file; 2 a wrong call.\n", to);
}

/* Prints a message about the call and returns the exit status for it. */
static int usage(const char *message, const char *word)
{
    fprintf(stderr, "spmvgen: %s%s; see spmvgen --help\n", message, word);
    return USAGE;
}

static const backend *find_backend(const char *name)
{
    int i;
    for (i = 0; i < (int)BACKENDS; i++)
        if (!strcmp(backends[i]->name, name)) return backends[i];
    return NULL;
}

/* Cuts OPTION=VALUE in two. Returns 0 if there is no "=" or no name before it. */
static int take_setting(backend_settings *set, char *text)
{
    char *equal = strchr(text, '=');
    if (!equal || equal == text) return 0;
    *equal = 0;
    set->set[set->count].name = text;
    set->set[set->count].value = equal + 1;
    set->set[set->count++].used = 0;
    return 1;
}

/* Reads the command line. Returns DONE, or USAGE after a message; -1: the help was printed. */
static int take_arguments(request *q, int argc, char **argv)
{
    int i;
    for (i = 1; i < argc; i++) {
        const int more = i + 1 < argc;
        if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) {
            help(stdout);
            return -1;
        }
        if (!strcmp(argv[i], "--list")) q->list = 1;
        else if (!strcmp(argv[i], "--explain")) q->explain = 1;
        else if (!strcmp(argv[i], "--target") && more) {
            q->target = find_backend(argv[++i]);
            if (!q->target) return usage("there is no target ", argv[i]);
        } else if (!strcmp(argv[i], "-o") && more) q->out = argv[++i];
        else if (!strcmp(argv[i], "--set") && more) {
            if (!take_setting(&q->set, argv[++i])) return usage("--set needs OPTION=VALUE, not ", argv[i]);
        } else if (argv[i][0] == '-') return usage(more ? "there is no option " : "no such option, or its value is missing: ", argv[i]);
        else if (q->file) return usage("expected one description, found also ", argv[i]);
        else q->file = argv[i];
    }
    if (!q->file) return usage("no description was given", "");
    if (q->list || q->explain) return DONE;
    if (!q->target) return usage("--target is missing", "");
    return q->out ? DONE : usage("-o is missing", "");
}

/* Reads a whole file, one byte more than a description may have at most. Returns NULL after a message. */
static char *read_file(const char *name, size_t *bytes)
{
    FILE *in = fopen(name, "rb");
    char *text = (char *)malloc(FRONT_MOST_BYTES + 2);
    int failed;
    if (!in || !text) {
        fprintf(stderr, "spmvgen: %s: cannot be opened\n", name);
        if (in) fclose(in);
        free(text);
        return NULL;
    }
    *bytes = fread(text, 1, FRONT_MOST_BYTES + 1, in);
    text[*bytes] = 0;
    failed = ferror(in);
    fclose(in);
    if (!failed) return text;
    fprintf(stderr, "spmvgen: %s: cannot be read\n", name);
    free(text);
    return NULL;
}

/* The file's name without directories and suffix. */
static const char *format_name(tree_format *f, const char *file)
{
    const char *slash = strrchr(file, '/'), *name = slash ? slash + 1 : file, *dot = strchr(name, '.');
    return tree_text(f, name, dot && dot != name ? (size_t)(dot - name) : strlen(name));
}

/* Checks the settings that are no constants against the options of the back end. Returns 0 after a message. */
static int check_settings(const tree_format *f, const backend *b, const backend_settings *set)
{
    int i;
    for (i = 0; i < set->count; i++) {
        const backend_option *o = b ? b->options : NULL;
        if (set->set[i].used) continue;
        while (o && o->name && strcmp(o->name, set->set[i].name) != 0) o++;
        if (!o || !o->name) {
            fprintf(stderr, "spmvgen: --set %s=%s: %s has no constant '%s'%s%s%s\n", set->set[i].name, set->set[i].value, f->file,
                    set->set[i].name, b ? ", and target " : "", b ? b->name : "", b ? " has no such option" : "");
            return 0;
        }
        if (!backend_accepts(o, set->set[i].value)) {
            fprintf(stderr, "spmvgen: --set %s=%s: expected one of %s\n", o->name, set->set[i].value, o->values);
            return 0;
        }
    }
    return 1;
}

/* ---- --list and --explain ---- */

static void list_constants(const char *part, const tree_symbol *s)
{
    int i;
    for (; s; s = s->next) {
        if (s->kind != TREE_CONSTANT) continue;
        printf("  %s%s%s = %lld", part, *part ? "." : "", s->name, (long long)(s->choices ? s->choice[0] : s->number));
        if (!s->choices) printf(", which follows from other constants");
        for (i = 1; i < s->choices; i++) printf(" | %lld", (long long)s->choice[i]);
        if (s->choices == 1) printf(", or any other from 1 to %d", TREE_MAX_CONSTANT);
        printf("\n");
    }
}

static void list(const request *q, const tree_format *f)
{
    const tree_part *p;
    int i;
    printf("constants of %s, the usual value first:\n", f->name);
    list_constants("", f->shared);
    for (p = f->part; p; p = p->next) list_constants(p->name, p->parameters);
    for (i = 0; i < (int)BACKENDS; i++) {
        if (q->target && q->target != backends[i]) continue;
        printf("legal options for --target %s:\n", backends[i]->name);
        backends[i]->list(f, &q->set, stdout);
    }
}

static void explain_loops(const char *what, tree_stmt *const *loop, int count)
{
    int i;
    if (!count) return;
    printf("  %s:", what);
    for (i = 0; i < count; i++) {
        printf("%s %s", i ? "," : "", loop[i]->name);
        if (loop[i]->trip >= 0) printf(" (%lld iterations)", (long long)loop[i]->trip);
    }
    printf("\n");
}

/* Prints in words what shape.c found out about a part. */
static void explain_part(const tree_format *f, const tree_part *p)
{
    static const char *const rows[] = {
        "each iteration of the row loops has one row of its own",
        "each iteration of the row loops has a block row of its own",
        "each iteration of the row loops has a strip of rows of its own, whose entries come in any order",
        "rows come in any order, so that work-items which share the entries must be synchronized"
    };
    static const char *const order[] = {
        "slots of a row are adjacent: several work-items a row have coalesced loads",
        "the same slot of adjacent rows is adjacent: one work-item a row has coalesced loads",
        "neither the slots of a row nor those of adjacent rows are adjacent"
    };
    const tree_shape *s = &p->shape;
    printf("%s%s%s: %s\n", f->name, *p->name ? ", part " : "", p->name, rows[s->rows]);
    if (s->height > 1) printf("  rows of one iteration: %lld\n", (long long)s->height);
    explain_loops("row loops", s->row_loop, s->row_loops);
    explain_loops("slot loops", s->slot_loop, s->slot_loops);
    explain_loops("block loops, whose lengths are known", s->block_loop, s->block_loops);
    if (s->varying) printf("  slices have different heights\n");
    printf("  %s\n", s->rows == TREE_ROWS_ANY && s->order == TREE_ORDER_CONTIGUOUS
                            ? "entries that follow each other are adjacent: work-items that take them together have coalesced loads"
                            : order[s->order]);
}

static void explain(const request *q, const tree_format *f)
{
    const tree_part *p;
    int i;
    for (p = f->part; p; p = p->next) explain_part(f, p);
    for (i = 0; i < (int)BACKENDS; i++) {
        if (q->target && q->target != backends[i]) continue;
        printf("--target %s:\n", backends[i]->name);
        backends[i]->explain(f, &q->set, stdout);
    }
}

/* ---- the program ---- */

/* Writes the code; a file that could not be written completely is removed. Returns 0, or -1 after a message. */
static int write_code(const request *q, const tree_format *f)
{
    const int standard = !strcmp(q->out, "-");
    FILE *out = standard ? stdout : fopen(q->out, "wb");
    int failed, emitted;
    if (!out) {
        fprintf(stderr, "spmvgen: %s: cannot be written\n", q->out);
        return -1;
    }
    emitted = q->target->emit(f, &q->set, out);
    failed = ferror(out) | (standard ? fflush(out) : fclose(out));
    if (!emitted && failed) fprintf(stderr, "spmvgen: %s: cannot be written\n", q->out);
    if (!standard && (emitted || failed)) remove(q->out);
    return emitted || failed ? -1 : 0;
}

/* Reads, checks and translates the description. Returns an exit status. */
static int run(request *q)
{
    tree_format f;
    report errors = { NULL, 0 };
    char *text;
    int status = FAILED;
    memset(&f, 0, sizeof f);
    errors.out = stderr;
    text = read_file(q->file, &f.bytes);
    if (!text) return FAILED;
    f.text = text;
    f.file = q->file;
    f.name = format_name(&f, q->file);
    if (!front_parse(&f, &errors) && !check_format(&f, &q->set, &errors)) {
        if (!check_settings(&f, q->target, &q->set)) status = USAGE;
        else {
            if (q->list) list(q, &f);
            if (q->explain) explain(q, &f);
            status = q->out && q->target && write_code(q, &f) ? FAILED : DONE;
        }
    }
    tree_free(&f);
    free(text);
    return status;
}

/* Runs the script that tunes, which lies in the source tree beside the folder of the program (build/spmvgen). Returns only if it cannot. */
static int tune(const char *program, char **argv)
{
    static const char script[] = "../tools/gen/tune.sh";
    const char *slash = strrchr(program, '/');
    const size_t folder = slash ? (size_t)(slash - program) + 1 : 0;
    char *path = (char *)malloc(folder + sizeof script);
    FILE *there;
    if (!path) return FAILED;
    memcpy(path, program, folder);
    memcpy(path + folder, script, sizeof script);
    there = fopen(path, "r");
    if (there) {
        fclose(there);
        argv[0] = (char *)(uintptr_t)"sh";
        argv[1] = path;
        execvp("sh", argv);
    }
    fprintf(stderr, "spmvgen: %s: cannot be run; tune needs the project's source tree\n", path);
    free(path);
    return FAILED;
}

int main(int argc, char **argv)
{
    request q;
    int status;
    if (argc > 1 && !strcmp(argv[1], "tune")) return tune(argv[0], argv);
    memset(&q, 0, sizeof q);
    q.set.set = (backend_setting *)calloc((size_t)argc, sizeof *q.set.set);
    if (!q.set.set) return FAILED;
    status = take_arguments(&q, argc, argv);
    if (status == DONE) status = run(&q);
    free(q.set.set);
    return status < 0 ? DONE : status;
}
