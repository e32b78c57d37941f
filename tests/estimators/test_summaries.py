"""Summaries of chunks add up to the fit on all rows."""

import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from dams import ClosedFormRegressor, Summary, apply_missingness

FITTED = ["coef_", "intercept_", "condition_", "shrinkage_", "weight_", "ridge_"]
PANEL = [["a", "b"]]


def shift(seed, n=400, d=4, *, labels=1, offset=0.0):
    """A source, its labels and a target; a column that is never zero keeps the rows apart."""
    rng = np.random.default_rng(seed)
    X = offset + rng.normal(size=(2 * n, d)) + rng.normal(size=(2 * n, 1)) + 1
    y = X @ rng.uniform(0.5, 2, (d, labels)) + 2 * rng.normal(size=(2 * n, labels))
    m_source, m_target = rng.uniform(0, 0.7, (2, d))
    m_source[-1] = m_target[-1] = 0
    source = apply_missingness(X[:n], m_source, random_state=rng)
    target = apply_missingness(X[n:], m_target, random_state=rng)
    return source, y[:n, 0] if labels == 1 else y[:n], target


def chunks(rng, n, parts=5):
    """Rows in another order, in parts of unequal size."""
    return np.split(rng.permutation(n), np.sort(rng.choice(np.arange(1, n), parts - 1, replace=False)))


def summarise(rng, X, y=None, *, groups=None, **options):
    return sum(
        Summary.of(
            X[rows],
            None if y is None else y[rows],
            groups=None if groups is None else groups[rows],
            **options,
        )
        for rows in chunks(rng, X.shape[0])
    )


def assert_same_fit(got, expected):
    assert got.relative_missingness_.r.tolist() == expected.relative_missingness_.r.tolist()
    assert str(got.relative_missingness_) == str(expected.relative_missingness_)
    for name in FITTED:
        if hasattr(expected, name):
            np.testing.assert_allclose(getattr(got, name), getattr(expected, name), rtol=1e-10, atol=1e-13)
    if hasattr(expected, "choice_"):
        np.testing.assert_array_equal(got.choice_, expected.choice_)


@pytest.mark.parametrize("options", [{}, {"stabilise": False}, {"gram": "target"}, {"fit_intercept": False}])
@settings(deadline=None, max_examples=15)
@given(seed=st.integers(0, 2**32), labels=st.integers(1, 3), thin=st.booleans())
def test_chunks_in_any_order_give_the_fit_on_all_rows(options, seed, labels, thin):
    rng = np.random.default_rng(seed)
    source, y, target = shift(seed, labels=labels)
    expected = ClosedFormRegressor(**options).fit(source, y, X_target=target)
    kind = sparse.csr_array if thin else np.asarray
    here, there = summarise(rng, kind(source), y), summarise(rng, kind(target))
    assert (here.n, there.n, here.n_features, here.n_labels, there.n_labels) == (400, 400, 4, labels, 0)
    assert_same_fit(ClosedFormRegressor(**options).fit_summaries(here, there), expected)


@pytest.mark.parametrize("stabilise", [True, False])
def test_columns_far_from_zero_lose_no_digits(stabilise):
    source, y, target = shift(0, n=2000, offset=1e4)
    expected = ClosedFormRegressor(stabilise=stabilise).fit(source, y, X_target=target)
    rng = np.random.default_rng(0)
    found = ClosedFormRegressor(stabilise=stabilise).fit_summaries(summarise(rng, source, y), summarise(rng, target))
    np.testing.assert_allclose(found.coef_, expected.coef_, rtol=1e-9)


def test_a_thousand_chunks():
    source, y, target = shift(1, n=5000)
    expected = ClosedFormRegressor().fit(source, y, X_target=target)
    here = sum(Summary.of(source[i : i + 5], y[i : i + 5]) for i in range(0, 5000, 5))
    there = sum(Summary.of(target[i : i + 5]) for i in range(0, 5000, 5))
    assert_same_fit(ClosedFormRegressor().fit_summaries(here, there), expected)


@pytest.mark.parametrize("stabilise", [True, False])
def test_known_columns_and_groups_of_rows_in_several_chunks(stabilise):
    rng = np.random.default_rng(0)
    source, y, target = shift(2)
    source, target = (pd.DataFrame(rows, columns=list("abcd")) for rows in (source, target))
    for rows in (source, target):  # a and b are lost as one
        rows["b"] = (rows["a"] != 0) * rng.uniform(1, 2, 400)
    ids = rng.integers(0, 90, (2, 400))
    expected = ClosedFormRegressor(stabilise=stabilise, always_recorded=["c"], column_groups=PANEL)
    expected.fit(source, y, X_target=target, groups=ids[0], groups_target=[f"p{i}" for i in ids[1]])

    def summarise_frame(frame, groups, labels=None):
        return sum(
            Summary.of(
                frame.iloc[rows],
                None if labels is None else labels[rows],
                groups=groups[rows],
                column_groups=PANEL,
            )
            for rows in chunks(rng, 400)
        )

    here, there = summarise_frame(source, ids[0], y), summarise_frame(target, np.char.add("p", ids[1].astype(str)))
    found = ClosedFormRegressor(stabilise=stabilise, always_recorded=["c"], column_groups=PANEL)
    assert_same_fit(found.fit_summaries(here, there), expected)
    assert found.feature_names_in_.tolist() == list("abcd")
    np.testing.assert_allclose(found.relative_missingness_.lower, expected.relative_missingness_.lower)
    np.testing.assert_allclose(found.predict(target), expected.predict(target))
    assert f"rows in {len(set(ids[0]))} groups" in str(found.relative_missingness_)


def test_copies_of_rows_in_several_chunks_fall_where_their_ids_say():
    rng = np.random.default_rng(0)
    X = np.eye(3)[rng.integers(0, 3, 2000)]
    y = X @ [1.0, 5.0, 9.0] + rng.normal(size=2000)
    source = apply_missingness(X[:1000], [0.5, 0.0, 0.2], random_state=1)
    target = apply_missingness(X[1000:], [0.1, 0.3, 0.2], random_state=2)
    ids, y = np.arange(1000), y[:1000]
    expected = ClosedFormRegressor().fit(source, y, X_target=target, groups=ids, groups_target=ids)
    here, there = summarise(rng, source, y, groups=ids), summarise(rng, target, groups=ids)
    assert_same_fit(ClosedFormRegressor().fit_summaries(here, there), expected)
    # Without ids all moments are the same, and the choice is made over other folds.
    here, there = summarise(rng, source, y), summarise(rng, target)
    plain = ClosedFormRegressor(stabilise=False)
    assert_same_fit(
        ClosedFormRegressor(stabilise=False).fit_summaries(here, there), plain.fit(source, y, X_target=target)
    )
    assert ClosedFormRegressor().fit_summaries(here, there).choice_ == expected.choice_


def test_without_a_target_it_is_least_squares():
    source, y, _ = shift(3)
    expected = ClosedFormRegressor().fit(source, y, X_target=None)
    found = ClosedFormRegressor().fit_summaries(summarise(np.random.default_rng(0), source, y), None)
    np.testing.assert_allclose(found.coef_, expected.coef_, rtol=1e-10)
    assert found.relative_missingness_ is None and not hasattr(found, "choice_")


def test_a_summary_travels_and_keeps_its_memory():
    source, y, _ = shift(4)
    summary = Summary.of(source, y)
    assert repr(summary) == "Summary of 400 rows of 4 columns with 1 label"
    twice = pickle.loads(pickle.dumps(summary)) + summary
    assert twice.n == 800 and summary.n == 400
    assert len(pickle.dumps(twice)) < 1.01 * len(pickle.dumps(summary))


def test_one_fold_is_enough_for_the_formula_as_printed():
    source, y, target = shift(5)
    here, there = Summary.of(source, y, n_folds=1), Summary.of(target, n_folds=1)
    expected = ClosedFormRegressor(stabilise=False).fit(source, y, X_target=target)
    assert_same_fit(ClosedFormRegressor(stabilise=False).fit_summaries(here, there), expected)
    with pytest.raises(ValueError, match="source was summarised with n_folds=1, which only stabilise=False takes"):
        ClosedFormRegressor().fit_summaries(here, there)


def test_what_fit_warns_of_by_counts_is_warned_of():
    source, y, target = shift(6)
    with pytest.warns(UserWarning, match="The label is constant"):
        ClosedFormRegressor().fit_summaries(Summary.of(source, 0 * y + 3), Summary.of(target))
    source[5:, 0] = 0
    target[:, 0] = 1
    with pytest.warns(UserWarning, match="The source has a value in 4 of 400 rows"):
        ClosedFormRegressor().fit_summaries(Summary.of(source, y), Summary.of(target))
    source[:, 0] = 0
    with pytest.raises(ValueError, match="The source holds only zeros in column 0"):
        ClosedFormRegressor().fit_summaries(Summary.of(source, y), Summary.of(target))


def test_a_later_fit_forgets_names():
    source, y, target = shift(7)
    frames = [pd.DataFrame(rows, columns=list("abcd")) for rows in (source, target)]
    model = ClosedFormRegressor().fit_summaries(Summary.of(frames[0], y), Summary.of(frames[1]))
    assert model.n_features_in_ == 4 and model.relative_missingness_.feature_names == list("abcd")
    model.fit_summaries(Summary.of(source, y), Summary.of(target))
    assert not hasattr(model, "feature_names_in_")


def test_summaries_that_do_not_go_together_are_refused():
    source, y, target = shift(8)
    frame = pd.DataFrame(source, columns=list("abcd"))
    here, there = Summary.of(source, y), Summary.of(target)
    for other, message in [
        (Summary.of(source), "must agree in labels"),
        (Summary.of(source, y[:, None]), "must agree in labels"),
        (Summary.of(source, y, n_folds=1), "must agree in n_folds"),
        (Summary.of(source, y, groups=np.arange(400)), "must agree in groups"),
        (Summary.of(source, y, column_groups=[[0, 1]]), "must agree in column_groups"),
        (Summary.of(source[:, :3], y), "must have the same columns, got 4 and 3"),
    ]:
        with pytest.raises(ValueError, match=message):
            here + other
    with pytest.raises(ValueError, match="got 'a' in one where the other has 'd': select the columns by name"):
        Summary.of(frame) + Summary.of(frame[list("dbca")])
    with pytest.raises(TypeError):
        here + 1
    with pytest.raises(TypeError, match="source must be a Summary, got ndarray: make one with Summary"):
        ClosedFormRegressor().fit_summaries(source, there)
    with pytest.raises(ValueError, match="source has no labels: give them to Summary"):
        ClosedFormRegressor().fit_summaries(there, there)
    with pytest.raises(ValueError, match="source was summarised with other column_groups"):
        ClosedFormRegressor(column_groups=[[0, 1]]).fit_summaries(here, there)
    alone = Summary.of(source, y, groups=np.zeros(400))
    with pytest.raises(ValueError, match="groups of source put all rows into one"):
        ClosedFormRegressor().fit_summaries(alone, there)


def test_rows_that_can_not_be_used_are_refused():
    source, y, _ = shift(9)
    with pytest.raises(ValueError, match="X contains NaN in column 1"):
        Summary.of(np.where(np.arange(4) == 1, np.nan, source))
    with pytest.raises(ValueError, match="y holds 'a', which is no number"):
        Summary.of(source, ["a"] * 400)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        Summary.of(source, y[:-1])
    with pytest.raises(ValueError, match=r"groups must hold one id per row, 400, got an array of shape \(399,\)"):
        Summary.of(source, groups=np.arange(399))
    with pytest.raises(ValueError, match="groups has no id in 1 rows"):
        Summary.of(source, groups=[None, *range(399)])
