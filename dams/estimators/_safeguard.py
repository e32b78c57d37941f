"""Whether adjusted source rows may be trusted: a linear predictor stands for the model, and its target risk is known.

The filter can't follow where the target records better, and what is filled in one column after another is wrong where
columns are lost together. The risk in the target of a *linear* predictor f(x) = a + βᵀx needs neither: E_t[f] and
Var_t(f) are those of the target's own rows, and Cov_t(f, Y) = βᵀ((1 − r) ⊙ Cov_s(X̃, Y)) holds whatever is lost
together. So least squares on the adjusted rows, f₁, is compared with least squares on the source rows as they are, f₀,
on held-out rows of both domains:

    R(f₀) − R(f₁) = E_t[(f₀ − f₁)²] + 2 E_t[(f₁ − Y)(f₀ − f₁)].

If the adjusted rows have the target's law, the last term is zero. Where it is clearly negative they have not, and the
adjustment must be clearly better than none; so must a filter that deletes where r is improper.

Where nothing shows that values are recorded at other rates, what is deleted or filled follows the sampling error of r̂,
which a linear predictor with the same r̂ can't see: then the source rows are used as they are.

Means of columns that are always recorded say nothing of loss and are left out of the intercepts' errors. Where they
clearly differ, the target's rows are those of another population, and the moved source's matrix takes their place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dams._rows import correct_for_mean, resolve_row_groups
from dams.estimators._populations import clearly_differ, moments_of
from dams.estimators.folds import deal_rows, merge
from dams.estimators.stabilise import mean_and_error
from dams.estimators.systems import variance_of_r
from dams.least_squares import least_squares
from dams.moments import Moments
from dams.relative import RelativeMissingness, count_nonzero

Array = np.ndarray

# Standard errors that are clear.
CLEARLY = 2.0
# Those of the mean number of nonzeros, 2.5 % by chance.
JOINTLY = 2.24


def recording_differs(
    relative: RelativeMissingness, source: Any, target: Any, groups: tuple[Any, Any] = (None, None)
) -> bool:
    """Whether rates clearly differ in any column, or in all together: in the mean number of nonzeros of a row.

    Small differences of one sign are clear in all columns together with few rows. Chance passes either test in one
    table of fourteen.
    """
    if relative.differs:
        return True
    # What is never lost tells of the population, not of loss.
    lossy = np.flatnonzero(~relative.always_recorded)
    (here, its), (there, theirs) = (
        _nonzeros_of_rows(rows[:, lossy], ids) for rows, ids in zip((source, target), groups, strict=True)
    )
    return bool(abs(there - here) > JOINTLY * np.hypot(its, theirs))


def _nonzeros_of_rows(rows: Any, groups: Any) -> tuple[float, float]:
    """Return the mean number of nonzeros of a row, and its standard error."""
    counts = np.asarray((rows != 0).sum(axis=1), dtype=float).ravel()
    n = len(counts)
    ids = resolve_row_groups(groups, n, parameter="groups")
    sizes = np.ones(n) if ids is None else np.bincount(ids)
    sums = counts if ids is None else np.bincount(ids, weights=counts)
    mean = counts.mean()
    spread = np.square(sums - mean * sizes).sum() * correct_for_mean(sizes)
    return float(mean), float(np.sqrt(spread)) / n


@dataclass(frozen=True)
class _Compared:
    """Terms of one fold: R(f₁) − R(f₀), the term that should be zero, and the gradient of the former in r, (d,)."""

    excess: float
    term: float
    gradient: Array


def adjusting_helps(
    source: Any,
    labels: Array,
    target: Any,
    draws: Sequence[Any],
    *,
    always: Array,
    doubtful: bool,
    groups: tuple[Any, Any] = (None, None),
) -> bool:
    """Whether the adjusted rows are to be used, rather than the source rows as they are.

    Parameters
    ----------
    source, target : array or CSR matrix of shape (n, d)
    labels : array of shape (n_s, k)
        On one scale; their risks are added up.
    draws : list of arrays or CSR matrices like `source`
        Adjusted source rows, in the order of the source's.
    always : array of bool, shape (d,)
        Which columns are always recorded.
    doubtful : bool
        Whether the adjusted rows are known not to have the target's law.
    groups : pair of arrays or None
        Ids of rows that belong together, of source and target.
    """
    rows = deal_rows((source, labels, groups[0]), (target, None, groups[1]))
    if len(rows[0]) < 2:
        return False  # so few rows, or groups, that nothing can be held out
    plain = [Moments.of(source[part], labels[part]) for part in rows[0]]
    there = [Moments.of(target[part]) for part in rows[1]]
    drawn = [[Moments.of(draw[part], labels[part]) for part in rows[0]] for draw in draws]
    # r of each column by itself, which is right whatever is lost together.
    counts, sizes = (count_nonzero(source), count_nonzero(target)), (source.shape[0], target.shape[0])
    r = np.where(always, 0.0, 1 - (counts[1] / sizes[1]) / (np.maximum(counts[0], 1) / sizes[0]))
    sides = zip((source, target), groups, strict=True)
    known = [moments_of(side, always if always.any() else None, ids) for side, ids in sides]
    other = known[0] is not None and known[1] is not None and clearly_differ(known[0], known[1])
    found = []
    for fold in range(len(plain)):
        without = [merge(parts[:fold] + parts[fold + 1 :]) for parts in (plain, there, *drawn)]
        held = [parts[fold] for parts in (plain, there, *drawn)]
        found.append(_compare(without, held, r, always, other=other))
    term, error = mean_and_error(np.array([one.term for one in found]))
    if not doubtful and term >= -CLEARLY * error:
        return True
    excess, error = mean_and_error(np.array([one.excess for one in found]))
    gradient = np.mean([one.gradient for one in found], axis=0)
    # All folds share r̂, so that its error is not among what differs between them.
    of_r = np.square(gradient) @ np.where(always, 0.0, variance_of_r(r, counts, sizes))
    return bool(excess + CLEARLY * np.sqrt(error**2 + of_r) < 0)


def _compare(without: Sequence[Moments], held: Sequence[Moments], r: Array, always: Array, *, other: bool) -> _Compared:
    """Compare predictors of all folds but one on that fold; moments are of the source, of the target and of draws."""
    betas = [least_squares(part).coef for part in (without[0], *without[2:])]
    adjusted = np.mean(betas[1:], axis=0)
    step = betas[0] - adjusted
    moved = held[0].moved(r)
    assert moved.label_covariance is not None and held[0].label_covariance is not None
    gram = moved.covariance if other else held[1].covariance
    slope = 2 * np.sum(step * (gram @ adjusted - moved.label_covariance))
    # Errors of both intercepts, each estimated twice: the square of one estimate would count its noise.
    biases = []
    for parts in (held, without):
        gaps = [
            np.where(always, 0.0, parts[1].mean - part.mean) @ beta
            for part, beta in zip((parts[0], *parts[2:]), betas, strict=True)
        ]
        biases.append((gaps[0], np.mean(gaps[1:], axis=0)))
    plain, own = (np.sum(biases[0][which] * biases[1][which]) for which in (0, 1))
    return _Compared(
        excess=own - plain - np.sum(step * (gram @ step)) - slope,
        term=slope + 2 * np.sum(biases[0][1] * (biases[1][0] - biases[1][1])),
        gradient=2 * (step * held[0].label_covariance).sum(axis=1),
    )
