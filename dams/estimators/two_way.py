"""The two-way adjustment: delete source values where the target loses more, fill them in where it loses less."""

from __future__ import annotations

from contextlib import suppress
from numbers import Integral
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.base import BaseEstimator, _fit_context
from sklearn.utils._param_validation import Interval

from dams._validation import as_pandas
from dams.estimators._base import compare_with_target, filter_generator, read_rows
from dams.estimators._choices import SHIPPED, Choices
from dams.estimators._conditional import ConditionalLaw
from dams.estimators.filtered import FilteredRegressor
from dams.missingness import delete_at_random, with_zero
from dams.relative import RelativeMissingness

Array = np.ndarray


class TwoWayFilter(BaseEstimator):
    """Turn labelled source rows into rows with the target's law, whatever the sign of the relative missingness.

    Under UCAR, for v ≠ 0 and rest = (X̃_{−j}, Y), P^t(X̃_j = v | rest) = (1 − r_j) P^s(X̃_j = v | rest). So where r_j < 0
    a source zero becomes a value with probability −r_j π/(1 − π), π = P^s(X̃_j ≠ 0 | rest), and the value is drawn from
    P^s(X̃_j | X̃_j ≠ 0, rest); where r_j > 0 a value becomes zero with probability r_j. Features are filled one after
    another, each given the others as they then stand, those with the least to fill first; deletion comes last.

    Only features whose whole interval of r̂ lies below zero (`RelativeMissingness.improper`) are filled. Where there is
    none, this is `MissingnessFilter`.

    Parameters
    ----------
    n_draws : int
        Copies of the source rows, each filled and filtered on its own and stacked, where anything is filled. They share
        the learned laws; more of them lower the noise of the draws, and a base estimator then sees more rows.
    random_state : int, Generator or None
        Seed of all draws.

    Attributes
    ----------
    relative_missingness_ : RelativeMissingness or None
        The estimate; None without target data.
    filled_ : array of bool, shape (d,)
        Which features were filled.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        "n_draws": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state", np.random.Generator],
    }
    _choices: Choices = SHIPPED

    def __init__(self, *, n_draws: int = 3, random_state: Any = None):
        self.n_draws = n_draws
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=True)
    def fit_resample(self, X: Any, y: Any, X_target: Any = None) -> tuple[Any, Array]:
        """Return rows and labels distributed as in the target; see `ClosedFormRegressor.fit` for the parameters.

        A DataFrame comes back as one, a sparse matrix as a CSR matrix (it is held densely meanwhile if anything is
        filled).
        """
        checked, labels = read_rows(self, X, y, multi_output=True, ensure_min_samples=2)
        rng = filter_generator(self.random_state)
        self.relative_missingness_: RelativeMissingness | None = None
        self.filled_ = np.zeros(checked.shape[1], dtype=bool)
        rates = np.zeros(checked.shape[1])
        if X_target is not None:
            _, self.relative_missingness_ = compare_with_target(self, checked, X_target)
            self.filled_, rates = self.relative_missingness_.improper, self.relative_missingness_.filter_rates
        if not self.filled_.any():
            # A DataFrame stays one, so that the base estimator may select columns by name.
            return delete_at_random(X if hasattr(X, "columns") else checked, rates, rng), labels
        assert self.relative_missingness_ is not None
        values = checked.toarray() if sparse.issparse(checked) else checked
        r = np.where(self.filled_, self.relative_missingness_.r, 0.0)
        filled = _fill(values, labels, r, self.n_draws, rng, self._choices)
        stacked = np.vstack([delete_at_random(copy, rates, rng) for copy in filled])
        return _like(stacked, X), np.concatenate([labels] * self.n_draws)


class TwoWayRegressor(FilteredRegressor):
    """Fit any estimator on source data brought to the target's missingness rates, up or down.

    `FilteredRegressor` for relative missingness of either sign: values that the target records better are filled in
    from their conditional law (`TwoWayFilter`). Equal to it, bit for bit, where there is nothing to fill.

    Parameters
    ----------
    estimator : scikit-learn regressor or classifier
        Fitted on the adjusted source rows; DataFrames reach it as DataFrames.
    n_draws : int
        Adjusted copies of the source rows that the base estimator is fitted on, where anything is filled.
    random_state : int, Generator or None
        Seed of all draws. The base estimator keeps its own.

    Attributes
    ----------
    estimator_ : the fitted base estimator
    filter_ : TwoWayFilter
    relative_missingness_ : RelativeMissingness or None

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> from dams import FilteredRegressor, TwoWayRegressor, apply_missingness
    >>> rng = np.random.default_rng(0)
    >>> X = np.repeat(rng.integers(0, 2, size=(4_000, 1)), 2, axis=1).astype(float)
    >>> y = X @ [1.0, 2.0]
    >>> source = apply_missingness(X[:2_000], [0.9, 0.1], random_state=1)
    >>> target = apply_missingness(X[2_000:], [0.1, 0.9], random_state=2)
    >>> models = [kind(DecisionTreeRegressor(), random_state=0) for kind in (FilteredRegressor, TwoWayRegressor)]
    >>> one_way, two_way = [m.fit(source, y[:2_000], X_target=target).score(target, y[2_000:]) for m in models]
    >>> bool(one_way < 0.6 < 0.8 < two_way)
    True
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        **FilteredRegressor._parameter_constraints,
        "n_draws": TwoWayFilter._parameter_constraints["n_draws"],
    }

    def __init__(self, estimator: Any, *, n_draws: int = 3, random_state: Any = None):
        super().__init__(estimator, random_state=random_state)
        self.n_draws = n_draws

    def _adjust(self, X: Any, checked: Any, labels: Any, X_target: Any) -> tuple[Any, Any]:
        self.filter_ = TwoWayFilter(n_draws=self.n_draws, random_state=self.random_state)
        return self.filter_.fit_resample(X, labels, X_target=X_target)


def fill_probabilities(probability: Array, expected: float) -> Array:
    """Probabilities of turning zeros into values: proportional to π/(1 − π), at most 1, summing to `expected`.

    In theory the factor is −r_j. Fixing the sum instead keeps the number of nonzeros at the target's, however π errs.
    """
    odds = probability / (1 - probability)
    descending = np.sort(odds)[::-1]
    # With the k largest at 1, the rest share what remains; the least k that leaves no probability above 1.
    remaining = np.cumsum(descending[::-1])[::-1]
    factors = (expected - np.arange(len(odds))) / remaining
    fits = np.flatnonzero(factors * descending <= 1)
    return np.minimum(odds * factors[fits[0]], 1.0) if fits.size else np.ones_like(odds)


def fill_order(r: Array, *, most_first: bool = False) -> Array:
    """Features to fill, those with the least to fill first: what is learned early rests on what was recorded."""
    negative = np.flatnonzero(r < 0)
    least_first = negative[np.argsort(-r[negative], kind="stable")]
    return least_first[::-1] if most_first else least_first


def _fill(X: Array, y: Array, r: Array, n_draws: int, rng: np.random.Generator, choices: Choices) -> list[Array]:
    """Fill the features with r_j < 0 in `n_draws` copies of X, each given the others as they stand in that copy."""
    labels = _label_columns(y)
    folds = rng.permutation(len(X)) % choices.n_folds
    copies = [X.copy() for _ in range(n_draws)]
    for j in fill_order(r, most_first=choices.most_first):
        values = X[:, j]
        zeros = np.flatnonzero(values == 0)
        expected = -r[j] * (len(values) - len(zeros))
        # All copies have the same law, so what is learned from one serves all.
        rest, seed = np.delete(copies[0], j, axis=1), int(rng.integers(2**31))
        law = ConditionalLaw(rest, labels, values, folds, seed=seed, choices=choices)
        for copy in copies:
            rest = np.delete(copy[zeros], j, axis=1)
            filled = rng.random(len(zeros)) < fill_probabilities(law.probability(rest, zeros), expected)
            copy[zeros[filled], j] = law.draw(rest[filled], zeros[filled], rng)
    return copies


def _label_columns(y: Array) -> Array:
    """Labels as standardised columns: numbers as they are, classes that are no numbers one column each."""
    columns = y.reshape(len(y), -1)
    if columns.dtype.kind == "O":
        with suppress(ValueError, TypeError):
            columns = columns.astype(float)
    if columns.dtype.kind not in "iuf":
        columns = np.hstack([column[:, None] == np.unique(column) for column in columns.T])
    columns = columns.astype(float)
    spread = columns.std(axis=0)
    return (columns - columns.mean(axis=0)) / np.where(spread > 0, spread, 1.0)


def _like(stacked: Array, X: Any) -> Any:
    """Copies of X, stacked, in X's own form."""
    X = as_pandas(X)
    if isinstance(X, pd.DataFrame):
        index = X.index.append([X.index] * (len(stacked) // len(X) - 1))
        columns = {j: _typed(values, X.dtypes.iloc[j]) for j, values in enumerate(stacked.T)}
        return pd.DataFrame(columns, index=index).set_axis(X.columns, axis=1)
    if sparse.issparse(X):
        return (sparse.csr_matrix if sparse.isspmatrix(X) else sparse.csr_array)(stacked)
    return stacked


def _typed(values: Array, dtype: Any) -> Any:
    """Values of a column in its type: all are zero or were recorded in it, so none is rounded."""
    if not isinstance(dtype, pd.CategoricalDtype):
        return pd.array(values, dtype=dtype)
    of_categories: Any = dtype.categories.dtype
    return pd.Categorical(
        pd.array(values, dtype=of_categories), dtype=with_zero(dtype) if (values == 0).any() else dtype
    )
