"""Confirmation of changes that would lose data: the first call returns a report and a token, and the change runs only
if the token is sent back.

The token is a hash over the current version and the change, so it fits this change of this version and nothing else.
It is neither a secret nor a permission: every caller who may make the change may confirm it.
"""

import hashlib
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from pentad.kernel.errors import Conflict

_LENGTH: Final = 10


class ConfirmNeeded(Conflict, code="confirm_needed"):
    """Nothing was changed yet. `details` has the `confirm` token and the `report` of what would be lost.

    Its hint is for callers of the tools; the other interfaces word theirs from the token.
    """


def confirm_token(*change: Any) -> str:
    """The token of a change: give the version it starts from and everything that describes it, as plain JSON."""
    return hashlib.sha256(msgspec.json.encode(change, order="deterministic")).hexdigest()[:_LENGTH]


def require_confirm(given: str | None, token: str, losses: str, report: Mapping[str, Any]) -> None:
    """Raise ConfirmNeeded unless the caller sent this token. `losses` says in a few words what would be lost."""
    if given == token:
        return
    stale = "" if given is None else f" The token {given[:20]!r} belongs to another change or version."
    raise ConfirmNeeded(
        f"Nothing was changed yet. This would lose {losses}.{stale}",
        hint=f'To go ahead, repeat the call with confirm "{token}".',
        details={"confirm": token, "report": dict(report)},
    )
