"""Losses of predictors, row by row, and what each would be if the label had nothing to do with the covariates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dams._registry import nearest
from dams._validation import refuse_text_labels

Array = np.ndarray
NAMED = ("squared", "log", "brier")
# Probabilities are kept this far from 0 and 1 in the logarithmic loss, as an infinite loss has no mean.
SMALLEST_PROBABILITY = 1e-6
# Labels that stand for all of them where a loss of one's own is averaged over labels.
MOST_LABELS = 16


@dataclass(frozen=True)
class Loss:
    """A loss, and labels with weights that stand for P(Y).

    Attributes
    ----------
    name : str
        "squared", "log", "brier", or the name of a function.
    labels, weights : arrays of shape (K,)
        For the mean of the loss over P(Y); of the squared loss the mean label alone, as the rest is a constant.
    scale : float or None
        The risk of the best predictor that is constant, which is the same in source and target; None of a loss of
        one's own.
    function : callable or None
        Of a loss of one's own.
    """

    name: str
    labels: Array
    weights: Array
    scale: float | None
    function: Callable[[Any, Any], Any] | None = None

    @property
    def is_nonnegative(self) -> bool:
        """Whether the risk cannot be negative."""
        return self.function is None

    def predict(self, model: Any, X: Any) -> Array:
        """Return what the loss judges: predictions, or the probabilities of `labels`, (n, K)."""
        if self.name not in ("log", "brier") or self.function is not None:
            predicted = np.asarray(model.predict(X))
            # A label that is given as a table of one column comes back as one.
            predicted = predicted.ravel() if predicted.ndim == 2 and predicted.shape[1] == 1 else predicted
            if predicted.shape != (len(X),):
                raise ValueError(
                    f"{type(model).__name__} must predict one number or class per row, ({len(X)},), got an array of "
                    f"shape {predicted.shape}: give a model of one label."
                )
            return predicted
        probability = np.asarray(model.predict_proba(X), dtype=float)
        classes = np.asarray(model.classes_)
        columns = [np.flatnonzero(classes == label) for label in self.labels]
        # A class that the model never saw has probability 0.
        return np.column_stack([probability[:, j[0]] if len(j) else np.zeros(len(probability)) for j in columns])

    def values(self, y: Array, predicted: Array) -> Array:
        """Losses of rows with labels y, (n,)."""
        if self.function is not None:
            return self._own(y, predicted)
        if self.name == "squared":
            # Labels and predictions of small integers, or of booleans, would be subtracted as such and wrap around.
            return np.square(np.asarray(y, dtype=float) - predicted)
        return self._by_class(predicted)[np.arange(len(y)), np.searchsorted(self.labels, y)]

    def unrelated(self, predicted: Array) -> Array:
        """Mean losses over labels that have nothing to do with the rows, (n,), up to a constant."""
        if self.function is None and self.name != "squared":
            return self._by_class(predicted) @ self.weights
        return np.sum(
            [
                weight * self.values(np.repeat(self.labels[k : k + 1], len(predicted)), predicted)
                for k, weight in enumerate(self.weights)
            ],
            axis=0,
        )

    def _by_class(self, probability: Array) -> Array:
        """Loss of each row were its label each class, (n, K)."""
        if self.name == "log":
            return -np.log(np.clip(probability, SMALLEST_PROBABILITY, 1 - SMALLEST_PROBABILITY))
        # Σ_k (p_k − 1{y = k})²; of two classes half of that, the usual (p_1 − y)².
        whole = np.square(probability).sum(axis=1, keepdims=True) + 1 - 2 * probability
        return whole / 2 if probability.shape[1] == 2 else whole

    def _own(self, y: Array, predicted: Array) -> Array:
        assert self.function is not None
        losses = np.asarray(self.function(y, predicted), dtype=float)
        if losses.shape != (len(y),):
            raise ValueError(
                f"loss must return one number per row, {len(y)}, got an array of shape {losses.shape}: a mean over "
                "rows cannot be weighted."
            )
        return losses


def resolve_loss(loss: Any, y: Array, *, is_classifier: bool) -> Loss:
    """Return the loss that a user names, for labels y; "auto" is "brier" for classifiers and "squared" otherwise."""
    labels, counts = np.unique(y, return_counts=True)
    shares = counts / counts.sum()
    if callable(loss):
        if len(labels) > MOST_LABELS:
            labels = np.sort(y)[((np.arange(MOST_LABELS) + 0.5) * len(y) / MOST_LABELS).astype(int)]
            shares = np.full(MOST_LABELS, 1 / MOST_LABELS)
        return Loss(getattr(loss, "__name__", type(loss).__name__), labels, shares, None, loss)
    name = ("brier" if is_classifier else "squared") if isinstance(loss, str) and loss == "auto" else loss
    if not isinstance(name, str) or name not in NAMED:
        raise ValueError(
            f"loss must be 'auto', 'squared', 'log', 'brier' or a function of labels and predictions, got {loss!r}; "
            f"{nearest(str(loss), ('auto', *NAMED))}"
        )
    if name == "squared":
        refuse_text_labels(y)
        return Loss(name, np.array([y.mean()]), np.ones(1), float(y.var()))
    if not is_classifier:
        raise ValueError(
            f"loss={name!r} needs probabilities of classes, and a model has no predict_proba: give classifiers, or "
            "use 'squared'."
        )
    if name == "log":
        return Loss(name, labels, shares, float(-shares @ np.log(shares)))
    brier = float(1 - np.square(shares).sum())
    return Loss(name, labels, shares, brier / 2 if len(labels) == 2 else brier)
