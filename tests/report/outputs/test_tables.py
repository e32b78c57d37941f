"""Tables: what is bold and grey, what LaTeX and Markdown get, and the numbers beside them."""

import re
from itertools import product

import numpy as np
import pandas as pd
import pytest

from dams.experiments.methods import METHODS
from dams.experiments.products import OUTPUTS
from dams.experiments.records import write_csv
from dams.report.outputs.intervals import intervals
from dams.report.outputs.make import make_output
from dams.report.outputs.paired_differences import paired_differences
from dams.report.outputs.stated_labels import stated_labels
from dams.report.outputs.table1 import table1
from dams.report.summary import Bootstrap
from dams.report.tables import Entry, Section, Table, latex_text

QUICK = Bootstrap(replicates=100)


def cells(table, section=0):
    """Text, bold and grey of every entry by method."""
    return dict(table.sections[section].rows)


@pytest.fixture
def scores(make_records):
    """Two columns: in the first two methods tie as printed, in the second one fails altogether."""
    means = {
        "nested": {"oracle": 0.1, "source": 0.5004, "closed_form": 0.4996, "nonparametric": 0.5006},
        "free": {"oracle": 0.9, "source": 0.4, "closed_form": 0.8, "nonparametric": None},
    }
    return make_records(
        {"regime": regime, "method": method, "score": score, "failure": None if score else "singular", "draw": draw}
        for regime, column in means.items()
        for method, score in column.items()
        for draw in range(2)
    )


def test_the_best_without_target_labels_is_bold_as_printed(scores):
    rows = cells(table1(scores, QUICK))
    assert [entry.text for entry in rows["Source"]] == ["0.500", "0.400"]
    nested = {name: entries[0].bold for name, entries in rows.items()}
    # 0.5004 and 0.4996 print alike, 0.5006 does not; the oracle competes with nobody.
    assert nested == {"Oracle": False, "Source": True, "Closed-form": True, "Non-parametric": False}
    free = {name: entries[1].bold for name, entries in rows.items()}
    assert free == {"Oracle": False, "Source": True, "Closed-form": False, "Non-parametric": False}


@pytest.mark.parametrize("means", [{"oracle": 0.1, "source": 0.5, "two_way": 0.2}, {"source": 0.5, "two_way": 0.2}])
def test_a_mean_over_fewer_cells_is_marked_and_never_bold(make_records, means):
    """With an oracle to count by, and without."""
    records = make_records(
        {"method": method, "score": score, "draw": draw}
        for method, score in means.items()
        for draw in range(1 if method == "two_way" else 3)
    )
    table = table1(records, QUICK)
    rows = cells(table)
    assert rows["Two-way (ours)"] == [Entry("0.200 / 0.100†" if "oracle" in means else "0.200†")]
    assert rows["Source"] == [Entry("0.500", bold=True)]
    assert any("† Over fewer cells (Linear regression: Two-way (ours) 1 × 1)" in note for note in table.notes)
    assert r"$\dagger$" in table.to_latex()


def test_an_oracle_over_fewer_cells_is_marked_too(make_records):
    records = make_records(
        {"regime": "opposing", "epsilon": 0.1, "method": method, "draw": draw}
        for method, draws in (("oracle", 1), ("source", 3))
        for draw in range(draws)
    )
    table = table1(records, QUICK)
    assert cells(table)["Oracle"] == [Entry("0.500†", grey=True)]
    assert cells(table)["Source"] == [Entry("0.500", bold=True)]
    assert any("† Over fewer cells (Linear regression: Oracle 1 × 1)" in note for note in table.notes)


def test_the_oracle_is_grey_and_alone_so(scores):
    rows = cells(table1(scores, QUICK))
    assert all(entry.grey for entry in rows.pop("Oracle"))
    assert not any(entry.grey for entries in rows.values() for entry in entries)


def test_what_has_no_number_is_a_dash_and_its_failures_are_counted(scores):
    table = table1(scores, QUICK)
    assert cells(table)["Non-parametric"][1] == Entry("—")
    assert "Fits that failed: 2." in table.notes
    assert "Repeats per entry: Linear regression: 2 draws × 1 β." in table.notes


def test_repeats_are_those_of_the_columns(make_records):
    sizes = {
        ("linear", "redundant", "opposing"): (3, 1),
        ("linear", "adult", "nested"): (4, 2),
        ("linear", "adult", "free"): (4, 2),
        ("linear", "bank", "nested"): (4, 2),
        ("linear", "bank", "free"): (2, 2),
        **{(model, dataset, "nested"): (2, 2) for model in ("mlp", "xgboost") for dataset in ("adult", "bank")},
    }
    table = table1(make_records(_grid(sizes, "oracle")), QUICK)
    assert table.notes[0] == (
        "Repeats per entry: Linear regression: 3 draws × 1 β on Redundant features, 4 draws × 2 β on Adult and Bank "
        "(mˢ ≤ mᵗ), 2 draws × 2 β on Bank (mˢ ? mᵗ); XGBoost and MLP: 2 draws × 2 β."
    )


def test_one_draw_is_no_draws(make_records):
    assert table1(make_records([{}]), QUICK).notes[0] == "Repeats per entry: Linear regression: 1 draw × 1 β."


def test_fewer_cells_are_told_by_model_and_where_they_differ_by_column(make_records):
    datasets = ("adult", "bank")
    whole = {(model, dataset, "nested"): (3, 2) for model in ("linear", "xgboost", "mlp") for dataset in datasets}
    imputed = {("linear", dataset, "nested"): (1, betas) for dataset, betas in zip(datasets, (2, 1), strict=True)}
    two_way = dict.fromkeys(whole, (1, 2))
    rows = [*_grid(whole, "source"), *_grid(imputed, "imputed"), *_grid(two_way, "two_way")]
    note = table1(make_records(rows), QUICK).notes[1]
    assert note.startswith(
        "† Over fewer cells (Linear regression: Imputed 1 × 2 on Adult, 1 × 1 on Bank, Two-way (ours) 1 × 2; "
        "XGBoost and MLP: Two-way (ours) 1 × 2), so never bold;"
    )


def _grid(sizes, method):
    """Rows of a method with so many draws and β for every model, data set and regime."""
    for (model, dataset, regime), (draws, betas) in sizes.items():
        for draw, beta in product(range(draws), range(betas)):
            yield {"model": model, "dataset": dataset, "regime": regime, "method": method, "draw": draw, "beta": beta}


def test_heads_tell_columns_apart(make_records):
    rows = [
        {"dataset": "redundant", "regime": "opposing", "epsilon": 0.1, "labels": "structural"},
        {"dataset": "redundant", "regime": "opposing", "epsilon": 0.1, "labels": "random_linear"},
        {"dataset": "adult", "regime": "nested"},
        {"dataset": "own_data", "regime": "mild"},
    ]
    both = make_records(rows)
    assert set(table1(both, QUICK).heads) == {
        ("Redundant features", "mˢ ? mᵗ, ε = 0.1"),
        ("Adult", "mˢ ≤ mᵗ"),
        ("Own data", "mild"),
    }
    # The labels of the stated equations have a table of their own; the data behind table 1 hold them too.
    assert stated_labels(both, QUICK).heads == [("Redundant features", "mˢ ? mᵗ, ε = 0.1")]
    assert set(table1(both, QUICK).data["labels"]) == {"structural", "random_linear"}
    assert table1(make_records(rows[:1]), QUICK).heads == [("Redundant features", "mˢ ? mᵗ, ε = 0.1")]
    assert table1(make_records(rows[2:3]), QUICK).heads == [("Adult", "mˢ ≤ mᵗ")]


def test_a_section_for_every_model_in_order(make_records):
    table = table1(make_records({"model": model} for model in ("mlp", "linear", "xgboost")), QUICK)
    assert [section.title for section in table.sections] == [
        "Linear regression models",
        "XGBoost models",
        "MLP models",
    ]


def test_intervals_are_crossed_and_beside_them_pooled(crossed_records):
    part = crossed_records[crossed_records["dataset"] == "adult"]
    table = intervals(part, QUICK)
    assert [section.title for section in table.sections] == [
        "Linear regression models",
        "Linear regression models, pooled intervals (as published)",
    ]
    row = table.data.query("method == 'source' and regime == 'nested'").iloc[0]
    crossed, pooled = (cells(table, section)["Source"][0].text for section in (0, 1))
    assert crossed == f"{row['mean']:.3f} ({row['lower']:.3f} to {row['upper']:.3f})"
    assert pooled == f"{row['mean']:.3f} ({row['pooled_lower']:.3f} to {row['pooled_upper']:.3f})"
    assert "95%" in table.title


def test_the_level_of_intervals_is_that_of_the_configuration(crossed_records):
    """The table says it; a caption, which is the same for every run, does not."""
    table = intervals(crossed_records, Bootstrap(replicates=100, confidence=0.9))
    assert "90%" in table.title
    assert not [output.caption for output in OUTPUTS.values() if "%" in output.caption]


def test_a_single_run_has_no_interval(make_records):
    table = intervals(make_records([{"method": "source", "score": 0.25}]), QUICK)
    assert cells(table)["Source"][0].text == "0.250"


def test_paired_differences_are_bold_where_zero_is_excluded(crossed_records):
    table = paired_differences(crossed_records, QUICK)
    assert [head[0] for head in table.heads] == ["Oracle", "Source", "Closed-form"]
    titles = [section.title for section in table.sections]
    assert titles == [
        "Linear regression models, difference from source",
        "Linear regression models, difference from oracle",
    ]
    label, entries = table.sections[0].rows[0]
    assert label == "Adult, mˢ ≤ mᵗ"
    assert entries[1] == Entry("—")
    assert entries[2].bold
    # Signs would be hard to tell from a dash between the limits.
    assert re.fullmatch(r"−0\.\d{3} \(−0\.\d{3} to −0\.\d{3}\)", entries[2].text)
    assert " to $-$0." in table.to_latex()


def test_a_single_pair_has_a_difference_but_no_interval(make_records):
    """One of several draws in which both methods were fitted tells nothing of the spread either."""
    one = [{"method": "oracle", "score": 0.25}, {"method": "source", "score": 0.26}]
    failed = [{"method": "oracle", "draw": 1, "score": None}, {"method": "source", "draw": 1, "score": 0.5}]
    for rows in (one, one + failed):
        entry = paired_differences(make_records(rows), QUICK).sections[0].rows[0][1][0]
        assert entry == Entry("−0.010")


@pytest.fixture
def small():
    return Table(
        title="A title",
        heads=[("One", "m_s"), ("Two",)],
        sections=[Section("First & last", [("Row_1", [Entry("0.1", bold=True), Entry("0.2", grey=True)])])],
        data=pd.DataFrame({"x": [1, 2]}),
        notes=["A note, 5 %."],
    )


def test_markdown(small):
    assert small.to_markdown() == (
        "**A title**\n\n"
        "| | One<br>m_s | Two |\n"
        "| --- | ---: | ---: |\n"
        "| **First & last** | | |\n"
        "| Row_1 | **0.1** | *0.2* |\n\n"
        "A note, 5 %.\n"
    )


def test_latex(small):
    assert small.to_latex() == "\n".join(
        [
            "% A title",
            r"% needs \usepackage{booktabs,xcolor}",
            r"\begin{tabular}{lcc}",
            r"\toprule",
            r" & One & Two \\",
            r" & m\_s &  \\",
            r"\midrule",
            r"\multicolumn{3}{c}{\textbf{First \& last}} \\",
            r"\midrule",
            r"Row\_1 & \textbf{0.1} & \textcolor{gray}{0.2} \\",
            r"\bottomrule",
            r"\end{tabular}",
            "% A note, 5 %.",
            "",
        ]
    )


@pytest.mark.parametrize(
    ("text", "latex"),
    [
        ("50 % of a_b & {c} #1 $2", r"50 \% of a\_b \& \{c\} \#1 \$2"),
        ("back\\slash", r"back\textbackslash{}slash"),
        ("x^2 ~ y", r"x\textasciicircum{}2 \textasciitilde{} y"),
        ("mˢ ≤ mᵗ, ε = 0.1", r"$m^s \preceq m^t$, $\epsilon$ = 0.1"),
        ("−0.2 (10 × 5 β)", r"$-$0.2 (10 $\times$ 5 $\beta$)"),
    ],
)
def test_latex_escapes_commands_and_sets_symbols(text, latex):
    assert latex_text(text) == latex


def test_three_files_with_the_same_content_every_time(small, tmp_path):
    for name in ("first", "second"):
        small.save(tmp_path / name / "table")
    for suffix in ("csv", "md", "tex"):
        first, second = (tmp_path / name / f"table.{suffix}" for name in ("first", "second"))
        assert first.read_bytes() == second.read_bytes()
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "first" / "table.csv"), small.data)


def test_the_data_hold_every_digit(scores, tmp_path):
    table = table1(scores, QUICK)
    table.save(tmp_path / "table1")
    read = pd.read_csv(tmp_path / "table1.csv")
    np.testing.assert_array_equal(read["mean"], table.data["mean"])


def test_nothing_to_pair_gives_an_empty_table(make_records):
    table = paired_differences(make_records([{"method": "oracle"}]), QUICK)
    assert table.sections == []
    assert "Paired differences" in table.to_markdown()
    assert table.to_latex()


def test_outputs_are_made_from_the_studies_and_the_data_set_that_ask(crossed_records, tmp_path):
    second = crossed_records.assign(study="two", score=99.0)
    path = tmp_path / "records.csv"
    write_csv(pd.concat([crossed_records, second]), path)
    bootstrap = {"replicates": 50, "confidence": 0.9}
    order = {"dataset": ["adult", "bank"], "regime": ["nested", "free"]}
    made = {"name": "intervals", "studies": ["one"], "dataset": "bank", "order": order}
    table = make_output(path, made, bootstrap, 1)
    assert set(table.data["study"]) == {"one"}
    assert set(table.data["dataset"]) == {"bank"}
    assert "90%" in table.title


def test_names_of_a_users_own_come_in_the_order_of_the_configuration(make_records, tmp_path):
    """After those of the paper, which have an order of their own; the records are kept by the alphabet."""
    order = {"dataset": ["ward", "clinic", "adult"], "regime": ["severe", "mild", "nested"]}
    rows = [{"dataset": dataset, "regime": regime} for dataset, regime in product(*map(sorted, order.values()))]
    write_csv(make_records(rows), tmp_path / "records.csv")
    made = {"name": "table1", "studies": ["one"], "dataset": None, "order": order}
    table = make_output(tmp_path / "records.csv", made, {"replicates": 50}, 1)
    regimes = ["mˢ ≤ mᵗ", "severe", "mild"]
    assert table.heads == list(product(["Adult", "Ward", "Clinic"], regimes))


def test_a_method_on_fewer_cells_stands_beside_the_oracle_of_the_same_cells(make_records):
    """Cells differ more than methods do."""
    records = make_records(
        {"method": method, "draw": draw, "score": level + draw}
        for method, level, draws in (("oracle", 0.1, 4), ("source", 0.5, 4), ("two_way", 0.2, 2))
        for draw in range(draws)
    )
    rows = cells(table1(records, QUICK))
    assert rows["Oracle"][0].text == "1.600"
    assert rows[METHODS["two_way"].title][0].text == "0.700 / 0.600†"


def test_exact_scores_stand_beside_sampled_ones(make_records):
    rows = [
        {"method": name, "regime": "opposing", "epsilon": 0.1, "dataset": "redundant"} for name in ("oracle", "source")
    ]
    found = cells(table1(make_records(rows), QUICK))
    assert found["Oracle"][0].second == "exact 0.180"
    assert found["Source"][0].second == "exact 1.230"
    assert "exact 0.180" in table1(make_records(rows), QUICK).to_markdown()


def test_names_of_columns_end_no_cell_and_begin_no_tag():
    hostile = "a | b <script>alert(1)</script>\n| c"
    table = Table(
        hostile, [(hostile, "x")], [Section(hostile, [(hostile, [Entry(hostile, bold=True)])])], pd.DataFrame()
    )
    markdown, html = table.to_markdown(), table.to_html()
    assert "<script" not in markdown + html
    rows = [line for line in markdown.splitlines() if line.startswith("|")]
    assert len(rows) == 4
    assert all(len(re.findall(r"(?<!\\)\|", row)) == 3 for row in rows)
