"""Relative missingness: how much more the target loses than the source, estimated from counts of nonzeros.

With q_j = P(X̃_j ≠ 0), 1 − r_j = q^t_j / q^s_j = (1 − m^t_j)/(1 − m^s_j): identified although m^s and m^t are not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from scipy import sparse
from scipy.stats import hypergeom, norm

from dams._validation import check_covariates, check_draws, column_names, describe_columns, match_columns, warn_user
from dams.missingness import canonical_csr

Array = np.ndarray
Method = Literal["delta", "hoeffding", "bootstrap"]


@dataclass(frozen=True, repr=False)
class RelativeMissingness:
    """Estimated relative missingness of every feature, with intervals.

    Attributes
    ----------
    r : array of shape (d,)
        1 − q^t/q^s; negative where the target loses less than the source.
    lower, upper : array of shape (d,)
        Interval for r at level `confidence`, feature by feature.
    q_source, q_target : array of shape (d,)
        Shares of nonzeros.
    feature_names : list or None
        Names of the source's columns, if it is a DataFrame.
    """

    r: Array
    lower: Array
    upper: Array
    q_source: Array
    q_target: Array
    n_source: int
    n_target: int
    confidence: float
    method: str
    feature_names: list[Any] | None = None

    @property
    def filter_rates(self) -> Array:
        """max(r, 0), the rates at which algorithm 1 deletes source values."""
        return np.maximum(self.r, 0)

    @property
    def improper(self) -> Array:
        """Which features the target records better than the source: their whole interval lies below zero.

        Each is judged on its own, so of many features whose rates agree a few are expected here by chance.
        """
        return self.upper < 0

    @property
    def is_proper(self) -> bool:
        """Whether deleting source values can reproduce the target, as far as all features together tell.

        A filter can only delete, so it is proper where m^s ≤ m^t in every feature. Estimates scatter around zero where
        the rates agree; only an interval that lies below zero speaks against it, and of many intervals some do by
        chance. So the least p-value of the features that are `improper` (Fisher's exact test of q^t ≤ q^s) is held
        against (1 − confidence)/d, Bonferroni's level for all d: where the filter is proper, this says so with
        probability `confidence` at least.
        """
        improper = self.improper
        return not bool((self._p_recorded_better(improper) < (1 - self.confidence) / len(improper)).any())

    def _p_recorded_better(self, which: Array) -> Array:
        """P-values of Fisher's exact test of q^t ≤ q^s for some features; small where the target records better."""
        source, target = (
            np.rint(n * q[which]).astype(int)
            for n, q in ((self.n_source, self.q_source), (self.n_target, self.q_target))
        )
        return hypergeom.sf(target - 1, self.n_source + self.n_target, source + target, self.n_target)

    def __str__(self) -> str:
        more, less = self.lower > 0, self.upper < 0
        size = f"{self.n_source:,} source and {self.n_target:,} target rows"
        return (
            f"Of {len(self.r)} features the target loses {more.sum()} more often than the source, {less.sum()} less "
            f"often, and {(~more & ~less).sum()} can't be told ({100 * self.confidence:.4g} % intervals by feature; "
            f"{size}). {self._furthest(more | less)}Deleting source values {'can' if self.is_proper else 'cannot'} "
            "reproduce the target, as far as all features together tell."
        )

    # A notebook shows the sentence; the numbers are in `to_frame()`.
    __repr__ = __str__

    def _furthest(self, decided: Array, *, most: int = 3) -> str:
        """A sentence about the features furthest from zero, of those decided; empty without any."""
        order = np.argsort(-np.abs(self.r), kind="stable")
        shown = [
            f"{describe_columns(np.array([j]), self.feature_names)} (r = {self.r[j]:.2f}, {self.lower[j]:.2f} to "
            f"{self.upper[j]:.2f})"
            for j in order[decided[order]][:most]
        ]
        return f"Furthest from zero: {', '.join(shown)}. " if shown else ""

    def to_frame(self) -> pd.DataFrame:
        """One row a feature."""
        index = self.feature_names if self.feature_names is not None else range(len(self.r))
        return pd.DataFrame(
            {
                "r": self.r,
                "lower": self.lower,
                "upper": self.upper,
                "q_source": self.q_source,
                "q_target": self.q_target,
                "improper": self.improper,
            },
            # Labels that are tuples stay whole.
            index=pd.Index(index, name="feature", tupleize_cols=False),
        )


def count_nonzero(X: Any) -> Array:
    """Nonzeros of every column; X is dense or sparse."""
    if sparse.issparse(X):
        csr = canonical_csr(X)
        return np.bincount(csr.indices[csr.data != 0], minlength=csr.shape[1])
    # A narrow sum is the fastest way to count along the rows of a C-ordered array.
    return np.add.reduce(X != 0, axis=0, dtype=np.int32).astype(np.int64)


def estimate_relative_missingness(
    X_source: Any,
    X_target: Any,
    *,
    confidence: float = 0.95,
    method: Method = "delta",
    n_bootstrap: int = 2000,
    random_state: Any = None,
) -> RelativeMissingness:
    """Estimate r̂ = 1 − q̂^t/q̂^s and an interval for every feature.

    Parameters
    ----------
    X_source, X_target : array, DataFrame or sparse matrix
        Observed covariates, zero meaning missing or zero. DataFrames are matched by column name.
    confidence : float
        Level of each feature's interval.
    method : "delta", "hoeffding" or "bootstrap"
        "delta": normal approximation on the log of q^t/q^s, with exact limits for columns without a zero. "hoeffding":
        the paper's finite-sample bound, solved for r, wide but valid at any n. "bootstrap": percentiles over resampled
        rows; "delta" where every resample is the same.
    n_bootstrap, random_state
        Only used by "bootstrap", which needs at least 2/(1 − confidence) draws.

    Raises
    ------
    ValueError
        Where a feature is never observed in the source: its r is not identified.

    Warns
    -----
    UserWarning
        Where a feature is never observed in the target: r = 1, and nothing can be predicted from it there. Where no
        value of either table is zero, so that nothing is missing.

    Examples
    --------
    >>> import numpy as np
    >>> from dams import apply_missingness, estimate_relative_missingness
    >>> X = np.ones((10_000, 2))
    >>> source = apply_missingness(X, [0.2, 0.5], random_state=0)
    >>> target = apply_missingness(X, [0.6, 0.0], random_state=1)
    >>> estimate_relative_missingness(source, target).r.round(1)
    array([ 0.5, -1. ])
    """
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie between 0 and 1, got {confidence!r}.")
    names = column_names(X_source)
    source = check_covariates(X_source, name="X_source")
    target = check_covariates(match_columns(X_target, names, source.shape[1]), name="X_target")
    counts = count_nonzero(source), count_nonzero(target), source.shape[0], target.shape[0]
    warn_without_zeros(*counts)
    return from_counts(
        *counts,
        confidence=confidence,
        method=method,
        n_bootstrap=n_bootstrap,
        random_state=random_state,
        feature_names=names,
    )


def from_counts(
    count_source: Array,
    count_target: Array,
    n_source: int,
    n_target: int,
    *,
    confidence: float = 0.95,
    method: Method = "delta",
    n_bootstrap: int = 2000,
    random_state: Any = None,
    feature_names: list[Any] | None = None,
) -> RelativeMissingness:
    """`estimate_relative_missingness` for numbers of nonzeros that are already counted."""
    if not count_source.all():
        raise ValueError(
            f"The source holds only zeros in {describe_columns(np.flatnonzero(count_source == 0), feature_names)}: "
            "the relative missingness is not identified there. Drop what is never observed from both source and target."
        )
    if not count_target.all():
        warn_user(
            f"The target holds only zeros in {describe_columns(np.flatnonzero(count_target == 0), feature_names)}: "
            "the relative missingness is 1 there, and adjusted predictors will make no use of it."
        )
    q_source, q_target = count_source / n_source, count_target / n_target
    if method == "delta":
        low, high = _delta_interval(count_source, count_target, n_source, n_target, confidence)
    elif method == "hoeffding":
        low, high = _hoeffding_interval(q_source, q_target, n_source, n_target, confidence)
    elif method == "bootstrap":
        # So many that the tails beyond the interval hold a draw each.
        check_draws(n_bootstrap, round(2 / (1 - confidence), 6), purpose=f"an interval at confidence={confidence:g}")
        rng = np.random.default_rng(random_state)
        low, high = _bootstrap_interval(q_source, q_target, n_source, n_target, confidence, n_bootstrap, rng)
        # All values, or none: every resample is the same, and percentiles would claim to know the share exactly.
        one_sided = (count_target == 0) | (count_target == n_target) | (count_source == n_source)
        delta = _delta_interval(count_source, count_target, n_source, n_target, confidence)
        low, high = (np.where(one_sided, *limits) for limits in zip(delta, (low, high), strict=True))
    else:
        raise ValueError(f"method must be 'delta', 'hoeffding' or 'bootstrap', got {method!r}.")
    return RelativeMissingness(
        r=1 - q_target / q_source,
        lower=1 - high,
        upper=1 - low,
        q_source=q_source,
        q_target=q_target,
        n_source=n_source,
        n_target=n_target,
        confidence=confidence,
        method=method,
        feature_names=feature_names,
    )


def warn_without_zeros(count_source: Array, count_target: Array, n_source: int, n_target: int) -> None:
    """Warn where no value of either domain is zero: what was missing may have been centred or imputed away."""
    if (count_source == n_source).all() and (count_target == n_target).all():
        warn_user(
            "Neither source nor target holds a zero, which marks a missing value here: there is nothing to adjust. If "
            "the columns were centred or imputed before, set what is missing to 0 afterwards."
        )


def _delta_interval(
    count_source: Array, count_target: Array, n_source: int, n_target: int, confidence: float
) -> tuple[Array, Array]:
    """Interval for ρ = q^t/q^s: log ρ̂ is nearly normal with variance (1−q^t)/(n_t q^t) + (1−q^s)/(n_s q^s).

    A target count of zero, whose logarithm does not exist, is taken as one half for the upper limit. A column without
    a zero has an estimated variance of none; its exact limit, q ≥ (α/2)^{1/n}, takes its place.
    """
    q_source, q_target = count_source / n_source, np.maximum(count_target, 0.5) / n_target
    variance = (1 - q_target) / (n_target * q_target) + (1 - q_source) / (n_source * q_source)
    spread = norm.ppf((1 + confidence) / 2) * np.sqrt(variance)
    below = _with_exact_limit(spread, count_target, n_target, confidence)
    above = _with_exact_limit(spread, count_source, n_source, confidence)
    ratio = q_target / q_source
    return np.where(count_target == 0, 0.0, ratio * np.exp(-below)), ratio * np.exp(above)


def _with_exact_limit(spread: Array, count: Array, n: int, confidence: float) -> Array:
    """Add the exact limit of log q where one domain has no zero; its part in the spread is zero there."""
    return np.where(count == n, np.hypot(spread, np.log((1 - confidence) / 2) / n), spread)


def _hoeffding_interval(
    q_source: Array, q_target: Array, n_source: int, n_target: int, confidence: float
) -> tuple[Array, Array]:
    """The theorem's bound |r̂ − r| ≤ (a_t + (1−r) a_s)/q̂^s, a = √(log(4/δ)/2n), holds of the unknown r; solved for r.

    With ρ = 1 − r: (q̂^t − a_t)/(q̂^s + a_s) ≤ ρ ≤ (q̂^t + a_t)/(q̂^s − a_s), without upper limit where q̂^s ≤ a_s.
    """
    log_term = np.log(4 / (1 - confidence)) / 2
    a_source, a_target = np.sqrt(log_term / n_source), np.sqrt(log_term / n_target)
    room = q_source - a_source
    with np.errstate(divide="ignore"):
        high = np.where(room > 0, (q_target + a_target) / np.maximum(room, 0), np.inf)
    return np.maximum(q_target - a_target, 0) / (q_source + a_source), high


def _bootstrap_interval(
    q_source: Array,
    q_target: Array,
    n_source: int,
    n_target: int,
    confidence: float,
    n_bootstrap: int,
    rng: np.random.Generator,
) -> tuple[Array, Array]:
    """Percentiles of q^t/q^s. Resampling rows draws each column's count from a binomial, so no row is touched."""
    target = rng.binomial(n_target, q_target, (n_bootstrap, len(q_target))) / n_target
    source = rng.binomial(n_source, q_source, (n_bootstrap, len(q_source))) / n_source
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(source > 0, target / source, np.inf)
    tail = (1 - confidence) / 2
    # Order statistics, since a resample without a source value has no finite ratio to interpolate with.
    low, high = np.quantile(ratio, [tail, 1 - tail], axis=0, method="inverted_cdf")
    return low, high
