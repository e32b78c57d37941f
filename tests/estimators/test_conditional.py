"""The law of one feature given the rest, as trees and regressions learn it."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.metrics import roc_auc_score

from dams import apply_missingness
from dams.estimators._choices import Choices
from dams.estimators._conditional import ConditionalLaw
from dams.estimators._linear import Columns, ridge
from tests.estimators.two_way_laws import clean, shifted


def law_of_first(table, labels, folds, **options):
    """The law of the first column of a table of shape (n, d), and the table as the law sees it."""
    columns = Columns(table.T.copy(), labels, folds)
    return ConditionalLaw(columns, np.array([0]), table[:, :1], folds, seed=0, **options), columns.table


def test_trees_learn_from_as_many_rows_as_the_cap_says():
    source, y, _, _ = shifted(n=3000)
    folds = np.arange(3000) % 2
    law, table = law_of_first(source[:, [2, 0, 1]], y[:, None], folds, max_rows=400)
    assert law._forest.estimators_[0].tree_.weighted_n_node_samples[0] == 400
    assert [tree.tree_.n_node_samples[0] for tree in law._classifiers] == [400, 400]
    zeros = np.flatnonzero(source[:, 2] == 0)
    donors = law.donors(table, zeros, np.random.default_rng(0))
    # Only rows that the forest learned from, all of which have a value; the two folds judge each other.
    assert len(np.unique(donors)) <= 400 and (source[donors, 2] != 0).all()


def test_a_cap_leaves_a_rare_value_its_donors():
    """A sample of rows would hold a tenth of them."""
    rng = np.random.default_rng(0)
    rows = np.column_stack([np.where(np.arange(5000) % 50 == 0, rng.normal(size=5000), 0), rng.normal(size=5000)])
    law, table = law_of_first(rows, rng.normal(size=(5000, 1)), np.arange(5000) % 2, max_rows=500)
    assert len(np.unique(law.donors(table, np.flatnonzero(rows[:, 0] == 0), rng))) > 90


def test_the_conditional_law_is_calibrated_on_rows_it_has_not_seen():
    X, y = clean(4000)
    source = apply_missingness(X, [0.3, 0.3, 0.3], random_state=1)
    law, table = law_of_first(source, (y[:, None] - y.mean()) / y.std(), np.arange(4000) % 2)
    probability = law.probability(table, np.arange(4000))
    for low, high in [(0, 0.2), (0.2, 0.45), (0.45, 1)]:
        rows = (probability > low) & (probability <= high)
        assert probability[rows].mean() == pytest.approx((source[rows, 0] != 0).mean(), abs=0.06)


def test_a_law_that_fills_no_row_draws_nothing():
    rng = np.random.default_rng(0)
    rows, labels = rng.normal(size=(40, 3)), rng.normal(size=(40, 1))
    rows[:, 0] = 0
    rows[:4, 0] = [1.0, 2.0, 3.0, 4.0]
    law, table = law_of_first(rows, labels, np.arange(40) % 2)
    assert law.donors(table, np.array([], dtype=int), rng).shape == (0,)


def test_no_row_is_judged_by_trees_that_saw_it():
    """There is nothing to learn, and trees that knew their own rows would tell zeros from values all the same."""
    rng = np.random.default_rng(0)
    rows, labels = rng.normal(size=(600, 11)), rng.normal(size=(600, 1))
    rows[:, 0] = rng.random(600) < 0.5
    law, table = law_of_first(rows, labels, rng.permutation(600) % 2)
    assert abs(roc_auc_score(rows[:, 0], law.probability(table, np.arange(600))) - 0.5) < 0.08
    in_sample, table = law_of_first(rows, labels, np.zeros(600, dtype=int))
    assert roc_auc_score(rows[:, 0], in_sample.probability(table, np.arange(600))) > 0.65


def test_what_the_other_features_leave_of_a_label_is_seen():
    """A value that a sum of many features is set off against: trees alone would need very many splits."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(4000, 21))
    rows[:, 0] = rng.random(4000) < 0.5
    labels = rows.sum(axis=1, keepdims=True)
    law, table = law_of_first(rows, labels, rng.permutation(4000) % 2)
    assert roc_auc_score(rows[:, 0], law.probability(table, np.arange(4000))) > 0.99


def test_columns_that_trees_do_not_see_count_through_the_regression():
    """Each of 40 features tells little, so that any dozen of them tells much less than all."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(6000, 41))
    rows[:, 0] = rng.random(6000) < 1 / (1 + np.exp(-rows[:, 1:].sum(axis=1)))
    law, table = law_of_first(rows, rng.normal(size=(6000, 1)), rng.permutation(6000) % 2)
    assert roc_auc_score(rows[:, 0], law.probability(table, np.arange(6000))) > 0.93


def test_trees_see_the_columns_most_correlated_with_what_they_learn():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(4000, 30))
    related = [1, 3, 5, 20]
    rows[:, 0] = (rows[:, related] @ [1, 1, 1, -1] > 0) & (rng.random(4000) < 0.9)
    labels, folds = rng.normal(size=(4000, 1)), np.arange(4000) % 2
    few, _ = law_of_first(rows[:, : related[-1] + 1][:, [0, *related]], labels, folds, choices=Choices(n_columns=2))
    assert len(few._for_probability) == 2
    # Of a wide table, half.
    law, _ = law_of_first(rows, labels, folds, choices=Choices(n_columns=2))
    assert len(law._for_probability) == 15
    assert set(related) <= set(law._for_probability)


def test_donors_are_rows_with_a_value_that_is_near_what_the_rest_tells():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(3000, 3))
    truth = rows[:, 1] + 5
    rows[:, 0] = np.where(rng.random(3000) < 0.5, truth, 0)
    law, table = law_of_first(rows, rng.normal(size=(3000, 1)), np.arange(3000) % 2)
    zeros = np.flatnonzero(rows[:, 0] == 0)
    values = rows[law.donors(table, zeros, rng), 0]
    assert (values != 0).all()
    assert np.abs(values - truth[zeros]).mean() < 0.1


def test_moments_follow_a_column_that_changes():
    rng = np.random.default_rng(0)
    table, labels, folds = rng.normal(size=(4, 50)), rng.normal(size=(50, 2)), np.arange(50) % 3
    columns = Columns(table, labels, folds)
    table[[1, 3]] = rng.normal(size=(2, 50))
    columns.refresh(np.array([1, 3]))
    for kept, anew in zip(columns.by_fold, Columns(table, labels, folds).by_fold, strict=True):
        np.testing.assert_allclose(kept, anew, atol=1e-12)


def test_ridge_is_scikit_learns():
    rng = np.random.default_rng(0)
    table, labels = rng.normal(size=(4, 50)) + 3, rng.normal(size=(50, 1))
    columns, target = Columns(table, labels, np.zeros(50, dtype=int)), rng.normal(size=(50, 2))
    seen = np.array([0, 2, 4])
    weights = ridge(columns.by_fold[0], seen, columns.products(target)[0])
    model = Ridge().fit(np.column_stack([table.T, labels])[:, seen], target)
    np.testing.assert_allclose(weights[seen].T, model.coef_)
    np.testing.assert_allclose(weights[-1], model.intercept_)
    assert not weights[[1, 3]].any()


def test_values_far_above_the_others_hide_nothing():
    """Their like stands in real tables: capital gains, laboratory values. Only zero or not tells, in one column."""
    rng = np.random.default_rng(0)
    rows = np.exp(4 * rng.normal(size=(6000, 6)))
    rows[:, 1] *= rng.random(6000) < 0.3
    rows[:, 0] = (rows[:, 1] != 0) ^ (rng.random(6000) < 0.1)
    law, table = law_of_first(rows, rng.normal(size=(6000, 1)), np.arange(6000) % 2)
    assert roc_auc_score(rows[:, 0], law.probability(table, np.arange(6000))) > 0.85
    # Donors, too: recorded values are of another order where the second column is zero.
    rows[:, 0] = np.where(rng.random(6000) < 0.5, np.where(rows[:, 1] != 0, 1, 10) + rng.random(6000), 0)
    law, table = law_of_first(rows, rng.normal(size=(6000, 1)), np.arange(6000) % 2)
    zeros = np.flatnonzero(rows[:, 0] == 0)
    given = rows[law.donors(table, zeros, rng), 0]
    assert ((given > 5) == (rows[zeros, 1] == 0)).mean() > 0.9
