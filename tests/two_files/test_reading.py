"""Two files become two tables: whatever they are packed in, however they are written, words and numbers alike."""

import gzip
import io
import sys
import zipfile

import numpy as np
import pandas as pd
import pytest

from dams.two_files import opening
from dams.two_files.reading import read_one, read_pair

KNOWN = {"labels": ["y"], "groups": "id", "nan_as_zero": True}


def hospital(n, seed, *, female=0.5, with_label=True):
    """Numbers and words, some of both lost; sex never is."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "id": [f"p{i // 2}" for i in range(n)],
            "age": rng.normal(60, 10, n).round(3),
            "lactate": np.where(rng.random(n) < 0.3, np.nan, rng.normal(2, 1, n).round(3)),
            "sex": np.where(rng.random(n) < female, "female", "male"),
            "ward": rng.choice(["east", "north", "south, new", None], n),
            "flag": rng.integers(0, 2, n),
        }
    )
    return table.assign(y=rng.normal(size=n)) if with_label else table


@pytest.fixture(scope="module")
def tables():
    return hospital(60, 1), hospital(40, 2, female=0.8, with_label=False)


@pytest.fixture(scope="module")
def plain(tables, tmp_path_factory):
    folder = tmp_path_factory.mktemp("plain")
    for name, table in zip(("source.csv", "target.csv"), tables, strict=True):
        table.to_csv(folder / name, index=False)
    return folder / "source.csv", folder / "target.csv"


def write_gzip(table, path):
    table.to_csv(path, index=False, compression="gzip")


def write_zip(table, path):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("folder/", "")
        archive.writestr("__MACOSX/._t.csv", "x")
        archive.writestr("folder/t.csv", table.to_csv(index=False))


def write_parquet(table, path):
    pytest.importorskip("pyarrow", reason="the extra parquet is not installed")
    table.astype({"ward": "category", "flag": bool}).set_index(np.arange(len(table)) * 2).to_parquet(path)


WRITERS = {
    "gzip": write_gzip,
    "zip": write_zip,
    "parquet": write_parquet,
    "tabs": lambda table, path: table.to_csv(path, index=False, sep="\t"),
    "bars": lambda table, path: table.to_csv(path, index=False, sep="|"),
    "excel": lambda table, path: table.to_csv(path, index=False, sep=";", decimal=",", encoding="utf-8-sig"),
    "commas": lambda table, path: table.to_csv(path, index=False, decimal=","),
}


@pytest.mark.parametrize("kind", WRITERS)
def test_every_format_gives_the_same_tables(tables, plain, tmp_path, kind):
    """Whatever the name ends in, and in whichever place a file is."""
    WRITERS[kind](tables[0], tmp_path / "mine.txt")
    expected, got = read_pair(*plain, **KNOWN), read_pair(tmp_path / "mine.txt", plain[1], **KNOWN)
    pd.testing.assert_frame_equal(got.X_source, expected.X_source)
    pd.testing.assert_frame_equal(got.X_target, expected.X_target)
    assert list(got.ids_source) == list(tables[0]["id"]) and list(got.ids_target) == list(tables[1]["id"])
    np.testing.assert_array_equal(got.labels_source["y"], tables[0]["y"])
    assert got.labels_target.shape == (40, 0)
    assert got.structure.keys() == expected.structure.keys()
    assert (got.encoding, got.always_recorded, got.column_groups) == (
        expected.encoding,
        expected.always_recorded,
        expected.column_groups,
    )


def test_words_become_one_column_per_level_and_a_lost_one_is_zero_in_all(tables, plain):
    pair = read_pair(*plain, **KNOWN)
    wards = ["ward=east", "ward=north", "ward=south, new"]
    assert list(pair.X_source.columns) == ["age", "lactate", "sex=female", "sex=male", *wards, "flag"]
    assert list(pair.X_target.columns) == list(pair.X_source.columns)
    for table, X in zip(tables, (pair.X_source, pair.X_target), strict=True):
        for level in wards:
            np.testing.assert_array_equal(X[level], table["ward"] == level.removeprefix("ward="))
        np.testing.assert_array_equal(X[wards].sum(axis=1) == 0, table["ward"].isna())
        np.testing.assert_array_equal(X["lactate"], table["lactate"].fillna(0))
    assert pair.encoding == {"sex": ("female", "male"), "ward": ("east", "north", "south, new")}
    assert pair.column_groups == [wards]
    assert pair.rows == (60, 40) and pair.columns == ["age", "lactate", "sex", "ward", "flag"]


def test_words_without_an_empty_field_are_always_recorded_unless_the_user_knows_better(plain):
    assert read_pair(*plain, **KNOWN).never_lost == ["sex"]
    assert read_pair(*plain, **KNOWN).always_recorded == ["sex=female", "sex=male"]
    named = read_pair(*plain, **KNOWN, always_recorded=["sex", "age"])
    assert named.never_lost == [] and named.always_recorded == ["sex=female", "sex=male", "age"]
    anchored = read_pair(*plain, **KNOWN, anchors=["sex"])
    assert len(anchored.anchors) == 1 and set(anchored.always_recorded) == {"sex=female", "sex=male"}
    together = read_pair(*plain, **KNOWN, column_groups=[["sex", "flag"]])
    assert together.always_recorded == []
    assert ["sex=female", "sex=male", "flag"] in together.column_groups


def test_words_that_one_file_loses_may_be_lost(tables, plain, tmp_path):
    lost = tables[1].copy()
    lost.loc[3, "sex"] = None
    lost.to_csv(tmp_path / "lost.csv", index=False)
    for files in ((plain[0], tmp_path / "lost.csv"), (tmp_path / "lost.csv", plain[0])):
        pair = read_pair(*files, **KNOWN)
        assert pair.never_lost == [] and ["sex=female", "sex=male"] in pair.column_groups


def test_flags_of_which_every_row_has_one_are_always_recorded(tmp_path):
    level = np.random.default_rng(0).integers(0, 3, 200)
    whole = pd.DataFrame(
        {f"w_{k}": level == k for k in range(3)} | {"yes": level > 0, "l_a": level == 1, "l_b": level == 2}
    )
    whole.assign(no=level == 0).to_csv(tmp_path / "a.csv", index=False)
    pair = read_pair(tmp_path / "a.csv", tmp_path / "a.csv")
    assert pair.never_lost == pair.always_recorded == ["w_0", "w_1", "w_2", "yes", "no"]
    assert read_pair(tmp_path / "a.csv", tmp_path / "a.csv", column_groups=[["w_0", "yes"]]).never_lost == []
    lost = whole.assign(no=level == 0)
    lost.loc[150] = False
    lost.to_csv(tmp_path / "b.csv", index=False)
    assert read_pair(tmp_path / "a.csv", tmp_path / "b.csv").never_lost == []


def test_a_later_file_is_read_by_the_encoding_of_the_pair(tables, plain, tmp_path):
    pair = read_pair(*plain, **KNOWN)
    later = tables[1].assign(ward="west", more="x").iloc[:, ::-1]
    later.loc[3, "ward"] = "north"
    later.to_csv(tmp_path / "later.csv", index=False)
    read = read_one(tmp_path / "later.csv", columns=pair.columns, encoding=pair.encoding, groups="id", nan_as_zero=True)
    assert list(read.X.columns) == list(pair.X_source.columns)
    np.testing.assert_array_equal(read.X.filter(like="ward=").sum(axis=1), np.arange(40) == 3)
    np.testing.assert_array_equal(read.X["sex=female"], pair.X_target["sex=female"])
    assert read.unseen == {"ward": {"west": 39}} and len(read.ids) == 40
    with pytest.raises(ValueError, match=r"later\.csv has no column 'lactat'; did you mean 'lactate'"):
        read_one(tmp_path / "later.csv", columns=["age", "lactat"])
    alone = read_one(plain[0], **KNOWN)
    pd.testing.assert_frame_equal(alone.X, pair.X_source)


def test_levels_that_the_source_never_has_are_counted(tables, plain, tmp_path):
    tables[1].replace({"ward": {"north": "west"}}).to_csv(tmp_path / "target.csv", index=False)
    pair = read_pair(plain[0], tmp_path / "target.csv", **KNOWN)
    assert pair.unseen == {"ward": {"west": int((tables[1]["ward"] == "north").sum())}}
    assert not pair.X_target["ward=north"].any()


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_standard_input(plain, monkeypatch, pack):
    stream = io.TextIOWrapper(io.BytesIO(pack(plain[1].read_bytes())))
    monkeypatch.setattr(sys, "stdin", stream)
    pair = read_pair(plain[0], "-", **KNOWN)
    pd.testing.assert_frame_equal(pair.X_target, read_pair(*plain, **KNOWN).X_target)
    assert pair.names == (str(plain[0]), "standard input")
    with pytest.raises(ValueError, match="Only one of the two files can come through standard input"):
        read_pair("-", "-")


@pytest.fixture
def refusal(tmp_path, monkeypatch):
    """Write a file and return why it is not read."""
    monkeypatch.chdir(tmp_path)

    def refusal(content, *, name="mine.csv", target="a,b\n1,2\n3,4\n", **options):
        (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
        (tmp_path / "target.csv").write_text(target)
        with pytest.raises((ValueError, OSError)) as caught:
            read_pair(name, "target.csv", **options)
        return str(caught.value)

    return refusal


@pytest.mark.parametrize(
    ("content", "options", "expected"),
    [
        ("a;b\n1;2\n", {"separator": ","}, "no ',' in its header, 'a;b', but ';': leave --separator out"),
        (
            "a;b\n1,5;2\n",
            {"decimal": "."},
            "line 2, column 'a': got '1,5', expected a number with a decimal point and ",
        ),
        ("a;b\n1,5;2\n", {"decimal": "."}, "and no comma; say --decimal , if the comma marks decimals"),
        ("sep=;\na;b\n1;2\n", {}, "mine.csv begins with 'sep=;', a line for spreadsheets: delete it"),
        (
            "a,b\n1.5,2\n",
            {"decimal": ","},
            "got '1.5', expected a number with a decimal comma and no point; say --decimal .",
        ),
        (
            'a,b\n"1,234",2\n',
            {},
            "column 'a': '1,234' may have a decimal comma, or one between thousands. Say --decimal",
        ),
        ("a,b;c\n1,2;3\n", {}, "fields may be separated by ',' and ';', as far as the first lines tell. Say"),
        ("a;b\n1.234,5;2\n", {}, "'1.234,5', expected a number with a decimal point and no comma; say --decimal ,"),
        ("a;b\n1;2\n1;2;3\n", {}, "line 3: got 3 fields, expected 2 as in the header"),
        (b"a,b\nJ\xfcrgen,2\n", {}, "mine.csv is not UTF-8 text"),
        ("a,b\n1,2\n".encode("utf-16"), {}, "mine.csv is UTF-16 text: save it as UTF-8"),
        (b"PAR1 and nothing more", {}, "mine.csv begins as a Parquet file but can't be read"),
        (gzip.compress(b"a,b\n1,2\n", mtime=0)[:-9], {}, "mine.csv can't be unpacked"),
        (b"PK\x03\x04 and nothing more", {}, "mine.csv can't be unpacked"),
        (b"BZh91AY", {}, "mine.csv is packed by bzip2: unpack it (bunzip2)"),
        ("a,b\n1,north\n2,3\n3,4\n", {}, "line 2, column 'b': got 'north', expected a number; leave the column out"),
        ("a,b\n1,0\n2,north\n", {}, "column 'b': got the level '0' beside words such as 'north'"),
        ("a,b\n1,north\n2,\n", {}, "Column 'b' holds words in mine.csv, such as 'north', and numbers in target.csv"),
        ("a,b\n1,\n2,5\n", {}, "mine.csv has 1 empty fields in column 'b'. If an empty field"),
        ("a,b\n1,\n2,5\n", {"anchors": ["b"], "nan_as_zero": True}, "'b', which is said to be always recorded"),
        ("a,b\n1,2\n", {"anchors": ["c"]}, "--anchors names 'c', which is no column"),
        ("a,b\n1,2\n", {"column_groups": [["a", "c"]]}, "--column-group names 'c', which is no column"),
    ],
)
def test_what_can_not_be_read_is_refused_with_the_way_out(refusal, content, options, expected):
    assert expected in refusal(content, **options)


def test_words_that_are_rather_identifiers_are_refused(refusal):
    content = "a,b\n" + "".join(f"1,p{i}\n" for i in range(200))
    assert "column 'b': got text with 200 different values, such as 'p0'" in refusal(content)
    target = "a,b\n1,\n2,\n"
    assert "nothing in mine.csv: write it alike" in refusal(target, target="a,b\n1,north\n2,south\n")


def test_archives_of_several_files_bombs_and_workbooks_are_refused(refusal, monkeypatch):
    def packed(members):
        stream = io.BytesIO()
        with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in members.items():
                archive.writestr(name, content)
        return stream.getvalue()

    assert "holds 2 files ('a.csv', 'b.csv'), expected one" in refusal(packed({"a.csv": "a", "b.csv": "b"}))
    assert "is a workbook of a spreadsheet: save" in refusal(packed({"[Content_Types].xml": "", "xl/a.xml": ""}))
    monkeypatch.setattr(opening, "MOST_BYTES", 100_000)
    for bomb in (gzip.compress(bytes(3_000_000)), packed({"a.csv": bytes(3_000_000)})):
        assert len(bomb) < 10_000
        assert "mine.csv unfolds to more than" in refusal(bomb)


def test_parquet_of_dates_and_of_numbers_as_text_is_refused(tmp_path, plain):
    pytest.importorskip("pyarrow", reason="the extra parquet is not installed")
    path = tmp_path / "mine.parquet"
    table = pd.DataFrame({"a": pd.to_datetime(["2020-01-01"] * 3), "b": ["1", "2", "x"], "c": [1.0, np.inf, 2]})
    for column, expected in (
        ("a", "column 'a': got values of type timestamp.*a date can be given as a number of days"),
        ("b", "column 'b': got text that is mostly numbers, such as '1'"),
        ("c", "row 2, column 'c': got an infinite value, expected a number"),
    ):
        table[[column]].to_parquet(path)
        with pytest.raises(ValueError, match=expected):
            read_one(path)
    table["b"].to_frame().to_parquet(path)
    assert list(read_one(path, columns=["b"], encoding={"b": ["x"]}).X["b=x"]) == [0, 0, 1]


def test_a_missing_pyarrow_is_named_with_its_extra(monkeypatch, tmp_path):
    (tmp_path / "mine.parquet").write_bytes(b"PAR1")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ModuleNotFoundError, match=r"mine\.parquet is a Parquet file, and pyarrow.*\[parquet\]"):
        read_one(tmp_path / "mine.parquet")


def test_a_column_that_begins_empty_may_still_hold_words(tmp_path):
    """What the first lines can't tell, the whole column does."""
    rows = ["1,"] * 600 + ["2,north"] * 5 + ["2,south"] * 5
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text("\n".join(["a,b", *rows]))
    pair = read_pair(tmp_path / "a.csv", tmp_path / "b.csv")
    assert pair.encoding == {"b": ("north", "south")} and pair.X_source["b=north"].sum() == 5


def test_labels_may_be_words(tmp_path):
    (tmp_path / "a.csv").write_text("a,y,n\n1,yes,1\n2,no,2\n0,,3\n")
    read = read_one(tmp_path / "a.csv", labels=["n", "y", "absent"])
    assert list(read.labels.columns) == ["y", "n"]
    assert list(read.labels["y"][:2]) == ["yes", "no"] and pd.isna(read.labels["y"][2])
    assert read.labels["n"].dtype == float
