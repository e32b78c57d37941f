"""Underreporting completely at random: masks that turn values into zeros.

A corrupted covariate is X̃ = X ⊙ ξ with ξ_j ~ Bernoulli(1 − m_j) independent of everything; ξ is not observed.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from dams._random import as_generator
from dams._validation import as_pandas, column_names, compare_columns, describe_columns, refuse_unusable
from dams.rates import Rates


def check_rates(rates: Any, n_features: int, *, name: str = "rates", names: Sequence[Any] | None = None) -> Rates:
    """Return `rates` as a vector of length `n_features` with values in [0, 1), or say what is wrong with them.

    `names` name the columns in messages.
    """
    values = np.asarray(rates, dtype=float)
    if values.ndim == 0:
        values = np.full(n_features, float(values))
    if values.shape != (n_features,):
        raise ValueError(
            f"{name} must be one number or a vector with one rate per column ({n_features}), "
            f"got an array of shape {values.shape}."
        )
    bad = ~((values >= 0) & (values < 1))
    if bad.any():
        j = np.flatnonzero(bad)[:1]
        raise ValueError(
            f"{name} must lie in [0, 1): a column that is always lost (rate 1) carries nothing and should be dropped; "
            f"got {values[j[0]]:g} for {describe_columns(j, names)}."
        )
    return values


def apply_missingness(X: Any, rates: Any, *, random_state: Any = None) -> Any:
    """Corrupt X: every nonzero entry of column j becomes zero with probability `rates[j]`.

    Parameters
    ----------
    X : array, DataFrame or sparse matrix of shape (n, d)
        Clean covariates. Never changed in place.
    rates : float, array of shape (d,), Series or dict
        Missingness rates m, each in [0, 1). With a DataFrame, a Series or dict gives them by column name.
    random_state : int, Generator, RandomState or None
        Same seed, same mask. For sparse input only the stored values need a draw, so its mask differs from that of
        the same data held densely.

    Returns
    -------
    array, DataFrame or sparse matrix
        X̃ of the same type, shape and names as X; a DataFrame of another library comes back as pandas'. Categories,
        which must be numbers, get the category 0 where one is lost.

    See Also
    --------
    NestedRates, FreeRates, OpposingRates : Rates as in the paper's experiments.

    Examples
    --------
    >>> import numpy as np
    >>> from dams import apply_missingness
    >>> lossy = apply_missingness(np.ones((10_000, 2)), [0.2, 0.5], random_state=0)
    >>> lossy.mean(axis=0).round(1)
    array([0.8, 0.5])
    """
    X = X if hasattr(X, "shape") else np.asarray(X)
    if len(X.shape) != 2:
        raise ValueError(f"X must have two dimensions (rows, columns), got an array of shape {X.shape}.")
    refuse_unusable(X, name="X")
    names = column_names(X)
    m = check_rates(_rates_in_order(rates, names), X.shape[1], names=names)
    return delete_at_random(X, m, as_generator(random_state))


def _rates_in_order(rates: Any, names: list[Any] | None) -> Any:
    """Rates given by name, in the order of the columns; others as they are."""
    if isinstance(rates, pd.Series) and names is not None:
        if not rates.index.is_unique:
            raise ValueError(f"rates must give every column one rate, got several for {_repeated(rates)}.")
        rates = rates.to_dict()
    if not isinstance(rates, Mapping):
        return rates
    if names is None:
        raise ValueError("rates by name need a DataFrame: give a vector with one rate per column.")
    different = compare_columns(names, rates)
    if different is not None:
        raise ValueError(
            f"rates must name every column of X and no other. Without a rate: {different[0]}; not in X: "
            f"{different[1]}. An array gives rates in the order of the columns."
        )
    return [rates[name] for name in names]


def _repeated(rates: pd.Series) -> str:
    return describe_columns(np.flatnonzero(rates.index.duplicated()), list(rates.index))


def delete_at_random(
    X: Any, rates: Rates, rng: np.random.Generator, *, groups: np.ndarray | None = None, overwrite: bool = False
) -> Any:
    """Zero entries of column j with probability `rates[j]`, in [0, 1], each on its own; or `rates[i, j]` by row.

    `groups` numbers the groups of columns from 0 on, as `dams._columns.resolve_groups` does: the columns of a group,
    which have one rate, are lost with one draw per row. `overwrite` says that X is a float array which nobody else
    needs: large sweeps wait for memory more than anything.
    """
    groups = _unless_alone(groups)
    if sparse.issparse(X):
        coo = canonical_csr(X).tocoo()
        if groups is None:
            keep = rng.random(coo.nnz) >= (rates[coo.col] if rates.ndim == 1 else rates[coo.row, coo.col])
        else:
            keep = _draw_kept_together(coo.shape, rates, groups, rng)[coo.row, coo.col]
        kept = type(coo)((coo.data[keep], (coo.row[keep], coo.col[keep])), shape=coo.shape)
        return kept.asformat(X.format)
    X = as_pandas(X)
    kept = draw_kept(X.shape, rates, rng, groups)
    if isinstance(X, pd.DataFrame) and not _has_one_numeric_type(X):
        return _delete_by_column(X, kept)
    values = np.asarray(X)
    if values.dtype.kind == "O":
        return np.where(kept, values, 0)
    # A product is four times as fast as `where`; adding zero turns the -0 of a lost negative value into 0.
    corrupted = np.multiply(values, kept, out=values if overwrite else None)
    if corrupted.dtype.kind == "f":
        corrupted += 0.0
    return pd.DataFrame(corrupted, index=X.index, columns=X.columns) if isinstance(X, pd.DataFrame) else corrupted


def _has_one_numeric_type(X: pd.DataFrame) -> bool:
    """Whether X is one array of numbers; columns of several types would meet in an array of objects."""
    types = set(X.dtypes)
    return len(types) == 1 and all(isinstance(dtype, np.dtype) and dtype.kind in "biuf" for dtype in types)


def _delete_by_column(X: pd.DataFrame, kept: np.ndarray) -> pd.DataFrame:
    """Zero what is not kept; every column stays of its type."""
    columns = {j: _delete_from(X.iloc[:, j], kept[:, j]) for j in range(X.shape[1])}
    return pd.DataFrame(columns, index=X.index).set_axis(X.columns, axis=1)


def _delete_from(column: pd.Series, kept: np.ndarray) -> pd.Series:
    dtype = column.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        if not kept.all():
            column = column.astype(with_zero(dtype))
        return column.where(kept, _zero_of(dtype.categories.dtype))
    corrupted = column.where(kept, _zero_of(dtype))
    # As in an array, no zero is negative afterwards.
    return corrupted + 0.0 if dtype.kind == "f" else corrupted


def with_zero(dtype: pd.CategoricalDtype) -> pd.CategoricalDtype:
    """Return the type with zero among its categories, first as among numbers: what is no category turns into NaN."""
    zero = _zero_of(dtype.categories.dtype)
    return dtype if zero in dtype.categories else pd.CategoricalDtype(dtype.categories.insert(0, zero), dtype.ordered)


def _zero_of(dtype: Any) -> Any:
    return False if pd.api.types.is_bool_dtype(dtype) else 0


def canonical_csr(X: Any) -> Any:
    """Return a sparse matrix as CSR with every entry stored once: stored in two parts, it would count as two values."""
    csr = X.tocsr()
    if not csr.has_canonical_format:
        csr = csr.copy()
        csr.sum_duplicates()
    return csr


def _unless_alone(groups: np.ndarray | None) -> np.ndarray | None:
    """The groups, or None where every column has one of its own."""
    return None if groups is None or len(np.unique(groups)) == len(groups) else groups


def draw_kept(
    shape: tuple[int, ...], rates: Rates, rng: np.random.Generator, groups: np.ndarray | None = None
) -> np.ndarray:
    """Mask ξ by which `delete_at_random` multiplies a dense array."""
    groups = _unless_alone(groups)
    return _draw_kept(shape, rates, rng) if groups is None else _draw_kept_together(shape, rates, groups, rng)


def _draw_kept(shape: tuple[int, ...], rates: Rates, rng: np.random.Generator) -> np.ndarray:
    """Mask ξ with P(ξ_ij = 0) = rates[j], from one random byte an entry: drawing dominates a sweep, bytes are cheap.

    A byte below 256·rate loses the entry, one above keeps it; one that meets the whole part of 256·rate is decided by a
    second draw with the fraction that is left, so that no rate is rounded.
    """
    whole = np.minimum(np.floor(rates * 256), 255)
    size = shape[0] * shape[1]
    # Words of eight bytes in one order on every machine; `rng.bytes` takes three times as long.
    words = rng.integers(0, 2**64, size=-(-size // 8), dtype=np.uint64).astype("<u8", copy=False)
    draws = words.view(np.uint8)[:size].reshape(shape)
    threshold = whole.astype(np.uint8)
    kept = draws > threshold
    tied = np.flatnonzero(draws == threshold)
    left = rates * 256 - whole
    kept.ravel()[tied] = rng.random(len(tied)) >= (left[tied % shape[1]] if rates.ndim == 1 else left.ravel()[tied])
    return kept


def _draw_kept_together(
    shape: tuple[int, ...], rates: Rates, groups: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Mask of columns of which those of one group are kept or lost together."""
    _, first = np.unique(groups, return_index=True)
    return _draw_kept((shape[0], len(first)), rates[..., first], rng)[:, groups]
