"""Contents of the files of rows: a file is as visible as its row and its field."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID

import msgspec
from msgspec import Struct

from application.entities.attachments.thumbnails import Thumbnails
from application.ports.database import Database, RowReads
from application.ports.entities.attached_files import FileTransaction
from application.ports.entities.attachments import FileStore
from application.ports.identity.sessions import Tickets
from application.ports.runtime import Clock
from domain.entities.attachments.files import StoredFile, find_purpose, purpose_of
from domain.entities.attachments.keys import file_key
from domain.entities.attachments.names import content_disposition
from domain.entities.attachments.types import INLINE
from domain.entities.declaration import EntityModel, FieldModel, Registry
from domain.entities.query.query import View
from domain.errors import BadRequest, NotFound, ValidationError
from domain.scope import Caller, Client, OneTenant, Scope, event

LINKED_FOR = timedelta(minutes=5)
"""Lifetime of a link."""
REDIRECTED_FOR = timedelta(seconds=60)
"""Lifetime of an address at the store."""


class Shown(Struct, frozen=True):
    """A file to send, or its thumbnail: ``size`` is the thumbnail's name, and ``box`` its width and height.

    With ``is_streamed``, the service sends the content also where it redirects to the store otherwise.
    """

    file: StoredFile
    is_download: bool
    size: str | None = None
    box: tuple[int, int] = (0, 0)
    is_streamed: bool = False

    @classmethod
    def of(
        cls, field: FieldModel, file: StoredFile, size: str | None, *, is_download: bool, is_streamed: bool = False
    ) -> "Shown":
        """Raises ValidationError if the field does not declare the thumbnail."""
        sizes = {} if field.attachment is None else field.attachment.sizes
        if size is None:
            return cls(file, is_download, is_streamed=is_streamed)
        if size not in sizes:
            known = f"must be one of: {', '.join(sizes)}" if sizes else "is not known: the field has no thumbnails"
            raise ValidationError.on("size", known)
        return cls(file, is_download, size, sizes[size], is_streamed)

    @property
    def tag(self) -> str:
        """A text that changes with the content."""
        return self.file.sha256 if self.size is None else f"{self.file.sha256}-{self.size}-{self.box[0]}x{self.box[1]}"

    @property
    def is_inline(self) -> bool:
        return not self.is_download and self.file.type in INLINE


class FileLink(Struct, frozen=True):
    """Content of a link's ticket."""

    tenant_id: UUID
    purpose: str
    row_id: UUID
    file_id: UUID
    is_download: bool
    size: str | None = None
    is_streamed: bool = False


class Linker(NamedTuple):
    """The user who makes a link."""

    caller: Caller
    client: Client


class SealedLink(Struct, frozen=True):
    token: str
    expires_at: datetime


@dataclass(frozen=True)
class FileContents:
    """Contents for callers. The permission to read the rows and the field was checked before.

    ``links_at`` is the address that links begin with. With ``redirects``, clients read from the store, if it has URLs.
    """

    database: Database[FileTransaction]
    reads: RowReads[FileTransaction]
    registry: Registry
    store: FileStore
    thumbnails: Thumbnails
    tickets: Tickets
    clock: Clock
    links_at: str
    redirects: bool = False

    async def of_row(
        self, scope: Scope, model: EntityModel, field: FieldModel, row_id: UUID, file_id: UUID | None
    ) -> StoredFile:
        """Return the file that the row holds in the field; ``file_id`` selects one of a list. Raises NotFound."""
        if not isinstance(scope, OneTenant):
            raise BadRequest("A file is read in one tenant: name it in X-Tenant-Scope.")
        file = await self.reads.read(scope, lambda read: _held(read, model, field, row_id, file_id))
        if file is None:
            raise NotFound
        return file

    async def link(self, by: Linker, model: EntityModel, field: FieldModel, row_id: UUID, shown: Shown) -> SealedLink:
        """Return a link to the content, for clients that send no token."""
        file, now, purpose = shown.file, self.clock.now(), purpose_of(model, field)
        # A list of rows asks for a thumbnail of each, and each event would hide those of whole contents.
        if model.declaration.history and shown.size is None:
            made = event(f"file.linked:{purpose}:{row_id}", by.caller.user_id, None, by.client, now)
            async with self.database.transaction(OneTenant(file.tenant_id)) as tx:
                await tx.audit.add(file.tenant_id, made)
        content = FileLink(file.tenant_id, purpose, row_id, file.id, shown.is_download, shown.size, shown.is_streamed)
        return SealedLink(self.tickets.seal("file", content, now + LINKED_FOR), now + LINKED_FOR)

    async def of_link(self, token: str) -> Shown:
        """Return the linked file. Raises NotFound for every other text, and for a file that its row does not hold."""
        ticket = self.tickets.open("file", token, FileLink, self.clock.now())
        found = None if ticket is None else find_purpose(self.registry, ticket.content.purpose)
        if ticket is None or found is None:
            raise NotFound
        link, (model, field, _) = ticket.content, found
        scope = OneTenant(link.tenant_id)
        tenant = await self.reads.read(scope, lambda read: read.tenants.by_id(link.tenant_id))
        if tenant is None or not tenant.is_active:
            raise NotFound
        file = await self.of_row(scope, model, field, link.row_id, link.file_id)
        try:
            return Shown.of(field, file, link.size, is_download=link.is_download, is_streamed=link.is_streamed)
        except ValidationError:  # the declaration has changed
            raise NotFound from None

    async def thumbnail(self, shown: Shown) -> bytes:
        """Return the thumbnail. Raises UnprocessableEntity, ServiceUnavailable and NotFound."""
        assert shown.size is not None
        return await self.thumbnails.content(shown.file, shown.size, shown.box)

    async def address(self, shown: Shown) -> str | None:
        """Return the address at the store to redirect a client to, None if the service sends the content."""
        # The store may not have the thumbnail yet.
        if not self.redirects or shown.is_streamed or shown.size is not None:
            return None
        file = shown.file
        disposition = content_disposition("inline" if shown.is_inline else "attachment", file.name)
        key = file_key(file.tenant_id, file.id, file.created_at)
        return await self.store.link(key, lifetime=REDIRECTED_FOR, media_type=file.type, disposition=disposition)

    def open(
        self, file: StoredFile, start: int = 0, length: int | None = None
    ) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        return self.store.open(file_key(file.tenant_id, file.id, file.created_at), start, length)


async def _held(
    read: FileTransaction, model: EntityModel, field: FieldModel, row_id: UUID, file_id: UUID | None
) -> StoredFile | None:
    stored = await read.records.get(model, row_id, View())
    if stored is None:
        return None
    value = msgspec.json.decode(stored.body, type=dict[str, msgspec.Raw])[field.wire]
    named = msgspec.json.decode(value, type=UUID | list[UUID] | None)
    ids = named if isinstance(named, list) else [] if named is None else [named]
    wanted = ids[0] if file_id is None and ids else file_id
    if wanted not in ids or wanted is None:
        return None
    return await read.attached_files.held(purpose_of(model, field), row_id, wanted)
