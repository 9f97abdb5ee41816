"""Starts the embedded servers as a service would, says where they are, and stops them when its input ends."""

import json
import os
import signal
import sys
from pathlib import Path

from adapters.embedded import DataDirInUse, EmbeddedUnavailable, start_embedded


def become(user: int) -> None:
    os.setgroups([])
    os.setgid(user)
    os.setuid(user)


def say(**words: str | None) -> None:
    sys.stdout.write(json.dumps(words) + "\n")
    sys.stdout.flush()


def main(data_dir: str, user: str) -> None:
    signal.signal(signal.SIGINT, lambda *_: None)
    if user:
        become(int(user))
    try:
        services = start_embedded(Path(data_dir), postgres=True, valkey=True, durable=True)
    except (DataDirInUse, EmbeddedUnavailable) as error:
        say(error=type(error).__name__, message=str(error))
        return
    say(database_url=services.owner_url, redis_url=services.redis_url)
    sys.stdin.read()
    services.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
