"""Counters of traffic in files: all processes of a machine together."""

from array import array
from pathlib import Path

from adapters.prometheus.traffic import END, counters_in
from application.operations.traffic import SLOTS
from application.ports.access_log import AccessLine


def test_workers_are_added_up_also_one_that_has_ended(tmp_path: Path) -> None:
    line = AccessLine("GET", "/", 200, 0.004, "id", "192.0.2.1", None, "products.page")
    own = counters_in(tmp_path)
    own.count(line)
    (tmp_path / f"7{END}").write_bytes(array("q", [5, 1, 2, *[0] * (SLOTS - 3)]).tobytes())
    (tmp_path / f"8{END}").write_bytes(b"")  # it has only begun
    totals = own.totals()
    assert (totals.requests, totals.errors, totals.refused, sum(totals.buckets)) == (6, 1, 2, 1)
