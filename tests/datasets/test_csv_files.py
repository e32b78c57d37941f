"""CSV files are read as they are written, or refused with the line and the way out."""

import io

import pandas as pd
import pytest

from dams.datasets.csv_files import NO_VALUE, read_text


@pytest.fixture
def write(tmp_path):
    def write(content):
        path = tmp_path / "mine.csv"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def test_rows_columns_and_lines(write):
    text = read_text(write('a,b,"c d"\r\n1,,"x, ""y"""\r\n\r\n2,NA,z\r\n'))
    assert list(text.columns) == ["a", "b", "c d"]
    assert list(text.index) == [2, 4]
    assert list(text["c d"]) == ['x, "y"', "z"]
    assert text["b"].isna().all()


def test_a_mark_at_the_start_of_the_file_is_no_part_of_the_header(write):
    assert list(read_text(write(b"\xef\xbb\xbfa,b\n1,2\n")).columns) == ["a", "b"]


def test_only_chosen_columns_are_kept_in_their_order(write):
    text = read_text(write("a,b,c\n1,2,3\n"), choose=lambda header: header[:0:-1])
    assert list(text.columns) == ["c", "b"]
    assert list(text.iloc[0]) == ["3", "2"]


def test_columns_without_a_name_can_be_left_out(write):
    """What a spreadsheet leaves at the end of every line, the header's too."""
    assert list(read_text(write("a,,\n1,,\n"), choose=lambda header: ["a"])["a"]) == ["1"]


def test_words_for_no_value_are_those_of_pandas():
    words = sorted(NO_VALUE - {""})
    told = pd.read_csv(io.StringIO("\n".join(["x,y", *(f"{word},1" for word in words)])), dtype="string")["x"]
    assert told.isna().all()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a,b\n1,2,\n3,4,\n", r"line 2: got 3 fields, expected 2 as in the header\. It ends in ',': take that off"),
        ("a,b\n1,2\n3,4,5\n", r"line 3: got 3 fields, expected 2 as in the header\. Put quotes around"),
        ("a,b\n1,2\n3\n", r"line 3: got 1 field, expected 2"),
        ("a,b,a\n1,2,3\n", r"mine\.csv has more than one column 'a'; rename or remove"),
        ("", r"mine\.csv is empty; expected a header line"),
        ("\n \n", r"mine\.csv is empty; expected a header line"),
        ("a,b\n", r"mine\.csv has a header but no rows"),
        ("name\nJürgen\n".encode("latin1"), r"mine\.csv is not UTF-8 text\. Save it as UTF-8"),
        ('a,b\n1,2\n"3,4\n5,6\n', r"mine\.csv, line 3: .* A quote may be left open"),
    ],
)
def test_what_would_be_misread_is_refused(write, content, message):
    with pytest.raises(ValueError, match=message):
        read_text(write(content))


@pytest.mark.parametrize("separator", ["", ", ", '"', "\n"])
def test_separators_that_are_none(write, separator):
    with pytest.raises(ValueError, match="separator must be one character"):
        read_text(write("a,b\n1,2\n"), separator=separator)


def test_a_wide_file_is_not_listed_in_full(write):
    wide = [f"x{i}" for i in range(500)]
    path = write(",".join(wide) + "\n" + ",".join("1" for _ in wide) + "\n")
    with pytest.raises(
        ValueError, match=r"no column 'x4999'; it has 'x0', .* and 480 more \(did you mean 'x499'\?\)\."
    ):
        read_text(path, choose=lambda header: ["x4999"])


def test_a_file_that_is_not_there_or_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileNotFoundError, match=f"none.csv does not exist below {tmp_path}"):
        read_text("none.csv")
    with pytest.raises(IsADirectoryError, match="is a folder; expected a CSV file"):
        read_text(tmp_path)
