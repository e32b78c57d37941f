"""How often `dams compare` finds a shift where there is none, and which verdict it gives where there is one.

python -m benchmarks.compare_verdicts [--pairs N] [--rows N] [--csv FILE] [--toy]

Pairs of files of one law, 12 columns of dependent numbers, four of them flags, each lost at a rate of its own, and two
columns of words: sex, never lost, and ward, lost in a quarter of the rows.

- one law: both files are samples of it
- rates: the target loses two columns less often, by .15, and one more often
- by value: the target loses x11 where x10 is high, at the rate at which it loses it otherwise
- sex: 52 % women in the source, 75 % in the target
- ward: a third of those recorded are in ward a in the source, half in the target
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd

from benchmarks.toy import read_arguments
from dams.two_files.comparison import compare_files
from dams.two_files.verdict import Verdict

D = 12
MECHANISMS = ("one law", "rates", "by value", "sex", "ward")


def draw(rng: np.random.Generator, rates: np.ndarray, rows: int, mechanism: str) -> pd.DataFrame:
    """One file; "one law" for every source."""
    X = 3 + rng.normal(size=(rows, D)) + rng.normal(size=(rows, 1))
    X[:, :4] = X[:, :4] > 3
    high = X[:, 10] > np.quantile(X[:, 10], 0.7)
    if mechanism == "rates":
        rates = rates + np.r_[-0.15, -0.15, 0.15, np.zeros(D - 3)]
    lost = rng.random(X.shape) < rates
    if mechanism == "by value":
        lost[:, 11] = rng.random(rows) < rates[11] * np.where(high, 2, 0.4 / 0.7)
    X[lost] = 0
    female, a = (0.75 if mechanism == "sex" else 0.52), (0.5 if mechanism == "ward" else 1 / 3)
    ward = rng.choice(["a", "b", "c"], rows, p=[a, (1 - a) / 2, (1 - a) / 2]).astype(object)
    ward[rng.random(rows) < 0.25] = None
    table = pd.DataFrame(X, columns=[f"x{j}" for j in range(D)])
    return table.assign(sex=np.where(rng.random(rows) < female, "female", "male"), ward=ward)


def measure(mechanism: str, pairs: int, rows: int) -> dict[str, object]:
    """Count the verdicts."""
    found: Counter[Verdict] = Counter()
    with TemporaryDirectory() as folder:
        files = [Path(folder) / name for name in ("source.csv", "target.csv")]
        for pair in range(pairs):
            rng = np.random.default_rng([MECHANISMS.index(mechanism), pair])
            rates = rng.uniform(0.2, 0.45, D)
            for file, kind in zip(files, ("one law", mechanism), strict=True):
                draw(rng, rates, rows, kind).to_csv(file, index=False)
            found[compare_files(*files, random_state=pair).verdict] += 1
    shares = {verdict.value: found[verdict] / pairs for verdict in Verdict}
    return {"mechanism": mechanism, "pairs": pairs, "rows": rows} | shares


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compare_verdicts", description=__doc__)
    parser.add_argument("--pairs", type=int, default=200, help="of files per mechanism (default: %(default)s)")
    parser.add_argument("--rows", type=int, default=1500, help="of each file (default: %(default)s)")
    arguments = read_arguments(parser, argv, csv="write the table", pairs=2, rows=200)
    table = pd.DataFrame([measure(mechanism, arguments.pairs, arguments.rows) for mechanism in MECHANISMS])
    if arguments.csv:
        table.to_csv(arguments.csv, index=False, float_format="%.4g")
    print(table.round(3).to_string(index=False))


if __name__ == "__main__":
    main()
