"""What is read from the bodies of one entity's writes, and what of the outcome its caller may see."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from uuid import UUID

import msgspec
from msgspec import Raw

from adapters.http.request.endpoint import Call
from domain.entities.bodies import (
    EVERYTHING,
    Item,
    Sendable,
    Values,
    read_changed_items,
    read_changes_from,
    read_ids,
    read_items,
    read_new_from,
    sendable,
)
from domain.entities.declaration import EntityModel, Registry
from domain.entities.query.values import NotAValue, read_boolean
from domain.entities.visibility import hidden_from
from domain.errors import Error, FieldError, ValidationError, unknown_name
from domain.scope import Caller

NOTHING: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Sending:
    model: EntityModel
    registry: Registry

    def new(self, call: Call) -> Values:
        ensure_no_parameters(call)
        return read_new_from(self.model, call.json(decimals=True), self._may(call))

    def changes(self, call: Call) -> Values:
        ensure_no_parameters(call)
        body = call.json(decimals=True)
        values = read_changes_from(self.model, body, self._may(call))
        _ensure_same_id(call, body)
        return values

    def new_items(self, call: Call) -> list[Values]:
        ensure_no_parameters(call)
        may = self._may(call)
        return read_items(call.json(decimals=True), lambda item: read_new_from(self.model, item, may))

    def changed_items(self, call: Call) -> list[Item]:
        ensure_no_parameters(call)
        may = self._may(call)
        return read_changed_items(call.json(decimals=True), lambda item: read_changes_from(self.model, item, may))

    def ids(self, call: Call) -> list[UUID]:
        ensure_no_parameters(call)
        return read_ids(call.json())

    def shown(self, caller: Caller, body: Raw) -> bytes:
        """Of a row that was written, what its writer may read."""
        hidden = self._hidden_from(caller)
        if not hidden:
            return bytes(body)
        members = msgspec.json.decode(body, type=dict[str, Raw])
        return msgspec.json.encode({name: value for name, value in members.items() if name not in hidden})

    def shown_all(self, caller: Caller, bodies: Sequence[Raw]) -> bytes:
        return b"[" + b",".join(self.shown(caller, body) for body in bodies) + b"]"

    @contextmanager
    def concealing(self, caller: Caller) -> Iterator[None]:
        """No error names a field that does not exist for the caller."""
        try:
            yield
        except Error as error:
            hidden = self._hidden_from(caller)
            fields = [one for one in error.fields if one.field.rpartition(".")[2] not in hidden]
            if len(fields) == len(error.fields):
                raise
            raise type(error)(fields=fields) from None

    def may(self, call: Call) -> Sendable:
        return self._may(call)

    @cached_property
    def _has_guards(self) -> bool:
        return any(one.guard.read or one.guard.write for one in self.model.declared)

    def _may(self, call: Call) -> Sendable:
        return sendable(self.model, call.signed_in.permissions) if self._has_guards else EVERYTHING

    def _hidden_from(self, caller: Caller) -> frozenset[str]:
        if not self._has_guards:
            return NOTHING
        hidden = hidden_from(self.registry, caller.permissions)
        return frozenset(self.model.by_name[name].wire for plural, name in hidden if plural == self.model.plural)


def ensure_no_parameters(call: Call) -> None:
    """A misspelt parameter is told, not left aside."""
    read_flags(call, ())


def read_flags(call: Call, known: Sequence[str]) -> frozenset[str]:
    """Those of the parameters ``known``, by their names as they are spelt here, that are true."""
    spelt = {name.lower(): name for name in known}
    seen: dict[str, bool] = {}
    errors: list[FieldError] = []
    for given, text in call.parameters():
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


def _ensure_same_id(call: Call, body: dict[str, object]) -> None:
    given = body.get("id")
    if given is not None and not (isinstance(given, str) and given.lower() == call.path_params["id"].lower()):
        raise ValidationError(fields=(FieldError("id", "is not the id in the path"),))
