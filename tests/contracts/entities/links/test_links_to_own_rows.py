"""Links to rows that a caller limited to own rows does not see: they are hidden, and a replacement leaves them."""

import pytest

from domain.errors import ValidationError
from tests.contracts.entities.links.conftest import Desk, wire

BOTH = ("folders", "papers")


async def test_links_to_rows_of_other_users_are_hidden_and_stay(desk: Desk) -> None:
    ann = desk.limited(["folders"])
    theirs, mine, further = await desk.add("folders"), await ann.add("folders"), await ann.add("folders")
    paper = await desk.add("papers", folder_ids=[theirs, mine])
    assert (await ann.get("papers", paper, include="folders"))["folderIds"] == wire([mine])
    assert [row["id"] for row in (await ann.get("papers", paper, include="folders"))["folders"]] == wire([mine])
    changed = await ann.change("papers", paper, folder_ids=[further])
    assert changed["folderIds"] == wire([further]) == (await ann.get("papers", paper))["folderIds"]
    assert set((await desk.get("papers", paper))["folderIds"]) == {*wire([theirs, further])}
    assert (await ann.change("papers", paper, title="renamed"))["folderIds"] == wire([further])


async def test_a_link_to_a_row_of_another_user_is_a_link_to_nothing_unless_it_exists(desk: Desk) -> None:
    ann = desk.limited(["folders"])
    theirs, others = await desk.add("folders"), await desk.add("folders")
    paper = await desk.add("papers", folder_ids=[theirs])
    with pytest.raises(ValidationError) as error:
        await ann.change("papers", paper, folder_ids=[theirs, others])
    assert [(wrong.field, wrong.message) for wrong in error.value.fields] == [
        ("folderIds[1]", "refers to nothing that exists")
    ]
    with pytest.raises(ValidationError):
        await ann.add("papers", folder_ids=[theirs])
    assert (await ann.change("papers", paper, folder_ids=[theirs]))["folderIds"] == []
    assert (await desk.get("papers", paper))["folderIds"] == wire([theirs])


async def test_filters_through_links_match_no_invisible_row(desk: Desk) -> None:
    ann = desk.limited(BOTH)
    theirs, mine = await desk.add("folders", name="x"), await ann.add("folders", name="x")
    paper = await ann.add("papers", folder_ids=[mine])
    await desk.change("papers", paper, folder_ids=[theirs])
    hidden = await desk.add("papers", folder_ids=[mine])
    for asked in ({"folderIds": str(theirs)}, {"folders.name": "x"}, {"folderIds.isNull": "false"}):
        assert await ann.found("papers", **asked) == set()
    assert await ann.found("papers", **{"folderIds.isNull": "true"}) == {paper}
    assert await desk.found("papers", **{"folders.name": "x"}) == {paper, hidden}


async def test_the_inverse_relation_shows_own_rows(desk: Desk) -> None:
    ann = desk.limited(["papers"])
    cited = await ann.add("papers")
    own, _ = await ann.add("papers", paper_ids=[cited]), await desk.add("papers", paper_ids=[cited])
    assert [row["id"] for row in (await ann.get("papers", cited, include="papers"))["papers"]] == wire([own])
    assert len((await desk.get("papers", cited, include="papers"))["papers"]) == 2
