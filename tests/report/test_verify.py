"""A folder is as its run left it, or `verify` names what is not: one digit in any file is enough."""

import json
import re
import shutil
from pathlib import Path

import pytest

from dams.cli import main
from dams.experiments.digests import write_digests
from dams.experiments.products import digests_of
from dams.report.provenance import note_start, write_provenance
from dams.report.verify import verify

STUDY = {
    "datasets": ["digits"],
    "regimes": [{"kind": "free"}],
    "models": {"linear": {"draws": 2}},
    "methods": ["oracle"],
    "outputs": ["table1"],
}
CONFIG = {"name": "mine", "seed": 17, "studies": {"one": STUDY}}
PRODUCTS = ["records.csv", "claims.csv", "tables/table1.csv", "figures/published_against_measured.svg"]
STEPS = ["data/digits.npz", "blocks/one/digits-linear-0000.csv"]
LAST = [digests_of("write_provenance"), digests_of("write_report")]


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A finished run of a few files, to be copied: its provenance asks git and every package."""
    folder = tmp_path_factory.mktemp("finished") / "mine"
    note_start(folder, CONFIG)
    for number, name in enumerate([*PRODUCTS, *STEPS]):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"value {number}.25\n")
    write_digests(folder / digests_of("all"), [folder / name for name in [*PRODUCTS, *STEPS]])
    made = [folder / name for name in PRODUCTS]
    write_provenance(folder / "provenance.json", CONFIG, folder, made, digests=[folder / digests_of("all")])
    (folder / "report.html").write_text("<p>62 claims</p>\n")
    for name, digests in zip(("provenance.json", "report.html"), LAST, strict=True):
        write_digests(folder / digests, [folder / name])
    return folder


@pytest.fixture
def folder(finished, tmp_path):
    return shutil.copytree(finished, tmp_path / "mine")


def flip(path, at=0.5):
    """Change one digit, or one byte where there is none, from this part of the file on."""
    content = bytearray(path.read_bytes())
    start = int(at * (len(content) - 1))
    digit = re.compile(rb"[0-9]")
    match = digit.search(content, start) or digit.search(content)
    place = match.start() if match else start
    content[place] = content[place] ^ 1
    path.write_bytes(content)


def test_a_folder_that_nobody_touched_is_sound(folder, capsys):
    found = verify(folder)
    assert not found.problems
    assert not found.absent
    assert set(found.sound) == {*PRODUCTS, *STEPS, "provenance.json", "report.html"}
    assert main(["verify", str(folder), "--complete"]) == 0
    assert "8 files are as the run made them" in capsys.readouterr().out


@pytest.mark.parametrize("at", [0, 0.3, 0.7, 1])
@pytest.mark.parametrize("name", [*PRODUCTS, *STEPS, "provenance.json", "report.html", "config.json", *LAST])
def test_one_flipped_digit_anywhere_is_found(folder, name, at, capsys):
    flip(folder / name, at)
    assert main(["verify", str(folder)]) == 1
    said = capsys.readouterr().err
    # The list of a job's digests is believed in place of the file that it is of.
    named = {LAST[0]: "provenance", LAST[1]: "report"}.get(name, name)
    assert named in said
    assert "Traceback" not in said


def test_what_a_clone_does_not_have_is_named_and_no_fault(folder, capsys):
    for name in ("records.csv", *STEPS):
        (folder / name).unlink()
    (folder / digests_of("all")).unlink()
    assert main(["verify", str(folder)]) == 0
    assert "3 that it made are not here: records.csv, " in capsys.readouterr().out
    assert main(["verify", str(folder), "--complete"]) == 1


def test_a_file_that_the_run_did_not_make_is_told(folder):
    (folder / "comparison.csv").write_text("a\n")
    (folder / "notes.txt").write_text("mine\n")
    (problem,) = verify(folder).problems
    assert "comparison.csv: nothing vouches for it." in problem


def test_what_an_earlier_configuration_left_is_told_and_no_fault(folder, capsys):
    """Another configuration may have had another data set; its blocks are nothing that people look at."""
    left = [
        "eicu/scores.csv",
        "figures/intervals_diabetes.svg",
        "tables/intervals_diabetes.csv",
        "blocks/one/diabetes-linear-0000.csv",
    ]
    (folder / "eicu").mkdir()
    for name in [*left, "notes.txt", "tables/mine.csv"]:
        (folder / name).write_text("a\n")
    found = verify(folder)
    assert sorted(found.earlier) == left[:3] and not found.problems
    assert main(["verify", str(folder)]) == 0
    assert "3 of an earlier configuration: " in capsys.readouterr().out


@pytest.mark.parametrize("name", LAST)
def test_without_their_digests_page_and_provenance_are_not_vouched_for(folder, name):
    (folder / name).unlink()
    (problem,) = verify(folder).problems
    assert f"nothing vouches for it; {name} is absent or damaged" in problem


@pytest.mark.parametrize(
    "content",
    ["", "{", "[]", "{}", '{"config": {}, "files": {}}', '{"config": 1, "files": {}, "steps": {}}', "\x00"],
)
def test_a_provenance_that_vouches_for_nothing_is_refused(folder, content, capsys):
    (folder / "provenance.json").write_text(content)
    assert main(["verify", str(folder)]) == 1
    assert "provenance.json" in capsys.readouterr().err


@pytest.mark.parametrize("bad", [{"../a": "a" * 64}, {"/etc/passwd": "a" * 64}, {"a.csv": "a"}, {"a.csv": 1}])
def test_only_files_of_the_folder_are_looked_at(folder, bad):
    content = json.loads((folder / "provenance.json").read_text(encoding="utf-8"))
    (folder / "provenance.json").write_text(json.dumps(content | {"files": bad}))
    with pytest.raises(ValueError, match=r"provenance\.json is damaged: expected a file of the run and its SHA-256"):
        verify(folder)


def test_a_folder_without_a_finished_run_is_refused(tmp_path, capsys):
    for folder in (tmp_path, tmp_path / "nowhere"):
        assert main(["verify", str(folder)]) == 1
        assert "expected results/<name> of a run that came to its end" in capsys.readouterr().err


def test_an_edited_file_is_not_sealed(folder):
    flip(folder / "claims.csv")
    with pytest.raises(ValueError, match=r"claims\.csv is damaged: it is not what its job wrote"):
        write_provenance(
            folder / "provenance.json", CONFIG, folder, [folder / "claims.csv"], digests=[folder / digests_of("all")]
        )


def test_the_committed_run_is_as_it_was_made(committed):
    found = verify(committed)
    assert not found.problems, str(found)
    assert len(found.sound) > 50


@pytest.mark.parametrize("name", ["sepsis", "beyond"])
def test_the_other_committed_runs_are_as_they_were_made(name):
    found = verify(Path(__file__).parents[2] / "results" / name)
    assert not found.problems, str(found)
    assert len(found.sound) > 10


def test_one_flipped_digit_in_any_committed_product_is_found(committed, capsys):
    sound = verify(committed).sound
    content = {name: (committed / name).read_bytes() for name in sound}
    # The provenance vouches for the others, so it is flipped alone; each of these has a line of its own.
    for names in (["provenance.json"], [name for name in sound if name != "provenance.json"]):
        for name in names:
            flip(committed / name)
        code, said = main(["verify", str(committed)]), capsys.readouterr().err
        for name in names:
            (committed / name).write_bytes(content[name])
            line = f"{committed / name}: not what the run made; expected SHA-256 "
            assert (code, said.count(line)) == (1, 1), f"a flipped digit in {name} is not found"
    # What git keeps and nothing vouches for may only be the lists themselves.
    kept = {path.relative_to(committed).as_posix() for path in committed.rglob("*") if path.is_file()}
    assert kept - set(sound) <= {*LAST, "config.json"}
