"""The kinds of check that a claim may be put to: each measures something with its interval and says what is expected.

A check is declared in resources/paper/claims.yaml. Its `scope` says where it is made: a key with a list of values means
one check a value (a product over several lists), and `hold` says whether all, most or any of them must hold.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Annotated, Any, Literal

import numpy as np
import pandas as pd
from pydantic import Field

from dams.report.claims.expectations import Expected, Leaf, Measurement, Node, Region
from dams.report.evidence import Evidence, NotTestable
from dams.report.outputs.error_against_distance import weighted_slopes
from dams.report.paper import published_score
from dams.report.scope import Scope, title_of_method, title_of_model
from dams.stats import Interval, crossed_bootstrap, crossed_replicates, percentile_interval, small_sample_stretch

Predictor = str


class Difference(Leaf):
    """Mean of first − second over the cells that both have; `within` makes it a check of agreement."""

    kind: Literal["difference"]
    first: Predictor
    second: Predictor
    expect: Expected

    def measure(self, evidence: Evidence, scope: Scope) -> Iterator[Measurement]:
        """Pair the scores cell by cell, so that what cells share cancels."""
        yield _difference(evidence, scope, self.first, self.second, self.expect.region())


class Ordering(Leaf):
    """Means in the order of `predictors`, each better than the next by more than `by`."""

    kind: Literal["ordering"]
    predictors: Annotated[list[Predictor], Field(min_length=2)]
    by: float = 0.0

    def measure(self, evidence: Evidence, scope: Scope) -> Iterator[Measurement]:
        """Compare neighbours, pairwise in the same cells."""
        for better, worse in zip(self.predictors, self.predictors[1:], strict=False):
            yield _difference(evidence, scope, better, worse, Region(upper=0.0 - self.by))


class Best(Leaf):
    """The best of `first` against the best of `second`, whichever those are by their means."""

    kind: Literal["best"]
    first: Annotated[list[Predictor], Field(min_length=1)]
    second: Annotated[list[Predictor], Field(min_length=1)]
    expect: Expected

    def measure(self, evidence: Evidence, scope: Scope) -> Iterator[Measurement]:
        """Choose on the cells that all have, then pair."""
        names = [*self.first, *self.second]
        tables = evidence.score_tables(scope, names)
        means = {name: np.nanmean(table.to_numpy()) for name, table in zip(names, tables, strict=True)}
        best, rival = (min(group, key=means.__getitem__) for group in (self.first, self.second))
        yield _difference(evidence, scope, best, rival, self.expect.region())


class Ratio(Leaf):
    """Mean of first divided by mean of second."""

    kind: Literal["ratio"]
    first: Predictor
    second: Predictor
    expect: Expected

    def measure(self, evidence: Evidence, scope: Scope) -> Iterator[Measurement]:
        """Resample both means alike."""
        first, second = (t.to_numpy() for t in evidence.score_tables(scope, [self.first, self.second]))
        options = _options(evidence, scope, self.first, self.second)
        confidence, seed = options.pop("confidence"), options.pop("random_state").integers(2**63)
        above, below = (crossed_replicates(t, **options, random_state=seed) for t in (first, second))
        ratio = float(np.nanmean(first) / np.nanmean(second))
        yield Measurement(
            f"{_words(self.first)} / {_words(self.second)}",
            # To first order the ratio differs by what first − ratio · second differs from 0.
            _percentiles(
                ratio,
                above / below,
                confidence,
                enough=np.isfinite(first).sum() > 1,
                stretch=small_sample_stretch(first - ratio * second, confidence),
            ),
            self.expect.region(),
            len(first),
        )


class Level(Leaf):
    """Mean score of one predictor; 1 is what predicting the label mean scores."""

    kind: Literal["level"]
    predictor: Predictor
    expect: Expected

    def measure(self, evidence: Evidence, scope: Scope) -> Iterator[Measurement]:
        """Take the mean over the cells."""
        (table,) = evidence.score_tables(scope, [self.predictor])
        interval = crossed_bootstrap(table.to_numpy(), **_options(evidence, scope, self.predictor))
        yield Measurement(_words(self.predictor), interval, self.expect.region(), len(table))


class Slope(Leaf):
    """Slope of the score against the distance ‖m^s − m^t‖₂, or the difference of two slopes (`minus`)."""

    kind: Literal["slope"]
    predictor: Predictor
    minus: Predictor | None = None
    expect: Expected

    def measure(self, evidence: Evidence, scope: Scope) -> Iterator[Measurement]:
        """Fit a line through the means over β of every rate draw; resample draws. A slope is linear in the scores."""
        names = [self.predictor] + ([self.minus] if self.minus else [])
        first, *second = (table.mean(axis="columns") for table in evidence.score_tables(scope, names))
        scores = first - second[0] if second else first
        x = evidence.distances(scope).loc[scores.index].to_numpy()
        if np.ptp(x) < 1e-9:
            raise NotTestable("all rate draws are equally far apart")
        options, n = _options(evidence, scope, *names), len(x)
        weights = options["random_state"].multinomial(n, np.full(n, 1 / n), options["replicates"]) / n
        slope = weighted_slopes(x, scores.to_numpy(), np.full((1, n), 1 / n))[0]
        resampled = weighted_slopes(x, scores.to_numpy(), weights)
        yield Measurement(
            f"slope of {' − '.join(map(_words, names))}",
            _percentiles(float(slope), resampled, options["confidence"], enough=n > 2),
            self.expect.region(),
            n,
        )


class Published(Leaf):
    """Our mean minus the printed number, for each of the methods."""

    kind: Literal["published"]
    methods: Annotated[list[str], Field(min_length=1)]
    expect: Expected

    def measure(self, evidence: Evidence, scope: Scope) -> Iterator[Measurement]:
        """Look the printed numbers up in resources/paper/table1.csv."""
        for method in self.methods:
            (table,) = evidence.score_tables(scope, [method])
            ours = crossed_bootstrap(table.to_numpy(), **_options(evidence, scope, method))
            printed = published_score(scope, method)
            shifted = Interval(ours.mean - printed, ours.lower - printed, ours.upper - printed)
            yield Measurement(f"{_words(method)} − printed {printed:.3f}", shifted, self.expect.region(), len(table))


class Theory(Leaf):
    """Statements of the theory table, each by the words it begins with."""

    kind: Literal["theory"]
    statements: Annotated[list[str], Field(min_length=1)]

    def measure(self, evidence: Evidence, scope: Scope) -> Iterator[Measurement]:
        """Compare the largest deviation with the statement's own tolerance."""
        if evidence.theory.empty:
            raise NotTestable("the theory was not checked in this run")
        for start in self.statements:
            rows = evidence.theory[evidence.theory["statement"].str.startswith(start)]
            if rows.empty:
                raise NotTestable(f"no statement '{start}…' in the theory table")
            for row in rows.to_dict("records"):
                exact = Interval(*[row["largest_deviation"]] * 3)
                yield Measurement(f"deviation from “{row['statement']}”", exact, Region(upper=row["tolerance"]))


class Rows(Leaf):
    """The number of rows of a data set."""

    kind: Literal["rows"]
    rows: int

    def measure(self, evidence: Evidence, scope: Scope) -> Iterator[Measurement]:
        """Count the prepared rows."""
        yield Measurement("rows", Interval(*[evidence.rows_of(scope["dataset"])] * 3), Region(self.rows, self.rows))


class Eicu(Leaf):
    """A metric of the eICU experiment: of one method, or its difference from that of another (`minus`)."""

    kind: Literal["eicu"]
    metric: Literal["mse", "auroc", "auprc"]
    method: str
    minus: str | None = None
    expect: Expected

    def measure(self, evidence: Evidence, scope: Scope) -> Iterator[Measurement]:
        """Subtract intervals end from end, which is conservative: the tables hold no pairs."""
        first = self._interval(evidence, scope, self.method)
        if self.minus is None:
            yield Measurement(f"{_words(self.method)} {self.metric}", first, self.expect.region())
            return
        second = self._interval(evidence, scope, self.minus)
        difference = Interval(first.mean - second.mean, first.lower - second.upper, first.upper - second.lower)
        quantity = f"{self.metric}: {_words(self.method)} − {_words(self.minus)}"
        yield Measurement(quantity, difference, self.expect.region())

    def _interval(self, evidence: Evidence, scope: Scope, method: str) -> Interval:
        table = evidence.eicu
        if table.empty:
            raise NotTestable("the eICU experiment is not part of this run")
        wanted = {"variant": "corrected", **scope, "method": method, "metric": self.metric}
        if method == "oracle":
            wanted["source"] = wanted["target"]
        for column, value in wanted.items():
            if column in table.columns:
                table = table[table[column] == value]
        if table.empty or pd.isna(table["value"].iloc[0]):
            raise NotTestable(f"no eICU score of the {title_of_method(method)} predictor")
        return Interval(*(float(table[name].iloc[0]) for name in ("value", "lower", "upper")))


class EicuRates(Leaf):
    """The share of features that one hospital of the eICU experiment records clearly more often than the other.

    Clearly: the whole interval of r lies on that side of zero. Every feature's interval counts its own uncertainty, so
    the share is taken as it is; by chance alone it would be half of 1 − confidence.
    """

    kind: Literal["eicu_rates"]
    side: Literal["clearly_negative", "clearly_positive"]
    expect: Expected

    def measure(self, evidence: Evidence, scope: Scope) -> Iterator[Measurement]:
        """Look the share up in the summary of r."""
        table = evidence.eicu_rates
        if table.empty:
            raise NotTestable("the eICU experiment is not part of this run")
        for column, value in scope.items():
            table = table[table[column] == value]
        if table.empty:
            raise NotTestable("no relative missingness between these hospitals")
        quantity = f"share of features with r {self.side.replace('_', ' ')}"
        yield Measurement(quantity, Interval(*[float(table[self.side].iloc[0])] * 3), self.expect.region())


class Untestable(Leaf):
    """A claim that no run of this software can test."""

    kind: Literal["untestable"]
    reason: str

    def measure(self, evidence: Evidence, scope: Scope) -> Iterator[Measurement]:
        """Say why."""
        raise NotTestable(self.reason)
        yield


class Combined(Node):
    """Several checks in the same scope: all of them must hold (`all_of`), or one (`any_of`)."""

    kind: Literal["all_of", "any_of"]
    checks: Annotated[list[Check], Field(min_length=1)]


Check = Annotated[
    Difference
    | Ordering
    | Best
    | Ratio
    | Level
    | Slope
    | Published
    | Theory
    | Rows
    | Eicu
    | EicuRates
    | Untestable
    | Combined,
    Field(discriminator="kind"),
]


def _difference(evidence: Evidence, scope: Scope, first: str, second: str, region: Region) -> Measurement:
    tables = evidence.score_tables(scope, [first, second])
    interval = crossed_bootstrap((tables[0] - tables[1]).to_numpy(), **_options(evidence, scope, first, second))
    return Measurement(f"{_words(first)} − {_words(second)}", interval, region, len(tables[0]))


def _options(evidence: Evidence, scope: Scope, *predictors: str) -> dict[str, Any]:
    return evidence.bootstrap.options("claim", *(f"{key}={scope[key]}" for key in sorted(scope)), *predictors)


def _percentiles(
    value: float, resampled: np.ndarray, confidence: float, *, enough: bool, stretch: float = 1.0
) -> Interval:
    if not enough:
        return Interval(value, math.nan, math.nan)
    return percentile_interval(value, resampled, confidence=confidence, stretch=stretch)


def _words(predictor: str) -> str:
    model, _, method = predictor.rpartition(" ")
    return f"{title_of_model(model)} {title_of_method(method)}" if model else title_of_method(method)
