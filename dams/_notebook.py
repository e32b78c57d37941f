"""What a notebook shows of a result: its sentence, and a table below."""

from html import escape

import pandas as pd


def as_html(sentence: str, table: pd.DataFrame, *, index: bool = True, digits: str = ".4g") -> str:
    """Return the sentence as a paragraph, and the table."""
    return f"<p>{escape(sentence)}</p>{table.to_html(index=index, float_format=f'{{:{digits}}}'.format)}"
