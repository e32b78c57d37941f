from itertools import pairwise, permutations, product

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt

from dams.experiments.config import parse
from dams.experiments.products import products_of
from dams.experiments.sepsis.masks import LABELS, MASK_METHODS, SIDES, gap_closed
from dams.experiments.sepsis.methods import METHODS, MODELS
from dams.experiments.sepsis.natural import METRICS
from dams.report.outputs.sepsis import excess_figure, gap_figure, mask_table, performance_table, recording_figure
from dams.report.outputs.sepsis_findings import sepsis_findings
from dams.report.page.render import page_of
from dams.report.provenance import note_start
from dams.report.run_folder import RunFolder

CONFIG = parse({"name": "two", "studies": {}, "sepsis": {"source": "folder", "folder": "there"}})
LEVEL = {"oracle": 0.2, "source": 0.6, "nonparametric": 0.61, "two_way": 0.9}


def make_masks():
    """Scores that differ by method and split: the closed forms close 3/4 of the gap in every split."""
    rows = []
    for masks, hospital, gets, labels, split, method in product(
        ("transplanted", "ucar"), "AB", SIDES, LABELS, range(3), MASK_METHODS
    ):
        about = {"masks": masks, "hospital": hospital, "gets": gets, "labels": labels, "split": split}
        worse = 1.1 if method == "two_way" and hospital == "B" else 1.0
        rows.append(about | {"method": method, "score": LEVEL.get(method, 0.3) * worse * (1 + split / 10)})
    return pd.DataFrame(rows)


def make_scores():
    rows = []
    for (source, target), model, (name, method), metric in product(
        permutations("AB", 2), MODELS, METHODS.items(), METRICS
    ):
        if model in method.models:
            about = {"source": source, "target": target, "model": model, "method": name, "metric": metric}
            value = 0.0 if name in ("source", "advised") and metric == "excess" else 0.05
            rows.append(about | {"value": value, "lower": value - 0.01 * (value > 0), "upper": value + 0.01})
    return pd.DataFrame(rows).assign(choice="", failure="")


def make_ratios():
    kept = np.array([0.5, 2.0, 1.1])
    recording = np.array([0.5, 0.4, 1.0])
    frame = pd.DataFrame({"flag": ["pH_low", "HR_high", "Hct_low"], "kept": kept, "recording": recording})
    frame = frame.assign(lower=kept * 0.95, upper=kept * 1.05, population=kept / recording, covered=kept == recording)
    return pd.concat([frame.assign(source="A", target="B"), frame.assign(source="B", target="A")])


@pytest.fixture(scope="module")
def frames():
    masks = make_masks()
    return masks, gap_closed(masks, replicates=50), make_scores(), make_ratios()


@pytest.fixture(scope="module")
def figures(frames):
    masks, shares, scores, ratios = frames
    drawn = gap_figure(masks, shares), excess_figure(scores), recording_figure(ratios)
    for figure in drawn:
        figure.draw_without_rendering()
        plt.close(figure)
    return drawn


def test_findings_judge_bars_harm_and_analogues(frames):
    _, shares, scores, ratios = frames
    found = sepsis_findings(scores, shares, ratios).set_index("question")
    verdict = found["verdict"]
    by = {
        key: verdict[[q for q in verdict.index if key in q]]
        for key in ("the target loses: share", "source loses: share")
    }
    # 3/4 of the gap: too little where the target loses, enough where the source does.
    assert set(by["the target loses: share"]) == {"fails"} and set(by["source loses: share"]) == {"holds"}
    harm = found[found.index.str.contains("in the worst split")]
    assert harm["verdict"].tolist() == ["holds", "holds", "fails", "holds"]
    assert harm["measured"].tolist() == pytest.approx([-0.5, -0.5, 0.65, 0.01 / 0.6])
    assert "patients of B" in harm.index[2]
    assert set(verdict[verdict.index.str.contains("target_risk chooses, minus that of source")]) == {"holds"}
    assert set(verdict[verdict.index.str.contains("closed form hurts")]) == {"supported"}
    assert set(verdict[verdict.index.str.contains("source ranks best")]) == {"not supported"}
    both = found[found.index.str.contains("both directions")]
    assert both["measured"].tolist() == pytest.approx([2 / 3, 1 / 3])


def test_an_interval_around_zero_decides_nothing(frames):
    _, shares, scores, ratios = frames
    unclear = scores.assign(lower=scores["value"] - 0.1)
    found = sepsis_findings(unclear, shares, ratios)
    natural = found[found["question"].str.contains("A to B") & (found["kind"] == "analogue")]
    assert set(natural["verdict"]) == {"undecided"}


def test_tables_name_what_a_method_needs_and_mark_the_best(frames):
    _, shares, scores, _ = frames
    text = mask_table(shares).to_markdown()
    assert "Transplanted patterns, labels Xβ" in text and "Simulated, same rates, sepsis" in text
    assert text.count("| Oracle (target labels) | *0.220* | *0.220* | *0.220* | *0.220* |") == 4
    assert "**0.330**" in text
    text = performance_table(scores).to_markdown()
    assert "Oracle (target labels)" in text and "Mean imputation (known losses)" in text
    assert "A to B, boosted" in text and "0.050 (0.040, 0.060)" in text


def test_a_failure_is_a_note(frames):
    *_, scores, _ = frames
    failed = scores["method"].eq("two_way") & scores["model"].eq("linear") & scores["source"].eq("A")
    broken = scores.assign(
        failure=np.where(failed, "no rows", ""),
        value=scores["value"].where(~failed),
        lower=scores["lower"].where(~failed),
    )
    table = performance_table(broken)
    assert table.notes == ["No score for two_way, linear, A to B: no rows"]
    assert "| Two-way | – | – | – | – |" in table.to_markdown()


def test_figures_show_every_method(figures):
    titles = [METHODS[name].title for name in MASK_METHODS[2:-1]]
    wanted = titles, ["Two-way", "Oracle\n(target labels)"], ["0.5", "1", "2"]
    for figure, names in zip(figures, wanted, strict=True):
        labels = {text.get_text() for panel in figure.axes for text in [*panel.get_yticklabels(), *panel.texts]}
        assert set(names) <= labels


def overlapping(texts):
    """Neighbours among texts, from left to right or from top to bottom, whose boxes overlap."""
    boxes = [(text.get_text(), text.get_window_extent()) for text in texts if text.get_text()]
    return [(a, b) for (a, first), (b, second) in pairwise(boxes) if first.overlaps(second)]


def test_no_title_is_cut_and_no_labels_overlap(figures):
    for figure in figures[:2]:
        for panel in figure.axes:
            title = panel._left_title.get_window_extent()
            assert title.x1 <= figure.bbox.x1, panel.get_title(loc="left")
            assert overlapping(panel.get_yticklabels()) == overlapping(panel.get_xticklabels()) == []


def test_an_excess_beyond_the_scale_is_marked_at_the_edge(frames):
    *_, scores, _ = frames
    far = scores.copy()
    far.loc[(far["metric"] == "excess") & (far["method"] == "two_way"), "value"] = 0.4
    figure = excess_figure(far)
    assert "▸" in {text.get_text() for panel in figure.axes for text in panel.texts}
    plt.close(figure)


def test_a_run_of_hospitals_alone_has_a_page_without_the_papers_claims(tmp_path, frames):
    _, shares, scores, ratios = frames
    note_start(tmp_path, CONFIG.model_dump(mode="json"))
    (tmp_path / "sepsis").mkdir()
    sepsis_findings(scores, shares, ratios).to_csv(tmp_path / "sepsis/findings.csv", index=False)
    pd.DataFrame({"hospital": ["A", "B"], "patients": [2, 2]}).to_csv(tmp_path / "sepsis/cohort.csv", index=False)
    page = page_of(RunFolder(tmp_path), [])
    assert "Two hospitals" in page and "What a hospital should do" in page and "Challenge 2019" in page
    assert 'id="claims"' not in page and 'id="differences"' not in page and "Errata" not in page
    assert "no scores" not in page and 'href="#summary"' not in page


def test_a_run_of_hospitals_alone_makes_nothing_of_the_papers():
    rules = {made.product.rule for made in products_of(CONFIG)}
    assert rules == {"mask_sepsis", "run_sepsis", "report_sepsis", "write_provenance", "write_report"}
