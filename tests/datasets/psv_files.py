"""Files as the Challenge 2019 has them, of a few patients that are made up."""

import math

from dams.datasets.sepsis.ranges import COLUMNS

ABOUT = {"Age": 62.5, "Gender": 1, "Unit1": 1, "Unit2": 0, "HospAdmTime": -3.5}


def psv(hours, *, first=1, **about):
    """One patient: a list of what was measured in each hour, by column."""
    lines = ["|".join(COLUMNS)]
    for number, measured in enumerate(hours):
        row = ABOUT | about | {"ICULOS": first + number, "SepsisLabel": 0} | measured
        lines.append("|".join(_number(row.get(name, math.nan)) for name in COLUMNS))
    return ("\n".join(lines) + "\n").encode()


def _number(value):
    return "NaN" if math.isnan(value) else f"{value:g}"


# By path below the folder `training`: normal, high, septic too early, too late to be seen, septic afterwards.
PATIENTS = {
    "training_setA/p000001.psv": psv([{"HR": 80}, {"HR": 70, "pH": 7.35}]),
    "training_setA/p000002.psv": psv([{"HR": 80, "Lactate": 2.1}, {"HR": 91, "Lactate": 2.2}], Gender=0, Age=80),
    "training_setA/p000003.psv": psv([{"HR": 80}, {"HR": 80, "SepsisLabel": 1}]),
    "training_setA/p000004.psv": psv([{"HR": 80}], first=25),
    "training_setB/p100001.psv": psv([{"HR": 50, "Hgb": 13}] + [{}] * 23 + [{"HR": 120, "SepsisLabel": 1}]),
    "training_setB/p100002.psv": psv([{"Hgb": 13, "pH": 7.34}], Gender=0, Unit1=math.nan, Unit2=math.nan),
}


def write_patients(folder, patients=PATIENTS):
    """Write the files and return the folder."""
    for name, content in patients.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder
