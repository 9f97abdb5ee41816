"""Import of users and their password hashes from another system."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from uuid import UUID

from msgspec import Struct

from application.identity.administration.user_forms import URL_LENGTH
from application.identity.user_import.imported_rows import ImportedUser, Row
from application.ports.database import Database
from application.ports.identity.passwords import ForeignHashes
from application.ports.identity.tenants import TenantTransaction
from application.ports.runtime import Clock, Ids
from application.ports.shared_memory import Cache, Revocations, profile_key
from domain.errors import Conflict, FieldError, NotFound, ValidationError
from domain.forms import text_errors, url_errors
from domain.identity.administration import is_super_admin_role
from domain.identity.tokens import ensure_fits_token
from domain.identity.users import NAME_LENGTH, PHONE_LENGTH, AccountState, Role, User, email_key
from domain.scope import SYSTEM_TENANT_ID, Client, EveryTenant, event, grants_subject


class Outcome(Enum):
    MADE = "made"
    JOINED = "joined"
    KEPT = "kept"
    REFUSED = "refused"


class Result(Struct, frozen=True):
    """Result of a row; ``errors`` are the reasons for a refusal."""

    number: int
    outcome: Outcome
    errors: tuple[FieldError, ...] = ()


class TenantRoles(Struct, frozen=True):
    """A tenant that the user joins, and the user's roles in the tenant."""

    tenant_id: UUID
    roles: tuple[Role, ...]


class Plan(Struct, frozen=True):
    """Planned change for a row; ``user`` is a new account, or the unchanged account with the same address."""

    number: int
    user: User
    is_new: bool
    tenant_roles: TenantRoles | None

    @property
    def outcome(self) -> Outcome:
        if self.is_new:
            return Outcome.MADE
        return Outcome.JOINED if self.tenant_roles else Outcome.KEPT


IMPORT_CLIENT = Client(address="", network="", device="tenantry users import")


@dataclass(frozen=True)
class UserImport:
    database: Database[TenantTransaction]
    hashes: ForeignHashes
    revocations: Revocations
    cache: Cache
    clock: Clock
    ids: Ids

    async def store(self, rows: Sequence[Row]) -> list[Result]:
        """Store the rows; the same rows again change nothing.

        An existing account only gains a missing membership; no row creates a super-admin.
        """
        results: list[Result] = []
        for group in _groups_of_distinct_users(rows):
            results += await self._store(group)
        return results

    async def _store(self, rows: Sequence[Row]) -> list[Result]:
        # Not read_only, because the read of roles locks them.
        async with self.database.autocommit(EveryTenant()) as tx:
            planned = [await self._plan_or_refusal(tx, row) for row in rows]
        plans = [plan for plan in planned if isinstance(plan, Plan)]
        refused = [result for result in planned if isinstance(result, Result)]
        try:
            await self._apply(plans)
        except NotFound:
            # A tenant was deleted concurrently: plan again, and refuse the rows of this tenant.
            return [result for row in rows for result in await self._store([row])]
        except Conflict as conflict:
            # An account was created concurrently: store each row separately to find the conflicting one.
            if len(rows) == 1:
                return [Result(rows[0].number, Outcome.REFUSED, conflict.fields)]
            return [result for row in rows for result in await self._store([row])]
        done = [Result(plan.number, plan.outcome) for plan in plans]
        return sorted([*refused, *done], key=lambda result: result.number)

    async def _apply(self, plans: Sequence[Plan]) -> None:
        now = self.clock.now()
        joining = [plan.user.id for plan in plans if plan.outcome is Outcome.JOINED]
        subjects = [grants_subject(user_id) for user_id in joining]
        async with self.revocations.publishing(subjects) as published, self.database.transaction(EveryTenant()) as tx:
            for plan in plans:
                await self._apply_plan(tx, plan, now)
            if subjects:
                published.update(await tx.token_versions.bump(subjects))
        await self.cache.drop([profile_key(user_id) for user_id in joining])

    async def _apply_plan(self, tx: TenantTransaction, plan: Plan, now: datetime) -> None:
        if plan.outcome is Outcome.KEPT:
            return
        if plan.is_new:
            await tx.users.add(plan.user)
        if plan.tenant_roles is not None:
            role_ids = [role.id for role in plan.tenant_roles.roles]
            await tx.memberships.save(plan.user.id, plan.tenant_roles.tenant_id, role_ids, None, now)
        tenant_id = plan.tenant_roles.tenant_id if plan.tenant_roles else SYSTEM_TENANT_ID
        await tx.audit.add(tenant_id, event("user.imported", None, plan.user.id, IMPORT_CLIENT, now))

    async def _plan_or_refusal(self, read: TenantTransaction, row: Row) -> Plan | Result:
        if row.user is None:
            return Result(row.number, Outcome.REFUSED, row.errors)
        try:
            return await self._plan(read, row, row.user)
        except ValidationError as refusal:
            return Result(row.number, Outcome.REFUSED, refusal.fields)

    async def _plan(self, read: TenantTransaction, row: Row, imported: ImportedUser) -> Plan:
        key = email_key(imported.email)
        tenant_roles, role_errors = await self._tenant_roles(read, imported)
        stored, hash_errors = self._stored_hash(imported)
        unread = {error.field.partition("[")[0] for error in row.errors}
        errors = (*_text_errors(imported, key), *role_errors, *hash_errors)
        if found := [*row.errors, *(error for error in errors if error.field not in unread)]:
            raise ValidationError(fields=found)
        assert key is not None
        state = await read.users.state_by_email(key)
        if state is not None:
            missing = _missing_membership(state, tenant_roles)
            if missing is not None:
                ensure_fits_token((*missing.roles, *state.roles), "roles")
            return Plan(row.number, state.user, is_new=False, tenant_roles=missing)
        if tenant_roles is not None:
            ensure_fits_token(tenant_roles.roles, "roles")
        return Plan(row.number, self._new_user(imported, key, stored), is_new=True, tenant_roles=tenant_roles)

    def _stored_hash(self, imported: ImportedUser) -> tuple[str | None, list[FieldError]]:
        try:
            return self.hashes.accepted(imported.password_hash) if imported.password_hash else None, []
        except ValueError as error:
            return None, [FieldError("passwordHash", str(error))]

    async def _tenant_roles(
        self, read: TenantTransaction, imported: ImportedUser
    ) -> tuple[TenantRoles | None, list[FieldError]]:
        if not imported.tenant:
            return None, [FieldError("roles", "are held in a tenant: name it")] if imported.roles else []
        tenant = await read.tenants.by_identifier(imported.tenant)
        if tenant is None:
            return None, [FieldError("tenant", f"there is no tenant {imported.tenant!r}")]
        found: dict[str, Role] = {}
        for role in await read.roles.by_names(tenant.id, imported.roles) if imported.roles else ():
            found.setdefault(role.name, role)
        names = list(dict.fromkeys(imported.roles))
        errors = [
            FieldError("roles", f"there is no role {name!r} in {imported.tenant!r}")
            for name in names
            if name not in found
        ]
        if any(is_super_admin_role(role) for role in found.values()):
            errors.append(FieldError("roles", "SuperAdmin is never given by an import"))
        return TenantRoles(tenant.id, tuple(found[name] for name in names if name in found)), errors

    def _new_user(self, imported: ImportedUser, key: str, stored: str | None) -> User:
        # The operator guarantees that the other system proved the confirmed addresses in the file.
        now = self.clock.now()
        return User(
            id=self.ids.new(),
            email=imported.email.strip(),
            email_key=key,
            full_name=imported.full_name,
            phone_number=imported.phone_number,
            profile_picture_url=imported.profile_picture_url,
            password_hash=stored,
            email_confirmed=imported.email_confirmed,
            email_proved=imported.email_confirmed,
            email_proved_at=now if imported.email_confirmed else None,
            is_active=imported.is_active,
            password_set_at=now if stored else None,
            created_at=now,
            updated_at=now,
        )


def _text_errors(imported: ImportedUser, key: str | None) -> list[FieldError]:
    return [
        *(() if key else (FieldError("email", "is not an e-mail address"),)),
        *text_errors("fullName", imported.full_name, 1, NAME_LENGTH),
        *text_errors("phoneNumber", imported.phone_number, 0, PHONE_LENGTH),
        *url_errors("profilePictureUrl", imported.profile_picture_url, URL_LENGTH),
    ]


def _missing_membership(state: AccountState, tenant_roles: TenantRoles | None) -> TenantRoles | None:
    # An existing membership retains its roles.
    is_member = tenant_roles is not None and any(
        membership.tenant_id == tenant_roles.tenant_id for membership in state.memberships
    )
    return None if is_member else tenant_roles


def _groups_of_distinct_users(rows: Sequence[Row]) -> Iterator[list[Row]]:
    group: list[Row] = []
    seen: set[str | None] = set()
    for row in rows:
        key = email_key(row.user.email) if row.user else None
        # The plan for the second row of an address needs the result of the first row, so use the next transaction.
        if key is not None and key in seen:
            yield group
            group, seen = [], set()
        group.append(row)
        seen.add(key)
    if group:
        yield group
