"""Download of the eICU files with a user's own PhysioNet account.

Name and password come from the environment (PHYSIONET_USERNAME, PHYSIONET_PASSWORD) or a prompt, go into the header of
requests to the server asked for, and nowhere else: not into logs, errors, files or redirects to other hosts.
"""

from __future__ import annotations

import getpass
import logging
import os
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from urllib.parse import urljoin, urlsplit

import requests
from requests.auth import HTTPBasicAuth

from dams._files import sha256_of
from dams.datasets.transfer import LimitError, is_web_page, pieces

logger = logging.getLogger(__name__)

BASE_URL = "https://physionet.org/files/"
FIDDLE_PROJECT = "mimic-eicu-fiddle-feature/1.0.0/"
EICU_PROJECT = "eicu-crd/2.0/"

NO_ACCOUNT = (
    "eICU is downloaded with your PhysioNet account: set PHYSIONET_USERNAME and PHYSIONET_PASSWORD, then run again."
)

# Bytes of a file, and of a list of checksums, at most.
_MOST_BYTES = 50_000_000_000
_MOST_SUMS = 10_000_000
_TIMEOUT = (10, 60)  # seconds to connect, and between two packets
_REDIRECTS = 5
_CHECKSUM = re.compile(r"([0-9a-fA-F]{64})\s+\*?(\S.*)")
_TRANSIENT = {408, 425, 429, 500, 502, 503, 504}


class DownloadError(RuntimeError):
    """A file could not be downloaded; the message says which, why and what to do."""


class _TransientError(Exception):
    """Worth another attempt."""


@dataclass(frozen=True)
class Credentials:
    """A PhysioNet account. Neither part shows when the object is printed."""

    username: str = field(repr=False)
    password: str = field(repr=False)


@dataclass(frozen=True)
class Downloaded:
    """A file in place, for provenance: no part of it depends on the account."""

    path: Path
    url: str
    sha256: str
    verified: bool  # against the publisher's SHA256SUMS.txt


def find_credentials(environ: Mapping[str, str] = os.environ) -> Credentials:
    """Take name and password from the environment, or ask for what lacks there."""
    try:
        username = environ.get("PHYSIONET_USERNAME") or input("PhysioNet user name: ")
        password = environ.get("PHYSIONET_PASSWORD") or getpass.getpass("PhysioNet password: ")
    except EOFError:  # nobody is there to answer
        raise DownloadError(NO_ACCOUNT) from None
    return Credentials(username, password)


def eicu_files(task: str = "mortality_48h") -> dict[str, str]:
    """Files that `load_fiddle` needs: path below the user's folder → path below the server's `files/`."""
    features = [f"{array}.{part}" for array in "sX" for part in ("npz", "feature_names.json", "feature_aliases.json")]
    fiddle = [*(f"FIDDLE_eicu/features/{task}/{name}" for name in features), f"FIDDLE_eicu/population/{task}.csv"]
    patients = EICU_PROJECT + "patient.csv.gz"
    return {path: FIDDLE_PROJECT + path for path in fiddle} | {patients: patients}


def download_eicu(
    folder: str | Path,
    *,
    credentials: Credentials | None = None,
    task: str = "mortality_48h",
    base_url: str = BASE_URL,
    attempts: int = 5,
    pause: Callable[[float], None] = time.sleep,
) -> list[Downloaded]:
    """Download what `load_fiddle` needs into `folder`, which then holds credentialed data: keep it to yourself.

    Broken transfers resume where they stopped. Files appear under their names only when complete, and are checked
    against the publisher's SHA256SUMS.txt where there is one. Files already in place are checked, not fetched again.

    Parameters
    ----------
    credentials : Credentials or None
        None: see `find_credentials`. The account must be credentialed and have signed the agreements of both projects.
    base_url : str
        Another server with the same paths; anything but https is refused unless it is this machine.
    attempts : int
        For each file, the waits between them doubling.
    pause : callable
        Waits so many seconds.

    Raises
    ------
    DownloadError
        Where the server refuses the account or a file, or all attempts failed.
    """
    _check_base_url(base_url)
    account = find_credentials() if credentials is None else credentials
    with requests.Session() as session:
        server = _Server(session, base_url, account, attempts, pause)
        sums = {project: server.checksums(project) for project in (FIDDLE_PROJECT, EICU_PROJECT)}
        files = eicu_files(task)
        _keep_to_oneself(Path(folder), files)
        return [server.fetch(remote, Path(folder) / local, _expected(sums, remote)) for local, remote in files.items()]


def _keep_to_oneself(folder: Path, files: Iterable[str]) -> None:
    """Make the folders of credentialed files, which nobody but their owner may enter."""
    for name in sorted({PurePosixPath(file).parts[0] for file in files}):
        (folder / name).mkdir(parents=True, exist_ok=True)
        (folder / name).chmod(0o700)


def _expected(sums: Mapping[str, Mapping[str, str]], remote: str) -> str | None:
    project = "/".join(PurePosixPath(remote).parts[:2]) + "/"
    return sums[project].get(remote.removeprefix(project))


def _check_base_url(base_url: str) -> None:
    parts = urlsplit(base_url)
    # The address itself is not repeated: it may hold a password.
    if parts.username or parts.password:
        raise ValueError("base_url must not hold a name or password: set PHYSIONET_USERNAME and PHYSIONET_PASSWORD.")
    if parts.scheme != "https" and parts.hostname not in ("127.0.0.1", "localhost", "::1"):
        raise ValueError(
            f"base_url must start with https://, got {base_url!r}: it would send your password in the clear."
        )


class _Server:
    """Requests to one server with one account."""

    def __init__(
        self,
        session: requests.Session,
        base_url: str,
        account: Credentials,
        attempts: int,
        pause: Callable[[float], None],
    ):
        self._session = session
        self._base = base_url if base_url.endswith("/") else base_url + "/"
        self._account = account
        self._attempts = attempts
        self._pause = pause

    def checksums(self, project: str) -> dict[str, str]:
        """SHA-256 by path, from lines "<hex> <path>"; empty where the project publishes none."""

        def read() -> str:
            with self._get(self._base + project + "SHA256SUMS.txt", {}) as response:
                if response.status_code == 404:
                    return ""
                self._checked(response, project)
                body = b"".join(pieces(response, most_bytes=_MOST_SUMS, patience=_TIMEOUT[1]))
                return body.decode("utf-8", errors="replace")

        lines = self._retry(f"{project}SHA256SUMS.txt", read).splitlines()
        # Whatever else a server may send in its place, such as a page of HTML, holds no checksums.
        return {match[2]: match[1].lower() for line in lines if (match := _CHECKSUM.fullmatch(line.strip()))}

    def fetch(self, remote: str, path: Path, expected: str | None) -> Downloaded:
        """Put one file in place."""
        url = self._base + remote
        if path.is_file():
            digest = sha256_of(path)
            if expected is None or digest == expected:
                logger.info("%s is in place", path)
                return Downloaded(path, url, digest, expected is not None)
            logger.warning("%s differs from the published checksum and is downloaded again", path)
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(path.name + ".part")
        if expected is None:
            # Without a checksum nothing tells whether the start left by an earlier run fits the end.
            part.unlink(missing_ok=True)

        def transfer() -> str:
            self._transfer(url, part, remote)
            digest = sha256_of(part)
            if expected is not None and digest != expected:
                part.unlink()
                raise _TransientError(f"its SHA-256 is {digest}, the published one {expected}")
            return digest

        digest = self._retry(remote, transfer)
        os.replace(part, path)
        logger.info("%s downloaded", path)
        return Downloaded(path, url, digest, expected is not None)

    def _transfer(self, url: str, part: Path, remote: str) -> None:
        """Fetch what lacks of a file."""
        start = part.stat().st_size if part.exists() else 0
        # Compression on the way would make positions and lengths those of other bytes.
        headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={start}-"} if start else {})
        with self._get(url, headers) as response:
            if response.status_code == 416:
                # The part is as long as the file, or longer: the checksum decides which.
                if response.headers.get("Content-Range") == f"bytes */{start}":
                    return
                part.unlink()
                raise _TransientError("what was there did not fit the file on the server")
            self._checked(response, remote)
            resumed = response.status_code == 206
            if resumed and not response.headers.get("Content-Range", "").startswith(f"bytes {start}-"):
                raise _TransientError("the server sent another range than the one asked for")
            length = response.headers.get("Content-Length")
            total = None if length is None else int(length) + (start if resumed else 0)
            with part.open("ab" if resumed else "wb") as stream:
                for piece in pieces(response, most_bytes=_MOST_BYTES, patience=_TIMEOUT[1]):
                    stream.write(piece)
            if total is not None and part.stat().st_size != total:
                raise _TransientError(f"{part.stat().st_size} of {total} bytes came")
        with part.open("rb") as stream:
            page = is_web_page(stream.read(64))
        if page:
            part.unlink()
            raise DownloadError(
                f"The server sent a web page in place of {remote}. Check that the account is credentialed and signed "
                "the data use agreements."
            )

    @contextmanager
    def _get(self, url: str, headers: Mapping[str, str]) -> Iterator[requests.Response]:
        """GET with the account, followed through redirects; other hosts never see the account."""
        home = _origin(url)
        # Bytes, as others than Latin letters can't be sent as text; an object, as it does not show in a traceback.
        account = HTTPBasicAuth(self._account.username.encode(), self._account.password.encode())
        for _ in range(_REDIRECTS):
            auth = account if _origin(url) == home else _no_auth
            with self._session.get(
                url, headers=dict(headers), auth=auth, stream=True, timeout=_TIMEOUT, allow_redirects=False
            ) as response:
                if not response.is_redirect:
                    yield response
                    return
                url = urljoin(url, response.headers["Location"])
            if "/login" in urlsplit(url).path:
                raise DownloadError(
                    f"{home} wants a login in the browser instead. Check that the account is credentialed."
                )
        raise DownloadError(f"{home} redirects in circles. Try again later, or check base_url.")

    def _checked(self, response: requests.Response, remote: str) -> requests.Response:
        status = response.status_code
        if status == 401:
            raise DownloadError(
                f"The server refused the name or the password ({remote}). "
                "Check PHYSIONET_USERNAME and PHYSIONET_PASSWORD."
            )
        if status == 403:
            project = "/".join(PurePosixPath(remote).parts[:2])
            raise DownloadError(
                f"The account may not read {remote}. With a credentialed account, sign the data use agreement at "
                f"https://physionet.org/content/{project}/."
            )
        if status in _TRANSIENT:
            raise _TransientError(f"the server answered {status}")
        if status not in (200, 206):
            raise DownloadError(
                f"The server answered {status} for {remote}. Check base_url and the version of the project."
            )
        return response

    def _retry(self, remote: str, action: Callable[[], str]) -> str:
        """Repeat an action that fails in passing.

        What `requests` raises holds the request, and with it the account. So its errors are reduced to the names of
        their types, and ours is raised outside the `except` block, where Python has no context to chain.
        """
        reason = ""
        for attempt in range(self._attempts):
            if attempt:
                logger.warning("%s: %s; trying again", remote, reason)
                self._pause(2.0**attempt)
            try:
                return action()
            except _TransientError as error:
                reason = str(error)
            except LimitError as error:
                reason = str(error)
                break
            except (requests.ConnectionError, requests.Timeout, requests.exceptions.ChunkedEncodingError) as error:
                reason = f"the connection failed ({type(error).__name__})"
            # The last two, where requests can't read the address of a proxy, which may hold a password too.
            except (requests.RequestException, ValueError, TypeError) as error:
                reason = f"the request failed ({type(error).__name__})"
                break
        raise DownloadError(
            f"{remote} could not be downloaded: {reason}. Try again later; check the proxy if one is set."
        )


def _no_auth(request: requests.PreparedRequest) -> requests.PreparedRequest:
    """Leave a request as it is. Without an `auth`, requests would look into the user's netrc."""
    return request


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"
