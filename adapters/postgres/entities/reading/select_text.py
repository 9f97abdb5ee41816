"""The text of the statements that read: from a query's shape, and nothing else of it. Pure."""

from collections.abc import Iterator
from itertools import count

from msgspec import Struct

from adapters.postgres.entities.reading.conditions import Asked, Ordered, after, condition, has_word
from adapters.postgres.entities.reading.json import Column, json_columns, json_object, quoted
from adapters.postgres.entities.reading.row_encoder import Included, Part, RowEncoder, Statement
from adapters.postgres.entities.reading.rows import Reach, related_rows, rows_of
from domain.entities.declaration import EntityModel, Registry, Relation
from domain.entities.query.query import Operator, Path, SortKey, View, default_sort, included, parted, searched, shown

MANY = 100
"""How many rows of a to-many relation an answer holds."""


class Shape(Struct, frozen=True, kw_only=True):
    """What of a query its text depends on. The parameters are, in order: the tenant where one owns the rows, the
    conditions' values, the words, the cursor's values that are not null, the size of a page, its offset.

    ``after`` says which values of the cursor are not null; ``is_deep`` pages find the ids first; ``counts`` adds how
    many rows there are in all.
    """

    reach: Reach
    view: View
    where: tuple[tuple[Path, Operator], ...]
    words: int
    sort: tuple[SortKey, ...] = ()
    after: tuple[bool, ...] | None = None
    is_deep: bool = False
    counts: bool = False


def page_statement(registry: Registry, model: EntityModel, shape: Shape) -> Statement:
    """The rows of a page and one more, if there is one. Behind what is shown of them come the sort values, of the
    page's last row alone; and the total where it is asked for and needed, in the last row at the latest.

    What the rows look like is asked only of those that are on the page, however many were passed over.
    """
    text = SelectText(registry, model, shape)
    shown = RowEncoder(text.parts(model, "r", ()))
    keys = [_key(n) for n in range(len(shape.sort))]
    last = "".join(f", CASE WHEN r.{_PLACE} = {text.size} THEN r.{key} END AS {key}" for key in keys)
    total = _total(registry, model, shape, text)
    numbered = f"SELECT r.*, row_number() OVER () AS {_PLACE} FROM ({text.page()}) r"
    order = f" ORDER BY r.{_PLACE}" if text.joins else ""
    rows = " ".join([f"({numbered}) r", *text.joins])
    return Statement(f"SELECT {shown.text}{last}, {total} AS total FROM {rows}{order}", shown)


_PLACE = '"the place"'


def _total(registry: Registry, model: EntityModel, shape: Shape, text: "SelectText") -> str:
    """Counted once, and not at all where the page tells it, because it is the last one."""
    if not shape.counts:
        return "NULL::bigint"
    total = f"({count_text(registry, model, shape)})"
    return total if shape.after is not None else f"CASE WHEN r.{_PLACE} > {text.size} THEN {total} END"


def count_text(registry: Registry, model: EntityModel, shape: Shape, what: str = "count(*)") -> str:
    text = SelectText(registry, model, shape)
    rows = rows_of(model, "t", shape.reach, include_deleted=shape.view.include_deleted)
    conditions = [*rows.conditions, *text.conditions()]
    return f"SELECT {what} FROM {rows.text} WHERE {' AND '.join(conditions) or 'true'}"


def get_statement(registry: Registry, model: EntityModel, shape: Shape) -> Statement:
    """The parameter after the tenant is the id. Behind what is shown comes the version."""
    text = SelectText(registry, model, shape)
    rows = rows_of(model, "t", shape.reach, include_deleted=shape.view.include_deleted)
    shown = RowEncoder(text.parts(model, "t", ()))
    version = "t.version" if "version" in model.by_name else "0"
    found = f"FROM {' '.join([rows.text, *text.joins])} WHERE {rows.on} AND t.id = ${text.first}"
    return Statement(f"SELECT {shown.text}, {version} AS seen {found}", shown)


def _key(number: int) -> str:
    """No field has a blank in its name."""
    return f'"sort {number + 1}"'


class SelectText:
    """One statement in the making: it counts parameters in the order of the shape, and hands out aliases."""

    def __init__(self, registry: Registry, model: EntityModel, shape: Shape) -> None:
        self.registry = registry
        self.model = model
        self.shape = shape
        self.first = 2 if shape.reach.takes_tenant(model) else 1
        self._first_word = self.first + len(shape.where)
        self._first_after = self._first_word + shape.words
        number = self._first_after + sum(shape.after or ())
        self.size, self.offset = f"${number}::int", f"${number + 1}::bigint"
        self._aliases = (f"t{number}" for number in count(1))
        self.joins: list[str] = []

    def page(self) -> str:
        """The rows of the page and one more, with their sort values beside them."""
        rows = rows_of(self.model, "t", self.shape.reach, include_deleted=self.shape.view.include_deleted)
        joins, ordered = self.order()
        conditions = [*rows.conditions, *self.conditions(), *self._after(ordered)]
        values = ", ".join(f"{one.expression} AS {_key(number)}" for number, one in enumerate(ordered))
        ids = "t.tenant_id, t.id" if self.model.tenant_owned else "t.id"
        found = (
            f"SELECT {ids if self.shape.is_deep else 't.*'}, {values} FROM {' '.join([rows.text, *joins])} "
            f"WHERE {' AND '.join(conditions) or 'true'} ORDER BY {', '.join(one.order for one in ordered)} "
            f"LIMIT {self.size} + 1{'' if self.shape.after is not None else f' OFFSET {self.offset}'}"
        )
        return self._joined_back(found) if self.shape.is_deep else found

    def _joined_back(self, ids: str) -> str:
        """Rows that are only passed over are never fetched whole."""
        rows = rows_of(self.model, "t", self.shape.reach, include_deleted=self.shape.view.include_deleted)
        tenant = ["t.tenant_id = k.tenant_id"] if self.model.tenant_owned else []
        keys = [(_key(number), key.descending) for number, key in enumerate(self.shape.sort)]
        order = ", ".join(f"k.{name} DESC" if descending else f"k.{name}" for name, descending in keys)
        return (
            f"SELECT t.*, {', '.join(f'k.{name}' for name, _ in keys)} FROM ({ids}) k "
            f"JOIN {rows.text} ON {' AND '.join([*rows.conditions, *tenant, 't.id = k.id'])} ORDER BY {order}"
        )

    def conditions(self) -> Iterator[str]:
        """Those of the query, without whose rows they are and where the page begins."""
        asked = [Asked(path, operator, self.first + n) for n, (path, operator) in enumerate(self.shape.where)]
        yield from self._hold(self.model, "t", asked, 0)
        fields = searched(self.model, self.shape.view.hidden)
        yield from (has_word(fields, "t", self._first_word + n) for n in range(self.shape.words))

    def _hold(self, model: EntityModel, alias: str, asked: list[Asked], depth: int) -> Iterator[str]:
        """All conditions by way of one relation are about one row at its end."""
        here, beyond = parted(asked, depth)
        yield from (condition(model, alias, one) for one in here)
        for step, further in beyond.items():
            relation, far = model.relations[step], next(self._aliases)
            target = self.registry.target(relation)
            rows = related_rows(relation, target, (alias, far), self.shape.reach)
            conditions = [*rows.conditions, *self._hold(target, far, further, depth + 1)]
            yield f"EXISTS (SELECT FROM {rows.text} WHERE {' AND '.join(conditions)})"

    def order(self) -> tuple[list[str], list[Ordered]]:
        """The joins to what the keys lie in, one for each relation on their ways, and the keys."""
        aliases: dict[tuple[str, ...], tuple[str, EntityModel]] = {(): ("t", self.model)}
        joins: list[str] = []
        ordered: list[Ordered] = []
        for key in self.shape.sort:
            for depth, step in enumerate(key.path.steps):
                way = key.path.steps[: depth + 1]
                if way not in aliases:
                    near, model = aliases[way[:-1]]
                    relation, far = model.relations[step], next(self._aliases)
                    target = self.registry.target(relation)
                    rows = related_rows(relation, target, (near, far), self.shape.reach)
                    joins.append(f"LEFT JOIN {rows.text} ON {rows.on}")
                    aliases[way] = (far, target)
            alias, model = aliases[key.path.steps]
            is_nullable = bool(key.path.steps) or model.by_name[key.path.field].nullable
            ordered.append(Ordered(f"{alias}.{quoted(key.path.field)}", key, is_nullable))
        return joins, ordered

    def _after(self, ordered: list[Ordered]) -> Iterator[str]:
        if self.shape.after is not None:
            numbers = count(self._first_after)
            yield after(ordered, [next(numbers) if is_held else None for is_held in self.shape.after])

    def parts(self, model: EntityModel, alias: str, steps: tuple[str, ...]) -> list[Part]:
        """A row's own fields, then what is included in it: a single row is joined, see ``joins``, for its values come
        as columns as well."""
        own, relations = self._shown(model, alias, steps)
        return [*own, *(part for one in relations for part in self._included(one, alias, (*steps, one.name)))]

    def _included(self, relation: Relation, alias: str, steps: tuple[str, ...]) -> Iterator[Part]:
        if relation.is_many:
            yield from self._written(relation, alias, steps)
            return
        target, far = self.registry.target(relation), next(self._aliases)
        rows = related_rows(relation, target, (alias, far), self.shape.reach)
        self.joins.append(f"LEFT JOIN {rows.text} ON {rows.on}")
        yield Included(relation.name, tuple(self.parts(target, far, steps)))

    def columns(self, model: EntityModel, alias: str, steps: tuple[str, ...]) -> list[Column]:
        """The same, all of it values that the server writes into an object."""
        own, relations = self._shown(model, alias, steps)
        return [*own, *(column for one in relations for column in self._written(one, alias, (*steps, one.name)))]

    def _shown(self, model: EntityModel, alias: str, steps: tuple[str, ...]) -> tuple[list[Column], list[Relation]]:
        names = shown(model, self.shape.view, steps)
        own = json_columns(model, alias, names, shows_tenant=self.shape.reach.is_every)
        return own, [model.relations[name] for name in included(self.shape.view, steps)]

    def _written(self, relation: Relation, alias: str, steps: tuple[str, ...]) -> Iterator[Column]:
        target, far = self.registry.target(relation), next(self._aliases)
        rows = related_rows(relation, target, (alias, far), self.shape.reach)
        body = json_object(self.columns(target, far, steps))
        if not relation.is_many:
            yield relation.name, f"(SELECT {body} FROM {rows.text} WHERE {rows.on})"
            return
        keys = default_sort(target, self.shape.view.hidden)
        order = ", ".join(f"{far}.{quoted(key.path.field)}{' DESC' if key.descending else ''}" for key in keys)
        first = f"SELECT {far}.* FROM {rows.text} WHERE {rows.on} ORDER BY {order} LIMIT {MANY}"
        yield relation.name, f"(SELECT coalesce(array_to_json(array_agg({body})), '[]'::json) FROM ({first}) {far})"
        yield f"{relation.name}HasMore", f"EXISTS (SELECT FROM {rows.text} WHERE {rows.on} OFFSET {MANY})"
