"""Token versions, which only rise."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from adapters.memory.store import Access
from domain.scope import at_issue


@dataclass(frozen=True)
class MemoryTokenVersions:
    access: Access

    async def of(self, subjects: Sequence[str]) -> dict[str, int]:
        return at_issue(subjects, self.access.read().token_versions)

    async def bump(self, subjects: Sequence[str], ended_at: datetime | None = None) -> Mapping[str, int]:
        async with self.access.write() as store:
            raised = {subject: store.token_versions.get(subject, 0) + 1 for subject in subjects}
            store.token_versions.update(raised)
            if ended_at is not None:
                store.ended_counts.update(dict.fromkeys(subjects, ended_at))
            return raised

    async def end(self, subjects: Sequence[str], at: datetime) -> None:
        async with self.access.write() as store:
            store.ended_counts.update(dict.fromkeys(subjects, at))
