"""Files of other programs: SheetJS, Office 365 after shared editing, and hints at the delimiter."""

import io
import re
import zipfile
from collections.abc import Callable

import pytest
import xlsxwriter

from domain.entities.declaration import Registry
from domain.errors import BadRequest, ValidationError
from tests.adapters.sheets.test_hostile_files import packing, repacked, seen, xlsx


def typed(kind: str, place: str, **more: bytes) -> bytes:
    """A workbook with a content type for a part or an extension."""
    declared = f'<{kind} ContentType="application/vnd.ms-excel.sheet.macroEnabled.main+xml" {place}/></Types>'.encode()
    types = "[Content_Types].xml"
    return repacked(
        xlsx([["name", "sku", "price"], ["A", "AAA", 1]], **more),
        lambda name, body: body.replace(b"</Types>", declared) if name == types else body,
    )


def moved(workbook: str) -> bytes:
    """A workbook whose main part has another name, which its relationship names."""
    folder, _, name = workbook.rpartition("/")
    relations = f"{folder}/_rels/{name}.rels".lstrip("/")
    made = io.BytesIO()
    dates = xlsxwriter.Workbook(before := io.BytesIO())
    sheet = dates.add_worksheet()
    for place, title in enumerate(("name", "sku", "price", "releasedAt")):
        sheet.write(0, place, title)
    sheet.write_row(1, 0, ["A", "AAA", 1])
    sheet.write_number(1, 3, 46_348.5, dates.add_format({"num_format": "yyyy-mm-dd hh:mm"}))
    dates.close()
    with zipfile.ZipFile(before) as source, packing(made, "w") as target:
        for entry in source.infolist():
            body = source.read(entry.filename)
            if entry.filename == "_rels/.rels":
                body = body.replace(b"xl/workbook.xml", workbook.encode())
            if entry.filename == "xl/_rels/workbook.xml.rels":
                body = body.replace(b'Target="', b'Target="/xl/')
            at = {"xl/workbook.xml": workbook, "xl/_rels/workbook.xml.rels": relations}
            target.writestr(at.get(entry.filename, entry.filename), body)
    return made.getvalue()


@pytest.mark.parametrize("workbook", ["xl/workbook22.xml", "workbook.xml", "XL/Book.XML", "a/b/main.xml"])
async def test_a_workbook_is_found_by_its_relationship(registry: Registry, workbook: str) -> None:
    found = await seen(registry, moved(workbook))
    assert found.errors == []
    assert b'"A","AAA"' in found.rows
    assert b"2026-11-22T12:00" in found.rows


def renamed(name_of: Callable[[str], str]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(moved("xl/workbook.xml"))) as source, packing(made, "w") as target:
        for entry in source.infolist():
            # The constructor of ZipInfo replaces separators.
            (part := zipfile.ZipInfo()).filename = name_of(entry.filename)
            target.writestr(part, source.read(entry.filename))
    return made.getvalue()


NAMINGS: dict[str, Callable[[str], str]] = {
    "backslashes": lambda name: name.replace("/", "\\"),
    "a leading slash": lambda name: f"/{name}",
    "a leading backslash": lambda name: "\\" + name.replace("/", "\\"),
}


@pytest.mark.parametrize("how", NAMINGS)
async def test_part_names_with_other_separators_are_read(registry: Registry, how: str) -> None:
    found = await seen(registry, renamed(NAMINGS[how]))
    assert found.errors == []
    assert b"2026-11-22T12:00" in found.rows


async def test_macros_are_found_under_names_with_backslashes(registry: Registry) -> None:
    def name_of(name: str) -> str:
        return "xl\\macrosheets\\sheet1.xml" if name == "docProps/app.xml" else name

    with pytest.raises(BadRequest, match="macros"):
        await seen(registry, renamed(name_of))


def without(part: str) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(moved("xl/workbook.xml"))) as source, packing(made, "w") as target:
        for entry in source.infolist():
            if entry.filename != part:
                target.writestr(entry.filename, source.read(entry.filename))
    return made.getvalue()


async def test_a_workbook_without_the_styles_that_it_names_is_damaged(registry: Registry) -> None:
    with pytest.raises(BadRequest, match=r"xl/styles\.xml is missing"):
        await seen(registry, without("xl/styles.xml"))


@pytest.mark.parametrize("part", ["xl/workbook.xml", "xl/workbook22.xml", "workbook.xml"])
async def test_a_workbook_of_inline_texts_needs_no_shared_texts(registry: Registry, part: str) -> None:
    texts = ("name", "sku", "price", "releasedAt", "A", "AAA")
    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(moved(part))) as source, packing(made, "w") as target:
        for entry in source.infolist():
            body = re.sub(
                rb' t="s"><v>(\d+)</v>',
                lambda number: b' t="inlineStr"><is><t>%b</t></is>' % texts[int(number[1])].encode(),
                source.read(entry.filename),
            )
            if entry.filename != "xl/sharedStrings.xml":
                target.writestr(entry.filename, body)
    found = await seen(registry, made.getvalue())
    assert found.errors == []
    assert b'"A","AAA"' in found.rows


async def test_a_cell_whose_shared_text_is_missing_is_an_error(registry: Registry) -> None:
    with pytest.raises(ValidationError):
        await seen(registry, without("xl/sharedStrings.xml"))


@pytest.mark.parametrize("extension", ["bin", "BIN", "xlsm", "x"])
async def test_a_type_with_macros_counts_only_for_existing_parts(registry: Registry, extension: str) -> None:
    found = await seen(registry, typed("Default", f'Extension="{extension}"'))
    assert (found.errors, b'"A","AAA"' in found.rows) == ([], True)
    with pytest.raises(BadRequest, match="macros"):
        await seen(registry, typed("Default", f'Extension="{extension}"', **{f"xl/part.{extension}": b"x"}))
    with pytest.raises(BadRequest, match="macros"):
        await seen(registry, typed("Override", f'PartName="/xl/part.{extension}"', **{f"xl/part.{extension}": b"x"}))


@pytest.mark.parametrize("mark", ["", "\ufeff", "\ufeff\ufeff", "\ufeff\ufeff\ufeff"])
@pytest.mark.parametrize("hint", ["", "sep=;\r\n", '"sep=;"\n', "SEP=;\n"])
async def test_byte_order_marks_and_a_hint_for_the_delimiter_are_passed_over(
    registry: Registry, mark: str, hint: str
) -> None:
    found = await seen(registry, f"{mark}{hint}name;sku;price;;\r\nA;AAA;1;;\r\nB;BBB;2;x;\r\n".encode())
    assert b'"A","AAA"' in found.rows
    row = 3 + bool(hint)
    assert [(error.row, error.message) for error in found.errors] == [
        (row, "column 4: has a value, and no name in the header")
    ]


async def test_blanks_around_values_other_than_texts_are_trimmed(registry: Registry) -> None:
    found = await seen(registry, b"name,sku,price,stock,releasedAt\r\n A ,AAA, 1.50 ,\t5 , 2026-11-22T12:00:00Z \r\n")
    assert found.errors == []
    assert b'" A ","AAA"' in found.rows
