"""The built site: its links, that nothing comes from elsewhere, its search, its width; `make docs` runs this."""

import re
import shutil
from collections.abc import AsyncIterator, Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
import pytest_asyncio
from playwright.async_api import Page, async_playwright, expect

SITE = Path(__file__).resolve().parents[2] / "site"
BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
LOADED = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src"}
PAGES = (
    "docs/README",
    "README",
    "docs/settings",
    "docs/reference/endpoints",
    "docs/reference/error-codes",
    "docs/security",
)
"""Pages with much text, wide tables and wide code."""

needs_browser = pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine: the site is not looked at")


class Links(HTMLParser):
    """Anchors of a page, its links, and what a browser would load with it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value for name, value in attrs if value}
        self.anchors.update(values[name] for name in ("id", "name") if name in values)
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        elif tag in LOADED and LOADED[tag] in values:
            self.loaded.append(values[LOADED[tag]])


@pytest.fixture(scope="module")
def pages() -> dict[Path, Links]:
    found = {path: Links(path.read_text("utf-8")) for path in SITE.rglob("*.html")}
    assert len(found) > 90
    return found


def test_every_link_leads_to_a_page_and_a_place_in_it(pages: dict[Path, Links]) -> None:
    assert sorted(set(broken(pages))) == []


def broken(pages: dict[Path, Links]) -> Iterator[str]:
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not target.exists():
                yield f"{path.relative_to(SITE)}: {link}"
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].anchors:
                yield f"{path.relative_to(SITE)}: {link}, no such place"


def test_no_page_loads_anything_from_elsewhere(pages: dict[Path, Links]) -> None:
    strangers = {address for page in pages.values() for address in page.loaded if urlsplit(address).netloc}
    assert strangers == set()
    styles = "".join(path.read_text("utf-8") for path in SITE.rglob("*.css"))
    assert re.findall(r"url\(\s*[\"']?https?:|@import\s+[\"']?https?:", styles) == []


@pytest_asyncio.fixture
async def page(request: pytest.FixtureRequest) -> AsyncIterator[Page]:
    """A page of a telephone or a desk, light or dark, that is told every request beyond the folder."""
    width, scheme = request.param
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=BROWSER, args=["--no-sandbox", "--disable-gpu", "--allow-file-access-from-files"]
        )
        context = await browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
        page = await context.new_page()
        strangers: list[str] = []
        page.on("request", lambda asked: strangers.append(asked.url) if not asked.url.startswith("file:") else None)
        yield page
        assert [url for url in strangers if not url.startswith(("data:", "blob:"))] == []
        await browser.close()


KINDS = [(390, "light"), (390, "dark"), (1280, "light"), (1280, "dark")]


@needs_browser
@pytest.mark.parametrize("page", KINDS, indirect=True)
async def test_no_page_is_wider_than_the_window(page: Page) -> None:
    for name in PAGES:
        await page.goto((SITE / f"{name}.html").as_uri())
        width = await page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert width <= 0, name


@needs_browser
@pytest.mark.parametrize("page", [(1280, "dark"), (1280, "light")], indirect=True)
async def test_the_colours_are_those_that_the_reader_likes(page: Page, request: pytest.FixtureRequest) -> None:
    await page.goto((SITE / "index.html").as_uri())
    await expect(page.get_by_role("heading", level=1)).to_be_visible()
    colour = await page.evaluate("getComputedStyle(document.body).backgroundColor")
    red, green, blue = map(int, re.findall(r"\d+", colour)[:3])
    assert (red + green + blue < 200) is (request.node.callspec.params["page"][1] == "dark")


@needs_browser
@pytest.mark.parametrize("page", [(1280, "light")], indirect=True)
async def test_the_search_finds_a_setting(page: Page) -> None:
    await page.goto((SITE / "docs" / "README.html").as_uri())
    await page.get_by_placeholder("Search").fill("LOCKOUT_ATTEMPTS")
    await page.keyboard.press("Enter")
    found = page.locator("#search-results ul.search li a").first
    await expect(found).to_be_visible(timeout=20_000)
    assert "Settings" in " ".join(await page.locator("#search-results ul.search li > a").all_inner_texts())
