"""Converts failures that the operator can repair to messages without a traceback."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncpg

from adapters.joserfc import WrongSecretKey
from adapters.postgres.connection.failures import refused_url
from adapters.postgres.connection.login_roles import LoginRefused
from adapters.postgres.migrations.pending import InconsistentMigrations, MigrationRefused
from adapters.postgres.schema.row_security import ROLE
from adapters.redis.connection_check import RedisRefusal, RedisRefuses
from application.ports.entities.attachments import StoreUnavailable
from domain.errors import Error, ServiceUnavailable
from entrypoints.assembly.entities import EntitiesError
from entrypoints.settings.settings import Settings
from entrypoints.terminal.errors import MIGRATIONS, SETTINGS, UNAVAILABLE, CommandError

SERVICE = "TENANTRY_DATABASE_URL"
NOT_MIGRATED = "The database has no tables, or older ones: run `tenantry migrate`, or start the service once."
NO_ROLE = (
    f"The server does not have the role {ROLE}, as one that was never migrated, or into which the database was copied:"
    " run `tenantry migrate` to create it."
)
NO_RIGHTS = (
    "The database refuses the role of the service: {error}. Run `tenantry migrate`, which grants what is missing; "
    "`tenantry migrations check` names it."
)
UNFIT = "The migrations do not fit together:"
WAY_OUT = (
    "Give your own migration another revision: in its file, in the file of the migration that follows it and, where it"
    " is applied already, in the table alembic_version."
)
REDIS_REFUSES = {
    RedisRefusal.NO_PASSWORD: (
        "Redis asks for a password: name it in TENANTRY_REDIS_URL, such as redis://:password@host:6379/0."
    ),
    RedisRefusal.WRONG_PASSWORD: (
        "Redis refuses the user name or the password ({reason}): correct them in TENANTRY_REDIS_URL."
    ),
    RedisRefusal.NO_DATABASE: (
        "Redis has no database {reason}: end TENANTRY_REDIS_URL with the number of one that it has, such as /0."
    ),
    RedisRefusal.NO_MASTER: (
        "The sentinels of TENANTRY_REDIS_URL watch no master called {reason}. Its name stands behind the hosts, as in"
        " redis+sentinel://host:26379,host2:26379/name/0."
    ),
    RedisRefusal.NO_CLUSTER: (
        "TENANTRY_REDIS_URL names a cluster, and {reason} is in none: write redis:// for a single server."
    ),
    RedisRefusal.REPLICA: (
        "TENANTRY_REDIS_URL names a replica, and replicas do not accept writes: name its master, or sentinels."
    ),
    RedisRefusal.NO_SENTINEL: (
        "TENANTRY_REDIS_URL names sentinels, and {reason} is none: write redis:// for a single server."
    ),
    RedisRefusal.IN_A_CLUSTER: (
        "TENANTRY_REDIS_URL names a node of a cluster: write redis+cluster:// and the hosts of some of its nodes."
    ),
}
MAKES_ROLE = (
    " The role of TENANTRY_DATABASE_URL is made by `tenantry migrate`, as the owner in TENANTRY_DATABASE_OWNER_URL:"
    " that one has to be there before."
)
MAY_MAKE_ROLE = (
    " PostgreSQL does not say which of them is wrong. A role that is not there yet is made by `tenantry migrate`, as"
    " the owner in TENANTRY_DATABASE_OWNER_URL."
)
NEEDS_OWNER = " It has to be a role that is there: `tenantry migrate` makes that of TENANTRY_DATABASE_URL alone."
_IS_LACKING = re.compile("permission denied (for (table|schema|function|sequence)|to set role) ")
REFUSED = (
    RedisRefuses,
    asyncpg.InvalidAuthorizationSpecificationError,
    asyncpg.InvalidCatalogNameError,
    asyncpg.ClientConfigurationError,
)
"""Errors of servers that need another URL, and of the driver with an unusable URL."""


@asynccontextmanager
async def explained(settings: Settings) -> AsyncIterator[None]:
    """Turn failures inside the block into CommandError with the setting of a refused URL."""
    try:
        yield
    except (WrongSecretKey, EntitiesError) as error:
        raise CommandError(str(error), SETTINGS) from None
    except REFUSED as error:
        raise CommandError(_refusal(error, settings), SETTINGS) from None
    except InconsistentMigrations as error:
        lines = [f"  - {mistake}" for mistake in error.mistakes]
        raise CommandError("\n".join([UNFIT, *lines, WAY_OUT]), MIGRATIONS) from None
    except MigrationRefused as error:
        raise CommandError(str(error), MIGRATIONS) from None
    except ServiceUnavailable as error:
        raise CommandError(_outage(error, settings), UNAVAILABLE) from None
    except (LoginRefused, asyncpg.PostgresError) as error:
        raise _refused_statement(error) from None
    except Error as error:
        fields = [f"  {wrong.field}: {wrong.message}" for wrong in error.fields]
        raise CommandError("\n".join([error.message, *fields])) from None


def _refused_statement(error: LoginRefused | asyncpg.PostgresError) -> CommandError:
    if isinstance(error, LoginRefused):
        return CommandError(str(error), UNAVAILABLE)
    if isinstance(error, asyncpg.UndefinedTableError):
        return CommandError(NOT_MIGRATED, MIGRATIONS)
    # The first migration creates the role that every session sets, so a missing role means a missing migration.
    if isinstance(error, asyncpg.InvalidParameterValueError) and f'"{ROLE}"' in str(error):
        return CommandError(NO_ROLE, MIGRATIONS)
    if isinstance(error, asyncpg.InsufficientPrivilegeError) and _IS_LACKING.match(str(error)):
        return CommandError(NO_RIGHTS.format(error=error), MIGRATIONS)
    return CommandError(f"The database refuses: {error}.", UNAVAILABLE)


def _refusal(error: Exception, settings: Settings) -> str:
    if isinstance(error, RedisRefuses):
        return REDIS_REFUSES[error.refusal].format(reason=error.reason)
    setting = _setting_of(refused_url(error), settings)
    if isinstance(error, asyncpg.ClientConfigurationError):
        return f"{setting} cannot be used: {' '.join(str(error).split())}."
    if isinstance(error, asyncpg.InvalidCatalogNameError):
        return f"PostgreSQL says: {error}: create it, or correct its name in {setting}."
    way = MAKES_ROLE if "does not exist" in str(error) else ""
    if isinstance(error, asyncpg.InvalidPasswordError):
        way = MAY_MAKE_ROLE
    if way and setting != SERVICE:
        way = NEEDS_OWNER
    return f"PostgreSQL refuses the role or its password ({error}): correct them in {setting}.{way}"


def _outage(error: ServiceUnavailable, settings: Settings) -> str:
    if isinstance(error, StoreUnavailable):
        reason = f" ({error.__cause__})" if error.__cause__ else ""
        return f"The store of files fails{reason}: check TENANTRY_FILES_URL, and that its server or its disk works."
    cause = error.__cause__ or error
    reason = str(cause) or "no answer in time"  # a TimeoutError has no text
    url = refused_url(error)
    database = "The database" if url is None else f"The database of {_setting_of(url, settings)}"
    # If the server gave a reason, such as too many clients, its address is right.
    is_silent = url is not None and isinstance(cause, OSError)
    way = ": check that its server runs, and that the URL has its host, its port and its TLS" if is_silent else ""
    return f"{database} does not answer ({reason}){way}."


def _setting_of(url: str | None, settings: Settings) -> str:
    """Return the name of the setting with the URL, by default the setting of the service's URL."""
    service, owner = settings.database_url, settings.database_owner_url
    if owner is not None and owner.reveal() == url and owner != service:
        return "TENANTRY_DATABASE_OWNER_URL"
    is_of_replica = any(replica.reveal() == url for replica in settings.database_replica_urls)
    return "TENANTRY_DATABASE_REPLICA_URLS" if is_of_replica else SERVICE
