"""Provenance: code, configuration, versions and times."""

import json
import platform

import pytest

from dams.report import provenance
from dams.report.provenance import job_seconds, write_provenance


@pytest.fixture
def benchmarks(tmp_path):
    for name, seconds in (("run_block/one/a-0000", 1.25), ("run_block/one/a-0001", 2.0), ("gather_records", 0.5)):
        path = tmp_path / "benchmarks" / f"{name}.tsv"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"s\th:m:s\n{seconds}\t0:00:01\n")
    return tmp_path / "benchmarks"


def test_seconds_add_up_by_rule(benchmarks):
    assert job_seconds(benchmarks) == {"gather_records": 0.5, "run_block": 3.2}


def test_provenance_says_what_made_the_results(benchmarks, tmp_path):
    write_provenance(tmp_path / "provenance.json", {"name": "mine", "seed": 1}, benchmarks)
    content = json.loads((tmp_path / "provenance.json").read_text(encoding="utf-8"))
    assert content["config"] == {"name": "mine", "seed": 1}
    assert content["python"] == platform.python_version()
    assert content["packages"]["numpy"]
    assert content["machine"]["cores"] >= 1
    assert content["job_seconds"]["run_block"] == 3.2


def test_without_git_there_is_no_commit(benchmarks, tmp_path, monkeypatch):
    def not_installed(*arguments, **options):
        raise FileNotFoundError("git")

    monkeypatch.setattr(provenance.subprocess, "run", not_installed)
    write_provenance(tmp_path / "provenance.json", {}, benchmarks)
    content = json.loads((tmp_path / "provenance.json").read_text(encoding="utf-8"))
    assert content["commit"] is None
    assert content["uncommitted_changes"] is False
