#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Times of plans side by side: plans.py JSON... prints, for each device and type, a line for each plan and a column for each matrix, in
microseconds, the fastest of a column marked with *. Input: lines of "spmv bench --json". Plans that the library chose are left out."""
import json
import sys


def label(row, first):
    """The plan, and behind / the knobs that differ from those it was measured with first on this matrix."""
    now = (row["variant"] or "").replace("+", ",").split(",")
    usual = first.setdefault((row["device"], row["type"], row["matrix"], row["plan"]), now)
    other = [k for k in now if k not in usual]
    return row["plan"] + ("/" + ",".join(other) if other else "")


def main():
    times, first, wrong = {}, {}, 0
    for path in sys.argv[1:]:
        with open(path, encoding="utf-8") as f:
            for line in f:
                row = json.loads(line)
                wrong += row["ok"] is False
                if row["us"] and row["ok"] and row["builder"] not in ("auto", "cocktail"):
                    plan = times.setdefault((row["device"], row["type"]), {}).setdefault(label(row, first), {})
                    plan[row["matrix"]] = min(row["us"], plan.get(row["matrix"], row["us"]))
    for (device, kind), plans in sorted(times.items()):
        matrices = sorted({m for p in plans.values() for m in p})
        best = {m: min(p[m] for p in plans.values() if m in p) for m in matrices}
        print(f"{device}, {kind}; microseconds")
        for i, m in enumerate(matrices):
            print(f"  {chr(97 + i)} = {m}")
        print(f"{'':44}" + "".join(f"{chr(97 + i):>10}" for i in range(len(matrices))))
        for plan, row in plans.items():
            cells = (f"{row[m]:9.1f}{'*' if row[m] == best[m] else ' '}" if m in row else f"{'-':>9} " for m in matrices)
            print(f"{plan[:44]:44}" + "".join(cells).rstrip())
        print()
    print(f"products wrong: {wrong}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
