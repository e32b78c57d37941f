"""A cell: one data set, one regime, one draw. Its corruption is drawn once and shared by every β, method and model."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import pandas as pd

from dams.datasets.registry import DATASETS
from dams.experiments.design import CellKey, Label
from dams.experiments.models import Sample
from dams.experiments.seeding import generator
from dams.missingness import delete_at_random
from dams.relative import RelativeMissingness, count_nonzero, from_counts

# Shares of source train, source test, target train, target test. The source test rows are set aside, as in the paper.
SPLIT = (4, 1, 4, 1)


@dataclass(frozen=True)
class Clean:
    """Clean covariates with all label vectors, before rows are split and values lost."""

    columns: tuple[str, ...]
    X: np.ndarray
    Y: np.ndarray


def clean_table(table: pd.DataFrame, dataset: str, labels: tuple[Label, ...], *, seed: int) -> Clean:
    """Real covariates with labels Xβ. Every draw meets the same β, so draws and β are crossed."""
    # Row by row in memory: every cell gathers rows, and a DataFrame keeps columns together.
    X = np.ascontiguousarray(table, dtype=float)
    return Clean(tuple(table.columns), X, X @ _coefficients(X.shape[1], labels, seed, dataset))


def sample_scenario(key: CellKey, labels: tuple[Label, ...], *, seed: int, rows: int) -> Clean:
    """Sample a scenario for one cell, with labels of its own equations or Xβ for a β drawn with the sample."""
    covariates, own = DATASETS[key.dataset].load(rows, generator(seed, "sample", *key.sample_parts))
    X = covariates.to_numpy()
    Y = X @ _coefficients(X.shape[1], labels, seed, *key.sample_parts)
    Y[:, [label.kind == "structural" for label in labels]] = own[:, None]
    return Clean(tuple(covariates.columns), X, Y)


def _coefficients(n_features: int, labels: tuple[Label, ...], seed: int, *scope: str | int) -> np.ndarray:
    """β ~ U(0, 10), one column per label."""
    return np.column_stack([generator(seed, "beta", *scope, label.beta).uniform(0, 10, n_features) for label in labels])


@dataclass(frozen=True)
class Cell:
    """Corrupted data ready to be fitted; the columns of every Y follow `labels`."""

    key: CellKey
    labels: tuple[Label, ...]
    source_train: Sample
    target_train: Sample
    target_test: Sample
    nonzeros: tuple[np.ndarray, np.ndarray]  # in every column of the training rows, source and target
    rate_distance: float
    dropped: tuple[str, ...] = field(default=())

    @cached_property
    def relative_missingness(self) -> RelativeMissingness:
        """r̂ from the training rows of both domains."""
        return from_counts(*self.nonzeros, len(self.source_train.X), len(self.target_train.X))

    def for_label(self, k: int) -> Cell:
        """The same cell with one label alone."""
        one = np.arange(len(self.labels)) == k
        return replace(
            self,
            labels=(self.labels[k],),
            source_train=self.source_train.select(one),
            target_train=self.target_train.select(one),
            target_test=self.target_test.select(one),
        )

    @cached_property
    def var_y(self) -> np.ndarray:
        """Var(Y) over the target test rows, one value per label."""
        return self.target_test.Y.var(axis=0)


def build_cell(key: CellKey, labels: tuple[Label, ...], clean: Clean, *, seed: int) -> Cell:
    """Split the rows 4:1:4:1 and lose values.

    Columns that the corruption leaves all zero in the source are dropped from all samples: their relative missingness
    is not identified.
    """
    source_train, _, target_train, target_test = split_rows(len(clean.X), generator(seed, "split", *key.sample_parts))
    m_source, m_target = key.sampler.sample(clean.X.shape[1], generator(seed, "rates", *key.parts))
    rng = generator(seed, "corruption", *key.parts)
    parts = ((source_train, m_source), (target_train, m_target), (target_test, m_target))
    corrupted = [delete_at_random(clean.X.take(rows, axis=0), rates, rng, overwrite=True) for rows, rates in parts]
    in_source, in_target = (count_nonzero(X) for X in corrupted[:2])
    observed = in_source > 0
    if not observed.all():
        corrupted = [X[:, observed] for X in corrupted]
    samples = [Sample(X, clean.Y.take(rows, axis=0)) for X, (rows, _) in zip(corrupted, parts, strict=True)]
    return Cell(
        key,
        labels,
        source_train=samples[0],
        target_train=samples[1],
        target_test=samples[2],
        nonzeros=(in_source[observed], in_target[observed]),
        rate_distance=float(np.linalg.norm(m_source - m_target)),
        dropped=tuple(name for name, seen in zip(clean.columns, observed, strict=True) if not seen),
    )


def split_rows(n: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Divide n shuffled rows 4:1:4:1."""
    ends = np.cumsum(SPLIT) * n // sum(SPLIT)
    return np.split(rng.permutation(n), ends[:-1])
