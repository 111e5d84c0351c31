#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the tables of the documentation from bench/results: the sentence on speed in README.md, all figures and what preparing costs in
docs/benchmarks.md, and the predictions of bench/model.py in docs/scaling.md. readme.py prints them, readme.py --write puts them between
the lines "<!-- made by ... -->" and "<!-- end -->" of these files, and readme.py --check fails if a file differs.

Each file of TABLES is the output of bench/peers.sh: its first line names the machine, and the headings of its sections the device and the
type."""
import os
import re
import sys
import textwrap

sys.dont_write_bytecode = True  # of model.py
import model  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TABLES = [("nvidia-h200.txt", "the fastest of cuSPARSE's eleven methods"),  # and what the peer is
          ("nvidia-h100.txt", "the same"),
          ("cpu-16.txt", "the fastest of Intel MKL, AOCL-Sparse, Eigen, librsb and an OpenMP loop"),
          ("cpu.txt", "the fastest of these without AOCL-Sparse")]
PREPARE = [("nvidia-h200-prepare.txt", "kept", ", programs kept by an earlier process"),  # output of bench/totals.py, and a run in it
           ("nvidia-h200-prepare.txt", "disk", ", programs in NVRTC's own cache"),
           ("nvidia-h200-prepare.txt", "cold", ", programs compiled now"),
           ("cpu-prepare.txt", "again", "")]
PRODUCTS = ("100", "1,000", "10,000")
END = "<!-- end -->\n"
SECTION = re.compile(r"^(.*), (f32|f64); microseconds$")
TOTAL = re.compile(r"^(f32|f64), +([\d,]+) products, (\w+) *: .*behind on (\d+) of (\d+)$")
SUMMARY = re.compile(r"^  auto: geometric mean ([\d.]+), from ([\d.]+) to ([\d.]+), behind on (\d+) of (\d+)$")


def summaries(path):
    """{type: the groups of SUMMARY}, and the text after 'Machine: '."""
    found, kind, machine = {}, None, ""
    with open(path, encoding="utf-8") as f:
        for line in f:
            if line.startswith("Machine: "):
                machine = line[len("Machine: "):].strip()
            section = SECTION.match(line)
            kind = section[2] if section else kind
            summary = SUMMARY.match(line)
            if summary:
                found[kind] = summary.groups()
    return found, machine


def results(name):
    return os.path.join(ROOT, "bench", "results", name)


def short(machine):
    """The machine without driver, date and trademarks."""
    name = re.sub(r"\(R\)| Processor", "", machine.split(";")[0])
    return re.sub(r", (?!\d+ cores).*", "", name)


def speed():
    """The README's sentences: the means on a GPU and on a CPU; the picture beside them shows all."""
    said, counts = [], []
    for name, peer in (TABLES[0], TABLES[2]):
        found, machine = summaries(results(name))
        f64, f32 = found["f64"], found["f32"]
        said.append(f"{short(machine)}: **{f64[0]}** times as fast in f64 and **{f32[0]}** in f32 as {peer}.")
        counts.append(f64[4])
    text = f"**How fast?** {' '.join(said)} Geometric means over {' and '.join(counts)} matrices, a dot for each:"
    return textwrap.fill(text, 140, break_on_hyphens=False) + "\n"


def cell(s):
    return f"**{s[0]}** ({s[1]} to {s[2]}) | {s[3]} of {s[4]}"


def figures():
    """The same with the range, how often we are behind, and the machine."""
    rows = ["| machine; date | f64 | behind on | f32 | behind on | every matrix |", "|---|---|---|---|---|---|"]
    for name, _ in TABLES:
        found, machine = summaries(results(name))
        rows.append(f"| {machine} | {cell(found['f64'])} | {cell(found['f32'])} | [{name}](../bench/results/{name}) |")
    return "\n".join(rows) + "\n"


def behind(name):
    """{(type, products, run): on how many matrices we are behind}, on how many matrices there are, and the machine."""
    found, count, machine = {}, 0, ""
    with open(results(name), encoding="utf-8") as f:
        for line in f:
            if line.startswith("Machine: "):
                machine = line[len("Machine: "):]
            total = TOTAL.match(line)
            if total:
                found[total[1], total[2], total[3]] = int(total[4])
                count = int(total[5])
    return found, count, machine


def prepared():
    """On how many matrices we are behind after so many products, preparing included."""
    rows = ["| behind on, f64 / f32 | of | " + " | ".join(f"{p} products" for p in PRODUCTS) + " | every matrix |",
            "|---|---|" + "---|" * len(PRODUCTS) + "---|"]
    for name, run, programs in PREPARE:
        found, count, machine = behind(name)
        cells = " | ".join(f"{found['f64', p, run]} / {found['f32', p, run]}" for p in PRODUCTS)
        rows.append(f"| {short(machine)}{programs} | {count} | {cells} | [{name}](../bench/results/{name}) |")
    return "\n".join(rows) + "\n"


def replace(path, text, begin, made):
    """The text of a file with what was made between the line begin and the line END."""
    before, found, rest = text.partition(begin)
    _, end, after = rest.partition(END)
    if not found or not end:
        sys.exit(f"{path}: no lines between {begin.strip()} and {END.strip()}")
    return before + begin + made + END + after


PARTS = [("README.md", "readme.py", speed),  # file, what its line "made by" names, and the function
         ("docs/benchmarks.md", "readme.py figures", figures),
         ("docs/benchmarks.md", "readme.py prepared", prepared),
         ("docs/scaling.md", "model.py", model.table)]


def main():
    asked, bad = sys.argv[1:], 0
    if asked not in ([], ["--check"], ["--write"]):
        sys.exit("usage: readme.py [--check|--write]")
    for path, by, function in PARTS:
        made = function()
        if not asked:
            print(made)
            continue
        with open(os.path.join(ROOT, path), encoding="utf-8") as f:
            old = f.read()
        new = replace(path, old, f"<!-- made by bench/{by} -->\n", made)
        if old == new:
            continue
        if asked == ["--check"]:
            print(f"{path}: a table differs from the output of bench/readme.py; run: python3 bench/readme.py --write\n{made}")
            bad = 1
            continue
        with open(os.path.join(ROOT, path), "w", encoding="utf-8") as f:
            f.write(new)
        print(f"{path}: a table was updated")
    return bad


if __name__ == "__main__":
    sys.exit(main())
