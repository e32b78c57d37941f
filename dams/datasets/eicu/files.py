"""Files of a simulated eICU cohort: FIDDLE's arrays, the population, eICU's patient table and the truth."""

from __future__ import annotations

import gzip
import io
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from dams._files import write_json
from dams.datasets.eicu.cohort import Cohort
from dams.datasets.eicu.coo_npz import write_coo
from dams.datasets.eicu.vitals import HOURS
from dams.moments import relative_rates

Array = np.ndarray

TASK = "mortality_48h"

# All columns of eICU's patient table, in its order.
PATIENT_COLUMNS = [
    "patientunitstayid",
    "patienthealthsystemstayid",
    "gender",
    "age",
    "ethnicity",
    "hospitalid",
    "wardid",
    "apacheadmissiondx",
    "admissionheight",
    "hospitaladmittime24",
    "hospitaladmitoffset",
    "hospitaladmitsource",
    "hospitaldischargeyear",
    "hospitaldischargetime24",
    "hospitaldischargeoffset",
    "hospitaldischargelocation",
    "hospitaldischargestatus",
    "unittype",
    "unitadmittime24",
    "unitadmitsource",
    "unitvisitnumber",
    "unitstaytype",
    "admissionweight",
    "dischargeweight",
    "unitdischargetime24",
    "unitdischargeoffset",
    "unitdischargelocation",
    "unitdischargestatus",
    "uniquepid",
]

WARDS = 4  # of each hospital


def write_cohort(folder: Path, cohort: Cohort) -> dict[str, Any]:
    """Write all files; returns the truth."""
    features = folder / "FIDDLE_eicu" / "features" / TASK
    population = folder / "FIDDLE_eicu" / "population"
    patients = folder / "eicu-crd" / "2.0"
    for path in (features, population, patients):
        path.mkdir(parents=True, exist_ok=True)

    static, static_names = static_columns(cohort)
    write_coo(features / "s.npz", np.nonzero(static), np.ones(static.sum(), dtype=np.int64), static.shape)
    assert cohort.hours is not None
    shape = (len(cohort.y), HOURS, len(cohort.cat.timed_names))
    ones = np.ones(len(cohort.hours), dtype=np.int64)
    write_coo(features / "X.npz", np.unravel_index(cohort.hours, shape), ones, shape)
    for array, names in (("s", static_names), ("X", cohort.cat.timed_names)):
        write_json(names, features / f"{array}.feature_names.json", indent=None)
        # FIDDLE names here the columns it dropped because they equal another one; the simulator makes none.
        write_json({}, features / f"{array}.feature_aliases.json", indent=None)

    labels = pd.DataFrame({"ID": cohort.stay, "mortality_LABEL": cohort.y})
    labels.to_csv(population / f"{TASK}.csv", index=False, lineterminator="\n")
    _write_gzip(patients / "patient.csv.gz", patient_table(cohort))
    truth = describe_truth(cohort)
    write_json(truth, folder / "truth.json", indent=1)
    return truth


def static_columns(cohort: Cohort) -> tuple[Array, list[str]]:
    """One-hot columns of static variables, hospitals and wards, variables in alphabetical order as FIDDLE has them."""
    identifiers = np.array(list(cohort.hospitals))
    blocks = [(v.prefix, v.levels, cohort.levels[:, k]) for k, v in enumerate(cohort.cat.static)]
    blocks.append(("hospitalid_value:", tuple(f"{h}__" for h in identifiers), cohort.hospital))
    wards = tuple(f"{ward}__" for ward in _ward_ids(np.arange(len(identifiers) * WARDS)))
    blocks.append(("wardid_value:", wards, _wards(cohort)))
    blocks.sort(key=lambda block: block[0])
    columns = [np.arange(len(levels)) == code[:, None] for _, levels, code in blocks]
    return np.concatenate(columns, axis=1), [prefix + level for prefix, levels, _ in blocks for level in levels]


def patient_table(cohort: Cohort) -> pd.DataFrame:
    """Return eICU's patient table: the cohort, and stays it excludes, one after every eighth stay."""
    rng = np.random.default_rng([cohort.random_state, 1])
    n = len(cohort.y)
    identifiers = np.array(list(cohort.hospitals))
    extra = np.arange(7, n, 8)
    source = np.concatenate([np.arange(n), extra])  # an excluded stay looks like the one before it
    excluded = np.arange(len(source)) >= n
    levels = {
        v.prefix.partition("_value")[0]: (v.levels, cohort.levels[source, k]) for k, v in enumerate(cohort.cat.static)
    }
    lowest = np.array([18, 52, 62, 71, 80, 90])
    years = lowest[levels["age"][1]] + rng.integers(8, size=len(source))
    stay_hours = np.where(excluded, rng.integers(6, 47, len(source)), rng.integers(49, 400, len(source)))
    died = np.where(excluded, 0, cohort.y[source])
    frame = pd.DataFrame(index=range(len(source)), columns=PATIENT_COLUMNS, dtype=object)
    frame["patientunitstayid"] = np.concatenate([cohort.stay, cohort.stay[extra] + 2])
    frame["patienthealthsystemstayid"] = 120_000 + source * 2 + excluded
    frame["age"] = np.where(years >= 90, "> 89", years.astype(str))
    for column in ("gender", "ethnicity", "apacheadmissiondx", "unittype", "unitadmitsource"):
        names, code = levels.get(column, (("Emergency Department",), np.zeros(len(source), dtype=int)))
        frame[column] = np.array(names)[code]
    frame["hospitalid"] = identifiers[cohort.hospital[source]]
    frame["wardid"] = _ward_ids(_wards(cohort)[source])
    frame["admissionheight"] = rng.normal(169, 11, len(source)).round(1)
    frame["admissionweight"] = rng.normal(84, 24, len(source)).clip(35).round(1)
    for column in ("hospitaladmittime24", "hospitaldischargetime24", "unitadmittime24", "unitdischargetime24"):
        frame[column] = [f"{t // 60:02d}:{t % 60:02d}:00" for t in rng.integers(1440, size=len(source))]
    frame["hospitaladmitoffset"] = -rng.integers(3000, size=len(source))
    frame["unitdischargeoffset"] = stay_hours * 60
    frame["hospitaldischargeoffset"] = stay_hours * 60 + rng.integers(5000, size=len(source))
    frame["hospitaldischargeyear"] = rng.choice([2014, 2015], len(source))
    frame["hospitaldischargestatus"] = np.where(died, "Expired", "Alive")
    frame["unitdischargestatus"] = "Alive"
    frame["unitstaytype"] = "admit"
    frame["unitvisitnumber"] = 1
    frame["uniquepid"] = [
        f"{k % 97:03d}-{10_000 + k}" for k in np.where(excluded, n + np.arange(len(source)), cohort.patient[source])
    ]
    return frame.sort_values("patientunitstayid", ignore_index=True)


def describe_truth(cohort: Cohort) -> dict[str, Any]:
    """Return the truth of a simulated cohort, which an analyst does not know."""
    scenario, cat = cohort.scenario, cohort.cat
    rates = scenario.rates.copy()
    planted = slice(cat.planted_start, cat.planted_start + len(cat.planted))
    rates[:2, planted] = _planted_rates(cohort, planted)
    by_severity, by_feature = scenario.effect_scale(np.arange(len(cohort.hospitals)))
    lossy = cat.timed_variable >= 0
    lossy[planted] = True
    columns = np.flatnonzero(lossy)
    return {
        "simulated": True,
        "scenario": scenario.name,
        "mechanism": scenario.mechanism,
        "strength": scenario.strength,
        "random_state": cohort.random_state,
        "assumptions": scenario.statement(),
        "hospitals": {
            str(identifier): {
                "stays": stays,
                "deaths": deaths,
                "intercept": -float(cohort.cutoffs[k]),
                "mean_severity": float(cohort.severity[cohort.hospital == k].mean()),
                "severity_effect": float(by_severity[k]) * cat.severity_effect,
                "feature_effects": {cat.timed_names[j]: float(by_feature[k]) * w for j, w in cat.effects.items()},
            }
            for k, (identifier, (stays, deaths)) in enumerate(cohort.hospitals.items())
        },
        # Columns that are not listed are never lost.
        "features": {
            cat.timed_names[j]: {
                "rates": {str(h): round(float(rates[k, j]), 6) for k, h in enumerate(cohort.hospitals)},
                "relative_missingness": round(float(relative_rates(rates[0, j], rates[1, j])), 6),
                "clean_prevalence": round(float(cohort.clean_prevalence[:2, j].mean()), 6),
            }
            for j in columns
        },
    }


def _planted_rates(cohort: Cohort, planted: slice) -> Array:
    """Planted features are as if common to the better hospital and thinned in the other."""
    prevalence = np.stack([cohort.timed[cohort.hospital == k, planted].mean(axis=0) for k in (0, 1)])
    return 1 - prevalence / prevalence.max(axis=0)


def _wards(cohort: Cohort) -> Array:
    """Ward of every stay, numbered through all hospitals."""
    return cohort.hospital * WARDS + np.arange(len(cohort.hospital)) * 7 % 11 % WARDS


def _ward_ids(ward: Array) -> Array:
    return 236 + 7 * ward


def _write_gzip(path: Path, frame: pd.DataFrame) -> None:
    buffer = io.BytesIO()
    # A name or a time in the header would make files of one seed differ.
    with gzip.GzipFile(filename="", fileobj=buffer, mode="wb", mtime=0) as stream:
        stream.write(frame.to_csv(index=False, lineterminator="\n").encode())
    path.write_bytes(buffer.getvalue())
