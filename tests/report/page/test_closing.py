"""The last words of a run: where things are, and what failed."""

import os

from reports import CONFIG

from dams._files import write_json
from dams.report.page.closing import closing_words


def write(folder, *names):
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("")


def test_results_are_listed_by_name(tmp_path):
    write(tmp_path, "tables/table1.csv", "tables/table1.md", "figures/b.svg", "figures/a.svg")
    words = closing_words(tmp_path)
    assert f"Results: {tmp_path}/" in words
    assert "table1" in words
    assert "a, b" in words
    assert "failed" not in words


def test_only_files_that_exist_are_named(tmp_path):
    assert closing_words(tmp_path) == f"\nResults: {tmp_path}/"
    write(tmp_path, "records.csv", "timings.csv")
    assert "  records.csv, timings.csv" in closing_words(tmp_path).splitlines()
    (tmp_path / "provenance.json").write_text("{}")
    assert "  records.csv, timings.csv, provenance.json" in closing_words(tmp_path).splitlines()


def test_failures_are_counted_and_located(tmp_path):
    (tmp_path / "failures.csv").write_text("study,failure\none,x\none,y\n")
    words = closing_words(tmp_path)
    assert "2 fits failed" in words
    assert str(tmp_path / "failures.csv") in words


def test_no_failures_no_note(tmp_path):
    (tmp_path / "failures.csv").write_text("study,failure\n")
    assert "failed" not in closing_words(tmp_path)


def test_what_an_earlier_configuration_asked_for_is_not_listed(run_without_page, tmp_path):
    write(tmp_path, "tables/intervals_adult.csv", "tables/stated_labels.csv")
    words = closing_words(tmp_path)
    assert "  tables/   table1\n" in words
    figures = "design_scatter, error_against_distance, error_against_epsilon, published_against_measured"
    assert f"  figures/  {figures}\n" in words


def test_only_the_page_of_this_run_is_named(run_without_page, tmp_path):
    write(tmp_path, "report.html")
    assert f"Report: {tmp_path / 'report.html'}" in closing_words(tmp_path)
    # The run came to its end again since, or has yet to: the page is of one before.
    os.utime(tmp_path / "report.html", (1000, 1000))
    assert "Report:" not in closing_words(tmp_path)
    write(tmp_path, "report.html")
    write_json(CONFIG | {"seed": 2}, tmp_path / "config.json")
    assert "Report:" not in closing_words(tmp_path)
