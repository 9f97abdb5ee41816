"""The README to the letter: its blocks run in order, against a service that the README's own commands start."""

import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit
from uuid import uuid4

import asyncpg
import pytest
from playwright.sync_api import expect, sync_playwright

from tests.entrypoints.processes import ROOT, Serve, Served, free_port
from tests.http.docs.test_docs_page import BROWSER, FLAGS
from tests.waiting import HUNG_AFTER

README = (ROOT / "README.md").read_text()
_BLOCK = re.compile(r"^```(sh|python)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_FILE = re.compile(r"# (\w+\.py)\n")
SERVICE_ROLE = f"tenantry_readme_{uuid4().hex[:12]}"
_RUN = re.compile(r"^make run$", re.MULTILINE)


@dataclass
class Terminal:
    """Runs shell text in one folder. Variables that one block sets are there in the next."""

    folder: Path
    serve: Serve
    environment: dict[str, str]
    served: Served | None = None
    password: str = ""
    printed: list[str] = field(default_factory=list)

    def run(self, block: str) -> None:
        """``make run`` on a line of its own stops the service that runs and starts one with the block's variables."""
        for place, script in enumerate(_RUN.split(block)):
            if place > 0:
                self.restart()
            if script.strip():
                self.execute(script)

    def restart(self) -> None:
        if self.served is not None:
            assert self.served.end(signal.SIGTERM) == 0
        settings = {name: value for name, value in self.environment.items() if name.startswith("TENANTRY_")}
        self.served = self.serve(**{name.removeprefix("TENANTRY_"): value for name, value in settings.items()})
        self.password = self.password or self.served.password  # printed at the first start alone

    def execute(self, script: str) -> None:
        state = self.folder / ".environment"
        ran = subprocess.run(
            ["/bin/bash", "-c", f"set -aeuo pipefail\n{self.substituted(script)}\nenv -0 > {shlex.quote(str(state))}"],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=HUNG_AFTER,
            check=False,
        )
        assert ran.returncode == 0, f"{script}\n{ran.stdout}\n{ran.stderr}"
        self.printed.append(ran.stdout)
        self.environment = dict(entry.split("=", 1) for entry in state.read_text().split("\0") if entry)

    def substituted(self, script: str) -> str:
        """What differs between a reader's machine and the test's: the clone, the address, the password, the command."""
        tenantry = f"{shlex.quote(sys.executable)} -m tenantry"
        replacements = {
            r"^git clone .*$": "true",
            r"^make migrate MESSAGE=(.*)$": rf"{tenantry} migrate --write \1",
            r"^make migrate$": f"{tenantry} migrate",
            r"^\.venv/bin/tenantry ": f"{tenantry} ",
            r"'paste the printed password here'": shlex.quote(self.password),
            r"http://localhost:8000": self.served.url if self.served else "",
        }
        for pattern, replacement in replacements.items():
            script = re.sub(pattern, replacement, script, flags=re.MULTILINE)
        return script


@pytest.fixture
async def servers_of_the_readme(shared: dict[str, str]) -> AsyncIterator[dict[str, str]]:
    """The README names a role that the start makes; it belongs to the whole server, and goes after the test."""
    yield shared
    connection = await asyncpg.connect(shared["DATABASE_URL"])
    await connection.execute(f"DROP ROLE IF EXISTS {SERVICE_ROLE}")
    await connection.close()


@pytest.mark.promise("console, journeys: a newcomer declares an entity as the README says, and edits its row")
def test_every_block_of_the_readme_runs_in_order(
    serve: Serve, servers_of_the_readme: dict[str, str], tmp_path: Path
) -> None:
    shared = servers_of_the_readme
    terminal = Terminal(tmp_path, serve, reader_environment(shared))
    (tmp_path / "docs").symlink_to(ROOT / "docs")
    for kind, block in blocks(shared):
        if kind == "python":
            (tmp_path / file_name(block)).write_text(block)
        else:
            terminal.run(block)
    everything = "".join(terminal.printed)
    assert '"error"' not in everything, everything
    assert '"email":"admin@example.com"' in everything
    assert '"totalCount":1' in everything
    assert (tmp_path / "photo.png").read_bytes() == (ROOT / "docs/console/grid.png").read_bytes()
    assert (tmp_path / "products.csv").read_text().count("Kettle") == 1
    assert '"imported":2' in everything
    assert (tmp_path / "products.xlsx").stat().st_size > 1_000
    assert '"title":"Emma"' in everything
    ensure_own_books_are_listed(next(text for text in terminal.printed if '"title":"Persuasion"' in text))
    assert "secure_table" in next((tmp_path / "migrations").glob("*.py")).read_text()
    assert terminal.served is not None
    ensure_books_are_served(terminal.served)
    if BROWSER is not None:
        edit_a_book(terminal.served, BROWSER)


def ensure_own_books_are_listed(printed: str) -> None:
    """The member's list has the member's book alone."""
    listed = printed.rpartition('"items":')[2]
    assert ("Persuasion" in listed, "Emma" in listed) == (True, False)


def edit_a_book(served: Served, browser: str) -> None:
    """The console shows the entity that a reader just declared, its row by its title, and changes that."""
    with sync_playwright() as playwright:
        page = playwright.chromium.launch(executable_path=browser, headless=True, args=FLAGS).new_page()
        page.goto(f"{served.url}/")
        page.get_by_label("E-mail").fill("admin@example.com")
        page.get_by_label("Password").fill(served.password)
        page.keyboard.press("Enter")
        page.get_by_role("navigation").get_by_role("link", name="Books").click()
        page.get_by_role("link", name="Emma").click()
        page.get_by_label("Title").fill("Emma, a novel")
        page.get_by_role("button", name="Save", exact=True).click()
        expect(page.get_by_role("heading", name="Emma, a novel")).to_be_visible()
        page.get_by_role("link", name="Books").first.click()
        expect(page.get_by_role("row", name="Emma, a novel")).to_contain_text("474")
        token = served.log_in(served.password)
        (book,) = served.call("GET", "/api/books", token=token).body["data"]["items"]
        assert book["title"] == "Emma, a novel"
        expect(page.locator(".live.on")).to_be_visible()
        assert served.call("PATCH", f"/api/books/{book['id']}", {"pages": 512}, token).status == 200
        expect(page.get_by_role("row", name="Emma, a novel")).to_contain_text("512")


def ensure_books_are_served(served: Served) -> None:
    """What the README says of every entity, on the entity that a reader just declared."""
    token = served.log_in(served.password)
    book = {"title": "Emma", "isbn": "9780141439587", "pages": 474}
    created = served.call("POST", "/api/books", book, token)
    assert (created.status, created.body["data"]["title"]) == (201, "Emma")
    twice = served.call("POST", "/api/books", book, token)
    assert (twice.status, twice.body["error"]["details"][0]["field"]) == (409, "isbn")
    wrong = served.call("POST", "/api/books", {"isbn": "1", "pages": 0}, token)
    assert {detail["field"] for detail in wrong.body["error"]["details"]} == {"title", "isbn", "pages"}
    assert "/api/books" in served.call("GET", "/docs/v1/docs.json").body["paths"]
    permissions = served.call("GET", "/api/permissions", token=token).body["items"]
    assert {f"{action}:books" for action in ("create", "read", "update", "delete")} <= {
        permission["name"] for permission in permissions
    }


def test_the_entity_of_the_readme_fits_in_twenty_lines() -> None:
    (block,) = (block for kind, block in _BLOCK.findall(README) if kind == "python")
    assert len(block.splitlines()) <= 20


def blocks(shared: dict[str, str]) -> Iterator[tuple[str, str]]:
    """The README's blocks; the servers of its section on production are those of the tests."""
    owner = urlsplit(shared["DATABASE_URL"])
    service = owner._replace(netloc=f"{SERVICE_ROLE}:another-password@{owner.netloc.rpartition('@')[2]}").geturl()
    text = README.replace("postgresql://owner:password@host/tenantry", shlex.quote(owner.geturl()))
    text = text.replace("postgresql://tenantry_api:another-password@host/tenantry", shlex.quote(service))
    text = text.replace("redis://host:6379/0", shlex.quote(shared["REDIS_URL"]))
    yield from _BLOCK.findall(text)


def file_name(block: str) -> str:
    named = _FILE.match(block)
    assert named is not None, f"The first line of a python block names its file: {block}"
    return named[1]


def reader_environment(shared: dict[str, str]) -> dict[str, str]:
    """A reader's shell: no settings but a free port, and those that keep tests apart on servers that they share."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("TENANTRY_")}
    apart = {f"TENANTRY_{name}": shared[name] for name in ("RATE_LIMITS", "DATABASE_CONNECTIONS")}
    return {**inherited, **apart, "TENANTRY_PORT": str(free_port()), "PYTHONPATH": str(ROOT)}
