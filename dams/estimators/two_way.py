"""The two-way adjustment: delete source values where the target loses more, fill them in where it loses less."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from dams._sklearn import Interval
from dams._validation import as_pandas
from dams.estimators._averaged import AveragedEstimator
from dams.estimators._resampler import Resampler
from dams.estimators.filling import MAX_ROWS, two_way_draws
from dams.missingness import with_zero
from dams.relative import RelativeMissingness

Array = np.ndarray
# Models of an estimator: whoever fits one can afford more draws than an experiment.
N_MODELS = 5
# The fewest rows that a tree may learn from.
LEAST_ROWS = 100


class TwoWayFilter(Resampler):
    """Turn labelled source rows into rows with the target's law, whatever the sign of the relative missingness.

    Under UCAR, for v ≠ 0 and rest = (X̃_{−j}, Y), P^t(X̃_j = v | rest) = (1 − r_j) P^s(X̃_j = v | rest). So where r_j < 0
    a source zero becomes a value with probability −r_j π/(1 − π), π = P^s(X̃_j ≠ 0 | rest), and the value is drawn from
    P^s(X̃_j | X̃_j ≠ 0, rest); where r_j > 0 a value becomes zero with probability r_j. Features are filled one after
    another, each given the others as they then stand, those with the least to fill first; deletion comes last. Columns
    that are lost as one are one feature: where all of them are zero, all are filled from one donor row.

    Only features whose whole interval of r̂ lies below zero (`RelativeMissingness.improper`) are filled. Where there is
    none, this is `MissingnessFilter`.

    Parameters
    ----------
    always_recorded : list of columns, mask or None
        Columns that are never lost, by name or position: their r is 0, and nothing is deleted or filled in.
    column_groups : list of lists of columns or None
        Columns that are lost together, such as a panel of measurements: they have one r, and are deleted and filled
        in as one.
    anchors : list of columns, mask or None
        Columns that both domains always record and on which loss, and the population, may depend, such as age or site:
        r is then a smooth function of them (`dams.anchors`), and rows have weights. They count among
        `always_recorded`.
    n_jobs : int or None
        Threads that grow the trees and fill the draws; the result does not depend on it.
    verbose : int
        Above 0, print a line per feature that is filled.
    max_rows : int or None
        Rows that each tree behind the filled values learns from at most, drawn at random; None: all of them. Tables of
        no more rows are not affected. docs/two_way.md has what fewer rows cost.
    random_state : int, Generator, RandomState or None
        Seed of all draws.

    Attributes
    ----------
    relative_missingness_ : RelativeMissingness or None
        The estimate; None without target data.
    rates_ : array of shape (d,)
        max(r̂, 0), the rates of deletion; with anchors (n, d), of each row.
    weights_ : array of shape (n,) or None
        With anchors, w(s) of each row: the target's law of the anchors over the source's.
    filled_ : array of bool, shape (d,)
        Which columns were filled.
    n_features_in_, feature_names_in_
        As in every estimator of scikit-learn.

    See Also
    --------
    MissingnessFilter : Only deletes, at next to no cost.
    TwoWayEstimator : Models fitted on the adjusted rows.

    Examples
    --------
    >>> import numpy as np
    >>> from dams import TwoWayFilter, apply_missingness
    >>> rng = np.random.default_rng(0)
    >>> X = rng.integers(1, 4, size=(4_000, 2)).astype(float)
    >>> source = apply_missingness(X[:2_000], [0.6, 0.1], random_state=1)
    >>> target = apply_missingness(X[2_000:], [0.2, 0.5], random_state=2)
    >>> rows, labels = TwoWayFilter(random_state=0).fit_resample(source, X[:2_000, 0], X_target=target)
    >>> (rows != 0).mean(axis=0).round(1)
    array([0.8, 0.5])
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        **Resampler._parameter_constraints,
        "n_jobs": AveragedEstimator._parameter_constraints["n_jobs"],
        "verbose": ["verbose"],
        "max_rows": [Interval(Integral, LEAST_ROWS, None, closed="left"), None],
    }

    def __init__(
        self,
        *,
        always_recorded: Any = None,
        column_groups: Any = None,
        anchors: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        max_rows: int | None = MAX_ROWS,
        random_state: Any = None,
    ):
        self.always_recorded = always_recorded
        self.column_groups = column_groups
        self.anchors = anchors
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.max_rows = max_rows
        self.random_state = random_state

    def _to_fill(self, relative: RelativeMissingness) -> Array:
        return relative.improper

    def _draw(self, rows: Any, checked: Any, labels: Array, together: Array, n_draws: int) -> list[Any]:
        if not self.filled_.any():
            return self._delete(rows, together, n_draws)
        assert self.relative_missingness_ is not None
        draws = two_way_draws(
            checked,
            labels,
            self.relative_missingness_,
            together=together,
            n_draws=n_draws,
            random_state=self.random_state,
            n_jobs=self.n_jobs,
            verbose=self.verbose,
            max_rows=self.max_rows,
        )
        return [_like(draw, rows) for draw in draws]


class TwoWayEstimator(AveragedEstimator):
    """Fit any estimator on source data brought to the target's missingness rates, up or down.

    `FilteredEstimator` for relative missingness of either sign: values that the target records better are filled in
    from their conditional law (`TwoWayFilter`). Equal to it with as many draws, bit for bit, where there is nothing to
    fill.

    Parameters
    ----------
    estimator : scikit-learn regressor or classifier
        Fitted on the adjusted source rows; DataFrames reach it as DataFrames.
    n_draws : int
        Models, each fitted on source rows filled and filtered anew, whose predictions are averaged. The conditional
        laws are learned once.
    always_recorded : list of columns, mask or None
        Columns that are never lost, by name or position: their r is 0, and nothing is deleted or filled in.
    column_groups : list of lists of columns or None
        Columns that are lost together, such as a panel of measurements: they have one r, and are deleted and filled
        in as one.
    anchors : list of columns, mask or None
        Columns that both domains always record and on which loss, and the population, may depend, such as age or site:
        r is then a smooth function of them (`dams.anchors`), and rows have weights. They count among
        `always_recorded`.
    n_jobs : int or None
        Processes that fit the models of the draws, and threads that grow the trees behind the filled values; the
        result does not depend on it.
    verbose : int
        Above 0, print a line per feature that is filled.
    max_rows : int or None
        Rows that each tree behind the filled values learns from at most, drawn at random; None: all of them. Tables of
        no more rows are not affected. docs/two_way.md has what fewer rows cost.
    random_state : int, Generator, RandomState or None
        Seed of all draws. The base estimator keeps its own, the same in every draw.
    safeguard : bool
        Whether to fit on the source rows as they are where no rate clearly differs, and, with a warning, where the
        target's rows contradict the adjusted ones and a linear predictor is estimated to gain nothing by them
        (`dams.estimators._safeguard`), for up to 500 columns: values are filled in column by column, which is wrong
        where columns are lost together. Weights do not count in it. Not with anchors.

    Attributes
    ----------
    estimators_ : list of the fitted base estimators
        One per draw; a single one where nothing is adjusted.
    filter_ : TwoWayFilter
    relative_missingness_ : RelativeMissingness or None
    choice_ : str
        "adjusted", or "source" where the source rows were used as they are.
    classes_, coef_, intercept_, feature_importances_
        Where all of `estimators_` have them; of the last three the means.

    See Also
    --------
    FilteredEstimator : Only deletes, at next to no cost.
    ClosedFormRegressor : For linear models, without draws.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> from dams import TwoWayEstimator, apply_missingness
    >>> rng = np.random.default_rng(0)
    >>> X = np.repeat(rng.integers(0, 2, size=(4_000, 1)), 2, axis=1).astype(float)
    >>> y = X @ [1.0, 2.0]
    >>> source = apply_missingness(X[:2_000], [0.9, 0.1], random_state=1)
    >>> target = apply_missingness(X[2_000:], [0.1, 0.9], random_state=2)
    >>> unadjusted = LinearRegression().fit(source, y[:2_000]).score(target, y[2_000:])
    >>> model = TwoWayEstimator(DecisionTreeRegressor(), random_state=0).fit(source, y[:2_000], X_target=target)
    >>> bool(unadjusted < 0.0 < 0.8 < model.score(target, y[2_000:]))
    True
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        **AveragedEstimator._parameter_constraints,
        "verbose": ["verbose"],
        "max_rows": [Interval(Integral, LEAST_ROWS, None, closed="left"), None],
    }

    def __init__(
        self,
        estimator: Any,
        *,
        n_draws: int = N_MODELS,
        always_recorded: Any = None,
        column_groups: Any = None,
        anchors: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        max_rows: int | None = MAX_ROWS,
        random_state: Any = None,
        safeguard: bool = True,
    ):
        self.estimator = estimator
        self.n_draws = n_draws
        self.always_recorded = always_recorded
        self.column_groups = column_groups
        self.anchors = anchors
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.max_rows = max_rows
        self.random_state = random_state
        self.safeguard = safeguard

    def _make_filter(self) -> TwoWayFilter:
        return TwoWayFilter(
            always_recorded=self.always_recorded,
            column_groups=self.column_groups,
            anchors=self.anchors,
            n_jobs=self.n_jobs,
            verbose=self.verbose,
            max_rows=self.max_rows,
            random_state=self.random_state,
        )


def _like(draw: Array, X: Any) -> Any:
    """Rows like those of X, in X's own form."""
    X = as_pandas(X)
    if isinstance(X, pd.DataFrame):
        columns = {j: _typed(values, X.dtypes.iloc[j]) for j, values in enumerate(draw.T)}
        return pd.DataFrame(columns, index=X.index).set_axis(X.columns, axis=1)
    if sparse.issparse(X):
        return (sparse.csr_matrix if sparse.isspmatrix(X) else sparse.csr_array)(draw)
    return draw


def _typed(values: Array, dtype: Any) -> Any:
    """Values of a column in its type: all are zero or were recorded in it, so none is rounded."""
    if not isinstance(dtype, pd.CategoricalDtype):
        return pd.array(values, dtype=dtype)
    of_categories: Any = dtype.categories.dtype
    return pd.Categorical(
        pd.array(values, dtype=of_categories), dtype=with_zero(dtype) if (values == 0).any() else dtype
    )
