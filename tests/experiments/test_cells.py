"""A cell: rows split 4:1:4:1, labels from clean covariates, one corruption for all, nothing that leaks."""

import numpy as np
import pandas as pd
import pytest

from dams.experiments import cells
from dams.experiments.cells import build_cell, clean_table, sample_scenario, split_rows
from dams.experiments.design import CellKey, Label
from dams.rates import FreeRates, NestedRates, OpposingRates

STRUCTURAL, LINEAR = Label("structural"), Label("random_linear")


def scenario(draw=0, epsilon=0.1, rows=1000, labels=(STRUCTURAL, LINEAR), seed=1):
    key = CellKey("redundant", "opposing", epsilon, OpposingRates(epsilon), draw)
    return build_cell(key, labels, sample_scenario(key, labels, seed=seed, rows=rows), seed=seed)


@pytest.fixture
def table():
    """Covariates without zeros in which every entry is unlike any other, so that rows can be recognised."""
    return pd.DataFrame(1 + np.arange(600.0).reshape(200, 3), columns=["a", "b", "c"])


def real(table, draw=0, regime="free", sampler=None, labels=(LINEAR,), seed=1):
    key = CellKey("digits", regime, None, sampler or FreeRates(), draw)
    return build_cell(key, labels, clean_table(table, "digits", labels, seed=seed), seed=seed)


@pytest.mark.parametrize("n", [10, 13, 1000, 1797])
def test_rows_are_split_four_one_four_one_and_used_once(n):
    parts = split_rows(n, np.random.default_rng(0))
    np.testing.assert_allclose([len(part) / n for part in parts], [0.4, 0.1, 0.4, 0.1], atol=1 / n)
    assert sorted(np.concatenate(parts)) == list(range(n))
    assert (parts[0] != np.sort(parts[0])).any()


def test_no_row_is_in_two_samples(table):
    cell = real(table, sampler=NestedRates(0, 0))
    rows = [set(part.X[:, 0]) for part in (cell.source_train, cell.target_train, cell.target_test)]
    assert [len(part) for part in rows] == [80, 80, 20]
    assert len(set.union(*rows)) == 180


def test_labels_come_from_clean_covariates(table):
    cell = real(table, sampler=FreeRates(0.8))
    lost, clean = real(table, sampler=FreeRates(0.8)), real(table, sampler=NestedRates(0, 0))
    np.testing.assert_array_equal(lost.source_train.Y, clean.source_train.Y)
    beta = np.linalg.lstsq(clean.source_train.X, clean.source_train.Y[:, 0], rcond=None)[0]
    np.testing.assert_allclose(clean.target_test.X @ beta, cell.target_test.Y[:, 0])
    assert (cell.target_test.X == 0).any()


def test_every_beta_shares_the_corruption(table):
    one, three = real(table), real(table, labels=tuple(Label("random_linear", b) for b in range(3)))
    for part in ("source_train", "target_train", "target_test"):
        np.testing.assert_array_equal(getattr(one, part).X, getattr(three, part).X)
        np.testing.assert_allclose(getattr(one, part).Y[:, 0], getattr(three, part).Y[:, 0])
        assert getattr(three, part).Y.shape[1] == 3
        assert len(np.unique(getattr(three, part).Y[0])) == 3


def test_real_data_meet_the_same_beta_in_every_draw_and_regime(table):
    """Draws and β are crossed, which is what the crossed bootstrap takes them for."""
    sampler = NestedRates(0, 0)
    betas = [
        np.linalg.lstsq(cell.source_train.X, cell.source_train.Y[:, 0], rcond=None)[0]
        for cell in (real(table, draw=0, sampler=sampler), real(table, draw=7, regime="nested", sampler=sampler))
    ]
    np.testing.assert_allclose(betas[0] @ [1, 2, 3], betas[1] @ [1, 2, 3])
    np.testing.assert_allclose(table.to_numpy() @ betas[0], table.to_numpy() @ betas[1])


def test_betas_are_uniform_between_zero_and_ten():
    table = pd.DataFrame(np.eye(2000))
    cell = real(table, sampler=NestedRates(0, 0))
    # With the identity as covariates a label is its coefficient.
    betas = np.concatenate([part.Y[:, 0] for part in (cell.source_train, cell.target_train, cell.target_test)])
    np.testing.assert_allclose(np.quantile(betas, [0, 0.25, 0.5, 0.75, 1]), [0, 2.5, 5, 7.5, 10], atol=0.5)


def test_a_scenario_draws_beta_anew_with_its_sample():
    slopes = set()
    for draw in range(3):
        Y = scenario(draw).target_train.Y[:, 1]
        slopes.add(round(float(Y.max()), 6))
        assert len(np.unique(Y.round(9))) == 2
    assert len(slopes) == 3


def test_a_scenario_has_the_labels_of_its_equations():
    cell = scenario(rows=50_000)
    structural = cell.target_train.Y[:, 0]
    assert structural.var() == pytest.approx(1.25, abs=0.05)


def test_rates_are_those_of_the_regime():
    cell = scenario(rows=50_000, epsilon=0.1)
    present = np.array(
        [(part.X != 0).mean(axis=0) for part in (cell.source_train, cell.target_train, cell.target_test)]
    )
    np.testing.assert_allclose(present, [[0.05, 0.45], [0.45, 0.05], [0.45, 0.05]], atol=0.02)
    assert cell.rate_distance == pytest.approx(0.8 * np.sqrt(2))


def test_train_and_test_masks_are_independent():
    """Target train and test are corrupted at the same rates by different draws."""
    cell = real(pd.DataFrame(np.ones((1000, 2))), sampler=OpposingRates(0.5))
    train, test = cell.target_train.X[:100], cell.target_test.X
    assert 0.3 < (train == test).mean() < 0.7


@pytest.mark.parametrize("change", [{"draw": 1}, {"seed": 2}])
def test_draws_and_seeds_differ_and_repeat(table, change):
    first, same, other = real(table), real(table), real(table, **change)
    np.testing.assert_array_equal(first.source_train.X, same.source_train.X)
    assert not np.array_equal(first.source_train.X, other.source_train.X)
    assert first.rate_distance != other.rate_distance


def test_epsilons_have_streams_of_their_own():
    assert not np.array_equal(scenario(epsilon=0.1).target_train.Y, scenario(epsilon=0.2).target_train.Y)


def test_columns_the_source_never_shows_are_dropped_and_named(monkeypatch, table):
    def lose_b(X, rates, rng, *, overwrite):
        corrupted = X.copy()
        if len(X) == 80 and not lost:
            corrupted[:, 1] = 0
            lost.append(True)
        return corrupted

    lost = []
    monkeypatch.setattr(cells, "delete_at_random", lose_b)
    cell = real(table)
    assert cell.dropped == ("b",)
    assert [part.X.shape[1] for part in (cell.source_train, cell.target_train, cell.target_test)] == [2, 2, 2]
    assert set(cell.target_test.X[:, 1]) <= set(table["c"])


def test_what_methods_share_is_computed_from_the_training_rows_and_the_test_labels():
    cell = scenario()
    source, target = cell.source_train.X, cell.target_train.X
    expected = 1 - (target != 0).mean(axis=0) / (source != 0).mean(axis=0)
    np.testing.assert_allclose(cell.relative_missingness.r, expected)
    np.testing.assert_allclose(cell.var_y, np.var(cell.target_test.Y, axis=0))


def test_as_published_one_sample_one_split_and_one_beta_serve_all_draws():
    """Only what is lost changes with the draw (erratum E20)."""
    labels = (Label("random_linear"), Label("random_linear", 1))
    keys = [CellKey("confounded", "opposing", 0.1, OpposingRates(0.1), draw, "as_published") for draw in range(2)]
    samples = [sample_scenario(key, labels, seed=3, rows=500) for key in keys]
    np.testing.assert_array_equal(samples[0].X, samples[1].X)
    np.testing.assert_array_equal(samples[0].Y, samples[1].Y)
    assert not np.allclose(samples[0].Y[:, 0], samples[0].Y[:, 1])
    first, second = (build_cell(key, labels, sample, seed=3) for key, sample in zip(keys, samples, strict=True))
    np.testing.assert_array_equal(first.target_test.Y, second.target_test.Y)
    assert (first.target_test.X != second.target_test.X).any()
    redrawn = sample_scenario(CellKey("confounded", "opposing", 0.1, OpposingRates(0.1), 0), labels, seed=3, rows=500)
    assert not np.array_equal(redrawn.X, samples[0].X)
