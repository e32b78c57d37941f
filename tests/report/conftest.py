"""Records made up for the report, without running anything, and the paper's run as it is committed."""

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from reports import make_report

from dams.experiments.records import as_records

ROOT = Path(__file__).parents[2]

DEFAULTS = {
    "study": "one",
    "dataset": "adult",
    "regime": "nested",
    "epsilon": None,
    "labels": "random_linear",
    "variant": "corrected",
    "model": "linear",
    "method": "oracle",
    "draw": 0,
    "beta": 0,
    "score": 0.5,
    "mse": 1.0,
    "var_y": 2.0,
    "rate_distance": 1.0,
    "dropped": None,
    "failure": None,
}


@pytest.fixture(scope="session")
def make_records():
    """Records from rows that only say what is not the default."""

    def make(rows) -> pd.DataFrame:
        return as_records([DEFAULTS | row for row in rows])

    return make


@pytest.fixture(scope="session")
def crossed_records(make_records):
    """Two data sets × two regimes × 6 draws × 3 β × three methods that share effects of draw and β."""
    rng = np.random.default_rng(0)
    rows = []
    for dataset in ("adult", "bank"):
        for regime in ("nested", "free"):
            draws, betas = rng.normal(0, 0.1, 6), rng.normal(0, 0.1, 3)
            for method, level in (("oracle", 0.3), ("source", 0.9), ("closed_form", 0.4)):
                for draw in range(6):
                    for beta in range(3):
                        score = level + draws[draw] + betas[beta] + 0.01 * rng.normal()
                        rows.append(
                            {
                                "dataset": dataset,
                                "regime": regime,
                                "method": method,
                                "draw": draw,
                                "beta": beta,
                                "score": score,
                                "rate_distance": 1 + draws[draw],
                            }
                        )
    return make_records(rows)


@pytest.fixture(scope="session")
def epsilon_records(make_records):
    """Both scenarios over three ε, both kinds of label, two methods that all but coincide."""
    rng = np.random.default_rng(1)
    return make_records(
        {
            "dataset": dataset,
            "regime": "opposing",
            "epsilon": epsilon,
            "labels": labels,
            "method": method,
            "draw": draw,
            "score": 0.5 + 0.01 * rng.normal(),
        }
        for dataset in ("redundant", "confounded")
        for epsilon in (0.1, 0.5, 0.9)
        for labels in ("structural", "random_linear")
        for method in ("oracle", "closed_form", "source")
        for draw in range(3)
    )


@pytest.fixture(scope="session")
def small_run(filled_once):
    """A whole run and its page, to be copied: its figures take seconds to draw."""
    return filled_once("small_run", make_report)


@pytest.fixture
def run_with_page(small_run, tmp_path):
    return shutil.copytree(small_run, tmp_path, dirs_exist_ok=True)


@pytest.fixture
def run_without_page(run_with_page):
    (run_with_page / "report.html").unlink()
    return run_with_page


@pytest.fixture(scope="module")
def committed(tmp_path_factory):
    """The paper's run: the files that git keeps, and nothing that a run of one's own left beside them."""
    listed = subprocess.run(["git", "ls-files", "-z", "results/paper"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode or not listed.stdout:
        pytest.skip("not a checkout: only git tells what is committed")
    folder = tmp_path_factory.mktemp("clone")
    for name in filter(None, listed.stdout.split("\0")):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, folder / name)
    return folder / "results" / "paper"
