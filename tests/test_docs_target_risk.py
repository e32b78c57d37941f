"""The worked examples of docs/target_risk.md and docs/sensitivity.md run, and the numbers quoted are the table's."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture
def run():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")

    def run_page(file):
        names = {}
        for block in re.findall(r"```python\n(.*?)```", (ROOT / file).read_text(encoding="utf-8"), re.DOTALL):
            exec(block, names)
        return names

    yield run_page
    import matplotlib.pyplot as plt

    plt.close("all")


def test_target_risk(run, capsys):
    names = run("docs/target_risk.md")
    assert "Take 'two-way': it has the least squared loss in the target" in capsys.readouterr().out
    comparison, truth = names["comparison"], names["truth"]
    for name, true in truth.items():
        low, high = comparison.table.loc[name, ["lower", "upper"]]
        assert low < true < high
    low, high = names["absolute"].interval
    X, y, source = names["X_target"], names["y"][16_000:], names["models"]["source"]
    assert low < np.mean(np.abs(y - source.predict(X))) < high


def test_sensitivity(run, capsys):
    names = run("docs/sensitivity.md")
    out = capsys.readouterr().out
    assert "'closed form' beats 'source' unless rows with label 1 have their values kept more than" in out
    assert 1 < names["found"].surely["closed form"] < names["gamma"] < 3
    assert (names["lowest"] < names["highest"]).all()
    assert names["axes"].get_title(loc="left").startswith("Below zero: better than source")


COLUMNS = ["draws", "gap", "width", "narrow", "within_2se", "covered"]
COLUMNS += ["right", "right_filled", "right_source", "fell_back"]


def shown(value):
    """A number as the page has it."""
    return "" if np.isnan(value) else f"{value:.0f}" if value >= 2 else f"{value:.2f}".lstrip("0")


def test_the_table_is_the_files():
    text = (ROOT / "docs" / "target_risk.md").read_text(encoding="utf-8").split("## Measured")[1]
    lines = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("| ")
    ]
    table = pd.read_csv(ROOT / "benchmarks" / "results" / "target_risk.csv")
    expected = [
        [row["law"], row["family"], f"{row['n']:,}", *(shown(row[column]) for column in COLUMNS)]
        for _, row in table.iterrows()
    ]
    assert lines[2:] == expected
