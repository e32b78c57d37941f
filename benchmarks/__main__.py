"""Measure speed, `make bench`; or run the studies of quality, many hours.

Every benchmark prints its table and writes it as a CSV file: those of speed to benchmarks/results, from which the
tables in the pages are then renewed, and those of quality to a folder of choice, with their default sizes. UCI files
come from DAMS_DATA_DIR or are downloaded.

python -m benchmarks [--studies FOLDER] [--toy]
"""

from __future__ import annotations

import argparse
import os
import pkgutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import benchmarks
from benchmarks import ratios

# Not measurements themselves.
SHARED = {"__main__", "cells", "ratios", "toy"}
FOLDER = Path(__file__).parent
Runs = Mapping[str, tuple[str, ...]]  # by name of the table: a module and its options
# Some twenty minutes on one core. Two measure the time of what a study compares, on few cells.
SPEED: Runs = {
    "linear_sweep": ("linear_sweep",),
    "missforest_time": ("missforest", "--time"),
    "mlp": ("mlp",),
    "xgboost": ("xgboost",),
    "two_way_cost": ("two_way", "--cost", "--draws", "3"),
    "end_to_end": ("end_to_end",),
    "scaling": ("scaling",),
    "at_scale": ("at_scale",),
    "wide": ("wide",),
    "compare": ("compare",),
}


def measurements() -> list[str]:
    """Return the names of all modules that measure something."""
    return [module.name for module in pkgutil.iter_modules(benchmarks.__path__) if module.name not in SHARED]


def studies() -> Runs:
    """Return the studies of quality: every module that is not there for speed alone."""
    return {name: (name,) for name in measurements() if name not in SPEED}


def run(runs: Runs, results: Path, *options: str) -> int:
    """Run each on one core, with its table in a folder; return how many failed."""
    results.mkdir(parents=True, exist_ok=True)
    failed = []
    for name, (module, *own) in runs.items():
        print(f"\n== {name}", flush=True)
        file = str((results / f"{name}.csv").resolve())
        command = [sys.executable, "-m", f"benchmarks.{module}", *own, "--csv", file, *options]
        if subprocess.run(command, cwd=FOLDER.parent, env=os.environ | {"OMP_NUM_THREADS": "1"}).returncode:
            failed.append(name)
    if failed:
        print(f"\nFailed: {', '.join(failed)}", file=sys.stderr)
    return len(failed)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure speed, or run the studies.")
    parser.add_argument("--studies", metavar="FOLDER", type=Path, help="run the studies of quality, tables in a folder")
    parser.add_argument("--toy", action="store_true", help="tiny sizes, to see whether all run; nothing is renewed")
    arguments = parser.parse_args(argv)
    options = ["--toy"] if arguments.toy else []
    if arguments.studies:
        return run(studies(), arguments.studies, *options)
    if arguments.toy:
        with TemporaryDirectory() as folder:
            return run(SPEED, Path(folder), *options)
    failed = run(SPEED, FOLDER / "results")
    ratios.write()
    return failed


if __name__ == "__main__":
    sys.exit(main())
