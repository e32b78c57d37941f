"""Tables of ratios and of costs in the pages, from the CSV files that the benchmarks of speed left.

python -m benchmarks.ratios

A table stands between `<!-- name -->` and `<!-- end of name -->`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import pandas as pd

FOLDER = Path(__file__).parent
T = TypeVar("T")
Row = tuple[str, str, str, float]
# As above, then seconds and megabytes beyond the tables.
Cost = tuple[str, str, str, float, float, float]
# Ways of `benchmarks.compare` that do nothing else.
READING = {"numbers": "reading, as `dams compare` does", "fields": "reading, field by field"}


def linear_sweep(table: pd.DataFrame) -> Iterator[Row]:
    for row in table[
        (table["rows"] == table["rows"].max()) & (table["columns"] == table["columns"].max())
    ].itertuples():
        if row.betas > 1:
            yield "linear models", f"Bank, {row.betas} β", "scikit-learn, every β anew", row.ratio


def missforest_time(table: pd.DataFrame) -> Iterator[Row]:
    cells = table.pivot_table(index="dataset", columns="item", values="value", sort=False)
    for name, row in cells.iterrows():
        yield "MissForest", str(name).capitalize(), "missingpy", row["missingpy"] / row["fast"]


def mlp(table: pd.DataFrame) -> Iterator[Row]:
    for name, part in table.groupby("dataset", sort=False):
        ratio = part["sklearn_seconds"].sum() / part["engine_seconds"].sum()
        yield "MLP, 3 to 5 labels at once", str(name).capitalize(), "scikit-learn", ratio


def xgboost(table: pd.DataFrame) -> Iterator[Row]:
    for name, part in table.groupby("dataset", sort=False):
        yield (
            "XGBoost, 5 labels",
            str(name).capitalize(),
            "`XGBRegressor`",
            part["reference"].sum() / part["engine"].sum(),
        )


def two_way_cost(table: pd.DataFrame) -> Iterator[Row]:
    for row in table.drop_duplicates("dataset").itertuples():
        yield "two-way adjustment", row.dataset.capitalize(), "more trees, which see all columns", row.times_cheaper


def end_to_end(table: pd.DataFrame) -> Iterator[Row]:
    for row in table.itertuples():
        name = "all three" if row.dataset == "all" else row.dataset.capitalize()
        yield "the paper's methods, whole design", name, "plain protocol", row.ratio
        yield "the paper's methods, whole design", name, "plain protocol, imputing once per draw", row.ratio_once


SUMMARIES: dict[str, Callable[[pd.DataFrame], Iterator[Row]]] = {
    function.__name__: function for function in (linear_sweep, missforest_time, mlp, xgboost, two_way_cost, end_to_end)
}


def wide(table: pd.DataFrame) -> Iterator[Cost]:
    for row in table[table["seconds"].notna()].itertuples():
        data = f"{row.rows:,} × {row.columns:,}, sparse, {row.data}"
        yield row.what, data, "`Ridge`", row.ratio, row.seconds, row.memory_mb


def at_scale(table: pd.DataFrame) -> Iterator[Cost]:
    longest = table.groupby("columns")["rows"].transform("max")
    for row in table[table["rows"] == longest].itertuples():
        data = f"{row.rows:,} × {row.columns:,}"
        yield row.what, data, f"`{row.against}`", row.ratio, row.seconds, row.memory_mb


def compare(table: pd.DataFrame) -> Iterator[Cost]:
    pandas = table.set_index("way")["processor_seconds"]["pandas"]
    for row in table[table["way"] != "pandas"].itertuples():
        way, _, kind = row.way.partition(", ")
        data = f"two files, {row.files_mb:.0f} MB" + (f", {kind}" if kind else "")
        ratio, memory = row.processor_seconds / pandas, row.memory_mb - row.tables_mb
        yield READING.get(way, "`dams compare`"), data, "`pandas.read_csv`", ratio, row.processor_seconds, memory


COSTS: dict[str, Callable[[pd.DataFrame], Iterator[Cost]]] = {"at_scale": at_scale, "wide": wide, "compare": compare}


def table_of_ratios() -> Iterator[str]:
    yield "| what | data | against | times faster |"
    yield "| --- | --- | --- | --- |"
    for name, summarise in SUMMARIES.items():
        for what, data, other, ratio in _rows(name, summarise):
            yield f"| {what} | {data} | {other} | {ratio:.1f} |"


def table_of_costs() -> Iterator[str]:
    yield "| what | data | against | times its time | seconds | MB beyond the tables |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for name, list_costs in COSTS.items():
        for what, data, other, ratio, seconds, memory in _rows(name, list_costs):
            yield f"| {what} | {data} | {other} | {ratio:.1f} | {seconds:.1f} | {memory:.0f} |"


def table_of_wide_fits() -> Iterator[str]:
    yield (
        "| 200,000 sparse rows on either side, 2,000 columns, 1.5 % nonzero | processor seconds | in units of `Ridge` "
        "| MB beyond the tables |"
    )
    yield "| --- | --- | --- | --- |"
    for what, data, _, ratio, seconds, memory in _rows("wide", wide):
        if what == "closed form":
            yield f"| {WIDE_TABLES[data.split(', ')[-1]]} | {seconds:.1f} | {ratio:.1f} | {memory:.0f} |"


WIDE_TABLES = {
    "unrelated": "unrelated columns",
    "topics": "rows of twenty topics",
    "flags": "the same without values, labels mostly noise",
}
# Page and name of every table.
TABLES: dict[tuple[str, str], Callable[[], Iterator[str]]] = {
    ("benchmarks/README.md", "ratios"): table_of_ratios,
    ("benchmarks/README.md", "costs"): table_of_costs,
    ("docs/closed_form.md", "wide tables"): table_of_wide_fits,
}


def write() -> None:
    """Renew every table; benchmarks that were not run keep the CSV of their last run."""
    for (page, name), lines in TABLES.items():
        file = FOLDER.parent / page
        file.write_text(renewed(file.read_text(encoding="utf-8"), name, lines()), encoding="utf-8")


def renewed(text: str, name: str, lines: Iterator[str]) -> str:
    """Return a page with other lines between the marks of a table."""
    first, last = f"<!-- {name} -->\n", f"<!-- end of {name} -->\n"
    before, rest = text.split(first)
    return before + first + "".join(f"{line}\n" for line in lines) + last + rest.split(last)[1]


def _rows(name: str, summarise: Callable[[pd.DataFrame], Iterator[T]]) -> Iterator[T]:
    file = FOLDER / "results" / f"{name}.csv"
    return summarise(pd.read_csv(file)) if file.exists() else iter(())


if __name__ == "__main__":
    write()
