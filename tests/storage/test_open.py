"""Choosing the dialect by URL, what a server has to be like, and what the store says about itself."""

from pathlib import Path

import pytest

from pentad.kernel.errors import Misconfigured, Unavailable
from pentad.kernel.ports import Database
from pentad.storage.diagnostics import probe_folder, probe_store, sqlite_features
from pentad.storage.open import locate, open_database
from pentad.storage.postgres import PostgresDatabase
from pentad.storage.sqlite import SqliteDatabase
from tests.stores import PostgresServer

pytestmark = pytest.mark.anyio
SECRET = "s3cr3t-canary"


def test_a_url_names_a_file_or_a_server(tmp_path: Path):
    assert locate(None, tmp_path) == tmp_path / "pentad.db"
    assert locate("sqlite:///some/file.db", tmp_path) == Path("some/file.db")
    assert locate("sqlite:////var/file.db", tmp_path) == Path("/var/file.db")
    assert locate("postgresql://u:p@h/d", tmp_path) == "postgresql://u:p@h/d"


@pytest.mark.parametrize("url", ["mysql://u:{}@h/d", "sqlite:///", "sqlite://{}", "{}", ""])
async def test_other_urls_are_refused_without_repeating_them(tmp_path: Path, url: str):
    with pytest.raises(Misconfigured) as caught:
        await open_database(url.format(SECRET), tmp_path)
    assert SECRET not in caught.value.sentence()
    assert caught.value.hint


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://user:{}@[bad/db",
        "postgresql://user:{}@localhost:1/db?no_such_option=1",
        "postgresql://user:{}@localhost:1/db",
        "postgresql://user:{}@localhost:notaport/db",
    ],
)
async def test_a_password_never_appears_in_an_error(tmp_path: Path, url: str):
    with pytest.raises((Misconfigured, Unavailable)) as caught:
        await open_database(url.format(SECRET), tmp_path)
    error: BaseException | None = caught.value
    assert SECRET not in caught.value.sentence()
    while error is not None:
        assert SECRET not in str(error)
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)


async def test_without_a_url_the_store_is_a_file_in_the_data_folder(tmp_path: Path):
    db = await open_database(None, tmp_path / "new" / "folder")
    assert isinstance(db, SqliteDatabase)
    assert (tmp_path / "new" / "folder" / "pentad.db").exists()
    await db.close()


async def test_a_database_that_does_not_exist_is_a_matter_of_settings(postgres_server: PostgresServer):
    with pytest.raises(Misconfigured, match="no such database"):
        await PostgresDatabase.open(postgres_server.url("nowhere"))


async def test_a_database_that_would_not_sort_by_utf_8_bytes_is_refused(postgres_server: PostgresServer):
    url = postgres_server.fresh_database("TEMPLATE template0 ENCODING 'SQL_ASCII' LOCALE 'C' LOCALE_PROVIDER libc")
    with pytest.raises(Misconfigured, match="UTF-8") as caught:
        await PostgresDatabase.open(url)
    assert "ENCODING 'UTF8'" in (caught.value.hint or "")


async def test_a_store_tells_its_version_schema_and_queue(store: Database):
    found = await probe_store(store)
    assert found.trouble is None
    assert found.dialect == store.dialect
    assert found.version[0].isdigit()
    assert found.schema == {"storage": 2}
    assert found.queued == 0
    assert found.write_seconds is not None
    if store.dialect == "sqlite":
        assert found.features["fts5"]
        assert found.features["strict"]
    else:
        assert found.features == {"pgvector": False, "pgvector_available": True}
        await store.write(lambda tx: tx.run("CREATE EXTENSION vector"))
        assert (await probe_store(store)).pgvector


async def test_a_closed_store_reports_its_trouble(store: Database):
    await store.close()
    assert isinstance((await probe_store(store)).trouble, Unavailable)


def test_a_folder_is_tried_by_writing_to_it(tmp_path: Path):
    found = probe_folder(tmp_path)
    assert found.writable
    assert found.sync_seconds is not None
    assert found.free_bytes
    assert list(tmp_path.iterdir()) == []
    missing = probe_folder(tmp_path / "missing")
    assert not missing.writable
    assert missing.trouble
    assert missing.free_bytes is None


def test_the_sqlite_inside_has_what_the_rooms_need():
    assert all(sqlite_features().values())
