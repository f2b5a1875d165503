"""Where objects come from (`Room.lineage`): each version comes from its change and the version before.

The history already records who changed an object, by which call or task, when and why, so nothing else is stored.
"""

import re
from typing import Final
from urllib.parse import unquote

from pentad.kernel.errors import PentadError
from pentad.kernel.events import Event
from pentad.kernel.principal import Principal
from pentad.kernel.provenance import Link, Origin, Thing, person
from pentad.rooms.registers.interface.resources import SCHEME, split_moment
from pentad.rooms.registers.models import Caller, Pair, StoredObject
from pentad.rooms.registers.objects.change_log import Change
from pentad.rooms.registers.objects.uri_references import uris_in
from pentad.rooms.registers.query.models import AsOf
from pentad.rooms.registers.service import Registers

_OBJECT: Final = re.compile(rf"{SCHEME}objects/([^/?#]+)/([^/?#]+)/([^/?#]+(?:\?[^#]*)?)")
_STATES: Final = frozenset({"create", "update", "delete", "restore", "revert", "migrate"})
_LOOKED_AT: Final = 50
_TASK: Final = "agents://"


async def lineage(registers: Registers, principal: Principal, uri: str) -> Origin | None:
    """The lineage of an object, or of one of its earlier states."""
    if (found := _OBJECT.fullmatch(uri)) is None:
        return None
    caller = Caller(principal)
    register, schema, last = (unquote(part) for part in found.groups())
    ref, as_of = split_moment(last, registers.now())
    pair = await registers.catalogue.pair(caller, register, schema)
    stored = await registers.objects.get(caller, pair, ref, as_of=as_of)
    before = None if as_of is None or as_of.change is None else as_of.change + 1
    changes = await registers.history.of(caller, pair, stored.uuid, limit=_LOOKED_AT, before=before)
    made = [one for one in changes if one.action in _STATES and _is_before(one, as_of)]
    label = pair.definition.name_of(stored.data) or stored.uuid
    if pair.definition.headings_from(registers.access.hidden(caller, pair, stored.data, stored.owner)):
        label = stored.uuid
    facts = {"version": str(stored.version), "schema": pair.schema.slug, "register": pair.register.slug}
    address = stored.uri if as_of is None or not made else f"{stored.uri}?asOf=change:{made[0].seq}"
    thing = Thing(address, "entity", "object", label, stored.updated_at, facts=facts)
    links: list[Link] = []
    if made:
        links += _made_by(made[0])
        if len(made) > 1 and made[1].action != "delete":
            links.append(Link("wasDerivedFrom", f"{stored.uri}?asOf=change:{made[1].seq}", role="previous version"))
    links += _references(registers, caller, pair, stored)
    return Origin(thing, links)


async def last_name(registers: Registers, principal: Principal, event: Event) -> str:
    """What the subject of an event was called before it was deleted; if that is not known, what it was."""
    pair_of, number = event.data.get("schema"), event.data.get("change")
    caller = Caller(principal)
    try:
        before = await lineage(registers, principal, f"{event.subject}?asOf=change:{int(str(number)) - 1}")
        if before is not None and before.thing.label != event.data.get("uuid"):
            return before.thing.label
    except (PentadError, ValueError):  # it was erased, or hidden from this visitor
        pass
    try:
        schema = await registers.catalogue.schemas.get(caller, str(pair_of))
    except PentadError:
        return "a deleted object"
    return f"a deleted {schema.title or schema.slug}"


def _is_before(change: Change, as_of: AsOf | None) -> bool:
    return as_of is None or as_of.at is None or change.at <= as_of.at


def _made_by(change: Change) -> list[Link]:
    """The task or call that made a version, and who made it."""
    if change.call is not None and change.call.startswith(_TASK):
        return [Link("wasGeneratedBy", change.call.partition("#")[0], change.at, change.action)]
    uri = f"urn:pentad:call:{change.call or f'change-{change.seq}'}"
    facts = {name: text for name, text in (("reason", change.reason), ("plan", change.plan)) if text}
    call = Thing(uri, "activity", "call", change.action, change.at, change.at, facts)
    who = person(change.principal)
    links = [Link("wasGeneratedBy", call, change.at, change.action), Link("wasAssociatedWith", who, source=uri)]
    if change.agent:
        program = Thing(f"urn:pentad:client:{change.agent}", "agent", "program", change.agent)
        links += [Link("wasAssociatedWith", program, source=uri), Link("actedOnBehalfOf", who, source=program.uri)]
    return links


def _references(registers: Registers, caller: Caller, pair: Pair, stored: StoredObject) -> list[Link]:
    """The targets of its `uri-reference` properties that the caller may read."""
    hidden = registers.access.hidden(caller, pair, stored.data, stored.owner)
    return [
        Link("wasInfluencedBy", uri, role=".".join(path))
        for path, uri in uris_in(pair.definition, stored.data)
        if path[0] not in hidden and ":" in uri
    ]
