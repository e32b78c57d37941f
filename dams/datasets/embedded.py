"""Real data that ship inside scikit-learn: no download, so the demonstration runs anywhere."""

import numpy as np
import pandas as pd
from sklearn import datasets

from dams.datasets.prepare import drop_uninformative, encode


def load_digits() -> pd.DataFrame:
    """Handwritten digits: 1,797 images, darkness of 8 × 8 pixels from 0 to 1. White is a true zero, so about half are.

    Scaled by the largest darkness, not centred: a lost pixel and a white one look alike, as underreporting has it.
    """
    bunch = datasets.load_digits()
    names = [f"row{i // 8}_col{i % 8}" for i in range(64)]
    return _drop_rare(drop_uninformative(pd.DataFrame(bunch.data / 16.0, columns=names)))


def load_diabetes() -> pd.DataFrame:
    """Diabetes patients: 442 rows, age, body mass index, blood pressure and six blood values z-scored, sex 0/1."""
    bunch = datasets.load_diabetes(scaled=False)
    table = pd.DataFrame(bunch.data, columns=bunch.feature_names)
    table["sex"] -= table["sex"].min()
    return encode(table, numeric=[name for name in bunch.feature_names if name != "sex"], binary=["sex"])


def _drop_rare(covariates: pd.DataFrame) -> pd.DataFrame:
    """Drop pixels that fewer than 5 % of the images mark, the rule that `drop_uninformative` has for 0/1 columns."""
    return covariates.loc[:, np.count_nonzero(covariates, axis=0) >= 0.05 * len(covariates)]
