"""r(s) and w(s) given anchors: exact on discrete laws, smooth and calibrated in numbers, and said in sentences."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from dams import estimate_relative_missingness
from dams._smooth import PENALTIES, SmoothBasis, expit, fit_logistic
from tests.anchored_laws import anchored_law


@pytest.fixture(scope="module")
def by_level():
    (source, _), (target, _), r, w = anchored_law()
    return source, target, r, w


def by_age(n=4000, seed=0, *, older=0.0, slope=(0.0, 1.5, -1.5)):
    """Age, and three columns of which the target loses by age along a logistic curve; the true r at the source rows."""
    rng = np.random.default_rng(seed)
    tables, kept = [], []
    for domain in (0, 1):
        age = rng.normal(size=n) + older * domain
        keep = expit(1 + domain * np.outer(age, slope))
        tables.append(np.column_stack([60 + 10 * age, (1 + rng.random((n, 3))) * (rng.random((n, 3)) < keep)]))
        kept.append(expit(1 + domain * np.outer((tables[0][:, 0] - 60) / 10, slope)))
    return tables[0], tables[1], 1 - kept[1] / kept[0]


def test_a_discrete_law_gives_r_and_w_of_every_level(by_level):
    source, target, r, w = by_level
    found = estimate_relative_missingness(source, target, anchors=[0])
    at, weights = found.at(source), found.weights(source)
    for level in range(3):
        rows = source[:, 0] == level
        np.testing.assert_allclose(at[rows], np.tile([0, *r[level]], (rows.sum(), 1)), atol=2e-3)
        np.testing.assert_allclose(weights[rows], w[level], rtol=2e-3)
    shares = np.array([(source[:, 0] == level).mean() for level in range(3)])
    assert found.effective_sample_size == pytest.approx(len(source) / (shares @ w**2), rel=1e-2)


def test_columns_lost_together_have_one_r_of_every_row(by_level):
    source, target, _, _ = by_level
    doubled = [np.column_stack([table, 2 * table[:, 2]]) for table in (source, target)]
    at = estimate_relative_missingness(*doubled, anchors=[0], column_groups=[[2, 3]]).at(doubled[0])
    alone = estimate_relative_missingness(source, target, anchors=[0]).at(source)
    np.testing.assert_array_equal(at[:, 3], at[:, 2])
    np.testing.assert_array_equal(at[:, :3], alone)


def test_a_number_gives_a_smooth_r_within_its_errors():
    source, target, r = by_age()
    found = estimate_relative_missingness(source, target, anchors=[0])
    at, error = found.at(source)[:, 1:], found.standard_errors_at(source)[:, 1:]
    assert np.sqrt(np.square(at - r).mean(axis=0)).max() < 0.05
    assert (np.abs(at - r) < 1.96 * error).mean() > 0.85
    # Without anchors one r is given to all rows, far from what most have.
    plain = estimate_relative_missingness(source, target, always_recorded=[0])
    assert np.sqrt(np.square(plain.at(source)[:, 1:] - r).mean(axis=0))[1:].min() > 0.15


def test_rows_that_belong_together_have_wider_errors():
    source, target, _ = by_age(1000)
    rows = np.repeat(np.arange(1000), 4)
    once = estimate_relative_missingness(source, target, anchors=[0])
    options = {"groups": rows, "groups_target": rows}
    copied = estimate_relative_missingness(source[rows], target[rows], anchors=[0], **options)
    ratio = copied.standard_errors_at(source)[:, 1:] / once.standard_errors_at(source)[:, 1:]
    # Copies taken for rows of their own would have .74.
    assert 0.8 < np.median(ratio) < 1.25


def test_names_forms_and_order_do_not_matter():
    source, target, _ = by_age(1000)
    names = ["age", "a", "b", "c"]
    here, there = pd.DataFrame(source, columns=names), pd.DataFrame(target, columns=names)
    expected = estimate_relative_missingness(source, target, anchors=[0])
    by_name = estimate_relative_missingness(here, there[names[::-1]], anchors=["age"])
    np.testing.assert_array_equal(by_name.at(here[names[::-1]]), expected.at(source))
    as_csr = estimate_relative_missingness(sparse.csr_array(source), sparse.csr_array(target), anchors=[0])
    np.testing.assert_allclose(as_csr.at(sparse.csr_array(source)), expected.at(source))
    np.testing.assert_array_equal(expected.always_recorded, [True, False, False, False])


def test_without_anchors_r_is_that_of_every_row():
    source, target, _ = by_age(500)
    plain = estimate_relative_missingness(source, target)
    np.testing.assert_array_equal(plain.at(target), np.tile(plain.r, (500, 1)))
    np.testing.assert_array_equal(plain.weights(target), 1)
    assert plain.effective_sample_size == 500
    assert str(plain) == str(estimate_relative_missingness(source, target, anchors=[]))
    with pytest.raises(ValueError, match="needs an estimate with anchors"):
        plain.standard_errors_at(source)


def test_it_says_what_varies_and_what_the_rows_are_worth():
    source, target, _ = by_age(older=1.0)
    found = estimate_relative_missingness(source, target, anchors=[0])
    assert "Given column 0, the anchors, r varies most in column 3" in str(found)
    assert f"are worth {found.effective_sample_size:,.0f}" in str(found)
    # The target records column 2 better where people are old, and 3 where they are young; so one can't only delete.
    np.testing.assert_array_equal(found.improper, [False, False, True, True])
    assert not found.is_proper


def test_another_population_is_weighted_for():
    source, target, _ = by_age(older=0.5)
    found = estimate_relative_missingness(source, target, anchors=[0])
    w = found.weights(source)
    assert w.mean() == pytest.approx(1)
    assert w @ source[:, 0] / w.sum() == pytest.approx(target[:, 0].mean(), abs=0.5)


@pytest.mark.filterwarnings("ignore:The target's law of column 0")
def test_rows_beyond_the_sources_are_warned_of():
    source, target, _ = by_age(1000)
    target[:100, 0] = 200
    with pytest.warns(UserWarning, match=r"10 % of the target's rows have a value of column 0 that lies beyond"):
        estimate_relative_missingness(source, target, anchors=[0])


@pytest.mark.filterwarnings("ignore:.* of the target's rows have a value")
def test_few_rows_that_stand_for_many_are_warned_of():
    source, target, _ = by_age(2000, older=2.2)
    with pytest.warns(UserWarning, match="source rows are worth"):
        estimate_relative_missingness(source, target, anchors=[0])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"anchors": ["age"]}, "anchors names 'age', expected a position from 0 to 3"),
        ({"anchors": 0}, "anchors must be a list of columns"),
        ({"anchors": [1], "column_groups": [[1, 2]]}, "column 1: named in always_recorded and in column_groups"),
    ],
)
def test_wrong_anchors_are_refused(change, message):
    source, target, _ = by_age(300)
    with pytest.raises(ValueError, match=message):
        estimate_relative_missingness(source, target, **change)


def test_constant_anchors_and_too_few_rows_are_refused():
    source, target, _ = by_age(300)
    source[:, 0] = target[:, 0] = 1
    with pytest.raises(ValueError, match="anchors names column 0, which has one value in all rows"):
        estimate_relative_missingness(source, target, anchors=[0])
    source, target, _ = by_age(50)
    with pytest.raises(ValueError, match=r"anchors need at least 140 rows in either table .* got 50"):
        estimate_relative_missingness(source, target, anchors=[0])


def test_the_basis_is_orthonormal_and_from_smooth_to_wiggly():
    s = np.random.default_rng(0).normal(size=(5000, 1))
    basis = SmoothBasis.of(s)
    B = basis(s)
    spline = np.column_stack([B[:, :1], B[:, 2:]])
    np.testing.assert_allclose(spline.T @ spline / len(s), np.eye(spline.shape[1]), atol=1e-6)
    assert (np.diff(basis.roughness[2:]) > 0).all()
    # Beyond the outermost quantiles a curve is constant.
    far = basis(np.array([[5.0], [50.0]]))
    np.testing.assert_array_equal(far[0], far[1])


def test_categories_and_numbers_meet_in_products():
    rng = np.random.default_rng(0)
    S = np.column_stack([rng.normal(size=900), rng.integers(0, 3, 900)])
    basis = SmoothBasis.of(S)
    assert basis.n_products == 2
    B = basis(S)
    np.testing.assert_allclose(B[:, -1], B[:, 1] * B[:, 3])


def test_the_penalty_follows_the_curve():
    rng = np.random.default_rng(0)
    s = rng.normal(size=(6000, 1))
    basis = SmoothBasis.of(s)
    line = rng.random(6000) < expit(s[:, 0])
    curve = rng.random(6000) < expit(2 * np.cos(2 * s[:, 0]))
    fits = [fit_logistic(basis, basis(s), hit) for hit in (line, curve)]
    assert fits[0].smoothing >= 1e3 > fits[1].smoothing
    assert np.abs(expit(fits[1].log_odds(basis(s))) - expit(2 * np.cos(2 * s[:, 0])))[np.abs(s[:, 0]) < 2].mean() < 0.05
    # A minimum: the gradient of the penalised likelihood vanishes.
    B, hit = basis(s), line.astype(float)
    gradient = B.T @ (expit(B @ fits[0].coef) - hit) + basis.penalty(fits[0].smoothing) * fits[0].coef
    assert np.abs(gradient).max() < 1e-2
    assert fits[0].smoothing in PENALTIES
