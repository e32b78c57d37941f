"""Which files are of a run, interrupted, finished or changed since; and which studies speak of the paper."""

import json
import os
from pathlib import Path

import pandas as pd
import pytest
from reports import write_block

from dams._files import write_json
from dams.datasets.arrays import save_covariates
from dams.experiments.config import parse, read
from dams.experiments.design import blocks
from dams.experiments.digests import write_digests
from dams.experiments.records import write_csv
from dams.report.evidence import Evidence, NotTestable
from dams.report.page.contents import what_is_missing
from dams.report.paper import departure
from dams.report.provenance import write_provenance
from dams.report.run_folder import RunFolder

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
def run_blocks(tmp_path, make_records):
    """Write blocks of these numbers with this score, for a changed configuration; a later call makes later files."""

    def write(*numbers, score, **changes):
        rows = [{"dataset": "digits", "regime": "free", "draw": d, "score": score, "mse": 2 * score} for d in range(4)]
        jobs = list(blocks(parse(CONFIG | changes)))
        write.time += 10
        for number in numbers:
            path = write_block(tmp_path, jobs[number], make_records(rows))
            os.utime(path, (write.time, write.time))

    write.time = 1_000_000_000
    return write


def configure(folder, **changes):
    (folder / "config.json").write_text(json.dumps(CONFIG | changes))


def scores(folder):
    records = RunFolder(folder).records
    assert records["draw"].is_unique
    return dict(zip(records["draw"], records["score"], strict=True))


def test_of_cells_that_two_cuts_hold_the_newest_count_where_the_configuration_is_not_known(tmp_path, run_blocks):
    """All four draws in one block, before; now two blocks, of which the second was made."""
    run_blocks(0, score=0.1, block_size={"linear": 4})
    run_blocks(1, score=0.5)
    assert scores(tmp_path) == {0: 0.1, 1: 0.1, 2: 0.5, 3: 0.5}


@pytest.mark.parametrize("change", [{"block_size": {"linear": 4}}, {"seed": 5}], ids=str)
def test_blocks_of_another_configuration_are_left_out(tmp_path, run_blocks, change):
    """They have the name of one of this, and would pass for it."""
    run_blocks(0, score=0.1, **change)
    run_blocks(1, score=0.5)
    configure(tmp_path)
    assert scores(tmp_path) == {2: 0.5, 3: 0.5}
    assert [block.number for block in RunFolder(tmp_path).finished_blocks] == [1]
    configure(tmp_path, **change)
    assert scores(tmp_path).get(0) == 0.1


def test_blocks_that_are_not_of_the_run_are_left_out(tmp_path, run_blocks):
    run_blocks(0, score=0.1)
    run_blocks(2, score=0.3, block_size={"linear": 1})
    assert scores(tmp_path) == {0: 0.1, 1: 0.1, 2: 0.3}
    configure(tmp_path)
    assert scores(tmp_path) == {0: 0.1, 1: 0.1}


def test_a_damaged_block_is_refused_by_name(tmp_path, run_blocks):
    run_blocks(0, score=0.1)
    configure(tmp_path)
    path = tmp_path / "blocks" / "one" / "digits-linear-0000.csv"
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-1]))
    with pytest.raises(ValueError, match=r"digits-linear-0000\.csv is damaged: expected 2 rows, got 1"):
        scores(tmp_path)


def test_a_data_set_of_another_configuration_is_not_counted(tmp_path):
    for name in ("digits", "diabetes"):
        save_covariates(pd.DataFrame({"a": [0.0, 1.0]}), tmp_path / "data" / f"{name}.npz")
    assert RunFolder(tmp_path).evidence.rows_of("diabetes") == 2
    configure(tmp_path)
    assert RunFolder(tmp_path).evidence.rows_of("digits") == 2
    with pytest.raises(NotTestable, match="Diabetes is not part of this run"):
        RunFolder(tmp_path).evidence.rows_of("diabetes")


@pytest.fixture
def finished(tmp_path):
    """A."""
    times = iter(range(1_000_000_000, 2_000_000_000, 10))

    def make(name, content):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content)
        os.utime(tmp_path / name, (now := next(times), now))

    make("config.json", json.dumps(CONFIG))
    products = ["claims.csv", "diagnostics/verdicts.csv"]
    for name in products:
        make(name, "seed 0")
    made, digests = [tmp_path / name for name in products], tmp_path / "digests" / "all.sha256"
    write_digests(digests, made)
    write_provenance(tmp_path / "provenance.json", CONFIG, tmp_path, made, digests=[digests])
    make("provenance.json", (tmp_path / "provenance.json").read_text())
    assert owned(tmp_path) == {*products, "provenance.json"}
    return make


def owned(folder):
    return {
        name for name in ("claims.csv", "diagnostics/verdicts.csv", "provenance.json") if RunFolder(folder).owns(name)
    }


def test_what_another_configuration_made_since_is_not_of_the_finished_run(finished, tmp_path):
    finished("config.json", json.dumps(CONFIG | {"seed": 9}))
    finished("diagnostics/verdicts.csv", "seed 9")
    assert owned(tmp_path) == {"diagnostics/verdicts.csv"}
    finished("config.json", json.dumps(CONFIG))
    assert owned(tmp_path) == {"claims.csv"}
    assert RunFolder(tmp_path).provenance is None


def test_what_other_code_made_since_is_of_a_run_that_is_not_at_its_end(finished, tmp_path):
    finished("diagnostics/verdicts.csv", "other code")
    assert owned(tmp_path) == {"claims.csv", "diagnostics/verdicts.csv"}
    assert "Provenance: the run has not come to its end." in what_is_missing(RunFolder(tmp_path))
    # Made anew to the same content, it is what it was.
    finished("diagnostics/verdicts.csv", "seed 0")
    assert RunFolder(tmp_path).provenance is not None


def test_the_times_of_a_clone_say_nothing(finished, tmp_path):
    for name in ("provenance.json", "claims.csv", "diagnostics/verdicts.csv", "config.json"):
        finished(name, (tmp_path / name).read_text())
    assert owned(tmp_path) == {"claims.csv", "diagnostics/verdicts.csv", "provenance.json"}
    # Not all is in git.
    (tmp_path / "claims.csv").unlink()
    assert owned(tmp_path) == {"diagnostics/verdicts.csv", "provenance.json"}


def test_a_folder_without_blocks_has_no_records(tmp_path):
    assert RunFolder(tmp_path).records.empty
    configure(tmp_path)
    assert RunFolder(tmp_path).records.empty


@pytest.mark.parametrize("source", ["simulated", "folder", "physionet"])
@pytest.mark.parametrize("simulated", [True, False])
def test_the_files_say_whether_a_cohort_is_simulated_not_the_configuration(tmp_path, source, simulated):
    write_json({"eicu": {"source": source}}, tmp_path / "config.json")
    assert RunFolder(tmp_path).evidence.eicu_is_simulated
    write_json({"simulated": simulated}, tmp_path / "eicu" / "cohort.json")
    assert RunFolder(tmp_path).evidence.eicu_is_simulated is simulated


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
            cell = {"study": name, "dataset": dataset, "regime": regime.get("name", regime["kind"])}
            rows.append(
                cell | {"epsilon": 0.1 if kind == "opposing" else None, "score": score, "rate_distance": number}
            )
            config["studies"][name] = study
        (tmp_path / "config.json").write_text(json.dumps(config))
        write_csv(make_records(rows), tmp_path / "records.csv")
        return RunFolder(tmp_path).evidence

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
        (FREE, {"regimes": [{"kind": "nested", "name": "wide"}]}, "no records of Thyroid, mˢ ? mᵗ"),
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


def test_predictors_are_compared_in_the_cells_that_all_have(make_records):
    """Draws of two ε are other draws, and a method on fewer of them is no reason to pair those with others."""
    rows = [
        {"dataset": "redundant", "regime": "opposing", "epsilon": epsilon, "method": method, "draw": draw}
        for epsilon in (0.1, 0.5)
        for method, draws in (("oracle", (0, 1, 2)), ("source", (0, 2)))
        for draw in draws
    ]
    rows = [row | {"score": number} for number, row in enumerate(rows)]
    oracle, source = Evidence(make_records(rows)).score_tables({"dataset": "redundant"}, ["oracle", "source"])
    assert list(oracle.index) == list(source.index) == [f"opposing/{e}/{d}" for e in (0.1, 0.5) for d in (0, 2)]
    assert oracle.to_numpy().ravel().tolist() == [0, 2, 5, 7] and source.to_numpy().ravel().tolist() == [3, 4, 8, 9]


def test_the_paper_s_configuration_departs_nowhere():
    studies = read(Path(__file__).parents[2] / "config" / "paper.yaml").studies.values()
    cells = [
        (d, s, study.rows) for study in studies for d in study.datasets for r in study.regimes for _, s in r.samplers()
    ]
    assert cells and not any(departure(*cell) for cell in cells)
