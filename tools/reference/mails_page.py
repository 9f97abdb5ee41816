"""Every mail, rendered with example values."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import get_args
from uuid import UUID

from adapters.mail.renderer import JinjaMailRenderer
from application.operations.mail_delivery import LINKS
from application.ports.database import MailKind
from application.ports.mail_delivery import MailContent
from entrypoints.settings.settings import Settings
from tools.reference.markdown import block, sections

INTRODUCTION = """\
Each mail has a text and an HTML form; this is the text, as the service called *Example* writes it. `DOCS_TITLE` is
the name of the service, `MAIL_FROM` the sender, and `CONFIRM_URL`, `RESET_URL` and `INVITATION_URL` the pages that
links lead to ([settings](../settings.md)). Mails are in the language of the reader's tenant, else in that of the
browser ([languages](../sign-in-pages.md#languages)). Links carry their secret behind `#`, which browsers send to
nobody."""

PAGES: Mapping[MailKind, str] = {"invitation": "invitation", **{kind: link.purpose for kind, link in LINKS.items()}}
INVITATION = timedelta(days=Settings().invitation_days)


def page() -> str:
    return sections("# Mails", INTRODUCTION, *_mails())


def _mails() -> Iterator[str]:
    renderer = JinjaMailRenderer("Example")
    for kind in get_args(MailKind):
        message = renderer.write(_content(kind))
        yield f"## {kind}"
        yield block(f"Subject: {message.subject}\n\n{message.text}", "text")


def _content(kind: MailKind) -> MailContent:
    # as the relay writes them: those of an account name its address too
    told = "email=ada%40example.com&token=…" if kind in LINKS else "token=…"
    link = f"https://api.example.com/account/{PAGES[kind]}#{told}" if kind in PAGES else None
    return MailContent(
        id=UUID(int=0),
        kind=kind,
        to="ada@example.com",
        name="Ada Lovelace",
        address="192.0.2.1",
        at=datetime(2026, 1, 2, 3, 4, tzinfo=UTC),
        link=link,
        lifetime=LINKS[kind].lifetime if kind in LINKS else INVITATION,
        tenant="Acme",
        person="Grace Hopper",
        has_account=True,
    )
