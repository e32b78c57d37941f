"""Loss that is at random given columns which both places always record, the anchors S (age, sex, site, …).

Masks may depend on S, otherwise they are as in the paper; the law of S may differ between source and target; the law of
the clean covariates and the label given S is one. With q_j(s) = P(X̃_j ≠ 0 | S = s) in either domain,

    1 − r_j(s) = q^t_j(s)/q^s_j(s) = (1 − m^t_j(s))/(1 − m^s_j(s)),      w(s) = p^t(s)/p^s(s)

are identified from unlabelled rows, and every moment of labelled target rows is one of source rows:

    E_t[X̃_i X̃_j] = E_s[w (1 − r_i)(1 − r_j) X̃_i X̃_j] for i ≠ j,    E_t[X̃_j²] = E_s[w (1 − r_j) X̃_j²],
    E_t[X̃_j Y] = E_s[w (1 − r_j) X̃_j Y],

r and w taken at S of the row. Without anchors r is a constant, w is 1, and this is the moments table of the paper. It
follows from conditioning on S: given S = s the domains differ by rates alone.

Estimates. q^s_j and q^t_j: a logistic regression each, of presence on a smooth basis of the anchors, with the penalty
chosen by Akaike's criterion (`dams._smooth`); columns that are lost together have one. w: a logistic regression of the
domain on the same basis, w(s) ∝ P(target | s)/P(source | s), cut at √n_s times its mean (Ionides) and brought to
mean 1 over the source rows. Its effective sample size is (Σ w)²/Σ w². Standard errors of r̂_j(s) are by the delta
method, (1 − r_j)² [(1 − q^t)² Var(log-odds q̂^t) + (1 − q^s)² Var(log-odds q̂^s)].
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import ndtri

from dams._columns import resolve_columns
from dams._smooth import LogisticFit, SmoothBasis, expit, fit_logistic
from dams._validation import describe_columns, warn_user

Array = np.ndarray

# Rows at which r(s) is looked at where a statement is about all of them.
SHOWN_ROWS = 2000
# Share of the rows that must be recorded better for a column to be called so: the curve's ends are uncertain.
SOME = 0.05
# Warn from these shares on: of target rows at anchors that the source never has, and of what the source rows are worth.
OUTSIDE, WORTH_LITTLE = 0.05, 0.1
# Rows per domain and parameter below which no curve is estimated.
LEAST_ROWS = 20


def with_anchors(always_recorded: Any, anchors: Any, n_features: int, names: Sequence[Any] | None) -> Any:
    """Return what is always recorded, the anchors among it; as it was given where there are none."""
    if anchors is None:
        return always_recorded
    given = resolve_columns(always_recorded, n_features, names, parameter="always_recorded")
    return given | resolve_columns(anchors, n_features, names, parameter="anchors")


def refuse_anchors(anchors: Any, n_features: int, names: Sequence[Any] | None, *, purpose: str, instead: str) -> None:
    """Raise where anchors are named for something that has no theory for them; `instead` is the way out."""
    chosen = resolve_columns(anchors, n_features, names, parameter="anchors")
    if chosen.any():
        raise ValueError(
            f"anchors names {describe_columns(np.flatnonzero(chosen), names)}, but {purpose} with one r for all rows "
            f"only. {instead}"
        )


def present_units(X: Any, unit: Array, which: Array) -> Array:
    """Rows of X with a value in some units (a column, or columns that are lost together), (n, units)."""
    out = np.empty((X.shape[0], len(which)), dtype=bool)
    columns = X.tocsc() if sparse.issparse(X) else X
    for k, number in enumerate(which):
        members = columns[:, np.flatnonzero(unit == number)] != 0
        out[:, k] = np.asarray(members.sum(axis=1)).ravel() > 0 if sparse.issparse(X) else members.any(axis=1)
    return out


def anchor_columns(X: Any, columns: Array) -> Array:
    """Values of the anchors, dense."""
    values = X[:, columns]
    return np.asarray(values.toarray() if sparse.issparse(values) else values, dtype=float)


@dataclass(frozen=True, eq=False, repr=False)
class AnchoredRates:
    """Estimates of r_j(s) and w(s); see the module's description.

    Attributes
    ----------
    columns : array of int
        Positions of the anchors.
    unit : array of shape (d,)
        The number of each column's group of columns that are lost together.
    lost : array of int
        Groups that may be lost; r = 0 elsewhere.
    basis : SmoothBasis
    source, target : tuple of LogisticFit
        Presence of each group in `lost`, in either domain.
    domain : LogisticFit
        Target against source.
    scale, cut : float
        What w is divided by to have mean 1, and its upper limit before.
    effective : float
        (Σ w)²/Σ w², what the source rows are worth as a sample of the target's population.
    support : array
        Anchors of some source rows.
    """

    columns: Array
    unit: Array
    lost: Array
    basis: SmoothBasis
    source: tuple[LogisticFit, ...]
    target: tuple[LogisticFit, ...]
    domain: LogisticFit
    scale: float
    cut: float
    effective: float
    support: Array

    def of(self, X: Any) -> Array:
        """Return the basis at the anchors of the rows X (n, d), which the other methods take."""
        return self.basis(anchor_columns(X, self.columns))

    def r(self, B: Array) -> Array:
        """Return r_j(s), (n, d); 0 for what is always recorded."""
        return self._spread(1 - self._ratio(B))

    def error(self, B: Array) -> Array:
        """Return the standard errors of r̂_j(s), (n, d)."""
        variance = np.zeros((len(B), len(self.lost)))
        for fits in (self.source, self.target):
            for k, fit in enumerate(fits):
                of_odds = np.einsum("np,np->n", B @ fit.covariance, B)
                variance[:, k] += (1 - expit(fit.log_odds(B))) ** 2 * of_odds
        return self._spread(self._ratio(B) * np.sqrt(variance))

    def weights(self, B: Array) -> Array:
        """Return w(s), of mean 1 over the source rows of the fit."""
        return np.minimum(np.exp(self.domain.log_odds(B)), self.cut) / self.scale

    def improper(self, confidence: float) -> Array:
        """Which columns the target records better: r's upper limit is below 0 at more than a few of the source rows."""
        B = self.basis(self.support)
        upper = self.r(B) + ndtri((1 + confidence) / 2) * self.error(B)
        return (upper < 0).mean(axis=0) > SOME

    def range(self) -> tuple[Array, Array]:
        """5 % and 95 % quantiles of r_j(s) over the source rows, each (d,)."""
        low, high = np.quantile(self.r(self.basis(self.support)), [0.05, 0.95], axis=0)
        return low, high

    def describe(self, n_source: int, names: Sequence[Any] | None) -> str:
        """Return a sentence for a report."""
        low, high = self.range()
        j = int(np.argmax(high - low))
        return (
            f"Given {describe_columns(self.columns, names)}, the anchors, r varies most in "
            f"{describe_columns(np.array([j]), names)} ({low[j]:.2f} to {high[j]:.2f}); with the target's law of the "
            f"anchors, the source's {n_source:,} rows are worth {self.effective:,.0f}."
        )

    def _ratio(self, B: Array) -> Array:
        """q^t_j(s)/q^s_j(s), (n, units)."""
        out = np.empty((len(B), len(self.lost)))
        for k, (here, there) in enumerate(zip(self.source, self.target, strict=True)):
            out[:, k] = expit(there.log_odds(B)) / expit(here.log_odds(B))
        return out

    def _spread(self, by_unit: Array) -> Array:
        """Give the columns what their units have; 0 for what is always recorded."""
        place = np.full(int(self.unit.max(initial=-1)) + 1, -1)
        place[self.lost] = np.arange(len(self.lost))
        place = place[self.unit]
        return np.where(place >= 0, by_unit[:, np.maximum(place, 0)] if len(self.lost) else 0.0, 0.0)


@dataclass(frozen=True, eq=False)
class AnchoredRows:
    """Data behind the estimates, by row: anchors and presences of both domains; kept only while fitting."""

    columns: Array
    unit: Array
    lost: Array
    S: tuple[Array, Array]
    B: tuple[Array, Array]
    present: tuple[Array, Array]
    basis: SmoothBasis
    groups: tuple[Array | None, Array | None] = (None, None)

    @classmethod
    def of(
        cls,
        source: Any,
        target: Any,
        anchors: Array,
        unit: Array,
        known: Array,
        *,
        groups: tuple[Array | None, Array | None] = (None, None),
        names: Sequence[Any] | None = None,
    ) -> AnchoredRows:
        """Read checked tables; `anchors` and `known` (what is always recorded) are masks."""
        columns, lost = np.flatnonzero(anchors), np.unique(unit[~known])
        S = anchor_columns(source, columns), anchor_columns(target, columns)
        _refuse_constant(S, columns, names)
        basis = SmoothBasis.of(np.concatenate(S))
        p, least = len(basis.is_main), min(len(S[0]), len(S[1]))
        if least < LEAST_ROWS * p:
            raise ValueError(
                f"anchors need at least {LEAST_ROWS * p} rows in either table for the {p} coefficients of "
                f"{describe_columns(columns, names)}, got {least}: name fewer anchors, or leave them out."
            )
        _warn_of_rows_outside(S, columns, names)
        B = basis(S[0]), basis(S[1])
        present = present_units(source, unit, lost), present_units(target, unit, lost)
        return cls(columns, unit, lost, S, B, present, basis, groups)

    @classmethod
    def like(
        cls, rates: AnchoredRates, source: Any, target: Any, groups: tuple[Array | None, Array | None] = (None, None)
    ) -> AnchoredRows:
        """Read checked tables again, those of which `rates` were estimated."""
        S = anchor_columns(source, rates.columns), anchor_columns(target, rates.columns)
        present = present_units(source, rates.unit, rates.lost), present_units(target, rates.unit, rates.lost)
        B = rates.basis(S[0]), rates.basis(S[1])
        return cls(rates.columns, rates.unit, rates.lost, S, B, present, rates.basis, groups)

    def estimate(self, *, near: AnchoredRates | None = None, keep: tuple[Any, Any] | None = None) -> AnchoredRates:
        """Estimate r(s) and w(s), from some rows of either domain if `keep` names them.

        `near` is an estimate from nearly the same rows: its penalties are kept and its coefficients are the start.
        """
        rows = (slice(None), slice(None)) if keep is None else keep
        B = self.B[0][rows[0]], self.B[1][rows[1]]
        fits: list[tuple[LogisticFit, ...]] = []
        for side, before in enumerate((None, None) if near is None else (near.source, near.target)):
            here = self.present[side][rows[side]]
            groups = self.groups[side]
            some = None if groups is None else groups[rows[side]]
            fits.append(
                tuple(
                    _fit(self.basis, B[side], here[:, k], None if before is None else before[k], some)
                    for k in range(here.shape[1])
                )
            )
        both = np.concatenate(B)
        is_target = np.repeat([False, True], [len(B[0]), len(B[1])])
        domain = _fit(self.basis, both, is_target, None if near is None else near.domain, None)
        odds = np.exp(domain.log_odds(B[0]))
        cut = float(np.sqrt(len(odds)) * odds.mean())
        w = np.minimum(odds, cut)
        S = self.S[0][rows[0]]
        return AnchoredRates(
            self.columns,
            self.unit,
            self.lost,
            self.basis,
            fits[0],
            fits[1],
            domain,
            scale=float(w.mean()),
            cut=cut,
            effective=float(w.sum() ** 2 / np.square(w).sum()),
            support=S[:: -(-len(S) // SHOWN_ROWS)],
        )


def _fit(basis: SmoothBasis, B: Array, hit: Array, near: LogisticFit | None, groups: Array | None) -> LogisticFit:
    number = None if groups is None else np.unique(groups, return_inverse=True)[1]
    options: dict[str, Any] = {} if near is None else {"smoothing": near.smoothing, "start": near.coef}
    fit = fit_logistic(basis, B, hit, worth=1.0 if number is None else (number.max() + 1) / len(number), **options)
    if number is None:
        return fit
    # Rows that belong together: the sandwich over groups, which nothing but the errors of r̂ depends on.
    score = B * (hit - expit(fit.log_odds(B)))[:, None]
    sums = sparse.csr_array((np.ones(len(number)), (number, np.arange(len(number))))) @ score
    return replace(fit, covariance=fit.inverse @ (sums.T @ sums) @ fit.inverse)


def warn_if_worth_little(rates: AnchoredRates, n_source: int, names: Sequence[Any] | None) -> None:
    """Warn where a few source rows stand for the whole target."""
    if rates.effective < WORTH_LITTLE * n_source:
        warn_user(
            f"The target's law of {describe_columns(rates.columns, names)}, the anchors, is so different that the "
            f"{n_source:,} source rows are worth {rates.effective:,.0f}: adjusted predictors rest on few rows. "
            "Restrict both tables to anchors that both have, or name fewer anchors."
        )


def _refuse_constant(S: tuple[Array, Array], columns: Array, names: Sequence[Any] | None) -> None:
    both = np.concatenate(S)
    constant = (both == both[:1]).all(axis=0)
    if constant.any():
        raise ValueError(
            f"anchors names {describe_columns(columns[constant], names)}, which has one value in all rows: nothing "
            "can depend on it. Leave it out."
        )


def _warn_of_rows_outside(S: tuple[Array, Array], columns: Array, names: Sequence[Any] | None) -> None:
    """Warn of target rows at values of an anchor beyond the source's: nothing is known of the loss there."""
    outside = ((S[1] < S[0].min(axis=0)) | (S[1] > S[0].max(axis=0))).mean(axis=0)
    found = np.flatnonzero(outside > OUTSIDE)
    if found.size:
        warn_user(
            f"{100 * outside[found].max():.0f} % of the target's rows have a value of "
            f"{describe_columns(columns[found], names)} that lies beyond all of the source's: the adjustment "
            "extrapolates there. Restrict both tables to values that both have."
        )
