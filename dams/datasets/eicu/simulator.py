"""A cohort of simulated intensive-care stays in FIDDLE's files, with the truth beside them.

The real data are for credentialed users only. This makes the whole way from files to tables runnable by anyone and,
as the rates of loss are known, testable. A stay has a latent severity; vitals wander around it hour by hour;
laboratories, charting and medication come and go with it; and

    logit P(death) = intercept of the hospital + severity + a sparse set of features,

the intercept being tuned so that every hospital has its stated number of deaths to the unit.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from dams.datasets.eicu.cohort import Cohort, draw_cohort
from dams.datasets.eicu.feature_table import FeatureTable
from dams.datasets.eicu.fiddle import is_clinical, is_shared
from dams.datasets.eicu.files import write_cohort
from dams.datasets.eicu.names import HOSPITALS, Scenario, Size

H1, H2 = HOSPITALS
# Stays and deaths by hospital. The first two are those of the paper, with its counts.
COHORTS: dict[str, dict[int, tuple[int, int]]] = {
    "default": {
        H1: (3006, 292),
        H2: (2663, 266),
        420: (2210, 221),
        63: (180, 20),
        122: (160, 14),
        199: (150, 17),
        300: (130, 12),
        443: (101, 11),
    },
    "test": {H1: (520, 52), H2: (460, 46), 420: (160, 17), 199: (60, 7)},
}


def simulate_eicu(
    folder: str | Path,
    *,
    size: Size = "default",
    scenario: Scenario = "ucar",
    mechanism: str | None = None,
    strength: float = 1.0,
    random_state: int = 0,
) -> dict[str, Any]:
    """Write a simulated cohort as FIDDLE and eICU would, with its `truth.json`.

    The same arguments give the same bytes.

    Parameters
    ----------
    folder : path
        Made if needed; existing files of these names are replaced.
    size : "default" or "test"
        8,600 stays of eight hospitals with about 2,500 features, or 1,200 of four with about 140.
    scenario : "ucar", "block_ucar", "hourly", "population", "mar" or "mnar"
        How hospitals differ; see `dams.datasets.eicu.scenarios`.
    mechanism : str or None
        Variant of the scenario: "mixed" or "nested" rates; "coefficients" or "severity" of the population; loss that
        depends on "severity" or "outcome". None: the first of these.
    strength : float
        Rates are U(0, 0.9 · strength) ("nested": U(0, 0.5 · strength) and as much again); elsewhere how far the
        assumption is violated, 0 being not at all.
    random_state : int
        Seed.

    Returns
    -------
    dict
        The content of `truth.json`.

    See Also
    --------
    load_fiddle : Reads the files.
    """
    cohort = draw_cohort(
        size, COHORTS[_check_size(size)], scenario, mechanism, strength, random_state=random_state, with_hours=True
    )
    return write_cohort(Path(folder), cohort)


def simulate_eicu_table(
    n_stays: int | None = None,
    *,
    size: Size = "test",
    scenario: Scenario = "ucar",
    mechanism: str | None = None,
    strength: float = 1.0,
    min_either: float = 0.05,
    min_both: float = 0.01,
    random_state: int = 0,
) -> FeatureTable:
    """Simulate a table without files: what `load_fiddle` would return for them.

    Parameters
    ----------
    n_stays : int or None
        So many stays, half in each of the paper's two hospitals, a tenth of which die; None: the cohort of `size`.
    size, scenario, mechanism, strength, random_state
        As in `simulate_eicu`.
    min_either, min_both
        As in `load_fiddle`.
    """
    hospitals = COHORTS[_check_size(size)]
    if n_stays is not None:
        if n_stays < 200:
            raise ValueError(
                f"n_stays must be at least 200, so that a hundredth of a hospital is a stay, got {n_stays}."
            )
        half = n_stays // 2
        hospitals = dict.fromkeys(HOSPITALS, (half, round(half / 10)))
    cohort = draw_cohort(size, hospitals, scenario, mechanism, strength, random_state=random_state, with_hours=False)
    return table_of(cohort, min_either=min_either, min_both=min_both)


def table_of(cohort: Cohort, *, min_either: float, min_both: float) -> FeatureTable:
    """Return the stays of the first two hospitals with the clinical features that they share."""
    names = cohort.cat.static_names + cohort.cat.timed_names
    clinical = np.flatnonzero([is_clinical(name) for name in names])
    rows = np.flatnonzero(cohort.hospital < 2)
    first_two = tuple(cohort.hospitals)[:2]
    table = FeatureTable(
        # Sparse first: millions of stays as dense floats would need eight times the memory.
        X=sparse.csr_matrix(np.concatenate([cohort.static, cohort.timed], axis=1)[np.ix_(rows, clinical)]).astype(
            float
        ),
        names=[names[j] for j in clinical],
        y=cohort.y[rows],
        groups=pd.factorize(cohort.patient[rows])[0],
        hospital=np.array(first_two)[cohort.hospital[rows]],
        stay=cohort.stay[rows],
        hospitals=first_two,
        simulated=True,
    )
    return table.select(np.flatnonzero(is_shared(table.prevalence(), min_either=min_either, min_both=min_both)))


def _check_size(size: str) -> str:
    if size not in COHORTS:
        raise ValueError(f"size must be one of {', '.join(COHORTS)}, got {size!r}.")
    return size
