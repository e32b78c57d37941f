"""Wide sparse tables: time and memory of the closed form and of `check_ucar`, beside `Ridge` on the same source rows.

python -m benchmarks.wide [--rows N] [--columns N] [--repeats N] [--tables NAME ...] [--csv FILE] [--toy]

Each measurement has a process of its own, which reads its tables from a file: processor seconds, those of `Ridge` of
scikit-learn on the same source in turn with them, and peak memory above that with both tables loaded. Tables have
`unrelated` columns, or `topics`, of which every row has one of twenty; `flags` are topics without values and with
labels that are mostly noise, where `Ridge` needs few steps. `Ridge` chooses its solver by itself: conjugate gradients.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.linear_model import Ridge

from benchmarks.scaling import ROOT, peak_memory
from benchmarks.toy import read_arguments
from dams import ClosedFormRegressor, apply_missingness, check_ucar

TABLES = {"unrelated": 1, "topics": 20, "flags": 20}
METHODS = ("closed form", "check_ucar")
# Share of nonzeros before loss, of which a quarter is lost.
DENSITY = 0.02


def make_table(n: int, d: int, n_topics: int, density: float, rng: np.random.Generator) -> sparse.csr_array:
    """Rows of topics: half of a column's share is common, half that of the row's topic."""
    common = rng.gamma(0.7, 1, d) + 0.2
    own = common * rng.gamma(0.3, 1, (n_topics, d))
    shares = density * d / 2 * (common / common.sum() + own / own.sum(axis=1, keepdims=True))
    topic = rng.integers(0, n_topics, n)
    rows, columns = [], []
    for k in range(n_topics):
        members = np.flatnonzero(topic == k)
        for j, share in enumerate(np.minimum(shares[k], 0.8)):
            rows.append(rng.choice(members, rng.binomial(len(members), share), replace=False))
            columns.append(np.full(len(rows[-1]), j))
    at = np.concatenate(rows), np.concatenate(columns)
    values = rng.lognormal(size=len(at[0]))
    # Every third column is an indicator.
    values[at[1] % 3 == 0] = 1
    return sparse.csr_array((values, at), shape=(n, d))


def save_tables(folder: Path, name: str, n: int, d: int) -> None:
    """Write labelled source rows and target rows, with loss of their own, to a folder."""
    rng = np.random.default_rng(2023)
    X = make_table(2 * n, d, TABLES[name], DENSITY, rng)
    noise = 1.0
    if name == "flags":
        X.data[:] = 1
        noise = 10.0
    y = X[:n] @ rng.normal(size=d) + noise * rng.normal(size=n)
    for part, rows in (("source", X[:n]), ("target", X[n:])):
        lossy = apply_missingness(rows, rng.uniform(0, 0.5, d), random_state=rng)
        sparse.save_npz(folder / f"{part}.npz", lossy, compressed=False)
    np.save(folder / "y.npy", y)


def measure(folder: Path, what: str, repeats: int) -> tuple[float, float, float]:
    """Median processor seconds, those of Ridge, and MB above the tables; of `check_ucar` once."""
    source, target = (sparse.load_npz(folder / f"{part}.npz") for part in ("source", "target"))
    y = np.load(folder / "y.npy")
    runs = {
        "closed form": lambda: ClosedFormRegressor().fit(source, y, X_target=target),
        "check_ucar": lambda: check_ucar(source, target, random_state=0),
        "ridge": lambda: Ridge().fit(source, y),
    }
    runs["ridge"]()
    before, seconds = peak_memory(), []
    for _ in range(repeats if what == "closed form" else 1):
        for run in (runs[what], runs["ridge"]):
            start = time.process_time()
            run()
            seconds.append(time.process_time() - start)
    return float(np.median(seconds[::2])), float(np.median(seconds[1::2])), peak_memory() - before


def measure_apart(folder: Path, methods: Sequence[str], repeats: int) -> Iterator[tuple[str, float, float, float]]:
    """`measure` of methods, one after the other, in a process of their own."""
    command = [sys.executable, "-m", "benchmarks.wide", "--one", str(folder), str(repeats), *methods]
    answer = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for what, line in zip(methods, answer.splitlines(), strict=True):
        seconds, ridge, memory = map(float, line.split())
        yield what, seconds, ridge, memory


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.wide", description=__doc__)
    parser.add_argument("--rows", type=int, default=200_000, help="rows of each domain")
    parser.add_argument("--columns", type=int, default=2_000)
    parser.add_argument("--repeats", type=int, default=5, help="of the closed form, in turn with `Ridge`")
    parser.add_argument("--tables", nargs="+", choices=TABLES, default=list(TABLES), metavar="NAME")
    parser.add_argument("--one", nargs="+", help=argparse.SUPPRESS)
    parser.set_defaults(processes=[[what] for what in METHODS])
    # More columns than are taken for narrow; both in one process, as it takes longer to start than either.
    toy = {"rows": 8_000, "columns": 720, "repeats": 1, "tables": ["flags"], "processes": [METHODS]}
    arguments = read_arguments(parser, argv, csv="write the table", **toy)
    if arguments.one:
        folder, repeats, *methods = arguments.one
        for what in methods:
            print(*measure(Path(folder), what, int(repeats)))
        return
    table = []
    for name in arguments.tables:
        with TemporaryDirectory() as folder:
            save_tables(Path(folder), name, arguments.rows, arguments.columns)
            for methods in arguments.processes:
                for what, seconds, ridge, memory in measure_apart(Path(folder), methods, arguments.repeats):
                    row = {"what": what, "data": name, "rows": arguments.rows, "columns": arguments.columns}
                    row |= {"seconds": seconds, "ridge_seconds": ridge, "ratio": seconds / ridge, "memory_mb": memory}
                    table.append(row)
                    print(pd.DataFrame([row]).round(2).to_string(index=False), flush=True)
    if arguments.csv:
        pd.DataFrame(table).to_csv(arguments.csv, index=False, float_format="%.4g")


if __name__ == "__main__":
    main()
