"""Domains of a tenant. Its administrators add, prove (by a DNS record) and remove them."""

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
    """Body to add a domain, or to replace the mode and roles of an existing one."""

    domain: str
    mode: DomainMode = "off"
    roles: list[str] = field(default_factory=lambda: [MEMBER])


class DnsRecord(Struct, rename="camel", kw_only=True):
    """DNS record that proves the domain."""

    name: str
    type: str
    value: str


class DomainItem(Struct, rename="camel", kw_only=True):
    """A domain for its tenant."""

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
        """Add the domain, or change mode and roles of an existing domain; return the domain and whether it is new.

        Raises ValidationError, Forbidden for roles that the caller may not give, and Conflict on ``domain``.
        """
        tenant_id, now = caller.tenant.id, self.clock.now()
        if tenant_id == SYSTEM_TENANT_ID:
            raise Forbidden("Users cannot join the tenant system by a domain.")
        if errors := domain_errors(form.domain):
            raise ValidationError(fields=errors)
        name = normal_domain(form.domain)
        assert name is not None
        async with self.database.transaction(EveryTenant()) as tx:
            roles = await self._roles(tx, caller, form.roles)
            # Read the usage first, because this serializes additions: the later of two concurrent additions finds the
            # row of the earlier.
            usage = await tx.domains.usage(tenant_id, name)
            found = await tx.domains.lock(tenant_id, name)
            _ensure_free(usage, is_new=found is None)
            # Security: derive the proof from a new id, so that the DNS record of a removed domain proves nothing.
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
            # The trail names the domain: it has no id, and may be removed later.
            action = f"domain.changed:{name}" if found else f"domain.added:{name}"
            await tx.audit.add(tenant_id, event(action, caller.user_id, None, client, now))
        return _item(saved, tuple(sorted(role.name for role in roles))), found is None

    async def verify(self, caller: Caller, domain: str, client: Client) -> DomainItem:
        """Look up the DNS record. Raises NotFound, Conflict if the record is missing, and ServiceUnavailable."""
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
            # The domain was removed or added again during the lookup, so this proof is old.
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
        """Remove the domain; members who joined by it remain. Raises NotFound."""
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
        # Security: the error must not reveal another tenant.
        raise Conflict.on("domain", "is verified already: contact the service operator")
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
