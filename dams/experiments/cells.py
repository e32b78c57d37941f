"""A cell: one data set, one regime, one draw. Its corruption is drawn once and shared by every β, method and model."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from dams.datasets.registry import DATASETS
from dams.experiments.design import CellKey, Label
from dams.experiments.seeding import generator
from dams.missingness import apply_missingness
from dams.models import Sample

# Shares of source train, source test, target train, target test. The source test rows are set aside, as in the paper.
SPLIT = (4, 1, 4, 1)


@dataclass(frozen=True)
class Cell:
    """Corrupted data ready to be fitted; the columns of every Y follow `labels`."""

    key: CellKey
    labels: tuple[Label, ...]
    source_train: Sample
    target_train: Sample
    target_test: Sample
    rate_distance: float
    dropped: tuple[str, ...] = field(default=())


def build_cell(key: CellKey, labels: tuple[Label, ...], table: pd.DataFrame | None, *, seed: int, rows: int) -> Cell:
    """Sample or split the rows, make the labels from clean covariates, corrupt the covariates.

    Columns that the corruption leaves all zero in the source are dropped from all samples: their relative missingness
    is not identified.
    """
    if table is None:
        clean, structural = DATASETS[key.dataset].load(rows, generator(seed, "sample", *key.parts))
    else:
        clean, structural = table, None
    X = clean.to_numpy()
    Y = np.column_stack([_label(label, key, X, structural, seed) for label in labels])

    source_train, _, target_train, target_test = split_rows(len(X), generator(seed, "split", *key.parts))
    m_source, m_target = key.sampler.sample(X.shape[1], generator(seed, "rates", *key.parts))
    rng = generator(seed, "corruption", *key.parts)
    corrupted = [
        apply_missingness(X[part], rates, random_state=rng)
        for part, rates in ((source_train, m_source), (target_train, m_target), (target_test, m_target))
    ]
    observed = corrupted[0].any(axis=0)
    if not observed.all():
        corrupted = [part[:, observed] for part in corrupted]
    return Cell(
        key,
        labels,
        Sample(corrupted[0], Y[source_train]),
        Sample(corrupted[1], Y[target_train]),
        Sample(corrupted[2], Y[target_test]),
        rate_distance=float(np.linalg.norm(m_source - m_target)),
        dropped=tuple(clean.columns[~observed]),
    )


def split_rows(n: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Divide n shuffled rows 4:1:4:1."""
    ends = np.cumsum(SPLIT) * n // sum(SPLIT)
    return np.split(rng.permutation(n), ends[:-1])


def _label(label: Label, key: CellKey, X: np.ndarray, structural: np.ndarray | None, seed: int) -> np.ndarray:
    if label.kind == "structural":
        assert structural is not None
        return structural
    # Real data meet the same β in every draw, so draws and β are crossed; a scenario draws β anew with its sample.
    scope = key.parts if structural is not None else (key.dataset,)
    return X @ generator(seed, "beta", *scope, label.beta).uniform(0, 10, X.shape[1])
