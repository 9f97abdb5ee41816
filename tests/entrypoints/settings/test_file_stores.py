"""Stores of files, as the settings name them."""

from pathlib import Path

import pytest

from adapters.objects.disk import DiskStore
from adapters.objects.remote import RemoteStore, StoreKey
from entrypoints.assembly.files import file_store
from entrypoints.settings.settings import SettingsError, read_settings


def store_of(**variables: str) -> object:
    return file_store(read_settings({f"TENANTRY_{name}": text for name, text in variables.items()}))


def test_files_are_in_a_folder_without_other_settings() -> None:
    assert store_of(DATA_DIR="/srv/data") == DiskStore(Path("/srv/data/files"))
    assert store_of(FILES_URL="file:///srv/files") == DiskStore(Path("/srv/files"))


def test_files_are_in_the_bucket_that_the_settings_name() -> None:
    found = store_of(FILES_URL="s3://photos/a?region=eu-central-1", FILES_KEY_ID="id", FILES_SECRET="secret")
    assert isinstance(found, RemoteStore)
    assert (found.address.bucket, found.address.prefix, found.address.region) == ("photos", "a", "eu-central-1")
    assert found.key == StoreKey("id", "secret")
    assert "secret" not in repr(found)


def test_a_bucket_without_credentials_asks_the_platform() -> None:
    found = store_of(FILES_URL="az://photos?account=acme")
    assert isinstance(found, RemoteStore)
    assert found.key is None


@pytest.mark.parametrize("given", [{"FILES_KEY_ID": "id"}, {"FILES_SECRET": "secret"}])
def test_a_key_needs_its_secret(given: dict[str, str]) -> None:
    with pytest.raises(SettingsError, match="belong together"):
        store_of(FILES_URL="s3://photos", **given)
