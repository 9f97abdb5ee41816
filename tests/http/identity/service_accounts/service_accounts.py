"""Steps that tests of service accounts share."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx

from application.identity.service_accounts.key_authentication import KeyAuthentication
from domain.scope import Scope
from tests.http.app import TestApp
from tests.http.two_tenants import TwoTenants

Json = dict[str, Any]


async def make_account(
    tenants: TwoTenants, *, whom: str = "admin", roles: list[str] | None = None, name: str = "Robot"
) -> Json:
    body = {"name": name, "roles": ["Admin"] if roles is None else roles}
    answer = await tenants.call(whom, "POST", "/api/service-accounts", body)
    assert answer.status_code == 201, answer.text
    data: Json = answer.json()["data"]
    return data


async def make_key(tenants: TwoTenants, account: Json, *, whom: str = "admin", **form: object) -> Json:
    """Makes a key; its name serves as whom to call by it."""
    body = {"name": "key", **form}
    answer = await tenants.call(whom, "POST", f"/api/service-accounts/{account['id']}/keys", body)
    assert answer.status_code == 201, answer.text
    data: Json = answer.json()["data"]
    tenants.app.tokens[str(body["name"])] = data["key"]
    return data


async def by(tenants: TwoTenants, text: str, path: str = "/api/products", **headers: str) -> httpx.Response:
    """A request with the text as bearer."""
    given = {"Authorization": f"Bearer {text}", **headers}
    return await tenants.app.client.get(path, headers=given)


def code_of(answer: httpx.Response) -> str:
    body = answer.json()
    code: str = body["errorCode"] if "errorCode" in body else body["error"]["code"]
    return code


@dataclass
class Counted:
    """A database that counts the look-ups of keys."""

    database: Any
    reads: int = 0

    def read_only(self, scope: Scope) -> Any:
        self.reads += 1
        return self.database.read_only(scope)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.database, name)


def authentication_of(app: TestApp) -> KeyAuthentication:
    return app.services.key_authentication


@contextmanager
def counted(app: TestApp) -> Iterator[Counted]:
    """Counts the look-ups of keys in the block."""
    authentication = authentication_of(app)
    before = authentication.database
    counting = Counted(before)
    object.__setattr__(authentication, "database", counting)
    yield counting
    object.__setattr__(authentication, "database", before)
