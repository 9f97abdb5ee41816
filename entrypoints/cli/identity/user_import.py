"""``tenantry users import``: streams a file, with a progress bar and a line for every refused row."""

import io
import os
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import BinaryIO

import click
from rich.progress import TaskProgressColumn, TimeRemainingColumn

from adapters.argon2 import Argon2ForeignHashes
from application.identity.user_import.imported_rows import Form, Row, read_rows
from application.identity.user_import.user_import import Outcome, Result, UserImport
from domain.errors import BadRequest, FieldError
from entrypoints.assembly.adapters import Adapters
from entrypoints.cli.operator import open_prepared
from entrypoints.settings.settings import Settings
from entrypoints.terminal.answers import Answer
from entrypoints.terminal.errors import CommandError
from entrypoints.terminal.progress import progress_bar

AT_ONCE = 200  # rows stored together
MOST_NAMED = 1000
"""Maximum printed refused rows; further ones are only counted."""

FORMS: dict[str, Form] = {".csv": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl"}


async def import_users(settings: Settings, path: Path) -> str:
    """Import users; return the text to print.

    Raises CommandError for an unreadable file, and after storing the valid rows if others were refused.
    """
    form = FORMS.get(path.suffix.lower())
    if form is None:
        raise CommandError(f"{path.name} ends in neither .csv nor .jsonl: rename it by its content.")
    async with open_prepared(settings) as (adapters, _):
        counts = await _import(user_import(adapters), path, form)
    summary, data = _summary(counts), _data(counts)
    if counts[Outcome.REFUSED]:
        raise CommandError(
            f"{summary} Correct those rows and import the file again: rows that are stored are kept.", data=data
        )
    return Answer(summary, data)


def user_import(adapters: Adapters) -> UserImport:
    return UserImport(
        database=adapters.database,
        hashes=Argon2ForeignHashes(),
        revocations=adapters.revocations,
        cache=adapters.cache,
        clock=adapters.clock,
        ids=adapters.ids,
    )


async def _import(users: UserImport, path: Path, form: Form) -> Counter[Outcome]:
    counts: Counter[Outcome] = Counter()
    columns = (TaskProgressColumn(), TimeRemainingColumn())
    with path.open("rb") as file, progress_bar("Importing", _size(file), *columns) as advance:
        position = 0
        lines = io.TextIOWrapper(file, encoding="utf-8-sig", newline="")  # -sig: Excel writes a byte order mark
        for rows in _pieces(_readable(read_rows(lines, form), counts)):
            results = await users.store(rows)
            _name_refused(results, counts)
            advance(file.tell() - position)
            position = file.tell()
    return counts


def _readable(rows: Iterator[Row], counts: Counter[Outcome]) -> Iterator[Row]:
    try:
        yield from rows
    except BadRequest as error:
        raise CommandError(f"{error} {counts.total()} rows before that are stored.") from None


def _pieces(rows: Iterator[Row]) -> Iterator[list[Row]]:
    while piece := list(islice(rows, AT_ONCE)):
        yield piece


def _name_refused(results: list[Result], counts: Counter[Outcome]) -> None:
    for result in results:
        counts[result.outcome] += 1
        if result.outcome is Outcome.REFUSED and counts[Outcome.REFUSED] <= MOST_NAMED:
            click.echo(f"row {result.number}: {'; '.join(map(_text, result.errors))}", err=True)


def _text(error: FieldError) -> str:
    return f"{error.field}: {error.message}" if error.field else error.message


def _size(file: BinaryIO) -> int:
    return os.fstat(file.fileno()).st_size


def _data(counts: Counter[Outcome]) -> dict[str, int]:
    return {
        "rows": counts.total(),
        "made": counts[Outcome.MADE],
        "joined": counts[Outcome.JOINED],
        "kept": counts[Outcome.KEPT],
        "refused": counts[Outcome.REFUSED],
    }


def _summary(counts: Counter[Outcome]) -> str:
    return (
        f"{counts.total()} rows: {counts[Outcome.MADE]} users made, {counts[Outcome.JOINED]} joined a tenant, "
        f"{counts[Outcome.KEPT]} were there already, {counts[Outcome.REFUSED]} refused."
    )
