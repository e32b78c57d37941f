import numpy as np
import pandas as pd
import pytest

from dams.datasets.eicu.simulator import simulate_eicu_table
from dams.experiments.eicu.run import oracle_coefficients, relative_missingness, run_eicu, top_features
from dams.report.figures import save_figure
from dams.report.outputs.eicu import feature_table, performance_table, prevalence_figure


@pytest.fixture(scope="module")
def table():
    return simulate_eicu_table(random_state=1)


@pytest.fixture(scope="module")
def results(table):
    return run_eicu(table, replicates=50)


def test_performance_table_shows_every_variant_and_direction(results):
    shown = performance_table(pd.concat([results, results.assign(variant="as_published")]), simulated=True)
    assert shown.title.endswith("(simulated)")
    titles = [section.title for section in shown.sections]
    assert titles == [
        "H2 to H1, corrected",
        "H1 to H2, corrected",
        "H2 to H1, protocol as published",
        "H1 to H2, protocol as published",
    ]
    methods = [label for label, _ in shown.sections[0].rows]
    assert methods == ["Oracle", "Source", "Imputed", "Closed-form", "Non-parametric"]
    oracle, *others = (entries for _, entries in shown.sections[0].rows)
    assert all(entry.grey and not entry.bold for entry in oracle)
    for k in range(3):  # the best, and its equals to the digits shown
        bold = {entries[k].text.split(" ")[0] for entries in others if entries[k].bold}
        assert len(bold) == 1
    mse = results[(results["target"] == "H1") & (results["metric"] == "mse") & (results["method"] != "oracle")]
    best = mse.loc[mse["value"].idxmin()]
    text = f"**{best['value']:.3f} ({best['lower']:.3f}, {best['upper']:.3f})**"
    assert text in shown.to_markdown() and "1.69" in "".join(shown.notes)
    assert [("carried over" in note) for note in shown.notes] == [False, False, True]
    assert len(shown.data) == 2 * len(results)


def test_a_failure_is_a_dash_and_a_note(results):
    failed = results.copy()
    rows = (failed["method"] == "closed_form") & (failed["target"] == "H1")
    failed.loc[rows, ["value", "lower", "upper"]] = np.nan
    failed.loc[rows, "failure"] = "no solution"
    shown = performance_table(failed, simulated=False)
    assert "simulated" not in shown.title
    assert [entry.text for entry in dict(shown.sections[0].rows)["Closed-form"]] == ["–"] * 3
    assert "No score for closed_form, H2 to H1: no solution" in shown.notes


def test_feature_table_keeps_names_in_the_data_and_bars_out_of_the_text(table):
    coefficients = top_features(oracle_coefficients(table))
    coefficients = coefficients.rename(index={coefficients.index[0]: "flowsheet|I&O|Intake (ml)_value_(1.0, 2.0]"})
    shown = feature_table(coefficients, simulated=True)
    lines = shown.to_markdown().splitlines()
    assert {line.count("|") for line in lines if line.startswith("|")} == {7}
    assert "flowsheet / I\\&O / Intake (ml)" in shown.to_latex()
    assert shown.data["feature"].iloc[0].startswith("flowsheet|I&O")
    assert f"{coefficients['beta_1'].iloc[1]:.3f}" in shown.to_markdown()


def test_prevalence_figure_marks_every_feature_once(table, tmp_path):
    relative = relative_missingness(table)
    figure = prevalence_figure(relative, simulated=True)
    (panel,) = figure.axes
    assert panel.get_title(loc="left").endswith("(simulated)")
    marks = [line for line in panel.get_lines() if line.get_marker() not in ("None", "", None)]
    assert sum(len(line.get_xdata()) for line in marks) == len(table.names)
    assert len({line.get_marker() for line in marks}) == len({line.get_color() for line in marks}) == 3
    blue = marks[0]
    assert (np.asarray(blue.get_ydata()) > np.asarray(blue.get_xdata())).all()
    assert "simulated" not in prevalence_figure(relative, simulated=False).axes[0].get_title(loc="left")
    save_figure(figure, [tmp_path / "prevalence.png"])
    assert (tmp_path / "prevalence.png").stat().st_size > 10_000
