"""Passwords of the command line: asked for on a terminal, read from standard input without one, never shown.

Mail as a newcomer gets it, from a service of several processes, through its death.
"""

import email
import json
import os
import pty
import re
import shlex
import signal
import subprocess
from email.message import EmailMessage
from email.policy import default
from pathlib import Path
from uuid import uuid4

import asyncpg
import pytest

from tests.builders import LINK, said_by
from tests.entrypoints.processes import COMMAND, PASSWORD, Serve, Tenantry, environment, eventually, free_port
from tests.waiting import HUNG_AFTER

ADMIN = ("create-admin", "root@example.com")


@pytest.fixture
def asking(migrated: dict[str, str]) -> dict[str, str]:
    """Settings by which a command has to ask; the commands of the tests have no terminal unless they are given one."""
    return {name: value for name, value in migrated.items() if name != "ADMIN_PASSWORD"}


@pytest.mark.parametrize("given", [f"{PASSWORD}\n", PASSWORD, f"{PASSWORD}\r\n{PASSWORD}\r\n"])
def test_without_a_terminal_the_password_is_read_from_standard_input(
    tenantry: Tenantry, asking: dict[str, str], given: str
) -> None:
    ended = tenantry(*ADMIN, "--json", stdin=given, **asking)
    assert (ended.returncode, ended.stderr) == (0, "Password, as a line of standard input: \n")
    assert json.loads(ended.stdout) == {"email": "root@example.com", "generatedPassword": None}


@pytest.mark.parametrize("given", ["", "\n"])
@pytest.mark.parametrize(
    "command", [ADMIN, ("users", "set-password", "a@b.example"), ("users", "create", "a@b.example", "--tenant", "acme")]
)
def test_a_missing_password_on_standard_input_is_reported(
    tenantry: Tenantry, asking: dict[str, str], command: tuple[str, ...], given: str
) -> None:
    ended = tenantry(*command, stdin=given, **asking)
    assert (ended.returncode, ended.stdout) == (2, ""), ended.stderr
    assert "standard input has no line with one: write it there, or let one be made with --generate." in ended.stderr
    assert "Warning" not in ended.stderr


def test_the_password_of_the_settings_is_named(tenantry: Tenantry, migrated: dict[str, str]) -> None:
    ended = tenantry(*ADMIN, **migrated)
    assert ended.stdout == "root@example.com is a super-admin now, with the password of TENANTRY_ADMIN_PASSWORD.\n"


def test_a_password_is_read_from_the_terminal_and_the_answer_is_written_to_the_pipe(
    asking: dict[str, str], tmp_path: Path
) -> None:
    ours, theirs = pty.openpty()
    # The first terminal that the leader of a session opens is its own.
    script = f"exec {shlex.join([*COMMAND, *ADMIN, '--json'])} <{shlex.quote(os.ttyname(theirs))}"
    with subprocess.Popen(
        ["sh", "-c", script],
        cwd=tmp_path,
        env=environment(asking),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as command:
        shown = b""
        for prompt in (b"Password: ", b"Repeat for confirmation: "):
            while not shown.endswith(prompt):
                shown += os.read(ours, 100)
            os.write(ours, f"{PASSWORD}\n".encode())
        said, told = command.communicate(timeout=HUNG_AFTER)
    for end in (ours, theirs):
        os.close(end)
    assert (command.returncode, told) == (0, "")
    assert json.loads(said) == {"email": "root@example.com", "generatedPassword": None}
    assert PASSWORD.encode() not in shown


@pytest.mark.parametrize(("redirection", "code"), [("<&-", 2), ("</dev/null", 2)])
def test_without_standard_input_the_password_is_missed(
    asking: dict[str, str], tmp_path: Path, redirection: str, code: int
) -> None:
    ended = _redirected(ADMIN, redirection, asking, tmp_path)
    assert (ended.returncode, ended.stdout) == (code, ""), ended.stderr
    assert "standard input has no line with one" in ended.stderr


def test_a_password_that_cannot_be_printed_is_written_to_standard_error(asking: dict[str, str], tmp_path: Path) -> None:
    """The account exists by then, and its password is said once."""
    ended = _redirected((*ADMIN, "--generate"), ">/dev/full", asking, tmp_path)
    assert ended.returncode == 1, ended.stderr
    assert "Standard output cannot be written (No space left on device)" in ended.stderr
    assert re.search(r"root@example.com is a super-admin now, with the password \S{16,}", ended.stderr), ended.stderr
    assert "Traceback" not in ended.stderr
    assert "Exception ignored" not in ended.stderr


def _redirected(
    arguments: tuple[str, ...], redirection: str, settings: dict[str, str], folder: Path
) -> "subprocess.CompletedProcess[str]":
    """The command in a session of its own, which has no terminal."""
    script = f"exec {shlex.join([*COMMAND, *arguments])} {redirection}"
    return subprocess.run(
        ["sh", "-c", script],
        cwd=folder,
        env=environment(settings),
        capture_output=True,
        text=True,
        start_new_session=True,
        timeout=HUNG_AFTER,
        check=False,
    )


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
