"""Summaries of records, on both stores."""

import pytest

from tests.rooms.directory.records.parts import WHO, Parts, agent

pytestmark = pytest.mark.anyio


async def test_records_are_told_in_the_order_asked_for(parts: Parts):
    first, second = agent(description="Reads."), agent(description="Writes.")
    cids = [(await parts.records.push(WHO, data)).cid for data in (first, second)]
    briefs = await parts.records.summaries([cids[1], "baeareinothing", cids[0]])
    assert [one.cid for one in briefs] == [cids[1], cids[0]]
    assert [one.description for one in briefs] == ["Writes.", "Reads."]
    assert [one.name for one in briefs] == [second["name"], first["name"]]
    assert [(one.trust.trusted_by, one.verified) for one in briefs] == [((), False)] * 2
    assert await parts.records.summaries([]) == []


async def test_a_large_record_is_told_without_its_text(parts: Parts):
    cid = (await parts.records.push(WHO, agent(name="n" * 70_000, description="d" * 70_000))).cid
    [brief] = await parts.records.summaries([cid])
    assert brief.name == "n" * 300
    assert brief.description == ""


async def test_telling_counts_as_no_pull(parts: Parts):
    cid = (await parts.records.push(WHO, agent())).cid
    await parts.records.summaries([cid])
    await parts.popularity.flush()
    pulls = await parts.database.lookup("SELECT pulls, lookups FROM directory_records WHERE cid = ?", cid)
    assert pulls == (0, 0)
