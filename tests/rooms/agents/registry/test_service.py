"""The registry over both stores: unique readable ids, owners, soft deletion, search."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from pentad.access.scopes import role_scopes
from pentad.app import CORE_SETS
from pentad.kernel.clock import SystemClock
from pentad.kernel.errors import Conflict, Forbidden, InvalidInput, LimitExceeded, NotFound
from pentad.kernel.ports import Transaction
from pentad.kernel.principal import Principal
from pentad.rooms.agents.registry.card_index import COLLECTION, SEARCHABLE
from pentad.rooms.agents.registry.service import CardRegistry
from pentad.rooms.agents.registry.store import CardQuery, CardRecord
from pentad.search.index import SearchIndex
from pentad.storage.migrations import MigrationSet
from tests.rooms.agents.registry.cards import a2a_card, agentvault_card
from tests.search.hashing import HashingEmbedder
from tests.stores import Stores

pytestmark = pytest.mark.anyio

SETS = (*CORE_SETS, MigrationSet("agents", "pentad.rooms.agents.schema"))
ADA = Principal("user:ada", "ada", role_scopes("writer"))
BEN = Principal("user:ben", "ben", role_scopes("writer"))
ADMIN = Principal("user:root", "root", role_scopes("admin"))
HOSTED = CardRecord(
    "01900000-0000-7000-8000-000000000001", "", a2a_card("Echo", humanReadableId="pentad/echo", tags=["sea"]),
    True, 1.0, 1.0, hosted=True,
)  # fmt: skip


class Ticking(SystemClock):
    """A clock that is a second later whenever it is asked."""

    __slots__ = ("at",)

    def __init__(self) -> None:
        self.at = 1_700_000_000.0

    def now(self) -> float:
        self.at += 1
        return self.at


@pytest.fixture
def hosted() -> list[CardRecord]:
    return []


@pytest.fixture
async def registry(stores: Stores, hosted: list[CardRecord]) -> CardRegistry:
    database = await stores.open(SETS)
    index = SearchIndex(database, stores.data / "search")
    index.declare(SEARCHABLE)
    return CardRegistry(database, Ticking(), lambda: hosted, index)


async def names(registry: CardRegistry, wanted: CardQuery, **page: int) -> list[str]:
    return [one.metadata.name for one in (await registry.search(wanted, **page)).cards]


async def test_a_card_is_found_by_its_id_and_by_its_readable_id_in_any_case(registry: CardRegistry) -> None:
    one = await registry.register(ADA, agentvault_card(readable="Acme/Weather"))

    assert await registry.get(one.id) == one
    assert await registry.by_readable("aCME/wEATHER") == one
    assert one.card == agentvault_card(readable="Acme/Weather"), "kept as it came"


@pytest.mark.requirement("agents:registry:unique")
async def test_a_readable_id_belongs_to_one_active_card(registry: CardRegistry) -> None:
    first = await registry.register(ADA, agentvault_card())

    with pytest.raises(Conflict) as taken:
        await registry.register(BEN, agentvault_card(readable="ACME/weather"))
    assert taken.value.details["card"] == first.id
    await registry.remove(ADA, first.id)
    second = await registry.register(BEN, agentvault_card(readable="ACME/weather"))
    with pytest.raises(Conflict):
        await registry.update(ADA, first.id, None, is_active=True)
    assert (await registry.by_readable("acme/weather")).id == second.id


@pytest.mark.requirement("agents:registry:soft-delete")
async def test_what_is_removed_is_in_no_list_but_readable_by_id_and_can_come_back(registry: CardRegistry) -> None:
    one = await registry.register(ADA, agentvault_card())
    await registry.remove(ADA, one.id)

    assert await names(registry, CardQuery()) == []
    assert (await registry.get(one.id)).is_active is False
    with pytest.raises(NotFound):
        await registry.by_readable("acme/weather")
    assert await names(registry, CardQuery(active_only=False)) == ["Weather"]
    await registry.update(ADA, one.id, None, is_active=True)
    assert await names(registry, CardQuery()) == ["Weather"]


@pytest.mark.requirement("agents:registry:merge")
async def test_an_update_replaces_members_and_is_checked_as_a_whole(registry: CardRegistry) -> None:
    one = await registry.register(ADA, agentvault_card(tags=["wind"]))

    changed = await registry.update(ADA, one.id, {"name": "Storm", "tags": ["storm"]})

    assert changed.card == agentvault_card(tags=["storm"]) | {"name": "Storm"}
    assert changed.updated_at > one.updated_at
    assert await names(registry, CardQuery(tags=("storm",))) == ["Storm"]
    assert await names(registry, CardQuery(tags=("wind",))) == []
    with pytest.raises(InvalidInput) as refused:
        await registry.update(ADA, one.id, {"authSchemes": []})
    assert [problem["path"] for problem in refused.value.details["problems"]] == ["/authSchemes"]
    assert (await registry.get(one.id)).card == changed.card


async def test_only_the_owner_or_an_administrator_changes_a_card(registry: CardRegistry) -> None:
    one = await registry.register(ADA, agentvault_card())

    with pytest.raises(Forbidden):
        await registry.update(BEN, one.id, {"name": "Mine"})
    with pytest.raises(Forbidden):
        await registry.remove(BEN, one.id)
    assert (await registry.update(ADMIN, one.id, {"name": "Ours"})).owner == "user:ada"


@pytest.mark.parametrize("card_id", ["no uuid", "01900000-0000-7000-8000-00000000ffff"])
async def test_an_unknown_card_is_not_found(registry: CardRegistry, card_id: str) -> None:
    with pytest.raises(NotFound):
        await registry.get(card_id)


async def test_a_card_larger_than_the_limit_is_refused(registry: CardRegistry) -> None:
    with pytest.raises(LimitExceeded):
        await registry.register(ADA, agentvault_card(description="x" * 300_000))


CARDS: Sequence[dict[str, Any]] = (
    agentvault_card(
        "Weather",
        tags=["sea", "forecast"],
        capabilities={"a2aVersion": "0.2", "mcpVersion": "1.0", "teeDetails": {"type": "AMD SEV-SNP"}},
    ),
    agentvault_card("Ledger_100%", "acme/ledger", tags=["money"], authSchemes=[{"scheme": "none"}]),
    a2a_card(
        capabilities={"extensions": [{"uri": "https://pentad.example/mcp-context/v1"}]},
        securitySchemes={"key": {"httpAuthSecurityScheme": {"scheme": "Bearer"}}},
    ),
)


SEARCHES: Sequence[tuple[CardQuery, list[str]]] = (
    (CardQuery(), ["Tide Table", "Ledger_100%", "Weather"]),
    (CardQuery(text="weather at the COAST"), ["Weather", "Ledger_100%"]),
    (CardQuery(text="tables of the tides"), ["Tide Table"]),
    (CardQuery(text="weather", tags=("money",)), []),
    (CardQuery(text="zeppelin"), []),
    (CardQuery(text="   "), ["Tide Table", "Ledger_100%", "Weather"]),
    (CardQuery(phrase="for the towns"), ["Ledger_100%", "Weather"]),
    (CardQuery(phrase="_100%"), ["Ledger_100%"]),
    (CardQuery(phrase="r_1__%"), []),
    (CardQuery(tags=("sea",)), ["Tide Table", "Weather"]),
    (CardQuery(tags=("sea", "forecast")), ["Weather"]),
    (CardQuery(tags=("Sea",)), []),
    (CardQuery(has_tee=True), ["Weather"]),
    (CardQuery(has_tee=False), ["Tide Table", "Ledger_100%"]),
    (CardQuery(tee_type="amd sev-snp"), ["Weather"]),
    (CardQuery(has_mcp=True), ["Tide Table", "Weather"]),
    (CardQuery(has_mcp=False), ["Ledger_100%"]),
    (CardQuery(skill="TIDES"), ["Tide Table"]),
    (CardQuery(auth_scheme="none"), ["Ledger_100%"]),
    (CardQuery(auth_scheme="bearer"), ["Tide Table"]),
    (CardQuery(auth_scheme="APIKEY"), ["Weather"]),
    (CardQuery(dialect="agentvault"), ["Ledger_100%", "Weather"]),
    (CardQuery(dialect="1.0"), ["Tide Table"]),
    (CardQuery(extension="https://pentad.example/mcp-context/v1"), ["Tide Table"]),
    (CardQuery(owner="user:ada"), ["Tide Table", "Ledger_100%", "Weather"]),
    (CardQuery(owner="user:ben"), []),
)


@pytest.mark.requirement("agents:registry:search")
async def test_cards_are_found_by_everything_they_say_in_the_store_and_in_memory_alike(
    registry: CardRegistry, hosted: list[CardRecord]
) -> None:
    kept = [await registry.register(ADA, card) for card in CARDS]
    in_store = [await names(registry, wanted) for wanted, _ in SEARCHES]
    for one in kept:
        await registry.remove(ADA, one.id)
    hosted += [replace(one, hosted=True) for one in reversed(kept)]
    in_memory = [await names(registry, wanted) for wanted, _ in SEARCHES]

    assert in_store == [found for _, found in SEARCHES]
    assert in_memory == in_store


@pytest.mark.requirement("agents:registry:paging")
async def test_pages_go_over_hosted_agents_and_registered_ones_without_gap_or_double(
    registry: CardRegistry, hosted: list[CardRecord]
) -> None:
    hosted += [HOSTED, replace(HOSTED, id="2", card=a2a_card("Proxy", humanReadableId="pentad/proxy"))]
    for number in range(3):
        await registry.register(ADA, agentvault_card(f"N{number}", f"acme/n{number}"))
    whole = await names(registry, CardQuery())

    assert whole == ["Echo", "Proxy", "N2", "N1", "N0"]
    for size in (1, 2, 3, 5):
        pages = [await registry.search(CardQuery(), limit=size, offset=at) for at in range(0, 6, size)]
        assert [one.metadata.name for page in pages for one in page.cards] == whole
        assert {page.total for page in pages} == {5}


async def test_the_cards_of_hosted_agents_are_there_by_themselves_and_nobody_takes_their_id(
    registry: CardRegistry, hosted: list[CardRecord]
) -> None:
    hosted.append(HOSTED)

    assert await registry.by_readable("PENTAD/echo") == HOSTED
    assert await registry.get(HOSTED.id) == HOSTED
    with pytest.raises(Conflict):
        await registry.register(ADA, agentvault_card(readable="Pentad/Echo"))
    with pytest.raises(Forbidden):
        await registry.update(ADMIN, HOSTED.id, {"name": "Mine"})


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"url": "https://agents.example.com/weather?api_key=fake-hunter2"}, "/url"),
        ({"description": "Call it with ghp_" + "A1b2C3d4E5" * 3}, "/description"),
        ({"tags": ["sea", "sk_live_" + "fake0123456789fake"]}, "/tags/1"),
        ({"authentication": {"schemes": ["basic"], "credentials": "fake-hunter2"}}, "/authentication/credentials"),
        ({"extensions": [{"params": {"apiKey": "fake-hunter2"}}]}, "/extensions/0/params/apiKey"),
    ],
)
@pytest.mark.requirement("agents:registry:secrets")
async def test_a_card_with_a_secret_in_it_is_refused_and_not_kept(
    registry: CardRegistry, changes: dict[str, Any], path: str
) -> None:
    kept = await registry.register(ADA, agentvault_card(readable="acme/sound"))
    for attempt in (
        registry.register(ADA, agentvault_card(**changes)),
        registry.update(ADA, kept.id, changes),
    ):
        with pytest.raises(InvalidInput) as refused:
            await attempt
        assert [(one["path"], one["rule"]) for one in refused.value.details["problems"]] == [(path, "secret")]
    assert (await registry.search(CardQuery())).total == 1
    assert (await registry.get(kept.id)).card == kept.card


@pytest.mark.requirement("agents:registry:secrets")
async def test_a_card_that_says_how_to_log_in_holds_no_secret(registry: CardRegistry) -> None:
    schemes = {
        "apiKey": {"apiKeySecurityScheme": {"location": "header", "name": "X-API-Key"}},
        "oauth": {
            "oauth2SecurityScheme": {
                "flows": {
                    "clientCredentials": {
                        "tokenUrl": "https://login.example.com/token",
                        "scopes": {"token": "All tokens", "secrets": "Read secrets"},
                    }
                }
            }
        },
    }
    signatures = [{"protected": "eyJhbGciOiJFUzI1NiIsImtpZCI6ImsxIn0", "signature": "MEUCIQDx8aZ4kP9LwqVb7tYfG3nHs2jR"}]
    card = a2a_card(securitySchemes=schemes, security=[{"apiKey": []}], signatures=signatures)
    assert (await registry.register(ADA, card)).card == card


@pytest.mark.requirement("agents:tools:ranked")
async def test_hosted_and_registered_agents_are_ranked_together(
    registry: CardRegistry, hosted: list[CardRecord]
) -> None:
    hosted.append(HOSTED)
    for card in CARDS:
        await registry.register(ADA, card)
    together = await names(registry, CardQuery(text="weather, echo and tides at sea"))
    assert sorted(together) == ["Echo", "Tide Table", "Weather"]
    assert (await names(registry, CardQuery(text="tide table")))[0] == "Tide Table"
    assert await names(registry, CardQuery(text="echo")) == ["Echo"]
    assert await names(registry, CardQuery(text="echo", owner="user:ada")) == []


@pytest.mark.requirement("agents:tools:ranked")
async def test_a_search_finds_cards_as_they_are_now(registry: CardRegistry) -> None:
    one = await registry.register(ADA, agentvault_card("Storm", "acme/storm"))
    await registry.update(ADA, one.id, {"name": "Calm", "description": "Calm days."})
    assert await names(registry, CardQuery(text="storm")) == ["Calm"], "its readable id is the same"
    assert await names(registry, CardQuery(text="calm days")) == ["Calm"]
    await registry.remove(ADA, one.id)
    assert await names(registry, CardQuery(text="calm days")) == []
    await registry.update(ADA, one.id, None, is_active=True)
    assert await names(registry, CardQuery(text="calm days")) == ["Calm"]


@pytest.mark.requirement("agents:tools:ranked")
async def test_cards_of_an_older_store_are_found_too(registry: CardRegistry) -> None:
    for number in range(3):
        await registry.register(ADA, agentvault_card(f"Storm {number}", f"acme/storm-{number}"))

    def forget(tx: Transaction) -> None:
        tx.run("UPDATE agent_cards SET number = NULL")
        registry._index.drop(tx, COLLECTION)

    await registry._database.write(forget)
    assert len(await names(registry, CardQuery(text="storm"))) == 3


class Synonyms(HashingEmbedder):
    """Knows that a gale is weather."""

    def vector(self, text: str) -> np.ndarray:
        return super().vector(text.lower().replace("gale", "weather"))


@pytest.mark.requirement("agents:tools:ranked")
async def test_agents_are_found_by_meaning(stores: Stores) -> None:
    database = await stores.open(SETS)
    index = SearchIndex(database, stores.data / "search", Synonyms())
    index.declare(SEARCHABLE)
    registry = CardRegistry(database, Ticking(), list, index)
    await registry.register(ADA, agentvault_card("Weather", "acme/w", description="weather"))
    await registry.register(ADA, agentvault_card("Ledger", "acme/l", description="ledger"))
    await index.embed_pending()
    assert (await names(registry, CardQuery(text="gale")))[:1] == ["Weather"]
