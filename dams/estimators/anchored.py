"""The closed form where loss, and the population, depend on anchors S: moments moved row by row.

    E_t[X̃_i X̃_j] = E_s[w (1 − r_i)(1 − r_j) X̃_i X̃_j],    E_t[X̃_j²] = E_s[w (1 − r_j) X̃_j²],
    E_t[X̃_j Y] = E_s[w (1 − r_j) X̃_j Y]

with r_j(s) and w(s) of `dams.anchors`, E[Y] = E_s[w Y], and E_s[w ·] normalised by Σ w. Where the source hardly records
what the target records well, 1 − r_j(s) is large, and these means rest on a few rows. So they are trimmed and
completed. With k_j(s) = min(1, `MOST`/(1 − r_j(s))), k_j X̃_j is a column that is lost as X̃_j is, and

    E_t[X̃_i X̃_j] = E_s[w k_i (1 − r_i) k_j (1 − r_j) X̃_i X̃_j] + E_t[(1 − k_i k_j) X̃_i X̃_j],
    E_t[X̃_j²] = E_s[w k_j² (1 − r_j) X̃_j²] + E_t[(1 − k_j²) X̃_j²],
    E_t[X̃_j Y] = E_s[w k_j (1 − r_j) X̃_j Y] + E_t[(1 − k_j) X̃_j h_j(X̃_j, S)],

so that no value stands for more than `MOST` of its kind. The second terms are means over target rows, with the label
replaced by h_j(x, s) = E[Y | X_j = x ≠ 0, S = s], which both domains share (`dams.estimators._label_curves`). The first
terms share their sampling error, which cancels, as all of it does where nothing is trimmed. Means are alike. With
gram="source" nothing is taken from target rows, and nothing is trimmed.

These moments take the place of those that one r moves in `dams.estimators.stabilise`; candidates, risks on held-out
rows and the choice are the same. What is estimated without a fold has r, w and h of its own, with the penalties of all
rows, so that their errors count in the choice. The ridge's weight W_jj = T_jj · max(E[u_j² X̃_j²]/E[u_j X̃_j²], 1),
u_j = w k_j (1 − r_j), grows with the variance of the cross-moment, which for one r and w = 1 is max(1 − r_j, 1) again,
as far as nothing is trimmed.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from dams.anchors import LEAST_ROWS, AnchoredRates, AnchoredRows
from dams.estimators._label_curves import LabelCurves, LabelSums
from dams.estimators.folds import N_FOLDS, assign_folds
from dams.estimators.stabilise import StabilisedFit, fit_least_risk
from dams.estimators.systems import (
    Candidate,
    Gram,
    Setting,
    System,
    label_mean_of,
    share_undone,
    shares_to_undo,
)
from dams.estimators.wide import WIDE
from dams.moments import Moments

Array = np.ndarray

# So many values of the target, at most, does one of the source stand for.
MOST = 2.0


@dataclass(frozen=True)
class SourceRows:
    """Labelled source rows, and the basis of the anchors at each; `centre` is taken from columns that are never lost.

    Products of centred columns keep the digits that those of columns far from zero would lose.
    """

    X: Array
    Y: Array
    B: Array
    centre: Array

    @classmethod
    def of(cls, X: Array, Y: Array, B: Array, rates: AnchoredRates) -> SourceRows:
        """Make them of all rows."""
        never_lost = ~np.isin(rates.unit, rates.lost)
        return cls(X, Y, B, np.where(never_lost, X.mean(axis=0), 0.0))

    def take(self, rows: Array) -> SourceRows:
        """Return some of the rows."""
        return SourceRows(self.X[rows], self.Y[rows], self.B[rows], self.centre)

    def move(self, r: Array, w: Array, groups: Array | None, trimmed: Trimmed | None = None) -> Moments:
        """Moments after the map with rate r (n, d), each row with its weight w, of any scale."""
        w = w / w.sum()
        X = self.X if trimmed is None else self.X * trimmed.k
        Z = X * (1 - r)
        kept_less = X - Z
        centred = Z - self.centre
        weighted = centred * w[:, None]
        mean, second = weighted.sum(axis=0), weighted.T @ centred
        # What shares a mask is multiplied by 1 − r once.
        if groups is None:
            second[np.diag_indices(len(mean))] += w @ (Z * kept_less)
        else:
            for group in np.unique(groups):
                members = np.flatnonzero(groups == group)
                second[np.ix_(members, members)] += (Z[:, members] * w[:, None]).T @ kept_less[:, members]
        label_mean = w @ self.Y
        left = self.Y - label_mean
        cross = weighted.T @ left
        if trimmed is not None:
            mean, second = mean + trimmed.mean, second + trimmed.second
            cross = cross + trimmed.cross - np.outer(trimmed.mean, label_mean)
        worth = round(1 / np.square(w).sum())
        covariance = second - np.outer(mean, mean)
        return Moments(worth, mean + self.centre, covariance, label_mean, cross, w @ np.square(left))


@dataclass(frozen=True)
class TargetRows:
    """Target rows, and the basis of the anchors at each."""

    X: Array
    B: Array

    def take(self, rows: Array) -> TargetRows:
        """Return some of the rows."""
        return TargetRows(self.X[rows], self.B[rows])


@dataclass(frozen=True)
class Trimmed:
    """k at the source rows (n, d), and the terms with 1 − k: what target rows add to first and second moments."""

    k: Array
    mean: Array
    second: Array
    cross: Array

    @classmethod
    def of(cls, source: SourceRows, r: Array, target: TargetRows, r_target: Array, curves: LabelCurves) -> Trimmed:
        """Trim the columns that have a curve."""
        k, there = np.ones_like(source.X), np.ones_like(target.X)
        columns = list(curves.coef)
        for part, rates in ((k, r), (there, r_target)):
            part[:, columns] = MOST / np.maximum(1 - rates[:, columns], MOST)
        centred, kept = target.X - source.centre, there * target.X - source.centre
        left, n = centred - kept, len(there)
        cross = np.zeros((k.shape[1], source.Y.shape[1]))
        for j in columns:
            rows = np.flatnonzero(target.X[:, j] * (there[:, j] < 1))
            cross[j] = left[rows, j] @ curves.at(j, target.X[rows, j], target.B[rows]) / n
        return cls(k, left.mean(axis=0), (centred.T @ centred - kept.T @ kept) / n, cross)


class AnchoredSystem(System):
    """Source rows with r and w of each, and target rows; also the rows of a fold, moved by r, w and h of all rows.

    Without curves nothing is trimmed.
    """

    def __init__(
        self, rows: SourceRows, target: TargetRows, rates: AnchoredRates, curves: LabelCurves | None, setting: Setting
    ):
        self.rows, self.rates, self.setting = rows, rates, setting
        self.source, self.target = Moments.of(rows.X, rows.Y), Moments.of(target.X)
        self.there = setting.second(self.target)
        self.r, self.w = rates.r(rows.B), rates.weights(rows.B)
        self.trimmed = None if curves is None else Trimmed.of(rows, self.r, target, rates.r(target.B), curves)

    @cached_property
    def whole(self) -> Moments:
        """Moments moved by r as a whole."""
        return self.rows.move(self.r, self.w, self.setting.groups, self.trimmed)

    @property
    def moved_mean(self) -> Array:
        """Means of the source's covariates, moved by r."""
        return self.whole.mean

    @property
    def label_mean(self) -> Array:
        """E[Y] in the target."""
        return label_mean_of(self.whole)

    @property
    def label_second(self) -> Array:
        """Var(Y) in the target, or E[Y²] without an intercept: what there is to explain."""
        assert self.whole.label_variance is not None
        return self.whole.label_variance + (0 if self.setting.fit_intercept else self.label_mean**2)

    @property
    def amplification(self) -> Array:
        """How much more c_j varies than from rows of the target's own, 1 at least."""
        u = self.w[:, None] * (1 - self.r) * (1.0 if self.trimmed is None else self.trimmed.k)
        kept = u * np.square(self.rows.X - self.rows.centre)
        total = kept.sum(axis=0)
        squares = np.einsum("nd,nd->d", kept, u)
        return np.maximum(squares / np.where(total > 0, total, np.inf) * len(self.w) / self.w.sum(), 1)

    @property
    def gain(self) -> Array:
        """How much better the target records, max(−r, 0), over the rows that show a column."""
        shown = self.w[:, None] * (self.rows.X != 0)
        total = shown.sum(axis=0)
        return np.einsum("nd,nd->d", shown, np.maximum(-self.r, 0)) / np.where(total > 0, total, 1.0)

    def share_undone(self, candidate: Candidate) -> float:
        """Share of the negative r that a candidate undoes, over all rows."""
        theta = np.broadcast_to(self.theta(candidate.caution), self.r.shape)
        return share_undone(self.r.ravel(), theta.ravel(), candidate)

    def theta(self, caution: float) -> Any:
        """Share of a negative r that is undone, entry by entry."""
        return shares_to_undo(self.r, np.square(self._error), caution) if caution else 1.0

    @cached_property
    def _error(self) -> Array:
        return self.rates.error(self.rows.B)

    def gap_of_means(self, coef: Array) -> Array:
        """How much more the source's predictor expects of the target's rows than the label's mean there."""
        expected = (self.target.mean - self.source.mean) @ coef
        return expected + label_mean_of(self.source) - self.label_mean

    def moved(self, theta: Any) -> tuple[Array, Array]:
        """Second moments and cross-moment of the source, moved by max(r, 0) + θ min(r, 0).

        Where θ = 0, no value stands for more than itself, and nothing is trimmed.
        """
        if np.isscalar(theta) and theta == 1:
            moments = self.whole
        else:
            trimmed = None if np.isscalar(theta) and theta == 0 else self.trimmed
            r = np.where(self.r < 0, theta * self.r, self.r)
            moments = self.rows.move(r, self.w, self.setting.groups, trimmed)
        return self.setting.second(moments), self.setting.cross(moments)


def fit_anchored(
    source: tuple[Any, Array, Any],
    target: tuple[Any, Any],
    rates: AnchoredRates,
    groups: Array | None,
    *,
    gram: Gram,
    fit_intercept: bool,
) -> StabilisedFit:
    """Fit the candidate of least estimated target risk, as `dams.estimators.stabilise.fit_stabilised` does.

    `source` are rows, labels and ids of rows that belong together, `target` rows and ids; `groups` numbers the columns
    that are lost together.
    """
    X, there = as_dense(source[0]), as_dense(target[0])
    ids = source[2], target[1]
    anchored = AnchoredRows.like(rates, X, there)
    rows, others = SourceRows.of(X, source[1], anchored.B[0], rates), TargetRows(there, anchored.B[1])
    setting = Setting(fit_intercept, groups)
    folds = assign_folds(X, source[1], groups=ids[0]), assign_folds(there, groups=ids[1])
    sums = None if gram == "source" else _label_sums(rows, others, rates, folds[0], ids[0])
    curves = None if sums is None else sums.curves()
    whole = AnchoredSystem(rows, others, rates, curves, setting)
    parts, held = [], []
    for fold in range(N_FOLDS):
        out = folds[0] == fold, folds[1] == fold
        if not (out[0].any() and out[1].any()):
            continue
        without = anchored.estimate(near=rates, keep=(~out[0], ~out[1]))
        anew = None if sums is None or curves is None else sums.without(fold, curves)
        parts.append(AnchoredSystem(rows.take(~out[0]), others.take(~out[1]), without, anew, setting))
        held.append(AnchoredSystem(rows.take(out[0]), others.take(out[1]), rates, curves, setting))
    return fit_least_risk(whole, parts, held, gram, min(rates.effective, len(there)))


def _label_sums(rows: SourceRows, others: TargetRows, rates: AnchoredRates, folds: Array, ids: Any) -> LabelSums | None:
    """What the curves are made of, None where there are none.

    A column has one if some of its values in the target would be trimmed. One that the source shows in a handful of
    rows has none: its 1 − r is large, so that the ridge and the choice are wary of it, which a wrong curve would hide.
    """
    large = (others.X != 0) & (rates.r(others.B) < 1 - MOST)
    enough = np.count_nonzero(rows.X, axis=0) >= LEAST_ROWS * rows.B.shape[1]
    columns = np.flatnonzero(large.any(axis=0) & enough)
    if not columns.size:
        return None
    worth = 1.0 if ids is None else len(np.unique(np.asarray(ids))) / len(rows.X)
    return LabelSums(rates.basis, (rows.X, rows.Y, rows.B), folds, columns, worth=worth)


def refuse_wide(n_columns: int) -> None:
    """Raise for tables of too many columns to hold r of every row."""
    if n_columns > WIDE:
        raise ValueError(
            f"anchors are for tables of at most {WIDE} columns, got {n_columns}: r differs from row to row, so that "
            "whole tables of it are held. Drop columns, or leave anchors out."
        )


def move_rows(X: Any, Y: Array, rates: AnchoredRates, groups: Array | None) -> Moments:
    """Moments of labelled source rows, moved to the target by r_j(s) and w(s)."""
    X = as_dense(X)
    rows = SourceRows.of(X, Y, rates.of(X), rates)
    return rows.move(rates.r(rows.B), rates.weights(rows.B), groups)


def as_dense(X: Any) -> Array:
    """Return an array or a sparse matrix as an array."""
    return np.asarray(X.toarray() if sparse.issparse(X) else X)
