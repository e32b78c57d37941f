"""Imputation by MissForest, every zero taken for missing, then a source predictor."""

import warnings

import numpy as np

from dams.experiments.cells import Cell
from dams.experiments.models import Sample
from dams.imputation import MissForestImputer


def imputed(cell: Cell, rng: np.random.Generator) -> tuple[Sample, Sample]:
    """Train on imputed source rows and test on imputed target rows, as the paper did.

    The imputer is fitted on the training rows of both domains; the test rows are imputed on their own. A column that a
    small test set never observes is filled with its mean, where the original would stop.
    """
    source, target, test = cell.source_train, cell.target_train, cell.target_test
    imputer = MissForestImputer(all_missing="statistic", random_state=int(rng.integers(2**31)))
    with warnings.catch_warnings():
        # That 0/1 columns become constants is part of the published protocol.
        warnings.filterwarnings("ignore", "There is one value beside 0")
        both = imputer.fit_transform(np.concatenate([source.X, target.X]))
    return Sample(both[: len(source.X)], source.Y), Sample(imputer.transform(test.X), test.Y)
