"""The page in a real browser: quiet, self-contained, sortable, readable on a phone, in the dark and in print."""

import itertools
import json
from pathlib import Path

import pytest
from browsing import CONTRAST, needs_browser, start_browser, visitor

pytestmark = needs_browser

WIDTHS = (320, 375, 800, 1280)
UNFOLD = "document.querySelectorAll('details').forEach((d) => (d.open = true))"


@pytest.fixture(scope="module")
def url(small_run):
    return (small_run / "report.html").as_uri()


@pytest.fixture(scope="module")
def browser():
    yield from start_browser()


@pytest.fixture
def visit(browser, url):
    return visitor(browser, url)


def column(browser, figure, index):
    script = "return [...document.querySelectorAll(arguments[0])].map((row) => row.cells[arguments[1]].textContent)"
    return browser.execute_script(script, f"{figure} tbody tr", index)


def test_nothing_is_asked_of_the_network_and_nothing_goes_wrong(visit, url):
    browser = visit()
    events = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    asked = {e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"}
    assert url in asked
    assert all(address == url or address.startswith(("data:", "chrome:", "about:")) for address in asked), asked
    assert browser.get_log("browser") == []


def test_tables_sort_up_down_and_back(visit):
    browser = visit()
    figure = "#theory"
    before = column(browser, figure, 3)
    click = "document.querySelector(arguments[0] + ' thead th:nth-child(4) button').click()"
    state = "return document.querySelector(arguments[0] + ' thead th:nth-child(4)').getAttribute('aria-sort')"
    values = "return [...document.querySelectorAll(arguments[0] + ' tbody tr')].map((r) => +r.cells[3].dataset.value)"
    for expected in ("ascending", "descending"):
        browser.execute_script(click, figure)
        assert browser.execute_script(state, figure) == expected
        shown = browser.execute_script(values, figure)
        assert shown == sorted(shown, reverse=expected == "descending")
    browser.execute_script(click, figure)
    assert browser.execute_script(state, figure) is None
    assert column(browser, figure, 3) == before


def test_sections_keep_their_rows_when_sorted(visit):
    browser = visit()
    script = """
      const bodies = [...document.querySelectorAll('#table1 tbody')];
      const rows = () => bodies.map((b) => [...b.rows].map((r) => r.cells[0].textContent));
      const before = rows();
      document.querySelector('#table1 thead th:nth-child(2) button').click();
      return [before, rows()];
    """
    before, after = browser.execute_script(script)
    assert [sorted(rows) for rows in before] == [sorted(rows) for rows in after]
    assert [rows[0] for rows in before] == [rows[0] for rows in after]
    assert before != after


def test_claims_filter_by_verdict_and_by_words(visit):
    browser = visit()
    browser.execute_script("document.querySelector('#claims > details').open = true")
    count = "return [...document.querySelectorAll('.claims > tbody > tr')].filter((r) => r.checkVisibility()).length"
    total = browser.execute_script(count)
    pressed = browser.execute_script("""
      const buttons = [...document.querySelectorAll('#claims .controls button')];
      const button = buttons.find((b) => b.textContent.startsWith('Supported'));
      button.click();
      return button.textContent;
    """)
    assert browser.execute_script(count) == int(pressed.split()[-1]) < total
    browser.execute_script("""
      document.querySelector('#claims .controls button').click();
      const input = document.querySelector('#claims input');
      input.value = 'vaccinated adults';
      input.dispatchEvent(new Event('input'));
    """)
    assert browser.execute_script(count) == 1
    assert browser.execute_script("return document.querySelector('#claims output').value") == f"1 of {total} rows"


def test_the_page_never_scrolls_sideways(visit):
    browser = visit()
    for opened in (False, True):
        if opened:
            browser.execute_script(UNFOLD)
        for width in WIDTHS:
            visit(width, page=None)
            found = browser.execute_script("return [innerWidth, document.documentElement.scrollWidth]")
            assert found[0] == width and found[1] <= width, (opened, width)


def test_text_stands_out_from_its_ground(visit):
    browser = visit()
    browser.execute_script(UNFOLD)
    for width, scheme in itertools.product(WIDTHS, ["light", "dark"]):
        visit(width, scheme, page=None)
        seen, failures = browser.execute_script(CONTRAST)
        assert seen > 200, (width, scheme)
        assert failures == [], (width, scheme)


def test_light_and_dark_differ(visit):
    ground = "return getComputedStyle(document.body).backgroundColor"
    light = visit(scheme="light").execute_script(ground)
    assert light != visit(scheme="dark", page=None).execute_script(ground)


def test_print_holds_every_table_and_row_and_no_controls(visit):
    browser = visit(800)
    browser.execute_script("""
      const input = document.querySelector('#claims input');
      input.value = 'nothing has these words';
      input.dispatchEvent(new Event('input'));
    """)
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    hidden = """
      const gone = (e) => !e.checkVisibility({contentVisibilityAuto: true}) || e.getBoundingClientRect().height === 0;
      return [...document.querySelectorAll('table, tbody tr')].filter(gone).map((e) => e.textContent.slice(0, 60));
    """
    assert browser.execute_script(hidden) == []
    shown = "return [...document.querySelectorAll('nav, .controls')].filter((e) => e.checkVisibility()).length"
    assert browser.execute_script(shown) == 0


def test_no_table_is_wider_than_the_paper_nor_breaks_a_number(visit):
    """A browser shrinks every page to the widest: on A4, 718 px within the margins."""
    browser = visit(718, media="print")
    browser.execute_script(UNFOLD)
    # The widest tables of the paper's run: intervals of eight predictors, and fourteen columns of numbers.
    browser.execute_script("""
      const table = (columns, head, text, name) => `<div class="scroll"><table ${name}><thead><tr>${
        `<th scope="col">${head}</th>`.repeat(columns)}</tr></thead><tbody><tr><th scope="row">Thyroid, mˢ ≤ mᵗ</th>${
        `<td class="${name && "number"}">${text}</td>`.repeat(columns - 1)}</tr></tbody></table></div>`;
      document.querySelector("main").innerHTML += table(8, "Closed-form (as published)", "−0.044 (−0.051 – −0.037)", "")
        + table(14, "Clearly negative", "−12.419", 'class="data cards"');
    """)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= 718
    broken = """
      const range = document.createRange();
      return [...document.querySelectorAll("main > .scroll td")].flatMap((cell) =>
        [...cell.firstChild.data.matchAll(/[−+]?[\\d.]+/g)].filter((number) => {
          range.setStart(cell.firstChild, number.index);
          range.setEnd(cell.firstChild, number.index + number[0].length);
          return range.getClientRects().length > 1;
        }).map((number) => number[0]));
    """
    assert browser.execute_script(broken) == []


def test_without_its_script_the_page_is_whole(visit, browser, url):
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        browser.get(url)
        text = browser.find_element("tag name", "main").get_attribute("textContent")
    finally:
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
    assert "Every claim and what became of it." in text
    assert "Filter rows" not in text


# Regions whose content is wider than they are, so that a part of it is out of sight.
CLIPPED = """
return [...document.querySelectorAll('.scroll, pre, main')]
  .filter((e) => e.checkVisibility() && e.scrollWidth > e.clientWidth + 1)
  .map((e) => [e.getAttribute('aria-label') ?? e.tagName, e.scrollWidth, e.clientWidth]);
"""


def test_no_table_or_figure_is_clipped_on_a_phone(visit):
    browser = visit(320)
    browser.execute_script(UNFOLD)
    for width in (320, 390):
        visit(width, page=None)
        assert browser.execute_script(CLIPPED) == [], width


def boxes(browser, selector):
    script = """
      return [...document.querySelectorAll(arguments[0])].map((e) => e.getBoundingClientRect())
        .map((r) => [r.left, r.top, r.width, r.height]);
    """
    return browser.execute_script(script, selector)


FIGURE = "#error-against-distance"


def test_panels_stack_on_a_phone_and_stand_side_by_side_elsewhere(visit):
    browser = visit()
    for width, media in ((1280, "screen"), (718, "print")):
        visit(width, media=media, page=None)
        ((left, _, wide, high),) = boxes(browser, f"{FIGURE} svg.whole")
        assert left >= 0 and left + wide <= width and high > 200
        assert all(area[3] == 0 for area in boxes(browser, f"{FIGURE} .panels"))
    visit(390, page=None)
    ((*_, wide, high),) = boxes(browser, f"{FIGURE} svg.whole")
    assert wide == high == 0
    tiles = boxes(browser, f"{FIGURE} .panels > svg")
    panels = [tile for tile in tiles if tile[3] > 100]
    # Two data sets, two rows: large enough to read, one below the other.
    assert len(panels) == 4 < len(tiles)
    assert all(left >= 0 and left + wide <= 390 and wide > 220 for left, _, wide, _ in panels)
    assert all(first[1] + first[3] <= second[1] for first, second in itertools.pairwise(panels))
    # A view of its own panel, with what is drawn in it.
    drawn = """
      const view = document.querySelector(arguments[0]).getBoundingClientRect();
      return document.elementsFromPoint(view.left + view.width / 2, view.top + view.height / 2).map((e) => e.tagName);
    """
    browser.execute_script(
        "document.querySelector(arguments[0]).scrollIntoView({behavior: 'instant'})", f"{FIGURE} .panels > svg"
    )
    assert "use" in browser.execute_script(drawn, f"{FIGURE} .panels > svg")


@pytest.fixture(scope="module")
def committed():
    """The paper's page, if its figures are as the present code draws them."""
    run = Path(__file__).parents[3] / "results" / "paper"
    if "<dc:description>" not in (run / "figures" / "error_against_distance.svg").read_text(encoding="utf-8"):
        pytest.skip("results/paper was made by an earlier version, which did not say where panels are")
    return run / "report.html"


def test_the_papers_page_is_small(committed):
    assert committed.stat().st_size < 1.5e6


def test_the_papers_page_is_whole_on_a_desk_on_paper_and_on_a_phone(visit, committed):
    """It takes a second to open, so once for all."""
    browser = visit(1280, page=committed.as_uri())
    # Table 1 and figure 2 come first.
    for name in ("lead", "error-against-epsilon", "error-against-distance"):
        ((_, top, _, high),) = boxes(browser, f"#{name}")
        assert top + high < 2500, name
    assert browser.execute_script(CLIPPED) == []
    # Printed, all that is folded is there, and no wider than a sheet.
    visit(718, media="print", page=None)
    hidden = """
      const gone = (e) => !e.checkVisibility({contentVisibilityAuto: true}) || e.getBoundingClientRect().height === 0;
      return [...document.querySelectorAll('table, tbody tr, .plot .scroll > svg')].filter(gone).length;
    """
    assert browser.execute_script(hidden) == 0
    assert browser.execute_script("return document.documentElement.scrollWidth") <= 718
    browser.execute_script(UNFOLD)
    visit(390, page=None)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= 390
    assert browser.execute_script(CLIPPED) == []
    for scheme in ("light", "dark"):
        visit(1280, scheme, page=None)
        seen, failures = browser.execute_script(CONTRAST)
        assert seen > 5000 and failures == [], scheme


def test_what_a_reader_came_for_comes_first(visit):
    """Verdict, table 1 and the first figure before anything else; the rest is folded, with a line on what is inside."""
    browser = visit()
    top = "return document.getElementById(arguments[0]).getBoundingClientRect().top + scrollY"
    for width in (390, 1280):
        visit(width, page=None)
        tops = [browser.execute_script(top, name) for name in ("summary", "lead", "figures", "claims")]
        assert tops == sorted(tops), width
    assert tops[2] < 2500
    folded = browser.execute_script("""
      return [...document.querySelectorAll('main > section > details.part')].map(
        (d) => [d.open, d.querySelector('summary .quiet')?.textContent.trim().length > 10]);
    """)
    assert len(folded) >= 5 and all(not opened and told for opened, told in folded)


def test_a_link_into_a_folded_part_opens_it(visit):
    browser = visit()
    browser.execute_script("location.hash = '#erratum-E8'")
    assert browser.execute_script("return document.querySelector('#differences > details').open")


def test_the_head_of_a_wide_table_covers_nothing_on_a_phone(visit):
    """Rows are cards there that name their columns themselves; the head is longer than any distance to the left."""
    browser = visit(390)
    browser.execute_script("""
      const cells = (name) => `<${name}>a long head</${name}>`.repeat(40);
      document.querySelector("main").innerHTML = `<div class="scroll"><table class="data cards"><thead><tr>${
        cells("th")}</tr></thead><tbody><tr>${cells("td")}</tr></tbody></table></div>`;
    """)
    covering = """
      const {top, bottom} = document.querySelector(".cards").getBoundingClientRect();
      const seen = new Set();
      for (let y = top - 60; y < bottom; y += 8)
        for (let x = 4; x < innerWidth; x += 16) seen.add(document.elementFromPoint(x, y)?.closest("thead") ?? null);
      return [...seen].filter(Boolean).length;
    """
    assert browser.execute_script(covering) == 0


def test_a_tall_figure_and_its_caption_fit_on_a_sheet(visit):
    """What is taller than the sheet is printed on one of its own, after an empty rest of the page before."""
    browser = visit(718, media="print")
    height = browser.execute_script("""
      document.querySelector("main").innerHTML = `<figure class="plot"><div class="scroll">
        <svg class="whole" viewBox="0 0 100 400" style="--width: 700px"></svg></div></figure>`;
      return document.querySelector("figure svg").getBoundingClientRect().height;
    """)
    assert 600 < height < 760
