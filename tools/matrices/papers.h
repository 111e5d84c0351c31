/* SPDX-License-Identifier: MIT
 *
 * tools/matrices/papers.h - the matrices of the papers and their recipes.
 */
#ifndef SPMV_TOOLS_MATRICES_PAPERS_H
#define SPMV_TOOLS_MATRICES_PAPERS_H

#include "draw.h"

/* A matrix of a paper: its name here, its recipe, and a description. */
typedef struct exhibit {
    const char *name, *recipe, *text;
} exhibit;

/* A paper and its matrices. */
typedef struct paper {
    const char    *title;
    const exhibit *list;
    int            count;
} paper;

/* All papers, paper_count of them. */
extern const paper paper_list[];

extern const int paper_count;

/* The recipe of a paper's matrix, or NULL if there is no such name. */
const recipe *paper_recipe(const char *name);

#endif
