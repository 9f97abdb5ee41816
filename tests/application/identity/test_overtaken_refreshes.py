"""Refreshes that others overtake between their read and their write: what is told of the session is true."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import pytest
from msgspec.structs import replace

from application.identity.administration.tenant_forms import NewTenantForm
from application.identity.login.forms import RefreshForm
from application.ports.whole_database import WholeDatabase
from domain.entities.declaration import Registry
from domain.errors import TokenInvalid
from domain.identity.tokens import Session
from domain.scope import EveryTenant, Scope
from tests.application.identity.test_social_sign_in import open_service
from tests.application.in_memory_service import HERE, InMemoryService
from tests.builders import NOW
from tests.http.app import ADMIN, PASSWORD


@dataclass
class OvertakenSessions:
    sessions: Any
    database: "OvertakenDatabase"

    def __getattr__(self, name: str) -> Any:
        return getattr(self.sessions, name)

    async def rotate(self, session: Session, seen: int) -> bool:
        for _ in range(self.database.refreshes):
            current = await self.sessions.by_id(session.id)
            await self.sessions.rotate(replace(current, counter=current.counter + 1), seen=current.counter)
        if self.database.ends:
            await self.sessions.end(session.id, NOW)
        rotated: bool = await self.sessions.rotate(session, seen=seen)
        return rotated


@dataclass
class OvertakenTransaction:
    tx: Any
    database: "OvertakenDatabase"

    def __getattr__(self, name: str) -> Any:
        return OvertakenSessions(self.tx.sessions, self.database) if name == "sessions" else getattr(self.tx, name)


@dataclass
class OvertakenDatabase:
    """The database, in which a session is refreshed so often, or ended, in the moment before its refresh is written."""

    database: WholeDatabase
    refreshes: int = 0
    ends: bool = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self.database, name)

    def autocommit(self, scope: Scope) -> AbstractAsyncContextManager[Any]:
        return self._wrapped(self.database.autocommit(scope))

    @asynccontextmanager
    async def _wrapped(self, opened: AbstractAsyncContextManager[Any]) -> AsyncIterator[Any]:
        async with opened as tx:
            yield OvertakenTransaction(tx, self)


@dataclass
class Refreshing:
    service: InMemoryService
    database: OvertakenDatabase
    token: str
    session_id: UUID
    other: UUID

    async def refresh(self, tenant_id: UUID | None = None) -> None:
        form = RefreshForm(refresh_token=self.token, tenant_id=tenant_id)
        await self.service.services.renewal.refresh(form, HERE)

    async def is_living(self) -> bool:
        async with self.database.database.read_only(EveryTenant()) as read:
            session = await read.sessions.by_id(self.session_id)
        return session is not None and session.ended_at is None


@pytest.fixture
async def refreshing(registry: Registry, database: WholeDatabase) -> Refreshing:
    overtaken: Any = OvertakenDatabase(database)
    service = await open_service(registry, overtaken)
    result = await service.login(PASSWORD, ADMIN)
    root = service.caller(result)
    other = await service.services.tenants.create(root, NewTenantForm(name="Other", identifier="other"), HERE)
    return Refreshing(service, overtaken, result.refresh_token, root.session_id, other.id)


async def fresh(refreshing: Refreshing) -> None:
    refreshing.database.refreshes = 2
    await refreshing.refresh()


async def spent(refreshing: Refreshing) -> None:
    await refreshing.refresh()
    refreshing.database.refreshes = 1
    await refreshing.refresh(refreshing.other)


@pytest.mark.parametrize("act", [fresh, spent])
async def test_a_session_that_was_refreshed_once_more_meanwhile_lives(
    refreshing: Refreshing, act: Callable[[Refreshing], Awaitable[None]]
) -> None:
    with pytest.raises(TokenInvalid, match="refreshed once more meanwhile"):
        await act(refreshing)
    assert await refreshing.is_living()


async def test_a_session_that_has_ended_meanwhile_is_said_to_have_ended(refreshing: Refreshing) -> None:
    await refreshing.refresh()
    refreshing.database.ends = True
    with pytest.raises(TokenInvalid, match="The session has ended"):
        await refreshing.refresh(refreshing.other)
    assert not await refreshing.is_living()


async def test_a_first_refresh_of_a_session_that_has_ended_meanwhile_is_told_so(refreshing: Refreshing) -> None:
    refreshing.database.ends = True
    with pytest.raises(TokenInvalid, match="The session has ended"):
        await refreshing.refresh()
    assert not await refreshing.is_living()
