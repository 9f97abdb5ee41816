"""AsyncSessions that show the rows of one tenant, whatever is asked: by ORM, by Core or in raw SQL.

Row-level security decides. Each transaction begins by setting its scope; one that sets none sees no rows. That guards
against a forgotten condition, not against code that changes the setting itself: users' own code is trusted.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession, async_sessionmaker, create_async_engine
from sqlalchemy.orm import ORMExecuteState, Session, UOWTransaction, with_loader_criteria
from sqlalchemy.orm.session import SessionTransaction
from sqlalchemy.pool import ConnectionPoolEntry, PoolResetState
from sqlalchemy.util import await_only

from adapters.postgres.connection.connections import scope_text
from adapters.postgres.connection.failures import translated
from adapters.postgres.connection.poolers import settings_text
from adapters.postgres.connection.shares import ScopeShares
from adapters.postgres.connection.waiting import PoolBusy
from adapters.postgres.own_queries.entity_classes import EntityRow, SoftDeletedRow, entity_classes
from adapters.postgres.own_queries.errors import OWN_QUERY_ERRORS, domain_error
from adapters.postgres.schema.schema import metadata_for
from application.ports.runtime import Ids
from domain.entities.declaration import Registry
from domain.errors import Error
from domain.scope import OneTenant

CONNECTIONS = 5

_SET_SCOPE = sa.select(sa.func.set_config("tenantry.scope", sa.bindparam("scope", type_=sa.Text()), sa.true()))
_FORGET = (
    "CLOSE ALL; UNLISTEN *; SELECT pg_advisory_unlock_all(); DISCARD TEMP; RESET SESSION AUTHORIZATION; RESET ALL; "
)
_LIVING = with_loader_criteria(SoftDeletedRow, lambda row: sa.not_(row.is_deleted), include_aliases=True)


class OwnQueries:
    """Source of sessions, with a small pool of its own that is opened by the first of them.

    The pool of the service cannot be shared: its connections pass JSON on undecoded, where SQLAlchemy sets its own
    codecs. ``connect`` makes a connection that runs as the service's role and with ``settings``, which it gets back
    behind each session.
    """

    def __init__(
        self,
        connect: Callable[[], Awaitable[Any]],
        settings: Mapping[str, str],
        registry: Registry,
        ids: Ids,
        patience: float = 5.0,
    ) -> None:
        self.registry, self.ids = registry, ids
        self._connect, self._patience = connect, patience
        self._shares = ScopeShares(CONNECTIONS)
        self._as_before = _FORGET + settings_text(settings, "SET")

    @asynccontextmanager
    async def session(self, scope: OneTenant) -> AsyncIterator[AsyncSession]:
        """A session that is rolled back and closed when it is left: to keep changes, call ``commit``.

        Errors of SQLAlchemy and advanced-alchemy leave it as they are: see ``domain_error``.
        """
        share = SessionShare(self._shares, scope_text(scope), self._patience)
        try:
            async with self._sessions(info={"scope": scope, "own_queries": self, "share": share}) as session:
                yield session
        finally:
            share.end()

    @property
    def errors(self) -> Sequence[type[Exception]]:
        """Classes of error that leave a session."""
        return OWN_QUERY_ERRORS

    def domain_error(self, error: Exception) -> Error | None:
        """Error of the domain that an error of a session stands for; None for one that is a programmer's."""
        return domain_error(error)

    @cached_property
    def classes(self) -> Mapping[str, type[Any]]:
        """ORM classes by the plural of the entity."""
        # on request: to make them takes some 50 ms, which a session for raw SQL can do without
        return entity_classes(self.registry, metadata_for(self.registry))

    async def close(self) -> None:
        if "_engine" in self.__dict__:  # made by the first session
            await self._engine.dispose()
            self.__dict__.pop("_engine")
            self.__dict__.pop("_sessions", None)

    @cached_property
    def _engine(self) -> AsyncEngine:
        engine = create_async_engine(
            "postgresql+asyncpg://",
            async_creator=self._connected,
            pool_size=CONNECTIONS,
            max_overflow=0,
            pool_timeout=self._patience,
            pool_pre_ping=True,  # the server may have been restarted since a connection was used
            pool_reset_on_return=None,  # _clean does
        )
        event.listen(engine.sync_engine, "reset", self._clean)
        return engine

    def _clean(self, connection: Any, _record: ConnectionPoolEntry, state: PoolResetState) -> None:
        """Ends what a session left, for its connection serves the next tenant: temporary tables, cursors, settings."""
        # one that nobody closed is thrown away by its pool, outside the event loop
        if not state.terminate_only:
            connection.rollback()
            connection.run_async(lambda driver: driver.execute(self._as_before))

    async def _connected(self) -> Any:
        with translated():
            return await self._connect()

    @cached_property
    def _sessions(self) -> async_sessionmaker[AsyncSession]:
        # rows stay readable after a commit: reading an expired attribute would await, and fail
        # A closed session that is used again, by a stream or a task of its handler, would keep a connection for good.
        return async_sessionmaker(
            self._engine, sync_session_class=TenantSession, expire_on_commit=False, close_resets_only=False
        )


class SessionShare:
    """Place of a session in its tenant's share of the connections, taken with a connection and given back with it."""

    def __init__(self, shares: ScopeShares, tenant: str, patience: float) -> None:
        self._shares, self._tenant, self._patience = shares, tenant, patience
        self._is_held = self._has_ended = False

    def take(self) -> None:
        """Waits for the place in a greenlet of SQLAlchemy's. Raises SQLAlchemy's TimeoutError."""
        # SQLAlchemy refuses the statement of a session that has ended, but asks for its engine first.
        if self._is_held or self._has_ended:
            return
        if not self._shares.is_taken(self._tenant):
            try:
                await_only(self._shares.turn(self._tenant, self._patience))
            except PoolBusy as busy:
                raise PoolTimeoutError("The tenant has its share of the connections in use.") from busy
        self._is_held = True

    def give_back(self) -> None:
        if self._is_held:
            self._is_held = False
            self._shares.give_back(self._tenant)

    def end(self) -> None:
        self.give_back()
        self._has_ended = True


class TenantSession(Session):
    """Session inside of an AsyncSession: ``info["scope"]`` is the tenant that it shows."""

    def get_bind(self, *args: Any, **options: Any) -> sa.Engine | sa.Connection:
        # Asked for before each statement: it is the last place before a connection leaves the pool.
        self.info["share"].take()
        return super().get_bind(*args, **options)


@event.listens_for(TenantSession, "after_transaction_end")
def _give_back(session: Session, transaction: SessionTransaction) -> None:
    if transaction.parent is None:  # no savepoint: the connection is in the pool again
        session.info["share"].give_back()


@event.listens_for(TenantSession, "after_begin")
def _set_scope(session: Session, _transaction: SessionTransaction, connection: sa.Connection) -> None:
    # local to the transaction, so that a connection goes back to the pool without a scope
    connection.execute(_SET_SCOPE, {"scope": str(session.info["scope"].id)})


@event.listens_for(TenantSession, "do_orm_execute")
def _hide_deleted(state: ORMExecuteState) -> None:
    if state.is_delete and state.bind_mapper is not None:
        _ensure_not_soft(state.bind_mapper.class_)
    if state.is_column_load or state.execution_options.get("include_deleted", False):
        return
    if state.is_select or state.is_update or state.is_insert or state.is_delete:
        # not by the mappers of the statement: `select(count()).select_from(Product)` has none, and must count the
        # living alone as well
        state.statement = state.statement.options(_LIVING)


@event.listens_for(TenantSession, "before_flush")
def _fill_in(session: Session, _context: UOWTransaction, _instances: object) -> None:
    """Gives new rows the columns that the server owns, and changed ones the time of their change."""
    now = datetime.now(UTC)
    for row in filter(_is_entity, session.new):
        given = {
            "id": session.info["own_queries"].ids.new(),
            "tenant_id": session.info["scope"].id,
            "created_at": now,
            "updated_at": now,
            "is_deleted": False,
        }
        for name, value in given.items():
            if name in row.__table__.c and getattr(row, name) is None:
                setattr(row, name, value)
    for row in filter(_is_entity, session.dirty):
        if "updated_at" in row.__table__.c and session.is_modified(row):
            row.updated_at = now
    for row in session.deleted:
        _ensure_not_soft(type(row))


def _is_entity(row: object) -> bool:
    return isinstance(row, EntityRow)


def _ensure_not_soft(kind: type[Any]) -> None:
    """Refuses a DELETE that would pass by what the entity declares for deletions. Raises TypeError."""
    if issubclass(kind, SoftDeletedRow):
        raise TypeError(
            f"Rows of {kind.__name__} are deleted softly, with what refers to them: use the endpoint or the use case "
            "that deletes them, or, to delete rows for good, sqlalchemy.delete() on the class's __table__."
        )
