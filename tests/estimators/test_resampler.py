"""What both filters share: `fit_resample`, columns that are always recorded, columns that are lost as one."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline

from dams import (
    FilteredEstimator,
    MissingnessFilter,
    TwoWayEstimator,
    TwoWayFilter,
    apply_missingness,
    estimate_relative_missingness,
)
from dams.missingness import delete_at_random

FILTERS = [MissingnessFilter, TwoWayFilter]
filters = pytest.mark.parametrize("kind", FILTERS)
pytestmark = pytest.mark.filterwarnings("ignore:The target records")
COLUMNS = ["sex", "k", "na", "pulse"]
PANEL = [["k", "na"]]


def lose(X, rates, rng):
    """Values of k and na are lost with one draw, the others each with one of its own; sex never."""
    lost = rng.random((len(X), 3)) < [rates[0], rates[1], rates[1]]
    return X * ~np.column_stack([np.zeros(len(X), bool), lost[:, 0], lost[:, 0], lost[:, 1]])


def hospital(n, share, rates, seed):
    """Sex with another mix in each place, a panel of two values that belong together, and a pulse."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=n)
    X = np.column_stack(
        [rng.random(n) < share, z + 4, 2 * z + 0.3 * rng.normal(size=n) + 9, z + rng.normal(size=n) + 5]
    )
    y = X @ [2.0, 1.0, 1.0, 1.0] + rng.normal(size=n)
    return pd.DataFrame(lose(X, rates, rng), columns=COLUMNS), y


# The panel is lost more often in the one, and less often in the other case.
MORE, LESS = ((0.2, 0.1), (0.6, 0.3)), ((0.6, 0.1), (0.2, 0.3))


def places(rates, n=3000, seed=0):
    source, y = hospital(n, 0.5, rates[0], seed)
    target, y_target = hospital(n, 0.8, rates[1], seed + 100)
    return source, y, target, y_target


@filters
def test_a_filter_is_no_step_of_a_pipeline(kind):
    source, y, _, _ = places(MORE, n=200)
    for name in ("fit", "transform", "fit_transform", "predict"):
        assert not hasattr(kind(), name)
    with pytest.raises(TypeError, match="implement fit and transform"):
        make_pipeline(kind(), LinearRegression()).fit(source, y)


@filters
@pytest.mark.parametrize("rates", [MORE, LESS], ids=["more", "less"])
def test_what_is_always_recorded_stays_as_it_is(kind, rates):
    source, y, target, _ = places(rates)
    adapted, _ = kind(random_state=0).fit_resample(source, y, X_target=target)
    given = kind(always_recorded=["sex"], random_state=0)
    rows, _ = given.fit_resample(source, y, X_target=target)
    pd.testing.assert_series_equal(rows["sex"], source["sex"])
    assert given.relative_missingness_.r[0] == given.rates_[0] == 0 and not given.filled_[0]
    assert (rows["pulse"] != source["pulse"]).any()
    if kind is TwoWayFilter:
        # Taken for a value that the target loses less, the mix of the sexes is "adapted".
        assert (adapted["sex"] != source["sex"]).mean() > 0.2


@filters
def test_columns_of_a_group_are_deleted_together(kind):
    source, y, target, _ = places(MORE)
    given = kind(column_groups=PANEL, always_recorded=["sex"], random_state=0)
    rows = given.fit_resample(source, y, X_target=target)[0].to_numpy()
    np.testing.assert_array_equal(rows[:, 1] == 0, rows[:, 2] == 0)
    assert (rows[:, 1] != 0).mean() == pytest.approx((target["k"] != 0).mean(), abs=0.03)
    assert given.rates_[1] == given.rates_[2] > 0.4
    alone, _ = kind(random_state=0).fit_resample(source, y, X_target=target)
    assert ((alone["k"] == 0) != (alone["na"] == 0)).mean() > 0.2


def test_a_group_is_filled_as_one_from_one_donor():
    source, y, target, y_target = places(LESS)
    given = TwoWayFilter(column_groups=PANEL, always_recorded=["sex"], random_state=0)
    rows, _ = given.fit_resample(source, y, X_target=target)
    assert given.filled_.tolist() == [False, True, True, False]
    np.testing.assert_array_equal(rows["k"] == 0, rows["na"] == 0)
    assert (rows["k"] != 0).mean() == pytest.approx((target["k"] != 0).mean(), abs=0.02)
    pairs = set(map(tuple, source[["k", "na"]].to_numpy()))
    assert set(map(tuple, rows[["k", "na"]].to_numpy())) <= pairs

    # The rows have the target's law: also how the panel goes with the label and with itself.
    def moments(X, labels):
        Z = np.column_stack([X[["k", "na", "pulse"]], X[["k", "pulse"]] != 0, labels - 2 * X["sex"]])
        return Z.T @ Z / len(Z)

    there, before, after = moments(target, y_target), moments(source, y), moments(rows, y)
    assert np.abs(before / there - 1).max() > 0.4
    assert np.abs(after / there - 1).max() < 0.08


def test_filling_column_by_column_would_break_the_panel():
    source, y, target, _ = places(LESS)
    rows, _ = TwoWayFilter(random_state=0).fit_resample(source, y, X_target=target)
    assert ((rows["k"] == 0) != (rows["na"] == 0)).mean() > 0.05


@pytest.mark.parametrize("kind", [FilteredEstimator, TwoWayEstimator])
def test_the_wrappers_hand_on_what_is_known_of_the_columns(kind):
    source, y, target, _ = places(LESS)
    model = kind(LinearRegression(), always_recorded=["sex"], column_groups=PANEL, random_state=0)
    model.fit(source, y, X_target=target)
    r = model.relative_missingness_.r
    assert r[0] == 0 and r[1] == r[2] < -0.5
    assert model.filter_.get_params()["column_groups"] == PANEL


def test_a_wrong_mix_of_an_always_recorded_column_costs_nothing_once_it_is_named():
    source, y, target, y_target = places(LESS, n=6000)
    named, unnamed = (
        TwoWayEstimator(LinearRegression(), always_recorded=columns, column_groups=PANEL, random_state=0)
        .fit(source, y, X_target=target)
        .score(target, y_target)
        for columns in (["sex"], None)
    )
    oracle = LinearRegression().fit(target, y_target).score(target, y_target)
    assert unnamed < named - 0.005 and named > oracle - 0.005


@filters
def test_a_column_that_is_never_lost_and_lost_with_others(kind):
    source, y, target, _ = places(MORE, n=200)
    with pytest.raises(
        ValueError, match=r"column 'k': named in always_recorded and in column_groups.*name it in one of the two"
    ):
        kind(always_recorded=["k"], column_groups=PANEL).fit_resample(source, y, X_target=target)
    with pytest.raises(ValueError, match=r"column_groups names 'kk', which is no column"):
        kind(column_groups=[["kk", "na"]]).fit_resample(source, y, X_target=target)


def test_a_group_has_one_draw_per_row_whatever_the_form_of_the_rows():
    X = np.ones((4000, 3))
    groups, rates = np.array([0, 1, 1]), np.array([0.2, 0.5, 0.5])
    forms = [X, pd.DataFrame(X), pd.DataFrame(X).astype({0: int}), sparse.csr_array(X), X.astype(object)]
    for form in forms:
        kept = delete_at_random(form, rates, np.random.default_rng(0), groups=groups)
        kept = kept.toarray() if sparse.issparse(kept) else np.asarray(kept, dtype=float)
        np.testing.assert_array_equal(kept[:, 1], kept[:, 2])
        np.testing.assert_allclose(kept.mean(axis=0), 1 - rates, atol=0.03)
        assert abs(np.corrcoef(kept[:, :2].T)[0, 1]) < 0.05


def test_groups_of_one_column_change_no_draw():
    X = np.random.default_rng(0).normal(size=(50, 3))
    plain, grouped = (
        delete_at_random(X, np.array([0.2, 0.5, 0.7]), np.random.default_rng(0), groups=groups)
        for groups in (None, np.arange(3))
    )
    np.testing.assert_array_equal(plain, grouped)


@filters
def test_both_filters_tell_the_same(kind):
    source, y, target, _ = places(MORE)
    fitted = kind(random_state=0)
    rows, labels = fitted.fit_resample(source, y, X_target=target)
    np.testing.assert_array_equal(fitted.relative_missingness_.r, estimate_relative_missingness(source, target).r)
    np.testing.assert_array_equal(fitted.rates_, fitted.relative_missingness_.filter_rates)
    assert fitted.filled_.dtype == bool and list(fitted.feature_names_in_) == COLUMNS
    assert list(rows.columns) == COLUMNS
    np.testing.assert_array_equal(labels, y)


@filters
def test_an_integer_seed_repeats_the_data_without_repeating_its_losses(kind):
    X = np.ones((20_000, 1))
    source, target = apply_missingness(X, 0.3, random_state=5), apply_missingness(X, 0.6, random_state=6)
    rows, _ = kind(random_state=5).fit_resample(source, X[:, 0], X_target=target)
    assert (rows != 0).mean() == pytest.approx(0.4, abs=0.01)
