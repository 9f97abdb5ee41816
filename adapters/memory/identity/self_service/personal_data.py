"""All stored data about a person."""

from collections.abc import Iterable
from dataclasses import dataclass
from operator import attrgetter
from typing import Any
from uuid import UUID

import msgspec

from adapters.memory.operations.audit import TABLE
from adapters.memory.store import Access, MemoryContext, Store
from application.ports.identity.personal_data import EVENTS, AccountRecord, EventRecord, PersonalData
from domain.identity.users import User


@dataclass(frozen=True)
class MemoryPersonalRecords:
    access: Access

    async def of(self, user: User, events: int = EVENTS) -> PersonalData | None:
        store = self.access.read()
        stored = store.users.get(user.id)
        if stored is None:
            return None
        found = _events(store, user.id)
        parts = {
            "account": _account(store, stored),
            "memberships": _memberships(store, user.id),
            "sessions": _of_user(store.sessions.values(), user.id, "created_at"),
            "factors": _of_user(store.factors.values(), user.id, "created_at"),
            "recoveryCodes": [{"usedAt": at} for at in _used_codes(store, user.id)],
            "identities": _identities(store, user.id),
            "emailChanges": _of_user(
                (change for change in store.email_changes.values() if change.email), user.id, "requested_at"
            ),
            "links": _links(store, user.id),
            "waitingMails": _mails(store, stored),
            "loginAttempts": _attempts(store, user.email_key),
            "invitationsReceived": _invitations(store, "email_key", user.email_key),
            "invitationsSent": _invitations(store, "invited_by", user.id),
            "joinRequests": _of_user(store.join_requests.values(), user.id, "created_at"),
            "domains": _domains(store, user.id),
            "formerMemberships": [
                {"tenantId": tenant} for tenant, who in sorted(store.former_members) if who == user.id
            ],
            "serviceAccounts": _made(store.service_accounts.values(), user.id),
            "apiKeys": _made((stored.key for stored in store.api_keys.values()), user.id),
            "repeatedRequests": _answers(store, user.id),
            "events": found[:events],
            "hasMoreEvents": len(found) > events,
        }
        # The JSON encoding omits values that an export does not contain.
        return msgspec.json.decode(msgspec.json.encode(parts), type=PersonalData)


def _camel(value: Any, **more: Any) -> dict[str, Any]:
    names = type(value).__struct_fields__
    return {**{_wire(name): getattr(value, name) for name in names}, **more}


def _wire(name: str) -> str:
    first, *words = name.split("_")
    return first + "".join(word.capitalize() for word in words)


def _account(store: Store, user: User) -> AccountRecord:
    roles = sorted(store.roles[role_id].name for role_id in store.system_roles.get(user.id, ()))
    shared = set(User.__struct_fields__) & set(AccountRecord.__struct_fields__)
    values = {name: getattr(user, name) for name in shared}
    return AccountRecord(**values, has_password=user.password_hash is not None, system_roles=roles)


def _memberships(store: Store, user_id: UUID) -> list[dict[str, Any]]:
    held = [membership for membership in store.memberships.values() if membership.user_id == user_id]
    held.sort(key=attrgetter("joined_at", "tenant_id"))
    return [
        _camel(
            membership,
            tenantName=store.tenants[membership.tenant_id].name,
            roles=sorted(store.roles[role_id].name for role_id in membership.role_ids),
        )
        for membership in held
    ]


def _of_user(every: Iterable[Any], user_id: UUID, order: str) -> list[dict[str, Any]]:
    own = sorted((value for value in every if value.user_id == user_id), key=attrgetter(order))
    return [{name: value for name, value in _camel(item).items() if not isinstance(value, bytes)} for item in own]


def _used_codes(store: Store, user_id: UUID) -> list[Any]:
    times = [used for (owner, _), used in store.recovery_codes.items() if owner == user_id]
    return [*sorted(at for at in times if at is not None), *(at for at in times if at is None)]


def _identities(store: Store, user_id: UUID) -> list[dict[str, Any]]:
    own = [(linked.linked_at, *key) for key, linked in store.social.items() if linked.user_id == user_id]
    return [{"provider": provider, "subject": subject, "linkedAt": at} for at, provider, subject in sorted(own)]


def _links(store: Store, user_id: UUID) -> list[dict[str, Any]]:
    own = [issued for key, issued in store.one_time_tokens.items() if key[0] == user_id]
    own.sort(key=lambda issued: issued.token.number)
    return [_camel(issued.token, email=issued.token.email_key, usedAt=issued.used_at) for issued in own]


def _mails(store: Store, user: User) -> list[dict[str, Any]]:
    own = [waiting for waiting in store.outbox.values() if waiting.mail.recipient in (user.email, user.email_key)]
    return [_camel(waiting.mail) for waiting in sorted(own, key=attrgetter("number"))]


def _attempts(store: Store, email_key: str) -> list[dict[str, Any]]:
    own = {network or "": failures for (key, network), failures in store.attempts.items() if key == email_key}
    return [_camel(failures, network=network, failures=failures.count) for network, failures in sorted(own.items())]


def _invitations(store: Store, name: str, value: object) -> list[dict[str, Any]]:
    own = [invitation for invitation in store.invitations.values() if getattr(invitation, name) == value]
    return [_camel(invitation) for invitation in sorted(own, key=attrgetter("created_at", "id"))]


def _domains(store: Store, user_id: UUID) -> list[dict[str, Any]]:
    own = [domain for domain in store.domains.values() if domain.set_by == user_id]
    return [_camel(domain) for domain in sorted(own, key=attrgetter("created_at", "domain"))]


def _made(every: Iterable[Any], user_id: UUID) -> list[dict[str, Any]]:
    own = [made for made in every if made.created_by == user_id]
    return [_camel(made) for made in sorted(own, key=attrgetter("created_at", "id"))]


def _answers(store: Store, user_id: UUID) -> list[dict[str, Any]]:
    own = [(response.at, key, tenant) for (tenant, owner, key), response in store.answers.items() if owner == user_id]
    return [{"tenantId": tenant, "key": key, "at": at} for at, key, tenant in sorted(own)]


def _events(store: Store, user_id: UUID) -> list[EventRecord]:
    rows: list[dict[str, Any]] = list(store.tables.get(TABLE, {}).values())
    own = [row for row in rows if user_id in (row["actor_id"], row["target_id"])]
    own.sort(key=lambda row: (row["occurred_at"], row["id"]), reverse=True)
    # Security: hide the addresses of administrators.
    hidden = [{**row, "address": row["address"] if row["actor_id"] == user_id else None} for row in own]
    return [EventRecord(**{name: row[name] for name in EventRecord.__struct_fields__}) for row in hidden]


class MemorySelfServicePorts(MemoryContext):
    @property
    def personal(self) -> MemoryPersonalRecords:
        return MemoryPersonalRecords(self.access)
