"""Uploads: a file is temporary until a row holds it."""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from uuid import UUID

from msgspec import Struct
from msgspec.structs import replace

from application.entities.attachments.watched_store import FileFigures
from application.entities.transfers.transfer_slots import TransferSlots
from application.ports.database import Database
from application.ports.entities.attached_files import FileTransaction
from application.ports.entities.attachments import Contents, FileStore
from application.ports.runtime import Clock, Ids
from domain.entities.attachments.files import StoredFile, find_purpose, purposes
from domain.entities.attachments.keys import file_key
from domain.entities.attachments.marks import Attachment
from domain.entities.attachments.names import clean_name
from domain.entities.declaration import EntityModel, FieldModel, Registry
from domain.errors import NotFound, QuotaExceeded, UnprocessableEntity, ValidationError
from domain.scope import Caller, Client, event

Scanner = Callable[[Path], Awaitable[str | None]]
"""Returns the reason to refuse a file, or None. Raises ServiceUnavailable if it cannot examine the file."""

FULL = "The files of the tenant have {} bytes; with this one they would exceed the limit of {}."


class Purpose(Struct, frozen=True):
    """A field that a caller may send files for."""

    name: str
    model: EntityModel
    field: FieldModel
    rules: Attachment


class Received(Struct, frozen=True):
    """A file on disk, with the name that the client sent."""

    path: Path
    name: str
    size: int
    sha256: str


@dataclass(frozen=True)
class FileUploads:
    """Uploads of callers. ``quota`` is the maximum number of bytes of a tenant, None without a limit.

    Uploads are written to the folder ``spool`` first, None for the
    folder of the system.
    """

    database: Database[FileTransaction]
    registry: Registry
    store: FileStore
    contents: Contents
    clock: Clock
    ids: Ids
    slots: TransferSlots
    spool: Path | None = None
    quota: int | None = None
    scan: Scanner | None = None
    figures: FileFigures = field(default_factory=FileFigures)

    def purpose(self, caller: Caller, name: str | None) -> Purpose:
        """Return the field for a purpose such as ``products.photo``.

        Raises ValidationError for an unknown one, and Forbidden if the caller may not send the field.
        """
        hidden = self.registry.hidden_from(caller.rights)
        found = None if name is None else find_purpose(self.registry, name)
        if name is None or found is None or (found[0].plural, found[1].name) in hidden:
            known = ", ".join(purposes(self.registry, hidden))
            raise ValidationError.on("purpose", f"must be one of: {known}")
        model, field, rules = found
        caller.ensure_may(*model.permissions("create"), *model.permissions("update"))
        needed = field.guard.write or field.guard.read
        if needed is not None:
            caller.ensure_may(needed)
        return Purpose(name, model, field, rules)

    async def upload(self, caller: Caller, client: Client, purpose: Purpose, received: Received) -> StoredFile:
        """Store a received file, which then is temporary.

        Raises UnsupportedMediaType for other content than the field accepts, QuotaExceeded, UnprocessableEntity if the
        scanner refuses the file, and ServiceUnavailable.
        """
        content = await self.contents.detect(received.path, purpose.rules.types)
        if purpose.rules.strip_metadata:
            await self.contents.strip(received.path, content.type)
            received = await asyncio.to_thread(_measured, received)
        now = self.clock.now()
        file = StoredFile(
            tenant_id=caller.tenant.id,
            id=self.ids.new(),
            purpose=purpose.name,
            name=clean_name(received.name),
            type=content.type,
            size=received.size,
            sha256=received.sha256,
            width=content.width,
            height=content.height,
            sizes=tuple(purpose.rules.sizes),
            state="writing",
            since=now,
            created_at=now,
            created_by=caller.user_id,
        )
        await self._ensure_room(caller, file)
        await self._ensure_clean(caller, client, file, received.path)
        return await self._store(caller, file, received.path)

    async def temporary(self, caller: Caller, file_id: UUID) -> StoredFile:
        """Return the caller's temporary file. Raises NotFound."""
        async with self.database.read_only(caller.tenant) as read:
            file = await read.attached_files.temporary(file_id, caller.user_id)
        if file is None:
            raise NotFound
        return file

    async def discard(self, caller: Caller, file_id: UUID) -> None:
        """Delete the caller's temporary file. Raises NotFound."""
        async with self.database.transaction(caller.tenant) as tx:
            file = await tx.attached_files.discard(file_id, caller.user_id, self.clock.now())
        if file is None:
            raise NotFound
        # After an error here, housekeeping deletes the content.
        await self.store.delete([file_key(file.tenant_id, file.id, file.created_at)])
        async with self.database.transaction(caller.tenant) as tx:
            await tx.attached_files.forget(file.id)

    async def _store(self, caller: Caller, file: StoredFile, path: Path) -> StoredFile:
        async with self.database.autocommit(caller.tenant) as tx:
            await tx.attached_files.add(file)
        key = file_key(file.tenant_id, file.id, file.created_at)
        await self.store.put(key, path, file.type)
        at = self.clock.now()
        try:
            async with self.database.autocommit(caller.tenant) as tx:
                if not await tx.attached_files.complete(file, at, self.quota):
                    raise QuotaExceeded(FULL.format(await tx.attached_files.used(), self.quota))
        except QuotaExceeded:
            await self.store.delete([key])
            async with self.database.transaction(caller.tenant) as tx:
                await tx.attached_files.forget(file.id)
            raise
        return replace(file, state="temporary", since=at)

    async def _ensure_room(self, caller: Caller, file: StoredFile) -> None:
        """Raise QuotaExceeded before the file is stored; ``complete`` decides exactly."""
        if self.quota is None:
            return
        async with self.database.read_only(caller.tenant) as read:
            used = await read.attached_files.used()
        if used + file.size > self.quota:
            raise QuotaExceeded(FULL.format(used, self.quota))

    async def _ensure_clean(self, caller: Caller, client: Client, file: StoredFile, path: Path) -> None:
        if self.scan is None or (reason := await self.scan(path)) is None:
            return
        async with self.database.transaction(caller.tenant) as tx:
            refused = event(f"file.refused:{file.purpose}", caller.user_id, None, client, self.clock.now())
            await tx.audit.add(caller.tenant.id, refused)
        raise UnprocessableEntity(f"The file was refused: {reason}")


def _measured(received: Received) -> Received:
    """Return size and digest of the file as it is now."""
    with received.path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return replace(received, size=received.path.stat().st_size, sha256=digest)
