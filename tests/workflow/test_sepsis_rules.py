"""The two hospitals in the pipeline: downloaded, or read where a copy lies."""

import re

import pytest

from dams.experiments.config import parse
from dams.experiments.config.mistakes import ConfigError
from dams.experiments.inputs import describe_inputs, sepsis_folder, sepsis_inputs, without_absent_hospitals

pytestmark = pytest.mark.workflow


def planned(project, *targets):
    """Rules that Snakemake would run, from its table of jobs."""
    answer = project.run(*targets, "--dry-run", config="config/sepsis.yaml")
    assert answer.returncode == 0, answer.stdout
    return set(re.findall(r"^(\w+) +\d+$", answer.stdout, flags=re.MULTILINE)) - {"total"}


def test_the_data_are_downloaded_unless_a_copy_is_named(project, monkeypatch):
    monkeypatch.delenv("DAMS_SEPSIS_DIR", raising=False)
    own = {"mask_sepsis", "run_sepsis", "report_sepsis", "write_provenance", "write_report"}
    assert planned(project) == {"default", "download_sepsis", *own}

    assert planned(project, "download") == {"download", "download_sepsis"}

    copy = project.folder / "copy.zip"
    copy.touch()
    monkeypatch.setenv("DAMS_SEPSIS_DIR", str(copy))
    assert planned(project) == {"default", *own}
    assert planned(project, "download") == set()


def test_an_optional_part_is_left_out_where_there_is_no_copy(tmp_path, monkeypatch):
    monkeypatch.delenv("DAMS_SEPSIS_DIR", raising=False)
    place = tmp_path / "hospitals"
    run = parse({"name": "one", "studies": {}, "sepsis": {"source": "if_there", "folder": str(place)}})
    assert without_absent_hospitals(run).sepsis is None
    place.mkdir()
    (place / "challenge.zip").touch()
    assert without_absent_hospitals(run) == run
    monkeypatch.setenv("DAMS_SEPSIS_DIR", str(tmp_path / "nowhere"))
    assert without_absent_hospitals(run).sepsis is None
    asked = parse({"name": "one", "studies": {}, "sepsis": {"source": "physionet", "folder": str(place)}})
    assert without_absent_hospitals(asked) == asked


@pytest.mark.parametrize("first", ["A", "AB"])
def test_a_download_that_was_interrupted_is_no_copy(tmp_path, monkeypatch, first):
    monkeypatch.delenv("DAMS_SEPSIS_DIR", raising=False)
    monkeypatch.setattr("dams.experiments.inputs.PATIENTS", {"A": 2, "B": 1})
    run = parse({"name": "one", "studies": {}, "sepsis": {"source": "if_there", "folder": str(tmp_path)}})
    for number, hospital in enumerate(first):
        folder = tmp_path / f"training_set{hospital}"
        folder.mkdir()
        (folder / f"p00000{number}.psv").touch()
    (folder / "p000009.psv.part").touch()
    told = f"{tmp_path} holds {len(first)} of 3 patient files. Resume the download: dams.datasets.download_sepsis("
    assert without_absent_hospitals(run).sepsis is None
    (line,) = describe_inputs(run)
    assert line.startswith(f"The two hospitals are left out. sepsis.folder: {told}")
    with pytest.raises(ConfigError, match=re.escape(told)):
        sepsis_inputs(str(tmp_path))
    for hospital, names in {"A": ["p000000", "p000001"], "B": ["p100000"]}.items():
        folder = tmp_path / f"training_set{hospital}"
        folder.mkdir(exist_ok=True)
        for path in (folder / f"{name}.psv" for name in names):
            path.touch()
    assert len(sepsis_inputs(str(tmp_path))) == 2
    assert without_absent_hospitals(run) == run
    assert describe_inputs(run) == []


def test_a_run_says_why_it_is_without_the_hospitals(project, monkeypatch):
    monkeypatch.delenv("DAMS_SEPSIS_DIR", raising=False)
    folder = project.folder / "data/sepsis/training_setA"
    folder.mkdir(parents=True)
    (folder / "p000001.psv").touch()
    project.configure({"name": "one", "studies": {}, "theory": True, "sepsis": {"source": "if_there"}})
    answer = project.run("download", "--dry-run")
    assert answer.stdout.count("sepsis.folder: data/sepsis holds 1 of 40,336 patient files") == 1


def test_a_folder_of_the_configuration_goes_before_that_of_the_environment(project, tmp_path, monkeypatch):
    """The variable stands in place of a download, and messages say which of the two is meant."""
    monkeypatch.setenv("DAMS_SEPSIS_DIR", "elsewhere")
    for source, folder in (("physionet", "elsewhere"), ("if_there", "elsewhere"), ("folder", "mine")):
        run = parse({"name": "one", "studies": {}, "sepsis": {"source": source, "folder": "mine"}})
        assert sepsis_folder(run.sepsis)[0] == folder
    told = "sepsis.folder: mine: no such file or folder"
    with pytest.raises(ConfigError, match=told):
        describe_inputs(run)
    project.configure(run.model_dump(mode="json"))
    assert told in project.run("--dry-run").stdout
    answer = project.run("--dry-run", config="config/sepsis.yaml")
    assert "DAMS_SEPSIS_DIR: elsewhere: no such file or folder" in answer.stdout


def test_a_folder_without_the_data_is_named(tmp_path):
    with pytest.raises(ConfigError, match=r"sepsis\.folder: .*nowhere: no such file or folder"):
        sepsis_inputs(str(tmp_path / "nowhere"))
    archive = tmp_path / "challenge.tar.xz"
    archive.touch()
    assert sepsis_inputs(str(tmp_path)) == [str(archive)]
