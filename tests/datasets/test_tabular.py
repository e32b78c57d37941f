"""A user's own table: prepared like the paper's, and every mistake located by file, line and column."""

import numpy as np
import pytest

from dams.datasets.tabular import load_csv


@pytest.fixture
def write(tmp_path):
    def write(*lines):
        path = tmp_path / "mine.csv"
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return path

    return write


def test_numbers_flags_and_levels_become_covariates(write):
    path = write("id,age,smoker,ward", "7,20,1,north", "8,30,0,south", "9,40,1,")
    table = load_csv(path, numeric=["age"], binary=["smoker"], categorical=["ward"]).covariates
    assert list(table.columns) == ["age", "smoker", "ward_north", "ward_south"]
    np.testing.assert_allclose(table["age"], [-1, 0, 1])
    np.testing.assert_array_equal(table["smoker"], [1, 0, 1])
    # An empty level is 0 in all dummies.
    np.testing.assert_array_equal(table[["ward_north", "ward_south"]], [[1, 0], [0, 1], [0, 0]])
    assert all(dtype == np.float64 for dtype in table.dtypes)


def test_empty_fields_become_zero_after_scaling(write):
    table = load_csv(write("age,smoker", "20,1", ",", "40,0"), numeric=["age"], binary=["smoker"]).covariates
    np.testing.assert_allclose(table["age"], [-np.sqrt(0.5), 0, np.sqrt(0.5)])
    np.testing.assert_array_equal(table["smoker"], [1, 0, 0])


def test_levels_are_text_even_if_they_look_like_numbers(write):
    table = load_csv(write("code", "01", "1", "01"), categorical=["code"]).covariates
    assert list(table.columns) == ["code_01", "code_1"]


def test_rare_levels_and_flat_columns_are_dropped(write):
    lines = [f"{'rare' if i < 4 else 'common'},5,{i % 2}" for i in range(100)]
    own = load_csv(write("level,same,flag", *lines), numeric=["same"], binary=["flag"], categorical=["level"])
    assert list(own.covariates.columns) == ["flag", "level_common"]
    assert own.dropped == {
        "same": "hardly varies (standard deviation 0)",
        "level_rare": "is nonzero in 4.0% of the rows, under 5%",
    }
    assert own.describe() == (
        "100 rows × 2 columns; dropped: same hardly varies (standard deviation 0), "
        "level_rare is nonzero in 4.0% of the rows, under 5%"
    )


def test_a_table_that_keeps_no_column(write):
    with pytest.raises(ValueError, match=r"mine\.csv keeps no column: x hardly varies .*\. List columns that vary"):
        load_csv(write("x,y", "1,1", "1,2"), numeric=["x"])


def test_a_level_must_not_make_the_name_of_another_column(write):
    with pytest.raises(ValueError, match="a level of 'ward' makes a column 'ward_a', and there is one"):
        load_csv(write("ward,ward_a", "a,1", "b,0"), binary=["ward_a"], categorical=["ward"])


def test_another_separator(write):
    assert load_csv(write("a;b", "1;0", "2;1"), numeric=["a"], binary=["b"], separator=";").covariates.shape == (
        2,
        2,
    )


def test_a_column_that_is_not_there(write):
    with pytest.raises(
        ValueError, match=r"mine\.csv has no column 'aeg'; it has 'age', 'ward'.*separator, which is ','"
    ):
        load_csv(write("age,ward", "1,a"), numeric=["aeg"])


def test_a_header_without_rows(write):
    with pytest.raises(ValueError, match="has a header but no rows"):
        load_csv(write("age"), numeric=["age"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"numeric": ["x"]}, r"line 3, column 'x': got 'two', expected a number"),
        ({"binary": ["x"]}, r"line 3, column 'x': got 'two', expected 0 or 1; list .* `categorical`"),
    ],
)
def test_a_field_that_is_no_number(write, options, message):
    with pytest.raises(ValueError, match=message):
        load_csv(write("x", "1", "two"), **options)


@pytest.mark.parametrize("words", [("True", "False"), ("TRUE", "FALSE"), ("true", "false")])
def test_a_flag_in_words(write, words):
    yes, no = words
    table = load_csv(write("x,y", f"{yes},1", f"{no},0", ",1"), binary=["x", "y"]).covariates
    np.testing.assert_array_equal(table["x"], [1, 0, 0])
    with pytest.raises(ValueError, match=r"line 3, column 'x': got 'False', expected 0 or 1"):
        load_csv(write("x", "1", "False"), binary=["x"])


@pytest.mark.parametrize("number", ["1,1247", "-0,5", ",5", "1.234,5"])
def test_decimal_commas_are_named(write, number):
    with pytest.raises(ValueError, match=f"got '{number}', expected a number with a decimal point and no comma"):
        load_csv(write("x;y", "1;1", f"{number};2"), numeric=["x", "y"], separator=";")


def test_a_flag_that_is_neither(write):
    with pytest.raises(ValueError, match=r"line 4, column 'x': got '2', expected 0 or 1; list .* `categorical`"):
        load_csv(write("x", "1", "0", "2"), binary=["x"])


def test_the_line_is_that_of_the_file(write):
    """Blank lines are skipped, and a quoted field may hold a line end: neither shifts the count."""
    with pytest.raises(ValueError, match=r"line 6, column 'x': got 'two'"):
        load_csv(write("x,y", "", '1,"one', 'and more"', " ", "two,b"), numeric=["x"])


def test_infinity_is_no_number(write):
    with pytest.raises(ValueError, match="got 'inf', expected a number"):
        load_csv(write("x", "1", "inf"), numeric=["x"])
