"""Hashes, seals, signatures and provenance."""

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from joserfc.jwk import ECKey, OctKey, OKPKey

from pentad.kernel.clock import iso
from pentad.kernel.errors import Conflict, InvalidInput
from pentad.kernel.jcs import canonical
from pentad.rooms.agents.context.integrity import (
    PROVENANCE,
    bytes_hash,
    chain_problems,
    check_seal,
    item_hash,
    items_hash,
    seal_items,
    verify_signature,
)

ITEMS = {
    "a": {"mediaType": "application/json", "content": {"n": 42, "list": [1, 2]}},
    "b": {"mediaType": "text/plain", "content": "hello"},
}
FLOATS = {**ITEMS, "a": {"mediaType": "application/json", "content": {"n": 42.0, "list": [1.0, 2.0]}}}


def with_provenance(item: dict[str, Any], who: str, when: float, what: str) -> dict[str, Any]:
    """The item with one more entry: who did what, the item's hash then, and the entry before."""
    metadata = dict(item.get("metadata", {}))
    chain = metadata.pop(PROVENANCE, [])
    bare = {key: value for key, value in item.items() if key != "metadata"}
    sha256 = item_hash({**bare, "metadata": metadata} if metadata else bare)
    entry = {"who": who, "when": iso(when), "what": what, "sha256": sha256}
    if chain:
        entry["after"] = bytes_hash(canonical(chain[-1]))
    return {**item, "metadata": {**metadata, PROVENANCE: [*chain, entry]}}


def test_a_hash_survives_peers_that_make_floats_and_sort_keys():
    there = {name: dict(reversed(item.items())) for name, item in reversed(FLOATS.items())}
    assert items_hash(ITEMS) == items_hash(there)
    check_seal(there, seal_items(ITEMS))


def test_a_seal_names_what_was_changed():
    seal = json.loads(json.dumps(seal_items(ITEMS)))
    for change in ("a", "new", "gone"):
        other: dict[str, Any] = copy.deepcopy(ITEMS)
        if change == "a":
            other["a"]["content"]["n"] = 43
        elif change == "new":
            other["new"] = {}
        else:
            other["gone"] = other.pop("b")
        with pytest.raises(Conflict) as refused:
            check_seal(other, seal)
        assert f"/items/{change}" in [problem["path"] for problem in refused.value.details["problems"]]
    with pytest.raises(Conflict):
        check_seal(ITEMS, {**seal, "sha256": "0" * 64})
    with pytest.raises(InvalidInput):
        check_seal(ITEMS, "x")


@pytest.mark.parametrize(
    ("key", "algorithm"),
    [
        (OKPKey.generate_key("Ed25519"), "Ed25519"),
        (OKPKey.generate_key("Ed25519"), "EdDSA"),
        (ECKey.generate_key("P-256"), "ES256"),
        (OctKey.generate_key(256), "HS256"),
    ],
    ids=["Ed25519", "EdDSA", "ES256", "HS256"],
)
@pytest.mark.filterwarnings("ignore::joserfc.errors.SecurityWarning")
def test_a_signature_proves_who_sealed_it(key: Any, algorithm: str):
    seal = seal_items(ITEMS, key, algorithm)
    assert ".." in seal["jws"], "detached: the items are not in it"
    other = OKPKey.generate_key("Ed25519")
    check_seal(FLOATS, seal, [other, key])
    for items, jws, keys in (
        (ITEMS, seal["jws"], [other]),
        ({}, seal["jws"], [key]),
        (ITEMS, None, [key]),
        (ITEMS, "a.b.c", [key]),
        (ITEMS, "..", [key]),
    ):
        with pytest.raises(Conflict):
            verify_signature(items, jws, keys)


def test_provenance_tells_who_did_what_and_notices_changes():
    item = with_provenance({"content": "one"}, "user:ada", 1_800_000_000, "created")
    item = with_provenance({**item, "content": "two"}, "agent:bob", 1_800_000_060, "revised")
    chain = item["metadata"][PROVENANCE]
    assert [(entry["who"], entry["what"], entry["when"]) for entry in chain] == [
        ("user:ada", "created", "2027-01-15T08:00:00.000Z"),
        ("agent:bob", "revised", "2027-01-15T08:01:00.000Z"),
    ]
    assert chain_problems(item) == []
    assert chain_problems({**item, "content": "three"})[0][0] == ("x-provenance", 1, "sha256")
    forged = copy.deepcopy(item)
    forged["metadata"]["x-provenance"][0]["who"] = "user:eve"
    assert chain_problems(forged)[0][0] == ("x-provenance", 1, "after")
    assert chain_problems({"metadata": {"x-provenance": "me"}})
    assert chain_problems({"metadata": {"x-provenance": [{}]}})


@given(
    st.dictionaries(st.text(max_size=3), st.dictionaries(st.text(max_size=3), st.integers(), max_size=2), max_size=3)
)
def test_a_seal_fits_what_was_sealed(items: dict[str, Any]):
    check_seal(items, seal_items(items))
