"""Relative missingness: its values, what its intervals promise, and what it says to data it can't take."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.stats import fisher_exact
from sklearn.linear_model import LinearRegression

from dams import (
    ClosedFormRegressor,
    apply_missingness,
    estimate_relative_missingness,
    infer_closed_form,
    target_risk,
)
from dams.relative import count_nonzero, from_counts

REPLICATES = 4000
LAWS = [(0.5, 0.3, 500, 400), (0.3, 0.6, 2000, 300), (0.9, 0.85, 300, 1000), (0.1, 0.05, 4000, 4000)]


def simulate(q_source, q_target, n_source, n_target, **options):
    """Estimates of many independent data sets of one feature, each as if it were a feature of one."""
    rng = np.random.default_rng(0)
    counts = rng.binomial(n_source, q_source, REPLICATES), rng.binomial(n_target, q_target, REPLICATES)
    return from_counts(*counts, n_source, n_target, **options)


def coverage(estimate, r):
    return np.mean((estimate.lower <= r) & (r <= estimate.upper))


def test_values_of_a_small_example():
    source = np.array([[1.0, 2.0], [1.0, 0.0], [3.0, 0.0], [-1.0, 5.0]])
    target = np.array([[1.0, 2.0], [0.0, 3.0], [0.0, 0.0], [0.0, 4.0]])
    estimate = estimate_relative_missingness(source, target)
    np.testing.assert_array_equal(estimate.q_source, [1, 0.5])
    np.testing.assert_array_equal(estimate.q_target, [0.25, 0.75])
    np.testing.assert_array_equal(estimate.r, [0.75, -0.5])
    np.testing.assert_array_equal(estimate.filter_rates, [0.75, 0])
    assert (estimate.n_source, estimate.n_target) == (4, 4)
    assert ((estimate.lower <= estimate.r) & (estimate.r <= estimate.upper)).all()


def test_recovers_the_ratio_of_rates():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (100_000, 3)).astype(float)
    m_source, m_target = np.array([0.2, 0.5, 0.0]), np.array([0.6, 0.1, 0.0])
    source = apply_missingness(X[:50_000], m_source, random_state=1)
    target = apply_missingness(X[50_000:], m_target, random_state=2)
    r = estimate_relative_missingness(source, target).r
    np.testing.assert_allclose(r, 1 - (1 - m_target) / (1 - m_source), atol=0.03)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("confidence", [0.8, 0.95])
def test_the_hoeffding_interval_covers_at_least_its_level(law, confidence):
    q_source, q_target, *_ = law
    estimate = simulate(*law, method="hoeffding", confidence=confidence)
    assert coverage(estimate, 1 - q_target / q_source) >= confidence


@pytest.mark.parametrize(("q_source", "q_target", "n_source", "n_target"), LAWS)
def test_the_hoeffding_interval_ends_where_the_papers_bound_is_met(q_source, q_target, n_source, n_target):
    counts = np.array([round(n_source * q_source)]), np.array([round(n_target * q_target)])
    estimate = from_counts(*counts, n_source, n_target, method="hoeffding", confidence=0.9)
    a_source, a_target = (np.sqrt(np.log(4 / 0.1) / (2 * n)) for n in (n_source, n_target))
    for end in (estimate.lower, estimate.upper):
        bound = (a_target + (1 - end) * a_source) / estimate.q_source
        # Shares of nonzeros are not negative, so no interval goes beyond r = 1.
        assert abs(estimate.r - end) == pytest.approx(bound) or end == 1


@pytest.mark.parametrize("law", LAWS)
def test_the_delta_interval_covers_95_per_cent(law):
    q_source, q_target, *_ = law
    assert abs(coverage(simulate(*law), 1 - q_target / q_source) - 0.95) <= 0.02


@pytest.mark.parametrize("n_target", [5, 20])
def test_few_target_rows_without_a_zero_do_not_decide(n_target):
    estimate = simulate(0.9, 0.9, 5000, n_target)
    assert np.mean(estimate.q_target == 1) > 0.1
    assert np.mean(estimate.improper) < 0.05


def test_few_source_rows_without_a_zero_leave_room_below():
    estimate = from_counts(np.array([5]), np.array([500]), 5, 1000)
    assert estimate.r == 0.5
    # The source may well record as few as the target.
    assert estimate.lower < 0 < estimate.upper


@pytest.mark.parametrize("confidence", [0.8, 0.95])
def test_one_row_is_limited_by_the_tail_itself(confidence):
    estimate = from_counts(np.array([10**9]), np.array([1]), 10**9, 1, confidence=confidence)
    assert estimate.upper == pytest.approx(1 - (1 - confidence) / 2)
    # A billion rows are as good as sure of themselves.
    assert -1e-8 < estimate.lower < 0


@pytest.mark.parametrize("n", [100, 5000])
def test_a_few_zeros_against_none_decide_as_an_exact_test_does(n):
    zeros = np.array([0, 4, 12])
    exact = [fisher_exact([[k, n - k], [0, n]]).pvalue < 0.05 for k in zeros]
    np.testing.assert_array_equal(exact, [False, False, True])
    np.testing.assert_array_equal(from_counts(n - zeros, np.full(3, n), n, n).improper, exact)
    np.testing.assert_array_equal(from_counts(np.full(3, n), n - zeros, n, n).lower > 0, exact)


@pytest.mark.parametrize(
    ("method", "law"),
    [
        ("delta", (1.0, 0.999, 100, 100)),
        ("delta", (1.0, 0.999, 2000, 2000)),
        ("delta", (0.98, 0.98, 100, 2000)),
        ("bootstrap", (0.5, 0.02, 30, 30)),
        ("bootstrap", (0.05, 0.005, 100, 100)),
        ("bootstrap", (1.0, 0.99, 30, 30)),
    ],
)
@pytest.mark.filterwarnings("ignore:The target holds only zeros")
def test_columns_that_are_nearly_always_or_never_there_are_covered(method, law):
    q_source, q_target, n_source, n_target = law
    rng = np.random.default_rng(4)
    counts = np.maximum(rng.binomial(n_source, q_source, 1000), 1), rng.binomial(n_target, q_target, 1000)
    estimate = from_counts(*counts, n_source, n_target, method=method, random_state=0)
    assert coverage(estimate, 1 - q_target / q_source) >= 0.93


def test_the_delta_interval_follows_its_level():
    q_source, q_target, *_ = LAWS[0]
    assert abs(coverage(simulate(*LAWS[0], confidence=0.5), 1 - q_target / q_source) - 0.5) <= 0.03


@pytest.mark.parametrize("law", LAWS)
def test_the_bootstrap_interval_is_close_to_the_delta_interval(law):
    q_source, q_target, n_source, n_target = law
    counts = np.array([round(n_source * q_source)]), np.array([round(n_target * q_target)])
    delta = from_counts(*counts, n_source, n_target)
    bootstrap = from_counts(*counts, n_source, n_target, method="bootstrap", n_bootstrap=5000, random_state=0)
    width = delta.upper - delta.lower
    np.testing.assert_allclose(bootstrap.lower, delta.lower, atol=0.12 * width.item())
    np.testing.assert_allclose(bootstrap.upper, delta.upper, atol=0.12 * width.item())


def test_the_bootstrap_interval_is_reproducible():
    counts = np.array([50, 60]), np.array([30, 20])
    first, same, other = (
        from_counts(*counts, 100, 100, method="bootstrap", n_bootstrap=200, random_state=seed) for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(first.lower, same.lower)
    np.testing.assert_array_equal(first.upper, same.upper)
    assert (first.lower != other.lower).any()


def test_a_feature_seen_once_in_the_source_has_no_lower_limit():
    for method in ("bootstrap", "hoeffding"):
        estimate = from_counts(np.array([1]), np.array([50]), 100, 100, method=method, random_state=0)
        assert estimate.lower == -np.inf
        assert estimate.upper <= 1


@pytest.mark.parametrize(("q_target", "proper"), [(0.2, True), (0.5, True), (0.8, False)])
def test_proper_unless_an_interval_lies_below_zero(q_target, proper):
    counts = np.array([500, 500]), np.array([100, round(1000 * q_target)])
    estimate = from_counts(*counts, 1000, 1000)
    assert estimate.is_proper == proper
    np.testing.assert_array_equal(estimate.improper, [False, not proper])


def test_scatter_around_zero_is_not_improper():
    estimate = from_counts(np.array([500]), np.array([510]), 1000, 1000)
    assert estimate.r < 0
    assert estimate.is_proper


@pytest.mark.parametrize("q", [0.02, 0.5, 0.995])
@pytest.mark.parametrize("n_target", [200, 2000])
def test_many_features_without_shift_are_proper_at_the_level(q, n_target):
    rng = np.random.default_rng(0)
    draws = [
        from_counts(rng.binomial(4000, q, 40), np.maximum(rng.binomial(n_target, q, 40), 1), 4000, n_target)
        for _ in range(200)
    ]
    # Three standard errors above 5 %; feature by feature, at least one of 40 is improper about as often as not.
    assert np.mean([not draw.is_proper for draw in draws]) < 0.05 + 3 * np.sqrt(0.05 * 0.95 / 200)
    if q == 0.5:
        assert np.mean([draw.improper.any() for draw in draws]) > 0.4


@pytest.mark.parametrize("method", ["delta", "hoeffding", "bootstrap"])
def test_one_feature_recorded_better_is_found_among_many(method):
    rng = np.random.default_rng(0)
    q_target = np.append(0.7, np.full(39, 0.5))
    estimate = from_counts(
        rng.binomial(1000, 0.5, 40), rng.binomial(1000, q_target), 1000, 1000, method=method, random_state=0
    )
    assert estimate.improper[0]
    assert not estimate.is_proper


def test_an_estimate_reads_as_a_sentence():
    counts = np.array([500, 500, 500, 500]), np.array([100, 300, 505, 700])
    estimate = from_counts(*counts, 1000, 1000, feature_names=["dose", "ward", "age", "sex"])
    text = str(estimate)
    assert text.startswith(
        "Of 4 features the target loses 2 more often than the source and 1 less often; 1 shows no clear"
    )
    assert "(95 % intervals by feature; 1,000 source and 1,000 target rows)" in text
    assert "Furthest from zero: column 'dose' (r = 0.80, 0.76 to 0.84), column 'ward' (r = 0.40, " in text
    assert text.index("'ward'") < text.index("'sex' (r = -0.40") and "'age'" not in text
    assert "source values cannot reproduce the target" in text
    assert repr(estimate) == text


def test_a_sentence_about_nothing_sure():
    text = str(from_counts(np.array([50]), np.array([51]), 100, 100))
    assert "0 less often; 1 shows no clear difference" in text
    assert "Furthest" not in text
    assert "source values can reproduce the target" in text


def test_a_frame_of_the_estimates_has_one_row_per_feature():
    X = pd.DataFrame(np.eye(10, 2), columns=["age", "sex"])
    frame = estimate_relative_missingness(X, X).to_frame()
    assert list(frame.index) == ["age", "sex"]
    both = ["lower", "upper", "simultaneous_lower", "simultaneous_upper"]
    assert list(frame.columns) == ["r", *both, "q_source", "q_target", "improper", "always_recorded"]
    assert list(estimate_relative_missingness(X.to_numpy(), X.to_numpy()).to_frame().index) == [0, 1]


@pytest.fixture
def pair():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.integers(0, 3, (60, 3)).astype(float), columns=["a", "b", "c"])
    return X[:30], X[30:].reset_index(drop=True)


def test_a_column_never_observed_in_the_source_is_named(pair):
    source, target = pair
    with pytest.raises(ValueError, match=r"source holds only zeros in column 'b'.*not identified.*Drop"):
        estimate_relative_missingness(source.assign(b=0.0), target)
    with pytest.raises(ValueError, match="only zeros in columns 0, 1"):
        estimate_relative_missingness(source.assign(a=0.0, b=0.0).to_numpy(), target.to_numpy())


@pytest.mark.filterwarnings("ignore:The signed estimate is too noisy")
def test_a_column_that_others_of_its_group_speak_for_has_their_r(pair):
    source, target = pair
    source, known = source.assign(b=0.0), {"column_groups": [["a", "b"]]}
    for method in ("delta", "hoeffding", "bootstrap"):
        found = estimate_relative_missingness(source, target, method=method, random_state=0, **known)
        assert found.r[1] == found.r[0] and np.isfinite(found.lower).all()
    assert "a" in str(found) and np.isfinite(found.to_frame()["r"]).all()
    y = source["a"].to_numpy()
    model = LinearRegression().fit(source, y)
    for method in ("signed", "filled"):
        assert np.isfinite(target_risk(model, source, y, target, method=method, random_state=0, **known).estimate)
    told = "source holds only zeros in column 'b': columns that are lost together .* Drop it from both"
    with pytest.raises(ValueError, match=told):
        ClosedFormRegressor(**known).fit(source, y, X_target=target.assign(b=0.0))
    with pytest.raises(ValueError, match=told):
        infer_closed_form(source, y, target, **known)
    with pytest.raises(ValueError, match="only zeros in columns 'a', 'b': the relative missingness is not identified"):
        estimate_relative_missingness(source.assign(a=0.0), target, **known)


def test_a_column_never_observed_in_the_target_warns(pair):
    source, target = pair
    with pytest.warns(UserWarning, match="target holds only zeros in column 'c'"):
        estimate = estimate_relative_missingness(source, target.assign(c=0.0))
    assert estimate.r[2] == 1
    assert estimate.upper[2] == 1
    assert 0 < estimate.lower[2] < 1


def test_a_long_list_of_columns_is_cut_short():
    with pytest.raises(ValueError, match=r"columns 0, 1, 2, 3, 4 and 3 more:"):
        estimate_relative_missingness(np.zeros((5, 8)), np.ones((5, 8)))


@pytest.mark.parametrize("side", ["X_source", "X_target"])
def test_nan_is_refused_with_what_to_do(pair, side):
    data = dict(zip(("X_source", "X_target"), pair, strict=True))
    data[side] = data[side].assign(b=np.nan)
    with pytest.raises(ValueError, match=rf"{side} contains NaN in column 'b'.*replace NaN by 0"):
        estimate_relative_missingness(**data)
    data[side] = sparse.csr_matrix(data[side].to_numpy())
    with pytest.raises(ValueError, match=rf"{side} contains NaN\. .*replace NaN by 0"):
        estimate_relative_missingness(**data)


def test_no_target_at_all_is_refused(pair):
    with pytest.raises(ValueError, match="X_target is None: give a table of observed covariates"):
        estimate_relative_missingness(pair[0], None)


def test_reordered_columns_are_matched_by_name(pair):
    source, target = pair
    expected = estimate_relative_missingness(source, target)
    matched = estimate_relative_missingness(source, target[["c", "a", "b"]])
    np.testing.assert_array_equal(matched.r, expected.r)
    assert matched.feature_names == ["a", "b", "c"]


def test_different_columns_are_named(pair):
    source, target = pair
    with pytest.raises(ValueError, match=r"Not in the target: \['b'\]; only in the target: \['x'\]"):
        estimate_relative_missingness(source, target.rename(columns={"b": "x"}))


def test_another_number_of_columns_is_refused(pair):
    source, target = pair
    with pytest.raises(ValueError, match="source's 3 columns, got 2"):
        estimate_relative_missingness(source.to_numpy(), target.to_numpy()[:, :2])


@pytest.mark.parametrize("side", [0, 1])
def test_no_rows_are_refused(pair, side):
    data = [part.to_numpy() for part in pair]
    data[side] = data[side][:0]
    with pytest.raises(ValueError, match=rf"{('X_source', 'X_target')[side]} has no rows"):
        estimate_relative_missingness(*data)


def test_one_row_is_enough():
    with pytest.warns(UserWarning, match="Neither source nor target holds a zero") as caught:
        estimate = estimate_relative_missingness(np.ones((1, 2)), np.ones((1, 2)))
    np.testing.assert_array_equal(estimate.r, [0, 0])
    assert caught[0].filename == __file__


@pytest.mark.parametrize("make", [sparse.csr_matrix, sparse.csc_array, sparse.coo_matrix])
def test_sparse_equals_dense(pair, make):
    source, target = (part.to_numpy() for part in pair)
    expected = estimate_relative_missingness(source, target)
    estimate = estimate_relative_missingness(make(source), make(target))
    for name in ("r", "lower", "upper", "q_source", "q_target"):
        np.testing.assert_array_equal(getattr(estimate, name), getattr(expected, name))


def test_stored_zeros_and_split_entries_are_counted_as_they_read():
    # Row 0: column 0 in two parts, 1 + 2; row 1: a stored zero in column 1.
    X = sparse.csr_array((np.array([1.0, 2.0, 0.0]), np.array([0, 0, 1]), np.array([0, 2, 3])), shape=(2, 2))
    np.testing.assert_array_equal(count_nonzero(X), [1, 0])


@pytest.mark.parametrize("confidence", [0, 1, -0.5, 95])
def test_a_confidence_that_is_none_is_refused(pair, confidence):
    with pytest.raises(ValueError, match=f"confidence must lie between 0 and 1, got {confidence}"):
        estimate_relative_missingness(*pair, confidence=confidence)


def test_an_unknown_method_is_refused_with_the_known_ones(pair):
    with pytest.raises(ValueError, match="'delta', 'hoeffding' or 'bootstrap', got 'wald'"):
        estimate_relative_missingness(*pair, method="wald")


@pytest.mark.parametrize("n_bootstrap", [0, -1, 39, 200.0])
def test_too_few_draws_for_an_interval_are_refused(pair, n_bootstrap):
    with pytest.raises(ValueError, match=r"whole number of at least 40 for an interval at confidence=0\.95, got"):
        estimate_relative_missingness(*pair, method="bootstrap", n_bootstrap=n_bootstrap)
    estimate_relative_missingness(*pair, n_bootstrap=n_bootstrap)
    estimate_relative_missingness(*pair, method="bootstrap", n_bootstrap=40)
    estimate_relative_missingness(*pair, method="bootstrap", n_bootstrap=20, confidence=0.9)


def test_nothing_is_said_of_sound_data(pair):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        estimate_relative_missingness(*pair)
