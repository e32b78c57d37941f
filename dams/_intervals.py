"""Intervals for ρ = q^t/q^s = 1 − r from the tallies of both domains, and a test of q^t ≤ q^s."""

from __future__ import annotations

from typing import Literal

import numpy as np
from scipy.special import ndtri, stdtrit

from dams._rows import Tally, Worth
from dams._validation import check_draws

Array = np.ndarray
Method = Literal["delta", "hoeffding", "bootstrap"]


def ratio_interval(
    source: Tally, target: Tally, confidence: float, method: Method, n_bootstrap: int, rng: np.random.Generator
) -> tuple[Array, Array]:
    """Limits of ρ for every unit on its own."""
    if method == "delta":
        return delta_interval(source, target, confidence)
    if method == "hoeffding":
        return hoeffding_interval(source, target, confidence)
    if method == "bootstrap":
        # So many that the tails beyond the interval hold a draw each.
        check_draws(n_bootstrap, round(2 / (1 - confidence), 6), purpose=f"an interval at confidence={confidence:g}")
        drawn = _bootstrap_interval(source, target, confidence, n_bootstrap, rng)
        # All values, or none: every resample is the same, and percentiles would claim to know the share exactly.
        one_sided = (target.count == 0) | (target.count == target.n) | (source.count == source.n)
        delta = delta_interval(source, target, confidence)
        low, high = (np.where(one_sided, *limits) for limits in zip(delta, drawn, strict=True))
        return low, high
    raise ValueError(f"method must be 'delta', 'hoeffding' or 'bootstrap', got {method!r}.")


def delta_interval(source: Tally, target: Tally, confidence: float) -> tuple[Array, Array]:
    """Interval for ρ: log ρ̂ is nearly normal with variance (1−q^t)/(n_t q^t) + (1−q^s)/(n_s q^s).

    A target count of zero, whose logarithm does not exist, is taken as one half for the upper limit. A column without
    a zero has an estimated variance of none; its exact limit, q ≥ (α/2)^{1/n}, takes its place. Where rows belong
    together, n is the number of independent rows that would know the share as well, and Student's t with Welch's
    degrees of freedom, counted in groups of one size, replaces the normal law.
    """
    n_source, n_target = source.independent, target.independent
    q_source, q_target = source.q, np.where(target.count == 0, 0.5 / n_target, target.q)
    parts = (1 - q_target) / (n_target * q_target), (1 - q_source) / (n_source * q_source)
    variance = parts[0] + parts[1]
    spread = _quantile(parts, (target, source), confidence) * np.sqrt(variance)
    below = _with_exact_limit(spread, target, n_target, confidence)
    above = _with_exact_limit(spread, source, n_source, confidence)
    ratio = q_target / q_source
    return np.where(target.count == 0, 0.0, ratio * np.exp(-below)), ratio * np.exp(above)


def _quantile(parts: tuple[Array, Array], tallies: tuple[Tally, Tally], confidence: float) -> Array | float:
    if all(tally.grouped is None for tally in tallies):
        return ndtri((1 + confidence) / 2)
    squares = sum(part**2 / max(tally.effective - 1, 1) for part, tally in zip(parts, tallies, strict=True))
    with np.errstate(divide="ignore", invalid="ignore"):
        degrees = np.where(squares > 0, (parts[0] + parts[1]) ** 2 / squares, np.inf)
    return stdtrit(degrees, (1 + confidence) / 2)


def _with_exact_limit(spread: Array, tally: Tally, n: Array | int, confidence: float) -> Array:
    """Add the exact limit of log q where one domain has no zero; its part in the spread is zero there."""
    return np.where(tally.count == tally.n, np.hypot(spread, np.log((1 - confidence) / 2) / n), spread)


def hoeffding_interval(source: Tally, target: Tally, confidence: float) -> tuple[Array, Array]:
    """The theorem's bound |r̂ − r| ≤ (a_t + (1−r) a_s)/q̂^s, a = √(log(4/δ)/2n), holds of the unknown r; solved for r.

    With ρ = 1 − r: (q̂^t − a_t)/(q̂^s + a_s) ≤ ρ ≤ (q̂^t + a_t)/(q̂^s − a_s), without upper limit where q̂^s ≤ a_s. Where
    rows belong together, sums over groups are independent and bounded by the groups' sizes, so Hoeffding's inequality
    holds with n = (Σ size)²/Σ size².
    """
    log_term = np.log(4 / (1 - confidence)) / 2
    a_source, a_target = (np.sqrt(log_term / tally.effective) for tally in (source, target))
    room = source.q - a_source
    with np.errstate(divide="ignore"):
        high = np.where(room > 0, (target.q + a_target) / np.maximum(room, 0), np.inf)
    return np.maximum(target.q - a_target, 0) / (source.q + a_source), high


def _bootstrap_interval(
    source: Tally, target: Tally, confidence: float, n_bootstrap: int, rng: np.random.Generator
) -> tuple[Array, Array]:
    """Percentiles of q^t/q^s over resampled rows, or groups of rows."""
    shares = [_resample(tally, n_bootstrap, rng) for tally in (target, source)]
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(shares[1] > 0, shares[0] / shares[1], np.inf)
    tail = (1 - confidence) / 2
    # Order statistics, since a resample without a source value has no finite ratio to interpolate with.
    low, high = np.quantile(ratio, [tail, 1 - tail], axis=0, method="inverted_cdf")
    return low, high


def _resample(tally: Tally, n_bootstrap: int, rng: np.random.Generator) -> Array:
    """Shares over resamples. Resampling rows draws each column's count from a binomial, so no row is touched."""
    if tally.grouped is not None:
        return tally.grouped.resample(n_bootstrap, rng)
    return rng.binomial(tally.n, tally.q, (n_bootstrap, len(tally.q))) / tally.n


def p_recorded_better(source: Worth, target: Worth, units: Array) -> Array:
    """P-values of Fisher's exact test of q^t ≤ q^s for some units; small where the target records better.

    Where rows belong together, the test is of as many independent rows as would know the shares as well (the
    correction of Rao and Scott), rounded.
    """
    # A third of a second to load, and jobs of the pipeline do not come here.
    from scipy.stats import hypergeom

    sizes = [np.rint(np.broadcast_to(worth.independent, worth.q.shape)[units]) for worth in (source, target)]
    hits = [np.rint(n * worth.q[units]).astype(int) for n, worth in zip(sizes, (source, target), strict=True)]
    n_source, n_target = (n.astype(int) for n in sizes)
    return hypergeom.sf(hits[1] - 1, n_source + n_target, hits[0] + hits[1], n_target)
