"""AsyncSessions limited to the rows of one tenant for ORM, Core and raw SQL.

Row-level security enforces the limit. Each transaction first sets its scope; without one statements fail. That guards
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
from adapters.postgres.own_queries.row_marks import EntityRow, SoftDeletedRow
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
    """Source of sessions, with a small separate pool opened by the first session.

    The service's pool cannot be shared: it leaves JSON undecoded, but SQLAlchemy sets its own codecs. ``connect`` opens
    a connection with the service's role and ``settings``, restored after each session. ``is_of_cluster`` means that it
    leads to the coordinator of a Citus cluster.
    """

    def __init__(
        self,
        connect: Callable[[], Awaitable[Any]],
        settings: Mapping[str, str],
        registry: Registry,
        ids: Ids,
        patience: float = 5.0,
        *,
        is_of_cluster: bool = False,
    ) -> None:
        self.registry, self.ids, self.is_of_cluster = registry, ids, is_of_cluster
        self._connect, self._patience = connect, patience
        self._shares = ScopeShares(CONNECTIONS)
        self._as_before = _FORGET + settings_text(settings, "SET")

    @asynccontextmanager
    async def session(self, scope: OneTenant) -> AsyncIterator[AsyncSession]:
        """Open a session; leaving it rolls back and closes it. Call ``commit`` to save changes.

        Errors of SQLAlchemy and advanced-alchemy are not translated: see ``domain_error``.
        """
        share = SessionShare(self._shares, scope_text(scope), self._patience)
        try:
            async with self._sessions(info={"scope": scope, "own_queries": self, "share": share}) as session:
                yield session
        finally:
            share.end()

    @property
    def errors(self) -> Sequence[type[Exception]]:
        """Classes of errors that a session raises."""
        # Import late, here and below: advanced-alchemy imports Litestar, which commands do not need.
        from adapters.postgres.own_queries.errors import OWN_QUERY_ERRORS

        return OWN_QUERY_ERRORS

    def domain_error(self, error: Exception) -> Error | None:
        """Return the domain error for a session's error; None for a programming error."""
        from adapters.postgres.own_queries.errors import domain_error

        return domain_error(error)

    @cached_property
    def classes(self) -> Mapping[str, type[Any]]:
        """ORM classes by the entity's plural."""
        # Lazy: creating them needs some 50 ms, unnecessary for raw SQL.
        from adapters.postgres.own_queries.entity_classes import entity_classes

        return entity_classes(self.registry, metadata_for(self.registry))

    async def close(self) -> None:
        if "_engine" in self.__dict__:  # the first session has opened the pool
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
            pool_pre_ping=True,  # the server may have restarted
            pool_reset_on_return=None,  # _clean does
        )
        event.listen(engine.sync_engine, "reset", self._clean)
        return engine

    def _clean(self, connection: Any, _record: ConnectionPoolEntry, state: PoolResetState) -> None:
        """Remove a session's temporary tables, cursors and settings: the connection serves other tenants next."""
        # The pool discards an unclosed connection outside the event loop.
        if not state.terminate_only:
            connection.rollback()
            connection.run_async(lambda driver: driver.execute(self._as_before))

    async def _connected(self) -> Any:
        with translated():
            return await self._connect()

    @cached_property
    def _sessions(self) -> async_sessionmaker[AsyncSession]:
        # expire_on_commit: rows stay readable after a commit, because reading an expired attribute would need an await
        # and fail. close_resets_only: if a stream or task used a closed session again, its connection would leak.
        return async_sessionmaker(
            self._engine, sync_session_class=TenantSession, expire_on_commit=False, close_resets_only=False
        )


class SessionShare:
    """A session's share of its tenant's connections, acquired and released with a connection."""

    def __init__(self, shares: ScopeShares, tenant: str, patience: float) -> None:
        self._shares, self._tenant, self._patience = shares, tenant, patience
        self._is_held = self._has_ended = False

    def take(self) -> None:
        """Wait for the place in a SQLAlchemy greenlet. Raises SQLAlchemy's TimeoutError."""
        # SQLAlchemy asks for the engine before refusing the statement of an ended session.
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
    """Session inside an AsyncSession: ``info["scope"]`` is its tenant."""

    def get_bind(self, *args: Any, **options: Any) -> sa.Engine | sa.Connection:
        # Acquire the place here: SQLAlchemy calls nothing later before it gets a connection from the pool.
        self.info["share"].take()
        return super().get_bind(*args, **options)


@event.listens_for(TenantSession, "after_transaction_end")
def _give_back(session: Session, transaction: SessionTransaction) -> None:
    if transaction.parent is None:  # no savepoint: the connection is in the pool again
        session.info["share"].give_back()


@event.listens_for(TenantSession, "after_begin")
def _set_scope(session: Session, _transaction: SessionTransaction, connection: sa.Connection) -> None:
    # Local to the transaction, so that the connection returns to the pool without a scope.
    scope = scope_text(session.info["scope"])
    if session.info["own_queries"].is_of_cluster:
        # Citus passes on commands, and not the effects of functions.
        connection.exec_driver_sql(f"SET LOCAL tenantry.scope = '{scope}'")
        return
    connection.execute(_SET_SCOPE, {"scope": scope})


@event.listens_for(TenantSession, "do_orm_execute")
def _hide_deleted(state: ORMExecuteState) -> None:
    if state.is_delete and state.bind_mapper is not None:
        _ensure_not_soft(state.bind_mapper.class_)
    if state.is_column_load or state.execution_options.get("include_deleted", False):
        return
    if state.is_select or state.is_update or state.is_insert or state.is_delete:
        # Add the condition to every statement, not only to those with mappers: `select(count()).select_from(Product)`
        # has no mapper, but must count only live rows.
        state.statement = state.statement.options(_LIVING)


@event.listens_for(TenantSession, "before_flush")
def _fill_in(session: Session, _context: UOWTransaction, _instances: object) -> None:
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
    """Raises TypeError for a DELETE that bypasses the entity's deletion rules."""
    if issubclass(kind, SoftDeletedRow):
        raise TypeError(
            f"Rows of {kind.__name__} are deleted softly, with what refers to them: use the endpoint or the use case "
            "that deletes them, or, to delete rows for good, sqlalchemy.delete() on the class's __table__."
        )
