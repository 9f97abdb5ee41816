"""Mail as a newcomer gets it, from a service of several processes, through its death."""

import email
import signal
from email.message import EmailMessage
from email.policy import default
from pathlib import Path

from tests.entrypoints.processes import Serve, eventually, free_port
from tests.mails import LINK, said_by

ADA = {"email": "ada@example.com", "password": "a first password", "fullName": "Ada Byron"}


def mails(folder: Path) -> list[EmailMessage]:
    files = sorted((folder / ".data" / "mail").glob("*.eml"))
    return [email.message_from_bytes(file.read_bytes(), _class=EmailMessage, policy=default) for file in files]


def said(mail: EmailMessage) -> dict[str, str]:
    body = mail.get_body(("plain",))
    assert body is not None
    found = LINK.search(body.get_content())
    assert found
    return said_by(found[0])


def test_without_a_mail_server_each_mail_is_one_file(serve: Serve, shared: dict[str, str], tmp_path: Path) -> None:
    served = serve(**shared, WORKERS="2")
    for number in range(5):
        assert served.call("POST", "/api/auth/register", {**ADA, "email": f"ada{number}@example.com"}).status == 201
    eventually(lambda: len(mails(tmp_path)) == 5)
    mail = next(one for one in mails(tmp_path) if one["To"] == "ada3@example.com")
    assert served.call("POST", "/api/auth/confirm-email", said(mail)).status == 200
    served.log_in(ADA["password"], "ada3@example.com")
    folder = tmp_path / ".data" / "mail"
    assert {path.stat().st_mode & 0o077 for path in (folder, *folder.iterdir())} == {0}


def test_a_service_that_is_killed_before_it_could_send_sends_when_it_is_back(
    serve: Serve, shared: dict[str, str], tmp_path: Path
) -> None:
    first = serve(**shared, SMTP_URL=f"smtp://127.0.0.1:{free_port()}")
    assert first.call("POST", "/api/auth/register", ADA).status == 201
    first.end(signal.SIGKILL)
    assert mails(tmp_path) == []
    second = serve(**shared)
    eventually(lambda: len(mails(tmp_path)) == 1, within=40)
    assert second.call("POST", "/api/auth/confirm-email", said(mails(tmp_path)[0])).status == 200
