"""The eICU study on files of the user's own: what is said of them."""

import json

import pandas as pd
import pytest

from dams.datasets.eicu_simulator import simulate_eicu
from dams.report.contents import data_sources
from dams.report.evidence import Evidence

pytestmark = pytest.mark.workflow

FOLDER = "files of mine"
RESULTS = "results/own"


@pytest.fixture
def own(project):
    """A project with a simulated cohort in the place of the user's own files."""
    simulate_eicu(project.folder / FOLDER, size="test", random_state=3)
    study = {
        "datasets": ["redundant"],
        "rows": 60,
        "regimes": [{"kind": "nested"}],
        "models": {"linear": {"draws": 1}},
        "methods": ["oracle", "source"],
    }
    eicu = {"source": "folder", "folder": FOLDER, "two_way": False}
    project.configure({"name": "own", "studies": {"one": study}, "bootstrap": {"replicates": 50}, "eicu": eicu})
    return project


def test_a_simulated_cohort_is_called_so_wherever_it_lies(own):
    targets = [f"{RESULTS}/{name}" for name in ("eicu/performance.md", "claims.csv", "comparison.csv")]
    answer = own.run(*targets, cores=2)
    assert answer.returncode == 0, answer.stdout

    results = own.folder / RESULTS
    assert json.loads((results / "eicu/cohort.json").read_text(encoding="utf-8")) == {"simulated": True}
    for name in ("performance", "features"):
        assert "(simulated)" in (results / f"eicu/{name}.md").read_text(encoding="utf-8")
    comparison = pd.read_csv(results / "comparison.csv").query("table == 'eicu'")
    assert set(comparison["missing"]) == {"our cohort is simulated"}
    assert comparison["inside"].isna().all()
    claims = pd.read_csv(results / "claims.csv")
    assert set(claims.loc[claims["id"].str.startswith("eicu_"), "verdict"]) == {"not testable here"}
    (row,) = data_sources(Evidence(results), own.folder).query("dataset == 'eICU'").to_dict("records")
    assert row["what"] == "simulated cohort"
