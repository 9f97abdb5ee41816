"""Reads of entity rows: filters, search, order, pages and included rows."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID

from msgspec import Raw

from adapters.memory.entities.history import version_of
from adapters.memory.entities.row_json import Object, encoded, json_object
from adapters.memory.entities.rows import VisibleRows, shown
from adapters.memory.entities.state import Row
from application.ports.entities.records import RowPage, Stored
from domain.entities.declaration import EntityModel
from domain.entities.query.matching import has_words, holds, is_after_cursor, plain, sort_value
from domain.entities.query.query import (
    MOST_COUNTED,
    Beginning,
    Condition,
    Count,
    Path,
    Query,
    SortKey,
    View,
    default_sort,
    searched,
)
from domain.entities.query.read_query import MAX_PAGE_SIZE
from domain.entities.query.responses import (
    LARGEST_CHARACTER,
    LARGEST_PAGE_BYTES,
    MOST_INCLUDED_BYTES,
    included,
    response_fields,
    split_by_step,
    too_large_page,
    too_much_included,
)
from domain.scope import EveryTenant

MANY = 100
"""Maximum number of rows of a to-many relation in a response."""


@dataclass(frozen=True)
class RowReader:
    """Reads within a scope."""

    rows: VisibleRows

    def get(self, model: EntityModel, row_id: UUID, view: View) -> Stored | None:
        row = self.rows.get(model, row_id, include_deleted=view.include_deleted)
        if row is None:
            return None
        return Stored(row_id, version_of(row), encoded(self._bounded([self._row_json(model, row, view, ())], view)[0]))

    def page(self, model: EntityModel, query: Query) -> RowPage:
        found = self.all(model, query)
        rest = found[query.offset :]
        if query.cursor is not None:
            start = self._start(model, query, query.cursor)
            descending = [key.descending for key in query.sort]
            rest = [row for row in found if is_after_cursor(self._values(model, row, query.sort), start, descending)]
        page, has_next = rest[: query.page_size], len(rest) > query.page_size
        bodies = [self._row_json(model, row, query.view, ()) for row in page]
        # The last page gives the exact total.
        is_last = query.cursor is None and not has_next and (bool(page) or not query.offset)
        is_estimate = query.count is Count.ESTIMATED and not is_last and len(found) > MOST_COUNTED
        seen = query.offset + len(page) + has_next
        return RowPage(
            items=_within_page(encoded(self._bounded(bodies, query.view)), bodies, query.page_size),
            length=len(page),
            total=None if query.count is Count.NONE else max(MOST_COUNTED, seen) if is_estimate else len(found),
            has_next=has_next,
            total_is_estimate=is_estimate,
            last=self._values(model, page[-1], query.sort) if has_next else None,
        )

    def all(self, model: EntityModel, query: Query) -> list[Row]:
        """Return all rows of the query, in order."""
        return self._ordered(model, self._matching(model, query), query.sort)

    def item(self, model: EntityModel, row: Row, view: View) -> Raw:
        return encoded(self._row_json(model, row, view, ()))

    def _matching(self, model: EntityModel, query: Query) -> list[Row]:
        fields = searched(model, query.view.hidden)
        rows = self.rows.of(model, include_deleted=query.view.include_deleted)
        return [
            row
            for row in rows
            if self._holds(model, row, query.where, 0) and has_words(query.search, [row[name] for name in fields])
        ]

    def _holds(self, model: EntityModel, row: Row, conditions: Iterable[Condition], depth: int) -> bool:
        here, beyond = split_by_step(conditions, depth)
        own = shown(self.rows, model, row) if here else row
        # All conditions on a relation must hold for the same related row.
        return all(holds(model, own, condition) for condition in here) and all(
            any(
                self._holds(self._target(model, step), far, further, depth + 1)
                for far in self._related(model, row, step)
            )
            for step, further in beyond.items()
        )

    def _ordered(self, model: EntityModel, rows: Iterable[Row], sort: Sequence[SortKey]) -> list[Row]:
        ordered = list(rows)
        # Sorting is stable, so sort by the last key first.
        for key in reversed(sort):
            ordered.sort(key=lambda row: sort_value(self.value(model, row, key.path)), reverse=key.descending)
        return ordered

    def _start(self, model: EntityModel, query: Query, cursor: Sequence[object]) -> list[object]:
        """Cursor values, with cut texts replaced by the row's whole texts."""
        row_id = cursor[query.place_of_id]
        rows = self.rows.of(model, include_deleted=True)
        row = next((row for row in rows if row["id"] == row_id), None)
        start: list[object] = []
        for key, value in zip(query.sort, cursor, strict=True):
            if isinstance(value, Beginning):
                whole = None if row is None else plain(self.value(model, row, key.path))
                end = LARGEST_CHARACTER if key.descending else ""
                begins = isinstance(whole, str) and whole.startswith(value.text)
                value = whole if begins else value.text + end  # noqa: PLW2901 - replaced by what it stands for
            start.append(value)
        return start

    def _values(self, model: EntityModel, row: Row, sort: Sequence[SortKey]) -> tuple[object, ...]:
        return tuple(self.value(model, row, key.path) for key in sort)

    def value(self, model: EntityModel, row: Row, path: Path) -> object:
        """Return the value at the path; None if a relation on it is missing."""
        for step in path.steps:
            related = self._related(model, row, step)
            if not related:
                return None
            row, model = related[0], self._target(model, step)
        return shown(self.rows, model, row)[path.field]

    def _row_json(self, model: EntityModel, row: Row, view: View, steps: tuple[str, ...]) -> Object:
        is_every = isinstance(self.rows.scope, EveryTenant)
        body = json_object(
            model, shown(self.rows, model, row), response_fields(model, view, steps), shows_tenant=is_every
        )
        for step in included(view, steps):
            body |= self._included(model, row, view, (*steps, step))
        return body

    def _bounded(self, bodies: list[Object], view: View) -> list[Object]:
        if view.include and sum(map(_size_of_lists, bodies)) > MOST_INCLUDED_BYTES:
            raise too_much_included()
        return bodies

    def _included(self, model: EntityModel, row: Row, view: View, steps: tuple[str, ...]) -> Object:
        name = steps[-1]
        target, related = self._target(model, name), self._related(model, row, name)
        if not model.relations[name].is_many:
            return {name: self._row_json(target, related[0], view, steps) if related else None}
        is_in_order = model.relations[name].is_link
        ordered = related if is_in_order else self._ordered(target, related, default_sort(target, view.hidden))
        items = [self._row_json(target, item, view, steps) for item in ordered[:MANY]]
        return {name: items, f"{name}HasMore": len(ordered) > MANY}

    def _related(self, model: EntityModel, row: Row, step: str) -> list[Row]:
        return self.rows.related(row, model.relations[step])

    def _target(self, model: EntityModel, step: str) -> EntityModel:
        return self.rows.registry.target(model.relations[step])


def _within_page(items: Raw, bodies: list[Object], page_size: int) -> Raw:
    size, is_page = len(bytes(items)), 2 <= page_size <= MAX_PAGE_SIZE
    # Lists of related rows have a separate bound.
    if is_page and size > LARGEST_PAGE_BYTES and size - sum(map(_size_of_lists, bodies)) > LARGEST_PAGE_BYTES:
        raise too_large_page()
    return items


def _size_of_lists(body: Object) -> int:
    lists = (encoded(value) for value in body.values() if isinstance(value, list))
    inner = (_size_of_lists(value) for value in body.values() if isinstance(value, dict))
    return sum(map(len, map(bytes, lists))) + sum(inner)
