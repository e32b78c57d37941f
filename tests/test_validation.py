"""Columns are matched by their labels, whatever these are, and refused by name where that can't be done."""

import numpy as np
import pandas as pd
import pytest

from dams import apply_missingness, check_ucar, estimate_relative_missingness
from dams._validation import match_columns

LABELS = {
    "names": ["age", "dose", "ward"],
    "numbers": [220045, 8867, 51],
    "pairs": pd.MultiIndex.from_tuples([("lab", "k"), ("lab", "na"), ("vital", "hr")]),
    "mixed": ["age", 3, ("lab", "k")],
}
every_kind = pytest.mark.parametrize("kind", LABELS)


def frames(labels, rows=60):
    """Three columns that lose 10, 50 and 80 % in the source, and the reverse in the target."""
    rng = np.random.default_rng(0)
    kept = rng.random((2, rows, 3)) >= np.array([[[0.1, 0.5, 0.8]], [[0.8, 0.5, 0.1]]])
    return [pd.DataFrame(part * rng.integers(1, 5, part.shape).astype(float), columns=labels) for part in kept]


@every_kind
def test_a_reordered_target_is_matched_by_label(kind):
    source, target = frames(LABELS[kind])
    expected = estimate_relative_missingness(source, target)
    reordered = estimate_relative_missingness(source, target.iloc[:, [2, 0, 1]])
    np.testing.assert_array_equal(reordered.r, expected.r)
    assert reordered.feature_names == list(source.columns)
    assert list(reordered.to_frame().index) == list(source.columns)


@every_kind
def test_ucar_is_checked_of_matched_columns(kind):
    source, target = frames(LABELS[kind], rows=400)
    expected = check_ucar(source, target, random_state=0)
    reordered = check_ucar(source, target.iloc[:, [2, 0, 1]], random_state=0)
    pd.testing.assert_frame_equal(reordered.checks, expected.checks)


def test_numbers_as_labels_are_called_columns_in_a_report():
    source, target = frames(LABELS["numbers"], rows=400)
    checks = check_ucar(source, target, random_state=0).checks
    assert set(checks["feature"]) <= {"column 220045", "column 8867", "column 51"}


def test_other_labels_are_refused_and_listed():
    source, target = frames([1, 2, 3])
    with pytest.raises(ValueError, match=r"Not in the target: \[2\]; only in the target: \['2'\].*give arrays"):
        estimate_relative_missingness(source, target.set_axis([1, "2", 3], axis=1))


def test_labels_beside_none_of_the_same_kind_are_refused():
    source, target = frames(LABELS["names"])
    with pytest.raises(ValueError, match=r"only in the target: \[0, 1, 2\]"):
        estimate_relative_missingness(source, pd.DataFrame(target.to_numpy()))


def test_a_long_list_of_labels_is_cut_short():
    frame = pd.DataFrame(np.ones((2, 8)))
    with pytest.raises(ValueError, match=r"Not in the target: \[0, 1, 2, 3, 4\] and 3 more; only"):
        match_columns(frame.rename(columns=str), list(frame.columns), 8)


def test_an_array_is_matched_by_position():
    source, target = frames(LABELS["numbers"])
    expected = estimate_relative_missingness(source, target)
    np.testing.assert_array_equal(estimate_relative_missingness(source, target.to_numpy()).r, expected.r)


def test_labels_given_twice_are_refused_where_the_order_matters():
    source, target = frames(["age", "dose", "dose"])
    assert match_columns(target, list(source.columns), 3) is target
    with pytest.raises(ValueError, match=r"another order.*more than once: give every column a name of its own"):
        match_columns(target.iloc[:, [1, 0, 2]], list(source.columns), 3)


def test_messages_name_labels_that_are_numbers():
    source, target = frames(LABELS["numbers"])
    with pytest.raises(ValueError, match="X_target contains NaN in column 8867"):
        estimate_relative_missingness(source, target.replace({8867: {0.0: np.nan}}))


class Frame:
    """A table of another library: labels, and values as an array."""

    def __init__(self, frame):
        self.columns, self.shape = list(frame.columns), frame.shape
        self._values = frame.to_numpy()

    def __array__(self, dtype=None, copy=None):
        return self._values.astype(dtype) if dtype else self._values


def test_tables_of_other_libraries_are_matched_by_label():
    source, target = frames(LABELS["names"])
    expected = estimate_relative_missingness(source, target)
    found = estimate_relative_missingness(Frame(source), Frame(target.iloc[:, [2, 0, 1]]))
    np.testing.assert_array_equal(found.r, expected.r)
    with pytest.raises(ValueError, match="only in the target"):
        estimate_relative_missingness(source, Frame(target.set_axis(["a", "b", "c"], axis=1)))


def test_tables_of_other_libraries_come_back_with_their_labels():
    source, _ = frames(LABELS["names"])
    pd.testing.assert_frame_equal(
        apply_missingness(Frame(source), 0.3, random_state=0), apply_missingness(source, 0.3, random_state=0)
    )


def test_messages_call_rows_by_the_name_that_they_were_given():
    source, target = frames(LABELS["names"])
    found = estimate_relative_missingness(source, target)
    with pytest.raises(ValueError, match=r"^X must have the same columns as the source\. Not in X: \['dose'\]"):
        found.weights(source.rename(columns={"dose": "bed"}))
    with pytest.raises(ValueError, match=r"^X must have the source's 3 columns, got 1"):
        found.at(np.ones((3, 1)))
