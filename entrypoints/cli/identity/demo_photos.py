"""Uploads of the pictures of the demo's products."""

import asyncio
import hashlib
import tempfile
from collections.abc import Sequence
from pathlib import Path
from uuid import UUID

from application.entities.attachments.uploads import Received
from domain.scope import Caller
from entrypoints.assembly.use_cases import Services
from entrypoints.cli.identity.demo_pictures import picture
from entrypoints.cli.operator import CLIENT

GOLDEN_ANGLE = 0.382
"""Part of the colour wheel between two categories, so that neighbours differ."""


async def upload_photos(services: Services, caller: Caller, categories: Sequence[str]) -> list[UUID]:
    """Upload a picture for each product, given the category of each; return the ids of the files."""
    purpose = services.file_uploads.purpose(caller, "products.photo")
    known = list(dict.fromkeys(categories))
    ids = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "photo.png")
        for number, category in enumerate(categories):
            place = known.index(category)
            content = picture(number + place, place * GOLDEN_ANGLE % 1)
            await asyncio.to_thread(path.write_bytes, content)
            digest = hashlib.sha256(content).hexdigest()
            received = Received(path, f"{category.lower()}-{number + 1}.png", len(content), digest)
            ids.append((await services.file_uploads.upload(caller, CLIENT, purpose, received)).id)
    return ids
