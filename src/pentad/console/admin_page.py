"""Shared by the pages of administration, the audit trail, the search and the account."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pentad.administration.rights import ACCESS, AUDIT
from pentad.kernel.errors import NotFound
from pentad.kernel.pages import Block, Cell, Sheet, Visit, done_notes
from pentad.kernel.principal import ANY_ROOM, Principal

Row = dict[str, Any]

ADMIN: Final = "admin"
TRAIL: Final = "audit"
SEARCH: Final = "search"
ACCOUNT: Final = "account"
TRACES: Final = "traces"
TOOLS: Final = "tools"
STYLES: Final = "style"
_DONE: Final = {
    "added": "The user was added.",
    "changed": "The change takes effect at once.",
    "password": "The password was changed.",
    "removed": "The user was removed.",
    "key-revoked": "The key was revoked.",
    "grant-revoked": "The grant was revoked. Its tokens no longer work.",
    "client-removed": "The client was removed and its grants were revoked.",
    "ended": "The browser was logged out.",
    "all-ended": "The user was logged out in all browsers.",
    "retried": "The job is queued again.",
    "forgotten": "The job was deleted.",
}
"""The message after a form, by the query parameter `done`. Text from the URL is never shown."""


@dataclass(frozen=True, slots=True)
class AdminPage:
    """A page below `/console/<part>/`."""

    part: str
    path: str
    load: Callable[[Visit], Awaitable[Sheet]]


def menu(principal: Principal) -> list[tuple[str, str]]:
    """The entries of the console's menu other than rooms."""
    entries = [
        (TOOLS, "Tools") if principal.may(ANY_ROOM, "read") else None,
        (ADMIN, "Administration") if principal.may(ACCESS, "admin") else None,
        (TRAIL, "Audit trail") if principal.may(AUDIT, "admin") else None,
    ]
    return [entry for entry in entries if entry is not None]


def page_sheet(
    visit: Visit, title: str, blocks: Sequence[Block], trail: Sequence[Cell] = (), *, lead: str = ""
) -> Sheet:
    """A page with a message about the form just submitted."""
    return Sheet(title, [*done_notes(visit, _DONE), *blocks], lead=lead, trail=trail)


def one_of(found: Sequence[Row], wanted: str, what: str) -> Row:
    one = next((one for one in found if one["id"] == wanted), None)
    if one is None:
        raise NotFound(f"There is no {what} {wanted[:80]!r}.", hint=f"Pick a {what} from the list.")
    return one


def day(text: str | None) -> str:
    return "" if not text else text[:10]
