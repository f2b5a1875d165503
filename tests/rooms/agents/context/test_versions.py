"""ContextVersions over turns: the laws of merging, and the versions in the store."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pentad.kernel.errors import InvalidInput, NotFound, VersionMismatch
from pentad.kernel.ports import Database
from pentad.rooms.agents.context import versions
from pentad.rooms.agents.context.integrity import items_hash
from pentad.rooms.agents.context.versions import (
    ContextVersions,
    after_turn,
    forget_contexts,
    merge_items,
    patch_items,
    remove_items,
    same_items,
)
from tests.rooms.agents.context.conftest import Turned

names = st.sampled_from("abcd")
scalars = st.booleans() | st.integers(-3, 3) | st.sampled_from([0.5, 1.0, 2**60, "x", ""])
values = st.recursive(scalars, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(names, inner, max_size=2))
items = st.dictionaries(names, st.dictionaries(names, values, max_size=3), max_size=3)
patches = st.dictionaries(names, st.none() | st.dictionaries(names, st.none() | values, max_size=3), max_size=3)

one = {"mediaType": "text/plain", "content": "one"}
two = {"mediaType": "text/plain", "content": "two"}


@given(items, items, items)
def test_merging_has_a_neutral_element_and_is_idempotent_and_associative(a: Any, b: Any, c: Any):
    assert merge_items(a, {}) == merge_items({}, a) == a
    assert merge_items(merge_items(a, b), b) == merge_items(a, b)
    assert merge_items(merge_items(a, b), c) == merge_items(a, merge_items(b, c))


@given(items, patches)
def test_patching_is_idempotent_and_touches_what_it_names(a: Any, patch: Any):
    once = patch_items(a, patch)
    assert patch_items(once, patch) == once
    assert {name: once[name] for name in once if name not in patch} == remove_items(a, list(patch))
    assert all(name not in once for name, change in patch.items() if change is None)
    assert patch_items(a, {}) == a


@given(items, items)
def test_contexts_are_the_same_if_they_are_equal_as_json(a: Any, b: Any):
    assert same_items(a, a)
    assert same_items(a, b) == same_items(b, a) == (items_hash(a) == items_hash(b))


def test_numbers_differ_by_value_and_truth_is_no_number():
    assert same_items({"a": {"content": 42}}, {"a": {"content": 42.0}})
    assert not same_items({"a": {"content": 1}}, {"a": {"content": True}})
    assert not same_items({"a": {"content": 2**53}}, {"a": {"content": 2**53 + 1}})


def test_a_patch_changes_members_and_null_removes_them():
    item = {"mediaType": "text/plain", "content": "x", "metadata": {"a": 1, "b": {"c": 2}}}
    assert patch_items({"it": item, "gone": item}, {"it": {"metadata": {"a": None, "b": {"d": 3}}}, "gone": None}) == {
        "it": {"mediaType": "text/plain", "content": "x", "metadata": {"b": {"c": 2, "d": 3}}}
    }


@pytest.mark.parametrize("turn", [{"mode": "explode"}, {"remove": "a"}, {"remove": [1]}])
def test_a_turn_nobody_understands_is_refused(turn: Any):
    with pytest.raises(InvalidInput) as refused:
        after_turn({}, {}, turn)
    assert refused.value.details["problems"][0]["path"] == f"/turn/{next(iter(turn))}"


@pytest.mark.anyio
async def test_turns_make_versions(contexts: ContextVersions):
    first = await contexts.add_turn("ada", "c", {"a": one, "b": one})
    assert (first.number, first.items) == (1, {"a": one, "b": one})
    second = await contexts.add_turn("ada", "c", {"a": two}, {"remove": ["b"]})
    assert (second.number, second.items) == (2, {"a": two})
    third = await contexts.add_turn("ada", "c", {"a": {"metadata": {"n": 2**53 + 1}}}, {"mode": "patch", "base": 2})
    assert third.items == {"a": {**two, "metadata": {"n": 2**53 + 1}}}
    fourth = await contexts.add_turn("ada", "c", {"z": one}, {"mode": "replace"})
    assert fourth.items == {"z": one}
    assert (await contexts.read("ada", "c", 3)).items == third.items, "every number as it was"
    latest = await contexts.read("ada", "c")
    assert (latest.number, latest.sha256, latest.items) == (4, fourth.sha256, fourth.items)


@pytest.mark.anyio
async def test_the_same_again_is_the_same_version_and_contents_are_kept_once(
    contexts: ContextVersions, database: Database, clock: Turned
):
    await contexts.add_turn("ada", "c", {"a": one})
    assert (await contexts.add_turn("ada", "c", {"a": dict(one)})).number == 1
    await contexts.add_turn("ada", "c", {"a": two})
    await contexts.add_turn("ada", "c", {"a": one})
    await contexts.add_turn("bob", "c", {"a": one})
    kept = await database.read(lambda rows: rows.value("SELECT count(*) FROM agent_contents"))
    assert kept == 2, "two different contexts, whoever has them and how often"
    clock.at += 60
    await contexts.add_turn("bob", "c", {"b": two})
    assert await database.write(lambda tx: forget_contexts(tx, clock.at, 10)) == 1, "ada's: bob's was changed since"
    with pytest.raises(NotFound):
        await contexts.read("ada", "c")
    kept = await database.read(lambda rows: rows.value("SELECT count(*) FROM agent_contents"))
    assert kept == 2, "what bob has, of each of his versions"


@pytest.mark.anyio
async def test_a_context_belongs_to_its_owner_and_a_version_to_its_context(contexts: ContextVersions):
    await contexts.add_turn("ada", "c", {"a": one})
    for owner, context, version in (("bob", "c", None), ("ada", "d", None), ("ada", "c", 2), ("ada", "c", 0)):
        with pytest.raises(NotFound):
            await contexts.read(owner, context, version)


@pytest.mark.anyio
async def test_a_turn_made_for_an_older_version_is_refused(contexts: ContextVersions):
    await contexts.add_turn("ada", "c", {"a": one}, {"base": 0})
    with pytest.raises(VersionMismatch):
        await contexts.add_turn("ada", "c", {"a": two}, {"base": 0})
    assert (await contexts.read("ada", "c")).items == {"a": one}


@pytest.mark.anyio
async def test_what_turns_come_to_is_checked(contexts: ContextVersions):
    for number in range(0, 64, 16):
        await contexts.add_turn("ada", "c", {f"i{n}": one for n in range(number, number + 16)})
    with pytest.raises(InvalidInput) as refused:
        await contexts.add_turn("ada", "c", {"one-more": one})
    assert refused.value.details["problems"][0]["rule"] == "too-many-items"
    with pytest.raises(InvalidInput):
        await contexts.add_turn("ada", "c", {"i0": {"content": None}}, {"mode": "patch"})
    assert (await contexts.read("ada", "c")).number == 4


@pytest.mark.anyio
async def test_what_has_expired_is_gone_and_named(contexts: ContextVersions, clock: Turned):
    brief = {**one, "metadata": {"x-expires": "2027-01-15T09:00:00Z"}}  # an hour from now
    await contexts.add_turn("ada", "c", {"brief": brief, "a": one})
    assert (await contexts.read("ada", "c")).expired == []
    clock.at += 3600
    seen = await contexts.read("ada", "c")
    assert (list(seen.items), seen.expired) == (["a"], ["brief"])
    turn = await contexts.add_turn("ada", "c", {"b": one})
    assert turn.items == {"a": one, "b": one}


@pytest.mark.anyio
async def test_only_the_last_versions_are_kept(contexts: ContextVersions, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(versions, "MAX_VERSIONS", 3)
    for number in range(5):
        await contexts.add_turn("ada", "c", {"a": {"mediaType": "application/json", "content": number}})
    assert (await contexts.read("ada", "c", 3)).items["a"]["content"] == 2
    with pytest.raises(NotFound):
        await contexts.read("ada", "c", 2)
