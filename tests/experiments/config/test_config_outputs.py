"""Tables and figures get what they show, and studies that share one do not get in each other's way."""

import pytest
from refusals import mistakes

from dams.experiments.config import parse


def test_a_figure_needs_what_it_shows(small, study):
    study |= {"outputs": ["error_against_epsilon"], "regimes": [{"kind": "free"}, {"kind": "nested"}]}
    assert (
        "studies.one: outputs: error_against_epsilon shows a regime of kind opposing, got free, nested; "
        "add one to regimes, or take error_against_epsilon out"
    ) in mistakes(small)
    study |= {"outputs": ["error_against_distance"], "models": {"xgboost": {"draws": 1}}}
    assert "outputs: error_against_distance shows linear models, got xgboost; add linear to models" in mistakes(small)


def test_two_studies_do_not_fill_one_place(small, study):
    study["outputs"] = ["table1"]
    small["studies"]["two"] = study | {"rows": 400, "methods": ["source"]}
    assert (
        "studies.two.outputs: table1 has one place for redundant, opposing, 0.1, random_linear, linear, source, "
        "and one fills it too; take table1 out of one of the two, or give its regime another `name:`"
    ) in mistakes(small)
    for change in (
        {"outputs": []},
        {"regimes": [{"kind": "opposing", "epsilon": 0.1, "name": "larger"}]},
        {"regimes": [{"kind": "opposing", "epsilon": 0.2}]},
        {"models": {"xgboost": {"draws": 1}}},
    ):
        small["studies"]["two"] = study | change
        parse(small)


@pytest.mark.parametrize(
    ("dataset", "change", "place", "message"),
    [
        (
            "digits",
            {"regimes": [{"kind": "free", "name": "wide", "high": 0.3}]},
            "digits, wide, random_linear",
            "its rates differ: FreeRates(high=0.9) in one, FreeRates(high=0.3) in two",
        ),
        (
            "digits",
            {"regimes": [{"kind": "nested", "name": "wide"}]},
            "digits, wide, random_linear",
            "its rates differ: FreeRates(high=0.9) in one, NestedRates(source_high=0.5, extra_high=0.5) in two",
        ),
        ("redundant", {"rows": 400}, "redundant, wide, random_linear", "its rows differ: 200 in one, 400 in two"),
        (
            "redundant",
            {"rows": 400, "regimes": [{"kind": "opposing", "name": "wide", "epsilon": 0.2}]},
            "redundant, wide, random_linear",
            "its rows differ: 200 in one, 400 in two",
        ),
    ],
)
def test_one_column_is_one_experiment(small, study, dataset, change, place, message):
    """Methods of two studies stand side by side, and the best is bold: they must have met the same cells."""
    study |= {
        "outputs": ["table1"],
        "datasets": [dataset],
        "regimes": [{"kind": "free", "name": "wide"}],
        "methods": ["source"],
    }
    small["studies"]["two"] = study | {"methods": ["closed_form"]} | change
    assert (
        f"studies.two.outputs: table1 compares all methods on {place}, and {message}; give the regime of one of the "
        "two another `name:`, or take table1 out of one of them"
    ) in mistakes(small)
    small["studies"]["two"]["outputs"] = ["paired_differences"]
    parse(small)
    named = [regime | {"name": "other"} for regime in small["studies"]["two"]["regimes"]]
    small["studies"]["two"] |= {"outputs": ["table1"], "regimes": named}
    parse(small)


def test_studies_of_one_experiment_share_a_column(small, study):
    study |= {"outputs": ["table1"], "methods": ["source"]}
    small["studies"]["two"] = study | {"methods": ["closed_form"]}
    parse(small)
    # How many rows a table has is not for a study to say.
    study |= {"datasets": ["digits"]}
    small["studies"]["two"] = study | {"methods": ["closed_form"], "rows": 400}
    parse(small)
