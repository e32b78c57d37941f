"""Several draws to train on: every engine averages predictions before it measures, and a single draw is a sample."""

import numpy as np
import pytest

from dams.experiments.cells import build_cell, sample_scenario
from dams.experiments.config import parse
from dams.experiments.design import CellKey, Label, blocks
from dams.experiments.methods import METHODS
from dams.experiments.models import MODELS, Draws, Sample, linear, mlp, xgboost
from dams.experiments.run import run_block
from dams.least_squares import least_squares
from dams.rates import OpposingRates

ENGINES = {"linear": linear.errors, "xgboost": xgboost.errors, "mlp": mlp.errors, "mlp, sklearn": mlp.errors_sklearn}
engines = pytest.mark.parametrize("engine", ENGINES.values(), ids=ENGINES)


def part(sample, rows):
    return Sample(sample.X[rows], sample.Y[rows])


@pytest.fixture
def draws(train):
    return Draws((part(train, slice(0, 100)), part(train, slice(100, 200)), part(train, slice(200, 300))))


def predictions(engine, sample, X, rng):
    if engine is linear.errors:
        fit = least_squares(sample.moments)
        return X @ fit.coef + fit.intercept
    if engine is xgboost.errors:
        return xgboost.predict(sample, X)
    if engine is mlp.errors:
        return mlp.fit(sample, rng).networks.predict(X)
    return np.column_stack([network.predict(X) for network in mlp.fit_sklearn(sample, rng)])


@engines
def test_predictions_are_averaged_before_the_error(engine, draws, held_out):
    found = engine(draws, held_out, np.random.default_rng(0))
    rng = np.random.default_rng(0)
    each = [predictions(engine, sample, held_out.X, rng) for sample in draws.draws]
    expected = np.mean((np.mean(each, axis=0) - held_out.Y) ** 2, axis=0)
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    alone = np.mean([np.mean((one - held_out.Y) ** 2, axis=0) for one in each], axis=0)
    assert (found < alone).all()


@engines
def test_one_draw_is_the_sample_itself_to_the_bit(engine, train, held_out):
    sample = part(train, slice(0, 100))
    np.testing.assert_array_equal(
        engine(Draws((sample,)), held_out, np.random.default_rng(0)), engine(sample, held_out, np.random.default_rng(0))
    )


def test_labels_are_selected_in_every_draw(draws):
    chosen = draws.select(np.array([True, False, True]))
    assert [sample.Y.shape for sample in chosen.draws] == [(100, 2)] * 3


def test_two_way_gives_three_draws_of_the_source_rows():
    key, labels = CellKey("redundant", "opposing", 0.1, OpposingRates(0.1), 0), (Label("structural"),)
    cell = build_cell(key, labels, sample_scenario(key, labels, seed=0, rows=2000), seed=0)
    train, test = METHODS["two_way"].prepare(cell, np.random.default_rng(0))
    assert test is cell.target_test and len(train.draws) == 3
    for sample in train.draws:
        assert sample.X.shape == cell.source_train.X.shape and sample.Y is cell.source_train.Y
        np.testing.assert_allclose((sample.X != 0).mean(axis=0), (cell.target_train.X != 0).mean(axis=0), atol=0.05)
    assert (train.draws[0].X != train.draws[1].X).any()


def test_a_run_with_draws_hears_no_warning(small, study):
    """Warnings are errors here, and an error would be a failed record."""
    study |= {
        "methods": ["two_way", "nonparametric", "imputed"],
        "models": {m: {"draws": 1} for m in MODELS},
        "rows": 400,
    }
    for block in blocks(parse(small)):
        records, _ = run_block(block, None)
        assert records["score"].notna().all() and records["failure"].isna().all()
