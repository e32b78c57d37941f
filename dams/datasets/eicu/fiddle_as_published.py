"""The eICU table as the paper's notebook makes it: one function per slip that `dams.datasets.eicu.fiddle` mends.

Joining by position and ordering by a set are harmless on some machines with some files; that is how they stay unseen.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from dams.datasets.eicu.feature_table import FeatureTable
from dams.datasets.eicu.fiddle import is_shared, read_cohort, read_patients
from dams.datasets.eicu.names import HOSPITALS

Array = np.ndarray


def load_fiddle_as_published(
    folder: str | Path,
    *,
    hospitals: Sequence[int] = HOSPITALS,
    task: str = "mortality_48h",
    min_either: float = 0.05,
    min_both: float = 0.01,
    hospital_list: pd.DataFrame | None = None,
    hash_seed: int = 0,
) -> FeatureTable:
    """Load the table with the slips of the released notebook.

    Parameters
    ----------
    folder, hospitals, task, min_either, min_both
        As in `load_fiddle`.
    hospital_list : DataFrame with columns patientunitstayid and hospitalid, or None
        The stays of the hospitals, in the order of the authors' own list, which is not published. None: that of
        patient.csv.gz.
    hash_seed : int
        Stands for Python's hash seed, which orders the columns.
    """
    table = read_cohort(folder, hospitals=hospitals, task=task)
    listed = read_patients(Path(folder)) if hospital_list is None else hospital_list
    table = join_by_position(table, listed["patientunitstayid"].to_numpy())
    table = table.select(np.flatnonzero(keep_without_mask_in_name(table.names)))
    table = table.select(np.flatnonzero(is_shared(table.prevalence(), min_either=min_either, min_both=min_both)))
    return table.select(order_as_a_set(table.names, hash_seed=hash_seed))


def join_by_position(table: FeatureTable, listed: Array) -> FeatureTable:
    """Pair features in the population's order with labels and hospitals in the order of a list (E15).

    Parameters
    ----------
    table : FeatureTable
        Joined rightly.
    listed : array of stay identifiers
        Holds every stay of the table; others are passed over.
    """
    position = pd.Series(np.arange(len(table.stay)), index=table.stay)
    order = position.reindex(listed).dropna().to_numpy(dtype=np.int64)
    if len(order) != len(table.stay):
        raise ValueError(
            f"The list of hospitals names {len(order)} of the cohort's {len(table.stay)} stays; it must name each once."
        )
    return replace(
        table, y=table.y[order], groups=table.groups[order], hospital=table.hospital[order], stay=table.stay[order]
    )


def keep_without_mask_in_name(names: Sequence[str]) -> Array:
    """Drop every name that contains "mask" (E16).

    So goes the oxygen mask of a patient. Hours since the last measurement, which are indicators of recording as masks
    are, stay; so would the hospital itself, did the rule of 1 % in both hospitals not drop it.
    """
    return np.array(["mask" not in name for name in names])


def order_as_a_set(names: Sequence[str], *, hash_seed: int) -> Array:
    """Order the columns as iterating over a set would (E17): by a hash that differs from run to run."""
    keys = [hashlib.sha256(f"{hash_seed}:{name}".encode()).digest() for name in names]
    return np.array(sorted(range(len(names)), key=keys.__getitem__), dtype=np.int64)
