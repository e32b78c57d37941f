"""Provenance: code, configuration, versions and times."""

import json
import os
import platform
import subprocess
import time
from pathlib import Path

import pytest

from dams.experiments.config import parse
from dams.report import provenance
from dams.report.provenance import STARTS, job_seconds, jobs_of, note_start, peak_memory, wall_seconds, write_provenance

STUDY = {
    "datasets": ["digits"],
    "regimes": [{"kind": "free"}],
    "models": {"linear": {"draws": 2}},
    "methods": ["oracle"],
}
CONFIG = {"name": "mine", "seed": 1, "studies": {"one": STUDY}, "block_size": {"linear": 1}}


@pytest.fixture
def benchmarks(tmp_path):
    jobs = {"run_block/one/digits-linear-0000": 1.25, "run_block/one/digits-linear-0001": 2.0, "gather_records": 0.5}
    for name, seconds in jobs.items():
        path = tmp_path / "benchmarks" / f"{name}.tsv"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"s\th:m:s\tmax_rss\n{seconds}\t0:00:01\t{100 * seconds}\n")
    return tmp_path / "benchmarks"


def test_seconds_add_up_by_part(benchmarks):
    assert job_seconds(jobs_of(parse(CONFIG), benchmarks)) == {"gather_records": 0.5, "one: digits-linear": 3.2}


def test_jobs_of_an_earlier_configuration_do_not_count(benchmarks, tmp_path):
    """A study, a table, a data set, the theory and eICU were part of it; they took long and much memory."""
    starts = tmp_path / STARTS
    starts.parent.mkdir()
    starts.write_text("1000.0\n5000.0\n")
    for file in benchmarks.rglob("*.tsv"):
        os.utime(file, (5010, 5010))
    for job in (
        *("run_block/two/digits-linear-0000", "run_block/one/digits-linear-0002", "prepare_data/diabetes"),
        *("write_table/table1", "check_theory", "draw_theory", "simulate_eicu", "run_eicu", "diagnose_eicu"),
    ):
        path = benchmarks / f"{job}.tsv"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("s\tmax_rss\n900\t9000\n")
        os.utime(path, (1900, 1900))
    write_provenance(tmp_path / "provenance.json", CONFIG, tmp_path)
    content = json.loads((tmp_path / "provenance.json").read_text(encoding="utf-8"))
    assert content["job_seconds"] == {"gather_records": 0.5, "one: digits-linear": 3.2}
    assert content["peak_memory_mb"] == 200
    assert content["wall_seconds"] == 10


def test_provenance_says_what_made_the_results(benchmarks, tmp_path):
    write_provenance(tmp_path / "provenance.json", CONFIG, tmp_path)
    content = json.loads((tmp_path / "provenance.json").read_text(encoding="utf-8"))
    assert content["config"] == CONFIG
    assert content["python"] == platform.python_version()
    assert content["packages"]["numpy"]
    assert content["machine"]["cores"] >= 1
    assert content["job_seconds"]["one: digits-linear"] == 3.2
    assert content["wall_seconds"] is None
    assert content["peak_memory_mb"] == 200


def test_without_git_there_is_no_commit(benchmarks, tmp_path, monkeypatch):
    def not_installed(*arguments, **options):
        raise FileNotFoundError("git")

    monkeypatch.setattr(provenance.subprocess, "run", not_installed)
    write_provenance(tmp_path / "provenance.json", CONFIG, tmp_path)
    content = json.loads((tmp_path / "provenance.json").read_text(encoding="utf-8"))
    assert content["commit"] is None
    assert content["uncommitted_changes"] is False


def test_the_time_between_interruption_and_resumption_does_not_count(benchmarks, tmp_path):
    starts = tmp_path / STARTS
    starts.parent.mkdir()
    starts.write_text("1000.0\n5000.0\n9000.0\n")
    for end, file in zip((1020, 5003, 5005), sorted(benchmarks.rglob("*.tsv")), strict=True):
        os.utime(file, (end, end))
    assert wall_seconds(starts, benchmarks.rglob("*.tsv")) == 20 + 5


def test_every_start_is_noted(tmp_path):
    for _ in range(2):
        note_start(tmp_path, {})
    noted = [float(line) for line in (tmp_path / STARTS).read_text().split()]
    assert len(noted) == 2
    assert all(abs(seconds - time.time()) < 60 for seconds in noted)


def test_the_time_of_the_configuration_is_that_of_its_last_change(tmp_path):
    path = tmp_path / "config.json"
    for config, written in (({"seed": 1}, True), ({"seed": 1}, False), ({"seed": 2}, True), ({"seed": 2}, False)):
        if path.exists():
            os.utime(path, (1000, 1000))
        note_start(tmp_path, config)
        assert json.loads(path.read_text(encoding="utf-8")) == config
        assert (path.stat().st_mtime > 1000) == written
    path.write_text("{")
    note_start(tmp_path, {"seed": 2})
    assert json.loads(path.read_text(encoding="utf-8")) == {"seed": 2}


def test_memory_that_was_not_measured(benchmarks):
    files = list(benchmarks.rglob("*.tsv"))
    for file in files:
        file.write_text("s\tmax_rss\n0.1\tNA\n")
    assert peak_memory(files) is None


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A folder in git that holds a project and its results."""
    monkeypatch.chdir(tmp_path)
    for name in ("Snakefile", "code.py", "results/table.csv"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("1\n")
    who = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    for command in (["init", "-q"], ["add", "."], [*who, "commit", "-qm", "first"]):
        subprocess.run(["git", *command], check=True)
    return tmp_path


def written():
    write_provenance("provenance.json", CONFIG, ".", code=".")
    return json.loads(Path("provenance.json").read_text(encoding="utf-8"))


def test_results_that_are_in_git_are_no_change_of_the_code(checkout):
    (checkout / "results/table.csv").write_text("2\n")
    assert written()["commit"]
    assert not written()["uncommitted_changes"]
    (checkout / "code.py").write_text("2\n")
    assert written()["uncommitted_changes"]


def test_a_commit_of_somebody_elses_is_not_named(checkout, monkeypatch):
    """The project lies unpacked below another checkout, which was changed."""
    (checkout / "code.py").write_text("2\n")
    (checkout / "unpacked").mkdir()
    (checkout / "unpacked" / "Snakefile").write_text("")
    monkeypatch.chdir(checkout / "unpacked")
    assert written()["commit"] is None
    assert not written()["uncommitted_changes"]
