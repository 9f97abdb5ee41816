"""Errors in the ownership rules of ``@entity(own=[…])``."""

from collections.abc import Iterable, Iterator
from typing import Any

from domain.entities.declaration import EntityModel, Registry
from domain.entities.kinds import Kind
from domain.entities.markers import MEMBERS, Mine, OwnRule, Through, is_list
from domain.entities.mistakes.places import Mistake, nearest_hint
from domain.entities.owning import CREATOR


def right_rules(given: Any, mistakes: list[str]) -> tuple[OwnRule, ...]:
    """Return the rules of right types; add an error for each other item."""
    example = 'own=[mine("created_by")]'
    if not is_list(given):
        mistakes.append(f"own must be a list, as in {example}; got {given!r}")
        return ()
    right: list[OwnRule] = []
    for item in given:
        if not isinstance(item, Mine | Through):
            mistakes.append(f"own must be a list of what mine(…) or through(…) returns, as in {example}; got {item!r}")
        elif wrong := [name for name in _arguments(item) if not isinstance(name, str)]:
            mistakes.append(f"{_kind(item)}() accepts names; got {wrong[0]!r}")
        else:
            right.append(item)
    return tuple(right)


def own_mistakes(model: EntityModel, registry: Registry, broken: Iterable[str]) -> Iterator[Mistake]:
    """Return the errors of the entity's rules; ``broken`` are unreadable fields, reported elsewhere."""
    rules = model.declaration.own
    if rules and not model.tenant_owned:
        yield Mistake("own is declared together with tenant_owned=False, but no user owns rows shared by all tenants")
    if model.declaration.shared:
        yield from _shared_mistakes(model)
    for number, rule in enumerate(rules):
        if rule in rules[:number]:
            yield Mistake(f"{_written(rule)} is declared twice")
        elif isinstance(rule, Through):
            yield from (Mistake(f"{_written(rule)} {text}") for text in _through_mistakes(model, registry, rule))
        elif rule.field not in broken:
            yield from (Mistake(f"{_written(rule)} {text}") for text in _field_mistakes(model, rule.field))


def _shared_mistakes(model: EntityModel) -> Iterator[Mistake]:
    if not model.declaration.own:
        yield Mistake('shared is declared without own: declare who owns a row first, as in own=[mine("created_by")]')
    if not model.declaration.writable:
        yield Mistake("shared is declared together with writable=False, but only users who may update a row share it")


def _through_mistakes(model: EntityModel, registry: Registry, rule: Through) -> Iterator[str]:
    first = model.relations.get(rule.to_one)
    if first is None or first.is_many:
        yield f"needs a relation to one row first, and {_absent(rule.to_one, model, is_many=False)}"
        return
    near = registry.models.get(first.target)
    second = None if near is None else near.relations.get(rule.to_many)
    if near is not None and (second is None or not second.is_many):
        yield f"needs a relation to many rows second, and {_absent(rule.to_many, near, is_many=True)}"
    far = None if second is None or not second.is_many else registry.models.get(second.target)
    yield from () if far is None else _field_mistakes(far, rule.field)


def _field_mistakes(model: EntityModel, name: str) -> Iterator[str]:
    field = model.by_name.get(name)
    if field is None:
        yield f"names {name!r}, which is not a field of {model.plural!r}{nearest_hint(name, model.by_name)}"
    elif field.kind is not Kind.UUID or (field.server_owned and name != CREATOR):
        yield f"names {name!r}, which holds no user: use {CREATOR!r} or a field of type UUID"
    elif field.reference is not None and field.reference.target != MEMBERS:
        yield f"names {name!r}, which refers to {field.reference.target!r} and not to a user"


def _absent(given: str, model: EntityModel, *, is_many: bool) -> str:
    """Return ``'owner' is not one of 'orders': choose 'project'``, with the relations that there are."""
    names = [repr(name) for name, relation in model.relations.items() if relation.is_many == is_many]
    return f"{given!r} is not one of {model.plural!r}" + (f": choose {' or '.join(names)}" if names else "")


def _kind(rule: OwnRule) -> str:
    return "mine" if isinstance(rule, Mine) else "through"


def _names(rule: OwnRule) -> tuple[str, ...]:
    return (rule.field,) if isinstance(rule, Mine) else (rule.to_one, rule.to_many, rule.field)


def _arguments(rule: OwnRule) -> tuple[object, ...]:
    return _names(rule)


def _written(rule: OwnRule) -> str:
    return f"{_kind(rule)}({', '.join(map(repr, _names(rule)))})"
