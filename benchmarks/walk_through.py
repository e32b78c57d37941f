"""How much of the gap between source and oracle `adapt` closes on the simulated hospitals of docs/walk_through.md.

python -m benchmarks.walk_through [--models WORD ...] [--rows N] [--seed N] [--csv FILE] [--toy]

`simulate_ehr` makes n labelled source rows and 2 n target rows. The first n of these are the target that `adapt` is
given, without labels; the others tell the truth. The oracle is the same kind of model, fitted on the n target rows with
their labels. Adapted boosting is a mean of five models, so that the source's and the oracle's means of five seeds stand
beside the single ones. One line per kind of model:

* `source`, `adapted`, `oracle`: true mean squared errors in the target over the variance of the label; `choice`: what
  `adapt` took; `closed`: (source − adapted)/(source − oracle).
* `source_of_5`, `oracle_of_5`, `closed_of_5`: the same against means of five.
* `gain`, `gain_lower`, `gain_upper`: what `adapt` expects, over the variance of the label; `true_gain`: what it was.
* `p_value`: of `check_ucar`. `seconds`: of `adapt`.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression

from benchmarks.toy import read_arguments
from dams.datasets import simulate_ehr
from dams.two_files import adapt
from dams.two_files.reading import read_pair

BASES = {"linear": LinearRegression(), "boosting": HistGradientBoostingRegressor(random_state=0)}
SEEDS = 5


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", nargs="+", choices=list(BASES), default=list(BASES))
    parser.add_argument("--rows", type=int, default=60_000)
    parser.add_argument("--seed", type=int, default=0)
    given = read_arguments(parser, arguments, csv="the table", rows=600, models=["linear"])
    table = pd.DataFrame([measure(model, given.rows, given.seed) for model in given.models])
    print(table.round(4).T.to_string(header=False))
    if given.csv:
        table.to_csv(given.csv, index=False, float_format="%.5g")


def measure(model: str, n: int, seed: int) -> dict[str, Any]:
    made = simulate_ehr(n, 2 * n, random_state=seed)
    with tempfile.TemporaryDirectory() as folder:
        made.write(folder)
        pair = read_pair(
            Path(folder) / "source.csv",
            Path(folder) / "target.csv",
            labels=["days"],
            always_recorded=["age"],
            column_groups=made.column_groups,
            groups="patient",
        )
    X, y = pair.X_source, pair.labels_source["days"].to_numpy()
    X_target, X_test = pair.X_target[:n], pair.X_target[n:]
    y_target, y_test = np.split(made.target_outcome.to_numpy(), 2)
    start = time.perf_counter()
    found = adapt(
        X,
        y,
        X_target,
        model=model,  # type: ignore[arg-type]
        always_recorded=pair.always_recorded,
        column_groups=pair.column_groups,
        groups=pair.ids_source,
        groups_target=pair.ids_target[:n],
    )
    seconds = time.perf_counter() - start
    scale = float(y_test.var())

    def error(predictions: np.ndarray) -> float:
        return float(np.mean((y_test - predictions) ** 2) / scale)

    def several(X_train: pd.DataFrame, y_train: np.ndarray) -> tuple[float, float]:
        """Errors of a single model, and of the mean of models of several seeds."""
        base = BASES[model]
        seeds = [{}] if model == "linear" else [{"random_state": k} for k in range(SEEDS)]
        each = [clone(base).set_params(**of_seed).fit(X_train, y_train).predict(X_test) for of_seed in seeds]
        return error(each[0]), error(np.mean(each, axis=0))

    adapted, source, oracle = error(found.predict(X_test)), several(X, y), several(X_target, y_target)
    gain = np.array(found.gain) / scale
    return {
        "model": model,
        "rows": n,
        "seed": seed,
        "choice": found.choice,
        "source": source[0],
        "adapted": adapted,
        "oracle": oracle[0],
        "closed": (source[0] - adapted) / (source[0] - oracle[0]),
        "source_of_5": source[1],
        "oracle_of_5": oracle[1],
        "closed_of_5": (source[1] - adapted) / (source[1] - oracle[1]),
        "gain": gain[0],
        "gain_lower": gain[1],
        "gain_upper": gain[2],
        "true_gain": source[0] - adapted,
        "p_value": found.report.p_value if found.report else float("nan"),
        "seconds": seconds,
    }


if __name__ == "__main__":
    main()
