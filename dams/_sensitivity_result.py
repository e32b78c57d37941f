"""What `check_sensitivity` returns: bounds at any Γ, and the Γ at which adapting stops paying.

`dams.sensitivity` has the derivation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from dams._registry import load
from dams._results import Result, as_html
from dams._risk_study import Tables
from dams._validation import check_matched

Array = np.ndarray

# Γ beyond which an answer is "at any Γ": an outcome that changes recording a hundredfold.
LARGEST = 100.0
# Relative tolerance of the Γ at which adapting stops paying.
TOLERANCE = 1e-5


@dataclass(frozen=True)
class Line:
    """A quantity const + Σ_u slope_u λ_u with what its error is made of: values by row at given λ, gradient in r."""

    const: float
    slope: Array
    of_source: Array  # (n_s,), without λ
    of_source_by_unit: Array  # (n_s, units), times λ
    of_target: Array  # (n_t,)
    gradient: Array  # (units,), times λ

    def minus(self, other: Line) -> Line:
        names = ("const", "slope", "of_source", "of_source_by_unit", "of_target", "gradient")
        return Line(*(getattr(self, name) - getattr(other, name) for name in names))

    def at(self, lambdas: Array) -> float:
        return float(self.const + self.slope @ lambdas)


@dataclass(frozen=True, repr=False, eq=False)
class Sensitivity(Result):
    """Result of `check_sensitivity`.

    Attributes
    ----------
    table : DataFrame
        One row per model and Γ: `lower` and `upper`, the least and largest risk in the target; `lower_limit` and
        `upper_limit`, the same with sampling error, at level `confidence`; and of the risk minus that of the
        reference `difference_lower` and `difference_upper`, with their limits.
    stops : Series
        Per model the Γ at which it may stop beating the reference: 1 where it does not even under loss at random,
        infinite where no Γ up to 100 undoes it.
    surely : Series
        The same with sampling error: below this Γ the model is better at level `confidence`.
    reference : str
        The predictor to beat.
    baseline : float
        The number c from which outcomes are measured.

    See Also
    --------
    check_sensitivity : Makes it.
    """

    table: pd.DataFrame
    stops: pd.Series
    surely: pd.Series
    reference: str
    baseline: float
    confidence: float
    _tables: Tables = field(repr=False, compare=False)
    _lines: dict[str, Line] = field(repr=False, compare=False)
    _highest: Array = field(repr=False, compare=False)

    def __str__(self) -> str:
        if self.stops.empty:
            return f"Bounds of the risk of {self.reference!r}, which is compared with no other: see to_frame()."
        return " ".join(self._sentence(name) for name in self.stops.index)

    __repr__ = __str__

    def _sentence(self, name: Any) -> str:
        stops, surely = float(self.stops[name]), float(self.surely[name])
        if stops <= 1:
            return f"{name!r} does not beat {self.reference!r}, even if loss does not depend on the outcome."
        if np.isinf(stops):
            return f"{name!r} beats {self.reference!r} whatever the outcome does to loss (Γ up to {LARGEST:g})."
        what = (
            "rows with label 1 have their values kept more than {0} times as often, or as seldom, as the relative "
            "missingness says"
            if self._is_binary
            else "loss that depends on the outcome makes products of covariates with it more than {0} times as large, "
            "or as small, as the relative missingness says"
        )
        sure = (
            f"with sampling error, {surely:.2f}"
            if surely > 1
            else "with sampling error, no Γ is sure to leave it ahead"
        )
        return f"{name!r} beats {self.reference!r} unless {what.format(f'{stops:.2f}')} (Γ = {stops:.2f}; {sure})."

    @property
    def _is_binary(self) -> bool:
        return self.baseline == 0 and set(np.unique(self._tables.y)) <= {0, 1}

    def to_frame(self) -> pd.DataFrame:
        """Return `table`."""
        return self.table

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the sentences and the table."""
        return as_html(str(self), self.table, index=False)

    def worst_case(self, name: str, gamma: float) -> pd.DataFrame:
        """Return the λ with the largest risk of a model, column by column, and the loss that gives it.

        `kept_if_one` and `kept_if_zero`, of a 0/1 outcome, are P(kept | target, Y)/P(kept | source, Y): a target that
        loses values so attains the bound. Exact for 0/1 columns.
        """
        tables = self._tables
        lambdas = self._corner(self._lines[_one_of(name, self._lines)], gamma, largest=True)[tables.unit]
        index = tables.names if tables.names is not None else range(len(lambdas))
        frame = pd.DataFrame({"lambda": lambdas}, index=pd.Index(index, name="feature", tupleize_cols=False))
        if self._is_binary:
            share = _share_of_ones(tables)
            keep = 1 - tables.relative.r
            frame["kept_if_one"] = lambdas * keep
            frame["kept_if_zero"] = keep * (1 - share * lambdas) / np.where(share < 1, 1 - share, 1.0)
        return frame

    def coef_bounds(self, gamma: float) -> pd.DataFrame:
        """Return least and largest coefficients of the best linear predictor in the target, one row per column."""
        start, slopes, _ = self._best_linear()
        low, high = self._range(start, slopes, gamma)
        names = self._tables.names if self._tables.names is not None else range(len(low))
        return pd.DataFrame({"lower": low, "upper": high}, index=pd.Index(names, name="feature", tupleize_cols=False))

    def predict_bounds(self, X: Any, gamma: float) -> tuple[Array, Array]:
        """Return least and largest predictions of the best linear predictor in the target, for rows of the target."""
        tables = self._tables
        rows = check_matched(X, tables.names, tables.source.shape[1], name="X")
        start, slopes, centre = self._best_linear()
        offsets = np.asarray(rows - tables.target.mean(axis=0))
        return self._range(centre + offsets @ start, offsets @ slopes, gamma)

    def _best_linear(self) -> tuple[Array, Array, float]:
        """β(λ) = start + slopes λ, (d,) and (d, units); and E[Y], the prediction at the target's means."""
        tables = self._tables
        mean, outcome = tables.target.mean(axis=0), tables.y - self.baseline
        inverse = np.linalg.pinv(np.cov(tables.target, rowvar=False, bias=True).reshape(len(mean), -1), hermitian=True)
        cross = (1 - tables.relative.r) * (tables.source.T @ outcome) / len(outcome)
        members = (tables.unit[:, None] == np.arange(len(tables.domains.r))).astype(float)
        return -inverse @ mean * outcome.mean(), inverse @ (cross[:, None] * members), float(tables.y.mean())

    def _range(self, start: Array, slopes: Array, gamma: float) -> tuple[Array, Array]:
        low, high = self._box(gamma)
        up, down = np.maximum(slopes, 0), np.minimum(slopes, 0)
        return start + up @ low + down @ high, start + up @ high + down @ low

    def plot(self, *, axes: Any = None) -> Any:
        """Draw the differences from the reference against Γ, bounds and limits, and return the axes."""
        return load("dams._plots:plot_sensitivity")(self, axes=axes)

    def _box(self, gamma: float) -> tuple[Array, Array]:
        """Least and largest λ by unit."""
        if not gamma >= 1:
            raise ValueError(f"gamma must be at least 1, which is loss at random, got {gamma!r}.")
        estimated = self._tables.domains.estimated
        low = np.where(estimated, 1 / gamma, 1.0)
        return low, np.where(estimated, np.minimum(gamma, self._highest), 1.0)

    def _corner(self, line: Line, gamma: float, *, largest: bool) -> Array:
        low, high = self._box(gamma)
        return np.where((line.slope > 0) == largest, high, low)

    def _bounds(self, line: Line, gamma: float) -> tuple[float, float, float, float]:
        """Least and largest value, and the outer limits of the two."""
        low, high = (line.at(self._corner(line, gamma, largest=largest)) for largest in (False, True))
        return low, high, self._limit(line, gamma, largest=False), self._limit(line, gamma, largest=True)

    def _limit(self, line: Line, gamma: float, *, largest: bool) -> float:
        """Lower limit of the least value, or upper limit of the largest."""
        lambdas = self._corner(line, gamma, largest=largest)
        influence = self._tables.domains.influence(
            (line.of_source + line.of_source_by_unit @ lambdas)[:, None],
            line.of_target[:, None],
            (line.gradient * lambdas)[:, None],
        )
        return influence.limits(line.at(lambdas), np.ones(1), self.confidence)[int(largest)]

    def _first_gamma(self, line: Line, *, surely: bool) -> float:
        """Least Γ at which the largest value, which grows with Γ, reaches zero; with sampling error, its limit."""

        def is_reached(gamma: float) -> bool:
            if surely:
                return self._limit(line, gamma, largest=True) >= 0
            return line.at(self._corner(line, gamma, largest=True)) >= 0

        if is_reached(1.0):
            return 1.0
        if not is_reached(LARGEST):
            return np.inf
        # By bisection on the scale of log Γ.
        low, high = 0.0, float(np.log(LARGEST))
        while high - low > TOLERANCE:
            middle = (low + high) / 2
            low, high = (low, middle) if is_reached(float(np.exp(middle))) else (middle, high)
        return float(np.exp(high))


def _one_of(name: str, lines: Mapping[str, Any]) -> str:
    if name not in lines:
        raise ValueError(f"name must be one of {list(lines)}, got {name!r}.")
    return name


def _share_of_ones(tables: Tables) -> Array:
    """P(Y = 1 | X̃_j ≠ 0) in the source; of columns lost together, given that any is there."""
    present = tables.domains.source.present
    return (present.T @ tables.y / np.maximum(present.sum(axis=0), 1))[tables.unit]
