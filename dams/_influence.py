"""Standard errors of quantities that rest on both samples and on the estimated relative missingness.

A quantity h = E_s[a] + E_t[b] with r̂ inside has one influence value per row. r̂_u = 1 − q̂^t_u/q̂^s_u moves by
(1 − r_u)(z_u − q^s_u)/q^s_u per source row and by −(z_u − q^t_u)/q^s_u per target row, z_u saying whether the row has a
value of u. With the gradient G_u = ∂h/∂r_u,

    source row: a − E_s[a] + Σ_u G_u (1 − r_u)(z_u − q^s_u)/q^s_u        (over n_s)
    target row: b − E_t[b] − Σ_u G_u (z_u − q^t_u)/q^s_u                 (over n_t)

and the variance of ĥ is the sum over samples of the variance of the mean of these, of sums over groups of rows where
rows belong together.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import norm, t

Array = np.ndarray


@dataclass(frozen=True)
class Sample:
    """One domain: which units its rows have values of, (n, units), and the number of each row's group."""

    present: Array
    groups: Array | None = None

    @property
    def share(self) -> Array:
        """Shares of rows with a value of each unit, q."""
        return self.present.mean(axis=0)

    @property
    def n_groups(self) -> int:
        """Groups of rows; rows, where each stands alone."""
        return len(self.present) if self.groups is None else int(self.groups.max()) + 1

    def covariance(self, influence: Array) -> Array:
        """Covariance of means over rows from values by row: (n, k) to (k, k)."""
        centred = influence - influence.mean(axis=0)
        if self.groups is not None:
            sums = np.zeros((self.n_groups, influence.shape[1]))
            np.add.at(sums, self.groups, centred)
            centred = sums
        return centred.T @ centred * len(centred) / max(len(centred) - 1, 1) / len(influence) ** 2


@dataclass(frozen=True)
class Domains:
    """Both samples, and which units' r is estimated."""

    source: Sample
    target: Sample
    r: Array
    estimated: Array

    def covariance(self, of_source: Array, of_target: Array, gradient: Array) -> Array:
        """Covariance of k quantities: values by source row (n_s, k), by target row (n_t, k), and G, (units, k)."""
        share = np.where(self.source.share > 0, self.source.share, 1.0)
        gradient = np.where(self.estimated[:, None], gradient, 0.0) / share[:, None]
        source = of_source + self.source.present @ (gradient * (1 - self.r)[:, None])
        target = of_target - self.target.present @ gradient
        return self.source.covariance(source) + self.target.covariance(target)

    def quantile(self, confidence: float) -> float:
        """Standard errors on either side of an estimate; Student's t where rows belong together."""
        if self.source.groups is None and self.target.groups is None:
            return float(norm.ppf((1 + confidence) / 2))
        least = min(self.source.n_groups, self.target.n_groups)
        return float(t.ppf((1 + confidence) / 2, max(least - 1, 1)))
