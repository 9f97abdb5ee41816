"""Locales: case-blindness is the same on every server that the service starts on."""

import pytest

from adapters.memory.entities.matching import without_case
from adapters.postgres.connection.locales import LETTERS, locale_mistake
from adapters.postgres.migrations.migrate import upgrade
from domain.entities.builtin_entities import BUILTIN_ENTITIES
from domain.entities.catalogue import ENTITIES
from domain.entities.registry import build_registry
from entrypoints.assembly.migrations import check_migrations, ensure_migrated
from entrypoints.settings.settings import read_settings
from entrypoints.terminal.errors import CommandError
from tests.conftest import MakeDatabase

C_LOCALE = "ENCODING 'UTF8' LOCALE 'C'"


async def test_the_locale_of_a_test_database_is_fine(database_url: str) -> None:
    assert await locale_mistake(database_url) is None


@pytest.mark.promise(
    "declarations, case folding: a locale or encoding by which É and é differ stops start and check with the remedy; a "
    "database in use is served with a warning"
)
async def test_a_database_of_locale_c_is_told_with_the_remedy(make_database: MakeDatabase) -> None:
    mistake = await locale_mistake(await make_database(options=C_LOCALE))
    assert mistake is not None
    assert "has the locale C, for which É and é, Ω and ω, Ж and ж are not one letter" in mistake.sentence
    assert "TEMPLATE template0 ENCODING 'UTF8' LOCALE 'C.UTF-8'" in mistake.sentence


@pytest.mark.promise(
    "declarations, case folding: a locale or encoding by which É and é differ stops start and check with the remedy; a "
    "database in use is served with a warning"
)
async def test_an_encoding_without_most_letters_is_told(make_database: MakeDatabase) -> None:
    mistake = await locale_mistake(await make_database(options="ENCODING 'SQL_ASCII' LOCALE 'C'"))
    assert mistake is not None
    assert "has the encoding SQL_ASCII" in mistake.sentence


@pytest.mark.promise(
    "declarations, case folding: a locale or encoding by which É and é differ stops start and check with the remedy; a "
    "database in use is served with a warning"
)
async def test_neither_start_nor_check_goes_on_with_it(make_database: MakeDatabase) -> None:
    url = await make_database(options=C_LOCALE)
    settings = read_settings({"TENANTRY_DATABASE_URL": url, "TENANTRY_SECRET_KEY": "a secret of thirty-two characters"})
    with pytest.raises(CommandError, match="has the locale C"):
        await ensure_migrated(settings, build_registry(ENTITIES))
    with pytest.raises(CommandError, match="has the locale C"):
        await check_migrations(settings)


@pytest.mark.promise(
    "declarations, case folding: a locale or encoding by which É and é differ stops start and check with the remedy; a "
    "database in use is served with a warning"
)
async def test_a_database_that_is_in_use_is_served_with_a_warning(
    make_database: MakeDatabase, caplog: pytest.LogCaptureFixture
) -> None:
    """Whoever has rows in such a database cannot move them within a start."""
    url, registry = await make_database(options=C_LOCALE), build_registry([*ENTITIES, *BUILTIN_ENTITIES])
    settings = read_settings({"TENANTRY_DATABASE_URL": url, "TENANTRY_SECRET_KEY": "a secret of thirty-two characters"})
    await upgrade(url, registry)
    await ensure_migrated(settings, registry)
    assert await check_migrations(settings) == "The database is up to date."
    assert [record.getMessage().count("has the locale C") for record in caplog.records] == [1, 1]


@pytest.mark.promise("declarations, case folding: the memory adapter folds the same letters")
def test_the_memory_adapter_folds_the_same_letters() -> None:
    assert {letter: without_case(letter) for letter in LETTERS} == LETTERS
