"""MissForest as a scikit-learn transformer."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import chain, islice
from numbers import Integral
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import FLOAT_DTYPES, check_is_fitted, validate_data

from dams._random import as_generator
from dams._sklearn import Interval, MissingValues, StrOptions, fit_context
from dams._validation import check_columns, describe_columns, refuse_infinite, refuse_text
from dams.imputation._forest import MAX_BINS, MAX_DEPTH
from dams.imputation._forest.binning import FloatArray
from dams.imputation._inputs import (
    categorical_mask,
    first_guess,
    refuse_beyond_single_precision,
    refuse_nan,
    scales_for_trees,
    warn_of_constants,
    warn_of_small_units,
)
from dams.imputation._missingpy import import_missingpy, run_missingpy
from dams.imputation._sweeps import BoolArray, ColumnModel, ForestSettings, Sweep, learn_complete_columns, sweep_columns


class MissForestImputer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Impute each column by random forests on the others, sweep after sweep (MissForest).

    Missing entries start as the mean of their column (categorical columns: the most frequent value). Then every column
    in turn, the least incomplete first, is regressed on all others by a random forest, on the rows where it is
    observed, and its missing entries become the forest's predictions. Sweeps go on while

        γ = Σ (new − old)² / Σ new²,

    summed over the numeric columns, falls, or the share of missing categorical entries that changed does.

    The defaults are those of the paper, where a zero is a missing value; it fitted the imputer on the covariates of
    source train and target train together and transformed each test set on its own.

    Parameters
    ----------
    engine : {"fast", "missingpy"}, default="fast"
        "fast" grows all trees at once on binned columns. "missingpy" runs the package of the paper, which must be
        installed (`pip install "dams[missingpy]"`). At depth 3 it is many times slower (`benchmarks/missforest.py`);
        from depth 6 on "fast", whose work doubles with every level, has no advantage.
    compat : {"missingpy", "inductive"}, default="missingpy"
        "missingpy" does as that package does. It is transductive: `fit` keeps only means and modes, and `transform`
        runs all sweeps on the rows it is given, with forests that never see the rows of `fit`. It returns the last
        matrix but one, also when it stops at `max_iter`: with `max_iter=1` that is plain means.
        "inductive" runs the sweeps in `fit` and keeps their forests; `transform` applies them in the same order. The
        result is the last matrix, and a row's does not depend on the rows beside it.
    max_iter : int, default=5
        The most sweeps.
    n_estimators : int, default=20
        Trees in a forest.
    max_depth : int or None, default=3
        Depth of the trees: at most 8 for "fast"; None, which lets them grow, only for "missingpy".
    missing_values : float, default=0
        Marks a missing entry: a number, NaN or pandas.NA, which means NaN too.
    categorical_features : array of int, bool or str, default=None
        Positions, mask or names of the columns that hold categories, as numbers. As features of other columns their
        numbers are taken at face value, as in missingpy.
    all_missing : {"raise", "statistic"}, default="raise"
        What `transform` with `compat="missingpy"` does with a column that has no observed entry, hence no forest, in
        the rows it is given: raise, as missingpy does, or fill it with the mean or mode from `fit`.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the bootstrap samples. It is used in `fit`: a fitted imputer always transforms the same rows alike.
    verbose : int, default=0
        Above 0, print a line per sweep.

    Attributes
    ----------
    statistics_ : array of shape (d,)
        Mean, or most frequent value, of each column's observed entries.
    sweeps_ : list of list of ColumnModel
        The forests of each sweep, in the order of use; only with `compat="inductive"`.
    n_iter_ : int
        Number of sweeps; only with `compat="inductive"`.
    n_features_in_ : int
    feature_names_in_ : array of str
        Where X has them.

    See Also
    --------
    dams.TwoWayEstimator : Adapts without treating every zero as missing.

    Notes
    -----
    A 0/1 column whose zeros are missing has one observed value. Its missing entries all become that value, and it
    carries nothing afterwards; `fit` warns of it.

    As in scikit-learn, trees read single precision and take values within 1e-7 for one. With `compat="inductive"`
    columns in too small or too large a unit are scaled for them; with `compat="missingpy"` the one gives a warning and
    the other is refused.

    References
    ----------
    Stekhoven and Bühlmann, MissForest: non-parametric missing value imputation for mixed-type data, Bioinformatics
    28(1), 2012.

    Examples
    --------
    >>> import numpy as np
    >>> from dams.imputation import MissForestImputer
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 1)) + 0.1 * rng.normal(size=(500, 3))
    >>> observed = np.where(rng.random(X.shape) < 0.2, 0, X)
    >>> imputed = MissForestImputer(random_state=0).fit_transform(observed)
    >>> bool(np.abs(imputed - X).mean() < 0.3 * np.abs(observed - X).mean())
    True
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        "engine": [StrOptions({"fast", "missingpy"})],
        "compat": [StrOptions({"missingpy", "inductive"})],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "max_depth": [Interval(Integral, 1, None, closed="left"), None],
        "missing_values": [MissingValues(numeric_only=True)],
        "categorical_features": ["array-like", None],
        "all_missing": [StrOptions({"raise", "statistic"})],
        "random_state": ["random_state", np.random.Generator],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        *,
        engine: str = "fast",
        compat: str = "missingpy",
        max_iter: int = 5,
        n_estimators: int = 20,
        max_depth: int | None = 3,
        missing_values: float = 0,
        categorical_features: Any = None,
        all_missing: str = "raise",
        random_state: Any = None,
        verbose: int = 0,
    ):
        self.engine = engine
        self.compat = compat
        self.max_iter = max_iter
        self.n_estimators = n_estimators
        self.max_depth = max_depth
        self.missing_values = missing_values
        self.categorical_features = categorical_features
        self.all_missing = all_missing
        self.random_state = random_state
        self.verbose = verbose

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> MissForestImputer:
        """Learn first guesses, and with `compat="inductive"` the forests, and return the imputer; y is ignored."""
        self._check_engine()
        # Forests of an earlier fit would stand beside guesses that they do not belong to.
        for name in ("sweeps_", "n_iter_"):
            self.__dict__.pop(name, None)
        X, missing = self._read(X, reset=True)
        empty = np.flatnonzero(missing.all(axis=1))
        if len(empty):
            raise ValueError(
                f"Nothing is observed in {self._describe(empty)}: every entry is {self.missing_values}, which marks a "
                "missing value. Drop what was never observed, or change missing_values."
            )
        names = getattr(self, "feature_names_in_", None)
        self._categorical = categorical_mask(self.categorical_features, X.shape[1], names)
        self.statistics_ = np.array(
            [
                first_guess(column[~lost], categorical=categorical)
                for column, lost, categorical in zip(X.T, missing, self._categorical, strict=True)
            ]
        )
        spreads = np.array([np.ptp(column[~lost]) for column, lost in zip(X.T, missing, strict=True)], dtype=float)
        warn_of_constants((spreads == 0) & missing.any(axis=1), self._marker, names)
        self._scales = np.ones(X.shape[1])
        self._seed = int(as_generator(self.random_state).integers(2**32))
        if self.compat == "inductive":
            self._scales = scales_for_trees(spreads, self._categorical)
            self._keep_sweeps(self._fill(X, missing), missing)
        else:
            warn_of_small_units(spreads, self._categorical, names)
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Return a copy of X with its missing entries imputed."""
        check_is_fitted(self)
        X, missing = self._read(X, reset=False)
        filled = self._fill(X, missing)
        if self.compat == "inductive":
            self._replay(filled, missing)
            filled /= self._scales[:, None]
        else:
            refuse_beyond_single_precision(X, getattr(self, "feature_names_in_", None))
            # What has been filled for want of any observation is taken as observed.
            missing &= ~self._all_missing(missing)[:, None]
            if missing.any():
                impute = self._last_but_one if self.engine == "fast" else self._run_missingpy
                filled = impute(filled, missing)
        return np.ascontiguousarray(filled.T, dtype=X.dtype)

    def _keep_sweeps(self, filled: FloatArray, missing: BoolArray) -> None:
        """Sweep the training rows and keep all models; the last sweep is the first that moves no less than the last."""
        rng = np.random.default_rng(self._seed)
        last: Sweep | None = None
        self.sweeps_: list[list[ColumnModel]] = []
        if missing.any():
            for sweep in islice(self._sweeps(filled, missing, rng), self.max_iter):
                self.sweeps_.append(sweep.models)
                last, previous = sweep, last
                if not last.moved_less_than(previous):
                    break
        self.n_iter_ = len(self.sweeps_)
        self._complete = learn_complete_columns(
            _with_imputed(filled, missing, last), missing, self._categorical, settings=self._settings(), rng=rng
        )

    def _replay(self, filled: FloatArray, missing: BoolArray) -> None:
        """Apply the kept models to a matrix, in place."""
        lost = [np.flatnonzero(column) for column in missing]
        for model in chain(*self.sweeps_, self._complete):
            rows = lost[model.column]
            if len(rows):
                filled[model.column, rows] = model.impute(filled, rows)

    def _last_but_one(self, filled: FloatArray, missing: BoolArray) -> FloatArray:
        """Sweep the rows at hand and return the matrix before the last sweep.

        The last is the first that moves no less than the one before, or the `max_iter`-th. The one is not finished and
        the other not begun where that can't change what is returned.
        """
        rng = np.random.default_rng(self._seed)
        last: Sweep | None = None
        for sweep in islice(self._sweeps(filled, missing, rng, abandon=True), self.max_iter - 1):
            if not sweep.moved_less_than(last):
                break
            last = sweep
        return _with_imputed(filled, missing, last)

    def _sweeps(
        self, filled: FloatArray, missing: BoolArray, rng: np.random.Generator, *, abandon: bool = False
    ) -> Iterator[Sweep]:
        start = time.perf_counter()
        sweeps = sweep_columns(filled, missing, self._categorical, settings=self._settings(), rng=rng, abandon=abandon)
        for number, sweep in enumerate(sweeps, start=1):
            if self.verbose:
                print(
                    f"[MissForestImputer] sweep {number} of at most {self.max_iter}: "
                    f"numeric change {sweep.numeric_change:.3g}, categorical change {sweep.categorical_change:.3g}, "
                    f"{time.perf_counter() - start:.1f} s"
                )
            yield sweep

    def _run_missingpy(self, filled: FloatArray, missing: BoolArray) -> FloatArray:
        return run_missingpy(
            np.where(missing, self._marker, filled).T,
            self.statistics_,
            self._categorical,
            max_iter=self.max_iter,
            n_estimators=self.n_estimators,
            max_depth=self.max_depth,
            missing_values=self._marker,
            seed=self._seed,
            verbose=bool(self.verbose),
        ).T

    @property
    def _marker(self) -> float:
        return np.nan if self.missing_values is pd.NA else float(self.missing_values)

    def _settings(self) -> ForestSettings:
        assert self.max_depth is not None  # see _check_engine
        return ForestSettings(self.n_estimators, self.max_depth, MAX_BINS)

    def _check_engine(self) -> None:
        if self.engine == "missingpy":
            if self.compat == "inductive":
                raise ValueError(
                    "compat='inductive' needs engine='fast': missingpy keeps no forests to apply to new rows."
                )
            import_missingpy()
        elif self.max_depth is None or self.max_depth > MAX_DEPTH:
            raise ValueError(
                f"engine='fast' grows trees of depth 1 to {MAX_DEPTH}, got max_depth={self.max_depth}. Set a smaller "
                "max_depth, or engine='missingpy'."
            )

    def _read(self, X: Any, *, reset: bool) -> tuple[np.ndarray, BoolArray]:
        """Return checked X, and by columns where it is missing."""
        marker = self._marker
        refuse_text(X, name="X")
        if not np.isnan(marker):
            refuse_nan(X, marker)
        if not sparse.issparse(X):
            refuse_infinite(X, name="X")
        check_columns(self, X, reset=reset)
        finite = "allow-nan" if np.isnan(marker) else True
        X = validate_data(self, X, dtype=FLOAT_DTYPES, ensure_all_finite=finite, reset=reset)
        missing = np.isnan(X) if np.isnan(marker) else np.equal(X, marker)
        return X, np.ascontiguousarray(missing.T)

    def _fill(self, X: np.ndarray, missing: BoolArray) -> FloatArray:
        """X by columns, in double precision and units fit for trees, with first guesses for the missing entries."""
        filled = np.array(X.T, dtype=np.float64, order="C")
        for column, lost, guess, scale in zip(filled, missing, self.statistics_, self._scales, strict=True):
            column[lost] = guess
            column *= scale
        return filled

    def _all_missing(self, missing: BoolArray) -> BoolArray:
        empty: BoolArray = np.logical_and.reduce(missing, axis=1)
        if empty.any() and self.all_missing == "raise":
            raise ValueError(
                f"Nothing is observed in {self._describe(np.flatnonzero(empty))} of the rows to transform, and with "
                "compat='missingpy' their forests are trained on these rows. Set all_missing='statistic' to fill with "
                "the means of the training rows, or compat='inductive' to use forests of the training rows."
            )
        return empty

    def _describe(self, columns: np.ndarray) -> str:
        return describe_columns(columns, getattr(self, "feature_names_in_", None))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = bool(np.isnan(self._marker))
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _with_imputed(filled: FloatArray, missing: BoolArray, sweep: Sweep | None) -> FloatArray:
    """Write what a sweep imputed, if there was one, into a matrix."""
    for column, values in sweep.imputed.items() if sweep else ():
        filled[column, missing[column]] = values
    return filled
