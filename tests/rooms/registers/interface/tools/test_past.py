"""The past through the tool: history with its provenance, earlier states, and the feed of changes."""

import pytest

from tests.rooms.registers.interface.tools.shelf import Shelf
from tests.rooms.registers.site import Site

pytestmark = pytest.mark.anyio


@pytest.mark.requirement("registers:tools:provenance")
async def test_history_says_who_did_what_with_which_program_and_why(shelf: Shelf) -> None:
    made = await shelf.objects("create", data={"title": "One"}, reason="first of its kind")
    await shelf.objects("update", id=made["id"], data={"title": "Two"})
    history = (await shelf.objects("history", id=made["id"]))["results"]
    assert [row["action"] for row in history] == ["update", "create"]
    first = history[1]
    assert (first["principal"], first["agent"], first["reason"]) == ("local", "pentad", "first of its kind")
    assert first["call"]
    limited = await shelf.objects("history", id=made["id"], limit=1)
    rest = await shelf.objects("history", id=made["id"], limit=1, cursor=limited["cursor"])
    assert [row["action"] for row in rest["results"]] == ["create"]
    assert (await shelf.objects("verify", id=made["id"]))["valid"] is True


@pytest.mark.requirement("registers:history:calls")
async def test_every_call_has_its_own_id_and_cursors_have_one_form(shelf: Shelf, site: Site) -> None:
    made = await shelf.book("One")
    async with site.app.client() as again:  # its requests are numbered from 1, as those of the other were
        place = {"register": shelf.register, "schema": shelf.schema}
        for title in ("Two", "Three"):
            await again.call_tool("objects", {"action": "patch", **place, "id": made["id"], "data": {"title": title}})
    history = (await shelf.objects("history", id=made["id"]))["results"]
    assert len({row["call"] for row in history}) == 3
    first = await shelf.objects("history", id=made["id"], limit=1)
    assert first["cursor"] == first["results"][0]["cursor"]
    rest = await shelf.objects("history", id=made["id"], cursor=first["cursor"])
    assert [row["version"] for row in rest["results"]] == [2, 1]
    since = await shelf.objects("changes", cursor=rest["results"][-1]["cursor"])
    assert [row["version"] for row in since["results"]] == [2, 3]
    text, _ = await shelf.refusal("history", id=made["id"], cursor="7")
    assert text.startswith("This cursor is not from an answer with changes.")


async def test_the_past_is_read_compared_and_brought_back(shelf: Shelf) -> None:
    made = await shelf.book("One")
    await shelf.objects("update", id=made["id"], data={"title": "Two", "pages": 5})
    then = made["@self"]["updated"]
    assert (await shelf.objects("get", id=made["id"], as_of=then))["title"] == "One"
    assert (await shelf.objects("list", as_of=then))["results"][0]["title"] == "One"
    counted = await shelf.objects("list", as_of=then, aggregate={"metrics": {"pages": {"sum": "pages"}}})
    assert counted["results"] == [{"pages": None}]
    compared = await shelf.objects("diff", id=made["id"], version=1)
    assert {step["path"] for step in compared["patch"]} == {"/title", "/pages"}
    back = await shelf.objects("revert", id=made["id"], version=1)
    assert (back["title"], back["@self"]["version"]) == ("One", "3")
    assert "pages" not in back
    assert "Say where" in (await shelf.refusal("revert", id=made["id"]))[0]


async def test_a_revert_of_a_version_that_moved_on_is_refused(shelf: Shelf):
    made = await shelf.book("One", pages=1)
    await shelf.objects("patch", id=made["id"], data={"pages": 2})
    text, error = await shelf.refusal("revert", id=made["id"], version=1, if_version=1)
    assert (error["code"], text.partition(" is at ")[2]) == (
        "version_mismatch", "version 2, not 1. Read it again and repeat the change on what you find.",
    )  # fmt: skip
    assert (await shelf.objects("revert", id=made["id"], version=1, if_version=2))["pages"] == 1


async def test_the_feed_of_changes_is_gone_on_with(shelf: Shelf) -> None:
    await shelf.book("One")
    first = await shelf.objects("changes")
    assert [row["action"] for row in first["results"]] == ["create"]
    assert (await shelf.objects("changes", cursor=first["cursor"]))["results"] == []
    await shelf.book("Two")
    assert len((await shelf.objects("changes", cursor=first["cursor"]))["results"]) == 1


@pytest.mark.requirement("registers:history:changed")
async def test_the_history_says_what_changed_and_leaves_the_hash_to_verify(shelf: Shelf):
    made = await shelf.objects("create", data={"title": "One", "pages": 1})
    await shelf.objects("patch", id=made["id"], data={"pages": 2, "author": "Ada"})
    await shelf.objects("patch", id=made["id"], data={"author": None, "title": "x" * 500})
    await shelf.objects("lock", id=made["id"])
    lock, third, second, first = (await shelf.objects("history", id=made["id"]))["results"]
    assert "changed" not in lock
    assert second["changed"] == {"pages": {"old": 1, "new": 2}, "author": {"old": None, "new": "Ada"}}
    assert first["changed"] == {"title": {"old": None, "new": "One"}, "pages": {"old": None, "new": 1}}
    assert third["changed"]["author"] == {"old": "Ada", "new": None}
    assert len(third["changed"]["title"]["new"]) < 120
    feed = (await shelf.objects("changes"))["results"]
    assert [row.get("changed") for row in feed] == [first["changed"], second["changed"], third["changed"], None]
    assert not any("hash" in row for row in (lock, third, second, first, *feed))
    await shelf.objects("revert", id=made["id"], version=1)
    [newest] = (await shelf.objects("history", id=made["id"], limit=1))["results"]
    assert newest["changed"]["pages"] == {"old": 2, "new": 1}


@pytest.mark.requirement("registers:history:changed")
async def test_a_large_change_is_shown_in_part_and_says_so(shelf: Shelf):
    made = await shelf.objects("create", data={"title": "One"})
    await shelf.objects("patch", id=made["id"], data={f"n{number}": number for number in range(30)})
    [newest] = (await shelf.objects("history", id=made["id"], limit=1))["results"]
    assert len(newest["changed"]) == 21
    assert newest["changed"]["..."] == "10 more changes; see diff"
