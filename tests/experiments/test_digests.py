"""What jobs vouch for: written when a job is done, read with care, and compared with what is there."""

import shutil
import subprocess
from types import SimpleNamespace

import pytest

from dams.experiments.digests import read_digests, recorded, refuse_altered, write_digests


class Outputs(list):
    """A list with names, as Snakemake gives to a script."""

    def __init__(self, digests, *files):
        super().__init__([*map(str, files), str(digests)])
        self.digests = str(digests)


@pytest.fixture
def run(tmp_path):
    """A job with a file and a folder."""
    (tmp_path / "cohort" / "inner").mkdir(parents=True)
    digests = tmp_path / "digests" / "job.sha256"
    with recorded(Outputs(digests, tmp_path / "table.csv", tmp_path / "cohort")):
        (tmp_path / "table.csv").write_text("1\n")
        (tmp_path / "cohort" / "inner" / "a.npz").write_bytes(b"\x00")
        assert not digests.exists()
    return SimpleNamespace(folder=tmp_path, digests=digests, table=tmp_path / "table.csv")


def test_a_job_vouches_for_its_files_and_for_all_in_its_folders(run):
    known = read_digests([run.digests])
    assert set(known) == {"table.csv", "cohort/inner/a.npz"}
    refuse_altered(run.folder, [run.table], known)


@pytest.mark.skipif(not shutil.which("sha256sum"), reason="needs sha256sum")
def test_the_file_is_one_that_sha256sum_reads(run):
    command = ["sha256sum", "--check", "--strict", "digests/job.sha256"]
    assert subprocess.run(command, cwd=run.folder, capture_output=True, check=False).returncode == 0
    run.table.write_text("2\n")
    assert subprocess.run(command, cwd=run.folder, capture_output=True, check=False).returncode == 1


def test_a_job_that_fails_vouches_for_nothing(tmp_path):
    with pytest.raises(OSError, match="full"), recorded(Outputs(tmp_path / "digests" / "job.sha256")):
        raise OSError("full")
    assert not (tmp_path / "digests").exists()


def test_what_is_not_as_it_was_written_is_refused_by_name(run):
    known = read_digests([run.digests])
    run.table.write_text("2\n")
    with pytest.raises(ValueError, match=r"table\.csv is damaged: it is not what its job wrote: expected .*Delete the"):
        refuse_altered(run.folder, [run.table], known)
    with pytest.raises(ValueError, match=r"table\.csv is damaged: its job left no SHA-256 of it"):
        refuse_altered(run.folder, [run.table], {})


@pytest.mark.parametrize(
    "line",
    ["", "rubbish", f"{'a' * 63}  table.csv", f"{'a' * 64} table.csv", f"{'a' * 64}  /etc/passwd", f"{'a' * 64}  ../a"],
)
def test_a_damaged_list_is_refused_by_name(tmp_path, line):
    path = tmp_path / "job.sha256"
    path.write_text(f"{'b' * 64}  good.csv\n{line}\n")
    with pytest.raises(ValueError, match=r"job\.sha256 is damaged: line 2: expected a SHA-256"):
        read_digests([path])
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(ValueError, match=r"job\.sha256 is damaged"):
        read_digests([path])


def test_digests_lie_two_levels_below_the_run(tmp_path):
    path = tmp_path / "results" / "mine" / "digests" / "one.sha256"
    path.parent.mkdir(parents=True)
    (tmp_path / "results" / "mine" / "a.csv").write_text("a")
    write_digests(path, [tmp_path / "results" / "mine" / "a.csv"])
    assert list(read_digests([path])) == ["a.csv"]
