"""Limits of what administrators may do: grant only permissions they hold, and change only users of their own tenant."""

import unicodedata
from collections.abc import Callable, Iterable, Sequence
from uuid import UUID

from msgspec import Struct

from domain.errors import Conflict, FieldError, Forbidden, NotFound, ValidationError
from domain.identity.tokens import ensure_fits_token, grants_bytes
from domain.identity.users import ADMIN, SHIPPED_ROLES, SUPER_ADMIN, AccountState, Role, shipped_role_id
from domain.scope import GRANTS_BYTES, Caller, allows, may_grant


def ensure_visible(caller: Caller, state: AccountState | None) -> AccountState:
    """The account, for a caller who may know of it. Raises NotFound, alike for an unknown user and one of others."""
    # Security: a user of other tenants alone does not exist for the caller.
    if state is None or not (caller.acts_for_all or any(m.tenant_id == caller.tenant_id for m in state.memberships)):
        raise NotFound
    return state


def ensure_super_admin(caller: Caller) -> None:
    if not caller.is_super_admin:
        raise Forbidden


def roles_named(names: Iterable[str], found: Iterable[Role], field: str = "roles") -> list[Role]:
    """Roles of ``found`` by their names, each once. Raises ValidationError on ``field`` for a name of none.

    Of a tenant's own role and a system role of the same name, ``found`` has the tenant's first, and that one is meant.
    """
    by_name: dict[str, Role] = {}
    for role in found:
        by_name.setdefault(role.name, role)
    wanted = list(dict.fromkeys(names))
    missing = [name for name in wanted if name not in by_name]
    if missing:
        raise ValidationError.on(field, f"there is no role {missing[0]!r} here")
    return [by_name[name] for name in wanted]


def given_roles(caller: Caller, names: Iterable[str], found: Iterable[Role]) -> list[Role]:
    """Roles as of ``roles_named``, for somebody who joins. Raises Forbidden for what the caller may not give."""
    roles = roles_named(names, found)
    ensure_may_give(caller, roles)
    ensure_fit_membership(roles)
    ensure_fits_token(roles, "roles")
    return roles


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


FOR_PEOPLE = ("update:users", "update:service-accounts", "update:tenant-settings")
"""Permissions of operations that ask for a person with a recent proof: a key neither gives nor takes them."""


def ensure_may_grant(caller: Caller, permissions: Iterable[str]) -> None:
    """Raises Forbidden unless the caller holds every one of ``permissions``, and none is ``FOR_PEOPLE`` for a key."""
    wanted = list(permissions)
    # Security: a key could otherwise make a person who may do what no key may, and log in as that person.
    if caller.kind == "service" and any(allows(wanted, name) for name in FOR_PEOPLE):
        raise Forbidden("Only a person can give or take roles that manage users, service accounts or settings.")
    if not may_grant(caller.permissions, wanted):
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
    For super-admins only the permissions count.
    """
    if not caller.is_super_admin and any(membership.tenant_id != caller.tenant_id for membership in state.memberships):
        raise Forbidden("This user belongs to other tenants as well.")
    ensure_outranks(caller, state)


def ensure_may_change_address(caller: Caller, state: AccountState) -> None:
    """Raises Forbidden unless the caller may change the account's address, and with it who can reset the password.

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
    """Raises Forbidden for an owner of the caller's tenant, who would lose the tenant with the account.

    Super-admins, other owners and the owner themselves pass; ``own`` is the caller's account, None for a service's.
    """
    is_free = caller.is_super_admin or caller.user_id == state.user.id or not _owns(state, caller.tenant_id)
    if not is_free and (own is None or not _owns(own, caller.tenant_id)):
        raise Forbidden("This user owns the tenant: only owners and super-admins may do this.")


def _owns(state: AccountState, tenant_id: UUID | None) -> bool:
    return any(held.is_owner and held.tenant_id == tenant_id for held in state.memberships)


def ensure_outranks(caller: Caller, state: AccountState) -> None:
    """Raises Forbidden when the user holds a permission, system roles included, that the caller does not hold."""
    held = [role for membership in state.memberships for role in membership.roles]
    # Security: a super-admin's key may have few permissions, and must not take over who has more anywhere.
    # For others, roles of other tenants do not count: their permissions are worth nothing in the caller's tenant.
    seen = [role for role in held if caller.is_super_admin or role.tenant_id in (None, caller.tenant_id)]
    is_stronger = state.is_super_admin and not caller.is_super_admin
    if is_stronger or not may_grant(caller.permissions, _permissions([*seen, *state.roles])):
        raise Forbidden("This user has permissions that you do not have.")


class AccountRights(Struct, rename="camel", frozen=True, kw_only=True):
    """Whether the caller may do this to an account; that a last owner or Admin stays is another matter.

    ``change`` is of name, phone and the lock of the account, ``disable`` of its address and its second factors too.
    """

    change: bool
    disable: bool
    remove: bool
    end_sessions: bool


def account_rights(caller: Caller, state: AccountState, own: AccountState | None) -> AccountRights:
    """Rights by the rules above; ``own`` is the caller's account, None for a service's."""
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
    """Whether the caller may do this to a role; that nobody must hold a role that is removed is another matter.

    ``change`` is of the description and of the permissions that the caller holds, ``rename`` of the name.
    """

    change: bool
    rename: bool
    remove: bool


def role_rights(caller: Caller, role: Role) -> RoleRights:
    """Rights by the rules above: who renames or removes a role gives or takes everything that it holds."""
    is_changeable = _passes(lambda: ensure_may_change_role(caller, role))
    is_moved = is_changeable and shipped_name(role) is None and may_grant(caller.permissions, role.permissions)
    is_updated = allows(caller.permissions, "update:roles")
    return RoleRights(
        change=is_updated and is_changeable,
        rename=is_updated and is_moved,
        remove=is_moved and allows(caller.permissions, "delete:roles"),
    )


class ServiceAccountRights(Struct, rename="camel", frozen=True, kw_only=True):
    """Whether the caller may do this to a service account: they hold what it holds.

    ``change`` is of its keys and of whether it is active; its name and description need ``update:service-accounts``
    alone.
    """

    change: bool
    remove: bool


def service_account_rights(caller: Caller, roles: Sequence[Role]) -> ServiceAccountRights:
    """Rights over an account with these roles."""
    is_below = _passes(lambda: ensure_may_give(caller, roles))
    change, remove = (allows(caller.permissions, f"{action}:service-accounts") for action in ("update", "delete"))
    return ServiceAccountRights(change=change and is_below, remove=remove and is_below)


def may_let_in(caller: Caller, roles: Sequence[Role]) -> bool:
    """Whether the caller may make somebody a member with these roles."""
    return _passes(lambda: ensure_may_give(caller, roles)) and _passes(lambda: ensure_fit_membership(roles))


def _passes(rule: Callable[[], None]) -> bool:
    try:
        rule()
    except (Forbidden, Conflict):
        return False
    return True


def shipped_name(role: Role) -> str | None:
    """The name that the service gave the role; None for a role that somebody made."""
    return next((name for name in SHIPPED_ROLES if shipped_role_id(name) == role.id), None)


def ensure_keeps_name(role: Role, name: str) -> None:
    """Raises Conflict on ``name`` for another name of a shipped role, by which the service and its clients know it.

    A role that was renamed before this rule keeps its name, or gets the shipped one back.
    """
    shipped = shipped_name(role)
    if shipped is not None and name not in (role.name, shipped):
        raise Conflict.on("name", f"The role {shipped} belongs to the service and keeps its name.")


def ensure_fits_beside(role: Role, beside: Iterable[Sequence[Role]], field: str) -> None:
    """Raises ValidationError as ``ensure_fits_token`` does, for the role together with each of these sets of others."""
    alone: dict[UUID, int] = {}
    for others in beside:
        for each in (role, *others):
            if each.id not in alone:
                alone[each.id] = grants_bytes(each.permissions, (each,))
        # Together they take no more than one by one, which is added up quickly: there may be a set for each member.
        if sum(alone[each.id] for each in (role, *others)) > GRANTS_BYTES:
            ensure_fits_token((role, *others), field)


def _permissions(roles: Iterable[Role]) -> list[str]:
    return [name for role in roles for name in role.permissions]


def ensure_super_admin_stays(super_admins: Sequence[UUID], user_id: UUID) -> None:
    """Raises Conflict when ``user_id`` is the last of the active super-admins, whose rows must be locked."""
    if list(super_admins) == [user_id]:
        raise Conflict("The last active super-admin cannot be removed or disabled.")


def takes_an_admin(caller: Caller, state: AccountState, tenant_id: UUID, left: Iterable[Role] = ()) -> bool:
    """Whether the change takes an active Admin from the tenant, and ``ensure_admin_stays`` must be asked.

    ``state`` is the account before the change, ``left`` what the user holds in the tenant's tokens after it. Nothing
    is to be asked of super-admins: they can make another Admin.
    """
    if caller.is_super_admin or not state.user.is_active or any(map(_is_admin_role, left)):
        return False
    here = (membership for membership in state.memberships if membership.tenant_id == tenant_id)
    return any(_is_admin_role(role) for membership in here for role in state.roles_in(membership))


def _is_admin_role(role: Role) -> bool:
    return role.is_system and role.name == ADMIN


def ensure_admin_stays(admins: Sequence[UUID], user_id: UUID) -> None:
    """Raises Conflict when the tenant has no active Admin but ``user_id``, who may be out of the locked ``admins``."""
    if set(admins) <= {user_id}:
        raise Conflict("The tenant's last active Admin must stay its Admin: give the role Admin to another user first.")


def ensure_able_owner_stays(able_owners: Iterable[UUID], user_id: UUID) -> None:
    """Raises Conflict when no active owner with the role Admin remains but ``user_id``."""
    if set(able_owners) <= {user_id}:
        raise Conflict("The tenant's last owner with the role Admin must stay: give the role to another owner first.")


def ensure_owner_stays(owners: Sequence[UUID], user_id: UUID) -> None:
    """Raises Conflict when the tenant has no active owner but ``user_id``, who may be out of the locked ``owners``."""
    if set(owners) <= {user_id}:
        raise Conflict("The tenant's last owner must stay its owner: transfer the tenant to another member first.")


def other_roles_in_tokens(caller: Caller, state: AccountState) -> list[tuple[Role, ...]]:
    """Roles beside those that the caller replaces, a set for each token that they are in."""
    # System roles are in the token of every tenant.
    if caller.acts_for_all:
        return [(), *(membership.roles for membership in state.memberships)]
    return [state.roles]


def roles_in_scope(caller: Caller, state: AccountState) -> tuple[Role, ...]:
    """Roles that the caller administers: system roles from the tenant ``system``, elsewhere those of the membership."""
    if caller.acts_for_all:
        return state.roles
    memberships = (membership for membership in state.memberships if membership.tenant_id == caller.tenant_id)
    return next((membership.roles for membership in memberships), ())


# Letters of other scripts, and digits, that a reader takes for the letter behind them. Enough for the names of system
# roles, with which they are compared: Unicode's own list has thousands.
_LOOKALIKES = str.maketrans(
    "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0458\u0455\u04bb\u0501\u04cf\u051b\u051d\u043c\u0438"
    "\u043f\u0442\u043a\u0432\u043d\u044c\u0433\u03b1\u03b5\u03bf\u03c1\u03c4\u03c5\u03b9\u03bd\u03ba\u03c7"
    "\u03b7\u0131\u0261\u0269\u0251\u0578\u057d\u0585\u0570\u05610135|$@!",
    "aeopcyxijshdlqwmnntkbhbraeoptuivkxnigianuohwoleslsai",
)
_TOGETHER = frozenset({"CJK", "HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA"})
"""Scripts that one Japanese word mixes."""


def role_name_errors(field: str, name: str) -> list[FieldError]:
    """Errors of a name that shows as another one's: by invisible or full-width characters, or by similar letters."""
    if unicodedata.normalize("NFKC", name) != name or any(unicodedata.category(char)[0] == "C" for char in name):
        return [FieldError(field, "takes no invisible characters and no full-width or other forms of letters")]
    if any(len(_scripts(word)) > 1 for word in name.split()):
        return [FieldError(field, "takes letters of one script in each word")]
    looks = _skeleton(name)
    alike = [role for role in SHIPPED_ROLES if looks == _skeleton(role) and name.casefold() != role.casefold()]
    return [FieldError(field, f"can be mistaken for the system role {alike[0]}")] if alike else []


def _scripts(word: str) -> set[str]:
    """Scripts of the letters, as their names say them: ``{"LATIN"}``, ``{"CYRILLIC"}``."""
    names = {unicodedata.name(char, "?").split()[0] for char in word if unicodedata.category(char)[0] == "L"}
    return names - _TOGETHER | ({"CJK"} if names & _TOGETHER else set())


def _skeleton(name: str) -> str:
    """The name as a glance takes it: without accents, spaces and case, each letter as the Latin one it resembles."""
    letters = (char for char in unicodedata.normalize("NFKD", name) if unicodedata.category(char)[0] != "M")
    folded = "".join(letters).casefold().translate(_LOOKALIKES)
    return "".join(folded.split()).replace("rn", "m").replace("l", "i").replace("-", "").replace("_", "")
