"""Mailers: a message reaches its recipient, and no other that a field could inject."""

import email
import os
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from email.message import EmailMessage
from email.policy import default
from pathlib import Path
from uuid import UUID

import pytest

from adapters.mail.files import FileMailer
from adapters.mail.inbox import FileInbox
from adapters.mail.smtp import SmtpMailer
from adapters.mail.smtp_url import SmtpServer
from application.ports.mail_delivery import Mailer, MailServerUnavailable, Message, Undeliverable
from tests.builders import new_id
from tests.servers.smtp_server import smtp_server

SENDER = "Tenantry <no-reply@example.com>"


@dataclass
class Way:
    """A mailer, and the messages that arrived through it."""

    mailer: Mailer
    arrived: Callable[[], list[EmailMessage]]


@pytest.fixture(params=["files", "smtp"])
async def way(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Way]:
    if request.param == "files":
        yield Way(FileMailer(tmp_path / "mail", SENDER), lambda: read(tmp_path / "mail"))
        return
    async with smtp_server() as server:
        url = SmtpServer(host="127.0.0.1", port=server.port)
        yield Way(SmtpMailer(url, SENDER), lambda: server.messages)


def read(folder: Path) -> list[EmailMessage]:
    files = sorted(folder.glob("*"), key=lambda file: file.stat().st_mtime_ns)
    return [email.message_from_bytes(file.read_bytes(), _class=EmailMessage, policy=default) for file in files]


def read_bytes(folder: Path, mail_id: UUID) -> bytes:
    return (folder / f"{mail_id}.eml").read_bytes()


def message(**given: str) -> Message:
    values = {"to": "ada@example.com", "subject": "Grüße", "text": "Hello Ada – 1\n", "html": "<p>Hello Ada – 1</p>"}
    return Message(id=new_id(), **{**values, **given})


@pytest.mark.parametrize(
    ("to", "arrives_at"),
    [("ceo@straße.example", "ceo@xn--strae-oqa.example"), ("Ada@BÜCHER.example", "Ada@xn--bcher-kva.example")],
)
async def test_a_domain_beyond_ascii_is_the_recipient_s_own(way: Way, to: str, arrives_at: str) -> None:
    """``straße.example`` and ``strasse.example`` belong to different people."""
    await way.mailer.send(message(to=to))
    (arrived,) = way.arrived()
    assert arrived["To"] == arrives_at


async def test_a_mail_arrives_complete_as_text_and_as_html(way: Way) -> None:
    sent = message()
    await way.mailer.send(sent)
    (arrived,) = way.arrived()
    assert (arrived["To"], arrived["From"], arrived["Subject"]) == (sent.to, SENDER, sent.subject)
    assert arrived["Message-ID"] == f"<{sent.id}@example.com>"
    assert arrived["Auto-Submitted"] == "auto-generated"
    assert [part.get_content_type() for part in arrived.iter_parts()] == ["text/plain", "text/html"]
    text, html = (part.get_content().replace("\r\n", "\n").strip() for part in arrived.iter_parts())
    assert (text, html) == (sent.text.strip(), sent.html)


@pytest.mark.parametrize(
    "wrong",
    [
        "ada@example.com\r\nBcc: eve@example.com",
        "ada@example.com,eve@example.org",
        "<ada@example.com>,eve@example.org",
        '"ada@example.com, eve"@example.org',
        "ada",
        "",
        "ada@exam ple.com",
        "ada@" + "x" * 70 + ".com",
    ],
)
async def test_mail_to_an_invalid_address_is_undeliverable(way: Way, wrong: str) -> None:
    with pytest.raises(Undeliverable):
        await way.mailer.send(message(to=wrong))
    assert way.arrived() == []


@pytest.mark.promise("identity, accounts and mail: Text and HTML; no injection of headers, markup or templates")
async def test_a_subject_is_one_line_or_nothing_is_sent(way: Way) -> None:
    with pytest.raises(Undeliverable):
        await way.mailer.send(message(subject="Hello\r\nBcc: eve@example.com"))
    assert way.arrived() == []


async def test_a_mailer_that_cannot_send_raises(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(MailServerUnavailable):
        await FileMailer(tmp_path / "file", SENDER).send(message())
    with pytest.raises(MailServerUnavailable):
        await SmtpMailer(SmtpServer(host="127.0.0.1", port=1), SENDER).send(message())


async def test_the_inbox_has_what_was_written_the_newest_first(tmp_path: Path) -> None:
    mailer, inbox = FileMailer(tmp_path / "mail", SENDER), FileInbox(tmp_path / "mail")
    assert await inbox.newest(10) == []
    sent = [message(subject=subject) for subject in ("Grüße", "Second")]
    for place, mail in enumerate(sent):
        await mailer.send(mail)
        os.utime(tmp_path / "mail" / f"{mail.id}.eml", (place, place))
    (tmp_path / "mail" / "notes.eml").write_text("no mail of ours")
    newest = await inbox.newest(10)
    assert [(mail.id, mail.to, mail.subject, mail.html.strip()) for mail in newest] == [
        (mail.id, mail.to, mail.subject, mail.html) for mail in reversed(sent)
    ]
    assert await inbox.newest(1) == newest[:1]
    assert await inbox.find(sent[0].id) == newest[1]
    assert await inbox.find(new_id()) is None


async def test_a_link_in_a_mail_file_is_one_line_and_is_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    link = "https://example.com/account/reset#token=" + "t" * 100
    with caplog.at_level("INFO"):
        await FileMailer(tmp_path, SENDER).send(message(text=f"Set a new password: {link}\n"))
    (mail,) = await FileInbox(tmp_path).newest(1)
    assert link.encode() in read_bytes(tmp_path, mail.id)
    assert link in caplog.text
