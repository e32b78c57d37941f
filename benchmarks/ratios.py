"""The table of ratios in benchmarks/README.md, from the CSV files that the benchmarks left."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pandas as pd

FOLDER = Path(__file__).parent
START, END = "<!-- ratios -->\n", "<!-- end of ratios -->\n"
Row = tuple[str, str, str, float]


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
        yield "the paper's methods, whole design", name, "plain protocol, imputing once a draw", row.ratio_once


SUMMARIES: dict[str, Callable[[pd.DataFrame], Iterator[Row]]] = {
    function.__name__: function for function in (linear_sweep, missforest, mlp, xgboost, end_to_end)
}


def write() -> None:
    """Renew the table; benchmarks that were not run keep the CSV of their last run."""
    lines = ["| what | data | against | times faster |\n", "| --- | --- | --- | --- |\n"]
    for name, summarise in SUMMARIES.items():
        file = FOLDER / "results" / f"{name}.csv"
        if file.exists():
            lines += [
                f"| {what} | {data} | {other} | {ratio:.1f} |\n"
                for what, data, other, ratio in summarise(pd.read_csv(file))
            ]
    page = FOLDER / "README.md"
    text = page.read_text(encoding="utf-8")
    before, after = text.split(START)[0], text.split(END)[1]
    page.write_text(before + START + "".join(lines) + END + after, encoding="utf-8")


if __name__ == "__main__":
    write()
