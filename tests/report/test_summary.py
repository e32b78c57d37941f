"""Summaries of records: means, crossed and pooled intervals, failures, paired differences, order."""

import numpy as np
import pandas as pd
import pytest

from dams.report.summary import Bootstrap, differences_from, in_display_order, score_table, summarise
from dams.stats import crossed_bootstrap

QUICK = Bootstrap(replicates=300)


def test_scores_of_a_method_are_a_table_of_draws_and_betas(make_records):
    records = make_records({"draw": d, "beta": b, "score": 10 * d + b} for b in range(3) for d in range(2))
    np.testing.assert_array_equal(score_table(records), [[0, 1, 2], [10, 11, 12]])


def test_one_row_for_every_comparison_and_method(crossed_records):
    summary = summarise(crossed_records, QUICK)
    assert len(summary) == 2 * 2 * 3
    part = crossed_records.query("dataset == 'adult' and regime == 'free' and method == 'source'")
    row = summary.query("dataset == 'adult' and regime == 'free' and method == 'source'").iloc[0]
    assert row["mean"] == pytest.approx(part["score"].mean())
    assert row["worst"] == part["score"].max()
    assert (row["draws"], row["betas"], row["failures"]) == (6, 3, 0)
    assert row["lower"] < row["mean"] < row["upper"]


def test_crossed_intervals_are_wider_than_pooled_ones(crossed_records):
    summary = summarise(crossed_records, QUICK)
    crossed, pooled = summary["upper"] - summary["lower"], summary["pooled_upper"] - summary["pooled_lower"]
    assert (crossed > pooled).mean() > 0.9


def test_failures_are_counted_and_left_out_of_the_mean(make_records):
    scores = [1.0, 2.0, np.nan]
    records = make_records(
        {"draw": d, "score": s, "failure": None if s == s else "singular"} for d, s in enumerate(scores)
    )
    row = summarise(records, QUICK).iloc[0]
    assert row["mean"] == 1.5
    assert row["failures"] == 1
    assert row["worst"] == 2


def test_a_method_that_always_fails_has_no_mean(make_records):
    records = make_records({"draw": d, "score": None, "failure": "singular"} for d in range(2))
    row = summarise(records, QUICK).iloc[0]
    assert np.isnan(row["mean"])
    assert row["failures"] == 2


def test_a_missing_epsilon_is_a_group_like_others(make_records):
    records = make_records([{"epsilon": None}, {"epsilon": 0.1, "regime": "opposing"}])
    assert len(summarise(records, QUICK)) == 2


def test_order_of_the_records_leaves_no_trace(crossed_records):
    shuffled = crossed_records.sample(frac=1, random_state=0)
    pd.testing.assert_frame_equal(summarise(shuffled, QUICK), summarise(crossed_records, QUICK))


def test_the_seed_decides_the_intervals(crossed_records):
    first, same, other = (summarise(crossed_records, Bootstrap(100, seed=seed)) for seed in (1, 1, 2))
    pd.testing.assert_frame_equal(first, same)
    assert (first["lower"] != other["lower"]).any()


def test_other_groups_do_not_change_an_interval(crossed_records):
    alone = summarise(crossed_records[crossed_records["dataset"] == "bank"], QUICK)
    together = summarise(crossed_records, QUICK)
    pd.testing.assert_frame_equal(alone, together[together["dataset"] == "bank"].reset_index(drop=True))


def test_names_come_in_their_registered_order(make_records):
    records = make_records(
        {"dataset": dataset, "regime": regime, "method": method}
        for dataset in ("zoo", "bank", "adult", "redundant")
        for regime in ("free", "nested")
        for method in ("nonparametric", "oracle")
    )
    shown = in_display_order(records.drop(columns=["draw", "beta"]))
    assert list(dict.fromkeys(shown["dataset"])) == ["redundant", "adult", "bank", "zoo"]
    assert list(shown["regime"][:4]) == ["nested", "nested", "free", "free"]
    assert list(shown["method"][:2]) == ["oracle", "nonparametric"]


def test_paired_differences_are_taken_within_cells(crossed_records):
    paired = differences_from(crossed_records, "source", QUICK)
    assert set(paired["method"]) == {"oracle", "closed_form"}
    assert len(paired) == 2 * 2 * 2
    row = paired.query("dataset == 'adult' and regime == 'nested' and method == 'closed_form'").iloc[0]
    part = crossed_records.query("dataset == 'adult' and regime == 'nested'")
    tables = {method: score_table(group).to_numpy() for method, group in part.groupby("method")}
    assert row["difference"] == pytest.approx((tables["closed_form"] - tables["source"]).mean())
    assert row["wins"] == 1
    assert row["cells"] == 18
    # Shared draws and β cancel, so the interval is far narrower than that of either score.
    alone = crossed_bootstrap(tables["source"], random_state=0)
    assert row["upper"] - row["lower"] < 0.3 * (alone.upper - alone.lower)
    assert row["upper"] < 0


def test_only_cells_that_both_have_are_paired(make_records):
    rows = [{"method": "source", "draw": d, "beta": b, "score": 1.0} for d in range(4) for b in range(2)]
    rows += [{"method": "closed_form", "draw": d, "score": 0.5} for d in range(2)]
    rows += [{"method": "nonparametric", "draw": 0, "score": None, "failure": "no"}]
    paired = differences_from(make_records(rows), "source", QUICK)
    assert list(paired["method"]) == ["closed_form"]
    assert paired["cells"].item() == 2
    assert paired["difference"].item() == -0.5


def test_no_reference_no_differences(make_records):
    assert differences_from(make_records([{"method": "source"}]), "oracle", QUICK).empty
