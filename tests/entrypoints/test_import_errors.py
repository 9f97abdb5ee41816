"""A file of entities that cannot be imported is told by the line that its author can mend."""

from pathlib import Path

import pytest

from entrypoints.entities import EntitiesError, load_registry

HEAD = "from tenantry import entity, money\nfrom msgspec import Meta, Struct\n"
WRONG = {
    "an argument that the decorator refuses": '@entity("as", unique=["x"])\nclass A(Struct):\n    x: str\n',
    "a bound that a marker refuses": 'LIMIT = money(5, 2, ge="abc")\n',
    "a pattern that the standard library refuses": 'CODE = Meta(pattern="(")\n',
}


@pytest.mark.parametrize("case", WRONG)
def test_the_line_of_the_file_is_named(tmp_path: Path, case: str) -> None:
    file = tmp_path / "shop.py"
    file.write_text(HEAD + WRONG[case])
    with pytest.raises(EntitiesError) as caught:
        load_registry([str(file)])
    assert f"(line 3 of {file})" in str(caught.value)
