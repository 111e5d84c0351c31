# SPDX-License-Identifier: MIT
"""A linear program by products alone: python transport.py [PLACES] [PICTURE] - what PLACES sources send to as many sinks on a map, so that
the way of all goods together is the shortest, and draws it.

Primal-dual hybrid gradients for min c x, A x = b, x >= 0, restarted from averages (Applegate et al., arXiv:2106.04756): a step takes one
product with A and one with A.T. Where c x and b y meet, x and y are best."""
import sys

import matplotlib
import numpy as np
import scipy.sparse as sparse

import spmv

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

places = int(sys.argv[1]) if len(sys.argv) > 1 else 40
picture = sys.argv[2] if len(sys.argv) > 2 else "transport.png"
random = np.random.default_rng(2)
sources, sinks = random.random((places, 2)), random.random((places, 2))
goods = random.random((2, places)) + 0.2
b = (goods / goods.sum(axis=1, keepdims=True)).ravel() * places  # what each source has, and each sink wants
c = np.linalg.norm(sources[:, None] - sinks[None], axis=2).ravel()  # the way from each to each
one, all_of = sparse.identity(places), np.ones((1, places))
A = spmv.matrix(sparse.vstack([sparse.kron(one, all_of), sparse.kron(all_of, one)]), both=True)
step = 0.9 / np.sqrt(2 * places)  # below 1 / |A|


def error(x, y):
    """How far x and y are from the optimum, relative to b, c and the ways."""
    way, worth = c @ x, b @ y
    return (np.linalg.norm(A @ x - b) / np.linalg.norm(b) + np.linalg.norm(np.maximum(A.T @ y - c, 0)) / np.linalg.norm(c)
            + abs(way - worth) / (abs(way) + abs(worth)))


x, y, steps = np.zeros(places**2), np.zeros(2 * places), 0
start, left, weight = (x, y), np.inf, 1.0
while left > 1e-6 and steps < 100000:  # from one restart to the next
    x_sum, y_sum, count = np.zeros_like(x), np.zeros_like(y), 0
    while True:
        before = x
        x = np.maximum(x - step / weight * (c - A.T @ y), 0)
        y = A.mul(2 * x - before, alpha=-step * weight, beta=1, out=y + step * weight * b)
        x_sum, y_sum, count = x_sum + x, y_sum + y, count + 1
        if count % 40 == 0:
            now = min(error(x, y), error(x_sum / count, y_sum / count))
            if now < 0.3 * left or count >= 0.3 * (steps + count) + 400:
                break
    if error(x_sum / count, y_sum / count) < error(x, y):
        x, y = x_sum / count, y_sum / count
    steps, left = steps + count, error(x, y)
    far = np.linalg.norm(x - start[0]), np.linalg.norm(y - start[1])
    if min(far) > 0:  # x and y move as fast as they have to
        weight = np.sqrt(weight * far[1] / far[0])
    start = x, y
print(f"{A.shape[1]} ways, stored as {A.plan} and {A.T.plan}: {steps} steps, error {left:.1e}, c x {c @ x:.4f}, b y {b @ y:.4f}")

plt.figure(figsize=(5, 5))
for i, j in zip(*np.nonzero(x.reshape(places, places) > 1e-3)):
    plt.plot(*zip(sources[i], sinks[j]), color="gray", linewidth=4 * x[i * places + j])
plt.scatter(*sources.T, s=60 * b[:places], color="tab:blue", label="sources", zorder=2)
plt.scatter(*sinks.T, s=60 * b[places:], color="tab:orange", label="sinks", zorder=2)
plt.legend(loc="upper center", bbox_to_anchor=(0.5, 0), ncol=2)
plt.axis("off")
plt.savefig(picture, dpi=70, bbox_inches="tight")
