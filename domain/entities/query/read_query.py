"""Parses the parameters of a list, an export or a read; raises only the documented errors."""

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import TypeVar

from msgspec import Struct

from domain.entities.declaration import EntityModel, Hidden, Registry
from domain.entities.query.comparisons import read_comparison
from domain.entities.query.cursors import read_cursor
from domain.entities.query.kinds import is_sortable
from domain.entities.query.query import (
    Condition,
    Count,
    Parameters,
    Query,
    SortKey,
    View,
    default_sort,
    in_one_order,
    names_caller,
    relations_of,
    searched,
    whole_order,
)
from domain.entities.query.values import NotAValue, read_boolean, read_text
from domain.entities.query.vocabulary import NotAWord, Vocabulary
from domain.errors import FieldError, ValidationError, unknown_name

DEFAULT_PAGE_SIZE = 20
MAX_PAGE_SIZE = 100
# Limit the number of conditions, because each makes the query more expensive.
MAX_CONDITIONS = 30
MAX_SORT_KEYS = 5
MAX_WORDS = 30
MAX_INCLUDES = 30
MAX_FILTERED_RELATIONS = 30  # each is a subquery
_MAX_PARAMETERS = 64
_MAX_PAGE = 10**15

VIEWING = ("include", "fields", "includeDeleted")
ORDERING = ("search", "sort", "sortBy", "sortDirection", "sortOrder")
PAGING = ("page", "pageSize", "count", "cursor")
FILE = ("format", "bom")
HISTORY = ("page", "pageSize", "includeDeleted")
_COUNTS = {count.value: count for count in Count}
DIRECTIONS = {"asc": False, "ascending": False, "desc": True, "descending": True}

T = TypeVar("T")


def read_query(model: EntityModel, registry: Registry, hidden: Hidden, parameters: Parameters) -> Query:
    """Read the query of a list.

    Raises ValidationError with all errors, BadRequest for an invalid cursor. Example: ``[("minPrice", "10"), ("sort",
    "name:desc")]`` gives one condition (price GTE 10) and the sort keys name descending, id descending.
    """
    reader = EntityParameters(Vocabulary(registry, model, hidden), parameters, (*PAGING, *VIEWING, *ORDERING))
    view, where, search, sort = reader.view(), reader.where(), reader.search(), reader.sort()
    page, page_size, count, cursor = reader.page(), reader.page_size(), reader.count(), reader.cursor()
    reader.ensure_right()
    return Query(
        view=view,
        where=where,
        search=search,
        sort=sort,
        page=page,
        page_size=page_size,
        count=count,
        cursor=None if cursor is None else read_cursor(registry, model, sort, cursor),
        names_caller=names_caller(where),
    )


def read_export(model: EntityModel, registry: Registry, hidden: Hidden, parameters: Parameters) -> Query:
    """Read the query of an export: all rows, with to-one relations only. Raises ValidationError."""
    # The endpoint reads ``format`` and ``bom``.
    reader = EntityParameters(Vocabulary(registry, model, hidden), parameters, (*VIEWING, *ORDERING, *FILE))
    view, where, search, sort = reader.view(to_one=True), reader.where(), reader.search(), reader.sort()
    reader.ensure_right()
    return Query(view=view, where=where, search=search, sort=sort, count=Count.NONE, names_caller=names_caller(where))


def read_view(model: EntityModel, registry: Registry, hidden: Hidden, parameters: Parameters) -> View:
    """Read the view of a read by id. Raises ValidationError."""
    reader = EntityParameters(Vocabulary(registry, model, hidden), parameters, VIEWING)
    view = reader.view()
    reader.ensure_no_filters()
    reader.ensure_right()
    return view


def read_history(model: EntityModel, registry: Registry, hidden: Hidden, parameters: Parameters) -> Query:
    """Read the page of a row's history; ``includeDeleted`` also finds a deleted row. Raises ValidationError."""
    reader = EntityParameters(Vocabulary(registry, model, hidden), parameters, HISTORY)
    view, page, page_size = reader.view(), reader.page(), reader.page_size()
    reader.ensure_no_filters()
    reader.ensure_right()
    return Query(view=view, sort=(), page=page, page_size=page_size)


# Stores the caller's spelling for error messages.
class _Parameter(Struct, frozen=True):
    name: str
    text: str


class EntityParameters:
    """Reader of query parameters. It collects the errors of all of them for one response."""

    def __init__(self, vocabulary: Vocabulary, parameters: Parameters, known: tuple[str, ...]) -> None:
        self.vocabulary = vocabulary
        self.model = vocabulary.model
        self.known = known
        self.errors: list[FieldError] = []
        self.given: dict[str, _Parameter] = {}
        for name, text in parameters:
            self._take(_Parameter(name, text))
        reserved = _lowered(known)
        self.filters = [parameter for name, parameter in self.given.items() if name not in reserved]

    def _take(self, parameter: _Parameter) -> None:
        # Security: stop reading at once, so that thousands of parameters cost nothing.
        if len(self.given) == _MAX_PARAMETERS:
            raise ValidationError.on(
                parameter.name, f"is one too many: a query accepts at most {_MAX_PARAMETERS} parameters"
            )
        if parameter.name.lower() in self.given:
            self._wrong(parameter.name, "is given twice; several values go into one, between commas")
        self.given[parameter.name.lower()] = parameter

    def ensure_right(self) -> None:
        if self.errors:
            raise ValidationError(fields=self.errors)

    def ensure_no_filters(self) -> None:
        for parameter in self.filters:
            self._wrong(parameter.name, unknown_name(parameter.name, self.known))

    def view(self, *, to_one: bool = False) -> View:
        return View(
            include=self._read("include", lambda text: self._include(text, to_one=to_one), ()),
            fields=self._read("fields", self._fields, None),
            include_deleted=self._read("includeDeleted", self._include_deleted, False),
            hidden=self.vocabulary.hidden,
        )

    def where(self) -> tuple[Condition, ...]:
        if len(self.filters) > MAX_CONDITIONS:
            self._wrong(
                self.filters[MAX_CONDITIONS].name, f"is one too many: there are at most {MAX_CONDITIONS} conditions"
            )
        found = [condition for given in self.filters for condition in self._condition(given)]
        if (led := len(relations_of(found))) > MAX_FILTERED_RELATIONS:
            last = next(given.name for given in reversed(self.filters) if "." in given.name)
            most = f"a query accepts at most {MAX_FILTERED_RELATIONS}"
            self._wrong(last, f"is one of several filters through {led} relations; {most}")
        return in_one_order(found)

    def search(self) -> tuple[str, ...]:
        return self._read("search", self._search_words, ())

    def sort(self) -> tuple[SortKey, ...]:
        # ``sort`` names properties with directions. ``sortBy`` names one; it or its direction may be missing.
        descending = self._direction()
        if "sort" in self.given:
            for other in ("sortBy", "sortDirection", "sortOrder"):
                if other.lower() in self.given:
                    self._wrong(other, "does not go together with sort, which says both property and direction")
            return self._read("sort", self._sort_keys, ())
        if "sortby" in self.given:
            return self._read("sortBy", lambda text: self._sort_by(text, descending is not False), ())
        keys = default_sort(self.model, self.vocabulary.hidden)
        return keys if descending is None else tuple(SortKey(key.path, descending) for key in keys)

    def page(self) -> int:
        if "cursor" in self.given and "page" in self.given:
            self._wrong("page", "does not go together with cursor, which says where the page begins")
        return self._read("page", lambda text: whole_number_in(text, _MAX_PAGE), 1)

    def page_size(self) -> int:
        return self._read("pageSize", lambda text: min(whole_number_in(text, None), MAX_PAGE_SIZE), DEFAULT_PAGE_SIZE)

    def count(self) -> Count:
        return self._read("count", lambda text: _one_of(text, _COUNTS), Count.EXACT)

    def cursor(self) -> str | None:
        given = self.given.get("cursor")
        return given.text if given is not None else None

    def _read(self, name: str, read: Callable[[str], T], default: T) -> T:
        given = self.given.get(name.lower())
        if given is None:
            return default
        try:
            return read(given.text)
        except (NotAValue, NotAWord) as mistake:
            # The recorded error prevents the query, so the default is never used.
            self._wrong(given.name, str(mistake))
            return default

    def _wrong(self, name: str, message: str) -> None:
        self.errors.append(FieldError(name, message))

    def _include_deleted(self, text: str) -> bool:
        if "is_deleted" not in self.model.by_name:
            raise NotAValue(f"is not taken here: {self.model.plural} are never marked deleted")
        return read_boolean(text)

    def _include(self, text: str, *, to_one: bool) -> tuple[tuple[str, ...], ...]:
        paths: set[tuple[str, ...]] = set()
        for name in names_in(text):
            relations = self._found(name, self.vocabulary.relations)
            if to_one and any(relation.is_many for relation in relations):
                raise NotAValue(f"{name!r} leads to several rows, which one line of a file cannot hold")
            steps = tuple(relation.name for relation in relations)
            paths |= {steps[: depth + 1] for depth in range(len(steps))}
        if len(paths) > MAX_INCLUDES:
            raise NotAValue(f"accepts at most {MAX_INCLUDES} relations")
        # Sorted and with all intermediate relations, so that equal sets of includes share a prepared statement.
        return tuple(sorted(paths))

    def _fields(self, text: str) -> tuple[str, ...]:
        wanted = {self._found(name, self.vocabulary.own_field).name for name in names_in(text)} | {"id"}
        return tuple(field.name for field in self.model.fields if field.name in wanted)

    def _found(self, name: str, find: Callable[[str], T]) -> T:
        try:
            return find(name)
        except NotAWord as mistake:
            # In a list, the message must name the wrong item.
            raise NotAWord(f"{name!r} {mistake}") from None

    def _search_words(self, text: str) -> tuple[str, ...]:
        if text and not searched(self.model, self.vocabulary.hidden):
            raise NotAValue(f"is not taken here: {self.model.plural} have no search fields")
        words = dict.fromkeys(read_text(text).split())
        if len(words) > MAX_WORDS:
            raise NotAValue(f"accepts at most {MAX_WORDS} words")
        return tuple(words)

    def _direction(self) -> bool | None:
        if "sortdirection" in self.given and "sortorder" in self.given:
            self._wrong("sortOrder", "cannot be combined with sortDirection, which means the same: send only one")
        name = "sortOrder" if "sortorder" in self.given else "sortDirection"
        return self._read(name, lambda text: _one_of(text, DIRECTIONS), None)

    def _sort_by(self, text: str, descending: bool) -> tuple[SortKey, ...]:
        return whole_order([self._sort_key(text, descending)])

    def _sort_keys(self, text: str) -> tuple[SortKey, ...]:
        parts = [part.partition(":") for part in names_in(text)]
        if len(parts) > MAX_SORT_KEYS:
            raise NotAValue(f"accepts at most {MAX_SORT_KEYS} keys")
        keys = [
            self._sort_key(name.strip(), bool(colon) and _one_of(direction, DIRECTIONS))
            for name, colon, direction in parts
        ]
        if len({key.path for key in keys}) < len(keys):
            raise NotAValue("names a property twice")
        return whole_order(keys)

    def _sort_key(self, name: str, descending: bool) -> SortKey:
        if name.startswith("-"):
            raise NotAWord(f"{name!r} is not known: the direction follows the name, as in '{name[1:]}:desc'")
        found = self._found(name, self.vocabulary.property)
        if found.is_many:
            raise NotAWord(f"{name!r} leads to several rows: sort by a property of the row or of a to-one relation")
        if not is_sortable(found.field):
            raise NotAWord(f"{name!r} is a list, and lists cannot be sorted by")
        return SortKey(found.path, descending)

    def _condition(self, given: _Parameter) -> Iterator[Condition]:
        try:
            filtered = self.vocabulary.filtered(given.name)
            yield Condition(filtered.of.path, *read_comparison(filtered, given.text))
        except NotAValue as mistake:
            self._wrong(given.name, str(mistake))
        except NotAWord as mistake:
            self._wrong(given.name, self._explained(given.name, str(mistake)))

    def _explained(self, name: str, message: str) -> str:
        if "." in name or not message.startswith("is not known"):
            return message
        if name.lower() in _RESERVED:
            return "is not taken here"
        # An unknown name may be a misspelt setting, such as ``pagesze``, so the suggestion considers settings too.
        return unknown_name(name, [*self.known, *self.vocabulary.filter_words(self.model)])


_RESERVED = frozenset(name.lower() for name in (*PAGING, *VIEWING, *ORDERING, *FILE))


@lru_cache(16)
def _lowered(names: tuple[str, ...]) -> frozenset[str]:
    return frozenset(name.lower() for name in names)


def names_in(text: str) -> list[str]:
    return [name.strip() for name in text.split(",")]


def whole_number_in(text: str, largest: int | None) -> int:
    if not (text.isascii() and text.isdigit()) or not text.strip("0"):
        raise NotAValue("must be a whole number from 1")
    # Replace very long digits by a number above every limit: int() needs quadratic time.
    if len(text.lstrip("0")) > 16:
        text = "9" * 17
    if largest is not None and int(text) > largest:
        raise NotAValue(f"must be a whole number from 1 to {largest}")
    return int(text)


def _one_of(text: str, choices: dict[str, T]) -> T:
    if text.lower() not in choices:
        raise NotAValue(f"must be one of: {', '.join(choices)}")
    return choices[text.lower()]
