"""Limits of what administrators may do: grant only permissions they hold, and change only users of their own tenant."""

from collections.abc import Iterable, Sequence
from uuid import UUID

import msgspec

from domain.errors import Conflict, Forbidden, ValidationError
from domain.identity.tokens import role_subject
from domain.identity.users import SUPER_ADMIN, AccountState, Role
from domain.scope import Caller, may_grant, smallest


def ensure_super_admin(caller: Caller) -> None:
    if not caller.is_super_admin:
        raise Forbidden


def ensure_may_give(caller: Caller, given: Sequence[Role], before: Sequence[Role] = ()) -> None:
    """Raises Forbidden unless the caller may replace the roles ``before`` by ``given``.

    Only roles that are added or taken away are checked: the caller must hold every permission of them. SuperAdmin is
    given by super-admins alone, from the tenant ``system``.
    """
    unchanged = {role.id for role in given} & {role.id for role in before}
    changed = [role for role in (*given, *before) if role.id not in unchanged]
    if any(is_super_admin_role(role) for role in changed) and not caller.acts_for_all:
        raise Forbidden("The role SuperAdmin is only given or taken by super-admins, from the tenant system.")
    ensure_may_grant(caller, (name for role in changed for name in role.permissions))


def ensure_may_grant(caller: Caller, permissions: Iterable[str]) -> None:
    """Raises Forbidden unless the caller holds every one of ``permissions``."""
    if not may_grant(caller.permissions, permissions):
        raise Forbidden("You cannot give or take a permission that you do not hold.")


def is_super_admin_role(role: Role) -> bool:
    return role.is_system and role.name == SUPER_ADMIN


def ensure_fit_membership(roles: Iterable[Role]) -> None:
    """Raises Forbidden for SuperAdmin, whoever gives it: it is held outside memberships."""
    if any(is_super_admin_role(role) for role in roles):
        raise Forbidden("The role SuperAdmin cannot be given in a membership.")


def ensure_may_change_role(caller: Caller, role: Role) -> None:
    """Raises Forbidden for a system role unless the caller is a super-admin, Conflict for SuperAdmin always."""
    if role.is_system:
        ensure_super_admin(caller)
    if is_super_admin_role(role):
        raise Conflict("The role SuperAdmin cannot be changed.")


def ensure_may_change_account(caller: Caller, state: AccountState) -> None:
    """Raises Forbidden unless the caller may change the account.

    A tenant's administrator may, if the user belongs to no other tenant and holds no permission that the caller lacks.
    """
    if caller.is_super_admin:
        return
    if any(membership.tenant_id != caller.tenant_id for membership in state.memberships):
        raise Forbidden("This user belongs to other tenants as well.")
    ensure_outranks(caller, state)


def ensure_outranks(caller: Caller, state: AccountState) -> None:
    """Raises Forbidden when the user holds a permission, system roles included, that the caller does not hold."""
    if caller.is_super_admin:
        return
    # Roles of other tenants do not count: their permissions are worth nothing in the caller's tenant.
    held = [role for membership in state.memberships for role in membership.roles]
    here = [role for role in held if role.tenant_id in (None, caller.tenant_id)]
    if state.is_super_admin or not may_grant(caller.permissions, _permissions([*here, *state.roles])):
        raise Forbidden("This user has permissions that you do not have.")


# A token of 12 kB carries names, ids and a signature beside the grants. With the longest names allowed it stays below
# 16 kB, beyond which no token is read.
GRANTS_BYTES = 7_800
"""Most bytes of JSON for the permissions, role names and role versions of a token."""


def ensure_fits_token(roles: Sequence[Role], field: str) -> None:
    """Raises ValidationError on ``field`` when a holder of all these roles would get a token that is too large."""
    names = sorted({role.name for role in roles})
    # The largest version that is likely: the size must not grow past the limit when roles are changed later.
    subjects = {role_subject(role.id): 2**31 for role in roles}
    size = sum(len(msgspec.json.encode(part)) for part in (smallest(_permissions(roles)), names, subjects))
    if size > GRANTS_BYTES:
        message = f"together hold more than a token can carry ({size} bytes, at most {GRANTS_BYTES}): use wildcards"
        raise ValidationError.on(field, message)


def _permissions(roles: Iterable[Role]) -> list[str]:
    return [name for role in roles for name in role.permissions]


def ensure_super_admin_stays(super_admins: Sequence[UUID], user_id: UUID) -> None:
    """Raises Conflict when ``user_id`` is the last of the active super-admins, whose rows must be locked."""
    if list(super_admins) == [user_id]:
        raise Conflict("The last active super-admin cannot be removed or disabled.")
