"""Startup errors of the embedded servers, with messages for the operator."""

from pathlib import Path


class EmbeddedUnavailable(Exception):
    """Refusal to start, because this machine or this DATA_DIR cannot run the embedded servers."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"{reason}\nTo use servers of your own, set TENANTRY_DATABASE_URL and TENANTRY_REDIS_URL.")


class DataDirInUse(Exception):
    """Refusal to start, because another process runs its servers in this DATA_DIR."""

    def __init__(self, data_dir: Path, holder: str) -> None:
        super().__init__(
            f"{data_dir} is in use by process {holder or 'unknown'}: "
            "stop it, or set TENANTRY_DATA_DIR to another folder."
        )
