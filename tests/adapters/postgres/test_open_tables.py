"""Names of tables that a start looks at."""

import subprocess
import sys

from adapters.postgres.operations.open_tables import IDENTITY
from adapters.postgres.schema.schema import metadata_for
from domain.entities.declaration import Registry


def test_the_tables_are_those_of_the_schema() -> None:
    assert set(IDENTITY) == set(metadata_for(Registry({})).tables)


def test_a_start_imports_no_schema_for_them() -> None:
    """To make the tables takes more than half a second of a start's two."""
    asked = (
        "import sys, adapters.postgres.operations.open_tables; print('adapters.postgres.schema.schema' in sys.modules)"
    )
    said = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, timeout=60, check=True)
    assert said.stdout == "False\n"
