"""A few target labels: none change nothing, many give the target's optimum, and the test keeps its level."""

import warnings

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from benchmarks.coverage_of_coefficients import Law
from benchmarks.few_labels import sample_target
from dams import ClosedFormRegressor, Summary
from dams.estimators._label_sample import is_random_sample
from tests.anchored_laws import anchored_law


def shifted(mechanism="UCAR", n=1500, seed=0):
    rng = np.random.default_rng([seed, *mechanism.encode()])
    law = Law(rng)
    return *law.sample(0, n, rng), *sample_target(law, mechanism, n, rng)


def some(y, m):
    return np.where(np.arange(len(y)) < m, y, np.nan)


@pytest.mark.parametrize("options", [{}, {"stabilise": False}, {"fit_intercept": False}])
def test_no_label_changes_no_bit(options):
    source, y, target, y_target = shifted(n=300)
    plain = ClosedFormRegressor(**options).fit(source, y, X_target=target)
    empty = ClosedFormRegressor(**options).fit(source, y, X_target=target, y_target=some(y_target, 0))
    np.testing.assert_array_equal(empty.coef_, plain.coef_)
    assert empty.intercept_ == plain.intercept_
    assert not hasattr(empty, "label_check_")


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_a_discrete_law_with_all_labels_gives_the_targets_optimum(fit_intercept):
    """Loss depends on what is not told, so that the adjustment alone is wrong; every label is known."""
    (source, y), (target, y_target), _, _ = anchored_law()
    options = {"fit_intercept": fit_intercept}
    optimum = LinearRegression(**options).fit(target, y_target)
    model = ClosedFormRegressor(**options, always_recorded=[0])
    alone = model.fit(source, y, X_target=target).coef_
    with_labels = model.fit(source, y, X_target=target, y_target=y_target)
    wrong = np.abs(alone - optimum.coef_).max()
    assert wrong > 0.03
    # Of 40,000 labels the step is taken but for a few hundredths.
    assert np.abs(with_labels.coef_ - optimum.coef_).max() < wrong / 10
    assert with_labels.label_check_.contradicted
    assert with_labels.label_check_.shares[1] > 0.95


def test_the_level_is_kept_under_ucar():
    """Of 60 draws at level .05, nine rejections have a probability of .003."""
    found = []
    for seed in range(60):
        source, y, target, y_target = shifted(n=500, seed=seed)
        model = ClosedFormRegressor(stabilise=False).fit(source, y, X_target=target, y_target=some(y_target, 60))
        found.append(model.label_check_.p_value)
    assert np.mean(np.array(found) < 0.05) < 9 / 60
    # Not merely silent: p-values spread.
    assert 0.3 < np.median(found) < 0.8


@pytest.mark.parametrize("mechanism", ["loss by outcome", "label shift", "concept shift"])
def test_labels_find_and_mend_what_covariates_cannot_show(mechanism):
    before, after, found = [], [], []
    for seed in range(4):
        source, y, target, y_target = shifted(mechanism, seed=seed)
        held = slice(400, None)
        model = ClosedFormRegressor()
        before.append(model.fit(source, y, X_target=target).score(target[held], y_target[held]))
        model.fit(source, y, X_target=target, y_target=some(y_target, 400))
        after.append(model.score(target[held], y_target[held]))
        found.append(model.label_check_.contradicted)
    assert sum(found) >= 3
    best = np.mean(after) - np.mean(before)
    assert best > 0.01


def test_several_labels_are_corrected_one_by_one_and_said():
    source, y, target, y_target = shifted("label shift")
    Y, Y_target = np.column_stack([y, -y]), np.column_stack([some(y_target, 200), -some(y_target, 300)])
    both = ClosedFormRegressor().fit(source, Y, X_target=target, y_target=Y_target)
    one = ClosedFormRegressor().fit(source, y, X_target=target, y_target=some(y_target, 200))
    np.testing.assert_allclose(both.coef_[0], one.coef_, rtol=1e-8)
    assert [check.n_labels for check in both.label_check_] == [200, 300]
    text = str(one.label_check_)
    assert "200 labelled target rows contradict the adjustment" in text
    assert "% of what they ask for in mean and scale" in text
    agreeing = shifted(seed=5)
    quiet = ClosedFormRegressor().fit(*agreeing[:2], X_target=agreeing[2], y_target=some(agreeing[3], 100))
    assert "Nothing in 100 labelled target rows speaks against" in str(quiet.label_check_)


def test_copies_of_labelled_rows_that_are_told_of_do_not_alarm():
    source, y, target, y_target = shifted(n=400, seed=3)
    once = ClosedFormRegressor(stabilise=False).fit(source, y, X_target=target, y_target=some(y_target, 50))
    rows = np.tile(np.arange(400), 3)
    told = ClosedFormRegressor(stabilise=False).fit(
        source[rows],
        y[rows],
        X_target=target[rows],
        y_target=some(y_target, 50)[rows],
        groups=rows,
        groups_target=rows,
    )
    assert told.label_check_.p_value == pytest.approx(once.label_check_.p_value, rel=0.02)


def test_copies_of_labelled_rows_that_are_told_of_correct_no_further():
    """Eight copies of each row tell no more than one does, and a single patient tells nothing."""
    source, y, target, y_target = shifted("concept shift", n=400)
    model = ClosedFormRegressor(stabilise=False, gram="target")
    shares = [model.fit(source, y, X_target=target, y_target=some(y_target, 30)).label_check_.shares]
    copies = np.repeat(np.arange(400), 8)
    copied = target[copies], some(y_target, 30)[copies]
    for ids in (copies, np.where(copies < 30, 0, copies)):
        fit = model.fit(source, y, X_target=copied[0], y_target=copied[1], groups_target=ids)
        shares.append(fit.label_check_.shares)
    np.testing.assert_allclose(shares[1], shares[0], atol=1e-6)
    assert max(shares[0]) > 0.1
    assert shares[2] == (0, 0)


def test_with_anchors_labels_correct_and_do_not_test():
    (source, y), (target, y_target), _, _ = anchored_law()
    keep = slice(None, None, 20)
    model = ClosedFormRegressor(anchors=[0])
    model.fit(source[keep], y[keep], X_target=target[keep], y_target=y_target[keep])
    assert model.label_check_.p_value is None
    assert "which is not tested" in str(model.label_check_)


def test_a_fit_on_summaries_leaves_no_check_of_an_earlier_fit():
    source, y, target, y_target = shifted(n=400)
    model = ClosedFormRegressor().fit(source, y, X_target=target, y_target=some(y_target, 100))
    assert hasattr(model, "label_check_")
    model.fit_summaries(Summary.of(source, y), Summary.of(target))
    assert not hasattr(model, "label_check_")


@pytest.mark.parametrize("intercept", [True, False])
def test_labels_of_the_most_complete_rows_are_not_used(intercept):
    source, y, target, y_target = shifted(seed=2)
    order = np.argsort(-(target != 0).sum(axis=1), kind="stable")
    chosen = np.full(len(target), np.nan)
    chosen[order[:200]] = y_target[order[:200]]
    model = ClosedFormRegressor(fit_intercept=intercept)
    alone = model.fit(source, y, X_target=target).coef_
    with pytest.warns(UserWarning, match="not a random sample .* number of values in a row is .* at random"):
        model.fit(source, y, X_target=target, y_target=chosen)
    np.testing.assert_array_equal(model.coef_, alone)
    assert not model.label_check_.is_random and not model.label_check_.contradicted
    assert "200 labelled target rows are not a random sample" in str(model.label_check_)


@pytest.mark.parametrize("size", [1, 5])
def test_random_labels_are_hardly_ever_called_chosen(size):
    """Rare columns, long tails, few labels, groups that are as one: at level .01, 20 alarms have p = .004."""
    rng, found = np.random.default_rng(0), []
    X = np.exp(2 * rng.normal(size=(200, 30))) * (rng.random((200, 30)) < rng.uniform(0.005, 0.9, 30))
    X, ids = np.repeat(X, size, axis=0), np.repeat(np.arange(200), size)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for m in (5, 20, 60, 150):
            for _ in range(250):
                labelled = np.isin(ids, rng.choice(200, m, replace=False))
                found.append(is_random_sample(X, labelled, None if size == 1 else ids, None))
    assert np.mean(found) > 0.98


def test_every_row_labelled_is_no_sample():
    X = np.random.default_rng(0).normal(size=(50, 2))
    assert is_random_sample(X, np.ones(50, dtype=bool), None, None)


@pytest.mark.parametrize("value", [0.1, 0.7, 1e9 / 3])
def test_a_column_of_one_value_tells_nothing(value):
    X = np.full((1001, 3), value)
    assert is_random_sample(X, np.arange(1001) < 400, None, None)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (np.zeros(3), r"one entry per row of X_target and as many labels as y, \(300, 1\)"),
        (np.r_[1.0, np.full(299, np.nan)], "1 labels, too few to tell their spread: give at least 5"),
        (np.r_[np.inf, np.zeros(299)], "infinite values"),
    ],
)
def test_wrong_labels_are_refused(labels, message):
    source, y, target, _ = shifted(n=300)
    with pytest.raises(ValueError, match=message):
        ClosedFormRegressor().fit(source, y, X_target=target, y_target=labels)
    with pytest.raises(ValueError, match="give these as X_target"):
        ClosedFormRegressor().fit(source, y, X_target=None, y_target=labels)
