"""Invitations for their recipients: preview of a link, received invitations, and declining."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from msgspec import Struct

from application.ports.database import Database
from application.ports.identity.invitations import InvitationTransaction, Offer
from application.ports.runtime import Clock, InvitationOutcomes
from application.retry import retry_on_conflict
from domain.errors import TokenInvalid
from domain.identity.invitations import ensure_proved, wrong_link
from domain.identity.typed_codes import token_hash
from domain.identity.users import Branding
from domain.scope import Caller, Client, EveryTenant, event


class LinkForm(Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """Secret of an invitation's link."""

    token: str


class InvitingTenant(Struct, rename="camel", kw_only=True):
    name: str
    branding: Branding


class InvitationPreview(Struct, rename="camel", kw_only=True):
    """An invitation for the holder of its link; ``invitedBy`` is a name."""

    tenant: InvitingTenant
    email: str
    invited_by: str
    expires_at: datetime
    account_exists: bool


class ReceivedInvitation(Struct, rename="camel", kw_only=True):
    """An invitation for the account with its address."""

    id: UUID
    tenant: InvitingTenant
    invited_by: str
    created_at: datetime
    expires_at: datetime


@dataclass(frozen=True)
class InvitationInbox:
    database: Database[InvitationTransaction]
    clock: Clock
    outcomes: InvitationOutcomes

    async def preview(self, form: LinkForm) -> InvitationPreview:
        """Return a link's invitation. Raises the same ValidationError on ``token`` for every invalid link."""
        # Security: look up only by the secret, so that response and time reveal nothing.
        async with self.database.read_only(EveryTenant()) as read:
            offer = await read.received.by_hash(token_hash(form.token))
        if offer is None or not offer.is_living(self.clock.now()):
            raise wrong_link()
        return InvitationPreview(
            tenant=InvitingTenant(name=offer.tenant_name, branding=offer.branding),
            email=offer.invitation.email,
            invited_by=offer.inviter_name or "",
            expires_at=offer.invitation.expires_at,
            account_exists=offer.account_name is not None,
        )

    async def received(self, caller: Caller) -> list[ReceivedInvitation]:
        """Return live invitations to the caller's address. Raises Forbidden unless the address is proved."""
        async with self.database.read_only(EveryTenant()) as read:
            state = await read.users.state(caller.user_id)
            if state is None:
                raise TokenInvalid
            # Security: a user can register another person's address. Without this check, that user would see the
            # owner's invitations.
            ensure_proved(state.user)
            offers = await read.received.of_address(state.user.email_key, self.clock.now())
        return [_received(offer) for offer in offers]

    @retry_on_conflict
    async def decline(self, form: LinkForm, client: Client) -> None:
        now = self.clock.now()
        async with self.database.transaction(EveryTenant()) as tx:
            offer = await tx.received.by_hash(token_hash(form.token))
            if offer is None:
                raise wrong_link()
            found = await tx.invitations.lock(offer.invitation.tenant_id, offer.invitation.id)
            # The link may have been replaced before the lock.
            if found is None or found.hash != offer.invitation.hash or found.status_at(now) != "pending":
                raise wrong_link()
            await tx.invitations.end(found.tenant_id, found.id, "declined", now, None)
            await tx.audit.add(found.tenant_id, event("invitation.declined", None, found.id, client, now))
        self.outcomes.count("declined")


def _received(offer: Offer) -> ReceivedInvitation:
    return ReceivedInvitation(
        id=offer.invitation.id,
        tenant=InvitingTenant(name=offer.tenant_name, branding=offer.branding),
        invited_by=offer.inviter_name or "",
        created_at=offer.invitation.created_at,
        expires_at=offer.invitation.expires_at,
    )
