"""The query grammar: from the parameters of a list, an export or a read to what they ask for. Pure and total."""

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import TypeVar

from msgspec import Struct

from domain.entities.declaration import EntityModel, Kind, Registry
from domain.entities.query.cursors import read_cursor
from domain.entities.query.operators import PARTS, is_sortable
from domain.entities.query.query import (
    Condition,
    Count,
    Hidden,
    Operator,
    Parameters,
    Query,
    SortKey,
    View,
    default_sort,
    searched,
    whole_order,
)
from domain.entities.query.values import (
    NotAValue,
    first_day_from,
    read_boolean,
    read_moment,
    read_text,
    read_value,
    split_list,
)
from domain.entities.query.vocabulary import Filtered, NotAWord, Vocabulary
from domain.errors import FieldError, ValidationError, unknown_name

DEFAULT_PAGE_SIZE = 20
MAX_PAGE_SIZE = 100
MAX_CONDITIONS = 30
MAX_VALUES = 200
MAX_SORT_KEYS = 5
MAX_WORDS = 30
MAX_INCLUDES = 30
_MAX_PARAMETERS = 64
_MAX_PAGE = 10**15

VIEWING = ("include", "fields", "includeDeleted")
ORDERING = ("search", "sort", "sortBy", "sortDirection", "sortOrder")
PAGING = ("page", "pageSize", "count", "cursor")
FILE = ("format", "bom")
HISTORY = ("page", "pageSize", "includeDeleted")
_COUNTS = {one.value: one for one in Count}
_DIRECTIONS = {"asc": False, "ascending": False, "desc": True, "descending": True}

T = TypeVar("T")


def read_query(model: EntityModel, registry: Registry, hidden: Hidden, parameters: Parameters) -> Query:
    """Raises ValidationError with every mistake at once, BadRequest for a cursor that cannot be read."""
    asked = _Asked(Vocabulary(registry, model, hidden), parameters, (*PAGING, *VIEWING, *ORDERING))
    view, where, search, sort = asked.view(), asked.where(), asked.search(), asked.sort()
    page, page_size, count, cursor = asked.page(), asked.page_size(), asked.count(), asked.cursor()
    asked.ensure_right()
    return Query(
        view=view,
        where=where,
        search=search,
        sort=sort,
        page=page,
        page_size=page_size,
        count=count,
        cursor=None if cursor is None else read_cursor(registry, model, sort, cursor),
    )


def read_export(model: EntityModel, registry: Registry, hidden: Hidden, parameters: Parameters) -> Query:
    """All rows of a list, includes being to-one. Raises ValidationError; ``format`` and ``bom`` are read elsewhere."""
    asked = _Asked(Vocabulary(registry, model, hidden), parameters, (*VIEWING, *ORDERING, *FILE))
    view, where, search, sort = asked.view(to_one=True), asked.where(), asked.search(), asked.sort()
    asked.ensure_right()
    return Query(view=view, where=where, search=search, sort=sort, count=Count.NONE)


def read_view(model: EntityModel, registry: Registry, hidden: Hidden, parameters: Parameters) -> View:
    """What a read by id takes. Raises ValidationError."""
    asked = _Asked(Vocabulary(registry, model, hidden), parameters, VIEWING)
    view = asked.view()
    asked.ensure_no_filters()
    asked.ensure_right()
    return view


def read_history(model: EntityModel, registry: Registry, hidden: Hidden, parameters: Parameters) -> Query:
    """Which page of a row's history, and whether a deleted row's is meant too. Raises ValidationError."""
    asked = _Asked(Vocabulary(registry, model, hidden), parameters, HISTORY)
    view, page, page_size = asked.view(), asked.page(), asked.page_size()
    asked.ensure_no_filters()
    asked.ensure_right()
    return Query(view=view, sort=(), page=page, page_size=page_size)


class _Given(Struct, frozen=True):
    """A parameter as the caller spelt it."""

    name: str
    text: str


class _Asked:
    """Reads one part after the other, and keeps what is wrong with each until the end."""

    def __init__(self, vocabulary: Vocabulary, parameters: Parameters, known: tuple[str, ...]) -> None:
        self.vocabulary = vocabulary
        self.model = vocabulary.model
        self.known = known
        self.errors: list[FieldError] = []
        self.given: dict[str, _Given] = {}
        for name, text in parameters:
            self._take(_Given(name, text))
        reserved = _lowered(known)
        self.filters = [one for name, one in self.given.items() if name not in reserved]

    def _take(self, one: _Given) -> None:
        """More than any query can hold stops the reading, so that nonsense stays cheap."""
        if len(self.given) == _MAX_PARAMETERS:
            raise ValidationError.on(one.name, f"is one too many: a query takes at most {_MAX_PARAMETERS} parameters")
        if one.name.lower() in self.given:
            self._wrong(one.name, "is given twice; several values go into one, between commas")
        self.given[one.name.lower()] = one

    def ensure_right(self) -> None:
        if self.errors:
            raise ValidationError(fields=self.errors)

    def ensure_no_filters(self) -> None:
        for one in self.filters:
            self._wrong(one.name, unknown_name(one.name, self.known))

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
        return tuple(one for given in self.filters for one in self._condition(given))

    def search(self) -> tuple[str, ...]:
        return self._read("search", self._words, ())

    def sort(self) -> tuple[SortKey, ...]:
        """``sort`` says all; ``sortBy`` and a direction say one key, each with a default of its own."""
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
        return self._read("page", lambda text: _whole(text, _MAX_PAGE), 1)

    def page_size(self) -> int:
        return self._read("pageSize", lambda text: min(_whole(text, None), MAX_PAGE_SIZE), DEFAULT_PAGE_SIZE)

    def count(self) -> Count:
        return self._read("count", lambda text: _one_of(text, _COUNTS), Count.EXACT)

    def cursor(self) -> str | None:
        given = self.given.get("cursor")
        return given.text if given is not None else None

    def _read(self, name: str, read: Callable[[str], T], default: T) -> T:
        """The default, too, for what is wrong: nothing comes of it."""
        given = self.given.get(name.lower())
        if given is None:
            return default
        try:
            return read(given.text)
        except (NotAValue, NotAWord) as mistake:
            self._wrong(given.name, str(mistake))
            return default

    def _wrong(self, name: str, message: str) -> None:
        self.errors.append(FieldError(name, message))

    def _include_deleted(self, text: str) -> bool:
        if "is_deleted" not in self.model.by_name:
            raise NotAValue(f"is not taken here: {self.model.plural} are never marked deleted")
        return read_boolean(text)

    def _include(self, text: str, *, to_one: bool) -> tuple[tuple[str, ...], ...]:
        """With the relations on the way to each, sorted, so that one set of includes is one shape."""
        paths: set[tuple[str, ...]] = set()
        for name in _names(text):
            relations = self._words_in(name, self.vocabulary.relations)
            if to_one and any(relation.is_many for relation in relations):
                raise NotAValue(f"{name!r} leads to several rows, which one line of a file cannot hold")
            way = tuple(relation.name for relation in relations)
            paths |= {way[: depth + 1] for depth in range(len(way))}
        if len(paths) > MAX_INCLUDES:
            raise NotAValue(f"takes at most {MAX_INCLUDES} relations")
        return tuple(sorted(paths))

    def _fields(self, text: str) -> tuple[str, ...]:
        """In the order of an answer, with the id."""
        wanted = {self._words_in(name, self.vocabulary.own_field).name for name in _names(text)} | {"id"}
        return tuple(one.name for one in self.model.fields if one.name in wanted)

    def _words_in(self, name: str, find: Callable[[str], T]) -> T:
        """A name inside a list says which one it was."""
        try:
            return find(name)
        except NotAWord as mistake:
            raise NotAWord(f"{name!r} {mistake}") from None

    def _words(self, text: str) -> tuple[str, ...]:
        if text and not searched(self.model, self.vocabulary.hidden):
            raise NotAValue(f"is not taken here: {self.model.plural} have no search fields")
        words = dict.fromkeys(read_text(text).split())
        if len(words) > MAX_WORDS:
            raise NotAValue(f"takes at most {MAX_WORDS} words")
        return tuple(words)

    def _direction(self) -> bool | None:
        if "sortdirection" in self.given and "sortorder" in self.given:
            self._wrong("sortOrder", "does not go together with sortDirection, which says the same")
        name = "sortOrder" if "sortorder" in self.given else "sortDirection"
        return self._read(name, lambda text: _one_of(text, _DIRECTIONS), None)

    def _sort_by(self, text: str, descending: bool) -> tuple[SortKey, ...]:
        return whole_order([self._sort_key(text, descending)])

    def _sort_keys(self, text: str) -> tuple[SortKey, ...]:
        parts = [part.partition(":") for part in _names(text)]
        if len(parts) > MAX_SORT_KEYS:
            raise NotAValue(f"takes at most {MAX_SORT_KEYS} keys")
        keys = [self._sort_key(name.strip(), bool(colon) and _one_of(way, _DIRECTIONS)) for name, colon, way in parts]
        if len({key.path for key in keys}) < len(keys):
            raise NotAValue("names a property twice")
        return whole_order(keys)

    def _sort_key(self, name: str, descending: bool) -> SortKey:
        found = self._words_in(name, self.vocabulary.property)
        if found.is_many:
            raise NotAWord(f"{name!r} leads to several rows, which no order can go by")
        if not is_sortable(found.field):
            raise NotAWord(f"{name!r} is a list, which no order can go by")
        return SortKey(found.path, descending)

    def _condition(self, given: _Given) -> Iterator[Condition]:
        try:
            asked = self.vocabulary.filtered(given.name)
            yield Condition(asked.of.path, *_operator_and_value(asked, given.text))
        except NotAValue as mistake:
            self._wrong(given.name, str(mistake))
        except NotAWord as mistake:
            self._wrong(given.name, self._or_other(given.name, str(mistake)))

    def _or_other(self, name: str, message: str) -> str:
        """A misspelt ``pageSize`` is no filter: it gets the hint that it needs."""
        if "." in name or not message.startswith("is not known"):
            return message
        if name.lower() in _RESERVED:
            return "is not taken here"
        return unknown_name(name, [*self.known, *self.vocabulary.filter_words(self.model)])


_RESERVED = frozenset(name.lower() for name in (*PAGING, *VIEWING, *ORDERING, *FILE))


def _operator_and_value(asked: Filtered, text: str) -> tuple[Operator, object]:
    one = asked.of.field
    if asked.bound is not None:
        if one.kind is Kind.DATE and asked.bound.suffix:
            return asked.bound.operator, first_day_from(read_moment(text))
        return asked.bound.operator, read_value(one, text)
    if asked.operator is Operator.IS_NULL:
        return Operator.IS_NULL, read_boolean(text)
    if asked.operator is None or asked.operator is Operator.IN:
        values = tuple(read_value(one, value) for value in split_list(text, MAX_VALUES))
        is_one = asked.operator is None and len(values) == 1
        return (Operator.EQ, values[0]) if is_one else (Operator.IN, values)
    if asked.operator in PARTS and not text:
        raise NotAValue("takes some text")
    return asked.operator, read_value(one, text)


@lru_cache(16)
def _lowered(names: tuple[str, ...]) -> frozenset[str]:
    return frozenset(name.lower() for name in names)


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",")]


def _whole(text: str, largest: int | None) -> int:
    if not (text.isascii() and text.isdigit()) or not text.strip("0"):
        raise NotAValue("takes a whole number from 1")
    if len(text.lstrip("0")) > 16:
        text = "9" * 17
    if largest is not None and int(text) > largest:
        raise NotAValue(f"takes a whole number from 1 to {largest}")
    return int(text)


def _one_of(text: str, choices: dict[str, T]) -> T:
    if text.lower() not in choices:
        raise NotAValue(f"takes one of: {', '.join(choices)}")
    return choices[text.lower()]
