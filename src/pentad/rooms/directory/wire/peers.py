"""Opens the other directory of a sync. Its address was judged before; here it is only dialled."""

from typing import Final

from pentad.rooms.directory.records.sync_targets import Peer
from pentad.rooms.directory.wire.client_settings import ClientSettings
from pentad.rooms.directory.wire.remote import RemoteNode

PORTION_SECONDS: Final = 60.0
"""A portion of a sync, or the list of all its records, may take longer than a caller would wait."""


async def open_peer(peer: Peer) -> RemoteNode:
    """A node at the judged address; over TLS its certificate has to carry the name the caller wrote."""
    mode, name = ("tls", peer.host) if peer.tls else ("insecure", "")
    return RemoteNode(ClientSettings(peer.target, mode, server_name=name, deadline=PORTION_SECONDS))
