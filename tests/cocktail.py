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
SIZES = [(1, 4), (2, 4), (4, 4), (8, 4), (1, 8), (2, 8), (4, 8), (8, 8)]
SLICE = 32  # rows of a slice of sell without h, and block rows of one of sbell
DIAGONALS, FLAT = ("bdia", "dia"), ("ell", "sell", "sell:h=64", "sell:h=128", "sell:h=256", "csr", "coo")
BLOCKS = tuple(f"{f}:b={h}x{w}" for h, w in SIZES for f in ("sbell", "bell", "bcsr"))


# ---- tables ----

class Table:
    """For each layout and variant what a product costs: microseconds, and picoseconds for each slot."""

    def __init__(self, units):
        self.units, self.lines = units, []

    def add(self, layout, variant, launch, slot):
        self.lines.append((layout, variant, round(launch, 6), round(slot, 3)))

    def text(self):
        head = ["spmv tuning table 2", "device test", "class host", f"units {self.units}", "launch 1", "memory 1000"]
        return "\n".join(head + [f"f64 {layout} {variant or '-'} {launch:.6f} 0 0 {slot:.3f} 0 0 0 0 0"
                                 for layout, variant, launch, slot in self.lines]) + "\n"

    def best(self, layout, rows, per_row):
        """The highest rate of a layout with a banded matrix of that size, and its variant."""
        if per_row <= 0:
            return 0, ""
        slots = rows * per_row
        found = [(2e-9 * slots / (launch * 1e-6 + slots * slot * 1e-12), v) for name, v, launch, slot in self.lines if name == layout]
        top = max(f[0] for f in found)
        return next(f for f in found if f[0] == top)


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


def block_sums(m, block, entries, least):
    """Blocks with at least so many entries: their number, their entries, the widest block row, and the blocks of padded slices."""
    kept = {b: len(g) for b, g in grouped(entries, block_key(block)).items() if len(g) >= least}
    wide = grouped(kept, lambda b: b[0])
    supers = -(-m.rows // block[0])
    widths = [len(wide.get(s, [])) for s in range(supers)]
    sliced = sum(max(widths[i:i + SLICE]) * len(widths[i:i + SLICE]) for i in range(0, supers, SLICE))
    return {"blocks": len(kept), "nnz": sum(kept.values()), "bell": max(widths) * supers, "sbell": sliced, "bcsr": len(kept)}


def balanced(m, entries, units):
    """u and the most entries of one of u groups of adjacent rows."""
    u = min(max(units, 1), m.rows)
    lengths = [0] * m.rows
    for r, _ in entries:
        lengths[r] += 1
    bounds = [m.rows * i // u for i in range(u + 1)]
    return u, max(sum(lengths[a:b]) for a, b in zip(bounds, bounds[1:]))


def slots_of(m, part, entries, units):
    """The slots of a part, and its work: for csr, as if every group had as much as the one with the most."""
    if part.format in DIAGONALS:
        slots = m.rows * len({c - r for r, c in entries})
    elif part.block:
        slots = block_sums(m, part.block, entries, 1)[part.format] * part.block[0] * part.block[1]
    elif part.format in ("ell", "sell"):
        lengths = [0] * m.rows
        for r, _ in entries:
            lengths[r] += 1
        h = m.rows if part.format == "ell" else part.height
        slots = sum(max(lengths[i:i + h]) * len(lengths[i:i + h]) for i in range(0, m.rows, h))
    else:
        slots = len(entries)
    if part.format != "csr":
        return slots, slots
    u, most = balanced(m, entries, units)
    return slots, u * most


# ---- the policies ----

class Cocktail:
    def __init__(self, m, table, units, padding):
        self.m, self.t, self.parts, self.steps = m, table, [], []
        self.units, self.padding = units, padding
        self.left = m.entries
        self.settle()
        self.make()

    def say(self, text):
        self.steps.append(text)

    def rate(self, layout, per_row):
        return self.t.best(layout, self.m.rows, per_row)[0]

    def settle(self):
        self.mean = len(self.left) / self.m.rows
        self.g = {name: self.rate(name, self.mean) for name in DIAGONALS + FLAT + BLOCKS}

    def highest(self, names):
        return max(self.g[n] for n in names)

    def add(self, part):
        self.parts.append(part)
        self.left = split(self.m, self.parts)[1]
        self.settle()

    def make(self):
        self.say(f"settings  {self.m.rows} rows, {self.mean:.3f} nonzeros in a row; rates in GFLOP/s")
        order = []
        for name, layouts, policy in (("diagonals", DIAGONALS, self.diagonals), ("blocks", BLOCKS, self.blocks), ("flat", FLAT, self.flat)):
            top = self.highest(layouts)
            first = next(n for n in layouts if self.g[n] == top)
            self.say(f"priority  {name}: {top:.3f}, {first if top > 0 else 'no rate'}")
            order.append((-top, len(order), policy))
        for _, _, policy in sorted(order):
            if self.left:
                policy()
        self.merge()

    def diagonals(self):
        gf, gd, m = self.highest(FLAT), self.highest(DIAGONALS), self.m
        if gd <= 0:
            return
        self.say(f"diagonals e_d > n_d x g_f / g_d = n_d x {gf:.3f} / {gd:.3f} = n_d x {gf / gd:.6f}")
        if gf >= gd:
            return
        found = {o: len(g) for o, g in grouped(self.left, lambda e: e[1] - e[0]).items()}
        length = {o: diagonal_length(m, o) for o in found}
        dense = {o: e for o, e in found.items() if e > length[o] * gf / gd}
        nnz = sum(dense.values())
        self.say(f"  holds for {len(dense)} of {len(found)} diagonals, with {nnz} nonzeros")
        if dense:
            least = min(sorted(dense), key=lambda o: dense[o] / length[o])
            self.say(f"  the emptiest of these: {dense[least]} > {length[least] * gf / gd:.3f}")
        if len(dense) < len(found):
            most = max(sorted(set(found) - set(dense)), key=lambda o: found[o] / length[o])
            self.say(f"  the fullest other: {found[most]} > {length[most] * gf / gd:.3f}: no")
        if not dense:
            return
        bands = bands_of(dense)
        widths = sorted({len(b) for b in bands})
        d = dense[least] * MILLION // length[least] if len(dense) < len(found) else 0
        cases = []
        for thick in [1, widths[-1] + 1] + widths[1:]:
            n1 = sum(len(b) for b in bands if len(b) >= thick)
            n2 = len(dense) - n1
            g1, g2 = self.rate("bdia", n1), self.rate("dia", n2)
            if (n1 and g1 <= 0) or (n2 and g2 <= 0):
                continue
            time = (m.rows * n1 / g1 if n1 else 0) + (m.rows * n2 / g2 if n2 else 0)
            what = "only bdia: " if not n2 else "only dia: " if not n1 else f"bdia for bands of {thick} or more, dia: "
            over = " + ".join(f"{m.rows * n} / {g:.3f}" for n, g in ((n1, g1), (n2, g2)) if n)
            self.say(f"  {what}{nnz} / ({over}) = {nnz / time:.3f}")
            cases.append((time, len(cases), thick, n1, n2))
        if not cases:
            return
        _, _, thick, n1, n2 = min(cases)
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
            if gf >= gb:
                continue
            least = math.floor(size * gf / gb) + 1
            dense, every = block_sums(self.m, (h, w), self.left, least), block_sums(self.m, (h, w), self.left, 1)
            self.say(f"    e_b >= {least}: {dense['blocks']} of {every['blocks']} blocks, with {dense['nnz']} nonzeros")
            for sums in (dense, every) if dense["blocks"] < every["blocks"] else (dense,):
                for name in names:
                    slots, rest = sums[name.partition(":")[0] if self.padding else "blocks"] * size, n - sums["nnz"]
                    g = self.rate(name, slots / self.m.rows) if self.padding else self.g[name]
                    if not slots or g <= 0:
                        continue
                    time = slots / g + (rest / gf if rest else 0)
                    if rest:
                        self.say(f"    {name}, dense: {n} / ({slots} / {g:.3f} + {rest} / {gf:.3f}) = {n / time:.3f}")
                    else:
                        pays = n / time > gf
                        self.say(f"    {name}, all: {n} / ({slots} / {g:.3f}) = {n / time:.3f} > {gf:.3f}: {yes(pays)}")
                        if not pays:
                            continue
                    if best is None or time < best[0]:
                        best = (time, name, least * MILLION // size if rest else 0)
        if best:
            self.add(Part(best[1], d=best[2]))

    def flat(self):
        mc, me = self.highest(("csr", "coo")), self.highest(FLAT[:5])
        self.say(f"flat      m_c = max({self.g['csr']:.3f}, {self.g['coo']:.3f}) > m_e = max({self.g['ell']:.3f}, "
                 f"{self.highest(FLAT[1:5]):.3f}): {yes(mc > me)}")
        if mc <= me:
            self.ell(mc)
        if not self.left:
            return
        g_csr, g_coo, n = self.g["csr"], self.g["coo"], len(self.left)
        u, most = balanced(self.m, self.left, self.units)
        csr = u * most / g_csr < n / g_coo
        self.say(f"csr, coo  u max nnz(i) / g_csr = {u} x {most} / {g_csr:.3f} = {u * most / g_csr:.3f} < n / g_coo = "
                 f"{n} / {g_coo:.3f} = {n / g_coo:.3f}: {yes(csr)}")
        self.add(Part("csr" if csr else "coo"))

    def ell(self, mc):
        n, m, best = len(self.left), self.m, None
        lengths = [0] * m.rows
        for r, _ in self.left:
            lengths[r] += 1
        for name in FLAT[:5]:
            g, part = self.g[name], Part(name)
            if g <= 0:
                continue
            h = m.rows if name == "ell" else part.height
            slices = [lengths[i:i + h] for i in range(0, m.rows, h)]
            kept, refused = [], []  # (width, slots, entries) of each slice; of the width after it
            for lines in slices:
                tried = [(w, w * len(lines), sum(min(w, k) for k in lines)) for w in range(1, max(lines) + 1)]
                holds = [t for t in tried if t[1] / g < t[2] / mc]  # every width, as the paper says
                kept.append(holds[-1] if holds else (0, 0, 0))
                refused += tried[len(holds):len(holds) + 1]
            slots, held, width = sum(k[1] for k in kept), sum(k[2] for k in kept), max(k[0] for k in kept)
            wide = [k for k in kept if k[0]]
            self.say(f"{name} (z + e) / g < e / m_c: widths up to {width} in {len(wide)} of {len(slices)} slices")
            for some, word, choose, result in ((wide, "least filled, ", min, "yes"), (refused, "fullest refused, ", max, "no")):
                if some:
                    w, s, e = choose(some, key=lambda k: k[2] / k[1])
                    self.say(f"  {word if len(slices) > 1 else ''}w = {w}: ({s - e} + {e}) / {g:.3f} = {s / g:.3f} < "
                             f"{e} / {mc:.3f} = {e / mc:.3f}: {result}")
            if not wide:
                continue
            if self.padding:
                g = self.rate(name, slots / m.rows)
                time = slots / g + (n - held) / mc
                self.say(f"  {n} / ({slots} / {g:.3f} + {n - held} / {mc:.3f}) = {n / time:.3f}")
            else:
                time = 1 / g
                self.say(f"  g = {g:.3f}")
            fill = min(k[2] * MILLION // k[1] for k in wide)
            if best is None or time < best[0]:
                best = (time, name, (0, 0) if held == n else (width, 0) if name == "ell" else (0, fill))
        if best:
            self.add(Part(best[1], w=best[2][0], fill=best[2][1]))

    def estimate(self, parts):
        """Seconds of a product, and the parts that hold anything with their slots in a row."""
        seconds, kept = 0, []
        for part, entries in zip(parts, split(self.m, parts)[0]):
            if entries:
                slots, work = slots_of(self.m, part, entries, self.units)
                g = self.rate(part.layout, slots / self.m.rows)
                seconds = None if seconds is None or g <= 0 else seconds + 2e-9 * work / g
                kept.append((part, slots / self.m.rows))
        return seconds, kept

    def merge(self):
        self.seconds, self.kept = self.estimate(self.parts)
        while self.seconds:
            parts, best = [k[0] for k in self.kept], None
            changes = [parts[:i] + parts[i + 1:] for i in range(len(parts) - 1)]
            changes += [parts[:i] + [Part(parts[i].layout)] for i in range(len(parts) - 1)]
            for trial in changes:
                seconds, kept = self.estimate(trial)
                if seconds is None:
                    self.say(f"merge     {plan_text(k[0] for k in kept)}: not possible")
                    continue
                self.say(f"merge     {plan_text(k[0] for k in kept)}: {seconds * 1e6:.3f} < {self.seconds * 1e6:.3f} us, "
                         f"{plan_text(parts)}: {yes(seconds < self.seconds)}")
                if seconds < self.seconds and (best is None or seconds < best[0]):
                    best = (seconds, kept)
            if best is None:
                break
            self.seconds, self.kept = best
        variants = [self.t.best(p.layout, self.m.rows, per_row)[1] for p, per_row in self.kept]
        self.plan = plan_text(k[0] for k in self.kept) + ("/" + "+".join(variants) if any(variants) else "")


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
    """Matrix i of 40: diagonals, bands, blocks, even and uneven rows, and mixtures of them."""
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
        for variant in ("", "L=2") if name in ("csr", "sell") else ("",):
            peak *= rng.uniform(0.95, 1.05)
            t.add(name, variant, 2e-3 * half / peak, 2e3 / peak)
    for name in ("csr:run=1024", "sell:h=8", "bcsr:b=3x3", "ell:idx=16"):
        t.add(name, "", 0, 2)  # not the paper's, and not to be used
    return t


# ---- the comparison ----

# Every rule must have been applied with either result, or the test says little.
RULES = {
    "dense diagonals": r"holds for [1-9]", "no dense diagonal": r"holds for 0 ", "thick bands": r"bands of \d+ or more",
    "dense blocks": r"dense: ", "all blocks": r"all: .*yes$", "not all blocks": r"all: .*no$",
    "m_c > m_e": r"m_c = .*yes$", "m_c <= m_e": r"m_c = .*no$", "a width of ell": r"  w = .*yes$", "no wider ell": r"  w = .*no$",
    "a width of sell": r"least filled, w", "no wider sell": r"fullest refused, w", "csr": r"csr, coo .*yes$", "coo": r"csr, coo .*no$",
    "merging": r"merge .*yes$", "no merging": r"merge .*no$",
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


def compare(program, folder, i, seen, units=0, padding=True):
    """Runs the program on matrix i, with u if units is not 0. Returns what differs, or None."""
    m, t = matrix(i), table(i % len(STRONG))
    builder = "cocktail" + (f":u={units},padding={int(padding)}" if units else "")
    files = os.path.join(folder, "m.mtx"), os.path.join(folder, "t.tune")
    for name, text in zip(files, (m.text(), t.text())):
        with open(name, "w", encoding="ascii") as f:
            f.write(text)
    run = subprocess.run([program, "plan", files[0], "--builder", builder, "--explain", "--table", files[1]], capture_output=True,
                         text=True, check=False)
    if run.returncode:
        return run.stderr
    theirs = run.stdout.splitlines()
    begin = next(k for k, line in enumerate(theirs) if line.startswith("settings"))
    steps = theirs[begin:theirs.index("", begin)]
    plan = next(line[8:] for line in theirs if line.startswith("plan  "))
    ours = Cocktail(m, t, units or t.units, padding)
    for step in steps:
        seen.add(step.split()[0])
    seen.update(p.partition(":")[0] for p in plan.partition("/")[0].split("+"))
    seen.add(f"{len(ours.kept)} parts")
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
        for i in range(40):
            for keys in ({}, {"units": 1 + i % 9, "padding": False}):
                fault = compare(program, folder, i, seen, **keys)
                passed += not fault
                failed += bool(fault)
                if fault:
                    print(f"matrix {i}, table {i % len(STRONG)}, {keys or 'no keys'}: {fault}")
    for word in list(RULES) + ["2 parts", "3 parts", "dia", "bdia", "ell", "sell", "csr", "coo", "sbell", "bell", "bcsr"]:
        passed += word in seen
        failed += word not in seen
        if word not in seen:
            print(f"no matrix of the test leads to: {word}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
