"""SQLAlchemy Core statements that read entity rows, built only from a query's shape.

The query's values are named arguments: ``tenant``; ``where_0`` … for conditions; ``word_0`` … for words of a search;
``after_0`` … for the cursor; ``size`` and ``offset`` of a page; ``id`` of a single row.
"""

from collections.abc import Iterator
from functools import cached_property
from itertools import count
from typing import Any

import sqlalchemy as sa
from sqlalchemy import CompoundSelect, FromClause, Select, func

from adapters.postgres.entities.reading.conditions import (
    Filter,
    Ordered,
    after,
    has_word,
    ordered_by,
    whole_text,
)
from adapters.postgres.entities.reading.linked import filter_condition, link_values
from adapters.postgres.entities.reading.list_bounds import ListColumn, bounded_list, row_statement
from adapters.postgres.entities.reading.narrowing import among, ids_of
from adapters.postgres.entities.reading.page_bounds import sizes_of, within_bound
from adapters.postgres.entities.reading.row_encoder import Included, Part, RowStatement, labelled
from adapters.postgres.entities.reading.row_estimates import as_if_most_fulfil, may_be_found_by_index
from adapters.postgres.entities.reading.rows import Related, Shape, in_reach, listed_rows, related_rows
from adapters.postgres.statements.compiled import CompiledStatement, compiled, constant, parameter
from adapters.postgres.statements.json_values import Column, json_columns, json_object
from adapters.postgres.statements.planning import planned_for_values
from adapters.postgres.statements.rows import Truth, Value, rows_of, table_of
from domain.entities.declaration import EntityModel, Registry, Relation
from domain.entities.query.query import Path, default_sort, searched
from domain.entities.query.responses import included, response_fields, split_by_step

MANY = 100
"""Maximum number of rows of a to-many relation in a response."""
MOST_COLUMNS = 1_600
"""Maximum number of columns of a response: PostgreSQL accepts 1,664, and the statement adds some."""
MOST_JOINED = 6
"""Maximum number of relations that a statement's filters join: planning thirty joins needs seconds."""
SIZE, OFFSET = parameter("size", sa.Integer()), parameter("offset", sa.BigInteger())
# A field name has no blank.
_PLACE = "the place"


def page_statement(registry: Registry, model: EntityModel, shape: Shape) -> RowStatement:
    """Return the statement for a page's rows and one more row, if any.

    After the response's columns follow the sort values, only of the page's last row, and then the total, if it is
    requested and needs a count. The last row always has the total.
    """
    making = SelectRows(registry, model, shape)
    found = making.page()
    # Compute the answer's columns only for rows on the page.
    rows = sa.select(found, func.row_number().over().label(_PLACE)).subquery("r")
    parts, joined = making.answer(rows)
    place, keys = rows.c[_PLACE], [_key(number) for number in range(len(shape.sort))]
    last = [sa.case((place == SIZE, rows.c[key])).label(key) for key in keys]
    columns = [*labelled(parts), *last, within_bound(making.total(place), place, making.sizes).label("total")]
    order = None if joined is rows and not making.lists else place
    answer = sa.select().select_from(joined)
    return row_statement(
        columns, planned_for_values(answer) if shape.is_planned else answer, parts, making.lists, order
    )


def get_statement(registry: Registry, model: EntityModel, shape: Shape) -> RowStatement:
    """Return the statement for a row by its id; the version follows the response's columns."""
    making = SelectRows(registry, model, shape)
    parts, joined = making.answer(making.rows)
    version = making.rows.c.version if model.has_versions else constant(0)
    where = [*making.reached(), making.rows.c.id == parameter("id", sa.Uuid())]
    columns = [*labelled(parts), version.label("seen")]
    row = sa.select().select_from(joined).where(*where)
    # A list of related rows depends on the size of the tenant. A row by its id does not.
    return row_statement(columns, planned_for_values(row) if making.lists else row, parts, making.lists)


def count_statement(registry: Registry, model: EntityModel, shape: Shape) -> CompiledStatement:
    making = SelectRows(registry, model, shape)
    counted = making.matching(func.count()) if making.ids is None else sa.select(making.count())
    return compiled(planned_for_values(counted))


def bounded_count_statement(registry: Registry, model: EntityModel, shape: Shape) -> CompiledStatement:
    """Count matching rows, at most ``counted``: the planner's estimate would reveal other tenants' rows."""
    making = SelectRows(registry, model, shape)
    return compiled(planned_for_values(sa.select(making.count(parameter("counted", sa.Integer())))))


def _key(number: int) -> str:
    return f"sort {number + 1}"


class SelectRows:
    """A statement under construction: ``rows`` is the entity's table, and each joined table gets its alias here.

    ``lists`` are the answer's columns with lists of related rows, ``sizes`` the bytes of its other long values.
    """

    def __init__(self, registry: Registry, model: EntityModel, shape: Shape) -> None:
        self.registry = registry
        self.model = model
        self.shape = shape
        self.rows = rows_of(registry, model, "t")
        self.lists: list[ListColumn] = []
        self.sizes: list[Value] = []
        self._aliases = (f"t{number}" for number in count(1))
        self._joined = count()

    def matching(self, *columns: Value) -> Select[Any]:
        """Return the query's rows, without order and page."""
        return sa.select(*columns).select_from(self.rows).where(*self.where)

    def total(self, place: Value) -> Value:
        """Return the number of matching rows, null if not counted."""
        if not self.shape.counts:
            return sa.cast(sa.null(), sa.BigInteger())
        total = self.count()
        # On the last page, the position gives the total without counting.
        return total if self.shape.after is not None else sa.case((place > SIZE, total))

    def count(self, most: Value | None = None) -> Value:
        """Return the expression that counts matching rows: among the index's ids if any, else at most ``most``."""
        some = None if most is None else self.matching(constant(1)).limit(most).subquery("some")
        counted = self.matching(func.count()) if some is None else sa.select(func.count()).select_from(some)
        every = counted.scalar_subquery()
        if self.ids is None:
            return every
        found = sa.select(func.count()).select_from(self.rows).where(*self._among(self.ids))
        return sa.case((self.ids.is_(None), every), else_=found.scalar_subquery())

    @cached_property
    def ids(self) -> Value | None:
        """Return the ids of possible matches, as an expression; null if the index is not used, None if it never is."""
        narrowing = self.shape.narrowing
        return None if narrowing is None else ids_of(self.model, table_of(self.registry, self.model), narrowing)

    def page(self) -> FromClause:
        """Select the page's rows and one more, with their sort values."""
        rows = self.rows
        joined, ordered = self.order(rows)
        carried = ("tenant_id", "id") if self.shape.is_deep else self._carried(self.model, ())
        columns = [rows.c[name] for name in carried if name in rows.c]
        keys = [key.value.label(_key(number)) for number, key in enumerate(ordered)]
        behind = [] if self.shape.after is None else [after(ordered, self.shape.after, self._cut_texts())]
        found = sa.select(*columns, *keys).select_from(joined)
        in_order = self._paged(found.where(*self._where_in_order(), *behind), ordered)
        if self.ids is None:
            either: Select[Any] | CompoundSelect[Any] = in_order
        else:
            # If ids exist, only the first half of the union returns rows; if they are null, only the second half does.
            by_ids = self._paged(found.where(*self._among(self.ids), *behind), ordered)
            either = sa.union_all(by_ids, in_order.where(self.ids.is_(None)))
        return self._joined_back(either) if self.shape.is_deep else either.subquery("r")

    def _cut_texts(self) -> dict[int, Value]:
        """Return subqueries for the full sort values of the row where the cursor points, by number of the sort key."""
        if not self.shape.cut:
            return {}
        named = SelectRows(self.registry, self.model, self.shape)
        named.rows, named._aliases = rows_of(self.registry, self.model, "c"), (f"c{number}" for number in count(1))
        joined, ordered = named.order(named.rows)
        by_id = next(number for number, key in enumerate(self.shape.sort) if key.path == Path((), "id"))
        # A row deleted since still marks the end of the previous page.
        where = [
            *in_reach(self.registry, self.model, named.rows, self.shape.reach, include_deleted=True),
            named.rows.c.id == parameter(f"after_{by_id}", sa.Uuid()),
        ]
        return {number: whole_text(ordered[number], f"after_{number}", joined, where) for number in self.shape.cut}

    def _paged(self, found: Select[Any], ordered: list[Ordered]) -> Select[Any]:
        found = found.order_by(*(key.order for key in ordered)).limit(SIZE + constant(1))
        return found if self.shape.after is not None else found.offset(OFFSET)

    def _among(self, ids: Value) -> list[Truth]:
        # Let the planner assume that most rows match; otherwise reading all rows of a tenant seems cheaper than ten
        # ids.
        return [among(self.rows, ids), as_if_most_fulfil(self.where)]

    def _joined_back(self, ids: Select[Any] | CompoundSelect[Any]) -> FromClause:
        """Fetch the page's rows by their ids."""
        # Avoid fetching skipped rows whole.
        found, rows = ids.subquery("k"), rows_of(self.registry, self.model, "t")
        keys = [found.c[_key(number)] for number in range(len(self.shape.sort))]
        order = [key.desc() if sort.descending else key for key, sort in zip(keys, self.shape.sort, strict=True)]
        tenant = [rows.c.tenant_id == found.c.tenant_id] if self.model.tenant_owned else []
        on = sa.and_(*self.reached(rows), *tenant, rows.c.id == found.c.id)
        columns = [rows.c[name] for name in self._carried(self.model, ())]
        return sa.select(*columns, *keys).select_from(found.join(rows, on)).order_by(*order).subquery("r")

    def reached(self, rows: FromClause | None = None) -> list[Truth]:
        """Return the conditions of the scope and the view."""
        rows, deleted = self.rows if rows is None else rows, self.shape.view.include_deleted
        return in_reach(self.registry, self.model, rows, self.shape.reach, include_deleted=deleted)

    @cached_property
    def where(self) -> list[Truth]:
        """The query's conditions, without the cursor's."""
        return [*self.reached(), *self._hold(self.model, self.rows, self._filters(), 0), *self._words()]

    def _where_in_order(self) -> list[Truth]:
        """``where`` that makes the planner follow the page's order if no index fits."""
        filters = self._filters()
        order = next((key.path for key in self.shape.sort), None)
        further = [each for each in filters if each.path.steps or each.path != order]
        is_left_to_planner = self.shape.reach.is_every or not self.model.tenant_owned
        if is_left_to_planner or any(may_be_found_by_index(self.model, each.path, each.operator) for each in further):
            return self.where
        unfound = [*(self._holds(self.model, self.rows, each) for each in further), *self._words()]
        ordering = (self._holds(self.model, self.rows, each) for each in filters if each not in further)
        return [*self.reached(), *ordering, *([as_if_most_fulfil(unfound)] if unfound else [])]

    def _filters(self) -> list[Filter]:
        return [Filter(path, operator, f"where_{n}") for n, (path, operator) in enumerate(self.shape.where)]

    def _words(self) -> list[Truth]:
        fields = searched(self.model, self.shape.view.hidden)
        return [has_word(self.rows, fields, f"word_{n}") for n in range(self.shape.words)]

    def _hold(self, model: EntityModel, rows: FromClause, filters: list[Filter], depth: int) -> Iterator[Truth]:
        """Yield conditions on ``rows`` and related rows.

        Those on one relation apply to one row: ``reviews.rating.gte=4&reviews.author=Ann`` means one review.
        """
        here, beyond = split_by_step(filters, depth)
        yield from (self._holds(model, rows, each) for each in here)
        for step, further in beyond.items():
            target, far, on, _ = self.related(model.relations[step], rows)
            conditions = [*on, *self._hold(target, far, further, depth + 1)]
            # Correlate explicitly: within a subquery, Core might choose another row.
            found = sa.select().select_from(far).where(*conditions).correlate(rows)
            # OFFSET makes PostgreSQL look up the related row for each row.
            yield (found if next(self._joined) < MOST_JOINED else found.offset(constant(0))).exists()

    def _holds(self, model: EntityModel, rows: FromClause, given: Filter) -> Truth:
        return filter_condition(self.registry, model, rows, given, self.shape.reach)

    def order(self, joined: FromClause) -> tuple[FromClause, list[Ordered]]:
        """Return the sort keys, and ``joined`` with an outer join for each relation in their paths."""
        places: dict[tuple[str, ...], tuple[FromClause, EntityModel]] = {(): (self.rows, self.model)}
        ordered: list[Ordered] = []
        for key in self.shape.sort:
            for depth, step in enumerate(key.path.steps):
                way = key.path.steps[: depth + 1]
                if way not in places:
                    near, model = places[way[:-1]]
                    target, far, on, _ = self.related(model.relations[step], near)
                    joined = joined.outerjoin(far, sa.and_(*on))
                    places[way] = (far, target)
            rows, model = places[key.path.steps]
            field = model.by_name[key.path.field]
            is_outer = bool(key.path.steps)
            ordered.append(ordered_by(model, field, rows, descending=key.descending, is_outer=is_outer))
        return joined, ordered

    def related(self, relation: Relation, near: FromClause) -> Related:
        return related_rows(self.registry, relation, near, next(self._aliases), self.shape.reach)

    def answer(self, rows: FromClause) -> tuple[list[Part], FromClause]:
        """Return the response's columns from ``rows``, and ``rows`` joined to the included to-one rows."""
        joins: list[Related] = []
        parts = self._parts(self.model, rows, (), joins)
        for join in joins:
            rows = rows.outerjoin(join.rows, sa.and_(*join.conditions))
        return parts, rows

    def _parts(self, model: EntityModel, rows: FromClause, steps: tuple[str, ...], joins: list[Related]) -> list[Part]:
        """Return a row's fields, then its included objects and lists; append to-one joins to ``joins``."""
        parts: list[Part] = [*self._own(model, rows, steps)]
        self.sizes += sizes_of(model, rows, response_fields(model, self.shape.view, steps))
        for relation in self._included(model, steps):
            way = (*steps, relation.name)
            if relation.is_many or self._is_wide:
                self.lists += [ListColumn(".".join(way), inside) for inside in self._lists_in(relation, way)]
                parts += self._written(relation, rows, way)
            else:
                join = self.related(relation, rows)
                joins.append(join)
                parts.append(Included(relation.name, tuple(self._parts(join.model, join.rows, way, joins))))
        return parts

    def _lists_in(self, relation: Relation, steps: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
        """Yield the paths from an included row to its outermost lists; for a list, the empty path."""
        if relation.is_many:
            yield ()
            return
        for further in self._included(self.registry.target(relation), steps):
            for way in self._lists_in(further, (*steps, further.name)):
                yield (further.name, *way)

    @cached_property
    def _is_wide(self) -> bool:
        """Too many columns: the server then returns single included rows as JSON."""
        return self._width(self.model, ()) > MOST_COLUMNS

    def _width(self, model: EntityModel, steps: tuple[str, ...]) -> int:
        width = len(response_fields(model, self.shape.view, steps)) + 1
        for relation in self._included(model, steps):
            target = self.registry.target(relation)
            width += 2 if relation.is_many else self._width(target, (*steps, relation.name))
        return width

    def members(self, model: EntityModel, rows: FromClause, steps: tuple[str, ...]) -> Iterator[Column]:
        """Yield the members of an object encoded by PostgreSQL: a row's fields, then its included objects and lists."""
        yield from self._own(model, rows, steps)
        for relation in self._included(model, steps):
            yield from self._written(relation, rows, (*steps, relation.name))

    def _own(self, model: EntityModel, rows: FromClause, steps: tuple[str, ...]) -> list[Column]:
        fields = response_fields(model, self.shape.view, steps)
        links = link_values(self.registry, model, rows, fields, self.shape.reach)
        return json_columns(model, rows, fields, shows_tenant=self.shape.reach.is_every, links=links)

    def _included(self, model: EntityModel, steps: tuple[str, ...]) -> list[Relation]:
        return [model.relations[name] for name in included(self.shape.view, steps)]

    def _carried(self, model: EntityModel, steps: tuple[str, ...]) -> list[str]:
        """Columns needed for the answer and the included rows."""
        # Each column costs time and memory in every subquery.
        names = {"id", *response_fields(model, self.shape.view, steps)}
        names |= {relation.by for relation in self._included(model, steps) if not relation.is_many}
        if self.shape.reach.is_every:
            names.add("tenant_id")
        return [column.name for column in table_of(self.registry, model).c if column.name in names]

    def _written(self, relation: Relation, near: FromClause, steps: tuple[str, ...]) -> Iterator[Column]:
        """Yield the included rows as JSON: an object, or a list and whether the list was cut."""
        related = self.related(relation, near)
        target, far, on, _ = related
        if not relation.is_many:
            body = json_object(self.members(target, far, steps), far)
            yield relation.name, sa.select(body).select_from(far).where(*on).correlate(near).scalar_subquery()
            return
        sort = default_sort(target, self.shape.view.hidden)
        first = listed_rows(relation, related, near, self._carried(target, steps), sort)
        found = first.limit(constant(MANY)).subquery(far.name)
        items = sa.select(json_object(self.members(target, found, steps), found).label("item")).select_from(found)
        has_lists = any(
            True for step in self._included(target, steps) for _ in self._lists_in(step, (*steps, step.name))
        )
        yield relation.name, bounded_list(items, f"{far.name} rows", has_lists=has_lists).scalar_subquery()
        more = sa.select().select_from(far).where(*on).correlate(near).offset(constant(MANY))
        yield f"{relation.name}HasMore", more.exists()
