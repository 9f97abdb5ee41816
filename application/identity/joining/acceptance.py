"""Answers to invitations: acceptance repeats all checks of the sending."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol
from uuid import UUID

from msgspec import UNSET, Struct, UnsetType

from application.identity.joining.departures import Departures
from application.identity.login.applications import RegisteredApplications
from application.identity.login.forms import LoginResult
from application.identity.login.sign_in import SignIn
from application.identity.passwords.encrypted_passwords import PasswordReader
from application.identity.passwords.password_rules import PasswordRules
from application.ports.database import Database, Means
from application.ports.identity.invitations import InvitationTransaction
from application.ports.identity.service_accounts import ServiceAccounts
from application.ports.runtime import Clock, Ids, InvitationOutcomes, Passwords
from application.ports.shared_memory import Cache, profile_key
from application.retry import retry_on_conflict
from domain.errors import FieldError, NotFound, TokenInvalid, ValidationError
from domain.identity.invitations import INVITE, Invitation, ensure_proved, may_give_by, may_still_invite, wrong_link
from domain.identity.logins import Login
from domain.identity.tokens import ensure_fits_token
from domain.identity.typed_codes import token_hash
from domain.identity.users import (
    AccountState,
    FullName,
    Membership,
    NewPassword,
    PhoneNumber,
    Role,
    User,
    new_account_errors,
    normal_password,
)
from domain.scope import Caller, Client, EveryTenant, event, smallest


class AcceptForm(Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """Acceptance of an invitation: only ``token``, with a bearer token; or all fields, to create an account."""

    token: str
    full_name: FullName | UnsetType = UNSET
    password: NewPassword | UnsetType = UNSET
    is_password_encrypted: bool | UnsetType = UNSET
    phone_number: PhoneNumber | None = None


class JoinedTenant(Struct, rename="camel", kw_only=True):
    """The caller's membership from an accepted invitation."""

    user_id: UUID
    tenant_id: UUID
    roles: tuple[str, ...]
    is_default: bool
    joined_at: datetime


class AcceptanceTransaction(InvitationTransaction, Protocol):
    """Database parts for answers; the inviter may be a service account."""

    @property
    def service_accounts(self) -> ServiceAccounts: ...


@dataclass(frozen=True)
class InvitationAcceptance:
    database: Database[AcceptanceTransaction]
    departures: Departures
    passwords: Passwords
    password_reader: PasswordReader
    password_rules: PasswordRules
    sign_in: SignIn
    cache: Cache
    clock: Clock
    ids: Ids
    outcomes: InvitationOutcomes
    applications: RegisteredApplications

    async def accept(self, caller: Caller, form: AcceptForm, client: Client) -> JoinedTenant:
        """Join with the caller's account; its address must match the invitation."""
        return await self._join(caller, form.token, None, client)

    async def accept_received(self, caller: Caller, invitation_id: UUID, client: Client) -> JoinedTenant:
        """Join by an invitation of ``received``; if it was accepted before, return its membership again.

        Raises NotFound for every other id.
        """
        return await self._join(caller, None, invitation_id, client)

    async def register(self, form: AcceptForm, app_id: str | None, client: Client) -> LoginResult:
        """Create an account for the address proved by the link, join, and log in to the tenant.

        Raises ValidationError, Forbidden for an application that refuses the tenant or the invitation's roles, and
        Conflict on ``email`` if the address has an account.
        """
        if form.full_name is UNSET or form.password is UNSET:
            missing = {"fullName": form.full_name, "password": form.password}
            required = [FieldError(name, "is required without a bearer token") for name in missing]
            raise ValidationError(fields=[error for error in required if missing[error.field] is UNSET])
        # Read before the link: reading consumes an encrypted password in any case.
        password = await self.password_reader.read(form.password, form.is_password_encrypted, "password")
        async with self.database.read_only(EveryTenant()) as read:
            offer = await read.received.by_hash(token_hash(form.token))
        if offer is None or not offer.is_living(self.clock.now()):
            raise wrong_link()
        invitation = offer.invitation
        # Check the application before using up the link, because the login follows later.
        await self._ensure_application(app_id, invitation)
        wrong = await self.password_rules.errors(
            password,
            email=invitation.email,
            full_name=form.full_name,
            field="password",
            tenants=[offer.tenant_name, offer.tenant_identifier],
        )
        if errors := [*new_account_errors(invitation.email, form.full_name, form.phone_number), *wrong]:
            raise ValidationError(fields=errors)
        user = self._new_user(invitation, form, await self.passwords.hash(normal_password(password)))
        # Check the link again under a lock, because it may have changed during the hashing.
        state = await self._register(form.token, user, client)
        # The link is the proof, so forgive no failures. The password is new.
        login = Login(state=state, methods=("pwd",), preferred=invitation.tenant_id, app_id=app_id)
        return await self.sign_in.complete_login(login, client)

    async def _ensure_application(self, app_id: str | None, invitation: Invitation) -> None:
        if app_id is None:
            return
        # Do not use read_only, because reading roles locks them.
        async with self.database.autocommit(EveryTenant()) as tx:
            roles = await tx.received.roles(invitation.tenant_id, invitation.role_ids)
        permissions = smallest(name for role in roles for name in role.permissions)
        await self.applications.ensure_takes(app_id, invitation.tenant_id, permissions)

    @retry_on_conflict
    async def _register(self, token: str, user: User, client: Client) -> AccountState:
        now = self.clock.now()
        async with self.database.transaction(EveryTenant()) as tx:
            await tx.users.add(user)
            invitation = await self._locked(tx, token)
            if invitation.status_at(now) != "pending" or invitation.email_key != user.email_key:
                raise wrong_link()
            await self._add_member(tx, invitation, user.id, (), client, now)
            # The acceptance has already logged the new member.
            await tx.audit.add(invitation.tenant_id, event("user.registered", user.id, user.id, client, now), ())
            state = await tx.users.state(user.id)
        assert state is not None
        self.outcomes.count("accepted")
        return state

    @retry_on_conflict
    async def _join(
        self, caller: Caller, token: str | None, invitation_id: UUID | None, client: Client
    ) -> JoinedTenant:
        now = self.clock.now()
        async with self.database.transaction(EveryTenant()) as tx:
            # Lock before the invitation, like every membership change, so that parallel answers run in sequence.
            await tx.memberships.lock(caller.user_id)
            state = await self._state(tx, caller)
            invitation = await self._found(tx, state, token, invitation_id)
            if invitation.accepted_by != caller.user_id:
                if invitation.status_at(now) != "pending" or invitation.email_key != state.user.email_key:
                    raise wrong_link()
                if state.membership_in(invitation.tenant_id) is None:
                    await self._add_member(tx, invitation, caller.user_id, state.roles, client, now)
                    state = await self._state(tx, caller)
                else:
                    # Security: an old invitation must not restore a member's removed roles.
                    await self._end(tx, invitation, caller.user_id, client, now, ("invitation.accepted",))
            joined = state.membership_in(invitation.tenant_id)
        if invitation.accepted_by is None:
            self.outcomes.count("accepted")
        await self.cache.drop([profile_key(caller.user_id)])
        if joined is None:
            raise wrong_link()
        return _joined(caller.user_id, joined)

    async def _state(self, tx: AcceptanceTransaction, caller: Caller) -> AccountState:
        state = await tx.users.state(caller.user_id)
        if state is None or not state.user.is_active:
            raise TokenInvalid
        return state

    async def _found(
        self, tx: AcceptanceTransaction, state: AccountState, token: str | None, invitation_id: UUID | None
    ) -> Invitation:
        """Return the invitation of the link or id, locked; or the membership if the account accepted it before."""
        if token is not None:
            return await self._locked(tx, token)
        # Security: without the link, the address must be proved.
        ensure_proved(state.user)
        offers = await tx.received.of_address(state.user.email_key, self.clock.now())
        tenants = {offer.invitation.id: offer.invitation.tenant_id for offer in offers}
        if invitation_id is None:
            raise NotFound
        if invitation_id not in tenants:
            # This account may have accepted the invitation before, and its client may have missed the response.
            accepted = await tx.received.accepted(state.user.id, invitation_id)
            if accepted is None or state.membership_in(accepted.tenant_id) is None:
                raise NotFound
            return accepted
        locked = await tx.invitations.lock(tenants[invitation_id], invitation_id)
        if locked is None:
            raise NotFound
        return locked

    async def _locked(self, tx: AcceptanceTransaction, token: str) -> Invitation:
        offer = await tx.received.by_hash(token_hash(token))
        if offer is None:
            raise wrong_link()
        locked = await tx.invitations.lock(offer.invitation.tenant_id, offer.invitation.id)
        # The link may have been replaced before the lock.
        if locked is None or locked.hash != offer.invitation.hash:
            raise wrong_link()
        return locked

    async def _add_member(
        self,
        tx: AcceptanceTransaction,
        invitation: Invitation,
        user_id: UUID,
        system_roles: Sequence[Role],
        client: Client,
        now: datetime,
    ) -> None:
        """Create the membership if tenant, inviter and roles are still valid."""
        tenant = await tx.memberships.visit(invitation.tenant_id, now)
        roles = await tx.received.roles(invitation.tenant_id, invitation.role_ids)
        is_open = tenant is not None and tenant.tenant_is_active
        if not is_open or not await self._is_still_meant(tx, invitation, roles, now):
            raise wrong_link()
        ensure_fits_token((*roles, *system_roles), "token")
        try:
            await tx.memberships.save(user_id, invitation.tenant_id, [role.id for role in roles], None, now)
        except NotFound:
            raise wrong_link() from None
        await self._end(tx, invitation, user_id, client, now, ("member.joined", "invitation.accepted"))
        digests = self.departures.digests(invitation.email_key, invitation.tenant_id)
        await tx.former_members.readmit(invitation.tenant_id, user_id, digests)

    async def _is_still_meant(
        self, tx: AcceptanceTransaction, invitation: Invitation, roles: Sequence[Role], now: datetime
    ) -> bool:
        """Return whether the inviter (user or service account) could invite now."""
        inviter = await tx.users.state(invitation.invited_by)
        if inviter is not None:
            return may_still_invite(inviter, invitation.tenant_id, roles)
        program = await tx.service_accounts.get(invitation.tenant_id, invitation.invited_by, now)
        if program is None or not program.account.is_active:
            return False
        return may_give_by(program.account.permissions, roles, INVITE)

    async def _end(
        self,
        tx: AcceptanceTransaction,
        invitation: Invitation,
        user_id: UUID,
        client: Client,
        now: datetime,
        events: Means,
    ) -> None:
        # Only one of parallel answers ends the invitation.
        if not await tx.invitations.end(invitation.tenant_id, invitation.id, "accepted", now, user_id):
            raise wrong_link()
        line = event("invitation.accepted", user_id, invitation.id, client, now)
        await tx.audit.add(invitation.tenant_id, line, events)

    def _new_user(self, invitation: Invitation, form: AcceptForm, hashed: str) -> User:
        now = self.clock.now()
        assert form.full_name is not UNSET
        return User(
            id=self.ids.new(),
            email=invitation.email,
            email_key=invitation.email_key,
            full_name=form.full_name,
            phone_number=form.phone_number,
            password_hash=hashed,
            # The link came by mail, so its holder reads mail to the address.
            email_confirmed=True,
            email_proved=True,
            email_proved_at=now,
            password_set_at=now,
            created_at=now,
            updated_at=now,
        )


def _joined(user_id: UUID, membership: Membership) -> JoinedTenant:
    return JoinedTenant(
        user_id=user_id,
        tenant_id=membership.tenant_id,
        roles=tuple(sorted(role.name for role in membership.roles)),
        is_default=membership.is_default,
        joined_at=membership.joined_at,
    )
