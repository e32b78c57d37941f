"""The page in a real browser: quiet, self-contained, sortable, readable on a phone, in the dark and in print."""

import json
import shutil

import pytest
from reports import make_report

webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
DRIVER = shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(
    not (CHROMIUM and DRIVER), reason="needs Chromium and its driver (Debian: chromium chromium-driver)"
)

WIDTHS = (320, 375, 800, 1280)

# Lowest ratio of contrast and its element among visible text, by the formula of WCAG 2; large text needs less.
CONTRAST = """
const luminance = ([r, g, b]) => [r, g, b].map((c) => c / 255)
  .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
  .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
const rgba = (text) => text.match(/[\\d.]+/g).map(Number);
const ground = (element) => {
  for (let e = element; e; e = e.parentElement) {
    const color = rgba(getComputedStyle(e).backgroundColor);
    if (color.length < 4 || color[3] > 0.99) return color;
  }
  return [255, 255, 255];
};
const failures = [];
let seen = 0;
for (const element of document.body.querySelectorAll("*")) {
  const own = [...element.childNodes].some((n) => n.nodeType === Node.TEXT_NODE && n.textContent.trim());
  if (!own || element.closest("svg, script, style") || !element.checkVisibility()) continue;
  const style = getComputedStyle(element);
  const [a, b] = [luminance(rgba(style.color)), luminance(ground(element))];
  const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  const size = parseFloat(style.fontSize);
  const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
  seen += 1;
  if (ratio < (large ? 3 : 4.5)) failures.push([element.className, element.textContent.slice(0, 40), ratio]);
}
return [seen, failures];
"""


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    return make_report(tmp_path_factory.mktemp("run")).as_uri()


@pytest.fixture(scope="module")
def browser():
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    yield driver
    driver.quit()


@pytest.fixture
def visit(browser, url):
    """Open the page afresh at a width, in a colour scheme, on screen or paper."""

    def open_page(width=1280, scheme="light", media="screen"):
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        feature = {"name": "prefers-color-scheme", "value": scheme}
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media, "features": [feature]})
        browser.get(url)
        return browser

    return open_page


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


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("opened", [False, True])
def test_the_page_never_scrolls_sideways(visit, width, opened):
    browser = visit(width)
    if opened:
        browser.execute_script("document.querySelectorAll('details').forEach((d) => (d.open = true))")
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_its_ground(visit, width, scheme):
    browser = visit(width, scheme)
    browser.execute_script("document.querySelectorAll('details').forEach((d) => (d.open = true))")
    seen, failures = browser.execute_script(CONTRAST)
    assert seen > 200
    assert failures == []


def test_light_and_dark_differ(visit):
    ground = "return getComputedStyle(document.body).backgroundColor"
    assert visit(scheme="light").execute_script(ground) != visit(scheme="dark").execute_script(ground)


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
    browser.execute_script("document.querySelectorAll('details').forEach((d) => (d.open = true))")
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


@pytest.mark.parametrize("width", [390, 1280])
def test_what_a_reader_came_for_comes_first(visit, width):
    """Verdict, table 1 and the first figure before anything else; the rest is folded, with a line on what is inside."""
    browser = visit(width=width)
    top = "return document.getElementById(arguments[0]).getBoundingClientRect().top + scrollY"
    tops = [browser.execute_script(top, name) for name in ("summary", "lead", "figures", "claims")]
    assert tops == sorted(tops)
    if width == 1280:
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
