"""Import of a file's rows into the database: COPY to a temporary table, checks, and one write of the valid rows."""

from collections.abc import AsyncIterator, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import asyncpg
import msgspec

from adapters.postgres.connection.connections import ServiceConnection
from adapters.postgres.connection.poolers import UNSUPPORTED
from adapters.postgres.entities.attachments import loading as attachments
from adapters.postgres.entities.files import loading_statements as statements
from adapters.postgres.entities.files.skipped_rows import find_skipped
from adapters.postgres.entities.reading.page_bounds import has_long_rows
from adapters.postgres.entities.writing.bulk_statements import referring_rows
from adapters.postgres.entities.writing.row_locks import lock_referred_rows
from adapters.postgres.entities.writing.writing import NO_SUCH_ROW, PostgresWriting, as_declared
from adapters.postgres.statements.compiled import CompiledStatement
from adapters.postgres.statements.running import fetch, fetch_value
from application.ports.entities.files import Loaded, Loading, RowRule
from application.ports.entities.records import Values
from domain.entities.declaration import EntityModel, FieldModel, Registry
from domain.entities.owning import NO_LIMITS, Limits
from domain.entities.sheets import MOST_ERRORS, BrokenRow, RowError, not_own, not_writable, stale
from domain.errors import BadRequest, FieldError

PATIENCE = 600.0
"""Seconds for a statement about a whole file."""
MOST_ROUNDS = 3
"""Attempts to find rows inserted by others during an upsert."""
CHECKED_TOGETHER = 500
"""Rows checked against rules between two turns of the event loop."""
LONG_CHECKED_TOGETHER = 4
"""Like ``CHECKED_TOGETHER``, for rows of megabytes: the process holds each row twice, before and after the update."""


class _Refused(Exception):
    """Error of a row that a rule refused; it rolls back the row's write."""

    def __init__(self, errors: Sequence[FieldError]) -> None:
        self.errors = errors
        super().__init__()


@dataclass
class Load:
    """Import of one file; ``tenant`` is None for entities with rows shared by all tenants.

    ``user`` has the argument of a caller with ``limits`` to own rows.
    """

    connection: ServiceConnection
    registry: Registry
    model: EntityModel
    tenant: UUID | None
    loading: Loading
    limits: Limits
    user: Mapping[str, Any]
    errors: list[RowError] = field(default_factory=list)
    failed: int = 0
    skipped: set[int] = field(default_factory=set)
    """Numbers of skipped rows already out of the temporary table."""
    adopted: list[UUID] = field(default_factory=list)
    """Ids of rows that an upsert may update; only for entities with files."""

    async def run(self, rows: AsyncIterator[bytes]) -> Loaded:
        key = self.loading.key
        if self.connection.is_of_cluster and (key is not None or self.limits != NO_LIMITS):
            # Citus 13.2.2 ends the coordinator's process for outer joins of the temporary table with stored rows.
            raise BadRequest(UNSUPPORTED)
        count = await self._copy(rows)
        if count:
            await self._adopt(key.name) if key is not None else await self._ensure_own()
        if count:
            await self._lock_referred_rows()
            await self._ensure_references()
        files = await self._files() if count else {}
        imported = await (self._insert() if key is None else self._upsert(key)) if count else 0
        await self._hold_files(files)
        skipped = count - self.failed - imported
        # Citus refuses to join the temporary table with stored rows.
        rows_skipped = await self._first_skipped() if skipped and not self.connection.is_of_cluster else ()
        return Loaded(imported, skipped, self.errors, self.failed, rows_skipped)

    async def _first_skipped(self) -> tuple[int, ...]:
        left = await self._fetch(find_skipped(self.registry, self.model), most=MOST_ERRORS)
        return tuple(sorted({*self.skipped, *(row["n"] for row in left)})[:MOST_ERRORS])

    async def _copy(self, rows: AsyncIterator[bytes]) -> int:
        is_upsert = self.loading.key is not None
        if is_upsert:
            # Not for new rows: the server would plan each reference check again per row.
            await self._execute(statements.PLANNING)
        await self._execute(statements.create_incoming(self.model))
        names = statements.copied_columns(self.model, is_upsert=is_upsert)
        status = await self.connection.copy_to_table(
            statements.INCOMING, source=rows, columns=names, format="csv", timeout=PATIENCE
        )
        count = int(status.split()[-1])
        if (is_upsert or self.loading.rule is not None) and count > CHECKED_TOGETHER:
            await self._execute(statements.INDEX)
        return count

    async def _adopt(self, key: str) -> int:
        """Lock existing rows; omit outdated rows and new rows valid only as updates."""
        adopted = await self._count(statements.adopt_matching(self.registry, self.model, self.limits, key))
        found = await self._fetch(statements.find_refused(self.registry, self.model), most=MOST_ERRORS)
        await self._leave_out_found(found, lambda row: msgspec.json.decode(row["refused"], type=RowError))
        await self._ensure_own()
        older = await self._fetch(statements.find_stale(self.registry, self.model))
        await self._leave_out_found(older, lambda row: stale(row["n"], row["version"], row["stored"]))
        if kept := self.loading.kept:
            changed = await self._fetch(statements.find_changed(self.registry, self.model, self._of_links, kept))
            await self._leave_out_found(changed, lambda row: not_writable(row["n"], self.model, row["names"]))
        if self.model.attachments:
            self.adopted += [row["id"] for row in await self._fetch(statements.find_rows(self.model))]
        return adopted

    async def _ensure_own(self) -> None:
        """Omit rows that are not, or would not be, own rows of a caller with limits."""
        if self.limits != NO_LIMITS:
            found = await self._fetch(statements.find_not_own(self.registry, self.model, self.limits))
            await self._leave_out_found(found, self._not_own)

    def _not_own(self, row: asyncpg.Record) -> RowError:
        return not_own(row["n"], self.model, row["given"], is_loss=row["is_loss"])

    async def _lock_referred_rows(self) -> None:
        if self.loading.rule is None:
            return
        rows: list[Values] = []
        for declared in self.model.declared:
            if declared.reference is not None:
                found = await self._fetch(statements.find_referred(self.model, declared.name))
                rows += [{declared.name: row["id"]} for row in found]
        if self.loading.key is not None:
            ids = [row["id"] for row in await self._fetch(statements.find_rows(self.model))]
            stored = await self._fetch(referring_rows(self.registry, self.model), ids=ids)
            rows += [dict(row) for row in stored]
        await lock_referred_rows(self.connection, self.registry, self.model, self.tenant, rows)

    async def _ensure_references(self) -> None:
        wrong: dict[int, list[FieldError]] = {}
        numbers: set[int] = set()
        for declared in self.model.declared:
            if declared.target is None:
                continue
            statement = self._find_wrong(declared)
            found = await fetch_value(self.connection, statement, self._values(), PATIENCE) or []
            numbers.update(found)
            # The first invalid rows of the file are among the first invalid rows of each field.
            for n in found[:MOST_ERRORS]:
                wrong.setdefault(n, []).append(FieldError(declared.wire, NO_SUCH_ROW))
        await self._leave_out(numbers, [RowError.on(n, wrong[n]) for n in sorted(wrong)[:MOST_ERRORS]])

    def _find_wrong(self, declared: FieldModel) -> CompiledStatement:
        if declared.attachment is not None:
            return attachments.find_wrong(self.model, declared.name)
        return statements.find_missing(self.registry, self.model, self.limits, declared.name)

    async def _hold_files(self, files: Mapping[str, Sequence[UUID]]) -> None:
        """Let the stored rows hold ``files``, by field, and release the files that updated rows held before."""
        for name, ids in files.items():
            if not ids and not self.adopted:
                continue
            values = {**self._values(), "files": ids, "rows": self.adopted}
            for change in (attachments.hold, attachments.release) if self.adopted else (attachments.hold,):
                await fetch(self.connection, change(self.registry, self.model, name), values, PATIENCE)

    async def _files(self) -> Mapping[str, Sequence[UUID]]:
        found: dict[str, Sequence[UUID]] = {}
        for declared in self.model.attachments:
            statement = attachments.find_files(self.model, declared.name)
            found[declared.name] = await fetch_value(self.connection, statement, self._values(), PATIENCE) or []
        return found

    async def _insert(self) -> int:
        if self.loading.rule is not None:
            return await self._write_judged(self.loading.rule)
        return await self._count(statements.insert_incoming(self.registry, self.model, self._of_links))

    async def _upsert(self, key: FieldModel) -> int:
        imported = 0
        for number in range(MOST_ROUNDS):
            if self.model.has_check:
                await self._ensure_rules()
            if not number:
                doubles = await self._fetch(statements.drop_doubles(self.model, key.name))
                self.skipped.update(row["n"] for row in doubles)
            imported += await self._write(key.name)
            await self._fetch(statements.forget_stored(self.registry, self.model))
            # A row written concurrently is not new. The next round updates it.
            if not await self.connection.fetchval(statements.LEFT) or not await self._adopt(key.name):
                break
        return imported

    async def _write(self, key: str) -> int:
        if self.loading.rule is not None:
            return await self._write_judged(self.loading.rule, key)
        apart: Sequence[asyncpg.Record] = []
        if len(self.model.unique) > 1:
            apart = await self._fetch(statements.find_apart(self.registry, self.model, key))
        moved = [row["n"] for row in apart if row["moves"]]
        update = statements.update_matching(self.registry, self.model, self._of_links, key)
        insert = statements.insert_incoming(self.registry, self.model, self._of_links, is_upsert=True)
        if not moved:
            return await self._write_together(update, insert)
        # The other updates change no unique value, so their order does not matter.
        written = await self._write_row_by_row(key, apart)
        self.skipped.update({*moved} - {*written})
        await self._execute(statements.LEAVE_OUT, [*moved, *written])
        return len(written) + await self._write_together(update)

    async def _write_together(self, *changes: CompiledStatement) -> int:
        if all(field.target is None for field in self.model.declared):
            return sum([await self._count(change) for change in changes])
        # The setting also affects reference checks, planned again for each row.
        await self._execute(statements.USUAL_PLANNING)
        count = sum([await self._count_anew(change) for change in changes])
        await self._execute(statements.PLANNING)
        return count

    async def _write_row_by_row(self, key: str, rows: Sequence[asyncpg.Record]) -> list[int]:
        """Store or skip each row in file order, since updates may pass unique values on; return the stored numbers."""
        written: list[int] = []
        for row in rows:
            with suppress(asyncpg.UniqueViolationError):
                async with self._row_alone():
                    if await self._write_row(key, row["n"], row["id"]):
                        written.append(row["n"])
        return written

    async def _write_judged(self, rule: RowRule, key: str | None = None) -> int:
        """Store or skip each row in file order, evaluating the rule before the next."""
        written: list[int] = []
        updates: list[int] = []
        broken: list[RowError] = []
        for n, row_id in await self._fetch(statements.find_rows(self.model)):
            before = None if key is None else await self._current(row_id)
            if before is not None:
                updates.append(n)
            try:
                async with self._row_alone():
                    is_written = await self._write_row(key, n, row_id)
                    if is_written and (errors := await rule(row_id, before)):
                        raise _Refused(errors)
                if is_written:
                    written.append(n)
            except _Refused as refused:
                broken.append(BrokenRow.on(n, refused.errors))
            except asyncpg.UniqueViolationError:
                continue
        await self._leave_out([error.row for error in broken], broken)
        self.skipped.update({*updates} - {*written} - {error.row for error in broken})
        # A skipped new row remains in the temporary table: another writer may have created the row, and the next round
        # then updates it.
        await self._execute(statements.LEAVE_OUT, [*written, *updates])
        return len(written)

    async def _current(self, row_id: UUID) -> Values | None:
        writing = PostgresWriting(self.connection, self.registry, self.model, self.tenant, NO_LIMITS, {})
        row = (await writing.current([row_id], locked=False)).get(row_id)
        return None if row is None else row.values

    async def _write_row(self, key: str | None, n: int, row_id: UUID) -> int:
        if key is not None:
            update = statements.update_matching(self.registry, self.model, self._of_links, key, is_single=True)
            if count := await self._count(update, row=n, row_id=row_id):
                return count
        insert = statements.insert_incoming(
            self.registry, self.model, self._of_links, is_upsert=key is not None, is_single=True
        )
        return await self._count(insert, row=n, row_id=row_id)

    @asynccontextmanager
    async def _row_alone(self) -> AsyncIterator[None]:
        await self._execute("SAVEPOINT row")
        try:
            yield
        except (asyncpg.UniqueViolationError, _Refused):
            await self._execute("ROLLBACK TO SAVEPOINT row; RELEASE SAVEPOINT row")
            raise
        # Otherwise savepoints would nest row by row.
        await self._execute("RELEASE SAVEPOINT row")

    async def _ensure_rules(self) -> None:
        # Inserted rows are already checked and need no stored data.
        statement = statements.read_updates(self.registry, self.model, self._of_links)
        prepared = await self.connection.prepare(statement.text, timeout=PATIENCE)
        # A cursor joins file and stored rows once, instead of once per batch of rows.
        cursor = await prepared.cursor(*statement.arguments(self._values()), timeout=PATIENCE)
        together = LONG_CHECKED_TOGETHER if has_long_rows(self.model) else CHECKED_TOGETHER
        while found := await cursor.fetch(together, timeout=PATIENCE):
            broken = list(self._broken(found))
            await self._leave_out([error.row for error in broken], broken)

    def _broken(self, found: Sequence[asyncpg.Record]) -> Iterator[RowError]:
        for row in found:
            before = {name: row[statements.old_name(name)] for name in self.model.names}
            after = {name: row[statements.new_name(name)] for name in self.model.names}
            if broken := self.model.broken_rules(self._declared(after), self._declared(before)):
                yield BrokenRow.on(row["n"], broken)

    def _declared(self, values: Mapping[str, object]) -> Mapping[str, object]:
        return {name: as_declared(self.model.by_name[name], value) for name, value in values.items()}

    async def _leave_out_found(
        self, found: Sequence[asyncpg.Record], error_of: Callable[[asyncpg.Record], RowError]
    ) -> None:
        await self._leave_out([row["n"] for row in found], [error_of(row) for row in found[:MOST_ERRORS]])

    async def _leave_out(self, numbers: Collection[int], errors: Sequence[RowError]) -> None:
        """Remove these rows and count them as failed; ``errors`` are the errors of the first rows."""
        if numbers:
            self.failed += len(numbers)
            # Retain only the first errors: the response shows no others, and a million messages would need a gigabyte.
            self.errors = sorted([*self.errors, *errors], key=lambda error: error.row)[:MOST_ERRORS]
            await self._execute(statements.LEAVE_OUT, list(numbers))

    async def _execute(self, text: str, *arguments: object) -> None:
        await self.connection.execute(text, *arguments, timeout=PATIENCE)

    async def _fetch(self, statement: CompiledStatement, **values: object) -> Sequence[asyncpg.Record]:
        return await fetch(self.connection, statement, {**self._values(), **values}, PATIENCE)

    async def _count(self, statement: CompiledStatement, **values: object) -> int:
        return int(await fetch_value(self.connection, statement, {**self._values(), **values}, PATIENCE))

    async def _count_anew(self, statement: CompiledStatement) -> int:
        """Return the count from a statement that PostgreSQL plans again for this file, instead of a cached plan."""
        prepared = await self.connection.prepare(statement.text, timeout=PATIENCE)
        return int(await prepared.fetchval(*statement.arguments(self._values()), timeout=PATIENCE))

    @property
    def _of_links(self) -> Limits:
        """The limits in statements that need them for links only, so that other entities have one statement each."""
        return self.limits if self.model.links else NO_LIMITS

    def _values(self) -> dict[str, Any]:
        act = self.loading.act
        return {"tenant": self.tenant, "by": act.by, "at": act.at, **self.user}
