"""Bodies of one entity's writes: read for their caller, and answered without the fields that are hidden from them."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from uuid import UUID

import msgspec
from msgspec import Raw

from adapters.http.request.strict_request import StrictRequest
from domain.entities.bodies import (
    EVERYTHING,
    Body,
    FieldAccess,
    Item,
    SentChanges,
    Values,
    field_access,
    read_changed_items,
    read_changes_from,
    read_ids,
    read_items,
    read_new_from,
)
from domain.entities.declaration import EntityModel, Registry
from domain.entities.query.values import NotAValue, read_boolean
from domain.entities.visibility import hidden_from
from domain.errors import Error, FieldError, ValidationError, unknown_name
from domain.scope import Caller

NOTHING: frozenset[str] = frozenset()


@dataclass(frozen=True)
class EntityBodies:
    model: EntityModel
    registry: Registry

    def new(self, request: StrictRequest, body: Body) -> Values:
        ensure_no_parameters(request)
        return read_new_from(self.model, body, self.access(request.caller))

    def changes(self, request: StrictRequest, body: Body, row_id: str) -> SentChanges:
        ensure_no_parameters(request)
        sent = read_changes_from(self.model, body, self.access(request.caller))
        _ensure_same_id(row_id, body)
        return sent

    def new_items(self, request: StrictRequest, body: Body) -> list[Values]:
        ensure_no_parameters(request)
        access = self.access(request.caller)
        return read_items(body, lambda item: read_new_from(self.model, item, access))

    def changed_items(self, request: StrictRequest, body: Body) -> list[Item]:
        ensure_no_parameters(request)
        access = self.access(request.caller)
        return read_changed_items(body, lambda item: read_changes_from(self.model, item, access))

    def ids(self, request: StrictRequest, body: Body) -> list[UUID]:
        ensure_no_parameters(request)
        return read_ids(body)

    def shown(self, caller: Caller, body: Raw) -> bytes:
        """JSON of a row that was written, without the fields that its writer may not read."""
        hidden = self._hidden_from(caller)
        if not hidden:
            return bytes(body)
        members = msgspec.json.decode(body, type=dict[str, Raw])
        return msgspec.json.encode({name: value for name, value in members.items() if name not in hidden})

    def shown_all(self, caller: Caller, bodies: Sequence[Raw]) -> bytes:
        return b"[" + b",".join(self.shown(caller, body) for body in bodies) + b"]"

    @contextmanager
    def concealing(self, caller: Caller) -> Iterator[None]:
        """Takes fields that do not exist for the caller out of errors."""
        try:
            yield
        except Error as error:
            hidden = self._hidden_from(caller)
            fields = [wrong for wrong in error.fields if wrong.field.rpartition(".")[2] not in hidden]
            if len(fields) == len(error.fields):
                raise
            raise type(error)(fields=fields) from None

    def access(self, caller: Caller) -> FieldAccess:
        """Fields that the caller may not send, or that do not exist for them."""
        return field_access(self.model, caller.permissions) if self._has_guards else EVERYTHING

    @cached_property
    def _has_guards(self) -> bool:
        return any(field.guard.read or field.guard.write for field in self.model.declared)

    def _hidden_from(self, caller: Caller) -> frozenset[str]:
        if not self._has_guards:
            return NOTHING
        hidden = hidden_from(self.registry, caller.permissions)
        return frozenset(self.model.by_name[name].wire for plural, name in hidden if plural == self.model.plural)


def ensure_no_parameters(request: StrictRequest) -> None:
    """A misspelt parameter is told, not left aside."""
    read_flags(request, ())


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
