"""/docs/client.js in a browser: one login for all tabs, which refresh it once; errors of both forms; uploads."""

from datetime import timedelta

import pytest
from playwright.async_api import Browser

from tests.http.docs.pages.shop import LOGIN, in_browser, open_shop


@in_browser
@pytest.mark.promise(
    "declarations, documentation: A client for pages is served with its types: login, choice of tenant, one refresh "
    "for all tabs, errors of both forms in one, uploads with progress"
)
async def test_of_two_calls_with_an_old_token_one_refreshes(chromium: Browser) -> None:
    async with open_shop(chromium) as shop:
        tab = await shop.open()
        await tab.run(f"await {LOGIN}")
        assert await tab.status("/api/products") == 200
        shop.app.clock.move(timedelta(minutes=61))
        both = "const calls = ['/api/products', '/api/categories'].map((path) => client.call(path));"
        assert await tab.run(f"{both} return (await Promise.all(calls)).map((answer) => answer.status)") == [200, 200]
        assert shop.refreshes() == 1


@in_browser
@pytest.mark.promise(
    "declarations, documentation: A client for pages is served with its types: login, choice of tenant, one refresh "
    "for all tabs, errors of both forms in one, uploads with progress"
)
async def test_of_several_tabs_with_an_old_token_one_refreshes(chromium: Browser) -> None:
    async with open_shop(chromium) as shop:
        first, second, third = [await shop.open() for _ in range(3)]
        for tab in (second, third):
            assert await tab.run("return client.restore()") is False
        await first.run(f"await {LOGIN}")
        for tab in (second, third):
            assert await tab.status("/api/products") == 200
            assert await tab.run("return told") == [True]
        for hour in (1, 2):
            shop.app.clock.move(timedelta(minutes=61))
            sent = "globalThis.sent = client.call('/api/products').then((answer) => answer.status);"
            for tab in (first, second, third):
                await tab.run(sent)
            for tab in (third, second, first):
                assert await tab.run("return sent") == 200
            assert shop.refreshes() == hour


@in_browser
@pytest.mark.promise(
    "declarations, documentation: A client for pages is served with its types: login, choice of tenant, one refresh "
    "for all tabs, errors of both forms in one, uploads with progress"
)
async def test_a_new_tab_gets_the_login_of_another_without_a_refresh(chromium: Browser) -> None:
    async with open_shop(chromium) as shop:
        first = await shop.open()
        await first.run(f"await {LOGIN}")
        second = await shop.open()
        assert await second.run("return client.restore()") is True
        assert await second.status("/api/products") == 200
        assert shop.refreshes() == 0


@in_browser
@pytest.mark.promise(
    "declarations, documentation: A client for pages is served with its types: login, choice of tenant, one refresh "
    "for all tabs, errors of both forms in one, uploads with progress"
)
async def test_a_remembered_login_survives_a_reload_and_another_does_not(chromium: Browser) -> None:
    for options, is_remembered in (("remember: true", True), ("", False)):
        async with open_shop(chromium) as shop:
            tab = await shop.open(options)
            await tab.run(f"await {LOGIN}")
            for count in (1, 2):
                await tab.page.reload()
                assert await tab.run("return client.restore()") is is_remembered
                assert shop.refreshes() == (count if is_remembered else 0)
            assert await tab.status("/api/products") == (200 if is_remembered else 401)
            assert await tab.run("return localStorage.length") == int(is_remembered)


@in_browser
@pytest.mark.promise(
    "declarations, documentation: A client for pages is served with its types: login, choice of tenant, one refresh "
    "for all tabs, errors of both forms in one, uploads with progress"
)
async def test_a_logout_ends_the_login_of_all_tabs(chromium: Browser) -> None:
    async with open_shop(chromium) as shop:
        first, second = [await shop.open("remember: true") for _ in range(2)]
        await second.run("")
        await first.run(f"await {LOGIN}")
        assert await second.status("/api/products") == 200
        await second.run("await client.logout()")
        for tab in (first, second):
            assert await tab.status("/api/products") == 401
            assert await tab.run("return told") == [True, False]
            assert await tab.run("return client.restore()") is False
        assert await first.run("return localStorage.length") == 0


@in_browser
@pytest.mark.promise(
    "declarations, documentation: A client for pages is served with its types: login, choice of tenant, one refresh "
    "for all tabs, errors of both forms in one, uploads with progress"
)
async def test_an_ended_session_ends_the_login_and_other_errors_do_not(chromium: Browser) -> None:
    async with open_shop(chromium) as shop:
        tab = await shop.open()
        await tab.run(f"await {LOGIN}")
        shop.app.clock.move(timedelta(minutes=61))
        for status in (503, 429, 403):
            shop.answers["/api/auth/refresh"] = (status, "")
            failed = "return client.data('/api/products').then(() => '', (error) => error.code)"
            assert await tab.run(failed) == f"HTTP_{status}"
        del shop.answers["/api/auth/refresh"]
        assert await tab.status("/api/products") == 200
        shop.app.clock.move(timedelta(days=8))
        code = await tab.run("return client.call('/api/products').then(() => '', (error) => error.code)")
        assert code == "TOKEN_EXPIRED"
        assert await tab.run("return told") == [True, False]


@in_browser
async def test_a_refusal_for_another_reason_than_the_token_is_not_sent_again(chromium: Browser) -> None:
    async with open_shop(chromium) as shop:
        tab = await shop.open()
        await tab.run(f"await {LOGIN}")
        shop.app.clock.move(timedelta(minutes=30))
        failed = "(error) => [error.name, error.status, error.code]"
        for path in ("factors/totp/begin", "factors/passkeys/begin", "factors/recovery-codes"):
            script = f"return client.data('/api/auth/{path}', {{ body: {{}} }}).catch({failed})"
            assert await tab.run(script) == ["ServiceError", 401, "REAUTHENTICATION_REQUIRED"]
            assert shop.asked.count(f"POST /api/auth/{path} 401") == 1
        assert shop.refreshes() == 0


@in_browser
@pytest.mark.promise(
    "declarations, documentation: A client for pages is served with its types: login, choice of tenant, one refresh "
    "for all tabs, errors of both forms in one, uploads with progress"
)
async def test_errors_of_both_forms_and_of_a_proxy_are_read_alike(chromium: Browser) -> None:
    async with open_shop(chromium) as shop:
        tab = await shop.open()
        await tab.run(f"await {LOGIN}")
        shop.answers = {"/html": (502, "<h1>Bad gateway</h1>"), "/empty": (408, ""), "/text": (500, '"text"')}
        post = "{ method: 'POST', headers: { 'Content-Type': 'application/json' }, body: '{}' }"
        expected: dict[str, tuple[int, str, list[str]]] = {
            "'/api/products', " + post: (400, "VALIDATION_ERROR", ["name", "price", "sku"]),
            "'/api/roles', " + post: (400, "VALIDATION_ERROR", ["name"]),
            "'/api/products/1'": (404, "NOT_FOUND", []),
            "'/api/users/1'": (404, "NOT_FOUND", []),
            "'/html'": (502, "HTTP_502", []),
            "'/empty'": (408, "HTTP_408", []),
            "'/text'": (500, "HTTP_500", []),
        }
        for call, told in expected.items():
            script = f"return module.errorsOf(await client.call({call}))"
            errors = await tab.run(script)
            assert isinstance(errors, dict)
            assert (errors["status"], errors["code"], sorted(error["field"] for error in errors["fields"])) == told
            assert errors["message"]
            assert (errors["requestId"] is None) == told[1].startswith("HTTP")
        assert await tab.run("return module.errorsOf(await client.call('/api/products'))") is None
        answer = await tab.run(
            "const answer = await client.call('/api/roles/1'); await module.errorsOf(answer);"
            "return (await answer.json()).errorCode"
        )
        assert answer == "NOT_FOUND"


@in_browser
@pytest.mark.promise(
    "declarations, documentation: A client for pages is served with its types: login, choice of tenant, one refresh "
    "for all tabs, errors of both forms in one, uploads with progress"
)
async def test_an_upload_returns_the_report_and_throws_its_errors(chromium: Browser) -> None:
    async with open_shop(chromium) as shop:
        tab = await shop.open()
        await tab.run(f"await {LOGIN}")
        shop.app.clock.move(timedelta(minutes=61))
        upload = (
            "const upload = (text, more) =>"
            " client.upload('/api/categories/import', new File([text], 'rows.csv'), more);"
        )
        report = await tab.run(f"{upload} return upload('name\\nLamps\\nCups\\n')")
        assert report == {"imported": 2, "skipped": 0, "errors": []}
        assert shop.refreshes() == 1
        failed = "(error) => [error.code, error.fields[0].row, error.fields[0].details[0].field]"
        atomic = (
            f"{upload} return upload('name\\nTeas\\n\\x22\\x22\\n', {{ options: {{ atomic: true }} }}).catch({failed})"
        )
        assert await tab.run(atomic) == ["VALIDATION_ERROR", 3, "name"]
        shop.answers["/api/categories/import"] = (413, "")
        assert await tab.run(f"{upload} return upload('name\\n').catch((error) => error.code)") == "HTTP_413"


@in_browser
async def test_a_page_sees_the_headers_that_a_client_needs(chromium: Browser) -> None:
    async with open_shop(chromium) as shop:
        tab = await shop.open()
        await tab.run(f"await {LOGIN}")
        new = "{method: 'POST', headers: {'Content-Type': 'application/json'}, body: JSON.stringify({name: 'Lamps'})}"
        made = f"const made = await client.call('/api/categories', {new});"
        assert str(await tab.run(f"{made} return made.headers.get('Location')")).startswith("/api/categories/")
