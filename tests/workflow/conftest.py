"""A copy of the project to run Snakemake in, and folders that are filled once, whichever worker comes first."""

import fcntl
import os

import pytest
from projects import Project


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path)


@pytest.fixture(scope="session")
def filled_once(tmp_path_factory):
    """A folder of this name, which one of the workers fills while the others that ask for it wait."""
    base = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        base = base.parent

    def filled(name, fill):
        folder, done = base / name, base / f"{name}.done"
        with open(base / f"{name}.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not done.exists():
                folder.mkdir()
                fill(folder)
                done.touch()
        return folder

    return filled
