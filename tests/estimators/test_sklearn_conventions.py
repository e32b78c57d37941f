"""The estimators keep scikit-learn's contract: its own checks, pipelines, cloning, names, metadata routing."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MaxAbsScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import dams
from dams import ClosedFormRegressor, FilteredEstimator, TwoWayEstimator, apply_missingness

ESTIMATORS = [
    ClosedFormRegressor(),
    ClosedFormRegressor(fit_intercept=False),
    FilteredEstimator(LinearRegression()),
    FilteredEstimator(LogisticRegression()),
    TwoWayEstimator(LinearRegression()),
    TwoWayEstimator(LogisticRegression()),
]


# The checks fit without a target.
@pytest.mark.filterwarnings("ignore:Nothing is adapted")
@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture
def shifted():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.integers(0, 4, (600, 3)).astype(float), columns=["a", "b", "c"])
    y = X.to_numpy() @ [1.0, 2.0, 3.0]
    source = apply_missingness(X[:300], [0.1, 0.5, 0.2], random_state=1)
    target = apply_missingness(X[300:], [0.5, 0.1, 0.2], random_state=2)
    return source, y[:300], target


@pytest.mark.filterwarnings("ignore:The target records")
@pytest.mark.parametrize(
    "estimator",
    [
        ClosedFormRegressor(),
        FilteredEstimator(LinearRegression(), random_state=3, safeguard=False),
        TwoWayEstimator(LinearRegression(), random_state=3),
    ],
)
def test_a_clone_fits_to_the_same_predictions(estimator, shifted):
    source, y, target = shifted
    first = estimator.fit(source, y, X_target=target).predict(target)
    np.testing.assert_array_equal(clone(estimator).fit(source, y, X_target=target).predict(target), first)


def test_last_step_of_a_pipeline_takes_the_target(shifted):
    source, y, target = shifted
    pipeline = make_pipeline("passthrough", ClosedFormRegressor())
    pipeline.fit(source, y, closedformregressor__X_target=target)
    expected = ClosedFormRegressor().fit(source, y, X_target=target).predict(target)
    np.testing.assert_allclose(pipeline.predict(target), expected)


def test_a_pipeline_can_carry_the_target_through_its_earlier_steps(shifted):
    source, y, target = shifted
    with sklearn.config_context(enable_metadata_routing=True):
        model = ClosedFormRegressor().set_fit_request(X_target=True)
        pipeline = Pipeline([("scale", MaxAbsScaler()), ("model", model)], transform_input=["X_target"])
        pipeline.fit(source.to_numpy(), y, X_target=target.to_numpy())
    expected = ClosedFormRegressor().fit(source.to_numpy(), y, X_target=target.to_numpy()).predict(target.to_numpy())
    np.testing.assert_allclose(pipeline.predict(target.to_numpy()), expected)


def test_grid_search_over_the_gram(shifted):
    source, y, target = shifted
    search = GridSearchCV(ClosedFormRegressor(), {"gram": ["pooled", "target", "source"]}, cv=2)
    search.fit(source, y, X_target=target)
    assert set(search.cv_results_["param_gram"]) == {"pooled", "target", "source"}


def test_what_scikit_learn_calls_private_is_imported_in_one_place():
    private = re.compile(r"^\s*(from|import) sklearn\S*\._|^\s*from sklearn\S* import .*\b_[a-z]", re.MULTILINE)
    package = Path(dams.__file__).parent
    users = [
        str(p.relative_to(package)) for p in package.rglob("*.py") if private.search(p.read_text(encoding="utf-8"))
    ]
    assert users == ["_sklearn.py"]
