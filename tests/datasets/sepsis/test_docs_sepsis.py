"""The tables of docs/sepsis.md are what results/sepsis says, line by line."""

import re
from pathlib import Path

import pandas as pd
import pytest
from psv_files import write_patients

from dams.experiments.sepsis.methods import METHODS

ROOT = Path(__file__).parents[3]
RESULTS = ROOT / "results/sepsis/sepsis"
SCOPES = [("A", "target"), ("B", "target"), ("A", "source"), ("B", "source")]


def share_lines(masks):
    """One line per method: score of source and oracle, else share of the gap closed."""
    shares = pd.read_csv(RESULTS / "shares.csv")
    shares = shares[(shares["masks"] == masks) & (shares["labels"] == "linear")]
    values = shares.set_index(["method", "hospital", "gets"])
    for method in dict.fromkeys(shares["method"]):
        rows = [values.loc[(method, *scope)] for scope in SCOPES]
        if method in ("oracle", "source"):
            cells = [f"{row['score']:.3f}" for row in rows]
        else:
            cells = [f"{100 * row['share']:.0f} %".replace("-", "−") for row in rows]
        yield f"| {METHODS[method].title} | {' | '.join(cells)} |"


def excess_lines():
    """One line per method and model: MSE/Var(Y) over source with its interval, A to B and B to A."""
    scores = pd.read_csv(RESULTS / "scores.csv")
    excess = scores[(scores["metric"] == "excess") & (scores["method"] != "source")]
    values = excess.set_index(["model", "method", "source"])
    for model, method in dict.fromkeys(zip(excess["model"], excess["method"], strict=True)):
        cells = []
        for source in "AB":
            row = values.loc[(model, method, source)]
            cells.append("{:+.3f} ({:+.3f} to {:+.3f})".format(*row[["value", "lower", "upper"]]).replace("-", "−"))
        yield f"| {METHODS[method].title} | {model} | {' | '.join(cells)} |"


def recording_lines():
    summary = pd.read_csv(RESULTS / "recording_summary.csv")
    for row in summary.to_dict("records"):
        shares = [f"{100 * row[key]:.0f} %" for key in ("within_quarter", "within_half", "direction", "covered")]
        cells = [str(row["flags"]), f"{row['correlation']:.2f}", *shares]
        yield f"| {row['source']} to {row['target']} | {' | '.join(cells)} |"


def risk_lines():
    """One line per model and candidate: estimated MSE/Var(Y), the truth, what would be chosen; both directions."""
    risks = pd.read_csv(RESULTS / "risks.csv")
    values = risks.set_index(["model", "method", "source"])
    for model, method in dict.fromkeys(zip(risks["model"], risks["method"], strict=True)):
        cells = []
        for source in "AB":
            row = values.loc[(model, method, source)]
            mark = "**" if row["chosen"] else ""
            cells += ["{}{:.3f}{} ({:.3f} to {:.3f})".format(mark, row["estimate"], mark, row["lower"], row["upper"])]
            cells += [f"{row['truth']:.3f}"]
        yield f"| {METHODS[method].title} | {model} | {' | '.join(cells)} |"


def label_lines():
    """Transplanted patterns with sepsis as the label: the gap, and shares where there is one to close."""
    shares = pd.read_csv(RESULTS / "shares.csv").query("masks == 'transplanted' and labels == 'sepsis'")
    values = shares.set_index(["method", "hospital", "gets"])
    gaps = [f"{values.loc[('source', *scope), 'gap']:.3f}" for scope in SCOPES]
    yield f"| Gap, share of Var(Y) | {' | '.join(gaps)} |"
    for method in (*("advised", "closed_form", "nonparametric", "two_way"), "coral", "optimal_transport", "corrected"):
        cells = []
        for scope in SCOPES:
            share, lower, upper = (100 * values.loc[(method, *scope), ["share", "lower", "upper"]]).round()
            shown = f"{share:.0f} % ({lower:.0f} to {upper:.0f} %)".replace("-", "−")
            cells.append(f" {shown} |" if scope != ("B", "target") else " |")
        yield f"| {METHODS[method].title} |{''.join(cells)}"


def test_what_is_chosen_with_sepsis_as_the_label():
    chosen = pd.read_csv(RESULTS / "masks.csv").query(
        "masks == 'transplanted' and labels == 'sepsis' and gets == 'source'"
    )
    kept = chosen.query("method == 'advised'")["choice"].eq("source")
    text = " ".join((ROOT / "docs/sepsis.md").read_text(encoding="utf-8").split())
    assert f"keeps the source predictor in {kept.sum()} of {len(kept)} splits" in text


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("sepsis as the label", label_lines),
        ("risks", risk_lines),
        ("transplanted", lambda: share_lines("transplanted")),
        ("simulated", lambda: share_lines("ucar")),
        ("natural", excess_lines),
        ("recording", recording_lines),
    ],
)
def test_tables_are_those_of_the_committed_results(name, lines):
    text = (ROOT / "docs/sepsis.md").read_text(encoding="utf-8").splitlines()
    expected = list(lines())
    assert expected and not [line for line in expected if line not in text], name


def test_the_readme_quotes_the_committed_shares():
    shares = pd.read_csv(RESULTS / "shares.csv").query("masks == 'transplanted' and labels == 'linear'")
    found = shares[shares["method"] == "closed_form"].set_index(["gets", "hospital"])["share"]
    words = [
        "{:.0f} and {:.0f} %".format(*(100 * found[gets, hospital] for hospital in "AB"))
        for gets in ("target", "source")
    ]
    readme = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    assert f"closed form closes {words[0]} of the gap if the target loses and {words[1]} if the source does" in readme


def test_code_runs_as_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(
        "dams.datasets.sepsis.download.download_sepsis", lambda folder: write_patients(tmp_path / folder)
    )
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs/sepsis.md").read_text(encoding="utf-8"), re.DOTALL)
    names = {}
    exec(code, names)
    assert len(names["source"].y) == len(names["target"].y) == 2
    assert names["known"].X.isna().any().any() and not names["table"].X.isna().any().any()


def test_no_patient_is_among_the_results():
    """Aggregates alone: no table has a column of patients, nor as many rows as a hospital has patients."""
    for path in RESULTS.glob("*.csv"):
        table = pd.read_csv(path)
        assert len(table) < 3000 and "patient" not in table.columns, path


def test_bars_that_the_page_says_hold():
    findings = pd.read_csv(RESULTS / "findings.csv")
    bars = findings[findings["kind"] == "bar"]
    assert len(bars) == 14 and (bars["verdict"] == "holds").all()


def test_no_method_failed():
    for name in ("scores", "masks"):
        assert not pd.read_csv(RESULTS / f"{name}.csv")["failure"].notna().any(), name
