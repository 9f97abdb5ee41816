"""An S3 by moto, in a thread of the tests, and stores that a developer names."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import httpx
from moto.server import ThreadedMotoServer
from msgspec.structs import replace

from adapters.objects.address import StoreAddress, read_store_url
from adapters.objects.remote import RemoteStore, StoreKey

NAMED = os.environ.get("TENANTRY_TEST_FILES_URL")
"""Another store for the contract, such as ``s3://bucket?endpoint=http://127.0.0.1:9000``, with its credentials in
``TENANTRY_TEST_FILES_KEY_ID`` and ``TENANTRY_TEST_FILES_SECRET``."""


@dataclass(frozen=True)
class Bucket:
    address: StoreAddress
    key: StoreKey

    def store(self, prefix: str) -> RemoteStore:
        """The store of a part of the bucket."""
        return RemoteStore(replace(self.address, prefix=prefix), self.key)


@contextmanager
def s3_server() -> Iterator[Bucket]:
    """Serve an S3 with an empty bucket on a free port."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        url = f"http://{host}:{port}"
        httpx.put(f"{url}/tenantry").raise_for_status()
        yield Bucket(StoreAddress(service="s3", bucket="tenantry", endpoint=url), StoreKey("key-id", "secret"))
    finally:
        server.stop()


def named_bucket(url: str) -> Bucket:
    """The bucket of ``NAMED``."""
    key = StoreKey(os.environ["TENANTRY_TEST_FILES_KEY_ID"], os.environ["TENANTRY_TEST_FILES_SECRET"])
    return Bucket(read_store_url(url), key)
