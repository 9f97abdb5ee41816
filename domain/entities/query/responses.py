"""Parts and limits of responses, for stores."""

from collections.abc import Iterable
from typing import Protocol, TypeVar

from domain.entities.declaration import EntityModel
from domain.entities.query.query import Path, View
from domain.errors import ValidationError

LARGEST_CHARACTER = "\U0010ffff"
"""Sorts after all other characters."""


class HasPath(Protocol):
    """A value with a path, such as a condition in the store."""

    @property
    def path(self) -> Path: ...


C = TypeVar("C", bound=HasPath)


def split_by_step(conditions: Iterable[C], depth: int) -> tuple[list[C], dict[str, list[C]]]:
    """Split conditions into those on the row itself and those on each related row, at this depth of relations.

    All conditions on one relation must hold for the same related row.
    """
    here: list[C] = []
    beyond: dict[str, list[C]] = {}
    for condition in conditions:
        if len(condition.path.steps) == depth:
            here.append(condition)
        else:
            beyond.setdefault(condition.path.steps[depth], []).append(condition)
    return here, beyond


MOST_INCLUDED = 32
"""Maximum MiB of JSON for the lists of an answer: nested lists can be as large as a tenant's data."""
MOST_INCLUDED_BYTES = MOST_INCLUDED * 1024 * 1024


def too_much_included() -> ValidationError:
    """Return the error for included lists that exceed ``MOST_INCLUDED``."""
    remedy = "request fewer rows per page or fewer relations, or read the related rows separately"
    return ValidationError.on("include", f"makes lists of more than {MOST_INCLUDED} MiB: {remedy}")


LARGEST_PAGE = 32
"""Maximum MiB of texts and lists in a page of several rows."""
LARGEST_PAGE_BYTES = LARGEST_PAGE * 1024 * 1024


def too_large_page() -> ValidationError:
    """Return the error for a page that exceeds ``LARGEST_PAGE``."""
    return ValidationError.on("pageSize", f"makes a page of more than {LARGEST_PAGE} MiB: request fewer rows per page")


def too_large_batch() -> ValidationError:
    """Return the error for a batch if the changed rows in its response exceed ``LARGEST_PAGE``."""
    return ValidationError.on("items", f"are rows of more than {LARGEST_PAGE} MiB together: change fewer at a time")


def included(view: View, steps: tuple[str, ...]) -> list[str]:
    """Return the relations to include in the rows at the end of ``steps``."""
    return [path[-1] for path in view.include if path[:-1] == steps]


def response_fields(model: EntityModel, view: View, steps: tuple[str, ...] = ()) -> list[str]:
    """Return the Python names of fields of rows at the end of ``steps``; ``View.fields`` limits the main row."""
    wanted = view.fields if not steps else None
    names = (field.name for field in model.fields if wanted is None or field.name in wanted or field.name == "id")
    return [name for name in names if (model.plural, name) not in view.hidden]
