"""A client of an avatar on any wire, which checks of every answer what holds for all of them."""

import json
from dataclasses import dataclass
from typing import Any

from tests.behaviour.clients import Client, Object


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
        return (await self.client.call(tool, arguments)).answer(self.client.wire)

    async def refused(self, tool: str, /, **arguments: Any) -> str:
        """What a tool complains about, when it refuses."""
        return await self.complaint(tool, **self.named(arguments))

    async def complaint(self, tool: str, /, **arguments: Any) -> str:
        return (await self.client.call(tool, arguments)).complaint

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
