"""A change of a row as pages and streams of the feed show it."""

from typing import Annotated, Any
from uuid import UUID

from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from adapters.http.request.responses import wire_time
from application.ports.entities.changes import LogEntry
from domain.entities.changes.seeing import EventAction, SeenChange


class RowChange(Struct, frozen=True):
    """A change of a row; ``data`` is the row after it, null for rows that are gone or too large (``truncated``)."""

    entity: str
    id: UUID
    version: int
    action: EventAction
    at: Annotated[str, Meta(extra_json_schema={"format": "date-time"})]
    by: UUID | None
    changed: tuple[str, ...]
    data: dict[str, Any] | Raw | None
    truncated: bool | UnsetType = UNSET


def row_change(entry: LogEntry, seen: SeenChange) -> RowChange:
    return RowChange(
        entity=entry.entity,
        id=entry.row_id,
        version=entry.version,
        action=seen.action,
        at=wire_time(entry.at),
        by=entry.by,
        changed=seen.changed,
        data=seen.data,
        truncated=True if seen.truncated else UNSET,
    )
