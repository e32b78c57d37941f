"""How time and memory grow with rows, columns, β, draws and cores.

python -m benchmarks.scaling [--groups NAME ...] [--csv FILE] [--toy]

Blocks of Bank, free regime, the jobs of the experiments, each in a process of its own: processor seconds of the block,
and peak memory of the process with its libraries. Cores: the same two blocks one after the other and side by side, by
the clock. A figure is drawn beside the table.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd

from benchmarks.toy import load_table, read_arguments
from dams.datasets.arrays import load_covariates, save_covariates
from dams.experiments.design import Block, CellKey, Fit
from dams.experiments.run import run_block
from dams.rates import FreeRates

ROOT = Path(__file__).parents[1]
METHODS = ("oracle", "source", "nonparametric")
GROUPS = {
    "linear": tuple(("linear", method) for method in (*METHODS, "closed_form")),
    "xgboost": tuple(("xgboost", method) for method in METHODS),
    "mlp": tuple(("mlp", method) for method in METHODS),
    "imputed": (("linear", "imputed"),),
    "two_way": (("linear", "two_way"),),
}


@dataclass(frozen=True)
class Plan:
    """The data set and the sizes that are measured."""

    dataset: str
    base: dict[str, int]  # where nothing else is said
    steps: dict[str, tuple[int, ...]]  # of one size at a time
    two_cores: dict[str, int]  # rows of the blocks that are run side by side
    draws: dict[str, int]  # of the blocks that are run side by side, by group of fits


FULL = Plan(
    "bank",
    # Small, so that the MLP takes seconds.
    {"rows": 10_000, "columns": 39, "betas": 2, "draws": 1},
    {
        "rows": (2_500, 10_000, 40_000),
        "columns": (5, 10, 20, 39),
        "betas": (1, 2, 4, 8),
        "draws": (1, 2, 4),
    },
    {"rows": 20_000},
    # Each block takes several times what Python needs to start.
    {"linear": 200, "xgboost": 5, "mlp": 1, "imputed": 10, "two_way": 1},
)
TOY = Plan(
    "diabetes", {"rows": 400, "columns": 5, "betas": 1, "draws": 1}, {"rows": (200, 400)}, {}, dict.fromkeys(GROUPS, 1)
)
TITLES = {"rows": "rows", "columns": "columns", "betas": "label vectors β", "draws": "rate draws"}


def run_one(data: Path, group: str, rows: int, columns: int, betas: int, draws: int) -> tuple[float, float]:
    """Run a block here; return its processor seconds and this process' peak memory in MB."""
    table = load_covariates(data).sample(rows, random_state=0)
    # From rare to frequent dummies alike: every part of the columns looks like the whole.
    table = table.iloc[:, np.linspace(0, table.shape[1] - 1, columns).round().astype(int)]
    cells = tuple(CellKey(data.stem, "free", None, FreeRates(), draw) for draw in range(draws))
    fits = tuple(Fit(method, model, draws, betas) for model, method in GROUPS[group])
    block = Block("benchmark", data.stem, group, 0, cells, fits, betas, ("random_linear",), 0, 2023)
    run_block(replace(block, cells=cells[:1]), table.head(500))  # the first fit loads libraries
    start = time.process_time()
    run_block(block, table)
    return time.process_time() - start, peak_memory()


def peak_memory() -> float:
    """Peak memory of this process in MB."""
    status = Path("/proc/self/status")
    if status.exists():
        # The usual figure of a started process begins at that of the process which started it; this one does not.
        (line,) = (line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def start(data: Path, group: str, sizes: dict[str, int]) -> subprocess.Popen[str]:
    """Start `run_one` in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.scaling", "--one", str(data), group, *map(str, sizes.values())]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)


def finish(child: subprocess.Popen[str]) -> tuple[float, float]:
    answer, _ = child.communicate()
    if child.returncode:
        raise RuntimeError(f"{' '.join(map(str, child.args))} failed")
    seconds, memory = answer.split()
    return float(seconds), float(memory)


def grow(data: Path, group: str, plan: Plan) -> list[dict[str, object]]:
    """Vary one size at a time; the base, which every size passes through, is measured once."""
    rows = []
    base = finish(start(data, group, plan.base))
    for what, values in plan.steps.items():
        for value in values:
            sizes = plan.base | {what: value}
            seconds, memory = base if sizes == plan.base else finish(start(data, group, sizes))
            rows.append({"group": group, "varied": what, "value": value, "seconds": seconds, "memory_mb": memory})
            print(f"{group} {what} {value}: {seconds:.2f} s, {memory:.0f} MB", flush=True)
    return rows


def two_cores(data: Path, group: str, plan: Plan) -> list[dict[str, object]]:
    """Seconds by the clock of two equal blocks, one after the other and side by side."""
    sizes = plan.base | plan.two_cores | {"draws": plan.draws[group]}
    begun = time.perf_counter()
    for _ in range(2):
        finish(start(data, group, sizes))
    one = time.perf_counter() - begun
    begun = time.perf_counter()
    for child in [start(data, group, sizes) for _ in range(2)]:
        finish(child)
    two = time.perf_counter() - begun
    print(f"{group}: two blocks {one:.1f} s on one core, {two:.1f} s on two", flush=True)
    return [
        {"group": group, "varied": "cores", "value": cores, "seconds": seconds}
        for cores, seconds in ((1, one), (2, two))
    ]


def draw(table: pd.DataFrame, steps: dict[str, tuple[int, ...]], stem: Path) -> None:
    """One panel per size, seconds against it on doubled scales, one line per group of fits."""
    from dams.report.figures import legend_below, line_of, new_figure, save_figure

    looks = dict(zip(GROUPS, ("closed_form", "source", "nonparametric", "imputed", "two_way"), strict=True))
    figure, axes = new_figure(2, len(steps), width=9, height=4.6, sharex="col", sharey="row")
    for column, what in enumerate(steps):
        for row, (measure, title) in enumerate((("seconds", "processor seconds"), ("memory_mb", "memory, MB"))):
            panel = axes[row, column]
            for group in GROUPS:
                part = table[(table["group"] == group) & (table["varied"] == what)]
                panel.plot(
                    part["value"], part[measure].clip(lower=1e-3), label=group, **line_of(looks[group]).options()
                )
            panel.set_xscale("log", base=2)
            panel.set_xticks(
                steps[what],
                [f"{value / 1000:g}k" if what == "rows" else str(value) for value in steps[what]],
                minor=False,
            )
            if row == 0:
                panel.set_yscale("log")
            else:
                panel.set_xlabel(TITLES[what])
                panel.set_ylim(bottom=0)
            if column == 0:
                panel.set_ylabel(title)
    legend_below(figure, axes[0, 0], columns=len(GROUPS))
    save_figure(figure, stem)


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scaling", description=__doc__)
    parser.add_argument("--groups", nargs="+", choices=GROUPS, default=list(GROUPS), metavar="GROUP")
    parser.add_argument("--one", nargs=6, help=argparse.SUPPRESS)
    parser.set_defaults(plan=FULL)
    toy = {"groups": ["linear"], "plan": TOY}
    arguments = read_arguments(parser, argv, csv="write the table, and the figure beside it", **toy)
    plan = arguments.plan
    if arguments.one:
        data, group, *sizes = arguments.one
        print(*run_one(Path(data), group, *map(int, sizes)))
        return
    with TemporaryDirectory() as folder:
        file = Path(folder, f"{plan.dataset}.npz")
        save_covariates(load_table(plan.dataset), file)
        rows = [row for group in arguments.groups for run in (grow, two_cores) for row in run(file, group, plan)]
    table = pd.DataFrame(rows)
    if arguments.csv:
        table.to_csv(arguments.csv, index=False, float_format="%.4g")
        draw(table, plan.steps, Path(arguments.csv).with_suffix(""))
    print(table.round(3).to_string(index=False))


if __name__ == "__main__":
    main()
