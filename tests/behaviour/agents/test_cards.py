"""The card of an agent: one document for three kinds of readers, signed, cached and public; and who may do what."""

import base64
import json
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

import pytest
from joserfc import jws
from joserfc.errors import BadSignatureError
from joserfc.jwk import ECKey

from pentad.app import App, open_app
from pentad.kernel.jcs import canonical
from pentad.settings.model import Settings
from tests.behaviour.agents.conftest import Wire
from tests.behaviour.agents.test_jsonrpc import v03, v10
from tests.behaviour.http_wire import HttpAnswer, send

pytestmark = pytest.mark.anyio
WELL_KNOWN = "/.well-known/agent-card.json"


def get(wire: Wire, path: str = WELL_KNOWN, verb: str = "GET", **headers: str) -> HttpAnswer:
    return send(wire.front, verb, path, {name.replace("_", "-"): value for name, value in headers.items()})


async def test_the_card_has_what_every_reader_requires(wire: Wire) -> None:
    card = await get(wire).json()
    url = "http://localhost:8700/agents/tck"
    required = (
        "schemaVersion",
        "humanReadableId",
        "agentVersion",
        "name",
        "description",
        "capabilities",
        "authSchemes",
    )
    assert all(card[name] for name in required)
    assert (card["url"], card["protocolVersion"], card["preferredTransport"]) == (url, "0.3.0", "JSONRPC")
    interfaces = [(one["url"], one["protocolBinding"], one["protocolVersion"]) for one in card["supportedInterfaces"]]
    assert interfaces == [(url, "JSONRPC", "1.0"), (url, "HTTP+JSON", "1.0"), (url, "JSONRPC", "0.3")]
    assert (card["provider"]["name"], card["provider"]["organization"]) == ("Pentad", "Pentad")
    assert card["capabilities"]["streaming"] is True
    assert all(skill["tags"] for skill in card["skills"])
    assert card["authSchemes"] == [{"scheme": "none"}]
    assert "application/json" in card["defaultInputModes"]
    assert (await get(wire, "/agents/echo").json())["defaultInputModes"][-1] == "*/*"


@pytest.mark.parametrize(
    "path", ["/agents/own/.well-known/agent-card.json", "/agents/own/agent-card.json", "/agents/own"]
)
async def test_every_agent_has_a_card_of_its_own(wire: Wire, path: str) -> None:
    card = await get(wire, path).json()
    assert card["url"] == "http://localhost:8700/agents/own"
    declared = card["capabilities"]["extensions"]
    assert declared[0] == {"uri": "urn:test:needed", "description": "Needed.", "required": True}
    assert "required" not in declared[1]


@pytest.mark.parametrize("host", ["127.0.0.1:8700", "[::1]:8700", "localhost:8700"])
async def test_on_loopback_a_server_calls_itself_localhost(wire: Wire, host: str) -> None:
    assert (await get(wire, host=host).json())["url"] == "http://localhost:8700/agents/tck"


async def test_a_card_that_is_known_is_not_sent_again(wire: Wire) -> None:
    first = get(wire)
    body = await first.body()
    assert first.headers["cache-control"] == "public, max-age=300"
    for headers in (
        {"if_none_match": first.headers["etag"]},
        {"if_none_match": f'"other", W/{first.headers["etag"]}'},
        {"if_modified_since": first.headers["last-modified"]},
    ):
        again = get(wire, **headers)
        assert (await again.body(), again.status) == (b"", 304)
        assert again.headers["etag"] == first.headers["etag"]
    other = get(wire, if_none_match='"other"', if_modified_since=first.headers["last-modified"])
    assert (await other.body(), other.status) == (body, 200)
    head = get(wire, verb="HEAD")
    assert (await head.body(), head.status) == (b"", 200)


async def test_a_card_cannot_be_posted(wire: Wire) -> None:
    answer = wire.rest("POST", "/agents/tck/agent-card.json")
    assert (await answer.json())["error"]["message"] == "A card is read with GET."
    assert answer.status == 404


def verifying(signatures: list[dict[str, str]], payload: Any, key: ECKey) -> int:
    """How many signatures are valid for a payload."""
    encoded = base64.urlsafe_b64encode(canonical(payload)).rstrip(b"=").decode()
    held = 0
    for one in signatures:
        with suppress(BadSignatureError):
            jws.deserialize_compact(f"{one['protected']}.{encoded}.{one['signature']}", key, algorithms=["ES256"])
            held += 1
    return held


async def test_the_signatures_hold_for_readers_of_everything_and_of_1_0_alone(wire: Wire) -> None:
    card, known = await get(wire).json(), await get(wire, "/a2a/1.0/.well-known/agent-card.json").json()
    keys = await get(wire, "/.well-known/jwks.json").json()
    key = ECKey.import_key(keys["keys"][0])
    signatures = card.pop("signatures")
    for one in signatures:
        assert json.loads(base64.urlsafe_b64decode(one["protected"] + "==")) == {
            "alg": "ES256",
            "typ": "JOSE",
            "kid": keys["keys"][0]["kid"],
            "jku": "http://localhost:8700/.well-known/jwks.json",
        }
    own = known.pop("signatures")
    for signed, payload in ((signatures, card), (signatures, known), (own, known)):
        assert verifying(signed, payload, key) == 1
        assert verifying(signed, {**payload, "name": "Mallory"}, key) == 0
    assert verifying(own, card, key) == 0


V10_MEMBERS = {
    "name", "description", "version", "supportedInterfaces", "provider", "capabilities", "defaultInputModes",
    "defaultOutputModes", "skills", "signatures",
}  # fmt: skip


@pytest.mark.parametrize(
    ("path", "headers"),
    [
        ("/a2a/1.0/.well-known/agent-card.json", {}),
        ("/agents/own/1.0/.well-known/agent-card.json", {}),
        ("/agents/own/1.0/agent-card.json", {}),
        (WELL_KNOWN, {"a2a_version": "1.0"}),
        ("/agents/own", {"a2a_version": "1.0.1"}),
        ("/agents/own/agent-card.json?A2A-Version=1.0", {}),
    ],
)
@pytest.mark.requirement("agents:cards:v10")
async def test_who_asks_for_1_0_gets_its_members_alone(wire: Wire, path: str, headers: dict[str, str]) -> None:
    answer = get(wire, path, **headers)
    card = await answer.json()
    assert set(card) == V10_MEMBERS
    assert set(card["capabilities"]) <= {"streaming", "pushNotifications", "extendedAgentCard", "extensions"}
    assert set(card["provider"]) == {"organization", "url"}
    assert "a2a-version" in answer.headers["vary"]
    assert (await get(wire, path, if_none_match=answer.headers["etag"], **headers).head()).status == 304


@pytest.mark.parametrize("version", ["0.3", "9.9", "one"])
async def test_who_asks_for_another_version_gets_the_card_for_all(wire: Wire, version: str) -> None:
    assert await get(wire, a2a_version=version).json() == await get(wire).json()


@pytest.fixture(scope="module")
async def closed(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[tuple[App, Wire, dict[str, str]]]:
    rooms = ("tests.behaviour.agents.hall:ROOM",)
    settings = Settings(data=tmp_path_factory.mktemp("closed"), rooms=rooms, public_url="https://agents.example")
    async with open_app(settings) as app:
        scopes = {
            "reader": ["agents:read"],
            "writer": ["agents:read", "agents:write"],
            "other": ["*:*"],
            "none": ["x:read"],
        }
        keys = {name: (await app.api_keys.create(name, scopes=given)).token for name, given in scopes.items()}
        yield app, Wire(app), keys


async def test_behind_a_login_the_card_is_public_and_says_how_to_come_in(
    closed: tuple[App, Wire, dict[str, str]],
) -> None:
    _, wire, _ = closed
    card = await get(wire).json()
    assert card["url"] == "https://agents.example/agents/tck"
    assert [one["scheme"] for one in card["authSchemes"]] == ["apiKey", "bearer"]
    assert {one["service_identifier"] for one in card["authSchemes"]} == {"agents_example"}
    key = card["securitySchemes"]["apiKey"]
    assert (key["type"], key["in"], key["name"]) == ("apiKey", "header", "X-Api-Key")
    assert key["apiKeySecurityScheme"] == {"location": "header", "name": "X-Api-Key"}
    bearer = card["securitySchemes"]["bearer"]
    assert bearer["httpAuthSecurityScheme"]["scheme"] == bearer["scheme"] == "bearer"
    assert card["security"] == [{"apiKey": []}, {"bearer": []}]
    assert (await get(wire, "/.well-known/jwks.json").head()).status == 200


async def test_the_extended_card_is_for_those_who_are_let_in(closed: tuple[App, Wire, dict[str, str]]) -> None:
    _, wire, keys = closed
    assert (await get(wire).json())["capabilities"]["extendedAgentCard"] is True
    for method in ("GetExtendedAgentCard", "agent/getAuthenticatedExtendedCard"):
        card = await wire.call(method, {}, "/agents/own", x_api_key=keys["reader"])
        assert {"own/double", "own/broken"} <= {skill["id"] for skill in card["skills"]}
        assert len(card["signatures"]) >= 2
        assert rights_in(card) == ["read"]
    assert card["tags"] == ["may:read"]
    same = await wire.rest("GET", "/agents/own/extendedAgentCard", x_api_key=keys["writer"]).json()
    assert rights_in(same) == ["read", "write"]
    assert set(same) == V10_MEMBERS | {"securitySchemes", "securityRequirements"}


def rights_in(card: dict[str, Any]) -> list[str]:
    """What the caller may do: an extension in 1.0, whose cards have no tags."""
    declared = {one["uri"]: one.get("params", {}) for one in card["capabilities"]["extensions"]}
    tagged = [tag.removeprefix("may:") for tag in card.get("tags", [])]
    return declared.get("urn:pentad:a2a:rights:v1", {}).get("may", tagged)


async def test_without_credentials_nothing_else_answers(closed: tuple[App, Wire, dict[str, str]]) -> None:
    _, wire, _ = closed
    for answer in (
        wire.ask("SendMessage", v10("m")),
        wire.rest("GET", "/agents/tck/tasks"),
        wire.rest("GET", "/agents/tck/extendedAgentCard"),
        wire.rest("GET", "/agents/tck"),
    ):
        assert (await answer.json())["error"]["status"] == "UNAUTHENTICATED"
        assert answer.status == 401
        assert "www-authenticate" in answer.headers


async def test_what_a_caller_may_do_follows_from_its_scopes(closed: tuple[App, Wire, dict[str, str]]) -> None:
    _, wire, keys = closed

    async def status(answer: HttpAnswer) -> tuple[int, Any]:
        body = await answer.json()
        return answer.status, body.get("error")

    task = (await wire.call("SendMessage", v10("m"), x_api_key=keys["writer"]))["task"]
    assert (await status(wire.ask("SendMessage", v10("m"), x_api_key=keys["reader"])))[0] == 403
    assert (await status(wire.rest("POST", "/agents/tck/message:send", v10("m"), x_api_key=keys["reader"])))[0] == 403
    assert (await status(wire.ask("ListTasks", {}, x_api_key=keys["none"])))[0] == 403
    assert (await status(wire.ask("message/stream", v03("m"), x_api_key=keys["reader"])))[0] == 403
    assert (await wire.call("ListTasks", {}, x_api_key=keys["reader"]))["totalSize"] == 0
    assert await wire.call("GetTask", {"id": task["id"]}, authorization=f"Bearer {keys['writer']}")
    for name in ("reader", "other"):
        for method in ("GetTask", "CancelTask", "SubscribeToTask"):
            if name == "other" or method != "CancelTask":
                assert (await wire.refused(method, {"id": task["id"]}, x_api_key=keys[name]))["code"] == -32001


async def test_calls_are_noted_by_their_method_and_code(closed: tuple[App, Wire, dict[str, str]]) -> None:
    app, wire, keys = closed
    await wire.call("SendMessage", v10("noted"), x_api_key=keys["writer"])
    await wire.refused("GetTask", {"id": "none"}, x_api_key=keys["writer"])
    await wire.rest("GET", "/agents/tck/tasks", x_api_key=keys["writer"]).body()
    await app.audit.flush()
    latest = [(entry.tool, entry.outcome) for entry in await app.audit.recent(room="agents")][:3]
    assert latest == [("ListTasks", "ok"), ("GetTask", "-32001"), ("SendMessage", "ok")]


async def test_a_method_nobody_has_is_not_counted_by_the_name_it_was_given(wire: Wire) -> None:
    await wire.refused("invented/4711", {})

    await wire.app.audit.flush()
    [entry] = [one for one in await wire.app.audit.recent(room="agents") if one.outcome == "-32601"]
    assert entry.tool == "POST /agents"


async def test_push_configs_are_set_where_the_task_is_known(wire: Wire) -> None:
    task = (await wire.call("SendMessage", v10("tck-input-required")))["task"]
    config = {"taskId": task["id"], "url": "https://example.org/hook", "id": "c"}

    await wire.call("CreateTaskPushNotificationConfig", config)
    for method, params in (
        ("CreateTaskPushNotificationConfig", config),
        ("GetTaskPushNotificationConfig", config),
        ("ListTaskPushNotificationConfigs", config),
        ("DeleteTaskPushNotificationConfig", config),
        ("tasks/pushNotificationConfig/get", {"id": task["id"]}),
        ("tasks/pushNotificationConfig/list", {"id": task["id"]}),
        ("tasks/pushNotificationConfig/delete", {"id": task["id"], "pushNotificationConfigId": "c"}),
    ):
        assert (await wire.refused(method, params, "/agents/echo"))["code"] == -32001, method
    assert await wire.call("GetTaskPushNotificationConfig", config)


async def test_an_agent_that_is_not_here_is_not_taken_for_a_task(wire: Wire) -> None:
    answer = await wire.rest("GET", "/agents/nobody/tasks").json()
    assert answer["error"]["details"][0]["reason"] == "AGENT_NOT_FOUND"
