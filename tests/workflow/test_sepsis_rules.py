"""The two hospitals in the pipeline: downloaded, or read where a copy lies."""

import re

import pytest

from dams.experiments.config import parse
from dams.experiments.config.mistakes import ConfigError
from dams.experiments.inputs import describe_inputs, sepsis_folder, sepsis_inputs, without_absent_hospitals

pytestmark = pytest.mark.workflow


def planned(project):
    """Rules that Snakemake would run, from its table of jobs."""
    answer = project.run("--dry-run", config="config/sepsis.yaml")
    assert answer.returncode == 0, answer.stdout
    return set(re.findall(r"^(\w+) +\d+$", answer.stdout, flags=re.MULTILINE)) - {"total"}


def test_the_data_are_downloaded_unless_a_copy_is_named(project, monkeypatch):
    monkeypatch.delenv("DAMS_SEPSIS_DIR", raising=False)
    own = {"mask_sepsis", "run_sepsis", "report_sepsis", "write_provenance", "write_report"}
    assert planned(project) == {"default", "download_sepsis", *own}

    copy = project.folder / "copy"
    for hospital in "AB":
        (copy / f"training_set{hospital}").mkdir(parents=True)
    monkeypatch.setenv("DAMS_SEPSIS_DIR", str(copy))
    assert planned(project) == {"default", *own}


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
