"""What a login costs: who has no second factor pays nothing for those who have one.

The account state's JSON: its keys are the names of the structs' fields, which the statement writes out.
"""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import asyncpg
import msgspec
import pytest
from msgspec import Struct

from adapters.memory.admissions import MemoryAdmissions
from adapters.memory.cache import MemoryCache
from adapters.memory.clock import CountingIds
from adapters.postgres.database import PostgresDatabase
from adapters.postgres.identity.account_states import ACCOUNT_STATE
from application.identity.login.forms import LoginForm
from domain.entities.declaration import Registry
from domain.errors import AccountLocked, InvalidCredentials, MfaRequired
from domain.identity.tokens import Session
from domain.identity.users import AccountState, Membership, Role, User
from domain.scope import Client, EveryTenant, Scope
from entrypoints.assembly.adapters import memory_adapters
from entrypoints.assembly.use_cases import Services, assemble
from entrypoints.settings.settings import read_settings
from entrypoints.testing.app import ensure_keys
from tests.builders import NOW, role, session, tenant, user
from tests.conftest import NewDatabase
from tests.contracts.identity.login.logins import begin
from tests.contracts.identity.login.test_factors import app_of
from tests.contracts.identity.login.test_many_sessions import log_in as begin_session
from tests.http.app import PASSWORD, SETTINGS

HERE = Client(address="192.0.2.1", network="192.0.2.1")
EMAIL = "ada@example.com"


@dataclass
class Counted:
    """The database, with the statements that went to the server."""

    database: PostgresDatabase
    sent: list[str] = field(default_factory=list)

    def transaction(self, scope: Scope) -> AbstractAsyncContextManager[Any]:
        return self._logged(self.database.transaction(scope))

    def read_only(self, scope: Scope) -> AbstractAsyncContextManager[Any]:
        return self._logged(self.database.read_only(scope))

    def autocommit(self, scope: Scope) -> AbstractAsyncContextManager[Any]:
        return self._logged(self.database.autocommit(scope))

    @asynccontextmanager
    async def _logged(self, opened: AbstractAsyncContextManager[Any]) -> AsyncIterator[Any]:
        async with opened as tx:
            with tx.connection.query_logger(lambda record: self._note(record.query)):
                yield tx

    def _note(self, query: str) -> None:
        if "typeinfo_tree" not in query and "current_setting('jit')" not in query:
            self.sent.append(" ".join(query.split())[:60])


@dataclass
class CountedCalls:
    """An adapter of the shared memory, with the calls that would each be a round trip."""

    adapter: Any
    calls: list[str] = field(default_factory=list)

    def __getattr__(self, name: str) -> Any:
        self.calls.append(name)
        return getattr(self.adapter, name)


@pytest.fixture
async def counted(postgres: PostgresDatabase, registry: Registry) -> tuple[Services, Counted, CountedCalls]:
    database = Counted(postgres)
    adapters = memory_adapters(read_settings(SETTINGS), registry)
    cache = CountedCalls(MemoryCache(adapters.clock))
    assert isinstance(adapters.admissions, MemoryAdmissions)
    counting: dict[str, Any] = {"database": database, "cache": cache}
    services = assemble(replace(adapters, **counting), read_settings(SETTINGS))
    await ensure_keys(services)
    ada, acme = user(email=EMAIL, password_hash=await adapters.passwords.hash(PASSWORD), email_confirmed=True), tenant()
    member = role(acme.id)
    async with postgres.transaction(EveryTenant()) as tx:
        await tx.users.add(ada)
        await tx.tenants.add(acme)
        await tx.roles.add(member)
        await tx.memberships.save(ada.id, acme.id, [member.id], None, NOW)
    return services, database, cache


async def log_in(services: Services, password: str = PASSWORD) -> None:
    await services.sign_in.login(LoginForm(email=EMAIL, password=password, is_password_encrypted=False), HERE)


@pytest.mark.promise("second factors, behaviour: a login without factors takes as many statements as before")
async def test_a_login_without_factors_sends_three_statements_and_one_cache_call(
    counted: tuple[Services, Counted, CountedCalls],
) -> None:
    """The attempt, the state of the account with its factors, and the session with all that belongs to it."""
    services, database, cache = counted
    await log_in(services)
    database.sent.clear()
    cache.calls.clear()
    await log_in(services)
    assert len(database.sent) == 3, database.sent
    assert cache.calls == ["drop"]


async def test_an_account_that_is_locked_is_not_looked_up(counted: tuple[Services, Counted, CountedCalls]) -> None:
    """Else the time of the answer would tell whether there is an account."""
    services, database, _ = counted
    with pytest.raises(AccountLocked):  # noqa: PT012  # the attempt that finds the lock is the last one
        while True:
            database.sent.clear()
            with pytest.raises(InvalidCredentials):
                await log_in(services, "a wrong password")
    assert [query.partition(" (")[0] for query in database.sent] == ["WITH own AS", "INSERT INTO audit_events"]
    assert "INSERT INTO login_attempts" in database.sent[0]


async def test_a_login_that_waits_begins_no_session(
    counted: tuple[Services, Counted, CountedCalls], postgres: PostgresDatabase
) -> None:
    services, database, _ = counted
    async with postgres.transaction(EveryTenant()) as tx:
        state = await tx.users.state_by_email(EMAIL)
        assert state is not None
        await tx.factors.add(app_of(state.user))
    database.sent.clear()
    with pytest.raises(MfaRequired):
        await log_in(services)
    assert not [query for query in database.sent if "INSERT INTO sessions" in query or "entered AS" in query]
    async with postgres.read_only(EveryTenant()) as read:
        assert await read.connection.fetchval("SELECT count(*) FROM sessions") == 0


OTHERS = """
INSERT INTO users (id, email, email_key, full_name, email_confirmed, is_active, created_at, updated_at)
SELECT gen_random_uuid(), email, email, 'Person', true, true, now(), now()
FROM generate_series(1, 500) n, LATERAL (SELECT 'user' || n || '@example.com' AS email) made;
INSERT INTO sessions (id, user_id, counter, created_at, rotated_at, address, device)
SELECT gen_random_uuid(), id, 1, now(), now(), '192.0.2.1', 'a browser' FROM users, generate_series(1, 50);
INSERT INTO login_attempts (email_key, network, failures, locks_at, locks, tried_at)
SELECT email_key, network, 0, 5, 0, now() FROM users, unnest(ARRAY['', '192.0.2.1']) network;
ANALYZE users, sessions, login_attempts"""
# its own text is prepared as well, and must not be what it finds
PLANS = (
    "SELECT generic_plans, custom_plans FROM pg_prepared_statements WHERE strpos(statement, 'WITH enter' || 'ed') > 0"
)


async def test_the_statement_that_begins_a_session_uses_a_cached_plan(
    new_database: NewDatabase, registry: Registry
) -> None:
    url = await new_database()
    owner = await asyncpg.connect(url, server_settings={"tenantry.scope": "every"})
    await owner.execute(OTHERS)
    await owner.close()
    database = PostgresDatabase(url, registry, CountingIds(), connections=1)
    await database.open()
    ada = user(email=EMAIL)
    async with database.transaction(EveryTenant()) as tx:
        await tx.users.add(ada)
    for _ in range(8):
        await begin_session(database, ada)
    async with database.autocommit(EveryTenant()) as tx:
        plans = await tx.connection.fetchrow(PLANS)
    await database.close()
    assert plans is not None
    assert tuple(plans) == (3, 5)


Json = dict[str, Any]


@pytest.fixture
async def account(postgres: PostgresDatabase) -> tuple[Json, Json]:
    """State and session, as the server writes them, of a user with a membership and roles of both kinds."""
    ada, here = user(), tenant()
    member, system, own = role(here.id), role(None), session(ada.id)
    async with postgres.transaction(EveryTenant()) as tx:
        await tx.users.add(ada)
        await tx.tenants.add(here)
        for granted in (member, system):
            await tx.roles.add(granted)
        await tx.memberships.save(ada.id, here.id, [member.id], None, NOW)
        await tx.memberships.set_system_roles(ada.id, [system.id])
        assert await begin(tx, own)
        row = await tx.connection.fetchrow(ACCOUNT_STATE, None, None, own.id)
    assert row is not None
    return msgspec.json.decode(row["state"]), msgspec.json.decode(row["session"])


def names(struct: type[Struct]) -> set[str]:
    return set(struct.__struct_encode_fields__)


async def test_the_keys_are_the_fields(account: tuple[Json, Json]) -> None:
    state, kept = account
    (membership,) = state["memberships"]
    (held,) = membership["roles"]
    (granted,) = state["roles"]
    assert state.keys() == names(AccountState)
    assert state["user"].keys() == names(User)
    assert membership.keys() == names(Membership)
    assert held.keys() == granted.keys() == names(Role)
    assert kept.keys() == names(Session)


async def test_reading_the_account_state_by_id_email_and_session_gives_equal_results(
    postgres: PostgresDatabase,
) -> None:
    ada = user()
    own = session(ada.id)
    async with postgres.transaction(EveryTenant()) as tx:
        await tx.users.add(ada)
        assert await begin(tx, own)
        by_id = await tx.users.state(ada.id)
        assert by_id is not None
        assert await tx.users.state_by_email(ada.email_key) == by_id
        assert await tx.sessions.with_account_state(own.id) == (own, by_id)
