"""The command `dams`: it checks configurations and keeps the schema."""

import pytest
import yaml

from dams.cli import main
from dams.experiments import config


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
