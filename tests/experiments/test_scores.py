"""The score, and the reasons why there is none."""

import math

import pytest

from dams.experiments.scores import score


def test_guessing_the_mean_scores_one():
    assert score(2.5, 2.5) == (1.0, "")
    assert score(0.0, 2.5) == (0.0, "")


@pytest.mark.parametrize("var_y", [0.0, math.nan])
def test_a_label_that_does_not_vary_has_no_score(var_y):
    value, reason = score(1.0, var_y)
    assert math.isnan(value)
    assert "constant in the target test rows" in reason


@pytest.mark.parametrize("mse", [math.nan, math.inf])
def test_an_error_that_is_no_number_has_no_score(mse):
    value, reason = score(mse, 1.0)
    assert math.isnan(value)
    assert f"mean squared error is {mse}" in reason
