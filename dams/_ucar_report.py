"""Result of `check_ucar`: a verdict in words, the checks behind it, and what they can't see."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from dams._registry import load
from dams._results import Result, as_html
from dams._ucar_statistics import POPULATION

# What no look at covariates alone can find, or hardly.
UNSEEN = (
    "It looks at covariates alone: loss that depends on the outcome, another share of cases, another relation between "
    "covariates and outcome, and a condition that is truly rarer pass it unnoticed or nearly so."
)
# Checks that a notebook shows below the verdict, and suspects that the verdict names.
SHOWN = 10


@dataclass(frozen=True, repr=False, eq=False)
class UCARReport(Result):
    """Result of `check_ucar`.

    Attributes
    ----------
    p_value : float
        Of all checks together, without those of the population.
    p_by_family : dict
        The p-value of each family of checks for its own checks alone, 1 where there was nothing to check: "pairs" of
        features, laws of nonzero "values", "bounds" and "absences" (probabilities that may not exceed 1, given that
        another feature is present or absent), columns lost "together"; and "population", the laws of what is always
        recorded, which may differ without any loss.
    checks : DataFrame
        One row per check, the most significant first, those of the population last: kind, feature, other, statistic,
        z, p_value, effect, effect_lower, effect_upper, feature_by_value, other_by_value. The p-values are adjusted:
        the probability that any check (of "population": any of these) is as far off under UCAR. The effect is the
        ratio of the target to what UCAR expects of it, with an interval at level 1 − alpha for this check alone; where
        a feature enters by its values, and not by presence, at the highest ones, if it changes linearly with their
        rank.
    suspects : list of str
        The fewest features that take part in all checks with p_value < alpha, found greedily.
    not_checked : str
        Where there is no check at all, why.
    pairs_left_out : int
        Pairs of features that were not looked at, as the table is wide.
    anchors : tuple of str
        Columns on which loss and population may depend: what was tested is randomness given these.

    See Also
    --------
    check_ucar : Makes it.
    """

    p_value: float
    p_by_family: dict[str, float]
    checks: pd.DataFrame
    suspects: list[str]
    alpha: float
    n_source: int
    n_target: int
    not_checked: str = ""
    pairs_left_out: int = 0
    anchors: tuple[str, ...] = ()

    @property
    def rejected(self) -> bool:
        """Whether UCAR is rejected at level alpha."""
        return self.p_value < self.alpha

    @property
    def population_differs(self) -> list[str]:
        """Always-recorded columns whose laws differ between source and target, the furthest off first."""
        found = self.checks[(self.checks["kind"] == POPULATION) & (self.checks["p_value"] < self.alpha)]
        return list(dict.fromkeys(found["feature"]))

    @property
    def largest_departure(self) -> Any:
        """The row of `checks` with the largest effect, up or down, among those with p_value < alpha; or None."""
        found = self.checks[(self.checks["kind"] != POPULATION) & (self.checks["p_value"] < self.alpha)]
        size = np.log(found["effect"].clip(lower=0.01)).abs()
        return found.loc[size.idxmax()] if size.notna().any() else None

    def __str__(self) -> str:
        of_loss = self.checks[self.checks["kind"] != POPULATION]
        size = f"{len(of_loss)} checks, {self.n_source:,} source and {self.n_target:,} target rows"
        if self.pairs_left_out:
            size += f"; {self.pairs_left_out:,} pairs that fewer rows show were left out"
        ucar = f"UCAR given {', '.join(self.anchors)}" if self.anchors else "UCAR"
        if of_loss.empty:
            return f"{ucar} could not be checked: {self.not_checked} ({size}).{self._population()}"
        if not self.rejected:
            verdict = f"Nothing speaks against {ucar} (p = {self.p_value:.3g}; {size}), which does not prove it."
            return f"{verdict}{self._population()} {UNSEEN}"
        worst = of_loss.iloc[0]
        return (
            f"{ucar} is rejected (p = {self.p_value:.2g}; {size}). Suspect: {_list(self.suspects)}. "
            f"Furthest off: {_describe(worst)} (z = {worst.z:.1f}). {self._departure()}{self._population()}"
        )

    # A terminal shows the verdict; the numbers are in the attributes.
    __repr__ = __str__

    def _departure(self) -> str:
        """A sentence about the size of what is off: many rows reject what does no harm."""
        worst = self.largest_departure
        if worst is None:
            return ""
        limits = f"{worst.effect:.2g} times what UCAR allows ({worst.effect_lower:.2g} to {worst.effect_upper:.2g})"
        return f"The largest departure: {_what_departs(worst)} is {limits}."

    def _population(self) -> str:
        """A sentence about what is always recorded; empty where its laws agree."""
        differs = self.population_differs
        if not differs:
            return ""
        if set(differs) <= set(self.anchors):
            return f" Populations differ in {', '.join(differs)}, which weights by the anchors account for."
        return (
            f" Populations differ in {', '.join(differs)}, always recorded: that is no loss, but what depends on it "
            "differs too, and is taken for loss."
        )

    def to_frame(self) -> pd.DataFrame:
        """Return `checks`."""
        return self.checks

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the verdict, and the most significant checks."""
        rest = len(self.checks) > SHOWN
        more = f"<p>The first {SHOWN} of {len(self.checks)} checks; .checks has all.</p>" if rest else ""
        return as_html(str(self), self.checks.head(SHOWN), index=False, digits=".3f") + more

    def plot(self, *, axes: Any = None, most: int = 20) -> Any:
        """Draw the largest standardised checks and return the axes.

        Parameters
        ----------
        axes : matplotlib Axes or None
            Where to draw; None makes a figure of its own.
        most : int
            Checks to show at most.
        """
        return load("dams._plots:plot_checks")(self, axes=axes, most=most)


def _list(names: list[str]) -> str:
    rest = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return f"{', '.join(names[:SHOWN])}{rest}"


def _describe(check: Any) -> str:
    feature, other = check.feature, check.other
    if check.kind == "values":
        return f"the law of the nonzero values of {feature}"
    if check.kind == "bounds":
        return f"{feature} would be observed in more than all target rows that have {other}"
    if check.kind == "absences":
        return f"{feature} would be observed in more than all rows without {other}"
    if check.kind == "together":
        return f"the presence of {feature} where any of its group is recorded"
    return f"{feature} and {other} together"


def _what_departs(check: Any) -> str:
    """Name the quantity whose size the effect is."""
    feature, other = check.feature, check.other
    if check.kind == "values":
        return f"the share of one tenth of the values of {feature}"
    if check.kind == "together":
        return f"presence of {feature} where any of its group is recorded"
    if check.kind == "absences":
        return f"presence of {feature} where {other} is absent"
    if check.feature_by_value and check.other_by_value:
        return f"presence of both at the highest values of {feature} and {other}"
    if check.feature_by_value:
        return f"presence of {other} at the highest values of {feature}"
    if check.other_by_value:
        return f"presence of {feature} at the highest values of {other}"
    return f"presence of {feature} given {other}"
