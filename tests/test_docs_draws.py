"""The tables about draws in docs/two_way.md are what the files beside it say."""

from pathlib import Path

import pandas as pd

DOCS = Path(__file__).parents[1] / "docs"
NAMES = {"XGBoost": "xgboost", "HGB": "hgb", "search": "grid search"}


def rows(first_line):
    """Cells of the table that follows a heading, with the data set in every row."""
    lines = (DOCS / "two_way.md").read_text(encoding="utf-8").split(first_line, 1)[1].splitlines()[2:]
    dataset = ""
    for line in lines:
        if not line.startswith("|"):
            return
        name, model, *numbers = (cell.strip() for cell in line.strip("|").split("|"))
        dataset = name.lower() or dataset
        yield dataset, NAMES.get(model, model), numbers


def test_errors_and_shares():
    scores = pd.read_csv(DOCS / "draws.csv").set_index(["dataset", "regime", "model", "arm"]).sort_index()["score"]
    arms = ["source", "oracle", "oracle_masks", "one", "stacked_3", "mean_3", "mean_5"]
    found = list(rows("closed, one draw | closed, 3 averaged |"))
    assert len(found) == 6
    for dataset, model, numbers in found:
        s = scores[dataset, "free", model]
        closed = [
            (s["source"] - s[a]) / (s["source"] - s[o]) for a, o in (("one", "oracle"), ("mean_3", "oracle_masks"))
        ]
        for number, value in zip(numbers, [*s[arms], *closed], strict=True):
            written = float(number.removesuffix(" %")) / (100 if number.endswith("%") else 1)
            assert abs(written - value) <= (0.0055 if number.endswith("%") else 0.00056), (
                dataset,
                model,
                number,
                value,
            )


def test_scores_and_slopes_of_classifiers():
    table = pd.read_csv(DOCS / "draws_classifiers.csv").set_index(["dataset", "model", "arm"]).sort_index()
    found = list(rows("slope: oracle | one draw | 3 stacked | 3 averaged | 5 averaged |"))
    assert len(found) == 9
    near = 0
    for dataset, model, numbers in found:
        part = table.loc[(dataset, model)]
        arms = ["oracle", "one", "stacked_3", "mean_3", "mean_5"]
        expected = [*part["brier"][["source", *arms]], *part["slope"][arms]]
        for number, value in zip(numbers, expected, strict=True):
            assert abs(float(number) - value) <= (0.000051 if len(number) == 5 else 0.0056), (
                dataset,
                model,
                number,
                value,
            )
        assert part["brier"]["mean_5"] == part["brier"][["oracle", "one", "stacked_3", "mean_3", "mean_5"]].min()
        near += abs(part["slope"]["mean_5"] - part["slope"]["oracle"]) < 0.15
        if dataset == "thyroid" or model == "calibration":
            assert part["slope"]["stacked_3"] < (0.455 if dataset == "thyroid" else 0.935)
        if abs(part["slope"]["mean_5"] - part["slope"]["oracle"]) >= 0.15:
            assert abs(part["slope"]["mean_5"] - 1) < abs(part["slope"]["oracle"] - 1)
    assert near == 8
