"""Vital signs of the eICU simulator: wandering hour by hour, carried forward, summarised and binned as FIDDLE does."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

Array = np.ndarray

HOURS = 48
STATISTICS = ("value", "min", "max", "mean")

# Columns of one vital after its mask: two bins of delta_time, then five of each statistic.
VITAL_WIDTH = 2 + 5 * len(STATISTICS)


@dataclass(frozen=True)
class Vital:
    """A variable measured about every hour, carried forward where it is not.

    Its hourly maximum is centre + spread · (exp(skew · g) − 1)/skew, g standard normal.
    """

    name: str
    centre: float
    spread: float
    skew: float
    presence: float  # share of stays that have it at all
    density: float  # share of hours measured in those
    loading: float  # correlation of a stay's level with severity

    def units(self, g: Array) -> Array:
        """Natural units of a latent value."""
        return self.centre + self.spread * np.expm1(self.skew * g) / self.skew


# Public demo of eICU: recorded in 96 % of stays and 81 % of hours; quintiles of the maximum 71, 79, 87, 98.
NONINVASIVE_MEAN = Vital("noninvasivemean", 82.85, 15.89, 0.3006, 0.975, 0.84, -0.35)

VITALS = (
    Vital("cvp", 10, 5, 0.3, 0.2, 0.6, 0.3),
    Vital("heartrate", 86, 17, 0.15, 0.97, 0.93, 0.35),
    Vital("noninvasivediastolic", 64, 13, 0.2, 0.96, 0.84, -0.3),
    NONINVASIVE_MEAN,
    Vital("noninvasivesystolic", 122, 22, 0.2, 0.96, 0.84, -0.35),
    Vital("respiration", 20, 5, 0.25, 0.95, 0.9, 0.3),
    Vital("sao2", 96, 2, -0.5, 0.96, 0.9, -0.3),
    Vital("systemicmean", 80, 14, 0.2, 0.25, 0.8, -0.3),
    Vital("systemicsystolic", 120, 23, 0.15, 0.25, 0.8, -0.3),
    Vital("temperature", 37, 0.6, 0.2, 0.12, 0.5, 0.1),
)


def hourly_latents(rng: np.random.Generator, severity: Array, loading: Array) -> tuple[Array, Array]:
    """Draw the statistics of every vital at every hour on the latent scale.

    A stay's level explains 30 % of the variance, an AR(1) process the rest: a stay wanders through most bins.

    Returns
    -------
    Latents of shape (n, hours, vitals, statistics), and the "value" alone, which is what is carried forward.
    """
    n, v = len(severity), len(loading)
    level = np.outer(severity, loading) + np.sqrt(1 - loading**2) * rng.standard_normal((n, v))
    noise = rng.standard_normal((n, HOURS, v))
    ar = np.empty_like(noise)
    ar[:, 0] = noise[:, 0]
    for hour in range(1, HOURS):
        ar[:, hour] = 0.75 * ar[:, hour - 1] + np.sqrt(1 - 0.75**2) * noise[:, hour]
    high = np.sqrt(0.3) * level[:, None] + np.sqrt(0.7) * ar
    # Several measurements in an hour spread; a single one is its own minimum, maximum and mean.
    several = rng.random(high.shape) < 0.6
    below, lowest = np.abs(rng.standard_normal((2, *high.shape))) * 0.3 * several
    value = high - below
    low = value - lowest
    return np.stack([value, low, high, (high + low) / 2], axis=-1), value


def carry_forward(latents: Array, value: Array, measured: Array) -> tuple[Array, Array]:
    """Replace unmeasured hours by the last value before them.

    Returns
    -------
    Latents with NaN before the first measurement, and the hours since the last one.
    """
    hours = np.arange(HOURS)[None, :, None]
    last = np.maximum.accumulate(np.where(measured, hours, -1), axis=1)
    carried = np.take_along_axis(value, np.maximum(last, 0), axis=1)
    filled = np.where(measured[..., None], latents, carried[..., None])
    filled[last < 0] = np.nan
    return filled, np.where(last < 0, 0, hours - last)


def draw_measured(rng: np.random.Generator, n: int, presence: Array, density: Array) -> Array:
    """Draw which hours of which vital were measured, shape (n, hours, vitals).

    One stay in seven is measured seldom and the others more often, so that the mean over stays is `density`.
    """
    shape = (n, 1, len(presence))
    ever = rng.random(shape) < presence
    seldom = rng.random(shape) < 1 / 7
    often = (1 - 0.09 / 7) / (6 / 7)
    share = density * np.where(seldom, rng.uniform(0.02, 0.16, shape), often)
    return ever & (rng.random((n, HOURS, len(presence))) < share)


def bin_labels(vital: Vital, quintiles: Array, statistic: int) -> list[str]:
    """Label the bins of a statistic in natural units, as pandas.cut does."""
    edges = vital.units(np.concatenate([[-4.0], quintiles[statistic], [4.0]]))
    whole = 0 if vital.spread >= 2 else 1
    return interval_labels(np.round(edges, 3 if STATISTICS[statistic] == "mean" else whole))


def interval_labels(edges: Array) -> list[str]:
    """Name the intervals between edges as pandas.cut does, the lowest one closed."""
    lowest = round(float(edges[0]) - 0.001, 3)
    starts = [lowest, *(float(edge) for edge in edges[1:-1])]
    return [f"({start}, {float(stop)}]" for start, stop in zip(starts, edges[1:], strict=True)]


def latent_quintiles(vitals: tuple[Vital, ...]) -> Array:
    """Quintiles of every statistic over all stays and hours, of a pilot without losses."""
    rng = np.random.default_rng(2020)
    severity = rng.standard_normal(2000)
    latents, value = hourly_latents(rng, severity, np.array([v.loading for v in vitals]))
    presence, density = np.array([v.presence for v in vitals]), np.array([v.density for v in vitals])
    filled, _ = carry_forward(latents, value, draw_measured(rng, len(severity), presence, density))
    return np.nanquantile(filled, [0.2, 0.4, 0.6, 0.8], axis=(0, 1)).transpose(1, 2, 0)
