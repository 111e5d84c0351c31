#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A thinned table chooses as well as the full one: thinned.py SPMV TABLE SAMPLES. Thins the table to every second size of both
axes, has "spmv tune --fit" fit the full and the thinned table to the same samples, and compares the regret of structures that were left
out. Of fewer structures than all, 14 say, the regrets differ by more than 1% by chance."""
import os
import re
import subprocess
import sys
import tempfile

# How much more the thinned table's choices may take, as a factor.
MOST = 1.01

FITS = ("left_out", "alike", "noise", "terms", "work", "low", "high", "regret", "fit")


def rates(words, count):
    """The rates of a line, with its gaps spelled out."""
    out = []
    for word in words:
        out += ["-"] * (int(word[1:] or 1)) if word.startswith("-") else [word]
    return out + ["-"] * (count - len(out))


def read_table(path):
    """The lines of a table without its fits."""
    with open(path, encoding="ascii") as file:
        return [line for line in file if line.split(" ", 1)[0] not in FITS]


def thin(lines):
    """The same table with every second size of each axis, of which the last is kept."""
    axes, out = {}, []
    for line in lines:
        words = line.split()
        if words and words[0] in ("rows", "per_row"):
            sizes = words[1:]
            axes[words[0]] = len(sizes), [i for i in range(len(sizes)) if (len(sizes) - 1 - i) % 2 == 0]
            line = " ".join([words[0]] + [sizes[i] for i in axes[words[0]][1]]) + "\n"
        elif len(axes) == 2 and words and words[0] in ("f64", "f32"):
            (rows, keep_rows), (per_row, keep_per_row) = axes["rows"], axes["per_row"]
            all_of = rates(words[3:], rows * per_row)
            line = " ".join(words[:3] + [all_of[i * per_row + j] for i in keep_rows for j in keep_per_row]) + "\n"
        out.append(line)
    return out


def regrets(spmv, lines, samples, directory):
    """What the structures that were left out of the fits cost, by type."""
    table, fitted = os.path.join(directory, "table"), os.path.join(directory, "fitted")
    with open(table, "w", encoding="ascii") as file:
        file.writelines(lines)
    run = subprocess.run([spmv, "tune", "--fit", samples, "--table", table, "--out", fitted], capture_output=True, text=True, check=False)
    if run.returncode:
        sys.exit(f"spmv tune --fit failed: {run.stderr.strip()}")
    with open(fitted, encoding="ascii") as file:
        return {t: float(v) for t, v in re.findall(r"^regret (\w+) ([\d.]+)", file.read(), re.M)}


def main(args):
    spmv, table, samples = args
    bad = 0
    with tempfile.TemporaryDirectory() as directory:
        lines = read_table(table)
        full, thinned = regrets(spmv, lines, samples, directory), regrets(spmv, thin(lines), samples, directory)
        if not full or set(full) != set(thinned):
            sys.exit(f"regrets of {sorted(full)} and {sorted(thinned)}")
        for kind, value in sorted(full.items()):
            fine = thinned[kind] <= value * MOST
            bad += not fine
            print(f"{'ok' if fine else 'FAIL'} {os.path.basename(table)} {kind}: regret {value:.3f}, thinned {thinned[kind]:.3f}")
    print(f"{len(full) - bad} passed, {bad} failed")
    return bad != 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
