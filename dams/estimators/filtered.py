"""The non-parametric adjustment (algorithm 1): delete source values at the relative missingness, then fit anything."""

from __future__ import annotations

from typing import Any

import numpy as np

from dams.estimators._averaged import AveragedEstimator
from dams.estimators._doubts import warn_if_improper
from dams.estimators._resampler import Resampler


class MissingnessFilter(Resampler):
    """Delete source values until the source loses as much as the target.

    Every value of column j is zeroed with probability max(r̂_j, 0). Where the target loses at least as much as the
    source in every column, the result has the target's law; a column that the target records better (r_j < 0) is left
    as it is, the adjustment is improper, and a warning says so.

    It filters rows to train on and is no step of a pipeline that also predicts: `FilteredEstimator` filters while
    fitting only.

    Parameters
    ----------
    always_recorded : list of columns, mask or None
        Columns that are never lost, by name or position: their r is 0, and nothing is deleted.
    column_groups : list of lists of columns or None
        Columns that are lost together, such as a panel of measurements: they have one r and one draw per row.
    anchors : list of columns, mask or None
        Columns that both domains always record and on which loss, and the population, may depend, such as age or site:
        r is then a smooth function of them (`dams.anchors`), and rows have weights. They count among
        `always_recorded`.
    random_state : int, Generator, RandomState or None
        With an integer every call draws the same mask.

    Attributes
    ----------
    relative_missingness_ : RelativeMissingness or None
        The estimate; None without target data.
    rates_ : array of shape (d,)
        max(r̂, 0); with anchors (n, d), of each row.
    weights_ : array of shape (n,) or None
        With anchors, w(s) of each row: the target's law of the anchors over the source's.
    filled_ : array of bool, shape (d,)
        All False: this filter only deletes.
    n_features_in_, feature_names_in_
        As in every estimator of scikit-learn.

    See Also
    --------
    TwoWayFilter : Also fills in what the target records better.
    FilteredEstimator : A model fitted on the filtered rows.

    Examples
    --------
    >>> import numpy as np
    >>> from dams import MissingnessFilter, apply_missingness
    >>> X = np.ones((10_000, 1))
    >>> source = apply_missingness(X, 0.2, random_state=0)
    >>> target = apply_missingness(X, 0.7, random_state=1)
    >>> rows, labels = MissingnessFilter(random_state=2).fit_resample(source, X[:, 0], X_target=target)
    >>> round(float(rows.mean()), 1)
    0.3
    """

    def __init__(
        self,
        *,
        always_recorded: Any = None,
        column_groups: Any = None,
        anchors: Any = None,
        random_state: Any = None,
    ):
        self.always_recorded = always_recorded
        self.column_groups = column_groups
        self.anchors = anchors
        self.random_state = random_state

    def _draw(self, rows: Any, checked: Any, labels: np.ndarray, together: np.ndarray, n_draws: int) -> list[Any]:
        if self.relative_missingness_ is not None:
            warn_if_improper(self.relative_missingness_)
        return self._delete(rows, together, n_draws)


class FilteredEstimator(AveragedEstimator):
    """Fit any estimator on source data filtered to the target's missingness rates (algorithm 1).

    Proper (training rows distributed as labelled target rows) where the target loses at least as much as the source in
    every column: `relative_missingness_.is_proper`. A warning says where it is not.

    Parameters
    ----------
    estimator : scikit-learn regressor or classifier
        Fitted on the filtered source rows; DataFrames reach it as DataFrames.
    n_draws : int
        Models, each fitted on a mask of its own, whose predictions are averaged. One is the paper's algorithm.
    always_recorded : list of columns, mask or None
        Columns that are never lost, by name or position: their r is 0, and nothing is deleted.
    column_groups : list of lists of columns or None
        Columns that are lost together, such as a panel of measurements: they have one r and one draw per row.
    anchors : list of columns, mask or None
        Columns that both domains always record and on which loss, and the population, may depend, such as age or site:
        r is then a smooth function of them (`dams.anchors`), and rows have weights. They count among
        `always_recorded`.
    n_jobs : int or None
        Processes that fit the models of the draws; the result does not depend on it.
    random_state : int, Generator, RandomState or None
        Seed of the masks. The base estimator keeps its own, the same in every draw.
    safeguard : bool
        Whether to fit on the source rows as they are where no rate clearly differs, and, with a warning, where the
        adjustment is improper, or the target's rows contradict it, and a linear predictor is estimated to gain nothing
        by it (`dams.estimators._safeguard`); the latter for up to 500 columns. Weights do not count in it. Not with
        anchors.

    Attributes
    ----------
    estimators_ : list of the fitted base estimators
        One per draw; a single one where nothing is deleted.
    filter_ : MissingnessFilter
    relative_missingness_ : RelativeMissingness or None
    choice_ : str
        "adjusted", or "source" where the source rows were used as they are.
    classes_, coef_, intercept_, feature_importances_
        Where all of `estimators_` have them; of the last three the means.

    See Also
    --------
    TwoWayEstimator : For relative missingness of either sign.
    ClosedFormRegressor : For linear models, without draws.
    MissingnessFilter : The filter alone.

    References
    ----------
    Zhou, Balakrishnan and Lipton, Domain Adaptation under Missingness Shift, AISTATS 2023, algorithm 1.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> from dams import FilteredEstimator, apply_missingness
    >>> rng = np.random.default_rng(0)
    >>> X = rng.integers(1, 4, size=(4_000, 2)).astype(float)
    >>> y = X @ [1.0, 2.0]
    >>> source = apply_missingness(X[:2_000], 0.1, random_state=1)
    >>> target = apply_missingness(X[2_000:], [0.5, 0.2], random_state=2)
    >>> model = FilteredEstimator(DecisionTreeRegressor(), random_state=0)
    >>> model.fit(source, y[:2_000], X_target=target).score(target, y[2_000:]) > 0.6
    True
    """

    def __init__(
        self,
        estimator: Any,
        *,
        n_draws: int = 1,
        always_recorded: Any = None,
        column_groups: Any = None,
        anchors: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        safeguard: bool = True,
    ):
        self.estimator = estimator
        self.n_draws = n_draws
        self.always_recorded = always_recorded
        self.column_groups = column_groups
        self.anchors = anchors
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.safeguard = safeguard

    def _make_filter(self) -> MissingnessFilter:
        return MissingnessFilter(
            always_recorded=self.always_recorded,
            column_groups=self.column_groups,
            anchors=self.anchors,
            random_state=self.random_state,
        )
