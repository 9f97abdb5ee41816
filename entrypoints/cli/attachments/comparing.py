"""``tenantry files check``: the store of files compared with the database."""

from collections.abc import Iterable, Iterator
from typing import Any

from application.entities.attachments.consistency import Comparison, FileConsistency
from entrypoints.assembly.adapters import open_adapters
from entrypoints.assembly.entities import load_registry
from entrypoints.settings.settings import Settings
from entrypoints.terminal.answers import Answer
from entrypoints.terminal.errors import CommandError

MOST_SHOWN = 20
"""Maximum number of names of each kind in the text."""


async def compare_files(settings: Settings, *, repairs: bool, digests: bool) -> Answer:
    """Compare the store with the database, and delete contents without an entry.

    Raises CommandError with the same answer if files have no content, another content or another holder.
    """
    found = await compared(settings, repairs=repairs, digests=digests)
    lines = list(described(found))
    if found.unknown:
        lines.append("The contents without a file were deleted." if repairs else "--repair deletes them.")
    data = {**data_of(found), "isRepaired": repairs}
    if not found.is_consistent:
        raise CommandError("\n".join(lines), data=data)
    return Answer("\n".join(lines), data)


async def compared(settings: Settings, *, repairs: bool, digests: bool) -> Comparison:
    async with open_adapters(settings, load_registry(settings.entities)) as adapters:
        consistency = FileConsistency(adapters.database, adapters.files.store, adapters.clock)
        found = await consistency.compare(digests=digests)
        if repairs:
            await consistency.repair(found)
        return found


def described(found: Comparison) -> Iterator[str]:
    """Yield the differences as lines of text."""
    missing, altered, misheld = ([file.id for file in of] for of in (found.missing, found.altered, found.misheld))
    counts = f"{len(missing)} without content, {len(found.unknown)} contents without a file"
    yield f"{found.files} files, {counts}."
    yield from _listed("without content", missing)
    yield from _listed("without a file", found.unknown)
    yield from _listed("with another size or digest than its entry", altered)
    yield from _listed("held by another row than the one that names it", misheld)
    yield from _listed("with another usage than its files have (tenant)", found.miscounted)
    yield from _listed("not made by the service, and left", found.foreign)


def data_of(found: Comparison) -> dict[str, Any]:
    """Return the differences for ``--json``."""
    return {
        "files": found.files,
        "missing": [file.id for file in found.missing],
        "altered": [file.id for file in found.altered],
        "misheld": [file.id for file in found.misheld],
        "miscounted": found.miscounted,
        "unknown": found.unknown,
        "foreign": found.foreign,
        "isConsistent": found.is_consistent,
    }


def _listed(kind: str, names: Iterable[object]) -> Iterator[str]:
    every = list(names)
    yield from (f"  {kind}: {name}" for name in every[:MOST_SHOWN])
    if len(every) > MOST_SHOWN:
        yield f"  {kind}: {len(every) - MOST_SHOWN} more"
