"""Searches the peers for published records.

Each peer is asked only for what it publishes itself (`List`), so a search cannot run in circles. Peers that fail or
answer late are reported, not waited for.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from pentad.kernel.errors import PentadError
from pentad.rooms.directory.federation.connections import PeerConnections
from pentad.rooms.directory.federation.peers import Peer, Peers
from pentad.rooms.directory.records.routing import RouteMatch, RouteMatches, RouteQuery

SECONDS: Final = 5.0
MOST_PER_QUERY: Final = 1_000


@dataclass(frozen=True, slots=True)
class PeerRecord:
    """A record that a peer publishes."""

    peer: Peer
    record: RouteMatch


@dataclass(frozen=True, slots=True)
class PeerAnswers:
    """The records of all peers, best matches first; the peers that did not answer, with reasons; and the peers that
    have more than was read."""

    records: Sequence[PeerRecord] = ()
    unreachable: Mapping[str, str] = field(default_factory=dict[str, str])
    truncated: Sequence[str] = ()


class PeerSearch:
    """Asks all peers at once."""

    def __init__(self, peers: Peers, connections: PeerConnections) -> None:
        self._peers = peers
        self._connections = connections

    async def search(self, queries: Sequence[RouteQuery], min_match_score: int = 1) -> PeerAnswers:
        """Records that match enough queries."""
        peers = await self._peers.all() if queries else []
        answers = await asyncio.gather(*(self._ask(peer, queries) for peer in peers))
        enough: list[PeerRecord] = []
        unreachable: dict[str, str] = {}
        truncated: list[str] = []
        for peer, answer in zip(peers, answers, strict=True):
            if isinstance(answer, str):
                unreachable[peer.name] = answer
            else:
                enough += [PeerRecord(peer, one) for one in answer.records if one.score >= max(min_match_score, 1)]
                truncated += [peer.name] if answer.truncated else []
        return PeerAnswers(sorted(enough, key=lambda one: -one.record.score), unreachable, truncated)

    async def _ask(self, peer: Peer, queries: Sequence[RouteQuery]) -> RouteMatches | str:
        """The matching records of a peer, or the reason it did not answer."""
        try:
            async with asyncio.timeout(SECONDS):
                remote = await self._connections.open(peer, SECONDS)
                try:
                    most = MOST_PER_QUERY + 1
                    listed = await asyncio.gather(*(remote.published_records(query, most) for query in queries))
                finally:
                    await remote.close()
        except PentadError as error:
            return error.message
        except TimeoutError:
            return f"It did not answer within {SECONDS:g} seconds."
        labels = {one.cid: one.labels for some in listed for one in some[:MOST_PER_QUERY]}
        routed = [
            RouteMatch(cid, theirs, tuple(query for query in queries if query.matches(theirs)))
            for cid, theirs in labels.items()
        ]
        return RouteMatches(routed, truncated=any(len(some) > MOST_PER_QUERY for some in listed))
