"""Which rows have a value that another living row has, or another of those that are written with them."""

from collections.abc import Iterable, Iterator, Sequence

from adapters.memory.entities.matching import plain, without_case
from adapters.memory.store import Row
from domain.entities.declaration import EntityModel, Kind, Unique

TAKEN = "is taken already"


def taken_rows(model: EntityModel, unique: Unique, rows: Sequence[Row], others: Iterable[Row]) -> Iterator[int]:
    keys = [_key(model, unique, row) for row in rows]
    stored = {_key(model, unique, row) for row in others}
    return (n for n, key in enumerate(keys) if None not in key and (key in stored or keys.count(key) > 1))


def _key(model: EntityModel, unique: Unique, row: Row) -> tuple[object, ...]:
    return tuple(_part(model, unique, name, plain(row[name])) for name in unique.fields)


def _part(model: EntityModel, unique: Unique, name: str, value: object) -> object:
    folds = unique.ignore_case and model.by_name[name].kind is Kind.TEXT
    return without_case(value) if folds and value is not None else value
