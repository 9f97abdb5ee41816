"""Rows in bulk: exports and imports in the database, and the file formats."""

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import BinaryIO, Protocol
from uuid import UUID

from msgspec import Struct

from application.ports.entities.idempotency import WriteTransaction
from application.ports.entities.records import Act, Values
from application.ports.shared_memory import TokenVersions
from domain.entities.bodies import EVERY_FIELD, FieldAccess
from domain.entities.declaration import EntityModel, FieldModel
from domain.entities.files.options import ImportOptions
from domain.entities.query.query import Query
from domain.entities.sheets import NO_RELATED_COLUMNS, BuiltForm, Column, FileHeader, Form, RelatedColumns, RowError
from domain.errors import FieldError

RowRule = Callable[[UUID, Values | None], Awaitable[Sequence[FieldError]]]
"""Rule of an entity on other rows (``check_stored``): errors of the row with this id, which has just been written.

Behind the id stand the values that the row had before, None for a new row.
"""


class Loading(Struct, frozen=True):
    """Parameters of an import; ``key`` is the field by which an upsert finds stored rows, None for mode ``create``.

    ``kept`` are names of fields that the caller may not write: an upsert compares their values with the stored ones.
    ``rule`` is given where the entity has a rule on other rows.
    """

    act: Act
    key: FieldModel | None
    kept: tuple[str, ...] = ()
    rule: RowRule | None = None


class Loaded(Struct, frozen=True):
    """Result of an import; ``failed`` counts the rows that the database refused, ``errors`` are the first of them.

    In the order of the file, at most ``MOST_ERRORS``.
    """

    imported: int
    skipped: int
    errors: Sequence[RowError]
    failed: int = 0


class Transfers(Protocol):
    """Exports and imports, within the transaction's scope like Records."""

    def pieces(self, model: EntityModel, query: Query, form: Form) -> AsyncGenerator[bytes, None]:
        """The rows of the query as of one moment, in constant memory.

        Closing the generator early cancels the query. It ends without an error only after the last row.
        """
        ...

    async def count(self, model: EntityModel, query: Query, most: int) -> int:
        """Number of rows of the query, at most ``most``."""
        ...

    async def load(self, model: EntityModel, rows: AsyncIterator[bytes], loading: Loading) -> Loaded:
        """Stores rows in the format of ``ReadSheet.rows``, in their order and in one set-based write.

        Errors: a reference to no living row of this tenant; in an upsert, a broken rule, a row that is not stored yet
        and misses a required field, one whose version is older than that of the stored row (``stale``), or one that
        would change a field of ``loading.kept``, but for the key. A row whose unique value is taken, by a stored row or
        an earlier one, is skipped. With ``loading.rule`` rows are written one by one, and what breaks it is an error
        and is not stored: a row finds those before it, and none behind it. Raises BadRequest when the scope is every
        tenant.
        """
        ...


class TransferTransaction(WriteTransaction, Protocol):
    """Parts of the database for rows in bulk."""

    @property
    def transfers(self) -> Transfers: ...
    @property
    def token_versions(self) -> TokenVersions: ...


class ImportRequest(Struct, frozen=True):
    """Options of an import, the fields that the caller may send, and columns of other rows that are passed over."""

    options: ImportOptions
    may: FieldAccess = EVERY_FIELD
    related: RelatedColumns = NO_RELATED_COLUMNS


class ReadSheet(Protocol):
    """A file with a valid header; ``failed`` and ``errors`` (the first ones) are complete after the last row.

    For a dry run a header may be invalid: the file then has no rows, and one error with the row of the header.
    """

    @property
    def header(self) -> FileHeader | None:
        """The header for a dry run, else None."""
        ...

    @property
    def failed(self) -> int: ...
    @property
    def errors(self) -> Sequence[RowError]: ...

    def rows(self) -> AsyncIterator[bytes]:
        """The valid rows as CSV without header: row number, new id, declared fields in their order.

        Nulls are empty, text is quoted, a list is JSON. For an upsert three cells stand before the fields: which fields
        were given (a ``1`` or ``0`` each, ``2`` where the value is only compared), the RowError of the row as a new
        one, as JSON, if it has any, and the version that the row had when it was exported, if the file says so. Raises
        BadRequest for a file that breaks its format, PayloadTooLarge for too many rows.
        """
        ...


class Sheets(Protocol):
    """The file formats; work is done outside the event loop and in bounded memory."""

    def read(
        self, model: EntityModel, upload: BinaryIO, reading: ImportRequest
    ) -> AbstractAsyncContextManager[ReadSheet]:
        """Opens an uploaded file, which must be a real file of the system.

        Raises BadRequest for an unknown format, ValidationError for errors in its header.
        """
        ...

    def write(
        self, columns: Sequence[Column], rows: AsyncIterator[bytes], form: BuiltForm
    ) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """An xlsx or Parquet file of rows in the form ``cells``, complete when the block is entered.

        Raises BadRequest for text that no cell of an xlsx can hold, and for more rows than its sheet has.
        """
        ...
