#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Draws the README's picture of speed, bench/results/speed.png, from the tables in bench/results that bench/readme.py reads: a dot for each
matrix, another library's time over ours. Needs matplotlib (Debian: python3-matplotlib)."""
import os
import re
import sys

sys.dont_write_bytecode = True
import readme  # noqa: E402
sys.path.insert(0, os.path.join(readme.ROOT, "tools"))
import plot  # noqa: E402

ROW = re.compile(r"^\S+ +[\d.]+ \S+ +[\d.]+ +([\d.]+)  ")
PEERS = {"nvidia-h200.txt": "cuSPARSE", "nvidia-h100.txt": "cuSPARSE", "cpu-16.txt": "Intel MKL, AOCL-Sparse, Eigen, librsb and a loop",
         "cpu.txt": "Intel MKL, Eigen, librsb and a loop"}
COLOURS = {"f64": "#5ba3cf", "f32": "#e0a458"}
WIDTH, LEFT, RIGHT, HIGH, TOP = 850, 54, 136, 34, 96  # in units of 1/96 inch; HIGH: of a type


def ratios(name):
    """{type: the peer's time over ours of each matrix}, and the machine."""
    found, kind, machine = {}, None, ""
    with open(readme.results(name), encoding="utf-8") as f:
        for line in f:
            section, row = readme.SECTION.match(line), ROW.match(line)
            kind = section[2] if section else kind
            machine = machine or line.removeprefix("Machine: ")
            if row:
                found.setdefault(kind, []).append(float(row[1]))
    return found, machine


def panel(fig, y, found, machine, peer, ends, last):
    plot.put(fig, LEFT, y - 8, f"{readme.short(machine)}, beside the fastest of {peer}", 15, weight="bold")
    ax = plot.axes(fig, LEFT, y, WIDTH - LEFT - RIGHT, 2 * HIGH, "left", "bottom", xscale="log", xlim=ends, ylim=(1.5, -0.5))
    ax.axvspan(ends[0], 1, color="#f3f4f6", zorder=0)
    ax.axvline(1, color=plot.INK, linewidth=1.2)
    for i, kind in enumerate(("f64", "f32")):
        values = sorted(found[kind])
        mean = plot.geometric_mean(values)
        ax.scatter(values, [i + (-0.25, 0, 0.25, -0.12, 0.12)[k % 5] for k in range(len(values))], 30, COLOURS[kind], linewidths=0)
        ax.plot([mean, mean], [i - 0.42, i + 0.42], color=plot.INK, linewidth=3, solid_capstyle="butt")
        plot.put(fig, WIDTH - RIGHT + 12, y + HIGH * (i + 0.5), f"mean {mean:.2f}\u00d7", 16, weight="bold", va="center")
    plot.put(fig, LEFT + 3, y + HIGH, "slower", 13, plot.FAINT, va="center")
    ax.set_yticks((0, 1), ("f64", "f32"))
    marks = [v for v in (0.5, 1, 1.5, 2, 3, 4, 6, 8) if ends[0] <= v <= ends[1]]
    ax.set_xticks(marks, [f"{v:g}\u00d7" for v in marks] if last else [])
    ax.set_xticks([], minor=True)
    ax.grid(axis="x")
    ax.tick_params(length=0, labelsize=11)


def main():
    step = 2 * HIGH + 40
    fig = plot.figure(WIDTH, TOP + step * len(PEERS) + 10, "How many times as fast as other libraries spmv is: a dot for each matrix")
    plot.put(fig, plot.LEFT, 56, "the plan that spmv chooses; many products in a row, without preparation; bars: geometric means", 14,
             plot.FAINT)
    places = {name: ratios(name) for name in PEERS}
    values = [v for found, _ in places.values() for of in found.values() for v in of]
    ends = min(values + [0.8]) * 0.97, max(values + [4]) * 1.03
    for i, (name, peer) in enumerate(PEERS.items()):
        panel(fig, TOP + step * i, *places[name], peer, ends, i == len(PEERS) - 1)
    with open(readme.results("speed.png"), "wb") as file:
        fig.savefig(file, format="png", metadata={"Software": None})


if __name__ == "__main__":
    main()
