"""The fake platform over real HTTP: every route the collectors call, with login, headers, paging, limits and faults.

A wrong scope header returns an empty list instead of an error, as on the platform. `/_journal`, `/_faults`, `/_expire`
and `/_reset` control the fake; they are not in the journal.
"""

import asyncio
import json
import random
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs

from aiohttp import web

from tests.anypoint.faults import Fault, Faults
from tests.anypoint.journal import Journal
from tests.anypoint.logins import Logins
from tests.anypoint.platform_request import PlatformRequest, Refused
from tests.anypoint.routes import answered, route_of
from tests.anypoint.world import World

LOGIN_PAGE = b"<!DOCTYPE html><html><body><form>Sign in</form></body></html>"


@dataclass
class Behaviour:
    """Latency, rate limit and login rules of the platform."""

    latency: float = 0.0
    jitter: bool = False
    """Latency is lognormal around its median instead of constant."""
    latencies: dict[str, float] = field(default_factory=dict[str, float])
    rate_limit: int | None = None
    """Requests per window; further ones are refused until the window ends."""
    window: float = 60.0
    user_only_routes: bool = False
    """Whether connected apps are refused on routes that need a user."""


class Platform:
    """One fake platform."""

    def __init__(
        self,
        world: World,
        *,
        logins: Logins | None = None,
        faults: list[Fault] | None = None,
        behaviour: Behaviour | None = None,
    ) -> None:
        self.world = world
        self.logins = logins or Logins()
        self.faults = Faults(faults)
        self.behaviour = behaviour or Behaviour()
        self.journal = Journal()
        self.url = ""
        self._window = (0, 0)
        self._dice = random.Random(world.seed)

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.path.startswith("/_"):
            return await self._control(request)
        asked = PlatformRequest(
            request.method, request.path, {name: values[-1] for name, values in parse_qs(request.query_string).items()},
            {name.lower(): value for name, value in request.headers.items()}, await request.read(),
        )  # fmt: skip
        route = route_of(asked)
        self.journal.begin(route, request.path_qs, asked)
        try:
            return await self._answer(request, asked, route)
        finally:
            self.journal.end()

    async def _answer(self, request: web.BaseRequest, asked: PlatformRequest, route: str) -> web.StreamResponse:
        await asyncio.sleep(self._latency(route))
        limits, over = self._counted()
        if over:
            status = 503 if asked.path.startswith("/accounts") else 429
            return web.Response(status=status, headers=limits)
        scope = " ".join(asked.headers.get(name, "") for name in ("x-anypnt-env-id", "x-anypnt-org-id"))
        fault = self.faults.take(route, f"{request.path_qs} {scope} {asked.body[:2000].decode(errors='replace')}")
        if fault is not None and (early := await self._early(request, fault)) is not None:
            return early
        try:
            value = answered(
                self.world, self.logins, asked, route, user_only=self.behaviour.user_only_routes, fault=fault
            )
        except Refused as refused:
            return web.Response(status=refused.status, headers=limits, body=b"{}", content_type="application/json")
        body = json.dumps(value).encode()
        if fault is not None and fault.kind == "truncated":
            body = body[: len(body) // 2]
        return web.Response(body=body, content_type="application/json", headers=limits)

    async def _early(self, request: web.BaseRequest, fault: Fault) -> web.StreamResponse | None:
        if fault.kind == "slow":
            await asyncio.sleep(fault.seconds)
        elif fault.kind == "reset" and request.transport is not None:
            request.transport.abort()
        elif fault.kind == "html":
            return web.Response(body=LOGIN_PAGE, content_type="text/html")
        elif fault.kind == "invalid-json":
            return web.Response(body=b'{"data": [nonsense', content_type="application/json")
        elif fault.kind == "wrong-types":
            return web.json_response(["two", 2, None, {"id": [], "data": "none", "total": "many"}])
        elif fault.kind == "expired":
            self.logins.expire()
        elif fault.kind == "status":
            headers = dict(fault.headers)
            if fault.seconds:
                headers["X-RateLimit-Reset"] = f"{time.time() + fault.seconds:.3f}"
            return web.Response(status=fault.status, headers=headers)
        return None

    def _latency(self, route: str) -> float:
        median = self.behaviour.latencies.get(route, self.behaviour.latency)
        return median * self._dice.lognormvariate(0.0, 0.5) if self.behaviour.jitter else median

    def _counted(self) -> tuple[dict[str, str], bool]:
        """The rate-limit headers, and whether this request exceeds the limit."""
        limit = self.behaviour.rate_limit
        if limit is None:
            return {}, False
        window = int(time.time() / self.behaviour.window)
        number = self._window[1] + 1 if self._window[0] == window else 1
        self._window = (window, number)
        headers = {
            "X-RateLimit-Limit": str(limit),
            "X-RateLimit-Remaining": str(max(0, limit - number)),
            "X-RateLimit-Reset": f"{(window + 1) * self.behaviour.window:.3f}",
        }
        return headers, number > limit

    async def _control(self, request: web.BaseRequest) -> web.Response:
        if request.path == "/_faults" and request.method == "POST":
            self.faults.set(json.loads(await request.read()))
        elif request.path == "/_expire" and request.method == "POST":
            self.logins.expire()
        elif request.path == "/_reset" and request.method == "POST":
            self.journal.clear()
            self.faults.plan = []
        elif request.path != "/_journal":
            return web.Response(status=404)
        return web.json_response(self.journal.as_json())


@asynccontextmanager
async def serving(platform: Platform, port: int = 0) -> AsyncGenerator[Platform]:
    """Serve the platform at `platform.url`."""
    runner = web.ServerRunner(web.Server(platform.handle), shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", port)
    await site.start()
    address: Any = runner.addresses[0]
    platform.url = f"http://127.0.0.1:{address[1]}"
    try:
        yield platform
    finally:
        await runner.cleanup()
