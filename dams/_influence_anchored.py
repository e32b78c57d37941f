"""Standard errors of quantities that rest on r(s) and w(s), functions of anchors that were estimated from both samples.

A quantity h = E_s[w(S) a(r(S))] + E_t[b] depends on logistic regressions (`dams.anchors`): of presence in either
domain, with coefficients η^s_u and η^t_u, and of the domain, η. With B(s) the basis of the anchors,

    ∂r_u/∂η^s_u = (1 − r_u)(1 − q^s_u) B,    ∂r_u/∂η^t_u = −(1 − r_u)(1 − q^t_u) B,    ∂ log w/∂η = B − E_s[w B],

and a row with basis B and outcome z moves η by H⁻¹ B (z − p̂), H the penalised second derivatives. As w has mean 1 over
the source rows, a row's own weight moves h by −E_s[w a] (w − 1) too. Without anchors, all of this is `dams._influence`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dams._influence import Influence, Sample
from dams._smooth import expit
from dams.anchors import AnchoredRates, anchor_columns

Array = np.ndarray


@dataclass(frozen=True)
class AnchoredSamples:
    """Both samples, with r(s) and w(s): what `dams._influence.Domains` is without anchors."""

    source: Sample
    target: Sample
    estimated: Array
    rates_of: AnchoredRates
    basis: tuple[Array, Array]  # of the anchors, (n_s, p) and (n_t, p)

    @classmethod
    def of(
        cls, source: Sample, target: Sample, estimated: Array, rates: AnchoredRates, tables: tuple[Array, Array]
    ) -> AnchoredSamples:
        """Read the anchors of both tables."""
        first, second = (rates.basis(anchor_columns(table, rates.columns)) for table in tables)
        return cls(source, target, estimated, rates, (first, second))

    @cached_property
    def r(self) -> Array:
        """Relative missingness of every source row and unit, (n_s, units); 0 where nothing is lost."""
        out = np.zeros((len(self.basis[0]), len(self.estimated)))
        here, there = self._shares(0)
        out[:, self.rates_of.lost] = 1 - there / here
        return out

    @cached_property
    def weights(self) -> Array:
        """Weights w of the source rows."""
        return self.rates_of.weights(self.basis[0])

    @property
    def n_parameters(self) -> int:
        """Coefficients of presence in both domains; those of w come in with the values themselves."""
        return 2 * len(self.rates_of.lost) * self.basis[0].shape[1]

    def rates(self, rows: Array) -> Array:
        """Return r at some source rows, (rows, units)."""
        return self.r[rows]

    def collect(self, rows: Array, units: Array, values: Array) -> Array:
        """Add up derivatives in r of single units at source rows, (N, k); returns (parameters, k)."""
        out = np.zeros((2, len(self.rates_of.lost), self.basis[0].shape[1], values.shape[1]))
        for place, unit in enumerate(self.rates_of.lost):
            some = units == unit
            if some.any():
                at = rows[some]
                for side in (0, 1):
                    slope = self._slopes[side][at, place]
                    out[side, place] = (self.basis[0][at] * slope[:, None]).T @ values[some]
        return out.reshape(-1, values.shape[1])

    def collect_rows(self, rows: Array, values: Array) -> Array:
        """Add up derivatives in r of all units, (rows, units); returns (parameters,)."""
        lost = values[:, self.rates_of.lost]
        sides = [(lost * self._slopes[side][rows]).T @ self.basis[0][rows] for side in (0, 1)]
        return np.stack(sides).ravel()

    def influence(self, of_source: Array, of_target: Array, gradient: Array) -> Influence:
        """Return pieces of k estimates: values by source row (n_s, k) with w in them, by target row (n_t, k), and G."""
        p, k = self.basis[0].shape[1], of_source.shape[1]
        gradient = gradient.reshape(2, len(self.rates_of.lost), p, k)
        w = self.weights
        parts = [of_source - of_source.mean(axis=0) * (w - 1)[:, None], of_target.copy()]
        fits = (self.rates_of.source, self.rates_of.target)
        samples = (self.source, self.target)
        for side, (basis, sample) in enumerate(zip(self.basis, samples, strict=True)):
            left = sample.present[:, self.rates_of.lost] - self._shares(side)[side]
            for place, fit in enumerate(fits[side]):
                moved = basis @ (fit.inverse @ gradient[side, place])
                parts[side] += len(basis) * left[:, [place]] * moved
        of_weights = of_source.T @ (self.basis[0] - w @ self.basis[0] / w.sum()) / len(w)
        for side, basis in enumerate(self.basis):
            outcome = side - expit(self.rates_of.domain.log_odds(basis))
            parts[side] += len(basis) * outcome[:, None] * (basis @ (self.rates_of.domain.inverse @ of_weights.T))
        return Influence(self.source.pieces(parts[0]), self.target.pieces(parts[1]), samples)

    def _shares(self, side: int) -> list[Array]:
        """P(presence | s) of the units that may be lost, in source and target, at the rows of one side."""
        basis = self.basis[side]
        none = np.zeros((len(basis), 0))
        return [
            np.column_stack([none, *(expit(fit.log_odds(basis)) for fit in fits)])
            for fits in (self.rates_of.source, self.rates_of.target)
        ]

    @cached_property
    def _slopes(self) -> tuple[Array, Array]:
        """∂r_u/∂(log-odds of presence) in source and target, at the source rows, each (n_s, lost units)."""
        here, there = self._shares(0)
        kept = there / here
        return kept * (1 - here), -kept * (1 - there)
