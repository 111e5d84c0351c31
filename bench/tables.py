#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the tables and figures of the five papers again: tables.py [--page FILE] [--pictures PREFIX] DIR prints them, each with the paper's
figures beside ours, both protocols and a sentence whether the claim holds, from what bench/papers.sh left in DIR. The figures of the papers
are in bench/papers/. --page also writes them as Markdown; --pictures draws three of the figures, with matplotlib, to PREFIX-koza.png,
PREFIX-generator.png and PREFIX-rates.png, which the page then shows. The exit status is 1 if a product was wrong.

The best single format is the fastest of clSpMV's nine for the whole matrix, with its block sizes and heights of slices; the best NV that of
dia, ell, csr, coo and HYB, which is ell and coo by the builder hyb."""
import argparse
import glob
import json
import os
import re
import subprocess
import sys

from rows import OUR_KEYS, fastest, geometric_mean, is_right, is_wrong, mean, read

HERE = os.path.dirname(os.path.abspath(__file__))
NV = ("dia", "ell", "csr", "coo")
SINGLE = re.compile(r"(dia|bdia|ell|csr|coo|sell(:h=(32|64|128|256))?|(sbell|bell|bcsr)(:b=(1|2|4|8)x(4|8))?)$")
LISTS = ("clspmv", "bands", "hybr", "hybr-image", "koza", "koza-sets", "kuresson", "kuresson-host")  # of "spmv bench --json"


class Table:
    """protocol: the paper's and ours; heads: the columns; says: whether the claim holds."""

    def __init__(self, title, protocol, heads, rows, says=""):
        self.title, self.protocol, self.heads, self.rows, self.says = title, protocol, heads, rows, says

    def text(self):
        widths = [max(len(line[i]) for line in [self.heads] + self.rows) for i in range(len(self.heads))]
        lines = ["  ".join(cell.ljust(w) if not i else cell.rjust(w) for i, (cell, w) in enumerate(zip(line, widths))).rstrip()
                 for line in [self.heads] + self.rows]
        return "\n".join([self.title, "-" * len(self.title), self.protocol, *lines, self.says, ""])

    def markdown(self):
        rule = "|---|" + "---:|" * (len(self.heads) - 1)
        lines = ["| " + " | ".join(line) + " |" for line in [self.heads] + self.rows]
        return "\n".join([f"### {self.title}", "", self.protocol, "", lines[0], rule, *lines[1:], "", f"**{self.says}**" * bool(self.says), ""])


class Results:
    """What bench/papers.sh left in a folder."""

    def __init__(self, folder, spmv):
        self.folder, self.wrong, self.products, self.lists = folder, 0, 0, {}
        with open(os.path.join(folder, "machine.txt"), encoding="utf-8") as file:
            self.machine, self.date, *self.rest = file.read().splitlines()
        for name in LISTS:
            self.lists[name] = {}
            for row in self.lines(name, OUR_KEYS):
                self.products += row["us"] is not None
                self.wrong += is_wrong(row)
                if is_right(row):
                    self.lists[name].setdefault(row["matrix"], []).append(row)
        listed = subprocess.run([spmv, "gen", "--list"], capture_output=True, text=True, check=False).stdout if os.path.exists(spmv) else ""
        self.exact = {word[0] for word in map(str.split, listed.splitlines()) if len(word) > 4 and word[4] == "exact"}

    def lines(self, name, keys=("matrix",)):
        path = os.path.join(self.folder, name + ".json")
        return list(read(path, keys)) if os.path.exists(path) else []

    def of(self, name, matrix):
        """The rows of a matrix."""
        return self.lists[name].get(matrix, [])

    def name(self, matrix):
        """The matrix's name in a table: = if its pattern is that of the paper, ~ if it is an imitation."""
        return matrix.split("_", 1)[1] + (" =" if matrix in self.exact or matrix.replace("clspmv", "hybr") in self.exact else " ~")

    def shares(self, name):
        """{(matrix, builder): the line of "spmv plan"}"""
        return {(os.path.basename(line["matrix"]).rsplit(".", 1)[0], line["builder"]): line for line in self.lines(name)}


def figures(paper):
    """{our name: the figures of a paper's table, None where it has a dash}"""
    def value(text):
        try:
            return None if text == "-" else float(text)
        except ValueError:
            return text
    with open(f"{HERE}/papers/{paper}.tsv", encoding="utf-8") as file:
        lines = [line.rstrip("\n").split("\t") for line in file if not line.startswith("#")]
    return {line[0]: [value(text) for text in line[1:]] for line in lines}


def num(v, digits=2):
    return "-" if v is None else v if isinstance(v, str) else f"{v:.{digits}f}"


def percent(v):
    return "-" if v is None else f"{v:+.1f}%"


def gain(row, over):
    """By how many percent a row is faster; None if one of them was not measured."""
    return (over["us"] / row["us"] - 1) * 100 if row and over else None


def ratio(over, row):
    return over["us"] / row["us"] if row and over else None


def gflops(row, digits=2):
    return num(row and row["gflops"], digits)


def means(columns, rule=mean):
    return [rule([v for v in column if v is not None]) if any(v is not None for v in column) else None for column in columns]


def claim(holds, text, why):
    return f"{'Holds' if holds else 'Does not hold'} here: {text}." + ("" if holds else f" {why}")


def knob(row, name):
    """The value of a knob, by the variant; None on the host."""
    found = re.search(rf"\b{name}=(\d+)", row["variant"] or "")
    return int(found.group(1)) if found else None


def pick(rows, plan, **knobs):
    """The fastest row of a plan with these knobs; the host has none, and no images."""
    def fits(row):
        return not knobs.get("IMG") if row["variant"] == "host" else all(knob(row, k) == v for k, v in knobs.items())
    return fastest([r for r in rows if r["plan"] == plan and fits(r)])


def again(rows, row):
    """The fastest row of the same plan and variant, which is the same product, whoever chose it."""
    return row and fastest([r for r in rows if (r["plan"], r["variant"]) == (row["plan"], row["variant"])])


def built(rows, *builders):
    return again(rows, fastest([r for r in rows if r["builder"] in builders]))


# ---- clSpMV --------------------------------------------------------------------------------------------------------------------------------

def format_of(row):
    return "-" if not row else "HYB" if "+" in row["plan"] else row["plan"]


class Entry:
    """What was measured for one matrix: the fastest row of each column, or None."""

    def __init__(self, rows):
        self.hyb = built(rows, "hyb")
        single = [r for r in rows if SINGLE.match(r["plan"])]
        self.nv = fastest([r for r in single if r["plan"] in NV] + [self.hyb] * bool(self.hyb))
        self.single = fastest(single)
        self.auto, self.cocktail = built(rows, "auto"), built(rows, "cocktail")


def clspmv(results):
    paper, shares = figures("clspmv"), results.shares("clspmv-plans")
    entries = {name: Entry(results.of("clspmv", name)) for name in paper if results.of("clspmv", name)}
    rows, gains = [], []
    for name, e in entries.items():
        hyb, nv, nv_format, single, single_format, cl, cl_format, *_ = paper[name]
        plan = shares.get((name, "cocktail"), {}).get("shares") or (e.cocktail or {}).get("plan", "-").upper()
        rows.append([results.name(name), *map(gflops, (e.hyb, e.nv)), format_of(e.nv), gflops(e.single), format_of(e.single),
                     gflops(e.cocktail), plan, gflops(e.auto), *map(num, (hyb, nv)), nv_format, num(single), single_format, num(cl), cl_format])
    if rows:
        yield Table("clSpMV, Table 2: GFLOP/s", "Theirs: GTX 480, f32, 2 nnz / t, x in the texture or not, whichever is faster. Ours: f32, the same "
                    "count, x in buffers; of the largest matrices block sizes 1x4 and 4x4 only. auto is this library's own choice.",
                    ["matrix", "HYB", "best NV", "format", "best single", "format", "cocktail", "its formats", "auto", "paper: HYB", "best NV",
                     "format", "best single", "format", "clSpMV", "its formats"], rows)
    rows = []
    for name, e in entries.items():
        hyb, nv, _, single, _, cl, _, single4, _, cl4, _ = paper[name]
        g = [gain(e.cocktail, e.hyb), gain(e.cocktail, e.nv), gain(e.cocktail, e.single), gain(e.auto, e.single), (cl / hyb - 1) * 100,
             (cl / nv - 1) * 100, (cl / single - 1) * 100, (cl4 / single4 - 1) * 100]
        gains.append(g)
        rows.append([results.name(name), *map(percent, g)])
    if rows:
        m = means(zip(*gains))
        middle = means(zip(*gains), lambda c: (geometric_mean([1 + g / 100 for g in c]) - 1) * 100)
        won = [g[2] for g in gains if g[2] is not None]
        yield Table("clSpMV, Tables 3 and 4: what the cocktail gains", "Computed from Table 2 and, for the Radeon 6970, from Table 4; the paper prints "
                    "means of 83.0, 63.6, 16.8 and 43.3%. Ours: as above.",
                    ["matrix", "over HYB", "over best NV", "over best single", "auto over best single", "paper: over HYB", "over best NV",
                     "over best single", "Radeon, over best single"],
                    rows + [["mean", *map(percent, m)], ["geometric mean", *map(percent, middle)]],
                    claim((m[2] or 0) > 0, f"the cocktail is {percent(m[2])} faster than the best single format in the mean of {len(won)} matrices "
                          f"(geometric {percent(middle[2])}), the paper's on the same {percent(m[6])}; it is slower by more than 5% on "
                          f"{sum(g < -5 for g in won)}", "Each part is a launch of its own, which takes as long as a whole product of some of these "
                          "matrices, and the caches of today serve csr and blocks of scattered nonzeros better than those of 2011 did."))
    yield from bands(results)


def bands(results):
    """Figures 10 and 11, as a table: a line for each size."""
    formats = ["dia", "bdia", "ell", "sell", "csr", "coo", "bell:b=1x4", "sbell:b=1x4", "bcsr:b=1x4"]
    rows = []
    for name, measured in results.lists["bands"].items():
        _, size, width, _ = name.split("_")
        rows.append([size, str(2 * int(width) + 1), *(gflops(pick(measured, f), 1) for f in formats)])
    if rows:
        best = {f: max((r["gflops"] for m in results.lists["bands"].values() for r in m if r["plan"] == f), default=0) for f in formats}
        flat = max(best[f] for f in formats[2:6])
        yield Table("clSpMV, Figures 10 and 11: GFLOP/s of the nine formats on bands", "Theirs: heat maps over rows and nonzeros a row, dense diagonals for "
                    "the flat and the diagonal formats, dense blocks on the diagonal for 1x4. Ours: bands of full diagonals for all, f32.",
                    ["rows", "in a row"] + formats, rows,
                    claim(max(best["dia"], best["bdia"]) > flat and min(best, key=best.get) == "coo",
                          "the formats of diagonals are the fastest and coo is the slowest, as on the GTX 480; peak GFLOP/s " +
                          ", ".join(f"{f} {v:.0f}" for f, v in best.items()), "Where x and the matrix fit in the cache, the order of the formats is another."))


# ---- HYB-R ---------------------------------------------------------------------------------------------------------------------------------

def coo_share(line):
    return 100 * sum(p["share"] for p in line["parts"] if p["plan"].startswith("coo"))


def width_of(row):
    """GFLOP/s and K, as the paper prints them."""
    found = row and re.match(r"ell:w=(\d+)", row["plan"])
    return "-" if not row else f"{row['gflops']:.2f} ({found.group(1) if found else 'all'})"


def hybr(results):
    paper, plans = figures("hybr"), results.shares("hybr-plans")
    rows, off = [], []
    for name, p in paper.items():
        one, two = (plans.get((name, b)) for b in ("hyb", "hybr:levels=2"))
        if not one or not two:
            continue
        ells = [100 * part["share"] for part in two["parts"] if part["plan"].startswith("ell")] + [0, 0]
        off.append(abs(coo_share(one) - p[0]))
        rows.append([results.name(name), num(coo_share(one), 1), num(p[0], 1), *(num(v, 1) for v in (*ells[:2], coo_share(two), *p[1:4]))])
    if rows:
        yield Table("HYB-R, Tables I and IV: percent of the nonzeros", "Counts, no times: HYB by its rule, and divided twice.",
                    ["matrix", "I: COO", "paper", "IV: ELL1", "ELL2", "COO", "paper: ELL1", "ELL2", "COO"], rows,
                    claim(max(off) <= 6, f"the share of COO differs from Table I by at most {max(off):.1f} points; what differs is the imitation of the "
                          "matrix, not the rule", "The imitations have other lengths of rows."))
    rows, gains, speeds = [], [], []
    for name, p in paper.items():
        of, image = results.of("hybr", name), results.of("hybr-image", name)
        hyb, twice, often = (built(of, b) for b in ("hyb", "hybr:levels=2", "hybr"))
        cl = {(n, i): fastest([r for r in image if (r["builder"] or "").startswith(n) and knob(r, "IMG") == i]) for n in ("hyb", "hybr") for i in (0, 1)}
        for i in (0, 1):  # the builder's name is a prefix of the other's
            cl["hyb", i] = fastest([r for r in image if r["builder"] == "hyb" and knob(r, "IMG") == i])
        if not hyb or not twice:
            continue
        g = [gain(twice, hyb), gain(often, hyb), gain(cl["hybr", 0], cl["hyb", 0]), gain(cl["hybr", 1], cl["hyb", 1]), *p[4:8]]
        gains.append((g, twice["plan"] != hyb["plan"]))
        rows.append([results.name(name), *map(percent, g)])
        speeds.append([results.name(name), gflops(hyb), gflops(twice), num(hyb["gbs"], 1), num(twice["gbs"], 1),
                       *(gflops(cl[n, i]) for i in (0, 1) for n in ("hyb", "hybr"))])
    if rows:
        m = means(zip(*(g for g, divided in gains if divided)))
        yield Table("HYB-R, Tables V and VI: what it gains over HYB", "Theirs: f32, GeForce 9800 GX2 (V) and GTX 295 (VI), x in global memory and in the "
                    "texture (cache), divided twice. Ours: f32, also divided as often as pays by their rule; with x in an image by OpenCL only, "
                    "as CUDA's textures are not used here. Row lists in place of one reordering.",
                    ["matrix", "twice", "by rule", "OpenCL", "OpenCL, image", "V", "V, cache", "VI", "VI, cache"],
                    rows + [["mean of the divided", *map(percent, m)]],
                    claim((m[0] or 0) > 0, f"divided twice it is {percent(m[0])} faster than HYB in the mean of the {sum(d for _, d in gains)} matrices "
                          f"that are divided, with x as an image {percent(m[3])}; theirs {percent(m[4])} to {percent(m[5])}",
                          "The further launch takes longer than COO, which uses a reduction here, takes for its few nonzeros."))
        yield Table("HYB-R, Figures 4 to 11: GFLOP/s and GB/s", "The paper has bars without numbers. Ours: GB/s counts what a product must move at least.",
                    ["matrix", "HYB", "HYB-R", "HYB GB/s", "HYB-R GB/s", "OpenCL: HYB", "HYB-R", "image: HYB", "HYB-R"], speeds)
    yield from hybr_widths(results, paper)
    lines = [line for line in results.lines("permuted") if line["matrix"] in paper]
    if lines:
        m = geometric_mean([line["and back"] / line["in order"] for line in lines])
        yield Table("HYB-R, section IV B: rows reordered once, or row lists: microseconds", "Theirs: rows sorted by length once, y brought back after the product. "
                    "Ours: both ways, f32, divided as often as pays; a plan has lists in order.",
                    ["matrix", "sorted lists", "lists in order", "reordered", "and back", "back alone"],
                    [[results.name(line["matrix"]), *(num(line[k], 1) for k in ("sorted", "in order", "permuted", "and back", "back"))] for line in lines],
                    f"Reordering once takes {m:.2f} times as long as row lists, with bringing y back; without that it takes "
                    f"{geometric_mean([line['permuted'] / line['in order'] for line in lines]):.2f} times as long.")


def hybr_widths(results, paper):
    rows, first, both = [], 0, 0
    for name, p in paper.items():
        of = results.of("hybr", name)
        ways = [built(of, f"hybr:levels=1,k={k}") for k in (1, 2, 3)]
        best = fastest([r for r in of if re.match(r"ell(:w=\d+\+coo)?$", r["plan"])])
        if not all(ways) or not best:
            continue
        first += ways[0]["us"] <= 1.02 * best["us"]
        both += min(w["us"] for w in ways) <= 1.02 * best["us"]
        rows.append([results.name(name), *map(width_of, ways), width_of(best), *(f"{p[8 + 2 * i]:.2f} ({p[9 + 2 * i]:.0f})" for i in range(4))])
    if rows:
        yield Table("HYB-R, Table VII: GFLOP/s (K) by the method that chooses K", "Theirs: GeForce 9800 GX2, f32, x in the texture, one division; the best K "
                    "exhaustively. Ours: f32, x in buffers; method 2 is the better of its two by estimate; the best of 8 K around that of method 1.",
                    ["matrix", "method 1", "method 2", "method 3", "best", "paper: method 1", "2, smaller", "2, greater", "best"], rows,
                    claim(first > len(rows) / 2, f"method 1 is within 2% of the best K on {first} of {len(rows)} matrices, one of the three methods on {both}; "
                          "theirs finds 9 of 13 by method 1 and 11 by both", "Another K pays more often than on their GPU."))


# ---- CMRS ----------------------------------------------------------------------------------------------------------------------------------

def strips(row):
    height = int(row["plan"].split("h=")[1])
    return -(-row["rows"] // height)


def cmrs_of(rows):
    """The fastest rows: CMRS, csr, HYB, 32 lanes, one lane."""
    return [fastest([r for r in rows if re.match(r"cmrs:h=\d+$", r["plan"])]), fastest([r for r in rows if r["plan"] == "csr"]), built(rows, "hyb"),
            *(fastest([r for r in rows if r["plan"] == "csr" and knob(r, "L") == n]) for n in (32, 1))]


def bandwidth(results):
    """GB/s that the products of the largest matrices reach; bytes as a product must move them at least."""
    rows = [r for of in results.lists["koza"].values() for r in of]
    most = max((r["bytes"] for r in rows), default=0)
    return max((r["gbs"] for r in rows if r["bytes"] > most / 4), default=0)


def koza(results):
    paper, rows, won, memory = figures("koza2"), [], [], bandwidth(results)
    for name, p in paper.items():
        cmrs, *others = cmrs_of(results.of("koza", name))
        if not cmrs:
            continue
        s, t = strips(cmrs), cmrs["us"] * 1e3 * memory
        speed = (2 * cmrs["nnz"] - cmrs["rows"]) / cmrs["us"] / 1e3
        eta = [(20 * cmrs["nnz"] + 4 * s + 8 * cmrs["rows"]) / t, (12 * cmrs["nnz"] + 4 * s + 16 * cmrs["rows"]) / t]
        won.append(ratio(others[0], cmrs))
        rows.append([results.name(name), cmrs["plan"], *map(num, (speed, *(ratio(o, cmrs) for o in others), *eta, *p))])
    if rows:
        better = sum(w > 1 for w in won if w)
        yield Table("CMRS, Table 2: GFLOP/s, speed-up over csr, HYB, vector and scalar, efficiency", "Theirs: GTX 480, double, (2 nnz - rows) / t, mean of 9 runs, "
                    "the best of 512 sets of parameters; csr and HYB of cuSPARSE 4.1; eta of the theoretical bandwidth. Ours: double, the same count, "
                    f"heights 2 to 16 with default knobs; csr and HYB of this library; eta of the {memory:.0f} GB/s that the fastest large product of the run reached.",
                    ["matrix", "plan", "GFLOP/s", "csr", "HYB", "vector", "scalar", "eta-", "eta+", "paper: GFLOP/s", "csr", "HYB", "vector", "scalar",
                     "eta-", "eta+"], rows,
                    claim(better > len(won) / 2, f"CMRS is faster than csr on {better} of {len(won)} matrices (theirs 17 of 22), geometric mean "
                          f"{geometric_mean([w for w in won if w]):.2f} (theirs {geometric_mean([paper[n][1] for n in paper if results.of('koza', n)]):.2f})",
                          "csr here takes as many lanes for a row as its length asks for; cuSPARSE 4.1 took a warp, which is what CMRS gains over."))
    yield from koza_figures(results)
    rows = []
    for name, of in results.lists["koza-sets"].items():
        best = fastest(of)
        def least(**k):
            return ratio(fastest([r for r in of if all(knob(r, n) == v for n, v in k.items())]), best)
        heights = [ratio(fastest([r for r in of if r["plan"].endswith(f"h={h}")]), best) for h in (2, 4, 8, 16)]
        rows.append([results.name(name), f"{best['plan']}/WG={knob(best, 'WG')},ALIGN={knob(best, 'ALIGN')},IMG={knob(best, 'IMG')}", str(len(of)),
                     *map(num, (max(r["us"] for r in of) / best["us"], *heights, *(least(WG=64 * j) for j in range(1, 9)),
                                least(ALIGN=0), least(ALIGN=1), least(IMG=0), least(IMG=1)))])
    if rows:
        yield Table("CMRS, section 5.5: sets of parameters, time over that of the best set", "Theirs: h x BS x ALIGN x texture x sorted x size of shared memory, "
                    "in double the texture always won. Ours: double, OpenCL: height, work-group, ALIGN and x as an image; strips are always sorted.",
                    ["matrix", "best", "sets", "worst", "h=2", "4", "8", "16", "WG=64", "128", "192", "256", "320", "384", "448", "512", "ALIGN=0", "1",
                     "IMG=0", "1"], rows)


def koza_points(results):
    """For each matrix of the supplement: mean, sigma, and the speed-ups over csr, HYB, vector and scalar: ours, or None, and the paper's."""
    points = []
    for name, (mu, sigma, _, *theirs, _, ours) in figures("koza").items():
        cmrs, *others = cmrs_of(results.of("koza", ours or "family_" + name))
        points.append((mu, sigma, cmrs and [ratio(o, cmrs) for o in others], theirs))
    return points


def middle(values):
    values = [v for v in values if v]
    return geometric_mean(values) if values else None


def koza_figures(results):
    points = [p for p in koza_points(results) if p[2]]
    if not points:
        return
    rows = []
    def line(label, of):
        best = [min(v for v in p[2] if v) for p in of]
        rows.append([label, str(len(of)), *map(num, (middle(p[2][2] for p in of), middle(p[2][3] for p in of), middle(p[2][1] for p in of), middle(best),
                                                     *(middle(p[3][i] for p in of) for i in (2, 3, 1)), middle(min(v for v in p[3] if v) for p in of)))])
    edges = [0, 5, 10, 20, 50, 100, 200, 1e9]
    for low, high in zip(edges, edges[1:]):
        of = [p for p in points if low <= p[0] < high and p[1] < 100]
        if of:
            line(f"mean {low:.0f} to {high:.0f}" if high < 1e9 else f"mean over {low:.0f}", of)
    for low, high in ((0, 0.5), (0.5, 1.5), (1.5, 3), (3, 10), (10, 1e9)):
        of = [p for p in points if low <= p[1] < high and p[1] < p[0]]
        if of:
            line(f"sigma {low:g} to {high:g}" if high < 1e9 else f"sigma over {low:g}", of)
    best = [min(v for v in p[2] if v) for p in points]
    yield Table(f"CMRS, Figures 1 to 3: speed-up by mean and deviation of row lengths, {len(points)} of 138 matrices", "Theirs: as Table 2. Ours: of each matrix of the "
                "supplement our imitation or one of random columns near the diagonal with its mean and deviation and at most some 2 million "
                "nonzeros. Geometric means; vector and scalar are csr with 32 lanes and one; best: of csr, HYB, vector, scalar.",
                ["matrices with", "number", "vector", "scalar", "HYB", "best", "paper: vector", "scalar", "HYB", "best"], rows,
                claim(max(best) > 1.05, f"CMRS is the fastest of the five on {sum(b > 1 for b in best)} of {len(points)} (by at most {(max(best) - 1) * 100:.0f}%; "
                      "theirs by up to 43%), and its gain over the scalar kernel grows with the mean while that over the vector kernel falls",
                      "csr with the right number of lanes does what CMRS was made for."))


# ---- Kuresson ------------------------------------------------------------------------------------------------------------------------------

def mega(row):
    """Millions of nonzeros per second."""
    return row and row["nnz"] / row["us"]


def kuresson(results):
    paper = figures("kuresson")
    copied = {(line["matrix"], line["plan"], line["devices"], line["vectors"]): line for line in results.lines("kuresson-copied")}
    rows, speeds = [], []
    for name, p in paper.items():
        host, device = (pick(results.of(list_, name), "dense") for list_ in ("kuresson-host", "kuresson"))
        if host and device:
            speeds.append(ratio(host, device))
            rows.append([results.name(name), *map(num, (host["us"] / 1e3, device["us"] / 1e3, speeds[-1], p[0], p[1], p[2], p[0] / p[2]))])
    if rows:
        yield Table("Kuresson, Table 7: milliseconds with the full matrix", "Theirs: f32, Phenom II (C++, one core; OpenCL on its four) and HD5870, mean of 1000 runs, "
                    "transfers not mentioned. Ours: f32, dense on one core of the host and on the device, vectors stay.",
                    ["matrix", "one core", "device", "speed-up", "paper: C++", "OpenCL CPU", "HD5870", "speed-up"], rows,
                    claim(geometric_mean(speeds) > 1, f"the device is {geometric_mean(speeds):.1f} times as fast as one core (theirs 3.58)",
                          "The device is the same processor with the work of OpenCL added."))
    rows, atomic, image, wins = [], [], [], []
    for name, p in paper.items():
        of = results.of("kuresson", name)
        if not of:
            continue
        coo, ell, ell_image, csr, csr_image, dia = (pick(of, "coo", ATOMIC=1), pick(of, "ell", V=1, IMG=0), pick(of, "ell", V=1, IMG=1),
                                                    pick(of, "csr", L=1, IMG=0), pick(of, "csr", L=1, IMG=1), pick(of, "dia"))
        atomic.append(ratio(coo, csr))
        image.append(ratio(ell, ell_image))
        wins.append(fastest([r for r in (coo, ell, csr, dia) if r]) is csr)
        rows.append([results.name(name), *(num(mega(r), 1) for r in (coo, ell, ell_image, csr, csr_image, dia)), *(num(v, 1) for v in p[3:13])])
    if rows:
        yield Table("Kuresson, Tables 8 and 10 to 13: millions of nonzeros per second", "Theirs: f32, HD5870 and Tesla T10, one item a row, COO by one atomic addition a nonzero, "
                    "ELL by rows, transfers not mentioned. Ours: f32, OpenCL where it is there, coo/ATOMIC=1, ell/V=1 by columns, csr/L=1, dia for CDS; "
                    "vectors stay. Symmetric matrices count both halves.",
                    ["matrix", "COO", "ELL", "ELL image", "CSR", "CSR image", "CDS", "paper: COO", "COO T10", "ELL", "ELL image", "ELL T10", "ELL image T10", "CSR", "CSR T10",
                     "CDS", "CDS T10"], rows,
                    claim(sum(wins) > len(wins) / 2, f"CSR is the fastest on {sum(wins)} of {len(wins)} matrices (theirs: all); COO by atomics takes "
                          f"{num(middle(atomic))} times as long as CSR; an image for x makes ELL {num(middle(image))} times as fast (theirs 0.4 on the HD5870, 1.17 "
                          "on the T10)", "ELL is stored by columns here, so that adjacent items read adjacent values, which his, by rows, does not; his CSR had "
                          "no worse access than his ELL."))
    times = {n: pick(results.of("kuresson", f"row_{n}"), "coo", ATOMIC=1) for n in (50, 50000)}
    if all(times.values()):
        yield Table("Kuresson, Table 9: atomic additions to one place", "Theirs: the time of all runs, s, HD5870 and T10. Ours: microseconds of one product of a row of that many "
                    "nonzeros by coo/ATOMIC=1, whose items all add to the one element of y.",
                    ["additions", "us", "ns each", "paper: HD5870", "T10"],
                    [[str(n), num(t["us"]), num(t["us"] / n * 1e3), s, u] for (n, t), s, u in zip(times.items(), ("0.18 s", "9.09 s"), ("3.66 s", "144.67 s"))],
                    "His makers differ by 15 to 20 times; one device here cannot show that.")
    rows = []
    for name in paper:
        pairs = [copied.get((name, plan, 1, way)) for plan in ("ell", "csr", "coo", "dia") for way in ("stay", "copied")]
        if any(pairs):
            rows.append([results.name(name), *(num(mega(r), 1) for r in pairs)])
    if rows:
        yield Table("Kuresson, chapters 5 to 8 with transfers: millions of nonzeros per second", "He does not say whether his times have transfers. Ours: vectors that stay on the "
                    "device, and x copied to it and y back in each product; the library's default kernels.",
                    ["matrix", *(f"{f}{way}" for f in ("ELL", "CSR", "COO", "CDS") for way in ("", ", copied"))], rows,
                    "A product of one of these matrices takes a few microseconds, and copying the vectors takes longer than that.")
    rows, ups, theirs = [], [], []
    for name, p in paper.items():
        for plan, (one, two) in (("ell", p[13:15]), ("csr", p[15:17])):
            lines = {way: [copied.get((name, plan, n, way)) for n in (1, 2)] for way in ("stay", "copied")}
            if all(lines["stay"]):
                up = [ratio(*lines[way]) for way in ("stay", "copied")]
                ups.append(up[0])
                theirs.append(two / one)
                rows.append([results.name(name), plan, *(num(mega(r), 1) for r in lines["stay"]), num(up[0]), *(num(mega(r), 1) for r in lines["copied"]), num(up[1]),
                             *map(num, (one, two, two / one))])
    if rows:
        yield Table("Kuresson, Table 14: two devices, half of the rows each: millions of nonzeros per second", "Theirs: two Tesla T10. Ours: as the head says; vectors stay and halos are "
                    "exchanged, or vectors are copied.",
                    ["matrix", "plan", "one", "two", "speed-up", "copied: one", "two", "speed-up", "paper: one", "two", "speed-up"], rows,
                    claim(middle(ups) > 1, f"two devices are {middle(ups):.2f} times as fast as one (theirs {middle(theirs):.2f}, at most 1.93)",
                          "A product takes less time than the exchange between the devices."))


# ---- the generator -------------------------------------------------------------------------------------------------------------------------

FIGURES = {"dia": 3, "csr": 4, "ell": 5, "hyb": 6, "bell": 7, "sell": 8}
CLAIMS = {3: "the same configuration is almost identical and tuning hardly helps", 4: "tuned is faster on all matrices but one",
          5: "generated is slightly faster on almost all", 6: "generated (ELL and CSR of the rows that are not empty) is faster on 9 of 14",
          7: "both are comparable", 8: "both are comparable, but for the dense matrix in the same configuration"}


def least(lines, *roles):
    return min((line for line in lines if line["role"] in roles), key=lambda line: line["us"], default=None)


def generated(lines, group):
    """For each matrix: its name, and the lines hand, same, tuned and hand tuned. hand and same have the same plan, that of the faster hand."""
    rows = []
    for matrix in dict.fromkeys(line["matrix"] for line in lines):
        own = [line for line in lines if line["matrix"] == matrix and line["group"] == group]
        hand = least([line for line in own if group != "hyb" or line["plan"] == "hyb"], "hand")
        same = hand and least([line for line in own if line["plan"] == hand["plan"]], "same")
        tuned = least(own, "same", "tried")
        if same and tuned:
            rows.append((os.path.basename(matrix).rsplit(".", 1)[0], hand, same, tuned, least(own, "hand", "hand-tried")))
    return rows


def vectors(lines):
    """For each matrix: its name, and the times of generated csr with vectors of 1, 2, 4, each with its best knobs."""
    rows = []
    for matrix in dict.fromkeys(line["matrix"] for line in lines):
        own = [line for line in lines if line["matrix"] == matrix and line["group"] == "csr"]
        by = [least([line for line in own if f"vector-{n}." in line["kernel"]], "same", "tried") for n in (1, 2, 4)]
        if all(by):
            rows.append((os.path.basename(matrix).rsplit(".", 1)[0], *by))
    return rows


def grewe(results):
    sets = {by: results.lines(file, ("matrix", "group", "role", "us", "worst")) for by, file in (("CUDA", "cuda"), ("OpenCL", "opencl"))}
    for lines in sets.values():
        results.products += len(lines)
        results.wrong += sum(not line["worst"] <= 1 for line in lines)
    sets = {by: [line for line in lines if line["worst"] <= 1] for by, lines in sets.items()}
    for group, number in FIGURES.items():
        tables = {by: {row[0]: row[1:] for row in generated(lines, group)} for by, lines in sets.items() if lines}
        tables = {by: table for by, table in tables.items() if table}
        rows, sentences, good = [], [], True
        for name in dict.fromkeys(name for table in tables.values() for name in table):
            cells = []
            for table in tables.values():
                row = table.get(name)
                hand, same, tuned, best = row or [None] * 4
                cells += [num(hand and hand["us"]), num(same and same["us"]), num(tuned and tuned["us"]), num(ratio(hand, same)), num(ratio(hand, tuned)),
                          num(ratio(best, tuned))]
            rows.append([results.name(name), *cells])
        for by, table in tables.items():
            m = [geometric_mean([ratio(a, b) for a, b in pairs]) for pairs in
                 ([(r[0], r[1]) for r in table.values()], [(r[0], r[2]) for r in table.values()], [(r[3], r[2]) for r in table.values()])]
            sentences.append(f"{by} {m[0]:.2f} in the same configuration, {m[1]:.2f} tuned, {m[2]:.2f} tuned beside the library's own tuned")
            good = good and (m[1] if number in (4, 5, 6) else m[0]) > 0.95
        if rows:
            heads = [f"{by}{h}" for by in tables for h in (": hand us", " same us", " tuned us", " hand/same", " hand/tuned", " tuned/tuned")]
            yield Table(f"Generator, Figure {number}: {group.upper()}", "Theirs: Tesla S1070, f32, CUDA, hand-written kernels of Bell and Garland, Monakov, Choi; bars "
                        "without numbers. Ours: f32; hand: the library's kernel with its defaults, same: the generated one in the same configuration, tuned: "
                        "the best of all options and knobs tried.",
                        ["matrix"] + heads, rows, claim(good, f"the paper says that {CLAIMS[number]}; speed of the generated over the hand-written, geometric "
                                                        f"mean: {'; '.join(sentences)}", "The library's kernels have been tuned for such devices for longer."))
    rows, gains = [], []
    tables = {by: {row[0]: row[1:] for row in vectors(lines)} for by, lines in sets.items()}
    tables = {by: table for by, table in tables.items() if table}
    for name in dict.fromkeys(name for table in tables.values() for name in table):
        cells = []
        for table in tables.values():
            by = table.get(name) or [None] * 3
            up = by[0] and by[0]["us"] / min(by[1]["us"], by[2]["us"])
            gains.append(up)
            cells += [*(num(b and b["us"]) for b in by), num(up)]
        rows.append([results.name(name), *cells])
    if rows:
        yield Table("Generator, Figure 9: CSR by vectors, microseconds", "Theirs: Radeon HD 5970, a GPU of vector units, OpenCL. Ours: as Figure 4.",
                    ["matrix"] + [f"{by}{h}" for by in tables for h in (": scalar", " vector 2", " vector 4", " best/scalar")], rows,
                    claim(middle(gains) > 1.05, f"vectors are {middle(gains):.2f} times as fast as scalars (theirs 1.6, up to 4)",
                          "A lane here is scalar, and loads of several elements save instructions only."))


# ---- output --------------------------------------------------------------------------------------------------------------------------------

PAPERS = (("clSpMV (Su, Keutzer 2012)", clspmv, "rates"), ("HYB-R (Xu and others 2012)", hybr, None), ("CMRS (Koza and others 2013)", koza, "koza"),
          ("Formats in OpenCL (Kuresson 2012)", kuresson, None), ("The generator (Grewe, Lokhmotov 2011)", grewe, "generator"))
SIGNS = "= after a matrix: its pattern is the paper's, by a formula; ~: an imitation of the same size and structure by \"spmv gen\"."


def draw_rates(plt, results, path):
    formats = ["dia", "bdia", "bell:b=1x4", "sbell:b=1x4", "bcsr:b=1x4", "ell", "sell", "csr", "coo"]
    keys = [tuple(map(int, name.split("_")[1:3])) for name in results.lists["bands"]]
    if not keys:
        return False
    xs, ys = sorted({k[0] for k in keys}), sorted({k[1] for k in keys})
    figure, axes = plt.subplots(2, 5, figsize=(15, 6), constrained_layout=True)
    for axis, f in zip(axes.flat, formats):
        cells = [[(pick(results.of("bands", f"band_{x}_{y}_100"), f) or {"gflops": float("nan")})["gflops"] for x in xs] for y in ys]
        shown = axis.imshow(cells, origin="lower", aspect="auto", cmap="viridis")
        axis.set_title(f)
        axis.set_xticks(range(len(xs)), [f"$2^{{{x.bit_length() - 1}}}$" for x in xs])
        axis.set_yticks(range(len(ys)), [2 * y + 1 for y in ys])
        figure.colorbar(shown, ax=axis)
    axes.flat[-1].axis("off")
    figure.suptitle(f"Figures 10 and 11 of clSpMV: GFLOP/s on bands, f32; rows, nonzeros in a row. {results.machine}", fontsize=10)
    figure.savefig(path, dpi=80)
    return True


def draw_koza(plt, results, path):
    points = [p for p in koza_points(results) if p[2] and p[1] < 100]
    if not points:
        return False
    figure, axes = plt.subplots(1, 3, figsize=(15, 4.5), constrained_layout=True)
    for which, (label, colour) in {2: ("vector", "C0"), 3: ("scalar", "C1"), 1: ("HYB", "C2")}.items():
        for side, (face, whose) in enumerate(((colour, "ours"), ("none", "paper"))):
            shown = [(p[0], p[2 + side][which]) for p in points if p[2 + side][which]]
            if shown:
                axes[0].scatter(*zip(*shown), s=14, facecolors=face, edgecolors=colour, label=f"{label}, {whose}")
    for side, (face, whose) in enumerate((("C3", "ours"), ("none", "paper"))):
        axes[1].scatter([p[0] for p in points], [min(v for v in p[2 + side] if v) for p in points], s=14, facecolors=face, edgecolors="C3", label=whose)
        shown = [(p[1], p[2 + side][1]) for p in points if p[1] < p[0] and p[2 + side][1]]
        if shown:
            axes[2].scatter(*zip(*shown), s=14, facecolors=face, edgecolors="C2", label=whose)
    for axis, title, x in zip(axes, ("Figure 1: over vector, scalar, HYB", "Figure 2: over the best of the others", "Figure 3: over HYB"),
                              ("mean row length", "mean row length", "sigma")):
        axis.set(title=title, xlabel=x, xscale="log", yscale="log")
        axis.axhline(1, color="grey", lw=0.8)
        axis.legend(fontsize=8)
    figure.suptitle(f"Speed-up of CMRS, double. {results.machine}", fontsize=10)
    figure.savefig(path, dpi=80)
    return True


def draw_generator(plt, results, path):
    sets = [(by, results.lines(file)) for by, file in (("CUDA", "cuda"), ("OpenCL", "opencl"))]
    sets = [(by, lines) for by, lines in sets if lines]
    if not sets:
        return False
    figure, axes = plt.subplots(7, len(sets), figsize=(8 * len(sets), 20), constrained_layout=True, squeeze=False)
    for column, (by, lines) in enumerate(sets):
        bars = [(f"Figure {n}: {g}, {by}", generated(lines, g), ("same configuration", "tuned")) for g, n in FIGURES.items()]
        bars = [(title, [(r[0], ratio(r[1], r[2]), ratio(r[1], r[3])) for r in rows], legend) for title, rows, legend in bars]
        bars.append((f"Figure 9: csr by vectors over scalars, {by}", [(n, ratio(a, b), ratio(a, c)) for n, a, b, c in vectors(lines)], ("2", "4")))
        for axis, (title, rows, legend) in zip(axes[:, column], bars):
            for k, label in enumerate(legend):
                axis.bar([i + 0.4 * k for i in range(len(rows))], [r[1 + k] for r in rows], 0.38, label=label)
            axis.set_xticks([i + 0.2 for i in range(len(rows))], [r[0].split("_", 1)[1] for r in rows], rotation=30, ha="right", fontsize=8)
            axis.axhline(1, color="grey", lw=0.8)
            axis.set_title(title if rows else title + ": no matrix fits")
            if rows:
                axis.legend(fontsize=8, loc="lower right")
    figure.suptitle(f"Speed of generated kernels over the hand-written, f32. {results.machine}", fontsize=10)
    figure.savefig(path, dpi=60)
    return True


def pictures(results, prefix):
    """Draws what there is; returns the names."""
    try:
        import matplotlib
    except ImportError:
        print("no matplotlib: no pictures", file=sys.stderr)
        return []
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    return [name for name, draw in (("rates", draw_rates), ("koza", draw_koza), ("generator", draw_generator)) if draw(plt, results, f"{prefix}-{name}.png")]


def page(results, sections, prefix, shown):
    """The page in Markdown."""
    others = sorted(os.path.basename(f) for f in glob.glob(f"{HERE}/results/*-papers.txt"))
    out = ["# The tables and figures of the five papers", "", "`make bench-papers` writes this page; bench/papers/ has the papers' figures.", "",
           f"Machine: {results.machine}; {results.date}. {' '.join(results.rest)}", "", SIGNS,
           "Values are GFLOP/s of two operations a nonzero unless a table says otherwise; a dash: not measured or refused.", "",
           "By device: " + ", ".join(f"[{f}](../bench/results/{f})" for f in others) + ".", ""]
    for title, picture, tables in sections:
        out += [f"## {title}", ""]
        if picture in shown:
            out += [f"![{title}](../bench/results/{os.path.basename(prefix)}-{picture}.png)", ""]
        out += [t.markdown() for t in tables] or ["Not measured.", ""]
    return "\n".join(out).rstrip() + "\n"


def main():
    ask = argparse.ArgumentParser(usage=__doc__)
    ask.add_argument("--page")
    ask.add_argument("--pictures")
    ask.add_argument("--spmv", default="build/spmv")
    ask.add_argument("folder")
    args = ask.parse_args()
    results = Results(args.folder, args.spmv)
    sections = [(title, picture, list(make(results))) for title, make, picture in PAPERS]
    print("\n".join([f"Machine: {results.machine}; {results.date}", *results.rest, SIGNS, ""]))
    for title, _, tables in sections:
        print(f"{title}\n{'=' * len(title)}\n")
        print("\n".join(t.text() for t in tables) if tables else "Not measured.\n")
    print(f"products wrong: {results.wrong} of {results.products}")
    shown = pictures(results, args.pictures) if args.pictures else []
    if args.page:
        with open(args.page, "w", encoding="utf-8") as file:
            file.write(page(results, sections, args.pictures or "", shown))
    return 1 if results.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
