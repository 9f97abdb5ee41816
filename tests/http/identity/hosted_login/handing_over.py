"""Steps that tests of one-time codes take: a registered application, a login for it, its code.

Steps of a login at a provider by redirect: a browser with its cookies, and a provider with its codes.
"""

import html
import json
import re
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx

from adapters.memory.identity.social import IssuedCode, MemorySocialProviders
from application.ports.identity.accounts import Authorization, SocialIdentity
from domain.identity.redirects import challenge_of
from tests.http.app import PASSWORD, Json, TestApp
from tests.http.identity.factors.factors import EMAIL

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


SETTINGS = {
    "TENANTRY_SOCIAL_GOOGLE_CLIENT_ID": "us",
    "TENANTRY_SOCIAL_GOOGLE_CLIENT_SECRET": "our-secret",
    "TENANTRY_SOCIAL_GITHUB_CLIENT_ID": "us",
    "TENANTRY_SOCIAL_GITHUB_CLIENT_SECRET": "our-secret",
    "TENANTRY_SOCIAL_MICROSOFT_CLIENT_ID": "us",
    "TENANTRY_RATE_LIMITS": "count",
}
ASKED = {"app": "shop", "redirect": REDIRECT, "state": "the shop's & own", "code_challenge": CHALLENGE}
ADA = SocialIdentity(provider="google", subject="ada", email="ada@example.com", email_verified=True, name="Ada Byron")


@dataclass
class Browser:
    """A browser that goes to providers and back; ``jar`` are its cookies."""

    app: TestApp
    jar: dict[str, str] = field(default_factory=dict)

    async def get(self, path: str) -> httpx.Response:
        # The client keeps cookies of its own, which are those of all browsers together.
        self.app.client.cookies.clear()
        headers = {"Cookie": "; ".join(f"{name}={value}" for name, value in self.jar.items())} if self.jar else {}
        answer = await self.app.call("GET", path, headers=headers)
        if cookie := answer.headers.get("Set-Cookie"):
            name, _, rest = cookie.partition("=")
            self.jar[name] = rest.partition(";")[0]
        return answer

    async def leave(self, provider: str = "google", asked: dict[str, str] | None = None) -> dict[str, str]:
        """What the browser takes to the provider."""
        query = urlencode(ASKED if asked is None else asked)
        answer = await self.get(f"/api/auth/social/{provider}/start?{query}")
        assert answer.status_code == 302, answer.text
        assert urlsplit(answer.headers["Location"]).hostname == f"{provider}.example"
        return query_of(answer.headers["Location"])

    def signed_in(self, taken: dict[str, str], who: SocialIdentity = ADA) -> str:
        """The provider's code for who signed in there."""
        providers = self.app.adapters.social
        assert isinstance(providers, MemorySocialProviders)
        code = f"code-{len(providers.codes)}"
        asked = Authorization(
            redirect_uri=taken["redirect_uri"],
            state=taken["state"],
            nonce=taken["nonce"],
            challenge=taken["code_challenge"],
        )
        providers.codes[code] = IssuedCode(who, asked)
        return code

    async def come_back(self, provider: str = "google", **query: str) -> httpx.Response:
        return await self.get(f"/api/auth/social/{provider}/callback?{urlencode(query)}")

    async def travel(self, who: SocialIdentity = ADA, asked: dict[str, str] | None = None) -> httpx.Response:
        taken = await self.leave(who.provider, asked)
        code = self.signed_in(taken, who)
        return await self.come_back(who.provider, code=code, state=taken["state"])


def told_by(answer: httpx.Response) -> Json:
    """What a page is told about itself."""
    (text,) = re.findall(r'data-page="(.*?)"', answer.text)
    told: Json = json.loads(html.unescape(text))
    return told


def outcome_of(answer: httpx.Response) -> Json:
    """What the page is told of the login that goes on there."""
    outcome: Json = told_by(answer).get("outcome", {})
    return outcome


def ensure_refused(answer: httpx.Response) -> None:
    assert answer.status_code == 400, answer.text
    assert "This link does not work" in answer.text
    assert "Location" not in answer.headers
