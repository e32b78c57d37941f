"""Make any table or figure of OUTPUTS from a file of records."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from dams.experiments.records import read_records
from dams.report.summary import Bootstrap, in_given_order


def load_output(name: str) -> Callable[..., Any]:
    """Return the function that turns records into a Table or a Figure: that of the module of its name."""
    return getattr(import_module(f"dams.report.outputs.{name}"), name)


def make_output(path: str | Path, output: Mapping[str, Any], bootstrap: Mapping[str, Any], seed: int) -> Any:
    """Return the Table or Figure that a `StudyOutput` describes, from the records in `path`."""
    records = read_records(path)
    records = records[records["study"].isin(output["studies"])]
    if output["dataset"]:
        records = records[records["dataset"] == output["dataset"]]
    records = in_given_order(records, output["order"])
    return load_output(output["name"])(records, Bootstrap(**bootstrap, seed=seed))
