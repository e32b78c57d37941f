"""Small configurations and the records they give."""

import copy

import pandas as pd
import pytest

from dams.datasets.registry import DATASETS, is_scenario
from dams.experiments.config import parse
from dams.experiments.design import blocks
from dams.experiments.gather import gather
from dams.experiments.records import write_csv
from dams.experiments.run import run_block

SMALL = {
    "name": "small",
    "studies": {
        "one": {
            "datasets": ["redundant"],
            "regimes": [{"kind": "opposing", "epsilon": 0.1}],
            "models": {"linear": {"draws": 2}},
            "methods": ["oracle", "source", "closed_form", "nonparametric"],
            "rows": 200,
        }
    },
}


@pytest.fixture
def small():
    """A configuration to change and parse."""
    return copy.deepcopy(SMALL)


@pytest.fixture
def study(small):
    """The one study of `small`."""
    return small["studies"]["one"]


@pytest.fixture
def run_all(tmp_path):
    """Run every block of a raw configuration, through files as the pipeline does, and gather the records."""

    def run(raw) -> pd.DataFrame:
        paths, jobs = [], list(blocks(parse(raw)))
        for block in jobs:
            table = None if is_scenario(block.dataset) else DATASETS[block.dataset].load()
            records, _ = run_block(block, table)
            paths.append(tmp_path / f"{block.path}.csv")
            write_csv(records, paths[-1])
        return gather(paths, jobs)

    return run
