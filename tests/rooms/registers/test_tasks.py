"""Tasks in plain words, solved by a client that has only `tools/list` and the answers, in at most three calls each.

The docstring of a test is the task. `City` sees to it that the client knows every word it uses, that there are no more
calls, and that each call changes exactly what it should and nothing else.
"""

import re
from collections.abc import AsyncIterator
from typing import Any
from uuid import uuid4

import pytest

from pentad.kernel.ports import Transaction
from tests.behaviour.clients import HTTP_MODERN
from tests.behaviour.connecting import connect_http
from tests.rooms.registers.city import PERMITS, City, State, words
from tests.rooms.registers.site import Object, Site
from tests.waiting import until

pytestmark = pytest.mark.anyio

PERMIT: Object = {"register": "city", "schema": "permit"}
PERSON: Object = {"register": "city", "schema": "person"}


@pytest.fixture
async def city(site: Site, request: pytest.FixtureRequest) -> AsyncIterator[City]:
    """The register in an organisation of its own, so that its names are free."""
    who = f"city-{uuid4().hex[:10]}"
    assert (await site.send("POST", "/api/organisations", {"slug": who, "title": "City"})).status == 201
    for name, scopes in ((who, ["*:*"]), (f"{who}-colleague", ["registers:read", "registers:write"])):
        key = await site.app.api_keys.create(name, scopes=scopes)
        site.keys = {**site.keys, name: key.token}
        member = {"principal": key.key.credential}
        assert (await site.send("POST", f"/api/organisations/{who}/members", member)).status == 204
    client = await connect_http(site.app, HTTP_MODERN, authorization=site.credentials(who)["authorization"])
    made = City(site, who, client, words(request.function.__doc__))
    await made.fill()
    yield made
    await client.close()


async def done(city: City, tool: str, **arguments: Any) -> Any:
    """A call that belongs to the past of the register, not to the task."""
    return (await city.client.call(tool, arguments)).answer(HTTP_MODERN)


@pytest.mark.requirement("registers:tasks:three-calls")
async def test_a_field_is_added_to_a_schema_in_use(city: City) -> None:
    """Permits need a due date. Nobody has to fill it in. The schema is called permit."""
    await city.begin()

    def due(state: State) -> None:
        state["schemas"]["permit"]["properties"]["due"] = {"type": "string", "format": "date"}

    data = {"properties": {"due": {"type": "string", "format": "date"}}}
    answer = await city.call("schemas", {"action": "update", "id": "permit", "data": data}, due)
    assert answer["changes"] == ["due: added (string, date)"]


@pytest.mark.requirement("registers:tasks:three-calls")
async def test_objects_are_counted_by_a_property_of_what_they_refer_to(city: City) -> None:
    """How many permits are there per city of the applicant, in the register city?"""
    await city.begin()
    await city.call("registers", {"action": "describe", "id": "city"})
    aggregate = {"metrics": {"n": "count"}, "group_by": ["applicant.city"], "sort": ["-n"]}
    answer = await city.call("objects", {"action": "list", **PERMIT, "aggregate": aggregate})
    assert [tuple(row.values()) for row in answer["results"]] == [("Delft", 3), ("Gouda", 2), ("Leiden", 1)]


@pytest.mark.requirement("registers:tasks:three-calls")
async def test_a_property_is_renamed_with_its_values_and_views(city: City) -> None:
    """Rename fee to amount in the schema permit. The view fees has to go on working."""
    query = {"columns": ["number", "fee"], "sort": ["-fee"], "limit": 1}
    await done(city, "views", action="create", data={"title": "Fees", "slug": "fees", **PERMIT, "query": query})
    await city.begin()

    def renamed(state: State) -> None:
        for place in (state["schemas"]["permit"]["properties"], *state["objects"]["permit"].values()):
            place["amount"] = place.pop("fee")
        state["views"]["fees"] |= {"columns": ["number", "amount"], "sort": ["-amount"]}

    rename = {"op": "rename", "property": "fee", "to": "amount"}
    answer = await city.call("schemas", {"action": "patch", "id": "permit", "operations": [rename]}, renamed)
    assert (answer["migrated"], answer["changes"]) == (len(PERMITS), ["fee: renamed to amount"])
    [row] = (await city.call("views", {"action": "run", "id": "fees"}))["results"]
    assert (row["number"], row["amount"]) == ("P-1", 250)


@pytest.mark.requirement("registers:tasks:three-calls")
async def test_objects_that_nothing_refers_to_are_found(city: City) -> None:
    """Which permits of the register city lack a document?"""
    await city.begin()
    await city.call("registers", {"action": "describe", "id": "city"})
    lacking = {"filter": {"documents": {"exists": False}}, "fields": ["number"], "sort": ["number"]}
    answer = await city.call("objects", {"action": "list", **PERMIT, **lacking})
    assert ([row["number"] for row in answer["results"]], answer["total"]) == (["P-3", "P-5", "P-6"], 3)


@pytest.mark.requirement("registers:tasks:three-calls")
async def test_an_import_of_yesterday_is_undone_and_later_work_stays(city: City) -> None:
    """Undo yesterday's import."""
    file = "number,status,fee\nP-2,granted,45\nP-4,granted,80\nP-7,open,10\n"
    first = await done(city, "transfer", action="import", **PERMIT, content=file, key=["number"])
    assert (first["state"], first["created"], first["updated"]) == ("done", 1, 2)
    people = await done(city, "transfer", action="import", **PERSON, content="bsn,name\n106,Eva Mol\n")
    assert people["state"] == "done"

    def backdate(tx: Transaction) -> None:
        tx.run("UPDATE transfers SET created_at = created_at - 86400 WHERE id = ?", first["id"])

    await city.site.app.database.write(backdate)
    await city.meanwhile("permit", "P-4", {"fee": 90})
    await city.begin()
    listed = (await city.call("transfer", {"action": "list"}))["results"]
    assert [one["id"] for one in sorted(listed, key=lambda one: one["started"])] == [first["id"], people["id"]]

    def undone(state: State) -> None:
        permits = state["objects"]["permit"]
        permits["P-2"] |= {"status": "open", "fee": 40}
        state["deleted"]["permit"]["P-7"] = permits.pop("P-7")

    answer = await city.call("transfer", {"action": "undo", "id": first["id"]}, undone)
    assert answer["state"] == "undone"
    assert {name: answer["undo"][name] for name in ("deleted", "reverted", "skipped")} == {
        "deleted": 1, "reverted": 1, "skipped": 1,
    }  # fmt: skip


@pytest.mark.requirement("registers:tasks:three-calls")
async def test_a_change_is_undone_across_a_rename(city: City) -> None:
    """Undo the last change of permit P-1 in the register city, it was a mistake."""
    await done(city, "objects", action="patch", **PERMIT, id="P-1", data={"fee": 25})
    rename = {"op": "rename", "property": "fee", "to": "amount"}
    await done(city, "schemas", action="patch", id="permit", operations=[rename])
    await city.begin()

    def undone(state: State) -> None:
        assert state["objects"]["permit"]["P-1"]["amount"] == 25
        state["objects"]["permit"]["P-1"]["amount"] = 250

    answer = await city.call("objects", {"action": "undo", **PERMIT, "id": "P-1"}, undone)
    assert answer["amount"] == 250


@pytest.mark.requirement("registers:tasks:three-calls")
async def test_many_objects_are_changed_after_a_look_at_the_plan(city: City) -> None:
    """Each permit of the register city with kind event and status open becomes refused. Show me the plan first."""
    await city.begin()
    chosen = {"filter": {"kind": "event", "status": "open"}, "data": {"status": "refused"}}
    plan = await city.call("objects", {"action": "plan", **PERMIT, **chosen})
    assert (plan["valid"], [row["status"] for row in plan["preview"]]) == (True, ["updated", "updated"])

    def refused(state: State) -> None:
        for number in ("P-2", "P-3"):
            state["objects"]["permit"][number]["status"] = "refused"

    committed = await city.call("objects", {"action": "commit", **PERMIT, "plan": plan["id"]}, refused)
    assert committed["state"] == "committed"


@pytest.mark.requirement("registers:tasks:three-calls")
async def test_duplicates_are_found(city: City) -> None:
    """Is a person in the register city twice, with the same name in the same place?"""
    await city.begin()
    await city.call("registers", {"action": "describe", "id": "city"})
    aggregate = {"metrics": {"n": "count"}, "group_by": ["name", "city"], "sort": ["-n"], "limit": 5}
    answer = await city.call("objects", {"action": "list", **PERSON, "aggregate": aggregate})
    assert answer["results"][0] == {"name": "Ada Bos", "city": "Delft", "n": 2}
    assert [row["n"] for row in answer["results"]] == [2, 1, 1, 1]


@pytest.mark.requirement("registers:tasks:three-calls")
async def test_a_deleted_object_comes_back(city: City) -> None:
    """Permit P-3 in the register city was deleted by mistake. Restore it."""
    await done(city, "objects", action="delete", **PERMIT, id="P-3")
    await city.begin()

    def restored(state: State) -> None:
        state["objects"]["permit"]["P-3"] = state["deleted"]["permit"].pop("P-3")

    answer = await city.call("objects", {"action": "restore", **PERMIT, "id": "P-3"}, restored)
    assert (answer["number"], answer["status"]) == ("P-3", "open")


@pytest.mark.requirement("registers:tasks:three-calls")
async def test_a_file_is_attached_and_found_by_its_words(city: City) -> None:
    """Attach the note "Mind the lime tree" as advice.txt to permit P-5 of the register city. Can a search find it?"""
    await city.begin()
    place = {**PERMIT, "id": "P-5"}

    def attached(state: State) -> None:
        state["files"].append(("P-5", "advice.txt"))

    note = {"name": "advice.txt", "text": "Mind the lime tree"}
    written = await city.call("attachments", {"action": "write", **place, **note}, attached)
    assert written["text"]["note"] == "Search finds it within seconds."

    async def entry() -> Object:
        return (await done(city, "attachments", action="list", **place))["results"][0]

    await until(entry, lambda one: one["text"]["state"] == "done")
    answer = await city.call("objects", {"action": "list", **PERMIT, "search": "lime tree", "fields": ["number"]})
    assert ([row["number"] for row in answer["results"]], answer["total"]) == (["P-5"], 1)


@pytest.mark.requirement("registers:tasks:three-calls")
async def test_the_author_of_a_change_is_found_with_the_old_value(city: City) -> None:
    """Who changed the fee of permit P-2 in the register city, and what was it before? See the history."""
    await city.meanwhile("permit", "P-2", {"fee": 20})
    await city.begin()
    newest, first = (await city.call("objects", {"action": "history", **PERMIT, "id": "P-2"}))["results"]
    assert newest["changed"] == {"fee": {"old": 40, "new": 20}}
    assert newest["principal"] != first["principal"]
    assert newest["at"] > first["at"]


@pytest.mark.requirement("registers:tasks:three-calls")
async def test_a_property_is_dropped_after_a_warning(city: City) -> None:
    """Drop the property email of the schema person, and the values with it."""
    await city.begin()
    drop = {"action": "patch", "id": "person", "operations": [{"op": "drop", "property": "email"}]}
    warning = await city.call("schemas", drop, refused=True)
    assert "would lose the values of 'email' in 2 objects" in warning
    token = re.findall(r'confirm "(\w+)"', warning)[0]

    def dropped(state: State) -> None:
        del state["schemas"]["person"]["properties"]["email"]
        for one in state["objects"]["person"].values():
            one.pop("email", None)

    answer = await city.call("schemas", {**drop, "confirm": token}, dropped)
    assert answer["migrated"] == 2


@pytest.mark.requirement("registers:tasks:three-calls")
async def test_a_required_property_gets_a_value_in_every_object(city: City) -> None:
    """From now on the schema permit requires a channel: web or desk. All permits so far came to the desk."""
    await city.begin()
    definition = {"type": "string", "enum": ["web", "desk"]}
    add: Object = {"op": "add", "property": "channel", "definition": definition, "required": True}
    patch: Object = {"action": "patch", "id": "permit", "operations": [add]}
    await city.call("schemas", patch, refused=True)

    def added(state: State) -> None:
        state["schemas"]["permit"]["properties"]["channel"] = definition
        state["schemas"]["permit"]["required"].append("channel")
        for one in state["objects"]["permit"].values():
            one["channel"] = "desk"

    default = {"step": "default", "property": "channel", "value": "desk"}
    answer = await city.call("schemas", {**patch, "migration": [default]}, added)
    assert answer["migrated"] == len(PERMITS)


@pytest.mark.requirement("registers:tasks:three-calls")
async def test_values_are_counted(city: City) -> None:
    """Count each permit of the register city by kind, and by status."""
    await city.begin()
    answer = await city.call("objects", {"action": "list", **PERMIT, "facets": ["kind", "status"], "limit": 0})
    counts = {name: {one["key"]: one["count"] for one in facet["buckets"]} for name, facet in answer["facets"].items()}
    assert counts == {"kind": {"event": 3, "building": 2, "tree": 1}, "status": {"open": 3, "granted": 2, "refused": 1}}


@pytest.mark.requirement("registers:tasks:three-calls")
async def test_a_choice_of_objects_is_exported(city: City) -> None:
    """Export each permit of the register city with status granted as csv: number, fee, city of the applicant."""
    await city.begin()
    export = {"filter": {"status": "granted"}, "fields": ["number", "fee", "applicant.city"], "format": "csv"}
    answer = await city.call("transfer", {"action": "export", **PERMIT, **export, "sort": ["-fee"]})
    header, *lines = (line.split(",") for line in answer["content"].splitlines())
    assert header[-3:] == ["number", "fee", "applicant.city"]
    assert [line[-3:] for line in lines] == [["P-5", "240", "Delft"], ["P-4", "75", "Gouda"]]


@pytest.mark.requirement("registers:tasks:three-calls")
async def test_a_view_is_saved_and_followed(city: City) -> None:
    """Save each permit of the register city with status open as a view "Open permits". Tell me when it changes."""
    await city.begin()
    query = {"filter": {"status": "open"}, "columns": ["number"], "sort": ["number"]}
    data = {"title": "Open permits", **PERMIT, "query": query}

    def saved(state: State) -> None:
        state["views"]["open-permits"] = query

    uri = (await city.call("views", {"action": "create", "data": data}, saved))["uri"]
    async with city.following(uri) as news:
        await city.meanwhile("permit", "P-2", {"status": "granted"})
        told = await news.wait_for("notifications/resources/updated")
        assert told["params"]["uri"] == uri
    assert [row["number"] for row in (await city.read(uri))["results"]] == ["P-1", "P-3"]


@pytest.mark.requirement("registers:tasks:three-calls")
async def test_a_table_is_imported_that_names_others_by_a_value_of_theirs(city: City) -> None:
    """Import this table of each new permit into the register city.

    number,status,applicant.bsn
    P-8,open,103
    P-9,open,104
    """
    await city.begin()
    table = "number,status,applicant.bsn\nP-8,open,103\nP-9,open,104\n"

    def imported(state: State) -> None:
        permits = state["objects"]["permit"]
        for number, like in (("P-8", "P-5"), ("P-9", "P-6")):
            permits[number] = {"number": number, "status": "open", "applicant": permits[like]["applicant"]}

    answer = await city.call("transfer", {"action": "import", **PERMIT, "content": table}, imported)
    assert (answer["state"], answer["created"]) == ("done", 2)
