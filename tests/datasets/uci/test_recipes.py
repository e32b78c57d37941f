import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dams.datasets import RawDataError, load_uci, prepare_uci
from dams.datasets.uci.raw import LAYOUTS, Layout
from dams.datasets.uci.recipes import _prepare

real_data = [
    pytest.mark.real_data,
    pytest.mark.skipif(
        "DAMS_DATA_DIR" not in os.environ, reason="DAMS_DATA_DIR does not name a folder with the UCI files"
    ),
]

# Shaped as the real layouts are: a number, a category, a flag, and a column that is no covariate.
TOY = Layout(
    columns=("age", "job", "loan", "sex", "y"),
    numeric=("age",),
    levels={"job": 3},
    flags={"loan": ("yes", "no"), "sex": ("M", "F")},
    missing="?",
    rows=(40,),
    widths={"paper_text": 5, "released_notebook": 6},
)


def toy_lines(n=40):
    """`rare` is the job of one row in forty: less than 5 %, yet with a standard deviation of 0.16."""
    jobs = ["rare", "?", *["cook", "clerk"] * n][:n]
    return [f"{20 + i}, {jobs[i]}, {'yes' if i % 2 else 'no'}, {'M' if i % 3 else 'F'}, 0" for i in range(n)]


def write(folder, lines, name="toy.data"):
    path = folder / name
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def prepare_toy(folder, lines, recipe="released_notebook", layout=TOY):
    return _prepare(layout, [write(folder, lines)], recipe)


def test_columns_are_named_and_ordered(tmp_path):
    table = prepare_toy(tmp_path, toy_lines())
    assert list(table.columns) == ["age", "job_clerk", "job_cook", "job_rare", "loan", "sex_M"]
    assert set(table.dtypes) == {np.dtype(np.float64)}
    assert list(table.index) == list(range(40))


def test_numbers_are_standardised_by_what_is_present(tmp_path):
    lines = toy_lines()
    lines[5] = lines[5].replace("25,", "?,")
    age = prepare_toy(tmp_path, lines)["age"]
    assert age[5] == 0.0
    present = np.delete(np.arange(20.0, 60.0), 5)
    np.testing.assert_allclose(np.delete(age.to_numpy(), 5), (present - present.mean()) / present.std(ddof=1))


def test_missing_category_is_zero_in_every_dummy(tmp_path):
    table = prepare_toy(tmp_path, toy_lines())
    dummies = table[["job_clerk", "job_cook", "job_rare"]]
    assert dummies.iloc[1].tolist() == [0.0, 0.0, 0.0]
    assert (dummies.drop(index=1).sum(axis=1) == 1).all()


def test_missing_flag_is_zero(tmp_path):
    lines = toy_lines()
    lines[1] = lines[1].replace("yes", "?")
    loan = prepare_toy(tmp_path, lines)["loan"]
    assert loan[1] == 0.0
    assert loan[3] == 1.0


def test_only_the_texts_recipe_drops_rare_levels(tmp_path):
    assert "job_rare" in prepare_toy(tmp_path, toy_lines(), "released_notebook")
    assert "job_rare" not in prepare_toy(tmp_path, toy_lines(), "paper_text")


def test_a_level_in_exactly_five_percent_of_the_rows_stays(tmp_path):
    lines = toy_lines()
    lines[1] = lines[1].replace("?", "rare")
    layout = replace(TOY, widths={"paper_text": 6, "released_notebook": 6})
    assert prepare_toy(tmp_path, lines, "paper_text", layout)["job_rare"].mean() == 0.05


@pytest.mark.parametrize("recipe", ["paper_text", "released_notebook"])
def test_both_recipes_drop_columns_without_spread(tmp_path, recipe):
    lines = [line.replace("yes", "no") for line in toy_lines()]
    lines = ["?" + line[2:] for line in lines]
    layout = replace(TOY, widths={"paper_text": 3, "released_notebook": 4})
    table = prepare_toy(tmp_path, lines, recipe, layout)
    assert not {"age", "loan"} & set(table.columns)


def test_files_are_joined_in_order(tmp_path):
    lines = toy_lines()
    paths = [write(tmp_path, lines[:30], "a.data"), write(tmp_path, ["|a comment", *lines[30:], ""], "b.data")]
    joined = _prepare(replace(TOY, rows=(30, 10)), paths, "paper_text")
    pd.testing.assert_frame_equal(joined, prepare_toy(tmp_path, lines, "paper_text"))


def test_header_names_the_columns_in_any_order(tmp_path):
    layout = replace(TOY, header=True, delimiter=";")
    lines = [line.replace(", ", ";") for line in toy_lines()]
    plain = prepare_toy(tmp_path, ["age;job;loan;sex;y", *lines], layout=layout)
    turned = ["y;age;job;loan;sex", *(f"0;{line.removesuffix(';0')}" for line in lines)]
    pd.testing.assert_frame_equal(prepare_toy(tmp_path, turned, layout=layout), plain)


def changed(line, old, new):
    lines = toy_lines()
    assert old in lines[line - 1]
    lines[line - 1] = lines[line - 1].replace(old, new)
    return lines


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (changed(4, "23", "abc"), "toy.data, line 4, column 'age': expected a number or '?', found 'abc'"),
        (changed(4, "23", "inf"), "toy.data, line 4, column 'age': expected a number or '?', found 'inf'"),
        (changed(4, "23", ""), "toy.data, line 4, column 'age': expected a number or '?', found ''"),
        (changed(7, "no", "non"), "toy.data, line 7, column 'loan': expected 'yes', 'no' or '?', found 'non'"),
        (changed(9, ", 0", ""), "toy.data, line 9: expected 5 fields separated by ',', found 4"),
        ([s.replace(", ", ";") for s in toy_lines()], "toy.data, line 1: expected 5 fields separated by ',', found 1"),
        ([s.removesuffix(", 0") for s in toy_lines()], "toy.data, line 1: expected 5 fields separated by ',', found 4"),
        ([*toy_lines(), toy_lines()[0]], "toy.data: expected 40 rows, found 41"),
        (toy_lines()[:-1], "toy.data: expected 40 rows, found 39"),
        ([], "toy.data: expected 40 rows, found 0"),
        (["", "|only a comment"], "toy.data: expected 40 rows, found 0"),
        (
            changed(11, "cook", "cok"),
            "toy.data, column 'job': expected 3 levels, found 4; the rarest is 'cok', first on line 11",
        ),
    ],
)
def test_malformed_file_is_located(tmp_path, lines, message):
    with pytest.raises(RawDataError) as error:
        prepare_toy(tmp_path, lines)
    assert str(error.value) == f"{message}. This is not the UCI archive's file: remove it and fetch it again."


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("age,job,loan,sex,y", r"expected column names separated by ';', found age,job,loan,sex,y\."),
        ("56;cook;no;M;0", r"expected column names separated by ';', found 56;cook;no;M;0\."),
        ("age;job;y", r"missing columns: loan, sex\."),
        ("age;job;loan;sex;y;z", r"unexpected columns: z\."),
        ("age;job;loan;sex;y;age", r"unexpected columns: a repeated name\."),
    ],
)
def test_malformed_header_is_named(tmp_path, header, message):
    layout = replace(TOY, header=True, delimiter=";")
    with pytest.raises(RawDataError, match=rf"^toy\.data, line 1: {message}"):
        prepare_toy(tmp_path, [header, *toy_lines()], layout=layout)


def test_empty_file_that_should_have_a_header(tmp_path):
    with pytest.raises(RawDataError, match=r"^toy\.data: expected 40 rows, found 0\."):
        prepare_toy(tmp_path, [], layout=replace(TOY, header=True))


def test_category_without_any_value(tmp_path):
    lines = [line.replace("cook", "?").replace("clerk", "?").replace("rare", "?") for line in toy_lines()]
    with pytest.raises(RawDataError, match=r"column 'job': expected 3 levels, found 0; .* first on line 1\."):
        prepare_toy(tmp_path, lines)


def test_wrong_number_of_columns_left(tmp_path):
    layout = replace(TOY, widths={"paper_text": 5, "released_notebook": 7})
    message = r"^toy\.data: expected 7 columns after recipe 'released_notebook', found 6\."
    with pytest.raises(RawDataError, match=message):
        prepare_toy(tmp_path, toy_lines(), layout=layout)


@pytest.mark.parametrize("content", [b"PK\x03\x04\xff\xfe", b"x" * 200_000], ids=["not text", "endless field"])
def test_file_that_is_no_table_is_refused_by_name(tmp_path, content):
    (tmp_path / "toy.data").write_bytes(content)
    with pytest.raises(RawDataError, match=r"^toy\.data: expected text separated by ','"):
        _prepare(TOY, [tmp_path / "toy.data"], "paper_text")


def test_wrong_number_of_files(tmp_path):
    with pytest.raises(ValueError, match=r"'adult' has 2 raw files \(adult\.data, adult\.test\); 1 given\."):
        prepare_uci("adult", [tmp_path / "adult.data"])


def test_unknown_recipe_is_refused_before_anything_is_fetched():
    with pytest.raises(ValueError, match="Unknown recipe 'mine'; known are 'paper_text', 'released_notebook'"):
        load_uci("adult", recipe="mine")


@pytest.mark.parametrize(("name", "width"), [("adult", 105), ("bank", 52), ("thyroid", 33)])
def test_layouts_add_up_to_the_papers_columns(name, width):
    layout = LAYOUTS[name]
    used = [*layout.numeric, *layout.levels, *layout.flags]
    assert len(layout.numeric) + sum(layout.levels.values()) + len(layout.flags) == width
    assert len(set(used)) == len(used)
    unused = {"adult": {"income"}, "bank": {"cons.conf.idx", "y"}, "thyroid": {"diagnosis"}}
    assert set(layout.columns) - set(used) == unused[name]


class TestRealFiles:
    pytestmark = real_data

    @pytest.mark.parametrize(
        ("name", "recipe", "shape"),
        [
            ("adult", "paper_text", (48_842, 32)),
            ("adult", "released_notebook", (48_842, 69)),
            ("bank", "paper_text", (41_188, 39)),
            ("bank", "released_notebook", (41_188, 50)),
            ("thyroid", "paper_text", (2_800, 18)),
            ("thyroid", "released_notebook", (2_800, 30)),
        ],
    )
    def test_shapes(self, name, recipe, shape):
        table = load_uci(name, recipe=recipe)
        layout = LAYOUTS[name]
        assert table.shape == shape
        assert table.columns.is_unique
        assert set(table.dtypes) == {np.dtype(np.float64)}
        assert np.isfinite(table.to_numpy()).all()
        numeric = table.columns.isin(layout.numeric)
        assert table.loc[:, numeric].mean().abs().max() < 1e-9
        ones = table.loc[:, ~numeric].to_numpy()
        assert np.isin(ones, (0.0, 1.0)).all() and ones.any() and not ones.all()
        assert (table.std() > 0.05).all()
        if recipe == "paper_text":
            assert (table.loc[:, ~numeric].mean() >= 0.05).all()

    def test_the_texts_columns_are_among_the_notebooks(self):
        assert set(load_uci("thyroid")) < set(load_uci("thyroid", recipe="released_notebook"))

    def test_a_truncated_copy_is_located(self, tmp_path):
        text = Path(os.environ["DAMS_DATA_DIR"], "allbp.data").read_text()
        (tmp_path / "allbp.data").write_text(text[:20_000])
        with pytest.raises(RawDataError, match=r"^allbp\.data, line 231: expected 30 fields separated by ',', found"):
            prepare_uci("thyroid", [tmp_path / "allbp.data"])
