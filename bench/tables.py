#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the tables and figures of the five papers again: tables.py [--page FILE] [--pictures PREFIX] DIR prints them, each with the paper's
figures beside ours, both protocols and a sentence whether the claim holds, from what bench/papers.sh left in DIR. The figures of the papers
are in bench/papers/. --page also writes them as Markdown; --pictures draws three of the figures, with matplotlib, to PREFIX-koza.png,
PREFIX-generator.png and PREFIX-rates.png, which the page then shows. The exit status is 1 if a product was wrong.

The best single format is the fastest of clSpMV's nine for the whole matrix, with its block sizes and heights of slices; the best NV that of
dia, ell, csr, coo and HYB, which is ell and coo by the builder hyb."""
import argparse
import configparser
import glob
import json
import os
import re
import subprocess
import sys

from rows import OUR_KEYS, fastest, geometric_mean, is_right, is_wrong, mean, read

HERE = os.path.dirname(os.path.abspath(__file__))
NV = ("dia", "ell", "csr", "coo")
NINE = ("dia", "bdia", "ell", "sell", "csr", "coo", "bell:b=1x4", "sbell:b=1x4", "bcsr:b=1x4")
SINGLE = re.compile(r"(dia|bdia|ell|csr|coo|sell(:h=(32|64|128|256))?|(sbell|bell|bcsr)(:b=(1|2|4|8)x(4|8))?)$")
TEXTS = configparser.ConfigParser(interpolation=None)
TEXTS.read(f"{HERE}/papers/tables.ini")
LISTS = ("clspmv", "bands", "hybr", "hybr-image", "koza", "koza-sets", "kuresson", "kuresson-host")  # of "spmv bench --json"


class Table:
    """key: the section of bench/papers/tables.ini that has the title, the columns, both protocols, and why the claim may not hold; words
    are filled in; rows: strings, numbers, None; holds: whether the claim does, or None; says: what was found."""

    def __init__(self, key, rows, holds=None, says="", **words):
        texts = TEXTS[key]
        self.title, self.rows = texts["title"].format(**words), [list(map(num, row)) for row in rows]
        first, *heads = " ".join(texts["columns"].split()).split("|")
        self.heads = [first] + [h.replace("{by}", by) for by in words.get("backends", [""]) for h in heads]
        self.protocol = " ".join(f"Theirs: {texts['theirs']} Ours: {texts['ours']}".split())
        verdict = "" if holds is None else "Holds here: " if holds else "Does not hold here: "
        self.says = " ".join(f"{verdict}{says}.{'' if holds in (None, True) else ' ' + texts['why']}".split()) if says else ""

    def text(self):
        lines = [self.heads] + self.rows
        widths = [max(map(len, column)) for column in zip(*lines)]
        lines = ["  ".join([line[0].ljust(widths[0])] + [c.rjust(w) for c, w in zip(line[1:], widths[1:])]).rstrip() for line in lines]
        return "\n".join([self.title, "-" * len(self.title), self.protocol, *lines] + [self.says] * bool(self.says) + [""])

    def markdown(self):
        lines = ["| " + " | ".join(line) + " |" for line in [self.heads] + self.rows]
        rule = "|---|" + "---:|" * (len(self.heads) - 1)
        return "\n".join([f"### {self.title}", "", self.protocol, "", lines[0], rule, *lines[1:], ""] + [self.says, ""] * bool(self.says))


class Results:
    """What bench/papers.sh left in a folder."""

    def __init__(self, folder, spmv):
        self.folder, self.wrong, self.products, self.lists = folder, 0, 0, {}
        with open(os.path.join(folder, "machine.txt"), encoding="utf-8") as file:
            self.machine, self.date, *self.rest = file.read().splitlines()
        self.device = self.machine.split(", by ")[0]
        for name in LISTS:
            self.lists[name] = {}
            for row in self.lines(name, OUR_KEYS):
                self.products += row["us"] is not None
                self.wrong += is_wrong(row)
                if is_right(row):
                    self.lists[name].setdefault(row["matrix"], []).append(row)
        for line in self.lines("cuda") + self.lines("opencl"):
            self.products += 1
            self.wrong += not line["worst"] <= 1
        listed = subprocess.run([spmv, "gen", "--list"], capture_output=True, text=True, check=False).stdout if os.path.exists(spmv) else ""
        self.exact = {word[0] for word in map(str.split, listed.splitlines()) if len(word) > 4 and word[4] == "exact"}

    def lines(self, name, keys=("matrix",)):
        path = os.path.join(self.folder, name + ".json")
        return list(read(path, keys)) if os.path.exists(path) else []

    def generated(self):
        """{back end: the lines of generated kernels that were right}"""
        keys = ("matrix", "group", "role", "plan", "kernel", "us", "worst")
        sets = {by: [line for line in self.lines(by.lower(), keys) if line["worst"] <= 1] for by in ("CUDA", "OpenCL")}
        return {by: lines for by, lines in sets.items() if lines}

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


def num(v):
    return "-" if v is None else f"{v:.{1 if abs(v) >= 100 else 2}f}" if isinstance(v, float) else str(v)


def percent(v):
    return "-" if v is None else f"{v:+.1f}%"


def gain(row, over):
    """By how many percent a row is faster; None if one of them was not measured."""
    return (over["us"] / row["us"] - 1) * 100 if row and over else None


def ratio(over, row):
    return over["us"] / row["us"] if row and over else None


def gflops(row):
    return row and row["gflops"]


def means(lines, rule=mean):
    """Of each column."""
    columns = [[v for v in column if v is not None] for column in zip(*lines)]
    return [rule(column) if column else None for column in columns]


def middle(values):
    """The geometric mean of those that are there."""
    values = [v for v in values if v]
    return geometric_mean(values) if values else None


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


# ---- clSpMV --------------------------------------------------------------------------------------------------------------------------

def format_of(row):
    return row and ("HYB" if "+" in row["plan"] else row["plan"])


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
    if entries:
        rows = []
        for name, e in entries.items():
            plan = shares.get((name, "cocktail"), {}).get("shares") or e.cocktail and e.cocktail["plan"].upper()
            rows.append([results.name(name), gflops(e.hyb), gflops(e.nv), format_of(e.nv), gflops(e.single), format_of(e.single),
                         gflops(e.cocktail), plan, gflops(e.auto), *paper[name][:7]])
        yield Table("clspmv-2", rows)
        yield clspmv_gains(results, paper, entries)
    yield from bands(results)


def clspmv_gains(results, paper, entries):
    """Tables 3 and 4."""
    gains = []
    for name, e in entries.items():
        hyb, nv, _, single, _, cl, _, single4, _, cl4, _ = paper[name]
        gains.append([gain(e.cocktail, e.hyb), gain(e.cocktail, e.nv), gain(e.cocktail, e.single), gain(e.auto, e.single),
                      *((a / b - 1) * 100 for a, b in ((cl, hyb), (cl, nv), (cl, single), (cl4, single4)))])
    m = means(gains)
    middles = means(gains, lambda c: (geometric_mean([1 + g / 100 for g in c]) - 1) * 100)
    won = [g[2] for g in gains if g[2] is not None]
    says = (f"the cocktail gains {percent(m[2])} over the best single format in the mean of {len(won)} matrices (geometric "
            f"{percent(middles[2])}), the paper's on the same {percent(m[6])}; it is more than 5% slower on {sum(g < -5 for g in won)}")
    names = [results.name(name) for name in entries] + ["mean", "geometric mean"]
    return Table("clspmv-3", [[name, *map(percent, g)] for name, g in zip(names, gains + [m, middles])],
                 (m[2] or 0) > 0, says)


def bands(results):
    """Figures 10 and 11, as a table: a line for each size."""
    rows = []
    for name, measured in results.lists["bands"].items():
        _, size, width, _ = name.split("_")
        rows.append([size, 2 * int(width) + 1, *(gflops(pick(measured, f)) for f in NINE)])
    if rows:
        best = {f: max((row[2 + i] for row in rows if row[2 + i]), default=0) for i, f in enumerate(NINE)}
        good = min(best["dia"], best["bdia"]) > max(best[f] for f in ("ell", "sell", "csr", "coo")) and min(best, key=best.get) == "coo"
        yield Table("clspmv-10", rows, good, "dia and bdia are the fastest beside blocks, and coo is the slowest, as on the GTX 480; most "
                    "GFLOP/s: " + ", ".join(f"{f} {v:.0f}" for f, v in best.items()))


# ---- HYB-R ---------------------------------------------------------------------------------------------------------------------------

def hybr(results):
    paper = figures("hybr")
    yield from hybr_shares(results, paper)
    yield from hybr_gains(results, paper)
    yield from hybr_widths(results, paper)
    lines = [line for line in results.lines("permuted") if line["matrix"] in paper]
    if lines:
        times = [geometric_mean([line[k] / line["in order"] for line in lines]) for k in ("and back", "permuted")]
        columns = ("sorted", "in order", "permuted", "and back", "back")
        rows = [[results.name(line["matrix"]), *(line[k] for k in columns)] for line in lines]
        yield Table("hybr-once", rows, None, f"Reordering once, with bringing y back, takes {times[0]:.2f} times as long as row lists; "
                    f"without that {times[1]:.2f} times")


def hybr_shares(results, paper):
    """Tables I and IV."""
    def shares(line, what):
        return [100.0 * p["share"] for p in line["parts"] if p["plan"].startswith(what)] + [0.0, 0.0]
    plans, rows, off = results.shares("hybr-plans"), [], []
    for name, p in paper.items():
        one, two = (plans.get((name, b)) for b in ("hyb", "hybr:levels=2"))
        if one and two:
            coo = sum(shares(one, "coo"))
            off.append(abs(coo - p[0]))
            rows.append([results.name(name), coo, p[0], *shares(two, "ell")[:2], sum(shares(two, "coo")), *p[1:4]])
    if rows:
        yield Table("hybr-1", rows, max(off) <= 6, f"the share of COO differs from that of Table I by at most {max(off):.1f} points")


def hybr_gains(results, paper):
    """Tables V and VI, and what Figures 4 to 11 show."""
    rows, divided, speeds = [], [], []
    for name, p in paper.items():
        of = results.of("hybr", name)
        hyb, twice, often = (built(of, b) for b in ("hyb", "hybr:levels=2", "hybr"))
        if not hyb or not twice:
            continue
        image = results.of("hybr-image", name)
        cl = [[fastest([r for r in image if r["builder"] == b and knob(r, "IMG") == i]) for b in ("hyb", "hybr:levels=2")] for i in (0, 1)]
        g = [gain(twice, hyb), gain(often, hyb), *(gain(b, a) for a, b in cl), *p[4:8]]
        rows.append([results.name(name), *map(percent, g)])
        divided += [g] * (twice["plan"] != hyb["plan"])
        speeds.append([results.name(name), gflops(hyb), gflops(twice), hyb["gbs"], twice["gbs"], *(gflops(r) for pair in cl for r in pair)])
    if rows:
        m = means(divided) if divided else [None] * 8
        yield Table("hybr-5", rows + [["mean of the divided", *map(percent, m)]], (m[0] or 0) > 0,
                    f"divided twice it gains {percent(m[0])} over HYB in the mean of the {len(divided)} matrices that are divided, by "
                    f"OpenCL {percent(m[2])}, with x as an image {percent(m[3])}; theirs {percent(m[4])} and, with a cache, "
                    f"{percent(m[5])} on the 9800 GX2")
        yield Table("hybr-4", speeds)


def hybr_widths(results, paper):
    """Table VII: GFLOP/s and K, as the paper prints them."""
    def shown(row):
        found = re.match(r"ell:w=(\d+)", row["plan"])
        return f"{row['gflops']:.2f} ({found.group(1) if found else 'all'})"
    rows, first, any_of = [], 0, 0
    for name, p in paper.items():
        of = results.of("hybr", name)
        ways = [built(of, f"hybr:levels=1,k={k}") for k in (1, 2, 3)]
        best = fastest([r for r in of if re.match(r"ell(:w=\d+\+coo)?$", r["plan"])])
        if all(ways) and best:
            first += ways[0]["us"] <= 1.02 * best["us"]
            any_of += min(w["us"] for w in ways) <= 1.02 * best["us"]
            rows.append([results.name(name), *map(shown, ways), shown(best), *(f"{p[i]:.2f} ({p[i + 1]:.0f})" for i in (8, 10, 12, 14))])
    if rows:
        yield Table("hybr-7", rows, first > len(rows) / 2, f"method 1 is within 2% of the best K on {first} of {len(rows)} matrices and "
                    f"one of the three methods on {any_of}; theirs is the best on 9 of 13, and one of two on 11")


# ---- CMRS ----------------------------------------------------------------------------------------------------------------------------

def cmrs_of(rows):
    """The fastest rows: CMRS; csr, HYB, csr with 32 lanes and with one."""
    csr = [r for r in rows if r["plan"] == "csr"]
    return [fastest([r for r in rows if r["plan"].startswith("cmrs:h=")]), fastest(csr), built(rows, "hyb"),
            *(fastest([r for r in csr if knob(r, "L") == n]) for n in (32, 1))]


def koza(results):
    paper, rows, won = figures("koza2"), [], {}
    all_rows = [r for of in results.lists["koza"].values() for r in of]
    most = max((r["bytes"] for r in all_rows), default=0)
    memory = max((r["gbs"] for r in all_rows if r["bytes"] > most / 4), default=0)
    for name, p in paper.items():
        cmrs, *others = cmrs_of(results.of("koza", name))
        if cmrs and others[0]:
            nnz, n, strips = cmrs["nnz"], cmrs["rows"], -(-cmrs["rows"] // int(cmrs["plan"].split("h=")[1]))
            eta = [beta / (cmrs["us"] * 1e3 * memory) for beta in (20 * nnz + 4 * strips + 8 * n, 12 * nnz + 4 * strips + 16 * n)]
            won[name] = ratio(others[0], cmrs)
            rows.append([results.name(name), cmrs["plan"], (2 * nnz - n) / cmrs["us"] / 1e3, *(ratio(o, cmrs) for o in others), *eta, *p])
    if rows:
        better = sum(w > 1 for w in won.values())
        yield Table("koza-2", rows, better > len(won) / 2, f"CMRS is faster than csr on {better} of {len(won)} matrices (theirs on "
                    f"{sum(paper[n][1] > 1 for n in won)}), geometric mean {middle(won.values()):.2f} (theirs "
                    f"{middle(paper[n][1] for n in won):.2f}); eta is of {memory:.0f} GB/s")
    yield from koza_figures(results)
    yield from koza_sets(results)


def koza_points(results):
    """For each of his matrices that was measured: mean, sigma, and the speed-ups over csr, HYB, vector, scalar, ours and theirs."""
    points = []
    for name, (mu, sigma, _, *theirs, _, ours) in figures("koza").items():
        cmrs, *others = cmrs_of(results.of("koza", ours or "family_" + name))
        points.append((mu, sigma, cmrs and [ratio(o, cmrs) for o in others], theirs))
    return [p for p in points if p[2] and any(p[2])]


def least(values):
    return min(v for v in values if v)


def koza_line(label, points):
    """A line of the table: geometric means."""
    return [label, len(points)] + [middle(of) for side in (2, 3) for of in (
        *([p[side][i] for p in points] for i in (2, 3, 1)), [least(p[side]) for p in points])]


def koza_figures(results):
    points = koza_points(results)
    usual, rows = [p for p in points if p[1] < 100], []  # he leaves out matrices with a few huge rows
    for what, at, edges, of in (("mean", 0, (0, 5, 10, 20, 50, 100, 200, 1e9), usual),
                                ("sigma", 1, (0, 0.5, 1.5, 3, 10, 1e9), [p for p in usual if p[1] < p[0]])):
        for low, high in zip(edges, edges[1:]):
            inside = [p for p in of if low <= p[at] < high]
            rows += [koza_line(f"{what} {low:g} to {high:g}" if high < 1e9 else f"{what} over {low:g}", inside)] * bool(inside)
    if rows:
        best = [least(p[2]) for p in points]
        won, most = sum(b > 1 for b in best), (max(best) - 1) * 100
        yield Table("koza-1", rows, won > len(best) / 4, f"CMRS is the fastest of the five on {won} of {len(best)} matrices, by at most "
                    f"{most:.0f}%; theirs is on {sum(least(p[3]) > 1 for p in points)} of the same, by up to 43%")


def koza_sets(results):
    rows = []
    for name, of in results.lists["koza-sets"].items():
        best = fastest(of)
        def over(**knobs):
            return ratio(fastest([r for r in of if all(knob(r, k) == v for k, v in knobs.items())]), best)
        knobs = ",".join(f"{k}={knob(best, k)}" for k in ("WG", "ALIGN", "IMG"))
        heights = [fastest([r for r in of if r["plan"] == f"cmrs:h={h}"]) for h in (2, 4, 8, 16)]
        rows.append([results.name(name), f"{best['plan']}/{knobs}", len(of), max(r["us"] for r in of) / best["us"],
                     *(ratio(h, best) for h in heights), *(over(WG=64 * j) for j in range(1, 9)),
                     *(over(**{k: v}) for k in ("ALIGN", "IMG") for v in (0, 1))])
    if rows:
        yield Table("koza-sets", rows)


# ---- Kuresson ------------------------------------------------------------------------------------------------------------------------

def mega(row):
    """Millions of nonzeros per second."""
    return row and row["nnz"] / row["us"]


def kuresson(results):
    paper, rows, speeds = figures("kuresson"), [], []
    for name, p in paper.items():
        host, device = (pick(results.of(of, name), "dense") for of in ("kuresson-host", "kuresson"))
        if host and device:
            speeds.append(ratio(host, device))
            rows.append([results.name(name), host["us"] / 1e3, device["us"] / 1e3, speeds[-1], *p[:3], p[0] / p[2]])
    if rows:
        yield Table("kuresson-7", rows, middle(speeds) > 1, f"the device is {middle(speeds):.1f} times as fast as one core (theirs 3.58)")
    yield from kuresson_formats(results, paper)
    times = {n: pick(results.of("kuresson", f"row_{n}"), "coo", ATOMIC=1) for n in (50, 50000)}
    if all(times.values()):
        theirs = ((0.18, 3.66), (9.09, 144.67))
        yield Table("kuresson-9", [[n, t["us"], t["us"] / n * 1e3, *p] for (n, t), p in zip(times.items(), theirs)], None,
                    "His makers differ by 15 to 20 times; one device cannot show that")
    yield from kuresson_copied(results, paper)


def kuresson_formats(results, paper):
    """Tables 8 and 10 to 13."""
    columns = (("coo", {"ATOMIC": 1}), ("ell", {"V": 1, "IMG": 0}), ("ell", {"V": 1, "IMG": 1}), ("ell:rowmajor=1", {"L": 1}),
               ("csr", {"L": 1, "IMG": 0}), ("csr", {"L": 1, "IMG": 1}), ("dia", {}))
    rows, atomic, image, wins = [], [], [], 0
    for name, p in paper.items():
        of = [pick(results.of("kuresson", name), plan, **knobs) for plan, knobs in columns]
        if any(of):
            coo, ell, ell_image, by_rows, csr, _, dia = of
            atomic.append(ratio(coo, csr))
            image.append(ratio(ell, ell_image))
            wins += csr is not None and fastest([r for r in (csr, coo, ell, by_rows, dia) if r]) is csr
            rows.append([results.name(name), *map(mega, of), *p[3:13]])
    if rows:
        yield Table("kuresson-8", rows, wins > len(rows) / 2, f"CSR is the fastest on {wins} of {len(rows)} matrices (theirs: on all); "
                    f"COO by atomics takes {num(middle(atomic))} times as long as CSR; x as an image makes ELL {num(middle(image))} times "
                    "as fast (theirs 0.4 on the HD5870, 1.17 on the T10)")


def kuresson_copied(results, paper):
    """With transfers; and Table 14."""
    lines = {(line["matrix"], line["plan"], line["devices"], line["vectors"]): line for line in results.lines("kuresson-copied")}
    ways, rows, two, ups, theirs = ("stay", "copied"), [], [], [], []
    for name, p in paper.items():
        of = [lines.get((name, plan, 1, way)) for plan in ("ell", "csr", "coo", "dia") for way in ways]
        rows += [[results.name(name), *map(mega, of)]] * any(of)
        for plan, pair in (("ell", p[13:15]), ("csr", p[15:17])):
            of = [[lines.get((name, plan, n, way)) for n in (1, 2)] for way in ways]
            if of[0][1]:
                ups.append(ratio(*of[0]))
                theirs.append(pair[1] / pair[0])
                two.append([results.name(name), plan, *(v for o in of for v in (*map(mega, o), ratio(*o))), *pair, theirs[-1]])
    if rows:
        slow = [ratio(lines[key], lines[key[:3] + ("stay",)]) for key in lines if key[3] == "copied" and key[2] == 1]
        yield Table("kuresson-copied", rows, None, f"With transfers a product takes {middle(slow):.1f} times as long")
    if two:
        yield Table("kuresson-14", two, middle(ups) > 1, f"two devices are {middle(ups):.2f} times as fast as one, at most {max(ups):.2f} "
                    f"(theirs {middle(theirs):.2f}, at most {max(theirs):.2f})")


# ---- the generator -------------------------------------------------------------------------------------------------------------------

FIGURES = {"dia": 3, "csr": 4, "ell": 5, "hyb": 6, "bell": 7, "sell": 8}


def shortest(lines, *roles):
    return min((line for line in lines if line["role"] in roles), key=lambda line: line["us"], default=None)


def by_matrix(lines, group):
    """(name, lines of the group) of each matrix"""
    for matrix in dict.fromkeys(line["matrix"] for line in lines):
        yield os.path.basename(matrix).rsplit(".", 1)[0], [line for line in lines if line["matrix"] == matrix and line["group"] == group]


def generated(lines, group):
    """{matrix: the lines hand, same, tuned and hand tuned}. hand and same have the same plan, that of the faster hand."""
    rows = {}
    for name, own in by_matrix(lines, group):
        hand = shortest([line for line in own if group != "hyb" or line["plan"] == "hyb"], "hand")
        same = hand and shortest([line for line in own if line["plan"] == hand["plan"]], "same")
        if same:
            rows[name] = [hand, same, shortest(own, "same", "tried"), shortest(own, "hand", "hand-tried")]
    return rows


def vectors(lines, _):
    """{matrix: the lines of generated csr with vectors of 1, 2 and 4 elements, each with its best knobs}"""
    rows = {name: [shortest([line for line in own if f"vector-{n}." in line["kernel"]], "same", "tried") for n in (1, 2, 4)]
            for name, own in by_matrix(lines, "csr")}
    return {name: row for name, row in rows.items() if all(row)}


def grewe(results):
    backends = results.generated()
    for group, number in FIGURES.items():
        tables = {by: table for by, table in ((by, generated(lines, group)) for by, lines in backends.items()) if table}
        sentences, good = [], True
        for by, table in tables.items():
            m = [geometric_mean([ratio(row[a], row[b]) for row in table.values()]) for a, b in ((0, 1), (0, 2), (3, 2))]
            sentences.append(f"{by} {m[0]:.2f} in the same configuration, {m[1]:.2f} tuned, {m[2]:.2f} if the library's is tuned, too")
            good = good and m[number in (4, 5, 6)] > 0.95
        if tables:
            def cells(row):
                return [*(line["us"] for line in row[:3]), ratio(row[0], row[1]), ratio(row[0], row[2]), ratio(row[3], row[2])]
            yield Table("grewe", side_rows(results, tables, cells, 6), good, f"the paper says that {TEXTS['grewe'][group]}; speed of the "
                        "generated over the hand-written, geometric mean: " + "; ".join(sentences), number=number, group=group.upper(),
                        backends=tables)
    tables = {by: table for by, table in ((by, vectors(lines, "csr")) for by, lines in backends.items()) if table}
    if tables:
        def up(row):
            return ratio(row[0], shortest(row[1:], "same", "tried"))
        m = middle([up(row) for table in tables.values() for row in table.values()])
        rows = side_rows(results, tables, lambda row: [*(line["us"] for line in row), up(row)], 4)
        yield Table("grewe-9", rows, m > 1.05, f"vectors are {m:.2f} times as fast as scalars (theirs 1.6, up to 4)", backends=tables)


def side_rows(results, tables, cells, count):
    """Of each matrix the cells of each back end, beside each other."""
    none = [None] * count
    names = dict.fromkeys(name for table in tables.values() for name in table)
    return [[results.name(n), *(c for table in tables.values() for c in (cells(table[n]) if n in table else none))] for n in names]


# ---- output --------------------------------------------------------------------------------------------------------------------------

PAPERS = (("clSpMV (Su, Keutzer 2012)", clspmv, "rates"), ("HYB-R (Xu and others 2012)", hybr, None),
          ("CMRS (Koza and others 2013)", koza, "koza"), ("Formats in OpenCL (Kuresson 2012)", kuresson, None),
          ("The generator (Grewe, Lokhmotov 2011)", grewe, "generator"))
SIGNS = "= after a matrix: its pattern is the paper's, by a formula; ~: an imitation of the same size and structure by \"spmv gen\"."


def draw_rates(plt, results, path):
    keys = [tuple(map(int, name.split("_")[1:3])) for name in results.lists["bands"]]
    if not keys:
        return False
    xs, ys = sorted({k[0] for k in keys}), sorted({k[1] for k in keys})
    figure, axes = plt.subplots(2, 5, figsize=(15, 6), constrained_layout=True)
    for axis, f in zip(axes.flat, NINE):
        cells = [[(pick(results.of("bands", f"band_{x}_{y}_100"), f) or {"gflops": float("nan")})["gflops"] for x in xs] for y in ys]
        shown = axis.imshow(cells, origin="lower", aspect="auto", cmap="viridis")
        axis.set_title(f)
        axis.set_xticks(range(len(xs)), [f"$2^{{{x.bit_length() - 1}}}$" for x in xs])
        axis.set_yticks(range(len(ys)), [2 * y + 1 for y in ys])
        figure.colorbar(shown, ax=axis)
    axes.flat[-1].axis("off")
    figure.suptitle(f"Figures 10 and 11 of clSpMV: GFLOP/s on bands, f32; rows, nonzeros in a row. {results.device}", fontsize=10)
    figure.savefig(path, dpi=80)
    return True


def draw_koza(plt, results, path):
    points = [p for p in koza_points(results) if p[1] < 100]
    if not points:
        return False
    figure, axes = plt.subplots(1, 3, figsize=(17, 4.5), constrained_layout=True)
    for which, (label, colour) in {2: ("vector", "C0"), 3: ("scalar", "C1"), 1: ("HYB", "C2")}.items():
        for side, (face, whose) in enumerate(((colour, "ours"), ("none", "paper"))):
            shown = [(p[0], p[2 + side][which]) for p in points if p[2 + side][which]]
            if shown:
                axes[0].scatter(*zip(*shown), s=14, facecolors=face, edgecolors=colour, label=f"{label}, {whose}")
    for side, (face, whose) in enumerate((("C3", "ours"), ("none", "paper"))):
        axes[1].scatter([p[0] for p in points], [least(p[2 + side]) for p in points], s=14, facecolors=face, edgecolors="C3", label=whose)
        shown = [(p[1], p[2 + side][1]) for p in points if p[1] < p[0] and p[2 + side][1]]
        if shown:
            axes[2].scatter(*zip(*shown), s=14, facecolors=face.replace("C3", "C2"), edgecolors="C2", label=whose)
    for axis, title, x in zip(axes, ("Figure 1: over vector, scalar, HYB", "Figure 2: over the best of the others", "Figure 3: over HYB"),
                              ("mean row length", "mean row length", "sigma")):
        axis.set(title=title, xlabel=x, xscale="log", yscale="log")
        axis.yaxis.set_major_formatter("{x:g}")
        axis.yaxis.set_minor_formatter("{x:g}")
        axis.tick_params(axis="y", which="minor", labelsize=6)
        axis.axhline(1, color="grey", lw=0.8)
        axis.legend(fontsize=8, loc="upper left", bbox_to_anchor=(1, 1))
    figure.suptitle(f"Speed-up of CMRS, double. {results.device}", fontsize=10)
    figure.savefig(path, dpi=80)
    return True


def draw_generator(plt, results, path):
    sets = results.generated()
    if not sets:
        return False
    panels = []
    for by, lines in sets.items():
        panels += [(f"Figure {n}: {g}, {by}", generated(lines, g), ("same configuration", "tuned")) for g, n in FIGURES.items()]
        panels.append((f"Figure 9: csr by vectors over scalars, {by}", vectors(lines, "csr"), ("2 elements", "4 elements")))
    panels = sorted(panel for panel in panels if panel[1])
    figure, axes = plt.subplots(-(-len(panels) // 2), 2, figsize=(15, 1.6 * len(panels) + 1), constrained_layout=True, squeeze=False)
    for axis in axes.flat[len(panels):]:
        axis.axis("off")
    for axis, (title, rows, legend) in zip(axes.flat, panels):
        for k, label in enumerate(legend):
            axis.bar([i + 0.4 * k for i in range(len(rows))], [ratio(r[0], r[1 + k]) for r in rows.values()], 0.38, label=label)
        axis.set_xticks([i + 0.2 for i in range(len(rows))], [n.split("_", 1)[1] for n in rows], rotation=30, ha="right", fontsize=8)
        axis.axhline(1, color="grey", lw=0.8)
        axis.set_title(title, fontsize=10)
        axis.legend(fontsize=8, loc="upper left", bbox_to_anchor=(1, 1))
    figure.suptitle(f"Speed of generated kernels over those by hand, f32. {results.device}", fontsize=10)
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
    draws = {"rates": draw_rates, "koza": draw_koza, "generator": draw_generator}
    return [name for name, draw in draws.items() if draw(plt, results, f"{prefix}-{name}.png")]


def page(results, sections, prefix, shown):
    """The page in Markdown."""
    others = sorted(os.path.basename(f) for f in glob.glob(f"{HERE}/results/*-papers.txt"))
    out = ["# The tables and figures of the five papers", "",
           "`make bench-papers` writes this page; bench/papers/ has the papers' figures.", "",
           f"Machine: {results.machine}; {results.date}. {'. '.join(results.rest)}", "", SIGNS,
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
