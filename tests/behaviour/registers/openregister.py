"""A client of the OpenRegister profile that sends anything a test wants and checks everything."""

import json
from typing import Any

from tests.rooms.registers.site import Reply, Site

Object = dict[str, Any]
UNSET: Any = object()


class OpenRegister:
    """One endpoint; `session` is started when first needed."""

    def __init__(self, site: Site, path: str, who: str = "admin") -> None:
        self.site = site
        self.path = path
        self.who = who
        self._session: str | None = None

    async def post(self, body: Any, *, session: str | None = None, who: str | None = None, **headers: str) -> Reply:
        """Any body, with exactly this session header."""
        given = {"content-type": "application/json", **headers}
        if session is not None:
            given["mcp-session-id"] = session
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        return await self.site.send("POST", self.path, raw, who=self.who if who is None else who, headers=given)

    async def initialize(self, params: Any = UNSET, *, who: str | None = None) -> Reply:
        message: Object = {"jsonrpc": "2.0", "id": 1, "method": "initialize"}
        if params is not UNSET:
            message["params"] = params
        return await self.post(message, who=who)

    async def session(self) -> str:
        if self._session is None:
            params = {"protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": {"name": "test"}}
            self._session = (await self.initialize(params)).headers["mcp-session-id"]
        return self._session

    async def request(self, method: str, params: Any = UNSET, *, request_id: Any = 7) -> Object:
        """A whole JSON-RPC answer; it must be HTTP 200 and have one of the two shapes."""
        message: Object = {"jsonrpc": "2.0", "id": request_id, "method": method}
        if params is not UNSET:
            message["params"] = params
        reply = await self.post(message, session=await self.session())
        assert reply.status == 200, reply.body
        answer = reply.json
        assert answer["jsonrpc"] == "2.0"
        assert answer["id"] == request_id
        assert answer.keys() in ({"jsonrpc", "id", "result"}, {"jsonrpc", "id", "error"})
        if "error" in answer:
            assert answer["error"].keys() == {"code", "message"}
        return answer

    async def result(self, method: str, params: Any = UNSET) -> Any:
        answer = await self.request(method, params)
        assert "result" in answer, answer
        return answer["result"]

    async def error(self, method: str, params: Any = UNSET) -> Object:
        answer = await self.request(method, params)
        assert "error" in answer, answer
        return answer["error"]

    async def call(self, tool: str, **arguments: Any) -> Any:
        """A tool's answer, as JSON. A second block is a note for the model."""
        result = await self.result("tools/call", {"name": tool, "arguments": arguments})
        assert result["isError"] is False, result
        assert [block["type"] for block in result["content"]] in (["text"], ["text", "text"])
        return json.loads(result["content"][0]["text"])

    async def failure(self, tool: str, **arguments: Any) -> str:
        """A tool's error."""
        result = await self.result("tools/call", {"name": tool, "arguments": arguments})
        assert result["isError"] is True, result
        assert result["content"][0]["type"] == "text"
        return json.loads(result["content"][0]["text"])["error"]

    async def pair(self) -> tuple[int, int]:
        """A fresh register with a schema of one required property."""
        schema = await self.call(
            "schemas",
            action="create",
            data={
                "title": "Note",
                "properties": {"title": {"type": "string", "maxLength": 50}, "stars": {"type": "integer"}},
                "required": ["title"],
            },
        )
        register = await self.call("registers", action="create", data={"title": "Notes", "schemas": [schema["id"]]})
        return register["id"], schema["id"]
