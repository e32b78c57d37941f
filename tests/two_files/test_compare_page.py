"""The page of `dams compare` in a real browser: 300 columns, hostile names, a phone, the dark."""

import json

import numpy as np
import pandas as pd
import pytest
from browsing import CONTRAST, needs_browser, start_browser, visitor

from dams.two_files.comparison import compare_files

pytest.importorskip("jinja2", reason="the extra pipeline is not installed")

HOSTILE = [
    "<script>document.title = 'taken'</script>",
    "<img src=x onerror=\"document.title = 'taken'\">",
    "'\"&amp;</td></table>",
    "long_" * 40,
    "\x1b[31m two\nlines",
    "{{ 7 * 7 }}",
]


def write_hospitals(folder, d, *, flags=False):
    """Names that mean harm, and loss at rates of each place's own."""
    rng = np.random.default_rng(0)
    names = [*HOSTILE, *(f"lab{j}" for j in range(d - len(HOSTILE)))]
    rates = rng.uniform(0.1, 0.5, d), rng.uniform(0.1, 0.5, d)
    for name, m in zip(("source.csv", "target.csv"), rates, strict=True):
        age = rng.normal(60, 10, 600)
        X = 2 + rng.normal(size=(600, d)) + (age[:, None] - 60) / 10
        X = np.asarray(X > 2 if flags else X, dtype=float) * (rng.random((600, d)) >= m)
        table = pd.DataFrame(X.round(3), columns=names).assign(age=age.round(1))
        table.assign(ward=rng.choice(["<b>north</b>", "south"], 600)).to_csv(folder / name, index=False)
    return folder / "source.csv", folder / "target.csv"


@pytest.fixture(scope="module")
def wide(tmp_path_factory):
    """300 columns, no anchors; the page as a file."""
    folder = tmp_path_factory.mktemp("wide")
    (folder / "page.html").write_text(
        compare_files(*write_hospitals(folder, 298, flags=True)).to_html(), encoding="utf-8"
    )
    return folder / "page.html"


@pytest.fixture(scope="module")
def anchored(tmp_path_factory):
    folder = tmp_path_factory.mktemp("anchored")
    found = compare_files(*write_hospitals(folder, 12), anchors=["age", "ward"])
    (folder / "page.html").write_text(found.to_html(), encoding="utf-8")
    return found, folder / "page.html"


def test_the_page_says_what_the_text_says(anchored):
    found, page = anchored
    text = page.read_text(encoding="utf-8")
    assert "<script>document" not in text and "<img src=x" not in text and "<b>north" not in text
    assert "{{ 7 * 7 }}" in text
    for name in ("Verdict", "What to do", "By anchor", "What can’t be seen"):
        assert f">{name}</h2>" in text
    assert found.to_html() == text


@pytest.fixture(scope="module")
def browser():
    yield from start_browser()


@pytest.fixture(params=["wide", "anchored"])
def visit(browser, request, wide, anchored):
    return visitor(browser, (wide if request.param == "wide" else anchored[1]).as_uri())


OPEN = "document.querySelectorAll('details').forEach((d) => (d.open = true))"


@needs_browser
def test_nothing_is_asked_of_the_network_and_no_name_is_obeyed(visit):
    browser = visit()
    asked = {
        event["params"]["request"]["url"]
        for entry in browser.get_log("performance")
        if (event := json.loads(entry["message"])["message"])["method"] == "Network.requestWillBeSent"
    }
    assert all(address.startswith(("file:", "data:", "chrome:", "about:")) for address in asked), asked
    assert browser.get_log("browser") == []
    assert browser.title != "taken"
    assert browser.execute_script("return document.querySelectorAll('td img, td script, td b').length") == 0


@needs_browser
@pytest.mark.parametrize("width", [320, 390, 800, 1280])
def test_nothing_is_clipped_or_scrolls_sideways(visit, width):
    browser = visit(width)
    browser.execute_script(OPEN)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    wider = "return [...document.querySelectorAll('.scroll')].filter((e) => e.scrollWidth > e.clientWidth + 1).length"
    if width in (390, 1280):
        assert browser.execute_script(wider) == 0


@needs_browser
@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_its_ground(visit, width, scheme):
    browser = visit(width, scheme)
    browser.execute_script(OPEN)
    seen, failures = browser.execute_script(CONTRAST)
    assert seen > 50
    assert failures == []


@needs_browser
def test_three_hundred_columns_are_folded_and_can_be_filtered_and_sorted(browser, wide):
    visitor(browser, wide.as_uri())()
    rows = "return document.querySelectorAll(arguments[0] + ' tbody tr:not([hidden])').length"
    assert browser.execute_script(rows, "#columns") == 20
    assert not browser.execute_script("return document.querySelector('#all > details').open")
    browser.execute_script("location.hash = '#all'")
    assert browser.execute_script(rows, "#all") == 300
    type_in = """
      const input = document.querySelector('#all input');
      input.value = 'lab23';
      input.dispatchEvent(new Event('input'));
    """
    browser.execute_script(type_in)
    assert browser.execute_script(rows, "#all") == 11  # 23, and 230 to 239
    browser.execute_script("document.querySelector('#all thead th:nth-child(3) button').click()")
    values = "return [...document.querySelectorAll('#all tbody tr')].map((r) => +r.cells[2].dataset.value)"
    assert (shown := browser.execute_script(values)) == sorted(shown)
