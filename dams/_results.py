"""What the results of this package share: how a notebook shows them, and when two are equal."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from html import escape
from typing import Any

import numpy as np
import pandas as pd


def as_html(sentence: str, table: pd.DataFrame, *, index: bool = True, digits: str = ".4g") -> str:
    """Return what a notebook shows: the sentence as a paragraph, and the table below."""
    return f"<p>{escape(sentence)}</p>{table.to_html(index=index, float_format=f'{{:{digits}}}'.format)}"


class Result:
    """Base of results that hold arrays or tables: equal where all they hold is, and without a hash."""

    def __eq__(self, other: object) -> bool:
        return is_same(self, other) if type(self) is type(other) else NotImplemented

    __hash__ = None  # type: ignore[assignment]


def is_same(one: Any, other: Any) -> bool:
    """Whether two values have the same content: arrays and tables, which answer `==` entry by entry, as a whole."""
    if isinstance(one, pd.DataFrame | pd.Series):
        return type(one) is type(other) and pd.DataFrame(one).equals(pd.DataFrame(other))
    if isinstance(one, np.ndarray):
        return isinstance(other, np.ndarray) and np.array_equal(one, other, equal_nan=one.dtype.kind == "f")
    if isinstance(one, tuple | list):
        return type(one) is type(other) and len(one) == len(other) and all(map(is_same, one, other))
    if is_dataclass(one) and type(one) is type(other):
        compared = [field.name for field in fields(one) if field.compare]
        return all(is_same(getattr(one, name), getattr(other, name)) for name in compared)
    return bool(one == other)
