"""Confirmation of changes that would lose data: the first call returns a report and a token, and the change runs only
when the caller sends the token back.

The token is a hash of the current version and the change, so it is valid for exactly this change of this version.
It is neither a secret nor a permission: every caller who may make the change may confirm it.
"""

import hashlib
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from pentad.kernel.errors import Conflict

_LENGTH: Final = 10


class ConfirmNeeded(Conflict, code="confirm_needed"):
    """Nothing has changed yet. `details` has the `confirm` token and a `report` of what would be lost.

    The hint is worded for tool callers; other interfaces build their own from the token.
    """


def confirm_token(*change: Any) -> str:
    """The token of a change. Pass the version it starts from and everything that describes it, as plain JSON."""
    return hashlib.sha256(msgspec.json.encode(change, order="deterministic")).hexdigest()[:_LENGTH]


def require_confirm(given: str | None, token: str, losses: str, report: Mapping[str, Any]) -> None:
    """Raise ConfirmNeeded unless the caller sent this token. `losses` briefly says what would be lost."""
    if given == token:
        return
    stale = "" if given is None else f" The token {given[:20]!r} belongs to another change or version."
    raise ConfirmNeeded(
        f"Nothing was changed yet. This would lose {losses}.{stale}",
        hint=f'To go ahead, repeat the call with confirm "{token}".',
        details={"confirm": token, "report": dict(report)},
    )
