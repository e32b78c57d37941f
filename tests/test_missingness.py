"""Corruption keeps type, labels and input, loses values at the asked rates, and refuses rates that are none."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from dams import FreeRates, NestedRates, OpposingRates, apply_missingness, estimate_relative_missingness
from dams.imputation import MissForestImputer
from dams.missingness import delete_at_random

RATES = np.array([0.0, 0.1, 0.5, 0.9])


@pytest.fixture
def clean():
    return np.random.default_rng(0).integers(1, 9, (500, 4)).astype(float)


def as_frame(X):
    return pd.DataFrame(X, columns=list("abcd"), index=np.arange(len(X)) * 2 + 7)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, bool])
def test_an_array_keeps_its_type_and_shape_and_is_not_changed(clean, dtype):
    X = clean.astype(dtype)
    before = X.copy()
    corrupted = apply_missingness(X, RATES, random_state=1)
    assert isinstance(corrupted, np.ndarray)
    assert corrupted.dtype == dtype
    assert corrupted.shape == X.shape
    np.testing.assert_array_equal(X, before)


def test_every_entry_is_itself_or_zero(clean):
    corrupted = apply_missingness(clean, RATES, random_state=1)
    assert ((corrupted == clean) | (corrupted == 0)).all()
    np.testing.assert_array_equal(corrupted[:, 0], clean[:, 0])
    assert (corrupted[:, 1:] == 0).any(axis=0).all()


def test_a_frame_keeps_labels_and_loses_what_the_array_loses(clean):
    X = as_frame(clean)
    corrupted = apply_missingness(X, RATES, random_state=1)
    pd.testing.assert_frame_equal(corrupted, as_frame(apply_missingness(clean, RATES, random_state=1)))
    pd.testing.assert_frame_equal(X, as_frame(clean))


def mixed(rows=200):
    """One column of every type that holds numbers."""
    count = np.arange(1, rows + 1)
    return pd.DataFrame(
        {
            "count": count,
            "share": -1 / count,
            "single": (1 / count).astype(np.float32),
            "flag": True,
            "nullable": pd.array(count, dtype="Int64"),
            "nullable flag": pd.array([True] * rows, dtype="boolean"),
            "sparse": pd.arrays.SparseArray(1.0 * count),
            "object": pd.Series([-1.5, 2] * (rows // 2), dtype=object),
            "level": pd.Categorical(count % 3, categories=[0, 1, 2]),
        },
        index=np.arange(rows) // 2,
    )


def test_columns_of_a_frame_keep_their_own_types():
    X = mixed()
    before = X.copy()
    corrupted = apply_missingness(X, 0.5, random_state=0)
    assert corrupted.dtypes.to_dict() == X.dtypes.to_dict()
    pd.testing.assert_frame_equal(X, before)
    assert corrupted.index.equals(X.index)


def test_columns_of_several_types_lose_what_an_array_loses():
    X = mixed()
    corrupted = apply_missingness(X, 0.5, random_state=0).astype(float)
    np.testing.assert_array_equal(corrupted, apply_missingness(X.astype(float).to_numpy(), 0.5, random_state=0))
    assert not np.signbit(corrupted.to_numpy()[corrupted == 0]).any()
    assert not np.signbit(apply_missingness(X.assign(share=-0.0), 0.5)["share"]).any()


def test_an_array_of_objects_loses_values_to_plain_zeros():
    X = np.array([[-1.5, 2], [True, -3.0]] * 50, dtype=object)
    corrupted = apply_missingness(X, 0.5, random_state=0)
    np.testing.assert_array_equal(corrupted.astype(float), apply_missingness(X.astype(float), 0.5, random_state=0))
    assert not np.signbit(corrupted[corrupted == 0].astype(float)).any()


@pytest.mark.parametrize(
    ("values", "categories"),
    [
        ([1, 2, 3] * 20, [0, 1, 2, 3]),
        (np.array([1, 2, 3] * 20, dtype=np.int8), [0, 1, 2, 3]),
        ([1.5, 2.5, 9] * 20, [0, 1.5, 2.5, 9]),
        ([True] * 60, [False, True]),
    ],
    ids=["integers", "short integers", "floats", "booleans"],
)
@pytest.mark.parametrize("ordered", [False, True])
def test_a_lost_category_is_zero_and_never_nan(values, categories, ordered):
    X = pd.DataFrame({"age": 1.0, "level": pd.Categorical(values, ordered=ordered)})
    level = apply_missingness(X, 0.5, random_state=0)["level"]
    assert list(level.cat.categories) == categories
    assert level.cat.categories.dtype == X["level"].cat.categories.dtype
    assert level.cat.ordered == ordered
    lost = level.astype(float) == 0
    assert 0.2 < lost.mean() < 0.8
    assert ((level.astype(float) == X["level"].astype(float)) | lost).all()
    assert apply_missingness(X, 0)["level"].dtype == X["level"].dtype


def test_text_is_refused_by_column():
    X = pd.DataFrame({"age": [1.0, 2.0], "triage": ["low", "med"]})
    for triage in (X["triage"], X["triage"].astype("category"), X["triage"].astype(object)):
        with pytest.raises(ValueError, match="X holds 'low', which is no number, in column 'triage'"):
            apply_missingness(X.assign(triage=triage), 0.5)


def test_labels_given_twice_stay():
    X = mixed().set_axis(list("aabbccdde"), axis=1)
    assert list(apply_missingness(X, 0.5, random_state=0).columns) == list("aabbccdde")


@pytest.mark.parametrize("make", [sparse.csr_matrix, sparse.csc_matrix, sparse.coo_matrix, sparse.csr_array])
def test_a_sparse_matrix_keeps_its_format_and_is_not_changed(clean, make):
    X = make(clean)
    corrupted = apply_missingness(X, RATES, random_state=1)
    assert type(corrupted) is type(X)
    assert corrupted.shape == X.shape
    assert corrupted.dtype == X.dtype
    np.testing.assert_array_equal(X.toarray(), clean)
    dense = corrupted.toarray()
    assert ((dense == clean) | (dense == 0)).all()
    lost = (dense == 0).mean(axis=0)
    np.testing.assert_allclose(lost, RATES, atol=5 * np.sqrt(0.25 / len(clean)))


def test_an_entry_stored_in_two_parts_is_lost_as_one():
    # Row i holds 1 + 2 in column 0, which scipy allows to be stored apart.
    n = 200
    X = sparse.csr_array((np.tile([1.0, 2.0], n), np.zeros(2 * n, dtype=int), np.arange(0, 2 * n + 1, 2)), shape=(n, 1))
    assert set(apply_missingness(X, 0.5, random_state=0).toarray().ravel()) == {0.0, 3.0}
    assert X.nnz == 2 * n


@pytest.mark.parametrize("make", [dict, pd.Series])
def test_rates_by_label_find_their_columns(clean, make):
    rates = make(dict(zip("dbac", RATES[[3, 1, 0, 2]], strict=True)))
    expected = apply_missingness(as_frame(clean), RATES, random_state=1)
    pd.testing.assert_frame_equal(apply_missingness(as_frame(clean), rates, random_state=1), expected)


@pytest.mark.parametrize("make", [dict, pd.Series])
def test_rates_of_other_labels_are_refused(clean, make):
    rates = make({"a": 0.1, "b": 0.1, "x": 0.1})
    with pytest.raises(ValueError, match=r"Without a rate: \['c', 'd'\]; not in X: \['x'\]\. An array"):
        apply_missingness(as_frame(clean), rates)


def test_several_rates_of_one_column_are_refused(clean):
    rates = pd.Series([0.1] * 5, index=list("aabcd"))
    with pytest.raises(ValueError, match="every column one rate, got several for column 'a'"):
        apply_missingness(as_frame(clean), rates)


def test_rates_by_label_need_labels(clean):
    with pytest.raises(ValueError, match="rates by name need a DataFrame: give a vector"):
        apply_missingness(clean, {0: 0.1, 1: 0.2, 2: 0.3, 3: 0.4})
    expected = apply_missingness(clean, RATES, random_state=1)
    np.testing.assert_array_equal(apply_missingness(clean, pd.Series(RATES), random_state=1), expected)


def test_a_rate_outside_the_unit_interval_is_named(clean):
    with pytest.raises(ValueError, match=r"rates must lie in \[0, 1\).*got 1.5 for column 'c'"):
        apply_missingness(as_frame(clean), {"d": 0.1, "c": 1.5, "b": 0.1, "a": 0.1})


def test_a_list_of_rows_is_an_array():
    np.testing.assert_array_equal(apply_missingness([[1.0, 2.0], [3.0, 4.0]], 0), [[1, 2], [3, 4]])


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
def test_rates_are_met_column_by_column(make):
    n = 100_000
    rates = np.array([0.0, 0.01, 0.3, 0.5, 0.99])
    corrupted = apply_missingness(make(np.ones((n, len(rates)))), rates, random_state=3)
    lost = 1 - np.asarray(corrupted.sum(axis=0)).ravel() / n
    # Four standard errors: one in ten thousand columns of right rate would fail.
    assert (np.abs(lost - rates) <= 4 * np.sqrt(rates * (1 - rates) / n)).all()


def test_columns_are_lost_independently():
    n = 100_000
    mask = apply_missingness(np.ones((n, 2)), 0.5, random_state=4)
    assert abs(mask.prod(axis=1).mean() - 0.25) < 4 * np.sqrt(0.25 * 0.75 / n)


def test_one_number_is_a_rate_for_every_column(clean):
    np.testing.assert_array_equal(
        apply_missingness(clean, 0.3, random_state=5), apply_missingness(clean, np.full(4, 0.3), random_state=5)
    )


@pytest.mark.parametrize("make", [np.asarray, as_frame, sparse.csr_matrix], ids=["array", "frame", "sparse"])
def test_same_seed_same_mask_other_seed_other_mask(clean, make):
    def dense(seed):
        corrupted = apply_missingness(make(clean), RATES, random_state=seed)
        return corrupted.toarray() if sparse.issparse(corrupted) else np.asarray(corrupted)

    np.testing.assert_array_equal(dense(6), dense(6))
    np.testing.assert_array_equal(dense(6), dense(np.random.default_rng(6)))
    assert (dense(6) != dense(7)).any()


@pytest.mark.parametrize(("rate", "shown"), [(-0.1, "-0.1"), (1.0, "1"), (1.5, "1.5"), (np.nan, "nan")])
def test_rates_outside_the_unit_interval_are_refused(clean, rate, shown):
    with pytest.raises(ValueError, match=rf"rates must lie in \[0, 1\).*got {shown} for column 2"):
        apply_missingness(clean, [0.1, 0.2, rate, 0.3])


@pytest.mark.parametrize("rates", [[0.1, 0.2], np.zeros((4, 1))])
def test_rates_of_another_length_are_refused(clean, rates):
    with pytest.raises(ValueError, match=r"one rate per column \(4\), got an array of shape"):
        apply_missingness(clean, rates)


def test_a_vector_is_refused(clean):
    with pytest.raises(ValueError, match=r"two dimensions.*shape \(500,\)"):
        apply_missingness(clean[:, 0], 0.1)


@settings(deadline=None, max_examples=50)
@given(seed=st.integers(0, 2**32), source_high=st.floats(0, 0.99), extra_high=st.floats(0, 0.99))
def test_nested_targets_lose_at_least_as_much(seed, source_high, extra_high):
    source, target = NestedRates(source_high, extra_high).sample(30, np.random.default_rng(seed))
    assert (target >= source).all()
    assert (source >= 0).all() and (source <= source_high).all()
    assert (target < 1).all()


def test_nested_draws_the_stated_law():
    source, target = NestedRates(0.5, 0.5).sample(100_000, np.random.default_rng(0))
    extra = (target - source) / (1 - source)
    for drawn in (source, extra):
        np.testing.assert_allclose(np.quantile(drawn, [0.25, 0.5, 0.75]), [0.125, 0.25, 0.375], atol=0.01)
    assert abs(np.corrcoef(source, extra)[0, 1]) < 0.02


def test_free_rates_are_uniform_and_of_either_order():
    source, target = FreeRates(0.9).sample(100_000, np.random.default_rng(0))
    for drawn in (source, target):
        np.testing.assert_allclose(np.quantile(drawn, [0.0, 0.5, 1.0]), [0, 0.45, 0.9], atol=0.01)
    assert abs(np.corrcoef(source, target)[0, 1]) < 0.02
    assert abs((source > target).mean() - 0.5) < 0.01


def test_opposing_rates_alternate_and_draw_nothing():
    rng = np.random.default_rng(0)
    source, target = OpposingRates(0.1).sample(3, rng)
    np.testing.assert_allclose(source, [0.9, 0.1, 0.9])
    np.testing.assert_allclose(target, [0.1, 0.9, 0.1])
    assert rng.bit_generator.state == np.random.default_rng(0).bit_generator.state


def test_nan_is_refused_with_what_to_do(clean):
    clean[3, 2] = np.nan
    with pytest.raises(ValueError, match=r"X contains NaN in column 2\. .*replace NaN by 0"):
        apply_missingness(clean, RATES)
    with pytest.raises(ValueError, match="X contains NaN"):
        apply_missingness(sparse.csr_matrix(clean), RATES)


def test_infinite_values_are_refused_by_column(clean):
    clean[3, 2] = -np.inf
    with pytest.raises(ValueError, match=r"X contains infinite values in column 2: give finite ones"):
        apply_missingness(clean, RATES)
    # Lost or kept as they are, not multiplied.
    assert not np.isnan(apply_missingness(sparse.csr_matrix(clean), RATES, random_state=0).data).any()


def test_a_lost_negative_value_is_a_plain_zero():
    corrupted = apply_missingness(np.full((1000, 1), -1.0), 0.5, random_state=0)
    assert not np.signbit(corrupted[corrupted == 0]).any()


@pytest.mark.parametrize("rate", [1 / 256, 0.5 / 256, 255.5 / 256, 1 - 1e-9, 1e-4])
def test_rates_are_not_rounded_to_what_a_byte_holds(rate):
    n = 4_000_000
    lost = 1 - apply_missingness(np.ones((n // 4, 4), dtype=np.float32), rate, random_state=0).mean(dtype=float)
    assert abs(lost - rate) <= 5 * np.sqrt(rate * (1 - rate) / n)


def test_overwriting_gives_the_same_and_allocates_nothing():
    X = np.random.default_rng(0).normal(size=(200, 3))
    rates = np.array([0.1, 0.5, 0.9])
    expected = delete_at_random(X, rates, np.random.default_rng(1))
    own = X.copy()
    assert delete_at_random(own, rates, np.random.default_rng(1), overwrite=True) is own
    np.testing.assert_array_equal(own, expected)


@pytest.mark.parametrize(
    ("sampler", "message"),
    [
        (lambda: NestedRates(source_high=2), r"source_high must lie in \[0, 1\], got 2"),
        (lambda: NestedRates(extra_high=-0.1), r"extra_high must lie in \[0, 1\], got -0.1"),
        (lambda: FreeRates(1.5), r"high must lie in \[0, 1\], got 1.5"),
        (lambda: OpposingRates(5), "epsilon must lie between 0 and 1, got 5"),
        (lambda: OpposingRates(0), "epsilon must lie between 0 and 1, got 0"),
    ],
)
def test_samplers_of_impossible_rates_are_refused(sampler, message):
    with pytest.raises(ValueError, match=message):
        sampler()


@pytest.mark.parametrize(
    "draw",
    [
        lambda seed: apply_missingness(np.ones((50, 2)), 0.5, random_state=seed),
        lambda seed: (
            estimate_relative_missingness(
                np.arange(3000.0).reshape(-1, 3) % 2,
                np.arange(3000.0).reshape(-1, 3) % 4,
                method="bootstrap",
                random_state=seed,
            ).lower
        ),
        lambda seed: MissForestImputer(random_state=seed).fit(np.arange(40.0).reshape(20, 2) % 7)._seed,
    ],
)
def test_seeds_of_every_kind(draw, monkeypatch):
    """A RandomState moves on, as scikit-learn's users expect; NumPy before 2.2 makes no generator of it."""
    plain = np.random.default_rng

    def older(seed=None):
        if isinstance(seed, np.random.RandomState):
            raise TypeError("SeedSequence expects int or sequence of ints for entropy")
        return plain(seed)

    monkeypatch.setattr(np.random, "default_rng", older)
    np.testing.assert_array_equal(draw(3), draw(np.int64(3)))
    state = np.random.RandomState(3)
    first, second = draw(state), draw(state)
    np.testing.assert_array_equal(first, draw(np.random.RandomState(3)))
    assert np.any(first != second)
