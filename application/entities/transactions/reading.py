"""Operations of a request: their entities, permissions and values, with the ids of earlier creates."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, cast
from uuid import UUID

from application.entities.guarded_fields import GuardedFields
from application.ports.runtime import Ids
from domain.entities.bodies import Body, SentChanges
from domain.entities.declaration import EntityModel, FieldModel
from domain.entities.transactions.items import NO_VERSION, NOT_A_VERSION, id_of, objects_in, read_each, version_of
from domain.errors import FieldError, ValidationError, unknown_name
from domain.scope import Caller

MOST_OPERATIONS = 100
LONGEST_NAME = 100
NO_CREATE = 'must name an earlier create of this request, such as {"$id": "order"}'

Op = Literal["create", "update", "delete", "restore"]
MEMBERS: Mapping[Op, tuple[str, ...]] = {
    "create": ("op", "entity", "as", "values"),
    "update": ("op", "entity", "id", "version", "values"),
    "delete": ("op", "entity", "id", "version"),
    "restore": ("op", "entity", "id", "version"),
}
"""Members of an operation."""

EnsureMay = Callable[[EntityModel, str], None]
"""Raises Forbidden unless the caller may ``create``, ``update`` or ``delete`` rows of the entity."""


@dataclass(frozen=True, kw_only=True)
class Operation:
    """An operation on the row ``id``. ``names`` are the existing rows that it names: its own, and referenced ones."""

    place: int
    op: Op
    fields: GuardedFields
    id: UUID
    sent: Body
    changes: SentChanges
    version: int | None
    names: frozenset[UUID]

    @property
    def model(self) -> EntityModel:
        return self.fields.model


@dataclass(frozen=True)
class _Created:
    """An earlier create; ``plural`` is None if the request names no entity for it."""

    place: int
    id: UUID
    plural: str | None


@dataclass(frozen=True)
class OperationReader:
    """Reads the operations of one request, once."""

    caller: Caller
    entities: Mapping[str, GuardedFields]
    ids: Ids
    ensure_may: EnsureMay
    _created: dict[str, _Created] = field(default_factory=dict)

    def read(self, body: Body) -> list[Operation]:
        """Raises Forbidden, and ValidationError with the errors of all operations."""
        return read_each(*objects_in(body, "operations", MOST_OPERATIONS), self._operation, "operations")

    def _operation(self, place: int, sent: Body) -> Operation:
        errors: list[FieldError] = []
        row_id, fields = self.ids.new(), self._entity(sent, errors)
        op = _op(sent, fields, errors)
        if op is None or fields is None:
            self._name(_Created(place, row_id, None), sent, errors)
            raise ValidationError(fields=errors)
        self.ensure_may(fields.model, "delete" if op == "restore" else op)
        errors += [FieldError(name, unknown_name(name, MEMBERS[op])) for name in sent if name not in MEMBERS[op]]
        version = version_of(sent.get("version"))
        errors += [FieldError("version", NOT_A_VERSION)] if version == NO_VERSION else []
        if op != "create":
            row_id = self._row(place, fields.model, sent, errors)
        changes = SentChanges({})
        try:
            if "values" in MEMBERS[op]:
                changes = self._changes(op, fields, row_id, sent)
        except ValidationError as error:
            errors += error.fields
        finally:
            # Not before: the values of a create cannot name it.
            if op == "create":
                self._name(_Created(place, row_id, fields.model.plural), sent, errors)
        if errors:
            raise ValidationError(fields=errors)
        values = cast(Body, sent.get("values", {}))
        names = frozenset(_referenced(fields.model, changes)) | ({row_id} if op != "create" else frozenset())
        return Operation(
            place=place, op=op, fields=fields, id=row_id, sent=values, changes=changes, version=version, names=names
        )

    def _entity(self, sent: Body, errors: list[FieldError]) -> GuardedFields | None:
        plural = sent.get("entity")
        if not isinstance(plural, str):
            errors.append(FieldError("entity", "is required" if "entity" not in sent else "is not known"))
            return None
        fields = self.entities.get(plural)
        if fields is None:
            errors.append(FieldError("entity", unknown_name(plural, self.entities)))
        elif not fields.model.declaration.writable:
            errors.append(FieldError("entity", "has read-only rows"))
            return None
        return fields

    def _name(self, created: _Created, sent: Body, errors: list[FieldError]) -> None:
        name = sent.get("as")
        if "as" not in sent or sent.get("op") != "create":
            return
        if not (isinstance(name, str) and 1 <= len(name) <= LONGEST_NAME):
            errors.append(FieldError("as", f"must be text of 1 to {LONGEST_NAME} characters"))
        elif (first := self._created.setdefault(name, created)) is not created:
            errors.append(FieldError("as", f"is the name of operations[{first.place}] too"))

    def _row(self, place: int, model: EntityModel, sent: Body, errors: list[FieldError]) -> UUID:
        given = sent.get("id")
        if _is_name(given):
            found, wrong = self._created_row(given, model.plural)
            errors += [FieldError("id", wrong)] if wrong else []
            return found
        if not isinstance(given, str):
            errors.append(FieldError("id", "is required" if "id" not in sent else "must be an id (UUID)"))
        return id_of(given, place)

    def _changes(self, op: Op, fields: GuardedFields, row_id: UUID, sent: Body) -> SentChanges:
        given = sent.get("values")
        if not isinstance(given, dict):
            raise ValidationError.on("values", "is required" if "values" not in sent else "must be an object")
        errors: list[FieldError] = []
        values = self._with_ids(fields.model, given, errors)
        if op == "update" and "id" in values and str(values.pop("id")).lower() != str(row_id):
            errors.append(FieldError("id", "is not the id of this operation"))
        try:
            if op == "update":
                changes = fields.read_changes(self.caller, "", values)
            else:
                changes = SentChanges(fields.read_new(self.caller, values))
        except ValidationError as error:
            raise ValidationError(fields=[*errors, *error.fields]) from None
        if errors:
            raise ValidationError(fields=errors)
        return changes

    def _with_ids(self, model: EntityModel, given: Mapping[str, object], errors: list[FieldError]) -> dict[str, object]:
        """Replace ``{"$id": …}`` in references and links by ids."""
        values = dict(given)
        for declared in model.declared:
            value = given.get(declared.wire)
            if declared.reference is not None and _is_name(value):
                values[declared.wire] = self._named(value, declared, declared.wire, errors)
            elif declared.link is not None and isinstance(value, list):
                values[declared.wire] = [
                    self._named(item, declared, f"{declared.wire}[{n}]", errors) if _is_name(item) else item
                    for n, item in enumerate(value)
                ]
        return values

    def _named(self, value: object, declared: FieldModel, place: str, errors: list[FieldError]) -> str:
        assert declared.target is not None, declared.name
        found, wrong = self._created_row(value, declared.target)
        errors += [FieldError(place, wrong)] if wrong else []
        return str(found)

    def _created_row(self, given: object, plural: str) -> tuple[UUID, str | None]:
        """Return the id of the create that ``{"$id": …}`` names, and an error."""
        name = given["$id"] if isinstance(given, dict) and len(given) == 1 else None
        found = self._created.get(name) if isinstance(name, str) else None
        if found is None:
            return UUID(int=0), NO_CREATE
        if found.plural not in (None, plural):
            return found.id, f"names a row of {found.plural}, and must be one of {plural}"
        return found.id, None


def _op(sent: Body, fields: GuardedFields | None, errors: list[FieldError]) -> Op | None:
    op = sent.get("op")
    if not isinstance(op, str) or op not in MEMBERS:
        wrong = "is required" if "op" not in sent else "must be create, update, delete or restore"
        errors.append(FieldError("op", wrong))
        return None
    if op == "restore" and fields is not None and not fields.model.soft_delete:
        errors.append(FieldError("op", f"cannot be restore: rows of {fields.model.plural} are deleted permanently"))
        return None
    return cast(Op, op)


def _is_name(value: object) -> bool:
    return isinstance(value, dict) and "$id" in value


def _referenced(model: EntityModel, changes: SentChanges) -> list[UUID]:
    values = [changes.values.get(declared.name) for declared in model.declared if declared.reference is not None]
    for linked in model.links:
        values += cast("list[object]", changes.values.get(linked.name, []))
    return [value for value in values if isinstance(value, UUID)]
