import numpy as np
import pytest

from dams import ClosedFormRegressor, MissingnessFilter, TwoWayFilter
from dams._columns import resolve_columns, resolve_groups

NAMES = ["age", "dose", 7]


@pytest.mark.parametrize("given", [["dose"], [1], [False, True, False], np.array([1]), np.array([False, True, False])])
def test_columns_are_given_by_name_position_or_mask(given):
    np.testing.assert_array_equal(resolve_columns(given, 3, NAMES, parameter="always_recorded"), [False, True, False])


def test_none_and_an_empty_list_are_no_columns():
    for given in (None, []):
        assert not resolve_columns(given, 3, NAMES, parameter="always_recorded").any()


def test_a_name_that_is_a_number_comes_before_a_position():
    np.testing.assert_array_equal(resolve_columns([7], 3, NAMES, parameter="x"), [False, False, True])


@pytest.mark.parametrize("kind", [np.array, list])
def test_arrays_mean_what_lists_do(kind):
    for names in ([3, 2, 1, 0], np.array([3, 2, 1, 0])):
        found = resolve_columns(kind([3]), 4, names, parameter="x")
        np.testing.assert_array_equal(found, [True, False, False, False])
        np.testing.assert_array_equal(resolve_groups(kind([[3, 1], [2, 0]]), 4, names), [0, 1, 0, 1])
    for names in (["a", "b"], np.array(["a", "b"])):
        np.testing.assert_array_equal(resolve_columns(kind(["b"]), 2, names, parameter="x"), [False, True])


@pytest.mark.parametrize("names", [None, ["a", "b", "c", "d"], [0, 1, 2, 3]])
def test_a_mask_written_as_0_and_1_is_refused(names):
    with pytest.raises(ValueError, match="always_recorded names 0 more than once: write a mask as booleans"):
        resolve_columns(np.array([0, 0, 1, 0]), 4, names, parameter="always_recorded")


@pytest.mark.parametrize("estimator", [ClosedFormRegressor(), MissingnessFilter(), TwoWayFilter()])
def test_every_estimator_takes_groups_as_an_array(estimator):
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(400, 4)) + 1) * (rng.random((400, 2)) < 0.7)[:, [0, 0, 1, 1]]
    estimator.set_params(column_groups=np.array([[0, 1], [2, 3]]))
    fit = estimator.fit if hasattr(estimator, "fit") else estimator.fit_resample
    fit(X[:200], X[:200].sum(axis=1), X[200:])
    np.testing.assert_array_equal(estimator.relative_missingness_.column_groups, [0, 0, 1, 1])


@pytest.mark.parametrize(
    ("given", "names", "told"),
    [
        (["dos"], NAMES, "always_recorded names 'dos', which is no column; did you mean 'dose'?"),
        ([3], NAMES, "names 3, expected a position from 0 to 2 or a column's name"),
        ([-1], None, "names -1, expected a position from 0 to 2"),
        (["age"], None, "names 'age', expected a position from 0 to 2"),
        ("age", NAMES, r"must be a list of columns or a mask, got 'age': write \['age'\]"),
        ([True, False], NAMES, "a mask of 2 entries, expected one per column, 3"),
        (["a"], ["a", "a", "b"], "names 'a', which 2 columns are called"),
    ],
)
def test_what_is_no_column_is_refused(given, names, told):
    with pytest.raises(ValueError, match=told):
        resolve_columns(given, 3, names, parameter="always_recorded")


def test_groups_are_numbered_by_their_first_column():
    np.testing.assert_array_equal(resolve_groups(None, 3, None), [0, 1, 2])
    np.testing.assert_array_equal(resolve_groups([["dose", 7]], 3, NAMES), [0, 1, 1])
    np.testing.assert_array_equal(resolve_groups([[2, 0]], 3, None), [0, 1, 0])


def test_a_column_in_two_groups_is_refused():
    with pytest.raises(ValueError, match="column_groups names column 1 in more than one group"):
        resolve_groups([[0, 1], [1, 2]], 3, None)
