"""Files of rows: their entries in the database. The content is in a ``FileStore``."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol
from uuid import UUID

from application.ports.database import AuditTrail
from application.ports.entities.records import Records
from application.ports.identity.tenants import Tenants
from domain.entities.attachments.files import StoredFile


class AttachedFiles(Protocol):
    """Files of one tenant. ``Records`` changes their states to ``held`` and ``released``, with the rows."""

    async def add(self, file: StoredFile) -> None:
        """Add a file in the state ``writing``."""
        ...

    async def complete(self, file: StoredFile, at: datetime, quota: int | None) -> bool:
        """Make the file ``temporary`` and add it to the tenant's usage, or return False if that would exceed the quota.

        Raises ServiceUnavailable if the file is not ``writing`` any more.
        """
        ...

    async def temporary(self, file_id: UUID, by: UUID) -> StoredFile | None:
        """Return the user's temporary file."""
        ...

    async def held(self, purpose: str, row_id: UUID, file_id: UUID) -> StoredFile | None:
        """Return the file if the row holds it for this purpose."""
        ...

    async def discard(self, file_id: UUID, by: UUID, at: datetime) -> StoredFile | None:
        """Mark the user's temporary file as ``deleting``, and return it."""
        ...

    async def forget(self, file_id: UUID) -> None:
        """Remove the entry of a file that is ``writing`` or ``deleting``, after its content."""
        ...

    async def used(self) -> int:
        """Return the bytes of the tenant's files, released ones included."""
        ...


class UnusedFiles(Protocol):
    """Files of all tenants that no row holds. The caller MUST use the scope of every tenant."""

    async def claim(
        self, now: datetime, written: datetime, attached: datetime, released: datetime, most: int
    ) -> Sequence[StoredFile]:
        """Mark files as ``deleting`` or ``abandoned``, and return at most ``most`` of them.

        The times are the latest begins of the states ``writing``, ``temporary`` and ``released``. Files that were
        claimed before ``written`` are returned again, because their deletion failed.
        """
        ...

    async def page(self, after: tuple[UUID, UUID] | None, most: int) -> Sequence[StoredFile]:
        """Return at most ``most`` files of any state in the order of tenant and id, those after ``after`` only."""
        ...

    async def forget(self, files: Sequence[StoredFile]) -> None:
        """Remove the entries of deleted files, and subtract them from the usage of their tenants."""
        ...

    async def misheld(self, most: int) -> Sequence[StoredFile]:
        """Return at most ``most`` files with a holder that does not name them, or that another row names."""
        ...

    async def miscounted(self, most: int) -> Sequence[UUID]:
        """Return at most ``most`` tenants with another usage than the sum of their files."""
        ...


class FileTransaction(Protocol):
    """Transaction for the files of rows."""

    @property
    def records(self) -> Records: ...
    @property
    def attached_files(self) -> AttachedFiles: ...
    @property
    def tenants(self) -> Tenants: ...
    @property
    def audit(self) -> AuditTrail: ...


class UnusedFileTransaction(Protocol):
    """Transaction for files that no row holds."""

    @property
    def unused_files(self) -> UnusedFiles: ...
