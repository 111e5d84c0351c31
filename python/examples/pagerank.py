# SPDX-License-Identifier: MIT
"""PageRank: python pagerank.py [GRAPH.mtx[.gz]] [PICTURE] - ranks the pages of a web graph, whose entry (i, j) is a link from page i
to page j, or without a file those of a made-up one, and draws how the rank depends on the links that lead to a page."""
import sys

import matplotlib
import numpy as np
import scipy.io
import scipy.sparse as sparse

import spmv

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

DAMPING, PAGES = 0.85, 20000
picture = sys.argv[2] if len(sys.argv) > 2 else "pagerank.png"
if len(sys.argv) > 1 and sys.argv[1] != "-":
    links = sparse.csr_matrix(scipy.io.mmread(sys.argv[1]))
else:  # a page has 8 links, most of them to old pages
    random = np.random.default_rng(1)
    to = (PAGES * random.random(8 * PAGES) ** 3).astype(int)
    links = sparse.csr_matrix((np.ones(8 * PAGES), (np.repeat(np.arange(PAGES), 8), to)), (PAGES, PAGES))
links.data = np.ones(links.nnz)
n, out = links.shape[0], np.asarray(links.sum(axis=1)).ravel()

A = spmv.matrix(links.T)  # of each page, what leads to it
share = np.divide(1, out, out=np.zeros(n), where=out > 0)
rank, steps, change = np.full(n, 1 / n), 0, 1.0
while change > 1e-10 and steps < 300:
    new = A.mul(rank * share, alpha=DAMPING)
    new += (1 - new.sum()) / n  # of pages without links, and of readers who begin anew
    change, rank, steps = np.abs(new - rank).sum(), new, steps + 1
print(f"{n} pages, {A.nnz} links, stored as {A.plan}: {steps} products, the ranks add up to {rank.sum():.6f}")
print("first pages", *np.argsort(-rank)[:5])

plt.figure(figsize=(6, 3.5))
plt.loglog(1 + np.asarray(links.sum(axis=0)).ravel(), n * rank, ".", markersize=2, alpha=0.3)
plt.xlabel("1 + links to a page")
plt.ylabel("rank over the mean")
plt.tight_layout()
plt.savefig(picture, dpi=70)
