"""A small well-formed cohort, written with pydata/sparse and pandas, for tests to spoil."""

import json
from pathlib import Path

import numpy as np
import pandas as pd

STATIC_NAMES = ["gender_value:Female", "hospitalid_value:73__", "hospitalid_value:264__", "wardid_value:236__"]
TIMED_NAMES = [
    "heartrate_mask",
    "O2 device_value_mask",
    "O2 device_value_non-rebreather mask",
    "lactate_value_(1.0, 2.0]",
    "heartrate_delta_time_(-0.001, 1.0]",
    "heartrate_max_(90.0, 101.0]",
]
N = 60


def features(folder: Path) -> Path:
    return folder / "FIDDLE_eicu" / "features" / "mortality_48h"


def population(folder: Path) -> Path:
    return folder / "FIDDLE_eicu" / "population" / "mortality_48h.csv"


def patients(folder: Path) -> Path:
    return folder / "eicu-crd" / "2.0" / "patient.csv.gz"


def write_cohort(folder: Path) -> tuple[np.ndarray, np.ndarray, pd.DataFrame]:
    """Write 60 stays, 30 in each of two hospitals; returns s, X and the stays with label, hospital and patient."""
    rng = np.random.default_rng(5)
    for path in (features(folder), population(folder).parent, patients(folder).parent):
        path.mkdir(parents=True, exist_ok=True)
    stays = pd.DataFrame(
        {
            "ID": 1000 + 3 * np.arange(N),
            "mortality_LABEL": np.arange(N) % 5 == 0,
            "hospitalid": np.where(np.arange(N) % 2 == 0, 73, 264),
            "uniquepid": [f"002-{k // 3}" for k in range(N)],
        }
    ).astype({"mortality_LABEL": int})
    at_73 = stays["hospitalid"] == 73
    s = np.column_stack([rng.random(N) < 0.5, at_73, ~at_73, at_73 & (np.arange(N) % 4 == 0)]).astype(int)
    X = (rng.random((N, 8, len(TIMED_NAMES))) < 0.2).astype(int)
    import sparse  # loads Numba, which few tests need

    sparse.save_npz(features(folder) / "s.npz", sparse.COO(s))
    sparse.save_npz(features(folder) / "X.npz", sparse.COO(X))
    (features(folder) / "s.feature_names.json").write_text(json.dumps(STATIC_NAMES))
    (features(folder) / "X.feature_names.json").write_text(json.dumps(TIMED_NAMES))
    stays[["ID", "mortality_LABEL"]].to_csv(population(folder), index=False)
    # In another order than the population, and with a stay that the population excludes.
    listed = stays.sample(frac=1, random_state=0).rename(columns={"ID": "patientunitstayid"})
    listed = pd.concat([listed, listed.head(1).assign(patientunitstayid=7)]).assign(wardid=236)
    listed[["patientunitstayid", "wardid", "hospitalid", "uniquepid"]].to_csv(patients(folder), index=False)
    return s, X, stays


def save_coo(path: Path, *, drop: str | None = None, **changes) -> None:
    """Rewrite an array as numpy alone would, with some members changed or one dropped."""
    with np.load(path) as stored:
        members = {name: stored[name] for name in ("data", "coords", "shape", "fill_value")}
    members |= changes
    if drop is not None:
        del members[drop]
    np.savez_compressed(path, **members)
