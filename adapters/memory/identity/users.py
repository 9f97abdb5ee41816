"""Accounts, and the state that determines each user's rights."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from msgspec.structs import asdict, replace

from adapters.memory.entities.state import end_shares
from adapters.memory.identity.state import StoredMembership
from adapters.memory.listing import has_words, page_of
from adapters.memory.store import Access, Store
from application.ports.identity.users import HeldRole, ListedUser, Listing
from domain.errors import Conflict
from domain.identity.tokens import Session
from domain.identity.users import AccountState, Membership, OwnFactors, Role, User
from domain.scope import grants_subject, role_subject, tenant_subject, user_subject


@dataclass(frozen=True)
class MemoryUsers:
    access: Access

    async def state(self, user_id: UUID) -> AccountState | None:
        return account_state_in(self.access.read(), user_id)

    async def state_by_email(self, email_key: str) -> AccountState | None:
        store = self.access.read()
        user = _by_email(store, email_key)
        return account_state_in(store, user.id) if user else None

    async def add(self, user: User) -> None:
        async with self.access.write() as store:
            _ensure_email_is_free(store, user)
            store.users[user.id] = user

    async def save(self, user: User, before: User) -> None:
        async with self.access.write() as store:
            _ensure_email_is_free(store, user)
            stored = store.users.get(user.id)
            if stored is not None:
                # Write only the changed fields, because others may have changed concurrently.
                store.users[user.id] = replace(stored, **_changes(before, user))
                _end_tokens(store, user)
                if user.email_key != before.email_key:
                    unlink_all(store, user.id)
                    store.email_changes.pop(user.id, None)

    async def remove(self, user_id: UUID) -> None:
        async with self.access.write() as store:
            store.users.pop(user_id, None)
            store.system_roles.pop(user_id, None)
            # As the foreign keys of PostgreSQL cascade.
            store.memberships = {key: held for key, held in store.memberships.items() if held.user_id != user_id}
            end_shares(store.tables, lambda share: share["user_id"] == user_id)
            store.sessions = {key: session for key, session in store.sessions.items() if session.user_id != user_id}
            tokens = store.one_time_tokens.items()
            store.one_time_tokens = {key: token for key, token in tokens if key[0] != user_id}
            store.social = {key: linked for key, linked in store.social.items() if linked.user_id != user_id}
            store.factors = {key: factor for key, factor in store.factors.items() if factor.user_id != user_id}
            store.recovery_codes = {key: used for key, used in store.recovery_codes.items() if key[0] != user_id}
            store.passkey_handles.pop(user_id, None)
            store.email_changes.pop(user_id, None)
            for left in [key for key in store.former_members if key[1] == user_id]:
                del store.former_members[left]
            for asked in [key for key in store.join_requests if key[1] == user_id]:
                del store.join_requests[asked]

    async def page(self, listing: Listing) -> tuple[list[ListedUser], int]:
        store = self.access.read()
        tenant_id = listing.tenant_id
        listed = [
            ListedUser(user, _role_names(store, user.id, tenant_id), _is_owner(store, user.id, tenant_id))
            for user in store.users.values()
        ]
        found = [candidate for candidate in listed if _is_listed(store, candidate, listing)]
        return page_of(found, listing, lambda candidate: candidate.user), len(found)

    async def roles_in_tenants(self, user_ids: Sequence[UUID]) -> list[HeldRole]:
        store, wanted = self.access.read(), set(user_ids)
        held = [
            HeldRole(member.user_id, store.tenants[member.tenant_id].identifier, name)
            for member in store.memberships.values()
            if member.user_id in wanted and member.tenant_id not in store.deleted_tenants
            for name in _role_names(store, member.user_id, member.tenant_id)
        ]
        return sorted(held, key=lambda each: (each.tenant, each.role, each.user_id))

    async def end_sessions(self, user_id: UUID, at: datetime) -> None:
        async with self.access.write() as store:
            for session in living_sessions(store, user_id):
                store.sessions[session.id] = replace(session, ended_at=at)


def _changes(before: User, user: User) -> dict[str, Any]:
    return {name: value for name, value in asdict(user).items() if value != getattr(before, name)}


def _end_tokens(store: Store, user: User) -> None:
    for key, issued in store.one_time_tokens.items():
        if key[0] == user.id and issued.token.email_key != user.email_key:
            # Security: mark the links as used, because a link to the former address must not work any more.
            store.one_time_tokens[key] = replace(issued, used_at=user.updated_at)


def account_state_in(store: Store, user_id: UUID) -> AccountState | None:
    """Return an account's state, within a statement of another adapter."""
    user = store.users.get(user_id)
    if user is None:
        return None
    stored = [membership for membership in store.memberships.values() if membership.user_id == user_id]
    memberships = [_membership(store, held) for held in stored if held.tenant_id not in store.deleted_tenants]
    memberships.sort(key=lambda membership: (membership.joined_at, membership.tenant_id))
    roles = _roles(store, store.system_roles.get(user_id, ()))
    held = [*roles, *(role for membership in memberships for role in membership.roles)]
    subjects = [
        user_subject(user_id),
        grants_subject(user_id),
        *(tenant_subject(membership.tenant_id) for membership in memberships),
        *(role_subject(role.id) for role in held),
    ]
    versions = {subject: store.token_versions[subject] for subject in subjects if subject in store.token_versions}
    return AccountState(
        user=user,
        memberships=tuple(memberships),
        roles=roles,
        token_versions=versions,
        factors=own_factors_in(store, user_id),
    )


def own_factors_in(store: Store, user_id: UUID) -> OwnFactors:
    kinds = {factor.kind for factor in store.factors.values() if factor.user_id == user_id}
    left = any(used is None for (owner, _), used in store.recovery_codes.items() if owner == user_id)
    return OwnFactors(totp="totp" in kinds, passkey="passkey" in kinds, recovery=left)


def living_sessions(store: Store, user_id: UUID) -> list[Session]:
    """Return the user's sessions that did not end; they may have expired."""
    return [session for session in store.sessions.values() if session.user_id == user_id and session.ended_at is None]


def _membership(store: Store, stored: StoredMembership) -> Membership:
    tenant = store.tenants[stored.tenant_id]
    return Membership(
        tenant_id=tenant.id,
        tenant_name=tenant.name,
        tenant_identifier=tenant.identifier,
        tenant_is_active=tenant.is_active,
        is_default=stored.is_default,
        joined_at=stored.joined_at,
        roles=_roles(store, stored.role_ids),
        security=tenant.settings.own_security,
        is_owner=stored.is_owner,
        sessions_ended_at=stored.sessions_ended_at,
    )


def _roles(store: Store, role_ids: tuple[UUID, ...]) -> tuple[Role, ...]:
    roles = [store.roles[role_id] for role_id in role_ids]
    return tuple(sorted(roles, key=lambda role: (role.name, role.id)))


def unlink_all(store: Store, user_id: UUID) -> None:
    """Remove the user's links to social identities, within a statement of another adapter."""
    store.social = {key: linked for key, linked in store.social.items() if linked.user_id != user_id}


def _by_email(store: Store, email_key: str) -> User | None:
    return next((user for user in store.users.values() if user.email_key == email_key), None)


def _ensure_email_is_free(store: Store, user: User) -> None:
    other = _by_email(store, user.email_key)
    if other is not None and other.id != user.id:
        raise Conflict.on("email", "There is an account with this address already.")


def _role_names(store: Store, user_id: UUID, tenant_id: UUID | None) -> tuple[str, ...]:
    if tenant_id is None:
        held = store.system_roles.get(user_id, ())
    else:
        membership = store.memberships.get((user_id, tenant_id))
        held = membership.role_ids if membership else ()
    return tuple(role.name for role in _roles(store, held))


def _is_owner(store: Store, user_id: UUID, tenant_id: UUID | None) -> bool:
    membership = store.memberships.get((user_id, tenant_id)) if tenant_id else None
    return membership is not None and membership.is_owner


def _is_listed(store: Store, listed: ListedUser, listing: Listing) -> bool:
    user = listed.user
    return (
        (listing.tenant_id is None or (user.id, listing.tenant_id) in store.memberships)
        and (listing.role is None or listing.role in listed.roles)
        and (listing.is_active is None or user.is_active == listing.is_active)
        and (listing.ids is None or user.id in listing.ids)
        and has_words(listing.search, (user.full_name, user.email))
    )
