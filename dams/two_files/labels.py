"""Labels as files hold them: numbers, or two words of which one is predicted with a probability."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

Array = np.ndarray
# Fewest labelled source rows that can be divided into rows to fit on and rows to judge on.
LEAST_LABELS = 50
# Fewest of either of two values: with fewer, errors of risks can't be estimated.
LEAST_CASES = 20


@dataclass(frozen=True)
class Labels:
    """Labels of rows, NaN where there is none.

    Attributes
    ----------
    values : array of shape (n,)
        Numbers; of two classes 0 and 1.
    classes : pair of str or None
        What 0 and 1 stand for; None of numbers.
    """

    values: Array
    classes: tuple[str, str] | None

    @property
    def known(self) -> Array:
        """Rows with a label."""
        return ~np.isnan(self.values)


def read_labels(y: Any, name: str, *, as_numbers: bool = False) -> Labels:
    """Read labels of the source; two different values are classes, the one that sorts last being predicted.

    Where a model predicts numbers, and no probabilities, two numbers stay what they are (`as_numbers`).

    Raises
    ------
    ValueError
        Where labels are text of other than two levels, or too few.
    """
    numbers, words = _columns(y)
    n_known = int((~np.isnan(numbers)).sum()) if words is None else int(words.notna().sum())
    if n_known < LEAST_LABELS:
        raise ValueError(
            f"Label {name!r} has {n_known} values in the source, expected at least {LEAST_LABELS}: label more rows."
        )
    if words is not None:
        levels = sorted(words.dropna().unique())
        if len(levels) != 2:
            shown = ", ".join(map(repr, levels[:5]))
            raise ValueError(
                f"Label {name!r} holds text with {len(levels)} levels ({shown}), expected two levels or numbers: make "
                "a column that says whether it is one of them."
            )
        return _two_classes(_codes(words, levels), (levels[0], levels[1]), name)
    values = np.unique(numbers[~np.isnan(numbers)])
    if len(values) < 2:
        raise ValueError(f"Label {name!r} has one value, {values[0]:g}, in all rows of the source: nothing to predict.")
    if len(values) > 2:
        return Labels(numbers, None)
    codes = np.where(np.isnan(numbers), np.nan, (numbers == values[1]).astype(float))
    found = _two_classes(codes, (f"{values[0]:g}", f"{values[1]:g}"), name)
    return Labels(numbers, None) if as_numbers else found


def _two_classes(codes: Array, classes: tuple[str, str], name: str) -> Labels:
    for code, value in enumerate(classes):
        if (count := int((codes == code).sum())) < LEAST_CASES:
            raise ValueError(
                f"Label {name!r} is {value!r} in {count} rows of the source, expected at least {LEAST_CASES} of each "
                "of its two values: too few tell whether adapting pays. Label more rows, or predict something else."
            )
    return Labels(codes, classes)


def read_further_labels(y: Any, name: str, classes: Sequence[str] | None) -> Array:
    """Read labels of the target as those of the source were read; NaN where there is none."""
    numbers, words = _columns(y)
    if classes is None:
        if words is not None:
            raise ValueError(f"Label {name!r} holds text in the target and numbers in the source: write them alike.")
        return numbers
    if words is None:
        words = pd.Series([None if np.isnan(value) else f"{value:g}" for value in numbers], dtype=object)
    unknown = sorted(set(words.dropna()) - set(classes))
    if unknown:
        raise ValueError(
            f"Label {name!r} has the value {unknown[0]!r} in the target, and {classes[0]!r} and {classes[1]!r} in the "
            "source: write them alike."
        )
    return _codes(words, classes)


def _columns(y: Any) -> tuple[Array, pd.Series | None]:
    """Return numbers, or else words, None where there is none."""
    series = pd.Series(np.asarray(y)).reset_index(drop=True)
    if pd.api.types.is_numeric_dtype(series.dtype) or pd.api.types.is_bool_dtype(series.dtype):
        return series.to_numpy(dtype=float), None
    stripped = series.map(lambda value: None if pd.isna(value) else str(value).strip() or None)
    with_text = stripped.dropna()
    numbers = pd.to_numeric(with_text, errors="coerce")
    if numbers.notna().all():
        return pd.to_numeric(stripped).to_numpy(dtype=float), None
    return np.full(len(stripped), np.nan), stripped


def _codes(words: pd.Series, levels: Sequence[str]) -> Array:
    return words.map({level: float(code) for code, level in enumerate(levels)}).to_numpy(dtype=float)
