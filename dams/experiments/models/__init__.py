"""Engines: each fits one model family to many label vectors on the same covariates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from dams._registry import load

if TYPE_CHECKING:
    from dams.moments import Moments


@dataclass(frozen=True)
class Sample:
    """Covariates (n, d) with k label vectors (n, k)."""

    X: np.ndarray
    Y: np.ndarray

    @cached_property
    def moments(self) -> Moments:
        """All that a linear model needs, made in one pass over the rows."""
        # Late, as pandas comes with it: this module is read with every configuration, for the names of its models.
        from dams.moments import Moments

        return Moments.of(self.X, self.Y)

    @property
    def draws(self) -> tuple[Sample, ...]:
        """The samples to train on, whose predictions are averaged: this one alone."""
        return (self,)

    def select(self, wanted: np.ndarray) -> Sample:
        """Keep the wanted labels; a sample of which all are wanted stays itself, with the moments it has."""
        return self if wanted.all() else replace(self, Y=self.Y[:, wanted])


@dataclass(frozen=True)
class Draws:
    """Samples that a method drew at random from the same rows: a model is fitted to each, the predictions averaged."""

    draws: tuple[Sample, ...]

    def select(self, wanted: np.ndarray) -> Draws:
        """Keep the wanted labels."""
        return Draws(tuple(sample.select(wanted) for sample in self.draws))


Training = Sample | Draws
Errors = Callable[[Training, Sample, np.random.Generator], np.ndarray]


def errors_of_mean(predictions: Sequence[np.ndarray], test: Sample) -> np.ndarray:
    """MSE per label of the mean of predictions (n, k), one array per draw; of one draw, to the bit, its own."""
    mean = predictions[0] if len(predictions) == 1 else np.mean(predictions, axis=0)
    return np.mean((mean - test.Y) ** 2, axis=0)


@dataclass(frozen=True)
class Model:
    """A model family.

    Attributes
    ----------
    title : str
        As tables and legends show it.
    engines : dict
        `module:function` by name, the default first. An engine `errors(train, test, rng)` fits every label of `train`,
        on each of its draws, and returns the (k,) MSEs of the averaged predictions on `test`.
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
