"""One domain in folds of rows, whose second moments are never formed fold by fold.

    n_{−f} Cov_{−f} v = n Cov v − n_f S_f v − n_{−f} (μ_{−f} − μ)(μ_{−f} − μ)ᵀv,    S_f v = E_f[(x − μ)(x − μ)ᵀv]

takes the matrix of all rows and a product with the rows of fold f.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from dams.estimators.folds import N_FOLDS, Columns, assign_folds, split_folds
from dams.missingness import canonical_csr
from dams.moments import Moments

Array = np.ndarray


class FoldedRows:
    """One domain: the moments of all rows, and the rows of each fold, which replace the moments of that fold.

    `rows` are the positions of each fold's rows, at least one in each; None deals them into `N_FOLDS`. Blocks of
    coefficients have the shape (d, folds, k).
    """

    def __init__(
        self,
        X: Any,
        Y: Array | None = None,
        groups: Array | None = None,
        columns: Columns | None = None,
        *,
        intercept: bool = True,
        rows: list[Array] | None = None,
    ):
        self.X, self.Y, self.columns, self.intercept = X, Y, Columns() if columns is None else columns, intercept
        self.rows = split_folds(assign_folds(X, Y, groups=groups), N_FOLDS) if rows is None else rows
        self._held = [X[rows] for rows in self.rows] if sparse.issparse(X) else None
        self.n = X.shape[0]
        self.sizes = np.array([len(rows) for rows in self.rows])
        means, counts, labels, cross, together, variances = [], [], [], [], [], []
        for fold, positions in enumerate(self.rows):
            held = self.fold(fold)
            means.append(np.ones(len(positions)) @ held / len(positions))
            counts.append(self.columns.count_recorded(held))
            together.append(_lost_together(held, self.columns.groups))
            variances.append(_variances(held, means[-1]))
            if Y is not None:
                labels.append(Y[positions].mean(axis=0))
                centred = Y[positions] - labels[-1]
                # The mean was rounded, and what is left of it counts as often as a column's mean is large.
                cross.append(held.T @ centred / len(positions) - np.outer(means[-1], centred.mean(axis=0)))
        self.means, self.counts, self.together = np.array(means), np.array(counts), together
        self.variances = np.array(variances)
        self.label_means, self.cross = np.array(labels), np.array(cross)
        self.mean = self.sizes @ self.means / self.n

    @cached_property
    def second(self) -> Array:
        """Cov(X) of all rows, or E[XᵀX] without an intercept."""
        moments = Moments.of(self.X)
        return moments.covariance if self.intercept else moments.gram

    def fold(self, fold: int) -> Any:
        """Rows of a fold; those of a dense table, which would take as much memory again, are not kept."""
        return self.X[self.rows[fold]] if self._held is None else self._held[fold]

    def without(self, values: Array) -> Array:
        """Means over all rows but those of each fold, from means over folds, (folds, …)."""
        weighted = values * self.sizes.reshape(-1, *[1] * (values.ndim - 1))
        left = (self.n - self.sizes).reshape(-1, *[1] * (values.ndim - 1))
        return (weighted.sum(axis=0) - weighted) / left

    @cached_property
    def means_without(self) -> Array:
        """E[X] without each fold, (folds, d)."""
        return self.without(self.means)

    def cross_of(self, fold: int) -> Array:
        """Cov(X, Y) of a fold, or E[XᵀY]."""
        if self.intercept:
            return self.cross[fold]
        return self.cross[fold] + np.outer(self.means[fold], self.label_means[fold])

    def cross_without(self) -> Array:
        """Cov(X, Y) without each fold, or E[XᵀY], (d, folds, k)."""
        means, labels = self.means, self.label_means
        if self.intercept:
            # Centred first: means may be large beside the spread.
            means, labels = means - self.mean, labels - self.label_mean
        out = self.without(self.cross + means[:, :, None] * labels[:, None, :])
        if self.intercept:
            out -= self.without(means)[:, :, None] * self.without(labels)[:, None, :]
        return out.transpose(1, 0, 2)

    @cached_property
    def label_mean(self) -> Array:
        """E[Y]."""
        return self.sizes @ self.label_means / self.n

    def cross_whole(self) -> Array:
        """Cov(X, Y) of all rows, or E[XᵀY], (d, k)."""
        means, labels = self.means, self.label_means
        if self.intercept:
            means, labels = means - self.mean, labels - self.label_mean
        return np.einsum("f,fdk->dk", self.sizes / self.n, self.cross + means[:, :, None] * labels[:, None, :])

    def diagonal_whole(self) -> Array:
        """Variances of all rows, or second moments without an intercept, (d,)."""
        return self.sizes @ (self.variances + np.square(self.means - self._centre)) / self.n

    def diagonal_without(self) -> Array:
        """The same without each fold, (folds, d)."""
        gaps = self.means - self._centre
        out = self.without(self.variances + np.square(gaps))
        return out - np.square(self.without(gaps)) if self.intercept else out

    @property
    def _centre(self) -> Array:
        """What second moments are taken about."""
        return self.mean if self.intercept else np.zeros_like(self.mean)

    def together_whole(self) -> Any:
        """E[x_i x_j] of columns that are lost together, of all rows."""
        return sum(part * (size / self.n) for part, size in zip(self.together, self.sizes, strict=True))

    def together_without(self, fold: int, whole: Any) -> Any:
        """The same without a fold."""
        return (whole * self.n - self.together[fold] * self.sizes[fold]) / (self.n - self.sizes[fold])

    def multiply_without(self, V: Array) -> Array:
        """Second moments without each fold, times a block."""
        total = (self.second @ V.reshape(len(V), -1)).reshape(V.shape)
        out = np.empty_like(V)
        centre = self._centre
        for fold, (size, mean) in enumerate(zip(self.sizes, self.means_without, strict=True)):
            left, rows = self.n - size, self.fold(fold)
            predicted = rows @ V[:, fold] - centre @ V[:, fold]
            part = rows.T @ predicted - np.outer(centre, predicted.sum(axis=0))
            out[:, fold] = (self.n * total[:, fold] - part) / left
            if self.intercept:
                out[:, fold] -= np.outer(mean - centre, (mean - centre) @ V[:, fold])
        return out

    def predict(self, fold: int, V: Array) -> Array:
        """X v of the rows of a fold, centred if there is an intercept; (rows, columns of V)."""
        predicted = np.asarray(self.fold(fold) @ V)
        return predicted - predicted.mean(axis=0) if self.intercept else predicted


def _variances(X: Any, mean: Array) -> Array:
    """Var(x_j) about a mean, (d,): E[x²] − E[x]² would lose the digits that E[x]² has over it."""
    n, d = X.shape
    if not sparse.issparse(X):
        gaps = X - mean
        return np.einsum("ij,ij->j", gaps, gaps) / n
    X = canonical_csr(X)
    recorded = np.bincount(X.indices, minlength=d)
    squares = np.bincount(X.indices, np.square(X.data - mean[X.indices]), minlength=d)
    return (squares + (n - recorded) * np.square(mean)) / n


def _lost_together(X: Any, groups: Array | None) -> Any:
    """E[x_i x_j] for i = j and for columns of one group; sparse, (d, d)."""
    n, d = X.shape
    if sparse.issparse(X):
        X = canonical_csr(X)
        squares = np.bincount(X.indices, X.data**2, minlength=d)
    else:
        squares = np.einsum("ij,ij->j", X, X)
    out = sparse.diags_array(squares / n, format="csr")
    if groups is None:
        return out
    blocks = sparse.lil_array((d, d))
    for group in np.flatnonzero(np.bincount(groups) > 1):
        members = np.flatnonzero(groups == group)
        some = X[:, members]
        product = some.T @ some / n
        block = product.toarray() if sparse.issparse(product) else np.array(product)
        np.fill_diagonal(block, 0)
        blocks[np.ix_(members, members)] = block
    return (out + blocks.tocsr()).tocsr()
