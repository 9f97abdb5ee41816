"""Errors of fields with links, and of their relations."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, get_args

from domain.entities.declaration import EntityModel, Relation
from domain.entities.kinds import Kind
from domain.entities.markers import MEMBERS, Links, OnDeleteLinked, Reference
from domain.entities.mistakes.arguments import TEXT_OR_NONE, type_mistake
from domain.entities.mistakes.places import Mistake

MOST_LINKS = 1_000
"""Largest ``limit``: each response contains all links of its rows."""

ROUTES = frozenset({"restore", "history", "shares", "summary", "changes"})
"""Segments after a row's id that the service uses or reserves; the relation of links is a segment too."""


def link_mistakes(links: Links) -> Iterator[str]:
    """Return the errors of ``links(…)`` arguments, as phrases that follow the field's name."""
    if not isinstance(links.target, str):
        yield f'has links({links.target!r}): it accepts the path of an entity first, as in links("tags")'
    # A boolean is a whole number in Python.
    if links.target == MEMBERS:
        yield 'has links("members"), which would not end with a membership: declare an entity with member(on_leave=…)'
    if type(links.limit) is not int or not 1 <= links.limit <= MOST_LINKS:
        yield f"has links(…, limit={links.limit!r}), which must be a whole number from 1 to {MOST_LINKS:,}"
    if links.on_delete not in get_args(OnDeleteLinked):
        yield (
            f"has links(…, on_delete={links.on_delete!r}), which is unknown: use 'drop' (links end with their target) "
            "or 'restrict' (deleting a linked row is refused)"
        )
    if (wrong := type_mistake(links.relation, TEXT_OR_NONE)) is not None:
        yield f"has links(…, relation=…), which {wrong}"


def link_mark_mistakes(
    kind: Kind, marks: Sequence[object], rules: Mapping[str, Any], default: object, *, nullable: bool
) -> Iterator[str]:
    """Return the errors of links on a field, as phrases that follow its name."""
    found = [mark for mark in marks if isinstance(mark, Links)]
    for links in found:
        yield from link_mistakes(links)
    if not found:
        return
    if len(found) > 1 or any(isinstance(mark, Reference) for mark in marks):
        yield "has more than one ref(…) or links(…): a field leads to one entity"
    if kind is not Kind.LINKS:
        yield 'has links(…) but is not a list of ids: use Annotated[list[UUID], links("tags")]'
    if nullable:
        yield "has links(…) and accepts null: an empty list means no links"
    if {"min_length", "max_length"} & rules.keys():
        yield "has links(…) and a length: declare links(…, limit=…)"
    if isinstance(default, list | tuple) and default:
        yield "has links(…) and a default with ids, which name rows of one tenant: its default is []"


def linked_entity_mistakes(model: EntityModel) -> Iterator[Mistake]:
    """Return the errors of an entity with links."""
    for field in model.links:
        if not model.declaration.writable:
            yield Mistake(
                f"field {field.name!r} has links(…), but writable=False leaves no route to set them", field.name
            )
        for unique in model.unique:
            if field.name in unique.fields:
                yield Mistake(f"unique() names {field.name!r}, which has links and no column", field.name)


def route_mistakes(relation: Relation) -> Iterator[Mistake]:
    """Return the error of links with a relation that has the name of a route."""
    if relation.is_link and relation.name.lower() in ROUTES:
        yield Mistake(
            f"relation {relation.name!r} has the name of a route: choose another by links(…, relation=…)", relation.by
        )
