"""A tiny run of the study, what is made of its scores, and the rule behind the advice."""

import builtins
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import sklearn

from dams.datasets.embedded import load_diabetes
from dams.experiments.beyond import methods
from dams.experiments.beyond.cells import Population
from dams.experiments.beyond.methods import METHODS
from dams.experiments.beyond.study import (
    CHECK_COLUMNS,
    JUDGED,
    JUDGED_GIVEN_AGE,
    SCORE_COLUMNS,
    advise,
    run_draw,
)
from dams.experiments.beyond.summary import (
    advice,
    gap_closed,
    summarise_checks,
    what_to_do,
    with_followed,
)

SETTINGS = {"mechanisms": ["none", "age"], "strengths": [1.0], "rows": 300, "seed": 3}


@pytest.fixture(scope="module")
def population():
    return Population.of_table(load_diabetes())


@pytest.fixture(scope="module")
def run(population):
    return run_draw(population, "diabetes", 0, **SETTINGS)


def test_a_draw_has_every_method_and_check(run):
    scores, checks = run
    assert list(scores.columns) == SCORE_COLUMNS and list(checks.columns) == CHECK_COLUMNS
    assert len(scores) == 2 * len(METHODS) and len(checks) == 2
    assert (scores["failure"] == "").all() and scores["score"].between(0, 5).all()
    assert set(scores.dropna(subset=["estimate"])["method"]) == set(JUDGED)
    assert set(scores.dropna(subset=["estimate_given_age"])["method"]) == set(JUDGED_GIVEN_AGE)
    assert checks["choice"].isin(JUDGED).all() and checks["choice_given_age"].isin(JUDGED_GIVEN_AGE).all()
    assert checks["p_value"].between(0, 1).all()
    # Importing skada must not leave its setting behind.
    assert not sklearn.get_config()["enable_metadata_routing"]


def test_a_draw_repeats_and_does_not_depend_on_what_else_is_run(population, run):
    alone, _ = run_draw(population, "diabetes", 0, **SETTINGS | {"mechanisms": ["age"]}, others=False)
    scores = run[0]
    whole = scores[(scores["mechanism"] == "age") & ~scores["method"].isin(["coral", "transport", "reweighting"])]
    pd.testing.assert_frame_equal(alone, whole.reset_index(drop=True))


def test_a_fit_that_fails_is_a_row_with_a_reason(population, monkeypatch):
    def fail(cell):
        raise ValueError("no such luck")

    monkeypatch.setitem(METHODS, "two_way", replace(METHODS["two_way"], fit=fail))
    scores, checks = run_draw(population, "diabetes", 0, **SETTINGS | {"mechanisms": ["none"]}, others=False)
    assert scores.set_index("method")["failure"]["two_way"] == "no such luck"
    assert scores["score"].isna().sum() == 1 and len(checks) == 1


def test_a_missing_skada_is_named(population, monkeypatch):
    def without(name, *rest):
        if name == "skada":
            raise ModuleNotFoundError("No module named 'skada'", name="skada")
        return real(name, *rest)

    real = builtins.__import__
    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ModuleNotFoundError, match=r"beyond\.others: .*skada.*others: false"):
        methods.import_skada()


def test_the_diagnostics_lead_to_one_method():
    assert advise(False, True, "two_way", "anchored") == "two_way"
    assert advise(True, False, "two_way", "anchored") == "anchored"
    assert advise(True, True, "two_way", "anchored") == "source"


def made_scores():
    """Two data sets, three draws; the closed form closes all of the gap in one and half of it in the other."""
    rows = []
    for dataset, half in (("one", 1.0), ("two", 0.5)):
        for draw in range(3):
            gap = 0.1 * (draw + 1)
            levels = {"oracle": 0.3, "source": 0.3 + gap, "closed_form": 0.3 + gap * (1 - half), "filter": 0.35 + gap}
            levels |= {"two_way": 0.3 + gap, "anchored": 0.3 + gap}
            for method, score in levels.items():
                about = {"dataset": dataset, "mechanism": "ucar", "strength": 1.0, "draw": draw, "method": method}
                judged = method in ("source", "closed_form", "filter", "two_way")
                off = {"estimate": score + 0.01 if judged else np.nan, "estimate_given_age": score - 0.02}
                rows.append(about | {"score": score, "score_error": 0.0, "failure": ""} | off)
    return pd.DataFrame(rows).assign(standard_error=0.01, standard_error_given_age=0.01)


def made_checks():
    rows = [
        {"dataset": dataset, "mechanism": "ucar", "strength": 1.0, "draw": draw}
        for dataset in ("one", "two")
        for draw in range(3)
    ]
    choices = ["closed_form"] * 5 + ["filter"]
    return pd.DataFrame(rows).assign(
        p_value=[0.5] * 5 + [0.01],
        p_given_age=0.5,
        population_differs=False,
        risk_method="signed",
        choice=choices,
        risk_method_given_age="signed",
        choice_given_age="anchored",
        advised=["closed_form"] * 5 + ["anchored"],
    )


def test_shares_are_means_over_data_sets():
    scores = with_followed(made_scores(), made_checks())
    shares = gap_closed(scores, replicates=200).set_index(["dataset", "method"])
    assert shares["share"]["one", "closed_form"] == pytest.approx(1.0)
    assert shares["share"]["two", "closed_form"] == pytest.approx(0.5)
    # Equal weights, and every resample has the same shares.
    assert tuple(shares.loc[("all", "closed_form"), ["share", "lower", "upper"]]) == pytest.approx((0.75,) * 3)
    filtered = shares.loc[("all", "filter")]
    assert filtered["share"] == pytest.approx(-0.25) and filtered["lower"] < -0.25 < filtered["upper"] < 0
    assert filtered["worst_excess"] == pytest.approx(0.05 / 0.4)
    assert shares["share"]["all", "oracle"] == pytest.approx(1.0)
    # What is followed is what was chosen, draw by draw: the filter in the last of the second data set.
    expected = (0.05 + 0.1 - 0.05) / 0.6
    assert shares["share"]["two", "chosen"] == pytest.approx(expected)


def test_no_share_without_a_gap():
    scores = made_scores()
    scores["score"] = 0.3
    assert gap_closed(scores, replicates=20)["share"].isna().all()


def test_what_the_diagnostics_saw_is_counted():
    scores = with_followed(made_scores(), made_checks())
    (seen,) = summarise_checks(scores, made_checks()).to_dict("records")
    assert seen["rejected"] == pytest.approx(1 / 6) and seen["rejected_given_age"] == 0
    assert seen["risk_error"] == pytest.approx(0.01) and seen["risk_right"] == pytest.approx(5 / 6)
    # The closed form with anchors closes nothing here, and the plain one is far better.
    assert seen["risk_error_given_age"] == pytest.approx(0.02) and seen["risk_right_given_age"] == 0
    (row,) = advice(gap_closed(scores, replicates=50), pd.DataFrame([seen])).to_dict("records")
    assert row["to_do"] == "Adapt: closed form. No check warns."
    assert row["source_score"] == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("lower", "rejected", "given", "expected"),
    [
        ({"closed_form": 0.8, "anchored": 0.7}, 0.05, 0.05, "Adapt: closed form. No check warns."),
        (
            {"closed_form": 0.1, "anchored": 0.7},
            1.0,
            0.05,
            "Adapt: closed form, anchors. check_ucar warns, and age explains it.",
        ),
        # Age explains what is seen, whichever method closes most.
        (
            {"closed_form": 0.8, "anchored": 0.7},
            1.0,
            0.05,
            "Adapt: closed form. check_ucar warns, and age explains it.",
        ),
        (
            {"closed_form": 0.1, "anchored": 0.05},
            1.0,
            1.0,
            "check_ucar warns: label some target rows before adapting. Best here, in part: closed form.",
        ),
        (
            {"closed_form": -0.1, "anchored": -0.2},
            1.0,
            1.0,
            "check_ucar warns: label some target rows before adapting. Nothing helps here for sure.",
        ),
        (
            {"closed_form": 0.1, "anchored": 0.05},
            0.1,
            0.0,
            "Adapt, in part: closed form. No check warns: only labels of the target tell.",
        ),
        (
            {"closed_form": -0.5, "anchored": -0.6},
            0.1,
            0.0,
            "Keep the source predictor. No check warns: only labels of the target tell.",
        ),
        ({"closed_form": 0.6, "anchored": 0.5}, 0.5, 0.5, "Adapt: closed form. check_ucar warns at times."),
        (
            {"closed_form": np.nan, "anchored": np.nan},
            0.0,
            0.0,
            "Keep the source predictor: there is nothing to gain.",
        ),
    ],
)
def test_advice_follows_from_numbers(lower, rejected, given, expected):
    shares = pd.DataFrame({"lower": lower}).assign(share=lambda frame: frame["lower"] + 0.1, gap=0.1)
    seen = {"rejected": rejected, "rejected_given_age": given, "population_differs": 0.0}
    assert what_to_do(shares, seen) == expected
