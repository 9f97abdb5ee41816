"""Invitations, by tenant and id."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from msgspec.structs import replace

from adapters.memory.mail import put_in
from adapters.memory.operations.audit import note
from adapters.memory.store import Access, Store
from application.ports.identity.invitations import (
    InvitationListing,
    InvitationUsage,
    ListedInvitation,
    NewInvitation,
    Offer,
)
from application.ports.runtime import Ids
from domain.identity.invitations import DAY, Invitation, InvitationStatus
from domain.identity.users import Branding, Role


@dataclass(frozen=True)
class MemoryInvitations:
    access: Access
    ids: Ids

    async def usage(self, tenant_id: UUID, email_keys: Sequence[str], now: datetime) -> InvitationUsage:
        async with self.access.write() as store:
            every = list(store.invitations.values())
            for stored in every:
                if stored.tenant_id == tenant_id and stored.email_key in email_keys:
                    _end_expired(store, stored, now)
            since = now - DAY
            mailed = [(sent.email_key, at) for sent in every for at in sent.mailed_at if at > since]
            return InvitationUsage(
                made=sum(stored.tenant_id == tenant_id and stored.created_at > since for stored in every),
                mails={key: sum(key == sent_to for sent_to, _ in mailed) for key in email_keys},
                pending=frozenset(key for key in email_keys if _pending(store, tenant_id, key)),
            )

    async def add(self, sent: Sequence[NewInvitation]) -> int:
        async with self.access.write() as store:
            added = 0
            for new in sent:
                invitation = new.invitation
                if _pending(store, invitation.tenant_id, invitation.email_key):
                    continue
                store.invitations[_key(invitation)] = invitation
                if new.mail is not None:
                    put_in(store, new.mail)
                note(store, invitation.tenant_id, self.ids.new(), new.line)
                added += 1
            return added

    async def page(self, listing: InvitationListing, now: datetime) -> tuple[list[ListedInvitation], int]:
        store = self.access.read()
        found = [
            stored
            for stored in store.invitations.values()
            if stored.tenant_id == listing.tenant_id
            and (not listing.statuses or stored.status_at(now) in listing.statuses)
        ]
        start = (listing.page - 1) * listing.page_size
        page = _latest_first(found)[start : start + listing.page_size]
        return [ListedInvitation(stored, _role_names(store, stored)) for stored in page], len(found)

    async def lock(self, tenant_id: UUID, invitation_id: UUID) -> Invitation | None:
        return self.access.lock().invitations.get((tenant_id, invitation_id))

    async def renew(self, invitation: Invitation) -> None:
        async with self.access.write() as store:
            stored = store.invitations.get(_key(invitation))
            if stored is not None and stored.status == "pending":
                store.invitations[_key(invitation)] = replace(
                    stored,
                    invited_by=invitation.invited_by,
                    hash=invitation.hash,
                    expires_at=invitation.expires_at,
                    mailed_at=invitation.mailed_at,
                )

    async def end(
        self, tenant_id: UUID, invitation_id: UUID, status: InvitationStatus, at: datetime, accepted_by: UUID | None
    ) -> bool:
        async with self.access.write() as store:
            stored = store.invitations.get((tenant_id, invitation_id))
            if stored is None or stored.status != "pending":
                return False
            store.invitations[_key(stored)] = replace(stored, status=status, ended_at=at, accepted_by=accepted_by)
            return True


@dataclass(frozen=True)
class MemoryReceivedInvitations:
    access: Access

    async def by_hash(self, hashed: str) -> Offer | None:
        store = self.access.read()
        found = next((stored for stored in store.invitations.values() if stored.hash == hashed), None)
        return None if found is None else _offer(store, found)

    async def of_address(self, email_key: str, now: datetime) -> list[Offer]:
        store = self.access.read()
        received = [stored for stored in store.invitations.values() if stored.email_key == email_key]
        offers = (_offer(store, stored) for stored in _latest_first(received))
        return [offer for offer in offers if offer.is_living(now)]

    async def accepted(self, user_id: UUID, invitation_id: UUID) -> Invitation | None:
        store = self.access.read()
        tenants = [held.tenant_id for held in store.memberships.values() if held.user_id == user_id]
        found = (store.invitations.get((tenant_id, invitation_id)) for tenant_id in tenants)
        return next((stored for stored in found if stored is not None and stored.accepted_by == user_id), None)

    async def roles(self, tenant_id: UUID, role_ids: Sequence[UUID]) -> list[Role]:
        return _roles(self.access.lock(), tenant_id, role_ids)


def _key(invitation: Invitation) -> tuple[UUID, UUID]:
    return (invitation.tenant_id, invitation.id)


def _offer(store: Store, invitation: Invitation) -> Offer:
    tenant, inviter = store.tenants[invitation.tenant_id], store.users.get(invitation.invited_by)
    program = store.service_accounts.get(invitation.invited_by)
    names = [inviter.full_name] if inviter else []
    names += [program.name] if program and program.tenant_id == tenant.id else []
    account = next((user for user in store.users.values() if user.email_key == invitation.email_key), None)
    return Offer(
        invitation=invitation,
        tenant_name=tenant.name,
        tenant_identifier=tenant.identifier,
        tenant_is_open=tenant.is_active and tenant.id not in store.deleted_tenants,
        inviter_name=next(iter(names), None),
        account_name=account.full_name if account else None,
        branding=tenant.settings.branding or Branding(),
    )


def _end_expired(store: Store, stored: Invitation, now: datetime) -> None:
    if stored.status == "pending" and stored.status_at(now) == "expired":
        store.invitations[_key(stored)] = replace(stored, status="expired", ended_at=stored.expires_at)


def _pending(store: Store, tenant_id: UUID, email_key: str) -> bool:
    return any(
        stored.tenant_id == tenant_id and stored.email_key == email_key and stored.status == "pending"
        for stored in store.invitations.values()
    )


def _latest_first(found: Sequence[Invitation]) -> list[Invitation]:
    by_id = sorted(found, key=lambda invitation: invitation.id)
    return sorted(by_id, key=lambda invitation: invitation.created_at, reverse=True)


def _roles(store: Store, tenant_id: UUID, role_ids: Sequence[UUID]) -> list[Role]:
    found = (store.roles.get(role_id) for role_id in role_ids)
    living = [role for role in found if role is not None and role.tenant_id in (None, tenant_id)]
    return sorted(living, key=lambda role: (role.name, role.id))


def _role_names(store: Store, invitation: Invitation) -> tuple[str, ...]:
    return tuple(role.name for role in _roles(store, invitation.tenant_id, invitation.role_ids))
