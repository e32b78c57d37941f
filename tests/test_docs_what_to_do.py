"""The tables of docs/beyond.md, and what README quotes, are what results/beyond says, line by line."""

import json
from pathlib import Path

import pandas as pd
import pytest

from dams.experiments.beyond.methods import METHODS
from dams.experiments.beyond.names import MECHANISMS, TABLES
from dams.experiments.config import read
from dams.report.outputs.beyond import as_percent

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "results/beyond/beyond"
SHOWN = [*(name for name in METHODS if name not in ("oracle", "source")), "advised"]


def name_of(row):
    title = MECHANISMS[row["mechanism"]].title
    return title if row["mechanism"] == "none" else f"{title}, {row['strength']:g}"


def share_lines():
    """One line per mechanism and strength: scores of source and oracle, and shares of the gap."""
    shares = pd.read_csv(RESULTS / "shares.csv").query("dataset == 'all'")
    for row in pd.read_csv(RESULTS / "advice.csv").to_dict("records"):
        here = (shares["mechanism"] == row["mechanism"]) & (shares["strength"] == row["strength"])
        found = shares[here].set_index("method")["share"]
        scores = [f"{row[f'{name}_score']:.3f}" for name in ("source", "oracle")]
        yield f"| {name_of(row)} | {' | '.join([*scores, *(as_percent(found[name]) for name in SHOWN)])} |"


def advice_lines():
    """One line per mechanism and strength: what the diagnostics saw, and what to do."""
    for row in pd.read_csv(RESULTS / "advice.csv").to_dict("records"):
        seen = [as_percent(row[key]) for key in ("rejected", "rejected_given_age", "population_differs")]
        for end in ("", "_given_age"):
            seen += [f"{row[f'risk_error{end}']:.3f}", as_percent(row[f"risk_right{end}"])]
        yield f"| {name_of(row)} | {' | '.join(seen)} | {row['to_do']} |"


def finding_lines():
    for row in pd.read_csv(RESULTS / "findings.csv").to_dict("records"):
        number = f"{row['measured']:.3f}" if "score" in row["question"] or "excess" in row["question"] else None
        number = (number or as_percent(row["measured"])).replace("-", "−")
        yield f"| {row['question']} | {row['expected']} | {number} | {row['cells']} | {row['verdict']} |"


@pytest.mark.parametrize("lines", [share_lines, advice_lines, finding_lines])
def test_tables_are_those_of_the_committed_results(lines):
    text = (ROOT / "docs/beyond.md").read_text(encoding="utf-8").splitlines()
    expected = list(lines())
    assert len(expected) > 10 and not [line for line in expected if line not in text]


def test_the_committed_results_are_of_the_configuration():
    stored = json.loads((ROOT / "results/beyond/config.json").read_text(encoding="utf-8"))
    assert stored["beyond"] == read(ROOT / "config/beyond.yaml").model_dump(mode="json")["beyond"]
    checks = pd.read_csv(RESULTS / "checks.csv")
    assert len(checks) == len(stored["beyond"]["datasets"]) * stored["beyond"]["draws"] * (2 * len(MECHANISMS) - 1)
    assert set(checks["dataset"]) <= {*TABLES, "eicu"}


def test_the_readme_quotes_the_committed_shares():
    shares = pd.read_csv(RESULTS / "shares.csv").query("dataset == 'all' and strength == 1")
    found = shares.set_index(["mechanism", "method"])["share"]
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"closed form closes {as_percent(found['ucar', 'closed_form'])} of the gap" in readme
    assert f"with age as its anchor {as_percent(found['age', 'anchored'])}" in readme
    assert f"the plain one {as_percent(found['age', 'closed_form'])}" in readme
