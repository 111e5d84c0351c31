#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the README's table of speed from bench/results: readme.py prints it, readme.py --write puts it into README.md, and
readme.py --check fails if README.md differs.

Each file of TABLES is the output of bench/peers.sh: its first line names the machine, and the headings of its sections the device and the
type."""
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TABLES = [("nvidia-h200.txt", "cuSPARSE, nine formats and algorithms"),
          ("cpu.txt", "Intel MKL, Eigen, librsb, OpenMP loop")]
BEGIN, END = "<!-- made by bench/readme.py -->\n", "<!-- end -->\n"
SECTION = re.compile(r"^(.*), (f32|f64); microseconds$")
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


def cell(s):
    return f"**{s[0]}** ({s[1]} to {s[2]}; behind on {s[3]} of {s[4]})"


def table():
    rows = ["| where | peer, the fastest of | f64 | f32 | every matrix |", "|---|---|---|---|---|"]
    for name, peer in TABLES:
        found, machine = summaries(os.path.join(ROOT, "bench", "results", name))
        rows.append(f"| {machine} | {peer} | {cell(found['f64'])} | {cell(found['f32'])} | [{name}](bench/results/{name}) |")
    return "\n".join(rows) + "\n"


def main():
    text, asked = table(), sys.argv[1:]
    if asked not in ([], ["--check"], ["--write"]):
        sys.exit("usage: readme.py [--check|--write]")
    if not asked:
        print(text, end="")
        return 0
    path = os.path.join(ROOT, "README.md")
    with open(path, encoding="utf-8") as f:
        before, begin, rest = f.read().partition(BEGIN)
    old, end, after = rest.partition(END)
    if not begin or not end:
        sys.exit(f"README.md: no table of speed between {BEGIN.strip()} and {END.strip()}")
    if old == text:
        return 0
    if asked == ["--check"]:
        print("README.md: its table of speed differs from the output of bench/readme.py:\n" + text)
        return 1
    with open(path, "w", encoding="utf-8") as f:
        f.write(before + begin + text + end + after)
    print("README.md: its table of speed was updated")
    return 0


if __name__ == "__main__":
    sys.exit(main())
