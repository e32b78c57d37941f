import os
import warnings

import numpy as np
import pytest
from scipy import stats
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPRegressor
from sklearn.utils import shuffle

from dams.datasets import load_uci
from dams.experiments.cells import build_cell, clean_table, sample_scenario
from dams.experiments.design import CellKey, Label
from dams.experiments.models import Draws, Sample, mlp
from dams.experiments.models.batched_mlp import DEFAULTS, Settings, Stopping, row_orders, train_networks
from dams.experiments.models.networks import CHUNK, Networks
from dams.rates import NestedRates, OpposingRates

H = DEFAULTS.hidden_units


def make_sample(n, d, k, *, seed=0, noise=0.5):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.6)
    return Sample(X, X @ rng.uniform(0, 10, (d, k)) + noise * rng.normal(size=(n, k)))


def fit_reference(X, y, seed, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return MLPRegressor(random_state=seed, **options).fit(X, y)


def draws_of_sklearn(seed, n, d, dtype=np.float64):
    """Initial parameters and row orders that `MLPRegressor(random_state=seed)` draws."""
    rng = np.random.RandomState(seed)
    inner, outer = np.sqrt(6 / (d + H)), np.sqrt(6 / (H + 1))
    W, b = rng.uniform(-inner, inner, (d, H)), rng.uniform(-inner, inner, H)
    v, c = rng.uniform(-outer, outer, H), rng.uniform(-outer, outer, 1)

    def orders():
        order = np.arange(n)
        while True:
            order = shuffle(order, random_state=rng)
            yield order

    return Networks(np.concatenate([v, W.ravel(), b, c])[None].astype(dtype), H), orders()


def train_like_sklearn(X, y, seed, settings=DEFAULTS, dtype=np.float64):
    start, orders = draws_of_sklearn(seed, *X.shape, dtype)
    return train_networks([Sample(X, y[:, None])], start, [orders], settings)


def assert_same_network(training, reference, rtol):
    W, v = reference.coefs_
    b, c = reference.intercepts_
    expected = np.concatenate([v.ravel(), W.ravel(), b, c])
    np.testing.assert_allclose(training.networks.flat[0], expected, rtol=rtol, atol=rtol)
    np.testing.assert_allclose(training.loss[0], reference.loss_, rtol=max(rtol, 1e-9))
    assert training.epochs[0] == reference.n_iter_


def test_settings_are_the_defaults_of_sklearn():
    library = MLPRegressor().get_params()
    ours = dict(vars(DEFAULTS))
    assert library["hidden_layer_sizes"] == (ours.pop("hidden_units"),)
    assert library["batch_size"] == "auto" and ours.pop("batch_size") == 200
    assert ours == {name: library[name] for name in ours}


@pytest.mark.parametrize(
    ("n", "d", "epochs"),
    [(200, 4, 1), (450, 4, 1), (450, 4, 30), (37, 2, 30), (1, 3, 5), (201, 1, 30)],
    ids=["one step", "three steps, the last partial", "many", "fewer rows than a batch", "one row", "batch of one row"],
)
def test_follows_sklearn_from_the_same_start(n, d, epochs):
    sample = make_sample(n, d, 1)
    training = train_like_sklearn(sample.X, sample.Y[:, 0], 3, Settings(max_iter=epochs))
    assert_same_network(training, fit_reference(sample.X, sample.Y[:, 0], 3, max_iter=epochs), rtol=1e-9)


def test_stops_when_sklearn_stops():
    sample = make_sample(300, 2, 1, noise=0.0)
    reference = fit_reference(sample.X, sample.Y[:, 0] * 0.1, 1)
    assert DEFAULTS.n_iter_no_change < reference.n_iter_ < DEFAULTS.max_iter
    assert_same_network(train_like_sklearn(sample.X, sample.Y[:, 0] * 0.1, 1), reference, rtol=1e-8)


def test_single_precision_stays_beside_both_precisions_of_sklearn():
    sample = make_sample(450, 5, 1)
    training = train_like_sklearn(sample.X, sample.Y[:, 0], 2, dtype=np.float32)
    predictions = training.networks.predict(sample.X)[:, 0]
    for dtype in (np.float64, np.float32):
        X, y = sample.X.astype(dtype), sample.Y[:, 0].astype(dtype)
        reference = fit_reference(X, y, 2)
        assert all(part.dtype == dtype for part in (*reference.coefs_, *reference.intercepts_))
        assert training.epochs[0] == reference.n_iter_
        np.testing.assert_allclose(predictions, reference.predict(X), atol=1e-3)


def test_scenario_follows_sklearn_in_single_precision():
    """Two binary covariates: only four distinct rows, most units die and the loss is soon flat."""
    key = CellKey("redundant", "opposing", 0.1, OpposingRates(0.1), 0)
    labels = (Label("structural"),)
    cell = build_cell(key, labels, sample_scenario(key, labels, seed=1, rows=2000), seed=1)
    X, y = cell.source_train.X, cell.source_train.Y[:, 0]
    reference, training = fit_reference(X, y, 5), train_like_sklearn(X, y, 5, dtype=np.float32)
    assert training.epochs[0] == reference.n_iter_
    np.testing.assert_allclose(training.networks.predict(X)[:, 0], reference.predict(X), atol=1e-3)


def test_stopping_rule():
    # n_iter_no_change + 1 stale epochs stop; a fall by less than tol is stale but moves the best loss.
    stopping = Stopping(3, Settings(tol=0.1, n_iter_no_change=2))
    falling, flat, creeping = [5, 4, 3, 2, 1], [5, 4, 4.5, 4, 3.95], [5, 4.95, 4.9, 4.85, 4.7]
    history = np.array([stopping.stopped(np.array(loss)) for loss in zip(falling, flat, creeping, strict=True)])
    assert history.tolist() == [[False] * 3] * 3 + [[False, False, True], [False, True, False]]


def test_networks_that_stopped_leave_the_others_alone():
    sample = make_sample(300, 2, 4, noise=0.0)
    sample = Sample(sample.X, sample.Y * [0.02, 1.0, 0.1, 0.05])
    start = Networks.draw(np.random.default_rng(0).spawn(4), 2, dtype=np.float64)
    together = train_networks([sample], start, [row_orders(300, np.random.default_rng(1))])
    assert len(set(together.epochs.tolist())) > 2
    for k in range(4):
        one = np.arange(4) == k
        alone = train_networks([sample.select(one)], start.keep(one), [row_orders(300, np.random.default_rng(1))])
        assert alone.epochs[0] == together.epochs[k]
        np.testing.assert_allclose(alone.networks.flat[0], together.networks.flat[k], rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(alone.loss[0], together.loss[k])


def test_samples_trained_together_leave_each_other_alone():
    """Rows and orders of their own, of each another number of labels; whole samples stop before others."""
    scales = ([0.02, 0.03], [1.0], [0.05, 1.0, 0.02])
    samples = [make_sample(450, 2, len(scale), seed=seed, noise=0.0) for seed, scale in enumerate(scales)]
    samples = [Sample(sample.X, sample.Y * scale) for sample, scale in zip(samples, scales, strict=True)]
    start = Networks.draw(np.random.default_rng(0).spawn(6), 2, dtype=np.float64)

    def orders(number):
        return row_orders(450, np.random.default_rng(number))

    together = train_networks(samples, start, [orders(number) for number in range(3)])
    assert together.epochs[:2].max() < together.epochs[2]
    for number, own in enumerate(([0, 1], [2], [3, 4, 5])):
        alone = train_networks([samples[number]], start.keep(own), [orders(number)])
        np.testing.assert_array_equal(alone.epochs, together.epochs[own])
        np.testing.assert_allclose(alone.networks.flat, together.networks.flat[own], rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(alone.loss, together.loss[own])


def test_draws_have_the_streams_that_they_have_one_after_the_other():
    samples = tuple(make_sample(250, 3, 2, seed=seed) for seed in range(3))
    together, rng = mlp.fit(Draws(samples), np.random.default_rng(7)).networks, np.random.default_rng(7)
    for number, sample in enumerate(samples):
        alone, own = mlp.fit(sample, rng).networks, [2 * number, 2 * number + 1]
        np.testing.assert_allclose(alone.predict(sample.X), together.predict(sample.X)[:, own], atol=1e-3)


def test_more_labels_do_not_change_the_first_ones():
    sample = make_sample(250, 3, 3)
    few = mlp.fit(Sample(sample.X, sample.Y[:, :2]), np.random.default_rng(7))
    many = mlp.fit(sample, np.random.default_rng(7))
    np.testing.assert_allclose(few.networks.flat, many.networks.flat[:2], atol=1e-3)


def test_same_generator_same_errors():
    train, test = make_sample(100, 3, 2), make_sample(50, 3, 2, seed=1)
    for engine in (mlp.errors, mlp.errors_sklearn):
        first, again, other = (engine(train, test, np.random.default_rng(seed)) for seed in (0, 0, 1))
        assert first.shape == (2,) and first.dtype == np.float64
        np.testing.assert_array_equal(first, again)
        assert (first != other).all()


def test_start_is_left_as_it_is():
    sample = make_sample(30, 2, 2)
    start = Networks.draw(np.random.default_rng(0).spawn(2), 2)
    before = start.flat.copy()
    train_networks([sample], start, [row_orders(30, np.random.default_rng(1))], Settings(max_iter=3))
    np.testing.assert_array_equal(start.flat, before)


def test_initial_law_is_that_of_sklearn():
    d = 5
    start = Networks.draw(np.random.default_rng(0).spawn(200), d, dtype=np.float64)
    inner, outer = np.sqrt(6 / (d + H)), np.sqrt(6 / (H + 1))
    for part, bound in (
        (start.hidden, inner),
        (start.hidden[:, -1], inner),
        (start.output, outer),
        (start.bias, outer),
    ):
        assert np.abs(part).max() <= bound
        assert stats.kstest(part.ravel(), stats.uniform(-bound, 2 * bound).cdf).pvalue > 1e-3
    assert len(np.unique(start.flat[:, 0])) == 200


def test_order_of_rows_is_drawn_anew_every_epoch():
    orders = row_orders(500, np.random.default_rng(0))
    first, second = next(orders), next(orders)
    assert (np.sort(first) == np.arange(500)).all() and (first != second).any()


def test_constant_label_is_learnt():
    X = make_sample(1000, 2, 1).X
    train = Sample(X, np.column_stack([np.zeros(1000), np.full(1000, 3.0)]))
    assert (mlp.errors(train, train, np.random.default_rng(0)) < 0.01).all()


def test_one_row():
    mse = mlp.errors(make_sample(1, 2, 3), make_sample(5, 2, 3), np.random.default_rng(0))
    assert mse.shape == (3,) and np.isfinite(mse).all()


def test_long_test_sets_are_predicted_in_chunks():
    X = make_sample(2 * CHUNK + 3, 4, 1).X
    networks = Networks.draw(np.random.default_rng(0).spawn(2), 4, dtype=np.float64)
    predictions = networks.predict(X)
    for k in range(2):
        W, b = networks.hidden[k, :-1], networks.hidden[k, -1]
        expected = np.maximum(X @ W + b, 0) @ networks.output[k] + networks.bias[k]
        np.testing.assert_allclose(predictions[:, k], expected, rtol=1e-10, atol=1e-12)


def test_dead_units_end_at_zero():
    """Subnormal weights would slow every later product down."""
    sample = make_sample(60, 2, 1)
    start = Networks.draw([np.random.default_rng(0)], 2)
    start.hidden[0, :, :10] = [[-0.1], [-0.1], [-50.0]]
    training = train_networks(
        [sample], start, [row_orders(60, np.random.default_rng(1))], Settings(max_iter=3000, tol=-np.inf)
    )
    values = np.abs(training.networks.flat)
    assert (training.networks.hidden[0, :2, :10] == 0).all()
    assert ((values == 0) | (values > np.finfo(np.float32).tiny)).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_unit_at_zero_stays_there(dtype):
    """No unit is active where z is exactly 0."""
    sample = make_sample(450, 3, 2)
    for X in (sample.X, np.abs(sample.X), -np.abs(sample.X)):
        start = Networks.draw(np.random.default_rng(0).spawn(2), 3, dtype=dtype)
        start.hidden[:, :, 7] = 0
        orders = [row_orders(450, np.random.default_rng(1))]
        training = train_networks([Sample(X, sample.Y)], start, orders, Settings(max_iter=3))
        assert (training.networks.hidden[..., 7] == 0).all() and (training.networks.hidden[..., 8] != 0).all()


@pytest.mark.parametrize("value", [np.nan, -np.nan, np.inf, -np.inf])
def test_rows_that_are_not_finite_are_refused(value):
    sample = make_sample(20, 2, 2)
    sample.X[3, 0] = value
    with pytest.raises(ValueError, match="network for label 0 is not finite in float32"):
        mlp.fit(sample, np.random.default_rng(0))


def test_values_too_large_for_single_precision_are_refused():
    sample = make_sample(20, 2, 2)
    with pytest.raises(ValueError, match=r"network for label 1 is not finite in float32.*Scale them"):
        mlp.fit(Sample(sample.X, sample.Y * [1, 1e30]), np.random.default_rng(0))


def test_errors_are_equal_in_law_to_those_of_sklearn():
    k = 12
    sample, rng = make_sample(220, 3, k), np.random.default_rng(0)
    first, second = (engine(sample, sample, rng) / sample.Y.var(axis=0) for engine in (mlp.errors, mlp.errors_sklearn))
    assert abs(np.mean(first - second)) < 3 * np.std(first - second, ddof=1) / np.sqrt(k)
    assert 0.5 < first.std() / second.std() < 2


@pytest.mark.real_data
@pytest.mark.skipif("DAMS_DATA_DIR" not in os.environ, reason="DAMS_DATA_DIR does not name the raw UCI files")
def test_real_cell_follows_sklearn():
    key = CellKey("thyroid", "nested", None, NestedRates(), 0)
    labels = (Label("random_linear"),)
    cell = build_cell(key, labels, clean_table(load_uci("thyroid"), "thyroid", labels, seed=1), seed=1)
    train, test = cell.source_train, cell.target_test
    reference = fit_reference(train.X, train.Y[:, 0], 4)
    training = train_like_sklearn(train.X, train.Y[:, 0], 4, dtype=np.float32)
    assert training.epochs[0] == reference.n_iter_
    mse = [
        np.mean((p - test.Y[:, 0]) ** 2) for p in (training.networks.predict(test.X)[:, 0], reference.predict(test.X))
    ]
    assert abs(mse[0] - mse[1]) / test.Y[:, 0].var() < 1e-3
