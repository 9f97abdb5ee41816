"""``Server-Timing``: who is told how long what took, and that the times are true."""

import asyncio
import re
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
import pytest_asyncio

from adapters.http.app import HttpSettings, build_pipeline
from adapters.http.operations.access_log import log_nothing
from adapters.http.operations.server_timing import told
from adapters.http.request.pipeline import Pipeline
from application.identity.login.token_authentication import TokenAuthentication
from application.stage_times import STAGES, Watch, on
from application.throttle import Throttle
from entrypoints.assembly.timed import TimedDatabase
from tests.http.app import ADMIN, PASSWORD, TestApp, open_test_app
from tests.http.conftest import seed

ONE = re.compile(r"([a-z]+);dur=([0-9]+\.[0-9]{3})")
UNKNOWN = "01900000-0000-7000-8000-000000000000"


@pytest_asyncio.fixture(scope="module")
async def timed() -> AsyncIterator[TestApp]:
    opened = await open_test_app({"TENANTRY_SERVER_TIMING": "on"}, server_timing=True)
    await seed(opened)
    yield opened
    await opened.client.aclose()


def times(answer: httpx.Response) -> dict[str, float]:
    """Every part must be a name and a duration, as the header's grammar has it."""
    shown: dict[str, float] = {}
    for part in answer.headers["server-timing"].split(", "):
        matched = ONE.fullmatch(part)
        assert matched is not None, part
        shown[matched[1]] = float(matched[2])
    return shown


async def test_a_page_says_its_stages_in_their_order(timed: TestApp) -> None:
    shown = times(await timed.call("GET", "/api/products", as_whom="acme"))
    assert list(shown) == ["routing", "token", "limits", "work", "database", "total"]
    assert all(took > 0 for took in shown.values())


async def test_reading_a_body_is_timed_as_a_separate_stage(timed: TestApp) -> None:
    product = {"name": "Kettle", "sku": "KET-1", "price": 39.9}
    answer = await timed.call("POST", "/api/products", as_whom="acme", json=product)
    assert answer.status_code == 201
    assert list(times(answer)) == [*STAGES, "total"]


async def test_the_stages_add_up_to_the_total_and_the_total_to_what_the_client_waits(timed: TestApp) -> None:
    loop = asyncio.get_running_loop()
    for path in ("/api/products", "/api/users", "/api/products/export", "/api/roles"):
        asked_at = loop.time()
        shown = times(await timed.call("GET", path, as_whom="acme"))
        waited = (loop.time() - asked_at) * 1_000
        total = shown.pop("total")
        assert total - 0.001 * len(shown) <= sum(shown.values()) <= total + 1e-6, path
        assert total <= waited, path


async def test_a_not_found_answer_is_timed(timed: TestApp) -> None:
    answer = await timed.call("GET", f"/api/products/{UNKNOWN}", as_whom="acme")
    assert answer.status_code == 404
    assert "database" in times(answer)


STRANGERS = [
    ("GET", "/health/live", None, 200),
    ("GET", "/docs/index.html", None, 200),
    ("GET", "/nowhere", None, 404),
    ("GET", "/api/products", None, 401),
    ("POST", "/api/auth/login", {"email": ADMIN, "password": PASSWORD}, 200),
    ("POST", "/api/auth/login", {"email": ADMIN, "password": "a wrong password"}, 401),
    ("POST", "/api/auth/login", {"email": "nobody@example.com", "password": PASSWORD}, 401),
    ("POST", "/api/auth/request-password-reset", {"email": ADMIN}, 200),
]


@pytest.mark.parametrize(("method", "path", "body", "status"), STRANGERS)
async def test_a_request_without_a_token_gets_no_timing(
    timed: TestApp, method: str, path: str, body: Any, status: int
) -> None:
    answer = await timed.call(method, path, json=body)
    assert answer.status_code == status, answer.text
    assert "server-timing" not in answer.headers


@pytest.mark.parametrize(
    ("path", "whom", "status"), [("/api/auth/me", "acme", 200), ("/api/auth/sessions", "acme", 200)]
)
async def test_an_answer_about_accounts_has_no_timing(timed: TestApp, path: str, whom: str, status: int) -> None:
    answer = await timed.call("GET", path, as_whom=whom)
    assert answer.status_code == status
    assert "server-timing" not in answer.headers


async def test_a_forbidden_request_gets_no_timing(timed: TestApp) -> None:
    answer = await timed.call("DELETE", f"/api/products/{UNKNOWN}", as_whom="reader")
    assert answer.status_code == 403
    assert "server-timing" not in answer.headers


async def test_nothing_is_measured_when_timing_is_off(app: TestApp) -> None:
    """Not a branch on the way of a request: the parts themselves are the plain ones."""
    answer = await app.call("GET", "/api/products", as_whom="acme")
    assert answer.status_code == 200
    assert "server-timing" not in answer.headers
    pipeline = build_pipeline(app.services, HttpSettings(), log_nothing)
    assert type(pipeline) is Pipeline
    assert type(pipeline.tokens) is TokenAuthentication
    assert type(pipeline.throttle) is Throttle
    assert not isinstance(app.services.database, TimedDatabase)


async def test_concurrent_requests_are_timed_separately(timed: TestApp) -> None:
    answers = await asyncio.gather(*(timed.call("GET", "/api/products", as_whom="acme") for _ in range(20)))
    for answer in answers:
        shown = times(answer)
        total = shown.pop("total")
        assert sum(shown.values()) <= total + 1e-6


def test_each_moment_belongs_to_one_stage() -> None:
    watch = Watch()
    assert watch.turn("limits") == "routing"
    assert watch.turn("database") == "limits"
    assert watch.turn("limits") == "database"
    assert watch.turn("routing") == "limits"
    names = [part.partition(";")[0] for part in told(watch).split(", ")]
    assert names == ["routing", "limits", "database", "total"]


async def test_in_the_background_nothing_is_timed() -> None:
    with on("database"):
        await asyncio.sleep(0)
