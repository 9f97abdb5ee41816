"""Summaries of rows: groups with counts, sums and other measures."""

from collections.abc import Sequence
from dataclasses import dataclass

from msgspec import Struct
from msgspec.structs import replace

from application.entities.queries import EntityQueries
from application.ports.database import RowReads
from application.ports.entities.summaries import Group, SummaryTransaction
from domain.entities.declaration import EntityModel
from domain.entities.query.query import Parameters, of_caller
from domain.entities.query.read_summary import read_summary
from domain.entities.query.summary import Summary
from domain.scope import Caller, OneTenant, Scope

UTC = "UTC"
"""Time zone of a summary over several tenants."""


class SummaryQueries(EntityQueries):
    """Parsed summaries, with a check that the caller may read all their fields."""

    def summary(self, caller: Caller, parameters: Parameters) -> Summary:
        summary = read_summary(self.model, self.registry, self._hidden_from(caller), parameters)
        self._ensure_may_see(caller, summary.query, summary.query.view)
        if summary.query.names_caller:
            return replace(summary, query=of_caller(summary.query, caller.user_id))
        return summary


class Summarized(Struct, frozen=True):
    """Groups of a summary. ``is_truncated`` means that more groups exist; ``zone`` is the time zone of periods."""

    groups: Sequence[Group]
    is_truncated: bool
    zone: str


@dataclass(frozen=True)
class Summarizing:
    reads: RowReads[SummaryTransaction]

    async def summarize(self, scope: Scope, model: EntityModel, summary: Summary) -> Summarized:
        async with self.reads.read_transaction(scope) as read:
            tenant = await read.tenants.by_id(scope.id) if isinstance(scope, OneTenant) else None
            zone = UTC if tenant is None else tenant.settings.timezone
            found = await read.summaries.groups(model, summary, zone)
        return Summarized(found[: summary.limit], len(found) > summary.limit, zone)
