"""Keys, grants and sessions as tables and pages, the same for administrators and for their owners."""

from collections.abc import Sequence
from typing import Final

from pentad.console.admin_page import ACCOUNT, Row, day, page_sheet
from pentad.kernel.clock import to_minute
from pentad.kernel.pages import (
    Block,
    Button,
    Cell,
    CheckBox,
    Code,
    Column,
    Facts,
    Form,
    Links,
    Note,
    Place,
    Sheet,
    Table,
    TextField,
    Visit,
)

SCOPES_HINT: Final = "Separated by spaces, such as: directory:read metrics:write."

_BROWSERS: Final = (
    ("Edg/", "Edge"), ("OPR/", "Opera"), ("Firefox/", "Firefox"), ("Chrome/", "Chrome"), ("Safari/", "Safari"),
)  # fmt: skip
"""What a browser's user agent contains. The first match counts, because most also claim to be others."""
_SYSTEMS: Final = (
    ("Android", "Android"), ("iPhone", "iPhone"), ("iPad", "iPad"), ("Windows", "Windows"), ("Mac OS X", "macOS"),
    ("Linux", "Linux"),
)  # fmt: skip


def new_key_sheet(made: Row, part: str) -> Sheet:
    """The page that shows a new key's token, once."""
    back = Place() if part == ACCOUNT else Place(("keys",))
    blocks: list[Block] = [
        Note("Copy the key now: it is shown only once.", "good"),
        Code(made["token"], copy=True),
        Facts(
            [
                ("Id", made["id"]),
                ("Scopes", " ".join(made["scopes"])),
                ("Expires", to_minute(made["expires"]) or "never"),
            ]
        ),
        Links([Cell("Back", back)]),
    ]
    return Sheet(f"Key {made['label']}", blocks)


def keys_table(found: Sequence[Row], part: str) -> Table:
    rows = [
        [
            Cell(one["label"], Place(("keys", one["id"]), room=part)), one["owner"] or "", " ".join(one["scopes"]),
            day(one["expires"]) or "never", day(one["last_used"]) or "never", one["state"],
        ]
        for one in found
    ]  # fmt: skip
    columns = ("Label", Column("Owner", short=True), "Scopes", Column("Expires", short=True),
               Column("Last used", short=True), Column("State", short=True))  # fmt: skip
    return Table(columns, rows, "There are no keys.")


def key_sheet(visit: Visit, one: Row, part: str, trail: Sequence[Cell]) -> Sheet:
    facts = Facts(
        [
            ("Id", one["id"]),
            ("State", one["state"]),
            ("Owner", one["owner"] or "none: the key acts as itself"),
            ("Scopes", " ".join(one["scopes"])),
            ("Limited to", "what it creates itself" if one["own_only"] else ""),
            ("Created", to_minute(one["created"])),
            ("Expires", to_minute(one["expires"]) or "never"),
            ("Last used", to_minute(one["last_used"]) or "never"),
        ]
    )
    revoke = Form((), [Button("Revoke key", kind="bad")], f"/console/{part}/keys/{one['id']}/revoke")
    return page_sheet(visit, one["label"], [facts, *([revoke] if one["state"] == "active" else [])], trail)


def grants_table(found: Sequence[Row], part: str) -> Table:
    rows = [
        [
            Cell(one["client_name"], Place(("grants", one["id"]), room=part)), one["user"], " ".join(one["scopes"]),
            day(one["last_used"]) or "never", one["state"],
        ]
        for one in found
    ]  # fmt: skip
    columns = (
        "Client",
        Column("User", short=True),
        "Scopes",
        Column("Last used", short=True),
        Column("State", short=True),
    )
    return Table(columns, rows, "No program has been granted access.")


def grant_sheet(visit: Visit, one: Row, part: str, trail: Sequence[Cell]) -> Sheet:
    facts = Facts(
        [
            ("State", one["state"]),
            ("User", one["user"]),
            ("Client", one["client"]),
            ("Client host", one["client_host"]),
            ("Scopes", " ".join(one["scopes"])),
            ("Valid for", " ".join(map(_resource, one["resources"]))),
            ("Granted", to_minute(one["created"])),
            ("Expires", to_minute(one["expires"])),
            ("Last used", to_minute(one["last_used"]) or "never"),
            ("Why it ended", one["revoked_why"] or ""),
        ]
    )
    revoke = Form((), [Button("Revoke grant", kind="bad")], f"/console/{part}/grants/{one['id']}/revoke")
    return page_sheet(visit, one["client_name"], [facts, *([revoke] if one["state"] == "active" else [])], trail)


def _resource(path: str) -> str:
    return "the whole server" if path == "/" else path


def sessions_table(found: Sequence[Row], part: str) -> Table:
    rows = [
        [
            Cell(_browser(one["browser"]), Place(("sessions", one["id"]), room=part)), one["user"],
            one["address"], to_minute(one["last_used"]), "this browser" if one["current"] else one["method"],
        ]
        for one in found
    ]  # fmt: skip
    columns = ("Browser", Column("User", short=True), Column("Address", short=True), Column("Last used", short=True),
               Column("Login", short=True))  # fmt: skip
    return Table(columns, rows, "No browser is logged in.")


def _browser(agent: str | None) -> str:
    """A browser and its system in a few words, from its user agent."""
    said = agent or ""
    name = next((name for mark, name in _BROWSERS if mark in said), "")
    system = next((name for mark, name in _SYSTEMS if mark in said), "")
    return f"{name} on {system}" if name and system else name or said or "unknown browser"


def session_sheet(visit: Visit, one: Row, part: str, trail: Sequence[Cell]) -> Sheet:
    facts = Facts(
        [
            ("User", one["user"]),
            ("Browser", one["browser"]),
            ("Address", one["address"]),
            ("Login", one["method"]),
            ("Since", to_minute(one["created"])),
            ("Last used", to_minute(one["last_used"])),
            ("Ends", to_minute(one["expires"])),
        ]
    )
    form = Form((), [Button("Log out", kind="bad")], f"/console/{part}/sessions/{one['id']}/end")
    return page_sheet(visit, "Session", [facts, form], trail)


def key_fields() -> list[TextField | CheckBox]:
    return [
        TextField("label", "Label", hint="What the key is for, such as: Ada's laptop."),
        TextField("scopes", "Scopes", "*:read", SCOPES_HINT),
        TextField("days", "Days until it expires", "90", "0 for a key that never expires."),
        CheckBox("own_only", "Limit the key to what it creates itself"),
    ]


def new_password() -> TextField:
    return TextField("password", "New password", kind="password", autocomplete="new-password")
