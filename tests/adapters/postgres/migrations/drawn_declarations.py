"""Two declarations of one entity and rows of the first, drawn from few names and values, so that they meet."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Annotated, Any, Literal
from uuid import UUID

from hypothesis import strategies as st
from msgspec import NODEFAULT, Meta, Struct, defstruct
from msgspec import field as default_of

from domain.entities.builtin_entities import BUILTIN_ENTITIES
from domain.entities.declaration import Registry
from domain.entities.markers import big, entity, index, money, ref, unique
from domain.entities.registry import build_registry

TENANTS = (UUID(int=1), UUID(int=2))
WRITERS = (UUID(int=11), UUID(int=12))


@dataclass(frozen=True)
class Shape:
    """Type of a field with values that it takes; ``sql`` is its column's type."""

    name: str
    type: Any
    sql: str
    values: Sequence[Any]
    is_list: bool = False
    target: str = ""

    @property
    def is_enum(self) -> bool:
        return self.name in ("wide", "narrow")

    @property
    def is_text(self) -> bool:
        return self.sql == "text"


SHAPES = (
    Shape("text", str, "text", ("a", "A", "7", "1.5", "it's :word", "", "É %s {x}", str(UUID(int=5)))),
    Shape("short", Annotated[str, Meta(max_length=5)], "text", ("a", "b", "12345")),
    Shape("int", int, "integer", (-(2**31), -1, 0, 7, 2**31 - 1)),
    Shape("big", Annotated[int, big], "bigint", (-(2**63), 0, 7, 5_000_000_000, 2**63 - 1)),
    Shape("money82", Annotated[Decimal, money(8, 2)], "numeric(8,2)", (Decimal("1.25"), Decimal("2.00"))),
    Shape("money80", Annotated[Decimal, money(8, 0)], "numeric(8,0)", (Decimal(7), Decimal(99_999_999))),
    Shape("money124", Annotated[Decimal, money(12, 4)], "numeric(12,4)", (Decimal("0.0001"), Decimal("7.0000"))),
    Shape("money220", Annotated[Decimal, money(22, 0)], "numeric(22,0)", (Decimal(7), Decimal(10**21))),
    Shape("float", float, "double precision", (0.1, 7.0, -1e300, 5e-324)),
    Shape("bool", bool, "boolean", (True, False)),
    Shape("timestamp", datetime, "timestamptz",
          (datetime(2026, 1, 2, tzinfo=UTC), datetime(2026, 1, 2, 3, 4, 5, 600000, tzinfo=UTC))),
    Shape("date", date, "date", (date(2026, 1, 2), date(1, 1, 1))),
    Shape("uuid", UUID, "uuid", (UUID(int=5), *WRITERS)),
    Shape("wide", Literal["a", "b", "it's"], "text", ("a", "b", "it's")),
    Shape("narrow", Literal["a", "new"], "text", ("a", "new")),
    Shape("texts", list[str], "text[]", ([], ["a", 'b "c",{}'], ["NULL", ""]), is_list=True),
    Shape("uuids", list[UUID], "uuid[]", ([], [UUID(int=5)]), is_list=True),
    Shape("writer", UUID, "uuid", WRITERS, target="writers"),
    Shape("book", UUID, "uuid", (), target="books"),
)  # fmt: skip


@dataclass(frozen=True)
class Drawn:
    """A field of a drawn declaration; ``default`` is NODEFAULT where a value is required of a body."""

    name: str
    shape: Shape
    nullable: bool
    default: Any

    @property
    def declared(self) -> tuple[Any, ...]:
        kind = self.shape.type | None if self.nullable else self.shape.type
        if self.shape.target:
            kind = Annotated[kind, ref(self.shape.target)]
        if self.default is NODEFAULT:
            return (self.name, kind)
        copied = default_of(default_factory=lambda: list(self.default)) if self.shape.is_list else self.default
        return (self.name, kind, copied if self.default is not None else None)


@dataclass(frozen=True)
class Declared:
    """A drawn declaration; ``uniques`` are names with the flag ``ignore_case``."""

    fields: Mapping[str, Drawn]
    owned: bool
    soft: bool
    uniques: tuple[tuple[tuple[str, ...], bool], ...]
    indexed: tuple[str, ...]
    sort: str
    plural: str = "books"

    @property
    def registry(self) -> Registry:
        kind: type[Struct] = defstruct("Book", [field.declared for field in self.fields.values()], kw_only=True)
        book = entity(
            self.plural,
            tenant_owned=self.owned,
            soft_delete=self.soft,
            unique=[unique(*names, ignore_case=ignores) for names, ignores in self.uniques],
            indexes=[index(*self.indexed)] if self.indexed else [],
            sort=self.sort,
        )(kind)
        writer = entity("writers", tenant_owned=False, soft_delete=False)(
            defstruct("Writer", [("name", str)], kw_only=True)
        )
        return build_registry([*BUILTIN_ENTITIES, writer, book])


@dataclass(frozen=True)
class Case:
    """What stands in the database, how it was declared, and how it is declared now."""

    before: Declared
    after: Declared
    rows: Sequence[Mapping[str, Any]]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    before = draw(_declared())
    after = draw(_declared(before))
    rows: list[dict[str, Any]] = []
    for number in range(draw(st.sampled_from((0, 1, 2, 3, 4)))):
        row = draw(_row(before, UUID(int=100 + number), [row["id"] for row in rows]))
        if not any(clash(before, row, other) for other in rows):
            rows.append(row)
    return Case(before, after, rows)


@st.composite
def _declared(draw: st.DrawFn, before: Declared | None = None) -> Declared:
    fields: dict[str, Drawn] = {}
    for name in ("a", "b_id", "order", "d"):
        stood = before.fields.get(name) if before else None
        choice = draw(st.sampled_from(("same", "changed", "new", "none") if stood else ("new", "new", "none")))
        if choice == "same" and stood:
            fields[name] = stood
        elif choice != "none":
            fields[name] = draw(_field(name, stood.shape if stood and choice == "changed" else None))
    ordered = [name for name, field in fields.items() if not field.shape.is_list]
    return Declared(
        fields,
        # a switch of the owner is refused whatever else changes: it is drawn seldom
        owned=before.owned if before and draw(st.integers(0, 9)) else draw(st.booleans()),
        soft=draw(st.booleans()),
        uniques=draw(_uniques(ordered)),
        indexed=tuple(draw(st.lists(st.sampled_from(ordered), max_size=1))) if ordered else (),
        sort=draw(st.sampled_from(("-created_at", *ordered))),
    )


@st.composite
def _uniques(draw: st.DrawFn, names: Sequence[str]) -> tuple[tuple[tuple[str, ...], bool], ...]:
    if not names:
        return ()
    some = draw(st.lists(st.lists(st.sampled_from(names), min_size=1, max_size=2, unique=True), max_size=2))
    return tuple({frozenset(group): (tuple(group), draw(st.booleans())) for group in some}.values())


@st.composite
def _field(draw: st.DrawFn, name: str, stood: Shape | None) -> Drawn:
    # of a field that changes, each second time only null and default do
    shape = stood if stood and draw(st.booleans()) else draw(st.sampled_from(SHAPES))
    if shape.target and name != "b_id":
        shape = SHAPES[0]
    nullable = draw(st.booleans())
    defaults = [NODEFAULT, *([None] if nullable else []), *(() if shape.target else shape.values)]
    return Drawn(name, shape, nullable, draw(st.sampled_from(defaults)))


@st.composite
def _row(draw: st.DrawFn, declared: Declared, row_id: UUID, others: Sequence[UUID]) -> dict[str, Any]:
    row: dict[str, Any] = {"id": row_id, "version": 1}
    if declared.owned:
        row["tenant_id"] = draw(st.sampled_from(TENANTS[:1] if others else TENANTS))
    if declared.soft:
        row["is_deleted"] = draw(st.sampled_from((False, False, True)))
    for field in declared.fields.values():
        values = (row_id,) if field.shape.target == "books" else field.shape.values
        row[field.name] = draw(st.sampled_from([*values, *([None] if field.nullable else [])]))
    return row


def clash(declared: Declared, row: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    if row.get("tenant_id") != other.get("tenant_id") or (
        declared.soft and (row.get("is_deleted") or other.get("is_deleted"))
    ):
        return False
    return any(
        all(
            row[name] is not None and _compared(row[name], ignores) == _compared(other[name], ignores) for name in names
        )
        for names, ignores in declared.uniques
    )


def _compared(value: Any, ignores_case: bool) -> Any:
    return value.lower() if ignores_case and isinstance(value, str) else value
