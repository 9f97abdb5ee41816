"""Invitations into a tenant: address, roles, expiry, and the inviter's current rights."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Literal
from uuid import UUID

from msgspec import Struct

from domain.errors import Forbidden, ValidationError
from domain.identity.users import SUPER_ADMIN, AccountState, Role, User
from domain.scope import allows, may_grant

InvitationStatus = Literal["pending", "accepted", "declined", "revoked", "expired"]

INVITE = "create:invitations"
"""Permission to invite, and to decide on join requests."""

BATCH = 100
"""Maximum invitations per request."""

DAY = timedelta(days=1)
INVITATIONS_A_DAY = 200
"""Maximum invitations of a tenant per day."""

MAILS_A_DAY = 5
"""Maximum invitation mails per address and day, over all tenants. Further mails are silently dropped."""


class Invitation(Struct, frozen=True, kw_only=True):
    """A stored invitation.

    ``hash`` is the hash of the link's secret; ``mailed_at`` has the times of its mails in the last day. ``status``
    remains ``pending`` after ``expires_at`` until the next change of the invitation.
    """

    tenant_id: UUID
    id: UUID
    email: str
    email_key: str
    role_ids: tuple[UUID, ...]
    invited_by: UUID
    created_at: datetime
    expires_at: datetime
    hash: str
    status: InvitationStatus = "pending"
    ended_at: datetime | None = None
    accepted_by: UUID | None = None
    mailed_at: tuple[datetime, ...] = ()

    def status_at(self, now: datetime) -> InvitationStatus:
        return "expired" if self.status == "pending" and self.expires_at <= now else self.status


def may_still_invite(inviter: AccountState | None, tenant_id: UUID, roles: Sequence[Role]) -> bool:
    """Return whether the inviter could send this invitation now, with all its rights and roles."""
    return may_still_give(inviter, tenant_id, roles, INVITE)


def may_still_give(giver: AccountState | None, tenant_id: UUID, roles: Sequence[Role], permission: str) -> bool:
    """Return whether the giver could give these promised roles in the tenant now, including ``permission``."""
    if giver is None or not giver.user.is_active or any(_is_super_admin(role) for role in roles):
        return False
    if giver.is_super_admin:
        return True
    membership = giver.membership_in(tenant_id)
    if membership is None:
        return False
    held = [name for role in giver.roles_in(membership) for name in role.permissions]
    return may_give_by(held, roles, permission)


def may_give_by(held: Sequence[str], roles: Sequence[Role], permission: str) -> bool:
    """Return whether ``held`` includes ``permission`` and suffices to give the roles."""
    given = [name for role in roles for name in role.permissions]
    return not any(_is_super_admin(role) for role in roles) and allows(held, permission) and may_grant(held, given)


def _is_super_admin(role: Role) -> bool:
    # Users hold this role only outside memberships.
    return role.is_system and role.name == SUPER_ADMIN


def ensure_proved(user: User) -> None:
    """Raise Forbidden for an account with an unproved address: anyone could have entered it."""
    if not user.email_proved:
        raise Forbidden("Prove that the address is yours first: confirm it, or use the link in the mail.")


def wrong_link() -> ValidationError:
    """Return the error for every invalid link: wrong, used, revoked, expired, or with an invalid promise."""
    return ValidationError.on("token", "is wrong, was used, or is not valid any more: ask for a new invitation")
