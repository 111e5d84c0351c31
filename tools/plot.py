# SPDX-License-Identifier: MIT
"""Draws the pictures of spmv plot with matplotlib. The command line holds this text and runs it as

    python3 -c TEXT OUT bench|ratio PLAN CAPTION LINES...      from lines of "spmv bench --json" and of peers
    python3 -c TEXT OUT matrix|rows|predicted WORD...          from an object on standard input (tools/picture/*.c)

The picture goes to standard output; OUT only gives its name. Without arguments it says by its exit status whether matplotlib is there."""
import sys
sys.path = [folder for folder in sys.path if folder]  # not the current folder, which -c puts there
import importlib.util  # noqa: E402
import io  # noqa: E402
import json  # noqa: E402
import math  # noqa: E402
import os  # noqa: E402
import warnings  # noqa: E402

INK, FAINT, RULE, GOOD, PEER = "#24292f", "#57606a", "#d0d7de", "#e6f4ea", "#8c959f"
# The colours of Okabe and Ito, which colour-blind readers can distinguish, and four more: as many as there are formats.
HUES = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7b4fa3", "#b8a800", "#4d4d4d", "#8c564b", "#00a0a0", "#e7298a"]
TYPES = {"f64": HUES[0], "mixed": HUES[2], "f32": HUES[5]}
TITLE, TEXT, SMALL, LEFT, MOST = 20, 13, 11, 14, 48


def fail(text):
    sys.exit("spmv plot: " + text.encode("utf-8", "replace").decode())


def clean(text, room=math.inf, size=TEXT):
    """The text without what cannot be drawn, cut off where it would be wider than room."""
    text = "".join(c if c.isprintable() else "?" for c in os.fsencode(text).decode("utf-8", "replace"))
    most = room / (0.55 * size)
    return (text if len(text) <= most else text[:int(most) - 1] + "\u2026").replace("$", r"\$")


def plural(n):
    return f"{n:,} nonzero" + "s" * (n != 1)


# ---- the figure: lengths are in units of 1/96 inch from the upper left corner, two pixels each in a PNG ----

def figure(width, height, title, *lines):
    import matplotlib
    matplotlib.rcdefaults()
    matplotlib.rcParams.update({
        "font.family": "DejaVu Sans", "font.size": 0.75 * SMALL, "text.color": INK, "axes.edgecolor": RULE, "axes.labelcolor": INK,
        "axes.labelsize": 0.75 * TEXT, "axes.axisbelow": True, "grid.color": RULE, "xtick.color": FAINT, "ytick.color": FAINT,
        "xtick.labelcolor": INK, "ytick.labelcolor": INK, "svg.hashsalt": "spmv", "image.interpolation": "none"})
    from matplotlib.figure import Figure
    fig = Figure((width / 96, height / 96), dpi=192)
    fig.width, fig.height = width, height
    put(fig, LEFT, 32, clean(title, width - 28, TITLE), TITLE)
    for i, line in enumerate(lines):
        put(fig, LEFT, 54 + 18 * i, clean(line, width - 28), TEXT, FAINT)
    return fig


def put(fig, x, y, text, size=SMALL, colour=INK, **how):
    return fig.text(x / fig.width, 1 - y / fig.height, text, fontsize=0.75 * size, color=colour, **how)


def axes(fig, x, y, wide, high, *hidden, **how):
    ax = fig.add_axes((x / fig.width, 1 - (y + high) / fig.height, wide / fig.width, high / fig.height), **how)
    ax.spines[["top", "right", *hidden]].set_visible(False)
    return ax


def legend(fig, y, entries, x=LEFT):
    """Squares with what their colours mean, side by side."""
    from matplotlib.patches import Patch
    if entries:
        fig.legend([Patch(color=colour) for _, colour in entries], [clean(text, 420) for text, _ in entries], ncol=len(entries),
                   loc="center left", bbox_to_anchor=(x / fig.width, 1 - y / fig.height), frameon=False, fontsize=0.75 * TEXT,
                   handlelength=1, handleheight=1, borderpad=0, borderaxespad=0, columnspacing=1.6)


def save(fig, path):
    out = io.BytesIO()
    kind = path[-3:].lower()
    fig.savefig(out, format=kind, metadata={"Date": None} if kind == "svg" else {"Software": None})
    try:
        sys.stdout.buffer.write(out.getvalue())
        sys.stdout.buffer.flush()
    except OSError as e:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # nothing is left to be flushed
        fail(f"{path}: {e.strerror}")


# ---- lines of "spmv bench --json" and of peers ----

def bare(path):
    name = path.rsplit("/", 1)[-1]
    for tail in (".gz", ".mtx", ".bin", ".json"):
        name = name[:-len(tail)] if name.endswith(tail) and name != tail else name
    return name


KINDS = {"matrix": str, "device": str, "builder": str, "plan": str, "variant": str, "type": str, "dtype": str, "us": float, "gflops": float,
         "again": bool, "ok": bool}
NAMES = {str: "a string", float: "a number or null", bool: "true, false or null"}


def parsed(text, bad):
    """The members of a line's object that we know; text about what is wrong goes to bad."""
    def unknown(word):
        raise ValueError(word + " is not a number of JSON")
    try:
        row = json.loads(text, parse_constant=unknown)
    except json.JSONDecodeError as e:
        bad(f", column {e.colno}: {e.msg}")
    except (ValueError, RecursionError) as e:
        bad(f": {e}")
    if not isinstance(row, dict):
        bad(": a JSON object is expected, as printed by spmv bench --json")
    row = {key: float(v) if type(v) is int and KINDS.get(key) is float else v for key, v in row.items() if key in KINDS and v is not None}
    for key, v in row.items():
        if not isinstance(v, KINDS[key]) or v == math.inf:
            bad(f": \"{key}\" is {NAMES[KINDS[key]]}")
    return row


def line_of(row, file, bad):
    """What is drawn of a row: of ours, or of a peer, whose device is its file's name."""
    ours = bool(row.get("type") and row.get("plan"))
    if not row.get("matrix") or not (ours or row.get("dtype") and row.get("variant")):
        bad(": neither a line of ours (matrix, type, plan) nor one of a peer (matrix, dtype, variant)")
    us, plan, variant, builder = (row.get(key, default) for key, default in (("us", 0), ("plan", ""), ("variant", ""), ("builder", "")))
    if us < 0:
        bad(": the time is below 0")
    label = variant if not ours else plan + ("/" + variant) * (variant not in ("", "host"))
    return {"peer": not ours, "matrix": bare(row["matrix"]), "type": row["type" if ours else "dtype"], "label": label, "plan": plan,
            "device": row.get("device", "host") if ours else bare(file), "us": us, "work": row.get("gflops", 0) * us if ours else 0,
            "by": [builder] if ours and builder not in ("", plan) else [], "wrong": row.get("ok") is False,
            "again": row.get("again", False)}


def read(files, only):
    """All lines of ours, if only is given those of this plan or builder, and of peers. Of two lines of one product the one that was timed
    side by side with others counts, otherwise the faster one."""
    found = {}
    for file in files:
        count = 0
        try:
            with open(file, encoding="utf-8", errors="replace") as f:
                for number, text in enumerate(f, 1):
                    def bad(why, number=number):
                        fail(f"{file}, line {number}{why}")
                    if not text.strip():
                        continue
                    count += 1
                    line = line_of(parsed(text.rstrip("\r\n"), bad), file, bad)
                    if only and not line["peer"] and only != line["plan"] and only not in line["by"]:
                        continue
                    old = found.setdefault(tuple(line[key] for key in ("peer", "matrix", "type", "label", "device")), line)
                    best = min(old, line, key=lambda b: (not b["again"], b["us"] <= 0, b["us"]))
                    old.update(best, by=old["by"] + [b for b in line["by"] if b not in old["by"]])
        except OSError as e:
            fail(f"{file}: {e.strerror}")
        if not count:
            fail(f"{file}: the file has no lines")
    return list(found.values())


def names(lines):
    """The name of the peer, and of our device, if there is one of these."""
    peers, devices = ({b["device"] for b in lines if b["peer"] == peer} for peer in (True, False))
    return peers.pop() if len(peers) == 1 else "others", devices.pop() if len(devices) == 1 else ""


def caption(fig, device, more):
    put(fig, LEFT, fig.height - 14, clean("; ".join(filter(None, (device, more))), fig.width - 28, SMALL), SMALL, FAINT)


# ---- plot bench ----

def bar_name(b, device):
    name = (b["device"] if b["peer"] else ", ".join(b["by"])) + (" " if b["peer"] else " = ") * bool(b["peer"] or b["by"]) + b["label"]
    return name if b["peer"] or device else f"{name} on {b['device']}"


def bar_text(b, work):
    text = f"{b['us']:.3g} \u00b5s" if b["us"] < 1000 else f"{b['us']:.0f} \u00b5s"
    if work > 0:
        speed = work / b["us"]
        text += f", {speed:.3g} GFLOP/s" if speed < 1000 else f", {speed:.0f} GFLOP/s"
    return text + ": WRONG" * b["wrong"]


def draw_bench(plan, more, *files):
    lines, step = read(files, plan), 20
    peer, device = names(lines)
    groups = {}
    for b in lines:
        groups.setdefault((b["matrix"], b["type"]), []).append(b)
    groups = {key: sorted(group, key=lambda b: (b["us"] <= 0, b["us"], b["label"])) for key, group in groups.items()
              if not all(b["peer"] for b in group)}
    if not groups:
        fail("there are no lines of ours" + (" with the plan " + plan) * bool(plan))
    shown = {key: [b for b in group if b["us"] > 0][:MOST] for key, group in groups.items()}
    high = {key: 34 + step * (len(shown[key]) + (len(shown[key]) < len(group))) + 12 for key, group in groups.items()}
    fig, y = figure(900, 92 + sum(high.values()) + 30, "Speed of each plan", "operations per second, two per nonzero; longer is faster"), 92
    legend(fig, 72, [("spmv", HUES[0])] + [("chosen by spmv (auto)", HUES[2])] * any("auto" in b["by"] for b in lines) +
           [("wrong", HUES[1])] * any(b["wrong"] for b in lines) + [(peer, PEER)] * any(b["peer"] for b in lines))
    for key, group in groups.items():
        bars, work = shown[key], max(b["work"] for b in group)
        put(fig, LEFT, y + 20, clean(f"{key[0]}, {key[1]}", 872), TEXT, weight="bold")
        if bars:
            ax = axes(fig, 272, y + 34, 464, step * len(bars), "bottom", xlim=(0, 1), ylim=(len(bars) - 0.5, -0.5), xticks=[])
            drawn = ax.barh(range(len(bars)), [bars[0]["us"] / b["us"] for b in bars], 0.7, color=[
                PEER if b["peer"] else HUES[1] if b["wrong"] else HUES[2] if "auto" in b["by"] else HUES[0] for b in bars])
            ax.bar_label(drawn, [bar_text(b, work) for b in bars], padding=4)
            ax.set_yticks(range(len(bars)), [clean(bar_name(b, device), 248, SMALL) for b in bars])
            ax.tick_params(length=0)
        slower, refused = sum(b["us"] > 0 for b in group) - len(bars), [bar_name(b, device) for b in group if not b["us"] > 0]
        rest = [f"and {slower} slower"] * bool(slower) + ["refused: " + ", ".join(refused)] * bool(refused)
        put(fig, 272, y + 34 + step * len(bars) + 12, clean("; ".join(rest), 614, SMALL), SMALL, FAINT)
        y += high[key]
    caption(fig, device, more)
    return fig


# ---- plot ratio ----

def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def draw_ratio(plan, more, *files):
    lines, best = read(files, plan), {}
    peer, device = names(lines)
    for b in lines:
        if b["us"] > 0 and not b["wrong"]:
            key = b["matrix"], b["type"], b["peer"]
            best[key] = min(b["us"], best.get(key, math.inf))
    matrices, ratios = dict.fromkeys(b["matrix"] for b in lines), {}
    for m in matrices:
        of = {t: best[m, t, True] / best[m, t, False] for t in TYPES if (m, t, True) in best and (m, t, False) in best}
        if of:
            ratios[m] = of
    if not ratios:
        fail("no matrix has both a time of ours" + (" with the plan " + plan) * bool(plan) + " and a peer's")
    alone = sum(m not in ratios and any((m, t, False) in best for t in TYPES) for m in matrices)
    order = sorted(ratios, key=lambda m: geometric_mean(ratios[m].values()))
    shown = [t for t in TYPES if any(t in of for of in ratios.values())]
    high = (11 * len(shown) + 8) * len(order)
    fig = figure(900, 134 + high + 40, f"Time of {peer} divided by time of spmv", f"for each matrix, the fastest time of {peer} divided by "
                 f"that of spmv's {plan or 'fastest plan'}" + f"; of {alone} a time is missing" * bool(alone))
    ends = [v for of in ratios.values() for v in of.values()] + [1 / 1.15, 1.15]
    ax = axes(fig, 242, 134, 600, high, "bottom", "left", xscale="log", xlim=(min(ends), max(ends)), ylim=(-0.5, len(order) - 0.5))
    share, entries = 11 / (11 * len(shown) + 8), []
    for i, t in enumerate(shown):
        at, v = zip(*((k, ratios[m][t]) for k, m in enumerate(order) if t in ratios[m]))
        drawn = ax.barh([k + (i - (len(shown) - 1) / 2) * share for k in at], [r - 1 for r in v], 0.9 * share, 1, color=TYPES[t])
        ax.bar_label(drawn, [f"{r:.2f}" for r in v], padding=3, fontsize=7.5)
        entries.append((f"{t}: geometric mean {geometric_mean(v):.2f}, faster on {sum(r > 1 for r in v)} of {len(v)}", TYPES[t]))
    legend(fig, 78, entries[::-1])
    ax.axvline(1, color=INK, linewidth=1)
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator
    wide = max(ends) / min(ends)
    ax.xaxis.set_major_locator(LogLocator(10, (1,) if wide > 1e3 else (1, 2, 5) if wide > 8 else (1, 1.2, 1.5, 2, 3, 4, 5, 6, 7, 8)))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}\u00d7"))
    ax.grid(axis="x")
    ax.set_yticks(range(len(order)), [clean(m, 210, SMALL) for m in order])
    ax.tick_params(length=0, labeltop=True, labelbottom=False)
    ax.tick_params("y", pad=36)
    put(fig, 842, 102, "spmv faster \u2192", SMALL, FAINT, ha="right")
    put(fig, 242, 102, clean(f"\u2190 {peer} faster", 400, SMALL), SMALL, FAINT)
    caption(fig, device, more)
    return fig


# ---- plot rows ----

def draw_rows(name):
    data = json.load(sys.stdin)
    lengths = data["lengths"]  # pairs by rising length: a length, and the number of rows
    longest, empty, total = lengths[-1][0], sum(n for length, n in lengths if not length), sum(n for _, n in lengths)
    below, median = 0, 0
    for median, n in lengths:
        below += n
        if below > total // 2:
            break
    edges = [1]  # one bin for each length up to 8, then four in each octave
    while edges[-1] <= longest:
        edges.append(edges[-1] + max(1, 2 ** (edges[-1].bit_length() - 1) // 4))
    bins = [sum(n for length, n in lengths if a <= length < b) for a, b in zip(edges, edges[1:])]
    fig = figure(900, 470, name, f"{data['rows']:,} \u00d7 {data['cols']:,}, {plural(data['nnz'])}",
                 f"row lengths: median {median:,}, longest {longest:,}; {empty:,} empty rows")
    ax = axes(fig, 78, 92, 798, 316, xscale="log", yscale="log", ylim=(0.7, 1.3 * max(bins + [empty, 2])), xlabel="nonzeros in a row",
              ylabel="rows")
    ax.bar(edges[:-1], bins, [b - a for a, b in zip(edges, edges[1:])], align="edge", color=HUES[0], edgecolor="white", linewidth=0.5)
    if empty:
        ax.bar(0.6, empty, 0.2, color=HUES[1])
    named = [k for k in range(len(edges) - 1) if longest <= 8 or not edges[k] & (edges[k] - 1)]  # else only powers of two
    middle = [(edges[k] + edges[k + 1] - (edges[k] > 8)) / 2 if edges[k + 1] == edges[k] + 1 else edges[k] for k in named]
    named, middle = named[::len(named) // 17 + 1], middle[::len(named) // 17 + 1]
    ax.set_xticks([0.6] * bool(empty) + middle, ["empty"] * bool(empty) + [f"{edges[k]:,}" for k in named])
    ax.set_xticks([], minor=True)
    ax.set_xlim(0.45 if empty else 0.9, edges[-1] * 1.05)
    ax.set_yticks([], minor=True)
    ax.yaxis.set_major_formatter(lambda v, _: f"{v:,.0f}" if v < 1e6 else f"{v / 1e6:g}M")
    ax.grid(axis="y")
    mean = data["nnz"] / data["rows"]
    if mean >= 1:
        ax.axvline(mean, color=INK, linestyle="--", linewidth=1)
        ax.annotate(f"mean {mean:.4g}", (mean, 1), (4, -8), ("data", "axes fraction"), "offset points")
    return fig


# ---- plot predicted ----

def draw_predicted(device, about):
    data = json.load(sys.stdin)
    panels, wide = data["panels"], 484
    fig = figure(64 + wide * len(panels), 570, device, about)
    legend(fig, 80, [(f, HUES[i % len(HUES)]) for i, f in enumerate(data["formats"]) if any(d[1] == i for p in panels for d in p["dots"])])
    times = [d[0] for p in panels for d in p["dots"]]
    for i, p in enumerate(panels):
        ax = axes(fig, 64 + wide * i, 130, 430, 380, xscale="log", yscale="log", xlabel="measured time of a product",
                  xlim=[10 ** end for end in (math.floor(math.log10(min(times))), math.ceil(math.log10(max(times))))],
                  ylabel="" if i else "predicted / measured")
        ax.axhspan(data["least"], data["most"], color=GOOD, zorder=0)
        ax.grid()
        ax.scatter([d[0] for d in p["dots"]], [min(max(d[2], 1 / 8), 8) for d in p["dots"]], 4, marker="s", linewidths=0, zorder=2,
                   c=[HUES[d[1] % len(HUES)] for d in p["dots"]])
        ax.set_yticks([], minor=True)
        ratios = [0.125, 0.25, 0.5, data["least"], 1, data["most"], 2, 4, 8]
        ax.set_yticks(ratios, [] if i else [f"{r:g}" for r in ratios])
        ax.set_ylim(1 / 8.3, 8.3)
        ax.xaxis.set_major_formatter(lambda v, _: next(f"{v * k:.0f} {unit}" for k, unit in ((1, "s"), (1e3, "ms"), (1e6, "\u00b5s"), (
            1e9, "ns")) if v * k > 0.99 or k == 1e9))
        put(fig, 64 + wide * i, 120, p["title"], TEXT)
    return fig


# ---- plot of a matrix ----

def ticks(axis, length, most):
    step = next(s for e in range(20) for s in (10 ** e, 2 * 10 ** e, 5 * 10 ** e) if length / s <= most)
    at = range(0, length, step)
    axis(at, [f"{v // 1000000}M" if v and v % 1000000 == 0 else f"{v // 1000}k" if v and v % 1000 == 0 else f"{v:,}" for v in at])


def draw_matrix(name, plan):
    """A cell's colour is that of the part that owns its nonzeros (one of them, if it has several), its shade, one of six, their number."""
    import numpy
    data = json.load(sys.stdin)
    rows, cols, nnz, parts, most = data["rows"], data["cols"], data["nnz"], data["parts"], max(data["count"])
    owner, count = (numpy.array(data[key]).reshape(data["down"], data["across"]) for key in ("owner", "count"))
    rgb = numpy.array([[int(hue[i:i + 2], 16) for i in (1, 3, 5)] for hue in HUES])

    def shade(hue, level):
        return numpy.rint(255 - (0.4 + 0.12 * numpy.asarray(level))[..., None] * (255 - rgb[hue])).astype(numpy.uint8)
    level = numpy.rint(5 * numpy.log2(numpy.maximum(count, 1)) / math.log2(most)) if most > 1 else numpy.full(count.shape, 5)
    cells = numpy.where((count > 0)[..., None], shade(owner % len(HUES), level), numpy.uint8(255))
    wide, high = data["across"] * data["cell"][0], data["down"] * data["cell"][1]
    least = 116 + 62 * min(len(parts), 8) + 144
    fig = figure(62 + wide + 258, max(116 + high + 20, least), name, f"{rows:,} \u00d7 {cols:,}, {plural(nnz)}", "plan " + plan)
    ax = axes(fig, 62, 116, wide, high, xlim=(0, cols), ylim=(rows, 0))
    ax.spines[:].set_visible(True)
    pixels = [int(2 * side + 0.5) for side in data["cell"]]  # a viewer that enlarges an SVG would blur single pixels
    ax.imshow(cells.repeat(pixels[1], 0).repeat(pixels[0], 1), extent=(0, cols, rows, 0), aspect="auto")
    ticks(ax.set_xticks, cols, wide / 80 + 1)
    ticks(ax.set_yticks, rows, high / 60 + 1)
    ax.tick_params(labeltop=True, labelbottom=False, top=True, bottom=False)
    put(fig, 62 + wide, 92, "column", SMALL, FAINT, ha="right")
    put(fig, 14, 116 + high / 2, "row", SMALL, FAINT, ha="center", va="center", rotation="vertical")
    x, y = 62 + wide + 26, 127

    def square(x, y, wide, colour):
        from matplotlib.patches import Rectangle
        fig.add_artist(Rectangle((x / fig.width, 1 - (y + 12) / fig.height), wide / fig.width, 12 / fig.height, color=colour, linewidth=0))
    for i, (form, text, own) in enumerate(parts):
        if y >= fig.height - 144:
            put(fig, x + 20, y, f"and {len(parts) - i} more parts", SMALL, FAINT)
            y += 18
            break
        less = min(own, nnz - own)
        square(x, y - 11, 12, HUES[i % len(HUES)])
        share = 100 * own / nnz if nnz else 0
        put(fig, x + 20, y, f"{form} {share:.{0 if not less else 4 if less < nnz // 1000 else 1}f}%", TEXT)
        for more in ([text] if text != form else []) + [plural(own)]:
            y += 18
            put(fig, x + 20, y, clean(more, fig.width - x - 22, SMALL), SMALL, FAINT)
        y += 26
    put(fig, x, y + 6, "nonzeros in a cell", TEXT)
    for i in range(6):
        square(x + 26 * i, y + 14, 26, shade(8 if len(parts) > 1 else 0, i if most > 1 else 5) / 255)
    put(fig, x, y + 40, "1" if most else "0")
    put(fig, x + 156, y + 40, f"{most:,}", ha="right")
    put(fig, x, y + 60, f"cell: {-(-rows // data['down']):,} \u00d7 {-(-cols // data['across']):,}", SMALL, FAINT)
    return fig


def main(path=None, kind=None, *words):
    if importlib.util.find_spec("matplotlib") is None:
        sys.exit(1)
    if path:
        warnings.simplefilter("ignore")  # of letters that the font lacks
        save(globals()["draw_" + kind](*words), path)


if __name__ == "__main__":
    main(*sys.argv[1:])
