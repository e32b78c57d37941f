"""Least squares from moments: rows are read once, then every label and every method is a small solve."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import linalg

from dams.models import Sample
from dams.moments import Moments

Array = np.ndarray

# Directions whose eigenvalue, in correlation form, is below this share of the largest one are rounding noise.
RANK_TOLERANCE = 1e-10


@dataclass(frozen=True)
class LinearFit:
    """Coefficients (d, k) and intercepts (k,) of k linear predictors, with the rank and condition of their system."""

    coef: Array
    intercept: Array
    rank: int
    condition: float

    def mse(self, test: Moments) -> Array:
        """Mean squared error over the rows that `test` summarises, one value a label.

        E(Y − a − Xβ)² = Var(Y) − 2 βᵀCov(X, Y) + βᵀCov(X)β + (E[Y] − a − E[X]β)².
        """
        assert test.label_covariance is not None and test.label_mean is not None and test.label_variance is not None
        bias = test.label_mean - self.intercept - test.mean @ self.coef
        quadratic = np.einsum("jk,jk->k", self.coef, test.covariance @ self.coef - 2 * test.label_covariance)
        return test.label_variance + quadratic + bias**2


def least_squares(moments: Moments, *, fit_intercept: bool = True) -> LinearFit:
    """Minimise E(Y − a − Xβ)² for the law with these moments; of several minimisers, one of least norm.

    With an intercept this is the system of a design with a column of ones, reduced to the other columns.
    """
    if moments.label_covariance is None or moments.label_mean is None:
        raise ValueError("Least squares needs moments made with labels.")
    if fit_intercept:
        coef, rank, condition = solve_symmetric(moments.covariance, moments.label_covariance)
        return LinearFit(coef, moments.label_mean - moments.mean @ coef, rank, condition)
    coef, rank, condition = solve_symmetric(moments.gram, moments.cross)
    return LinearFit(coef, np.zeros_like(moments.label_mean), rank, condition)


def solve_symmetric(A: Array, B: Array) -> tuple[Array, int, float]:
    """Solve A x = B for symmetric A, without the directions in which A vanishes; A need not be positive definite.

    Columns are brought to one scale first, so that the rank does not depend on the units of the data.

    Returns
    -------
    The solution, the rank of A and its condition number over the directions kept.
    """
    diagonal = np.abs(np.diagonal(A))
    scale = np.where(diagonal > 0, np.sqrt(diagonal), 1.0)
    values, vectors = linalg.eigh(A / np.outer(scale, scale))
    size = np.abs(values)
    kept = size > RANK_TOLERANCE * max(size.max(initial=0), np.finfo(float).tiny)
    if not kept.any():
        return np.zeros_like(B, dtype=float), 0, np.inf
    basis = vectors[:, kept]
    solution = basis @ ((basis.T @ (B / scale[:, None])) / values[kept, None]) / scale[:, None]
    return solution, int(kept.sum()), float(size[kept].max() / size[kept].min())


@dataclass(frozen=True)
class FittedSample(Sample):
    """A sample whose linear predictors are known already, because a closed form gives them."""

    fit: LinearFit

    def select(self, wanted: Array) -> FittedSample:
        """Keep the wanted labels and their predictors."""
        fit = replace(self.fit, coef=self.fit.coef[:, wanted], intercept=self.fit.intercept[wanted])
        return replace(self, Y=self.Y[:, wanted], fit=fit)


def errors(train: Sample, test: Sample, rng: np.random.Generator) -> Array:
    """Test MSE of linear predictors, one value a label; nothing is random."""
    fit = train.fit if isinstance(train, FittedSample) else least_squares(train.moments)
    return fit.mse(test.moments)
