"""Who may change whom: nobody gives what they do not hold, and nobody reaches past their own tenant."""

from collections.abc import Iterable, Sequence
from uuid import UUID

import msgspec

from domain.errors import Conflict, Forbidden, ValidationError
from domain.identity.permissions import may_grant, smallest
from domain.identity.token_versions import role_subject
from domain.identity.users import SUPER_ADMIN, AccountState, Role
from domain.scope import Caller


def ensure_super_admin(caller: Caller) -> None:
    if not caller.is_super_admin:
        raise Forbidden


def ensure_may_give(caller: Caller, given: Sequence[Role], before: Sequence[Role] = ()) -> None:
    """Checks what changes: a role given, or one taken away, must hold nothing that the caller does not.

    SuperAdmin is given by super-admins alone, from the tenant ``system``, and never in a membership.
    """
    kept = {role.id for role in given} & {role.id for role in before}
    changed = [role for role in (*given, *before) if role.id not in kept]
    if any(is_super_admin_role(role) for role in changed) and not caller.acts_for_all:
        raise Forbidden("SuperAdmin is given by super-admins, from the tenant system.")
    ensure_may_grant(caller, (name for role in changed for name in role.permissions))


def ensure_may_grant(caller: Caller, permissions: Iterable[str]) -> None:
    if not may_grant(caller.permissions, permissions):
        raise Forbidden("You cannot give or take a permission that you do not hold.")


def is_super_admin_role(role: Role) -> bool:
    return role.is_system and role.name == SUPER_ADMIN


def ensure_fit_membership(roles: Iterable[Role]) -> None:
    """Whoever gives it: what SuperAdmin holds has no place within a tenant."""
    if any(is_super_admin_role(role) for role in roles):
        raise Forbidden("SuperAdmin is never held in a membership.")


def ensure_may_change_role(caller: Caller, role: Role) -> None:
    """System roles are changed by super-admins only, and SuperAdmin itself by nobody."""
    if role.is_system:
        ensure_super_admin(caller)
    if is_super_admin_role(role):
        raise Conflict("SuperAdmin always holds everything.")


def ensure_may_change_account(caller: Caller, state: AccountState) -> None:
    """A tenant's admin changes the account of users who are in no other tenant and hold nothing beyond."""
    if caller.is_super_admin:
        return
    if any(membership.tenant_id != caller.tenant_id for membership in state.memberships):
        raise Forbidden("This user belongs to other tenants as well.")
    ensure_outranks(caller, state)


def ensure_outranks(caller: Caller, state: AccountState) -> None:
    """The user holds nothing, system roles included, that the caller does not hold here."""
    if caller.is_super_admin:
        return
    held = [role for membership in state.memberships for role in membership.roles]
    here = [role for role in held if role.tenant_id in (None, caller.tenant_id)]
    if state.is_super_admin or not may_grant(caller.permissions, _permissions([*here, *state.roles])):
        raise Forbidden("This user holds more than you do.")


GRANTS_BYTES = 7_800
"""What a token of 12 kB has room for beside all else that it says. With the longest names there are it stays below
the 16 kB past which no token is read."""


def ensure_fits_token(roles: Sequence[Role], field: str) -> None:
    """Raises ValidationError on ``field`` when who holds all of these would get a token that is too large."""
    names = sorted({role.name for role in roles})
    subjects = {role_subject(role.id): 2**31 for role in roles}
    size = sum(len(msgspec.json.encode(said)) for said in (smallest(_permissions(roles)), names, subjects))
    if size > GRANTS_BYTES:
        message = f"together hold more than a token can carry ({size} bytes, at most {GRANTS_BYTES}): use wildcards"
        raise ValidationError.on(field, message)


def _permissions(roles: Iterable[Role]) -> list[str]:
    return [name for role in roles for name in role.permissions]


def ensure_super_admin_stays(super_admins: Sequence[UUID], user_id: UUID) -> None:
    """``super_admins`` are the active ones, locked; the last of them can be neither deleted, disabled nor stripped."""
    if list(super_admins) == [user_id]:
        raise Conflict("The last super-admin must stay.")
