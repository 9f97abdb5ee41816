"""Bulk rows: exports and imports in the database, and file formats."""

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
"""Rule of an entity about other rows (``check_stored``). It returns the errors of the new or changed row with this id.

The second argument has the row's previous values, None for a new row.
"""


class Loading(Struct, frozen=True):
    """Parameters of an import; ``key`` is the field by which an upsert finds stored rows, None for mode ``create``.

    ``kept`` are names of fields that the caller may not write: an upsert compares their values with the stored ones.
    ``rule`` is set if the entity has a rule on other rows.
    """

    act: Act
    key: FieldModel | None
    kept: tuple[str, ...] = ()
    rule: RowRule | None = None


class Loaded(Struct, frozen=True):
    """Result of an import; ``failed`` counts the rows that the database refused, ``errors`` are the errors of the first
    ones.

    Errors and the numbers of skipped rows have the order of the file, each at most ``MOST_ERRORS``.
    """

    imported: int
    skipped: int
    errors: Sequence[RowError]
    failed: int = 0
    skipped_rows: tuple[int, ...] = ()


class Transfers(Protocol):
    """Exports and imports, within the transaction's scope like Records."""

    def pieces(self, model: EntityModel, query: Query, form: Form) -> AsyncGenerator[bytes, None]:
        """Yield the query's rows in one snapshot, in constant memory.

        Closing the generator early cancels the query. Without an error it ends only after the last row.
        """
        ...

    async def count(self, model: EntityModel, query: Query, most: int) -> int:
        """Count the query's rows, at most ``most``."""
        ...

    async def load(self, model: EntityModel, rows: AsyncIterator[bytes], loading: Loading) -> Loaded:
        """Store rows in the format of ``ReadSheet.rows``, in order and in one set-based write.

        A row is an error if it references a row that is not a live row of this tenant, or if it is not the caller's own
        before or after the write (``not_own``). In an upsert, a row is also an error if it breaks a rule, is new
        without a required field, has an older version than the stored row (``stale``), or changes a field of
        ``loading.kept`` other than the key. A row with a unique value of a stored or earlier row is skipped. With
        ``loading.rule``, rows are written one by one: each sees only earlier rows, and a row that breaks the rule is an
        error. Raises BadRequest if the scope is every tenant.
        """
        ...


class TransferTransaction(WriteTransaction, Protocol):
    """Transaction for exports and imports."""

    @property
    def transfers(self) -> Transfers: ...
    @property
    def token_versions(self) -> TokenVersions: ...


class ImportRequest(Struct, frozen=True):
    """Options of an import, the fields that the caller may send, and ignored columns of other rows."""

    options: ImportOptions
    may: FieldAccess = EVERY_FIELD
    related: RelatedColumns = NO_RELATED_COLUMNS


class ReadSheet(Protocol):
    """A file with a valid header; ``failed`` and ``errors`` (the first errors) are complete after the last row.

    A dry run permits an invalid header: the file then has no rows, and one error in the row of the header.
    """

    @property
    def header(self) -> FileHeader | None:
        """The header of a dry run; None for a real import."""
        ...

    @property
    def failed(self) -> int: ...
    @property
    def errors(self) -> Sequence[RowError]: ...

    def rows(self) -> AsyncIterator[bytes]:
        """Return the valid rows as CSV without header: row number, new id, declared fields in order.

        Nulls are empty, text is quoted, a list is JSON. For an upsert, three cells precede the fields: a character for
        each field (``1`` if given, ``0`` if not, ``2`` if only compared), the RowError as JSON if the row cannot be
        added as a new row, and the row's version at export, if any. Raises BadRequest for an invalid format,
        PayloadTooLarge for too many rows.
        """
        ...


class Sheets(Protocol):
    """File formats, processed outside the event loop in bounded memory."""

    def read(
        self, model: EntityModel, upload: BinaryIO, reading: ImportRequest
    ) -> AbstractAsyncContextManager[ReadSheet]:
        """Open an uploaded file with a file descriptor.

        Raises BadRequest for an unknown format, ValidationError for errors in its header.
        """
        ...

    def write(
        self, columns: Sequence[Column], rows: AsyncIterator[bytes], form: BuiltForm
    ) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """Yield a complete xlsx or Parquet file of rows in the form ``cells``.

        Raises BadRequest for text that no xlsx cell can hold, and for more rows than a sheet has.
        """
        ...
