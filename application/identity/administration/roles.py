"""Administration of permissions, system roles and the roles of the caller's tenant."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated
from uuid import UUID

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from application.audit import record
from application.ports.database import Database
from application.ports.identity.users import PERMISSION_TAKEN, IdentityTransaction, ListedRole
from application.ports.runtime import Clock, Ids
from application.ports.shared_memory import Revocations
from application.retry import retry_on_conflict
from domain.errors import Conflict, FieldError, NotFound, ValidationError
from domain.forms import documented, text_errors
from domain.identity.administration import (
    RoleRights,
    ensure_fits_beside,
    ensure_keeps_name,
    ensure_may_change_owner,
    ensure_may_change_role,
    ensure_may_grant,
    ensure_super_admin,
    role_name_errors,
    role_rights,
    shipped_name,
)
from domain.identity.tokens import ensure_fits_token
from domain.identity.users import Role
from domain.scope import (
    PERMISSION_HINT,
    Caller,
    Client,
    EveryTenant,
    Permission,
    is_permission,
    may_grant,
    role_subject,
    smallest,
)

NAME_LENGTH = 100
DESCRIPTION_LENGTH = 1_000
CATEGORY_LENGTH = 100

RoleName = Annotated[str, documented(1, NAME_LENGTH)]
Description = Annotated[str, documented(most=DESCRIPTION_LENGTH)]
MAX_PERMISSIONS = 500


class RoleForm(Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    name: RoleName
    description: Description = ""
    permissions: list[str] = []


class RoleChange(Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """Body of a change; missing fields retain their value."""

    name: RoleName | UnsetType = UNSET
    description: Description | UnsetType = UNSET
    permissions: list[str] | UnsetType = UNSET


class RoleItem(Struct, rename="camel", kw_only=True):
    id: UUID
    name: str
    description: str
    permissions: tuple[str, ...]
    is_system: bool


class ListedRoleItem(RoleItem, rename="camel", kw_only=True):
    user_count: int
    may: RoleRights


class RoleList(Struct, rename="camel", kw_only=True):
    items: list[ListedRoleItem]


class PermissionForm(Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    name: str
    description: Description = ""
    category: Annotated[str, documented(most=CATEGORY_LENGTH)] = ""


class PermissionList(Struct, rename="camel", kw_only=True):
    items: list[Permission]


@dataclass(frozen=True)
class RoleAdministration:
    """Use cases for roles; ``required_permissions`` are those of the service's endpoints and of every served entity."""

    database: Database[IdentityTransaction]
    revocations: Revocations
    required_permissions: Sequence[Permission]
    clock: Clock
    ids: Ids

    async def all(self, caller: Caller) -> RoleList:
        async with self.database.read_only(EveryTenant()) as read:
            listed = await read.roles.visible(caller.tenant.id)
        return RoleList(items=[_listed(found, caller) for found in listed])

    async def get(self, caller: Caller, role_id: UUID) -> ListedRoleItem:
        """Return the role with the number of its holders. Raises NotFound for a role of another tenant."""
        async with self.database.read_only(EveryTenant()) as read:
            visible = await read.roles.visible(caller.tenant.id)
        found = next((listed for listed in visible if listed.role.id == role_id), None)
        if found is None:
            raise NotFound
        return _listed(found, caller)

    @retry_on_conflict
    async def create(self, caller: Caller, form: RoleForm, client: Client) -> RoleItem:
        _ensure(_errors(form))
        ensure_may_grant(caller, form.permissions)
        role = Role(
            id=self.ids.new(),
            tenant_id=None if caller.acts_for_all else caller.tenant.id,
            name=form.name,
            description=form.description,
            permissions=smallest(form.permissions),
        )
        ensure_fits_token([role], "permissions")
        async with self.database.transaction(EveryTenant()) as tx:
            await tx.roles.add(role)
            await record(tx, "role.created", caller, role.id, client, self.clock.now())
        return _item(role)

    @retry_on_conflict
    async def update(self, caller: Caller, role_id: UUID, form: RoleChange, client: Client) -> RoleItem:
        """Change the role. Raises Forbidden unless the caller holds every added or removed permission."""
        errors = _errors(form)
        subject = role_subject(role_id)
        async with self.revocations.publishing([subject]) as published, self.database.transaction(EveryTenant()) as tx:
            # Lock, because every column is written and another administrator may change the role concurrently.
            stored = await tx.roles.lock(role_id)
            # A name older than the rules for new names remains valid.
            is_kept = stored is not None and form.name == stored.name
            _ensure([error for error in errors if error.field != "name" or not is_kept])
            before = _seen(caller, stored)
            ensure_may_change_role(caller, before)
            role = _changed(before, form)
            ensure_keeps_name(before, role.name)
            wanted = before.permissions if form.permissions is UNSET else form.permissions
            ensure_may_grant(caller, set(wanted) ^ set(before.permissions))
            if role.name != before.name:
                # Security: users assign roles by name, so a rename gives these permissions to users with the new name.
                # The caller MUST be able to grant them.
                ensure_may_grant(caller, before.permissions)
            if not may_grant(role.permissions, before.permissions):
                await _ensure_owners_agree(tx, caller, before)
            # Tokens contain name and permissions, so a new description does not affect them.
            is_carried = (role.name, role.permissions) != (before.name, before.permissions)
            if is_carried:
                # Users with this role may have other roles too: the roles together must fit into their tokens.
                ensure_fits_beside(role, await tx.roles.held_beside(role_id), "permissions")
            await tx.roles.save(role)
            if is_carried:
                published.update(await tx.token_versions.bump([subject]))
            await record(tx, "role.changed", caller, role_id, client, self.clock.now())
        return _item(role)

    @retry_on_conflict
    async def delete(self, caller: Caller, role_id: UUID, client: Client) -> None:
        async with self.database.transaction(EveryTenant()) as tx:
            role = _seen(caller, await tx.roles.lock(role_id))
            ensure_may_change_role(caller, role)
            if shipped_name(role) is not None:
                raise Conflict("This role belongs to the service and cannot be deleted.")
            ensure_may_grant(caller, role.permissions)
            await tx.roles.remove(role_id)
            # Ids are never reused: housekeeping may remove the version after the last token expires.
            await tx.token_versions.end([role_subject(role_id)], self.clock.now())
            await record(tx, "role.deleted", caller, role_id, client, self.clock.now())

    async def permissions(self) -> PermissionList:
        """Return permissions that endpoints require or that super-admins added."""
        async with self.database.read_only(EveryTenant()) as read:
            made = await read.permissions.all()
        every = {permission.name: permission for permission in (*made, *self.required_permissions)}
        return PermissionList(items=[every[name] for name in sorted(every)])

    async def create_permission(self, caller: Caller, form: PermissionForm, client: Client) -> Permission:
        """Add a permission for all tenants. Raises Forbidden unless the caller is a super-admin."""
        ensure_super_admin(caller)
        if not is_permission(form.name):
            raise ValidationError.on("name", PERMISSION_HINT)
        errors = [*_length_errors("description", form.description, 0, DESCRIPTION_LENGTH)]
        _ensure([*errors, *_length_errors("category", form.category, 0, CATEGORY_LENGTH)])
        permission = Permission(id=self.ids.new(), name=form.name, description=form.description, category=form.category)
        if form.name in {required.name for required in self.required_permissions}:
            raise Conflict.on("name", PERMISSION_TAKEN)
        async with self.database.transaction(EveryTenant()) as tx:
            await tx.permissions.add(permission)
            await record(tx, "permission.created", caller, permission.id, client, self.clock.now())
        return permission


async def _ensure_owners_agree(tx: IdentityTransaction, caller: Caller, role: Role) -> None:
    """Raise Forbidden if an owner of the role's tenant would lose its permissions by a caller who is not an owner."""
    if caller.is_super_admin or role.tenant_id is None:
        return
    own = await tx.users.state(caller.user_id)
    for owner in await tx.memberships.lock_owners(role.tenant_id):
        state = await tx.users.state(owner)
        held = None if state is None else state.membership_in(role.tenant_id)
        if state is not None and held is not None and role.id in {each.id for each in held.roles}:
            ensure_may_change_owner(caller, state, own)


def _seen(caller: Caller, role: Role | None) -> Role:
    """Raises NotFound for another tenant's role."""
    # Security: another tenant's role does not exist for the caller.
    if role is None or role.tenant_id not in (None, caller.tenant_id):
        raise NotFound
    return role


def _errors(form: RoleForm | RoleChange) -> list[FieldError]:
    errors = [] if form.name is UNSET else _name_errors(form.name)
    errors += _length_errors("description", form.description or "", 0, DESCRIPTION_LENGTH)
    permissions = form.permissions or []
    if len(permissions) > MAX_PERMISSIONS:
        errors.append(FieldError("permissions", f"accepts at most {MAX_PERMISSIONS} permissions"))
    errors += [
        FieldError(f"permissions[{index}]", PERMISSION_HINT)
        for index, name in enumerate(permissions[:MAX_PERMISSIONS])
        if not is_permission(name)
    ]
    return errors


def _name_errors(name: str) -> list[FieldError]:
    errors = text_errors("name", name, 1, NAME_LENGTH)
    if not errors and name != name.strip():
        errors.append(FieldError("name", "must not begin or end with white space"))
    return errors or role_name_errors("name", name)


def _ensure(errors: Sequence[FieldError]) -> None:
    if errors:
        raise ValidationError(fields=errors)


def _length_errors(field: str, text: str, shortest: int, longest: int) -> Sequence[FieldError]:
    if shortest <= len(text) <= longest:
        return ()
    return (FieldError(field, f"must have {shortest} to {longest} characters"),)


def _changed(role: Role, form: RoleChange) -> Role:
    return replace(
        role,
        name=role.name if form.name is UNSET else form.name,
        description=role.description if form.description is UNSET else form.description,
        permissions=role.permissions if form.permissions is UNSET else smallest(form.permissions),
    )


def _item(role: Role) -> RoleItem:
    return RoleItem(
        id=role.id,
        name=role.name,
        description=role.description,
        permissions=role.permissions,
        is_system=role.is_system,
    )


def _listed(found: ListedRole, caller: Caller) -> ListedRoleItem:
    role = found.role
    return ListedRoleItem(
        id=role.id,
        name=role.name,
        description=role.description,
        permissions=role.permissions,
        is_system=role.is_system,
        user_count=found.user_count,
        may=role_rights(caller, role),
    )
