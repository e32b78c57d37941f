"""Two made-up hospitals that record differently: what a patient has does not depend on where."""

import numpy as np
import pandas as pd
import pytest

from dams.datasets.sepsis.patients import SepsisTable
from dams.datasets.sepsis.ranges import FLAGS, MEASUREMENTS

# Shares of patients whose measurement is recorded: every third more often in A, every third in B, the rest always.
RECORDED = {
    "A": {name: (0.9, 0.4, 1.0)[k % 3] for k, name in enumerate(MEASUREMENTS)},
    "B": {name: (0.3, 0.9, 1.0)[k % 3] for k, name in enumerate(MEASUREMENTS)},
}


def made_table(n=2000, *, seed=0):
    rng = np.random.default_rng(seed)
    hospital = np.repeat(["A", "B"], n)
    severity = rng.normal(size=2 * n)
    abnormal = {
        flag: (severity + rng.normal(size=2 * n) > 0.4 + k % 5 / 4).astype(float) for k, flag in enumerate(FLAGS)
    }
    recorded = pd.DataFrame(
        {
            name: rng.random(2 * n) < np.where(hospital == "A", *(RECORDED[h][name] for h in "AB"))
            for name in MEASUREMENTS
        }
    )
    about = pd.DataFrame({"hospital": hospital, "age": rng.normal(6, 1, 2 * n), "female": rng.integers(0, 2, 2 * n)})
    about["unit"] = np.array(["medical", "surgical", "unknown"])[np.arange(2 * n) % 3]
    about["hours"] = 20 + np.arange(2 * n) % 5
    flags = pd.DataFrame(abnormal) * recorded[[FLAGS[flag] for flag in FLAGS]].to_numpy()
    X = pd.concat([about[["age", "female"]].astype(float), flags], axis=1)
    y = pd.Series((severity + 0.5 * flags["Lactate_high"] + rng.normal(size=2 * n) > 2).astype(int))
    counts = pd.DataFrame({"hospital": ["A", "B"], "patients": n})
    return SepsisTable(X, y, recorded, about, counts)


@pytest.fixture(scope="session")
def hospitals():
    return made_table()
