"""The page of `dams adapt` in a real browser: a phone, the dark, names that mean harm."""

import pytest
from browsing import CONTRAST, needs_browser, start_browser, visitor
from hospitals import hospitals

from dams.two_files import adapt
from dams.two_files.adapt_page import render

pytest.importorskip("jinja2", reason="the extra pipeline is not installed")

HOSTILE = "<script>document.title = 'taken'</script>"


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    source, target, y = hospitals(1200, label="words", rates={"source": [0.7] * 4, "target": [0.1, 0.1, 0.7, 0.1]})
    source, target = (table.rename(columns={"a": HOSTILE}).assign(rare=0.0) for table in (source, target))
    found = adapt(
        source.drop(columns="y"),
        source["y"],
        target,
        model="logistic",
        label=HOSTILE,
        labelled=(target[:100], y[:100], None),
        notes=[HOSTILE],
    )
    path = tmp_path_factory.mktemp("page") / "page.html"
    path.write_text(render(found, files=("a.csv", HOSTILE), rows=(1200, 1200)), encoding="utf-8")
    return found, path


def test_the_page_says_what_the_result_says(page):
    found, path = page
    text = path.read_text(encoding="utf-8")
    assert f">{'Adapted' if found.adapted else 'Not adapted'}</h1>" in text
    for name in found.comparison.table.index:
        assert f'<td class="name">{name}' in text
    assert "On 100 labelled target rows" in text
    assert HOSTILE not in text


@pytest.fixture(scope="module")
def visit(page):
    browsers = start_browser()
    yield visitor(next(browsers), page[1].as_uri())
    next(browsers, None)


@needs_browser
@pytest.mark.parametrize("width", [320, 390, 1280])
def test_nothing_is_clipped_and_no_name_is_obeyed(visit, width):
    browser = visit(width)
    assert browser.title != "taken"
    assert browser.get_log("browser") == []
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    wider = "return [...document.querySelectorAll('.scroll')].filter((e) => e.scrollWidth > e.clientWidth + 1).length"
    assert width == 320 or browser.execute_script(wider) == 0


@needs_browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_its_ground(visit, scheme):
    seen, failures = visit(1280, scheme).execute_script(CONTRAST)
    assert seen > 30
    assert failures == []
