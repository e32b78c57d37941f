"""Errors of the closed form's coefficients: influences against the jackknife, a discrete law, coverage."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from benchmarks.coverage_of_coefficients import Law
from dams import ClosedFormRegressor, apply_missingness, infer_closed_form
from dams._columns import known_columns
from dams.estimators.adjusted_moments import adjust_moments
from dams.estimators.folds import Columns
from dams.identification import corrupt_law
from dams.inference import covariance_of_mean
from dams.least_squares import least_squares
from dams.moments import Moments


def shifted(n=150, seed=0, *, together=False):
    """Two tables; with `together`, the second and the third column are lost as one."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(2 * n, 4)) + 1 + rng.normal(size=(2 * n, 1))
    y = X @ [1, 2, -1, 0.5] + rng.normal(size=2 * n)
    source = apply_missingness(X[:n], [0.1, 0.4, 0.3, 0.2], random_state=1)
    target = apply_missingness(X[n:], [0.4, 0.1, 0.3, 0.5], random_state=2)
    if together:
        for lossy, clean in ((source, X[:n]), (target, X[n:])):
            lossy[:, 2] = np.where(lossy[:, 1] != 0, clean[:, 2], 0)
    return source, y[:n], target


CASES = [
    {},
    {"gram": "target", "column_groups": [[1, 2]]},
    {"gram": "source", "fit_intercept": False, "always_recorded": [0], "column_groups": [[1, 2]]},
]


@pytest.mark.parametrize("options", CASES)
def test_errors_are_those_of_the_jackknife(options):
    """Leaving out one row at a time knows nothing of influences."""
    source, y, target = shifted(250, together="column_groups" in options)
    found = infer_closed_form(source, y, target, **options)
    model = ClosedFormRegressor(stabilise=False, **options).fit(source, y, X_target=target)
    np.testing.assert_allclose(np.append(found.coef, found.intercept), np.append(model.coef_, model.intercept_))
    columns = Columns(*known_columns(options.get("always_recorded"), options.get("column_groups"), 4, None))

    def fit(here, there):
        counts = [columns.count_recorded(table) / len(table) for table in (source[here], target[there])]
        moments = Moments.of(source[here], y[here, None]), Moments.of(target[there])
        gram = options.get("gram", "pooled")
        adjusted = adjust_moments(*moments, 1 - counts[1] / counts[0], gram=gram, groups=columns.groups)
        fitted = least_squares(adjusted, fit_intercept=options.get("fit_intercept", True))
        return np.append(fitted.coef, fitted.intercept)

    n = len(source)
    every = np.arange(n)
    np.testing.assert_allclose(np.append(found.coef, found.intercept), fit(every, every), rtol=1e-8, atol=1e-10)
    left = [[fit(np.delete(every, i), every) for i in every], [fit(every, np.delete(every, i)) for i in every]]
    jackknife = np.sqrt(sum((n - 1) * np.var(part, axis=0) for part in left))
    np.testing.assert_allclose(found.standard_errors, jackknife, rtol=0.06)


def test_a_discrete_law_gives_its_optimum_and_errors_that_shrink_as_root_n():
    clean = np.random.default_rng(0).dirichlet(np.ones(12)).reshape(2, 3, 2)
    tables = []
    for rates in ([0.5, 0.1], [0.2, 0.4]):
        counts = np.rint(2000 * corrupt_law(clean, rates)).astype(int)
        index = np.repeat(np.indices(counts.shape).reshape(3, -1).T, counts.ravel(), axis=0).astype(float)
        tables.append(index)
    (source, target), y = [table[:, :2] for table in tables], tables[0][:, 2]
    design = np.column_stack([target, np.ones(len(target))])
    optimum = np.linalg.lstsq(design, tables[1][:, 2], rcond=None)[0]
    one = infer_closed_form(source, y, target)
    np.testing.assert_allclose(np.append(one.coef, one.intercept), optimum, atol=3e-3)
    four = infer_closed_form(np.tile(source, (4, 1)), np.tile(y, 4), np.tile(target, (4, 1)))
    np.testing.assert_allclose(four.standard_errors, one.standard_errors / 2, rtol=2e-3)


def test_copies_of_a_row_that_are_told_of_add_nothing():
    source, y, target = shifted()
    once = infer_closed_form(source, y, target)
    ids = np.tile(np.arange(len(y)), 3)
    told = infer_closed_form(
        np.tile(source, (3, 1)), np.tile(y, 3), np.tile(target, (3, 1)), groups=ids, groups_target=ids
    )
    np.testing.assert_allclose(told.covariance, once.covariance, rtol=1e-8)
    assert told.degrees == once.degrees == len(y) - 1


def test_intervals_cover_and_those_with_r_known_would_not():
    """A slice of benchmarks/coverage_of_coefficients.py: 150 laws, so that .95 is met within .03."""
    held, predicted = [], []
    for number in range(150):
        rng = np.random.default_rng([7, number])
        law = Law(rng)
        (source, y), (target, _) = law.sample(0, 600, rng), law.sample(1, 600, rng)
        found, truth = infer_closed_form(source, y, target), law.optimum()
        table = found.intervals()
        held.append((table["lower"] <= truth) & (truth <= table["upper"]))
        rows = law.sample(1, 20, rng)[0]
        of_rows, expected = found.mean_predictions(rows), rows @ truth[:-1] + truth[-1]
        predicted.append((of_rows["lower"] <= expected) & (expected <= of_rows["upper"]))
    assert 0.92 < np.mean(held) < 0.98
    assert 0.91 < np.mean(predicted) < 0.99


def test_predictions_are_those_of_the_regressor_in_every_form():
    source, y, target = shifted()
    names = list("abcd")
    here, there = pd.DataFrame(source, columns=names), pd.DataFrame(target, columns=names)
    found = infer_closed_form(here, y, there[names[::-1]])
    model = ClosedFormRegressor(stabilise=False).fit(source, y, X_target=target)
    np.testing.assert_allclose(found.mean_predictions(there[names[::-1]])["estimate"], model.predict(target))
    from_csr = infer_closed_form(sparse.csr_array(source), y, sparse.csr_array(target))
    np.testing.assert_allclose(from_csr.covariance, found.covariance)
    assert list(found.intervals().index) == [*names, "intercept"]
    assert "4 columns from 150 source and 150 target rows" in str(found)
    wide, narrow = found.intervals(0.99), found.intervals(0.5)
    assert ((wide["upper"] - wide["lower"]) > (narrow["upper"] - narrow["lower"])).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"gram": "both"}, "gram must be"),
        ({"y_source": np.zeros((150, 2))}, "infer one at a time"),
        ({"y_source": np.zeros(3)}, "inconsistent numbers of samples"),
        ({"y_source": ["a"] * 150}, "which is no number"),
        ({"anchors": [1]}, r"anchors names column 1, but infer_closed_form .* ClosedFormRegressor\(anchors=...\)"),
    ],
)
def test_wrong_input_is_refused(change, message):
    source, y, target = shifted()
    given = {"X_source": source, "y_source": y, "X_target": target} | change
    with pytest.raises(ValueError, match=message):
        infer_closed_form(**given)


def test_dependent_columns_and_wrong_levels_are_refused():
    source, y, target = shifted()
    with pytest.raises(ValueError, match="linearly dependent"):
        infer_closed_form(source[:, [0, 0]], y, target[:, [0, 0]], column_groups=[[0, 1]])
    with pytest.raises(ValueError, match="confidence must lie between 0 and 1"):
        infer_closed_form(source, y, target).intervals(95)


def test_a_notebook_shows_the_sentence_and_the_intervals():
    found = infer_closed_form(*shifted())
    pd.testing.assert_frame_equal(found.to_frame(), found.intervals(0.95))
    assert str(found) in found._repr_html_() and "<th>intercept</th>" in found._repr_html_()


def test_the_covariance_of_a_mean_over_groups_of_unequal_sizes_is_unbiased():
    """Rows of a group are as one, and the largest group has half of all rows."""
    rng = np.random.default_rng(0)
    ids = np.repeat(np.arange(6), [30, 12, 8, 5, 3, 2])
    means, estimates = [], []
    for _ in range(3000):
        rows = rng.normal(size=(6, 1))[ids]
        means.append(rows.mean())
        estimates.append(covariance_of_mean(rows - rows.mean(axis=0), ids)[0, 0])
    assert np.mean(estimates) == pytest.approx(np.var(means), rel=0.1)
