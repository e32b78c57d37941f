"""How first and second moments move between missingness rates (the paper's moments table).

Losing values at rate m multiplies a mean by 1 − m, an off-diagonal second moment by (1 − m_i)(1 − m_j) and a diagonal
one by 1 − m_i. The way back is the same map with rate −m/(1 − m), and the way from source to target is the same map
with the relative missingness r, of either sign. Columns that are lost together, a group with one mask and so with one
rate, move like a diagonal entry: their second moments are multiplied by 1 − m once. So each moment has one function,
`move_*`, and three rates:

=================  =====================  =================================
from → to          rate                   because
=================  =====================  =================================
clean → corrupted  m                      definition
corrupted → clean  `inverse_rates(m)`     1 − (−m/(1−m)) = 1/(1−m)
source → target    r = 1 − q^t/q^s        1 − r = (1 − m^t)/(1 − m^s)
=================  =====================  =================================
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

Array = np.ndarray


def inverse_rates(m: Array) -> Array:
    """Return the rate whose map undoes that of `m`."""
    m = np.asarray(m, dtype=float)
    return -m / (1 - m)


def relative_rates(m_source: Array, m_target: Array) -> Array:
    """Relative missingness r^{s→t} = (m^t − m^s)/(1 − m^s), for rates that are known."""
    m_source, m_target = np.asarray(m_source, dtype=float), np.asarray(m_target, dtype=float)
    return (m_target - m_source) / (1 - m_source)


def move_mean(mean: Array, r: Array) -> Array:
    """E[X̃] = (1 − r) ⊙ E[X]. Cross-moments with the label, E[XᵀY] and Cov(X, Y), move alike: shape (d,) or (d, k)."""
    mean = np.asarray(mean, dtype=float)
    keep = 1 - np.asarray(r, dtype=float)
    return keep * mean if mean.ndim == 1 else keep[:, None] * mean


def move_gram(gram: Array, r: Array, *, groups: Array | None = None) -> Array:
    """E[X̃ᵀX̃] = (1 − r)(1 − r)ᵀ ⊙ E[XᵀX] + G ⊙ r(1 − r)ᵀ ⊙ E[XᵀX].

    G_ij is 1 where i and j share a mask: on the diagonal, and within a group. `groups` numbers the group of every
    column; None means that each is lost on its own.
    """
    r = np.asarray(r, dtype=float)
    keep = 1 - r
    return np.outer(keep, keep) * gram + _lost_together(gram, r, groups)


def move_covariance(covariance: Array, mean: Array, r: Array, *, groups: Array | None = None) -> Array:
    """Cov(X̃) = (1 − r)(1 − r)ᵀ ⊙ Cov(X) + G ⊙ r(1 − r)ᵀ ⊙ (Cov(X) + E[X]E[X]ᵀ), with G as in `move_gram`."""
    r = np.asarray(r, dtype=float)
    keep = 1 - r
    if groups is None:
        second = np.diagonal(covariance) + np.square(mean)
        return np.outer(keep, keep) * covariance + np.diag(r * keep * second)
    return np.outer(keep, keep) * covariance + _lost_together(covariance + np.outer(mean, mean), r, groups)


def _lost_together(gram: Array, r: Array, groups: Array | None) -> Array:
    """G ⊙ r(1 − r)ᵀ ⊙ E[XᵀX]."""
    if groups is None:
        return np.diag(r * (1 - r) * np.diagonal(gram))
    _, first, number = np.unique(groups, return_index=True, return_inverse=True)
    if (r != r[first][number]).any():
        raise ValueError("Columns that are lost together have one rate, got several within a group.")
    return np.where(np.equal.outer(groups, groups), (r * (1 - r))[:, None] * gram, 0.0)


# E[X²] − E[X]² loses the digits that E[X]² has over the variance: up to this ratio no more than five of sixteen, and
# beyond it the rows are centred first, which costs another pass.
FAR_FROM_ZERO = 1e4
# Products of sparse tables with more columns are taken in parts, of about so many entries.
MANY_COLUMNS = 500
ENTRIES_AT_ONCE = 600_000


@dataclass(frozen=True)
class Moments:
    """First and second moments of covariates and, where there are labels, of covariates with labels.

    All that a linear model needs to know of its data; `of` makes them in one pass over the rows.
    """

    n: int
    mean: Array  # E[X], (d,)
    covariance: Array  # Cov(X), (d, d)
    label_mean: Array | None = None  # E[Y], (k,)
    label_covariance: Array | None = None  # Cov(X, Y), (d, k)
    label_variance: Array | None = None  # Var(Y), (k,)

    def __post_init__(self) -> None:
        object.__setattr__(self, "covariance", _without_rounding(self.covariance, np.square(self.mean), 1e-20))

    @classmethod
    def of(cls, X: Any, Y: Array | None = None) -> Moments:
        """Moments of the rows of X (dense or sparse) and, if given, of the label columns Y of shape (n, k)."""
        n = X.shape[0]
        mean, covariance, X, left = _centre_if_needed(X)
        if Y is None:
            return cls(n, mean, covariance)
        label_mean = label_left = np.ones(n) @ Y / n
        label_variance = np.einsum("ik,ik->k", Y, Y) / n - label_mean**2
        if (label_mean**2 > FAR_FROM_ZERO * label_variance).any():
            label_mean = Y.mean(axis=0)
            Y, label_left = Y - label_mean, np.zeros_like(label_mean)
            label_variance = np.einsum("ik,ik->k", Y, Y) / n
        # Minus the means that are left in X and Y, zero where they were centred on the way.
        label_covariance = np.asarray(X.T @ Y) / n - np.outer(left, label_left)
        return cls(n, mean, covariance, label_mean, label_covariance, label_variance)

    @property
    def gram(self) -> Array:
        """E[XᵀX]."""
        return self.covariance + np.outer(self.mean, self.mean)

    @property
    def cross(self) -> Array:
        """E[XᵀY], (d, k)."""
        if self.label_covariance is None or self.label_mean is None:
            raise ValueError("These moments were made without labels.")
        return self.label_covariance + np.outer(self.mean, self.label_mean)

    def pooled(self, other: Moments) -> Moments:
        """Moments of the covariates of both samples together, weighted by sample size."""
        a, b = self.n / (self.n + other.n), other.n / (self.n + other.n)
        gap = self.mean - other.mean
        return Moments(
            self.n + other.n,
            a * self.mean + b * other.mean,
            a * self.covariance + b * other.covariance + a * b * np.outer(gap, gap),
        )

    def moved(self, r: Array, *, groups: Array | None = None) -> Moments:
        """Return the moments after the map with rate `r`; those of the labels alone stay as they are."""
        covariance = move_covariance(self.covariance, self.mean, r, groups=groups)
        # A column of one value that the target never loses is constant there: two numbers cancel.
        second = np.diagonal(self.covariance) + np.square(self.mean)
        return Moments(
            self.n,
            move_mean(self.mean, r),
            _without_rounding(covariance, np.abs(r * (1 - r)) * second, 1e-13),
            self.label_mean,
            None if self.label_covariance is None else move_mean(self.label_covariance, r),
            self.label_variance,
        )


def _without_rounding(covariance: Array, subtracted: Array, share: float) -> Array:
    """Zero the rows and columns of a covariance whose variance is below that share of what was subtracted on the way.

    There the column is constant, and what is left are rounding errors, which a solver that scales its columns would
    take for data.
    """
    varies = np.abs(np.diagonal(covariance)) > share * subtracted
    return covariance if varies.all() else covariance * np.outer(varies, varies)


def _centre_if_needed(X: Any) -> tuple[Array, Array, Any, Array]:
    """E[X], Cov(X), X itself, centred if rounding would show otherwise, and the mean that is left in it."""
    n = X.shape[0]
    if sparse.issparse(X):
        mean = left = np.asarray(X.mean(axis=0)).ravel()
        covariance = multiply_sparse(X)
        covariance /= n
        covariance -= np.outer(mean, mean)
        far = np.square(mean) > FAR_FROM_ZERO * np.diagonal(covariance)
        if far.any():
            X, mean, left = _centre_columns(X, far, mean)
            covariance = multiply_sparse(X) / n - np.outer(left, left)
        return mean, covariance, X, left
    mean = np.ones(n) @ X / n
    covariance = X.T @ X / n - np.outer(mean, mean)
    if (np.square(mean) <= FAR_FROM_ZERO * np.diagonal(covariance)).all():
        return mean, covariance, X, mean
    mean = X.mean(axis=0)
    X = X - mean
    X -= X.mean(axis=0)  # the mean was rounded
    return mean, X.T @ X / n, X, np.zeros_like(mean)


def multiply_sparse(X: Any) -> Array:
    """XᵀX of sparse X as a dense matrix; of a wide table, rows are taken as many at a time as the cache holds."""
    n, d = X.shape
    if d <= MANY_COLUMNS:
        return (X.T @ X).toarray()
    # Imported late: the mathematics need not wait for scikit-learn.
    from sklearn.utils.extmath import safe_sparse_dot

    X = X.tocsr()
    out = np.zeros((d, d))
    step = max(1, n * ENTRIES_AT_ONCE // max(X.nnz, 1))
    for start in range(0, n, step):
        rows = X[start : start + step]
        # Straight into a dense matrix, with scikit-learn 1.8 and later; a sparse product would be made first otherwise.
        out += safe_sparse_dot(rows.T, rows, dense_output=True)
    return out


def _centre_columns(X: Any, which: Array, mean: Array) -> tuple[Any, Array, Array]:
    """Sparse X with some columns centred, E[X], and the mean that is left in it.

    Columns far from zero hold hardly a zero, so that their centred form takes no more memory.
    """
    columns = sparse.csc_array(X)
    dense = columns[:, np.flatnonzero(which)].toarray()
    mean = mean.copy()
    mean[which] = dense.mean(axis=0)
    dense -= mean[which]
    dense -= dense.mean(axis=0)  # the mean was rounded
    together = sparse.hstack([columns[:, np.flatnonzero(~which)], sparse.csc_array(dense)], format="csc")
    order = np.argsort(np.concatenate([np.flatnonzero(~which), np.flatnonzero(which)]))
    return together[:, order], mean, np.where(which, 0.0, mean)
