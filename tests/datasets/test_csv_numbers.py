"""Numbers are read at the speed of pandas, and exactly as field by field, down to every refusal."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dams.datasets import csv_numbers
from dams.datasets.csv_files import numbers, read_header, read_text
from dams.datasets.csv_numbers import read_columns

# What stands in columns of numbers, and what should not.
FIELDS = [
    "0",
    "1",
    "-2.5",
    "1e-5",
    "0.1",
    " 7",
    "8 ",
    "",
    "NA",
    "nan",
    "True",
    "false",
    '"3"',
    "12345678901234567890123",
]
FIELDS += [
    "1e400",
    "inf",
    "NAN",
    " NA",
    "x",
    "1,5",
    '"1,5"',
    '"4',
    '5"',
    '"6"7',
    '"a ""b"""',
    "é",
    "1_0",
    "0x1",
    "\r",
    "#",
]
common = st.sampled_from(FIELDS[:10])
line_ends = st.sampled_from(["\n", "\r\n", "\r"])


def by_field(path, columns, separator=","):
    """The values that the careful way gives, or what it says."""
    try:
        text = read_text(path, separator=separator, choose=lambda _: columns)
        return pd.DataFrame({name: numbers(text[name], path) for name in columns}).to_numpy()
    except ValueError as error:
        return str(error)


def fast(path, columns, separator=","):
    try:
        return read_columns(path, columns, separator=separator).values
    except ValueError as error:
        return str(error)


def assert_alike(path, columns, separator=","):
    got, expected = fast(path, columns, separator), by_field(path, columns, separator)
    assert isinstance(got, str) == isinstance(expected, str), (got, expected)
    if isinstance(expected, str):
        assert got == expected
    else:
        np.testing.assert_array_equal(got, expected)


@settings(deadline=None, max_examples=300)
@given(
    rows=st.lists(st.lists(common | st.sampled_from(FIELDS), min_size=3, max_size=3), min_size=1, max_size=8),
    odd=st.none() | st.sampled_from(["", " ", ",", "1", "1,2", "1,2,3,4", "1,2,3,", '""', "\0,1,2", "\ufeff1,2,3"]),
    at=st.integers(0, 8),
    end=line_ends,
    last=st.booleans(),
    mark=st.booleans(),
)
def test_whatever_a_file_holds_it_is_read_as_field_by_field(tmp_path_factory, rows, odd, at, end, last, mark):
    lines = [",".join(row) for row in rows]
    if odd is not None:
        lines.insert(at, odd)
    path = tmp_path_factory.mktemp("csv") / "mine.csv"
    content = end.join(["a,b,c", *lines]) + end * last
    path.write_bytes(b"\xef\xbb\xbf" * mark + content.encode())
    assert_alike(path, ["c", "a"])
    assert_alike(path, ["b"])


@settings(deadline=None, max_examples=50)
@given(values=st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=20))
def test_no_digit_is_lost(tmp_path_factory, values):
    path = tmp_path_factory.mktemp("csv") / "mine.csv"
    pd.DataFrame({"a": values, "b": 1}).to_csv(path, index=False)
    np.testing.assert_array_equal(read_columns(path, ["a"]).frame()["a"], values)


@pytest.fixture
def write(tmp_path):
    def write(content):
        path = tmp_path / "mine.csv"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


@pytest.fixture
def by_pandas_alone(monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("read field by field")

    monkeypatch.setattr(csv_numbers, "read_text", refuse)


@pytest.mark.usefixtures("by_pandas_alone")
@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("a,b\n1,2.5\n0,-1\n", [[1, 2.5], [0, -1]]),
        ("a,b\r\n1,2\r\n\r\n3,4", [[1, 2], [3, 4]]),
        ("b,t,a\n1,é x,2\n3,,4\n", [[2, 1], [4, 3]]),
        ('"b","t","a"\n1,"so ""it"", is",2\n3,"x",4\n', [[2, 1], [4, 3]]),
        ("a,b\nTrue,1\nFalse,0\n", [[1, 1], [0, 0]]),
        ("a,b\n,1\nNA,\n3,4\n", [[np.nan, 1], [np.nan, np.nan], [3, 4]]),
        ("\ufeffa,b,\n1,2,\n", [[1, 2]]),
    ],
)
def test_files_that_pandas_reads(write, content, expected):
    np.testing.assert_array_equal(read_columns(write(content), ["a", "b"]).values, expected)


@pytest.mark.usefixtures("by_pandas_alone")
def test_blocks_and_chunks_fit_together(write, monkeypatch):
    monkeypatch.setattr(csv_numbers, "BLOCK", 50)
    monkeypatch.setattr(csv_numbers, "ROWS", 7)
    table = pd.DataFrame(
        {"id": [f'p"{i // 2}' for i in range(100)], "a": range(100), "flag": [None] * 84 + [True] * 16}
    )
    path = write(table.to_csv(index=False, lineterminator="\r\n"))
    found = read_columns(path, ["flag", "a"], text=["id"])
    values, ids = found.frame(), found.words["id"]
    assert list(values.columns) == ["flag", "a"]
    np.testing.assert_array_equal(values["a"], range(100))
    np.testing.assert_array_equal(values["flag"], [np.nan] * 84 + [1.0] * 16)
    assert list(ids) == list(table["id"])


def test_one_column_that_pandas_can_not_take_is_read_with_care(write, monkeypatch):
    asked = []

    def remember(path, *, separator, choose):
        asked.append(choose([]))
        return read_text(path, separator=separator, choose=choose)

    monkeypatch.setattr(csv_numbers, "read_text", remember)
    path = write("a;b;c\n1;True;2\n3;;12345678901234567890123\n")
    values = read_columns(path, ["a", "b", "c"], separator=";").values
    np.testing.assert_array_equal(values, [[1, 1, 2], [3, np.nan, 12345678901234567890123.0]])
    assert asked == [["b", "c"]]


def test_flags_and_numbers_do_not_mix_in_a_column(write, monkeypatch):
    monkeypatch.setattr(csv_numbers, "ROWS", 2)
    path = write("a,b\nTrue,1\nFalse,1\n2,1\n3,1\n")
    with pytest.raises(ValueError, match=r"line 2, column 'a': got 'True', expected a number"):
        read_columns(path, ["a", "b"])


@pytest.mark.parametrize("separator", [",", ";", "\t", "|", ":", " ", "x", "§"])
def test_any_separator(write, separator):
    path = write(separator.join("abc") + "\n" + separator.join("123") + "\n\n" + separator.join(["4", "", "6"]) + "\n")
    assert_alike(path, ["c", "b"], separator)
    assert list(read_header(path, separator=separator)) == ["a", "b", "c"]


def test_ids_are_text(write):
    expected = ["01", "1.0", None]
    # Ends of lines of which pandas is not asked come second.
    for content in ("id,a,b\n01,1,2\n1.0,3,4\n,5,6\n", "id,a,b\r01,1,2\r1.0,3,4\r,5,6\r"):
        found = read_columns(write(content), ["b"], text=["id"])
        assert [None if pd.isna(i) else i for i in found.words["id"]] == expected
        np.testing.assert_array_equal(found.values, [[2], [4], [6]])


def test_not_utf8_is_refused_in_columns_that_are_left_out_as_well(write):
    path = write("name,a,b\nJürgen,1,2\n".encode("latin1"))
    with pytest.raises(ValueError, match=r"mine\.csv is not UTF-8 text"):
        read_columns(path, ["a", "b"])
