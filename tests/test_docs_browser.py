"""The built site in a real browser: nothing is cut on a phone or a desk, no image is missing, text can be read.

`make docs` builds the site and then runs this; without the site there is nothing to look at.
"""

from pathlib import Path

import pytest
from browsing import CONTRAST, needs_browser, start_browser, visitor

SITE = Path(__file__).parents[1] / "docs" / "_build" / "html"
PAGES = ("index.html", "generated/gallery/plot_two_hospitals.html", "generated/api/dams.ClosedFormRegressor.html")

pytestmark = [
    needs_browser,
    pytest.mark.skipif(not (SITE / "index.html").exists(), reason="the site is not built: `make docs` builds it"),
]

# Elements of the article that reach beyond the window where nothing lets a reader scroll to their end.
CUT = """
const scrolls = (e) => e && (["auto", "scroll"].includes(getComputedStyle(e).overflowX) || scrolls(e.parentElement));
return [...document.querySelectorAll("article *")]
  .filter((e) => e.checkVisibility() && e.getBoundingClientRect().right > innerWidth + 1 && !scrolls(e.parentElement))
  .map((e) => [e.tagName, e.className, e.textContent.slice(0, 40)]);
"""
MISSING = "return [...document.images].filter((image) => !image.complete || !image.naturalWidth).map((i) => i.src)"


@pytest.fixture(scope="module")
def browser():
    yield from start_browser()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("page", PAGES)
def test_a_page_can_be_read(browser, page, width, scheme):
    open_page = visitor(browser, (SITE / page).as_uri())
    open_page(width, scheme)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    assert browser.execute_script(CUT) == []
    assert browser.execute_script(MISSING) == []
    seen, failures = browser.execute_script(CONTRAST)
    assert seen > 50
    assert failures == []
