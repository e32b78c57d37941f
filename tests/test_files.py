"""Files appear whole: whatever fails half-way leaves what was there."""

import numpy as np
import pandas as pd
import pytest

from dams._files import whole_file, write_json
from dams.datasets.arrays import save_covariates
from dams.experiments.records import write_csv
from dams.report import provenance
from dams.report.page import render as page


def test_a_file_appears_at_the_end_in_a_folder_made_for_it(tmp_path):
    path = tmp_path / "new" / "file.txt"
    with whole_file(path) as partial:
        partial.write_text("all")
        assert not path.exists()
    assert path.read_text() == "all"
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_error_leaves_the_old_file_and_nothing_else(tmp_path, error):
    path = tmp_path / "file.txt"
    path.write_text("old")

    def fail():
        with whole_file(path) as partial:
            partial.write_text("ha")
            raise error

    with pytest.raises(error):
        fail()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


STUDY = {
    "datasets": ["digits"],
    "regimes": [{"kind": "free"}],
    "models": {"linear": {"draws": 1}},
    "methods": ["oracle"],
}
CONFIG = {"name": "one", "studies": {"one": STUDY}}
WRITERS = {
    "records.csv": lambda folder: write_csv(pd.DataFrame({"a": [1]}), folder / "records.csv"),
    "config.json": lambda folder: write_json({"a": 1}, folder / "config.json"),
    "data.npz": lambda folder: save_covariates(pd.DataFrame({"a": [1.0]}), folder / "data.npz"),
    "provenance.json": lambda folder: provenance.write_provenance(folder / "provenance.json", CONFIG, folder),
    "report.html": page.write_page,
}


@pytest.mark.parametrize("name", list(WRITERS))
def test_results_are_put_in_place_whole(tmp_path, monkeypatch, name):
    """Were the last step to fail, the old file would be there still."""
    (tmp_path / name).write_text("old")

    def refuse(*paths):
        raise OSError("no")

    monkeypatch.setattr("os.replace", refuse)
    with pytest.raises(OSError, match="no"):
        WRITERS[name](tmp_path)
    assert (tmp_path / name).read_text() == "old"
    assert not np.any([path.suffix == ".partial" for path in tmp_path.iterdir()])


def test_a_full_disk_is_named_with_the_file(tmp_path):
    with pytest.raises(OSError, match=r"No space left on device: .*a\.csv"), whole_file(tmp_path / "a.csv"):
        raise OSError(28, "No space left on device")
