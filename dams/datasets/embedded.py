"""Real data that ship inside scikit-learn: no download, so the demonstration runs anywhere."""

import pandas as pd
from sklearn import datasets

from dams.datasets.prepare import drop_uninformative, standardise


def load_digits() -> pd.DataFrame:
    """Handwritten digits: 1,797 images, darkness of 8 × 8 pixels from 0 to 1. White is a true zero, so about half are.

    Scaled by the largest darkness, not centred: a lost pixel and a white one look alike, as underreporting has it.
    Pixels that fewer than 5 % of the images mark are dropped.
    """
    bunch = datasets.load_digits()
    names = [f"row{i // 8}_col{i % 8}" for i in range(64)]
    return drop_uninformative(pd.DataFrame(bunch.data / 16.0, columns=names), rare=names)


def load_diabetes() -> pd.DataFrame:
    """Diabetes patients: 442 rows, age, body mass index, blood pressure and six blood values z-scored, sex 0/1."""
    bunch = datasets.load_diabetes(scaled=False)
    table = pd.DataFrame(bunch.data, columns=bunch.feature_names)
    is_second_sex = (table["sex"] == table["sex"].max()).astype(float)
    return table.apply(standardise).assign(sex=is_second_sex)
