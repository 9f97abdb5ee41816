"""A file of entities that cannot be imported is told by the line that its author can mend."""

import re
from importlib import import_module
from pathlib import Path

import pytest

from entrypoints.assembly.entities import LIBRARIES, EntitiesError, load_registry, where_raised

HEAD = "from tenantry import entity, money\nfrom msgspec import Meta, Struct\n"
WRONG = {
    "an argument that the decorator does not have": '@entity("as", colour="red")\nclass A(Struct):\n    x: str\n',
    "an argument that a marker does not have": 'LIMIT = money(5, 2, least="abc")\n',
    "a pattern that the standard library refuses": 'CODE = Meta(pattern="(")\n',
}
ENDS = "raise SystemExit(3)\n"


@pytest.mark.promise("declarations, checks: a file that cannot be imported is told by its own line")
@pytest.mark.parametrize("case", WRONG)
def test_the_line_of_the_file_is_named(tmp_path: Path, case: str) -> None:
    file = tmp_path / "shop.py"
    file.write_text(HEAD + WRONG[case])
    with pytest.raises(EntitiesError) as caught:
        load_registry([str(file)])
    assert f"(line 3 of {file})" in str(caught.value)


def test_a_file_that_ends_the_process_is_told_as_well(tmp_path: Path) -> None:
    file = tmp_path / "shop.py"
    file.write_text(HEAD + ENDS)
    with pytest.raises(EntitiesError, match=rf"cannot be imported: SystemExit: 3 \(line 3 of {file}\)"):
        load_registry([str(file)])


@pytest.mark.parametrize("case", WRONG)
@pytest.mark.parametrize("is_package", [True, False])
def test_the_line_of_an_installed_package_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: str, is_package: bool
) -> None:
    top = f"shop_{list(WRONG).index(case)}_{is_package}"
    name = f"{top}.entities" if is_package else top
    file = tmp_path / f"{name.replace('.', '/')}.py"
    file.parent.mkdir(exist_ok=True)
    file.write_text(HEAD + WRONG[case])
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises((TypeError, ValueError, ArithmeticError, re.error)) as caught:
        import_module(name)
    assert f"(line 3 of {file})" in where_raised(caught.value, name, (*LIBRARIES, f"{tmp_path}/"))
