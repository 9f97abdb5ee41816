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
    """For the tests of Hypothesis: no limit of time for a case; 100 cases, or what is asked, where none are stated."""
    settings.register_profile("tenantry", max_examples=examples(100), deadline=None)
    settings.load_profile("tenantry")
