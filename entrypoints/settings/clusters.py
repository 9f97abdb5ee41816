"""Settings that a Citus cluster excludes."""

from collections.abc import Iterator, Mapping
from typing import Any


def mistakes_of_cluster(values: Mapping[str, Any], given: Mapping[str, str], prefix: str) -> Iterator[str]:
    """Yield a sentence for each variable among ``given`` that does not fit ``DATABASE_KIND=citus``."""
    if values.get("DATABASE_KIND") != "citus":
        return
    if "DATABASE_URL" not in given:
        yield f"{prefix}DATABASE_KIND is citus without {prefix}DATABASE_URL, the coordinator of the cluster."
    for name in ("DATABASE_POOLER", "DATABASE_REPLICA_URLS", "DATABASE_REPLICA_URLS_FILE"):
        if name in given and given[name] != "none":
            yield f"{prefix}{name} is set, which a Citus cluster ({prefix}DATABASE_KIND=citus) does not support."
