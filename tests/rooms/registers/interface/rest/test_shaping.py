"""How objects are asked for over REST: related ones in place, names left out, words to look for, versions."""

import pytest

from tests.rooms.registers.site import Site

pytestmark = pytest.mark.anyio


async def library(site: Site) -> tuple[str, str, str, str]:
    """The paths of books and authors in one register, and the ids of one of each."""
    author = await site.made(
        "/schemas",
        {
            "title": "Author",
            "slug": "shaping-author",
            "properties": {"name": {"type": "string"}, "born": {"type": "integer"}},
        },
    )
    book = await site.made(
        "/schemas",
        {
            "title": "Book",
            "properties": {
                "title": {"type": "string"},
                "by": {"type": "string", "$ref": author["id"]},
                "also": {"type": "array", "items": {"type": "string", "$ref": author["id"]}},
                "place": {"type": "object", "properties": {"room": {"type": "string"}, "shelf": {"type": "integer"}}},
            },
        },
    )
    register = await site.made("/registers", {"title": "Shaped", "schemas": [author["id"], book["id"]]})
    books, authors = (f"/api/objects/{register['id']}/{one['id']}" for one in (book, author))
    ada = (await site.send("POST", authors, {"name": "Ada Quillfeather", "born": 1815})).json["id"]
    data = {"title": "Notes", "by": ada, "also": [ada], "place": {"room": "A", "shelf": 3}}
    made = (await site.send("POST", books, data)).json["id"]
    await site.send("DELETE", f"/api/schemas/{author['id']}")
    return books, authors, made, ada


@pytest.mark.requirement("registers:rest:shaping")
async def test_related_objects_stand_in_place_of_their_ids(fresh_site: Site) -> None:
    site = fresh_site
    books, authors, made, ada = await library(site)
    for target in (f"{books}?_extend=by,also", f"{books}?_extend[]=by&_extend[]=also", f"{books}?_extend=all"):
        [row] = (await site.send("GET", target)).json["results"]
        assert row["by"]["name"] == row["also"][0]["name"] == "Ada Quillfeather"
        assert row["by"]["@self"]["schema"] == int(authors.rpartition("/")[2])
    one = (await site.send("GET", f"{books}/{made}?_extend=by&_fields=by,also")).json
    assert (one["by"]["born"], one["also"]) == (1815, [ada])
    refused = await site.send("GET", f"{books}?_extend=bye")
    assert (refused.status, "Did you mean 'by'" in refused.json["message"]) == (400, True)


@pytest.mark.requirement("registers:rest:shaping")
async def test_what_is_unset_is_left_out(fresh_site: Site) -> None:
    site = fresh_site
    books, _, made, _ = await library(site)
    for one in ((await site.send("GET", f"{books}?_unset=by,also,place.shelf,@self")).json["results"][0],
                (await site.send("GET", f"{books}/{made}?_unset=by,also,place.shelf,@self")).json):  # fmt: skip
        assert one == {"id": made, "title": "Notes", "place": {"room": "A"}}
    assert (await site.send("GET", f"{books}?_unset=titel")).status == 400


@pytest.mark.requirement("registers:rest:search")
async def test_words_are_looked_for_under_every_name_they_are_sent_by(fresh_site: Site) -> None:
    site = fresh_site
    await library(site)
    for name in ("q", "query", "search", "_search"):
        assert len((await site.send("GET", f"/api/search?{name}=Quillfeather")).json["results"]) == 1
    assert (await site.send("GET", "/api/search?q=Quillfeather&offset=1")).json["results"] == []
    for odd in ("/api/search?qq=x", "/api/search?q=x&filter=y", "/api/audit-trails?action=create"):
        refused = await site.send("GET", odd)
        assert (refused.status, "There is no parameter" in refused.json["message"]) == (400, True), odd


@pytest.mark.requirement("registers:rest:audit-immutable")
async def test_an_entry_of_the_history_can_be_read_and_not_changed(fresh_site: Site) -> None:
    site = fresh_site
    await library(site)
    entry = (await site.send("GET", "/api/audit-trails")).json["results"][0]
    target = f"/api/audit-trails/{entry['id']}"
    assert (await site.send("GET", target)).json == entry
    for verb in ("PUT", "PATCH", "DELETE", "POST"):
        assert (await site.send(verb, target, {"action": "none"})).status == 405, verb
    for missing in ("999999", "x", "-1"):
        assert (await site.send("GET", f"/api/audit-trails/{missing}")).status == 404


async def test_metadata_names_the_version_of_the_schema_where_it_is_asked_for(fresh_site: Site) -> None:
    site = fresh_site
    books, *_ = await library(site)
    whole, chosen, plain = [
        (await site.send("GET", f"{books}?{asked}")).json["results"][0]["@self"]
        for asked in ("_empty=true", "_fields=@self.schemaVersion", "_limit=1")
    ]
    assert whole["schemaVersion"] == chosen["schemaVersion"] == "0.0.1"
    assert "schemaVersion" not in plain


@pytest.mark.requirement("registers:rest:preconditions")
async def test_any_of_several_versions_will_do(fresh_site: Site) -> None:
    site = fresh_site
    path = "/api" + await site.pair({"name": {"type": "string"}})
    item = f"{path}/{(await site.send('POST', path, {'name': 'one'})).json['id']}"
    assert (await site.send("PUT", item, {"name": "two"}, headers={"if-match": '"7", "1"'})).status == 200
    assert (await site.send("PUT", item, {"name": "no"}, headers={"if-match": '"7", "1"'})).status == 412
    assert (await site.send("PATCH", item, {"name": "yes"}, headers={"if-match": '"2","3" , "4"'})).status == 200
    assert (await site.send("DELETE", item, headers={"if-match": '"9", "3"'})).status == 204
    assert (await site.send("PUT", item, {}, headers={"if-match": '"1" "2"'})).status == 400
    register = await site.send("POST", "/api/registers", {"title": "One"})
    target = f"/api/registers/{register.json['id']}"
    assert (await site.send("PUT", target, {"title": "Two"}, headers={"if-match": '"9", "0.0.1"'})).status == 200
    assert (await site.send("PUT", target, {"title": "No"}, headers={"if-match": '"9", "0.0.1"'})).status == 412


async def test_the_session_of_somebody_else_is_not_told(fresh_site: Site) -> None:
    site = fresh_site
    path = "/api" + await site.pair({"name": {"type": "string"}}, authorization={"read": ["authenticated"]})
    made = (await site.send("POST", path, {"name": "one"}, who="writer")).json["id"]
    await site.app.database.write(
        lambda tx: tx.run("UPDATE object_changes SET session = ? WHERE uuid = ?", "s" * 32, made)
    )
    for target in (f"{path}/{made}/history", "/api/audit-trails"):
        for who, told in (("admin", True), ("writer", True), ("reader", False)):
            rows = (await site.send("GET", target, who=who)).json["results"]
            assert [row.get("session") for row in rows if row["uuid"] == made] == ["s" * 32 if told else None], who
