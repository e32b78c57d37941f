"""Files of PhysioNet: broken transfers resume, checksums are the publisher's, accounts go nowhere else.

Open projects are read without an account. Where there is one, it goes into the header of requests to the server asked
for, and nowhere else: not into logs, errors, files or redirects to other hosts.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable, Iterator, Mapping
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


def check_base_url(base_url: str) -> None:
    """Refuse addresses that would give an account away."""
    parts = urlsplit(base_url)
    # The address itself is not repeated: it may hold a password.
    if parts.username or parts.password:
        raise ValueError("base_url must not hold a name or password: set PHYSIONET_USERNAME and PHYSIONET_PASSWORD.")
    if parts.scheme != "https" and parts.hostname not in ("127.0.0.1", "localhost", "::1"):
        raise ValueError(
            f"base_url must start with https://, got {base_url!r}: it would send your password in the clear."
        )


class Server:
    """Requests to one server, with one account or, for open projects, none."""

    def __init__(
        self,
        session: requests.Session,
        base_url: str,
        account: Credentials | None,
        attempts: int,
        pause: Callable[[float], None],
        *,
        level: int = logging.INFO,
    ):
        self._session = session
        self._base = base_url if base_url.endswith("/") else base_url + "/"
        self._account = account
        self._attempts = attempts
        self._pause = pause
        self._level = level  # at which a file that is in place is logged: of thousands, nobody wants to read

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
                logger.log(self._level, "%s is in place", path)
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
        logger.log(self._level, "%s downloaded", path)
        return Downloaded(path, url, digest, expected is not None)

    def _transfer(self, url: str, part: Path, remote: str) -> None:
        """Resume a partial download."""
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
            advice = "Check that the account is credentialed and signed the data use agreements."
            raise DownloadError(
                f"The server sent a web page in place of {remote}. {advice if self._account else 'Check base_url.'}"
            )

    @contextmanager
    def _get(self, url: str, headers: Mapping[str, str]) -> Iterator[requests.Response]:
        """GET with the account, followed through redirects; other hosts never see the account."""
        home = _origin(url)
        # Bytes, as others than Latin letters can't be sent as text; an object, as it does not show in a traceback.
        account = self._account and HTTPBasicAuth(self._account.username.encode(), self._account.password.encode())
        for _ in range(_REDIRECTS):
            auth = account if account and _origin(url) == home else _no_auth
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
