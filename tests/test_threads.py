"""One thread for small matrices: within, and as it was before afterwards."""

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from dams import ClosedFormRegressor, apply_missingness, check_ucar
from dams._threads import QUICK, SMALL, few_threads
from dams.estimators import closed_form


def threads():
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


@pytest.fixture(autouse=True)
def two_threads():
    with threadpool_limits(2, user_api="blas"):
        if threads() != {2}:
            pytest.skip("the linear algebra here has one thread")
        yield


@pytest.mark.parametrize(
    ("size", "expected"),
    [((3,), {1}), ((SMALL,), {1}), ((SMALL + 1,), {2}), ((10, QUICK // 100), {1}), ((10, QUICK // 10), {2})],
)
def test_few_columns_get_one_thread(size, expected):
    with few_threads(*size):
        assert threads() == expected
    assert threads() == {2}


def test_the_closed_form_and_the_test_are_fitted_so(monkeypatch):
    seen = []
    plain = closed_form.fit_stabilised

    def spy(*arguments, **options):
        seen.append(threads())
        return plain(*arguments, **options)

    monkeypatch.setattr(closed_form, "fit_stabilised", spy)
    X = np.random.default_rng(0).normal(2, 1, (300, 4))
    source, target = (apply_missingness(X, rate, random_state=1) for rate in ([0.1] * 4, [0.4] * 4))
    ClosedFormRegressor().fit(source, X.sum(axis=1), X_target=target)
    assert seen == [{1}]
    monkeypatch.setattr("dams.diagnostics.judge", lambda *a, **o: seen.append(threads()) or 1 / 0)
    with pytest.raises(ZeroDivisionError):
        check_ucar(source, target)
    assert seen == [{1}, {1}]
    assert threads() == {2}
