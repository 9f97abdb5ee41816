"""Deletion of all keys of this service in Redis, because they describe another state of the database."""

import redis.asyncio

from adapters.redis.client import redis_client

AT_ONCE = 500


async def forget_everything(url: str, prefix: str) -> bool:
    """Delete this service's keys, not those of others on the server; return False if Redis did not answer."""
    client = redis_client(url)
    try:
        # Keys of token versions begin with a hash tag. So do limits, and in a cluster their tag includes the caller.
        # Cache keys have no hash tag.
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
    """Escape special characters except ``*``."""
    return "".join(f"\\{sign}" if sign in "?[]\\^" else sign for sign in pattern)
