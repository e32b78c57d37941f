"""One row per patient: abnormal values in the first day, what was recorded at all, and sepsis afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

from dams.datasets.errors import RawDataError
from dams.datasets.sepsis.files import HOSPITALS
from dams.datasets.sepsis.hours import Hours, read_blocks
from dams.datasets.sepsis.ranges import FLAGS, HOUR, LABEL, MEASUREMENTS, group_flags

Array = np.ndarray

FIRST_HOURS = 24
# Columns of a patient-level table that both hospitals always record.
ALWAYS_RECORDED = ["age", "female"]


@dataclass(frozen=True)
class SepsisTable:
    """Patients of two hospital systems, one row each.

    Attributes
    ----------
    X : DataFrame of shape (n, d)
        Age in decades and sex, then one flag per measurement and side: 1 if a value of the first 24 hours was
        abnormally high or low. Without the known losses a 0 says "normal or not measured", as in records that hold
        findings alone; with them, what was not measured is NaN.
    y : Series of shape (n,)
        1 if the Challenge's label says sepsis after the first 24 hours, else 0.
    recorded : DataFrame of shape (n, 34)
        Whether each measurement was taken in the first 24 hours: the losses, which silent flags hide.
    about : DataFrame of shape (n, 6)
        `hospital` ("A" or "B"), and what both always know of a patient: `age`, `female`, `unit` ("medical", "surgical"
        or "unknown"), `admitted` (hours from hospital admission to intensive care, negative) and `hours` (hours
        observed among the first 24).
    counts : DataFrame
        One row per hospital: patients and hours in the files, and patients left out, with the reason.
    """

    X: pd.DataFrame
    y: pd.Series
    recorded: pd.DataFrame
    about: pd.DataFrame
    counts: pd.DataFrame

    def at(self, hospital: str) -> SepsisTable:
        """Return the patients of one hospital."""
        if hospital not in HOSPITALS:
            raise ValueError(f"hospital must be one of {', '.join(HOSPITALS)}, got {hospital!r}.")
        return self.take(np.flatnonzero(self.about["hospital"] == hospital))

    def take(self, rows: Array) -> SepsisTable:
        """Return the patients with these positions."""
        parts = {name: getattr(self, name).iloc[rows] for name in ("X", "y", "recorded", "about")}
        return replace(self, **parts)

    @property
    def flags(self) -> list[str]:
        """Names of the columns that can be lost."""
        return [name for name in self.X.columns if name in FLAGS]

    @property
    def column_groups(self) -> list[list[str]]:
        """Flags of one measurement, which are lost together."""
        return group_flags(self.flags, by="measurement")

    @property
    def panels(self) -> list[list[str]]:
        """Flags of measurements that are ordered together, such as those of a blood count."""
        return group_flags(self.flags, by="panel")

    def recorded_flags(self) -> Array:
        """Whether the measurement behind each flag was taken, (n, flags)."""
        return self.recorded[[FLAGS[flag] for flag in self.flags]].to_numpy()


def load_sepsis(folder: str | Path | None = None, *, known_losses: bool = False) -> SepsisTable:
    """Load the patients of the PhysioNet/Computing in Cardiology Challenge 2019, open data of two hospital systems.

    The first 24 hours in intensive care are those with ``ICULOS`` up to 24. A flag is 1 if any of their values is
    outside the reference range (`dams.datasets.sepsis.ranges`), so that the worst value of the day counts, as in
    severity scores. Patients with sepsis by the label in these hours, and patients who have no hour among them, are
    left out and counted. The label is the Challenge's: it turns to 1 six hours before the clinical onset.

    Parameters
    ----------
    folder : path, optional
        The archive, or a folder that holds it or both ``training_setA`` and ``training_setB``. Defaults to the
        environment variable ``DAMS_SEPSIS_DIR``. `dams.datasets.download_sepsis` fills one.
    known_losses : bool
        Whether flags of what was not measured are NaN. By default they are 0, and nothing tells them from normal ones.

    Returns
    -------
    SepsisTable
        Flags, labels and what was recorded, one row per patient.

    Raises
    ------
    FileNotFoundError
        If the files are not where they are looked for.
    RawDataError
        If a file is not what the Challenge published.

    See Also
    --------
    download_sepsis : Fetches the files.

    References
    ----------
    Reyna et al., Early Prediction of Sepsis from Clinical Data: the PhysioNet/Computing in Cardiology Challenge 2019,
    Critical Care Medicine 48(2), 2020, doi 10.1097/CCM.0000000000004145; data: doi 10.13026/v64v-d857; PhysioNet:
    Goldberger et al., Circulation 101(23), 2000.

    Examples
    --------
    >>> from dams.datasets import load_sepsis
    >>> table = load_sepsis("data/sepsis")  # doctest: +SKIP
    >>> source, target = table.at("A"), table.at("B")  # doctest: +SKIP
    """
    table = prepare_patients(read_blocks(folder))
    return with_known_losses(table) if known_losses else table


def with_known_losses(table: SepsisTable) -> SepsisTable:
    """Return the table with NaN in the flags of what was not measured."""
    X = table.X.copy()
    X[table.flags] = np.where(table.recorded_flags(), X[table.flags], np.nan)
    return replace(table, X=X)


def prepare_patients(blocks: Iterator[Hours]) -> SepsisTable:
    """Bring hours to one row per patient, in the order of hospitals and numbers."""
    patients, recorded, counts = [], [], []
    for block in blocks:
        found, taken = _summarise(block)
        patients.append(found)
        recorded.append(taken)
        counts.append(pd.DataFrame({"hospital": block.hospital, "hours": block.lengths}))
    rows = pd.concat(patients)
    order = np.lexsort((rows["patient"], rows["hospital"]))
    rows = rows.iloc[order].set_index("patient")
    taken = pd.concat(recorded).iloc[order].set_axis(rows.index)
    late, early = rows["observed"] & ~rows["early"], rows["observed"] & rows["early"]
    files = pd.concat(counts).groupby("hospital")["hours"]
    left_out = {"patients": files.count(), "hours": files.sum()}
    left_out |= {"no_hour_in_first_24": (~rows["observed"]).groupby(rows["hospital"]).sum()}
    left_out |= {"septic_in_first_24": early.groupby(rows["hospital"]).sum()}
    left_out |= {"kept": late.groupby(rows["hospital"]).sum(), "sepsis": rows[late].groupby("hospital")["sepsis"].sum()}
    if not late.any():
        raise RawDataError("No patient is left: all had sepsis in the first 24 hours, or no hour among them.")
    rows, taken = rows[late], taken[late]
    return SepsisTable(
        X=rows[[*ALWAYS_RECORDED, *FLAGS]].astype(float),
        y=rows["sepsis"].astype(int),
        recorded=taken,
        about=rows[["hospital", "age", "female", "unit", "admitted", "hours"]],
        counts=pd.DataFrame(left_out).reset_index(),
    )


def _summarise(block: Hours) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return what is known of every patient of a block, and what was recorded of them."""
    first = block[HOUR] <= FIRST_HOURS
    start = block.starts
    female = block["Gender"][start] == 0
    columns: dict[str, Array] = {
        "patient": block.patient,
        "hospital": block.hospital,
        "age": block["Age"][start].astype(float) / 10,
        "female": female.astype(float),
        "unit": np.select([block["Unit1"][start] == 1, block["Unit2"][start] == 1], ["medical", "surgical"], "unknown"),
        "admitted": block["HospAdmTime"][start].astype(float),
        "hours": np.add.reduceat(first.astype(int), start),
        "observed": np.logical_or.reduceat(first, start),
        "early": np.logical_or.reduceat(first & (block[LABEL] == 1), start),
        "sepsis": np.logical_or.reduceat(block[LABEL] == 1, start),
    }
    recorded = {}
    for name, entry in MEASUREMENTS.items():
        values = np.where(first, block[name], np.float32(np.nan))
        lowest, highest = np.fmin.reduceat(values, start), np.fmax.reduceat(values, start)
        recorded[name] = ~np.isnan(lowest)
        for side in entry.sides:
            number = 0 if side == "low" else 1
            # In the precision of the files' values: 7.35 is not below a limit of 7.35.
            pair = [np.float32(entry.limits(female=women)[number]) for women in (True, False)]
            limit = np.where(female, *pair)
            columns[f"{name}_{side}"] = lowest < limit if side == "low" else highest > limit
    return pd.DataFrame(columns), pd.DataFrame(recorded)
