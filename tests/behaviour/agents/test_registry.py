"""The registry over HTTP, as clients of AgentVault's registry use it."""

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import pytest

from pentad.app import App, open_app
from pentad.http.front import Front
from pentad.settings.model import Settings
from tests.behaviour.connecting import front_of
from tests.behaviour.http_wire import HttpAnswer, send
from tests.rooms.agents.registry.cards import a2a_card, agentvault_card

pytestmark = pytest.mark.anyio

CARDS = "/api/v1/agent-cards/"


@dataclass
class Site:
    app: App
    front: Front
    keys: dict[str, str]

    async def ask(self, verb: str, path: str, body: Any = None, who: str | None = None) -> tuple[int, Any]:
        answer = self.sent(verb, path, body, who)
        text = await answer.body()
        return answer.status, json.loads(text) if text else None

    def sent(self, verb: str, path: str, body: Any = None, who: str | None = None) -> HttpAnswer:
        headers = {"content-type": "application/json"} if body is not None else {}
        if who is not None:
            headers["authorization"] = f"Bearer {self.keys[who]}"
        return send(self.front, verb, path, headers, b"" if body is None else json.dumps(body).encode())

    async def registered(self, card: dict[str, Any], who: str = "ada") -> dict[str, Any]:
        status, kept = await self.ask("POST", CARDS, {"card_data": card}, who)
        assert status == 201, kept
        return kept


@pytest.fixture
async def site(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Site]:
    settings = Settings(data=tmp_path_factory.mktemp("registry"), rooms=("agents",))
    async with open_app(settings) as app:
        scopes = {"ada": ["*:read", "*:write"], "ben": ["*:read", "*:write"], "rea": ["*:read"]}
        keys = {name: (await app.api_keys.create(name, scopes=given)).token for name, given in scopes.items()}
        yield Site(app, front_of(app), keys)


@pytest.mark.requirement("agents:registry:cards")
async def test_a_card_is_registered_read_changed_and_removed(site: Site) -> None:
    kept = await site.registered(agentvault_card(tags=["wind"]))
    assert (kept["name"], kept["is_active"], kept["card_data"]["tags"]) == ("Weather", True, ["wind"])
    assert kept["developer_id"].startswith("key:")
    at = CARDS + kept["id"]
    assert await site.ask("GET", at) == (200, kept)

    status, changed = await site.ask("PUT", at, {"card_data": {"name": "Storm"}}, "ada")
    assert (status, changed["name"], changed["card_data"]["tags"]) == (200, "Storm", ["wind"])

    assert await site.ask("DELETE", at, None, "ada") == (204, None)
    status, gone = await site.ask("GET", at)
    assert (status, gone["is_active"]) == (200, False)
    assert (await site.ask("PUT", at, {"is_active": True}, "ada"))[1]["is_active"] is True


@pytest.mark.requirement("agents:registry:verified")
async def test_a_developer_is_verified_who_has_an_account_or_runs_the_server(site: Site) -> None:
    """A key shows that somebody holds it, but not who that is."""
    await site.app.users.add("eve", "correct horse of eve", role="writer")
    site.keys["eve"] = (await site.app.api_keys.create("of eve", owner="eve", scopes=["*:read", "*:write"])).token
    for who, verified in (("ada", False), ("eve", True)):
        kept = await site.registered(agentvault_card(readable=f"acme/{who}"), who)
        assert kept["developer_is_verified"] is verified
        assert (await site.ask("GET", CARDS + kept["id"]))[1]["developer_is_verified"] is verified
        status, changed = await site.ask("PUT", CARDS + kept["id"], {"card_data": {"name": "Storm"}}, who)
        assert (status, changed["developer_is_verified"]) == (200, verified)
    assert (await site.ask("GET", CARDS + "by-hri?hri=pentad/echo"))[1]["developer_is_verified"] is True

    await site.app.users.remove("eve")
    assert (await site.ask("GET", CARDS + "by-hri?hri=acme/eve"))[1]["developer_is_verified"] is False


@pytest.mark.parametrize("way", ["id/{}", "by-hri?hri={}"])
@pytest.mark.requirement("agents:registry:readable")
async def test_a_card_is_found_by_its_readable_id_in_any_case(site: Site, way: str) -> None:
    kept = await site.registered(agentvault_card(readable="Acme/Sea/Weather"))

    assert await site.ask("GET", CARDS + way.format("acme/sea/WEATHER")) == (200, kept)
    assert await site.ask("GET", CARDS + way.format(quote("acme/sea/weather", safe=""))) == (200, kept)
    status, body = await site.ask("GET", CARDS + way.format("acme/none"))
    assert (status, body["error"]["code"]) == (404, "not_found")


@pytest.mark.requirement("agents:registry:rights")
async def test_writing_needs_a_login_with_the_right_to_write_and_the_card_to_be_ones_own(site: Site) -> None:
    card = {"card_data": agentvault_card()}
    assert (await site.ask("POST", CARDS, card))[0] == 401
    assert (await site.ask("POST", CARDS, card, "rea"))[0] == 403
    at = CARDS + (await site.registered(agentvault_card()))["id"]
    for verb, body in (("PUT", {"card_data": {"name": "Mine"}}), ("DELETE", None)):
        assert (await site.ask(verb, at, body))[0] == 401
        assert (await site.ask(verb, at, body, "rea"))[0] == 403
        assert (await site.ask(verb, at, body, "ben"))[0] == 403
        assert (await site.ask(verb, CARDS + "01900000-0000-7000-8000-00000000ffff", body, "ada"))[0] == 404


@pytest.mark.requirement("agents:registry:validated")
async def test_what_is_wrong_with_a_card_is_said_place_by_place(site: Site) -> None:
    status, body = await site.ask(
        "POST", CARDS, {"card_data": agentvault_card(authSchemes=[{"scheme": "oauth2"}])}, "ada"
    )
    assert status == 422
    assert [one["path"] for one in body["error"]["details"]["problems"]] == ["/authSchemes/0"]
    assert "authSchemes" in body["detail"]
    assert (await site.ask("POST", CARDS, {"card": {}}, "ada"))[0] == 422
    assert (await site.ask("POST", CARDS, [1], "ada"))[0] == 422
    await site.registered(agentvault_card())
    status, body = await site.ask("POST", CARDS, {"card_data": agentvault_card(readable="ACME/Weather")}, "ben")
    assert status == 409


@pytest.mark.requirement("agents:registry:list")
async def test_lists_are_filtered_and_paged_as_the_original_does(site: Site) -> None:
    tee = {"a2aVersion": "0.2", "teeDetails": {"type": "Intel SGX"}}
    await site.registered(agentvault_card("Alpha", "acme/alpha", tags=["a", "b"], capabilities=tee))
    await site.registered(agentvault_card("Beta", "acme/beta", tags=["a"]), "ben")
    await site.registered(a2a_card("Gamma"))

    async def names(query: str, who: str | None = None) -> list[str]:
        status, body = await site.ask("GET", f"{CARDS}?{query}", None, who)
        assert status == 200, body
        return [one["name"] for one in body["items"]]

    assert await names("tags=a") == ["Beta", "Alpha"]
    assert await names("tags=a&tags=b") == ["Alpha"]
    assert await names("search=bETA") == ["Beta"]
    assert await names("has_tee=true") == ["Alpha"]
    assert await names("tee_type=intel%20sgx") == ["Alpha"]
    assert await names("skill=tides&dialect=1.0") == ["Gamma"]
    assert await names("auth_scheme=apiKey&has_mcp=false") == ["Beta", "Alpha"]
    assert await names("owned_only=true", "ben") == ["Beta"]
    _, body = await site.ask("GET", f"{CARDS}?skip=1&limit=2&dialect=agentvault&tags=a")
    assert body["pagination"] == {"total_items": 2, "limit": 2, "offset": 1, "total_pages": 1, "current_page": 1}
    assert [set(one) for one in body["items"]] == [{"id", "name", "description", "humanReadableId"}]


@pytest.mark.requirement("agents:registry:hosted")
async def test_the_agents_that_run_here_are_in_the_list_and_everybody_may_read_it(site: Site) -> None:
    status, body = await site.ask("GET", CARDS)

    assert status == 200
    assert [one["humanReadableId"] for one in body["items"]] == ["pentad/echo", "pentad/tool-proxy"]
    _, card = await site.ask("GET", CARDS + "id/pentad/echo")
    assert card["card_data"]["url"] == "http://localhost:8700/agents/echo"
    assert (await site.ask("DELETE", CARDS + card["id"], None, "ada"))[0] == 403


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("owned_only=true", 401),
        ("active_only=false", 401),
        ("limit=0", 422),
        ("limit=251", 422),
        ("skip=-1", 422),
        ("has_tee=perhaps", 422),
        ("search=" + "x" * 101, 422),
    ],
)
@pytest.mark.requirement("agents:registry:list")
async def test_what_makes_no_sense_in_a_list_is_refused(site: Site, query: str, status: int) -> None:
    assert (await site.ask("GET", f"{CARDS}?{query}"))[0] == status


@pytest.mark.requirement("agents:registry:validate")
async def test_a_card_can_be_checked_without_registering_it(site: Site) -> None:
    at = "/api/v1/utils/validate-card"
    card = agentvault_card(url="http://localhost.example.com/x")

    assert await site.ask("POST", at, {"card_data": card}) == (
        200,
        {"is_valid": True, "detail": None, "validated_card_data": card},
    )
    status, strict = await site.ask("POST", f"{at}?level=strict", {"card_data": card})
    assert (status, strict["is_valid"], strict["validated_card_data"]) == (200, False, None)
    assert [one["path"] for one in strict["problems"]] == ["/url"]
    _, bad = await site.ask("POST", at, {"card_data": a2a_card(skills=[{"id": "x"}])})
    assert [one["path"] for one in bad["problems"]] == ["/skills/0/name", "/skills/0/description"]
    assert (await site.ask("GET", at, None, "ada"))[0] == 405


async def test_a_path_or_method_nobody_answers_says_so(site: Site) -> None:
    assert (await site.ask("PATCH", CARDS, {}, "ada"))[0] == 405
    assert (await site.ask("GET", CARDS + "one/two"))[0] == 404
    head = await site.sent("HEAD", CARDS).head()
    assert head.status == 200
