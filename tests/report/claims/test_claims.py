"""Claims: the file is sound, and each kind of check turns when the records are altered to contradict it."""

import math

import numpy as np
import pandas as pd
import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from reports import write_claims

from dams._files import write_json
from dams.datasets.arrays import save_covariates
from dams.experiments.records import write_csv
from dams.report.claims.expectations import Region
from dams.report.claims.verdicts import (
    ClaimsError,
    Verdict,
    check_claim,
    check_claims,
    combine,
    decide,
    draws_to_decide,
    intervals_of,
    read_claims,
)
from dams.report.evidence import Evidence
from dams.report.page.render import write_page
from dams.report.paper import read_errata
from dams.report.run_folder import RunFolder
from dams.stats import Interval

QUICK = settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
DRAWS = 24
LEVELS = {
    "linear oracle": 0.40,
    "linear source": 0.50,
    "linear closed_form": 0.41,
    "linear nonparametric": 0.45,
    "xgboost source": 0.44,
    "xgboost nonparametric": 0.42,
}


SETTINGS = {"seed": 1, "bootstrap": {"replicates": 300}}


@pytest.fixture(scope="module")
def evidence(make_records):
    """Records with means LEVELS but for what a test changes; only the source's scores have a slope."""

    def make(slopes=None, **changed):
        rng = np.random.default_rng(0)
        slopes = {"linear source": 0.2} if slopes is None else slopes
        levels = LEVELS | {name.replace("__", " "): level for name, level in changed.items()}
        rows = []
        for draw in range(DRAWS):
            distance, shared = 1 + draw / DRAWS, rng.normal(0, 0.05)
            for predictor, level in levels.items():
                model, method = predictor.split()
                for beta in range(3):
                    score = level + shared + 0.002 * rng.normal() + slopes.get(predictor, 0) * (distance - 1.5)
                    cell = {"draw": draw, "beta": beta, "score": score, "rate_distance": distance}
                    rows.append({"model": model, "method": method, **cell})
        return Evidence(make_records(rows), SETTINGS)

    return make


def claim(**check):
    """A claim's check, read as from the file."""
    from pydantic import TypeAdapter

    from dams.report.claims.checks import Check

    return TypeAdapter(Check).validate_python({"scope": {"dataset": "adult", "regime": "nested"}} | check)


def verdict(check, evidence):
    return check_claim(check, evidence)[0]


RECORD_CHECKS = {
    "difference": (
        claim(kind="difference", first="closed_form", second="source", expect={"below": 0}),
        {"linear__closed_form": 0.60},
    ),
    "agreement": (
        claim(kind="difference", first="closed_form", second="oracle", expect={"within": 0.02}),
        {"linear__closed_form": 0.45},
    ),
    "ordering": (
        claim(kind="ordering", predictors=["oracle", "nonparametric", "source"]),
        {"linear__nonparametric": 0.65},
    ),
    "ratio": (
        claim(kind="ratio", first="closed_form", second="source", expect={"below": 0.95}),
        {"linear__source": 0.34},
    ),
    "level": (claim(kind="level", predictor="source", expect={"between": [0.4, 0.6]}), {"linear__source": 1.2}),
    "best": (
        claim(
            kind="best",
            first=["linear closed_form", "xgboost nonparametric"],
            second=["linear source", "xgboost source"],
            expect={"below": 0},
        ),
        {"xgboost__source": 0.35},
    ),
    "slope": (claim(kind="slope", predictor="source", expect={"above": 0}), {"slopes": {"linear source": -0.2}}),
    "slope against slope": (
        claim(kind="slope", predictor="source", minus="oracle", expect={"above": 0.1}),
        {"slopes": {"linear source": 0.2, "linear oracle": 0.2}},
    ),
    "published": (
        claim(kind="published", methods=["oracle"], scope={"dataset": "adult", "regime": "nested", "model": "linear"}),
        {"linear__oracle": 0.7},
    ),
    "share of the gap": (
        claim(kind="difference", first="closed_form", second="oracle", gap={}, expect={"within": 0.2}),
        {"linear__closed_form": 0.46},
    ),
    "share of another model's gap": (
        claim(
            kind="difference",
            first="xgboost nonparametric",
            second="xgboost source",
            gap={"model": "linear"},
            expect={"within": 0.4},
        ),
        {"xgboost__nonparametric": 0.35},
    ),
}


@pytest.mark.parametrize("kind", RECORD_CHECKS)
def test_a_check_holds_on_records_that_bear_it_out_and_fails_on_records_that_do_not(kind, evidence):
    check, contradiction = RECORD_CHECKS[kind]
    assert verdict(check, evidence()) is Verdict.SUPPORTED
    assert verdict(check, evidence(**contradiction)) is Verdict.NOT_SUPPORTED


def test_a_slope_is_of_one_regime(make_records):
    """Pooled, the source's slope would be negative and not the steepest; within each regime it is both (E22)."""
    rng = np.random.default_rng(3)
    rows = []
    for regime, near, level in (("nested", 1.0, 1.0), ("free", 2.0, 0.2)):
        for draw, distance in enumerate(near + rng.uniform(0, 0.5, 12)):
            for method, slope in (("oracle", 0.1), ("source", 0.3)):
                score = level + slope * (distance - near) + 0.001 * rng.normal()
                cell = {"draw": draw, "rate_distance": distance, "score": score}
                rows.append({"regime": regime, "method": method, **cell})
    pooled = Evidence(make_records(rows), SETTINGS)
    options = {"kind": "slope", "predictor": "source", "expect": {"above": 0}}
    with pytest.raises(ValueError, match="A slope is of one regime"):
        verdict(claim(**options, scope={"dataset": "adult"}), pooled)
    each = {"dataset": "adult", "regime": ["nested", "free"]}
    assert verdict(claim(**options, scope=each), pooled) is Verdict.SUPPORTED
    assert verdict(claim(**options, minus="oracle", scope=each), pooled) is Verdict.SUPPORTED


def test_no_slope_of_the_paper_s_claims_spans_regimes():
    def slopes(check, scope):
        scope = {**scope, **check.scope}
        if check.kind in ("all_of", "any_of"):
            return [found for child in check.checks for found in slopes(child, scope)]
        return [scope] if check.kind == "slope" else []

    found = [scope for entry in read_claims() for scope in slopes(entry.check, {})]
    assert len(found) > 5 and all("regime" in scope for scope in found)


def test_the_intervals_of_a_claim_hold_together(evidence):
    """More measurements, wider intervals: none of many may decide by its own chance."""
    whole = evidence()
    one = {"kind": "difference", "first": "closed_form", "second": "oracle", "expect": {"below": 0}}
    many = claim(kind="all_of", checks=[one] * 20)
    assert (intervals_of(claim(**one)), intervals_of(many)) == (1, 20)
    ordering = claim(kind="ordering", predictors=["oracle", "closed_form", "source"], scope={"dataset": ["adult"] * 2})
    assert intervals_of(ordering) == 4
    alone, together = (check_claim(check, whole)[1][0].measurement.interval for check in (claim(**one), many))
    # Student's quantiles at 1 − 0.05/40 and at 1 − 0.05/2.
    assert 1.5 < (together.upper - together.lower) / (alone.upper - alone.lower) < 4


def test_printed_gaps_are_met_or_not(evidence):
    """Printed are 0.420 for both the oracle and the non-parametric adjustment."""
    scope = {"dataset": "adult", "regime": "nested", "model": "linear"}
    check = claim(kind="published", methods=["nonparametric"], above="oracle", scope=scope)
    assert verdict(check, evidence()) is Verdict.NOT_SUPPORTED
    assert verdict(check, evidence(linear__nonparametric=0.40)) is Verdict.SUPPORTED


def test_where_nothing_is_at_stake_the_difference_itself_decides(evidence):
    check = claim(kind="difference", first="closed_form", second="oracle", gap={}, expect={"within": 0.2})
    nothing = {"linear__source": 0.40, "slopes": {}}
    assert verdict(check, evidence(**nothing)) is Verdict.NOT_SUPPORTED
    assert verdict(check, evidence(**nothing, linear__closed_form=0.40)) is Verdict.UNDECIDED
    below = claim(kind="difference", first="closed_form", second="source", gap={}, expect={"below": 0.1})
    found, (finding,) = check_claim(below, evidence(**nothing, linear__closed_form=0.35))
    assert found is Verdict.SUPPORTED and "beyond the allowed share" in finding.measurement.quantity


def test_what_would_decide_is_estimated(evidence):
    check = claim(kind="difference", first="closed_form", second="oracle", expect={"below": 0.0101})
    finding = check_claim(check, evidence())[1][0]
    assert finding.verdict is Verdict.UNDECIDED
    interval = finding.measurement.interval
    half = (interval.upper - interval.lower) / 2
    assert draws_to_decide(finding) == math.ceil(DRAWS * (half / abs(interval.mean - 0.0101)) ** 2)
    decided = check_claim(RECORD_CHECKS["difference"][0], evidence())[1][0]
    assert math.isnan(draws_to_decide(decided))


@pytest.mark.parametrize(("than", "expected"), [(0.5, Verdict.SUPPORTED), (0.02, Verdict.NOT_SUPPORTED)])
def test_exact_scores_need_no_records(tmp_path, than, expected):
    scope = {"dataset": "redundant", "labels": "random_linear", "epsilon": [0.05, 0.95]}
    check = claim(kind="exact", predictor="oracle", than=than, expect={"below": 0}, scope=scope)
    assert verdict(check, RunFolder(tmp_path).evidence) is expected


def test_the_cost_of_a_run_is_known_before_it_is_made(tmp_path):
    check = claim(kind="hours", cores=28, expect={"below": 5}, scope={})
    assert verdict(check, RunFolder(tmp_path).evidence) is Verdict.NOT_TESTABLE
    study = {"datasets": ["adult"], "regimes": [{"kind": "free"}], "methods": ["source"]}
    for draws, expected in ((10, Verdict.SUPPORTED), (10_000, Verdict.NOT_SUPPORTED)):
        models = {"mlp": {"draws": draws, "betas": 10}}
        write_json({"name": "x", "studies": {"one": study | {"models": models}}}, tmp_path / "config.json")
        assert verdict(check, RunFolder(tmp_path).evidence) is expected


@pytest.mark.parametrize(("stays", "expected"), [(3006, Verdict.SUPPORTED), (3005, Verdict.NOT_SUPPORTED)])
def test_facts_of_the_cohort(tmp_path, stays, expected):
    check = claim(kind="eicu_cohort", hospital="H1", fact="stays", expect={"between": [3006, 3006]}, scope={})
    assert verdict(check, RunFolder(tmp_path).evidence) is Verdict.NOT_TESTABLE
    write_json({"simulated": False, "hospitals": {"H1": {"stays": stays}}}, tmp_path / "eicu" / "cohort.json")
    assert verdict(check, RunFolder(tmp_path).evidence) is expected


def test_theory_is_taken_from_its_table(tmp_path):
    check = claim(kind="theory", statements=["Lemma"], scope={})
    assert verdict(check, RunFolder(tmp_path).evidence) is Verdict.NOT_TESTABLE
    row = {"statement": "Lemma 5.1: p is identified", "largest_deviation": 1e-12, "tolerance": 1e-9}
    write_csv(pd.DataFrame([row]), tmp_path / "theory" / "theory.csv")
    assert verdict(check, RunFolder(tmp_path).evidence) is Verdict.SUPPORTED
    write_csv(pd.DataFrame([row | {"largest_deviation": 0.1}]), tmp_path / "theory" / "theory.csv")
    assert verdict(check, RunFolder(tmp_path).evidence) is Verdict.NOT_SUPPORTED


@pytest.mark.parametrize("kind", ["difference", "ratio", "level"])
def test_one_cell_among_failures_decides_nothing(make_records, kind):
    rows = [
        {"method": method, "draw": draw, "score": None if draw else score}
        for draw in range(8)
        for method, score in (("closed_form", 0.1), ("source", 0.5))
    ]
    assert verdict(RECORD_CHECKS[kind][0], Evidence(make_records(rows), SETTINGS)) is Verdict.UNDECIDED


@pytest.mark.parametrize(("rows", "expected"), [(5, Verdict.SUPPORTED), (6, Verdict.NOT_SUPPORTED)])
def test_rows_are_counted(tmp_path, rows, expected):
    save_covariates(pd.DataFrame({"x": np.zeros(5)}), tmp_path / "data" / "adult.npz")
    assert verdict(claim(kind="rows", rows=rows), RunFolder(tmp_path).evidence) is expected


@pytest.mark.parametrize(
    ("simulated", "auroc", "expected"),
    [
        (False, 0.4, Verdict.SUPPORTED),
        (False, 0.8, Verdict.NOT_SUPPORTED),
        (False, 0.56, Verdict.UNDECIDED),
        (True, 0.4, Verdict.NOT_TESTABLE),
    ],
)
def test_eicu_claims_need_real_patients(tmp_path, simulated, auroc, expected):
    value = auroc - 0.58
    row = {"source": "H2", "target": "H1", "method": "closed_form", "minus": "source", "metric": "auroc"}
    row |= {"value": value, "lower": value - 0.03, "upper": value + 0.03}
    write_csv(pd.DataFrame([row]), tmp_path / "eicu" / "differences.csv")
    write_json({"simulated": simulated}, tmp_path / "eicu" / "cohort.json")
    check = claim(
        kind="eicu",
        metric="auroc",
        method="closed_form",
        minus="source",
        expect={"below": 0},
        scope={"source": "H2", "target": "H1"},
    )
    got, findings = check_claim(check, RunFolder(tmp_path).evidence)
    assert got is expected
    if simulated:
        assert "simulated (there: supported)" in findings[0].reason
    else:
        write_json({"eicu": {"hospitals": [264, 73]}}, tmp_path / "config.json")
        got, findings = check_claim(check, RunFolder(tmp_path).evidence)
        assert got is Verdict.NOT_TESTABLE
        assert "H1 and H2 are hospitals 264 and 73, the paper's 73 and 264 (there: " in findings[0].reason


def test_measurements_on_another_cohort_are_counted_by_what_they_say_there(tmp_path):
    score = {"variant": "corrected", "method": "imputed", "metric": "auroc"}
    scores = [
        score | {"source": source, "target": target, "value": value, "lower": value, "upper": value}
        for source, target, value in (("H2", "H1", 0.5), ("H1", "H2", 0.6))
    ]
    write_csv(pd.DataFrame(scores), tmp_path / "eicu" / "scores.csv")
    row = (
        check_claims(RunFolder(tmp_path).evidence, read_claims())[0].set_index("id").loc["eicu_imputation_is_baseline"]
    )
    assert (row["verdict"], row["tested"], row["held"]) == ("not testable here", 2, 1)
    write_claims(tmp_path)
    page = write_page(tmp_path).read_text(encoding="utf-8")
    assert "1 of 2 measurements as expected there<" in page


@pytest.mark.parametrize(
    ("simulated", "share", "expected"),
    [
        (False, 0.3, Verdict.SUPPORTED),
        (False, 0.02, Verdict.NOT_SUPPORTED),
        (True, 0.3, Verdict.NOT_TESTABLE),
    ],
)
def test_rates_of_hospitals_differ_in_both_directions(tmp_path, simulated, share, expected):
    write_json({"simulated": simulated}, tmp_path / "eicu" / "cohort.json")
    wanted = next(c.check for c in read_claims() if c.id == "eicu_prevalences_differ")
    assert (
        check_claim(wanted, RunFolder(tmp_path).evidence)[1][0].reason == "the eICU experiment is not part of this run"
    )
    summary = [
        {"source": "H1", "target": "H2", "clearly_negative": share, "clearly_positive": 0.3},
        {"source": "H2", "target": "H1", "clearly_negative": 0.3, "clearly_positive": share},
    ]
    write_csv(pd.DataFrame(summary), tmp_path / "eicu" / "relative_missingness_summary.csv")
    got, findings = check_claim(wanted, RunFolder(tmp_path).evidence)
    assert got is expected and [finding.measurement.interval.mean for finding in findings] == [share, 0.3]


def test_what_is_not_in_the_run_is_named(evidence):
    whole = evidence()
    for scope, text in (
        ({"dataset": "bank"}, "Bank is not part of this run"),
        ({"dataset": "adult", "regime": "free"}, "no records of Adult, mˢ ? mᵗ"),
        ({"dataset": "adult", "model": "mlp"}, "MLP on Adult is not part of this run"),
    ):
        check = claim(kind="level", predictor="source", expect={"below": 1}, scope=scope)
        got, findings = check_claim(check, whole)
        assert got is Verdict.NOT_TESTABLE
        assert findings[0].reason == text
    imputed = claim(kind="level", predictor="two_way", expect={"below": 1})
    assert "two" in check_claim(imputed, whole)[1][0].reason


def test_few_draws_decide_nothing(evidence):
    records = evidence().records
    few = Evidence(records[records["draw"] < 3], SETTINGS)
    got, findings = check_claim(RECORD_CHECKS["difference"][0], few)
    assert got is Verdict.UNDECIDED
    assert findings[0].reason == "3 rate draws are too few to tell"


def test_predictors_are_paired_in_one_study(evidence):
    """Two studies with one method each share no cells, however alike their names."""
    records = evidence().records.assign(study=lambda r: np.where(r["method"] == "source", "other", "one"))
    got, findings = check_claim(RECORD_CHECKS["difference"][0], Evidence(records, SETTINGS))
    assert got is Verdict.NOT_TESTABLE
    assert "no study holds all of closed_form, source" in findings[0].reason


def test_lists_in_a_scope_multiply_and_hold_says_how_many_must_hold(evidence):
    whole = evidence(slopes={})
    options = {"kind": "difference", "first": "nonparametric", "second": "source", "expect": {"below": -0.03}}
    scope = {"dataset": "adult", "model": ["linear", "xgboost"]}
    for hold, expected in (("all", Verdict.NOT_SUPPORTED), ("any", Verdict.SUPPORTED), ("most", Verdict.NOT_SUPPORTED)):
        check = claim(**options, scope=scope, hold=hold)
        got, findings = check_claim(check, whole)
        assert (got, len(findings)) == (expected, 2)


def test_checks_combine_in_one_scope(evidence):
    inner = [
        {"kind": "level", "predictor": "source", "expect": {"below": 0.6}},
        {"kind": "level", "predictor": "source", "expect": {"above": 0.6}},
    ]
    assert verdict(claim(kind="all_of", checks=inner), evidence()) is Verdict.NOT_SUPPORTED
    assert verdict(claim(kind="any_of", checks=inner), evidence()) is Verdict.SUPPORTED


@QUICK
@given(
    bounds=st.tuples(st.floats(-5, 5), st.floats(-5, 5)).map(sorted),
    region=st.tuples(st.floats(-5, 5), st.floats(-5, 5)).map(sorted),
)
def test_an_interval_supports_refutes_or_straddles(bounds, region):
    got = decide(Interval(sum(bounds) / 2, *bounds), Region(*region))
    points = np.linspace(*bounds, 7)
    inside = (points >= region[0]) & (points <= region[1])
    if got is Verdict.SUPPORTED:
        assert inside[[0, -1]].all()
    elif got is Verdict.NOT_SUPPORTED:
        assert not inside.any()
    else:
        assert not inside[[0, -1]].all()


def test_no_interval_no_verdict():
    assert decide(Interval(0.0, math.nan, math.nan), Region(upper=1)) is Verdict.UNDECIDED


@QUICK
@given(st.lists(st.sampled_from(Verdict), min_size=1, max_size=6))
def test_a_whole_is_supported_or_refuted_only_if_no_open_part_could_change_it(verdicts):
    open_parts = (Verdict.UNDECIDED, Verdict.NOT_TESTABLE)
    for hold in ("all", "most", "any"):
        whole = combine(verdicts, hold)
        filled = {
            combine([end if v in open_parts else v for v in verdicts], hold)
            for end in (Verdict.SUPPORTED, Verdict.NOT_SUPPORTED)
        }
        assert (whole in open_parts) == (len(filled) > 1)
        if len(filled) == 1:
            assert filled == {whole}


def test_the_paper_s_claims_are_many_and_sound():
    claims = read_claims()
    assert len(claims) >= 25
    assert {erratum for entry in claims for erratum in entry.errata} <= set(read_errata())
    assert all(entry.where and entry.claim.endswith((".", ")")) for entry in claims)


def test_a_mistake_in_the_file_is_named(tmp_path):
    path = tmp_path / "claims.yaml"
    path.write_text(
        yaml.safe_dump(
            [
                {"id": "one", "kind": "stated", "claim": "c", "where": "w", "check": {"kind": "differense"}},
                {
                    "id": "two",
                    "kind": "stated",
                    "claim": "c",
                    "where": "w",
                    "check": {"kind": "untestable", "reason": "r"},
                    "color": 1,
                },
                {
                    "id": "three",
                    "kind": "stated",
                    "claim": "c",
                    "where": "w",
                    "check": {"kind": "untestable", "reason": "r"},
                },
                {
                    "id": "three",
                    "kind": "stated",
                    "claim": "c",
                    "where": "w",
                    "check": {"kind": "untestable", "reason": "r"},
                },
            ]
        )
    )
    with pytest.raises(ClaimsError) as error:
        read_claims(path)
    text = str(error.value)
    assert f"{path} has 3 mistake(s)" in text
    assert "claim one, check" in text and "differense" in text
    assert "claim two, color" in text
    assert "claim three: the id is used twice" in text


def test_tables_of_claims_say_what_was_found(evidence):
    table, findings = check_claims(evidence(), read_claims())
    assert set(table["verdict"]) <= {entry.value for entry in Verdict}
    row = table.set_index("id").loc["vaccination_records"]
    assert (row["verdict"], row["reason"]) == ("not testable here", "the provider's records are private")
    tested = table[table["tested"] > 0]
    assert tested["closest_value"].notna().all()
    assert set(findings["id"]) == set(table["id"])


def test_same_records_same_bytes(evidence):
    first, second = (check_claims(evidence(), read_claims())[1] for _ in range(2))
    pd.testing.assert_frame_equal(first, second)
