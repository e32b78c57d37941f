"""A results folder with any one file damaged: a page, or a sentence that names the file."""

import os
from random import Random

import pytest
from damage import damage

from dams.cli import main


@pytest.fixture
def folder(run_without_page):
    return run_without_page


# Columns of pandas that hold no value any more make it warn, where they held text before.
@pytest.mark.filterwarnings("ignore")
def test_a_damaged_file_is_named_or_does_no_harm(folder, capsys):
    files = sorted(path for suffix in ("csv", "json", "svg", "html") for path in folder.rglob(f"*.{suffix}"))
    files = [path for path in files if path.parent.name != "raw"]
    rng, refused = Random(24), 0
    for number in range(25):
        path = rng.choice(files)
        content, times = path.read_bytes(), path.stat()
        path.write_bytes(damage(content, rng))
        os.utime(path, (times.st_atime, times.st_mtime))
        code, said = main(["report", str(folder)]), capsys.readouterr().err
        assert code == 0 or path.name in said, (number, path.name, said)
        assert not code or said.startswith(f"No report of {folder}: "), said
        refused += code
        path.write_bytes(content)
        os.utime(path, (times.st_atime, times.st_mtime))
    assert refused > 5


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("figures/error_against_epsilon.svg", ""),
        ("figures/error_against_epsilon.svg", "<svg></svg>"),
        ("claims.csv", "a,b\n1,2\n"),
        ("comparison.csv", "inside\n1\n"),
        ("tables/table1.csv", "model\n7\n"),
        ("provenance.json", "[1]"),
        ("config.json", "[1]"),
        ("config.json", "{"),
    ],
)
def test_rubbish_is_named(folder, name, text, capsys):
    (folder / name).write_text(text)
    assert main(["report", str(folder)]) == 1
    said = capsys.readouterr().err
    assert str(folder / name) in said
    assert "Delete the file and run again." in said
    # The page that was there before stays.
    assert not (folder / "report.html").exists()


def test_two_damaged_files_are_named_one_after_the_other(folder, capsys):
    bad = [folder / "figures/error_against_epsilon.svg", folder / "claims.csv"]
    for path in bad:
        path.write_text("a,b\n1,2\n")
    for _ in bad:
        assert main(["report", str(folder)]) == 1
        said = capsys.readouterr().err
        (named,) = [path for path in bad if str(path) in said]
        named.unlink()
    assert main(["report", str(folder)]) == 0
