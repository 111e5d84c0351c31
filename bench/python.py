#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""python.py [--run PREFIX] [--rounds N] FILE... - times the package of python/ beside SciPy and, where it is installed, sparse_dot_mkl,
and on a GPU beside CuPy, and prints the tables that bench/results/python.txt keeps. FILE is a .mtx or .mtx.gz. The package must be
installed, or PYTHONPATH lead to it.

  --run PREFIX   runs what is timed by this command, such as "chrt -f 5" on a machine that others use, too
  --rounds N     turns of all libraries, of which the fastest counts (3)

Each library, with each number of threads, has a process of its own, so that none waits for threads of another that spin. After "make lib" a
call is timed beside one from C (bench/call.c)."""
import argparse
import datetime
import json
import math
import os
import pathlib
import platform
import shlex
import subprocess
import sys
import tempfile
import time
import timeit

import numpy as np
import scipy
import scipy.io
import scipy.sparse as sparse
import scipy.sparse.linalg as linalg

GRID, EIGENVALUES = 40, 6


def seconds(call, least=0.05, turns=9):
    """Of one call: the median over turns of calls in a row that take so long together."""
    begin = time.perf_counter()
    call()
    count = max(1, int(least / turns / max(time.perf_counter() - begin, 1e-7)))
    found = []
    for _ in range(turns):
        begin = time.perf_counter()
        for _ in range(count):
            call()
        found.append((time.perf_counter() - begin) / count)
    return float(np.median(found))


def prepare_scipy(A):
    return lambda x: A @ x


def prepare_mkl(A):
    from sparse_dot_mkl import dot_product_mkl

    return lambda x: dot_product_mkl(A, x)


def prepare_spmv(A):
    import spmv

    return spmv.matrix(A)


PREPARE = {"scipy": prepare_scipy, "mkl": prepare_mkl, "spmv": prepare_spmv}


def grid(n):
    """The Laplacian of a grid of n x n x n points."""
    line, one = sparse.diags([-1.0, 2.0, -1.0], [-1, 0, 1], (n, n)), sparse.identity(n)
    return sparse.csr_matrix(sum(sparse.kron(sparse.kron(a, b), c) for a, b, c in ((line, one, one), (one, line, one), (one, one, line))))


def eigenvalues(library):
    """Seconds of the largest eigenvalues, preparation included, and their sum."""
    A = grid(GRID)
    begin = time.perf_counter()
    product = PREPARE[library](A)
    operator = A if library == "scipy" else product if library == "spmv" else linalg.LinearOperator(A.shape, matvec=product, dtype=A.dtype)
    found = linalg.eigsh(operator, EIGENVALUES, which="LA", v0=np.ones(A.shape[0]) + np.arange(A.shape[0]) % 7, tol=1e-6,
                         return_eigenvectors=False)
    return time.perf_counter() - begin, float(np.sum(found))


def calls():
    """Microseconds of a product with 1,000 rows, of 7 times 100,000 products the fastest: with a vector given, a new one, and by SciPy."""
    import spmv

    A = sparse.diags([-1.0, 2.5, -1.0], [-1, 0, 1], (1000, 1000), format="csr")
    names = {"M": spmv.matrix(A, threads=1), "A": A, "x": np.ones(1000), "y": np.ones(1000)}
    print(json.dumps([10 * min(timeit.repeat(text, number=100000, repeat=7, globals=names)) for text in ("M.mul(x, y)", "M @ x", "A @ x")]))


def timed_calls(run):
    """A line with these and with those of C."""
    given, new, theirs = json.loads(subprocess.run([*run, sys.executable, __file__, "--child", "calls", "-"], check=True,
                                                   stdout=subprocess.PIPE, text=True).stdout)
    line = f"A call with 1,000 rows: A.mul(x, y) {given:.2f} us, A @ x {new:.2f}, SciPy's A @ x {theirs:.2f}"
    build = pathlib.Path(__file__).resolve().parent.parent / "build"
    if (build / "libspmv.so").exists():
        subprocess.run(["cc", "-O2", f"-I{build.parent}", f"{build.parent}/bench/call.c", f"-L{build}", "-lspmv", f"-Wl,-rpath,{build}",
                        "-o", f"{build}/call"], check=True)
        line += "; from C " + subprocess.run([*run, f"{build}/call"], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    return line


def seconds_there(call, wait, least=0.05, turns=9):
    """Of one of many calls in a row that are enqueued on a GPU, until the last is done."""
    def many():
        for _ in range(count):
            call()
        wait()

    count = 1
    many()
    count = max(1, int(least / turns / seconds(many, 0)))
    return seconds(many, 0, turns) / count


def on_gpu(names):
    """CuPy and spmv on one GPU: a line of JSON for each matrix, or why there is none."""
    try:
        import cupy
        from cupyx.scipy import sparse as there

        device = cupy.cuda.Device()
        print(json.dumps(f"CuPy {cupy.__version__} on {cupy.cuda.runtime.getDeviceProperties(device.id)['name'].decode()}"))
    except Exception as error:  # without a GPU that of its driver
        print(json.dumps(f"no CuPy: {error}"))
        return
    import spmv

    for name in names:
        A = sparse.load_npz(name)
        theirs, x = there.csr_matrix(A), cupy.sin(cupy.arange(A.shape[1]))
        device.synchronize()
        prepared = math.inf
        for _ in range(3):
            begin = time.perf_counter()
            ours = spmv.matrix(theirs, device=f"cuda:{device.id}")
            prepared = min(prepared, time.perf_counter() - begin)
        wrong = float(cupy.max(cupy.abs(ours @ x - theirs @ x))) / max(1, np.max(np.abs(A) @ np.ones(A.shape[1]), initial=0))
        if wrong > 1e-12:
            sys.exit(f"on the GPU: {name}: the product is wrong by {wrong}")
        took = [seconds_there(lambda: B @ x, device.synchronize) for B in (theirs, ours)]
        print(json.dumps([pathlib.Path(name).stem, *took, prepared, ours.plan]), flush=True)


def table_there(run, files):
    """The table of one GPU, beside CuPy."""
    said = subprocess.run([*run, sys.executable, __file__, "--child", "gpu", *files], check=True, stdout=subprocess.PIPE, text=True).stdout
    first, *lines = map(json.loads, said.splitlines())
    print(f"\nOn a GPU: {first}")
    if lines:
        print(f"{'matrix':20} {'cupy, us':>10} {'spmv, us':>10} {'cupy/spmv':>11} {'prepared, ms':>13} {'pays after':>11}  plan")
    for name, theirs, ours, prepared, plan in lines:
        pays = prepared / (theirs - ours) if theirs > ours else math.inf
        print(f"{name:20} {1e6 * theirs:10.1f} {1e6 * ours:10.1f} {theirs / ours:11.2f} {1e3 * prepared:13.2f} {pays:11.0f}  {plan}"
              .replace("inf", "never"))
    if lines:
        print(f"{'geometric mean':20}" + 22 * " " + f" {mean([line[1] / line[2] for line in lines]):11.2f}")


def measure(library, names):
    """One library in this process: a line of JSON for each matrix, and for the eigenvalues."""
    for name in names:
        A = sparse.load_npz(name)
        x = np.sin(np.arange(A.shape[1]))
        prepared = math.inf
        for _ in range(3):
            begin = time.perf_counter()
            product = PREPARE[library](A)
            prepared = min(prepared, time.perf_counter() - begin)
        call = product.matvec if library == "spmv" else product
        wrong = np.max(np.abs(call(x) - A @ x), initial=0) / max(1, np.max(np.abs(A) @ np.abs(x), initial=0))
        if wrong > 1e-12:
            sys.exit(f"{library}: {name}: the product is wrong by {wrong}")
        print(json.dumps([pathlib.Path(name).stem, seconds(lambda: call(x)), prepared, getattr(product, "plan", "")]), flush=True)
    took, total = eigenvalues(library)
    print(json.dumps(["eigsh", took, total, ""]), flush=True)


def runs(options, names, libraries):
    """(threads, library, matrix) -> the fastest [seconds, of preparation, plan]."""
    found = {}
    for _ in range(options.rounds):
        for threads in (1, 2):
            for library in libraries:
                env = {**os.environ, "OMP_NUM_THREADS": str(threads), "MKL_NUM_THREADS": str(threads),
                       "OPENBLAS_NUM_THREADS": "1"}  # whose threads would spin beside them in eigsh
                command = [*shlex.split(options.run), sys.executable, __file__, "--child", library, *names]
                said = subprocess.run(command, env=env, check=True, stdout=subprocess.PIPE, text=True).stdout
                for line in said.splitlines():
                    name, took, prepared, plan = json.loads(line)
                    old = found.get((threads, library, name), [math.inf, math.inf, plan])
                    best = plan if took < old[0] else old[2]
                    found[threads, library, name] = [min(took, old[0]), min(prepared, old[1]), best]
    return found


def mean(numbers):
    return math.exp(sum(map(math.log, numbers)) / len(numbers))


def table(found, names, libraries, threads):
    print(f"\n{'matrix':20} {'threads':>7}" + "".join(f" {library + ', us':>10}" for library in libraries) +
          "".join(f" {library + '/spmv':>11}" for library in libraries[:-1]) + f" {'prepared, ms':>13} {'pays after':>11}  plan")
    ratios, pays = {library: [] for library in libraries[:-1]}, []
    for name in names:
        took = {library: found[threads, library, name][0] for library in libraries}
        _, prepared, plan = found[threads, "spmv", name]
        gain = took["scipy"] - took["spmv"]
        pays.append(prepared / gain if gain > 0 else math.inf)
        for library in ratios:
            ratios[library].append(took[library] / took["spmv"])
        print(f"{name:20} {threads:7}" + "".join(f" {1e6 * took[library]:10.1f}" for library in libraries) +
              "".join(f" {took[library] / took['spmv']:11.2f}" for library in ratios) +
              f" {1e3 * prepared:13.2f} {pays[-1]:11.0f}  {plan}".replace("inf", "never"))
    print(f"{'geometric mean':20} {threads:7}" + 11 * len(libraries) * " " + "".join(f" {mean(r):11.2f}" for r in ratios.values()) +
          f" {'median':>13} {sorted(pays)[len(pays) // 2]:11.0f}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--run", default="")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--child")
    parser.add_argument("files", nargs="+")
    options = parser.parse_args()
    if options.child in ("calls", "gpu"):
        calls() if options.child == "calls" else on_gpu(options.files)
        return
    if options.child:
        measure(options.child, options.files)
        return
    libraries, versions = ["scipy"], [f"SciPy {scipy.__version__}", f"NumPy {np.__version__}"]
    try:
        import sparse_dot_mkl

        libraries.append("mkl")
        versions.append(f"sparse_dot_mkl {sparse_dot_mkl.__version__}, {sparse_dot_mkl.get_version_string().split('-')[0]}")
    except ImportError as error:
        print(f"without sparse_dot_mkl: {error}", file=sys.stderr)
    libraries.append("spmv")
    with tempfile.TemporaryDirectory() as folder:
        names = []
        for file in options.files:
            names.append(pathlib.Path(file).name.removesuffix(".gz").removesuffix(".mtx"))
            sparse.save_npz(f"{folder}/{names[-1]}.npz", sparse.csr_matrix(scipy.io.mmread(file), dtype=np.float64), compressed=False)
        files = [f"{folder}/{name}.npz" for name in names]
        found = runs(options, files, libraries)
        report(options, names, libraries, versions, found)
        table_there(shlex.split(options.run), files)


def report(options, names, libraries, versions, found):
    """All that was measured on the host."""
    processor = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), platform.processor())
    settings = (f'--run "{options.run}" ' if options.run else "") + f"--rounds {options.rounds}"
    print(f"Machine: {processor}, {os.cpu_count()} cores; {datetime.date.today()}\n"
          f"Python {platform.python_version()}, {', '.join(versions)}\n"
          f"Command: python3 bench/python.py {settings} FILE...\n"
          f"A @ x in f64 by the wall clock, with a new y; of {options.rounds} rounds the fastest counts. SciPy has one thread.\n"
          f"Pays after: so many products make up for the preparation, compared with SciPy.")
    for threads in (1, 2):
        table(found, names, libraries, threads)
    print(f"\nThe {EIGENVALUES} largest eigenvalues of a grid of {GRID}^3 points by eigsh, preparation included:")
    for threads in (1, 2):
        took = {library: found[threads, library, "eigsh"] for library in libraries}
        if max(abs(t[1] - took["scipy"][1]) for t in took.values()) > 1e-3:
            sys.exit("eigsh: the sums of the eigenvalues differ")
        print(f"{threads} thread{'s' if threads > 1 else ' '}  " + ", ".join(f"{library} {t[0]:.3f} s" for library, t in took.items()) +
              "; " + ", ".join(f"{library}/spmv {took[library][0] / took['spmv'][0]:.2f}" for library in libraries[:-1]))
    print("\n" + timed_calls(shlex.split(options.run)))


if __name__ == "__main__":
    main()
