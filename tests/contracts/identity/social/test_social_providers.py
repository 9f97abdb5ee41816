"""Social providers: tokens issued to other applications are refused, and an outage is answered in time."""

import base64
import hashlib
import hmac
import json
from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime, timedelta
from importlib import import_module
from typing import Any

import pytest
from joserfc import jwt
from joserfc.jwk import RSAKey

from adapters.memory.identity.social import MemorySocialProviders
from adapters.social import HttpSocialProviders, ProviderSettings
from adapters.social.providers import SECONDS
from application.ports.identity.accounts import SocialIdentity, SocialProviders
from domain.errors import ServiceUnavailable
from tests.servers.fake_provider import Asked, FakeProvider, Said, fake_provider
from tests.waiting import HUNG_AFTER

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
CLIENT, SECRET, TOKEN = "our client", "our secret", "a-token"
NAMES = ("google", "github", "facebook", "microsoft")
TENANT, OBJECT = "11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"

KEY = RSAKey.generate_key(2048, {"kid": "theirs"})
STRANGER = RSAKey.generate_key(2048, {"kid": "theirs"})


@pytest.fixture
async def provider() -> AsyncIterator[FakeProvider]:
    async with fake_provider() as opened:
        opened.replies = dict(WELL)
        yield opened


@pytest.fixture
async def http(provider: FakeProvider) -> AsyncIterator[HttpSocialProviders]:
    opened = asking(provider, HUNG_AFTER)
    yield opened
    await opened.close()


def asking(provider: FakeProvider, seconds: float) -> HttpSocialProviders:
    settings = ProviderSettings(client_id=CLIENT, client_secret=SECRET, base_url=provider.url + "/")
    import_module("httpx2")  # the first call would import it, and that takes as long as a provider may here
    return HttpSocialProviders(dict.fromkeys(NAMES, settings), lambda: NOW, seconds=seconds)


def only(token: str, said: object) -> Any:
    """A provider that answers requests with this token and refuses all others."""

    def reply(asked: Asked) -> Said:
        shown = (*asked.parameters.values(), asked.headers.get("authorization", ""), asked.body.decode())
        return Said(body=said) if any(token in key for key in shown) else Said(401, {"error": "bad token"})

    return reply


def id_token(key: RSAKey = KEY, header: Mapping[str, str] | None = None, **changes: Any) -> str:
    seconds = int(NOW.timestamp())
    claims = {
        "iss": f"https://login.microsoftonline.com/{TENANT}/v2.0",
        "aud": CLIENT,
        "tid": TENANT,
        "oid": OBJECT,
        "iat": seconds,
        "nbf": seconds,
        "exp": seconds + 3600,
        "name": "Ada Lovelace",
        "email": "ada@example.com",
        "xms_edov": True,
    }
    return jwt.encode({"alg": "RS256", "kid": "theirs", **(header or {})}, claims | changes, key)


def published(**changes: Any) -> dict[str, object]:
    template = "https://login.microsoftonline.com/{tenantid}/v2.0"
    return {"keys": [{**KEY.as_dict(private=False), "kid": "theirs", "issuer": template, **changes}]}


GOOGLE = {"sub": "1", "aud": CLIENT, "azp": CLIENT, "email": "ada@example.com", "email_verified": "true"}
DEBUGGED = {"data": {"app_id": CLIENT, "user_id": "3", "is_valid": True}}
EMAILS = [
    {"email": "other@example.com", "primary": False, "verified": True},
    {"email": "ada@example.com", "primary": True, "verified": True},
]
GITHUB_APP = "/applications/our%20client/token"
KEYS = "/common/discovery/v2.0/keys"
WELL: dict[str, Any] = {
    "/tokeninfo": only(TOKEN, GOOGLE),
    "/userinfo": only(TOKEN, {"sub": "1", "name": "Ada Lovelace"}),
    GITHUB_APP: only(TOKEN, {"id": 9, "app": {"client_id": CLIENT}}),
    "/user": only(TOKEN, {"id": 2, "login": "ada", "name": "Ada Lovelace"}),
    "/user/emails": only(TOKEN, EMAILS),
    "/debug_token": only(TOKEN, DEBUGGED),
    "/me": only(TOKEN, {"id": "3", "name": "Ada Lovelace", "email": "ada@example.com"}),
    KEYS: Said(body=published()),
}
SHOWN = {"google": TOKEN, "github": TOKEN, "facebook": TOKEN, "microsoft": id_token()}
SUBJECTS = {"google": "1", "github": "2", "facebook": "3", "microsoft": f"{TENANT}.{OBJECT}"}


def ada(provider: str) -> SocialIdentity:
    return SocialIdentity(
        provider=provider,
        subject=SUBJECTS[provider],
        email="ada@example.com",
        email_verified=provider != "facebook",
        name="Ada Lovelace",
    )


MEMORY = MemorySocialProviders(NAMES, {token: ada(name) for name, token in SHOWN.items() if token != TOKEN})


@pytest.fixture(params=["memory", "http"])
def providers(request: pytest.FixtureRequest) -> SocialProviders:
    if request.param == "http":
        opened: SocialProviders = request.getfixturevalue("http")
        return opened
    return MEMORY


@pytest.mark.promise("identity, social login: each provider checks in its own way that the token was issued to us")
async def test_a_provider_token_for_this_service_identifies_its_holder(providers: SocialProviders) -> None:
    assert set(providers.names) == set(NAMES)
    assert await providers.identify("microsoft", SHOWN["microsoft"]) == ada("microsoft")
    assert await providers.identify("microsoft", "something else") is None
    assert await providers.identify("google", SHOWN["microsoft"]) is None


@pytest.mark.parametrize("name", NAMES)
async def test_each_provider_vouches_for_its_own(http: HttpSocialProviders, name: str) -> None:
    assert await http.identify(name, SHOWN[name]) == ada(name)


async def test_a_provider_that_is_away_in_memory() -> None:
    with pytest.raises(ServiceUnavailable):
        await MemorySocialProviders(NAMES, away=NAMES).identify("google", TOKEN)


@pytest.mark.promise("identity, social login: Fixed hosts, no redirects, 3 s, 64 kB")
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("token", ["", "unknown", "with blank", "ümlaut", "line\r\nX-Evil: 1", "nul\0", "x" * 9000])
async def test_no_other_token_is_anybodys(http: HttpSocialProviders, name: str, token: str) -> None:
    assert await http.identify(name, token) is None


ISSUED_TO_OTHERS: list[tuple[str, str, object]] = [
    ("google", "/tokeninfo", GOOGLE | {"aud": "theirs", "azp": "theirs"}),
    ("google", "/tokeninfo", GOOGLE | {"aud": "theirs"}),
    ("google", "/tokeninfo", GOOGLE | {"azp": "theirs"}),
    ("google", "/tokeninfo", {"sub": "1", "email": "ada@example.com", "email_verified": "true"}),
    ("google", "/userinfo", {"sub": "another", "name": "Somebody"}),
    ("github", GITHUB_APP, {"app": {"client_id": "theirs"}}),
    ("facebook", "/debug_token", {"data": {"app_id": "theirs", "user_id": "3", "is_valid": True}}),
    ("facebook", "/debug_token", {"data": {"app_id": CLIENT, "user_id": "3", "is_valid": False}}),
    ("facebook", "/debug_token", {"data": {"app_id": CLIENT, "user_id": "another", "is_valid": True}}),
]


@pytest.mark.promise("identity, social login: each provider checks in its own way that the token was issued to us")
@pytest.mark.parametrize(("name", "path", "said"), ISSUED_TO_OTHERS)
async def test_a_token_that_was_issued_to_others_is_nobodys(
    http: HttpSocialProviders, provider: FakeProvider, name: str, path: str, said: object
) -> None:
    provider.replies[path] = Said(body=said)
    assert await http.identify(name, TOKEN) is None


async def test_a_github_token_is_sent_nowhere_until_github_confirms_its_application(
    http: HttpSocialProviders, provider: FakeProvider
) -> None:
    provider.replies[GITHUB_APP] = Said(404, {"message": "Not Found"})
    assert await http.identify("github", TOKEN) is None
    assert [(request.method, request.path) for request in provider.asked] == [("POST", GITHUB_APP)]
    basic = base64.b64encode(f"{CLIENT}:{SECRET}".encode()).decode()
    assert provider.asked[0].headers["authorization"] == f"Basic {basic}"
    assert json.loads(provider.asked[0].body) == {"access_token": TOKEN}


FORGED = {
    "another application's": id_token(aud="theirs"),
    "of a stranger's key": id_token(STRANGER),
    "of a key that is not published": id_token(header={"kid": "unknown"}),
    "of another directory than its issuer": id_token(tid="33333333-3333-4333-8333-333333333333"),
    "of another issuer": id_token(iss=f"https://evil.example/{TENANT}/v2.0"),
    "of version 1": id_token(iss=f"https://sts.windows.net/{TENANT}/"),
    "past": id_token(exp=int(NOW.timestamp()) - 120),
    "to come": id_token(nbf=int(NOW.timestamp()) + 120),
    "unsigned": ".".join(
        base64.urlsafe_b64encode(part).rstrip(b"=").decode()
        for part in (b'{"alg":"none","kid":"theirs"}', b'{"aud":"our client"}', b"")
    ),
    "without a subject": id_token(oid=None),
}


@pytest.mark.promise("identity, social login: each provider checks in its own way that the token was issued to us")
@pytest.mark.parametrize("token", FORGED.values(), ids=FORGED.keys())
async def test_an_id_token_is_checked_in_every_part(http: HttpSocialProviders, token: str) -> None:
    assert await http.identify("microsoft", token) is None


async def test_a_key_of_one_microsoft_directory_is_valid_only_for_that_directory(
    http: HttpSocialProviders, provider: FakeProvider
) -> None:
    provider.replies[KEYS] = Said(body=published(issuer="https://login.microsoftonline.com/consumers/v2.0"))
    assert await http.identify("microsoft", SHOWN["microsoft"]) is None


@pytest.mark.parametrize("later", [timedelta(minutes=1), -timedelta(hours=1)], ids=["a minute later", "set back"])
async def test_keys_are_asked_for_again_when_an_unknown_one_signs_but_not_for_every_forgery(
    provider: FakeProvider, later: timedelta
) -> None:
    now = NOW - later
    settings = ProviderSettings(client_id=CLIENT, client_secret="", base_url=provider.url)
    microsoft = HttpSocialProviders({"microsoft": settings}, lambda: now)
    provider.replies[KEYS] = Said(body={"keys": []})
    assert await microsoft.identify("microsoft", SHOWN["microsoft"]) is None
    provider.replies[KEYS] = Said(body=published())
    assert await microsoft.identify("microsoft", SHOWN["microsoft"]) is None
    assert len(provider.asked) == 1
    now += later
    assert await microsoft.identify("microsoft", SHOWN["microsoft"]) == ada("microsoft")
    assert await microsoft.identify("microsoft", SHOWN["microsoft"]) == ada("microsoft")
    assert len(provider.asked) == 2
    await microsoft.close()


UNVERIFIED: list[tuple[str, str, object]] = [
    ("google", "/tokeninfo", GOOGLE | {"email_verified": "false"}),
    ("google", "/tokeninfo", {name: GOOGLE[name] for name in ("sub", "aud", "azp", "email")}),
    ("github", "/user/emails", [{"email": "ada@example.com", "primary": True, "verified": False}]),
]


@pytest.mark.promise("identity, social login: Addresses that the provider has not verified")
@pytest.mark.parametrize(("name", "path", "said"), UNVERIFIED)
async def test_an_address_that_the_provider_has_not_made_sure_of_is_not_verified(
    http: HttpSocialProviders, provider: FakeProvider, name: str, path: str, said: object
) -> None:
    provider.replies[path] = Said(body=said)
    found = await http.identify(name, TOKEN)
    assert found is not None
    assert (found.email, found.email_verified) == ("ada@example.com", False)


@pytest.mark.parametrize("edov", [False, 0, "0", "false", None])
async def test_a_directory_that_does_not_own_the_domain_verifies_no_address(
    http: HttpSocialProviders, edov: object
) -> None:
    token = id_token(xms_edov=edov) if edov is not None else id_token(xms_edov=False)
    found = await http.identify("microsoft", token)
    assert found is not None
    assert not found.email_verified


async def test_github_addresses_other_than_the_primary_are_ignored(
    http: HttpSocialProviders, provider: FakeProvider
) -> None:
    provider.replies["/user/emails"] = Said(body=[{"email": "ada@example.com", "primary": False, "verified": True}])
    found = await http.identify("github", TOKEN)
    assert found is not None
    assert found.email is None
    assert not found.email_verified


async def test_facebook_is_shown_that_we_hold_the_secret(http: HttpSocialProviders, provider: FakeProvider) -> None:
    await http.identify("facebook", TOKEN)
    debugged, me = provider.asked
    assert debugged.parameters == {"input_token": TOKEN, "access_token": f"{CLIENT}|{SECRET}"}
    assert me.parameters["appsecret_proof"] == hmac.new(SECRET.encode(), TOKEN.encode(), hashlib.sha256).hexdigest()


FIRST_ASKED = {"google": "/tokeninfo", "github": GITHUB_APP, "facebook": "/debug_token", "microsoft": KEYS}
AWAY = {
    "an error": Said(500, {"error": "oops"}),
    "too many questions": Said(429, {"error": "slow down"}),
    "a redirect": Said(302, {}, {"Location": "/elsewhere"}),
    "no JSON": Said(200, b"<html>"),
    "JSON of another shape": Said(200, ["what"]),
    "ten megabytes": Said(megabytes=10),
    "no answer": Said(silent=True),
}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("said", AWAY.values(), ids=AWAY.keys())
async def test_a_provider_that_exceeds_the_time_limit_is_unavailable(
    provider: FakeProvider, name: str, said: Said
) -> None:
    provider.replies[FIRST_ASKED[name]] = said
    provider.replies["/elsewhere"] = Said(body=GOOGLE)
    # what answers is refused for its answer, and never for its time
    http = asking(provider, 0.5 if said.silent else HUNG_AFTER)
    with pytest.raises(ServiceUnavailable):
        await http.identify(name, SHOWN[name])
    await http.close()
    assert [request.path for request in provider.asked] == [FIRST_ASKED[name]]
    assert provider.sent < 5_000_000


@pytest.mark.promise("identity, social login: Fixed hosts, no redirects, 3 s, 64 kB")
def test_a_provider_is_given_three_seconds() -> None:
    assert SECONDS == 3.0


async def test_a_provider_that_does_not_listen_is_unavailable(http: HttpSocialProviders) -> None:
    settings = ProviderSettings(client_id=CLIENT, client_secret=SECRET, base_url="http://127.0.0.1:9")
    nobody = HttpSocialProviders({"google": settings}, lambda: NOW)
    with pytest.raises(ServiceUnavailable):
        await nobody.identify("google", TOKEN)
    await nobody.close()


async def test_tokens_are_not_logged(http: HttpSocialProviders, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    await http.identify("google", TOKEN)
    assert TOKEN not in caplog.text


@pytest.mark.promise("identity, social login: Fixed hosts, no redirects, 3 s, 64 kB")
def test_the_real_hosts_are_fixed() -> None:
    from adapters.social import facebook, github, google, microsoft

    assert [kind.HOST for kind in (google, github, facebook, microsoft)] == [
        "https://oauth2.googleapis.com",
        "https://api.github.com",
        "https://graph.facebook.com",
        "https://login.microsoftonline.com",
    ]
