"""The table of revisions: later ones know more, and the facts that the protocol fixes."""

import itertools

import pytest

from pentad.mcp.revisions import ASSUMED, LEGACY, MODERN, NEWEST_LEGACY, REVISIONS, negotiate


@pytest.mark.requirement("mcp:revisions:table")
def test_five_revisions_in_their_order() -> None:
    assert list(REVISIONS) == ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"]
    assert MODERN == ("2026-07-28",)
    assert NEWEST_LEGACY.name == "2025-11-25"
    assert ASSUMED.name == "2025-03-26"


@pytest.mark.requirement("mcp:revisions:table")
def test_a_later_revision_knows_every_field_of_an_earlier_one() -> None:
    rows = list(REVISIONS.values())
    for earlier, later in itertools.pairwise(rows):
        assert earlier.tool_fields <= later.tool_fields
        assert earlier.named_fields <= later.named_fields
        assert earlier.server_fields <= later.server_fields
        for fact in ("audio", "links", "structured", "elicitation", "url_elicitation", "progress_message"):
            assert getattr(earlier, fact) <= getattr(later, fact), fact


@pytest.mark.requirement("mcp:batches:2025-03-26-only")
def test_one_revision_alone_has_batches() -> None:
    assert [name for name, row in REVISIONS.items() if row.batches] == ["2025-03-26"]


@pytest.mark.requirement("mcp:2026:removed-methods")
def test_the_modern_era_lacks_the_handshake_and_the_old_one_the_discovery() -> None:
    modern = REVISIONS["2026-07-28"].methods
    assert modern.isdisjoint({"initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"})
    for name in LEGACY:
        assert REVISIONS[name].methods.isdisjoint({"server/discover", "subscriptions/listen"})


@pytest.mark.parametrize(
    ("asked", "agreed"), [*zip(LEGACY, LEGACY, strict=True), ("2026-07-28", "2025-11-25"), ("", "2025-11-25")]
)
@pytest.mark.requirement("mcp:initialize:negotiation")
def test_negotiation(asked: str, agreed: str) -> None:
    assert negotiate(asked).name == agreed


@pytest.mark.requirement("mcp:resources:read:unknown")
def test_the_code_of_an_unknown_resource() -> None:
    assert {row.resource_not_found for row in REVISIONS.values() if row.modern} == {-32602}
    assert {row.resource_not_found for row in REVISIONS.values() if not row.modern} == {-32002}
