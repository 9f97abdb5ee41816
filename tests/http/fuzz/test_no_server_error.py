"""Hostile requests, drawn from the OpenAPI document: none is answered by a fault, and each answer is a described one.

``TENANTRY_TEST_REQUESTS`` is their number, ``TENANTRY_TEST_SEED`` what they are drawn from; `make fuzz` takes many.
"""

from dataclasses import dataclass, field, replace
from itertools import count
from os import environ
from random import Random

import httpx
import pytest
from litestar import Litestar

from adapters.http.app import HttpSettings, build_app
from adapters.system import Uuid7Ids
from application.ports.whole_database import WholeDatabase
from domain.entities.declaration import Registry
from entrypoints.assembly.adapters import memory_adapters
from entrypoints.assembly.use_cases import assemble
from entrypoints.settings.settings import read_settings
from tests.builders import ensure_keys
from tests.http.app import PASSWORD, SETTINGS, TestApp, client_of
from tests.http.described import described
from tests.http.fuzz.hostile_requests import METHODS, Requests
from tests.http.fuzz.raw_client import Hostile, send

REQUESTS = int(environ.get("TENANTRY_TEST_REQUESTS", "600"))
SEED = int(environ.get("TENANTRY_TEST_SEED", "20261122"))
FAULTS = 500
LONGEST_DESCRIBED = 2_000
PRODUCT = {"name": "Lamp", "sku": "LAMP-01", "price": 19.9}
ROOT, ADMIN, READER, NOBODY = "root", "admin", "reader", "nobody"


@dataclass
class Target:
    """A tenant of its own in an application, people who are logged in to it, and ids of what exists there."""

    app: TestApp
    application: Litestar
    emails: dict[str, str]
    ids: list[str] = field(default_factory=list)

    async def log_in(self, name: str) -> bool:
        """False where a request before has closed the way: the account, its tenant or its password is gone."""
        body = {"email": self.emails[name], "password": PASSWORD, "isPasswordEncrypted": False}
        answer = await self.app.client.post("/api/auth/login", json=body)
        data = answer.json().get("data") or {"isGlobal": True}
        self.app.tokens[name] = data.get("token", "")
        return answer.status_code == httpx.codes.OK and not data["isGlobal"]


class Targets:
    """Makes a target after the other on one database; each begins where nothing was tried yet."""

    def __init__(self, database: WholeDatabase, registry: Registry) -> None:
        settings = read_settings({**SETTINGS, "TENANTRY_RATE_LIMITS": "off"})
        self._adapters = replace(memory_adapters(settings, registry), database=database, ids=Uuid7Ids())
        self.services = assemble(self._adapters, settings)
        self.application = build_app(self.services, HttpSettings())
        self._numbers = count(1)

    async def open(self) -> Target:
        number = next(self._numbers)
        emails = {name: f"{name}{number}@acme.example" for name in (ROOT, ADMIN, READER)}
        await ensure_keys(self.services)
        await self.services.first_start.create_admin(emails[ROOT], PASSWORD)
        app = TestApp(client_of(self.services, HttpSettings()), self.services, self._adapters)
        target = Target(app, self.application, emails)
        await app.login(ROOT, emails[ROOT])
        identifier = f"acme{number}"
        target.ids.append(await app.make_tenant(identifier))
        await app.make_role(identifier, "Reader", ["read:products", "read:users"])
        target.ids.append(await app.make_user(identifier, emails[ADMIN], ["Admin"]))
        target.ids.append(await app.make_user(identifier, emails[READER], ["Reader"]))
        assert [await target.log_in(name) for name in emails] == [True] * 3
        target.ids += await self._rows(app)
        return target

    async def _rows(self, app: TestApp) -> list[str]:
        category = await self._made(app, "categories", {"name": "Light"})
        product = await self._made(app, "products", {**PRODUCT, "categoryId": category})
        review = await self._made(app, "reviews", {"productId": product, "rating": 5, "author": "Mara"})
        return [category, product, review]

    async def _made(self, app: TestApp, plural: str, body: dict[str, object]) -> str:
        answer = await app.call("POST", f"/api/{plural}", as_whom=ADMIN, json=body)
        made: str = answer.json()["data"]["id"]
        return made


def is_described(request: Hostile) -> bool:
    """False where the test's own client, or the document, has another operation in mind than the application."""
    is_plain = request.method.lower() in METHODS and ".." not in request.target and "%2e" not in request.target
    # Errors of HTTP itself belong to no operation.
    beyond = {"X-Tenant-Scope", "Transfer-Encoding"} & dict(request.headers).keys()
    return is_plain and len(request.target) < LONGEST_DESCRIBED and not beyond


@pytest.mark.promise(
    "security, input: Requests drawn from the OpenAPI document, most of them wrong somewhere, get no 5xx and no answer "
    "that is not described (make fuzz: 200,000)"
)
@pytest.mark.timeout(300 + REQUESTS // 20)
async def test_no_request_is_answered_by_a_fault(database: WholeDatabase, registry: Registry) -> None:
    chance = Random(SEED)
    targets = Targets(database, registry)
    target = await targets.open()
    description = described(targets.services, HttpSettings())
    requests = Requests(description.document, target.ids, chance)
    taken = 0
    for number in range(REQUESTS):
        name = chance.choice((*target.emails, NOBODY))
        token = target.app.tokens.get(name)
        drawn = requests.draw(None if token is None else f"Bearer {token}")
        try:
            answer = await send(target.application, drawn)
            assert answer.status_code < FAULTS, answer.text
            if is_described(drawn):
                await description.hold(answer)
        except Exception as error:
            error.add_note(f"request {number} of seed {SEED}: {drawn}")
            raise
        taken += answer.is_success
        is_refused = answer.status_code == httpx.codes.UNAUTHORIZED and token is not None
        if is_refused and not await target.log_in(name):
            target = await targets.open()
            requests.know(target.ids)
    # or the requests would be too wild to reach anything
    assert taken > REQUESTS / 20, f"{taken} of {REQUESTS} were taken"
