"""E[Y | X_j, S]: the label that is expected where a column has a value, as a function of that value and the anchors.

Values are lost at random given S, so h_j(x, s) = E[Y | X_j = x, X_j ≠ 0, S = s] is that of the rows which show column
j, the same in source and target. It is taken to be linear in x with smooth coefficients,

    h_j(x, s) = a(s) + z b(s),    z = (x − centre)/scale,

a and b on the basis of the anchors (`dams._smooth`), by penalised least squares over the source rows with a value of
X_j. a is penalised as the logistic regressions are, b's constant by μ, its other columns by λ max(ρ_k/ρ_1, 1) as
products are. λ is the one of least n log(sum of squares) + 2 · (effective parameters), Akaike's criterion, for each
label.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dams._smooth import MAIN_PENALTY, PENALTIES, SmoothBasis
from dams.estimators.folds import N_FOLDS

Array = np.ndarray

# Keeps systems solvable where all rows that show a column are in one fold, and logarithms finite.
TINY = 1e-10


@dataclass(frozen=True)
class LabelCurves:
    """Coefficients of h_j on (B, z B), (2p, k) for every column that has one, and λ, (k,)."""

    label_mean: Array
    centre: Array
    scale: Array
    coef: dict[int, Array]
    smoothing: dict[int, Array]

    def at(self, column: int, x: Array, B: Array) -> Array:
        """Return h_j at values x (n,) of a column in rows with the anchors' basis B, (n, k)."""
        return self.label_mean + _features(x, B, self.centre[column], self.scale[column]) @ self.coef[column]


class LabelSums:
    """Second moments behind the curves of some columns, by fold: without a fold they are made anew, with the same λ.

    `worth` is what a row counts for when λ is chosen, less than 1 where rows belong together.
    """

    def __init__(
        self,
        basis: SmoothBasis,
        rows: tuple[Array, Array, Array],
        folds: Array,
        columns: Array,
        *,
        worth: float = 1.0,
    ):
        X, Y, B = rows
        self.basis, self.worth = basis, worth
        self.label_mean = Y.mean(axis=0)
        left = Y - self.label_mean
        self.centre, self.scale = np.zeros(X.shape[1]), np.ones(X.shape[1])
        self.sums: dict[int, tuple[Array, Array, Array]] = {}
        self.shown: dict[int, int] = {}
        for j in columns.tolist():
            shown = np.flatnonzero(X[:, j])
            self.centre[j], self.scale[j] = X[shown, j].mean(), X[shown, j].std() or 1.0
            parts = [shown[folds[shown] == fold] for fold in range(N_FOLDS)]
            F = [_features(X[some, j], B[some], self.centre[j], self.scale[j]) for some in parts]
            self.sums[j] = (
                np.stack([f.T @ f for f in F]),
                np.stack([f.T @ left[some] for f, some in zip(F, parts, strict=True)]),
                np.square(left[shown]).sum(axis=0),
            )
            self.shown[j] = shown.size

    def curves(self) -> LabelCurves:
        """Return the curves of all rows."""
        coef, smoothing = {}, {}
        for j, (grams, crosses, squares) in self.sums.items():
            gram, cross = grams.sum(axis=0), crosses.sum(axis=0)
            best = np.full(cross.shape[1], np.inf)
            coef[j], smoothing[j] = np.zeros_like(cross), np.full(cross.shape[1], PENALTIES[0])
            for value in PENALTIES:
                found, parameters = self._solve(gram, cross, value)
                left = squares - np.einsum("pk,pk->k", found, 2 * cross - gram @ found)
                left = np.maximum(left, TINY * squares) + np.finfo(float).tiny
                criterion = self.worth * self.shown[j] * np.log(left) + 2 * parameters
                better = criterion < best
                best = np.where(better, criterion, best)
                coef[j][:, better], smoothing[j][better] = found[:, better], value
        return LabelCurves(self.label_mean, self.centre, self.scale, coef, smoothing)

    def without(self, fold: int, near: LabelCurves) -> LabelCurves:
        """Return the curves without the rows of a fold, with the λ of those of all rows."""
        coef = {}
        for j, (grams, crosses, _) in self.sums.items():
            gram, cross = grams.sum(axis=0) - grams[fold], crosses.sum(axis=0) - crosses[fold]
            coef[j] = np.empty_like(cross)
            for value in np.unique(near.smoothing[j]):
                some = near.smoothing[j] == value
                coef[j][:, some] = self._solve(gram, cross[:, some], value)[0]
        return LabelCurves(self.label_mean, self.centre, self.scale, coef, near.smoothing)

    def _solve(self, gram: Array, cross: Array, smoothing: float) -> tuple[Array, float]:
        """Coefficients, and how many parameters they are worth."""
        products = smoothing * np.maximum(self.basis.roughness[1:], 1)
        penalty = np.concatenate([self.basis.penalty(smoothing), [MAIN_PENALTY], products])
        solved = np.linalg.solve(gram + np.diag(penalty + TINY), np.hstack([cross, gram]))
        width = cross.shape[1]
        return solved[:, :width], float(np.trace(solved[:, width:]))


def _features(x: Array, B: Array, centre: float, scale: float) -> Array:
    return np.hstack([B, ((x - centre) / scale)[:, None] * B])
