"""Columns of Parquet files, read by pyarrow a batch at a time."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from pandas.api.types import union_categoricals

from dams._extras import how_to_install
from dams.datasets.csv_files import NO_VALUE, is_mostly_words
from dams.datasets.csv_numbers import Columns
from dams.two_files.opening import MOST_BYTES, TableFile

if TYPE_CHECKING:
    from pyarrow.parquet import ParquetFile

BATCH = 20_000


def read_parquet_names(file: TableFile) -> list[str]:
    """Return the names of the columns; one that pandas made of an index has none, as in a CSV file."""
    with _opened(file) as table:
        names = list(table.schema_arrow.names)
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"{file} has more than one column {', '.join(map(repr, twice[:20]))}; rename the others.")
    return ["" if name.startswith("__index_level_") else name for name in names]


def read_parquet_columns(
    file: TableFile,
    columns: Sequence[str],
    *,
    text: Collection[str] = (),
    or_text: bool = False,
    expected: str = "a number",
) -> Columns:
    """Read columns of numbers, NaN where there is no value, and columns of text beside them.

    The parameters are those of `dams.datasets.csv_numbers.read_columns`.
    """
    import pyarrow as pa

    with _opened(file) as table:
        schema = table.schema_arrow
        words = [name for name in columns if or_text and name not in text and _is_text(schema.field(name).type)]
        numbers = [name for name in columns if name not in text and name not in words]
        for name in numbers:
            _refuse_type(file, name, schema.field(name).type, expected)
        n_rows = table.metadata.num_rows
        if n_rows == 0:
            raise ValueError(f"{file} has columns but no rows.")
        if 8 * n_rows * max(1, len(columns)) > MOST_BYTES:
            raise ValueError(
                f"{file} has {n_rows:,} rows of {len(columns)} columns, more than {MOST_BYTES / 2**30:.2g} GB as "
                "numbers: take a sample of the rows, or docs/examples/long_table.py."
            )
        values = np.empty((n_rows, len(numbers)))
        parts: dict[str, list[pd.Categorical]] = {name: [] for name in [*words, *text]}
        start = 0
        try:
            for batch in table.iter_batches(BATCH, columns=[*numbers, *parts]):
                stop = start + batch.num_rows
                for j, name in enumerate(numbers):
                    values[start:stop, j] = _floats(batch.column(name))
                for name, found in parts.items():
                    found.append(_categories(batch.column(name)))
                start = stop
        except (pa.ArrowException, OSError) as error:
            raise _damaged(file, error) from None
    found_words = {name: union_categoricals(found) for name, found in parts.items()}
    for name in words:
        _refuse_numbers_as_text(file, name, found_words[name])
    infinite = np.isinf(values).any(axis=0)
    if infinite.any():
        name = numbers[int(np.argmax(infinite))]
        row = int(np.argmax(np.isinf(values[:, numbers.index(name)])))
        raise ValueError(f"{file}, row {row + 1}, column {name!r}: got an infinite value, expected {expected}.")
    return Columns(numbers, values, found_words)


@contextmanager
def _opened(file: TableFile) -> Iterator[ParquetFile]:
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            f"{file} is a Parquet file, and pyarrow, which reads it, is not installed: {how_to_install('pyarrow')} "
            "installs it. Or write the table as CSV.",
            name="pyarrow",
        ) from None
    try:
        table = parquet.ParquetFile(file.file)
    except (pa.ArrowException, OSError) as error:
        raise _damaged(file, error) from None
    with table:
        yield table


def _damaged(file: TableFile, error: Exception) -> ValueError:
    return ValueError(
        f"{file} begins as a Parquet file but can't be read ({str(error)[:200]}): copy or write it again."
    )


def _is_text(kind: Any) -> bool:
    from pyarrow import types

    if types.is_dictionary(kind):
        kind = kind.value_type
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def _refuse_type(file: TableFile, name: str, kind: Any, expected: str) -> None:
    """Raise for dates, lists and whatever else is neither a number nor a flag nor text."""
    from pyarrow import types

    tests = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal, types.is_null)
    if types.is_dictionary(kind):
        kind = kind.value_type
    if not any(test(kind) for test in tests):
        days = "; a date can be given as a number of days" if types.is_temporal(kind) else ""
        raise ValueError(f"{file}, column {name!r}: got values of type {kind}, expected {expected}{days}.")


def _refuse_numbers_as_text(file: TableFile, name: str, words: pd.Categorical) -> None:
    text = pd.Series(words.astype(object), dtype="string")
    if text.notna().any() and not is_mostly_words(text):
        raise ValueError(
            f"{file}, column {name!r}: got text that is mostly numbers, such as {text.dropna().iloc[0]!r}. Store it as "
            "numbers (pandas.to_numeric), or leave the column out with --label."
        )


def _plain(column: Any) -> Any:
    import pyarrow as pa

    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


def _floats(column: Any) -> np.ndarray:
    import pyarrow as pa

    return _plain(column).cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)


def _categories(column: Any) -> pd.Categorical:
    """Text of a batch; ids may be numbers."""
    import pyarrow as pa

    words = _plain(column).cast(pa.string()).to_pandas().astype(object)
    return pd.Categorical(words.mask(words.isin(NO_VALUE), None))
