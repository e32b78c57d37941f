"""How often intervals of the closed form's coefficients and predictions cover, over laws with known optima.

python -m benchmarks.coverage_of_coefficients [--simulations N] [--rows N ...] [--seed N] [--csv FILE]

Covariates are a mixture of three classes, so that they are related and all moments are known; noise grows with one of
them; rates of loss are of either order. Each simulation has a law of its own. `coefficients` and `predictions` are
shares of 95 % intervals that hold the target's optimum, mean over the six coefficients and intercept, and over 50 rows;
`least` is the coefficient with the least share. Methods: the three Gram matrices; `r known`, errors of source rows with
r̂ taken as known; `rows`, four rows per patient told, and not told; `stabilised`, the same half widths around the
coefficients that `ClosedFormRegressor` chooses.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from benchmarks.toy import read_arguments
from dams import ClosedFormRegressor, infer_closed_form
from dams.inference import Scores
from dams.moments import move_gram, move_mean

SEED = 2029
D, CLASSES, ROWS_EACH = 6, 3, 4


class Law:
    """A mixture of Gaussian classes with labels linear in the clean covariates."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.mean = 1 + rng.normal(size=(CLASSES, D))
        self.spread = rng.uniform(0.5, 1.5, (CLASSES, D))
        self.beta = rng.uniform(-1, 2, D)
        self.rates = rng.uniform(0, 0.6, (2, D))

    def optimum(self) -> np.ndarray:
        """Coefficients and intercept of the best linear predictor in the target."""
        mean = self.mean.mean(axis=0)
        second = (self.mean.T @ self.mean + np.diag(np.square(self.spread).sum(axis=0))) / CLASSES
        cross, rate = second @ self.beta, self.rates[1]
        moved = move_mean(mean, rate)
        matrix = np.block([[move_gram(second, rate), moved[:, None]], [moved, np.ones((1, 1))]])
        return np.linalg.solve(matrix, np.append(move_mean(cross, rate), mean @ self.beta))

    def sample(self, domain: int, n: int, rng: np.random.Generator, each: int = 1) -> tuple[np.ndarray, np.ndarray]:
        """Rows and labels; of a patient, all from one class, with one share of the noise and one mask in common."""
        patients = n // each
        of_patient = rng.integers(CLASSES, size=patients), rng.normal(size=patients), rng.random((patients, D))
        group, common, kept = (np.repeat(part, each, axis=0) for part in of_patient)
        X = self.mean[group] + self.spread[group] * rng.normal(size=(patients * each, D))
        noise = common if each > 1 else rng.normal(size=patients)
        y = X @ self.beta + noise * (0.5 + np.abs(X[:, 0]))
        return X * (kept >= self.rates[domain]), y


def simulate(n: int, rng: np.random.Generator) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """For each method, which intervals hold the truth: of the coefficients, and of predictions."""
    law = Law(rng)
    truth = law.optimum()
    source, y = law.sample(0, n, rng)
    target, _ = law.sample(1, n, rng)
    rows = law.sample(1, 50, rng)[0]

    def covers(found, centre=None, covariance=None):  # type: ignore[no-untyped-def]
        covariance = found.covariance if covariance is None else covariance
        centre = np.append(found.coef, found.intercept) if centre is None else centre
        design = np.column_stack([rows, np.ones(len(rows))])
        spread = (
            1.96 * np.sqrt(np.diagonal(covariance)),
            1.96 * np.sqrt(np.einsum("nd,nd->n", design @ covariance, design)),
        )
        return np.abs(centre - truth) <= spread[0], np.abs(design @ (centre - truth)) <= spread[1]

    for gram in ("pooled", "target", "source"):
        found = infer_closed_form(source, y, target, gram=gram)
        table, predicted = found.intervals(), found.mean_predictions(rows)
        expected = np.column_stack([rows, np.ones(len(rows))]) @ truth
        yield (
            gram,
            (table["lower"] <= truth).to_numpy() & (truth <= table["upper"]).to_numpy(),
            (predicted["lower"] <= expected).to_numpy() & (expected <= predicted["upper"]).to_numpy(),
        )
        if gram == "pooled":
            pooled = found
    ones = [np.column_stack([table, np.ones(len(table))]) for table in (source, target)]
    r = 1 - (target != 0).mean(axis=0) / (source != 0).mean(axis=0)
    known = Scores(ones[0], ones[1], y, r, np.full(D + 1, -1), "pooled")
    known_scores = known.source * (known.rho * (y - ones[0] @ np.append(pooled.coef, pooled.intercept))[:, None])
    inverse = np.linalg.inv(known.matrix)
    yield "r known", *covers(pooled, covariance=inverse @ (known_scores.T @ known_scores / n**2) @ inverse)
    model = ClosedFormRegressor().fit(source, y, X_target=target)
    yield "stabilised", *covers(pooled, centre=np.append(model.coef_, model.intercept_))
    source, y = law.sample(0, n, rng, ROWS_EACH)
    target, _ = law.sample(1, n, rng, ROWS_EACH)
    ids = {"groups": np.arange(n) // ROWS_EACH, "groups_target": np.arange(n) // ROWS_EACH}
    yield "rows, told", *covers(infer_closed_form(source, y, target, **ids))
    yield "rows, not told", *covers(infer_closed_form(source, y, target))


def measure(n: int, simulations: int, seed: int) -> pd.DataFrame:
    """One row per method: shares of intervals that cover."""
    found: dict[str, list[tuple[np.ndarray, float]]] = {}
    for number in range(simulations):
        for method, of_coef, of_rows in simulate(n, np.random.default_rng([seed, n, number])):
            found.setdefault(method, []).append((of_coef, of_rows.mean()))
    return pd.DataFrame(
        {
            "method": method,
            "n": n,
            "simulations": simulations,
            "coefficients": np.mean([held.mean() for held, _ in parts]),
            "least": np.mean([held for held, _ in parts], axis=0).min(),
            "predictions": np.mean([share for _, share in parts]),
        }
        for method, parts in found.items()
    )


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.coverage_of_coefficients", description=__doc__)
    parser.add_argument("--simulations", type=int, default=500, help="laws, one sample each")
    parser.add_argument("--rows", type=int, nargs="+", default=[1000, 10_000], help="rows of either domain")
    parser.add_argument("--seed", type=int, default=SEED)
    arguments = read_arguments(parser, argv, csv="write the shares", simulations=3, rows=[400])
    warnings.filterwarnings("ignore", "The source has a value in", UserWarning)
    parts = []
    for n in arguments.rows:
        parts.append(measure(n, arguments.simulations, arguments.seed))
        print(parts[-1].round(4).to_string(index=False, header=len(parts) == 1), flush=True)
    if arguments.csv:
        pd.concat(parts).to_csv(arguments.csv, index=False, float_format="%.5f")


if __name__ == "__main__":
    main()
