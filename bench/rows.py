# SPDX-License-Identifier: MIT
"""Reads rows of measurements: lines of JSON, as printed by "spmv bench --json" and the peers' programs."""
import json
import math
import sys

PEER_KEYS = ("matrix", "dtype", "variant", "us")
OUR_KEYS = ("device", "type", "matrix", "builder", "plan", "variant", "us", "ok")


def read(path, keys=OUR_KEYS):
    """The rows of a file, one per line. A line that is not an object with all these keys ends the program with a message."""
    try:
        with open(path, encoding="utf-8") as f:
            for number, line in enumerate(f, 1):
                if line.strip():
                    yield row_of(line, keys, f"{path}:{number}")
    except OSError as error:
        sys.exit(f"{path}: {error.strerror}")


def row_of(line, keys, where):
    try:
        row = json.loads(line)
    except ValueError as error:
        sys.exit(f"{where}: not a line of JSON: {error}")
    missing = [k for k in keys if k not in row] if isinstance(row, dict) else list(keys)
    if missing:
        sys.exit(f"{where}: an object with {', '.join(keys)} is expected; missing: {', '.join(missing)}")
    return row


def is_right(row):
    """Whether the product was timed and right. The peers' programs do not check their products, which count as right."""
    return bool(row["us"]) and bool(row.get("ok", True))


def is_wrong(row):
    """Whether the product was wrong. A plan that was refused is neither right nor wrong: its ok is null."""
    return row["ok"] is False


def where(row):
    return row["device"], row["type"], row["matrix"]


def grouped(rows, key):
    """{key(row): rows} of the rows that are right, in the order of their first rows."""
    groups = {}
    for row in rows:
        if is_right(row):
            groups.setdefault(key(row), []).append(row)
    return groups


def fastest(rows):
    """The row with the least time, the first of equal ones; None if there are no rows."""
    return min(rows, key=lambda r: r["us"], default=None)


def mean(values):
    return sum(values) / max(len(values), 1)


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else float("nan")
