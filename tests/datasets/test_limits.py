"""Servers that never end, send a byte at a time, unfold to gigabytes or send a page: given up, with the reason."""

import gzip
import stat
import time

import pytest
from loopback import Site, raw_file, send, status, zipped

from dams.datasets import physionet, transfer
from dams.datasets.eicu.physionet import (
    EICU_PROJECT,
    FIDDLE_PROJECT,
    Credentials,
    DownloadError,
    download_eicu,
    eicu_files,
)
from dams.datasets.uci import transports
from dams.datasets.uci.transports import OriginError, read_archive, zip_member

PAGE = b"\n <!DOCTYPE html><html><body>Please log in</body></html>"
BOMB = zipped({"toy.csv": bytes(3_000_000)})
FILE = raw_file("toy.csv", b"1,2\n")


def endless(handler):
    """Zeros as long as somebody listens, without saying how many."""
    handler.send_response(200)
    handler.end_headers()
    while True:
        handler.wfile.write(bytes(1 << 16))


def dripping(handler):
    """A byte now and then, of many that were announced."""
    handler.send_response(200)
    handler.send_header("Content-Length", "1000000")
    handler.end_headers()
    for _ in range(200):
        handler.wfile.write(b"x")
        handler.wfile.flush()
        time.sleep(0.02)


def compressed(content):
    """The content, compressed though nobody asked for it."""

    def answer(handler):
        body = gzip.compress(content)
        handler.send_response(200)
        handler.send_header("Content-Encoding", "gzip")
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    return answer


@pytest.fixture
def site():
    site = Site()
    yield site
    site.close()


@pytest.fixture(autouse=True)
def small_limits(monkeypatch):
    monkeypatch.setattr(transports, "_MOST_BYTES", 1_000_000)
    monkeypatch.setattr(physionet, "_MOST_BYTES", 1_000_000)
    monkeypatch.setattr(physionet, "_MOST_SUMS", 100_000)
    monkeypatch.setattr(physionet, "_TIMEOUT", (5, 0.3))
    monkeypatch.setattr(transfer, "SLOWEST", 10_000)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (endless, "more than 1,000,000 bytes came"),
        (dripping, r"bytes came in \d+ s, which is too slow"),
        (compressed(bytes(3_000_000)), "more than 1,000,000 bytes came"),
        (send(BOMB), "its member 'toy.csv' holds more than 1,000,000 bytes"),
        (send(PAGE, content_type="text/html"), "the server sent a web page in place of the archive"),
        (send(PAGE), "the server sent a web page in place of the archive"),
    ],
    ids=["endless", "slow", "compressed", "zip bomb", "page", "page as data"],
)
def test_an_archive_that_is_none(site, answer, reason):
    site.answers["/toy.zip"] += [answer]
    began = time.perf_counter()
    with pytest.raises(OriginError, match=reason):
        read_archive([FILE], f"{site.url}/toy.zip", timeout=0.3, retries=2, backoff=0.001)
    assert time.perf_counter() - began < 20
    assert len(site.requests) == 1


def test_the_size_in_a_header_of_a_zip_archive_is_not_believed():
    content = bytearray(BOMB)
    size = (3_000_000).to_bytes(4, "little")
    while size in content:
        content[content.index(size) : content.index(size) + 4] = (10).to_bytes(4, "little")
    with pytest.raises(OriginError):
        zip_member(bytes(content), ("toy.csv",))


def test_an_archive_as_it_should_be_is_read_however_it_is_sent(site):
    site.answers["/toy.zip"] += [compressed(zipped({"toy.csv": b"1,2\n"}))]
    found = read_archive([FILE], f"{site.url}/toy.zip", timeout=1, retries=0, backoff=0)
    assert found == {"toy.csv": b"1,2\n"}


def download(site, folder):
    account = Credentials("ada", "secret")
    return download_eicu(folder, credentials=account, base_url=site.url, attempts=2, pause=lambda seconds: None)


@pytest.fixture
def physionet_site(site):
    """All files, small, and no checksums."""
    for remote in eicu_files().values():
        site.answers[f"/{remote}"] += [send(b"1,2\n")]
    for project in (FIDDLE_PROJECT, EICU_PROJECT):
        site.answers[f"/{project}SHA256SUMS.txt"] += [status(404)]
    return site


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (endless, "more than 1,000,000 bytes came"),
        (dripping, "which is too slow"),
        (send(PAGE), "The server sent a web page in place of"),
    ],
    ids=["endless", "slow", "page"],
)
def test_a_file_of_eicu_that_is_none(physionet_site, tmp_path, answer, reason):
    local, remote = next(iter(eicu_files().items()))
    physionet_site.answers[f"/{remote}"][:] = [answer]
    with pytest.raises(DownloadError, match=reason):
        download(physionet_site, tmp_path)
    assert not (tmp_path / local).exists()


@pytest.mark.parametrize("answer", [endless, compressed(bytes(3_000_000))], ids=["endless", "compressed"])
def test_checksums_without_end(physionet_site, tmp_path, answer):
    physionet_site.answers[f"/{FIDDLE_PROJECT}SHA256SUMS.txt"][:] = [answer]
    with pytest.raises(DownloadError, match="more than 100,000 bytes came"):
        download(physionet_site, tmp_path)


def test_credentialed_files_lie_where_nobody_else_may_look(physionet_site, tmp_path):
    (tmp_path / "eicu" / "FIDDLE_eicu").mkdir(parents=True)
    (tmp_path / "eicu" / "FIDDLE_eicu").chmod(0o755)
    for file in download(physionet_site, tmp_path / "eicu"):
        top = file.path.relative_to(tmp_path / "eicu").parts[0]
        assert stat.S_IMODE((tmp_path / "eicu" / top).stat().st_mode) == 0o700
