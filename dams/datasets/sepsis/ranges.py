"""Columns of the Challenge's files, and the reference ranges that make a measurement abnormal.

Laboratory values: American Board of Internal Medicine, *Laboratory Test Reference Ranges*, January 2026. Blood gases:
*MSD Manual*, "Blood tests", because the Board's hold for room air, which intensive care seldom breathes. Vital signs:
the ranges without points of the *National Early Warning Score 2* (Royal College of Physicians, 2017); mean arterial
pressure: the limit of the SOFA score (Vincent et al., Intensive Care Medicine 22, 1996); diastolic pressure: the
ESC/ESH guidelines for arterial hypertension (2018) above, 60 mmHg below. End-tidal carbon dioxide has the range of the
arterial one, and base excess ± 2 mmol/L.

A limit that has no clinical meaning (a low bilirubin, a high oxygen saturation) is None and makes no flag.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Limits = tuple[float | None, float | None]


@dataclass(frozen=True)
class Measurement:
    """A vital sign or laboratory value: its unit, the limits of what is normal, and the panel it is ordered with.

    Values below the lower or above the upper limit are abnormal. Limits of women differ where `women` gives others.
    """

    unit: str
    normal: Limits
    panel: str = ""
    women: Limits | None = None

    def limits(self, *, female: bool) -> Limits:
        """Limits of women or of men."""
        return self.women if female and self.women is not None else self.normal

    @property
    def sides(self) -> tuple[str, ...]:
        """Flags that it makes: "low", "high" or both."""
        return tuple(side for side, limit in zip(("low", "high"), self.normal, strict=True) if limit is not None)


# In the order of the files.
MEASUREMENTS: dict[str, Measurement] = {
    "HR": Measurement("beats/min", (51, 90)),
    "O2Sat": Measurement("%", (96, None)),
    "Temp": Measurement("°C", (36.1, 38.0)),
    "SBP": Measurement("mmHg", (111, 219), "pressure"),
    "MAP": Measurement("mmHg", (70, None), "pressure"),
    "DBP": Measurement("mmHg", (60, 89), "pressure"),
    "Resp": Measurement("breaths/min", (12, 20)),
    "EtCO2": Measurement("mmHg", (35, 45)),
    "BaseExcess": Measurement("mmol/L", (-2, 2), "gases"),
    "HCO3": Measurement("mmol/L", (23, 30), "metabolic"),
    "FiO2": Measurement("fraction", (None, 0.21), "gases"),
    "pH": Measurement("", (7.35, 7.45), "gases"),
    "PaCO2": Measurement("mmHg", (35, 45), "gases"),
    "SaO2": Measurement("%", (95, None), "gases"),
    "AST": Measurement("IU/L", (None, 40), "liver"),
    "BUN": Measurement("mg/dL", (8, 20), "metabolic"),
    "Alkalinephos": Measurement("IU/L", (30, 120), "liver"),
    "Calcium": Measurement("mg/dL", (8.6, 10.2), "metabolic"),
    "Chloride": Measurement("mmol/L", (98, 106), "metabolic"),
    "Creatinine": Measurement("mg/dL", (0.7, 1.3), "metabolic", women=(0.5, 1.1)),
    "Bilirubin_direct": Measurement("mg/dL", (None, 0.3), "liver"),
    "Glucose": Measurement("mg/dL", (70, 99), "metabolic"),
    "Lactate": Measurement("mmol/L", (None, 2.1)),
    "Magnesium": Measurement("mg/dL", (1.6, 2.6)),
    "Phosphate": Measurement("mg/dL", (3.0, 4.5)),
    "Potassium": Measurement("mmol/L", (3.5, 5.0), "metabolic"),
    "Bilirubin_total": Measurement("mg/dL", (None, 1.0), "liver"),
    "TroponinI": Measurement("ng/mL", (None, 0.04)),
    "Hct": Measurement("%", (42, 50), "blood count", women=(37, 47)),
    "Hgb": Measurement("g/dL", (14, 18), "blood count", women=(12, 16)),
    "PTT": Measurement("s", (25, 35), "coagulation"),
    "WBC": Measurement("10³/µL", (4, 11), "blood count"),
    "Fibrinogen": Measurement("mg/dL", (200, 400), "coagulation"),
    "Platelets": Measurement("10³/µL", (150, 450), "blood count"),
}

# What a file says of the patient, the same in every hour, then the hour and the label.
ABOUT = ("Age", "Gender", "Unit1", "Unit2", "HospAdmTime")
HOUR, LABEL = "ICULOS", "SepsisLabel"
COLUMNS = (*MEASUREMENTS, *ABOUT, HOUR, LABEL)

# Of the columns of a patient-level table: one flag per side that has a limit.
FLAGS: dict[str, str] = {f"{name}_{side}": name for name, entry in MEASUREMENTS.items() for side in entry.sides}


def group_flags(flags: Iterable[str], *, by: Literal["measurement", "panel"]) -> list[list[str]]:
    """Put flags of one measurement, or of measurements that are ordered together, into groups of two and more."""
    groups: dict[str, list[str]] = {}
    for flag in flags:
        name = FLAGS[flag]
        groups.setdefault((MEASUREMENTS[name].panel or name) if by == "panel" else name, []).append(flag)
    return [group for group in groups.values() if len(group) > 1]
