"""Pushing, pulling, looking up and deleting records, on both stores."""

import asyncio
from typing import Any

import pytest

from pentad.kernel.cid import canonical_json, cid_of
from pentad.kernel.errors import Conflict, InvalidInput, LimitExceeded, NotFound, Unavailable
from pentad.kernel.ports import Transaction
from pentad.rooms.directory.models import Pushed
from pentad.rooms.directory.records.service import LARGEST_RECORD, draft_record
from tests.rooms.directory.oasf.samples import SAMPLES, sample
from tests.rooms.directory.records.parts import SETS, WHO, Parts, agent, parts_over, recounted
from tests.stores import Stores
from tests.waiting import until_true

pytestmark = pytest.mark.anyio


async def test_a_pushed_record_is_pulled_as_its_canonical_text(parts: Parts):
    for version in SAMPLES:
        data = sample(version)
        pushed = await parts.records.push(WHO, data)
        assert pushed == Pushed(cid_of(canonical_json(data)), new=True)
        pulled = await parts.records.pull(pushed.cid)
        assert pulled.text == canonical_json(data).decode()
        assert pulled.data == data
    assert await parts.records.count() == len(SAMPLES)
    await parts.database.read(recounted)


async def test_pushing_again_changes_nothing_and_says_so(parts: Parts):
    data = agent()
    first = await parts.records.push(WHO, data)
    again = await parts.records.push(WHO, dict(reversed(data.items())))
    assert again == Pushed(first.cid, new=False)
    assert await parts.records.count() == 1
    await parts.database.read(recounted)


async def test_many_are_pushed_together_and_answered_in_order(parts: Parts):
    known, one, two = agent(), agent(), agent()
    await parts.records.push(WHO, known)
    pushed = await parts.records.push_many(WHO, [one, known, two, one])
    assert [p.new for p in pushed] == [True, False, True, False]
    assert [p.cid for p in pushed] == [cid_of(canonical_json(data)) for data in (one, known, two, one)]
    assert await parts.records.push_many(WHO, []) == []
    await parts.database.read(recounted)


async def test_records_that_are_not_there_are_left_out_of_a_pull_of_many(parts: Parts):
    one = await parts.records.push(WHO, agent())
    gone = cid_of(b"never pushed")
    pulled = await parts.records.pull_many([gone, one.cid, "nonsense\0", one.cid])
    assert [record and record.cid for record in pulled] == [None, one.cid, None, one.cid]


async def test_a_lookup_says_what_the_record_is_with_its_own_annotations(parts: Parts):
    earlier = cid_of(b"earlier")
    data = sample("0.8.0") | {"previous_record_cid": earlier, "annotations": {"team": "blue"}}
    pushed = await parts.records.push(WHO, data)
    meta = await parts.records.lookup(pushed.cid)
    assert (meta.cid, meta.name, meta.schema_version) == (pushed.cid, data["name"], "0.8.0")
    assert meta.created_at == data["created_at"]
    assert meta.annotations == {
        "team": "blue",
        "name": data["name"],
        "version": data["version"],
        "oasf-version": "0.8.0",
        "previous-cid": earlier,
    }


async def test_an_unknown_cid_is_not_found(parts: Parts):
    for cid in ("bafkreiabcd1234567890", "x\0y", "a" * 10_000, cid_of(b"nothing")):
        with pytest.raises(NotFound, match="record not found: "):
            await parts.records.pull(cid)
        with pytest.raises(NotFound, match="record not found: "):
            await parts.records.lookup(cid)
        assert await parts.records.known([cid]) == set()
        assert not await parts.records.delete(WHO, cid)


async def test_an_empty_cid_is_asked_for(parts: Parts):
    for work in (parts.records.pull(""), parts.records.lookup(""), parts.records.delete(WHO, "")):
        with pytest.raises(InvalidInput, match="record cid is required"):
            await work


async def test_a_deleted_record_is_gone_with_its_terms_and_can_come_back(parts: Parts):
    kept, data = agent(), agent(annotations={"only": "here"})
    await parts.records.push(WHO, kept)
    pushed = await parts.records.push(WHO, data)
    assert await parts.records.delete(WHO, pushed.cid)
    assert not await parts.records.delete(WHO, pushed.cid)
    with pytest.raises(NotFound):
        await parts.records.pull(pushed.cid)
    await parts.database.read(recounted)
    assert await parts.records.push(WHO, data) == Pushed(pushed.cid, new=True)
    await parts.database.read(recounted)


async def test_a_later_record_has_a_larger_id_even_after_the_last_was_deleted(parts: Parts):
    def newest() -> Any:
        return parts.database.read(lambda rows: rows.value("SELECT max(id) FROM directory_records"))

    last = await parts.records.push(WHO, agent())
    before = await newest()
    await parts.records.delete(WHO, last.cid)
    await parts.records.push(WHO, agent())
    assert await newest() > before


async def test_a_text_that_was_tampered_with_is_not_handed_out(parts: Parts):
    pushed = await parts.records.push(WHO, agent())
    await parts.database.write(lambda tx: tx.run("UPDATE directory_texts SET data = replace(data, 'agent', 'enemy')"))
    with pytest.raises(Unavailable, match="not what its CID says"):
        await parts.records.pull(pushed.cid)
    with pytest.raises(Unavailable):
        await parts.records.pull_many([pushed.cid])


async def test_a_record_of_four_mebibytes_is_kept_and_one_byte_more_is_refused(parts: Parts):
    room = LARGEST_RECORD - len(canonical_json(agent(name="large", description="")))
    large = agent(name="large", description="é" * (room // 2) + "x" * (room % 2))
    pushed = await parts.records.push(WHO, large)
    assert len((await parts.records.pull(pushed.cid)).text.encode()) == LARGEST_RECORD
    with pytest.raises(LimitExceeded, match="4194305 bytes"):
        await parts.records.push(WHO, agent(name="large", description=large["description"] + "x"))


STRANGE: list[dict[str, Any]] = [
    {"name": "n\0ul"},
    {"name": "half \ud800 pair"},
    {"name": "名前 🎉 \u2028 <&>"},
    {"name": "long" * 5_000, "annotations": {"key" * 3_000: "value" * 3_000}},
    {"description": "\0" * 100},
    {"annotations": {"a'b\\": "c' | d & !e:*", "n": 5}},
    {"annotations": {f"key-{number}": "value" for number in range(3_000)}},
    {"authors": ["İstanbul", "ﬀ", "'\\:"], "version": "\0", "created_at": "not a time"},
    {"skills": [{"id": 2**70, "name": 5}, "odd", {}], "locators": {"type": "odd"}, "modules": None},
    {"skills": [{"id": 10302.0}], "domains": [{"id": True}], "previous_record_cid": 7},
]


async def test_strange_records_are_kept_and_indexed_all_the_same(parts: Parts):
    pushed = [await parts.records.push(WHO, agent(**changes)) for changes in STRANGE]
    await parts.database.read(recounted)
    for one in pushed:
        assert (await parts.records.pull(one.cid)).cid == one.cid
        assert await parts.records.delete(WHO, one.cid)
    await parts.database.read(recounted)


async def test_the_same_record_pushed_by_several_processes_at_once_is_kept_once(parts: Parts, stores: Stores):
    others = [parts, *[parts_over(await stores.open(SETS)) for _ in range(3)]]
    same, all_of_them = agent(), [agent() for _ in range(6)]
    pushes = [other.records.push(WHO, same) for other in others for _ in range(3)]
    pushes += [other.records.push(WHO, data) for other in others for data in all_of_them]
    pushed = await asyncio.gather(*pushes)
    assert sum(bool(p.new) for p in pushed) == 7
    assert await parts.records.count() == 7
    await parts.database.read(recounted)


async def test_pulls_and_lookups_are_counted_for_popularity(parts: Parts):
    pushed = await parts.records.push(WHO, agent())
    for _ in range(3):
        await parts.records.pull(pushed.cid)
    await parts.records.pull_many([pushed.cid, pushed.cid])
    await parts.records.lookup(pushed.cid)
    await parts.popularity.flush()
    row = await parts.database.lookup("SELECT pulls, lookups FROM directory_records WHERE cid = ?", pushed.cid)
    assert row == (5, 1)


async def test_a_store_that_cannot_count_does_not_fail_a_pull(stores: Stores):
    parts = parts_over(await stores.open(SETS))
    pushed = await parts.records.push(WHO, agent())
    await parts.database.write(lambda tx: tx.run("ALTER TABLE directory_records RENAME COLUMN pulls TO lost"))
    assert (await parts.records.pull(pushed.cid)).cid == pushed.cid
    await parts.stop()


async def test_resources_are_told_to_have_changed_once_for_a_push_of_many(parts: Parts):
    told: list[str] = []
    end = parts.database.listen("mcp", told.append)
    pushed = await parts.records.push_many(WHO, [agent() for _ in range(50)])
    first = (await parts.records.pull(pushed[0].cid)).data
    await parts.records.push(WHO, first)
    await parts.records.delete(WHO, pushed[0].cid)
    await until_true(lambda: len(told) >= 4)
    end()
    name, record = f"directory://names/{first['name']}", f"directory://records/{pushed[0].cid}"
    assert told == ["list resources directory", "list resources directory", f"resource {name}", f"resource {record}"]


async def test_a_push_that_fails_half_way_leaves_nothing(parts: Parts):
    kept = await parts.records.push(WHO, agent())

    def work(tx: Transaction) -> None:
        parts.records.write(tx, WHO, [draft_record(agent()), draft_record(agent())])
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await parts.database.write(work)
    assert [one.cid for _, one in await parts.records.newest(10)] == [kept.cid]
    await parts.database.read(recounted)


async def test_the_newest_come_first_and_a_row_leads_to_the_next_page(parts: Parts):
    pushed = await parts.records.push_many(WHO, [agent() for _ in range(5)])
    page = await parts.records.newest(2)
    rest = await parts.records.newest(10, below=page[-1][0])
    assert [one.cid for _, one in page + rest] == [one.cid for one in reversed(pushed)]


async def test_one_push_that_is_refused_takes_no_other_along(parts: Parts):
    await parts.database.write(
        lambda tx: tx.run("CREATE UNIQUE INDEX one_of_a_name ON directory_records (name) WHERE name = 'taken'")
    )
    await parts.records.push(WHO, agent(name="taken"))
    pushes = [parts.records.push(WHO, agent()) for _ in range(20)]
    pushes.insert(10, parts.records.push(WHO, agent(name="taken", version="v9")))
    results = await asyncio.gather(*pushes, return_exceptions=True)
    assert [type(result) for result in results].count(Conflict) == 1
    assert isinstance(results[10], Conflict)
    assert await parts.records.count() == 21
    await parts.database.read(recounted)


async def test_a_caller_who_gives_up_does_not_disturb_the_others(parts: Parts):
    pushes = [asyncio.create_task(parts.records.push(WHO, agent())) for _ in range(20)]
    await asyncio.sleep(0)
    pushes[3].cancel()
    results = await asyncio.gather(*pushes, return_exceptions=True)
    assert sum(isinstance(result, Pushed) for result in results) == 19
    await parts.database.read(recounted)


async def test_a_cid_is_completed_from_its_beginning(parts: Parts):
    pushed = [one.cid for one in await parts.records.push_many(WHO, [agent() for _ in range(30)])]
    assert await parts.records.cids_with_prefix("", 3) == pushed[:-4:-1]
    assert await parts.records.cids_with_prefix("baea", 3) == pushed[:-4:-1]
    beginning = pushed[7][:9]
    assert await parts.records.cids_with_prefix(beginning, 100) == sorted(
        cid for cid in pushed if cid.startswith(beginning)
    )
    assert await parts.records.cids_with_prefix(pushed[7], 100) == [pushed[7]]
    assert await parts.records.cids_with_prefix("x%_\0", 100) == []


async def test_what_was_counted_last_is_not_lost_at_the_end(stores: Stores):
    parts = parts_over(await stores.open(SETS))
    pushed = await parts.records.push(WHO, agent())
    await parts.records.pull(pushed.cid)
    abandoned = asyncio.create_task(parts.records.push(WHO, agent()))
    await asyncio.sleep(0)
    await parts.stop()
    assert await abandoned == Pushed((await parts.records.newest(1))[0][1].cid, new=True)
    row = await parts.database.lookup("SELECT pulls FROM directory_records WHERE cid = ?", pushed.cid)
    assert row == (1,)
