"""Make any registered output from a file of records."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dams.experiments.outputs import OUTPUTS
from dams.experiments.records import read_records
from dams.report.summary import Bootstrap, in_given_order


def make_output(path: str | Path, params: Any) -> Any:
    """Return the Table or Figure described by `params` (made, bootstrap, seed) from the records in `path`."""
    made, records = params.made, read_records(path)
    records = records[records["study"].isin(made["studies"])]
    if made["dataset"]:
        records = records[records["dataset"] == made["dataset"]]
    records = in_given_order(records, made["order"])
    return OUTPUTS[made["name"]].make(records, Bootstrap(**params.bootstrap, seed=params.seed))
