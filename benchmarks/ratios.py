"""The tables of ratios and of costs in benchmarks/README.md, from the CSV files that the benchmarks left."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import pandas as pd

FOLDER = Path(__file__).parent
T = TypeVar("T")
START, END = "<!-- ratios -->\n", "<!-- end of ratios -->\n"
START_COSTS, END_COSTS = "<!-- costs -->\n", "<!-- end of costs -->\n"
Row = tuple[str, str, str, float]
# As above, then seconds and megabytes beyond the tables.
Cost = tuple[str, str, str, float, float, float]


def linear_sweep(table: pd.DataFrame) -> Iterator[Row]:
    for row in table[
        (table["rows"] == table["rows"].max()) & (table["columns"] == table["columns"].max())
    ].itertuples():
        if row.betas > 1:
            yield "linear models", f"Bank, {row.betas} β", "scikit-learn, every β anew", row.ratio


def missforest(table: pd.DataFrame) -> Iterator[Row]:
    # Every cell counts once, however many seeds it was run with.
    cells = table[table["measure"] == "seconds"].pivot_table(
        index=["dataset", "regime", "draw"], columns="item", values="value", sort=False
    )
    for name, row in cells.groupby("dataset", sort=False).mean().iterrows():
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


def end_to_end(table: pd.DataFrame) -> Iterator[Row]:
    for row in table.itertuples():
        name = "all three" if row.dataset == "all" else row.dataset.capitalize()
        yield "the paper's methods, whole design", name, "plain protocol", row.ratio
        yield "the paper's methods, whole design", name, "plain protocol, imputing once per draw", row.ratio_once


SUMMARIES: dict[str, Callable[[pd.DataFrame], Iterator[Row]]] = {
    function.__name__: function for function in (linear_sweep, missforest, mlp, xgboost, end_to_end)
}


def wide(table: pd.DataFrame) -> Iterator[Cost]:
    for row in table[table["seconds"].notna()].itertuples():
        data = f"{row.rows:,} × {row.columns:,}, sparse, {row.data}"
        yield row.what, data, "`Ridge`", row.ratio, row.seconds, row.memory_mb


def at_scale(table: pd.DataFrame) -> Iterator[Cost]:
    for row in table[table["rows"] == table["rows"].max()].itertuples():
        data = f"{row.rows:,} × {row.columns:,}"
        yield row.what, data, f"`{row.against}`", row.ratio, row.seconds, row.memory_mb


COSTS: dict[str, Callable[[pd.DataFrame], Iterator[Cost]]] = {"at_scale": at_scale, "wide": wide}


def write() -> None:
    """Renew both tables; benchmarks that were not run keep the CSV of their last run."""
    ratios = ["| what | data | against | times faster |\n", "| --- | --- | --- | --- |\n"]
    for name, summarise in SUMMARIES.items():
        ratios += [
            f"| {what} | {data} | {other} | {ratio:.1f} |\n" for what, data, other, ratio in _rows(name, summarise)
        ]
    costs = ["| what | rows × columns | against | times its time | seconds | MB beyond the tables |\n"]
    costs.append("| --- | --- | --- | --- | --- | --- |\n")
    for name, list_costs in COSTS.items():
        costs += [
            f"| {what} | {data} | {other} | {ratio:.1f} | {seconds:.1f} | {memory:.0f} |\n"
            for what, data, other, ratio, seconds, memory in _rows(name, list_costs)
        ]
    page = FOLDER / "README.md"
    text = page.read_text(encoding="utf-8")
    for lines, first, last in ((ratios, START, END), (costs, START_COSTS, END_COSTS)):
        before, after = text.split(first)[0], text.split(last)[1]
        text = before + first + "".join(lines) + last + after
    page.write_text(text, encoding="utf-8")


def _rows(name: str, summarise: Callable[[pd.DataFrame], Iterator[T]]) -> Iterator[T]:
    file = FOLDER / "results" / f"{name}.csv"
    return summarise(pd.read_csv(file)) if file.exists() else iter(())


if __name__ == "__main__":
    write()
