"""A probe that ``tenantry doctor`` writes to the store of files, reads and deletes."""

import tempfile
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID, uuid4

from application.ports.entities.attachments import ObjectMissing, StoreUnavailable
from domain.entities.attachments.keys import file_key
from domain.entities.attachments.types import ANY_CONTENT
from entrypoints.assembly.entities import load_registry
from entrypoints.assembly.files import file_store
from entrypoints.settings.settings import Settings

_CONTENT = b"tenantry doctor"
_NO_TENANT = UUID(int=0)


async def file_store_findings(settings: Settings) -> AsyncIterator[str]:
    """Yield why the store cannot be used, nothing if it works or no entity has files."""
    if not any(model.attachments for model in load_registry(settings.entities)):
        return
    store = file_store(settings)
    # `tenantry files check --repair` deletes a probe of a killed command, because its key is that of a file.
    key = file_key(_NO_TENANT, uuid4(), datetime.now(UTC))
    doing = "written"
    try:
        with tempfile.TemporaryDirectory() as folder:
            await store.put(key, _probe(folder), ANY_CONTENT)
        doing = "read"
        async with store.open(key) as pieces:
            found = b"".join([piece async for piece in pieces])
        doing = "deleted"
        await store.delete([key])
    except (StoreUnavailable, ObjectMissing) as error:
        reason = f" ({error.__cause__})" if error.__cause__ else ""
        yield f"The store of files cannot be {doing}{reason}: check TENANTRY_FILES_URL, its key, and rights on it."
        return
    if found != _CONTENT:
        yield "The store of files returns another content than was written: check TENANTRY_FILES_URL."


def _probe(folder: str) -> Path:
    path = Path(folder, "probe")
    path.write_bytes(_CONTENT)
    return path
