"""Unique constraints."""

from collections.abc import Iterable, Iterator, Sequence

from adapters.memory.entities.matching import plain, without_case
from adapters.memory.store import Row
from domain.entities.declaration import EntityModel, Kind, Unique

TAKEN = "is taken already"


def taken_rows(model: EntityModel, unique: Unique, rows: Sequence[Row], others: Iterable[Row]) -> Iterator[int]:
    """Indices of the rows with a value that another row has, among ``others`` or among the rows themselves."""
    keys = [_key(model, unique, row) for row in rows]
    stored = {_key(model, unique, row) for row in others}
    # As in SQL: nulls are never equal.
    return (n for n, key in enumerate(keys) if None not in key and (key in stored or keys.count(key) > 1))


def _key(model: EntityModel, unique: Unique, row: Row) -> tuple[object, ...]:
    return tuple(_part(model, unique, name, plain(row[name])) for name in unique.fields)


def _part(model: EntityModel, unique: Unique, name: str, value: object) -> object:
    if isinstance(value, list):
        return tuple(value)
    ignores_case = unique.ignore_case and model.by_name[name].kind is Kind.TEXT
    return without_case(value) if ignores_case and value is not None else value
