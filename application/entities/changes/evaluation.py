"""Entries as one reader sees them, with one statement for each rule on other rows and batch."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

import msgspec
from msgspec import Raw

from application.ports.entities.changes import ChangesTransaction, LogEntry
from domain.entities.changes.seeing import (
    WITHOUT_ROW,
    Interest,
    Members,
    SeenChange,
    is_followed,
    members_of,
    seen_change,
    shown,
    value_of,
)
from domain.entities.declaration import EntityModel, FieldModel, Registry
from domain.entities.markers import Through
from domain.entities.owning import limits_in
from domain.entities.query.query import WHOLE, View
from domain.scope import OneTenant


@dataclass(frozen=True)
class Evaluation:
    """The entries of one batch of a reader with this scope.

    ``read`` may be None if no entry needs rows.
    """

    scope: OneTenant
    registry: Registry
    interests: Mapping[str, Interest]
    read: ChangesTransaction | None = None

    async def seen(self, entries: Sequence[LogEntry]) -> list[SeenChange | None]:
        """Return what the reader sees of each entry."""
        found: dict[int, SeenChange | None] = {}
        by_entity: dict[str, list[tuple[int, LogEntry]]] = {}
        for place, entry in enumerate(entries):
            by_entity.setdefault(entry.entity, []).append((place, entry))
        for plural, numbered in by_entity.items():
            interest, of_entity = self.interests[plural], [entry for _, entry in numbered]
            states = await self._states(interest, of_entity)
            own = await self._own_keys(interest, of_entity, states)
            for (place, entry), state in zip(numbered, states, strict=True):
                found[place] = await self._seen(interest, entry, state, own)
        return [found[place] for place in range(len(entries))]

    def needs_rows(self, entry: LogEntry) -> bool:
        """Return whether the event depends on rows in the database, and not only on the entry."""
        interest = self.interests[entry.entity]
        model = interest.model
        if interest.own_of is not None and (entry.data is None or has_rules_on_rows(model)):
            return True
        limits = limits_in(self.scope)
        return any(limits.hide(self.registry[field.target or ""]) for field in model.links)

    @property
    def _rows(self) -> ChangesTransaction:
        assert self.read is not None, "an entry needs rows"
        return self.read

    async def _states(self, interest: Interest, entries: Sequence[LogEntry]) -> list[tuple[Members, Members]]:
        """Return the row after each change, and the members that differ before it."""
        states = [(members_of(entry.data), members_of(entry.was)) for entry in entries]
        # Security: links to rows that the reader does not see are not shown, and no filter finds them.
        limits = limits_in(self.scope)
        for field in interest.model.links:
            target = self.registry[field.target or ""]
            if limits.hide(target):
                ids = {each for state in states for members in state for each in _ids(field, members)}
                seen = await self._rows.changes.own_among(target, ids)
                states = [(_only(field, after, seen), _only(field, was, seen)) for after, was in states]
        return states

    async def _own_keys(
        self, interest: Interest, entries: Sequence[LogEntry], states: Sequence[tuple[Members, Members]]
    ) -> Mapping[str, Collection[UUID]]:
        """Return, by the name of the deciding field, the values by which a row is the reader's own."""
        if interest.own_of is None:
            return {}
        model, keys = interest.model, dict[str, Collection[UUID]]()
        for rule in model.declaration.own:
            if isinstance(rule, Through):
                field = model.by_name[model.relations[rule.to_one].by]
                given = {
                    key for state in states for members in state if isinstance(key := value_of(field, members), UUID)
                }
                keys[field.name] = {*keys.get(field.name, ()), *await self._through(rule, model, given)}
        if model.declaration.shared:
            keys["id"] = await self._rows.changes.shared_among(model, {entry.row_id for entry in entries})
        return keys

    async def _seen(
        self,
        interest: Interest,
        entry: LogEntry,
        state: tuple[Members, Members],
        own: Mapping[str, Collection[UUID]],
    ) -> SeenChange | None:
        def is_own(row: Members) -> bool:
            return any(value_of(interest.model.by_name[name], row) in keys for name, keys in own.items())

        if entry.action == "shared" or entry.action == "unshared":  # noqa: PLR1714  # narrows the type
            return await self._of_share(interest, entry)
        after, was = state
        if entry.data is None:
            return await self._of_large_row(interest, entry)
        if entry.action == "changed" or entry.action == "deleted" or entry.action == "restored":  # noqa: PLR1714  # as above
            return seen_change(interest, entry.action, after, was, is_own)
        if not is_followed(interest, after, is_own):
            return None
        return SeenChange(entry.action, (), None if entry.action in WITHOUT_ROW else shown(interest, after))

    async def _of_share(self, interest: Interest, entry: LogEntry) -> SeenChange | None:
        """Return the event of a share that names the reader, unless a rule decides the same."""
        if interest.own_of is None or entry.subject != interest.own_of:
            return None
        row = await self._row(interest.model, entry.row_id)
        if entry.action == "unshared":
            return SeenChange("left") if row is None else None
        members = members_of(row)
        is_seen = row is not None and is_followed(interest, members, lambda _: True)
        return SeenChange("entered", (), shown(interest, members)) if is_seen else None

    async def _of_large_row(self, interest: Interest, entry: LogEntry) -> SeenChange | None:
        """Return the event of a row that is too large for the log, if the reader may read the row now."""
        view = View(include_deleted=entry.action == "deleted")
        if interest.own_of is not None and await self._row(interest.model, entry.row_id, view) is None:
            return None
        assert entry.action != "shared"
        assert entry.action != "unshared"
        return SeenChange(entry.action, (), None, truncated=entry.action not in WITHOUT_ROW)

    async def _through(self, rule: Through, model: EntityModel, given: Iterable[object]) -> Collection[UUID]:
        return await self._rows.changes.own_through(model, rule, {key for key in given if isinstance(key, UUID)})

    async def _row(self, model: EntityModel, row_id: UUID, view: View = WHOLE) -> Raw | None:
        stored = await self._rows.records.get(model, row_id, view)
        return None if stored is None else stored.body


async def evaluated(
    read: ChangesTransaction, evaluation: Evaluation, entries: Sequence[LogEntry]
) -> list[SeenChange | None]:
    """Return what the reader sees of each entry, with the rows that rules need."""
    return await replace(evaluation, read=read).seen(entries)


def has_rules_on_rows(model: EntityModel) -> bool:
    """Return whether rules on other rows, or shares, decide which rows are a reader's own."""
    return model.declaration.shared or any(isinstance(rule, Through) for rule in model.declaration.own)


def _ids(field: FieldModel, members: Members) -> Iterable[UUID]:
    found = value_of(field, members)
    return found if isinstance(found, list) else ()


def _only(field: FieldModel, members: Members, seen: Collection[UUID]) -> Members:
    if field.wire not in members:
        return members
    return {**members, field.wire: Raw(msgspec.json.encode([each for each in _ids(field, members) if each in seen]))}
