"""Programs of the embedded servers, as installed by the wheels."""

import importlib.metadata
import importlib.util
import os
import shutil
import tempfile
from pathlib import Path

from adapters.embedded.errors import EmbeddedUnavailable
from adapters.embedded.processes import account

CACHE = Path("/var/cache/tenantry")


def program(distribution: str, path: str, *needs: str) -> Path:
    """Return the path of the program at `path` in site-packages. `needs` are other files that the program requires."""
    site_packages = _site_packages(distribution)
    found = next(iter(sorted(site_packages.glob(path))), None)
    if found is None:
        raise EmbeddedUnavailable(f"{distribution} has no programs for this platform.")
    if account() is None or _reachable(found):
        return found
    # If root starts the service, the servers run as another account. It often cannot read root's virtual environment,
    # so copy the programs.
    version = importlib.metadata.version(distribution)
    copy = _copied(site_packages, CACHE / f"{distribution}-{version}", [path, *needs])
    return copy / found.relative_to(site_packages)


def _site_packages(distribution: str) -> Path:
    # Find the package without importing it: its import loads another way of starting servers.
    spec = importlib.util.find_spec(distribution.replace("-", "_"))
    if spec is None or spec.origin is None:
        raise EmbeddedUnavailable(f"The embedded servers are not installed: {distribution} is missing.")
    return Path(spec.origin).resolve().parent.parent


def _reachable(file: Path) -> bool:
    """Return whether an unprivileged account can read the file."""
    return all(folder.stat().st_mode & 0o001 for folder in file.parents) and bool(file.stat().st_mode & 0o004)


def _copied(source: Path, target: Path, patterns: list[str]) -> Path:
    if target.is_dir():
        return target
    # Rename when complete, so that an interrupted copy is never used.
    target.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    unfinished = Path(tempfile.mkdtemp(prefix=f"{target.name}.", dir=target.parent))
    for found in (found for pattern in patterns for found in source.glob(pattern)):
        _copy(found, unfinished / found.relative_to(source))
    unfinished.chmod(0o755)
    try:
        unfinished.rename(target)
    except OSError:  # another process completed its copy first
        shutil.rmtree(unfinished)
    return target


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("*.a", "pkgconfig"))
    else:
        shutil.copy2(source, target)
    os.utime(target)  # cleaners of /var/cache delete old files, and copies have the wheel's date
