"""Whether accounts with an imported hash are left."""

from dataclasses import dataclass

from adapters.memory.store import Access
from application.ports.identity.imported_hashes import FOREIGN


@dataclass(frozen=True)
class MemoryImportedHashes:
    access: Access

    async def any_left(self) -> bool:
        return any((user.password_hash or "").startswith(FOREIGN) for user in self.access.read().users.values())
