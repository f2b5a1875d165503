"""The SQL for views: their rows, and free slugs."""

from dataclasses import replace
from typing import Any, Final

import msgspec

from pentad.kernel.errors import Conflict, InvalidInput
from pentad.kernel.ports import Row, Rows, Transaction
from pentad.rooms.registers.store import is_slug, slugified
from pentad.rooms.registers.views.definition import View

_COLUMNS: Final = (
    *("id", "slug", "principal", "organisation", "title", "description", "register", "schema", "query", "uses"),
    *("digest", "created_at", "updated_at", "version"),
)
SELECT: Final = f"SELECT {', '.join(_COLUMNS)} FROM views"  # noqa: S608  own names


def insert_view(tx: Transaction, view: View) -> None:
    marks = ", ".join("?" * len(_COLUMNS))
    tx.run(f"INSERT INTO views ({', '.join(_COLUMNS)}) VALUES ({marks})", *_row(view))  # noqa: S608  own names


def update_view(tx: Transaction, view: View) -> View:
    """Store a changed view as its next version."""
    view = replace(view, version=view.version + 1)
    changes = ", ".join(f"{name} = ?" for name in _COLUMNS)
    tx.run(f"UPDATE views SET {changes} WHERE id = ?", *_row(view), view.id)  # noqa: S608  own names
    return view


def view_of(row: Row) -> View:
    """A view from its row."""
    (
        key, slug, principal, organisation, title, description, register, schema, text, uses, digest, created, updated,
        version,
    ) = row  # fmt: skip
    stored: dict[str, Any] = msgspec.json.decode(text)
    return View(
        key, slug, principal, organisation, title, description, register, schema, stored["query"],
        frozenset(stored["scopes"]), stored.get("user"), frozenset(msgspec.json.decode(uses)), bytes(digest), created,
        updated, version,
    )  # fmt: skip


def _row(view: View) -> tuple[Any, ...]:
    uses = msgspec.json.encode(sorted(view.uses)).decode()
    return (
        view.id, view.slug, view.principal, view.organisation, view.title, view.description, view.register, view.schema,
        stored_query(view), uses, view.digest, view.created_at, view.updated_at, view.version,
    )  # fmt: skip


def stored_query(view: View) -> str:
    return msgspec.json.encode({"query": view.query, "scopes": sorted(view.scopes), "user": view.user}).decode()


def chosen_slug(rows: Rows, view: View, wanted: Any) -> str:
    """The requested slug, or a free one made from the title. Slugs are unique per owner."""
    taken = {
        row[0] for row in rows.all("SELECT slug FROM views WHERE principal = ? AND id <> ?", view.principal, view.id)
    }
    if wanted is not None:
        slug = str(wanted).lower()
        if not isinstance(wanted, str) or not is_slug(slug):
            raise InvalidInput(f"{str(wanted)[:80]!r} cannot be a slug.", hint="Use letters, digits and hyphens.")
        if slug in taken:
            raise Conflict(f"You have a view {slug!r} already.", hint="Choose another slug, or change that view.")
        return slug
    stem = slugified(view.title, "view")
    number, slug = 1, stem
    while slug in taken:
        number += 1
        slug = f"{stem}-{number}"
    return slug
