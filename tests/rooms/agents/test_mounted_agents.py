"""Remote agents mounted on this server: the work is done there, and callers here notice no difference."""

import asyncio
import dataclasses
import json
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from pentad.access.scopes import role_scopes
from pentad.app import App, open_app
from pentad.kernel.default_limits import Limits
from pentad.kernel.principal import LOCAL, Principal
from pentad.net.addresses import networks
from pentad.net.fetch_policy import FetchPolicy
from pentad.rooms.agents import mounted_agents
from pentad.rooms.agents.models import Dialect, Event, Message, Part, StatusEvent, Task
from pentad.rooms.agents.service import Agents
from pentad.settings.model import Settings
from tests.behaviour.agents.conftest import frames_of
from tests.behaviour.agents.hall import Steps
from tests.behaviour.connecting import front_of
from tests.behaviour.http_wire import HttpAnswer, send
from tests.net.raw_http import running
from tests.net.test_fetch import answering
from tests.receiving import receiving
from tests.rooms.agents.client.serving import fetching, remote, remote_at, said, serving
from tests.rooms.agents.client.test_foreign import frame, streamed
from tests.waiting import until, until_true

pytestmark = pytest.mark.anyio
ADA = Principal("user:ada", "ada", role_scopes("writer"))
ODA = Principal("user:oda", "oda", role_scopes("writer"))
WAYS: list[tuple[Dialect, str | None]] = [
    ("1.0", "JSONRPC"),
    ("1.0", "HTTP+JSON"),
    ("0.3", None),
    ("agentvault", None),
]


LOCAL_ONLY = FetchPolicy(allow_networks=networks("127.0.0.0/8"), allow_http=True, max_redirects=0)
"""Remote agents of these tests are on this machine, perhaps on another port than their card."""


def settings(data: Path, *agents: str, **tables: Any) -> Settings:
    return Settings(
        data=data, rooms=("agents",), auth="none", agent=agents, room_tables={"agents": tables}, fetch=LOCAL_ONLY
    )


@asynccontextmanager
async def mounting(data: Path, *agents: str, **tables: Any) -> AsyncGenerator[Agents]:
    """The agents room of a server that mounts these agents."""
    async with open_app(settings(data, *agents, **tables)) as app:
        yield room(app)


def room(app: App) -> Agents:
    return app.rooms[0].service


async def sent(agents: Agents, name: str, text: str, caller: Principal = ADA, **more: Any) -> Task:
    message = more.pop("message", None) or said(text)
    answer = await agents.tasks.send(caller, name, message, dialect="1.0", **more)
    assert isinstance(answer, Task)
    return answer


async def described(agents: Agents) -> None:
    """Wait until the card of the mounted agent is known."""
    await until_true(lambda: "could not be read yet" not in agents.agents["far"].description)


def text_of(task: Task) -> str:
    return "" if task.status_message is None else task.status_message.text


async def remote_state(app_or_path: Agents, remote_id: str) -> str:
    row = await app_or_path.platform.database.lookup("SELECT state FROM agent_tasks WHERE id = ?", remote_id)
    assert row is not None
    return row[0]


@pytest.fixture
async def site(tmp_path: Path) -> AsyncGenerator[str]:
    """Another server."""
    async with serving(tmp_path / "there") as address:
        yield address


@pytest.mark.requirement("agents:gateway:dialects")
@pytest.mark.parametrize(("dialect", "binding"), WAYS)
async def test_a_mounted_agent_is_served_in_every_dialect(
    tmp_path: Path, site: str, dialect: Dialect, binding: str | None
) -> None:
    async with (
        open_app(settings(tmp_path / "here", f"far={site}/agents/echo")) as app,
        running(front_of(app), grace_seconds=1) as server,
        fetching() as fetcher,
    ):
        await described(room(app))
        here = await remote(f"http://localhost:{server.port}", fetcher, "far", dialect, binding)
        done = await here.send(said("Over the sea"))
        assert isinstance(done, Task)
        assert (done.state, done.history[-1].text) == ("completed", "Over the sea")

        chunks = [item async for item in here.stream(said("stream a b"))]
        texts = [part.text for one in (await here.get(here.task_id)).artifacts for part in one.parts]
        assert "".join(map(str, texts)) == "a b "
        assert isinstance(chunks[-1], Event)
        assert chunks[-1].body == StatusEvent("completed", None)

        asked = await here.send(said("ask"))
        assert isinstance(asked, Task)
        assert asked.state == "input-required"
        answered = await here.send(said("blue", "m2", task_id=asked.id))
        assert isinstance(answered, Task)
        assert answered.history[-1].text == "blue"

        slow = await here.send(said("slow"), wait=False)
        assert isinstance(slow, Task)
        assert (await here.cancel(slow.id)).state == "canceled"


@pytest.mark.requirement("agents:gateway:rules")
async def test_logins_limits_streams_pushes_and_the_audit_trail_are_those_of_this_server(
    tmp_path: Path, site: str
) -> None:
    here = dataclasses.replace(
        settings(tmp_path / "here", f"far={site}/agents/echo", push_private=True, open_tasks=1),
        auth="required", limits=Limits(calls_per_second=0.001, calls_burst=5),
    )  # fmt: skip
    async with receiving() as receiver, open_app(here) as app:
        await described(room(app))
        front = front_of(app)
        token = (await app.api_keys.create("ada", scopes=["agents:read", "agents:write"])).token

        def post(method: str, params: Any, **headers: str) -> HttpAnswer:
            named = {name.replace("_", "-"): value for name, value in headers.items()}
            given = {"content-type": "application/json", "a2a-version": "1.0", **named}
            request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
            return send(front, "POST", "/agents/far", given, json.dumps(request).encode())

        def asking(text: str) -> dict[str, Any]:
            hook = {"taskPushNotificationConfig": {"url": receiver.url, "token": "ours"}}
            message = {"messageId": text, "role": "ROLE_USER", "parts": [{"text": text}]}
            return {"message": message, "configuration": hook}

        ada = {"authorization": f"Bearer {token}"}
        assert (await post("SendMessage", asking("stream a b")).head()).status == 401
        told = frames_of(await post("SendStreamingMessage", asking("stream a b"), **ada).body())
        task_id, half = json.loads(told[0]["data"])["result"]["task"]["id"], len(told) // 2
        rest = post("SubscribeToTask", {"id": task_id}, **ada, last_event_id=told[half]["id"])
        assert [one["id"] for one in frames_of(await rest.body())] == [one["id"] for one in told[half + 1 :]]
        await until_true(lambda: any(b"TASK_STATE_COMPLETED" in one.body for one in receiver.requests))
        assert {one.headers["x-a2a-notification-token"] for one in receiver.requests} == {"ours"}

        assert "result" in await post("SendMessage", asking("ask"), **ada).json()
        full = await post("SendMessage", asking("another"), **ada).json()
        assert "unfinished tasks" in full["error"]["message"]
        assert "result" in await post("GetTask", {"id": task_id}, **ada).json()
        busy = await post("GetTask", {"id": task_id}, **ada).head()
        assert busy.status == 429
        assert int(busy.headers["retry-after"]) >= 1
        await app.audit.flush()
        trail = {(one.tool, one.outcome) for one in await app.audit.recent()}
        assert {("SendStreamingMessage", "ok"), ("SubscribeToTask", "ok")} <= trail


@pytest.mark.requirement("agents:gateway:card")
async def test_a_mounted_agent_has_a_card_of_this_server_with_the_skills_of_its_own(tmp_path: Path, site: str) -> None:
    async with mounting(tmp_path / "here", f"far={site}/agents/own") as agents:
        await described(agents)
        card = agents.cards.public(agents.agents["far"], "https://here.example")
        assert card["url"] == "https://here.example/agents/far"
        assert card["description"].startswith("Has methods of its own")
        assert [one["id"] for one in card["skills"]] == ["own"]
        uris = [one["uri"] for one in card["capabilities"]["extensions"]]
        assert "urn:test:needed" in uris
        assert len(uris) == len(set(uris))
        assert not any(site in json.dumps(one) for name, one in card.items() if name != "description")


@pytest.mark.requirement("agents:gateway:down")
async def test_an_agent_that_is_down_is_mounted_and_its_tasks_fail_with_a_reason(tmp_path: Path) -> None:
    async with mounting(tmp_path / "here", "far=http://localhost:9/card.json?key=canary") as agents:
        assert "could not be read yet" in agents.agents["far"].description
        assert "canary" not in agents.agents["far"].description
        task = await sent(agents, "far", "hello")
        assert task.state == "failed"
        assert "localhost refuses connections" in text_of(task)


def only(card: dict[str, Any], dialect: Dialect, binding: str | None) -> dict[str, Any]:
    """The card of an agent that speaks in one way."""
    made = {name: value for name, value in card.items() if name != "supportedInterfaces"}
    if dialect == "1.0":
        kept = [one for one in card["supportedInterfaces"] if one["protocolBinding"] == binding]
        return {**made, "supportedInterfaces": kept[:1], "protocolVersion": "1.0"}
    if dialect == "agentvault":
        return {name: value for name, value in made.items() if name != "protocolVersion"}
    return {**made, "capabilities": {"streaming": True}}


@pytest.mark.requirement("agents:gateway:restart")
@pytest.mark.parametrize(("dialect", "binding"), WAYS)
async def test_after_a_restart_a_turn_goes_on_with_the_same_remote_task(
    tmp_path: Path, site: str, dialect: Dialect, binding: str | None
) -> None:
    async with AsyncExitStack() as stack:
        fetcher = await stack.enter_async_context(fetching())
        card = only((await remote_at(f"{site}/agents/steps", fetcher, trusted=True)).card, dialect, binding)

        async def show(_request: web.Request) -> web.StreamResponse:
            return web.json_response(card)

        port = await stack.enter_async_context(answering(show))
        steps = Steps.more.setdefault(f"count {dialect} {binding}", asyncio.Queue())
        place = f"far=http://localhost:{port}/card.json"
        async with mounting(tmp_path / "here", place) as agents:
            task = await sent(agents, "far", f"count {dialect} {binding}", LOCAL, wait=False)
            steps.put_nowait("one ")
            await until(lambda: agents.tasks.get(LOCAL, task.id), lambda found: found.artifacts)
        steps.put_nowait("two ")
        async with mounting(tmp_path / "here", place) as agents:
            await until_true(lambda: task.id in agents.tasks._log.runs)
            steps.put_nowait("three")
            steps.put_nowait(None)
            done = await until(lambda: agents.tasks.get(LOCAL, task.id), lambda found: found.state == "completed")
            assert "".join(str(part.text) for part in done.artifacts[0].parts) == "one two three"
            assert [one.text for one in done.history] == [f"count {dialect} {binding}", "Done."]
            rows = await agents.platform.database.read(lambda rows: rows.all("SELECT * FROM agent_forwarded_tasks"))
            assert len(rows) == 1


@pytest.mark.requirement("agents:gateway:restart")
async def test_a_question_of_a_remote_agent_is_answered_after_a_restart(tmp_path: Path, site: str) -> None:
    here = tmp_path / "here"
    async with mounting(here, f"far={site}/agents/echo") as agents:
        asked = await sent(agents, "far", "ask", LOCAL)
        assert asked.state == "input-required"
    async with mounting(here, f"far={site}/agents/echo") as agents:
        done = await sent(agents, "far", "red", LOCAL, task_id=asked.id)
        assert (done.state, text_of(done)) == ("completed", "red")


@pytest.mark.requirement("agents:gateway:cancel")
@pytest.mark.parametrize("text", ["slow", "ask"])
async def test_canceling_a_task_cancels_it_there(tmp_path: Path, text: str) -> None:
    async with AsyncExitStack() as stack:
        there = await stack.enter_async_context(open_app(settings(tmp_path / "there")))
        server = await stack.enter_async_context(running(front_of(there), grace_seconds=1))
        place = f"far=http://localhost:{server.port}/agents/echo"
        agents = await stack.enter_async_context(mounting(tmp_path / "here", place))
        task = await sent(agents, "far", text, wait=text == "ask")
        row = await until(lambda: agents.platform.database.lookup("SELECT remote_task FROM agent_forwarded_tasks"))
        assert row is not None
        assert (await agents.tasks.cancel(ADA, task.id)).state == "canceled"
        assert await until(lambda: remote_state(room(there), row[0]), lambda state: state == "canceled")
        assert (await agents.tasks.get(ADA, task.id)).state == "canceled"


@pytest.mark.requirement("agents:gateway:deadline")
async def test_a_mounted_agent_that_hangs_ends_at_the_deadline_of_the_settings(tmp_path: Path, site: str) -> None:
    async with mounting(tmp_path / "here", f"far={site}/agents/echo", deadlines={"far": 0.5}) as agents:
        await described(agents)
        begun = await sent(agents, "far", "slow", wait=False)
        done = await until(lambda: agents.tasks.get(ADA, begun.id), lambda task: task.state == "failed")
    assert text_of(done) == "The agent did not finish before its deadline."


class Scripted:
    """A remote agent the test speaks for. `requests` are what it was sent: the headers, the method, the params."""

    def __init__(self, answer: Callable[[str, Any, web.Request], Any], **capabilities: Any) -> None:
        self.requests: list[tuple[dict[str, str], str, Any]] = []
        self.port = 0
        self.more_on_card: dict[str, Any] = {}
        self._answer = answer
        self._capabilities = {"streaming": True, **capabilities}

    @property
    def place(self) -> str:
        return f"http://localhost:{self.port}"

    @property
    def card(self) -> dict[str, Any]:
        interface = {"url": f"{self.place}/a2a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
        return {
            "name": "Far", "description": "Far away.", "version": "2.0.0", "capabilities": self._capabilities,
            "supportedInterfaces": [interface], "skills": [], "defaultInputModes": ["text/plain"],
            "defaultOutputModes": ["text/plain"], **self.more_on_card,
        }  # fmt: skip

    async def handle(self, request: web.Request) -> web.StreamResponse:
        if request.method == "GET":
            return web.json_response(self.card)
        body = await request.json()
        headers = {name.lower(): value for name, value in request.headers.items()}
        self.requests.append((headers, body["method"], body["params"]))
        said = self._answer(body["method"], body["params"], request)
        if asyncio.iscoroutine(said):
            said = await said
        return said if isinstance(said, web.StreamResponse) else web.json_response(
            {"jsonrpc": "2.0", "id": body["id"], **said}
        )  # fmt: skip


@asynccontextmanager
async def scripted(answer: Callable[[str, Any, web.Request], Any], **capabilities: Any) -> AsyncGenerator[Scripted]:
    agent = Scripted(answer, **capabilities)
    async with answering(agent.handle) as agent.port:
        yield agent


def registered(far: Scripted) -> dict[str, Any]:
    """The card as the registry takes it."""
    more = {
        "schemaVersion": "1.0",
        "agentVersion": "2.0.0",
        "authSchemes": [{"scheme": "none"}],
        "url": f"{far.place}/a2a",
    }
    capabilities = {**far.card["capabilities"], "a2aVersion": "1.0"}
    named = {"humanReadableId": "acme/weather", "provider": {"name": "Acme"}, "capabilities": capabilities}
    return {**far.card, **more, **named}


def task_json(state: str = "WORKING", **more: Any) -> dict[str, Any]:
    return {"id": "t", "contextId": "c", "status": {"state": f"TASK_STATE_{state}", **more.pop("status", {})}, **more}


def status(state: str, **more: Any) -> dict[str, Any]:
    update = {"taskId": "t", "contextId": "c", "status": {"state": f"TASK_STATE_{state}", **more}}
    return {"statusUpdate": update}


def answers_at_once(_method: str, _params: Any, request: web.Request) -> Any:
    return streamed(request, frame({"task": task_json()}), frame(status("COMPLETED")))


@pytest.mark.requirement("agents:gateway:nothing-leaks")
async def test_the_remote_agent_learns_nothing_of_the_caller_and_gets_the_key_of_its_host_only(tmp_path: Path) -> None:
    async with AsyncExitStack() as stack:
        far = await stack.enter_async_context(scripted(answers_at_once))
        keys = tmp_path / "keys.json"
        keys.write_text(json.dumps({f"localhost:{far.port}": "key-of-far", "elsewhere": "other"}), encoding="utf-8")
        far.more_on_card = {
            "securitySchemes": {"k": {"apiKeySecurityScheme": {"location": "header", "name": "X-Api-Key"}}},
            "securityRequirements": [{"schemes": {"k": {}}}],
        }
        with_login = Settings(
            data=tmp_path / "here", rooms=("agents",), agent=(f"far={far.place}",),
            room_tables={"agents": {"agent_keys": str(keys)}},
        )  # fmt: skip
        app = await stack.enter_async_context(open_app(with_login))
        server = await stack.enter_async_context(running(front_of(app), grace_seconds=1))
        key = (await app.api_keys.create("zelda", scopes=["*:read", "*:write"])).token
        body = {
            "jsonrpc": "2.0", "id": 1, "method": "SendMessage",
            "params": {
                "message": {
                    "messageId": "my-message", "role": "ROLE_USER", "parts": [{"text": "hi"}], "contextId": "my-talk"
                },
                "configuration": {
                    "taskPushNotificationConfig": {"url": "https://push.example/ada", "token": "push-secret"}
                },
            },
        }  # fmt: skip
        fetcher = await stack.enter_async_context(fetching())
        answer = await fetcher.fetch(
            f"http://localhost:{server.port}/agents/far", method="POST", body=json.dumps(body).encode(),
            headers={"Content-Type": "application/json", "Authorization": f"Bearer {key}", "A2A-Version": "1.0",
                     "Cookie": "session=cookie-secret"},
            trusted=True,
        )  # fmt: skip
        ended = json.loads(answer.body)["result"]["task"]
        assert ended["status"]["state"] == "TASK_STATE_COMPLETED"
        ((headers, _, params),) = far.requests
        assert headers["x-api-key"] == "key-of-far"
        seen = json.dumps([headers, params])
        secrets = (key, "cookie-secret", "push-secret", "my-message", "my-talk", ended["id"], "zelda", "other")
        assert [one for one in secrets if one in seen] == []


@pytest.mark.requirement("agents:gateway:contents")
async def test_contexts_and_files_arrive_there_readable(tmp_path: Path) -> None:
    large = "x" * 100_000
    async with scripted(answers_at_once) as far:
        public = dataclasses.replace(
            settings(tmp_path / "here", f"far={far.place}"), public_url="https://here.example"
        )  # fmt: skip
        async with open_app(public) as app:
            agents = room(app)
            file = await agents.files.write(LOCAL.id, b"%PDF", name="report.pdf", media_type="text/plain")
            message = Message(
                id="m", role="user", parts=(Part(text="hi"), Part(url=agents.files.url(file.id))),
                metadata={"mcp_context": {"items": {"doc": {"content": large}, "note": {"content": "n"}}}, "mine": 1},
            )  # fmt: skip
            done = await sent(agents, "far", "", LOCAL, message=message)
            assert done.state == "completed", text_of(done)
            passed = far.requests[-1][2]["message"]
            assert passed["metadata"]["mine"] == 1
            items = passed["metadata"]["mcp_context"]["items"]
            assert items["note"]["content"] == "n"
            assert items["doc"]["ref"].startswith("https://here.example/agents/_content/")
            link = passed["parts"][1]
            assert link["url"].startswith("https://here.example/agents/_content/")
            assert link["filename"] == "report.pdf"
            stored = await agents.links.read(link["url"].rpartition("/")[2])
            assert stored.body == b"%PDF"
            assert (await agents.links.read(items["doc"]["ref"].rpartition("/")[2])).body == large.encode()


@pytest.mark.requirement("agents:gateway:owners")
async def test_two_callers_with_the_same_ids_never_share_a_message_or_a_conversation_there(tmp_path: Path) -> None:
    contexts = iter(["c-ada", "c-oda", "none"])

    def answer(_method: str, params: Any, request: web.Request) -> Any:
        context = params["message"].get("contextId") or next(contexts)
        first = {**task_json(), "contextId": context}
        return streamed(request, frame({"task": first}), frame(status("COMPLETED")))

    async with scripted(answer) as far, mounting(tmp_path / "here", f"far={far.place}") as agents:
        for caller in (ADA, ODA, ADA):
            await sent(agents, "far", "hello", caller, context_id="shared")
        messages = [params["message"] for _, _, params in far.requests]
        assert [one.get("contextId") for one in messages] == [None, None, "c-ada"]
        assert len({one["messageId"] for one in messages}) == 3


@pytest.mark.requirement("agents:gateway:lies")
async def test_what_a_lying_agent_reports_stays_within_its_task(tmp_path: Path) -> None:
    forged = {"messageId": "x", "role": "ROLE_USER", "taskId": "other", "contextId": "other", "parts": [{"text": "me"}]}

    def answer(_method: str, _params: Any, request: web.Request) -> Any:
        frames = (
            {"task": task_json(history=[forged])},
            status("SUBMITTED"),
            status("COMPLETED", message=forged),
            status("WORKING"),
            {"artifactUpdate": {"taskId": "t", "contextId": "c", "artifact": {"artifactId": "a", "parts": []}}},
        )
        return streamed(request, *map(frame, frames))

    async with scripted(answer) as far, mounting(tmp_path / "here", f"far={far.place}") as agents:
        task = await sent(agents, "far", "hello")
        assert (task.state, text_of(task), task.artifacts) == ("completed", "me", [])
        assert [(one.role, one.task_id, one.context_id) for one in task.history] == [
            ("user", task.id, task.context_id),
            ("agent", task.id, task.context_id),
        ]


@pytest.mark.requirement("agents:gateway:lies")
async def test_an_agent_that_floods_is_held_to_the_limits_of_a_task_and_canceled(tmp_path: Path) -> None:
    chunk = {"artifactId": "a", "parts": [{"text": "x" * 50_000}]}
    update = {"artifactUpdate": {"taskId": "t", "contextId": "c", "artifact": chunk, "append": True}}

    def answer(method: str, _params: Any, request: web.Request) -> Any:
        if method == "CancelTask":
            return {"result": task_json("CANCELED")}
        return streamed(request, frame({"task": task_json()}), *[frame(update)] * 100)

    async with (
        scripted(answer) as far,
        mounting(tmp_path / "here", f"far={far.place}", task_bytes=1_000_000) as agents,
    ):
        task = await sent(agents, "far", "hello")
        assert task.state == "failed"
        assert "1000000" in text_of(task).replace(",", "")
        await until_true(lambda: "CancelTask" in [method for _, method, _ in far.requests])


@pytest.mark.requirement("agents:gateway:lies")
async def test_a_card_with_odd_members_becomes_a_card_that_is_sound(tmp_path: Path) -> None:
    async with scripted(answers_at_once, extensions=[{"uri": 5}, {"uri": "urn:x", "required": "yes"}, 7]) as far:
        far.more_on_card = {
            "description": ["no text"],
            "skills": [{"id": "s", "tags": 5, "security": "x"}, "none", {"tags": ["a", 1]}] + [{"id": "x"}] * 500,
            "tags": {"not": "a list"},
            "defaultInputModes": 7,
        }
        async with mounting(tmp_path / "here", f"far={far.place}") as agents:
            await described(agents)
            card = agents.cards.public(agents.agents["far"], "https://here.example")
            assert len(card["skills"]) == 100
            assert card["skills"][0] == {"id": "s", "name": "s", "description": "s", "tags": ["far"]}
            assert (await sent(agents, "far", "hello")).state == "completed"


@pytest.mark.requirement("agents:gateway:cancel")
async def test_a_task_that_ends_otherwise_is_canceled_there_in_the_end(tmp_path: Path) -> None:
    question = {"messageId": "q", "role": "ROLE_AGENT", "parts": [{"text": "Which?"}]}

    def answer(method: str, _params: Any, request: web.Request) -> Any:
        if method == "CancelTask":
            return {"result": task_json("CANCELED")}
        return streamed(request, frame({"task": task_json()}), frame(status("INPUT_REQUIRED", message=question)))

    async with scripted(answer) as far, mounting(tmp_path / "here", f"far={far.place}") as agents:
        asked = await sent(agents, "far", "hello")
        assert (asked.state, text_of(asked)) == ("input-required", "Which?")
        await agents.mounted_agents.cancel_ended()
        assert [method for _, method, _ in far.requests] == ["SendStreamingMessage"], "it has not ended"
        await agents.tasks._log.append(asked.id, [StatusEvent("failed")], claim="release")
        await agents.mounted_agents.cancel_ended()
        await agents.mounted_agents.cancel_ended()
        assert [method for _, method, _ in far.requests] == ["SendStreamingMessage", "CancelTask"]


async def test_an_agent_without_streams_is_polled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mounted_agents, "_FIRST_PAUSE", 0.001)
    said_there = {"messageId": "x", "role": "ROLE_AGENT", "parts": [{"text": "half"}]}
    tasks = iter([
        task_json(),
        task_json(history=[said_there], artifacts=[{"artifactId": "a", "parts": [{"text": "o"}]}]),
        task_json("COMPLETED", history=[said_there], artifacts=[{"artifactId": "a", "parts": [{"text": "one"}]}]),
    ])  # fmt: skip

    def answer(method: str, _params: Any, _request: web.Request) -> Any:
        return {"result": {"task": next(tasks)} if method == "SendMessage" else next(tasks)}

    async with (
        scripted(answer, streaming=False) as far,
        mounting(tmp_path / "here", f"far={far.place}") as agents,
    ):
        task = await sent(agents, "far", "hello")
        assert task.state == "completed"
        assert [one.text for one in task.history] == ["hello", "half"]
        assert [str(part.text) for part in task.artifacts[0].parts] == ["o", "ne"]


@pytest.mark.parametrize(("dialect", "binding"), WAYS)
async def test_an_answer_is_not_taken_for_a_new_question(
    tmp_path: Path, site: str, dialect: Dialect, binding: str | None
) -> None:
    async with AsyncExitStack() as stack:
        fetcher = await stack.enter_async_context(fetching())
        card = only((await remote_at(f"{site}/agents/echo", fetcher, trusted=True)).card, dialect, binding)

        async def show(_request: web.Request) -> web.StreamResponse:
            return web.json_response({**card, "capabilities": {**card["capabilities"], "streaming": False}})

        port = await stack.enter_async_context(answering(show))
        place = f"far=http://localhost:{port}/card.json"
        agents = await stack.enter_async_context(mounting(tmp_path / "here", place))
        asked = await sent(agents, "far", "ask")
        assert asked.state == "input-required"
        done = await sent(agents, "far", "red", task_id=asked.id)
        assert (done.state, done.history[-1].text) == ("completed", "red")
        assert [one.text for one in done.history].count("red") == 2


async def test_an_agent_that_goes_away_for_a_while_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mounted_agents, "_FIRST_WAIT", 0.01)
    monkeypatch.setattr("pentad.rooms.agents.client.remote_agent.MAX_ATTEMPTS", 0)
    calls: list[str] = []

    def answer(method: str, _params: Any, request: web.Request) -> Any:
        calls.append(method)
        if method == "SendStreamingMessage":
            return streamed(request, frame({"task": task_json()}), breaks=True)
        if len(calls) < 4:
            return web.Response(status=503)
        return streamed(request, frame({"task": task_json("COMPLETED")}))

    async with scripted(answer) as far, mounting(tmp_path / "here", f"far={far.place}") as agents:
        assert (await sent(agents, "far", "hello")).state == "completed"
        assert calls.count("SendStreamingMessage") == 1


@pytest.mark.requirement("agents:gateway:loops")
async def test_agents_that_lead_in_a_circle_end(tmp_path: Path) -> None:
    async with scripted(answers_at_once) as far, mounting(tmp_path / "here", f"far={far.place}") as agents:
        worn = Message(
            id="m", role="user", parts=(Part(text="x"),), metadata={mounted_agents.HOPS_KEY: mounted_agents.MAX_HOPS}
        )
        task = await sent(agents, "far", "", message=worn)
        assert task.state == "failed"
        assert "passed this message on" in text_of(task)
        await sent(agents, "far", "hello")
        assert far.requests[-1][2]["message"]["metadata"][mounted_agents.HOPS_KEY] == 1


@pytest.mark.requirement("agents:gateway:registered")
async def test_a_registered_agent_is_mounted_under_the_rules_for_addresses(tmp_path: Path) -> None:
    async with AsyncExitStack() as stack:
        far = await stack.enter_async_context(scripted(answers_at_once))
        strict = dataclasses.replace(settings(tmp_path / "here", "acme/weather"), fetch=FetchPolicy())
        agents = room(await stack.enter_async_context(open_app(strict)))
        missing = await sent(agents, "weather", "hello")
        assert "There is no card of acme/weather" in text_of(missing)
        await agents.registry.register(ADA, registered(far))
        refused = await sent(agents, "weather", "hello")
        assert refused.state == "failed"
        assert far.requests == [], "a registered card cannot name a private address"


@pytest.mark.requirement("agents:gateway:nothing-leaks")
async def test_callers_learn_nothing_of_the_address_of_a_card(tmp_path: Path) -> None:
    async def nothing(_request: web.Request) -> web.StreamResponse:
        return web.Response(status=404)

    async with (
        answering(nothing) as port,
        mounting(tmp_path / "here", f"far=http://localhost:{port}/card.json?key=canary") as agents,
    ):
        task = await sent(agents, "far", "hello")
        assert text_of(task) == "There is no card of localhost."


@pytest.mark.requirement("agents:gateway:registered")
async def test_a_registered_agent_is_mounted_by_its_readable_id(tmp_path: Path) -> None:
    from pentad.net.addresses import networks
    from pentad.net.fetch_policy import FetchPolicy

    async with AsyncExitStack() as stack:
        far = await stack.enter_async_context(scripted(answers_at_once))
        policy = FetchPolicy(allow_networks=networks("127.0.0.0/8"), allow_http=True, max_redirects=0)
        open_to_us = Settings(
            data=tmp_path, rooms=("agents",), auth="none", agent=("sky=acme/weather",), fetch=policy
        )  # fmt: skip
        agents = room(await stack.enter_async_context(open_app(open_to_us)))
        await agents.registry.register(ADA, registered(far))
        assert (await sent(agents, "sky", "hello")).state == "completed"
