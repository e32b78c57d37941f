"""Loss that depends on anchors: the closed form with and without them, over laws drawn at random.

python -m benchmarks.anchors [--laws N] [--rows N ...] [--seed N] [--csv FILE]

Each law has an age, a sex and eight columns that may be lost, of which half are numbers and half are flags, all related
to the age; labels are linear with noise. The mechanisms: UCAR; the target loses by age; both lose by age with opposite
signs; the same with an older target; by age along a curve; by age, otherwise for either sex; by level (sex) alone; and
one that anchors do not explain, the target loses x1 to x3 by x0 as well. Scores are target MSE/Var(Y) on fresh target
rows, `excess` is over least squares on as many labelled target rows. `alarms` is how often `check_ucar` rejects at .05,
told of the anchors or, in `alarms_plain`, that these are always recorded.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from benchmarks.toy import read_arguments
from dams import ClosedFormRegressor, check_ucar
from dams.least_squares import least_squares
from dams.moments import Moments

SEED = 2028
TEST_ROWS = 20_000
MECHANISMS = (
    "UCAR",
    "target loses by age",
    "opposite signs",
    "opposite signs, older target",
    "along a curve",
    "by age and sex",
    "by sex",
    "by age and x0",
)
COLUMNS = ["age", "sex", *(f"x{j}" for j in range(8))]


@dataclass(frozen=True)
class Law:
    """A law of clean rows and labels, and the log-odds of retention in either domain."""

    mechanism: str
    related: np.ndarray  # of the columns to the age, (8,)
    mixing: np.ndarray  # among the columns
    beta: np.ndarray
    base: np.ndarray  # log-odds of retention at the mean age, (2, 8)
    slope: np.ndarray  # (2, 8)

    @classmethod
    def draw(cls, mechanism: str, rng: np.random.Generator) -> Law:
        """Draw a law at random."""
        slope = rng.uniform(0.5, 1.5, (2, 8)) * rng.choice([-1, 1], 8)
        return cls(
            mechanism,
            rng.uniform(-0.8, 0.8, 8),
            rng.normal(size=(8, 8)) / 3,
            np.concatenate([rng.uniform(-1, 1, 2), rng.uniform(0, 3, 8)]),
            rng.uniform(-0.5, 2, (2, 8)),
            slope,
        )

    def retention(self, domain: int, age: np.ndarray, sex: np.ndarray) -> np.ndarray:
        """Probability that each value is kept, (n, 8)."""
        base, slope = self.base[domain], self.slope[domain]
        by_age = {
            "UCAR": 0 * age,
            "target loses by age": domain * age,
            "opposite signs": (2 * domain - 1) * age,
            "opposite signs, older target": (2 * domain - 1) * age,
            "along a curve": (2 * domain - 1) * (age**2 - 1) / 1.4,
            "by age and sex": (2 * domain - 1) * age * (2 * sex - 1),
            "by sex": (2 * domain - 1) * (2 * sex - 1),
            "by age and x0": domain * age,
        }[self.mechanism]
        return 1 / (1 + np.exp(-(base + slope * by_age[:, None])))

    def sample(self, domain: int, n: int, rng: np.random.Generator) -> tuple[pd.DataFrame, np.ndarray]:
        """Rows as recorded in a domain, and their labels."""
        older = domain * (self.mechanism == "opposite signs, older target")
        age, sex = rng.normal(size=n) + 0.7 * older, (rng.random(n) < 0.5) * 1.0
        hidden = rng.normal(size=(n, 8))
        clean = self.related * age[:, None] + hidden + hidden @ self.mixing + 0.5
        clean[:, 4:] = clean[:, 4:] > 0.3
        rows = np.column_stack([age, sex, clean])
        signal = rows @ self.beta
        y = signal + 0.5 * self.beta.std() * rng.normal(size=n)
        kept = rng.random((n, 8)) < self.retention(domain, age, sex)
        if self.mechanism == "by age and x0" and domain:
            kept[:, 1:4] &= rng.random((n, 3)) < np.where(clean[:, :1] > 1, 0.5, 1.0)
        clean *= kept
        return pd.DataFrame(np.column_stack([60 + 15 * age, sex, clean]), columns=COLUMNS), y


def scores(law: Law, n: int, rng: np.random.Generator) -> dict[str, float]:
    """Target MSE/Var(Y) of every method, and what the weights leave of the source rows."""
    source, y = law.sample(0, n, rng)
    target, y_target = law.sample(1, n, rng)
    test, y_test = law.sample(1, TEST_ROWS, rng)
    moments = Moments.of(test.to_numpy(), y_test[:, None])
    found = {}
    for method, rows, labels in (("oracle", target, y_target), ("source", source, y)):
        fit = least_squares(Moments.of(rows.to_numpy(), labels[:, None]))
        found[method] = float(fit.mse(moments)[0] / y_test.var())
    models = {
        "closed form": ClosedFormRegressor(always_recorded=["age", "sex"]),
        "anchored": ClosedFormRegressor(anchors=["age", "sex"]),
        "anchored, printed": ClosedFormRegressor(anchors=["age", "sex"], stabilise=False),
    }
    for method, model in models.items():
        model.fit(source, y, X_target=target)
        found[method] = float(np.square(y_test - model.predict(test)).mean() / y_test.var())
    found["effective"] = models["anchored"].relative_missingness_.effective_sample_size / n
    return found


def alarms(law: Law, n: int, rng: np.random.Generator) -> dict[str, float]:
    """Whether `check_ucar` rejects, told of the anchors and told that these are always recorded."""
    source, target = law.sample(0, n, rng)[0], law.sample(1, n, rng)[0]
    known: dict[str, dict[str, list[str]]] = {
        "alarms": {"anchors": ["age", "sex"]},
        "alarms_plain": {"always_recorded": ["age", "sex"]},
    }
    return {
        name: float(check_ucar(source, target, n_bootstrap=400, random_state=0, **columns).rejected)
        for name, columns in known.items()
    }


def measure(mechanism: str, n: int, laws: int, seed: int) -> pd.DataFrame:
    """One row per method: mean score and excess over the oracle, and how far it is above the source predictor's."""
    drawn = []
    for number in range(laws):
        rng = np.random.default_rng([seed, n, number, *mechanism.encode()])
        law = Law.draw(mechanism, rng)
        drawn.append(scores(law, n, rng) | alarms(law, n, rng))
    table = pd.DataFrame(drawn)
    rows = []
    for method in table.columns.drop(["effective", "alarms", "alarms_plain"]):
        ratio = table[method] / table["source"]
        rows.append(
            {
                "mechanism": mechanism,
                "n": n,
                "laws": laws,
                "method": method,
                "mean": table[method].mean(),
                "excess": (table[method] - table["oracle"]).mean(),
                "worst_to_source": ratio.max(),
                "above_1.1_source": (ratio > 1.1).mean(),
                "effective": table["effective"].mean(),
                "alarms": table["alarms"].mean(),
                "alarms_plain": table["alarms_plain"].mean(),
            }
        )
    return pd.DataFrame(rows)


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.anchors", description=__doc__)
    parser.add_argument("--laws", type=int, default=40, help="laws per mechanism")
    parser.add_argument("--rows", type=int, nargs="+", default=[2000, 10_000], help="rows of either domain")
    parser.add_argument("--seed", type=int, default=SEED)
    arguments = read_arguments(parser, argv, csv="write the summary", laws=1, rows=[400])
    parts = []
    # Small tables of laws drawn at random may show a column in a handful of rows.
    warnings.filterwarnings("ignore", "The source has a value in", UserWarning)
    for n in arguments.rows:
        for mechanism in MECHANISMS:
            parts.append(measure(mechanism, n, arguments.laws, arguments.seed))
            print(parts[-1].round(4).to_string(index=False, header=len(parts) == 1), flush=True)
    if arguments.csv:
        pd.concat(parts).to_csv(arguments.csv, index=False, float_format="%.5f")


if __name__ == "__main__":
    main()
