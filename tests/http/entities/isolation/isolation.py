"""Two tenants, and everybody who may or may not reach the rows of one of them, at every endpoint of every entity."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from decimal import Decimal
from itertools import cycle, product
from string import ascii_uppercase
from typing import Any
from uuid import UUID

import httpx

from adapters.http.app import HttpSettings
from adapters.http.docs.schemas import Schemas
from adapters.system import Uuid7Ids
from application.entities.transactions.upserts import keys_for
from application.ports.database import RowReads
from application.ports.entities.records import Act, NewRow
from application.ports.whole_database import Transaction, WholeDatabase
from domain.entities.attachments.files import purpose_of
from domain.entities.bodies import EVERY_FIELD
from domain.entities.builtin_entities import BUILTIN_ENTITIES
from domain.entities.catalogue import ENTITIES
from domain.entities.declaration import EntityModel, FieldModel, Registry
from domain.entities.kinds import Kind
from domain.entities.query.query import WHOLE
from domain.entities.registry import build_registry
from domain.scope import OneTenant
from entrypoints.assembly.adapters import memory_adapters
from entrypoints.assembly.use_cases import assemble
from entrypoints.settings.settings import read_settings
from tests.builders import ensure_keys
from tests.http.app import ADMIN, SETTINGS, Json, TestApp, client_of
from tests.http.entities.attachments.desk import png
from tests.http.served import Served, served_by

ABSENT = "01900000-0000-7000-8000-000000000000"
NOW = datetime(2026, 11, 20, tzinfo=UTC)
ACT = Act(by=None, at=NOW)
PLURALS = list(build_registry([*BUILTIN_ENTITIES, *ENTITIES]).models)
WRITTEN = {"POST", "PUT", "PATCH", "DELETE"}

_VALUES: dict[Kind, object] = {
    Kind.INTEGER: 1,
    Kind.BIG_INTEGER: 1,
    Kind.DECIMAL: Decimal(1),
    Kind.FLOAT: 1.0,
    Kind.BOOLEAN: True,
    Kind.TIMESTAMP: NOW,
    Kind.DATE: date(2026, 11, 20),
    Kind.UUIDS: [],
    Kind.TEXTS: [],
}
_codes = cycle("".join(letters) for letters in product(ascii_uppercase, repeat=3))
"""Texts that the patterns of all served fields allow."""


@dataclass
class Ground:
    """Two tenants, everybody there is, and ways to put a row into ``acme``.

    Routes of links are asked for ``far``, the id of a row that may be linked.
    """

    app: TestApp
    database: WholeDatabase
    registry: Registry
    tenant_id: UUID
    far: str = ABSENT
    schemas: Schemas = field(init=False)

    def __post_init__(self) -> None:
        self.schemas = Schemas((), (), self.registry)

    def endpoints(self, plural: str) -> Iterator[Served]:
        return (
            endpoint for endpoint in served_by(self.app.services) if endpoint.tag == plural and endpoint.area == "B"
        )

    async def row(self, model: EntityModel) -> str:
        """A new one, with rows of its own behind its references; of what nobody writes, one that is there."""
        if not model.declaration.writable:
            answer = await self.app.call("GET", f"/api/{model.plural}", as_whom="acme")
            found: str = answer.json()["data"]["items"][0]["id"]
            return found
        values = {field.name: await self.value(field) for field in model.declared}
        act = ACT
        for declared in model.attachments:
            act, values[declared.name] = await self.upload(purpose_of(model, declared))
        row = NewRow(Uuid7Ids().new(), values)
        async with self.database.transaction(OneTenant(self.tenant_id)) as tx:
            await tx.records.add(model, [row], act)
        return str(row.id)

    async def upload(self, purpose: str) -> tuple[Act, UUID]:
        """Return a temporary file, and who may attach it."""
        files = {"file": ("photo.png", png())}
        answer = await self.app.call("POST", f"/api/files?purpose={purpose}", as_whom="acme", files=files)
        me = await self.app.call("GET", "/api/auth/me", as_whom="acme")
        return Act(by=UUID(me.json()["data"]["id"]), at=self.app.clock.now()), UUID(answer.json()["data"]["id"])

    async def value(self, field: FieldModel) -> object:
        if field.reference is not None and field.attachment is None:
            return UUID(await self.row(self.registry[field.reference.target]))
        if not field.required:
            return field.default
        if field.kind is Kind.CHOICE:
            return field.choices[0]
        return _VALUES.get(field.kind, next(_codes))

    async def body(self, model: EntityModel) -> Json:
        """What would be taken in ``acme``: it refers to rows there."""
        made = self.schemas.example(model.create_form) or {}
        for declared in model.declared:
            if declared.attachment is not None:
                made.pop(declared.wire, None)
            elif declared.reference is not None:
                made[declared.wire] = str(await self.row(self.registry[declared.reference.target]))
        return made

    async def seen(self, model: EntityModel, row_id: str) -> object:
        """The row as the store has it, whoever may see it."""
        async with self.database.read_only(OneTenant(self.tenant_id)) as read:
            found = await read.records.get(model, UUID(row_id), WHOLE)
        return None if found is None else (found.version, bytes(found.body))

    async def ask(self, endpoint: Served, whom: "Whom", row_id: str, body: Json) -> httpx.Response:
        more: dict[str, Any] = {"headers": whom.headers(self.tenant_id)}
        path = endpoint.path.replace("{id}", row_id).replace("{target}", self.far)
        path = re.sub(r"\{\w+\}", ABSENT, path)  # the id of a user
        if path.endswith("/import"):
            text = ",".join(body) + "\n" + ",".join(str(value) for value in body.values()) + "\n"
            more["files"] = {"file": ("rows.csv", text.encode())}
        elif (sent := self._sent(endpoint, row_id, body)) is not None:
            more["json"] = sent
        return await self.app.call(endpoint.method, path, as_whom=whom.token, **more)

    def _sent(self, endpoint: Served, row_id: str, body: Json) -> Json | None:
        """The body for the endpoint, None where it has none."""
        method, path = endpoint.method, endpoint.path
        if "/batch" in path:
            if method == "DELETE" or path.endswith("/delete"):
                return {"ids": [row_id]}
            key = {"key": keys_for(self.registry[endpoint.tag], EVERY_FIELD)[0].wire} if "/upsert" in path else {}
            return {"items": [{"id": row_id}] if method == "PUT" else [body], **key}
        if method in ("PUT", "PATCH"):
            return {"level": "read"} if "/shares/" in path else {}
        if method == "POST" and "{id}" in path:
            return None if path.endswith("/restore") else {} if path.endswith("/link") else {"ids": [self.far]}
        return body if method == "POST" else None


@dataclass(frozen=True)
class Whom:
    """A token, and what is in the header ``X-Tenant-Scope``: ``acme`` stands for that tenant's id."""

    name: str
    token: str | None
    reach: str | None = None

    def headers(self, acme: UUID) -> dict[str, str]:
        return {} if self.reach is None else {"X-Tenant-Scope": str(acme) if self.reach == "acme" else self.reach}


OWN = Whom("own tenant", "acme")
REFUSED = {
    Whom("nobody", None): 401,
    Whom("a Global Token", "global"): 403,
    Whom("somebody without the permission", "powerless"): 403,
    Whom("no super-admin, with the header", "acme", "acme"): 403,
    Whom("no super-admin, with the header for all", "other", "all"): 403,
    Whom("another tenant, with the header", "other", "acme"): 403,
}
ELSEWHERE = [
    Whom("another tenant", "other"),
    Whom("a key of another tenant", "robot"),
    Whom("a super-admin at home", "root"),
]
BYPASSING = [Whom("a super-admin there", "root", "acme"), Whom("a super-admin everywhere", "root", "all")]


async def open_ground(
    database: WholeDatabase, registry: Registry, replica_reads: RowReads[Transaction] | None = None
) -> Ground:
    settings = read_settings({**SETTINGS, "TENANTRY_RATE_LIMITS": "count"})
    made = memory_adapters(settings, registry)
    adapters = replace(made, database=database, replica_reads=replica_reads, ids=Uuid7Ids())
    services = assemble(adapters, settings)
    await ensure_keys(services)
    await services.first_start.prepare(ADMIN, "correct horse battery")
    app = TestApp(client_of(services, HttpSettings()), services, adapters)
    await app.login("root", ADMIN)
    tenants = {identifier: await app.make_tenant(identifier) for identifier in ("acme", "other")}
    for identifier in tenants:
        await app.make_user(identifier, f"admin@{identifier}.example", ["Admin"])
        await app.login(identifier, f"admin@{identifier}.example")
    await app.make_role("acme", "Powerless", ["paint:walls"])
    await app.make_user("acme", "powerless@acme.example", ["Powerless"])
    await app.login("powerless", "powerless@acme.example")
    both = await app.make_user("acme", "both@acme.example", ["Admin"])
    body = {"userId": both, "roles": ["Admin"]}
    await app.call("POST", f"/api/tenants/{tenants['other']}/users", as_whom="root", json=body)
    assert (await app.login("global", "both@acme.example"))["isGlobal"]
    await _make_robot(app)
    return Ground(app, database, registry, UUID(tenants["acme"]))


async def _make_robot(app: TestApp) -> None:
    """A service account of ``other`` that may do everything there, and its key."""
    robot = {"name": "Robot", "roles": ["Admin"]}
    account = (await app.call("POST", "/api/service-accounts", as_whom="other", json=robot)).json()["data"]
    path = f"/api/service-accounts/{account['id']}/keys"
    app.tokens["robot"] = (await app.call("POST", path, as_whom="other", json={"name": "key"})).json()["data"]["key"]


async def ensure_absent_elsewhere(ground: Ground, plural: str) -> None:
    """Raises AssertionError where another tenant reads, changes or learns of a row of ``acme``."""
    model = ground.registry[plural]
    row_id, body = await ground.row(model), await ground.body(model)
    before = await ground.seen(model, row_id)
    for endpoint in ground.endpoints(plural) if model.tenant_owned else ():
        for whom in ELSEWHERE:
            answer = await ground.ask(endpoint, whom, row_id, body)
            said = (endpoint.operation, whom.name, answer.text)
            if "{id}" in endpoint.path or "update-batch" in endpoint.operation or "delete-batch" in endpoint.operation:
                unknown = await ground.ask(endpoint, whom, ABSENT, body)
                assert answer.status_code == 404, said
                assert told(answer) == told(unknown), said
            elif endpoint.method == "GET":
                assert answer.status_code == 200, said
                assert row_id not in answer.text, said
            elif refers_to_tenants(ground, model):
                assert is_not_stored(answer), said
            else:
                assert answer.status_code in (200, 201, 409), said
    assert await ground.seen(model, row_id) == before


def told(answer: httpx.Response) -> Json:
    """An error without what differs each time."""
    error: Json = answer.json()["error"]
    return {name: value for name, value in error.items() if name != "traceId"}


def refers_to_tenants(ground: Ground, model: EntityModel) -> bool:
    references = (field.reference for field in model.declared)
    return any(reference is not None and ground.registry[reference.target].tenant_owned for reference in references)


def is_not_stored(answer: httpx.Response) -> bool:
    """A relation across tenants is refused, or its row left out of a file."""
    return answer.status_code in (400, 404, 409) or answer.json()["data"].get("imported") == 0
