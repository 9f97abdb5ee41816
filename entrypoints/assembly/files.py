"""Adapters for the files of rows, according to the settings."""

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

from adapters.contents.detection import DetectedContents
from adapters.objects.address import read_store_url
from adapters.objects.disk import DiskStore
from adapters.scanner import AskedScanner
from adapters.sheets.xlsx.archive import office_archive
from application.entities.attachments.uploads import Scanner
from application.entities.attachments.watched_store import FileFigures, WatchedStore
from application.ports.entities.attachments import Contents, FileStore
from entrypoints.assembly.entities import load_function
from entrypoints.settings.settings import Settings, SettingsError


@dataclass(frozen=True, kw_only=True)
class FileAdapters:
    """Adapters for the files of rows. Uploads are written to ``spool`` first, None for the folder of the system."""

    store: FileStore
    figures: FileFigures
    contents: Contents
    spool: Path | None = None
    scan: Scanner | None = None


def file_adapters(settings: Settings, store: FileStore, spool: Path | None = None) -> FileAdapters:
    scan = AskedScanner(load_function(settings.files_scanner)).scan if settings.files_scanner else None
    figures, contents = FileFigures(), DetectedContents(office_archive)
    return FileAdapters(store=WatchedStore(store, figures), figures=figures, contents=contents, spool=spool, scan=scan)


def files_folder(settings: Settings) -> Path | None:
    """Return the folder of the files of rows, None if an object storage service stores them."""
    if not settings.files_url:
        return settings.data_dir / "files"
    url = urlsplit(settings.files_url)
    return Path(url.path) if url.scheme == "file" else None


def file_store(settings: Settings) -> FileStore:
    """Return a folder, or a bucket. Raises SettingsError if the packages for buckets are missing."""
    folder = files_folder(settings)
    if folder is not None:
        return DiskStore(folder)
    if find_spec("obstore") is None:
        raise SettingsError(["TENANTRY_FILES_URL needs packages that are missing: pip install 'tenantry[objects]'"])
    from adapters.objects.remote import RemoteStore, StoreKey  # needs optional packages

    address, secret = read_store_url(settings.files_url), settings.files_secret
    if address.service != "gs" and (settings.files_key_id is None) != (secret is None):
        raise SettingsError(["TENANTRY_FILES_KEY_ID and TENANTRY_FILES_SECRET belong together: set both or none."])
    return RemoteStore(address, None if secret is None else StoreKey(settings.files_key_id or "", secret.reveal()))
