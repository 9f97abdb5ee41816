"""``tenantry clean``: immediate housekeeping."""

from collections import Counter

from application.entities.attachments.unused_files import UnusedFileRemoval
from entrypoints.assembly.adapters import open_adapters
from entrypoints.assembly.entities import load_registry
from entrypoints.assembly.use_cases import assemble
from entrypoints.server.housekeeping import clean, summary, tend
from entrypoints.settings.settings import Settings
from entrypoints.terminal.answers import Answer


async def remove_files(removal: UnusedFileRemoval) -> int:
    """Delete all unused files; return their number."""
    count = 0
    while removed := await removal.remove():
        count += removed
    return count


async def clean_now(settings: Settings) -> Answer:
    """Delete all data past its retention, and maintain the tables."""
    async with open_adapters(settings, load_registry(settings.entities)) as adapters:
        services = assemble(adapters, settings)
        gone = await clean(services.housekeeping)
        if gone is not None and (files := await remove_files(services.unused_files)):
            gone += Counter({"unused files": files})
        tables = await tend(services.housekeeping)
    if gone is None:
        return Answer("Another process is cleaning up just now.", {"isBusy": True, "deleted": {}, "tended": []})
    data = {"isBusy": False, "deleted": gone, "tended": list(tables)}
    told = f"Deleted: {summary(gone)}." if gone else "There was nothing to delete."
    if tables:
        told = f"{told} Dead rows and statistics were tended in: {', '.join(tables)}."
    return Answer(told, data)
