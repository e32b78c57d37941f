"""Run every benchmark of this folder one after another: `make bench`.

Each module prints its table and writes it to benchmarks/results/<module>.csv; then the table of ratios in
benchmarks/README.md is renewed. UCI files come from DAMS_DATA_DIR or are downloaded.

python -m benchmarks [--toy]
"""

from __future__ import annotations

import argparse
import pkgutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import benchmarks
from benchmarks import ratios

# Not measurements themselves.
SHARED = {"__main__", "cells", "ratios", "toy"}
FOLDER = Path(__file__).parent


def measurements() -> list[str]:
    """Return the names of all modules that measure something."""
    return [module.name for module in pkgutil.iter_modules(benchmarks.__path__) if module.name not in SHARED]


def run(results: Path, *options: str) -> int:
    """Run each with its CSV in a folder; return how many failed."""
    failed = []
    for name in measurements():
        print(f"\n== {name}", flush=True)
        command = [sys.executable, "-m", f"benchmarks.{name}", "--csv", str(results / f"{name}.csv"), *options]
        if subprocess.run(command, cwd=FOLDER.parent).returncode:
            failed.append(name)
    if failed:
        print(f"\nFailed: {', '.join(failed)}", file=sys.stderr)
    return len(failed)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Run every benchmark.")
    parser.add_argument("--toy", action="store_true", help="tiny sizes, to see whether all run; no result is kept")
    if parser.parse_args(argv).toy:
        with TemporaryDirectory() as folder:
            return run(Path(folder), "--toy")
    results = FOLDER / "results"
    results.mkdir(exist_ok=True)
    failed = run(results)
    ratios.write()
    return failed


if __name__ == "__main__":
    sys.exit(main())
