"""A few labelled target rows: do they bear out that the adapted predictor is the better one there?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import stdtrit

from dams._rows import resolve_row_groups

Array = np.ndarray
# Fewer labels tell nothing.
LEAST = 10


@dataclass(frozen=True)
class LabelTest:
    """Losses of two predictors on the same labelled target rows.

    Attributes
    ----------
    n : int
        Labelled rows.
    adapted, source : str
        Names of the predictors.
    adapted_loss, source_loss : float
        Mean losses.
    difference : float
        Adapted minus source; below 0 the adapted one is better.
    interval : pair of floats
        Of the difference, by Student's t over rows, or groups of rows.
    expected, expected_error : float
        The loss of the adapted predictor that was expected without labels, and its standard error.
    observed_error : float
        The standard error of `adapted_loss`.
    """

    n: int
    adapted: str
    source: str
    adapted_loss: float
    source_loss: float
    difference: float
    interval: tuple[float, float]
    expected: float
    expected_error: float
    observed_error: float
    confidence: float

    @property
    def bears_out(self) -> bool:
        """Whether the adapted predictor is clearly better on these rows."""
        return self.interval[1] < 0

    @property
    def contradicts(self) -> bool:
        """Whether it is clearly worse."""
        return self.interval[0] > 0

    @property
    def is_as_expected(self) -> bool:
        """Whether its loss is within three standard errors of the one expected."""
        return abs(self.adapted_loss - self.expected) <= 3 * np.hypot(self.expected_error, self.observed_error)

    def __str__(self) -> str:
        low, high = self.interval
        what = (
            "they bear out that adapting pays"
            if self.bears_out
            else "they say that adapting does harm"
            if self.contradicts
            else "they do not tell the two apart"
        )
        text = (
            f"On {self.n:,} labelled target rows {self.adapted!r} has loss {self.adapted_loss:.4g} and {self.source!r} "
            f"{self.source_loss:.4g}: {what} (difference {self.difference:.4g}, {100 * self.confidence:.4g} % interval "
            f"{low:.4g} to {high:.4g})."
        )
        if self.is_as_expected:
            return f"{text} The loss expected without labels was {self.expected:.4g}, which agrees."
        return (
            f"{text} The loss expected without labels was {self.expected:.4g}, which does not agree: loss may depend "
            "on the outcome, or the share of cases or their relation to the covariates differs in the target. Label "
            "more rows, and fit on them."
        )


def compare_on_labels(
    losses: dict[str, Array], adapted: str, source: str, groups: Any, *, expected: Any, confidence: float
) -> LabelTest:
    """Compare the losses of two predictors on the same rows; `expected` has the estimate and its standard error."""
    n = len(losses[adapted])
    number = resolve_row_groups(groups, n, parameter="groups of the labelled rows")
    number = np.arange(n) if number is None else number
    gap = losses[adapted] - losses[source]
    error = _error(gap, number)
    reach = float(stdtrit(number.max(), (1 + confidence) / 2)) * error
    return LabelTest(
        n=n,
        adapted=adapted,
        source=source,
        adapted_loss=float(losses[adapted].mean()),
        source_loss=float(losses[source].mean()),
        difference=float(gap.mean()),
        interval=(float(gap.mean() - reach), float(gap.mean() + reach)),
        expected=float(expected["estimate"]),
        expected_error=float(expected["standard_error"]),
        observed_error=_error(losses[adapted], number),
        confidence=confidence,
    )


def _error(values: Array, number: Array) -> float:
    """Standard error of a mean over rows of which some belong together."""
    sums = np.bincount(number, weights=values - values.mean())
    groups = len(sums)
    return float(np.sqrt(np.square(sums).sum() * groups / max(groups - 1, 1)) / len(values))
