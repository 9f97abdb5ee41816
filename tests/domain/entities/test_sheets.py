"""Columns and cells of files: an import reads what an export writes, and refuses other values."""

import io
from contextvars import Context
from typing import Annotated
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct

from domain.entities.bodies import FieldAccess
from domain.entities.builtin_entities import BUILTIN_ENTITIES
from domain.entities.catalogue import ENTITIES
from domain.entities.files.csv_rows import BrokenCsv, read_rows, written
from domain.entities.files.file_headers import ensure_key, fields_by_title, read_header, shown_columns, version_place
from domain.entities.files.options import read_options
from domain.entities.markers import entity, guarded, many, ref, unique
from domain.entities.registry import build_registry
from domain.entities.sheets import BrokenRow, RowError, escaped, related_columns, unescaped
from domain.errors import FieldError, UnprocessableEntity, ValidationError
from domain.scope import Rights

REGISTRY = build_registry([*ENTITIES, *BUILTIN_ENTITIES])
PRODUCT = REGISTRY["products"]
FULL_WIDTH = "\uff1d\uff0b\uff0d\uff20"
SIGNS = st.text(alphabet="'=+-@\t\r\n a,\"é" + FULL_WIDTH)


@pytest.mark.promise(
    "entities, details: Text that a spreadsheet would evaluate is escaped on export and restored on import"
)
@given(SIGNS)
def test_an_escaped_text_comes_back(text: str) -> None:
    assert unescaped(escaped(text)) == text


@pytest.mark.promise(
    "entities, details: Text that a spreadsheet would evaluate is escaped on export and restored on import"
)
@pytest.mark.promise("security, names: a CSV cell that begins with a full-width ＝ ＋ － ＠ is no formula either")
@given(SIGNS)
def test_no_escaped_text_begins_as_a_formula_does(text: str) -> None:
    assert escaped(text)[:1] not in set("=+-@\t\r\n" + FULL_WIDTH)


@pytest.mark.parametrize(
    "text", ["'", "'a", "a=1", " =1", "'' =", "5", "O'Neill", "a\uff1d1", "\uff0f", "\uff21", "😀"]
)
def test_text_that_is_not_a_formula_is_not_escaped(text: str) -> None:
    assert escaped(text) == text == unescaped(text)


@given(st.lists(st.lists(st.none() | SIGNS, min_size=2, max_size=4), max_size=4))
def test_rows_come_back_with_null_and_empty_text_apart(rows: list[list[str | None]]) -> None:
    text = "".join(map(written, rows))
    assert list(read_rows(io.StringIO(text, newline=""))) == rows


@pytest.mark.parametrize(
    ("text", "row", "said"),
    [
        ('a,b\n"c"d,e\n', 2, "between a quoted cell"),
        ('a,b\n1,2\n"c,d\n', 3, "never ends"),
    ],
)
def test_a_format_error_names_its_row(text: str, row: int, said: str) -> None:
    with pytest.raises(BrokenCsv, match=said) as broken:
        list(read_rows(io.StringIO(text, newline="")))
    assert broken.value.row == row


def test_a_quote_that_never_ends_does_not_swallow_the_file() -> None:
    lines = iter(['a,"b\n', *["x" * 1_000_000 + "\n"] * 100])
    with pytest.raises(BrokenCsv, match="longer") as broken:
        list(read_rows(lines))
    left = sum(1 for _ in lines)
    assert left > 90
    assert len(broken.value.lines) + left == 101  # the line that was too much is given back with the others


def test_columns_are_known_in_any_case_and_by_other_names() -> None:
    fields = read_header(PRODUCT, ["NAME", " sku ", "Artikel-Preis"], {"artikel-preis": "price"})
    assert [field and field.name for field in fields] == ["name", "sku", "price"]


def test_columns_without_a_field_can_be_left_out() -> None:
    names = ["sku", "Remarks", "", "price", "version"]
    renames = {"remarks": None, "": None, "Price": None, "version": None}
    fields = read_header(PRODUCT, names, renames)
    assert [field and field.name for field in fields] == ["sku", *[None] * 4]
    assert fields_by_title(PRODUCT, names, renames) == fields
    assert version_place(names, renames) is None


def test_columns_of_the_server_and_of_included_rows_are_ignored() -> None:
    names = ["id", "createdAt", "tenantId", "version", "category.name", "Category.tenantId", "sku"]
    fields = read_header(PRODUCT, names, {}, related=related_columns(REGISTRY, PRODUCT, frozenset()))
    assert [field and field.name for field in fields] == [*[None] * 6, "sku"]


@entity("nodes", has_many={"parts": many("nodes", by="above_id")})
class Node(Struct, rename="camel", kw_only=True):
    name: str
    above_id: Annotated[UUID | None, ref("nodes")] = None
    chief_id: Annotated[UUID | None, ref("nodes"), guarded(read="read:chiefs")] = None


@pytest.mark.parametrize(
    ("column", "unknown_to"),
    [
        ("above.name", ()),
        ("Above.ABOVE.above.name", ()),
        ("above.tenantId", ()),
        ("above.chiefId", ("clerk",)),
        ("chief.name", ("clerk",)),
        ("above.chief.name", ("clerk",)),
        ("above.nmae", ("clerk", "all")),
        ("above.above.above.above.name", ("clerk", "all")),
        ("above.", ("clerk", "all")),
        ("above.above", ("clerk", "all")),
        ("parts.name", ("clerk", "all")),
        ("above.parts.name", ("clerk", "all")),
        ("name.length", ("clerk", "all")),
        ("above", ("clerk", "all")),
    ],
)
def test_of_related_rows_only_columns_of_an_export_are_ignored(column: str, unknown_to: tuple[str, ...]) -> None:
    registry = build_registry([Node])
    nodes = registry["nodes"]
    for whom, permissions in (("clerk", []), ("all", ["read:chiefs"])):
        related = related_columns(
            registry, nodes, registry.hidden_from(Rights(tuple(permissions), is_super_admin=False))
        )
        if whom not in unknown_to:
            assert read_header(nodes, ["name", column], {}, related=related)[1] is None
            continue
        with pytest.raises(ValidationError) as refused:
            read_header(nodes, ["name", column], {}, related=related)
        assert [wrong.field for wrong in refused.value.fields] == [column]


@pytest.mark.parametrize(
    ("names", "renames", "field", "said"),
    [
        (["sku", "prise"], {}, "prise", "did you mean 'price'"),
        (["sku", "SKU"], {}, "SKU", "another column"),
        (["sku"], {"Preis": "price"}, "options.columns.Preis", "not a column of the file"),
        (["sku", "x"], {"x": "prise"}, "x", "renamed to 'prise'"),
        (["id"], {}, "file", "no column that is taken"),
        (["a"] * 10_000, {}, "file", "10000 columns"),
    ],
)
def test_a_wrong_header_names_its_mistakes(
    names: list[str | None], renames: dict[str, str], field: str, said: str
) -> None:
    with pytest.raises(ValidationError) as refused:
        Context().run(read_header, PRODUCT, names, renames)  # without the bound on hints of an earlier request
    assert [detail for detail in refused.value.fields if detail.field == field and said in detail.message]


@pytest.mark.parametrize("names", [["sku", ""], ["sku", None, "  "], ["", "sku"], [None, None, "sku", ""]])
def test_a_column_without_a_name_is_passed_over(names: list[str | None]) -> None:
    found = read_header(PRODUCT, names, {})
    assert [field.wire if field else None for field in found] == [name if name == "sku" else None for name in names]


@pytest.mark.parametrize("unwanted", ["Remarks", "remarks", " REMARKS "])
def test_all_columns_of_one_name_can_be_omitted(unwanted: str) -> None:
    names = ["sku", "Remarks", "price", "Remarks", "remarks"]
    found = read_header(PRODUCT, names, {unwanted: None})
    assert [field.wire if field else None for field in found] == ["sku", None, "price", None, None]
    with pytest.raises(ValidationError):
        read_header(PRODUCT, names, {"Remarks": "name"})


def test_so_many_wrong_columns_are_named_and_no_more() -> None:
    with pytest.raises(ValidationError) as refused:
        read_header(PRODUCT, ["sku", *(f"wrong {number}" for number in range(30))], {})
    assert [detail.field for detail in refused.value.fields] == [f"wrong {number}" for number in range(20)]


def test_a_column_that_is_not_theirs_is_unknown_or_read_to_be_compared() -> None:
    with pytest.raises(ValidationError):
        read_header(PRODUCT, ["sku", "price"], {}, FieldAccess(unknown=frozenset({"price"})))
    fields = read_header(PRODUCT, ["sku", "price"], {}, FieldAccess(closed=frozenset({"price"})))
    assert [field and field.wire for field in fields] == ["sku", "price"]


def test_a_shown_header_has_no_hidden_field_and_is_valid_unicode() -> None:
    names = ["sku", "price", "version", "half \ud83d"]
    rows: list[list[str | None]] = [["A", None, "1"], ["\ud83d", "2", "3", "x" * 100]]
    columns = shown_columns(PRODUCT, names, {}, FieldAccess(unknown=frozenset({"price"})), rows)
    assert [(column.name, column.field) for column in columns] == [
        ("sku", "sku"),
        ("price", None),
        ("version", None),
        ("half ?", None),
    ]
    assert [column.samples for column in columns] == [("A", "?"), ("2",), ("1", "3"), ("x" * 60,)]


def test_the_upsert_key_is_the_named_one_or_the_only_unique_field() -> None:
    @entity("books", unique=[unique("isbn"), unique("code")])
    class Book(Struct):
        isbn: str
        code: str

    books = build_registry([Book])["books"]
    for key in ("isbn", "code"):
        assert read_options(books, {"mode": "upsert", "key": key}).key == key
    assert read_options(PRODUCT, {"mode": "upsert"}).key == "sku"
    for model in (books, PRODUCT):
        assert read_options(model, {"mode": "create"}).key is None


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"mod": "upsert"}, "options.mod"),
        ({"mode": "replace"}, "options.mode"),
        ({"key": "sku"}, "options.key"),
        ({"mode": "upsert", "key": "name"}, "options.key"),
        ({"delimiter": ",,"}, "options.delimiter"),
        ({"dryRun": "yes"}, "options.dryRun"),
        ({"columns": ["a"]}, "options.columns"),
        ({"columns": {"sku": "sku", "Preis": 5}}, "options.columns.Preis"),
        ({"columns": {"Preis": "price", " preis": "name"}}, "options.columns.Preis"),
    ],
)
def test_wrong_options_are_named(body: dict[str, object], field: str) -> None:
    with pytest.raises(ValidationError) as refused:
        read_options(PRODUCT, body)
    assert [detail.field for detail in refused.value.fields] == [field]


def test_an_upsert_needs_a_column_of_its_key() -> None:
    @entity("books", unique=[unique("serial")])
    class Book(Struct):
        title: str
        serial: str | None = None

    books = build_registry([Book])["books"]
    options = read_options(books, {"mode": "upsert", "key": "SERIAL"})
    ensure_key(books, read_header(books, ["title", "Nummer"], {"nummer": "serial"}), options)
    with pytest.raises(ValidationError) as refused:
        ensure_key(books, read_header(books, ["title"], {}), options)
    assert [(wrong.field, wrong.message) for wrong in refused.value.fields] == [
        ("options.key", "is serial, of which the file has no column")
    ]
    ensure_key(books, read_header(books, ["title"], {}), read_options(books, {}))


@pytest.mark.parametrize(
    ("kind", "said"), [(RowError, ValidationError.sentence), (BrokenRow, UnprocessableEntity.sentence)]
)
def test_a_row_error_without_visible_fields_has_the_sentence_of_its_code(kind: type[RowError], said: str) -> None:
    error = kind.on(2, [FieldError("bossId", "refers to nothing")])
    assert error.without(frozenset({"name"})) == error
    assert (told := error.without(frozenset({"bossId"}))).message == said
    assert (told.row, told.details) == (2, ())
