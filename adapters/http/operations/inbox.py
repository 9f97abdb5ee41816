"""``/dev/mail``: the mails of a service without a mail server, for developers on this machine."""

import html
from string import Template
from typing import Any

from litestar import Response, get
from litestar.handlers import HTTPRouteHandler

from adapters.http.operations.this_machine import ensure_from_this_machine, ensure_named_as_this_machine
from adapters.http.request.responses import NO_STORE, Bytes
from adapters.http.request.rules import unlisted
from adapters.http.request.strict_request import StrictRequest, read_id
from adapters.http.static_files import ALONE, ASSETS, HTML
from application.ports.mail_delivery import Inbox, ReceivedMail
from domain.errors import NotFound

PATH = "/dev/mail"
MOST = 100
# Allow inline styles of mails; block scripts.
POLICY = f"default-src 'none'; style-src 'self' 'unsafe-inline'; img-src data:; {ALONE}"
HEADERS = {**NO_STORE, "content-security-policy": POLICY, "referrer-policy": "no-referrer"}


def inbox_handlers(inbox: Inbox, service: str, docs: str) -> list[HTTPRouteHandler]:
    """Return handlers of the list of mails and of each mail; ``docs`` is the path of the style sheet's folder."""

    @get(PATH, **unlisted("inbox.list"))
    async def newest(request: StrictRequest) -> Response[Any]:
        _ensure_may_read(request)
        mails = await inbox.newest(MOST)
        return _shown(
            "inbox.html", service=html.escape(service), docs=docs, mails="\n".join(map(_row, mails)) or NOTHING
        )

    @get(f"{PATH}/{{id:str}}", **unlisted("inbox.mail"))
    async def read(request: StrictRequest) -> Response[Any]:
        _ensure_may_read(request)
        mail = await inbox.find(read_id(request.path_params["id"]))
        if mail is None:
            raise NotFound
        return _shown("inbox-mail.html", docs=docs, **_escaped(mail))

    return [newest, read]


NOTHING = '<tr><td colspan="3">No mail was sent yet.</td></tr>'


def _ensure_may_read(request: StrictRequest) -> None:
    """Raises NotFound, except for browsers on this machine that address it as ``localhost`` or by its IP address."""
    ensure_from_this_machine(request)
    ensure_named_as_this_machine(request)


def _row(mail: ReceivedMail) -> str:
    told = _escaped(mail)
    return f'<tr><td><a href="mail/{mail.id}">{told["subject"]}</a></td><td>{told["to"]}</td><td>{told["at"]}</td></tr>'


def _escaped(mail: ReceivedMail) -> dict[str, str]:
    at = f"{mail.at:%Y-%m-%d %H:%M:%S} UTC"
    given = {"subject": mail.subject, "to": mail.to, "at": at, "text": mail.text, "html": mail.html}
    return {name: html.escape(value) for name, value in given.items()}


def _shown(asset: str, **values: str) -> Bytes:
    return Bytes(Template((ASSETS / asset).read_text()).substitute(values).encode(), HTML, headers=HEADERS)
