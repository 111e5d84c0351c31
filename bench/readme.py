#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the README's tables from bench/results, that of speed, with what is said of preparing below it, and the predictions of
bench/model.py: readme.py prints them, readme.py --write puts them into README.md, and readme.py --check fails if README.md differs.

Each file of TABLES is the output of bench/peers.sh: its first line names the machine, and the headings of its sections the device and the
type."""
import os
import re
import sys
import textwrap

sys.dont_write_bytecode = True  # of model.py
import model  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TABLES = [("nvidia-h200.txt", "cuSPARSE, nine formats and algorithms"),
          ("nvidia-h100.txt", "the same"),
          ("cpu.txt", "Intel MKL, Eigen, librsb, OpenMP loop")]
PREPARE, HOST_PREPARE = "nvidia-h200-prepare.txt", "cpu-prepare.txt"  # output of bench/totals.py
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


def cell(s):
    return f"**{s[0]}** ({s[1]} to {s[2]}; behind on {s[3]} of {s[4]})"


def table():
    rows = ["| where | peer, the fastest of | f64 | f32 | every matrix |", "|---|---|---|---|---|"]
    for name, peer in TABLES:
        found, machine = summaries(os.path.join(ROOT, "bench", "results", name))
        rows.append(f"| {machine} | {peer} | {cell(found['f64'])} | {cell(found['f32'])} | [{name}](bench/results/{name}) |")
    return "\n".join(rows) + "\n\n" + prepared()


def behind(name):
    """{(type, products, run): on how many matrices we are behind}, on how many matrices there are, and the machine."""
    found, count, machine = {}, 0, ""
    with open(os.path.join(ROOT, "bench", "results", name), encoding="utf-8") as f:
        for line in f:
            if line.startswith("Machine: "):
                machine = line[len("Machine: "):].split(";")[0].strip()
            total = TOTAL.match(line)
            if total:
                found[total[1], total[2], total[3]] = int(total[4])
                count = int(total[5])
    return found, count, machine


def prepared():
    """What is said of preparing: on how many matrices we are behind after so many products."""
    gpu, gpu_count, _ = behind(PREPARE)
    host, host_count, machine = behind(HOST_PREPARE)

    def both(found, products, run):
        return f"{found['f64', products, run]} in f64 and {found['f32', products, run]} in f32"
    return textwrap.fill(
        f"Preparing takes us longer than cuSPARSE. Of {gpu_count} matrices on the H200, counting the copy to the device, we are behind on "
        f"{both(gpu, '1,000', 'kept')} after 1,000 products with programs that an earlier process kept (`spmv_device_programs_take`). "
        f"Without these, after 10,000 products, we are behind on {both(gpu, '10,000', 'disk')} where NVRTC finds in its own cache what an "
        f"earlier process compiled, and on {both(gpu, '10,000', 'cold')} where it compiles the kernels for the first time "
        f"([{PREPARE}](bench/results/{PREPARE})). Of {host_count} matrices on a CPU ({machine}), counting preparation on both sides but "
        f"not what the first one in a process loads, we are behind the fastest of Intel MKL, Eigen, librsb and an OpenMP loop on "
        f"{both(host, '100', 'again')} after 100 products, on {both(host, '1,000', 'again')} after 1,000 and on "
        f"{both(host, '10,000', 'again')} after 10,000 "
        f"([{HOST_PREPARE}](bench/results/{HOST_PREPARE})).",
        140, break_long_words=False, break_on_hyphens=False) + "\n"


def replace(readme, begin, text):
    """The README with text between the line begin and the line END."""
    before, found, rest = readme.partition(begin)
    _, end, after = rest.partition(END)
    if not found or not end:
        sys.exit(f"README.md: no lines between {begin.strip()} and {END.strip()}")
    return before + begin + text + END + after


def main():
    parts, asked = [("<!-- made by bench/readme.py -->\n", table()), ("<!-- made by bench/model.py -->\n", model.table())], sys.argv[1:]
    if asked not in ([], ["--check"], ["--write"]):
        sys.exit("usage: readme.py [--check|--write]")
    if not asked:
        print("\n".join(text for _, text in parts), end="")
        return 0
    path = os.path.join(ROOT, "README.md")
    with open(path, encoding="utf-8") as f:
        old = new = f.read()
    for begin, text in parts:
        new = replace(new, begin, text)
    if old == new:
        return 0
    if asked == ["--check"]:
        print("README.md: its tables differ from the output of bench/readme.py:\n" + "\n".join(text for _, text in parts))
        return 1
    with open(path, "w", encoding="utf-8") as f:
        f.write(new)
    print("README.md: its tables were updated")
    return 0


if __name__ == "__main__":
    sys.exit(main())
