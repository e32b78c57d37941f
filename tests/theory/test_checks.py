"""The table of statements: complete, deterministic, and its verdicts as expected."""

import numpy as np
import pytest

import dams.theory.checks.estimation
import dams.theory.checks.identification
import dams.theory.checks.nonadaptivity
from dams.theory import check_all
from dams.theory.checks.base import Section, largest, shortfall

COLUMNS = ["statement", "where", "how_checked", "largest_deviation", "tolerance", "verdict"]


@pytest.fixture(scope="module", params=[0, 1])
def table(request):
    return check_all(request.param)


def test_one_row_a_statement(table):
    assert list(table.columns) == COLUMNS
    assert table["statement"].is_unique
    assert len(table) >= 15
    assert table.notna().all(axis=None)


@pytest.mark.parametrize(
    "statement",
    ["Definition 1", "Definition 2", "Example 1", "Example 2", "Equation 1", "Lemma 5.1", "Algorithm 1", "Algorithm 2"]
    + [f"Remark {i}" for i in range(1, 6)]
    + [f"Proposition {i}" for i in range(1, 4)]
    + [f"Theorem {i}" for i in ("4.1", "5.2", "6.1")]
    + ["Moments table"],
)
def test_every_numbered_statement_has_a_row_that_holds(table, statement):
    rows = table[table["statement"].str.startswith(statement)]
    assert len(rows) > 0
    assert set(rows["verdict"]) == {"holds"}


def test_only_misprints_fail(table):
    failing = table.loc[table["verdict"] == "fails", "statement"]
    assert failing.str.startswith("As printed").all()
    assert len(failing) == table["statement"].str.startswith("As printed").sum() == 4


def test_misprints_are_far_off(table):
    assert (table.loc[table["verdict"] == "fails", "largest_deviation"] > 0.01).all()


def test_the_closed_form_fails_as_printed_and_holds_corrected(table):
    about = table[table["where"].str.contains("Proposition 2")].set_index("verdict")["statement"]
    assert "(r ⊙ E[X̃^sᵀY])" in about["fails"]
    assert "((1 − r) ⊙ E[X̃^sᵀY])" in about["holds"]


def test_same_seed_same_table():
    assert check_all(5).equals(check_all(5))


@pytest.mark.parametrize(
    ("module", "name", "wrong", "statement"),
    [
        (dams.theory.checks.identification, "recover_law", lambda p, m: p, "Lemma 5.1"),
        (dams.theory.checks.identification, "transport_law", lambda p, r: p, "Theorem 5.2"),
        (dams.theory.checks.identification, "is_reachable", lambda a, b: True, "Definition 2"),
        (dams.theory.checks.nonadaptivity, "quadratic_penalty", lambda *_, **__: 1.0, "Theorem 4.1"),
        (dams.theory.checks.estimation, "filter_distance", lambda p, r: 0.0, "Algorithm 1"),
        (dams.theory.checks.estimation, "move_gram", lambda gram, r: gram, "Proposition 3"),
    ],
)
def test_a_wrong_formula_is_noticed(monkeypatch, module, name, wrong, statement):
    monkeypatch.setattr(module, name, wrong)
    table = check_all(0)
    assert "fails" in set(table.loc[table["statement"].str.startswith(statement), "verdict"])


def test_largest_ignores_what_is_undefined():
    assert largest([[np.nan, -2.0], 1.0]) == 2


def test_shortfall():
    assert shortfall([0.5, 0.2], margin=0.3) == pytest.approx(0.1)
    assert shortfall([0.5, 0.4], margin=0.3) == 0


def test_sections_keep_the_order_of_their_checks():
    section = Section()
    for name in ("first", "second"):
        section.add(name, "", "")(lambda rng: 0.0)
    assert [check.statement for check in section] == ["first", "second"]
