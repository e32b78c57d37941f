"""`dams adapt`, `dams predict` and `dams summarise` as a stranger types them: files, exit codes and sentences."""

import json

import numpy as np
import pandas as pd
import pytest
from hospitals import hospitals

from dams import ClosedFormRegressor
from dams.cli import main
from dams.two_files import read_model


def write(folder, *, n=1200, **options):
    source, target, y = hospitals(n, **options)
    source.to_csv(folder / "source.csv", index=False)
    target.to_csv(folder / "target.csv", index=False)
    target.assign(y=y)[:300].to_csv(folder / "labelled.csv", index=False)
    return source, target, y


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(capsys, *arguments):
    code = main([str(argument) for argument in arguments])
    said = capsys.readouterr()
    return code, said.out, said.err


ADAPT = ("adapt", "source.csv", "target.csv", "--label", "y", "--model", "linear")


def test_predictions_a_model_and_a_page(folder, capsys):
    write(folder)
    outputs = ("--out", "p.csv", "--model-file", "m.json", "--page", "page.html")
    code, out, _ = run(capsys, *ADAPT, *outputs, "--target-labels", "labelled.csv")
    assert code == 0
    assert out.startswith("Adapted: ")
    assert "On 300 labelled target rows" in out
    predictions = pd.read_csv("p.csv")
    assert list(predictions.columns) == ["row", "y"]
    assert predictions["row"].tolist() == list(range(1, 1201))
    assert json.loads((folder / "m.json").read_text())["adapted"] is True
    page = (folder / "page.html").read_text(encoding="utf-8")
    for text in (
        "When not to trust it",
        "depends on the outcome",
        "another share of cases",
        "Γ =",
        "linear closed form",
    ):
        assert text in page
    code, out, _ = run(capsys, "predict", "m.json", "target.csv", "--out", "again.csv")
    assert (code, out) == (0, "1,200 rows predicted with 'linear closed form', which is adapted.\n")
    pd.testing.assert_frame_equal(pd.read_csv("again.csv"), predictions)


def test_words_groups_and_labels_in_the_target(folder, capsys):
    """A category that is never lost, patients with several visits, a label of two words, a few in the target."""

    def extra(rng, n, place):
        share = [0.6, 0.4] if place == "source" else [0.2, 0.8]
        return {"ward": rng.choice(["north", "south"], n, p=share), "id": np.arange(n) // 2}

    source, target, y = hospitals(2000, label="words", extra=extra)
    source["y"] = source["y"].where(np.arange(len(source)) > 20, "")
    source.to_csv("source.csv", index=False)
    target.assign(y=y.where(np.arange(len(y)) < 200, "")).to_csv("target.csv", index=False)
    arguments = ("adapt", "source.csv", "target.csv", "--label", "y", "--model", "logistic", "--groups", "id")
    code, out, err = run(capsys, *arguments, "--out", "p.csv", "--model-file", "m.json")
    assert code == 0, err
    assert "21 source rows without a label 'y' were left out." in out
    assert "No field of 'ward' is empty in either file: taken for always recorded, whatever its mix." in out
    assert "On 200 labelled target rows" in out
    predictions = pd.read_csv("p.csv")
    assert list(predictions.columns) == ["row", "id", "probability_y_yes"]
    assert predictions["probability_y_yes"].between(0, 1).all()
    # A later file, with a level that nobody knew and a column that nobody asked for.
    target.assign(ward=["east", *target["ward"][1:]], other=1).drop(columns="id").to_csv("later.csv", index=False)
    code, out, err = run(capsys, "predict", "m.json", "later.csv", "--out", "later_p.csv")
    assert code == 0, err
    assert "1 rows of later.csv have levels of 'ward' that the source never has ('east'): they count as lost." in out
    later = pd.read_csv("later_p.csv")["probability_y_yes"]
    np.testing.assert_allclose(later[1:], predictions["probability_y_yes"][1:])


def test_summaries_in_place_of_files(folder, capsys):
    write(folder)
    for name, more in (("source", ("--label", "y")), ("target", ())):
        code, out, _ = run(capsys, "summarise", f"{name}.csv", *more, "--out", f"{name}.json")
        assert code == 0
        assert out.startswith("Summary of 1,200 rows of 4 columns")
    code, out, _ = run(capsys, "adapt", "source.json", "target.json", "--model-file", "m.json")
    assert code == 0
    assert out.startswith("Adapted: 1,200 and 1,200 rows in summary, choice 'adjusted'.")
    run(capsys, "predict", "m.json", "target.csv", "--out", "p.csv")
    run(capsys, *ADAPT, "--out", "by_rows.csv")
    np.testing.assert_allclose(pd.read_csv("p.csv")["y"], pd.read_csv("by_rows.csv")["y"], rtol=1e-8)


def test_one_summary_per_level_of_an_anchor_gives_the_model_of_its_rows(folder, capsys):
    def extra(rng, n, place):
        return {"sex": rng.choice(["F", "M", "other"], n, p=[0.5, 0.495, 0.005])}

    source, target, _ = write(folder, n=4000, extra=extra)
    for name, more in (("source", ("--label", "y")), ("target", ())):
        code, out, err = run(capsys, "summarise", f"{name}.csv", *more, "--anchors", "sex", "--out", f"{name}.json")
        assert code == 0, err
        assert "sex=other is not disclosed: " in out
    assert not list(folder.glob("*other*"))
    code, _, err = run(capsys, "adapt", "source.sex=F.json", "target.sex=F.json", "--model-file", "m.json")
    assert code == 0, err
    women = [table[table["sex"] == "F"].drop(columns="sex") for table in (source, target)]
    by_rows = ClosedFormRegressor().fit(women[0].drop(columns="y"), women[0]["y"], X_target=women[1])
    np.testing.assert_allclose(read_model("m.json").predict(women[1]), by_rows.predict(women[1]), rtol=1e-8)


def test_mistakes_are_answered_with_2_and_what_to_do(folder, capsys):
    _, target, _ = write(folder)
    target.assign(extra=1.0).to_csv("wider.csv", index=False)
    target.to_csv("no_label.csv", index=False)
    target[:30].assign(y=1.0).to_csv("tiny.csv", index=False)
    (folder / "not_json.json").write_text("a,b\n")
    (folder / "not_table.json").write_text('{"a": 1}')
    cases = [
        (("adapt", "source.csv", "target.csv", "--out", "p"), "Say what to predict with --label COLUMN."),
        (("adapt", "source.csv", "target.csv", "--label", "y"), "Name a file for predictions (--out)"),
        (("adapt", "target.csv", "source.csv", "--label", "y", "--out", "p"), "give the labelled file first"),
        (("adapt", "source.csv", "wider.csv", "--label", "y", "--out", "p"), "(`--leave-out extra`)"),
        (("adapt", "source.csv", "target.csv", "--label", "z", "--out", "p"), "neither file has a column 'z'"),
        (("adapt", "tiny.csv", "target.csv", "--label", "y", "--out", "p"), "has 30 values in the source"),
        ((*ADAPT, "--out", "p", "--target-labels", "no_label.csv"), "no_label.csv has no column 'y', the label."),
        (("adapt", "a.json", "b.json"), "name a file for the model with --model-file"),
        (("adapt", "not_json.json", "not_json.json", "--model-file", "m"), "not_json.json is no summary"),
        (("adapt", "a.json", "target.csv", "--model-file", "m"), "a.json is a summary and the other file is not"),
        (
            ("adapt", "a.json", "b.json", "--model-file", "m", "--page", "p", "--groups", "id"),
            "leave out --page, --groups.",
        ),
        (("adapt", "a.json", "b.json", "--model-file", "m", "--model", "boosting"), "Summaries give a linear model"),
        (("compare", "not_table.json", "target.csv"), "not_table.json is JSON and no table"),
        (("predict", "none.json", "target.csv", "--out", "p"), "none.json does not exist"),
        (("predict", "source.csv", "target.csv", "--out", "p"), "source.csv is no model of dams"),
        (("summarise", "target.csv", "--label", "y", "--out", "s"), "target.csv has no column 'y', the label"),
        (("summarise", "tiny.csv", "--out", "s"), "leave folds of fewer than 10"),
        (("summarise", "target.csv", "--anchors", "z", "--out", "s"), "target.csv has no column 'z', an anchor"),
        (("summarise", "target.csv", "--anchors", "a", "--out", "s"), "expected at most 20: anchors of summaries are"),
    ]
    for arguments, message in cases:
        code, out, err = run(capsys, *arguments)
        assert (code, out) == (2, ""), arguments
        assert message in err, arguments
    for name in ("p", "s", "m"):
        assert not (folder / name).exists()


def test_hostile_names_do_no_harm_on_the_page(folder, capsys):
    source, target, _ = hospitals(1200)
    name = "<img src=x onerror=alert(1)>"
    for table, file in ((source, "source.csv"), (target, "target.csv")):
        table.rename(columns={"a": name}).assign(flat=0.0).to_csv(file, index=False)
    code, _, err = run(capsys, *ADAPT, "--out", "p.csv", "--page", "page.html")
    assert code == 0, err
    assert "<img src=x" not in (folder / "page.html").read_text(encoding="utf-8")


def test_outputs_that_can_not_be_written_are_refused_before_anything_is_read(folder, capsys, monkeypatch):
    write(folder)
    read = (folder / "target.csv").read_bytes()
    (folder / "results").mkdir()
    cases = [
        ((*ADAPT, "--out", "results"), "--out results: this is a folder; name a file in it."),
        (
            (*ADAPT, "--out", "target.csv"),
            "--out target.csv: this would replace target.csv, which is read; name another",
        ),
        ((*ADAPT, "--out", "p", "--page", "./p"), "--page ./p: this would replace the file of --out"),
        ((*ADAPT, "--model-file", "source.csv/m.json"), "source.csv is a file and no folder"),
        (("predict", "m.json", "target.csv", "--out", "m.json"), "this would replace m.json, which is read"),
        (("summarise", "target.csv", "--out", "results"), "--out results: this is a folder"),
        (("compare", "source.csv", "target.csv", "--label", "y", "--csv", "target.csv"), "would replace target.csv"),
    ]
    for arguments, message in cases:
        code, out, err = run(capsys, *arguments)
        assert (code, out) == (2, "") and message in err, arguments
    monkeypatch.setattr("os.access", lambda *_: False)
    assert "you may not write to the folder" in run(capsys, *ADAPT, "--out", "results/p.csv")[2]
    assert (folder / "target.csv").read_bytes() == read
    assert sorted(path.name for path in folder.iterdir()) == ["labelled.csv", "results", "source.csv", "target.csv"]


def test_advice_is_of_the_command_that_was_typed(folder, capsys):
    """`predict` has no option that leaves out a column of its model, nor needs one for levels it never saw."""
    source, target, _ = write(folder)
    for table, name in ((source, "source.csv"), (target, "target.csv")):
        table.assign(ward=np.where(np.arange(len(table)) % 2, "north", "south")).to_csv(name, index=False)
    assert run(capsys, *ADAPT, "--model-file", "m.json")[0] == 0
    later = target.assign(ward=[f"w{k}" for k in range(len(target))])
    later.to_csv("later.csv", index=False, sep="\t")
    code, out, _ = run(capsys, "predict", "m.json", "later.csv", "--separator", r"\t", "--out", "p.csv")
    assert code == 0 and "1,200 rows of later.csv have levels of 'ward' that the source never has" in out
    later.assign(a="high").to_csv("words.csv", index=False)
    code, _, err = run(capsys, "predict", "m.json", "words.csv", "--out", "q.csv")
    assert (code, err) == (2, "words.csv, line 2, column 'a': got 'high', expected a number, as in the source.\n")
    assert (
        "to group rows by (--groups)"
        in run(capsys, "predict", "m.json", "target.csv", "--groups", "x", "--out", "q")[2]
    )
    assert "is a folder" in run(capsys, "predict", ".", "target.csv", "--out", "q")[2]
    assert not (folder / "q.csv").exists()


def test_a_misspelt_identifier_is_not_summarised_as_a_covariate(folder, capsys):
    _, target, _ = write(folder)
    target.assign(patient=range(len(target))).to_csv("target.csv", index=False)
    for option, message in (("--leave-out", "did you mean 'patient'?"), ("--groups", "to group rows by (--groups)")):
        code, _, err = run(capsys, "summarise", "target.csv", option, "patiennt", "--out", "s.json")
        assert code == 2 and message in err
    assert not (folder / "s.json").exists()


def test_columns_that_are_left_out_may_hold_anything(folder, capsys):
    """Numbers of which some have letters, and dates, can't be read: they need not be."""
    source, target, _ = write(folder)
    for table, name in ((source, "source.csv"), (target, "target.csv")):
        numbers = range(len(table))
        mixed = table.assign(room=[f"{k}a" if k % 5 == 0 else str(k) for k in numbers], day="01.02.2020")
        mixed.to_csv(name, index=False)
    assert "column 'room': got '0a'" in run(capsys, *ADAPT, "--out", "p.csv")[2]
    assert run(capsys, *ADAPT, "--leave-out", "room", "day", "--out", "p.csv")[0] == 0
    assert run(capsys, "compare", "source.csv", "target.csv", "--label", "y", "room", "day")[0] == 1
    assert run(capsys, "summarise", "target.csv", "--leave-out", "room", "day", "--out", "s.json")[0] == 0


def test_two_numbers_stay_what_they_are_in_a_linear_model(folder, capsys):
    source, target, _ = write(folder, label="flags")
    source.assign(y=source["y"] + 1).to_csv("source.csv", index=False)
    assert run(capsys, *ADAPT, "--out", "p.csv")[0] == 0
    assert 1.3 < pd.read_csv("p.csv")["y"].mean() < 1.7
    assert run(capsys, "summarise", "source.csv", "--label", "y", "--out", "s.json")[0] == 0
    assert run(capsys, "summarise", "target.csv", "--out", "t.json")[0] == 0
    assert run(capsys, "adapt", "s.json", "t.json", "--model-file", "m.json")[0] == 0
    assert 1.3 < read_model("m.json").predict(target).mean() < 1.7
    source.assign(y=np.where(source["y"] == 1, "yes", "no")).to_csv("source.csv", index=False)
    assert "Label 'y' is text: 'yes' is predicted as 1, 'no' as 0." in run(capsys, *ADAPT, "--out", "p.csv")[1]
    assert "'yes' counts as 1" in run(capsys, "summarise", "source.csv", "--label", "y", "--out", "s.json")[1]


def test_steps_are_shown_where_somebody_looks(folder, capsys, monkeypatch):
    write(folder)
    assert run(capsys, *ADAPT, "--out", "p.csv")[2] == ""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    steps = run(capsys, *ADAPT, "--out", "p.csv")[2].splitlines()
    assert steps[:2] == ["Reading source.csv and target.csv …", "Testing whether values are lost at random …"]
    assert "Fitting 'linear closed form' on 800 rows, to be judged on the others …" in steps
    assert steps[-1] == "Fitting 'linear closed form' on all rows …"
    monkeypatch.undo()
    monkeypatch.chdir(folder)
    assert run(capsys, *ADAPT, "--out", "p.csv")[2] == ""
