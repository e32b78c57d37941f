"""Records of a simulated eICU stay: names, levels and laws of its variables, in two sizes.

Names follow FIDDLE's patterns and eICU's vocabulary where it is public. The numbers are invented, but for non-invasive
mean pressure, which is fitted to public figures. Nothing here depends on a user's seed: every simulated cohort of one
size has the same columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import ndtri

from dams.datasets.eicu.names import Size
from dams.datasets.eicu.vitals import (
    NONINVASIVE_MEAN,
    STATISTICS,
    VITAL_WIDTH,
    VITALS,
    Vital,
    bin_labels,
    interval_labels,
    latent_quintiles,
)

Array = np.ndarray

# Laboratories of eICU with a typical value.
_LABS = {
    "-bands": 5, "-basos": 0.4, "-eos": 1.5, "-lymphs": 13, "-monos": 7, "-polys": 77, "ALT (SGPT)": 28,
    "AST (SGOT)": 34, "BNP": 450, "BUN": 22, "Base Excess": 3, "CPK": 190, "CPK-MB": 4, "FiO2": 45, "HCO3": 24,
    "HDL": 40, "Hct": 32, "Hgb": 10.6, "LDL": 85, "MCH": 30, "MCHC": 33, "MCV": 91, "MPV": 10, "O2 Sat (%)": 97,
    "PT": 15, "PT - INR": 1.3, "PTT": 33, "RBC": 3.6, "RDW": 15, "TSH": 1.8, "Vancomycin - trough": 14,
    "WBC x 1000": 11, "albumin": 2.8, "alkaline phos.": 80, "ammonia": 38, "amylase": 55, "anion gap": 11,
    "bedside glucose": 140, "bicarbonate": 25, "calcium": 8.3, "chloride": 105, "creatinine": 1.1,
    "direct bilirubin": 0.3, "fibrinogen": 330, "glucose": 132, "ionized calcium": 4.5, "lactate": 1.7, "lipase": 130,
    "magnesium": 2, "pH": 7.4, "paCO2": 40, "paO2": 98, "phosphate": 3.3, "platelets x 1000": 185, "potassium": 4,
    "sodium": 139, "total bilirubin": 0.7, "total protein": 5.9, "troponin - I": 0.3, "troponin - T": 0.1,
    "uric acid": 6,
}  # fmt: skip
_TEST_LABS = ("BUN", "creatinine", "lactate", "sodium", "total bilirubin", "uric acid")

# Two levels with "mask" in their names that are no masks of FIDDLE's: a rule that drops by substring loses them.
_DEVICES = ("mask", "nasal cannula", "non-rebreather mask", "room air", "ventilator")


@dataclass(frozen=True)
class Episodic:
    """A variable recorded now and then: laboratory, charting, medication. Each record falls into one level."""

    prefix: str  # the feature's name up to its level
    levels: tuple[str, ...]
    presence: float
    further: float  # mean number of records after the first
    presence_loading: float
    level_loading: float


@dataclass(frozen=True)
class Static:
    """A variable that does not change over a stay; levels are exclusive and exhaustive.

    A latent value with correlation `loading` to severity picks the level. Causes of severity come before it (older
    patients are sicker), the others follow from it.
    """

    prefix: str
    levels: tuple[str, ...]
    shares: tuple[float, ...]
    loading: float = 0.0
    cause: bool = False


@dataclass(frozen=True)
class Catalogue:
    """All variables of one size, and the columns they make.

    Columns of X come as FIDDLE writes them: all masks; episodic values by name; then per vital delta_time and the
    statistics. `planted` columns are filled with exact counts on both sides of the rules on prevalence.
    """

    vitals: tuple[Vital, ...]
    episodic: tuple[Episodic, ...]
    planted: tuple[str, ...]
    static: tuple[Static, ...]
    static_names: list[str]
    timed_names: list[str]
    timed_variable: Array  # index of the variable behind every column of X; masks and delta times −1
    episodic_start: Array  # first column of each episodic variable
    vital_start: Array  # first delta_time column of each vital
    planted_start: int
    quintiles: Array  # (vitals, statistics, 4), of the latent values
    severity_effect: float  # log odds of death by unit of severity
    effects: dict[int, float]  # log odds of death by column of X, given severity


@lru_cache(maxsize=2)
def catalogue(size: Size) -> Catalogue:
    """Return the variables of one size."""
    # A seed of its own: the catalogue is part of the simulator, not of a simulation.
    rng = np.random.default_rng(2023)
    test = size == "test"
    vitals = (NONINVASIVE_MEAN,) if test else VITALS
    drawn = _test_episodic(rng) if test else _default_episodic(rng)
    episodic = tuple(sorted(drawn, key=lambda v: v.prefix))
    planted = tuple(f"zz planted drug {k}|{90000 + k}|dosage_1.0" for k in range(6))
    static = _static(test)

    names = [f"{v.name}_mask" for v in vitals]
    variable = [-1] * len(names)
    episodic_start = []
    for k, v in enumerate(episodic):
        episodic_start.append(len(names))
        names += [v.prefix + level for level in v.levels]
        variable += [k] * len(v.levels)
    planted_start = len(names)
    names += planted
    variable += [-1] * len(planted)
    quintiles = latent_quintiles(vitals)
    vital_start = []
    for k, vital in enumerate(vitals):
        vital_start.append(len(names))
        names += [f"{vital.name}_delta_time_(-0.001, 1.0]", f"{vital.name}_delta_time_(1.0, 47.0]"]
        for s, statistic in enumerate(STATISTICS):
            names += [f"{vital.name}_{statistic}_{label}" for label in bin_labels(vital, quintiles[k], s)]
        variable += [-1, -1] + [len(episodic) + k] * (VITAL_WIDTH - 2)
    effects = _vital_effects(vitals, vital_start) | _episodic_effects(rng, episodic, episodic_start, 5 if test else 14)
    # The few features of the small cohort have to tell as much as the many of the large one.
    boost = 2.0 if test else 1.0
    return Catalogue(
        vitals=vitals,
        episodic=episodic,
        planted=planted,
        static=static,
        static_names=[v.prefix + level for v in static for level in v.levels],
        timed_names=names,
        timed_variable=np.array(variable),
        episodic_start=np.array(episodic_start),
        vital_start=np.array(vital_start),
        planted_start=planted_start,
        quintiles=quintiles,
        severity_effect=boost,
        effects={column: boost * effect for column, effect in effects.items()},
    )


def _default_episodic(rng: np.random.Generator) -> list[Episodic]:
    """Some variables that most stays have and many that few have: the rules on prevalence drop four columns of five."""
    common = {"labs": (0.4, 0.9), "charting": (0.2, 2.5), "intake": (0.2, 2.5)}

    def presence(kind: str) -> float:
        return float(np.clip(rng.beta(*common[kind]), 0.002, 0.97))

    return [
        *(_numeric(rng, f"{lab}_value_", centre=centre, presence=presence("labs")) for lab, centre in _LABS.items()),
        *(_charting(rng, k, presence("charting")) for k in range(70)),
        *(_intake(rng, k, presence("intake")) for k in range(40)),
        *(_drug(rng, k, float(np.clip(np.exp(rng.normal(-4.5, 1.2)), 0.002, 0.8))) for k in range(425)),
        _device(),
    ]


def _test_episodic(rng: np.random.Generator) -> list[Episodic]:
    shares = (0.9, 0.9, 0.5, 0.9, 0.03, 0.02)
    return [
        *(
            _numeric(rng, f"{lab}_value_", centre=_LABS[lab], presence=share)
            for lab, share in zip(_TEST_LABS, shares, strict=True)
        ),
        *(_charting(rng, k, share) for k, share in enumerate((0.02, 0.01, 0.03, 0.01))),
        *(_intake(rng, k, share) for k, share in enumerate((0.02, 0.01, 0.03))),
        *(_drug(rng, k, share) for k, share in enumerate((0.4, 0.03, 0.02, 0.01, 0.01))),
        _device(),
    ]


def _charting(rng: np.random.Generator, k: int, presence: float) -> Episodic:
    prefix = f"Other Vital Signs and Infusions|Item {k:02d}|Value_value_"
    return _numeric(rng, prefix, centre=50, presence=presence)


def _intake(rng: np.random.Generator, k: int, presence: float) -> Episodic:
    return _numeric(rng, f"flowsheet|I&O|Intake (ml)|Item {k:02d}_value_", centre=120, presence=presence)


def _drug(rng: np.random.Generator, k: int, presence: float) -> Episodic:
    levels = ("(0.0, 1.0]", "(1.0, 2.0]", "(2.0, 100.0]")
    return Episodic(f"drug {k:03d}|{4000 + 7 * k}|dosage_", levels, presence, 1.0, float(rng.uniform(-0.1, 0.4)), 0.1)


def _device() -> Episodic:
    return Episodic("Vital Signs|O2 Admin Device|O2 Admin Device_value_", _DEVICES, 0.85, 4, 0.1, 0.0)


def _numeric(rng: np.random.Generator, prefix: str, *, centre: float, presence: float) -> Episodic:
    edges = centre * np.exp(rng.uniform(0.1, 0.5) * ndtri([0.0005, 0.2, 0.4, 0.6, 0.8, 0.9995]))
    return Episodic(
        prefix=prefix,
        levels=tuple(interval_labels(np.round(edges, 3 if centre < 5 else 1))),
        presence=float(presence),
        further=float(rng.uniform(0.5, 4)),
        presence_loading=float(rng.uniform(0, 0.4)),
        level_loading=float(rng.uniform(-0.4, 0.4)),
    )


def _vital_effects(vitals: tuple[Vital, ...], start: list[int]) -> dict[int, float]:
    """Let the bin on the side of the sick bear on death: lowest minimum or highest maximum.

    The same bins of the other statistics nearly repeat it. Which of them a hospital records then decides which one a
    linear model leans on: this is what makes a shift in missingness harmful.
    """
    effects = {}
    for vital, first in zip(vitals, start, strict=True):
        low = vital.loading < 0
        bins = first + 2 + 5 * STATISTICS.index("min" if low else "max")
        effects[bins + (0 if low else 4)] = 2.0
    return effects


def _episodic_effects(
    rng: np.random.Generator, episodic: tuple[Episodic, ...], start: list[int], count: int
) -> dict[int, float]:
    """Let a level each of the variables recorded most often bear on death."""
    common = sorted(range(len(episodic)), key=lambda k: -episodic[k].presence)[:count]
    return {
        start[k] + int(rng.integers(len(episodic[k].levels))): float(rng.choice([-1, 1]) * rng.uniform(0.8, 1.6))
        for k in common
    }


def _static(test: bool) -> tuple[Static, ...]:
    sources = (
        "Direct Admit",
        "Emergency Department",
        "Floor",
        "ICU to SDU",
        "Operating Room",
        "PACU",
        "Step-Down Unit",
    )
    units = ("CCU-CTICU", "CSICU", "CTICU", "Cardiac ICU", "MICU", "Med-Surg ICU", "Neuro ICU", "SICU")
    dx = 3 if test else 80
    return (
        Static(
            "age_value:",
            ("(17.999, 51.0]", "(51.0, 61.0]", "(61.0, 70.0]", "(70.0, 79.0]", "(79.0, 89.0]", "> 89"),
            (0.2, 0.19, 0.2, 0.19, 0.18, 0.04),
            0.5,
            cause=True,
        ),
        Static("apacheadmissiondx_value:", tuple(f"Diagnosis {k:02d}" for k in range(dx)), (1 / dx,) * dx, 0.2),
        Static(
            "ethnicity_value:",
            ("African American", "Asian", "Caucasian", "Hispanic", "Native American", "Other/Unknown"),
            (0.11, 0.02, 0.77, 0.04, 0.01, 0.05),
        ),
        Static("gender_value:", ("Female", "Male"), (0.46, 0.54)),
        *(() if test else (Static("unitadmitsource_value:", sources, (0.1, 0.5, 0.15, 0.05, 0.1, 0.05, 0.05), 0.1),)),
        Static("unittype_value:", units, (0.06, 0.05, 0.05, 0.08, 0.09, 0.52, 0.08, 0.07), 0.3, cause=True),
    )
