"""A machine that does what people do, by turns through each client, and compares every answer with the model's."""

import base64
import json
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from typing import Any
from uuid import uuid4

import httpx
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tests.entrypoints.pair import ADMIN
from tests.http.app import PASSWORD
from tests.model.clients import ServiceClient
from tests.model.expected import Model, Refusal, Row, Session, Token, User

STEPS: Counter[str] = Counter()
"""Steps of all machines of this run, by rule, and comparisons."""

ROLES = ("Reader", "Keeper")
ACTIONS = ("read", "create", "update", "delete")
SKUS = ("LAMP-1", "LAMP-2", "LAMP-3")
MOST_TENANTS, MOST_USERS, MOST_TOKENS = 3, 4, 14

place = st.integers(0, 10_000)
"""Of something in a list: the list decides what that is."""
granted = st.sets(st.sampled_from(ACTIONS)).map(lambda actions: frozenset(f"{action}:products" for action in actions))
given = st.sets(st.sampled_from(ROLES)).map(frozenset)


class Machine(RuleBasedStateMachine):
    """``open_clients`` is set by a subclass; tenants and users have new names in each run, so that runs may share a
    database.
    """

    open_clients: Callable[[], AbstractContextManager[Sequence[ServiceClient]]]

    def __init__(self) -> None:
        super().__init__()
        self._stack = ExitStack()
        self.clients = self._stack.enter_context(type(self).open_clients())
        self.model, self.run, self.turn = Model(), uuid4().hex[:10], 0
        self.ids: dict[object, str] = {}
        self.text: dict[Token, str] = {}
        self.refresh_tokens: dict[Session, list[str]] = {}

    def teardown(self) -> None:
        self._stack.close()

    # the administrator's part, which always succeeds

    @initialize()
    def begins(self) -> None:
        answer = self.ask("POST", "/api/auth/login", login(ADMIN, PASSWORD))
        self.root = self.good(answer)["token"]
        self.add_tenant()
        self.add_user(0, frozenset({"Reader"}))

    @precondition(lambda self: len(self.model.tenants) < MOST_TENANTS)
    @rule()
    def add_tenant(self) -> None:
        name = f"t{len(self.model.tenants)}-{self.run}"
        made = self.good(self.ask("POST", "/api/tenants", {"name": name, "identifier": name}, self.root), 201)
        self.ids[name], self.model.tenants[name] = made["id"], True
        for role in ROLES:
            permissions = frozenset(f"{action}:products" for action in (ACTIONS if role == "Keeper" else ("read",)))
            body = {"name": role, "permissions": sorted(permissions)}
            self.ids[name, role] = self.good(self.ask("POST", "/api/roles", body, self.inside(name)), 201)["id"]
            self.model.roles[name, role] = permissions

    @precondition(lambda self: len(self.model.users) < MOST_USERS and any(self.model.tenants.values()))
    @rule(at=place, roles=given)
    def add_user(self, at: int, roles: frozenset[str]) -> None:
        tenant, name = self.open_tenant(at), f"u{len(self.model.users)}-{self.run}"
        body = {"email": email(name), "password": PASSWORD, "fullName": "Some Body", "roles": sorted(roles)}
        self.ids[name] = self.good(self.ask("POST", "/api/users", body, self.inside(tenant)), 201)["id"]
        self.model.users[name] = User(roles={tenant: roles})

    @precondition(lambda self: any(self.model.tenants.values()))
    @rule(at=place, whom=place, roles=given)
    def give_roles(self, at: int, whom: int, roles: frozenset[str]) -> None:
        tenant, name = self.open_tenant(at), self.user(whom)
        held = self.model.users[name].roles.get(tenant)
        if held == roles:
            return
        if held is None:
            body: object = {"userId": self.ids[name], "roles": sorted(roles)}
            self.good(self.ask("POST", f"/api/tenants/{self.ids[tenant]}/users", body, self.root), 201)
        else:
            path = f"/api/users/{self.ids[name]}/roles"
            self.good(self.ask("POST", path, {"roleNames": sorted(roles)}, self.inside(tenant)))
        self.model.give_roles(name, tenant, roles)

    @rule(at=place, whom=place)
    def end_membership(self, at: int, whom: int) -> None:
        name = self.user(whom)
        tenants = list(self.model.users[name].roles)
        if tenants:
            tenant = tenants[at % len(tenants)]
            path = f"/api/tenants/{self.ids[tenant]}/users/{self.ids[name]}"
            assert self.ask("DELETE", path, token=self.root).status_code == 200
            self.model.end_membership(name, tenant)

    @precondition(lambda self: any(self.model.tenants.values()))
    @rule(at=place, role=st.sampled_from(ROLES), permissions=granted)
    def change_role(self, at: int, role: str, permissions: frozenset[str]) -> None:
        tenant = self.open_tenant(at)
        if self.model.roles[tenant, role] != permissions:
            body = {"name": role, "permissions": sorted(permissions)}
            self.good(self.ask("PUT", f"/api/roles/{self.ids[tenant, role]}", body, self.inside(tenant)))
            self.model.change_role(tenant, role, permissions)

    @rule(whom=place, is_active=st.booleans())
    def set_active(self, whom: int, is_active: bool) -> None:
        name = self.user(whom)
        if self.model.users[name].is_active != is_active:
            self.good(self.ask("PUT", f"/api/users/{self.ids[name]}", {"isActive": is_active}, self.root))
            self.model.set_active(name, is_active=is_active)

    @rule(at=place, is_open=st.booleans())
    def set_open(self, at: int, is_open: bool) -> None:
        tenant = list(self.model.tenants)[at % len(self.model.tenants)]
        if self.model.tenants[tenant] != is_open:
            self.good(self.ask("PUT", f"/api/tenants/{self.ids[tenant]}", {"isActive": is_open}, self.root))
            self.model.set_open(tenant, is_open=is_open)

    @rule(whom=place)
    def unlock(self, whom: int) -> None:
        name = self.user(whom)
        answer = self.ask("POST", f"/api/users/{self.ids[name]}/unlock", token=self.root)
        assert answer.status_code == 200, answer.text
        self.model.users[name].failures = 0

    # the users' part

    @precondition(lambda self: len(self.model.tokens) < MOST_TOKENS)
    @rule(whom=place, at=st.none() | place, knows_password=st.sampled_from([True, True, True, False]))
    def log_in(self, whom: int, at: int | None, knows_password: bool) -> None:
        name, tenants = self.user(whom), list(self.model.tenants)
        tenant = None if at is None else tenants[at % len(tenants)]
        body = login(email(name), PASSWORD if knows_password else "something else entirely")
        body |= {"preferredTenantId": self.ids[tenant]} if tenant is not None else {}
        answer = self.ask("POST", "/api/auth/login", body)
        self.same(self.model.log_in(name, tenant, knows_password=knows_password), answer)

    @precondition(lambda self: self.model.tokens)
    @rule(which=place)
    def refresh(self, which: int) -> None:
        session = self.token(which).session
        body = {"refreshToken": self.refresh_tokens[session][-1]}
        answer = self.ask("POST", "/api/auth/refresh", body)
        self.same(self.model.refresh(session), answer)

    @precondition(lambda self: self.model.tokens)
    @rule(which=place)
    def show_an_old_refresh_token(self, which: int) -> None:
        """Older than the last spent one: somebody has stolen it."""
        session = self.token(which).session
        if len(self.refresh_tokens[session]) > 2:
            answer = self.ask("POST", "/api/auth/refresh", {"refreshToken": self.refresh_tokens[session][-3]})
            assert (answer.status_code, code_of(answer)) == (401, "TOKEN_INVALID")
            self.model._end(session)

    @precondition(lambda self: self.model.tokens)
    @rule(which=place, at=place)
    def switch(self, which: int, at: int) -> None:
        token, tenants = self.token(which), list(self.model.tenants)
        tenant = tenants[at % len(tenants)]
        body = {"tenantId": self.ids[tenant]}
        answer = self.ask("POST", "/api/auth/switch-tenant", body, self.text[token])
        self.same(self.model.switch(token, tenant), answer)

    @precondition(lambda self: self.model.tokens)
    @rule(which=place)
    def log_out(self, which: int) -> None:
        token = self.token(which)
        self.same(self.model.log_out(token), self.ask("POST", "/api/auth/logout", token=self.text[token]))

    @precondition(lambda self: self.model.tokens)
    @rule(which=place, other=place)
    def end_session(self, which: int, other: int) -> None:
        token, session = self.token(which), self.token(other).session
        answer = self.ask("DELETE", f"/api/auth/sessions/{self.ids[session]}", token=self.text[token])
        self.same(self.model.end_session(token, session), answer)

    @precondition(lambda self: self.model.tokens)
    @rule(which=place, sku=st.sampled_from(SKUS))
    def create(self, which: int, sku: str) -> None:
        token = self.token(which)
        body = {"name": "Lamp", "sku": sku, "price": 1}
        self.same(self.model.create(token, sku), self.ask("POST", "/api/products", body, self.text[token]))

    @precondition(lambda self: self.model.tokens and self.model.rows)
    @rule(which=place, where=place, how=st.sampled_from(["change", "delete", "restore"]), stock=st.integers(0, 99))
    def write(self, which: int, where: int, how: str, stock: int) -> None:
        token, row = self.token(which), self.model.rows[where % len(self.model.rows)]
        path, text = f"/api/products/{self.ids[row]}", self.text[token]
        if how == "change":
            self.same(self.model.change(token, row, stock), self.ask("PUT", path, {"stock": stock}, text))
        elif how == "delete":
            self.same(self.model.delete(token, row), self.ask("DELETE", path, token=text))
        else:
            self.same(self.model.restore(token, row), self.ask("POST", f"{path}/restore", token=text))

    # what must hold after each step

    @invariant()
    def everyone_sees_what_the_model_says(self) -> None:
        for client in self.clients:
            for token in self.model.tokens:
                answer = client.ask("GET", "/api/auth/me", token=self.text[token])
                assert code_of(answer) == self.model.refusal(token), (token, answer.text)
                page = client.ask("GET", "/api/products?pageSize=100", token=self.text[token])
                seen = self.model.seen(token)
                if isinstance(seen, dict):
                    found = {item["sku"]: item["stock"] for item in self.good(page)["items"]}
                    assert found == seen, token
                else:
                    assert code_of(page) == seen, (token, page.text)
                STEPS["compared"] += 2

    def same(self, expected: Token | Row | Refusal | None, answer: httpx.Response) -> None:
        """Remembers what was answered for what the model has made."""
        refusal = expected if isinstance(expected, str) else None
        assert code_of(answer) == refusal, (answer.status_code, answer.text)
        if isinstance(expected, Row):
            self.ids[expected] = self.good(answer, 201)["id"]
        elif isinstance(expected, Token):
            data = self.good(answer)
            self.text[expected] = data["token"]
            self.ids[expected.session] = sid_of(data["token"])
            self.refresh_tokens.setdefault(expected.session, []).append(data["refreshToken"])
            assert data["isGlobal"] == (expected.tenant is None)
            if "permissions" in data:
                assert frozenset(data["permissions"]) == expected.permissions

    def ask(self, method: str, path: str, body: object = None, token: str | None = None) -> httpx.Response:
        self.turn += 1
        STEPS["requests"] += 1
        return self.clients[self.turn % len(self.clients)].ask(method, path, body, token)

    def good(self, answer: httpx.Response, status: int = 200) -> dict[str, Any]:
        assert answer.status_code == status, answer.text
        data: dict[str, Any] = answer.json()["data"]
        return data

    def inside(self, tenant: str) -> str:
        """The super-admin's token for a tenant: a new one, for closing a tenant ends those from before."""
        body = {"tenantId": self.ids[tenant]}
        entered: str = self.good(self.ask("POST", "/api/auth/switch-tenant", body, self.root))["token"]
        return entered

    def open_tenant(self, at: int) -> str:
        found = [tenant for tenant, is_open in self.model.tenants.items() if is_open]
        return found[at % len(found)]

    def user(self, at: int) -> str:
        return list(self.model.users)[at % len(self.model.users)]

    def token(self, at: int) -> Token:
        return self.model.tokens[at % len(self.model.tokens)]


def login(address: str, password: str) -> dict[str, object]:
    return {"email": address, "password": password, "isPasswordEncrypted": False}


def email(name: str) -> str:
    return f"{name}@example.com"


def code_of(answer: httpx.Response) -> str | None:
    """The error code of either area, None for a good answer."""
    if answer.status_code < 400:
        return None
    body = answer.json()
    code: str = body["errorCode"] if "errorCode" in body else body["error"]["code"]
    return code


def sid_of(token: str) -> str:
    claims = token.split(".")[1]
    sid: str = json.loads(base64.urlsafe_b64decode(claims + "=" * (-len(claims) % 4)))["sid"]
    return sid
