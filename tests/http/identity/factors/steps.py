"""Steps that many tests of identity take: logging in, refreshing, joining and leaving a tenant."""

import base64
import json
from datetime import timedelta

import httpx

from adapters.memory.clock import MovableClock
from domain.scope import SYSTEM_TENANT_ID
from tests.http.app import PASSWORD, Json
from tests.http.two_tenants import TwoTenants, email_of

SYSTEM = str(SYSTEM_TENANT_ID)
PAGE = {"items", "totalCount", "page", "pageSize", "totalPages"}


def claims_of(token: str) -> Json:
    payload = token.split(".")[1]
    claims: Json = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    return claims


def move(tenants: TwoTenants, by: timedelta) -> None:
    clock = tenants.app.adapters.clock
    assert isinstance(clock, MovableClock)
    clock.move(by)


async def try_login(tenants: TwoTenants, name: str, **more: object) -> httpx.Response:
    email = name if "@" in name else email_of(name)
    body = {"email": email, "password": PASSWORD, "isPasswordEncrypted": False, **more}
    return await tenants.app.call("POST", "/api/auth/login", json=body)


async def log_in(tenants: TwoTenants, name: str, **more: object) -> Json:
    answer = await try_login(tenants, name, **more)
    assert answer.status_code == 200, answer.text
    assert answer.json().keys() == {"isSuccess", "data"}
    assert answer.json()["isSuccess"] is True
    data: Json = answer.json()["data"]
    return data


async def refresh(tenants: TwoTenants, refresh_token: str, **more: object) -> httpx.Response:
    return await tenants.app.call("POST", "/api/auth/refresh", json={"refreshToken": refresh_token, **more})


async def join(tenants: TwoTenants, name: str, identifier: str, roles: list[str] | None = None) -> None:
    body = {"userId": tenants.users[name], "roles": roles or []}
    answer = await tenants.call("root", "POST", f"/api/tenants/{tenants.tenants[identifier]}/users", body)
    assert answer.status_code == 201, answer.text


async def leave(tenants: TwoTenants, name: str, identifier: str) -> None:
    path = f"/api/tenants/{tenants.tenants[identifier]}/users/{tenants.users[name]}"
    assert (await tenants.call("root", "DELETE", path)).status_code == 200
