"""The imputer's contract: what it starts from, what it returns, and what it does with degenerate columns."""

import numpy as np
import pytest

from dams.imputation import MissForestImputer


@pytest.fixture
def holed():
    rng = np.random.default_rng(0)
    clean = rng.normal(size=(400, 1)) + 0.2 * rng.normal(size=(400, 3)) + 3
    observed = np.where(rng.random(clean.shape) < [0.1, 0.3, 0.2], 0.0, clean)
    return clean, observed


def test_one_sweep_returns_plain_means(holed):
    """The last matrix but one is returned, so a single sweep leaves the means it started from."""
    _, observed = holed
    imputed = MissForestImputer(max_iter=1, random_state=0).fit_transform(observed)
    means = [column[column != 0].mean() for column in observed.T]
    np.testing.assert_allclose(imputed, np.where(observed == 0, means, observed))


@pytest.mark.parametrize("compat", ["missingpy", "inductive"])
def test_values_are_closer_to_the_truth_than_means(holed, compat):
    clean, observed = holed
    lost = observed == 0
    means, forests = (
        MissForestImputer(max_iter=sweeps, compat=kind, random_state=0).fit_transform(observed)
        for sweeps, kind in ((1, "missingpy"), (5, compat))
    )
    assert np.abs(forests - clean)[lost].mean() < 0.5 * np.abs(means - clean)[lost].mean()
    np.testing.assert_array_equal(forests[~lost], observed[~lost])


def test_zero_one_columns_become_constant_ones():
    rng = np.random.default_rng(1)
    X = (rng.random((200, 4)) < 0.4).astype(float)
    np.testing.assert_array_equal(MissForestImputer(random_state=0).fit_transform(X), np.ones_like(X))


def test_nothing_missing_changes_nothing(holed):
    clean, _ = holed
    np.testing.assert_array_equal(MissForestImputer(random_state=0).fit_transform(clean), clean)


def test_input_stays_as_it_was_and_seeds_decide(holed):
    _, observed = holed
    before = observed.astype(np.float32)
    copy = before.copy()
    first, second = (MissForestImputer(random_state=3).fit_transform(before) for _ in range(2))
    np.testing.assert_array_equal(before, copy)
    np.testing.assert_array_equal(first, second)


def test_nan_may_mark_what_is_missing(holed):
    _, observed = holed
    marked = np.where(observed == 0, np.nan, observed)
    with_nan = MissForestImputer(missing_values=np.nan, random_state=0).fit_transform(marked)
    np.testing.assert_allclose(with_nan, MissForestImputer(random_state=0).fit_transform(observed))


def test_a_column_never_observed_is_named():
    X = np.ones((20, 2))
    X[:, 1] = 0
    with pytest.raises(ValueError, match="column"):
        MissForestImputer().fit(X)


def test_a_column_unobserved_in_new_rows_raises_or_takes_the_mean(holed):
    _, observed = holed
    rows = observed[:50].copy()
    rows[:, 2] = 0
    with pytest.raises(ValueError, match="all_missing='statistic'"):
        MissForestImputer(random_state=0).fit(observed).transform(rows)
    imputer = MissForestImputer(random_state=0, all_missing="statistic").fit(observed)
    np.testing.assert_allclose(imputer.transform(rows)[:, 2], imputer.statistics_[2])
