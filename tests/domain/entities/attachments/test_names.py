"""Names of files: shown and sent, and unable to do harm in a header, a path or a terminal."""

import re
import unicodedata
from email.message import Message
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.entities.attachments.names import LONGEST_NAME, clean_name, content_disposition


@pytest.mark.parametrize(
    ("sent", "name"),
    [
        ("photo.png", "photo.png"),
        ("Übersicht 2026 (final).pdf", "Übersicht 2026 (final).pdf"),
        ("U\u0308ber.pdf", "Über.pdf"),
        ("../../x", "x"),
        ("..\\..\\x", "x"),
        ("/etc/passwd", "passwd"),
        ("C:\\photos\\a.png", "a.png"),
        ("a\r\nSet-Cookie: x", "aSet-Cookie: x"),
        ("a\0b.png", "ab.png"),
        ("invoice\u202efdp.exe", "invoicefdp.exe"),
        ("\u2066a\u2069\u200f\u061c.png", "a.png"),
        ("a\u2028b\u2029c\x85\x1b[31m", "abc[31m"),
        ("\ud800.png", "png"),
        ("CON", "_CON"),
        ("con.txt", "_con.txt"),
        ("lpt1.tar.gz", "_lpt1.tar.gz"),
        ("CONSOLE", "CONSOLE"),
        ("", "file"),
        ("..", "file"),
        (" . ", "file"),
        ("a/", "file"),
        (".htaccess", "htaccess"),
        ("report.pdf. ", "report.pdf"),
        ("👩‍👧.png", "👩‍👧.png"),
        ("x" * 10_000 + ".png", "x" * 251 + ".png"),
        ("x" * 10_000, "x" * 255),
        ("x." + "y" * 10_000, "x." + "y" * 253),
    ],
)
def test_a_name_is_cleaned(sent: str, name: str) -> None:
    assert clean_name(sent) == name


@given(st.text(st.characters(), max_size=600) | st.text("a./\\ \u202e\u0301\0CON\r\n", max_size=600))
def test_every_name_is_short_normal_and_harmless(sent: str) -> None:
    name = clean_name(sent)
    assert 0 < len(name) <= LONGEST_NAME
    assert unicodedata.is_normalized("NFC", name)
    assert not re.search(r"[/\\\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", name)
    assert name.strip(". ") == name
    assert clean_name(name) == name
    name.encode()


@given(st.text(st.characters(), max_size=300), st.sampled_from(["inline", "attachment"]))
def test_a_header_gives_the_name_back_and_has_one_line(sent: str, disposition: str) -> None:
    name = clean_name(sent)
    header = content_disposition(disposition, name)  # type: ignore[arg-type]
    found = re.fullmatch(r"(inline|attachment); filename=\"([ -~]+)\"; filename\*=UTF-8''([!-~]+)", header)
    assert found is not None
    assert found[1] == disposition
    assert not re.search(r'["\\%]', found[2])
    assert unquote(found[3]) == name
    message = Message()
    message["content-disposition"] = header
    assert message.get_content_disposition() == disposition


@pytest.mark.parametrize(
    ("name", "header"),
    [
        ("a.png", "attachment; filename=\"a.png\"; filename*=UTF-8''a.png"),
        ("Über.pdf", "attachment; filename=\"Uber.pdf\"; filename*=UTF-8''%C3%9Cber.pdf"),
        ("日本.pdf", "attachment; filename=\"file.pdf\"; filename*=UTF-8''%E6%97%A5%E6%9C%AC.pdf"),
        ('a"b;c%20.txt', "attachment; filename=\"a_b;c_20.txt\"; filename*=UTF-8''a%22b%3Bc%2520.txt"),
        ("日本", "attachment; filename=\"file\"; filename*=UTF-8''%E6%97%A5%E6%9C%AC"),
    ],
)
def test_a_header_has_a_name_for_old_clients_too(name: str, header: str) -> None:
    assert content_disposition("attachment", name) == header
