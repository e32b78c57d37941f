"""Records of a run that was interrupted: those of its blocks, each cell once; and which studies speak of the paper."""

import json
import os
from pathlib import Path

import pytest

from dams.experiments.config import read
from dams.experiments.data import write_json
from dams.experiments.records import write_csv
from dams.report.evidence import Evidence, NotTestable
from dams.report.paper import departure

CONFIG = {
    "name": "cut",
    "studies": {
        "one": {
            "datasets": ["digits"],
            "regimes": [{"kind": "free"}],
            "models": {"linear": {"draws": 4}},
            "methods": ["oracle"],
        }
    },
    "block_size": {"linear": 2},
}


@pytest.fixture
def write_block(tmp_path, make_records):
    """Write a block with these scores by draw; a later call makes a later file."""

    def write(number, scores):
        path = tmp_path / "blocks" / "one" / f"digits-linear-{number:04d}.csv"
        rows = [{"dataset": "digits", "regime": "free", "draw": d, "score": score} for d, score in scores.items()]
        write_csv(make_records(rows), path)
        write.time += 10
        os.utime(path, (write.time, write.time))

    write.time = 1_000_000_000
    return write


def scores(folder):
    records = Evidence(folder).records
    assert records["draw"].is_unique
    return dict(zip(records["draw"], records["score"], strict=True))


@pytest.mark.parametrize("known", [True, False])
def test_of_cells_that_two_cuts_hold_the_newest_count(tmp_path, write_block, known):
    """All four draws in one block, before; now two blocks, of which the second was made."""
    write_block(0, {0: 0.1, 1: 0.2, 2: 0.3, 3: 0.4})
    write_block(1, {2: 0.5, 3: 0.6})
    if known:
        (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    assert scores(tmp_path) == {0: 0.1, 1: 0.2, 2: 0.5, 3: 0.6}


def test_blocks_that_are_not_of_the_run_are_left_out(tmp_path, write_block):
    write_block(0, {0: 0.1, 1: 0.2})
    write_block(2, {2: 0.3})
    assert scores(tmp_path) == {0: 0.1, 1: 0.2, 2: 0.3}
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    assert scores(tmp_path) == {0: 0.1, 1: 0.2}


def test_a_folder_without_blocks_has_no_records(tmp_path):
    assert Evidence(tmp_path).records.empty


@pytest.mark.parametrize("source", ["simulated", "folder", "physionet"])
@pytest.mark.parametrize("simulated", [True, False])
def test_the_files_say_whether_a_cohort_is_simulated_not_the_configuration(tmp_path, source, simulated):
    write_json({"eicu": {"source": source}}, tmp_path / "config.json")
    assert Evidence(tmp_path).eicu_is_simulated
    write_json({"simulated": simulated}, tmp_path / "eicu" / "cohort.json")
    assert Evidence(tmp_path).eicu_is_simulated is simulated


FREE = {"dataset": "thyroid", "regime": "free"}
AT_TENTH = {"dataset": "redundant", "epsilon": 0.1}


@pytest.fixture
def run_of(tmp_path, make_records):
    """Evidence of studies, each with the change from a study of the paper's settings and the score of its one draw."""

    def make(dataset, **studies):
        rows, config = [], {"name": "settings", "studies": {}}
        for number, (name, (change, score)) in enumerate(studies.items()):
            kind = "opposing" if dataset == "redundant" else "free"
            study = {"datasets": [dataset], "regimes": [{"kind": kind}], "models": {"linear": {"draws": 1}}}
            study |= {"methods": ["oracle"]} | change
            regime = study["regimes"][0]
            cell = {"experiment": name, "dataset": dataset, "regime": regime.get("name", regime["kind"])}
            rows.append(
                cell | {"epsilon": 0.1 if kind == "opposing" else None, "score": score, "rate_distance": number}
            )
            config["studies"][name] = study
        write_csv(make_records(rows), tmp_path / "records.csv")
        (tmp_path / "config.json").write_text(json.dumps(config))
        return Evidence(tmp_path)

    return make


def one_score(evidence, scope):
    (table,) = evidence.score_tables(scope, ["oracle"])
    return table.to_numpy().item()


@pytest.mark.parametrize(
    ("scope", "change", "reason"),
    [
        (FREE, {"regimes": [{"kind": "free", "high": 0.2}]}, "Thyroid: rates up to 0.2, the paper's go to 0.9"),
        (
            FREE | {"regime": "nested"},
            {"regimes": [{"kind": "nested", "extra_high": 0.1}]},
            "Thyroid: source rates up to 0.5 and further losses up to 0.1, the paper's go to 0.5 and 0.5",
        ),
        (FREE, {"regimes": [{"kind": "nested", "name": "free"}]}, "no records of Thyroid, mˢ ? mᵗ"),
        (AT_TENTH, {"rows": 4000}, "Redundant features: samples of 4,000 rows, the paper's have 10,000"),
    ],
)
def test_other_settings_than_the_papers_are_no_evidence_for_or_against_it(run_of, scope, change, reason):
    evidence = run_of(scope["dataset"], other=(change, 0.5))
    with pytest.raises(NotTestable) as caught:
        one_score(evidence, scope)
    assert str(caught.value) == reason
    assert evidence.distances(scope).empty


@pytest.mark.parametrize(
    ("scope", "change"), [(FREE, {"regimes": [{"kind": "free", "high": 0.2}]}), (AT_TENTH, {"rows": 60})]
)
def test_a_study_with_the_papers_settings_counts_beside_others(run_of, scope, change):
    evidence = run_of(scope["dataset"], other=(change, 0.5), paper=({}, 0.25))
    assert one_score(evidence, scope) == 0.25
    assert evidence.distances(scope).tolist() == [1.0]


def test_settings_count_whatever_a_run_calls_them(run_of):
    evidence = run_of("thyroid", one=({"regimes": [{"kind": "free", "name": "wide", "high": 0.9}]}, 0.25))
    assert one_score(evidence, FREE) == 0.25


def test_how_many_rows_are_sampled_does_not_matter_to_a_table(run_of):
    assert one_score(run_of("thyroid", one=({"rows": 60}, 0.25)), FREE) == 0.25


def test_the_paper_s_configuration_departs_nowhere():
    studies = read(Path(__file__).parents[2] / "config" / "paper.yaml").studies.values()
    cells = [
        (d, s, study.rows) for study in studies for d in study.datasets for r in study.regimes for _, s in r.samplers()
    ]
    assert cells and not any(departure(*cell) for cell in cells)
