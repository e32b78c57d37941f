"""Groups of columns are used only where the two tables agree, and a wrong one does no harm."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from dams import ClosedFormRegressor
from dams.estimators._together import groups_to_trust
from dams.estimators.folds import Columns, FoldedMoments
from dams.estimators.stabilise import fit_stabilised
from dams.relative import from_tables

GROUP = [0, 1, 2, 3]


def flags(n, rng):
    """Six correlated flags; a rare label that depends on them, and is mostly noise, as sepsis is."""
    severity = rng.normal(size=(n, 1))
    X = (severity + rng.normal(size=(n, 6)) > 0.3).astype(float)
    y = (rng.random(n) < 0.03 + 0.03 * X[:, 4] + 0.02 * X[:, 0]).astype(float)
    return X, y


def shifted(kept, rng, n=8000):
    """Source rows as they are; target rows keep each column of the group at its rate, or all of them at one."""
    X, y = flags(3 * n, rng)
    source, target, test = np.split(X, 3)
    for rows in (target, test):
        draws = rng.random((n, len(GROUP))) if np.ndim(kept) else rng.random((n, 1))
        rows[:, GROUP] *= draws < kept
    return (source, y[:n]), target, (test, y[2 * n :])


def unit():
    return np.array([0, 0, 0, 0, 1, 2])


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_a_group_that_is_lost_as_one_is_trusted(form):
    for seed in range(20):
        (X, _), target, _ = shifted(0.4, np.random.default_rng(seed))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert groups_to_trust(form(X), form(target), unit(), None) == [GROUP]


def test_a_group_with_rates_of_its_own_is_left_out_by_name():
    (X, _), target, _ = shifted([0.9, 0.02, 0.5, 0.5], np.random.default_rng(0))
    names = ["urea", "bicarbonate", "sodium", "potassium", "age", "sex"]
    with pytest.warns(UserWarning, match=r"column_groups names .*'urea'.* are not lost together"):
        assert groups_to_trust(X, target, unit(), names) == []


def test_a_group_that_is_nearly_right_is_worth_more_than_none():
    rng = np.random.default_rng(0)
    (X, _), target, _ = shifted(0.3, rng, n=60_000)
    target[:, 0] *= rng.random(len(target)) < 0.9  # one column of the panel is lost a little more
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert groups_to_trust(X, target, unit(), None) == [GROUP]


def test_groups_stay_where_they_are_if_columns_are_named_by_other_columns_positions():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 4)) + 1
    y = X.sum(axis=1)
    X[rng.random(4000) < 0.1] = 0
    target = X * np.repeat(rng.random((4000, 2)) < [0.5, 0.8], 2, axis=1)
    names = [1, 2, 3, 4]  # as read_csv(header=None) leaves them where the first column, the label, is taken out
    tables = [pd.DataFrame(rows, columns=names) for rows in (X, target)]
    named = ClosedFormRegressor(column_groups=[[1, 2], [3, 4]]).fit(tables[0], y, X_target=tables[1])
    by_position = ClosedFormRegressor(column_groups=[[0, 1], [2, 3]]).fit(X, y, X_target=target)
    np.testing.assert_array_equal(named.relative_missingness_.column_groups, [0, 0, 1, 1])
    np.testing.assert_array_equal(named.coef_, by_position.coef_)


def error(model, test):
    return np.mean((model(test[0]) - test[1]) ** 2) / test[1].var()


def test_a_wrong_group_changes_nothing_but_for_a_warning():
    source, target, _ = shifted([0.9, 0.02, 0.5, 0.5], np.random.default_rng(1))
    with pytest.warns(UserWarning, match="not lost together"):
        grouped = ClosedFormRegressor(column_groups=[GROUP]).fit(*source, X_target=target)
    alone = ClosedFormRegressor().fit(*source, X_target=target)
    np.testing.assert_array_equal(grouped.coef_, alone.coef_)
    assert grouped.intercept_ == alone.intercept_


@pytest.mark.parametrize("seed", range(4))
def test_where_no_rows_are_checked_the_choice_judges_the_intercept(seed):
    """Summaries hold no patterns; a group that moves means wrongly must lose by the error of its intercept."""
    source, target, test = shifted([1.0, 0.05, 1.0, 0.05], np.random.default_rng(seed))
    columns = Columns(groups=unit())
    relative = from_tables(source[0], target, column_groups=[GROUP])
    folds = [FoldedMoments.of(X, Y, columns=columns) for X, Y in ((source[0], source[1][:, None]), (target, None))]
    fit = fit_stabilised(*folds, relative.r)
    slopes, level = ClosedFormRegressor().fit(*source, X_target=None), source[1].mean()
    plain = error(slopes.predict, test)
    assert error(lambda X: X @ fit.coef[:, 0] + fit.intercept[0], test) < 1.02 * plain
    assert abs((target @ fit.coef[:, 0] + fit.intercept[0]).mean() - level) < 0.01
