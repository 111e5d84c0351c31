#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Repeats Figures 3 to 9 of Grewe and Lokhmotov (GPGPU-4, 2011): generator.py [--title TEXT] [--svg FILE] FILE... prints tables from the
lines that tools/gen/measure/measure.c printed for the lists of "bench/generator.sh prepare" (FILE may be compressed by xz). machine.txt,
beside the first FILE, has a line that names machine and driver, a line with the date, and what else a reader should know; it is the head.
For each back end, type and format a table has, for each matrix, microseconds of a product by

    hand        the library's kernel with its defaults
    same        the generated kernel in the same configuration: lanes, work-groups and unrolling as the library's
    tuned       the fastest generated kernel, over all options and knobs that were tried
    hand tuned  the fastest of the library's, over its own knobs

and hand over same, hand over tuned, and hand tuned over tuned. --svg draws the first two ratios as the paper does, one panel a figure. The
exit status is 1 if a product was wrong."""
import argparse
import json
import lzma
import os
import sys

from rows import geometric_mean

# format: the figure, its caption, and what the paper says of it
FIGURES = {
    "dia": ("Figure 3", "same configuration almost identical; tuning hardly helps"),
    "csr": ("Figure 4", "tuned faster than hand on all matrices but one"),
    "csr.f32": ("Figure 4", "tuned faster than hand on all matrices but one"),
    "ell": ("Figure 5", "generated slightly faster, on almost all matrices"),
    "hyb": ("Figure 6", "generated (ELL and CSR of the rows that are not empty) faster than hand (ELL and COO) on 9 of 14 matrices"),
    "bell": ("Figure 7", "comparable"),
    "sell": ("Figure 8", "comparable, but for the dense matrix in the same configuration"),
}
OTHERS = ["bdia", "sbell", "bcsr", "cmrs", "coo", "dense"]
WINS = 1.03  # a generated kernel that is so much faster than the best hand-written one is listed


def read(names):
    """All lines of the files."""
    out = []
    for name in names:
        opener = lzma.open if name.endswith(".xz") else open
        with opener(name, "rt") as file:
            out += [json.loads(line) for line in file if line.startswith("{") and line.endswith("}\n")]
    return out


def print_head(args):
    """The title, the machine with the date, and the command."""
    with open(os.path.join(os.path.dirname(args.files[0]), "machine.txt")) as file:
        machine, date, *rest = file.read().splitlines()
    if args.title:
        print(args.title + "\n" + "=" * len(args.title))
    print(f"Machine: {machine}; {date}")
    print("Command: measure LIST DEVICE TYPES SECONDS MATRIX... >FILE; python3 bench/generator.py " +
          " ".join(os.path.basename(name) for name in args.files))
    print("\n".join(rest + [""]))


def least(lines, roles):
    """The line with the least time among those of the roles; None if there is none."""
    lines = [line for line in lines if line["role"] in roles]
    return min(lines, key=lambda line: line["us"]) if lines else None


def kernel_of(line):
    """The options and knobs of a kernel in short."""
    name = line["kernel"].split("+")[0].split("=")[-1].split("/")[-1].rsplit(".", 1)[0]
    options = [word for word in name.split("_")[1:] if word not in ("vector-1", "within-1", "reuse-buffer", "strategy-atomic")]
    knobs = [word for word in line["knobs"].replace("*:", "").split(",") if word and word not in ("V=1", "STAGE=0", "ATOMIC=1")]
    return " ".join([line["plan"]] * (":" in line["plan"]) + options + knobs) or "as it is"


def rows_of(lines):
    """For each matrix: its name, and the lines hand, same, tuned and hand tuned. hand and same have the same plan, that of the faster
    hand."""
    rows = []
    for matrix in dict.fromkeys(line["matrix"] for line in lines):
        own = [line for line in lines if line["matrix"] == matrix]
        hand = least([line for line in own if line["group"] != "hyb" or line["plan"] == "hyb"], ["hand"])
        if not hand:
            continue
        same = least([line for line in own if line["plan"] == hand["plan"]], ["same"])
        tuned = least(own, ["same", "tried"])
        if same and tuned:
            rows.append((matrix.rsplit(".", 1)[0], hand, same, tuned, least(own, ["hand", "hand-tried"])))
    return rows


def ratios(rows):
    """Geometric means of hand over same, hand over tuned, hand tuned over tuned."""
    return [geometric_mean([a["us"] / b["us"] for a, b in pairs])
            for pairs in (([(r[1], r[2]) for r in rows]), ([(r[1], r[3]) for r in rows]), ([(r[4], r[3]) for r in rows]))]


def print_format(group, rows):
    """The table of one format."""
    figure, paper = FIGURES.get(group, ("not in the paper", ""))
    print(f"  {group.split('.')[0]} ({figure}{'; paper: ' + paper if paper else ''})")
    print(f"    {'matrix':22} {'hand':>9} {'same':>9} {'tuned':>9} {'hand tuned':>10}   hand/same hand/tuned tuned/tuned  the tuned kernel")
    for name, hand, same, tuned, best in rows:
        print(f"    {name:22} {hand['us']:9.2f} {same['us']:9.2f} {tuned['us']:9.2f} {best['us']:10.2f}   {hand['us'] / same['us']:9.2f} "
              f"{hand['us'] / tuned['us']:10.2f} {best['us'] / tuned['us']:11.2f}  {kernel_of(tuned)}")
    mean = ratios(rows)
    print(f"    {'geometric mean':22} {'':40}   {mean[0]:9.2f} {mean[1]:10.2f} {mean[2]:11.2f}\n")


def print_vectors(group, lines):
    """Figure 9: csr with vectors of 2 and 4 over csr without, each with its best knobs, and the library's other kernels for such rows."""
    print(f"  csr by vectors (Figure 9; paper: 1.6 times as fast on an AMD HD 5970, up to 4; not measured on a scalar GPU)")
    print(f"    {'matrix':22} {'scalar':>9} {'vector 2':>9} {'vector 4':>9}   best/scalar   {'csr:run':>9} {'tcsr':>9}  "
          "wins over csr, csr:run and tcsr")
    gains = []
    for matrix in dict.fromkeys(line["matrix"] for line in lines):
        own = [line for line in lines if line["matrix"] == matrix and line["group"] == group]
        other = [line for line in lines if line["matrix"] == matrix and line["group"] == group.replace("csr", "flat")]
        by = [least([line for line in own if f"vector-{n}." in line["kernel"]], ["same", "tried"]) for n in (1, 2, 4)]
        run = least([line for line in other if line["plan"].startswith("csr:run")], ["hand", "hand-tried"])
        tiles = least([line for line in other if line["plan"] == "tcsr"], ["hand", "hand-tried"])
        hand = least(own, ["hand", "hand-tried"])
        if None in by or not run or not tiles or not hand:
            continue
        gain = by[0]["us"] / min(by[1]["us"], by[2]["us"])
        gains.append(gain)
        best = min(by[1]["us"], by[2]["us"])
        win = min(hand["us"], run["us"], tiles["us"]) / best
        print(f"    {matrix.rsplit('.', 1)[0]:22} " + " ".join(f"{b['us']:9.2f}" for b in by) +
              f"   {gain:11.2f}   {run['us']:9.2f} {tiles['us']:9.2f}  {'%.2f' % win if win >= WINS else '-'}")
    if gains:
        print(f"    {'geometric mean':22} {'':29}   {geometric_mean(gains):11.2f}\n")


def print_wins(tables):
    """Generated kernels that beat the library's tuned ones."""
    print(f"Generated kernels that are {WINS:.2f} times as fast as the library's best of the same format, or more")
    for (device, kind), groups in tables.items():
        for group, rows in groups.items():
            won = [(best["us"] / tuned["us"], name, tuned) for name, _, _, tuned, best in rows if best["us"] / tuned["us"] >= WINS]
            if won:
                print(f"  {device}, {kind}, {group.split('.')[0]}: {len(won)} of {len(rows)} matrices: " +
                      "; ".join(f"{name} {gain:.2f} ({kernel_of(line)})" for gain, name, line in sorted(won, key=lambda w: -w[0])))
    print()


def panel(out, x, y, title, rows):
    """Draws a figure: for each matrix the speed of same and tuned as bars, hand being 1."""
    width, height, top = 430, 130, 2.0
    out.append(f'<text x="{x}" y="{y - 8}" font-weight="bold">{title}</text>')
    for level in (0.5, 1.0, 1.5, 2.0):
        at = y + height - height * level / top
        out.append(f'<line x1="{x}" y1="{at:.1f}" x2="{x + width}" y2="{at:.1f}" stroke="{"#444" if level == 1 else "#ddd"}"/>')
        out.append(f'<text x="{x - 6}" y="{at + 4:.1f}" text-anchor="end" font-size="10">{level}</text>')
    step = width / max(1, len(rows))
    for i, (name, hand, same, tuned, _) in enumerate(rows):
        for k, (line, colour) in enumerate(((same, "#7aa6c2"), (tuned, "#c2703d"))):
            size = min(top, hand["us"] / line["us"]) * height / top
            out.append(f'<rect x="{x + i * step + step * (0.12 + 0.38 * k):.1f}" y="{y + height - size:.1f}" width="{step * 0.36:.1f}" '
                       f'height="{size:.1f}" fill="{colour}"/>')
        at = x + (i + 0.6) * step
        out.append(f'<text x="{at:.1f}" y="{y + height + 8}" font-size="9" text-anchor="end" transform="rotate(-40 {at:.1f} '
                   f'{y + height + 8})">{name[:14]}</text>')


def draw(path, tables):
    """Writes the picture: a row of panels for each back end and type."""
    out, y, widest = [], 70, 0
    for (device, kind), groups in tables.items():
        x, shown = 50, [g for g in FIGURES if g in groups]
        if not shown:
            continue
        out.append(f'<text x="50" y="{y - 30}" font-size="15">{device}, {kind}</text>')
        for group in shown:
            panel(out, x, y, f"{FIGURES[group][0]}: {group.split('.')[0]}", groups[group])
            x += 490
        widest, y = max(widest, x), y + 270
    key = ('<rect x="50" y="14" width="12" height="12" fill="#7aa6c2"/><text x="68" y="25">generated, same configuration</text>'
           '<rect x="270" y="14" width="12" height="12" fill="#c2703d"/><text x="288" y="25">generated and tuned; '
           'speed over the hand-written kernel, bars end at 2</text>')
    with open(path, "w") as file:
        file.write(f'<svg xmlns="http://www.w3.org/2000/svg" width="{widest}" height="{y - 40}" font-family="sans-serif" font-size="12">'
                   f'<rect width="100%" height="100%" fill="white"/>{key}' + "\n".join(out) + "</svg>\n")


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--svg")
    parser.add_argument("--title")
    parser.add_argument("files", nargs="+")
    args = parser.parse_args()
    lines = read(args.files)
    wrong = [line for line in lines if not line["worst"] <= 1]
    tables = {}
    print_head(args)
    for device, kind in dict.fromkeys((line["device"], line["type"]) for line in lines):
        own = [line for line in lines if (line["device"], line["type"]) == (device, kind)]
        groups = {}
        for group in list(FIGURES) + OTHERS:
            rows = rows_of([line for line in own if line["group"] == group])
            if rows:
                groups[group] = rows
        tables[device, kind] = groups
        print(f"{device}, {kind}: {len(own)} times, {len({l['matrix'] for l in own})} matrices")
        for group, rows in groups.items():
            print_format(group, rows)
            if group.startswith("csr"):
                print_vectors(group, own)
    print_wins(tables)
    print("Geometric means over formats: hand over same, hand over tuned, hand tuned over tuned")
    for (device, kind), groups in tables.items():
        print(f"  {device}, {kind}: " + ", ".join(f"{group.split('.')[0]} " + " ".join("%.2f" % m for m in ratios(rows))
                                                  for group, rows in groups.items()))
    print(f"wrong: {len(wrong)} of {len(lines)}")
    for line in wrong:
        print("  " + json.dumps(line))
    if args.svg:
        draw(args.svg, tables)
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
