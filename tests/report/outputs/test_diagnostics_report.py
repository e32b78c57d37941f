"""Figures of the diagnostics draw what they are given, and nothing where there is nothing to draw."""

import numpy as np
import pandas as pd

from dams.report.outputs.diagnostics import hospital_checks_figure, marks_of, relative_missingness_figure


def features(**changes):
    frame = pd.DataFrame({"dataset": "digits", "regime": "free", "r": [0.5, -1.0], "true_r": [0.4, -0.9]})
    return frame.assign(lower=frame["r"] - 0.2, upper=frame["r"] + 0.2).assign(**changes)


def marks(panel):
    return np.concatenate([np.column_stack(line.get_data()) for line in panel.lines if line.get_marker() in "o^v"])


def test_every_feature_is_a_mark_at_estimate_and_truth():
    figure = relative_missingness_figure(pd.concat([features(), features(dataset="adult", regime="nested")]))
    digits, adult = figure.axes[:2]
    np.testing.assert_allclose(marks(digits), [[0.6, 0.5], [1.9, 2.0]])
    np.testing.assert_allclose(marks(adult), marks(digits))
    assert [panel.get_title(loc="left") for panel in (digits, adult)] == ["(a) Digits", "(b) Adult"]
    bars = np.concatenate([c.get_segments() for c in digits.collections if len(c.get_segments())])
    np.testing.assert_allclose(np.sort(bars[0][:, 1]), [0.3, 0.7])
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["free", "nested"]


def test_no_two_of_many_regimes_look_alike():
    names = [f"a_long_name_of_regime_{k}" for k in range(40)]
    looks = marks_of(names)
    assert len(set(looks.values())) == len(names)
    # Without colours, too, where there are not too many.
    assert len({looks[name][1] for name in names[:11]}) == 11
    figure = relative_missingness_figure(pd.concat([features(regime=name) for name in names[:9]]))
    drawn = {line.get_label(): (line.get_color(), line.get_marker()) for line in figure.axes[0].lines}
    assert {name: drawn[name] for name in names[:9]} == {name: looks[name] for name in names[:9]}


def test_a_feature_that_the_target_never_shows_is_left_out():
    figure = relative_missingness_figure(features(r=[1.0, -1.0], upper=[1.0, -0.8]))
    np.testing.assert_allclose(marks(figure.axes[0]), [[1.9, 2.0]])


def test_a_line_a_cohort_beside_chance():
    spread = pd.DataFrame({"cohort": ["a", "a", "b", "b"], "level": [0.0, 1.0] * 2, "share": [1.0, 0.5, 1.0, 0.0]})
    lines = {line.get_label(): line for line in hospital_checks_figure(spread).axes[0].lines}
    assert list(lines) == ["chance alone", "a", "b"]
    np.testing.assert_allclose(lines["a"].get_ydata(), [1.0, 0.5])
    # A share of zero has no place on a logarithmic axis.
    np.testing.assert_allclose(lines["b"].get_xdata(), [0.0])
    chance = np.column_stack(lines["chance alone"].get_data())
    np.testing.assert_allclose(chance[np.isclose(chance[:, 0], 2.0)], [[2.0, 0.0455]], atol=1e-4)
