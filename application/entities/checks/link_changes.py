"""Changes of single links, which depend on the links of the locked row."""

from collections.abc import Sequence
from typing import cast
from uuid import UUID

from application.entities.checks.conditional_changes import ConditionalChange
from application.ports.entities.records import Current, Values, Versions
from domain.entities.declaration import EntityModel, FieldModel
from domain.errors import NotFound, ValidationError


class LinkChange(ConditionalChange, frozen=True, kw_only=True):
    """Adds links to the field ``name`` of a row, or removes one."""

    name: str
    added: tuple[UUID, ...] = ()
    removed: UUID | None = None

    def values_of(self, model: EntityModel, row: Current | None) -> Values:
        """Return the new links of the row; raises NotFound if it lacks the link to remove."""
        if row is None:
            return {}
        linked, link = cast("Sequence[UUID]", row.values[self.name]), model.by_name[self.name].link
        assert link is not None, self.name
        if self.removed is not None and self.removed not in linked:
            raise NotFound
        ids = [row_id for row_id in dict.fromkeys((*linked, *self.added)) if row_id != self.removed]
        if len(ids) > max(link.limit, len(linked)):
            raise ValidationError.on("ids", f"would make {len(ids)} links: a row has at most {link.limit}")
        return {self.name: ids}


def link_change(
    field: FieldModel, row_id: UUID, versions: Versions, *, added: Sequence[UUID] = (), removed: UUID | None = None
) -> LinkChange:
    accepted = frozenset({versions}) if isinstance(versions, int) else versions
    # The values tell which rule the change concerns; those to store are of the locked row.
    values: Values = {field.name: list(added)}
    return LinkChange(row_id, values, kept={}, versions=accepted, name=field.name, added=tuple(added), removed=removed)
