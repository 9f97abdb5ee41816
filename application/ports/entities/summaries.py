"""Summaries of rows within the transaction's scope."""

from typing import Protocol

from msgspec import Struct

from application.ports.identity.tenants import Tenants
from domain.entities.declaration import EntityModel
from domain.entities.query.summary import Summary


class Group(Struct, frozen=True):
    """A group: its values to group by, then its measures. Dates in ``key`` are first days of periods."""

    key: tuple[object, ...]
    values: tuple[object, ...]


class Summaries(Protocol):
    async def groups(self, model: EntityModel, summary: Summary, zone: str) -> list[Group]:
        """Return the groups in order, at most one more than the limit. ``zone`` names the time zone of periods.

        Exact numbers are int or Decimal. A moment outside the years 1 to 9999 of the zone counts as their first or last
        day. Raises UnprocessableEntity for a sum of floats out of range and for a summary that takes too long,
        ValidationError for keys that exceed ``LARGEST_PAGE_BYTES`` together.
        """
        ...


class SummaryTransaction(Protocol):
    """Database parts for a summary, with the settings of its tenant."""

    @property
    def tenants(self) -> Tenants: ...
    @property
    def summaries(self) -> Summaries: ...
