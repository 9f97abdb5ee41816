"""A message as it travels."""

from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import formatdate, parseaddr

from application.ports.mail_delivery import Message, Undeliverable
from domain.identity.users import email_key


def mime_of(message: Message, sender: str) -> EmailMessage:
    """Text first, HTML as the better one. Raises Undeliverable for what is no address, or would be more than one."""
    mime = EmailMessage(policy=SMTP)
    if not message.subject.isprintable():
        raise Undeliverable("a subject is one line")
    mime["Subject"] = message.subject
    mime["From"] = sender_of(sender)
    mime["To"] = recipient_of(message)
    mime["Date"] = formatdate(usegmt=True)
    mime["Message-ID"] = f"<{message.id}@{sender_of(sender).domain}>"
    mime["Auto-Submitted"] = "auto-generated"
    mime.set_content(message.text, cte="quoted-printable")
    mime.add_alternative(message.html, subtype="html", cte="quoted-printable")
    return mime


def recipient_of(message: Message) -> Address:
    """As parts, so that the header cannot be read as more than one; the domain as it is looked up."""
    if email_key(message.to) is None:
        raise Undeliverable(f"{message.to!r} is no address")
    local, _, domain = message.to.strip().rpartition("@")
    return Address(username=local, domain=domain.encode("idna").decode("ascii"))


def sender_of(sender: str) -> Address:
    name, address = parseaddr(sender)
    return Address(display_name=name, addr_spec=address)
