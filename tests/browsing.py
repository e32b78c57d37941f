"""A real browser for tests of pages."""

import importlib.util
import shutil

import pytest

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
DRIVER = shutil.which("chromedriver")
HAS_SELENIUM = importlib.util.find_spec("selenium") is not None
needs_browser = pytest.mark.skipif(
    not (CHROMIUM and DRIVER and HAS_SELENIUM),
    reason="needs selenium, Chromium and its driver (Debian: chromium chromium-driver)",
)

# Lowest ratio of contrast and its element among visible text, by the formula of WCAG 2; large text needs less.
CONTRAST = """
const luminance = ([r, g, b]) => [r, g, b].map((c) => c / 255)
  .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
  .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
const rgba = (text) => text.match(/[\\d.]+/g).map(Number);
const grounds = new Map([[null, [255, 255, 255]]]);
const ground = (element) => {
  if (!grounds.has(element)) {
    const color = rgba(getComputedStyle(element).backgroundColor);
    grounds.set(element, color.length < 4 || color[3] > 0.99 ? color : ground(element.parentElement));
  }
  return grounds.get(element);
};
const failures = [];
let seen = 0;
for (const element of document.body.querySelectorAll("*")) {
  const own = [...element.childNodes].some((n) => n.nodeType === Node.TEXT_NODE && n.textContent.trim());
  if (!own || element.closest("script, style") || !element.checkVisibility()) continue;
  const style = getComputedStyle(element);
  const ink = element.closest("svg") ? style.fill : style.color;
  const [a, b] = [luminance(rgba(ink)), luminance(ground(element))];
  const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  const size = parseFloat(style.fontSize);
  const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
  seen += 1;
  if (ratio < (large ? 3 : 4.5)) failures.push([element.className, element.textContent.slice(0, 40), ratio]);
}
return [seen, failures];
"""


def start_browser():
    """Yield a browser, for a fixture."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    yield driver
    driver.quit()


def visitor(browser, url):
    """Return a function that opens the page afresh at a width, in a colour scheme, on screen or paper.

    Without a page the one that is open stays, as where a reader turns the phone: loading costs more than looking.
    """

    def open_page(width=1280, scheme="light", media="screen", page=url):
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        feature = {"name": "prefers-color-scheme", "value": scheme}
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media, "features": [feature]})
        if page is not None:
            browser.get(page)
        return browser

    return open_page
