"""The example configurations run, at small size."""

import json

import pandas as pd
import pytest
import yaml

pytestmark = pytest.mark.workflow


@pytest.mark.parametrize(
    ("example", "regimes"),
    [("own_table", {"nested", "free"}), ("rate_ranges", {"free_30", "free_60", "free_90", "nested_mild"})],
)
def test_an_example_runs(project, example, regimes):
    raw = yaml.safe_load((project.folder / f"config/examples/{example}.yaml").read_text(encoding="utf-8"))
    for study in raw["studies"].values():
        study["models"]["linear"] = {"draws": 2, "betas": 2}
    project.configure(raw | {"bootstrap": {"replicates": 50}})
    # One of them whole.
    targets = [] if example == "own_table" else ["tables", "figures"]
    answer = project.run(*targets, "--config", "seed=7", cores=2)
    assert answer.returncode == 0, answer.stdout
    results = project.folder / "results" / example
    table = pd.read_csv(results / "tables/table1.csv")
    assert set(table["regime"]) == regimes
    assert table["mean"].notna().all()
    assert (results / "figures/error_against_distance.svg").exists()
    # What is said on the command line wins.
    assert json.loads((results / "config.json").read_text(encoding="utf-8"))["seed"] == 7
    if not targets:
        assert json.loads((results / "provenance.json").read_text(encoding="utf-8"))["config"]["seed"] == 7
