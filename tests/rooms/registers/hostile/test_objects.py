"""Hostile objects, patches and names: refused in clear words, or kept exactly."""

import json
from typing import Any

import pytest

from tests.rooms.registers.hostile.surface import Surface, is_clear
from tests.rooms.registers.hostile.writing import ENTITIES, KEPT_TEXTS, MERGES, OPERATIONS, PATCHES, REFUSED_TEXTS

pytestmark = pytest.mark.anyio


def creation(surface: Surface, data: str) -> str:
    return f'{{"action":"create","register":{surface.register},"schema":{surface.schema},"data":{data}}}'


@pytest.mark.parametrize("case", KEPT_TEXTS)
@pytest.mark.requirement("registers:hostile:objects")
async def test_unusual_data_reads_back_as_it_was_sent(surface: Surface, case: str) -> None:
    text, data = KEPT_TEXTS[case]
    if data is None:
        data = json.loads(text)
    made = (await surface.tool("objects", creation(surface, text))).done
    uuid = made["@self"]["id"]
    read = (await surface.objects("get", id=uuid)).done
    flat = (await surface.rest("GET", f"{surface.place}/{uuid}")).done
    for shown in (made, read, flat):
        assert {name: repr(shown[name]) for name in data} == {name: repr(value) for name, value in data.items()}
    assert (await surface.objects("verify", id=uuid)).done["valid"] is True
    await surface.objects("delete", id=uuid)


@pytest.mark.parametrize("case", REFUSED_TEXTS)
@pytest.mark.requirement("registers:hostile:objects")
async def test_data_nobody_can_keep_is_refused(surface: Surface, case: str) -> None:
    text = REFUSED_TEXTS[case]
    is_clear(await surface.tool("objects", creation(surface, text)))
    is_clear(await surface.rest("POST", surface.place, text.encode()))


@pytest.mark.parametrize("case", PATCHES)
@pytest.mark.requirement("registers:hostile:patches")
async def test_a_patch_made_to_break_changes_nothing(surface: Surface, case: str) -> None:
    patch: Any = PATCHES[case]
    is_clear(await surface.objects("patch", id=surface.known["id"], json_patch=patch))
    target = f"{surface.place}/{surface.known['id']}"
    headers = {"content-type": "application/json-patch+json"}
    is_clear(await surface.rest("PATCH", target, patch, **headers))


@pytest.mark.parametrize("case", MERGES)
@pytest.mark.requirement("registers:hostile:patches")
async def test_a_merge_made_to_break_changes_nothing(surface: Surface, case: str) -> None:
    is_clear(await surface.objects("patch", id=surface.known["id"], data=MERGES[case]))
    is_clear(await surface.rest("PATCH", f"{surface.place}/{surface.known['id']}", MERGES[case]))


@pytest.mark.parametrize("case", OPERATIONS)
@pytest.mark.requirement("registers:hostile:objects")
async def test_an_operation_made_to_break_is_refused(surface: Surface, case: str) -> None:
    place = {"register": surface.register, "schema": surface.schema, "id": surface.known["id"]}
    is_clear(await surface.tool("objects", {**place, **OPERATIONS[case]}))


@pytest.mark.parametrize("tool", ["registers", "schemas"])
@pytest.mark.parametrize("case", ENTITIES)
@pytest.mark.requirement("registers:hostile:objects")
async def test_a_register_or_schema_of_nonsense_is_refused(surface: Surface, case: str, tool: str) -> None:
    is_clear(await surface.tool(tool, {"action": "create", "data": ENTITIES[case]}))
    is_clear(await surface.rest("POST", f"/{tool}", ENTITIES[case]))


async def test_metadata_sent_back_is_not_data(surface: Surface) -> None:
    made = (await surface.objects("create", data={"name": "echo"})).done
    changed = (await surface.objects("update", id=made["id"], data={**made, "name": "echoed"})).done
    assert changed.keys() == {"id", "name", "@self"}
    forged = {**changed, "@self": {**changed["@self"], "owner": "me", "version": "99"}}
    (row,) = (await surface.objects("bulk", operations=[{"action": "update", "id": made["id"], "data": forged}])).done[
        "results"
    ]
    assert row["status"] == "unchanged"
    read = (await surface.objects("get", id=made["id"])).done
    assert (read["@self"]["owner"], read["@self"]["version"]) == (made["@self"]["owner"], "2")
    assert (await surface.objects("diff", id=made["id"], version=1)).done["patch"] == [
        {"op": "replace", "path": "/name", "value": "echoed"}
    ]
    await surface.objects("delete", id=made["id"])
