"""A shelf: a register of books, and a client that uses the tools on it."""

import json
from dataclasses import dataclass
from typing import Any

from pentad.mcp.connection import MemoryClient
from tests.rooms.registers.site import Object

BOOK: Object = {
    "title": "Book",
    "properties": {
        "title": {"type": "string"},
        "author": {"type": "string", "facetable": True},
        "pages": {"type": "integer", "minimum": 1},
        "isbn": {"type": "string"},
        "printed": {"type": "string", "format": "date"},
    },
    "required": ["title"],
}


@dataclass
class Shelf:
    """A client with a fresh register of books."""

    client: MemoryClient
    register: int
    schema: int

    async def raw(self, tool: str, **arguments: Any) -> Object:
        return await self.client.call_tool(tool, arguments)

    async def objects(self, action: str, **arguments: Any) -> Any:
        result = await self.raw("objects", action=action, register=self.register, schema=self.schema, **arguments)
        assert result["isError"] is False, result
        assert json.loads(result["content"][0]["text"]) == result["structuredContent"]
        return result["structuredContent"]

    async def refusal(self, action: str, **arguments: Any) -> tuple[str, Object]:
        result = await self.raw("objects", action=action, register=self.register, schema=self.schema, **arguments)
        assert result["isError"] is True, result
        return result["content"][0]["text"], result["_meta"]["pentad/error"]

    async def book(self, title: str, **data: Any) -> Object:
        return await self.objects("create", data={"title": title, **data})
