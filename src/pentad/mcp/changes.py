"""How a room says that something changed: inside the transaction that changed it, heard by every process.

Whoever is subscribed, on whichever process and in whichever era, is told after the commit and never for a rollback.
"""

from typing import Final, Literal

from pentad.kernel.ports import Transaction

CHANNEL: Final = "mcp"

ListKind = Literal["tools", "prompts", "resources"]


def list_changed(transaction: Transaction, kind: ListKind, room: str) -> None:
    """The room's tools, prompts or resources are others now. Only those who may see them are told."""
    transaction.signal(CHANNEL, f"list {kind} {room}")


def resource_updated(transaction: Transaction, uri: str) -> None:
    """The resource at this address reads differently now."""
    transaction.signal(CHANNEL, f"resource {uri}")
