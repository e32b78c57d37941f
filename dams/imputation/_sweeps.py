"""The loop of MissForest: one forest per column and sweep, each trained on the columns as they stand.

Matrices are held by columns, (n_features, n_samples): one column is binned, read and written at a time.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dams.imputation._forest import ClassTarget, HistogramForest, NumericTarget, bin_column, grow_forest
from dams.imputation._forest.binning import FloatArray, IntArray

BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class ForestSettings:
    """How the forests are grown."""

    n_estimators: int
    max_depth: int
    max_bins: int


@dataclass(frozen=True)
class ColumnModel:
    """How one column is imputed from the others.

    Attributes
    ----------
    column : int
        The column that is imputed.
    features : array of int
        The columns that the forest looks at.
    forest : HistogramForest or None
        None where there is nothing to learn.
    classes : array or None
        Values of a categorical column, in the order of the forest's outputs.
    constant : float
        What to impute without a forest.
    """

    column: int
    features: IntArray
    forest: HistogramForest | None
    classes: FloatArray | None
    constant: float

    def impute(self, values: FloatArray, rows: IntArray) -> FloatArray:
        """Values of the column in the given rows of a filled matrix."""
        if self.forest is None:
            return np.full(len(rows), self.constant)
        outputs = self.forest.predict(values[self.features[:, None], rows])
        return outputs[:, 0] if self.classes is None else self.classes[outputs.argmax(axis=1)]


class KnownValues:
    """The observed entries of a column, ready to be learnt from as often as there are sweeps."""

    def __init__(self, column: int, values: FloatArray, observed: IntArray, *, categorical: bool) -> None:
        self.column = column
        self.rows = observed
        known = values[observed]
        self.largest = float(np.abs(known).max())
        self.classes: FloatArray | None = None
        self.target: ClassTarget | NumericTarget | None = None
        if (known == known[0]).all():
            # Any forest would predict this value: none is needed.
            self.constant = float(known[0])
        elif categorical:
            self.classes, members, counts = np.unique(known, return_inverse=True, return_counts=True)
            self.constant = float(self.classes[counts.argmax()])
            self.target = ClassTarget(members, len(self.classes))
        else:
            self.constant = float(known.mean())
            self.target = NumericTarget(known)


class BinnedMatrix:
    """A filled matrix whose columns are binned once, and again only when they are written."""

    def __init__(self, values: FloatArray, max_bins: int) -> None:
        self.values = values
        self._max_bins = max_bins
        self._columns = [bin_column(column, max_bins) for column in values]

    def write(self, column: int, rows: IntArray, values: FloatArray) -> None:
        """Change some entries of a column."""
        self.values[column, rows] = values
        self._columns[column] = bin_column(self.values[column], self._max_bins)

    def learn(self, known: KnownValues, settings: ForestSettings, rng: np.random.Generator) -> ColumnModel:
        """Train the model of one column on the rows where it is observed."""
        others = [j for j, other in enumerate(self._columns) if j != known.column and other.n_bins > 1]
        forest = None
        if known.target is not None and others:
            forest = grow_forest(
                [self._columns[j] for j in others],
                known.rows,
                known.target,
                n_estimators=settings.n_estimators,
                max_depth=settings.max_depth,
                rng=rng,
            )
        return ColumnModel(known.column, np.array(others, dtype=np.intp), forest, known.classes, known.constant)


@dataclass(frozen=True)
class Sweep:
    """One pass over the columns: its models in order, what they imputed, and by how much that moved the matrix."""

    models: list[ColumnModel]
    imputed: dict[int, FloatArray]
    numeric_change: float
    categorical_change: float

    def moved_less_than(self, previous: "Sweep | None") -> bool:
        """Whether the numeric or the categorical columns come to rest; the first sweep always counts as if they did."""
        return (
            previous is None
            or self.numeric_change < previous.numeric_change
            or self.categorical_change < previous.categorical_change
        )


def sweep_columns(
    initial: FloatArray,
    missing: BoolArray,
    categorical: BoolArray,
    *,
    settings: ForestSettings,
    rng: np.random.Generator,
    abandon: bool = False,
) -> Iterator[Sweep]:
    """Impute every column that misses entries, and again, without end.

    Columns are taken in ascending order of their number of missing entries, the same in every sweep. A sweep moves
    numeric columns by γ = Σ(new − old)² / Σ new², and categorical ones by the share of missing entries that changed.

    Parameters
    ----------
    initial : array of shape (n_features, n_samples)
        The matrix with first guesses for its missing entries.
    missing : array of shape (n_features, n_samples)
        True for the entries to impute; not all of a column.
    categorical : array of shape (n_features,)
        True for the categorical columns.
    settings : ForestSettings
    rng : Generator
    abandon : bool, default=False
        End in the middle of a sweep, without yielding it, once it is sure not to have `moved_less_than` the last.

    Yields
    ------
    Sweep
    """
    n_missing = missing.sum(axis=1)
    order = [int(column) for column in np.argsort(n_missing, kind="stable") if n_missing[column]]
    lost = {column: np.flatnonzero(missing[column]) for column in order}
    known = {
        column: KnownValues(
            column, initial[column], np.flatnonzero(~missing[column]), categorical=bool(categorical[column])
        )
        for column in order
    }
    numeric = [column for column in order if not categorical[column]]
    n_categorical = max(1, int(n_missing[categorical].sum()))
    observed_size = sum(float(row @ row) for row in initial[~categorical])
    observed_size -= sum(float((initial[column, lost[column]] ** 2).sum()) for column in numeric)
    # No mean of known values is larger than the largest of them.
    most = {column: len(lost[column]) * known[column].largest ** 2 for column in numeric}

    matrix = BinnedMatrix(initial.copy(), settings.max_bins)
    previous: Sweep | None = None
    while True:
        models = []
        imputed = {}
        moved, n_changed, size, size_to_come = 0.0, 0, observed_size, sum(most.values())
        for column in order:
            model = matrix.learn(known[column], settings, rng)
            new, old = model.impute(matrix.values, lost[column]), matrix.values[column, lost[column]]
            if (new != old).any():
                matrix.write(column, lost[column], new)
            models.append(model)
            imputed[column] = new
            if categorical[column]:
                n_changed += int((new != old).sum())
            else:
                moved += float(((new - old) ** 2).sum())
                size += float((new**2).sum())
                size_to_come -= most[column]
            if (
                abandon
                and previous is not None
                and moved >= previous.numeric_change * (size + size_to_come)
                and n_changed >= previous.categorical_change * n_categorical
            ):
                return
        previous = Sweep(models, imputed, moved / size if size else 0.0, n_changed / n_categorical)
        yield previous


def learn_complete_columns(
    values: FloatArray,
    missing: BoolArray,
    categorical: BoolArray,
    *,
    settings: ForestSettings,
    rng: np.random.Generator,
) -> list[ColumnModel]:
    """Train a model for each column that misses nothing here, and may elsewhere, on the imputed matrix."""
    matrix = BinnedMatrix(values, settings.max_bins)
    every_row = np.arange(values.shape[1])
    return [
        matrix.learn(
            KnownValues(column, values[column], every_row, categorical=bool(categorical[column])), settings, rng
        )
        for column in map(int, np.flatnonzero(~missing.any(axis=1)))
    ]
