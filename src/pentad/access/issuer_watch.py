"""Whether the issuers of tokens can be reached, found out beside the requests.

A server asks each issuer for its keys when it starts and every few minutes, so that `/readyz` can tell without asking,
and a token seldom has to wait for keys.
"""

import asyncio
from collections.abc import Mapping
from typing import Final

from pentad.access.jwks import REFRESH_AT_MOST_EVERY
from pentad.access.tokens import TokenVerifier
from pentad.kernel.background import Background

EVERY_SECONDS: Final = 300.0


class IssuerWatch:
    """Keeps the keys of all issuers fresh while started."""

    def __init__(self, tokens: TokenVerifier) -> None:
        self._keys = {name: issuer.keys for name, issuer in tokens.issuers.items()}
        self._background = Background()

    def start(self) -> None:
        self._background.start(self._run(), "token-issuers")

    async def stop(self) -> None:
        await self._background.stop()

    async def look(self) -> None:
        """Ask every issuer for its keys, now."""
        await asyncio.gather(*(keys.refresh() for keys in self._keys.values() if keys is not None))

    def troubles(self) -> Mapping[str, str | None]:
        """By issuer, what is wrong with its keys; None where nothing is known to be."""
        return {name: None if keys is None else keys.trouble for name, keys in self._keys.items()}

    async def _run(self) -> None:
        while True:
            await self.look()
            is_well = not any(self.troubles().values())
            await asyncio.sleep(EVERY_SECONDS if is_well else REFRESH_AT_MOST_EVERY)
