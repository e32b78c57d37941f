"""Blocks: their size leaves no trace, failures are rows, and the paper's synthetic numbers come out."""

import logging
import re

import numpy as np
import pandas as pd
import pytest

from dams.experiments import cells
from dams.experiments.config import parse
from dams.experiments.design import blocks
from dams.experiments.methods import METHODS, Method
from dams.experiments.models import MODELS
from dams.experiments.records import COLUMNS, TIMINGS, write_csv
from dams.experiments.run import run_block


@pytest.fixture
def mixed(small, study):
    """Scenario and table, two regimes, two models, a cap: everything that could depend on the block."""
    study |= {
        "datasets": ["redundant", "diabetes"],
        "regimes": [{"kind": "nested"}, {"kind": "free"}],
        "models": {"linear": {"draws": 4, "betas": 2}, "xgboost": {"draws": 1}},
        "methods": {"oracle": None, "source": None, "closed_form": {"draws": 3, "betas": 1}, "nonparametric": None},
        "rows": 100,
    }
    return small


def test_the_block_size_leaves_no_trace(mixed, run_all, tmp_path):
    written = []
    for size in (1, 7, 1000):
        path = tmp_path / f"records-{size}.csv"
        write_csv(run_all(mixed | {"block_size": {"linear": size, "xgboost": size}}), path)
        written.append(path.read_bytes())
    assert written[0] == written[1] == written[2]


def test_the_block_size_leaves_no_trace_where_a_family_has_more_labels_than_another(small, study, run_all):
    """Label vectors share the random numbers of a method, and Xβ is one product of matrices."""
    study |= {
        "labels": ["random_linear", "structural"],
        "models": {"linear": {"draws": 2, "betas": 5}, "xgboost": {"draws": 4, "betas": 1}},
        "methods": ["oracle", "source", "two_way"],
        "rows": 200,
    }
    one, many = (run_all(small | {"block_size": dict.fromkeys(("linear", "xgboost", "two_way"), n)}) for n in (1, 100))
    pd.testing.assert_frame_equal(one, many, check_exact=True)


def test_a_cell_gives_the_same_in_any_company(mixed):
    """Reversed order, and alone: the rows of a cell are the same."""
    block = next(blocks(parse(mixed)))
    records, _ = run_block(block, None)
    backwards, _ = run_block(type(block)(**vars(block) | {"cells": block.cells[::-1]}), None)
    keys = ["regime", "draw", "method", "beta"]
    pd.testing.assert_frame_equal(
        backwards.sort_values(keys, ignore_index=True), records.sort_values(keys, ignore_index=True), check_exact=True
    )
    last, _ = run_block(type(block)(**vars(block) | {"cells": block.cells[-1:]}), None)
    pd.testing.assert_frame_equal(last, records.tail(len(last)).reset_index(drop=True), check_exact=True)


def test_caps_leave_out_draws_and_betas_and_change_no_other_number(mixed, run_all):
    capped = run_all(mixed)
    mixed["studies"]["one"]["methods"] = list(mixed["studies"]["one"]["methods"])
    whole = run_all(mixed)
    counts = capped[capped["model"] == "linear"].groupby(["dataset", "regime", "method"]).size()
    assert set(counts.xs("closed_form", level="method")) == {3 * 1}
    assert set(counts.xs("oracle", level="method")) == {4 * 2}
    # What is left of the closed form is what it gives without a cap, not another predictor in its name.
    keys = ["dataset", "regime", "model", "method", "draw", "beta"]
    both = capped.merge(whole, on=keys, suffixes=("", "_whole"))
    assert len(both) == len(capped)
    np.testing.assert_allclose(both["score"], both["score_whole"], rtol=1e-9)


def test_records_say_what_they_are(mixed):
    block = next(blocks(parse(mixed)))
    records, timings = run_block(block, None)
    assert list(records.columns) == COLUMNS
    assert list(timings.columns) == TIMINGS
    assert (records["study"] == "one").all()
    assert set(records["variant"]) == {"corrected"}
    np.testing.assert_allclose(records["score"], records["mse"] / records["var_y"])
    assert records["failure"].isna().all()
    assert records["dropped"].isna().all()
    assert (timings["fit_seconds"] >= 0).all()
    # One fit gives all its labels.
    assert len(timings) == len(records[records["beta"] == 0])


def test_dropped_columns_are_recorded(small, study):
    study |= {"regimes": [{"kind": "opposing", "epsilon": 0.001}], "rows": 500, "methods": ["source"]}
    study["models"]["linear"]["draws"] = 20
    records, _ = run_block(next(blocks(parse(small))), None)
    assert set(records["dropped"].dropna()) == {"x1"}
    assert records["score"].notna().all()


def breaks(cell, rng):
    raise ArithmeticError("the matrix\nis tired")


def returns_nonsense(cell, rng):
    train, test = cell.source_train, cell.target_test
    return type(train)(train.X * np.nan, train.Y), test


@pytest.fixture
def failing(monkeypatch, study):
    monkeypatch.setitem(METHODS, "broken", Method("Broken", f"{__name__}:breaks"))
    monkeypatch.setitem(METHODS, "nonsense", Method("Nonsense", f"{__name__}:returns_nonsense"))
    study["methods"] = ["oracle", "broken", "nonsense", "source"]
    study["models"] = {"linear": {"draws": 2}, "xgboost": {"draws": 1}}
    study["rows"] = 50


def test_a_failure_is_a_row_with_its_reason_and_the_rest_goes_on(failing, small, run_all, caplog):
    with caplog.at_level(logging.WARNING):
        records = run_all(small)
    failed = records[records["method"] == "broken"]
    assert len(failed) == 3
    assert set(failed["failure"]) == {"ArithmeticError: the matrix is tired"}
    assert failed["score"].isna().all() and failed["mse"].isna().all()
    sound = records[records["method"].isin(["oracle", "source"])]
    assert sound["score"].notna().all() and sound["failure"].isna().all()
    assert any("broken with linear failed" in message for message in caplog.messages)


@pytest.mark.parametrize(
    "fault",
    [ImportError("no xgboost"), MemoryError(), OSError(28, "No space left on device"), ValueError("std::bad_alloc")],
    ids=repr,
)
@pytest.mark.parametrize("where", ["method", "model"])
def test_a_fault_of_the_machine_is_no_record_but_stops_the_job(small, study, monkeypatch, fault, where):
    """A record would stand for ever; a job that stops is run again."""

    def out_of_order(*arguments):
        raise fault

    study |= {"methods": ["oracle"], "rows": 50}
    if where == "method":
        monkeypatch.setattr(Method, "prepare", property(lambda method: out_of_order))
    else:
        monkeypatch.setattr(type(MODELS["linear"]), "engine", lambda model, name: out_of_order)
    with pytest.raises(type(fault)) as caught:
        run_block(next(blocks(parse(small))), None)
    assert caught.value is fault


def test_a_number_that_is_none_is_a_failure(failing, small, run_all):
    records = run_all(small)
    nonsense = records[(records["method"] == "nonsense") & (records["model"] == "linear")]
    assert nonsense["failure"].notna().all()
    assert nonsense["score"].isna().all()


def test_a_constant_label_is_a_failure(small, run_all, monkeypatch):
    monkeypatch.setattr(cells, "_coefficients", lambda n_features, labels, seed, *scope: np.zeros((n_features, 1)))
    records = run_all(small)
    assert records["failure"].str.match(re.escape("the label is constant in the target test rows")).all()


# What independent simulation of the designs gives (MSE/Var(Y), ε = 0.1, linear models), and how far 20 runs may stray.
EXPECTED = {
    ("redundant", "random_linear"): (
        {"oracle": 0.174, "source": 1.21, "closed_form": 0.175, "nonparametric": 0.50},
        0.03,
    ),
    ("redundant", "structural"): (
        {"oracle": 0.834, "source": 1.048, "closed_form": 0.838, "nonparametric": 0.902},
        0.02,
    ),
    ("confounded", "structural"): (
        {"oracle": 0.925, "source": 0.948, "closed_form": 0.926, "nonparametric": 0.956},
        0.02,
    ),
}


@pytest.fixture
def scenarios(small, study):
    study |= {
        "datasets": ["redundant", "confounded"],
        "labels": ["structural", "random_linear"],
        "models": {"linear": {"draws": 20}},
        "rows": 10_000,
    }
    return small


def test_the_papers_synthetic_numbers(scenarios, run_all):
    means = run_all(scenarios).groupby(["dataset", "labels", "method"])["score"].mean()
    for (dataset, labels), (methods, tolerance) in EXPECTED.items():
        for method, value in methods.items():
            allowed = 2 * tolerance if (method, labels) == ("source", "random_linear") else tolerance
            assert means[dataset, labels, method] == pytest.approx(value, abs=allowed), (dataset, labels, method)


def test_all_predictors_agree_where_the_rates_do(scenarios, study, run_all):
    study["regimes"] = [{"kind": "opposing", "epsilon": 0.5}]
    means = run_all(scenarios).groupby(["dataset", "labels", "method"])["score"].mean().unstack("method")
    spread = means.max(axis="columns") - means.min(axis="columns")
    assert (spread < 0.01).all()


def test_the_reference_engine_is_another_one_for_the_same_cells(small, study, run_all):
    study |= {"datasets": ["redundant"], "rows": 400, "methods": ["oracle"]}
    scores = {}
    for engine in ("fast", "sklearn"):
        study["models"] = {"mlp": {"draws": 1, "engine": engine}}
        scores[engine] = run_all(small)
    assert scores["fast"]["var_y"].equals(scores["sklearn"]["var_y"])
    assert scores["fast"]["score"][0] != scores["sklearn"]["score"][0]
    assert scores["fast"]["score"][0] == pytest.approx(scores["sklearn"]["score"][0], abs=0.1)
