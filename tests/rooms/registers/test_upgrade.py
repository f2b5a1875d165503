"""Stores of earlier releases: before definitions belonged to organisations, and with saved queries."""

import sqlite3
from importlib.resources import files

import pytest

from pentad.rooms.registers.views.store import view_of
from pentad.storage.sql_text import split_statements


def statements(title: str) -> list[str]:
    """The statements of a migration for SQLite."""
    folder = files("pentad.rooms.registers.schema")
    own = folder.joinpath(f"{title}.sqlite.sql")
    found = own if own.is_file() else folder.joinpath(f"{title}.sql")
    return [one for one in split_statements(found.read_text(encoding="utf-8"), "sqlite") if "object_text" not in one]


@pytest.mark.requirement("registers:organisations:old-stores")
@pytest.mark.parametrize("table", ["registers", "schemas"])
def test_what_named_no_organisation_belongs_to_the_default_one(table: str) -> None:
    store = sqlite3.connect(":memory:")
    for statement in statements("0001_registers"):
        store.execute(statement)
    insert = f"INSERT INTO {table} (uuid, slug, body, created_at, updated_at) VALUES (?, ?, ?, 0, 0)"
    store.execute(insert, ("a", "one", '{"title": "One"}'))
    store.execute(insert, ("b", "two", '{"title": "Two", "organisation": "acme"}'))
    for statement in statements("0003_definition_rights"):
        store.execute(statement)
    assert store.execute(f"SELECT slug, organisation FROM {table} ORDER BY slug").fetchall() == [
        ("one", "default"),
        ("two", "acme"),
    ]
    store.execute(
        f"INSERT INTO {table} (uuid, slug, organisation, body, created_at, updated_at)"
        " VALUES ('c', 'ONE', 'acme', '{}', 0, 0)"
    )
    with pytest.raises(sqlite3.IntegrityError):
        store.execute(insert, ("d", "One", "{}"))
    store.close()


@pytest.mark.requirement("registers:views:old-stores")
def test_saved_queries_become_views_with_their_ids_and_owners() -> None:
    store = sqlite3.connect(":memory:")
    for statement in statements("0001_registers"):
        store.execute(statement)
    text = '{"query": {"filter": {"a": 1}, "fields": ["a"]}, "scopes": ["*:*"], "user": "ada"}'
    insert = "INSERT INTO saved_queries (id, principal, title, register, schema, query, digest, created_at)"
    store.execute(f"{insert} VALUES ('Ab_1-', 'user:ada', 'Mine', 3, 5, ?, x'00ff', 12.5)", (text,))
    for statement in (*statements("0010_views"), *statements("0013_view_versions")):
        store.execute(statement)
    rows = store.execute(
        "SELECT id, slug, principal, organisation, title, description, register, schema, query, uses, digest,"
        " created_at, updated_at, version FROM views"
    ).fetchall()
    assert rows == [
        ("Ab_1-", "Ab_1-", "user:ada", None, "Mine", "", 3, 5, text, "[]", b"\x00\xff", 12.5, 12.5, 1)
    ]  # fmt: skip
    assert view_of(rows[0]).query == {"filter": {"a": 1}, "fields": ["a"]}
    store.close()
