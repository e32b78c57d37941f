import hashlib
import io
import zipfile

import pytest
from loopback import send, status
from psv_files import PATIENTS

from dams.cli import main
from dams.datasets import download_sepsis, load_sepsis
from dams.datasets.physionet import DownloadError
from dams.datasets.sepsis import download as module

FILES = "/files/challenge-2019/1.0.0/"
ARCHIVE = "/content/challenge-2019/get-zip/1.0.0/"
ONE = "training_setA/p000002.psv"


def listed(patients=PATIENTS):
    lines = [f"{hashlib.sha256(content).hexdigest()}  training/{name}" for name, content in patients.items()]
    return "\n".join([*lines, f"{'0' * 64}  LICENSE.txt"]).encode()


def zipped(patients=PATIENTS):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        for name, content in patients.items():
            file.writestr(f"challenge-2019-1.0.0/training/{name}", content)
    return buffer.getvalue()


@pytest.fixture
def physionet(site, monkeypatch):
    monkeypatch.setattr(module, "PATIENTS", {"A": 4, "B": 2})
    site.answers[f"{FILES}SHA256SUMS.txt"] = [send(listed())]
    for name, content in PATIENTS.items():
        site.answers[f"{FILES}training/{name}"] = [send(content)]
    site.answers[ARCHIVE] = [send(zipped())]
    return site


def download(site, folder, **options):
    return download_sepsis(folder, base_url=f"{site.url}/", **{"pause": lambda seconds: None} | options)


def test_files_are_fetched_checked_and_read(physionet, tmp_path):
    found = download(physionet, tmp_path, connections=3)
    assert len(load_sepsis(tmp_path).y) == 4
    assert found.files == 6 and len(found.checksums) == 64
    assert str(tmp_path) not in str(found.as_record()) or found.path.name == tmp_path.name


def test_what_is_in_place_is_not_fetched_again(physionet, tmp_path):
    first = download(physionet, tmp_path)
    (tmp_path / ONE).unlink()
    physionet.requests.clear()
    assert download(physionet, tmp_path) == first
    assert [path for path in physionet.requests if "psv" in path] == [f"{FILES}training/{ONE}"]


def test_a_damaged_copy_is_replaced(physionet, tmp_path):
    download(physionet, tmp_path)
    (tmp_path / ONE).write_bytes(b"damaged")
    download(physionet, tmp_path)
    assert (tmp_path / ONE).read_bytes() == PATIENTS[ONE]


def test_a_failure_that_passes_is_tried_again(physionet, tmp_path):
    content = PATIENTS[ONE]
    physionet.answers[f"{FILES}training/{ONE}"] = [status(503), send(content[:50], claimed=len(content)), send(content)]
    download(physionet, tmp_path)
    assert (tmp_path / ONE).read_bytes() == content


@pytest.mark.parametrize("answer", [status(404), send(b"something else")])
def test_a_file_that_can_not_be_had_is_named(physionet, tmp_path, answer):
    physionet.answers[f"{FILES}training/{ONE}"] = [answer]
    with pytest.raises(DownloadError, match=r"p000002\.psv"):
        download(physionet, tmp_path, attempts=2)
    assert not (tmp_path / ONE).exists()


def test_a_list_that_is_cut_off_is_refused(physionet, tmp_path):
    short = dict(list(PATIENTS.items())[1:])
    physionet.answers[f"{FILES}SHA256SUMS.txt"] = [send(listed(short))]
    with pytest.raises(DownloadError, match="names 3 files of training_setA, expected 4"):
        download(physionet, tmp_path)
    assert not list(tmp_path.iterdir())


def test_the_archive_is_checked_member_by_member(physionet, tmp_path):
    found = download(physionet, tmp_path, archive=True)
    assert len(load_sepsis(found.path).y) == 4
    assert found.checksums == download(physionet, tmp_path / "files").checksums


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (zipped(PATIENTS | {ONE: b"another"}), f"holds another {ONE} than the publisher lists"),
        (zipped({name: text for name, text in PATIENTS.items() if name != ONE}), f"has no {ONE}"),
        (b"rubbish", "is no zip archive"),
    ],
)
def test_a_bad_archive_is_refused_and_removed(physionet, tmp_path, content, message):
    physionet.answers[ARCHIVE] = [send(content)]
    with pytest.raises(DownloadError, match=message):
        download(physionet, tmp_path, archive=True)
    assert not list(tmp_path.iterdir())


def test_no_account_is_sent(physionet, tmp_path, monkeypatch):
    monkeypatch.setenv("PHYSIONET_USERNAME", "ada")
    monkeypatch.setenv("PHYSIONET_PASSWORD", "secret")
    seen = []
    answer = physionet.answers[f"{FILES}training/{ONE}"][0]

    def look(handler):
        seen.append(handler.headers.get("Authorization"))
        answer(handler)

    physionet.answers[f"{FILES}training/{ONE}"] = [look]
    download(physionet, tmp_path)
    assert seen == [None]


def test_bad_arguments_are_named(tmp_path):
    with pytest.raises(ValueError, match="connections >= 1"):
        download_sepsis(tmp_path, connections=0)
    with pytest.raises(ValueError, match="https"):
        download_sepsis(tmp_path, base_url="http://example.org/")


def test_the_command_downloads_and_says_what_failed(physionet, tmp_path, monkeypatch, capsys):
    defaults = module.download_sepsis.__kwdefaults__ | {"base_url": f"{physionet.url}/"}
    monkeypatch.setattr(module.download_sepsis, "__kwdefaults__", defaults)
    assert main(["download-sepsis", str(tmp_path), "--archive"]) == 0
    assert "6 patients" in capsys.readouterr().out
    physionet.answers[f"{FILES}training/{ONE}"] = [status(404)]
    assert main(["download-sepsis", str(tmp_path / "files")]) != 0
    assert "p000002.psv" in capsys.readouterr().err
