"""Unique constraints."""

from collections.abc import Iterable, Iterator, Sequence

from adapters.memory.entities.state import Row
from domain.entities.declaration import EntityModel
from domain.entities.kinds import Kind
from domain.entities.markers import Unique
from domain.entities.query.matching import plain, without_case

TAKEN = "is taken already"


def taken_rows(model: EntityModel, unique: Unique, rows: Sequence[Row], others: Iterable[Row]) -> Iterator[int]:
    """Return the indices of the rows with a unique value that another row has, in ``others`` or in ``rows``."""
    keys = [_key(model, unique, row) for row in rows]
    stored = {_key(model, unique, row) for row in others}
    # As in SQL, nulls are never equal.
    return (n for n, key in enumerate(keys) if None not in key and (key in stored or keys.count(key) > 1))


class TakenValues:
    """Unique values in use in an entity, to check many rows that are written one at a time."""

    def __init__(self, model: EntityModel, rows: Iterable[Row]) -> None:
        self._model = model
        self._owners: dict[tuple[Unique, tuple[object, ...]], object] = {}
        for row in rows:
            self._take(row)

    def replace(self, before: Row | None, row: Row) -> bool:
        """Replace the values of ``before`` with the row's values; return False if another row has one of them."""
        if any(self._owners.get(key, row["id"]) != row["id"] for key in self._keys(row)):
            return False
        self._give_up(before)
        self._take(row)
        return True

    def undo(self, before: Row | None, row: Row) -> None:
        """Undo a replacement."""
        self._give_up(row)
        if before is not None:
            self._take(before)

    def _give_up(self, row: Row | None) -> None:
        for key in self._keys(row) if row is not None else ():
            self._owners.pop(key, None)

    def _take(self, row: Row) -> None:
        self._owners |= dict.fromkeys(self._keys(row), row["id"])

    def _keys(self, row: Row) -> Iterator[tuple[Unique, tuple[object, ...]]]:
        keys = ((unique, _key(self._model, unique, row)) for unique in self._model.unique)
        return (key for key in keys if None not in key[1])


def _key(model: EntityModel, unique: Unique, row: Row) -> tuple[object, ...]:
    return tuple(_part(model, unique, name, plain(row[name])) for name in unique.fields)


def _part(model: EntityModel, unique: Unique, name: str, value: object) -> object:
    if isinstance(value, list):
        return tuple(value)
    ignores_case = unique.ignore_case and model.by_name[name].kind is Kind.TEXT
    return without_case(value) if ignores_case and value is not None else value
