"""What a server refuses to whoever connects to it: a wrong password, a database that it does not have."""

import asyncio
from enum import Enum, auto

from redis.asyncio.connection import parse_url
from redis.exceptions import AuthenticationError, RedisError, ResponseError

from adapters.redis.client import redis_client

ANSWERS_WITHIN = 5.0
"""Seconds; a server that accepts a connection and says nothing is away."""


class RedisRefusal(Enum):
    NO_PASSWORD = auto()
    WRONG_PASSWORD = auto()
    NO_DATABASE = auto()


class RedisRefuses(Exception):
    """``reason`` is what the server says, or the number of the database that it does not have."""

    def __init__(self, refusal: RedisRefusal, reason: str) -> None:
        super().__init__(reason)
        self.refusal = refusal
        self.reason = reason


async def ensure_accepted(url: str) -> None:
    """Raises RedisRefuses; a server that is away, or refuses single commands, is none that refuses its clients."""
    client = redis_client(url)
    try:
        async with asyncio.timeout(ANSWERS_WITHIN):
            await client.ping()
    except AuthenticationError as error:
        # redis-py has one class for both, and takes the server's code from the text
        is_missing = str(error).startswith("Authentication required")
        kind = RedisRefusal.NO_PASSWORD if is_missing else RedisRefusal.WRONG_PASSWORD
        raise RedisRefuses(kind, str(error).rstrip(".")) from None
    except ResponseError as error:
        if "out of range" in str(error):
            raise RedisRefuses(RedisRefusal.NO_DATABASE, str(parse_url(url).get("db"))) from None
    except (RedisError, OSError):
        return
    finally:
        await client.aclose()
