"""A caller as bytes next to a task: a turn that runs again may do no more than the caller could then."""

from functools import lru_cache
from typing import Any, Final

import msgspec

from pentad.kernel.principal import ANONYMOUS, Principal

_DECODE: Final = msgspec.json.Decoder().decode


@lru_cache(1_024)
def _packed(caller: Principal) -> bytes:
    return msgspec.json.encode(
        [caller.id, caller.name, sorted(caller.scopes), caller.kind, caller.credential, caller.user]
    )


def packed(caller: Principal) -> bytes:
    return _packed(caller)


def unpacked(stored: bytes | None) -> Principal:
    """The stored caller; anonymous if there is none."""
    if stored is None:
        return ANONYMOUS
    found: Any = _DECODE(stored)
    return Principal(found[0], found[1], frozenset(found[2]), *found[3:])
