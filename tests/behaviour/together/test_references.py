"""A URI of any room works wherever a reference is accepted, with the rights of the caller who refers to it."""

import hashlib
import json
from typing import Any

import pytest

from pentad.kernel.clock import iso
from pentad.kernel.errors import Conflict, Forbidden, InvalidInput, NotFound
from pentad.kernel.principal import LOCAL, Principal
from pentad.rooms.agents.models import Message, Part
from tests.behaviour.together.conftest import ADA, BEN, House

pytestmark = pytest.mark.anyio

NO_AVATARS = Principal("jwt:cas", "cas", frozenset({"registers:read", "registers:write", "agents:write"}))
PASSAGE = "avatar://tomas-orlik/passages/1"


async def painted(house: House, who: Principal = ADA) -> str:
    return (await house.call("agents_send_task", who, agent="painter", text="a bee"))["task_id"]


@pytest.mark.requirement("references:templates")
async def test_an_artifact_is_a_resource_of_who_owns_the_task(house: House) -> None:
    task = await painted(house)

    (sketch,) = await house.app.neighbours.read(ADA, f"agents://tasks/{task}/artifacts/sketch")
    (palette,) = await house.app.neighbours.read(ADA, f"a2a-artifact:{task}/palette")
    (picture,) = await house.app.neighbours.read(ADA, f"agents://tasks/{task}/artifacts/picture")

    assert (sketch.text, sketch.mime_type) == ("a bee", "text/plain")
    assert json.loads(palette.text or "") == {"colours": ["red", "green"]}
    assert (picture.blob, picture.mime_type) == ("AAAA", "image/png")
    for uri in (f"agents://tasks/{task}/artifacts/sketch", f"a2a-artifact:{task}/sketch"):
        with pytest.raises(NotFound):
            await house.app.neighbours.read(BEN, uri)
    with pytest.raises(NotFound, match="no artifact"):
        await house.app.neighbours.read(ADA, f"agents://tasks/{task}/artifacts/none")


@pytest.mark.requirement("references:templates")
async def test_a_metric_has_an_address_at_a_moment(house: House) -> None:
    key = house.metrics.info("pentad").catalogue[0].key
    recorded = (await house.metrics.history.latest("pentad"))[0].at

    now = await house.read(f"metrics://pentad/default/{key}")
    then = await house.read(f"metrics://pentad/default/{key}?at={iso(recorded + 1)}")

    assert then["values"] == now["values"]
    assert then["values"][0]["key"].startswith(key)
    assert then["at"] == iso(recorded + 1)
    with pytest.raises(NotFound, match="There is no record"):
        await house.read(f"metrics://pentad/default/{key}?at=2001-01-01T00:00:00Z")
    for wrong in (f"metrics://pentad/default/{key}?at=soon", f"metrics://pentad/default/{key}?when=now"):
        with pytest.raises(InvalidInput):
            await house.read(wrong)


@pytest.mark.requirement("references:context")
async def test_a_context_refers_to_every_room_at_once(house: House) -> None:
    permit = await house.create("permit", {"title": "A hive"})
    task = await painted(house)
    key = house.metrics.info("pentad").catalogue[0].key
    items = {
        "permit": {"ref": permit["uri"]},
        "passage": {"ref": PASSAGE},
        "figure": {"ref": f"metrics://pentad/default/{key}"},
        "sketch": {"ref": f"agents://tasks/{task}/artifacts/sketch"},
        "versions": {"ref": "mcp+pentad:oasf://versions"},
    }

    told = await house.call("agents_send_task", agent="reader", text="read", context={"items": items})

    found: dict[str, Any] = told["data"][0]
    assert found["permit"]["title"] == "A hive"
    assert found["passage"]["avatar"] == "tomas-orlik"
    assert found["figure"]["collector"] == "pentad"
    assert found["sketch"] == "a bee"
    assert "default_version" in found["versions"]


@pytest.mark.requirement("references:context")
async def test_a_context_is_read_with_the_rights_of_its_sender(house: House) -> None:
    task = await painted(house)
    resolver = house.agents.intake.resolver

    with pytest.raises(NotFound):
        await resolver.open(BEN, {"it": {"ref": f"agents://tasks/{task}/artifacts/sketch"}}).content("it")
    with pytest.raises(Forbidden):
        await resolver.open(NO_AVATARS, {"it": {"ref": PASSAGE}}).content("it")


@pytest.mark.requirement("references:schemes")
async def test_a_card_announces_the_schemes_of_the_rooms_that_are_here(house: House) -> None:
    schemes = house.agents.intake.limits.ref_schemes

    assert {"openregister", "avatar", "metrics", "agents", "a2a-artifact", "cid", "oasf", "https"} <= set(schemes)
    assert "file" not in schemes


@pytest.mark.requirement("references:registers")
async def test_a_uri_reference_leads_to_something_the_caller_may_read(house: House) -> None:
    task = await painted(house)
    artifact = f"agents://tasks/{task}/artifacts/sketch"
    good = ["https://example.org/nothing/there", "relative/path", PASSAGE, "oasf://versions", artifact]

    made = await house.create("permit", {"title": "ok", "evidence": good, "source": {"at": PASSAGE}})
    assert made["evidence"] == good

    for data, path in (
        ({"title": "x", "evidence": [PASSAGE, "avatar://tomas-orlik/passages/9999"]}, "/evidence/*"),
        ({"title": "x", "source": {"at": "openregister://objects/town/permit/none"}}, "/source/at"),
        ({"title": "x", "evidence": ["agents://nowhere"]}, "/evidence/*"),
    ):
        error = await house.refused("objects", action="create", register="town", schema="permit", data=data)
        (problem,) = error["details"]["problems"]
        assert (problem["path"], problem["rule"]) == (path, "uri-reference")
        assert "may read" in problem["message"]


@pytest.mark.requirement("references:registers")
async def test_what_another_may_not_read_looks_as_if_it_were_not_there(house: House) -> None:
    task = await painted(house)
    messages: set[str] = set()
    for uri in (f"agents://tasks/{task}/artifacts/sketch", "agents://tasks/none/artifacts/sketch"):
        error = await house.refused(
            "objects", BEN, action="create", register="town", schema="permit", data={"title": "x", "evidence": [uri]}
        )
        messages.add(error["details"]["problems"][0]["message"])
    assert len(messages) == 1


@pytest.mark.requirement("references:registers")
async def test_only_new_references_are_checked(house: House) -> None:
    permit = await house.create("permit", {"title": "first"})
    made = await house.create("permit", {"title": "second", "evidence": [permit["uri"]]})
    await house.call("objects", action="delete", register="town", schema="permit", id=permit["id"])

    again = {"register": "town", "schema": "permit", "id": made["id"]}
    await house.call("objects", action="update", data={"title": "third", "evidence": [permit["uri"]]}, **again)
    patch = [{"op": "add", "path": "/evidence/-", "value": "openregister://objects/town/permit/gone"}]
    error = await house.refused("objects", action="patch", json_patch=patch, **again)
    assert error["details"]["problems"][0]["received"] == "openregister://objects/town/permit/gone"


@pytest.mark.requirement("references:registers")
async def test_a_row_with_a_bad_reference_fails_alone(house: House) -> None:
    rows = [
        {"action": "create", "data": {"title": "a", "evidence": [PASSAGE]}},
        {"action": "create", "data": {"title": "b", "evidence": ["avatar://nobody"]}},
    ]
    where = {"register": "town", "schema": "permit"}

    done = await house.call("objects", action="bulk", operations=rows, atomic=False, **where)
    plan = await house.call("objects", action="plan", operations=rows, **where)

    assert (done["created"], done["failed"]) == (1, 1)
    assert "may read" in json.dumps(plan)


@pytest.mark.requirement("references:citations")
async def test_a_citation_is_a_reference(house: House) -> None:
    asked = {"avatar": "tomas-orlik", "question": "How much does a colony need for the winter?"}
    answer = await house.call("generate_response", LOCAL, **asked)

    (citation, *_) = answer["citations"]
    passage = await house.read(citation["uri"])
    assert citation["quote"] in passage["content"]


def pinned(uri: str, text: str) -> str:
    """A reference that must lead to exactly this text."""
    return f"{uri}{'&' if '?' in uri else '?'}snapshot=sha256:{hashlib.sha256(text.encode()).hexdigest()}"


@pytest.mark.requirement("references:snapshots")
async def test_a_reference_with_a_hash_leads_to_that_or_to_nothing(house: House) -> None:
    permit = await house.create("permit", {"title": "before"})
    (now,) = await house.app.neighbours.read(ADA, permit["uri"])
    uri = pinned(permit["uri"], now.text or "")

    (same,) = await house.app.neighbours.read(ADA, uri)
    assert same.text == now.text
    where = {"register": "town", "schema": "permit"}
    await house.call("objects", action="patch", id=permit["id"], data={"title": "after"}, **where)

    with pytest.raises(Conflict) as refused:
        await house.app.neighbours.read(ADA, uri)
    assert refused.value.details["reason"] == "context-integrity"
    error = await house.refused("objects", action="create", data={"title": "x", "evidence": [uri]}, **where)
    assert "has changed" in error["details"]["problems"][0]["message"]


@pytest.mark.requirement("references:snapshots")
async def test_a_snapshot_of_a_context_stays_as_it_was_for_its_sender(house: House) -> None:
    permit = await house.create("permit", {"title": "before"})
    (now,) = await house.app.neighbours.read(ADA, permit["uri"])
    items = {"it": {"ref": permit["uri"], "metadata": {"x-snapshot": True}}}
    message = Message(id="m-1", role="user", parts=(Part(text="hi"),), metadata={"mcp_context": {"items": items}})

    accepted = await house.agents.intake.accept(ADA, message)
    await house.call(
        "objects", action="patch", register="town", schema="permit", id=permit["id"], data={"title": "after"}
    )

    context = house.agents.intake.of_message(accepted, ADA)
    assert context is not None
    assert context["items"]["it"]["metadata"]["x-ref"] == permit["uri"]
    assert (await context.content("it"))["title"] == "before"
    (kept,) = await house.app.neighbours.read(ADA, pinned(permit["uri"], now.text or ""))
    assert kept.text == now.text
    with pytest.raises(Conflict):
        await house.app.neighbours.read(BEN, pinned(permit["uri"], now.text or ""))
    await house.call("objects", action="delete", register="town", schema="permit", id=permit["id"])
    (kept,) = await house.app.neighbours.read(ADA, pinned(permit["uri"], now.text or ""))
    assert kept.text == now.text
    with pytest.raises(NotFound):
        await house.app.neighbours.read(BEN, pinned(permit["uri"], now.text or ""))


@pytest.mark.requirement("references:snapshots")
async def test_what_the_sender_may_not_read_is_not_copied(house: House) -> None:
    task = await painted(house)
    items = {"it": {"ref": f"agents://tasks/{task}/artifacts/sketch", "metadata": {"x-snapshot": True}}}
    message = Message(id="m-2", role="user", parts=(Part(text="hi"),), metadata={"mcp_context": {"items": items}})

    with pytest.raises(NotFound):
        await house.agents.intake.accept(BEN, message)
