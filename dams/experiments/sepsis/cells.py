"""Source, target and test patients of one comparison, and what each of them lost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pandas as pd

from dams.datasets.sepsis.patients import ALWAYS_RECORDED, SepsisTable
from dams.datasets.sepsis.ranges import FLAGS, group_flags
from dams.experiments.seeding import generator

Array = np.ndarray
Gets = Literal["target", "source"]
Masks = Literal["transplanted", "ucar"]

# Shares of source, target training and target test patients, the paper's without the rows that it sets aside.
SPLIT = (2, 2, 1)
# A flag that fewer patients of a domain have is left out: its r is hardly more than a guess.
FEWEST = 20


@dataclass(frozen=True)
class Rows:
    """Patients of one domain.

    Attributes
    ----------
    X : DataFrame
        Age, sex and silent flags: a 0 is "normal" or "not recorded".
    y : array of shape (n,)
    recorded : boolean array of shape (n, flags)
        Whether the measurement behind each flag is recorded, which only the methods that see losses may use.
    about : DataFrame
        What is always known of the patients, as in `SepsisTable`.
    """

    X: pd.DataFrame
    y: Array
    recorded: Array
    about: pd.DataFrame

    @classmethod
    def of(cls, table: SepsisTable, rows: Array | None = None) -> Rows:
        """Patients of a table, all or those at some positions."""
        part = table if rows is None else table.take(rows)
        return cls(part.X, part.y.to_numpy(float), part.recorded_flags(), part.about)

    @property
    def flags(self) -> list[str]:
        """Names of the columns that can be lost."""
        return [name for name in self.X.columns if name in FLAGS]

    def take(self, rows: Array) -> Rows:
        """Return the patients at these positions."""
        return Rows(self.X.iloc[rows], self.y[rows], self.recorded[rows], self.about.iloc[rows])

    def lose(self, kept: Array) -> Rows:
        """Return the same patients with only those flags recorded that `kept`, (n, flags), leaves."""
        X = self.X.copy()
        X[self.flags] = X[self.flags].to_numpy() * kept
        return replace(self, X=X, recorded=self.recorded & kept)

    def select(self, flags: Sequence[str]) -> Rows:
        """Return the same patients with age, sex and these flags."""
        chosen = set(flags)
        kept = [name in chosen for name in self.flags]
        return replace(self, X=self.X[[*ALWAYS_RECORDED, *flags]], recorded=self.recorded[:, kept])


@dataclass(frozen=True)
class HospitalCell:
    """One comparison: labelled source patients, target patients to adapt to, and target patients to be tested on.

    The labels of `target` are for the oracle alone.
    """

    source: Rows
    target: Rows
    test: Rows

    @property
    def column_groups(self) -> list[list[str]]:
        """Flags of one measurement, which are lost together."""
        return group_flags(self.source.flags, by="measurement")

    @property
    def panels(self) -> list[list[str]]:
        """Flags of measurements that are ordered together."""
        return group_flags(self.source.flags, by="panel")


@dataclass(frozen=True)
class Prediction:
    """Predictions for the test patients, and in words what the method settled on, if anything."""

    values: Array
    choice: str = ""


Predictor = Callable[[HospitalCell, Any], Prediction]


def with_frequent_flags(cell: HospitalCell) -> HospitalCell:
    """Leave out flags that fewer than `FEWEST` patients of the source, or of the target, have."""
    enough = [
        flag
        for flag in cell.source.flags
        if all(np.count_nonzero(rows.X[flag]) >= FEWEST for rows in (cell.source, cell.target))
    ]
    return HospitalCell(*(rows.select(enough) for rows in (cell.source, cell.target, cell.test)))


def natural_cell(table: SepsisTable, source: str, target: str, *, seed: int) -> HospitalCell:
    """All patients of one hospital as the source, those of the other in two halves, with the same share of sepsis."""
    rng = generator(seed, "sepsis", "natural", target)
    there = table.at(target)
    septic = there.y.to_numpy() == 1
    train, test = [], []
    for members in (np.flatnonzero(septic), np.flatnonzero(~septic)):
        shuffled = rng.permutation(members)
        train.append(shuffled[: len(shuffled) // 2])
        test.append(shuffled[len(shuffled) // 2 :])
    halves = (Rows.of(there, np.sort(np.concatenate(part))) for part in (train, test))
    return with_frequent_flags(HospitalCell(Rows.of(table.at(source)), *halves))


def masked_cell(table: SepsisTable, hospital: str, masks: Masks, gets: Gets, split: int, *, seed: int) -> HospitalCell:
    """Split one hospital's patients, and lose on one side what the other hospital does not record.

    P(X, Y) is then one by construction, and the truth is known: only the recording differs.

    Parameters
    ----------
    table : SepsisTable
    hospital : str
        Whose patients.
    masks : {"transplanted", "ucar"}
        Whether each patient of that side gets the whole recording pattern of a random patient of the other hospital,
        so that panels are lost as one and what is ordered depends on what else is; or measurements are lost
        independently, each at the rate of these patterns.
    gets : {"target", "source"}
        The side that loses.
    split : int
        Number of the split.
    """
    rng = generator(seed, "sepsis", masks, hospital, gets, split)
    patients = Rows.of(table.at(hospital))
    other = table.take(np.flatnonzero(table.about["hospital"] != hospital))
    n = len(patients.y)
    ends = np.cumsum(SPLIT) * n // sum(SPLIT)
    source, target, test = (patients.take(part) for part in np.split(rng.permutation(n), ends[:-1]))
    sides = {"source": [source], "target": [target, test]}
    sides[gets] = [rows.lose(_draw_masks(other, masks, len(rows.y), rng)) for rows in sides[gets]]
    return with_frequent_flags(HospitalCell(*sides["source"], *sides["target"]))


def _draw_masks(other: SepsisTable, masks: Masks, n: int, rng: np.random.Generator) -> Array:
    """Which flags are kept, (n, flags)."""
    patterns = other.recorded
    if masks == "transplanted":
        kept = patterns.to_numpy()[rng.integers(len(patterns), size=n)]
    else:
        kept = rng.random((n, patterns.shape[1])) < patterns.mean().to_numpy()
    return pd.DataFrame(kept, columns=patterns.columns)[[FLAGS[flag] for flag in other.flags]].to_numpy()


def linear_labels(table: SepsisTable, *, seed: int, hospital: str, split: int) -> pd.Series:
    """Labels Xβ of all patients, β ~ U(0, 10) as in the paper: they depend on the flags as their own hospital has them.

    One β serves both masks and both sides of a split, so that these are compared on the same labels.
    """
    beta = generator(seed, "sepsis", "beta", hospital, split).uniform(0, 10, table.X.shape[1])
    return pd.Series(table.X.to_numpy() @ beta, index=table.X.index)
