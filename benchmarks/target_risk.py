"""Risks in the target without target labels: are they right, do their intervals hold, do they find the best model?

python -m benchmarks.target_risk [--laws WORD ...] [--families WORD ...] [--draws N] [--seed N] [--csv FILE] [--toy]

Every draw has coefficients, rates (of each column 0 to .3 in one place and .4 to .8 in the other, by a coin, so that r
has both signs), n source rows to train on, n held-out ones, n target rows, and 60,000 labelled target rows that tell
the truth. In each law several columns measure the same thing, so that one that is lost more makes another worth more:
"values", seven real numbers; "flags", twelve 0/1 columns; "mixture", ten columns of three kinds of patients, on which
nothing was developed; and at 4,000 rows, six draws each, "counts", eight skewed counts with heavy tails, and "many",
thirty flags, where the signed kernel is expected to be noisy. The label is linear but for one product. Three families
of models: "linear" and "boosted" with the squared loss, each source, filtered, two-way and the closed form; "logistic"
with the Brier score, where there is no closed form.

The gap of a draw is the true risk of the source model minus that of the oracle, the family's model fitted on n labelled
target rows. Columns:

* `narrow`: share of cells (a model in a draw) in which the signed interval is shorter than the gap; `within_2se`:
  share of these in which the signed estimate is within two standard errors of the truth.
* `covered`, `filled_covered`: share of 95 % intervals of signed and filled risks that hold the truth;
  `differences_covered`: share of draws in which all intervals of signed differences from the source model do. Intervals
  are widened by the standard error that the truth itself has.
* `error`, `filled_error`: mean absolute error over the gap, over draws with a gap of at least 1 % of the risk of a
  constant; `bias`, `filled_bias`: mean signed error over the risk of a constant.
* `right`: share of draws in which the least signed estimate is that of the truly best model; models whose true risks
  differ by less than half a percent of the risk of a constant count as equally good. `right_strictly`: without this.
  `right_filled`, `right_source`: by "filled", and by the mean loss over held-out source rows as they are.
* `regret`: true risk of the model with the least signed estimate, minus the least, over the risk of a constant.
* `fell_back`: share of draws in which "auto" takes "filled".
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression

from benchmarks.toy import read_arguments
from dams import ClosedFormRegressor, FilteredEstimator, TwoWayEstimator, compare_target_risk

SEED = 20260
N_TRUTH = 60_000
# Of every column the lower rate and the higher one, uniformly between these; a coin says which place has which.
RATES = [0.0, 0.4], [0.3, 0.8]
TIE = 0.005

Rows = Callable[[int, np.random.Generator], np.ndarray]


def copies(factors: np.ndarray, noise: float, d: int, rng: np.random.Generator) -> np.ndarray:
    """Every column measures one of the factors, with noise of its own; (n, d)."""
    return factors[:, np.arange(d) % factors.shape[1]] + noise * rng.normal(size=(len(factors), d))


def values(n: int, rng: np.random.Generator) -> np.ndarray:
    X = 1 + copies(rng.normal(size=(n, 3)) + 0.5 * rng.normal(size=(n, 1)), 0.4, 7, rng)
    return X * (rng.random((n, 7)) < 0.9)


def counts(n: int, rng: np.random.Generator) -> np.ndarray:
    return np.sqrt(rng.poisson(np.exp(0.5 + copies(rng.normal(size=(n, 4)), 0.3, 8, rng))))


def flags(n: int, rng: np.random.Generator, *, d: int = 12, bits: int = 5, height: float = 0.0) -> np.ndarray:
    return (copies(height + rng.normal(size=(n, bits)) + 0.5 * rng.normal(size=(n, 1)), 0.4, d, rng) > 0).astype(float)


def mixture(n: int, rng: np.random.Generator) -> np.ndarray:
    kind = rng.integers(0, 3, n)
    centres = np.random.default_rng(5).normal(0.3, 1.2, (3, 10))
    X = centres[kind] + rng.logistic(size=(n, 10)) * 0.6
    return np.where(np.arange(10) < 5, X > 0, np.maximum(X, 0)).astype(float)


LAWS: dict[str, Rows] = {
    "values": values,
    "flags": flags,
    "mixture": mixture,
    "counts": counts,
    "many": lambda n, rng: flags(n, rng, d=30, bits=10, height=-0.5),
}


# Draws of laws that serve to show limits, up to this many rows.
HARD, HARD_ROWS = {"counts": 6, "many": 6}, 4000


class Cell:
    """One draw of a law and of its tables."""

    def __init__(self, law: str, n: int, seed: Sequence[int], *, classes: bool, n_truth: int) -> None:
        self.rng = rng = np.random.default_rng(seed)
        rows = LAWS[law]
        d = rows(1, rng).shape[1]
        beta, first, second = rng.normal(size=d), *rng.integers(0, d, 2)
        lost = rng.permuted(rng.uniform(*RATES, (d, 2)), axis=1).T
        self.centre, self.spread = 0.0, 1.0

        def draw(n: int, rates: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            X = rows(n, rng)
            signal = X @ beta + 2 * X[:, first] * X[:, second]
            if classes:
                y = (rng.random(n) < expit(1.5 * (signal - self.centre) / self.spread)).astype(int)
            else:
                y = signal + 0.5 * self.spread * rng.normal(size=n)
            return X * (rng.random(X.shape) >= rates), y

        clean = rows(20_000, rng)
        signal = clean @ beta + 2 * clean[:, first] * clean[:, second]
        self.centre, self.spread = float(signal.mean()), float(signal.std())
        self.train, self.held_out = draw(n, lost[0]), draw(n, lost[0])
        self.target, self.oracle_rows = draw(n, lost[1])[0], draw(n, lost[1])
        self.truth = draw(n_truth, lost[1])


def boosted() -> Any:
    return HistGradientBoostingRegressor(max_iter=60, random_state=0)


# Draws by what they cost.
DRAWS = {"linear": 20, "boosted": 6, "logistic": 10}
FAMILIES: dict[str, Callable[[], Any]] = {
    "linear": LinearRegression,
    "boosted": boosted,
    "logistic": lambda: LogisticRegression(C=10.0),
}


def fit(cell: Cell, family: str) -> tuple[dict[str, Any], Any]:
    """The models to compare, the source model first, and the oracle."""
    X, y = cell.train
    base = FAMILIES[family]
    models = {
        "source": base().fit(X, y),
        "filtered": FilteredEstimator(base(), n_draws=3, random_state=0).fit(X, y, X_target=cell.target),
        "two_way": TwoWayEstimator(base(), n_draws=3, random_state=0).fit(X, y, X_target=cell.target),
    }
    if family != "logistic":
        models["closed_form"] = ClosedFormRegressor().fit(X, y, X_target=cell.target)
    return models, base().fit(*cell.oracle_rows)


def error_of(model: Any, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Squared errors by row."""
    predicted = model.predict_proba(X)[:, 1] if hasattr(model, "predict_proba") else model.predict(X)
    return np.square(y - predicted)


def covers(table: pd.DataFrame, truth: np.ndarray, own_error: np.ndarray, name: str = "") -> np.ndarray:
    """Whether intervals, widened by the error of the truth itself, hold the truth."""
    low, middle, high = (
        table[column].to_numpy() for column in (f"{name}lower", name[:-1] or "estimate", f"{name}upper")
    )
    below, above = np.hypot(middle - low, 1.96 * own_error), np.hypot(high - middle, 1.96 * own_error)
    return (middle - below <= truth) & (truth <= middle + above)


def measure(cell: Cell, family: str) -> pd.DataFrame:
    """One row per model."""
    models, oracle = fit(cell, family)
    losses = np.column_stack([error_of(model, *cell.truth) for model in models.values()])
    y, truth, root = cell.truth[1], losses.mean(axis=0), np.sqrt(len(losses))
    own, own_difference = losses.std(axis=0) / root, (losses - losses[:, :1]).std(axis=0) / root
    gap = truth[0] - float(error_of(oracle, *cell.truth).mean())
    rows = (*cell.held_out, cell.target)
    signed, filled = (
        compare_target_risk(models, *rows, method=method, random_state=0) for method in ("signed", "filled")
    )
    table = signed.table
    width = (table["upper"] - table["lower"]).to_numpy()
    error, filled_error = table["estimate"].to_numpy() - truth, filled.table["estimate"].to_numpy() - truth
    good = truth <= truth.min() + TIE * y.var()

    def picks(estimates: pd.Series) -> int:
        return int(estimates.to_numpy().argmin())

    return pd.DataFrame(
        {
            "model": list(models),
            "narrow": width < gap,
            "within_2se": np.abs(error) <= 2 * np.hypot(table["standard_error"].to_numpy(), own),
            "covered": covers(table, truth, own),
            "differences_covered": covers(table, truth - truth[0], own_difference, "difference_").all(),
            "filled_covered": covers(filled.table, truth, own),
            "width": width / y.var(),
            "gap": gap / y.var(),
            "error": np.abs(error) / gap,
            "filled_error": np.abs(filled_error) / gap,
            "bias": error / y.var(),
            "filled_bias": filled_error / y.var(),
            "right": good[picks(table["estimate"])],
            "right_strictly": truth.argmin() == picks(table["estimate"]),
            "right_filled": good[picks(filled.table["estimate"])],
            "right_source": good[picks(table["source_risk"])],
            "regret": (truth[picks(table["estimate"])] - truth.min()) / y.var(),
            "fell_back": signed.too_noisy,
        }
    )


def summarise(cells: pd.DataFrame) -> dict[str, float]:
    """Shares over cells; of `within_2se` over the narrow ones, of errors over draws with a gap."""
    row: dict[str, float] = {"draws": len(cells) // cells["model"].nunique(), "cells": len(cells)}
    has_gap = cells["gap"] >= 0.01
    for name in cells.columns.drop("model"):
        some = cells
        if name == "within_2se":
            some = cells[cells["narrow"]]
        elif name in ("error", "filled_error"):
            some = cells[has_gap]
        row[str(name)] = float(some[name].mean()) if len(some) else np.nan
    return row


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.target_risk", description=__doc__)
    parser.add_argument("--laws", nargs="+", default=list(LAWS), choices=LAWS)
    parser.add_argument("--families", nargs="+", default=list(FAMILIES), choices=FAMILIES)
    parser.add_argument("--sizes", nargs="+", type=int, default=[16000, 4000])
    parser.add_argument("--draws", type=int, help=f"of every family; None: {DRAWS}")
    parser.add_argument("--truth", type=int, default=N_TRUTH, help="labelled target rows that tell the truth")
    parser.add_argument("--seed", type=int, default=SEED)
    toy = {"laws": ["values", "flags"], "sizes": [300], "draws": 1, "truth": 1000}
    arguments = read_arguments(parser, argv, csv="write the summary", **toy)
    summary = []
    for n, law, family in product(arguments.sizes, arguments.laws, arguments.families):
        if law in HARD and n > HARD_ROWS:
            continue
        cells = []
        for draw in range(arguments.draws or HARD.get(law) or DRAWS[family]):
            key = [arguments.seed, draw, n, *f"{law} {family}".encode()]
            cell = Cell(law, n, key, classes=family == "logistic", n_truth=arguments.truth)
            with warnings.catch_warnings():
                # Too noisy, improper: counted, not told.
                warnings.simplefilter("ignore", UserWarning)
                cells.append(measure(cell, family))
        summary.append({"law": law, "family": family, "n": n, **summarise(pd.concat(cells))})
        print(pd.DataFrame(summary[-1:]).round(3).to_string(index=False, header=len(summary) == 1), flush=True)
        if arguments.csv:
            pd.DataFrame(summary).to_csv(arguments.csv, index=False, float_format="%.4f")


if __name__ == "__main__":
    main()
