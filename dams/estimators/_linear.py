"""Ridge regressions among the columns of a table in which one column after another changes."""

from __future__ import annotations

import numpy as np
from scipy import linalg

Array = np.ndarray

PENALTY = 1.0


def ridge(moments: Array, regressors: Array, products: Array) -> Array:
    """Return the weights of a ridge regression, zero for what is no regressor.

    Parameters
    ----------
    moments : array of shape (p, p)
        Sums of products of all columns, of which the last is constant at 1 and not penalised.
    regressors : array of int
        Which of the other columns to regress on.
    products : array of shape (p, t)
        Sums of products of the columns with the targets.
    """
    n, sums, totals = moments[-1, -1], moments[regressors, -1], products[-1]
    centred = moments[np.ix_(regressors, regressors)] - np.outer(sums, sums) / n
    centred[np.diag_indices(len(regressors))] += PENALTY
    weights = np.zeros_like(products)
    if len(regressors):
        target = products[regressors] - np.outer(sums, totals) / n
        weights[regressors] = linalg.solve(centred, target, assume_a="pos")
    weights[-1] = (totals - sums @ weights[regressors]) / n
    return weights


class Columns:
    """Columns of a table and its labels, and the sums of their products in each fold.

    Parameters
    ----------
    table : array of shape (d, n)
        One row per column of the table, on one scale; changed in place, which `refresh` is told of.
    labels : array of shape (n, k)
    folds : array of shape (n,)
        The fold of every row.
    """

    def __init__(self, table: Array, labels: Array, folds: Array):
        self.table = table
        self.labels = np.vstack([labels.T, np.ones(len(labels))])
        self.in_fold = (folds[:, None] == np.arange(folds.max() + 1)).astype(float)
        self.by_fold = [self._all(rows) @ self._all(rows).T for rows in self.in_fold.astype(bool).T]

    def _all(self, rows: Array) -> Array:
        return np.vstack([self.table[:, rows], self.labels[:, rows]])

    def products(self, targets: Array) -> Array:
        """Sums of products with targets of shape (n, t), in each fold: shape (n_folds, p, t)."""
        n_folds, n_targets = self.in_fold.shape[1], targets.shape[1]
        split = (self.in_fold[:, :, None] * targets[:, None]).reshape(len(targets), -1)
        sums = np.vstack([self.table @ split, self.labels @ split])
        return np.moveaxis(sums.reshape(-1, n_folds, n_targets), 1, 0)

    def moments_of(self, rows: Array) -> Array:
        """Sums of products of all columns over some rows."""
        columns = self._all(rows)
        return columns @ columns.T

    def refresh(self, changed: Array) -> None:
        """Take up that these columns of the table changed."""
        for moments, products in zip(self.by_fold, self.products(self.table[changed].T), strict=True):
            moments[:, changed] = products
            moments[changed] = products.T
