"""The simulated hospitals are what they are said to be."""

import json

import numpy as np
import pandas as pd
import pytest

from dams import check_ucar, estimate_relative_missingness
from dams.datasets import simulate_ehr
from dams.datasets.ehr import PATIENT


def numbers(table):
    return table.drop(columns=[PATIENT, "sex", "admission", "days", "died"], errors="ignore")


@pytest.fixture(scope="module")
def made():
    return simulate_ehr(6000, 6000, random_state=3)


def test_size_and_what_is_lost(made):
    assert made.source.shape == (6000, 82) and made.target.shape == (6000, 81)
    assert made.source.columns[-1] == "days" and len(made.target_outcome) == 6000
    assert set(made.source["sex"]) == {"F", "M"}
    assert (made.source["age"] > 0).all() and not made.source.isna().any(axis=None)
    assert 2500 < made.source[PATIENT].nunique() < 3500
    assert not set(made.source[PATIENT]) & set(made.target[PATIENT])
    for panel in made.column_groups:
        shown = made.target[panel] != 0
        assert (shown.all(axis=1) == shown.any(axis=1)).all()


def test_rates_are_the_stated_ones_and_of_both_signs(made):
    r = (made.rates["m_target"] - made.rates["m_source"]) / (1 - made.rates["m_source"])
    assert (r > 0.1).any() and (r < -0.1).any()
    known = {"always_recorded": ["age"], "column_groups": made.column_groups}
    X_source, X_target = numbers(made.source), numbers(made.target)
    found = estimate_relative_missingness(X_source, X_target, **known, method="delta").to_frame()["r"]
    for columns, expected in zip(made.rates["columns"], r, strict=True):
        assert np.log(1 - found[columns[0]]) == pytest.approx(np.log(1 - expected), abs=0.2)
    report = check_ucar(
        X_source, X_target, random_state=0, groups=made.source[PATIENT], groups_target=made.target[PATIENT], **known
    )
    assert not report.rejected


def test_scenarios_change_what_they_name():
    mixed = simulate_ehr(3000, 3000, scenario="mix", outcome="died")
    assert (mixed.source["sex"] == "F").mean() == pytest.approx(0.5, abs=0.05)
    assert (mixed.target["sex"] == "F").mean() == pytest.approx(0.75, abs=0.05)
    assert set(mixed.target_outcome) == {"yes", "no"}
    chosen = simulate_ehr(6000, 6000, scenario="outcome", outcome="died", random_state=1)
    died = chosen.target_outcome == "yes"
    kept = (chosen.target[[panel[0] for panel in chosen.column_groups]] != 0).mean(axis=1)
    assert kept[died].mean() > kept[~died].mean() + 0.1
    rates = chosen.rates["m_target"][: len(chosen.column_groups)]
    assert kept.mean() == pytest.approx(1 - rates.mean(), abs=0.02)


def test_files_repeat(tmp_path):
    for folder in ("a", "b"):
        simulate_ehr(200, 100, random_state=2).write(tmp_path / folder)
    names = {path.name for path in (tmp_path / "a").iterdir()}
    assert names == {"source.csv", "target.csv", "target_labelled.csv", "target_outcomes.csv", "truth.json"}
    assert all((tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes() for name in names)
    table = pd.read_csv(tmp_path / "a" / "target_outcomes.csv")
    assert list(table.columns) == [PATIENT, "days"] and len(table) == 100
    assert len(json.loads((tmp_path / "a" / "truth.json").read_text())["rates"]) == 38
    other = simulate_ehr(200, 100, random_state=3)
    assert not np.array_equal(other.source["days"], pd.read_csv(tmp_path / "a" / "source.csv")["days"])


def test_unknown_names_are_refused():
    with pytest.raises(ValueError, match="scenario must be one of 'ucar', 'outcome', 'mix', got 'mnar'"):
        simulate_ehr(100, 100, scenario="mnar")
