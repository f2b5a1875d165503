"""Objects of the real LangChain and LangGraph, hosted unchanged."""

import os
from collections.abc import Generator
from typing import Any

import pytest

from tests.conformance.server import serving
from tests.interop.agents.conftest import posted
from tests.interop.environments import langgraph_packages

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]
HERE = "tests.interop.agents.langchain_agents"


@pytest.fixture(scope="module")
def url() -> Generator[str]:
    names = ("shout", "model", "chain", "count", "graph", "painter")
    arguments = [word for name in names for word in ("--agent", f"{name}={HERE}:{name}")]
    os.environ["LANGCHAIN"] = str(langgraph_packages())
    with serving("agents", arguments) as served:
        yield f"http://localhost:{served.port}/agents"


def sent(url: str, *parts: Any, **more: Any) -> dict[str, Any]:
    message = {"messageId": os.urandom(8).hex(), "role": "ROLE_USER", "parts": list(parts), **more}
    body = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": message}}
    task = posted(url, body)["result"]["task"]
    assert task["status"]["state"] in ("TASK_STATE_COMPLETED", "TASK_STATE_INPUT_REQUIRED"), task
    return task


def said(task: dict[str, Any]) -> Any:
    (part,) = task["status"]["message"]["parts"]
    return part.get("text", part.get("data"))


def streamed(task: dict[str, Any]) -> list[str]:
    return [part["text"] for part in task["artifacts"][0]["parts"]]


@pytest.mark.requirement("agents:hosting:runnable-real")
def test_a_runnable_answers_with_its_result(url: str) -> None:
    shouted = sent(f"{url}/shout", {"text": "hello"})
    assert "".join(streamed(shouted)) == "HELLO"
    assert said(sent(f"{url}/count", {"data": {"a": 1, "b": 2}})) == {"sum": 3}


@pytest.mark.requirement("agents:hosting:runnable-real")
def test_a_model_and_a_chain_stream_their_tokens(url: str) -> None:
    for name in ("model", "chain"):
        tokens = streamed(sent(f"{url}/{name}", {"text": "the sea"}))
        assert "".join(tokens) == "the sea is wide"
        assert len(tokens) > 1


@pytest.mark.requirement("agents:hosting:runnable-real")
def test_a_graph_streams_and_ends_with_its_last_message(url: str) -> None:
    task = sent(f"{url}/graph", {"text": "the sea"})
    assert said(task) == "the sea is wide"


@pytest.mark.requirement("agents:hosting:runnable-real")
def test_an_interrupt_is_a_question_and_the_answer_resumes_the_graph(url: str) -> None:
    asked = sent(f"{url}/painter", {"text": "paint"}, contextId="talk")
    assert (asked["status"]["state"], said(asked)) == ("TASK_STATE_INPUT_REQUIRED", "Which colour?")
    done = sent(f"{url}/painter", {"text": "red"}, taskId=asked["id"])
    assert said(done) == "1: red"
    again = sent(f"{url}/painter", {"text": "more"}, contextId="talk")
    assert said(sent(f"{url}/painter", {"text": "blue"}, taskId=again["id"])) == "3: blue"
