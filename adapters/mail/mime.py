"""MIME form of a message."""

from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import formatdate, parseaddr

from application.ports.mail_delivery import Message, Undeliverable
from domain.identity.users import mailbox


def mime_of(message: Message, sender: str, *, encoding: str = "quoted-printable") -> EmailMessage:
    """Build the mail with a text part and an HTML alternative.

    ``encoding`` is that of the parts; ``8bit`` leaves text readable. Raises Undeliverable for an invalid recipient or
    several, and for a multi-line subject.
    """
    mime = EmailMessage(policy=SMTP)
    if not message.subject.isprintable():
        raise Undeliverable("a subject is one line")
    mime["Subject"] = message.subject
    mime["From"] = sender_of(sender)
    mime["To"] = recipient_of(message)
    mime["Date"] = formatdate(usegmt=True)
    mime["Message-ID"] = f"<{message.id}@{sender_of(sender).domain}>"
    mime["Auto-Submitted"] = "auto-generated"  # RFC 3834: prevents out-of-office answers
    mime.set_content(message.text, cte=encoding)
    mime.add_alternative(message.html, subtype="html", cte=encoding)
    return mime


def recipient_of(message: Message) -> Address:
    """Return the recipient's address with the domain in IDNA. Raises Undeliverable."""
    parts = mailbox(message.to)
    if parts is None:
        raise Undeliverable(f"{message.to!r} is no address")
    # Security: build the address from its two components, so that no text can add a second recipient.
    return Address(username=parts[0], domain=parts[1])


def sender_of(sender: str) -> Address:
    name, address = parseaddr(sender)
    return Address(display_name=name, addr_spec=address)
