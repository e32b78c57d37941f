"""How long `dams compare` takes for two large CSV files, and how much memory: reading, and the whole command.

python -m benchmarks.compare [--rows N] [--columns N] [--csv FILE] [--toy]

Each way in a process of its own, by the clock and by processor seconds. Peak memory is what is added to the process
with its libraries, in megabytes and as a multiple of the two tables as float64.

- pandas: `pandas.read_csv`, columns of whatever length and type
- numbers: what `dams compare` reads with
- fields: every field as text and then as a number, the way that numbers leaves to files that pandas would misread
- compare: the whole command, with the test of `check_ucar`
- compare, words: the same with two columns of words beside the numbers, a label, and rows that belong together
- compare, gzip; compare, parquet: the latter files packed by gzip, and as Parquet files
"""

from __future__ import annotations

import argparse
import gzip
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd

from benchmarks.scaling import peak_memory
from benchmarks.toy import read_arguments
from dams.datasets.csv_files import numbers, read_header, read_text
from dams.datasets.csv_numbers import read_columns
from dams.two_files.comparison import compare_files

ROOT = Path(__file__).parents[1]
FILES = ("source.csv", "target.csv")


def write_files(folder: Path, rows: int, columns: int) -> None:
    """Write a source and a target of dependent columns, each lost at a rate of its own."""
    rng = np.random.default_rng(0)
    names = [f"x{j}" for j in range(columns)]
    for name in FILES:
        X = 2 + rng.normal(size=(rows, columns)) + rng.normal(size=(rows, 1))
        X *= rng.random((rows, columns)) >= rng.uniform(0, 0.5, columns)
        table = pd.DataFrame(X, columns=names)
        table.to_csv(folder / name, index=False, float_format="%.6g")
        table = table.iloc[:, 2:].assign(
            sex=rng.choice(["female", "male"], rows),
            ward=rng.choice(["east", "north", "south", None], rows),
            id=[f"p{i // 3}" for i in range(rows)],
            y=rng.normal(size=rows),
        )
        table.to_csv(folder / f"words {name}", index=False, float_format="%.6g")
        with gzip.open(folder / f"gzip {name}", "wb") as packed:
            packed.write((folder / f"words {name}").read_bytes())
        table.to_parquet(folder / f"parquet {name}")


def read_fields(path: Path) -> pd.DataFrame:
    text = read_text(path)
    return pd.DataFrame({name: numbers(text[name], path) for name in text.columns})


READERS: dict[str, Callable[[Path], object]] = {
    "pandas": pd.read_csv,
    "numbers": lambda path: read_columns(path, read_header(path)),
    "fields": read_fields,
}


WAYS = (*READERS, "compare", "compare, words", "compare, gzip", "compare, parquet")


def run_one(way: str, folder: Path) -> tuple[float, float, float]:
    """Read or compare both files here; return seconds, processor seconds and megabytes."""
    before, start, busy = peak_memory(), time.perf_counter(), time.process_time()
    if way == "compare":
        compare_files(*(folder / name for name in FILES))
    elif way.startswith("compare, "):
        kind = way.removeprefix("compare, ")
        compare_files(*(folder / f"{kind} {name}" for name in FILES), left_out=["y"], groups="id")
    else:
        # Kept, as both tables are there when they are compared.
        _tables = [READERS[way](folder / name) for name in FILES]
    return time.perf_counter() - start, time.process_time() - busy, peak_memory() - before


def measure(ways: Sequence[str], folder: Path, table_mb: float) -> Iterator[dict[str, object]]:
    """Run ways, one after the other, in a process of their own."""
    command = [sys.executable, "-m", "benchmarks.compare", "--one", str(folder), *ways]
    answer = subprocess.run(command, stdout=subprocess.PIPE, text=True, cwd=ROOT, check=True).stdout
    for way, line in zip(ways, answer.splitlines(), strict=True):
        seconds, busy, memory = map(float, line.split())
        memory *= 2**20 / 1e6  # of a million bytes, as the tables
        kind = way.removeprefix("compare, ") + " " if way.startswith("compare, ") else ""
        file_mb = sum((folder / f"{kind}{name}").stat().st_size for name in FILES) / 1e6
        row = {"way": way, "files_mb": file_mb, "tables_mb": table_mb, "seconds": seconds, "processor_seconds": busy}
        yield row | {"memory_mb": memory, "memory_in_tables": memory / table_mb}


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compare", description=__doc__)
    parser.add_argument("--rows", type=int, default=330_000, help="of each file (default: %(default)s)")
    parser.add_argument("--columns", type=int, default=40, help="(default: %(default)s)")
    parser.add_argument("--one", nargs="+", help=argparse.SUPPRESS)
    parser.set_defaults(processes=[[way] for way in WAYS])
    # To start a process takes longer than to read so few rows.
    toy = {"rows": 500, "columns": 4, "processes": [WAYS]}
    arguments = read_arguments(parser, argv, csv="write the table", **toy)
    if arguments.one:
        folder, *ways = arguments.one
        for way in ways:
            print(*run_one(way, Path(folder)))
        return
    with TemporaryDirectory() as name:
        write_files(Path(name), arguments.rows, arguments.columns)
        table_mb = 2 * 8 * arguments.rows * arguments.columns / 1e6
        table = pd.DataFrame([row for ways in arguments.processes for row in measure(ways, Path(name), table_mb)])
    if arguments.csv:
        table.to_csv(arguments.csv, index=False, float_format="%.4g")
    print(table.round(2).to_string(index=False))


if __name__ == "__main__":
    main()
