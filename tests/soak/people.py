"""Tenants with members who read and write, for load."""

import random
from collections import deque
from dataclasses import dataclass, field
from typing import Any

from tests.entrypoints.pair import Client
from tests.entrypoints.processes import PASSWORD
from tests.soak.load import Ask, request

ROWS = 300
MOST_MADE = 200

WEIGHTS = (44, 20, 6, 12, 10, 9.5, 1, 0.3)
"""Of reads, pages, `me`, updates, creates, deletes, refreshes and logins."""


@dataclass
class Member:
    """An admin of a tenant, with the rows that their requests are about."""

    email: str
    token: str
    refresh_token: str
    ids: list[str]
    made: deque[str] = field(default_factory=deque)
    number: int = 0
    is_refreshing: bool = False

    def mixed(self, chance: random.Random) -> Ask:
        """What is created is deleted for good, so that the table keeps its size."""
        kinds = (self.read, self.page, self.me, self.update, self.create, self.delete, self.refresh, self.login)
        (kind,) = chance.choices(kinds, WEIGHTS)
        return kind(chance) or self.read(chance)

    def read(self, chance: random.Random) -> Ask:
        return self._ask("get", "GET", f"/api/products/{chance.choice(self.ids)}")

    def page(self, _: random.Random) -> Ask:
        return self._ask("page", "GET", "/api/products?pageSize=20&sort=price:desc&status=draft")

    def me(self, _: random.Random) -> Ask:
        return self._ask("me", "GET", "/api/auth/me")

    def update(self, chance: random.Random) -> Ask:
        path = f"/api/products/{chance.choice(self.ids)}"
        return self._ask("update", "PUT", path, {"stock": chance.randrange(1000)})

    def create(self, _: random.Random) -> Ask | None:
        full = len(self.made) >= MOST_MADE
        return None if full else self._ask("create", "POST", "/api/products", self._product(), self._keep)

    def delete(self, _: random.Random) -> Ask | None:
        if not self.made:
            return None
        return self._ask("delete", "DELETE", f"/api/products/{self.made.popleft()}?permanent=true")

    def refresh(self, _: random.Random) -> Ask | None:
        """One at a time: the token of the last answer is the one to show."""
        if self.is_refreshing:
            return None
        self.is_refreshing = True
        body = {"refreshToken": self.refresh_token}
        return Ask("refresh", request("POST", "/api/auth/refresh", None, body), self._renew)

    def login(self, _: random.Random) -> Ask:
        body: dict[str, object] = {"email": self.email, "password": PASSWORD, "isPasswordEncrypted": False}
        return Ask("login", request("POST", "/api/auth/login", None, body))

    def _ask(self, kind: str, method: str, path: str, body: object = None, then: Any = None) -> Ask:
        return Ask(kind, request(method, path, self.token, body), then)

    def _product(self) -> dict[str, object]:
        self.number += 1
        return {"name": f"Lamp {self.number}", "sku": f"SOAK-{self.number}", "price": 9.5}

    def _keep(self, answer: Any) -> None:
        self.made.append(answer["data"]["id"])

    def _renew(self, answer: Any) -> None:
        self.is_refreshing = False
        self.token, self.refresh_token = answer["data"]["token"], answer["data"]["refreshToken"]


async def member_of(client: Client, identifier: str) -> Member:
    """The admin of a new tenant with its rows."""
    root = (await client.log_in())["token"]
    tenant = await client.make("/api/tenants", {"name": identifier, "identifier": identifier}, root)
    email = f"admin@{identifier}.example"
    user_id = await client.make_user(root, email)
    await client.make(f"/api/tenants/{tenant['id']}/users", {"userId": user_id, "roles": ["Admin"]}, root)
    session = await client.log_in(email)
    items = [{"name": f"Lamp {number}", "sku": f"ROW-{number}", "price": number} for number in range(ROWS)]
    answer = await client.call("POST", "/api/products/batch", {"items": items}, session["token"])
    assert answer.status_code == 200, answer.text
    ids = [item["id"] for item in answer.json()["data"]["items"]]
    return Member(email, session["token"], session["refreshToken"], ids)
