"""A register with things that a reader and a writer may see, and of each kind one that they may not."""

import re
from dataclasses import dataclass
from typing import Any

from pentad.kernel.principal import LOCAL
from pentad.rooms.registers.models import Caller
from pentad.rooms.registers.transfer.transfer_jobs import JOB
from tests.rooms.registers.site import Object, Site

ABSENT_UUID = "00000000-0000-7000-8000-00000000dead"
SEEN: Object = {"group": "authenticated", "match": {"state": "open"}}
RULES: Object = {"read": [SEEN], "create": ["writer"], "update": ["writer"], "delete": ["writer"]}
PROPERTIES: Object = {
    "state": {"type": "string"},
    "code": {"type": "string"},
    "link": {"type": "string", "$ref": "case"},
}


@dataclass(frozen=True)
class Target:
    """A name of something hidden, and one of the same kind and length that names nothing."""

    hidden: str
    absent: str


@dataclass
class World:
    """Where everything is. `targets` are by kind: object, deleted, register, schema, change, plan, view, webhook,
    transfer."""

    site: Site
    register: int
    schema: int
    own: str
    """An object of the writer's that may be changed."""
    targets: dict[str, list[Target]]


def masked(text: str, target: Target, named: str) -> str:
    """An answer without the name that was asked for."""
    assert named == target.hidden or target.hidden not in text or len(target.hidden) < 4
    return re.sub(rf"(?<![\w-]){re.escape(named)}(?![\w-]|\.\d)", "<named>", text, flags=re.IGNORECASE)


def put(template: Any, named: str) -> Any:
    """A request with the name in the places of `{}`."""
    if isinstance(template, dict):
        return {key: put(value, named) for key, value in template.items()}  # pyright: ignore[reportUnknownVariableType]  plain JSON
    if isinstance(template, list):
        return [put(value, named) for value in template]  # pyright: ignore[reportUnknownVariableType]  likewise
    return template.replace("{}", named) if isinstance(template, str) else template


async def make_world(site: Site) -> World:
    schema = await site.made(
        "/schemas",
        {
            "title": "Case", "slug": "case", "properties": PROPERTIES, "authorization": RULES,
            "configuration": {"objectSlugField": "code"},
        },
    )  # fmt: skip
    register = await site.made("/registers", {"title": "Cases", "slug": "cases", "schemas": [schema["id"]]})
    place = f"/objects/{register['id']}/{schema['id']}"
    only_admins = {"read": ["admin"]}
    closed = await site.made(
        "/schemas", {"title": "Closed", "slug": "closed-one", "properties": PROPERTIES, "authorization": only_admins}
    )
    vault = await site.made(
        "/registers",
        {"title": "Vault", "slug": "vault-one", "schemas": [closed["id"]], "authorization": only_admins},
    )
    await site.made(place, {"state": "open", "code": "seen"})
    hidden = await site.made(place, {"state": "secret", "code": "hidden-one"})
    item = f"/api{place}/{hidden['id']}"
    assert (await site.send("PUT", f"{item}/files/a.txt", b"text")).status == 201
    assert (await site.send("PATCH", item, {"code": "hidden-two"})).status == 200
    assert (await site.send("POST", f"{item}/lock", {})).status == 200
    deleted = await site.made(place, {"state": "secret", "code": "gone"})
    assert (await site.send("DELETE", f"/api{place}/{deleted['id']}")).status == 204
    own = await site.made(place, {"state": "open", "code": "own"}, who="writer")
    changes = (await site.send("GET", f"{item}/history")).json["results"]
    operation = {"action": "patch", "id": hidden["id"], "data": {"code": "x"}}
    plan = await site.made("/plans", {"register": "cases", "schema": "case", "operations": [operation]})
    view = await site.made("/views", {"title": "Mine", "register": "cases", "schema": "case", "query": {}})
    hook = await site.made("/webhooks", {"url": "https://hook.example/"})
    owner = Caller(LOCAL)
    pair = await site.registers.catalogue.pair(owner, "cases", "case")
    transfer = await site.registers.transfers.start_export(owner, pair, "csv", {})
    await site.app.jobs.wait_until_done(JOB, transfer.id, 30)

    def of(entity: Object, kind: str) -> list[Target]:
        slugs = {"register": ("vault-one", "vault-two"), "schema": ("closed-one", "closed-two")}
        return [
            Target(entity["uuid"], ABSENT_UUID), Target(*slugs[kind]), Target(str(entity["id"]), "9876543"),
        ]  # fmt: skip

    return World(
        site,
        register["id"],
        schema["id"],
        own["id"],
        {
            "object": [
                Target(hidden["id"], ABSENT_UUID),
                Target(hidden["id"].upper(), ABSENT_UUID.upper()),
                Target("hidden-two", "hidden-six"),
            ],
            "deleted": [Target(deleted["id"], ABSENT_UUID)],
            "register": of(vault, "register"),
            "schema": of(closed, "schema"),
            "change": [Target(str(changes[0]["id"]), "9876543")],
            "plan": [Target(plan["id"], plan["id"][::-1])],
            "view": [Target(view["id"], view["id"][::-1])],
            "webhook": [Target(hook["id"], hook["id"][::-1])],
            "transfer": [Target(transfer.id, transfer.id[::-1])],
        },
    )
