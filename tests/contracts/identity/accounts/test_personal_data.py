"""Everything that is stored about a person: complete, without secrets, and of nobody else."""

from datetime import timedelta
from typing import Any

import pytest
import sqlalchemy as sa

from adapters.postgres.schema.schema import metadata_for
from application.ports.database import Mail
from application.ports.entities.idempotency import Claim
from application.ports.identity.accounts import EmailChange, OneTimeToken
from application.ports.identity.invitations import NewInvitation
from application.ports.identity.personal_data import PersonalData
from application.ports.whole_database import Transaction, WholeDatabase
from domain.entities.declaration import Registry
from domain.identity.domains import JoinRequest, TenantDomain
from domain.identity.invitations import Invitation
from domain.identity.service_accounts import key_digest
from domain.identity.users import Tenant, User
from domain.lockout import Lockout
from domain.parts.composition import TABLES
from domain.scope import AuditEvent, EveryTenant
from tests.builders import NOW, api_key, new_id, role, service_account, session, tenant, user
from tests.contracts.identity.login.logins import begin
from tests.contracts.identity.login.test_factors import app_of, passkey_of

LATER = NOW + timedelta(hours=1)


def invitation(home: Tenant, **given: Any) -> Invitation:
    invitation_id = new_id()
    values: dict[str, Any] = {
        "tenant_id": home.id,
        "id": invitation_id,
        "email": "x@example.com",
        "email_key": "x@example.com",
    }
    more: dict[str, Any] = {
        "role_ids": (),
        "invited_by": new_id(),
        "created_at": NOW,
        "expires_at": LATER,
        "hash": str(invitation_id),
    }
    return Invitation(**{**values, **more, **given})


async def fill(tx: Transaction, owner: User, home: Tenant) -> None:
    """Stores something of every kind for the owner."""
    here, everywhere = role(home.id, name=f"In {home.id}"), role(None, name=f"Of {owner.id}")
    await tx.users.add(owner)
    for made in (here, everywhere):
        await tx.roles.add(made)
    await tx.memberships.save(owner.id, home.id, [here.id], None, NOW)
    await tx.memberships.set_system_roles(owner.id, [everywhere.id])
    assert await begin(
        tx, session(owner.id, tenant_id=home.id, address="192.0.2.1", device="Firefox", methods=("pwd",))
    )
    await tx.factors.add(app_of(owner))
    await tx.factors.add(passkey_of(owner, credential_id=owner.id.bytes, created_at=LATER))
    await tx.recovery_codes.replace(owner.id, [owner.id.bytes, b"other" + owner.id.bytes])
    assert await tx.recovery_codes.use(owner.id, owner.id.bytes, NOW)
    await tx.social.link("google", str(owner.id), owner.id, NOW)
    await _mail(tx, owner)
    assert await tx.attempts.reserve(owner.email_key, "192.0.2.0", Lockout(3, timedelta(minutes=15)), NOW)
    for given in ({"email_key": owner.email_key}, {"invited_by": owner.id}):
        line = AuditEvent(actor_id=None, action="invitation.sent", occurred_at=NOW)
        new = NewInvitation(invitation=invitation(home, **given), mail=None, line=line)
        assert await tx.invitations.add([new]) == 1
        await tx.invitations.end(home.id, new.invitation.id, "declined", LATER, None)
    await _join(tx, owner, home)
    account = service_account(home.id, created_by=owner.id)
    await tx.service_accounts.add(account)
    await tx.api_keys.add(api_key(account, created_by=owner.id), key_digest(str(owner.id)))
    claim = Claim(tenant_id=home.id, user_id=owner.id, key="k", fingerprint="f")
    assert await tx.answers.claim(claim, NOW) is None
    await tx.answers.keep(claim, b"first", NOW)
    for actor, target in ((owner.id, None), (new_id(), owner.id)):
        did = AuditEvent(actor_id=actor, action="thing.done", target_id=target, address="192.0.2.9", occurred_at=NOW)
        await tx.audit.add(home.id, did)


async def _join(tx: Transaction, owner: User, home: Tenant) -> None:
    former = tenant()
    await tx.tenants.add(former)
    await tx.memberships.save(owner.id, former.id, [], None, NOW)
    await tx.memberships.remove(owner.id, former.id)
    request = JoinRequest(tenant_id=former.id, user_id=owner.id, domain="acme.example", created_at=NOW)
    assert await tx.join_requests.add(request)
    await tx.domains.save(
        TenantDomain(
            tenant_id=home.id,
            domain=f"d{owner.id}.example",
            mode="off",
            role_ids=(),
            proof="",
            set_by=owner.id,
            created_at=NOW,
            checked_at=NOW,
        )
    )


async def _mail(tx: Transaction, owner: User) -> None:
    change = EmailChange(
        user_id=owner.id,
        email="new@example.com",
        email_key="new@example.com",
        hash=str(owner.id),
        requested_at=NOW,
        expires_at=LATER,
    )
    await tx.email_changes.save(change)
    token = OneTimeToken(
        user_id=owner.id,
        email_key=owner.email_key,
        purpose="reset",
        number=1,
        hash=f"reset {owner.id}",
        issued_at=NOW,
        expires_at=LATER,
    )
    assert await tx.one_time_tokens.issue(token)
    await tx.outbox.add(Mail(id=new_id(), kind="reset", recipient=owner.email_key, at=NOW))


def lists_of(data: PersonalData) -> dict[str, list[object]]:
    return {name: value for name in data.__struct_fields__ if isinstance(value := getattr(data, name), list)}


async def exported(database: WholeDatabase, owner: User, events: int = 100) -> PersonalData | None:
    async with database.read_only(EveryTenant()) as read:
        return await read.personal.of(owner, events)


@pytest.mark.promise(
    "tenants, own account: an export is complete, of nobody else, without secrets; a new table or column is noticed"
)
async def test_a_data_export_contains_every_part_of_the_user_and_nothing_of_others(database: WholeDatabase) -> None:
    ada, bob, home, other = user(phone_number="+49 30 1"), user(), tenant(), tenant()
    async with database.transaction(EveryTenant()) as tx:
        for made in (home, other):
            await tx.tenants.add(made)
        await fill(tx, ada, home)
        await fill(tx, bob, other)
    data = await exported(database, bob)
    assert data is not None
    assert {name: len(part) for name, part in lists_of(data).items()} == {
        "memberships": 1, "sessions": 1, "factors": 2, "recovery_codes": 2, "identities": 1, "email_changes": 1,
        "links": 1, "waiting_mails": 1, "login_attempts": 2, "invitations_received": 1, "invitations_sent": 1,
            "join_requests": 1, "domains": 1, "former_memberships": 1,
        "service_accounts": 1, "api_keys": 1, "repeated_requests": 1, "events": 3,
    }  # fmt: skip
    assert (data.account.id, data.account.email, data.account.system_roles) == (bob.id, bob.email, [f"Of {bob.id}"])
    (membership,) = data.memberships
    assert (membership.tenant_id, membership.tenant_name, membership.roles) == (
        other.id,
        other.name,
        [f"In {other.id}"],
    )
    assert [code.used_at for code in data.recovery_codes] == [NOW, None]
    assert data.sessions[0].methods == ["pwd"]
    assert [account.tenant_id for account in data.service_accounts] == [other.id]
    assert [key.tenant_id for key in data.api_keys] == [other.id]
    assert [factor.kind for factor in data.factors] == ["totp", "passkey"]
    addresses = {line.address for line in data.events if line.action == "thing.done" and line.actor_id == bob.id}
    others = {line.address for line in data.events if line.actor_id != bob.id}
    assert (addresses, others) == ({"192.0.2.9"}, {None})
    assert data.has_more_events is False


async def test_a_data_export_contains_the_latest_events_and_reports_further_ones(database: WholeDatabase) -> None:
    ada, home = user(), tenant()
    async with database.transaction(EveryTenant()) as tx:
        await tx.users.add(ada)
        await tx.tenants.add(home)
        for number in range(4):
            at = NOW + timedelta(minutes=number)
            await tx.audit.add(home.id, AuditEvent(actor_id=ada.id, action=f"thing.{number}", occurred_at=at))
    for most, expected in ((3, (["thing.3", "thing.2", "thing.1"], True)), (4, (4, False))):
        data = await exported(database, ada, most)
        assert data is not None
        actions = [line.action for line in data.events]
        assert (actions if most == 3 else len(actions), data.has_more_events) == expected


async def test_a_deleted_account_has_no_personal_data(database: WholeDatabase) -> None:
    assert await exported(database, user()) is None


EXPORTED: dict[str, dict[str, str]] = {
    "users": {
        "password_hash": "secret; whether there is one is told",
        "email_key": "normal form of email",
        "webauthn_handle": "random name of the account, which passkeys hold",
    },
    "user_roles": {"user_id": "the account", "role_id": "told by name"},
    "memberships": {"user_id": "the account", "sessions_ended_at": "what an administrator did, which events tell"},
    "membership_roles": {"user_id": "the account", "role_id": "told by name"},
    "sessions": {
        "user_id": "the account",
        "counter": "part of a secret",
        "is_first_login": "what the login told its application",
    },
    "factors": {
        "user_id": "the account",
        "sealed": "secret",
        "last_step": "guard against replays",
        "credential_id": "part of a credential",
        "public_key": "part of a credential",
        "counter": "part of a credential",
        "transports": "part of a credential",
        "aaguid": "part of a credential",
        "backup_eligible": "part of a credential",
        "backed_up": "part of a credential",
        "uv_initialized": "part of a credential",
    },
    "recovery_codes": {"user_id": "the account", "hash": "secret"},
    "social_identities": {"user_id": "the account"},
    "email_changes": {
        "user_id": "the account",
        "email_key": "normal form of email",
        "hash": "secret",
        "mailed_at": "times of requests, which events tell",
    },
    "one_time_tokens": {
        "email_key": "told as email",
        "user_id": "the account",
        "number": "order of the outbox",
        "hash": "secret",
    },
    "outbox": {
        "id": "secrets of links are derived from it",
        "number": "order of the outbox",
        "name": "full name of the account",
        "due_at": "state of the delivery",
        "tries": "state of the delivery",
        "given_up_at": "state of the delivery",
        "why": "state of the delivery",
        "tried_again_at": "state of the delivery",
    },
    "login_attempts": {"email_key": "the account", "locks_at": "setting", "locks": "state of the lock"},
    "invitations": {
        "email": "the person's own, or another person's",
        "email_key": "the person's own, or another person's",
        "role_ids": "the tenant's",
        "invited_by": "the person, or another person",
        "accepted_by": "the person, or another person",
        "hash": "secret",
        "mailed_at": "times of mails",
    },
    "join_requests": {"user_id": "the account", "ended_by": "another person"},
    "tenant_domains": {
        "mode": "the tenant's",
        "role_ids": "the tenant's",
        "proof": "the tenant's",
        "state": "the tenant's",
        "set_by": "the account",
        "checked_at": "the tenant's",
    },
    "former_members": {"user_id": "the account"},
    "service_accounts": {
        "description": "the tenant's",
        "is_active": "the tenant's",
        "created_by": "the account",
        "deleted_at": "the tenant's",
    },
    "api_keys": {
        "account_id": "the tenant's",
        "hash": "secret",
        "start": "part of a secret",
        "permissions": "the tenant's",
        "networks": "the tenant's",
        "created_by": "the account",
        "expires_at": "the tenant's",
        "ended_at": "the tenant's",
        "warned_at": "the tenant's",
        "last_used_at": "the tenant's",
        "last_used_address": "the tenant's",
    },
    "kept_answers": {"user_id": "the account", "fingerprint": "digest of a request", "answer": "rows of the tenant"},
    "audit_events": {"id": "number of the line"},
}
"""Tables that an export contains, with the columns that it leaves out, and why."""
NOT_PERSONAL = {
    "former_addresses": "digests without an account; what one was a member of is told as former memberships",
    "signing_keys": "keys of the service",
    "row_shares": "rows of entities belong to the tenants, with the members who share them",
    **dict.fromkeys(["row_history", "change_queue", "changes", "files", "webhooks"], "rows of tenants, with authors"),
}
"""Tables that an export does not contain, and why; so are those of entities."""


@pytest.mark.promise(
    "tenants, own account: an export is complete, of nobody else, without secrets; a new table or column is noticed"
)
def test_every_table_of_identity_is_exported_or_has_a_reason(registry: Registry) -> None:
    """A new table with columns about people, or with a reference to a user, has to be looked at."""
    tables = metadata_for(registry).tables
    about_people = {
        name for name, columns in TABLES.items() if columns.personal or columns.secret or _refers(tables[name])
    }
    assert about_people - EXPORTED.keys() == NOT_PERSONAL.keys()


def _refers(table: sa.Table) -> bool:
    return "user_id" in table.columns or any(key.column.table.name == "users" for key in table.foreign_keys)


PARTS = {
    "users": "account",
    "user_roles": "account",
    "memberships": "memberships",
    "membership_roles": "memberships",
    "sessions": "sessions",
    "factors": "factors",
    "recovery_codes": "recovery_codes",
    "social_identities": "identities",
    "email_changes": "email_changes",
    "one_time_tokens": "links",
    "outbox": "waiting_mails",
    "login_attempts": "login_attempts",
    "invitations": "invitations_received",
    "join_requests": "join_requests",
    "tenant_domains": "domains",
    "former_members": "former_memberships",
    "service_accounts": "service_accounts",
    "api_keys": "api_keys",
    "kept_answers": "repeated_requests",
    "audit_events": "events",
}


@pytest.mark.promise(
    "tenants, own account: an export is complete, of nobody else, without secrets; a new table or column is noticed"
)
@pytest.mark.parametrize("name", EXPORTED)
def test_every_column_is_exported_or_has_a_reason(registry: Registry, name: str) -> None:
    table: sa.Table = metadata_for(registry).tables[name]
    annotation = PersonalData.__annotations__[PARTS[name]]
    record = annotation.__args__[0] if hasattr(annotation, "__args__") else annotation
    told = set(record.__struct_fields__) | EXPORTED[name].keys()
    assert {column.name for column in table.columns} <= told
    assert not set(record.__struct_fields__) & EXPORTED[name].keys()


async def test_a_login_leaves_the_moment_of_the_attempt_and_notes_its_own(database: WholeDatabase) -> None:
    owner = user()
    async with database.transaction(EveryTenant()) as tx:
        await tx.users.add(owner)
        assert await tx.attempts.reserve(owner.email_key, "192.0.2.0", Lockout(3, timedelta(minutes=15)), NOW)
        await tx.attempts.forgive(owner.email_key, "192.0.2.0", LATER)
    async with database.read_only(EveryTenant()) as read:
        data = await read.personal.of(owner)
    assert data is not None
    (own,) = [attempt for attempt in data.login_attempts if attempt.network == "192.0.2.0"]
    assert (own.tried_at, own.known_at, own.failures) == (NOW, LATER, 0)
