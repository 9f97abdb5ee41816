"""Mail by SMTP."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from ssl import SSLContext, create_default_context

import aiosmtplib
from aiosmtplib import SMTPException, SMTPRecipientRefused, SMTPRecipientsRefused, SMTPResponseException

from adapters.mail.mime import mime_of, recipient_of
from adapters.mail.smtp_url import SmtpServer
from application.ports.mail_delivery import MailServerUnavailable, Message, Undeliverable

SECONDS = 60.0
"""Seconds for a whole SMTP conversation: less than the outbox's claim on a mail."""

FAREWELL = 3.0
"""Seconds for the server to acknowledge the end."""


@dataclass(frozen=True)
class SmtpMailer:
    """Sends mail by SMTP. ``context`` verifies the server's certificate."""

    server: SmtpServer
    sender: str
    seconds: float = SECONDS
    context: SSLContext = field(default_factory=create_default_context, repr=False)

    async def send(self, message: Message) -> None:
        mime, to = mime_of(message, self.sender), recipient_of(message)
        try:
            async with self._conversation() as client:
                # Otherwise the library reads the recipients from the headers.
                await client.send_message(mime, recipients=[to.addr_spec])
        except (SMTPRecipientsRefused, SMTPRecipientRefused) as refusal:
            # 5xx is final. After 4xx, such as for greylisting, the sender should retry.
            if all(500 <= refused.code < 600 for refused in _refused(refusal)):
                raise Undeliverable(_reason(refusal)) from refusal
            raise MailServerUnavailable(_reason(refusal)) from refusal
        except (SMTPException, OSError) as error:
            raise MailServerUnavailable(_reason(error)) from error

    async def ensure_accepted(self) -> None:
        """Connect, encrypt and log in without sending a mail. Raises MailServerUnavailable with the reason."""
        try:
            async with self._conversation():
                pass
        except (SMTPException, OSError) as error:
            raise MailServerUnavailable(_reason(error)) from error

    @asynccontextmanager
    async def _conversation(self) -> AsyncIterator[aiosmtplib.SMTP]:
        """Yield a connected client. QUIT is sent only after success, with a short timeout."""
        client = self._client()
        try:
            async with asyncio.timeout(self.seconds):
                await client.connect()
                yield client
            # The mail is already accepted.
            with suppress(SMTPException, OSError):
                await client.quit(timeout=FAREWELL)
        finally:
            client.close()

    def _client(self) -> aiosmtplib.SMTP:
        server = self.server
        return aiosmtplib.SMTP(
            hostname=server.host,
            port=server.port,
            username=server.user,
            password=server.password,
            use_tls=server.tls,
            start_tls=server.starttls,
            tls_context=self.context if server.tls or server.starttls else None,
            timeout=self.seconds,
        )


def _refused(refusal: SMTPRecipientsRefused | SMTPRecipientRefused) -> list[SMTPRecipientRefused]:
    return list(refusal.recipients) if isinstance(refusal, SMTPRecipientsRefused) else [refusal]


def _reason(error: Exception) -> str:
    if isinstance(error, SMTPRecipientsRefused):
        return "; ".join(map(_reason, error.recipients))
    if isinstance(error, SMTPResponseException):
        return f"{error.code} {error.message}"
    return str(error) or type(error).__name__
