"""Address of a store, read from a URL."""

from typing import Literal, cast, get_args
from urllib.parse import parse_qsl, unquote, urlsplit

from msgspec import Struct

from domain.entities.attachments.keys import ensure_folder

Service = Literal["s3", "gs", "az"]
_OPTIONS: dict[str, set[str]] = {"s3": {"region", "endpoint"}, "gs": {"endpoint"}, "az": {"account", "endpoint"}}


class StoreAddress(Struct, frozen=True, kw_only=True):
    """A bucket of a service; ``prefix`` precedes all keys. ``account`` is the one of an Azure container."""

    service: Service
    bucket: str
    prefix: str = ""
    region: str = "us-east-1"
    endpoint: str | None = None
    account: str | None = None


def read_store_url(url: str) -> StoreAddress:
    """Read ``s3://bucket/prefix?region=…&endpoint=…``, ``gs://bucket`` or ``az://container?account=…``.

    Raises ValueError.
    """
    parts = urlsplit(url)
    asked = dict(parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query)))
    if parts.scheme not in get_args(Service) or not parts.hostname or parts.netloc != parts.hostname or parts.fragment:
        raise ValueError
    if asked.keys() - _OPTIONS[parts.scheme] or not all(asked.values()):
        raise ValueError
    endpoint = asked.get("endpoint")
    if endpoint is not None:
        server = urlsplit(endpoint)
        if server.scheme not in ("http", "https") or not server.hostname or server.query or server.fragment:
            raise ValueError
    return StoreAddress(
        service=cast("Service", parts.scheme),
        bucket=parts.hostname,
        prefix=ensure_folder(unquote(parts.path).strip("/")),
        region=asked.get("region", "us-east-1"),
        endpoint=endpoint and endpoint.rstrip("/"),
        account=asked.get("account"),
    )
