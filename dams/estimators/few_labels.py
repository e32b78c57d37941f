"""A few labelled target rows: they test the adjustment and correct it, by no more than they can tell.

With b the adapted predictor, x a target row with a 1 for the intercept, M = E_t[x xᵀ] of all target rows and L the
m labelled ones, the labels' residual moment is g = E_L[x (y − xᵀb)].

*Test.* Under UCAR E_t[x y] = c = (1 − r) ⊙ E_s[x y], so that δ = g − (c − M b) has mean zero, whatever b is. Its
covariance V holds the labels', both domains' and r̂'s sampling (influences of `dams.inference`, labelled rows counted
among the target's). With few labels δ is looked at along two directions, the mean and the predictions, U = (1, b); with
`ALL_FROM` labels per coefficient along all. δᵀU(UᵀVU)⁻¹Uᵀδ is held against Hotelling's law. Loss that depends on the
outcome shows in the second direction, another share of cases in the first, another relation of covariates and outcome
in any.

*Correction.* M⁻¹g would be the step to least squares on the labels, with their whole noise. It is split into its part
along U and the rest, orthogonal in M, and each part is taken by the share

    s = max(0, 1 − κ · noise/size),    size = gᵀP g,    noise = tr(P Cov_L(x e))/m,    κ = 2,

P the part's projection of M⁻¹: James and Stein's estimator, the adapted predictor its centre, positive part, and with κ
above 1, so that labels that agree change next to nothing. With many labels s tends to 1 where the adapted predictor is
wrong, and b to least squares in the target. Without labels nothing changes. Labels that were merely appended to the
source rows would hardly count, and test nothing.

*Which rows.* All of this takes L for a random sample of the target's rows: labels of chosen rows, such as the most
complete charts, would move b to what is best for these. Where covariates of labelled rows clearly show another law
than those of the others (`dams.estimators._label_sample`), nothing is tested nor corrected, with a warning.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import f as fisher

from dams._rows import resolve_both
from dams.estimators._label_sample import is_random_sample
from dams.estimators.folds import Columns
from dams.inference import Scores, covariance_of_mean, with_ones
from dams.least_squares import solve_symmetric
from dams.relative import RelativeMissingness

Array = np.ndarray

# κ, fixed before anything was measured.
CAUTION = 2.0
# Labels per coefficient from which on all directions are tested.
ALL_FROM = 10
# Fewer labels tell nothing of their own spread.
LEAST = 5
CLEARLY = 0.05


@dataclass(frozen=True, repr=False)
class LabelCheck:
    """Result of testing an adjustment with labelled target rows.

    Attributes
    ----------
    n_labels : int
        Labelled rows.
    p_value : float or None
        Of the test that labels and adjustment agree; None where it was not made.
    mean_residual : float
        Mean of label minus prediction, before the correction.
    shares : pair of float
        s of the part along mean and predictions, and of the rest: how much of what labels ask for was done.
    is_random : bool
        Whether the labelled rows may be a random sample of the target's; otherwise nothing was tested nor corrected.
    """

    n_labels: int
    p_value: float | None
    mean_residual: float
    shares: tuple[float, float]
    is_random: bool = True

    @property
    def contradicted(self) -> bool:
        """Whether the labels contradict the adjustment, at level .05."""
        return self.p_value is not None and self.p_value < CLEARLY

    def __str__(self) -> str:
        done = f"{100 * self.shares[0]:.0f} % of what they ask for in mean and scale, and {100 * self.shares[1]:.0f} % "
        done = f"The predictor took {done}of the rest."
        size = f"{self.n_labels:,} labelled target rows"
        if not self.is_random:
            return f"{size} are not a random sample of the target's: nothing was tested, and nothing corrected."
        if self.p_value is None:
            return f"{size}, held against an adjustment by anchors, which is not tested. {done}"
        if not self.contradicted:
            return f"Nothing in {size} speaks against the adjustment (p = {self.p_value:.2g}). {done}"
        return (
            f"{size} contradict the adjustment (p = {self.p_value:.2g}; labels are {self.mean_residual:+.3g} above "
            "predictions on average): loss may depend on the outcome, or the share of cases or their relation to the "
            f"covariates differ. {done}"
        )

    __repr__ = __str__


def read_target_labels(y_target: Any, n_target: int, n_labels: int) -> Array | None:
    """Return the target's labels as (n_t, k), NaN where there are none; None where no row has any."""
    if y_target is None:
        return None
    values = np.asarray(y_target, dtype=float)
    values = values.reshape(len(values), -1) if values.ndim else values
    if values.shape != (n_target, n_labels):
        raise ValueError(
            f"y_target must have one entry per row of X_target and as many labels as y, ({n_target}, {n_labels}), NaN "
            f"where there is none, got an array of shape {np.shape(y_target)}."
        )
    if np.isinf(values).any():
        raise ValueError("y_target contains infinite values: give finite ones, and NaN where there is no label.")
    counts = (~np.isnan(values)).sum(axis=0)
    if not counts.any():
        return None
    if counts.min() < LEAST:
        raise ValueError(
            f"y_target has {counts.min()} labels, too few to tell their spread: give at least {LEAST}, or leave it out."
        )
    return values


@dataclass(frozen=True)
class LabelledTarget:
    """Dense tables of both domains, with a column of ones last if there is an intercept, and what a test must know.

    Attributes
    ----------
    r : array of shape (d,) or None
        None where the adjustment is not tested.
    unit : array of shape (p,)
        Number of each column's group of columns that are lost together; −1 where nothing is lost.
    groups : pair of arrays or None
        Rows that belong together.
    names : list or None
        Names of the columns, for messages.
    """

    source: Array
    target: Array
    r: Array | None
    unit: Array
    groups: tuple[Array | None, Array | None]
    intercept: bool = True
    names: Sequence[Any] | None = None

    def correct(self, y: Array, y_target: Array, b: Array) -> tuple[Array, LabelCheck]:
        """Return the coefficients after the correction, and what was found; y_target is NaN where there is no label."""
        labelled = ~np.isnan(y_target)
        rows, m = self.target[labelled], int(labelled.sum())
        left = y_target[labelled] - rows @ b
        covariates = self.target[:, :-1] if self.intercept else self.target
        if not is_random_sample(covariates, labelled, self.groups[1], self.names):
            return b, LabelCheck(m, None, float(left.mean()), (0.0, 0.0), is_random=False)
        scores = rows * left[:, None]
        g = scores.mean(axis=0)
        M = self.target.T @ self.target / len(self.target)
        U = _directions(b, M, intercept=self.intercept)
        spread = self._spread(scores, labelled)
        along = U @ solve_symmetric(U.T @ M @ U, U.T)
        every = solve_symmetric(M, np.eye(len(b)))
        step, shares = np.zeros(len(b)), []
        for P in (along, every - along):
            size = g @ P @ g
            known = spread is not None and size > 0
            shares.append(max(0.0, 1 - CAUTION * (np.trace(P @ spread) / m) / size) if known else 0.0)
            step += shares[-1] * (P @ g)
        p_value = None if self.r is None else self._test(y, labelled, scores, b, U)
        return b + step, LabelCheck(m, p_value, float(left.mean()), (float(shares[0]), float(shares[1])))

    def _spread(self, scores: Array, labelled: Array) -> Array | None:
        """Return Cov_L(x e), with rows that belong together as one; None of a single group, which shows no spread."""
        m, p = scores.shape
        if self.groups[1] is None:
            return np.cov(scores.T, ddof=1).reshape(p, p)
        ids, number = np.unique(self.groups[1][labelled], return_inverse=True)
        return m * covariance_of_mean(scores - scores.mean(axis=0), number) if len(ids) > 1 else None

    def _test(self, y: Array, labelled: Array, scores: Array, b: Array, U: Array) -> float:
        assert self.r is not None
        adjustment = Scores(self.source, self.target, y, self.r, self.unit, "target")
        here, there = adjustment.at(b)
        of_labels = np.zeros_like(there)
        of_labels[labelled] = (scores - scores.mean(axis=0)) * (len(there) / labelled.sum())
        V = covariance_of_mean(here, self.groups[0]) + covariance_of_mean(of_labels - there, self.groups[1])
        delta = scores.mean(axis=0) - (adjustment.cross - adjustment.matrix @ b)
        ids = self.groups[1]
        m = int(labelled.sum()) if ids is None else len(np.unique(ids[labelled]))
        if m >= ALL_FROM * len(b):
            U = np.eye(len(b))
        q = U.shape[1]
        if m <= q:
            return 1.0
        distance = (U.T @ delta) @ solve_symmetric(U.T @ V @ U, (U.T @ delta)[:, None])[:, 0]
        return float(fisher.sf(distance * (m - q) / (q * (m - 1)), q, m - q))


def _directions(b: Array, M: Array, *, intercept: bool) -> Array:
    """Mean and predictions, (p, 2); one of them where predictions are constant or there is no intercept."""
    if not intercept:
        return b[:, None]
    mean, slope = np.zeros(len(b)), b.copy()
    mean[-1], slope[-1] = 1, 0
    centred = slope - mean * (M[-1] @ slope)
    varies = centred @ M @ centred > 1e-12 * slope @ M @ slope
    return np.column_stack([mean, centred]) if varies else mean[:, None]


def correct_by_labels(
    source: tuple[Any, Array, Any],
    target: tuple[Any, Array, Any],
    relative: RelativeMissingness,
    columns: Columns,
    before: tuple[Array, Any],
    *,
    fit_intercept: bool,
) -> tuple[tuple[Array, Any], Any]:
    """Return coefficients and intercept after the correction, shaped as they came, and a `LabelCheck` per label.

    `source` and `target` are checked rows, labels (of the target NaN where there are none), and ids of rows; `before`
    are the coefficients and the intercept.
    """
    unit = np.arange(source[0].shape[1]) if columns.groups is None else columns.groups
    unit = unit if columns.always is None else np.where(columns.always, -1, unit)
    ids = resolve_both(source[2], target[2], (source[0].shape[0], target[0].shape[0]))
    tables = [with_ones(table) if fit_intercept else with_ones(table)[:, :-1] for table in (source[0], target[0])]
    r = relative.r if relative.anchored is None else None
    unit = np.append(unit, -1) if fit_intercept else unit
    rows = LabelledTarget(tables[0], tables[1], r, unit, ids, intercept=fit_intercept, names=relative.feature_names)
    coef = np.atleast_2d(before[0])
    betas = np.column_stack([coef, np.atleast_1d(before[1])]) if fit_intercept else coef
    found = [rows.correct(y, y_target, b) for y, y_target, b in zip(source[1].T, target[1].T, betas, strict=True)]
    after, checks = np.array([b for b, _ in found]), [check for _, check in found]
    moved = (after[:, :-1], after[:, -1]) if fit_intercept else (after, np.zeros(len(after)))
    if np.ndim(before[0]) == 1:
        return (moved[0][0], float(moved[1][0])), checks[0]
    return moved, checks
