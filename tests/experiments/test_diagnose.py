"""Diagnostics of cells: those of the run itself, the truth beside them, and reasons where nothing can be told."""

import numpy as np
import pytest

from dams.datasets.eicu.simulator import simulate_eicu_table
from dams.datasets.registry import DATASETS
from dams.experiments.cells import build_cell, clean_table
from dams.experiments.config import parse
from dams.experiments.design import Label, cells_to_diagnose
from dams.experiments.diagnose import diagnose_cells, diagnose_hospitals

DIGITS = DATASETS["digits"].load()


@pytest.fixture(scope="module")
def cells():
    """A scenario that is too small to be checked, and digits in both regimes."""
    one = {
        "datasets": ["redundant"],
        "regimes": [{"kind": "opposing", "epsilon": 0.1}],
        "models": {"linear": {"draws": 2}},
        "methods": ["oracle", "source", "closed_form", "nonparametric"],
        "rows": 60,
    }
    two = one | {"datasets": ["digits"], "regimes": [{"kind": "nested"}, {"kind": "free"}]}
    return cells_to_diagnose(parse({"name": "small", "studies": {"one": one, "two": two}}))


def diagnose(cells, digits=DIGITS):
    return diagnose_cells(cells, {"digits": digits}, confidence=0.95, seed=3)


@pytest.fixture(scope="module")
def together(cells):
    return diagnose(cells)


@pytest.fixture(scope="module")
def alone(cells):
    """The last of the cells, without the others."""
    return diagnose(cells[2:])


def test_one_cell_a_data_set_and_regime(small, study):
    study["regimes"] = [{"kind": "opposing", "epsilon": [0.3, 0.1]}, {"kind": "free"}]
    small["studies"]["same"] = study
    small["studies"]["larger"] = study | {"rows": 900}
    found = cells_to_diagnose(parse(small))
    assert [(c.study, c.key.regime, c.key.epsilon, c.rows) for c in found] == [
        ("one", "opposing", 0.3, 200),
        ("one", "free", None, 200),
        ("larger", "opposing", 0.3, 900),
        ("larger", "free", None, 900),
    ]
    assert {c.key.draw for c in found} == {0}


def test_cells_are_those_of_the_experiments_beside_the_truth(cells, together):
    verdicts, summary, relative = together
    assert list(verdicts["dataset"]) == ["redundant", "digits", "digits"]
    assert verdicts["verdict"][0].startswith("not checked: X_source needs at least 40 rows")
    assert set(verdicts["verdict"][1:]) == {"UCAR not rejected"}

    free = cells[2]
    labels = (Label("random_linear", 0), Label("random_linear", 1))
    cell = build_cell(free.key, labels, clean_table(DIGITS, "digits", labels, seed=3), seed=3)
    rows = relative[relative["regime"] == "free"]
    np.testing.assert_array_equal(rows["r"], cell.relative_missingness.r)
    assert list(rows["feature"]) == [name for name in DIGITS.columns if name not in cell.dropped]

    nested = summary[summary["regime"] == "nested"].iloc[0]
    assert (relative.loc[relative["regime"] == "nested", "true_r"] >= 0).all()
    assert nested["clearly_negative"] < 0.1
    assert summary["covered"][1:].between(0.85, 1).all()
    assert (rows["true_r"] < 0).mean() == pytest.approx(0.5, abs=0.2)
    # In the order of the eigenvalues: the free regime is the one that the printed formula suffers from.
    assert summary["condition"][2] > summary["condition"][1] > 1
    assert summary["least_eigenvalue"][2] < summary["least_eigenvalue"][1] < 1


def test_names_that_are_formulas_are_written_as_text(cells, alone):
    columns = [f"=cmd|{name}" if number == 1 else name for number, name in enumerate(DIGITS.columns)]
    relative = diagnose(cells[2:], DIGITS.set_axis(columns, axis=1))[2]
    assert not relative["feature"].str.startswith("=").any()
    plain = alone[2]
    assert set(relative["feature"]) - set(plain["feature"]) <= {f"'{columns[1]}"}
    np.testing.assert_array_equal(relative["r"], plain["r"])


def test_the_same_digits_every_time_whatever_else_is_looked_at(together, alone):
    for all_rows, rows in zip(together, alone, strict=True):
        assert all_rows[all_rows["regime"] == "free"].to_csv(index=False) == rows.to_csv(index=False)


def test_hospitals_are_judged_beside_mechanisms_that_are_known():
    table = simulate_eicu_table(3000, scenario="mnar", random_state=5)
    verdicts, spread = diagnose_hospitals(table, seed=2023)
    verdict = verdicts.set_index("cohort")["verdict"]
    rejected = set(verdict[verdict == "UCAR rejected"].index)
    assert rejected == {"this run (simulated)", "simulated block_ucar", "simulated mar", "simulated mnar"}
    beyond = spread[np.isclose(spread["level"], 4)].set_index("cohort")["share"]
    assert (beyond[list(rejected)] > 0.005).all()
    assert beyond["simulated ucar"] < 0.002
