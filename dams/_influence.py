"""Standard errors of quantities that rest on both samples and on the estimated relative missingness.

A quantity h = E_s[a] + E_t[b] with r̂ inside has one influence value per row. r̂_u = 1 − q̂^t_u/q̂^s_u moves by
(1 − r_u)(z_u − q^s_u)/q^s_u per source row and by −(z_u − q^t_u)/q^s_u per target row, z_u saying whether the row has a
value of u. With the gradient G_u = ∂h/∂r_u,

    source row: a − E_s[a] + Σ_u G_u (1 − r_u)(z_u − q^s_u)/q^s_u        (over n_s)
    target row: b − E_t[b] − Σ_u G_u (z_u − q^t_u)/q^s_u                 (over n_t)

and the variance of ĥ is the sum over samples of the variance of the mean of these, of sums over groups of rows where
rows belong together. Losses are skewed, and signed weights make them more so: intervals follow Hall (1992), who
corrects Student's statistic for the skewness A of ĥ,

    t + A t²/3 + A² t³/27 + A/6,   A = (κ₃(source)/n_s² + κ₃(target)/n_t²)/se³,

which is nearly normal and increases in t, so that its inverse gives limits that lie further out on the longer side.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import ndtri, stdtrit

from dams._rows import correct_for_mean, effective_number

Array = np.ndarray


@dataclass(frozen=True)
class Sample:
    """One domain: which units its rows have values of, (n, units), and the number of each row's group."""

    present: Array
    groups: Array | None = None

    @cached_property
    def share(self) -> Array:
        """Shares of rows with a value of each unit, q."""
        return self.present.mean(axis=0)

    @property
    def effective(self) -> float:
        """Groups of rows of one size that would tell as much; rows, where each stands alone."""
        return len(self.present) if self.groups is None else effective_number(np.bincount(self.groups))

    def pieces(self, influence: Array) -> Array:
        """Independent pieces of a mean: centred values by row, or their sums by group, over the number of rows."""
        centred = influence - influence.mean(axis=0)
        if self.groups is not None:
            sums = np.zeros((int(self.groups.max()) + 1, influence.shape[1]))
            np.add.at(sums, self.groups, centred)
            centred = sums
        return centred / len(influence)

    def correct(self, squares: float) -> float:
        """Return a sum of powers of pieces, corrected for the mean that was taken out of them."""
        if self.groups is not None:
            return squares * correct_for_mean(np.bincount(self.groups))
        return squares * len(self.present) / max(len(self.present) - 1, 1)


@dataclass(frozen=True)
class Influence:
    """Pieces of k estimates, (pieces, k) per sample, whose sums of squares are variances; what they are pieces of."""

    source: Array
    target: Array
    samples: tuple[Sample, Sample]

    def moments(self, contrast: Array) -> tuple[float, float]:
        """Sums of squares and of cubes of the pieces of a combination, corrected for the mean that was taken out."""
        second = third = 0.0
        for sample, pieces in zip(self.samples, (self.source, self.target), strict=True):
            combined = pieces @ contrast
            squares = combined * combined  # combined ** 3 takes a hundred times as long
            second += sample.correct(squares.sum())
            third += sample.correct(squares @ combined)
        return second, third

    def standard_error(self, contrast: Array) -> float:
        """Standard error of a combination of the estimates."""
        return float(np.sqrt(self.moments(contrast)[0]))

    def limits(self, estimate: float, contrast: Array, confidence: float) -> tuple[float, float]:
        """Limits of a combination of the estimates."""
        second, third = self.moments(contrast)
        error = float(np.sqrt(second))
        if error == 0:
            return estimate, estimate
        skewness = third / error**3
        high = self._quantile(confidence)
        return estimate - error * _student(high, skewness), estimate - error * _student(-high, skewness)

    def _quantile(self, confidence: float) -> float:
        """Quantile of the statistic: Student's where rows belong together, as groups may be few."""
        if all(sample.groups is None for sample in self.samples):
            return float(ndtri((1 + confidence) / 2))
        least = min(sample.effective for sample in self.samples)
        return float(stdtrit(max(least - 1, 1), (1 + confidence) / 2))


def _student(quantile: float, skewness: float) -> float:
    """Student's statistic at which Hall's has this quantile."""
    if abs(skewness) < 1e-6:
        return quantile
    return float(3 / skewness * (np.cbrt(1 + skewness * (quantile - skewness / 6)) - 1))


@dataclass(frozen=True)
class Domains:
    """Both samples, and which units' r is estimated.

    `dams._influence_anchored` has the same for r and weights that depend on anchors; gradients are then in other
    parameters than r itself, so that they are collected here.
    """

    source: Sample
    target: Sample
    r: Array
    estimated: Array

    @property
    def n_parameters(self) -> int:
        """Parameters that gradients are taken in: r of every unit."""
        return len(self.r)

    @property
    def weights(self) -> Array:
        """Weights of the source rows."""
        return np.ones(len(self.source.present))

    def rates(self, rows: Array) -> Array:
        """Return r at some source rows, (units,) or (rows, units)."""
        return self.r

    def collect(self, rows: Array, units: Array, values: Array) -> Array:
        """Add up derivatives in r of single units at source rows, (N, k); returns (parameters, k)."""
        return np.column_stack([np.bincount(units, column, len(self.r)) for column in values.T])

    def collect_rows(self, rows: Array, values: Array) -> Array:
        """Add up derivatives in r of all units, (rows, units); returns (parameters,)."""
        return values.sum(axis=0)

    def influence(self, of_source: Array, of_target: Array, gradient: Array) -> Influence:
        """Return pieces of k estimates: values by source row (n_s, k), by target row (n_t, k), and G, (units, k)."""
        share = np.where(self.source.share > 0, self.source.share, 1.0)
        gradient = np.where(self.estimated[:, None], gradient, 0.0) / share[:, None]
        source = of_source + self.source.present @ (gradient * (1 - self.r)[:, None])
        target = of_target - self.target.present @ gradient
        return Influence(self.source.pieces(source), self.target.pieces(target), (self.source, self.target))
