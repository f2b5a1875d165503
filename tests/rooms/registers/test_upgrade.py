"""A store from before registers and schemas belonged to organisations."""

import sqlite3
from importlib.resources import files

import pytest

from pentad.storage.sql_text import split_statements


def statements(title: str) -> list[str]:
    found = files("pentad.rooms.registers.schema").joinpath(f"{title}.sqlite.sql")
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
