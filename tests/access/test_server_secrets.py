"""All processes on a store hold the same secrets."""

import asyncio

import pytest

from pentad.access.server_secrets import SECRET_BYTES, secret_keys
from pentad.kernel.ports import Database

pytestmark = pytest.mark.anyio


async def test_a_secret_is_made_at_first_use_and_stays(db: Database) -> None:
    [key] = await secret_keys(db, "sessions")
    assert len(key) == SECRET_BYTES
    assert await secret_keys(db, "sessions") == [key]
    assert await secret_keys(db, "state") != [key]


async def test_processes_that_start_together_agree_on_one_secret(db: Database, other: Database) -> None:
    found = await asyncio.gather(*(secret_keys(handle, "sessions") for handle in (db, other) * 4))
    assert len({tuple(keys) for keys in found}) == 1
    assert len(found[0]) == 1
