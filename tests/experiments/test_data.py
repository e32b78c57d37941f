"""Whichever way a data set comes, an experiment sees prepared covariates."""

import json
import logging
import os

import pandas as pd
import pytest

from dams._files import write_json
from dams.datasets.embedded import load_diabetes
from dams.experiments.data import download, prepare


def own_table(folder, rows):
    """Arguments for a file of a user's own."""
    lines = [f"{i},{i % 2},7" for i in range(rows)]
    (folder / "mine.csv").write_text("\n".join(["a,b,same", *lines]) + "\n")
    return {"path": str(folder / "mine.csv"), "numeric": ["a"], "binary": ["b"]}


def prepare_own(table):
    """Prepare a user's table as its rule does: the file is an input, the rest a parameter."""
    return prepare("mine", raw=[table["path"]], table={key: table[key] for key in table if key != "path"})


def test_a_table_that_ships_with_the_library(tmp_path):
    covariates = prepare("diabetes")
    pd.testing.assert_frame_equal(covariates, load_diabetes())


def test_a_users_own_table(tmp_path):
    covariates = prepare_own(own_table(tmp_path, 50))
    assert list(covariates.columns) == ["a", "b"]


def test_a_table_too_small_to_be_split_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"mine\.csv has 49 rows, expected at least 50: .* 4:1:4:1"):
        prepare_own(own_table(tmp_path, 49))


def test_the_log_names_what_is_dropped_and_why(tmp_path, caplog):
    table = own_table(tmp_path, 60) | {"numeric": ["a", "same"]}
    with caplog.at_level(logging.INFO, logger="dams"):
        prepare_own(table)
    assert "mine.csv: 60 rows × 2 columns; dropped: same hardly varies (standard deviation 0)" in caplog.text


def test_a_table_that_is_not_there_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"none\.csv"):
        prepare_own({"path": str(tmp_path / "none.csv")})


def test_json_is_written_whole(tmp_path):
    path = tmp_path / "new" / "served.json"
    write_json([{"file": "ä"}], path)
    assert json.loads(path.read_text(encoding="utf-8")) == [{"file": "ä"}]
    assert "ä" in path.read_text(encoding="utf-8")
    assert [file.name for file in path.parent.iterdir()] == ["served.json"]


@pytest.mark.skipif("DAMS_DATA_DIR" not in os.environ, reason="DAMS_DATA_DIR does not name a folder with the UCI files")
def test_what_served_a_file_names_no_folder_of_this_machine(tmp_path):
    """It goes into reports, and reports are passed on."""
    for row in download("thyroid", tmp_path, data_dir=None):
        assert row["source"] == "local folder"
        assert not any(os.environ["DAMS_DATA_DIR"] in value or str(tmp_path) in value for value in row.values())
