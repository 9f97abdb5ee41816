"""Arguments of wrong types for ``@entity`` and its markers: reported, and then ignored."""

from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

from msgspec import structs

from domain.entities.markers import Declaration, DeclaredIndex, Many, Reference, Unique, is_list
from domain.entities.mistakes.own_rules import right_rules
from domain.entities.mistakes.places import Mistake

L = TypeVar("L", Unique, DeclaredIndex)

FLAG, TEXT, TEXT_OR_NONE = "True or False", "a text", "a text, or None"

# Values that replace wrong arguments. They fit all other arguments, so that a wrong one causes no further error.
_VALUES: Mapping[str, tuple[str, object]] = {
    "tenant_owned": (FLAG, True),
    "soft_delete": (FLAG, True),
    "writable": (FLAG, True),
    "history": (FLAG, False),
    "changes": (FLAG, False),
    "shows_tenant": (FLAG, False),
    "search_index": (FLAG, True),
    "shared": (FLAG, False),
    "sort": (TEXT, "id"),
    "title": (TEXT_OR_NONE, None),
    "display": (TEXT_OR_NONE, None),
}
_NAMES: Mapping[str, object] = {"search": (), "check_reads": None, "columns": None}


def right_arguments(given: Declaration) -> tuple[Declaration, list[Mistake]]:
    """Return the declaration without values of a wrong type, and the errors.

    A wrong ``plural`` is reported, but remains.
    """
    mistakes: list[str] = []
    right: dict[str, Any] = {}
    if not isinstance(given.plural, str):
        mistakes.append('entity needs the path first, as in @entity("books")')
    for name, (takes, instead) in _VALUES.items():
        if (wrong := type_mistake(getattr(given, name), takes)) is not None:
            right[name] = instead
            mistakes.append(f"{name} {wrong}")
    for name, nothing in _NAMES.items():
        if wrongs := list(
            _list_mistakes(name, getattr(given, name), str, "names of fields", may_be_none=nothing is None)
        ):
            right[name] = nothing
            mistakes += wrongs
    right["unique"] = _right_items("unique", given.unique, Unique, mistakes)
    right["indexes"] = _right_items("index", given.indexes, DeclaredIndex, mistakes)
    right["has_many"] = _right_relations(given.has_many, mistakes)
    right["own"] = right_rules(given.own, mistakes)
    return structs.replace(given, **right), [Mistake(text) for text in mistakes]


def type_mistake(value: object, takes: str) -> str | None:
    """Return ``must be a text; got 5`` for a value that the argument does not accept."""
    is_right = isinstance(value, bool if takes == FLAG else str) or (takes == TEXT_OR_NONE and value is None)
    return None if is_right else f"must be {takes}; got {value!r}"


def _list_mistakes(name: str, given: Any, kind: type, words: str, *, may_be_none: bool = False) -> Iterator[str]:
    if given is None and may_be_none:
        return
    if not is_list(given):
        yield f"{name} must be a list; got {given!r}"
        return
    for item in given:
        if not isinstance(item, kind):
            yield f"{name} must be a list of {words}; got {item!r} in it"


def _right_items(marker: str, given: Any, kind: type[L], mistakes: list[str]) -> tuple[L, ...]:
    name = {"unique": "unique", "index": "indexes"}[marker]
    mistakes += _list_mistakes(name, given, kind, f"what {marker}(…) returns")
    right: list[L] = []
    items = given if is_list(given) else ()
    for item in (each for each in items if isinstance(each, kind)):
        strangers = [field for field in item.fields if type_mistake(field, TEXT)]
        mistakes += [f"{marker}() accepts names of fields; got {stranger!r}" for stranger in strangers]
        wrong = type_mistake(getattr(item, "ignore_case", False), FLAG)
        mistakes += [] if wrong is None else [f"unique(…, ignore_case=…) {wrong}"]
        right += [] if strangers or wrong else [item]
    return tuple(right)


def _right_relations(given: Any, mistakes: list[str]) -> Mapping[str, Many]:
    example = '{"books": many("books", by="author_id")}'
    if not isinstance(given, Mapping):
        mistakes.append(f"has_many must be a dict by name, as in {example}; got {given!r}")
        return {}
    right: dict[str, Many] = {}
    for name, relation in given.items():
        if not isinstance(name, str):
            mistakes.append(f"has_many must be a dict by name, as in {example}; got the name {name!r}")
        elif not isinstance(relation, Many):
            mistakes.append(
                f"has_many accepts what many(…) returns, as in {example}, and got {relation!r} for {name!r}"
            )
        elif any(type_mistake(argument, TEXT) for argument in (relation.target, relation.by)):
            got = f"many({relation.target!r}, by={relation.by!r})"
            mistakes.append(
                f"has_many needs a path and the name of a field, as in {example}, and got {got} for {name!r}"
            )
        else:
            right[name] = relation
    return right


def reference_mistakes(reference: Reference) -> Iterator[str]:
    """Return the errors of ``ref(…)`` and ``member(…)`` arguments of wrong types, as phrases after the field's name."""
    marker = "ref" if reference.on_leave is None else "member"
    if not isinstance(reference.target, str):
        yield f'has ref({reference.target!r}): it accepts the path of an entity first, as in ref("books")'
    for name, takes in (("relation", TEXT_OR_NONE), ("permanent", FLAG)):
        if (wrong := type_mistake(getattr(reference, name), takes)) is not None:
            yield f"has {marker}(…, {name}=…), which {wrong}"
