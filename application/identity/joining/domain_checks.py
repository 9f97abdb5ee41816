"""Daily lookup of verified domains: a domain without its record loses its verification, and no user can join by it."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from msgspec.structs import replace

from application.identity.joining.approvers import approvers
from application.ports.database import Database
from application.ports.identity.domains import DnsRecords, DnsUnavailable, DomainTransaction
from application.ports.identity.users import notice
from application.ports.runtime import Clock, Ids
from application.retry import retry_on_conflict
from domain.identity.domains import CHECKED_EVERY, TenantDomain, is_proved, record_name
from domain.scope import Client, EveryTenant, event

AT_ONCE = 20
HELD = timedelta(minutes=10)
"""Time for a process to look up the domains that it has claimed; afterwards the rest is due again."""
NOBODY = Client(address="", network="", device="", request_id="")


@dataclass(frozen=True)
class DomainChecks:
    database: Database[DomainTransaction]
    dns: DnsRecords
    clock: Clock
    ids: Ids

    async def check(self) -> int:
        """Look up some of the due domains; return their number."""
        now = self.clock.now()
        async with self.database.transaction(EveryTenant()) as tx:
            due = await tx.domains.take_due(now - CHECKED_EVERY, now - CHECKED_EVERY + HELD, AT_ONCE)
        for domain in due:
            try:
                texts = await self.dns.texts(record_name(domain.domain))
            except DnsUnavailable:
                # The result is unknown: ask again tomorrow, so that an outage costs no tenant its domain.
                await self._keep(domain, now)
                continue
            await (self._keep if is_proved(domain, texts) else self._lose)(domain, now)
        return len(due)

    @retry_on_conflict
    async def _keep(self, seen: TenantDomain, now: datetime) -> None:
        async with self.database.transaction(EveryTenant()) as tx:
            found = await tx.domains.lock(seen.tenant_id, seen.domain)
            if found is not None and found.proof == seen.proof:
                await tx.domains.save(replace(found, checked_at=now))

    @retry_on_conflict
    async def _lose(self, seen: TenantDomain, now: datetime) -> None:
        async with self.database.transaction(EveryTenant()) as tx:
            found = await tx.domains.lock(seen.tenant_id, seen.domain)
            # The domain was removed or added again during the lookup.
            if found is None or found.proof != seen.proof or found.state != "verified":
                return
            await tx.domains.save(replace(found, state="lost", mode="off", checked_at=now))
            line = event(f"domain.lost:{found.domain}", None, None, NOBODY, now)
            await tx.audit.add(seen.tenant_id, line)
            await self._tell(tx, found, now)

    async def _tell(self, tx: DomainTransaction, lost: TenantDomain, now: datetime) -> None:
        for user in await approvers(tx, lost.tenant_id):
            await tx.outbox.add(notice(self.ids.new(), "domain-lost", user, now, about=lost.domain))
