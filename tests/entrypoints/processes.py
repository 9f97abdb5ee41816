"""The command line as people start it: a process of its own, with an environment of its own."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.waiting import HUNG_AFTER

ROOT = Path(__file__).resolve().parents[2]
COMMAND = [sys.executable, "-m", "entrypoints.cli.main"]
PASSWORD = "correct horse battery"


def environment(variables: Mapping[str, str]) -> dict[str, str]:
    """Nothing of the tests' own settings."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("TENANTRY_")}
    own = {f"TENANTRY_{name}": value for name, value in variables.items()}
    return {**inherited, "PYTHONPATH": str(ROOT), **own}


def free_port() -> int:
    with socket.socket() as asked:
        asked.bind(("127.0.0.1", 0))
        port: int = asked.getsockname()[1]
        return port


def eventually(holds: Callable[[], bool], within: float = HUNG_AFTER) -> None:
    deadline = time.monotonic() + within
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.005)  # a loop without a pause would take a core from whoever is waited for


def descendants(pid: int) -> set[int]:
    try:
        lists = [children.read_text() for children in Path(f"/proc/{pid}/task").glob("*/children")]
    except (FileNotFoundError, ProcessLookupError):  # it ended meanwhile
        return set()
    children = {int(child) for line in lists for child in line.split()}
    return children.union(*map(descendants, children))


def is_gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


@dataclass(frozen=True)
class Answer:
    status: int
    body: Any


@dataclass
class Served:
    """A running ``tenantry serve``, and all that it has said."""

    process: subprocess.Popen[str]
    url: str
    said: list[str] = field(default_factory=list)

    def await_ready(self) -> "Served":
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.said.append(line)
            if line.startswith("Ctrl-C"):
                return self
        raise AssertionError(f"it ended with {self.process.wait()}: {''.join(self.said)}")

    @property
    def words(self) -> str:
        return "".join(self.said)

    @property
    def password(self) -> str:
        (found,) = re.findall(r'"password": "([^"…]+)"', self.words)
        return str(found)

    def call(self, method: str, path: str, body: object = None, token: str | None = None) -> Answer:
        request = urllib.request.Request(f"{self.url}{path}", method=method)
        if token is not None:
            request.add_header("Authorization", f"Bearer {token}")
        if body is not None:
            request.add_header("Content-Type", "application/json")
            request.data = json.dumps(body).encode()
        try:
            with urllib.request.urlopen(request, timeout=HUNG_AFTER) as response:
                return Answer(response.status, json.loads(response.read() or b"null"))
        except urllib.error.HTTPError as error:
            with error:
                return Answer(error.code, json.loads(error.read() or b"null"))

    def log_in(self, password: str, email: str = "admin@example.com") -> str:
        answer = self.call("POST", "/api/auth/login", {"email": email, "password": password})
        assert answer.status == 200, answer
        token: str = answer.body["data"]["token"]
        return token

    def end(self, how: signal.Signals) -> int:
        self.process.send_signal(how)
        return self.process.wait(HUNG_AFTER)


Serve = Callable[..., Served]
Tenantry = Callable[..., "subprocess.CompletedProcess[str]"]
