"""Domains of a tenant: added, proved by a DNS record, and removed by its administrators."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from msgspec import Struct, field
from msgspec.structs import replace

from application.ports.database import Database
from application.ports.identity.domains import DnsRecords, DnsUnavailable, DomainTransaction, DomainUsage
from application.ports.runtime import Clock, Ids, LinkSecrets
from application.retry import retry_on_conflict
from domain.errors import Conflict, Forbidden, NotFound, ServiceUnavailable, ValidationError
from domain.identity.administration import given_roles
from domain.identity.domains import (
    DOMAINS,
    DomainMode,
    DomainState,
    TenantDomain,
    domain_errors,
    is_proved,
    normal_domain,
    record_name,
    record_value,
)
from domain.identity.users import MEMBER, Role
from domain.scope import SYSTEM_TENANT_ID, Caller, Client, EveryTenant, event


class DomainForm(Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """Body that adds a domain, or replaces mode and roles of a domain that is there already."""

    domain: str
    mode: DomainMode = "off"
    roles: list[str] = field(default_factory=lambda: [MEMBER])


class DnsRecord(Struct, rename="camel", kw_only=True):
    """The record that proves the domain."""

    name: str
    type: str
    value: str


class DomainItem(Struct, rename="camel", kw_only=True):
    """A domain as its tenant sees it."""

    domain: str
    mode: DomainMode
    roles: tuple[str, ...]
    state: DomainState
    record: DnsRecord
    created_at: datetime


@dataclass(frozen=True)
class DomainAdministration:
    database: Database[DomainTransaction]
    dns: DnsRecords
    secrets: LinkSecrets
    clock: Clock
    ids: Ids

    async def all(self, caller: Caller) -> list[DomainItem]:
        async with self.database.read_only(EveryTenant()) as read:
            return [_item(found.domain, found.roles) for found in await read.domains.all(caller.tenant.id)]

    @retry_on_conflict
    async def save(self, caller: Caller, form: DomainForm, client: Client) -> tuple[DomainItem, bool]:
        """Adds the domain, or changes mode and roles of one that is there; returns it and whether it was added.

        Raises ValidationError, Forbidden for roles that the caller may not give, and Conflict on ``domain``.
        """
        tenant_id, now = caller.tenant.id, self.clock.now()
        if tenant_id == SYSTEM_TENANT_ID:
            raise Forbidden("Nobody joins the tenant system by a domain.")
        if errors := domain_errors(form.domain):
            raise ValidationError(fields=errors)
        name = normal_domain(form.domain)
        assert name is not None
        async with self.database.transaction(EveryTenant()) as tx:
            roles = await self._roles(tx, caller, form.roles)
            # First, because it takes turns: of two that add the domain at once the later one finds the earlier's row.
            usage = await tx.domains.usage(tenant_id, name)
            found = await tx.domains.lock(tenant_id, name)
            _ensure_free(usage, is_new=found is None)
            # Derived from a new id, so that a record of before proves nothing for whoever adds the domain again.
            proof = found.proof if found else self.secrets.secret(self.ids.new())
            saved = TenantDomain(
                tenant_id=tenant_id,
                domain=name,
                mode=form.mode,
                role_ids=tuple(role.id for role in roles),
                proof=proof,
                state=found.state if found else "pending",
                set_by=caller.user_id,
                created_at=found.created_at if found else now,
                checked_at=found.checked_at if found else now,
            )
            await tx.domains.save(saved)
            # The trail names the domain: it has no id, and one that was removed is found nowhere else.
            action = f"domain.changed:{name}" if found else f"domain.added:{name}"
            await tx.audit.add(tenant_id, event(action, caller.user_id, None, client, now))
        return _item(saved, tuple(sorted(role.name for role in roles))), found is None

    async def verify(self, caller: Caller, domain: str, client: Client) -> DomainItem:
        """Looks the record up. Raises NotFound, Conflict while it is not there, and ServiceUnavailable."""
        async with self.database.read_only(EveryTenant()) as read:
            listed = await read.domains.all(caller.tenant.id)
        name = normal_domain(domain)
        found = next((each for each in listed if each.domain.domain == name), None)
        if found is None:
            raise NotFound
        try:
            texts = await self.dns.texts(record_name(found.domain.domain))
        except DnsUnavailable:
            raise ServiceUnavailable("The DNS gives no answer for this domain now: try again later.") from None
        if not is_proved(found.domain, texts):
            record = record_name(found.domain.domain)
            raise Conflict(f"The DNS has no TXT record {record} with the value of this domain yet.")
        return _item(await self._verified(caller, found.domain, client), found.roles)

    @retry_on_conflict
    async def _verified(self, caller: Caller, seen: TenantDomain, client: Client) -> TenantDomain:
        now = self.clock.now()
        async with self.database.transaction(EveryTenant()) as tx:
            found = await tx.domains.lock(seen.tenant_id, seen.domain)
            # Removed, or removed and added again, while the DNS was asked: its proof was that of another row.
            if found is None or found.proof != seen.proof:
                raise NotFound
            verified = replace(found, state="verified", checked_at=now)
            await tx.domains.save(verified)
            if found.state != "verified":
                line = event(f"domain.verified:{seen.domain}", caller.user_id, None, client, now)
                await tx.audit.add(seen.tenant_id, line)
        return verified

    @retry_on_conflict
    async def remove(self, caller: Caller, domain: str, client: Client) -> None:
        """Removes the domain; members who came by it stay. Raises NotFound."""
        tenant_id, name = caller.tenant.id, normal_domain(domain)
        async with self.database.transaction(EveryTenant()) as tx:
            if name is None or not await tx.domains.remove(tenant_id, name):
                raise NotFound
            line = event(f"domain.removed:{name}", caller.user_id, None, client, self.clock.now())
            await tx.audit.add(tenant_id, line)

    async def _roles(self, tx: DomainTransaction, caller: Caller, names: Sequence[str]) -> list[Role]:
        return given_roles(caller, names, await tx.roles.by_names(caller.tenant.id, list(names)))


def _ensure_free(usage: DomainUsage, *, is_new: bool) -> None:
    if usage.is_taken:
        # Security: a tenant must not learn of another one, so the error names nobody.
        raise Conflict.on("domain", "is verified already: ask whoever runs this service")
    if is_new and usage.count >= DOMAINS:
        raise Conflict(f"A tenant has at most {DOMAINS} domains: remove one first.")


def _item(domain: TenantDomain, roles: tuple[str, ...]) -> DomainItem:
    return DomainItem(
        domain=domain.domain,
        mode=domain.mode,
        roles=roles,
        state=domain.state,
        record=DnsRecord(name=record_name(domain.domain), type="TXT", value=record_value(domain.proof)),
        created_at=domain.created_at,
    )
