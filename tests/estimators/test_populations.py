"""Another population is told from another draw of groups, where rows belong together."""

import numpy as np
import pytest

from dams import ClosedFormRegressor
from dams._rows import variance_of_mean
from dams.estimators import _populations
from dams.estimators._populations import clearly_differ, moments_of


def grouped(seed, n_groups=40, size=100):
    """Ages of groups, from one population, and two columns that are lost."""
    rng = np.random.default_rng(seed)
    ids = np.repeat(np.arange(n_groups), size)
    age = rng.normal(size=n_groups)[ids] + 0.1 * rng.normal(size=len(ids))
    X = np.column_stack([age, rng.normal(size=(len(ids), 2)) + 1])
    y = X.sum(axis=1)
    X[:, 1:] *= rng.random((len(ids), 2)) < 0.7
    return X, y, ids


def test_groups_of_one_population_do_not_clearly_differ():
    always = np.array([True, False, False])
    with_groups, without = [], []
    for seed in range(60):
        (X, _, ids), (X_target, _, ids_target) = grouped(2 * seed), grouped(2 * seed + 1)
        with_groups.append(clearly_differ(moments_of(X, always, ids), moments_of(X_target, always, ids_target)))
        without.append(clearly_differ(moments_of(X, always), moments_of(X_target, always)))
    assert not any(with_groups)
    assert np.mean(without) > 0.4  # rows would be counted as independent


@pytest.mark.parametrize("anchors", [None, [0]])
@pytest.mark.parametrize("stabilise", [True, False])
def test_the_closed_form_counts_groups(anchors, stabilise, monkeypatch):
    found = []
    monkeypatch.setattr(_populations, "clearly_differ", lambda *both: found.append(clearly_differ(*both)) or found[-1])
    (X, y, ids), (X_target, _, ids_target) = grouped(4), grouped(5)
    X_target[:, 1] *= np.random.default_rng(1).random(len(X_target)) < 0.5  # something to adjust to
    if anchors is not None:  # a column that is always recorded beside the anchor is looked at
        sex = np.random.default_rng(0).normal(size=len(X))
        X, X_target = (np.column_stack([sex, table]) for table in (X, X_target))
    model = ClosedFormRegressor(always_recorded=[0, 1] if anchors else [0], anchors=anchors, stabilise=stabilise)
    model.fit(X, y, X_target)
    model.fit(X, y, X_target, groups=ids, groups_target=ids_target)
    assert found == [True, False]


def test_rows_that_stand_alone_have_the_variance_of_rows():
    values = np.random.default_rng(0).normal(size=(50, 2))
    np.testing.assert_array_equal(variance_of_mean(values), values.var(axis=0) / 50)
    np.testing.assert_array_equal(variance_of_mean(values, np.arange(50)), values.var(axis=0) / 50)
    twice = variance_of_mean(np.repeat(values, 4, axis=0), np.repeat(np.arange(50), 4))
    np.testing.assert_allclose(twice, values.var(axis=0, ddof=1) / 50)
