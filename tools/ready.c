/* SPDX-License-Identifier: MIT
 *
 * tools/ready.c - prints a tuning table as initialised data in C, with its gaps filled, so that a program need not read it: ready FILE.
 * tools/embed.sh compiles and runs it; it is no part of the command line. */
#define SPMV_IMPLEMENTATION
#define SPMV_NO_TUNING /* the header that is being generated is not needed */
#include "../spmv_table.h"
#include <stdio.h>
#include <stdlib.h>

enum { MOST_BYTES = 1 << 22, WIDTH = 120 /* characters of a line after which another begins */ };

static int used; /* characters of the line so far */

/* Prints an item and a comma, in a new line if this one is full. */
static void item(const char *text)
{
    used += printf("%s%s,", used ? " " : "    ", text);
    if (used >= WIDTH) putchar('\n');
    if (used >= WIDTH) used = 0;
}

static void line_end(void)
{
    if (used) putchar('\n');
    used = 0;
}

static void real(double v)
{
    char text[40];
    snprintf(text, sizeof text, "%.10g", v);
    item(text);
}

static void integer(uint64_t v)
{
    char text[40];
    snprintf(text, sizeof text, "%llu", (unsigned long long)v);
    item(text);
}

static void upper(char *out, const char *name)
{
    while (*name) {
        *out++ = (char)(*name >= 'a' && *name <= 'z' ? *name - 32 : *name);
        name++;
    }
    *out = 0;
}

/* Prints "    { { { 0, 8 }, SPMV_SELL }, SPMV_F64", the beginning of a row and of a fit. */
static void begin_row(const spmv_spec *spec, spmv_type type)
{
    char format[24], name[8];
    int k;
    printf("    { { {");
    for (k = 0; k < SPMV_KEY_COUNT; k++) printf(" %lld%s", (long long)spec->key[k], k + 1 < SPMV_KEY_COUNT ? "," : "");
    upper(format, spmv_format_name(spec->format));
    upper(name, spmv_type_name(type));
    printf(" }, SPMV_%s }, SPMV_%s, ", format, name);
}

static void print_curves(const spmv_tuning *t)
{
    size_t k;
    int i;
    char text[40];
    printf("static const float spmv__curves[][%d] = {\n", t->rows * t->per_row);
    for (k = 0; k < t->count; k++) {
        if (!t->row[k].curve) continue;
        puts("    {");
        for (i = 0; i < t->rows * t->per_row; i++) {
            snprintf(text, sizeof text, "%.5ff", (double)t->row[k].curve[i]); /* logarithms: far more than rates are known to */
            item(text);
        }
        line_end();
        puts("    },");
    }
    puts("};");
}

/* Prints the rows that have a curve; returns their number. */
static size_t print_rows(const spmv_tuning *t)
{
    size_t k, n = 0;
    char kind[24];
    puts("static const spmv_tune_row spmv__ready_row[] = {");
    for (k = 0; k < t->count; k++) {
        const spmv_tune_row *r = &t->row[k];
        if (!r->curve) continue;
        begin_row(&r->layout, r->type);
        upper(kind, spmv_tune_kind_name(r->kind));
        printf("SPMV_TUNE_%s, \"%s\", NULL, (float *)spmv__curves[%u] },\n", kind, r->variant, (unsigned)n++);
    }
    puts("};");
    return n;
}

static void print_fits(const spmv_tuning *t)
{
    size_t k;
    int i;
    puts("static const spmv_tune_fit spmv__ready_fit[] = {");
    for (k = 0; k < t->fits; k++) {
        const spmv_tune_fit *f = &t->fit[k];
        begin_row(&f->layout, f->type);
        printf("\n      \"%s\", %.10g, {", f->variant, f->error);
        for (i = 0; i < SPMV_TERM_COUNT; i++) printf(" %.10g%s", f->factor[i], i + 1 < SPMV_TERM_COUNT ? "," : "");
        puts(" } },");
    }
    if (!t->fits) puts("    { { { 0 }, SPMV_CSR }, SPMV_F64, \"\", 0, { 0 } }");
    puts("};");
}

/* Print numbers in braces, as a line. */
static void reals(const double *v, int n)
{
    printf("    {");
    while (n--) printf(" %.10g%s", *v++, n ? "," : " },\n");
}

static void integers(const uint64_t *v, int n)
{
    printf("    {");
    while (n--) printf(" %llu%s", (unsigned long long)*v++, n ? "," : " },\n");
}

/* Prints what preparing takes. */
static void print_prepare(const spmv_tune_prepare *p)
{
    int i;
    puts("    {");
    reals(p->begin, SPMV_FORMAT_COUNT);
    puts("    {");
    for (i = 0; i < SPMV_FORMAT_COUNT; i++) reals(p->slot[i], SPMV_WAY_COUNT);
    puts("    },");
    real(p->part);
    real(p->divide);
    real(p->look);
    real(p->look_byte);
    real(p->build);
    line_end();
    puts("    },");
}

/* Prints the table itself, member by member in the order of the struct. */
static void print_head(const spmv_tuning *t, size_t rows)
{
    int i;
    puts("static const spmv_tuning spmv__ready = {");
    printf("    \"%s\", \"%s\", \"%s\", SPMV_DEVICE_CLASS_HOST,\n", t->device, t->driver, t->date);
    integer(t->units);
    integer(t->memory);
    real(t->copy);
    real(t->read);
    real(t->cache);
    real(t->cache_read);
    real(t->held);
    real(t->miss);
    integer((uint64_t)t->graph);
    real(t->call);
    real(t->launch);
    real(t->step);
    real(t->long_step);
    integer(t->short_steps);
    line_end();
    reals(t->peak, SPMV_TUNE_LEVELS);
    integer((uint64_t)t->rows);
    integer((uint64_t)t->per_row);
    line_end();
    integers(t->rows_at, SPMV_TUNE_AXIS);
    integers(t->per_row_at, SPMV_TUNE_AXIS);
    integer(rows);
    item("(spmv_tune_row *)spmv__ready_row");
    integer(t->fits);
    item("(spmv_tune_fit *)spmv__ready_fit");
    line_end();
    reals(t->low, SPMV_TERM_COUNT);
    reals(t->high, SPMV_TERM_COUNT);
    puts("    {");
    for (i = 0; i < SPMV_FORMAT_COUNT; i++) reals(t->work[i], SPMV_WORK_COUNT);
    puts("    },");
    real(t->left_out);
    line_end();
    reals(t->alike, SPMV_ALIKE_COUNT);
    real(t->noise);
    line_end();
    reals(t->regret, SPMV_TYPE_COUNT);
    reals(t->worst, SPMV_TYPE_COUNT);
    integer(t->structures);
    integer(t->samples);
    line_end();
    print_prepare(&t->prepare);
    item("{ NULL, NULL, NULL, NULL, 0 }");
    line_end();
    puts("};");
}

int main(int argc, char **argv)
{
    char *text = (char *)malloc(MOST_BYTES);
    FILE *f = argc == 2 ? fopen(argv[1], "rb") : NULL;
    spmv_tuning t;
    size_t n;
    if (!text || !f) {
        fprintf(stderr, "usage: ready FILE\n");
        return 2;
    }
    n = fread(text, 1, MOST_BYTES, f);
    fclose(f);
    if (spmv_tuning_read(&t, text, n, argv[1], NULL) != SPMV_OK) return 1;
    print_curves(&t);
    n = print_rows(&t);
    print_fits(&t);
    print_head(&t, n);
    spmv_tuning_free(&t);
    free(text);
    return 0;
}
