"""Warnings inside `fit`: each once, where there is reason, with columns and the way out; and silence elsewhere."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import StandardScaler

from dams import (
    ClosedFormRegressor,
    FilteredEstimator,
    MissingnessFilter,
    TwoWayEstimator,
    TwoWayFilter,
    apply_missingness,
)
from dams.imputation import MissForestImputer

ESTIMATORS = [
    ClosedFormRegressor(),
    ClosedFormRegressor(stabilise=False),
    FilteredEstimator(LinearRegression(), n_draws=3, random_state=0),
    FilteredEstimator(LogisticRegression(), random_state=0),
    TwoWayEstimator(LinearRegression(), random_state=0),
    TwoWayEstimator(LogisticRegression(), random_state=0),
    MissingnessFilter(random_state=0),
    TwoWayFilter(random_state=0),
]
every = pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)
N = 2000


def heard(estimator, X, y, **options):
    """Texts of all warnings of a fit, however often each comes."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        getattr(estimator, "fit", getattr(estimator, "fit_resample", None))(X, y, **options)
    assert all(warning.filename == __file__ for warning in caught)
    return [str(warning.message) for warning in caught]


def sample(m_source, m_target, *, seed=0):
    """Two columns of numbers, one of zeros and ones, and labels that all estimators take; then what is lost."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(size=(2 * N, 2)) + 4, rng.random(2 * N) < 0.5])
    y = (X.sum(axis=1) + rng.normal(size=2 * N) > 8).astype(int)
    source, target = (
        apply_missingness(part, m, random_state=seed + k)
        for k, (part, m) in enumerate([(X[:N], m_source), (X[N:], m_target)], start=1)
    )
    columns = ["dose", "level", "smoker"]
    return pd.DataFrame(source, columns=columns), y[:N], pd.DataFrame(target, columns=columns)


LOSSES = [0.2, 0.1, 0.1], [0.4, 0.5, 0.3]


@every
def test_a_target_left_out_is_missed_once(estimator):
    source, y, target = sample(*LOSSES)
    (message,) = heard(estimator, source, y)
    assert message.startswith("Nothing is adapted: give fit the target's rows as X_target, or X_target=None to say")
    assert not heard(estimator, source, y, X_target=None)
    assert not heard(estimator, source, y, X_target=target)


@every
def test_a_filter_that_cannot_follow_says_so_once(estimator):
    source, y, target = sample([0.2, 0.5, 0.1], [0.4, 0.1, 0.3])
    messages = heard(estimator, source, y, X_target=target)
    if isinstance(estimator, FilteredEstimator | MissingnessFilter):
        (message,) = messages
        assert message.startswith("The target records column 'level' better than the source (r = -0.")
        assert message.endswith("use TwoWayEstimator, or ClosedFormRegressor for a linear model.")
    else:
        assert not messages


@pytest.mark.parametrize("seed", range(5))
def test_chance_is_no_reason_to_speak_of_the_filter(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(2000, 30)) + 3
    source, target = (
        apply_missingness(part, 0.3, random_state=seed + k) for k, part in enumerate((X[:1000], X[1000:]))
    )
    assert not heard(MissingnessFilter(random_state=0), source, X[:1000, 0], X_target=target)


@every
def test_a_source_without_zeros_where_the_target_has_them(estimator):
    source, y, target = sample(*LOSSES)
    rng = np.random.default_rng(5)
    imputed = source.drop(columns="smoker")
    imputed = imputed.mask(imputed == 0, rng.normal(size=imputed.shape) + 4)
    (message,) = heard(estimator, imputed, y, X_target=target.drop(columns="smoker"))
    assert message.startswith(
        "The source holds no zero in columns 'dose', 'level', where 48 % of the target's rows do:"
    )
    assert "imputed or centred? Set what is missing to 0 in both" in message


@every
def test_single_columns_that_one_place_always_records_are_nothing_strange(estimator):
    source, y, target = sample([0.0, 0.1, 0.1], [0.4, 0.5, 0.3])
    assert not heard(estimator, source, y, X_target=target)


@every
@pytest.mark.parametrize("constant", ["mean", "median"])
def test_columns_imputed_by_a_constant(estimator, constant):
    source, y, target = sample(*LOSSES)
    observed = source["dose"][source["dose"] != 0]
    filled = source.assign(dose=source["dose"].mask(source["dose"] == 0, observed.agg(constant)))
    (message,) = heard(estimator, filled, y, X_target=target)
    assert message.startswith(
        f"The source holds no zero in column 'dose', but many times the value {observed.agg(constant):.4g}:"
    )
    assert "centred, or imputed by a constant? Set what is missing to 0 afterwards" in message


@pytest.mark.parametrize("kind", [sparse.csr_array, np.asarray])
def test_a_target_imputed_by_a_constant_also_in_long_tables(kind):
    source, y, target = sample(*LOSSES)
    filled = target.mask(target == 0, 4.5)[["dose", "level"]].assign(smoker=target["smoker"])
    repeated = [kind(np.tile(table.to_numpy(), (12, 1))) for table in (source, filled)]
    (message,) = heard(TwoWayFilter(), repeated[0][:200], y[:200], X_target=repeated[1])
    assert message.startswith("The target holds no zero in columns 0, 1, but many times the value 4.5: was it centred")


def test_centred_columns():
    source, y, target = sample(*LOSSES)
    scaler = StandardScaler().fit(source)
    # Of what was a zero in the target alone there is one left, else nothing would be known of zeros at all.
    centred, moved = (pd.DataFrame(scaler.transform(table), columns=source.columns) for table in (source, target))
    moved.iloc[0, 0] = 0.0
    messages = heard(ClosedFormRegressor(), centred, y, X_target=moved)
    assert messages[0].startswith(
        "The source holds no zero in columns 'dose', 'level', 'smoker', but many times the value"
    )


def test_whole_numbers_without_a_zero_are_not_taken_for_imputed():
    source, y, target = sample(*LOSSES)
    rng = np.random.default_rng(0)
    for values in (rng.choice([1, 2], N, p=[0.9, 0.1]), rng.integers(18, 90, N), rng.choice([1, 2, 3, 4, 5], N)):
        both = [table.assign(age=values.astype(float)) for table in (source, target)]
        assert not heard(MissingnessFilter(random_state=0), both[0], y, X_target=both[1])


def codes(values, source, target):
    column = pd.Series(values, index=source.index)
    return source.assign(ward=column), target.assign(ward=column.to_numpy())


@every
@pytest.mark.parametrize("kind", [int, "category"])
def test_codes_of_categories_are_named(estimator, kind):
    source, y, target = sample(*LOSSES)
    levels = np.random.default_rng(0).choice(4, N, p=[0.2, 0.3, 0.1, 0.4])
    coded, there = codes(levels, source, target)
    (message,) = heard(estimator, coded.astype({"ward": kind}), y, X_target=there.astype({"ward": kind}))
    assert message.startswith(
        "The whole numbers from 0 on in column 'ward' look like codes of categories, of which code 0"
    )
    assert "one-hot encode them (pandas.get_dummies)" in message
    if "always_recorded" in estimator.get_params():
        recorded = type(estimator)(**estimator.get_params(deep=False) | {"always_recorded": ["ward"]})
        assert not heard(recorded, coded, y, X_target=there)


@pytest.mark.parametrize(
    "values",
    [
        np.random.default_rng(0).poisson(0.7, N),
        np.random.default_rng(0).poisson(2, N),
        np.random.default_rng(0).geometric(0.4, N) - 1,
        np.random.default_rng(0).integers(0, 2, N),
        np.random.default_rng(0).integers(0, 80, N),
        np.random.default_rng(0).integers(0, 4, N).astype(float),
        np.random.default_rng(0).integers(0, 2, N) * 3,
    ],
    ids=["rare events", "events", "waiting", "0/1", "ages", "floats", "two codes"],
)
def test_counts_are_no_codes(values):
    source, y, target = sample(*LOSSES)
    coded, there = codes(values, source, target)
    assert not heard(MissingnessFilter(random_state=0), coded, y, X_target=there)


def test_an_array_of_integers_has_codes_too():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.poisson(2, 800), rng.integers(0, 3, 800)])
    (message,) = heard(MissingnessFilter(), X[:400], X[:400, 0], X_target=X[400:])
    assert "in column 1 look like codes" in message


@pytest.mark.parametrize("compat", ["missingpy", "inductive"])
def test_missforest_makes_constants_of_columns_of_zeros_and_ones(compat):
    source, _, _ = sample(*LOSSES)
    with pytest.warns(UserWarning, match=r"one value beside 0 in column 'smoker'.*constant.*missing_values=np\.nan"):
        imputed = MissForestImputer(compat=compat, random_state=0).fit_transform(source)
    assert (imputed[:, 2] == 1).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        MissForestImputer(compat=compat).fit(source.drop(columns="smoker"))
        # Nothing is missing of a column that is constant as it is.
        MissForestImputer(compat=compat).fit(source.assign(smoker=1.0))


def test_warnings_within_a_search_point_at_the_line_that_searches():
    source, y, target = sample([0.6, 0.1, 0.1], [0.1, 0.1, 0.1])
    base = FilteredEstimator(LinearRegression(), random_state=0)
    search = GridSearchCV(base, {"n_draws": [1]}, cv=2)
    assert any("The target records" in text for text in heard(search, source, y, X_target=target))
