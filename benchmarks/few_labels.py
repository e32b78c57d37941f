"""A few labelled target rows: what they correct, and how often they contradict the adjustment.

python -m benchmarks.few_labels [--laws N] [--rows N] [--seed N] [--csv FILE]

Laws are those of benchmarks/coverage_of_coefficients.py. The mechanisms: UCAR; loss in the target that depends on the
outcome; another mean of the label; another relation of covariates and label. `excess` is the target MSE/Var(Y) over
that of the optimum on fresh rows: of the closed form with labels in use, of least squares on the labels alone, and of
least squares on source rows with the labelled rows appended. `contradicted` is how often the test rejects at .05.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Sequence

import numpy as np
import pandas as pd

from benchmarks.coverage_of_coefficients import D, Law
from benchmarks.toy import read_arguments
from dams import ClosedFormRegressor
from dams.least_squares import least_squares
from dams.moments import Moments

SEED = 2030
MECHANISMS = ("UCAR", "loss by outcome", "label shift", "concept shift")
LABELS = (0, 20, 100, 500)


def sample_target(law: Law, mechanism: str, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Rows and labels of the target, in which the mechanism is at work."""
    X, y = law.sample(1, n, rng)
    if mechanism == "loss by outcome":
        X = X * (rng.random((n, D)) < np.where(y > np.median(y), 0.6, 1.0)[:, None])
    elif mechanism == "label shift":
        y = y + 0.5 * y.std()
    elif mechanism == "concept shift":
        y = y - 1.5 * X[:, 0] * law.beta[0]
    return X, y


def simulate(mechanism: str, n: int, rng: np.random.Generator) -> list[dict[str, object]]:
    """One row per number of labels: scores over the optimum's, and the test."""
    law = Law(rng)
    source, y = law.sample(0, n, rng)
    target, y_target = sample_target(law, mechanism, n, rng)
    test, y_test = sample_target(law, mechanism, 20_000, rng)
    moments = Moments.of(test, y_test[:, None])
    best = least_squares(moments).mse(moments)[0]
    out: list[dict[str, object]] = []

    def excess(predicted: np.ndarray) -> float:
        return float((np.square(y_test - predicted).mean() - best) / y_test.var())

    for m in LABELS:
        labels = np.where(np.arange(n) < m, y_target, np.nan)
        model = ClosedFormRegressor().fit(source, y, X_target=target, y_target=labels)
        row: dict[str, object] = {"mechanism": mechanism, "n": n, "labels": m, "excess": excess(model.predict(test))}
        alone = least_squares(Moments.of(target[:m], y_target[:m, None])) if m else None
        both = np.vstack([source, target[:m]]), np.append(y, y_target[:m])[:, None]
        appended = least_squares(Moments.of(*both))
        row["labels_alone"] = np.nan if alone is None else excess(test @ alone.coef[:, 0] + alone.intercept[0])
        row["appended"] = excess(test @ appended.coef[:, 0] + appended.intercept[0])
        row["contradicted"] = float(model.label_check_.contradicted) if m else np.nan
        out.append(row)
    return out


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.few_labels", description=__doc__)
    parser.add_argument("--laws", type=int, default=100, help="laws per mechanism")
    parser.add_argument("--rows", type=int, default=2000, help="rows of either domain")
    parser.add_argument("--seed", type=int, default=SEED)
    arguments = read_arguments(parser, argv, csv="write the means", laws=1, rows=600)
    warnings.filterwarnings("ignore", "The source has a value in", UserWarning)
    parts = []
    for mechanism in MECHANISMS:
        for number in range(arguments.laws):
            rng = np.random.default_rng([arguments.seed, number, *mechanism.encode()])
            parts += simulate(mechanism, arguments.rows, rng)
    keys = ["mechanism", "n", "labels"]
    table = pd.DataFrame(parts).groupby(keys, sort=False).mean().reset_index()
    print(table.round(4).to_string(index=False))
    if arguments.csv:
        table.to_csv(arguments.csv, index=False, float_format="%.5f")


if __name__ == "__main__":
    main()
