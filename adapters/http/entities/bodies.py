"""Bodies of one entity's writes, read for their caller, and flags of the query."""

from collections.abc import Sequence
from dataclasses import dataclass

from adapters.http.request.strict_request import StrictRequest
from application.entities.guarded_fields import GuardedFields
from domain.entities.bodies import (
    Body,
    Item,
    SentChanges,
    Values,
    read_changed_items,
    read_changes_from,
    read_items,
    read_new_from,
)
from domain.entities.query.values import NotAValue, read_boolean
from domain.errors import FieldError, ValidationError, unknown_name


@dataclass(frozen=True)
class EntityBodies:
    fields: GuardedFields

    def new(self, request: StrictRequest, body: Body) -> Values:
        return read_new_from(self.fields.model, body, self.fields.access(request.caller))

    def changes(self, request: StrictRequest, body: Body, row_id: str) -> SentChanges:
        sent = read_changes_from(self.fields.model, body, self.fields.access(request.caller))
        _ensure_same_id(row_id, body)
        return sent

    def new_items(self, request: StrictRequest, body: Body) -> list[Values]:
        access = self.fields.access(request.caller)
        return read_items(body, lambda item: read_new_from(self.fields.model, item, access))

    def changed_items(self, request: StrictRequest, body: Body) -> list[Item]:
        access = self.fields.access(request.caller)
        return read_changed_items(body, lambda item: read_changes_from(self.fields.model, item, access))


def read_flags(request: StrictRequest, known: Sequence[str]) -> frozenset[str]:
    """Parameters out of ``known`` that are true, under their names as they are spelt here."""
    spelt = {name.lower(): name for name in known}
    seen: dict[str, bool] = {}
    errors: list[FieldError] = []
    for given, text in request.parameters():
        name = spelt.get(given.lower())
        if name is None:
            errors.append(FieldError(given, unknown_name(given, known)))
        elif name in seen:
            errors.append(FieldError(given, "is given twice"))
        else:
            try:
                seen[name] = read_boolean(text)
            except NotAValue as error:
                errors.append(FieldError(given, str(error)))
    if errors:
        raise ValidationError(fields=errors)
    return frozenset(name for name, is_on in seen.items() if is_on)


def _ensure_same_id(row_id: str, body: Body) -> None:
    given = body.get("id")
    if given is not None and not (isinstance(given, str) and given.lower() == row_id.lower()):
        raise ValidationError(fields=(FieldError("id", "is not the id in the path"),))
