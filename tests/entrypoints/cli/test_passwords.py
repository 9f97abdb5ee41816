"""Passwords of the command line: asked for on a terminal, read from standard input without one, never shown."""

import json
import os
import pty
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from tests.entrypoints.processes import COMMAND, PASSWORD, Tenantry, environment
from tests.waiting import HUNG_AFTER

ADMIN = ("create-admin", "root@example.com")


@pytest.fixture
def asking(migrated: dict[str, str]) -> dict[str, str]:
    """Settings by which a command has to ask; the commands of the tests have no terminal unless they are given one."""
    return {name: value for name, value in migrated.items() if name != "ADMIN_PASSWORD"}


@pytest.mark.parametrize("given", [f"{PASSWORD}\n", PASSWORD, f"{PASSWORD}\r\n{PASSWORD}\r\n"])
def test_without_a_terminal_the_password_is_a_line_of_standard_input(
    tenantry: Tenantry, asking: dict[str, str], given: str
) -> None:
    ended = tenantry(*ADMIN, "--json", stdin=given, **asking)
    assert (ended.returncode, ended.stderr) == (0, "Password, as a line of standard input: \n")
    assert json.loads(ended.stdout) == {"email": "root@example.com", "generatedPassword": None}


@pytest.mark.parametrize("given", ["", "\n"])
@pytest.mark.parametrize(
    "command", [ADMIN, ("users", "set-password", "a@b.example"), ("users", "create", "a@b.example", "--tenant", "acme")]
)
def test_a_password_that_is_not_there_is_told(
    tenantry: Tenantry, asking: dict[str, str], command: tuple[str, ...], given: str
) -> None:
    ended = tenantry(*command, stdin=given, **asking)
    assert (ended.returncode, ended.stdout) == (2, ""), ended.stderr
    assert "standard input has no line with one: write it there, or let one be made with --generate." in ended.stderr
    assert "Warning" not in ended.stderr


def test_the_password_of_the_settings_is_named(tenantry: Tenantry, migrated: dict[str, str]) -> None:
    ended = tenantry(*ADMIN, **migrated)
    assert ended.stdout == "root@example.com is a super-admin now, with the password of TENANTRY_ADMIN_PASSWORD.\n"


def test_on_a_terminal_it_is_asked_for_there_and_the_answer_goes_into_the_pipe(
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


def test_a_password_that_cannot_be_written_is_told_on_standard_error(asking: dict[str, str], tmp_path: Path) -> None:
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
