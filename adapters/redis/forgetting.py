"""Deletes all that a service has in Redis: a copy of another state of its database."""

import redis.asyncio

from adapters.redis.client import redis_client

AT_ONCE = 500


async def forget_everything(url: str, prefix: str) -> bool:
    """Deletes the keys of this service, not those of others on the same server; False where Redis did not answer."""
    client = redis_client(url)
    try:
        # token versions have a hash tag, limits too, with their caller in a cluster, and the cache has none
        for pattern in (f"{{{prefix}}}:*", f"{{{prefix}:*", f"{prefix}:*"):
            found = [key async for key in client.scan_iter(match=_literally(pattern), count=AT_ONCE)]
            for begin in range(0, len(found), AT_ONCE):
                await client.unlink(*found[begin : begin + AT_ONCE])
    except (redis.RedisError, OSError):
        return False
    finally:
        await client.aclose()
    return True


def _literally(pattern: str) -> str:
    """The pattern with its signs escaped, but for the star at its end."""
    return "".join(f"\\{sign}" if sign in "?[]\\^" else sign for sign in pattern)
