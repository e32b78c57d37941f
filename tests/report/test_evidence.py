"""Records of a run that was interrupted: those of its blocks, each cell once."""

import json
import os

import pytest

from dams.experiments.data import write_json
from dams.experiments.records import write_csv
from dams.report.evidence import Evidence

CONFIG = {
    "name": "cut",
    "studies": {
        "one": {
            "datasets": ["digits"],
            "regimes": [{"kind": "free"}],
            "models": {"linear": {"draws": 4}},
            "methods": ["oracle"],
        }
    },
    "block_size": {"linear": 2},
}


@pytest.fixture
def write_block(tmp_path, make_records):
    """Write a block with these scores by draw; a later call makes a later file."""

    def write(number, scores):
        path = tmp_path / "blocks" / "one" / f"digits-linear-{number:04d}.csv"
        rows = [{"dataset": "digits", "regime": "free", "draw": d, "score": score} for d, score in scores.items()]
        write_csv(make_records(rows), path)
        write.time += 10
        os.utime(path, (write.time, write.time))

    write.time = 1_000_000_000
    return write


def scores(folder):
    records = Evidence(folder).records
    assert records["draw"].is_unique
    return dict(zip(records["draw"], records["score"], strict=True))


@pytest.mark.parametrize("known", [True, False])
def test_of_cells_that_two_cuts_hold_the_newest_count(tmp_path, write_block, known):
    """All four draws in one block, before; now two blocks, of which the second was made."""
    write_block(0, {0: 0.1, 1: 0.2, 2: 0.3, 3: 0.4})
    write_block(1, {2: 0.5, 3: 0.6})
    if known:
        (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    assert scores(tmp_path) == {0: 0.1, 1: 0.2, 2: 0.5, 3: 0.6}


def test_blocks_that_are_not_of_the_run_are_left_out(tmp_path, write_block):
    write_block(0, {0: 0.1, 1: 0.2})
    write_block(2, {2: 0.3})
    assert scores(tmp_path) == {0: 0.1, 1: 0.2, 2: 0.3}
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    assert scores(tmp_path) == {0: 0.1, 1: 0.2}


def test_a_folder_without_blocks_has_no_records(tmp_path):
    assert Evidence(tmp_path).records.empty


@pytest.mark.parametrize("source", ["simulated", "folder", "physionet"])
@pytest.mark.parametrize("simulated", [True, False])
def test_the_files_say_whether_a_cohort_is_simulated_not_the_configuration(tmp_path, source, simulated):
    write_json({"eicu": {"source": source}}, tmp_path / "config.json")
    assert Evidence(tmp_path).eicu_is_simulated
    write_json({"simulated": simulated}, tmp_path / "eicu" / "cohort.json")
    assert Evidence(tmp_path).eicu_is_simulated is simulated
