"""State of service accounts."""

from dataclasses import dataclass, field
from uuid import UUID

from msgspec import Struct

from domain.identity.service_accounts import ApiKey, ServiceAccount


class StoredApiKey(Struct, frozen=True, kw_only=True):
    """A key by its digest, with a mark that the service has notified its tenant of the key's end."""

    key: ApiKey
    is_warned: bool = False


@dataclass(kw_only=True)
class ServiceAccountState:
    service_accounts: dict[UUID, ServiceAccount] = field(default_factory=dict)
    api_keys: dict[bytes, StoredApiKey] = field(default_factory=dict)
