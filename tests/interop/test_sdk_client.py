"""The official SDK's client against Pentad: both transports, both eras, and its own choice of era."""

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.room import ROOM
from tests.conformance.server import CONFORMANCE_ROOM, REPOSITORY, Served, environment, pentad

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]

Tour = Mapping[str, Any]
SCRIPT = Path(__file__).with_name("sdk_client.py")


@pytest.fixture(
    scope="module",
    params=["http legacy", "http modern", "http auto", "stdio legacy", "stdio modern", "stdio auto"],
)
def tour(
    request: pytest.FixtureRequest, served: Served, sdk: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Any]:
    """One client's results, by stop."""
    transport, era = request.param.split()
    target = [served.url]
    if transport == "stdio":
        data = tmp_path_factory.mktemp("data")
        target = [pentad(), "mcp", "serve", "--rooms", CONFORMANCE_ROOM, "--data", str(data)]
    finished = subprocess.run(
        [sdk, SCRIPT, era, *target], cwd=REPOSITORY, env=environment(), capture_output=True, timeout=240, check=False
    )
    lines = [json.loads(line) for line in finished.stdout.splitlines()]
    found: dict[str, Any] = {line["stop"]: line.get("saw", line.get("failed")) for line in lines}
    assert finished.returncode == 0, finished.stderr.decode(errors="replace")[-4000:]
    return {**found, "era": era, "modern": era != "legacy"}


def test_the_client_finds_the_newest_revision_of_its_era(tour: Tour) -> None:
    assert tour["info"]["version"] == ("2026-07-28" if tour["modern"] else "2025-11-25")
    if tour["era"] != "modern":  # a client set to the modern era asks no server who is there
        assert tour["info"]["name"] == "pentad"
        assert {"completions", "logging", "prompts", "resources", "tools"} <= set(tour["info"]["capabilities"])


@pytest.mark.requirement("mcp:interop:sdk")
def test_everything_is_listed_once(tour: Tour) -> None:
    assert tour["tools"] == [tool.name for tool in ROOM.tools]
    assert tour["prompts"] == [prompt.name for prompt in ROOM.prompts]
    templates, resources = (
        [uri for uri in tour[name] if uri[:9] != "pentad://"] for name in ("templates", "resources")
    )
    assert templates == [one.uri for one in ROOM.resources if one.template]
    static = [one.uri for one in ROOM.resources if not one.template]
    assert resources == [*static, *(f"test://numbered/{n}" for n in range(5))]


def test_every_kind_of_content_arrives(tour: Tour) -> None:
    assert tour["kinds"] == {
        "test_simple_text": ["text"],
        "test_image_content": ["image"],
        "test_audio_content": ["audio"],
        "test_multiple_content_types": ["text", "image", "resource"],
    }
    assert tour["structured"] == {"text": "h\u00e9llo", "length": 5}


def test_failures_arrive_as_failures(tour: Tour) -> None:
    assert tour["failure"] is True
    assert tour["unknown_tool"] == -32602


def test_arguments_repeated_in_headers_arrive(tour: Tour) -> None:
    assert tour["header"] == "region=Gr\u00fc\u00dfe retries=3 dry=True"


def test_progress_arrives_in_order(tour: Tour) -> None:
    assert [step[:2] for step in tour["progress"]] == [[0, 100], [50, 100], [100, 100]]


def test_a_cancelled_call_is_stopped(tour: Tour) -> None:
    assert tour["cancel"] == "cancelled"


@pytest.mark.requirement("mcp:interop:sdk")
def test_questions_are_asked_and_answered(tour: Tour) -> None:
    assert '"username":"Ada"' in tour["elicitation"]
    assert tour["sampling"] == "LLM response: sampled(Say it)"
    assert tour["roots_asked"] == "Roots: file:///home/ada"
    assert tour["rounds"] == "Ada likes Ada"
    assert tour["state"] == "state-ok"


def test_resources_are_read(tour: Tour) -> None:
    assert tour["read"]["test://static-text"].startswith("This is")
    assert tour["read"]["test://static-binary"].startswith("blob of")
    assert json.loads(tour["read"]["test://template/123/data"])["id"] == "123"
    assert tour["read"]["test://asking/it"] == "it, because Ada"
    assert tour["read_unknown"] == (-32602 if tour["modern"] else -32002)


def test_changes_are_heard(tour: Tour) -> None:
    assert tour["subscribe"] == (["ResourceUpdated", "ToolsListChanged"] if tour["modern"] else "updated")


def test_prompts_are_given(tour: Tour) -> None:
    assert "arg1='one', arg2='two'" in tour["prompt"][0]
    assert tour["prompt"][1] == "Please help with: Ada"


def test_completion_offers_what_fits(tour: Tour) -> None:
    assert tour["completion"] == [["paris", "park", "party"], ["123", "124"]]


def test_log_lines_arrive(tour: Tour) -> None:
    assert tour["logging"] == ["Tool execution started", "Tool processing data", "Tool execution completed"]


def test_a_big_result_arrives_whole(tour: Tour) -> None:
    assert tour["big"] == 900_000


def test_two_calls_run_side_by_side(tour: Tour) -> None:
    assert tour["concurrent"] == ["42", True]
