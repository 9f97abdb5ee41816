"""Rows and queries, drawn from few values, so that they meet."""

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any
from uuid import UUID

import msgspec
from hypothesis import strategies as st

from adapters.memory.entities.state import SHARES
from domain.entities.declaration import EntityModel, FieldModel, Registry
from domain.entities.kinds import Kind
from domain.entities.query.kinds import QUERY_KINDS, is_sortable
from domain.entities.query.matching import without_case
from domain.entities.query.query import Operator

Row = dict[str, object]
Rows = dict[str, list[Row]]
"""By table; also the members and the shares."""
TENANTS = (UUID(int=1), UUID(int=2))

Texts = tuple[str, ...]
"""An example draws from few texts, which differ in what is easily got wrong."""

texts = st.sampled_from(
    (
        ("a", "A", "ab", "", "zz"),
        ("a_b", "aXb", "_", "A_B"),
        ("100%", "100x", "%", "a\\b", "\\"),
        ("Éa", "éA", "é", "ΑΣ", "ας", "σ"),
        ("İ", "i", "x,y", 'q"q', " ", "ﬃ", "😀"),
        ("ß", "ẞ", "SS", "ss", "straße", "STRASSE"),
        ("é", "e\u0301", "É", "E\u0301", "ı", "I", "ς", "Σ"),
        ("lamp", "LAMPE", "a lamp", "lam_p", "lam%p", "lamXp", "lam\\p"),
    )
)
_MOMENTS = (
    datetime(2026, 1, 1, tzinfo=UTC),
    datetime(2026, 1, 1, 0, 0, 0, 1, tzinfo=UTC),
    datetime(2026, 1, 2, 1, 30, tzinfo=timezone(timedelta(hours=2))),
    datetime(1, 1, 2, tzinfo=UTC),
    datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
)
_VALUES: Mapping[Kind, Sequence[Any]] = {
    Kind.INTEGER: (-(2**31), -1, 0, 1, 2, 2**31 - 1),
    Kind.BIG_INTEGER: (-(2**63), -1, 0, 2, 2**63 - 1),
    Kind.DECIMAL: (Decimal("-1.5"), Decimal(0), Decimal("1.50"), Decimal(100_000_000), Decimal("9999999999.99")),
    Kind.FLOAT: (-1e300, -0.5, 0.0, 0.1, 5e-324, 2.0),
    Kind.BOOLEAN: (False, True),
    Kind.TIMESTAMP: _MOMENTS,
    Kind.DATE: (date(1, 1, 1), date(2026, 1, 1), date(2026, 1, 2), date(9999, 12, 31)),
    Kind.UUID: (UUID(int=0), UUID(int=2**128 - 1), UUID(int=1000)),
    Kind.TEXTS: ([], ["a"], ["a", "b"]),
    Kind.UUIDS: ([], [UUID(int=7)], [TENANTS[0]], [*TENANTS]),
    Kind.LINKS: [UUID(int=n) for n in range(1001, 1012)],
}
# no decimal of the column is equal to one of these
_BETWEEN_AND_BEYOND = [Decimal(text) for text in ("1.505", "-1.4999", "0.00000000001", "1e30", "-1e30", "1e-150")]


@st.composite
def rows(draw: st.DrawFn, registry: Registry, texts: Texts, *, are_of_all: bool = False) -> Rows:
    """References lead to rows of any tenant, living or not: a forged one must show nothing.

    Pages of the members ``are_of_all`` tenants have no defined order for the memberships of one user, so each user has
    only one.
    """
    drawn: Rows = {}
    number = 1000
    for model in registry:
        drawn[model.table] = [] if not model.declaration.is_view else draw(_members(texts, 1 if are_of_all else 2))
        if model.declaration.is_view:
            continue
        for _ in range(draw(st.sampled_from((0, 2, 4, 6, 8)))):
            number += 1
            row = draw(_row(model, UUID(int=number), texts))
            refer = _refer(draw, model, registry, row, drawn)
            if refer and _is_unique(model, row, drawn[model.table]):
                drawn[model.table].append(row)
    drawn[SHARES] = draw(_shares(registry, drawn))
    return drawn


@st.composite
def _members(draw: st.DrawFn, texts: Texts, most: int) -> list[Row]:
    """A user has the same name in each tenant."""
    named = {user: draw(st.sampled_from(texts)) for user in _VALUES[Kind.UUID]}
    joined = st.dictionaries(st.sampled_from(TENANTS), st.sampled_from(_MOMENTS), max_size=most)
    return [
        {"id": user, "tenant_id": tenant, "full_name": name, "profile_picture_url": None, "joined_at": at}
        for user, name in named.items()
        for tenant, at in draw(joined).items()
    ]


def _shares(registry: Registry, drawn: Mapping[str, Sequence[Row]]) -> st.SearchStrategy[list[Row]]:
    """Of rows of any tenant, living or not."""
    named = [(model.plural, row["id"]) for model in registry if model.declaration.shared for row in drawn[model.table]]
    if not named:
        return st.just([])
    keys = st.tuples(st.sampled_from(TENANTS), st.sampled_from(_VALUES[Kind.UUID]), st.sampled_from(named))
    return st.dictionaries(keys, st.sampled_from(("read", "update")), max_size=8).map(
        lambda levels: [
            {"tenant_id": tenant, "user_id": user, "entity": plural, "row_id": row_id, "level": level}
            for (tenant, user, (plural, row_id)), level in levels.items()
        ]
    )


@st.composite
def _row(draw: st.DrawFn, model: EntityModel, row_id: UUID, texts: Texts) -> Row:
    values = {field.name: draw(_value(field, texts)) for field in model.fields if field.target is None}
    tenant = draw(st.sampled_from((*TENANTS[:1] * 3, *TENANTS[1:]))) if model.tenant_owned else None
    return {**values, "id": row_id, "tenant_id": tenant}


def _value(field: FieldModel, texts: Texts) -> st.SearchStrategy[object]:
    if field.name == "is_deleted":
        return st.sampled_from((False, False, False, True))
    held: st.SearchStrategy[object] = st.sampled_from(_values(field, texts))
    if field.kind is Kind.CHOICE:
        held = held.map(lambda text: msgspec.convert(text, field.type))
    return st.none() | held if field.nullable else held


def _refer(draw: st.DrawFn, model: EntityModel, registry: Registry, row: Row, drawn: dict[str, list[Row]]) -> bool:
    for field in model.fields:
        if field.link is not None:
            row[field.name] = draw(
                _links(field, [other["id"] for other in drawn.get(registry[field.link.target].table, ())])
            )
        if field.attachment is not None:
            row[field.name] = None  # files are not drawn
        elif field.reference is not None:
            target = registry[field.reference.target]
            there = [other["id"] for other in drawn.get(target.table, ())]
            if not there and not field.nullable:
                return False
            row[field.name] = draw(st.sampled_from([*([None] if field.nullable else []), *there]))
    return True


def _links(field: FieldModel, targets: Sequence[object]) -> st.SearchStrategy[dict[object, int]]:
    """Targets of any tenant, living or not, with places that may be equal."""
    if not targets:
        return st.just({})
    return st.lists(st.tuples(st.sampled_from(targets), st.integers(1, 3)), max_size=4).map(dict)


def _values(field: FieldModel, texts: Texts) -> Sequence[Any]:
    if field.money is not None:
        return [value.quantize(Decimal(1).scaleb(-field.money.scale)) for value in _VALUES[field.kind]]
    return texts if field.kind is Kind.TEXT else field.choices or _VALUES[field.kind]


def _is_unique(model: EntityModel, row: Row, others: Sequence[Row]) -> bool:
    return not any(
        all(without_case(row[name]) == without_case(other[name]) for name in unique.fields)
        and row["tenant_id"] == other["tenant_id"]
        for unique in model.unique
        for other in others
    )


Parameters = list[tuple[str, str]]


def _perhaps(draw: st.DrawFn) -> bool:
    return draw(st.booleans())


@st.composite
def parameters(draw: st.DrawFn, registry: Registry, model: EntityModel, texts: Texts) -> Parameters:
    """A query as it is written, valid in its form; names are never given twice."""
    given = [draw(_condition(registry, model, texts)) for _ in range(draw(st.sampled_from((0, 1, 1, 1, 2))))]
    if model.declaration.search and _perhaps(draw):
        given.append(("search", " ".join(draw(st.lists(st.sampled_from(texts), max_size=2)))))
    if draw(st.booleans()):
        given.append(("sort", ",".join(draw(_keys(registry, model)))))
    if model.relations and _perhaps(draw):
        given.append(("include", ",".join(draw(st.lists(_way(registry, model, 3, 1), min_size=1, max_size=3)))))
    if "is_deleted" in model.by_name and _perhaps(draw):
        given.append(("includeDeleted", "true"))
    if draw(st.booleans()):
        given.append(
            ("fields", ",".join(draw(st.lists(st.sampled_from([field.wire for field in model.fields]), min_size=1))))
        )
    given.append(("pageSize", str(draw(st.integers(1, 4)))))
    given.append(("page", str(draw(st.sampled_from((1, 1, 1, 1, 2, 3, 999_999))))))
    return list(dict(given).items())


@st.composite
def _way(
    draw: st.DrawFn, registry: Registry, model: EntityModel, most: int, least: int = 0, only_one: bool = False
) -> str:
    steps: list[str] = []
    for _ in range(draw(st.integers(least, most))):
        names = [relation.name for relation in model.relations.values() if not (only_one and relation.is_many)]
        if not names:
            break
        steps.append(draw(st.sampled_from(sorted(names))))
        model = registry.target(model.relations[steps[-1]])
    return ".".join(steps)


def _end(registry: Registry, model: EntityModel, way: str) -> EntityModel:
    for step in way.split(".") if way else ():
        model = registry.target(model.relations[step])
    return model


@st.composite
def _condition(draw: st.DrawFn, registry: Registry, model: EntityModel, texts: Texts) -> tuple[str, str]:
    way = draw(_way(registry, model, 2))
    fields = _end(registry, model, way).fields
    field = draw(st.sampled_from([*fields, *[field for field in fields if field.kind is Kind.TEXT] * 3]))
    prefix = f"{way}." if way else ""
    bounds = QUERY_KINDS[field.kind].bounds
    if bounds and _perhaps(draw):
        return prefix + draw(st.sampled_from(bounds)).name(field.wire), draw(_text(field, texts))
    operator = draw(st.sampled_from(QUERY_KINDS[field.kind].operators))
    name = f"{prefix}{field.wire}.{operator.value}"
    if operator is Operator.IS_NULL:
        return name, draw(st.sampled_from(("true", "false")))
    if operator in (Operator.IN, Operator.ALL):
        values = draw(st.lists(_text(field, texts), min_size=1, max_size=3))
        names = (name, prefix + field.wire) if operator is Operator.IN else (name,)
        return draw(st.sampled_from(names)), ",".join(_quoted(value) for value in values)
    return name, draw(_text(field, texts)) or ("a" if operator.value.endswith(("contains", "With")) else "")


def _text(field: FieldModel, texts: Texts) -> st.SearchStrategy[str]:
    values = _values(field, texts)
    if field.kind is Kind.DECIMAL:
        values = [*values, *_BETWEEN_AND_BEYOND]
    if field.kind is Kind.UUID:
        values = [*values, *(UUID(int=n) for n in range(1001, 1006))]
    return st.sampled_from(values).map(_written)


def _written(value: object) -> str:
    return (
        str(value).lower() if isinstance(value, bool) else value.isoformat() if isinstance(value, date) else str(value)
    )


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


@st.composite
def _keys(draw: st.DrawFn, registry: Registry, model: EntityModel) -> list[str]:
    keys: dict[str, str] = {}
    for _ in range(draw(st.integers(1, 3))):
        way = draw(_way(registry, model, 2, only_one=True))
        sortable = [field.wire for field in _end(registry, model, way).fields if is_sortable(field)]
        name = ".".join([way] if way else []) + ("." if way else "") + draw(st.sampled_from(sortable))
        keys[name] = draw(st.sampled_from(("", ":asc", ":desc", ":Descending")))
    return [name + direction for name, direction in keys.items()]
