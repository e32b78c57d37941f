"""Checks of claims on the eICU experiment."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import pandas as pd

from dams.report.claims.expectations import Expected, Leaf, Measurement
from dams.report.evidence import Evidence, NotTestable
from dams.report.scope import Scope, title_of_method, words_of
from dams.stats import Interval

_ABSENT = "the eICU experiment is not part of this run"


class Eicu(Leaf):
    """A metric of the eICU experiment: of one method, or its difference from that of another (`minus`).

    Differences are those of the same resampled patients. Their intervals were made with the scores, one by one.
    """

    kind: Literal["eicu"]
    metric: Literal["mse", "auroc", "auprc"]
    method: str
    minus: str | None = None
    expect: Expected

    def measure(self, evidence: Evidence, scope: Scope, together: int) -> Iterator[Measurement]:
        """Look the score, or the paired difference, up."""
        wanted = {**scope, "method": self.method, "metric": self.metric}
        if self.minus is None:
            table, quantity = evidence.eicu, f"{words_of(self.method)} {self.metric}"
            wanted |= {"variant": "corrected"}
            if self.method == "oracle":
                wanted["source"] = wanted["target"]
        else:
            table = evidence.eicu_differences
            quantity = f"{self.metric}: {words_of(self.method)} − {words_of(self.minus)}"
            wanted |= {"minus": self.minus}
        yield Measurement(quantity, _interval_in(table, wanted), self.expect.region())


def _interval_in(table: pd.DataFrame, wanted: dict[str, str]) -> Interval:
    if table.empty:
        raise NotTestable(_ABSENT)
    for column, value in wanted.items():
        table = table[table[column] == value]
    if table.empty or pd.isna(table["value"].iloc[0]):
        raise NotTestable(f"no eICU score of the {title_of_method(wanted['method'])} predictor")
    return Interval(*(float(table[name].iloc[0]) for name in ("value", "lower", "upper")))


class EicuRates(Leaf):
    """The share of features that one hospital of the eICU experiment records clearly more often than the other.

    Clearly: the whole interval of r lies on that side of zero. Every feature's interval counts its own uncertainty, so
    the share is taken as it is; by chance alone it would be half of 1 − confidence.
    """

    kind: Literal["eicu_rates"]
    side: Literal["clearly_negative", "clearly_positive"]
    expect: Expected

    def measure(self, evidence: Evidence, scope: Scope, together: int) -> Iterator[Measurement]:
        """Look the share up in the summary of r."""
        table = evidence.eicu_rates
        if table.empty:
            raise NotTestable(_ABSENT)
        for column, value in scope.items():
            table = table[table[column] == value]
        if table.empty:
            raise NotTestable("no relative missingness between these hospitals")
        quantity = f"share of features with r {self.side.replace('_', ' ')}"
        yield Measurement(quantity, Interval(*[float(table[self.side].iloc[0])] * 3), self.expect.region())


class EicuCohort(Leaf):
    """A fact of one hospital's patients: how many stays, or which share of them died."""

    kind: Literal["eicu_cohort"]
    hospital: str
    fact: Literal["stays", "mortality"]
    expect: Expected

    def measure(self, evidence: Evidence, scope: Scope, together: int) -> Iterator[Measurement]:
        """Look the fact up in what the run noted of its cohort."""
        known = evidence.eicu_hospitals.get(self.hospital, {})
        if self.fact not in known:
            raise NotTestable(_ABSENT)
        exact = Interval(*[float(known[self.fact])] * 3)
        yield Measurement(f"{self.fact} of {self.hospital}", exact, self.expect.region())
