"""The MissForest of missingpy 0.2.0, the package that the paper used, under current scikit-learn and NumPy.

missingpy dates from 2018 and fails to import today. What it needs is supplied without touching scikit-learn or NumPy:

==================================  =====================================================================
missingpy asks for                  supplied
==================================  =====================================================================
module `sklearn.neighbors.base`     an empty stand-in, in `sys.modules` only while missingpy is imported
`_check_weights`, `_get_weights`    names in that module; only its KNNImputer, unused here, would call them
`check_array(force_all_finite=)`    `ensure_all_finite=`, in missingpy's own namespace
`numpy.in1d`                        `numpy.isin`, in missingpy's own namespace
criterion 'mse'                     'squared_error', passed as a parameter
max_features 'auto'                 1.0, its old meaning for regression, passed as a parameter
==================================  =====================================================================

Its licence is the GPL-3: it is called, not copied, and is no dependency of this package.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np
from sklearn.utils.validation import check_array

_REMOVED_MODULE = "sklearn.neighbors.base"


class _NumpyWithIn1d(ModuleType):
    in1d = staticmethod(np.isin)

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)


def _check_array(*args: Any, force_all_finite: Any = True, **kwargs: Any) -> Any:
    return check_array(*args, ensure_all_finite=force_all_finite, **kwargs)


def _say_nothing(*args: Any) -> None:
    """Stand in for the print by which missingpy reports every sweep."""


@contextmanager
def _stand_in_for_removed_module() -> Iterator[None]:
    stand_in = ModuleType(_REMOVED_MODULE)
    for name in ("_check_weights", "_get_weights"):
        setattr(stand_in, name, None)
    sys.modules[_REMOVED_MODULE] = stand_in
    try:
        yield
    finally:
        del sys.modules[_REMOVED_MODULE]


def import_missingpy() -> ModuleType:
    """Import `missingpy.missforest` and mend its namespace.

    Raises
    ------
    ImportError
        If missingpy is not installed, with the command that installs it.
    """
    try:
        with _stand_in_for_removed_module():
            module = import_module("missingpy.missforest")
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "missingpy":
            raise
        raise ImportError(
            "engine='missingpy' needs the package missingpy 0.2.0 (GPL-3), which is not installed: "
            "pip install \"dams[missingpy]\". engine='fast' gives equivalent results without it."
        ) from error
    vars(module).update(np=_NumpyWithIn1d("numpy"), check_array=_check_array)
    return module


def run_missingpy(
    X: np.ndarray,
    statistics: np.ndarray,
    categorical: np.ndarray,
    *,
    max_iter: int,
    n_estimators: int,
    max_depth: int | None,
    missing_values: float,
    seed: int,
    verbose: bool = False,
) -> np.ndarray:
    """Impute X by `missingpy.MissForest`, on one core.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
    statistics : array of shape (n_features,)
        First guesses: means, or modes of the categorical columns. They are all that missingpy keeps from its `fit`.
    categorical : array of bool, shape (n_features,)
    max_iter, n_estimators, max_depth, missing_values
        Parameters of missingpy's.
    seed : int
        Starts one stream for all forests. An integer given to missingpy itself would start each of them anew, with the
        same bootstrap samples in every sweep, which the paper's runs, without a seed, did not have.
    verbose : bool, default=False
        Let missingpy print the number of each sweep.

    Returns
    -------
    array of shape (n_samples, n_features)
    """
    module = import_missingpy()
    vars(module)["print"] = print if verbose else _say_nothing
    imputer = module.MissForest(
        max_iter=max_iter,
        n_estimators=n_estimators,
        max_depth=max_depth,
        # It knows NaN by identity.
        missing_values=np.nan if np.isnan(missing_values) else missing_values,
        criterion=("squared_error", "gini"),
        max_features=1.0,
        n_jobs=1,
        random_state=np.random.RandomState(seed),
    )
    # Two rows with these means and modes. A mean that looks like a missing value is made of one below and one above.
    spread = np.where(statistics == missing_values, 1.0, 0.0)
    columns = np.flatnonzero(categorical)
    imputer.fit(np.stack([statistics - spread, statistics + spread]), cat_vars=columns if len(columns) else None)
    return imputer.transform(X)
