"""Numbers that the README and the pages quote are those of the committed runs and tables."""

import json
import re
from pathlib import Path

import pandas as pd
import pytest

from dams.report.run_folder import RunFolder
from dams.report.summary import differences_from

ROOT = Path(__file__).parents[1]
DOCS, RESULTS, BENCHMARKS = ROOT / "docs", ROOT / "results", ROOT / "benchmarks" / "results"
RUN = RunFolder(RESULTS / "paper")
CELL = ["dataset", "regime", "model", "draw", "beta"]


def words(file):
    return " ".join((ROOT / file).read_text(encoding="utf-8").split())


def rows(file, heading):
    """Cells of the table below a heading, without emphasis."""
    lines = (ROOT / file).read_text(encoding="utf-8").split(heading, 1)[1].splitlines()[2:]
    for line in lines:
        if not line.startswith("|"):
            return
        yield [cell.strip().replace("**", "") for cell in line.strip().strip("|").split("|")]


def assert_quoted(cell, *values):
    """Each number of a cell is the value rounded to as many digits; percentages are of shares."""
    numbers = re.findall(r"[−+]?[\d,]*\.?\d+(?: %)?", cell)
    assert len(numbers) == len(values), (cell, values)
    for text, value in zip(numbers, values, strict=True):
        scale = 100 if text.endswith("%") else 1
        digits = len(text.removesuffix(" %").partition(".")[2])
        number = float(text.removesuffix(" %").replace("−", "-").replace(",", ""))
        # Stored values are rounded themselves, to four digits or more.
        assert abs(number - scale * value) <= 0.5 * 10**-digits + scale * 6e-5, (cell, value)


@pytest.fixture(scope="module")
def table1():
    table = pd.read_csv(RESULTS / "paper" / "tables" / "table1.csv")
    return table[table["labels"] == "random_linear"].set_index(["dataset", "regime", "model", "method"]).sort_index()


@pytest.fixture(scope="module")
def scores():
    """Scores of the paper's run on the cells that the two-way adjustment was fitted on, a column per method."""
    records = RUN.records
    # As the page does: a sweep over ε has a figure.
    records = records[records.groupby("study")["epsilon"].transform("nunique") <= 1]
    studies = records.loc[records["method"] == "two_way", "study"].unique()
    chosen = records["study"].isin(studies) & records["labels"].eq("random_linear") & records["variant"].eq("corrected")
    return records[chosen & records["regime"].isin(["free", "opposing"])]


def linear_fits():
    """Scores of linear models on the UCI cells of the paper's run, a column per method."""
    chosen = RUN.records.query("labels == 'random_linear' and variant == 'corrected' and model == 'linear'")
    chosen = chosen[chosen["dataset"].isin(["adult", "bank", "thyroid"])]
    return chosen.pivot_table(
        index=["dataset", "regime", "draw", "beta"], columns="method", values="score", observed=True
    )


def worst_to_source(fits):
    return (fits["closed_form"] / fits["source"]).groupby(level=["dataset", "regime"]).max()


def first(fits, draws, betas):
    return fits.query(f"draw < {draws} and beta < {betas}")


def test_what_runs_cost():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    lines = {line.split("|")[1].strip(): line for line in text.splitlines() if line.startswith("|")}
    for name in ("paper", "sepsis", "beyond"):
        made = json.loads((RESULTS / name / "provenance.json").read_text(encoding="utf-8"))
        minutes, memory = re.search(r"(\d+) min\b.*, at most ([\d.]+) GB", lines[f"`make {name}`"]).groups()
        assert int(minutes) == round(made["wall_seconds"] / 60)
        assert 0 <= float(memory) - made["peak_memory_mb"] / 1000 < 0.1
    (quoted,) = re.findall(r"([\d,]+) scores", lines["`make paper`"])
    (counted,) = re.findall(r"([\d,]+) scores in", (RESULTS / "paper" / "report.html").read_text(encoding="utf-8"))
    assert int(quoted.replace(",", "")) == round(int(counted.replace(",", "")), -5)


def test_what_the_paper_run_gives(table1):
    text = words("README.md")
    exploded, source = (table1.loc[("thyroid", "free", "linear", m)] for m in ("closed_form_as_published", "source"))
    draws, mean, plain = re.search(
        r"over (\d+) draws of Thyroid with free rates its mean is ([\d.]+), where source has ([\d.]+\d)", text
    ).groups()
    assert int(draws) == exploded["draws"]
    assert_quoted(mean, exploded["mean"])
    assert_quoted(plain, source["mean"])
    worst = pd.read_csv(BENCHMARKS / "closed_form_stress.csv").query("method == 'stable'")["worst_to_source"].max()
    (bound,) = re.findall(r"stays below ([\d.]+) times the source predictor in every fit", text)
    assert float(bound) - 0.1 < max(worst, linear_fits().pipe(worst_to_source).max()) < float(bound)


def test_what_the_papers_adjustments_close(table1):
    mean = table1["mean"].unstack("method").loc[["adult", "bank", "thyroid"]]
    closed = (
        mean[["closed_form", "nonparametric"]].rsub(mean["source"], axis=0).div(mean["source"] - mean["oracle"], axis=0)
    )
    free = {
        model: (100 * closed.xs(("free", model), level=("regime", "model"))).round() for model in ("linear", "xgboost")
    }
    filtered = [end(free[model]["nonparametric"]) for model in ("linear", "xgboost") for end in (min, max)]
    text = words("README.md")
    optimal = (
        "closes {:.0f} and {:.0f} % of the gap between source and oracle on Adult and Bank and {:.0f} % on Thyroid"
    )
    assert optimal.format(*free["linear"]["closed_form"]) in text
    assert "{:.0f} to {:.0f} % there with linear models and {:.0f} to {:.0f} % with XGBoost".format(*filtered) in text
    nested = closed.xs(("nested", "linear"), level=("regime", "model"))
    assert "both adjustments reach the oracle" in text and nested.min(axis=None) > 0.99


def shares(scores, dataset, model):
    part = scores[(scores["dataset"] == dataset) & (scores["model"] == model)]
    wide = part.pivot_table(index=["study", *CELL, "epsilon"], columns="method", values="score", dropna=False)
    mean = wide.dropna(subset="two_way")[["oracle", "source", "nonparametric", "two_way"]].mean()
    gap = mean["source"] - mean["oracle"]
    return mean, (mean["source"] - mean["nonparametric"]) / gap, (mean["source"] - mean["two_way"]) / gap


NAMES = {"XGBoost": "xgboost", "MLP": "mlp", "linear": "linear"}


def test_two_way_on_its_page_and_in_the_readme(scores):
    dataset, closed = "", []
    found = list(rows("docs/two_way.md", "| closed, two-way | two-way − non-parametric |"))
    assert len(found) == 15
    for name, model, *cells in found:
        dataset = name.split(",")[0].lower() or dataset
        mean, filtered, filled = shares(scores, dataset, NAMES[model])
        for cell, value in zip(cells[:4], mean, strict=True):
            assert_quoted(cell, value)
        for cell, value in zip(cells[4:6], (filtered, filled), strict=True):
            if cell:
                assert_quoted(cell, value)
        if dataset in ("adult", "bank", "thyroid") and model == "linear":
            closed.append(filled)
        part = scores[(scores["dataset"] == dataset) & (scores["model"] == NAMES[model])]
        part = part[part["method"].isin(["two_way", "nonparametric"])]
        compared = differences_from(part, "nonparametric", RUN.evidence.bootstrap)
        (row,) = compared[compared["method"] == "two_way"].itertuples()
        difference, *ends = re.findall(r"[−+]?\.\d+", cells[6])
        assert_quoted(difference, row.difference)
        # Ends of a bootstrap interval have an error of their own.
        quoted_ends = [float(end.replace("−", "-")) for end in ends]
        assert quoted_ends == pytest.approx([row.lower, row.upper], abs=0.1 * (row.upper - row.lower))
    # With XGBoost the oracle that README quotes averages as many models.
    averaged = pd.read_csv(DOCS / "draws.csv").query("regime == 'free' and model == 'xgboost'")
    averaged = averaged.pivot_table(index="dataset", columns="arm", values="score")
    trees = (averaged["source"] - averaged["mean_3"]) / (averaged["source"] - averaged["oracle_masks"])
    both = r"closes (\d+) to (\d+) % with linear models and, with XGBoost, (\d+) to (\d+) % of the gap to an oracle"
    (quoted,) = re.findall(f"two-way adjustment {both}", words("README.md"))
    expected = [end(values) for values in (closed, trees) for end in (min, max)]
    assert [int(share) for share in quoted] == [round(100 * share) for share in expected]


def test_linear_models_on_the_pages_that_choose_among_them():
    records = RUN.records
    records = records[
        records["labels"].eq("random_linear") & records["variant"].eq("corrected") & records["model"].eq("linear")
    ]
    methods = records[records["method"].isin(["two_way", "nonparametric", "closed_form"])]
    wide = methods.pivot_table(index=CELL, columns="method", values="score", dropna=False).dropna(subset="two_way")
    mean = wide.groupby(level=["dataset", "regime"]).mean()
    few, text = mean.loc["thyroid"], words("docs/which_estimator.md")
    (quoted,) = re.findall(
        r"the closed form has MSE/Var\(Y\) (\.\d+) where .*?, two-way (\.\d+) and the filter (\.\d+) .*?"
        r"two-way has (\.\d+) and the closed form (\.\d+)\.",
        text,
    )
    values = [
        *few.loc["nested", ["closed_form", "two_way", "nonparametric"]],
        *few.loc["free", ["two_way", "closed_form"]],
    ]
    for cell, value in zip(quoted, values, strict=True):
        assert_quoted(cell, value)
    (line,) = (
        line for line in (DOCS / "your_data.md").read_text(encoding="utf-8").splitlines() if "error measured" in line
    )
    for cell, method in zip(line.split("|")[2:4], ("closed_form", "two_way"), strict=True):
        assert_quoted(cell, *mean.xs("free", level="regime").loc[["adult", "bank", "thyroid"], method])


def test_what_each_choice_of_the_two_way_adjustment_is_worth():
    stored = pd.read_csv(DOCS / "two_way.csv").set_index(["choice", "dataset", "model"])
    found = list(rows("docs/two_way.md", "| | Bank linear | XGBoost | Adult linear |"))
    assert len(found) > 10
    for choice, *cells in found:
        places = [(name, model) for name in ("bank", "adult", "thyroid") for model in ("linear", "xgboost")]
        for cell, place in zip(cells[:6], places, strict=True):
            assert_quoted(cell, stored.loc[(choice, *place), "closed"])
        for cell, name in zip(cells[6:], ("bank", "adult"), strict=True):
            assert_quoted(cell, stored.loc[(choice, name, "linear"), "seconds"])


def test_the_closed_form_on_its_page():
    stored = pd.read_csv(DOCS / "closed_form.csv").set_index(["dataset", "regime", "method"])
    names = {
        "non-parametric": "nonparametric",
        "as printed": "plain, uncentred, pooled",
        "stabilised": "stable, pooled",
    }
    columns = [(name, regime) for name in ("adult", "bank", "thyroid") for regime in ("nested", "free")]
    found = list(rows("docs/closed_form.md", "| | Adult nested | Adult free |"))
    assert [row[0] for row in found] == ["oracle", "source", *names]
    for method, *cells in found:
        for cell, place in zip(cells, columns, strict=True):
            row = stored.loc[(*place, names.get(method, method))]
            assert_quoted(cell, *([row["mean"], row["worst"]] if "(" in cell else [row["mean"]]))


def test_means_move_with_the_number_of_draws_and_the_worst_fit_too():
    text, fits = words("docs/closed_form.md"), linear_fits()
    for draws, betas in ((400, 30), (50, 10), (10, 3)):
        (quoted,) = re.findall(rf"{draws} × {betas}\b.*? (\.\d{{3}})", text.split("Means move", 1)[1])[:1]
        assert_quoted(quoted, first(fits, draws, betas).loc[("adult", "free"), "oracle"].mean())
    assert worst_to_source(first(fits, 50, 10)).max() < 1.05
    worst = worst_to_source(fits)
    (quoted,) = re.findall(
        r"up to ([\d.]+) times on Adult free, ([\d.]+) on Thyroid nested and ([\d.]+) on Thyroid free, "
        r"where ([\d.]+ %)",
        text,
    )
    ratios = fits.loc[("thyroid", "free"), "closed_form"] / fits.loc[("thyroid", "free"), "source"]
    found = [*worst[[("adult", "free"), ("thyroid", "nested"), ("thyroid", "free")]], (ratios > 1.05).mean()]
    for cell, value in zip(quoted, found, strict=True):
        assert_quoted(cell, value)
    assert worst["bank"].max() < 1.05


STRESS = {
    "Thyroid, 1,120 rows, the target loses nothing": "thyroid, target complete",
    "Bank, 1,120 rows, the target loses nothing": "bank, target complete",
    "near copies (spread .02), n = 1,000": "near copies 0.02, n = 1000",
    "near copies (spread .1), n = 5,000": "near copies 0.1, n = 5000",
    "eight columns": "no rare columns",
    "… and eight rare ones that do not matter": "8 rare columns",
    "heavy tails (t), n = 100": "heavy tails, t",
    "heavy tails (Pareto), n = 100": "heavy tails, Pareto",
    "panels lost as one, n = 20,000": "panels, n = 20000",
    "hospital A's patients, B's recording in the target": "hospital A, target loses",
    "hospital A's patients, B's recording in the source": "hospital A, source loses",
    "hospital B's patients, A's recording in the source": "hospital B, source loses",
}


def test_stress_tests_of_the_closed_form():
    stored = pd.read_csv(BENCHMARKS / "closed_form_stress.csv").set_index(["scenario", "method"])
    found = {row[0]: row[1:] for row in rows("docs/closed_form.md", "| | oracle | source | printed | stabilised |")}
    assert found.keys() == STRESS.keys()
    for name, (oracle, source, printed, stable, worst, above) in found.items():
        row = stored.loc[STRESS[name]]
        for cell, method in ((oracle, "oracle"), (source, "source"), (printed, "printed")):
            assert_quoted(cell, row.loc[method, "mean"])
        known = [row.loc["stable, groups known", "mean"]] if "known" in stable else []
        assert_quoted(stable, row.loc["stable", "mean"], *known)
        assert_quoted(worst, row.loc["stable", "worst_to_source"])
        assert_quoted(above, row.loc["stable", "above_1.1_source"])


def test_wide_tables():
    stored = pd.read_csv(BENCHMARKS / "wide.csv").set_index(["what", "data"])
    found = list(rows("docs/closed_form.md", "| 200,000 sparse rows on either side"))
    for (_, *cells), data in zip(found, ("unrelated", "topics", "flags"), strict=True):
        for cell, column in zip(cells, ("seconds", "ratio", "memory_mb"), strict=True):
            assert_quoted(cell, stored.loc[("closed form", data), column])
    stored = pd.read_csv(BENCHMARKS / "screened_pairs.csv").set_index(["what", "data"])
    screened = list(rows("docs/check_ucar.md", "| rejected | all pairs | screened |"))
    for (_, *cells), data in zip(screened, ("UCAR", "one cause", "one feature"), strict=True):
        for cell, what in zip(cells, ("all pairs", "screened pairs"), strict=True):
            assert_quoted(cell, stored.loc[(what, data), "alarms"])


def test_alarms_and_power_of_check_ucar():
    stored = pd.read_csv(DOCS / "check_ucar.csv").set_index(["missingness", "regime"])
    wanted = [("UCAR", "alarms"), ("one cause", "alarms"), ("all features", "alarms"), ("one feature", "alarms")]
    wanted += [("one feature", "told_which"), ("one feature", ""), ("one feature", "first_suspect_right")]
    found = list(rows("docs/check_ucar.md", "| | nested | free |"))
    for (_, *cells), (missingness, column) in zip(found, wanted, strict=True):
        for cell, regime in zip(cells, ("nested", "free"), strict=True):
            row = stored.loc[(missingness, regime)]
            assert_quoted(cell, *([row[column]] if column else row[["alarms_often", "often_together"]]))


def test_rows_and_columns_that_belong_together():
    stored = pd.read_csv(DOCS / "check_ucar_known.csv").set_index("design")
    found = list(rows("docs/check_ucar.md", "| | rejected: untold | told |"))
    assert [row[0] for row in found] == list(stored.index)
    columns = ["rejected_untold", "rejected_told", "covered_untold", "covered_told"]
    columns += ["all_covered_told", "width_untold", "width_told"]
    for design, *cells in found:
        for cell, column in zip(cells, columns, strict=True):
            if cell:
                assert_quoted(cell, stored.loc[design, column])
