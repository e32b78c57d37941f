"""Engines: each fits one model family to many label vectors on the same covariates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from dams._registry import load
from dams.moments import Moments


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
    """A model family.

    Attributes
    ----------
    title : str
        As tables and legends show it.
    engines : dict
        `module:function` by name, the default first. An engine `errors(train, test, rng)` fits every label of `train`
        and returns its (k,) MSEs on `test`.
    """

    title: str
    engines: dict[str, str]

    def engine(self, name: str | None = None) -> Errors:
        """Return the engine of that name; None for the default."""
        return load(self.engines[name or next(iter(self.engines))])

    @property
    def errors(self) -> Errors:
        """The default engine."""
        return self.engine()


MODELS: dict[str, Model] = {
    "linear": Model("Linear regression", {"fast": "dams.experiments.models.linear:errors"}),
    "xgboost": Model("XGBoost", {"fast": "dams.experiments.models.xgboost:errors"}),
    # scikit-learn's own is the reference: equal in law, several times slower.
    "mlp": Model(
        "MLP", {"fast": "dams.experiments.models.mlp:errors", "sklearn": "dams.experiments.models.mlp:errors_sklearn"}
    ),
}
