"""One open Pentad, six callers, and things that belong to the caller, a colleague, or another organisation."""

import base64
import contextlib
import io
import itertools
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pentad.app import App, open_app
from pentad.http.front import Front
from pentad.http.grpc_port import open_ports
from pentad.kernel.default_limits import Limits
from pentad.kernel.principal import LOCAL, Principal
from pentad.mcp.internal_client import InternalClient
from pentad.settings.model import Settings
from tests.behaviour.connecting import front_of
from tests.ports import free_port
from tests.waiting import until

PASSWORD: Final = "correct horse battery"
CALLERS: Final = ("anonymous", "reader", "writer", "admin", "scoped", "outsider")
"""`scoped` is a key with only directory:read, `outsider` a writer of another organisation than the first three."""
RELATIONS: Final = ("own", "shared", "foreign")
_WRITES: Final = frozenset({"*:read", "*:write"})
_SLUGS: Final = itertools.count(1)
_WIRED: Final = {"anonymous": "mate", "reader": "reader", "writer": "writer", "admin": "admin", "outsider": "outsider"}


@dataclass(frozen=True)
class Caller:
    """The callers, their credentials, and which things are theirs, their colleague's and another organisation's."""

    name: str
    headers: dict[str, str]
    principals: dict[str, Principal]


class House:
    """Creates things on demand; those that a call would change are created anew for each call."""

    def __init__(self, app: App, callers: dict[str, Caller]) -> None:
        self.app = app
        self.callers = callers
        self._made: dict[tuple[str, str], str] = {}
        self._pairs: dict[str, dict[str, str]] = {}

    @property
    def front(self) -> Front:
        return front_of(self.app)

    async def thing(self, kind: str, owner: Principal, *, fresh: dict[str, str] | None = None) -> str:
        """The id of a thing of that kind that belongs to the principal."""
        if fresh is not None:
            if kind not in fresh:
                fresh[kind] = await self._make(kind, owner, fresh)
            return fresh[kind]
        key = (kind, owner.id)
        if key not in self._made:
            self._made[key] = await self._make(kind, owner, None)
        return self._made[key]

    async def pair(self, owner: Principal) -> dict[str, str]:
        """A register of the principal with a schema, in which things are created; no call targets these two."""
        if owner.id not in self._pairs:
            made: dict[str, str] = {}
            await self.thing("schema", owner, fresh=made)
            self._pairs[owner.id] = made
        return dict(self._pairs[owner.id])

    async def _make(self, kind: str, owner: Principal, fresh: dict[str, str] | None) -> str:
        def other(wanted: str) -> Awaitable[str]:
            return self.thing(wanted, owner, fresh=fresh)

        return await _MAKERS[kind](self, owner, other)

    async def key_of(self, name: str, *, own_only: bool = False) -> Caller:
        """A user who comes with a key instead of the password; the user's things stay the user's."""
        made = await self.app.api_keys.create("another", owner=name, scopes=sorted(_WRITES), own_only=own_only)
        return Caller(name, {"authorization": f"Bearer {made.token}"}, self.callers[name].principals)

    async def call(self, owner: Principal, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """A tool's answer to the principal, with the right to write in every room."""
        result = await InternalClient(lambda: self.app.all_rooms.dispatcher, _as_given).call_tool(
            owner, tool, arguments
        )
        assert not result.get("isError"), (tool, arguments, result)
        return dict(result["structuredContent"])


async def _as_given(principal: Principal) -> Principal:
    """A reader created its things while it could write: its current rights do not count here."""
    return principal


Other = Callable[[str], Awaitable[str]]


async def _register(house: House, owner: Principal, _other: Other) -> str:
    data = {"title": f"Register {next(_SLUGS)}"}
    return str((await house.call(owner, "registers", {"action": "create", "data": data}))["id"])


async def _schema(house: House, owner: Principal, other: Other) -> str:
    register = await other("register")
    data = {"title": f"Schema {next(_SLUGS)}", "properties": {"word": {"type": "string"}}}
    made = await house.call(owner, "schemas", {"action": "create", "data": data})
    change = {"action": "update", "id": register, "data": {"schemas": [made["id"]]}}
    await house.call(owner, "registers", change)
    return str(made["id"])


async def _object(house: House, owner: Principal, other: Other) -> str:
    schema, register = await other("schema"), await other("register")
    arguments = {"action": "create", "register": register, "schema": schema, "data": {"word": "hello"}}
    return str((await house.call(owner, "objects", arguments))["id"])


async def _deleted(house: House, owner: Principal, other: Other) -> str:
    uuid, register, schema = await _object(house, owner, other), await other("register"), await other("schema")
    await house.call(owner, "objects", {"action": "delete", "register": register, "schema": schema, "id": uuid})
    return uuid


async def _plan(house: House, owner: Principal, other: Other) -> str:
    uuid, register, schema = await _object(house, owner, other), await other("register"), await other("schema")
    operations = [{"action": "update", "id": uuid, "data": {"word": "planned"}}]
    arguments = {"action": "plan", "register": register, "schema": schema, "operations": operations}
    return str((await house.call(owner, "objects", arguments))["id"])


async def _view(house: House, owner: Principal, other: Other) -> str:
    from pentad.rooms.registers.models import Caller as RegistersCaller

    service = next(one.service for one in house.app.rooms if one.room.name == "registers")
    schema, register = await other("schema"), await other("register")
    caller = RegistersCaller(owner)
    pair = await service.catalogue.pair(caller, int(register), int(schema))
    return str((await service.views.create(caller, pair, f"View {next(_SLUGS)}", {})).id)


async def _attached(house: House, owner: Principal, other: Other) -> str:
    """An object with a file `note.txt` whose text has been extracted."""
    uuid, register, schema = await _object(house, owner, other), await other("register"), await other("schema")
    file = {"register": register, "schema": schema, "id": uuid, "name": "note.txt"}
    await house.call(owner, "attachments", {"action": "write", **file, "text": "hello"})
    await until(lambda: house.call(owner, "attachments", {"action": "read", **file}), lambda found: "content" in found)
    return uuid


async def _upload(house: House, owner: Principal, other: Other) -> str:
    """The secret part of an upload link."""
    from pentad.rooms.registers.models import Caller as RegistersCaller

    service = next(one.service for one in house.app.rooms if one.room.name == "registers")
    token, _ = await service.upload_links.create(RegistersCaller(owner), await other("object"), "note.txt")
    return str(token)


async def _export(house: House, owner: Principal, other: Other) -> str:
    """A finished export. Its file was written with its owner's current rights, so only some callers have one."""
    schema, register = await other("schema"), await other("register")
    arguments = {"action": "export", "register": register, "schema": schema, "wait": 50}
    made = await house.call(owner, "transfer", arguments)
    assert made["state"] in ("done", "failed"), made
    return str(made["id"])


async def _import(house: House, owner: Principal, other: Other) -> str:
    """An import that created one object."""
    from pentad.rooms.registers.models import Caller as RegistersCaller
    from pentad.rooms.registers.transfer.imports import ImportOptions

    service = next(one.service for one in house.app.rooms if one.room.name == "registers")
    schema, register = await other("schema"), await other("register")
    caller = RegistersCaller(owner)
    pair = await service.catalogue.pair(caller, int(register), int(schema))
    report = await service.transfers.import_now(caller, pair, io.BytesIO(b"word\nx\n"), "csv", ImportOptions())
    return str(report["transfer"])


async def _task(house: House, owner: Principal, _other: Other) -> str:
    return str((await house.call(owner, "agents_send_task", {"agent": "echo", "text": "hello"}))["task_id"])


async def _approval(house: House, owner: Principal, _other: Other) -> str:
    """An approval that the owner's task waits for; every writer of its organisation except the owner may decide it."""
    from pentad.rooms.agents.approvals.inbox import approval_id_in
    from pentad.rooms.agents.hosting.hosted_agent import hosted
    from pentad.rooms.agents.hosting.turn import Turn
    from pentad.rooms.agents.models import Message, Part

    async def payer(turn: Turn) -> str:
        """Pays what a writer approves."""
        return (await turn.approve("Pay", by="writer")).outcome

    agents = next(one.service for one in house.app.rooms if one.room.name == "agents")
    agents.host(hosted(payer))
    message = Message(id=f"pay-{next(_SLUGS)}", role="user", parts=(Part(text="Pay"),))
    return str(approval_id_in(await agents.tasks.send(owner, "payer", message, dialect="mcp")))


async def _file(house: House, owner: Principal, _other: Other) -> str:
    agents = next(one.service for one in house.app.rooms if one.room.name == "agents")
    return str((await agents.files.write(owner.id, b"x", name="x.txt")).id)


async def _card(house: House, owner: Principal, _other: Other) -> str:
    card = {
        "schemaVersion": "1.0", "humanReadableId": f"acme/agent-{next(_SLUGS)}", "agentVersion": "1", "name": "Oak",
        "description": "An agent.", "url": "https://acme.example/a2a", "provider": {"name": "Acme"},
        "capabilities": {"a2aVersion": "1.0"}, "authSchemes": [{"scheme": "none"}],
    }  # fmt: skip
    made = await house.call(owner, "agents_register_card", {"card": card, "list_in_directory": False})
    return str(made["agent"]["card_id"])


async def _record(house: House, _owner: Principal, _other: Other) -> str:
    record = {
        "name": f"acme.example/agent-{next(_SLUGS)}", "version": "v1.0.0", "schema_version": "1.0.0",
        "description": "An agent.", "authors": ["Acme"], "created_at": "2026-01-02T03:04:05Z",
        "skills": [{"name": "natural_language_processing/natural_language_generation/text_completion", "id": 10201}],
        "domains": [],
        "locators": [], "modules": [],
    }  # fmt: skip
    import json

    made = await house.call(LOCAL, "agntcy_dir_push_record", {"record_json": json.dumps(record)})
    assert made.get("cid"), made
    return str(made["cid"])


_MAKERS: Final[dict[str, Callable[[House, Principal, Other], Awaitable[str]]]] = {
    "register": _register,
    "schema": _schema,
    "object": _object,
    "deleted": _deleted,
    "plan": _plan,
    "view": _view,
    "attached": _attached,
    "upload": _upload,
    "export": _export,
    "import": _import,
    "task": _task,
    "approval": _approval,
    "file": _file,
    "card": _card,
    "record": _record,
}
KINDS: Final = frozenset(_MAKERS)
IN_SCHEMAS: Final = KINDS - {"register", "schema", "task", "card", "record"}
"""Things that are created in a schema of a register."""


@contextlib.asynccontextmanager
async def open_house(folder: Path, database: str | None, **more: Any) -> AsyncGenerator[House]:
    """All rooms and servers, behind credentials, with gRPC on its own port; `more` are settings."""
    limits: Any = Limits(anonymous_per_second=0, logins_per_second=0)
    fixed: dict[str, Any] = {"data": folder, "database": database, "grpc_port": free_port(), "models": folder / "none"}
    async with open_app(Settings(**{**fixed, "limits": limits, **more})) as app, open_ports(app):
        roles = {"reader": "reader", "writer": "writer", "admin": "admin"}
        for name in ("reader", "writer", "admin", "mate", "outsider", "outmate"):
            await app.users.add(name, PASSWORD, role=roles.get(name, "writer"))
        await _found_organisation(app, "beta", ("outsider", "outmate"))
        key = await app.api_keys.create("scoped", scopes=["directory:read"])
        yield House(app, {name: _caller(name, key.token, key.key.credential) for name in CALLERS})


async def _found_organisation(app: App, slug: str, members: tuple[str, ...]) -> None:
    from pentad.rooms.registers.models import Caller as RegistersCaller

    service = next(one.service for one in app.rooms if one.room.name == "registers")
    caller = RegistersCaller(LOCAL)
    await service.organisations.create(caller, slug, slug)
    for name in members:
        await service.organisations.add_member(caller, slug, f"user:{name}")


def _caller(name: str, token: str, credential: str) -> Caller:
    headers: dict[str, str] = {}
    if name == "scoped":
        headers["authorization"] = f"Bearer {token}"
    elif name != "anonymous":
        headers["authorization"] = "Basic " + base64.b64encode(f"{name}:{PASSWORD}".encode()).decode()
    own = _user(_WIRED[name]) if name in _WIRED else Principal(credential, "scoped", _WRITES, "key", credential)
    mate, stranger = ("outmate", "mate") if name == "outsider" else ("mate", "outmate")
    return Caller(name, headers, {"own": own, "shared": _user(mate), "foreign": _user(stranger)})


def _user(name: str) -> Principal:
    """A user from the store, with the right to create things for the test whatever its role."""
    return Principal(f"user:{name}", name, _WRITES, user=f"user:{name}")
