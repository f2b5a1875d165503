"""Every entry of the history over REST says what changed, on OpenRegister's paths and on Pentad's own."""

import pytest

from tests.rooms.registers.site import Object, Site
from tests.waiting import until

pytestmark = pytest.mark.anyio

PROPERTIES: Object = {
    "name": {"type": "string"},
    "pages": {"type": "integer"},
    "secret": {"type": "string", "authorization": {"read": ["admin"]}},
}


@pytest.mark.requirement("registers:history:changed")
@pytest.mark.parametrize("path", ["history", "audit-trails"])
async def test_the_history_of_an_object_says_what_changed(site: Site, path: str) -> None:
    place = await site.pair(PROPERTIES)
    made = await site.made(place, {"name": "One", "pages": 1})
    one = f"/api{place}/{made['id']}"
    assert (await site.send("PATCH", one, {"pages": 2, "secret": "s"})).status == 200
    assert (await site.send("PATCH", one, {f"n{number}": number for number in range(30)})).status == 200
    many, second, first = (await site.send("GET", f"{one}/{path}")).json["results"]
    assert first["changed"] == {"name": {"old": None, "new": "One"}, "pages": {"old": None, "new": 1}}
    assert second["changed"] == {"pages": {"old": 1, "new": 2}, "secret": {"old": None, "new": "s"}}
    assert (len(many["changed"]), many["changed"]["..."]) == (21, "10 more changes; see diff")
    rows = (await site.send("GET", f"{one}/{path}", who="reader")).json["results"]
    assert rows[1]["changed"] == {"pages": {"old": 1, "new": 2}}


@pytest.mark.requirement("registers:history:changed")
@pytest.mark.parametrize("path", ["audit", "audit-trails"])
async def test_the_feed_and_its_entries_say_what_changed(site: Site, path: str) -> None:
    place = await site.pair(PROPERTIES)
    made = await site.made(place, {"name": "One", "pages": 1})
    assert (await site.send("PATCH", f"/api{place}/{made['id']}", {"pages": 2})).status == 200

    async def rows() -> list[Object]:
        return (await site.send("GET", f"/api/{path}?schema={place.split('/')[3]}")).json["results"]

    _, newest = await until(rows, lambda found: len(found) == 2)
    assert newest["changed"] == {"pages": {"old": 1, "new": 2}}
    entry = (await site.send("GET", f"/api/audit-trails/{newest['id']}")).json
    assert (entry["changed"], entry["hash"]) == (newest["changed"], newest["hash"])


@pytest.mark.requirement("registers:history:changed")
async def test_the_document_declares_what_changed(site: Site) -> None:
    document = (await site.send("GET", "/openapi.json")).json
    schemas = document["components"]["schemas"]
    assert schemas["ChangedValue"]["required"] == ["old", "new"]
    assert "ChangedValue" in str(schemas["ChangeAnswer"]["properties"]["changed"])
