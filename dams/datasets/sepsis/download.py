"""Download of the Challenge 2019 data from PhysioNet: open access, verified by the publisher's checksums."""

from __future__ import annotations

import hashlib
import logging
import re
import sys
import threading
import time
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import requests

from dams.datasets.physionet import DownloadError, Server, check_base_url
from dams.datasets.sepsis.files import PATIENTS

logger = logging.getLogger(__name__)

BASE_URL = "https://physionet.org/"
PROJECT = "files/challenge-2019/1.0.0/"
ARCHIVE = "content/challenge-2019/get-zip/1.0.0/"
ARCHIVE_NAME = "challenge-2019-1.0.0.zip"
# Files between two lines of the log.
_TOLD_EVERY = 2_000
_LISTED = re.compile(r"training/(training_set([AB])/p\d{6}\.psv)")


@dataclass(frozen=True)
class SepsisDownload:
    """The data in place: the folder or the archive, how many files were verified, and against which list.

    `checksums` is the SHA-256 of the publisher's checksums of these files, sorted by name: it stands for all of them.
    """

    path: Path
    url: str
    files: int
    checksums: str

    def as_record(self) -> dict[str, Any]:
        """Return what may be passed on: no folder of this machine."""
        return {"file": self.path.name, "url": self.url, "files": self.files, "sha256_of_checksums": self.checksums}


def download_sepsis(
    folder: str | Path,
    *,
    archive: bool = False,
    base_url: str = BASE_URL,
    connections: int = 8,
    attempts: int = 5,
    pause: Callable[[float], None] = time.sleep,
) -> SepsisDownload:
    """Download the patients of the PhysioNet/Computing in Cardiology Challenge 2019 into `folder`; no account needed.

    Every file is checked against the publisher's SHA256SUMS.txt and appears under its name only when complete. Run
    again after an interruption: files already in place are checked, not fetched again.

    Parameters
    ----------
    folder : path
        Gets ``training_setA`` and ``training_setB``, or the archive. `load_sepsis` reads either.
    archive : bool
        Whether to fetch the publisher's zip archive in one piece instead of 40,336 files. Its members are checked
        alike.
    base_url : str
        Another server with the same paths.
    connections : int
        Files that are fetched side by side.
    attempts : int
        Attempts per file; the waits between them double.
    pause : callable
        Waits the given number of seconds; for tests.

    Raises
    ------
    DownloadError
        Where the server refuses a file, a checksum differs, or all attempts failed. Names the file.

    See Also
    --------
    load_sepsis : Reads the files.
    """
    check_base_url(base_url)
    if connections < 1 or attempts < 1:
        raise ValueError(f"Expected connections >= 1 and attempts >= 1; got {connections}, {attempts}.")
    folder = Path(folder)

    def connect(session: requests.Session) -> Server:
        return Server(session, base_url, None, attempts, pause, level=logging.DEBUG)

    with requests.Session() as session:
        server = connect(session)
        sums = _patients_only(server.checksums(PROJECT))
        listed = "".join(f"{digest}  {name}\n" for name, digest in sorted(sums.items()))
        digest = hashlib.sha256(listed.encode()).hexdigest()
        if archive:
            path = folder / ARCHIVE_NAME
            # What the server packs on demand has no checksum of its own; its members have.
            server.fetch(ARCHIVE, path, None)
            _check_members(path, sums)
            return SepsisDownload(path, base_url + ARCHIVE, len(sums), digest)
    _fetch_all(connect, folder, sums, connections)
    return SepsisDownload(folder, base_url + PROJECT, len(sums), digest)


def _patients_only(sums: Mapping[str, str]) -> dict[str, str]:
    """Checksums of the patients' files by their names below ``training``."""
    # A list that was cut off would go unnoticed else.
    found = {match: digest for path, digest in sums.items() if (match := _LISTED.fullmatch(path))}
    count = Counter(match[2] for match in found)
    for hospital, expected in PATIENTS.items():
        if count[hospital] != expected:
            raise DownloadError(
                f"SHA256SUMS.txt names {count[hospital]:,} files of training_set{hospital}, expected {expected:,}: it "
                "is cut off or of another version. Try again later, or check base_url."
            )
    return {match[1]: digest for match, digest in found.items()}


def _fetch_all(
    connect: Callable[[requests.Session], Server], folder: Path, sums: Mapping[str, str], connections: int
) -> None:
    """Fetch many files side by side; the first that fails ends all."""
    own = threading.local()

    def fetch(name: str) -> None:
        # A session serves one thread.
        if not hasattr(own, "server"):
            own.server = connect(requests.Session())
        own.server.fetch(f"{PROJECT}training/{name}", folder / name, sums[name])

    with _progress(len(sums)) as step, ThreadPoolExecutor(connections) as pool:
        jobs = [pool.submit(fetch, name) for name in sums]
        try:
            for job in as_completed(jobs):
                job.result()
                step()
        finally:
            pool.shutdown(cancel_futures=True)


@contextmanager
def _progress(total: int) -> Iterator[Callable[[], object]]:
    """Give a function to call once per file: a bar where somebody looks, else a line of the log now and then."""
    if sys.stderr.isatty():
        try:
            from tqdm import tqdm
        except ImportError:
            pass
        else:
            with tqdm(total=total, unit=" files", desc="Challenge 2019") as bar:
                yield bar.update
            return
    done = 0

    def step() -> None:
        nonlocal done
        done += 1
        if done % _TOLD_EVERY == 0 or done == total:
            logger.info("Challenge 2019: %s of %s files", f"{done:,}", f"{total:,}")

    yield step


def _check_members(path: Path, sums: Mapping[str, str]) -> None:
    """Refuse, and remove, an archive that is not what the publisher lists."""
    wrong = ""
    try:
        with zipfile.ZipFile(path) as archive:
            members = {m[1]: name for name in archive.namelist() if (m := _LISTED.search(name))}
            for name, expected in sums.items():
                if name not in members:
                    wrong = f"has no {name}"
                elif hashlib.sha256(archive.read(members[name])).hexdigest() != expected:
                    wrong = f"holds another {name} than the publisher lists"
                if wrong:
                    break
    except zipfile.BadZipFile as error:
        wrong = f"is no zip archive: {error}"
    if wrong:
        path.unlink()
        raise DownloadError(f"{path.name} {wrong}. Try again, or download the files one by one: archive=False.")
