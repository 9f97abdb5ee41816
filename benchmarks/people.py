"""Tenants and users, made through the service's own API, and their tokens."""

from collections.abc import Iterable
from typing import Any
from uuid import UUID

import httpx

from benchmarks.bench_data import PASSWORD, PERMISSIONS, User
from benchmarks.failures import BenchmarkFailed
from benchmarks.servers import ADMIN_EMAIL, ADMIN_PASSWORD, Server

USERS_EACH = 5
MOST_USERS = 50


def make_people(service: Server, tenants: int) -> list[User]:
    """Makes tenants, in each a role and users who hold it; with many tenants, one user each."""
    each = max(1, min(USERS_EACH, MOST_USERS // tenants))
    with httpx.Client(base_url=service.address, timeout=30.0) as client:
        admin = token(client, ADMIN_EMAIL, ADMIN_PASSWORD)
        return [user for number in range(tenants) for user in _tenant(client, admin, number, each)]


def _tenant(client: httpx.Client, admin: str, number: int, users: int) -> Iterable[User]:
    identifier = f"bench-{number}"
    tenant = _post(client, "/api/tenants", admin, {"name": f"Tenant {number}", "identifier": identifier})
    inside = _post(client, "/api/auth/switch-tenant", admin, {"tenantId": tenant["id"]})["token"]
    _post(client, "/api/roles", inside, {"name": "Clerk", "permissions": PERMISSIONS})
    for index in range(users):
        email = f"user-{index}@{identifier}.example.com"
        body = {"email": email, "password": PASSWORD, "fullName": f"User {index}", "roles": ["Clerk"]}
        made = _post(client, "/api/users", inside, body)
        yield User(UUID(made["id"]), UUID(tenant["id"]), email)


def tokens(server: Server, users: Iterable[User]) -> dict[UUID, str]:
    """Tokens of the users, by login."""
    with httpx.Client(base_url=server.address, timeout=30.0) as client:
        return {user.id: token(client, user.email, PASSWORD) for user in users}


def make_key(client: httpx.Client, admin: str, user: User) -> str:
    """An API key of a new service account in the user's tenant, with the role that users have."""
    inside = _post(client, "/api/auth/switch-tenant", admin, {"tenantId": str(user.tenant_id)})["token"]
    account = _post(client, "/api/service-accounts", inside, {"name": f"For {user.email}", "roles": ["Clerk"]})
    return str(_post(client, f"/api/service-accounts/{account['id']}/keys", inside, {"name": "key"})["key"])


def token(client: httpx.Client, email: str, password: str) -> str:
    body = {"email": email, "password": password, "isPasswordEncrypted": False}
    return str(_post(client, "/api/auth/login", None, body)["token"])


def _post(client: httpx.Client, path: str, bearer: str | None, body: dict[str, Any]) -> dict[str, Any]:
    headers = {} if bearer is None else {"Authorization": f"Bearer {bearer}"}
    answer = client.post(path, json=body, headers=headers)
    if not answer.is_success:
        raise BenchmarkFailed(f"POST {path} answered {answer.status_code}: {answer.text[:300]}")
    data: dict[str, Any] = answer.json()["data"]
    return data
