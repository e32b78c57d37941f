"""The stable closed form where it could do harm: against least squares on the source and the printed formula.

python -m benchmarks.closed_form_stress [--scenarios WORD ...] [--cells N] [--seed N] [--hospitals FILE] [--csv FILE]

UCI scenarios need the raw files in DAMS_DATA_DIR. `hospital` scenarios need the archive of the PhysioNet/Computing in
Cardiology Challenge 2019 (`training_setA/` and `training_setB/`, one `.psv` file per patient), from which `--hospitals`
makes flags, high and low, of what was measured in the first 24 hours. Patients of one hospital are split, and one half
is given the recording patterns of random patients of the other: P(X, Y) is one, what is lost together is real.
"""

from __future__ import annotations

import argparse
import os
import sys
import tarfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import pandas as pd

from dams import ClosedFormRegressor
from dams.datasets import load_uci
from dams.least_squares import least_squares
from dams.moments import Moments

SEED = 2026
LABELS = 5
TEST_ROWS = 20_000


@dataclass(frozen=True)
class Shift:
    """Labelled source rows, target rows for training, target rows for testing, and columns that are lost together."""

    source: np.ndarray
    target: np.ndarray
    test: np.ndarray
    Y: tuple[np.ndarray, np.ndarray, np.ndarray]
    groups: list[list[int]] | None = None


def corrupt(
    X: np.ndarray,
    n: int,
    rates: tuple[np.ndarray, np.ndarray],
    rng: np.random.Generator,
    *,
    noise: float = 0.3,
    relevant: int | None = None,
    panel: np.ndarray | None = None,
) -> Shift:
    """Labels Xβ, β ~ U(0, 10) for the first columns, with noise; n rows for each domain, and the rest for testing."""
    beta = rng.uniform(0, 10, (X.shape[1], LABELS))
    if relevant is not None:
        beta[relevant:] = 0
    Y = X @ beta
    Y += noise * Y.std(axis=0) * rng.normal(size=Y.shape)
    panel = np.arange(X.shape[1]) if panel is None else panel
    parts = np.split(np.arange(len(X)), [n, 2 * n])
    lost = [
        X[rows] * (rng.random((len(rows), panel.max() + 1)) >= rate)[:, panel]
        for rows, rate in zip(parts, (rates[0], rates[1], rates[1]), strict=True)
    ]
    seen = (lost[0] != 0).any(axis=0)
    panels = [np.flatnonzero(panel[seen] == p).tolist() for p in np.unique(panel[seen])]
    groups = panels if len(panels) < seen.sum() else None
    return Shift(*(rows[:, seen] for rows in lost), (Y[parts[0]], Y[parts[1]], Y[parts[2]]), groups)


def uci(name: str, *, complete: bool) -> Callable[[np.random.Generator], Shift]:
    """1,120 rows of a data set with exact labels; the target loses nothing, or at free rates."""

    def sample(rng: np.random.Generator) -> Shift:
        X = rng.permutation(_table(name))
        d = X.shape[1]
        m_source, m_target = rng.uniform(0, 0.9, (2, d))
        return corrupt(X, 1120, (m_source, 0 * m_target if complete else m_target), rng, noise=0)

    return sample


@cache
def _table(name: str) -> np.ndarray:
    return np.ascontiguousarray(load_uci(name), dtype=float)


def near_copies(spread: float, n: int, *, binary: bool = False) -> Callable[[np.random.Generator], Shift]:
    """Four columns and their near copies, of which the target loses nothing."""

    def sample(rng: np.random.Generator) -> Shift:
        Z = rng.normal(size=(2 * n + TEST_ROWS, 4)) + rng.normal(size=4)
        if binary:  # a share `spread` of the copies differs
            Z = (Z > 0.5) * 1.0
            copies = np.abs(Z - (rng.random(Z.shape) < spread))
        else:
            copies = Z + spread * rng.normal(size=Z.shape)
        return corrupt(np.hstack([Z, copies]), n, (rng.uniform(0, 0.9, 8), np.zeros(8)), rng)

    return sample


def rare_columns(count: int, n: int = 2000) -> Callable[[np.random.Generator], Shift]:
    """Eight columns at free rates, and others that do not matter: a value in 1 % of source and 10 % of target rows."""

    def sample(rng: np.random.Generator) -> Shift:
        rows = 2 * n + TEST_ROWS
        X = 0.7 * rng.normal(size=(rows, 1)) + rng.normal(size=(rows, 8)) + rng.normal(size=8)
        X = np.hstack([X, rng.random((rows, count)) < 0.1])
        m_source, m_target = rng.uniform(0, 0.7, (2, 8))
        rates = np.append(m_source, [0.9] * count), np.append(m_target, [0.0] * count)
        return corrupt(X, n, rates, rng, relevant=8)

    return sample


def heavy_tails(law: str, n: int = 100) -> Callable[[np.random.Generator], Shift]:
    """Six columns and noise without a fourth moment."""

    def sample(rng: np.random.Generator) -> Shift:
        shape = 2 * n + TEST_ROWS, 6
        X = rng.standard_t(2.5, shape) + 1 if law == "t" else rng.pareto(3, shape)
        X *= np.exp(0.4 * np.clip(rng.standard_t(2.5, (len(X), 1)), -6, 6))
        return corrupt(X, n, tuple(rng.uniform(0, 0.7, (2, 6))), rng, noise=0.5)

    return sample


def panels(n: int) -> Callable[[np.random.Generator], Shift]:
    """Twelve columns, Gaussian and binary, lost by threes at free rates."""

    def sample(rng: np.random.Generator) -> Shift:
        rows = 2 * n + TEST_ROWS
        X = 0.7 * rng.normal(size=(rows, 1)) + rng.normal(size=(rows, 12)) + rng.normal(size=12)
        X[:, ::2] = X[:, ::2] > 0.3
        return corrupt(X, n, tuple(rng.uniform(0, 0.8, (2, 4))), rng, panel=np.repeat(np.arange(4), 3))

    return sample


@dataclass(frozen=True)
class Hospitals:
    """Flags of all patients, which variable each flag is of, what was recorded, and the hospital."""

    flags: np.ndarray
    variable: np.ndarray
    recorded: np.ndarray
    in_b: np.ndarray

    @classmethod
    def read(cls, file: str, *, hours: int = 24, variables: int = 34) -> Hospitals:
        """Read the archive; flags are values beyond the 15 % quantiles of hospital A's."""
        in_b, values, age, sex = [], [], [], []
        with tarfile.open(file) as archive:
            for member in archive:
                if member.name.endswith(".psv") and (stream := archive.extractfile(member)) is not None:
                    rows = np.array(
                        [line.split("|") for line in stream.read().decode().splitlines()[1 : hours + 1]], float
                    )
                    in_b.append("setB" in member.name)
                    values.append(rows[:, :variables])
                    age.append((rows[0, variables] - 60) / 16)
                    sex.append(rows[0, variables + 1])
        of_a = np.concatenate([rows for rows, b in zip(values, in_b, strict=True) if not b])
        low, high = np.nanquantile(of_a, [0.15, 0.85], axis=0)
        flags = np.array([np.append((rows > high).any(axis=0), (rows < low).any(axis=0)) for rows in values])
        common = np.minimum(*(flags[np.array(in_b) == b].mean(axis=0) for b in (False, True))) > 0.002
        return cls(
            np.column_stack([flags[:, common], age, sex]).astype(float),
            np.append(np.tile(np.arange(variables), 2)[common], [variables, variables + 1]),
            np.array([np.append((~np.isnan(rows)).any(axis=0), [True, True]) for rows in values]),
            np.array(in_b),
        )

    def transplant(self, *, patients_of_b: bool, to_source: bool) -> Callable[[np.random.Generator], Shift]:
        """Split the patients of one hospital; source or target gets recording patterns of the other."""

        def sample(rng: np.random.Generator) -> Shift:
            own, other = np.flatnonzero(self.in_b == patients_of_b), np.flatnonzero(self.in_b != patients_of_b)
            own = rng.permutation(own)
            X = self.flags[own]
            Y = X @ rng.uniform(0, 10, (X.shape[1], LABELS))
            half, middle = len(own) // 2, 3 * len(own) // 4
            patterns = self.recorded[rng.choice(other, len(own))][:, self.variable]
            losing = (np.arange(len(own)) < half) == to_source
            X = np.where(losing[:, None], X * patterns, X)
            seen = (X[:half] != 0).sum(axis=0) > 0
            groups = [np.flatnonzero(self.variable[seen] == v).tolist() for v in np.unique(self.variable[seen])]
            parts = np.split(np.arange(len(own)), [half, middle])
            return Shift(*(X[rows][:, seen] for rows in parts), tuple(Y[rows] for rows in parts), groups)

        return sample


def scenarios(hospitals: str | None) -> dict[str, tuple[int, Callable[[np.random.Generator], Shift]]]:
    """Each scenario by name, with the number of its cells in forty."""
    found = {}
    for name in ("thyroid", "bank") if "DAMS_DATA_DIR" in os.environ else ():
        found[f"{name}, target complete"] = 40, uci(name, complete=True)
        found[f"{name}, free"] = 40, uci(name, complete=False)
    for spread in (0.02, 0.1):
        for n in (1000, 5000):
            found[f"near copies {spread:g}, n = {n}"] = 40, near_copies(spread, n)
    found["near copies, binary, n = 1000"] = 40, near_copies(0.02, 1000, binary=True)
    found["no rare columns"] = 40, rare_columns(0)
    found["8 rare columns"] = 40, rare_columns(8)
    found["heavy tails, t"] = 80, heavy_tails("t")
    found["heavy tails, Pareto"] = 80, heavy_tails("pareto")
    found["panels, n = 2000"] = 20, panels(2000)
    found["panels, n = 20000"] = 10, panels(20_000)
    if hospitals:
        data = Hospitals.read(hospitals)
        for b in (False, True):
            for to_source in (False, True):
                name = f"hospital {'AB'[b]}, {'source' if to_source else 'target'} loses"
                found[name] = 6, data.transplant(patients_of_b=b, to_source=to_source)
    return found


def scores(shift: Shift) -> Iterator[tuple[str, np.ndarray]]:
    """Target test MSE/Var(Y) of every method, one value per label."""
    Y, _, Y_test = shift.Y
    test = Moments.of(shift.test, Y_test)
    for method, rows, labels in (("oracle", shift.target, shift.Y[1]), ("source", shift.source, Y)):
        yield method, least_squares(Moments.of(rows, labels)).mse(test) / Y_test.var(axis=0)
    models = {"printed": ClosedFormRegressor(stabilise=False), "stable": ClosedFormRegressor()}
    if shift.groups is not None:
        models["stable, groups known"] = ClosedFormRegressor(column_groups=shift.groups)
    for method, model in models.items():
        errors = Y_test - model.fit(shift.source, Y, X_target=shift.target).predict(shift.test)
        yield method, np.square(errors).mean(axis=0) / Y_test.var(axis=0)


def measure(name: str, sample: Callable[[np.random.Generator], Shift], cells: int, seed: int) -> pd.DataFrame:
    """One row per method: mean and worst score, and how often and how far it is above the source predictor's."""
    found: dict[str, list[np.ndarray]] = {}
    for cell in range(cells):
        key = [seed, cell, *name.encode()]
        for method, values in scores(sample(np.random.default_rng(key))):
            found.setdefault(method, []).append(values)
    rows = []
    for method, values in found.items():
        score, ratio = np.array(values), np.array(values) / np.array(found["source"])
        rows.append(
            {
                "scenario": name,
                "method": method,
                "mean": score.mean(),
                "worst": score.max(),
                "worst_to_source": ratio.max(),
                "above_source": (ratio > 1.0001).mean(),
                "above_1.1_source": (ratio > 1.1).mean(),
            }
        )
    return pd.DataFrame(rows)


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.closed_form_stress", description=__doc__)
    parser.add_argument("--scenarios", nargs="+", metavar="WORD", help="those whose names hold one of these words")
    parser.add_argument("--cells", type=int, default=40, help="cells of a scenario; heavy tails twice as many")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--hospitals", metavar="FILE", help="archive of the Challenge 2019, for the hospital scenarios")
    parser.add_argument("--csv", metavar="FILE", help="write the summary")
    parser.add_argument("--toy", action="store_true", help="one cell of two scenarios, to see whether it runs")
    if parser.parse_args(argv).toy:
        parser.set_defaults(scenarios=["0.02, n = 1000", "Pareto"], cells=1)
    arguments = parser.parse_args(argv)
    if "DAMS_DATA_DIR" not in os.environ:
        print("UCI scenarios are left out, DAMS_DATA_DIR does not name the raw files", file=sys.stderr)
    parts = []
    for name, (share, sample) in scenarios(arguments.hospitals).items():
        if arguments.scenarios is None or any(word in name for word in arguments.scenarios):
            parts.append(measure(name, sample, -(-arguments.cells * share // 40), arguments.seed))
            print(parts[-1].round(4).to_string(index=False, header=len(parts) == 1), flush=True)
    if arguments.csv:
        pd.concat(parts).to_csv(arguments.csv, index=False, float_format="%.4f")


if __name__ == "__main__":
    main()
