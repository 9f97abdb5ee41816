"""The role that the service logs in as: what it may become by a statement, and how the owner of the tables makes it."""

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

ITERATIONS = 4096  # PostgreSQL's own number (scram_iterations)

_ASKED = """
SELECT session_user::text AS name, rolsuper OR rolbypassrls AS passes_row_security,
    coalesce((SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()), false) AS is_encrypted,
    host(inet_server_addr()) AS server
FROM pg_roles WHERE rolname = session_user"""
_TURNS = "SELECT pg_advisory_lock(hashtextextended('tenantry.login', 0))"
_IS_THERE = "SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = $1)"
_IS_MEMBER = "SELECT pg_has_role($1::name, $2::name, 'MEMBER')"
_MAKE_SERVICE = "SELECT format('CREATE ROLE %I NOLOGIN NOSUPERUSER NOBYPASSRLS', $1::text)"
# NOINHERIT: as itself the role may read no table, so that leaving the service's role gains nothing
_MAKE_LOGIN = "SELECT format('CREATE ROLE %I LOGIN NOINHERIT NOSUPERUSER NOBYPASSRLS PASSWORD %L', $1::text, $2::text)"
_GRANT = "SELECT format('GRANT %I TO %I', $1::text, $2::text)"
_MAY_MAKE = "SELECT format('ALTER ROLE %I CREATEROLE', current_user::text)"
_MAY_GRANT = "SELECT format('GRANT %I TO %I WITH ADMIN OPTION', $1::text, current_user::text)"


class LoginRefused(Exception):
    """Refusal of the server to let the owner make the service's role; the message has the statement that allows it."""


class LoginRole(Struct, frozen=True):
    """Role of a session. ``server`` is the server's address, None for a Unix socket."""

    name: str
    passes_row_security: bool
    is_encrypted: bool
    server: str | None


async def login_role(url: str) -> LoginRole:
    """Raises ServiceUnavailable while the database is away."""
    # behind a pooler, only a transaction stays with one server
    async with connected(url, statement_cache_size=0) as connection, connection.transaction():
        row = await connection.fetchrow(_ASKED)
    assert row is not None
    return LoginRole(**dict(row))


async def ensure_login_role(owner_url: str, url: str) -> None:
    """Makes the role that ``url`` names, with its password, and lets it take on the service's role; as the owner.

    A role that exists keeps its password. Nothing is done where both URLs name one role. Raises LoginRefused.
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
    """Raises LoginRefused where the server forbids what the block does; ``remedy`` makes the statement of its text."""
    try:
        yield
    except asyncpg.InsufficientPrivilegeError as error:
        statement, (reason, *_) = await connection.fetchval(remedy, *arguments), str(error).splitlines()
        # since PostgreSQL 16 a role is granted by whoever made it, and by those who were given the option
        raise LoginRefused(f"The role {deed} ({reason}). Let a superuser run: {statement}") from None


async def _make(connection: "asyncpg.Connection[asyncpg.Record]", statement: str, name: str, *more: str) -> None:
    if not await connection.fetchval(_IS_THERE, name):
        # a service with another database on this server may make the same role now
        with suppress(asyncpg.DuplicateObjectError, asyncpg.UniqueViolationError):
            await connection.execute(await connection.fetchval(statement, name, *more))


def _credentials(url: str) -> tuple[str, str]:
    """User and password of a URL, which may stand in its query: ``postgresql:///tenantry?user=service``."""
    parts = urlsplit(url)
    query = {key: values[-1] for key, values in parse_qs(parts.query).items()}
    user, password = unquote(parts.username or ""), unquote(parts.password or "")
    return user or query.get("user", ""), password or query.get("password", "")


def _verifier(password: str) -> str:
    """The password as PostgreSQL stores it (RFC 5803), so that the server's log of statements never has it in clear."""
    salt = secrets.token_bytes(16)
    salted = hashlib.pbkdf2_hmac("sha256", unicodedata.normalize("NFKC", password).encode(), salt, ITERATIONS)
    stored = hashlib.sha256(hmac.digest(salted, b"Client Key", "sha256")).digest()
    server = hmac.digest(salted, b"Server Key", "sha256")
    salt_text, stored_text, server_text = (base64.b64encode(part).decode() for part in (salt, stored, server))
    return f"SCRAM-SHA-256${ITERATIONS}:{salt_text}${stored_text}:{server_text}"
