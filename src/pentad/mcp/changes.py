"""How a room says that something changed: inside the transaction that changed it, heard by every process.

Whoever is subscribed, on whichever process and in whichever era, is told after the commit and never for a rollback.

A change can be announced for an audience: a text that only the room itself understands, on one line. Whoever is about
to be told has to be of it, as the room's `hears` says; whether the address can still be read is not asked then.
"""

from typing import Final, Literal

from pentad.kernel.ports import Transaction

CHANNEL: Final = "mcp"

ListKind = Literal["tools", "prompts", "resources"]


def list_changed(transaction: Transaction, kind: ListKind, room: str, audience: str = "") -> None:
    """The room's tools, prompts or resources are others now. Only those who may see them are told."""
    transaction.signal(CHANNEL, _payload(f"list {kind} {room}", audience))


def resource_updated(transaction: Transaction, uri: str, audience: str = "") -> None:
    """The resource at this address reads differently now."""
    transaction.signal(CHANNEL, _payload(f"resource {uri}", audience))


def _payload(change: str, audience: str) -> str:
    return f"{change}\n{audience}" if audience else change
