"""Shared fixtures: servers, a migrated database per worker, and the adapters that contracts run against."""

import gc
import os
import signal
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any, Protocol
from uuid import uuid4

import asyncpg
import pytest

from adapters.embedded import EmbeddedServices, start_embedded
from adapters.memory.clock import CountingIds, MovableClock
from adapters.memory.database import MemoryDatabase
from adapters.postgres.database import PostgresDatabase
from adapters.postgres.migrations.migrate import upgrade
from adapters.postgres.schema.schema import metadata_for
from application.ports.whole_database import WholeDatabase
from domain.entities.builtin_entities import BUILTIN_ENTITIES
from domain.entities.catalogue import ENTITIES
from domain.entities.declaration import Registry
from domain.entities.registry import build_registry
from tests.examples import ASKED, load_profile
from tests.servers.databases import create_database, drop_databases

NewDatabase = Callable[[], Awaitable[str]]


class MakeDatabase(Protocol):
    """Makes a database, and returns its URL."""

    async def __call__(self, template: str | None = None, options: str | None = None) -> str: ...


LONG = (
    "test_docs_page.py",
    "test_serve.py",
    "test_races.py",
    "test_cli.py",
    "test_migration_commands.py",
    "test_your_project.py",
    "test_online_migrations.py",
    "test_migrations.py",
    "test_embedded.py",
    "test_copied_columns.py",
    "test_hostile_files.py",
    "test_every_command.py",
    "test_changes.py",
    "test_migrations_under_load.py",
    "test_written_migrations.py",
    "test_records_wide.py",
    "test_twins.py",
    "test_files.py",
    "test_sheets.py",
    "test_parquet.py",
    "test_isolation.py",
    "test_openapi.py",
    "test_accessibility.py",
    "test_states.py",
    "test_account_pages.py",
    "test_readme.py",
    "test_table_of_changes.py",
    "test_revocations.py",
    "test_transfers.py",
    "test_console.py",
)
"""Files that take longest, the longest first."""

SECONDS = 5.0
"""Time within which a test should be over; `make test` names those that are not."""

SIGN_IN = "signin"
"""Folder whose tests of pages take minutes: `make long` runs them, `make end-to-end` those of ``JOURNEYS``."""

JOURNEYS = frozenset(
    {
        # the sign-in, in every way
        "test_a_password_leads_to_the_application_with_a_code",
        "test_an_app_and_a_recovery_code_are_second_factors",
        "test_a_passkey_is_a_complete_login_and_a_second_factor",
        "test_a_new_person_comes_to_the_application_by_a_provider",
        "test_an_account_is_made_and_confirmed_and_signs_in",
        # by axe, in one combination of width and theme
        "test_the_page_breaks_no_rule_in_the_tenants_colours[wide-light]",
        # languages
        "test_german_pages_turned_right_to_left_fit_a_telephone",
    }
)
"""Tests of the sign-in pages that run each time."""

STARTED = frozenset(
    {
        # a process of the service, or two
        "serve",
        "module_serve",
        "pair",
        # an installation of the wheel
        "wheel",
        # embedded servers, servers of the test's own
        "launch",
        "primary",
        "rig",
        # Chromium
        "chromium",
        "visitor",
    }
)
"""Fixtures that start what people start. Tests that have one are end-to-end tests."""

LONG_ASKED = os.environ.get("TENANTRY_TEST_LONG") == "1"
"""Whether `make faults` or `make long` asks for the tests that are marked as long."""

load_profile()


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """More than there are cores: tests of servers and browsers wait more than they compute."""
    return min(4, (os.cpu_count() or 1) + 1)


def pytest_sessionstart(session: pytest.Session) -> None:
    """Gives SIGINT a handler of ours, which does what the usual one does, so that asyncio sets none.

    asyncio would set one around each fixture and each test, and set the usual one back. Each time, ``signal`` makes and
    drops a message with the ``repr`` of the task and of its result: all that an application in memory stores.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _interrupt)


def _interrupt(number: int, frame: FrameType | None) -> None:
    signal.default_int_handler(number, frame)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out what is long, but where it is asked for, and marks what is drawn and what is end to end.

    Long files come first, so that no worker runs one of them alone at the end.
    """
    for item in items:
        fixtures = getattr(item, "fixturenames", ())
        if not STARTED.isdisjoint(fixtures):
            item.add_marker("end_to_end")
        is_of_the_sign_in = item.path.parent.name == SIGN_IN and "visitor" in fixtures
        if is_of_the_sign_in and item.name not in JOURNEYS:
            item.add_marker("long")
    left_out = [item for item in items if item.get_closest_marker("long") and not LONG_ASKED]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if not item.get_closest_marker("long")]
    items.sort(key=_place)
    for item in items:
        if getattr(getattr(item, "obj", None), "is_hypothesis_test", False):
            item.add_marker("drawn")


def pytest_collection_finish(session: pytest.Session) -> None:
    """Leaves what is there for the whole run out of garbage collections, which take a tenth of the CPU time else."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


def _place(item: pytest.Item) -> tuple[int, bool]:
    name = item.path.name
    return LONG.index(name) if name in LONG else len(LONG), "entrypoints" not in item.path.parts


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Names the tests that take too long for `make test`: a smaller case, a shared service or `make fuzz` help."""
    reports = [report for kind in ("passed", "failed") for report in terminalreporter.getreports(kind)]
    slow = [report for report in reports if report.when == "call" and report.duration > SECONDS]
    if slow and not ASKED:
        terminalreporter.section(f"{len(slow)} tests take more than {SECONDS:g} seconds")
        for report in sorted(slow, key=lambda report: -report.duration):
            terminalreporter.line(f"{report.duration:6.1f} s  {report.nodeid}")


@pytest.fixture(scope="session")
def registry() -> Registry:
    return build_registry([*ENTITIES, *BUILTIN_ENTITIES])


@pytest.fixture(scope="session")
def servers() -> Iterator[tuple[str, str]]:
    """URLs of PostgreSQL and Redis: from the environment, else of embedded servers."""
    database_url = os.environ.get("TENANTRY_TEST_DATABASE_URL")
    redis_url = os.environ.get("TENANTRY_TEST_REDIS_URL")
    with tempfile.TemporaryDirectory(prefix="tenantry-tests-") as folder:
        embedded: EmbeddedServices = start_embedded(
            Path(folder), postgres=database_url is None, valkey=redis_url is None, durable=False
        )
        try:
            yield database_url or str(embedded.owner_url), redis_url or str(embedded.redis_url)
        finally:
            embedded.stop()


@pytest.fixture(scope="session")
def redis_url(servers: tuple[str, str]) -> str:
    return servers[1]


@pytest.fixture(scope="session")
async def make_database(servers: tuple[str, str]) -> AsyncIterator[MakeDatabase]:
    """Makes a database with these options, or a copy of one without connections, as ``create_database`` does.

    All are dropped together after all tests of the worker, as one by one takes far longer.
    """
    name, made = f"tenantry_test_{uuid4().hex[:12]}", list[str]()

    async def make(template: str | None = None, options: str | None = None) -> str:
        made.append(await create_database(servers[0], f"{name}_{len(made)}", template, options))
        return made[-1]

    yield make
    await drop_databases(made)


@pytest.fixture(scope="session")
def empty_database(make_database: MakeDatabase) -> NewDatabase:
    """Makes databases without tables."""
    return make_database


@pytest.fixture(scope="session")
async def template(empty_database: NewDatabase, registry: Registry) -> str:
    """A migrated database without connections, for CREATE DATABASE … TEMPLATE."""
    url = await empty_database()
    assert await upgrade(url, registry) == []
    return url


@pytest.fixture(scope="session")
def new_database(make_database: MakeDatabase, template: str) -> NewDatabase:
    """Makes migrated and empty databases."""
    return lambda: make_database(template)


@pytest.fixture(scope="session")
async def database_url(new_database: NewDatabase) -> str:
    return await new_database()


@pytest.fixture(scope="session")
async def owner(database_url: str) -> AsyncIterator["asyncpg.Connection[asyncpg.Record]"]:
    """A connection as the owner of the tables, to whom row-level security does not apply."""
    connection = await asyncpg.connect(database_url, server_settings={"tenantry.scope": "every"})
    yield connection
    await connection.close()


@pytest.fixture(scope="session")
async def open_postgres(database_url: str, registry: Registry) -> AsyncIterator[PostgresDatabase]:
    database = PostgresDatabase(database_url, registry, CountingIds(), connections=12)
    await database.open()
    yield database
    await database.close()


@pytest.fixture(scope="session")
def emptying(registry: Registry) -> str:
    """Statements that delete all rows, those that refer to others first."""
    return "; ".join(f"DELETE FROM {table.name}" for table in reversed(metadata_for(registry).sorted_tables))


@pytest.fixture
async def postgres(
    open_postgres: PostgresDatabase, owner: "asyncpg.Connection[asyncpg.Record]", emptying: str
) -> PostgresDatabase:
    """A PostgreSQL database, emptied before each test."""
    await owner.execute(emptying)
    return open_postgres


@pytest.fixture
def memory(registry: Registry) -> MemoryDatabase:
    return MemoryDatabase(registry, CountingIds())


@pytest.fixture(params=["memory", "postgres"])
def database(request: pytest.FixtureRequest) -> WholeDatabase:
    """Each adapter of the database in turn: contracts hold for all of them."""
    adapter: WholeDatabase = request.getfixturevalue(request.param)
    return adapter


@pytest.fixture
def clock() -> MovableClock:
    return MovableClock()


@pytest.fixture
def ids() -> CountingIds:
    return CountingIds()
