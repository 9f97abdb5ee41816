"""Builders of valid objects; a test states only the values that matter to it.

The service's keys, made once for all applications of a test run: an RSA key takes a tenth of a second.

Readers for the content of mails.
"""

import re
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any
from urllib.parse import parse_qsl
from uuid import UUID

from application.ports.mail_delivery import Message
from domain.identity.service_accounts import ApiKey, ServiceAccount
from domain.identity.tokens import Lifetimes, Session
from domain.identity.users import Role, Tenant, User
from domain.scope import Caller
from entrypoints.testing.app import ensure_keys

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


def user(**given: Any) -> User:
    user_id = new_id()
    email = str(given.get("email", f"user{user_id.int & 0xFFFF}@example.com"))
    values: dict[str, Any] = {"id": user_id, "email": email, "email_key": email.lower(), "full_name": "Ada Example"}
    return User(**{**values, "created_at": NOW, "updated_at": NOW, **given})


def tenant(**given: Any) -> Tenant:
    tenant_id = new_id()
    identifier = f"tenant-{tenant_id.int & 0xFFFF}"
    values: dict[str, Any] = {"id": tenant_id, "name": "Example", "identifier": identifier, "created_at": NOW}
    return Tenant(**{**values, **given})


def role(tenant_id: UUID | None, **given: Any) -> Role:
    role_id = new_id()
    values: dict[str, Any] = {"id": role_id, "tenant_id": tenant_id, "name": f"Role {role_id.int & 0xFFFF}"}
    return Role(**{**values, **given})


def session(user_id: UUID, **given: Any) -> Session:
    values: dict[str, Any] = {"id": new_id(), "user_id": user_id, "tenant_id": None, "counter": 0}
    return Session(**{**values, "created_at": NOW, "rotated_at": NOW, **given})


def service_account(tenant_id: UUID, **given: Any) -> ServiceAccount:
    account_id = new_id()
    values: dict[str, Any] = {"id": account_id, "tenant_id": tenant_id, "name": f"Account {account_id.int & 0xFFFF}"}
    return ServiceAccount(**{**values, "created_at": NOW, "created_by": account_id, **given})


def api_key(account: ServiceAccount, **given: Any) -> ApiKey:
    values: dict[str, Any] = {
        "id": new_id(),
        "tenant_id": account.tenant_id,
        "account_id": account.id,
        "name": "Key",
        "start": "tnt_1",
    }
    return ApiKey(**{**values, "created_at": NOW, "created_by": account.id, **given})


def caller(**given: Any) -> Caller:
    """Somebody with an account, without a tenant and without rights."""
    values: dict[str, Any] = {
        "user_id": new_id(),
        "session_id": new_id(),
        "tenant_id": None,
        "name": "Ada",
        "email": "ada@example.com",
    }
    rights: dict[str, Any] = {
        "roles": (),
        "permissions": (),
        "is_super_admin": False,
        "app_id": None,
        "issued": {},
        "expires_at": 0,
    }
    return Caller(**{**values, **rights, **given})


__all__ = ["ensure_keys"]


LINK = re.compile(r"https?://\S+#\S+")


def link_in(message: Message) -> str:
    found = LINK.search(message.text)
    assert found, message.text
    return found[0]


def said_by(link: str) -> dict[str, str]:
    """The parameters ``email`` and ``token`` of a link."""
    return dict(parse_qsl(link.partition("#")[2], strict_parsing=True))
