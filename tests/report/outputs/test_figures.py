"""Figures: three files, the same bytes every time, and lines that can be told apart."""

import itertools
import re

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgb

from dams.experiments.methods import METHODS, Method
from dams.experiments.products import OUTPUTS
from dams.report.figures import LINES, draw_dots, legend_below, line_of, new_figure, save_figure
from dams.report.outputs.error_against_distance import GRID, above_oracle
from dams.report.outputs.error_against_epsilon import EXACT
from dams.report.outputs.make import load_output
from dams.report.page.svg import inline_svg
from dams.report.summary import Bootstrap
from dams.theory.scenarios import exact_scores

QUICK = Bootstrap(replicates=50)


def draw(name, records):
    return load_output(name)(records, QUICK)


@pytest.fixture(autouse=True)
def no_figure_is_left_open():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def records_of(crossed_records, epsilon_records):
    return {"error_against_epsilon": epsilon_records, "error_against_distance": crossed_records}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("figures")


@pytest.fixture(scope="module")
def figures(records_of, folder):
    """The figures of whole records, drawn and saved once: that takes seconds."""
    drawn = {name: draw(name, records) for name, records in records_of.items()}
    for name, figure in drawn.items():
        save_figure(figure, folder / name)
    return drawn


@pytest.fixture(scope="module")
def pages(figures, folder):
    """The same as parts of a page."""
    texts = {name: (folder / f"{name}.svg").read_text(encoding="utf-8") for name in figures}
    return {name: inline_svg(text, prefix="p", label="") for name, text in texts.items()}


@pytest.mark.parametrize("name", ["error_against_epsilon", "error_against_distance"])
def test_drawn_twice_a_figure_is_three_equal_files(records_of, figures, folder, name, tmp_path):
    # What was drawn before must not show.
    plt.subplots()
    save_figure(draw(name, records_of[name]), tmp_path / name)
    for suffix in ("svg", "pdf", "png"):
        first, second = (place / f"{name}.{suffix}" for place in (folder, tmp_path))
        assert first.stat().st_size > 1000
        assert first.read_bytes() == second.read_bytes(), suffix


@pytest.mark.parametrize("name", ["error_against_epsilon", "error_against_distance"])
def test_axes_have_names_and_there_is_one_legend(figures, name):
    figure = figures[name]
    assert any("MSE / Var(Y)" in axes.get_ylabel() for axes in figure.axes)
    assert any(axes.get_xlabel() for axes in figure.axes)
    assert all(axes.get_title(loc="left") for axes in figure.axes if axes.get_subplotspec().is_first_row())
    (legend,) = figure.legends
    exact = [EXACT] * (name == "error_against_epsilon")
    assert [text.get_text() for text in legend.get_texts()] == ["Oracle", "Source", "Closed-form", *exact]


@pytest.mark.parametrize("name", ["error_against_epsilon", "error_against_distance"])
def test_no_dark_grey_is_left_for_a_dark_page(pages, name):
    assert "currentColor" in pages[name]
    assert not [grey for grey in re.findall(r"#([0-9a-f]{2})\1\1\b", pages[name]) if int(grey, 16) < 0x80]


@pytest.mark.parametrize("columns", [1, 3, 7])
def test_a_legend_is_no_wider_than_its_figure(columns):
    figure, axes = new_figure(1, 1, width=4, height=3)
    for k in range(columns):
        axes[0, 0].plot([0, 1], label=f"a method with a long name {k}")
    legend_below(figure, axes[0, 0], columns=columns)
    (legend,) = figure.legends
    assert legend.get_window_extent().width <= figure.bbox.width
    assert len(legend.get_texts()) == columns


def test_a_method_on_fewer_cells_is_compared_with_the_oracle_of_the_same_cells(crossed_records):
    """Cells differ more than methods do, so a line over other cells says nothing beside the others."""
    fewer = crossed_records[crossed_records["method"].ne("source") | crossed_records["draw"].eq(0)]
    errors, above = draw("error_against_distance", fewer).axes[:: len(crossed_records["dataset"].unique())][:2]
    source, closed_form = (to_rgb(LINES[name].color) for name in ("source", "closed_form"))
    in_errors, in_above = (
        {to_rgb(line.get_color()) for line in p.get_lines() if len(line.get_xdata())} for p in (errors, above)
    )
    assert source not in in_errors and closed_form in in_errors
    assert source in in_above
    found = above_oracle(fewer)
    row = found[found["method"] == "source"].iloc[0]
    key = {name: row[name] for name in ("dataset", "regime", "draw", "beta")}
    of_oracle = fewer[(fewer["method"] == "oracle") & np.all([fewer[k] == v for k, v in key.items()], axis=0)]
    source = fewer[(fewer["method"] == "source") & np.all([fewer[k] == v for k, v in key.items()], axis=0)]
    assert row["score"] == source["score"].item() - of_oracle["score"].item()


@pytest.mark.parametrize("differ", [{"labels": "structural"}, {"study": "two"}])
def test_points_are_compared_with_the_oracle_of_the_same_labels_and_study(make_records, differ):
    kinds = [({}, 0.1, 0.3), (differ, 0.5, 0.9)]
    records = make_records(
        {**kind, "dataset": "redundant", "method": method, "draw": draw, "score": score, "rate_distance": 1.0 + draw}
        for kind, oracle, source in kinds
        for method, score in (("oracle", oracle), ("source", source))
        for draw in range(3)
    )
    np.testing.assert_allclose(sorted(above_oracle(records)["score"]), [0.2] * 3 + [0.4] * 3)
    dots = [patch for patch in draw("error_against_distance", records).axes[0].patches if patch.get_alpha()]
    assert sorted(dots[1].get_path().vertices[::2, 1]) == [0.3] * 3 + [0.9] * 3


def test_a_panel_for_every_scenario_and_kind_of_label(figures):
    figure = figures["error_against_epsilon"]
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert len(set(titles)) == 4
    assert all(axes.get_xlim() == (0, 1) for axes in figure.axes)


def test_lines_show_the_means(figures, epsilon_records):
    figure = figures["error_against_epsilon"]
    shown = {line.get_label(): line for line in figure.axes[0].get_lines()}
    title = figure.axes[0].get_title(loc="left")
    labels = "structural" if "stated" in title else "random_linear"
    part = epsilon_records.query(f"dataset == 'redundant' and labels == '{labels}' and method == 'source'")
    np.testing.assert_allclose(shown["Source"].get_xdata(), [0.1, 0.5, 0.9])
    np.testing.assert_allclose(shown["Source"].get_ydata(), part.groupby("epsilon")["score"].mean())


def test_a_failed_fit_leaves_its_point_out(crossed_records):
    records = crossed_records.copy()
    records.loc[0, ["score", "failure"]] = [np.nan, "singular"]
    draw("error_against_distance", records)


def test_oracle_and_closed_form_are_both_seen_where_they_coincide():
    oracle, closed_form = LINES["oracle"], LINES["closed_form"]
    assert oracle.width > 2 * closed_form.width
    assert oracle.dash != closed_form.dash
    assert oracle.color != closed_form.color


def test_no_two_methods_look_alike():
    for first, second in itertools.combinations(METHODS, 2):
        one, other = line_of(first), line_of(second)
        assert one.color != other.color, (first, second)
        assert (one.dash, one.marker) != (other.dash, other.marker), (first, second)


def test_colours_differ_in_grey_or_lines_in_dash():
    def grey(line):
        return np.dot(to_rgb(line.color), [0.299, 0.587, 0.114])

    for (first, one), (second, other) in itertools.combinations(LINES.items(), 2):
        assert abs(grey(one) - grey(other)) > 0.05 or one.dash != other.dash, (first, second)


def test_methods_added_later_have_lines(monkeypatch):
    for name in ("new", "newer"):
        monkeypatch.setitem(METHODS, name, Method(name.title(), "-"))
    assert line_of("new") != line_of("newer")
    assert all(line_of(name) not in LINES.values() for name in ("new", "newer"))


def test_drawing_needs_no_display():
    assert mpl.get_backend().lower() == "agg"


@pytest.mark.parametrize("name", ["error_against_epsilon", "error_against_distance"])
def test_a_method_that_always_fails_somewhere_does_not_stop_the_figure(records_of, name, tmp_path):
    records = records_of[name].copy()
    failed = (records["dataset"] == records["dataset"].iloc[-1]) & (records["method"] == "closed_form")
    records.loc[failed, "score"] = np.nan
    records.loc[failed, "failure"] = "singular"
    save_figure(draw(name, records), [tmp_path / f"{name}.svg"])


@pytest.mark.parametrize("name", OUTPUTS)
@pytest.mark.parametrize("of", ["error_against_epsilon", "error_against_distance"])
@pytest.mark.filterwarnings("error")
def test_where_every_fit_failed_there_is_still_an_output(records_of, name, of, tmp_path):
    records = records_of[of].assign(score=np.nan, failure="singular", epsilon=lambda r: r["epsilon"].fillna(0.1))
    made = draw(name, records)
    if OUTPUTS[name].kind == "table":
        assert "—" in made.to_markdown() or not made.sections
        return
    save_figure(made, [tmp_path / f"{name}.svg"])
    panels = [axes for axes in made.axes if axes.get_title(loc="left")]
    assert len(panels) > 1
    assert all("every fit failed" in [text.get_text() for text in panel.texts] for panel in panels)
    assert [text.get_text() for text in made.legends[0].get_texts()] == ["Oracle", "Source", "Closed-form"]


def test_a_data_set_on_which_every_fit_failed_keeps_its_panel(crossed_records):
    records = crossed_records.copy()
    records.loc[records["dataset"] == "bank", "score"] = np.nan
    adult, bank = draw("error_against_distance", records).axes[:2]
    assert [panel.get_title(loc="left") for panel in (adult, bank)] == ["(a) Adult", "(b) Bank"]
    assert [text.get_text() for text in bank.texts] == ["every fit failed"]
    assert "every fit failed" not in [text.get_text() for text in adult.texts]


def test_without_an_oracle_a_method_on_fewer_cells_is_marked(crossed_records):
    """There is no panel below to show it in, and its line is one over other cells."""
    records = crossed_records[crossed_records["method"] != "oracle"]
    fewer = records[records["method"].ne("source") | records["draw"].lt(2)]
    for shown, label in ((records, "Source"), (fewer, "Source (fewer cells)")):
        figure = draw("error_against_distance", shown)
        assert [text.get_text() for text in figure.legends[0].get_texts()] == [label, "Closed-form"]
        drawn = {to_rgb(line.get_color()) for line in figure.axes[0].get_lines() if len(line.get_xdata())}
        assert to_rgb(LINES["source"].color) in drawn


def test_a_single_epsilon_shows_every_method_and_its_interval(epsilon_records):
    """A line of one point is nothing to see, and neither is its band."""
    panel = draw("error_against_epsilon", epsilon_records[epsilon_records["epsilon"] == 0.1]).axes[0]
    lines = [line for line in panel.get_lines() if line.get_label() in ("Oracle", "Source", "Closed-form")]
    assert len(lines) == 3 and all(line.get_marker() not in ("", "None") for line in lines)
    bars = [c.get_segments()[0] for c in panel.collections if isinstance(c, LineCollection)]
    assert len(bars) == 3 and all(bar[1, 1] > bar[0, 1] for bar in bars)


def test_a_method_on_fewer_cells_is_marked_over_epsilon_too(epsilon_records):
    fewer = epsilon_records[epsilon_records["method"].ne("source") | epsilon_records["draw"].eq(0)]
    labels = [text.get_text() for text in draw("error_against_epsilon", fewer).legends[0].get_texts()]
    assert labels == ["Oracle", "Source (fewer cells)", "Closed-form", EXACT]


def test_one_bad_fit_does_not_squeeze_the_rest_over_epsilon(figures, epsilon_records):
    records = epsilon_records.copy()
    panels = figures["error_against_epsilon"].axes
    assert not [text for panel in panels for text in panel.texts if "off the scale" in text.get_text()]
    bad = records[(records["dataset"] == "redundant") & (records["labels"] == "structural")].index[0]
    records.loc[bad, "score"] = 500.0
    panels = draw("error_against_epsilon", records).axes
    told = {
        p.get_title(loc="left"): [t.get_text() for t in p.texts if t.get_text().endswith("off the scale")]
        for p in panels
    }
    assert [notes for title, notes in told.items() if "Redundant" in title and "stated" in title] == [
        ["1 point off the scale"]
    ]
    assert sum(map(len, told.values())) == 1
    assert all(-1 < panel.get_ylim()[0] < 0.5 and 1 < panel.get_ylim()[1] < 2 for panel in panels)


def test_every_regime_has_panels_of_its_own(epsilon_records):
    """One line through two regimes would run back and forth between them."""
    part = epsilon_records[epsilon_records["labels"] == "random_linear"]
    only_redundant = part[part["dataset"] == "redundant"].assign(regime="small", score=lambda r: r["score"] + 1)
    figure = draw("error_against_epsilon", pd.concat([part, only_redundant]))
    panels = {axes.get_title(loc="left").splitlines()[0]: axes for axes in figure.axes if axes.axison}
    assert list(panels) == [
        "(a) Redundant features, opposing",
        "(b) Confounded features, opposing",
        "(c) Redundant features, small",
    ]
    for panel, level in zip(panels.values(), (0.5, 0.5, 1.5), strict=True):
        for line in panel.get_lines()[:3]:
            np.testing.assert_allclose(line.get_xdata(), [0.1, 0.5, 0.9])
            np.testing.assert_allclose(line.get_ydata(), level, atol=0.05)
    # Each can stand alone, as it does on a narrow page.
    assert all(panel.get_xlabel() and panel.get_ylabel() for panel in panels.values())


def test_a_legend_of_many_rows_does_not_squeeze_the_panels():
    def panel_height(count):
        figure, axes = new_figure(1, 1, width=4, height=3)
        for k in range(count):
            axes[0, 0].plot([0, 1], label=f"a method with a long name {k}")
        legend_below(figure, axes[0, 0], columns=count)
        figure.draw_without_rendering()
        return axes[0, 0].get_window_extent().height

    assert panel_height(12) == pytest.approx(panel_height(2), rel=0.02)


def test_every_regime_has_a_line_of_its_own(make_records):
    """A line through two regimes at other levels would rise though neither does (Simpson's paradox)."""
    rng = np.random.default_rng(0)
    records = make_records(
        {"regime": regime, "method": method, "draw": draw, "rate_distance": distance, "score": level + rise * distance}
        for regime, near, level in (("nested", 1.0, 0.8), ("free", 2.0, 1.9))
        for draw, distance in enumerate(near + rng.uniform(0, 0.5, 20))
        for method, rise in (("oracle", -0.3), ("source", -0.2))
    )
    panel = draw("error_against_distance", records).axes[0]
    lines = [line for line in panel.get_lines() if len(line.get_xdata()) == GRID]
    assert len(lines) == 4
    slopes = [
        np.ptp(line.get_ydata()) / np.ptp(line.get_xdata()) * np.sign(np.diff(line.get_ydata())[0]) for line in lines
    ]
    np.testing.assert_allclose(slopes, [-0.3, -0.3, -0.2, -0.2], atol=1e-6)
    assert {text.get_text() for text in panel.texts} >= {"mˢ ≤ mᵗ", "mˢ ? mᵗ"}


def test_exact_scores_are_drawn_under_the_sampled_ones(figures):
    panel = figures["error_against_epsilon"].axes[0]
    labels = "structural" if "stated" in panel.get_title(loc="left") else "random_linear"
    (line,) = [line for line in panel.get_lines() if line.get_label() == EXACT]
    assert line.get_ydata()[0] == pytest.approx(exact_scores("redundant", 0.1, labels)["oracle"])


def test_one_exploding_method_is_told_in_words(make_records):
    """Its line and band would cover the others'."""
    rng = np.random.default_rng(0)
    levels = {"oracle": 0.3, "source": 0.4, "closed_form_as_published": 0.35}
    rows = [
        {"method": method, "draw": draw, "rate_distance": 1 + draw / 200, "score": level + 0.01 * rng.normal()}
        for method, level in levels.items()
        for draw in range(200)
    ]
    rows[-1]["score"] = 5000.0
    panel = draw("error_against_distance", make_records(rows)).axes[0]
    assert any("off the scale" in text.get_text() for text in panel.texts)
    fitted = [line for line in panel.get_lines() if len(line.get_xdata()) == GRID]
    assert len(fitted) == 2 and panel.get_ylim()[1] < 1


def test_text_of_a_figure_stays_text(pages):
    """Outlines of letters can't be found or copied, nor take the typeface of a page."""
    page = pages["error_against_distance"]
    assert ">‖mˢ − mᵗ‖₂</text>" in page and ">(a) Adult</text>" in page
    assert "font-family" not in page and "DejaVu" not in page


def test_a_figure_of_panels_is_cut_along_them(figures, pages):
    figure, page = figures["error_against_distance"], pages["error_against_distance"]
    views = [tuple(map(float, view.split())) for view in re.findall('<svg aria-hidden="true" viewBox="([^"]+)"', page)]
    assert len(views) == len(figure.axes) + len(figure.legends[0].get_texts())
    assert page.count('<use href="#p-all"/>') == len(views) and 'id="p-all"' in page
    panels, (width, height) = views[: len(figure.axes)], 72 * figure.get_size_inches()
    for panel, (x, y, wide, high) in zip(figure.axes, panels, strict=True):
        box = panel.get_position()
        assert x < box.x0 * width < box.x1 * width <= x + wide
        assert y < (1 - box.y1) * height < (1 - box.y0) * height < y + high
    # Side by side without overlap, but for the margin around each.
    left, right = panels[:2]
    assert left[0] + left[2] <= right[0] + 4


def test_a_figure_of_one_panel_is_left_whole(tmp_path):
    figure, axes = new_figure(1, 1, width=3, height=2)
    axes[0, 0].plot([0, 1])
    save_figure(figure, [tmp_path / "f.svg"])
    page = inline_svg((tmp_path / "f.svg").read_text(encoding="utf-8"), prefix="p", label="")
    assert page.count("<svg") == 1 and "panels" not in page


def test_dots_are_one_shape_and_lines_stay_lines(tmp_path):
    figure, axes = new_figure(1, 1, width=3, height=2)
    draw_dots(axes[0, 0], np.arange(50) / 50, np.arange(50) / 50, color="#0072b2", size=2, alpha=0.5)
    axes[0, 0].hlines([0.5], 0, 1)
    save_figure(figure, [tmp_path / "f.svg", tmp_path / "f.png"])
    page = inline_svg((tmp_path / "f.svg").read_text(encoding="utf-8"), prefix="p", label="")
    (dots,) = [path for path in re.findall(' d="([^"]+)"', page) if "h0" in path]
    assert dots.count("h0") == 50
    (line,) = re.findall(r' d="M([\d.]+) ([\d.]+) ([\d.]+) \2" clip-path="[^"]*" style="fill:none;stroke:#1f77b4', page)
    assert float(line[2]) - float(line[0]) > 100


def test_every_dot_is_drawn_in_pixels_too():
    figure, axes = new_figure(1, 1, width=3, height=2)
    x, y = np.random.default_rng(0).random((2, 200))
    draw_dots(axes[0, 0], x, y, color="#000000", size=2.2, alpha=1)
    axes[0, 0].set(xlim=(-0.1, 1.1), ylim=(-0.1, 1.1))
    figure.canvas.draw()
    pixels = np.asarray(figure.canvas.buffer_rgba())[..., 0]
    column, row = np.round(axes[0, 0].transData.transform(np.column_stack([x, y]))).astype(int).T
    around = [pixels[-1 - row + dy, column + dx] for dy in (-1, 0, 1) for dx in (-1, 0, 1)]
    assert (np.min(around, axis=0) < 160).all()
