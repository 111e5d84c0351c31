# SPDX-License-Identifier: MIT
"""Eigenvalues of a mesh: the tones of an L-shaped drum. python membrane.py [POINTS] [PICTURE] - finds the four lowest by products
alone, and draws the shapes."""
import sys

import matplotlib
import numpy as np
import scipy.sparse as sparse
from scipy.sparse.linalg import eigsh

import spmv

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

points = int(sys.argv[1]) if len(sys.argv) > 1 else 119  # along a side of 2; odd, so that the corner is one
picture = sys.argv[2] if len(sys.argv) > 2 else "membrane.png"
h = 2 / (points + 1)
row, column = np.meshgrid(np.arange(1, points + 1) * h - 1, np.arange(1, points + 1) * h - 1, indexing="ij")
inside = ~((row > -h / 2) & (column > -h / 2))  # three of four squares

line = sparse.diags([-1.0, 2.0, -1.0], [-1, 0, 1], (points, points)) / h**2
one = sparse.identity(points)
S = sparse.csr_matrix(sparse.kron(line, one) + sparse.kron(one, line))[inside.ravel()][:, inside.ravel()]

A = spmv.matrix(S)  # the Laplacian of the points inside
values, shapes = eigsh(A, 4, which="SA", ncv=60, tol=1e-6, v0=np.random.default_rng(1).random(S.shape[0]))
order = np.argsort(values)
print(f"{S.shape[0]} points, {A.nnz} nonzeros, stored as {A.plan}")
print("lowest eigenvalues", *np.round(values[order], 3), "; on ever finer meshes 9.640 15.197 19.739 29.521")

figure, axes = plt.subplots(1, 4, figsize=(10, 2.6))
for axis, i in zip(axes, order):
    drum = np.full(inside.shape, np.nan)
    drum[inside] = shapes[:, i] / np.abs(shapes[:, i]).max()
    axis.imshow(drum, cmap="RdBu", vmin=-1, vmax=1)
    axis.set_title(f"{values[i]:.2f}")
    axis.axis("off")
figure.savefig(picture, dpi=70, bbox_inches="tight")
