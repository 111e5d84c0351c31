# SPDX-License-Identifier: MIT
"""Predicts a product with a large matrix on many GPUs or processes from what was measured on two GPUs and two processes.

    python3 bench/model.py [--nonzeros 1e10] [--network 10,40] [bench/results/nvidia-h200-x2.txt [bench/results/petsc.txt]]

The model, for P equal devices, each with its share of the rows:
    product   t0 + t1 n / P; t1 is the time of a nonzero and t0 that of starting, from two sizes on one GPU. For processes on hosts,
              t1 is the time of a nonzero on 2 processes, the fastest plan, and t0 is 0
    halo      slabs: two planes of the cube, which is what spmv_group and plain row ranges give; boxes: the shell around a cube of n / P
              nonzeros, which a partitioner gives. That the measured halo of two GPUs is one plane is checked
    exchange  2 (slabs) or 6 (boxes) messages, one after another. Between GPUs of one node as measured for peer copies, by size; between
              nodes by an ASSUMED network: --network LATENCY,BANDWIDTH, microseconds of a message and GB/s for each GPU. All messages of
              processes on hosts take the network's latency, and RANKS_PER_NODE processes share its bandwidth
    together  the greater of the product and of the exchange followed by what waits for it, which is at most the nonzeros of the rows at
              the boundary: the exchange hides behind the product with each device's own columns
Not in the model: unequal pieces, other load on the network, sums over all devices as solvers need them.
The first table compares the model with the measured time on two GPUs. bench/readme.py puts both tables into docs/scaling.md."""
import argparse
import os
import re
import sys

RANKS_PER_NODE = 32  # processes on a host that share a network adapter
GPUS_PER_NODE = 8    # as in an HGX H200
KINDS = {"grid": ("7-point grid", 7, 1), "mesh": ("27-point mesh, 3 unknowns", 81, 3)}  # text, nonzeros a row, unknowns of a point
RESULTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "results")
GROUPS, RANKS = os.path.join(RESULTS, "nvidia-h200-x2.txt"), os.path.join(RESULTS, "petsc.txt")


def lines_of(path):
    try:
        with open(path, encoding="utf-8") as f:
            return f.read().splitlines()
    except OSError as error:
        sys.exit(f"{path}: {error.strerror}")


class Matrix:
    """A matrix of the measurements: its size and times, in seconds."""

    def __init__(self, match):
        self.kind = match[1]
        self.size = [int(v) for v in match[2].split("_")]
        self.nonzeros = int(match[4])
        self.one = float(match[5]) * 1e-6
        self.two = self.halo = None


def read_groups(path):
    """The matrices of the output of bench/groups.c, and the times of messages between two GPUs as pairs of bytes and seconds."""
    matrices, peer, section = [], [], ""
    for line in lines_of(path):
        section = line if line.startswith("==") else section
        m = re.match(r"(grid|mesh)_(\d+_\d+_\d+) f64: (\d+) rows, (\d+) nonzeros, .* on one ([\d.]+) us", line)
        if m and "CUDA" in section and "through the host" not in section:
            matrices.append(Matrix(m))
        elif m:
            matrices.append(None)
        m = re.match(r"  by \w+ +on 2 ([\d.]+) us", line)
        if m and matrices and matrices[-1]:
            matrices[-1].two = float(m[1]) * 1e-6
        m = re.search(r"halo ([\d.]+) KB", line)
        if m and matrices and matrices[-1]:
            matrices[-1].halo = float(m[1]) * 1e3
        m = re.match(r" *(\d+) bytes .*\| +([\d.]+) us +[\d.]+ GB/s +\| ", line)
        if m:
            peer.append((int(m[1]), float(m[2]) * 1e-6))
    return [m for m in matrices if m], sorted(peer)


def read_ranks(path):
    """Seconds of a nonzero in one of two processes: the fastest plan for the grid of bench/petsc.sh, a five-point grid of N x N."""
    best = None
    for line in lines_of(path):
        m = re.match(r"grid_(\d+) +2 +spmv .*? ([\d.]+) +[\d.]+ +[\d.]+ +\d+$", line)
        if m:
            n = int(m[1])
            time = float(m[2]) * 1e-6 * 2 / (5 * n * n - 4 * n)
            best = min(best or time, time)
    return best


def message(peer, size):
    """Seconds of a message between two GPUs: between two measured sizes along the line through them."""
    if size <= peer[0][0]:
        return peer[0][1]
    for (a, ta), (b, tb) in zip(peer, peer[1:]):
        if size <= b:
            return ta + (tb - ta) * (size - a) / (b - a)
    return peer[-1][1] * size / peer[-1][0]


def rates(matrices, kind):
    """t0 and t1 from the two largest matrices of a kind, and the largest."""
    own = sorted((m for m in matrices if m.kind == kind), key=lambda m: m.nonzeros)
    if len(own) < 2:
        sys.exit(f"two sizes of {kind} are needed")
    small, large = own[-2:]
    slope = (large.one - small.one) / (large.nonzeros - small.nonzeros)
    return max(large.one - slope * large.nonzeros, 0), slope, large


def shape(kind, nonzeros, parts, boxes):
    """Halo bytes, messages, and nonzeros in the rows at the boundary, for a piece of a cube."""
    _, per_row, unknowns = KINDS[kind]
    side = (nonzeros / per_row / unknowns) ** (1 / 3)
    if boxes:
        edge = side / parts ** (1 / 3)
        points = (edge + 2) ** 3 - edge ** 3 if kind == "mesh" else 6 * edge ** 2
        inside = max(edge - 2, 0) ** 3
        boundary, count = edge ** 3 - inside, 6
    else:
        points = 2 * side ** 2
        boundary, count = min(points, side ** 3 / parts), 2
    return points * unknowns * 8, count, boundary * unknowns * per_row


def together(t0, t1, nonzeros, parts, exchange, boundary):
    return max(t0 + t1 * nonzeros / parts, exchange + t0 + t1 * boundary)


def checks(matrices, peer):
    """For each kind: its text, the nonzeros of the largest matrix, and its seconds on one GPU, on two, and on two by the model. Each sends
    one plane."""
    for kind, (text, per_row, unknowns) in KINDS.items():
        t0, t1, m = rates(matrices, kind)
        plane = m.size[0] * m.size[1] * unknowns
        if m.two is None or abs(m.halo - plane * 8) > 0.01 * plane * 8:
            sys.exit(f"{kind}: the halo is {m.halo} bytes, not a plane of {plane * 8}")
        model = together(t0, t1, m.nonzeros, 2, message(peer, m.halo), plane * per_row)
        yield text, m.nonzeros, m.one, m.two, model


def predictions(matrices, peer, per_rank, n, latency, bandwidth):
    """For each case: its text, the devices, the cut, halo bytes, the seconds of the product, of the exchange and of both together, and the
    efficiency."""
    for kind, (text, _, _) in KINDS.items():
        t0, t1, _ = rates(matrices, kind)
        for parts, boxes in ((2, 0), (8, 0), (64, 0), (64, 1), (1000, 0), (1000, 1)):
            halo, count, boundary = shape(kind, n, parts, boxes)
            one_node = parts <= GPUS_PER_NODE
            exchange = count * (message(peer, halo / count) if one_node else latency + halo / count / bandwidth)
            total = together(t0, t1, n, parts, exchange, boundary)
            yield (text + ", GPUs", parts, "boxes" if boxes else "slabs", halo, t0 + t1 * n / parts, exchange, total,
                   (t0 + t1 * n) / parts / total)
    halo, count, boundary = shape("grid", n, 1000, 1)
    exchange = count * latency + halo * RANKS_PER_NODE / bandwidth
    total = together(0, per_rank, n, 1000, exchange, boundary)
    yield KINDS["grid"][0] + ", processes", 1000, "boxes", halo, per_rank * n / 1000, exchange, total, per_rank * n / 1000 / total


def table(groups=GROUPS, ranks=RANKS, n=1e10, latency=10e-6, bandwidth=40e9):
    """The predictions as a table in Markdown, and above it what was measured."""
    matrices, peer = read_groups(groups)
    per_rank = read_ranks(ranks)
    if not peer or not per_rank:
        sys.exit(f"{groups if not peer else ranks}: no times of {'peer copies' if not peer else 'two processes'}")
    out = ["| measured, f64 | nonzeros | one GPU, us | two GPUs, us | two by the model, us |", "|---|---|---|---|---|"]
    for text, nonzeros, one, two, model in checks(matrices, peer):
        out.append(f"| {text} | {nonzeros:.2e} | {one * 1e6:.0f} | {two * 1e6:.0f} | {model * 1e6:.0f} |")
    out += ["", f"| predicted, {n:.0e} nonzeros | number | cut | halo of each, MB | product, us | exchange, us | together, us | "
            "efficiency |", "|---|---|---|---|---|---|---|---|"]
    for text, parts, cut, halo, product, exchange, total, efficiency in predictions(matrices, peer, per_rank, n, latency, bandwidth):
        times = " | ".join(f"{seconds * 1e6:.0f}" for seconds in (product, exchange, total))
        out.append(f"| {text} | {parts} | {cut} | {halo * 1e-6:.2f} | {times} | {efficiency:.2f} |")
    return "\n".join(out) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nonzeros", type=float, default=1e10)
    parser.add_argument("--network", default="10,40")
    parser.add_argument("groups", nargs="?", default=GROUPS)
    parser.add_argument("ranks", nargs="?", default=RANKS)
    args = parser.parse_args()
    latency, bandwidth = (float(v) for v in args.network.split(","))
    print(table(args.groups, args.ranks, args.nonzeros, latency * 1e-6, bandwidth * 1e9), end="")


if __name__ == "__main__":
    main()
