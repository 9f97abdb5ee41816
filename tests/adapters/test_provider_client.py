"""The client of social providers: which servers it trusts, and where it does not go."""

import ipaddress
import ssl
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from adapters.social.provider_client import ProviderClient, Question
from domain.errors import ServiceUnavailable
from tests.servers.fake_provider import Said, fake_provider

SECRET = "a-token-of-the-provider"


@pytest.fixture
async def client() -> AsyncIterator[ProviderClient]:
    opened = ProviderClient()
    yield opened
    await opened.close()


def own_certificate(folder: Path) -> ssl.SSLContext:
    """Context of a server with a certificate that nobody vouches for, valid for 127.0.0.1."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = folder / "server.pem"
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    pem.write_bytes(private + certificate.public_bytes(serialization.Encoding.PEM))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem)
    return context


async def test_an_untrusted_certificate_is_refused_before_anything_is_sent(
    client: ProviderClient, tmp_path: Path
) -> None:
    async with fake_provider(own_certificate(tmp_path)) as provider:
        provider.replies["/who"] = Said(body={"id": "1"})
        assert provider.url.startswith("https://")
        with pytest.raises(ServiceUnavailable):
            await client.ask(Question(url=f"{provider.url}/who", bearer=SECRET), dict)
        assert provider.asked == []


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_is_not_followed(client: ProviderClient, status: int) -> None:
    async with fake_provider() as provider, fake_provider() as elsewhere:
        elsewhere.replies["/who"] = Said(body={"id": "1"})
        provider.replies["/who"] = Said(status, {"id": "1"}, headers={"Location": f"{elsewhere.url}/who"})
        with pytest.raises(ServiceUnavailable):
            await client.ask(Question(url=f"{provider.url}/who", bearer=SECRET), dict)
        assert (len(provider.asked), elsewhere.asked) == (1, [])


async def test_a_provider_that_is_in_order_is_asked(client: ProviderClient) -> None:
    async with fake_provider() as provider:
        provider.replies["/who"] = Said(body={"id": "1"})
        assert await client.ask(Question(url=f"{provider.url}/who", bearer=SECRET), dict) == {"id": "1"}


@pytest.mark.parametrize(
    ("status", "answer", "told"),
    [
        (401, {"error": "invalid_client", "error_description": "Unauthorized"}, "invalid_client"),
        (400, {"error": "redirect_uri_mismatch"}, "redirect_uri_mismatch"),
        (200, {"error": "incorrect_client_credentials"}, "incorrect_client_credentials"),
        (400, {"error": {"message": "Error validating client secret.", "code": 1}}, "code 1"),
        (400, {"error": {"message": "An unknown error has occurred.", "code": 1}}, None),
        (400, {"error": {"message": "Redirect URI mismatch.", "code": 191}}, "code 191"),
        (400, {"error": "invalid_grant"}, None),
        (400, {"error": {"message": "This authorization code has been used.", "code": 100}}, None),
        (400, ["invalid_client"], None),
    ],
)
async def test_a_provider_that_does_not_know_the_service_is_logged(
    client: ProviderClient, caplog: pytest.LogCaptureFixture, status: int, answer: object, told: str | None
) -> None:
    """Whoever logs in sees a refused login in both cases; a wrong code is theirs, a wrong secret the operator's."""
    async with fake_provider() as provider:
        provider.replies["/token"] = Said(status, answer)
        question = Question(url=f"{provider.url}/token?by={SECRET}", form={"code": "c", "client_secret": SECRET})
        answered = await client.ask(question, dict[str, object])
        assert answered == (answer if status == 200 else None)
        host = provider.url.removeprefix("http://")
    sentence = f"The social provider at {host} refuses this service ({told}): "
    warned = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert warned == ([] if told is None else [f"{sentence}check client id, secret and redirect address."])
    assert SECRET not in caplog.text


async def test_a_refused_client_secret_is_logged_and_a_refused_token_is_not(
    client: ProviderClient, caplog: pytest.LogCaptureFixture
) -> None:
    async with fake_provider() as provider:
        for status in (404, 401):
            provider.replies["/applications/1/token"] = Said(status, {"message": "Bad credentials"})
            question = Question(url=f"{provider.url}/applications/1/token", basic=("1", SECRET), body={})
            assert await client.ask(question, dict[str, object]) is None
            assert ("refuses this service (401)" in caplog.text) is (status == 401)
