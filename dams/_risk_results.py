"""Results of `dams.risk`: a risk in the target, or several of them compared, each with a sentence and a table."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from dams._results import Result, as_html


@dataclass(frozen=True, repr=False)
class TargetRisk:
    """Result of `target_risk`.

    Attributes
    ----------
    estimate : float
        The risk in the target.
    standard_error : float
        Sampling of both tables and the error of r̂ included; of "filled" not its bias.
    interval : pair of floats
        At level `confidence`.
    method : str
        "signed" or "filled".
    reason : str
        Why this method.
    too_noisy : bool
        Whether the signed estimate is too noisy to be of use: its standard error exceeds a tenth of the estimate, and
        of `scale`.
    scale : float
        The risk of the best constant predictor, the same in source and target; of a loss of one's own the risk with
        labels that have nothing to do with the rows.
    source_risk : float
        The mean loss over the same rows as they are: the risk in the source.
    contradicted : bool
        Whether the estimate of a loss that is never negative lies below zero, whole interval and all: then the
        assumptions do not hold, and nothing here is to be relied on.
    loss, confidence, n_source, n_target
        As asked for.

    See Also
    --------
    target_risk : Makes it.
    """

    estimate: float
    standard_error: float
    interval: tuple[float, float]
    method: str
    reason: str
    too_noisy: bool
    scale: float
    source_risk: float
    loss: str
    confidence: float
    n_source: int
    n_target: int
    contradicted: bool = False

    def __str__(self) -> str:
        low, high = self.interval
        return (
            f"{self.loss} loss in the target: {self.estimate:.4g} ({100 * self.confidence:.4g} % interval {low:.4g} to "
            f"{high:.4g}), in the source {self.source_risk:.4g}; a constant predictor has {self.scale:.4g}. "
            f"{self.reason}"
        )

    __repr__ = __str__

    def to_frame(self) -> pd.DataFrame:
        """Return one row with the numbers."""
        low, high = self.interval
        return pd.DataFrame(
            {
                "estimate": [self.estimate],
                "standard_error": self.standard_error,
                "lower": low,
                "upper": high,
                "source_risk": self.source_risk,
                "scale": self.scale,
                "method": self.method,
            }
        )

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the sentence and the numbers."""
        return as_html(str(self), self.to_frame(), index=False)


@dataclass(frozen=True, repr=False, eq=False)
class TargetRiskComparison(Result):
    """Result of `compare_target_risk`.

    Attributes
    ----------
    table : DataFrame
        One row per model, in the order given: estimate, standard_error, lower, upper, source_risk; and against the
        reference `difference` with its standard_error, lower and upper, the interval for all models at once.
    best : str
        The model with the least estimate.
    reference : str
        What the others are compared with, mostly the predictor that is not adapted.
    choice : str
        `best` where its difference from the reference lies below zero, whole interval and all, and the assumptions are
        not `contradicted`; else the reference.
    rivals : list of str
        Models that `best` is not clearly better than, at the simultaneous level.
    differences : DataFrame
        Estimates of row minus column.
    method, reason, too_noisy, contradicted, loss, confidence, n_source, n_target
        As in `TargetRisk`, one for all models.

    See Also
    --------
    compare_target_risk : Makes it.
    """

    table: pd.DataFrame
    best: str
    reference: str
    choice: str
    rivals: list[str]
    differences: pd.DataFrame
    method: str
    reason: str
    too_noisy: bool
    loss: str
    confidence: float
    n_source: int
    n_target: int
    contradicted: bool = False

    def __str__(self) -> str:
        row = self.table.loc[self.best]
        found = (
            f"least {self.loss} loss in the target, {row['estimate']:.4g} ({row['lower']:.4g} to {row['upper']:.4g})"
        )
        if self.contradicted:
            return f"Keep {self.reference!r}. {self.reason}"
        if self.best == self.reference:
            verdict = f"Keep {self.reference!r}: it has the {found}."
        elif self.choice == self.best:
            verdict = (
                f"Take {self.best!r}: it has the {found}, {-row['difference']:.4g} less than {self.reference!r} "
                f"({-row['difference_upper']:.4g} to {-row['difference_lower']:.4g})."
            )
        else:
            verdict = (
                f"Keep {self.reference!r}: {self.best!r} has the {found}, but is not clearly better (difference "
                f"{row['difference']:.4g}, {row['difference_lower']:.4g} to {row['difference_upper']:.4g})."
            )
        rivals = [name for name in self.rivals if name != self.choice]
        also = (
            f" No clear difference from {', '.join(map(repr, rivals))}." if self.choice == self.best and rivals else ""
        )
        return f"{verdict}{also} {self.reason}"

    __repr__ = __str__

    def to_frame(self) -> pd.DataFrame:
        """Return `table`."""
        return self.table

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the sentence and the table."""
        return as_html(str(self), self.table)
