"""An SMTP server in this process, which records messages and can be told to fail."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email import message_from_bytes, policy
from email.message import EmailMessage
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

USER, PASSWORD = b"mailer", b"p@ss:word/"


@dataclass
class SmtpServerInTests:
    """``answers`` are the responses to the first DATA commands; ``refused`` are recipients that do not exist."""

    port: int = 0
    envelopes: list[Envelope] = field(default_factory=list)
    answers: list[str] = field(default_factory=list)
    refused: set[str] = field(default_factory=set)
    were_secure: list[bool] = field(default_factory=list)
    logins: list[bytes] = field(default_factory=list)

    @property
    def messages(self) -> list[EmailMessage]:
        return [message_from_bytes(_bytes(envelope), policy=policy.default) for envelope in self.envelopes]

    async def handle_RCPT(  # noqa: N802  # aiosmtpd's name
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        if address in self.refused:
            return "550 5.1.1 There is nobody of that name"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:  # noqa: N802  # aiosmtpd calls it by this name
        if self.answers:
            return self.answers.pop(0)
        self.envelopes.append(envelope)
        at_once = server.transport is not None and server.transport.get_extra_info("sslcontext") is not None
        self.were_secure.append(at_once or session.ssl is not None)
        return "250 OK"

    def authenticate(self, server: Any, session: Any, envelope: Any, mechanism: str, data: Any) -> AuthResult:
        assert isinstance(data, LoginPassword)
        self.logins.append(data.login)
        return AuthResult(success=(data.login, data.password) == (USER, PASSWORD), handled=False)


def _bytes(envelope: Envelope) -> bytes:
    assert isinstance(envelope.content, bytes)
    return envelope.content


@asynccontextmanager
async def smtp_server(
    *, smtps: ssl.SSLContext | None = None, starttls: ssl.SSLContext | None = None, login: bool = False
) -> AsyncIterator[SmtpServerInTests]:
    kept = SmtpServerInTests()

    def protocol() -> SMTP:
        return SMTP(
            kept,
            hostname="mail.test",
            enable_SMTPUTF8=True,
            tls_context=starttls,
            require_starttls=starttls is not None,
            authenticator=kept.authenticate if login else None,
            auth_required=login,
            auth_require_tls=False,
        )

    server = await asyncio.get_running_loop().create_server(protocol, "127.0.0.1", 0, ssl=smtps)
    kept.port = server.sockets[0].getsockname()[1]
    try:
        yield kept
    finally:
        server.close()


def certificate(folder: Path) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """A certificate for 127.0.0.1, and the trust store with which clients accept it."""
    key, name = ec.generate_private_key(ec.SECP256R1()), x509.Name([])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=True)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = made.public_bytes(serialization.Encoding.PEM)
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    file = folder / "server.pem"
    file.write_bytes(pem + private)
    shown = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    shown.load_cert_chain(file)
    return shown, ssl.create_default_context(cadata=pem.decode())
