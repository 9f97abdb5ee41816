"""What an entity can declare, and the model that everything else is derived from."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum
from functools import cached_property
from types import new_class
from typing import Any, Literal, TypeVar

from msgspec import UNSET, Struct, UnsetType

from domain.errors import FieldError

T = TypeVar("T", bound=type[Struct])

OnDelete = Literal["restrict", "cascade", "clear"]


class Kind(Enum):
    """What a field holds: decides its column, its operators, its schema and its cell in a file."""

    TEXT = "text"
    INTEGER = "integer"
    BIG_INTEGER = "big integer"
    DECIMAL = "decimal"
    FLOAT = "float"
    BOOLEAN = "boolean"
    TIMESTAMP = "timestamp"
    DATE = "date"
    UUID = "uuid"
    CHOICE = "choice"
    UUIDS = "uuids"
    TEXTS = "texts"


# Markers: they stand in a field's Annotated[...] or in the arguments of @entity.


class Money(Struct, frozen=True):
    precision: int
    scale: int
    ge: Decimal | None = None
    le: Decimal | None = None


class Reference(Struct, frozen=True):
    """A to-one relation: this field holds the id of a row of ``target`` (a plural)."""

    target: str
    on_delete: OnDelete
    relation: str | None = None


class Guard(Struct, frozen=True):
    """Permissions of this field's own; a caller without ``read`` never learns that it exists."""

    read: str | None = None
    write: str | None = None


UNGUARDED = Guard()


class Big(Struct, frozen=True):
    """A 64-bit integer."""


class Many(Struct, frozen=True):
    """A to-many relation: the rows of ``target`` whose field ``by`` names this one."""

    target: str
    by: str


class Unique(Struct, frozen=True):
    """Per tenant and among living rows; ``ignore_case`` compares text without case."""

    fields: tuple[str, ...]
    ignore_case: bool = False


def money(precision: int, scale: int, ge: int | str | None = None, le: int | str | None = None) -> Money:
    """A decimal of ``precision`` digits, ``scale`` of them after the point; never rounded silently."""
    return Money(precision, scale, None if ge is None else Decimal(ge), None if le is None else Decimal(le))


def ref(target: str, on_delete: OnDelete = "restrict", relation: str | None = None) -> Reference:
    """``relation`` is the name it is included and filtered by: by default the field's name without ``_id``."""
    return Reference(target, on_delete, relation)


def many(target: str, by: str) -> Many:
    return Many(target, by)


def unique(*fields: str, ignore_case: bool = False) -> Unique:
    return Unique(fields, ignore_case)


def guarded(read: str | None = None, write: str | None = None) -> Guard:
    return Guard(read, write)


big = Big()


class Declaration(Struct, frozen=True, kw_only=True):
    """The arguments of @entity. ``plural`` is the path in kebab-case and the resource of the permissions.

    ``tenant_owned=False`` makes rows that all tenants share, written by super-admins only;
    ``writable=False`` leaves only the reading routes; ``history`` records each change; ``check_reads`` are the fields
    that ``check`` looks at, None where it may look at all.
    """

    plural: str
    search: tuple[str, ...]
    unique: tuple[Unique, ...]
    has_many: Mapping[str, Many]
    tenant_owned: bool
    soft_delete: bool
    writable: bool
    history: bool
    shows_tenant: bool
    sort: str
    check_reads: frozenset[str] | None


def entity(  # noqa: PLR0913  # each argument is a sentence of the declaration
    plural: str,
    *,
    search: Sequence[str] = (),
    unique: Sequence[Unique] = (),
    has_many: Mapping[str, Many] | None = None,
    tenant_owned: bool = True,
    soft_delete: bool = True,
    writable: bool = True,
    history: bool = False,
    shows_tenant: bool = False,
    sort: str = "-created_at",
    check_reads: Sequence[str] | None = None,
) -> Callable[[T], T]:
    """Declares a struct as an entity; ``sort`` is the default order, a field with ``-`` before it for descending.

    With ``check_reads`` a change of other fields than these is not shown to ``check``, and need not read the row first;
    a ``check`` that looks at another field all the same fails.
    """
    declaration = Declaration(
        plural=plural,
        search=tuple(search),
        unique=tuple(unique),
        has_many=has_many or {},
        tenant_owned=tenant_owned,
        soft_delete=soft_delete,
        writable=writable,
        history=history,
        shows_tenant=shows_tenant,
        sort=sort,
        check_reads=None if check_reads is None else frozenset(check_reads),
    )

    def declare(kind: T) -> T:
        kind.__entity__ = declaration  # type: ignore[attr-defined]  # the one mark a declaration leaves
        return kind

    return declare


@dataclass(frozen=True, kw_only=True)
class FieldModel:
    """One property. ``name`` is its column and Python name, ``wire`` its JSON name.

    ``type`` is what msgspec checks a body's value against; ``default`` is UNSET when a value is required.
    """

    name: str
    wire: str
    kind: Kind
    type: object
    nullable: bool = False
    default: object | UnsetType = UNSET
    choices: tuple[str, ...] = ()
    money: Money | None = None
    reference: Reference | None = None
    guard: Guard = UNGUARDED
    server_owned: bool = False

    @property
    def required(self) -> bool:
        return self.default is UNSET


@dataclass(frozen=True, kw_only=True)
class Relation:
    """``by`` is the referring column: on this entity for to-one, on the target for to-many."""

    name: str
    target: str
    by: str
    is_many: bool
    on_delete: OnDelete = "restrict"


@dataclass(frozen=True, kw_only=True, eq=False)
class EntityModel:
    """A declaration, understood. Compared by identity, so it can key what is derived from it.

    ``fields`` are in the order of an answer: id, the declared ones, the server's own.
    ``create_form`` and ``update_form`` are structs whose fields are the declared ones.
    """

    name: str
    plural: str
    table: str
    struct: type[Struct]
    declaration: Declaration
    fields: tuple[FieldModel, ...]
    relations: Mapping[str, Relation]
    create_form: type[Struct]
    update_form: type[Struct]
    by_name: Mapping[str, FieldModel] = field(repr=False)
    by_wire: Mapping[str, FieldModel] = field(repr=False)

    @cached_property
    def declared(self) -> tuple[FieldModel, ...]:
        return tuple(one for one in self.fields if not one.server_owned)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Of the declared fields, as columns."""
        return tuple(one.name for one in self.declared)

    @property
    def tenant_owned(self) -> bool:
        return self.declaration.tenant_owned

    @property
    def soft_delete(self) -> bool:
        return self.declaration.soft_delete

    @property
    def unique(self) -> tuple[Unique, ...]:
        return self.declaration.unique

    @cached_property
    def has_check(self) -> bool:
        return callable(getattr(self.struct, "check", None))

    @cached_property
    def asks_other_rows(self) -> bool:
        return callable(getattr(self.struct, "check_stored", None))

    @cached_property
    def has_rule(self) -> bool:
        return self.has_check or self.asks_other_rows

    def rules_look_at(self, changed: Iterable[str]) -> bool:
        """Whether a change of these fields, by Python name, can break a rule that held before."""
        reads = self.declaration.check_reads
        return self.asks_other_rows or (self.has_check and (reads is None or not reads.isdisjoint(changed)))

    @property
    def can_be_purged(self) -> bool:
        """Whether deleting for good is something else than deleting."""
        return self.declaration.writable and self.soft_delete

    def permission(self, action: str) -> str:
        return f"{action}:{self.plural}"

    def broken_rules(self, values: Mapping[str, object], before: Mapping[str, object] | None) -> list[FieldError]:
        """What the entity's own ``check`` says of these values, given those they replace; wire names."""
        if not self.has_check:
            return []
        judged: Any = self._judged(values)
        return list(judged.check(None if before is None else self._judged(before)))

    def made_of(self, values: Mapping[str, object]) -> Struct:
        """The entity's own struct, of declared values by Python name."""
        return self.struct(**self._own(values))

    def _judged(self, values: Mapping[str, object]) -> Struct:
        return self._checked_struct(**self._own(values))

    def _own(self, values: Mapping[str, object]) -> Mapping[str, object]:
        """Others may come along."""
        return values if len(values) == len(self.names) else {name: values[name] for name in self.names}

    @cached_property
    def _checked_struct(self) -> type[Struct]:
        """What ``check`` is asked on: its fields beyond ``check_reads`` refuse to be looked at."""
        reads = self.declaration.check_reads
        if reads is None:
            return self.struct
        closed = {name: _closed(self.plural, name) for name in self.names if name not in reads}
        made: type[Struct] = new_class(self.struct.__name__, (self.struct,), {}, lambda body: body.update(closed))
        return made


def _closed(plural: str, name: str) -> property:
    def look(_: Struct) -> object:
        raise LookupError(f"check of {plural} looks at {name!r}, which its check_reads does not name")

    return property(look)


@dataclass(frozen=True, eq=False)
class Registry:
    """All entities that are served, by plural; ``oddities`` are what a start reports without refusing.

    Compared by identity, so it can key what is derived from it.
    """

    models: Mapping[str, EntityModel]
    oddities: tuple[str, ...] = ()

    def __getitem__(self, plural: str) -> EntityModel:
        return self.models[plural]

    def __iter__(self) -> Iterator[EntityModel]:
        return iter(self.models.values())

    def target(self, relation: Relation) -> EntityModel:
        return self.models[relation.target]

    def referring(self, plural: str) -> list[tuple[EntityModel, FieldModel]]:
        """The fields, of any entity, that hold ids of this one."""
        return [
            (model, one)
            for model in self
            for one in model.fields
            if one.reference is not None and one.reference.target == plural
        ]

    def permissions(self) -> list[str]:
        """The permissions that served entities register by themselves, those of single fields among them."""
        actions = ("create", "read", "update", "delete")
        whole = [model.permission(action) for model in self for action in actions]
        whole += [model.permission("purge") for model in self if model.can_be_purged]
        guards = [one.guard for model in self for one in model.fields]
        single = [name for guard in guards for name in (guard.read, guard.write) if name is not None]
        return list(dict.fromkeys([*whole, *single]))
