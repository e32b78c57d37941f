"""A small run for tests of the page: records of three data sets with everything that a page may show."""

import json
import shutil
from itertools import product

import numpy as np
import pandas as pd

from dams._files import write_json
from dams.experiments.gather import keys_of
from dams.experiments.records import KEYS, as_records, read_records, write_csv
from dams.report.claims.comparison import compare
from dams.report.claims.figures import design_scatter, published_against_measured
from dams.report.claims.verdicts import check_claims, read_claims
from dams.report.evidence import EVIDENCE, Evidence
from dams.report.figures import save_figure
from dams.report.outputs.error_against_distance import error_against_distance
from dams.report.outputs.error_against_epsilon import error_against_epsilon
from dams.report.outputs.table1 import table1
from dams.report.page.render import write_page
from dams.report.run_folder import RunFolder
from dams.report.summary import Bootstrap

CONFIG = {
    "name": "small",
    "seed": 1,
    "theory": True,
    "bootstrap": {"replicates": 50},
    "eicu": {"source": "simulated"},
    "studies": {
        "one": {
            "datasets": ["redundant"],
            "regimes": [{"kind": "opposing", "epsilon": [0.1, 0.5]}],
            "models": {"linear": {"draws": 6}},
            "methods": ["oracle", "source", "closed_form"],
            "outputs": ["error_against_epsilon"],
        },
        "two": {
            "datasets": ["thyroid", "digits"],
            "regimes": [{"kind": "free"}],
            "models": {"linear": {"draws": 6, "betas": 2}},
            "methods": ["oracle", "source", "closed_form", "nonparametric"],
            "outputs": ["table1", "paired_differences", "error_against_distance"],
        },
    },
}


def make_records() -> pd.DataFrame:
    """Scores that differ by method, draw and β; one fit failed."""
    rng = np.random.default_rng(0)
    levels = {"oracle": 0.2, "source": 1.1, "closed_form": 0.21, "nonparametric": 0.5}
    designs = [
        *product(["one"], ["redundant"], ["opposing"], [0.1, 0.5], ["oracle", "source", "closed_form"], range(6), [0]),
        *product(["two"], ["thyroid", "digits"], ["free"], [None], levels, range(6), range(2)),
    ]
    rows = [
        {
            "study": study,
            "dataset": dataset,
            "regime": regime,
            "epsilon": epsilon,
            "labels": "random_linear",
            "variant": "corrected",
            "model": "linear",
            "method": method,
            "draw": draw,
            "beta": beta,
            "score": (score := levels[method] + 0.02 * rng.normal()),
            "mse": 2.0 * score,
            "var_y": 2.0,
            "rate_distance": 1 + 0.1 * draw,
            "dropped": None,
            "failure": None,
        }
        for study, dataset, regime, epsilon, method, draw, beta in designs
    ]
    rows[-1] |= {"score": None, "failure": "LinAlgError: singular <matrix>"}
    return as_records(rows)


def make_folder(folder, *, whole=True):
    """Write a results folder but for its page; a run that is not whole was interrupted after its records."""
    records, bootstrap = make_records(), Bootstrap(replicates=50)
    write_json(CONFIG, folder / "config.json")
    write_csv(records, folder / "records.csv")
    if whole:
        table1(records, bootstrap).save(folder / "tables" / "table1")
        save_for_page(error_against_epsilon(records, bootstrap), folder / "figures" / "error_against_epsilon")
        shutil.copytree(folder / "figures", folder / "theory")
        of_tables = records[records["study"] == "two"]
        panels = error_against_distance(of_tables, bootstrap)
        save_figure(panels, [folder / "figures" / "error_against_distance.svg"])
        (folder / "theory" / "error_against_epsilon.svg").rename(folder / "theory" / "redundant_risk.svg")
        theory = {"statement": "Lemma 5.1: given m < 1, p is identified from p̃^s", "where": "Section 5"}
        theory |= {"how_checked": "m ≤ 0.9", "largest_deviation": 4e-17, "tolerance": 1e-9, "verdict": "holds"}
        rows = [
            theory | {"statement": f"{theory['statement']}, {i}", "largest_deviation": i * 1e-17} for i in range(14)
        ]
        write_csv(pd.DataFrame(rows), folder / "theory" / "theory.csv")
        score = {"variant": "corrected", "source": "H2", "target": "H1", "method": "source", "metric": "auroc"}
        write_csv(pd.DataFrame([score | {"value": 0.6, "lower": 0.5, "upper": 0.7}]), folder / "eicu" / "scores.csv")
        write_claims(folder)
        write_comparison(folder)
        provenance = {
            "commit": "0123456789abcdef",
            "uncommitted_changes": True,
            "config": CONFIG,
            "python": "3.11",
            "packages": {"dams": "0.1.0", "absent": None},
            "machine": {"system": "Linux", "processor": "x86_64", "cores": 2},
            "job_seconds": {"run_block": 12.3, "write_table": 1.0},
        }
        (folder / "provenance.json").write_text(json.dumps(provenance))
    file = {"file": "allbp.data", "sha256": "ab" * 32, "source": "the UCI archive", "licence": "CC BY 4.0"}
    write_json([file], folder / "raw" / "thyroid.json")


def save_for_page(figure, stem):
    """Save a figure as SVG; of the formats that the page only links, empty files will do, which take no time."""
    save_figure(figure, [stem.with_suffix(".svg")])
    for suffix in (".pdf", ".png"):
        stem.with_suffix(suffix).touch()


def evidence_in(folder):
    """What a rule would find in a folder: all that its configuration asks for was just seen to."""
    run = RunFolder(folder)
    files = {made.name: folder / made.files[0] for made in run.products if (folder / made.files[0]).exists()}
    records = read_records(files["records"]) if "records" in files else run.records
    return Evidence.of_files(records, run.config, **{name: files[name] for name in EVIDENCE if name in files})


def write_claims(folder):
    """Write the claims of a folder as its rule would."""
    claims, findings = check_claims(evidence_in(folder), read_claims())
    write_csv(claims, folder / "claims.csv")
    write_csv(findings, folder / "findings.csv")


def write_comparison(folder):
    """Write the comparison of a folder as its rule would."""
    table = compare(evidence_in(folder))
    write_csv(table, folder / "comparison.csv")
    save_for_page(published_against_measured(table), folder / "figures" / "published_against_measured")
    save_for_page(design_scatter(table), folder / "figures" / "design_scatter")


def write_block(folder, block, records, design=None):
    """Write those of some records that are a block's, as its job would; `design` is the digest of another block."""
    mine = set(keys_of(block))
    keys = records[KEYS].astype(object)
    rows = keys.where(keys.notna(), None).itertuples(index=False, name=None)
    path = folder / "blocks" / f"{block.path}.csv"
    write_csv(records[[row in mine for row in rows]], path)
    write_csv(pd.DataFrame({"design": [design or block.digest]}), path.with_suffix(".timings.csv"))
    return path


def make_report(folder):
    """Write the folder of a whole run, and its page."""
    make_folder(folder)
    return write_page(folder, raw=(folder / "raw").glob("*.json"))
