"""Opens connections to peers, with the credentials of each."""

from pathlib import Path
from typing import TYPE_CHECKING, Final

from pentad.kernel.clock import Clock
from pentad.kernel.ports import Fetcher
from pentad.rooms.directory.federation.peers import Peer
from pentad.rooms.directory.records.syncs import PeerGuard, parse_peer

if TYPE_CHECKING:
    from pentad.rooms.directory.remote.node import RemoteNode

PORTION_SECONDS: Final = 60.0
"""Seconds that a call of a subscription may take."""


class PeerConnections:
    """Opens connections to peers. gRPC is loaded with the first one."""

    def __init__(self, guard: PeerGuard, fetcher: Fetcher, data: Path, clock: Clock) -> None:
        self._guard = guard
        self._fetcher = fetcher
        self._data = data
        self._clock = clock

    async def open(self, peer: Peer, deadline: float = PORTION_SECONDS) -> "RemoteNode":
        """Connect to a peer, at a checked address."""
        from pentad.rooms.directory.remote.client_settings import ClientSettings, OidcSettings
        from pentad.rooms.directory.remote.node import RemoteNode
        from pentad.rooms.directory.remote.oidc import OidcTokens

        place, given = await self._guard.resolve(parse_peer(peer.url)), peer.credentials
        settings = ClientSettings(
            place.target,
            "tls" if place.tls else "insecure",
            token=given.token,
            server_name=place.host if place.tls else "",
            deadline=deadline,
            oidc=OidcSettings(
                given.issuer.rstrip("/"),
                given.client_id,
                given.client_secret,
                given.scopes,
                given.audience,
                issuer_setting=f"the issuer of the peer {peer.name}",
            ),
            roots=given.ca.encode(),
            chain=given.certificate.encode(),
            private_key=given.private_key.encode(),
        )
        tokens = OidcTokens(settings, self._fetcher, self._data, self._clock) if given.auth == "oauth" else None
        return RemoteNode(settings, tokens, self._clock)
