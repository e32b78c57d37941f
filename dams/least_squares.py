"""Least squares from moments: rows are read once, then every label and every method is a small solve."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import linalg
from scipy.linalg import lapack

from dams.moments import Moments

Array = np.ndarray

# Directions whose eigenvalue, in correlation form, is below this share of the largest one are rounding noise.
RANK_TOLERANCE = 1e-10
# Reciprocal condition from which on no direction can vanish, far enough from the above for an estimate to tell.
WELL_POSED = 1e-7


@dataclass(frozen=True)
class LinearFit:
    """Coefficients (d, k) and intercepts (k,) of k linear predictors, and the matrices that were inverted for them."""

    coef: Array
    intercept: Array
    systems: tuple[Array, ...]

    @cached_property
    def _spectra(self) -> list[Array]:
        return [spectrum(A) for A in self.systems]

    @property
    def rank(self) -> int:
        """The least rank of a system; below d, the solution is one of several, or as good as."""
        return min(len(values) for values in self._spectra)

    @property
    def condition(self) -> float:
        """The largest condition number of a system, over the directions in which it does not vanish."""
        sizes = [np.abs(values) for values in self._spectra]
        return max(float(size.max() / size.min()) if len(size) else np.inf for size in sizes)

    def mse(self, test: Moments) -> Array:
        """Mean squared error over the rows that `test` summarises, one value per label.

        E(Y − a − Xβ)² = Var(Y) − 2 βᵀCov(X, Y) + βᵀCov(X)β + (E[Y] − a − E[X]β)².
        """
        assert test.label_covariance is not None and test.label_mean is not None and test.label_variance is not None
        bias = test.label_mean - self.intercept - test.mean @ self.coef
        quadratic = np.einsum("jk,jk->k", self.coef, test.covariance @ self.coef - 2 * test.label_covariance)
        # Where the fit is perfect, what is left are rounding errors of either sign.
        return np.maximum(test.label_variance + quadratic, 0) + bias**2


def least_squares(moments: Moments, *, fit_intercept: bool = True) -> LinearFit:
    """Minimise E(Y − a − Xβ)² for the law with these moments; of several minimisers, the least in units of spread.

    With an intercept this is the system of a design with a column of ones, reduced to the other columns.
    """
    if moments.label_covariance is None or moments.label_mean is None:
        raise ValueError("Least squares needs moments made with labels.")
    if fit_intercept:
        coef = solve_symmetric(moments.covariance, moments.label_covariance)
        return LinearFit(coef, moments.label_mean - moments.mean @ coef, (moments.covariance,))
    coef = solve_symmetric(moments.gram, moments.cross)
    return LinearFit(coef, np.zeros_like(moments.label_mean), (moments.gram,))


def solve_symmetric(A: Array, B: Array) -> Array:
    """Solve A x = B for symmetric A, without the directions in which A vanishes; A need not be positive definite.

    Columns are brought to one scale first, so that the rank does not depend on the units of the data.
    """
    scaled, scale = correlation_form(A)
    right = B / scale[:, None]
    factor = cholesky(scaled)
    if factor is not None:
        return lapack.dpotrs(factor, right)[0] / scale[:, None]
    values, vectors = linalg.eigh(scaled)
    kept = _does_not_vanish(values)
    basis = vectors[:, kept]
    return basis @ ((basis.T @ right) / values[kept, None]) / scale[:, None]


def solve_definite(A: Array, B: Array) -> Array | None:
    """Solve A x = B; None unless symmetric A is positive definite, apart from directions in which it vanishes."""
    scaled, scale = correlation_form(A)
    factor = cholesky(scaled)
    if factor is not None:
        return lapack.dpotrs(factor, B / scale[:, None])[0] / scale[:, None]
    return solve_symmetric(A, B) if smallest_eigenvalue(A) > 0 else None


def smallest_eigenvalue(A: Array) -> float:
    """Smallest eigenvalue of A in correlation form, without the directions in which A vanishes."""
    return float(spectrum(A).min(initial=np.inf))


def spectrum(A: Array) -> Array:
    """Eigenvalues of A in correlation form, without those that are rounding noise."""
    values = linalg.eigvalsh(correlation_form(A)[0])
    return values[_does_not_vanish(values)]


def correlation_form(A: Array) -> tuple[Array, Array]:
    """Bring the columns of symmetric A to one scale; return it with what each was divided by."""
    diagonal = np.abs(np.diagonal(A))
    scale = np.where(diagonal > 0, np.sqrt(diagonal), 1.0)
    return A / np.outer(scale, scale), scale


def _does_not_vanish(eigenvalues: Array) -> Array:
    size = np.abs(eigenvalues)
    return size > RANK_TOLERANCE * max(size.max(initial=0), np.finfo(float).tiny)


def cholesky(A: Array) -> Array | None:
    """Upper factor of A; None if A is not safely positive definite. A tenth of the time of an eigendecomposition."""
    factor, failed = lapack.dpotrf(A)
    if failed or not len(A):
        return None
    reciprocal, _ = lapack.dpocon(factor, np.abs(A).sum(axis=0).max())
    return factor if reciprocal > WELL_POSED else None
