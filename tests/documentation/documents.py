"""Code of the documents, written to files as a reader would copy it."""

import re
from pathlib import Path

DOCS = Path(__file__).resolve().parents[2] / "docs"


def copied(document: str, name: str, folder: Path) -> str:
    """The code that begins with ``# name``, written to a file of that name."""
    blocks = re.findall(r"```python\n(.*?)```", (DOCS / document).read_text(), re.DOTALL)
    file = folder / name
    file.write_text(next(block for block in blocks if block.startswith(f"# {name}\n")))
    return str(file)


def chapter(document: str, title: str) -> str:
    """The text below the heading ``## title`` of a document, up to the next one of its level."""
    text = (DOCS / document).read_text("utf-8").partition(f"\n## {title}\n")[2]
    return text.partition("\n## ")[0]
