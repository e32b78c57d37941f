"""`snakemake --sdm conda` with a stand-in for conda, which answers Snakemake and runs the real pip as conda does."""

import re
import sys

import pytest

pytestmark = pytest.mark.workflow

RECORDS = "results/tiny/records.csv"
# The environment it makes is this one under another path, which is all that jobs could tell.
CONDA = """#!{python}
import json, subprocess, sys
from pathlib import Path
import yaml

arguments = sys.argv[1:]
if arguments == ["--version"]:
    print("conda 25.1.0")
elif arguments[0] == "info":
    print(json.dumps({{"conda_prefix": "{prefix}", "platform": "linux-64"}}))
elif arguments[0] == "config":
    print(json.dumps({{"get": {{"channel_priority": "strict"}}}}))
elif arguments[:2] == ["env", "create"]:
    options = dict(zip(arguments, arguments[1:]))
    file, environment = Path(options["--file"]).resolve(), Path(options["--prefix"])
    lines = yaml.safe_load(file.read_text(encoding="utf-8"))["dependencies"][-1]["pip"]
    requirements = file.with_suffix(".requirements.txt")
    requirements.write_text("\\n".join(lines))
    pip = [sys.executable, "-m", "pip", "install", "--dry-run", "--no-index", "--no-deps", "--no-build-isolation"]
    subprocess.run([*pip, "-r", requirements], cwd=file.parent, check=True)
    (environment / "bin").mkdir(parents=True)
    python = environment / "bin" / "python"
    python.write_text('#!/bin/sh\\nexec {python} "$@"\\n')
    python.chmod(0o755)
"""
ACTIVATE = 'export PATH="$1/bin:$PATH" ACTIVATED="$1"\n'
# Says which dams a job in the environment has imported.
TELL = """
import os

if "ACTIVATED" in os.environ:
    with open("imported.txt", "a", encoding="utf-8") as stream:
        stream.write(f"{__file__}\\n")
"""


@pytest.fixture
def conda(tmp_path_factory):
    """Folder of the stand-in."""
    folder = tmp_path_factory.mktemp("conda")
    (folder / "bin").mkdir()
    (folder / "bin" / "conda").write_text(CONDA.format(python=sys.executable, prefix=folder))
    (folder / "bin" / "conda").chmod(0o755)
    (folder / "bin" / "activate").write_text(ACTIVATE)
    return folder / "bin"


def run(project, conda, *arguments):
    command = project.command(*arguments, "--sdm", "conda")
    del command["env"]["PYTHONPATH"]
    command["env"]["PATH"] = f"{conda}:{command['env']['PATH']}"
    return project.finish(command)


def test_jobs_run_in_the_environment_with_the_dams_of_the_folder(project, conda):
    study = {"datasets": ["redundant"], "rows": 60, "regimes": [{"kind": "free"}], "methods": ["oracle", "source"]}
    project.configure({"name": "tiny", "studies": {"one": study | {"models": {"linear": {"draws": 1}}}}})
    answer = run(project, conda, "--conda-create-envs-only")
    assert answer.returncode == 0, answer.stdout
    assert len(re.findall(r"Environment for .*envs/dams.yml created", answer.stdout)) == 1, answer.stdout

    records = project.folder / "dams" / "experiments" / "records.py"
    with open(records, "a", encoding="utf-8") as stream:
        stream.write(TELL)
    answer = run(project, conda, RECORDS)
    assert answer.returncode == 0, answer.stdout
    assert (project.folder / RECORDS).exists()
    assert set((project.folder / "imported.txt").read_text(encoding="utf-8").split()) == {str(records)}
