"""Fields closed to some callers by ``guarded(…)``: omitted from their input, responses and errors."""

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property

import msgspec
from msgspec import Raw

from domain.entities.bodies import (
    EVERY_FIELD,
    Body,
    FieldAccess,
    SentChanges,
    Values,
    field_access,
    read_changes_from,
    read_new_from,
)
from domain.entities.declaration import EntityModel, Registry
from domain.errors import Error, FieldError, UnprocessableEntity, ValidationError
from domain.scope import Caller, Rights

NOTHING: frozenset[str] = frozenset()
NOTHING_SENT: Body = {}


@dataclass(frozen=True)
class GuardedFields:
    model: EntityModel
    registry: Registry

    def access(self, caller: Caller) -> FieldAccess:
        """Return the fields that the caller may not read or may not send, and the relations by such fields."""
        may = field_access(self.model, caller.permissions) if self._has_guards else EVERY_FIELD
        if not self._has_guarded_relations:
            return may
        seen = self.registry.relations_of(self.model, self.registry.hidden_from(caller.rights))
        unseen = {member for each in self.model.relations.values() if each not in seen for member in each.members}
        return msgspec.structs.replace(may, unseen=frozenset(unseen))

    def read_new(self, caller: Caller, body: Body) -> Values:
        """Read a new row's values. Raises Forbidden for closed fields, ValidationError for invalid or unknown ones."""
        return read_new_from(self.model, body, self.access(caller))

    def read_changes(self, caller: Caller, row_id: str, body: Body) -> SentChanges:
        """Read a row's changes. Raises Forbidden and ValidationError as ``read_new`` does, and for another row's id."""
        given = body.get("id")
        if given is None or (isinstance(given, str) and given.lower() == row_id.lower()):
            return read_changes_from(self.model, body, self.access(caller))
        mistakes = [FieldError("id", "is not the id in the path")]
        try:
            read_changes_from(self.model, body, self.access(caller))
        except ValidationError as error:
            mistakes += error.fields
        raise ValidationError(fields=mistakes)

    def readable(self, caller: Caller, body: Raw) -> bytes:
        """Return a written row's JSON without fields that the writer may not read."""
        hidden = self.hidden_from(caller)
        if not hidden:
            return bytes(body)
        members = msgspec.json.decode(body, type=dict[str, Raw])
        return msgspec.json.encode({name: value for name, value in members.items() if name not in hidden})

    def all_readable(self, caller: Caller, bodies: Sequence[Raw]) -> bytes:
        return b"[" + b",".join(self.readable(caller, body) for body in bodies) + b"]"

    @contextmanager
    def concealing(self, caller: Caller, sent: Body = NOTHING_SENT) -> Iterator[None]:
        """Remove fields hidden from the caller from errors, except fields that the caller sent.

        ``sent`` is the body of one row or of a batch. Errors for a batch always name the item.
        """
        try:
            yield
        except Error as error:
            fields = _told(error, self.hidden_from(caller), sent)
            if fields == error.fields:
                raise
            raise type(error)(fields=fields) from None

    def hidden_from(self, caller: Caller) -> frozenset[str]:
        """Return the JSON names of fields hidden from the caller."""
        if not self.model.hides_fields:
            return NOTHING
        hidden = self.registry.hidden_from(caller.rights)
        return frozenset(self.model.by_name[name].wire for plural, name in hidden if plural == self.model.plural)

    @cached_property
    def are_shown_alike(self) -> bool:
        """Whether every caller with read access to a row sees the same fields."""
        return not self.model.hides_fields

    @cached_property
    def _has_guards(self) -> bool:
        return any(field.guard.read or field.guard.write for field in self.model.declared)

    @cached_property
    def _has_guarded_relations(self) -> bool:
        everything = self.registry.hidden_from(Rights((), is_super_admin=False))
        return len(self.registry.relations_of(self.model, everything)) < len(self.model.relations)


def _told(error: Error, hidden: frozenset[str], sent: Body) -> tuple[FieldError, ...]:
    told: list[FieldError] = []
    concealed: dict[str, None] = {}
    for wrong in error.fields:
        if not wrong.is_about(hidden):
            told.append(wrong)
        elif not wrong.is_about(hidden - _names(sent, wrong.place)):
            # Replace the message of a rule, because the rule reads the whole row, including hidden stored values.
            told.append(FieldError(wrong.field, error.sentence) if isinstance(error, UnprocessableEntity) else wrong)
        elif wrong.item is not None:
            concealed[wrong.item] = None
    named = {wrong.item for wrong in told}
    return (*told, *(FieldError(item, error.sentence) for item in concealed if item not in named))


def _names(sent: Body, place: int | None) -> AbstractSet[str]:
    if place is None:
        return sent.keys()
    items = sent.get("items")
    item = items[place] if isinstance(items, list) and place < len(items) else None
    return item.keys() if isinstance(item, dict) else NOTHING
