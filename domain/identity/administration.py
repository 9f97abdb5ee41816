"""Limits of administrators: they grant only permissions they hold, and change only users of their tenant."""

import unicodedata
from collections.abc import Callable, Iterable, Sequence
from uuid import UUID

from msgspec import Struct

from domain.errors import Conflict, FieldError, Forbidden, NotFound, ValidationError
from domain.identity.tokens import ensure_fits_token, grants_bytes
from domain.identity.users import ADMIN, SHIPPED_ROLES, SUPER_ADMIN, AccountState, Role, shipped_role_id
from domain.scope import GRANTS_BYTES, Caller, allows, may_grant


def ensure_visible(caller: Caller, state: AccountState | None) -> AccountState:
    """Return the account if the caller may see it. Raises the same NotFound for unknown and for invisible users."""
    # Security: users of other tenants only do not exist for the caller.
    if state is None or not (caller.acts_for_all or any(m.tenant_id == caller.tenant_id for m in state.memberships)):
        raise NotFound
    return state


def ensure_super_admin(caller: Caller) -> None:
    if not caller.is_super_admin:
        raise Forbidden


def roles_named(names: Iterable[str], found: Iterable[Role], field: str = "roles") -> list[Role]:
    """Return the roles of ``found`` with these names, each once.

    Raises ValidationError on ``field`` for an unknown name. A tenant's role has priority over a system role.
    """
    by_name: dict[str, Role] = {}
    for role in found:
        by_name.setdefault(role.name, role)
    wanted = list(dict.fromkeys(names))
    missing = [name for name in wanted if name not in by_name]
    if missing:
        raise ValidationError.on(field, f"the role {missing[0]!r} does not exist here")
    return [by_name[name] for name in wanted]


def given_roles(caller: Caller, names: Iterable[str], found: Iterable[Role]) -> list[Role]:
    """Return roles as ``roles_named`` does, for a joining user. Raises Forbidden for roles the caller may not give."""
    roles = roles_named(names, found)
    ensure_may_give(caller, roles)
    ensure_fit_membership(roles)
    ensure_fits_token(roles, "roles")
    return roles


def ensure_may_give(caller: Caller, given: Sequence[Role], before: Sequence[Role] = ()) -> None:
    """Raise Forbidden unless the caller may replace the roles ``before`` by ``given``.

    The caller must hold all permissions of added or removed roles. Only super-admins in the tenant ``system`` give
    SuperAdmin.
    """
    unchanged = {role.id for role in given} & {role.id for role in before}
    changed = [role for role in (*given, *before) if role.id not in unchanged]
    if any(is_super_admin_role(role) for role in changed) and not caller.acts_for_all:
        raise Forbidden("The role SuperAdmin is only given or taken by super-admins, from the tenant system.")
    ensure_may_grant(caller, (name for role in changed for name in role.permissions))


FOR_PEOPLE = tuple(f"update:{name}" for name in ("users", "service-accounts", "tenant-settings", "webhooks"))
FOR_PEOPLE += ("create:webhooks",)
"""Permissions for a person with a recent proof only. An API key can neither grant nor remove them."""


def ensure_may_grant(caller: Caller, permissions: Iterable[str]) -> None:
    """Raise Forbidden unless the caller holds all ``permissions``, and, for a key, none is ``FOR_PEOPLE``."""
    wanted = list(permissions)
    # Security: otherwise a key could create a more powerful person and log in as that person.
    if caller.kind == "service" and any(allows(wanted, name) for name in FOR_PEOPLE):
        raise Forbidden("Only a person can give or take roles that manage users, service accounts or settings.")
    if not may_grant(caller.permissions, wanted):
        raise Forbidden("You cannot give or take a permission that you do not hold.")


def is_super_admin_role(role: Role) -> bool:
    return role.is_system and role.name == SUPER_ADMIN


def ensure_fit_membership(roles: Iterable[Role]) -> None:
    """Raise Forbidden for SuperAdmin in a membership, from any caller: users hold it only outside memberships."""
    if any(is_super_admin_role(role) for role in roles):
        raise Forbidden("The role SuperAdmin cannot be given in a membership.")


def ensure_may_change_role(caller: Caller, role: Role) -> None:
    """Raise Forbidden for a system role unless the caller is a super-admin, Conflict for SuperAdmin always."""
    if role.is_system:
        ensure_super_admin(caller)
    if is_super_admin_role(role):
        raise Conflict("The role SuperAdmin cannot be changed.")


def ensure_may_change_account(caller: Caller, state: AccountState) -> None:
    """Raise Forbidden unless the caller may change the account.

    A tenant's administrator may, if the user belongs to no other tenant and holds no permission that the caller lacks.
    For super-admins only the permissions count.
    """
    if not caller.is_super_admin and any(membership.tenant_id != caller.tenant_id for membership in state.memberships):
        raise Forbidden("This user belongs to other tenants as well.")
    ensure_outranks(caller, state)


def ensure_may_change_address(caller: Caller, state: AccountState) -> None:
    """Raise Forbidden unless the caller may change the account's address, and so determine who can reset the password.

    Once the owner has proved the address, only the owner and super-admins may. A key may not change the address of an
    account with permissions ``FOR_PEOPLE``.
    """
    if caller.user_id == state.user.id:
        return
    if state.user.email_proved and not caller.is_super_admin:
        raise Forbidden("The owner of this account has proved its address: only they and super-admins can change it.")
    held = _permissions([*(role for membership in state.memberships for role in membership.roles), *state.roles])
    if caller.kind == "service" and any(allows(held, name) for name in FOR_PEOPLE):
        raise Forbidden("Only a person can change the address of a user who manages users or settings.")


def ensure_may_change_owner(caller: Caller, state: AccountState, own: AccountState | None) -> None:
    """Raise Forbidden for an owner of the caller's tenant, because an owner without the account loses the tenant.

    Super-admins, other owners and the user may change it; ``own`` is the caller's account, None for a service account.
    """
    is_free = caller.is_super_admin or caller.user_id == state.user.id or not _owns(state, caller.tenant_id)
    if not is_free and (own is None or not _owns(own, caller.tenant_id)):
        raise Forbidden("This user owns the tenant: only owners and super-admins may do this.")


def _owns(state: AccountState, tenant_id: UUID | None) -> bool:
    return any(held.is_owner and held.tenant_id == tenant_id for held in state.memberships)


def ensure_outranks(caller: Caller, state: AccountState) -> None:
    """Raise Forbidden if the user holds a permission that the caller lacks. System roles count."""
    held = [role for membership in state.memberships for role in membership.roles]
    # Security: a super-admin's key may have few permissions, and must not control a stronger user. Otherwise ignore
    # roles of other tenants: they have no effect here.
    seen = [role for role in held if caller.is_super_admin or role.tenant_id in (None, caller.tenant_id)]
    is_stronger = state.is_super_admin and not caller.is_super_admin
    if is_stronger or not may_grant(caller.permissions, _permissions([*seen, *state.roles])):
        raise Forbidden("This user has permissions that you do not have.")


class AccountRights(Struct, rename="camel", frozen=True, kw_only=True):
    """The caller's rights over an account. A separate check ensures that a last owner or Admin remains.

    ``change`` covers name, phone and the lock of the account; ``disable`` also covers the address and the second
    factors.
    """

    change: bool
    disable: bool
    remove: bool
    end_sessions: bool


def account_rights(caller: Caller, state: AccountState, own: AccountState | None) -> AccountRights:
    """Return the rights over an account; ``own`` is the caller's account, None for a service account."""
    is_updated, is_deleted = (allows(caller.permissions, f"{action}:users") for action in ("update", "delete"))
    is_below = _passes(lambda: ensure_outranks(caller, state))
    is_changed = is_updated and _passes(lambda: ensure_may_change_account(caller, state))
    is_no_foreign_owner = _passes(lambda: ensure_may_change_owner(caller, state, own))
    return AccountRights(
        change=is_changed,
        disable=is_changed and is_no_foreign_owner,
        remove=is_deleted and is_below and is_no_foreign_owner,
        end_sessions=is_updated and is_below,
    )


class RoleRights(Struct, rename="camel", frozen=True, kw_only=True):
    """The caller's rights over a role, even if no user holds it.

    ``change`` covers the description and the permissions held by the caller, ``rename`` the name.
    """

    change: bool
    rename: bool
    remove: bool


def role_rights(caller: Caller, role: Role) -> RoleRights:
    """Return the rights over a role. To rename or remove the role, the caller must hold all its permissions."""
    is_changeable = _passes(lambda: ensure_may_change_role(caller, role))
    is_moved = is_changeable and shipped_name(role) is None and may_grant(caller.permissions, role.permissions)
    is_updated = allows(caller.permissions, "update:roles")
    return RoleRights(
        change=is_updated and is_changeable,
        rename=is_updated and is_moved,
        remove=is_moved and allows(caller.permissions, "delete:roles"),
    )


class ServiceAccountRights(Struct, rename="camel", frozen=True, kw_only=True):
    """The caller's rights over a service account. The caller must hold its permissions.

    ``change`` covers the API keys and the active state of the account. Its name and description need only
    ``update:service-accounts``.
    """

    change: bool
    remove: bool


def service_account_rights(caller: Caller, roles: Sequence[Role]) -> ServiceAccountRights:
    """Return the rights over an account with these roles."""
    is_below = _passes(lambda: ensure_may_give(caller, roles))
    change, remove = (allows(caller.permissions, f"{action}:service-accounts") for action in ("update", "delete"))
    return ServiceAccountRights(change=change and is_below, remove=remove and is_below)


def may_let_in(caller: Caller, roles: Sequence[Role]) -> bool:
    """Return whether the caller may add a member with these roles."""
    return _passes(lambda: ensure_may_give(caller, roles)) and _passes(lambda: ensure_fit_membership(roles))


def _passes(rule: Callable[[], None]) -> bool:
    try:
        rule()
    except (Forbidden, Conflict):
        return False
    return True


def shipped_name(role: Role) -> str | None:
    """Return the name that the service gave the role; None for a user-created role."""
    return next((name for name in SHIPPED_ROLES if shipped_role_id(name) == role.id), None)


def ensure_keeps_name(role: Role, name: str) -> None:
    """Raise Conflict on ``name`` for another name of a shipped role: the service and its clients need the name.

    A role renamed before this rule may retain its name or get the shipped one back.
    """
    shipped = shipped_name(role)
    if shipped is not None and name not in (role.name, shipped):
        raise Conflict.on("name", f"The role {shipped} belongs to the service and cannot be renamed.")


def ensure_fits_beside(role: Role, beside: Iterable[Sequence[Role]], field: str) -> None:
    """Raise ValidationError as ``ensure_fits_token`` does, for the role together with each set of roles."""
    alone: dict[UUID, int] = {}
    for others in beside:
        for each in (role, *others):
            if each.id not in alone:
                alone[each.id] = grants_bytes(each.permissions, (each,))
        # The sum of the sizes of single roles is a fast upper bound; an exact check of each member's set would be slow.
        if sum(alone[each.id] for each in (role, *others)) > GRANTS_BYTES:
            ensure_fits_token((role, *others), field)


def _permissions(roles: Iterable[Role]) -> list[str]:
    return [name for role in roles for name in role.permissions]


def ensure_super_admin_stays(super_admins: Sequence[UUID], user_id: UUID) -> None:
    """Raise Conflict if ``user_id`` is the last active super-admin. The super-admins' rows must be locked."""
    if list(super_admins) == [user_id]:
        raise Conflict("The last active super-admin cannot be removed or disabled.")


def takes_an_admin(caller: Caller, state: AccountState, tenant_id: UUID, left: Iterable[Role] = ()) -> bool:
    """Return whether the change removes an active Admin from the tenant and requires ``ensure_admin_stays``.

    ``state`` is the account before the change, ``left`` the user's roles in the tenant's tokens after it. Super-admins
    are exempt: they can make another Admin.
    """
    if caller.is_super_admin or not state.user.is_active or any(map(_is_admin_role, left)):
        return False
    here = (membership for membership in state.memberships if membership.tenant_id == tenant_id)
    return any(_is_admin_role(role) for membership in here for role in state.roles_in(membership))


def _is_admin_role(role: Role) -> bool:
    return role.is_system and role.name == ADMIN


def ensure_admin_stays(admins: Sequence[UUID], user_id: UUID) -> None:
    """Raise Conflict if the tenant has no active Admin except ``user_id``; the locked ``admins`` may omit that user."""
    if set(admins) <= {user_id}:
        raise Conflict("The tenant's last active Admin must stay its Admin: give the role Admin to another user first.")


def ensure_able_owner_stays(able_owners: Iterable[UUID], user_id: UUID) -> None:
    """Raise Conflict if no active owner with the role Admin remains except ``user_id``."""
    if set(able_owners) <= {user_id}:
        raise Conflict("The tenant's last owner with the role Admin must stay: give the role to another owner first.")


def ensure_owner_stays(owners: Sequence[UUID], user_id: UUID) -> None:
    """Raise Conflict if the tenant has no active owner except ``user_id``; the locked ``owners`` may omit that user."""
    if set(owners) <= {user_id}:
        raise Conflict("The tenant's last owner must stay its owner: transfer the tenant to another member first.")


def other_roles_in_tokens(caller: Caller, state: AccountState) -> list[tuple[Role, ...]]:
    """Return the user's roles that the caller does not replace, one set for each token of the user."""
    # Every tenant's token contains system roles.
    if caller.acts_for_all:
        return [(), *(membership.roles for membership in state.memberships)]
    return [state.roles]


def roles_in_scope(caller: Caller, state: AccountState) -> tuple[Role, ...]:
    """Return the roles that the caller administers: system roles from ``system``, else the membership's."""
    if caller.acts_for_all:
        return state.roles
    memberships = (membership for membership in state.memberships if membership.tenant_id == caller.tenant_id)
    return next((membership.roles for membership in memberships), ())


# Digits and letters of other scripts, mapped to similar Latin letters. These suffice for the names of system roles;
# Unicode's list has thousands.
_LOOKALIKES = str.maketrans(
    "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0458\u0455\u04bb\u0501\u04cf\u051b\u051d\u043c\u0438"
    "\u043f\u0442\u043a\u0432\u043d\u044c\u0433\u03b1\u03b5\u03bf\u03c1\u03c4\u03c5\u03b9\u03bd\u03ba\u03c7"
    "\u03b7\u0131\u0261\u0269\u0251\u0578\u057d\u0585\u0570\u05610135|$@!",
    "aeopcyxijshdlqwmnntkbhbraeoptuivkxnigianuohwoleslsai",
)
_TOGETHER = frozenset({"CJK", "HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA"})
"""Scripts that may occur together in one Japanese word."""


def role_name_errors(field: str, name: str) -> list[FieldError]:
    """Return the errors of a name that imitates another with invisible, full-width or similar characters."""
    if unicodedata.normalize("NFKC", name) != name or any(unicodedata.category(char)[0] == "C" for char in name):
        return [FieldError(field, "must not contain invisible characters or full-width or other forms of letters")]
    if any(len(_scripts(word)) > 1 for word in name.split()):
        return [FieldError(field, "must use letters of one script in each word")]
    looks = _skeleton(name)
    alike = [role for role in SHIPPED_ROLES if looks == _skeleton(role) and name.casefold() != role.casefold()]
    return [FieldError(field, f"can be mistaken for the system role {alike[0]}")] if alike else []


def _scripts(word: str) -> set[str]:
    """Unicode scripts of the letters: ``{"LATIN"}``, ``{"CYRILLIC"}``."""
    names = {unicodedata.name(char, "?").split()[0] for char in word if unicodedata.category(char)[0] == "L"}
    return names - _TOGETHER | ({"CJK"} if names & _TOGETHER else set())


def _skeleton(name: str) -> str:
    """The name without accents, spaces and case; lookalike letters become Latin."""
    letters = (char for char in unicodedata.normalize("NFKD", name) if unicodedata.category(char)[0] != "M")
    folded = "".join(letters).casefold().translate(_LOOKALIKES)
    return "".join(folded.split()).replace("rn", "m").replace("l", "i").replace("-", "").replace("_", "")
