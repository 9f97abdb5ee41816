"""Files with columns that their sender may read and not write: equal values are no write, others are refused."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import StrEnum
from typing import Annotated, Any
from uuid import UUID

import pytest
import pytest_asyncio
from msgspec import Struct

from adapters.http.app import HttpSettings
from adapters.memory.clock import CountingIds
from adapters.postgres.database import PostgresDatabase
from adapters.postgres.migrations.migrate import upgrade, write_migration
from adapters.postgres.migrations.pending import VERSIONS
from application.ports.whole_database import WholeDatabase
from domain.entities.bodies import NOT_WRITABLE
from domain.entities.builtin_entities import BUILTIN_ENTITIES
from domain.entities.catalogue import ENTITIES
from domain.entities.markers import entity, guarded, money, unique
from domain.entities.registry import build_registry
from entrypoints.assembly.adapters import memory_adapters
from entrypoints.assembly.use_cases import assemble
from entrypoints.settings.settings import read_settings
from entrypoints.testing.app import prepare_memory
from tests.conftest import NewDatabase
from tests.http.app import SETTINGS, Json, TestApp, client_of
from tests.http.conftest import seed

BOUGHT = guarded(write="write:purchases")


class Level(StrEnum):
    LOW = "low"
    HIGH = "high"


@entity("parts", unique=[unique("code")])
class Part(Struct, rename="camel", kw_only=True):
    code: str
    title: str = ""
    cost: Annotated[Decimal | None, money(8, 2), BOUGHT] = None
    stock: Annotated[int, BOUGHT] = 7
    factor: Annotated[float | None, BOUGHT] = None
    is_used: Annotated[bool | None, BOUGHT] = None
    level: Annotated[Level | None, BOUGHT] = None
    note: Annotated[str | None, BOUGHT] = None
    tags: Annotated[list[str] | None, BOUGHT] = None
    makers: Annotated[list[UUID] | None, BOUGHT] = None
    buyer: Annotated[UUID | None, BOUGHT] = None
    bought_at: Annotated[datetime | None, BOUGHT] = None
    day: Annotated[date | None, BOUGHT] = None


@entity("seals", unique=[unique("number", ignore_case=True)])
class Seal(Struct, rename="camel", kw_only=True):
    number: Annotated[str, BOUGHT]
    title: str = ""


REGISTRY = build_registry([*ENTITIES, *BUILTIN_ENTITIES, Part, Seal])
SOMEBODY = "0198c0de-0000-7000-8000-00000000000a"
FULL: Json = {
    "code": "full",
    "cost": "12.50",
    "stock": 3,
    "factor": 0.1,
    "isUsed": True,
    "level": "high",
    "note": '=1, "a"\n\'b',
    "tags": ["a,b", ""],
    "makers": [SOMEBODY],
    "buyer": SOMEBODY,
    "boughtAt": datetime(2026, 11, 20, 9, 30, 0, 123456, tzinfo=UTC).isoformat(),
    "day": "2026-11-20",
}
UPSERT = '{"mode":"upsert"}'


@pytest.fixture(scope="module")
async def parts_postgres(
    new_database: NewDatabase, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[PostgresDatabase]:
    url, folders = await new_database(), [VERSIONS, tmp_path_factory.mktemp("migrations")]
    assert await write_migration(url, REGISTRY, "parts", folders) is not None
    assert await upgrade(url, REGISTRY, folders) == []
    database = PostgresDatabase(url, REGISTRY, CountingIds(), connections=2)
    await database.open()
    yield database
    await database.close()


@pytest.fixture(scope="module", params=["memory", "postgres"])
def database(request: pytest.FixtureRequest) -> WholeDatabase | None:
    adapter: WholeDatabase | None = request.getfixturevalue("parts_postgres") if request.param == "postgres" else None
    return adapter


@pytest_asyncio.fixture(scope="module")
async def service(database: WholeDatabase | None) -> AsyncIterator[TestApp]:
    settings = read_settings({**SETTINGS, "TENANTRY_RATE_LIMITS": "off"})
    adapters = memory_adapters(settings, REGISTRY)
    if database is not None:
        adapters = replace(adapters, database=database)
    services = assemble(adapters, settings)
    await prepare_memory(services)
    app = TestApp(client_of(services, HttpSettings(counts_limits=False)), services, adapters)
    await seed(app)
    rights = [f"{action}:{plural}" for plural in ("parts", "seals") for action in ("create", "read", "update")]
    await app.make_role("acme", "clerk", rights)
    await app.make_user("acme", "clerk@acme.example", ["clerk"])
    await app.login("clerk", "clerk@acme.example")
    yield app
    await app.client.aclose()


@pytest_asyncio.fixture
async def parts(service: TestApp) -> AsyncIterator[TestApp]:
    """``clerk`` reads all fields of parts and writes those that are not bought; ``acme`` writes all."""
    for body in (FULL, {"code": "bare"}):
        made = await service.call("POST", "/api/parts", as_whom="acme", json=body)
        assert made.status_code == 201, made.text
    yield service
    for path in ("/api/parts", "/api/seals"):
        if ids := [row["id"] for row in await stored(service, path)]:
            await service.call("POST", f"{path}/batch/delete", as_whom="acme", json={"ids": ids})


async def exported(app: TestApp, query: str = "?format=csv&sort=code") -> bytes:
    answer = await app.call("GET", f"/api/parts/export{query}", as_whom="clerk")
    assert answer.status_code == 200, answer.text
    return answer.content


async def sent(app: TestApp, file: bytes | str, options: str = UPSERT, path: str = "/api/parts") -> Json:
    form = {"file": ("a", file), "options": (None, options)}
    answer: Json = (await app.call("POST", f"{path}/import", as_whom="clerk", files=form)).json()
    return answer


async def stored(app: TestApp, path: str = "/api/parts") -> list[Json]:
    page = await app.call("GET", path + ("?sort=number" if path.endswith("seals") else "?sort=code"), as_whom="acme")
    items: list[Json] = page.json()["data"]["items"]
    return items


def named(report: Json) -> list[tuple[int, list[Any]]]:
    errors = report["data"]["errors"]
    assert all(wrong["message"] == NOT_WRITABLE for error in errors for wrong in error["details"]), errors
    return [(error["row"], [wrong["field"] for wrong in error["details"]]) for error in errors]


@pytest.mark.parametrize("form", ["csv", "xlsx", "parquet"])
async def test_a_complete_exported_file_can_be_imported_again(parts: TestApp, form: str) -> None:
    before = await stored(parts)
    report = await sent(parts, await exported(parts, f"?format={form}"))
    assert report["data"] == {"imported": 2, "skipped": 0, "errors": []}
    own = [field.wire for field in REGISTRY["parts"].declared]
    assert [[row[name] for name in own] for row in await stored(parts)] == [
        [row[name] for name in own] for row in before
    ]


async def test_changed_columns_of_an_exported_file_are_written(parts: TestApp) -> None:
    file = "code,title,cost,stock\r\nfull,changed,12.5,3.0\r\nbare,changed,,\r\n"
    assert (await sent(parts, file))["data"] == {"imported": 2, "skipped": 0, "errors": []}
    assert [(row["title"], row["stock"], row["version"]) for row in await stored(parts)] == [
        ("changed", 7, 2),
        ("changed", 3, 2),
    ]


@pytest.mark.parametrize(
    ("field", "cell"),
    [
        ("cost", "12.51"),
        ("cost", ""),
        ("cost", "much"),
        ("cost", "12.501"),
        ("stock", "4"),
        ("stock", "99999999999999999999"),
        ("factor", "0.10000000000000002"),
        ("isUsed", "false"),
        ("level", "low"),
        ("level", "higher"),
        ("note", "=1"),
        ("tags", '"[""a,b""]"'),
        ("makers", "[]"),
        ("buyer", "0198c0de-0000-7000-8000-00000000000b"),
        ("boughtAt", "2026-11-20T09:30:00Z"),
        ("day", "2026-11-21"),
    ],
)
async def test_another_value_is_refused_with_its_row_and_column(parts: TestApp, field: str, cell: str) -> None:
    before = await stored(parts)
    report = await sent(
        parts, f"code,title,{field}\r\nbare,new,{'7' if field == 'stock' else ''}\r\nfull,new,{cell}\r\n"
    )
    assert (report["data"]["imported"], report["data"]["skipped"], named(report)) == (1, 0, [(3, [field])])
    bare, full = await stored(parts)
    assert (full, bare["title"]) == (before[1], "new")


async def test_a_new_row_may_contain_the_defaults_of_protected_columns(parts: TestApp) -> None:
    file = "code,cost,stock,note\r\nnew,,7,\r\nempty,,,\r\ncostly,5,7,\r\nmany,,8,x\r\n"
    for options, code in ((UPSERT, ""), ("{}", "other ")):
        report = await sent(parts, file.replace("\r\n", f"\r\n{code}").removesuffix(code), options)
        assert (report["data"]["imported"], named(report)) == (2, [(4, ["cost"]), (5, ["stock", "note"])])
    made = {row["code"]: (row["cost"], row["stock"]) for row in await stored(parts)}
    assert [made[code] for code in ("new", "empty", "other new", "other empty")] == [(None, 7)] * 4
    assert len(made) == 6


async def test_all_rows_or_none(parts: TestApp) -> None:
    before = await stored(parts)
    file = "code,title,cost,note\r\nbare,changed,,\r\nfull,changed,1,x\r\n"
    error = (await sent(parts, file, '{"mode":"upsert","atomic":true}'))["error"]
    assert (error["code"], [wrong["row"] for wrong in error["details"]]) == ("VALIDATION_ERROR", [3])
    assert [wrong["field"] for wrong in error["details"][0]["details"]] == ["cost", "note"]
    assert await stored(parts) == before


async def test_an_outdated_row_and_a_malformed_version_are_both_reported_at_the_version(parts: TestApp) -> None:
    assert (await sent(parts, "code,title\r\nfull,changed\r\n"))["data"]["imported"] == 1
    (older,) = (await sent(parts, "code,cost,version\r\nfull,1,1\r\n"))["data"]["errors"]
    assert [wrong["field"] for wrong in older["details"]] == ["version"]
    (broken,) = (await sent(parts, "code,cost,version\r\nfull,1,first\r\n"))["data"]["errors"]
    assert [wrong["field"] for wrong in broken["details"]] == ["version"]


async def test_a_key_that_one_may_not_write_finds_rows_and_makes_none(parts: TestApp) -> None:
    made = await parts.call("POST", "/api/seals", as_whom="acme", json={"number": "A-1"})
    assert made.status_code == 201
    report = await sent(parts, "number,title\r\na-1,found\r\nA-2,new\r\n", path="/api/seals")
    assert (report["data"]["imported"], named(report)) == (1, [(3, ["number"])])
    assert [(row["number"], row["title"]) for row in await stored(parts, "/api/seals")] == [("A-1", "found")]
