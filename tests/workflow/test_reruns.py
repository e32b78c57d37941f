"""What a changed configuration or an edited module runs again, and what it leaves alone."""

import os
import re
import shutil

import pandas as pd
import pytest
from projects import Project

from dams.report.verify import verify

pytestmark = pytest.mark.workflow

RECORDS = "results/tiny/records.csv"


def configuration(**changes):
    """Four linear cells of a scenario, in jobs of two."""
    study = {
        "datasets": ["redundant"],
        "rows": 60,
        "regimes": [{"kind": "free"}],
        "models": {"linear": {"draws": 4}},
        "methods": ["oracle", "source"],
        "outputs": ["table1"],
    }
    run = {"name": "tiny", "seed": 1, "studies": {"one": study}, "block_size": {"linear": 2}}
    return run | changes


def run_all(folder):
    project = Project(folder)
    project.configure(configuration())
    answer = project.run()
    assert answer.returncode == 0, answer.stdout
    assert "Results: results/tiny/" in answer.stdout


@pytest.fixture
def finished(filled_once, tmp_path):
    """A project in which all of that configuration was run.

    A copy of it: Snakemake goes by contents and by times, which a copy keeps, and finds nothing to do.
    """
    return Project(tmp_path, like=filled_once("finished", run_all))


def planned(project, target=RECORDS):
    """Jobs of a dry run by rule."""
    return jobs_of(project.run(target, "--dry-run"))


def jobs_of(answer):
    """Jobs that Snakemake lists before it runs them, or would, by rule."""
    assert answer.returncode == 0, answer.stdout
    counts = {rule: int(count) for rule, count in re.findall(r"^(\w+) +(\d+)$", answer.stdout, re.MULTILINE)}
    assert counts or "Nothing to be done" in answer.stdout, answer.stdout
    return {rule: count for rule, count in counts.items() if rule != "total"}


def made(project):
    answer = project.run(RECORDS)
    assert answer.returncode == 0, answer.stdout
    return records_of(project)


def records_of(project):
    return pd.read_csv(project.folder / RECORDS)


def edit(project, module):
    with open(project.folder / module, "a", encoding="utf-8") as stream:
        stream.write("\n# edited\n")


def test_another_configuration_runs_what_it_changes(finished):
    project, first = finished, records_of(finished)
    assert len(first) == 4 * 2
    assert planned(project) == {}

    # Further draws are jobs of their own, where the last one was full.
    study = configuration()["studies"]["one"] | {"models": {"linear": {"draws": 5}}}
    project.configure(configuration(studies={"one": study}))
    assert planned(project) == {"run_block": 1, "gather_records": 1}

    # The files keep their names.
    project.configure(configuration(seed=2))
    assert jobs_of(project.run(RECORDS)) == {"run_block": 2, "gather_records": 1}
    assert records_of(project)["score"].ne(first["score"]).all()

    # Fewer and larger jobs, under the name of the first: all rows are there, and as they were.
    project.configure(configuration(block_size={"linear": 4}))
    pd.testing.assert_frame_equal(made(project), first)
    project.configure(configuration(block_size={"linear": 1}))
    pd.testing.assert_frame_equal(made(project), first)
    assert planned(project) == {}


def test_settings_of_the_uci_data_sets_leave_others_alone(project):
    study = configuration()["studies"]["one"] | {"datasets": ["digits"], "models": {"linear": {"draws": 1}}}
    project.configure(configuration(studies={"one": study}))
    made(project)
    project.configure(configuration(studies={"one": study}, data_dir="elsewhere"))
    assert planned(project) == {}


@pytest.mark.real_data
@pytest.mark.skipif("DAMS_DATA_DIR" not in os.environ, reason="DAMS_DATA_DIR does not name a folder with the UCI files")
def test_fetching_raw_files_begins_no_run(project):
    """A run that is there keeps the configuration that it was made with."""
    study = configuration()["studies"]["one"] | {"datasets": ["thyroid"]}
    project.configure(configuration(studies={"one": study}))
    results = project.folder / "results/tiny"
    assert jobs_of(project.run("download")) == {"download_data": 1, "download": 1}
    assert not results.exists()
    # A job of the run begins it.
    assert project.run("results/tiny/data/thyroid.npz").returncode == 0
    assert (results / "config.json").exists()


@pytest.mark.real_data
@pytest.mark.skipif("DAMS_DATA_DIR" not in os.environ, reason="DAMS_DATA_DIR does not name a folder with the UCI files")
def test_another_place_of_the_same_raw_files_runs_nothing(project):
    study = configuration()["studies"]["one"] | {"datasets": ["thyroid"], "models": {"linear": {"draws": 1}}}
    project.configure(configuration(studies={"one": study}))
    made(project)
    project.configure(configuration(studies={"one": study}, data_dir=os.environ["DAMS_DATA_DIR"]))
    assert planned(project) == {}


def test_an_edit_runs_what_rests_on_it(finished):
    project, table = finished, "results/tiny/tables/table1.csv"
    # A caption is no part of a table.
    products = project.folder / "dams/experiments/products.py"
    products.write_text(products.read_text(encoding="utf-8").replace("the oracle in grey", "the oracle grey"), "utf-8")
    assert planned(project, table) == {}
    # Intervals are made of records.
    edit(project, "dams/stats.py")
    edit(project, "dams/report/outputs/table1.py")
    assert planned(project) == {}
    assert planned(project, table) == {"write_table": 1}
    edit(project, "dams/experiments/models/linear.py")
    assert planned(project) == {"run_block": 2, "gather_records": 1}


def test_what_was_deleted_of_a_finished_run_is_made_anew(finished):
    project = finished
    results = project.folder / "results/tiny"
    ending = {"write_provenance": 1, "write_report": 1, "all": 1}
    # No job of these needs another of them, so that each is there for its own file alone.
    made_by = {
        "tables/table1.tex": "write_table",
        "figures/published_against_measured.pdf": "compare_with_paper",
        "claims.csv": "check_claims",
        "diagnostics/verdicts.csv": "diagnose_cells",
    }
    deleted = project.folder / "deleted"
    for names, rules in ((list(made_by), made_by.values()), (["provenance.json"], ["write_provenance"])):
        for number, name in enumerate(names):
            (results / name).rename(deleted.with_suffix(f".{number}"))
        assert planned(project, "all") == ending | dict.fromkeys(rules, 1)
        for number, name in enumerate(names):
            deleted.with_suffix(f".{number}").rename(results / name)
    # Blocks have served once they are gathered.
    shutil.rmtree(results / "blocks")
    assert planned(project, "all") == {}


def test_a_block_that_was_cut_is_refused_and_made_anew_once_deleted(finished):
    project, first = finished, records_of(finished)
    block = project.folder / "results/tiny/blocks/one/redundant-linear-0000.csv"
    content = block.read_bytes()
    block.write_bytes(content[: content.rindex(b"0.") + 4])
    answer = project.run(RECORDS)
    assert answer.returncode != 0
    assert "blocks/one/redundant-linear-0000.csv is cut off" in answer.stdout
    assert "Delete the file and run again." in answer.stdout
    assert "`dams report results/tiny` makes a report of what there is; running again goes on" in answer.stdout
    block.unlink()
    assert jobs_of(project.run(RECORDS)) == {"run_block": 1, "gather_records": 1}
    pd.testing.assert_frame_equal(records_of(project), first)
    assert block.read_bytes() == content


def test_blocks_of_another_configuration_are_refused_where_snakemake_has_no_notes(finished):
    project = finished
    shutil.rmtree(project.folder / ".snakemake")
    (project.folder / RECORDS).unlink()
    project.configure(configuration(seed=2))
    answer = project.run(RECORDS)
    assert answer.returncode != 0
    blocks = project.folder / "results/tiny/blocks/one"
    assert "redundant-linear-0000.timings.csv is of another configuration: expected " in answer.stdout
    assert "2 of 2 such files are. Delete results/tiny/blocks/one and run again." in answer.stdout
    shutil.rmtree(blocks)
    assert jobs_of(project.run(RECORDS)) == {"run_block": 2, "gather_records": 1}


def altered(path):
    """Another digit in a file."""
    content = path.read_text(encoding="utf-8")
    place = re.search(r"[1-8]", content[len(content) // 2 :]).start() + len(content) // 2
    path.write_text(f"{content[:place]}9{content[place + 1 :]}", encoding="utf-8")


def test_an_edited_result_is_neither_counted_nor_sealed(finished):
    project = finished
    results = project.folder / "results/tiny"
    whole = verify(results)
    assert not whole.problems
    assert not whole.absent

    # Newer than what is made of it, so that Snakemake runs that again.
    claims = (results / "claims.csv").read_bytes()
    altered(results / "claims.csv")
    answer = project.run()
    assert answer.returncode != 0
    assert re.search(r"results/tiny/claims\.csv is damaged: it is not what its job wrote", answer.stdout), answer.stdout

    # As old as before, so that Snakemake does not see it.
    block = results / "blocks/one/redundant-linear-0000.timings.csv"
    times = block.stat()
    altered(block)
    os.utime(block, (times.st_atime, times.st_mtime))
    (results / "records.csv").unlink()
    answer = project.run()
    assert answer.returncode != 0
    assert re.search(r"redundant-linear-0000\.timings\.csv is damaged: it is not what its job wrote", answer.stdout)

    for file in (results / "claims.csv", block):
        file.unlink()
    answer = project.run()
    assert answer.returncode == 0, answer.stdout
    assert (results / "claims.csv").read_bytes() == claims
    assert sorted(verify(results).sound) == sorted(whole.sound)
    altered(results / "tables/table1.csv")
    (problem,) = verify(results).problems
    assert "results/tiny/tables/table1.csv: not what the run made" in problem


def test_results_of_another_table_do_not_stand_in_for_one_that_is_gone(project):
    """Snakemake itself takes what is there, of whatever table, where it can't be made anew."""
    (project.folder / RECORDS).parent.mkdir(parents=True)
    (project.folder / RECORDS).touch()
    study = configuration()["studies"]["one"] | {"datasets": ["mine"]}
    project.configure(
        configuration(studies={"one": study}, datasets={"mine": {"path": "gone.csv", "numeric": ["age"]}})
    )
    answer = project.run(RECORDS, "--dry-run")
    assert answer.returncode != 0, answer.stdout
    assert f"datasets.mine: gone.csv does not exist below {project.folder}" in answer.stdout
    assert "Traceback" not in answer.stdout


def test_a_part_that_the_run_is_without_is_named(project):
    project.configure(configuration())
    for part in ("beyond", "eicu"):
        answer = project.run(part, "--dry-run")
        assert answer.returncode != 0, answer.stdout
        assert f"{part} is no part of the run tiny: its configuration has no `{part}`" in answer.stdout


def test_diagnostics_of_a_run_without_studies_are_those_of_its_hospitals(project):
    without = {"name": "tiny", "studies": {}, "sepsis": {}}
    project.configure(without | {"eicu": {}})
    assert set(planned(project, "diagnostics")) == {"simulate_eicu", "diagnose_eicu", "diagnostics"}
    project.configure(without)
    answer = project.run("diagnostics", "--dry-run")
    assert answer.returncode != 0, answer.stdout
    assert "studies is no part of the run tiny: its configuration has no `studies`" in answer.stdout
