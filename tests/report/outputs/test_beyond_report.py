"""Table, figure, bars and page of what to do when, from scores that are made up."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt

from dams.experiments.beyond.methods import METHODS
from dams.experiments.beyond.names import MECHANISMS, strengths_of
from dams.experiments.beyond.summary import FOLLOWED, advice, gap_closed, summarise_checks, with_followed
from dams.experiments.config import parse
from dams.experiments.products import products_of
from dams.report.outputs.beyond import RULE, advice_table, as_percent, gap_figure, shares_table
from dams.report.outputs.beyond_findings import beyond_findings
from dams.report.page.render import page_of
from dams.report.provenance import note_start
from dams.report.run_folder import RunFolder

CONFIG = parse({"name": "two", "studies": {}, "beyond": {"datasets": ["diabetes", "eicu"], "draws": 3}})
# Of the gap, what is left by mechanism and method.
LEFT = {"closed_form": 0.1, "anchored": 0.1, "filter": 0.4, "two_way": 0.2, "coral": 3.0}


def made_scores():
    rows = []
    for mechanism in MECHANISMS:
        for strength, dataset, draw in product(strengths_of(mechanism, [0.5, 1.0]), ("diabetes", "eicu"), range(3)):
            gap = 0.0 if mechanism == "none" else 0.2 * (1 + draw / 10)
            about = {"dataset": dataset, "mechanism": mechanism, "strength": strength, "draw": draw, "failure": ""}
            for method in METHODS:
                left = {"oracle": 0.0, "source": 1.0}.get(method, LEFT.get(method, 1.2))
                if mechanism == "age":
                    left = {"closed_form": 0.9, "anchored": 0.1}.get(method, left)
                score = 0.4 + gap * left
                found = {"method": method, "score": score, "score_error": 0.001}
                rows.append(about | found | dict.fromkeys(("estimate", "estimate_given_age"), score + 0.002))
    return pd.DataFrame(rows).assign(standard_error=0.002, standard_error_given_age=0.002)


@pytest.fixture(scope="module")
def frames():
    scores = made_scores()
    checks = scores[scores["method"] == "source"][["dataset", "mechanism", "strength", "draw"]].reset_index(drop=True)
    odd = ~checks["mechanism"].isin(["none", "ucar", "concept"])
    checks = checks.assign(
        p_value=np.where(odd, 0.001, 0.5),
        p_given_age=np.where(odd & (checks["mechanism"] != "age"), 0.001, 0.5),
        population_differs=checks["mechanism"] == "population",
        risk_method="signed",
        choice="closed_form",
        risk_method_given_age="signed",
        choice_given_age="anchored",
        advised=np.where(odd, "source", "closed_form"),
    )
    scores = with_followed(scores, checks)
    shares = gap_closed(scores, replicates=50)
    return scores, checks, shares, advice(shares, summarise_checks(scores, checks))


def test_the_table_says_what_to_do_and_by_which_rule(frames):
    _, _, shares, seen = frames
    table = advice_table(seen)
    assert RULE in table.notes and len(table.sections) == len(MECHANISMS)
    assert sum(len(section.rows) for section in table.sections) == 2 * len(MECHANISMS) - 1
    text = table.to_markdown()
    line = next(line for line in text.splitlines() if "age explains it" in line)
    assert "Adapt: closed form, anchors. check_ucar warns, and age explains it." in line
    (nothing,) = table.sections[0].rows
    assert nothing[1][0].text == "Keep the source predictor: there is nothing to gain."
    closed = shares_table(shares, seen)
    assert [section.title for section in closed.sections] == [section.title for section in table.sections]
    line = next(line for line in closed.to_markdown().partition("Loss by age")[2].splitlines() if "strength" in line)
    assert "**90 %** (90 % to 90 %)" in line and "≤ −100 %" in line
    (nothing,) = closed.sections[0].rows
    assert nothing[1][2].text == "–"
    for made in (table, closed):
        assert all(len(entries) == len(made.heads) for section in made.sections for _, entries in section.rows)


def test_shares_are_written_as_people_read_them():
    written = [as_percent(value) for value in (0.934, -0.2, -3.0, 5.0, np.nan)]
    assert written == ["93 %", "−20 %", "≤ −100 %", "≥ 200 %", "–"]


def test_the_figure_has_a_panel_per_mechanism_with_a_gap(frames):
    _, _, shares, seen = frames
    figure = gap_figure(shares, seen)
    figure.draw_without_rendering()
    panels = [panel for panel in figure.axes if panel.get_visible()]
    titles = [panel.get_title(loc="left").partition("\n")[0] for panel in panels]
    drawn = [about.title for name, about in MECHANISMS.items() if name != "none"]
    assert titles == [f"({letter}) {title}" for letter, title in zip("abcdefghijkl", drawn, strict=False)]
    named = {METHODS[name].title for name in METHODS if name not in ("oracle", "source")} | set(FOLLOWED.values())
    # Each names its methods: on a phone it is seen alone.
    for panel in panels:
        assert {text.get_text() for text in panel.get_yticklabels()} == named
    # CORAL lies beyond the edge, and is marked there.
    assert any(text.get_text() == "◂" for text in figure.axes[0].texts)
    plt.close(figure)


def test_bars_are_judged(frames):
    scores, checks, _, _ = frames
    found = beyond_findings(scores, checks).set_index("question")
    verdicts = found["verdict"]
    assert found["measured"].iloc[0] == 1 and verdicts.iloc[0] == "holds"
    # Off by less than a standard error throughout: covered too often.
    assert found["measured"]["UCAR: 95 % intervals of target_risk that hold the truth"] == 1
    assert verdicts["UCAR: 95 % intervals of target_risk that hold the truth"] == "fails"
    assert verdicts[verdicts.index.str.contains("very best")].tolist() == ["holds"]
    by_age = found[found.index.str.contains("excess over the oracle with anchors")]
    assert by_age["measured"].tolist() == pytest.approx([1 / 9, 1 / 9]) and set(by_age["verdict"]) == {"holds"}
    assert verdicts["Loss by age: check_ucar given age rejects"] == "holds"
    worse = scores.copy()
    worse.loc[worse["method"] == "chosen", "score"] *= 2
    changed = beyond_findings(worse, checks).set_index("question")["verdict"]
    assert changed[changed.index.str.contains("target_risk followed")].tolist() == ["fails"]
    assert changed[changed.index.str.contains("anchors followed")].tolist() == ["holds"]


@pytest.mark.parametrize("mechanism", ["none", "outcome"])
def test_a_single_mechanism_has_a_table_and_a_figure(frames, mechanism):
    scores, checks, shares, seen = (frame[frame["mechanism"] == mechanism] for frame in frames)
    assert len(beyond_findings(scores, checks)) >= 2
    assert len(advice_table(seen).sections) == len(shares_table(shares, seen).sections) == 1
    figure = gap_figure(shares, seen)
    assert figure.axes[0].get_title(loc="left").startswith(MECHANISMS[mechanism].title)
    plt.close(figure)


def test_a_run_of_mechanisms_alone_has_a_page_without_the_papers_claims(tmp_path, frames):
    scores, checks, _, seen = frames
    note_start(tmp_path, CONFIG.model_dump(mode="json"))
    (tmp_path / "beyond").mkdir()
    advice_table(seen).save(tmp_path / "beyond/what_to_do")
    beyond_findings(scores, checks).to_csv(tmp_path / "beyond/findings.csv", index=False)
    scores.to_csv(tmp_path / "beyond/scores.csv", index=False)
    page = page_of(RunFolder(tmp_path), [])
    assert "What to do when" in page and "age explains it" in page and "Diabetes" in page
    assert 'id="claims"' not in page and "Errata" not in page


def test_a_run_of_mechanisms_alone_makes_nothing_of_the_papers():
    made = products_of(CONFIG)
    rules = {product.product.rule for product in made}
    own = {"run_beyond", "gather_beyond", "report_beyond"}
    assert rules == {"prepare_data", "write_provenance", "write_report", *own}
    assert [m.files for m in made if m.name == "covariates"] == [("data/diabetes.npz",)]
    assert sum(m.name == "beyond_draw_scores" for m in made) == 2 * 3
