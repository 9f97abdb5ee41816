"""Builders of valid objects; a test states only the values that matter to it."""

from datetime import UTC, datetime, timedelta
from itertools import count
from uuid import UUID

from domain.identity.service_accounts import ApiKey, ServiceAccount
from domain.identity.tokens import Lifetimes, Session
from domain.identity.users import Role, Tenant, User
from domain.scope import Caller

NOW = datetime(2026, 11, 20, 12, 0, 0, 123456, tzinfo=UTC)

LIFETIMES = Lifetimes(
    access=timedelta(minutes=60),
    global_access=timedelta(minutes=2),
    unused=timedelta(days=7),
    session=timedelta(days=30),
    selection=timedelta(minutes=10),
    grace=timedelta(seconds=30),
)

_numbers = count(1)


def new_id() -> UUID:
    """A new id; later ids sort after earlier ones."""
    return UUID(int=0x0192_0000_0000_7000_8000 << 48 | next(_numbers))


def user(**given: object) -> User:
    user_id = new_id()
    email = str(given.get("email", f"user{user_id.int & 0xFFFF}@example.com"))
    values = {"id": user_id, "email": email, "email_key": email.lower(), "full_name": "Ada Example"}
    return User(**{**values, "created_at": NOW, "updated_at": NOW, **given})  # type: ignore[arg-type]


def tenant(**given: object) -> Tenant:
    tenant_id = new_id()
    identifier = f"tenant-{tenant_id.int & 0xFFFF}"
    values = {"id": tenant_id, "name": "Example", "identifier": identifier, "created_at": NOW}
    return Tenant(**{**values, **given})  # type: ignore[arg-type]


def role(tenant_id: UUID | None, **given: object) -> Role:
    role_id = new_id()
    return Role(**{"id": role_id, "tenant_id": tenant_id, "name": f"Role {role_id.int & 0xFFFF}", **given})  # type: ignore[arg-type]


def session(user_id: UUID, **given: object) -> Session:
    values = {"id": new_id(), "user_id": user_id, "tenant_id": None, "counter": 0}
    return Session(**{**values, "created_at": NOW, "rotated_at": NOW, **given})  # type: ignore[arg-type]


def service_account(tenant_id: UUID, **given: object) -> ServiceAccount:
    account_id = new_id()
    values = {"id": account_id, "tenant_id": tenant_id, "name": f"Account {account_id.int & 0xFFFF}"}
    return ServiceAccount(**{**values, "created_at": NOW, "created_by": account_id, **given})  # type: ignore[arg-type]


def api_key(account: ServiceAccount, **given: object) -> ApiKey:
    values = {"id": new_id(), "tenant_id": account.tenant_id, "account_id": account.id, "name": "Key", "start": "tnt_1"}
    return ApiKey(**{**values, "created_at": NOW, "created_by": account.id, **given})  # type: ignore[arg-type]


def caller(**given: object) -> Caller:
    """Somebody with an account, without a tenant and without rights."""
    values = {"user_id": new_id(), "session_id": new_id(), "tenant_id": None, "name": "Ada", "email": "ada@example.com"}
    rights = {"roles": (), "permissions": (), "is_super_admin": False, "app_id": None, "issued": {}, "expires_at": 0}
    return Caller(**{**values, **rights, **given})  # type: ignore[arg-type]
