"""Arguments and options of ``tenantry export`` and ``tenantry import``."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import rich_click as click

from entrypoints.settings.settings import Settings
from entrypoints.terminal.answers import JSON

# The keys of FILE_FORMS in domain/entities/sheets.py, without importing it for `tenantry --help`; a test compares them.
_FORMS = ["csv", "xlsx", "json", "parquet"]

# Options of an import by the names of the command's parameters.
_AS_GIVEN = {
    "delimiter": "delimiter",
    "encoding": "encoding",
    "sheet": "sheet",
    "decimal": "decimal",
    "date_format": "dateFormat",
    "header_row": "headerRow",
}

Run = Callable[[Callable[[Settings], Awaitable[str]]], None]


def add_file_commands(group: click.RichGroup, run: Run) -> None:
    """Add the commands to a group; ``run`` runs them with the servers in the settings."""
    # Import inside functions, so that `tenantry --help` is fast.

    @group.command("export")
    @click.argument("entity")
    @click.option("--tenant", required=True, metavar="IDENTIFIER", help="Tenant that the rows belong to.")
    @click.option("--format", "form", type=click.Choice(_FORMS), help="Default: the file's ending.")
    @click.option("--out", required=True, type=click.Path(dir_okay=False, path_type=Path), metavar="FILE")
    @click.option("--where", multiple=True, metavar="NAME=VALUE", help="Any parameter of a list, such as status=live.")
    @JSON
    def export_command(entity: str, tenant: str, form: str | None, out: Path, where: tuple[str, ...]) -> None:
        """Write all rows of ENTITY (a plural, such as products) to a file."""
        from entrypoints.cli.file_transfer import ExportJob, export_file

        ending = out.suffix.removeprefix(".").lower()
        chosen = form or (ending if ending in _FORMS else "csv")
        job = ExportJob(entity, tenant, chosen, out, [_pair(parameter) for parameter in where])
        run(lambda settings: export_file(settings, job))

    @group.command("import")
    @click.argument("entity")
    @click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
    @click.option("--tenant", required=True, metavar="IDENTIFIER", help="Tenant that the rows will belong to.")
    @click.option("--dry-run", is_flag=True, help="Check the rows and store none.")
    @click.option("--atomic", is_flag=True, help="Store all rows or none.")
    @click.option(
        "--upsert", "key", metavar="FIELD", help="Update rows that have this unique value, create the others."
    )
    @_reading
    @click.option(
        "--column",
        "columns",
        multiple=True,
        metavar="COLUMN=FIELD",
        help="Field that a column is read into; COLUMN= leaves the column out.",
    )
    @JSON
    def import_command(entity: str, file: Path, tenant: str, columns: tuple[str, ...], **given: Any) -> None:
        """Read rows of ENTITY (a plural, such as products) from a CSV, xlsx or Parquet FILE."""
        from entrypoints.cli.file_transfer import ImportJob, import_file

        renamed = {column: field or None for column, field in map(_pair, columns)}
        options = {"dryRun": given["dry_run"], "atomic": given["atomic"], "columns": renamed}
        options |= {option: given[name] for name, option in _AS_GIVEN.items() if given[name] is not None}
        if given["key"] is not None:
            options |= {"mode": "upsert", "key": given["key"]}
        run(lambda settings: import_file(settings, ImportJob(entity, tenant, file, options)))


def _reading(command: Callable[..., None]) -> Callable[..., None]:
    """Adds the options that say how the file is written."""
    options = (
        click.option("--delimiter", metavar="SIGN"),
        click.option("--encoding", metavar="NAME"),
        click.option("--sheet", metavar="NAME"),
        click.option("--decimal", type=click.Choice([".", ","]), help="Decimal sign of the numbers."),
        click.option("--date-format", metavar="FORMAT", help="Such as DD.MM.YYYY or MM/DD/YYYY."),
        click.option("--header-row", type=int, metavar="NUMBER", help="Row with the names of the columns."),
    )
    for option in reversed(options):
        command = option(command)
    return command


def _pair(text: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not sign:
        raise click.BadParameter(f"{text!r} has no '=': write NAME=VALUE")
    return name, value
