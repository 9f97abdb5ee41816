"""Metrics of the files of rows."""

from typing import TYPE_CHECKING

from application.ports.load import FileLoad

if TYPE_CHECKING:  # import prometheus_client late: at its import it decides where to store counters
    from prometheus_client import CollectorRegistry


class FileMetrics:
    """Metrics of one process, increased by what was counted since the load before."""

    def __init__(self, registry: "CollectorRegistry") -> None:
        from prometheus_client import Counter, Gauge

        self._bytes = Counter(
            "tenantry_file_bytes_total",
            "Bytes to the store of files (`in`) and from it (`out`).",
            ["direction"],
            registry=registry,
        )
        self._refusals = Counter(
            "tenantry_file_refusals_total", "Uploads that were refused, by error code.", ["reason"], registry=registry
        )
        self._errors = Counter(
            "tenantry_file_store_errors_total",
            "Uses of the store of files that failed, and missing contents.",
            registry=registry,
        )
        self._waiting = Gauge(
            "tenantry_file_thumbnails_waiting",
            "Thumbnails that wait for another one.",
            registry=registry,
            multiprocess_mode="livesum",
        )
        self._before = FileLoad()

    def see(self, load: FileLoad) -> None:
        before, self._before = self._before, load
        self._bytes.labels("in").inc(load.bytes_in - before.bytes_in)
        self._bytes.labels("out").inc(load.bytes_out - before.bytes_out)
        for reason, count in load.refusals.items():
            self._refusals.labels(reason.lower()).inc(count - before.refusals.get(reason, 0))
        self._errors.inc(load.store_errors - before.store_errors)
        self._waiting.set(load.thumbnails_waiting)
