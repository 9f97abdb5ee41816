"""Passwords in bodies: plain, or encrypted, fresh and used once; refusals do not tell the fault."""

from dataclasses import replace
from datetime import timedelta

import pytest
from joserfc import jwe
from joserfc.jwk import KeySet
from msgspec import UNSET, UnsetType, json

from application.identity.login.authentication import PasswordAuthentication
from application.identity.login.forms import LoginForm, LoginResult
from application.ports.runtime import Passwords
from domain.entities.declaration import Registry
from domain.errors import InvalidCredentials, ValidationError
from tests.application.in_memory_service import EMAIL, HERE, PASSWORD, InMemoryService, open_service


@pytest.fixture
async def service(registry: Registry) -> InMemoryService:
    opened = await open_service(registry)
    await opened.holder()
    return opened


def sealed(service: InMemoryService, password: str = PASSWORD, jti: str = "1", age: timedelta = timedelta()) -> str:
    """A password encrypted as a client does, with the published keys."""
    now = service.clock.now()
    published = json.decode(service.services.keyring.published(now))
    key = next(key for key in KeySet.import_key_set(published).keys if key.get("use") == "enc")
    said = {"password": password, "iat": int((now - age).timestamp()), "jti": jti}
    header = {"alg": "RSA-OAEP-256", "enc": "A256GCM", "kid": key.kid}
    registry = jwe.JWERegistry(algorithms=["RSA-OAEP-256", "A256GCM"])
    return jwe.encrypt_compact(header, json.encode(said), key, registry=registry)


async def send(
    service: InMemoryService, password: str, is_encrypted: bool | UnsetType = UNSET, email: str = EMAIL
) -> LoginResult:
    form = LoginForm(email=email, password=password, is_password_encrypted=is_encrypted)
    return await service.services.sign_in.login(form, HERE)


def refused() -> "pytest.RaisesExc[ValidationError]":
    return pytest.raises(ValidationError)


@pytest.mark.parametrize("flag", [True, UNSET])
async def test_an_encrypted_password_logs_in(service: InMemoryService, flag: bool | UnsetType) -> None:
    assert (await send(service, sealed(service), flag)).token
    with pytest.raises(InvalidCredentials):
        await send(service, sealed(service, "a wrong password", jti="2"), flag)


@pytest.mark.promise("identity, fields: isPasswordEncrypted: true, false, left out")
@pytest.mark.parametrize("flag", [False, UNSET])
async def test_a_plain_one_does_where_it_is_not_said_to_be_encrypted(
    service: InMemoryService, flag: bool | UnsetType
) -> None:
    assert (await send(service, PASSWORD, flag)).token


@pytest.mark.promise("identity, fields: isPasswordEncrypted: true, false, left out")
async def test_with_the_flag_nothing_but_an_encrypted_one_is_looked_at(service: InMemoryService) -> None:
    hashes = Counting(service.adapters.passwords)
    watched = watching(service, hashes)
    for password in (
        PASSWORD,
        "",
        "a.b.c.d.e",
        "$argon2id$v=19$m=8,t=1,p=1$c2FsdHNhbHQ$aGFzaA",
        "5f4dcc3b5aa765d61d83",
    ):
        messages = set()
        for email in (EMAIL, "nobody@example.com", "no address"):
            with refused() as error:
                await send(watched, password, True, email)
            messages.add(str([(detail.field, detail.message) for detail in error.value.fields]))
        (said,) = messages
        assert "password" in said
        assert "jwks.json" in said
    assert hashes.computed == 0


async def test_with_the_flag_off_a_ciphertext_is_only_a_wrong_password(service: InMemoryService) -> None:
    with pytest.raises(InvalidCredentials):
        await send(service, sealed(service), False)


@pytest.mark.promise("identity, encrypted passwords: STRICT_PASSWORD_ENCRYPTION")
async def test_strictly_what_says_nothing_must_be_encrypted(registry: Registry) -> None:
    service = await open_service(registry, {"TENANTRY_STRICT_PASSWORD_ENCRYPTION": "true"})
    await service.holder()
    with refused():
        await send(service, PASSWORD)
    assert (await send(service, sealed(service))).token
    assert (await send(service, PASSWORD, False)).token


@pytest.mark.promise("identity, encrypted passwords: an encrypted password is recent and accepted once")
@pytest.mark.parametrize("flag", [True, UNSET])
async def test_an_encrypted_password_works_once(service: InMemoryService, flag: bool | UnsetType) -> None:
    text = sealed(service)
    await send(service, text, flag)
    for again in (text, sealed(service)):
        with refused() as error:
            await send(service, again, flag)
        assert [detail.field for detail in error.value.fields] == ["password"]
    assert (await send(service, sealed(service, jti="another"), flag)).token


@pytest.mark.parametrize("jti", ["with \0 and ü", "x" * 900])
async def test_the_senders_id_may_be_any_text(service: InMemoryService, jti: str) -> None:
    await send(service, sealed(service, jti=jti), True)
    with refused():
        await send(service, sealed(service, jti=jti), True)


@pytest.mark.promise("identity, encrypted passwords: an encrypted password is recent and accepted once")
@pytest.mark.parametrize(
    ("age", "is_taken"),
    [(120, True), (121, False), (-5, True), (-6, False), (10**6, False), (-(10**6), False)],
)
async def test_an_encrypted_password_is_fresh(service: InMemoryService, age: int, is_taken: bool) -> None:
    text = sealed(service, age=timedelta(seconds=age))
    if is_taken:
        assert (await send(service, text, True)).token
    else:
        with refused():
            await send(service, text, True)


async def test_a_used_password_message_is_refused_for_as_long_as_it_is_fresh(service: InMemoryService) -> None:
    text = sealed(service, age=timedelta(seconds=-5))
    await send(service, text, True)
    for _ in range(5):
        service.clock.move(timedelta(seconds=25))
        with refused():
            await send(service, text, True)


async def test_passwords_encrypted_before_a_rotation_still_open(service: InMemoryService) -> None:
    before = sealed(service)
    await service.services.signing_keys.rotate()
    service.clock.move(timedelta(seconds=61))
    assert (await send(service, before, True)).token
    assert (await send(service, sealed(service, jti="2"), True)).token


class Counting:
    """Passwords that count the hashes they compute."""

    def __init__(self, passwords: Passwords) -> None:
        self.passwords = passwords
        self.computed = 0

    async def hash(self, password: str) -> str:
        self.computed += 1
        return await self.passwords.hash(password)

    async def verify(self, password: str, stored: str | None) -> bool:
        self.computed += 1
        return await self.passwords.verify(password, stored)

    def is_outdated(self, stored: str) -> bool:
        return self.passwords.is_outdated(stored)


def watching(service: InMemoryService, hashes: Counting) -> InMemoryService:
    authentication = service.services.sign_in.authentication
    assert isinstance(authentication, PasswordAuthentication)
    sign_in = replace(service.services.sign_in, authentication=replace(authentication, passwords=hashes))
    return InMemoryService(replace(service.services, sign_in=sign_in), service.adapters)
