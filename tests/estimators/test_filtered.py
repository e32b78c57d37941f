"""The filter reproduces the target's law where it can, and a filtered estimator is its base on filtered rows."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.metrics import get_scorer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeRegressor

from dams import FilteredEstimator, MissingnessFilter, NestedRates, TwoWayEstimator, apply_missingness
from dams.moments import Moments, move_covariance, move_mean

COLUMNS = ["a", "b", "c"]
# Of one column the target loses less in most of these tests.
pytestmark = pytest.mark.filterwarnings("ignore:The target records")


def law(rows, seed=0):
    """Three columns of different shape, dependent; labels linear with noise."""
    rng = np.random.default_rng(seed)
    first = rng.integers(0, 2, rows).astype(float)
    second = np.exp(first + 0.5 * rng.normal(size=rows))
    X = np.column_stack([first, second, second + rng.normal(size=rows)])
    return X, X @ [1.0, 2.0, 3.0] + rng.normal(size=rows)


@pytest.fixture
def shifted():
    X, y = law(800)
    source = apply_missingness(X[:400], [0.1, 0.0, 0.5], random_state=1)
    target = apply_missingness(X[400:], [0.4, 0.6, 0.1], random_state=2)
    return source, y[:400], target


def thinned(source, y, target, random_state=0):
    return MissingnessFilter(random_state=random_state).fit_resample(source, y, X_target=target)[0]


def test_rates_are_the_relative_missingness_where_positive(shifted):
    source, y, target = shifted
    fitted = MissingnessFilter()
    fitted.fit_resample(source, y, X_target=target)
    r = 1 - np.count_nonzero(target, axis=0) / np.count_nonzero(source, axis=0)
    np.testing.assert_allclose(fitted.rates_, np.maximum(r, 0))
    np.testing.assert_allclose(fitted.relative_missingness_.r, r)
    assert fitted.rates_[2] == 0
    assert not fitted.relative_missingness_.is_proper


@pytest.mark.parametrize("seed", range(3))
def test_filtered_rows_have_the_targets_law_where_rates_are_nested(seed):
    rows = 200_000
    X, y = law(2 * rows, seed)
    m_source, m_target = NestedRates().sample(3, np.random.default_rng(seed))
    source = apply_missingness(X[:rows], m_source, random_state=seed)
    target = apply_missingness(X[rows:], m_target, random_state=seed + 1)
    # The seed of the source's own corruption, as a hurried user would have it.
    fitted = MissingnessFilter(random_state=seed)
    filtered, labels = fitted.fit_resample(source, y[:rows], X_target=target)
    assert fitted.relative_missingness_.is_proper
    found = Moments.of(filtered, labels[:, None])
    clean = Moments.of(X, y[:, None])
    deviation = np.sqrt(np.diagonal(clean.covariance))
    np.testing.assert_allclose(found.mean, move_mean(clean.mean, m_target), atol=0.02)
    expected = move_covariance(clean.covariance, clean.mean, m_target)
    np.testing.assert_allclose(
        found.covariance / np.outer(deviation, deviation), expected / np.outer(deviation, deviation), atol=0.02
    )
    np.testing.assert_allclose(found.label_covariance, move_mean(clean.label_covariance, m_target), rtol=0.05)
    # A law is more than its moments: the patterns of zeros agree too.
    patterns = [np.bincount((part != 0) @ [1, 2, 4], minlength=8) / rows for part in (filtered, target)]
    np.testing.assert_allclose(*patterns, atol=0.01)


def test_values_are_deleted_and_never_changed(shifted):
    source, y, target = shifted
    before = source.copy()
    filtered = thinned(source, y, target)
    assert ((filtered == source) | (filtered == 0)).all()
    np.testing.assert_array_equal(filtered[:, 2], source[:, 2])
    assert ((filtered == 0) & (source != 0)).any(axis=0)[:2].all()
    np.testing.assert_array_equal(source, before)


def test_an_integer_seed_repeats_the_mask_and_a_generator_goes_on(shifted):
    np.testing.assert_array_equal(thinned(*shifted), thinned(*shifted))
    running = np.random.default_rng(0)
    assert (thinned(*shifted, random_state=running) != thinned(*shifted, random_state=running)).any()


def test_a_sparse_source_stays_sparse(shifted):
    source, y, target = shifted
    filtered = thinned(sparse.csr_matrix(source), y, sparse.csc_matrix(target))
    assert sparse.issparse(filtered)
    assert ((filtered.toarray() == source) | (filtered.toarray() == 0)).all()
    model = FilteredEstimator(LinearRegression(), random_state=0)
    model.fit(sparse.csr_matrix(source), y, X_target=sparse.csr_matrix(target))
    reference = LinearRegression().fit(filtered, y)
    np.testing.assert_allclose(model.predict(sparse.csr_matrix(target)), reference.predict(target), rtol=1e-6)


@pytest.mark.parametrize("with_target", [False, True], ids=["no target", "source as target"])
def test_without_shift_it_is_its_base(shifted, with_target):
    source, y, _ = shifted
    model = FilteredEstimator(LinearRegression(), random_state=0)
    model.fit(source, y, X_target=source if with_target else None)
    np.testing.assert_array_equal(model.predict(source), LinearRegression().fit(source, y).predict(source))
    assert (model.relative_missingness_ is None) is not with_target


def test_it_is_its_base_fitted_on_filtered_rows(shifted):
    source, y, target = shifted
    filtered = thinned(source, y, target, random_state=7)
    reference = DecisionTreeRegressor(max_depth=4, random_state=0).fit(filtered, y)
    model = FilteredEstimator(DecisionTreeRegressor(max_depth=4, random_state=0), random_state=7)
    model.fit(source, y, X_target=target)
    np.testing.assert_array_equal(model.predict(target), reference.predict(target))
    other = FilteredEstimator(DecisionTreeRegressor(max_depth=4, random_state=0), random_state=8)
    assert (other.fit(source, y, X_target=target).predict(target) != reference.predict(target)).any()


def test_it_lowers_the_target_error_where_the_target_loses_more():
    X, y = law(20_000)
    source = X[:10_000]
    target = apply_missingness(X[10_000:], [0.2, 0.7, 0.2], random_state=2)
    adjusted = FilteredEstimator(LinearRegression(), random_state=0).fit(source, y[:10_000], X_target=target)
    plain = LinearRegression().fit(source, y[:10_000])
    oracle = LinearRegression().fit(target, y[10_000:])
    errors = [np.mean((model.predict(target) - y[10_000:]) ** 2) for model in (oracle, adjusted, plain)]
    assert errors[1] < 1.02 * errors[0]
    assert errors[2] > 1.2 * errors[0]


def test_a_classifier_gives_classes_and_probabilities(shifted):
    source, y, target = shifted
    labels = np.where(y > np.median(y), "high", "low")
    model = FilteredEstimator(LogisticRegression(), random_state=0).fit(source, labels, X_target=target)
    probabilities = model.predict_proba(target)
    assert probabilities.shape == (len(target), 2)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    assert list(model.classes_) == ["high", "low"]
    np.testing.assert_array_equal(model.predict(target), model.classes_[probabilities.argmax(axis=1)])
    assert 0.5 < model.score(source, labels) <= 1


def test_a_regressor_offers_no_probabilities(shifted):
    source, y, target = shifted
    model = FilteredEstimator(LinearRegression()).fit(source, y, X_target=target)
    for method in ("predict_proba", "predict_log_proba", "decision_function"):
        assert not hasattr(model, method)


@pytest.mark.parametrize("kind", [FilteredEstimator, TwoWayEstimator])
def test_a_classifier_is_scored_by_whatever_its_base_offers(shifted, kind):
    source, y, target = shifted
    labels = y > np.median(y)
    logistic = kind(LogisticRegression(), random_state=0).fit(source, labels, X_target=target)
    np.testing.assert_allclose(np.exp(logistic.predict_log_proba(target)), logistic.predict_proba(target))
    machine = kind(LinearSVC(), random_state=0).fit(source, labels, X_target=target)
    assert not hasattr(machine, "predict_proba")
    np.testing.assert_array_equal(machine.decision_function(target) > 0, machine.predict(target))
    assert 0.8 < get_scorer("roc_auc")(machine, source, labels) <= 1
    with pytest.raises(ValueError, match="X contains NaN in column 1"):
        machine.decision_function(np.where(target == 0, [0, np.nan, 0], target))


def test_a_base_may_select_columns_by_name(shifted):
    source, y, target = shifted
    source, target = pd.DataFrame(source, columns=COLUMNS), pd.DataFrame(target, columns=COLUMNS)
    base = make_pipeline(ColumnTransformer([("kept", StandardScaler(), ["a", "c"])]), LinearRegression())
    model = FilteredEstimator(base, random_state=0).fit(source, y, X_target=target[["c", "b", "a"]])
    filtered = thinned(source, y, target)
    reference = base.fit(filtered, y)
    np.testing.assert_allclose(model.predict(target), reference.predict(target))
    assert list(model.feature_names_in_) == COLUMNS
    assert list(model.estimators_[0].feature_names_in_) == COLUMNS


@pytest.mark.parametrize("kind", [FilteredEstimator, TwoWayEstimator])
def test_lost_categories_reach_the_base_as_zeros(kind):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"age": rng.normal(size=2000) * (rng.random(2000) < 0.9), "triage": rng.integers(1, 4, 2000)})
    y = X.to_numpy() @ [1.0, 5.0]
    target = apply_missingness(X[1000:], [0.0, 0.6], random_state=1)
    categories = pd.CategoricalDtype([1, 2, 3])
    base = HistGradientBoostingRegressor(max_iter=20, random_state=0)
    model = kind(base, n_draws=1, random_state=0).fit(
        X[:1000].astype({"triage": categories}), y[:1000], X_target=target
    )
    filtered = thinned(X[:1000], y[:1000], target)
    levels = filtered.astype({"triage": pd.CategoricalDtype([0, 1, 2, 3])})
    reference = clone(base).fit(levels, y[:1000])
    seen = target.astype({"triage": pd.CategoricalDtype([0, 1, 2, 3])})
    np.testing.assert_allclose(model.predict(seen), reference.predict(seen))


def test_the_base_handed_in_stays_unfitted(shifted):
    source, y, target = shifted
    base = LinearRegression()
    FilteredEstimator(base).fit(source, y, X_target=target)
    assert not hasattr(base, "coef_")


def test_several_label_columns(shifted):
    source, y, target = shifted
    model = FilteredEstimator(LinearRegression(), random_state=0).fit(source, np.column_stack([y, -y]), X_target=target)
    predicted = model.predict(target)
    np.testing.assert_allclose(predicted[:, 0], -predicted[:, 1])


def test_a_search_over_parameters_can_be_the_base_and_be_scored():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (300, 3)).astype(float)
    y = X @ [1.0, 2.0, 3.0]
    model = FilteredEstimator(GridSearchCV(Ridge(), {"alpha": [0.1, 1.0]}), random_state=0)
    assert model.fit(X, y, X_target=X[:100]).score(X, y) > 0.9
