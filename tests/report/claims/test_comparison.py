"""The comparison: every printed number has its row, differences and errata are where they belong."""

import numpy as np
import pandas as pd
import pytest
from reports import write_comparison

from dams._files import write_json
from dams.experiments.records import write_csv
from dams.report.claims.comparison import compare, unlike_table1
from dams.report.claims.figures import LOOKS, design_scatter, published_against_measured
from dams.report.evidence import Evidence
from dams.report.paper import read_errata, read_published
from dams.report.run_folder import RunFolder

QUICK = {"bootstrap": {"replicates": 200}}


@pytest.fixture(scope="module")
def records(make_records):
    """Linear scores of Adult as printed, of Thyroid far off, and a closed form as published."""
    rng = np.random.default_rng(0)
    printed = read_published("table1").query(
        "dataset in ('adult', 'thyroid') and model == 'linear' and method != 'imputed'"
    )
    rows = []
    for row in printed.to_dict("records"):
        methods = [row["method"]] + ["closed_form_as_published"] * (row["method"] == "closed_form")
        for method in methods:
            off = 0.3 if row["dataset"] == "thyroid" else 0.0
            cell = {"dataset": row["dataset"], "regime": row["regime"], "method": method}
            rows += [
                cell | {"draw": draw, "score": row["value"] + off + shift} for draw, shift in enumerate(_balanced(rng))
            ]
    return make_records(rows)


@pytest.fixture(scope="module")
def table(records):
    return compare(Evidence(records, QUICK))


def _balanced(rng):
    """Deviations that cancel, so that the mean is exact."""
    half = rng.normal(0, 0.01, 4)
    return [*half, *-half]


def means(table):
    return table[table["quantity"] == "mean"]


def test_every_printed_number_has_a_row(table):
    table = means(table)
    corrected = table[table["variant"] == "corrected"]
    assert len(corrected) == len(read_published("table1")) + len(read_published("eicu"))
    assert table.loc[table["measured"].isna(), "missing"].str.len().min() > 0


def test_what_agrees_needs_no_erratum(table):
    adult = means(table).query("dataset == 'adult' and measured == measured")
    assert len(adult) == 10  # five methods of ours in two regimes
    np.testing.assert_allclose(adult["difference"], 0, atol=1e-12)
    assert (adult["status"] == "agrees").all()
    assert (adult["errata"] == "").all()


def test_what_differs_is_unexplained_without_a_check_that_explains_it(table):
    """No erratum is a label for "differs": the closed form as published is off here, too."""
    thyroid = means(table).query("dataset == 'thyroid' and measured == measured")
    np.testing.assert_allclose(thyroid["difference"], 0.3)
    assert (thyroid["status"] == "unexplained").all()
    assert (thyroid["errata"] == "").all()


def test_what_the_variant_as_published_meets_is_explained(records):
    mend = (records["dataset"] == "thyroid") & (records["method"] == "closed_form_as_published")
    mended = compare(Evidence(records.assign(score=records["score"] - 0.3 * mend), QUICK))
    closed = means(mended).query("dataset == 'thyroid' and method == 'closed_form' and measured == measured")
    status = closed.set_index(["regime", "variant"])["status"]
    assert status[:, "corrected"].eq("explained").all() and status[:, "as_published"].eq("agrees").all()
    assert closed.loc[closed["variant"] == "corrected", "errata"].eq("E9").all()
    assert closed.loc[closed["variant"] == "corrected", "explanation"].str.contains("inverse").all()


def test_the_interval_counts_the_chance_in_both_runs(make_records):
    """With ever more draws of ours, what is left is the chance of the printed mean over 50 draws and 10 β."""
    rng = np.random.default_rng(0)
    halves = []
    for draws in (20, 2000):
        scores = 0.42 + rng.normal(0, 0.1, draws)
        rows = [{"dataset": "adult", "regime": "nested", "draw": d, "score": s} for d, s in enumerate(scores)]
        row = means(compare(Evidence(make_records(rows)))).query("measured == measured").iloc[0]
        halves.append((row["upper"] - row["lower"]) / 2)
    assert halves[1] == pytest.approx(1.96 * 0.1 * np.sqrt(1 / 50 + 1 / 2000), rel=0.05)
    assert halves[0] > 1.5 * halves[1]


def test_gaps_and_spreads_of_runs_are_compared_too(table, records):
    table = table.query("dataset == 'adult' and measured == measured")
    gaps = table[table["quantity"] == "above oracle"]
    np.testing.assert_allclose(gaps["difference"], 0, atol=1e-12)
    assert "oracle" not in set(gaps["method"]) and (gaps["status"] == "agrees").all()
    spreads = table[table["quantity"] == "run sd"]
    printed = read_published("table1").query("dataset == 'adult' and regime == 'nested' and method == 'oracle'").iloc[0]
    one = spreads.query("regime == 'nested' and method == 'oracle'").iloc[0]
    assert one["published"] == pytest.approx((printed["upper"] - printed["lower"]) / 2 / 1.96 * np.sqrt(500), rel=1e-3)
    scores = records.query("dataset == 'adult' and regime == 'nested' and method == 'oracle'")
    assert one["measured"] == pytest.approx(scores["score"].std(ddof=0), rel=0.05)


def test_one_sample_and_one_beta_explain_what_redrawing_does_not(make_records):
    """E20: redrawn, runs differ by what sample and β add; as published, all share one such addition."""
    rng = np.random.default_rng(0)
    printed = 0.206
    added = rng.normal(0, 0.1, 40)
    redrawn = 0.30 + added - added.mean() + rng.normal(0, 0.01, 40)
    place = {"dataset": "confounded", "regime": "opposing", "epsilon": 0.1, "method": "oracle"}
    rows = [{**place, "study": "redrawn", "draw": d, "score": s} for d, s in enumerate(redrawn)]
    fixed = [
        {**place, "study": "fixed", "variant": "as_published", "draw": d, "score": 0.25 + rng.normal(0, 0.01)}
        for d in range(20)
    ]
    study = {"datasets": ["confounded"], "regimes": [{"kind": "opposing", "epsilon": 0.1}]}
    study |= {"models": {"linear": {"draws": 40}}, "methods": ["oracle"]}
    studies = {"redrawn": study, "fixed": study | {"variant": "as_published"}}
    config = {"name": "x", "studies": studies}
    where = "dataset == 'confounded' and method == 'oracle' and model == 'linear'"
    found = means(compare(Evidence(make_records([*rows, *fixed]), config))).query(where).set_index("variant")
    assert found["published"].eq(printed).all()
    assert found.loc["corrected", "status"] == "explained" and found.loc["corrected", "errata"] == "E20"
    assert found.loc["as_published", "status"] == "agrees"
    # Without runs of that design nothing is explained.
    alone = means(compare(Evidence(make_records(rows), config))).query(where)
    assert alone["status"].tolist() == ["unexplained"]


def test_the_synthetic_columns_are_those_of_the_erratum(make_records):
    """Only y = Xβ at ε = 0.1 is what table 1 prints."""
    rows = [
        {"dataset": "redundant", "regime": "opposing", "epsilon": epsilon, "labels": labels, "draw": d, "score": score}
        for epsilon, labels, score in (
            (0.1, "random_linear", 0.2),
            (0.1, "structural", 0.8),
            (0.5, "random_linear", 0.5),
        )
        for d in range(6)
    ]
    measured = means(compare(Evidence(make_records(rows)))).query("measured == measured")
    assert measured[["dataset", "method", "measured"]].to_numpy().tolist() == [
        ["redundant", "oracle", pytest.approx(0.2)]
    ]


def test_other_rates_than_the_papers_are_not_held_against_it(records):
    """Neither a number nor an erratum stands beside what was printed for other rates."""
    study = {"datasets": ["adult", "thyroid"], "regimes": [{"kind": "nested"}, {"kind": "free", "high": 0.2}]}
    study |= {"models": {"linear": {"draws": 8}}, "methods": ["oracle", "source", "closed_form", "nonparametric"]}
    found = compare(Evidence(records, {"name": "mild", "studies": {"one": study}}))
    table = found.query("dataset == 'thyroid' and model == 'linear' and method == 'oracle'")
    table = table[table["quantity"] == "mean"]
    nested, free = (table[table["regime"] == regime].iloc[0] for regime in ("nested", "free"))
    assert nested["status"] == "unexplained"
    assert np.isnan(free["measured"]) and free["status"] == ""
    assert free["missing"] == "Thyroid: rates up to 0.2, the paper's go to 0.9"


def test_another_cohort_is_not_held_against_the_paper(tmp_path):
    printed = read_published("eicu").query("source == 'H2' and method == 'nonparametric' and metric == 'mse'").iloc[0]
    row = {"source": "H2", "target": "H1", "method": "nonparametric", "metric": "mse"}
    off = {"variant": "corrected", "value": 0.9, "lower": 0.8, "upper": 1.0}
    near = {"variant": "as_published", "value": printed["value"], "lower": 0.1, "upper": 0.2}
    write_csv(pd.DataFrame([row | off, row | near]), tmp_path / "eicu" / "scores.csv")

    def found():
        table = compare(RunFolder(tmp_path).evidence).query("table == 'eicu' and measured == measured")
        return tuple(table.iloc[0][["missing", "status", "errata"]])

    assert found() == ("the eICU cohort is simulated", "", "")
    write_json({"simulated": False}, tmp_path / "eicu" / "cohort.json")
    assert found() == ("", "explained", "E11")
    write_json({"eicu": {"hospitals": [73, 110]}}, tmp_path / "config.json")
    assert found() == ("H1 and H2 are hospitals 73 and 110, the paper's 73 and 264", "", "")


def test_table1_is_compared_in_the_papers_columns_alone(table):
    found = table
    ours = found[found["measured"].notna() & (found["variant"] == "corrected") & (found["quantity"] == "mean")]
    table = ours.assign(mean=ours["measured"], epsilon=np.nan, labels="random_linear")
    assert unlike_table1(found, table) == []
    elsewhere = table.assign(dataset="redundant", regime="opposing", epsilon=0.5, mean=9.0)
    assert unlike_table1(found, pd.concat([table, elsewhere])) == []
    assert unlike_table1(found, table.assign(mean=table["mean"] + 0.1)) == ["adult", "thyroid"]


def test_errata_explain_only_what_they_match():
    erratum = read_errata()["E12"]
    assert erratum.concerns({"table": "eicu", "method": "nonparametric", "metric": "auroc"})
    assert not erratum.concerns({"table": "eicu", "method": "nonparametric", "metric": "mse"})
    assert not erratum.concerns({"table": "table1", "method": "nonparametric"})
    assert all(entry.explains for entry in read_errata().values() if entry.numbers)


def test_the_figure_tells_data_sets_apart_twice(table):
    whole, zoomed = published_against_measured(table).axes
    assert all(panel.get_xlabel() and panel.get_title(loc="left") for panel in (whole, zoomed))
    assert len({look[0] for look in LOOKS.values()}) == len({look[1] for look in LOOKS.values()}) == len(LOOKS)
    shown = table[(table["quantity"] == "mean") & (table["variant"] == "corrected") & (table["table"] == "table1")]
    dots = sum(len(container[0].get_xdata()) for container in whole.containers)
    assert dots == shown["measured"].notna().sum()
    assert zoomed.get_xlim() == zoomed.get_ylim() and np.ptp(zoomed.get_xlim()) < np.ptp(whole.get_xlim())


def test_every_dot_has_the_interval_of_the_print_and_of_the_run(table):
    shown = table[(table["quantity"] == "mean") & (table["variant"] == "corrected") & table["measured"].notna()]
    printed = read_published("table1").set_index(["dataset", "regime", "model", "method"])
    for row in shown.to_dict("records"):
        found = printed.loc[tuple(row[key] for key in printed.index.names)]
        assert (row["published_lower"], row["published_upper"]) == (found["lower"], found["upper"])
        assert row["measured_lower"] < row["measured"] < row["measured_upper"]
        # Narrower than that of the difference, which has the chance of both runs.
        assert row["measured_upper"] - row["measured_lower"] < row["upper"] - row["lower"]
    whole, _ = published_against_measured(table).axes
    bars = np.concatenate([part.get_segments() for part in whole.collections])
    across, up = (sorted(np.ptp(bars[..., axis], axis=1)[np.ptp(bars[..., axis], axis=1) > 0]) for axis in (0, 1))
    np.testing.assert_allclose(across, sorted(shown["published_upper"] - shown["published_lower"]))
    np.testing.assert_allclose(up, sorted(shown["measured_upper"] - shown["measured_lower"]))


def test_what_lies_above_the_axes_is_counted(table):
    table = table.copy()
    row = table["measured"].first_valid_index()
    assert not published_against_measured(table).axes[0].texts
    table.loc[row, "measured"] = 8 * table["published"].max()
    assert [text.get_text() for text in published_against_measured(table).axes[0].texts] == ["1 point off the scale"]


def test_designs_of_one_pair_of_rates_scatter_more_than_the_stated_one(table):
    figure = design_scatter(table)
    assert [panel.get_title(loc="left") for panel in figure.axes] == ["(a) Adult", "(b) Thyroid"]
    row = table.query("dataset == 'adult' and quantity == 'mean' and variant == 'corrected' and measured == measured")
    assert (row["one_pair_upper"] - row["one_pair_lower"] > (row["upper"] - row["lower"]) / 2).all()
    (panel,) = design_scatter(table[table["dataset"] == "redundant"]).axes
    assert "Nothing to compare" in panel.texts[0].get_text()


def test_files_are_written_even_with_nothing_to_compare(tmp_path):
    write_comparison(tmp_path)
    table = pd.read_csv(tmp_path / "comparison.csv")
    assert table["measured"].isna().all()
    assert (tmp_path / "figures" / "published_against_measured.svg").exists()
    (panel,) = published_against_measured(table).axes
    assert not panel.axison
    assert "Nothing to compare" in panel.texts[0].get_text()
