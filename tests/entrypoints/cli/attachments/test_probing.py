"""The probe of ``tenantry doctor`` in the store of files."""

from pathlib import Path

import pytest

from entrypoints.cli.attachments.probing import file_store_findings
from entrypoints.settings.settings import Settings

DECLARED = """
from typing import Annotated
from uuid import UUID

from msgspec import Struct

from tenantry import attachment, entity


@entity("pictures")
class Picture(Struct, rename="camel", kw_only=True):
    photo_id: Annotated[UUID | None, attachment(["image/png"], 1_000)] = None


ENTITIES = (Picture,)
"""


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    module = tmp_path / "probed_pictures.py"
    module.write_text(DECLARED)
    return Settings(entities=(str(module),), files_url=f"file://{tmp_path}/files")


async def test_a_store_that_works_has_no_findings_and_no_probe(settings: Settings, tmp_path: Path) -> None:
    assert [finding async for finding in file_store_findings(settings)] == []
    assert [path for path in (tmp_path / "files").rglob("*") if path.is_file()] == []


async def test_a_store_that_cannot_be_written_is_a_finding_with_the_remedy(settings: Settings, tmp_path: Path) -> None:
    (tmp_path / "files").write_bytes(b"a file in place of the folder")
    (finding,) = [finding async for finding in file_store_findings(settings)]
    assert "cannot be written" in finding
    assert "check TENANTRY_FILES_URL" in finding


async def test_a_store_is_not_probed_without_a_field_for_files(tmp_path: Path) -> None:
    unreachable = Settings(entities=(), files_url="s3://bucket/files?endpoint=http://127.0.0.1:9", data_dir=tmp_path)
    assert [finding async for finding in file_store_findings(unreachable)] == []
