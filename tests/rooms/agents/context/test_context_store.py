"""Large contents: kept once, seen by who kept them, and nobody else."""

import json
from typing import Any

import pytest

from pentad.kernel.errors import InvalidInput, LimitExceeded, NotFound, Unavailable
from pentad.kernel.ports import Database
from pentad.kernel.principal import LOCAL, Principal
from pentad.platform import NoNeighbours
from pentad.rooms.agents.context import context_store
from pentad.rooms.agents.context.budget import plan_context
from pentad.rooms.agents.context.context_store import ContentStore, forget_old_content
from pentad.rooms.agents.context.integrity import bytes_hash, exact_json
from pentad.rooms.agents.context.refs import Resolver
from pentad.rooms.agents.context.validation import read_context
from tests.rooms.agents.context.conftest import Turned

pytestmark = pytest.mark.anyio

OTHER = Principal("user:eve", "eve", frozenset({"*:*"}))
BIG = {"items": [{"n": 9007199254740993 + n, "text": "å" * 50} for n in range(1_000)]}


async def test_what_is_too_large_is_kept_and_comes_back_exactly(contents: ContentStore):
    items: dict[str, Any] = {
        "small": {"content": "x"},
        "text": {"mediaType": "text/markdown", "content": "# é\n" * 30_000, "metadata": {"a": 1}},
        "json": {"content": BIG},
    }
    made, names = await contents.store_large(LOCAL, items)
    assert names == ["text", "json"] or names == ["json", "text"]
    assert made["small"] is items["small"]
    assert list(made) == list(items)
    for name, media, body in (
        ("text", "text/markdown", items["text"]["content"].encode()),
        ("json", "application/json", exact_json(BIG)),
    ):
        metadata = made[name]["metadata"]
        assert "content" not in made[name]
        assert made[name]["ref"] == f"context://{metadata['x-sha256']}"
        assert (metadata["x-sha256"], metadata["x-size"]) == (bytes_hash(body), len(body))
        kept = await contents.read(LOCAL, made[name]["ref"])
        assert (kept.body, kept.media_type) == (body, media)
    assert made["text"]["metadata"]["a"] == 1
    assert json.loads((await contents.read(LOCAL, made["json"]["ref"])).body) == BIG, "every number as it was"
    assert read_context({"mcp_context": {"items": made}}) is not None


async def test_many_middling_items_spill_until_all_fit(contents: ContentStore):
    items = {f"i{n}": {"mediaType": "text/plain", "content": f"{n} " * 10_000} for n in range(30)}
    made, names = await contents.store_large(LOCAL, items)
    assert 0 < len(names) < 30
    assert read_context({"mcp_context": {"items": made}}) is not None


async def test_only_who_kept_it_can_read_it_and_it_is_kept_once(
    contents: ContentStore, database: Database, clock: Turned
):
    body = b"the same for both"
    bodies = {bytes_hash(body): (body, "text/plain")}
    uri = context_store.address(bytes_hash(body))
    await contents.keep(LOCAL, bodies)
    with pytest.raises(NotFound):
        await contents.read(OTHER, uri)
    clock.at += 60
    await contents.keep(OTHER, bodies)
    await contents.keep(OTHER, bodies)
    count = await database.read(lambda rows: rows.value("SELECT count(*) FROM agent_contents"))
    assert count == 1
    assert await database.write(lambda tx: forget_old_content(tx, clock.at, 10)) == 1
    assert await database.write(lambda tx: forget_old_content(tx, clock.at, 10)) == 0
    with pytest.raises(NotFound):
        await contents.read(LOCAL, uri)
    assert (await contents.read(OTHER, uri)).body == body
    assert await database.write(lambda tx: forget_old_content(tx, clock.at + 1, 10)) == 1
    assert await database.read(lambda rows: rows.value("SELECT count(*) FROM agent_contents")) == 0


async def test_a_wrong_hash_a_wrong_address_and_too_much_are_refused(contents: ContentStore, monkeypatch: Any):
    with pytest.raises(InvalidInput):
        await contents.keep(LOCAL, {"0" * 64: (b"x", None)})
    for uri in ("context://abc", "context://" + "0" * 65, "other://" + "0" * 64):
        with pytest.raises(InvalidInput):
            await contents.read(LOCAL, uri)
    monkeypatch.setattr(context_store, "MAX_STORED_BYTES", 10)
    with pytest.raises(LimitExceeded):
        await contents.keep(LOCAL, {bytes_hash(b"x" * 11): (b"x" * 11, None)})
    with pytest.raises(NotFound):
        await contents.read(LOCAL, context_store.address(bytes_hash(b"x" * 11)))
    monkeypatch.setattr(context_store, "MAX_CONTENT_BYTES", 5)
    with pytest.raises(LimitExceeded):
        await contents.keep(LOCAL, {bytes_hash(b"x" * 6): (b"x" * 6, None)})


async def test_a_damaged_content_is_noticed(contents: ContentStore, database: Database):
    body = b"whole"
    await contents.keep(LOCAL, {bytes_hash(body): (body, None)})
    await database.write(lambda tx: tx.run("UPDATE agent_contents SET body = ?", b"brokn"))
    with pytest.raises(Unavailable):
        await contents.read(LOCAL, context_store.address(bytes_hash(body)))


async def test_five_megabytes_fit_64_kib_and_the_rest_is_fetched_and_verified(contents: ContentStore):
    words = "".join(f"line {n}\n" for n in range(200_000))  # more than 2 MB
    items: dict[str, Any] = {
        "instruction": {"mediaType": "text/plain", "content": "Be brief.", "metadata": {"kind": "instruction"}},
        "log": {"mediaType": "text/plain", "content": words},
        "table": {"mediaType": "application/json", "content": [{"id": 2**53 + n} for n in range(60_000)]},
        "picture": {"mediaType": "image/png", "content": "iVBORw0KGgo=" * 100_000},
        "copy": {"mediaType": "text/plain", "content": words},
    }
    assert len(exact_json({"items": items})) > 5_000_000
    plan = plan_context(items, max_bytes=65_536)
    await contents.keep(LOCAL, plan.to_keep)
    assert len(exact_json({"items": plan.items})) == plan.size <= 65_536
    assert {one.name: one.fate for one in plan.decisions} == {
        "instruction": "kept", "log": "shortened", "table": "referred", "picture": "referred", "copy": "same",
    }  # fmt: skip
    context = read_context({"mcp_context": json.loads(exact_json({"items": plan.items}))})
    assert context is not None
    resolution = Resolver(NoNeighbours(), contents, None).open(LOCAL, context.items)
    for name, item in items.items():
        assert await resolution.content(name) == item["content"]
