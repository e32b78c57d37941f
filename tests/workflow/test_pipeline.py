"""The pipeline as users run it: Snakemake in a process of its own, on a copy of the project."""

import os
import re
import sys
import textwrap
import time
from pathlib import Path

import pandas as pd
import pytest

pytestmark = pytest.mark.workflow

ROOT = Path(__file__).parents[2]


def configuration(name="tiny", **changes):
    """Four linear and two XGBoost cells of a scenario: seconds of work."""
    study = {
        "datasets": ["redundant"],
        "rows": 60,
        "regimes": [{"kind": "opposing", "epsilon": [0.1, 0.5]}],
        "models": {"linear": {"draws": 2}, "xgboost": {"draws": 1}},
        "methods": ["oracle", "source", "closed_form", "nonparametric"],
        "outputs": ["table1", "error_against_epsilon"],
    }
    return {
        "name": name,
        "studies": {"curve": study | changes},
        "bootstrap": {"replicates": 50},
    }


def blocks_of(size):
    return {"block_size": {"linear": size, "xgboost": size}}


def test_cores_blocks_and_interruption_leave_no_trace(project):
    """One core and whole blocks, against two cores, jobs of one or two cells, killed half-way and started again."""
    # All that is compared below, which is all but claims, provenance and page.
    products = ["tables", "figures", "diagnostics"]
    project.configure(configuration("whole") | blocks_of(7))
    answer = project.run("results/whole/records.csv", "results/whole/comparison.csv", *products, cores=1)
    assert answer.returncode == 0, answer.stdout

    project.configure(configuration("killed") | {"block_size": {"linear": 1, "xgboost": 2}})
    project.kill_after_first("results/killed/blocks/curve/*.csv", cores=2)
    assert not (project.folder / "results/killed/records.csv").exists()
    # A killed run can't take its lock away, and the next one says how.
    answer = project.dams("run", "run.yaml")
    assert answer.returncode != 0
    assert "dams run run.yaml --unlock" in answer.stdout, answer.stdout
    assert project.dams("run", "run.yaml", "--unlock").returncode == 0
    answer = project.run("results/killed/records.csv", "results/killed/comparison.csv", *products, cores=2, hashes=2)
    assert answer.returncode == 0, answer.stdout

    whole, killed = project.results("whole"), project.results("killed")
    assert {"records.csv", "tables/table1.tex", "figures/error_against_epsilon.svg", "diagnostics/verdicts.csv"} <= set(
        whole
    )
    assert whole.keys() == killed.keys()
    for name, content in whole.items():
        assert killed[name] == content, f"{name} differs"

    # What is done stays done until its code changes.
    project.configure(configuration("whole") | blocks_of(7))
    assert "Nothing to be done" in project.run(*products, "--dry-run").stdout
    with open(project.folder / "dams" / "moments.py", "a", encoding="utf-8") as module:
        module.write("\n# edited\n")
    assert "run_block" in project.run(*products, "--dry-run").stdout


def test_a_misspelt_key_stops_before_any_job(project):
    raw = configuration()
    raw["studies"]["curve"]["regims"] = raw["studies"]["curve"].pop("regimes")
    project.configure(raw)
    answer = project.run()
    assert answer.returncode != 0
    assert "studies.curve.regims: unknown key; did you mean 'regimes'?" in answer.stdout
    assert "Traceback" not in answer.stdout
    assert not (project.folder / "results").exists()


def test_a_file_without_studies_is_not_taken_for_the_papers(project):
    project.configure({"name": "mine", "seed": 5})
    answer = project.run("--dry-run")
    assert answer.returncode != 0
    said = project.dams("check", "run.yaml").stdout
    assert "studies: " in said
    assert said.partition("\n")[2] in answer.stdout
    assert "Traceback" not in answer.stdout
    # Without a file, keys on the command line are changes to the paper's.
    command = project.command("--dry-run", "--config", "name=mine")
    command["args"] = [word for word in command["args"] if word not in ("--configfile", "run.yaml")]
    answer = project.finish(command)
    assert answer.returncode == 0, answer.stdout
    assert "results/mine/records.csv" in answer.stdout
    assert re.search(r"^run_block +[1-9]", answer.stdout, re.MULTILINE)


def test_a_key_that_comes_twice_stops_before_any_job(project):
    project.configure(configuration())
    with open(project.folder / "run.yaml", "a", encoding="utf-8") as file:
        file.write("name: another\n")
    answer = project.run("--dry-run")
    assert answer.returncode != 0
    assert "the key 'name' is on line" in answer.stdout
    assert "Traceback" not in answer.stdout


def test_the_quickstart_gives_a_plan(project):
    answer = project.run("--dry-run", config="config/quickstart.yaml")
    assert answer.returncode == 0, answer.stdout
    assert re.search(r"^run_block +[1-9]", answer.stdout, re.MULTILINE)


def test_results_that_came_with_the_code_are_made_anew(project):
    """Tables and figures of the paper are in git, without the records behind them."""
    results, times = project.folder / "results/paper", (time.time(), time.time())
    for file in ("report.html", "provenance.json", "tables/table1.csv"):
        (results / file).parent.mkdir(parents=True, exist_ok=True)
        (results / file).touch()
        os.utime(results / file, times)
    answer = project.run("--dry-run", config="config/paper.yaml")
    assert answer.returncode == 0, answer.stdout
    assert re.search(r"^run_block +[1-9]", answer.stdout, re.MULTILINE)


# A method that refuses the second draw, to show what a failure looks like.
GUESS = """import numpy as np

from dams.experiments.models import Sample


def guess(cell, rng):
    if cell.key.draw == 1:
        raise ArithmeticError("this draw\\nis refused")
    return Sample(np.zeros_like(cell.source_train.X), cell.source_train.Y), cell.target_test
"""
GUESS_LINE = '    "guess": Method("Guess", "dams.experiments.methods.guess:guess"),\n'
# A step of a recipe: "1. `file`: …" or "2. In `REGISTRY` of `file`: …", then its code.
STEP = re.compile(r"^\d\. (?:In `(\w+)` of )?`([\w/.]+)`.*?^   ```python\n(.*?)^   ```$", re.MULTILINE | re.DOTALL)


def register(path, registry, line):
    """Put one line right below the head of a registry."""
    text, found = re.subn(
        rf"^({registry}: .* = {{\n)", lambda head: head[1] + line, path.read_text("utf-8"), flags=re.M
    )
    assert found == 1
    path.write_text(text, encoding="utf-8")


def follow_recipes(text, folder):
    """Do what CONTRIBUTING.md says, to the letter; return the files and registries that were written to."""
    done = []
    for registry, file, block in STEP.findall(text):
        if registry:
            register(folder / file, registry, textwrap.indent(textwrap.dedent(block), "    "))
        else:
            assert not (folder / file).exists()
            (folder / file).write_text(textwrap.dedent(block), encoding="utf-8")
        done.append(registry or file)
    return done


def test_a_method_a_data_set_and_a_figure_are_a_file_and_a_line_each(project):
    """The three recipes, and a method that fails now and then: the run says so and ends well."""
    assert follow_recipes((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"), project.folder) == [
        *("dams/experiments/methods/shrunken.py", "METHODS"),
        *("dams/datasets/wine.py", "DATASETS"),
        *("dams/report/outputs/score_histogram.py", "OUTPUTS"),
    ]
    methods = project.folder / "dams/experiments/methods"
    (methods / "guess.py").write_text(GUESS)
    register(methods / "__init__.py", "METHODS", GUESS_LINE)

    project.configure(
        configuration(
            "recipes",
            datasets=["wine"],
            regimes=[{"kind": "nested"}],
            models={"linear": {"draws": 3, "betas": 2}},
            methods=["guess", "shrunken", "oracle", "source"],
            outputs=["table1", "score_histogram"],
        )
    )
    answer = project.run("tables", "figures")
    assert answer.returncode == 0, answer.stdout

    results = project.folder / "results/recipes"
    records = pd.read_csv(results / "records.csv")
    scores = records.groupby("method")["score"]
    assert set(records["dataset"]) == {"wine"}
    assert set(scores.count()) == {4, 6}
    # Here the target loses more, and the covariates shrink by 1 − r: coefficients are too large.
    assert scores.mean()["shrunken"] > scores.mean()["source"]
    # The label mean of the source scores about one.
    assert scores.get_group("guess").dropna().between(0.7, 1.6).all()
    assert (results / "figures/score_histogram.svg").stat().st_size > 1000
    assert "Shrunken" in (results / "tables/table1.md").read_text(encoding="utf-8")

    failures = pd.read_csv(results / "failures.csv")
    assert list(failures["draw"]) == [1, 1]
    assert set(failures["failure"]) == {"ArithmeticError: this draw is refused"}
    assert "NOTE: 2 fits failed" in answer.stdout
    assert "results/recipes/failures.csv" in answer.stdout
    assert "Fits that failed: 2." in (results / "tables/table1.md").read_text(encoding="utf-8")


def test_another_dams_than_that_of_the_folder_is_refused(project):
    """Rules would follow this folder, jobs the installed package; here the one that the tests are run with."""
    command = project.command("--dry-run", config="config/smoke.yaml")
    del command["env"]["PYTHONPATH"]
    # A copy of the same code will do.
    assert project.finish(command).returncode == 0
    with open(project.folder / "dams" / "stats.py", "a", encoding="utf-8") as module:
        module.write("\n# edited\n")
    answer = project.finish(command)
    assert answer.returncode != 0
    assert f"The rules are those of {project.folder}, but jobs would import " in answer.stdout
    assert 'pip install --editable ".[pipeline]"' in answer.stdout
    assert "Traceback" not in answer.stdout


def test_a_folder_with_braces_is_refused(project, tmp_path_factory):
    folder = tmp_path_factory.mktemp("braces") / "a{b}"
    folder.mkdir()
    another = type(project)(folder)
    another.configure(configuration())
    answer = another.run("--dry-run")
    assert answer.returncode != 0
    assert f"Snakemake can't work in {folder}: the path holds {{ or }}" in answer.stdout, answer.stdout
    assert "Traceback" not in answer.stdout


def test_a_name_that_a_file_has_is_refused(project):
    project.configure(configuration())
    (project.folder / "results").mkdir()
    (project.folder / "results" / "tiny").touch()
    answer = project.run("--dry-run")
    assert answer.returncode != 0
    assert "name: results/tiny is a file, expected a folder or nothing; choose another name" in answer.stdout
    assert "Traceback" not in answer.stdout


def test_a_python_that_a_shell_can_not_start_is_refused(project, tmp_path_factory):
    """A space in the path of the environment; one in that of the folder alone does no harm."""
    spaced = tmp_path_factory.mktemp("a space") / "environment"
    spaced.symlink_to(sys.prefix)
    project.configure(configuration())
    command = project.command("--dry-run")
    command["args"][0] = str(spaced / "bin" / "python")
    answer = project.finish(command)
    assert answer.returncode != 0
    assert f"Snakemake can't start {spaced}/bin/python: the path holds a space" in answer.stdout
    assert "make VENV=/another/path demo" in answer.stdout
    assert "Traceback" not in answer.stdout

    folder = tmp_path_factory.mktemp("another space") / "project"
    folder.mkdir()
    another = type(project)(folder)
    another.configure(configuration(models={"linear": {"draws": 1}}, methods=["oracle", "source"]))
    answer = another.run("results/tiny/records.csv")
    assert answer.returncode == 0, answer.stdout
