"""What a page says first: what adjusting gains, and where it loses."""

import pandas as pd

from dams.report.page.lead import lead_table, verdict_of

NOTHING = pd.DataFrame(columns=["quantity", "variant", "status", "dataset", "regime", "model", "method", "table"])
CLAIMS = pd.DataFrame(columns=["verdict", "kind"])


def summary_of(scores, **changes):
    """Means of the methods of one column of table 1, each over ten draws."""
    about = {"study": "one", "dataset": "diabetes", "regime": "free", "epsilon": None, "labels": "random_linear"}
    repeats = {"draws": 10, "betas": 5, "cells": 50, "failures": 0, "oracle": float("nan")}
    rows = [{**about, "model": "linear", **repeats, "method": name, "mean": mean} for name, mean in scores.items()]
    return pd.DataFrame(rows).assign(**changes)


def notes_of(scores, **changes):
    return lead_table(summary_of(scores, **changes), NOTHING.assign(measured=None)).notes


def test_where_an_adjustment_loses_is_told_with_its_reason():
    first, loses = notes_of({"oracle": 0.19, "source": 0.256, "closed_form": 0.252, "nonparametric": 0.302})
    assert first.startswith("Repeats, intervals")
    assert "Non-parametric does worse than no adjustment on Diabetes, mˢ ? mᵗ (linear 0.302 against 0.256)" in loses
    assert "can only delete" in loses


def test_a_loss_within_two_per_cent_and_the_imputed_are_no_remark():
    assert len(notes_of({"oracle": 0.19, "source": 0.25, "closed_form": 0.254, "imputed": 0.9})) == 1


def test_means_over_fewer_cells_are_not_held_against_the_source():
    summary = summary_of({"oracle": 0.19, "source": 0.25, "two_way": 0.4})
    summary.loc[summary["method"] == "two_way", ["draws", "cells"]] = [2, 10]
    (note,) = lead_table(summary, NOTHING.assign(measured=None)).notes
    assert note.startswith("†")


def test_means_over_fewer_cells_are_brought_to_the_cells_of_the_others():
    """In its cells it is .01 above the oracle; that these are hard ones says nothing of it."""
    summary = summary_of({"oracle": 0.19, "source": 0.25, "two_way": 0.4, "imputed": 0.5})
    here = summary["method"] == "two_way"
    summary.loc[here, ["draws", "cells", "oracle"]] = [2, 10, 0.39]
    # Of whose oracle nothing is known.
    summary.loc[summary["method"] == "imputed", ["draws", "cells"]] = [2, 10]
    (section,) = lead_table(summary, NOTHING.assign(measured=None)).sections
    shown = {title: entries[0].text for title, entries in section.rows}
    assert shown["Two-way (ours)"] == "0.200†"
    assert shown["Imputed"] == "0.500†"
    assert (shown["Oracle"], shown["Source"]) == ("0.190", "0.250")


def test_the_printed_closed_form_stands_beside_the_formula_as_printed():
    about = {"table": "table1", "quantity": "mean", "variant": "corrected", "status": "agrees"}
    place = {"dataset": "diabetes", "regime": "free", "model": "linear", "published": 0.123}
    scores = {"source": 0.25, "closed_form": 0.2}
    printed = pd.DataFrame([about | place | {"method": name, "measured": mean} for name, mean in scores.items()])
    for methods, beside in (
        (scores, "Closed-form"),
        (scores | {"closed_form_as_published": 0.3}, "Closed-form (as published)"),
    ):
        (section,) = lead_table(summary_of(methods), printed).sections
        assert [title for title, entries in section.rows if entries[0].second == "0.123"] == ["Source", beside]


def test_a_verdict_names_gain_and_loss_of_the_adjustment_that_a_column_has():
    won = summary_of({"oracle": 0.19, "source": 0.256, "closed_form": 0.2})
    lost = summary_of({"oracle": 0.2, "source": 0.21, "closed_form": 0.22}, dataset="digits")
    gain, loss = verdict_of(pd.concat([won, lost], ignore_index=True), CLAIMS, NOTHING)
    assert gain == (
        "Adjusting (closed-form) beats the source predictor in 1 of 2 settings of linear models, by most on Diabetes, "
        "mˢ ? mᵗ (source 0.256 → closed-form 0.200 → oracle 0.190)."
    )
    assert loss.startswith("It loses on Digits, mˢ ? mᵗ (source 0.210 → closed-form 0.220 → oracle 0.200)")


def test_a_verdict_answers_first_whether_the_paper_reproduces():
    verdicts = ["supported", "supported", "not supported", "undecided", "not testable here", *["not supported"] * 2]
    claims = pd.DataFrame({"verdict": verdicts, "kind": ["stated"] * 4 + ["reading", "print", "print"]})
    first, _ = verdict_of(summary_of({"oracle": 0.19, "source": 0.256, "closed_form": 0.2}), claims, NOTHING)
    assert first == (
        "Of the paper's 4 claims that this run can test, 2 hold, 1 does not and 1 is undecided; of 2 printed "
        "formulas, counts and columns of scores, 2 do not hold."
    )
