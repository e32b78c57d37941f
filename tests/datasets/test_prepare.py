"""Scaling and dropping as the paper's text has it."""

import numpy as np
import pandas as pd
import pytest

from dams.datasets.prepare import drop_uninformative, standardise


def test_standardising_uses_what_is_present_and_fills_the_rest_with_zero():
    scaled = standardise(pd.Series([1.0, 3.0, np.nan, 5.0]))
    np.testing.assert_allclose(scaled, [-1, 0, 0, 1])


@pytest.mark.parametrize("value", [0.0, 1.0, 0.1, 1 / 3, 7.7])
@pytest.mark.parametrize("rows", [7, 10, 1000])
def test_a_column_without_spread_becomes_zero(value, rows):
    np.testing.assert_array_equal(standardise(pd.Series(np.full(rows, value))), np.zeros(rows))


def test_a_column_without_values_becomes_zero():
    np.testing.assert_array_equal(standardise(pd.Series([np.nan, np.nan])), [0, 0])


@pytest.fixture
def table():
    n = 1000
    rng = np.random.default_rng(0)
    columns = {
        "number": rng.normal(size=n),
        "common": (np.arange(n) < 300).astype(float),
        "at_limit": (np.arange(n) < 50).astype(float),
        "rare": (np.arange(n) < 49).astype(float),
        "flat": 5 + 0.04 * rng.choice([-1.0, 1.0], n),
        "constant": np.full(n, 2.0),
        "rare_number": np.where(np.arange(n) < 10, 10.0, 0.0),
    }
    return pd.DataFrame(columns)


def test_rare_and_flat_columns_are_dropped(table):
    kept = drop_uninformative(table, rare=["common", "at_limit", "rare"])
    # Five per cent of the rows is enough; only the columns named can be too rare.
    assert list(kept.columns) == ["number", "common", "at_limit", "rare_number"]
    pd.testing.assert_frame_equal(kept, table[list(kept.columns)])


def test_nothing_named_nothing_too_rare(table):
    assert "rare" in drop_uninformative(table, rare=[]).columns
