"""Crossed bootstrap: it covers where pooling does not, and pairing cancels what two methods share."""

import numpy as np
import pytest
from scipy.stats import norm, t

from dams.stats import (
    Components,
    crossed_bootstrap,
    crossed_replicates,
    paired_difference,
    pooled_interval,
    small_sample_stretch,
)

DRAWS, BETAS = 50, 10


def table(rng, rows=DRAWS, columns=BETAS, row_effect=1.0, column_effect=1.0, noise=0.5):
    """A two-way random-effects table of mean 0."""
    return (
        row_effect * rng.normal(size=(rows, 1))
        + column_effect * rng.normal(size=(1, columns))
        + noise * rng.normal(size=(rows, columns))
    )


def covers(interval):
    return interval.lower <= 0 <= interval.upper


@pytest.mark.parametrize("size", [(50, 10), (20, 5), (10, 3)], ids=["50 × 10", "20 × 5", "10 × 3"])
@pytest.mark.parametrize("effects", [(1.0, 1.0), (1.0, 0.2), (0.2, 1.0)], ids=["both", "mostly rows", "mostly columns"])
def test_the_crossed_interval_covers_at_the_sizes_of_the_paper(effects, size):
    rng = np.random.default_rng(0)
    tables = [table(rng, *size, *effects) for _ in range(400)]
    crossed = np.mean(
        [covers(crossed_bootstrap(values, replicates=400, random_state=i)) for i, values in enumerate(tables)]
    )
    # 400 tables tell a share of .95 to ± .02. Without the stretch it is .76 to .92 where columns have a part in it.
    assert 0.92 <= crossed <= 0.99
    assert np.mean([covers(pooled_interval(values)) for values in tables]) < crossed - 0.1


def test_the_stretch_of_a_single_column_is_students():
    values = np.random.default_rng(8).normal(size=(5, 1))
    expected = t.ppf(0.95, 4) / norm.ppf(0.95) * np.sqrt(5 / 4)
    for these in (values, values.T, np.pad(values, ((0, 2), (0, 1)), constant_values=np.nan)):
        assert small_sample_stretch(these, 0.9) == pytest.approx(expected)


def test_the_stretch_of_large_tables_is_none():
    assert small_sample_stretch(table(np.random.default_rng(9), 3000, 4000), 0.95) == pytest.approx(1, abs=2e-3)
    assert small_sample_stretch(np.full((3, 3), 7.0), 0.95) == 1


def test_a_single_column_is_a_bootstrap_over_draws():
    """The width is that of the textbook interval for a mean of independent draws."""
    values = np.random.default_rng(1).normal(3, 2, (200, 1))
    interval = crossed_bootstrap(values, replicates=5000, random_state=0)
    half = 1.96 * values.std(ddof=0) / np.sqrt(len(values))
    assert interval.mean == pytest.approx(values.mean())
    assert interval.lower == pytest.approx(values.mean() - half, abs=0.05 * half)
    assert interval.upper == pytest.approx(values.mean() + half, abs=0.05 * half)


def test_a_single_row_resamples_columns():
    values = np.random.default_rng(1).normal(size=(1, 50))
    wide = crossed_bootstrap(values, random_state=0)
    np.testing.assert_allclose(
        [wide.lower, wide.upper], values.mean() + np.array([-1, 1]) * 1.96 * values.std() / np.sqrt(50), atol=0.05
    )


def test_means_match_a_bootstrap_written_out():
    """Resample rows and columns by index, as the definition says."""
    rng = np.random.default_rng(2)
    values = table(rng, 12, 7)
    means = [values[np.ix_(rng.integers(0, 12, 12), rng.integers(0, 7, 7))].mean() for _ in range(20_000)]
    replicates = crossed_replicates(values, replicates=20_000, random_state=0)
    interval = crossed_bootstrap(values, replicates=20_000, random_state=0)
    limits, mean = np.quantile(means, [0.025, 0.975]), values.mean()
    np.testing.assert_allclose(np.quantile(replicates, [0.025, 0.975]), limits, atol=0.03)
    stretched = mean + small_sample_stretch(values, 0.95) * (limits - mean)
    np.testing.assert_allclose([interval.lower, interval.upper], stretched, atol=0.03)


def test_the_level_is_followed():
    values = table(np.random.default_rng(3))
    narrow, wide = (crossed_bootstrap(values, confidence=c, random_state=0) for c in (0.5, 0.99))
    assert wide.lower < narrow.lower < narrow.mean < narrow.upper < wide.upper


def test_missing_entries_are_left_out():
    rng = np.random.default_rng(4)
    values = table(rng)
    values[rng.random(values.shape) < 0.2] = np.nan
    interval = crossed_bootstrap(values, random_state=0)
    assert interval.mean == pytest.approx(np.nanmean(values))
    assert interval.lower < interval.mean < interval.upper


def test_a_missing_row_and_column_change_nothing_but_the_resampling():
    values = np.full((4, 3), np.nan)
    values[:3, :2] = 5.0
    interval = crossed_bootstrap(values, random_state=0)
    assert (interval.mean, interval.lower, interval.upper) == (5.0, 5.0, 5.0)


def test_nothing_known_gives_nothing():
    for interval in (crossed_bootstrap(np.full((3, 2), np.nan)), pooled_interval(np.full((3, 2), np.nan))):
        assert np.isnan([interval.mean, interval.lower, interval.upper]).all()


@pytest.mark.parametrize("others", [[], [np.nan, np.nan]], ids=["alone", "among failures"])
def test_one_value_has_a_mean_but_no_interval(others):
    values = np.array([[2.0, *others]])
    for interval in (crossed_bootstrap(values), pooled_interval(values)):
        assert interval.mean == 2
        assert np.isnan([interval.lower, interval.upper]).all()


def test_a_list_of_values_is_refused():
    with pytest.raises(ValueError, match=r"draws × betas, got an array of shape \(5,\)"):
        crossed_bootstrap(np.zeros(5))


def test_same_seed_same_interval():
    values = table(np.random.default_rng(5))
    first, same, other = (crossed_bootstrap(values, random_state=seed) for seed in (1, 1, 2))
    assert first == same
    assert first != other


def test_the_pooled_interval_is_the_textbook_one():
    values = np.random.default_rng(6).normal(size=(20, 5))
    interval = pooled_interval(values, confidence=0.95)
    half = 1.959964 * values.std(ddof=1) / 10
    np.testing.assert_allclose([interval.lower, interval.upper], values.mean() + np.array([-half, half]), rtol=1e-6)


def test_paired_differences_cancel_what_is_shared():
    rng = np.random.default_rng(7)
    shared = table(rng, row_effect=5, column_effect=5)
    first, second = (shared + gap + 0.1 * rng.normal(size=shared.shape) for gap in (0.0, 0.2))
    interval = paired_difference(first, second, random_state=0)
    assert interval.lower < -0.2 < interval.upper
    assert interval.upper < 0
    alone = crossed_bootstrap(first, random_state=0)
    assert interval.upper - interval.lower < 0.05 * (alone.upper - alone.lower)


@pytest.mark.parametrize("mean", [crossed_bootstrap, pooled_interval])
def test_infinite_values_are_refused(mean):
    with pytest.raises(ValueError, match="1 infinite"):
        mean(np.array([[1, np.inf], [2, 3]]))


def test_components_are_unbiased():
    rng = np.random.default_rng(0)
    found = []
    for _ in range(400):
        table = rng.normal(0, 2, (12, 1)) + rng.normal(0, 1, (1, 6)) + rng.normal(0, 0.5, (12, 6))
        parts = Components.of(table)
        found.append((parts.draws, parts.betas, parts.rest))
    np.testing.assert_allclose(np.mean(found, axis=0), [4, 1, 0.25], rtol=0.1)
    # What a mean over another design would scatter by.
    assert Components(4, 1, 0.25).variance_of_mean(50, 10) == pytest.approx(4 / 50 + 1 / 10 + 0.25 / 500)


def test_with_one_beta_all_is_the_draws():
    values = np.random.default_rng(0).normal(size=(50, 1))
    parts = Components.of(values)
    assert (parts.draws, parts.betas, parts.rest) == (pytest.approx(values.var(ddof=1)), 0, 0)


def test_intervals_that_hold_together_cover_together():
    """Of 100 repeats of 10 means, the share in which all ten intervals hold theirs; alone, they would in 0.6."""
    rng = np.random.default_rng(0)
    covered = {1: 0, 10: 0}
    for repeat in range(100):
        tables = rng.normal(size=(10, 30, 1))
        for together in covered:
            intervals = [crossed_bootstrap(t, replicates=1000, together=together, random_state=repeat) for t in tables]
            covered[together] += all(i.lower <= 0 <= i.upper for i in intervals)
    assert covered[10] / 100 > 0.88
    assert covered[1] / 100 < 0.8
