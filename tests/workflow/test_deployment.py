"""The workflow where others put it: another folder, a module of a larger workflow, storage instead of shared files."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from dams.report.verify import verify

pytestmark = pytest.mark.workflow

ROOT = Path(__file__).parents[2]
RECORDS = "results/tiny/records.csv"
MODULE = """
configfile: "mine.yaml"


module dams:
    snakefile:
        "{snakefile}"
    config:
        config["adaptation"]


use rule * from dams
"""


def configuration(*datasets):
    """Studies of seconds."""
    study = {
        "datasets": list(datasets),
        "rows": 60,
        "regimes": [{"kind": "free"}],
        "models": {"linear": {"draws": 2}},
        "methods": ["oracle", "source"],
        "outputs": ["table1"],
    }
    return {"name": "tiny", "studies": {"one": study}, "bootstrap": {"replicates": 50}}


def test_a_working_directory_elsewhere(project, tmp_path_factory):
    """By -d, by -s from there; files of the user's are looked for there, those of the workflow beside it."""
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    project.configure(configuration("redundant", "digits"))
    (elsewhere / "run.yaml").write_text((project.folder / "run.yaml").read_text())
    answer = project.run(RECORDS, "--directory", str(elsewhere))
    assert answer.returncode == 0, answer.stdout
    assert (elsewhere / RECORDS).exists()
    assert not (project.folder / "results").exists()

    command = project.command(RECORDS, "--dry-run", "--snakefile", str(project.folder / "Snakefile"))
    answer = project.finish(command | {"cwd": elsewhere})
    assert answer.returncode == 0, answer.stdout
    assert "Nothing to be done" in answer.stdout
    # The default configuration is the workflow's own.
    command["args"] = [word for word in command["args"] if word not in ("--configfile", "run.yaml", RECORDS)]
    answer = project.finish(command | {"cwd": elsewhere})
    assert answer.returncode == 0, answer.stdout
    assert "results/paper/records.csv" in answer.stdout


def test_a_module_and_storage_give_the_same_bytes(project, tmp_path_factory):
    """Snakemake's own report of the first, made without a network, holds the captions of the manifest.

    A real table: it passes through every rule that a scenario does, and is handed from job to job.
    """
    project.configure(configuration("digits"))
    larger = tmp_path_factory.mktemp("larger")
    (larger / "mine.yaml").write_text(yaml.safe_dump({"adaptation": configuration("digits")}))
    (larger / "Snakefile").write_text(MODULE.format(snakefile=project.folder / "workflow/Snakefile"))
    command = project.command("all") | {"cwd": larger}
    command["args"] = [word for word in command["args"] if word not in ("--configfile", "run.yaml")]
    answer = project.finish(command)
    assert answer.returncode == 0, answer.stdout
    command["args"] += ["--report", "report.html"]
    answer = project.finish(command)
    assert answer.returncode == 0, answer.stdout
    report = (larger / "report.html").read_text(encoding="utf-8")
    for words in ("Every claim of the paper, the verdict on it", "Domain adaptation under missingness shift: run"):
        assert words in report

    if shutil.which("rsync") is None:
        pytest.skip("the module's run is as it should be; the folder as storage needs rsync, which is not installed")
    store = tmp_path_factory.mktemp("store")
    storage = ["--default-storage-provider", "fs", "--default-storage-prefix", str(store), "--shared-fs-usage", "none"]
    answer = project.run(*storage, hashes=2)
    assert answer.returncode == 0, answer.stdout
    assert f"Results: {store}/results/tiny/" in answer.stdout
    assert not (project.folder / RECORDS).exists()
    module, stored = larger / "results/tiny", store / "results/tiny"
    names = {path.relative_to(module).as_posix() for path in module.rglob("*") if path.is_file()}
    same = {name for name in names if not name.startswith(("logs/", "benchmarks/")) and "timings" not in name}
    # These tell of times, or of the digests of files that do.
    same -= {"provenance.json", "report.html", *(name for name in names if name.startswith("digests/"))}
    assert {"records.csv", "claims.csv", "tables/table1.tex", "diagnostics/verdicts.csv"} <= same
    for name in same:
        assert (stored / name).read_bytes() == (module / name).read_bytes(), name
    for folder in (module, stored):
        assert not verify(folder).problems


def test_a_module_may_have_a_prefix_and_other_names_for_rules(project, tmp_path_factory):
    """Tables of the user's own then lie below the prefix too."""
    larger = tmp_path_factory.mktemp("larger")
    run = configuration("mine") | {"datasets": {"mine": {"path": "mine.csv", "numeric": ["age"]}}}
    (larger / "mine.yaml").write_text(yaml.safe_dump({"adaptation": run}))
    module = MODULE.format(snakefile=project.folder / "workflow/Snakefile")
    module = module.replace("    config:\n", '    prefix:\n        "sub"\n    config:\n').replace(
        "from dams", "from dams as its_*"
    )
    (larger / "Snakefile").write_text(module)
    command = project.command("its_all", "--dry-run") | {"cwd": larger}
    command["args"] = [word for word in command["args"] if word not in ("--configfile", "run.yaml")]
    assert f"mine.csv does not exist below {larger}/sub" in project.finish(command).stdout
    (larger / "sub").mkdir()
    (larger / "sub" / "mine.csv").touch()
    answer = project.finish(command)
    assert answer.returncode == 0, answer.stdout
    assert {"its_prepare_data", "its_run_block", "its_write_report"} <= set(answer.stdout.split())


def test_the_hospitals_of_a_module_with_a_prefix_need_a_whole_path(project, tmp_path_factory, monkeypatch):
    monkeypatch.delenv("DAMS_SEPSIS_DIR", raising=False)
    larger = tmp_path_factory.mktemp("larger")
    module = MODULE.format(snakefile=project.folder / "workflow/Snakefile")
    (larger / "Snakefile").write_text(module.replace("    config:\n", '    prefix:\n        "sub"\n    config:\n'))
    command = project.command("sepsis", "--dry-run") | {"cwd": larger}
    command["args"] = [word for word in command["args"] if word not in ("--configfile", "run.yaml")]

    def planned(folder):
        run = {"name": "tiny", "studies": {}, "sepsis": {"folder": folder}}
        (larger / "mine.yaml").write_text(yaml.safe_dump({"adaptation": run}))
        return project.finish(command)

    answer = planned("hospitals")
    assert answer.returncode != 0, answer.stdout
    assert "sepsis.folder: hospitals can't be used in a module with the prefix 'sub/'" in answer.stdout
    assert f"Expected a whole path, such as {larger}/hospitals." in answer.stdout
    answer = planned(str(larger / "hospitals"))
    assert answer.returncode == 0, answer.stdout
    assert {"download_sepsis", "run_sepsis", "mask_sepsis"} <= set(answer.stdout.split())


def test_the_linters_need_a_clone_and_nothing_else(tmp_path):
    """No dams is installed that is of the clone, and no data are there."""
    clone = tmp_path / "clone"
    done = subprocess.run(["git", "clone", "-q", str(ROOT), str(clone)], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"git can't clone the project: {done.stderr.strip()}")
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [sys.executable, "-m", "snakemake", "--lint"]
    answer = subprocess.run(command, cwd=clone, env=environment, capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stdout + answer.stderr
    assert "Congratulations" in answer.stdout + answer.stderr


def test_what_the_catalog_of_workflows_looks_for_is_there():
    """It passes over a repository without workflow/Snakefile, or whose deployment options it can't read."""
    assert (ROOT / "workflow" / "Snakefile").is_file()
    catalog = yaml.safe_load((ROOT / ".snakemake-workflow-catalog.yml").read_text(encoding="utf-8"))
    usage = catalog["usage"]
    assert usage["mandatory-flags"].keys() == {"desc", "flags"}
    assert {"conda"} <= set(usage["software-stack-deployment"]) and usage["report"] is True
    assert (ROOT / "config" / "README.md").is_file()
