"""Data inside scikit-learn: shapes, scales, and zeros where a lost value would leave one."""

import numpy as np

from dams.datasets.embedded import load_diabetes, load_digits
from dams.datasets.prepare import MIN_FREQUENCY, MIN_STANDARD_DEVIATION


def test_digits_are_darkness_with_true_zeros():
    digits = load_digits()
    assert len(digits) == 1797
    assert digits.to_numpy().min() == 0
    assert digits.to_numpy().max() == 1
    assert 0.3 < (digits == 0).to_numpy().mean() < 0.6
    assert digits.columns[0].startswith("row0_col")
    assert not digits.columns.duplicated().any()


def test_digits_keep_no_pixel_that_hardly_any_image_marks():
    digits = load_digits()
    assert 40 < digits.shape[1] < 64
    assert ((digits != 0).mean() >= MIN_FREQUENCY).all()
    assert (digits.std() > MIN_STANDARD_DEVIATION).all()


def test_diabetes_is_standardised_but_for_sex():
    diabetes = load_diabetes()
    assert diabetes.shape == (442, 10)
    assert set(diabetes["sex"]) == {0.0, 1.0}
    others = diabetes.drop(columns="sex")
    np.testing.assert_allclose(others.mean(), 0, atol=1e-12)
    np.testing.assert_allclose(others.std(), 1)


def test_loading_twice_gives_the_same():
    for load in (load_digits, load_diabetes):
        first, second = load(), load()
        assert first.equals(second)
        assert all(dtype == np.float64 for dtype in first.dtypes)
        assert not first.isna().to_numpy().any()
