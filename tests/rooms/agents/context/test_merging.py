"""Contexts over turns: the laws of merging, and the versions in the store."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pentad.kernel.errors import InvalidInput, NotFound, VersionMismatch
from pentad.kernel.ports import Database
from pentad.rooms.agents.context import merging
from pentad.rooms.agents.context.merging import (
    Contexts,
    after_turn,
    difference,
    merged,
    patched,
    removed,
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
    assert merged(a, {}) == merged({}, a) == a
    assert merged(merged(a, b), b) == merged(a, b)
    assert merged(merged(a, b), c) == merged(a, merged(b, c))


@given(items, patches)
def test_patching_is_idempotent_and_touches_what_it_names(a: Any, patch: Any):
    once = patched(a, patch)
    assert patched(once, patch) == once
    assert {name: once[name] for name in once if name not in patch} == removed(a, list(patch))
    assert all(name not in once for name, change in patch.items() if change is None)
    assert patched(a, {}) == a


@given(items, items)
def test_a_difference_leads_from_one_to_the_other(a: Any, b: Any):
    diff = difference(a, b)
    assert {**removed(a, diff.removed), **diff.changed, **diff.added} == b
    assert not difference(a, a)
    assert bool(difference(a, b)) == (difference(b, a).as_json() != {"added": [], "changed": [], "removed": []})


def test_numbers_differ_by_value_and_truth_is_no_number():
    assert not difference({"a": {"content": 42}}, {"a": {"content": 42.0}})
    assert difference({"a": {"content": 1}}, {"a": {"content": True}})
    assert difference({"a": {"content": 2**53}}, {"a": {"content": 2**53 + 1}})


def test_a_patch_changes_members_and_null_removes_them():
    item = {"mediaType": "text/plain", "content": "x", "metadata": {"a": 1, "b": {"c": 2}}}
    assert patched({"it": item, "gone": item}, {"it": {"metadata": {"a": None, "b": {"d": 3}}}, "gone": None}) == {
        "it": {"mediaType": "text/plain", "content": "x", "metadata": {"b": {"c": 2, "d": 3}}}
    }


@pytest.mark.parametrize("turn", [{"mode": "explode"}, {"remove": "a"}, {"remove": [1]}])
def test_a_turn_nobody_understands_is_refused(turn: Any):
    with pytest.raises(InvalidInput) as refused:
        after_turn({}, {}, turn)
    assert refused.value.details["problems"][0]["path"] == f"/turn/{next(iter(turn))}"


@pytest.mark.anyio
async def test_turns_make_versions(contexts: Contexts):
    first = await contexts.take("ada", "c", {"a": one, "b": one})
    assert (first.number, first.diff.as_json()) == (1, {"added": ["a", "b"], "changed": [], "removed": []})
    second = await contexts.take("ada", "c", {"a": two}, {"remove": ["b"]})
    assert (second.number, second.items) == (2, {"a": two})
    assert second.diff.as_json() == {"added": [], "changed": ["a"], "removed": ["b"]}
    third = await contexts.take("ada", "c", {"a": {"metadata": {"n": 2**53 + 1}}}, {"mode": "patch", "base": 2})
    assert third.items == {"a": {**two, "metadata": {"n": 2**53 + 1}}}
    fourth = await contexts.take("ada", "c", {"z": one}, {"mode": "replace"})
    assert fourth.items == {"z": one}
    assert (await contexts.read("ada", "c", 3)).items == third.items, "every number as it was"
    latest = await contexts.read("ada", "c")
    assert (latest.number, latest.sha256, latest.diff.as_json()) == (4, fourth.sha256, fourth.diff.as_json())


@pytest.mark.anyio
async def test_the_same_again_is_the_same_version_and_contents_are_kept_once(contexts: Contexts, database: Database):
    await contexts.take("ada", "c", {"a": one})
    assert (await contexts.take("ada", "c", {"a": dict(one)})).number == 1
    await contexts.take("ada", "c", {"a": two})
    await contexts.take("ada", "c", {"a": one})
    await contexts.take("bob", "c", {"a": one})
    kept = await database.read(lambda rows: rows.value("SELECT count(*) FROM agent_contents"))
    assert kept == 2, "two different contexts, whoever has them and how often"
    assert await contexts.forget("ada", "c") is True
    assert await contexts.forget("ada", "c") is False
    assert await database.read(lambda rows: rows.value("SELECT count(*) FROM agent_contents")) == 1


@pytest.mark.anyio
async def test_a_context_belongs_to_its_owner_and_a_version_to_its_context(contexts: Contexts):
    await contexts.take("ada", "c", {"a": one})
    for owner, context, version in (("bob", "c", None), ("ada", "d", None), ("ada", "c", 2), ("ada", "c", 0)):
        with pytest.raises(NotFound):
            await contexts.read(owner, context, version)


@pytest.mark.anyio
async def test_a_turn_made_for_an_older_version_is_refused(contexts: Contexts):
    await contexts.take("ada", "c", {"a": one}, {"base": 0})
    with pytest.raises(VersionMismatch):
        await contexts.take("ada", "c", {"a": two}, {"base": 0})
    assert (await contexts.read("ada", "c")).items == {"a": one}


@pytest.mark.anyio
async def test_what_turns_come_to_is_checked(contexts: Contexts):
    for number in range(0, 64, 16):
        await contexts.take("ada", "c", {f"i{n}": one for n in range(number, number + 16)})
    with pytest.raises(InvalidInput) as refused:
        await contexts.take("ada", "c", {"one-more": one})
    assert refused.value.details["problems"][0]["rule"] == "too-many-items"
    with pytest.raises(InvalidInput):
        await contexts.take("ada", "c", {"i0": {"content": None}}, {"mode": "patch"})
    assert (await contexts.read("ada", "c")).number == 4


@pytest.mark.anyio
async def test_what_has_expired_is_gone_and_named(contexts: Contexts, clock: Turned):
    brief = {**one, "metadata": {"x-expires": "2027-01-15T09:00:00Z"}}  # an hour from now
    await contexts.take("ada", "c", {"brief": brief, "a": one})
    assert (await contexts.read("ada", "c")).expired == []
    clock.at += 3600
    seen = await contexts.read("ada", "c")
    assert (list(seen.items), seen.expired) == (["a"], ["brief"])
    turn = await contexts.take("ada", "c", {"b": one})
    assert turn.diff.as_json() == {"added": ["b"], "changed": [], "removed": ["brief"]}


@pytest.mark.anyio
async def test_only_the_last_versions_are_kept(contexts: Contexts, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(merging, "MOST_VERSIONS", 3)
    for number in range(5):
        await contexts.take("ada", "c", {"a": {"mediaType": "application/json", "content": number}})
    assert (await contexts.read("ada", "c", 3)).items["a"]["content"] == 2
    with pytest.raises(NotFound):
        await contexts.read("ada", "c", 2)
