"""Records of a run that was interrupted: those of its own blocks, each cell once."""

import json
import os

import pandas as pd
import pytest
from reports import write_block

from dams.datasets.arrays import save_covariates
from dams.experiments.config import parse
from dams.experiments.design import blocks
from dams.report.evidence import Evidence, NotTestable

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
def run_blocks(tmp_path, make_records):
    """Write blocks of these numbers with this score, for a changed configuration; a later call makes later files."""

    def write(*numbers, score, **changes):
        rows = [{"dataset": "digits", "regime": "free", "draw": d, "score": score, "mse": 2 * score} for d in range(4)]
        jobs = list(blocks(parse(CONFIG | changes)))
        write.time += 10
        for number in numbers:
            path = write_block(tmp_path, jobs[number], make_records(rows))
            os.utime(path, (write.time, write.time))

    write.time = 1_000_000_000
    return write


def configure(folder, **changes):
    (folder / "config.json").write_text(json.dumps(CONFIG | changes))


def scores(folder):
    records = Evidence(folder).records
    assert records["draw"].is_unique
    return dict(zip(records["draw"], records["score"], strict=True))


def test_of_cells_that_two_cuts_hold_the_newest_count_where_the_configuration_is_not_known(tmp_path, run_blocks):
    """All four draws in one block, before; now two blocks, of which the second was made."""
    run_blocks(0, score=0.1, block_size={"linear": 4})
    run_blocks(1, score=0.5)
    assert scores(tmp_path) == {0: 0.1, 1: 0.1, 2: 0.5, 3: 0.5}


@pytest.mark.parametrize("change", [{"block_size": {"linear": 4}}, {"seed": 5}], ids=str)
def test_blocks_of_another_configuration_are_left_out(tmp_path, run_blocks, change):
    """They have the name of one of this, and would pass for it."""
    run_blocks(0, score=0.1, **change)
    run_blocks(1, score=0.5)
    configure(tmp_path)
    assert scores(tmp_path) == {2: 0.5, 3: 0.5}
    assert [block.number for block in Evidence(tmp_path).finished_blocks] == [1]
    configure(tmp_path, **change)
    assert scores(tmp_path).get(0) == 0.1


def test_blocks_that_are_not_of_the_run_are_left_out(tmp_path, run_blocks):
    run_blocks(0, score=0.1)
    run_blocks(2, score=0.3, block_size={"linear": 1})
    assert scores(tmp_path) == {0: 0.1, 1: 0.1, 2: 0.3}
    configure(tmp_path)
    assert scores(tmp_path) == {0: 0.1, 1: 0.1}


def test_a_damaged_block_is_refused_by_name(tmp_path, run_blocks):
    run_blocks(0, score=0.1)
    configure(tmp_path)
    path = tmp_path / "blocks" / "one" / "digits-linear-0000.csv"
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-1]))
    with pytest.raises(ValueError, match=r"digits-linear-0000\.csv is damaged: expected 2 rows, got 1"):
        scores(tmp_path)


def test_a_data_set_of_another_configuration_is_not_counted(tmp_path):
    for name in ("digits", "diabetes"):
        save_covariates(pd.DataFrame({"a": [0.0, 1.0]}), tmp_path / "data" / f"{name}.npz")
    assert Evidence(tmp_path).rows_of("diabetes") == 2
    configure(tmp_path)
    assert Evidence(tmp_path).rows_of("digits") == 2
    with pytest.raises(NotTestable, match="Diabetes is not part of this run"):
        Evidence(tmp_path).rows_of("diabetes")


def test_a_folder_without_blocks_has_no_records(tmp_path):
    assert Evidence(tmp_path).records.empty
    configure(tmp_path)
    assert Evidence(tmp_path).records.empty
