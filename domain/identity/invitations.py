"""Invitations into a tenant: who is asked, with which roles, until when, and who may still ask."""

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
"""Permission to invite people, and to decide on requests to join."""

BATCH = 100
"""Most invitations of one request."""

DAY = timedelta(days=1)
INVITATIONS_A_DAY = 200
"""Most invitations of a tenant within a day."""

MAILS_A_DAY = 5
"""Most invitation mails to an address within a day, over all tenants: the rest are not sent, and nobody is told."""


class Invitation(Struct, frozen=True, kw_only=True):
    """An invitation as it is stored.

    ``hash`` is that of the link's secret, ``mailed_at`` the times of its mails within the last day. ``status`` stays
    ``pending`` past ``expires_at`` until something else happens to the invitation.
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
    """Whether the inviter could send this invitation now: an active account that may invite and give these roles."""
    return may_still_give(inviter, tenant_id, roles, INVITE)


def may_still_give(giver: AccountState | None, tenant_id: UUID, roles: Sequence[Role], permission: str) -> bool:
    """Whether the giver, who once promised these roles in the tenant, could do so now, which takes the permission."""
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
    """Whether the permissions suffice to give the roles, which takes the permission."""
    given = [name for role in roles for name in role.permissions]
    return not any(_is_super_admin(role) for role in roles) and allows(held, permission) and may_grant(held, given)


def _is_super_admin(role: Role) -> bool:
    # Held outside memberships alone, whoever gives it.
    return role.is_system and role.name == SUPER_ADMIN


def ensure_proved(user: User) -> None:
    """Raises Forbidden for an account whose address is not proved: anybody could have typed it in."""
    if not user.email_proved:
        raise Forbidden("Prove that the address is yours first: confirm it, or use the link in the mail.")


def wrong_link() -> ValidationError:
    """The one error for a link that is wrong, was used, revoked or has expired, or whose promise does not hold."""
    return ValidationError.on("token", "is wrong, was used, or is not valid any more: ask for a new invitation")
