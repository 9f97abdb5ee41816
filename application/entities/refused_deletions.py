"""Deletions that are refused: what the caller is told of absent rows and of the rows that still refer to others."""

from collections.abc import Collection, Iterator, Sequence
from uuid import UUID

from domain.entities.declaration import EntityModel, Registry
from domain.entities.visibility import hidden_from
from domain.errors import Conflict, Error, FieldError, NotFound, Referrer, StillReferredTo
from domain.scope import Caller, allows


def ensure_found(ids: Sequence[UUID], found: Collection[UUID]) -> None:
    """Raises NotFound naming each missing id as ``ids[2]``."""
    missing = set(ids).difference(found)
    if missing:
        absent = [n for n, row_id in enumerate(ids) if row_id in missing]
        raise NotFound(fields=[FieldError(f"ids[{n}]", NotFound.sentence) for n in absent])


def told_to(caller: Caller, registry: Registry, ids: Sequence[UUID], error: StillReferredTo) -> Conflict:
    """Conflict that names every id that is still referred to, and by what: such as ``ids[2]`` with "products (3)".

    Entities that the caller may not read, and fields that do not exist for the caller, are not told of.
    """
    hidden = hidden_from(registry, caller.permissions)
    fields = []
    for n, row_id in enumerate(ids):
        if row_id in error.by:
            seen = [each for each in error.by[row_id] if any((each.plural, name) not in hidden for name in each.fields)]
            readable = [each for each in seen if allows(caller.permissions, registry[each.plural].permission("read"))]
            fields.append(FieldError(f"ids[{n}]", _sentence(readable)))
    return Conflict(_sentence([]) if len(fields) > 1 else fields[0].message, fields)


def broken_told_to(caller: Caller, registry: Registry, model: EntityModel, error: Error) -> list[FieldError]:
    """Fields that a rule of ``model`` refuses to have cleared, named by the entity: such as ``volumes.genreId``.

    Nothing is told of an entity that the caller may not read, nor of a field that does not exist for the caller.
    """
    if not allows(caller.permissions, model.permission("read")):
        return []
    hidden = hidden_from(registry, caller.permissions)
    # The guards of the handler know the fields of the deleted rows alone: these are of another entity.
    unseen = {model.by_name[name].wire for plural, name in hidden if plural == model.plural}
    seen = [wrong for wrong in error.fields if wrong.field.rpartition(".")[2].partition("[")[0] not in unseen]
    return [FieldError(f"{model.plural}.{wrong.field}", wrong.message) for wrong in seen]


def _sentence(referrers: Collection[Referrer]) -> str:
    counts = ", ".join(_counts(referrers))
    return f"Rows still refer to it: {counts}." if counts else StillReferredTo.sentence


def _counts(referrers: Collection[Referrer]) -> Iterator[str]:
    """``"products (3)"`` by plural; a row that refers with two fields counts once."""
    for plural in sorted({each.plural for each in referrers}):
        yield f"{plural} ({sum(each.count for each in referrers if each.plural == plural)})"
