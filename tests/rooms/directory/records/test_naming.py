"""Records by name: resolving, references, lineage."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pentad.kernel.cid import cid_of
from pentad.kernel.errors import Conflict, InvalidInput, NotFound
from pentad.rooms.directory.models import NamedRef
from pentad.rooms.directory.records.naming import Reference, parse_reference
from tests.rooms.directory.oasf.samples import sample
from tests.rooms.directory.records.parts import WHO, Parts, agent

CID = cid_of(b"some record")

plain = st.text(st.characters(exclude_characters=":@/ ", exclude_categories=["Cs", "Zs", "Zl", "Zp", "Cc"]), min_size=1)
names = st.lists(plain, min_size=1, max_size=3).map("/".join).filter(lambda name: name.strip() == name)
hosted = st.builds(lambda host, port, path: f"http://{host}:{port}/{path}", plain, st.integers(1, 65535), names)
references = st.builds(
    Reference, names | hosted, st.none() | plain, st.none() | st.binary().map(cid_of)
) | st.binary().map(lambda data: Reference(cid=cid_of(data)))  # fmt: skip


@given(references)
def test_a_written_reference_is_read_as_it_was_meant(reference: Reference):
    assert parse_reference(str(reference)) == reference
    assert parse_reference(f"  {reference}\n") == reference


@given(st.text())
def test_any_text_is_a_reference_or_refused_and_written_as_it_was_read(text: str):
    try:
        read = parse_reference(text)
    except InvalidInput:
        assert not text.strip()
        return
    assert read.name or read.cid
    assert parse_reference(str(read)) == read


@pytest.mark.parametrize(
    ("text", "reference"),
    [
        ("agent", Reference("agent")),
        ("agent:v1", Reference("agent", "v1")),
        (f"agent:v1@{CID}", Reference("agent", "v1", CID)),
        (f"agent@{CID}", Reference("agent", None, CID)),
        (CID, Reference(cid=CID)),
        (f"@{CID}", Reference(cid=CID)),
        ("http://example.org:8080/agent", Reference("http://example.org:8080/agent")),
        ("http://example.org/agent:1.0", Reference("http://example.org/agent", "1.0")),
        ("me@example.org", Reference("me@example.org")),
        ("agent:", Reference("agent:")),
        (":v1", Reference(":v1")),
    ],
)
def test_references_are_read_as_people_write_them(text: str, reference: Reference):
    assert parse_reference(text) == reference


@pytest.mark.anyio
async def test_a_name_has_all_its_versions_the_last_pushed_first(parts: Parts):
    versions = ("2", "10", "3")
    pushed = [await parts.records.push(WHO, agent(name="example.org/a", version=version)) for version in versions]
    await parts.records.push(WHO, agent(name="EXAMPLE.org/a"))
    found = await parts.naming.resolve("example.org/a")
    assert found == [
        NamedRef("example.org/a", version, one.cid)
        for version, one in reversed(list(zip(versions, pushed, strict=True)))
    ]
    assert [one.cid for one in await parts.naming.resolve("example.org/a", "10")] == [pushed[1].cid]


@pytest.mark.anyio
async def test_a_name_without_protocol_also_finds_those_with_one(parts: Parts):
    for name in ("https://example.org/b", "http://example.org/b", "example.org/b"):
        await parts.records.push(WHO, agent(name=name))
    assert [one.name for one in await parts.naming.resolve("example.org/b")] == [
        "example.org/b",
        "http://example.org/b",
        "https://example.org/b",
    ]
    assert [one.name for one in await parts.naming.resolve("https://example.org/b")] == ["https://example.org/b"]


@pytest.mark.anyio
async def test_a_name_nobody_has_is_not_found(parts: Parts):
    with pytest.raises(NotFound, match=r'no record found with name "x"$'):
        await parts.naming.resolve("x")
    with pytest.raises(NotFound, match='no record found with name "x" and version "1"'):
        await parts.naming.resolve("x", "1")
    with pytest.raises(InvalidInput, match="name is required"):
        await parts.naming.resolve("")
    with pytest.raises(NotFound):
        await parts.naming.resolve("nul\0")


@pytest.mark.anyio
async def test_a_reference_finds_the_record_it_means(parts: Parts):
    old = await parts.records.push(WHO, agent(name="example.org/c", version="v1"))
    new = await parts.records.push(WHO, agent(name="example.org/c", version="v2"))
    odd = await parts.records.push(WHO, agent(name="urn:agent", version="v9"))
    for reference, cid in [
        ("example.org/c", new.cid),
        ("example.org/c:v1", old.cid),
        (f"example.org/c:v1@{old.cid}", old.cid),
        (f"example.org/c@{old.cid}", old.cid),
        (old.cid, old.cid),
        ("urn:agent", odd.cid),
        ("urn:agent:v9", odd.cid),
        (f"urn:agent@{odd.cid}", odd.cid),
    ]:
        assert (await parts.naming.find(reference)).cid == cid
    with pytest.raises(Conflict, match='not version "v2"'):
        await parts.naming.find(f"example.org/c:v2@{old.cid}")
    with pytest.raises(Conflict, match="not a record of"):
        await parts.naming.find(f"other@{old.cid}")
    with pytest.raises(NotFound, match=r'name "example\.org/c" and version "v3"'):
        await parts.naming.find("example.org/c:v3")
    with pytest.raises(NotFound, match="record not found"):
        await parts.naming.find(f"example.org/c@{CID}")


@pytest.mark.anyio
async def test_lineage_follows_links_across_names_and_orders_the_rest_by_version(parts: Parts):
    async def push(name: str, version: str, previous: str | None = None) -> str:
        more = {"previous_record_cid": previous} if previous else {}
        return (await parts.records.push(WHO, sample("0.8.0") | {"name": name, "version": version} | more)).cid

    ten = await push("d", "v10.0.0")
    nine = await push("d", "v9.0.0")
    unknown = cid_of(b"unknown")
    first = await push("old-d", "v20.0.0", unknown)
    eleven = await push("d", "v11.0.0", first)
    fork = await push("fork", "v1.0.0", eleven)
    await push("other", "v1.0.0")
    assert [entry.cid for entry in await parts.naming.lineage("d")] == [nine, ten, first, eleven, fork]
    assert [entry.cid for entry in await parts.naming.lineage(f"d:v9.0.0@{nine}")] == [nine, ten, first, eleven, fork]
    entries = await parts.naming.lineage(fork)
    assert [(entry.cid, entry.previous, entry.known) for entry in entries] == [
        (first, unknown, False),
        (eleven, first, True),
        (fork, eleven, True),
    ]
