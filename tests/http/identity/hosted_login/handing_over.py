"""Steps that tests of one-time codes take: a registered application, a login for it, its code."""

from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx

from domain.identity.redirects import challenge_of
from tests.http.app import PASSWORD, Json, TestApp
from tests.http.identity.factors import EMAIL

REDIRECT = "https://shop.example/signed-in"
VERIFIER = "a verifier of 43 characters or more, chosen by the shop".replace(" ", "-").replace(",", "")
CHALLENGE = challenge_of(VERIFIER)


@dataclass
class Shop:
    """The application ``shop`` before its service, with the pages' half of a login as well."""

    app: TestApp
    app_id: str = "shop"
    location: str = ""
    asked: Json = field(default_factory=lambda: {"redirect": REDIRECT, "codeChallenge": CHALLENGE})

    async def register(self, **values: object) -> "Shop":
        body: Json = {"appId": self.app_id, "name": "The shop", "redirectUrls": [REDIRECT], **values}
        answer = await self.app.call("POST", "/api/applications", as_whom="root", json=body)
        assert answer.status_code == 201, answer.text
        self.location = answer.headers["Location"]
        return self

    async def change(self, **values: object) -> None:
        answer = await self.app.call("PUT", self.location, as_whom="root", json=values)
        assert answer.status_code == 200, answer.text

    async def login(self, email: str = EMAIL, app_id: str | None = None, **more: object) -> Json:
        """The result of a login for the application, as the pages ask for it."""
        body: Json = {"email": email, "password": PASSWORD, "isPasswordEncrypted": False, **more}
        headers = {"X-App-Id": self.app_id if app_id is None else app_id}
        answer = await self.app.call("POST", "/api/auth/login", json=body, headers=headers)
        assert answer.status_code == 200, answer.text
        data: Json = answer.json()["data"]
        return data

    async def ask(self, token: str, **values: object) -> httpx.Response:
        headers = {"Authorization": f"Bearer {token}"}
        return await self.app.call("POST", "/api/auth/codes", json={**self.asked, **values}, headers=headers)

    async def code(self, **login: Any) -> str:
        answer = await self.ask((await self.login(**login))["token"])
        assert answer.status_code == 200, answer.text
        code: str = answer.json()["data"]["code"]
        return code

    async def exchange(self, code: str, verifier: str = VERIFIER, app_id: str | None = None) -> httpx.Response:
        headers = {} if app_id is None else {"X-App-Id": app_id}
        body = {"code": code, "codeVerifier": verifier}
        return await self.app.call("POST", "/api/auth/code", json=body, headers=headers)

    async def me(self, token: str) -> httpx.Response:
        return await self.app.call("GET", "/api/auth/me", headers={"Authorization": f"Bearer {token}"})

    async def refresh(self, token: str) -> httpx.Response:
        return await self.app.call("POST", "/api/auth/refresh", json={"refreshToken": token})


def ensure_wrong_code(answer: httpx.Response) -> None:
    assert answer.status_code == 400, answer.text
    assert [error["field"] for error in answer.json()["errors"]] == ["code"], answer.text


def query_of(address: str) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(address).query, keep_blank_values=True).items()}
