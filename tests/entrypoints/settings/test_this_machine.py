"""Processors that this process may use: the lower of its CPU affinity and the quota of its container."""

import os
from pathlib import Path

import pytest

from entrypoints.settings.this_machine import usable_processors

ALLOWED = len(os.sched_getaffinity(0))


@pytest.mark.parametrize(
    ("quota", "expected"),
    [
        ("max 100000", ALLOWED),
        ("100000 100000", 1),
        ("50000 100000", 1),
        ("6400000 100000", ALLOWED),
        ("nonsense", ALLOWED),
        (None, ALLOWED),
    ],
)
def test_the_processors_follow_affinity_and_the_container_quota(
    tmp_path: Path, quota: str | None, expected: int
) -> None:
    file = tmp_path / "cpu.max"
    if quota is not None:
        file.write_text(quota + "\n")
    assert usable_processors(file) == expected


def test_a_process_pinned_to_one_processor_uses_one(tmp_path: Path) -> None:
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        assert usable_processors(tmp_path / "absent") == 1
    finally:
        os.sched_setaffinity(0, before)
