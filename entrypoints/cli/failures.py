"""Failures that an operator can remedy, as messages without a traceback."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncpg

from adapters.joserfc import WrongSecretKey
from adapters.postgres.migrations.pending import InconsistentMigrations, MigrationRefused
from domain.errors import Error, ServiceUnavailable
from entrypoints.cli.errors import MIGRATIONS, SETTINGS, UNAVAILABLE, CommandError
from entrypoints.entities import EntitiesError

UNFIT = "The migrations do not fit together:"
WAY_OUT = (
    "Give your own migration another revision: in its file, in the file of the migration that follows it and, where it"
    " is applied already, in the table alembic_version."
)


@asynccontextmanager
async def explained() -> AsyncIterator[None]:
    """Turns failures inside the block into CommandError."""
    try:
        yield
    except WrongSecretKey as error:
        raise CommandError(str(error), SETTINGS) from None
    except EntitiesError as error:
        raise CommandError(str(error), SETTINGS) from None
    except InconsistentMigrations as error:
        lines = [f"  - {mistake}" for mistake in error.mistakes]
        raise CommandError("\n".join([UNFIT, *lines, WAY_OUT]), MIGRATIONS) from None
    except MigrationRefused as error:
        raise CommandError(str(error), MIGRATIONS) from None
    except ServiceUnavailable as error:
        raise CommandError(
            f"The database does not answer ({_reason(error.__cause__ or error)}).", UNAVAILABLE
        ) from None
    except asyncpg.PostgresError as error:
        raise CommandError(f"The database refuses: {error}.", UNAVAILABLE) from None
    except Error as error:
        fields = [f"  {wrong.field}: {wrong.message}" for wrong in error.fields]
        raise CommandError("\n".join([error.message, *fields])) from None


def _reason(error: BaseException) -> str:
    return str(error) or type(error).__name__  # a TimeoutError has no text
