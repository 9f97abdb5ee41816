"""Every command: its help, its exit codes, its answer as JSON, and the progress that a terminal alone is shown."""

import json
import os
import pty
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import rich_click as click
from click.testing import CliRunner

from entrypoints.cli.main import tenantry as commands
from tests.entrypoints.forks import Commands
from tests.entrypoints.processes import Tenantry, environment, free_port
from tests.waiting import HUNG_AFTER

WITHOUT_JSON = {("serve",), ("init",), ("completion",)}
"""Commands whose answer is no data: what they print is a log, the next steps, a script."""
ASK_NO_SERVER = {("settings",), ("entities",), ("schema", "citus"), ("mail", "open")}
REPORTS = {("check",), ("doctor",)}
"""Commands that find what is wrong, and end with 1 for whatever it is."""

FOUND_BEFORE = {("restore",): 2, ("migrations", "discard"): 5}
"""Codes of commands that find before any server is asked that the folder is no backup, that no migration is there."""

_TENANT = ("--tenant", "acme")
ARGUMENTS: dict[tuple[str, ...], tuple[str, ...]] = {
    ("backup",): ("backup",),
    ("completion",): ("bash",),
    ("create-admin",): ("root@example.com", "--generate"),
    ("domains", "add"): ("acme.example", *_TENANT),
    ("domains", "list"): _TENANT,
    ("domains", "remove"): ("acme.example", *_TENANT),
    ("domains", "verify"): ("acme.example", *_TENANT),
    ("export",): ("products", "--out", "products.csv", *_TENANT),
    ("import",): ("products", "some.csv", *_TENANT),
    ("join-requests", "approve"): ("ada@example.com", *_TENANT),
    ("join-requests", "decline"): ("ada@example.com", *_TENANT),
    ("join-requests", "list"): _TENANT,
    ("mail", "drop"): ("--all",),
    ("mail", "retry"): ("--all",),
    ("migrations", "stamp"): ("heads",),
    ("restore",): ("some",),
    ("roles", "list"): _TENANT,
    ("service-accounts", "create"): ("Import", *_TENANT, "--role", "Member"),
    ("service-accounts", "keys"): ("Import", *_TENANT),
    ("service-accounts", "list"): _TENANT,
    ("tenants", "close"): ("acme",),
    ("tenants", "create"): ("globex",),
    ("tenants", "open"): ("acme",),
    ("users", "create"): ("ada@example.com", *_TENANT, "--generate"),
    ("users", "grant"): ("ada@example.com", *_TENANT, "--role", "Member"),
    ("users", "import"): ("users.csv",),
    ("users", "set-password"): ("ada@example.com", "--generate"),
    ("users", "unlock"): ("ada@example.com",),
}
AWAY = {
    "DATABASE_URL": "postgresql://user:hidden@127.0.0.1:1/none",
    "REDIS_URL": "redis://127.0.0.1:1",
    "SECRET_KEY": "4uQ9-xT7_bZ2mK8sW5pJ1cV6nR3yL0hD",
}


def _paths(group: click.Group, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from _paths(command, (*path, name))
        else:
            yield (*path, name)


EVERY = sorted(_paths(commands))


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A folder with the files that the arguments name."""
    (tmp_path / "some.csv").write_text("name,sku,price\nLamp,LAMP-1,19.99\nChair,,x\n")
    (tmp_path / "users.csv").write_text("email,fullName,tenant\nbob@example.com,Bob,acme\n")
    (tmp_path / "some").mkdir()
    return tmp_path


@pytest.mark.parametrize("path", EVERY, ids=" ".join)
def test_exit_codes_are_those_of_the_page(tenantry: Tenantry, files: Path, path: tuple[str, ...]) -> None:
    assert CliRunner().invoke(commands, [*path, "--help"]).exit_code == 0
    assert CliRunner().invoke(commands, [*path, "--no-such-option"]).exit_code == 2
    arguments = ARGUMENTS.get(path, ())
    if path in {("init",), ("completion",)}:  # they read no settings
        return
    wrong = tenantry(*path, *arguments, PORT="eighty")
    assert wrong.returncode == (1 if path in REPORTS else 2), wrong.stderr
    assert "TENANTRY_PORT got 'eighty'" in wrong.stdout + wrong.stderr
    if path in ASK_NO_SERVER:
        return
    away = tenantry(*path, *arguments, **AWAY, PORT=str(free_port()))
    assert away.returncode == (1 if path in REPORTS else FOUND_BEFORE.get(path, 4)), away.stderr
    assert "Traceback" not in away.stderr


def test_every_command_with_output_data_accepts_json() -> None:
    for path in EVERY:
        command: click.Command = commands
        for name in path:
            assert isinstance(command, click.Group)
            command = command.commands[name]
        takes = any("--json" in parameter.opts for parameter in command.params)
        assert takes is (path not in WITHOUT_JSON), path


# In this order each command has what it needs.
ORDERS = {
    "people": """
demo | tenants create acme | tenants list | tenants close acme | tenants open acme | users list
users create ada@example.com --tenant acme --generate | users grant ada@example.com --tenant acme --role Member
users grant ada@example.com --tenant acme --no-roles
users set-password ada@example.com --generate | users unlock ada@example.com | users import users.csv
create-admin root@example.com --generate | roles list --tenant acme
service-accounts create Import --tenant acme --role Member | service-accounts list --tenant acme
service-accounts keys Import --tenant acme | domains add acme.example --tenant acme | domains list --tenant acme
domains remove acme.example --tenant acme | join-requests list --tenant acme
""",
    "rows": """
tenants create acme | import products good.csv --tenant acme | export products --out products.csv --tenant acme
keys rotate | keys reseal | mail list | mail open | mail retry --all | mail drop --all | clean | check
settings | entities | entities --plans | files check | schema citus
migrate --check | migrate --sql | migrate --write nothing
migrations current | migrations history | migrations check | migrations stamp heads | migrate
backup backup | restore backup --replace
""",
}
NOT_RUN = {
    ("doctor",),  # findings depend on the machine: below
    ("domains", "verify"),  # asks the DNS
    ("join-requests", "approve"),
    ("join-requests", "decline"),
    ("migrations", "discard"),  # has a project of its own below
    ("migrations", "downgrade"),
}


def lines_of(order: str) -> list[list[str]]:
    return [line.split() for line in order.replace("\n", " | ").split(" | ") if line.strip()]


def test_every_command_with_data_is_run() -> None:
    lines = [words for order in ORDERS.values() for words in lines_of(order)]
    run = {path for path in EVERY for words in lines if tuple(words[: len(path)]) == path}
    assert {path for path in EVERY if path not in WITHOUT_JSON} - run == NOT_RUN


@pytest.fixture
def answer_all(tenantry: Tenantry, files: Path, migrated: dict[str, str]) -> Callable[[str], dict[str, Any]]:
    """Runs the commands of an order, and gives what each answers as JSON."""

    def run(order: str) -> dict[str, Any]:
        told = {}
        for words in lines_of(order):
            ended = tenantry(*words, "--json", **migrated)
            assert (ended.returncode, ended.stderr) == (0, ""), (words, ended.stdout, ended.stderr)
            told[" ".join(words)] = json.loads(ended.stdout)
        return told

    return run


def test_answers_on_people_are_json(answer_all: Callable[[str], dict[str, Any]]) -> None:
    told = answer_all(ORDERS["people"])
    assert told["users import users.csv"]["made"] == 1


def test_answers_on_rows_are_json(answer_all: Callable[[str], dict[str, Any]], files: Path) -> None:
    (files / "good.csv").write_text("name,sku,price\nLamp,LAMP-1,19.99\n")
    told = answer_all(ORDERS["rows"])
    assert told["check"]["isRight"] is True
    assert "database" in {finding["subject"] for finding in told["check"]["findings"]}
    assert told["import products good.csv --tenant acme"] == {"imported": 1, "skipped": 0, "failed": 0, "errors": []}
    assert told["export products --out products.csv --tenant acme"]["rows"] == 1
    assert (told["clean"]["isBusy"], told["clean"]["deleted"]) == (False, {})
    assert told["files check"] == {
        "files": 0,
        "missing": [],
        "altered": [],
        "misheld": [],
        "miscounted": [],
        "unknown": [],
        "foreign": [],
        "isConsistent": True,
        "isRepaired": False,
    }
    (newest,) = told["migrations current"]
    assert newest == told["migrations history"][0]
    assert (newest["isHead"], newest["isCurrent"]) == (True, True)
    assert told["migrations history"][-1]["follows"] == []
    assert told["backup backup"]["revisions"] == [newest["revision"]]
    assert told["restore backup --replace"]["folder"] == "backup"
    assert "products" in {entity["plural"] for entity in told["entities"]["entities"]}


def test_a_failed_import_is_reported_as_json(tenantry: Tenantry, files: Path, migrated: dict[str, str]) -> None:
    assert tenantry("tenants", "create", "acme", **migrated).returncode == 0
    refused = tenantry("import", "products", "some.csv", *_TENANT, "--json", **migrated)
    assert refused.returncode == 1
    report = json.loads(refused.stdout)
    assert (report["imported"], report["failed"], report["errors"][0]["row"]) == (1, 1, 3)
    assert "1 with errors" in refused.stderr
    assert tenantry("migrations", "stamp", "0001", **migrated).returncode == 0
    pending = tenantry("migrate", "--check", "--json", **migrated)
    assert pending.returncode == 5
    assert json.loads(pending.stdout)["isUpToDate"] is False
    for command in ("check", "doctor"):
        found = tenantry(command, "--json", **migrated)
        assert found.returncode == 1
        findings = json.loads(found.stdout)
        assert findings["isRight"] is False
        assert "wrong" in {finding["subject"] for finding in findings["findings"]}


def test_a_second_service_in_a_folder_exits_with_a_separate_code(tenantry: Tenantry, tmp_path: Path) -> None:
    import fcntl

    (tmp_path / ".data").mkdir()
    with (tmp_path / ".data" / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        ended = tenantry("serve", PORT=str(free_port()))
    assert ended.returncode == 3, ended.stderr


@pytest.mark.parametrize("words", ["demo", "backup saved", "import products good.csv --tenant acme"])
def test_progress_is_shown_only_on_a_terminal(
    forks: Commands, tenantry: Tenantry, files: Path, migrated: dict[str, str], words: str
) -> None:
    (files / "good.csv").write_text("name,sku,price\n" + "".join(f"Lamp,LAMP-{n},1\n" for n in range(500)))
    assert tenantry("tenants", "create", "acme", **migrated).returncode == 0
    for command in ("demo", "backup piped", "import products good.csv --tenant acme"):
        if command.split()[0] == words.split(maxsplit=1)[0] and command != "demo":
            assert tenantry(*command.split(), **migrated).stderr == ""
    shown, answer = _on_a_terminal(forks, words.split(), files, migrated)
    title = {"demo": "Filling", "backup": "Writing", "import": "Importing"}[words.split(maxsplit=1)[0]]
    assert title in shown
    assert title not in answer


def _on_a_terminal(forks: Commands, words: list[str], folder: Path, settings: dict[str, str]) -> tuple[str, str]:
    """What a command writes to a terminal as its standard error, and to its standard output, which is piped."""
    ours, theirs = pty.openpty()

    def run() -> "subprocess.CompletedProcess[str]":
        try:
            variables = environment(settings) | {"TERM": "xterm"}
            return forks.run_told(tuple(words), folder, variables, "", HUNG_AFTER, Path(os.ttyname(theirs)))
        finally:
            os.close(theirs)

    with ThreadPoolExecutor(1) as pool:
        running, shown = pool.submit(run), b""
        try:
            while piece := os.read(ours, 4096):
                shown += piece
        except OSError:  # the other end is closed
            pass
        finally:
            os.close(ours)
        ended = running.result()
    assert ended.returncode == 0, shown
    return shown.decode(), ended.stdout
