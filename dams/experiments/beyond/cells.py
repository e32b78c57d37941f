"""Source, target and test rows whose losses, population and labels follow a known mechanism."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from scipy.special import expit, logit

from dams.datasets.eicu.simulator import simulate_eicu_table
from dams.experiments.seeding import generator

Array = np.ndarray

# Rates of loss are U(0, HIGHEST) in both domains.
HIGHEST = 0.6
# Columns that a panel has.
PANEL = 5
# Test rows per training row: what is true of a predictor must be known better than what is estimated of it.
TEST_ROWS = 5
# Labels are Xβ with β ~ U(0, 10), as in the paper, and noise with this share of their standard deviation.
NOISE = 0.5
# Rows to choose from, per row that is chosen, where the target's population is another one.
POOL = 4
# Standard deviations beyond which what a mechanism depends on is cut off.
FURTHEST = 2.5
# Stays of the simulated hospital.
STAYS = 8_000


@dataclass(frozen=True)
class Population:
    """A table that rows are drawn from, with replacement: it is the population, so that any number can be drawn.

    Attributes
    ----------
    X : array of shape (N, d)
        Clean values.
    age : array of shape (N,)
        Standardised.
    anchors : list of int
        Columns that hold the age. They are never lost.
    always : list of int
        Columns that are never lost.
    """

    X: Array
    age: Array
    anchors: list[int]
    always: list[int]

    @classmethod
    def of_table(cls, table: pd.DataFrame) -> Population:
        """Read a prepared table, of which the column `age` is never lost."""
        place = list(table.columns).index("age")
        return cls(table.to_numpy(dtype=float), _standardised(table["age"].to_numpy()), [place], [place])

    @classmethod
    def of_eicu(cls, *, seed: int, stays: int = STAYS) -> Population:
        """Simulate stays of intensive care without any loss; what is known at admission is never lost."""
        table = simulate_eicu_table(stays, strength=0.0, random_state=seed)
        X = table.X.toarray()
        static = [j for j, name in enumerate(table.names) if "_value:" in name]
        ages = [j for j in static if table.names[j].startswith("age_")]
        age = X[:, ages] @ np.arange(len(ages))
        # Few stays are in none of the bins.
        known = X[:, ages].any(axis=1)
        return cls(X, _standardised(np.where(known, age, age[known].mean())), ages, static)

    @cached_property
    def own(self) -> Array:
        """Values on which loss by the own value depends, (N, d); of 0/1 columns, how much the row holds."""
        z = _standardised(self.X)
        two_valued = [len(np.unique(column)) <= 2 for column in self.X.T]
        return np.where(two_valued, _standardised(z.mean(axis=1))[:, None], z)


@dataclass(frozen=True)
class Rows:
    """Rows of one domain as they were recorded, and their labels."""

    X: Array
    y: Array


@dataclass(frozen=True)
class ShiftCell:
    """Labelled source rows to fit on and to hold out, target rows to adapt to, and target rows to be tested on."""

    source: Rows
    held_out: Rows
    target: Rows
    test: Rows
    anchors: list[int]
    always: list[int]


def shift_cell(
    population: Population, mechanism: str, strength: float, *, dataset: str, draw: int, rows: int, seed: int
) -> ShiftCell:
    """Draw rows, labels and losses of one cell.

    All mechanisms and strengths of a draw share β and rates; rows and losses are drawn anew.

    Parameters
    ----------
    mechanism : str
        Key of `dams.experiments.beyond.names.MECHANISMS`, which says what `strength` means there.
    dataset, draw : str, int
        Name of the draw, of which its random numbers follow.
    rows : int
        Rows of the source, of those held out and of the target; `TEST_ROWS` times as many are tested on.
    """
    drawn = _Draw(population, mechanism, strength, ("beyond", dataset, draw), rows, seed)
    source, held_out, target, test = (drawn.rows_of(name) for name in ("source", "held_out", "target", "test"))
    return ShiftCell(source, held_out, target, test, population.anchors, population.always)


@dataclass(frozen=True)
class _Draw:
    population: Population
    mechanism: str
    strength: float
    key: tuple[str | int, ...]
    rows: int
    seed: int

    def _stream(self, *name: str) -> np.random.Generator:
        return generator(self.seed, *self.key, *name)

    def rates(self, domain: str) -> Array:
        """Rates of loss of every column, 0 where it is never lost."""
        here, there = (self._stream("rates", name).uniform(0, HIGHEST, self._width) for name in ("source", "target"))
        if self.mechanism in ("none", "ucar"):
            there = here + self.strength * (there - here)
        rates = here if domain == "source" else there
        if self.mechanism == "panels":
            rates = rates[self._panels * PANEL]
        rates[self.population.always] = 0.0
        return rates

    @property
    def _width(self) -> int:
        return self.population.X.shape[1]

    @property
    def _panels(self) -> Array:
        return np.arange(self._width) // PANEL

    def beta(self, domain: str) -> Array:
        """Coefficients of the labels."""
        here, other = (self._stream("beta", name).uniform(0, 10, self._width) for name in ("source", "other"))
        changed = self.strength if self.mechanism == "concept" and domain == "target" else 0.0
        return (1 - changed) * here + changed * other

    def rows_of(self, part: str) -> Rows:
        """Draw the rows of a part, their labels, and what is lost of them."""
        domain = "source" if part in ("source", "held_out") else "target"
        chosen, y = self._choose(part, domain)
        rng = self._stream("loss", part, self.mechanism, f"{self.strength:g}")
        kept = self._mask(rng, len(chosen)) >= self._odds(domain, chosen, y)
        return Rows(self.population.X[chosen] * kept, y)

    def _choose(self, part: str, domain: str) -> tuple[Array, Array]:
        """Rows of the population, and their labels."""
        n = self.rows * (TEST_ROWS if part == "test" else 1)
        rng = self._stream("rows", part, self.mechanism, f"{self.strength:g}")
        weighted = domain == "target" and self.mechanism in ("population", "label")
        drawn = rng.integers(len(self.population.X), size=n * POOL if weighted else n)
        signal = self.population.X @ self.beta(domain)
        y = signal[drawn] + NOISE * signal.std() * rng.normal(size=len(drawn))
        if not weighted:
            return drawn, y
        by = self.population.age[drawn] if self.mechanism == "population" else _standardised(y)
        weights = np.exp(self.strength * by)
        taken = rng.choice(len(drawn), size=n, p=weights / weights.sum())
        return drawn[taken], y[taken]

    def _mask(self, rng: np.random.Generator, n: int) -> Array:
        """Draw uniform numbers, which a value is lost below its rate of; columns of a panel may share them."""
        drawn = rng.random((n, self._width))
        if self.mechanism != "panels":
            return drawn
        shared = rng.random((n, self._panels[-1] + 1))[:, self._panels]
        together = (rng.random((n, self._panels[-1] + 1)) < self.strength)[:, self._panels]
        return np.where(together, shared, drawn)

    def _odds(self, domain: str, chosen: Array, y: Array) -> Array:
        """Probability of loss of every value, (n, d) or (d,).

        Where it depends on something, it does so with opposite signs in the two domains, as in the simulated hospitals:
        what both share would cancel in the ratio of retention.
        """
        rates = self.rates(domain)
        if self.mechanism == "age":
            by = self.population.age[chosen, None]
        elif self.mechanism == "outcome":
            by = _standardised(y)[:, None]
        elif self.mechanism == "value":
            by = self.population.own[chosen]
        else:
            return rates
        sign = -1.0 if domain == "source" else 1.0
        with np.errstate(divide="ignore"):
            return expit(logit(rates) + sign * self.strength * by)


def _standardised(values: Array) -> Array:
    """Mean 0 and variance 1 by column, cut off: ages of 455 years, which Thyroid has, would decide all."""
    z = (values - values.mean(axis=0)) / values.std(axis=0)
    return np.clip(z, -FURTHEST, FURTHEST)
