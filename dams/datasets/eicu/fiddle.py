"""eICU through FIDDLE: from the files a credentialed user has to one table of binary features.

FIDDLE writes indicators of what was recorded of an intensive-care stay: `s` (N, d) for what does not change and `X`
(N, 48, D) hour by hour. Here they become one row per stay and one column per feature, 1 if it was ever recorded. A zero
may be a true zero or a value nobody wrote down, and hospitals differ in what they write down.

The protocol is the paper's with its slips mended; `dams.datasets.eicu.fiddle_as_published` keeps those.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import sparse

from dams._validation import warn_user
from dams.datasets.eicu.coo_npz import CHUNK, CooNpz
from dams.datasets.eicu.feature_table import FeatureTable
from dams.datasets.eicu.names import HOSPITALS
from dams.datasets.errors import RawDataError

Array = np.ndarray


# `hospitalid_value:73__` in the published files, `hospitalid_value__73` from newer versions of FIDDLE.
_HOSPITAL = re.compile(r"hospitalid_value[:_]+(\d+)_*")
_WARD = re.compile(r"wardid_value[:_]+\d+_*")
# `<variable>_mask`, measured in this hour or not; the level "mask" of a categorical variable ends in `_value_mask`.
_MASK = re.compile(r".*(?<!_value)_mask")
# Hours since the last measurement, binned: an indicator of recording, not of the patient.
_DELTA_TIME = re.compile(r".*_delta_time[:_]([(\[][^)\]]*[)\]]|-?\d+(\.\d+)?)")
# Folder of FIDDLE's files, beside that of eICU's own.
FIDDLE = "FIDDLE_eicu"


def load_fiddle(
    folder: str | Path,
    *,
    hospitals: Sequence[int] = HOSPITALS,
    task: str = "mortality_48h",
    min_either: float = 0.05,
    min_both: float = 0.01,
) -> FeatureTable:
    """Load the stays of some hospitals with the features they share.

    Labels, hospitals and features are joined on the stay's identifier, the time axis is collapsed by its maximum, and
    columns keep the order of the files. Not kept are indicators of recording (`…_mask`, `…_delta_time_…`), which under
    missingness shift are the nuisance itself, and the one-hot columns of hospital and ward, which check the join.

    Parameters
    ----------
    folder : path
        Holds `FIDDLE_eicu/` and `eicu-crd/2.0/patient.csv.gz`; see docs/eicu.md.
    hospitals : sequence of at least two int
        Identifiers of eICU.
    task : str
        Name of the population file and of the feature folder.
    min_either, min_both : float
        A feature is kept if present in at least `min_either` of the stays of one hospital and `min_both` of all.

    Returns
    -------
    FeatureTable
        Features, labels, patients and hospitals, one row per stay.

    Raises
    ------
    FileNotFoundError, RawDataError
        Where a file is missing, damaged or does not fit the others. Messages name it.
    ValueError
        Where a hospital has no stay, or no stay with one of the two outcomes.

    See Also
    --------
    simulate_eicu : Writes files that this reads, without credentials.
    """
    table = read_cohort(folder, hospitals=hospitals, task=task)
    table = table.select(np.flatnonzero([is_clinical(name) for name in table.names]))
    return table.select(np.flatnonzero(is_shared(table.prevalence(), min_either=min_either, min_both=min_both)))


def is_clinical(name: str) -> bool:
    """Whether a column speaks of the patient, not of recording, hospital or ward.

    Masks are known by their suffix: a level such as `non-rebreather mask` is clinical.
    """
    return not (
        _MASK.fullmatch(name) or _DELTA_TIME.fullmatch(name) or _HOSPITAL.fullmatch(name) or _WARD.fullmatch(name)
    )


def is_shared(prevalence: Array, *, min_either: float, min_both: float) -> Array:
    """Which columns reach `min_either` in some row of `prevalence` and `min_both` in every row."""
    return np.logical_and((prevalence >= min_either).any(axis=0), (prevalence >= min_both).all(axis=0))


def read_cohort(
    folder: str | Path, *, hospitals: Sequence[int] = HOSPITALS, task: str = "mortality_48h"
) -> FeatureTable:
    """Read all columns of the stays of `hospitals`, static ones first, rows by ascending identifier."""
    folder = Path(folder)
    hospitals = _check_hospitals(hospitals)
    population = read_population(folder, task)
    stays = _join(population, read_patients(folder), folder)
    files = files_of(folder, task)
    static = _open(files["static"], len(stays), 2)
    timed = _open(files["timed"], len(stays), 3)
    static_names, timed_names = read_names(static), read_names(timed)
    _check_alignment(static, static_names, stays["hospitalid"].to_numpy())

    rows = np.flatnonzero(stays["hospitalid"].isin(hospitals))
    cohort = stays.iloc[rows]
    _check_outcomes(cohort, hospitals, folder)
    return FeatureTable(
        X=sparse.hstack([collapse(static, rows), collapse(timed, rows)], format="csr"),
        names=static_names + timed_names,
        y=cohort["label"].to_numpy(),
        groups=pd.factorize(cohort["uniquepid"])[0],
        hospital=cohort["hospitalid"].to_numpy(),
        stay=cohort["ID"].to_numpy(),
        hospitals=hospitals,
        simulated=mark_of_simulation(folder).is_file(),
    )


def files_of(folder: str | Path, task: str = "mortality_48h") -> dict[str, Path]:
    """Files that a cohort is read from, by what they hold; all are needed."""
    fiddle = Path(folder) / FIDDLE
    features = fiddle / "features" / task
    static, timed = _either_spelling(features), features / "X.npz"
    return {
        "population": fiddle / "population" / f"{task}.csv",
        "patients": Path(folder) / "eicu-crd" / "2.0" / "patient.csv.gz",
        "static": static,
        "static_names": _names_of(static),
        "timed": timed,
        "timed_names": _names_of(timed),
    }


def folder_behind(files: Sequence[str | Path]) -> Path:
    """Return the folder that holds the FIDDLE files of a cohort, given what a rule has of it: the folder or files."""
    first = Path(files[0])
    return next(folder for folder in (first, *first.parents) if (folder / FIDDLE).is_dir())


def mark_of_simulation(folder: str | Path) -> Path:
    """File that only the simulator writes: where it is, the cohort is simulated."""
    return Path(folder) / "truth.json"


def read_population(folder: Path, task: str) -> pd.DataFrame:
    """Read identifiers and labels (columns ID, label), by ascending identifier as FIDDLE's rows are."""
    path = files_of(folder, task)["population"]
    label = f"{task.rsplit('_', 1)[0]}_LABEL"
    frame = _read_csv(path, ["ID", label]).rename(columns={label: "label"})
    steps = np.diff(frame["ID"].to_numpy())
    if (steps <= 0).any():
        row = int(np.argmax(steps <= 0)) + 1
        # Rows of `s` follow this file and rows of `X` are sorted, so any other order pairs features of two patients.
        raise RawDataError(
            f"{path}: IDs must ascend without repeats; {frame['ID'].iloc[row]} follows {frame['ID'].iloc[row - 1]}. "
            "FIDDLE sorts the rows of X but not those of s: sort the population file and run FIDDLE again."
        )
    if not frame["label"].isin([0, 1]).all():
        odd = frame["label"][~frame["label"].isin([0, 1])].iloc[0]
        raise RawDataError(f"{path}: {label} must be 0 or 1, got {odd}. Correct the file, or download it again.")
    return frame


def read_patients(folder: Path) -> pd.DataFrame:
    """Read hospital and patient of every stay (columns patientunitstayid, hospitalid, uniquepid)."""
    path = files_of(folder)["patients"]
    frame = _read_csv(path, ["patientunitstayid", "hospitalid", "uniquepid"])
    repeated = frame["patientunitstayid"].duplicated()
    if repeated.any():
        stay = frame["patientunitstayid"][repeated].iloc[0]
        raise RawDataError(f"{path}: patientunitstayid must be unique, but {stay} repeats. Download the file again.")
    return frame


def read_names(array: CooNpz) -> list[str]:
    """Read the names of the features of an array, one per column."""
    path = _names_of(array.path)
    if not path.is_file():
        raise FileNotFoundError(f"{path} does not exist. FIDDLE writes it beside {array.path.name}; see docs/eicu.md.")
    try:
        names = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise RawDataError(f"{path} is not JSON ({error}). Download or make it again.") from error
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise RawDataError(f"{path} must hold a list of strings. Download or make it again.")
    if len(names) != array.shape[-1]:
        raise RawDataError(
            f"{path} names {len(names)} features, but {array.path} has {array.shape[-1]} columns. "
            "The two must come from the same run of FIDDLE."
        )
    return names


def collapse(array: CooNpz, rows: Array, *, chunk: int = CHUNK) -> sparse.csr_matrix:
    """Reduce an array to (len(rows), features), 1 where any value is nonzero; `rows` ascend.

    Coordinates come sorted by row, so a row is complete once the next one begins: only the last row of a chunk waits
    for the following chunk, and what is kept is one index per nonzero of the result.
    """
    width = array.shape[-1]
    position = np.full(array.shape[0], -1, dtype=np.int64)
    position[rows] = np.arange(len(rows))
    counts = np.zeros(len(rows), dtype=np.int64)
    indices: list[Array] = []

    def keep(keys: Array) -> None:
        row, column = np.divmod(keys, width)
        counts[:] += np.bincount(row, minlength=len(rows))
        indices.append(column.astype(np.int32))

    waiting = np.empty(0, dtype=np.int64)
    for coords in array.chunks(chunk):
        row = position[coords[0]]
        inside = row >= 0
        keys = np.sort(np.concatenate([waiting, row[inside] * width + coords[-1, inside]]))
        # Not np.unique, which hashes integers and takes ten times as long.
        keys = keys[np.diff(keys, prepend=-1) > 0]
        done = np.searchsorted(keys, keys[-1] // width * width) if len(keys) else 0
        keep(keys[:done])
        waiting = keys[done:]
    keep(waiting)
    column = np.concatenate(indices)
    indptr = np.concatenate([[0], np.cumsum(counts)])
    return sparse.csr_matrix((np.ones(len(column)), column, indptr), shape=(len(rows), width))


def _check_hospitals(hospitals: Sequence[int]) -> tuple[int, ...]:
    chosen = tuple(int(h) for h in hospitals)
    if len(chosen) < 2 or len(set(chosen)) < len(chosen):
        raise ValueError(f"hospitals must name at least two different hospitals of eICU, got {chosen}.")
    return chosen


def _join(population: pd.DataFrame, patients: pd.DataFrame, folder: Path) -> pd.DataFrame:
    """Give every row of the population its hospital and patient, by identifier."""
    stays = population.merge(patients, how="left", left_on="ID", right_on="patientunitstayid", validate="one_to_one")
    unknown = stays["ID"][stays["hospitalid"].isna()]
    if len(unknown):
        raise RawDataError(
            f"{folder}: {len(unknown)} stays of the population, first {unknown.iloc[0]}, are not in patient.csv.gz. "
            "Use the patient table of eICU-CRD 2.0 that FIDDLE was run on."
        )
    return stays.astype({"hospitalid": np.int64})


def _open(path: Path, n_stays: int, ndim: int) -> CooNpz:
    array = CooNpz(path)
    if len(array.shape) != ndim or array.shape[0] != n_stays:
        raise RawDataError(
            f"{path} has the shape {array.shape}; expected {ndim} dimensions and {n_stays} rows, one per stay of the "
            "population file. The files must come from the same run of FIDDLE."
        )
    return array


def _either_spelling(features: Path) -> Path:
    """Path of the static features: `s.npz`, or `S.npz` from newer versions of FIDDLE."""
    newer = features / "S.npz"
    return newer if newer.is_file() and not (features / "s.npz").is_file() else features / "s.npz"


def _names_of(array: Path) -> Path:
    """Path of the names of an array's features."""
    return array.with_suffix(".feature_names.json")


def _check_alignment(static: CooNpz, names: list[str], hospital: Array) -> None:
    """Compare the one-hot columns of the hospitals inside `s` with the patient table, row by row."""
    columns = {j: int(match[1]) for j, name in enumerate(names) if (match := _HOSPITAL.fullmatch(name))}
    if not columns:
        warn_user(f"{static.path} has no hospitalid columns, so its rows can't be checked against patient.csv.gz.")
        return
    S = collapse(static, np.arange(static.shape[0])).tocsc()
    for j, identifier in columns.items():
        present = S[:, [j]].toarray().ravel() > 0
        differ = int((present != (hospital == identifier)).sum())
        if differ:
            raise RawDataError(
                f"{static.path}: the column {names[j]!r} disagrees with patient.csv.gz in {differ} of {len(hospital)} "
                "stays. Rows are not in the order of the population file: all files must come from one run of FIDDLE."
            )


def _check_outcomes(cohort: pd.DataFrame, hospitals: tuple[int, ...], folder: Path) -> None:
    for hospital in hospitals:
        labels = cohort["label"][cohort["hospitalid"] == hospital]
        if labels.empty:
            raise ValueError(f"{folder}: hospital {hospital} has no stay in the population. Choose another hospital.")
        if labels.nunique() < 2:
            raise ValueError(
                f"{folder}: all {len(labels)} stays of hospital {hospital} have the label {labels.iloc[0]}; "
                "nothing can be learnt or scored there. Choose another hospital."
            )


def _read_csv(path: Path, columns: list[str]) -> pd.DataFrame:
    """Read the named columns, the first of which identifies the row, whatever others there are."""
    if not path.is_file():
        raise FileNotFoundError(f"{path} does not exist. docs/eicu.md says which files are needed and where from.")
    wanted: Callable[[str], bool] = set(columns).__contains__
    try:
        frame = pd.read_csv(path, usecols=wanted)
    except (OSError, EOFError, zlib.error, ValueError) as error:
        raise RawDataError(f"{path} can't be read as CSV ({error}). Download the file again.") from error
    lacking = [name for name in columns if name not in frame.columns]
    if lacking:
        raise RawDataError(f"{path} has no column {', '.join(lacking)}. Download the file again.")
    identifier = columns[0]
    if not pd.api.types.is_integer_dtype(frame[identifier]):
        raise RawDataError(f"{path}: {identifier} must hold whole numbers in every row. Download the file again.")
    return frame[columns]
