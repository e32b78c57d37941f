"""What is lost where `check_ucar` chooses pairs of features, as in wide tables: all pairs against four partners.

python -m benchmarks.screened_pairs [--simulations N] [--csv FILE] [--toy]

Share of rejections at level 5 % in 1,000 rows of 40 columns: values lost at random (`UCAR`), half of all other values
lost where one feature is present (`one cause`), or three quarters of a single one (`one feature`).
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from unittest.mock import patch

import numpy as np
import pandas as pd
from scipy import sparse

from benchmarks.toy import read_arguments
from benchmarks.wide import make_table
from dams import apply_missingness, check_ucar

# Sizes of a table, and partners of a feature where pairs are chosen.
ROWS, COLUMNS, PARTNERS = 1000, 40, 4
MISSINGNESS = ("UCAR", "one cause", "one feature")


def simulate(missingness: str, rng: np.random.Generator) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Source and target rows whose loss is at random, or depends on a feature in the target."""
    X = make_table(2 * ROWS, COLUMNS, 5, 0.3, rng).toarray()
    source = apply_missingness(X[:ROWS], rng.uniform(0, 0.5, COLUMNS), random_state=rng)
    target = apply_missingness(X[ROWS:], rng.uniform(0, 0.5, COLUMNS), random_state=rng)
    cause, lost = rng.choice(COLUMNS, 2, replace=False)
    there = X[ROWS:, cause] != 0
    if missingness == "one cause":
        kept = (rng.random(target.shape) < 0.5) | ~there[:, None]
        kept[:, cause] = True
        target = target * kept
    if missingness == "one feature":
        target[:, lost] *= (rng.random(ROWS) < 0.25) | ~there
    return sparse.csr_array(source), sparse.csr_array(target)


def alarms(missingness: str, n_runs: int, partners: int | None) -> float:
    """Share of rejections with all pairs (None), or with so many partners of each feature."""
    found = []
    for run in range(n_runs):
        rng = np.random.default_rng([2023, MISSINGNESS.index(missingness), run])
        tables = simulate(missingness, rng)
        if partners is None:
            found.append(check_ucar(*tables, random_state=rng).rejected)
            continue
        with patch("dams._ucar_wide.WIDE", 0), patch("dams._ucar_wide.PARTNERS", partners):
            found.append(check_ucar(*tables, random_state=rng).rejected)
    return float(np.mean(found))


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.screened_pairs", description=__doc__)
    parser.add_argument("--simulations", type=int, default=400)
    arguments = read_arguments(parser, argv, csv="write the table", simulations=1)
    n, table = arguments.simulations, []
    for missingness in MISSINGNESS:
        for name, partners in (("all pairs", None), ("screened pairs", PARTNERS)):
            row = {"what": name, "data": missingness, "rows": ROWS, "columns": COLUMNS, "simulations": n}
            table.append(row | {"alarms": alarms(missingness, n, partners)})
            print(pd.DataFrame(table[-1:]).round(3).to_string(index=False), flush=True)
    if arguments.csv:
        pd.DataFrame(table).to_csv(arguments.csv, index=False, float_format="%.4g")


if __name__ == "__main__":
    main()
