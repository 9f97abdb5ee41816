"""Errors of ``@entity(changes=True)``."""

from collections.abc import Iterator

from domain.entities.declaration import EntityModel
from domain.entities.markers import Through
from domain.entities.mistakes.places import Mistake


def feed_mistakes(model: EntityModel) -> Iterator[Mistake]:
    declaration = model.declaration
    if not declaration.changes:
        return
    if not declaration.writable:
        yield Mistake("changes is declared together with writable=False, but only written rows have changes")
    # A rule on other rows is evaluated after the deletion, so the row must still exist.
    needs_row = declaration.shared or any(isinstance(rule, Through) for rule in declaration.own)
    if needs_row and not model.soft_delete:
        yield Mistake("changes together with shared or through(…) requires soft_delete=True")
