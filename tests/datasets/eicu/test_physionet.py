import base64
import hashlib
import logging
import traceback

import pytest
from loopback import Site, status

from dams.datasets.eicu.physionet import (
    EICU_PROJECT,
    FIDDLE_PROJECT,
    Credentials,
    DownloadError,
    download_eicu,
    eicu_files,
    find_credentials,
)

NAME, PASSWORD = "ada.physionet", "corréct horse:battery"
TOKEN = base64.b64encode(f"{NAME}:{PASSWORD}".encode()).decode()
BIG = f"{FIDDLE_PROJECT}FIDDLE_eicu/features/mortality_48h/X.npz"
CONTENT = {
    remote: (f"content of {local}\n".encode() * (20_000 if remote == BIG else 1))
    for local, remote in eicu_files().items()
}


def locked(content, *, breaks_after=None, ignores_range=False):
    """Serve content to those who know the password, ranges too; or break off after so many bytes."""

    def answer(handler):
        handler.server.seen.append((handler.path, dict(handler.headers)))
        if handler.headers.get("Authorization") != f"Basic {TOKEN}":
            return status(401, **{"WWW-Authenticate": 'Basic realm="PhysioNet"'})(handler)
        start = 0
        if "Range" in handler.headers and not ignores_range:
            start = int(handler.headers["Range"].removeprefix("bytes=").removesuffix("-"))
            if start >= len(content):
                return status(416, **{"Content-Range": f"bytes */{len(content)}"})(handler)
        handler.send_response(206 if start else 200)
        if start:
            handler.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        handler.send_header("Content-Length", str(len(content) - start))
        handler.end_headers()
        handler.wfile.write(content[start:] if breaks_after is None else content[start : start + breaks_after])

    return answer


def sums(project):
    lines = [
        f"{hashlib.sha256(content).hexdigest()} {remote.removeprefix(project)}"
        for remote, content in CONTENT.items()
        if remote.startswith(project)
    ]
    return "\n".join(["", *lines, "<html>"]).encode()


@pytest.fixture
def physionet(site):
    site.server.seen = []
    for remote, content in CONTENT.items():
        site.answers[f"/files/{remote}"] = [locked(content)]
    for project in (FIDDLE_PROJECT, EICU_PROJECT):
        site.answers[f"/files/{project}SHA256SUMS.txt"] = [locked(sums(project))]
    return site


def asked(site, remote):
    return [headers.get("Range") for path, headers in site.server.seen if path == f"/files/{remote}"]


def download(site, folder, **options):
    pauses = []
    options = {"credentials": Credentials(NAME, PASSWORD), "pause": pauses.append} | options
    return download_eicu(folder, base_url=f"{site.url}/files/", **options), pauses


def check_complete(folder):
    found = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    assert found == set(eicu_files())
    for local, remote in eicu_files().items():
        assert (folder / local).read_bytes() == CONTENT[remote]


def test_downloads_what_the_loader_needs(physionet, tmp_path):
    records, pauses = download(physionet, tmp_path)
    check_complete(tmp_path)
    assert pauses == [] and len(records) == 8 and all(record.verified for record in records)
    by_path = {str(record.path.relative_to(tmp_path)): record for record in records}
    patients = by_path["eicu-crd/2.0/patient.csv.gz"]
    assert patients.url == f"{physionet.url}/files/eicu-crd/2.0/patient.csv.gz"
    assert patients.sha256 == hashlib.sha256(CONTENT["eicu-crd/2.0/patient.csv.gz"]).hexdigest()


def test_files_in_place_are_not_fetched_again(physionet, tmp_path):
    download(physionet, tmp_path)
    physionet.server.seen.clear()
    records, _ = download(physionet, tmp_path)
    assert all("SHA256SUMS" in path for path, _ in physionet.server.seen) and len(records) == 8


def test_a_changed_file_is_fetched_again(physionet, tmp_path):
    download(physionet, tmp_path)
    path = tmp_path / "FIDDLE_eicu/population/mortality_48h.csv"
    path.write_text("spoilt")
    download(physionet, tmp_path)
    check_complete(tmp_path)


def test_a_broken_transfer_resumes_where_it_stopped(physionet, tmp_path):
    half = 1 << 18
    physionet.answers[f"/files/{BIG}"] = [locked(CONTENT[BIG], breaks_after=half), locked(CONTENT[BIG])]
    _, pauses = download(physionet, tmp_path)
    check_complete(tmp_path)
    assert asked(physionet, BIG) == [None, f"bytes={half}-"] and pauses == [2.0]


def test_a_later_run_resumes_what_an_earlier_one_left(physionet, tmp_path):
    half = 1 << 17
    physionet.answers[f"/files/{BIG}"] = [locked(CONTENT[BIG], breaks_after=half)]
    with pytest.raises(DownloadError, match=r"X\.npz could not be downloaded: the connection failed .*Try again later"):
        download(physionet, tmp_path, attempts=1)
    target = tmp_path / "FIDDLE_eicu/features/mortality_48h/X.npz"
    assert not target.exists() and target.with_name("X.npz.part").stat().st_size == half
    physionet.answers[f"/files/{BIG}"] = [locked(CONTENT[BIG])]
    download(physionet, tmp_path)
    check_complete(tmp_path)
    assert asked(physionet, BIG)[-1] == f"bytes={half}-"


def test_without_checksums_a_part_of_unknown_origin_is_not_resumed(physionet, tmp_path):
    for project in (FIDDLE_PROJECT, EICU_PROJECT):
        del physionet.answers[f"/files/{project}SHA256SUMS.txt"]
    part = tmp_path / "FIDDLE_eicu/features/mortality_48h/X.npz.part"
    part.parent.mkdir(parents=True)
    part.write_bytes(b"another version")
    records, _ = download(physionet, tmp_path)
    check_complete(tmp_path)
    assert asked(physionet, BIG) == [None] and not any(record.verified for record in records)


@pytest.mark.parametrize("left", [b"x" * 10, CONTENT[BIG], CONTENT[BIG] + b"surplus"])
def test_a_part_that_does_not_fit_is_found_out(physionet, tmp_path, left):
    part = tmp_path / "FIDDLE_eicu/features/mortality_48h/X.npz.part"
    part.parent.mkdir(parents=True)
    part.write_bytes(left)
    download(physionet, tmp_path)
    check_complete(tmp_path)


def test_a_server_without_ranges_starts_again(physionet, tmp_path):
    first = locked(CONTENT[BIG], breaks_after=1 << 17)
    physionet.answers[f"/files/{BIG}"] = [first, locked(CONTENT[BIG], ignores_range=True)]
    download(physionet, tmp_path)
    check_complete(tmp_path)


def test_wrong_content_is_never_put_in_place(physionet, tmp_path):
    physionet.answers[f"/files/{BIG}"] = [locked(b"something else")]
    with pytest.raises(DownloadError, match=r"X\.npz could not be downloaded: its SHA-256 is .*, the published one"):
        download(physionet, tmp_path, attempts=2)
    assert not list(tmp_path.rglob("X.npz*"))


def test_a_busy_server_is_asked_again(physionet, tmp_path):
    physionet.answers[f"/files/{BIG}"] = [status(503), status(429), locked(CONTENT[BIG])]
    _, pauses = download(physionet, tmp_path)
    check_complete(tmp_path)
    assert pauses == [2.0, 4.0]


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (status(403), r"may not read .*X\.npz.*https://physionet.org/content/mimic-eicu-fiddle-feature/1.0.0/"),
        (status(404), r"answered 404 for .*X\.npz. Check base_url"),
        (status(302, Location="/login/?next=/files/"), "wants a login in the browser instead"),
        (status(302, Location="X.npz"), "redirects in circles"),
    ],
)
def test_refusals_say_what_to_do(physionet, tmp_path, answer, message):
    physionet.answers[f"/files/{BIG}"] = [answer]
    with pytest.raises(DownloadError, match=message):
        download(physionet, tmp_path)


def test_the_account_is_not_sent_to_another_host(physionet, tmp_path, monkeypatch):
    # Nor another account, which requests would take from the user's netrc.
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login someone password else")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    elsewhere = Site()
    received = []

    def serve(handler):
        received.append(dict(handler.headers))
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(CONTENT[BIG])))
        handler.end_headers()
        handler.wfile.write(CONTENT[BIG])

    elsewhere.answers["/store/X.npz"] = [serve]
    physionet.answers[f"/files/{BIG}"] = [status(302, Location=f"{elsewhere.url}/store/X.npz")]
    try:
        download(physionet, tmp_path / "eicu")
    finally:
        elsewhere.close()
    check_complete(tmp_path / "eicu")
    assert len(received) == 1 and "Authorization" not in received[0]


def chained(error):
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def test_nothing_ever_holds_the_password(physionet, tmp_path, caplog, capsys):
    """Refused, unreachable and successful logins: neither errors, logs, output, records nor files tell the account."""
    caplog.set_level(logging.DEBUG)
    written = []

    def attempt(credentials, site=physionet):
        try:
            written.append(repr(download(site, tmp_path / "eicu", credentials=credentials, attempts=2)))
        except DownloadError as error:
            for link in chained(error):
                frames = traceback.TracebackException.from_exception(link, capture_locals=True)
                written.extend(["".join(frames.format()), repr(link), repr(vars(link))])
            return str(error)
        return ""

    assert "refused the name or the password" in attempt(Credentials(NAME, PASSWORD + "!"))
    physionet.answers[f"/files/{BIG}"] = [locked(CONTENT[BIG], breaks_after=1 << 17)]
    assert "the connection failed" in attempt(Credentials(NAME, PASSWORD))
    gone = Site()
    gone.close()
    assert "the connection failed" in attempt(Credentials(NAME, PASSWORD), gone)
    physionet.answers[f"/files/{BIG}"] = [locked(CONTENT[BIG])]
    assert attempt(Credentials(NAME, PASSWORD)) == ""
    check_complete(tmp_path / "eicu")

    written += [caplog.text, *capsys.readouterr(), repr([record.__dict__ for record in caplog.records])]
    written += [path.read_text(errors="replace") for path in tmp_path.rglob("*") if path.is_file()]
    wrong = base64.b64encode(f"{NAME}:{PASSWORD}!".encode()).decode()
    for secret in (PASSWORD, NAME, TOKEN, wrong, PASSWORD.encode().decode("latin-1"), repr(PASSWORD.encode())[2:-1]):
        assert not any(secret in text for text in written), secret
    assert "X.npz" in caplog.text


@pytest.mark.parametrize(
    "proxy", ["http://user:hunter2@127.0.0.1:99999", "http://user:[hunter2@h", "http://user:hunter2@"]
)
def test_the_password_of_a_proxy_is_never_shown(tmp_path, monkeypatch, proxy):
    monkeypatch.setenv("HTTPS_PROXY", proxy)
    monkeypatch.delenv("https_proxy", raising=False)
    with pytest.raises(DownloadError, match=r"the request failed .* check the proxy if one is set") as caught:
        download_eicu(tmp_path, credentials=Credentials(NAME, PASSWORD), base_url="https://example.org/")
    for link in chained(caught.value):
        assert "hunter2" not in "".join(traceback.format_exception(link))


def test_credentials_come_from_the_environment_or_a_prompt(monkeypatch):
    both = {"PHYSIONET_USERNAME": NAME, "PHYSIONET_PASSWORD": PASSWORD}
    assert find_credentials(both) == Credentials(NAME, PASSWORD)
    monkeypatch.setattr("builtins.input", lambda prompt: NAME)
    monkeypatch.setattr("getpass.getpass", lambda prompt: PASSWORD)
    assert find_credentials({}) == Credentials(NAME, PASSWORD)
    assert NAME not in repr(find_credentials({})) and PASSWORD not in repr(find_credentials({}))


@pytest.mark.parametrize("environ", [{}, {"PHYSIONET_USERNAME": NAME}], ids=["neither", "no password"])
def test_where_nobody_answers_the_way_out_is_named(monkeypatch, environ):
    def nobody(prompt):
        raise EOFError

    monkeypatch.setattr("builtins.input", nobody)
    monkeypatch.setattr("getpass.getpass", nobody)
    with pytest.raises(DownloadError, match="set PHYSIONET_USERNAME and PHYSIONET_PASSWORD, then run again"):
        find_credentials(environ)


def test_the_environment_is_asked_by_default(physionet, tmp_path, monkeypatch):
    monkeypatch.setenv("PHYSIONET_USERNAME", NAME)
    monkeypatch.setenv("PHYSIONET_PASSWORD", PASSWORD)
    download(physionet, tmp_path, credentials=None)
    check_complete(tmp_path)


@pytest.mark.parametrize(
    ("base_url", "message"),
    [
        ("http://physionet.org/files/", "base_url must start with https://.*in the clear"),
        ("https://ada:secret@physionet.org/files/", "must not hold a name or password"),
    ],
)
def test_unsafe_addresses_are_refused_before_anything_is_sent(tmp_path, base_url, message):
    with pytest.raises(ValueError, match=message) as error:
        download_eicu(tmp_path, credentials=Credentials(NAME, PASSWORD), base_url=base_url)
    assert "secret" not in str(error.value)
