"""What a DELETE took away is not found any more: neither at its path nor at any below it, on both stores.

The history of an object stays: a deleted object can be restored, and an audit has to show who deleted it.
"""

import re
from collections.abc import Awaitable, Callable

import pytest

from tests.rooms.registers.site import Site

pytestmark = pytest.mark.anyio
READING = ("get", "patch")
_OBJECT = "/api/objects/{register}/{schema}/{id}"
HISTORY = {f"{_OBJECT}/{name}" for name in ("history", "diff", "audit-trails", "audit-trails/verify")}


async def _object(site: Site) -> str:
    place = await site.pair({"name": {"type": "string"}})
    made = f"/api{place}/{(await site.made(place, {'name': 'Oak'}))['id']}"
    await site.send("POST", f"{made}/files", {"name": "a.txt", "content": "aGk="})
    return made


async def _file(site: Site) -> str:
    return f"{await _object(site)}/files/a.txt"


async def _pair(site: Site) -> tuple[str, str]:
    _, _, register, schema = (await site.pair({"name": {"type": "string"}})).split("/")
    return register, schema


async def _register(site: Site) -> str:
    return f"/api/registers/{(await _pair(site))[0]}"


async def _schema(site: Site) -> str:
    register, schema = await _pair(site)
    assert (await site.send("DELETE", f"/api/registers/{register}")).status == 200
    return f"/api/schemas/{schema}"


async def _view(site: Site) -> str:
    register, schema = await _pair(site)
    view = await site.made("/views", {"title": "All", "register": register, "schema": schema})
    return f"/api/views/{view['id']}"


async def _webhook(site: Site) -> str:
    hook = await site.made("/webhooks", {"url": "https://hooks.invalid/x", "enabled": False})
    return f"/api/webhooks/{hook['id']}"


async def _organisation(site: Site) -> str:
    return f"/api/organisations/{(await site.made('/organisations', {'slug': 'club'}))['id']}"


async def _rule(site: Site) -> str:
    rule = await site.made("/events/rules", {"name": "all", "webhook": {"url": "https://hooks.invalid/x"}})
    return f"/api/events/rules/{rule['id']}"


async def _user(site: Site) -> str:
    await site.made("/admin/users", {"name": "gus", "role": "reader", "password": "a long enough one"})
    return "/api/admin/users/gus"


MAKERS: dict[str, Callable[[Site], Awaitable[str]]] = {
    _OBJECT: _object,
    f"{_OBJECT}/files/{{name}}": _file,
    "/api/registers/{id}": _register,
    "/api/schemas/{id}": _schema,
    "/api/views/{id}": _view,
    "/api/webhooks/{id}": _webhook,
    "/api/organisations/{id}": _organisation,
    "/api/events/rules/{id}": _rule,
    "/api/admin/users/{name}": _user,
}


async def _deletable(site: Site) -> dict[str, list[tuple[str, str]]]:
    """The paths with a DELETE, each with what may be read there and below it."""
    paths = (await site.send("GET", "/openapi.json")).json["paths"]
    found = {
        path: [
            (method, other)
            for other in paths
            if (other == path or other.startswith(f"{path}/")) and other not in HISTORY
            for method in READING
            if method in paths[other]
        ]
        for path, operations in paths.items()
        if "delete" in operations and path.endswith("}")
    }
    return {path: reads for path, reads in found.items() if reads}


@pytest.mark.requirement("registers:rest:gone")
async def test_every_path_with_a_delete_is_tried(site: Site) -> None:
    assert set(await _deletable(site)) == set(MAKERS)


@pytest.mark.requirement("registers:rest:gone")
@pytest.mark.parametrize("path", MAKERS)
async def test_what_was_deleted_is_not_found(site: Site, path: str) -> None:
    reads, place = (await _deletable(site))[path], await MAKERS[path](site)
    assert (await site.send("GET", place)).status == 200 or ("get", path) not in reads
    assert (await site.send("DELETE", place)).status in (200, 204)
    answers = {
        (method, below): (await site.send(method.upper(), place + below, {} if method == "patch" else None)).status
        for method, other in reads
        for below in [re.sub(r"\{\w+\}", "1", other.removeprefix(path)).replace("/diff", "/diff?from=1")]
    }
    assert {one for one, status in answers.items() if status != 404} == set()
