"""Every printed number beside ours: the difference, whether it is more than chance, and what explains it.

Beside the means stand how far each method lies above the oracle, where much of the chance cancels, and the standard
deviation of single runs, which tells of the design. Each ends as one of: `agrees`, the difference is within the chance
of both runs; `explained`, it is not, but our variant as published agrees, and an erratum says what that variant puts
back; `unexplained`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from dams.datasets.registry import DATASETS, is_scenario
from dams.report.claims.printed import (
    FEWEST_DRAWS,
    Compared,
    difference_as_published,
    difference_from_print,
    gap_from_print,
    printed_design,
    printed_spread,
    simulated_designs,
)
from dams.report.evidence import Evidence, NotTestable
from dams.report.paper import SYNTHETIC, published_score, read_errata, read_published
from dams.report.run_files import rows_of
from dams.stats import Interval

COLUMNS = [
    *("table", "quantity", "dataset", "regime", "model", "source", "target", "metric", "method", "variant"),
    *("published", "measured", "difference", "lower", "upper", "status", "errata", "explanation"),
    *("one_pair_lower", "one_pair_upper", "published_lower", "published_upper", "measured_lower", "measured_upper"),
    "missing",
]
AGREES, EXPLAINED, UNEXPLAINED = "agrees", "explained", "unexplained"
# A design of one pair of rates and a few β (erratum E8).
ONE_PAIR = (1, 5)
_NOTHING = Interval(math.nan, math.nan, math.nan)


@dataclass
class _Row:
    """One printed number with one of ours, before it is judged."""

    about: dict[str, Any]
    published: float
    measured: float = math.nan
    difference: Interval = _NOTHING
    one_pair: tuple[float, float] = (math.nan, math.nan)
    printed_ends: tuple[float, float] = (math.nan, math.nan)
    own: Interval = _NOTHING
    missing: str = ""

    @property
    def agrees(self) -> bool | None:
        """Whether the difference is within sampling error; None where there is nothing to compare."""
        if self.missing or math.isnan(self.difference.lower):
            return None
        return self.difference.lower <= 0 <= self.difference.upper


def compare(evidence: Evidence) -> pd.DataFrame:
    """One row for every printed number and variant of ours: the text's recipe corrected, as published, the notebook's.

    `lower` and `upper` bound the difference, measured minus published, with the sampling error of both runs; for
    standard deviations they are those of designs drawn from our scores. `one_pair_*` is the range of means over
    designs of one pair of rates and five β. `published_*` is the interval as printed, which takes crossed runs for
    independent ones, and `measured_*` that of our mean. `measured` is empty where the run has no such score, and
    `missing` then says why.
    """
    rows = [*_table1(evidence), *_eicu(evidence)]
    return pd.DataFrame(_judged(rows), columns=COLUMNS)


def _table1(evidence: Evidence) -> Iterator[_Row]:
    for printed in rows_of(read_published("table1")):
        scope = {key: printed[key] for key in ("dataset", "regime", "model")}
        if is_scenario(printed["dataset"]):
            scope |= SYNTHETIC
        yield from _means(evidence, scope, printed)
        yield from _above_oracle(evidence, scope, printed)
        yield from _spreads(evidence, scope, printed)


def _about(printed: Mapping[str, Any], quantity: str, variant: str) -> dict[str, Any]:
    named = {key: printed[key] for key in ("dataset", "regime", "model", "method")}
    return {"table": "table1", "quantity": quantity, **named, "variant": variant}


def _means(evidence: Evidence, scope: dict[str, Any], printed: Mapping[str, Any]) -> Iterator[_Row]:
    method = printed["method"]
    ends = printed["lower"], printed["upper"]
    row = _Row(_about(printed, "mean", "corrected"), printed["value"], printed_ends=ends)
    try:
        _take(row, difference_from_print(evidence, scope, method))
        if not is_scenario(scope["dataset"]):
            row.one_pair = _range_of_one_pair(evidence, scope, method)
    except NotTestable as reason:
        row.missing = str(reason)
    yield row
    for variant, found in _variants(scope, method):
        other = _Row(_about(printed, "mean", variant), printed["value"], printed_ends=ends)
        try:
            _take(other, found(evidence))
        except NotTestable:
            continue
        yield other


def _variants(scope: dict[str, Any], method: str) -> Iterator[tuple[str, Any]]:
    """Other variants of ours that answer to a printed number, as functions of the evidence."""
    if is_scenario(scope["dataset"]):
        yield "as_published", lambda evidence: difference_as_published(evidence, scope, method)
        return
    if method == "closed_form":
        name = "closed_form_as_published"
        yield "as_published", lambda evidence: difference_from_print(evidence, scope, name)
    notebook = f"{scope['dataset']}_notebook"
    if notebook in DATASETS:
        yield "released_notebook", lambda evidence: difference_from_print(evidence, scope, method, data=notebook)


def _above_oracle(evidence: Evidence, scope: dict[str, Any], printed: Mapping[str, Any]) -> Iterator[_Row]:
    method = printed["method"]
    if method == "oracle":
        return
    value = printed["value"] - published_score(scope, "oracle")
    variants = [("corrected", method)]
    if method == "closed_form" and not is_scenario(scope["dataset"]):
        variants.append(("as_published", "closed_form_as_published"))
    for variant, name in variants:
        row = _Row(_about(printed, "above oracle", variant), value)
        try:
            _take(row, gap_from_print(evidence, scope, name, "oracle"))
        except NotTestable as reason:
            row.missing = str(reason)
        if variant == "corrected" or not row.missing:
            yield row


def _spreads(evidence: Evidence, scope: dict[str, Any], printed: Mapping[str, Any]) -> Iterator[_Row]:
    """Standard deviation of single runs: implied by the printed interval, and of designs drawn from our scores."""
    method = printed["method"]
    design = printed_design(scope, method)
    for variant in ("corrected", "as_published") if is_scenario(scope["dataset"]) else ("corrected",):
        row = _Row(_about(printed, "run sd", variant), printed_spread(printed, design))
        try:
            (table,) = evidence.score_tables(scope, [method], variant=variant)
            if len(table) >= FEWEST_DRAWS:
                rng = evidence.bootstrap.options("spread", variant, *scope.values(), method)["random_state"]
                _, spreads = simulated_designs(table.to_numpy(), design, rng)
                row.measured = float(np.median(spreads))
                low, high = np.quantile(spreads, _tails(evidence)) - row.published
                row.difference = Interval(row.measured - row.published, float(low), float(high))
        except NotTestable as reason:
            row.missing = str(reason)
        if variant == "corrected" or not row.missing:
            yield row


def _range_of_one_pair(evidence: Evidence, scope: dict[str, Any], method: str) -> tuple[float, float]:
    (table,) = evidence.score_tables(scope, [method])
    rng = evidence.bootstrap.options("one pair", *scope.values(), method)["random_state"]
    means, _ = simulated_designs(table.to_numpy(), ONE_PAIR, rng)
    low, high = np.nanquantile(means, _tails(evidence))
    return float(low), float(high)


def _tails(evidence: Evidence) -> list[float]:
    tail = (1 - evidence.bootstrap.confidence) / 2
    return [tail, 1 - tail]


def _take(row: _Row, found: Compared) -> None:
    row.measured = found.measured
    # A few draws say too little of their spread to judge by it.
    if found.draws >= FEWEST_DRAWS:
        row.difference, row.own = found.difference, found.own


def _eicu(evidence: Evidence) -> Iterator[_Row]:
    measured = rows_of(evidence.eicu)
    for printed in rows_of(read_published("eicu")):
        named = {key: printed[key] for key in ("source", "target", "metric", "method")}
        about = {"table": "eicu", "quantity": "mean", "dataset": "eicu", **named}
        found = [row for row in measured if all(row[key] == value for key, value in named.items())]
        for row in found:
            yield _Row(
                {**about, "variant": row["variant"]},
                printed["value"],
                row["value"],
                _difference_of(row, printed),
                printed_ends=(printed["lower"], printed["upper"]),
                own=Interval(row["value"], row["lower"], row["upper"]),
                missing=evidence.eicu_departure,
            )
        if not found:
            missing = "the eICU experiment is not part of this run"
            yield _Row({**about, "variant": "corrected"}, printed["value"], missing=missing)


def _difference_of(ours: Mapping[str, Any], printed: Mapping[str, Any]) -> Interval:
    """Difference of two scores of other patients: their half-widths add up as independent errors do."""
    value = ours["value"] - printed["value"]
    half = math.hypot(ours["upper"] - ours["lower"], printed["upper"] - printed["lower"]) / 2
    return Interval(value, value - half, value + half)


def _judged(rows: list[_Row]) -> Iterator[dict[str, Any]]:
    """Give every number its status."""
    mended = {_key(row) for row in rows if row.about["variant"] == "as_published" and row.agrees}
    for row in rows:
        status, reasons = "", []
        if row.agrees is not None:
            status = AGREES if row.agrees else UNEXPLAINED
        if status == UNEXPLAINED and row.about["variant"] == "corrected" and _key(row) in mended:
            reasons = [erratum for erratum in read_errata().values() if erratum.concerns(row.about)]
            status = EXPLAINED if reasons else status
        yield {
            **row.about,
            "published": row.published,
            "measured": row.measured,
            "difference": row.difference.mean,
            "lower": row.difference.lower,
            "upper": row.difference.upper,
            "status": status,
            "errata": " ".join(erratum.id for erratum in reasons),
            "explanation": "; ".join(erratum.explains for erratum in reasons),
            "one_pair_lower": row.one_pair[0],
            "one_pair_upper": row.one_pair[1],
            "published_lower": row.printed_ends[0],
            "published_upper": row.printed_ends[1],
            "measured_lower": row.own.lower,
            "measured_upper": row.own.upper,
            "missing": row.missing,
        }


def _key(row: _Row) -> tuple[Any, ...]:
    """Key of a printed number, whichever variant of ours stands beside it."""
    return tuple(value for key, value in row.about.items() if key != "variant")


def unlike_table1(comparison: pd.DataFrame, table1: pd.DataFrame) -> list[str]:
    """Data sets whose scores in a run's own table 1 are of another study than those that are compared.

    A comparison takes the study with the paper's settings that has the most entries, which need not be the table's.
    """
    for column, value in SYNTHETIC.items():
        table1 = table1[(table1["regime"] != "opposing") | (table1[column] == value)]
    where = ["dataset", "regime", "model", "method"]
    shown = table1.groupby(where)["mean"].first().rename("shown")
    ours = comparison[(comparison["table"] == "table1") & (comparison["quantity"] == "mean")]
    ours = ours[(ours["variant"] == "corrected") & ours["measured"].notna()]
    both = ours.join(shown, on=where, how="inner")
    differ = (both["shown"] - both["measured"]).abs() >= 0.0005
    return list(dict.fromkeys(both.loc[differ, "dataset"]))
