"""Figures of the theory: simulated points lie on the closed forms, axes are named, equal seeds give equal files."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.figure import Figure

from dams.experiments.products import MANIFEST
from dams.report.figures import save_figure
from dams.report.outputs import theory

FIGURES = {name: getattr(theory, name) for name, product in MANIFEST.items() if product.rule == "draw_theory"}


@pytest.fixture(scope="module")
def figures():
    drawn = {name: draw(0) for name, draw in FIGURES.items()}
    yield drawn
    for figure in drawn.values():
        plt.close(figure)


@pytest.mark.parametrize("name", FIGURES)
def test_axes_are_named_and_lines_told_apart(figures, name):
    assert isinstance(figures[name], Figure)
    for panel in figures[name].axes:
        assert panel.get_xlabel()
        assert panel.get_ylabel()
        curves = [line for line in panel.get_lines() if not line.get_label().startswith("_")]
        assert len(curves) >= 2
        for look in (lambda line: line.get_color(), lambda line: str(line.get_linestyle())):
            assert len(set(map(look, curves))) == len(curves)


@pytest.mark.parametrize("name", ["redundant_risk", "confounded_risk", "regularisation_paths"])
def test_simulated_points_lie_on_the_curves(figures, name):
    for panel in figures[name].axes:
        lines = panel.get_lines()
        for curve in (line for line in lines if not line.get_label().startswith("_")):
            points = next(
                line for line in lines if line.get_linestyle() == "None" and line.get_color() == curve.get_color()
            )
            expected = np.interp(points.get_xdata(), *curve.get_data())
            np.testing.assert_allclose(points.get_ydata(), expected, rtol=0.05, atol=0.03)


def test_distance_is_zero_where_the_filter_is_proper_and_falls_towards_it(figures):
    for line in figures["improper_filter"].axes[0].get_lines()[:3]:
        r, distance = line.get_data()
        assert (distance[r >= 0] == 0).all()
        assert (np.diff(distance[r < 0]) < 0).all()


def test_same_seed_same_file(tmp_path):
    for folder in ("once", "again"):
        save_figure(FIGURES["regularisation_paths"](3), tmp_path / folder / "figure")
    for suffix in ("svg", "pdf", "png"):
        once, again = ((tmp_path / folder / f"figure.{suffix}").read_bytes() for folder in ("once", "again"))
        assert once == again
