"""Users of another system, taken over with the hashes of their passwords."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Protocol
from uuid import UUID

from msgspec import Struct

from application.identity.administration.imported_rows import ImportedUser, Row
from application.identity.administration.user_forms import URL_LENGTH
from application.ports.cache import Cache
from application.ports.clock import Clock, Ids
from application.ports.database import Database
from application.ports.identity.imported_hashes import ForeignHashes
from application.ports.identity.tenants import TenantTransaction
from application.ports.identity.users import IdentityTransaction
from application.ports.revocation import Revocations
from domain.audit import Client, event
from domain.errors import Conflict, FieldError, ValidationError
from domain.identity.administration import ensure_fits_token, is_super_admin_role
from domain.identity.token_versions import grants_subject
from domain.identity.users import (
    NAME_LENGTH,
    PHONE_LENGTH,
    AccountState,
    Role,
    User,
    email_key,
    profile_key,
    text_errors,
)
from domain.scope import SYSTEM_TENANT_ID, EveryTenant


class Outcome(Enum):
    MADE = "made"
    JOINED = "joined"
    KEPT = "kept"
    REFUSED = "refused"


class Result(Struct, frozen=True):
    """What became of a row; ``errors`` say why it was refused."""

    number: int
    outcome: Outcome
    errors: tuple[FieldError, ...] = ()


class Place(Struct, frozen=True):
    """A tenant, and the roles to hold there."""

    tenant_id: UUID
    roles: tuple[Role, ...]


class Plan(Struct, frozen=True):
    """What a row comes to: ``user`` is new, or the one that has the address already, who is kept as they are."""

    number: int
    user: User
    is_new: bool
    place: Place | None

    @property
    def outcome(self) -> Outcome:
        if self.is_new:
            return Outcome.MADE
        return Outcome.JOINED if self.place else Outcome.KEPT


class UserImportTransaction(IdentityTransaction, TenantTransaction, Protocol):
    """The rooms of the database that importing works in."""


FROM_HERE = Client(address="", network="", device="tenantry users import")


@dataclass(frozen=True)
class UserImport:
    database: Database[UserImportTransaction]
    hashes: ForeignHashes
    revocations: Revocations
    cache: Cache
    clock: Clock
    ids: Ids

    async def store(self, rows: Sequence[Row]) -> list[Result]:
        """One transaction for all rows that can stand together; the same rows again change nothing more.

        Nobody who is there already is changed but for a membership they did not have, and nobody becomes SuperAdmin.
        """
        results: list[Result] = []
        for group in _of_different_people(rows):
            results += await self._store(group)
        return results

    async def _store(self, rows: Sequence[Row]) -> list[Result]:
        async with self.database.autocommit(EveryTenant()) as tx:  # roles are locked while they are read
            planned = [await self._planned(tx, row) for row in rows]
        plans = [one for one in planned if isinstance(one, Plan)]
        refused = [one for one in planned if isinstance(one, Result)]
        try:
            await self._carry_out(plans)
        except Conflict as conflict:
            if len(rows) == 1:
                return [Result(rows[0].number, Outcome.REFUSED, conflict.fields)]
            return [result for row in rows for result in await self._store([row])]
        done = [Result(plan.number, plan.outcome) for plan in plans]
        return sorted([*refused, *done], key=lambda one: one.number)

    async def _carry_out(self, plans: Sequence[Plan]) -> None:
        now = self.clock.now()
        joining = [plan.user.id for plan in plans if plan.outcome is Outcome.JOINED]
        subjects = [grants_subject(user_id) for user_id in joining]
        async with self.revocations.publishing(subjects) as published:
            async with self.database.transaction(EveryTenant()) as tx:
                for plan in plans:
                    await self._carry_out_one(tx, plan, now)
                counts = await tx.token_versions.bump(subjects) if subjects else {}
            published.update(counts)
        await self.cache.drop([profile_key(user_id) for user_id in joining])

    async def _carry_out_one(self, tx: UserImportTransaction, plan: Plan, now: datetime) -> None:
        if plan.outcome is Outcome.KEPT:
            return
        if plan.is_new:
            await tx.users.add(plan.user)
        if plan.place is not None:
            role_ids = [role.id for role in plan.place.roles]
            await tx.memberships.save(plan.user.id, plan.place.tenant_id, role_ids, None, now)
        tenant_id = plan.place.tenant_id if plan.place else SYSTEM_TENANT_ID
        await tx.audit.add(tenant_id, event("user.imported", None, plan.user.id, FROM_HERE, now))

    async def _planned(self, read: UserImportTransaction, row: Row) -> Plan | Result:
        if row.user is None:
            return Result(row.number, Outcome.REFUSED, row.errors)
        try:
            return await self._plan(read, row.number, row.user)
        except ValidationError as refusal:
            return Result(row.number, Outcome.REFUSED, refusal.fields)

    async def _plan(self, read: UserImportTransaction, number: int, imported: ImportedUser) -> Plan:
        key = email_key(imported.email)
        stored = self._ensure_valid(imported, key)
        assert key is not None
        place = await self._place(read, imported) if imported.tenant else None
        state = await read.users.state_by_email(key)
        if state is not None:
            missing = _missing(state, place)
            if missing is not None:
                ensure_fits_token((*missing.roles, *state.roles), "roles")
            return Plan(number, state.user, is_new=False, place=missing)
        if place is not None:
            ensure_fits_token(place.roles, "roles")
        return Plan(number, self._new_user(imported, key, stored), is_new=True, place=place)

    def _ensure_valid(self, imported: ImportedUser, key: str | None) -> str | None:
        """The hash as it is stored; raises ValidationError with every field that is wrong on its own."""
        errors = [] if key else [FieldError("email", "is not an e-mail address")]
        errors += text_errors("fullName", imported.full_name, 1, NAME_LENGTH)
        errors += text_errors("phoneNumber", imported.phone_number, 0, PHONE_LENGTH)
        errors += text_errors("profilePictureUrl", imported.profile_picture_url, 0, URL_LENGTH)
        if imported.roles and not imported.tenant:
            errors.append(FieldError("roles", "are held in a tenant: name it"))
        stored = None
        try:
            stored = self.hashes.accepted(imported.password_hash) if imported.password_hash else None
        except ValueError as error:
            errors.append(FieldError("passwordHash", str(error)))
        if errors:
            raise ValidationError(fields=errors)
        return stored

    async def _place(self, read: UserImportTransaction, imported: ImportedUser) -> Place:
        assert imported.tenant is not None
        tenant = await read.tenants.by_identifier(imported.tenant)
        if tenant is None:
            raise ValidationError.on("tenant", f"there is no tenant {imported.tenant!r}")
        found: dict[str, Role] = {}
        for role in await read.roles.by_names(tenant.id, imported.roles) if imported.roles else ():
            found.setdefault(role.name, role)
        if missing := [name for name in imported.roles if name not in found]:
            raise ValidationError.on("roles", f"there is no role {missing[0]!r} in {imported.tenant!r}")
        if any(is_super_admin_role(role) for role in found.values()):
            raise ValidationError.on("roles", "SuperAdmin is never given by an import")
        return Place(tenant.id, tuple(found[name] for name in dict.fromkeys(imported.roles)))

    def _new_user(self, imported: ImportedUser, key: str, stored: str | None) -> User:
        """Whoever runs an import answers for what it says: a confirmed address is one that was proved elsewhere."""
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
            is_active=imported.is_active,
            password_set_at=now if stored else None,
            created_at=now,
            updated_at=now,
        )


def _missing(state: AccountState, place: Place | None) -> Place | None:
    """The place, for who is not there yet: a membership that stands keeps its roles."""
    is_there = place is not None and any(one.tenant_id == place.tenant_id for one in state.memberships)
    return None if is_there else place


def _of_different_people(rows: Sequence[Row]) -> Iterator[list[Row]]:
    """In the order given, cut where an address comes again: its second row must see what the first one made."""
    group: list[Row] = []
    seen: set[str | None] = set()
    for row in rows:
        key = email_key(row.user.email) if row.user else None
        if key is not None and key in seen:
            yield group
            group, seen = [], set()
        group.append(row)
        seen.add(key)
    if group:
        yield group
