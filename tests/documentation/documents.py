"""Code of the documents, written to files as a reader would copy it."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"
ESBUILD = DOCS.parent / "adapters/console/source/node_modules/.bin/esbuild"
LANGUAGES = {".py": ("python", "# "), ".ts": ("typescript", "// "), ".php": ("php", "<?php // ")}
"""By the suffix of a file: the language of its block, and the text before the file's name."""


def copied(document: str, name: str, folder: Path) -> str:
    """The code that begins with a comment with ``name``, written to a file of that name."""
    file = folder / name
    language, before = LANGUAGES[file.suffix]
    blocks = re.findall(rf"```{language}\n(.*?)```", (DOCS / document).read_text("utf-8"), re.DOTALL)
    file.write_text(next(block for block in blocks if block.startswith(f"{before}{name}\n")), "utf-8")
    return str(file)


def compiled(main: str, folder: Path) -> str:
    """A program of TypeScript that imports copied code, compiled for Node. Skips the test without Node or esbuild."""
    if shutil.which("node") is None or not ESBUILD.exists():
        pytest.skip("needs Node, and `npm ci` in adapters/console/source")
    (folder / "main.ts").write_text(main, "utf-8")
    built = str(folder / "main.mjs")
    bundle = ["--bundle", "--platform=node", "--format=esm", f"--outfile={built}"]
    subprocess.run([ESBUILD, str(folder / "main.ts"), *bundle], check=True, capture_output=True)
    return built


def chapter(document: str, title: str) -> str:
    """The text below the heading ``## title`` of a document, up to the next one of its level."""
    text = (DOCS / document).read_text("utf-8").partition(f"\n## {title}\n")[2]
    return text.partition("\n## ")[0]
