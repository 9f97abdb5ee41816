"""Mail as a newcomer gets it, from a service of several processes, through its death."""

import email
import signal
from email.message import EmailMessage
from email.policy import default
from pathlib import Path
from uuid import uuid4

import asyncpg
import pytest

from tests.builders import LINK, said_by
from tests.entrypoints.processes import Serve, Tenantry, eventually, free_port

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


@pytest.mark.promise("identity, accounts and mail: Mail is sent by SMTP, or written to files without it")
def test_without_a_mail_server_each_mail_is_one_file(serve: Serve, migrated: dict[str, str], tmp_path: Path) -> None:
    served = serve(**migrated, WORKERS="2")
    for number in range(5):
        assert served.call("POST", "/api/auth/register", {**ADA, "email": f"ada{number}@example.com"}).status == 201
    eventually(lambda: len(mails(tmp_path)) == 5)
    mail = next(mail for mail in mails(tmp_path) if mail["To"] == "ada3@example.com")
    assert served.call("POST", "/api/auth/confirm-email", said(mail)).status == 200
    served.log_in(ADA["password"], "ada3@example.com")
    folder = tmp_path / ".data" / "mail"
    assert {path.stat().st_mode & 0o077 for path in (folder, *folder.iterdir())} == {0}


async def test_an_operator_sees_mails_that_were_given_up_and_has_them_tried_again_or_dropped(
    tenantry: Tenantry, migrated: dict[str, str]
) -> None:
    def mail(*arguments: str) -> str:
        ended = tenantry("mail", *arguments, **migrated)
        assert "Traceback" not in ended.stderr
        return ended.stdout + ended.stderr

    assert mail("list") == "No mail was given up.\n"
    ids = [str(uuid4()) for _ in range(3)]
    connection = await asyncpg.connect(migrated["DATABASE_URL"])
    try:
        await connection.executemany(
            "INSERT INTO outbox (id, kind, recipient, name, address, at, due_at, tries, given_up_at, why)"
            " VALUES ($1, 'reset', 'ada@example.com', '', '', now(), now(), 9, now(), '550 nobody\nof that name')",
            [(id_,) for id_ in ids],
        )
        listed = mail("list").splitlines()
        assert {line.split("  ", 1)[0] for line in listed} == set(ids)
        assert all(line.endswith("  reset  ada@example.com  550 nobody of that name") for line in listed)
        assert "say --all" in mail("retry")
        assert "say --all" in mail("drop", ids[0], "--all")
        assert f"No mail {ids[0][:8]}" in mail("drop", ids[1], ids[0][:8] + str(uuid4())[8:])
        assert mail("retry", ids[0]) == "1 put back: a running service tries again within a second or two.\n"
        assert mail("drop", "--all") == "2 deleted.\n"
        (left,) = await connection.fetch("SELECT id, given_up_at, tries FROM outbox")
        assert (str(left["id"]), left["given_up_at"], left["tries"]) == (ids[0], None, 0)
    finally:
        await connection.close()


def test_a_service_that_is_killed_before_it_could_send_sends_when_it_is_back(
    serve: Serve, migrated: dict[str, str], tmp_path: Path
) -> None:
    first = serve(**migrated, SMTP_URL=f"smtp://127.0.0.1:{free_port()}")
    assert first.call("POST", "/api/auth/register", ADA).status == 201
    first.end(signal.SIGKILL)
    assert mails(tmp_path) == []
    second = serve(**migrated)
    eventually(lambda: len(mails(tmp_path)) == 1)
    assert second.call("POST", "/api/auth/confirm-email", said(mails(tmp_path)[0])).status == 200
