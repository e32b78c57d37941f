import numpy as np
import pytest
import xgboost as library

from dams.experiments.models import Sample, xgboost


@pytest.mark.parametrize(("n", "d"), [(600, 7), (3000, 2), (1, 2)])
def test_predictions_are_those_of_the_library_bit_for_bit(n, d):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.6)
    Y = np.column_stack([X @ rng.uniform(0, 10, (d, 2)), rng.normal(size=n) + 100])
    test = Sample(rng.normal(size=(200, d)), rng.normal(size=(200, 3)))
    expected = np.column_stack([library.XGBRegressor(n_jobs=1).fit(X, y).predict(test.X) for y in Y.T])
    np.testing.assert_array_equal(xgboost.predict(Sample(X, Y), test.X), expected)
    mse = xgboost.errors(Sample(X, Y), test, rng)
    np.testing.assert_array_equal(mse, np.mean((expected - test.Y) ** 2, axis=0))
