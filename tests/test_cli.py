"""The command `dams`: it checks configurations and their files, keeps the schema, and speaks in sentences."""

import argparse
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

import dams
from dams.cli import main, make_parser
from dams.datasets.eicu.simulator import simulate_eicu
from dams.experiments import config

ROOT = Path(__file__).parents[1]


@pytest.fixture
def written(tmp_path):
    path = tmp_path / "mine.yaml"
    raw = {
        "name": "mine",
        "studies": {
            "one": {
                "datasets": ["redundant", "digits"],
                "regimes": [{"kind": "free"}],
                "models": {"linear": {"draws": 3}, "xgboost": {"draws": 2}},
                "methods": ["oracle", "source"],
            }
        },
        "block_size": {"linear": 2},
    }
    path.write_text(yaml.safe_dump(raw))
    return path


def test_check_says_what_would_run(written, capsys):
    assert main(["check", str(written)]) == 0
    told = capsys.readouterr().out
    # Two data sets with three draws; the linear ones in two jobs each.
    assert "one: 6 cells in 6 jobs, on redundant, digits" in told
    assert "results/mine/" in told


def test_check_names_mistakes_and_fails(written, capsys):
    written.write_text(written.read_text().replace("regimes", "regimen"))
    assert main(["check", str(written)]) == 1
    told = capsys.readouterr().err
    assert f"{written} has 2 mistake(s)" in told
    assert "studies.one.regimen: unknown key; did you mean 'regimes'?" in told


def test_check_of_a_file_that_is_not_there(tmp_path, capsys):
    assert main(["check", str(tmp_path / "none.yaml")]) == 1
    assert "none.yaml" in capsys.readouterr().err


def test_check_of_broken_yaml(tmp_path, capsys):
    (tmp_path / "broken.yaml").write_text("name: [")
    assert main(["check", str(tmp_path / "broken.yaml")]) == 1
    assert "broken.yaml is not YAML" in capsys.readouterr().err


@pytest.fixture
def with_table(written, tmp_path, monkeypatch):
    """A configuration with an own table, and a function that writes the table."""
    monkeypatch.chdir(tmp_path)
    raw = yaml.safe_load(written.read_text())
    raw["datasets"] = {"clinic": {"path": "clinic.csv", "numeric": ["age", "same"], "binary": ["smoker"]}}
    raw["studies"]["one"]["datasets"] = ["clinic"]
    written.write_text(yaml.safe_dump(raw))

    def write(*lines):
        (tmp_path / "clinic.csv").write_text("\n".join(["age,same,smoker", *lines]) + "\n")

    write(*(f"{i},1,{i % 2}" for i in range(100)))
    return write


def test_check_opens_own_tables(written, with_table, capsys):
    assert main(["check", str(written)]) == 0
    assert (
        "clinic: clinic.csv has 100 rows × 2 columns; dropped: same hardly varies (standard deviation 0)"
    ) in capsys.readouterr().out


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["20,1,2"], "line 2, column 'smoker': got '2', expected 0 or 1"),
        (["20,1,1,"], "line 2: got 4 fields, expected 3 as in the header"),
        (["20,1,0", "30,2,1"], "clinic.csv has 2 rows, expected at least 50"),
    ],
)
def test_check_refuses_a_table_as_the_run_would(written, with_table, capsys, lines, message):
    with_table(*lines)
    assert main(["check", str(written)]) == 1
    told = capsys.readouterr()
    assert "datasets.clinic: clinic.csv" in told.err and message in told.err
    assert "is fine" not in told.out


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"path": "none.csv"}, "datasets.clinic: none.csv does not exist below"),
        ({"path": "."}, "datasets.clinic: . is a folder; expected a CSV file"),
        ({"numeric": ["aeg"]}, "datasets.clinic: clinic.csv has no column 'aeg'; it has 'age', 'same', 'smoker'"),
        ({"separator": ";"}, "Check the names and the separator, which is ';'"),
    ],
)
def test_check_refuses_a_table_that_is_named_wrongly(written, with_table, capsys, change, message):
    raw = yaml.safe_load(written.read_text())
    raw["datasets"]["clinic"] |= change
    written.write_text(yaml.safe_dump(raw))
    assert main(["check", str(written)]) == 1
    assert message in capsys.readouterr().err


def test_check_looks_for_the_folder_of_eicu(written, tmp_path, capsys):
    raw = yaml.safe_load(written.read_text())
    written.write_text(yaml.safe_dump(raw | {"eicu": {"source": "folder", "folder": str(tmp_path / "none")}}))
    assert main(["check", str(written)]) == 1
    assert f"eicu.folder: {tmp_path / 'none'} is not a folder" in capsys.readouterr().err
    (tmp_path / "none").mkdir()
    assert main(["check", str(written)]) == 1
    assert f"{tmp_path / 'none'} has no {tmp_path / 'none'}/FIDDLE_eicu/population" in capsys.readouterr().err
    simulate_eicu(tmp_path / "none", size="test")
    assert main(["check", str(written)]) == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"data_dir": "raw{x}"}, "data_dir: expected a path without { and }"),
        ({"eicu": {"folder": "a{b}c"}}, "eicu.folder: expected a path without { and }"),
        (
            {"datasets": {"own": {"path": "a{x}.csv", "numeric": ["a"]}}},
            "datasets.own.path: expected a path without",
        ),
    ],
)
def test_check_refuses_paths_that_snakemake_takes_for_patterns(written, capsys, change, message):
    written.write_text(yaml.safe_dump(yaml.safe_load(written.read_text()) | change))
    assert main(["check", str(written)]) == 1
    told = capsys.readouterr().err
    assert message in told
    assert "which Snakemake takes for a pattern, got '" in told and "rename the file or folder" in told


@pytest.mark.parametrize("command", ["check", "run"])
def test_a_name_that_a_file_has_is_refused(written, tmp_path, monkeypatch, capsys, command):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "Snakefile").touch()
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "mine").touch()
    assert main([command, str(written)]) == 1
    assert "name: results/mine is a file, expected a folder or nothing; choose another name" in capsys.readouterr().err
    (tmp_path / "results" / "mine").unlink()
    assert main(["check", str(written)]) == 0


def test_check_of_something_else_shows_only_its_beginning(tmp_path, capsys):
    (tmp_path / "table.csv").write_text("age,smoker\n" + "20,1\n" * 1000)
    assert main(["check", str(tmp_path / "table.csv")]) == 1
    assert len(capsys.readouterr().err) < 400


def test_schema_is_written_where_asked(tmp_path):
    assert main(["schema", str(tmp_path / "schema.json")]) == 0
    assert (tmp_path / "schema.json").read_text(encoding="utf-8") == config.schema()


def test_schema_goes_to_the_configurations_by_default(tmp_path, monkeypatch):
    (tmp_path / "config").mkdir()
    monkeypatch.chdir(tmp_path)
    assert main(["schema"]) == 0
    assert (tmp_path / "config" / "schema.json").exists()


def test_no_command_shows_the_usage(capsys):
    with pytest.raises(SystemExit):
        main([])
    assert "check" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["simulate-eicu", "x", "--strength", "5"], "--strength: strength of 'ucar' must lie in [0, 1], got 5."),
        (["simulate-eicu", "file", "--size", "test"], "file can't be written"),
        (["schema", "none/schema.json"], "none/schema.json can't be written"),
        (["report", "none"], "none is not a folder"),
        (["report", "empty"], "empty holds nothing of a run"),
    ],
)
def test_what_can_be_mended_is_a_sentence(tmp_path, monkeypatch, capsys, arguments, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").touch()
    assert main(arguments) == 1
    assert message in capsys.readouterr().err
    assert not list((tmp_path / "empty").iterdir())


@pytest.mark.parametrize("module", ["dams", "dams.cli"])
def test_the_command_can_be_run_as_a_module(module):
    answer = subprocess.run([sys.executable, "-m", module, "--version"], capture_output=True, text=True, check=True)
    assert answer.stdout == f"dams {dams.__version__}\n"


def test_a_reader_that_has_had_enough_is_no_error():
    command = [sys.executable, "-m", "dams.cli", "check", str(ROOT / "config" / "smoke.yaml")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        child.stdout.close()
        told = child.stderr.read()
        assert child.wait(60) == 141
    assert told == ""


def test_characters_that_a_terminal_cannot_show_are_no_reason_to_fail():
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    command = [sys.executable, "-m", "dams", "check", "config/examples/own_table.yaml"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, env=os.environ | plain, check=False)
    assert done.returncode == 0, done.stderr
    assert b"own_table.yaml is fine" in done.stdout


def test_every_argument_is_explained():
    (commands,) = [action for action in make_parser()._actions if isinstance(action, argparse._SubParsersAction)]
    for name, command in commands.choices.items():
        assert all(action.help for action in command._actions), name


def test_what_is_not_installed_is_named():
    """`pip install .` brings the estimators alone."""
    script = (
        "import sys; sys.modules['pydantic'] = None; from dams.cli import main; sys.exit(main(['check', 'x.yaml']))"
    )
    answer = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert answer.returncode == 1
    assert answer.stderr.startswith("`dams check` needs pydantic, which is not installed: `pip install --editable")


def test_an_interruption_is_a_line(monkeypatch, capsys):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("dams.two_files.comparison.read_pair", interrupted)
    assert main(["compare", "a.csv", "b.csv"]) == 130
    assert capsys.readouterr().err == "\n`dams compare` was interrupted.\n"
