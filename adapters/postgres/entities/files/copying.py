"""Bulk rows of entities: export by COPY, import by COPY to a temporary table and one write from there."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import msgspec

from adapters.postgres.connection.connections import ServiceConnection
from adapters.postgres.entities.files.export_statements import (
    MOST_CELLS,
    cell_columns,
    cells_statement,
    counting_statement,
    json_statement,
)
from adapters.postgres.entities.files.loading import Load
from adapters.postgres.entities.reading.own_keys import with_own_keys
from adapters.postgres.entities.reading.select import page_shape, values_of
from adapters.postgres.statements.compiled import CompiledStatement
from adapters.postgres.statements.owning import user_of
from application.ports.entities.files import Loaded, Loading
from domain.entities.declaration import EntityModel, Registry
from domain.entities.files.csv_rows import exported_line
from domain.entities.owning import limits_in
from domain.entities.query.query import Query
from domain.entities.sheets import Form
from domain.errors import BadRequest
from domain.scope import OneTenant, Scope

PLACES = 4
"""Maximum number of pieces that wait for a client; then the database waits too."""

ENOUGH = 128 * 1024
"""Bytes to collect before a chunk is passed to the client."""

CANCELLED_WITHIN = 5.0
"""Seconds for the server to cancel a statement."""

LONGEST = 6 * 3600.0
"""Seconds for a whole file: longer than the limit for a slow client."""

FIRST_ROW = 30.0
"""Seconds for the first row of a file, and for counting its rows: the same limit as for the statement of a page."""

_AS_IT_IS: dict[str, Any] = {"delimiter": "\x01", "quote": "\x02"}
"""CSV with delimiters that never occur in JSON, so that the server escapes nothing."""

_WIDE = "; SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = off"
"""Looks included rows up by key: a hash or merge join could exceed PostgreSQL's maximum of columns."""

Put = Callable[[bytes], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class PostgresTransfers:
    connection: ServiceConnection
    registry: Registry
    scope: Scope
    patience: float = FIRST_ROW

    async def pieces(self, model: EntityModel, query: Query, form: Form) -> AsyncGenerator[bytes, None]:
        waiting: asyncio.Queue[bytes | None] = asyncio.Queue(PLACES)
        copying = asyncio.create_task(self._copy(model, query, form, waiting))
        try:
            # Limit only the statement; the client may be slow.
            async with asyncio.timeout(self.patience):
                piece = await waiting.get()
            while piece is not None:
                yield piece
                piece = await waiting.get()
            await copying
        finally:
            if not copying.done():
                await self._break_off(copying)
            elif not copying.cancelled():
                copying.exception()  # read the exception even if the client has left

    async def _break_off(self, copying: "asyncio.Task[None]") -> None:
        # After an interrupted copy, the connection cannot run another statement.
        copying.cancel()
        with suppress(asyncio.CancelledError, Exception):
            await copying
        # terminate() would withdraw the driver's cancel request, and the statement would run for hours.
        with suppress(Exception):
            await self.connection.close(timeout=CANCELLED_WITHIN)

    async def count(self, model: EntityModel, query: Query, most: int) -> int:
        statement = counting_statement(self.registry, model, page_shape(self.scope, query))
        values = await with_own_keys(self.connection, self.registry, statement, values_of(self.scope, query))
        arguments = statement.arguments(values | {"size": most})
        return int(await self.connection.fetchval(statement.text, *arguments, timeout=self.patience))

    async def load(self, model: EntityModel, rows: AsyncIterator[bytes], loading: Loading) -> Loaded:
        if model.tenant_owned and not isinstance(self.scope, OneTenant):
            raise BadRequest("Rows of tenants are written in one tenant at a time.")
        tenant = self.scope.id if isinstance(self.scope, OneTenant) and model.tenant_owned else None
        limits, user = limits_in(self.scope), user_of(self.scope)
        return await Load(self.connection, self.registry, model, tenant, loading, limits, user).run(rows)

    async def _copy(self, model: EntityModel, query: Query, form: Form, waiting: "asyncio.Queue[bytes | None]") -> None:
        """Put None last, also after a failure: the queue's reader then awaits this task."""
        statement, options = self._statement(model, query, form)
        columns = cell_columns(self.registry, model, page_shape(self.scope, query)) if form != "json" else []
        is_wide = len(columns) > MOST_CELLS
        head = exported_line([column.name for column in columns]) + "\r\n" if form == "csv" else ""
        pieces = (_WIDE_FRAMES if is_wide else _FRAMES)[form](waiting.put, head.encode())
        try:
            values = await with_own_keys(self.connection, self.registry, statement, values_of(self.scope, query))
            arguments = statement.arguments(values)
            settings = _planning(query) + (_WIDE if is_wide else "")
            await self.connection.execute(settings)
            await self.connection.copy_from_query(
                statement.text, *arguments, output=pieces.take, timeout=LONGEST, format="csv", **options
            )
            await pieces.end()
        except Exception:
            await waiting.put(None)
            raise
        await waiting.put(None)

    def _statement(self, model: EntityModel, query: Query, form: Form) -> tuple[CompiledStatement, dict[str, Any]]:
        shape = page_shape(self.scope, query)
        if form == "json":
            return json_statement(self.registry, model, shape), _AS_IT_IS
        if len(cell_columns(self.registry, model, shape)) > MOST_CELLS:
            return cells_statement(self.registry, model, shape, is_escaped=form == "csv"), _AS_IT_IS
        return cells_statement(self.registry, model, shape, is_escaped=form == "csv"), {}


def _planning(query: Query) -> str:
    """Return the statements with planner settings: an export uses a single server process."""
    if query.where or query.search:
        return "SET LOCAL max_parallel_workers_per_gather = 0"
    # Force index order, so that the first row is sent at once.
    return "SET LOCAL max_parallel_workers_per_gather = 0; SET LOCAL enable_sort = off"


class _Plain:
    """The server's pieces after ``head``: the first is sent at once, others are gathered to ``ENOUGH`` bytes."""

    def __init__(self, put: Put, head: bytes) -> None:
        self._put, self._head = put, head
        self._held: list[bytes] = []
        self._size = self._enough = 0

    async def take(self, piece: bytes) -> None:
        self._held.append(piece)
        self._size += len(piece)
        if self._size > self._enough:
            await self._go()
            self._enough = ENOUGH

    async def end(self) -> None:
        await self._go()
        if rest := self._head + self._last():
            await self._put(rest)

    async def _go(self) -> None:
        held, self._held, self._size = self._held, [], 0
        if held:
            head, self._head = self._head, b""
            await self._put(head + self._made(b"".join(held)))

    def _made(self, piece: bytes) -> bytes:
        return piece

    def _last(self) -> bytes:
        return b""


class _Csv(_Plain):
    """CSV with line ends of RFC 4180: the server writes only a line feed."""

    def __init__(self, put: Put, head: bytes) -> None:
        super().__init__(put, head)
        self._is_quoted = False

    def _made(self, piece: bytes) -> bytes:
        # Segments with even numbers are outside quotes, unless the previous chunk ended inside quotes.
        parts = piece.split(b'"')
        for number in range(self._is_quoted, len(parts), 2):
            parts[number] = parts[number].replace(b"\n", b"\r\n")
        self._is_quoted ^= len(parts) % 2 == 0
        return b'"'.join(parts)


class _Json(_Plain):
    """JSON array of the lines: each line feed ends a row."""

    def __init__(self, put: Put, head: bytes) -> None:
        super().__init__(put, head)
        self._before = b"["

    def _made(self, piece: bytes) -> bytes:
        ends = piece.endswith(b"\n")
        rows = (piece[:-1] if ends else piece).replace(b"\n", b",\n")
        before, self._before = self._before, b",\n" if ends else b""
        return before + rows

    def _last(self) -> bytes:
        return b"[]\n" if self._before == b"[" else b"]\n"


class _WideCells(_Plain):
    """Lines received as JSON arrays; a piece may end within a line."""

    end_of_line = "\n"

    def __init__(self, put: Put, head: bytes) -> None:
        super().__init__(put, head)
        self._rest = b""

    def _made(self, piece: bytes) -> bytes:
        *lines, self._rest = (self._rest + piece).split(b"\n")
        made = [exported_line(msgspec.json.decode(line, type=list[str | None])) for line in lines]
        return "".join([line + self.end_of_line for line in made]).encode()


class _WideCsv(_WideCells):
    end_of_line = "\r\n"


_FRAMES: dict[Form, Callable[[Put, bytes], _Plain]] = {"csv": _Csv, "json": _Json, "cells": _Plain}
_WIDE_FRAMES: dict[Form, Callable[[Put, bytes], _Plain]] = {"csv": _WideCsv, "cells": _WideCells}
