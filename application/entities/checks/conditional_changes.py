"""Row changes with conditions on stored data: one of several versions, or equal values."""

from collections.abc import Mapping, Sequence
from uuid import UUID

from application.ports.entities.records import Change, Current, Values, Versions, is_wanted
from domain.entities.bodies import NOT_WRITABLE
from domain.entities.declaration import EntityModel
from domain.errors import FieldError, Forbidden, PreconditionFailed


class ConditionalChange(Change, frozen=True, kw_only=True):
    """Change with conditions, checked on the locked row.

    Unchanged values that the client may read but not write do not count as a write. ``versions`` are the accepted
    stored versions, None for any.
    """

    kept: Values
    versions: frozenset[int] | None = None

    def values_of(self, _: EntityModel, __: Current | None) -> Values:
        """Return the values to store in the locked row, None if it is absent."""
        return self.values


def change_of(row_id: UUID, values: Values, versions: Versions, kept: Values) -> Change:
    """Return the simplest equivalent change: the write statement itself compares a single version."""
    if not kept and not isinstance(versions, frozenset):
        return Change(row_id, values, versions)
    several = frozenset({versions}) if isinstance(versions, int) else versions
    return ConditionalChange(row_id, values, kept=kept, versions=several)


def needs_locked_rows(model: EntityModel, changes: Sequence[Change]) -> bool:
    """Return whether the rows must be locked before the statement that writes: for conditions, and to replace links
    or files.

    A statement that waits for a row would replace the links of its older snapshot.
    """
    return any(isinstance(change, ConditionalChange) or _sets_links(model, change) for change in changes)


def _sets_links(model: EntityModel, change: Change) -> bool:
    return any(field.name in change.values for field in (*model.links, *model.attachments))


def settled(model: EntityModel, changes: Sequence[Change], stored: Mapping[UUID, Current]) -> list[Change]:
    """Check the conditions on the locked ``stored`` rows; return the changes without them.

    Raises PreconditionFailed for another version, before Forbidden for a different value: the value may be right in the
    version that the caller read. The write itself reports absent rows.
    """
    stale: list[FieldError] = []
    refused: list[FieldError] = []
    for n, change in enumerate(changes):
        row = stored.get(change.id)
        if not isinstance(change, ConditionalChange) or row is None:
            continue
        place = f"items[{n}]." if len(changes) > 1 else ""
        if not is_wanted(change.versions, row.version):
            stale.append(FieldError(f"{place}version", PreconditionFailed.sentence))
        different = [name for name, value in change.kept.items() if row.values[name] != value]
        refused += [FieldError(f"{place}{model.by_name[name].wire}", NOT_WRITABLE) for name in different]
    if stale:
        raise PreconditionFailed(fields=stale if len(changes) > 1 else ())
    if refused:
        raise Forbidden(fields=refused)
    return [_settled(model, change, stored.get(change.id)) for change in changes]


def _settled(model: EntityModel, change: Change, row: Current | None) -> Change:
    if not isinstance(change, ConditionalChange):
        return change
    return Change(change.id, change.values_of(model, row), None if row is None else row.version)
