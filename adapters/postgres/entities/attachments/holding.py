"""Changes of the rows that hold files, in the transaction of the write."""

from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID

import sqlalchemy as sa

from adapters.postgres.connection.connections import ServiceConnection
from adapters.postgres.entities.tables import FILES
from adapters.postgres.entities.writing.unique_violations import named
from adapters.postgres.statements.compiled import constant
from adapters.postgres.statements.rows import Truth
from adapters.postgres.statements.writing import AT
from application.ports.entities.records import Act, Change, NewRow
from domain.entities.attachments.files import ATTACHED_WITHIN, purpose_of
from domain.entities.declaration import EntityModel, FieldModel
from domain.errors import FieldError, ValidationError

NO_SUCH_FILE = "refers to nothing that exists"

# Lock the files in one order. Of two rows with one file, the first holds it.
_HOLD = """
WITH given AS (
    SELECT n, row_id, file_id FROM unnest($2::int[], $3::uuid[], $4::uuid[]) AS g (n, row_id, file_id)
), allowed AS MATERIALIZED (
    SELECT f.id, g.n, g.row_id FROM files f JOIN given g ON g.file_id = f.id
    WHERE f.tenant_id = $1 AND f.purpose = $5 AND (
        (f.state = 'temporary' AND f.created_by = $6 AND f.since > $7)
        OR (f.state IN ('held', 'released') AND f.entity = $8 AND f.row_id = g.row_id)
    )
    ORDER BY f.id, g.n FOR UPDATE OF f
), firsts AS (
    SELECT DISTINCT ON (id) id, n, row_id FROM allowed ORDER BY id, n
), taken AS (
    UPDATE files f SET state = 'held', since = $9, entity = $8, row_id = firsts.row_id FROM firsts
    WHERE f.tenant_id = $1 AND f.id = firsts.id RETURNING firsts.n
)
SELECT n FROM taken"""

_RELEASE = """
UPDATE files SET state = 'released', since = $6
WHERE tenant_id = $1 AND entity = $2 AND row_id = ANY ($3::uuid[]) AND purpose = $4 AND state = 'held'
AND id <> ALL ($5::uuid[])"""


class _Given(NamedTuple):
    """A file that a row of the write names; ``place`` is its position in a list."""

    row_id: UUID
    file_id: UUID
    number: int
    place: int | None


_FieldFiles = tuple[FieldModel, list[_Given]]


@dataclass(frozen=True, slots=True)
class FileHolding:
    """Files of the rows of one entity; ``tenant`` is the tenant of the rows."""

    connection: ServiceConnection
    model: EntityModel
    tenant: UUID | None

    @asynccontextmanager
    async def during(self, rows: Sequence[NewRow | Change], act: Act) -> AsyncIterator[None]:
        """Let the rows hold the files that they name, and afterwards release the files that they named before.

        Raises ValidationError for files that a row may not hold. Begins a transaction, or a savepoint.
        """
        fields = [field for field in self.model.attachments if any(_concerns(field, row) for row in rows)]
        if not fields:
            yield
            return
        async with self._all_or_none():
            given = [(field, list(_given(field, rows))) for field in fields]
            await self._hold(given, len(rows), act)
            yield
            if any(isinstance(row, Change) for row in rows):
                await self._release(given, rows, act)

    async def _hold(self, given: Sequence[_FieldFiles], count: int, act: Act) -> None:
        wrong: list[FieldError] = []
        for field, files in given:
            taken = await self._taken(field, files, act) if files else set()
            wrong += [_error(field, file, count) for n, file in enumerate(files) if n not in taken]
        if wrong:
            raise ValidationError(fields=wrong)

    async def _taken(self, field: FieldModel, files: Sequence[_Given], act: Act) -> set[int]:
        arrays = [*range(len(files))], [file.row_id for file in files], [file.file_id for file in files]
        named_by = purpose_of(self.model, field), act.by, act.at - ATTACHED_WITHIN, self.model.plural, act.at
        return {row["n"] for row in await self.connection.fetch(_HOLD, self.tenant, *arrays, *named_by)}

    async def _release(self, given: Sequence[_FieldFiles], rows: Sequence[NewRow | Change], act: Act) -> None:
        for field, files in given:
            changed = [row.id for row in rows if field.name in row.values]
            kept = [file.file_id for file in files]
            purpose = purpose_of(self.model, field)
            await self.connection.execute(_RELEASE, self.tenant, self.model.plural, changed, purpose, kept, act.at)

    @asynccontextmanager
    async def _all_or_none(self) -> AsyncIterator[None]:
        if not self.connection.is_in_transaction():
            async with self.connection.transaction():
                yield
            return
        # Project code may catch an error and continue the transaction.
        await self.connection.execute("SAVEPOINT files")
        try:
            yield
        except Exception:
            if not self.connection.is_closed():
                await self.connection.execute("ROLLBACK TO SAVEPOINT files")
            raise


def _concerns(field: FieldModel, row: NewRow | Change) -> bool:
    # A new row without a file holds none and releases none: it needs no transaction.
    return bool(row.values.get(field.name)) or (isinstance(row, Change) and field.name in row.values)


def _given(field: FieldModel, rows: Iterable[NewRow | Change]) -> Iterator[_Given]:
    for number, row in enumerate(rows):
        value = row.values.get(field.name)
        if isinstance(value, UUID):
            yield _Given(row.id, value, number, None)
        elif isinstance(value, list):
            yield from (_Given(row.id, file_id, number, place) for place, file_id in enumerate(value))


def _error(field: FieldModel, file: _Given, count: int) -> FieldError:
    wire = field.wire if file.place is None else f"{field.wire}[{file.place}]"
    return FieldError(named(wire, file.number, count), NO_SUCH_FILE)


def released_with(model: EntityModel, rows: list[Truth]) -> sa.CTE:
    """Return the CTE that releases the files of purged rows: ``rows`` are conditions of ``FILES``."""
    which = [FILES.c.entity == constant(model.plural), FILES.c.state == constant("held"), *rows]
    return sa.update(FILES).values(state=constant("released"), since=AT).where(*which).cte("released files")
