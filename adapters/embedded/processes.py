"""Child processes that end with the service, and orphans of a killed service."""

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from adapters.embedded.errors import EmbeddedUnavailable

NOBODY = 65534
ENVIRONMENT: Final = {"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC"}
PR_SET_PDEATHSIG = 1
RUNS_WITHIN = 120.0
ORPHANS_END_WITHIN = 3.0 if sys.platform == "linux" else 0.0


def account() -> int | None:
    """Return the user id to run the servers as; None for the service's user."""
    # PostgreSQL refuses to run as root.
    return NOBODY if os.geteuid() == 0 else None


def own_name(folder: Path) -> str:
    """Return the path of `folder` for a server running in it."""
    # On Linux, this path needs no access to the parent folders, for which the servers' account may lack permission.
    return "/proc/self/cwd" if sys.platform == "linux" else str(folder)


def private_folder(path: Path) -> Path:
    """Create the folder if it is missing, accessible only to the servers' account and root."""
    path.mkdir(mode=0o700, exist_ok=True)
    if (user := account()) is not None:
        os.chown(path, user, user)
    return path


@dataclass(frozen=True)
class Server:
    """Running server, with its stop signals and the seconds to wait after each."""

    name: str
    process: subprocess.Popen[bytes]
    log: Path
    endings: Mapping[signal.Signals, float]

    def await_ready(self, ready: Callable[[], bool], within: float) -> None:
        """Wait until the server is ready; after the time limit, stop it and raise EmbeddedUnavailable."""
        try:
            self._wait(ready, time.monotonic() + within)
        except BaseException:
            self.stop()
            raise

    def _wait(self, ready: Callable[[], bool], deadline: float) -> None:
        while not ready():
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise EmbeddedUnavailable(f"{self.name} did not start. {last_words(self.log)}")
            time.sleep(0.005)

    def stop(self) -> None:
        for ending, seconds in self.endings.items():
            if self.process.poll() is not None:
                return
            self.process.send_signal(ending)
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(seconds)


def start(
    command: Sequence[str | Path], folder: Path, log: Path, *, death: signal.Signals, stdin: bytes = b""
) -> subprocess.Popen[bytes]:
    """Start a program in `folder` as the servers' account, unaffected by Ctrl-C in the terminal.

    `death` is sent when the calling thread ends: call from the longest-lived thread.
    """
    user = account()
    log.parent.mkdir(mode=0o700, exist_ok=True)
    with open(log, "wb", opener=_private) as output:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=ENVIRONMENT,
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=output,
            start_new_session=True,
            user=user,
            group=user,
            extra_groups=None if user is None else [],
            umask=0o077,
            preexec_fn=_die_with_parent(death),  # noqa: PLW1509  # two system calls, nothing that locks
        )
    _tell(process, stdin)
    return process


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _tell(process: subprocess.Popen[bytes], stdin: bytes) -> None:
    # The pipe buffers this input until the process reads it. If the process has ended, its log gives the reason.
    with suppress(BrokenPipeError), process.stdin or nullcontext() as pipe:
        if pipe is not None:
            pipe.write(stdin)


def run(command: Sequence[str | Path], folder: Path, log: Path, stdin: bytes = b"") -> None:
    process = start(command, folder, log, death=signal.SIGKILL, stdin=stdin)
    try:
        process.wait(RUNS_WITHIN)
    finally:
        process.kill()
    if process.returncode != 0:
        raise EmbeddedUnavailable(f"{Path(command[0]).name} failed. {last_words(log)}")


def last_words(log: Path) -> str:
    lines = log.read_text(errors="replace").splitlines()[-15:]
    return "\n".join([f"The end of {log}:", *(f"  {line}" for line in lines)])


def _die_with_parent(death: signal.Signals) -> Callable[[], None] | None:
    if sys.platform != "linux":
        return None
    prctl, parent = ctypes.CDLL(None).prctl, os.getpid()

    def ask() -> None:
        prctl(PR_SET_PDEATHSIG, int(death))
        # A parent that ended before the call sends no signal.
        if os.getppid() != parent:
            os._exit(1)

    return ask


def end_orphans(programs: set[str], folder: Path) -> None:
    """Wait until all programs of a killed run in `folder` have ended; kill them after a time limit."""
    # Programs of a killed run may still run: only Linux signals them when their service ends.
    deadline = time.monotonic() + ORPHANS_END_WITHIN
    while orphans := list(_running_in(folder, programs)):
        if time.monotonic() >= deadline:
            for pid in orphans:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        time.sleep(0.01)


def _running_in(folder: Path, programs: set[str]) -> Iterator[int]:
    # A stored process id is unsafe: the system reuses ids, and a pid file outlives its process.
    if sys.platform != "linux":
        yield from _named_in(folder, programs)
        return
    for process in Path("/proc").glob("[0-9]*"):
        try:
            works_in, runs = (process / "cwd").readlink(), (process / "exe").readlink()
        except OSError:  # the process has ended, or belongs to another user
            continue
        if works_in == folder and runs.name.removesuffix(" (deleted)") in programs:
            yield int(process.name)


def _named_in(folder: Path, programs: set[str]) -> Iterator[int]:
    """Process ids by command line, for systems without /proc."""
    listing = subprocess.run(["/bin/ps", "-axo", "pid=,command="], capture_output=True, text=True, check=True)
    for line in listing.stdout.splitlines():
        pid, _, command = line.strip().partition(" ")
        if str(folder) in command and any(program in command for program in programs):
            yield int(pid)
