"""Rows that leave for a file and come from one: in the database, and on their way to the formats of people."""

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager
from typing import BinaryIO, Protocol

from msgspec import Struct

from application.ports.entities.idempotency import WriteTransaction
from application.ports.entities.records import Act
from domain.entities.bodies import EVERYTHING, Sendable
from domain.entities.declaration import EntityModel, FieldModel
from domain.entities.query.query import Query
from domain.entities.sheets import Column, Form, ImportOptions, RowError


class Loading(Struct, frozen=True):
    """``key`` is the field by which an upsert finds the row that is there, None where rows are only made."""

    act: Act
    key: FieldModel | None


class Loaded(Struct, frozen=True):
    """``errors`` lists every row that the database refused."""

    imported: int
    skipped: int
    errors: Sequence[RowError]


class Transfers(Protocol):
    """As far as the transaction's scope reaches, like Records."""

    def pieces(self, model: EntityModel, query: Query, form: Form) -> AsyncGenerator[bytes, None]:
        """All rows of the query as of one moment; memory does not grow with them.

        Closing it before its end stops the query. It never ends well unless all has been given.
        """
        ...

    async def count(self, model: EntityModel, query: Query, most: int) -> int:
        """How many rows there are, not counting on past ``most``."""
        ...

    async def load(self, model: EntityModel, rows: AsyncIterator[bytes], loading: Loading) -> Loaded:
        """Stores rows as ReadSheet gives them, in their order and in one set-based write.

        A row that refers to no living row of this tenant is an error, as is, in an upsert, one that breaks the
        entity's rule or could not be made anew and finds no row to change. One whose unique value is taken, by
        a living row or one before it, is skipped. Raises BadRequest where a scope of all tenants would write.
        """
        ...


class TransferTransaction(WriteTransaction, Protocol):
    """The rooms of the database for rows in bulk."""

    @property
    def transfers(self) -> Transfers: ...


class ImportRequest(Struct, frozen=True):
    """How a file is read, and what of its columns is the caller's to send."""

    options: ImportOptions
    may: Sendable = EVERYTHING


class ReadSheet(Protocol):
    """A file whose header fits. ``failed`` and ``errors``, the first ones, are complete when the rows are."""

    @property
    def failed(self) -> int: ...
    @property
    def errors(self) -> Sequence[RowError]: ...

    def rows(self) -> AsyncIterator[bytes]:
        """The valid rows as CSV without header: the row's number, a new id, the declared fields in their order.

        Nulls are empty, text is quoted, a list is JSON. For an upsert, before the fields: which of them were
        given (a letter each, ``1`` or ``0``), and why the row could not be made anew, if it could not.
        Raises BadRequest for a file that breaks its format, PayloadTooLarge for too many rows.
        """
        ...


class Sheets(Protocol):
    """The formats themselves; off the event loop, in little memory, whatever the file holds."""

    def read(
        self, model: EntityModel, upload: BinaryIO, reading: ImportRequest
    ) -> AbstractAsyncContextManager[ReadSheet]:
        """``upload`` is a real file. Raises BadRequest for what is no sheet, ValidationError for its header."""
        ...

    def workbook(
        self, columns: Sequence[Column], rows: AsyncIterator[bytes]
    ) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """An xlsx made of ``cells``, whole before it is entered.

        Raises BadRequest for text that no cell can hold, and for more rows than a sheet can.
        """
        ...
