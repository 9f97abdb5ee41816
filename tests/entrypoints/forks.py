"""The command line in forks of a process that has imported it: starting Python anew for each command takes a second.

A fork has a process id, an environment, a folder, streams and an exit code of its own, as a command has; what a command
imports when it runs is there already. Commands that are started as people start them are in test_readme.py,
test_your_project.py and all tests that serve.

Run as a program, this module is the process that forks.
"""

import gc
import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import NoReturn

# Not `adapters.sheets`: what it starts when it is imported does not survive a fork.
IMPORTED = (
    "entrypoints.cli.main",
    "entrypoints.server.failures",
    "entrypoints.cli.identity.accounts",
    "entrypoints.server.preparation",
    "entrypoints.server.housekeeping",
    "entrypoints.server.servers",
    "entrypoints.assembly.use_cases",
    "adapters.postgres.migrations.inspection",
    "adapters.postgres.migrations.migrate",
)


class Commands:
    """Runs one command after the other, each in a fork."""

    def __init__(self, root: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.entrypoints.forks"],
            cwd=root,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(
        self, arguments: tuple[str, ...], folder: Path, environment: Mapping[str, str], stdin: str, timeout: float
    ) -> "subprocess.CompletedProcess[str]":
        with tempfile.TemporaryDirectory() as streams:
            told = Path(streams) / "stderr"
            ended = self.run_told(arguments, folder, environment, stdin, timeout, told)
            ended.stderr = told.read_text()
            return ended

    def run_told(  # as above, and where the standard error goes
        self,
        arguments: tuple[str, ...],
        folder: Path,
        environment: Mapping[str, str],
        stdin: str,
        timeout: float,
        told: Path,
    ) -> "subprocess.CompletedProcess[str]":
        """``told`` is a file or a terminal."""
        with tempfile.TemporaryDirectory() as streams:
            given, said = (Path(streams) / name for name in ("stdin", "stdout"))
            given.write_text(stdin)
            asked = [arguments, str(folder), dict(environment), str(given), str(said), str(told)]
            assert self._process.stdin is not None
            self._process.stdin.write(json.dumps(asked) + "\n")
            self._process.stdin.flush()
            code = self._code(timeout)
            return subprocess.CompletedProcess(list(arguments), code, said.read_text())

    def end(self) -> None:
        with self._process:
            self._process.terminate()

    def _code(self, timeout: float) -> int:
        assert self._process.stdout is not None
        with selectors.DefaultSelector() as answers:
            answers.register(self._process.stdout, selectors.EVENT_READ)
            assert answers.select(timeout), f"the command runs for more than {timeout} seconds"
        return int(self._process.stdout.readline())


def serve_forks() -> None:
    """Reads commands from standard input, and writes the exit code of each to standard output."""
    for module in IMPORTED:
        __import__(module)
    gc.freeze()  # a collection in a fork would write to every page, and so copy it
    asked, answers = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
    for line in asked:
        arguments, folder, environment, *streams = json.loads(line)
        child = os.fork()
        if child == 0:
            asked.close()
            _become(arguments, folder, environment, streams)
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), file=answers, flush=True)


def _become(arguments: list[str], folder: str, environment: dict[str, str], streams: list[str]) -> NoReturn:
    from entrypoints.cli.main import main

    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.setsid()
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    for number, (stream, flags) in enumerate(zip(streams, (os.O_RDONLY, _WRITE, _WRITE), strict=True)):
        os.dup2(os.open(stream, flags, 0o600), number)
    sys.argv[1:], sys.path[0] = arguments, folder
    try:
        main()
    except SystemExit as exit_:
        _end(exit_.code)
    except BaseException:  # noqa: BLE001  # whatever it is, Python would print it
        traceback.print_exc()
        _end(1)
    _end(0)


def _end(code: str | int | None) -> NoReturn:
    """At once: to take down an interpreter that has imported all this takes longer than most commands do."""
    if isinstance(code, str):
        sys.stderr.write(f"{code}\n")
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(code if isinstance(code, int) else int(code is not None))


_WRITE = os.O_WRONLY | os.O_CREAT

if __name__ == "__main__":
    serve_forks()
