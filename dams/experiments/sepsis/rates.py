"""Relative missingness from silent flags, held against the recording that the known losses reveal."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pandas as pd

from dams.datasets.sepsis.files import HOSPITALS
from dams.datasets.sepsis.patients import SepsisTable
from dams.datasets.sepsis.ranges import FLAGS
from dams.experiments.sepsis.cells import FEWEST
from dams.relative import estimate_relative_missingness


def recording_ratios(table: SepsisTable, *, confidence: float = 0.95) -> pd.DataFrame:
    """Compare 1 − r̂ with the true ratio of recording, one row per direction and flag.

    With q a domain's share of patients who have the flag, c the share whose measurement was recorded, and p the share
    of abnormal ones among these, q = c p in each domain, so that

        1 − r̂ = q^t/q^s = (c^t/c^s) (p^t/p^s).

    The first factor is the ratio of recording, what r is meant to be. The second is 1 if those who are measured are as
    often abnormal in both places. It is what bends r̂: another population, and another choice of whom to measure.

    Returns
    -------
    DataFrame
        Columns: source, target, flag, kept (1 − r̂), lower, upper, recording (c^t/c^s), population (p^t/p^s), covered
        (whether the interval holds the ratio of recording).
    """
    frames = []
    for source, target in permutations(HOSPITALS, 2):
        here, there = table.at(source), table.at(target)
        flags = [flag for flag in table.flags if min(here.X[flag].sum(), there.X[flag].sum()) >= FEWEST]
        found = estimate_relative_missingness(here.X[flags], there.X[flags], confidence=confidence)
        measured = [FLAGS[flag] for flag in flags]
        recording = there.recorded[measured].mean().to_numpy() / here.recorded[measured].mean().to_numpy()
        kept, upper, lower = 1 - found.r, 1 - found.lower, 1 - found.upper
        frames.append(
            pd.DataFrame(
                {
                    "source": source,
                    "target": target,
                    "flag": flags,
                    "kept": kept,
                    "lower": lower,
                    "upper": upper,
                    "recording": recording,
                    "population": kept / recording,
                    "covered": (lower <= recording) & (recording <= upper),
                }
            )
        )
    return pd.concat(frames, ignore_index=True)


def summarise_recording(ratios: pd.DataFrame) -> pd.DataFrame:
    """One row per direction: how well 1 − r̂ follows the ratio of recording.

    `correlation` is that of the logarithms; `within_quarter` and `within_half` the shares of flags in which the two
    differ by a factor of at most 1.25 and 1.5; `direction` the share in which they agree on who records more, of
    those whose recording differs by more than a tenth.
    """
    rows = []
    for (source, target), part in ratios.groupby(["source", "target"], sort=False):
        estimated, true = np.log(part["kept"]), np.log(part["recording"])
        off, clear = np.abs(estimated - true), np.abs(true) > np.log(1.1)
        rows.append(
            {
                "source": source,
                "target": target,
                "flags": len(part),
                "correlation": np.corrcoef(estimated, true)[0, 1],
                "within_quarter": (off <= np.log(1.25)).mean(),
                "within_half": (off <= np.log(1.5)).mean(),
                "direction": (np.sign(estimated) == np.sign(true))[clear].mean(),
                "covered": part["covered"].mean(),
                "furthest": part["flag"].iloc[int(off.to_numpy().argmax())],
                "furthest_factor": float(np.exp((estimated - true).iloc[int(off.to_numpy().argmax())])),
            }
        )
    return pd.DataFrame(rows)
