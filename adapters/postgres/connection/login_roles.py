"""The service's login role: the roles that it may switch to, and its creation by the table owner."""

import base64
import hashlib
import hmac
import secrets
import unicodedata
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from urllib.parse import parse_qs, unquote, urlsplit

import asyncpg
from msgspec import Struct

from adapters.postgres.connection.connecting import connected
from adapters.postgres.schema.row_security import ROLE

ITERATIONS = 4096  # PostgreSQL's default (scram_iterations)

_ASKED = """
SELECT session_user::text AS name, rolsuper OR rolbypassrls AS passes_row_security,
    coalesce((SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()), false) AS is_encrypted,
    host(inet_server_addr()) AS server
FROM pg_roles WHERE rolname = session_user"""
_TURNS = "SELECT pg_advisory_lock(hashtextextended('tenantry.login', 0))"
_IS_THERE = "SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = $1)"
_IS_MEMBER = "SELECT pg_has_role($1::name, $2::name, 'MEMBER')"
_MAKE_SERVICE = "SELECT format('CREATE ROLE %I NOLOGIN NOSUPERUSER NOBYPASSRLS', $1::text)"
# NOINHERIT: without the service's role, this role may not read any table.
_MAKE_LOGIN = "SELECT format('CREATE ROLE %I LOGIN NOINHERIT NOSUPERUSER NOBYPASSRLS PASSWORD %L', $1::text, $2::text)"
_GRANT = "SELECT format('GRANT %I TO %I', $1::text, $2::text)"
_MAY_MAKE = "SELECT format('ALTER ROLE %I CREATEROLE', current_user::text)"
_MAY_GRANT = "SELECT format('GRANT %I TO %I WITH ADMIN OPTION', $1::text, current_user::text)"


class LoginRefused(Exception):
    """The server does not let the owner create the service's role; the message has the statement that allows it."""


class LoginRole(Struct, frozen=True):
    """Role of a session. ``server`` is the server's address, None for a Unix socket."""

    name: str
    passes_row_security: bool
    is_encrypted: bool
    server: str | None


async def login_role(url: str) -> LoginRole:
    """Return the login role. Raises ServiceUnavailable if the database is unavailable."""
    # Cache no statements: a pooler binds only a transaction to one server connection.
    async with connected(url, statement_cache_size=0) as connection, connection.transaction():
        row = await connection.fetchrow(_ASKED)
    assert row is not None
    return LoginRole(**dict(row))


async def ensure_login_role(owner_url: str, url: str) -> None:
    """Create the role in ``url``, with its password, and grant it the service's role; run as the owner.

    An existing role retains its password. Does nothing if both URLs name one role. Raises LoginRefused.
    """
    name, password = _credentials(url)
    owner, _ = _credentials(owner_url)
    if not name or name == owner:
        return
    async with connected(owner_url) as connection:
        await connection.execute(_TURNS)  # replicas start together
        async with _allowed(connection, f"{owner} of TENANTRY_DATABASE_OWNER_URL may not make roles", _MAY_MAKE):
            await _make(connection, _MAKE_SERVICE, ROLE)
            await _make(connection, _MAKE_LOGIN, name, _verifier(password))
        if not await connection.fetchval(_IS_MEMBER, name, ROLE):
            deed = (
                f"{owner} of TENANTRY_DATABASE_OWNER_URL may not let {name}, the role of TENANTRY_DATABASE_URL,"
                f" take on the role {ROLE}"
            )
            async with _allowed(connection, deed, _MAY_GRANT, ROLE):
                await connection.execute(await connection.fetchval(_GRANT, ROLE, name))


@asynccontextmanager
async def _allowed(
    connection: "asyncpg.Connection[asyncpg.Record]", deed: str, remedy: str, *arguments: str
) -> AsyncIterator[None]:
    """Raises LoginRefused with the statement of ``remedy`` if the server forbids the block."""
    try:
        yield
    except asyncpg.InsufficientPrivilegeError as error:
        statement, (reason, *_) = await connection.fetchval(remedy, *arguments), str(error).splitlines()
        # Since PostgreSQL 16, only the creator of a role, or a role with the admin option, may grant it.
        raise LoginRefused(f"The role {deed} ({reason}). Let a superuser run: {statement}") from None


async def _make(connection: "asyncpg.Connection[asyncpg.Record]", statement: str, name: str, *more: str) -> None:
    if not await connection.fetchval(_IS_THERE, name):
        # Another service on this server may create the role concurrently.
        with suppress(asyncpg.DuplicateObjectError, asyncpg.UniqueViolationError):
            await connection.execute(await connection.fetchval(statement, name, *more))


def _credentials(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    query = {key: values[-1] for key, values in parse_qs(parts.query).items()}
    user, password = unquote(parts.username or ""), unquote(parts.password or "")
    return user or query.get("user", ""), password or query.get("password", "")


def _verifier(password: str) -> str:
    """The password's SCRAM verifier (RFC 5803), so that the server's log never contains the password."""
    salt = secrets.token_bytes(16)
    salted = hashlib.pbkdf2_hmac("sha256", unicodedata.normalize("NFKC", password).encode(), salt, ITERATIONS)
    stored = hashlib.sha256(hmac.digest(salted, b"Client Key", "sha256")).digest()
    server = hmac.digest(salted, b"Server Key", "sha256")
    salt_text, stored_text, server_text = (base64.b64encode(part).decode() for part in (salt, stored, server))
    return f"SCRAM-SHA-256${ITERATIONS}:{salt_text}${stored_text}:{server_text}"
