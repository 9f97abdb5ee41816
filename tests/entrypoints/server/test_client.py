"""/docs/client.js on the host of a service that runs as its users run it."""

import pytest
from playwright.async_api import async_playwright

from tests.entrypoints.processes import PASSWORD, Serve
from tests.http.docs.pages.shop import in_browser
from tests.http.docs.test_docs_page import BROWSER, FLAGS

pytestmark = [pytest.mark.filterwarnings("ignore::ResourceWarning")]
UPLOAD = """async ([email, password]) => {
  const { makeClient } = await import("/docs/client.js");
  const client = makeClient();
  await client.login(email, password);
  const rows = Array.from({ length: 2_000 }, (_, at) => `Category ${at},${"about it ".repeat(20)}`);
  const file = new File([["name,description", ...rows].join("\\n")], "rows.csv");
  const upload = (more) => client.upload("/api/categories/import", file, more);
  const stop = new AbortController();
  const stopped = [upload({ signal: AbortSignal.abort() }), upload({ signal: stop.signal })];
  stop.abort();
  const reasons = (await Promise.allSettled(stopped)).map((upload) => upload.reason.name);
  const seen = [];
  const report = await upload({ onProgress: (...sizes) => seen.push(sizes) });
  return [reasons, report.imported, file.size, seen];
}"""


@in_browser
@pytest.mark.promise(
    "declarations, documentation: A client for pages is served with its types: login, choice of tenant, one refresh "
    "for all tabs, errors of both forms in one, uploads with progress"
)
async def test_an_upload_reports_its_progress_and_can_be_stopped(serve: Serve, migrated: dict[str, str]) -> None:
    service = serve(**migrated)
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=BROWSER, headless=True, args=FLAGS)
        page = await browser.new_page()
        await page.goto(f"{service.url}/docs/encrypted-passwords.html")
        reasons, imported, size, seen = await page.evaluate(UPLOAD, ["admin@example.com", PASSWORD])
        await browser.close()
    assert reasons == ["AbortError", "AbortError"]
    assert imported == 2_000
    sent, totals = [sizes[0] for sizes in seen], {sizes[1] for sizes in seen}
    (total,) = totals
    assert size < total < size + 1_000
    assert sent == sorted(sent)
    assert sent[-1] == total
