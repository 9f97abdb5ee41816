"""Files in buckets of object storage services, by obstore. Its package is optional: ``tenantry[objects]``."""

import logging
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import obstore
from msgspec import Struct
from obstore.exceptions import BaseError
from obstore.store import AzureStore, GCSStore, S3Store

from adapters.objects.address import Service, StoreAddress
from adapters.objects.signing import UrlSigner
from application.ports.entities.attachments import PIECE, ObjectMissing, StoredObject, StoreUnavailable
from domain.entities.attachments.keys import ensure_folder, ensure_key

if TYPE_CHECKING:
    from obstore import BytesStream

CONNECT = timedelta(seconds=5)
PATIENCE = timedelta(seconds=60)
"""Maximum time without progress."""
_WHOLE = timedelta(days=1)
"""Maximum time of a transfer: clients read at their pace, and ``PATIENCE`` ends stalled ones."""
_PART, _PARTS_AT_ONCE = 5 * 1024 * 1024, 2
"""Bytes of a part of a large object, the least that S3 accepts, and parts in memory."""

_ABSENT = "availability"
"""Key of no object: a service that says so is available."""

log = logging.getLogger(__name__)
Bucket = S3Store | GCSStore | AzureStore


class StoreKey(Struct, frozen=True):
    """Credentials: an access key (S3), an account and its key (Azure), or a service account's JSON (Google).

    ``key_id`` is not used for Google.
    """

    key_id: str
    secret: str

    # Security: omit the secret from logs and tracebacks.
    def __repr__(self) -> str:
        return "StoreKey(…)"


@dataclass(frozen=True)
class RemoteStore:
    """A bucket. Without a ``key``, obstore asks the platform for credentials: environment, role or metadata service."""

    address: StoreAddress
    key: StoreKey | None = None
    patience: timedelta = PATIENCE
    bucket: Bucket = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "bucket", _bucket(self.address, self.key, self.patience))

    async def put(self, key: str, path: Path, media_type: str) -> None:
        ensure_key(key)
        with _failures():
            await obstore.put_async(
                self.bucket,
                key,
                path,
                attributes={"Content-Type": media_type},
                chunk_size=_PART,
                max_concurrency=_PARTS_AT_ONCE,
            )

    @asynccontextmanager
    async def open(self, key: str, start: int = 0, length: int | None = None) -> AsyncIterator[AsyncIterator[bytes]]:
        ensure_key(key)
        with _failures():
            try:
                found = await obstore.get_async(self.bucket, key, options=_range(start, length))
            except FileNotFoundError:
                raise ObjectMissing(key) from None
        yield _pieces(found.stream(min_chunk_size=PIECE), length)

    async def delete(self, keys: Sequence[str]) -> None:
        wanted = [ensure_key(key) for key in keys]
        if not wanted:
            return
        with _failures():
            try:
                await obstore.delete_async(self.bucket, wanted)
            except FileNotFoundError:
                # Google and Azure stop at an absent object.
                for key in wanted:
                    await self._delete(key)

    async def link(self, key: str, *, lifetime: timedelta, media_type: str, disposition: str) -> str | None:
        ensure_key(key)
        if self.address.service != "s3" or self.key is None:
            return None
        address = self.address
        place = "/".join(part for part in (address.bucket, address.prefix, key) if part)
        endpoint = address.endpoint or f"https://s3.{address.region}.amazonaws.com"
        headers = {"response-content-type": media_type, "response-content-disposition": disposition}
        signer = UrlSigner(self.key.key_id, self.key.secret, address.region)
        return signer.url(f"{endpoint}/{place}", headers, lifetime, datetime.now(UTC))

    async def ensure_available(self) -> None:
        with _failures():
            try:
                await obstore.head_async(self.bucket, _ABSENT)
            except FileNotFoundError:
                return

    async def keys(self, folder: str) -> AsyncIterator[StoredObject]:
        stream = obstore.list(self.bucket, ensure_folder(folder) or None, chunk_size=1_000)
        with _failures():
            async for found in stream:
                for stored in found:
                    yield StoredObject(stored["path"], stored["size"])

    async def _delete(self, key: str) -> None:
        try:
            await obstore.delete_async(self.bucket, key)
        except FileNotFoundError:
            return


def _bucket(address: StoreAddress, key: StoreKey | None, patience: timedelta) -> Bucket:
    shared: dict[str, Any] = {
        "prefix": address.prefix or None,
        "config": _CONFIGURED[address.service](address, key),
        "client_options": {
            "connect_timeout": CONNECT,
            "read_timeout": patience,
            "timeout": _WHOLE,
            "allow_http": (address.endpoint or "").startswith("http://"),
        },
        "retry_config": {"max_retries": 2, "retry_timeout": patience},
    }
    return _CLASSES[address.service](address.bucket, **shared)


def _s3(address: StoreAddress, key: StoreKey | None) -> dict[str, str]:
    server = {} if address.endpoint is None else {"endpoint": address.endpoint}
    named = {} if key is None else {"access_key_id": key.key_id, "secret_access_key": key.secret}
    return {"region": address.region, **server, **named}


def _google(address: StoreAddress, key: StoreKey | None) -> dict[str, str]:
    server = {} if address.endpoint is None else {"base_url": address.endpoint}
    return server if key is None else {**server, "service_account_key": key.secret}


def _azure(address: StoreAddress, key: StoreKey | None) -> dict[str, str]:
    server = {} if address.endpoint is None else {"endpoint": address.endpoint}
    account = {} if address.account is None else {"account_name": address.account}
    named = {} if key is None else {"account_name": key.key_id, "account_key": key.secret}
    return {**server, **account, **named}


_CLASSES: Mapping[Service, type[Bucket]] = {"s3": S3Store, "gs": GCSStore, "az": AzureStore}
_CONFIGURED: Mapping[Service, Callable[[StoreAddress, StoreKey | None], dict[str, str]]] = {
    "s3": _s3,
    "gs": _google,
    "az": _azure,
}


def _range(start: int, length: int | None) -> Any:
    if length is not None:
        return {"range": (start, start + length)}
    return {"range": {"offset": start}} if start else None


@contextmanager
def _failures() -> Iterator[None]:
    try:
        yield
    except (BaseError, OSError) as error:
        # The message has the request's address and the service's answer, and no credentials.
        log.warning("The store of files failed: %s", str(error).partition("\n")[0])
        raise StoreUnavailable from None


async def _pieces(stream: "BytesStream", length: int | None) -> AsyncIterator[bytes]:
    sent = 0
    with _failures():
        async for found in stream:
            sent += len(found)
            for start in range(0, len(found), PIECE):
                yield bytes(found[start : start + PIECE])
    if length is not None and sent != length:
        log.warning("The store of files returned %d bytes instead of %d.", sent, length)
        raise StoreUnavailable
