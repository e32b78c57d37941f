"""The kinds of check that a claim may be put to: each measures something with its interval and says what is expected.

A check is declared in dams/report/paper/claims.yaml. Its `scope` says where it is made: a key with a list of values
means one check per value (a product over several lists), and `hold` says whether all, most or any of them must hold.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from dams.experiments.design import blocks
from dams.report.claims.eicu import Eicu, EicuCohort, EicuRates
from dams.report.claims.expectations import Expected, Leaf, Measurement, Node, Region, Scalar
from dams.report.claims.printed import difference_from_print, gap_from_print
from dams.report.evidence import Evidence, NotTestable
from dams.report.scope import Scope, split_predictor, words_of
from dams.stats import (
    Interval,
    crossed_bootstrap,
    crossed_replicates,
    percentile_interval,
    resample_counts,
    small_sample_stretch,
    weighted_slopes,
)
from dams.theory.scenarios import exact_scores

Predictor = str
# How the plain protocol compares with these engines in core-seconds (benchmarks/results/end_to_end.csv), rounded up.
PLAIN_PROTOCOL = 10.0


class Gap(Leaf):
    """A check of differences that may be told as shares of what is at stake: the gap between source and oracle.

    `gap` names where the gap is taken, as changes to the scope; `{}` is the place itself, and `{model: linear}` its
    linear models. Without it differences are in units of MSE/Var(Y).
    """

    gap: dict[str, Scalar] | None = None


class Difference(Gap):
    """Mean of first − second over the cells that both have; `within` makes it a check of agreement."""

    kind: Literal["difference"]
    first: Predictor
    second: Predictor
    expect: Expected

    def measure(self, evidence: Evidence, scope: Scope, together: int) -> Iterator[Measurement]:
        """Pair the scores cell by cell, so that what cells share cancels."""
        yield _difference(evidence, scope, self.first, self.second, self.expect.region(), together, self.gap)


class Ordering(Gap):
    """Means in the order of `predictors`, each better than the next by more than `by`."""

    kind: Literal["ordering"]
    predictors: Annotated[list[Predictor], Field(min_length=2)]
    by: float = 0.0

    def count(self) -> int:
        """Return the number of neighbours."""
        return len(self.predictors) - 1

    def measure(self, evidence: Evidence, scope: Scope, together: int) -> Iterator[Measurement]:
        """Compare neighbours, pairwise in the same cells."""
        for better, worse in zip(self.predictors, self.predictors[1:], strict=False):
            yield _difference(evidence, scope, better, worse, Region(upper=0.0 - self.by), together, self.gap)


class Best(Gap):
    """The best of `first` against the best of `second`, whichever those are by their means."""

    kind: Literal["best"]
    first: Annotated[list[Predictor], Field(min_length=1)]
    second: Annotated[list[Predictor], Field(min_length=1)]
    expect: Expected

    def measure(self, evidence: Evidence, scope: Scope, together: int) -> Iterator[Measurement]:
        """Choose on the cells that all have, then pair."""
        names = [*self.first, *self.second]
        tables = evidence.score_tables(scope, names)
        means = {name: np.nanmean(table.to_numpy()) for name, table in zip(names, tables, strict=True)}
        best, rival = (min(group, key=means.__getitem__) for group in (self.first, self.second))
        yield _difference(evidence, scope, best, rival, self.expect.region(), together, self.gap)


class Ratio(Leaf):
    """Mean of first divided by mean of second."""

    kind: Literal["ratio"]
    first: Predictor
    second: Predictor
    expect: Expected

    def measure(self, evidence: Evidence, scope: Scope, together: int) -> Iterator[Measurement]:
        """Resample both means alike."""
        first, second = (t.to_numpy() for t in evidence.score_tables(scope, [self.first, self.second]))
        interval = _ratio(first, second, _options(evidence, scope, self.first, self.second), together)
        quantity = f"{words_of(self.first)} / {words_of(self.second)}"
        yield Measurement(quantity, interval, self.expect.region(), len(first))


class Level(Leaf):
    """Mean score of one predictor; 1 is what predicting the label mean scores."""

    kind: Literal["level"]
    predictor: Predictor
    expect: Expected

    def measure(self, evidence: Evidence, scope: Scope, together: int) -> Iterator[Measurement]:
        """Take the mean over the cells."""
        (table,) = evidence.score_tables(scope, [self.predictor])
        options = _options(evidence, scope, self.predictor)
        interval = crossed_bootstrap(table.to_numpy(), **options, together=together)
        yield Measurement(words_of(self.predictor), interval, self.expect.region(), len(table))


class Exact(Leaf):
    """Exact score of a linear predictor in a scenario at the scope's ε, minus that at another, `than`."""

    kind: Literal["exact"]
    predictor: Predictor
    than: float
    expect: Expected

    def measure(self, evidence: Evidence, scope: Scope, together: int) -> Iterator[Measurement]:
        """Take both from the moments of the scenario: nothing is sampled."""
        here, there = (
            exact_scores(scope["dataset"], epsilon, scope["labels"])[self.predictor]
            for epsilon in (scope["epsilon"], self.than)
        )
        exact = Interval(*[here - there] * 3)
        yield Measurement(f"{words_of(self.predictor)}, minus that at ε = {self.than:g}", exact, self.expect.region())


class Slope(Leaf):
    """Slope of the score against the distance ‖m^s − m^t‖₂, or the difference of two slopes (`minus`)."""

    kind: Literal["slope"]
    predictor: Predictor
    minus: Predictor | None = None
    expect: Expected

    def measure(self, evidence: Evidence, scope: Scope, together: int) -> Iterator[Measurement]:
        """Fit a line through the means over β of every rate draw; resample draws. A slope is linear in the scores.

        Regimes lie at other distances and other levels, so that a line through the draws of two says something of
        their difference and nothing of either (erratum E22): a slope is of one regime.
        """
        if "regime" not in scope:
            raise ValueError(f"A slope is of one regime, got the scope {dict(scope)}; add `regime` to it.")
        names = [self.predictor] + ([self.minus] if self.minus else [])
        first, *second = (table.mean(axis="columns") for table in evidence.score_tables(scope, names))
        scores = first - second[0] if second else first
        x = evidence.distances(scope).loc[scores.index].to_numpy()
        if np.ptp(x) < 1e-9:
            raise NotTestable("all rate draws are equally far apart")
        options, n = _options(evidence, scope, *names), len(x)
        weights = resample_counts(n, options["replicates"], options["random_state"]) / n
        slope = weighted_slopes(x, scores.to_numpy(), np.full((1, n), 1 / n))[0]
        interval = Interval(float(slope), math.nan, math.nan)
        if n > 2:
            # Two numbers, level and slope, are fitted to n means: what a table of n − 1 draws knows of its mean.
            stretch = small_sample_stretch(scores.to_numpy()[1:, None], options["confidence"], together=together)
            resampled = weighted_slopes(x, scores.to_numpy(), weights)
            interval = percentile_interval(float(slope), resampled, confidence=options["confidence"], stretch=stretch)
        yield Measurement(f"slope of {' − '.join(map(words_of, names))}", interval, self.expect.region(), n)


class Published(Leaf):
    """Our mean minus the printed number for each of the methods; with `above`, minus that of this method in both.

    Holds where the two agree for all that is known: the interval covers the sampling error of both runs and reaches 0.
    """

    kind: Literal["published"]
    methods: Annotated[list[str], Field(min_length=1)]
    above: str | None = None

    def count(self) -> int:
        """Return the number of printed numbers."""
        return len(self.methods)

    def measure(self, evidence: Evidence, scope: Scope, together: int) -> Iterator[Measurement]:
        """Look the printed numbers up in dams/report/paper/table1.csv."""
        for method in self.methods:
            if self.above is None:
                found = difference_from_print(evidence, scope, method, together=together)
                quantity = f"{words_of(method)} − printed {found.printed:.3f}"
            else:
                found = gap_from_print(evidence, scope, method, self.above, together=together)
                quantity = f"{words_of(method)} − {words_of(self.above)}, minus printed {found.printed:.3f}"
            yield Measurement(quantity, found.difference, Region(0.0, 0.0), found.draws, agrees=True)


class Theory(Leaf):
    """Statements of the theory table, each by the words it begins with."""

    kind: Literal["theory"]
    statements: Annotated[list[str], Field(min_length=1)]

    def measure(self, evidence: Evidence, scope: Scope, together: int) -> Iterator[Measurement]:
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

    def measure(self, evidence: Evidence, scope: Scope, together: int) -> Iterator[Measurement]:
        """Count the prepared rows."""
        yield Measurement("rows", Interval(*[evidence.rows_of(scope["dataset"])] * 3), Region(self.rows, self.rows))


class Hours(Leaf):
    """Time that the fits of a run would take by the plain protocol, in hours on so many cores, without `without`.

    By the known costs of cells and not by this run's clock, which would be another number every time.
    """

    kind: Literal["hours"]
    cores: int
    without: list[str] = Field(default_factory=list)
    expect: Expected

    def measure(self, evidence: Evidence, scope: Scope, together: int) -> Iterator[Measurement]:
        """Add up the expected seconds of all blocks."""
        if evidence.run is None:
            raise NotTestable("the configuration of this run is not known")
        seconds = sum(block.seconds for block in blocks(evidence.run) if block.group not in self.without)
        hours = PLAIN_PROTOCOL * seconds / 3600 / self.cores
        yield Measurement(f"hours on {self.cores} cores", Interval(hours, hours, hours), self.expect.region())


class Untestable(Leaf):
    """A claim that no run of this software can test."""

    kind: Literal["untestable"]
    reason: str

    def measure(self, evidence: Evidence, scope: Scope, together: int) -> Iterator[Measurement]:
        """Raise `NotTestable` with the reason."""
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
    | Exact
    | Slope
    | Published
    | Theory
    | Rows
    | Hours
    | Eicu
    | EicuCohort
    | EicuRates
    | Untestable
    | Combined,
    Field(discriminator="kind"),
]


def _difference(
    evidence: Evidence,
    scope: Scope,
    first: str,
    second: str,
    region: Region,
    together: int,
    gap: dict[str, Scalar] | None,
) -> Measurement:
    """Return the mean difference, or with `gap` its share of the gap between source and oracle there."""
    options = _options(evidence, scope, first, second)
    quantity = f"{words_of(first)} − {words_of(second)}"
    if gap is None:
        one, other = evidence.score_tables(scope, [first, second])
        interval = crossed_bootstrap((one - other).to_numpy(), **options, together=together)
        return Measurement(quantity, interval, region, len(one))
    difference, at_stake, paired = _with_gap(evidence, scope, first, second, gap)
    what = f"{quantity}, as a share of source − oracle"
    if gap:
        what += f" ({', '.join(f'{key} {value}' for key, value in gap.items())})"
    seed = options["random_state"].integers(2**63)
    interval = _ratio(difference, at_stake, options | {"random_state": seed}, together, paired=paired)
    if math.isnan(interval.lower) and paired:
        # Hardly anything is at stake, so that a share of it has no bounds. Whether the difference is within so much of
        # the gap can be told all the same: it is whether the difference minus so much of it is below zero.
        bounds = [(1, region.upper), (-1, region.lower)]
        contrasts = [sign * (difference - share * at_stake) for sign, share in bounds if math.isfinite(share)]
        furthest = max(contrasts, key=np.nanmean)
        interval = crossed_bootstrap(furthest, **options | {"random_state": seed}, together=together)
        return Measurement(
            f"{quantity}, beyond the allowed share of source − oracle", interval, Region(upper=0.0), len(difference)
        )
    return Measurement(what, interval, region, len(difference))


def _with_gap(
    evidence: Evidence, scope: Scope, first: str, second: str, gap: dict[str, Scalar]
) -> tuple[np.ndarray, np.ndarray, bool]:
    """Differences of two predictors and the gap, cell by cell where it is taken in the same cells."""
    place = {**scope, **gap}
    model, _ = split_predictor(first if "model" not in gap else "source", place)
    ends = [f"{model} source", f"{model} oracle"]
    if all(gap.get(key, scope.get(key)) == scope.get(key) for key in ("dataset", "regime", "epsilon", "labels")):
        one, other, source, oracle = (t.to_numpy() for t in evidence.score_tables(scope, [first, second, *ends]))
        return one - other, source - oracle, True
    one, other = (t.to_numpy() for t in evidence.score_tables(scope, [first, second]))
    source, oracle = (t.to_numpy() for t in evidence.score_tables(place, ends))
    return one - other, source - oracle, False


def _ratio(
    first: np.ndarray, second: np.ndarray, options: dict[str, Any], together: int, *, paired: bool = True
) -> Interval:
    """Ratio of two means. To first order it differs by what first − ratio · second differs from 0, over the second."""
    confidence, rng = options["confidence"], np.random.default_rng(options["random_state"])
    ratio = float(np.nanmean(first) / np.nanmean(second))
    if np.isfinite(first).sum() < 2:
        return Interval(ratio, math.nan, math.nan)
    seeds = [rng.integers(2**63)] * 2 if paired else rng.integers(2**63, size=2)
    above, below = (
        crossed_replicates(table, replicates=options["replicates"], random_state=seed)
        for table, seed in zip((first, second), seeds, strict=True)
    )
    if not (np.sign(below[np.isfinite(below)]) == np.sign(np.nanmean(second))).all():
        # What it is divided by may be zero.
        return Interval(ratio, math.nan, math.nan)
    stretch = small_sample_stretch(first - ratio * second if paired else first, confidence, together=together)
    return percentile_interval(ratio, above / below, confidence=confidence, stretch=stretch)


def _options(evidence: Evidence, scope: Scope, *predictors: str) -> dict[str, Any]:
    return evidence.bootstrap.options("claim", *(f"{key}={scope[key]}" for key in sorted(scope)), *predictors)
