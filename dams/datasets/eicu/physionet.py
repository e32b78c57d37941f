"""Download of the eICU files with a user's own PhysioNet account.

Name and password come from the environment (PHYSIONET_USERNAME, PHYSIONET_PASSWORD) or a prompt, go into the header of
requests to the server asked for, and nowhere else: not into logs, errors, files or redirects to other hosts.
"""

from __future__ import annotations

import getpass
import os
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path, PurePosixPath

import requests

from dams.datasets.physionet import BASE_URL, Credentials, Downloaded, DownloadError, Server, check_base_url

__all__ = ["Credentials", "DownloadError", "Downloaded", "download_eicu", "eicu_files", "find_credentials"]

FIDDLE_PROJECT = "mimic-eicu-fiddle-feature/1.0.0/"
EICU_PROJECT = "eicu-crd/2.0/"

NO_ACCOUNT = (
    "eICU is downloaded with your PhysioNet account: set PHYSIONET_USERNAME and PHYSIONET_PASSWORD, then run again."
)


def find_credentials(environ: Mapping[str, str] = os.environ) -> Credentials:
    """Take name and password from the environment, or ask for what is missing there."""
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
    check_base_url(base_url)
    account = find_credentials() if credentials is None else credentials
    with requests.Session() as session:
        server = Server(session, base_url, account, attempts, pause)
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
