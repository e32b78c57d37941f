"""Engines: each fits one model family to many label vectors on the same covariates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from dams.moments import Moments
from dams.registry import load


@dataclass(frozen=True)
class Sample:
    """Covariates (n, d) with k label vectors (n, k)."""

    X: np.ndarray
    Y: np.ndarray

    @cached_property
    def moments(self) -> Moments:
        """All that a linear model needs, made in one pass over the rows."""
        return Moments.of(self.X, self.Y)

    def select(self, wanted: np.ndarray) -> Sample:
        """Keep the wanted labels; a sample of which all are wanted stays itself, with the moments it has."""
        return self if wanted.all() else replace(self, Y=self.Y[:, wanted])


Errors = Callable[[Sample, Sample, np.random.Generator], np.ndarray]


@dataclass(frozen=True)
class Model:
    """A model family; `errors(train, test, rng)` fits every label of `train` and returns its (k,) MSEs on `test`."""

    title: str
    path: str

    @property
    def errors(self) -> Errors:
        """The engine."""
        return load(self.path)


MODELS: dict[str, Model] = {
    "linear": Model("Linear regression", "dams.models.linear:errors"),
    "xgboost": Model("XGBoost", "dams.models.xgboost:errors"),
    "mlp": Model("MLP", "dams.models.mlp:errors"),
}
