"""Files made hostile at random have a declared type that is true, or are refused."""

import random
import re
from pathlib import Path

import pytest

from adapters.contents.detection import ANY_CONTENT, DetectedContents
from adapters.sheets.xlsx.archive import office_archive
from domain.errors import UnsupportedMediaType
from tests.adapters.contents.hostile_files import hostile_file
from tests.adapters.contents.true_files import TRUE
from tests.examples import ASKED

COUNT = max(10_000, ASKED) if ASKED else 400
BEGINS = {
    "image/png": rb"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR",
    "image/jpeg": rb"\xff\xd8\xff",
    "image/gif": rb"GIF8[79]a",
    "image/webp": rb"RIFF....WEBPVP8",
    "application/pdf": rb"%PDF-\d\.\d",
}
"""Types that browsers show, and how such a file begins."""
MARKUP = re.compile(rb"<(html|script|svg|iframe|body|!doctype)[\s>]", re.IGNORECASE)


@pytest.mark.drawn
@pytest.mark.timeout(300 + COUNT // 10)
async def test_hostile_files_have_a_true_type_or_are_refused(tmp_path: Path) -> None:
    contents, path = DetectedContents(office_archive), tmp_path / "upload"
    types = [*TRUE, ANY_CONTENT]
    accepted = 0
    for seed in range(COUNT):
        content = hostile_file(seed)
        path.write_bytes(content)
        declared = random.Random(seed).sample(types, 6)
        try:
            found = await contents.detect(path, declared)
        except UnsupportedMediaType as error:
            assert re.match(r"The (content is|image has) ", error.message), seed  # noqa: PT017  # or it has a type
            assert ANY_CONTENT not in declared, seed
            continue
        accepted += 1
        assert found.type in declared, seed
        if found.type in BEGINS:
            assert re.match(BEGINS[found.type], content, re.DOTALL), seed
            assert not MARKUP.search(content[:1024]), seed
    assert accepted > COUNT // 10
