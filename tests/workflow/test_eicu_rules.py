"""The eICU study on files of the user's own: what is said of them, and when they are read again."""

import json
import os
import re
import time

import pandas as pd
import pytest
from projects import Project

from dams.datasets.eicu.simulator import simulate_eicu
from dams.report.page.contents import data_sources
from dams.report.run_folder import RunFolder

pytestmark = pytest.mark.workflow

FOLDER = "files of mine"
RESULTS = "results/own"
SCORES = f"{RESULTS}/eicu/scores.csv"


def write_files(folder):
    """A project with a simulated cohort in the place of the user's own files."""
    project = Project(folder)
    simulate_eicu(folder / FOLDER, size="test", random_state=3)
    study = {
        "datasets": ["redundant"],
        "rows": 60,
        "regimes": [{"kind": "nested"}],
        "models": {"linear": {"draws": 1}},
        "methods": ["oracle", "source"],
    }
    eicu = {"source": "folder", "folder": FOLDER, "two_way": False}
    project.configure({"name": "own", "studies": {"one": study}, "bootstrap": {"replicates": 50}, "eicu": eicu})


@pytest.fixture
def own(filled_once, tmp_path):
    return Project(tmp_path, like=filled_once("own", write_files))


@pytest.fixture
def finished(filled_once, tmp_path):
    """The same with all that is made of these files but for the page."""

    def run(folder):
        project = Project(folder, like=filled_once("own", write_files))
        targets = [f"{RESULTS}/{name}" for name in ("eicu/performance.md", "claims.csv", "comparison.csv")]
        answer = project.run(*targets, cores=2)
        assert answer.returncode == 0, answer.stdout

    return Project(tmp_path, like=filled_once("finished_own", run))


def test_a_simulated_cohort_is_called_so_wherever_it_lies(finished):
    results = finished.folder / RESULTS
    cohort = json.loads((results / "eicu/cohort.json").read_text(encoding="utf-8"))
    assert cohort["simulated"] is True and set(cohort["hospitals"]) == {"H1", "H2"}
    for name in ("performance", "features"):
        assert "(simulated)" in (results / f"eicu/{name}.md").read_text(encoding="utf-8")
    comparison = pd.read_csv(results / "comparison.csv").query("table == 'eicu'")
    assert set(comparison["missing"]) == {"the eICU cohort is simulated"}
    assert comparison["status"].isna().all()
    claims = pd.read_csv(results / "claims.csv")
    assert set(claims.loc[claims["id"].str.startswith("eicu_"), "verdict"]) == {"not testable here"}
    (row,) = data_sources(RunFolder(results), {}).query("dataset == 'eICU'").to_dict("records")
    assert row["what"] == "simulated cohort"


def test_files_that_changed_are_read_again(finished):
    own = finished
    assert "Nothing to be done" in own.run(SCORES, "--dry-run").stdout
    # Overwritten in place, so that no folder changes.
    population = own.folder / FOLDER / "FIDDLE_eicu/population/mortality_48h.csv"
    with open(population, "r+", encoding="utf-8") as file:
        lines = file.readlines()
        lines[1] = re.sub(r"[01]$", lambda label: str(1 - int(label[0])), lines[1])
        file.seek(0)
        file.writelines(lines)
    os.utime(population, (time.time() + 5,) * 2)
    assert re.search(r"^run_eicu +1$", own.run(SCORES, "--dry-run").stdout, re.MULTILINE)


def test_a_missing_file_is_named_before_any_job(own):
    (own.folder / FOLDER / "FIDDLE_eicu/features/mortality_48h/X.npz").unlink()
    for answer in (own.run("--dry-run"), own.dams("check", "run.yaml")):
        assert answer.returncode != 0
        assert f"eicu.folder: {FOLDER} has no {FOLDER}/FIDDLE_eicu/features/mortality_48h/X.npz" in answer.stdout
        assert "docs/eicu.md lists the files" in answer.stdout


def test_files_in_a_storage_are_found_there(own, tmp_path_factory):
    store = tmp_path_factory.mktemp("store")
    (own.folder / FOLDER).rename(store / FOLDER)
    storage = ["--default-storage-provider", "fs", "--default-storage-prefix", str(store), "--shared-fs-usage", "none"]
    answer = own.run(SCORES, "--dry-run", *storage)
    assert answer.returncode == 0, answer.stdout
    assert re.search(r"^run_eicu +1$", answer.stdout, re.MULTILINE), answer.stdout
