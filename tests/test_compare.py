"""`dams compare`: two CSV files, how much more the target loses of each column, and the verdict of the test."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from dams import apply_missingness, check_ucar, estimate_relative_missingness
from dams.cli import main

COLUMNS = ["age", "lactate", "pulse"]


@pytest.fixture
def clean():
    rng = np.random.default_rng(0)
    return pd.DataFrame(3 + rng.normal(size=(4000, 3)) + rng.normal(size=(4000, 1)), columns=COLUMNS)


@pytest.fixture
def domains(clean):
    source = apply_missingness(clean[:2000], [0.1, 0.2, 0.5], random_state=1)
    return source, apply_missingness(clean[2000:], [0.4, 0.2, 0.1], random_state=2)


@pytest.fixture
def compare(tmp_path, monkeypatch, capsys):
    """Write both tables, run the command, return its exit code and what it says."""
    monkeypatch.chdir(tmp_path)

    def compare(source, target, *options):
        source.to_csv("source.csv", index=False)
        target.to_csv("target.csv", index=False)
        code = main(["compare", "source.csv", "target.csv", *options])
        told = capsys.readouterr()
        return code, told.out or told.err

    return compare


def test_the_table_is_that_of_the_library(domains, compare):
    source, target = domains
    code, told = compare(source.assign(y=1.0, id=range(2000)), target[COLUMNS[::-1]], "--label", "y", "id")
    assert code == 0
    assert "source.csv: 2,000 rows; target.csv: 2,000 rows; 3 columns" in told
    relative = estimate_relative_missingness(source, target).to_frame()
    rows = {line.split()[0]: line for line in told.splitlines() if line.split()[:1] and line.split()[0] in COLUMNS}
    for name, shows in zip(COLUMNS, ["less", "no clear difference", "more"], strict=True):
        assert f"{relative.loc[name, 'r']:.3f}" in rows[name]
        assert rows[name].endswith(shows)
    assert "The target shows more in 1 column, and deleting can't imitate that" in told
    assert str(check_ucar(source, target, random_state=0)) in told
    assert "Nothing speaks against UCAR" in told


def test_a_column_of_few_rows_is_not_called_the_same(domains, compare):
    """What the library can't tell, the command does not tell either."""
    source, target = (part[["lactate"]][:20] for part in domains)
    _, told = compare(source, target)
    assert "target.csv: 20 rows; 1 column\n" in told
    assert "1 shows no clear difference" in str(estimate_relative_missingness(source, target))
    assert "no clear difference\n" in told
    assert "1 column without a clear difference: the interval of r holds 0" in told
    assert "any of the estimators will do" not in told


def test_any_estimator_will_do_where_every_column_shows_less(domains, compare):
    source, target = (part[["age"]] for part in domains)
    assert "Deleting source values can imitate the target: any of the estimators will do." in compare(source, target)[1]


def test_a_column_that_shows_more_by_chance_is_reconciled_with_the_verdict(compare):
    """Of 40 columns with the same rates, one or two are expected to have an interval below zero."""
    rng = np.random.default_rng(6)
    source, target = (
        pd.DataFrame(rng.random((2000, 40)) < 0.5, columns=[f"x{j}" for j in range(40)]).astype(float) for _ in range(2)
    )
    relative = estimate_relative_missingness(source, target)
    assert relative.improper.sum() == 1 and relative.is_proper
    _, told = compare(source, target)
    assert "Deleting source values can imitate the target, as far as all columns together tell." in told
    assert "Taken alone, 1 column would say that the target shows more; an exact test" in told
    assert "FilteredEstimator where the target shows no more than the source" in told


def test_a_rejection_says_where_to_read_on(clean, domains, compare):
    source, target = domains
    target.loc[clean["age"] > 4, "pulse"] = 0
    code, told = compare(source, target)
    assert code == 0
    assert "UCAR is rejected" in told and "Suspect: pulse" in told
    assert 'See "Before you trust it" in README.md' in told


def test_columns_that_differ_are_named_with_the_way_out(domains, compare):
    source, target = domains
    code, told = compare(source.assign(y=1.0), target)
    assert code == 1
    assert "only source.csv has 'y'" in told and "`--label y`" in told
    code, told = compare(source, target, "--label", "aeg")
    assert code == 1
    assert "neither file has a column 'aeg' to leave out; did you mean 'age'?" in told
    code, told = compare(source, target, "--label", *COLUMNS)
    assert code == 1
    assert "source.csv has no column left to compare" in told


def test_empty_fields_are_refused_unless_they_are_said_to_be_lost(domains, compare):
    source, target = (part.replace(0.0, np.nan) for part in domains)
    code, told = compare(source, target)
    assert code == 1
    assert "source.csv has" in told and "empty fields in columns 'age', 'lactate', 'pulse'" in told
    assert "say --nan-as-zero" in told
    assert compare(source, target, "--nan-as-zero") == compare(*domains)


def test_words_need_columns_of_their_own(domains, compare):
    source, target = domains
    code, told = compare(source.assign(ward="north"), target.assign(ward="south"))
    assert code == 1
    assert "source.csv, line 2, column 'ward': got 'north', expected a number; give levels a 0/1 column each" in told


def test_columns_of_flags_are_read_as_zero_and_one(domains, compare):
    words = compare(*(part.assign(age=part["age"] != 0) for part in domains))
    assert words == compare(*(part.assign(age=(part["age"] != 0).astype(int)) for part in domains))
    assert words[0] == 0


def test_centred_columns_are_suspected(domains, compare):
    source, target = (part - part.mean() for part in domains)
    _, told = compare(source, target)
    assert "No zero in columns 'age', 'lactate', 'pulse': nothing is lost there, or it was centred" in told


def test_a_column_that_the_target_never_shows_is_noted_once(domains, compare):
    source, target = domains
    _, told = compare(source, target.assign(age=0.0))
    assert told.count("Note: The target holds only zeros in column 'age'") == 1


def test_few_rows_still_give_a_table(domains, compare):
    source, target = domains
    code, told = compare(source, target[:30])
    assert code == 0
    assert "lactate" in told and "was not checked: X_target needs at least" in told


def test_another_separator(domains, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name, part in zip(["a.csv", "b.csv"], domains, strict=True):
        # With the index, whose column has no name.
        part.to_csv(name, sep="\t")
    assert main(["compare", "a.csv", "b.csv", "--separator", r"\t"]) == 0
    assert "3 columns" in capsys.readouterr().out


def test_what_is_known_of_rows_and_columns_is_told_by_options(domains, compare):
    source, target = (part.assign(female=1.0, patient=[f"p{i // 2}" for i in range(2000)]) for part in domains)
    source.loc[:999, "female"] = 0.0
    options = ["--always-recorded", "female", "--column-group", "age", "lactate", "--groups", "patient"]
    code, told = compare(source, target, *options)
    assert code == 0
    assert "4 columns" in told and "patient" not in told
    (row,) = (line for line in told.splitlines() if line.startswith("female"))
    assert row.split()[1:4] == ["0.000"] * 3 and row.endswith("always recorded")
    known = {"always_recorded": ["female"], "column_groups": [["age", "lactate"]]}
    tables = [part.drop(columns="patient") for part in (source, target)]
    ids = {"groups": source["patient"], "groups_target": target["patient"]}
    assert str(check_ucar(*tables, random_state=0, **known, **ids)) in told
    relative = estimate_relative_missingness(*tables, **known, **ids)
    assert relative.r[0] == relative.r[1] and f"{relative.r[0]:.3f}" in told


def test_rows_are_grouped_by_a_column_that_one_file_may_lack(domains, compare):
    source, target = domains
    assert compare(source.assign(patient=np.arange(2000) // 2), target, "--groups", "patient")[0] == 0
    code, told = compare(source, target, "--groups", "aeg")
    assert code == 1 and "neither file has a column 'aeg' to group rows by; did you mean 'age'?" in told
    code, told = compare(source.assign(patient=[None] + [1, 2] * 999 + [3]), target, "--groups", "patient")
    assert code == 1 and "groups has no id in 1 rows" in told
    code, told = compare(source, target, "--always-recorded", "sex")
    assert code == 1 and "always_recorded names 'sex', which is no column" in told


def test_it_needs_no_more_than_the_library():
    script = "import sys; sys.modules.update(pydantic=None, yaml=None, matplotlib=None); import dams.compare, dams.cli"
    subprocess.run([sys.executable, "-c", script], check=True)
