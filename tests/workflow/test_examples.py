"""The example configurations run, at small size."""

import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
import yaml

ROOT = Path(__file__).parents[2]
PARTS = ["Snakefile", "workflow", "profiles", "config", "dams", "environment.yml"]

pytestmark = pytest.mark.workflow


@pytest.mark.parametrize(
    ("example", "regimes"),
    [("own_table", {"nested", "free"}), ("rate_ranges", {"free_30", "free_60", "free_90", "nested_mild"})],
)
def test_an_example_runs(tmp_path, example, regimes):
    for part in PARTS:
        source = ROOT / part
        copy = shutil.copytree if source.is_dir() else shutil.copy
        copy(source, tmp_path / part)
    config = yaml.safe_load((ROOT / f"config/examples/{example}.yaml").read_text())
    for study in config["studies"].values():
        study["models"]["linear"] = {"draws": 2, "betas": 2}
    config["bootstrap"] = {"replicates": 50}
    (tmp_path / "small.yaml").write_text(yaml.safe_dump(config))
    command = [sys.executable, "-m", "snakemake", "--cores", "2", "--configfile", "small.yaml"]
    run = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, env={"PYTHONPATH": ".", "PATH": "/usr/bin:/bin"}
    )
    assert run.returncode == 0, run.stderr[-3000:]
    results = tmp_path / "results" / example
    table = pd.read_csv(results / "tables/table1.csv")
    assert set(table["regime"]) == regimes
    assert table["mean"].notna().all()
    assert (results / "figures/error_against_distance.svg").exists()
