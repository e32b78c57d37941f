"""Rows in summary: the counts and moments that the closed form needs, which add up over chunks, files and machines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.utils import check_array, check_consistent_length

from dams._columns import resolve_groups
from dams._rows import GroupedRows, Tally, tally
from dams._validation import check_covariates, column_names, refuse_repeated_names, refuse_text_labels
from dams.estimators._base import warn_if_constant, warn_of_few_values
from dams.estimators.folds import N_FOLDS, Columns, FoldedMoments, hash_ids
from dams.relative import RelativeMissingness, count_nonzero, from_tallies, warn_without_zeros

Array = np.ndarray


@dataclass(frozen=True)
class _GroupCounts:
    """Nonzeros by group of rows, in the order of `ids`, the groups' hashes."""

    ids: Array
    rows: GroupedRows

    @classmethod
    def of(cls, X: Any, unit: Array, hashes: Array) -> _GroupCounts:
        ids, number = np.unique(hashes, return_inverse=True)
        grouped = tally(X, unit, number).grouped
        assert grouped is not None
        return cls(ids, grouped)

    def __add__(self, other: _GroupCounts) -> _GroupCounts:
        ids, number = np.unique(np.concatenate([self.ids, other.ids]), return_inverse=True)
        belongs = sparse.csr_array((np.ones(len(number), dtype=np.int64), (number, np.arange(len(number)))))
        count = belongs @ sparse.vstack([self.rows.count, other.rows.count], format="csr")
        size = belongs @ np.concatenate([self.rows.size, other.rows.size])
        return _GroupCounts(ids, GroupedRows(count, size))


@dataclass(frozen=True, repr=False, eq=False)
class Summary:
    """Counts and moments of rows of one domain. They add up: `a + b` is the summary of the rows of both.

    So rows may come in chunks, files or months, on one machine or several, and none is needed twice.
    `ClosedFormRegressor.fit_summaries` gives what `fit` gives on all the rows. Make one with `Summary.of`; it takes
    the memory of ten d × d matrices, however many the rows, and can be pickled.

    Attributes
    ----------
    n : int
        Rows.
    n_features : int
        Columns, d.
    feature_names : list or None
        Names of the columns, if they came in a DataFrame.

    See Also
    --------
    ClosedFormRegressor : Its `fit_summaries` fits a model to two of these.

    Examples
    --------
    >>> import numpy as np
    >>> from dams import ClosedFormRegressor, Summary, apply_missingness
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(20_000, 2)) + 1
    >>> y = X @ [1.0, 2.0]
    >>> source = apply_missingness(X[:10_000], [0.0, 0.5], random_state=1)
    >>> target = apply_missingness(X[10_000:], [0.5, 0.0], random_state=2)
    >>> here = Summary.of(source[:5000], y[:5000]) + Summary.of(source[5000:], y[5000:10_000])
    >>> there = sum(Summary.of(chunk) for chunk in np.array_split(target, 10))
    >>> here, there
    (Summary of 10,000 rows of 2 columns with 1 label, Summary of 10,000 rows of 2 columns)
    >>> model = ClosedFormRegressor().fit_summaries(here, there)
    >>> round(float(model.score(target, y[10_000:])), 2)
    0.87
    """

    _folded: FoldedMoments
    _nonzeros: Array
    _unit: Array  # the number of each column's group
    _groups: _GroupCounts | None
    one_label: bool  # whether the labels came as a vector
    feature_names: list[Any] | None = None

    @classmethod
    def of(
        cls, X: Any, y: Any = None, *, groups: Any = None, column_groups: Any = None, n_folds: int = N_FOLDS
    ) -> Summary:
        """Summarise rows.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n, d)
            Covariates; zero means zero or missing.
        y : array of shape (n,) or (n, k), or None
            Labels, of source rows.
        groups : array of shape (n,), or None
            Ids of rows that belong together, such as those of one patient, in one chunk or several. Counts are kept
            for every id.
        column_groups : list of lists of columns, or None
            Columns that are lost together, as the regressor is told.
        n_folds : int
            Folds of rows over which the choice of `stabilise` is made. 1 saves memory where it is False.
        """
        refuse_repeated_names(X, name="X")
        names = column_names(X)
        rows = check_covariates(X, name="X")
        labels = None if y is None else _read_labels(y, rows)
        unit = resolve_groups(column_groups, rows.shape[1], names)
        ids = None if groups is None else _read_ids(groups, rows.shape[0])
        folded = FoldedMoments.of(
            rows,
            None if labels is None else labels.reshape(len(labels), -1),
            groups=ids,
            columns=Columns(groups=None if unit.max() + 1 == len(unit) else unit),
            n_folds=n_folds,
        )
        counts = None if ids is None else _GroupCounts.of(rows, unit, hash_ids(ids))
        return cls(folded, count_nonzero(rows), unit, counts, labels is not None and labels.ndim == 1, names)

    def __add__(self, other: Summary) -> Summary:
        if not isinstance(other, Summary):
            return NotImplemented
        _refuse_other_rows(self, other)
        groups = None if self._groups is None or other._groups is None else self._groups + other._groups
        return replace(
            self, _folded=self._folded + other._folded, _nonzeros=self._nonzeros + other._nonzeros, _groups=groups
        )

    def __radd__(self, other: Any) -> Summary:
        # `sum` starts from 0.
        return self if isinstance(other, int) and other == 0 else NotImplemented

    @property
    def n(self) -> int:
        """Number of rows."""
        return self._folded.n

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return len(self._nonzeros)

    @property
    def n_labels(self) -> int:
        """Number of label columns, 0 without labels."""
        means = self._folded.parts[0].label_mean
        return 0 if means is None else len(means)

    def __repr__(self) -> str:
        labels = f" with {self.n_labels} label{'s' * (self.n_labels != 1)}" if self.n_labels else ""
        return f"Summary of {self.n:,} rows of {self.n_features} columns{labels}"

    def fold(self, columns: Columns) -> FoldedMoments:
        """Return the moments by fold, with what is known of the columns."""
        counts = self._folded.counts
        if columns.always is not None:
            sizes = np.array([part.n for part in self._folded.parts])
            counts = np.where(columns.always, sizes[:, None], counts)
        return replace(self._folded, counts=counts, columns=columns)

    def refuse_other_use(self, columns: Columns, n_folds: int, *, name: str) -> None:
        """Raise unless the rows were summarised for a fit that knows this of the columns, over so many folds."""
        groups = np.arange(self.n_features) if columns.groups is None else columns.groups
        if not np.array_equal(self._unit, groups):
            raise ValueError(
                f"{name} was summarised with other column_groups than the estimator has: give both the same."
            )
        if len(self._folded.parts) < n_folds:
            raise ValueError(
                f"{name} was summarised with n_folds={len(self._folded.parts)}, which only stabilise=False takes."
            )
        if self._groups is not None and len(self._groups.ids) < 2:
            raise ValueError(f"groups of {name} put all rows into one: what varies between groups is not seen.")

    def tally(self) -> Tally:
        """Return the rows with a value, by group of columns."""
        _, first = np.unique(self._unit, return_index=True)
        count = self._folded.counts.sum(axis=0)[first]
        # Ids of which every row has its own put no rows together.
        alone = self._groups is None or len(self._groups.ids) == self.n
        return Tally(count, self.n, None if alone or self._groups is None else self._groups.rows)


def compare_summaries(source: Summary, target: Summary, known: Array) -> RelativeMissingness:
    """Estimate the relative missingness; `known` says which columns are always recorded."""
    counts = source._nonzeros, target._nonzeros
    names = source.feature_names
    warn_without_zeros(counts[0][~known], counts[1][~known], source.n, target.n)
    tallies = source.tally(), target.tally()
    relative = from_tallies(counts, tallies, source._unit, known, feature_names=names, for_fit=True)
    warn_of_few_values(counts[0], relative, names, known)
    return relative


def warn_of_constant_labels(source: FoldedMoments) -> None:
    """Warn of labels without any spread, as a fit on rows does."""
    whole = source.merged()
    assert whole.label_mean is not None and whole.label_variance is not None
    constant = whole.label_variance <= 1e-20 * whole.label_mean**2
    warn_if_constant(whole.label_mean[None, constant])


def refuse_unlike(source: Any, target: Any) -> None:
    """Raise unless both are summaries of the same columns, that of the source with labels; the target's may be None."""
    for name, summary in (("source", source), ("target", target)):
        if not isinstance(summary, Summary) and (name == "source" or summary is not None):
            raise TypeError(f"{name} must be a Summary, got {type(summary).__name__}: make one with Summary.of.")
    if not source.n_labels:
        raise ValueError("source has no labels: give them to Summary.of as y.")
    if target is not None:
        _refuse_other_columns(source, target)


def _refuse_other_rows(one: Summary, other: Summary) -> None:
    """Raise unless two summaries are of rows that go together."""
    _refuse_other_columns(one, other)
    facts: Sequence[tuple[str, Any, Any]] = [
        ("labels", (one.n_labels, one.one_label), (other.n_labels, other.one_label)),
        ("column_groups", one._unit.tolist(), other._unit.tolist()),
        ("n_folds", len(one._folded.parts), len(other._folded.parts)),
        ("groups", one._groups is None, other._groups is None),
    ]
    different = [name for name, a, b in facts if a != b]
    if different:
        raise ValueError(
            f"Summaries of one domain must agree in {different[0]}: give Summary.of the same in every chunk."
        )


def _refuse_other_columns(one: Summary, other: Summary) -> None:
    if one.n_features != other.n_features:
        raise ValueError(f"Summaries must have the same columns, got {one.n_features} and {other.n_features} of them.")
    names = one.feature_names, other.feature_names
    if None not in names and names[0] != names[1]:
        a, b = next((a, b) for a, b in zip(*names, strict=True) if a != b)  # type: ignore[arg-type]
        raise ValueError(
            f"Summaries must have the same columns in the same order, got {a!r} in one where the other has {b!r}: "
            "select the columns by name in every chunk."
        )


def _read_labels(y: Any, X: Any) -> Array:
    refuse_text_labels(y)
    labels = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
    check_consistent_length(X, labels)
    return labels


def _read_ids(groups: Any, n_rows: int) -> Array:
    values = groups.to_numpy() if hasattr(groups, "to_numpy") else np.asarray(groups)
    if values.shape != (n_rows,):
        raise ValueError(f"groups must hold one id per row, {n_rows}, got an array of shape {values.shape}.")
    if pd.isna(values).any():
        raise ValueError(
            f"groups has no id in {pd.isna(values).sum()} rows: give a row that stands alone an id of its own."
        )
    return values
