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
from tests.fake_provider import Said, fake_provider

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


async def test_a_certificate_that_nobody_vouches_for_is_refused_before_anything_is_sent(
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
