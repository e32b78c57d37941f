"""The two scenarios have the laws that the paper states."""

import numpy as np
import pytest
from scipy.special import expit

from dams.datasets.synthetic import sample_confounded, sample_redundant

ROWS = 100_000


def test_redundant_features_are_one_fair_coin():
    X, y = sample_redundant(ROWS, np.random.default_rng(0))
    assert list(X.columns) == ["x1", "x2"]
    np.testing.assert_array_equal(X["x1"], X["x2"])
    assert set(X["x1"]) == {0.0, 1.0}
    assert X["x1"].mean() == pytest.approx(0.5, abs=0.01)
    noise = y - X["x1"]
    assert noise.mean() == pytest.approx(0, abs=0.02)
    assert noise.std() == pytest.approx(1, abs=0.02)
    assert np.corrcoef(noise, X["x1"])[0, 1] == pytest.approx(0, abs=0.02)


def test_confounded_features_follow_their_equations():
    X, y = sample_confounded(ROWS, np.random.default_rng(0))
    assert set(X["x1"]) == {0.0, 1.0}
    assert X["x1"].mean() == pytest.approx(0.5, abs=0.01)
    # logit(x2) = 2 x1 + N(0, 1).
    logit = np.log(X["x2"] / (1 - X["x2"])) - 2 * X["x1"]
    assert logit.mean() == pytest.approx(0, abs=0.02)
    assert logit.std() == pytest.approx(1, abs=0.02)
    noise = y - (X["x1"] - X["x2"])
    assert noise.std() == pytest.approx(1, abs=0.02)
    assert np.abs(np.corrcoef([noise, logit, X["x1"]]) - np.eye(3)).max() < 0.02
    assert X["x2"][X["x1"] == 1].median() == pytest.approx(expit(2), abs=0.01)


@pytest.mark.parametrize("sample", [sample_redundant, sample_confounded])
def test_the_generator_decides(sample):
    first, same, other = (sample(50, np.random.default_rng(seed)) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first[0], same[0])
    np.testing.assert_array_equal(first[1], same[1])
    assert (first[1] != other[1]).any()
    assert first[0].shape == (50, 2)
    assert first[1].shape == (50,)
