#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A second implementation of the plan "cocktail" (clSpMV 3.3; spmv/choice.h says how the paper is read), compared with the library's on
40 generated matrices, with its keys at their defaults and with others: cocktail.py [PROGRAM]. The plan, its variants, and every line that
"spmv plan --builder cocktail --explain" prints about an inequality must agree: words and whole numbers exactly, other numbers to a
thousandth. The last line is "N passed, N failed"."""
import math
import os
import random
import re
import subprocess
import sys
import tempfile

MILLION = 1000000
ERROR = 2 ** 0.5  # of estimates by a table that does not say it
EQUAL = 1e-9  # a relative difference that is taken for rounding
STEP = 0.001  # microseconds of a step of the longest row
SIZES = [(1, 4), (2, 4), (4, 4), (8, 4), (1, 8), (2, 8), (4, 8), (8, 8)]
SLICE = 32  # rows of a slice of sell without h, and block rows of one of sbell
DIAGONALS, FLAT = ("bdia", "dia"), ("ell", "sell", "sell:h=64", "sell:h=128", "sell:h=256", "csr", "coo")
BLOCKS = tuple(f"{f}:b={h}x{w}" for h, w in SIZES for f in ("sbell", "bell", "bcsr"))


# ---- tables ----

def less(a, b):
    return a < b - EQUAL * b


def above(x):
    """The least whole number above x."""
    return math.floor(x * (1 + EQUAL)) + 1


class Table:
    """For each layout and variant what a product costs: microseconds, and picoseconds for each slot; and a step of the longest row, which
    the lanes of the variant share."""

    def __init__(self, units):
        self.units, self.lines = units, []

    def add(self, layout, lanes, launch, slot):
        self.lines.append((layout, lanes, round(launch, 6), round(slot, 3)))

    def text(self):
        head = ["spmv tuning table 2", "device test", "class gpu", f"units {self.units}", "launch 1", "memory 1000000",
                f"step {STEP} 1000000 {STEP}"]
        return "\n".join(head + [f"f64 {layout} L={lanes} {launch:.6f} 0 0 {slot:.3f} 0 0 1 0 0"
                                 for layout, lanes, launch, slot in self.lines]) + "\n"

    def best(self, layout, slots, longest, read=None):
        """The least microseconds of a part with so many slots, of which so many are read, and so many in the longest row; and its lanes."""
        part, found = Part(layout), None
        steps = 0 if layout == "coo" else longest
        if part.block:
            steps *= (4 + part.block[0] * part.block[1] * 8 / 16) / part.block[1]
        for name, lanes, launch, slot in self.lines:
            if name != layout:
                continue
            us = launch + (slots if read is None else read) * slot * 1e-6 + steps / lanes * STEP
            if found is None or less(us, found[0]):
                found = us, lanes
        return found

    def rate(self, layout, rows, per_row):
        """GFLOP/s with a banded matrix of that size."""
        return 2e-3 * rows * per_row / self.best(layout, rows * per_row, per_row)[0] if per_row > 0 else 0


# ---- parts ----

class Part:
    """A format with its keys; d and fill in millionths."""

    def __init__(self, layout, w=0, fill=0, d=0):
        self.layout, self.w, self.fill, self.d = layout, w, fill, d
        self.format, _, keys = layout.partition(":")
        self.block = tuple(map(int, keys[2:].split("x"))) if keys.startswith("b=") else None
        self.height = int(keys[2:]) if keys.startswith("h=") else SLICE

    def text(self):
        def fraction(v):
            return f"{v / MILLION:.6f}".rstrip("0").rstrip(".")
        keys = [f"w={self.w}"] * bool(self.w) + [f"fill={fraction(self.fill)}"] * bool(self.fill) + [f"d={fraction(self.d)}"] * bool(self.d)
        keys += [self.layout.partition(":")[2]] if ":" in self.layout else []
        return self.format + (":" + ",".join(keys) if keys else "")


def plan_text(parts):
    return "+".join(p.text() for p in parts)


def grouped(entries, key):
    groups = {}
    for e in entries:
        groups.setdefault(key(e), []).append(e)
    return groups


def diagonal_length(m, offset):
    return min(m.rows + min(offset, 0), m.cols - max(offset, 0))


def bands_of(offsets):
    """Groups of adjacent numbers."""
    bands = []
    for o in sorted(offsets):
        if bands and bands[-1][-1] == o - 1:
            bands[-1].append(o)
        else:
            bands.append([o])
    return bands


def block_key(block):
    return lambda e: (e[0] // block[0], e[1] // block[1])


def take(m, part, entries):
    """The entries that a part takes out of these."""
    if part.format in DIAGONALS and (part.d or part.w):
        groups = grouped(entries, lambda e: e[1] - e[0])
        full = [o for o, g in groups.items() if len(g) * MILLION >= part.d * diagonal_length(m, o)]
        kept = {o for band in bands_of(full) if len(band) >= part.w for o in band}
        return [e for e in entries if e[1] - e[0] in kept]
    if part.block and part.d:
        groups = grouped(entries, block_key(part.block))
        size = part.block[0] * part.block[1]
        return [e for g in groups.values() if len(g) * MILLION >= part.d * size for e in g]
    if part.format == "ell" and part.w:
        return [e for g in grouped(entries, lambda e: e[0]).values() for e in sorted(g)[:part.w]]
    if part.format == "sell" and part.fill:
        out = []
        by_row = grouped(entries, lambda e: e[0])
        for first in range(0, m.rows, part.height):
            rows = range(first, min(first + part.height, m.rows))
            w = longest = max(len(by_row.get(r, [])) for r in rows)
            w = 0
            while w < longest and sum(min(w + 1, len(by_row.get(r, []))) for r in rows) * MILLION >= part.fill * len(rows) * (w + 1):
                w += 1
            out += [e for r in rows for e in sorted(by_row.get(r, []))[:w]]
        return out
    return entries


def split(m, parts):
    """The entries of each part."""
    left, out = m.entries, []
    for p in parts:
        taken = take(m, p, left)
        out.append(taken)
        gone = set(taken)
        left = [e for e in left if e not in gone]
    return out, left


def row_lengths(m, entries):
    lengths = [0] * m.rows
    for r, _ in entries:
        lengths[r] += 1
    return lengths


def block_sums(m, block, entries, least):
    """Blocks with at least so many entries: their number, their entries, the widest block row, and the slots of each format."""
    kept = {b: len(g) for b, g in grouped(entries, block_key(block)).items() if len(g) >= least}
    wide, size = grouped(kept, lambda b: b[0]), block[0] * block[1]
    widths = [len(wide.get(s, [])) for s in range(-(-m.rows // block[0]))]
    sliced = sum(max(widths[i:i + SLICE]) * SLICE for i in range(0, len(widths), SLICE))
    return {"blocks": len(kept), "nnz": sum(kept.values()), "widest": max(widths), "bell": max(widths) * block[1] * m.rows,
            "sbell": sliced * size, "bcsr": len(kept) * size}


def balanced(m, entries):
    """u and the most entries of one of u groups of adjacent rows, of which each has four by default."""
    lengths, h = row_lengths(m, entries), 4
    return -(-m.rows // h), max(sum(lengths[i:i + h]) for i in range(0, m.rows, h))


def load(m, part, entries):
    """The slots of a part, the longest row, and the slots that are read."""
    if part.format in DIAGONALS:
        count = len({c - r for r, c in entries})
        return m.rows * count, count, None
    if part.block:
        sums = block_sums(m, part.block, entries, 1)
        return sums[part.format], sums["widest"] * part.block[1], sums["bcsr"]
    lengths = row_lengths(m, entries)
    if part.format in ("ell", "sell"):
        h = m.rows if part.format == "ell" else min(part.height, -(-m.rows // 32) * 32)
        return sum(max(lengths[i:i + h]) * h for i in range(0, m.rows, h)), max(lengths), None
    return len(entries), max(lengths), None


# ---- the policies ----

class Cocktail:
    def __init__(self, m, table):
        self.m, self.t, self.parts, self.steps = m, table, [], []
        self.uneven = False
        self.left = m.entries
        self.settle()
        self.make()

    def say(self, text):
        self.steps.append(text)

    def rate(self, layout, per_row):
        return self.t.rate(layout, self.m.rows, per_row)

    def settle(self):
        self.mean = len(self.left) / self.m.rows
        self.g = {name: self.rate(name, self.mean) for name in DIAGONALS + FLAT + BLOCKS}

    def highest(self, names):
        return self.g[self.fastest(names)]

    def fastest(self, names):
        best = names[0]
        for n in names:
            best = n if less(self.g[best], self.g[n]) else best
        return best

    def add(self, part):
        self.parts.append(part)
        self.left = split(self.m, self.parts)[1]
        self.settle()

    def make(self):
        self.say(f"settings  {self.m.rows} rows, {self.mean:.3f} nonzeros in a row; rates in GFLOP/s")
        order = []
        for name, layouts, policy in (("diagonals", DIAGONALS, self.diagonals), ("blocks", BLOCKS, self.blocks), ("flat", FLAT, self.flat)):
            top = self.highest(layouts)
            self.say(f"priority  {name}: {top:.3f}, {self.fastest(layouts)}")
            order.insert(sum(not less(t, top) for t, _ in order), (top, policy))
        for _, policy in order:
            if self.left:
                policy()
        self.merge()
        self.defend()

    def diagonals(self):
        gf, gd, m = self.highest(FLAT), self.highest(DIAGONALS), self.m
        if gd <= 0:
            return
        self.say(f"diagonals e_d > n_d x g_f / g_d = n_d x {gf:.3f} / {gd:.3f} = n_d x {gf / gd:.6f}")
        if not less(gf, gd):
            return
        found = {o: len(g) for o, g in grouped(self.left, lambda e: e[1] - e[0]).items()}
        length = {o: diagonal_length(m, o) for o in found}
        full = above(gf / gd * MILLION)
        dense = {o: e for o, e in found.items() if e * MILLION >= full * length[o]}
        nnz = sum(dense.values())
        self.say(f"  holds for {len(dense)} of {len(found)} diagonals, with {nnz} nonzeros")
        if not dense:
            return
        bands = bands_of(dense)
        widths = sorted({len(b) for b in bands})
        d = full if len(dense) < len(found) else 0
        cases = []
        for thick in [1, widths[-1] + 1] + widths[1:]:
            n1 = sum(len(b) for b in bands if len(b) >= thick)
            n2 = len(dense) - n1
            g1, g2 = self.rate("bdia", n1), self.rate("dia", n2)
            time = (m.rows * n1 / g1 if n1 else 0) + (m.rows * n2 / g2 if n2 else 0)
            what = "only bdia: " if not n2 else "only dia: " if not n1 else f"bdia for bands of {thick} or more, dia: "
            over = " + ".join(f"{m.rows * n} / {g:.3f}" for n, g in ((n1, g1), (n2, g2)) if n)
            self.say(f"  {what}{nnz} / ({over}) = {nnz / time:.3f}")
            if not cases or less(time, cases[-1][0]):
                cases.append((time, thick, n1, n2))
        _, thick, n1, n2 = cases[-1]
        if n1:
            self.add(Part("bdia", d=d, w=thick if n2 else 0))
        if n2:
            self.add(Part("dia", d=d))

    def blocks(self):
        gf, n, best = self.highest(FLAT), len(self.left), None
        if self.highest(BLOCKS) <= 0:
            return
        self.say("blocks    e_b > n_b x g_f / g_b; then nonzeros / (slots / g + rest / g_f)")
        for h, w in SIZES:
            names = [f"{f}:b={h}x{w}" for f in ("sbell", "bell", "bcsr")]
            gb, size = self.highest(names), h * w
            if gb <= 0:
                continue
            self.say(f"  {h}x{w}: n_b x {gf:.3f} / {gb:.3f} = {size * gf / gb:.3f}")
            if not less(gf, gb):
                continue
            least = above(size * gf / gb)
            dense, every = block_sums(self.m, (h, w), self.left, least), block_sums(self.m, (h, w), self.left, 1)
            self.say(f"    e_b >= {least}: {dense['blocks']} of {every['blocks']} blocks, with {dense['nnz']} nonzeros")
            for sums in (dense, every) if dense["nnz"] < n else (every,):
                for name in names:
                    slots, rest = sums[name.partition(":")[0]], n - sums["nnz"]
                    g = self.rate(name, slots / self.m.rows)
                    if not slots or g <= 0:
                        continue
                    time = slots / g + (rest / gf if rest else 0)
                    if rest:
                        self.say(f"    {name}, dense: {n} / ({slots} / {g:.3f} + {rest} / {gf:.3f}) = {n / time:.3f}")
                    else:
                        pays = less(gf * time, n)
                        self.say(f"    {name}, all: {n} / ({slots} / {g:.3f}) = {n / time:.3f} > {gf:.3f}: {yes(pays)}")
                        if not pays:
                            continue
                    if best is None or less(time, best[0]):
                        best = (time, name, least * MILLION // size if rest else 0)
        if best:
            self.add(Part(best[1], d=best[2]))

    def taker(self):
        """Which of csr and coo takes what is left."""
        g_csr, g_coo, n = self.g["csr"], self.g["coo"], len(self.left)
        u, most = balanced(self.m, self.left)
        csr = less(u * most / g_csr, n / g_coo)
        self.say(f"csr, coo  u max nnz(i) / g_csr = {u} x {most} / {g_csr:.3f} = {u * most / g_csr:.3f} < n / g_coo = "
                 f"{n} / {g_coo:.3f} = {n / g_coo:.3f}: {yes(csr)}")
        return "csr" if csr else "coo"

    def flat(self):
        taker = self.taker()
        self.uneven = taker == "coo"
        mc, me = self.highest(("csr", "coo")), self.highest(FLAT[:5])
        self.say(f"flat      m_c = max({self.g['csr']:.3f}, {self.g['coo']:.3f}) > m_e = max({self.g['ell']:.3f}, "
                 f"{self.highest(FLAT[1:5]):.3f}): {yes(less(me, mc))}")
        best = None
        for m_c in (mc, self.g[taker]) if less(self.g[taker], mc) else (mc,):
            if not less(me, m_c):
                best = self.ell(m_c, taker, best)
        if best:
            self.add(Part(best[1], w=best[2][0], fill=best[2][1]))
        if self.left:
            self.add(Part(self.taker() if best else taker))

    def ell(self, mc, taker, best):
        n, m, lengths = len(self.left), self.m, row_lengths(self.m, self.left)
        for name in FLAT[:5]:
            g, part = self.g[name], Part(name)
            fill = above(mc / g * MILLION)
            h = m.rows if name == "ell" else part.height
            kept = []  # (width, slots, entries) of each slice
            for lines in (lengths[i:i + h] for i in range(0, m.rows, h)):
                tried = [(w, w * len(lines), sum(min(w, k) for k in lines)) for w in range(1, max(lines) + 1)]
                holds = [t for t in tried if t[2] * MILLION >= fill * t[1]]  # every width, as the paper says
                kept.append(holds[-1] if holds else (0, 0, 0))
            width, slots, held = max(k[0] for k in kept), sum(k[1] for k in kept), sum(k[2] for k in kept)
            self.say(f"{name} (z + e) / g < e / m_c, e / (z + e) > {mc:.3f} / {g:.3f} = {mc / g:.6f}: widths up to {width}, "
                     f"with {held} nonzeros in {slots} slots")
            if not width:
                continue
            g, g_rest = self.rate(name, slots / m.rows), self.rate(taker, (n - held) / m.rows)
            time = slots / g + ((n - held) / g_rest if n > held else 0)
            self.say(f"  {n} / ({slots} / {g:.3f} + {n - held} / {g_rest:.3f}) = {n / time:.3f}")
            if best is None or less(time, best[0]):
                best = (time, name, (0, 0) if held == n else (width, 0) if name == "ell" else (0, fill))
        return best

    def estimate(self, parts):
        """Microseconds of a product by rates, the same without padding that is skipped, and the parts that hold anything, with their
        entries and lanes."""
        us, full, kept = 0, 0, []
        for part, entries in zip(parts, split(self.m, parts)[0]):
            if entries:
                slots, longest, read = load(self.m, part, entries)
                part_us, lanes = self.t.best(part.layout, slots, longest)
                skipped = slots - (slots if read is None else read)
                slot = next(line[3] for line in self.t.lines if line[:2] == (part.layout, lanes))
                us, full = us + part_us, full + part_us - skipped * slot * 1e-6
                kept.append((part, len(entries), lanes))
        return us, full, kept

    def changes(self):
        """The plans that a merger leads to: the part that vanishes is no larger than one that may take it."""
        parts, sizes = [k[0] for k in self.kept], [k[1] for k in self.kept]
        drop = [parts[:i] + parts[i + 1:] for i in range(len(parts) - 1) if sizes[i] <= max(sizes[i + 1:])]
        return drop + [parts[:i] + [Part(parts[i].layout)] for i in range(len(parts) - 1) if sizes[i] >= max(sizes[i + 1:])]

    def merge(self):
        self.us, self.full, self.kept = self.estimate(self.parts)
        self.first = self.us, self.full, self.kept
        least = self.first
        while True:
            best = None
            for trial in self.changes():
                found = self.estimate(trial)
                better = less(found[0], self.us)
                least = found if less(found[1], least[1]) else least
                self.say(f"merge     {plan_text(k[0] for k in found[2])}: {found[0]:.3f} < {self.us:.3f} us, "
                         f"{plan_text(k[0] for k in self.kept)}: {yes(better)}")
                if better and (best is None or less(found[0], best[0])):
                    best = found
            if best is None:
                break
            self.us, self.full, self.kept = best
        self.least = least

    def alone(self, best):
        """The format that is the fastest alone, unless best is as fast."""
        times = ERROR if self.uneven and len(best[2]) > 1 else 1  # of csr, which is looked at first
        for name in ("csr",) + tuple(n for n in DIAGONALS + FLAT + BLOCKS if n != "csr"):
            part = Part(name)
            slots, longest, read = load(self.m, part, self.m.entries)
            full, lanes = self.t.best(name, slots, longest, read)
            if less(full * (times if name == "csr" else 1), best[1]):
                best = (full, full, [(part, len(self.m.entries), lanes)])
        return best

    def defend(self):
        found = self.alone(self.least)
        self.say(f"defence   with how x and rows are read: {plan_text(k[0] for k in found[2])}: {found[1]:.3f} us, "
                 f"{plan_text(k[0] for k in self.kept)}: {self.full:.3f} us")
        self.us, self.full, self.kept = found
        self.plan = plan_text(k[0] for k in self.kept) + "/" + "+".join(f"L={k[2]}" for k in self.kept)


def yes(condition):
    return "yes" if condition else "no"


# ---- matrices and tables of the test ----

class Matrix:
    def __init__(self, rows, cols, entries):
        self.rows, self.cols = rows, cols
        self.entries = sorted({(r, c) for r, c in entries if 0 <= r < rows and 0 <= c < cols})

    def text(self):
        lines = [f"{r + 1} {c + 1}" for r, c in self.entries]
        return f"%%MatrixMarket matrix coordinate pattern general\n{self.rows} {self.cols} {len(lines)}\n" + "\n".join(lines) + "\n"


def some_diagonals(rng, rows, cols, offsets, fill):
    return [(r, r + o) for o in offsets for r in range(rows) if 0 <= r + o < cols and rng.random() < fill]


def some_blocks(rng, rows, cols, size, count, fill):
    out = []
    for _ in range(count):
        top, side = rng.randrange(-(-rows // size[0])) * size[0], rng.randrange(-(-cols // size[1])) * size[1]
        out += [(top + i, side + j) for i in range(size[0]) for j in range(size[1]) if rng.random() < fill]
    return out


def some_rows(rng, rows, cols, length):
    return [(r, c) for r in range(rows) for c in rng.sample(range(cols), min(length(r), cols))]


def matrix(i):
    """Matrix i of 45: diagonals, bands, blocks, even and uneven rows, and mixtures of them."""
    rng = random.Random(1000 + i)
    rows, entries, kind = rng.randrange(60, 420), [], i // 5
    cols = rows if kind != 6 else rng.randrange(40, 500)
    if kind in (0, 1, 4, 6):
        entries += some_diagonals(rng, rows, cols, rng.sample(range(-rows // 2, cols // 2), rng.randrange(1, 6)), rng.uniform(0.3, 1.3))
    if kind in (1, 5, 6):
        first = rng.randrange(-10, 10)
        entries += some_diagonals(rng, rows, cols, range(first, first + rng.randrange(2, 7)), rng.uniform(0.6, 1.3))
    if kind in (2, 4, 5, 7):
        entries += some_blocks(rng, rows, cols, rng.choice(SIZES), rows // 3, rng.uniform(0.6, 1.2))
    if kind in (0, 3, 7):
        entries += some_rows(rng, rows, cols, lambda r: rng.randrange(1, 5) if kind else rng.randrange(0, 2))
    if kind in (1, 2, 5):
        entries += some_rows(rng, rows, cols, lambda r: min(int(rng.paretovariate(1.1)), 60) if rng.random() < 0.4 else 0)
    if kind in (3, 7):
        entries += some_rows(rng, rows, cols, lambda r: 9 if r < rows // 2 else 2)
    if kind == 8:
        entries += some_rows(rng, rows, cols, lambda r: 6)
    return Matrix(rows, cols, entries)


STRONG = [  # how much faster than csr and coo the diagonal formats, the block formats, and ell and sell are in each table
    (1.3, 1.2, 1.5), (3.0, 1.6, 1.3), (1.2, 3.5, 1.4), (1.1, 1.1, 2.5), (2.5, 2.2, 0.8)]


def table(i):
    """Table i: rates that grow with the nonzeros, or stay the same."""
    rng = random.Random(3000 + i)
    t = Table(1 + 3 * i)
    for name in DIAGONALS + FLAT + BLOCKS:
        strong = STRONG[i][0 if name in DIAGONALS else 1 if name in BLOCKS else 2] if name not in ("csr", "coo") else 1
        peak = 10 * strong * rng.uniform(0.9, 1.15)
        if name.startswith({2: "bell", 4: "sbell"}.get(i, "none")):
            peak *= 1.7
        half = rng.uniform(100, 500) if i else 0  # nonzeros at which half the peak is reached
        if name == "bdia" and i != 1:
            half, peak = 4 * half, 1.3 * peak  # pays for many diagonals
        for lanes in (1, 2) if name in ("csr", "sell") else (1,):
            peak *= rng.uniform(0.95, 1.05)
            t.add(name, lanes, 2e-3 * half / peak, 2e3 / peak)
    for name in ("csr:run=1024", "sell:h=8", "bcsr:b=3x3", "ell:idx=16"):
        t.add(name, 1, 0, 2)  # not the paper's, and not to be used
    return t


# ---- the comparison ----

# Every rule must have been applied with either result, or the test says little.
RULES = {
    "dense diagonals": r"holds for [1-9]", "no dense diagonal": r"holds for 0 ", "thick bands": r"bands of \d+ or more",
    "dense blocks": r"dense: ", "all blocks": r"all: .*yes$", "not all blocks": r"all: .*no$",
    "m_c > m_e": r"m_c = .*yes$", "m_c <= m_e": r"m_c = .*no$",
    "a width of ell": r"^ell .*up to [1-9]", "no width of ell": r"^ell .*up to 0",
    "a width of sell": r"^sell .*up to [1-9]", "no width of sell": r"^sell .*up to 0", "csr": r"csr, coo .*yes$", "coo": r"csr, coo .*no$",
    "merging": r"merge .*yes$", "no merging": r"merge .*no$",
    "no defence": r"defence .*read: (\S+): .* us, \1: ", "defence": r"defence .*read: (\S+): .* us, (?!\1: )",
}


def tokens(text):
    return re.findall(r"\d+\.\d+|\d+|[^\s\d]+", text)


def same(ours, theirs):
    """Whether two lines agree; plans are compared as text by the caller."""
    a, b = tokens(ours), tokens(theirs)
    if len(a) != len(b):
        return False
    for x, y in zip(a, b):
        if "." in x and "." in y and x[0].isdigit() and y[0].isdigit():
            if abs(float(x) - float(y)) > 0.0015 + 0.001 * abs(float(x)):
                return False
        elif x != y:
            return False
    return True


def compare(program, folder, i, seen):
    """Runs the program on matrix i. Returns what differs, or None."""
    m, t = matrix(i), table(i % len(STRONG))
    files = os.path.join(folder, "m.mtx"), os.path.join(folder, "t.tune")
    for name, text in zip(files, (m.text(), t.text())):
        with open(name, "w", encoding="ascii") as f:
            f.write(text)
    run = subprocess.run([program, "plan", files[0], "--builder", "cocktail", "--explain", "--table", files[1]], capture_output=True,
                         text=True, check=False)
    if run.returncode:
        return run.stderr
    theirs = run.stdout.splitlines()
    begin = next(k for k, line in enumerate(theirs) if line.startswith("settings"))
    steps = theirs[begin:theirs.index("", begin)]
    plan = next(line[8:] for line in theirs if line.startswith("plan  "))
    ours = Cocktail(m, t)
    for step in steps:
        seen.add(step.split()[0])
    seen.update(p.partition(":")[0] for p in plan.partition("/")[0].split("+"))
    seen.add(f"{len(ours.first[2])} parts")
    seen.update(rule for rule, pattern in RULES.items() if any(re.search(pattern, step) for step in steps))
    for a, b in zip(ours.steps, steps):
        if not same(a, b):
            return f"expected: {a}\nfound:    {b}"
    if len(ours.steps) != len(steps):
        return f"{len(ours.steps)} inequalities expected, {len(steps)} found"
    return None if ours.plan == plan else f"expected the plan {ours.plan}, found {plan}"


def main():
    program = sys.argv[1] if len(sys.argv) > 1 else "build/spmv"
    passed = failed = 0
    seen = set()
    with tempfile.TemporaryDirectory() as folder:
        for i in range(45):
            fault = compare(program, folder, i, seen)
            passed += not fault
            failed += bool(fault)
            if fault:
                print(f"matrix {i}, table {i % len(STRONG)}: {fault}")
    for word in list(RULES) + ["2 parts", "3 parts", "dia", "bdia", "ell", "sell", "csr", "coo", "sbell", "bell", "bcsr"]:
        passed += word in seen
        failed += word not in seen
        if word not in seen:
            print(f"no matrix of the test leads to: {word}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
