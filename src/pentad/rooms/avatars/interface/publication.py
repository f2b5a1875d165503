"""The OASF record of an avatar for a directory, and its A2A card.

Both are made from `config.json` and the ingested corpus, so the record and its CID change only when the avatar does.
A server lists its avatars in its own directory (`listing_of`); `publish_records` pushes a record by hand. Both name MCP
as the transport, so A2A clients without MCP ignore the avatar.
"""

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from pentad.kernel.clock import iso
from pentad.kernel.errors import NotFound
from pentad.kernel.principal import Principal
from pentad.listings.listing import Listing
from pentad.listings.offered_agents import OfferedAgent
from pentad.mcp.wire_errors import error_from_result
from pentad.rooms.avatars.config import AvatarConfig
from pentad.rooms.avatars.models import Avatar
from pentad.rooms.avatars.persona import persona_of

if TYPE_CHECKING:
    from pentad.rooms.avatars.service import Avatars

OASF: Final = "1.0.0"
A2A: Final = "0.3.0"
_SKILLS: Final = (
    (60103, "retrieval_augmented_generation/retrieval_of_information/document_retrieval"),
    (10302, "natural_language_processing/information_retrieval_synthesis/question_answering"),
)
_MCP_MODULE: Final = (202, "integration/mcp")
_A2A_MODULE: Final = (203, "integration/a2a")
_AUTHOR: Final = "Pentad avatars"


def address_of(avatar: Avatar, site: str | None) -> str | None:
    """Where the avatar is served alone: as its configuration says, or on the server at `site`."""
    if avatar.config.mcp_server.url or not site:
        return avatar.config.mcp_server.url
    return f"{site.rstrip('/')}/rooms/avatars/{quote(avatar.id)}/mcp"


def record_of(avatar: Avatar, site: str | None) -> dict[str, Any]:
    """The avatar's OASF record: how to reach it over MCP, and its card if it has an address.

    `site` is the server's URL if it is known. A guessed address could lead clients to another server.
    """
    config, url = avatar.config, address_of(avatar, site)
    modules = [_class(_MCP_MODULE) | {"data": _mcp(config, url)}]
    if url:
        modules.append(
            _class(_A2A_MODULE) | {"data": {"card_data": card_of(avatar, site), "card_schema_version": f"v{A2A}"}}
        )
    return {
        "schema_version": OASF,
        "name": config.server_name,
        "version": config.server_version,
        "description": config.description,
        "authors": [_AUTHOR],
        "created_at": iso(avatar.updated_at),
        "skills": [_class(skill) for skill in _SKILLS],
        "domains": [],
        "locators": [{"type": "url", "urls": [url]}] if url else [],
        "modules": modules,
        "annotations": _annotations(avatar),
    }


def listing_of(avatar: Avatar, site: str) -> Listing:
    """The avatar for the directory of this server, at the address where it is served alone."""
    config = avatar.config
    url = f"{site}/rooms/avatars/{quote(avatar.id)}/mcp"
    return Listing(
        key=url,
        name=config.server_name,
        version=config.server_version,
        description=config.description,
        provider=_AUTHOR,
        url=url,
        skills=tuple(name for _, name in _SKILLS),
        modules={_MCP_MODULE[1]: _mcp(config, config.mcp_server.url or url)},
        annotations=_annotations(avatar),
    )


def offer_of(avatar: Avatar, site: str) -> OfferedAgent:
    """The avatar as an agent: a task is a question, and its result is an answer with citations."""
    config = avatar.config
    tags = [*config.expertise, "citations"]
    answers = {
        "id": "answer",
        "name": f"Ask {config.name}",
        "description": f"Answers from its corpus alone, with citations. {config.description}",
        "tags": tags,
    }
    return OfferedAgent(
        name=avatar.id,
        title=config.name,
        description=f"{config.description} {persona_of(config).label}",
        version=config.server_version,
        listing=listing_of(avatar, site),
        tool="generate_response",
        question="question",
        answer="response",
        arguments={"avatar": avatar.id},
        conversation="context",
        skills=(answers,),
        tags=tuple(tags),
    )


async def records_of(avatars: "Avatars", avatar_id: str | None, site: str | None) -> list[tuple[str, dict[str, Any]]]:
    """The ids and records of one avatar, or of all, served at `site`."""
    ids = [one.id for one in await avatars.list()] if avatar_id is None else [avatar_id]
    return [(one, record_of((await avatars.open(one)).avatar, site)) for one in ids]


async def publish_records(
    avatars: "Avatars", caller: Principal, avatar_id: str | None, site: str | None
) -> list[dict[str, Any]]:
    """Push the records to the directory with the caller's rights, through the directory's own tool."""
    pushed: list[dict[str, Any]] = []
    for one, record in await records_of(avatars, avatar_id, site):
        given = {"record_json": json.dumps(record)}
        result = await avatars.platform.neighbours.call_tool(caller, "agntcy_dir_push_record", given)
        if result.get("isError"):
            raise error_from_result(result)
        pushed.append({"avatar": one, **result["structuredContent"]})
    return pushed


def card_of(avatar: Avatar, site: str | None) -> dict[str, Any]:
    """The avatar's A2A card; NotFound if the avatar has no address."""
    config, url = avatar.config, address_of(avatar, site)
    if not url:
        hint = "Give its config.json an mcpServer.url, or the server a public_url."
        raise NotFound(f"{avatar.id} has no address for a card.", hint=hint)
    tags = [*config.expertise, "citations"]
    return {
        "protocolVersion": A2A,
        "name": config.name,
        "description": f"{config.description} {persona_of(config).label}",
        "url": url,
        "preferredTransport": "MCP",
        "version": config.server_version,
        "capabilities": {"streaming": False},
        "defaultInputModes": ["text/plain"],
        "defaultOutputModes": ["text/plain", "application/json"],
        "skills": [
            {"id": name, "name": title, "description": _first_line(description), "tags": tags}
            for name, title, description in _tools(config)
        ],
    }


def _mcp(config: AvatarConfig, url: str | None) -> dict[str, Any]:
    connections: list[dict[str, Any]] = [
        {"type": "stdio", "command": "pentad", "args": ["avatars", "serve", "--avatar", config.id]}
    ]
    if url:
        connections.insert(0, {"type": "streamable-http", "url": url})
    tools = [{"name": name, "description": _first_line(text)} for name, _, text in _tools(config)]
    return {"name": config.server_name, "connections": connections, "tools": tools}


def _annotations(avatar: Avatar) -> Mapping[str, str]:
    """Metadata that helps to choose among avatars. OASF annotations are strings."""
    persona = persona_of(avatar.config)
    told = {
        "avatar": avatar.id,
        "label": persona.label,
        "expertise": ", ".join(persona.expertise),
        "documents": str(avatar.documents),
        "passages": str(avatar.passages),
        "period": "-".join(str(year) for year in (persona.begins, persona.ends) if year is not None),
    }
    return {key: value for key, value in told.items() if value}


def _tools(config: AvatarConfig) -> Sequence[tuple[str, str, str]]:
    from pentad.rooms.avatars.interface.single_avatar import offered

    return [(tool.name, tool.title or tool.name, tool.description) for tool in offered(config)]


def _class(known: tuple[int, str]) -> dict[str, Any]:
    return {"id": known[0], "name": known[1]}


def _first_line(text: str) -> str:
    return text.partition("\n")[0]
