"""Whichever way a data set comes, an experiment sees prepared covariates."""

import json

import pandas as pd
import pytest

from dams.datasets.embedded import load_diabetes
from dams.experiments.data import prepare, write_json


def test_a_table_that_ships_with_the_library(tmp_path):
    covariates = prepare("diabetes", folder=tmp_path, data_dir=None, recipe="paper_text", table=None)
    pd.testing.assert_frame_equal(covariates, load_diabetes())


def test_a_users_own_table(tmp_path):
    (tmp_path / "mine.csv").write_text("a,b\n1,0\n2,1\n3,1\n")
    table = {"path": str(tmp_path / "mine.csv"), "numeric": ["a"], "binary": ["b"]}
    covariates = prepare("mine", folder=tmp_path, data_dir=None, recipe="paper_text", table=table)
    assert list(covariates.columns) == ["a", "b"]


def test_a_table_that_is_not_there_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"none\.csv"):
        prepare("mine", folder=tmp_path, data_dir=None, recipe="paper_text", table={"path": str(tmp_path / "none.csv")})


def test_json_is_written_whole(tmp_path):
    path = tmp_path / "new" / "served.json"
    write_json([{"file": "ä"}], path)
    assert json.loads(path.read_text(encoding="utf-8")) == [{"file": "ä"}]
    assert "ä" in path.read_text(encoding="utf-8")
    assert [file.name for file in path.parent.iterdir()] == ["served.json"]
