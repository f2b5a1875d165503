"""The linter of contexts over HTTP: the body is a context, the answer all there is to say about it."""

import asyncio
import time
from typing import Any, Final
from urllib.parse import parse_qs

from pentad.kernel.errors import Forbidden, InvalidInput
from pentad.mcp.exchange import HttpExchange
from pentad.platform import Mount, Scope
from pentad.rooms.agents.context.findings import LEVELS, Level
from pentad.rooms.agents.context.lint import lint_text
from pentad.rooms.agents.registry.routes import MethodNotAllowed, refusal, served

PATH: Final = "/api/v1/utils/lint-context"


def linting_mount() -> Mount:
    return Mount(PATH, app=served(_lint), error_response=refusal)


async def _lint(scope: Scope, admitted: HttpExchange) -> tuple[int, Any]:
    if scope["method"] != "POST":
        raise MethodNotAllowed(f"{scope['method']} is not answered here.", hint="Use POST.")
    if not admitted.principal.may("agents", "read"):
        raise Forbidden("This needs the scope agents:read.")
    level = _level(parse_qs(scope["query_string"].decode("latin-1")).get("level", ["standard"])[0])
    report = await asyncio.to_thread(lint_text, admitted.body, level, now=time.time())
    return 200, report.as_json()


def _level(given: str) -> Level:
    for level in LEVELS:
        if given == level:
            return level
    raise InvalidInput(f"level is {given[:40]!r}.", hint=f"Levels are {', '.join(LEVELS)}.")
