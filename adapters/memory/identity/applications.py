"""Client applications by id."""

from dataclasses import dataclass

import msgspec

from adapters.memory.store import Access
from application.ports.identity.applications import ClientApplication


@dataclass(frozen=True)
class MemoryApplications:
    access: Access

    async def by_id(self, app_id: str) -> ClientApplication | None:
        for row in self.access.read().tables.get("applications", {}).values():
            if row["app_id"] == app_id and not row.get("is_deleted"):
                return msgspec.convert(row, ClientApplication)
        return None
