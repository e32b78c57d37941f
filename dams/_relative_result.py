"""Estimates of relative missingness and what they say: in words, as a table, as a picture."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from dams._intervals import p_recorded_better
from dams._registry import load
from dams._results import Result, as_html
from dams._rows import Worth
from dams._validation import check_matched, describe_columns
from dams.anchors import AnchoredRates

Array = np.ndarray
# Rows of the table that a notebook shows below the sentence.
SHOWN = 20


@dataclass(frozen=True, repr=False, eq=False)
class RelativeMissingness(Result):
    """Estimated relative missingness of every feature, with intervals.

    Made by `estimate_relative_missingness`. Printed, it says which features the target loses more or less often.

    Attributes
    ----------
    r : array of shape (d,)
        1 − q^t/q^s; negative where the target loses less than the source. 0 where a column is always recorded; one
        number for columns that are lost together.
    lower, upper : array of shape (d,)
        Interval for r at level `confidence`, feature by feature.
    simultaneous_lower, simultaneous_upper : array of shape (d,)
        Intervals that hold the r of all features at once with probability `confidence`.
    q_source, q_target : array of shape (d,)
        Shares of nonzeros.
    always_recorded : array of shape (d,)
        Which columns are always recorded: those that were named, and those without a zero in either table. Of the
        former r is known; of the latter it is estimated, so that its interval has a width.
    column_groups : array of shape (d,)
        The number of each column's group; 0, 1, …, d − 1 where each is lost on its own.
    feature_names : list or None
        Names of the source's columns, if it is a DataFrame.
    worth : pair of Worth
        How many independent rows source and target are worth, for each share.
    anchored : AnchoredRates or None
        Where loss may depend on anchors, the estimates of r_j(s) and w(s); `at` and `weights` give them for rows. All
        of the above is then of all rows together, whatever their anchors.

    See Also
    --------
    estimate_relative_missingness : Makes it.
    check_ucar : Test the assumption under which r is a matter of recording alone.
    """

    r: Array
    lower: Array
    upper: Array
    simultaneous_lower: Array
    simultaneous_upper: Array
    q_source: Array
    q_target: Array
    n_source: int
    n_target: int
    confidence: float
    method: str
    always_recorded: Array
    column_groups: Array
    worth: tuple[Worth, Worth]
    feature_names: list[Any] | None = None
    anchored: AnchoredRates | None = None

    def at(self, X: Any) -> Array:
        """Return r of every row and column, (n, d): r_j(s) at the anchors of the rows X, or r where there are none.

        X has the source's columns, of which only the anchors are read.
        """
        table = self._read(X)
        return (
            np.tile(self.r, (table.shape[0], 1)) if self.anchored is None else self.anchored.r(self.anchored.of(table))
        )

    def standard_errors_at(self, X: Any) -> Array:
        """Return the standard errors of `at`, (n, d); only with anchors."""
        if self.anchored is None:
            raise ValueError("standard_errors_at needs an estimate with anchors; without, lower and upper say as much.")
        return self.anchored.error(self.anchored.of(self._read(X)))

    def weights(self, X: Any) -> Array:
        """Return w(s) = p^t(s)/p^s(s) at the anchors of the rows X, (n,); 1 where there are none."""
        table = self._read(X)
        if self.anchored is None:
            return np.ones(table.shape[0])
        return self.anchored.weights(self.anchored.of(table))

    @property
    def effective_sample_size(self) -> float:
        """Number of rows of the target's population that the source rows are worth, (Σ w)²/Σ w²; n without anchors."""
        return float(self.n_source) if self.anchored is None else self.anchored.effective

    def _read(self, X: Any) -> Any:
        return check_matched(X, self.feature_names, len(self.r), name="X")

    @property
    def filter_rates(self) -> Array:
        """max(r, 0), the rates at which algorithm 1 deletes source values."""
        return np.maximum(self.r, 0)

    def filter_rates_at(self, X: Any) -> Array:
        """Return max(r, 0): (d,), or with anchors (n, d), at those of the rows X."""
        return self.filter_rates if self.anchored is None else np.maximum(self.at(X), 0)

    @property
    def improper(self) -> Array:
        """Mask of the features that the target records better: their whole interval lies below zero.

        Each is judged on its own, so of many features whose rates agree a few are expected here by chance. With
        anchors, it is so at the anchors of some of the source's rows, 5 % at least.
        """
        return self.upper < 0 if self.anchored is None else self.anchored.improper(self.confidence)

    @property
    def differs(self) -> bool:
        """Whether any feature's missingness clearly differs: an interval that holds for all together leaves zero out.

        Many small differences may be clear together where none is alone. With anchors r is that of all rows together.
        """
        return bool((self.simultaneous_lower > 0).any() or (self.simultaneous_upper < 0).any())

    @cached_property
    def is_proper(self) -> bool:
        """Whether deleting source values can reproduce the target, as far as all features together tell.

        A filter can only delete, so it is proper where m^s ≤ m^t in every feature. Estimates scatter around zero where
        the rates agree; only an interval that lies below zero speaks against it, and of many intervals some do by
        chance. So the least p-value of the features that are `improper` (Fisher's exact test of q^t ≤ q^s, of as many
        independent rows as the groups of rows are worth) is held against (1 − confidence)/d, Bonferroni's level for
        all d: where the filter is proper, this says so with probability `confidence` at least. With anchors, intervals
        of r_j(s) are held against zero at that level.
        """
        if self.anchored is not None:
            return not bool(self.anchored.improper(1 - (1 - self.confidence) / self._n_estimated).any())
        p = p_recorded_better(*self.worth, np.unique(self.column_groups[self.improper]))
        return not bool((p < (1 - self.confidence) / self._n_estimated).any())

    @property
    def _n_estimated(self) -> int:
        """Distinct r that are estimated, 1 at least: columns that are lost together have one, known ones none."""
        return max(1, len(np.unique(self.column_groups[~_is_known(self)])))

    def __str__(self) -> str:
        more, less = self.lower > 0, self.upper < 0
        known = int(_is_known(self).sum())
        unclear = int(len(self.r) - more.sum() - less.sum() - known)
        recorded = f"; {known} {'is' if known == 1 else 'are'} always recorded" if known else ""
        return (
            f"Of {len(self.r)} features the target loses {more.sum()} more often than the source and {less.sum()} less "
            f"often; {unclear} show{'s' * (unclear == 1)} no clear difference{recorded} ({100 * self.confidence:.4g} % "
            f"intervals by feature; {self._size()}). {self._furthest(more | less)}{self._jointly()}Deleting source "
            f"values {'can' if self.is_proper else 'cannot'} reproduce the target, as far as all features together "
            f"tell.{self._given_anchors()}"
        )

    # A terminal shows the sentence; the numbers are in `to_frame()`.
    __repr__ = __str__

    def _given_anchors(self) -> str:
        return "" if self.anchored is None else f" {self.anchored.describe(self.n_source, self.feature_names)}"

    def _size(self) -> str:
        source, target = self.worth
        if source.n_groups == source.n and target.n_groups == target.n:
            return f"{source.n:,} source and {target.n:,} target rows"
        parts = [
            f"{worth.n:,} {name} rows" + ("" if worth.n_groups == worth.n else f" in {worth.n_groups:,} groups")
            for name, worth in (("source", source), ("target", target))
        ]
        return " and ".join(parts)

    def _jointly(self) -> str:
        """Which differences hold for all features at once; empty for a single one."""
        if self._n_estimated == 1:
            return ""
        more, less = (self.simultaneous_lower > 0).sum(), (self.simultaneous_upper < 0).sum()
        return f"Intervals that hold for all at once leave {more} more often and {less} less often. "

    def _furthest(self, decided: Array, *, most: int = 3) -> str:
        """A sentence about the features furthest from zero, of those decided; empty without any."""
        order = np.argsort(-np.abs(self.r), kind="stable")
        shown = [
            f"{describe_columns(np.array([j]), self.feature_names)} (r = {self.r[j]:.2f}, {self.lower[j]:.2f} to "
            f"{self.upper[j]:.2f})"
            for j in order[decided[order]][:most]
        ]
        return f"Furthest from zero: {', '.join(shown)}. " if shown else ""

    def to_frame(self) -> pd.DataFrame:
        """Return one row per feature."""
        index = self.feature_names if self.feature_names is not None else range(len(self.r))
        return pd.DataFrame(
            {
                "r": self.r,
                "lower": self.lower,
                "upper": self.upper,
                "simultaneous_lower": self.simultaneous_lower,
                "simultaneous_upper": self.simultaneous_upper,
                "q_source": self.q_source,
                "q_target": self.q_target,
                "improper": self.improper,
                "always_recorded": self.always_recorded,
            },
            # Labels that are tuples stay whole.
            index=pd.Index(index, name="feature", tupleize_cols=False),
        )

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the sentence, and the features furthest from zero."""
        order = np.argsort(-np.abs(self.r), kind="stable")[:SHOWN]
        rest = len(self.r) - len(order)
        more = f"<p>The {SHOWN} furthest from zero of {len(self.r)}; to_frame() has all.</p>" if rest else ""
        return as_html(str(self), self.to_frame().iloc[order], digits=".3f") + more

    def plot(self, *, axes: Any = None, most: int = 40) -> Any:
        """Draw r with both intervals, the features furthest from zero on top, and return the axes.

        Parameters
        ----------
        axes : matplotlib Axes or None
            Where to draw; None makes a figure of its own.
        most : int
            Features to show at most.
        """
        return load("dams._plots:plot_relative")(self, axes=axes, most=most)


def _is_known(relative: RelativeMissingness) -> Array:
    """Which r are known, not estimated."""
    return relative.always_recorded & (relative.lower == relative.upper)
