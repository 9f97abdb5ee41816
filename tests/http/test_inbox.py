"""``/dev/mail``: mails for who develops on this machine, and for nobody else."""

from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio

from adapters.http.app import HttpSettings, build_app
from adapters.mail.files import FileMailer
from adapters.mail.inbox import FileInbox
from application.ports.mail_delivery import Message
from entrypoints.assembly.mail import inbox_of
from entrypoints.settings.settings import read_settings
from tests.builders import new_id
from tests.http.app import SETTINGS, open_test_app

HOSTILE = "<script>alert(1)</script>\" $x 'a"


@pytest_asyncio.fixture(scope="module")
async def served(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Path]:
    """One application for all tests of this file, and the folder of its mails."""
    folder = tmp_path_factory.mktemp("inbox")
    return build_app((await open_test_app()).services, HttpSettings(inbox=FileInbox(folder))), folder


@pytest.fixture
def folder(served: tuple[Any, Path]) -> Path:
    """The folder without the mails of the tests before."""
    for mail in served[1].iterdir():
        mail.unlink()
    return served[1]


@pytest.fixture
def client(served: tuple[Any, Path], folder: Path) -> httpx.AsyncClient:
    return client_from("127.0.0.1", served[0])


def client_from(address: str, application: Any) -> httpx.AsyncClient:
    transport = httpx.ASGITransport(app=application, client=(address, 1))
    return httpx.AsyncClient(transport=transport, base_url="http://localhost")


async def test_mails_are_listed_and_shown_as_text_without_running_anything(
    client: httpx.AsyncClient, folder: Path
) -> None:
    assert "No mail was sent yet" in (await client.get("/dev/mail")).text
    mail = Message(id=new_id(), to="ada@example.com", subject=HOSTILE, text=HOSTILE, html=f"<p>{HOSTILE}</p>")
    await FileMailer(folder, "no-reply@example.com").send(mail)
    listed = await client.get("/dev/mail")
    shown = await client.get(f"/dev/mail/{mail.id}")
    for answer in (listed, shown):
        assert answer.status_code == 200
        assert "<script" not in answer.text
        assert "&lt;script&gt;" in answer.text
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert answer.headers["cache-control"] == "no-store"
    assert f'href="mail/{mail.id}"' in listed.text
    assert 'sandbox="allow-popups' in shown.text


@pytest.mark.parametrize("name", ["nothing", "..%2f..%2fetc%2fpasswd", str(new_id()), "%00"])
async def test_a_name_that_is_not_a_mail_is_not_found(client: httpx.AsyncClient, name: str) -> None:
    assert (await client.get(f"/dev/mail/{name}")).status_code == 404


async def test_mails_are_visible_only_on_this_machine(client: httpx.AsyncClient, served: tuple[Any, Path]) -> None:
    assert (await client.get("/dev/mail", headers={"X-Forwarded-For": "127.0.0.1"})).status_code == 404
    async with client_from("192.0.2.1", served[0]) as stranger:
        assert (await stranger.get("/dev/mail")).status_code == 404


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8000", "localhost.evil.example", "127.0.0.1.evil.example"]
)
async def test_a_page_with_a_rebound_dns_name_cannot_read_mails(
    client: httpx.AsyncClient, folder: Path, host: str
) -> None:
    """DNS rebinding: a browser here asks for a page of elsewhere, whose name has become the address of this machine."""
    mail = Message(id=new_id(), to="ada@example.com", subject="Reset", text="link", html="<p>link</p>")
    await FileMailer(folder, "no-reply@example.com").send(mail)
    for path in ("/dev/mail", f"/dev/mail/{mail.id}"):
        assert (await client.get(path, headers={"Host": host})).status_code == 404
        for own in ("localhost:8000", "127.0.0.1:8000", "[::1]:8000", "shop.localhost:8000", "LOCALHOST"):
            assert (await client.get(path, headers={"Host": own})).status_code == 200, own


@pytest.mark.parametrize(
    ("settings", "has_inbox"),
    [
        ({}, True),
        ({"TENANTRY_SMTP_URL": "smtp://127.0.0.1:25"}, False),
        ({"TENANTRY_BASE_URL": "https://api.example.com"}, False),
    ],
)
def test_only_a_service_of_this_machine_without_a_mail_server_has_an_inbox(
    settings: dict[str, str], has_inbox: bool
) -> None:
    assert (inbox_of(read_settings({**SETTINGS, **settings})) is not None) is has_inbox
