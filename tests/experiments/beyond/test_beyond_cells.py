"""Every mechanism does what its name says, to the columns and rows that it says, and the digits follow from names."""

import numpy as np
import pandas as pd
import pytest

from dams.experiments.beyond.cells import HIGHEST, PANEL, TEST_ROWS, Population, shift_cell
from dams.experiments.beyond.names import MECHANISMS, strengths_of

ROWS = 4_000
D = 11


@pytest.fixture(scope="module")
def population():
    """Correlated values that are never zero: what is zero was lost. The last three columns are 0/1, and so may be."""
    rng = np.random.default_rng(0)
    values = 5 + rng.normal(size=(3_000, D)) + rng.normal(size=(3_000, 1))
    values[:, 8:] = values[:, 8:] > 5
    return Population.of_table(pd.DataFrame(values, columns=["age", *(f"x{j}" for j in range(1, D))]))


def cell_of(population, mechanism, strength=1.0, draw=0):
    return shift_cell(population, mechanism, strength, dataset="made", draw=draw, rows=ROWS, seed=1)


def kept(rows):
    """Which values of the columns that are never truly zero were kept."""
    return rows.X[:, 1:8] != 0


def test_sizes_and_what_is_never_lost(population):
    for mechanism in MECHANISMS:
        cell = cell_of(population, mechanism)
        parts = (cell.source, cell.held_out, cell.target, cell.test)
        assert [len(part.y) for part in parts] == [ROWS, ROWS, ROWS, TEST_ROWS * ROWS]
        assert all((part.X[:, 0] != 0).all() for part in parts), mechanism
        assert cell.anchors == cell.always == [0]


def test_rates_differ_by_as_much_as_the_strength_says(population):
    def rates(mechanism, strength):
        cell = cell_of(population, mechanism, strength)
        return tuple(1 - kept(part).mean(axis=0) for part in (cell.source, cell.target))

    source, target = rates("none", 0.0)
    np.testing.assert_allclose(source, target, atol=0.04)
    assert source.min() > 0 and source.max() < HIGHEST + 0.04
    (_, half), (full_source, full) = rates("ucar", 0.5), rates("ucar", 1.0)
    np.testing.assert_allclose(full_source, source, atol=0.04)
    np.testing.assert_allclose(half, (full + full_source) / 2, atol=0.04)
    assert np.abs(full - full_source).max() > 0.2
    # The other mechanisms come on top of these rates.
    np.testing.assert_allclose(rates("concept", 1.0)[1], full, atol=0.04)


def slope(rows, by):
    """Mean correlation between what is kept and something of the row."""
    return np.mean([np.corrcoef(column, by)[0, 1] for column in kept(rows).T])


def test_loss_depends_on_what_the_mechanism_names_with_opposite_signs(population):
    for mechanism, by in (("age", lambda rows: rows.X[:, 0]), ("outcome", lambda rows: rows.y)):
        cell = cell_of(population, mechanism)
        assert slope(cell.source, by(cell.source)) > 0.15, mechanism
        assert slope(cell.target, by(cell.target)) < -0.15, mechanism
        calm = cell_of(population, "ucar")
        assert abs(slope(calm.target, by(calm.target))) < 0.1, mechanism


def test_loss_by_own_value_keeps_the_high_ones_in_the_source(population):
    cell = cell_of(population, "value")
    means = [
        np.mean([column[column != 0].mean() for column in part.X[:, 1:8].T]) for part in (cell.source, cell.target)
    ]
    assert means[0] > 5.1 > 4.9 > means[1]
    # Of 0/1 columns the row decides: those that hold much are recorded in the source.
    assert population.own[:, 9] == pytest.approx(population.own[:, 10])
    assert np.abs(population.own).max() <= 2.5


def test_panels_are_lost_as_one(population):
    cell, calm = cell_of(population, "panels"), cell_of(population, "ucar")
    together = kept(cell.target)
    first = PANEL - 1  # the columns after age in the first panel
    assert (together[:, :first].all(axis=1) | ~together[:, :first].any(axis=1)).all()
    assert np.corrcoef(together[:, 0], together[:, first])[0, 1] == pytest.approx(0, abs=0.06)
    assert not (kept(calm.target)[:, :first].all(axis=1) | ~kept(calm.target)[:, :first].any(axis=1)).all()


def test_populations_and_labels_differ_where_they_should(population):
    older, riskier, other = (cell_of(population, name) for name in ("population", "label", "concept"))
    calm = cell_of(population, "ucar")
    spread = population.X[:, 0].std()
    assert older.target.X[:, 0].mean() - older.source.X[:, 0].mean() > 0.6 * spread
    assert riskier.target.y.mean() - riskier.source.y.mean() > 0.6 * riskier.source.y.std()
    assert abs(calm.target.X[:, 0].mean() - calm.source.X[:, 0].mean()) < 0.1 * spread
    np.testing.assert_allclose(other.source.y.mean(), calm.source.y.mean(), rtol=0.03)
    assert abs(other.target.y.mean() - calm.target.y.mean()) > 0.05 * calm.target.y.mean()


def test_digits_follow_from_names(population):
    first, again = (cell_of(population, "age", 0.5, draw=3) for _ in range(2))
    np.testing.assert_array_equal(first.target.X, again.target.X)
    for other in (cell_of(population, "age", 1.0, draw=3), cell_of(population, "age", 0.5, draw=4)):
        assert not np.array_equal(first.source.y, other.source.y)
    assert strengths_of("none", [0.5, 1.0]) == [0.0]
    assert strengths_of("ucar", [0.5, 1.0]) == [0.5, 1.0]


def test_stays_of_intensive_care_have_their_age_in_bins():
    stays = Population.of_eicu(seed=1, stays=400)
    bins = stays.X[:, stays.anchors].sum(axis=1)
    assert set(bins) <= {0, 1} and bins.mean() > 0.95
    assert stays.age[bins == 0] == pytest.approx(stays.age[bins == 1].mean(), abs=0.05)
    assert set(stays.anchors) < set(stays.always)
    assert stays.age.std() == pytest.approx(1)
    cell = shift_cell(stays, "ucar", 1.0, dataset="eicu", draw=0, rows=200, seed=1)
    assert cell.target.X[:, stays.anchors].sum(axis=1).mean() > 0.95
