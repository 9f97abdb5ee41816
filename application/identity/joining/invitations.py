"""Invitations of a tenant: sent, listed, sent again and revoked by its administrators."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from msgspec import Struct, field
from msgspec.structs import replace

from application.identity.administration.listing import ParameterReader, Parameters, paging
from application.ports.database import Database, Mail
from application.ports.identity.invitations import (
    InvitationListing,
    InvitationTransaction,
    InvitationUsage,
    NewInvitation,
)
from application.ports.runtime import Clock, Ids, InvitationOutcomes, LinkSecrets
from application.retry import retry_on_conflict
from domain.errors import (
    Conflict,
    FieldError,
    Forbidden,
    NotFound,
    RateLimited,
    SerializationConflict,
    ValidationError,
)
from domain.identity.administration import ensure_fit_membership, ensure_may_give
from domain.identity.invitations import BATCH, DAY, INVITATIONS_A_DAY, MAILS_A_DAY, Invitation, InvitationStatus
from domain.identity.tokens import ensure_fits_token
from domain.identity.typed_codes import token_hash
from domain.identity.users import MEMBER, AccountEmail, Role, email_key
from domain.scope import Caller, Client, EveryTenant, event

STATUSES: tuple[InvitationStatus, ...] = ("pending", "accepted", "declined", "revoked", "expired")
WAITS = "has a pending invitation already: send it again, or revoke it"


class InvitationForm(Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    email: AccountEmail
    roles: list[str] = field(default_factory=lambda: [MEMBER])


class InvitationBatch(Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    items: list[InvitationForm]


class InvitationItem(Struct, rename="camel", kw_only=True):
    """An invitation for its tenant; ``invitedBy`` is a user's id."""

    id: UUID
    email: str
    roles: tuple[str, ...]
    status: InvitationStatus
    invited_by: UUID
    created_at: datetime
    expires_at: datetime


class InvitationPage(Struct, rename="camel", kw_only=True):
    items: list[InvitationItem]
    total_count: int
    page: int
    page_size: int
    total_pages: int


class InvitationsMade(Struct, rename="camel", kw_only=True):
    items: list[InvitationItem]


@dataclass(frozen=True)
class InvitationAdministration:
    database: Database[InvitationTransaction]
    secrets: LinkSecrets
    clock: Clock
    ids: Ids
    lifetime: timedelta
    outcomes: InvitationOutcomes

    async def create(self, caller: Caller, form: InvitationForm, client: Client) -> InvitationItem:
        """Invite an address, with or without an account. Raises Conflict while it has a pending invitation."""
        (item,) = await self._invite(caller, [form], [""], client)
        return item

    async def create_batch(self, caller: Caller, form: InvitationBatch, client: Client) -> InvitationsMade:
        """Invite all addresses or none; errors name their items."""
        if not 1 <= len(form.items) <= BATCH:
            raise ValidationError.on("items", f"accepts 1 to {BATCH} invitations")
        prefixes = [f"items[{number}]." for number in range(len(form.items))]
        return InvitationsMade(items=await self._invite(caller, form.items, prefixes, client))

    async def page(self, caller: Caller, parameters: Parameters) -> InvitationPage:
        reader = ParameterReader(parameters, ("page", "pageSize", "status"))
        listing = InvitationListing(
            tenant_id=caller.tenant.id,
            statuses=reader.choices("status", STATUSES),
            page=reader.page(),
            page_size=reader.page_size(),
        )
        reader.ensure_valid()
        now = self.clock.now()
        async with self.database.read_only(EveryTenant()) as read:
            listed, total = await read.invitations.page(listing, now)
        items = [_item(found.invitation, found.roles, now) for found in listed]
        return InvitationPage(items=items, **paging(listing, total))

    @retry_on_conflict
    async def resend(self, caller: Caller, invitation_id: UUID, client: Client) -> InvitationItem:
        """Send a new link and invalidate the old one. The caller needs the right to invite and becomes the inviter."""
        now, tenant_id = self.clock.now(), caller.tenant.id
        async with self.database.transaction(EveryTenant()) as tx:
            found = await self._pending(tx, tenant_id, invitation_id, now)
            roles = await tx.received.roles(tenant_id, found.role_ids)
            ensure_may_give(caller, roles)
            usage = await tx.invitations.usage(tenant_id, [found.email_key], now)
            mail = self._mail(found.email_key, usage, now)
            # If the address gets no other mail today, its current link remains valid.
            hashed = self._hash(mail) if mail else found.hash
            mailed = tuple(at for at in found.mailed_at if at > now - DAY) + ((now,) if mail else ())
            renewed = replace(
                found, invited_by=caller.user_id, hash=hashed, expires_at=now + self.lifetime, mailed_at=mailed
            )
            await tx.invitations.renew(renewed)
            if mail is not None:
                await tx.outbox.add(mail)
            await tx.audit.add(tenant_id, event("invitation.resent", caller.user_id, found.id, client, now))
        self.outcomes.count("resent")
        return _item(renewed, tuple(role.name for role in roles), now)

    @retry_on_conflict
    async def revoke(self, caller: Caller, invitation_id: UUID, client: Client) -> None:
        now, tenant_id = self.clock.now(), caller.tenant.id
        async with self.database.transaction(EveryTenant()) as tx:
            await self._pending(tx, tenant_id, invitation_id, now)
            await tx.invitations.end(tenant_id, invitation_id, "revoked", now, None)
            await tx.audit.add(tenant_id, event("invitation.revoked", caller.user_id, invitation_id, client, now))
        self.outcomes.count("revoked")

    async def _pending(
        self, tx: InvitationTransaction, tenant_id: UUID, invitation_id: UUID, now: datetime
    ) -> Invitation:
        found = await tx.invitations.lock(tenant_id, invitation_id)
        if found is None:
            raise NotFound
        if (status := found.status_at(now)) != "pending":
            raise Conflict(f"The invitation is not pending any more, it is {status}: send another one.")
        return found

    @retry_on_conflict
    async def _invite(
        self, caller: Caller, forms: Sequence[InvitationForm], prefixes: Sequence[str], client: Client
    ) -> list[InvitationItem]:
        now, tenant_id = self.clock.now(), caller.tenant.id
        keys = _read_addresses(forms, prefixes)
        async with self.database.transaction(EveryTenant()) as tx:
            given = await self._roles(tx, caller, forms, prefixes)
            usage = await tx.invitations.usage(tenant_id, keys, now)
            _ensure_room(usage, keys, prefixes)
            sent = [
                self._new(caller, form, roles, self._mail(key, usage, now), client, now)
                for form, key, roles in zip(forms, keys, given, strict=True)
            ]
            if await tx.invitations.add(sent) != len(sent):
                # A concurrent request has invited one of the addresses: the retry reports that address.
                raise SerializationConflict
        self.outcomes.count("sent", len(sent))
        return [
            _item(new.invitation, tuple(sorted(role.name for role in roles)), now)
            for new, roles in zip(sent, given, strict=True)
        ]

    def _new(
        self,
        caller: Caller,
        form: InvitationForm,
        roles: Sequence[Role],
        mail: Mail | None,
        client: Client,
        now: datetime,
    ) -> NewInvitation:
        key = email_key(form.email)
        assert key is not None
        invitation = Invitation(
            tenant_id=caller.tenant.id,
            id=self.ids.new(),
            email=form.email.strip(),
            email_key=key,
            role_ids=tuple(role.id for role in roles),
            invited_by=caller.user_id,
            created_at=now,
            expires_at=now + self.lifetime,
            # Without a mail no user learns the secret.
            hash=self._hash(mail or Mail(id=self.ids.new(), kind="invitation", recipient=key, at=now)),
            mailed_at=(now,) if mail else (),
        )
        line = event("invitation.sent", caller.user_id, invitation.id, client, now)
        return NewInvitation(invitation=invitation, mail=mail, line=line)

    def _mail(self, key: str, usage: InvitationUsage, now: datetime) -> Mail | None:
        # Security: omit the mail silently. An error would reveal that other tenants invite the address.
        if usage.mails.get(key, 0) >= MAILS_A_DAY:
            return None
        return Mail(id=self.ids.new(), kind="invitation", recipient=key, at=now)

    def _hash(self, mail: Mail) -> str:
        return token_hash(self.secrets.code(mail.id))

    async def _roles(
        self, tx: InvitationTransaction, caller: Caller, forms: Sequence[InvitationForm], prefixes: Sequence[str]
    ) -> list[list[Role]]:
        names = sorted({name for form in forms for name in form.roles})
        found: dict[str, Role] = {}
        # The tenant's role has priority over a system role of the same name.
        for role in await tx.roles.by_names(caller.tenant.id, names):
            found.setdefault(role.name, role)
        missing = [
            FieldError(f"{prefix}roles", f"the role {name!r} does not exist here")
            for form, prefix in zip(forms, prefixes, strict=True)
            for name in form.roles
            if name not in found
        ]
        if missing:
            raise ValidationError(fields=missing)
        given = [[found[name] for name in dict.fromkeys(form.roles)] for form in forms]
        _ensure_may_give(caller, given, prefixes)
        return given


def _read_addresses(forms: Sequence[InvitationForm], prefixes: Sequence[str]) -> list[str]:
    """Normal forms of the addresses. Raises ValidationError naming invalid and repeated ones."""
    errors: list[FieldError] = []
    keys: list[str] = []
    for form, prefix in zip(forms, prefixes, strict=True):
        key = email_key(form.email)
        if key is None:
            errors.append(FieldError(f"{prefix}email", "is not an e-mail address"))
        elif key in keys:
            errors.append(FieldError(f"{prefix}email", "occurs twice in the batch"))
        else:
            keys.append(key)
    if errors:
        raise ValidationError(fields=errors)
    return keys


def _ensure_may_give(caller: Caller, given: Sequence[Sequence[Role]], prefixes: Sequence[str]) -> None:
    """Raise Forbidden naming each item with roles that the caller cannot give."""
    refused: list[FieldError] = []
    for roles, prefix in zip(given, prefixes, strict=True):
        try:
            ensure_may_give(caller, roles)
            ensure_fit_membership(roles)
        except Forbidden as error:
            refused.append(FieldError(f"{prefix}roles", error.message))
        else:
            ensure_fits_token(roles, f"{prefix}roles")
    if refused:
        raise Forbidden(refused[0].message, refused)


def _ensure_room(usage: InvitationUsage, keys: Sequence[str], prefixes: Sequence[str]) -> None:
    waiting = [
        FieldError(f"{prefix}email", WAITS) for key, prefix in zip(keys, prefixes, strict=True) if key in usage.pending
    ]
    if waiting:
        raise Conflict(fields=waiting)
    if usage.made + len(keys) > INVITATIONS_A_DAY:
        message = f"A tenant sends at most {INVITATIONS_A_DAY} invitations a day."
        raise RateLimited(int(timedelta(hours=1).total_seconds()), message)


def _item(invitation: Invitation, roles: tuple[str, ...], now: datetime) -> InvitationItem:
    return InvitationItem(
        id=invitation.id,
        email=invitation.email,
        roles=roles,
        status=invitation.status_at(now),
        invited_by=invitation.invited_by,
        created_at=invitation.created_at,
        expires_at=invitation.expires_at,
    )
