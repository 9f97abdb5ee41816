"""Answers of providers in the whole shape that they document: fields that nobody asked for, texts for numbers, gaps."""

from typing import Any
from urllib.parse import parse_qsl

import pytest

from adapters.social import HttpSocialProviders
from tests.contracts.identity.social import test_social_providers
from tests.contracts.identity.social.test_social_providers import (
    CLIENT,
    GITHUB_APP,
    KEY,
    KEYS,
    NOW,
    OBJECT,
    SECRET,
    TOKEN,
    id_token,
)
from tests.contracts.identity.social.test_social_redirects import BROUGHT, CODE, NONCE, TOKEN_PATHS, unsigned
from tests.servers.fake_provider import Asked, FakeProvider, Said

provider, http = test_social_providers.provider, test_social_providers.http

PERSONAL = "9188040d-6c67-4c5b-b112-36a304b66dad"
"""Directory of Microsoft's personal accounts."""

ISSUER = "https://login.microsoftonline.com/{}/v2.0"


def microsoft_keys(*issuers: str) -> Said:
    key = {**KEY.as_dict(private=False), "use": "sig", "x5t": "theirs", "x5c": ["MIIC…"]}
    names = {"cloud_instance_name": "microsoftonline.com"}
    return Said(body={"keys": [{**key, **names, "kid": f"k{at}", "issuer": found} for at, found in enumerate(issuers)]})


@pytest.mark.promise(
    "sign-in pages, behaviour: Answers in the whole shape that Google, GitHub and Microsoft document are understood: "
    "texts for numbers, gaps, pages of addresses, keys of one directory, errors with the status of a success"
)
async def test_google_answers_with_numbers_and_booleans_as_texts_are_understood(
    http: HttpSocialProviders, provider: FakeProvider
) -> None:
    provider.replies["/tokeninfo"] = Said(
        body={
            "azp": CLIENT,
            "aud": CLIENT,
            "sub": "110169484474386276334",
            "scope": "openid https://www.googleapis.com/auth/userinfo.email",
            "exp": str(int(NOW.timestamp()) + 3599),
            "expires_in": "3599",
            "email": "ada@gmail.com",
            "email_verified": "true",
            "access_type": "online",
        }
    )
    provider.replies["/userinfo"] = Said(
        body={
            "sub": "110169484474386276334",
            "name": "Ada Lovelace",
            "given_name": "Ada",
            "family_name": "Lovelace",
            "picture": "https://lh3.googleusercontent.com/a/x",
            "email": "ada@gmail.com",
            "email_verified": True,
            "locale": "en-GB",
        }
    )
    found = await http.identify("google", TOKEN)
    assert found is not None
    assert (found.subject, found.email, found.email_verified) == ("110169484474386276334", "ada@gmail.com", True)


@pytest.mark.promise(
    "sign-in pages, behaviour: Answers in the whole shape that Google, GitHub and Microsoft document are understood: "
    "texts for numbers, gaps, pages of addresses, keys of one directory, errors with the status of a success"
)
@pytest.mark.parametrize("issuer", ["https://accounts.google.com", "accounts.google.com"])
async def test_both_issuer_names_of_google_are_accepted(
    http: HttpSocialProviders, provider: FakeProvider, issuer: str
) -> None:
    seconds = int(NOW.timestamp())
    more = {
        "azp": CLIENT,
        "at_hash": "n879grk0yDwMjWx92oPjRQ",
        "iat": seconds,
        "email_verified": True,
        "hd": "acme.example",
    }
    tokens = {
        "access_token": TOKEN,
        "expires_in": 3599,
        "scope": "openid",
        "token_type": "Bearer",
        "id_token": unsigned(iss=issuer, **more),
    }
    provider.replies["/token"] = Said(body=tokens)
    found = await http.redeem("google", BROUGHT)
    assert found is not None
    assert found.subject == "1"


@pytest.mark.promise(
    "sign-in pages, behaviour: Answers in the whole shape that Google, GitHub and Microsoft document are understood: "
    "texts for numbers, gaps, pages of addresses, keys of one directory, errors with the status of a success"
)
async def test_a_github_user_without_name_and_address_is_understood(
    http: HttpSocialProviders, provider: FakeProvider
) -> None:
    """The profile shows neither, and the list of addresses says which is hidden from others."""
    user = {"login": "octocat", "id": 583231, "node_id": "MDQ6VXNlcjU4MzIzMQ==", "type": "User", "site_admin": False}
    provider.replies["/user"] = Said(body={**user, "name": None, "email": None, "two_factor_authentication": True})
    app = {"url": "https://developer.github.com/apps", "name": "Tenantry", "client_id": CLIENT}
    grant = {"id": 1, "token": TOKEN, "hashed_token": "25f94a2a", "scopes": ["user:email"], "expires_at": None}
    provider.replies[GITHUB_APP] = Said(body={**grant, "app": app, "user": user})
    hidden = {
        "email": "583231+octocat@users.noreply.github.com",
        "primary": False,
        "verified": True,
        "visibility": None,
    }
    own = {"email": "octocat@github.com", "verified": True, "primary": True, "visibility": "private"}
    provider.replies["/user/emails"] = Said(body=[hidden, own])
    found = await http.identify("github", TOKEN)
    assert found is not None
    assert (found.subject, found.email, found.email_verified, found.name) == (
        "583231",
        "octocat@github.com",
        True,
        "octocat",
    )


@pytest.mark.promise(
    "sign-in pages, behaviour: Answers in the whole shape that Google, GitHub and Microsoft document are understood: "
    "texts for numbers, gaps, pages of addresses, keys of one directory, errors with the status of a success"
)
async def test_github_has_pages_of_addresses(http: HttpSocialProviders, provider: FakeProvider) -> None:
    """Thirty on a page unless more are asked for; nothing says that the primary address is on the first."""
    others = [{"email": f"a{number}@example.com", "primary": False, "verified": True} for number in range(40)]
    addresses = [*others, {"email": "ada@example.com", "primary": True, "verified": True}]

    def page(asked: Asked) -> Said:
        return Said(body=addresses[: int(asked.parameters.get("per_page", 30))])

    provider.replies["/user/emails"] = page
    found = await http.identify("github", TOKEN)
    assert found is not None
    assert (found.email, found.email_verified) == ("ada@example.com", True)


async def test_a_scope_that_was_not_granted_is_an_identity_without_an_address(
    http: HttpSocialProviders, provider: FakeProvider
) -> None:
    message = {"message": "Not Found", "documentation_url": "https://docs.github.com/rest", "status": "404"}
    provider.replies["/user/emails"] = Said(404, message)
    found = await http.identify("github", TOKEN)
    assert found is not None
    assert (found.email, found.email_verified) == (None, False)


@pytest.mark.promise(
    "sign-in pages, behaviour: Answers in the whole shape that Google, GitHub and Microsoft document are understood: "
    "texts for numbers, gaps, pages of addresses, keys of one directory, errors with the status of a success"
)
@pytest.mark.parametrize("error", ["bad_verification_code", "incorrect_client_credentials", "redirect_uri_mismatch"])
async def test_a_github_error_with_a_success_status_is_refused(
    http: HttpSocialProviders, provider: FakeProvider, error: str
) -> None:
    said = {"error": error, "error_description": "No.", "error_uri": "/apps/managing-oauth-apps/"}
    provider.replies[TOKEN_PATHS["github"]] = Said(body=said)
    assert await http.redeem("github", BROUGHT) is None


async def test_github_is_asked_for_json(http: HttpSocialProviders, provider: FakeProvider) -> None:
    """Its token endpoint answers with a form unless the request takes JSON, and its API refuses who names no agent."""

    def tokens(asked: Asked) -> Said:
        sent = dict(parse_qsl(asked.body.decode()))
        assert (sent["code"], sent["client_secret"], asked.headers["accept"]) == (CODE, SECRET, "application/json")
        assert asked.headers["user-agent"]
        return Said(body={"access_token": TOKEN, "scope": "read:user,user:email", "token_type": "bearer"})

    provider.replies[TOKEN_PATHS["github"]] = tokens
    found = await http.redeem("github", BROUGHT)
    assert found is not None
    assert found.subject == "2"


def microsoft_token(tenant: str, **changes: Any) -> str:
    seconds = int(NOW.timestamp())
    more = {
        "ver": "2.0",
        "rh": "0.AXoA",
        "uti": "x",
        "preferred_username": "ada@acme.example",
        "idp": ISSUER.format(tenant),
    }
    claims = {"iss": ISSUER.format(tenant), "tid": tenant, "iat": seconds, "sub": "AAAA", **more}
    return id_token(header={"kid": "k1", "typ": "JWT"}, **{**claims, **changes})


@pytest.mark.promise(
    "sign-in pages, behaviour: Answers in the whole shape that Google, GitHub and Microsoft document are understood: "
    "texts for numbers, gaps, pages of addresses, keys of one directory, errors with the status of a success"
)
async def test_microsoft_publishes_keys_of_all_directories_and_of_one(
    http: HttpSocialProviders, provider: FakeProvider
) -> None:
    """Personal accounts are a directory of their own, whose keys name it; organisations' keys name a template."""
    for published, tenant, is_theirs in (
        ("{tenantid}", OBJECT, True),
        (PERSONAL, PERSONAL, True),
        (PERSONAL, OBJECT, False),
    ):
        opened = test_social_providers.asking(provider, 30)
        provider.replies[KEYS] = microsoft_keys(ISSUER.format("x"), ISSUER.format(published))
        found = await opened.identify("microsoft", microsoft_token(tenant))
        await opened.close()
        assert (found is not None) == is_theirs


@pytest.mark.promise(
    "sign-in pages, behaviour: Answers in the whole shape that Google, GitHub and Microsoft document are understood: "
    "texts for numbers, gaps, pages of addresses, keys of one directory, errors with the status of a success"
)
@pytest.mark.parametrize("edov", [True, 1, "1", "true", "True"])
async def test_every_microsoft_form_of_a_verified_domain_address_is_understood(
    http: HttpSocialProviders, provider: FakeProvider, edov: object
) -> None:
    provider.replies[KEYS] = microsoft_keys(ISSUER, ISSUER.format("{tenantid}"))
    found = await http.identify("microsoft", microsoft_token(OBJECT, xms_edov=edov))
    assert found is not None
    assert found.email_verified


@pytest.mark.promise(
    "sign-in pages, behaviour: Answers in the whole shape that Google, GitHub and Microsoft document are understood: "
    "texts for numbers, gaps, pages of addresses, keys of one directory, errors with the status of a success"
)
async def test_microsoft_vouches_for_nothing_unless_it_was_asked_to(
    http: HttpSocialProviders, provider: FakeProvider
) -> None:
    """Without the optional claim, whatever a claim says that Microsoft does not make, and without an address at all."""
    provider.replies[KEYS] = microsoft_keys(ISSUER, ISSUER.format("{tenantid}"))
    own = {"email_verified": True, "verified_primary_email": ["ada@example.com"]}
    found = await http.identify("microsoft", microsoft_token(OBJECT, xms_edov=False, **own))
    assert found is not None
    assert (found.email, found.email_verified) == ("ada@example.com", False)
    without = await http.identify("microsoft", microsoft_token(OBJECT, email=None, xms_edov=False))
    assert without is not None
    assert (without.email, without.email_verified) == (None, False)


async def test_microsoft_errors_with_additional_members_are_understood(
    http: HttpSocialProviders, provider: FakeProvider
) -> None:
    refused = {
        "error": "invalid_grant",
        "error_description": "AADSTS70008: The provided authorization code has expired.",
        "error_codes": [70008],
        "timestamp": "2026-11-20 12:00:00Z",
        "trace_id": "x",
        "correlation_id": "y",
    }
    provider.replies[TOKEN_PATHS["microsoft"]] = Said(400, refused)
    assert await http.redeem("microsoft", BROUGHT) is None
    more = {"token_type": "Bearer", "scope": "email openid profile", "expires_in": 3600, "ext_expires_in": 3600}
    provider.replies[KEYS] = microsoft_keys(ISSUER, ISSUER.format("{tenantid}"))
    tokens = {**more, "access_token": "opaque", "id_token": microsoft_token(OBJECT, nonce=NONCE)}
    provider.replies[TOKEN_PATHS["microsoft"]] = Said(body=tokens)
    assert await http.redeem("microsoft", BROUGHT) is not None
