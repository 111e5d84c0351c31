# SPDX-License-Identifier: MIT
"""Predicts a product with a large matrix on many GPUs or processes from what was measured on two GPUs and two processes.

    python3 bench/model.py [--nonzeros 1e10] [--network 10,40] [bench/results/nvidia-h200-x2.txt [bench/results/petsc.txt]]

The model, for P equal devices, each with its share of the rows:
    product   t0 + t1 n / P, where t1 is the time of a nonzero and t0 that of starting, from two sizes on one GPU. For processes on a host,
              t1 is the time of a nonzero on 2 processes, the fastest plan, and t0 is 0
    halo      slabs: two planes of the cube, which is what spmv_group and plain row ranges give; boxes: the shell around a cube of n / P
              nonzeros, which a partitioner gives. That the measured halo of two GPUs is one plane is checked
    exchange  2 (slabs) or 6 (boxes) messages, one after another. Between GPUs of one node as measured for peer copies, by size; between
              nodes by an ASSUMED network: --network LATENCY,BANDWIDTH, microseconds of a message and GB/s for each GPU. All messages of
              processes on hosts take the network's latency, and RANKS_PER_NODE processes share its bandwidth
    together  the greater of the product and of the exchange followed by the rows at the boundary, since the exchange hides behind the
              interior
Not in the model: unequal pieces, other load on the network, sums over all devices as solvers need them.
The first line printed compares the model with the measured time on two GPUs."""
import argparse
import re
import sys

RANKS_PER_NODE = 32  # processes on a host that share a network adapter
GPUS_PER_NODE = 8    # as in an HGX H200
KINDS = {"grid": ("7-point grid", 7, 1, 7), "mesh": ("27-point mesh, 3 unknowns", 81, 3, 81)}  # text, nonzeros a row, unknowns


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
    _, per_row, unknowns, _ = KINDS[kind]
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


def check(matrices, peer):
    """Compares the model with what was measured on two GPUs, where each sends one plane."""
    for kind, (text, per_row, unknowns, _) in KINDS.items():
        t0, t1, m = rates(matrices, kind)
        plane = m.size[0] * m.size[1] * unknowns
        if m.halo is None or abs(m.halo - plane * 8) > 0.01 * plane * 8:
            sys.exit(f"{kind}: the halo is {m.halo} bytes, not a plane of {plane * 8}")
        model = together(t0, t1, m.nonzeros, 2, message(peer, m.halo), plane * per_row)
        print(f"{text}, {m.nonzeros:.3g} nonzeros: one GPU {m.one * 1e6:.0f} us; two measured {m.two * 1e6:.0f} us, model {model * 1e6:.0f} us")


def row(name, cut, parts, halo, product, exchange, total, one, nonzeros):
    print(f"{name:26} {parts:6} {cut:6} {halo / 1e3:10.0f} {product * 1e6:10.1f} {exchange * 1e6:10.1f} {total * 1e6:10.1f} "
          f"{one / parts / total:10.2f} {2e-12 * nonzeros / total:10.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nonzeros", type=float, default=1e10)
    parser.add_argument("--network", default="10,40")
    parser.add_argument("groups", nargs="?", default="bench/results/nvidia-h200-x2.txt")
    parser.add_argument("ranks", nargs="?", default="bench/results/petsc.txt")
    args = parser.parse_args()
    latency, bandwidth = (float(v) for v in args.network.split(","))
    latency, bandwidth = latency * 1e-6, bandwidth * 1e9
    matrices, peer = read_groups(args.groups)
    if not peer:
        sys.exit(f"{args.groups}: no times of peer copies")
    per_rank = read_ranks(args.ranks)
    check(matrices, peer)
    n = args.nonzeros
    print(f"\n{n:.0e} nonzeros, f64; network ASSUMED: {latency * 1e6:.0f} us, {bandwidth * 1e-9:.0f} GB/s a GPU or node of {RANKS_PER_NODE} processes")
    print(f"{'matrix':26} {'P':>6} {'cut':6} {'halo KB':>10} {'product us':>10} {'exchange':>10} {'together':>10} {'efficiency':>10} {'TFLOP/s':>10}")
    for kind, (text, _, _, _) in KINDS.items():
        t0, t1, _ = rates(matrices, kind)
        for parts, boxes in ((2, 0), (8, 0), (64, 0), (64, 1), (1000, 0), (1000, 1)):
            halo, count, boundary = shape(kind, n, parts, boxes)
            one_node = parts <= GPUS_PER_NODE
            exchange = count * (message(peer, halo / count) if one_node else latency + halo / count / bandwidth)
            row(text, "boxes" if boxes else "slabs", parts, halo, t0 + t1 * n / parts, exchange,
                together(t0, t1, n, parts, exchange, boundary), t0 + t1 * n, n)
    if per_rank:
        halo, count, boundary = shape("grid", n, 1000, 1)
        exchange = count * latency + halo * RANKS_PER_NODE / bandwidth
        row("7-point grid, host", "boxes", 1000, halo, per_rank * n / 1000, exchange, together(0, per_rank, n, 1000, exchange, boundary),
            per_rank * n, n)


main()
