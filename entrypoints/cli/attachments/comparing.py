"""``tenantry files check``: the store of files compared with the database."""

from application.entities.attachments.consistency import FileConsistency
from entrypoints.assembly.adapters import open_adapters
from entrypoints.assembly.entities import load_registry
from entrypoints.settings.settings import Settings
from entrypoints.terminal.answers import Answer

MOST_SHOWN = 20
"""Maximum number of keys that the text names."""


async def compare_files(settings: Settings, *, repairs: bool) -> Answer:
    """Compare the store with the database, and delete contents without an entry."""
    async with open_adapters(settings, load_registry(settings.entities)) as adapters:
        consistency = FileConsistency(adapters.database, adapters.files.store, adapters.clock)
        found = await consistency.compare()
        if repairs:
            await consistency.repair(found)
    missing = [str(file.id) for file in found.missing]
    lines = [f"{found.files} files, {len(missing)} without content, {len(found.unknown)} contents without a file."]
    lines += [f"  without content: {file_id}" for file_id in missing[:MOST_SHOWN]]
    lines += [f"  without a file: {key}" for key in found.unknown[:MOST_SHOWN]]
    if found.unknown:
        lines.append("The contents without a file were deleted." if repairs else "--repair deletes them.")
    data = {"files": found.files, "missing": missing, "unknown": found.unknown, "isRepaired": repairs}
    return Answer("\n".join(lines), data)
