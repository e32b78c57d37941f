"""Pictures and tables of the library's own results: what they show, and that they ask for nothing beforehand."""

import subprocess
import sys
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression

from dams import (
    check_sensitivity,
    check_ucar,
    compare_target_risk,
    estimate_relative_missingness,
    infer_closed_form,
)
from dams.relative import from_counts

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402


@pytest.fixture(autouse=True)
def close():
    yield
    plt.close("all")


@pytest.fixture
def relative():
    names = ["dose", "ward", "age", "sex", "gone", "rare <b>"]
    counts = np.array([500, 500, 500, 500, 500, 2]), np.array([100, 300, 505, 700, 0, 500])
    recorded = np.arange(6) == 3
    with pytest.warns(UserWarning, match="only zeros in column 'gone'"):
        return from_counts(*counts, 1000, 1000, feature_names=names, always_recorded=recorded)


@pytest.fixture
def report():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(4000, 3)) + rng.normal(size=(4000, 1)), columns=["a", "b", "c"])
    X *= rng.random(X.shape) < 0.8
    X.loc[(X.index >= 2000) & (X["a"] > 0.5), "c"] = 0
    return check_ucar(X[:2000], X[2000:], random_state=0)


def labels(axes):
    return [label.get_text() for label in axes.get_yticklabels()][::-1]


def test_features_come_furthest_from_zero_first(relative):
    axes = relative.plot()
    assert labels(axes)[::-1] == ["rare <b>", "gone", "dose", "ward", "age", "sex"]
    assert axes.get_yticks()[0] > axes.get_yticks()[-1]
    legend = {text.get_text() for text in axes.figure.legends[0].get_texts()}
    assert legend == {"the target loses more", "the target loses less", "no clear difference", "always recorded"}
    assert len(labels(relative.plot(most=2))) == 2
    assert "4 nearer to zero not shown" in relative.plot(most=2).get_title(loc="left")


def test_what_lies_beyond_the_axis_is_marked_there(relative):
    axes = relative.plot()
    arrows = [line.get_marker() for line in axes.lines if line.get_marker() in "<>" and len(line.get_xdata())]
    # r = −249 and r = 1.
    assert sorted(arrows) == ["<", ">"]
    axes.figure.draw_without_rendering()
    assert all(np.isfinite(collection.get_paths()[0].vertices).all() for collection in axes.collections)


def test_checks_come_furthest_off_first(report):
    axes = report.plot()
    assert report.rejected
    assert set(labels(axes)[-1].split(" & ")) == {"a (value)", "c"}
    assert "UCAR is rejected" in axes.get_title(loc="left")
    shown = [text.get_text() for text in axes.texts]
    assert shown[0] == f"× {report.checks['effect'].iloc[0]:.2f}"
    assert len(labels(report.plot(most=3))) == 3


def test_a_bound_that_is_kept_is_not_shown():
    rng = np.random.default_rng(0)
    X = (rng.random((4000, 6)) < 0.95).astype(float)
    X[:2000] *= rng.random((2000, 6)) < 0.9
    report = check_ucar(X[:2000], X[2000:], random_state=0)
    kept = report.checks.query("kind in ['bounds', 'absences'] and z < 0")
    assert 0 < len(kept) < len(report.checks)
    assert len(labels(report.plot(most=1000))) == len(report.checks) - len(kept)


def test_a_report_without_checks_has_a_picture():
    X = np.zeros((100, 2))
    X[0] = 1
    assert labels(check_ucar(X, X).plot()) == []


def test_axes_of_ones_own_are_used(relative, report):
    for result in (relative, report):
        _, axes = plt.subplots()
        assert result.plot(axes=axes) is axes
        assert not axes.figure.legends and axes.get_legend() is not None


def test_a_notebook_shows_the_sentence_and_a_table(relative, report):
    page = relative._repr_html_()
    assert "Of 6 features the target loses" in page and "<td>-249.000</td>" in page
    assert "rare &lt;b&gt;" in page and "<b>" not in page
    pd.testing.assert_frame_equal(report.to_frame(), report.checks)
    page = report._repr_html_()
    assert "UCAR is rejected" in page and "effect_lower" in page and f"of {len(report.checks)} checks" in page


def test_a_wide_table_is_cut_short_in_a_notebook():
    counts = np.arange(100, 150), np.full(50, 120)
    page = from_counts(*counts, 1000, 1000)._repr_html_()
    assert page.count("<tr>") == 1 + 20 and "The 20 furthest from zero of 50" in page


def test_without_matplotlib_a_sentence_says_so():
    script = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "import numpy as np\n"
        "from dams.relative import from_counts\n"
        "relative = from_counts(np.array([5]), np.array([3]), 10, 10)\n"
        "relative._repr_html_()\n"
        "try:\n"
        "    relative.plot()\n"
        "except ModuleNotFoundError as error:\n"
        "    print(error)\n"
    )
    answer = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "plot() needs matplotlib, which is not installed: `pip install matplotlib`" in answer.stdout


def test_thirty_features_fit(tmp_path):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.random((400, 35)) < 0.5, columns=[f"feature {j}" for j in range(35)]).astype(float)
    axes = estimate_relative_missingness(X[:200], X[200:]).plot()
    axes.figure.savefig(tmp_path / "r.png")
    boxes = [label.get_window_extent() for label in axes.get_yticklabels()]
    boxes = sorted(boxes, key=lambda box: box.y0)
    assert all(low.y1 <= high.y0 + 1 for low, high in pairwise(boxes))


def test_results_that_hold_tables_are_equal_by_content():
    """Arrays and tables alone have no single answer to whether they are equal."""

    def results(seed):
        rng = np.random.default_rng(seed)
        source, target = (rng.integers(0, 2, (600, 2)).astype(float) for _ in range(2))
        y = rng.normal(size=600)
        model = LinearRegression().fit(source, y)
        return (
            estimate_relative_missingness(source, target),
            check_ucar(source, target, n_bootstrap=40, random_state=0),
            infer_closed_form(source, y, target),
            compare_target_risk({"a": model}, source, y, target),
            check_sensitivity({"a": model}, source, y, target),
        )

    for one, again, other in zip(results(0), results(0), results(1), strict=True):
        assert one == again and one != other and one != "one"
