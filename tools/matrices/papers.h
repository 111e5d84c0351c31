/* SPDX-License-Identifier: MIT
 *
 * tools/matrices/papers.h - the matrices of the papers, as recipes.
 */
#ifndef SPMV_TOOLS_MATRICES_PAPERS_H
#define SPMV_TOOLS_MATRICES_PAPERS_H

#include "draw.h"

typedef struct exhibit {
    const char *name, *recipe, *text;
} exhibit;

typedef struct paper {
    const char    *title;
    const exhibit *list;
    int            count;
} paper;

/* Every paper, paper_count of them. */
extern const paper paper_list[];

extern const int paper_count;

/* What the name of a paper's matrix stands for, or NULL. */
const recipe *paper_recipe(const char *name);

#endif
