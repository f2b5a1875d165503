"""Referrers: stored under their own CIDs, found by type and CID, deleted with the record."""

from typing import Any

import pytest

from pentad.kernel.cid import canonical_json, cid_of
from pentad.kernel.errors import Conflict, InvalidInput, NotFound
from pentad.rooms.directory.records.referrers import PUBLIC_KEY, SCAN_REPORT, SIGNATURE, Referrer
from tests.rooms.directory.records.parts import WHO, Parts, agent

pytestmark = pytest.mark.anyio

STRANGER = cid_of(b"never pushed")


async def pushed(parts: Parts) -> str:
    return (await parts.records.push(WHO, agent())).cid


async def test_a_referrer_has_the_cid_of_its_canonical_json(parts: Parts):
    record = await pushed(parts)
    referrer = Referrer(SIGNATURE, "", {"signature": "c2ln"}, {"by": "ada"}, "2026-01-01T00:00:00Z")
    cid = await parts.referrers.push(WHO, referrer, record)
    expected = {
        "type": SIGNATURE,
        "record_ref": {"cid": record},
        "annotations": {"by": "ada"},
        "created_at": "2026-01-01T00:00:00Z",
        "data": {"signature": "c2ln"},
    }
    assert cid == cid_of(canonical_json(expected))
    assert await parts.referrers.push(WHO, referrer, record) == cid
    (kept,) = await parts.referrers.pull(record)
    assert kept == Referrer(SIGNATURE, record, {"signature": "c2ln"}, {"by": "ada"}, "2026-01-01T00:00:00Z", cid)


async def test_referrers_are_found_and_removed_by_type_and_cid(parts: Parts):
    record = await pushed(parts)
    cids = [
        await parts.referrers.push(WHO, Referrer(kind, record, {"n": number}))
        for number, kind in enumerate((SIGNATURE, PUBLIC_KEY, SIGNATURE, SCAN_REPORT))
    ]

    async def found(**filters: Any) -> set[str]:
        return {one.cid for one in await parts.referrers.pull(record, **filters)}

    assert await found() == set(cids)
    assert await found(kind=SIGNATURE) == {cids[0], cids[2]}
    assert await found(ref=cids[1]) == {cids[1]}
    assert await found(kind=SIGNATURE, ref=cids[1]) == set()
    assert set(await parts.referrers.delete(WHO, record, kind=SIGNATURE)) == {cids[0], cids[2]}
    assert await parts.referrers.delete(WHO, record, ref=cids[1]) == [cids[1]]
    assert await found() == {cids[3]}


async def test_wrong_requests_and_storage_problems_are_told_apart(parts: Parts):
    record = await pushed(parts)
    with pytest.raises(InvalidInput, match="record_ref is required"):
        await parts.referrers.push(WHO, Referrer(SIGNATURE, "", {}))
    with pytest.raises(InvalidInput, match="unknown referrer type"):
        await parts.referrers.push(WHO, Referrer("something.else", record, {}))
    with pytest.raises(Conflict, match="not about"):
        await parts.referrers.push(WHO, Referrer(SIGNATURE, STRANGER, {}), record)
    with pytest.raises(NotFound, match="record not found for CID"):
        await parts.referrers.push(WHO, Referrer(SIGNATURE, STRANGER, {}))
    with pytest.raises(NotFound, match="record not found for CID"):
        await parts.referrers.pull("nul\0")
    with pytest.raises(NotFound, match="record not found for CID"):
        await parts.referrers.delete(WHO, STRANGER)


async def test_referrers_go_with_their_record_and_do_not_come_back_with_it(parts: Parts):
    data = agent()
    record = (await parts.records.push(WHO, data)).cid
    await parts.referrers.push(WHO, Referrer(SIGNATURE, record, {"signature": "x"}))
    await parts.records.delete(WHO, record)
    await parts.records.push(WHO, data)
    assert await parts.referrers.pull(record) == []


async def test_scan_reports_decide_what_a_search_by_safety_sees(parts: Parts):
    record = await pushed(parts)

    async def seen() -> Any:
        sql = "SELECT scan_severity, scan_safe FROM directory_records WHERE cid = ?"
        return await parts.database.lookup(sql, record)

    assert await seen() == (None, None)
    await parts.referrers.push(WHO, Referrer(SCAN_REPORT, record, {"isSafe": True, "maxSeverity": "SEVERITY_LOW"}))
    assert await seen() == (3, 1)
    worse = Referrer(SCAN_REPORT, record, {"is_safe": False, "max_severity": 6})
    cid = await parts.referrers.push(WHO, worse)
    assert await seen() == (6, 0)
    await parts.referrers.push(WHO, Referrer(SCAN_REPORT, record, {"isSafe": "yes", "maxSeverity": ["odd"]}))
    await parts.referrers.delete(WHO, record, ref=cid)
    assert await seen() == (3, 0)
    await parts.referrers.delete(WHO, record, kind=SCAN_REPORT)
    assert await seen() == (None, None)


async def test_what_signatures_came_to_is_forgotten_when_one_is_added(parts: Parts):
    record = await pushed(parts)
    await parts.database.write(lambda tx: tx.run("UPDATE directory_records SET verified = 1, trusted = 1"))
    await parts.database.write(
        lambda tx: tx.run(
            "INSERT INTO directory_verifications (record, kind, success, body, checked_at)"
            " SELECT id, 'signature', 1, '{}', 0 FROM directory_records"
        )
    )
    await parts.referrers.push(WHO, Referrer(SIGNATURE, record, {"signature": "x"}))
    assert await parts.database.lookup("SELECT verified, trusted FROM directory_records") == (0, 0)
    assert await parts.database.lookup("SELECT 1 FROM directory_verifications") is None
