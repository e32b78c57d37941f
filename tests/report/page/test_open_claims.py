"""Claims that do not hold: the paper's own words first, and no promise that cannot be kept."""

import math

from dams.report.page.open_claims import draws_needed, open_claims


def test_what_does_not_hold_begins_with_the_papers_own_words():
    rows = [
        {"id": number, "kind": kind, "verdict": verdict}
        for number, (kind, verdict) in enumerate(
            [
                ("print", "not supported"),
                ("reading", "not supported"),
                ("stated", "undecided"),
                ("stated", "supported"),
                ("stated", "not supported"),
                ("reading", "not testable here"),
            ]
        )
    ]
    shown = open_claims(rows)
    assert [row["id"] for row in shown["claims"]] == [4, 2, 1]
    assert [row["id"] for row in shown["print"]] == [0]


def test_a_measurement_on_its_bound_is_not_promised_a_number_of_draws():
    assert draws_needed(math.nan) == ""
    assert "1,663 rate draws" in draws_needed(1663.0)
    for draws in (12_557_566.0, math.inf):
        assert "on the bound" in draws_needed(draws) and "12" not in draws_needed(draws)
