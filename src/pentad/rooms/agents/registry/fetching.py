"""Cards from their address, through the guarded way out."""

from typing import Any, Final

import msgspec

from pentad.kernel.errors import InvalidInput
from pentad.kernel.ports import Fetcher

_LARGEST: Final = 1024 * 1024
_FOUND: Final = 200


async def fetched_card(fetcher: Fetcher, url: str) -> dict[str, Any]:
    """The card at an address; it is not checked yet."""
    answer = await fetcher.fetch(url, headers={"Accept": "application/json"}, max_bytes=_LARGEST)
    if answer.status != _FOUND:
        raise InvalidInput(f"There is no card at that address: it answered {answer.status}.")
    try:
        return msgspec.json.decode(answer.body, type=dict[str, Any])
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise InvalidInput(f"What is at that address is no card: {error}.") from None
