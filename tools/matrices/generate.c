/* SPDX-License-Identifier: MIT */
#include "generate.h"

#include "../cli/cli.h"
#include "draw.h"
#include "drawn.h"
#include "entries.h"
#include "formula.h"
#include "mesh.h"
#include "papers.h"
#include "spmv.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the list -------------------------------------------------------------------------------------------------------- */

static void list_form(const char *form, const char *text)
{
    printf("  %-15s ", form);
    for (; *text; text++) {
        putchar(*text);
        if (*text == '\n') printf("%18s", "");
    }
    putchar('\n');
}

void generate_list(void)
{
    int i, j;
    puts("Families of matrices. Each # stands for a number.\n");
    for (i = 0; i < formula_count; i++) list_form(formula_families[i].form, formula_families[i].text);
    for (i = 0; i < drawn_count; i++) list_form(drawn_families[i].form, drawn_families[i].text);
    puts("\nMatrices of the papers: name, rows, columns, nonzeros; \"exact\" if a formula gives the pattern (except perhaps for the\n"
         "order of the unknowns), \"like\" for an imitation of the same size and structure. Values are small integers.");
    for (i = 0; i < paper_count; i++) {
        printf("\n%s\n", paper_list[i].title);
        for (j = 0; j < paper_list[i].count; j++) {
            const exhibit *x = &paper_list[i].list[j];
            const recipe *r = paper_recipe(x->name);
            printf("  %-25s %8llu %8llu %9llu  %s  %s\n", x->name, (unsigned long long)r->rows, (unsigned long long)r->cols,
                   (unsigned long long)r->nnz, r->drawing == FORMULA ? "exact" : "like ", x->text);
        }
    }
}

/* ---- making one -------------------------------------------------------------------------------------------------- */

/* Draws a matrix by its recipe, with defaults for what the recipe leaves 0. Returns NULL. */
static const char *draw_recipe(sketch *p, recipe r)
{
    if (!sketch_make(p, r.rows, r.cols, r.nnz)) return NULL;
    if (!r.block) r.block = 1;
    if (!r.fill) r.fill = 100;
    if (!r.cell) r.cell = 1;
    if (!r.same) r.same = 1;
    if (!r.run) r.run = 1;
    if (r.drawing == MESH) mesh_draw(p, &r);
    if (r.drawing == ATOMS) mesh_draw_atoms(p, &r);
    if (r.drawing == ROWS) draw_lengths(p, &r);
    return NULL;
}

/* Values for a pattern, which the caller frees: integers from -8 to 8 except 0, symmetric if the pattern is. NULL if memory ran out. */
static float *sketch_values(const sketch *p)
{
    float *val = (float *)malloc(((size_t)p->nnz + 1) * sizeof *val);
    uint64_t r, k;
    for (r = 0; val && r < p->rows; r++)
        for (k = p->ptr[r]; k < p->ptr[r + 1]; k++) {
            uint64_t c = p->col[k], v = draw_hash(r < c ? r : c, r < c ? c : r, 16);
            val[k] = (float)v - (v < 8 ? 8 : 7);
        }
    return val;
}

/* Makes a matrix of a drawn pattern, and frees that. DONE, or FAILED after a message. */
static int sketch_finish(tool *t, sketch *p, spmv_csr *out)
{
    spmv_input in;
    spmv_status s = SPMV_ERR_MEMORY;
    float *val = p->failed ? NULL : sketch_values(p);
    memset(&in, 0, sizeof in);
    in.rows = (int64_t)p->rows;
    in.cols = (int64_t)p->cols;
    in.nnz = (int64_t)p->nnz;
    in.ptr = p->ptr;
    in.ptr_bits = 64;
    in.col = p->col;
    in.val = val;
    in.val_type = SPMV_F32;
    in.duplicates = SPMV_DUP_REFUSE; /* a drawing with duplicates is wrong */
    if (val) s = spmv_csr_create(out, &in, SPMV_F64, &t->hooks);
    else cli_no_memory(t);
    free(val);
    sketch_free(p);
    cli_progress_clear(t);
    return s == SPMV_OK ? DONE : FAILED;
}

/* Makes a matrix of entries, and frees them. DONE, or FAILED after a message. */
static int entries_finish(tool *t, entries *e, spmv_csr *out)
{
    spmv_input in;
    spmv_status s;
    memset(&in, 0, sizeof in);
    in.form = SPMV_IN_COO;
    in.rows = (int64_t)e->rows;
    in.cols = (int64_t)e->cols;
    in.nnz = (int64_t)e->count;
    in.row = e->row;
    in.col = e->col;
    in.val = e->val;
    in.duplicates = SPMV_DUP_REFUSE; /* a formula with duplicates is wrong */
    s = spmv_csr_create(out, &in, SPMV_F64, &t->hooks);
    cli_progress_clear(t);
    entries_free(e);
    return s == SPMV_OK ? DONE : FAILED;
}

/* generate_matrix while messages begin with the name. */
static int make(tool *t, const char *name, spmv_csr *out)
{
    uint64_t n[4];
    entries e;
    sketch p;
    const recipe *r = paper_recipe(name);
    const char *why = NULL, *form = r && r->drawing == FORMULA ? r->name : name;
    int i, j;
    for (i = 0; i < formula_count && !formula_matches(formula_families[i].form, form, n); i++) continue;
    for (j = 0; i == formula_count && j < drawn_count && !formula_matches(drawn_families[j].form, form, n); j++) continue;
    if (i == formula_count && j == drawn_count && !r)
        return cli_misuse(t, "there is no matrix '%s'; spmv gen --list prints the names, with # for a number", name);
    memset(&e, 0, sizeof e);
    memset(&p, 0, sizeof p);
    cli_progress_name(t, "making", name);
    if (i < formula_count) why = formula_families[i].make(&e, n);
    else if (j < drawn_count) why = drawn_families[j].draw(&p, n);
    else why = draw_recipe(&p, *r);
    if (!why && !e.failed) return i < formula_count ? entries_finish(t, &e, out) : sketch_finish(t, &p, out);
    entries_free(&e);
    sketch_free(&p);
    return why ? cli_complain(t, "%s", why) : cli_no_memory(t);
}

int generate_matrix(tool *t, const char *name, spmv_csr *out)
{
    const char *about = t->about;
    int result;
    t->about = name;
    result = make(t, name, out);
    t->about = about;
    return result;
}
