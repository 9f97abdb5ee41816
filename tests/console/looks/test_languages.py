"""The console in German: what the API refuses is told in German too, and nothing of it in English."""

import re

import pytest
from playwright.async_api import FilePayload, Route, expect

from adapters.http.request.errors import STATUS
from tests.console.conftest import Visitor

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")


async def in_german(visitor: Visitor, path: str, email: str = "admin@acme.example") -> None:
    await visitor.enter("account", email=email)
    await visitor.page.evaluate("localStorage.setItem('tenantry.language', 'de')")
    await visitor.open(path)
    await expect(visitor.page.locator("html")).to_have_attribute("lang", "de")


@pytest.mark.promise("console, journeys: German, errors of the API included")
async def test_page_titles_name_the_open_object_in_the_chosen_language(visitor: Visitor) -> None:
    page = visitor.page
    await in_german(visitor, "rows/products")
    await expect(page).to_have_title("Products · Acme · Tenantry")
    await page.get_by_role("link", name="Lamp 249").click()
    await expect(page).to_have_title("Lamp 249 · Products · Acme · Tenantry")
    await visitor.go("rows/products/new")
    await expect(page).to_have_title("Neu · Products · Acme · Tenantry")
    for path, title in {
        "": "Übersicht",
        "rows/products?includeDeleted=true": "Gelöscht · Products",
        "rows/products/import": "Importieren · Products",
        "people": "Mitglieder",
        "audit": "Protokoll",
        "nowhere": "",
    }.items():
        await visitor.go(path)
        await expect(page).to_have_title(" · ".join(filter(None, [title, "Acme", "Tenantry"])))
    await visitor.go("people")
    await page.locator("main").get_by_role("link", name="Somebody Else").first.click()
    await expect(page).to_have_title("Somebody Else · Mitglieder · Acme · Tenantry")
    await visitor.go("account")
    await page.get_by_label("Sprache").select_option("en")
    await expect(page).to_have_title("My account · Acme · Tenantry")
    await page.get_by_role("button", name="Sign out", exact=True).click()
    await expect(page).to_have_title("Sign in · Tenantry")


@pytest.mark.promise("console, journeys: German, errors of the API included")
async def test_the_console_reports_wrong_credentials_in_its_own_language(visitor: Visitor) -> None:
    page = visitor.page
    visitor.service.let_time_pass()
    await visitor.open()
    await page.get_by_role("button", name="Deutsch").click()
    # the browser would tell both of it in its own language, in a bubble that goes away
    await page.get_by_role("button", name="Anmelden", exact=True).click()
    await expect(page.get_by_role("alert")).to_have_text("E-Mail oder Passwort ist falsch.")
    await page.get_by_role("button", name="Passwort vergessen").click()
    await page.get_by_label("E-Mail").fill("no address")
    await page.get_by_role("button", name="Mail senden").click()
    await expect(page.get_by_role("alert")).to_have_text("Die E-Mail-Adresse ist keine E-Mail-Adresse.")


@pytest.mark.promise("console, journeys: German, errors of the API included")
async def test_errors_of_a_row_are_shown_at_its_fields_in_german(visitor: Visitor) -> None:
    page = visitor.page
    await in_german(visitor, "rows/products/new")
    await page.get_by_role("button", name="Anlegen").click()
    alert = page.get_by_role("alert")
    await expect(alert).to_contain_text("Felder brauchen Aufmerksamkeit")
    assert set(await page.locator(".problem").all_inner_texts()) == {"ist nötig"}
    await page.get_by_label("Price").fill("-1")
    await page.get_by_label("Name").fill("Lampe")
    await page.get_by_label("SKU").fill("LAMP-007")
    await page.get_by_role("button", name="Anlegen").click()
    await expect(page.locator(".problem")).to_have_text(["muss mindestens 0 sein"])
    await page.get_by_label("Price").fill("1.50")
    await page.get_by_role("button", name="Anlegen").click()
    await expect(page.locator(".problem")).to_have_text(["ist schon vergeben"])


@pytest.mark.promise("console, journeys: German, errors of the API included")
async def test_a_filter_that_is_refused_says_why_in_german(visitor: Visitor) -> None:
    page = visitor.page
    await in_german(visitor, "rows/products?price.gte=teuer&nope=1")
    reasons = "Die Anfrage ist ungültig. Price ≥: muss eine Zahl sein; nope: ist unbekannt"
    await expect(page.get_by_role("alert").locator("p")).to_have_text(reasons)
    await page.get_by_role("button", name="Mehr").click()
    await page.get_by_role("button", name="Exportieren").click()
    await page.get_by_role("dialog").get_by_role("button", name="Exportieren").click()
    await expect(page.get_by_role("dialog").get_by_role("alert")).to_have_text(reasons)


@pytest.mark.promise("console, journeys: German, errors of the API included")
async def test_permissions_are_listed_under_headings_in_german(visitor: Visitor) -> None:
    page, app = visitor.page, visitor.service.app
    body = {"name": "count:shelves", "category": "Lager"}
    made = await app.call("POST", "/api/permissions", as_whom="root", json=body)
    assert made.status_code == 201, made.text
    listed = (await app.call("GET", "/api/permissions", as_whom="acme")).json()["items"]
    await in_german(visitor, "roles")
    await expect(page.locator(".matrix .category th")).to_have_text(["Daten", "Lager", "Verwaltung"])
    assert {permission["category"] for permission in listed} == {"administration", "entities", "Lager"}


async def test_errors_of_settings_are_shown_at_their_fields_in_german(visitor: Visitor) -> None:
    page = visitor.page
    await in_german(visitor, "settings")
    await page.get_by_label("Akzentfarbe", exact=True).fill("red")
    await page.get_by_role("button", name="Speichern", exact=True).first.click()
    await expect(page.locator(".problem")).to_have_text(["ist eine Farbe wie #00458b"])
    await expect(page.get_by_label("Akzentfarbe", exact=True)).to_have_attribute("aria-invalid", "true")
    await expect(page.get_by_role("alert")).to_have_text("1 Feld braucht Aufmerksamkeit.")


async def test_rows_of_a_file_that_are_refused_say_why_in_german(visitor: Visitor) -> None:
    page = visitor.page
    await in_german(visitor, "rows/products/import")
    content = b"name,sku,price,status\nLampe,GERMAN-1,teuer,live\n"
    file = FilePayload(name="lampen.csv", mimeType="text/csv", buffer=content)
    await page.locator("input[type=file]").set_input_files([file])
    await expect(page.locator(".import-errors td bdi")).to_have_text(
        ["Price", "muss eine Zahl in einfachen Ziffern sein"]
    )


async def test_a_language_that_cannot_be_fetched_leaves_the_page_in_english(visitor: Visitor) -> None:
    page = visitor.page
    await in_german(visitor, "account")
    await page.route("**/de-*.js", lambda route: route.abort())
    await visitor.open("account")
    await expect(page.get_by_role("heading", name="My account")).to_be_visible()
    await expect(page.locator("html")).to_have_attribute("lang", "en")
    await page.unroute("**/de-*.js")
    await visitor.open("account")
    await expect(page.locator("html")).to_have_attribute("lang", "de")


@pytest.mark.promise("console, journeys: German, errors of the API included")
@pytest.mark.parametrize("language", ["de", "en"])
async def test_an_error_code_with_an_untranslated_message_is_shown_with_a_general_message(
    visitor: Visitor, language: str
) -> None:
    page, own = visitor.page, "Der Vorrat ist leer"
    code = ""

    async def refuse(route: Route) -> None:
        error = {"success": False, "error": {"code": code, "message": own, "traceId": "trace-1"}}
        await route.fulfill(status=409, json=error)

    await visitor.enter("account")
    await page.evaluate(f"localStorage.setItem('tenantry.language', '{language}')")
    await page.route("**/api/products?**", refuse)
    await visitor.open("account")
    for code in STATUS:
        if code != "REAUTHENTICATION_REQUIRED":  # the console asks for the proof instead
            await visitor.go("rows/products")
            alert = page.get_by_role("alert")
            await expect(alert).to_contain_text(own)
            text = await alert.locator("p").first.inner_text()
            assert (text == own) == (language == "en"), code
            assert code not in text
            await visitor.go("account")
            await expect(alert).to_have_count(0)


async def test_a_column_that_no_field_has_is_named(visitor: Visitor) -> None:
    page = visitor.page
    await in_german(visitor, "rows/products/import")
    content = b"name,sku,price,colour\nLampe,GERMAN-2,1.50,red\n"
    file = FilePayload(name="lampen.csv", mimeType="text/csv", buffer=content)
    await page.locator("input[type=file]").set_input_files([file])
    await expect(page.get_by_role("alert")).to_have_text("colour: ist unbekannt")


@pytest.mark.parametrize(
    ("language", "words"),
    [
        ("en", ("Signed in", "Settings changed: timezone", "Refused: roles.create")),
        ("de", ("Angemeldet", "Einstellungen geändert: timezone", "Verweigert: roles.create")),
    ],
)
async def test_events_are_described_in_the_language_and_filtered_by_their_codes(
    visitor: Visitor, language: str, words: tuple[str, ...]
) -> None:
    page, app = visitor.page, visitor.service.app
    await visitor.service.renew_tokens()
    await app.call("PUT", "/api/tenants/current/settings", as_whom="acme", json={"timezone": "Asia/Tokyo"})
    await app.make_role("acme", "Looker", ["read:roles"])
    await app.make_user("acme", "looker@acme.example", ["Looker"])
    await app.login("looker", "looker@acme.example")
    body = {"name": "Mine", "permissions": []}
    assert (await app.call("POST", "/api/roles", as_whom="looker", json=body)).status_code == 403
    await visitor.enter("account")
    await page.evaluate(f"localStorage.setItem('tenantry.language', '{language}')")
    for path in ("", "audit"):
        await visitor.open(path)
        for name in words:
            await expect(page.get_by_role("main").get_by_text(name, exact=True).first).to_be_visible()
        await expect(page.get_by_role("main")).not_to_contain_text("login.succeeded")
    await page.get_by_role("link", name=words[1]).first.click()
    await expect(page).to_have_title(re.compile(f"^{words[1]} · "))
    await expect(page.get_by_role("definition").get_by_text("settings.changed:timezone")).to_be_visible()


async def test_lists_of_the_service_are_called_by_their_names_in_german(visitor: Visitor) -> None:
    page = visitor.page
    await in_german(visitor, "audit")
    await expect(page.get_by_role("grid", name="Protokoll")).to_be_visible()
    await page.get_by_role("button", name="Mehr").click()
    await page.get_by_role("button", name="Exportieren").click()
    await expect(page.get_by_role("dialog", name="Protokoll exportieren")).to_be_visible()
