"""The paper's run as it is committed: its page leads nowhere dead, and a reader can repeat its verdicts."""

import re
import shutil
import subprocess
from pathlib import Path

import pandas as pd
import pytest

from dams.cli import main
from dams.datasets.uci.origins import UCI
from dams.report.claims.verdicts import check_claims, read_claims
from dams.report.run_folder import RunFolder
from dams.theory.scenarios import exact_scores

ROOT = Path(__file__).parents[2]


def links_of(page):
    return [link for link in re.findall(r'href="([^"#][^"]*)"', page) if not re.match(r"[a-z]+:", link)]


def test_every_link_of_the_page_works_in_a_clone(committed):
    links = links_of((committed / "report.html").read_text(encoding="utf-8"))
    assert len(links) > 50
    assert [link for link in links if not (committed / link).exists()] == []


def test_every_link_of_every_committed_page_works_in_a_clone():
    listed = subprocess.run(["git", "ls-files", "-z", "results"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode or not listed.stdout:
        pytest.skip("not a checkout: only git tells what is committed")
    kept = {Path(name) for name in filter(None, listed.stdout.split("\0"))}
    pages = [path for path in kept if path.name == "report.html"]
    assert len(pages) >= 2
    for page in pages:
        links = links_of((ROOT / page).read_text(encoding="utf-8"))
        assert links and [link for link in links if page.parent / link not in kept] == []


def test_a_report_can_be_made_of_the_committed_files_alone(committed, capsys, monkeypatch):
    monkeypatch.chdir(committed)
    assert main(["report", str(committed)]) == 0
    assert "blocks of fits" not in capsys.readouterr().out
    page = (committed / "report.html").read_text(encoding="utf-8")
    assert "Table 1" in page
    # No file of the clone says what served the raw data: the page names the only files that are taken.
    assert all(file.sha256 in page for dataset in UCI.values() for file in dataset.files)
    assert [link for link in links_of(page) if not (committed / link).exists()] == []


@pytest.mark.parametrize("name", ["sepsis", "beyond"])
def test_a_run_without_studies_has_no_records_and_yet_a_page(tmp_path, capsys, name):
    if not (ROOT / "results" / name).is_dir():
        pytest.skip(f"results/{name} is not here: a source distribution has none")
    folder = shutil.copytree(ROOT / "results" / name, tmp_path / name)
    (folder / "report.html").unlink()
    assert main(["report", str(folder)]) == 0
    assert "Not in this run" not in capsys.readouterr().out
    assert "What held" in (folder / "report.html").read_text(encoding="utf-8")


def test_verdicts_follow_from_the_committed_records(committed):
    """Those on linear models in the scenarios and on theory, which need no prepared data; all others alike."""
    stated = [claim for claim in read_claims() if claim.check.kind != "rows" and "printed" not in claim.id][:24]
    claims, _ = check_claims(RunFolder(committed).evidence, stated)
    kept = pd.read_csv(committed / "claims.csv").set_index("id")["verdict"]
    assert claims.set_index("id")["verdict"].to_dict() == kept[claims["id"]].to_dict()


def test_what_is_undecided_says_what_would_decide_it(committed):
    claims = pd.read_csv(committed / "claims.csv")
    undecided = claims[claims["verdict"] == "undecided"]
    findings = pd.read_csv(committed / "findings.csv")
    for name in undecided["id"]:
        own = findings[(findings["id"] == name) & (findings["verdict"] == "undecided")]
        assert own["draws_to_decide"].notna().any() or own["reason"].notna().any()


def test_the_redundant_oracle_is_what_it_must_be(committed):
    table = pd.read_csv(committed / "tables" / "table1.csv")
    linear = table.query("dataset == 'redundant' and labels == 'random_linear' and model == 'linear'")
    row = linear[linear["method"] == "oracle"]
    assert row["draws"].item() >= 200
    assert abs(row["mean"].item() - exact_scores("redundant", 0.1)["oracle"]) < 0.004


def test_slopes_of_the_committed_run_are_of_one_regime_each(committed):
    findings = pd.read_csv(committed / "findings.csv")
    slopes = findings[findings["quantity"].fillna("").str.startswith("slope")]
    assert len(slopes) > 20 and slopes["place"].str.contains("mˢ").all()


def test_the_readme_counts_what_the_run_counts(committed):
    claims = pd.read_csv(committed / "claims.csv")
    ours = claims[claims["kind"].isin(["stated", "reading"])]["verdict"].value_counts()
    text = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    counts = ours["supported"], ours["not supported"], ours["undecided"]
    assert "{} hold, {} do not and {} are undecided".format(*counts) in text
    printed = claims[(claims["kind"] == "print") & (claims["verdict"] != "not testable here")]["verdict"]
    assert f"Of {len(printed)} lines of print" in text and f", {(printed == 'supported').sum()} hold." in text
    compared = pd.read_csv(committed / "comparison.csv").query("table == 'table1' and regime == 'opposing'")
    agree = compared["status"] == "agrees"
    means = agree[(compared["quantity"] == "mean") & (compared["variant"] == "as_published")]
    gaps = agree[compared["quantity"] == "above oracle"]
    assert f"{means.sum()} of {len(means)} printed means lie within the interval" in text
    assert f"Of {len(gaps)} printed gaps above the oracle, {(~gaps).sum()} do not agree with ours" in text
    table = pd.read_csv(committed / "tables" / "table1.csv").query(
        "dataset == 'adult' and regime == 'free' and model == 'linear'"
    )
    means = table.set_index("method")["mean"].round(3)
    quoted = (f"{means[name]:.3f}".lstrip("0") for name in ("source", "closed_form", "oracle"))
    assert "source {}, closed form {}, oracle {}".format(*quoted) in text
