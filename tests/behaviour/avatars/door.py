"""A client of an avatar on any wire, which checks of every answer what holds for all of them."""

import json
from dataclasses import dataclass
from typing import Any

from tests.behaviour.clients import Client, Object

WITHOUT_STRUCTURE = ("2024-11-05", "2025-03-26")


@dataclass
class Door:
    """One open connection; where several avatars are served, Ida Brandt is named in each call."""

    client: Client
    alone: bool
    avatar: str = "ida-brandt"

    def named(self, arguments: Object) -> Object:
        return arguments if self.alone or "avatar" in arguments else {**arguments, "avatar": self.avatar}

    async def ask(self, tool: str, /, **arguments: Any) -> Object:
        """What a tool of an avatar answers."""
        return await self.call(tool, **self.named(arguments))

    async def call(self, tool: str, /, **arguments: Any) -> Object:
        """What a tool answers, with exactly these arguments."""
        result = (await self.client.call(tool, arguments)).result
        assert not result.get("isError"), result
        assert [block["type"] for block in result["content"]] == ["text"], "exactly one text"
        answer = json.loads(result["content"][0]["text"])
        if self.client.wire.revision in WITHOUT_STRUCTURE:
            assert "structuredContent" not in result
        else:
            assert result["structuredContent"] == answer, "the same twice"
        return answer

    async def refused(self, tool: str, /, **arguments: Any) -> str:
        """What a tool complains about, when it refuses."""
        return await self.complaint(tool, **self.named(arguments))

    async def complaint(self, tool: str, /, **arguments: Any) -> str:
        reply = await self.client.call(tool, arguments)
        if "error" in reply.final:
            return json.dumps(reply.final["error"])
        assert reply.result["isError"] is True, reply.result
        return reply.text

    async def prompt(self, name: str, **arguments: str) -> str:
        """The text of a prompt: one message of the user."""
        result = (
            await self.client.request("prompts/get", {"name": name, "arguments": self.named(dict(arguments))})
        ).result
        (message,) = result["messages"]
        assert message["role"] == "user"
        return message["content"]["text"]

    async def read(self, uri: str) -> Any:
        """What a resource says."""
        (contents,) = (await self.client.request("resources/read", {"uri": uri})).result["contents"]
        assert contents["mimeType"] == "application/json"
        return json.loads(contents["text"])

    async def tools(self) -> dict[str, Object]:
        return {tool["name"]: tool for tool in await self.client.everything("tools/list", "tools")}
