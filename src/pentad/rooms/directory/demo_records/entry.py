"""How the demo's records are written down: once, without regard to the OASF version they come in.

Classes are named by their last part; ids and full names come from the tables. Every version says the same things in its
own words, and `record` is where those words are. It knows no more of OASF than these records need.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from pentad.rooms.directory.oasf.taxonomy import ClassEntry, taxonomy
from pentad.rooms.directory.oasf.versions import Family

Json = dict[str, Any]

_OLD_LOCATORS: Final = {"container_image": "docker_image", "package": "python_package"}
_NOTE: Final = "ZGVtbyBvbmx5"
"""What stands in the signature OASF 0.3.1 wants inside a record: "demo only". Nobody checks that one."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One version of one agent."""

    name: str
    version: str
    oasf: str
    created: str
    description: str
    author: str
    skills: str
    domains: str = ""
    locators: Mapping[str, str] = field(default_factory=dict[str, str])
    modules: "tuple[Module, ...]" = ()
    annotations: Mapping[str, str] = field(default_factory=dict[str, str])
    published: bool = False
    follows: bool = False
    """Name the version before this one by its CID, where the OASF version has a place for that."""

    @property
    def short(self) -> str:
        return self.name.rpartition("/")[2]


Module = Callable[[Entry], Json]
"""Makes the module of a record, in the words of its version."""


def record(entry: Entry, previous: str | None = None) -> Json:
    """The record itself; `previous` is the CID of the version before."""
    data: Json = {
        "schema_version": entry.oasf,
        "name": entry.name,
        "version": entry.version,
        "description": entry.description,
        "authors": [entry.author],
        "created_at": f"{entry.created}T09:00:00Z",
        "skills": [_skill(entry.oasf, name) for name in entry.skills.split()],
        "locators": [_locator(entry.oasf, kind, url) for kind, url in entry.locators.items()],
    }
    if entry.annotations:
        data["annotations"] = dict(entry.annotations)
    modules = [module(entry) for module in entry.modules]
    if entry.oasf == "0.3.1":
        return {**data, "extensions": modules, "signature": _signature(data["created_at"])}
    data["domains"] = [_class(entry.oasf, "domain", name) for name in entry.domains.split()]
    if modules:
        data["modules"] = modules
    if previous is not None and entry.follows:
        data["previous_record_cid"] = previous
    return data


def a2a(url: str, *skills: tuple[str, str]) -> Module:
    """An A2A card with these skills, each a name and what it does."""

    def made(entry: Entry) -> Json:
        card = {
            "protocolVersion": "0.3.0",
            "name": entry.short.replace("-", " ").capitalize(),
            "description": entry.description,
            "url": url,
            "preferredTransport": "JSONRPC",
            "version": entry.version.removeprefix("v"),
            "capabilities": {"streaming": True},
            "defaultInputModes": ["text/plain"],
            "defaultOutputModes": ["text/plain"],
            "skills": [
                {"id": name.replace(" ", "-"), "name": name.capitalize(), "description": what, "tags": name.split()}
                for name, what in skills
            ],
        }
        if entry.oasf in ("0.7.0", "0.8.0"):
            data = {"card_data": card, "protocol_version": "0.3.0", "transports": ["jsonrpc"]}
            return _module(entry, "a2a", data | {"capabilities": ["streaming"], "input_modes": ["text/plain"]})
        return _module(entry, "a2a", {"card_data": card, "card_schema_version": "v0.3.0"})

    return made


def mcp(run: str, *tools: tuple[str, str], needs: str = "") -> Module:
    """An MCP server: a URL or a command line, its tools, and the variable that must hold an access token."""

    def made(entry: Entry) -> Json:
        listed = [{"name": name, "description": what} for name, what in tools]
        variables = [{"name": needs, "description": f"Access token of {entry.short}.", "required": True}]
        remote = run.startswith("https://")
        command, *arguments = run.split()
        target: Json = {"url": run} if remote else {"command": command, "args": arguments}
        if needs:
            target["env_vars"] = variables
        if entry.oasf in ("0.7.0", "0.8.0"):
            kind = "http" if remote else "local"
            server = {"name": entry.short, "type": kind, "capabilities": ["notify"], "tools": listed, **target}
            return _module(entry, "mcp", {"servers": [server]})
        connection = {"type": "streamable-http" if remote else "stdio", **target}
        return _module(entry, "mcp", {"name": entry.short, "connections": [connection], "tools": listed})

    return made


def skill(what: str, *tools: str, licence: str = "Apache-2.0") -> Module:
    """A skill folder with its SKILL.md."""

    def made(entry: Entry) -> Json:
        manifest = {"name": entry.short, "description": what, "license": licence, "allowed_tools": list(tools)}
        return _module(entry, "agentskills", {"skill_file": "SKILL.md", "skill_manifest": manifest})

    return made


def prompt(name: str, what: str) -> Module:
    """A prompt people call by a command."""

    def made(entry: Entry) -> Json:
        return _module(entry, "prompt", {"prompts": [{"name": name, "description": what, "command": f"/{name}"}]})

    return made


def observed(platform: str) -> Module:
    """Where the agent's traces go."""

    def made(entry: Entry) -> Json:
        traces = {"name": "traces", "version": "v1.0.0", "url": f"https://{entry.name.partition('/')[0]}/traces.json"}
        data = {
            "communication_protocols": ["HTTP_1.1"],
            "data_platform_integrations": [platform],
            "data_schema": traces,
            "export_format": "json",
        }
        if entry.oasf == "0.3.1":
            return {"name": "schema.oasf.agntcy.org/features//observability", "version": "v1.0.0", "data": data}
        short = "observability_observability" if entry.oasf == "0.7.0" else "observability"
        return _module(entry, short, data)

    return made


def note(name: str, **data: Any) -> Module:
    """An extension of one's own, as 0.3.1 allows under any name and 0.7.0 and 0.8.0 do for modules."""
    return lambda entry: {"name": name, "data": data}


def _module(entry: Entry, short: str, data: Json) -> Json:
    return {**_class(entry.oasf, "module", short), "data": data}


def _class(oasf: str, family: Family, short: str) -> Json:
    entry = _entry(oasf, family, short)
    return {"id": entry.id, "name": entry.name}


def _skill(oasf: str, short: str) -> Json:
    if oasf != "0.3.1":
        return _class(oasf, "skill", short)
    entry = _entry(oasf, "skill", short)
    return {"class_uid": entry.id, "category_uid": int(str(entry.id)[:1]), "class_name": entry.caption}


def _entry(oasf: str, family: Family, short: str) -> ClassEntry:
    found = taxonomy(oasf, family).by_name(short)
    if found is None:
        raise LookupError(f"OASF {oasf} has no {family} {short}")
    return found


def _locator(oasf: str, kind: str, url: str) -> Json:
    if oasf >= "1":
        return {"type": kind, "urls": [url]}
    old = _OLD_LOCATORS.get(kind, kind)
    return {"type": old.replace("_", "-") if oasf == "0.3.1" else old, "url": url}


def _signature(at: str) -> Json:
    texts = {"certificate": _NOTE, "content_bundle": _NOTE, "signature": _NOTE}
    return {**texts, "algorithm": "none", "content_type": "application/json", "signed_at": at}
