#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the tables of bench/host.sh: host.py ROWS.json bands|compilers|devices... Exit status 1: a product was wrong."""
import sys

from rows import OUR_KEYS, fastest, geometric_mean, grouped, is_wrong, read

KEYS = OUR_KEYS + ("build", "threads", "bytes", "read", "share")
GOAL, CSR_GOAL, COMPILERS, DEVICES = 0.85, 0.90, 0.05, 1.10
SET = {"grid_144": "memory", "mesh_46": "memory", "dense_5600": "memory", "grid_40": "cache", "mesh_12": "cache", "dense_700": "cache"}


def best(rows, **wanted):
    """The fastest row with these members; None if there is none."""
    return fastest([r for r in rows if all(r[k] == v for k, v in wanted.items())])


def names(rows):
    """(matrix, plan) in the order of the rows."""
    return list(dict.fromkeys((r["matrix"], r["plan"]) for r in rows))


def cells(rows, matrix, plan, cell):
    """A cell for each type and number of threads, as the heads have them."""
    found = grouped(rows, lambda r: (r["type"], r["threads"], r["matrix"], r["plan"]))
    return [cell(fastest(found[t, n, matrix, plan])) if (t, n, matrix, plan) in found else "-" for t, n in columns(rows)]


def columns(rows):
    return sorted({(r["type"], r["threads"]) for r in rows}, key=lambda c: (c[0] != "f64", c[1]))


def print_table(head, rows, cell):
    print(f"{'matrix':11} {'plan':20}" + "".join(f" {head.format(type=t, threads=n):>15}" for t, n in columns(rows)))
    for matrix, plan in names(rows):
        print(f"{matrix:11} {plan:20}" + "".join(f" {c:>15}" for c in cells(rows, matrix, plan, cell)))


def bands(rows):
    rows = [r for r in rows if r["build"] == "O2" and r["device"] == "host"]
    large = [r for r in rows if SET.get(r["matrix"]) == "memory"]
    print(f"Bands beyond the caches: bytes of the product over its time, over the rate of reading measured beside it, and microseconds.\n"
          f"Goals: csr {CSR_GOAL:.2f}, others {GOAL:.2f}; *: below.")
    for n in sorted({r["threads"] for r in large}):
        rates = sorted(r["read"] for r in large if r["threads"] == n)
        print(f"Reading with {n} thread{'s' if n > 1 else ''}: median {rates[len(rates) // 2]:.1f} GB/s, "
              f"{rates[0]:.1f} to {rates[-1]:.1f}.")
    print_table("{type}, {threads} thr.", large, lambda r: f"{r['share']:.2f}{'*' if r['share'] < goal(r) else ' '} {r['us']:8.0f}")
    print()
    print("Small products: microseconds with one thread, and with all; *: more than 5% slower with all.")
    small = [r for r in rows if SET.get(r["matrix"]) is None]
    types = sorted({r["type"] for r in small}, reverse=True)
    print(f"{'matrix':11} {'plan':20}" + "".join(f" {t + ', one':>10} {t + ', all':>10}  " for t in types).rstrip())
    for matrix, plan in names(small):
        line = f"{matrix:11} {plan:20}"
        for t in types:
            mine = [r for r in small if (r["matrix"], r["plan"], r["type"]) == (matrix, plan, t)]
            one, most = best(mine, threads=1), best(mine, threads=max(r["threads"] for r in mine))
            line += f" {one['us']:10.2f} {most['us']:10.2f}{' *' if most['us'] > 1.05 * one['us'] else '  '}"
        print(line.rstrip())
    print()


def goal(row):
    return CSR_GOAL if row["plan"].startswith("csr") else GOAL


def ratio_table(rows, of, over, flag, sets):
    """A table of one group of rows over another, by types and threads, and their geometric means."""
    ratios = {}
    wanted = [r for r in rows if sets is None or SET.get(r["matrix"]) in sets]
    heads = columns([r for r in wanted if of(r)])
    print(f"{'matrix':11} {'plan':20}" + "".join(f" {t + ', ' + str(n) + ' thr.':>12}" for t, n in heads))
    for matrix, plan in names([r for r in wanted if of(r)]):
        line = f"{matrix:11} {plan:20}"
        for t, n in heads:
            mine = [r for r in wanted if (r["matrix"], r["plan"], r["type"], r["threads"]) == (matrix, plan, t, n)]
            a, b = fastest(list(filter(of, mine))), fastest(list(filter(over, mine)))
            if a and b:
                ratios.setdefault((t, n), []).append(a["us"] / b["us"])
                line += f" {a['us'] / b['us']:11.2f}{'*' if flag(a['us'] / b['us']) else ' '}"
            else:
                line += f" {'-':>11} "
        print(line.rstrip())
    for (t, n), r in ratios.items():
        print(f"  {t}, {n} thr.: geometric mean {geometric_mean(r):.2f}, from {min(r):.2f} to {max(r):.2f}, "
              f"beyond the goal {sum(map(flag, r))} of {len(r)}")
    print()


def compilers(rows):
    print(f"-O3 -march=native over -O2: times; *: not within 1.00 +- {COMPILERS:.2f}.")
    rows = [r for r in rows if r["device"] == "host"]
    ratio_table(rows, lambda r: r["build"] == "O3", lambda r: r["build"] == "O2", lambda v: abs(v - 1) > COMPILERS, None)


def devices(rows):
    rows = [r for r in rows if r["build"] == "O2"]
    for name in dict.fromkeys(r["device"] for r in rows if r["device"] != "host"):
        print(f"{name}, default knobs, over the host, both with all threads; *: more than {DEVICES:.2f}.")
        ratio_table([r for r in rows if r["device"] in ("host", name)], lambda r: r["device"] == name,
                    lambda r: r["device"] == "host", lambda v: v > DEVICES, ("cache", "memory"))


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    rows = list(read(sys.argv[1], KEYS))
    tables = {"bands": bands, "compilers": compilers, "devices": devices}
    for name in sys.argv[2:]:
        tables[name](rows)
    wrong = sum(map(is_wrong, rows))
    print(f"products wrong: {wrong} of {len(rows)}")
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main())
