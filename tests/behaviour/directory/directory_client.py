"""A client of the directory over any connection. It checks what holds for every answer."""

import itertools
import json
from dataclasses import dataclass
from typing import Any

from tests.behaviour.clients import Client, Object, Reply
from tests.rooms.directory.oasf.samples import sample

_NUMBERS = itertools.count(1)


@dataclass
class DirectoryClient:
    """One open connection."""

    client: Client

    async def ask(self, tool: str, **arguments: Any) -> Object:
        """The answer of a tool. Expected failures are fields of it, never tool errors."""
        return (await self.client.call(tool, arguments)).answer(self.client.wire)

    async def refused(self, tool: str, **arguments: Any) -> str:
        """The message with which a tool refuses."""
        return (await self.client.call(tool, arguments)).complaint

    async def prompt(self, name: str, **arguments: str) -> str:
        """The text of a prompt: one message of the user."""
        result = (await self.told(name, **arguments)).result
        (message,) = result["messages"]
        assert message["role"] == "user"
        assert message["content"]["type"] == "text"
        return message["content"]["text"]

    async def told(self, name: str, **arguments: str) -> Reply:
        return await self.client.request("prompts/get", {"name": name, "arguments": arguments})

    async def push(self, record: Object) -> str:
        answer = await self.ask("agntcy_dir_push_record", record_json=json.dumps(record))
        assert "error_message" not in answer, answer
        return answer["cid"]

    async def completed(self, ref: Object, name: str, typed: str, **others: str) -> list[str]:
        asked: Object = {"ref": ref, "argument": {"name": name, "value": typed}}
        if others:
            asked["context"] = {"arguments": others}
        return (await self.client.request("completion/complete", asked)).result["completion"]["values"]


def unique(word: str = "agent") -> str:
    """A name that no other test uses."""
    return f"example.org/{word}-{next(_NUMBERS)}"


def record(oasf: str = "1.0.0", /, **changes: Any) -> Object:
    """A valid record unlike any other."""
    return {**sample(oasf), "name": unique(), **changes}
