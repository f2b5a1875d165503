"""`/.well-known/ai-catalog.json` and `/.well-known/agent-skills`, for callers who may read the registry."""

from collections.abc import Awaitable, Callable
from typing import Final

import msgspec

from pentad.kernel.errors import NotFound
from pentad.mcp.http_exchange import HttpExchange, Receive, Send
from pentad.platform import AsgiApp, Mount, Scope
from pentad.rooms.directory.interface.registry_api import (
    MethodNotAllowed,
    Readers,
    answered,
    error_response,
    readable_by_pages,
)
from pentad.rooms.directory.registry.catalogs import SKILLS_PATH, Catalogs
from pentad.rooms.directory.service import Directory
from pentad.rooms.directory.translate.agent_skills import SKILL_FILE

CATALOG_PATH: Final = "/.well-known/ai-catalog.json"

Handle = Callable[[Scope, HttpExchange], Awaitable[tuple[bytes, str]]]
"""Answers a request with a body and its media type."""


def catalog_mounts(directory: Directory, readers: Readers) -> list[Mount]:
    """The mounts of both catalogues."""
    catalogs = Catalogs(directory.platform.database)

    async def catalog(scope: Scope, exchange: HttpExchange) -> tuple[bytes, str]:
        site = exchange.public_url or f"{scope['scheme']}://{(exchange.header(b'host') or b'').decode('latin-1')}"
        return msgspec.json.encode(await catalogs.ai_catalog(site.rstrip("/"))), "application/ai-catalog+json"

    async def skills(scope: Scope, _exchange: HttpExchange) -> tuple[bytes, str]:
        rest = scope["path"][len(SKILLS_PATH) :].strip("/")
        if rest == "index.json":
            return msgspec.json.encode(await catalogs.skills_index()), "application/json"
        name, _, file = rest.partition("/")
        skill = await catalogs.skill(name) if file == SKILL_FILE else None
        if skill is None:
            raise NotFound(
                f"There is no skill at {scope['path'][:200]!r}.", hint=f"{SKILLS_PATH}/index.json lists them."
            )
        return skill.content, "text/markdown; charset=utf-8"

    def mount(path: str, app: AsgiApp) -> Mount:
        served = readable_by_pages(app)
        return Mount(
            path, app=served, is_public=lambda method, path: True, error_response=error_response, any_origin=True
        )

    def reading(handle: Handle) -> AsgiApp:
        async def serve(scope: Scope, _receive: Receive, send: Send) -> None:
            exchange: HttpExchange = scope["state"]["exchange"]

            async def work() -> tuple[bytes, str]:
                if scope["method"] not in ("GET", "HEAD"):
                    raise MethodNotAllowed(f"{scope['method']} is not for this path.", hint="It takes GET.")
                readers.check(scope, exchange)
                return await handle(scope, exchange)

            await answered(scope, send, work)

        return serve

    return [mount(CATALOG_PATH, reading(catalog)), mount(SKILLS_PATH, reading(skills))]
