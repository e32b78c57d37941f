"""Smooth functions of a few columns, and penalised logistic regressions on them.

A column with at most `MOST_LEVELS` values is a category: one 0/1 column per level but the most frequent. Any other is a
number s and enters linearly and through a natural cubic spline. With N the spline's columns, freed of 1 and s, Ω their
integrated products of second derivatives and G their second moments, the basis N V with VᵀGV = I and VᵀΩV = diag(ρ)
(Demmler and Reinsch's) has columns from smooth to wiggly, ρ_1 ≤ ρ_2 ≤ …. Columns are then joined by the products of the
linear parts and levels of different columns, so that a number may matter otherwise in every level.

A logistic regression on it minimises

    −log likelihood + ½ (μ Σ_main β_k² + λ Σ_rest (ρ_k/ρ_1) β_k²):

a smoothing spline of low rank. All columns have variance 1, so 1/√μ is the effect of one standard deviation, in
log-odds, that is thought plausible. λ is the one of least deviance + 2 · (effective parameters), Akaike's criterion,
which for a known scale is the generalised cross-validation of Craven and Wahba.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg

Array = np.ndarray

# A column of more values is a number.
MOST_LEVELS = 10
# Knots, at equally spaced quantiles of all rows; beyond the outermost the curve is straight …
N_KNOTS, OUTERMOST = 7, 0.025
# … and from these quantiles on constant: single rows far out would bend it for all others.
CLIPPED = 0.005
# Products of the columns' linear parts and levels are left out where there are more.
MOST_PRODUCTS = 20
MAIN_PENALTY = 0.25
PENALTIES = (1e4, 1e3, 1e2, 1e1, 1e0)
# λ is chosen on so many rows at most, evenly spread.
ENOUGH_ROWS = 20_000
MOST_STEPS, TOLERANCE = 25, 1e-8
# Log-odds of what is always, or never, the case.
CERTAIN = 30.0


@dataclass(frozen=True)
class _Number:
    """A column that enters linearly and through a spline."""

    low: float
    high: float
    centre: float
    scale: float
    knots: Array
    straight: Array  # (2, m): what 1 and s explain of the spline's columns
    turn: Array  # (m, m): V

    @classmethod
    def of(cls, values: Array) -> tuple[_Number, Array]:
        """Return the basis of a column, and ρ of the spline's part."""
        low, high = np.quantile(values, [CLIPPED, 1 - CLIPPED])
        clipped = np.clip(values, low, high)
        centre, scale = float(clipped.mean()), float(clipped.std()) or 1.0
        s = (clipped - centre) / scale
        knots = np.unique(np.quantile(s, np.linspace(OUTERMOST, 1 - OUTERMOST, N_KNOTS)))
        empty = np.zeros((2, 0)), np.zeros((0, 0))
        if len(knots) < 3:
            return cls(low, high, centre, scale, knots, *empty), np.zeros(0)
        N, line = _natural_spline(s, knots), np.column_stack([np.ones_like(s), s])
        straight = np.linalg.lstsq(line, N, rcond=None)[0]
        N = N - line @ straight
        grid = np.linspace(knots[0], knots[-1], 400)
        curved = _second_derivatives(grid, knots)
        # Of the columns' own size, so that no direction is lost to rounding.
        size = np.sqrt(np.square(N).mean(axis=0))
        gram, rough = (part.T @ part / len(part) for part in (N / size, curved / size))
        rho, V = linalg.eigh(rough, gram)
        return cls(low, high, centre, scale, knots, straight, V / size[:, None]), rho

    def main(self, values: Array) -> Array:
        return ((np.clip(values, self.low, self.high) - self.centre) / self.scale)[:, None]

    def rest(self, main: Array) -> Array:
        if not len(self.turn):
            return np.zeros((len(main), 0))
        line = np.column_stack([np.ones(len(main)), main])
        return (_natural_spline(main[:, 0], self.knots) - line @ self.straight) @ self.turn


@dataclass(frozen=True)
class _Category:
    """A column that enters by level; one that neither domain shows counts as the most frequent."""

    levels: Array  # all but the most frequent
    shares: Array

    @classmethod
    def of(cls, values: Array) -> tuple[_Category, Array]:
        levels, counts = np.unique(values, return_counts=True)
        kept = np.arange(len(levels)) != counts.argmax()
        return cls(levels[kept], counts[kept] / len(values)), np.zeros(0)

    def main(self, values: Array) -> Array:
        shown = (values[:, None] == self.levels) - self.shares
        return shown / np.sqrt(self.shares * (1 - self.shares))

    def rest(self, main: Array) -> Array:
        return np.zeros((len(main), 0))


@dataclass(frozen=True)
class SmoothBasis:
    """The columns on which the regressions are made, and the penalty of each in units of μ and of λ.

    Attributes
    ----------
    parts : list
        One per column.
    is_main : array of shape (p,)
        Which columns of the basis are penalised by μ.
    roughness : array of shape (p,)
        ρ_k/ρ_1 of the columns that λ penalises, 0 of the others; the first column is constant at 1.
    """

    parts: tuple[Any, ...]
    is_main: Array
    roughness: Array
    n_products: int

    @classmethod
    def of(cls, S: Array) -> SmoothBasis:
        """Make the basis for the columns S (n, a) of both domains together."""
        parts, roughness, mains = [], [], []
        for column in S.T:
            few = len(np.unique(column)) <= MOST_LEVELS
            part, rho = (_Category if few else _Number).of(column)
            parts.append(part)
            roughness.append(rho / rho[0] if len(rho) else rho)
            mains.append(part.main(column[:1]).shape[1])
        n_products = (sum(mains) ** 2 - sum(np.square(mains))) // 2
        n_products = int(n_products) if n_products <= MOST_PRODUCTS else 0
        main = np.concatenate(
            [[False], np.ones(sum(mains), bool), np.zeros(sum(map(len, roughness)) + n_products, bool)]
        )
        rest = np.concatenate([np.zeros(1 + sum(mains)), *roughness, np.ones(n_products)])
        return cls(tuple(parts), main, rest, n_products)

    def __call__(self, S: Array) -> Array:
        """Return the columns of the basis at rows S, (n, p)."""
        mains = [part.main(column) for part, column in zip(self.parts, S.T, strict=True)]
        rests = [part.rest(main) for part, main in zip(self.parts, mains, strict=True)]
        products = [
            (first[:, :, None] * second[:, None]).reshape(len(S), -1)
            for k, first in enumerate(mains if self.n_products else [])
            for second in mains[k + 1 :]
        ]
        return np.hstack([np.ones((len(S), 1)), *mains, *rests, *products])

    def penalty(self, smoothing: float) -> Array:
        """Penalties of the columns at λ = `smoothing`, (p,)."""
        return MAIN_PENALTY * self.is_main + smoothing * self.roughness


@dataclass(frozen=True)
class LogisticFit:
    """A penalised logistic regression: coefficients (p,), their covariance (p, p), and the λ that was chosen.

    `inverse` is that of the penalised likelihood's second derivatives: a row b with outcome h moves the coefficients by
    inverse · b (h − p̂).
    """

    coef: Array
    covariance: Array
    smoothing: float
    inverse: Array

    def log_odds(self, B: Array) -> Array:
        """Return the log-odds at rows of the basis."""
        return B @ self.coef


def fit_logistic(
    basis: SmoothBasis,
    B: Array,
    hit: Array,
    *,
    smoothing: float | None = None,
    start: Array | None = None,
    worth: float = 1.0,
) -> LogisticFit:
    """Regress a 0/1 column `hit` on the basis B at its rows; without `smoothing`, with the λ of least AIC.

    `start` are coefficients nearby, as of a fit on nearly the same rows. `worth` is what a row counts for when λ is
    chosen, less than 1 where rows belong together.
    """
    total = np.count_nonzero(hit)
    if total in (0, len(hit)):
        certain = np.zeros(B.shape[1])
        certain[0] = CERTAIN if total else -CERTAIN
        nothing = np.zeros((len(certain),) * 2)
        return LogisticFit(certain, nothing, smoothing or PENALTIES[0], nothing)
    if start is None or abs(start[0]) >= CERTAIN:
        start = np.zeros(B.shape[1])
        start[0] = np.log(total / (len(hit) - total))
    hit = np.asarray(hit, dtype=float)
    if smoothing is None:
        smoothing, start = _choose_smoothing(basis, B, hit, start, worth)
    coef, hessian = _minimise(B, hit, basis.penalty(smoothing), start)
    inverse = np.linalg.inv(hessian + np.diag(basis.penalty(smoothing)))
    # The posterior covariance of the penalty as a prior, which counts what the penalty biases as uncertain.
    return LogisticFit(coef, inverse, smoothing, inverse)


def _choose_smoothing(basis: SmoothBasis, B: Array, hit: Array, start: Array, worth: float) -> tuple[float, Array]:
    if not basis.roughness.any():
        return PENALTIES[0], start
    rows = slice(None, None, -(-len(hit) // ENOUGH_ROWS))
    some, shown = B[rows], hit[rows]
    if shown.all() or not shown.any():
        return PENALTIES[0], start
    best, found, coef = np.inf, (PENALTIES[0], start), start
    for smoothing in PENALTIES:
        penalty = basis.penalty(smoothing)
        coef, hessian = _minimise(some, shown, penalty, coef)
        parameters = np.trace(np.linalg.solve(hessian + np.diag(penalty), hessian))
        criterion = 2 * worth * _loss(some @ coef, shown) + 2 * parameters
        if criterion < best:
            best, found = criterion, (smoothing, coef)
    return found


def _minimise(B: Array, hit: Array, penalty: Array, coef: Array) -> tuple[Array, Array]:
    """Newton's method with halved steps; returns the coefficients and the likelihood's second derivatives there."""
    eta = B @ coef
    value = _loss(eta, hit) + 0.5 * penalty @ coef**2
    for _ in range(MOST_STEPS):
        p = expit(eta)
        hessian = (B * (p * (1 - p))[:, None]).T @ B
        gradient = B.T @ (p - hit) + penalty * coef
        step = np.linalg.solve(hessian + np.diag(penalty + 1e-10), gradient)
        gain = gradient @ step
        for _ in range(MOST_STEPS):
            moved = coef - step
            eta = B @ moved
            new = _loss(eta, hit) + 0.5 * penalty @ moved**2
            if new <= value + 1e-10 * abs(value):
                break
            step = step / 2
        coef, value = moved, new
        if gain < TOLERANCE * (1 + abs(value)):
            break
    p = expit(eta)
    return coef, (B * (p * (1 - p))[:, None]).T @ B


def _loss(eta: Array, hit: Array) -> float:
    """−log likelihood; log(1 + e^η) without overflow, in half the time of `logaddexp`."""
    return float((np.maximum(eta, 0) + np.log1p(np.exp(-np.abs(eta)))).sum() - hit @ eta)


def expit(eta: Array) -> Array:
    """Return 1/(1 + e^−η), without overflow."""
    return 0.5 * (1 + np.tanh(0.5 * eta))


def _natural_spline(s: Array, knots: Array) -> Array:
    """Natural cubic splines without 1 and s, (n, knots − 2), as differences of truncated cubes."""
    beyond = np.maximum(s[:, None] - knots, 0)
    cubes = beyond * beyond * beyond  # as a power it takes a hundred times as long
    d = (cubes[:, :-1] - cubes[:, -1:]) / (knots[-1] - knots[:-1])
    return d[:, :-1] - d[:, -1:]


def _second_derivatives(s: Array, knots: Array) -> Array:
    bends = 6 * np.maximum(s[:, None] - knots, 0)
    d = (bends[:, :-1] - bends[:, -1:]) / (knots[-1] - knots[:-1])
    return d[:, :-1] - d[:, -1:]
