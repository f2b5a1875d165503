"""Signals: to every listener of every process, after the commit, once, and never for what was undone."""

import asyncio
import sys
from pathlib import Path

import pytest

from pentad.kernel.errors import InvalidInput, LimitExceeded
from pentad.kernel.ports import Database, Transaction
from tests.stores import Stores

pytestmark = pytest.mark.anyio
PATIENCE = 60.0

CHILD = """
import asyncio, sys
from pathlib import Path
from pentad.storage.open import open_database

async def main():
    db = await open_database(sys.argv[1] or None, Path(sys.argv[2]))
    heard = asyncio.Event()
    db.listen("to-child", lambda payload: heard.set())
    print("ready", flush=True)
    async with asyncio.timeout(60):
        await heard.wait()
    await db.write(lambda tx: tx.signal("to-parent", "héllo"))
    await db.close()

asyncio.run(main())
"""


class Ear:
    """Remembers what it heard, and lets a test wait for it."""

    def __init__(self) -> None:
        self.heard: list[str] = []
        self._changed = asyncio.Event()

    def __call__(self, payload: str) -> None:
        self.heard.append(payload)
        self._changed.set()

    async def until(self, last: str) -> list[str]:
        async with asyncio.timeout(PATIENCE):
            while last not in self.heard:
                self._changed.clear()
                await self._changed.wait()
        return self.heard


@pytest.mark.requirement("storage:signals")
async def test_a_listener_hears_what_was_committed_in_order_and_once(store: Database):
    ear, other = Ear(), Ear()
    store.listen("news", ear)
    store.listen("olds", other)

    def work(tx: Transaction) -> None:
        for payload in ("b", "a", "b", "", "a"):
            tx.signal("news", payload)

    await store.write(work)
    await store.write(lambda tx: tx.signal("news", "end"))
    await store.write(lambda tx: tx.signal("olds", "end"))
    assert await ear.until("end") == ["b", "a", "", "end"]
    assert await other.until("end") == ["end"]


async def test_a_rolled_back_unit_is_never_heard_of(store: Database):
    ear = Ear()
    store.listen("news", ear)

    def failing(tx: Transaction) -> None:
        tx.signal("news", "never")
        raise LookupError

    with pytest.raises(LookupError):
        await store.write(failing)
    await store.write(lambda tx: tx.signal("news", "end"))
    assert await ear.until("end") == ["end"]


async def test_another_handle_hears_it_too_and_nobody_twice(stores: Stores):
    here, there = await stores.open(), await stores.open()
    near, far = Ear(), Ear()
    here.listen("news", near)
    there.listen("news", far)
    for n in range(20):
        await (here if n % 2 else there).write(lambda tx, n=n: tx.signal("news", str(n)))
    await here.write(lambda tx: tx.signal("news", "end here"))
    await there.write(lambda tx: tx.signal("news", "end there"))
    for ear in (near, far):
        await ear.until("end here")
        await ear.until("end there")
        assert sorted(ear.heard) == sorted([*map(str, range(20)), "end here", "end there"])


@pytest.mark.requirement("storage:signals")
async def test_another_process_hears_and_is_heard(stores: Stores, tmp_path: Path):
    db = await stores.open()
    ear = Ear()
    db.listen("to-parent", ear)
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-c", CHILD, stores.url or "", str(stores.data), stdout=asyncio.subprocess.PIPE
    )
    assert child.stdout is not None
    async with asyncio.timeout(PATIENCE):
        assert await child.stdout.readline() == b"ready\n"
    await db.write(lambda tx: tx.signal("to-child"))
    assert await ear.until("héllo") == ["héllo"]
    async with asyncio.timeout(PATIENCE):
        assert await child.wait() == 0


async def test_an_ended_listener_hears_nothing_more(store: Database):
    ended, ear = Ear(), Ear()
    end = store.listen("news", ended)
    store.listen("news", ear)
    end()
    end()
    await store.write(lambda tx: tx.signal("news", "end"))
    await ear.until("end")
    assert ended.heard == []


async def test_listening_again_hears_what_is_new(stores: Stores):
    here, there = await stores.open(), await stores.open()
    first = Ear()
    end = here.listen("news", first)
    await there.write(lambda tx: tx.signal("news", "one"))
    await first.until("one")
    end()
    second = Ear()
    here.listen("news", second)
    await there.write(lambda tx: tx.signal("news", "two"))
    assert await second.until("two") == ["two"]
    assert first.heard == ["one"]


async def test_one_listeners_mistake_is_not_anothers(store: Database, caplog: pytest.LogCaptureFixture):
    ear = Ear()

    def broken(payload: str) -> None:
        raise LookupError(payload)

    store.listen("news", broken)
    store.listen("news", ear)
    await store.write(lambda tx: tx.signal("news", "end"))
    assert await ear.until("end") == ["end"]
    assert "A listener failed" in caplog.text


async def test_a_signal_that_is_too_long_is_refused(store: Database):
    await store.write(lambda tx: tx.signal("news", "é" * 3500))
    with pytest.raises(LimitExceeded):
        await store.write(lambda tx: tx.signal("news", "é" * 3501))
    with pytest.raises(InvalidInput):
        await store.write(lambda tx: tx.signal("two\nlines"))
    with pytest.raises(InvalidInput):
        await store.write(lambda tx: tx.signal("news", "a\0b"))
