"""The tables of costs and of row caps in docs/two_way.md are what their files say."""

from pathlib import Path

import pandas as pd

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
HEADING = "| | | cells | closed, before | closed, now | now − before | seconds, before | now | times cheaper |"


def test_shares_and_seconds():
    table = pd.read_csv(DOCS / "two_way_cost.csv").set_index(["dataset", "model"])
    lines = (DOCS / "two_way.md").read_text(encoding="utf-8").split(HEADING, 1)[1].splitlines()[2:]
    seen = 0
    for line in lines:
        if not line.startswith("|"):
            break
        dataset, model, *cells = (cell.strip() for cell in line.strip("|").split("|"))
        row = table.loc[(dataset.lower(), model.lower())]
        change = row["closed_after"] - row["closed_before"]
        assert cells == [
            f"{row['cells']:.0f}",
            f"{row['closed_before']:.0%}".replace("%", " %"),
            f"{row['closed_after']:.0%}".replace("%", " %"),
            f"{100 * change:+.0f} ({100 * row['lower']:+.0f}, {100 * row['upper']:+.0f})".replace("-", "−"),
            f"{row['seconds_before']:.2f}",
            f"{row['seconds_after']:.2f}",
            f"{row['times_cheaper']:.1f}",
        ]
        seen += 1
    assert seen == len(table)


def test_row_caps():
    table = pd.read_csv(ROOT / "benchmarks" / "results" / "two_way_rows.csv")
    heading = "| `max_rows` | closed, linear | change | closed, XGBoost | change | seconds |"
    lines = (DOCS / "two_way.md").read_text(encoding="utf-8").split(heading, 1)[1].splitlines()[2:]
    caps = list(table["max_rows"].unique())
    for cap, line in zip(caps, lines, strict=False):
        expected = ["all" if cap == 0 else f"{cap:,}"]
        for model in ("linear", "xgboost"):
            (row,) = table[(table["max_rows"] == cap) & (table["model"] == model)].itertuples()
            change = f"{100 * row.change:+.0f} ({100 * row.lower:+.0f}, {100 * row.upper:+.0f})".replace("-", "−")
            expected += [f"{row.closed:.0%}".replace("%", " %"), "" if cap == 0 else change]
        assert [cell.strip() for cell in line.strip("|").split("|")] == [*expected, f"{row.seconds:.1f}"]
    assert not lines[len(caps)].startswith("|")
