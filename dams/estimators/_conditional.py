"""The law of one observed feature, or of columns lost as one, given everything else; learned from source rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.linear_model import Ridge

from dams.estimators._choices import SHIPPED, Choices

Array = np.ndarray

# No row is certain to be zero or nonzero, however sure the classifier.
CERTAIN = 1e-6


class ConditionalLaw:
    """P(X̃_j | rest), rest = (X̃_{−j}, Y): the probability of a nonzero, and the law of its value.

    Columns that are lost as one are one feature j: it is nonzero where any of them is, and its value is all of theirs.

    The probability is learned by boosted trees, cross-fitted: each row is judged by the trees that did not see it, for
    trees know their own rows and would call every zero improbable. The value is that of a donor, a nonzero row in the
    same leaf of a random tree of a forest, so that only recorded values occur and their spread may differ from row to
    row. Both see, besides rest, what is linear in it: the labels' residual given X̃_{−j}, and the value's regression.

    Parameters
    ----------
    rest : array of shape (n, d − g)
        The other columns.
    labels : array of shape (n, k)
        Label columns, on one scale.
    values : array of shape (n, g)
        The columns of the feature, all zero where it is not observed; at least one row that is not.
    folds : array of shape (n,)
        The fold of every row, for cross-fitting; no cross-fitting if there is but one.
    seed : int
        Seed of the forest and of the boosted trees.
    n_jobs : int or None
        Threads that grow the forest; the result does not depend on it.
    choices : Choices
        Which classifier and which forest.
    """

    def __init__(
        self,
        rest: Array,
        labels: Array,
        values: Array,
        folds: Array,
        *,
        seed: int,
        n_jobs: int | None = None,
        choices: Choices = SHIPPED,
    ):
        self.labels = labels
        self.folds = folds
        self._scale = np.where(rest.std(axis=0) > 0, rest.std(axis=0), 1.0)
        # A feature that stands alone has nothing to explain the labels with.
        self._label_fit = Ridge().fit(rest / self._scale, labels) if rest.shape[1] else None
        nonzero = np.asarray(values.any(axis=1))
        self._donors = values[nonzero]
        varying = np.ptp(self._donors, axis=0) > 0
        self._constant = not varying.any()
        self._value_fit = None
        if not self._constant:
            linear = np.column_stack([rest / self._scale, labels])
            # Trees do not split what varies by less than 1e-8, whatever its unit. A power of two rounds nothing.
            scaled = self._donors[:, varying] * 2.0 ** -np.round(np.log2(np.ptp(self._donors[:, varying], axis=0)))
            scaled = scaled.ravel() if scaled.shape[1] == 1 else scaled
            self._value_fit = Ridge().fit(linear[nonzero], scaled)
        regressors = self._regressors(rest)
        n_folds = folds.max() + 1
        shown = [folds != k if n_folds > 1 else np.ones(len(folds), dtype=bool) for k in range(n_folds)]
        self._classifiers = [_fit_classifier(choices.classifier(seed), regressors, nonzero, rows) for rows in shown]
        if not self._constant:
            forest = choices.forest(seed).set_params(n_jobs=n_jobs)
            self._forest = forest.fit(regressors[nonzero], scaled)
            leaves = self._forest.apply(regressors[nonzero])
            self._order = np.argsort(leaves, axis=0, kind="stable")
            self._leaves = np.take_along_axis(leaves, self._order, axis=0)

    def probability(self, rest: Array, rows: Array) -> Array:
        """P(X̃_j ≠ 0 | rest) of some rows; `rest` is theirs, and may have been filled further since the fit."""
        regressors = self._regressors(rest, rows)
        probability = np.empty(len(rows))
        for k, classifier in enumerate(self._classifiers):
            here = self.folds[rows] == k
            if isinstance(classifier, float):
                probability[here] = classifier
            elif here.any():
                probability[here] = classifier.predict_proba(regressors[here])[:, 1]
        return np.clip(probability, CERTAIN, 1 - CERTAIN)

    def draw(self, rest: Array, rows: Array, rng: np.random.Generator) -> Array:
        """Draw a nonzero value for each of some rows, shape (rows, g); `rest` is theirs."""
        if self._constant or not len(rows):
            return np.repeat(self._donors[:1], len(rows), axis=0)
        leaves = self._forest.apply(self._regressors(rest, rows))
        drawn = np.empty((len(rows), self._donors.shape[1]))
        trees = rng.integers(leaves.shape[1], size=len(rows))
        for tree in range(leaves.shape[1]):
            here = np.flatnonzero(trees == tree)
            first = np.searchsorted(self._leaves[:, tree], leaves[here, tree])
            last = np.searchsorted(self._leaves[:, tree], leaves[here, tree], side="right")
            drawn[here] = self._donors[self._order[rng.integers(first, last), tree]]
        return drawn

    def _regressors(self, rest: Array, rows: Array | slice = slice(None)) -> Array:
        scaled, labels = rest / self._scale, self.labels[rows]
        columns = [scaled, labels]
        if self._label_fit is not None:
            columns.append(labels - self._label_fit.predict(scaled).reshape(labels.shape))
        if self._value_fit is not None:
            columns.append(self._value_fit.predict(np.column_stack(columns[:2])))
        return np.column_stack(columns)


def _fit_classifier(classifier: Any, regressors: Array, nonzero: Array, rows: Array) -> Any:
    """Fit on these rows, or return their share of nonzeros where there is nothing to learn."""
    seen = nonzero[rows]
    if not rows.any() or seen.all() or not seen.any():
        return float(nonzero.mean())
    return classifier.fit(regressors[rows], seen)
