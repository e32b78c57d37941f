"""The bound on r̂: it covers, and it is wider than need be."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from dams.relative import from_counts
from dams.theory.coverage import simulate_coverage

SIZES = [100, 1000, 10_000]


@pytest.fixture(scope="module")
def table():
    return simulate_coverage(0.3, 0.2, SIZES, random_state=0).set_index(["method", "n"])


def test_bound_covers_more_than_it_promises(table):
    assert (table.loc["hoeffding", "coverage"] >= 0.95).all()


def test_delta_interval_covers_what_it_promises(table):
    # Three standard errors of a share over 2,000 runs.
    assert_allclose(table.loc["delta", "coverage"], 0.95, atol=0.015)


def test_widths_shrink_with_the_root_of_n(table):
    for method in ("hoeffding", "delta"):
        width = table.loc[method, "median_width"]
        assert_allclose(width[10_000] / width[1000], np.sqrt(0.1), rtol=0.1)


def test_bound_is_wider_than_the_delta_interval(table):
    assert (table.loc["hoeffding", "median_width"] > 2 * table.loc["delta", "median_width"]).all()


def test_interval_covers_exactly_when_the_bound_holds():
    rng = np.random.default_rng(0)
    n_source, n_target, q_source, q_target, delta = 80, 200, 0.3, 0.6, 0.9
    source, target = rng.binomial(n_source, q_source, 3000), rng.binomial(n_target, q_target, 3000)
    r = 1 - q_target / q_source
    estimate = from_counts(source, target, n_source, n_target, confidence=1 - delta, method="hoeffding")
    root = np.sqrt(np.log(4 / delta) / 2)
    bound = (root / np.sqrt(n_target) + (1 - r) * root / np.sqrt(n_source)) / (source / n_source)
    holds = np.abs(estimate.r - r) <= bound
    assert 0 < np.mean(~holds) < delta
    assert ((estimate.lower <= r) & (r <= estimate.upper)).tolist() == holds.tolist()


def test_runs_without_nonzeros_are_left_out_and_counted():
    table = simulate_coverage(0.02, 0.02, [50], n_runs=500, random_state=0)
    assert 0 < table["runs"].iloc[0] < 500


def test_same_seed_same_table():
    once, again = (simulate_coverage(0.3, 0.2, [50], n_runs=20, random_state=1) for _ in range(2))
    assert once.equals(again)


def test_no_usable_run_is_refused():
    with pytest.raises(
        ValueError, match=r"No run of 1 rows has a nonzero in both domains .* ask for more rows or more"
    ):
        simulate_coverage(1e-9, 1e-9, [1], n_runs=3, random_state=0)
