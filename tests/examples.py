"""How many cases a test draws: few in ``make test``, and as many as ``make fuzz`` asks for.

Tests of Hypothesis and those marked ``drawn`` are what ``make fuzz`` runs.
"""

from os import environ

from hypothesis import settings

ASKED = int(environ.get("TENANTRY_TEST_EXAMPLES", "0"))
"""Cases that each drawn test is to try; 0 leaves every test its own number."""


def examples(few: int) -> int:
    """``few``, or more where more are asked for."""
    return max(few, ASKED)


def load_profile() -> None:
    """For the tests of Hypothesis that state no number: a case may take as long as it does on a busy machine."""
    settings.register_profile("asked", max_examples=examples(100), deadline=None)
    settings.load_profile("asked")
