"""`check_ucar` on wide tables: the same statistics, of pairs that are chosen without a look at them."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from dams import _ucar_wide, apply_missingness, check_ucar


def tables(n=1200, d=8, seed=0):
    """Indicators, values and levels that exclude each other, with loss of both signs."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(2 * n, 1)) + rng.normal(size=(2 * n, d))
    X[:, :2] = X[:, :2] > 0
    X[:, 2:5] = np.eye(3)[rng.integers(0, 3, 2 * n)]
    X[:, 5] = rng.integers(1, 4, 2 * n)
    source = apply_missingness(X[:n], rng.uniform(0, 0.6, d), random_state=rng)
    target = apply_missingness(X[n:], rng.uniform(0, 0.6, d), random_state=rng)
    return source, target, X


def narrow_and_wide(source, target, monkeypatch, **known):
    narrow = check_ucar(source, target, random_state=0, n_bootstrap=200, **known)
    monkeypatch.setattr(_ucar_wide, "WIDE", 3)
    return narrow, check_ucar(source, target, random_state=0, n_bootstrap=200, **known)


def sorted_checks(report):
    keys = ["kind", "feature", "other", "feature_by_value", "other_by_value", "effect"]
    return report.checks.sort_values(keys, ignore_index=True)


KNOWN = {
    "nothing": {},
    "columns": {"always_recorded": [5], "column_groups": [[6, 7]]},
    "rows": {"groups": np.arange(1200) // 2, "groups_target": np.arange(1200) // 3},
}


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("known", KNOWN)
def test_all_pairs_give_the_checks_of_a_narrow_table(known, make, monkeypatch):
    source, target, X = tables()
    source[:, 5], target[:, 5] = X[:1200, 5], X[1200:, 5]
    narrow, wide = narrow_and_wide(make(source), make(target), monkeypatch, **KNOWN[known])
    expected, found = sorted_checks(narrow), sorted_checks(wide)
    assert set(found["kind"]) >= {"pairs", "values", "bounds"}
    names = ["kind", "feature", "other", "feature_by_value", "other_by_value"]
    pd.testing.assert_frame_equal(found[names], expected[names])
    for name in ("statistic", "z", "effect", "effect_lower", "effect_upper"):
        np.testing.assert_allclose(found[name], expected[name], rtol=1e-4, atol=1e-5)


def test_levels_that_exclude_each_other_are_checked_by_absence(monkeypatch):
    source, target, X = tables()
    source[:, 2:5], target[:, 2:5] = X[:1200, 2:5], X[1200:, 2:5]
    target[:300, 2:5] = [1, 0, 0]
    narrow, wide = narrow_and_wide(source, target, monkeypatch)
    assert "absences" in set(wide.checks["kind"])
    absences = [sorted_checks(report).query("kind == 'absences'") for report in (narrow, wide)]
    np.testing.assert_allclose(absences[1]["z"], absences[0]["z"], rtol=1e-6)


def test_the_pairs_are_those_that_most_rows_should_show(monkeypatch):
    monkeypatch.setattr(_ucar_wide, "WIDE", 3)
    monkeypatch.setattr(_ucar_wide, "PARTNERS", 1)
    rng = np.random.default_rng(0)
    shares = np.array([0.9, 0.5, 0.3, 0.1])
    source, target = (rng.random((3000, 4)) < shares for _ in range(2))
    report = check_ucar(source.astype(float), target.astype(float), random_state=0)
    pairs = report.checks.query("kind == 'pairs'")
    # Each goes with the most frequent other.
    assert set(zip(pairs["feature"], pairs["other"], strict=True)) == {("column 0", f"column {j}") for j in (1, 2, 3)}
    assert report.pairs_left_out == 3
    assert "3 pairs that fewer rows show were left out" in str(report)


def test_narrow_tables_are_not_screened():
    source, target, _ = tables()
    assert not _ucar_wide.is_wide(source, target)
    assert check_ucar(source, target, random_state=0).pairs_left_out == 0
    assert _ucar_wide.is_wide(sparse.csr_array((30, 701)), sparse.csr_array((30, 701)))
    values = np.random.default_rng(0).normal(size=(30, 400))
    assert _ucar_wide.is_wide(values, values)
    assert not _ucar_wide.is_wide(values > 0, values > 0)


def test_zeros_that_are_stored_are_absent(monkeypatch):
    source, target, _ = tables()
    stored = sparse.csr_array(source)
    stored.data[::7] = 0
    _, dense = narrow_and_wide(stored.toarray(), target, monkeypatch)
    kept = check_ucar(stored, sparse.csr_array(target), random_state=0, n_bootstrap=200)
    pd.testing.assert_frame_equal(kept.checks, dense.checks)


def topics(n, d, rng):
    """Rows of five topics, values in some columns."""
    shares = np.minimum(rng.gamma(0.6, 0.25, (5, d)) + 0.02, 0.9)
    X = (rng.random((2 * n, d)) < shares[rng.integers(0, 5, 2 * n)]).astype(float)
    X[:, ::3] *= rng.exponential(size=(2 * n, len(X[0, ::3])))
    return X


def screened(runs, monkeypatch, *, dependent):
    monkeypatch.setattr(_ucar_wide, "WIDE", 3)
    monkeypatch.setattr(_ucar_wide, "PARTNERS", 4)
    rejected = []
    for seed in range(runs):
        rng = np.random.default_rng([seed, 7])
        n, d = 1000, 25
        X = topics(n, d, rng)
        rates = rng.uniform(0, 0.6, (2, d))
        source = apply_missingness(X[:n], rates[0], random_state=rng)
        target = apply_missingness(X[n:], rates[1], random_state=rng)
        if dependent:
            shares = (X != 0).mean(axis=0)
            cause = np.argmax(np.where(shares < 0.6, shares, 0))
            lost = X[n:, cause] != 0
            target[lost] *= (rng.random((lost.sum(), d)) >= 0.8) | (np.arange(d) == cause)
        report = check_ucar(sparse.csr_array(source), sparse.csr_array(target), random_state=rng, n_bootstrap=300)
        assert report.pairs_left_out > 100
        rejected.append(report.rejected)
    return np.mean(rejected)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_screened_pairs_keep_the_level_and_find_a_common_cause(monkeypatch):
    # 300 runs of the benchmark say more; of 40 at 5 %, more than six have a probability of .5 %.
    assert screened(40, monkeypatch, dependent=False) <= 0.15
    assert screened(10, monkeypatch, dependent=True) >= 0.8
