"""StoreService's record methods: answers, their order, and refusals."""

import pytest
from google.protobuf.json_format import MessageToDict
from grpc import StatusCode

from pentad.kernel.cid import canonical_json, cid_of
from tests.rooms.directory.interface.grpc.site import Wire, record_of, ref
from tests.rooms.directory.oasf.samples import SAMPLES, sample
from tests.rooms.directory.records.parts import agent

pytestmark = pytest.mark.anyio
UNKNOWN = "baeareifx2kwsn23pstno64xnd23rgxxs2oc7eam7klockwijurxisnvgmu"


@pytest.mark.parametrize("version", sorted(SAMPLES))
async def test_a_record_of_every_version_is_pulled_as_it_was_pushed(wire: Wire, version: str) -> None:
    record = record_of(sample(version))
    (answer,) = await wire.all("StoreService/Push", record)
    assert answer.cid == cid_of(canonical_json(sample(version)))
    assert await wire.all("StoreService/Pull", answer) == [record]


async def test_many_records_are_answered_in_the_order_they_were_sent(wire: Wire) -> None:
    records = [agent(description=f"Number {number}.") for number in range(600)]
    cids = await wire.push(*records)
    assert cids == [cid_of(canonical_json(record)) for record in records]
    pulled = await wire.all("StoreService/Pull", *map(ref, reversed(cids)))
    assert [MessageToDict(one.data)["description"] for one in pulled] == [r["description"] for r in reversed(records)]
    assert [one.cid for one in await wire.all("StoreService/Lookup", *map(ref, cids[:50]))] == cids[:50]


async def test_pushing_again_gives_the_same_cid(wire: Wire) -> None:
    record = agent()
    first, second = await wire.push(record, record)
    assert [first] == [second] == await wire.push(record)


async def test_an_invalid_record_ends_the_stream_after_those_before_it_were_answered(wire: Wire) -> None:
    good, bad, late = agent(), agent(), agent()
    del bad["skills"]
    refusal = await wire.refused("StoreService/Push", *map(record_of, [good, bad, late]))
    assert refusal.code is StatusCode.INVALID_ARGUMENT
    assert refusal.text.startswith("record validation failed: [")
    assert 'Required attribute "skills" is missing.' in refusal.text
    assert [one.cid for one in refusal.answers] == [cid_of(canonical_json(good))]
    missing = await wire.refused("StoreService/Pull", ref(cid_of(canonical_json(late))))
    assert missing.code is StatusCode.NOT_FOUND


async def test_a_record_wrong_in_very_many_places_still_gets_its_answer(wire: Wire) -> None:
    """The reason travels in a header, which has little room."""
    skills = [{"name": f"no/such/skill-\u00fc{number}", "id": 10_000_000 + number} for number in range(2_000)]
    refusal = await wire.refused("StoreService/Push", record_of(agent(skills=skills)))
    assert refusal.code is StatusCode.INVALID_ARGUMENT
    assert refusal.text.startswith("record validation failed: [")


@pytest.mark.parametrize("data", [{}, {"name": "x"}, {"schema_version": "v1.0.0"}, {"schema_version": "9.9.9"}])
async def test_what_is_no_record_is_refused_as_invalid(wire: Wire, data: dict[str, str]) -> None:
    refusal = await wire.refused("StoreService/Push", record_of(data))
    assert refusal.code is StatusCode.INVALID_ARGUMENT
    assert refusal.text.startswith("record validation failed: [")


async def test_a_message_over_four_mebibytes_is_refused(wire: Wire) -> None:
    refusal = await wire.refused("StoreService/Push", record_of(agent(description="x" * (4 * 1024 * 1024))))
    assert refusal.code is StatusCode.RESOURCE_EXHAUSTED


async def test_a_record_that_is_too_large_as_text_lets_those_before_it_through(wire: Wire) -> None:
    """`<` is one byte on the wire and six in the canonical text."""
    good = agent()
    data = {"name": "s", "connections": [{"type": "stdio", "command": "c"}], "mcp_data": "<" * 2_000_000}
    module = {"name": "integration/mcp", "id": 202, "data": data}
    refusal = await wire.refused("StoreService/Push", record_of(good), record_of(agent(modules=[module])))
    assert refusal.code is StatusCode.INVALID_ARGUMENT
    assert "limit" in refusal.text
    assert [one.cid for one in refusal.answers] == [cid_of(canonical_json(good))]


@pytest.mark.parametrize(("method", "doing"), [("Pull", "pull"), ("Lookup", "lookup")])
async def test_a_cid_that_is_missing_or_unknown_is_told(wire: Wire, method: str, doing: str) -> None:
    empty = await wire.refused(f"StoreService/{method}", ref(""))
    assert (empty.code, empty.text) == (StatusCode.INVALID_ARGUMENT, "record cid is required")
    unknown = await wire.refused(f"StoreService/{method}", ref(UNKNOWN))
    text = f"failed to {doing} record: record not found: {UNKNOWN}"
    assert (unknown.code, unknown.text) == (StatusCode.NOT_FOUND, text)


async def test_an_unknown_cid_ends_a_pull_after_those_before_it(wire: Wire) -> None:
    (cid,) = await wire.push(agent())
    refusal = await wire.refused("StoreService/Pull", ref(cid), ref(UNKNOWN), ref(cid))
    assert refusal.code is StatusCode.NOT_FOUND
    assert len(refusal.answers) == 1


async def test_a_lookup_says_what_the_record_is(wire: Wire) -> None:
    record = sample("0.7.0")
    (cid,) = await wire.push(record)
    (meta,) = await wire.all("StoreService/Lookup", ref(cid))
    assert (meta.cid, meta.schema_version, meta.created_at) == (cid, "0.7.0", record["created_at"])
    assert meta.annotations["name"] == record["name"]
    assert meta.annotations["version"] == record["version"]
    assert meta.annotations["oasf-version"] == "0.7.0"
    assert meta.annotations["team"] == "reading-room"


async def test_a_deleted_record_is_gone_and_deleting_it_again_is_no_error(wire: Wire) -> None:
    kept, gone = await wire.push(agent(), agent())
    await wire.one("StoreService/Delete", ref(gone), ref(UNKNOWN), ref(gone))
    assert (await wire.refused("StoreService/Pull", ref(gone))).code is StatusCode.NOT_FOUND
    assert len(await wire.all("StoreService/Pull", ref(kept))) == 1
    empty = await wire.refused("StoreService/Delete", ref(""))
    assert (empty.code, empty.text) == (StatusCode.INVALID_ARGUMENT, "record cid is required")


async def test_garbage_for_a_message_is_an_invalid_argument(wire: Wire) -> None:
    for method in ("Push", "Pull"):
        call = wire.channel.stream_stream(f"/agntcy.dir.store.v1.StoreService/{method}")(iter([b"\x0a\xff\xff"]))
        with pytest.raises(Exception, match="INVALID_ARGUMENT"):
            await call.read()


async def test_numbers_that_are_not_finite_are_refused(wire: Wire) -> None:
    record = record_of(agent())
    record.data.fields["oops"].number_value = float("nan")
    refusal = await wire.refused("StoreService/Push", record)
    assert (refusal.code, "not finite" in refusal.text) == (StatusCode.INVALID_ARGUMENT, True)


async def test_an_unknown_method_is_unimplemented(wire: Wire) -> None:
    call = wire.channel.unary_unary("/agntcy.dir.store.v1.StoreService/Nothing")(b"")
    with pytest.raises(Exception, match="UNIMPLEMENTED"):
        await call
