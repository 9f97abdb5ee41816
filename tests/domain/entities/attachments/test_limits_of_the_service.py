"""Fields with files that a service cannot serve."""

from typing import Annotated, Any
from uuid import UUID

from msgspec import defstruct

from domain.entities.attachments.marks import attachment
from domain.entities.declaration import Registry
from domain.entities.markers import entity
from domain.entities.mistakes.attachments import not_installed, over_limit
from domain.entities.registry import build_registry

PHOTO: Any = Annotated[UUID | None, attachment(["image/png"], 1_000, thumbnails={"small": (8, 8)})]
PLAIN: Any = Annotated[UUID | None, attachment(["image/png"], 1_001, strip_metadata=True)]


def registry() -> Registry:
    return build_registry([entity("lamps")(defstruct("Lamp", [("photo_id", PHOTO, None), ("scan_id", PLAIN, None)]))])


def test_only_thumbnails_need_the_packages_for_images() -> None:
    assert list(not_installed(registry())) == [
        "Lamp: field 'photo_id' has thumbnails, which need packages that are missing: pip install 'tenantry[images]'"
    ]


def test_fields_accept_no_larger_files_than_the_service() -> None:
    (mistake,) = over_limit(registry(), 1_000)
    assert mistake.startswith("Lamp: field 'scan_id' has max_bytes=1,001, but the setting TENANTRY_FILES_MAX_BYTES")
