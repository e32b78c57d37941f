"""The page: whole, self-contained, told in words where it is drawn, and honest about what is missing."""

import copy
import json
import math
import os
import re
import shutil
from html.parser import HTMLParser

import pandas as pd
import pytest
from reports import CONFIG, evidence_in, make_folder, make_records, write_block, write_claims

from dams.cli import main
from dams.experiments.records import write_csv
from dams.report.page.claims import KINDS, claim_rows, open_claims, to_decide
from dams.report.page.contents import outputs_of, parts_of, what_is_missing
from dams.report.page.markup import as_cards, data_table, interval, mathematics, number
from dams.report.page.render import check_or_read_claims, write_page
from dams.report.page.svg import inline_svg
from dams.report.provenance import note_start
from dams.report.run_folder import RunFolder
from dams.report.tables import Entry, Section, Table

VOID = {"meta", "link", "br", "input", "img", "hr"}


class Page(HTMLParser):
    """Elements with their attributes, and the visible text."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.open, self.words = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, f"</{tag}> closes what is not open"

    def handle_data(self, data):
        if not {"style", "script"} & set(self.open):
            self.words.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())

    def all(self, tag):
        return [attrs for name, attrs in self.elements if name == tag]


@pytest.fixture(scope="module")
def folder(small_run, tmp_path_factory):
    return shutil.copytree(small_run, tmp_path_factory.mktemp("page") / "run")


@pytest.fixture(scope="module")
def page(folder):
    return Page((folder / "report.html").read_text(encoding="utf-8"))


def test_every_element_is_closed(page):
    assert page.open == []


def test_ids_are_unique_and_links_within_the_page_lead_somewhere(page):
    ids = [attrs["id"] for _, attrs in page.elements if "id" in attrs]
    assert len(ids) == len(set(ids))
    for _, attrs in page.elements:
        for key in ("href", "xlink:href"):
            target = attrs.get(key, "")
            if target.startswith("#"):
                assert target[1:] in ids, target


def test_figures_inside_figures_keep_their_clips(page):
    """A figure shown twice has other ids each time; what refers to them follows."""
    ids = {attrs["id"] for _, attrs in page.elements if "id" in attrs}
    used = {m for _, attrs in page.elements for m in re.findall(r"url\(#([^)]+)\)", " ".join(map(str, attrs.values())))}
    assert used and used <= ids


def test_what_is_drawn_is_told(page):
    for attrs in page.all("svg"):
        assert attrs.get("aria-hidden") == "true" or (attrs["role"] == "img" and len(attrs["aria-label"]) > 20)
    assert all(attrs.get("alt") for attrs in page.all("img"))


def test_nothing_is_loaded_from_elsewhere(page):
    for tag, attrs in page.elements:
        for key in ("src", "srcset", "data", "action", "poster"):
            assert key not in attrs, (tag, attrs)
        if tag == "link":
            assert attrs["href"] == "data:,"
    text = " ".join(attrs.get("style", "") for _, attrs in page.elements)
    assert "http" not in text
    assert "@import" not in text


def test_it_is_small(folder):
    assert (folder / "report.html").stat().st_size < 1_000_000


def test_it_links_files_that_exist(folder, page):
    for attrs in page.all("a"):
        if not attrs["href"].startswith("#"):
            assert (folder / attrs["href"]).exists(), attrs


def test_it_says_what_was_found_and_where_it_comes_from(page):
    for words in (
        "Redundant features are simulated by design",
        "The eICU cohort is simulated",
        "CC BY 4.0",
        "ab" * 32,
        "0123456789abcdef with uncommitted changes",
        "LinAlgError: singular <matrix>",
        "Table or figure paired_differences.",
        "dams 0.1.0",
    ):
        assert words in page.text, words


def test_a_whole_run_has_all_it_asked_for(folder, page):
    assert "blocks of fits" not in page.text
    assert "Theory: " not in page.text


def test_an_interrupted_run_has_a_page_that_names_what_is_missing(tmp_path, capsys):
    make_folder(tmp_path, whole=False)
    # All that is left is one of the blocks.
    run = RunFolder(tmp_path)
    write_block(tmp_path, run.blocks[-1], run.records)
    (tmp_path / "records.csv").unlink()
    assert main(["report", str(tmp_path)]) == 0
    told = capsys.readouterr().out
    page = Page((tmp_path / "report.html").read_text(encoding="utf-8"))
    for words in (
        "2 of 3 blocks of fits; what follows rests on the others.",
        "Table or figure table1.",
        "Provenance: the run has not come to its end.",
    ):
        assert words in page.text
        assert words in told
    assert str(tmp_path / "report.html") in told


@pytest.fixture
def changed(run_without_page, tmp_path):
    """A whole run, then the start of one with another configuration; a function that says how it differs."""
    for name in ("tables/paired_differences.html", "diagnostics/hospital_verdicts.csv", "diagnostics/verdicts.csv"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("verdict\nUCAR rejected\n")
    designs = [block.digest for block in RunFolder(tmp_path).blocks]
    write_csv(pd.DataFrame({"design": designs}), tmp_path / "timings.csv")

    def change(**keys):
        for path in tmp_path.rglob("*"):
            os.utime(path, (1000, 1000))
        note_start(tmp_path, CONFIG | keys)
        return RunFolder(tmp_path)

    return change


def finish(folder, run):
    """Let the provenance tell of the configuration, as at the end of its run."""
    provenance = json.loads((folder / "provenance.json").read_text())
    (folder / "provenance.json").write_text(json.dumps(provenance | {"config": run.config}))
    return RunFolder(folder)


def test_an_output_that_is_no_longer_asked_for_is_not_shown(changed, tmp_path):
    studies = copy.deepcopy(CONFIG["studies"])
    studies["two"]["outputs"] = ["table1"]
    figures = {"error_against_epsilon", "error_against_distance"}
    assert {item.name for item in outputs_of(changed())[0]} == {"table1", "paired_differences", *figures}
    run = finish(tmp_path, changed(studies=studies))
    assert {item.name for item in outputs_of(run)[0]} == {"table1", "error_against_epsilon"}
    assert "paired_differences" not in write_page(tmp_path).read_text(encoding="utf-8")


def test_a_part_that_is_no_longer_asked_for_is_not_shown_nor_used(changed, tmp_path):
    run = finish(tmp_path, changed())
    assert set(parts_of(run)) == {"theory", "eicu", "diagnostics"}
    assert not run.evidence.eicu.empty and not run.evidence.theory.empty
    run = finish(tmp_path, changed(eicu=None, theory=False))
    assert {part: [item.name for item in items] for part, items in parts_of(run).items()} == {
        "diagnostics": ["verdicts"]
    }
    assert run.evidence.eicu.empty and run.evidence.theory.empty
    write_claims(tmp_path)
    claims = pd.read_csv(tmp_path / "claims.csv")
    assert set(claims[claims["check"] == "theory"]["verdict"]) == {"not testable here"}
    page = write_page(tmp_path).read_text(encoding="utf-8")
    assert "part-eicu" not in page and "eicu/scores.csv" not in page and "theory/theory.csv" not in page


def test_records_of_another_configuration_are_not_shown(changed, tmp_path):
    """The seed changed, and one block was run since."""
    run = changed(seed=2)
    write_block(tmp_path, run.blocks[-1], make_records())
    assert set(RunFolder(tmp_path).records["dataset"]) == {"digits"}
    page = Page(write_page(tmp_path).read_text(encoding="utf-8"))
    for words in (
        "48 scores in 6 cells",
        "2 of 3 blocks of fits",
        "Table or figure table1.",
        "Provenance: the run has not come to its end.",
        "Theory: ",
        "eICU: ",
    ):
        assert words in page.text
    assert "0123456789abcdef" not in page.text
    # The claims of the earlier run rest on its theory.
    claims, _ = check_or_read_claims(RunFolder(tmp_path))
    assert set(claims[claims["check"] == "theory"]["verdict"]) == {"not testable here"}


def test_what_the_change_leaves_alone_is_still_shown(changed, tmp_path):
    """Records do not depend on the bootstrap; when the run has come to its end, all else is current again."""
    run = changed(bootstrap={"replicates": 60})
    assert len(run.records) == len(make_records())
    assert not [line for line in what_is_missing(run) if "blocks" in line]
    # What the run makes of them rests on all that Snakemake found to be current.
    assert not evidence_in(tmp_path).theory.empty
    assert set(parts_of(finish(tmp_path, run))) == {"theory", "eicu", "diagnostics"}


def test_two_way_results_are_set_against_source_and_filter(tmp_path):
    make_folder(tmp_path, whole=False)
    assert "Two-way adjustment: " in Page(write_page(tmp_path).read_text(encoding="utf-8")).text
    records = RunFolder(tmp_path).records
    better = records[records["method"] == "nonparametric"].assign(method="two_way", score=lambda r: r["score"] - 0.1)
    write_csv(pd.concat([records, better]), tmp_path / "records.csv")
    text = Page(write_page(tmp_path).read_text(encoding="utf-8")).text
    assert "Two-way adjustment: " not in text
    assert "Digits, mˢ ? mᵗ, linear non-parametric −0.100 " in text


def test_numbers_of_another_study_than_table1_are_told(run_without_page, tmp_path):
    """The study in the table may have other settings, or fewer repeats, than the one that is compared."""
    words = "on Thyroid not the one in table 1"
    page = write_page(tmp_path).read_text(encoding="utf-8")
    assert words not in page and "<small>0.251</small>" in page
    table = pd.read_csv(tmp_path / "tables" / "table1.csv")
    write_csv(
        table.assign(mean=table["mean"] + 0.01 * (table["dataset"] != "redundant")), tmp_path / "tables/table1.csv"
    )
    page = write_page(tmp_path).read_text(encoding="utf-8")
    # Nor does a printed number stand below a score that is not its own.
    assert words in page and "<small>0.251</small>" not in page


def test_a_folder_without_a_configuration_still_has_a_page(tmp_path, capsys):
    assert main(["report", str(tmp_path)]) == 1
    assert "holds nothing of a run" in capsys.readouterr().err
    (tmp_path / "blocks").mkdir()
    assert main(["report", str(tmp_path)]) == 0
    assert "The configuration of this run is not known" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_a_page_is_not_replaced_by_one_without_records(run_with_page, tmp_path, capsys):
    """A clone of the project has a finished run without what its page was made of."""
    run = RunFolder(tmp_path)
    block = write_block(tmp_path, run.blocks[-1], run.records)
    for name in ("findings.csv", "records.csv"):
        (tmp_path / name).unlink()
    assert main(["report", str(tmp_path)]) == 0
    before = (tmp_path / "report.html").read_bytes()
    shutil.rmtree(block.parents[1])
    assert main(["report", str(tmp_path)]) == 1
    told = capsys.readouterr().err
    assert "its records are not there: expected records.csv, records.npz or blocks/" in told
    assert "report.html is left as it is; `dams run`" in told
    assert (tmp_path / "report.html").read_bytes() == before


def test_what_does_not_hold_is_grouped_explained_and_says_what_would_decide_it(folder):
    run = RunFolder(folder)
    claims, findings = check_or_read_claims(run)
    rows = claim_rows(claims, findings)
    failed = {"verdict": "not supported", "errata": "E2 E8"}
    chosen = [
        {**rows[0], **failed, "kind": "print"},
        {**rows[1], **failed, "kind": "stated"},
        {**rows[2], "verdict": "supported", "kind": "stated"},
        {**rows[3], "verdict": "undecided", "kind": "reading", "errata": ""},
    ]
    groups = open_claims(chosen)
    assert [title for title, _ in groups] == [KINDS[kind].rstrip(". ") for kind in ("stated", "reading", "print")]
    (first,), _, (last,) = (group for _, group in groups)
    # Spelled out where the page names it first.
    assert [(id, bool(what)) for id, what in first["reasons"]] == [("E2", True), ("E8", True)]
    assert [(id, bool(what)) for id, what in last["reasons"]] == [("E2", False), ("E8", False)]


@pytest.mark.parametrize(
    ("draws", "told"),
    [
        (1663.0, "About 1,700 rate draws would decide it."),
        (79.0, "About 79 rate draws would decide it."),
        (12557566.0, "It lies so close to the bound that 100,000 rate draws would not decide it."),
        (math.inf, "It lies so close to the bound that 100,000 rate draws would not decide it."),
        (math.nan, ""),
    ],
)
def test_how_many_draws_would_decide_is_rounded_and_has_an_end(draws, told):
    assert to_decide(draws) == told


@pytest.mark.parametrize(
    ("file", "size", "message"),
    [
        ("config.json", 0, "config.json is damaged: expected JSON, got Expecting value"),
        ("config.json", 40, "config.json is damaged: expected JSON, got "),
        ("config.json", None, "config.json is damaged: expected keys with values, got [1]"),
        ("provenance.json", 40, "provenance.json is damaged: expected JSON, got "),
        ("records.csv", 0, "records.csv is cut off: expected its last line to end, got 0 bytes"),
        ("records.csv", 1000, "records.csv is cut off: expected its last line to end, got 1000 bytes"),
        (
            "theory/theory.csv",
            0,
            "theory.csv is damaged: No columns to parse from file.",
        ),
        ("claims.csv", 0, "claims.csv is damaged: No columns to parse from file."),
    ],
)
def test_a_damaged_file_is_named_and_the_page_is_left(run_with_page, tmp_path, capsys, file, size, message):
    before = (tmp_path / "report.html").read_bytes()
    content = (tmp_path / file).read_bytes()
    (tmp_path / file).write_bytes(b"[1]" if size is None else content[:size])
    assert main(["report", str(tmp_path)]) == 1
    told = capsys.readouterr().err
    assert told.startswith(f"No report of {tmp_path}: {tmp_path}/")
    assert message in told
    assert "Delete the file and run again." in told
    assert (tmp_path / "report.html").read_bytes() == before


def test_a_folder_that_can_not_be_written_is_named(tmp_path, capsys):
    make_folder(tmp_path, whole=False)
    # Whoever runs the tests may be allowed to write everywhere, but not a file over a folder.
    (tmp_path / "report.html" / "x").mkdir(parents=True)
    assert main(["report", str(tmp_path)]) == 1
    told = capsys.readouterr().err
    assert f"No report of {tmp_path}: {tmp_path}/report.html" in told
    assert "Expected a folder that can be read and written." in told


def test_no_folder_no_page(tmp_path, capsys):
    assert main(["report", str(tmp_path / "absent")]) == 1
    assert "absent is not a folder; expected results/<name> of a run." in capsys.readouterr().err


def test_same_folder_same_page(folder):
    before = (folder / "report.html").read_bytes()
    assert write_page(folder, raw=(folder / "raw").glob("*.json")).read_bytes() == before


def test_foreign_text_is_escaped(tmp_path):
    make_folder(tmp_path, whole=False)
    records = RunFolder(tmp_path).records.assign(failure="<script>alert(1)</script>")
    write_csv(records, tmp_path / "records.csv")
    assert "<script>alert" not in write_page(tmp_path).read_text(encoding="utf-8")


SVG = """<?xml version="1.0"?><!DOCTYPE svg><svg width="72pt" height="36pt" viewBox="0 0 72 36"><metadata>x</metadata>
<defs><style>*{fill: red}</style><clipPath id="a"/></defs>
<path id="m" d="M 0 0"/><path id="n" d="M 1 1"/>
<g id="b" clip-path="url(#a)" style="fill: #ffffff"><path d="M 1.23456 2 L 3.00001 4"/><use xlink:href="#b"/></g>
<use xlink:href="#m" x="7.123456" y="8" style="fill: red"/><use xlink:href="#m" x="9" y="8" style="fill: red"/>
<use xlink:href="#n" x="1" y="8" style="fill: red"/><use xlink:href="#n" x="2" y="8" style="fill: blue"/>
</svg>"""


def test_an_inlined_figure_keeps_to_itself():
    svg = inline_svg(SVG, prefix="p", label='say "so"')
    assert svg.startswith("<svg ")
    for words in (
        'id="p-0"',
        "url(#p-0)",
        'id="p-3"',
        '<use href="#p-3"/>',
        '<path id="p-1" d="M0 0" style="fill:red"/>',
        '<use href="#p-1" x="7.12" y="8"/><use href="#p-1" x="9" y="8"/>',
        '<use href="#p-2" x="1" y="8" style="fill:red"/>',
        "fill:var(--paper)",
        'd="M1.23 2 3 4"',
        "say &#34;so&#34;",
    ):
        assert words in svg
    for words in ("metadata", "<style", "DOCTYPE"):
        assert words not in svg


def test_cells_of_a_table_name_their_columns():
    rows = [("Source", [Entry("0.5", "0.4"), Entry("0.6")]), ("Oracle", [Entry("0.1"), Entry("0.2")])]
    table = Table("t", [("Adult", "free"), ("A & B",)], [Section("linear", rows)], pd.DataFrame(), ["A note."])
    html = as_cards(table.to_html())
    assert '<table class="scores cards">' in html and "A note." in html
    assert html.count('<td data-head="Adult, free"') == html.count('<td data-head="A &amp; B"') == 2
    assert '<td data-head="Adult, free">0.5<small>0.4</small></td><td data-head="A &amp; B">0.6</td>' in html


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.25, "0.250"), (-1.5, "−1.500"), (48842, "48,842"), (3e-17, "3.0e−17"), (0.0, "0"), (123456.5, "1.2e+05")],
)
def test_numbers_read_well(value, text):
    assert number(value) == text


def test_intervals_read_well():
    assert interval(0.00004, -0.001, 0.001) == "0.000 (−0.001 to 0.001)"
    assert interval(3.0, 3.0, 3.0) == "3"
    assert interval(0.5, float("nan"), float("nan")) == "0.500"


def test_symbols_are_set():
    assert mathematics("m^t < n_s & E[x]_ij") == "m<sup>t</sup> &lt; n<sub>s</sub> &amp; E[x]<sub>ij</sub>"
    assert mathematics("Σ_j β_j²") == "Σ<sub>j</sub> β<sub>j</sub>²"
    assert mathematics("file_name.csv") == "file_name.csv"
    assert mathematics("mˢ ? mᵗ") == "mˢ\u00a0?\u00a0mᵗ"


def test_empty_columns_are_left_out_and_symbols_keep_their_case():
    table = data_table(pd.DataFrame({"one_b": [1.0, None], "empty": [None, None], "r_median": 0.1, "r": 0.2}))
    assert table.heads == ["One b", "r median", "r"]
    assert [row[0].text for row in table.rows] == ["1", "—"]


def test_shares_are_shown_as_they_are_expected():
    table = data_table(
        pd.DataFrame({"measured": [0.9614, -0.39, 0.5], "expected": ["at least 85 %", "at most 2 %", "above 0"]})
    )
    assert [row[0].text for row in table.rows] == ["96.1 %", "−39 %", "0.500"]
    assert [row[0].value for row in table.rows] == [0.9614, -0.39, 0.5]


def test_parts_come_with_captions_in_their_order_and_bare_data_only_where_alone(tmp_path):
    for name in ("diagnostics/hospital_verdicts", "diagnostics/verdicts", "diagnostics/anything", "eicu/scores"):
        write_csv(pd.DataFrame({"verdict": ["UCAR rejected"]}), tmp_path / f"{name}.csv")
    parts = parts_of(RunFolder(tmp_path))
    assert [item.name for item in parts["diagnostics"]] == ["verdicts", "hospital_verdicts"]
    assert "one cell in twenty" in parts["diagnostics"][0].caption.replace("\n", " ")
    assert [item.name for item in parts["eicu"]] == ["scores"]
    write_csv(pd.DataFrame({"features": [1]}), tmp_path / "eicu" / "relative_missingness_summary.csv")
    assert [item.name for item in parts_of(RunFolder(tmp_path))["eicu"]] == ["relative_missingness_summary"]
