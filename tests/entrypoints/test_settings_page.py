"""docs/settings.md names every variable that there is, and no other."""

import re
from pathlib import Path

from entrypoints.settings.settings import PROVIDERS, VARIABLES

PAGE = Path(__file__).resolve().parents[2] / "docs" / "settings.md"


def test_the_page_and_the_settings_name_the_same_variables() -> None:
    first_cells = [line.split("|")[1] for line in PAGE.read_text().splitlines() if line.startswith("| `")]
    written = {name for cell in first_cells for name in re.findall(r"`([A-Z_{}]+)`", cell)}
    each = {name.replace("{PROVIDER}", provider.upper()) for name in written for provider in PROVIDERS}
    assert each == set(VARIABLES)
