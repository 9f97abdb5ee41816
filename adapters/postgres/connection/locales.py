"""Check of a database's locale: case-insensitive comparisons use its ``lower()``, see ``without_case``."""

import asyncpg
from msgspec import Struct

from adapters.postgres.connection.connecting import connected

LETTERS = {"I": "i", "É": "é", "Ω": "ω", "Ж": "ж"}
"""Capital letters and their lower case; in Turkish locales ``I`` becomes ``ı``."""

_ASKED = """
SELECT current_database() AS database, pg_encoding_to_char(encoding) AS encoding, datctype::text AS locale,
to_regclass('alembic_version') IS NOT NULL AS is_in_use
FROM pg_database WHERE datname = current_database()"""
# Only UTF8 has all of these letters. Other encodings refuse the query.
_FOLDED = """SELECT array(SELECT lower(letter COLLATE "default") FROM unnest($1::text[]) letter)"""


class LocaleMistake(Struct, frozen=True):
    """Error in a database's locale or encoding with its remedy; ``is_in_use`` if it has been migrated."""

    sentence: str
    is_in_use: bool


async def locale_mistake(url: str) -> LocaleMistake | None:
    """Return the error in a database's locale or encoding; None without an error."""
    async with connected(url) as connection:
        row = await connection.fetchrow(_ASKED)
        assert row is not None
        if row["encoding"] != "UTF8":
            return _mistake(row, f"has the encoding {row['encoding']}, which lacks most letters")
        folded = await connection.fetchval(_FOLDED, list(LETTERS))
    wrong = [letter for letter, lower in zip(LETTERS, folded, strict=True) if lower != LETTERS[letter]]
    if not wrong:
        return None
    pairs = ", ".join(f"{letter} and {LETTERS[letter]}" for letter in wrong)
    return _mistake(row, f"has the locale {row['locale']}, for which {pairs} are not one letter")


def _mistake(row: asyncpg.Record, what: str) -> LocaleMistake:
    database = row["database"]
    sentence = (
        f"The database {database} {what}: filters, searches and unique values that ignore case would be wrong. Make it "
        f"anew with a UTF-8 locale, such as: CREATE DATABASE {database} TEMPLATE template0 ENCODING 'UTF8' "
        "LOCALE 'C.UTF-8'; and move its rows with pg_dump and pg_restore."
    )
    return LocaleMistake(sentence, row["is_in_use"])
