"""The log of changes in memory. Writes run one after another, so each entry receives its position at once."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import cast
from uuid import UUID

from msgspec import Raw
from msgspec.structs import replace

from adapters.memory.entities.history import version_of
from adapters.memory.entities.row_json import encoded, json_object
from adapters.memory.entities.rows import VisibleRows, is_living, places_of
from adapters.memory.entities.state import SHARES, Row, Tables, share_key
from adapters.memory.store import Access
from application.ports.entities.changes import Heads, LogEntry, LoggedAction, Read, Stream
from application.ports.entities.history import Action
from application.ports.entities.records import Act
from domain.entities.changes.feeds import FORMER, LARGEST_ENTRY_BYTES
from domain.entities.declaration import EntityModel, Registry
from domain.entities.markers import Through
from domain.entities.query.matching import plain
from domain.errors import CursorExpired
from domain.scope import OneTenant, OwnRows, Scope

TABLE, HEADS = "changes", "feed_heads"
_EPOCH = UUID("01900000-0000-7000-8000-000000000000")
_SHARED = UUID(int=0)
"""Key of the head of the rows that all tenants share."""


def log_change(  # as history's, with the registry for links
    tables: Tables, registry: Registry, model: EntityModel, act: Act, action: Action, rows: tuple[Row | None, Row]
) -> None:
    """Add an entry for a stored row before and after a change, unless the entity has no feed."""
    if not model.declaration.changes:
        return
    before, after = rows
    # A purge writes no row version.
    data = _json(tables, registry, model, before if before is not None and action == "purged" else after)
    was = _was(tables, registry, model, before, after) if action in ("changed", "restored") else None
    is_small = max(len(bytes(data)), len(bytes(was or b""))) <= LARGEST_ENTRY_BYTES
    entry = LogEntry(
        position=0,
        entity=model.plural,
        row_id=cast(UUID, after["id"]),
        version=version_of(after),
        action=action,
        at=act.at,
        by=act.by,
        data=data if is_small else None,
        was=was if is_small else None,
    )
    add_entry(tables, cast("UUID | None", after["tenant_id"]), entry)


def log_share(  # as above
    tables: Tables, model: EntityModel, tenant_id: UUID, act: Act, action: LoggedAction, of: tuple[UUID, UUID]
) -> None:
    """Add an entry for the share of a row and a user, unless the entity has no feed."""
    row_id, user_id = of
    if model.declaration.changes:
        entry = LogEntry(
            position=0,
            entity=model.plural,
            row_id=row_id,
            version=0,
            action=action,
            at=act.at,
            by=act.by,
            subject=user_id,
        )
        add_entry(tables, tenant_id, entry)


def add_entry(tables: Tables, tenant_id: UUID | None, entry: LogEntry) -> None:
    heads, lines = tables.setdefault(HEADS, {}), tables.setdefault(TABLE, {})
    key = tenant_id or _SHARED
    position = _position(heads, key) + 1
    heads[key] = {"position": position}
    # The last key is the largest. Older entries may be deleted.
    number = UUID(int=next(reversed(lines)).int + 1 if lines else 1)
    lines[number] = {"tenant_id": tenant_id, "at": entry.at, "position": position, "entry": entry}


def _position(heads: Mapping[UUID, Row], key: UUID) -> int:
    return cast(int, heads[key]["position"]) if key in heads else 0


def _json(tables: Tables, registry: Registry, model: EntityModel, row: Row) -> Raw:
    names = [field.name for field in model.fields]
    return encoded(json_object(model, _whole(tables, registry, model, row), names, shows_tenant=False))


def _was(tables: Tables, registry: Registry, model: EntityModel, before: Row | None, after: Row) -> Raw:
    assert before is not None
    old, new = (_whole(tables, registry, model, row) for row in (before, after))
    names = [*model.names, *(name for name in FORMER if name in model.by_name)]
    differs = [name for name in names if plain(old[name]) != plain(new[name])]
    return encoded(json_object(model, old, differs, shows_tenant=False))


def _whole(tables: Tables, registry: Registry, model: EntityModel, row: Row) -> Row:
    """Return the row with the ids of all live targets of its links, in order."""
    links = {}
    for field in model.links:
        places, targets = places_of(row, field.name), tables.get(registry[field.target or ""].table, {})
        in_order = sorted((place, key) for key, place in places.items())
        links[field.name] = [key for _, key in in_order if key in targets and is_living(targets[key])]
    return {**row, **links}


@dataclass(frozen=True)
class MemoryLog:
    """The entries of a tenant, without the rules of own rows."""

    access: Access
    scope: Scope

    async def heads(self) -> Heads:
        heads = self.access.read().tables.get(HEADS, {})
        return Heads(_position(heads, self._tenant), _position(heads, _SHARED), _EPOCH)

    async def after(self, stream: Stream, position: int, until: int, most: int, entities: Collection[str]) -> Read:
        owner = self._tenant if stream == "own" else None
        lines = self.access.read().tables.get(TABLE, {}).values()
        of_stream = [line for line in lines if line["tenant_id"] == owner]
        between = {cast(int, line["position"]): cast(LogEntry, line["entry"]) for line in of_stream}
        between = {place: entry for place, entry in between.items() if position < place <= until}
        found = [place for place in sorted(between) if between[place].entity in entities][:most]
        reached = found[-1] if len(found) == most else until
        if sum(place <= reached for place in between) < reached - position:
            raise CursorExpired
        return Read([_at(between[place], place) for place in found], reached)

    @property
    def _tenant(self) -> UUID:
        assert isinstance(self.scope, OneTenant)
        return self.scope.id


@dataclass(frozen=True)
class MemoryChanges(MemoryLog):
    registry: Registry

    async def own_through(self, model: EntityModel, rule: Through, keys: Collection[UUID]) -> Collection[UUID]:
        assert isinstance(self.scope, OwnRows)
        rows, by, user_id = self._rows, model.relations[rule.to_one].by, self.scope.user_id
        refers: dict[UUID, Row] = {key: {"tenant_id": self._tenant, by: key} for key in keys}
        return {key for key, row in refers.items() if rows.holds(model, rule, row, user_id)}

    async def shared_among(self, model: EntityModel, ids: Collection[UUID]) -> Collection[UUID]:
        assert isinstance(self.scope, OwnRows)
        user_id, shares = self.scope.user_id, self.access.read().tables.get(SHARES, {})
        return {row_id for row_id in ids if share_key(self._tenant, model, row_id, user_id) in shares}

    async def own_among(self, model: EntityModel, ids: Collection[UUID]) -> Collection[UUID]:
        return {row_id for row_id in ids if self._rows.get(model, row_id) is not None}

    @property
    def _rows(self) -> VisibleRows:
        return VisibleRows(self.access.read().tables, self.registry, self.scope)


def _at(entry: LogEntry, position: int) -> LogEntry:
    return replace(entry, position=position)


@dataclass(frozen=True)
class MemoryChangeQueue:
    async def oldest(self) -> datetime | None:
        return None

    async def sequence(self, most: int) -> Mapping[UUID | None, int]:  # noqa: ARG002  # entries have positions already
        return {}
