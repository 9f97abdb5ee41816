"""SMTP as it is spoken: to whom, how securely, and what each refusal comes to."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from adapters.mail.smtp import SmtpMailer
from adapters.mail.smtp_url import SmtpServer, read_smtp_url
from application.ports.mail_delivery import MailServerUnavailable, Message, Undeliverable
from tests.builders import new_id
from tests.servers.smtp_server import PASSWORD, USER, SmtpServerInTests, certificate, smtp_server
from tests.waiting import HUNG_AFTER

SENDER = "Grüße <no-reply@example.com>"


def message(to: str = "ada@example.com") -> Message:
    return Message(id=new_id(), to=to, subject="Hello", text="Hello", html="<p>Hello</p>")


@pytest.fixture
async def server() -> AsyncIterator[SmtpServerInTests]:
    async with smtp_server() as running:
        yield running


def plain(server: SmtpServerInTests) -> SmtpMailer:
    return SmtpMailer(SmtpServer(host="127.0.0.1", port=server.port), SENDER)


@pytest.mark.promise("identity, accounts and mail: Mail is sent by SMTP, or written to files without it")
async def test_the_envelope_names_one_recipient_and_our_own_address(server: SmtpServerInTests) -> None:
    for to in (" Ada+x@example.com", "ada@bücher.example"):
        await plain(server).send(message(to))
    assert {envelope.mail_from for envelope in server.envelopes} == {"no-reply@example.com"}
    recipients = [envelope.rcpt_tos for envelope in server.envelopes]
    assert recipients == [["Ada+x@example.com"], ["ada@xn--bcher-kva.example"]]


async def test_an_address_beyond_ascii_arrives(server: SmtpServerInTests) -> None:
    await plain(server).send(message("andré@example.com"))
    assert [envelope.rcpt_tos for envelope in server.envelopes] == [["andré@example.com"]]


async def test_a_recipient_that_does_not_exist_is_undeliverable(server: SmtpServerInTests) -> None:
    server.refused.add("ada@example.com")
    with pytest.raises(Undeliverable, match="550"):
        await plain(server).send(message())


@pytest.mark.parametrize("answer", ["451 try later", "552 too much", "421 closing"])
async def test_any_other_refusal_can_be_tried_again(server: SmtpServerInTests, answer: str) -> None:
    server.answers.append(answer)
    mailer, sent = plain(server), message()
    with pytest.raises(MailServerUnavailable):
        await mailer.send(sent)
    await mailer.send(sent)
    assert [message["Message-ID"] for message in server.messages] == [f"<{sent.id}@example.com>"]


async def listen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read()
    writer.close()
    await writer.wait_closed()


async def test_a_silent_mail_server_is_unavailable_after_the_time_limit() -> None:
    silent = await asyncio.start_server(listen, "127.0.0.1", 0)
    port = silent.sockets[0].getsockname()[1]
    with pytest.raises(MailServerUnavailable):
        await SmtpMailer(SmtpServer(host="127.0.0.1", port=port), SENDER, seconds=0.2).send(message())
    silent.close()


@pytest.mark.parametrize("way", ["smtps", "starttls"])
async def test_tls_is_used_where_it_is_asked_for_and_its_certificate_checked(way: str, tmp_path: Path) -> None:
    shown, trusted = certificate(tmp_path)
    async with smtp_server(
        smtps=shown if way == "smtps" else None, starttls=shown if way == "starttls" else None
    ) as server:
        asked = SmtpServer(host="127.0.0.1", port=server.port, tls=way == "smtps", starttls=way == "starttls")
        with pytest.raises(MailServerUnavailable):
            await SmtpMailer(asked, SENDER, seconds=5).send(message())
        assert server.envelopes == []
        await SmtpMailer(asked, SENDER, context=trusted).send(message())
        assert server.were_secure == [True]


async def test_starttls_that_is_not_offered_is_not_done_without(server: SmtpServerInTests) -> None:
    with pytest.raises(MailServerUnavailable):
        await SmtpMailer(SmtpServer(host="127.0.0.1", port=server.port, starttls=True), SENDER).send(message())
    assert server.envelopes == []


@pytest.mark.filterwarnings("ignore:Requiring AUTH while not requiring TLS")
async def test_the_mailer_logs_in_with_the_credentials_of_the_url() -> None:
    async with smtp_server(login=True) as server:
        url = f"smtp://{USER.decode()}:p%40ss%3Aword%2F@127.0.0.1:{server.port}"
        await SmtpMailer(read_smtp_url(url), SENDER).send(message())
        assert len(server.envelopes) == 1
        with pytest.raises(MailServerUnavailable):
            await SmtpMailer(read_smtp_url(url.replace("p%40ss", "pass")), SENDER).send(message())


@pytest.mark.parametrize(
    ("url", "read"),
    [
        ("smtp://mail", SmtpServer(host="mail", port=25)),
        ("smtp://mail?starttls=true", SmtpServer(host="mail", port=587, starttls=True)),
        ("smtp://mail:2525/?starttls=False", SmtpServer(host="mail", port=2525)),
        ("smtps://u:p@mail", SmtpServer(host="mail", port=465, user="u", password="p", tls=True)),
        (f"smtp://a%40b:{PASSWORD.decode().replace('/', '%2F')}@[::1]:25", None),
    ],
)
def test_a_url_is_read(url: str, read: SmtpServer | None) -> None:
    wanted = read or SmtpServer(host="::1", port=25, user="a@b", password=PASSWORD.decode())
    assert read_smtp_url(url) == wanted
    assert "password" not in repr(wanted)


@pytest.mark.parametrize(
    "url",
    [
        "mail:25",
        "http://mail",
        "smtp://",
        "smtp://mail/folder",
        "smtp://mail?tls=true",
        "smtp://mail?starttls=1",
        "smtps://mail?starttls=true",
        "smtp://mail#x",
        "smtp://mail:port",
    ],
)
def test_a_wrong_url_is_refused(url: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011  # the settings say what is taken
        read_smtp_url(url)


async def test_quit_is_not_sent_to_a_server_that_has_timed_out() -> None:
    """The conversation has one time limit: whoever waits for the answer to QUIT as well, waits twice."""
    heard: list[bytes] = []
    left = asyncio.Event()

    async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 here\r\n")
        heard.append(await reader.readline())
        writer.write(b"250 here\r\n")
        while line := await reader.readline():
            heard.append(line)
        writer.close()
        left.set()

    falling_silent = await asyncio.start_server(greet, "127.0.0.1", 0)
    port = falling_silent.sockets[0].getsockname()[1]
    with pytest.raises(MailServerUnavailable):
        await SmtpMailer(SmtpServer(host="127.0.0.1", port=port), SENDER, seconds=0.3).send(message())
    await asyncio.wait_for(left.wait(), HUNG_AFTER)
    assert [line.split()[0] for line in heard] == [b"EHLO", b"MAIL"]
    falling_silent.close()
