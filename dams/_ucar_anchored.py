"""Checks of whether values are lost at random given anchors S: what `check_ucar` looks at where it is told of some.

With r_j(s) and w(s) of `dams.anchors`, and functions h, g of presence or of the rank of the value (zero at zero), loss
that is at random given S, and one law of the clean covariates given S, leave no difference between

- E_t[a(S) h(X̃_i) g(X̃_j)] and E_s[a(S) ρ(S) h(X̃_i) g(X̃_j)], ρ = w (1 − r_i)(1 − r_j), for i ≠ j;
- E_t[a(S) h(X̃_j)] and E_s[a(S) ρ(S) h(X̃_j)], ρ = w (1 − r_j), h the share of a bin of values, or presence within a
  group of columns,

whatever a(s) is. With a = 1/(1 + ρ) target rows weigh 1 − f and source rows f = ρ/(1 + ρ): none counts for more than 1,
where ρ alone may reach hundreds. j may also be always recorded, r_j = 0: what is lost must not depend on it beyond the
anchors. Values, though not presences, of what is lost are compared by anchor in this way too; presences by anchor are
what r_j(s) was fitted to. Bounds are not checked.

Influences. r_j(s) and w(s) depend on logistic regressions, whose coefficients η a row b with outcome y moves by
n H⁻¹ b (y − p̂). With D the difference, ∂D = −(E_s + E_t)[f (1 − f) h g ∂ log ρ], where ∂ log ρ is (1 − q^t_j) b for
η^t_j, −(1 − q^s_j) b for η^s_j and b − E_s[w b] for the weights. Influences by block of rows go to the bootstrap as
those of all other checks do.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse

from dams._smooth import expit
from dams._ucar_domains import MIN_ELSEWHERE, MIN_EXPECTED, N_BINS, Checks, Domain
from dams._ucar_known import Known
from dams.anchors import AnchoredRates, AnchoredRows

Array = np.ndarray


class _Side:
    """One domain by row: presences and ranks, their blocks, and how rows move what is estimated.

    Attributes
    ----------
    H : array of shape (n, d + v)
        Presences of all columns, and ranks of those with several values.
    q : pair of arrays of shape (n, units)
        P(presence | s) in source and target, at the anchors of these rows.
    by_unit : list of arrays of shape (blocks, p)
        Influences on the coefficients of presence, by block.
    of_domain : array of shape (blocks, p)
        Influences on those of the weights.
    """

    def __init__(self, X: Any, domain: Domain, anchored: AnchoredRows, rates: AnchoredRates, side: int):
        self.blocks = domain
        n = self.n = self.blocks.n
        columns = X.tocsc() if sparse.issparse(X) else X
        dense = [_column(columns, j) for j in range(X.shape[1])]
        presence = [column != 0 for column in dense]
        ranks = (domain.ranks[j].reshape(-1)[domain.place] for j in sorted(domain.ranks))
        self.H = np.column_stack([*presence, *ranks]).astype(float)
        shape = len(self.blocks.sizes), n
        self._sum = sparse.csr_array((np.full(n, 1 / self.blocks.per_block), (self.blocks.block, np.arange(n))), shape)
        self.B = anchored.B[side]
        none = np.zeros((n, 0))
        self.q = [
            np.column_stack([none, *(expit(fit.log_odds(self.B)) for fit in fits)])
            for fits in (rates.source, rates.target)
        ]
        self.kept, self.w = 1 - rates.r(self.B), rates.weights(self.B)
        left = anchored.present[side] - self.q[side]
        fits = (rates.source, rates.target)[side]
        self.by_unit = [n * self.average(self.B * left[:, [k]]) @ fit.inverse for k, fit in enumerate(fits)]
        outcome = side - expit(rates.domain.log_odds(self.B))
        self.of_domain = n * self.average(self.B * outcome[:, None]) @ rates.domain.inverse

    def average(self, values: Array) -> Array:
        """Sums by block over the mean size of a block: their mean over blocks is the mean over rows."""
        return np.asarray(self._sum @ values)


def _column(X: Any, j: int) -> Array:
    return X[:, [j]].toarray().ravel() if sparse.issparse(X) else X[:, j]


class AnchoredDomains:
    """Source and target rows with r and w, ready to be compared."""

    def __init__(
        self,
        source: Any,
        target: Any,
        domains: tuple[Domain, Domain],
        anchored: AnchoredRows,
        rates: AnchoredRates,
    ):
        self.rates = rates
        self.here, self.there = (
            _Side(X, domain, anchored, rates, side)
            for side, (X, domain) in enumerate(zip((source, target), domains, strict=True))
        )
        self.d = source.shape[1]
        self.feature = domains[0].feature
        place = np.full(int(rates.unit.max()) + 1, -1)
        place[rates.lost] = np.arange(len(rates.lost))
        self.unit = place[rates.unit]  # the position among the lost units of every feature, −1 where never lost
        self.mean_basis = (self.here.w @ self.here.B) / self.here.w.sum()

    def compare(
        self, kind: str, i: int, h: tuple[Array, Array], j: Array, g: tuple[Array, Array], by_value: tuple[Any, Any]
    ) -> Checks:
        """Compare E[h g] for a feature i, h of shape (n,), with several features j (−1 for none), g of shape (n, m)."""
        sides, others = (self.here, self.there), np.maximum(j, 0)
        values, curves, influences = [], [], []
        for side, first, second in zip(sides, h, g, strict=True):
            rho = (side.w * side.kept[:, i])[:, None] * np.where(j >= 0, side.kept[:, others], 1.0)
            f = rho / (1 + rho)
            product = first[:, None] * second
            values.append((f if side is self.here else 1 - f) * product)
            curves.append(f * (1 - f) * product)
            influences.append(side.average(values[-1]) - values[-1].mean(axis=0) * side.blocks.share_of_rows[:, None])
        influences[0] *= -1
        expected = (values[0] * h[0][:, None] * g[0]).mean(axis=0)
        for unit in (np.full(len(j), self.unit[i]), np.where(j >= 0, self.unit[others], -1)):
            for k in np.unique(unit[unit >= 0]):
                some = np.flatnonzero(unit == k)
                for which, sign in ((0, 1), (1, -1)):
                    slope = self._slope(
                        [
                            curve[:, some] * (1 - side.q[which][:, [k]])
                            for curve, side in zip(curves, sides, strict=True)
                        ]
                    )
                    influences[which][:, some] += sign * sides[which].by_unit[k] @ slope.T
        slope = self._slope(curves)
        slope -= sum(curve.mean(axis=0) for curve in curves)[:, None] * self.mean_basis
        for side, influence in zip(sides, influences, strict=True):
            influence -= side.of_domain @ slope.T
        checks = Checks(
            kind,
            np.full(len(j), i),
            j,
            values[1].mean(axis=0) - values[0].mean(axis=0),
            (influences[0], influences[1]),
            expected,
            tuple(np.broadcast_to(flag, len(j)).copy() for flag in by_value),  # type: ignore[arg-type]
        )
        return checks.keep(self._enough(values, kind, h, g))

    def _slope(self, curves: list[Array]) -> Array:
        """Sum over the domains of E[curve · b], (checks, p)."""
        sides = (self.here, self.there)
        return sum((curve.T @ side.B / side.n for curve, side in zip(curves, sides, strict=True)), np.zeros(()))

    def _enough(self, values: list[Array], kind: str, h: tuple[Array, Array], g: tuple[Array, Array]) -> Array:
        """Which comparisons have enough rows with both, as they are weighted, and, of presences, with one of both."""
        enough = np.ones(g[0].shape[1], dtype=bool)
        for side, weighted, first, others in zip((self.here, self.there), values, h, g, strict=True):
            squares = np.square(weighted).sum(axis=0)
            rows = np.abs(weighted).sum(axis=0) ** 2 / np.where(squares > 0, squares, np.inf)
            enough &= side.blocks.worth * rows >= MIN_EXPECTED
            if kind == "pairs":
                a, b = first != 0, others != 0
                both = a.astype(float) @ b
                alone = np.minimum(a.sum() - both, b.sum(axis=0) - both)
                presences = ((first == 1) | ~a).all() & ((others == 1) | ~b).all(axis=0)
                enough &= ~presences | (side.blocks.worth * alone >= MIN_ELSEWHERE)
        return enough


def anchored_checks(domains: AnchoredDomains, known: Known) -> Iterator[Checks]:
    """Every check of two domains given the anchors, those of one column at a time."""
    feature, d = domains.feature, domains.d
    lost = ~known.always_recorded
    anchors = np.isin(np.arange(d), domains.rates.columns)
    H = domains.here.H, domains.there.H
    nothing = np.ones((len(H[0]), 1)), np.ones((len(H[1]), 1))
    for a in np.flatnonzero(lost[feature]):
        i, ranked = int(feature[a]), a >= d
        h = H[0][:, a], H[1][:, a]
        apart = lost[feature] & (feature > i) & (known.group[feature] != known.group[i])
        recorded = known.always_recorded[feature] & (ranked | ~anchors[feature])
        # A recorded column without zeros has no presence to speak of.
        varying = np.array([np.ptp(H[0][:, b]) > 0 or np.ptp(H[1][:, b]) > 0 for b in range(len(feature))])
        b = np.flatnonzero((apart | recorded) & varying)
        if b.size:
            yield domains.compare("pairs", i, h, feature[b], (H[0][:, b], H[1][:, b]), (ranked, b >= d))
        if ranked:
            present = H[0][:, i], H[1][:, i]
            bins = [np.floor((values + 1) / 2 * N_BINS)[:, None] == np.arange(N_BINS) for values in h]
            shares = bins[0].astype(float), bins[1].astype(float)
            yield domains.compare("values", i, present, np.full(N_BINS, -1), shares, (True, False))
        elif (known.group == known.group[i]).sum() > 1:
            yield domains.compare("together", i, h, np.array([-1]), nothing, (False, False))
