"""Many linear systems that are close to one whose factor is known, by preconditioned conjugate gradients."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg import lapack

from dams.least_squares import cholesky, correlation_form

Array = np.ndarray
Product = Callable[[Array], Array]

# The residual at the end, as a share of the right-hand side, and the most steps to get there.
TOLERANCE = 1e-4
MOST_STEPS = 50
# Added to a correlation matrix that is as good as singular before its factor is taken, which only steers the steps.
LIFT = 1e-6


class Factor:
    """Cholesky factor of a matrix in correlation form, lifted by `LIFT` where the matrix is as good as singular."""

    def __init__(self, matrix: Array):
        scaled, self.scale = correlation_form(matrix)
        factor = cholesky(scaled)
        self.exact = factor is not None
        if factor is None:
            scaled.flat[:: len(scaled) + 1] += LIFT
            factor, failed = lapack.dpotrf(scaled)
            factor = None if failed else factor
        self.factor = factor

    @property
    def definite(self) -> bool:
        """Whether there is a factor."""
        return self.factor is not None

    def solve(self, V: Array) -> Array:
        """Solve for a block; without a factor, divide by the scale alone."""
        right = V.reshape(len(V), -1) / self.scale[:, None]
        if self.factor is not None:
            right = lapack.dpotrs(self.factor, right)[0]
        return (right / self.scale[:, None]).reshape(V.shape)


def conjugate_gradients(product: Product, solve: Product, B: Array, start: Array) -> tuple[Array, Array]:
    """Solve A x = B column by column, all at once; return x, and for which columns A is seen not to be positive.

    `product` multiplies by A, and `solve` by the inverse of a matrix that is close to it; `start` is close to x. What
    does not converge stays as far as it got, and is counted as not positive.
    """
    x = start.copy()
    left = B - product(x)
    z = solve(left)
    p, rho = z, (left * z).sum(axis=0)
    enough = TOLERANCE**2 * np.abs((B * start).sum(axis=0))
    indefinite = np.zeros(rho.shape, dtype=bool)
    for _ in range(MOST_STEPS):
        active = (rho > enough) & ~indefinite
        if not active.any():
            break
        q = product(p)
        curvature = (p * q).sum(axis=0)
        indefinite |= active & (curvature <= 0)
        active &= ~indefinite
        step = np.where(active, rho / np.where(active, curvature, 1), 0)
        x += step * p
        left -= step * q
        z = solve(left)
        new = (left * z).sum(axis=0)
        p = z + np.where(active, new / np.where(rho > 0, rho, 1), 0) * p
        rho = new
    return x, indefinite | (rho > enough)
