"""Hatch build hook: the wheel holds one package, ``tenantry``, with the layers inside it.

In the repository the layers stand at the top (``domain``, ``application``, ``adapters``, ``entrypoints``). Installed
under these names they would collide with packages of a project, so the wheel holds ``tenantry/domain`` and so on, and
their imports are rewritten: ``from domain.errors import X`` becomes ``from tenantry.domain.errors import X``.
"""

import ast
import shutil
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PACKAGE = "tenantry"
LAYERS = ("domain", "application", "adapters", "entrypoints")


class WheelLayout(BuildHookInterface[Any]):
    """Leaves editable installs alone: in a clone the layers are imported from where they stand."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self.target_name != "wheel" or version == "editable":
            return
        self._staging = Path(tempfile.mkdtemp(prefix="tenantry-wheel-"))
        staged = stage(Path(self.root), self._staging)
        build_data["force_include"] = {str(staged): PACKAGE}

    def finalize(self, _version: str, _build_data: dict[str, Any], _artifact_path: str) -> None:
        staging = getattr(self, "_staging", None)
        if staging is not None:
            shutil.rmtree(staging)


def stage(root: Path, into: Path) -> Path:
    """Copies the package and its layers below ``into`` with rewritten imports; returns the package's folder."""
    package = into / PACKAGE
    shutil.copytree(root / PACKAGE, package, ignore=_left_out)
    for layer in LAYERS:
        shutil.copytree(root / layer, package / layer, ignore=_left_out)
    for path in package.rglob("*.py"):
        path.write_text(rewritten(path.read_text(encoding="utf-8")), encoding="utf-8")
    return package


def _left_out(folder: str, names: list[str]) -> list[str]:
    """Names that no wheel holds: caches, and the sources of the console, whose built files are what is served."""
    is_console = Path(folder).parts[-2:] == ("adapters", "console")
    return [name for name in names if name == "__pycache__" or (is_console and name == "source")]


def rewritten(source: str) -> str:
    """``source`` with absolute imports of the layers prefixed; line numbers stay as they are."""
    lines = source.splitlines(keepends=True)
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and not node.level and _is_layer(node.module):
            _replace(lines, node.lineno, f"from {node.module}", f"from {PACKAGE}.{node.module}")
        elif isinstance(node, ast.Import) and any(_is_layer(name.name) for name in node.names):
            raise ValueError(f"line {node.lineno}: write `from package import module`, which the wheel can rewrite")
    return "".join(lines)


def _is_layer(module: str | None) -> bool:
    return module is not None and module.split(".")[0] in LAYERS


def _replace(lines: list[str], number: int, old: str, new: str) -> None:
    line = lines[number - 1]
    if old not in line:
        raise ValueError(f"line {number}: expected {old!r} in {line!r}")
    lines[number - 1] = line.replace(old, new, 1)
