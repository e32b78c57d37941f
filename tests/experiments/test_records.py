"""Records keep every digit on their way through files, and nothing else passes for records."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dams.experiments.compact_records import read_compact, write_compact
from dams.experiments.records import (
    COLUMNS,
    KEYS,
    as_records,
    as_text,
    read_records,
    write_csv,
)

ROW = {
    "study": "one",
    "dataset": "adult",
    "regime": "free",
    "epsilon": None,
    "labels": "random_linear",
    "variant": "corrected",
    "model": "linear",
    "method": "oracle",
    "draw": 3,
    "beta": 1,
    "score": 0.1,
    "mse": 0.2,
    "var_y": 2.0,
    "rate_distance": 1.5,
    "dropped": None,
    "failure": None,
}
finite = st.floats(allow_nan=False, allow_infinity=False)
words = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), min_size=1, max_size=30)


@settings(deadline=None, max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(finite, finite, st.none() | words, st.none() | words), min_size=1, max_size=5))
def test_records_are_read_back_exactly(tmp_path, values):
    rows = [ROW | {"score": score, "mse": mse, "failure": f, "dropped": d} for score, mse, f, d in values]
    records = as_records(rows)
    write_csv(records, tmp_path / "r.csv")
    pd.testing.assert_frame_equal(read_records(tmp_path / "r.csv"), records, check_exact=True)


def test_writing_again_writes_the_same_bytes(tmp_path):
    rng = np.random.default_rng(0)
    write_csv(as_records([ROW | {"score": float(x), "epsilon": 0.05} for x in rng.random(200)]), tmp_path / "a.csv")
    write_csv(read_records(tmp_path / "a.csv"), tmp_path / "b.csv")
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()
    assert {path.name for path in tmp_path.iterdir()} == {"a.csv", "b.csv"}


@pytest.mark.parametrize("word", ["nan", "NA", "None", 'a "quoted", comma', "null"])
def test_words_that_look_like_no_value_are_kept(tmp_path, word):
    write_csv(as_records([ROW | {"failure": word, "regime": word}]), tmp_path / "r.csv")
    read = read_records(tmp_path / "r.csv")
    assert read["failure"].item() == word
    assert read["regime"].item() == word


def test_no_epsilon_and_no_failure_are_missing(tmp_path):
    write_csv(as_records([ROW, ROW | {"epsilon": 0.1}]), tmp_path / "r.csv")
    read = read_records(tmp_path / "r.csv")
    assert read["epsilon"].isna().tolist() == [True, False]
    assert read["failure"].isna().all()


@pytest.mark.parametrize(
    ("cut", "message"),
    [
        (slice(0), r"r\.csv is cut off: expected its last line to end, got 0 bytes"),
        (slice(-1), r"r\.csv is cut off: .*Delete the file and run again\."),
        (slice(-8), r"r\.csv is cut off"),
    ],
)
def test_a_file_that_was_cut_is_refused(tmp_path, cut, message):
    path = tmp_path / "r.csv"
    write_csv(as_records([ROW, ROW]), path)
    path.write_bytes(path.read_bytes()[cut])
    with pytest.raises(ValueError, match=message):
        read_records(path)


def test_a_field_of_the_wrong_kind_is_refused_by_file(tmp_path):
    path = tmp_path / "r.csv"
    write_csv(as_records([ROW]), path)
    path.write_text(path.read_text().replace(",3,1,", ",three,1,"))
    with pytest.raises(ValueError, match=r"r\.csv is damaged: .*three.*Delete the file and run again\."):
        read_records(path)


@pytest.mark.parametrize(
    "text", ["a,b\n1,2\n", ",".join(COLUMNS[:-1]) + "\n", ",".join([*COLUMNS, "more"]) + "\n", ",".join(KEYS) + "\n"]
)
def test_other_tables_are_refused_by_name(tmp_path, text):
    path = tmp_path / "other.csv"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"other\.csv does not hold records: expected columns \['study'"):
        read_records(path)


def test_a_write_that_fails_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "r.csv"
    write_csv(as_records([ROW]), path)
    before = path.read_bytes()

    def half(self, target, **options):
        target.write_text("study,dat")
        raise OSError("disk full")

    monkeypatch.setattr(pd.DataFrame, "to_csv", half)
    with pytest.raises(OSError, match="disk full"):
        write_csv(as_records([ROW] * 2), path)
    assert path.read_bytes() == before


def test_compact_records_hold_every_digit(tmp_path):
    """The same rows in the same order; the error is score × var_y."""
    rng = np.random.default_rng(0)
    rows = [
        ROW | {"method": method, "epsilon": epsilon, "draw": draw, "score": float(rng.random()), "mse": 0.0}
        for method in ("source", "oracle")
        for epsilon in (None, 0.05)
        for draw in range(200)
    ]
    rows[5] |= {"score": None, "failure": "LinAlgError: nan, “singular”", "dropped": "a;b"}
    crossed = as_records(rows)
    write_compact(crossed, tmp_path / "records.npz")
    again = read_compact(tmp_path / "records.npz")
    expected = crossed.sort_values(KEYS, kind="stable", ignore_index=True)
    pd.testing.assert_frame_equal(again.drop(columns="mse"), expected.drop(columns="mse"))
    np.testing.assert_allclose(again["mse"], again["score"] * again["var_y"])
    first = (tmp_path / "records.npz").read_bytes()
    write_compact(again, tmp_path / "records.npz")
    assert (tmp_path / "records.npz").read_bytes() == first
    (tmp_path / "records.npz").write_bytes(first[:-300])
    with pytest.raises(ValueError, match=r"records\.npz is damaged"):
        read_compact(tmp_path / "records.npz")


@pytest.mark.parametrize("name", ["=1+1", "+1", "-basos", "@SUM(A1)", "\tx", "\rx"])
def test_no_name_of_a_column_is_a_formula_of_a_spreadsheet(name):
    assert as_text(name) == f"'{name}"
    assert as_text("age = 3") == "age = 3"
