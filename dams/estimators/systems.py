"""The linear systems behind the stable closed form: its candidates, and the moments each is solved from.

`dams.estimators.stabilise` says which candidates there are and how one is chosen; `dams.estimators.anchored` has the
system in which r differs from row to row.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from dams.least_squares import solve_definite, solve_symmetric
from dams.moments import Moments

Array = np.ndarray
Gram = Literal["pooled", "target", "source"]
Kind = Literal["source", "recentred", "filter", "adjusted"]

# Penalty on the columns of β₀ that the target records better, in units of the target's variance and of −r.
DAMPINGS = (0.0, 0.1)


@dataclass(frozen=True)
class Candidate:
    """A predictor to choose: least squares on the source, β₀ ("filter"), or a step from β₀ ("adjusted").

    "recentred" has the slopes of least squares on the source and an intercept for the target's means.
    """

    kind: Kind
    caution: float = 0.0  # γ
    weight: float = 0.0  # α
    ridge: float = 0.0  # κ
    damping: float = 0.0

    @property
    def step(self) -> tuple[float, float, float]:
        """Return what the matrix of an adjusted candidate depends on."""
        return self.caution, self.weight, self.ridge


SOURCE = Candidate("source")


@dataclass(frozen=True)
class Setting:
    """Shared by all systems. With an intercept second moments are centred: a constant in the labels moves it alone."""

    fit_intercept: bool
    groups: Array | None

    def second(self, moments: Moments) -> Array:
        """Cov(X), or E[XᵀX] without an intercept."""
        return moments.covariance if self.fit_intercept else moments.gram

    def cross(self, moments: Moments) -> Array:
        """Cov(X, Y), or E[XᵀY]."""
        assert moments.label_covariance is not None
        return moments.label_covariance if self.fit_intercept else moments.cross

    def move(self, moments: Moments, r: Array) -> tuple[Array, Array]:
        """Second moments and cross-moment after the map with rate r."""
        moved = moments.moved(r, groups=self.groups)
        return self.second(moved), self.cross(moved)


class System:
    """Source and target moments of the same rows, and the r that goes with them.

    `dams.estimators.anchored` has the one in which r differs from row to row.
    """

    def __init__(self, source: Moments, target: Moments, counts: tuple[Array, Array], r: Array, setting: Setting):
        self.source, self.target, self.r, self.setting = source, target, r, setting
        self.there = setting.second(target)
        self.variance = variance_of_r(r, counts, (source.n, target.n))

    @property
    def moved_mean(self) -> Array:
        """Means of the source's covariates, moved by r."""
        return (1 - self.r) * self.source.mean

    @property
    def label_mean(self) -> Array:
        """E[Y] in the target."""
        return label_mean_of(self.source)

    @property
    def label_second(self) -> Array:
        """Var(Y) in the target, or E[Y²] without an intercept: what there is to explain."""
        label_variance = self.source.label_variance
        assert label_variance is not None
        return label_variance if self.setting.fit_intercept else label_variance + self.label_mean**2

    @property
    def amplification(self) -> Array:
        """How much more c_j varies than from rows of the target's own, 1 at least."""
        return np.maximum(1 - self.r, 1)

    @property
    def gain(self) -> Array:
        """How much better the target records, max(−r, 0), feature by feature."""
        return np.maximum(-self.r, 0)

    def share_undone(self, candidate: Candidate) -> float:
        """Share of the negative r that a candidate undoes."""
        return share_undone(self.r, self.theta(candidate.caution), candidate)

    def theta(self, caution: float) -> Array:
        """Share of a negative r that is undone, feature by feature."""
        return shares_to_undo(self.r, self.variance, caution)

    def gap_of_means(self, coef: Array) -> Array:
        """How much more the source's predictor expects of the target's rows than the label's mean there."""
        return (self.target.mean - self.source.mean) @ coef

    def moved(self, theta: Array | float) -> tuple[Array, Array]:
        """Second moments and cross-moment of the source, moved by max(r, 0) + θ min(r, 0)."""
        return self.setting.move(self.source, np.where(self.r < 0, theta * self.r, self.r))

    def systems(self, candidates: Sequence[Candidate]) -> Iterator[tuple[Array, Array | None]]:
        """Yield the matrix of every candidate and its coefficients, None if the matrix is not positive definite.

        Neighbours that differ in their damping alone share a factorisation, those of one γ the moved moments.
        """
        here = self.setting.second(self.source), self.setting.cross(self.source)
        noise, gain = np.diagonal(self.there) * self.amplification, self.gain
        calm_matrix, calm_cross = self.moved(0.0)
        calm = [calm_matrix + np.diag(damping * np.diagonal(self.there) * gain) for damping in DAMPINGS]
        starts = [solve_symmetric(matrix, calm_cross) for matrix in calm]
        last: Candidate | None = None
        for candidate in candidates:
            damped = DAMPINGS.index(candidate.damping)
            if candidate.kind == "filter":
                yield calm[damped], starts[damped]
                continue
            if candidate.kind != "adjusted":
                yield here[0], solve_symmetric(*here)
                continue
            if last is None or candidate.caution != last.caution:
                moved, cross = self.moved(self.theta(candidate.caution))
            if last is None or candidate.step != last.step:
                matrix = (1 - candidate.weight) * moved + candidate.weight * self.there
                left = np.hstack([cross - matrix @ start for start in starts])
                matrix.flat[:: len(matrix) + 1] += candidate.ridge * noise
                steps = solve_definite(matrix, left)
            last = candidate
            width = cross.shape[1]
            yield matrix, None if steps is None else starts[damped] + steps[:, damped * width : (damped + 1) * width]

    def solve(self, candidates: Sequence[Candidate]) -> Array:
        """Coefficients (candidates, d, k), NaN for those whose matrix is not positive definite."""
        missing = np.full_like(self.setting.cross(self.source), np.nan)
        return np.stack([missing if coef is None else coef for _, coef in self.systems(candidates)])


class Held:
    """The rows of a fold, moved by the r of all rows."""

    def __init__(self, whole: System, rows: tuple[Moments, Moments]):
        self._whole, (self.source, self.target) = whole, rows
        self.there = whole.setting.second(self.target)

    @property
    def moved_mean(self) -> Array:
        """Means of the source's covariates, moved by r."""
        return (1 - self._whole.r) * self.source.mean

    def moved(self, theta: float) -> tuple[Array, Array]:
        """Second moments and cross-moment of the source, moved by r as a whole, θ = 1."""
        assert theta == 1
        return self._whole.setting.move(self.source, self._whole.r)

    def gap_of_means(self, coef: Array) -> Array:
        """How much more the source's predictor expects of the target's rows than the label's mean there."""
        return (self.target.mean - self.source.mean) @ coef


def label_mean_of(moments: Moments) -> Array:
    """E[Y] of moments that were made with labels."""
    assert moments.label_mean is not None
    return moments.label_mean


def variance_of_r(r: Array, counts: tuple[Array, Array], n: tuple[Any, Any]) -> Array:
    """Variance of r̂ by the delta method, from rows in which a column is recorded."""
    counted = zip(counts, n, strict=True)
    return (1 - r) ** 2 * sum(1 / np.maximum(count, 1) - 1 / rows for count, rows in counted)


def shares_to_undo(r: Array, variance: Array, caution: float) -> Array:
    """θ_j = r_j²/(r_j² + γ Var(r̂_j)), the share of a negative r_j that is undone."""
    size = np.square(r) + caution * variance
    return np.square(r) / np.where(size > 0, size, 1.0)


def share_undone(r: Array, theta: Array, candidate: Candidate) -> float:
    """Share of the negative r that a candidate undoes; `theta` is that of its γ."""
    better = np.maximum(-r, 0)
    if candidate.kind in ("source", "recentred"):
        return 0.0
    if not better.any():
        return 1.0
    return float(better @ theta / better.sum()) if candidate.kind == "adjusted" else 0.0
