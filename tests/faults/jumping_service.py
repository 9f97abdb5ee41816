"""The command line with a clock that is off by the number of seconds in the file of its first argument.

Libraries that give a process another clock make Python's own ``time.sleep`` fail.
"""

import sys
from datetime import datetime, timedelta
from pathlib import Path

from adapters.system import SystemClock
from entrypoints.cli.main import main


def run() -> None:
    distance, true_time = Path(sys.argv.pop(1)), SystemClock.now

    def now(self: SystemClock) -> datetime:
        return true_time(self) + timedelta(seconds=float(distance.read_text()))

    SystemClock.now = now  # type: ignore[method-assign]  # a process of its own, for one test
    main()


if __name__ == "__main__":
    run()
