"""Growth with rows of the closed form, `check_ucar` and the two-way filter, beside scikit-learn fits of the same rows.

python -m benchmarks.at_scale [--tables ROWSxCOLUMNS ...] [--repeats N] [--csv FILE] [--toy]

Tables are those of `benchmarks.two_way_rows`. Each measurement has a process of its own: median processor seconds of
the method and, in turn with it, of a scikit-learn estimator's fit to the labelled source rows, and peak memory above
that with both tables loaded, as a multiple of these too. The closed form stands beside `LinearRegression`; `check_ucar`
and the two-way filter, both of which look at all columns' dependence, beside `HistGradientBoostingRegressor`. A figure
of the tables of most sizes is drawn beside the results. Wide sparse tables are in `benchmarks.wide`.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression

from benchmarks.scaling import ROOT, peak_memory
from benchmarks.toy import read_arguments
from benchmarks.two_way_rows import simulate
from dams import ClosedFormRegressor, TwoWayFilter, apply_missingness, check_ucar
from dams.rates import FreeRates

Array = np.ndarray
Fit = Callable[[Array, Array, Array], object]
REFERENCES: dict[str, Fit] = {
    "LinearRegression": lambda source, y, _: LinearRegression().fit(source, y),
    "HistGradientBoostingRegressor": lambda source, y, _: HistGradientBoostingRegressor(random_state=0).fit(source, y),
}
METHODS: dict[str, tuple[Fit, str]] = {
    "closed form": (
        lambda source, y, target: ClosedFormRegressor().fit(source, y, X_target=target),
        "LinearRegression",
    ),
    "check_ucar": (
        lambda source, y, target: check_ucar(source, target, random_state=0),
        "HistGradientBoostingRegressor",
    ),
    "two-way filter": (
        lambda source, y, target: TwoWayFilter(random_state=0).fit_resample(source, y, X_target=target),
        "HistGradientBoostingRegressor",
    ),
}
# The first fit loads libraries.
WARM_UP = 500


def save_tables(folder: Path, n: int, d: int) -> None:
    """Write source and target rows, and the labels of the source."""
    rng = np.random.default_rng(2023)
    X, y = simulate(2 * n, d, rng)
    for part, rows, rates in zip(("source", "target"), (X[:n], X[n:]), FreeRates().sample(d, rng), strict=True):
        np.save(folder / f"{part}.npy", apply_missingness(rows, rates, random_state=rng))
    np.save(folder / "y.npy", y[:n])


def run_one(what: str, folder: Path, repeats: int) -> tuple[float, float, float]:
    """Return median processor seconds of the method and of its reference, and MB above the tables."""
    source, y, target = (np.load(folder / f"{part}.npy") for part in ("source", "y", "target"))
    fit, name = METHODS[what]
    for run in (REFERENCES[name], fit):
        run(source[:WARM_UP], y[:WARM_UP], target[:WARM_UP])
    before, seconds = peak_memory(), []
    for _ in range(repeats):
        for run in (fit, REFERENCES[name]):
            start = time.process_time()
            run(source, y, target)
            seconds.append(time.process_time() - start)
            # The memory of the method alone, before its reference has run.
            if len(seconds) == 1:
                memory = peak_memory() - before
    return float(np.median(seconds[::2])), float(np.median(seconds[1::2])), memory


def measure(methods: Sequence[str], folder: Path, n: int, d: int, repeats: int) -> Iterator[dict[str, object]]:
    """`run_one` of methods, one after the other, in a process of their own."""
    command = [sys.executable, "-m", "benchmarks.at_scale", "--one", str(folder), str(repeats), *methods]
    answer = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout
    for what, line in zip(methods, answer.splitlines(), strict=True):
        seconds, reference, memory = map(float, line.split())
        row = {"what": what, "rows": n, "columns": d, "seconds": seconds, "against": METHODS[what][1]}
        tables_mb = 2 * 8 * n * d / 1e6
        memory *= 2**20 / 1e6
        row |= {"reference_seconds": reference, "ratio": seconds / reference}
        yield row | {"memory_mb": memory, "memory_in_tables": memory / tables_mb}


def draw(table: pd.DataFrame, file: Path) -> None:
    """Draw seconds and memory against rows, on doubled scales."""
    from dams.report.figures import legend_below, line_of, new_figure, save_figure

    table = table[table["columns"] == table["columns"].mode()[0]]
    looks = dict(zip(METHODS, ("closed_form", "nonparametric", "two_way"), strict=True))
    figure, axes = new_figure(1, 2, width=7, height=3)
    for panel, measured, title in zip(
        axes[0], ("seconds", "memory_mb"), ("processor seconds", "memory above the tables, MB"), strict=True
    ):
        for what, part in table.groupby("what", sort=False):
            panel.plot(part["rows"], part[measured].clip(lower=1e-3), label=what, **line_of(looks[what]).options())
        if measured == "seconds":
            for name, part in table.drop_duplicates(["against", "rows"]).groupby("against", sort=False):
                style = ":" if name == "LinearRegression" else "--"
                panel.plot(part["rows"], part["reference_seconds"], color="0.5", linestyle=style, label=name)
        panel.set_xscale("log")
        panel.set_yscale("log")
        panel.set_xlabel("rows of each domain")
        panel.set_ylabel(title)
    legend_below(figure, axes[0, 0], columns=3)
    save_figure(figure, [file])


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.at_scale", description=__doc__)
    parser.add_argument("--tables", nargs="+", default=["10000x40", "30000x40", "100000x40", "60000x80"])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--one", nargs="+", help=argparse.SUPPRESS)
    parser.set_defaults(processes=[[what] for what in METHODS])
    # To start a process takes longer than to fit so few rows.
    toy = {"tables": ["600x5"], "repeats": 1, "processes": [list(METHODS)]}
    arguments = read_arguments(parser, argv, csv="write the table, and the figure beside it", **toy)
    if arguments.one:
        folder, repeats, *methods = arguments.one
        for what in methods:
            print(*run_one(what, Path(folder), int(repeats)))
        return
    rows = []
    for size in arguments.tables:
        n, d = map(int, size.split("x"))
        with TemporaryDirectory() as folder:
            save_tables(Path(folder), n, d)
            for methods in arguments.processes:
                for row in measure(methods, Path(folder), n, d, arguments.repeats):
                    rows.append(row)
                    print(pd.DataFrame([row]).round(2).to_string(index=False, header=len(rows) == 1), flush=True)
    table = pd.DataFrame(rows)
    if arguments.csv:
        table.to_csv(arguments.csv, index=False, float_format="%.4g")
        draw(table, Path(arguments.csv).with_suffix(".svg"))


if __name__ == "__main__":
    main()
