"""`dams compare`: the verdict on two files, what to do, how much more the target loses of each column, exit codes."""

import io
import json
import subprocess
import sys
import unicodedata

import numpy as np
import pandas as pd
import pytest

from dams import apply_missingness, check_ucar, estimate_relative_missingness
from dams.cli import main
from dams.two_files.comparison import compare_files
from dams.two_files.verdict import Verdict

COLUMNS = ["age", "lactate", "pulse"]


@pytest.fixture(scope="module")
def clean():
    rng = np.random.default_rng(0)
    return pd.DataFrame(3 + rng.normal(size=(4000, 3)) + rng.normal(size=(4000, 1)), columns=COLUMNS)


@pytest.fixture
def domains(clean):
    source = apply_missingness(clean[:2000], [0.1, 0.2, 0.5], random_state=1)
    return source, apply_missingness(clean[2000:], [0.4, 0.2, 0.1], random_state=2)


@pytest.fixture
def rejected(clean, domains):
    source, target = domains
    target.loc[clean["age"] > 4, "pulse"] = 0
    return source, target


@pytest.fixture
def write(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def write(source, target):
        source.to_csv("source.csv", index=False)
        target.to_csv("target.csv", index=False)
        return "source.csv", "target.csv"

    return write


@pytest.fixture
def compare(write, capsys):
    """Write both tables, run the command, return its exit code and what it says."""

    def compare(source, target, *options):
        code = main(["compare", *write(source, target), *options])
        told = capsys.readouterr()
        assert not (told.out and told.err)
        return code, told.out or told.err

    return compare


def row_of(told, name):
    (row,) = (line for line in told.splitlines() if line.startswith(f"{name} "))
    return row


def test_the_verdict_comes_first_and_the_table_is_that_of_the_library(domains, compare):
    source, target = domains
    code, told = compare(source.assign(y=1.0, id=range(2000)), target[COLUMNS[::-1]], "--label", "y", "id")
    assert code == 1
    assert told.startswith(
        "Missingness shift: of 3 columns the target shows 1 less often than the source and 1 more often; nothing "
        "speaks against loss at random.\n(source.csv: 2,000 rows; target.csv: 2,000 rows; 3 columns)\n\nWhat to do:\n"
    )
    assert "which deleting source values can't imitate. ClosedFormRegressor for a linear model, TwoWayEstimator" in told
    relative = estimate_relative_missingness(source, target, confidence=1 - 0.05 / 3).to_frame()
    for name, shows in zip(COLUMNS, ["less", "no clear difference", "more"], strict=True):
        numbers = relative.loc[name, ["r", "simultaneous_lower", "simultaneous_upper"]]
        assert row_of(told, name).split()[1:4] == [f"{value:.3f}" for value in numbers]
        assert row_of(told, name).endswith(shows)
    assert str(check_ucar(source, target, random_state=0)) in told


def test_no_shift_in_a_file_against_itself_nor_in_another_sample(clean, domains, compare):
    source, _ = domains
    code, told = compare(source, source)
    assert code == 0
    assert told.startswith("No shift found: both files hold the same table, row by row.")
    other = apply_missingness(clean[2000:], [0.1, 0.2, 0.5], random_state=5)
    code, told = compare(source, other)
    assert code == 0
    assert told.startswith("No shift found: 3 columns, none with a clear difference, and nothing speaks against")
    assert "Use the source's predictor as it is" in told and "Adapt" not in told


def test_after_a_rejection_no_estimator_is_advised(rejected, compare):
    code, told = compare(*rejected)
    assert code == 1
    assert told.startswith("Loss at random (UCAR) is rejected, p = 0.001. Suspect: pulse. Of 3 columns the target")
    assert row_of(told, "pulse").endswith("suspect")
    assert "Do not adapt yet. Look at the suspects" in told and "(`--label pulse`)" in told
    for estimator in ("ClosedFormRegressor", "FilteredEstimator", "TwoWayEstimator", "will do"):
        assert estimator not in told
    assert "--groups" in told and "--anchors" in told


def test_deleting_is_advised_where_the_target_shows_less(domains, compare):
    _, told = compare(*(part[["age", "lactate"]] for part in domains))
    assert (
        "Adapt: deleting source values can imitate the target. ClosedFormRegressor for a linear model, Filtered" in told
    )


def test_a_column_of_few_rows_is_not_called_the_same(domains, compare):
    source, target = (part[["lactate"]][:20] for part in domains)
    code, told = compare(source, target)
    assert code == 0
    assert row_of(told, "lactate").endswith("no clear difference")
    assert "whether at random was not checked" in told and "was not checked: X_source needs at least" in told
    assert "Give more rows or columns before you rely on it" in told


def test_what_differs_by_chance_among_many_columns_is_no_shift(compare):
    """Of 40 columns with the same rates, one here and one there has an interval of its own without zero."""
    rng = np.random.default_rng(4)
    source, target = (
        pd.DataFrame(rng.random((2000, 40)) < 0.5, columns=[f"x{j}" for j in range(40)]).astype(float) for _ in range(2)
    )
    relative = estimate_relative_missingness(source, target, confidence=1 - 0.05 / 3)
    assert (relative.upper < 0).sum() == (relative.lower > 0).sum() == 1
    code, told = compare(source, target)
    assert code == 0
    assert "… and 20 columns more: 20 without (--all lists them)." in told
    assert compare(source, target, "--all")[1].count("no clear difference") == 40


def test_columns_are_sorted_by_what_matters(rejected, write):
    source, target = (part.assign(name=2.0, full=3.0) for part in rejected)
    found = compare_files(*write(source.drop(columns="name"), target.drop(columns="name")))
    assert list(found.columns.index) == ["pulse", "age", "lactate", "full"]
    assert list(found.columns["target_shows"])[-1] == "never lost"


def with_words(domains, *, empty=False):
    """Sex as words, another mix in the target; with `empty`, lost now and then."""
    rng = np.random.default_rng(3)
    tables = []
    for part, female in zip(domains, (0.52, 0.75), strict=True):
        sex = np.where(rng.random(2000) < female, "female", "male").astype(object)
        tables.append(part.assign(sex=np.where(rng.random(2000) < 0.2, None, sex) if empty else sex))
    return tables


def test_words_that_are_never_lost_are_taken_for_always_recorded_and_the_mix_is_told(domains, compare):
    code, told = compare(*with_words(domains))
    assert code == 1
    assert "The populations differ in sex, which neither file ever loses." in told
    assert "No field of 'sex' is empty in either file: taken for always recorded" in told
    assert row_of(told, "sex").split()[1:4] == ["0.000"] * 3 and row_of(told, "sex").endswith("never lost  mix differs")
    assert "`--anchors sex`" in told


def test_words_that_may_be_lost_with_another_mix_reject(domains, compare):
    _, told = compare(*with_words(domains, empty=True))
    assert "is rejected" in told and "Suspect: sex." in told


@pytest.mark.parametrize("names", [("sex_f", "sex_m"), ("female", "man")])
def test_complete_sets_of_flags_are_taken_for_always_recorded(domains, compare, names):
    tables = [
        part.assign(**{name: part["sex"] == sex for name, sex in zip(names, ("female", "male"), strict=True)})
        for part in with_words(domains)
    ]
    code, told = compare(*(part.drop(columns="sex") for part in tables))
    assert code == 1
    assert f"Every row has exactly one of {names[0]!r}, {names[1]!r}: taken for levels of a category" in told
    assert row_of(told, names[0]).endswith("never lost  mix differs") and "rejected" not in told


def test_a_complete_set_of_unrelated_names_is_exposed_by_its_shares(domains, compare):
    """They would sum to more than 1; named, they are left alone."""
    rng = np.random.default_rng(4)
    tables = []
    for part, shares in zip(domains, ([0.5, 0.3, 0.2], [0.2, 0.3, 0.5]), strict=True):
        level = rng.choice(3, 2000, p=shares)
        tables.append(part.assign(**{name: level == k for k, name in enumerate(("red", "green", "blue"))}))
    code, told = compare(*tables)
    assert code == 1 and told.startswith("Loss at random (UCAR) is rejected")
    assert "exclude each other: if they are levels of one category that is never lost, say so" in told
    code, told = compare(*tables, "--always-recorded", "red", "green", "blue")
    assert "rejected" not in told and row_of(told, "red").endswith("always recorded  mix differs")


def test_a_population_that_differs_is_a_shift_of_its_own(clean, compare):
    tables = with_words(
        [apply_missingness(part, [0.1, 0.2, 0.5], random_state=1) for part in (clean[:2000], clean[2000:])]
    )
    code, told = compare(*tables)
    assert code == 1
    assert told.startswith("Population shift: the files differ in sex, which neither ever loses. No other column shows")
    assert "Adapt:" not in told


def test_loss_that_depends_on_an_anchor_passes_given_it(compare):
    """Rejected without anchors; with them r is told by the values of the anchor."""
    rng = np.random.default_rng(2)
    tables = []
    for slope in (0.0, -1.5):
        age, ward = rng.normal(size=3000), rng.choice(["east", "north", "west"], 3000)
        X = 3 + rng.normal(size=(3000, 3)) + age[:, None]
        kept = rng.random((3000, 3)) < 1 / (1 + np.exp(-1 - slope * age[:, None]))
        tables.append(pd.DataFrame(X * kept, columns=["a", "b", "c"]).assign(age=60 + 10 * age, ward=ward))
    _, told = compare(*tables, "--always-recorded", "age")
    assert "is rejected" in told
    _, told = compare(*tables, "--anchors", "age", "ward")
    assert "nothing speaks against loss at random given age, ward" in told
    assert "r by age, of the columns that vary most:" in told and "r by ward" in told
    assert "Nothing speaks against UCAR given age, ward" in told
    found = compare_files("source.csv", "target.csv", anchors=["age", "ward"])
    by_age = found.presence.query("anchor == 'age' and column == 'a'")
    assert (np.diff(by_age["r"]) > 0).all() and len(by_age) == 5
    np.testing.assert_allclose(by_age["r"], 1 - by_age["target_has"] / by_age["source_has"], atol=0.1)
    assert ((by_age["lower"] < by_age["r"]) & (by_age["r"] < by_age["upper"])).all()
    assert list(found.presence.query("anchor == 'ward' and column == 'a'")["level"]) == ["east", "north", "west"]


def test_levels_that_the_source_never_has_are_noted(domains, compare):
    source, target = (part.assign(ward=["north", "south"] * 1000) for part in domains)
    _, told = compare(source, target.replace({"ward": {"south": "west"}}))
    assert "1,000 rows of target.csv have levels of 'ward' that the source never has ('west')" in told


def test_columns_that_differ_are_named_with_the_way_out(domains, compare):
    source, target = domains
    code, told = compare(source.assign(y=1.0), target)
    assert code == 2
    assert "only source.csv has 'y'" in told and "`--label y`" in told
    code, told = compare(source, target, "--label", "aeg")
    assert code == 2
    assert "neither file has a column 'aeg' to leave out; did you mean 'age'?" in told
    code, told = compare(source, target, "--label", *COLUMNS)
    assert code == 2
    assert "source.csv has no column left to compare" in told


def test_a_column_that_the_source_never_shows_is_refused_with_the_way_out(domains, compare):
    source, target = domains
    code, told = compare(source.assign(age=0.0), target)
    assert code == 2
    assert "source.csv, the source, has no value but 0 in 'age'" in told and "`--label age`" in told


def test_empty_fields_are_refused_unless_they_are_said_to_be_lost(domains, compare):
    source, target = (part.replace(0.0, np.nan) for part in domains)
    code, told = compare(source, target)
    assert code == 2
    assert "source.csv has" in told and "empty fields in columns 'age', 'lactate', 'pulse'" in told
    assert "say --nan-as-zero" in told
    assert compare(source, target, "--nan-as-zero") == compare(*domains)


def test_columns_of_flags_are_read_as_zero_and_one(domains, compare):
    words = compare(*(part.assign(age=part["age"] != 0) for part in domains))
    assert words == compare(*(part.assign(age=(part["age"] != 0).astype(int)) for part in domains))
    assert words[0] == 1


def test_centred_and_imputed_columns_are_suspected(domains, compare):
    source, target = (part - part.mean() for part in domains)
    _, told = compare(source, target)
    assert "Note: Neither source nor target holds a zero" in told and "never lost" in row_of(told, "age")
    source, target = domains
    source = source.assign(pulse=source["pulse"].replace(0.0, 3.5))
    assert (
        "Note: The source holds no zero in column 'pulse', but many times the value 3.5" in compare(source, target)[1]
    )


def test_a_column_that_the_target_never_shows_is_noted_once(domains, compare):
    source, target = domains
    _, told = compare(source, target.assign(age=0.0))
    assert told.count("Note: The target holds only zeros in column 'age'") == 1
    assert row_of(told, "age").endswith("nothing")


def test_what_is_known_of_rows_and_columns_is_told_by_options(domains, compare):
    source, target = (part.assign(female=1.0, patient=[f"p{i // 2}" for i in range(2000)]) for part in domains)
    source.loc[:999, "female"] = 0.0
    options = ["--always-recorded", "female", "--column-group", "age", "lactate", "--groups", "patient"]
    code, told = compare(source, target, *options)
    assert code == 1
    assert "4 columns" in told and "patient" not in told.split("What to do")[0]
    assert row_of(told, "female").split()[1:4] == ["0.000"] * 3 and "always recorded" in row_of(told, "female")
    known = {"always_recorded": ["female"], "column_groups": [["age", "lactate"]]}
    tables = [part.drop(columns="patient") for part in (source, target)]
    ids = {"groups": source["patient"], "groups_target": target["patient"]}
    report = check_ucar(*tables, alpha=0.05 / 3, random_state=0, **known, **ids)
    assert report.rejected and str(report).split(" Populations differ")[0] in told
    relative = estimate_relative_missingness(*tables, **known, **ids)
    assert relative.r[0] == relative.r[1] and f"{relative.r[0]:.3f}" in told


def test_rows_are_grouped_by_a_column_that_one_file_may_lack(domains, compare):
    source, target = domains
    assert compare(source.assign(patient=np.arange(2000) // 2), target, "--groups", "patient")[0] == 1
    code, told = compare(source, target, "--groups", "aeg")
    assert code == 2 and "neither file has a column 'aeg' to group rows by; did you mean 'age'?" in told
    code, told = compare(source.assign(patient=[None] + [1, 2] * 999 + [3]), target, "--groups", "patient")
    assert code == 2 and "source.csv has 1 empty fields in column 'patient', which says which rows belong" in told
    code, told = compare(source, target, "--always-recorded", "sex")
    assert code == 2 and "--always-recorded names 'sex', which is no column" in told


def test_the_level_is_that_of_all_looks_together(domains, write):
    """A p-value between alpha and alpha/3, of which a third is the test's, is no rejection."""
    files = write(*domains)
    found = compare_files(*files, alpha=0.3)
    assert found.report.alpha == pytest.approx(0.1) and found.relative.confidence == pytest.approx(0.9)
    p = found.report.p_value
    assert 0.1 < p < 1
    assert compare_files(*files, alpha=min(0.5, 2.9 * p)).verdict is Verdict.MISSINGNESS_SHIFT
    for alpha in (0.004, 0.6, float("nan")):
        with pytest.raises(ValueError, match="alpha must lie between"):
            compare_files(*files, alpha=alpha)


def test_json_and_csv_hold_what_the_text_says(rejected, write, capsys, tmp_path):
    files = write(*rejected)
    found = compare_files(*files)
    assert main(["compare", *files, "--json", "-"]) == 1
    content = json.loads(capsys.readouterr().out)
    assert content == json.loads(found.to_json()) and content["format"] == 1
    assert content["verdict"] == Verdict.REJECTED.value and content["shift"] and content["exit_code"] == 1
    assert content["headline"] == found.headline and content["ucar"]["suspects"] == ["pulse"]
    assert [row["column"] for row in content["columns"]] == list(found.columns.index)
    assert main(["compare", *files, "--csv", "table.csv", "--json", "all.json"]) == 1
    assert capsys.readouterr().out == f"{found}\n"
    assert json.loads((tmp_path / "all.json").read_text(encoding="utf-8")) == content
    table = pd.read_csv("table.csv", index_col="column")
    pd.testing.assert_frame_equal(table, found.to_frame(), check_dtype=False)
    assert main(["compare", *files, "--csv", "-", "--json", "-"]) == 2
    assert "Only one of --json, --csv and --html can go to standard output" in capsys.readouterr().err


def test_every_error_is_two(domains, write, capsys, monkeypatch):
    """0 and 1 are results: what goes wrong, of whatever kind, must not look like one."""
    files = write(*domains)
    assert main(["compare", "absent.csv", files[1]]) == 2
    assert "absent.csv does not exist" in capsys.readouterr().err
    assert main(["compare", *files, "--json", "/dev/null/all.json"]) == 2
    for wrong in (["--seed", "-1"], ["--decimal", "x"], ["--no-such-option"], files[:1]):
        with pytest.raises(SystemExit) as stopped:
            main(["compare", *files, *wrong])
        assert stopped.value.code == 2
    monkeypatch.setitem(sys.modules, "jinja2", None)
    assert main(["compare", *files, "--html", "page.html"]) == 2
    assert "`dams compare` needs jinja2" in capsys.readouterr().err
    monkeypatch.setattr("dams.two_files.comparison.read_pair", lambda *_, **__: 1 / 0)
    assert main(["compare", *files]) == 2
    assert "ZeroDivisionError" in capsys.readouterr().err


def test_the_help_states_the_contract(capsys):
    with pytest.raises(SystemExit):
        main(["compare", "--help"])
    told = capsys.readouterr().out
    assert "0   no shift found" in told and "1   a shift was found" in told and "2   an error" in told


def test_what_comes_through_a_pipe(domains, write, capsys, monkeypatch):
    files = write(*domains)
    with open(files[0], "rb") as stream:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stream.read())))
    assert main(["compare", "-", files[1]]) == 1
    assert "(standard input: 2,000 rows; target.csv: 2,000 rows; 3 columns)" in capsys.readouterr().out


def test_a_terminal_does_not_obey_names(domains, compare):
    _, told = compare(*(part.rename(columns={"age": "\x1b[31mage\x07"}) for part in domains))
    assert "\x1b" not in told and "\\x1b[31mage\\x07" in told


def test_it_needs_no_more_than_the_library():
    absent = "pydantic=None, yaml=None, matplotlib=None, jinja2=None, pyarrow=None"
    script = f"import sys; sys.modules.update({absent}); import dams.two_files.comparison, dams.cli"
    subprocess.run([sys.executable, "-c", script], check=True)


def test_what_few_target_rows_do_not_show_by_chance_is_no_shift(domains, compare):
    source, target = domains
    code, told = compare(source, target[target["pulse"] == 0][:3])
    assert code == 0
    assert "No shift found: 3 columns, none with a clear difference, and whether at random was not checked." in told
    assert compare(source, target.assign(pulse=0.0))[0] == 1


def test_flags_that_differ_may_be_answers(domains, compare):
    source, target = (
        table.assign(sex=np.arange(len(table)) % 4 < k, smokes=np.arange(len(table)) % 5 < 2)
        for table, k in zip(domains, (2, 3), strict=True)
    )
    said = "nothing but 0 and 1 that the target shows less or more often: 'sex'. This counts as loss."
    told = compare(source, target)[1]
    assert said in told and "(`--always-recorded sex`)" in told
    assert said not in compare(source, target, "--always-recorded", "sex")[1]


def test_advice_can_be_pasted(domains, compare):
    source, target = domains
    told = compare(source.assign(**{"blood sugar": 1.0}), target)[1]
    assert "(`--label 'blood sugar'`)" in told


def test_letters_of_an_older_program_are_refused_with_a_command_that_can_be_pasted(tmp_path, capsys):
    path = tmp_path / "my files" / "a.csv"
    path.parent.mkdir()
    path.write_bytes("Größe;Alter\n1,5;60\n".encode("latin-1"))
    assert main(["compare", str(path), str(path)]) == 2
    assert f"`iconv -f latin1 -t utf-8 '{path}' > new.csv`" in capsys.readouterr().err


def test_codes_of_categories_are_doubted(domains, compare):
    rng = np.random.default_rng(0)
    source, target = (table.assign(unit=rng.integers(0, 5, len(table)).astype(float)) for table in domains)
    said = "The whole numbers from 0 on in column 'unit' look like codes of categories"
    assert said in compare(source, target)[1]
    assert said not in compare(source, target, "--always-recorded", "unit")[1]


def test_names_that_are_nearly_the_same_are_one_column(domains, compare):
    source, target = domains
    told = compare(source.rename(columns={"pulse": " Pulse"}), target)[1]
    assert "' Pulse' and 'pulse' differ in case, spaces or the code of a letter, rename one" in told
    other = {"pulse": "Größe"}, {"pulse": unicodedata.normalize("NFD", "Größe")}
    told = compare(source.rename(columns=other[0]), target.rename(columns=other[1]))[1]
    assert r"'Gr\xf6\xdfe' and 'Gro\u0308\xdfe' differ" in told
