import os
import re
from pathlib import Path

import pytest
from loopback import raw_file

from dams.datasets.uci.origins import UCI, find_dataset
from dams.datasets.uci.raw import LAYOUTS

DOCS = Path(__file__).parents[3] / "docs" / "data.md"


def test_every_entry_is_pinned_cited_and_has_a_layout():
    assert set(UCI) == set(LAYOUTS) == {"adult", "bank", "thyroid"}
    for name, dataset in UCI.items():
        assert dataset.licence == "CC BY 4.0"
        assert "https://doi.org/10.24432/" in dataset.citation
        assert len(dataset.files) == len(LAYOUTS[name].rows)
        for file in dataset.files:
            assert re.fullmatch("[0-9a-f]{64}", file.sha256)
            assert file.member[-1].rpartition("/")[-1] == file.name


def test_the_documentation_states_the_registry():
    text = DOCS.read_text(encoding="utf-8")
    for dataset in UCI.values():
        assert dataset.citation in text
        assert dataset.archive in text
        for file in dataset.files:
            assert f"{file.sha256}  {file.name}" in text


def test_unknown_name_lists_the_known_ones():
    with pytest.raises(ValueError, match=r"Unknown data set 'adlut'; known are 'adult', 'bank', 'thyroid'\."):
        find_dataset("adlut")


def test_mismatch_names_both_hashes_and_the_size():
    file = raw_file("a.csv", b"right")
    assert file.mismatch(b"right") is None
    assert re.fullmatch(
        rf"a\.csv has SHA-256 [0-9a-f]{{64}} \(5 bytes\), expected {file.sha256}", file.mismatch(b"wrong")
    )


def test_newlines_matter_unless_the_entry_says_otherwise():
    assert raw_file("a.csv", b"1\n2\n", normalise_newlines=True).mismatch(b"1\r\n2\r\n") is None
    assert raw_file("a.csv", b"1\n2\n").mismatch(b"1\r\n2\r\n") is not None


@pytest.mark.real_data
@pytest.mark.skipif("DAMS_DATA_DIR" not in os.environ, reason="DAMS_DATA_DIR does not name a folder with the UCI files")
@pytest.mark.parametrize("name", UCI)
def test_the_pins_are_those_of_the_real_files(name):
    for file in UCI[name].files:
        assert file.mismatch(Path(os.environ["DAMS_DATA_DIR"], file.name).read_bytes()) is None
