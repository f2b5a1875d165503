"""A client of an avatar on any wire. It checks what holds for every answer."""

import json
from dataclasses import dataclass
from typing import Any

from tests.behaviour.clients import Client, Object


@dataclass
class Door:
    """One open connection; if several avatars are served, each call names Ida Brandt."""

    client: Client
    alone: bool
    avatar: str = "ida-brandt"

    def named(self, arguments: Object) -> Object:
        return arguments if self.alone or "avatar" in arguments else {**arguments, "avatar": self.avatar}

    async def ask(self, tool: str, /, **arguments: Any) -> Object:
        """The answer of an avatar's tool."""
        return await self.call(tool, **self.named(arguments))

    async def call(self, tool: str, /, **arguments: Any) -> Object:
        """The answer of a tool called with exactly these arguments."""
        return (await self.client.call(tool, arguments)).answer(self.client.wire)

    async def refused(self, tool: str, /, **arguments: Any) -> str:
        """The message with which a tool refuses."""
        return await self.complaint(tool, **self.named(arguments))

    async def complaint(self, tool: str, /, **arguments: Any) -> str:
        return (await self.client.call(tool, arguments)).complaint

    async def prompt(self, name: str, **arguments: str) -> str:
        """The text of a prompt: one user message."""
        result = (
            await self.client.request("prompts/get", {"name": name, "arguments": self.named(dict(arguments))})
        ).result
        (message,) = result["messages"]
        assert message["role"] == "user"
        return message["content"]["text"]

    async def read(self, uri: str) -> Any:
        """The text of a resource."""
        (contents,) = (await self.client.request("resources/read", {"uri": uri})).result["contents"]
        assert contents["mimeType"] == "application/json"
        return json.loads(contents["text"])

    async def tools(self) -> dict[str, Object]:
        return {tool["name"]: tool for tool in await self.client.everything("tools/list", "tools")}
