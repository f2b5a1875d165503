"""A pushed version is final unless its namespace says otherwise."""

from typing import Any

import pytest

from pentad.kernel.errors import Conflict, InvalidInput, NotFound
from pentad.kernel.principal import LOCAL
from pentad.rooms.directory.records.namespaces import Namespace, Namespaces, rule_for
from tests.rooms.directory.records.parts import Parts, agent

pytestmark = pytest.mark.anyio


def release(name: str, description: str = "First.", **more: Any) -> dict[str, Any]:
    return agent(name=name, version="v1.0.0", description=description, **more)


@pytest.mark.requirement("dir:push:immutable")
async def test_a_version_of_a_new_store_is_final(parts: Parts) -> None:
    first = await parts.records.push(LOCAL, release("example.org/final"))
    with pytest.raises(Conflict, match=first.cid):
        await parts.records.push(LOCAL, release("example.org/final", "Second."))
    again = await parts.records.push(LOCAL, release("example.org/final"))
    assert (again.cid, again.new) == (first.cid, False)
    await parts.records.push(LOCAL, {**release("example.org/final", "Second."), "version": "v1.0.1"})


@pytest.mark.requirement("dir:push:immutable")
async def test_records_pushed_together_do_not_contradict_one_another(parts: Parts) -> None:
    both = [release("example.org/both"), release("example.org/both", "Second.")]
    with pytest.raises(Conflict):
        await parts.records.push_many(LOCAL, both)
    assert await parts.records.count() == 0


@pytest.mark.requirement("dir:push:immutable")
async def test_the_most_specific_namespace_decides(parts: Parts) -> None:
    rules = Namespaces(parts.database)
    await rules.set("example.org", immutable=False)
    await rules.set("example.org/strict/", immutable=True)
    assert await rules.all() == [
        Namespace("", True), Namespace("example.org", False), Namespace("example.org/strict", True),
    ]  # fmt: skip
    for name in ("example.org/loose", "example.org"):
        await parts.records.push(LOCAL, release(name))
        await parts.records.push(LOCAL, release(name, "Second."))
    for name in ("example.org/strict/agent", "example.organic/agent"):
        await parts.records.push(LOCAL, release(name))
        with pytest.raises(Conflict):
            await parts.records.push(LOCAL, release(name, "Second."))
    await rules.remove("example.org/strict")
    await parts.records.push(LOCAL, release("example.org/strict/agent", "Second."))


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("example.org/agent", "org"),
        ("https://example.org/agent", "org"),
        ("Example.ORG/Team/agent", "team"),
        ("https://example.org/team/agent", "team"),
        ("https://secure.example/agent", "secure"),
        ("secure.example/agent", "all"),
        ("https://other.example/agent", "all"),
        ("example.org/Exact/agent", "exact"),
        ("", "all"),
    ],
)
def test_a_rule_covers_every_spelling_by_which_a_name_is_found(name: str, rule: str) -> None:
    rules = {"": "all", "example.org": "org", "example.org/team": "team", "https://secure.example": "secure"}
    assert rule_for(name, {**rules, "example.org/exact": "other", "example.org/Exact": "exact"}) == rule


async def test_the_general_rule_can_be_changed_but_not_removed(parts: Parts) -> None:
    rules = Namespaces(parts.database)
    with pytest.raises(InvalidInput):
        await rules.remove("")
    with pytest.raises(NotFound):
        await rules.remove("example.org")
    await rules.set("", immutable=False)
    await parts.records.push(LOCAL, release("example.org/any"))
    await parts.records.push(LOCAL, release("example.org/any", "Second."))
