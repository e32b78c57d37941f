"""Intervals for designs in which β and rate draws are crossed, and slopes over weighted draws."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri, stdtrit


@dataclass(frozen=True)
class Interval:
    """A mean with its interval."""

    mean: float
    lower: float
    upper: float


def crossed_bootstrap(
    values: np.ndarray,
    *,
    replicates: int = 2000,
    confidence: float = 0.95,
    together: int = 1,
    random_state: int | np.random.Generator | None = None,
) -> Interval:
    """Percentile interval for the mean of a table of draws × β, both resampled; stretched where they are few.

    Every score shares its rates with its row and its β with its column, so the number of independent pieces is that of
    rows and columns, not of entries. A replicate resamples the rows and, independently, the columns; it is a product of
    two weight vectors with the table, so no table is built. Percentiles over few pieces are too close to the mean:
    `small_sample_stretch` says by how much.

    Parameters
    ----------
    values : array of shape (draws, betas)
        NaN where there is no value; the mean is over the rest.
    together : int
        Number of intervals that are to hold together at this confidence; see `small_sample_stretch`.
    replicates, confidence, random_state
        As usual. With a single value the interval is NaN: nothing is known of its spread. With a single row it is that
        of the columns, and the other way round.
    """
    values = np.asarray(values, dtype=float)
    if values.ndim != 2:
        raise ValueError(f"values must be a table of draws × betas, got an array of shape {values.shape}.")
    known = _is_known(values)
    if not known.any():
        return Interval(np.nan, np.nan, np.nan)
    mean = float(np.where(known, values, 0.0).sum() / known.sum())
    if known.sum() == 1:
        return Interval(mean, np.nan, np.nan)
    means = crossed_replicates(values, replicates=replicates, random_state=random_state)
    stretch = small_sample_stretch(values, confidence, together=together)
    return percentile_interval(mean, means, confidence=confidence, stretch=stretch)


def percentile_interval(value: float, resampled: np.ndarray, *, confidence: float, stretch: float = 1.0) -> Interval:
    """Percentiles of a resampled quantity, their distances from its value stretched."""
    tail = (1 - confidence) / 2
    lower, upper = value + stretch * (np.nanquantile(resampled, [tail, 1 - tail]) - value)
    return Interval(value, float(lower), float(upper))


def small_sample_stretch(values: np.ndarray, confidence: float, *, together: int = 1) -> float:
    """How much further from the mean an interval must reach than the percentiles of its crossed bootstrap.

    Resampling n pieces gives their mean (n − 1)/n of its variance, and percentiles know nothing of the variance's own
    uncertainty. So the mean's variance is estimated without bias, as v = v_rows + v_columns, and the normal quantile
    that percentiles stand for becomes Student's, with the degrees of freedom that Satterthwaite gives to such a sum.

    Where `together` intervals shall hold at once, Student's quantile is that of 1 − (1 − confidence)/together, by
    Bonferroni: percentiles so far out would need many more replicates.
    """
    known = _is_known(values)
    estimated = resampled = squares = 0.0
    for axis in (0, 1):
        count = known.sum(axis=axis)
        means = np.where(known, values, 0.0).sum(axis=axis)[count > 0] / count[count > 0]
        n = len(means)
        if n > 1:
            variance = means.var(ddof=1) / n
            estimated += variance
            resampled += variance * (n - 1) / n
            squares += variance**2 / (n - 1)
    quantile, simultaneous = (1 - (1 - confidence) / (2 * count) for count in (1, together))
    if not squares:
        return float(ndtri(simultaneous) / ndtri(quantile))
    student = stdtrit(estimated**2 / squares, simultaneous) / ndtri(quantile)
    return float(student * np.sqrt(estimated / resampled))


@dataclass(frozen=True)
class Components:
    """Variances in a table of draws × β: of what a draw adds, of what a β adds, and of the rest of each entry."""

    draws: float
    betas: float
    rest: float

    @classmethod
    def of(cls, values: np.ndarray) -> Components:
        """Estimate them without bias, as in a two-way analysis of variance; those that come out negative are 0.

        With a single β (or draw) its share of the variance cannot be separated, and counts as the other's.
        """
        values = np.asarray(values, dtype=float)
        a, b = values.shape
        by_draw, by_beta = np.nanmean(values, axis=1), np.nanmean(values, axis=0)
        if a < 2 or b < 2:
            return cls(by_draw.var(ddof=1) if a > 1 else 0.0, by_beta.var(ddof=1) if b > 1 else 0.0, 0.0)
        left = values - by_draw[:, None] - by_beta + np.nanmean(values)
        rest = float(np.nansum(left**2) / ((a - 1) * (b - 1)))
        draws, betas = by_draw.var(ddof=1) - rest / b, by_beta.var(ddof=1) - rest / a
        return cls(max(float(draws), 0.0), max(float(betas), 0.0), rest)

    def variance_of_mean(self, draws: int, betas: int) -> float:
        """Variance of the mean over a design of that size, all drawn anew."""
        return self.draws / draws + self.betas / betas + self.rest / (draws * betas)


def crossed_replicates(
    values: np.ndarray, *, replicates: int = 2000, random_state: int | np.random.Generator | None = None
) -> np.ndarray:
    """Means of a table of draws × β under resampling of both; NaN where a replicate meets no value.

    Tables of the same shape meet the same resamples under the same seed, so a quantity of several means, such as their
    ratio, is resampled by calling this once per table.
    """
    known = _is_known(values)
    rng = np.random.default_rng(random_state)
    rows, columns = (resample_counts(n, replicates, rng) for n in values.shape)
    total = np.einsum("rb,rb->r", rows @ np.where(known, values, 0.0), columns)
    count = np.einsum("rb,rb->r", rows @ known.astype(float), columns)
    return np.divide(total, count, out=np.full(replicates, np.nan), where=count > 0)


def resample_counts(n: int, replicates: int, rng: np.random.Generator) -> np.ndarray:
    """Return how often each of n entries is met in each replicate, (replicates, n)."""
    # A seventh of the time of `rng.multinomial`.
    met = rng.integers(n, size=(replicates, n)) + n * np.arange(replicates)[:, None]
    return np.bincount(met.ravel(), minlength=replicates * n).reshape(replicates, n).astype(float)


def _is_known(values: np.ndarray) -> np.ndarray:
    """Where there is a value. An infinite one is refused: a mean without it would flatter what diverged."""
    infinite = np.isinf(values)
    if infinite.any():
        raise ValueError(
            f"values must be finite, or NaN where there is none, got {infinite.sum()} infinite. Leave out what they "
            "belong to as a whole, or compare medians."
        )
    return ~np.isnan(values)


def pooled_interval(values: np.ndarray, *, confidence: float = 0.95) -> Interval:
    """Normal interval as if all entries were independent, which is how the paper states its own; too narrow here."""
    flat = np.asarray(values, dtype=float).ravel()
    flat = flat[_is_known(flat)]
    if len(flat) < 2:
        return Interval(float(flat.mean()) if len(flat) else np.nan, np.nan, np.nan)
    mean, half = flat.mean(), ndtri((1 + confidence) / 2) * flat.std(ddof=1) / np.sqrt(len(flat))
    return Interval(float(mean), float(mean - half), float(mean + half))


def paired_difference(first: np.ndarray, second: np.ndarray, **options: object) -> Interval:
    """Interval for the mean of first − second, cell by cell: what both share of rates and β cancels."""
    return crossed_bootstrap(np.asarray(first) - np.asarray(second), **options)  # type: ignore[arg-type]


def weighted_slopes(x: np.ndarray, y: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Least-squares slope for each row of weights, which sum to 1; zero where x does not vary."""
    mean_x, mean_y = weights @ x, weights @ y
    variance = weights @ x**2 - mean_x**2
    return np.where(variance > 1e-12, (weights @ (x * y) - mean_x * mean_y) / np.maximum(variance, 1e-12), 0.0)
