"""The comparison: every printed number has its row, differences and errata are where they belong."""

import json

import numpy as np
import pandas as pd
import pytest
from reports import evidence_in, make_folder, write_comparison

from dams._files import write_json
from dams.experiments.records import write_csv
from dams.report.claims.comparison import LOOKS, compare, published_against_measured, unlike_table1
from dams.report.page.render import write_page
from dams.report.paper import read_errata, read_published
from dams.report.run_folder import RunFolder


@pytest.fixture
def folder(tmp_path, make_records):
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
    write_csv(make_records(rows), tmp_path / "records.csv")
    (tmp_path / "config.json").write_text(json.dumps({"bootstrap": {"replicates": 200}}))
    return tmp_path


def _balanced(rng):
    """Deviations that cancel, so that the mean is exact."""
    half = rng.normal(0, 0.01, 4)
    return [*half, *-half]


def test_every_printed_number_has_a_row(folder):
    table = compare(RunFolder(folder).evidence)
    corrected = table[table["variant"] == "corrected"]
    assert len(corrected) == len(read_published("table1")) + len(read_published("eicu"))
    assert table.loc[table["measured"].isna(), "missing"].str.len().min() > 0


def test_agreement_is_inside_and_needs_no_erratum(folder):
    adult = compare(RunFolder(folder).evidence).query("dataset == 'adult' and measured == measured")
    assert len(adult) == 10  # five methods of ours in two regimes
    np.testing.assert_allclose(adult["difference"], 0, atol=1e-12)
    assert adult["inside"].all()
    assert (adult["errata"] == "").all()


def test_disagreement_is_outside_and_explained(folder):
    thyroid = compare(RunFolder(folder).evidence).query("dataset == 'thyroid' and measured == measured")
    np.testing.assert_allclose(thyroid["difference"], 0.3)
    assert not thyroid["inside"].any()
    assert thyroid["errata"].str.startswith("E8").all()
    as_published = thyroid[thyroid["variant"] == "as_published"]
    assert (as_published["method"] == "closed_form").all()
    assert as_published["explanation"].str.contains("inverse").all()


def test_the_synthetic_columns_are_those_of_the_erratum(tmp_path, make_records):
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
    write_csv(make_records(rows), tmp_path / "records.csv")
    measured = compare(RunFolder(tmp_path).evidence).query("measured == measured")
    assert measured[["dataset", "method", "measured"]].to_numpy().tolist() == [
        ["redundant", "oracle", pytest.approx(0.2)]
    ]


def test_other_rates_than_the_papers_are_not_held_against_it(folder):
    """Neither a number nor an erratum stands beside what was printed for other rates."""
    study = {"datasets": ["adult", "thyroid"], "regimes": [{"kind": "nested"}, {"kind": "free", "high": 0.2}]}
    study |= {"models": {"linear": {"draws": 8}}, "methods": ["oracle", "source", "closed_form", "nonparametric"]}
    (folder / "config.json").write_text(json.dumps({"name": "mild", "studies": {"one": study}}))
    found = compare(evidence_in(folder))
    table = found.query("dataset == 'thyroid' and model == 'linear' and method == 'oracle'")
    nested, free = (table[table["regime"] == regime].iloc[0] for regime in ("nested", "free"))
    assert nested["errata"] == "E8"
    assert np.isnan(free["measured"]) and free["errata"] == ""
    assert free["missing"] == "Thyroid: rates up to 0.2, the paper's go to 0.9"


def test_another_cohort_is_not_held_against_the_paper(tmp_path):
    row = {"variant": "corrected", "source": "H2", "target": "H1", "method": "nonparametric", "metric": "mse"}
    write_csv(pd.DataFrame([row | {"value": 0.9, "lower": 0.8, "upper": 1.0}]), tmp_path / "eicu" / "scores.csv")
    found = compare(RunFolder(tmp_path).evidence).query("table == 'eicu' and measured == measured").iloc[0]
    assert found["missing"] == "the eICU cohort is simulated"
    assert found["inside"] is None
    assert found["errata"] == ""
    write_json({"simulated": False}, tmp_path / "eicu" / "cohort.json")
    found = compare(RunFolder(tmp_path).evidence).query("table == 'eicu' and measured == measured").iloc[0]
    assert found["errata"] == "E11"
    write_json({"eicu": {"hospitals": [73, 110]}}, tmp_path / "config.json")
    found = compare(RunFolder(tmp_path).evidence).query("table == 'eicu' and measured == measured").iloc[0]
    assert found["missing"] == "H1 and H2 are hospitals 73 and 110, the paper's 73 and 264"
    assert found["inside"] is None and found["errata"] == ""


def test_numbers_of_another_study_than_table1_are_told(tmp_path):
    """The study in the table may have other settings, or fewer repeats, than the one that is compared."""
    make_folder(tmp_path)
    words = 'on Thyroid not the one in <a href="#table1">table 1</a> below'
    assert words not in write_page(tmp_path).read_text(encoding="utf-8")
    table = pd.read_csv(tmp_path / "tables" / "table1.csv")
    write_csv(
        table.assign(mean=table["mean"] + 0.01 * (table["dataset"] != "redundant")), tmp_path / "tables/table1.csv"
    )
    assert words in write_page(tmp_path).read_text(encoding="utf-8")


def test_table1_is_compared_in_the_papers_columns_alone(folder):
    found = compare(RunFolder(folder).evidence)
    ours = found[found["measured"].notna()]
    method = ours["method"].where(ours["variant"] == "corrected", "closed_form_as_published")
    table = ours.assign(method=method, mean=ours["measured"], epsilon=np.nan, labels="random_linear")
    assert unlike_table1(found, table) == []
    elsewhere = table.assign(dataset="redundant", regime="opposing", epsilon=0.5, mean=9.0)
    assert unlike_table1(found, pd.concat([table, elsewhere])) == []
    as_published = table["method"] == "closed_form_as_published"
    assert unlike_table1(found, table.assign(mean=table["mean"] + as_published)) == ["adult", "thyroid"]


def test_errata_explain_only_what_they_match():
    erratum = read_errata()["E12"]
    assert erratum.concerns({"table": "eicu", "method": "nonparametric", "metric": "auroc"})
    assert not erratum.concerns({"table": "eicu", "method": "nonparametric", "metric": "mse"})
    assert not erratum.concerns({"table": "table1", "method": "nonparametric"})
    assert all(entry.explains for entry in read_errata().values() if entry.numbers)


def test_the_figure_tells_data_sets_apart_twice(folder):
    table = compare(RunFolder(folder).evidence)
    figure = published_against_measured(table)
    (panel,) = figure.axes
    assert panel.get_xlabel() and panel.get_ylabel()
    assert len({look[0] for look in LOOKS.values()}) == len({look[1] for look in LOOKS.values()}) == len(LOOKS)
    dots = sum(len(container[0].get_xdata()) for container in panel.containers)
    assert dots == table["measured"].notna().sum()


def test_intervals_end_within_the_axes_or_are_counted(folder):
    table = compare(RunFolder(folder).evidence)
    row = table["measured"].first_valid_index()
    most = 2 * table["published"].max()
    for upper, notes in ((0.9 * most, []), (5 * most, ["1 interval above"])):
        table.loc[row, "upper"] = upper
        (panel,) = published_against_measured(table).axes
        assert panel.get_ylim()[1] > min(upper, most)
        assert [text.get_text() for text in panel.texts] == notes
    table.loc[row, "measured"] = 4 * most
    (panel,) = published_against_measured(table).axes
    assert [text.get_text() for text in panel.texts] == ["1 point above"]


def test_files_are_written_even_with_nothing_to_compare(tmp_path):
    write_comparison(tmp_path)
    assert pd.read_csv(tmp_path / "comparison.csv")["measured"].isna().all()
    assert (tmp_path / "figures" / "published_against_measured.svg").exists()
    (panel,) = published_against_measured(compare(RunFolder(tmp_path).evidence)).axes
    assert not panel.axison
    assert "Nothing to compare" in panel.texts[0].get_text()
