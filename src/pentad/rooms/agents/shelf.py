"""Large contexts beside the log: kept once by their hash, so that no history repeats them, and put back for agents."""

from collections.abc import Mapping
from typing import Any, Final, cast

import msgspec

from pentad.kernel.principal import Principal
from pentad.rooms.agents.context.integrity import bytes_hash, items_hash
from pentad.rooms.agents.context.spill import SCHEME, Contents, Kept
from pentad.rooms.agents.context.walking import exact_json

SMALL: Final = 4 * 1024
"""Bytes a context may have to stand in the history as it came."""
_MARK: Final = frozenset({"ref", "sha256", "size"})


def is_small(context: Mapping[str, Any]) -> bool:
    """Whether a context stands in the history as it came."""
    return len(exact_json(context)) <= SMALL


def shelved(context: Any) -> Kept | None:
    """What has to be kept of a context; None for one that is small."""
    if not isinstance(context, dict):
        return None
    body = exact_json(cast("Mapping[str, Any]", context))
    return Kept(bytes_hash(body), body, "application/json") if len(body) > SMALL else None


def marked(context: Mapping[str, Any], whole: Kept) -> dict[str, Any]:
    """What the history has in place of a context: where it is, its canonical hash, and its bytes."""
    return {"ref": whole.uri, "sha256": items_hash(context.get("items") or {}), "size": len(whole.body)}


def is_mark(found: Any) -> bool:
    """Whether this stands in place of a context."""
    return isinstance(found, dict) and cast("dict[str, Any]", found).keys() == _MARK


async def put_back(found: Any, contents: Contents, who: Principal) -> dict[str, Any] | None:
    """The context a mark stands for; None for what is no mark."""
    if not is_mark(found):
        return None
    ref: Any = cast("dict[str, Any]", found)["ref"]
    if not isinstance(ref, str) or not ref.startswith(f"{SCHEME}://"):
        return None
    return msgspec.json.decode((await contents.read(who, ref)).body)
