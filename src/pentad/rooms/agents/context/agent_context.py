"""The context as an agent sees it, in the server or in a separate process."""

from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any


class AgentContext(Mapping[str, Any]):
    """The context an agent receives: a mapping (`context["items"]["doc"]`), and access to the contents.

    `await context.content("doc")` resolves the item's reference on demand, with the rights of the sender.
    """

    def __init__(self, whole: Mapping[str, Any], content: Callable[[str], Awaitable[Any]]) -> None:
        """`content` finds the content of an item: its own, or what its reference points to."""
        self._whole = whole
        self._content = content

    def __getitem__(self, key: str) -> Any:
        return self._whole[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._whole)

    def __len__(self) -> int:
        return len(self._whole)

    @property
    def items_by_name(self) -> dict[str, Any]:
        return self._whole["items"]

    async def content(self, name: str) -> Any:
        """The content of an item: its own, or what its reference points to."""
        return await self._content(name)
