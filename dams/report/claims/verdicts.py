"""Every claim of the paper, put to its check: supported, not supported, undecided, or not testable in this run."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import product
from pathlib import Path
from typing import Any, Literal

import pandas as pd
import yaml
from pydantic import Field, ValidationError

from dams.experiments.config.fields import Strict
from dams.report.claims.checks import Check, Combined
from dams.report.claims.expectations import Measurement, Region
from dams.report.evidence import Evidence, NotTestable
from dams.report.paper import CLAIMS
from dams.report.scope import Scope, describe
from dams.stats import Interval

# Fewer rate draws than this say too little of their spread: a bootstrap of three can't reach 95 %.
FEWEST_DRAWS = 5


_CLOSEST = ("place", "quantity", "value", "lower", "upper", "expected", "draws_to_decide")


class Verdict(StrEnum):
    """Outcomes of the check of a claim."""

    SUPPORTED = "supported"
    NOT_SUPPORTED = "not supported"
    UNDECIDED = "undecided"
    NOT_TESTABLE = "not testable here"


class Claim(Strict):
    """A claim in our own words, its place in the paper, and its check.

    Its kind says whose it is: the paper states it, we read it off a table or figure, it is a number or a line of print
    that may be a slip, or it is the same asked of this software's own estimator.
    """

    id: str
    kind: Literal["stated", "reading", "print", "ours"]
    claim: str
    where: str
    check: Check
    note: str = ""
    errata: list[str] = Field(default_factory=list)


@dataclass(frozen=True)
class Finding:
    """One measurement made for a claim, or the reason why none could be made.

    `there` is what a measurement says of the data that it was made on, where these can't speak for the claim.
    """

    place: str
    verdict: Verdict
    measurement: Measurement | None = None
    reason: str = ""
    there: Verdict | None = None


class ClaimsError(ValueError):
    """A file of claims that can't be used, with one line for every mistake."""


def read_claims(path: str | Path = CLAIMS) -> list[Claim]:
    """Read and check a YAML list of claims."""
    raw = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    claims, mistakes = [], []
    for number, entry in enumerate(raw, start=1):
        try:
            claims.append(Claim.model_validate(entry))
        except ValidationError as error:
            name = entry.get("id", f"number {number}") if isinstance(entry, dict) else f"number {number}"
            for mistake in error.errors():
                place = ".".join(str(part) for part in mistake["loc"])
                mistakes.append(f"  claim {name}, {place}: {mistake['msg']}, got {mistake['input']!r}")
    twice = sorted({claim.id for claim in claims if sum(other.id == claim.id for other in claims) > 1})
    mistakes += [f"  claim {name}: the id is used twice; ids must differ" for name in twice]
    if mistakes:
        raise ClaimsError(f"{path} has {len(mistakes)} mistake(s):\n" + "\n".join(mistakes))
    return claims


def decide(interval: Interval, region: Region, *, agrees: bool = False) -> Verdict:
    """Supported if the interval lies in the region, not supported if it lies outside, undecided if it does both.

    A claim that the two agree is supported wherever they meet.
    """
    if math.isnan(interval.lower) or math.isnan(interval.upper):
        return Verdict.UNDECIDED
    if agrees and interval.lower <= region.upper and region.lower <= interval.upper:
        return Verdict.SUPPORTED
    if region.lower <= interval.lower and interval.upper <= region.upper:
        return Verdict.SUPPORTED
    if interval.upper < region.lower or interval.lower > region.upper:
        return Verdict.NOT_SUPPORTED
    return Verdict.UNDECIDED


def combine(verdicts: Sequence[Verdict], hold: str) -> Verdict:
    """One verdict for several, of which all, most or any must be supported.

    A part that can't be tested leaves the whole untestable, unless the rest settles it.
    """
    count = {verdict: verdicts.count(verdict) for verdict in Verdict}
    yes, no, total = count[Verdict.SUPPORTED], count[Verdict.NOT_SUPPORTED], len(verdicts)
    needed = {"all": total, "most": total // 2 + 1, "any": 1}[hold]
    if yes >= needed:
        return Verdict.SUPPORTED
    if total - no < needed:
        return Verdict.NOT_SUPPORTED
    return Verdict.NOT_TESTABLE if count[Verdict.NOT_TESTABLE] else Verdict.UNDECIDED


def intervals_of(check: Any, scope: Scope | None = None) -> int:
    """Count the intervals that a check makes in all parts of its scope."""
    parts = list(_parts({**(scope or {}), **check.scope}))
    if isinstance(check, Combined):
        return sum(intervals_of(child, part) for part in parts for child in check.checks)
    return len(parts) * check.count()


def check_claim(
    check: Any, evidence: Evidence, scope: Scope | None = None, together: int | None = None
) -> tuple[Verdict, list[Finding]]:
    """Make a check in every part of its scope; return the verdict and what it rests on.

    All intervals of a claim hold together at the confidence of the run, so that a verdict which follows from them is
    wrong no more often than that.
    """
    verdicts: list[Verdict] = []
    findings: list[Finding] = []
    together = together or intervals_of(check)
    for part in _parts({**(scope or {}), **check.scope}):
        if isinstance(check, Combined):
            inner = [check_claim(child, evidence, part, together) for child in check.checks]
            verdicts.append(combine([verdict for verdict, _ in inner], check.kind.removesuffix("_of")))
            findings += [finding for _, found in inner for finding in found]
            continue
        found = list(_findings(check, evidence, part, together))
        verdicts.append(combine([finding.verdict for finding in found], "all"))
        findings += found
    return combine(verdicts, check.hold), findings


def check_claims(evidence: Evidence, claims: Sequence[Claim]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Put every claim to its check.

    Returns
    -------
    claims : DataFrame
        One row per claim: id, claim, where, kind, check, verdict, how many intervals hold together, how many
        measurements were made and how many came out as expected, the closest call among them, and why the claim can't
        be tested or decided.
    findings : DataFrame
        One row per measurement: id, place, quantity, value, lower, upper, at_least, at_most, expected, verdict, draws,
        draws_to_decide, reason.
    """
    rows: list[dict[str, Any]] = []
    details: list[dict[str, Any]] = []
    for claim in claims:
        verdict, findings = check_claim(claim.check, evidence)
        reasons = [finding.reason for finding in findings if finding.reason and finding.verdict is verdict]
        rows.append(
            {
                "id": claim.id,
                "claim": claim.claim,
                "where": claim.where,
                "kind": claim.kind,
                "check": claim.check.kind,
                "verdict": verdict.value,
                "together": intervals_of(claim.check),
                "tested": sum(finding.measurement is not None for finding in findings),
                "held": sum((finding.there or finding.verdict) is Verdict.SUPPORTED for finding in findings),
                **{f"closest_{key}": value for key, value in _row(closest_call(findings)).items() if key in _CLOSEST},
                "reason": _join_reasons(reasons),
                "errata": " ".join(claim.errata),
                "note": claim.note,
            }
        )
        details += [{"id": claim.id, **_row(finding)} for finding in findings]
    return pd.DataFrame(rows), pd.DataFrame(details)


def closest_call(findings: Sequence[Finding]) -> Finding:
    """Return the finding that speaks least for the claim: furthest outside its region, or least far inside.

    Distances are in half-widths of the interval, so that quantities of different size compare.
    """

    def margin(finding: Finding) -> float:
        if finding.measurement is None:
            return math.inf
        interval, region = finding.measurement.interval, finding.measurement.region
        inside = min(interval.mean - region.lower, region.upper - interval.mean)
        half = (interval.upper - interval.lower) / 2
        if math.isnan(half):
            # Nothing is known of its spread: a call as close as can be.
            return 0.0
        return inside / half if half > 0 else math.copysign(math.inf, inside)

    return min(findings, key=margin)


def _join_reasons(reasons: Sequence[str]) -> str:
    """Return each reason once, with all that is absent in one list."""
    absent = " is not part of this run"
    names = dict.fromkeys(reason.removesuffix(absent) for reason in reasons if reason.endswith(absent))
    rest = dict.fromkeys(reason for reason in reasons if not reason.endswith(absent))
    return "; ".join([f"not part of this run: {', '.join(names)}"] * bool(names) + list(rest))


def _parts(scope: Scope) -> Iterator[dict[str, Any]]:
    """One scope with single values for every combination of listed ones."""
    lists = [value if isinstance(value, list) else [value] for value in scope.values()]
    for values in product(*lists):
        yield dict(zip(scope, values, strict=True))


def _findings(check: Any, evidence: Evidence, scope: Scope, together: int) -> Iterator[Finding]:
    place = describe(scope) if scope else ""
    try:
        for measured in check.measure(evidence, scope, together):
            verdict = decide(measured.interval, measured.region, agrees=measured.agrees)
            if check.kind.startswith("eicu") and evidence.eicu_departure:
                reason = f"{evidence.eicu_departure} (there: {verdict.value})"
                yield Finding(place, Verdict.NOT_TESTABLE, measured, reason, there=verdict)
            elif measured.draws is not None and measured.draws < FEWEST_DRAWS:
                reason = f"{measured.draws} rate draws are too few to tell"
                yield Finding(place, Verdict.UNDECIDED, measured, reason)
            else:
                yield Finding(place, verdict, measured)
    except NotTestable as missing:
        yield Finding(place, Verdict.NOT_TESTABLE, reason=str(missing))


def draws_to_decide(finding: Finding) -> float:
    """Estimate how many rate draws (with β in the same proportion) would bring an undecided interval to one side.

    Half-widths fall with the root of their number: the interval must reach no further than the bound it lies across.
    """
    measured = finding.measurement
    if finding.verdict is not Verdict.UNDECIDED or measured is None or measured.draws is None:
        return math.nan
    interval, region = measured.interval, measured.region
    bounds = [bound for bound in (region.lower, region.upper) if interval.lower <= bound <= interval.upper]
    if not bounds:
        return math.nan
    room = min(abs(interval.mean - bound) for bound in bounds)
    half = (interval.upper - interval.lower) / 2
    return math.ceil(measured.draws * (half / room) ** 2) if room > 0 else math.inf


def _row(finding: Finding) -> dict[str, Any]:
    measured = finding.measurement
    return {
        "place": finding.place,
        "quantity": measured.quantity if measured else "",
        "value": measured.interval.mean if measured else math.nan,
        "lower": measured.interval.lower if measured else math.nan,
        "upper": measured.interval.upper if measured else math.nan,
        "at_least": measured.region.lower if measured else math.nan,
        "at_most": measured.region.upper if measured else math.nan,
        "expected": str(measured.region) if measured else "",
        "verdict": finding.verdict.value,
        "draws": measured.draws if measured else None,
        "draws_to_decide": draws_to_decide(finding),
        "reason": finding.reason,
    }
