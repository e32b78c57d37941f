"""A printed number beside ours, with the chance that is in both.

The printed mean is over draws and β of its own, so it scatters around what its design gives on average, as ours does.
With the variances of our scores (`dams.stats.Components`), Var(ours − printed) is the variance of a mean over our
design plus that of a mean over theirs. The printed intervals are of no use for this: they take crossed runs for
independent ones (erratum E5).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtri, stdtrit

from dams.datasets.registry import is_scenario
from dams.report.evidence import Evidence
from dams.report.paper import published_score
from dams.report.scope import Scope
from dams.stats import Components, Interval

Array = np.ndarray
# Fewer draws say too little of their spread.
FEWEST_DRAWS = 5
# Designs that are drawn from our scores to see how far their means and spreads scatter.
SIMULATED = 2000


@dataclass(frozen=True)
class Compared:
    """A printed number and ours: their difference with an interval that covers the sampling error of both.

    `own` is ours with the chance in our run alone.
    """

    printed: float
    measured: float
    difference: Interval
    own: Interval
    draws: int

    @property
    def agrees(self) -> bool:
        """Whether no difference is left beyond chance."""
        return self.difference.lower <= 0 <= self.difference.upper


def printed_design(scope: Scope, method: str) -> tuple[int, int]:
    """Rate draws and β behind a printed number of table 1, by the paper's appendix."""
    if is_scenario(scope["dataset"]):
        return 20, 1
    return (50, 10) if scope["model"] == "linear" and method != "imputed" else (20, 5)


def printed_method(method: str) -> str:
    """Name the printed method that one of ours answers to."""
    return method.removesuffix("_as_published")


def difference_from_print(
    evidence: Evidence, scope: Scope, method: str, *, data: str | None = None, together: int = 1
) -> Compared:
    """Our mean score minus the printed one; `data` names another data set of ours to take it from."""
    (table,) = evidence.score_tables({**scope, "dataset": data or scope["dataset"]}, [method])
    printed = published_score(scope, printed_method(method))
    return _compared(evidence, table.to_numpy(), printed, printed_design(scope, method), together)


def gap_from_print(evidence: Evidence, scope: Scope, method: str, reference: str, *, together: int = 1) -> Compared:
    """Our mean difference of two methods minus the printed one: what both share of their cells cancels."""
    first, second = (table.to_numpy() for table in evidence.score_tables(scope, [method, reference]))
    printed = published_score(scope, printed_method(method)) - published_score(scope, reference)
    return _compared(evidence, first - second, printed, printed_design(scope, method), together)


def difference_as_published(evidence: Evidence, scope: Scope, method: str) -> Compared:
    """Compare a printed score of a scenario with what one sample and one β for all runs give (erratum E20).

    The mean over such a design scatters around the same expectation, but runs share what a sample and a β add; only the
    masks' part is averaged over. That part is the variance between the masks of our study of that design.
    """
    (redrawn,) = evidence.score_tables(scope, [method])
    (masks,) = evidence.score_tables(scope, [method], variant="as_published")
    total, of_masks = float(redrawn.to_numpy().var(ddof=1)), float(np.nanmean(masks.to_numpy().var(axis=0, ddof=1)))
    draws, _ = printed_design(scope, method)
    theirs = max(total - of_masks, 0.0) + of_masks / draws
    printed = published_score(scope, method)
    measured = float(redrawn.to_numpy().mean())
    parts = [(total / len(redrawn) + theirs, len(redrawn) - 1)]
    confidence, freedom = evidence.bootstrap.confidence, len(redrawn) - 1
    difference = _interval(measured - printed, parts, confidence, 1)
    own = _interval(measured, [(total / len(redrawn), freedom)], confidence, 1)
    return Compared(printed, measured, difference, own, len(redrawn))


def _compared(evidence: Evidence, table: Array, printed: float, design: tuple[int, int], together: int) -> Compared:
    a, b = table.shape
    parts, (their_a, their_b) = Components.of(table), design
    variances, freedom = (parts.draws, parts.betas, parts.rest), (a - 1, b - 1, (a - 1) * (b - 1))
    ours, theirs = (1 / a, 1 / b, 1 / (a * b)), (1 / their_a, 1 / their_b, 1 / (their_a * their_b))
    alone = [(variance * n, df) for variance, n, df in zip(variances, ours, freedom, strict=True)]
    both = [(variance * (n + m), df) for variance, n, m, df in zip(variances, ours, theirs, freedom, strict=True)]
    measured, confidence = float(np.nanmean(table)), evidence.bootstrap.confidence
    difference = _interval(measured - printed, both, confidence, together)
    return Compared(printed, measured, difference, _interval(measured, alone, confidence, together), a)


def _interval(value: float, parts: list[tuple[float, int]], confidence: float, together: int) -> Interval:
    """Student's interval for a sum of independent parts, each a variance with its degrees of freedom."""
    variance = sum(part for part, _ in parts)
    squares = sum(part**2 / freedom for part, freedom in parts if freedom > 0)
    if not squares:
        return Interval(value, math.nan, math.nan)
    half = float(stdtrit(variance**2 / squares, 1 - (1 - confidence) / (2 * together)) * np.sqrt(variance))
    return Interval(value, value - half, value + half)


def printed_spread(row: Mapping[str, Any], design: tuple[int, int]) -> float:
    """Standard deviation of single runs behind a printed interval, which is that of their mean taken as independent."""
    half = (row["upper"] - row["lower"]) / 2
    return float(half / ndtri(0.975) * np.sqrt(design[0] * design[1]))


def simulated_designs(table: Array, design: tuple[int, int], rng: np.random.Generator) -> tuple[Array, Array]:
    """Means, and standard deviations over single runs, of designs of that size drawn from our draws and β."""
    a, b = table.shape
    draws, betas = (rng.integers(0, n, (SIMULATED, size)) for n, size in zip((a, b), design, strict=True))
    runs = table[draws[:, :, None], betas[:, None, :]].reshape(SIMULATED, -1)
    return np.nanmean(runs, axis=1), np.nanstd(runs, axis=1)
