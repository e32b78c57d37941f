"""The law of one observed feature, or of columns lost as one, given everything else; learned from source rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.parallel import Parallel, delayed

from dams.estimators._choices import SHIPPED, Choices
from dams.estimators._linear import Columns, ridge

Array = np.ndarray

# No row is certain to be zero or nonzero, however sure the classifier: so much of the overall share is mixed in.
DOUBT = 0.01
# The classifier learns labels and what is linear on a grid of so many steps per standard deviation: it sorts in every
# node, which takes half the time where many numbers are equal.
STEPS = 32


class ConditionalLaw:
    """P(X̃_j | rest), rest = (X̃_{−j}, Y): the probability of a nonzero, and the law of its value.

    Columns that are lost as one are one feature j: it is nonzero where any of them is, and its value is all of theirs.

    The probability is learned by a tree, cross-fitted: each row is judged by the tree that did not see it, for trees
    know their own rows and would call every zero improbable. The value is that of a donor, a nonzero row in the same
    leaf of a random tree of a forest, so that only recorded values occur and their spread may differ from row to row.
    Trees see the columns of X̃_{−j} that are most correlated with what they learn, the labels, and what is linear in
    rest: the labels' residual given X̃_{−j}, the value's regression and, for the probability, its own.

    Parameters
    ----------
    columns : Columns
        All columns as they stand, the feature's among them, and the labels.
    own : array of int
        The columns of the feature.
    values : array of shape (n, g)
        Their values, all zero where the feature is not observed; at least one row that is not.
    folds : array of shape (n,)
        The fold of every row, for cross-fitting; no cross-fitting if there is but one.
    seed : int
        Seed of the trees.
    n_jobs : int or None
        Threads that grow the trees; the result does not depend on it.
    max_rows : int or None
        Rows that a tree learns from at most, drawn at random: the classifiers' of any kind, the forest's of nonzeros.
        Linear regressions always take all rows.
    choices : Choices
        Which classifier, which forest, and how many columns they see.
    """

    def __init__(
        self,
        columns: Columns,
        own: Array,
        values: Array,
        folds: Array,
        *,
        seed: int,
        n_jobs: int | None = None,
        max_rows: int | None = None,
        choices: Choices = SHIPPED,
    ):
        self._max_rows, self._seed = max_rows, seed
        self._labels = columns.labels[:-1]
        self._folds = folds
        n_columns = len(columns.table)
        self._others = np.delete(np.arange(n_columns), own)
        everything = np.append(self._others, np.arange(n_columns, n_columns + len(self._labels)))
        n_seen = max(choices.n_columns, n_columns // 2)
        nonzero = np.asarray(values.any(axis=1))
        self._nonzero = np.flatnonzero(nonzero)
        self._share = nonzero.mean()
        self._donors = self._some(self._nonzero, len(folds))  # a number that no fold has
        moments = sum(columns.by_fold)
        fits = [ridge(moments, self._others, moments[:, n_columns:-1])]
        varying = np.ptp(values[nonzero], axis=0) > 0
        self._constant = not varying.any()
        if not self._constant:
            donors = values[nonzero][:, varying]
            # Trees do not split what varies by less than 1e-8, whatever its unit. A power of two rounds nothing.
            scaled = donors * 2.0 ** -np.round(np.log2(np.ptp(donors, axis=0)))
            among = columns.moments_of(self._nonzero)
            products = np.vstack([columns.table[:, nonzero] @ scaled, columns.labels[:, nonzero] @ scaled])
            fits.append(ridge(among, everything, products))
            self._for_value = self._most_correlated(among, products, n_seen)
        products = columns.products(nonzero[:, None].astype(float))
        self._for_probability = self._most_correlated(moments, products.sum(axis=0), n_seen)
        self._n_shared = sum(fit.shape[1] for fit in fits)
        fits += [
            ridge(moments - fold, everything, products.sum(axis=0) - product)
            if len(products) > 1
            else ridge(moments, everything, product)
            for fold, product in zip(columns.by_fold, products, strict=True)
        ]
        self._weights = np.hstack(fits)
        linear = self._linear(columns.table)
        fit = delayed(self._fit_classifier)
        self._classifiers = Parallel(n_jobs=n_jobs, require="sharedmem")(
            fit(choices.classifier(seed), columns.table, linear, nonzero, fold) for fold in range(len(products))
        )
        if not self._constant:
            shown = self._regressors(columns.table, linear[: self._n_shared], self._for_value, self._donors)
            if len(self._donors) < len(self._nonzero):
                scaled = scaled[np.searchsorted(self._nonzero, self._donors)]
            forest = choices.forest(seed).set_params(n_jobs=n_jobs)
            self._forest = forest.fit(shown, scaled.ravel() if scaled.shape[1] == 1 else scaled)
            leaves = self._forest.apply(shown)
            self._order = np.argsort(leaves, axis=0, kind="stable")
            self._leaves = np.take_along_axis(leaves, self._order, axis=0)

    def probability(self, table: Array, rows: Array) -> Array:
        """P(X̃_j ≠ 0 | rest) of some rows of a table, which may have been filled otherwise than the one of the fit."""
        linear = self._linear(table)
        probability = np.empty(len(rows))
        for fold, classifier in enumerate(self._classifiers):
            here = self._folds[rows] == fold
            if isinstance(classifier, float):
                probability[here] = classifier
            elif here.any():
                shown = self._regressors(table, self._of_fold(linear, fold), self._for_probability, rows[here])
                probability[here] = classifier.predict_proba(shown)[:, 1]
        return (1 - DOUBT) * probability + DOUBT * self._share

    def donors(self, table: Array, rows: Array, rng: np.random.Generator) -> Array:
        """Draw for each of some rows of a table a row whose value it may be given."""
        if self._constant or not len(rows):
            return np.repeat(self._nonzero[:1], len(rows))
        linear = self._linear(table)[: self._n_shared]
        leaves = self._forest.apply(self._regressors(table, linear, self._for_value, rows))
        drawn = np.empty(len(rows), dtype=np.intp)
        trees = rng.integers(leaves.shape[1], size=len(rows))
        for tree in range(leaves.shape[1]):
            here = np.flatnonzero(trees == tree)
            first = np.searchsorted(self._leaves[:, tree], leaves[here, tree])
            last = np.searchsorted(self._leaves[:, tree], leaves[here, tree], side="right")
            drawn[here] = self._donors[self._order[rng.integers(first, last), tree]]
        return drawn

    def _some(self, rows: Array, purpose: int) -> Array:
        """The rows, or as many of them as a tree may learn from, in their order."""
        if self._max_rows is None or len(rows) <= self._max_rows:
            return rows
        rng = np.random.default_rng([self._seed, purpose])
        return np.sort(rng.choice(rows, self._max_rows, replace=False))

    def _most_correlated(self, moments: Array, products: Array, number: int) -> Array:
        """Other columns most correlated with any of the targets, in their order."""
        n, sums = moments[-1, -1], moments[self._others, -1]
        spread = np.sqrt(np.maximum(np.diag(moments)[self._others] - sums**2 / n, 0.0))
        together = np.abs(products[self._others] - np.outer(sums, products[-1]) / n).max(axis=1)
        correlation = np.divide(together, spread, out=np.zeros_like(spread), where=spread > 1e-6 * np.sqrt(n))
        return self._others[np.sort(np.argsort(-correlation, kind="stable")[:number])]

    def _linear(self, table: Array) -> Array:
        """Features linear in rest: the labels' residuals, the value's regression, the probability's for every fold."""
        n_columns, n_labels = len(table), len(self._labels)
        linear = self._weights[:n_columns].T @ table
        linear += self._weights[n_columns:-1].T @ self._labels + self._weights[-1][:, None]
        linear[:n_labels] = self._labels - linear[:n_labels]
        return linear

    def _of_fold(self, linear: Array, fold: int) -> Array:
        return np.vstack([linear[: self._n_shared], linear[self._n_shared + fold]])

    def _regressors(
        self, table: Array, linear: Array, seen: Array, rows: Array, *, labels: Array | None = None
    ) -> Array:
        labels = self._labels if labels is None else labels
        shown = np.empty((len(rows), len(seen) + len(labels) + len(linear)), dtype=np.float32)
        parts = (*table[seen], *labels, *linear)
        for position, part in enumerate(parts):
            shown[:, position] = part[rows]
        return shown

    def _fit_classifier(self, classifier: Any, table: Array, linear: Array, nonzero: Array, fold: int) -> Any:
        """Fit on the rows of the other folds, or return the share of nonzeros where there is nothing to learn."""
        several = self._folds.max() > 0
        rows = np.flatnonzero(self._folds != fold) if several else np.arange(len(nonzero))
        rows = self._some(rows, fold)
        seen = nonzero[rows]
        if not len(rows) or seen.all() or not seen.any():
            return float(nonzero.mean())
        labels, linear = (_on_grid(numbers) for numbers in (self._labels, self._of_fold(linear, fold)))
        return classifier.fit(self._regressors(table, linear, self._for_probability, rows, labels=labels), seen)


def _on_grid(numbers: Array) -> Array:
    """Round each row to a grid; a cut between two points of it is one of the numbers themselves."""
    step = numbers.std(axis=1, keepdims=True) / STEPS
    return np.round(numbers / np.where(step > 0, step, 1.0)) * step
